#include "tests/support/mixtures.h"

#include "pipeline/json.h"

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
        check_near(number_of(item, "library_spectrum_from_0"), k, 0);
        assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "name")),
                            spectrum_names[k]);
    }
    check_near(number_of(result, "unfinished_pixels"), 0, 0);
    check_near(number_of(result, "library_factor"), 1, 0);
}
