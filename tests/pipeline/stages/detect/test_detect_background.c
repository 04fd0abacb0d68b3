/* The background of detect and rx from the pixels that a mask leaves: scores against a plain program in
 * float64, all kinds of masks, large blocks that are taken in parts, and what is refused. */
#include "tests/support/reference.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES = 41, SAMPLES = 37, BANDS = 7 };

/* Mean and covariance of the valid pixels that `selected` holds. */
static void know(const Cube *cube, const Cube *mask, bool (*selected)(double), double *mean,
                 double *covariance) {
    Cube some = *cube;
    uint8_t *valid = malloc(cube_pixels(cube));
    assert_non_null(valid);
    for (size_t p = 0; p < cube_pixels(cube); p++) {
        valid[p] = cube->valid[p] && selected(mask->value[p]);
    }
    some.valid = valid;
    assert_true(reference_covariance(&some, mean, covariance) > BANDS);
    free(valid);
}

/* The scores of rx, or those of the matched filter with the pixel (20, 20) as target. */
static void check_one(const Cube *cube, bool filtered, const double *mean, const double *covariance) {
    Cube got = cube_read_floats(filtered ? "mf" : "rx", LINES, SAMPLES, 1);
    double target[BANDS], weight[BANDS], x[BANDS], y[BANDS];
    for (int b = 0; b < BANDS; b++) {
        target[b] = cube_pixel(cube, 20, 20)[b] - mean[b];
    }
    reference_solve(BANDS, covariance, target, weight);
    for (size_t p = 0; p < cube_pixels(cube); p++) {
        if (!cube->valid[p]) {
            assert_true(isnan(got.value[p]));
            continue;
        }
        for (int b = 0; b < BANDS; b++) {
            x[b] = cube->value[p * BANDS + (size_t)b] - mean[b];
        }
        reference_solve(BANDS, covariance, x, y);
        double expected = filtered
                              ? reference_product(BANDS, weight, x) / reference_product(BANDS, weight, target)
                              : reference_product(BANDS, x, y);
        check_near(got.value[p], expected, filtered ? 1e-6 : 3e-7 * (1 + expected));
    }
    cube_free(&got);
}

static void check_scores(const Cube *cube, const double *mean, const double *covariance) {
    check_one(cube, false, mean, covariance);
    check_one(cube, true, mean, covariance);
}

static void check_mask(const Cube *cube, const Cube *mask, const char *text, bool (*selected)(double)) {
    double mean[BANDS], covariance[BANDS * BANDS];
    know(cube, mask, selected, mean, covariance);
    check_runs(NULL, "read scene.img ! rx --by mask=%s ! write rx.img --nodata nan", text);
    check_runs(NULL,
               "read scene.img ! detect --method mf --target-at 20,20 --by mask=%s ! write mf.img "
               "--nodata nan",
               text);
    check_scores(cube, mean, covariance);
}

static bool is_not_zero(double value) {
    return value != 0;
}

static bool is_two(double value) {
    return value == 2;
}

static bool is_no_one(double value) {
    return value != 1;
}

/* A field of classes 0 to 3. */
static Cube make_mask(int32_t lines, int32_t samples) {
    Cube mask = cube_new(lines, samples, 1);
    for (int32_t line = 0; line < lines; line++) {
        for (int32_t s = 0; s < samples; s++) {
            cube_pixel(&mask, line, s)[0] = (line / 9 + s / 7) % 4;
        }
    }
    return mask;
}

static void background_is_behind_a_mask(void **state) {
    (void)state;
    Cube mask = make_mask(LINES, SAMPLES);
    cube_write(&mask, "mask", HC_UINT8, "bsq", NULL);
    for (int round = 0; round < 2; round++) {
        Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 1 + (uint64_t)round, round == 0);
        cube_border(&cube, 0);
        for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
            cube.value[i] = (float)cube.value[i];
        }
        cube_write(&cube, "scene", round == 0 ? HC_INT16 : HC_FLOAT32, "bil", "data ignore value = 0\n");
        check_mask(&cube, &mask, "mask.img", is_not_zero);
        check_mask(&cube, &mask, "mask.img:1!=2", is_two);
        check_mask(&cube, &mask, "mask.img:1=1", is_no_one);
        cube_free(&cube);
    }
    cube_free(&mask);
}

