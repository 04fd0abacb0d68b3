/* write --ortho and preview --ortho against the plain recipe: for each pixel of the map, the pixel of the
 * scene whose numbers, less one, stand in the lookup table; nothing where one of them is 0. */
#include "io/read/reader.h"
#include "tests/io/product/product_file.h"
#include "tests/support/scene_files.h"

#include <ogr_srs_api.h>
#include <stdlib.h>

enum { LINES = 23, SAMPLES = 17, BANDS = 5, MAP_LINES = 31, MAP_SAMPLES = 29 };

static const double none = -9999;
static const double place[6] = {10, 0.0005, 0, 50, 0, -0.0005};

/* Numbers of the scene in each pixel of the map, from 1, 0 = none. */
typedef struct Table {
    double sample[MAP_LINES * MAP_SAMPLES], line[MAP_LINES * MAP_SAMPLES];
} Table;

/* A turned scene. Some pixels have one number only, and so nothing. */
static Table turned_table(void) {
    Table table = {0};
    for (int y = 0; y < MAP_LINES; y++) {
        for (int x = 0; x < MAP_SAMPLES; x++) {
            double u = x - 8.5, v = y - 1.0;
            int at = y * MAP_SAMPLES + x;
            double sample = floor(0.94 * u + 0.34 * v + 0.5), line = floor(-0.34 * u + 0.94 * v + 0.5);
            if (sample >= 0 && sample < SAMPLES && line >= 0 && line < LINES) {
                table.sample[at] = at % 97 == 5 ? 0 : sample + 1;
                table.line[at] = at % 89 == 7 ? 0 : line + 1;
            }
        }
    }
    return table;
}

static double value_of(int line, int sample, int band) {
    return line == 4 && sample == 6 ? none : 1 + 700 * band + 23 * line + sample;
}

/* A file laid out as EMIT's: the cube, its bands, and the table with its place. */
static void write_emit(const char *path, const Table *table, int table_lines) {
    static double values[LINES * SAMPLES * BANDS];
    static const double centres[BANDS] = {400, 500, 600, 700, 800}, widths[BANDS] = {8, 8, 8, 8, 8};
    ProductFile file = product_begin(path);
    for (int at = 0; at < LINES * SAMPLES * BANDS; at++) {
        values[at] = value_of(at / BANDS / SAMPLES, at / BANDS % SAMPLES, at % BANDS);
    }
    product_emit_cube(&file, (ProductArray){.name = "reflectance",
                                            .size = {LINES, SAMPLES, BANDS},
                                            .values = values,
                                            .nodata = &none,
                                            .chunks = "5,17,5"});
    product_emit_bands(&file, BANDS, centres, widths);
    const char *axis = table_lines == MAP_LINES ? "ortho_y" : "other_y";
    product_emit_lookup(&file, "glt_x", "ortho_y", MAP_LINES, MAP_SAMPLES, table->sample, "8,10");
    product_emit_lookup(&file, "glt_y", axis, (size_t)table_lines, MAP_SAMPLES, table->line, "8,10");
    product_numbers(NULL, file.root, "geotransform", place, 6);
    product_text(NULL, file.root, "spatial_ref", SRS_WKT_WGS84_LAT_LONG);
    product_end(&file);
}

/* The table as an ENVI file; where `negative`, the signs of some numbers say that they were filled. */
static void write_glt(const char *name, const Table *table, bool negative, const char *more) {
    Cube glt = cube_new(MAP_LINES, MAP_SAMPLES, 2);
    for (int at = 0; at < MAP_LINES * MAP_SAMPLES; at++) {
        int sign = negative && at % 3 == 1 ? -1 : 1;
        glt.value[2 * at] = sign * table->sample[at];
        glt.value[2 * at + 1] = sign * table->line[at];
    }
    cube_write(&glt, name, HC_INT32, "bil", more);
    cube_free(&glt);
}

/* The recipe on any scene [LINES][SAMPLES][bands]. */
static Cube recipe(const Cube *scene, const Table *table, double nothing) {
    Cube map = cube_new(MAP_LINES, MAP_SAMPLES, scene->bands);
    for (int at = 0; at < MAP_LINES * MAP_SAMPLES; at++) {
        bool there = table->sample[at] != 0 && table->line[at] != 0;
        const double *from =
            there ? cube_pixel(scene, (int)table->line[at] - 1, (int)table->sample[at] - 1) : NULL;
        for (int b = 0; b < scene->bands; b++) {
            map.value[at * scene->bands + b] = there ? from[b] : nothing;
        }
    }
    return map;
}

