#include "tests/support/linear_runs.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINES = 41, SAMPLES = 37, BANDS = 7 };

/* Runs pca over the scene and compares all of it with the reference. */
static void check_pca(const Cube *cube, HcType type, const char *more) {
    double mean[BANDS];
    double covariance[BANDS * BANDS];
    double values[BANDS];
    double forward[BANDS * BANDS];
    int64_t pixels = reference_covariance(cube, mean, covariance);
    reference_pca(BANDS, covariance, values, forward);
    cube_write(cube, "scene", type, "bil", more);
    check_runs(NULL, "read scene.img ! pca --save-model model.json ! write out.img");
    HcTransform model = model_load("model.json", "pca");
    assert_int_equal(model.components, BANDS);
    assert_int_equal(model.pixels, pixels);
    for (int32_t k = 0; k < BANDS; k++) {
        check_near(model.eigenvalues[k], values[k], 1e-9 * values[k]);
        check_near(model.mean[k], mean[k], 1e-12 * fabs(mean[k]));
    }
    Cube expected = reference_project(cube, mean, forward, BANDS);
    check_components("out", &expected, values);
    cube_free(&expected);
    hc_transform_clear(&model);
}

static void integers_agree_with_reference(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 1, true);
    check_pca(&cube, HC_UINT16, NULL);
    check_pca(&cube, HC_INT32, NULL);
    cube_free(&cube);
}

static void floats_agree_with_reference(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 2, false);
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        cube.value[i] = (float)cube.value[i];
    }
    check_pca(&cube, HC_FLOAT32, NULL);
    cube_free(&cube);
}

static void masked_pixels_take_no_part(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 3, true);
    cube_border(&cube, 0);
    check_pca(&cube, HC_INT16, "data ignore value = 0\n");
    /* NaN in one band alone masks the pixel. */
    for (int32_t line = 5; line < 9; line++) {
        cube_pixel(&cube, line, 20)[3] = NAN;
        cube.valid[line * SAMPLES + 20] = 0;
    }
    check_pca(&cube, HC_FLOAT32, "data ignore value = 0\n");
    cube_free(&cube);
}

static void correlation_divides_by_deviations(void **state) {
    (void)state;
    double mean[BANDS];
    double covariance[BANDS * BANDS];
    double scaled[BANDS * BANDS];
    double values[BANDS];
    double forward[BANDS * BANDS];
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 4, true);
    (void)reference_covariance(&cube, mean, covariance);
    for (int b = 0; b < BANDS; b++) {
        for (int c = 0; c < BANDS; c++) {
            scaled[b * BANDS + c] =
                covariance[b * BANDS + c] / sqrt(covariance[b * BANDS + b] * covariance[c * BANDS + c]);
        }
    }
    reference_pca(BANDS, scaled, values, forward);
    for (int b = 0; b < BANDS; b++) {
        for (int k = 0; k < BANDS; k++) {
            forward[b * BANDS + k] /= sqrt(covariance[b * BANDS + b]);
        }
    }
    cube_write(&cube, "scene", HC_UINT16, "bsq", NULL);
    check_runs(NULL, "read scene.img ! pca --correlation --save-model model.json ! write out.img ! "
                     "pca --inverse ! write back.img");
    HcTransform model = model_load("model.json", "pca");
    for (int k = 0; k < BANDS; k++) {
        check_near(model.eigenvalues[k], values[k], 1e-9 * values[k]);
    }
    Cube expected = reference_project(&cube, mean, forward, BANDS);
    check_components("out", &expected, values);
    Cube back = cube_read_floats("back", LINES, SAMPLES, BANDS);
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        check_near(back.value[i], cube.value[i], 1e-6 * 30000);
    }
    cube_free(&back);
    cube_free(&expected);
    hc_transform_clear(&model);
    cube_free(&cube);
}

static void inverse_returns_the_input(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 5, true);
    cube_border(&cube, 0);
    check_inverse("pca", &cube);
    cube_free(&cube);
}

static void denoise_is_forward_drop_inverse(void **state) {
    (void)state;
    double mean[BANDS];
    double covariance[BANDS * BANDS];
    double values[BANDS];
    double forward[BANDS * BANDS];
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 6, true);
    (void)reference_covariance(&cube, mean, covariance);
    reference_pca(BANDS, covariance, values, forward);
    check_denoise("pca", &cube, mean, forward, forward, 3);
    cube_free(&cube);
}

static void components_are_chosen(void **state) {
    (void)state;
    double mean[BANDS];
    double covariance[BANDS * BANDS];
    double values[BANDS];
    double forward[BANDS * BANDS];
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 7, true);
    (void)reference_covariance(&cube, mean, covariance);
    reference_pca(BANDS, covariance, values, forward);
    Cube expected = reference_project(&cube, mean, forward, 4);
    cube_write(&cube, "scene", HC_UINT16, "bsq", NULL);
    check_runs(NULL, "read scene.img ! pca --min-eigenvalue %.17g ! write out.img", values[3] * (1 - 1e-6));
    check_components("out", &expected, values);
    check_runs(NULL, "read scene.img ! pca --components 4 ! write four.img");
    check_same_files("out.img", "four.img");
    check_runs(NULL, "read scene.img ! pca --min-eigenvalue 1e30 ! write one.img");
    Cube one = cube_read_floats("one", LINES, SAMPLES, 1);
    cube_free(&one);
    check_run_fails(NULL, HC_E_USAGE, "7 bands", "read scene.img ! pca --components 8 ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "give one of",
                    "read scene.img ! pca --components 2 --keep-all ! write bad.img");
    assert_false(file_exists("bad.img"));
    cube_free(&expected);
    cube_free(&cube);
}

