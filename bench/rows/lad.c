/* Rows of abundances of least absolute deviation: mixtures with noise and outliers, on the pixels of a scene.
 * "12" and "one" have 188 bands and 12 endmembers, "64" has 500 bands and 64 endmembers. */
#include "core/operation/lp/lad.h"
#include "bench/internal.h"
#include "bench/serial.h"
#include "core/allocate.h"
#include "core/system/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bands that are off by up to 1: their share. */
static const double outliers = 0.02;

/* The largest error (HcLadRule) that a pixel may report, and how far its float32 abundances may be
 * from the least sum of deviations, relative to the sum of the pixel's values. */
static const double proof_tolerance = 1e-9;
static const double sum_tolerance = 1e-6;

/* Places of the random numbers of outliers. */
static const int64_t outlier_place = (int64_t)1 << 41;

enum {
    LINES = 8,   /* that differ; the others repeat them */
    CHECKED = 16 /* pixels whose deviations are compared with the serial reference */
};

typedef struct Kind {
    const char *name;
    int32_t bands, endmembers;
    HcLadSum sum;
    int32_t serial; /* pixels that the serial reference solves */
} Kind;

static const Kind kinds[] = {
    {"simplex_batched-12", 188, 12, HC_SUM_FREE, 200},
    {"simplex_batched-one", 188, 12, HC_SUM_ONE, 200},
    {"simplex_batched-64", 500, 64, HC_SUM_FREE, 8},
};

typedef struct Pixels {
    const Kind *kind;
    HcBenchSettings settings; /* those of the bench, with the bands of the row */
    HcLadRule rule;
    HcLad *open;
    HcBlock in, out;
    HcBuffer pixels, abundances, counts;
    float *endmembers; /* [endmembers][bands] */
    float *mixed;      /* [pixels][bands] */
} Pixels;

/* ---- data ---- */

static void add_outliers(const HcBenchSettings *settings, int64_t values, float *mixed) {
    for (int64_t v = 0; v < values; v++) {
        if (0.5 + 0.5 * (double)hc_bench_dense(settings, outlier_place + 2 * v) < outliers) {
            mixed[v] += hc_bench_dense(settings, outlier_place + 2 * v + 1);
        }
    }
}

/* Endmembers, and mixtures of them for the given number of pixels. */
static HcStatus make_pixels(const HcBenchSettings *settings, const Kind *kind, int64_t count, Pixels *pixels,
                            HcError *err) {
    int64_t bands = kind->bands;
    *pixels = (Pixels){.kind = kind, .settings = *settings};
    pixels->settings.bands = kind->bands;
    HC_OR_RETURN(hc_new(pixels->endmembers, kind->endmembers * bands, "mixtures", err));
    HC_OR_RETURN(hc_new(pixels->mixed, count * bands, "mixtures", err));
    hc_bench_library(&pixels->settings, kind->endmembers, pixels->endmembers);
    hc_bench_mixtures(&pixels->settings, pixels->endmembers, kind->endmembers, count, pixels->mixed);
    add_outliers(settings, count * bands, pixels->mixed);
    return HC_OK;
}

/* ---- a row ---- */

static HcStatus call_abundances(HcRig *rig, void *user, HcError *err) {
    Pixels *pixels = user;
    return hc_lad(rig->queue, &pixels->in, pixels->open, &pixels->out, err);
}

