/* Values on their way into a file, one by one in long double here: every type, interleave, scale and nodata
 * value, for lines and bands around the lengths that are stored and turned at a time. */
#include "io/write/values.h"
#include "tests/support/check.h"
#include "tests/support/random.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the reference ---- */

static bool is_integer(HcType type) {
    return type != HC_FLOAT32 && type != HC_FLOAT64;
}

static double scaled(const HcStored *layout, int32_t band, float from) {
    if (layout->parts != NULL && layout->parts[band] > 0) {
        return (double)from * layout->parts[band];
    }
    return layout->scaled ? ((double)from - layout->offset) / layout->scale : (double)from;
}

static void range_of(HcType type, long double *low, long double *high) {
    int bits = 8 * (int)hc_type_bytes(type);
    bool sign = type == HC_INT8 || type == HC_INT16 || type == HC_INT32 || type == HC_INT64;
    *low = sign ? -ldexpl(1, bits - 1) : 0;
    *high = ldexpl(1, sign ? bits - 1 : bits) - 1;
}

/* As a number, which every type's values are exactly. */
static long double expected(const HcStored *layout, int32_t band, bool valid, float from) {
    long double low, high;
    const double nodata = layout->nodata;
    if (!valid || isnan(from)) {
        return (long double)nodata;
    }
    double value = scaled(layout, band, from);
    if (layout->type == HC_FLOAT32) {
        float stored = (float)value;
        return stored == (float)nodata && !layout->no_nodata ? nextafterf(stored, stored == 0 ? 1 : 0)
                                                             : stored;
    }
    if (layout->type == HC_FLOAT64) {
        return value == nodata && !layout->no_nodata ? nextafter(value, value == 0 ? 1 : 0) : value;
    }
    range_of(layout->type, &low, &high);
    long double whole = rintl((long double)value); /* halves to even */
    whole = whole < low ? low : whole > high ? high : whole;
    if (whole == (long double)nodata && !layout->no_nodata) {
        whole += whole == high ? -1 : 1;
    }
    return whole;
}

static long double stored_value(HcType type, const void *values, size_t at) {
    switch (type) {
    case HC_UINT8:
        return ((const uint8_t *)values)[at];
    case HC_INT8:
        return ((const int8_t *)values)[at];
    case HC_UINT16:
        return ((const uint16_t *)values)[at];
    case HC_INT16:
        return ((const int16_t *)values)[at];
    case HC_UINT32:
        return ((const uint32_t *)values)[at];
    case HC_INT32:
        return ((const int32_t *)values)[at];
    case HC_UINT64:
        return (long double)((const uint64_t *)values)[at];
    case HC_INT64:
        return (long double)((const int64_t *)values)[at];
    case HC_FLOAT32:
        return ((const float *)values)[at];
    case HC_FLOAT64:
        return ((const double *)values)[at];
    case HC_TYPE_COUNT:
        break;
    }
    return 0;
}

/* Floats have two zeros. */
static bool same_value(HcType type, long double a, long double b) {
    return (isnan(a) && isnan(b)) || (a == b && (is_integer(type) || !signbit(a) == !signbit(b)));
}

static void count(const HcStored *layout, int32_t band, float from, HcStoredTally *to) {
    long double low, high;
    double value = scaled(layout, band, from);
    range_of(layout->type, &low, &high);
    const bool nodata_low = !layout->no_nodata && (long double)layout->nodata == low;
    const bool nodata_high = !layout->no_nodata && !nodata_low && (long double)layout->nodata == high;
    long double whole = rintl((long double)value);
    low += nodata_low;
    high -= nodata_high;
    to->lowest = to->values == 0 || from < to->lowest ? from : to->lowest;
    to->highest = to->values == 0 || from > to->highest ? from : to->highest;
    to->values++;
    to->clamped += whole < low || whole > high;
    to->moved += !layout->no_nodata && whole == (long double)layout->nodata && whole >= low && whole <= high;
    to->rounded += whole != (long double)value;
}

/* ---- blocks ---- */

static const float special[] = {0.0f,          -0.0f,
                                0.5f,          1.5f,
                                2.5f,          -0.5f,
                                -1.5f,         127.5f,
                                128.49f,       -128.5f,
                                -129,          254.5f,
                                255,           255.5f,
                                256,           32767,
                                32767.5f,      -32768.5f,
                                65534.5f,      65535,
                                65535.5f,      7,
                                -9999,         16777215,
                                16777216,      2147483520,
                                2147483648.0f, -2147483648,
                                -4e9f,         4294967040,
                                4294967296.0f, 4.5e15f,
                                9.2233715e18f, 9.2233720e18f,
                                -9.223372e18f, 1.8446742e19f,
                                1.8446744e19f, 1e30f,
                                -1e30f,        FLT_MAX,
                                -FLT_MAX,      FLT_MIN,
                                1e-42f,        INFINITY,
                                -INFINITY,     NAN,
                                3.4999998f,    0.49999997f};

enum { ABOVE = 1, LINES = 3, SPECIALS = sizeof special / sizeof *special };

