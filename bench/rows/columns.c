/* Rows with a background for each column and one target: filters, scores, and scores of whitened pixels. */
#include "core/operation/gram/column_filters.h"
#include "core/operation/spectrum/calibrate.h"
#include "bench/internal.h"
#include "core/allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the operation is called with; every column is a group. */
typedef struct Scores {
    HcBlock in, out;
    HcColumnScoring how;
    double *filter, *deviation, *whitening; /* [host] */
    uint8_t *scored;                        /* [host] */
    HcBuffer memory[4];                     /* [device] copies of them */
} Scores;

/* ---- scores ---- */

static HcStatus call_scores(HcRig *rig, void *user, HcError *err) {
    Scores *scores = user;
    return hc_column_scores(rig->queue, &scores->in, &scores->how, &scores->out, err);
}

static HcStatus put(HcRig *rig, const void *from, size_t bytes, HcBuffer *to, HcError *err) {
    HC_OR_RETURN(hc_alloc(rig->compute, HC_MEMORY_DEVICE, bytes, to, err));
    HC_OR_RETURN(hc_upload(rig->queue, from, to->data, bytes, err));
    return hc_wait(rig->queue, err);
}

static HcStatus make(HcRig *rig, HcColumnScore kind, Scores *scores, HcError *err) {
    size_t groups = (size_t)rig->settings->samples;
    size_t n = (size_t)rig->settings->bands;
    size_t filters = groups * 2 * n;
    size_t triangles = kind == HC_COLUMN_COHERENCE ? groups * hc_whitening_values((int64_t)n) : 0;
    HC_OR_RETURN(hc_new(scores->filter, filters, "filters", err));
    HC_OR_RETURN(hc_new(scores->deviation, groups, "filters", err));
    HC_OR_RETURN(hc_new(scores->scored, groups, "filters", err));
    HC_OR_RETURN(hc_new(scores->whitening, triangles + 1, "filters", err));
    for (size_t i = 0; i < filters; i++) {
        double value = (double)hc_bench_dense(rig->settings, (int64_t)i);
        double middle = (double)(1 << (rig->settings->bits - 1));
        scores->filter[i] = i / n % 2 == 0 ? middle * (1 + value / 4) : value;
    }
    for (size_t g = 0; g < groups; g++) {
        scores->deviation[g] = 1 + (double)(g % 7);
        scores->scored[g] = 1;
    }
    for (size_t i = 0; i < (triangles > 0 ? groups * n : 0); i++) {
        size_t row = i % n;
        double *quad = scores->whitening + i / n * hc_whitening_values((int64_t)n) +
                       hc_whitening_offset((int64_t)row / HC_WHITENING_ROWS);
        for (size_t b = 0; b <= row; b++) {
            quad[b * HC_WHITENING_ROWS + row % HC_WHITENING_ROWS] =
                (double)hc_bench_dense(rig->settings, (int64_t)(filters + i * n + b));
        }
    }
    HC_OR_RETURN(put(rig, scores->filter, filters * sizeof(double), &scores->memory[0], err));
    HC_OR_RETURN(put(rig, scores->deviation, groups * sizeof(double), &scores->memory[1], err));
    HC_OR_RETURN(put(rig, scores->scored, groups, &scores->memory[2], err));
    HC_OR_RETURN(put(rig, scores->whitening, (triangles + 1) * sizeof(double), &scores->memory[3], err));
    scores->how = (HcColumnScoring){.kind = kind,
                                    .width = 1,
                                    .filter = scores->memory[0].data,
                                    .deviation = scores->memory[1].data,
                                    .whitening = triangles > 0 ? scores->memory[3].data : NULL,
                                    .stride = hc_whitening_values((int64_t)n),
                                    .scored = scores->memory[2].data};
    return HC_OK;
}

static void clear(HcRig *rig, Scores *scores) {
    for (size_t i = 0; i < sizeof scores->memory / sizeof *scores->memory; i++) {
        hc_release(rig->compute, &scores->memory[i]);
    }
    free(scores->filter);
    free(scores->deviation);
    free(scores->whitening);
    free(scores->scored);
}