static Cube the_scene(void) {
    Cube scene = cube_new(LINES, SAMPLES, BANDS);
    for (int at = 0; at < LINES * SAMPLES * BANDS; at++) {
        scene.value[at] = value_of(at / BANDS / SAMPLES, at / BANDS % SAMPLES, at % BANDS);
    }
    return scene;
}

static void check_cubes(const Cube *got, const Cube *wanted) {
    assert_int_equal(got->bands, wanted->bands);
    assert_int_equal(cube_pixels(got), cube_pixels(wanted));
    for (size_t i = 0; i < cube_pixels(got) * (size_t)got->bands; i++) {
        if (isnan(wanted->value[i]) ? !isnan(got->value[i]) : !(got->value[i] == wanted->value[i])) {
            fail_msg("value %zu: %g instead of %g", i, got->value[i], wanted->value[i]);
        }
    }
}

/* What lies in a file of any format, with nodata as -9999. */
static Cube cube_in(const char *path, int lines, int samples, int bands) {
    check_runs(NULL, "read %s ! write again.img --nodata -9999", path);
    return cube_read_floats("again", lines, samples, bands);
}

static void check_place(const char *path, const double wanted[6]) {
    HcReader *reader = NULL;
    HcError err = {0};
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    assert_true(scene->place.has_transform);
    for (int i = 0; i < 6; i++) {
        check_near(scene->place.transform[i], wanted[i], 1e-9 * (1 + fabs(wanted[i])));
    }
    hc_reader_close(reader);
}

static void maps_equal_the_recipe(void **state) {
    (void)state;
    static const char *const outputs[] = {"a.img", "b.img --interleave bip", "c.tif", "d.tif -f COG",
                                          "e.nc",  "f.tif --type int16"};
    Table table = turned_table();
    Cube scene = the_scene(), wanted = recipe(&scene, &table, none);
    RunHow how = {.settings = {.block_lines = 3}};
    write_emit("emit.nc", &table, MAP_LINES);
    for (size_t o = 0; o < sizeof outputs / sizeof *outputs; o++) {
        char path[16];
        snprintf(path, sizeof path, "%.*s", (int)strcspn(outputs[o], " "), outputs[o]);
        check_runs(o % 2 ? &how : NULL, "read emit.nc ! write %s --ortho", outputs[o]);
        Cube map = cube_in(path, MAP_LINES, MAP_SAMPLES, BANDS);
        check_cubes(&map, &wanted);
        check_place(path, place);
        cube_free(&map);
    }
    cube_free(&scene);
    cube_free(&wanted);
}

/* Statistics see the scene of the sensor, each pixel once: the map of the result is the result on the map. */
static void stages_run_in_sensor_geometry(void **state) {
    (void)state;
    Table table = turned_table();
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    write_emit("emit.nc", &table, MAP_LINES);
    check_runs(&how, "read emit.nc ! bands 1,2,4 ! pca ! write map.img --ortho ! write sensor.img");
    assert_non_null(strstr(notes.data, "31 lines x 29 samples"));
    Cube sensor = cube_read_floats("sensor", LINES, SAMPLES, 3);
    Cube map = cube_read_floats("map", MAP_LINES, MAP_SAMPLES, 3), wanted = recipe(&sensor, &table, NAN);
    check_cubes(&map, &wanted);
    cube_free(&sensor);
    cube_free(&map);
    cube_free(&wanted);
    hc_text_clear(&notes);
}

/* The map of a window is that of the scene, without what lies elsewhere, and as large as what is left. */
static void windows_cut_the_table(void **state) {
    (void)state;
    Table table = turned_table();
    int top = MAP_LINES, bottom = 0, left = MAP_SAMPLES, right = 0;
    Cube scene = the_scene();
    write_emit("emit.nc", &table, MAP_LINES);
    for (int at = 0; at < MAP_LINES * MAP_SAMPLES; at++) {
        double s = table.sample[at] - 1, l = table.line[at] - 1;
        bool inside = s >= 4 && s < 11 && l >= 6 && l < 15;
        table.sample[at] = inside ? table.sample[at] : 0;
        if (inside) {
            top = at / MAP_SAMPLES < top ? at / MAP_SAMPLES : top;
            bottom = at / MAP_SAMPLES + 1;
            left = at % MAP_SAMPLES < left ? at % MAP_SAMPLES : left;
            right = at % MAP_SAMPLES >= right ? at % MAP_SAMPLES + 1 : right;
        }
    }
    Cube all = recipe(&scene, &table, none);
    check_runs(NULL, "read emit.nc --window 4,6,7,9 ! write cut.tif --ortho");
    Cube cut = cube_in("cut.tif", bottom - top, right - left, BANDS);
    for (int y = top; y < bottom; y++) {
        for (int x = left; x < right; x++) {
            for (int b = 0; b < BANDS; b++) {
                check_same(cube_pixel(&cut, y - top, x - left)[b], cube_pixel(&all, y, x)[b]);
            }
        }
    }
    const double moved[6] = {place[0] + left * place[1], place[1], 0, place[3] + top * place[5], 0, place[5]};
    check_place("cut.tif", moved);
    cube_free(&scene);
    cube_free(&all);
    cube_free(&cut);
}

