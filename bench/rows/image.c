/* Rows of operations on images: copies, decoding, filters, projections, reductions and local scores of a part
 * of the scene. */
#include "core/allocate.h"
#include "core/operation/spectrum/continuum.h"
#include "core/operation/image/decode.h"
#include "core/operation/image/difference.h"
#include "core/operation/image/filter.h"
#include "core/operation/spectrum/formula.h"
#include "core/operation/image/gather.h"
#include "core/operation/image/local.h"
#include "core/operation/image/masked.h"
#include "core/operation/spectrum/normalise.h"
#include "core/operation/image/project.h"
#include "core/operation/image/reduce.h"
#include "core/operation/image/store.h"
#include "bench/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an operation is called with. */
typedef struct Call {
    HcRaw raw;
    HcDecode how;
    HcBlock in, out;
    const int32_t *index;
    HcFilter filter;
    HcDifference difference;
    HcReduction reduction;
    HcFormula formula;
    HcBuffer host;
} Call;

static HcStatus call_upload(HcRig *rig, void *user, HcError *err) {
    Call *call = user;
    return hc_upload(rig->queue, call->host.data, rig->out.data, call->host.bytes, err);
}

static HcStatus call_download(HcRig *rig, void *user, HcError *err) {
    Call *call = user;
    return hc_download(rig->queue, rig->out.data, call->host.data, call->host.bytes, err);
}

static HcStatus call_decode(HcRig *rig, void *user, HcError *err) {
    Call *call = user;
    return hc_decode(rig->queue, &call->raw, &call->how, &call->out, err);
}

static HcStatus call_gather(HcRig *rig, void *user, HcError *err) {
    Call *call = user;
    return hc_gather(rig->queue, &call->in, call->index, &call->out, err);
}

static HcStatus call_filter(HcRig *rig, void *user, HcError *err) {
    Call *call = user;
    return hc_filter(rig->queue, &call->in, call->filter, &call->out, err);
}

static HcStatus call_difference(HcRig *rig, void *user, HcError *err) {
    Call *call = user;
    return hc_difference(rig->queue, &call->in, call->difference, &call->out, err);
}

static HcStatus call_continuum(HcRig *rig, void *user, HcError *err) {
    Call *call = user;
    HcContinuumRule rule = {.pieces = 1,
                            .places = call->in.bands,
                            .first = rig->piece,
                            .centre = rig->wavelength,
                            .band = rig->in_order,
                            .target = rig->in_order};
    return hc_continuum(rig->queue, &call->in, &rule, &call->out, err);
}

static HcStatus call_project(HcRig *rig, void *user, HcError *err) {
    Call *call = user;
    return hc_project(rig->queue, &call->in, rig->matrix, rig->mean, NULL, &call->out, err);
}

static HcStatus call_reduce(HcRig *rig, void *user, HcError *err) {
    Call *call = user;
    const double *target = call->reduction == HC_REDUCE_SQUARES ? NULL : rig->mean;
    return hc_reduce(rig->queue, &call->in, call->reduction, target, &call->out, err);
}

/* Only masks are read: the count lies where values would. */
static HcStatus call_masked(HcRig *rig, void *user, HcError *err) {
    Call *call = user;
    return hc_masked(rig->queue, &call->in, &call->out, (int64_t *)(void *)call->out.data, err);
}

static HcStatus call_store(HcRig *rig, void *user, HcError *err) {
    Call *call = user;
    return hc_store(rig->queue, &call->in, &(HcStoring){HC_BSQ, NAN, NAN}, call->host.data, err);
}

static HcStatus copies(HcRig *rig, HcError *err) {
    HcStatus status = HC_OK;
    Call call = {.in = hc_rig_block(rig, &rig->block, rig->part, rig->settings->bands / 2)};
    const char *names[] = {"upload", "download", "store"}; /* of as many bytes */
    HcRigBody *bodies[] = {call_upload, call_download, call_store};
    if (rig->device->info.shared_memory) {
        return HC_OK; /* nothing is copied there */
    }
    size_t bytes = (size_t)hc_rig_pixels(rig) * (size_t)rig->settings->bands * sizeof(uint16_t);
    for (int i = 0; i < 3; i++) {
        if (!hc_bench_wants(rig->bench, names[i])) {
            continue;
        }
        if (call.host.data == NULL) {
            HC_TRY(hc_alloc(rig->compute, HC_MEMORY_HOST, bytes, &call.host, err));
            memset(call.host.data, 1, bytes);
        }
        HcBenchRow *row = hc_bench_row(rig->bench, names[i], rig->device->by, rig->part);
        row->bytes = (double)bytes;
        HC_TRY(hc_rig_measure(rig, bodies[i], &call, row, err));
        hc_bench_scale(rig->bench, row);
    }
done:
    hc_release(rig->compute, &call.host);
    return status;
}

