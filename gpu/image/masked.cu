/* How many pixels a step has masked. A block of threads adds its pixels at once. */
#include "core/operation/image/masked.h"
#include "gpu/internal.cuh"

HcMaskedFn hc_gpu_masked;

namespace {

enum { THREADS = 256, BLOCKS_MAX = 1024 };

/* from, to: masks of the interior lines. */
__global__ void __launch_bounds__(THREADS)
    count_masked(const uint8_t *from, const uint8_t *to, int64_t pixels, unsigned long long *count) {
    unsigned long long masked = 0;
    for (int64_t first = (int64_t)blockIdx.x * THREADS; first < pixels;
         first += (int64_t)gridDim.x * THREADS) {
        int64_t p = first + threadIdx.x;
        masked += (unsigned)__syncthreads_count(p < pixels && from[p] != 0 && to[p] == 0);
    }
    if (threadIdx.x == 0 && masked > 0) {
        atomicAdd(count, masked);
    }
}

} // namespace

HcStatus hc_gpu_masked(HcQueue *queue, const HcBlock *in, const HcBlock *out, int64_t *count, HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    const uint8_t *from = in->mask + (out->line0 - hc_block_first_line(in)) * in->samples;
    const uint8_t *to = out->mask + (int64_t)out->above * out->samples;
    int64_t pixels = (int64_t)out->lines * out->samples;
    int64_t blocks = hc_min64(hc_div_up(pixels, THREADS), BLOCKS_MAX);
    count_masked<<<(unsigned)blocks, THREADS, 0, queue->stream>>>(from, to, pixels,
                                                                  (unsigned long long *)count);
    return hc_gpu_launched("counting masked pixels", err);
}
