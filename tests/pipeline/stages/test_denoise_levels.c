/* denoise --columns: columns of different noise are scaled to one level, and a scene of even noise keeps its
 * bytes. */
#include "tests/pipeline/stages/denoised.h"

#include <stdlib.h>

enum { LINES = 150, SAMPLES = 60, BANDS = 24, COLUMNS = 15 };

/* Groups of COLUMNS columns have one level: most of them 1. */
static double level_of(int32_t sample, double noisy) {
    int32_t group = sample / COLUMNS;
    return group % 4 == 1 ? noisy : group % 4 == 2 ? 0.5 : 1;
}

/* Two smooth materials, with edges, and noise whose deviation is the level of its column. */
static Scene make_scene(double noisy, double stripes, uint64_t seed) {
    Scene scene = {.truth = cube_new(LINES, SAMPLES, BANDS), .cube = cube_new(LINES, SAMPLES, BANDS)};
    double term[SAMPLES][BANDS];
    for (int32_t s = 0; s < SAMPLES; s++) {
        for (int32_t b = 0; b < BANDS; b++) {
            term[s][b] = stripes * random_normal(&seed);
        }
    }
    for (int32_t line = 0; line < LINES; line++) {
        for (int32_t sample = 0; sample < SAMPLES; sample++) {
            double one = 6 * (line / 40 % 2 == 0) + 4 * sin(0.1 * sample);
            double two = 4 * sin(0.1 * line + 0.13 * sample);
            double level = noisy > 0 ? level_of(sample, noisy) : 1;
            for (int32_t b = 0; b < BANDS; b++) {
                double truth = 100 + one * cos(0.3 * b) + two * sin(0.2 * b);
                double value = truth + term[sample][b] + level * random_normal(&seed);
                cube_pixel(&scene.truth, line, sample)[b] = truth;
                cube_pixel(&scene.cube, line, sample)[b] = (double)(float)value;
            }
        }
    }
    return scene;
}

static void columns_of_different_noise_are_scaled(void **state) {
    (void)state;
    static const char *const methods[] = {"groups", "patches", "subspace"};
    Scene scene = make_scene(4, 0, 5);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    for (size_t m = 0; m < 3; m++) {
        for (int columns = 1; columns <= COLUMNS; columns += COLUMNS - 1) {
            char step[2][64];
            char found[64];
            HcText notes = {0};
            snprintf(step[0], sizeof step[0], "denoise --method %s", methods[m]);
            snprintf(step[1], sizeof step[1], "denoise --columns %d --method %s", columns, methods[m]);
            snprintf(found, sizeof found, "2 of 24 components, %s", methods[m]);
            double plain = error_of(&scene, step[0], NULL);
            double scaled = error_of(&scene, step[1], &notes);
            assert_true(scaled < (m == 1 ? 0.75 : m == 0 ? 0.9 : 1) * plain);
            assert_non_null(strstr(notes.data, found));
            hc_text_clear(&notes);
        }
    }
    /* The mean square of the levels is 4.5625, the largest is 4, the least 0.5. */
    HcText notes = {0};
    error_of(&scene, "denoise --columns 15", &notes);
    assert_non_null(strstr(notes.data, "the noise of columns is 0.2"));
    assert_non_null(strstr(notes.data, " to 1.8"));
    hc_text_clear(&notes);
    free_scene(&scene);
}

static void even_noise_keeps_its_bytes(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        HcText notes = {0};
        RunHow how = {.notes = &notes};
        Scene scene = make_scene(0, 0, seed);
        cube_write(&scene.cube, "scene", HC_FLOAT32, "bil", NULL);
        check_runs(&how, "read scene.img ! denoise --columns %d ! write a.img --overwrite", (int)seed);
        assert_non_null(strstr(notes.data, "between columns counts as even"));
        check_runs(NULL, "read scene.img ! denoise ! write b.img --overwrite");
        check_same_files("a.img", "b.img");
        hc_text_clear(&notes);
        free_scene(&scene);
    }
}

