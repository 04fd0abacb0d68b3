#include "tests/support/linear_runs.h"

#include <stdio.h>

/* Float32 components of values up to 30000. */
static const double rounding = 1e-6 * 30000;

HcTransform model_load(const char *path, const char *stage) {
    HcTransform model = {0};
    HcError err = {0};
    check_ok(hc_transform_load(&model, path, stage, &err), err);
    return model;
}

void check_components(const char *name, const Cube *expected, const double *values) {
    Cube out = cube_read_floats(name, expected->lines, expected->samples, expected->bands);
    size_t m = (size_t)expected->bands;
    for (size_t i = 0; i < cube_pixels(expected); i++) {
        for (size_t k = 0; k < m; k++) {
            if (expected->valid[i]) {
                check_near(out.value[i * m + k], expected->value[i * m + k], 1e-4 * sqrt(values[k]));
            } else {
                assert_true(isnan(out.value[i * m + k]));
            }
        }
    }
    cube_free(&out);
}

void check_inverse(const char *stage, const Cube *cube) {
    size_t values = cube_pixels(cube) * (size_t)cube->bands;
    cube_write(cube, "scene", HC_UINT16, "bip", "data ignore value = 0\n");
    check_runs(
        NULL, "read scene.img ! %s --save-model model.json ! write parts.img ! %s --inverse ! write back.img",
        stage, stage);
    check_runs(NULL, "read parts.img ! %s --inverse --model model.json ! write again.img", stage);
    Cube back = cube_read_floats("back", cube->lines, cube->samples, cube->bands);
    Cube again = cube_read_floats("again", cube->lines, cube->samples, cube->bands);
    for (size_t i = 0; i < values; i++) {
        check_near(back.value[i], cube->value[i], rounding); /* masked pixels are nodata again */
        check_same(again.value[i], back.value[i]);
    }
    check_run_fails(NULL, HC_E_USAGE, "--inverse needs", "read scene.img ! %s --inverse ! write bad.img",
                    stage);
    assert_false(file_exists("bad.img"));
    cube_free(&again);
    cube_free(&back);
}

void check_denoise(const char *stage, const Cube *cube, const double *mean, const double *forward,
                   const double *loading, int32_t kept) {
    size_t bands = (size_t)cube->bands;
    Cube parts = reference_project(cube, mean, forward, kept);
    cube_write(cube, "scene", HC_UINT16, "bsq", NULL);
    check_runs(NULL,
               "read scene.img ! %s --denoise --components %d --save-model model.json ! write denoised.img",
               stage, kept);
    check_runs(NULL, "read scene.img ! %s --components %d ! %s --inverse ! write chained.img", stage, kept,
               stage);
    check_runs(NULL, "read scene.img ! %s --model model.json --components %d --denoise ! write loaded.img",
               stage, kept);
    check_same_files("denoised.img", "chained.img");
    check_same_files("denoised.img", "loaded.img");
    Cube out = cube_read_floats("denoised", cube->lines, cube->samples, cube->bands);
    for (size_t i = 0; i < cube_pixels(cube); i++) {
        for (size_t b = 0; b < bands; b++) {
            double expected = mean[b];
            for (size_t k = 0; k < (size_t)kept; k++) {
                expected += loading[b * bands + k] * parts.value[i * (size_t)kept + k];
            }
            check_near(out.value[i * bands + b], expected, rounding);
        }
    }
    cube_free(&out);
    cube_free(&parts);
}

void check_saved_model(const char *stage, const char *other, const Cube *cube) {
    char refusal[32];
    snprintf(refusal, sizeof refusal, "not of %s", other);
    cube_write(cube, "scene", HC_UINT16, "bsq", "data ignore value = 0\n");
    check_runs(NULL, "read scene.img ! %s --save-model model.json ! write fitted.img", stage);
    check_runs(NULL, "read scene.img ! %s --fit-only --save-model alone.json", stage);
    check_runs(NULL, "read scene.img ! %s --fit-only --save-model passed.json ! write same.img", stage);
    check_runs(NULL, "read scene.img ! write plain.img");
    check_runs(NULL, "read scene.img ! %s --model model.json ! write loaded.img", stage);
    check_same_files("fitted.img", "loaded.img");
    check_same_files("model.json", "alone.json");
    check_same_files("model.json", "passed.json");
    check_same_files("same.img", "plain.img");
    check_run_fails(NULL, HC_E_USAGE, "--save-model", "read scene.img ! %s --fit-only", stage);
    check_run_fails(NULL, HC_E_INPUT, refusal, "read scene.img ! %s --model model.json ! write bad.img",
                    other);
    check_run_fails(NULL, HC_E_INPUT, "bands",
                    "read scene.img ! bands 2 ! %s --model model.json ! write bad.img", stage);
    assert_false(file_exists("bad.img"));
}