/* ENVI's tables have negative numbers where a pixel was filled from a neighbour, and the place in map info.
 */
static void envi_tables_have_signs(void **state) {
    (void)state;
    static const char map_info[] = "map info = {UTM, 1, 1, 400000, 4000000, 5, 5, 33, North, WGS-84}\n";
    const double utm[6] = {400000, 5, 0, 4000000, 0, -5};
    Table table = turned_table();
    Cube scene = the_scene(), wanted = recipe(&scene, &table, none);
    cube_write(&scene, "scene", HC_FLOAT32, "bil", "data ignore value = -9999\n");
    write_glt("scene_glt", &table, true, map_info);
    check_runs(NULL, "read scene.img ! write map.tif --ortho=scene_glt.img");
    Cube map = cube_in("map.tif", MAP_LINES, MAP_SAMPLES, BANDS);
    check_cubes(&map, &wanted);
    check_place("map.tif", utm);
    cube_free(&map);
    /* A copy of a product is placed by the product. */
    write_emit("emit.nc", &table, MAP_LINES);
    check_runs(NULL, "read scene.img ! write of_copy.img --ortho=emit.nc");
    map = cube_in("of_copy.img", MAP_LINES, MAP_SAMPLES, BANDS);
    check_cubes(&map, &wanted);
    cube_free(&map);
    cube_free(&scene);
    cube_free(&wanted);
}

/* Class numbers stay integers, and the class of no class stands where the scene does not reach. */
static void classes_stay_classes(void **state) {
    (void)state;
    Table table = turned_table();
    Cube scene = cube_new(LINES, SAMPLES, 1);
    for (int at = 0; at < LINES * SAMPLES; at++) {
        scene.value[at] = 1 + at % 3;
    }
    cube_write(&scene, "classes", HC_UINT8, "bsq",
               "file type = ENVI Classification\nclasses = 4\n"
               "class names = {Unclassified, oak, clay, water}\n");
    write_glt("classes_glt", &table, false, NULL);
    check_runs(NULL, "read classes.img ! write map.tif --ortho=classes_glt.img");
    Cube wanted = recipe(&scene, &table, 0);
    HcReader *reader = NULL;
    HcError err = {0};
    check_ok(hc_reader_open(&reader, "map.tif", NULL, &err), err);
    const HcScene *is = hc_reader_scene(reader);
    assert_int_equal(is->type, HC_UINT8);
    assert_int_equal(is->classes.count, 4);
    assert_string_equal(is->classes.name[3], "water");
    assert_true(is->has_nodata && is->nodata == 0);
    hc_reader_close(reader);
    check_runs(NULL, "read map.tif --source-nodata none ! write again.img --type float32");
    Cube map = cube_read_floats("again", MAP_LINES, MAP_SAMPLES, 1);
    check_cubes(&map, &wanted);
    cube_free(&scene);
    cube_free(&map);
    cube_free(&wanted);
}

/* No pixel of the scene can be masked, and yet some of its map hold nothing. */
static void complete_scenes_get_nodata(void **state) {
    (void)state;
    Table table = turned_table();
    Cube scene = cube_new(LINES, SAMPLES, 2);
    for (int at = 0; at < LINES * SAMPLES * 2; at++) {
        scene.value[at] = at % 200;
    }
    cube_write(&scene, "whole", HC_UINT8, "bil", NULL);
    write_glt("whole_glt", &table, false, NULL);
    check_runs(NULL, "read whole.img ! write map.tif --type uint8 --ortho=whole_glt.img");
    Cube wanted = recipe(&scene, &table, 255);
    check_runs(NULL, "read map.tif --source-nodata none ! write again.img --type float32");
    Cube map = cube_read_floats("again", MAP_LINES, MAP_SAMPLES, 2);
    check_cubes(&map, &wanted);
    HcReader *reader = NULL;
    HcError err = {0};
    check_ok(hc_reader_open(&reader, "map.tif", NULL, &err), err);
    assert_true(hc_reader_scene(reader)->has_nodata && hc_reader_scene(reader)->nodata == 255);
    hc_reader_close(reader);
    cube_free(&scene);
    cube_free(&map);
    cube_free(&wanted);
}