/* Compares the decoded lines that the serial reference saw. */
static HcStatus check_decoded(HcRig *rig, const HcBlock *out, HcBenchRow *row, HcError *err) {
    const HcBenchWitness *witness = rig->bench->witness;
    size_t values = witness != NULL ? (size_t)witness->lines * (size_t)out->samples * (size_t)out->bands : 0;
    return witness != NULL ? hc_rig_compare(rig, out->data, witness->x, values, 0, row, err) : HC_OK;
}

/* Decodes the same random bytes as another interleave or type: their meaning does not change the time.
 */
static HcStatus decodes(HcRig *rig, HcError *err) {
    const char *names[] = {"decode-bil", "decode-bsq", "decode-bip", "decode-swapped"};
    int64_t samples = rig->settings->samples;
    int64_t bands = rig->settings->bands;
    HcRaw raw[4];
    for (int i = 0; i < 4; i++) {
        raw[i] = hc_rig_raw(rig, rig->part);
    }
    raw[1].stride_line = 2 * samples;
    raw[1].stride_band = 2 * samples * rig->settings->lines;
    raw[2].stride_sample = 2 * bands;
    raw[2].stride_band = 2;
    raw[3].type = HC_INT16;
    raw[3].swap = true;
    for (int i = 0; i < 4; i++) {
        if (!hc_bench_wants(rig->bench, names[i])) {
            continue;
        }
        Call call = {.raw = raw[i],
                     .how = {.band_index = rig->in_order},
                     .out = hc_rig_block(rig, &rig->out, rig->part, rig->settings->bands)};
        HcBenchRow *row = hc_bench_row(rig->bench, names[i], rig->device->by, rig->part);
        hc_rig_floor(rig, row, hc_rig_pixels(rig) * (6 * (double)bands + 1), 0, 0);
        HC_OR_RETURN(hc_rig_measure(rig, call_decode, &call, row, err));
        if (i == 0) {
            HC_OR_RETURN(check_decoded(rig, &call.out, row, err));
        }
        hc_bench_scale(rig->bench, row);
    }
    return HC_OK;
}

/* By the corners of each hull: the next one is seen under the steepest rise. A hull of 0, which only an end
 * can have, leaves no number. */
static HcStatus check_removed(HcRig *rig, const Call *call, HcBenchRow *row, HcError *err) {
    const HcBenchWitness *witness = rig->bench->witness;
    int64_t bands = rig->settings->bands;
    int64_t values = witness != NULL ? witness->lines * rig->settings->samples * bands : 0;
    float *removed = NULL;
    HC_OR_RETURN(hc_new(removed, values + 1, "expected continua", err));
    for (int64_t from = 0, to = 0; from < values; from = to) {
        const float *y = witness->x;
        double steepest = -INFINITY;
        to = from + 1;
        for (int64_t k = to; k % bands != 0; k++) {
            double rise = ((double)y[k] - (double)y[from]) / (double)(k - from);
            to = rise > steepest ? k : to;
            steepest = rise > steepest ? rise : steepest;
        }
        removed[from] = y[from] > 0 ? 1 : NAN;
        for (int64_t k = from + 1; k < to; k++) {
            removed[k] = (float)((double)y[k] / ((double)y[from] + steepest * (double)(k - from)));
        }
    }
    HcStatus status =
        values > 0 ? hc_rig_compare(rig, call->out.data, removed, (size_t)values, 1e-6, row, err) : HC_OK;
    free(removed);
    return status;
}

