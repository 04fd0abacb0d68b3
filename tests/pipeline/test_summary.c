/* Figures of bands, against plain sums in float64 over the values that were written. */
#include "pipeline/statistics/summary.h"
#include "tests/support/scene_files.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { LINES = 37, SAMPLES = 29, BANDS = 19 };

/* Values that every type holds, some of them 0 and 7; 7 is nodata where the header says so. */
static Cube make_cube(bool with_nan) {
    Cube cube = cube_new(LINES, SAMPLES, BANDS);
    uint64_t state = 5;
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint32_t drawn = (uint32_t)(state >> 33);
        cube.value[i] = drawn % 9 == 0 ? 0 : drawn % 11 == 0 ? 7 : (double)(drawn % 100);
        if (with_nan && drawn % 13 == 0) {
            cube.value[i] = drawn % 2 ? NAN : (drawn % 4 ? INFINITY : -INFINITY);
        }
        if (i % BANDS == 3) {
            cube.value[i] = 7; /* a band without values */
        }
    }
    return cube;
}

/* The plain way: two passes over the values of a band. */
static HcBandSummary plain(const Cube *cube, int32_t band, int64_t step, bool has_nodata, double nodata) {
    HcBandSummary out = {.low = INFINITY, .high = -INFINITY};
    long double sum = 0, squares = 0;
    int64_t valid = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t l = 0; l < cube->lines; l += (int32_t)step) {
            for (int32_t s = 0; s < cube->samples; s++) {
                double value = cube_pixel(cube, l, s)[band];
                bool none = has_nodata && (isnan(nodata) ? isnan(value) : value == nodata);
                if (pass == 0) {
                    out.pixels++;
                    out.nodata += none;
                    out.not_finite += !none && !isfinite(value);
                    out.zero += !none && value == 0;
                }
                if (none || !isfinite(value)) {
                    continue;
                }
                if (pass == 0) {
                    sum += value;
                    valid++;
                    out.low = value < out.low ? value : out.low;
                    out.high = value > out.high ? value : out.high;
                } else {
                    squares += (value - sum / valid) * (value - sum / valid);
                }
            }
        }
    }
    out.mean = valid > 0 ? (double)(sum / valid) : NAN;
    out.deviation = valid > 1 ? (double)sqrtl(squares / (valid - 1)) : NAN;
    out.low = valid > 0 ? out.low : NAN;
    out.high = valid > 0 ? out.high : NAN;
    return out;
}

static void check_close(double found, double expected, double scale) {
    assert_int_equal(isnan(found), isnan(expected));
    if (!isnan(expected)) {
        assert_true(fabs(found - expected) <= 1e-12 * scale);
    }
}

static void check_band(const HcBandSummary *found, const HcBandSummary *expected) {
    assert_int_equal(found->pixels, expected->pixels);
    assert_int_equal(found->nodata, expected->nodata);
    assert_int_equal(found->not_finite, expected->not_finite);
    assert_int_equal(found->zero, expected->zero);
    check_close(found->low, expected->low, 0);
    check_close(found->high, expected->high, 0);
    check_close(found->mean, expected->mean, 100);
    check_close(found->deviation, expected->deviation, 100);
}

static void read_figures(HcBandSummary out[BANDS]) {
    HcError err = {0};
    HcReader *reader = NULL;
    HcReaderOptions how = {0};
    check_ok(hc_reader_open(&reader, "cube.hdr", &how, &err), err);
    check_ok(hc_summarise(reader, NULL, BANDS, 1, 0, out, &err), err);
    hc_reader_close(reader);
}

/* All bands, or some; with one thread and with four, whose bits are the same. */
static void check_file(const Cube *cube, int64_t step, const int32_t *bands, int32_t count, bool has_nodata,
                       double nodata) {
    HcBandSummary out[2][BANDS];
    for (int t = 0; t < 2; t++) {
        HcError err = {0};
        HcReader *reader = NULL;
        HcReaderOptions how = {0};
        memset(out[t], 0, sizeof out[t]);
        check_ok(hc_reader_open(&reader, "cube.hdr", &how, &err), err);
        check_ok(hc_summarise(reader, bands, count, step, t == 0 ? 1 : 4, out[t], &err), err);
        hc_reader_close(reader);
    }
    assert_memory_equal(out[0], out[1], sizeof out[0]);
    for (int32_t b = 0; b < count; b++) {
        HcBandSummary expected = plain(cube, bands != NULL ? bands[b] : b, step, has_nodata, nodata);
        check_band(&out[0][b], &expected);
    }
}

