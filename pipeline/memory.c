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