/* Operations from one block to another of the same shape. */
static HcStatus blocks(HcRig *rig, HcError *err) {
    const struct {
        const char *name;
        HcRigBody *body;
        HcFilter filter;
    } kinds[] = {{"gather", call_gather, HC_FILTER_MEAN3X3},
                 {"filter-mean3x3", call_filter, HC_FILTER_MEAN3X3},
                 {"filter-median3x3", call_filter, HC_FILTER_MEDIAN3X3},
                 {"difference-mean3x3", call_difference, HC_FILTER_MEAN3X3},
                 {"masked", call_masked, HC_FILTER_MEAN3X3},
                 {"continuum", call_continuum, HC_FILTER_MEAN3X3}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!hc_bench_wants(rig->bench, kinds[i].name)) {
            continue;
        }
        Call call = {.in = hc_rig_block(rig, &rig->block, rig->part, rig->settings->bands),
                     .out = hc_rig_block(rig, &rig->out, rig->part, rig->settings->bands),
                     .index = rig->reversed,
                     .filter = kinds[i].filter,
                     .difference = HC_DIFFERENCE_MEAN3X3};
        HcBenchRow *row = hc_bench_row(rig->bench, kinds[i].name, rig->device->by, rig->part);
        double values = kinds[i].body == call_masked ? 0 : rig->settings->bands;
        hc_rig_floor(rig, row, hc_rig_pixels(rig) * (8 * values + 2), 0, 0);
        HC_OR_RETURN(hc_rig_measure(rig, kinds[i].body, &call, row, err));
        HC_OR_RETURN(kinds[i].body == call_continuum ? check_removed(rig, &call, row, err) : HC_OK);
        hc_bench_scale(rig->bench, row);
    }
    return HC_OK;
}

static HcStatus project(HcRig *rig, HcError *err) {
    const HcBenchWitness *witness = rig->bench->witness;
    double n = rig->settings->bands;
    double m = rig->settings->components;
    Call call = {.in = hc_rig_block(rig, &rig->block, rig->part, rig->settings->bands),
                 .out = hc_rig_block(rig, &rig->out, rig->part, rig->settings->components)};
    if (!hc_bench_wants(rig->bench, "project")) {
        return HC_OK;
    }
    HcBenchRow *row = hc_bench_row(rig->bench, "project", rig->device->by, rig->part);
    row->operations = hc_rig_pixels(rig) * 2 * n * m;
    hc_rig_floor(rig, row, hc_rig_pixels(rig) * (4 * n + 4 * m + 2), 0, row->operations);
    HC_OR_RETURN(hc_rig_measure(rig, call_project, &call, row, err));
    if (witness != NULL) {
        HC_OR_RETURN(hc_rig_compare(
            rig, call.out.data, witness->projected,
            (size_t)witness->lines * (size_t)call.out.samples * (size_t)call.out.bands, 1e-6, row, err));
    }
    hc_bench_scale(rig->bench, row);
    return HC_OK;
}

/* Sums of squares, or angles with the mean, of the pixels that the serial reference decoded. */
static HcStatus check_reduced(HcRig *rig, const Call *call, HcBenchRow *row, HcError *err) {
    HcStatus status = HC_OK;
    const HcBenchWitness *witness = rig->bench->witness;
    size_t n = (size_t)rig->settings->bands;
    size_t pixels = witness != NULL ? (size_t)witness->lines * (size_t)rig->settings->samples : 0;
    size_t weights = n * (size_t)rig->settings->components;
    if (witness == NULL) {
        return HC_OK;
    }
    float *expected = NULL;
    double *matrix = NULL;
    HC_TRY(hc_new(expected, pixels, "expected reductions", err));
    HC_TRY(hc_new(matrix, weights + n, "expected reductions", err));
    const double *t = matrix + weights;
    hc_bench_matrix(rig->settings, matrix, matrix + weights);
    for (size_t p = 0; p < pixels; p++) {
        const float *y = witness->x + p * n;
        double yy = 0;
        double yt = 0;
        double tt = 0;
        for (size_t b = 0; b < n; b++) {
            yy += (double)y[b] * (double)y[b];
            yt += (double)y[b] * t[b];
            tt += t[b] * t[b];
        }
        expected[p] = (float)(call->reduction == HC_REDUCE_SQUARES ? yy : acos(yt / sqrt(yy * tt)));
    }
    HC_TRY(hc_rig_compare(rig, call->out.data, expected, pixels, 1e-6, row, err));
done:
    free(expected);
    free(matrix);
    return status;
}

