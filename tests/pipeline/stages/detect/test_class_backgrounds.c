/* --by classes=of detect and rx: the pixels of a class have the bits of a run whose background is
 * that class alone
 * (--by mask, which test_detect_background compares with float64). Pixels without a class, classes
 * that cannot be a background. */
#include "pipeline/detections/false_alarm.h"
#include "tests/support/reference.h"
#include "tests/support/strict.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES = 31, SAMPLES = 17, BANDS = 6, PIXELS = LINES * SAMPLES, CLASSES = 3 };

/* 7, 8 and 11 in stripes and spots, 0 in a corner. */
static int class_at(size_t pixel) {
    size_t line = pixel / SAMPLES;
    size_t sample = pixel % SAMPLES;
    return line < 3 && sample < 4 ? 0 : pixel % 13 == 0 ? 11 : line + sample < 20 ? 7 : 8;
}

static Cube make_scene(uint64_t seed, bool integers) {
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, seed, integers);
    for (size_t p = 0; p < PIXELS; p++) {
        for (size_t b = 0; b < BANDS; b++) {
            double *value = &cube.value[p * BANDS + b];
            *value = 100 + *value * (1 + class_at(p) % 4) + class_at(p) * (double)(b % 3);
            *value = integers ? rint(*value) : (double)(float)(*value * 0.0123);
        }
    }
    return cube;
}

static void write_map(void) {
    Cube map = cube_new(LINES, SAMPLES, 1);
    for (size_t p = 0; p < PIXELS; p++) {
        map.value[p] = class_at(p);
    }
    cube_write(&map, "map", HC_UINT8, "bsq", NULL);
    cube_free(&map);
}

static const int classes[CLASSES] = {7, 8, 11};

/* out.img of a step with classes, against a run for each class. */
static void check_step(const Cube *cube, const char *step, int32_t bands) {
    check_runs(NULL, "read scene.img ! %s --by classes=map.img ! write out.img --nodata nan", step);
    Cube got = cube_read_floats("out", LINES, SAMPLES, bands);
    size_t compared = 0;
    for (int k = 0; k < CLASSES; k++) {
        check_runs(NULL, "read scene.img ! %s --by mask=map.img:1!=%d ! write one.img --nodata nan", step,
                   classes[k]);
        Cube one = cube_read_floats("one", LINES, SAMPLES, bands);
        for (size_t i = 0; i < PIXELS * (size_t)bands; i++) {
            size_t p = i / (size_t)bands;
            if (class_at(p) == classes[k] && cube->valid[p]) {
                check_near(got.value[i], one.value[i], 0);
                compared++;
            } else if (!cube->valid[p] || class_at(p) == 0) {
                assert_true(isnan(got.value[i]));
            }
        }
        cube_free(&one);
    }
    assert_true(compared > PIXELS / 2);
    cube_free(&got);
}

#define TARGETS " --target-at 5,20 --target-at 9,12"

static void classes_are_backgrounds(void **state) {
    (void)state;
    write_map();
    for (int round = 0; round < 2; round++) {
        Cube cube = make_scene(1 + (uint64_t)round, round == 0);
        cube_border(&cube, 0);
        cube_write(&cube, "scene", round == 0 ? HC_INT16 : HC_FLOAT32, round == 0 ? "bil" : "bip",
                   "data ignore value = 0\n");
        check_step(&cube, "detect --method mf" TARGETS, 2);
        check_step(&cube, "detect --method ace" TARGETS, 2);
        check_step(&cube, "detect --method amf" TARGETS, 2);
        check_step(&cube, "detect --method cem" TARGETS, 2);
        check_step(&cube, "detect --method ace --shrink oas" TARGETS, 2);
        check_step(&cube, "detect --method ace --rates gaussian" TARGETS, 4);
        check_step(&cube, "detect --method mf --rates gaussian" TARGETS, 4);
        check_step(&cube, "rx", 1);
        check_step(&cube, "rx --shrink 0.05", 1);
        check_step(&cube, "rx --rates gaussian", 2);
        check_step(&cube, "rx --robust 1e-2", 1);
        check_step(&cube, "rx --shrink ledoit-wolf", 1);
        check_step(&cube, "detect --method mf --robust 1e-2" TARGETS, 2);
        check_step(&cube, "detect --method ace --robust 1e-2 --shrink ledoit-wolf" TARGETS, 2);
        cube_free(&cube);
    }
}

