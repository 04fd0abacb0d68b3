#include "io/read/reader.h"
#include "pipeline/stages/write/write_tally.h"
#include "tests/support/scene_files.h"

#include <gdal.h>
#include <stdlib.h>

enum { LINES = 10, SAMPLES = 14, BANDS = 5 };

static const char header[] = "wavelength units = Nanometers\nwavelength = {400, 500, 600, 700, 800}\n"
                             "band names = {a, b, c, d, e}\n"
                             "map info = {UTM, 1, 1, 331200, 5563500, 30, 30, 33, North, WGS-84}\n";

/* Every value, name, wavelength and the place of the scene, read back from what the step made. */
static void check_copy(const Cube *cube, const char *path, const char *step) {
    HcReader *reader = NULL;
    HcError err = {0};
    check_runs(NULL, "read scene.img ! write %s %s", path, step);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    assert_int_equal(scene->bands, BANDS);
    for (int32_t b = 0; b < BANDS; b++) {
        check_near(scene->wavelength[b], 400 + 100 * b, 1e-6);
        assert_int_equal(scene->band_name[b][0], 'a' + b);
    }
    assert_true(scene->place.has_transform);
    check_near(scene->place.transform[0], 331200, 1e-6);
    check_near(scene->place.transform[5], -30, 1e-9);
    assert_non_null(scene->place.crs);
    hc_reader_close(reader);
    check_runs(NULL, "read %s ! write again.img", path);
    Cube out = cube_read_floats("again", LINES, SAMPLES, BANDS);
    for (size_t i = 0; i < cube_pixels(cube) * BANDS; i++) {
        check_near(out.value[i], cube->value[i], 0);
    }
    cube_free(&out);
}

static void copies_are_whole(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 8, true);
    cube_write(&cube, "scene", HC_UINT16, "bil", header);
    check_copy(&cube, "a.img", "");
    check_copy(&cube, "b.img", "--interleave bip --type uint16");
    check_copy(&cube, "c.bil", "--type int32");
    check_copy(&cube, "d.tif", "");
    check_copy(&cube, "e.tif", "--compress deflate --type uint16 --interleave bsq");
    check_copy(&cube, "f.tif", "--format COG --type float64");
    check_copy(&cube, "g.tif", "--co TILED=YES --co BLOCKXSIZE=32 --co BLOCKYSIZE=32");
    cube_free(&cube);
}

/* COG drivers that can create (GDAL 3.13 and later) are used as those that only copy. */
static void cog_drivers_may_create(void **state) {
    (void)state;
    GDALDriverH cog = GDALGetDriverByName("COG");
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 8, true);
    cube_write(&cube, "scene", HC_UINT16, "bil", header);
    bool creates = GDALGetMetadataItem(cog, GDAL_DCAP_CREATE, NULL) != NULL;
    GDALSetMetadataItem(cog, GDAL_DCAP_CREATE, "YES", NULL);
    check_copy(&cube, "cog.tif", "--format COG");
    if (!creates) {
        GDALSetMetadataItem(cog, GDAL_DCAP_CREATE, NULL, NULL);
    }
    cube_free(&cube);
}

/* A scene whose pixels cannot be masked is copied value by value: 0 is data, and no nodata is declared. */
static void complete_scenes_have_no_nodata(void **state) {
    (void)state;
    static const char *const outputs[] = {"whole.img", "whole.tif"};
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 10, true);
    for (int32_t b = 0; b < BANDS; b++) {
        cube_pixel(&cube, b, 3)[b] = 0;
    }
    cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
    for (int o = 0; o < 2; o++) {
        HcReader *reader = NULL;
        HcError err = {0};
        check_runs(NULL, "read scene.img ! write %s --type uint16", outputs[o]);
        check_ok(hc_reader_open(&reader, outputs[o], NULL, &err), err);
        assert_false(hc_reader_scene(reader)->has_nodata);
        hc_reader_close(reader);
        check_runs(NULL, "read %s ! write again.img", outputs[o]);
        Cube out = cube_read_floats("again", LINES, SAMPLES, BANDS);
        for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
            check_near(out.value[i], cube.value[i], 0);
        }
        cube_free(&out);
    }
    cube_free(&cube);
}