/* As cov of the masked scene, and its file. A part of the scene with the mask of all of it. */
static void is_that_of_a_statistics_file(void **state) {
    (void)state;
    Cube mask = make_mask(700, 2100);
    Cube cube = cube_smooth(700, 2100, BANDS, 3, true); /* more than one part, and not a whole number */
    cube_write(&mask, "mask", HC_UINT8, "bsq", NULL);
    cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
    static const char *const windows[] = {"", "--window 100,31,300,400"};
    for (int w = 0; w < 2; w++) {
        check_runs(NULL, "read scene.img %s --mask mask.img:1=0,3 ! cov cov.json", windows[w]);
        check_runs(NULL, "read scene.img %s ! bands 2-6 ! rx --background cov.json ! write file.img",
                   windows[w]);
        check_runs(NULL, "read scene.img %s ! bands 2-6 ! rx --by mask=mask.img:1=0,3 ! write mask1.img",
                   windows[w]);
        check_same_files("file.img", "mask1.img");
        RunHow how = {.threads = 2, .settings.block_lines = 650};
        check_runs(&how, "read scene.img %s ! bands 2-6 ! rx --by mask=mask.img:1=0,3 ! write mask1.img",
                   windows[w]);
        check_same_files("file.img", "mask1.img");
    }
    cube_free(&cube);
    cube_free(&mask);
}

/* The share of the unit matrix is that of the pixels that the mask leaves. */
static void shrinkage_is_that_of_the_background(void **state) {
    (void)state;
    double mean[BANDS], covariance[BANDS * BANDS], trace = 0;
    Cube mask = make_mask(LINES, SAMPLES);
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 6, true);
    Cube some = cube_smooth(LINES, SAMPLES, BANDS, 6, true);
    cube_write(&mask, "mask", HC_UINT8, "bsq", NULL);
    cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
    for (size_t p = 0; p < cube_pixels(&cube); p++) {
        some.valid[p] = is_two(mask.value[p]);
    }
    double share = reference_ledoit_wolf(&some);
    assert_true(share > 0 && fabs(share / reference_ledoit_wolf(&cube) - 1) > 0.1);
    know(&cube, &mask, is_two, mean, covariance);
    for (int b = 0; b < BANDS; b++) {
        trace += covariance[b * BANDS + b];
    }
    for (int i = 0; i < BANDS * BANDS; i++) {
        covariance[i] = (1 - share) * covariance[i] + (i % (BANDS + 1) == 0 ? share * trace / BANDS : 0);
    }
    check_runs(NULL, "read scene.img ! rx --by mask=mask.img:1!=2 --shrink ledoit-wolf ! write rx.img");
    check_runs(NULL, "read scene.img ! detect --method mf --target-at 20,20 --by mask=mask.img:1!=2 "
                     "--shrink ledoit-wolf ! write mf.img");
    check_scores(&cube, mean, covariance);
    cube_free(&some);
    cube_free(&cube);
    cube_free(&mask);
}

/* The integral of sin^(squares - 1) cos^(others - 1) from 0 to an angle, or of r^(squares - 1) exp(-r^2/2) to
 * a radius (others = 0), by Simpson's rule. */
static double integral(double end, int squares, int64_t others) {
    enum { STEPS = 20000 };
    double sum = 0;
    for (int k = 0; k <= STEPS; k++) {
        double weight = k == 0 || k == STEPS ? 1 : k % 2 == 1 ? 4 : 2;
        double at = end * k / STEPS;
        sum += weight * (others > 0 ? pow(sin(at), squares - 1) * pow(cos(at), (double)others - 1)
                                    : pow(at, squares - 1) * exp(-at * at / 2));
    }
    return sum * end / STEPS / 3;
}

/* The distance from the mean of `pixels` that one of 1,000 of them exceeds: their squares are (n - 1)^2 / n
 * times Beta(squares/2, (n - 1 - squares)/2). */
static double far_limit(int64_t pixels, int squares) {
    double n = (double)pixels, low = 0, high = M_PI / 2;
    double all = integral(high, squares, pixels - 1 - squares);
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        bool inside = integral(middle, squares, pixels - 1 - squares) < 0.999 * all;
        low = inside ? middle : low;
        high = inside ? high : middle;
    }
    return (n - 1) / sqrt(n) * sin(low);
}

/* What is left of the variance within a limit. */
static double variance_left(double limit, int squares) {
    return integral(limit, squares + 2, 0) / integral(limit, squares, 0) / squares;
}

/* Makes the covariance of what is left that of all: as a whole, or along a weight. */
static void undo(double *covariance, double left, const double *weight) {
    double moved[BANDS] = {0};
    for (int i = 0; i < BANDS && weight != NULL; i++) {
        moved[i] = reference_product(BANDS, covariance + i * BANDS, weight);
    }
    for (int i = 0; i < BANDS * BANDS; i++) {
        covariance[i] = weight == NULL
                            ? covariance[i] / left
                            : covariance[i] + (1 / left - 1) / reference_product(BANDS, moved, weight) *
                                                  moved[i / BANDS] * moved[i % BANDS];
    }
}

