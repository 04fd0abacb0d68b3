#include "tests/support/truth.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

const char *sample_path(char *buffer, size_t size, const char *name) {
    snprintf(buffer, size, "%s/%s", getenv("HCUBE_SAMPLE_DATA"), name);
    return buffer;
}

static bool is_bad(int band) {
    return band == 30 || band == 31 || (band >= 44 && band <= 46);
}

/* The bytes of a file of the sample data, which must be that many. */
static char *sample_bytes(const char *name, size_t expected) {
    char path[1024];
    size_t bytes = 0;
    char *data = file_bytes(sample_path(path, sizeof path, name), &bytes);
    assert_int_equal(bytes, expected);
    return data;
}

/* One band of the truth. */
static void load_band(Truth *truth, size_t band, size_t good, const char *scene, const char *abundance,
                      const char *endmembers, double floor_sigma, double slope) {
    size_t pixels = cube_pixels(&truth->scene);
    for (size_t i = 0; i < pixels; i++) {
        uint16_t stored = 0;
        memcpy(&stored, scene + 2 * ((i / SIDE * ALL_BANDS + band) * SIDE + i % SIDE), 2);
        double signal = 0;
        for (size_t k = 0; k < MATERIALS; k++) {
            float part = 0;
            float spectrum = 0;
            memcpy(&part, abundance + 4 * (k * pixels + i), 4);
            memcpy(&spectrum, endmembers + 4 * (k * ALL_BANDS + band), 4);
            signal += 10000 * (double)part * (double)spectrum;
        }
        truth->scene.value[i * GOOD + good] = stored;
        truth->scene.valid[i] = truth->scene.valid[i] && stored != 0;
        truth->signal[i * GOOD + good] = signal;
        truth->variance[i * GOOD + good] = floor_sigma * floor_sigma + slope * signal + 1.0 / 12;
    }
}

Truth truth_load(void) {
    char path[1024];
    size_t bytes = 0;
    Truth truth = {.scene = cube_new(SIDE, SIDE, GOOD)};
    size_t pixels = cube_pixels(&truth.scene);
    char *scene = sample_bytes("scene.img", pixels * ALL_BANDS * 2);
    char *abundance = sample_bytes("abundance.img", pixels * MATERIALS * 4);
    char *endmembers = sample_bytes("endmembers.sli", (size_t)ALL_BANDS * MATERIALS * 4);
    char *text = file_bytes(sample_path(path, sizeof path, "truth.json"), &bytes);
    cJSON *json = cJSON_Parse(text);
    const cJSON *per_band = cJSON_GetObjectItem(json, "per_band");
    const cJSON *floors = cJSON_GetObjectItem(per_band, "noise_floor");
    const cJSON *slopes = cJSON_GetObjectItem(per_band, "noise_slope");
    assert_int_equal(cJSON_GetArraySize(floors), ALL_BANDS);
    truth.signal = calloc(pixels * GOOD, sizeof(double));
    truth.variance = calloc(pixels * GOOD, sizeof(double));
    assert_true(truth.signal != NULL && truth.variance != NULL);
    size_t good = 0;
    for (int b = 0; b < ALL_BANDS; b++) {
        if (!is_bad(b)) {
            load_band(&truth, (size_t)b, good++, scene, abundance, endmembers,
                      cJSON_GetArrayItem(floors, b)->valuedouble, cJSON_GetArrayItem(slopes, b)->valuedouble);
        }
    }
    assert_int_equal(good, GOOD);
    cJSON_Delete(json);
    free(text);
    free(endmembers);
    free(abundance);
    free(scene);
    return truth;
}

void truth_free(Truth *truth) {
    cube_free(&truth->scene);
    free(truth->signal);
    free(truth->variance);
}

void truth_write_dark(const Truth *truth, const char *name) {
    uint64_t seed = 77;
    Cube dark = cube_new(SIDE, SIDE, ALL_BANDS);
    for (size_t i = 0; i < cube_pixels(&dark); i++) {
        size_t good = 0;
        for (int b = 0; b < ALL_BANDS; b++) {
            double variance = is_bad(b) ? 1 : truth->variance[i * GOOD + good];
            dark.value[i * ALL_BANDS + (size_t)b] = sqrt(variance) * random_normal(&seed);
            good += !is_bad(b);
        }
        /* Pixels without signal have less noise than any of the scene. */
        for (size_t b = 0; b < ALL_BANDS && !truth->scene.valid[i]; b++) {
            dark.value[i * ALL_BANDS + b] = NAN;
        }
    }
    cube_write(&dark, name, HC_FLOAT32, "bsq", NULL);
    cube_free(&dark);
}

/* Means over the valid pixels and the bands, in units of the noise: of the squared error and signal. */
static void means_of(const Truth *truth, const double *values, double *error, double *signal) {
    *error = *signal = 0;
    for (size_t b = 0; b < GOOD; b++) {
        double errors = 0;
        double signals = 0;
        double variance = 0;
        for (size_t i = 0; i < cube_pixels(&truth->scene); i++) {
            if (truth->scene.valid[i]) {
                double s = truth->signal[i * GOOD + b];
                errors += (values[i * GOOD + b] - s) * (values[i * GOOD + b] - s);
                signals += s * s;
                variance += truth->variance[i * GOOD + b];
            }
        }
        *error += errors / variance / GOOD;
        *signal += signals / variance / GOOD;
    }
}

double truth_error(const Truth *truth, const double *values) {
    double error;
    double signal;
    means_of(truth, values, &error, &signal);
    return error;
}

double truth_snr(const Truth *truth, const double *values) {
    double error;
    double signal;
    means_of(truth, values, &error, &signal);
    return 10 * log10(signal / error);
}