/* With a mask there are masked pixels although the scene is integer and has no nodata: nodata is declared,
 * and is in these pixels alone. */
static void masked_scenes_have_nodata(void **state) {
    (void)state;
    static const char *const outputs[] = {"part.img", "part.tif"};
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 10, true);
    Cube mask = cube_new(LINES, SAMPLES, 1);
    for (size_t i = 0; i < cube_pixels(&mask); i++) {
        mask.value[i] = i % 3 != 0;
    }
    cube_pixel(&cube, 1, 3)[2] = 0; /* valid values at the ends of the type */
    cube_pixel(&cube, 2, 3)[2] = 65535;
    cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
    cube_write(&mask, "mask", HC_UINT8, "bsq", NULL);
    for (int o = 0; o < 2; o++) {
        HcReader *reader = NULL;
        HcError err = {0};
        check_runs(NULL, "read scene.img --mask mask.img ! write %s --type uint16", outputs[o]);
        check_ok(hc_reader_open(&reader, outputs[o], NULL, &err), err);
        assert_true(hc_reader_scene(reader)->has_nodata);
        double nodata = hc_reader_scene(reader)->nodata;
        hc_reader_close(reader);
        check_runs(NULL, "read %s --source-nodata none ! write again.img", outputs[o]);
        Cube out = cube_read_floats("again", LINES, SAMPLES, BANDS);
        for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
            bool masked = i / BANDS % 3 == 0;
            double moved = cube.value[i] == nodata ? 1 : 0;
            check_near(out.value[i], masked ? nodata : cube.value[i], moved);
            assert_true((out.value[i] == nodata) == masked);
        }
        cube_free(&out);
    }
    cube_free(&cube);
    cube_free(&mask);
}

/* Fractions as integers: 0 and 1 keep their values, nodata is outside of them, and a note tells what a type
 * cannot hold. With the suggested scale all values come back. */
static void fractions_as_integers(void **state) {
    (void)state;
    Cube cube = cube_new(LINES, SAMPLES, 1);
    Cube steps = cube_new(LINES, SAMPLES, 1);
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    for (size_t i = 0; i < cube_pixels(&cube); i++) {
        cube.value[i] = (double)(i % 5) / 4;
        steps.value[i] = i == 0 ? NAN : (double)i - 3;
    }
    cube_write(&steps, "steps", HC_FLOAT32, "bsq", NULL);
    cube_write(&cube, "shares", HC_FLOAT32, "bsq", NULL);
    check_runs(&how, "read shares.img ! write whole.img --type uint8");
    check_says(notes.data, "values from 0 to 1 were rounded ... (uint8) ... --scale 0.004");
    assert_true(file_holds("whole.hdr", "data ignore value = 255"));
    check_runs(NULL, "read whole.img --source-nodata none ! write again.img");
    Cube out = cube_read_floats("again", LINES, SAMPLES, 1);
    for (size_t i = 0; i < cube_pixels(&cube); i++) {
        check_near(out.value[i], rint(cube.value[i]), 0);
    }
    cube_free(&out);
    hc_text_clear(&notes);
    check_runs(&how, "read shares.img ! write scaled.img --type uint8 --scale 0.004");
    assert_true(notes.data == NULL || strstr(notes.data, "scaled.img") == NULL);
    assert_true(file_holds("scaled.hdr", "data gain values = {\n0.004}"));
    assert_true(file_holds("scaled.hdr", "data offset values = {\n0}"));
    check_runs(NULL, "read scaled.img ! write again.img");
    out = cube_read_floats("again", LINES, SAMPLES, 1);
    for (size_t i = 0; i < cube_pixels(&cube); i++) {
        check_near(out.value[i] * 0.004, cube.value[i], 0.0020001);
    }
    cube_free(&out);
    hc_text_clear(&notes);
    /* 139 valid values from -2 to 136, without the pixel that is NaN: those below 3 are clamped. */
    check_runs(&how, "read steps.img ! write low.img --type uint8 --offset 3");
    check_says(notes.data,
               "low.img: 5 of 139 values (3.6 %) were clamped to 0 .. 254 (uint8) ... -2 to 136 ... --scale");
    hc_text_clear(&notes);
    check_runs(&how, "read steps.img ! write moved.img --type int16 --nodata 7");
    check_says(notes.data, "moved.img: 1 values equal ... nodata value 7 ... stored as 8");
    hc_text_clear(&notes);
    check_run_fails(NULL, HC_E_USAGE, "0 is no scale",
                    "read shares.img ! write o.img --type uint8 --scale 0");
    cube_free(&cube);
    cube_free(&steps);
}

