/* Bands of a block in another order. */
#include "core/operation/image/gather.h"
#include "gpu/internal.cuh"

HcGatherFn hc_gpu_gather;

namespace {

enum { THREADS = 256, PIXELS = 4 }; /* pixels that a thread takes */

struct Job {
    const float *from; /* of the output's first pixel */
    const uint8_t *mask;
    const int32_t *index;
    HcFault *fault;
    HcView out;
    int64_t pixels;
    int32_t stored;
    int32_t log_span; /* threads that share the bands of a pixel, as a power of two */
};

__global__ void __launch_bounds__(THREADS) gather(const Job job) {
    int64_t bands = job.out.bands;
    int span = 1 << job.log_span;
    int groups = THREADS >> job.log_span;
    int64_t pixel = (int64_t)blockIdx.x * groups * PIXELS + ((int)threadIdx.x >> job.log_span);
    int64_t left = job.pixels - pixel;
    const float *from = job.from + pixel * job.stored;
    float *to = job.out.data + pixel * bands;
    int first = (int)threadIdx.x & (span - 1);
    for (int64_t k = first; k < bands && left > 0; k += span) {
        int32_t index = __ldg(job.index + k);
        if (index < 0 || index >= job.stored) {
            hc_raise(job.fault, HC_E_USAGE, HC_FAULT_GATHER_BAND, index, job.stored);
            continue;
        }
        float value[PIXELS];
#pragma unroll
        for (int p = 0; p < PIXELS; p++) {
            int64_t step = (int64_t)p * groups;
            value[p] = step < left ? __ldg(from + step * job.stored + index) : 0;
        }
#pragma unroll
        for (int p = 0; p < PIXELS; p++) {
            int64_t step = (int64_t)p * groups;
            if (step < left) {
                to[step * bands + k] = value[p];
            }
        }
    }
    for (int64_t step = 0; first == 0 && step < left && step < PIXELS * groups; step += groups) {
        job.out.mask[pixel + step] = job.mask[pixel + step];
    }
}

} // namespace

HcStatus hc_gpu_gather(HcQueue *queue, const HcBlock *in, const int32_t *index, const HcBlock *out,
                       HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    /* Rows of both blocks lie without gaps, so pixels are counted through. */
    int64_t skip = (hc_block_first_line(out) - hc_block_first_line(in)) * in->samples;
    Job job = {};
    job.from = in->data + skip * in->bands;
    job.mask = in->mask + skip;
    job.index = index;
    job.fault = queue->fault_device;
    job.out = hc_view(out);
    job.pixels = (int64_t)hc_block_pixels(out);
    job.stored = in->bands;
    while ((1 << job.log_span) < out->bands && job.log_span < 5) {
        job.log_span++;
    }
    int64_t blocks = hc_div_up(job.pixels, (THREADS >> job.log_span) * PIXELS);
    gather<<<(unsigned)blocks, THREADS, 0, queue->stream>>>(job);
    return hc_gpu_launched("choosing bands", err);
}
