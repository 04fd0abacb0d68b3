/* Fuzz harness: the JSON files of the pipeline (models, statistics, sums), each input by every loader. */
#include "pipeline/statistics/statistics.h"
#include "pipeline/statistics/sums_file.h"
#include "pipeline/statistics/transform.h"
#include "tests/fuzz/harness.h"

#include <math.h>
#include <stdlib.h>

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
    return hc_fuzz_mutate_json(data, size, capacity, seed);
}

static void check_finite(const double *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        hc_fuzz_expect(isfinite(values[i]), "numbers of a model are finite");
    }
}

static void check_bands(const HcScene *scene) {
    hc_fuzz_expect(scene->bands > 0, "a model has bands");
    for (int32_t b = 0; b < scene->bands; b++) {
        hc_fuzz_expect(scene->source_band == NULL || scene->source_band[b] >= 0, "a band is one of a file");
    }
}

static void try_transform(const char *path, const char *method) {
    HcError err = {0};
    HcTransform model = {0};
    HcStatus status = hc_transform_load(&model, path, method, &err);
    hc_fuzz_check(status, &err);
    if (status == HC_OK) {
        size_t p = (size_t)model.bands;
        size_t m = (size_t)model.components;
        hc_fuzz_expect(m > 0 && m <= p, "a model has at most as many components as bands");
        check_finite(model.mean, p);
        check_finite(model.forward, p * m);
        check_finite(model.inverse, p * m);
        check_finite(model.eigenvalues, m);
        check_bands(&model.scene);
        hc_fuzz_expect(hc_transform_count(&model, 2) > 0, "some components are chosen");
    }
    hc_transform_clear(&model);
}

static void try_statistics(const char *path) {
    HcError err = {0};
    HcStatistics statistics = {0};
    HcStatus status = hc_statistics_load(&statistics, path, &err);
    hc_fuzz_check(status, &err);
    if (status == HC_OK) {
        size_t n = (size_t)statistics.scene.bands;
        check_finite(statistics.mean, n);
        check_finite(statistics.covariance, n * n);
        check_bands(&statistics.scene);
        hc_fuzz_expect(statistics.pixels >= 0, "a count is not negative");
    }
    hc_statistics_clear(&statistics);
}

/* As --pool does: the sums of a scene are added to those of others and become a covariance. */
static void try_sums(const char *path) {
    HcError err = {0};
    HcSavedSums sums = {0};
    HcSavedSums total = {0};
    HcStatus status = hc_saved_sums_read(path, &sums, &err);
    hc_fuzz_check(status, &err);
    for (int scene = 0; scene < 3 && status == HC_OK; scene++) {
        status = hc_saved_sums_add(&total, &sums, path, &err);
        hc_fuzz_check(status, &err);
    }
    if (status == HC_OK) {
        HcStatistics statistics = {0};
        check_bands(&sums.scene);
        status =
            hc_statistics_make(&statistics, NULL, &total.scene, &total.moments, total.difference, "", &err);
        hc_fuzz_check(status, &err);
        hc_statistics_clear(&statistics);
    }
    hc_saved_sums_clear(&sums);
    hc_saved_sums_clear(&total);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[HC_FUZZ_PATH];
    hc_fuzz_file(path, "model.json", data, size);
    try_transform(path, "pca");
    try_transform(path, "mnf");
    try_statistics(path);
    try_sums(path);
    return 0;
}
