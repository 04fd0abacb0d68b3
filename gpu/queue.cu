/* Queues of the GPU backend: streams with scratch memory and a word for faults, copies, and what waits for
 * what. */
#include "gpu/internal.cuh"

#include <new>

static void free_queue(HcQueue *queue) {
    hc_gpu_release(&queue->gpu->base, &queue->scratch);
    hc_gpu_release(&queue->gpu->base, &queue->counters);
    if (queue->stream != NULL) {
        (void)cudaStreamDestroy(queue->stream);
    }
    if (queue->event != NULL) {
        (void)cudaEventDestroy(queue->event);
    }
    (void)cudaFreeHost(queue->fault);
    (void)cudaGetLastError();
    delete queue;
}

void hc_gpu_free_queues(HcGpu *gpu) {
    while (gpu->queues != NULL) {
        HcQueue *next = gpu->queues->next;
        free_queue(gpu->queues);
        gpu->queues = next;
    }
}

/* Empty queues are kept: making one takes longer than a small copy. */
void hc_gpu_queue_close(HcQueue *queue) {
    if (queue == NULL) {
        return;
    }
    HcGpu *gpu = queue->gpu;
    if (cudaSetDevice(gpu->device) != cudaSuccess || cudaStreamSynchronize(queue->stream) != cudaSuccess) {
        free_queue(queue);
        return;
    }
    *queue->fault = {};
    hc_gpu_release(&gpu->base, &queue->scratch);
    HcGpuHeld held(gpu);
    queue->next = gpu->queues;
    gpu->queues = queue;
}

static HcQueue *take_kept_queue(HcGpu *gpu) {
    HcGpuHeld held(gpu);
    HcQueue *queue = gpu->queues;
    if (queue != NULL) {
        gpu->queues = queue->next;
    }
    return queue;
}

static HcStatus new_queue(HcGpu *gpu, HcQueue **out, HcError *err) {
    HcStatus status = HC_OK;
    HcQueue *queue = new (std::nothrow) HcQueue();
    if (queue == NULL) {
        return hc_fail_memory(err, sizeof *queue, "a queue");
    }
    queue->gpu = gpu;
    HC_TRY(hc_gpu_check(cudaStreamCreateWithFlags(&queue->stream, cudaStreamNonBlocking), "opening a queue",
                        err));
    HC_TRY(hc_gpu_check(cudaEventCreateWithFlags(&queue->event, cudaEventDisableTiming), "opening a queue",
                        err));
    HC_TRY(hc_gpu_check(cudaHostAlloc((void **)&queue->fault, sizeof(HcFault), cudaHostAllocMapped),
                        "opening a queue", err));
    *queue->fault = {};
    HC_TRY(hc_gpu_check(cudaHostGetDevicePointer((void **)&queue->fault_device, queue->fault, 0),
                        "opening a queue", err));
    *out = queue;
done:
    if (status != HC_OK) {
        free_queue(queue);
    }
    return status;
}

HcStatus hc_gpu_queue_open(HcCompute *compute, HcQueue **out, HcError *err) {
    HcGpu *gpu = (HcGpu *)compute;
    *out = NULL;
    HC_OR_RETURN(hc_gpu_use(gpu, err));
    if ((*out = take_kept_queue(gpu)) == NULL) {
        HC_OR_RETURN(new_queue(gpu, out, err));
    }
    return HC_OK;
}

/* In a new buffer, since work that waits in the queue may need the old one. */
static HcStatus grow(HcQueue *queue, size_t bytes, HcBuffer *buffer, HcError *err) {
    HcBuffer larger = {};
    if (buffer->bytes >= bytes) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_gpu_alloc(&queue->gpu->base, HC_MEMORY_DEVICE, bytes, &larger, err));
    HcStatus status = hc_gpu_check(cudaStreamSynchronize(queue->stream), "making scratch memory", err);
    hc_gpu_release(&queue->gpu->base, status == HC_OK ? buffer : &larger);
    *buffer = status == HC_OK ? larger : *buffer;
    return status;
}

HcStatus hc_gpu_scratch(HcQueue *queue, size_t bytes, void **out, HcError *err) {
    HC_OR_RETURN(grow(queue, bytes, &queue->scratch, err));
    *out = queue->scratch.data;
    return queue->gpu->poison ? hc_gpu_check(cudaMemsetAsync(*out, 0xFF, queue->scratch.bytes, queue->stream),
                                             "filling scratch memory", err)
                              : HC_OK;
}

HcStatus hc_gpu_counters(HcQueue *queue, uint32_t **out, HcError *err) {
    const size_t bytes = HC_GPU_COUNTERS * sizeof **out;
    bool fresh = queue->counters.bytes == 0;
    HC_OR_RETURN(grow(queue, bytes, &queue->counters, err));
    *out = (uint32_t *)queue->counters.data;
    return fresh ? hc_gpu_zero(queue, *out, bytes, err) : HC_OK;
}

HcStatus hc_gpu_follow(HcQueue *queue, HcQueue *after, HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    HC_OR_RETURN(hc_gpu_check(cudaEventRecord(after->event, after->stream), "ordering queues", err));
    return hc_gpu_check(cudaStreamWaitEvent(queue->stream, after->event, 0), "ordering queues", err);
}

static HcStatus report_fault(const HcFault *fault, HcError *err) {
    HcStatus status = (HcStatus)fault->status;
    switch (fault->operation) {
    case HC_FAULT_PROMISE:
        return hc_fail(err, status,
                       "the value %.9g is not an integer of magnitude %lld or less, as was promised",
                       fault->value, (long long)fault->limit);
    case HC_FAULT_FORMULA_STEP:
        return hc_fail(err, status, "formula: step %.0f of %lld cannot be done", fault->value,
                       (long long)fault->limit);
    default:
        return hc_fail(err, status, "%s: band %.0f asked for, the %s 0 to %lld",
                       fault->operation == HC_FAULT_GATHER_BAND    ? "gather"
                       : fault->operation == HC_FAULT_FORMULA_BAND ? "formula"
                                                                   : "decode",
                       fault->value, fault->operation == HC_FAULT_DECODE_BAND ? "bytes hold" : "block has",
                       (long long)fault->limit - 1);
    }
}

HcStatus hc_gpu_wait(HcQueue *queue, HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    HC_OR_RETURN(hc_gpu_check(cudaStreamSynchronize(queue->stream), "computing", err));
    if (queue->fault->status != HC_OK) {
        HcFault fault = *queue->fault;
        *queue->fault = {};
        HC_OR_RETURN(report_fault(&fault, err));
    }
    return HC_OK;
}

HcStatus hc_gpu_upload(HcQueue *queue, const void *from, void *to, size_t bytes, HcError *err) {
    HcStatus status = hc_gpu_use(queue->gpu, err);
    return status != HC_OK
               ? status
               : hc_gpu_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, queue->stream),
                              "copying to the device", err);
}

HcStatus hc_gpu_download(HcQueue *queue, const void *from, void *to, size_t bytes, HcError *err) {
    HcStatus status = hc_gpu_use(queue->gpu, err);
    return status != HC_OK
               ? status
               : hc_gpu_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, queue->stream),
                              "copying from the device", err);
}

HcStatus hc_gpu_zero(HcQueue *queue, void *at, size_t bytes, HcError *err) {
    HcStatus status = hc_gpu_use(queue->gpu, err);
    return status != HC_OK
               ? status
               : hc_gpu_check(cudaMemsetAsync(at, 0, bytes, queue->stream), "clearing memory", err);
}
