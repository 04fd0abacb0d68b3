/* reflectance --empirical: against normal equations in plain float64, written here; a robust fit that a wrong
 * target does not move; residuals and R2 of the record; what is refused. */
#include "pipeline/json/json.h"
#include "tests/support/strict_runs.h"

#include <stdio.h>

enum { LINES = 30, SAMPLES = 20, BANDS = 4, TARGETS = 5, SIDE = 3 };

static const char *const names[TARGETS] = {"black", "dark grey", "grey", "light grey", "white"};
static const double gains[BANDS] = {2e-4, 3e-4, 1.5e-4, 4e-4}, offsets[BANDS] = {-0.02, 0.01, 0, -0.1};

static double truth_of(int target, int band) {
    return 0.05 + 0.2 * target + 0.01 * band;
}

/* The target of a pixel, -1 = none. Targets are squares of 3 x 3 pixels on the diagonal. */
static int target_at(int32_t line, int32_t sample) {
    for (int t = 0; t < TARGETS; t++) {
        if (line >= 5 * t && line < 5 * t + SIDE && sample >= 4 * t && sample < 4 * t + SIDE) {
            return t;
        }
    }
    return -1;
}

/* scene.img, points.csv and library.csv. error: of the values of a target, in each band. */
static Cube make_files(const double *error) {
    Cube cube = cube_new(LINES, SAMPLES, BANDS);
    FILE *points = fopen("points.csv", "w"), *library = fopen("library.csv", "w");
    assert_true(points != NULL && library != NULL);
    fputs("x,y,name\n", points);
    fputs("wavelength,black,dark grey,grey,light grey,white\n", library);
    for (int32_t p = 0; p < LINES * SAMPLES; p++) {
        int t = target_at(p / SAMPLES, p % SAMPLES);
        for (int b = 0; b < BANDS; b++) {
            double ripple = (p * 7 + b) % 5 - 2;
            double value = t < 0 ? 800 + p % 90 : (truth_of(t, b) - offsets[b]) / gains[b] + error[t];
            cube.value[(size_t)p * BANDS + (size_t)b] = (double)(float)(value + ripple);
        }
        if (t >= 0) {
            fprintf(points, "%d.5,%d.5,%s\n", p % SAMPLES, p / SAMPLES, names[t]);
        }
    }
    for (int b = 0; b < BANDS; b++) {
        fprintf(library, "%d", 500 + 100 * b);
        for (int t = 0; t < TARGETS; t++) {
            fprintf(library, ",%.4f", truth_of(t, b));
        }
        fputs("\n", library);
    }
    assert_true(fclose(points) == 0 && fclose(library) == 0);
    cube_write(&cube, "scene", HC_FLOAT32, "bil",
               "wavelength units = nm\nwavelength = {500, 600, 700, 800}\nfwhm = {10, 10, 10, 10}\n");
    return cube;
}

static void mean_of(const Cube *cube, int target, int band, double *mean) {
    double count = 0;
    *mean = 0;
    for (int32_t p = 0; p < LINES * SAMPLES; p++) {
        if (target_at(p / SAMPLES, p % SAMPLES) == target && cube->valid[p] != 0) {
            *mean += cube->value[(size_t)p * BANDS + (size_t)band];
            count++;
        }
    }
    *mean /= count;
}

/* Normal equations of y = offset + gain x. */
static void fit(const Cube *cube, int band, double *gain, double *offset) {
    double n = TARGETS, x = 0, y = 0, xx = 0, xy = 0;
    for (int t = 0; t < TARGETS; t++) {
        double mean;
        mean_of(cube, t, band, &mean);
        x += mean;
        y += truth_of(t, band);
        xx += mean * mean;
        xy += mean * truth_of(t, band);
    }
    *gain = (n * xy - x * y) / (n * xx - x * x);
    *offset = (y - *gain * x) / n;
}

static const double errors[TARGETS] = {30, -20, 10, 50, -40}, none[TARGETS] = {0}, one[TARGETS] = {0, 0, 900};

#define STEP "read scene.img ! reflectance --empirical points.csv --spectra library.csv"

static void least_squares_agree_with_normal_equations(void **state) {
    (void)state;
    Cube cube = make_files(errors);
    check_runs(NULL, STEP " ! write out.img");
    Cube out = cube_read_floats("out", LINES, SAMPLES, BANDS);
    for (int b = 0; b < BANDS; b++) {
        double gain, offset;
        fit(&cube, b, &gain, &offset);
        for (size_t p = 0; p < LINES * SAMPLES; p++) {
            check_near(out.value[p * BANDS + (size_t)b], offset + gain * cube.value[p * BANDS + (size_t)b],
                       1e-6);
        }
    }
    cube_free(&out);
    cube_free(&cube);
}

static void a_wrong_target_does_not_move_a_robust_fit(void **state) {
    (void)state;
    Cube cube = make_files(one);
    check_runs(NULL, STEP " --fit robust ! write out.img");
    check_runs(NULL, STEP " ! write squares.img");
    Cube out = cube_read_floats("out", LINES, SAMPLES, BANDS);
    Cube squares = cube_read_floats("squares", LINES, SAMPLES, BANDS);
    double worst = 0;
    for (size_t p = 0; p < LINES * SAMPLES; p++) {
        for (size_t b = 0; b < BANDS; b++) {
            double truth = offsets[b] + gains[b] * cube.value[p * BANDS + b];
            check_near(out.value[p * BANDS + b], truth, 2e-3); /* ripples: 2 counts in the mean at most */
            worst = fmax(worst, fabs(squares.value[p * BANDS + b] - truth));
        }
    }
    assert_true(worst > 0.02);
    cube_free(&squares);
    cube_free(&out);
    cube_free(&cube);
}

