/* Abundances of scenes whose abundances are known: the figures of docs/stages/unmix.md. Needs HCUBE_DATA. */
#include "tests/support/scene_files.h"

#include <stdio.h>
#include <stdlib.h>

static const char *data; /* the folder of the test scenes */

/* ---- DC1: 240 spectra, 5 of which occur ---- */

enum { SIDE = 75, BANDS = 224, SPECTRA = 240, OCCUR = 5, FIRST = 1 };

/* NAME.img below the folder of the test scenes. */
static Cube read_data(const char *name, int32_t lines, int32_t samples, int32_t bands) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", data, name);
    return cube_read_floats(path, lines, samples, bands);
}

/* noisy.img: the clean cube with white noise of that signal-to-noise ratio [dB]. */
static void write_noisy(int ratio) {
    char path[1024];
    uint64_t seed = 1000 + (uint64_t)ratio;
    double squares = 0;
    snprintf(path, sizeof path, "%s/dc1/dc1_clean.img", data);
    check_runs(NULL, "read %s ! write clean.img", path);
    Cube cube = cube_read_floats("clean", SIDE, SIDE, BANDS);
    size_t values = cube_pixels(&cube) * BANDS;
    for (size_t i = 0; i < values; i++) {
        squares += cube.value[i] * cube.value[i] / (double)values;
    }
    double deviation = sqrt(squares / pow(10, ratio / 10.0));
    for (size_t i = 0; i < values; i++) {
        cube.value[i] += deviation * random_normal(&seed);
    }
    cube_write(&cube, "noisy", HC_FLOAT32, "bip", NULL);
    cube_free(&cube);
}

/* Signal-to-reconstruction error [dB] of the abundances of noisy.img. Every pixel is proven to be solved. */
static double reconstruct(const Cube *truth, int ratio, const char *options) {
    HcRunReport report = {0};
    RunHow how = {.threads = 2, .report = &report};
    double signal = 0;
    double error = 0;
    double present = 0;
    double pixels = (double)cube_pixels(truth);
    check_runs(&how,
               "read noisy.img ! unmix --library %s/dc1/dc1_library.sli --scale none %s --add gap "
               "! write out.img",
               data, options);
    Cube out = cube_read_floats("out", SIDE, SIDE, SPECTRA + 1);
    for (size_t i = 0; i < cube_pixels(truth); i++) {
        const double *found = out.value + i * (SPECTRA + 1);
        for (int k = 0; k < SPECTRA; k++) {
            bool occurs = k >= FIRST && k < FIRST + OCCUR;
            double right = occurs ? truth->value[i * OCCUR + (size_t)(k - FIRST)] : 0;
            signal += right * right;
            error += (found[k] - right) * (found[k] - right);
            present += found[k] > 0;
        }
        assert_true(found[SPECTRA] >= 0 && found[SPECTRA] <= 1e-4);
    }
    printf("DC1 %d dB %-16s SRE %6.2f dB, RMSE %.4f, %4.1f spectra a pixel, %.2f s\n", ratio, options,
           10 * log10(signal / error), sqrt(error / (pixels * SPECTRA)), present / pixels, report.seconds);
    cube_free(&out);
    return 10 * log10(signal / error);
}

static void abundances_of_dc1(void **state) {
    (void)state;
    static const char *const options[] = {"--lambda 0",   "--lambda 0.001", "--lambda 0.01", "--lambda 0.03",
                                          "--lambda 0.1", "--lambda 0.3",   "--sum-to-one"};
    enum { ROWS = sizeof options / sizeof *options };
    /* As they were when the page was written; random numbers are the same on every machine. */
    static const double expected[3][ROWS] = {{-12.49, -3.80, 1.88, 2.55, 3.53, 4.32, 4.29},
                                             {-5.32, 6.19, 7.51, 8.48, 9.01, 8.32, 8.80},
                                             {2.59, 11.01, 13.89, 13.53, 11.92, 9.60, 13.81}};
    Cube truth = read_data("dc1/dc1_abundance_active", SIDE, SIDE, OCCUR);
    for (int n = 0; n < 3; n++) {
        int ratio = 20 + 10 * n;
        write_noisy(ratio);
        for (int row = 0; row < ROWS; row++) {
            check_near(reconstruct(&truth, ratio, options[row]), expected[n][row], 0.02);
        }
    }
    cube_free(&truth);
}

/* ---- Samson and Jasper Ridge: reference abundances, which sum to 1 ---- */

/* Root mean square difference from the reference of abundances that are divided by their sum. */
static double compare_shares(const char *scene, const char *stem, int32_t side, int32_t count,
                             const char *options) {
    char name[256];
    double squares = 0;
    snprintf(name, sizeof name, "%s_abundance", stem);
    Cube truth = read_data(name, side, side, count);
    check_runs(NULL, "read %s/%s ! unmix --library %s/%s_endmembers.sli %s ! write out.img", data, scene,
               data, stem, options);
    Cube out = cube_read_floats("out", side, side, count);
    size_t k = (size_t)count;
    for (size_t i = 0; i < cube_pixels(&out); i++) {
        double sum = 0;
        for (size_t e = 0; e < k; e++) {
            sum += out.value[i * k + e];
        }
        for (size_t e = 0; e < k; e++) {
            double share = sum > 0 ? out.value[i * k + e] / sum : 0;
            squares += pow(share - truth.value[i * k + e], 2) / (double)(cube_pixels(&out) * k);
        }
    }
    printf("%s %s: RMSE of shares %.4f\n", stem, options, sqrt(squares));
    cube_free(&out);
    cube_free(&truth);
    return sqrt(squares);
}

static void shares_are_those_of_the_reference(void **state) {
    (void)state;
    const char *samson = "samson/samson";
    const char *jasper = "jasper-ridge/jasper";
    check_near(compare_shares("samson/samson.img", samson, 95, 3, "--lambda 0"), 0.0020, 0.0005);
    check_near(compare_shares("samson/samson.img", samson, 95, 3, "--lambda 0.01"), 0.0038, 0.0005);
    check_near(compare_shares("jasper-ridge/jasper_r198.img", jasper, 100, 4, "--lambda 0"), 0.0503, 0.0005);
    check_near(compare_shares("jasper-ridge/jasper_r198.img", jasper, 100, 4, "--lambda 0.01"), 0.0444,
               0.0005);
    /* Its endmembers are not in the unit of the scene, each by another factor: sums to 1 do not hold. */
    assert_true(compare_shares("samson/samson.img", samson, 95, 3, "--sum-to-one") > 0.3);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(abundances_of_dc1),
        IN_FOLDER(shares_are_those_of_the_reference),
    };
    data = getenv("HCUBE_DATA");
    if (data == NULL) {
        printf("skipped: HCUBE_DATA does not name the folder of the test scenes\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
