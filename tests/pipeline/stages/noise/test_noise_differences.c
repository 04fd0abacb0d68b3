/* Noise by differences that the host forms: stencils, and trimmed differences. */
#include "pipeline/statistics/statistics.h"
#include "tests/support/reference.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 45, SAMPLES = 60, BANDS = 6, WORDS = 5, SIZE = 8 };

/* Rows above, here and below; the scale of x; the variance of white noise. */
static const struct {
    const char *word;
    double weight[3][3];
    double scale, variance;
} kinds[WORDS] = {
    {"shift-lower", {{0, 0, 0}, {0, 1, 0}, {0, -1, 0}}, 1, 2},
    {"shift-lowerleft", {{0, 0, 0}, {0, 1, 0}, {-1, 0, 0}}, 1, 2},
    {"shift-mean", {{0, -1, 0}, {0, 2, -1}, {0, 0, 0}}, 2, 6},
    {"hv-average", {{0, 0, 0}, {0, 2, -1}, {0, -1, 0}}, 2, 6},
    {"quad", {{1, -2, 1}, {-2, 4, -2}, {1, -2, 1}}, 4, 36},
};

static Cube wild_scene(double low, double high) {
    uint64_t seed = 71;
    Cube cube = cube_new(LINES, SAMPLES, BANDS);
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        cube.value[i] = floor(low + (high - low + 1) * random_uniform(&seed));
    }
    return cube;
}

/* Mean and covariance of rows[count][bands]. */
static void statistics_of(const double *rows, int64_t count, int32_t bands, double variance, double *mean,
                          double *covariance) {
    size_t n = (size_t)bands;
    memset(mean, 0, n * sizeof *mean);
    memset(covariance, 0, n * n * sizeof *covariance);
    for (int64_t i = 0; i < count; i++) {
        for (size_t b = 0; b < n; b++) {
            mean[b] += rows[(size_t)i * n + b] / (double)count;
        }
    }
    for (int64_t i = 0; i < count; i++) {
        const double *row = rows + (size_t)i * n;
        for (size_t b = 0; b < n * n; b++) {
            covariance[b] +=
                (row[b / n] - mean[b / n]) * (row[b % n] - mean[b % n]) / ((double)(count - 1) * variance);
        }
    }
}

/* Differences of pixels whose used neighbours are valid and in the window {x, y, w, h}. */
static int64_t reference(const Cube *cube, int kind, const int32_t *window, double *mean,
                         double *covariance) {
    double *rows = calloc(cube_pixels(cube) * BANDS, sizeof *rows);
    assert_non_null(rows);
    int64_t count = 0;
    for (int32_t line = window[1]; line < window[1] + window[3]; line++) {
        for (int32_t sample = window[0]; sample < window[0] + window[2]; sample++) {
            double *row = rows + (size_t)count * BANDS;
            bool whole = true;
            memset(row, 0, BANDS * sizeof *row);
            for (int32_t k = 0; k < 9; k++) {
                int32_t l = line + k / 3 - 1;
                int32_t s = sample + k % 3 - 1;
                double weight = kinds[kind].weight[k / 3][k % 3];
                if (weight == 0) {
                    continue;
                }
                bool there = l >= window[1] && s >= window[0] && l < window[1] + window[3] &&
                             s < window[0] + window[2] &&
                             cube->valid[(size_t)l * (size_t)cube->samples + (size_t)s];
                whole = whole && there;
                for (size_t b = 0; b < BANDS && there; b++) {
                    row[b] += weight * cube_pixel(cube, l, s)[b];
                }
            }
            count += whole;
        }
    }
    statistics_of(rows, count, BANDS, kinds[kind].variance, mean, covariance);
    for (size_t b = 0; b < BANDS; b++) {
        mean[b] /= kinds[kind].scale;
    }
    free(rows);
    return count;
}

static HcStatistics load(const char *path, int32_t bands) {
    HcStatistics statistics = {0};
    HcError err = {0};
    check_ok(hc_statistics_load(&statistics, path, &err), err);
    assert_int_equal(statistics.scene.bands, bands);
    return statistics;
}

static void check_statistics(const char *path, int64_t count, int32_t bands, const double *mean,
                             const double *covariance, double relative) {
    HcStatistics found = load(path, bands);
    double scale = covariance[0];
    assert_int_equal(found.pixels, count);
    for (size_t i = 0; i < (size_t)bands * (size_t)bands; i++) {
        check_near(found.covariance[i], covariance[i], relative * scale);
    }
    for (int32_t b = 0; b < bands; b++) {
        check_near(found.mean[b], mean[b], relative * sqrt(scale));
    }
    hc_statistics_clear(&found);
}