/* A mask leaves pixels of each class. */
static void a_mask_goes_with_classes(void **state) {
    (void)state;
    Cube map = cube_new(LINES, SAMPLES, 1);
    Cube cube = make_scene(9, true);
    write_map();
    for (size_t p = 0; p < PIXELS; p++) {
        map.value[p] = p % 3 == 0 ? 0 : class_at(p);
    }
    cube_write(&map, "some", HC_UINT8, "bsq", NULL);
    cube_write(&cube, "scene", HC_INT16, "bil", NULL);
    check_runs(NULL, "read scene.img ! rx --by classes=map.img --by mask=some.img:1=0 --rates "
                     "gaussian ! write out.img --nodata nan");
    Cube got = cube_read_floats("out", LINES, SAMPLES, 2);
    for (int k = 0; k < CLASSES; k++) {
        check_runs(NULL,
                   "read scene.img ! rx --by mask=some.img:1!=%d --rates gaussian ! write one.img "
                   "--nodata nan",
                   classes[k]);
        Cube one = cube_read_floats("one", LINES, SAMPLES, 2);
        for (size_t i = 0; i < PIXELS * 2; i++) {
            if (class_at(i / 2) == classes[k]) {
                check_near(got.value[i], one.value[i], 0);
            }
        }
        cube_free(&one);
    }
    cube_free(&got);
    cube_free(&cube);
    cube_free(&map);
}

enum { WIDTH = 6, CELLS = 9 };

/* Classes in ranges of columns, from 1; 0 = none. */
static int cell_at(size_t pixel) {
    int class = class_at(pixel);
    int number = class == 7 ? 0 : class == 8 ? 1 : 2;
    return class == 0 ? 0 : 1 + number + CLASSES * (int)(pixel % SAMPLES / WIDTH);
}

static void write_cells(void) {
    Cube map = cube_new(LINES, SAMPLES, 1);
    for (size_t p = 0; p < PIXELS; p++) {
        map.value[p] = cell_at(p);
    }
    cube_write(&map, "cells", HC_UINT8, "bsq", NULL);
    cube_free(&map);
}

/* out.img of a step by classes and columns, against a run for each cell: the same bits. A cell of too few
 * pixels is masked. Returns how many pixels were compared. */
static size_t check_cells(const Cube *cube, const char *step, int32_t bands) {
    size_t compared = 0;
    check_runs(NULL, "read scene.img ! %s --by classes=map.img,columns=6 ! write out.img --nodata nan", step);
    Cube got = cube_read_floats("out", LINES, SAMPLES, bands);
    for (int cell = 1; cell <= CELLS; cell++) {
        int pixels = 0;
        for (size_t p = 0; p < PIXELS; p++) {
            pixels += cell_at(p) == cell && cube->valid[p];
        }
        bool scored = pixels > BANDS + 2;
        if (scored) {
            check_runs(NULL, "read scene.img ! %s --by mask=cells.img:1!=%d ! write one.img --nodata nan",
                       step, cell);
        }
        Cube one = cube_read_floats(scored ? "one" : "out", LINES, SAMPLES, bands);
        for (size_t i = 0; i < PIXELS * (size_t)bands; i++) {
            size_t p = i / (size_t)bands;
            if (cell_at(p) == cell && cube->valid[p] && scored) {
                check_near(got.value[i], one.value[i], 0);
                compared++;
            } else if (!cube->valid[p] || cell_at(p) == 0) {
                assert_true(isnan(got.value[i]));
            }
        }
        cube_free(&one);
    }
    cube_free(&got);
    return compared;
}

