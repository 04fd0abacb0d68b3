/* Float32 values to the stored type: rounding, clamping, nodata, interleave. Runs of 256 values are
 * converted in steps that compilers turn into vector code. Bands that are stored apart are turned 16 at a
 * time, so that each line of the cache is read once. */
#include "io/write/values.h"
#include "core/solver/clones.h"

#include <math.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Values that are stored at a time, more were slower; bands that are turned at a time. */
#define RUN   256
#define BANDS 16

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

/* Halves to even, by an addition that leaves no place for a fraction; of magnitudes below 2^51. */
static inline double nearest_of_few(double value) {
    return (value + 0x1.8p52) - 0x1.8p52;
}

/* Beyond 2^51 float32 has no fraction. */
static inline double nearest(double value) {
    return fabs(value) < 0x1p51 ? nearest_of_few(value) : value;
}

/* What is rounded and clamped. Adds to nothing where there is no scale, so that its bits stay. */
static inline double scaled_value(const HcStored *layout, int32_t band, double value) {
    if (layout->parts != NULL && layout->parts[band] > 0) {
        return value * layout->parts[band];
    }
    return layout->scaled ? (value - layout->offset) / layout->scale : value;
}

/* Scales a run: `each` is 0 for values of one band, 1 for values of one band after the other. */
HC_CLONES static void scale_run(const HcStored *layout, int32_t band, int32_t each,
                                const float *restrict from, int32_t count, double *restrict to) {
    const double scale = layout->scale, offset = layout->offset;
    if (layout->parts != NULL) {
        for (int32_t i = 0; i < count; i++) {
            to[i] = scaled_value(layout, band + i * each, (double)from[i]);
        }
    } else if (layout->scaled) {
        for (int32_t i = 0; i < count; i++) {
            to[i] = ((double)from[i] - offset) / scale;
        }
    } else {
        for (int32_t i = 0; i < count; i++) {
            to[i] = (double)from[i];
        }
    }
}

/* ---- a run of values as its type; NaN = nodata ---- */

#define HC_STORE_FLOAT(T, NAME, FROM)                                                                        \
    HC_CLONES static void store_##NAME(const FROM *restrict value, int32_t count, T nodata, T beside,        \
                                       T *restrict to) {                                                     \
        for (int32_t i = 0; i < count; i++) {                                                                \
            T stored = (T)value[i] == nodata ? beside : (T)value[i];                                         \
            to[i] = isnan(value[i]) ? nodata : stored;                                                       \
        }                                                                                                    \
    }

/* Steps of their own, without a branch: compilers make vectors of these. SHIFT brings the values into the
 * range of an int32, to which processors convert. */
#define HC_STORE_INTEGER(T, NAME, LOW, HIGH, SHIFT)                                                          \
    HC_CLONES static void store_##NAME(const double *restrict value, int32_t count, T nodata, T beside,      \
                                       T *restrict to) {                                                     \
        const double no = (double)nodata, other = (double)beside;                                            \
        double whole[RUN];                                                                                   \
        for (int32_t i = 0; i < count; i++) {                                                                \
            double above = value[i] < (double)(LOW) ? (double)(LOW) : value[i];                              \
            whole[i] = above > (double)(HIGH) ? (double)(HIGH) : above;                                      \
        }                                                                                                    \
        for (int32_t i = 0; i < count; i++) {                                                                \
            double rounded = nearest_of_few(whole[i]);                                                       \
            rounded = rounded == no ? other : rounded;                                                       \
            whole[i] = isnan(rounded) ? no : rounded;                                                        \
        }                                                                                                    \
        for (int32_t i = 0; i < count; i++) {                                                                \
            to[i] = (T)((uint32_t)(int32_t)(whole[i] - (double)(SHIFT)) + (uint32_t)(SHIFT));                \
        }                                                                                                    \
    }

/* (double)HIGH is one too large here, so the comparison includes it. */
#define HC_STORE_LONG(T, NAME, LOW, HIGH)                                                                    \
    static void store_##NAME(const double *restrict value, int32_t count, T nodata, T beside,                \
                             T *restrict to) {                                                               \
        for (int32_t i = 0; i < count; i++) {                                                                \
            double whole = nearest(value[i]);                                                                \
            T stored = isnan(whole)              ? nodata                                                    \
                       : whole >= (double)(HIGH) ? (T)(HIGH)                                                 \
                       : whole <= (double)(LOW)  ? (T)(LOW)                                                  \
                                                 : (T)whole;                                                  \
            to[i] = stored == nodata && !isnan(whole) ? beside : stored;                                     \
        }                                                                                                    \
    }

