/* detect --by columns: scores of mf, cem, amf and ace against a plain program in float64 for each group of
 * columns, the same bits for any blocks, threads and backends, columns that cannot have a filter, and what is
 * refused. */
#include "pipeline/detections/false_alarm.h"
#include "tests/support/reference.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* More lines than a panel has. */
enum { LINES = 150, SAMPLES = 13, BANDS = 14 };

/* Detectors differ in gain and offset, bands are alike. */
static Cube make_scene(uint64_t seed, bool integers) {
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, seed, integers);
    for (size_t p = 0; p < cube_pixels(&cube); p++) {
        for (int b = 0; b < BANDS; b++) {
            double *value = &cube.value[p * BANDS + (size_t)b];
            double detector = (double)(p % SAMPLES);
            *value = 40 + *value * (1 + 0.02 * detector) + 3 * detector * (b % 3);
            *value = integers ? rint(*value) : (double)(float)(*value * 0.0123);
        }
    }
    return cube;
}

/* Relative changes of the radiance, as methane makes them. */
static double absorption(int target, int band) {
    return -1e-4 * (1 + target) * exp(-0.2 * (band - 9 + 4 * target) * (band - 9 + 4 * target));
}

static void write_targets(const char *path) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "band,methane,other\n");
    for (int b = 0; b < BANDS; b++) {
        fprintf(file, "%d,%.9g,%.9g\n", b + 1, absorption(0, b), absorption(1, b));
    }
    assert_int_equal(fclose(file), 0);
}

/* What is expected of a run. */
typedef struct Expected {
    int width;
    double share;            /* of the unit matrix */
    const uint8_t *selected; /* [pixels] of the backgrounds, NULL = all that are valid */
    bool pixel;              /* the target is the pixel (20, 5) */
    const char *method;      /* NULL = mf */
} Expected;

static bool is_method(const Expected *expected, const char *method) {
    return strcmp(expected->method != NULL ? expected->method : "mf", method) == 0;
}

/* What a method gives for the pixel x - mean, whose inverse of the covariance times x is `white`. */
static double score_of(const Expected *expected, const double *x, const double *white, const double *weight,
                       double power) {
    double along = reference_product(BANDS, weight, x);
    return is_method(expected, "ace")   ? along * fabs(along) / (power * reference_product(BANDS, white, x))
           : is_method(expected, "amf") ? along * fabs(along) / power
                                        : along / power;
}

/* For cem the covariance becomes the mean of x x', and the mean 0. */
static void use_products(const Cube *some, double *mean, double *covariance) {
    double count = 0;
    for (size_t p = 0; p < cube_pixels(some); p++) {
        count += some->valid[p] != 0;
    }
    for (int i = 0; i < BANDS * BANDS; i++) {
        covariance[i] = covariance[i] * (count - 1) / count + mean[i / BANDS] * mean[i % BANDS];
    }
    memset(mean, 0, BANDS * sizeof *mean);
}

static void make_signal(const Expected *expected, const Cube *cube, const double *mean, int target,
                        double *signal) {
    for (int b = 0; b < BANDS; b++) {
        signal[b] = expected->pixel ? cube_pixel(cube, 20, 5)[b] - mean[b]
                                    : (double)(float)absorption(target, b) * mean[b];
    }
}

