/* --by of cov, mnf, noise and denoise: statistics of the pixels that a mask leaves are those of a scene whose
 * other pixels are masked, byte for byte, and those of classes agree with float64. */
#include "pipeline/json/json.h"
#include "tests/support/reference.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES = 90, SAMPLES = 41, BANDS = 6, CLASSES = 3 };

static int class_at(size_t pixel) {
    return (int)(pixel / SAMPLES / 25 + pixel % SAMPLES / 20) % (CLASSES + 1);
}

static Cube write_inputs(uint64_t seed, HcType type) {
    Cube map = cube_new(LINES, SAMPLES, 1), half = cube_new(LINES, SAMPLES, 1);
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, seed, type == HC_UINT16);
    for (size_t p = 0; p < cube_pixels(&map); p++) {
        map.value[p] = class_at(p);
        half.value[p] = (double)(p % 2);
        for (size_t b = 0; b < BANDS; b++) {
            double *value = &cube.value[p * BANDS + b];
            *value = 200 + *value + (double)random_between(&seed, 0, 8 + 4 * (int64_t)b);
            *value = type == HC_UINT16 ? *value : (double)(float)(*value * 0.0123);
        }
    }
    cube_border(&cube, 0);
    cube_write(&map, "map", HC_UINT8, "bsq", NULL);
    cube_write(&cube, "scene", type, "bil", "data ignore value = 0\n");
    cube_write(&half, "half", HC_UINT8, "bsq", NULL);
    cube_free(&half);
    cube_free(&map);
    return cube;
}

/* Of integers; the grid of floats is that of a sample of the whole scene. */
static void a_mask_leaves_what_read_masks(void **state) {
    (void)state;
    static const char *const steps[][2] = {
        {"cov", ""},
        {"cov", "--noise shift"},
        {"cov", "--noise mean3x3 --noise-window 3,5,30,60"},
        {"cov", "--noise trimmed"},
        {"cov", "--noise hv-average"},
        {"cov", "--noise regression"},
        {"cov", "--noise spatial-spectral"},
        {"cov", "--noise auto"},
        {"cov", "--sums --noise shift-lower"},
        {"noise", "--compare shift --columns 8"},
        {"mnf --noise mean3x3 --fit-only --save-model", ""},
        {"mnf --fit-only --save-model", ""},
        {"denoise --noise regression --columns 5 --fit-only --save-model", ""},
        {"denoise --noise shift --fit-only --save-model", ""}};
    Cube cube = write_inputs(3, HC_UINT16);
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        RunHow how = {.settings.block_lines = 17};
        const char *step = steps[k][0], *more = steps[k][1];
        check_runs(NULL, "read scene.img --mask map.img:1!=1,2 ! %s masked.json --overwrite %s", step, more);
        check_runs(NULL, "read scene.img ! %s by.json --by mask=map.img:1!=1,2 --overwrite %s", step, more);
        check_same_files("by.json", "masked.json");
        check_runs(&how, "read scene.img ! %s by.json --by mask=map.img:1!=1,2 --overwrite %s", step, more);
        check_same_files("by.json", "masked.json");
    }
    cube_free(&cube);
}

/* The pixels outside of the mask go on. */
static void all_pixels_go_on(void **state) {
    (void)state;
    Cube cube = write_inputs(7, HC_UINT16);
    check_runs(NULL, "read scene.img ! mnf --components 3 --by mask=map.img:1!=2 --save-model m.json ! write "
                     "a.img --nodata nan");
    check_runs(NULL, "read scene.img ! mnf --components 3 --model m.json ! write b.img --nodata nan");
    check_same_files("a.img", "b.img");
    Cube got = cube_read_floats("a", LINES, SAMPLES, 3);
    for (size_t p = 0; p < cube_pixels(&cube); p++) {
        assert_int_equal(isnan(got.value[3 * p]), !cube.valid[p]);
    }
    cube_free(&got);
    cube_free(&cube);
}