/* By the definition, bands in ascending order. */
static double score_of(const Scores *scores, const float *x, int64_t group) {
    int64_t n = scores->in.bands;
    const double *mean = scores->filter + group * 2 * n;
    const double *triangle = scores->whitening + (size_t)group * scores->how.stride;
    double share = 0;
    double square = 0;
    for (int64_t b = 0; b < n; b++) {
        share += ((double)x[b] - mean[b]) * mean[n + b];
    }
    if (scores->how.kind == HC_COLUMN_SHARE) {
        return share;
    }
    for (int64_t r = 0; r < n; r++) {
        const double *quad = triangle + hc_whitening_offset(r / HC_WHITENING_ROWS) + r % HC_WHITENING_ROWS;
        double y = 0;
        for (int64_t b = 0; b < hc_whitening_width(r / HC_WHITENING_ROWS, n); b++) {
            y += quad[b * HC_WHITENING_ROWS] * ((double)x[b] - mean[b]);
        }
        square += y * y;
    }
    double along = share / scores->deviation[group];
    return along * fabs(along) / square;
}

static HcStatus check(HcRig *rig, const Scores *scores, HcBenchRow *row, HcError *err) {
    enum { PIXELS_MAX = 4096 };
    HcStatus status = HC_OK;
    const HcBenchWitness *witness = rig->bench->witness;
    int64_t samples = scores->in.samples;
    float *expected = NULL;
    if (witness == NULL) {
        return HC_OK;
    }
    int64_t pixels = hc_min64(PIXELS_MAX, hc_min64(witness->lines, row->lines) * samples);
    HC_TRY(hc_new(expected, pixels, "expected scores", err));
    for (int64_t p = 0; p < pixels; p++) {
        expected[p] = (float)score_of(scores, witness->x + p * scores->in.bands, p % samples);
    }
    HC_TRY(hc_rig_compare(rig, scores->out.data, expected, (size_t)pixels, 1e-6, row, err));
done:
    free(expected);
    return status;
}

static HcStatus measure_scores(HcRig *rig, const char *name, HcColumnScore kind, HcError *err) {
    HcStatus status = HC_OK;
    double n = rig->settings->bands;
    Scores scores = {.in = hc_rig_block(rig, &rig->block, rig->part, rig->settings->bands),
                     .out = hc_rig_block(rig, &rig->out, rig->part, 1)};
    if (!hc_bench_wants(rig->bench, name)) {
        return HC_OK;
    }
    HcBenchRow *row = hc_bench_row(rig->bench, name, rig->device->by, rig->part);
    HC_TRY(make(rig, kind, &scores, err));
    HC_TRY(hc_rig_choose_lines(rig, call_scores, &scores, &scores.in, &scores.out, &row->lines, err));
    double pixels = (double)row->lines * rig->settings->samples;
    row->operations = pixels * (kind == HC_COLUMN_COHERENCE ? n * (n + 1) + 5 * n : 3 * n);
    hc_rig_floor(rig, row, pixels * (4 * n + 6), 0, row->operations);
    HC_TRY(hc_rig_measure(rig, call_scores, &scores, row, err));
    HC_TRY(check(rig, &scores, row, err));
    hc_bench_scale(rig->bench, row);
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    clear(rig, &scores);
    return status;
}

/* ---- filters ---- */

/* What the operation is called with; every column is a group, and all have the same sums. */
typedef struct Filters {
    HcColumnFilters how;
    double *matrix;     /* [bands][bands] the covariance */
    double *numbers;    /* [1 + targets][bands] units and the target, on the host */
    HcBuffer sums, out; /* [device] */
} Filters;

static HcStatus call_filters(HcRig *rig, void *user, HcError *err) {
    return hc_column_filters(rig->queue, &((Filters *)user)->how, err);
}

/* Sums of COUNT pixels whose mean is 0. */
static HcStatus put_sums(HcRig *rig, Filters *filters, HcError *err) {
    enum { COUNT = 1024 };
    HcStatus status = HC_OK;
    int32_t bands = rig->settings->bands;
    size_t n = (size_t)bands;
    size_t bytes = hc_column_values(bands) * sizeof(int64_t);
    int64_t *sums = NULL;
    HC_TRY(hc_new(sums, hc_column_values(bands), "sums of columns", err));
    sums[hc_column_place(bands, n, n)] = COUNT;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            int64_t sum = (int64_t)(filters->matrix[i * n + j] * 0x1p50);
            sums[hc_column_place(bands, i, j)] = sum;
            filters->matrix[i * n + j] = filters->matrix[j * n + i] = (double)sum / (COUNT - 1);
        }
    }
    HC_TRY(
        hc_alloc(rig->compute, HC_MEMORY_DEVICE, (size_t)filters->how.groups * bytes, &filters->sums, err));
    for (int64_t g = 0; g < filters->how.groups; g++) {
        HC_TRY(hc_upload(rig->queue, sums, (char *)filters->sums.data + (size_t)g * bytes, bytes, err));
    }
    HC_TRY(hc_wait(rig->queue, err));
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    free(sums);
    return status;
}