static HcBlock make_block(int64_t samples, int32_t bands, int masked_of) {
    const size_t pixels = (size_t)samples * (ABOVE + LINES);
    HcBlock block = {.lines = LINES, .above = ABOVE, .samples = (int32_t)samples, .bands = bands};
    uint64_t seed = 17;
    block.data = calloc(pixels * (size_t)bands, sizeof *block.data);
    block.mask = malloc(pixels);
    for (size_t p = 0; p < pixels; p++) {
        block.mask[p] = masked_of == 0 || p * 7919 % (size_t)masked_of != 0;
        for (int32_t b = 0; b < bands && block.mask[p]; b++) {
            const uint64_t bits = random_bits(&seed);
            block.data[p * (size_t)bands + (size_t)b] =
                bits % 3 == 0 ? special[bits / 3 % SPECIALS]
                              : (float)((int64_t)(bits >> 32) - INT32_MAX) * 0x1p-16f;
        }
    }
    return block;
}

static void free_block(HcBlock *block) {
    free(block->data);
    free(block->mask);
}

static size_t place(const HcStored *layout, int64_t row, int64_t sample, int64_t band) {
    return (size_t)(row * hc_stored_stride_row(layout) + sample * hc_stored_stride_sample(layout) +
                    band * hc_stored_stride_band(layout));
}

/* Lines 1 and 2 of the block go to rows 2 and 3 of five; the others stay as they are. */
static void check_layout(const HcStored *layout, const HcBlock *block) {
    const size_t bytes = hc_stored_bytes(layout);
    char *stored = malloc(bytes);
    char *before = malloc(bytes);
    HcStoredTally tally = {0}, wanted = {0};
    memset(stored, 0x5a, bytes);
    memcpy(before, stored, bytes);
    hc_stored_put(layout, stored, 2, block, 1, 2);
    if (is_integer(layout->type)) {
        hc_stored_count(layout, block, 1, 2, &tally);
    }
    for (int64_t row = 0; row < layout->rows; row++) {
        for (int64_t s = 0; s < layout->samples; s++) {
            for (int32_t b = 0; b < layout->bands; b++) {
                const size_t at = place(layout, row, s, b);
                if (row < 2 || row > 3) {
                    assert_true(stored_value(layout->type, stored, at) ==
                                stored_value(layout->type, before, at));
                    continue;
                }
                const size_t pixel = (size_t)((ABOVE + 1 + row - 2) * layout->samples + s);
                const float from = block->data[pixel * (size_t)layout->bands + (size_t)b];
                const bool valid = block->mask[pixel] != 0;
                const long double is = stored_value(layout->type, stored, at);
                const long double should = expected(layout, b, valid, from);
                if (!same_value(layout->type, is, should)) {
                    fail_msg(
                        "%s, interleave %d, %d bands, sample %d, band %d: %.9g became %.21Lg, not %.21Lg",
                        hc_type_name(layout->type), (int)layout->interleave, layout->bands, (int)s, b,
                        (double)from, is, should);
                }
                if (valid && !isnan(from) && is_integer(layout->type)) {
                    count(layout, b, from, &wanted);
                }
            }
        }
    }
    assert_int_equal(tally.values, wanted.values);
    assert_int_equal(tally.clamped, wanted.clamped);
    assert_int_equal(tally.moved, wanted.moved);
    assert_int_equal(tally.rounded, wanted.rounded);
    assert_true(wanted.values == 0 || (tally.lowest == wanted.lowest && tally.highest == wanted.highest));
    free(stored);
    free(before);
}

/* Of a type: the ends of its range and a value within; NaN and numbers for floats. */
static double nodata_of(HcType type, int which) {
    static const double of_floats[] = {NAN, 0, -9999, 255};
    long double low, high;
    if (!is_integer(type)) {
        return of_floats[which];
    }
    range_of(type, &low, &high);
    return which == 0                              ? (double)low
           : which == 1 && hc_type_bytes(type) < 8 ? (double)high
           : which == 2                            ? 7
                                                   : 0;
}

static void check_shape(int64_t samples, int32_t bands, int masked_of) {
    HcBlock block = make_block(samples, bands, masked_of);
    int32_t *parts = calloc((size_t)bands, sizeof *parts);
    for (int32_t b = 0; b < bands; b++) {
        parts[b] = b % 3 == 1 ? 0 : b % 3 == 0 ? 1000 : 3;
    }
    for (int type = 0; type < HC_TYPE_COUNT; type++) {
        for (int interleave = HC_BSQ; interleave <= HC_BIP; interleave++) {
            for (int way = 0; way < 4; way++) {
                for (int which = 0; which < 4; which++) {
                    HcStored layout = {.type = (HcType)type,
                                       .interleave = (HcInterleave)interleave,
                                       .samples = samples,
                                       .bands = bands,
                                       .rows = 5,
                                       .nodata = nodata_of((HcType)type, which),
                                       .no_nodata = which == 3,
                                       .scaled = way % 2 == 1,
                                       .scale = 0.02,
                                       .offset = -3,
                                       .parts = way >= 2 ? parts : NULL};
                    check_layout(&layout, &block);
                }
            }
        }
    }
    free(parts);
    free_block(&block);
}

/* ---- tests ---- */

static void every_layout(void **state) {
    static const struct {
        int64_t samples;
        int32_t bands;
        int masked_of;
    } shapes[] = {{1, 1, 0},   {3, 5, 2},   {300, 2, 0}, {255, 4, 5}, {256, 3, 0}, {257, 7, 11},
                  {70, 20, 0}, {40, 63, 9}, {3, 255, 0}, {2, 256, 3}, {3, 257, 2}, {2, 600, 0}};
    (void)state;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        check_shape(shapes[k].samples, shapes[k].bands, shapes[k].masked_of);
    }
}

/* Nothing is valid: all nodata, and nothing is counted. */
static void no_valid_pixel(void **state) {
    (void)state;
    check_shape(300, 3, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout),
        cmocka_unit_test(no_valid_pixel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