static HcStatus open_pixels(HcRig *rig, const Kind *kind, int64_t lines, Pixels *pixels, HcError *err) {
    size_t samples = (size_t)rig->settings->samples;
    size_t count = (size_t)lines * samples;
    HC_OR_RETURN(make_pixels(rig->settings, kind, LINES * (int64_t)samples, pixels, err));
    pixels->rule = (HcLadRule){.endmembers = kind->endmembers,
                               .bands = kind->bands,
                               .spectrum = pixels->endmembers,
                               .sum = kind->sum};
    size_t bands = (size_t)hc_lad_bands(&pixels->rule);
    size_t counts = hc_lad_counts(&pixels->rule) * sizeof(int64_t);
    HC_OR_RETURN(hc_alloc(rig->compute, HC_MEMORY_DEVICE, count * ((size_t)kind->bands * sizeof(float) + 1),
                          &pixels->pixels, err));
    HC_OR_RETURN(hc_alloc(rig->compute, HC_MEMORY_DEVICE, count * (bands * sizeof(float) + 1),
                          &pixels->abundances, err));
    HC_OR_RETURN(hc_alloc(rig->compute, HC_MEMORY_DEVICE, counts, &pixels->counts, err));
    HC_OR_RETURN(hc_zero(rig->queue, pixels->counts.data, counts, err));
    pixels->rule.counts = pixels->counts.data;
    HC_OR_RETURN(hc_lad_open(rig->compute, &pixels->rule, &pixels->open, err));
    pixels->in = hc_rig_block(rig, &pixels->pixels, lines, kind->bands);
    pixels->out = hc_rig_block(rig, &pixels->abundances, lines, (int32_t)bands);
    return hc_rig_repeat(rig, pixels->mixed, LINES, &pixels->in, err);
}

static void close_pixels(HcRig *rig, Pixels *pixels, HcStatus status) {
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_lad_close(pixels->open);
    hc_release(rig->compute, &pixels->pixels);
    hc_release(rig->compute, &pixels->abundances);
    hc_release(rig->compute, &pixels->counts);
    free(pixels->endmembers);
    free(pixels->mixed);
}

/* ---- checks ---- */

/* The sum of deviations of abundances, in float64, and the sum of the pixel's values. */
static double deviation_of(const Pixels *pixels, const float *pixel, const float *abundance, double *size) {
    int64_t bands = pixels->kind->bands;
    double sum = 0;
    *size = 0;
    for (int64_t b = 0; b < bands; b++) {
        double left = (double)pixel[b];
        for (int64_t k = 0; k < pixels->kind->endmembers; k++) {
            left -= (double)abundance[k] * (double)pixels->endmembers[k * bands + b];
        }
        sum += fabs(left);
        *size += fabs((double)pixel[b]);
    }
    return sum;
}

/* Some abundances have the least deviation, and the sum that they should have. */
static HcStatus check_pixels(HcRig *rig, const Pixels *pixels, HcBenchRow *row, HcError *err) {
    const Kind *kind = pixels->kind;
    int64_t count = rig->settings->samples < CHECKED ? rig->settings->samples : CHECKED;
    float got[CHECKED * HC_LAD_ENDMEMBERS_MAX];
    HC_OR_RETURN(hc_download(rig->queue, pixels->out.data, got,
                             (size_t)(count * kind->endmembers) * sizeof *got, err));
    HC_OR_RETURN(hc_wait(rig->queue, err));
    for (int64_t p = 0; p < count; p++) {
        const float *pixel = pixels->mixed + p * kind->bands;
        const float *abundance = got + p * kind->endmembers;
        double least = 0;
        double size = 0;
        double total = 0;
        double deviation = deviation_of(pixels, pixel, abundance, &size);
        HC_OR_RETURN(hc_serial_deviation(pixels->endmembers, kind->endmembers, kind->bands,
                                         kind->sum == HC_SUM_ONE, pixel, &least, err));
        for (int32_t k = 0; k < kind->endmembers; k++) {
            total += (double)abundance[k];
        }
        if (!(fabs(deviation - least) <= sum_tolerance * size) ||
            (kind->sum == HC_SUM_ONE && !(fabs(total - 1) <= sum_tolerance))) {
            hc_bench_wrong(row, "a pixel has a sum of deviations of %g (least: %g)", deviation, least);
        }
    }
    row->check = HC_BENCH_NEAR;
    return HC_OK;
}

