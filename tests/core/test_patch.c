#include "core/operation/svd/svd.h"
#include "core/patch.h"
#include "tests/support/check.h"

/* Patches hold every pixel, begin at multiples of the step but for the last, and those that hold a pixel are
 * the ones between first and last. */
static void check_side(int64_t length, int32_t size, int32_t step) {
    HcPatchSide side = hc_patch_side(length, size, step);
    int64_t shorter = length < size ? length : size;
    assert_int_equal(side.size, shorter);
    int64_t starts = 0;
    for (int64_t start = 0;; start += step, starts++) {
        bool ends = start + shorter >= length;
        assert_int_equal(hc_patch_start(side, starts), ends ? length - shorter : start);
        if (ends) {
            break;
        }
    }
    assert_int_equal(side.count, starts + 1);
    for (int64_t pixel = 0; pixel < length; pixel++) {
        int64_t first = -1;
        int64_t last = -1;
        for (int64_t patch = 0; patch < side.count; patch++) {
            int64_t start = hc_patch_start(side, patch);
            if (pixel >= start && pixel < start + shorter) {
                assert_true(last == -1 || last == patch - 1);
                first = first < 0 ? patch : first;
                last = patch;
            }
        }
        assert_true(first >= 0);
        assert_int_equal(hc_patch_first(side, pixel), first);
        assert_int_equal(hc_patch_last(side, pixel), last);
    }
}

static void patches_cover_a_side(void **state) {
    (void)state;
    for (int64_t length = 1; length <= 40; length++) {
        for (int32_t size = 1; size <= 17; size++) {
            for (int32_t step = 1; step <= size; step++) {
                check_side(length, size, step);
            }
        }
    }
    check_side(1087, 8, 4);
    check_side(1087, HC_PATCH_SIZE_MAX, 1);
}

static HcPatchLevel level_of(HcPatchKeep keep, int32_t pixels, int32_t bands) {
    HcPatchRule rule = {.lines = 64, .samples = 64, .bands = bands, .size = 64, .step = 64, .keep = keep};
    HcPatchLevel level[4097];
    hc_patch_levels(&rule, pixels, level);
    return level[pixels];
}

/* Gavish and Donoho 2014: the limit for known noise is 4 / sqrt(3) for square matrices; the one for unknown
 * noise, in units of the median singular value, is in their table 4 (whose integrals err by 4e-4). */
static void limits_are_the_published_ones(void **state) {
    (void)state;
    static const double table[][2] = {{0.05, 1.5194}, {0.10, 1.6089}, {0.15, 1.6896}, {0.20, 1.7650},
                                      {0.25, 1.8371}, {0.30, 1.9061}, {0.35, 1.9741}, {0.40, 2.0403},
                                      {0.45, 2.1060}, {0.50, 2.1711}, {0.55, 2.2365}, {0.60, 2.3021},
                                      {0.65, 2.3679}, {0.70, 2.4339}, {0.75, 2.5011}, {0.80, 2.5697},
                                      {0.85, 2.6399}, {0.90, 2.7099}, {0.95, 2.7832}, {1.00, 2.8582}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int32_t smaller = (int32_t)nearbyint(table[i][0] * 100);
        HcPatchLevel level = level_of(HC_PATCH_OPTIMAL, 100, smaller);
        assert_int_equal(level.values, smaller);
        check_near(level.ratio, table[i][0], 1e-15);
        check_near(level.root, 10, 1e-15);
        check_near(level.least / level.expected, table[i][1], 2e-3);
    }
    check_near(level_of(HC_PATCH_OPTIMAL, 64, 64).least, 8 * 4 / sqrt(3), 1e-12);
    /* The same with pixels and bands exchanged. */
    check_same(level_of(HC_PATCH_OPTIMAL, 20, 64).least, level_of(HC_PATCH_OPTIMAL, 64, 20).least);
    check_same(level_of(HC_PATCH_OPTIMAL, 20, 64).expected, level_of(HC_PATCH_OPTIMAL, 64, 20).expected);
    check_near(level_of(HC_PATCH_EDGE, 64, 16).least, 8 + 4, 1e-12);
    check_near(level_of(HC_PATCH_SHRINK, 16, 64).least, 8 + 4, 1e-12);
    check_same(level_of(HC_PATCH_COUNT, 16, 64).least, 0);
    check_same(level_of(HC_PATCH_OPTIMAL, 0, 64).least, 0);
    assert_int_equal(level_of(HC_PATCH_OPTIMAL, 0, 64).values, 0);
}