HC_STORE_INTEGER(uint8_t, uint8, 0, UINT8_MAX, 0)
HC_STORE_INTEGER(int8_t, int8, INT8_MIN, INT8_MAX, 0)
HC_STORE_INTEGER(uint16_t, uint16, 0, UINT16_MAX, 0)
HC_STORE_INTEGER(int16_t, int16, INT16_MIN, INT16_MAX, 0)
HC_STORE_INTEGER(uint32_t, uint32, 0, UINT32_MAX, 1U << 31)
HC_STORE_INTEGER(int32_t, int32, INT32_MIN, INT32_MAX, 0)
HC_STORE_LONG(uint64_t, uint64, 0, UINT64_MAX)
HC_STORE_LONG(int64_t, int64, INT64_MIN, INT64_MAX)
HC_STORE_FLOAT(float, float32, double)
HC_STORE_FLOAT(double, float64, double)
HC_STORE_FLOAT(float, as_it_is, float)

/* What a valid value gets that would read as nodata: the one next to it. */
#define HC_BESIDE(HIGH, nodata)                                                                              \
    (layout->no_nodata ? (nodata) : (nodata) == (HIGH) ? (nodata)-1 : (nodata) + 1)
#define HC_STORE(CASE, T, NAME, HIGH)                                                                        \
    case CASE:                                                                                               \
        store_##NAME(value, count, (T)nodata, (T)HC_BESIDE(HIGH, (T)nodata), to);                            \
        break;

static float float_beside(const HcStored *layout) {
    const float nodata = (float)layout->nodata;
    return layout->no_nodata ? nodata : nextafterf(nodata, nodata == 0 ? 1 : 0);
}

HcStoring hc_stored_floats(const HcStored *layout) {
    return (HcStoring){layout->interleave, (float)layout->nodata, float_beside(layout)};
}

static double double_beside(const HcStored *layout) {
    const double nodata = layout->nodata;
    return layout->no_nodata ? nodata : nextafter(nodata, nodata == 0 ? 1 : 0);
}

/* At most RUN values; band and each as of scale_run. */
static void store_run(const HcStored *layout, int32_t band, int32_t each, const float *from, int32_t count,
                      void *to) {
    const double nodata = layout->nodata;
    double value[RUN];
    if (layout->type == HC_FLOAT32 && !layout->scaled && layout->parts == NULL) {
        store_as_it_is(from, count, (float)nodata, float_beside(layout), to);
        return;
    }
    scale_run(layout, band, each, from, count, value);
    switch (layout->type) {
        HC_STORE(HC_UINT8, uint8_t, uint8, UINT8_MAX)
        HC_STORE(HC_INT8, int8_t, int8, INT8_MAX)
        HC_STORE(HC_UINT16, uint16_t, uint16, UINT16_MAX)
        HC_STORE(HC_INT16, int16_t, int16, INT16_MAX)
        HC_STORE(HC_UINT32, uint32_t, uint32, UINT32_MAX)
        HC_STORE(HC_INT32, int32_t, int32, INT32_MAX)
        HC_STORE(HC_UINT64, uint64_t, uint64, UINT64_MAX)
        HC_STORE(HC_INT64, int64_t, int64, INT64_MAX)
    case HC_FLOAT32:
        store_float32(value, count, (float)nodata, float_beside(layout), to);
        break;
    case HC_FLOAT64:
        store_float64(value, count, nodata, double_beside(layout), to);
        break;
    case HC_TYPE_COUNT:
        break;
    }
}

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

/* ---- lines ---- */

/* Turns the first samples of the first bands, four by four, by the vectors of every x86-64. Returns how many
 * samples. */
