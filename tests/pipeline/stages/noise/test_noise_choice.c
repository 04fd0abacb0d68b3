/* The model that --noise auto takes, on scenes whose noise is known. */
#include "pipeline/json/json.h"
#include "pipeline/statistics/statistics.h"
#include "tests/support/reference.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIDE = 48, BANDS = 24 };

typedef struct Make {
    int32_t bands;
    bool rough;   /* shares differ from pixel to pixel; else they change slowly */
    double share; /* of the noise of the band before, before noise is scaled to its deviation */
    double sigma; /* deviation of the noise */
} Make;

/* A mixture of two spectra, with noise. */
static void make(const char *name, Make how) {
    uint64_t seed = 29;
    Cube cube = cube_new(SIDE, SIDE, how.bands);
    for (int32_t line = 0; line < SIDE; line++) {
        for (int32_t sample = 0; sample < SIDE; sample++) {
            double one = how.rough ? random_uniform(&seed) : line / (double)SIDE;
            double two = how.rough ? random_uniform(&seed) : sample / (double)SIDE;
            double *x = cube_pixel(&cube, line, sample);
            double before = random_normal(&seed);
            for (int32_t b = 0; b < how.bands; b++) {
                double now = random_normal(&seed);
                double noise = (now + how.share * before) / sqrt(1 + how.share * how.share);
                x[b] =
                    500 + 300 * one * (1 + sin(0.5 * b)) + 300 * two * (1 + cos(0.9 * b)) + how.sigma * noise;
                before = now;
            }
        }
    }
    cube_write(&cube, name, HC_FLOAT32, "bip", NULL);
    cube_free(&cube);
}

static double number_in(const char *path, const char *name) {
    cJSON *json = NULL;
    HcError err = {0};
    check_ok(hc_json_read(path, &json, &err), err);
    double value = number_of(cJSON_GetObjectItemCaseSensitive(json, "noise_choice"), name);
    cJSON_Delete(json);
    return value;
}

/* Whether the notes of a run have this text. */
static bool says(const HcText *notes, const char *part) {
    return notes->data != NULL && check_holds(notes->data, part);
}

/* Fails the test unless auto is `model` in cov and in mnf, whose default it is, and a note says `why`. */
static void check_choice(const char *model, const char *why, bool fits) {
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    char taken[64];
    snprintf(taken, sizeof taken, "--noise auto takes %s: ", model);
    check_runs(&how, "read scene.img ! cov auto.json --noise auto --overwrite");
    assert_true(says(&notes, taken) && says(&notes, why));
    assert_int_equal(!says(&notes, "no noise model fits this scene well"), fits);
    check_runs(NULL, "read scene.img ! cov named.json --overwrite --noise %s", model);
    check_same_files("auto.json", "named.json");
    check_runs(NULL, "read scene.img ! cov auto.json --noise auto --noise-matrix diagonal --overwrite");
    check_runs(NULL, "read scene.img ! cov named.json --noise-matrix diagonal --overwrite --noise %s", model);
    check_same_files("auto.json", "named.json");
    check_runs(NULL, "read scene.img ! mnf ! write auto.img --overwrite");
    check_runs(NULL, "read scene.img ! mnf --noise auto ! write word.img --overwrite");
    check_runs(NULL, "read scene.img ! mnf --noise %s ! write named.img --overwrite", model);
    check_same_files("auto.img", "named.img");
    check_same_files("auto.img", "word.img");
    hc_text_clear(&notes);
}

static void white_noise_is_regressed(void **state) {
    (void)state;
    make("scene", (Make){BANDS, false, 0, 9});
    check_choice("regression", "both agree", true);
    check_runs(NULL, "read scene.img ! noise found.json");
    assert_true(number_in("found.json", "regression_lacks") < 1.1);
    make("scene", (Make){BANDS, true, 0, 9});
    check_choice("regression", "the scene has texture", true);
}

/* A moving average over two bands: the variance of a band is 1 + b^2, and all other bands leave 1 - b^2 of it
 * (of infinitely many; 24 leave somewhat more). */
static void noise_of_neighbouring_bands_is_noticed(void **state) {
    (void)state;
    const double share = 0.85;
    double lacking = (1 + share * share) / (1 - share * share);
    make("scene", (Make){BANDS, false, share, 9});
    check_choice("mean3x3", "noise is correlated between bands", true);
    check_runs(NULL, "read scene.img ! noise found.json");
    double found = number_in("found.json", "regression_lacks");
    assert_true(found > 0.5 * lacking && found < 1.5 * lacking);
    assert_true(number_in("found.json", "differences_over_regression") > 0.5 * lacking);
    /* Texture is larger than that: both are wrong, the regression less so. */
    make("scene", (Make){BANDS, true, share, 9});
    check_choice("regression", "noise is correlated between bands", false);
    make("scene", (Make){BANDS, false, 0.3, 9});
    check_choice("regression", "both agree", true);
}

