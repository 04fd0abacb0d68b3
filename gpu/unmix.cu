/* Sparse unmixing on the host: the module hands it to the backend of the host, block by block, as it does
 * with eigenproblems. The kernels of an own way are not written yet; results are those of the CPU to the last
 * bit. */
#include "gpu/internal.cuh"

#include <new>

static const char doing[] = "unmixing";

struct HcUnmixing {
    HcGpu *gpu;
    HcUnmixing *host;
    HcQueue *host_queue;
    int32_t bands, out_bands;
    HcBuffer room;    /* [host] a block in and out, as large as one was so far */
    HcBuffer counted; /* [host] what the host has counted, as it goes on in `counts` */
    int64_t *counts;  /* [device] of the rule, NULL = not counted */
};

/* A block over the same rows, cut from host memory. */
static HcBlock cut(char *memory, size_t *at, const HcBlock *like, int32_t bands) {
    HcBlock out = *like;
    size_t pixels = hc_block_pixels(like);
    out.bands = bands;
    out.data = (float *)hc_take(memory, at, pixels * (size_t)bands * sizeof(float));
    out.mask = (uint8_t *)hc_take(memory, at, pixels);
    return out;
}

HcStatus hc_gpu_unmix_open(HcCompute *compute, const HcUnmixRule *rule, HcUnmixing **out, HcError *err) {
    HcStatus status = HC_OK;
    HcGpu *gpu = (HcGpu *)compute;
    HcUnmixing *unmixing = NULL;
    HcUnmixRule host_rule;
    *out = NULL;
    HC_TRY(hc_check_unmix_rule(rule, err));
    if (gpu->host == NULL) {
        return hc_fail(err, HC_E_USAGE, "unmix: the GPU backend was opened without the host's operations");
    }
    unmixing = new (std::nothrow) HcUnmixing();
    if (unmixing == NULL) {
        return hc_fail_memory(err, sizeof *unmixing, doing);
    }
    unmixing->gpu = gpu;
    unmixing->bands = rule->bands;
    unmixing->out_bands = hc_unmix_bands(rule);
    unmixing->counts = rule->counts;
    host_rule = *rule;
    if (rule->counts != NULL) {
        HC_TRY(hc_gpu_alloc(compute, HC_MEMORY_HOST, (size_t)hc_unmix_counts(rule) * sizeof *rule->counts,
                            &unmixing->counted, err));
        host_rule.counts = (int64_t *)unmixing->counted.data;
    }
    HC_TRY(gpu->host->queue_open(gpu->host_compute, &unmixing->host_queue, err));
    HC_TRY(gpu->host->unmix_open(gpu->host_compute, &host_rule, &unmixing->host, err));
    *out = unmixing;
    unmixing = NULL;
done:
    hc_gpu_unmix_close(unmixing);
    return status;
}

void hc_gpu_unmix_close(HcUnmixing *unmixing) {
    if (unmixing != NULL) {
        unmixing->gpu->host->unmix_close(unmixing->host);
        unmixing->gpu->host->queue_close(unmixing->host_queue);
        hc_gpu_release(&unmixing->gpu->base, &unmixing->room);
        hc_gpu_release(&unmixing->gpu->base, &unmixing->counted);
        delete unmixing;
    }
}

static HcStatus copy(HcQueue *queue, void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                     HcError *err) {
    return hc_gpu_check(cudaMemcpyAsync(to, from, bytes, kind, queue->stream), doing, err);
}

static HcStatus room_for(HcUnmixing *unmixing, size_t bytes, HcError *err) {
    if (bytes <= unmixing->room.bytes) {
        return HC_OK;
    }
    hc_gpu_release(&unmixing->gpu->base, &unmixing->room);
    return hc_gpu_alloc(&unmixing->gpu->base, HC_MEMORY_HOST, bytes, &unmixing->room, err);
}

/* Returns when the work before it is done and its own is. */
HcStatus hc_gpu_unmix(HcQueue *queue, const HcBlock *in, HcUnmixing *unmixing, const HcBlock *out,
                      HcError *err) {
    HcStatus status = HC_OK;
    size_t bytes = 0;
    size_t at = 0;
    size_t pixels = 0;
    size_t first = 0;
    HcBlock host_in, host_out;
    HcUnmixRule shape = {};
    if (unmixing != NULL) {
        shape.bands = unmixing->bands;
        shape.spectra = unmixing->out_bands;
    }
    HC_TRY(hc_check_unmix(queue, in, unmixing, &shape, out, err));
    HC_TRY(hc_gpu_use(queue->gpu, err));
    (void)cut(NULL, &bytes, out, in->bands);
    (void)cut(NULL, &bytes, out, out->bands);
    HC_TRY(room_for(unmixing, bytes, err));
    host_in = cut((char *)unmixing->room.data, &at, out, in->bands);
    host_out = cut((char *)unmixing->room.data, &at, out, out->bands);
    pixels = hc_block_pixels(out);
    first = (size_t)(hc_block_first_line(out) - hc_block_first_line(in)) * (size_t)in->samples;
    HC_TRY(copy(queue, host_in.data, in->data + first * (size_t)in->bands,
                pixels * (size_t)in->bands * sizeof(float), cudaMemcpyDeviceToHost, err));
    HC_TRY(copy(queue, host_in.mask, in->mask + first, pixels, cudaMemcpyDeviceToHost, err));
    if (unmixing->counts != NULL) {
        HC_TRY(copy(queue, unmixing->counted.data, unmixing->counts, unmixing->counted.bytes,
                    cudaMemcpyDeviceToHost, err));
    }
    HC_TRY(hc_gpu_check(cudaStreamSynchronize(queue->stream), doing, err));
    HC_TRY(queue->gpu->host->unmix(unmixing->host_queue, &host_in, unmixing->host, &host_out, err));
    HC_TRY(queue->gpu->host->wait(unmixing->host_queue, err));
    HC_TRY(copy(queue, out->data, host_out.data, pixels * (size_t)out->bands * sizeof(float),
                cudaMemcpyHostToDevice, err));
    HC_TRY(copy(queue, out->mask, host_out.mask, pixels, cudaMemcpyHostToDevice, err));
    if (unmixing->counts != NULL) {
        HC_TRY(copy(queue, unmixing->counts, unmixing->counted.data, unmixing->counted.bytes,
                    cudaMemcpyHostToDevice, err));
    }
    HC_TRY(hc_gpu_check(cudaStreamSynchronize(queue->stream), doing, err));
done:
    return status;
}