static HcStatus make_filters(HcRig *rig, Filters *filters, HcError *err) {
    HcColumnFilters *how = &filters->how;
    size_t groups = (size_t)rig->settings->samples;
    size_t n = (size_t)rig->settings->bands;
    *how = (HcColumnFilters){.groups = (int64_t)groups, .bands = rig->settings->bands, .targets = 1};
    HC_OR_RETURN(hc_new(filters->matrix, n * n, "filters", err));
    HC_OR_RETURN(hc_new(filters->numbers, 2 * n + 1, "filters", err));
    hc_bench_graded(rig->settings, filters->matrix);
    for (size_t b = 0; b < n; b++) {
        filters->numbers[b] = 1;
        filters->numbers[n + 1 + b] = (double)hc_bench_dense(rig->settings, (int64_t)b);
    }
    filters->numbers[n] = 1;
    HC_OR_RETURN(put_sums(rig, filters, err));
    size_t each = (2 * n + 3) * sizeof(double) + sizeof(int32_t) + 1;
    HC_OR_RETURN(hc_alloc(rig->compute, HC_MEMORY_DEVICE, groups * each + (2 * n + 1) * sizeof(double),
                          &filters->out, err));
    how->sums = filters->sums.data;
    how->filter = filters->out.data;
    how->deviation = how->filter + 2 * groups * n;
    how->shrinkage = how->deviation + groups;
    how->pixels = (int64_t *)(void *)(how->shrinkage + groups);
    how->unit = (const double *)(const void *)(how->pixels + groups);
    how->spectrum = how->unit + n + 1;
    how->directions = (int32_t *)(void *)((double *)(void *)how->spectrum + n);
    how->scored = (uint8_t *)(how->directions + groups);
    HC_OR_RETURN(
        hc_upload(rig->queue, filters->numbers, (void *)how->unit, (2 * n + 1) * sizeof(double), err));
    return hc_wait(rig->queue, err);
}

/* The weights of the last group solve C w = t / (t' inv(C) t). */
static HcStatus check_filters(HcRig *rig, const Filters *filters, HcBenchRow *row, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)rig->settings->bands;
    size_t last = (size_t)filters->how.groups - 1;
    const double *target = filters->numbers + n + 1;
    double deviation = 0;
    double *weight = NULL;
    float *values = NULL;
    HC_TRY(hc_new(weight, n, "weights", err));
    HC_TRY(hc_new(values, 2 * n, "weights", err));
    HC_TRY(
        hc_download(rig->queue, filters->how.filter + (2 * last + 1) * n, weight, n * sizeof(double), err));
    HC_TRY(hc_download(rig->queue, filters->how.deviation + last, &deviation, sizeof deviation, err));
    HC_TRY(hc_wait(rig->queue, err));
    for (size_t b = 0; b < n; b++) {
        double sum = 0;
        for (size_t c = 0; c < n; c++) {
            sum += filters->matrix[b * n + c] * weight[c];
        }
        values[b] = (float)(sum / (deviation * deviation));
        values[n + b] = (float)target[b];
    }
    hc_rig_compare_host(values, values + n, n, 1e-6, row);
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    free(weight);
    free(values);
    return status;
}

static HcStatus measure_filters(HcRig *rig, HcError *err) {
    HcStatus status = HC_OK;
    double n = rig->settings->bands;
    double groups = rig->settings->samples;
    Filters filters = {0};
    if (!hc_bench_wants(rig->bench, "column_filters")) {
        return HC_OK;
    }
    HcBenchRow *row = hc_bench_row(rig->bench, "column_filters", rig->device->by, rig->settings->lines);
    HC_TRY(make_filters(rig, &filters, err));
    row->operations = groups * (n * n * n / 3 + 5 * n * n);
    hc_rig_floor(rig, row, groups * (4 * (n + 1) * (n + 2) + 16 * n), 0, row->operations);
    HC_TRY(hc_rig_measure(rig, call_filters, &filters, row, err));
    HC_TRY(check_filters(rig, &filters, row, err));
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_release(rig->compute, &filters.sums);
    hc_release(rig->compute, &filters.out);
    free(filters.matrix);
    free(filters.numbers);
    return status;
}

/* ---- offset and gain of each column ---- */

