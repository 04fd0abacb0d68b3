#include "core/operation/eigh/eigh.h"
#include "core/operation/gram/gram.h"
#include "core/compute.h"
#include "core/sums/moments.h"
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>

/* Unsigned integers of 640 bits: enough to check a rounding by its definition. */
enum { WORDS = 20 };
typedef struct Big {
    uint32_t word[WORDS]; /* lowest first */
} Big;

static Big big(HcWide value) {
    Big out = {{0}};
    for (int i = 0; i < 4; i++) {
        out.word[i] = (uint32_t)(value >> (32 * i));
    }
    return out;
}

static Big times(Big a, uint64_t factor) {
    Big out = {{0}};
    for (int part = 0; part < 2; part++) {
        uint64_t carry = 0;
        uint64_t f = (uint32_t)(factor >> (32 * part));
        for (int i = 0; i + part < WORDS; i++) {
            carry += a.word[i] * f + out.word[i + part];
            out.word[i + part] = (uint32_t)carry;
            carry >>= 32;
        }
        assert_int_equal(carry, 0);
    }
    return out;
}

static Big shifted(Big a, int bits) {
    for (; bits >= 31; bits -= 31) {
        a = times(a, (uint64_t)1 << 31);
    }
    return times(a, (uint64_t)1 << bits);
}

static int compare(const Big *a, const Big *b) {
    for (int i = WORDS - 1; i >= 0; i--) {
        if (a->word[i] != b->word[i]) {
            return a->word[i] < b->word[i] ? -1 : 1;
        }
    }
    return 0;
}

/* value is the double nearest to n/d, ties to even: n/d lies between the midpoints to its neighbours. */
static void check_nearest(HcWide n, HcWide d) {
    double value = hc_wide_ratio(n, d);
    if (n < 0) {
        check_same(hc_wide_ratio(-n, d), -value);
        n = -n;
        value = -value;
    }
    int exponent;
    double fraction = frexp(value, &exponent);
    assert_true(fraction >= 0.5 && fraction < 1);
    uint64_t m = (uint64_t)ldexp(fraction, 53);
    exponent -= 53; /* value = m * 2^exponent */
    /* 4 n against (4 m +- 2) d 2^exponent; below a power of two the midpoint is nearer */
    Big four_n = shifted(big(n), 2 + (exponent < 0 ? -exponent : 0));
    Big scaled = shifted(big(d), exponent > 0 ? exponent : 0);
    Big above = times(scaled, 4 * m + 2);
    Big below = times(scaled, 4 * m - (m == (uint64_t)1 << 52 ? 1 : 2));
    int to_above = compare(&four_n, &above);
    int to_below = compare(&four_n, &below);
    assert_true(to_above < 0 || (to_above == 0 && m % 2 == 0));
    assert_true(to_below > 0 || (to_below == 0 && m % 2 == 0));
}