static void stencils_agree_with_their_weights(void **state) {
    (void)state;
    static const int32_t all[4] = {0, 0, SAMPLES, LINES};
    static const int32_t part[4] = {3, 7, 21, 30};
    static const struct {
        const char *name;
        HcType type;
        double low, high, relative;
    } scenes[] = {{"u16", HC_UINT16, 1, 65535, 1e-12},
                  {"i16", HC_INT16, -32768, 32767, 1e-12},
                  {"f32", HC_FLOAT32, 1, 9000, 1e-6}};
    for (size_t s = 0; s < sizeof scenes / sizeof *scenes; s++) {
        Cube cube = wild_scene(scenes[s].low, scenes[s].high);
        for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
            cube.value[i] += cube.value[i] == 0; /* nodata */
            cube.value[i] += scenes[s].type == HC_FLOAT32 ? 0.25 * (double)(i % 3) : 0;
        }
        cube_border(&cube, 0);
        cube_write(&cube, scenes[s].name, scenes[s].type, "bil", "data ignore value = 0\n");
        for (int kind = 0; kind < WORDS; kind++) {
            double mean[BANDS];
            double covariance[BANDS * BANDS];
            int64_t count = reference(&cube, kind, all, mean, covariance);
            check_runs(NULL, "read %s.img ! cov out.json --noise %s --overwrite", scenes[s].name,
                       kinds[kind].word);
            check_statistics("out.json", count, BANDS, mean, covariance, scenes[s].relative);
            count = reference(&cube, kind, part, mean, covariance);
            check_runs(NULL, "read %s.img ! cov out.json --noise %s --noise-window 3,7,21,30 --overwrite",
                       scenes[s].name, kinds[kind].word);
            check_statistics("out.json", count, BANDS, mean, covariance, scenes[s].relative);
        }
        cube_free(&cube);
    }
}

static void cuts_do_not_matter(void **state) {
    (void)state;
    static const char *const words[] = {"shift-lowerleft", "shift-mean", "quad", "trimmed"};
    static const int32_t block_lines[] = {0, 1, 7, 8, 13, 1000};
    for (int type = 0; type < 2; type++) {
        Cube cube = wild_scene(1, 65535);
        cube_border(&cube, 0);
        cube_write(&cube, "scene", type == 0 ? HC_UINT16 : HC_FLOAT32, "bil", "data ignore value = 0\n");
        for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
            check_runs(NULL, "read scene.img ! cov first.json --noise %s --overwrite", words[w]);
            for (size_t k = 0; k < sizeof block_lines / sizeof *block_lines; k++) {
                RunHow how = {.threads = 1 + (int32_t)(k % 3), .settings = {.block_lines = block_lines[k]}};
                how.ops = k % 2 == 0 ? hc_strict_ops() : NULL;
                check_runs(&how, "read scene.img ! cov again.json --noise %s --overwrite", words[w]);
                check_same_files("first.json", "again.json");
            }
        }
        cube_free(&cube);
    }
}

static void failures_leave_nothing(void **state) {
    (void)state;
    Cube cube = wild_scene(1, 65535);
    cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
    static const char *const chains[] = {"read scene.img ! cov bad.json --noise quad",
                                         "read scene.img ! cov bad.json --noise trimmed"};
    static const char *const results[] = {"bad.json", NULL};
    check_failures_leave_nothing(chains, 2, 16, results);
    cube_free(&cube);
}

/* ---- trimmed differences ---- */

typedef struct Weighed {
    double roughness;
    int32_t line, sample;
} Weighed;

static int compare_weighed(const void *a, const void *b) {
    const Weighed *x = a;
    const Weighed *y = b;
    int order = (x->roughness > y->roughness) - (x->roughness < y->roughness);
    return order != 0 ? order : x->line != y->line ? x->line - y->line : x->sample - y->sample;
}

/* The blocks of `cube` from calm to rough; those with a masked pixel and those in which most bands are
 * constant are left out. */
static size_t weigh_blocks(const Cube *cube, Weighed *out) {
    size_t count = 0;
    for (int32_t line = 0; line + SIZE <= cube->lines; line += SIZE) {
        for (int32_t sample = 0; sample + SIZE <= cube->samples; sample += SIZE) {
            double sum = 0;
            int32_t constant = 0;
            bool whole = true;
            for (int32_t b = 0; b < cube->bands; b++) {
                double square = 0;
                for (int32_t k = 0; k < SIZE * SIZE; k++) {
                    int32_t l = line + k / SIZE;
                    int32_t s = sample + k % SIZE;
                    whole = whole && cube->valid[(size_t)l * (size_t)cube->samples + (size_t)s];
                    if (k % SIZE + 1 < SIZE) {
                        square += pow(cube_pixel(cube, l, s)[b] - cube_pixel(cube, l, s + 1)[b], 2);
                    }
                }
                constant += square == 0;
                sum += square > 0 ? log(square) : 0;
            }
            if (whole && 2 * constant < cube->bands) {
                out[count++] = (Weighed){sum / (cube->bands - constant), line, sample};
            }
        }
    }
    qsort(out, count, sizeof *out, compare_weighed);
    return count;
}

/* Left: texture of a deviation of 60; right: smooth. Noise with deviations 2 + b. A block of the smooth
 * half is saturated in the bands from 2 on. */
