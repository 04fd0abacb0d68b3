/* extract: means, deviations and limits of classes, polygons and regions against plain sums in double; every
 * pixel as it is; places that are training data again; the same bytes for blocks, threads and backends; what
 * is written as input of other stages; what is refused. */
#include "figure/figure.h"
#include "io/library/library.h"
#include "io/read/reader.h"
#include "io/training/training.h"
#include "tests/support/strict_runs.h"

#include <gdal.h>
#include <math.h>
#include <ogr_api.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEIGHT = 23, WIDTH = 19, CHANNELS = 7, CLASSES = 3 };

/* Three classes; class 3 has two regions that touch the others only, class 1 two that touch at a corner. */
static int class_at(int line, int sample) {
    bool corner = (line >= 10 && line < 13 && sample >= 10 && sample < 13) ||
                  (line >= 13 && line < 15 && sample >= 13 && sample < 16);
    return corner                                                     ? 1
           : line >= 2 && line < 6 && sample >= 3                     ? 2
           : (line == 20 && sample < 5) || (line == 17 && sample > 9) ? 3
                                                                      : 0;
}

/* The regions of that map in the order of their first pixels, from 1. */
static int region_at(int line, int sample) {
    static const int of_class[] = {0, 2, 1, 0};
    int found = class_at(line, sample);
    return found == 3 ? (line == 17 ? 3 : 4) : of_class[found];
}

static Cube make_scene(void) {
    Cube cube = cube_new(HEIGHT, WIDTH, CHANNELS);
    Cube map = cube_new(HEIGHT, WIDTH, 1);
    uint64_t seed = 5;
    for (int p = 0; p < HEIGHT * WIDTH; p++) {
        map.value[p] = class_at(p / WIDTH, p % WIDTH);
        for (int b = 0; b < CHANNELS; b++) {
            cube.value[p * CHANNELS + b] =
                floor(2000 + 500 * map.value[p] * (b % 3) + 90 * random_normal(&seed));
        }
    }
    for (int k = 0; k < 4; k++) { /* masked pixels of two classes */
        cube.valid[(size_t)(3 * WIDTH + 4 + 2 * k)] = 0;
        memset(cube_pixel(&cube, 3, 4 + 2 * k), 0, CHANNELS * sizeof(double));
    }
    cube.valid[20 * WIDTH + 1] = 0;
    memset(cube_pixel(&cube, 20, 1), 0, CHANNELS * sizeof(double));
    cube_write(&cube, "scene", HC_UINT16, "bil", "data ignore value = 0\n");
    cube_write(&map, "map", HC_UINT8, "bsq", NULL);
    cube_free(&map);
    return cube;
}

typedef struct Plain {
    int pixels;
    double mean[CHANNELS], deviation[CHANNELS], lowest[CHANNELS], highest[CHANNELS];
} Plain;

static Plain plain_of(const Cube *cube, int (*group_at)(int, int), int group) {
    Plain plain = {0};
    for (int turn = 0; turn < 2; turn++) {
        for (int p = 0; p < HEIGHT * WIDTH; p++) {
            if (group_at(p / WIDTH, p % WIDTH) != group || !cube->valid[p]) {
                continue;
            }
            plain.pixels += turn == 0;
            for (int b = 0; b < CHANNELS; b++) {
                double x = cube->value[p * CHANNELS + b];
                bool first = turn == 0 && plain.pixels == 1;
                plain.lowest[b] = first ? x : fmin(plain.lowest[b], x);
                plain.highest[b] = first ? x : fmax(plain.highest[b], x);
                plain.mean[b] += turn == 0 ? x : 0;
                plain.deviation[b] += turn == 1 ? pow(x - plain.mean[b], 2) : 0;
            }
        }
        for (int b = 0; b < CHANNELS; b++) {
            plain.mean[b] /= turn == 0 ? plain.pixels : 1;
            plain.deviation[b] = turn == 1 ? sqrt(plain.deviation[b] / (plain.pixels - 1)) : 0;
        }
    }
    return plain;
}

