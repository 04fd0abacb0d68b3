/* One dense matrix of random numbers in device memory, as large as the device has room for. */
#include "bench/rows/dense.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a matrix takes where nothing is asked for [bytes]: memory of hosts is kept small. */
static const size_t most_on_host = (size_t)128 << 20;
static const size_t most_on_device = (size_t)1 << 30;

enum { ROWS_MIN = 16 }; /* that a matrix is cut to before its columns are */

HcMatrix hc_dense_cut(const HcDenseKind *kind, size_t bytes) {
    int64_t most = (int64_t)(bytes / sizeof(float));
    int64_t rows = kind->rows;
    int64_t columns = kind->columns;
    if (rows > most / columns) {
        rows = most / columns > ROWS_MIN ? most / columns : hc_min64(rows, ROWS_MIN);
    }
    columns = hc_min64(columns, most / rows > 1 ? most / rows : 1);
    return (HcMatrix){.rows = rows, .columns = columns};
}

size_t hc_dense_most_bytes(const HcRig *rig, bool is_problem) {
    const HcComputeInfo *info = &rig->device->info;
    size_t bytes = info->shared_memory ? most_on_host / (is_problem ? 2 : 1) : most_on_device;
    if (rig->settings->dense_bytes > 0) {
        bytes = rig->settings->dense_bytes;
    }
    return info->memory_free > 0 && info->memory_free / 4 < bytes ? (size_t)info->memory_free / 4 : bytes;
}

double hc_dense_values(const HcMatrix *matrix) {
    return (double)matrix->rows * (double)matrix->columns;
}

HcStatus hc_dense_random(HcRig *rig, int64_t first, int64_t count, float *to, HcError *err) {
    HcStatus status = HC_OK;
    const int64_t piece = (int64_t)1 << 20;
    HcBuffer host = {0};
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_HOST, (size_t)piece * sizeof(float), &host, err));
    for (int64_t at = 0; at < count; at += piece) {
        int64_t some = hc_min64(piece, count - at);
        for (int64_t i = 0; i < some; i++) {
            ((float *)host.data)[i] = hc_bench_dense(rig->settings, first + at + i);
        }
        HC_TRY(hc_upload(rig->queue, host.data, to + at, (size_t)some * sizeof(float), err));
        HC_TRY(hc_wait(rig->queue, err));
    }
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_release(rig->compute, &host);
    return status;
}

HcStatus hc_dense_fetch(HcRig *rig, const float *at, int64_t count, float **out, HcError *err) {
    *out = malloc((size_t)count * sizeof **out);
    if (*out == NULL) {
        return hc_fail_memory(err, (double)count * sizeof **out, "a vector");
    }
    HC_OR_RETURN(hc_download(rig->queue, at, *out, (size_t)count * sizeof **out, err));
    return hc_wait(rig->queue, err);
}

HcStatus hc_dense_choose(HcRig *rig, HcDense *dense, const HcDenseKind *kind, bool is_problem, HcError *err) {
    hc_release(rig->compute, &dense->vectors);
    dense->kind = kind;
    dense->matrix = hc_dense_cut(kind, hc_dense_most_bytes(rig, is_problem));
    dense->matrix.data = dense->values.data;
    size_t floats = 3 * (size_t)dense->matrix.rows + 4 * (size_t)dense->matrix.columns;
    HC_OR_RETURN(hc_alloc(rig->compute, HC_MEMORY_DEVICE, floats * sizeof(float), &dense->vectors, err));
    dense->in = dense->vectors.data;
    dense->out = dense->in + (kind->turned ? dense->matrix.rows : dense->matrix.columns);
    dense->scratch = dense->in + dense->matrix.rows + dense->matrix.columns;
    return HC_OK;
}

void hc_dense_scale(const HcDenseKind *kind, const HcMatrix *matrix, double factor, const char *how,
                    HcBenchRow *row) {
    HcMatrix whole = {.rows = kind->rows, .columns = kind->columns};
    bool is_cut = matrix->rows < kind->rows || matrix->columns < kind->columns;
    factor *= hc_dense_values(&whole) / hc_dense_values(matrix);
    row->seconds *= factor;
    row->least *= factor;
    row->most *= factor;
    row->bytes *= factor;
    row->operations *= factor;
    row->floor *= factor;
    snprintf(row->how, sizeof row->how, "%s", how);
    if (is_cut) {
        size_t length = strlen(row->how);
        snprintf(row->how + length, sizeof row->how - length, "%sfrom %lldx%lld", length > 0 ? ", " : "",
                 (long long)matrix->rows, (long long)matrix->columns);
    }
}

int64_t hc_dense_most_values(const HcRig *rig, const HcDenseKind *kinds, size_t count, bool are_problems,
                             int64_t most) {
    for (size_t k = 0; k < count; k++) {
        HcMatrix matrix = hc_dense_cut(&kinds[k], hc_dense_most_bytes(rig, are_problems));
        int64_t values = matrix.rows * matrix.columns;
        most = hc_bench_wants(rig->bench, kinds[k].name) && values > most ? values : most;
    }
    return most;
}

HcStatus hc_dense_open(HcRig *rig, HcDense *dense, int64_t values, HcError *err) {
    HC_OR_RETURN(
        hc_alloc(rig->compute, HC_MEMORY_DEVICE, (size_t)values * sizeof(float), &dense->values, err));
    return hc_dense_random(rig, 0, values, dense->values.data, err);
}

void hc_dense_close(HcRig *rig, HcDense *dense, HcStatus status) {
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_release(rig->compute, &dense->values);
    hc_release(rig->compute, &dense->vectors);
}
