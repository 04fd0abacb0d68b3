#include "tests/support/mixtures.h"

#include "pipeline/json/json.h"

#include <stdio.h>

const char *const spectrum_names[SPECTRA] = {"Alunite", "Calcite, coarse", "Kaolinite", "Grass", "Asphalt"};

static int wavelength_of(int band) {
    return 500 + 20 * band;
}

double library_value(int spectrum, int band) {
    double centre = 1.5 + 2.7 * spectrum;
    double width = 1.5 + 0.4 * spectrum;
    return (double)(float)(0.15 + 0.05 * spectrum +
                           0.5 * exp(-(band - centre) * (band - centre) / (2 * width * width)));
}

void library_write(const char *name, double factor, int zeros) {
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fprintf(file, "name");
    for (int b = 0; b < BANDS; b++) {
        fprintf(file, ",%d", wavelength_of(b));
    }
    for (int k = 0; k < SPECTRA + zeros; k++) {
        fprintf(file, "\n\"%s\"", k < SPECTRA ? spectrum_names[k] : "Shade");
        for (int b = 0; b < BANDS; b++) {
            fprintf(file, ",%.9g", k < SPECTRA ? library_value(k, b) * factor : 0);
        }
    }
    assert_int_equal(fclose(file), 0);
}

double deviation_of(int band) {
    return 0.5 + 0.25 * (band * band % 7);
}

void deviations_write(const char *name) {
    char list[512] = "";
    for (int b = 0; b < BANDS; b++) {
        snprintf(list + strlen(list), sizeof list - strlen(list), "%g%s", deviation_of(b),
                 b % 3 ? ", " : "\n");
    }
    file_write(name, list);
}

Cube mixtures_new(double factor, bool outliers) {
    uint64_t seed = 17;
    Cube cube = cube_new(LINES, SAMPLES, BANDS);
    for (size_t i = 0; i < PIXELS; i++) {
        double *pixel = cube.value + i * BANDS;
        double share[SPECTRA] = {0};
        for (int n = 0; n < 3; n++) {
            share[(int)(SPECTRA * random_uniform(&seed))] += 0.5 * random_uniform(&seed);
        }
        for (int b = 0; b < BANDS; b++) {
            pixel[b] = 0.01 * random_normal(&seed);
            pixel[b] += outliers && random_uniform(&seed) < 0.02 ? 0.5 : 0;
            for (int k = 0; k < SPECTRA; k++) {
                pixel[b] += share[k] * library_value(k, b);
            }
            pixel[b] = (double)(float)(pixel[b] * factor);
        }
    }
    return cube;
}

void mixtures_write(const Cube *cube, const char *name, const char *more) {
    char header[512] = "data ignore value = -9999\nwavelength units = nm\nwavelength = {";
    for (int b = 0; b < BANDS; b++) {
        snprintf(header + strlen(header), sizeof header - strlen(header), "%s%d", b > 0 ? ", " : "",
                 wavelength_of(b));
    }
    snprintf(header + strlen(header), sizeof header - strlen(header), "}\n%s", more);
    cube_write(cube, name, HC_FLOAT32, "bil", header);
}

const cJSON *read_result(cJSON **json) {
    HcError err = {0};
    check_ok(hc_json_read("record.json", json, &err), err);
    const cJSON *steps = cJSON_GetObjectItemCaseSensitive(*json, "steps");
    return cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(steps, 1), "result");
}

void check_spectra(const cJSON *result, const Cube *abundances) {
    const cJSON *spectra = cJSON_GetObjectItemCaseSensitive(result, "spectra");
    assert_int_equal(cJSON_GetArraySize(spectra), SPECTRA);
    for (int k = 0; k < SPECTRA; k++) {
        const cJSON *item = cJSON_GetArrayItem(spectra, k);
        int pixels = 0;
        int present = 0;
        double sum = 0;
        for (size_t i = 0; i < PIXELS; i++) {
            double value = abundances->value[i * (size_t)abundances->bands + (size_t)k];
            if (!isnan(value)) {
                pixels++;
                present += value > 0;
                sum += value;
            }
        }
        check_near(number_of(result, "pixels"), pixels, 0);
        check_near(number_of(item, "pixels"), present, 0);
        check_near(number_of(item, "mean_abundance"), sum / pixels, 1e-6);
        check_near(number_of(item, "library_spectrum_from_1"), k + 1, 0);
        assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "name")),
                            spectrum_names[k]);
    }
    check_near(number_of(result, "unfinished_pixels"), 0, 0);
    check_near(number_of(result, "library_factor"), 1, 0);
}

/* ---- what every stage with a library does ---- */

/* NAME: one spectrum without a value in band `hole`, from 1. */
static void write_holed(const char *name, int hole) {
    char text[512] = "band,a\n";
    for (int b = 1; b <= BANDS; b++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), b == hole ? "%d,\n" : "%d,0.1\n", b);
    }
    file_write(name, text);
}