/* What a note suggests holds the values, whatever they are, without wasting much of the type. */
static void suggested_scales(void **state) {
    (void)state;
    static const double ranges[][2] = {{0, 1},          {0, 0.99074},  {-16.6, 13.1}, {0.2, 0.3},
                                       {1000, 1001},    {-5e-7, 2e-7}, {0, 3e30},     {-1e9, -9.9e8},
                                       {5, 5},          {-7, -7},      {0, 1e-30},    {0, 254},
                                       {-32768, 32767}, {12, 1234567}};
    static const double types[][2] = {{0, 254}, {1, 255}, {-127, 127}, {-32767, 32767}, {0, 65534}};
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            double scale, offset;
            double lowest = ranges[r][0], highest = ranges[r][1];
            double low = types[t][0], high = types[t][1];
            assert_true(hc_write_suggest(lowest, highest, low, high, &scale, &offset));
            double first = rint((lowest - offset) / scale), last = rint((highest - offset) / scale);
            if (!(first >= low && last <= high && (lowest == highest || last - first > (high - low) / 16))) {
                fail_msg("%g to %g as %g to %g: scale %g, offset %g give %g to %g", lowest, highest, low,
                         high, scale, offset, first, last);
            }
        }
    }
    double scale, offset;
    assert_false(hc_write_suggest(0, 0, 0, 254, &scale, &offset));
    assert_false(hc_write_suggest(0, INFINITY, 0, 254, &scale, &offset));
}

/* The header's name stands for the pair, and each file of it is claimed once. */
static void names_of_headers(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 11, true);
    cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
    check_runs(NULL, "read scene.img ! write couple.hdr ! write other.hdr");
    Cube out = cube_read_floats("couple", LINES, SAMPLES, BANDS);
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        check_near(out.value[i], cube.value[i], 0);
    }
    assert_true(file_exists("couple.hdr"));
    assert_true(file_exists("other.img"));
    check_run_fails(NULL, HC_E_USAGE, "two.img: the chain writes",
                    "read scene.img ! write two.img ! write two.hdr");
    check_run_fails(NULL, HC_E_USAGE, "two.hdr: the chain writes",
                    "read scene.img ! write two.hdr ! write two.bsq");
    check_run_fails(NULL, HC_E_USAGE, "reads its scene", "read scene.img ! write scene.hdr");
    cube_free(&out);
    cube_free(&cube);
}