/* out.img against the definition. */
static void check_scores(const Cube *cube, const Expected *expected) {
    int targets = expected->pixel ? 1 : 2;
    Cube got = cube_read_floats("out", LINES, SAMPLES, targets);
    for (int begin = 0; begin < SAMPLES; begin += expected->width) {
        int end = begin + expected->width < SAMPLES ? begin + expected->width : SAMPLES;
        Cube some = *cube;
        double mean[BANDS], covariance[BANDS * BANDS], signal[BANDS], weight[BANDS], x[BANDS], white[BANDS];
        double trace = 0;
        some.valid = calloc(cube_pixels(cube), 1);
        assert_non_null(some.valid);
        for (size_t p = 0; p < cube_pixels(cube); p++) {
            int sample = (int)(p % SAMPLES);
            some.valid[p] = sample >= begin && sample < end && cube->valid[p] &&
                            (expected->selected == NULL || expected->selected[p]);
        }
        reference_covariance(&some, mean, covariance);
        for (int b = 0; b < BANDS; b++) {
            trace += covariance[b * BANDS + b];
        }
        for (int i = 0; i < BANDS * BANDS; i++) {
            double unit = i % (BANDS + 1) == 0 ? trace / BANDS : 0;
            covariance[i] = (1 - expected->share) * covariance[i] + expected->share * unit;
        }
        if (is_method(expected, "cem")) {
            use_products(&some, mean, covariance);
        }
        for (int t = 0; t < targets; t++) {
            make_signal(expected, cube, mean, t, signal);
            reference_solve(BANDS, covariance, signal, weight);
            double power = reference_product(BANDS, weight, signal);
            for (size_t p = 0; p < cube_pixels(cube); p++) {
                int sample = (int)(p % SAMPLES);
                if (sample < begin || sample >= end) {
                    continue;
                }
                double score = got.value[p * (size_t)targets + (size_t)t];
                if (!cube->valid[p]) {
                    assert_true(isnan(score));
                    continue;
                }
                for (int b = 0; b < BANDS; b++) {
                    x[b] = cube->value[p * BANDS + (size_t)b] - mean[b];
                }
                reference_solve(BANDS, covariance, x, white);
                double value = score_of(expected, x, white, weight, power);
                double unit = is_method(expected, "amf") || is_method(expected, "ace") ? 1 : 1 / sqrt(power);
                check_near(score, value, 1e-6 * (unit + fabs(value)));
            }
        }
        free(some.valid);
    }
    cube_free(&got);
}

#define ABSORBING "detect --method mf --absorption --targets gas.csv"

static void scores_are_those_of_each_group(void **state) {
    (void)state;
    write_targets("gas.csv");
    for (int round = 0; round < 2; round++) {
        Cube cube = make_scene(1 + (uint64_t)round, round == 0);
        cube_border(&cube, 0);
        cube_write(&cube, "scene", round == 0 ? HC_INT16 : HC_FLOAT32, round == 0 ? "bil" : "bsq",
                   "data ignore value = 0\n");
        static const int widths[] = {1, 2, 5, 13, 100};
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
            check_runs(NULL, "read scene.img ! " ABSORBING " --by columns=%d ! write out.img --nodata nan",
                       widths[w]);
            check_scores(&cube, &(Expected){.width = widths[w]});
        }
        check_runs(NULL,
                   "read scene.img ! detect --method mf --target-at 5,20 --by columns=3 ! write out.img "
                   "--nodata nan");
        check_scores(&cube, &(Expected){.width = 3, .pixel = true});
        check_runs(NULL,
                   "read scene.img ! " ABSORBING " --by columns=1 --shrink 0.02 ! write out.img --nodata "
                   "nan");
        check_scores(&cube, &(Expected){.width = 1, .share = 0.02});
        cube_free(&cube);
    }
}

static void other_methods_are_those_of_each_group(void **state) {
    (void)state;
    static const char *const methods[] = {"ace", "amf", "cem"};
    for (int round = 0; round < 2; round++) {
        Cube cube = make_scene(11 + (uint64_t)round, round == 0);
        cube_border(&cube, 0);
        cube_write(&cube, "scene", round == 0 ? HC_INT16 : HC_FLOAT32, "bil", "data ignore value = 0\n");
        write_targets("gas.csv");
        for (int k = 0; k < 3; k++) {
            for (int width = 1; width <= 5; width += 4) {
                check_runs(
                    NULL,
                    "read scene.img ! detect --method %s --target-at 5,20 --by columns=%d ! write out.img "
                    "--nodata nan",
                    methods[k], width);
                check_scores(&cube, &(Expected){.width = width, .pixel = true, .method = methods[k]});
            }
            check_runs(
                NULL,
                "read scene.img ! detect --method %s --target-at 5,20 --by columns=2 --shrink 0.02 ! write "
                "out.img --nodata nan",
                methods[k]);
            check_scores(&cube, &(Expected){.width = 2, .share = 0.02, .pixel = true, .method = methods[k]});
        }
        check_runs(
            NULL,
            "read scene.img ! detect --method ace --absorption --targets gas.csv --by columns=1 ! write "
            "out.img --nodata nan");
        check_scores(&cube, &(Expected){.width = 1, .method = "ace"});
        cube_free(&cube);
    }
}

