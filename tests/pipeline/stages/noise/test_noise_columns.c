/* The noise of groups of columns against residuals of a regression by its definition, and against noise that
 * is known. */
#include "pipeline/json/json.h"
#include "tests/support/reference.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BANDS_MAX = 40 };

/* How noisy a column is, and what its detector adds to each band. */
static double gain_of(int32_t sample) {
    return 1 + 0.5 * sin(1.3 * sample);
}

static double stripe_of(int32_t sample, int32_t band) {
    return 0.3 * sin(2.1 * sample + 0.7 * band);
}

/* Three signals that change slowly; noise of deviation gain_of(sample) (0.5 + band / 40). */
static Cube make_scene(int32_t lines, int32_t samples, int32_t bands, double scale, bool masked) {
    uint64_t seed = 31;
    Cube cube = cube_new(lines, samples, bands);
    for (int32_t line = 0; line < lines; line++) {
        for (int32_t sample = 0; sample < samples; sample++) {
            double *x = cube_pixel(&cube, line, sample);
            for (int32_t b = 0; b < bands; b++) {
                double signal = 9 * sin(0.05 * line) * cos(1.0 + b) + 7 * cos(0.3 * sample) * sin(0.5 * b) +
                                5 * sin(0.02 * line * sample) * cos(0.3 * b);
                x[b] = 60 + signal + stripe_of(sample, b) +
                       gain_of(sample) * (0.5 + b / 40.0) * random_normal(&seed);
                x[b] = (double)(float)(scale > 1 ? round(scale * x[b]) : x[b]);
            }
        }
    }
    if (masked) {
        cube_border(&cube, 0);
    }
    return cube;
}

/* Solves a x = right for a symmetric positive definite a[n][n]; both are used up. */
static void solve(int32_t n, double *a, double *right) {
    for (int32_t k = 0; k < n; k++) {
        for (int32_t i = k + 1; i < n; i++) {
            double factor = a[i * n + k] / a[k * n + k];
            for (int32_t j = k; j < n; j++) {
                a[i * n + j] -= factor * a[k * n + j];
            }
            right[i] -= factor * right[k];
        }
    }
    for (int32_t k = n - 1; k >= 0; k--) {
        for (int32_t j = k + 1; j < n; j++) {
            right[k] -= a[k * n + j] * right[j];
        }
        right[k] /= a[k * n + k];
    }
}

/* Coefficients of band b by all others, 0 for itself; residuals are x[b] - sum. */
static void regress(const double *covariance, int32_t bands, int32_t b, double *coefficient) {
    double a[BANDS_MAX * BANDS_MAX];
    double right[BANDS_MAX];
    int32_t n = bands - 1;
    for (int32_t i = 0; i < n; i++) {
        int32_t row = i + (i >= b);
        right[i] = covariance[row * bands + b];
        for (int32_t j = 0; j < n; j++) {
            a[i * n + j] = covariance[row * bands + j + (j >= b)];
        }
    }
    solve(n, a, right);
    for (int32_t i = 0; i < bands; i++) {
        coefficient[i] = i == b ? 0 : right[i - (i > b)];
    }
}

/* Deviation of the residuals of band b in columns first .. end - 1, about their own mean. */
static double deviation_of(const Cube *cube, const double *coefficient, int32_t b, int32_t first, int32_t end,
                           int64_t *count) {
    double sum = 0;
    double squares = 0;
    *count = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t line = 0; line < cube->lines; line++) {
            for (int32_t s = first; s < end; s++) {
                const double *x = cube_pixel(cube, line, s);
                double rest = x[b];
                if (!cube->valid[line * cube->samples + s]) {
                    continue;
                }
                for (int32_t i = 0; i < cube->bands; i++) {
                    rest -= coefficient[i] * x[i];
                }
                *count += pass == 0;
                sum += pass == 0 ? rest : 0;
                squares += pass == 1 ? pow(rest - sum / (double)*count, 2) : 0;
            }
        }
    }
    return sqrt(squares / (double)(*count - 1));
}

