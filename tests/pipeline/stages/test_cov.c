#include "pipeline/statistics/statistics.h"
#include "tests/support/reference.h"
#include "tests/support/strict.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

__extension__ typedef __int128 Wide;

enum { LINES = 61, SAMPLES = 260, BANDS = 5, NOISES = 4 };

static const char *const noise_words[] = {"mean3x3", "median3x3", "shift", "shift-diagonal"};

/* Integers of the whole range of 16 bits, so that sums are as large as they get. */
static Cube wild_scene(uint64_t seed, double low, double high) {
    Cube cube = cube_new(LINES, SAMPLES, BANDS);
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        cube.value[i] = floor(low + (high - low + 1) * random_uniform(&seed));
    }
    return cube;
}

/* top / bottom rounded once, to nearest, ties to even; bottom > 0. */
static double rounded_ratio(Wide top, Wide bottom) {
    bool negative = top < 0;
    top = negative ? -top : top;
    if (top == 0) {
        return 0;
    }
    /* Scale until the quotient has 55 bits or more, then round its 53rd by hand. */
    int scale = 0;
    Wide whole = top / bottom;
    Wide rest = top % bottom;
    while (whole < ((Wide)1 << 55)) {
        rest *= 2;
        whole = 2 * whole + rest / bottom;
        rest %= bottom;
        scale++;
    }
    int drop = 0;
    while ((whole >> drop) >= ((Wide)1 << 53)) {
        drop++;
    }
    Wide kept = whole >> drop;
    Wide tail = whole - (kept << drop);
    Wide half = (Wide)1 << (drop - 1);
    bool up = tail > half || (tail == half && (rest > 0 || kept % 2 == 1));
    double value = ldexp((double)(kept + up), drop - scale);
    return negative ? -value : value;
}

/* Sums of the rows of integers, and the covariance n Sxy - Sx Sy over n (n - 1) variance. */
static int64_t wide_covariance(const double *rows, int64_t count, int64_t variance, int64_t scale,
                               double *mean, double *covariance) {
    for (size_t b = 0; b < BANDS; b++) {
        for (size_t c = 0; c < BANDS; c++) {
            Wide sum_b = 0;
            Wide sum_c = 0;
            Wide product = 0;
            for (int64_t i = 0; i < count; i++) {
                int64_t x = (int64_t)rows[(size_t)i * BANDS + b];
                int64_t y = (int64_t)rows[(size_t)i * BANDS + c];
                sum_b += x;
                sum_c += y;
                product += (Wide)x * y;
            }
            covariance[b * BANDS + c] =
                rounded_ratio(count * product - sum_b * sum_c, (Wide)count * (count - 1) * variance);
            mean[b] = rounded_ratio(sum_b, count) / (double)scale;
        }
    }
    return count;
}

static bool is_valid(const Cube *cube, int32_t line, int32_t sample) {
    return line >= 0 && sample >= 0 && line < cube->lines && sample < cube->samples &&
           cube->valid[(size_t)line * (size_t)cube->samples + (size_t)sample];
}

/* The scene's pixels, or integer differences: 9 x - the sum of nine, or x - its neighbour. */
static int64_t exact_reference(const Cube *cube, int kind, double *mean, double *covariance) {
    static const int32_t step_line[] = {0, 0, 0, 1};
    double *rows = calloc(cube_pixels(cube) * BANDS, sizeof *rows);
    assert_non_null(rows);
    int64_t count = 0;
    for (int32_t line = 0; line < cube->lines; line++) {
        for (int32_t sample = 0; sample < cube->samples; sample++) {
            bool valid = is_valid(cube, line, sample);
            for (int32_t k = 0; k < 9 && kind == 0; k++) {
                valid = valid && is_valid(cube, line - 1 + k / 3, sample - 1 + k % 3);
            }
            if (kind >= 2) {
                valid = valid && is_valid(cube, line + step_line[kind], sample + 1);
            }
            for (size_t b = 0; b < BANDS && valid; b++) {
                double value = cube_pixel(cube, line, sample)[b];
                if (kind == 0) {
                    value *= 9;
                    for (int32_t k = 0; k < 9; k++) {
                        value -= cube_pixel(cube, line - 1 + k / 3, sample - 1 + k % 3)[b];
                    }
                } else if (kind >= 2) {
                    value -= cube_pixel(cube, line + step_line[kind], sample + 1)[b];
                }
                rows[(size_t)count * BANDS + b] = value;
            }
            count += valid;
        }
    }
    int64_t variance = kind == 0 ? 72 : kind >= 2 ? 2 : 1;
    count = wide_covariance(rows, count, variance, kind == 0 ? 9 : 1, mean, covariance);
    free(rows);
    return count;
}