/* A picture of the map is the picture of its file. */
static void previews_show_the_map(void **state) {
    (void)state;
    Table table = turned_table();
    RunHow how = {.settings = {.block_lines = 2}};
    write_emit("emit.nc", &table, MAP_LINES);
    check_runs(&how,
               "read emit.nc ! preview a.png --ortho --bands 1,2,3 ! preview small.png --ortho --size 16 "
               "--bands 4 ! write map.tif --ortho");
    check_runs(NULL, "read map.tif ! preview b.png --bands 1,2,3 ! preview thin.png --size 16 --bands 4");
    check_same_files("a.png", "b.png");
    check_same_files("small.png", "thin.png");
    check_runs(NULL, "read emit.nc ! preview sensor.png --bands 1,2,3");
    size_t bytes = 0, other = 0;
    char *a = file_bytes("a.png", &bytes), *sensor = file_bytes("sensor.png", &other);
    assert_true(bytes != other || memcmp(a, sensor, bytes) != 0);
    free(a);
    free(sensor);
}

/* ---- coordinates ---- */

/* A bent scene. In degrees a step in longitude is shorter on the ground than one in latitude. */
static Cube coordinates(bool degrees) {
    Cube igm = cube_new(LINES, SAMPLES, 3);
    for (int line = 0; line < LINES; line++) {
        for (int sample = 0; sample < SAMPLES; sample++) {
            double *at = cube_pixel(&igm, line, sample);
            double x = 0.9 * sample - 0.4 * line + 0.01 * line * line, y = -0.35 * sample - 0.85 * line;
            at[0] = degrees ? 12 + 0.001 * x : 400000 + 30 * x;
            at[1] = degrees ? 60 + 0.0005 * y : 4000000 + 30 * y;
            at[2] = 7;
        }
    }
    cube_pixel(&igm, 3, 3)[0] = NAN;
    cube_pixel(&igm, 5, 9)[1] = -9999;
    return igm;
}

/* The nearest pixel by trying all, on the grid that was chosen; ties go to the first. */
static void check_nearest(const char *path, const Cube *igm, const Cube *scene, bool degrees) {
    HcReader *reader = NULL;
    HcError err = {0};
    int filled = 0;
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    HcScene map_scene = {0};
    check_ok(hc_scene_copy(&map_scene, hc_reader_scene(reader), &err), err);
    hc_reader_close(reader);
    const double *t = map_scene.place.transform;
    int lines = (int)map_scene.lines, samples = (int)map_scene.samples;
    Cube map = cube_in(path, lines, samples, BANDS);
    double south = INFINITY, north = -INFINITY, west = INFINITY;
    for (size_t p = 0; p < cube_pixels(igm); p++) {
        double x = igm->value[3 * p], y = igm->value[3 * p + 1];
        if (!isnan(x) && !isnan(y) && y > -9000) {
            south = fmin(south, y);
            north = fmax(north, y);
            west = fmin(west, x);
        }
    }
    double shrink = degrees ? cos((south + north) / 2 * 0.017453292519943295) : 1;
    check_near(t[0] + t[1] / 2, west, 1e-9 * fabs(west));
    check_near(t[3] + t[5] / 2, north, 1e-9 * fabs(north));
    check_same(t[1], -t[5]);
    for (int y = 0; y < lines; y++) {
        for (int x = 0; x < samples; x++) {
            double cx = t[0] + t[1] * (x + 0.5), cy = t[3] + t[5] * (y + 0.5), best = INFINITY,
                   next = INFINITY;
            size_t at = 0;
            for (size_t p = 0; p < cube_pixels(igm); p++) {
                double far = hypot((igm->value[3 * p] - cx) * shrink, igm->value[3 * p + 1] - cy);
                bool known = !isnan(far) && igm->value[3 * p + 1] > -9000;
                if (known && far < best) {
                    next = best;
                    best = far;
                    at = p;
                } else if (known && far < next) {
                    next = far;
                }
            }
            bool is = cube_pixel(&map, y, x)[0] != none;
            filled += is;
            if (next - best > 1e-6 * best && is) {
                check_same(cube_pixel(&map, y, x)[1], scene->value[at * BANDS + 1]);
            }
            /* Half of the longest diagonal is always within reach, and twice as far never. */
            assert_true(is || best > 0.5 * hypot(t[1], t[1]));
            assert_true(!is || best < 2 * hypot(t[1], t[1]));
        }
    }
    assert_true(filled > LINES * SAMPLES / 2 && filled < lines * samples);
    cube_free(&map);
    hc_scene_clear(&map_scene);
}