static cJSON *read_groups(cJSON **json) {
    HcError err = {0};
    check_ok(hc_json_read("found.json", json, &err), err);
    return cJSON_GetObjectItemCaseSensitive(*json, "noise_by_columns");
}

static double noise_of(const cJSON *group, int32_t band) {
    return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(group, "noise"), band)->valuedouble;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of all groups, and of the table. */
static void check_groups(const Cube *cube, int32_t width) {
    cJSON *json = NULL;
    double mean[BANDS_MAX];
    double covariance[BANDS_MAX * BANDS_MAX];
    double coefficient[BANDS_MAX];
    double ratio[BANDS_MAX];
    int32_t bands = cube->bands;
    int64_t pixels = reference_covariance(cube, mean, covariance);
    double factor = sqrt((double)(pixels - 1) / (double)(pixels - bands));
    const cJSON *groups = read_groups(&json);
    FILE *csv = fopen("columns.csv", "r");
    char line[2000];
    assert_non_null(csv);
    assert_non_null(fgets(line, sizeof line, csv));
    assert_memory_equal(line, "column,columns,pixels,relative_noise,band_1,band_2,", 51);
    assert_int_equal(cJSON_GetArraySize(groups), (cube->samples + width - 1) / width);
    for (int32_t g = 0; g * width < cube->samples; g++) {
        const cJSON *group = cJSON_GetArrayItem(groups, g);
        int32_t end = (g + 1) * width < cube->samples ? (g + 1) * width : cube->samples;
        int64_t count = 0;
        int at = 0;
        double row[4];
        assert_non_null(fgets(line, sizeof line, csv));
        check_same(number_of(group, "column"), g * width + 1);
        for (int32_t b = 0; b < bands; b++) {
            int64_t all;
            regress(covariance, bands, b, coefficient);
            double wanted = factor * deviation_of(cube, coefficient, b, g * width, end, &count);
            double whole = factor * deviation_of(cube, coefficient, b, 0, cube->samples, &all);
            check_near(noise_of(group, b), wanted, 1e-7 * wanted);
            ratio[b] = noise_of(group, b) / whole;
        }
        check_same(number_of(group, "pixels"), (double)count);
        qsort(ratio, (size_t)bands, sizeof *ratio, compare_doubles);
        check_near(number_of(group, "relative_noise"), ratio[(bands - 1) / 2], 1e-6);
        assert_int_equal(sscanf(line, "%lf,%lf,%lf,%lf%n", row, row + 1, row + 2, row + 3, &at), 4);
        check_same(row[0], g * width + 1);
        check_near(row[3], number_of(group, "relative_noise"), 1e-8);
        check_near(strtod(line + at + 1, NULL), noise_of(group, 0), 1e-8 * noise_of(group, 0));
    }
    assert_null(fgets(line, sizeof line, csv));
    fclose(csv);
    cJSON_Delete(json);
}

static void groups_have_the_residuals_of_the_regression(void **state) {
    (void)state;
    static const struct {
        double scale;
        bool masked;
        int32_t width;
    } cases[] = {{1, true, 3}, {50, false, 5}, {50, true, 1}, {1, false, 11}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        Cube cube = make_scene(150, 11, 7, cases[c].scale, cases[c].masked);
        cube_write(&cube, "scene", cases[c].scale > 1 ? HC_INT16 : HC_FLOAT32, "bil",
                   cases[c].masked ? "data ignore value = 0\n" : NULL);
        check_runs(NULL,
                   "read scene.img %s ! noise found.json --columns %d --column-csv columns.csv --overwrite",
                   cases[c].masked ? "--source-nodata 0" : "", cases[c].width);
        if (cases[c].masked && cases[c].width == 1) { /* columns of the border have no pixel */
            cJSON *json = NULL;
            const cJSON *first = cJSON_GetArrayItem(read_groups(&json), 0);
            check_same(number_of(first, "pixels"), 0);
            assert_true(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(first, "relative_noise")));
            cJSON_Delete(json);
        } else {
            check_groups(&cube, cases[c].width);
        }
        cube_free(&cube);
    }
}

