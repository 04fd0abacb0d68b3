/* denoise --stripes: stripes whose truth is known are removed, edges and ramps of a scene are not taken for
 * any, and a scene without stripes keeps its bytes. */
#include "tests/pipeline/stages/denoised.h"

#include <stdlib.h>

enum { LINES = 200, SAMPLES = 60, BANDS = 24 };

/* Fields whose edges lie along the columns and go through 0.4 of the lines, and a ramp over the columns. */
static double value_of(const void *strength, int32_t line, int32_t sample, int32_t b) {
    bool field = sample / 9 % 2 == 0 && line >= 60 && line < 140;
    double one = 6 * field + 0.1 * sample;
    double two = 4 * sin(0.1 * line + 0.13 * sample);
    return 100 + *(const double *)strength * (one * cos(0.3 * b) + two * sin(0.2 * b));
}

/* stripes: deviation of the terms of a band in the share of columns that has any. */
static Scene make_scene(double strength, double stripes, double share, uint64_t seed) {
    static const int32_t shape[] = {LINES, SAMPLES, BANDS};
    return make_striped(shape, value_of, &strength, (Stripes){.offset = stripes, .share = share}, seed);
}

/* What stays of stripes is little beside what they do without the option. */
static void stripes_are_removed(void **state) {
    (void)state;
    static const double shares[] = {1, 0.15};
    static const char *const methods[] = {"groups", "patches", "subspace"};
    for (size_t k = 0; k < 2; k++) {
        for (size_t m = 0; m < 3; m++) {
            char step[2][64];
            HcText notes = {0};
            Scene plain = make_scene(1, 0, 1, 5);
            Scene scene = make_scene(1, 2, shares[k], 5);
            snprintf(step[0], sizeof step[0], "denoise --method %s", methods[m]);
            snprintf(step[1], sizeof step[1], "denoise --stripes --method %s", methods[m]);
            cube_write(&plain.cube, "scene", HC_FLOAT32, "bip", NULL);
            double least = error_of(&plain, step[0], NULL);
            cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
            double kept = error_of(&scene, step[0], NULL);
            double removed = error_of(&scene, step[1], &notes);
            check_says(notes.data, "stripes are taken away ... 24 of 24 bands, at most ");
            assert_true(kept > 0.3);
            assert_true(removed < 0.2 * kept);
            assert_true(removed < least + 0.3); /* that of stripes is 4 or 0.6 */
            hc_text_clear(&notes);
            free_scene(&plain);
            free_scene(&scene);
        }
    }
}

/* Differences of lines have no stripes: with --stripes they serve as noise, too. */
static void noise_of_lower_neighbours_has_no_stripes(void **state) {
    (void)state;
    static const char *const words[] = {"spatial-spectral-lower", "shift-lower"};
    Scene scene = make_scene(1, 2, 1, 5);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    double usual = error_of(&scene, "denoise --stripes", NULL);
    for (size_t k = 0; k < 2; k++) {
        char step[64];
        snprintf(step, sizeof step, "denoise --stripes --noise %s", words[k]);
        assert_true(error_of(&scene, step, NULL) < 1.2 * usual);
    }
    free_scene(&scene);
}

/* Edges along the columns, and a ramp over them, are no stripes. */
static void scenes_without_stripes_keep_their_bytes(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        HcText notes = {0};
        RunHow how = {.notes = &notes};
        Scene scene = make_scene(seed % 3 == 0 ? 20 : 1, 0, 1, seed);
        cube_write(&scene.cube, "scene", HC_FLOAT32, "bil", NULL);
        check_runs(&how, "read scene.img ! denoise --stripes ! write a.img --overwrite");
        assert_non_null(strstr(notes.data, "--stripes: none are found"));
        check_runs(NULL, "read scene.img ! denoise ! write b.img --overwrite");
        check_same_files("a.img", "b.img");
        hc_text_clear(&notes);
        free_scene(&scene);
    }
}