static void check_class(const cJSON *group, const Cube *cube, int class) {
    double mean[BANDS], covariance[BANDS * BANDS], got[BANDS * BANDS];
    char name[32];
    HcError err = {0};
    Cube some = *cube;
    some.valid = calloc(cube_pixels(cube), 1);
    assert_non_null(some.valid);
    for (size_t p = 0; p < cube_pixels(cube); p++) {
        some.valid[p] = cube->valid[p] && class_at(p) == class;
    }
    int64_t pixels = reference_covariance(&some, mean, covariance), told = 0;
    snprintf(name, sizeof name, "Class %d", class);
    assert_string_equal(hc_json_text(group, "name"), name);
    assert_int_equal(hc_json_get_int(group, "pixels", 0, 1 << 20, &told, "j", &err), HC_OK);
    assert_int_equal(told, pixels);
    assert_int_equal(hc_json_get_doubles(group, "mean", got, BANDS, "j", &err), HC_OK);
    for (int b = 0; b < BANDS; b++) {
        check_near(got[b], mean[b], 1e-12 * mean[b]);
    }
    assert_int_equal(hc_json_get_doubles(group, "covariance", got, BANDS * BANDS, "j", &err), HC_OK);
    for (int i = 0; i < BANDS * BANDS; i++) {
        double scale = sqrt(covariance[i / BANDS * (BANDS + 1)] * covariance[i % BANDS * (BANDS + 1)]);
        check_near(got[i], covariance[i], 1e-11 * scale);
    }
    free(some.valid);
}

static void classes_have_statistics_of_their_own(void **state) {
    (void)state;
    for (int round = 0; round < 2; round++) {
        HcError err = {0};
        cJSON *json = NULL;
        Cube cube = write_inputs(5 + (uint64_t)round, round == 0 ? HC_UINT16 : HC_FLOAT32);
        check_runs(NULL, "read scene.img ! cov c.json --by classes=map.img --overwrite");
        assert_int_equal(hc_json_read("c.json", &json, &err), HC_OK);
        const cJSON *groups = cJSON_GetObjectItemCaseSensitive(json, "groups");
        assert_int_equal(cJSON_GetArraySize(groups), CLASSES);
        for (int c = 0; c < CLASSES; c++) {
            check_class(cJSON_GetArrayItem(groups, c), &cube, c + 1);
        }
        cJSON_Delete(json);
        cube_free(&cube);
    }
}

static void refusals(void **state) {
    (void)state;
    Cube cube = write_inputs(9, HC_UINT16);
    check_runs(NULL, "read scene.img ! cov c.json --by classes=map.img,mask=half.img");
    check_run_fails(NULL, HC_E_INPUT, "c.json", "read scene.img ! rx --background c.json ! write no.img");
    check_run_fails(NULL, HC_E_USAGE, "cov: --sums ... one group, --by classes=map.img has 3",
                    "read scene.img ! cov no.json --sums --by classes=map.img");
    check_run_fails(NULL, HC_E_USAGE, "cov: --by columns=2: give mask=FILE, classes=FILE",
                    "read scene.img ! cov no.json --by columns=2");
    check_run_fails(NULL, HC_E_USAGE, "mnf: --by classes=map.img: give mask=FILE",
                    "read scene.img ! mnf --by classes=map.img ! write no.img");
    check_run_fails(NULL, HC_E_USAGE, "--by excludes --model",
                    "read scene.img ! mnf --model m.json --by mask=map.img ! write no.img");
    check_run_fails(NULL, HC_E_NUMERIC, "noise: --by mask=map.img:1=0-9 ... no pixel",
                    "read scene.img ! noise no.json --by mask=map.img:1=0-9");
    check_run_fails(NULL, HC_E_INPUT, "none.img",
                    "read scene.img ! denoise --by mask=none.img ! write no.img");
    assert_false(file_exists("no.json"));
    cube_free(&cube);
}

static void blocks_and_backends_agree(void **state) {
    (void)state;
    static const char *const chains[] = {
        "read scene.img ! mnf --by mask=map.img:1!=1 --components 3 ! write out.img",
        "read scene.img ! cov out.img --noise auto --by classes=map.img --overwrite"};
    static const char *const results[] = {"out.img", "out.hdr", NULL};
    Cube cube = write_inputs(11, HC_FLOAT32);
    check_runs_agree(chains, sizeof chains / sizeof *chains, 3);
    check_failures_leave_nothing(chains, 1, 30, results);
    cube_free(&cube);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_mask_leaves_what_read_masks),
        IN_FOLDER(all_pixels_go_on),
        IN_FOLDER(classes_have_statistics_of_their_own),
        IN_FOLDER(refusals),
        IN_FOLDER(blocks_and_backends_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
