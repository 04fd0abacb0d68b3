/* rx --window: scores against statistics of each window in long double, by Gauss elimination written here;
 * sums that slide against sums that are formed anew; windows with too few pixels; what is refused. */
#include "tests/support/reference.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES = 23, SAMPLES = 29, BANDS = 4 };

typedef long double Real;

/* z' inv(C) z. */
static Real distance(Real c[BANDS][BANDS], Real *z) {
    Real sum = 0;
    for (int i = 0; i < BANDS; i++) {
        assert_true(c[i][i] > 0);
        sum += z[i] * z[i] / c[i][i];
        for (int j = i + 1; j < BANDS; j++) {
            Real factor = c[j][i] / c[i][i];
            for (int k = i; k < BANDS; k++) {
                c[j][k] -= factor * c[i][k];
            }
            z[j] -= factor * z[i];
        }
    }
    return sum;
}

static bool inside(int line, int sample, int at_line, int at_sample, int side) {
    return abs(line - at_line) <= side / 2 && abs(sample - at_sample) <= side / 2;
}

/* NaN where the window has too few pixels. */
static double score_of(const Cube *cube, const double *scene, int line, int sample, int window, int guard,
                       double share) {
    Real mean[BANDS] = {0}, c[BANDS][BANDS] = {{0}}, z[BANDS];
    int count = 0;
    for (int turn = 0; turn < 2; turn++) {
        for (int p = 0; p < LINES * SAMPLES; p++) {
            int l = p / SAMPLES, s = p % SAMPLES;
            if (!cube->valid[p] || !inside(l, s, line, sample, window) || inside(l, s, line, sample, guard)) {
                continue;
            }
            const double *x = cube->value + (size_t)p * BANDS;
            for (int b = 0; b < BANDS; b++) {
                mean[b] += turn == 0 ? (Real)x[b] : 0;
                for (int k = 0; k < BANDS && turn == 1; k++) {
                    c[b][k] += ((Real)x[b] - mean[b]) * ((Real)x[k] - mean[k]);
                }
            }
            count += turn == 0;
        }
        if (turn == 0 && (count < 2 || (!(share > 0) && count < BANDS + 1))) {
            return NAN;
        }
        for (int b = 0; b < BANDS && turn == 0; b++) {
            mean[b] /= count;
        }
    }
    const double *x = cube->value + (size_t)(line * SAMPLES + sample) * BANDS;
    for (int b = 0; b < BANDS; b++) {
        z[b] = (Real)x[b] - mean[b];
        for (int k = 0; k < BANDS; k++) {
            c[b][k] = (1 - (Real)share) * c[b][k] / (count - 1) + (Real)share * (Real)scene[b * BANDS + k];
        }
    }
    return (double)distance(c, z);
}

/* White noise in components that bands mix, with masked pixels: a border, a notch, all but a few of a corner.
 */
static Cube make_scene(uint64_t seed) {
    Cube cube = cube_new(LINES, SAMPLES, BANDS);
    for (size_t p = 0; p < cube_pixels(&cube); p++) {
        double own[BANDS];
        for (int b = 0; b < BANDS; b++) {
            own[b] = random_normal(&seed);
        }
        for (int b = 0; b < BANDS; b++) {
            double value = 1000 + 300 * b + 200 * own[b] + 150 * own[(b + 1) % BANDS];
            cube.value[p * BANDS + (size_t)b] = floor(value + (double)(p % SAMPLES) * 10);
        }
    }
    for (int p = 0; p < LINES * SAMPLES; p++) {
        int l = p / SAMPLES, s = p % SAMPLES;
        bool corner = l > LINES - 7 && s > SAMPLES - 7 && p % 11 != 0;
        if (corner || l == 0 || (l == 9 && s < 12)) {
            cube.valid[p] = 0;
            for (int b = 0; b < BANDS; b++) {
                cube.value[p * BANDS + b] = NAN;
            }
        }
    }
    return cube;
}

static void check_scores(const Cube *cube, int window, int guard, double share) {
    double mean[BANDS], scene[BANDS * BANDS];
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    int64_t bare = 0;
    (void)reference_covariance(cube, mean, scene);
    check_runs(&how, "read scene.img ! rx --window %d --guard %d --shrink %g ! write out.img --nodata nan",
               window, guard, share);
    Cube got = cube_read_floats("out", LINES, SAMPLES, 1);
    for (int p = 0; p < LINES * SAMPLES; p++) {
        double expected =
            cube->valid[p] ? score_of(cube, scene, p / SAMPLES, p % SAMPLES, window, guard, share) : NAN;
        bare += cube->valid[p] && isnan(expected);
        if (isnan(expected)) {
            assert_true(isnan(got.value[p]));
        } else { /* a window may be far from round, so that rounding of whitened pixels to float32 grows */
            check_near(got.value[p], expected, 2e-5 * (1 + expected));
        }
    }
    char text[64];
    snprintf(text, sizeof text, "%lld pixels have no score", (long long)bare);
    assert_true(bare == 0 ? notes.data == NULL || strstr(notes.data, "no score") == NULL
                          : strstr(notes.data, text) != NULL);
    hc_text_clear(&notes);
    cube_free(&got);
}

