/* Resampling of spectra: closed forms, and plain quadrature. */
#include "pipeline/spectra/resample.h"

#include "tests/support/check.h"
#include "tests/support/random.h"

#include <math.h>
#include <string.h>

enum { VALUES_MAX = 900 };

static const double tau = 6.283185307179586;
static const double deviation_of_width = 0.42466090014400953;

typedef struct Bands {
    int32_t count;
    double centre[VALUES_MAX], width[VALUES_MAX];
} Bands;

/* From `low`, `step` apart, by up to `jitter` of a step elsewhere. */
static Bands make_bands(int32_t count, double low, double step, double width, double jitter) {
    Bands bands = {.count = count};
    uint64_t seed = 7;
    assert_true(count <= VALUES_MAX);
    for (int32_t b = 0; b < count; b++) {
        bands.centre[b] = low + step * (b + jitter * (random_uniform(&seed) - 0.5));
        bands.width[b] = width;
    }
    return bands;
}

static HcBandSet set_of(const Bands *bands) {
    return (HcBandSet){bands->count, bands->centre, bands->width};
}

/* Returns how many bands are interpolated. */
static int32_t resample(const Bands *from, const float *value, int32_t spectra, const Bands *to, float *out) {
    HcBandSet source = set_of(from);
    HcBandSet target = set_of(to);
    int32_t interpolated = -1;
    HcError err = {0};
    check_ok(hc_resample(&source, value, spectra, &target, out, &interpolated, &err), err);
    return interpolated;
}

static void check_values(const float *found, const double *wanted, int32_t count, double tolerance) {
    for (int32_t i = 0; i < count; i++) {
        if (isnan(wanted[i])) {
            assert_true(isnan(found[i]));
        } else {
            check_near(found[i], wanted[i], tolerance);
        }
    }
}

/* The same bands, in another order. */
static void turn(Bands *bands, float *value, bool shuffled) {
    uint64_t seed = 3;
    for (int32_t b = bands->count - 1; b > 0; b--) {
        int32_t other = shuffled ? (int32_t)(random_uniform(&seed) * (b + 1)) : bands->count - 1 - b;
        if (!shuffled && other >= b) {
            break;
        }
        double centre = bands->centre[b];
        double width = bands->width[b];
        float v = value[b];
        bands->centre[b] = bands->centre[other];
        bands->width[b] = bands->width[other];
        value[b] = value[other];
        bands->centre[other] = centre;
        bands->width[other] = width;
        value[other] = v;
    }
}

/* ---- closed forms ---- */

static void constants_and_lines_stay(void **state) {
    (void)state;
    static const struct {
        double step, jitter, width; /* of the library */
        double to_width;
    } cases[] = {
        {1, 0, 1, 10},  {1, 0.9, 1, 10},    {1, 0.9, 3, 10},   {10, 0, 10, 10}, {10, 0.5, 10, 10},
        {7, 0, 3.5, 9}, {10, 0.3, 12, 9.5}, {4, 0.9, 9.9, 10}, {2, 0, 0, 0},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int32_t count = (int32_t)(600 / cases[c].step);
        Bands from = make_bands(count, 400, cases[c].step, cases[c].width, cases[c].jitter);
        Bands to = make_bands(45, 452.3, 10, cases[c].to_width, 0.2);
        float value[2 * VALUES_MAX];
        float out[2 * VALUES_MAX];
        double line[2 * VALUES_MAX];
        for (int32_t b = 0; b < count; b++) {
            value[b] = 0.37F;
            value[count + b] = (float)(0.1 + 0.001 * from.centre[b]);
        }
        for (int32_t b = 0; b < to.count; b++) {
            line[b] = (double)0.37F;
            line[to.count + b] = 0.1 + 0.001 * to.centre[b];
        }
        resample(&from, value, 2, &to, out);
        check_values(out, line, to.count, 0);
        check_values(out + to.count, line + to.count, to.count, 2e-7);
    }
}

/* A Gaussian through a Gaussian is a Gaussian of the sum of squares of the widths. */
static void a_gaussian_is_widened(void **state) {
    (void)state;
    static const struct {
        double step, jitter, from_width, to_width;
    } cases[] = {{0.5, 0, 0, 10},   {0.5, 0.9, 0, 10}, {0.5, 0, 6, 10},
                 {0.5, 0.9, 9, 10}, {0.5, 0, 10, 10},  {0.5, 0, 12, 10}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        Bands from = make_bands(800, 400, cases[c].step, cases[c].from_width, cases[c].jitter);
        Bands to = make_bands(30, 450, 9.7, cases[c].to_width, 0);
        float value[VALUES_MAX];
        float out[VALUES_MAX];
        double wanted[VALUES_MAX];
        const double feature = 25;
        /* What the library has seen is as wide as its own bands made it. */
        double seen = hypot(feature, cases[c].from_width);
        double widened = hypot(feature, fmax(cases[c].from_width, cases[c].to_width));
        for (int32_t b = 0; b < from.count; b++) {
            double t = (from.centre[b] - 600) / (seen * deviation_of_width);
            value[b] = (float)(0.5 - 0.3 * feature / seen * exp(-t * t / 2));
        }
        for (int32_t b = 0; b < to.count; b++) {
            double t = (to.centre[b] - 600) / (widened * deviation_of_width);
            wanted[b] = 0.5 - 0.3 * feature / widened * exp(-t * t / 2);
        }
        int32_t interpolated = resample(&from, value, 1, &to, out);
        assert_int_equal(interpolated, cases[c].from_width >= cases[c].to_width ? to.count : 0);
        check_values(out, wanted, to.count, 1e-4);
    }
}