/* That share of the density lies below a quantile, half of it below the median: the midpoint rule over t,
 * with its square roots at both ends, errs by less than 1e-5 with this number of pieces. */
static void quantiles_divide_the_distribution(void **state) {
    (void)state;
    enum { PIECES = 400000 };
    static const double shares[] = {0.05, 0.5, 0.9};
    static const double ratios[] = {1.0 / 4096, 0.01, 0.25, 0.3125, 0.5, 0.9, 0.999};
    const double pi = acos(-1);
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        double ratio = ratios[i];
        double low = pow(1 - sqrt(ratio), 2);
        double high = pow(1 + sqrt(ratio), 2);
        check_same(hc_patch_median(ratio), hc_patch_quantile(ratio, 0.5));
        for (size_t j = 0; j < sizeof shares / sizeof *shares; j++) {
            double end = hc_patch_quantile(ratio, shares[j]);
            assert_true(end > low && end < high);
            double below = 0;
            double width = (end - low) / PIECES;
            for (int k = 0; k < PIECES; k++) {
                double t = low + (k + 0.5) * width;
                below += width * sqrt((high - t) * (t - low)) / (2 * pi * ratio * t);
            }
            check_near(below, shares[j], ratio < 0.99 ? 1e-5 : 2e-4); /* the density is steep at 0 */
        }
    }
    /* Square matrices: the squared quarter-circle law. */
    double s = sqrt(hc_patch_median(1));
    check_near((s * sqrt(4 - s * s) / 2 + 2 * asin(s / 2)) / pi, 0.5, 1e-12);
}

static void rules_keep_what_they_say(void **state) {
    (void)state;
    HcPatchRule rule = {.lines = 9, .samples = 9, .bands = 16, .size = 8, .step = 4, .noise = 2};
    HcPatchLevel level[65];
    hc_patch_levels(&rule, 64, level);
    double limit = 2 * level[64].least;
    assert_true(hc_patch_kept(&rule, &level[64], 2, 0, limit * 1.0001) > 0);
    check_same(hc_patch_kept(&rule, &level[64], 2, 0, limit * 1.0001), limit * 1.0001);
    check_same(hc_patch_kept(&rule, &level[64], 2, 0, limit), 0);

    /* Shrinking: sigma sqrt(n) (sqrt(x^2 + 1 + b + b / x^2)) is where a signal of x is seen with the gain
     * that the rule undoes. Its own limits: 0 at the edge, and nearly all of what is large. */
    rule.keep = HC_PATCH_SHRINK;
    hc_patch_levels(&rule, 64, level);
    double b = 16.0 / 64;
    double unit = 2 * 8;
    for (double x = 0.71; x < 20; x *= 1.3) {
        double seen = sqrt((x + 1 / x) * (x + b / x));
        /* The best weight is x times the cosines between the true and the seen vectors. */
        double x4 = x * x * x * x;
        double cosines = sqrt((x4 - b) / (x4 + b * x * x) * (x4 - b) / (x4 + x * x));
        check_near(hc_patch_kept(&rule, &level[64], 2, 3, unit * seen), unit * x * cosines, 1e-12 * unit * x);
    }
    check_same(hc_patch_kept(&rule, &level[64], 2, 0, unit * 1.5), 0);
    check_near(hc_patch_kept(&rule, &level[64], 2, 0, unit * 1.5 * (1 + 1e-12)), 0, 1e-3);

    rule.keep = HC_PATCH_COUNT;
    rule.count = 2;
    hc_patch_levels(&rule, 64, level);
    check_same(hc_patch_kept(&rule, &level[64], 2, 1, 0.5), 0.5);
    check_same(hc_patch_kept(&rule, &level[64], 2, 2, 0.5), 0);
    check_same(hc_patch_kept(&rule, &level[1], 2, 1, 0.5), 0); /* one valid pixel has one value */
}

