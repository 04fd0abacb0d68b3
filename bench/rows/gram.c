/* Rows of exact sums of a part of the scene: of integers, on a grid, of the bytes of a file, and of columns.
 */
#include "core/allocate.h"
#include "core/operation/gram/column_gram.h"
#include "core/operation/gram/gram_raw.h"
#include "bench/internal.h"

#include <stdlib.h>

/* What an operation is called with. */
typedef struct Call {
    HcRaw raw;
    HcDecode how;
    HcBlock in, out;
    HcDifference difference;
    HcSums *sums, *noise;
} Call;

static HcStatus call_gram(HcRig *rig, void *user, HcError *err) {
    Call *call = user;
    return hc_gram(rig->queue, &call->in, call->difference, NULL, call->sums, err);
}

static HcStatus call_gram_raw(HcRig *rig, void *user, HcError *err) {
    Call *call = user;
    const HcGramPart parts[2] = {{HC_DIFFERENCE_NONE, NULL, call->sums},
                                 {HC_DIFFERENCE_MEAN3X3, NULL, call->noise}};
    return hc_gram_raw(rig->queue, &call->raw, &call->how, &call->out, parts, 2, err);
}

/* Sums of the witness's lines alone, against the witness. */
static HcStatus check_gram(HcRig *rig, HcDifference kind, HcBenchRow *row, HcError *err) {
    HcStatus status = HC_OK;
    const HcBenchWitness *witness = rig->bench->witness;
    HcMoments moments = {0};
    HcSums *sums = NULL;
    if (witness == NULL) {
        return HC_OK;
    }
    HcBlock block = hc_rig_block(rig, &rig->block, witness->lines, rig->settings->bands);
    HC_TRY(hc_rig_decode(rig, witness->lines, err));
    HC_TRY(hc_sums_open(rig->compute, block.bands, hc_rig_limit(kind), NULL, &sums, err));
    HC_TRY(hc_gram(rig->queue, &block, kind, NULL, sums, err));
    HC_TRY(hc_sums_fetch(rig->queue, sums, &moments, err));
    hc_rig_compare_moments(&moments, kind == HC_DIFFERENCE_NONE ? &witness->values : &witness->noise, row);
    HC_TRY(hc_rig_decode(rig, rig->part, err));
done:
    hc_sums_close(sums);
    hc_moments_clear(&moments);
    return status;
}

static HcStatus gram(HcRig *rig, const char *name, HcDifference kind, HcError *err) {
    HcStatus status = HC_OK;
    double n = rig->settings->bands;
    Call call = {.in = hc_rig_block(rig, &rig->block, rig->part, rig->settings->bands), .difference = kind};
    if (!hc_bench_wants(rig->bench, name)) {
        return HC_OK;
    }
    HcBenchRow *row = hc_bench_row(rig->bench, name, rig->device->by, rig->part);
    row->operations = hc_rig_pixels(rig) * n * (n + 1);
    hc_rig_floor(rig, row, hc_rig_pixels(rig) * (4 * n + 1), hc_rig_limb_operations(rig, kind, rig->part), 0);
    HC_TRY(hc_sums_open(rig->compute, call.in.bands, hc_rig_limit(kind), NULL, &call.sums, err));
    HC_TRY(hc_rig_measure(rig, call_gram, &call, row, err));
    HC_TRY(check_gram(rig, kind, row, err));
    hc_bench_scale(rig->bench, row);
done:
    hc_sums_close(call.sums);
    return status;
}