/* Leaves out what is far, by the scores of rx or along the target, until that is as many pixels as before.
 * Returns how often. */
static int trim(const Cube *cube, const uint8_t *selected, const double *target, Cube *some, double *mean,
                double *covariance, int64_t *left) {
    bool apart = target == mean;
    int64_t before = 0;
    double weight[BANDS], limit = 0;
    memcpy(some->valid, selected, cube_pixels(cube));
    for (int round = 0;; round++) {
        double x[BANDS], y[BANDS], along[BANDS];
        *left = reference_covariance(some, mean, covariance);
        limit = round == 0 ? far_limit(*left, apart ? BANDS : 1) : limit;
        if (round > 0) {
            undo(covariance, variance_left(limit, apart ? BANDS : 1), apart ? NULL : weight);
        }
        if (*left == before || round > 10) {
            return round;
        }
        before = *left;
        for (int b = 0; b < BANDS; b++) {
            along[b] = target[b] - mean[b];
        }
        reference_solve(BANDS, covariance, along, weight); /* 0 where the target is the mean */
        for (size_t p = 0; p < cube_pixels(cube); p++) {
            for (int b = 0; b < BANDS; b++) {
                x[b] = cube->value[p * BANDS + (size_t)b] - mean[b];
            }
            reference_solve(BANDS, covariance, x, y);
            bool far = apart ? reference_product(BANDS, x, y) > limit * limit
                             : fabs(reference_product(BANDS, weight, x)) >
                                   limit * sqrt(reference_product(BANDS, weight, along));
            some->valid[p] = selected[p] && !far;
        }
    }
}

/* A scene in which 60 pixels are partly the target. */
static Cube make_targets(uint64_t seed) {
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, seed, true);
    for (size_t p = 100; p < 700; p += 10) {
        for (int b = 0; b < BANDS; b++) {
            double *value = &cube.value[p * BANDS + (size_t)b];
            *value = rint(*value + 0.02 * (double)(p % 7) * ((b * 977) % 1500));
        }
    }
    return cube;
}

static void far_pixels_are_left_out(void **state) {
    (void)state;
    double mean[BANDS], covariance[BANDS * BANDS], plain[BANDS], target[BANDS];
    Cube mask = make_mask(LINES, SAMPLES);
    cube_write(&mask, "mask", HC_UINT8, "bsq", NULL);
    for (uint64_t seed = 0; seed < 4; seed++) {
        bool masked = seed % 2 == 1;
        const char *more = masked ? "--by mask=mask.img" : "";
        Cube cube = make_targets(20 + seed);
        Cube some = make_targets(20 + seed);
        uint8_t *selected = malloc(cube_pixels(&cube));
        assert_non_null(selected);
        for (size_t p = 0; p < cube_pixels(&cube); p++) {
            selected[p] = !masked || mask.value[p] != 0;
        }
        cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
        int64_t all = reference_covariance(&cube, plain, covariance);
        memcpy(target, cube_pixel(&cube, 20, 20), sizeof target);
        for (int along = 0; along < 2; along++) {
            HcText notes = {0};
            RunHow how = {.notes = &notes};
            char expected[128];
            int64_t candidates = 0, left = 0;
            int rounds = trim(&cube, selected, along ? target : mean, &some, mean, covariance, &left);
            for (size_t p = 0; p < cube_pixels(&cube); p++) {
                candidates += selected[p];
            }
            assert_true(rounds < 10 && (masked || (rounds > 1 && left < candidates)) && candidates <= all);
            snprintf(expected, sizeof expected, "%d of %d pixels are left out of the background, in %d round",
                     (int)(candidates - left), (int)candidates, rounds);
            if (along) {
                check_runs(&how,
                           "read scene.img ! detect --method mf --target-at 20,20 --robust 1e-3 %s ! "
                           "write mf.img",
                           more);
            } else {
                check_runs(&how, "read scene.img ! rx --robust 1e-3 %s ! write rx.img", more);
            }
            if (strstr(notes.data, expected) == NULL) {
                fail_msg("%s: %s", expected, notes.data);
            }
            hc_text_clear(&notes);
            check_one(&cube, along, mean, covariance);
        }
        free(selected);
        cube_free(&cube);
        cube_free(&some);
    }
    cube_free(&mask);
}