/* The rows of the table are those of the groups, band after band. */
static void check_table(const char *path, const Cube *cube, int (*group_at)(int, int), int groups,
                        bool with_polygon) {
    size_t bytes = 0;
    char *text = file_bytes(path, &bytes);
    char *row = strchr(text, '\n');
    for (int g = 1; g <= groups; g++) {
        Plain plain = plain_of(cube, group_at, g);
        for (int b = 0; b < CHANNELS; b++) {
            int class = 0, polygon = g, pixels = 0, band = 0;
            double mean = NAN, deviation = NAN, lowest = NAN, highest = NAN;
            assert_non_null(row);
            int read = with_polygon ? sscanf(row, "\n\"Class %d\",%d,%d,%d,,%lf,%lf,%lf,%lf", &class,
                                             &polygon, &pixels, &band, &mean, &deviation, &lowest, &highest)
                                    : sscanf(row, "\n\"Class %d\",%d,%d,,%lf,%lf,%lf,%lf", &class, &pixels,
                                             &band, &mean, &deviation, &lowest, &highest);
            assert_int_equal(read, with_polygon ? 8 : 7);
            assert_int_equal(polygon, g);
            assert_int_equal(pixels, plain.pixels);
            assert_int_equal(band, b + 1);
            check_near(mean, plain.mean[b], 1e-8 * plain.mean[b]);
            check_near(deviation, plain.deviation[b], 1e-8 * plain.mean[b]);
            check_near(lowest, plain.lowest[b], 0);
            check_near(highest, plain.highest[b], 0);
            row = strchr(row + 1, '\n');
        }
    }
    assert_string_equal(row, "\n");
    free(text);
}

static void check_means(const char *path, const Cube *cube, int (*group_at)(int, int), int groups) {
    HcLibrary library = {0};
    HcError err = {0};
    assert_int_equal(hc_library_read(&library, path, &err), HC_OK);
    assert_int_equal(library.count, groups);
    assert_int_equal(library.bands, CHANNELS);
    for (int g = 0; g < groups; g++) {
        Plain plain = plain_of(cube, group_at, g + 1);
        for (int b = 0; b < CHANNELS; b++) {
            check_near(library.value[g * CHANNELS + b], plain.mean[b], 1e-7 * plain.mean[b]);
        }
    }
    hc_library_clear(&library);
}

static void means_are_those_of_plain_sums(void **state) {
    (void)state;
    Cube cube = make_scene();
    check_runs(NULL, "read scene.img ! extract c.sli --labels map.hdr --csv c.csv --statistics table.csv");
    check_means("c.sli", &cube, class_at, CLASSES);
    check_means("c.csv", &cube, class_at, CLASSES);
    check_table("table.csv", &cube, class_at, CLASSES, false);
    check_runs(NULL,
               "read scene.img ! extract r.sli --labels map.hdr --each polygon --statistics regions.csv");
    check_means("r.sli", &cube, region_at, 4);
    check_table("regions.csv", &cube, region_at, 4, true);
    cube_free(&cube);
}

/* Two polygons of one class, and features without an attribute: a class by itself is enough here. */
static void polygons_have_spectra_of_their_own(void **state) {
    (void)state;
    HcLibrary library = {0};
    HcError err = {0};
    Cube cube = make_scene();
    file_write("p.csv", "WKT,kind\n\"POLYGON((9 17,19 17,19 18,9 18,9 17))\",wall\n"
                        "\"POLYGON((0 20,5 20,5 21,0 21,0 20))\",wall\n");
    file_write("n.csv", "WKT,id\n\"POLYGON((3 2,19 2,19 6,3 6,3 2))\",4\n");
    check_runs(NULL, "read scene.img ! extract p.sli --labels p.csv --each polygon");
    assert_int_equal(hc_library_read(&library, "p.sli", &err), HC_OK);
    assert_int_equal(library.count, 2);
    for (int k = 0; k < 2; k++) {
        assert_string_equal(library.name[k], "wall");
    }
    Plain second = plain_of(&cube, region_at, 4);
    for (int b = 0; b < CHANNELS; b++) {
        check_near(library.value[CHANNELS + b], second.mean[b], 1e-7 * second.mean[b]);
    }
    hc_library_clear(&library);
    check_runs(NULL, "read scene.img ! extract n.sli --labels n.csv");
    assert_int_equal(hc_library_read(&library, "n.sli", &err), HC_OK);
    assert_int_equal(library.count, 1);
    Plain only = plain_of(&cube, class_at, 2);
    for (int b = 0; b < CHANNELS; b++) {
        check_near(library.value[b], only.mean[b], 1e-7 * only.mean[b]);
    }
    hc_library_clear(&library);
    cube_free(&cube);
}