/* Two targets, so that rates have a place of their own, and Gaussian rates by the deviation of each group. */
static void rates_are_those_of_each_group(void **state) {
    (void)state;
    static const struct {
        const char *method;
        HcNull null;
    } cases[] = {{"mf", HC_NULL_NORMAL}, {"amf", HC_NULL_ROOT_NORMAL}, {"ace", HC_NULL_COHERENCE}};
    Cube cube = make_scene(14, true);
    cube_write(&cube, "scene", HC_INT16, "bil", NULL);
    write_targets("gas.csv");
    for (int k = 0; k < 3; k++) {
        check_runs(
            NULL,
            "read scene.img ! detect --method %s --absorption --targets gas.csv --by columns=5 --rates "
            "gaussian ! "
            "write out.img",
            cases[k].method);
        Cube got = cube_read_floats("out", LINES, SAMPLES, 4);
        for (int s = 0; s < SAMPLES; s++) {
            double squares[2] = {0}, sums[2] = {0};
            int first = s / 5 * 5;
            int end = first + 5 < SAMPLES ? first + 5 : SAMPLES;
            for (int i = 0; i < LINES * (end - first); i++) {
                const double *score = cube_pixel(&got, i % LINES, first + i / LINES);
                for (int t = 0; t < 2; t++) {
                    sums[t] += score[t];
                    squares[t] += score[t] * score[t];
                }
            }
            for (int line = 0; line < LINES; line++) {
                for (int t = 0; t < 2; t++) {
                    double count = LINES * (end - first);
                    double deviation = sqrt((squares[t] - sums[t] * sums[t] / count) / (count - 1));
                    const double *score = cube_pixel(&got, line, s);
                    HcNullLaw law = {.null = cases[k].null,
                                     .directions = BANDS,
                                     .pixels = LINES * (end - first),
                                     .deviation = deviation};
                    check_near(score[2 + t], hc_false_alarm(&law, 0, score[t]), 1e-5);
                }
            }
        }
        cube_free(&got);
    }
    cube_free(&cube);
}