/* Both sums of the bytes of a file. */
static HcStatus gram_raw(HcRig *rig, HcError *err) {
    HcStatus status = HC_OK;
    double n = rig->settings->bands;
    Call call = {.raw = hc_rig_raw(rig, rig->part),
                 .how = {.band_index = rig->in_order},
                 .out = hc_rig_block(rig, &rig->out, rig->part, rig->settings->bands)};
    if (!hc_bench_wants(rig->bench, "gram_raw")) {
        return HC_OK;
    }
    HcBenchRow *row = hc_bench_row(rig->bench, "gram_raw", rig->device->by, rig->part);
    row->operations = 2 * hc_rig_pixels(rig) * n * (n + 1);
    hc_rig_floor(rig, row, hc_rig_pixels(rig) * 2 * n,
                 hc_rig_limb_operations(rig, HC_DIFFERENCE_NONE, rig->part) +
                     hc_rig_limb_operations(rig, HC_DIFFERENCE_MEAN3X3, rig->part),
                 0);
    HC_TRY(
        hc_sums_open(rig->compute, call.out.bands, hc_rig_limit(HC_DIFFERENCE_NONE), NULL, &call.sums, err));
    HC_TRY(hc_sums_open(rig->compute, call.out.bands, hc_rig_limit(HC_DIFFERENCE_MEAN3X3), NULL, &call.noise,
                        err));
    HC_TRY(hc_rig_measure(rig, call_gram_raw, &call, row, err));
    hc_bench_scale(rig->bench, row);
done:
    hc_sums_close(call.sums);
    hc_sums_close(call.noise);
    return status;
}

/* Sums on a grid, as float scenes have them: of four limbs. */
static HcStatus gram_on(HcRig *rig, const char *name, HcDifference kind, const HcGrid *grid, HcError *err) {
    HcStatus status = HC_OK;
    double n = rig->settings->bands;
    double limbs = 4;
    Call call = {.in = hc_rig_block(rig, &rig->block, rig->part, rig->settings->bands), .difference = kind};
    if (!hc_bench_wants(rig->bench, name)) {
        return HC_OK;
    }
    HcBenchRow *row = hc_bench_row(rig->bench, name, rig->device->by, rig->part);
    row->operations = hc_rig_pixels(rig) * n * (n + 1);
    hc_rig_floor(rig, row, hc_rig_pixels(rig) * (4 * n + 1), row->operations * limbs * limbs, 0);
    HC_TRY(hc_sums_open(rig->compute, call.in.bands, 0, grid, &call.sums, err));
    HC_TRY(hc_rig_measure(rig, call_gram, &call, row, err));
    hc_bench_scale(rig->bench, row);
done:
    hc_sums_close(call.sums);
    return status;
}

/* values[lines][samples][bands] as BIL: [lines][bands][samples]. */
static void turn_lines(const float *values, int64_t lines, int32_t samples, int32_t bands, float *out) {
    for (int64_t l = 0; l < lines; l++) {
        const float *from = values + l * samples * bands;
        float *to = out + l * samples * bands;
        for (int64_t b = 0; b < bands; b++) {
            for (int64_t s = 0; s < samples; s++) {
                to[b * samples + s] = from[s * bands + b];
            }
        }
    }
}

