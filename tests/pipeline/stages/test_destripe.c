/* destripe: stripes whose truth is known are removed from columns and lines, offsets and gains; edges and
 * ramps of a scene are not taken for any; medians and profile against plain float64, written here. */
#include "tests/pipeline/stages/denoised.h"
#include "pipeline/json/json.h"

#include <stdlib.h>

enum { LINES = 144, SAMPLES = 60, BANDS = 24 };

/* Fields of two materials, and brightness that changes along lines and columns. uneven: NULL, or a third of
 * the scene is three times as bright. */
static double value_of(const void *uneven, int32_t line, int32_t s, int32_t b) {
    bool field = s / 9 % 2 == 0 && line >= 40 && line < 90;
    double bright = 1 + 0.3 * sin(0.3 * line + 0.05 * s) + 0.002 * s;
    bright *= uneven != NULL && (line + s) % 9 < 3 ? 3 : 1;
    return bright * (100 + 3 * b) + 6 * field * cos(0.3 * b);
}

static Scene make_scene(Stripes stripes, const void *uneven, uint64_t seed) {
    static const int32_t shape[] = {LINES, SAMPLES, BANDS};
    stripes.true_noise = true;
    return make_striped(shape, value_of, uneven, stripes, seed);
}

/* Means of bands do not count: no stripe can tell them. */
static double power_of(const Cube *cube, const Cube *truth) {
    double power = 0;
    for (size_t b = 0; b < BANDS; b++) {
        double sum = 0, squares = 0;
        for (size_t p = 0; p < cube_pixels(cube); p++) {
            double error = cube->value[p * BANDS + b] - truth->value[p * BANDS + b];
            sum += error;
            squares += error * error;
        }
        power += squares - sum * sum / (double)cube_pixels(cube);
    }
    return power;
}

/* The share of the power of stripes that a step leaves. */
static double left_of(Stripes stripes, const void *uneven, const char *step, const char *note) {
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    Scene scene = make_scene(stripes, uneven, 5);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bil", NULL);
    check_runs(&how, "read scene.img ! %s ! write out.img --overwrite", step);
    check_says(notes.data, note);
    Cube out = cube_read_floats("out", LINES, SAMPLES, BANDS);
    double left = power_of(&out, &scene.truth) / power_of(&scene.cube, &scene.truth);
    printf("%-36s offset %g, gain %g, line %g: %.4f is left\n", step, stripes.offset, stripes.gain,
           stripes.line, left);
    cube_free(&out);
    free_scene(&scene);
    hc_text_clear(&notes);
    return left;
}

static void stripes_are_removed(void **state) {
    (void)state;
    static const char removed[] = "stripes of columns are removed ... 24 of 24 bands";
    assert_true(left_of((Stripes){.offset = 4}, NULL, "destripe --gains none", removed) < 0.1);
    assert_true(left_of((Stripes){.offset = 4}, NULL, "destripe", removed) < 0.1);
    assert_true(left_of((Stripes){.line = 4}, NULL, "destripe --direction lines", "stripes of lines") < 0.1);
}

/* An offset alone leaves what the brightness of pixels does. */
static void gains_are_removed(void **state) {
    (void)state;
    Stripes gains = {.gain = 0.04};
    double with = left_of(gains, NULL, "destripe", "and gains of columns");
    double without = left_of(gains, NULL, "destripe --gains none", "stripes of columns are removed");
    assert_true(with < 0.06);
    assert_true(without > with + 0.015);
    assert_true(left_of((Stripes){.offset = 4, .gain = 0.04}, NULL, "destripe", "and gains of columns") <
                0.1);
}

/* Medians of columns are then far from means. What the first search leaves of gains, the second one finds. */
static void gains_of_uneven_scenes_are_removed(void **state) {
    (void)state;
    Stripes gains = {.gain = 0.04};
    assert_true(left_of(gains, &gains, "destripe", "and gains of columns") < 0.1);
}

static void scenes_without_stripes_keep_their_bytes(void **state) {
    (void)state;
    static const char *const steps[] = {"destripe", "destripe --direction lines"};
    for (size_t k = 0; k < 6; k++) {
        HcText notes = {0};
        RunHow how = {.notes = &notes};
        Scene scene = make_scene((Stripes){0}, NULL, k + 1);
        cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
        check_runs(&how, "read scene.img ! %s ! write a.img --overwrite --interleave bip", steps[k % 2]);
        assert_non_null(strstr(notes.data, "no stripes are found"));
        check_same_files("a.img", "scene.img");
        hc_text_clear(&notes);
        free_scene(&scene);
    }
}

/* Each pixel of a column loses the same value, and means of bands stay. The record has the means of the
 * columns before and after, here of plain sums. */
