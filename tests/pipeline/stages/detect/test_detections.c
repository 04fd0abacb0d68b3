/* --detections of detect and rx: the points of the file against all scores of the scene, sorted here. */
#include "pipeline/detections/false_alarm.h"
#include "tests/support/strict.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <ogr_api.h>
#include <gdal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void write_scene(void) {
    Cube cube = cube_few_values(LINES, SAMPLES, BANDS, 4);
    cube_border(&cube, 0);
    cube_write(&cube, "scene", HC_UINT16, "bil", "data ignore value = 0\n");
    cube_free(&cube);
}

static void points_are_the_best_pixels(void **state) {
    (void)state;
    static const char *const names[] = {"sample 5 line 4", "sample 9 line 12"};
    static const char *const anomaly[] = {"anomaly"};
    static const char detect[] = "detect --target-at 5,4 --target-at 9,12 --overwrite";
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
    check_runs(NULL, "read scene.img ! rx --side 9 --detections rx.gpkg --overwrite --top 5 ! write out.img "
                     "--nodata nan");
    check_points("rx.gpkg", 1, anomaly, false, 5, NAN);
}

enum { CAP = 400 };

typedef struct Rates {
    double score[CAP], share[CAP], rate[CAP];
    int32_t count;
    bool fitted; /* the file has rates */
} Rates;

static void read_rates(const char *path, Rates *out) {
    GDALAllRegister();
    GDALDatasetH file = GDALOpenEx(path, GDAL_OF_VECTOR, NULL, NULL, NULL);
    assert_non_null(file);
    OGRLayerH layer = GDALDatasetGetLayer(file, 0);
    int rate = OGR_FD_GetFieldIndex(OGR_L_GetLayerDefn(layer), "false_alarm");
    int share = OGR_FD_GetFieldIndex(OGR_L_GetLayerDefn(layer), "rank_share");
    assert_true(share >= 0);
    *out = (Rates){.fitted = rate >= 0};
    for (OGRFeatureH point; (point = OGR_L_GetNextFeature(layer)) != NULL; OGR_F_Destroy(point)) {
        assert_true(out->count < CAP);
        int32_t k = out->count++;
        out->score[k] = OGR_F_GetFieldAsDouble(point, 3);
        out->share[k] = OGR_F_GetFieldAsDouble(point, share);
        out->rate[k] = out->fitted ? OGR_F_GetFieldAsDouble(point, rate) : out->share[k];
    }
    GDALClose(file);
}

/* Of the 5 bands, which all vary. The standard deviation of the matched filter is that of its scores, since
 * they are those of the background. */
static double rate_expected(const char *method, double score, int32_t pixels, double deviation) {
    HcNullLaw law = {.null = strcmp(method, "ace") == 0   ? HC_NULL_COHERENCE
                             : strcmp(method, "amf") == 0 ? HC_NULL_ROOT_NORMAL
                             : strcmp(method, "rx") == 0  ? HC_NULL_CHI_SQUARE
                                                          : HC_NULL_NORMAL,
                     .directions = 5,
                     .pixels = pixels,
                     .deviation = deviation};
    return hc_false_alarm(&law, 0, score);
}

static int32_t deviation_of(double *deviation) {
    Cube scores = cube_read_floats("out", LINES, SAMPLES, 1);
    double sum = 0, squares = 0;
    int32_t count = 0;
    for (int32_t p = 0; p < PIXELS; p++) {
        double score = scores.value[p];
        if (!isnan(score)) {
            sum += score;
            squares += score * score;
            count++;
        }
    }
    *deviation = sqrt((squares - sum * sum / count) / (count - 1));
    cube_free(&scores);
    return count;
}

/* Of all scored pixels, those up to the rate are left, with rates of the Gaussian background and of ranks. */
static void check_rates(const char *method, const char *step, bool fitted) {
    static Rates all, some;
    double deviation = 0;
    check_runs(NULL,
               "read scene.img ! %s --overwrite --detections a.gpkg --top 1000 ! write out.img --nodata nan",
               step);
    int32_t count = deviation_of(&deviation);
    read_rates("a.gpkg", &all);
    assert_int_equal(all.count, count);
    assert_int_equal(all.fitted, fitted);
    for (int32_t k = 0; k < count; k++) {
        check_near(all.share[k], (k + 1.0) / count, 1e-15);
        if (fitted) {
            check_near(all.rate[k], rate_expected(method, all.score[k], count, deviation), 2e-6);
        }
    }
    int32_t left = 0;
    while (left < count && all.rate[left] <= 0.3) {
        left++;
    }
    assert_in_range(left, 1, count - 1);
    check_runs(NULL, "read scene.img ! %s --overwrite --detections s.gpkg --top 1000 --false-alarm 0.3",
               step);
    read_rates("s.gpkg", &some);
    assert_int_equal(some.count, left);
    for (int32_t k = 0; k < left; k++) {
        check_near(some.rate[k], all.rate[k], 0);
    }
}

static void rates_are_those_of_the_background(void **state) {
    (void)state;
    write_scene();
    check_rates("mf", "detect --target-at 5,4 --method mf", true);
    check_rates("amf", "detect --target-at 5,4 --method amf", true);
    check_rates("ace", "detect --target-at 5,4 --method ace", true);
    check_rates("rx", "rx", true);
    check_rates("", "detect --target-at 5,4 --method cem", false);
    check_rates("", "detect --target-at 5,4 --method sam", false);
    check_rates("", "detect --target-at 5,4 --method ace --shrink 0.1", false);
    check_rates("", "rx --shrink 0.1", false);
    check_rates("", "rx --side 9", false);
}

/* The same bytes for any blocks, threads and backends, also without an image. */
static void files_do_not_depend_on_blocks(void **state) {
    (void)state;
    write_scene();
    static const char chain[] =
        "read scene.img ! detect --method ace --target-at 5,4 --top 6 --false-alarm 0.5 --detections";
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
        "read scene.img ! detect --method mf --target-at 5,4 --detections d.gpkg",
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
        {"rx --false-alarm 1e-3", "rx: --false-alarm needs --detections"},
        {"rx --detections d.gpkg --false-alarm 0", "--false-alarm 0"},
        {"rx --detections d.gpkg --false-alarm 2", "--false-alarm 2"},
        {"rx --detections d.gpkg --false-alarm nan", "--false-alarm nan"},
        {"detect --target-at 5,4 --top 5", "detect: --top needs --detections"},
        {"rx --detections d.shp", "d.shp: ends neither with .gpkg nor .geojson"},
        {"rx --detections d.geojson", "the scene has no CRS"},
        {"rx --detections d.gpkg --top 0", "--top 0"},
        {"mnf --keep-all ! detect --method mtmf --target-at 5,4 --detections d.gpkg", "no single order"},
        {"rx --detections no/folder/d.gpkg", "no/folder"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        HcError err = {0};
        HcStatus status = run_chain_text(NULL, &err, "read scene.img ! %s ! write bad.img", cases[k][0]);
        assert_true(status == HC_E_USAGE || (k == 11 && status == HC_E_IO));
        if (!check_holds(err.text, cases[k][1])) {
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
        IN_FOLDER(points_are_the_best_pixels),    IN_FOLDER(rates_are_those_of_the_background),
        IN_FOLDER(files_do_not_depend_on_blocks), IN_FOLDER(failures_leave_nothing),
        IN_FOLDER(wrong_input_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