static int32_t turn_fours(const float *from, int64_t all, int32_t bands, int32_t count, float *run) {
    int32_t s = 0;
#ifdef __SSE2__
    for (; s + 4 <= count; s += 4, from += 4 * all) {
        for (int32_t k = 0; k + 4 <= bands; k += 4) {
            __m128 a = _mm_loadu_ps(from + k);
            __m128 b = _mm_loadu_ps(from + k + all);
            __m128 c = _mm_loadu_ps(from + k + 2 * all);
            __m128 d = _mm_loadu_ps(from + k + 3 * all);
            _MM_TRANSPOSE4_PS(a, b, c, d);
            _mm_storeu_ps(run + k * RUN + s, a);
            _mm_storeu_ps(run + (k + 1) * RUN + s, b);
            _mm_storeu_ps(run + (k + 2) * RUN + s, c);
            _mm_storeu_ps(run + (k + 3) * RUN + s, d);
        }
    }
#endif
    return s;
}

/* Samples of some bands, from[count][all bands] to run[bands][RUN]; NaN where they are masked. */
static void turn(const float *restrict from, const uint8_t *restrict mask, int32_t all, int32_t bands,
                 int32_t count, float *restrict run) {
    const bool whole = memchr(mask, 0, (size_t)count) == NULL;
    const int32_t turned = whole ? turn_fours(from, all, bands, count, run) : 0;
    for (int32_t s = 0; s < count; s++) {
        for (int32_t b = s < turned ? bands / 4 * 4 : 0; b < bands; b++) {
            run[b * RUN + s] = mask[s] != 0 ? from[(int64_t)s * all + b] : NAN;
        }
    }
}

/* A line whose bands lie apart. */
static void put_apart(const HcStored *layout, const float *from, const uint8_t *mask, char *line) {
    const int64_t size = (int64_t)hc_type_bytes(layout->type);
    const int64_t stride = hc_stored_stride_band(layout);
    float run[BANDS * RUN];
    for (int64_t s = 0; s < layout->samples; s += RUN) {
        const int32_t count = (int32_t)hc_min64(RUN, layout->samples - s);
        for (int32_t band = 0; band < layout->bands; band += BANDS) {
            const int32_t bands = (int32_t)hc_min64(BANDS, layout->bands - band);
            turn(from + s * layout->bands + band, mask + s, layout->bands, bands, count, run);
            for (int32_t b = 0; b < bands; b++) {
                store_run(layout, band + b, 0, run + b * RUN, count, line + ((band + b) * stride + s) * size);
            }
        }
    }
}

/* Uses at most RUN values as they lie, those of `band` first; `at` counts the values of the line before them.
 */
typedef void UseRun(const HcStored *layout, int32_t band, const float *values, int32_t count, int64_t at,
                    void *user);

/* All values of a line: some pixels at a time, or some bands of one. NaN where they are masked. */
static void use_runs(const HcStored *layout, const float *from, const uint8_t *mask, UseRun *use,
                     void *user) {
    const int64_t bands = layout->bands;
    const int64_t most = layout->parts == NULL && bands < RUN ? RUN / bands : 1;
    float run[RUN];
    for (int64_t s = 0; s < layout->samples; s += most) {
        const int64_t pixels = hc_min64(most, layout->samples - s);
        const bool whole = memchr(mask + s, 0, (size_t)pixels) == NULL;
        for (int64_t b = 0; b < bands; b += RUN) {
            const int64_t width = hc_min64(RUN, bands - b);
            const int64_t at = s * bands + b;
            for (int64_t i = 0; i < pixels * width && !whole; i++) {
                run[i] = mask[s + i / width] != 0 ? from[at + i] : NAN;
            }
            use(layout, (int32_t)b, whole ? from + at : run, (int32_t)(pixels * width), at, user);
        }
    }
}

/* Stores a run of a line that has the bands of a pixel together. */
static void put_run(const HcStored *layout, int32_t band, const float *values, int32_t count, int64_t at,
                    void *line) {
    store_run(layout, band, 1, values, count, (char *)line + at * (int64_t)hc_type_bytes(layout->type));
}

void hc_stored_put(const HcStored *layout, void *stored, int32_t row, const HcBlock *block, int32_t first,
                   int32_t lines) {
    size_t row_bytes = (size_t)hc_stored_stride_row(layout) * hc_type_bytes(layout->type);
    for (int32_t i = 0; i < lines; i++) {
        size_t pixel = ((size_t)block->above + (size_t)first + (size_t)i) * (size_t)block->samples;
        const float *from = block->data + pixel * (size_t)block->bands;
        char *line = (char *)stored + (size_t)(row + i) * row_bytes;
        if (layout->interleave == HC_BIP) {
            use_runs(layout, from, block->mask + pixel, put_run, line);
        } else {
            put_apart(layout, from, block->mask + pixel, line);
        }
    }
}