static const char areas[] =
    "WKT,kind,owner,name,plot,height\n"
    "\"POLYGON((100 1,105 1,105 5,100 5,100 1))\",wall,nobody,x,1,9.5\n" /* beside the scene */
    "\"POLYGON((9 17,19 17,19 18,9 18,9 17))\",wall,\"Smith, \"\"J\"\"\",north,12,2.25\n"
    "\"POLYGON((3 2,19 2,19 6,3 6,3 2))\",field,,south,7,\n";

/* Of a layer written with --attributes: the values of the point in that pixel. */
static void check_point(const char *path, int line, int sample, const char *owner, const char *name, int plot,
                        double height) {
    GDALDatasetH data = GDALOpenEx(path, GDAL_OF_VECTOR | GDAL_OF_READONLY, NULL, NULL, NULL);
    assert_non_null(data);
    OGRLayerH layer = GDALDatasetGetLayer(data, 0);
    char filter[64];
    snprintf(filter, sizeof filter, "line = %d AND sample = %d", line, sample);
    assert_int_equal(OGR_L_SetAttributeFilter(layer, filter), OGRERR_NONE);
    OGRFeatureH feature = OGR_L_GetNextFeature(layer);
    assert_non_null(feature);
    assert_string_equal(OGR_F_GetFieldAsString(feature, OGR_F_GetFieldIndex(feature, "owner")), owner);
    assert_string_equal(OGR_F_GetFieldAsString(feature, OGR_F_GetFieldIndex(feature, "name_1")), name);
    OGRFieldDefnH of_plot = OGR_F_GetFieldDefnRef(feature, OGR_F_GetFieldIndex(feature, "plot"));
    assert_int_equal(OGR_Fld_GetType(of_plot), OFTInteger64);
    assert_int_equal(OGR_F_GetFieldAsInteger64(feature, OGR_F_GetFieldIndex(feature, "plot")), plot);
    int at = OGR_F_GetFieldIndex(feature, "height");
    assert_int_equal(OGR_F_IsFieldSetAndNotNull(feature, at), !isnan(height));
    if (!isnan(height)) {
        check_near(OGR_F_GetFieldAsDouble(feature, at), height, 0);
    }
    OGR_F_Destroy(feature);
    GDALClose(data);
}

/* The attributes of polygons go with their pixels and their rows. */
static void attributes_are_kept(void **state) {
    (void)state;
    size_t bytes = 0;
    Cube cube = make_scene();
    file_write("a.csv", areas);
    file_write("a.csvt", "\"WKT\",\"String\",\"String\",\"String\",\"Integer\",\"Real\"\n");
    check_runs(NULL, "read scene.img ! extract a.sli --labels a.csv --field kind --attributes all --places "
                     "a.gpkg --each polygon --statistics t.csv");
    check_point("a.gpkg", 17, 12, "Smith, \"J\"", "north", 12, 2.25);
    check_point("a.gpkg", 5, 3, "", "south", 7, NAN);
    char *text = file_bytes("t.csv", &bytes);
    assert_non_null(
        strstr(text, ",minimum,maximum,\"owner\",\"name\",\"plot\",\"height\"\n\"wall\",1,10,1,"));
    assert_non_null(strstr(text, ",\"Smith, \"\"J\"\"\",\"north\",12,2.25\n\"wall\",1,10,2,"));
    assert_non_null(strstr(text, ",\"\",\"south\",7,\n\"field\",2,"));
    free(text);
    check_runs(NULL,
               "read scene.img ! extract b.sli --labels a.csv --field kind --attributes plot,kind --each "
               "polygon --statistics u.csv");
    text = file_bytes("u.csv", &bytes);
    assert_non_null(strstr(text, ",maximum,\"plot\",\"kind\"\n"));
    assert_non_null(strstr(text, ",12,\"wall\"\n"));
    free(text);
    static const char *const wrong[][2] = {
        {"--labels a.csv --field kind --attributes size --places c.gpkg",
         "a.csv: layer 'a' has no attribute 'size'"},
        {"--labels map.hdr --attributes all --places c.gpkg", "map.hdr: is a raster ... no attributes 'all'"},
        {"--labels a.csv --field kind --attributes all --statistics c.csv",
         "--attributes all: goes with --places, or with --statistics and --each polygon"}};
    for (int k = 0; k < 3; k++) {
        check_run_fails(NULL, HC_E_USAGE, wrong[k][1], "read scene.img ! extract c.sli %s", wrong[k][0]);
    }
    cube_free(&cube);
}