/* Details that neighbouring bands share, more of them in each band: they may be signal, so that the scene is
 * handed on. Its stripes go all the same. */
static void a_scene_that_is_handed_on_loses_its_stripes(void **state) {
    (void)state;
    HcText notes = {0};
    uint64_t seed = 33;
    Scene scene = make_scene(10, 20, 1, 7);
    for (size_t p = 0; p < cube_pixels(&scene.cube); p++) {
        for (size_t b = 0; b + 1 < BANDS; b++) {
            double detail = 2 * pow(10, (double)b / BANDS) * random_normal(&seed);
            for (size_t c = b; c <= b + 1; c++) {
                double part = detail * (c == b ? 1 : 0.3);
                scene.truth.value[p * BANDS + c] += part;
                scene.cube.value[p * BANDS + c] = (double)(float)(scene.cube.value[p * BANDS + c] + part);
            }
        }
    }
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bsq", NULL);
    double error = error_of(&scene, "denoise --stripes", &notes);
    check_says(notes.data, "may be signal ... without its stripes");
    assert_true(error > 0.9 && error < 0.25 * 400); /* the noise stays; stripes have 400 */
    Cube out = cube_read_floats("out", LINES, SAMPLES, BANDS);
    for (int32_t sample = 0; sample < SAMPLES; sample++) {
        double first = cube_pixel(&scene.cube, 0, sample)[3] - cube_pixel(&out, 0, sample)[3];
        double last = cube_pixel(&scene.cube, LINES - 1, sample)[3] - cube_pixel(&out, LINES - 1, sample)[3];
        check_near(first, last, 1e-4);
    }
    cube_free(&out);
    hc_text_clear(&notes);
    free_scene(&scene);
}

static void masked_pixels_take_no_part(void **state) {
    (void)state;
    Scene scene = make_scene(1, 2, 1, 9);
    cube_border(&scene.cube, 0);
    for (size_t p = 0; p < cube_pixels(&scene.cube); p++) {
        bool column = p % SAMPLES == 20 || p % 13 == 0; /* a whole column, and pixels here and there */
        if (column) {
            scene.cube.valid[p] = 0;
            memset(scene.cube.value + p * BANDS, 0, BANDS * sizeof(double));
        }
    }
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", "data ignore value = 0\n");
    assert_true(error_of(&scene, "denoise --stripes", NULL) < 0.5);
    check_runs(NULL, "read scene.img ! denoise --stripes ! write nan.img --nodata nan");
    Cube out = cube_read_floats("nan", LINES, SAMPLES, BANDS);
    for (size_t p = 0; p < cube_pixels(&out); p++) {
        assert_int_equal(isnan(out.value[p * BANDS]), scene.cube.valid[p] == 0);
    }
    cube_free(&out);
    free_scene(&scene);
}

/* The map knows nothing of stripes that were taken away. */
static void the_map_of_errors_is_that_without_stripes(void **state) {
    (void)state;
    double mean[2];
    Scene plain = make_scene(1, 0, 1, 5);
    Scene scene = make_scene(1, 2, 0.1, 5);
    for (int k = 0; k < 2; k++) {
        cube_write(k == 0 ? &plain.cube : &scene.cube, "scene", HC_FLOAT32, "bip", NULL);
        check_runs(NULL, "read scene.img ! denoise --components 3 --sigma-map %s ! write map.img --overwrite",
                   k == 0 ? "" : "--stripes");
        Cube map = cube_read_floats("map", LINES, SAMPLES, 1);
        mean[k] = 0;
        for (size_t p = 0; p < cube_pixels(&map); p++) {
            assert_true(map.value[p] >= 0);
            mean[k] += map.value[p] / (double)cube_pixels(&map);
        }
        cube_free(&map);
    }
    assert_true(mean[0] > 0.05);
    assert_true(mean[1] > 0.9 * mean[0] && mean[1] < 2 * mean[0]); /* stripes have a deviation of 2 */
    free_scene(&plain);
    free_scene(&scene);
}

