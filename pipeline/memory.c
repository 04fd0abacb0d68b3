#include "pipeline/memory.h"

/* Runs one copy on a queue of its own, and waits. from NULL = zeros. */
static HcStatus fill(HcCompute *compute, const void *from, size_t bytes, void *to, HcError *err) {
    HcStatus status = HC_OK;
    HcQueue *queue = NULL;
    HC_TRY(hc_queue_open(compute, &queue, err));
    if (from != NULL) {
        HC_TRY(hc_upload(queue, from, to, bytes, err));
    } else {
        HC_TRY(hc_zero(queue, to, bytes, err));
    }
    HC_TRY(hc_wait(queue, err));
done:
    hc_queue_close(queue);
    return status;
}

static HcStatus make(HcCompute *compute, const void *from, size_t bytes, HcBuffer *out, HcError *err) {
    HcStatus status = HC_OK;
    HC_TRY(hc_alloc(compute, HC_MEMORY_DEVICE, bytes, out, err));
    HC_TRY(fill(compute, from, bytes, out->data, err));
done:
    if (status != HC_OK) {
        hc_memory_release(compute, out);
    }
    return status;
}

HcStatus hc_memory_upload(HcCompute *compute, const void *from, size_t bytes, HcBuffer *out, HcError *err) {
    return make(compute, from, bytes, out, err);
}

HcStatus hc_memory_zeros(HcCompute *compute, size_t bytes, HcBuffer *out, HcError *err) {
    return make(compute, NULL, bytes, out, err);
}

HcStatus hc_memory_download(HcCompute *compute, const HcBuffer *from, void *to, size_t bytes, HcError *err) {
    HcStatus status = HC_OK;
    HcQueue *queue = NULL;
    HC_TRY(hc_queue_open(compute, &queue, err));
    HC_TRY(hc_download(queue, from->data, to, bytes, err));
    HC_TRY(hc_wait(queue, err));
done:
    hc_queue_close(queue);
    return status;
}

void hc_memory_release(HcCompute *compute, HcBuffer *buffer) {
    if (compute != NULL && buffer->data != NULL) {
        hc_release(compute, buffer);
    }
}

/* Rows that go through the host at once: about 1 MiB. */
static int64_t rows_at_once(const HcStage *stage) {
    size_t row = (size_t)stage->out.samples * (size_t)stage->out.bands * sizeof(float);
    return row < (size_t)1 << 20 ? (int64_t)(((size_t)1 << 20) / row) : 1;
}

size_t hc_change_bytes(const HcStage *stage) {
    size_t pixels = (size_t)rows_at_once(stage) * (size_t)stage->out.samples;
    return pixels * ((size_t)stage->out.bands * sizeof(float) + 1);
}

HcStatus hc_change(const HcStage *stage, HcQueue *queue, const HcBlock *out, const HcBuffer *work,
                   HcChange *change, HcError *err) {
    int64_t rows = hc_block_rows(out);
    int64_t most = rows_at_once(stage);
    for (int64_t row = 0; row < rows; row += most) {
        size_t first = (size_t)row * (size_t)out->samples;
        size_t pixels = (size_t)hc_min64(most, rows - row) * (size_t)out->samples;
        size_t bytes = pixels * (size_t)out->bands * sizeof(float);
        float *at = out->data + first * (size_t)out->bands;
        uint8_t *valid = (uint8_t *)work->data + bytes;
        HC_OR_RETURN(hc_download(queue, at, work->data, bytes, err));
        HC_OR_RETURN(hc_download(queue, out->mask + first, valid, pixels, err));
        HC_OR_RETURN(hc_wait(queue, err));
        change(stage, work->data, valid, pixels, out->bands);
        HC_OR_RETURN(hc_upload(queue, work->data, at, bytes, err));
    }
    return HC_OK;
}