static void figures_are_those_of_plain_sums(void **state) {
    (void)state;
    static const char *const interleave[] = {"bsq", "bil", "bip"};
    static const int32_t some[] = {2, 3, 17};
    Cube whole = make_cube(false), broken = make_cube(true);
    for (int type = 0; type < HC_TYPE_COUNT; type++) {
        if (type == HC_INT8) {
            continue; /* no type of ENVI */
        }
        bool is_float = type == HC_FLOAT32 || type == HC_FLOAT64;
        const Cube *cube = is_float ? &broken : &whole;
        for (int i = 0; i < 3; i++) {
            cube_write(cube, "cube", (HcType)type, interleave[i], NULL);
            check_file(cube, 1, NULL, BANDS, false, 0);
            cube_write_swapped(cube, "cube", (HcType)type, interleave[i], "data ignore value = 7\n");
            check_file(cube, 1, NULL, BANDS, true, 7);
            check_file(cube, 5, some, 3, true, 7);
        }
    }
    cube_write(&broken, "cube", HC_FLOAT32, "bil", "data ignore value = nan\n");
    check_file(&broken, 1, NULL, BANDS, true, NAN);
    cube_free(&whole);
    cube_free(&broken);
}

/* A large mean with a small spread, which plain sums of squares lose. */
static void small_spreads_are_kept(void **state) {
    (void)state;
    Cube cube = cube_new(LINES, SAMPLES, BANDS);
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        cube.value[i] = 1e9 + (double)(i % 7);
    }
    cube_write(&cube, "cube", HC_FLOAT64, "bip", NULL);
    HcBandSummary out[BANDS];
    read_figures(out);
    for (int32_t b = 0; b < BANDS; b++) {
        HcBandSummary expected = plain(&cube, b, 1, false, 0);
        assert_true(fabs(out[b].deviation - expected.deviation) <= 1e-6 * expected.deviation);
    }
    cube_free(&cube);
}

/* Of huge and tiny values, squares overflow or vanish; the extremes of a double have figures, too. */
static void huge_and_tiny_values_have_figures(void **state) {
    (void)state;
    static const double of_lines[BANDS][2] = {{1e300, 1e300},      {1e-300, 1e-300},
                                              {1e-320, 1e-320},    {DBL_MAX, DBL_MAX},
                                              {DBL_MAX, -DBL_MAX}, {1, 1e300},
                                              {1e300, 1e-300},     {0, 1e-300},
                                              {0, 1e300},          {1e-300, 1},
                                              {DBL_MIN, -1e-310},  {1e130, 1e110},
                                              {1e200, -1e200},     {DBL_TRUE_MIN, 1e-200},
                                              {0, DBL_TRUE_MIN},   {1e-160, 1e-170},
                                              {1e160, 1e170},      {NAN, 1e300},
                                              {-1e308, 3e307}};
    Cube cube = cube_new(LINES, SAMPLES, BANDS);
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        size_t pixel = i / BANDS;
        double most = of_lines[i % BANDS][pixel / SAMPLES % 2];
        cube.value[i] = i % BANDS == 3 ? most : most * (double)(pixel % 8 + 1) / 8;
    }
    cube_write(&cube, "cube", HC_FLOAT64, "bip", NULL);
    HcBandSummary out[BANDS];
    read_figures(out);
    for (int32_t b = 0; b < BANDS; b++) {
        const HcBandSummary expected = plain(&cube, b, 1, false, 0);
        const double most = fmax(fabs(expected.low), fabs(expected.high));
        assert_true(out[b].low == expected.low && out[b].high == expected.high);
        assert_true(fabs(out[b].mean - expected.mean) <= 1e-12 * most + DBL_TRUE_MIN);
        assert_true(fabs(out[b].deviation - expected.deviation) <= 1e-12 * expected.deviation + DBL_TRUE_MIN);
    }
    assert_true(out[3].deviation == 0);
    cube_free(&cube);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(figures_are_those_of_plain_sums, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(small_spreads_are_kept, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(huge_and_tiny_values_have_figures, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
