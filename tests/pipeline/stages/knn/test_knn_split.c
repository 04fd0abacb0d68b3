/* knn --split-by polygon: polygons train or validate as a whole, in the number that the fraction says. */
#include "pipeline/json/json.h"
#include "tests/support/nearest.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Rows of pixels from sample 8 to 15: six polygons of wood, three of meadow and one of sand. */
enum { WIDTH_OF_ROW = 8, ROWS = 10 };
static const char *const class_of_row[ROWS] = {"wood", "meadow", "wood", "wood", "sand",
                                               "wood", "meadow", "wood", "wood", "meadow"};

static int line_of_row(int row) {
    return 3 + 3 * row;
}

static void write_rows(const char *path) {
    HcText text = {0};
    hc_text_add(&text, "WKT,kind\n");
    for (int row = 0; row < ROWS; row++) {
        int line = line_of_row(row);
        hc_text_add(&text, "\"POLYGON((8 %d,16 %d,16 %d,8 %d,8 %d))\",%s\n", line, line, line + 1, line + 1,
                    line, class_of_row[row]);
    }
    file_write(path, text.data);
    hc_text_clear(&text);
}

/* How many pixels of each row train. */
static void count_training(const char *report, int trained[ROWS]) {
    cJSON *json = knn_read_json(report);
    const cJSON *line = NULL;
    memset(trained, 0, ROWS * sizeof *trained);
    cJSON_ArrayForEach(line, cJSON_GetObjectItem(json, "training_line_from_0")) {
        int at = (int)line->valuedouble - 3;
        assert_true(at >= 0 && at % 3 == 0 && at / 3 < ROWS);
        trained[at / 3]++;
    }
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(json, "split_by")), "polygon");
    cJSON_Delete(json);
}

static void check_split(double fraction, int seed, int wood, int meadow, int trained[ROWS]) {
    int of_wood = 0, of_meadow = 0, validation = 0;
    HcText notes = {0};
    check_runs(
        (&(RunHow){.notes = &notes}),
        "read scene.img ! knn --training rows.csv --field kind -k 1 --neighbours --split %g --split-by "
        "polygon --seed %d --report r.json --overwrite ! write out.img",
        fraction, seed);
    check_says(notes.data, "1 of 3 classes ... one polygon ... none ... validated ('sand')");
    hc_text_clear(&notes);
    count_training("r.json", trained);
    for (int row = 0; row < ROWS; row++) {
        assert_true(trained[row] == 0 || trained[row] == WIDTH_OF_ROW);
        of_wood += trained[row] > 0 && strcmp(class_of_row[row], "wood") == 0;
        of_meadow += trained[row] > 0 && strcmp(class_of_row[row], "meadow") == 0;
        validation += trained[row] == 0 ? WIDTH_OF_ROW : 0;
    }
    assert_int_equal(of_wood, wood);
    assert_int_equal(of_meadow, meadow);
    assert_int_equal(trained[4], WIDTH_OF_ROW);
    cJSON *json = knn_read_json("r.json");
    check_near(number_of(json, "validation_pixels"), validation, 0);
    cJSON_Delete(json);
}

static void polygons_stay_whole(void **state) {
    (void)state;
    int trained[2][ROWS];
    int different = 0;
    Cube scene = knn_scene();
    for (int row = 0; row < ROWS; row++) {
        for (int s = 8; s < 16; s++) {
            assert_true(scene.valid[line_of_row(row) * SAMPLES + s] != 0);
        }
    }
    write_rows("rows.csv");
    for (int seed = 1; seed <= 8; seed++) {
        check_split(0.5, seed, 3, 2, trained[seed % 2]);
        check_split(0.5, seed, 3, 2, trained[seed % 2]); /* the same again */
        different += seed > 1 && memcmp(trained[0], trained[1], sizeof trained[0]) != 0;
    }
    assert_true(different > 4);
    check_split(0.01, 1, 1, 1, trained[0]);
    check_split(0.99, 1, 5, 2, trained[0]); /* one of each is left to validate */
    cube_free(&scene);
}

/* Regions of a class raster. */
static void regions_stay_whole(void **state) {
    (void)state;
    Cube scene = knn_scene();
    Cube map = cube_new(LINES, SAMPLES, 1);
    int trained[ROWS];
    for (int row = 0; row < ROWS; row++) {
        for (int s = 8; s < 16; s++) {
            map.value[line_of_row(row) * SAMPLES + s] = class_of_row[row][0] == 'w' ? 1 : 2;
        }
    }
    cube_write(&map, "rows", HC_UINT8, "bsq", NULL);
    check_runs(NULL,
               "read scene.img ! knn --training rows.img -k 1 --neighbours --split 0.5 --split-by polygon "
               "--report r.json ! write out.img");
    count_training("r.json", trained);
    int whole = 0;
    for (int row = 0; row < ROWS; row++) {
        assert_true(trained[row] == 0 || trained[row] == WIDTH_OF_ROW);
        whole += trained[row] > 0;
    }
    assert_int_equal(whole, 5);
    cube_free(&map);
    cube_free(&scene);
}

/* Polygons that train may have most of the pixels, whatever the fraction: the plan counts all. */
static void planned_memory_holds_whole_polygons(void **state) {
    (void)state;
    uint64_t planned[2];
    Cube scene = knn_scene();
    write_rows("rows.csv");
    for (int whole = 0; whole < 2; whole++) {
        HcRunReport report = {0};
        check_runs((&(RunHow){.ops = hc_strict_ops(), .settings = {.block_lines = 8}, .report = &report}),
                   "read scene.img ! knn --training rows.csv --field kind -k 1 --split 0.3 --split-by %s ! "
                   "write out%d.img",
                   whole ? "polygon" : "pixel", whole);
        planned[whole] = report.device_bytes;
    }
    /* Of 80 pixels, 24 and one a class: BANDS values in two forms, a norm, and a label. */
    assert_true(planned[1] - planned[0] >= (uint64_t)(80 - 24 - 3) * (2 * BANDS * sizeof(float) + 12));
    cube_free(&scene);
}

static void refusals(void **state) {
    (void)state;
    Cube scene = knn_scene();
    write_rows("rows.csv");
    check_run_fails(
        NULL, HC_E_USAGE, "knn: --split-by needs --split",
        "read scene.img ! knn --training rows.csv --field kind -k 1 --split-by polygon ! write bad.img");
    file_write("one.csv",
               "WKT,kind\n\"POLYGON((8 3,16 3,16 4,8 4,8 3))\",a\n\"POLYGON((8 6,16 6,16 7,8 7,8 6))\",b\n");
    check_run_fails(
        NULL, HC_E_NUMERIC, "no pixel ... to validate with",
        "read scene.img ! classify --training one.csv --field kind --split 0.5 --split-by polygon ! "
        "write bad.img");
    assert_false(file_exists("bad.img"));
    cube_free(&scene);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(polygons_stay_whole),
        IN_FOLDER(regions_stay_whole),
        IN_FOLDER(planned_memory_holds_whole_polygons),
        IN_FOLDER(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