static uint64_t next(uint64_t *seed) {
    uint64_t z = (*seed += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

static HcWide random_wide(uint64_t *seed, int most) {
    int bits = 1 + (int)(next(seed) % (uint64_t)most);
    HcWide value = ((HcWide)(next(seed) >> 1) << 64) | (HcWide)next(seed);
    return (value >> (127 - bits)) | 1;
}

static void test_ratio_exact(void **state) {
    (void)state;
    check_same(hc_wide_ratio(0, 7), 0.0);
    check_same(hc_wide_ratio(1, 1), 1.0);
    check_same(hc_wide_ratio(-6, 3), -2.0);
    check_same(hc_wide_ratio(1, 3), 1.0 / 3.0);
    check_same(hc_wide_ratio(-2, 3), -2.0 / 3.0);
    check_same(hc_wide_ratio((HcWide)1 << 126, 1), 0x1p126);
    check_same(hc_wide_ratio(1, (HcWide)1 << 126), 0x1p-126);
    check_same(hc_wide_ratio(((HcWide)1 << 126) + 1, ((HcWide)1 << 126) - 1), 1.0);
}

static void test_ratio_halfway(void **state) {
    (void)state;
    const HcWide one = (HcWide)1 << 53;
    check_same(hc_wide_ratio(one + 1, 1), 0x1p53);              /* down to even */
    check_same(hc_wide_ratio(one + 3, 1), 0x1p53 + 4);          /* up to even */
    check_same(hc_wide_ratio(2 * one - 1, 1), 0x1p54);          /* up to the next power */
    check_same(hc_wide_ratio(2 * one * 8 + 17, 8), 0x1p54 + 4); /* just above half */
    check_same(hc_wide_ratio(2 * one * 8 + 16, 8), 0x1p54);     /* half */
    check_same(hc_wide_ratio((one + 1) * 1000003, 1000003), 0x1p53);
    check_same(hc_wide_ratio((one + 1) * 1000003 + 1, 1000003), 0x1p53 + 2);
    check_same(hc_wide_ratio((one + 1) * 1000003 - 1, 1000003), 0x1p53);
    check_same(hc_wide_ratio(one + 1, one), 1.0);
    check_same(hc_wide_ratio(one + 3, one), 1.0 + 0x1p-51);
}

static void test_ratio_random(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 200000; i++) {
        HcWide n = random_wide(&seed, i % 2 == 0 ? 127 : 60);
        HcWide d = random_wide(&seed, i % 3 == 0 ? 126 : 50);
        check_nearest(i % 5 == 0 ? -n : n, d);
        /* near a midpoint of two doubles */
        HcWide q = (HcWide)((next(&seed) >> 10) | (uint64_t)1 << 53 | 1);
        HcWide e = random_wide(&seed, 70);
        check_nearest(q * e + (HcWide)(i % 3) - 1, e);
    }
}

/* Divisors about the width of a word, where the ways of dividing meet; numerators next to exact quotients, to
 * midpoints and to powers of two. */
static void test_ratio_edges(void **state) {
    (void)state;
    const HcWide word = (HcWide)1 << 64;
    const HcWide divisors[] = {1,
                               2,
                               3,
                               7,
                               word / 2,
                               word - 1,
                               word / 2 - 1,
                               word / 2 + 1,
                               word,
                               word + 1,
                               word - 59,
                               ((HcWide)1 << 40) - 1,
                               5 * word,
                               72 * 9,
                               10000000019,
                               (HcWide)99999 * 100000 * 72};
    const HcWide most = (HcWide)1 << 126;
    uint64_t seed = 11;
    for (size_t i = 0; i < sizeof divisors / sizeof *divisors; i++) {
        HcWide d = divisors[i];
        for (int bits = 0; bits <= 120; bits++) {
            HcWide power = (HcWide)1 << bits;
            check_nearest(power, d);
            check_nearest(-power - 1, d);
            check_nearest(power > 1 ? power - 1 : 1, d);
        }
        for (int trial = 0; trial < 2000; trial++) {
            /* 53 digits: a double; 54: a midpoint; 55: a quarter */
            HcWide q = (HcWide)(next(&seed) >> (9 + trial % 3) | 1);
            for (HcWide step = -1; step <= 1 && q < most / d; step++) {
                check_nearest(q * d + step, d);
                check_nearest(-q * d + step, d);
            }
        }
        for (HcWide q = ((HcWide)1 << 54) - 1; q < most / d; q *= 2) { /* rounds up to a power of two */
            check_nearest(q * d, d);
            check_nearest(q * d - 1, d);
        }
    }
}

/* ---- on a grid ---- */

enum { GRID_BANDS = 3, GRID_PIXELS = 300 };

/* Sums of values as a backend forms them. */
static HcMoments on_grid(const float *values, int64_t count, const HcGrid *grid) {
    HcError err = {0};
    HcMoments out;
    check_ok(hc_moments_init(&out, GRID_BANDS, &err), err);
    check_ok(hc_moments_on_grid(&out, grid, &err), err);
    out.count = count;
    for (int64_t p = 0; p < count; p++) {
        double v[GRID_BANDS];
        double near[GRID_BANDS];
        int32_t far[GRID_BANDS];
        int32_t far_count = 0;
        for (int32_t b = 0; b < GRID_BANDS; b++) {
            v[b] =
                hc_grid_value(values[p * GRID_BANDS + b], grid->center[b], hc_grid_scale(grid->exponent[b]));
            near[b] = v[b];
            if (fabs(v[b]) >= HC_GRID_NEAR) {
                far[far_count++] = b;
                near[b] = hc_far_rest(v[b]);
            }
        }
        for (int b = 0; b < GRID_BANDS; b++) {
            out.sum[b] += (HcWide)near[b];
            for (int c = 0; c < GRID_BANDS; c++) {
                out.product[b * GRID_BANDS + c] += (HcWide)near[b] * (HcWide)near[c];
            }
        }
        if (far_count > 0) {
            check_ok(hc_moments_far(&out, &err), err);
            hc_moments_add_far(&out, v, near, far, far_count);
        }
    }
    return out;
}

/* Mean and covariance in 113 bits, of the values or of what a grid makes of them. */
static void plain_covariance(const float *values, int64_t count, const HcGrid *grid, double mean[GRID_BANDS],
                             double covariance[GRID_BANDS][GRID_BANDS]) {
    static __float128 x[GRID_PIXELS][GRID_BANDS];
    __float128 middle[GRID_BANDS] = {0};
    for (int64_t p = 0; p < count; p++) {
        for (int b = 0; b < GRID_BANDS; b++) {
            float value = values[p * GRID_BANDS + b];
            x[p][b] = (__float128)value;
            if (grid != NULL) {
                double v = hc_grid_value(value, grid->center[b], hc_grid_scale(grid->exponent[b]));
                x[p][b] =
                    (__float128)v * (__float128)ldexp(1, grid->exponent[b]) + (__float128)grid->center[b];
            }
            middle[b] += x[p][b] / (__float128)count;
        }
    }
    for (int b = 0; b < GRID_BANDS; b++) {
        mean[b] = (double)middle[b];
        for (int c = 0; c < GRID_BANDS; c++) {
            __float128 sum = 0;
            for (int64_t p = 0; p < count; p++) {
                sum += (x[p][b] - middle[b]) * (x[p][c] - middle[c]);
            }
            covariance[b][c] = (double)(sum / (__float128)(count - 1));
        }
    }
}

static void check_covariance(const HcMoments *moments, const double mean[GRID_BANDS],
                             double covariance[GRID_BANDS][GRID_BANDS], double tolerance) {
    HcError err = {0};
    double got_mean[GRID_BANDS];
    double got[GRID_BANDS * GRID_BANDS];
    check_ok(hc_moments_covariance(moments, NULL, 1, "the scene", got_mean, got, &err), err);
    for (int b = 0; b < GRID_BANDS; b++) {
        check_near(got_mean[b], mean[b], tolerance * (fabs(mean[b]) + sqrt(covariance[b][b])));
        for (int c = 0; c < GRID_BANDS; c++) {
            double size = sqrt(covariance[b][b] * covariance[c][c]);
            check_near(got[b * GRID_BANDS + c], covariance[b][c], tolerance * size);
        }
    }
}

/* Values that scatter by `spread` about 300, 0 and 1e-20; some pixels lie far out. */
static void random_values(float *values, int64_t count, float spread, float far, uint64_t *seed) {
    static const float about[GRID_BANDS] = {300, 0, 1e-20F};
    static const float unit[GRID_BANDS] = {1, 1, 1e-21F};
    for (int64_t p = 0; p < count; p++) {
        for (int b = 0; b < GRID_BANDS; b++) {
            float random = (float)(int64_t)(next(seed) % 2000001) / 1000000.0F - 1;
            values[p * GRID_BANDS + b] = about[b] + unit[b] * spread * random;
        }
        if (far != 0 && p % 50 == 7) {
            values[p * GRID_BANDS + p % GRID_BANDS] *= far;
        }
    }
}

static void test_grid_covariance(void **state) {
    (void)state;
    static const float fars[] = {0, 1e6F, -3e9F, 1e15F, 1e18F};
    uint64_t seed = 12;
    for (size_t k = 0; k < 5; k++) {
        float values[GRID_PIXELS * GRID_BANDS];
        double center[GRID_BANDS];
        int32_t exponent[GRID_BANDS];
        double mean[GRID_BANDS];
        double covariance[GRID_BANDS][GRID_BANDS];
        HcGrid grid = {center, exponent};
        random_values(values, GRID_PIXELS, 2, 0, &seed);
        hc_grid_choose(values, GRID_PIXELS, GRID_BANDS, center, exponent);
        assert_int_equal(hc_grid_wrong_band(&grid, GRID_BANDS), -1);
        random_values(values, GRID_PIXELS, 2, fars[k], &seed);
        HcMoments moments = on_grid(values, GRID_PIXELS, &grid);
        assert_true((moments.far_product != NULL) == (fars[k] != 0));
        plain_covariance(values, GRID_PIXELS, &grid, mean, covariance);
        check_covariance(&moments, mean, covariance, 1e-15);
        plain_covariance(values, GRID_PIXELS, NULL, mean, covariance); /* rounding to the grid: as promised */
        check_covariance(&moments, mean, covariance, 0x1p-28);
        hc_moments_clear(&moments);
    }
}

/* Sums on two grids are those of all values, each rounded to its own. */
static void test_grids_align(void **state) {
    (void)state;
    uint64_t seed = 13;
    for (int round = 0; round < 6; round++) {
        float values[GRID_PIXELS * GRID_BANDS];
        double center[2][GRID_BANDS];
        int32_t exponent[2][GRID_BANDS];
        double mean[GRID_BANDS];
        double covariance[GRID_BANDS][GRID_BANDS];
        const int64_t half = GRID_PIXELS / 2;
        HcMoments part[2];
        HcError err = {0};
        for (int k = 0; k < 2; k++) {
            float *own = values + k * half * GRID_BANDS;
            random_values(own, half, k == 0 ? 0.5F : 40, round % 3 == 2 ? 1e7F : 0, &seed);
            hc_grid_choose(own, half, GRID_BANDS, center[k], exponent[k]);
            part[k] = on_grid(own, half, &(HcGrid){center[k], exponent[k]});
        }
        int first = round % 2;
        check_ok(hc_moments_align(&part[first], &part[1 - first], &err), err);
        hc_moments_merge(&part[first], &part[1 - first]);
        assert_int_equal(part[first].count, GRID_PIXELS);
        plain_covariance(values, GRID_PIXELS, NULL, mean, covariance);
        check_covariance(&part[first], mean, covariance, 0x1p-28);
        hc_moments_clear(&part[0]);
        hc_moments_clear(&part[1]);
    }
}

/* A grid follows the bulk of a band. */
static void test_grid_choice(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    float values[COUNT];
    double center = 0;
    int32_t exponent = 0;
    uint64_t seed = 14;
    for (int i = 0; i < COUNT; i++) {
        values[i] = 1000 + (float)(next(&seed) % 1024) / 256; /* a deviation of 1.15 */
    }
    hc_grid_choose(values, COUNT, 1, &center, &exponent);
    assert_int_equal(exponent, -28);
    check_near(center, 1002, 0.2);
    for (int i = 0; i < COUNT; i += 50) { /* some far values change nothing of it */
        values[i] = 1e12F;
    }
    hc_grid_choose(values, COUNT, 1, &center, &exponent);
    assert_int_equal(exponent, -28);
    check_near(center, 1002, 0.2);
    for (int i = 0; i < COUNT; i++) {
        values[i] = i == 500 ? 5.0F : 4.0F;
    }
    hc_grid_choose(values, COUNT, 1, &center, &exponent);
    assert_true(exponent < -25 && exponent > -40);
    for (int i = 0; i < COUNT; i++) {
        values[i] = 4;
    }
    hc_grid_choose(values, COUNT, 1, &center, &exponent);
    assert_true(center == 4 && exponent == -29);
    memset(values, 0, sizeof values);
    hc_grid_choose(values, COUNT, 1, &center, &exponent);
    assert_true(center == 0 && exponent == -149);
    hc_grid_choose(NULL, 0, 1, &center, &exponent);
    assert_true(center == 0 && exponent == -149);
    values[0] = 3.4e38F;
    values[1] = -3.4e38F;
    hc_grid_choose(values, 2, 1, &center, &exponent);
    assert_true(center == 0 && exponent == 127 - 28);
}

/* Long integers against 128-bit ones, and powers of two. */
static void test_long(void **state) {
    (void)state;
    uint64_t seed = 15;
    for (int round = 0; round < 2000; round++) {
        HcWide a = random_wide(&seed, 60);
        HcWide b = random_wide(&seed, 60);
        HcLong x = hc_long_of_wide(a);
        HcLong y = hc_long_of_wide(b);
        HcLong sum = hc_long_add(&x, &y);
        HcLong difference = hc_long_subtract(&x, &y);
        HcLong product = hc_long_multiply(&x, &y);
        HcWide got = 0;
        assert_true(hc_long_to_wide(&sum, &got) && got == a + b);
        assert_true(hc_long_to_wide(&difference, &got) && got == a - b);
        assert_true(hc_long_to_wide(&product, &got) && got == a * b);
        int64_t digit[HC_LONG_DIGITS];
        HcLong far = hc_long_shift(&product, (int32_t)(next(&seed) % 480));
        hc_long_to_digits(&far, digit);
        HcLong back = hc_long_of_digits(digit);
        assert_memory_equal(&back, &far, sizeof far);
        char text[HC_LONG_TEXT];
        const char *at = text;
        *hc_long_print(&far, text) = '\0';
        assert_true(hc_long_parse(&at, 190, &back) && *at == '\0');
        assert_memory_equal(&back, &far, sizeof far);
        int32_t shift = (int32_t)(next(&seed) % 400);
        HcLong shifted = hc_long_shift(&product, shift);
        HcWide divisor = b < 0 ? -b : b > 0 ? b : 1;
        check_same(hc_long_ratio(&shifted, divisor, -shift), hc_wide_ratio(a * b, divisor));
        double whole = ldexp((double)(int64_t)(next(&seed) >> 12), (int)(next(&seed) % 200));
        HcLong of_double = hc_long_of_double(round % 2 == 0 ? whole : -whole);
        check_same(hc_long_ratio(&of_double, 1, 0), round % 2 == 0 ? whole : -whole);
    }
    HcLong zero = hc_long_of_wide(0);
    char text[HC_LONG_TEXT];
    *hc_long_print(&zero, text) = '\0';
    assert_string_equal(text, "0");
    HcLong large = hc_long_of_double(0x1p100);
    *hc_long_print(&large, text) = '\0';
    assert_string_equal(text, "1267650600228229401496703205376");
    const char *bad = "12x";
    assert_false(hc_long_parse(&bad, 190, &zero));
    bad = "1234";
    assert_false(hc_long_parse(&bad, 3, &zero));
}

static void test_merge_exact(void **state) {
    (void)state;
    HcError err = {0};
    HcMoments a;
    HcMoments b;
    check_ok(hc_moments_init(&a, 1, &err), err);
    check_ok(hc_moments_init(&b, 1, &err), err);
    a.count = 3;
    a.sum[0] = 5;
    a.product[0] = (HcWide)1 << 100;
    b.count = 4;
    b.sum[0] = -9;
    b.product[0] = ((HcWide)1 << 70) + 1;
    hc_moments_merge(&a, &b);
    assert_true(a.count == 7 && a.sum[0] == -4 && a.product[0] == ((HcWide)1 << 100) + ((HcWide)1 << 70) + 1);
    hc_moments_clear(&a);
    hc_moments_clear(&b);
    hc_moments_clear(&b);
}

/* 1, 2, 3, 4: mean 5/2, variance 5/3. */
static void test_covariance(void **state) {
    (void)state;
    HcError err = {0};
    HcMoments m;
    double mean;
    double covariance;
    check_ok(hc_moments_init(&m, 1, &err), err);
    m.count = 4;
    m.sum[0] = 10;
    m.product[0] = 30;
    check_ok(hc_moments_covariance(&m, NULL, 1, "a test", &mean, &covariance, &err), err);
    check_same(mean, 2.5);
    check_same(covariance, 5.0 / 3.0);
    check_ok(hc_moments_covariance(&m, NULL, 72, "a test", NULL, &covariance, &err), err);
    check_same(covariance, 5.0 / 216.0);
    m.count = 1;
    check_fails(hc_moments_covariance(&m, NULL, 1, "a test", NULL, &covariance, &err), HC_E_NUMERIC, err);
    hc_moments_clear(&m);
}

/* Quotients of a device are taken until the sums change, and for their variance alone. */
static void test_covariance_of_device(void **state) {
    (void)state;
    HcError err = {0};
    HcMoments moments = {0}, more = {0};
    double covariance = 0;
    assert_int_equal(hc_moments_init(&moments, 1, &err), HC_OK);
    assert_int_equal(hc_moments_init(&more, 1, &err), HC_OK);
    moments.count = 2;
    moments.product[0] = 8;
    moments.quotient = calloc(1, sizeof *moments.quotient);
    assert_non_null(moments.quotient);
    moments.quotient[0] = 5; /* not what the sums give: 8 */
    moments.divided = 1;
    assert_int_equal(hc_moments_covariance(&moments, NULL, 1, "a test", NULL, &covariance, &err), HC_OK);
    assert_true(covariance == 5);
    assert_int_equal(hc_moments_covariance(&moments, NULL, 2, "a test", NULL, &covariance, &err), HC_OK);
    assert_true(covariance == 4);
    assert_int_equal(hc_moments_covariance(&moments, NULL, 0.5, "a test", NULL, &covariance, &err), HC_OK);
    assert_true(covariance == 10);
    hc_moments_merge(&moments, &more);
    assert_int_equal(hc_moments_covariance(&moments, NULL, 1, "a test", NULL, &covariance, &err), HC_OK);
    assert_true(covariance == 8);
    hc_moments_clear(&moments);
    hc_moments_clear(&more);
}

/* Every entry is the one rounded division, in both triangles, for sums within 64 bits and beyond them. */
static void test_covariance_of_many_bands(void **state) {
    (void)state;
    enum { N = 19 };
    HcError err = {0};
    uint64_t seed = 5;
    double mean[N];
    double covariance[N * N];
    for (int round = 0; round < 12; round++) {
        double variance = round % 3 == 0 ? 1 : round % 3 == 1 ? 72 : 0.94;
        bool large = round % 2 == 1;
        HcMoments m;
        check_ok(hc_moments_init(&m, N, &err), err);
        m.count = round < 6 ? 1000003 : 3000000019;
        for (int b = 0; b < N; b++) {
            m.sum[b] = random_wide(&seed, 60) * (b % 2 == 0 ? 1 : -1);
            for (int c = 0; c <= b; c++) {
                HcWide product = random_wide(&seed, large ? 90 : 62) * (c % 3 == 1 ? -1 : 1);
                m.product[b * N + c] = m.product[c * N + b] = product;
            }
        }
        check_ok(hc_moments_covariance(&m, NULL, variance, "a test", mean, covariance, &err), err);
        HcWide count = m.count;
        HcWide denominator = count * (count - 1) * (variance == 72 ? 72 : 1);
        for (int b = 0; b < N; b++) {
            check_same(mean[b], hc_wide_ratio(m.sum[b], count));
            for (int c = 0; c < N; c++) {
                HcWide numerator = count * m.product[b * N + c] - m.sum[b] * m.sum[c];
                double value = hc_wide_ratio(numerator, denominator);
                check_same(covariance[b * N + c], variance == 0.94 ? value / variance : value);
            }
        }
        hc_moments_clear(&m);
    }
}

static void test_differences(void **state) {
    (void)state;
    check_same(hc_difference_variance(HC_DIFFERENCE_MEAN3X3), 72.0);
    check_same(hc_difference_variance(HC_DIFFERENCE_SHIFT), 2.0);
    /* x less the median of nine, for white Gaussian noise, by simulation */
    uint64_t seed = 3;
    double squares = 0;
    enum { TRIALS = 200000 };
    for (int trial = 0; trial < TRIALS; trial++) {
        double sorted[9];
        double first = 0;
        for (int k = 0; k < 9; k++) {
            double u = ((double)(next(&seed) >> 11) + 0.5) * 0x1p-53;
            double v = (double)(next(&seed) >> 11) * 0x1p-53;
            double x = sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
            first = k == 0 ? x : first;
            int at = k;
            for (; at > 0 && sorted[at - 1] > x; at--) {
                sorted[at] = sorted[at - 1];
            }
            sorted[at] = x;
        }
        squares += (first - sorted[4]) * (first - sorted[4]) / TRIALS;
    }
    check_near(hc_difference_variance(HC_DIFFERENCE_MEDIAN3X3), squares, 5 * 1.5 / sqrt(TRIALS));
    /* The same to all digits: the density of the median of nine is 9!/(4! 4!) F^4 (1 - F)^4 f, and its
     * covariance with each value 1/9. The pages of numerics, cov and mnf print it. */
    double variance = 0;
    for (int k = -4000; k <= 4000; k++) {
        double x = k / 400.0, below = erfc(-x / sqrt(2)) / 2, above = erfc(x / sqrt(2)) / 2;
        variance += 630 * pow(below * above, 4) * x * x * exp(-x * x / 2) / sqrt(6.283185307179586) / 400;
    }
    double factor = hc_difference_variance(HC_DIFFERENCE_MEDIAN3X3);
    char printed[32];
    check_near(factor, 1 + variance - 2.0 / 9, 1e-13);
    snprintf(printed, sizeof printed, "%.9f", factor);
    assert_string_equal(printed, "0.943879059");
    assert_int_equal(hc_difference_limit(HC_DIFFERENCE_MEAN3X3, 65535), 16 * 65535);
    assert_int_equal(hc_difference_halo(HC_DIFFERENCE_SHIFT), 0);
    assert_int_equal(hc_difference_halo(HC_DIFFERENCE_SHIFT_DIAGONAL), 1);
}

static void test_sign_rule(void **state) {
    (void)state;
    double a[3] = {1, -3, 2};
    hc_sign_rule(a, 3);
    assert_true(a[0] == -1 && a[1] == 3 && a[2] == -2);
    double tie[3] = {-2, 2, 1};
    hc_sign_rule(tie, 3);
    assert_true(tie[0] == 2 && tie[1] == -2);
    double many[21];
    for (int at = 0; at < 21; at++) {
        for (int k = 0; k < 21; k++) {
            many[k] = k == at || k == 20 - at ? (k < 11 ? -9 : 9) : 0.5 * k - 5;
        }
        many[20] = at == 0 ? 9 : many[20];
        hc_sign_rule(many, 21);
        int first = at < 20 - at ? at : 20 - at;
        check_same(many[first], 9.0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ratio_exact),          cmocka_unit_test(test_ratio_halfway),
        cmocka_unit_test(test_ratio_random),         cmocka_unit_test(test_ratio_edges),
        cmocka_unit_test(test_grid_covariance),      cmocka_unit_test(test_grids_align),
        cmocka_unit_test(test_grid_choice),          cmocka_unit_test(test_long),
        cmocka_unit_test(test_merge_exact),          cmocka_unit_test(test_covariance),
        cmocka_unit_test(test_covariance_of_device), cmocka_unit_test(test_covariance_of_many_bands),
        cmocka_unit_test(test_differences),          cmocka_unit_test(test_sign_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
