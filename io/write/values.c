#include "io/write/values.h"

#include <math.h>
#include <string.h>

/* Pixels that are turned at a time: their values stay in the first cache. */
#define TILE 64

int64_t hc_stored_stride_row(const HcStored *layout) {
    return layout->interleave == HC_BSQ ? layout->samples : layout->samples * layout->bands;
}

int64_t hc_stored_stride_sample(const HcStored *layout) {
    return layout->interleave == HC_BIP ? layout->bands : 1;
}

int64_t hc_stored_stride_band(const HcStored *layout) {
    switch (layout->interleave) {
    case HC_BSQ:
        return layout->rows * layout->samples;
    case HC_BIL:
        return layout->samples;
    case HC_BIP:
        break;
    }
    return 1;
}

size_t hc_stored_bytes(const HcStored *layout) {
    return (size_t)layout->samples * (size_t)layout->bands * (size_t)layout->rows *
           hc_type_bytes(layout->type);
}

/* Halves to even, by an addition that leaves no place for a fraction; beyond 2^51 float32 has none anyway. */
static inline double nearest(double value) {
    return fabs(value) < 0x1p51 ? (value + 0x1.8p52) - 0x1.8p52 : value;
}

/* What is rounded and clamped. Adds to nothing where there is no scale, so that its bits stay. */
static inline double scaled_value(const HcStored *layout, int32_t band, double value) {
    if (layout->parts != NULL && layout->parts[band] > 0) {
        return value * layout->parts[band];
    }
    return layout->scaled ? (value - layout->offset) / layout->scale : value;
}

#define HC_AS_IS(T, LOW, HIGH, value) ((T)(value))
/* (double)HIGH of a 64-bit type is one too large, so the comparison includes it. */
#define HC_CLAMPED(T, LOW, HIGH, value)                                                                      \
    (nearest(value) >= (double)(HIGH)  ? (T)(HIGH)                                                           \
     : nearest(value) <= (double)(LOW) ? (T)(LOW)                                                            \
                                       : (T)nearest(value))

/* The value of an integer type next to nodata: what a valid pixel gets that would read as nodata. */
#define HC_BESIDE(HIGH, nodata)                                                                              \
    (layout->no_nodata ? (nodata) : (nodata) == (HIGH) ? (nodata)-1 : (nodata) + 1)