static void saved_model_gives_the_same_bytes(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 8, true);
    cube_border(&cube, 0);
    check_saved_model("pca", "mnf", &cube);
    cube_free(&cube);
}

/* The bytes of a model with one part of its text replaced are refused with a line, not read. */
static void broken_models_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *from, *to;
    } breaks[] = {{"\"components\"", "\"componets\""},     {"\"mean\"", "\"meen\""},
                  {"\"eigenvalues\"", "\"eigenvolues\""},  {"\"forward\"", "\"forword\""},
                  {"\"hcube_model\"", "\"hcube_muddle\""}, {"\"bands\"", "\"bends\""}};
    Cube cube = cube_smooth(20, 20, BANDS, 9, true);
    cube_write(&cube, "scene", HC_UINT16, "bsq", NULL);
    check_runs(NULL, "read scene.img ! pca --fit-only --save-model model.json");
    size_t bytes = 0;
    char *text = file_bytes("model.json", &bytes);
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++) {
        const char *at = strstr(text, breaks[i].from);
        assert_non_null(at);
        FILE *file = fopen("broken.json", "w");
        assert_non_null(file);
        fprintf(file, "%.*s%s%s", (int)(at - text), text, breaks[i].to, at + strlen(breaks[i].from));
        assert_int_equal(fclose(file), 0);
        check_run_fails(NULL, HC_E_INPUT, "broken.json",
                        "read scene.img ! pca --model broken.json ! write bad.img");
    }
    for (size_t length = 0; length < bytes; length += 1 + bytes / 50) {
        FILE *file = fopen("broken.json", "w");
        assert_non_null(file);
        fprintf(file, "%.*s", (int)length, text);
        assert_int_equal(fclose(file), 0);
        check_run_fails(NULL, HC_E_INPUT, "broken.json",
                        "read scene.img ! pca --model broken.json ! write bad.img");
    }
    check_run_fails(NULL, HC_E_INPUT, "none.json", "read scene.img ! pca --model none.json ! write bad.img");
    assert_false(file_exists("bad.img"));
    free(text);
    cube_free(&cube);
}

static void degenerate_scenes_are_defined(void **state) {
    (void)state;
    Cube cube = cube_smooth(20, 20, BANDS, 10, true);
    for (size_t i = 0; i < cube_pixels(&cube); i++) {
        cube.value[i * BANDS + 2] = 77;                        /* constant */
        cube.value[i * BANDS + 5] = cube.value[i * BANDS + 4]; /* repeated */
    }
    cube_write(&cube, "scene", HC_UINT16, "bsq", NULL);
    check_runs(
        NULL,
        "read scene.img ! pca --save-model model.json ! write parts.img ! pca --inverse ! write back.img");
    HcTransform model = model_load("model.json", "pca");
    check_near(model.eigenvalues[BANDS - 1], 0, 1e-9 * model.eigenvalues[0]);
    check_near(model.eigenvalues[BANDS - 2], 0, 1e-9 * model.eigenvalues[0]);
    assert_true(model.eigenvalues[BANDS - 3] > 1);
    hc_transform_clear(&model);
    Cube back = cube_read_floats("back", 20, 20, BANDS);
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        check_near(back.value[i], cube.value[i], 1e-6 * 30000);
    }
    cube_free(&back);
    check_runs(NULL, "read scene.img ! pca --correlation --components 3 ! write out.img");

    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        cube.value[i] = 5;
    }
    cube_write(&cube, "flat", HC_UINT16, "bsq", NULL);
    check_run_fails(NULL, HC_E_NUMERIC, "pca: all 7 bands are constant",
                    "read flat.img ! pca ! write bad.img");
    cube_write(&cube, "empty", HC_UINT16, "bsq", "data ignore value = 5\n");
    check_run_fails(NULL, HC_E_NUMERIC,
                    "pca: 0 valid pixels in the scene: ", "read empty.img ! pca ! write bad.img");
    cube_free(&cube);

    Cube one = cube_new(1, 1, BANDS);
    cube_write(&one, "one", HC_UINT16, "bsq", NULL);
    check_run_fails(NULL, HC_E_NUMERIC,
                    "pca: 1 valid pixel in the scene: ", "read one.img ! pca ! write bad.img");
    assert_false(file_exists("bad.img"));
    cube_free(&one);
}

static void one_band_is_a_scene(void **state) {
    (void)state;
    Cube cube = cube_smooth(20, 20, 1, 11, true);
    double mean = 0;
    double variance = 0;
    (void)reference_covariance(&cube, &mean, &variance);
    cube_write(&cube, "scene", HC_UINT16, "bsq", NULL);
    check_runs(NULL, "read scene.img ! pca ! write out.img");
    Cube out = cube_read_floats("out", 20, 20, 1);
    for (size_t i = 0; i < cube_pixels(&cube); i++) {
        check_near(out.value[i], cube.value[i] - mean, 1e-4 * sqrt(variance));
    }
    cube_free(&out);
    cube_free(&cube);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(integers_agree_with_reference), IN_FOLDER(floats_agree_with_reference),
        IN_FOLDER(masked_pixels_take_no_part),    IN_FOLDER(correlation_divides_by_deviations),
        IN_FOLDER(inverse_returns_the_input),     IN_FOLDER(denoise_is_forward_drop_inverse),
        IN_FOLDER(components_are_chosen),         IN_FOLDER(saved_model_gives_the_same_bytes),
        IN_FOLDER(broken_models_are_refused),     IN_FOLDER(degenerate_scenes_are_defined),
        IN_FOLDER(one_band_is_a_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
