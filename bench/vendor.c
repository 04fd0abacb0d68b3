/* Rows of the vendor's libraries, on the same part of the scene in the same memory. */
#include "bench/internal.h"
#include "core/allocate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Pixels that are summed exactly in float64: 2^13 products below 2^32, or of differences below 2^40. */
enum { CHUNK = 8192 };

typedef struct Call {
    const float *x; /* [device] [pixels][bands] */
    int64_t pixels;
    double *scratch; /* [device] [pixels][bands] */
    void *product;   /* [device] [bands][bands] */
    float *matrix;   /* [device] [bands][components] */
    float *out;      /* [device] [pixels][components] */
} Call;

static HcStatus call_float64(HcRig *rig, void *user, HcError *err) {
    Call *call = user;
    return rig->vendor_ops->gram_float64(rig->vendor, rig->queue, call->x, call->pixels, rig->settings->bands,
                                         CHUNK, call->scratch, call->product, err);
}

static HcStatus call_float32(HcRig *rig, void *user, HcError *err) {
    Call *call = user;
    return rig->vendor_ops->syrk_float32(rig->vendor, rig->queue, call->x, call->pixels, rig->settings->bands,
                                         call->product, err);
}

static HcStatus call_gemm(HcRig *rig, void *user, HcError *err) {
    Call *call = user;
    return rig->vendor_ops->gemm_float32(rig->vendor, rig->queue, call->x, call->pixels, rig->settings->bands,
                                         call->matrix, rig->settings->components, call->out, err);
}

HcBenchRow *hc_bench_vendor_row(const HcRig *rig, const char *operation, int64_t lines) {
    char by[sizeof((HcBenchRow *)NULL)->by];
    snprintf(by, sizeof by, "%.12s vendor", rig->device->by);
    return hc_bench_row(rig->bench, operation, by, lines);
}

static HcBenchRow *new_row(HcRig *rig, const char *operation, const char *how, int64_t lines) {
    HcBenchRow *row = hc_bench_vendor_row(rig, operation, lines);
    snprintf(row->how, sizeof row->how, "%s", how);
    return row;
}

/* One triangle of the product holds the exact sums, which float64 can hold too. */
static HcStatus check_float64(HcRig *rig, const Call *measured, HcBenchRow *row, HcError *err) {
    HcStatus status = HC_OK;
    const HcBenchWitness *witness = rig->bench->witness;
    size_t n = (size_t)rig->settings->bands;
    HcBuffer host = {0};
    Call call = *measured;
    if (witness == NULL) {
        return HC_OK;
    }
    call.pixels = witness->lines * rig->settings->samples;
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_HOST, n * n * sizeof(double), &host, err));
    HC_TRY(hc_zero(rig->queue, call.product, n * n * sizeof(double), err));
    HC_TRY(call_float64(rig, &call, err));
    HC_TRY(hc_download(rig->queue, call.product, host.data, n * n * sizeof(double), err));
    HC_TRY(hc_wait(rig->queue, err));
    const double *product = host.data;
    row->check = HC_BENCH_SAME;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i; j < n; j++) {
            double expected = (double)witness->values.product[i * n + j];
            if (fabs(product[i * n + j] - expected) > 0 && fabs(product[j * n + i] - expected) > 0) {
                hc_bench_wrong(row, "it differs from the serial reference");
            }
        }
    }
done:
    hc_release(rig->compute, &host);
    return status;
}

static HcStatus grams(HcRig *rig, Call *call, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)rig->settings->bands;
    size_t pixels = (size_t)call->pixels;
    double operations = (double)pixels * (double)n * (double)(n + 1);
    HcBuffer scratch = {0};
    HcBuffer product = {0};
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_DEVICE, pixels * n * sizeof(double), &scratch, err));
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_DEVICE, n * n * sizeof(double), &product, err));
    HC_TRY(hc_zero(rig->queue, product.data, product.bytes, err));
    call->scratch = scratch.data;
    call->product = product.data;
    HcBenchRow *row = new_row(rig, "gram-none", "float64 in exact chunks", rig->part);
    hc_rig_floor(rig, row, (double)pixels * (double)n * 4, 0, operations);
    row->operations = operations;
    HC_TRY(hc_rig_measure(rig, call_float64, call, row, err));
    HC_TRY(check_float64(rig, call, row, err));
    hc_bench_scale(rig->bench, row);
    row = new_row(rig, "gram-none", "float32, inexact", rig->part);
    hc_rig_floor(rig, row, (double)pixels * (double)n * 4, 0, 0);
    row->operations = operations;
    HC_TRY(hc_rig_measure(rig, call_float32, call, row, err));
    hc_bench_scale(rig->bench, row);
done:
    hc_release(rig->compute, &scratch);
    hc_release(rig->compute, &product);
    return status;
}

/* The matrix of hc_bench_matrix, in float32. */
static HcStatus upload_matrix(HcRig *rig, HcBuffer *out, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)rig->settings->bands;
    size_t weights = n * (size_t)rig->settings->components;
    HcBuffer host = {0};
    double *matrix = NULL;
    HC_TRY(hc_new(matrix, weights + n, "a matrix", err));
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_HOST, weights * sizeof(float), &host, err));
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_DEVICE, weights * sizeof(float), out, err));
    hc_bench_matrix(rig->settings, matrix, matrix + weights);
    for (size_t i = 0; i < weights; i++) {
        ((float *)host.data)[i] = (float)matrix[i];
    }
    HC_TRY(hc_upload(rig->queue, host.data, out->data, weights * sizeof(float), err));
    HC_TRY(hc_wait(rig->queue, err));
done:
    free(matrix);
    hc_release(rig->compute, &host);
    return status;
}

static HcStatus gemm(HcRig *rig, Call *call, HcError *err) {
    HcStatus status = HC_OK;
    double n = rig->settings->bands;
    double m = rig->settings->components;
    double pixels = (double)call->pixels;
    HcBuffer matrix = {0};
    HC_TRY(upload_matrix(rig, &matrix, err));
    call->matrix = matrix.data;
    call->out = rig->out.data;
    HcBenchRow *row = new_row(rig, "project", "float32, inexact", rig->part);
    hc_rig_floor(rig, row, pixels * 4 * (n + m), 0, 0);
    row->operations = pixels * 2 * n * m;
    HC_TRY(hc_rig_measure(rig, call_gemm, call, row, err));
    hc_bench_scale(rig->bench, row);
done:
    hc_release(rig->compute, &matrix);
    return status;
}

HcStatus hc_rig_vendor(HcRig *rig, HcError *err) {
    Call call = {.x = rig->block.data, .pixels = rig->part * rig->settings->samples};
    HC_OR_RETURN(hc_rig_decode(rig, rig->part, err));
    if (hc_bench_wants(rig->bench, "gram-none")) {
        HC_OR_RETURN(grams(rig, &call, err));
    }
    if (hc_bench_wants(rig->bench, "project")) {
        HC_OR_RETURN(gemm(rig, &call, err));
    }
    return HC_OK;
}