typedef struct Calibrated {
    HcBlock in, out;
    HcCalibration how;
    double *number;     /* [host] [samples][bands] offsets and gains */
    uint8_t *live;      /* [host] */
    HcBuffer memory[2]; /* [device] copies of them */
} Calibrated;

static HcStatus call_calibrate(HcRig *rig, void *user, HcError *err) {
    Calibrated *of = user;
    return hc_calibrate(rig->queue, &of->in, &of->how, &of->out, err);
}

static HcStatus make_calibrated(HcRig *rig, Calibrated *of, HcError *err) {
    size_t samples = (size_t)rig->settings->samples, values = samples * (size_t)rig->settings->bands;
    HC_OR_RETURN(hc_new(of->number, values, "offsets and gains", err));
    HC_OR_RETURN(hc_new(of->live, samples, "the columns", err));
    for (size_t i = 0; i < values; i++) {
        of->number[i] = 1 + (double)(i % 97) / 64;
    }
    memset(of->live, 1, samples);
    HC_OR_RETURN(put(rig, of->number, values * sizeof(double), &of->memory[0], err));
    HC_OR_RETURN(put(rig, of->live, samples, &of->memory[1], err));
    of->how =
        (HcCalibration){.offset = of->memory[0].data, .gain = of->memory[0].data, .live = of->memory[1].data};
    return HC_OK;
}

static HcStatus check_calibrated(HcRig *rig, const Calibrated *of, HcBenchRow *row, HcError *err) {
    enum { PIXELS_MAX = 4096 };
    HcStatus status = HC_OK;
    const HcBenchWitness *witness = rig->bench->witness;
    int64_t bands = of->in.bands, frame = of->in.samples * bands;
    float *expected = NULL;
    if (witness == NULL) {
        return HC_OK;
    }
    int64_t lines = hc_min64(witness->lines, row->lines);
    int64_t values = hc_min64(PIXELS_MAX, lines * of->in.samples) * bands;
    HC_TRY(hc_new(expected, values, "expected values", err));
    for (int64_t i = 0; i < values; i++) {
        double number = of->number[i % frame];
        expected[i] = (float)(((double)witness->x[i] - number) * number);
    }
    HC_TRY(hc_rig_compare(rig, of->out.data, expected, (size_t)values, 1e-6, row, err));
done:
    free(expected);
    return status;
}

static HcStatus measure_calibrate(HcRig *rig, HcError *err) {
    HcStatus status = HC_OK;
    double n = rig->settings->bands;
    Calibrated of = {.in = hc_rig_block(rig, &rig->block, rig->part, rig->settings->bands),
                     .out = hc_rig_block(rig, &rig->out, rig->part, rig->settings->bands)};
    if (!hc_bench_wants(rig->bench, "calibrate")) {
        return HC_OK;
    }
    HcBenchRow *row = hc_bench_row(rig->bench, "calibrate", rig->device->by, rig->part);
    HC_TRY(make_calibrated(rig, &of, err));
    HC_TRY(hc_rig_choose_lines(rig, call_calibrate, &of, &of.in, &of.out, &row->lines, err));
    double pixels = (double)row->lines * rig->settings->samples;
    row->operations = pixels * 2 * n;
    hc_rig_floor(rig, row, pixels * (8 * n + 2), 0, row->operations);
    HC_TRY(hc_rig_measure(rig, call_calibrate, &of, row, err));
    HC_TRY(check_calibrated(rig, &of, row, err));
    hc_bench_scale(rig->bench, row);
done:
    hc_release(rig->compute, &of.memory[0]);
    hc_release(rig->compute, &of.memory[1]);
    free(of.number);
    free(of.live);
    return status;
}

static HcStatus measure(HcRig *rig, HcError *err) {
    HC_OR_RETURN(measure_calibrate(rig, err));
    HC_OR_RETURN(measure_filters(rig, err));
    HC_OR_RETURN(measure_scores(rig, "column_scores", HC_COLUMN_SHARE, err));
    return measure_scores(rig, "column_scores-ace", HC_COLUMN_COHERENCE, err);
}

const HcBenchPart hc_bench_columns = {.measure = measure,
                                      .rows = (const HcBenchKind[]){{"calibrate", HC_BENCH_NEAR},
                                                                    {"column_filters", HC_BENCH_NEAR},
                                                                    {"column_scores", HC_BENCH_NEAR},
                                                                    {"column_scores-ace", HC_BENCH_NEAR},
                                                                    {0}}};