static HcStatistics load(const char *path) {
    HcStatistics statistics = {0};
    HcError err = {0};
    check_ok(hc_statistics_load(&statistics, path, &err), err);
    assert_int_equal(statistics.scene.bands, BANDS);
    return statistics;
}

/* kind -1: of the scene. */
static void check_exact(const Cube *cube, int kind) {
    double mean[BANDS];
    double covariance[BANDS * BANDS];
    int64_t count = exact_reference(cube, kind, mean, covariance);
    if (kind < 0) {
        check_runs(NULL, "read scene.img ! cov out.json");
    } else {
        check_runs(NULL, "read scene.img ! cov out.json --noise %s", noise_words[kind]);
    }
    HcStatistics found = load("out.json");
    assert_int_equal(found.pixels, count);
    for (size_t i = 0; i < BANDS * BANDS; i++) {
        check_same(found.covariance[i], covariance[i]);
    }
    for (size_t b = 0; b < BANDS; b++) {
        /* The mean of 9 x - the sum is divided by 9 after its rounding, here too. */
        check_same(found.mean[b], mean[b]);
    }
    hc_statistics_clear(&found);
}

static void integer_scenes_equal_wide_integers(void **state) {
    (void)state;
    static const struct {
        HcType type;
        double low, high;
        const char *more;
    } scenes[] = {{HC_UINT8, 0, 255, NULL},
                  {HC_UINT16, 0, 65535, NULL},
                  {HC_INT16, -32768, 32767, NULL},
                  {HC_UINT16, 65500, 65535, NULL}, /* large mean, small variance */
                  {HC_INT16, -32768, 32767, "data ignore value = 12345\n"}};
    for (size_t s = 0; s < sizeof scenes / sizeof *scenes; s++) {
        Cube cube = wild_scene(40 + s, scenes[s].low, scenes[s].high);
        if (scenes[s].more != NULL) {
            for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
                cube.value[i] += cube.value[i] == 12345; /* no chance hits */
            }
            cube_border(&cube, 12345);
        }
        cube_write(&cube, "scene", scenes[s].type, "bil", scenes[s].more);
        check_exact(&cube, -1);
        check_exact(&cube, 0);
        check_exact(&cube, 2);
        check_exact(&cube, 3);
        cube_free(&cube);
    }
}

/* Medians by the double reference: their scale is no integer. */
static void medians_agree(void **state) {
    (void)state;
    double covariance[BANDS * BANDS];
    Cube cube = wild_scene(50, 0, 65535);
    cube_write(&cube, "scene", HC_UINT16, "bsq", NULL);
    int64_t count = reference_noise(&cube, NOISE_MEDIAN3X3, NULL, covariance);
    check_runs(NULL, "read scene.img ! cov out.json --noise median3x3");
    HcStatistics found = load("out.json");
    assert_int_equal(found.pixels, count);
    for (size_t i = 0; i < BANDS * BANDS; i++) {
        check_near(found.covariance[i], covariance[i], 1e-12 * covariance[0]);
    }
    hc_statistics_clear(&found);
    cube_free(&cube);
}

static void windows_are_scenes_of_their_own(void **state) {
    (void)state;
    static const int32_t window[4] = {3, 7, 21, 30};
    double covariance[BANDS * BANDS];
    Cube cube = wild_scene(51, 1, 65535); /* 0 is nodata */
    cube_border(&cube, 0);
    cube_write(&cube, "scene", HC_UINT16, "bip", "data ignore value = 0\n");
    for (int kind = 0; kind < NOISES; kind++) {
        int64_t count = reference_noise(&cube, (NoiseKind)kind, window, covariance);
        check_runs(NULL, "read scene.img ! cov out.json --noise-window 3,7,21,30 --noise %s",
                   noise_words[kind]);
        HcStatistics found = load("out.json");
        assert_int_equal(found.pixels, count);
        for (size_t i = 0; i < BANDS * BANDS; i++) {
            check_near(found.covariance[i], covariance[i], 1e-12 * covariance[0]);
        }
        hc_statistics_clear(&found);
    }
    check_run_fails(NULL, HC_E_USAGE, "leaves the scene",
                    "read scene.img ! cov bad.json --noise-window 0,0,261,5");
    check_run_fails(NULL, HC_E_NUMERIC, "pixel", "read scene.img ! cov bad.json --noise-window 4,4,1,1");
    assert_false(file_exists("bad.json"));
    cube_free(&cube);
}