static void scores_agree_with_windows(void **state) {
    (void)state;
    Cube cube = make_scene(1);
    cube_write(&cube, "scene", HC_FLOAT32, "bil", NULL);
    check_scores(&cube, 7, 3, 0);
    check_scores(&cube, 5, 1, 0);
    check_scores(&cube, 11, 5, 0.25);
    check_scores(&cube, 3, 1, 0.5); /* fewer pixels than bands at the border */
    check_scores(&cube, 101, 1, 0); /* the whole scene */
    check_scores(&cube, 9, 7, 1);
    cube_free(&cube);
}

/* With filter behind, every block begins a line before the end of the last: its sums are formed anew. In
 * blocks of the whole scene they slide all the way. The bits are the same, and so they are for tiles of other
 * threads. */
static void sums_that_slide_are_exact(void **state) {
    (void)state;
    static const char chain[] = "read scene.img ! rx --window 9 --guard 3 ! filter mean3x3 ! write";
    Cube cube = make_scene(2);
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) { /* values whose sums round in floats */
        cube.value[i] = (double)(float)(cube.value[i] * 1e-3 + (i % 97 == 0 ? 1e4 / 3 : 1.0 / 3));
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bip", NULL);
    check_runs(&(RunHow){.settings = {.block_lines = LINES}}, "%s whole.img", chain);
    static const int lines[] = {1, 2, 5, 20};
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        RunHow how = {.threads = 1 + (int32_t)k, .settings = {.block_lines = lines[k]}};
        check_runs(&how, "%s parts.img", chain);
        check_same_files("whole.img", "parts.img");
    }
    cube_free(&cube);
}

/* A window whose pixels are all equal has no inverse: no score, and no division by 0. */
static void flat_windows_have_no_score(void **state) {
    (void)state;
    Cube cube = make_scene(3);
    for (int p = 0; p < LINES * SAMPLES; p++) {
        for (int b = 0; b < BANDS && p / SAMPLES > 11 && p % SAMPLES < 14; b++) {
            cube.value[p * BANDS + b] = 100 + b;
        }
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bsq", NULL);
    check_runs(NULL, "read scene.img ! rx --window 5 ! write out.img --nodata nan");
    Cube got = cube_read_floats("out", LINES, SAMPLES, 1);
    assert_true(isnan(got.value[17 * SAMPLES + 5]));
    assert_true(got.value[5 * SAMPLES + 5] >= 0);
    cube_free(&got);
    check_runs(NULL, "read scene.img ! rx --window 5 --shrink 0.1 ! write out.img --nodata nan");
    got = cube_read_floats("out", LINES, SAMPLES, 1);
    check_near(got.value[17 * SAMPLES + 5], 0, 1e-10);
    cube_free(&got);
    cube_free(&cube);
}

static void wrong_windows_are_refused(void **state) {
    (void)state;
    Cube cube = make_scene(4);
    cube_write(&cube, "scene", HC_FLOAT32, "bil", NULL);
    check_runs(NULL, "read scene.img ! cov scene.json");
    static const char *const cases[][2] = {
        {"--window 8", "--window 8: an odd number"},
        {"--window 9 --guard 2", "--guard 2: an odd number"},
        {"--window 5 --guard 5", "--guard 5: a square inside that of --window 5"},
        {"--window 257", "--window 257"},
        {"--guard 3", "--guard needs --window"},
        {"--shrink 0.1", "--shrink needs --window"},
        {"--window 5 --shrink 1.5", "--shrink 1.5"},
        {"--window 5 --background scene.json", "a --window is its own background"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        check_run_fails(NULL, HC_E_USAGE, cases[k][1], "read scene.img ! rx %s ! write bad.img", cases[k][0]);
    }
    Cube wide = cube_smooth(40, 40, 10, 5, true);
    cube_write(&wide, "wide", HC_UINT16, "bil", NULL);
    check_run_fails(NULL, HC_E_NUMERIC,
                    "--window 3 less the guard has 8 pixels, 10 directions need at least 11: give --window 5",
                    "read wide.img ! rx --window 3 ! write bad.img");
    check_runs(NULL, "read wide.img ! rx --window 3 --shrink 0.1 ! write good.img");
    check_runs(NULL, "read wide.img ! pca --components 3 ! rx --window 3 ! write good.img --overwrite");
    assert_false(file_exists("bad.img"));
    cube_free(&wide);
    cube_free(&cube);
}

static void contract(void **state) {
    (void)state;
    check_stage_contract("rx --window 5 --guard 3 --shrink 0.2");
    check_stage_contract("pca --components 2 ! rx --window 7");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(scores_agree_with_windows),
        IN_FOLDER(sums_that_slide_are_exact),
        IN_FOLDER(flat_windows_have_no_score),
        IN_FOLDER(wrong_windows_are_refused),
        IN_FOLDER(contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
