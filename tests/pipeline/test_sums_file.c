#include "pipeline/statistics/sums_file.h"
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BANDS = 3 };
static const char path[] = "test_sums_file.json";

static double centres[BANDS] = {500, 600.25, 700};
static double gains[BANDS] = {1e-4, 1e-4, 1e-4};
static double offsets[BANDS] = {0, 0, 0.1};

/* Borrows the tables above. */
static HcScene scene_of(int32_t bands) {
    return (HcScene){
        .lines = 2, .samples = 2, .bands = bands, .wavelength = centres, .gain = gains, .offset = offsets};
}

/* Products of that scale, and sums whose squares fit beside them. */
static HcMoments whole_moments(HcWide scale) {
    const HcWide most = (HcWide)1 << 60;
    HcWide small = scale < most ? scale : most;
    HcError err = {0};
    HcMoments moments;
    check_ok(hc_moments_init(&moments, BANDS, &err), err);
    moments.count = 7;
    for (int b = 0; b < BANDS; b++) {
        moments.sum[b] = (b == 1 ? -1 : 1) * small * (b + 1);
        for (int c = 0; c < BANDS; c++) {
            moments.product[b * BANDS + c] = (b == c ? 1 : -1) * scale * (1 + b + c) + (b == c);
        }
    }
    return moments;
}

/* On a grid, with far values where `far` is not 0. */
static HcMoments grid_moments(HcWide scale, int32_t exponent, int64_t far) {
    static const double center[BANDS] = {2, -0.5, 0};
    const int32_t unit[BANDS] = {exponent, exponent + 1, exponent - 5};
    HcError err = {0};
    HcMoments moments = whole_moments(scale);
    check_ok(hc_moments_on_grid(&moments, &(HcGrid){center, unit}, &err), err);
    if (far != 0) {
        check_ok(hc_moments_far(&moments, &err), err);
        for (int b = 0; b < BANDS; b++) {
            HcLong sum = hc_moments_sum(&moments, (size_t)b);
            HcLong more = hc_long_of_wide(far * (b + 1));
            more = hc_long_shift(&more, 200);
            sum = hc_long_add(&sum, &more);
            check_ok(hc_moments_set_sum(&moments, (size_t)b, &sum, &err), err);
            more = hc_long_shift(&more, 190);
            check_ok(hc_moments_set_product(&moments, (size_t)b, (size_t)b, &more, &err), err);
        }
    }
    return moments;
}

static void write_sums(const HcMoments *moments, HcDifference difference) {
    HcError err = {0};
    HcScene scene = scene_of(BANDS);
    check_ok(hc_saved_sums_write(path, &scene, difference, moments, true, &err), err);
}

static void check_moments(const HcMoments *a, const HcMoments *b) {
    assert_int_equal(a->count, b->count);
    assert_true((a->center == NULL) == (b->center == NULL));
    if (a->center != NULL) {
        assert_memory_equal(a->center, b->center, BANDS * sizeof *a->center);
        assert_memory_equal(a->exponent, b->exponent, BANDS * sizeof *a->exponent);
    }
    for (size_t k = 0; k < BANDS; k++) {
        HcLong one = hc_moments_sum(a, k);
        HcLong other = hc_moments_sum(b, k);
        assert_memory_equal(&one, &other, sizeof one);
        for (size_t c = k; c < BANDS; c++) {
            one = hc_moments_product(a, k, c);
            other = hc_moments_product(b, k, c);
            assert_memory_equal(&one, &other, sizeof one);
        }
    }
}

static void returns(HcMoments *moments, HcDifference difference) {
    HcError err = {0};
    HcSavedSums read = {0};
    write_sums(moments, difference);
    check_ok(hc_saved_sums_read(path, &read, &err), err);
    check_moments(&read.moments, moments);
    assert_int_equal(read.difference, difference);
    assert_true(read.scene.wavelength[1] == 600.25 && read.scene.offset[2] == 0.1);
    hc_saved_sums_clear(&read);
    hc_moments_clear(moments);
}