/* ---- counting ---- */

/* What becomes of values, by their type. */
typedef struct Limits {
    double low, end;     /* of the type, and the first that is too high */
    double edge, within; /* nodata at an end of that range, and elsewhere; NaN = it is not there */
} Limits;

static Limits limits_of(const HcStored *layout) {
    Limits limits = {.edge = NAN, .within = NAN};
    hc_integer_range(layout->type, &limits.low, &limits.end);
    if (!layout->no_nodata) {
        bool at_end = layout->nodata == limits.low || layout->nodata == limits.end - 1;
        *(at_end ? &limits.edge : &limits.within) = layout->nodata;
    }
    return limits;
}

/* Steps of their own, as those of storing. */
HC_CLONES static void count_values(const double *restrict value, int32_t count, const Limits *restrict limits,
                                   HcStoredTally *restrict tally) {
    const Limits of = *limits;
    int64_t values = 0, clamped = 0, moved = 0, rounded = 0;
    double whole[RUN];
    for (int32_t i = 0; i < count; i++) {
        whole[i] = nearest_of_few(value[i]);
    }
    for (int32_t i = 0; i < count; i++) {
        whole[i] = fabs(value[i]) < 0x1p51 ? whole[i] : value[i];
    }
    for (int32_t i = 0; i < count; i++) {
        values += !isnan(value[i]);
        clamped += (whole[i] < of.low) | (whole[i] >= of.end) | (whole[i] == of.edge);
        moved += (whole[i] == of.within) & (whole[i] >= of.low) & (whole[i] < of.end);
        rounded += (whole[i] < value[i]) | (whole[i] > value[i]);
    }
    tally->values += values;
    tally->clamped += clamped;
    tally->moved += moved;
    tally->rounded += rounded;
}

enum { LANES = 16 };

/* The lowest and highest of each lane; NaN is none. */
HC_CLONES static void find_ends(const float *restrict value, int32_t count, float *restrict lowest,
                                float *restrict highest) {
    int32_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        for (int32_t l = 0; l < LANES; l++) {
            lowest[l] = value[i + l] < lowest[l] ? value[i + l] : lowest[l];
            highest[l] = value[i + l] > highest[l] ? value[i + l] : highest[l];
        }
    }
    for (; i < count; i++) {
        lowest[0] = value[i] < lowest[0] ? value[i] : lowest[0];
        highest[0] = value[i] > highest[0] ? value[i] : highest[0];
    }
}

typedef struct Found {
    HcStoredTally tally;
    Limits limits;
    float lowest[LANES], highest[LANES];
} Found;

static void count_run(const HcStored *layout, int32_t band, const float *values, int32_t count, int64_t at,
                      void *user) {
    Found *found = user;
    double scaled[RUN];
    (void)at;
    scale_run(layout, band, 1, values, count, scaled);
    count_values(scaled, count, &found->limits, &found->tally);
    find_ends(values, count, found->lowest, found->highest);
}

void hc_stored_count(const HcStored *layout, const HcBlock *block, int32_t first, int32_t lines,
                     HcStoredTally *tally) {
    Found found = {.tally = {.lowest = INFINITY, .highest = -INFINITY}, .limits = limits_of(layout)};
    HcStoredTally *all = &found.tally;
    for (int32_t l = 0; l < LANES; l++) {
        found.lowest[l] = INFINITY;
        found.highest[l] = -INFINITY;
    }
    for (int32_t line = 0; line < lines; line++) {
        int64_t pixel = ((int64_t)block->above + first + line) * block->samples;
        use_runs(layout, block->data + pixel * block->bands, block->mask + pixel, count_run, &found);
    }
    for (int32_t l = 0; l < LANES; l++) {
        all->lowest = found.lowest[l] < all->lowest ? found.lowest[l] : all->lowest;
        all->highest = found.highest[l] > all->highest ? found.highest[l] : all->highest;
    }
    hc_stored_tally_add(tally, all);
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