static void coordinates_give_the_nearest_pixel(void **state) {
    (void)state;
    Cube scene = the_scene();
    for (int i = 0; i < BANDS; i++) {
        cube_pixel(&scene, 4, 6)[i] = 5000 + i; /* no pixel is masked */
    }
    cube_write(&scene, "scene", HC_FLOAT32, "bil", "data ignore value = -9999\n");
    for (int degrees = 0; degrees < 2; degrees++) {
        HcText notes = {0};
        RunHow how = {.notes = &notes};
        Cube igm = coordinates(degrees);
        cube_write(&igm, "scene_igm", HC_FLOAT64, "bsq", NULL);
        check_runs(&how, "read scene.img ! write map.tif --ortho=scene_igm.img");
        assert_non_null(strstr(notes.data, "by the nearest pixel within"));
        check_nearest("map.tif", &igm, &scene, degrees);
        HcReader *reader = NULL;
        HcError err = {0};
        check_ok(hc_reader_open(&reader, "map.tif", NULL, &err), err);
        assert_int_equal(hc_reader_scene(reader)->place.crs != NULL, degrees);
        hc_reader_close(reader);
        cube_free(&igm);
        hc_text_clear(&notes);
    }
    cube_free(&scene);
}

/* ---- failures ---- */

static void wrong_tables_are_refused(void **state) {
    (void)state;
    Table table = turned_table(), wrong = table;
    Cube scene = the_scene(), small = cube_new(3, 4, 2);
    int entries;
    cube_write(&scene, "scene", HC_FLOAT32, "bil", NULL);
    cube_write(&small, "small_igm", HC_FLOAT32, "bil", NULL);
    cube_write(&small, "empty_glt", HC_INT16, "bil", NULL);
    int middle = MAP_LINES / 2 * MAP_SAMPLES + MAP_SAMPLES / 2;
    wrong.line[middle] = LINES + 1;
    write_emit("beyond.nc", &wrong, MAP_LINES);
    write_emit("shape.nc", &table, MAP_LINES - 1);
    wrong.line[middle] = 1;
    wrong.sample[middle] = -SAMPLES - 1;
    write_glt("beyond_glt", &wrong, false, NULL);
    entries = folder_entries();
    check_run_fails(NULL, HC_E_INPUT, "beyond.nc ... line 24, sample",
                    "read beyond.nc ! write map.tif --ortho");
    check_run_fails(NULL, HC_E_INPUT, "30 x 29 values ... 31 x 29", "read shape.nc ! write map.tif --ortho");
    check_run_fails(NULL, HC_E_INPUT, "line 1, sample 18 (at its line 15, sample 14, from 0)",
                    "read scene.img ! write map.tif --ortho=beyond_glt.img");
    check_run_fails(NULL, HC_E_INPUT, "scene.img: has no lookup table",
                    "read scene.img ! write map.tif --ortho");
    check_run_fails(NULL, HC_E_INPUT, "scene.img: has no lookup table",
                    "read scene.img ! preview map.png --ortho");
    check_run_fails(NULL, HC_E_INPUT, "5 bands of float32 ... no lookup table",
                    "read scene.img ! write map.tif --ortho=scene.img");
    check_run_fails(NULL, HC_E_INPUT, "coordinates of 3 lines x 4 samples ... 23 x 17",
                    "read scene.img ! write map.tif --ortho=small_igm.img");
    check_run_fails(NULL, HC_E_INPUT, "leads to no pixel of the scene",
                    "read scene.img ! write map.tif --ortho=empty_glt.img");
    check_run_fails(NULL, HC_E_INPUT, "nowhere", "read scene.img ! write map.tif --ortho=nowhere");
    assert_int_equal(folder_entries(), entries);
    cube_free(&scene);
    cube_free(&small);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(maps_equal_the_recipe, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(stages_run_in_sensor_geometry, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(windows_cut_the_table, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(envi_tables_have_signs, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(classes_stay_classes, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(complete_scenes_get_nodata, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(previews_show_the_map, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(coordinates_give_the_nearest_pixel, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(wrong_tables_are_refused, folder_setup, folder_teardown),
    };
    GDALAllRegister();
    if (GDALGetDriverByName("netCDF") == NULL) {
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
