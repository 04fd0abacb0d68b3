/* The serial reference: its rows, and what it found, as a witness for the backends. */
#include "bench/internal.h"
#include "bench/serial.h"
#include "core/allocate.h"
#include "core/system/clock.h"
#include "pipeline/statistics/transform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the reference may take where it runs on a part of the scene [s]. */
static const double budget = 2.0;

/* And what looking for neighbours may, by one metric. */
static const double knn_budget = 1.0;

/* Rows of the largest matrix whose eigenvalues are looked for: some seconds. */
enum { GRADED_MAX = 1024 };

typedef struct Times {
    double decode, values, noise, project, fit; /* [s] */
} Times;

void hc_bench_witness_free(HcBenchWitness *witness) {
    if (witness == NULL) {
        return;
    }
    free(witness->x);
    free(witness->projected);
    free(witness->components);
    for (int m = 0; m < 2; m++) {
        free(witness->nearest[m].index);
        free(witness->nearest[m].distance);
    }
    free(witness->eigenvalues);
    hc_moments_clear(&witness->values);
    hc_moments_clear(&witness->noise);
    free(witness);
}

static HcStatus take_memory(HcBenchWitness *witness, const HcBenchSettings *settings, HcError *err) {
    size_t pixels = (size_t)witness->lines * (size_t)settings->samples;
    size_t values = pixels * (size_t)settings->bands;
    size_t projected = pixels * (size_t)settings->components;
    HC_OR_RETURN(hc_new(witness->x, values, "the serial reference", err));
    HC_OR_RETURN(hc_new(witness->projected, projected, "the serial reference", err));
    HC_OR_RETURN(hc_new(witness->components, projected, "the serial reference", err));
    /* The first touch of the memory is not what is measured. */
    memset(witness->x, 1, values * sizeof *witness->x);
    memset(witness->projected, 1, projected * sizeof *witness->projected);
    memset(witness->components, 1, projected * sizeof *witness->components);
    HC_OR_RETURN(hc_moments_init(&witness->values, settings->bands, err));
    return hc_moments_init(&witness->noise, settings->bands, err);
}

/* Decodes, sums and projects the lines of the witness. */
static HcStatus run_sums(HcBenchWitness *witness, const HcBenchSettings *settings, Times *times,
                         HcError *err) {
    HcStatus status = HC_OK;
    int64_t pixels = witness->lines * settings->samples;
    int64_t count = pixels * settings->bands;
    size_t weights = (size_t)settings->bands * (size_t)settings->components;
    uint16_t *raw = NULL;
    double *matrix = NULL;
    HC_TRY(hc_new(raw, count, "the serial reference", err));
    HC_TRY(hc_new(matrix, weights + (size_t)settings->bands, "the serial reference", err));
    hc_bench_random(settings, 0, count, raw);
    hc_bench_matrix(settings, matrix, matrix + weights);
    double start = hc_now();
    hc_serial_decode(raw, witness->lines, settings->samples, settings->bands, witness->x);
    double decoded = hc_now();
    HC_TRY(hc_serial_gram(witness->x, pixels, settings->bands, &witness->values, err));
    double summed = hc_now();
    HC_TRY(hc_serial_gram_mean3x3(witness->x, witness->lines, settings->samples, settings->bands,
                                  &witness->noise, err));
    double differed = hc_now();
    hc_serial_project(witness->x, pixels, settings->bands, matrix + weights, matrix, settings->components,
                      witness->projected);
    *times = (Times){.decode = decoded - start,
                     .values = summed - decoded,
                     .noise = differed - summed,
                     .project = hc_now() - differed};
done:
    free(raw);
    free(matrix);
    return status;
}

/* The maximum noise fraction of the lines of the witness. */
static HcStatus run_fit(HcBenchWitness *witness, const HcBenchSettings *settings, HcCompute *compute,
                        Times *times, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)settings->bands;
    HcTransform fit = {.scene = {.bands = settings->bands}};
    double *mean = NULL;
    HC_TRY(hc_new(mean, n + 2 * n * n + n * n, "the serial reference", err));
    double *covariance = mean + n;
    double *noise = covariance + n * n;
    double *matrix = noise + n * n;
    double start = 0;
    for (int warm = 0; warm < 2; warm++) {
        hc_transform_clear(&fit);
        fit.scene.bands = settings->bands;
        start = hc_now();
        HC_TRY(hc_moments_covariance(&witness->values, compute, 1, "random", mean, covariance, err));
        HC_TRY(hc_moments_covariance(&witness->noise, compute, hc_difference_variance(HC_DIFFERENCE_MEAN3X3),
                                     "random", NULL, noise, err));
        HC_TRY(hc_transform_fit_mnf(&fit, compute, mean, covariance, noise, err));
    }
    times->fit = hc_now() - start;
    witness->component_count = fit.components < settings->components ? fit.components : settings->components;
    for (size_t b = 0; b < n; b++) {
        memcpy(matrix + b * (size_t)witness->component_count, fit.forward + b * (size_t)fit.components,
               (size_t)witness->component_count * sizeof *matrix);
    }
    hc_serial_project(witness->x, witness->lines * settings->samples, settings->bands, mean, matrix,
                      witness->component_count, witness->components);