/* Both sums of the bytes of a float file; the `values` of a few lines are repeated. */
static HcStatus gram_raw_float(HcRig *rig, const float *values, int64_t lines, const HcGrid *grid,
                               HcError *err) {
    HcStatus status = HC_OK;
    const int32_t bands = rig->settings->bands;
    const int32_t samples = rig->settings->samples;
    const int64_t bytes = sizeof(float);
    const double limbs = 4;
    const HcBlock file = hc_rig_block(rig, &rig->block, rig->part, bands);
    Call call = {.raw = {.data = file.data,
                         .type = HC_FLOAT32,
                         .lines = (int32_t)rig->part,
                         .samples = samples,
                         .bands = bands,
                         .stride_line = bytes * samples * bands,
                         .stride_sample = bytes,
                         .stride_band = bytes * samples},
                 .how = {.band_index = rig->in_order},
                 .out = hc_rig_block(rig, &rig->out, rig->part, bands)};
    float *turned = NULL;
    double *zeros = NULL;
    if (!hc_bench_wants(rig->bench, "gram_raw-float")) {
        return HC_OK;
    }
    HC_TRY(hc_new(turned, (size_t)(lines * samples * bands), "pixels", err));
    HC_TRY(hc_new(zeros, bands, "pixels", err));
    turn_lines(values, lines, samples, bands, turned);
    HC_TRY(hc_rig_repeat(rig, turned, lines, &file, err));
    HcBenchRow *row = hc_bench_row(rig->bench, "gram_raw-float", rig->device->by, rig->part);
    row->operations = 2 * hc_rig_pixels(rig) * bands * (bands + 1.0);
    hc_rig_floor(rig, row, hc_rig_pixels(rig) * 4 * bands, row->operations * limbs * limbs, 0);
    HC_TRY(hc_sums_open(rig->compute, bands, 0, grid, &call.sums, err));
    HC_TRY(hc_sums_open(rig->compute, bands, 0, &(HcGrid){zeros, grid->exponent}, &call.noise, err));
    HC_TRY(hc_rig_measure(rig, call_gram_raw, &call, row, err));
    hc_bench_scale(rig->bench, row);
done:
    hc_sums_close(call.sums);
    hc_sums_close(call.noise);
    free(turned);
    free(zeros);
    return status;
}

static HcStatus grams_on_grid(HcRig *rig, HcError *err) {
    enum { LINES = 16 };
    HcStatus status = HC_OK;
    const char *names[] = {"gram-float", "gram-float-mean3x3", "gram_raw-float"};
    int64_t lines = rig->part < LINES ? rig->part : LINES;
    int64_t pixels = lines * rig->settings->samples;
    size_t bands = (size_t)rig->settings->bands;
    HcBlock block = hc_rig_block(rig, &rig->block, rig->part, rig->settings->bands);
    if (!hc_bench_wants(rig->bench, names[0]) && !hc_bench_wants(rig->bench, names[1]) &&
        !hc_bench_wants(rig->bench, names[2])) {
        return HC_OK; /* the block stays decoded */
    }
    float *values = NULL;
    double *center = NULL;
    int32_t *exponent = NULL;
    HC_TRY(hc_new(values, (size_t)pixels * bands, "pixels", err));
    HC_TRY(hc_new(center, bands, "pixels", err));
    HC_TRY(hc_new(exponent, bands, "pixels", err));
    hc_bench_reals(rig->settings, lines, values);
    hc_grid_choose(values, pixels, rig->settings->bands, center, exponent);
    HC_TRY(hc_rig_repeat(rig, values, lines, &block, err));
    HC_TRY(gram_on(rig, names[0], HC_DIFFERENCE_NONE, &(HcGrid){center, exponent}, err));
    HC_TRY(gram_on(rig, names[1], HC_DIFFERENCE_MEAN3X3, &(HcGrid){center, exponent}, err));
    HC_TRY(gram_raw_float(rig, values, lines, &(HcGrid){center, exponent}, err));
    HC_TRY(hc_rig_decode(rig, rig->part, err)); /* for the rows that follow */
done:
    free(values);
    free(center);
    free(exponent);
    return status;
}

/* Sums of each column of the part. */
typedef struct Columns {
    HcBlock in;
    HcColumnRule rule;
    HcBuffer numbers; /* largest values, scales and the pixels that took no part */
    HcBuffer sums, work;
    int64_t *far;
} Columns;

static HcStatus call_column_gram(HcRig *rig, void *user, HcError *err) {
    Columns *columns = user;
    int64_t end = columns->in.line0 + columns->in.lines;
    for (int64_t line = columns->in.line0; line < end; line += HC_COLUMN_LINES) {
        HcBlock part = hc_block_part(&columns->in, line, hc_min64(line + HC_COLUMN_LINES, end), 0);
        HC_OR_RETURN(hc_column_gram(rig->queue, NULL, &part, &columns->rule, columns->sums.data, columns->far,
                                    columns->work.data, err));
    }
    return HC_OK;
}