static void orders_do_not_matter(void **state) {
    (void)state;
    Bands from = make_bands(60, 400, 5, 6, 0.8);
    Bands to = make_bands(20, 420, 11, 9, 0);
    float value[VALUES_MAX];
    float sorted[VALUES_MAX];
    float out[VALUES_MAX];
    uint64_t seed = 11;
    for (int32_t b = 0; b < from.count; b++) {
        value[b] = (float)random_uniform(&seed);
    }
    value[17] = NAN;
    resample(&from, value, 1, &to, sorted);
    turn(&from, value, false);
    assert_true(from.centre[0] > from.centre[59]);
    resample(&from, value, 1, &to, out);
    assert_memory_equal(out, sorted, (size_t)to.count * sizeof *out);
    /* Spacings are then those of a jumble, which only the ends of the library notice. */
    turn(&from, value, true);
    resample(&from, value, 1, &to, out);
    int32_t same = 0;
    for (int32_t b = 0; b < to.count; b++) {
        same += memcmp(&out[b], &sorted[b], sizeof *out) == 0;
    }
    assert_int_equal(same, to.count);
}

/* ---- quadrature ---- */

/* The straight lines between the valid values of rising bands, with the end values beyond the ends. */
static double line_at(const Bands *from, const float *value, double x) {
    int32_t below = -1;
    for (int32_t b = 0; b < from->count; b++) {
        if (!isfinite(value[b])) {
            continue;
        }
        if (from->centre[b] > x) {
            double share =
                below < 0 ? 1 : (x - from->centre[below]) / (from->centre[b] - from->centre[below]);
            return share * (double)value[b] + (1 - share) * (below < 0 ? 0 : (double)value[below]);
        }
        below = b;
    }
    return value[below];
}

/* The mean of `of` under a Gaussian, by the midpoint rule. */
static double blur(const Bands *from, const float *value, double centre, double deviation) {
    enum { STEPS = 20000 };
    double sum = 0;
    for (int i = 0; i < STEPS; i++) {
        double t = -7 + 14 * (i + 0.5) / STEPS;
        sum += exp(-t * t / 2) * line_at(from, value, centre + t * deviation);
    }
    return sum * 14 / STEPS / sqrt(tau);
}

/* Whether a spectrum has values at x: within half the way to the bands beside, or the width. */
static bool has_value(const Bands *from, const float *value, double x) {
    for (int32_t b = 0; b < from->count; b++) {
        double apart = x - from->centre[b];
        double other = apart < 0             ? b > 0 ? from->centre[b] - from->centre[b - 1] : from->width[b]
                                   : b + 1 < from->count ? from->centre[b + 1] - from->centre[b]
                                             : from->width[b];
        if (isfinite(value[b]) && fabs(apart) < fmin(other / 2, from->width[b])) {
            return true;
        }
    }
    return false;
}

static double covered(const Bands *from, const float *value, double centre, double deviation) {
    enum { STEPS = 4000 };
    double sum = 0;
    for (int i = 0; i < STEPS; i++) {
        double t = -7 + 14 * (i + 0.5) / STEPS;
        sum += exp(-t * t / 2) * has_value(from, value, centre + t * deviation);
    }
    return sum * 14 / STEPS / sqrt(tau);
}

static void quadrature_says_the_same(void **state) {
    (void)state;
    static const struct {
        double step, from_width, to_width;
    } cases[] = {{2, 2.2, 10}, {9.7, 9.9, 10.9}, {10, 11, 12}, {6, 7, 8}};
    int32_t missing = 0;
    int32_t there = 0;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        /* The spacing in the bands' order is below their width, which then says how far a value reaches. */
        Bands from = make_bands(60, 400, cases[c].step, cases[c].from_width, 0);
        Bands to = make_bands(24, 395, cases[c].step * 61 / 24, cases[c].to_width, 0.7);
        float value[5 * VALUES_MAX];
        float out[5 * VALUES_MAX];
        uint64_t seed = 21 + c;
        for (int32_t i = 0; i < 5 * from.count; i++) {
            value[i] = (float)random_uniform(&seed);
            value[i] = i > from.count && random_uniform(&seed) < 0.1 ? NAN : value[i];
        }
        for (int32_t b = 0; b < from.count; b++) {
            value[4 * from.count + b] = b % 20 < 9 ? NAN : value[b];
        }
        resample(&from, value, 5, &to, out);
        double deviation =
            sqrt(cases[c].to_width * cases[c].to_width - cases[c].from_width * cases[c].from_width) *
            deviation_of_width;
        for (int32_t i = 0; i < 5 * to.count; i++) {
            const float *spectrum = value + i / to.count * from.count;
            double centre = to.centre[i % to.count];
            double share = covered(&from, spectrum, centre, cases[c].to_width * deviation_of_width);
            if (fabs(share - 0.5) < 0.005) {
                continue; /* quadrature cannot tell */
            }
            assert_true(isfinite(out[i]) == (share > 0.5));
            missing += share < 0.5;
            there += share > 0.5;
            if (share > 0.5) {
                check_near(out[i], blur(&from, spectrum, centre, deviation), 2e-6);
            }
        }
    }
    assert_true(missing > 50);
    assert_true(there > 200);
}

