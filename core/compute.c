#include "core/compute.h"
#include "core/operation/check.h"

/* The name of the first entry that is empty, NULL = none is. */
static const char *empty_entry(const HcComputeOps *ops) {
#define FIND_EMPTY(name, Function)                                                                           \
    if (ops->name == NULL) {                                                                                 \
        return #name;                                                                                        \
    }
    HC_BASICS(FIND_EMPTY)
    HC_OPERATIONS(FIND_EMPTY)
#undef FIND_EMPTY
    return NULL;
}

HcStatus hc_compute_open(const HcComputeOps *ops, const HcComputeConfig *config, HcCompute **out,
                         HcError *err) {
    *out = NULL;
    if (ops->abi != HC_COMPUTE_ABI) {
        return hc_fail(err, HC_E_DEVICE, "%s: operations of interface %u, this is %d", ops->name, ops->abi,
                       HC_COMPUTE_ABI);
    }
    const char *empty = empty_entry(ops);
    if (empty != NULL) {
        return hc_fail(err, HC_E_DEVICE, "%s: this backend has no operation %s", ops->name, empty);
    }
    HC_OR_RETURN(ops->open(out, config, err));
    (*out)->ops = ops;
    return HC_OK;
}

uint32_t hc_compute_abi(void) {
    return HC_COMPUTE_ABI;
}

void hc_compute_close(HcCompute *compute) {
    if (compute != NULL) {
        compute->ops->close(compute);
    }
}

void hc_compute_info(const HcCompute *compute, HcComputeInfo *out) {
    compute->ops->info(compute, out);
}

const char *hc_compute_name(const HcComputeOps *ops) {
    return ops->name;
}

HcStatus hc_alloc(HcCompute *compute, HcMemory where, size_t bytes, HcBuffer *out, HcError *err) {
    return compute->ops->alloc(compute, where, bytes, out, err);
}

void hc_release(HcCompute *compute, HcBuffer *buffer) {
    if (compute != NULL && buffer != NULL) {
        compute->ops->release(compute, buffer);
    }
}

HcStatus hc_queue_open(HcCompute *compute, HcQueue **out, HcError *err) {
    HC_OR_RETURN(hc_check_open(compute, out, "queue", err));
    *out = NULL;
    HC_OR_RETURN(compute->ops->queue_open(compute, out, err));
    *(HcHead *)*out = (HcHead){compute};
    return HC_OK;
}

void hc_queue_close(HcQueue *queue) {
    if (queue != NULL) {
        hc_ops_of(queue)->queue_close(queue);
    }
}

HcStatus hc_follow(HcQueue *queue, HcQueue *after, HcError *err) {
    HC_OR_RETURN(hc_check_queue(queue, "follow", err));
    HC_OR_RETURN(hc_check_queue(after, "follow", err));
    return hc_ops_of(queue)->follow(queue, after, err);
}

HcStatus hc_wait(HcQueue *queue, HcError *err) {
    HC_OR_RETURN(hc_check_queue(queue, "wait", err));
    return hc_ops_of(queue)->wait(queue, err);
}

static HcStatus check_copy(const HcQueue *queue, const void *from, const void *to, size_t bytes,
                           const char *what, HcError *err) {
    HC_OR_RETURN(hc_check_queue(queue, what, err));
    return bytes == 0 || (from != NULL && to != NULL)
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "%s: the memory for %zu bytes is missing", what, bytes);
}

HcStatus hc_upload(HcQueue *queue, const void *from, void *to, size_t bytes, HcError *err) {
    HC_OR_RETURN(check_copy(queue, from, to, bytes, "upload", err));
    return bytes > 0 ? hc_ops_of(queue)->upload(queue, from, to, bytes, err) : HC_OK;
}

HcStatus hc_download(HcQueue *queue, const void *from, void *to, size_t bytes, HcError *err) {
    HC_OR_RETURN(check_copy(queue, from, to, bytes, "download", err));
    return bytes > 0 ? hc_ops_of(queue)->download(queue, from, to, bytes, err) : HC_OK;
}

HcStatus hc_zero(HcQueue *queue, void *at, size_t bytes, HcError *err) {
    HC_OR_RETURN(check_copy(queue, at, at, bytes, "zero", err));
    return bytes > 0 ? hc_ops_of(queue)->zero(queue, at, bytes, err) : HC_OK;
}