/* One line: from[samples][bands] and its mask; to by strides. */
#define HC_PUT(T, NAME, CONVERT, LOW, HIGH)                                                                  \
    static inline T store_##NAME(const HcStored *layout, int32_t band, float from, bool valid, T nodata,     \
                                 T beside) {                                                                 \
        if (!valid || isnan(from)) {                                                                         \
            return nodata;                                                                                   \
        }                                                                                                    \
        double value = scaled_value(layout, band, (double)from);                                             \
        T stored = CONVERT(T, LOW, HIGH, value);                                                             \
        return stored == nodata ? beside : stored;                                                           \
    }                                                                                                        \
    static void put_##NAME(const HcStored *layout, const float *from, const uint8_t *mask, void *line,       \
                           T nodata, T beside) {                                                             \
        T *to = line;                                                                                        \
        int64_t samples = layout->samples;                                                                   \
        int32_t bands = layout->bands;                                                                       \
        int64_t stride = hc_stored_stride_band(layout);                                                      \
        if (layout->interleave == HC_BIP) {                                                                  \
            for (int64_t s = 0; s < samples; s++) {                                                          \
                for (int32_t b = 0; b < bands; b++) {                                                        \
                    float value = from[s * bands + b];                                                       \
                    to[s * bands + b] = store_##NAME(layout, b, value, mask[s] != 0, nodata, beside);        \
                }                                                                                            \
            }                                                                                                \
            return;                                                                                          \
        }                                                                                                    \
        for (int64_t s0 = 0; s0 < samples; s0 += TILE) {                                                     \
            int64_t s1 = s0 + TILE < samples ? s0 + TILE : samples;                                          \
            for (int32_t b = 0; b < bands; b++) {                                                            \
                for (int64_t s = s0; s < s1; s++) {                                                          \
                    float value = from[s * bands + b];                                                       \
                    to[b * stride + s] = store_##NAME(layout, b, value, mask[s] != 0, nodata, beside);       \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }

HC_PUT(uint8_t, uint8, HC_CLAMPED, 0, UINT8_MAX)
HC_PUT(int8_t, int8, HC_CLAMPED, INT8_MIN, INT8_MAX)
HC_PUT(uint16_t, uint16, HC_CLAMPED, 0, UINT16_MAX)
HC_PUT(int16_t, int16, HC_CLAMPED, INT16_MIN, INT16_MAX)
HC_PUT(uint32_t, uint32, HC_CLAMPED, 0, UINT32_MAX)
HC_PUT(int32_t, int32, HC_CLAMPED, INT32_MIN, INT32_MAX)
HC_PUT(uint64_t, uint64, HC_CLAMPED, 0, UINT64_MAX)
HC_PUT(int64_t, int64, HC_CLAMPED, INT64_MIN, INT64_MAX)
HC_PUT(float, float32, HC_AS_IS, 0, 0)
HC_PUT(double, float64, HC_AS_IS, 0, 0)

void hc_integer_range(HcType type, double *low, double *end) {
    int bits = (int)hc_type_bytes(type) * 8;
    bool is_signed = type == HC_INT8 || type == HC_INT16 || type == HC_INT32 || type == HC_INT64;
    *low = is_signed ? -ldexp(1, bits - 1) : 0;
    *end = ldexp(1, is_signed ? bits - 1 : bits);
}

void hc_stored_range(const HcStored *layout, double *low, double *high) {
    double end;
    hc_integer_range(layout->type, low, &end);
    *high = end - 1;
    if (!layout->no_nodata && layout->nodata == *low) {
        *low += 1;
    } else if (!layout->no_nodata && layout->nodata == *high) {
        *high -= 1;
    }
}

void hc_stored_tally_add(HcStoredTally *to, const HcStoredTally *from) {
    if (from->values > 0) {
        to->lowest = to->values == 0 || from->lowest < to->lowest ? from->lowest : to->lowest;
        to->highest = to->values == 0 || from->highest > to->highest ? from->highest : to->highest;
    }
    to->values += from->values;
    to->clamped += from->clamped;
    to->moved += from->moved;
    to->rounded += from->rounded;
}

/* The values of one valid pixel. */
static void count_pixel(const HcStored *layout, const float *from, double low, double high,
                        HcStoredTally *tally) {
    for (int32_t b = 0; b < layout->bands; b++) {
        double value = scaled_value(layout, b, (double)from[b]);
        double whole = nearest(value);
        if (isnan(value)) {
            continue;
        }
        tally->lowest = tally->values == 0 || from[b] < tally->lowest ? from[b] : tally->lowest;
        tally->highest = tally->values == 0 || from[b] > tally->highest ? from[b] : tally->highest;
        tally->values++;
        tally->clamped += whole < low || whole > high;
        tally->moved += !layout->no_nodata && whole == layout->nodata && whole >= low && whole <= high;
        tally->rounded += whole != value;
    }
}

void hc_stored_count(const HcStored *layout, const HcBlock *block, int32_t first, int32_t lines,
                     HcStoredTally *tally) {
    HcStoredTally found = {0};
    double low, high;
    hc_stored_range(layout, &low, &high);
    int64_t begin = ((int64_t)block->above + first) * block->samples;
    for (int64_t pixel = begin; pixel < begin + (int64_t)lines * block->samples; pixel++) {
        if (block->mask[pixel] != 0) {
            count_pixel(layout, block->data + pixel * block->bands, low, high, &found);
        }
    }
    hc_stored_tally_add(tally, &found);
}

static void put_line(const HcStored *layout, const float *from, const uint8_t *mask, void *line) {
    double nodata = layout->nodata;
    switch (layout->type) {
    case HC_UINT8:
        put_uint8(layout, from, mask, line, (uint8_t)nodata, (uint8_t)HC_BESIDE(UINT8_MAX, (uint8_t)nodata));
        break;
    case HC_INT8:
        put_int8(layout, from, mask, line, (int8_t)nodata, (int8_t)HC_BESIDE(INT8_MAX, (int8_t)nodata));
        break;
    case HC_UINT16:
        put_uint16(layout, from, mask, line, (uint16_t)nodata,
                   (uint16_t)HC_BESIDE(UINT16_MAX, (uint16_t)nodata));
        break;
    case HC_INT16:
        put_int16(layout, from, mask, line, (int16_t)nodata, (int16_t)HC_BESIDE(INT16_MAX, (int16_t)nodata));
        break;
    case HC_UINT32:
        put_uint32(layout, from, mask, line, (uint32_t)nodata,
                   (uint32_t)HC_BESIDE(UINT32_MAX, (uint32_t)nodata));
        break;
    case HC_INT32:
        put_int32(layout, from, mask, line, (int32_t)nodata, (int32_t)HC_BESIDE(INT32_MAX, (int32_t)nodata));
        break;
    case HC_UINT64:
        put_uint64(layout, from, mask, line, (uint64_t)nodata,
                   (uint64_t)HC_BESIDE(UINT64_MAX, (uint64_t)nodata));
        break;
    case HC_INT64:
        put_int64(layout, from, mask, line, (int64_t)nodata, (int64_t)HC_BESIDE(INT64_MAX, (int64_t)nodata));
        break;
    case HC_FLOAT32:
        put_float32(layout, from, mask, line, (float)nodata,
                    layout->no_nodata ? (float)nodata : nextafterf((float)nodata, nodata == 0 ? 1 : 0));
        break;
    case HC_FLOAT64:
        put_float64(layout, from, mask, line, nodata,
                    layout->no_nodata ? nodata : nextafter(nodata, nodata == 0 ? 1 : 0));
        break;
    case HC_TYPE_COUNT:
        break;
    }
}

void hc_stored_put(const HcStored *layout, void *stored, int32_t row, const HcBlock *block, int32_t first,
                   int32_t lines) {
    size_t row_bytes = (size_t)hc_stored_stride_row(layout) * hc_type_bytes(layout->type);
    for (int32_t i = 0; i < lines; i++) {
        size_t pixel = ((size_t)block->above + (size_t)first + (size_t)i) * (size_t)block->samples;
        put_line(layout, block->data + pixel * (size_t)block->bands, block->mask + pixel,
                 (char *)stored + (size_t)(row + i) * row_bytes);
    }
}

void hc_stored_copy(const HcStored *layout, void *stored, int32_t row, const HcStored *from,
                    const void *line) {
    size_t size = hc_type_bytes(layout->type);
    size_t samples = (size_t)layout->samples * size;
    char *to = (char *)stored + (size_t)(row * hc_stored_stride_row(layout)) * size;
    if (layout->interleave == HC_BIP) {
        memcpy(to, line, samples * (size_t)layout->bands);
        return;
    }
    for (int32_t b = 0; b < layout->bands; b++) {
        memcpy(to + (size_t)(b * hc_stored_stride_band(layout)) * size,
               (const char *)line + (size_t)(b * hc_stored_stride_band(from)) * size, samples);
    }
}
