/* The noise report against the statistics files of cov, and against noise that is known. */
#include "figure/figure.h"
#include "pipeline/json/json.h"
#include "pipeline/statistics/statistics.h"
#include "tests/support/reference.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 48, BANDS = 12 };

/* A mixture of two spectra, with noise of deviation 3 + band. `rough`: shares differ from pixel to pixel. */
static Cube mixed(bool rough, double factor) {
    uint64_t seed = 23;
    Cube cube = cube_new(SIDE, SIDE, BANDS);
    for (int32_t line = 0; line < SIDE; line++) {
        for (int32_t sample = 0; sample < SIDE; sample++) {
            double one = rough ? random_uniform(&seed) : line / (double)SIDE;
            double two = rough ? random_uniform(&seed) : sample / (double)SIDE;
            double *x = cube_pixel(&cube, line, sample);
            for (int32_t b = 0; b < BANDS; b++) {
                x[b] = 500 + 400 * one * (1 + sin(0.5 * b)) + 400 * two * (1 + cos(0.9 * b)) +
                       (3 + b) * random_normal(&seed);
                x[b] = (float)(factor * x[b]);
            }
        }
    }
    return cube;
}

static cJSON *read_json(const char *path) {
    cJSON *json = NULL;
    HcError err = {0};
    check_ok(hc_json_read(path, &json, &err), err);
    return json;
}

static const cJSON *band_of(const cJSON *json, int32_t band) {
    return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(json, "noise_by_band"), band);
}

static HcStatistics load(const char *path) {
    HcStatistics statistics = {0};
    HcError err = {0};
    check_ok(hc_statistics_load(&statistics, path, &err), err);
    return statistics;
}

/* Both lines of the picture go through all bands, the first one too. */
static void all_bands_are_in_the_picture(void **state) {
    (void)state;
    size_t bytes = 0;
    Cube cube = mixed(false, 1);
    cube_write(&cube, "scene", HC_FLOAT32, "bil", NULL);
    cube_free(&cube);
    check_runs(NULL, "read scene.img ! noise --picture found.svg");
    char *svg = file_bytes("found.svg", &bytes);
    check_paths(svg, "stroke-width=\"1.1\"", 2, 2 * BANDS);
    free(svg);
}

static const char *const wavelengths = "wavelength units = Nanometers\n"
                                       "wavelength = {400,410,420,430,440,450,460,470,480,490,500,510}\n";

static void bands_have_what_cov_measures(void **state) {
    (void)state;
    Cube cube = mixed(false, 1);
    cube_border(&cube, 0);
    char more[200];
    snprintf(more, sizeof more, "data ignore value = 0\n%s", wavelengths);
    cube_write(&cube, "scene", HC_FLOAT32, "bil", more);
    cube_free(&cube);
    check_runs(NULL, "read scene.img ! cov scene.json ! cov regression.json --noise regression ! "
                     "cov mean.json --noise mean3x3 ! "
                     "noise found.json --csv found.csv --picture found.png --compare mean3x3");
    HcStatistics scene = load("scene.json");
    HcStatistics regression = load("regression.json");
    HcStatistics mean = load("mean.json");
    cJSON *json = read_json("found.json");
    FILE *csv = fopen("found.csv", "r");
    char line[400];
    assert_non_null(csv);
    assert_non_null(fgets(line, sizeof line, csv));
    assert_string_equal(line, "band,wavelength_nm,mean,deviation,noise,noise_by_differences,snr,snr_db\n");
    for (int32_t b = 0; b < BANDS; b++) {
        const cJSON *band = band_of(json, b);
        size_t at = (size_t)b * (BANDS + 1);
        double noise = sqrt(regression.covariance[at]);
        check_same(number_of(band, "band"), b + 1);
        check_same(number_of(band, "wavelength_nm"), 400 + 10 * b);
        check_same(number_of(band, "mean"), scene.mean[b]);
        check_near(number_of(band, "deviation"), sqrt(scene.covariance[at]),
                   1e-12 * sqrt(scene.covariance[at]));
        check_near(number_of(band, "noise"), noise, 1e-12 * noise);
        check_near(number_of(band, "noise_by_differences"), sqrt(mean.covariance[at]), 1e-12 * noise);
        check_near(number_of(band, "snr"), scene.mean[b] / noise, 1e-12 * scene.mean[b] / noise);
        check_near(number_of(band, "snr_db"), 20 * log10(scene.mean[b] / noise), 1e-9);
        double row[8];
        assert_non_null(fgets(line, sizeof line, csv));
        assert_int_equal(sscanf(line, "%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", row, row + 1, row + 2, row + 3,
                                row + 4, row + 5, row + 6, row + 7),
                         8);
        check_same(row[0], b + 1);
        check_near(row[1], 400 + 10 * b, 1e-9);
        check_near(row[2], scene.mean[b], 1e-8 * scene.mean[b]);
        check_near(row[3], sqrt(scene.covariance[at]), 1e-8 * row[3]);
        check_near(row[4], noise, 1e-8 * noise);
        check_near(row[5], sqrt(mean.covariance[at]), 1e-8 * row[5]);
        check_near(row[6], scene.mean[b] / noise, 1e-8 * row[6]);
        check_near(row[7], 20 * log10(scene.mean[b] / noise), 1e-6);
    }
    assert_null(fgets(line, sizeof line, csv));
    fclose(csv);
    check_same(number_of(json, "pixels"), (double)scene.pixels);
    check_same(number_of(json, "difference_pixels"), (double)mean.pixels);
    assert_true(file_holds("found.png", "PNG"));
    cJSON_Delete(json);
    hc_statistics_clear(&scene);
    hc_statistics_clear(&regression);
    hc_statistics_clear(&mean);
}

