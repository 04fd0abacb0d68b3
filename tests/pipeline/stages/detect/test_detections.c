/* --detections of detect and rx: the points of the file against all scores of the scene, sorted here. */
#include "tests/support/strict.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <ogr_api.h>
#include <gdal.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES = 19, SAMPLES = 23, BANDS = 5, PIXELS = LINES * SAMPLES };

typedef struct Scored {
    double score;
    int32_t pixel;
} Scored;

/* Better scores first, then the order of the scene. */
static int by_score(const void *a, const void *b) {
    const Scored *x = a;
    const Scored *y = b;
    int order = (x->score < y->score) - (x->score > y->score);
    return order != 0 ? order : x->pixel - y->pixel;
}

/* The valid pixels of band `band` of out.img, best first; returns how many. */
static int32_t sorted(const Cube *scores, int32_t band, bool low, Scored *out) {
    int32_t count = 0;
    for (int32_t p = 0; p < PIXELS; p++) {
        double score = scores->value[p * scores->bands + band];
        if (!isnan(score)) {
            out[count++] = (Scored){low ? -score : score, p};
        }
    }
    qsort(out, (size_t)count, sizeof *out, by_score);
    return count;
}

/* The points are the first `top` pixels of each band that reach the threshold (NAN = none), no more and no
 * less. */
static void check_points(const char *path, int32_t bands, const char *const *name, bool low, int32_t top,
                         double threshold) {
    Scored all[PIXELS];
    Cube scores = cube_read_floats("out", LINES, SAMPLES, bands);
    GDALAllRegister();
    GDALDatasetH file = GDALOpenEx(path, GDAL_OF_VECTOR, NULL, NULL, NULL);
    assert_non_null(file);
    OGRLayerH layer = GDALDatasetGetLayer(file, 0);
    for (int32_t b = 0; b < bands; b++) {
        int32_t count = sorted(&scores, b, low, all);
        for (int32_t k = 0; k < count && k < top; k++) {
            double score = low ? -all[k].score : all[k].score;
            if (!isnan(threshold) && (low ? score > threshold : score < threshold)) {
                break;
            }
            OGRFeatureH point = OGR_L_GetNextFeature(layer);
            assert_non_null(point);
            assert_string_equal(OGR_F_GetFieldAsString(point, 0), name[b]);
            assert_int_equal(OGR_F_GetFieldAsInteger64(point, 1), all[k].pixel / SAMPLES);
            assert_int_equal(OGR_F_GetFieldAsInteger64(point, 2), all[k].pixel % SAMPLES);
            check_near(OGR_F_GetFieldAsDouble(point, 3), score, 0);
            OGR_F_Destroy(point);
        }
    }
    assert_null(OGR_L_GetNextFeature(layer));
    GDALClose(file);
    cube_free(&scores);
}

/* Few different values, so that scores are equal; masked pixels. */
static void write_scene(void) {
    Cube cube = cube_new(LINES, SAMPLES, BANDS);
    uint64_t seed = 4;
    for (size_t i = 0; i < PIXELS * BANDS; i++) {
        cube.value[i] = 100 + 10 * (double)(i % BANDS) + floor(3 * random_uniform(&seed));
    }
    cube_border(&cube, 0);
    cube_write(&cube, "scene", HC_UINT16, "bil", "data ignore value = 0\n");
    cube_free(&cube);
}