static void blocks_and_threads_leave_no_trace(void **state) {
    (void)state;
    Scene scene = make_scene(1, 1, 1, 11);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bil", NULL);
    const char *const chains[] = {
        "read scene.img ! denoise --stripes --method patches ! write out.img",
        "read scene.img ! denoise --stripes --method subspace ! filter median3x3 ! write out.img",
        "read scene.img --window 0,0,60,60 ! denoise --stripes --sigma-map ! write out.img"};
    check_runs_agree(chains, 2, 13);
    free_scene(&scene);
    scene = make_scene(1, 1, 0.1, 11);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bil", NULL);
    check_runs_agree(chains + 2, 1, 13);
    free_scene(&scene);
}

static void failures_leave_nothing(void **state) {
    (void)state;
    Scene scene = make_scene(1, 2, 1, 11);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bil", NULL);
    const char *const chains[] = {
        "read scene.img --window 0,0,30,40 ! denoise --stripes --method subspace ! write out.img"};
    const char *const results[] = {"out.img", "out.hdr", NULL};
    check_failures_leave_nothing(chains, 1, 40, results);
    free_scene(&scene);
}

static void a_model_is_fitted_without_stripes(void **state) {
    (void)state;
    Scene scene = make_scene(1, 2, 1, 12);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    check_runs(NULL, "read scene.img ! denoise --stripes --save-model a.json ! write a.img");
    check_runs(NULL, "read scene.img ! denoise --stripes --fit-only --save-model b.json ! write b.img");
    check_same_files("a.json", "b.json");
    check_runs(NULL, "read scene.img ! write same.img");
    check_same_files("b.img", "same.img");
    free_scene(&scene);
}

static void wrong_input_is_refused(void **state) {
    (void)state;
    Scene scene = make_scene(1, 2, 1, 13);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    check_run_fails(NULL, HC_E_INPUT, "--stripes ... 23 lines and 60 samples, at least 24 and 24",
                    "read scene.img --window 0,0,60,23 ! denoise --stripes ! write bad.img");
    check_run_fails(NULL, HC_E_INPUT, "200 lines and 23 samples",
                    "read scene.img --window 0,0,23,200 ! denoise --stripes ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "--stripes ... (--noise trimmed) take stripes for noise",
                    "read scene.img ! denoise --stripes --noise trimmed ! write bad.img");
    check_runs(NULL, "read scene.img ! denoise --fit-only --save-model model.json");
    check_run_fails(NULL, HC_E_USAGE, "denoise: --model excludes --stripes",
                    "read scene.img ! denoise --stripes --model model.json ! write bad.img");
    for (size_t p = 0; p < cube_pixels(&scene.cube); p++) { /* a band that is a combination of two others */
        double *value = scene.cube.value + p * BANDS;
        value[5] = (double)(float)value[5];
        value[6] = 2 * value[5];
    }
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    check_run_fails(NULL, HC_E_NUMERIC, "7", "read scene.img ! denoise --stripes ! write bad.img");
    assert_false(file_exists("bad.img"));
    free_scene(&scene);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(stripes_are_removed),
        IN_FOLDER(noise_of_lower_neighbours_has_no_stripes),
        IN_FOLDER(scenes_without_stripes_keep_their_bytes),
        IN_FOLDER(a_scene_that_is_handed_on_loses_its_stripes),
        IN_FOLDER(masked_pixels_take_no_part),
        IN_FOLDER(the_map_of_errors_is_that_without_stripes),
        IN_FOLDER(blocks_and_threads_leave_no_trace),
        IN_FOLDER(failures_leave_nothing),
        IN_FOLDER(a_model_is_fitted_without_stripes),
        IN_FOLDER(wrong_input_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