static void products_are_masks_of_their_cells(void **state) {
    (void)state;
    static const struct {
        const char *step;
        int32_t bands;
    } cases[] = {{"rx", 1},
                 {"rx --shrink 0.05", 1},
                 {"rx --rates gaussian", 2},
                 {"rx --robust 1e-2", 1},
                 {"rx --shrink ledoit-wolf", 1},
                 {"detect --method mf" TARGETS, 2},
                 {"detect --method cem" TARGETS, 2},
                 {"detect --method ace --rates gaussian" TARGETS, 4},
                 {"detect --method amf --shrink oas" TARGETS, 2},
                 {"detect --method mf --robust 1e-2 --shrink ledoit-wolf" TARGETS, 2}};
    write_map();
    write_cells();
    for (int round = 0; round < 2; round++) {
        Cube cube = make_scene(21 + (uint64_t)round, round == 0);
        cube_border(&cube, 0);
        cube_write(&cube, "scene", round == 0 ? HC_INT16 : HC_FLOAT32, round == 0 ? "bil" : "bip",
                   "data ignore value = 0\n");
        for (size_t k = (size_t)round; k < sizeof cases / sizeof *cases; k += 2) {
            assert_true(check_cells(&cube, cases[k].step, cases[k].bands) > PIXELS / 2);
        }
        cube_free(&cube);
    }
}

/* Scores of rx by classes and columns, against float64. */
static void products_are_those_of_float64(void **state) {
    (void)state;
    write_map();
    Cube cube = make_scene(31, true);
    Cube some = make_scene(31, true);
    cube_write(&cube, "scene", HC_INT32, "bil", NULL);
    check_runs(NULL, "read scene.img ! rx --by columns=6 --by classes=map.img ! write out.img --nodata nan");
    Cube got = cube_read_floats("out", LINES, SAMPLES, 1);
    for (int cell = 1; cell <= CELLS; cell++) {
        double mean[BANDS], covariance[BANDS * BANDS], x[BANDS], y[BANDS];
        for (size_t p = 0; p < PIXELS; p++) {
            some.valid[p] = cell_at(p) == cell;
        }
        bool scored = reference_covariance(&some, mean, covariance) > BANDS + 2;
        for (size_t p = 0; p < PIXELS && scored; p++) {
            for (int b = 0; b < BANDS; b++) {
                x[b] = cube.value[p * BANDS + (size_t)b] - mean[b];
            }
            reference_solve(BANDS, covariance, x, y);
            double expected = reference_product(BANDS, x, y);
            if (cell_at(p) == cell) {
                check_near(got.value[p], expected, 1e-6 * (1 + expected));
            }
        }
    }
    cube_free(&got);
    cube_free(&some);
    cube_free(&cube);
}

/* Ranks are among the pixels that have scores. */
static void ranks_are_of_all_classes(void **state) {
    (void)state;
    write_map();
    Cube cube = make_scene(3, true);
    cube_write(&cube, "scene", HC_INT16, "bil", NULL);
    check_runs(NULL, "read scene.img ! detect --by classes=map.img --target-at 5,20 --rates rank ! write "
                     "out.img --nodata nan");
    Cube got = cube_read_floats("out", LINES, SAMPLES, 2);
    for (size_t p = 0; p < PIXELS; p++) {
        double better = 0, all = 0;
        for (size_t q = 0; q < PIXELS; q++) {
            all += !isnan(got.value[2 * q]);
            better += got.value[2 * q] >= got.value[2 * p];
        }
        assert_int_equal(isnan(got.value[2 * p]), class_at(p) == 0);
        if (class_at(p) != 0) {
            check_near(got.value[2 * p + 1], better / all, 1e-7);
        }
    }
    cube_free(&got);
    cube_free(&cube);
}