static void blocks_and_backends_agree(void **state) {
    (void)state;
    static const char *const chains[] = {
        "read scene.img ! rx --by mask=mask.img ! write out.img",
        "read scene.img ! filter mean3x3 ! detect --target-at 20,20 --by mask=mask.img:1=2 "
        "--shrink "
        "ledoit-wolf ! "
        "write out.img",
        "read scene.img ! rx --by mask=mask.img --robust 1e-3 ! write out.img",
        "read floats.img ! detect --target-at 20,20 --target-at 8,9 --robust 0.01 --shrink ledoit-wolf "
        "! write out.img",
        "read floats.img ! detect --target-at 20,20 --method cem --by mask=mask.img ! write "
        "out.img",
    };
    static const char *const results[] = {"out.img", "out.hdr", NULL};
    Cube mask = make_mask(LINES, SAMPLES);
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 4, true);
    cube_border(&cube, 0);
    cube_write(&mask, "mask", HC_UINT8, "bsq", NULL);
    cube_write(&cube, "scene", HC_INT16, "bil", "data ignore value = 0\n");
    cube_write(&cube, "floats", HC_FLOAT32, "bip", "data ignore value = 0\n");
    check_runs_agree(chains, sizeof chains / sizeof *chains, 5);
    check_failures_leave_nothing(chains, sizeof chains / sizeof *chains, 20, results);
    cube_free(&cube);
    cube_free(&mask);
}

static void refusals(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 5, true);
    Cube mask = make_mask(LINES, SAMPLES);
    Cube other = make_mask(LINES, SAMPLES + 1);
    cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
    cube_write(&mask, "mask", HC_UINT8, "bsq", NULL);
    cube_write(&other, "other", HC_UINT8, "bsq", NULL);
    for (size_t p = 0; p < cube_pixels(&mask); p++) {
        mask.value[p] = p >= 100 && p < 105;
    }
    cube_write(&mask, "five", HC_UINT8, "bsq", NULL);
    for (size_t p = 0; p < cube_pixels(&cube) * BANDS; p++) {
        cube.value[p] = p / BANDS >= 100 && p / BANDS < 105 ? 0 : cube.value[p];
    }
    cube_write(&cube, "holes", HC_UINT16, "bil", "data ignore value = 0\n");
    static const char *const stages[] = {"rx", "detect --target-at 20,20"};
    for (int k = 0; k < 2; k++) {
        check_run_fails(NULL, HC_E_INPUT, "other.img",
                        "read scene.img ! %s --by mask=other.img ! write b.img", stages[k]);
        check_run_fails(NULL, HC_E_INPUT, "none.img", "read scene.img ! %s --by mask=none.img ! write b.img",
                        stages[k]);
        check_run_fails(NULL, HC_E_NUMERIC, "--by mask=mask.img:1=0-9: the mask leaves no pixel",
                        "read scene.img ! %s --by mask=mask.img:1=0-9 ! write b.img", stages[k]);
        check_run_fails(NULL, HC_E_NUMERIC, "--by mask=five.img ... 0 valid pixels",
                        "read holes.img ! %s --by mask=five.img ! write b.img", stages[k]);
        check_run_fails(NULL, HC_E_NUMERIC, "5 ", "read scene.img ! %s --by mask=five.img ! write b.img",
                        stages[k]);
        check_runs(NULL, "read scene.img ! %s --by mask=five.img --shrink 0.5 ! write out.img", stages[k]);
        check_run_fails(NULL, HC_E_USAGE, "--by excludes --background",
                        "read scene.img ! %s --by mask=five.img --background c.json ! write b.img",
                        stages[k]);
    }
    check_runs(NULL, "read scene.img ! cov cov.json");
    check_run_fails(NULL, HC_E_USAGE, "--robust excludes --background",
                    "read scene.img ! rx --robust 1e-3 --background cov.json ! write b.img");
    check_run_fails(NULL, HC_E_USAGE, "--side excludes --robust",
                    "read scene.img ! rx --robust 1e-3 --side 9 ! write b.img");
    check_run_fails(NULL, HC_E_USAGE, "--robust: --method sam has no background",
                    "read scene.img ! detect --method sam --target-at 3,3 --robust 1e-3 ! write b.img");
    check_run_fails(NULL, HC_E_USAGE, "--robust 0.5", "read scene.img ! rx --robust 0.5 ! write b.img");
    check_run_fails(NULL, HC_E_USAGE, "--side excludes --by",
                    "read scene.img ! rx --side 9 --by mask=mask.img ! write b.img");
    check_run_fails(NULL, HC_E_USAGE, "--by: --method sam has no background",
                    "read scene.img ! detect --method sam --target-at 3,3 --by mask=mask.img ! "
                    "write b.img");
    assert_false(file_exists("b.img"));
    cube_free(&cube);
    cube_free(&mask);
    cube_free(&other);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(background_is_behind_a_mask),         IN_FOLDER(is_that_of_a_statistics_file),
        IN_FOLDER(shrinkage_is_that_of_the_background), IN_FOLDER(far_pixels_are_left_out),
        IN_FOLDER(blocks_and_backends_agree),           IN_FOLDER(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