/* ---- coverage ---- */

static void missing_channels_are_missing(void **state) {
    (void)state;
    Bands from = make_bands(11, 400, 10, 10, 0);
    const Bands to = {
        .count = 7, .centre = {384, 396, 400, 430, 444, 446, 506}, .width = {10, 10, 10, 10, 10, 10, 10}};
    float value[2 * 11];
    float out[2 * 7];
    for (int b = 0; b < 11; b++) {
        value[b] = (float)b;
        value[11 + b] = b == 3 || b == 4 ? NAN : (float)b;
    }
    assert_int_equal(resample(&from, value, 2, &to, out), 7);
    const double wanted[14] = {NAN, 0, 0, 3, 4.4, 4.6, NAN, NAN, 0, 0, NAN, NAN, 4.6, NAN};
    check_values(out, wanted, 14, 1e-6);
    /* A gap of fine channels narrower than the response is bridged; one that is wider is not. */
    Bands fine = make_bands(101, 400, 1, 1, 0);
    const Bands one = {.count = 2, .centre = {430, 460}, .width = {10, 10}};
    float values[101];
    for (int b = 0; b < 101; b++) {
        values[b] = (b >= 29 && b <= 31) || (b >= 52 && b <= 68) ? NAN : (float)(2 * b);
    }
    resample(&fine, values, 1, &one, out);
    check_values(out, (const double[]){60, NAN}, 2, 1e-4);
    /* A gap in the list of bands is a gap. */
    const Bands gap = {
        .count = 6, .centre = {400, 410, 420, 480, 490, 500}, .width = {10, 10, 10, 10, 10, 10}};
    const Bands across = {.count = 4, .centre = {420, 428, 450, 479}, .width = {10, 10, 10, 10}};
    resample(&gap, (const float[]){1, 1, 1, 1, 1, 1}, 1, &across, out);
    check_values(out, (const double[]){1, 1, NAN, 1}, 4, 0);
    /* One band alone stands for its width; nothing at all for nothing. */
    const Bands single = {.count = 1, .centre = {500}, .width = {20}};
    const Bands beside = {.count = 3, .centre = {480, 500, 509}, .width = {5, 5, 5}};
    resample(&single, (const float[]){3, NAN}, 1, &beside, out);
    check_values(out, (const double[]){NAN, 3, 3}, 3, 0);
    resample(&single, (const float[]){NAN}, 1, &beside, out);
    check_values(out, (const double[]){NAN, NAN, NAN}, 3, 0);
}

/* Two detectors: channels in their order go back in wavelength, and some lie at the same one. */
static void detectors_may_overlap(void **state) {
    (void)state;
    const Bands from = {.count = 9,
                        .centre = {640, 650, 660, 670, 655, 660, 675, 685, 695},
                        .width = {10, 10, 10, 10, 9, 9, 9, 9, 9}};
    const Bands to = {.count = 4, .centre = {645, 657, 668, 690}, .width = {8, 8, 8, 8}};
    float value[9];
    float out[4];
    double line[4];
    for (int b = 0; b < 9; b++) {
        value[b] = (float)(from.centre[b] / 100);
    }
    for (int b = 0; b < 4; b++) {
        line[b] = to.centre[b] / 100;
    }
    assert_int_equal(resample(&from, value, 1, &to, out), 4);
    check_values(out, line, 4, 1e-6);
}

static void spacing_is_that_of_the_neighbours(void **state) {
    (void)state;
    double spacing[9];
    hc_band_spacing((const double[]){400, 410, 420, 500, 510, 520, 504, 513, 522}, 9, spacing);
    check_near(spacing[0], 10, 0);
    check_near(spacing[2], 10, 0);
    check_near(spacing[3], 10, 0);
    check_near(spacing[5], 10, 0);
    check_near(spacing[8], 9, 0);
    hc_band_spacing((const double[]){500}, 1, spacing);
    check_near(spacing[0], 0, 0);
    hc_band_spacing((const double[]){500, 500, 480}, 3, spacing);
    check_near(spacing[0], 20, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_and_lines_stay),
        cmocka_unit_test(a_gaussian_is_widened),
        cmocka_unit_test(orders_do_not_matter),
        cmocka_unit_test(quadrature_says_the_same),
        cmocka_unit_test(missing_channels_are_missing),
        cmocka_unit_test(detectors_may_overlap),
        cmocka_unit_test(spacing_is_that_of_the_neighbours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