/* Every way to cut and compute the same scene leaves the same file. `first` is made here. */
static void check_all_ways(const char *options) {
    static const char *const interleaves[] = {"bsq", "bil", "bip"};
    static const int32_t block_lines[] = {0, 1, 7, 12, 60, 1000};
    check_runs(NULL, "read bsq.img ! cov first.json %s", options);
    for (int i = 0; i < 3; i++) {
        for (size_t k = 0; k < sizeof block_lines / sizeof *block_lines; k++) {
            for (int32_t threads = 1; threads <= 3; threads++) {
                RunHow how = {.threads = threads, .settings = {.block_lines = block_lines[k]}};
                how.ops = (i + (int)k + threads) % 3 == 0 ? hc_strict_ops() : NULL;
                check_runs(&how, "read %s.img ! cov again.json %s", interleaves[i], options);
                check_same_files("first.json", "again.json");
            }
        }
        check_runs(NULL, "read %s.img --no-direct ! cov again.json %s", interleaves[i], options);
        check_same_files("first.json", "again.json");
    }
}

static void write_interleaves(const Cube *cube, HcType type, const char *more) {
    cube_write(cube, "bsq", type, "bsq", more);
    cube_write(cube, "bil", type, "bil", more);
    cube_write(cube, "bip", type, "bip", more);
}

static void integer_files_are_the_same_for_every_cut(void **state) {
    (void)state;
    Cube cube = wild_scene(52, 1, 65535);
    cube_border(&cube, 0);
    write_interleaves(&cube, HC_UINT16, "data ignore value = 0\n");
    check_all_ways("");
    check_all_ways("--noise mean3x3");
    check_all_ways("--noise median3x3 --noise-window 1,2,30,55");
    check_all_ways("--noise shift-diagonal");
    cube_free(&cube);
}

static void float_files_are_the_same_for_every_cut(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 53, false);
    cube_pixel(&cube, 30, 16)[2] = NAN;
    write_interleaves(&cube, HC_FLOAT32, NULL);
    check_all_ways("");
    check_all_ways("--noise mean3x3");
    cube_free(&cube);
}

static void float_scenes_agree_with_long_double(void **state) {
    (void)state;
    double mean[BANDS];
    double covariance[BANDS * BANDS];
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 54, false);
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        cube.value[i] = (float)(cube.value[i] * 1e-4 + 1000);
    }
    cube_pixel(&cube, 3, 3)[1] = NAN;
    cube.valid[3 * SAMPLES + 3] = 0;
    cube_write(&cube, "scene", HC_FLOAT32, "bil", NULL);
    int64_t count = reference_covariance(&cube, mean, covariance);
    check_runs(NULL, "read scene.img ! cov out.json");
    HcStatistics found = load("out.json");
    assert_int_equal(found.pixels, count);
    for (size_t b = 0; b < BANDS; b++) {
        check_near(found.mean[b], mean[b], 1e-12 * fabs(mean[b]));
        for (size_t c = 0; c < BANDS; c++) {
            double size = sqrt(covariance[b * BANDS + b] * covariance[c * BANDS + c]);
            check_near(found.covariance[b * BANDS + c], covariance[b * BANDS + c], 1e-12 * size);
        }
    }
    hc_statistics_clear(&found);

    cube_write(&cube, "wide", HC_FLOAT64, "bil", NULL);
    check_runs(NULL, "read wide.img ! cov wide.json");
    HcStatistics wide = load("wide.json");
    check_near(wide.covariance[0], covariance[0], 1e-12 * covariance[0]);
    hc_statistics_clear(&wide);
    cube_free(&cube);
}