static void smooth_noise_is_noticed(void **state) {
    (void)state;
    make("white", (Make){BANDS, false, 0, 9});
    check_runs(NULL, "read white.img ! filter mean3x3 ! write scene.img");
    check_choice("regression", "noise is correlated between neighbours", false);
}

/* Three bands of two spectra: each has signal that the others do not show. */
static void few_bands_take_the_smaller_estimate(void **state) {
    (void)state;
    make("scene", (Make){3, false, 0, 3});
    check_choice("mean3x3", "3 bands hardly explain each other", false);
    make("scene", (Make){6, true, 0, 3});
    check_choice("regression", "6 bands hardly explain each other", false);
}

static void what_cannot_be_had_is_not_taken(void **state) {
    (void)state;
    Cube cube = cube_smooth(SIDE, SIDE, 12, 31, true);
    for (size_t p = 0; p < cube_pixels(&cube); p++) {
        double *x = cube.value + p * 12;
        x[7] = x[0] + x[1];
    }
    cube_write(&cube, "scene", HC_INT32, "bip", NULL);
    cube_free(&cube);
    check_choice("mean3x3", "singular: band 8 is a combination", true);
    cube = cube_smooth(1, 500, 12, 32, true);
    cube_write(&cube, "scene", HC_UINT16, "bip", NULL);
    cube_free(&cube);
    check_choice("regression", "too few pixels have all neighbours", true);
    /* Neither: how many pixels are needed. */
    cube = cube_smooth(2, 4, 12, 33, true);
    cube_write(&cube, "few", HC_UINT16, "bip", NULL);
    cube_free(&cube);
    check_run_fails(NULL, HC_E_NUMERIC, "mnf: noise by regression: 8 valid pixels with 12 bands, at least 13",
                    "read few.img ! mnf ! write bad.img");
    check_run_fails(NULL, HC_E_INPUT, "mnf: --noise qqqqqqqq: neither mean3x3, median3x3, shift, ",
                    "read few.img ! mnf --noise qqqqqqqq ! write bad.img");
    check_run_fails(NULL, HC_E_NUMERIC, "at least 13 pixels are needed",
                    "read few.img ! cov bad.json --noise auto");
}

/* A window is calm, so differences are right in it. */
static void a_window_takes_differences(void **state) {
    (void)state;
    make("scene", (Make){BANDS, true, 0, 9});
    check_runs(NULL, "read scene.img ! mnf --noise-window 4,4,30,30 ! write usual.img");
    check_runs(NULL, "read scene.img ! mnf --noise auto --noise-window 4,4,30,30 ! write auto.img");
    check_runs(NULL, "read scene.img ! mnf --noise mean3x3 --noise-window 4,4,30,30 ! write mean.img");
    check_same_files("usual.img", "mean.img");
    check_same_files("auto.img", "mean.img");
    check_run_fails(NULL, HC_E_USAGE, "cov: --sums --noise auto ... sums of the scene",
                    "read scene.img ! cov bad.json --sums --noise auto");
    /* cov sums both in its window. */
    check_runs(NULL, "read scene.img ! cov auto.json --noise auto --noise-window 4,4,30,30");
    check_runs(NULL, "read scene.img ! cov named.json --noise regression --noise-window 4,4,30,30");
    check_same_files("auto.json", "named.json");
}

/* Blocks, threads and the strict backend, where differences are taken. */
static void runs_agree(void **state) {
    (void)state;
    static const char *const chains[] = {"read scene.img ! mnf ! write out.img",
                                         "read other.img ! mnf --components 5 ! write out.img"};
    static const char *const results[] = {"out.img", "out.hdr", NULL};
    make("scene", (Make){BANDS, false, 0.85, 9});
    make("other", (Make){BANDS, true, 0, 9});
    check_runs_agree(chains, 2, 4);
    check_failures_leave_nothing(chains, 1, 16, results);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(white_noise_is_regressed, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(noise_of_neighbouring_bands_is_noticed, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(smooth_noise_is_noticed, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(few_bands_take_the_smaller_estimate, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_had_is_not_taken, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(a_window_takes_differences, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(runs_agree, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