static void write_wrong_files(void) {
    library_write("library.csv", 1, 0);
    file_write("far.csv", "nm,a,b\n2000,0.1,0.2\n2100,0.1,0.3\n2200,0.2,0.3\n");
    file_write("short.csv", "band,a,b\n1,0.1,0.2\n2,0.1,0.3\n3,0.2,0.3\n");
    write_holed("holes.csv", 5);
    file_write("three.txt", "1 2 3\n");
    file_write("words.txt", "1 2 loud\n");
    file_write("below.txt", "1 1 1 -1 1 1 1 1 1 1 1 1 1 1\n");
    file_write("zero.txt", "1 1 0 1 1 1 1 1 1 1 1 1 1 1\n");
    file_write("noise.txt", "1 1 1\n");
    check_runs(NULL, "read scene.img ! cov scene.json");
    Cube classes = cube_new(LINES, SAMPLES, 1);
    classes.value[40] = 1;
    cube_write(&classes, "classes", HC_UINT8, "bsq",
               "classes = 2\nclass names = {Unclassified, Oats}\nclass lookup = {0, 0, 0, 9, 9, 9}\n");
    cube_free(&classes);
}

void check_library_refusals(const char *step) {
    /* What stands before the step, and behind it. */
    static const struct {
        const char *before, *behind;
        HcStatus status;
        const char *part;
    } cases[] = {{"", "nowhere.csv", HC_E_INPUT, "nowhere.csv: there is no such file"},
                 {"", "scene.img", HC_E_INPUT, "scene.hdr: not a spectral library"},
                 {"", "noise.txt", HC_E_INPUT, "noise.txt"},
                 {"", "far.csv", HC_E_INPUT, "far.csv: "},
                 {"", "short.csv", HC_E_INPUT, "short.csv: "},
                 {"", "holes.csv", HC_E_INPUT, "holes.csv: "},
                 {"", "library.csv --scale 0", HC_E_USAGE, "--scale 0: auto, none, or a number"},
                 {"", "library.csv --scale nan", HC_E_USAGE, "--scale nan"},
                 {"", "library.csv --scale atuo", HC_E_USAGE, "did you mean auto?"},
                 {"", "library.csv --weights nowhere.txt", HC_E_INPUT, "nowhere.txt"},
                 {"", "library.csv --weights three.txt", HC_E_INPUT, "three.txt: has 3 numbers, 14 bands"},
                 {"", "library.csv --weights words.txt", HC_E_INPUT, "words.txt: 'loud' is not a number"},
                 {"", "library.csv --weights below.txt", HC_E_INPUT, "below.txt: the noise of band 4"},
                 {"", "library.csv --weights zero.txt", HC_E_INPUT, "zero.txt: the noise of band 3"},
                 {"", "library.csv --weights scene.json", HC_E_INPUT, "not of its noise"},
                 {"pca ! ", "library.csv", HC_E_USAGE, "components come in"},
                 {"write made.img ! ", "made.img", HC_E_USAGE, "made.img: an earlier step writes this file"},
                 {"write made.img ! ", "library.csv --weights made.img", HC_E_USAGE,
                  "made.img: an earlier step writes this file"}};
    write_wrong_files();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        check_run_fails(NULL, cases[c].status, cases[c].part, "read scene.img ! %s%s %s ! write bad.img",
                        cases[c].before, step, cases[c].behind);
    }
    check_run_fails(NULL, HC_E_USAGE, "no spectra",
                    "read scene.img ! %s library.csv ! %s library.csv ! write bad.img", step, step);
    check_run_fails(NULL, HC_E_USAGE, ": the scene is a class map",
                    "read classes.img ! %s library.csv ! write bad.img", step);
    assert_false(file_exists("bad.img"));
}

void check_without_pixels(const char *step, const char *options, int32_t bands) {
    Cube cube = cube_new(4, 5, BANDS);
    HcText notes = {0};
    RunHow how = {.notes = &notes, .settings = {.record = "record.json"}};
    cube_write(&cube, "empty", HC_FLOAT32, "bsq", "data ignore value = 0\n");
    library_write("library.csv", 1, 0);
    check_runs(&how, "read empty.img ! %s library.csv %s ! write out.img", step, options);
    Cube out = cube_read_floats("out", 4, 5, bands);
    for (size_t i = 0; i < cube_pixels(&cube) * (size_t)bands; i++) {
        assert_true(isnan(out.value[i]));
    }
    cJSON *json = NULL;
    check_near(number_of(read_result(&json), "pixels"), 0, 0);
    assert_true(notes.data == NULL || strstr(notes.data, "proved") == NULL);
    cJSON_Delete(json);
    hc_text_clear(&notes);
    cube_free(&out);
    cube_free(&cube);
}

void check_counts(const char *step, const char *options, void (*check)(const char *notes)) {
    static const char *const ends[] = {"", "! filter", "! pca --components 2", "! filter ! pca ! filter"};
    library_write("library.csv", 1, 0);
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
        for (int strict = 0; strict < 2; strict++) {
            HcText notes = {0};
            RunHow how = {.ops = strict ? hc_strict_ops() : NULL,
                          .notes = &notes,
                          .settings = {.block_lines = strict ? 10 : 0, .record = "record.json"}};
            check_runs(&how, "read scene.img ! %s library.csv %s ! write some.img %s ! write out.img", step,
                       options, ends[e]);
            check(notes.data);
            assert_non_null(strstr(notes.data, "; largest mean abundances: "));
            hc_text_clear(&notes);
        }
    }
    assert_int_equal(hc_strict_leaks(), 0);
    assert_int_equal(hc_strict_overruns(), 0);
}