static void noise_is_given_or_comes_from_the_median(void **state) {
    (void)state;
    static const float odd[] = {100, 7, 5, 4, 1};
    static const float even[] = {100, 7, 5, 1, 0};
    HcPatchRule rule = {.lines = 9, .samples = 9, .bands = 5, .size = 8, .step = 4};
    HcPatchLevel level[65];
    hc_patch_levels(&rule, 64, level);
    check_near(hc_patch_noise(&rule, &level[64], odd), 5 / (8 * sqrt(hc_patch_median(5.0 / 64))), 1e-12);
    /* Four valid pixels: the fifth value is 0 whatever the noise. */
    check_near(hc_patch_noise(&rule, &level[4], even), 6 / (sqrt(5) * sqrt(hc_patch_median(4.0 / 5))), 1e-12);
    check_same(hc_patch_noise(&rule, &level[0], even), 0);
    rule.noise = 3;
    check_same(hc_patch_noise(&rule, &level[64], odd), 3);
}

static void values_that_are_no_numbers_stay_so(void **state) {
    (void)state;
    static const float values[] = {NAN, NAN, NAN, NAN, NAN};
    for (int keep = HC_PATCH_OPTIMAL; keep <= HC_PATCH_COUNT; keep++) {
        for (int noise = 0; noise < 2; noise++) {
            HcPatchRule rule = {.lines = 9,
                                .samples = 9,
                                .bands = 5,
                                .size = 8,
                                .step = 4,
                                .keep = (HcPatchKeep)keep,
                                .count = 5,
                                .noise = noise};
            HcPatchLevel level[65];
            hc_patch_levels(&rule, 64, level);
            double d = hc_patch_noise(&rule, &level[64], values);
            assert_true(isnan(hc_patch_kept(&rule, &level[64], d, 1, NAN)));
        }
    }
}

static void memory_is_counted(void **state) {
    (void)state;
    HcPatchRule rule = {.lines = 614, .samples = 5, .bands = 20, .size = 8, .step = 4};
    assert_int_equal(hc_patch_pixels(&rule), 40);
    assert_int_equal(hc_patch_count(&rule), 153);
    /* [40][20], 20 values, [20][40], [20][20] */
    assert_int_equal(hc_patch_bytes(&rule), 4 * (800 + 20 + 800 + 400));
    assert_int_equal(hc_patch_max(&rule), 153);
    rule.samples = 1087;
    assert_true(hc_patch_max(&rule) * (int64_t)hc_patch_bytes(&rule) <= (int64_t)HC_PATCH_MEMORY);
    assert_true((hc_patch_max(&rule) + 1) * (int64_t)hc_patch_bytes(&rule) > (int64_t)HC_PATCH_MEMORY);
    rule.bands = HC_SVD_MAX;
    rule.size = HC_PATCH_SIZE_MAX;
    assert_int_equal(hc_patch_max(&rule), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patches_cover_a_side),
        cmocka_unit_test(limits_are_the_published_ones),
        cmocka_unit_test(quantiles_divide_the_distribution),
        cmocka_unit_test(rules_keep_what_they_say),
        cmocka_unit_test(noise_is_given_or_comes_from_the_median),
        cmocka_unit_test(values_that_are_no_numbers_stay_so),
        cmocka_unit_test(memory_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