/* All valid pixels in the order of the scene; their places are labelled pixels again. */
static void pixels_and_their_places(void **state) {
    (void)state;
    HcLibrary library = {0};
    HcLabelled labelled = {0};
    HcReader *reader = NULL;
    HcError err = {0};
    Cube cube = make_scene();
    check_runs(NULL, "read scene.img ! extract x.sli --labels map.hdr --each pixel --places x.gpkg");
    assert_int_equal(hc_library_read(&library, "x.sli", &err), HC_OK);
    assert_int_equal(hc_reader_open(&reader, "scene.img", NULL, &err), HC_OK);
    assert_int_equal(hc_labelled_read("x.gpkg", "name", NULL, hc_reader_scene(reader), &labelled, &err),
                     HC_OK);
    int count = 0;
    for (int p = 0; p < HEIGHT * WIDTH; p++) {
        int class = class_at(p / WIDTH, p % WIDTH);
        if (class == 0 || !cube.valid[p]) {
            continue;
        }
        char name[16];
        snprintf(name, sizeof name, "Class %d", class);
        assert_true(count < library.count && count < labelled.count);
        assert_string_equal(library.name[count], name);
        assert_string_equal(labelled.classes.name[labelled.label[count]], name);
        assert_int_equal(labelled.line[count] * WIDTH + labelled.sample[count], p);
        for (int b = 0; b < CHANNELS; b++) {
            check_near(library.value[count * CHANNELS + b], cube.value[p * CHANNELS + b], 0);
        }
        count++;
    }
    assert_int_equal(library.count, count);
    assert_int_equal(labelled.count, count);
    hc_labelled_clear(&labelled);
    hc_library_clear(&library);
    hc_reader_close(reader);
    cube_free(&cube);
}

/* ---- the same for any way to run ---- */

static const char *const outputs[] = {"e.sli", "e.hdr", "e.csv", "e.gpkg", "e.png", "t.csv", NULL};
static const char all[] =
    "read scene.img ! extract e.sli --labels map.hdr --csv e.csv --places e.gpkg --picture "
    "e.png --statistics t.csv --each %s --overwrite";

static void runs_agree(void **state) {
    (void)state;
    static const char *const each[] = {"class", "polygon", "pixel"};
    Cube cube = make_scene();
    for (int k = 0; k < 3; k++) {
        check_runs(NULL, all, each[k]);
        files_keep(outputs);
        for (int32_t lines = 1; lines <= 24; lines += 11) {
            check_runs((&(RunHow){.threads = 1 + lines % 3, .settings.block_lines = lines}), all, each[k]);
            for (int i = 0; outputs[i] != NULL; i++) {
                char kept[32];
                snprintf(kept, sizeof kept, "kept.%s", outputs[i]);
                check_same_files(outputs[i], kept);
            }
        }
        check_runs((&(RunHow){.ops = hc_strict_ops(), .settings.block_lines = 7}), all, each[k]);
        check_kept(outputs);
    }
    cube_free(&cube);
}

static void failures_leave_nothing(void **state) {
    (void)state;
    static const char *const chains[] = {"read scene.img ! extract e.sli --labels map.hdr --csv e.csv "
                                         "--places e.gpkg --picture e.png --statistics "
                                         "t.csv"};
    Cube cube = make_scene();
    check_failures_leave_nothing(chains, 1, 4, outputs);
    cube_free(&cube);
}