/* All are proved to be optimal. how: what a pixel took. */
static HcStatus check_proofs(HcRig *rig, const Pixels *pixels, HcBenchRow *row, HcError *err) {
    int64_t counts[HC_LAD_COUNTS];
    double error = 0;
    HC_OR_RETURN(hc_download(rig->queue, pixels->counts.data, counts, sizeof counts, err));
    HC_OR_RETURN(hc_wait(rig->queue, err));
    memcpy(&error, &counts[HC_LAD_COUNT_ERROR], sizeof error);
    if (counts[HC_LAD_COUNT_UNFINISHED] != 0 || !(error <= proof_tolerance)) {
        hc_bench_wrong(row, "a pixel ended with an error of %g", error);
    }
    snprintf(row->how, sizeof row->how, "%.4g pixels/s, %.1f pivots a pixel, error at most %.0e",
             (double)row->lines * rig->settings->samples / row->seconds,
             (double)counts[HC_LAD_COUNT_PIVOTS] / (double)counts[HC_LAD_COUNT_PIXELS], error);
    return HC_OK;
}

static HcStatus abundance_row(HcRig *rig, const Kind *kind, HcError *err) {
    HcStatus status = HC_OK;
    Pixels pixels = {0};
    HcBenchRow *row = hc_bench_row(rig->bench, kind->name, rig->device->by, rig->part);
    HC_TRY(open_pixels(rig, kind, rig->part, &pixels, err));
    HC_TRY(hc_rig_choose_lines(rig, call_abundances, &pixels, &pixels.in, &pixels.out, &row->lines, err));
    double count = (double)row->lines * rig->settings->samples;
    double values = (double)kind->bands * kind->endmembers;
    /* A product with the endmembers for the deviations and one for the dual are the least that a proof takes.
     */
    hc_rig_floor(rig, row, count * (4.0 * kind->bands + 1 + 4.0 * kind->endmembers + 1), 0,
                 count * 4 * values);
    HC_TRY(hc_rig_measure(rig, call_abundances, &pixels, row, err));
    HC_TRY(check_pixels(rig, &pixels, row, err));
    HC_TRY(check_proofs(rig, &pixels, row, err));
    hc_bench_scale(rig->bench, row);
done:
    close_pixels(rig, &pixels, status);
    return status;
}

static HcStatus measure(HcRig *rig, HcError *err) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (hc_bench_wants(rig->bench, kinds[i].name)) {
            HC_OR_RETURN(abundance_row(rig, &kinds[i], err));
        }
    }
    return HC_OK;
}

/* ---- the serial reference ---- */

static HcStatus serial_row(HcBench *bench, const Kind *kind, HcError *err) {
    HcStatus status = HC_OK;
    Pixels pixels = {0};
    double least = 0;
    HC_TRY(make_pixels(&bench->settings, kind, kind->serial, &pixels, err));
    HcBenchRow *row = hc_bench_row(bench, kind->name, "serial", bench->settings.lines);
    double start = hc_now();
    for (int64_t p = 0; p < kind->serial; p++) {
        HC_TRY(hc_serial_deviation(pixels.endmembers, kind->endmembers, kind->bands, kind->sum == HC_SUM_ONE,
                                   pixels.mixed + p * kind->bands, &least, err));
    }
    double each = (hc_now() - start) / kind->serial;
    row->seconds = row->least = row->most = each * (double)bench->settings.lines * bench->settings.samples;
    snprintf(row->how, sizeof row->how, "%.4g pixels/s, from %d pixels", 1 / each, kind->serial);
done:
    free(pixels.endmembers);
    free(pixels.mixed);
    return status;
}

HcStatus hc_bench_serial_abundances(HcBench *bench, HcError *err) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (hc_bench_wants(bench, kinds[i].name)) {
            HC_OR_RETURN(serial_row(bench, &kinds[i], err));
        }
    }
    return HC_OK;
}

const HcBenchPart hc_bench_lad = {.measure = measure,
                                  .rows = (const HcBenchKind[]){{"simplex_batched-12", HC_BENCH_NEAR},
                                                                {"simplex_batched-one", HC_BENCH_NEAR},
                                                                {"simplex_batched-64", HC_BENCH_NEAR},
                                                                {0}}};