static void the_record_has_residuals(void **state) {
    (void)state;
    HcError err = {0};
    HcText notes = {0};
    cJSON *json = NULL;
    RunHow how = {.notes = &notes, .settings = {.record = "record.json"}};
    Cube cube = make_files(errors);
    check_runs(&how, STEP " --picture targets.svg ! write out.img");
    check_says(notes.data, "5 targets, largest root mean square residual ... in band 4, where R2 is 0.99");
    check_ok(hc_json_read("record.json", &json, &err), err);
    const cJSON *result =
        cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(json, "steps"), 1), "result");
    for (int b = 0; b < BANDS; b++) {
        double gain, offset, left = 0, all = 0, centre = truth_of(2, b);
        fit(&cube, b, &gain, &offset);
        for (int t = 0; t < TARGETS; t++) {
            double mean;
            mean_of(&cube, t, b, &mean);
            left += pow(truth_of(t, b) - offset - gain * mean, 2);
            all += pow(truth_of(t, b) - centre, 2);
        }
        check_near(cJSON_GetArrayItem(cJSON_GetObjectItem(result, "residual"), b)->valuedouble,
                   sqrt(left / TARGETS), 1e-6);
        check_near(cJSON_GetArrayItem(cJSON_GetObjectItem(result, "r2"), b)->valuedouble, 1 - left / all,
                   1e-5);
    }
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(result, "targets")), TARGETS);
    assert_true(file_exists("targets.svg"));
    cJSON_Delete(json);
    hc_text_clear(&notes);
    cube_free(&cube);
}

static void masked_pixels_take_no_part(void **state) {
    (void)state;
    Cube cube = make_files(none);
    for (size_t b = 0; b < BANDS; b++) {
        cube_pixel(&cube, 5, 4)[b] = 0; /* one of the nine of "dark grey" */
    }
    cube.valid[5 * SAMPLES + 4] = 0;
    cube_write(&cube, "scene", HC_FLOAT32, "bip",
               "data ignore value = 0\nwavelength units = nm\nwavelength = {500, 600, 700, 800}\n");
    check_runs(NULL, STEP " ! write out.img --nodata nan");
    Cube out = cube_read_floats("out", LINES, SAMPLES, BANDS);
    double gain, offset;
    fit(&cube, 1, &gain, &offset);
    check_near(cube_pixel(&out, 20, 2)[1], offset + gain * cube_pixel(&cube, 20, 2)[1], 1e-6);
    assert_true(isnan(cube_pixel(&out, 5, 4)[1]));
    cube_free(&out);
    cube_free(&cube);
}

static void blocks_and_threads_leave_no_trace(void **state) {
    (void)state;
    Cube cube = make_files(errors);
    const char *const chains[] = {STEP " ! write out.img",
                                  STEP " --fit robust ! filter mean3x3 ! write out.img"};
    const char *const results[] = {"out.img", "out.hdr", NULL};
    check_runs_agree(chains, 2, 3);
    check_failures_leave_nothing(chains, 1, 30, results);
    cube_free(&cube);
}

static void wrong_input_is_refused(void **state) {
    (void)state;
    Cube cube = make_files(none);
    FILE *file = fopen("few.csv", "w");
    assert_non_null(file);
    fputs("wavelength,black,white\n500,0.1,0.9\n800,0.1,0.9\n", file);
    assert_int_equal(fclose(file), 0);
    check_run_fails(NULL, HC_E_INPUT, "--spectra few.csv: has no whole spectrum \"dark grey\" ... points.csv",
                    "read scene.img ! reflectance --empirical points.csv --spectra few.csv ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "--empirical needs --spectra",
                    "read scene.img ! reflectance --empirical points.csv ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "--empirical excludes --panel", STEP " --panel 0.9 ! write bad.img");
    for (size_t p = 0; p < LINES * SAMPLES; p++) {
        cube.value[p * BANDS + 2] = 7;
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bip",
               "wavelength units = nm\nwavelength = {500, 600, 700, 800}\n");
    check_run_fails(NULL, HC_E_NUMERIC, "all targets have the value 7 in band 3", STEP " ! write bad.img");
    cube_write(&cube, "scene", HC_FLOAT32, "bip",
               "data ignore value = 7\nwavelength units = nm\nwavelength = {500, 600, 700, 800}\n");
    check_run_fails(NULL, HC_E_NUMERIC, "target \"black\" has no valid pixel", STEP " ! write bad.img");
    assert_false(file_exists("bad.img"));
    cube_free(&cube);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(least_squares_agree_with_normal_equations),
        IN_FOLDER(a_wrong_target_does_not_move_a_robust_fit),
        IN_FOLDER(the_record_has_residuals),
        IN_FOLDER(masked_pixels_take_no_part),
        IN_FOLDER(blocks_and_threads_leave_no_trace),
        IN_FOLDER(wrong_input_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