static HcStatus reduces(HcRig *rig, HcError *err) {
    const struct {
        const char *name;
        HcReduction reduction;
        double operations; /* a value */
    } kinds[] = {{"reduce-squares", HC_REDUCE_SQUARES, 2}, {"reduce-angle", HC_REDUCE_ANGLE, 12}};
    double values = hc_rig_pixels(rig) * rig->settings->bands;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!hc_bench_wants(rig->bench, kinds[i].name)) {
            continue;
        }
        Call call = {.in = hc_rig_block(rig, &rig->block, rig->part, rig->settings->bands),
                     .out = hc_rig_block(rig, &rig->out, rig->part, 1),
                     .reduction = kinds[i].reduction};
        HcBenchRow *row = hc_bench_row(rig->bench, kinds[i].name, rig->device->by, rig->part);
        row->operations = values * kinds[i].operations;
        hc_rig_floor(rig, row, 4 * values + 6 * hc_rig_pixels(rig), 0, row->operations);
        HC_OR_RETURN(hc_rig_measure(rig, call_reduce, &call, row, err));
        HC_OR_RETURN(check_reduced(rig, &call, row, err));
        hc_bench_scale(rig->bench, row);
    }
    return HC_OK;
}

static HcStatus call_normalise(HcRig *rig, void *user, HcError *err) {
    Call *call = user;
    return hc_normalise(rig->queue, &call->in, HC_NORMALISE_SNV, NULL, &call->out, err);
}

/* Each pixel less its mean, over its standard deviation. */
static HcStatus check_normalised(HcRig *rig, const Call *call, HcBenchRow *row, HcError *err) {
    HcStatus status = HC_OK;
    const HcBenchWitness *witness = rig->bench->witness;
    size_t n = (size_t)rig->settings->bands;
    size_t pixels = witness != NULL ? (size_t)witness->lines * (size_t)rig->settings->samples : 0;
    float *expected = NULL;
    HC_OR_RETURN(hc_new(expected, pixels * n + 1, "expected spectra", err));
    for (size_t p = 0; p < pixels; p++) {
        const float *x = witness->x + p * n;
        double sum = 0;
        double square = 0;
        for (size_t b = 0; b < n; b++) {
            sum += (double)x[b];
        }
        for (size_t b = 0; b < n; b++) {
            square += ((double)x[b] - sum / (double)n) * ((double)x[b] - sum / (double)n);
        }
        for (size_t b = 0; b < n; b++) {
            expected[p * n + b] = (float)(((double)x[b] - sum / (double)n) / sqrt(square / (double)(n - 1)));
        }
    }
    if (witness != NULL) {
        HC_TRY(hc_rig_compare(rig, call->out.data, expected, pixels * n, 1e-6, row, err));
    }
done:
    free(expected);
    return status;
}

static HcStatus normalises(HcRig *rig, HcError *err) {
    Call call = {.in = hc_rig_block(rig, &rig->block, rig->part, rig->settings->bands),
                 .out = hc_rig_block(rig, &rig->out, rig->part, rig->settings->bands)};
    double values = hc_rig_pixels(rig) * rig->settings->bands;
    if (!hc_bench_wants(rig->bench, "normalise")) {
        return HC_OK;
    }
    HcBenchRow *row = hc_bench_row(rig->bench, "normalise", rig->device->by, rig->part);
    row->operations = values * 6;
    hc_rig_floor(rig, row, 8 * values + 2 * hc_rig_pixels(rig), 0, row->operations);
    HC_OR_RETURN(hc_rig_measure(rig, call_normalise, &call, row, err));
    HC_OR_RETURN(check_normalised(rig, &call, row, err));
    hc_bench_scale(rig->bench, row);
    return HC_OK;
}

/* ---- local scores ---- */

enum { WINDOW = 21, GUARD = 5, FEW_LINES = 64 };

typedef struct Local {
    HcLocal *local;
    HcBlock in, out;
} Local;

static HcStatus call_local(HcRig *rig, void *user, HcError *err) {
    Local *local = user;
    return hc_local(rig->queue, &local->in, local->local, &local->out, err);
}

/* Windows in the first lines, as if the scene ended after them, of as many bands as there are components. */
static HcStatus open_local(HcRig *rig, int64_t lines, double share, Local *out, HcError *err) {
    HcLocalRule rule = {.lines = lines,
                        .samples = rig->settings->samples,
                        .directions = rig->settings->components,
                        .window = WINDOW,
                        .guard = GUARD,
                        .share = share,
                        .per_unit = 0x1p28}; /* values are below 2^16 */
    hc_local_close(out->local);
    out->local = NULL;
    out->in = hc_rig_block(rig, &rig->block, lines, rule.directions);
    out->out = hc_rig_block(rig, &rig->out, lines, 1);
    HC_OR_RETURN(hc_rig_decode_bands(rig, lines, rule.directions, err));
    return hc_local_open(rig->compute, &rule, &out->local, err);
}