static Cube two_halves(int32_t lines, int32_t samples) {
    uint64_t seed = 5;
    Cube cube = cube_new(lines, samples, BANDS);
    for (int32_t line = 0; line < lines; line++) {
        for (int32_t sample = 0; sample < samples; sample++) {
            double shade = sample < samples / 2 ? 60 * random_normal(&seed) : 0.05 * line;
            double *x = cube_pixel(&cube, line, sample);
            for (int32_t b = 0; b < BANDS; b++) {
                x[b] = 500 + 100 * b + shade * (1 + 0.1 * b) + (2 + b) * random_normal(&seed);
                bool saturated = line / SIZE == 3 && sample / SIZE == 9 && b >= 2;
                x[b] = saturated ? 4095 : floor(x[b] + 0.5);
            }
        }
    }
    return cube;
}

static void trimmed_differences_are_those_of_calm_blocks(void **state) {
    (void)state;
    enum { TALL = 61, WIDE = 90 };
    Cube cube = two_halves(TALL, WIDE);
    cube_border(&cube, 1);
    cube_write(&cube, "scene", HC_UINT16, "bsq", "data ignore value = 1\n");
    Weighed *blocks = calloc(cube_pixels(&cube), sizeof *blocks);
    double *rows = calloc(cube_pixels(&cube) * BANDS, sizeof *rows);
    assert_non_null(blocks);
    assert_non_null(rows);
    size_t taken = weigh_blocks(&cube, blocks) / 4;
    assert_true(taken > 5 && cube.valid[3 * SIZE * WIDE + 9 * SIZE] == 1);
    int64_t count = 0;
    for (size_t k = 0; k < taken; k++) {
        assert_true(blocks[k].sample + SIZE > WIDE / 2); /* the test would show nothing else */
        for (int32_t p = 0; p < SIZE * (SIZE - 1); p++) {
            int32_t l = blocks[k].line + p / (SIZE - 1);
            int32_t s = blocks[k].sample + p % (SIZE - 1);
            for (int32_t b = 0; b < BANDS; b++) {
                rows[(size_t)count * BANDS + (size_t)b] =
                    cube_pixel(&cube, l, s)[b] - cube_pixel(&cube, l, s + 1)[b];
            }
            count++;
        }
    }
    double mean[BANDS];
    double covariance[BANDS * BANDS];
    statistics_of(rows, count, BANDS, 2, mean, covariance);
    check_runs(NULL, "read scene.img ! cov out.json --noise trimmed ! cov shift.json --noise shift");
    check_statistics("out.json", count, BANDS, mean, covariance, 1e-12);
    HcStatistics found = load("out.json", BANDS);
    HcStatistics shift = load("shift.json", BANDS);
    assert_string_equal(found.noise, "trimmed");
    for (int32_t b = 0; b < BANDS; b++) {
        double truth = (2.0 + b) * (2.0 + b) + 1.0 / 12;
        check_near(found.covariance[b * (BANDS + 1)], truth, 0.15 * truth);
        assert_true(shift.covariance[b * (BANDS + 1)] > 20 * truth);
    }
    hc_statistics_clear(&found);
    hc_statistics_clear(&shift);
    free(blocks);
    free(rows);
    cube_free(&cube);
}

static void other_stages_take_them(void **state) {
    (void)state;
    Cube cube = two_halves(64, 96);
    cube_write(&cube, "scene", HC_UINT16, "bip", NULL);
    check_runs(NULL, "read scene.img ! cov trimmed.json --noise trimmed");
    check_runs(NULL, "read scene.img ! mnf --noise trimmed --save-model a.json ! write a.img");
    check_runs(NULL, "read scene.img ! mnf --noise trimmed.json --save-model b.json ! write b.img");
    check_same_files("a.img", "b.img");
    check_runs(NULL, "read scene.img ! mnf --noise quad --noise-window 48,0,48,64 ! write c.img");
    check_runs(NULL, "read scene.img ! noise n.json --compare trimmed");
    check_runs(NULL, "read scene.img ! cov sums.json --sums --noise hv-average");
    check_run_fails(NULL, HC_E_NUMERIC, "0 valid pixels in the noise",
                    "read scene.img ! cov bad.json --noise trimmed --noise-window 0,0,60,7");
    check_run_fails(NULL, HC_E_NUMERIC, "0 valid pixels in the noise",
                    "read scene.img ! cov bad.json --noise trimmed --noise-window 0,0,7,60");
    check_run_fails(NULL, HC_E_NUMERIC, "0 valid pixels in the noise",
                    "read scene.img ! cov bad.json --noise shift-lower --noise-window 0,3,9,1");
    assert_false(file_exists("bad.json"));
    cube_free(&cube);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(stencils_agree_with_their_weights),
        IN_FOLDER(cuts_do_not_matter),
        IN_FOLDER(failures_leave_nothing),
        IN_FOLDER(trimmed_differences_are_those_of_calm_blocks),
        IN_FOLDER(other_stages_take_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