/* Where a pass only sums, no block is decoded; a step that wants blocks changes no bit. */
static void bytes_are_summed_without_blocks(void **state) {
    (void)state;
    static const char *const words[] = {"cov out.json", "cov out.json --noise mean3x3",
                                        "mnf --save-model out.json --fit-only",
                                        "pca --save-model out.json --fit-only"};
    Cube cube = wild_scene(56, 1, 65535);
    cube_border(&cube, 0);
    cube_write(&cube, "u16", HC_UINT16, "bil", "data ignore value = 0\n");
    cube_write(&cube, "f32", HC_FLOAT32, "bil", "data ignore value = 0\n");
    for (int i = 0; i < 8; i++) {
        const char *scene = i % 2 == 0 ? "u16" : "f32";
        HcRunReport report = {.seconds_decode = -1};
        RunHow how = {.threads = 2, .report = &report};
        check_runs(&how, "read %s.img ! %s --overwrite", scene, words[i / 2]);
        assert_true(report.seconds_decode == 0);
        assert_int_equal(rename("out.json", "first.json"), 0);
        check_runs(NULL, "read %s.img ! write copy.img --overwrite ! %s", scene, words[i / 2]);
        check_same_files("first.json", "out.json");
    }
    cube_free(&cube);
}

/* The covariance is the same whether the scene stays in memory or is read again, and whatever the budget. */
static void budgets_do_not_matter(void **state) {
    (void)state;
    Cube cube = cube_smooth(1500, 120, 40, 55, true);
    cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
    HcRunReport ample_report = {0};
    HcRunReport tight_report = {0};
    RunHow ample = {.threads = 2, .settings = {.memory = (uint64_t)2 << 30}, .report = &ample_report};
    RunHow tight = {.threads = 2, .settings = {.memory = (uint64_t)113 << 20}, .report = &tight_report};
    check_runs(
        &ample,
        "read scene.img --no-direct ! cov a.json --noise mean3x3 ! mnf --save-model am.json ! write a.img");
    assert_true(ample_report.resident);
    check_runs(
        &tight,
        "read scene.img --no-direct ! cov b.json --noise mean3x3 ! mnf --save-model bm.json ! write b.img");
    assert_false(tight_report.resident);
    assert_true(tight_report.host_bytes <= (uint64_t)113 << 20);
    assert_true(tight_report.block_lines < ample_report.block_lines);
    check_same_files("a.json", "b.json");
    check_same_files("am.json", "bm.json");
    check_same_files("a.img", "b.img");
    check_runs(&ample,
               "read scene.img ! cov c.json --noise mean3x3 ! mnf --save-model cm.json ! write c.img");
    assert_true(ample_report.mapped); /* the file itself is what is looked at */
    check_same_files("a.json", "c.json");
    check_same_files("am.json", "cm.json");
    check_same_files("a.img", "c.img");
    cube_free(&cube);
}

static void unusable_scenes_stop(void **state) {
    (void)state;
    Cube cube = cube_new(5, 5, BANDS);
    cube_write(&cube, "empty", HC_UINT16, "bsq", "data ignore value = 0\n");
    check_run_fails(NULL, HC_E_NUMERIC, "pixel", "read empty.img ! cov bad.json");
    cube_free(&cube);
    Cube one = cube_new(1, 1, BANDS);
    cube_write(&one, "one", HC_UINT16, "bsq", NULL);
    check_run_fails(NULL, HC_E_NUMERIC, "pixel", "read one.img ! cov bad.json");
    check_run_fails(NULL, HC_E_NUMERIC,
                    "cov: 0 valid pixels in the noise: ", "read one.img ! cov bad.json --noise shift");
    cube_free(&one);
    assert_false(file_exists("bad.json"));
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(integer_scenes_equal_wide_integers),
        IN_FOLDER(medians_agree),
        IN_FOLDER(windows_are_scenes_of_their_own),
        IN_FOLDER(integer_files_are_the_same_for_every_cut),
        IN_FOLDER(float_files_are_the_same_for_every_cut),
        IN_FOLDER(float_scenes_agree_with_long_double),
        IN_FOLDER(bytes_are_summed_without_blocks),
        IN_FOLDER(budgets_do_not_matter),
        IN_FOLDER(unusable_scenes_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