static void pixels_without_a_class_are_told(void **state) {
    (void)state;
    HcText notes = {0};
    RunHow how = {.notes = &notes, .settings = {.block_lines = 4}};
    write_map();
    Cube cube = make_scene(4, true);
    cube_write(&cube, "scene", HC_INT16, "bil", NULL);
    check_runs(&how, "read scene.img ! detect --by classes=map.img --target-at 5,20 --rates rank ! filter "
                     "mean3x3 ! write out.img");
    if (strstr(notes.data, "12 pixels are masked") == NULL) {
        fail_msg("%s", notes.data);
    }
    hc_text_clear(&notes);
    cube_free(&cube);
}

static void blocks_and_backends_agree(void **state) {
    (void)state;
    static const char *const chains[] = {
        "read scene.img ! detect --by classes=map.img" TARGETS " ! write out.img",
        "read scene.img ! detect --method mf --by classes=map.img" TARGETS
        " --rates both ! filter mean3x3 ! write out.img",
        "read scene.img ! rx --by classes=map.img --rates both ! write out.img",
        "read scene.img ! rx --by classes=map.img --robust 1e-2 --shrink ledoit-wolf ! write out.img",
        "read scene.img ! rx --by classes=map.img,columns=6 --rates both ! filter mean3x3 ! write out.img",
        "read scene.img ! detect --by columns=9 --robust 1e-2 --shrink ledoit-wolf" TARGETS
        " ! write out.img",
    };
    static const char *const results[] = {"out.img", "out.hdr", NULL};
    write_map();
    Cube cube = make_scene(5, false);
    cube_border(&cube, 0);
    cube_write(&cube, "scene", HC_FLOAT32, "bip", "data ignore value = 0\n");
    check_runs_agree(chains, sizeof chains / sizeof *chains, 3);
    check_failures_leave_nothing(chains, sizeof chains / sizeof *chains, 7, results);
    cube_free(&cube);
}

/* Points with two attributes are the same classes once one is named. */
static void vectors_are_classes_by_a_field(void **state) {
    (void)state;
    static const char chain[] = "read scene.img ! %s --by classes=%s ! write %s.img --nodata nan";
    HcText points = {0};
    Cube cube = make_scene(8, true);
    cube_write(&cube, "scene", HC_INT16, "bil", NULL);
    write_map();
    hc_text_add(&points, "WKT,kind,owner\n");
    for (size_t p = 0; p < PIXELS; p++) {
        if (class_at(p) != 0) {
            hc_text_add(&points, "\"POINT(%zu.5 %zu.5)\",Class %d,%s\n", p % SAMPLES, p / SAMPLES,
                        class_at(p), p % 2 == 0 ? "a" : "b");
        }
    }
    file_write("points.csv", points.data);
    hc_text_clear(&points);
    static const char *const steps[] = {"rx", "detect --target-at 5,20"};
    for (int k = 0; k < 2; k++) {
        check_runs(NULL, chain, steps[k], "map.img", k == 0 ? "map0" : "map1");
        check_runs(NULL, chain, steps[k], "points.csv --field kind --layer points",
                   k == 0 ? "points0" : "points1");
        check_same_files(k == 0 ? "map0.img" : "map1.img", k == 0 ? "points0.img" : "points1.img");
        check_run_fails(NULL, HC_E_USAGE, "does not say ... which field", chain, steps[k], "points.csv",
                        "no");
        check_run_fails(NULL, HC_E_USAGE, "has no field 'size'", chain, steps[k], "points.csv --field size",
                        "no");
        check_run_fails(NULL, HC_E_USAGE, "map.img: is a raster ... no field 'kind'", chain, steps[k],
                        "map.img --field kind", "no");
        check_run_fails(NULL, HC_E_USAGE, "--layer needs --by",
                        "read scene.img ! %s --layer points ! write no.img", steps[k]);
    }
    cube_free(&cube);
}

