/* Abundances of scenes whose abundances are known: the figures of docs/stages/unmix.md. Needs HCUBE_DATA. */
#include "io/library/library.h"
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
                                          "--lambda 0.1", "--lambda 0.3",   "--sum-to-one",  "--lambda auto"};
    enum { ROWS = sizeof options / sizeof *options };
    /* As they were when the page was written; random numbers are the same on every machine. */
    static const double expected[3][ROWS] = {{-12.49, -3.80, 1.88, 2.55, 3.53, 4.32, 4.29, 4.27},
                                             {-5.32, 6.19, 7.51, 8.48, 9.01, 8.32, 8.80, 9.01},
                                             {2.59, 11.01, 13.89, 13.53, 11.92, 9.60, 13.81, 13.62}};
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

/* ---- Jasper Ridge: a library that holds more than spectra, as splib07 does ---- */

enum { MINERALS = 120 };

/* NAME.sli: the first minerals of splib06. With `more`, wavelengths and widths come first and error bars
 * behind each mineral, and what deleted channels leave after resampling is -8e29 and the like instead of the
 * marker. */
static void write_minerals(const char *name, bool more) {
    static const double leaks[] = {-8e29, -3e21, -5e9, -70};
    char path[1024];
    HcError err = {0};
    HcLibrary library = {0};
    HcText header = {0};
    snprintf(path, sizeof path, "%s/usgs-library/s06av95a_envi.sli", data);
    check_ok(hc_library_read(&library, path, &err), err);
    size_t bands = (size_t)library.bands;
    hc_text_add(&header,
                "ENVI\nsamples = %d\nlines = %d\nbands = 1\nfile type = ENVI Spectral Library\ndata type = "
                "4\nwavelength units = nm\nwavelength = {",
                library.bands, more ? 2 * MINERALS + 2 : MINERALS);
    for (size_t b = 0; b < bands; b++) {
        hc_text_add(&header, "%.17g,", library.wavelength[b]);
    }
    hc_text_add(&header, "}\nspectra names = {%s", more ? "Wavelengths in microns,Resolution AVIRIS," : "");
    snprintf(path, sizeof path, "%s.sli", name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (size_t b = 0; b < 2 * bands && more; b++) {
        float value = b < bands ? (float)(library.wavelength[b] / 1000) : 0.01F;
        assert_int_equal(fwrite(&value, sizeof value, 1, file), 1);
    }
    for (size_t i = 0; i < MINERALS; i++) {
        float *value = library.value + i * bands;
        float bar[300] = {0};
        for (size_t b = 0; b < bands; b++) {
            bar[b] = 0.02F * value[b];
        }
        for (size_t k = 0; k < 4 && i % 40 == 7; k++) {
            value[50 + k] = more ? (float)leaks[k] : -1.23e34F;
            bar[60 + k] = (float)leaks[k];
        }
        hc_text_add(&header, "%s,", library.name[i]);
        assert_int_equal(fwrite(value, sizeof *value, bands, file), bands);
        if (more) {
            hc_text_add(&header, "errorbars to preceding %s,", library.name[i]);
            assert_int_equal(fwrite(bar, sizeof *bar, bands, file), bands);
        }
    }
    assert_int_equal(fclose(file), 0);
    hc_text_add(&header, "}\n");
    snprintf(path, sizeof path, "%s.hdr", name);
    file_write(path, header.data);
    hc_text_clear(&header);
    hc_library_clear(&library);
}

/* Nothing of the abundance goes to what is no spectrum: the same bytes as with the minerals alone. */
static void error_bars_take_no_abundance(void **state) {
    (void)state;
    static const char *const names[] = {"minerals", "more"};
    HcText notes = {0};
    for (int n = 0; n < 2; n++) {
        RunHow how = {.threads = 2, .notes = n == 1 ? &notes : NULL};
        write_minerals(names[n], n == 1);
        check_runs(&how,
                   "read %s/jasper-ridge/jasper_r198.img ! unmix --library %s.sli --lambda "
                   "0 ! write %s_out.img",
                   data, names[n], names[n]);
    }
    check_same_files("minerals_out.img", "more_out.img");
    check_says(notes.data, "by name: 122 of 242 ... (120 error bars, 1 wavelengths, 1 widths of bands)");
    check_says(notes.data, "12 values in 3 entries ... (-8e+29 to -70)");
    hc_text_clear(&notes);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(abundances_of_dc1),
        IN_FOLDER(error_bars_take_no_abundance),
        IN_FOLDER(shares_are_those_of_the_reference),
    };
    data = getenv("HCUBE_DATA");
    if (data == NULL) {
        printf("skipped: HCUBE_DATA does not name the folder of the test scenes\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
