/* The rules for the dimension against a naive float64 program, and against the known answers of DC1. */
#include "core/text.h"
#include "pipeline/json/json.h"
#include "pipeline/statistics/transform.h"
#include "tests/support/linear_runs.h"
#include "tests/support/reference.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* What the rules find, in the words of the JSON file. */
typedef struct Counts {
    double hysime, hfc, nwhfc, elm, gavish_donoho, marchenko_pastur, recommended;
} Counts;

/* ---- a naive program: pixels are regressed and projected one by one ---- */

/* inverse[n][n], by Gauss and Jordan with pivots. */
static void invert(size_t n, const double *matrix, double *inverse) {
    double *a = calloc(2 * n * n, sizeof *a);
    for (size_t i = 0; i < n; i++) {
        memcpy(a + i * 2 * n, matrix + i * n, n * sizeof *a);
        a[i * 2 * n + n + i] = 1;
    }
    for (size_t k = 0; k < n; k++) {
        size_t pivot = k;
        for (size_t i = k + 1; i < n; i++) {
            pivot = fabs(a[i * 2 * n + k]) > fabs(a[pivot * 2 * n + k]) ? i : pivot;
        }
        for (size_t j = 0; j < 2 * n; j++) {
            double kept = a[k * 2 * n + j];
            a[k * 2 * n + j] = a[pivot * 2 * n + j];
            a[pivot * 2 * n + j] = kept;
        }
        double diagonal = a[k * 2 * n + k];
        for (size_t j = 0; j < 2 * n; j++) {
            a[k * 2 * n + j] /= diagonal;
        }
        for (size_t i = 0; i < n; i++) {
            double factor = i == k ? 0 : a[i * 2 * n + k];
            for (size_t j = 0; j < 2 * n; j++) {
                a[i * 2 * n + j] -= factor * a[k * 2 * n + j];
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(inverse + i * n, a + i * 2 * n + n, n * sizeof *a);
    }
    free(a);
}

/* rows' rows / count, about mean or (NULL) about 0. */
static void products(const double *rows, size_t count, size_t n, const double *mean, double *out) {
    memset(out, 0, n * n * sizeof *out);
    for (size_t p = 0; p < count; p++) {
        for (size_t b = 0; b < n; b++) {
            for (size_t c = 0; c < n; c++) {
                double x = rows[p * n + b] - (mean != NULL ? mean[b] : 0);
                double y = rows[p * n + c] - (mean != NULL ? mean[c] : 0);
                out[b * n + c] += x * y / (double)count;
            }
        }
    }
}

/* Differences of eigenvalues that are larger than chance, at t = 3.0902323 (a rate of 1e-3). */
static double count_larger(const double *r, const double *k, size_t n, double pixels) {
    double count = 0;
    for (size_t i = 0; i < n; i++) {
        count += r[i] - k[i] > 3.090232306 * sqrt(2 / pixels * (r[i] * r[i] + k[i] * k[i]));
    }
    return count;
}

static double elm_of(const double *r, const double *k, size_t n, double pixels) {
    double best = -INFINITY;
    double place = 0;
    double unit = 0;
    for (size_t i = 0; i < n; i++) {
        unit += r[i] / (double)n;
    }
    for (size_t from = 0; from < n; from++) {
        double sum = 0;
        for (size_t i = from; i < n; i++) {
            double x = r[i] / unit;
            double y = k[i] / unit;
            double sigma = sqrt(2 / pixels * (x * x + y * y));
            sum += -(x - y) * (x - y) / (2 * sigma * sigma) - log(sigma);
        }
        if (sum > best) {
            best = sum;
            place = (double)from;
        }
    }
    return place;
}

/* The signal's directions in which noise costs less than leaving them out. Residuals of each pixel first. */
static double hysime_of(const double *rows, size_t count, size_t n) {
    double *work = calloc(6 * n * n, sizeof *work);
    double *whole = work, *inverse = work + n * n, *signal = work + 2 * n * n, *vectors = work + 3 * n * n;
    double *values = work + 4 * n * n, *noise = work + 5 * n * n;
    double *clean = calloc(count * n, sizeof *clean);
    products(rows, count, n, NULL, whole);
    invert(n, whole, inverse);
    for (size_t p = 0; p < count; p++) {
        for (size_t b = 0; b < n; b++) {
            double rest = 0;
            for (size_t c = 0; c < n; c++) {
                rest += inverse[b * n + c] / inverse[b * n + b] * rows[p * n + c];
            }
            clean[p * n + b] = rows[p * n + b] - rest;
            noise[b] += rest * rest / (double)count;
        }
    }
    products(clean, count, n, NULL, signal);
    reference_eigen((int32_t)n, signal, values, vectors);
    double power = 0;
    for (size_t b = 0; b < n; b++) {
        power += signal[b * n + b];
    }
    double found = 0;
    for (size_t k = 0; k < n; k++) {
        double cost = 0;
        for (size_t b = 0; b < n; b++) {
            double e = vectors[b * n + k];
            cost += 2 * e * e * (noise[b] + power / (double)n / 1e5);
            for (size_t c = 0; c < n; c++) {
                cost -= e * whole[b * n + c] * vectors[c * n + k];
            }
        }
        found += cost < 0;
    }
    free(work);
    free(clean);
    return found;
}

static Counts reference_counts(const Cube *cube) {
    size_t n = (size_t)cube->bands;
    size_t count = 0;
    double *rows = calloc(cube_pixels(cube) * n, sizeof *rows);
    for (size_t p = 0; p < cube_pixels(cube); p++) {
        if (cube->valid[p]) {
            memcpy(rows + count++ * n, cube->value + p * n, n * sizeof *rows);
        }
    }
    double *work = calloc(5 * n * n + 4 * n, sizeof *work);
    double *r = work, *k = r + n * n, *inverse = k + n * n, *vectors = inverse + n * n;
    double *scaled = vectors + n * n, *values_r = scaled + n * n, *values_k = values_r + n,
           *mean = values_k + n;
    double pixels = (double)count;
    for (size_t i = 0; i < count * n; i++) {
        mean[i % n] += rows[i] / pixels;
    }
    products(rows, count, n, NULL, r);
    products(rows, count, n, mean, k);
    invert(n, k, inverse);
    reference_eigen((int32_t)n, r, values_r, vectors);
    reference_eigen((int32_t)n, k, values_k, vectors);
    Counts counts = {.hfc = count_larger(values_r, values_k, n, pixels),
                     .elm = elm_of(values_r, values_k, n, pixels),
                     .hysime = hysime_of(rows, count, n)};
    /* Unbiased noise variances: 1 / inverse_bb with n - p degrees of freedom. */
    double factor = pixels / (pixels - (double)n);
    for (int which = 0; which < 2; which++) {
        for (size_t i = 0; i < n * n; i++) {
            scaled[i] =
                (which == 0 ? r : k)[i] * sqrt(inverse[i / n * (n + 1)] * inverse[i % n * (n + 1)]) / factor;
        }
        reference_eigen((int32_t)n, scaled, which == 0 ? values_r : values_k, vectors);
    }
    counts.nwhfc = count_larger(values_r, values_k, n, pixels);
    double b = (double)n / pixels;
    for (size_t i = 0; i < n; i++) {
        double value = values_k[i] * pixels / (pixels - 1);
        counts.marchenko_pastur += value > (1 + sqrt(b)) * (1 + sqrt(b));
        counts.gavish_donoho += value > 2 * (b + 1) + 8 * b / (b + 1 + sqrt(b * b + 14 * b + 1));
    }
    counts.recommended = counts.hysime > 0 ? counts.hysime : 1;
    free(rows);
    free(work);
    return counts;
}

/* ---- tests ---- */

static cJSON *read_json(const char *path) {
    cJSON *json = NULL;
    HcError err = {0};
    check_ok(hc_json_read(path, &json, &err), err);
    return json;
}

static double item_of(const cJSON *json, const char *name, int at) {
    const cJSON *item = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(json, name), at);
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

static void check_counts(const cJSON *json, const Counts *expected) {
    check_same(number_of(json, "hysime"), expected->hysime);
    check_same(item_of(json, "hfc", 0), expected->hfc);
    check_same(item_of(json, "nwhfc", 0), expected->nwhfc);
    check_same(number_of(json, "elm"), expected->elm);
    check_same(number_of(json, "gavish_donoho"), expected->gavish_donoho);
    check_same(number_of(json, "marchenko_pastur"), expected->marchenko_pastur);
    check_same(number_of(json, "recommended"), expected->recommended);
}

/* `spectra` of very different size, mixed by chance, with noise that differs from band to band. */
static Cube mixed(int32_t side, int32_t bands, int32_t spectra, uint64_t seed) {
    Cube cube = cube_new(side, side, bands);
    for (size_t p = 0; p < cube_pixels(&cube); p++) {
        double *x = cube_pixel(&cube, (int32_t)(p / (size_t)side), (int32_t)(p % (size_t)side));
        for (int32_t b = 0; b < bands; b++) {
            x[b] = (2 + b % 3) * random_normal(&seed);
        }
        for (int32_t k = 0; k < spectra; k++) {
            double share = random_uniform(&seed) * 4000 / pow(4, k);
            for (int32_t b = 0; b < bands; b++) {
                x[b] += share * (1 + sin(0.3 * (k + 1) * b + 2 * k));
            }
        }
    }
    return cube;
}

static void counts_are_those_of_a_naive_program(void **state) {
    (void)state;
    for (int32_t spectra = 0; spectra <= 6; spectra += 2) {
        Cube cube = mixed(32, 24, spectra, 5 + (uint64_t)spectra);
        for (size_t i = 0; i < cube_pixels(&cube) * 24; i++) {
            cube.value[i] = (float)cube.value[i];
        }
        bool border = spectra == 4;
        if (border) {
            cube_border(&cube, -9999);
        }
        cube_write(&cube, "scene", HC_FLOAT32, "bil", border ? "data ignore value = -9999\n" : NULL);
        Counts expected = reference_counts(&cube);
        check_runs(NULL, "read scene.img ! dimension found.json --overwrite");
        cJSON *json = read_json("found.json");
        check_counts(json, &expected);
        assert_true(spectra == 0 || expected.hysime > 0);
        assert_true(number_of(json, "pixels") <= 32 * 32);
        assert_int_equal(border, number_of(json, "pixels") < 32 * 32);
        cJSON_Delete(json);
        cube_free(&cube);
    }
}

/* The counts do not depend on the unit, and constant bands are left out. */
static void units_and_constant_bands_do_not_matter(void **state) {
    (void)state;
    Cube cube = mixed(32, 24, 5, 77);
    for (size_t p = 0; p < cube_pixels(&cube); p++) {
        cube.value[p * 24 + 7] = 3;
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bip", NULL);
    for (size_t i = 0; i < cube_pixels(&cube) * 24; i++) {
        cube.value[i] = (float)cube.value[i] / 8192;
    }
    cube_write(&cube, "small", HC_FLOAT32, "bip", NULL);
    cube_free(&cube);
    check_runs(NULL, "read scene.img ! dimension scene.json");
    check_runs(NULL, "read small.img ! dimension small.json");
    check_runs(NULL, "read scene.img ! bands --drop 8 ! dimension less.json");
    static const char *const names[] = {
        "hysime", "elm", "gavish_donoho", "marchenko_pastur", "bands_that_vary", "recommended", NULL};
    cJSON *scene = read_json("scene.json");
    cJSON *small = read_json("small.json");
    cJSON *less = read_json("less.json");
    for (int k = 0; names[k] != NULL; k++) {
        check_same(number_of(small, names[k]), number_of(scene, names[k]));
        check_same(number_of(less, names[k]), number_of(scene, names[k]));
    }
    check_same(number_of(scene, "bands_that_vary"), 23);
    check_same(item_of(small, "nwhfc", 1), item_of(scene, "nwhfc", 1));
    check_near(number_of(small, "snr_db"), number_of(scene, "snr_db"), 1e-9);
    cJSON_Delete(scene);
    cJSON_Delete(small);
    cJSON_Delete(less);
}

/* Copies of all bands, in another unit, add no direction: all rules find what they find without them. */
static void copies_of_bands_do_not_matter(void **state) {
    (void)state;
    Cube cube = mixed(32, 24, 5, 78);
    Cube copies = cube_new(32, 32, 48);
    for (size_t p = 0; p < cube_pixels(&cube); p++) {
        for (size_t b = 0; b < 48; b++) {
            copies.value[p * 48 + b] = (float)cube.value[p * 24 + b % 24] * (b < 24 ? 1 : 4);
        }
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bip", NULL);
    cube_write(&copies, "copies", HC_FLOAT32, "bip", NULL);
    cube_free(&cube);
    cube_free(&copies);
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    check_runs(NULL, "read scene.img ! dimension scene.json");
    check_runs(&how, "read copies.img ! dimension copies.json");
    check_says(notes.data, "dimension: 24 of 48 bands are combinations");
    hc_text_clear(&notes);
    check_runs(&how, "read copies.img ! endmembers ends.sli --count auto");
    check_says(notes.data, "endmembers: 24 of 48 bands are combinations");
    hc_text_clear(&notes);
    cJSON *scene = read_json("scene.json");
    cJSON *found = read_json("copies.json");
    static const char *const names[] = {"elm", "gavish_donoho", "marchenko_pastur", "independent_bands",
                                        NULL};
    for (int k = 0; names[k] != NULL; k++) {
        check_same(number_of(found, names[k]), number_of(scene, names[k]));
    }
    check_same(number_of(found, "independent_bands"), 24);
    check_same(item_of(found, "nwhfc", 0), item_of(scene, "nwhfc", 0));
    cJSON_Delete(scene);
    cJSON_Delete(found);
}

/* Five materials in 224 bands with white noise: what an independent program finds at three noise levels. */
static void dc1_has_its_known_answers(void **state) {
    (void)state;
    static const Counts known[] = {{3, 3, 3, 3, 3, 4, 3}, {5, 4, 4, 5, 4, 4, 5}, {5, 4, 4, 5, 4, 4, 5}};
    enum { SIDE = 75, MANY = 224 };
    const char *data = getenv("HCUBE_DATA");
    if (data == NULL) {
        skip();
    }
    char *path = hc_text_format("%s/dc1/dc1_clean.img", data);
    size_t bytes = 0;
    float *clean = (float *)(void *)file_bytes(path, &bytes);
    free(path);
    assert_int_equal(bytes, (size_t)SIDE * SIDE * MANY * sizeof *clean);
    double power = 0;
    for (size_t i = 0; i < (size_t)SIDE * SIDE * MANY; i++) {
        power += (double)clean[i] * clean[i] / ((double)SIDE * SIDE * MANY);
    }
    Cube cube = cube_new(SIDE, SIDE, MANY);
    for (int k = 0; k < 3; k++) {
        uint64_t seed = 1;
        double sigma = sqrt(power / pow(10, 2 + k));
        for (size_t i = 0; i < (size_t)SIDE * SIDE * MANY; i++) {
            cube.value[i] = (double)clean[i] + sigma * random_normal(&seed);
        }
        cube_write(&cube, "dc1", HC_FLOAT32, "bip", NULL);
        check_runs(NULL, "read dc1.img ! dimension dc1.json --overwrite");
        cJSON *json = read_json("dc1.json");
        check_counts(json, &known[k]);
        check_near(number_of(json, "snr_db"), 20 + 10 * k, 0.3);
        cJSON_Delete(json);
        check_runs(NULL, "read dc1.img ! mnf --components auto --noise regression ! write mnf.img");
        Cube kept = cube_read_floats("mnf", SIDE, SIDE, (int32_t)known[k].recommended);
        cube_free(&kept);
    }
    cube_free(&cube);
    free(clean);
}

/* How many components a saved chain keeps: the bands of its output. */
static void check_bands(const char *step, double expected) {
    HcReader *reader = NULL;
    HcReaderOptions how = {0};
    HcError err = {0};
    check_runs(NULL, "read scene.img ! %s ! write out.img", step);
    check_ok(hc_reader_open(&reader, "out.img", &how, &err), err);
    assert_int_equal(hc_reader_scene(reader)->bands, (int32_t)expected);
    hc_reader_close(reader);
}

static void components_follow_a_rule(void **state) {
    (void)state;
    Cube cube = mixed(32, 24, 5, 31);
    cube_write(&cube, "scene", HC_FLOAT32, "bip", NULL);
    cube_free(&cube);
    check_runs(NULL, "read scene.img ! dimension found.json");
    cJSON *json = read_json("found.json");
    check_bands("pca --components auto", number_of(json, "recommended"));
    check_bands("pca --components elm", number_of(json, "elm"));
    check_bands("pca --correlation --components hfc", item_of(json, "hfc", 0));
    check_bands("mnf --components marchenko-pastur", number_of(json, "marchenko_pastur"));
    check_bands("mnf --noise regression --components gavish-donoho", number_of(json, "gavish_donoho"));
    check_bands("mnf --noise shift --components NWHFC", item_of(json, "nwhfc", 0));
    check_bands("pca --components 7", 7);
    check_bands("mnf --denoise --components auto", 24);
    assert_true(number_of(json, "elm") < 24);
    /* As a number would do. */
    check_runs(NULL, "read scene.img ! mnf --noise regression --denoise --components hysime ! write a.img");
    check_runs(NULL, "read scene.img ! mnf --noise regression --denoise --components %d ! write b.img",
               (int)number_of(json, "hysime"));
    check_same_files("a.img", "b.img");
    cJSON_Delete(json);
    check_stage_contract("pca --components 2 ! dimension");
}

static void wrong_options_are_refused(void **state) {
    (void)state;
    Cube cube = mixed(16, 6, 2, 12);
    cube_write(&cube, "scene", HC_FLOAT32, "bip", NULL);
    cube_free(&cube);
    cube = mixed(2, 6, 2, 12);
    cube_write(&cube, "few", HC_FLOAT32, "bip", NULL);
    cube_free(&cube);
    static const char *const rates[] = {"0", "0.5", "1e-3,x", "", "-1", "1,1", "1e-3,,", "nan"};
    for (size_t k = 0; k < sizeof rates / sizeof *rates; k++) {
        check_run_fails(NULL, HC_E_USAGE, "--false-alarm", "read scene.img ! dimension --false-alarm \"%s\"",
                        rates[k]);
    }
    check_run_fails(NULL, HC_E_NUMERIC,
                    "dimension: noise by regression: 4 valid pixels with 6 bands, at least 7",
                    "read few.img ! dimension");
    check_run_fails(NULL, HC_E_NUMERIC, "at least 7 pixels",
                    "read few.img ! pca --components auto ! write o.img");
    check_runs(NULL, "read scene.img ! pca --fit-only --save-model model.json");
    static const struct {
        const char *step, *part;
    } wrong[] = {{"pca --components 0", "pca: --components 0: neither ... 1 to 100000"},
                 {"pca --components 2.5", "--components 2.5: neither"},
                 {"pca --components 1e3", "--components 1e3: neither"},
                 {"pca --components 1,2", "--components 1,2: neither"},
                 {"mnf --components hysme", "mnf: --components hysme: unknown ... hysime?"},
                 {"pca --components 200000", "--components 200000: neither"},
                 {"pca --components auto --min-eigenvalue 2", "give one of --components"},
                 {"pca --components auto --inverse --model model.json", "--inverse excludes --components"},
                 {"pca --components auto --model model.json", "nothing is fitted here"}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        check_run_fails(NULL, HC_E_USAGE, wrong[k].part, "read scene.img ! %s ! write bad.img",
                        wrong[k].step);
    }
    check_runs(NULL, "read scene.img ! dimension d.json");
    RunHow keeps = {.keeps_outputs = true};
    check_run_fails(&keeps, HC_E_USAGE, "d.json", "read scene.img ! dimension d.json");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(counts_are_those_of_a_naive_program, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(units_and_constant_bands_do_not_matter, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(dc1_has_its_known_answers, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(components_follow_a_rule, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(copies_of_bands_do_not_matter, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(wrong_options_are_refused, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