/* Lines that make a call long enough to be measured, and not much longer. */
static HcStatus choose_lines(HcRig *rig, Local *local, int64_t *lines, HcError *err) {
    const double long_call = 0.2;
    double seconds = 0;
    *lines = rig->part < FEW_LINES ? rig->part : FEW_LINES;
    HC_OR_RETURN(open_local(rig, *lines, 0, local, err));
    HC_OR_RETURN(hc_rig_time(rig, call_local, local, 1, &seconds, err));
    HC_OR_RETURN(hc_rig_time(rig, call_local, local, 1, &seconds, err));
    while (*lines < rig->part && seconds < long_call) {
        *lines = 2 * *lines < rig->part ? 2 * *lines : rig->part;
        HC_OR_RETURN(open_local(rig, *lines, 0, local, err));
        HC_OR_RETURN(hc_rig_time(rig, call_local, local, 1, &seconds, err));
    }
    return HC_OK;
}

/* The squared distance of a pixel of the first line from the mean of its window, less the guard. */
static double expect_local(const HcBlock *in, const float *pixels, int64_t sample) {
    double score = 0;
    for (int64_t b = 0; b < in->bands; b++) {
        double sum = 0;
        double count = 0;
        for (int64_t line = 0; line <= hc_min64(WINDOW / 2, in->lines - 1); line++) {
            for (int64_t s = hc_max64(0, sample - WINDOW / 2);
                 s <= hc_min64(sample + WINDOW / 2, in->samples - 1); s++) {
                bool guarded = line <= GUARD / 2 && s >= sample - GUARD / 2 && s <= sample + GUARD / 2;
                count += !guarded;
                sum += guarded ? 0 : (double)pixels[(line * in->samples + s) * in->bands + b];
            }
        }
        double off = (double)pixels[sample * in->bands + b] - sum / count;
        score += off * off;
    }
    return score;
}

/* With the unit matrix as covariance, on the first line. */
static HcStatus check_local(HcRig *rig, Local *local, HcBenchRow *row, HcError *err) {
    HcStatus status = HC_OK;
    HcBuffer host = {0};
    float *expected = NULL;
    size_t samples = (size_t)rig->settings->samples;
    size_t values = (size_t)hc_min64(row->lines, WINDOW) * samples * (size_t)rig->settings->components;
    HC_TRY(hc_new(expected, samples, "scores", err));
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_HOST, values * sizeof(float), &host, err));
    HC_TRY(open_local(rig, row->lines, 1, local, err));
    HC_TRY(call_local(rig, local, err));
    HC_TRY(hc_download(rig->queue, local->in.data, host.data, values * sizeof(float), err));
    HC_TRY(hc_wait(rig->queue, err));
    for (size_t s = 0; s < samples; s++) {
        expected[s] = (float)expect_local(&local->in, host.data, (int64_t)s);
    }
    HC_TRY(hc_rig_compare(rig, local->out.data, expected, samples, 1e-5, row, err));
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_release(rig->compute, &host);
    free(expected);
    return status;
}

static HcStatus local(HcRig *rig, HcError *err) {
    HcStatus status = HC_OK;
    Local local = {0};
    double n = rig->settings->components;
    if (!hc_bench_wants(rig->bench, "local")) {
        return HC_OK;
    }
    HcBenchRow *row = hc_bench_row(rig->bench, "local", rig->device->by, rig->part);
    HC_TRY(choose_lines(rig, &local, &row->lines, err));
    double pixels = (double)row->lines * rig->settings->samples;
    hc_rig_floor(rig, row, pixels * (4 * n + 6), 0, pixels * n * (n + 1) * (n + 2) / 3);
    HC_TRY(hc_rig_measure(rig, call_local, &local, row, err));
    HC_TRY(check_local(rig, &local, row, err));
    snprintf(row->how, sizeof row->how, "window %d, guard %d, %d bands", WINDOW, GUARD,
             rig->settings->components);
    hc_bench_scale(rig->bench, row);
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_local_close(local.local);
    return status;
}