/* A dead column, one without a valid pixel, and pixels here and there. */
static void masked_pixels_take_no_part(void **state) {
    (void)state;
    Scene scene = make_scene(4, 0, 9);
    cube_border(&scene.cube, 0);
    for (size_t p = 0; p < cube_pixels(&scene.cube); p++) {
        for (size_t b = 0; b < BANDS && p % SAMPLES == 31 && scene.cube.valid[p] != 0; b++) {
            scene.cube.value[p * BANDS + b] = scene.truth.value[p * BANDS + b] = 100 + (double)b;
        }
        if (p % SAMPLES == 20 || p % 13 == 0) {
            scene.cube.valid[p] = 0;
            memset(scene.cube.value + p * BANDS, 0, BANDS * sizeof(double));
        }
    }
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", "data ignore value = 0\n");
    double plain = error_of(&scene, "denoise --method patches", NULL);
    assert_true(error_of(&scene, "denoise --columns 1 --method patches", NULL) < 0.9 * plain);
    check_runs(NULL, "read scene.img ! denoise --columns 1 ! write nan.img --nodata nan");
    Cube out = cube_read_floats("nan", LINES, SAMPLES, BANDS);
    for (size_t p = 0; p < cube_pixels(&out); p++) {
        assert_int_equal(isnan(out.value[p * BANDS]), scene.cube.valid[p] == 0);
    }
    cube_free(&out);
    free_scene(&scene);
}

/* A pixel whose values are too large for the sums of columns has a component all the same. */
static void a_glint_keeps_its_spectrum(void **state) {
    (void)state;
    HcText notes = {0};
    Scene scene = make_scene(4, 0, 5);
    double *glint = cube_pixel(&scene.cube, 71, 23);
    for (int32_t b = 0; b < BANDS; b++) {
        glint[b] = b % 2 == 0 ? 1e5 : 100;
    }
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    error_of(&scene, "denoise --columns 15", &notes);
    assert_non_null(strstr(notes.data, "--columns: 1 pixels with values 32 times"));
    assert_non_null(strstr(notes.data, "the noise of columns is"));
    Cube out = cube_read_floats("out", LINES, SAMPLES, BANDS);
    for (int32_t b = 0; b < BANDS; b++) {
        check_near(cube_pixel(&out, 71, 23)[b], glint[b], 2000);
    }
    cube_free(&out);
    hc_text_clear(&notes);
    free_scene(&scene);
}

/* The map has the error of each column. */
static void the_map_of_errors_knows_the_levels(void **state) {
    (void)state;
    static const char *const steps[] = {"denoise --columns 15", "denoise --columns 15 --method subspace"};
    Scene scene = make_scene(4, 0, 5);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    for (size_t k = 0; k < 2; k++) {
        double expected[2] = {0};
        double found[2] = {0};
        double all = error_of(&scene, steps[k], NULL);
        Cube out = cube_read_floats("out", LINES, SAMPLES, BANDS);
        check_runs(NULL, "read scene.img ! %s --sigma-map ! write map.img --overwrite", steps[k]);
        Cube map = cube_read_floats("map", LINES, SAMPLES, 1);
        for (size_t p = 0; p < cube_pixels(&map); p++) {
            int noisy = level_of((int32_t)(p % SAMPLES), 4) > 1;
            expected[noisy] += map.value[p] * map.value[p];
            for (size_t b = 0; b < BANDS; b++) {
                double error = out.value[p * BANDS + b] - scene.truth.value[p * BANDS + b];
                found[noisy] += error * error / BANDS;
            }
        }
        double ratio = (expected[0] + expected[1]) / (all * (double)cube_pixels(&map));
        printf("map over error %.3f, noisy columns over others: %.3f, true %.3f\n", sqrt(ratio),
               expected[1] / expected[0], found[1] / found[0]);
        assert_true(ratio > 0.6 && ratio < 1.6);
        assert_true(expected[1] > 0.35 * found[1] / found[0] * expected[0]); /* neighbours are in the mean */
        cube_free(&map);
        cube_free(&out);
    }
    free_scene(&scene);
}

static void stripes_go_first(void **state) {
    (void)state;
    Scene scene = make_scene(4, 2, 6);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    HcText notes = {0};
    double stripes = error_of(&scene, "denoise --method patches --stripes", NULL);
    double columns = error_of(&scene, "denoise --method patches --columns 1", NULL);
    double both = error_of(&scene, "denoise --method patches --columns 1 --stripes", &notes);
    assert_non_null(strstr(notes.data, "stripes are taken away"));
    assert_non_null(strstr(notes.data, "the noise of columns is"));
    assert_true(both < 0.95 * stripes && both < 0.3 * columns);
    hc_text_clear(&notes);
    free_scene(&scene);
}

