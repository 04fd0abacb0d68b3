#include "pipeline/statistics/statistics.h"
#include "tests/support/scene_files.h"
#include "tests/support/strict_runs.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINES = 13, SAMPLES = 9, BANDS = 3 };

static int compare(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool is_valid(const Cube *cube, int32_t line, int32_t sample) {
    return line >= 0 && line < cube->lines && sample >= 0 && sample < cube->samples &&
           cube->valid[(size_t)line * (size_t)cube->samples + (size_t)sample] != 0;
}

/* The valid values of one band around a pixel, sorted; returns how many. */
static int neighbours(const Cube *cube, int32_t line, int32_t sample, int32_t band, double value[9]) {
    int count = 0;
    for (int32_t l = line - 1; l <= line + 1; l++) {
        for (int32_t s = sample - 1; s <= sample + 1; s++) {
            if (is_valid(cube, l, s)) {
                value[count++] = cube_pixel(cube, l, s)[band];
            }
        }
    }
    qsort(value, (size_t)count, sizeof *value, compare);
    return count;
}

static double mean_of(const double *value, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) {
        sum += value[i];
    }
    return sum / count;
}

static double median_of(const double *value, int count) {
    return count % 2 == 1 ? value[count / 2] : (value[count / 2 - 1] + value[count / 2]) / 2;
}

typedef enum Kind { MEAN, MEDIAN, SHIFT, DIAGONAL } Kind;

/* By definition; NaN where the pixel is masked or, for noise, where its neighbourhood is not whole. */
static double expected(const Cube *cube, int32_t line, int32_t sample, int32_t band, Kind kind, bool noise) {
    double value[9];
    double here = cube_pixel(cube, line, sample)[band];
    if (!is_valid(cube, line, sample)) {
        return NAN;
    }
    if (kind == SHIFT || kind == DIAGONAL) {
        int32_t other = line + (kind == DIAGONAL);
        return is_valid(cube, other, sample + 1) ? here - cube_pixel(cube, other, sample + 1)[band] : NAN;
    }
    int count = neighbours(cube, line, sample, band, value);
    double filtered = kind == MEAN ? mean_of(value, count) : median_of(value, count);
    if (!noise) {
        return filtered;
    }
    return count == 9 ? here - filtered : NAN;
}

/* Pixels that the filter alone masks are counted. */
static void check_filter(const Cube *cube, const char *options, Kind kind, bool noise) {
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    int lost = 0;
    char told[64];
    check_runs(&how, "read scene.img ! filter %s ! write out.img --nodata nan", options);
    Cube out = cube_read_floats("out", LINES, SAMPLES, BANDS);
    for (int32_t line = 0; line < LINES; line++) {
        for (int32_t sample = 0; sample < SAMPLES; sample++) {
            lost += is_valid(cube, line, sample) && isnan(expected(cube, line, sample, 0, kind, noise));
            for (int32_t band = 0; band < BANDS; band++) {
                double want = expected(cube, line, sample, band, kind, noise);
                double got = cube_pixel(&out, line, sample)[band];
                if (isnan(want)) {
                    assert_true(isnan(got));
                } else {
                    check_near(got, want, 1e-6 * (fabs(want) + 1));
                }
            }
        }
    }
    snprintf(told, sizeof told, "filter: %d pixels are masked", lost);
    assert_int_equal(lost > 0, noise);
    assert_int_equal(notes.data != NULL && strstr(notes.data, noise ? told : "are masked") != NULL, noise);
    hc_text_clear(&notes);
    cube_free(&out);
}

static void every_kind(void **state) {
    (void)state;
    for (int masked = 0; masked < 2; masked++) {
        Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 5, true);
        if (masked) {
            cube_border(&cube, 0);
        }
        cube_write(&cube, "scene", HC_UINT16, "bil", "data ignore value = 0\n");
        check_filter(&cube, "", MEAN, false);
        check_filter(&cube, "median3x3", MEDIAN, false);
        check_filter(&cube, "mean3x3 --noise", MEAN, true);
        check_filter(&cube, "median3x3 --noise", MEDIAN, true);
        check_filter(&cube, "shift --noise", SHIFT, true);
        check_filter(&cube, "shift-diagonal --noise", DIAGONAL, true);
        cube_free(&cube);
    }
}

/* cov of the noise image is cov --noise of the scene, but for the scale of white noise. */
static void noise_image_has_the_noise_covariance(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 6, true);
    cube_write(&cube, "scene", HC_UINT16, "bsq", NULL);
    check_runs(NULL, "read scene.img ! filter shift --noise ! cov image.json");
    check_runs(NULL, "read scene.img ! cov noise.json --noise shift");
    HcStatistics image = {0};
    HcStatistics noise = {0};
    HcError err = {0};
    check_ok(hc_statistics_load(&image, "image.json", &err), err);
    check_ok(hc_statistics_load(&noise, "noise.json", &err), err);
    assert_int_equal(image.pixels, noise.pixels);
    for (int k = 0; k < BANDS * BANDS; k++) {
        check_near(image.covariance[k], 2 * noise.covariance[k], 1e-12 * fabs(image.covariance[k]));
    }
    hc_statistics_clear(&image);
    hc_statistics_clear(&noise);
    cube_free(&cube);
}