/* All values are integers, and take part. */
static HcStatus open_columns(HcRig *rig, Columns *columns, HcError *err) {
    HcStatus status = HC_OK;
    const HcBlock *in = &columns->in;
    size_t bands = (size_t)in->bands;
    size_t padded = hc_column_strips(in->bands) * HC_COLUMN_STRIP;
    size_t sums = (size_t)in->samples * hc_column_values(in->bands) * sizeof(int64_t);
    size_t work = hc_column_work_bytes(in->bands, in->samples, rig->device->info.threads);
    size_t bytes = (1 + padded) * sizeof(double) + bands * sizeof(float);
    double *numbers = NULL;
    HC_TRY(hc_new(numbers, bytes / sizeof *numbers + 1, "scales of columns", err));
    float *largest = (float *)(void *)(numbers + 1 + padded);
    for (size_t b = 0; b <= bands; b++) {
        numbers[1 + b] = 1;
    }
    for (size_t b = 0; b < bands; b++) {
        largest[b] = 65536;
    }
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_DEVICE, bytes, &columns->numbers, err));
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_DEVICE, sums, &columns->sums, err));
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_DEVICE, work, &columns->work, err));
    HC_TRY(hc_upload(rig->queue, numbers, columns->numbers.data, bytes, err));
    HC_TRY(hc_zero(rig->queue, columns->sums.data, sums, err));
    HC_TRY(hc_wait(rig->queue, err));
    columns->far = columns->numbers.data;
    double *scale = (double *)columns->numbers.data + 1;
    columns->rule =
        (HcColumnRule){.width = 1, .largest = (const float *)(const void *)(scale + padded), .scale = scale};
done:
    free(numbers);
    return status;
}

static HcStatus column_gram(HcRig *rig, HcError *err) {
    HcStatus status = HC_OK;
    double n = rig->settings->bands;
    Columns columns = {.in = hc_rig_block(rig, &rig->block, rig->part, rig->settings->bands)};
    if (!hc_bench_wants(rig->bench, "column_gram")) {
        return HC_OK;
    }
    HcBenchRow *row = hc_bench_row(rig->bench, "column_gram", rig->device->by, rig->part);
    row->operations = hc_rig_pixels(rig) * (n + 1) * (n + 2);
    hc_rig_floor(rig, row, hc_rig_pixels(rig) * (4 * n + 1), 0, row->operations);
    HC_TRY(open_columns(rig, &columns, err));
    HC_TRY(hc_rig_measure(rig, call_column_gram, &columns, row, err));
    hc_bench_scale(rig->bench, row);
done:
    hc_release(rig->compute, &columns.numbers);
    hc_release(rig->compute, &columns.sums);
    hc_release(rig->compute, &columns.work);
    return status;
}

static HcStatus measure(HcRig *rig, HcError *err) {
    HC_OR_RETURN(gram(rig, "gram-none", HC_DIFFERENCE_NONE, err));
    HC_OR_RETURN(gram(rig, "gram-mean3x3", HC_DIFFERENCE_MEAN3X3, err));
    HC_OR_RETURN(grams_on_grid(rig, err));
    HC_OR_RETURN(gram_raw(rig, err));
    return column_gram(rig, err);
}

const HcBenchPart hc_bench_gram = {.measure = measure,
                                   .rows = (const HcBenchKind[]){{"gram-none", HC_BENCH_SAME},
                                                                 {"gram-mean3x3", HC_BENCH_SAME},
                                                                 {"gram-float", HC_BENCH_UNCHECKED},
                                                                 {"gram-float-mean3x3", HC_BENCH_UNCHECKED},
                                                                 {"gram_raw", HC_BENCH_UNCHECKED},
                                                                 {"gram_raw-float", HC_BENCH_UNCHECKED},
                                                                 {"column_gram", HC_BENCH_UNCHECKED},
                                                                 {0}}};