static void blocks_and_threads_leave_no_trace(void **state) {
    (void)state;
    Scene scene = make_scene(4, 2, 11);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bil", NULL);
    const char *const chains[] = {
        "read scene.img ! denoise --columns 1 --method patches ! write out.img",
        "read scene.img ! denoise --columns 7 ! write out.img",
        "read scene.img ! denoise --columns 1 --stripes --method subspace ! filter median3x3 ! write out.img",
        "read scene.img --window 0,0,40,60 ! denoise --columns 1 --sigma-map ! write out.img"};
    check_runs_agree(chains, 3, 13);
    free_scene(&scene);
    scene = make_scene(4, 0, 11); /* where stripes were, errors are not known */
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bil", NULL);
    check_runs_agree(chains + 3, 1, 13);
    free_scene(&scene);
}

static void failures_leave_nothing(void **state) {
    (void)state;
    Scene scene = make_scene(4, 0, 11);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bil", NULL);
    const char *const chains[] = {
        "read scene.img --window 0,0,30,40 ! denoise --columns 15 --method patches ! write out.img"};
    const char *const results[] = {"out.img", "out.hdr", NULL};
    check_failures_leave_nothing(chains, 1, 40, results);
    free_scene(&scene);
}

/* What a model has are the components; they are those of the scaled scene. */
static void a_model_is_that_of_the_scaled_scene(void **state) {
    (void)state;
    Scene scene = make_scene(4, 0, 12);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    check_runs(NULL,
               "read scene.img ! denoise --columns 1 --save-model a.json --method subspace ! write a.img");
    check_runs(NULL, "read scene.img ! denoise --columns 1 --fit-only --save-model b.json ! write b.img");
    check_same_files("a.json", "b.json");
    for (int32_t threads = 1; threads <= 4; threads++) { /* a float64 more exact than the output */
        RunHow how = {.threads = threads};
        check_runs(&how, "read scene.img ! denoise --columns 1 --fit-only --save-model c.json --overwrite");
        check_same_files("a.json", "c.json");
    }
    check_runs(NULL, "read scene.img ! write same.img");
    check_same_files("b.img", "same.img");
    check_runs(NULL, "read scene.img ! denoise --model a.json --method subspace ! write c.img");
    check_same_files("a.img", "c.img");
    free_scene(&scene);
}

static void wrong_input_is_refused(void **state) {
    (void)state;
    Scene scene = make_scene(4, 0, 13);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    check_run_fails(NULL, HC_E_USAGE, "--columns 2: with --stripes ... 1",
                    "read scene.img ! denoise --columns 2 --stripes ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "--columns", "read scene.img ! denoise --columns 0 ! write bad.img");
    check_runs(NULL, "read scene.img ! denoise --fit-only --save-model model.json");
    check_run_fails(NULL, HC_E_USAGE, "denoise: --model excludes --columns",
                    "read scene.img ! denoise --columns 1 --model model.json ! write bad.img");
    for (size_t p = 0; p < cube_pixels(&scene.cube); p++) { /* a band that is a combination of another */
        scene.cube.value[p * BANDS + 6] = 2 * scene.cube.value[p * BANDS + 5];
    }
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    check_run_fails(NULL, HC_E_NUMERIC, "--columns: noise by regression ... singular",
                    "read scene.img ! denoise --columns 1 ! write bad.img");
    assert_false(file_exists("bad.img"));
    free_scene(&scene);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(columns_of_different_noise_are_scaled),
        IN_FOLDER(even_noise_keeps_its_bytes),
        IN_FOLDER(masked_pixels_take_no_part),
        IN_FOLDER(a_glint_keeps_its_spectrum),
        IN_FOLDER(the_map_of_errors_knows_the_levels),
        IN_FOLDER(stripes_go_first),
        IN_FOLDER(blocks_and_threads_leave_no_trace),
        IN_FOLDER(failures_leave_nothing),
        IN_FOLDER(a_model_is_that_of_the_scaled_scene),
        IN_FOLDER(wrong_input_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
