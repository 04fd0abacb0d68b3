/* resample: against values of hyperproc and Spectral Python, constants, coverage, and what it reads. */
#include "io/read/reader.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BANDS = 200, WIDE = 8000 };

static double centre_of(int32_t band) {
    return 402 + 10.5 * band;
}

/* "key = {..., ...}" of all bands; the widths grow. */
static void write_header(char *text, bool widths, double unit, const char *name) {
    size_t at = (size_t)snprintf(text, WIDE, "wavelength units = %s\nwavelength = {", name);
    for (int32_t b = 0; b < BANDS; b++) {
        at += (size_t)snprintf(text + at, WIDE - at, "%.9g%s", centre_of(b) / unit,
                               b + 1 < BANDS ? ", " : "}\n");
    }
    at += widths ? (size_t)snprintf(text + at, WIDE - at, "fwhm = {") : 0;
    for (int32_t b = 0; b < BANDS && widths; b++) {
        at += (size_t)snprintf(text + at, WIDE - at, "%.9g%s", (10 + 0.004 * (centre_of(b) - 400)) / unit,
                               b + 1 < BANDS ? ", " : "}\n");
    }
}

/* Two pixels: a wave, and a constant. */
static void write_scene(const char *more) {
    char *text = malloc(WIDE + 2000);
    Cube cube = cube_new(1, 2, BANDS);
    assert_non_null(text);
    for (int32_t b = 0; b < BANDS; b++) {
        cube_pixel(&cube, 0, 0)[b] = (double)(float)(0.3 + 0.2 * sin(centre_of(b) / 90));
        cube_pixel(&cube, 0, 1)[b] = (double)0.3F;
    }
    write_header(text, true, 1, "Nanometers");
    (void)strcat(text, more);
    cube_write(&cube, "scene", HC_FLOAT32, "bip", text);
    cube_free(&cube);
    free(text);
}

/* The wave is resampled to these values, the constant stays to the last bit. */
static void check_values(const char *options, const double *want, int32_t bands) {
    check_runs(NULL, "read scene.img --all-bands ! resample %s ! write out.img --overwrite", options);
    Cube out = cube_read_floats("out", 1, 2, bands);
    for (int32_t b = 0; b < bands; b++) {
        check_near(cube_pixel(&out, 0, 0)[b], want[b], 1e-6 * want[b]);
        check_near(cube_pixel(&out, 0, 1)[b], (double)0.3F, 0);
    }
    cube_free(&out);
}

static const char grid[] =
    "wavelength width\n# six bands\n450 20\n551.5,12\n800\t120\n803 5\n\n1650; 90\n2200 180";

/* hyperproc 0.1.2, resampling_matrix(..., "gaussian"), and Spectral Python 0.25, BandResampler. */
static void by_widths(void **state) {
    (void)state;
    static const double gaussian[] = {0.109297426, 0.269134098, 0.38684263,
                                      0.396492287, 0.210052556, 0.211725731};
    static const double box[] = {0.10839556, 0.268981029, 0.395098164, 0.400204182, 0.204935983, 0.191208592};
    write_scene("");
    file_write("grid.txt", grid);
    check_values("--wavelengths grid.txt", gaussian, 6);
    check_values("--wavelengths grid.txt --method box", box, 6);
    file_write("grid.txt", "0.45 0.02\n0.5515 0.012\n0.8 0.12\n0.803 0.005\n1.65 0.09\n2.2 0.18\n");
    check_values("--wavelengths grid.txt", gaussian, 6);
}