/* Both estimates agree on a smooth scene; texture is noise to differences alone. */
static void texture_is_noticed(void **state) {
    (void)state;
    for (int rough = 0; rough < 2; rough++) {
        Cube cube = mixed(rough == 1, 1);
        HcText notes = {0};
        RunHow how = {.notes = &notes};
        cube_write(&cube, "scene", HC_FLOAT32, "bip", NULL);
        cube_free(&cube);
        check_runs(&how, "read scene.img ! noise found.json --overwrite");
        cJSON *json = read_json("found.json");
        double ratio = number_of(json, "differences_over_regression");
        bool noted = notes.data != NULL && strstr(notes.data, "the scene has texture") != NULL;
        assert_int_equal(noted, rough);
        assert_true(rough == 1 ? ratio > 20 : ratio > 0.7 && ratio < 1.3);
        for (int32_t b = 3; b < BANDS; b++) {
            /* What the other bands hide of the signal, and five deviations of a variance of 2,300 pixels. */
            double found = number_of(band_of(json, b), "noise") / (3 + b);
            assert_true(found > 0.92 && found < 1.3);
        }
        cJSON_Delete(json);
        hc_text_clear(&notes);
    }
}

static void smooth_noise_is_noticed(void **state) {
    (void)state;
    Cube cube = mixed(false, 1);
    cube_write(&cube, "scene", HC_FLOAT32, "bip", NULL);
    cube_free(&cube);
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    check_runs(&how, "read scene.img ! filter mean3x3 ! noise");
    assert_non_null(strstr(notes.data, "noise is correlated between neighbours"));
    hc_text_clear(&notes);
}

static void wrong_uses_are_refused(void **state) {
    (void)state;
    Cube cube = mixed(false, 1);
    cube_write(&cube, "scene", HC_FLOAT32, "bip", NULL);
    cube_free(&cube);
    cube = cube_new(2, 3, BANDS);
    cube_write(&cube, "few", HC_FLOAT32, "bip", NULL);
    cube_free(&cube);
    check_run_fails(NULL, HC_E_USAGE, "--picture a.jpg ... .png, .svg or .pdf",
                    "read scene.img ! noise --picture a.jpg");
    check_run_fails(NULL, HC_E_USAGE, "--compare", "read scene.img ! noise --compare regression");
    check_run_fails(NULL, HC_E_NUMERIC, "noise by regression: all 12 bands ... constant",
                    "read few.img ! noise");
    check_runs(NULL, "read scene.img ! noise a.json --csv a.csv --picture a.png");
    RunHow keeps = {.keeps_outputs = true};
    check_run_fails(&keeps, HC_E_USAGE, "a.csv", "read scene.img ! noise b.json --csv a.csv");
    assert_false(file_exists("b.json"));
}

static void blocks_and_failures_do_not_matter(void **state) {
    (void)state;
    check_stage_contract("filter mean3x3 ! noise");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bands_have_what_cov_measures, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(all_bands_are_in_the_picture, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(texture_is_noticed, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(smooth_noise_is_noticed, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(wrong_uses_are_refused, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(blocks_and_failures_do_not_matter, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