/* Pixels that a mask leaves out have scores, and no part in the filters. */
static void background_is_behind_a_mask(void **state) {
    (void)state;
    uint8_t selected[LINES * SAMPLES];
    Cube cube = make_scene(3, false);
    Cube mask = cube_new(LINES, SAMPLES, 1);
    write_targets("gas.csv");
    for (size_t p = 0; p < cube_pixels(&cube); p++) {
        selected[p] = p % 11 != 3 && p / SAMPLES > 10;
        mask.value[p] = selected[p];
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bip", NULL);
    cube_write(&mask, "mask", HC_UINT8, "bsq", NULL);
    check_runs(NULL, "read scene.img ! " ABSORBING " --by columns=1 --by mask=mask.img ! write out.img "
                     "--nodata nan");
    check_scores(&cube, &(Expected){.width = 1, .selected = selected});
    cube_free(&mask);
    cube_free(&cube);
}

/* A column of too few valid pixels, and one without variation: masked, and told. */
static void columns_without_a_filter_are_masked(void **state) {
    (void)state;
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    Cube cube = make_scene(4, true);
    write_targets("gas.csv");
    for (size_t p = 0; p < cube_pixels(&cube); p++) {
        size_t sample = p % SAMPLES;
        for (int b = 0; b < BANDS; b++) {
            double *value = &cube.value[p * BANDS + (size_t)b];
            *value = sample == 4 ? 100 + b : sample == 7 && p / SAMPLES >= BANDS ? 0 : *value;
        }
    }
    cube_border(&cube, 0);
    cube_write(&cube, "scene", HC_INT16, "bil", "data ignore value = 0\n");
    check_runs(&how, "read scene.img ! " ABSORBING " --by columns=1 ! write out.img --nodata nan");
    Cube got = cube_read_floats("out", LINES, SAMPLES, 2);
    int lost = 0;
    for (size_t p = 0; p < cube_pixels(&cube); p++) {
        size_t sample = p % SAMPLES;
        bool filtered = sample != 4 && sample != 7;
        assert_int_equal(isfinite(got.value[2 * p]), filtered && cube.valid[p]);
        lost += cube.valid[p] && (sample == 4 || (sample == 7 && p / SAMPLES < BANDS));
    }
    char expected[64];
    snprintf(expected, sizeof expected, "%d pixels are masked", lost);
    if (lost < LINES / 2 || strstr(notes.data, expected) == NULL) {
        fail_msg("%s: %s", expected, notes.data);
    }
    hc_text_clear(&notes);
    cube_free(&got);
    cube_free(&cube);
}

/* A dead band of one detector takes no part: as a scene without it. */
static void a_dead_detector_of_a_band_adds_nothing(void **state) {
    (void)state;
    Cube cube = make_scene(5, true);
    write_targets("gas.csv");
    for (int line = 0; line < LINES; line++) {
        cube_pixel(&cube, line, 6)[BANDS - 1] = 777;
    }
    cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
    check_runs(NULL, "read scene.img ! " ABSORBING " --by columns=1 ! write out.img");
    check_runs(NULL, "read scene.img ! bands 1-%d ! " ABSORBING " --by columns=1 ! write without.img",
               BANDS - 1);
    Cube got = cube_read_floats("out", LINES, SAMPLES, 2);
    Cube without = cube_read_floats("without", LINES, SAMPLES, 2);
    for (int line = 0; line < LINES; line++) {
        for (int t = 0; t < 2; t++) {
            double expected = cube_pixel(&without, line, 6)[t];
            check_near(cube_pixel(&got, line, 6)[t], expected, 1e-5 * (1 + fabs(expected)));
        }
        assert_true(cube_pixel(&got, line, 5)[0] != cube_pixel(&without, line, 5)[0]);
    }
    cube_free(&without);
    cube_free(&got);
    cube_free(&cube);
}

/* A value that no sample foresees changes no other score: its pixel is no background. */
static void a_far_pixel_takes_no_part(void **state) {
    (void)state;
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    uint8_t selected[LINES * SAMPLES];
    Cube cube = make_scene(6, false);
    write_targets("gas.csv");
    memset(selected, 1, sizeof selected);
    selected[(size_t)(40 * SAMPLES + 3)] = 0;
    cube_pixel(&cube, 40, 3)[2] = 3e12;
    cube_write(&cube, "scene", HC_FLOAT32, "bil", NULL);
    check_runs(&how, "read scene.img ! " ABSORBING " --by columns=1 ! write out.img --nodata nan");
    if (!check_holds(notes.data, "1 pixels are left out ... of their columns")) {
        fail_msg("%s", notes.data);
    }
    check_scores(&cube, &(Expected){.width = 1, .selected = selected});
    hc_text_clear(&notes);
    cube_free(&cube);
}

/* What other passes need is taken group by group: the share of each is that of its own pixels. */
static void fourth_powers_are_those_of_each_group(void **state) {
    (void)state;
    enum { WIDTH = 5 };
    Cube cube = make_scene(23, true);
    Cube mask = cube_new(LINES, SAMPLES, 1);
    for (size_t p = 0; p < cube_pixels(&mask); p++) {
        mask.value[p] = 1 + (double)(p % SAMPLES / WIDTH);
    }
    cube_write(&mask, "groups", HC_UINT8, "bsq", NULL);
    cube_write(&cube, "scene", HC_INT16, "bil", NULL);
    static const char *const more[] = {"--shrink ledoit-wolf", "--robust 1e-2"};
    for (int k = 0; k < 2; k++) {
        check_runs(NULL,
                   "read scene.img ! detect --method mf --target-at 5,20 --by columns=5 %s ! write out.img",
                   more[k]);
        Cube got = cube_read_floats("out", LINES, SAMPLES, 1);
        for (int g = 0; g < 3; g++) {
            check_runs(NULL,
                       "read scene.img ! detect --method mf --target-at 5,20 --by mask=groups.img:1!=%d %s ! "
                       "write one.img",
                       g + 1, more[k]);
            Cube one = cube_read_floats("one", LINES, SAMPLES, 1);
            for (size_t p = 0; p < cube_pixels(&cube); p++) {
                if ((int)(p % SAMPLES / WIDTH) == g) {
                    check_near(got.value[p], one.value[p], 0);
                }
            }
            cube_free(&one);
        }
        cube_free(&got);
    }
    cube_free(&cube);
    cube_free(&mask);
}

static void blocks_and_backends_agree(void **state) {
    (void)state;
    static const char *const chains[] = {
        "read scene.img ! " ABSORBING " --by columns=1 ! write out.img",
        "read floats.img ! " ABSORBING " --by columns=4 ! filter mean3x3 ! write out.img",
        "read floats.img ! filter mean3x3 ! " ABSORBING " --by columns=1 --by mask=mask.img ! write "
        "out.img",
        "read floats.img ! detect --method mf --target-at 5,20 --by columns=2 --shrink oas ! write out.img",
        "read floats.img ! detect --method ace --target-at 5,20 --target-at 3,3 --by columns=2 ! write "
        "out.img",
        "read floats.img ! detect --method cem --target-at 5,20 --by columns=2 --rates rank ! filter mean3x3 "
        "! "
        "write out.img",
    };
    static const char *const results[] = {"out.img", "out.hdr", NULL};
    Cube mask = cube_new(LINES, SAMPLES, 1);
    for (size_t p = 0; p < cube_pixels(&mask); p++) {
        mask.value[p] = p % 5 != 0;
    }
    cube_write(&mask, "mask", HC_UINT8, "bsq", NULL);
    write_targets("gas.csv");
    Cube cube = make_scene(7, false);
    cube_border(&cube, 0);
    cube_write(&cube, "floats", HC_FLOAT32, "bip", "data ignore value = 0\n");
    cube_free(&cube);
    cube = make_scene(8, true);
    cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
    check_runs_agree(chains, sizeof chains / sizeof *chains, 7);
    check_failures_leave_nothing(chains, sizeof chains / sizeof *chains, 40, results);
    cube_free(&cube);
    cube_free(&mask);
}

static void refusals(void **state) {
    (void)state;
    Cube cube = make_scene(9, true);
    Cube few = cube_smooth(BANDS, SAMPLES, BANDS, 9, true);
    write_targets("gas.csv");
    cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
    cube_write(&few, "few", HC_UINT16, "bil", NULL);
    check_run_fails(NULL, HC_E_USAGE, "detect: --by: --method sam has no background",
                    "read scene.img ! detect --method sam --target-at 3,3 --by columns=1 ! write out.img");
    check_run_fails(NULL, HC_E_INPUT, "at most 14 pixels ... 14 bands need",
                    "read few.img ! " ABSORBING " --by columns=1 ! write out.img");
    for (size_t p = 0; p < cube_pixels(&cube) * BANDS; p++) {
        cube.value[p] = p / (BANDS * SAMPLES) >= BANDS ? 0 : cube.value[p];
    }
    cube_write(&cube, "scene", HC_UINT16, "bil", "data ignore value = 0\n");
    check_run_fails(NULL, HC_E_NUMERIC, "no group of columns ... 14 pixels",
                    "read scene.img ! " ABSORBING " --by columns=1 ! write out.img");
    cube_free(&few);
    cube_free(&cube);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(scores_are_those_of_each_group),      IN_FOLDER(other_methods_are_those_of_each_group),
        IN_FOLDER(rates_are_those_of_each_group),       IN_FOLDER(background_is_behind_a_mask),
        IN_FOLDER(columns_without_a_filter_are_masked), IN_FOLDER(a_dead_detector_of_a_band_adds_nothing),
        IN_FOLDER(a_far_pixel_takes_no_part),           IN_FOLDER(fourth_powers_are_those_of_each_group),
        IN_FOLDER(blocks_and_backends_agree),           IN_FOLDER(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