static void the_record_has_the_profile(void **state) {
    (void)state;
    Scene scene = make_scene((Stripes){.offset = 4}, NULL, 8);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bil", NULL);
    HcError err = {0};
    cJSON *json = NULL;
    RunHow how = {.settings = {.record = "record.json"}};
    check_runs(&how, "read scene.img ! destripe --gains none ! write out.img --overwrite");
    Cube out = cube_read_floats("out", LINES, SAMPLES, BANDS);
    check_ok(hc_json_read("record.json", &json, &err), err);
    const cJSON *steps = cJSON_GetObjectItem(json, "steps");
    const cJSON *result = cJSON_GetObjectItem(cJSON_GetArrayItem(steps, 1), "result");
    const cJSON *profile = cJSON_GetObjectItem(result, "profile");
    int band = (int)cJSON_GetObjectItem(profile, "band")->valuedouble - 1;
    for (int32_t s = 0; s < SAMPLES; s++) {
        double mean[2] = {0};
        double change = cube_pixel(&scene.cube, 0, s)[band] - cube_pixel(&out, 0, s)[band];
        for (int32_t l = 0; l < LINES; l++) {
            double before = cube_pixel(&scene.cube, l, s)[band], after = cube_pixel(&out, l, s)[band];
            check_near(before - after, change, 1e-4);
            mean[0] += before / LINES;
            mean[1] += after / LINES;
        }
        check_near(cJSON_GetArrayItem(cJSON_GetObjectItem(profile, "before"), s)->valuedouble, mean[0], 1e-3);
        check_near(cJSON_GetArrayItem(cJSON_GetObjectItem(profile, "after"), s)->valuedouble, mean[1], 1e-3);
    }
    cJSON_Delete(json);
    cube_free(&out);
    free_scene(&scene);
}

static void masked_pixels_take_no_part(void **state) {
    (void)state;
    static const char *const steps[] = {"destripe", "destripe --direction lines"};
    for (int k = 0; k < 2; k++) {
        Scene scene =
            make_scene(k == 0 ? (Stripes){.offset = 4, .gain = 0.02} : (Stripes){.line = 4}, NULL, 9);
        double before = 0, count = 0;
        for (size_t p = 0; p < cube_pixels(&scene.cube); p++) {
            bool lost = p % SAMPLES == 20 || p % 13 == 0 || p / SAMPLES == 30;
            scene.cube.valid[p] = !lost;
            for (size_t b = 0; b < BANDS; b++) {
                double *value = &scene.cube.value[p * BANDS + b];
                before += lost ? 0 : pow(*value - scene.truth.value[p * BANDS + b], 2);
                count += !lost;
                *value = lost ? -1 : *value;
            }
        }
        cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", "data ignore value = -1\n");
        assert_true(error_of(&scene, steps[k], NULL) < 0.15 * before / count);
        check_runs(NULL, "read scene.img ! %s ! write nan.img --nodata nan --overwrite", steps[k]);
        Cube out = cube_read_floats("nan", LINES, SAMPLES, BANDS);
        for (size_t p = 0; p < cube_pixels(&out); p++) {
            assert_int_equal(isnan(out.value[p * BANDS]), scene.cube.valid[p] == 0);
        }
        cube_free(&out);
        free_scene(&scene);
    }
}

static void blocks_and_threads_leave_no_trace(void **state) {
    (void)state;
    Scene scene = make_scene((Stripes){.offset = 2, .gain = 0.03, .line = 3}, NULL, 11);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bil", NULL);
    const char *const chains[] = {"read scene.img ! destripe ! filter median3x3 ! write out.img",
                                  "read scene.img ! destripe --direction lines ! write out.img",
                                  "read scene.img ! destripe ! destripe --direction lines ! write out.img"};
    check_runs_agree(chains, 3, 13);
    free_scene(&scene);
}

static void failures_leave_nothing(void **state) {
    (void)state;
    Scene scene = make_scene((Stripes){.offset = 2, .line = 3}, NULL, 11);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bil", NULL);
    const char *const chains[] = {
        "read scene.img --window 0,0,30,50 ! destripe ! write out.img",
        "read scene.img --window 0,0,30,50 ! destripe --direction lines ! write out.img"};
    const char *const results[] = {"out.img", "out.hdr", NULL};
    check_failures_leave_nothing(chains, 2, 50, results);
    free_scene(&scene);
}

static void wrong_input_is_refused(void **state) {
    (void)state;
    Scene scene = make_scene((Stripes){.offset = 4}, NULL, 13);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    check_run_fails(NULL, HC_E_INPUT, "destripe: the scene has 23 lines and 60 samples, at least 24 and 24",
                    "read scene.img --window 0,0,60,23 ! destripe ! write bad.img");
    check_run_fails(NULL, HC_E_INPUT, "destripe: the scene has 1 band, at least 3 are needed",
                    "read scene.img ! bands 2 ! destripe ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "--direction ... diagonal",
                    "read scene.img ! destripe --direction diagonal ! write bad.img");
    for (size_t p = 0; p < cube_pixels(&scene.cube); p++) { /* a band that is twice another one */
        scene.cube.value[p * BANDS + 6] = 2 * scene.cube.value[p * BANDS + 5];
    }
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    check_run_fails(NULL, HC_E_NUMERIC, "7", "read scene.img ! destripe ! write bad.img");
    assert_false(file_exists("bad.img"));
    free_scene(&scene);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(stripes_are_removed),
        IN_FOLDER(gains_are_removed),
        IN_FOLDER(gains_of_uneven_scenes_are_removed),
        IN_FOLDER(scenes_without_stripes_keep_their_bytes),
        IN_FOLDER(the_record_has_the_profile),
        IN_FOLDER(masked_pixels_take_no_part),
        IN_FOLDER(blocks_and_threads_leave_no_trace),
        IN_FOLDER(failures_leave_nothing),
        IN_FOLDER(wrong_input_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
