#include "io/view/values.h"
#include "io/view/view.h"

#include <float.h>
#include <math.h>
#include <string.h>

bool hc_view_type_has(HcType type, double value) {
    bool whole = value == floor(value);
    switch (type) {
    case HC_FLOAT64:
        return true;
    case HC_FLOAT32:
        return !isfinite(value) || isfinite((float)value);
    case HC_UINT8:
    case HC_UINT16:
    case HC_UINT32:
        return whole && value >= 0 && value < ldexp(1.0, 8 * (int)hc_type_bytes(type));
    case HC_UINT64:
        return whole && value >= 0 && value <= 0x1p64;
    case HC_INT64:
        return whole && fabs(value) <= 0x1p63;
    default:
        return whole && fabs(value + 0.5) < ldexp(1.0, 8 * (int)hc_type_bytes(type) - 1);
    }
}

float hc_view_outside(HcType type) {
    bool is_signed = type == HC_INT8 || type == HC_INT16 || type == HC_INT32 || type == HC_INT64;
    return is_signed ? ldexpf(1, 8 * (int)hc_type_bytes(type) - 1) : -1;
}

/* The values of one line of one band. */
typedef struct Run {
    const char *from;
    int64_t step; /* bytes from one to the next */
    int32_t count;
    bool swap;
    const HcViewBand *band;
    float *to;
} Run;

/* A value that is not `none`: its neighbour where it is. */
static float apart_from(float value, float none) {
    float neighbour = none == 0 ? FLT_MIN : nextafterf(none, 0);
    return value == none ? neighbour : value;
}

#define AS_IT_IS(value)  (value)
#define TO_INT64(value)  ((value) >= 0x1p63 ? INT64_MAX : (int64_t)(value))
#define TO_UINT64(value) ((value) >= 0x1p64 ? UINT64_MAX : (uint64_t)(value))
#define SWAP_BYTE(bits)  (bits)

/* Each type on its own, so that nodata is compared in the type of the file. */
#define CONVERTER(convert, name, TYPE, BITS, SWAP, FIT)                                                      \
    static void convert(const Run *run) {                                                                    \
        const HcViewBand *band = run->band;                                                                  \
        TYPE nodata[HC_VIEW_NODATA_MAX];                                                                     \
        int32_t count = 0;                                                                                   \
        for (int32_t n = 0; n < band->count; n++) {                                                          \
            if (hc_view_type_has(name, band->nodata[n])) {                                                   \
                nodata[count++] = (TYPE)FIT(band->nodata[n]);                                                \
            }                                                                                                \
        }                                                                                                    \
        for (int32_t i = 0; i < run->count; i++) {                                                           \
            BITS bits;                                                                                       \
            TYPE value;                                                                                      \
            bool none = false;                                                                               \
            memcpy(&bits, run->from + i * run->step, sizeof bits);                                           \
            bits = run->swap ? (BITS)SWAP(bits) : bits;                                                      \
            memcpy(&value, &bits, sizeof value);                                                             \
            for (int32_t n = 0; n < count; n++) {                                                            \
                none = none || value == nodata[n] || (value != value && nodata[n] != nodata[n]);             \
            }                                                                                                \
            float plain = band->scaled ? (float)(band->gain * (double)value + band->offset) : (float)value;  \
            run->to[i] = none ? band->none : apart_from(plain, band->none);                                  \
        }                                                                                                    \
    }

CONVERTER(convert_uint8, HC_UINT8, uint8_t, uint8_t, SWAP_BYTE, AS_IT_IS)
CONVERTER(convert_int8, HC_INT8, int8_t, uint8_t, SWAP_BYTE, AS_IT_IS)
CONVERTER(convert_uint16, HC_UINT16, uint16_t, uint16_t, __builtin_bswap16, AS_IT_IS)
CONVERTER(convert_int16, HC_INT16, int16_t, uint16_t, __builtin_bswap16, AS_IT_IS)
CONVERTER(convert_uint32, HC_UINT32, uint32_t, uint32_t, __builtin_bswap32, AS_IT_IS)
CONVERTER(convert_int32, HC_INT32, int32_t, uint32_t, __builtin_bswap32, AS_IT_IS)
CONVERTER(convert_uint64, HC_UINT64, uint64_t, uint64_t, __builtin_bswap64, TO_UINT64)
CONVERTER(convert_int64, HC_INT64, int64_t, uint64_t, __builtin_bswap64, TO_INT64)
CONVERTER(convert_float32, HC_FLOAT32, float, uint32_t, __builtin_bswap32, AS_IT_IS)
CONVERTER(convert_float64, HC_FLOAT64, double, uint64_t, __builtin_bswap64, AS_IT_IS)

void hc_view_convert(const HcRaw *raw, int32_t line, int32_t stored, const HcViewBand *band, float *to) {
    static void (*const converter[HC_TYPE_COUNT])(const Run *) = {
        [HC_UINT8] = convert_uint8,     [HC_INT8] = convert_int8,     [HC_UINT16] = convert_uint16,
        [HC_INT16] = convert_int16,     [HC_UINT32] = convert_uint32, [HC_INT32] = convert_int32,
        [HC_UINT64] = convert_uint64,   [HC_INT64] = convert_int64,   [HC_FLOAT32] = convert_float32,
        [HC_FLOAT64] = convert_float64,
    };
    const Run run = {.from = (const char *)raw->data + line * raw->stride_line + stored * raw->stride_band,
                     .step = raw->stride_sample,
                     .count = raw->samples,
                     .swap = raw->swap,
                     .band = band,
                     .to = to};
    converter[raw->type](&run);
}