/* Columns of known noise, which stripes do not change. */
static void the_noise_of_detectors_is_found(void **state) {
    (void)state;
    enum { SAMPLES = 24 };
    double squares = 0;
    cJSON *json = NULL;
    Cube cube = make_scene(600, SAMPLES, BANDS_MAX, 1, false);
    cube_write(&cube, "scene", HC_FLOAT32, "bip", NULL);
    check_runs(NULL, "read scene.img ! noise found.json --columns 1");
    const cJSON *groups = read_groups(&json);
    for (int32_t s = 0; s < SAMPLES; s++) {
        squares += pow(gain_of(s), 2) / SAMPLES;
    }
    for (int32_t s = 0; s < SAMPLES; s++) {
        const cJSON *group = cJSON_GetArrayItem(groups, s);
        double wanted = gain_of(s) / sqrt(squares);
        check_near(number_of(group, "relative_noise"), wanted, 0.05 * wanted);
        for (int32_t b = 0; b < BANDS_MAX; b++) { /* 600 pixels know a deviation to 3 % */
            double known = gain_of(s) * (0.5 + b / 40.0);
            check_near(noise_of(group, b), known, 0.25 * known);
        }
    }
    cJSON_Delete(json);
    cube_free(&cube);
}

/* The files have the same bytes for any blocks, threads and backend. */
static void sums_are_exact(void **state) {
    (void)state;
    static const char *const results[] = {"found.json", "columns.csv", NULL};
    Cube cube = make_scene(300, 13, 6, 1, true);
    cube_write(&cube, "scene", HC_FLOAT32, "bsq", "data ignore value = 0\n");
    for (int32_t threads = 1; threads <= 3; threads++) {
        RunHow how = {.ops = threads == 2 ? hc_strict_ops() : NULL,
                      .threads = threads,
                      .settings = {.block_lines = 100 * (3 - threads)}};
        check_runs(&how,
                   "read scene.img ! noise found.json --columns 4 --column-csv columns.csv --overwrite");
        if (threads == 1) {
            files_keep(results);
            continue;
        }
        check_same_files("found.json", "kept.found.json");
        check_same_files("columns.csv", "kept.columns.csv");
    }
    assert_int_equal(hc_strict_leaks(), 0);
    cube_free(&cube);
}

/* A pixel whose values are too large for the sums of columns is counted and told. */
static void a_glint_takes_no_part(void **state) {
    (void)state;
    HcText notes = {0};
    cJSON *json = NULL;
    Cube cube = make_scene(300, 12, 6, 1, false);
    for (int32_t b = 0; b < 6; b++) {
        cube_pixel(&cube, 71, 5)[b] = 1e5;
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bsq", NULL);
    check_runs((&(RunHow){.notes = &notes}), "read scene.img ! noise found.json --columns 4");
    assert_non_null(strstr(notes.data, "--columns: 1 pixels with values 32 times"));
    const cJSON *groups = read_groups(&json);
    check_same(number_of(cJSON_GetArrayItem(groups, 1), "pixels"), 4 * 300 - 1);
    check_same(number_of(cJSON_GetArrayItem(groups, 2), "pixels"), 4 * 300);
    cJSON_Delete(json);
    hc_text_clear(&notes);
    cube_free(&cube);
}

static void wrong_options_are_refused(void **state) {
    (void)state;
    Cube cube = make_scene(30, 8, 4, 1, false);
    cube_write(&cube, "scene", HC_FLOAT32, "bsq", NULL);
    check_run_fails(NULL, HC_E_USAGE, "--columns 0", "read scene.img ! noise found.json --columns 0");
    check_run_fails(NULL, HC_E_USAGE, "noise: --column-csv needs --columns",
                    "read scene.img ! noise found.json --column-csv a.csv");
    assert_false(file_exists("found.json"));
    cube_free(&cube);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(groups_have_the_residuals_of_the_regression),
        IN_FOLDER(the_noise_of_detectors_is_found),
        IN_FOLDER(sums_are_exact),
        IN_FOLDER(a_glint_takes_no_part),
        IN_FOLDER(wrong_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