/* What is written is a library and training data to the other stages. */
static void others_take_it(void **state) {
    (void)state;
    Cube cube = make_scene();
    check_runs(NULL, "read scene.img ! extract c.sli --labels map.hdr --places c.gpkg");
    check_runs(NULL, "read scene.img ! extract x.sli --labels map.hdr --each pixel");
    check_runs(NULL, "read scene.img ! unmix --library c.sli --lambda 0 ! write u.img");
    check_runs(NULL, "read scene.img ! abundance --endmembers c.sli ! write a.img");
    check_runs(NULL, "read scene.img ! detect --targets c.sli --method mf ! write d.img");
    check_runs(NULL, "read scene.img ! knn --training x.sli -k 1 ! write k.img --type float32");
    check_runs(NULL, "read scene.img ! classify --training c.gpkg --field name --shrink 0.5 ! write l.img");
    check_runs(NULL, "read scene.img ! classify --method distance --training c.sli ! write m.img");
    Cube nearest = cube_read_floats("k", HEIGHT, WIDTH, 1);
    for (int p = 0; p < HEIGHT * WIDTH; p++) { /* a training pixel is its own neighbour */
        int class = class_at(p / WIDTH, p % WIDTH);
        if (class > 0 && cube.valid[p]) {
            check_near(nearest.value[p], class == 3 ? 3 : 3 - class, 0); /* in the order of the library */
        }
    }
    cube_free(&nearest);
    cube_free(&cube);
}

/* ---- what is left out, and refused ---- */

static void refusals(void **state) {
    (void)state;
    HcText notes = {0};
    Cube cube = make_scene();
    file_write("masked.csv", "WKT,kind\n\"POINT(4.5 3.5)\",gone\n\"POINT(5.5 3.5)\",there\n");
    file_write("gone.csv", "WKT,kind\n\"POINT(4.5 3.5)\",gone\n");
    file_write("two.csv", "WKT,a,b\n\"POINT(4.5 3.5)\",x,y\n");
    file_write("away.csv", "WKT,kind\n\"POINT(400 3.5)\",far\n");
    check_runs((&(RunHow){.notes = &notes}), "read scene.img ! extract m.sli --labels masked.csv");
    check_says(notes.data, "1 of 2 classes ... no valid pixel ... ('gone')");
    hc_text_clear(&notes);
    check_run_fails(NULL, HC_E_NUMERIC, "gone.csv: none of its 1 pixels",
                    "read scene.img ! extract g.sli --labels gone.csv");
    check_run_fails(NULL, HC_E_USAGE, "two.csv: layer 'two' does not say ... which field",
                    "read scene.img ! extract g.sli --labels two.csv");
    check_run_fails(NULL, HC_E_USAGE, "has no field 'c'",
                    "read scene.img ! extract g.sli --labels two.csv --field c");
    check_run_fails(NULL, HC_E_INPUT, "away.csv", "read scene.img ! extract g.sli --labels away.csv");
    check_run_fails(NULL, HC_E_USAGE, "g.txt: ends neither with .sli nor .csv",
                    "read scene.img ! extract g.txt --labels map.hdr");
    check_run_fails(NULL, HC_E_USAGE, "--statistics g.json ... .csv",
                    "read scene.img ! extract g.sli --labels map.hdr --statistics g.json");
    check_run_fails(NULL, HC_E_USAGE, "extract: classes come in, spectra are needed",
                    "read scene.img ! knn --training map.hdr -k 1 ! extract g.sli --labels map.hdr");
    check_run_fails(NULL, HC_E_USAGE, "--labels", "read scene.img ! extract g.sli");
    assert_false(file_exists("g.sli"));
    assert_false(file_exists("g.hdr"));
    cube_free(&cube);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(means_are_those_of_plain_sums, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(polygons_have_spectra_of_their_own, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(attributes_are_kept, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(pixels_and_their_places, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(runs_agree, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(failures_leave_nothing, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(others_take_it, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(refusals, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