/* Every bit comes back: of integers beyond 64 bits, of either sign, and of doubles. */
static void every_bit(void **state) {
    (void)state;
    HcMoments small = whole_moments(3);
    HcMoments wide = whole_moments(((HcWide)1 << 123) + 12345);
    HcMoments floats = grid_moments(12345, -20, -3);
    HcMoments none = whole_moments(0);
    none.count = 0;
    returns(&small, HC_DIFFERENCE_NONE);
    returns(&wide, HC_DIFFERENCE_SHIFT_DIAGONAL);
    returns(&floats, HC_DIFFERENCE_MEAN3X3);
    returns(&none, HC_DIFFERENCE_NONE);
    remove(path);
}

static void adds(HcMoments *first, HcMoments *second) {
    HcError err = {0};
    HcSavedSums all = {0};
    HcSavedSums one = {.scene = scene_of(BANDS)};
    HcSavedSums other = {.scene = scene_of(BANDS)};
    check_ok(hc_moments_copy(&one.moments, first, &err), err);
    check_ok(hc_moments_copy(&other.moments, second, &err), err);
    check_ok(hc_saved_sums_add(&all, &one, "one", &err), err);
    check_moments(&all.moments, first);
    check_ok(hc_saved_sums_add(&all, &other, "other", &err), err);
    check_ok(hc_moments_align(first, second, &err), err);
    hc_moments_merge(first, second);
    check_moments(&all.moments, first);
    hc_saved_sums_clear(&all);
    hc_moments_clear(&one.moments);
    hc_moments_clear(&other.moments);
    hc_moments_clear(first);
    hc_moments_clear(second);
}

static void sums_of_two(void **state) {
    (void)state;
    HcMoments a = whole_moments(10);
    HcMoments b = whole_moments((HcWide)1 << 80);
    HcMoments c = grid_moments(10, -8, 0);
    HcMoments d = grid_moments((HcWide)1 << 80, -8, 0);
    HcMoments e = grid_moments(10, -8, 0);
    HcMoments f = grid_moments(7, -11, 5);
    HcMoments g = whole_moments(10); /* integers are on a grid, too */
    HcMoments h = grid_moments(7, -11, 0);
    adds(&a, &b);
    adds(&c, &d);
    adds(&e, &f);
    adds(&g, &h);
}

/* What does not go with whole_moments(10) of scene_of(BANDS). */
static void refused(HcSavedSums *from, HcStatus expected, const char *part) {
    HcError err = {0};
    HcSavedSums all = {0};
    HcMoments moments = whole_moments(10);
    HcSavedSums first = {.scene = scene_of(BANDS), .moments = moments};
    check_ok(hc_saved_sums_add(&all, &first, "first", &err), err);
    assert_int_equal(hc_saved_sums_add(&all, from, "b.hdr", &err), expected);
    if (strstr(err.text, "b.hdr: ") != err.text || !check_holds(err.text, part)) {
        fail_msg("says '%s' and not '%s'", err.text, part);
    }
    hc_saved_sums_clear(&all);
    hc_moments_clear(&moments);
}

static void other_kinds(void **state) {
    (void)state;
    HcMoments whole = whole_moments(10);
    HcMoments large = whole_moments((HcWide)1 << 123);
    HcMoments low = whole_moments(10);
    HcMoments wide = whole_moments(10);
    low.product[1] = -((HcWide)1 << 126);
    wide.sum[1] = (HcWide)1 << 100;
    double shifted[BANDS] = {500, 620, 700};
    HcSavedSums other = {.scene = scene_of(BANDS), .moments = whole};
    other.scene.bands = BANDS - 1;
    refused(&other, HC_E_INPUT, "has 2 bands ... 3");
    other.scene = scene_of(BANDS);
    other.scene.wavelength = shifted;
    refused(&other, HC_E_INPUT, "band 2");
    other.scene = scene_of(BANDS);
    other.scene.gain = other.scene.offset = NULL;
    refused(&other, HC_E_INPUT, "scaled otherwise");
    other.scene = scene_of(BANDS);
    other.difference = HC_DIFFERENCE_SHIFT;
    refused(&other, HC_E_INPUT, "noise \"shift\" does not go with \"\"");
    other.difference = HC_DIFFERENCE_NONE;
    other.moments = large;
    refused(&other, HC_E_NUMERIC, "too many pixels");
    other.moments = low; /* its sum with another one has no 128 bits, nor has the square of this sum */
    refused(&other, HC_E_NUMERIC, "too many pixels");
    other.moments = wide;
    refused(&other, HC_E_NUMERIC, "too many pixels");
    hc_moments_clear(&low);
    hc_moments_clear(&wide);
    hc_moments_clear(&whole);
    hc_moments_clear(&large);
}