done:
    free(mean);
    hc_transform_clear(&fit);
    return status;
}

/* A witness of the first `lines` lines. */
static HcStatus make_witness(const HcBenchSettings *settings, int64_t lines, HcBenchWitness **out,
                             Times *times, HcError *err) {
    HcStatus status = HC_OK;
    HcBenchWitness *witness = NULL;
    HC_TRY(hc_new(witness, 1, "the serial reference", err));
    witness->lines = lines;
    HC_TRY(take_memory(witness, settings, err));
    HC_TRY(run_sums(witness, settings, times, err));
    *out = witness;
done:
    if (status != HC_OK) {
        hc_bench_witness_free(witness);
    }
    return status;
}

/* The fewest lines whose noise covariance has full rank, with some to spare. */
static int64_t least_lines(const HcBenchSettings *settings) {
    int64_t lines = 3 + (2 * (int64_t)settings->bands + settings->samples - 3) / (settings->samples - 2);
    return lines < settings->lines ? lines : settings->lines;
}

/* As many lines as the budget allows, by the time that the fewest take. */
static HcStatus choose_lines(const HcBenchSettings *settings, int64_t *lines, HcError *err) {
    HcStatus status = HC_OK;
    HcBenchWitness *witness = NULL;
    Times times = {0};
    int64_t least = least_lines(settings);
    *lines = settings->lines;
    if (settings->serial != HC_BENCH_SERIAL_WHOLE) {
        HC_TRY(make_witness(settings, least, &witness, &times, err));
        double each = (times.decode + times.values + times.noise + times.project) / (double)least;
        double fit = budget / (each > 0 ? each : 1e-9);
        *lines = fit < (double)least ? least : fit < (double)settings->lines ? (int64_t)fit : settings->lines;
    }
done:
    hc_bench_witness_free(witness);
    return status;
}

/* bytes and operations are those of the lines. */
static HcBenchRow *add_row_of(HcBench *bench, const char *operation, int64_t lines, double seconds,
                              double bytes, double operations) {
    HcBenchRow *row = hc_bench_row(bench, operation, "serial", lines);
    row->seconds = row->least = row->most = seconds;
    row->bytes = bytes;
    row->operations = operations;
    hc_bench_scale(bench, row);
    return row;
}

/* bytes and operations are those of the witness's lines. */
static HcBenchRow *add_row(HcBench *bench, const char *operation, double seconds, double bytes,
                           double operations) {
    return add_row_of(bench, operation, bench->witness->lines, seconds, bytes, operations);
}

static void add_rows(HcBench *bench, const Times *times) {
    double n = bench->settings.bands;
    double m = bench->settings.components;
    double pixels = (double)bench->witness->lines * bench->settings.samples;
    double gram = pixels * n * (n + 1);
    if (hc_bench_wants(bench, "decode-bil")) {
        add_row(bench, "decode-bil", times->decode, pixels * 6 * n, 0);
    }
    if (hc_bench_wants(bench, "gram-none")) {
        add_row(bench, "gram-none", times->values, pixels * 4 * n, gram);
    }
    if (hc_bench_wants(bench, "gram-mean3x3")) {
        add_row(bench, "gram-mean3x3", times->noise, pixels * 4 * n, gram);
    }
    if (hc_bench_wants(bench, "project")) {
        add_row(bench, "project", times->project, pixels * 4 * (n + m), pixels * 2 * n * m);
    }
    if (hc_bench_wants(bench, "chain-covariances")) {
        add_row(bench, "chain-covariances", times->decode + times->values + times->noise, pixels * 2 * n,
                2 * gram);
    }
    if (hc_bench_wants(bench, "chain-mnf")) {
        HcBenchRow *row =
            add_row(bench, "chain-mnf", 2 * times->decode + times->values + times->noise + times->project,
                    pixels * (4 * n + 4 * m), 2 * gram + pixels * 2 * n * m);
        row->seconds += times->fit;
        row->least = row->most = row->seconds;
        snprintf(row->how, sizeof row->how, "eigenproblems by LAPACK");
    }
}

/* Pixels whose neighbours are looked for: what the budget allows, by the time that the first few take; whole
 * lines where it allows one. */
static HcStatus choose_pixels(const HcBench *bench, const float *spectra, HcMetric metric,
                              const HcBenchNearest *nearest, int64_t *pixels, HcError *err) {
    enum { FEW = 8 };
    const HcBenchSettings *settings = &bench->settings;
    int64_t samples = settings->samples;
    *pixels = bench->witness->lines * samples;
    if (settings->serial != HC_BENCH_SERIAL_WHOLE) {
        int64_t few = *pixels < FEW ? *pixels : FEW;
        double start = hc_now();
        HC_OR_RETURN(hc_serial_knn(bench->witness->x, few, settings->bands, spectra, settings->training,
                                   metric, settings->neighbours, nearest->index, nearest->distance, err));
        double each = (hc_now() - start) / (double)few;
        double fit = knn_budget / (each > 0 ? each : 1e-9);
        if (fit < (double)*pixels) {
            *pixels = fit < (double)few ? few : (int64_t)fit;
            *pixels -= *pixels > samples ? *pixels % samples : 0;
        }
    }
    return HC_OK;
}