/* ---- formulas ---- */

/* The root of the square of each band: the bands themselves, which are integers. */
typedef struct Formulas {
    HcFormulaStep step[HC_FORMULA_INPUTS][4];
    HcFormulaInput input[HC_FORMULA_INPUTS];
    int64_t missing[HC_FORMULA_INPUTS];
} Formulas;

static HcStatus call_formula(HcRig *rig, void *user, HcError *err) {
    Call *call = user;
    return hc_formula(rig->queue, &call->in, &call->formula, &call->out, err);
}

static HcStatus formula(HcRig *rig, HcError *err) {
    HcStatus status = HC_OK;
    HcBuffer memory = {0};
    Formulas *made = NULL;
    int32_t bands = rig->settings->bands;
    if (!hc_bench_wants(rig->bench, "formula") || bands > HC_FORMULA_INPUTS) {
        return HC_OK;
    }
    HC_TRY(hc_new(made, 1, "a program", err));
    for (int32_t k = 0; k < bands; k++) {
        made->step[k][0] = (HcFormulaStep){HC_FORMULA_INPUT, k, 0};
        made->step[k][1] = (HcFormulaStep){HC_FORMULA_SQUARE, 0, 0};
        made->step[k][2] = (HcFormulaStep){HC_FORMULA_SQRT, 0, 0};
        made->step[k][3] = (HcFormulaStep){HC_FORMULA_STORE, k, 0};
        made->input[k] = (HcFormulaInput){.band = k, .gain = 1};
    }
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_DEVICE, sizeof *made, &memory, err));
    HC_TRY(hc_upload(rig->queue, made, memory.data, memory.bytes, err));
    Formulas *device = memory.data;
    Call call = {.in = hc_rig_block(rig, &rig->block, rig->part, bands),
                 .out = hc_rig_block(rig, &rig->out, rig->part, bands),
                 .formula = {device->step[0], device->input, bands * 4, bands, false, device->missing}};
    HcBenchRow *row = hc_bench_row(rig->bench, "formula", rig->device->by, rig->part);
    hc_rig_floor(rig, row, hc_rig_pixels(rig) * (8 * (double)bands + 2), 0, 0);
    HC_TRY(hc_rig_measure(rig, call_formula, &call, row, err));
    HC_TRY(check_decoded(rig, &call.out, row, err));
    hc_bench_scale(rig->bench, row);
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_release(rig->compute, &memory);
    free(made);
    return status;
}

static HcStatus measure(HcRig *rig, HcError *err) {
    HC_OR_RETURN(copies(rig, err));
    HC_OR_RETURN(decodes(rig, err));
    HC_OR_RETURN(blocks(rig, err));
    HC_OR_RETURN(project(rig, err));
    HC_OR_RETURN(reduces(rig, err));
    HC_OR_RETURN(normalises(rig, err));
    HC_OR_RETURN(formula(rig, err));
    return local(rig, err);
}

const HcBenchPart hc_bench_image = {.measure = measure,
                                    .rows = (const HcBenchKind[]){{"upload", HC_BENCH_UNCHECKED},
                                                                  {"download", HC_BENCH_UNCHECKED},
                                                                  {"store", HC_BENCH_UNCHECKED},
                                                                  {"decode-bil", HC_BENCH_SAME},
                                                                  {"decode-bsq", HC_BENCH_UNCHECKED},
                                                                  {"decode-bip", HC_BENCH_UNCHECKED},
                                                                  {"decode-swapped", HC_BENCH_UNCHECKED},
                                                                  {"gather", HC_BENCH_UNCHECKED},
                                                                  {"filter-mean3x3", HC_BENCH_UNCHECKED},
                                                                  {"filter-median3x3", HC_BENCH_UNCHECKED},
                                                                  {"difference-mean3x3", HC_BENCH_UNCHECKED},
                                                                  {"masked", HC_BENCH_UNCHECKED},
                                                                  {"continuum", HC_BENCH_NEAR},
                                                                  {"project", HC_BENCH_NEAR},
                                                                  {"reduce-squares", HC_BENCH_NEAR},
                                                                  {"reduce-angle", HC_BENCH_NEAR},
                                                                  {"normalise", HC_BENCH_NEAR},
                                                                  {"formula", HC_BENCH_SAME},
                                                                  {"local", HC_BENCH_NEAR},
                                                                  {0}}};