static void points_are_the_best_pixels(void **state) {
    (void)state;
    static const char *const names[] = {"line 4 sample 5", "line 12 sample 9"};
    static const char *const anomaly[] = {"anomaly"};
    static const char detect[] = "detect --target-pixel 4,5 --target-pixel 12,9 --overwrite";
    write_scene();
    check_runs(NULL, "read scene.img ! %s --method mf --detections d.gpkg ! write out.img --nodata nan",
               detect);
    check_points("d.gpkg", 2, names, false, 100, NAN);
    check_runs(NULL,
               "read scene.img ! %s --method mf --detections d.gpkg --top 7 ! write out.img --nodata nan",
               detect);
    check_points("d.gpkg", 2, names, false, 7, NAN);
    check_runs(
        NULL,
        "read scene.img ! %s --method mf --detections d.gpkg --top 1000 --threshold 0.25 ! write out.img "
        "--nodata nan",
        detect);
    check_points("d.gpkg", 2, names, false, 1000, 0.25);
    check_runs(NULL,
               "read scene.img ! %s --method sam --detections d.gpkg --top 9 ! write out.img --nodata nan",
               detect);
    check_points("d.gpkg", 2, names, true, 9, NAN);
    check_runs(
        NULL,
        "read scene.img ! %s --method sid --detections d.gpkg --top 1000 --threshold 1e-5 ! write out.img "
        "--nodata nan",
        detect);
    check_points("d.gpkg", 2, names, true, 1000, 1e-5);
    check_runs(NULL, "read scene.img ! rx --detections rx.gpkg --top 1000 ! write out.img --nodata nan");
    check_points("rx.gpkg", 1, anomaly, false, 1000, NAN);
    check_runs(NULL,
               "read scene.img ! rx --window 9 --detections rx.gpkg --overwrite --top 5 ! write out.img "
               "--nodata nan");
    check_points("rx.gpkg", 1, anomaly, false, 5, NAN);
}

/* The same bytes for any blocks, threads and backends, also without an image. */
static void files_do_not_depend_on_blocks(void **state) {
    (void)state;
    write_scene();
    static const char chain[] =
        "read scene.img ! detect --method ace --target-pixel 4,5 --top 6 --detections";
    RunHow whole = {.settings = {.block_lines = LINES}};
    RunHow parts = {.threads = 3, .settings = {.block_lines = 2}};
    RunHow strict = {.ops = hc_strict_ops(), .settings = {.block_lines = 5}};
    check_runs(&whole, "%s whole.gpkg", chain);
    check_runs(&parts, "%s parts.gpkg", chain);
    check_same_files("whole.gpkg", "parts.gpkg");
    check_runs(&strict, "%s strict.gpkg", chain);
    check_same_files("whole.gpkg", "strict.gpkg");
}

static void failures_leave_nothing(void **state) {
    (void)state;
    static const char *const chains[] = {
        "read scene.img ! detect --method mf --target-pixel 4,5 --detections d.gpkg",
        "read scene.img ! rx --detections r.gpkg"};
    static const char *const outputs[] = {"d.gpkg", "r.gpkg", NULL};
    write_scene();
    check_failures_leave_nothing(chains, 2, 4, outputs);
}

static void wrong_input_is_refused(void **state) {
    (void)state;
    write_scene();
    static const char *const cases[][2] = {
        {"rx --top 5", "rx: --top needs --detections"},
        {"rx --threshold 5", "rx: --threshold needs --detections"},
        {"detect --target-pixel 4,5 --top 5", "detect: --top needs --detections"},
        {"rx --detections d.shp", "d.shp: ends neither with .gpkg nor .geojson"},
        {"rx --detections d.geojson", "the scene has no CRS"},
        {"rx --detections d.gpkg --top 0", "--top 0"},
        {"mnf --keep-all ! detect --method mtmf --target-pixel 4,5 --detections d.gpkg", "no single order"},
        {"rx --detections no/folder/d.gpkg", "no/folder"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        HcError err = {0};
        HcStatus status = run_chain_text(NULL, &err, "read scene.img ! %s ! write bad.img", cases[k][0]);
        assert_true(status == HC_E_USAGE || (k == 7 && status == HC_E_IO));
        if (strstr(err.text, cases[k][1]) == NULL) {
            fail_msg("%s", err.text);
        }
    }
    check_runs(NULL, "read scene.img ! rx --detections d.gpkg");
    check_run_fails(&(RunHow){.keeps_outputs = true}, HC_E_USAGE, "d.gpkg: the file exists already",
                    "read scene.img ! rx --detections d.gpkg");
    assert_false(file_exists("bad.img"));
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(points_are_the_best_pixels),
        IN_FOLDER(files_do_not_depend_on_blocks),
        IN_FOLDER(failures_leave_nothing),
        IN_FOLDER(wrong_input_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