static HcStatus neighbours_row(HcBench *bench, const float *spectra, const char *operation, HcMetric metric,
                               HcError *err) {
    const HcBenchSettings *settings = &bench->settings;
    HcBenchNearest *nearest = &bench->witness->nearest[metric];
    int64_t samples = settings->samples;
    int64_t pixels = 0;
    if (!hc_bench_wants(bench, operation)) {
        return HC_OK;
    }
    size_t values = (size_t)bench->witness->lines * (size_t)samples * (size_t)settings->neighbours;
    HC_OR_RETURN(hc_new(nearest->index, values, "the serial reference", err));
    HC_OR_RETURN(hc_new(nearest->distance, values, "the serial reference", err));
    HC_OR_RETURN(choose_pixels(bench, spectra, metric, nearest, &pixels, err));
    double start = hc_now();
    HC_OR_RETURN(hc_serial_knn(bench->witness->x, pixels, settings->bands, spectra, settings->training,
                               metric, settings->neighbours, nearest->index, nearest->distance, err));
    double seconds = hc_now() - start;
    nearest->pixels = pixels;
    int64_t lines = pixels < samples ? 1 : pixels / samples;
    double all = (double)lines * (double)samples;
    double bands = settings->bands;
    double spectrum_count = (double)settings->training;
    HcBenchRow *row = add_row_of(bench, operation, lines, seconds * all / (double)pixels,
                                 all * (4 * bands + 12 * settings->neighbours) + 4 * spectrum_count * bands,
                                 all * 2 * spectrum_count * bands);
    if (pixels < samples) {
        snprintf(row->how, sizeof row->how, "%lld pixels of it", (long long)pixels);
    }
    return HC_OK;
}

static HcStatus run_neighbours(HcBench *bench, HcError *err) {
    HcStatus status = HC_OK;
    float *spectra = NULL;
    if (!hc_bench_wants(bench, "knn") && !hc_bench_wants(bench, "knn-angle")) {
        return HC_OK;
    }
    size_t values = (size_t)bench->settings.training * (size_t)bench->settings.bands;
    HC_TRY(hc_new(spectra, values, "training spectra", err));
    hc_bench_training(&bench->settings, spectra);
    HC_TRY(neighbours_row(bench, spectra, "knn", HC_METRIC_EUCLIDEAN, err));
    HC_TRY(neighbours_row(bench, spectra, "knn-angle", HC_METRIC_ANGLE, err));
done:
    free(spectra);
    return status;
}

/* The eigenvalues of the graded matrix. */
static HcStatus run_graded(HcBench *bench, HcError *err) {
    HcStatus status = HC_OK;
    const HcBenchSettings *settings = &bench->settings;
    size_t n = (size_t)settings->bands;
    double *matrix = NULL;
    if (!hc_bench_wants(bench, "eigh-graded") || settings->bands > GRADED_MAX) {
        return HC_OK;
    }
    HC_TRY(hc_new(matrix, n * n, "a matrix", err));
    HC_TRY(hc_new(bench->witness->eigenvalues, n, "a matrix", err));
    hc_bench_graded(settings, matrix);
    double start = hc_now();
    HC_TRY(hc_serial_eigenvalues(matrix, settings->bands, bench->witness->eigenvalues, err));
    HcBenchRow *row = add_row_of(bench, "eigh-graded", settings->lines, hc_now() - start, 0, 0);
    snprintf(row->how, sizeof row->how, "Jacobi on the Cholesky factor, values alone");
done:
    free(matrix);
    return status;
}

HcStatus hc_bench_serial(HcBench *bench, HcCompute *compute, HcError *err) {
    Times times = {0};
    int64_t lines = 0;
    if (bench->settings.serial == HC_BENCH_SERIAL_NONE || bench->witness != NULL) {
        return HC_OK;
    }
    if (bench->settings.report != NULL) {
        bench->settings.report("serial", "reference");
    }
    HC_OR_RETURN(choose_lines(&bench->settings, &lines, err));
    HC_OR_RETURN(make_witness(&bench->settings, lines, &bench->witness, &times, err));
    HC_OR_RETURN(run_fit(bench->witness, &bench->settings, compute, &times, err));
    add_rows(bench, &times);
    HC_OR_RETURN(run_neighbours(bench, err));
    HC_OR_RETURN(run_graded(bench, err));
    HC_OR_RETURN(hc_bench_serial_l1(bench, err));
    return hc_bench_serial_abundances(bench, err);
}