/* hyperproc 0.1.2, resampling_matrix(..., "response"), with the responses of pyrsr 0.8.0. */
static void by_responses(void **state) {
    (void)state;
    static const double sentinel[] = {0.10489257,  0.158366838, 0.28761832,  0.477227974, 0.499400728,
                                      0.485679357, 0.432407271, 0.332237871, 0.263665125, 0.124672622,
                                      0.385867352, 0.147982774, 0.196455899};
    static const double landsat[] = {0.104875368, 0.143906702, 0.29101652, 0.465785892, 0.264091316,
                                     0.142418709, 0.198266927, 0.34919247, 0.386004031};
    static const double centres[] = {442.70, 492.44, 559.85, 664.62,  704.11,  740.49, 782.75,
                                     832.79, 864.71, 945.05, 1373.46, 1613.66, 2202.37};
    HcReader *reader = NULL;
    HcError err = {0};
    write_scene("");
    check_values("--responses landsat-8", landsat, 9);
    check_values("--responses sentinel-2a", sentinel, 13);
    check_ok(hc_reader_open(&reader, "out.img", NULL, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    assert_string_equal(scene->band_name[8], "B8A");
    for (int32_t k = 0; k < 13; k++) {
        check_near(scene->wavelength[k], centres[k], 0.006);
    }
    check_near(scene->fwhm[3], 30.6, 0.1);
    hc_reader_close(reader);
}

/* Responses of a file are those of a triangle: its weights by quadrature, in steps of a fiftieth of its own;
 * falling wavelengths, missing values and steps that the bands outdo are as good. */
static void by_a_file(void **state) {
    (void)state;
    static const double at[] = {585, 600, 630}, height[] = {0, 2, 0};
    double sum = 0, all = 0;
    for (int32_t b = 0; b < BANDS; b++) {
        double width = 10 + 0.004 * (centre_of(b) - 400), weight = 0;
        for (double x = 585; x <= 630; x += 0.01) {
            int32_t i = x < 600 ? 0 : 1;
            double value = height[i] + (height[i + 1] - height[i]) * (x - at[i]) / (at[i + 1] - at[i]);
            double t = (x - centre_of(b)) / (width * 0.42466090014400953);
            weight += value * exp(-t * t / 2) / width;
        }
        sum += weight * (double)(float)(0.3 + 0.2 * sin(centre_of(b) / 90));
        all += weight;
    }
    write_scene("");
    file_write("r.csv", "wavelength_nm,tri\n570,\n585,0\n600,2\n630,0\n660,\n");
    double want = sum / all;
    check_runs(NULL, "read scene.img ! resample --responses r.csv ! write out.img --overwrite");
    Cube out = cube_read_floats("out", 1, 2, 1);
    check_near(out.value[0], want, 2e-4 * want);
    cube_free(&out);
    file_write("f.csv", "wavelength_nm,tri\n660,0\n630,0\n600,2\n585,0\n570,0\n");
    check_runs(NULL, "read scene.img ! resample --responses f.csv ! write other.img --overwrite");
    check_same_files("out.img", "other.img");
}

/* A scene, its header alone, and its header in micrometres have the same bands. */
static void like_others(void **state) {
    (void)state;
    char *text = malloc(WIDE + 2000);
    write_scene("");
    check_runs(NULL, "read scene.img ! bands 3-60,80 ! write like.img --overwrite");
    check_runs(NULL, "read scene.img ! resample --like like.img ! write a.img --overwrite");
    file_remove("like.img");
    check_runs(NULL, "read scene.img ! resample --like like.hdr ! write b.img --overwrite");
    check_same_files("a.img", "b.img");
    check_same_files("a.hdr", "b.hdr");
    assert_true(file_holds("a.hdr", "bands = 59"));
    write_header(text, true, 1000, "Micrometers");
    file_write("um.hdr", "ENVI\n");
    char *header = malloc(2 * WIDE);
    (void)snprintf(header, 2 * WIDE, "ENVI\n%s", text);
    file_write("um.hdr", header);
    check_runs(NULL, "read scene.img ! resample --like um.hdr ! write c.img --overwrite");
    check_runs(NULL, "read scene.img ! resample --like scene.img ! write d.img --overwrite");
    Cube c = cube_read_floats("c", 1, 2, BANDS), d = cube_read_floats("d", 1, 2, BANDS);
    for (int32_t v = 0; v < 2 * BANDS; v++) {
        check_near(c.value[v], d.value[v], 1e-6);
    }
    cube_free(&c);
    cube_free(&d);
    free(text);
    free(header);
}

/* Bands 21 to 40 are bad: what lies there is left out, unless a coverage of 0 asks for what there is. */
static void coverage(void **state) {
    (void)state;
    char marks[BANDS * 3 + 20] = "bbl = {";
    for (int32_t b = 0; b < BANDS; b++) {
        (void)strcat(marks, b >= 20 && b < 40 ? "0" : "1");
        (void)strcat(marks, b + 1 < BANDS ? ", " : "}\n");
    }
    write_scene(marks);
    file_write("grid.txt", "500 20\n612.5 20\n700 20\n2600 40\n2000 50\n");
    check_run_fails(NULL, HC_E_INPUT, "grid.txt",
                    "read scene.img ! resample --wavelengths grid.txt ! write o.img");
    file_write("grid.txt", "500 20\n612.5 20\n616 30\n700 20\n2000 50\n2600 40\n");
    check_runs(NULL,
               "read scene.img --all-bands ! resample --wavelengths grid.txt ! write out.img --overwrite");
    assert_true(file_holds("out.hdr", "bands = 2\n"));
    assert_true(file_holds("out.hdr", "500, 2000"));
    check_runs(NULL,
               "read scene.img ! resample --wavelengths grid.txt --coverage 0.2 ! write out.img --overwrite");
    assert_true(file_holds("out.hdr", "bands = 4\n"));
    check_run_fails(NULL, HC_E_USAGE, "no band has a coverage of 0.5 (--coverage): 700 nm: 0",
                    "read scene.img ! resample --wavelengths 700-710:10 ! write o.img");
}

static void contract(void **state) {
    (void)state;
    check_stage_contract("resample --wavelengths 500-800:50");
    check_stage_contract("resample --wavelengths 460-840:20 --coverage 0");
}

static void wrong_input(void **state) {
    (void)state;
    static const struct {
        const char *name, *text, *says;
        HcStatus status;
    } files[] = {
        {"up.txt", "450 10\n440 10\n", "up.txt: line 2", HC_E_INPUT},
        {"twice.txt", "450\n450\n", "twice.txt: line 2", HC_E_INPUT},
        {"word.txt", "450\nred\n", "word.txt: line 2", HC_E_INPUT},
        {"three.txt", "#\n450 10 3\n460 1 2 3\n", "three.txt: line 2", HC_E_INPUT},
        {"nan.txt", "450 nan\n", "nan.txt: line 1", HC_E_INPUT},
        {"one.txt", "450\n", "one.txt ... no width", HC_E_INPUT},
        {"empty.txt", "\n# nothing\n", "empty.txt: has no band with a wavelength", HC_E_INPUT},
    };
    Cube cube = cube_smooth(3, 4, 5, 7, true);
    write_scene("");
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        file_write(files[f].name, files[f].text);
        check_run_fails(NULL, files[f].status, files[f].says,
                        "read scene.img ! resample --wavelengths %s ! write o.img", files[f].name);
    }
    check_run_fails(NULL, HC_E_USAGE, "name the bands: --like, --wavelengths or --responses",
                    "read scene.img ! resample ! write o.img");
    check_run_fails(NULL, HC_E_USAGE, "--wavelengths 900-400:10",
                    "read scene.img ! resample --wavelengths 900-400:10 ! write o.img");
    check_run_fails(NULL, HC_E_USAGE, "--wavelengths 400-900:0",
                    "read scene.img ! resample --wavelengths 400-900:0 ! write o.img");
    check_run_fails(NULL, HC_E_USAGE, "did you mean sentinel-2b",
                    "read scene.img ! resample --responses sentinel-2bb ! write o.img");
    file_write("zero.csv", "wavelength,a\n450,0\n460,0\n");
    check_run_fails(NULL, HC_E_INPUT, "zero.csv: a: has no response above 0",
                    "read scene.img ! resample --responses zero.csv ! write o.img");
    cube_write(&cube, "plain", HC_UINT16, "bip", NULL);
    check_run_fails(NULL, HC_E_INPUT, "plain.img: has no wavelengths",
                    "read scene.img ! resample --like plain.img ! write o.img");
    check_run_fails(NULL, HC_E_INPUT, "plain.hdr: has no wavelengths",
                    "read scene.img ! resample --like plain.hdr ! write o.img");
    check_run_fails(NULL, HC_E_USAGE, "resample: the scene has no wavelengths",
                    "read plain.img ! resample --like scene.img ! write o.img");
    assert_false(file_exists("o.img"));
    cube_free(&cube);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(by_widths, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(by_responses, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(by_a_file, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(like_others, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(coverage, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(contract, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(wrong_input, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