/* Class maps go through a chain with their names; bands that no longer begin with the classes do not. */
static void class_maps_stay_class_maps(void **state) {
    (void)state;
    HcReader *reader = NULL;
    HcError err = {0};
    Cube cube = cube_new(LINES, SAMPLES, 2);
    for (size_t i = 0; i < cube_pixels(&cube); i++) {
        cube.value[2 * i] = (double)(i % 3);
        cube.value[2 * i + 1] = 0.5;
    }
    cube_write(&cube, "map", HC_FLOAT32, "bsq",
               "band names = {class, confidence}\nclasses = 3\nclass names = {Unclassified, a, b}\n"
               "class lookup = {0, 0, 0, 1, 2, 3, 4, 5, 6}\n");
    check_runs(NULL, "read map.img ! write both.tif ! bands 1 ! write one.tif ! write one.img");
    check_runs(NULL, "read both.tif ! bands 2,1 ! write none.img");
    static const char *const names[] = {"both.tif", "one.tif", "one.img", "none.img"};
    for (int i = 0; i < 4; i++) {
        check_ok(hc_reader_open(&reader, names[i], NULL, &err), err);
        const HcScene *scene = hc_reader_scene(reader);
        assert_int_equal(hc_scene_is_class_map(scene), i < 3);
        assert_int_equal(scene->type, i == 1 || i == 2 ? HC_UINT8 : HC_FLOAT32);
        if (i < 3) {
            assert_string_equal(scene->classes.name[2], "b");
            assert_int_equal(scene->classes.colour[2][1], 5);
        }
        hc_reader_close(reader);
    }
    check_run_fails(NULL, HC_E_USAGE, "is the number of a class", "read one.tif ! write two.tif --nodata 2");
    check_run_fails(NULL, HC_E_USAGE, "take no scale", "read one.tif ! write two.tif --scale 0.1");
    cube_free(&cube);
}

/* What a chain reads, it does not write over; what it writes twice, or needs before it is there, is refused.
 */
static void files_of_a_chain_do_not_meet(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 12, true);
    cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
    check_run_fails(NULL, HC_E_USAGE, "pair.hdr: the chain writes",
                    "read scene.img ! write pair.img ! write pair.dat");
    check_run_fails(NULL, HC_E_USAGE, "reads its scene", "read scene.hdr ! write scene.img");
    check_run_fails(
        NULL, HC_E_USAGE, "an earlier step writes",
        "read scene.img ! pca --save-model m.json ! pca --inverse --model m.json ! write later.img");
    check_run_fails(NULL, HC_E_USAGE, "an earlier step writes",
                    "read scene.img ! cov n.json --noise shift ! mnf --noise n.json ! write later.img");
    RunHow how = {.settings = {.record = "r.img"}};
    check_run_fails(&how, HC_E_USAGE, "--record r.img", "read scene.img ! write r.img");
    assert_false(file_exists("pair.img"));
    assert_false(file_exists("later.img"));
    assert_false(file_exists("r.img"));
    cube_free(&cube);
}

static void refusals(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 9, true);
    cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
    check_run_fails(NULL, HC_E_USAGE, "--type float16", "read scene.img ! write o.img --type float16");
    check_run_fails(NULL, HC_E_USAGE, "--interleave bsp", "read scene.img ! write o.img --interleave bsp");
    check_run_fails(NULL, HC_E_IO, "nowhere", "read scene.img ! write nowhere/o.img");
    check_run_fails(NULL, HC_E_USAGE, "OUTPUT is missing", "read scene.img ! write");
    check_run_fails(NULL, HC_E_USAGE, "goes nowhere", "read scene.img ! write o.img ! pca");
    RunHow keeps = {.keeps_outputs = true};
    check_runs(NULL, "read scene.img ! write o.tif");
    size_t bytes = 0;
    char *before = file_bytes("o.tif", &bytes);
    check_run_fails(&keeps, HC_E_USAGE, "o.tif", "read scene.img ! bands 1 ! write o.tif");
    size_t bytes_after = 0;
    char *after = file_bytes("o.tif", &bytes_after);
    assert_int_equal(bytes, bytes_after);
    assert_memory_equal(before, after, bytes);
    assert_false(file_exists("o.img"));
    free(before);
    free(after);
    cube_free(&cube);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_whole),
        cmocka_unit_test(cog_drivers_may_create),
        cmocka_unit_test(complete_scenes_have_no_nodata),
        cmocka_unit_test(masked_scenes_have_nodata),
        cmocka_unit_test(fractions_as_integers),
        cmocka_unit_test(suggested_scales),
        cmocka_unit_test(names_of_headers),
        cmocka_unit_test(class_maps_stay_class_maps),
        cmocka_unit_test(files_of_a_chain_do_not_meet),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