static void shifts_smooth_nothing(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 7, true);
    cube_write(&cube, "scene", HC_UINT16, "bsq", NULL);
    check_run_fails(NULL, HC_E_USAGE, "give --noise", "read scene.img ! filter shift ! write o.img");
    check_run_fails(NULL, HC_E_USAGE, "must be one of mean3x3", "read scene.img ! filter mean ! write o.img");
    cube_free(&cube);
}

/* ---- majority ---- */

enum { MAP_LINES = 31, MAP_SAMPLES = 27, MAP_CLASSES = 4 };

/* map.img: classes at random, 0 is none; the last value is nodata. */
static Cube make_map(void) {
    Cube map = cube_new(MAP_LINES, MAP_SAMPLES, 1);
    uint64_t seed = 21;
    for (size_t p = 0; p < cube_pixels(&map); p++) {
        map.value[p] = floor(random_uniform(&seed) * (MAP_CLASSES + 1));
        if (random_uniform(&seed) < 0.1) {
            map.value[p] = 255;
            map.valid[p] = 0;
        }
    }
    cube_write(&map, "map", HC_UINT8, "bsq",
               "classes = 5\nclass names = {none, a, b, c, d}\ndata ignore value = 255\n");
    return map;
}

static int majority_of(const Cube *map, int line, int sample, int reach) {
    int votes[MAP_CLASSES + 1] = {0};
    int own = (int)*cube_pixel(map, line, sample), best = own;
    for (int l = line - reach; l <= line + reach; l++) {
        for (int s = sample - reach; s <= sample + reach; s++) {
            if (is_valid(map, l, s)) {
                votes[(int)*cube_pixel(map, l, s)]++;
            }
        }
    }
    for (int c = MAP_CLASSES; c > 0;
         c--) { /* lower ones last: of equal votes they win, but not over its own */
        best = votes[c] > votes[best] || (votes[c] == votes[best] && best != own) ? c : best;
    }
    return own == 0 ? 0 : best;
}

static void check_majority(const Cube *map, int window) {
    check_runs(NULL, "read map.img ! filter majority --side %d ! write out.img --type float32 --nodata nan",
               window);
    Cube out = cube_read_floats("out", MAP_LINES, MAP_SAMPLES, 1);
    int changed = 0;
    for (int line = 0; line < MAP_LINES; line++) {
        for (int sample = 0; sample < MAP_SAMPLES; sample++) {
            double got = *cube_pixel(&out, line, sample);
            if (!is_valid(map, line, sample)) {
                assert_true(isnan(got));
                continue;
            }
            check_near(got, majority_of(map, line, sample, window / 2), 0);
            changed += got != *cube_pixel(map, line, sample);
        }
    }
    assert_true(changed > 100);
    cube_free(&out);
}

static void majorities(void **state) {
    (void)state;
    Cube map = make_map();
    check_majority(&map, 3);
    check_majority(&map, 5);
    check_majority(&map, 31);
    static const char *const chains[] = {
        "read map.img ! filter majority ! write out.img",
        "read map.img ! filter majority --side 7 ! filter majority --side 5 ! write out.img"};
    static const char *const results[] = {"out.img", "out.hdr", NULL};
    file_remove("out.img");
    file_remove("out.hdr");
    check_runs_agree(chains, 2, 4);
    check_failures_leave_nothing(chains, 1, 4, results);
    check_runs(NULL, "read map.img ! filter majority ! write kept.img");
    assert_true(file_holds("kept.hdr", "class names"));
    cube_free(&map);
}

static void majorities_of_other_things(void **state) {
    (void)state;
    Cube map = make_map();
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 3, true);
    cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
    check_run_fails(NULL, HC_E_USAGE, "filter: majority: 3 bands ... no class map",
                    "read scene.img ! filter majority ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "filter: --side 4: not an odd number",
                    "read map.img ! filter majority --side 4 ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "filter: --side 5: mean3x3 is 3x3",
                    "read map.img ! filter --side 5 ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "majority takes no --noise",
                    "read map.img ! filter majority --noise ! write bad.img");
    cube_free(&cube);
    cube_free(&map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind),
        cmocka_unit_test(noise_image_has_the_noise_covariance),
        cmocka_unit_test(shifts_smooth_nothing),
        cmocka_unit_test(majorities),
        cmocka_unit_test(majorities_of_other_things),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