/* Leaves `count` pixels of a class valid; `value` is what they hold, NAN = what they held. */
static void write_with_few(int number, int left, double value) {
    Cube cube = make_scene(6, true);
    for (size_t p = 0; p < PIXELS; p++) {
        if (class_at(p) == number) {
            left--;
            for (size_t b = 0; b < BANDS; b++) {
                double *at = &cube.value[p * BANDS + b];
                *at = left < 0 ? 0 : isnan(value) ? *at : value;
            }
        }
    }
    cube_write(&cube, "scene", HC_INT16, "bil", "data ignore value = 0\n");
    cube_free(&cube);
}

static void classes_that_are_no_background(void **state) {
    (void)state;
    static const char chain[] = "read scene.img ! detect --by classes=map.img --target-at 5,20%s ! write "
                                "out.img";
    write_map();
    write_with_few(11, 0, NAN);
    check_run_fails(
        NULL, HC_E_NUMERIC,
        "--by classes=map.img: class \"Class 11\" has 0 valid pixels ... 6 bands need ... --shrink", chain,
        "");
    write_with_few(11, 6, NAN);
    check_run_fails(NULL, HC_E_NUMERIC, "class \"Class 11\" has 6 valid pixels ... 6 bands need", chain, "");
    check_runs(NULL, chain, " --shrink 0.1");
    write_with_few(11, 1, NAN);
    check_run_fails(NULL, HC_E_NUMERIC, "class \"Class 11\" has 1 valid pixels", chain, " --shrink 0.1");
    write_with_few(11, 20, 500);
    check_run_fails(NULL, HC_E_NUMERIC, "detect: class \"Class 11\" ... 6 bands are constant", chain, "");
    static const char rx[] = "read scene.img ! rx --by classes=map.img ! write out.img";
    check_run_fails(NULL, HC_E_NUMERIC, "rx: class \"Class 11\" ... 6 bands are constant", rx);
    write_with_few(11, BANDS + 1, NAN); /* the name of the stage comes once */
    check_run_fails(NULL, HC_E_NUMERIC, "rx: class \"Class 11\": 7 valid pixels with 6 bands ... same score",
                    rx);
}

static void refusals(void **state) {
    (void)state;
    write_map();
    Cube cube = make_scene(7, true);
    cube_write(&cube, "scene", HC_INT16, "bil", NULL);
    static const char *const cases[][2] = {
        {"--background some.json", "detect: --by excludes --background"},
        {"--columns 2", "detect: --columns 2 ... --by mask=FILE"},
        {"--background-mask m.img", "detect: --background-mask m.img ... --by mask=FILE"},
        {"--background-classes=m.img", "detect: --background-classes m.img ... --by"},
        {"--by rows=2", "detect: --by rows=2: give mask=FILE, classes=FILE, columns[=COUNT]"},
        {"--by mask", "detect: --by mask: give mask=FILE"},
        {"--by columns=0", "detect: --by columns=0 ... 1 to 1000000"},
        {"--by columns=2,columns", "columns is given twice"},
        {"--method sam", "detect: --by: --method sam has no background"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        check_run_fails(NULL, HC_E_USAGE, cases[k][1],
                        "read scene.img ! detect --target-at 3,3 --by classes=map.img %s ! write out.img",
                        cases[k][0]);
    }
    check_run_fails(NULL, HC_E_INPUT, "none.img",
                    "read scene.img ! detect --target-at 3,3 --by classes=none.img ! write out.img");
    cube_free(&cube);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(classes_are_backgrounds),           IN_FOLDER(a_mask_goes_with_classes),
        IN_FOLDER(ranks_are_of_all_classes),          IN_FOLDER(pixels_without_a_class_are_told),
        IN_FOLDER(products_are_masks_of_their_cells), IN_FOLDER(products_are_those_of_float64),
        IN_FOLDER(blocks_and_backends_agree),         IN_FOLDER(classes_that_are_no_background),
        IN_FOLDER(vectors_are_classes_by_a_field),    IN_FOLDER(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