static void bad_text(const char *text, const char *part) {
    HcError err = {0};
    HcSavedSums read = {0};
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(hc_saved_sums_read(path, &read, &err), HC_E_INPUT);
    if (!check_holds(err.text, part)) {
        fail_msg("says '%s' and not '%s'", err.text, part);
    }
    hc_saved_sums_clear(&read);
    remove(path);
}

static void bad_files(void **state) {
    (void)state;
    bad_text("{\"hcube_statistics\": 1}", "not a sums file");
    bad_text("{\"hcube_sums\": 1, \"noise\": \"loud\", \"pixels\": 1, \"bands\": 1}", "\"loud\" is unknown");
    bad_text("{\"hcube_sums\": 1, \"noise\": \"\", \"pixels\": -1, \"bands\": 1}", "\"pixels\"");
    const char *const broken[] = {
        "\"1 2\", \"products\": \"1\"", "\"1\", \"products\": \"\"",
        "\"1\", \"products\": \"1.5\"", "\"1\", \"products\": \"999999999999999999999999999999999999999\"",
        "[1], \"products\": \"1\"",     "\"-\", \"products\": \"1\""};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "{\"hcube_sums\": 1, \"noise\": \"\", \"pixels\": 3, \"bands\": 1, \"sum\": %s}", broken[i]);
        bad_text(text, "does not hold 1 whole numbers");
    }
    bad_text("{\"hcube_sums\": 1, \"noise\": \"\", \"pixels\": 3, \"bands\": 1, \"mean\": [1], \"scatter\": "
             "[1]}",
             "float sums of an earlier version");
    const char *const grids[] = {"[0], \"unit_exponent\": [-150]", "[0], \"unit_exponent\": [1e9]",
                                 "[0.3], \"unit_exponent\": [0]", "[1e300], \"unit_exponent\": [0]"};
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        char text[256];
        snprintf(
            text, sizeof text,
            "{\"hcube_sums\": 2, \"noise\": \"\", \"pixels\": 3, \"bands\": 1, \"sum\": \"1\", \"products\": "
            "\"1\", \"center\": %s}",
            grids[i]);
        bad_text(text, "band 1 has a \"center\" of");
    }
    bad_text("{\"hcube_sums\": 2, \"noise\": \"\", \"pixels\": 3, \"bands\": 1, \"sum\": \"1\", "
             "\"products\": \"1\"}",
             "center");
    bad_text("{\"hcube_sums\": 3, \"noise\": \"\", \"pixels\": 3, \"bands\": 1, \"sum\": \"1\", "
             "\"products\": \"1\"}",
             "written by a newer hcube");
    /* More bands than the file has numbers for: no memory is taken for them. */
    bad_text("{\"hcube_sums\": 1, \"noise\": \"\", \"pixels\": 3, \"bands\": 1048576, \"sum\": \"1\", "
             "\"products\": \"1\"}",
             "does not hold 549756338176 whole numbers");
    bad_text("{\"hcube_sums\": 1, \"noise\": \"\", \"pixels\": 3, \"bands\": 1, \"file_bands_from_0\": [-1], "
             "\"mean\": [1], \"scatter\": [1]}",
             "element 1 is not a band");
}

/* Files as the first hcube wrote them. */
static void frozen_files(void **state) {
    (void)state;
    for (int version = 1; version <= 2; version++) {
        char name[400];
        HcError err = {0};
        HcSavedSums read = {0};
        snprintf(name, sizeof name, "%s/1/sums_%d.json", HCUBE_FROZEN, version);
        check_ok(hc_saved_sums_read(name, &read, &err), err);
        assert_int_equal(read.moments.count, 120);
        assert_int_equal(read.scene.bands, 4);
        assert_true((read.moments.center != NULL) == (version == 2));
        hc_saved_sums_clear(&read);
    }
    bad_text("{\"hcube_sums\": 3, \"version\": \"9.9.0\", \"noise\": \"\"}",
             "of version 3, written by hcube 9.9.0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bit), cmocka_unit_test(sums_of_two),  cmocka_unit_test(other_kinds),
        cmocka_unit_test(bad_files), cmocka_unit_test(frozen_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
