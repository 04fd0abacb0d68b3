#include "io/read/reader.h"
#include "tests/support/scene_files.h"

#include <stdlib.h>

enum { LINES = 9, SAMPLES = 11, BANDS = 6 };

static const char header[] = "wavelength units = Nanometers\n"
                             "wavelength = {400, 500, 600, 700, 800, 900}\n"
                             "bbl = {1, 1, 0, 1, 1, 1}\n"
                             "band names = {a, b, c, d, e, f}\n"
                             "default bands = {5, 2, 1}\n";

static Cube write_scene(void) {
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 11, true);
    cube_write(&cube, "scene", HC_UINT16, "bip", header);
    return cube;
}

/* The options choose these bands of the file (from 1), in this order. */
static void check_choice(const char *options, int32_t count, const int32_t *wanted) {
    Cube cube = write_scene();
    check_runs(NULL, "read scene.img --all-bands ! bands %s ! write out.img", options);
    Cube out = cube_read_floats("out", LINES, SAMPLES, count);
    for (int32_t line = 0; line < LINES; line++) {
        for (int32_t sample = 0; sample < SAMPLES; sample++) {
            for (int32_t k = 0; k < count; k++) {
                check_near(cube_pixel(&out, line, sample)[k], cube_pixel(&cube, line, sample)[wanted[k] - 1],
                           0);
            }
        }
    }
    cube_free(&out);
    cube_free(&cube);
}

static void bands_by_number(void **state) {
    (void)state;
    check_choice("2-4", 3, (int32_t[]){2, 3, 4});
    check_choice("6,1,3-2", 4, (int32_t[]){6, 1, 3, 2});
    check_choice("--keep 5", 1, (int32_t[]){5});
    check_choice("--drop 1,3-5", 2, (int32_t[]){2, 6});
    check_choice("1-5 --drop 2", 4, (int32_t[]){1, 3, 4, 5});
    check_choice("2,2", 2, (int32_t[]){2, 2});
}

static void bands_by_property(void **state) {
    (void)state;
    check_choice("--wavelength 450-700", 3, (int32_t[]){2, 3, 4});
    check_choice("--wavelength 400,800-1000", 3, (int32_t[]){1, 5, 6});
    check_choice("--drop-wavelength 500-900", 1, (int32_t[]){1});
    check_choice("--good", 5, (int32_t[]){1, 2, 4, 5, 6});
    check_choice("--good --wavelength 500-700", 2, (int32_t[]){2, 4});
    check_choice("--good --drop 2", 4, (int32_t[]){1, 4, 5, 6});
    check_choice("--good --drop 2-3,6", 3, (int32_t[]){1, 4, 5});
    check_choice("--good --drop 2 --drop-wavelength 750-850", 3, (int32_t[]){1, 4, 6});
    check_choice("6-1 --good --drop 5", 4, (int32_t[]){6, 4, 2, 1});
}

/* What is said of a band goes where the band goes. */
static void properties_follow(void **state) {
    (void)state;
    Cube cube = write_scene();
    check_runs(NULL, "read scene.img --all-bands ! bands 5,2,1 ! write out.img");
    HcReader *reader = NULL;
    HcError err = {0};
    check_ok(hc_reader_open(&reader, "out.img", NULL, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    check_near(scene->wavelength[0], 800, 1e-6);
    check_near(scene->wavelength[2], 400, 1e-6);
    assert_string_equal(scene->band_name[0], "e");
    assert_string_equal(scene->band_name[1], "b");
    assert_true(scene->has_default_bands);
    assert_int_equal(scene->default_bands[0], 0);
    assert_int_equal(scene->default_bands[2], 2);
    hc_reader_close(reader);
    cube_free(&cube);
}

/* A fit that keeps fewer components than was planned changes what comes in. */
static void bands_after_a_fit(void **state) {
    (void)state;
    Cube cube = write_scene();
    check_runs(NULL,
               "read scene.img --all-bands ! pca --min-eigenvalue 1e5 ! bands --drop 2 ! write out.img");
    HcReader *reader = NULL;
    HcError err = {0};
    check_ok(hc_reader_open(&reader, "out.img", NULL, &err), err);
    int32_t kept = hc_reader_scene(reader)->bands;
    assert_true(kept >= 1 && kept <= BANDS - 2);
    hc_reader_close(reader);
    cube_free(&cube);
}

static void wrong_choices_are_named(void **state) {
    (void)state;
    Cube cube = write_scene();
    check_run_fails(NULL, HC_E_USAGE, "--keep 7 ... bands 1 to 6",
                    "read scene.img --all-bands ! bands 7 ! write o.img");
    check_run_fails(NULL, HC_E_USAGE, "--keep 0-2", "read scene.img ! bands 0-2 ! write o.img");
    check_run_fails(NULL, HC_E_USAGE, "--keep 1.5", "read scene.img ! bands 1.5 ! write o.img");
    check_run_fails(NULL, HC_E_USAGE, "--drop x", "read scene.img ! bands --drop x ! write o.img");
    check_run_fails(NULL, HC_E_USAGE, "--wavelength 700-400",
                    "read scene.img ! bands --wavelength 700-400 ! write o.img");
    check_run_fails(NULL, HC_E_USAGE, "no band of the 5 is left",
                    "read scene.img ! bands --wavelength 1-2 ! write o.img");
    cube_write(&cube, "plain", HC_UINT16, "bip", NULL);
    check_run_fails(NULL, HC_E_USAGE, "the scene has no wavelengths",
                    "read plain.img ! bands --wavelength 1-2 ! write o.img");
    assert_false(file_exists("o.img"));
    cube_free(&cube);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bands_by_number),         cmocka_unit_test(bands_by_property),
        cmocka_unit_test(properties_follow),       cmocka_unit_test(bands_after_a_fit),
        cmocka_unit_test(wrong_choices_are_named),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
