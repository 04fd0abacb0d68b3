/* identify: 32 pixels a thread block. Their bands lie in shared memory, where each warp reads those of all 32
 * for another reference; the lists of the warps are then joined. A feature is the same for a whole warp, so
 * that its entries come by one load for all lanes. */
#include "core/operation/spectrum/identify.h"
#include "core/solver/identify.h"
#include "gpu/internal.cuh"

HcIdentifyFn hc_gpu_identify;

namespace {

enum {
    PIXELS = 32,
    WARPS = 8,
    THREADS = PIXELS * WARPS,
    STRIDE = PIXELS + 1,
    LIST = HC_IDENTIFY_TOP_MAX + 1
};

struct Job {
    const float *from; /* of the output's first pixel */
    const uint8_t *mask;
    HcView out;
    int64_t pixels;
    HcIdentifyRule rule;
    bool turned; /* the bands of the pixels fit the shared memory */
};

/* tile[bands][STRIDE] */
__device__ void turn(const Job &job, int64_t first, float *tile) {
    const int32_t bands = job.rule.bands;
    for (int32_t p = (int32_t)threadIdx.x / 32; p < PIXELS && first + p < job.pixels; p += WARPS) {
        for (int32_t b = (int32_t)threadIdx.x % 32; b < bands; b += 32) {
            tile[b * STRIDE + p] = job.from[(first + p) * bands + b];
        }
    }
}

/* The lists of the warps, one after another, into that of the first. */
__device__ void join(const HcIdentifyRule &rule, const HcIdentifyBest *own, HcIdentifyBest *shared) {
    for (int32_t w = 0; w < WARPS; w++) {
        if ((int32_t)threadIdx.x / 32 == w) {
            for (int32_t i = 0; i < rule.top && own[i].number >= 0; i++) {
                hc_identify_insert(shared, rule.top, &own[i]);
            }
            if (own[rule.top].number >= 0) {
                hc_identify_insert(shared + rule.top, 1, &own[rule.top]);
            }
        }
        __syncthreads();
    }
}

__global__ void __launch_bounds__(THREADS) identify(const Job job) {
    extern __shared__ float tile[];
    __shared__ HcIdentifyBest lists[PIXELS][LIST];
    const HcIdentifyRule &rule = job.rule;
    const int64_t first = (int64_t)blockIdx.x * PIXELS;
    const int32_t lane = (int32_t)threadIdx.x % 32;
    const int64_t pixel = first + lane;
    const bool valid = pixel < job.pixels && job.mask[pixel] != 0;
    HcIdentifyBest own[LIST];
    HcIdentifyVerdict verdict;
    if (job.turned) {
        turn(job, first, tile);
    }
    hc_identify_none(own, rule.top + 1);
    if (threadIdx.x < PIXELS) {
        hc_identify_none(lists[lane], rule.top + 1);
    }
    __syncthreads();
    const float *bands = job.turned ? tile + lane : job.from + pixel * rule.bands;
    const int32_t stride = job.turned ? (int32_t)STRIDE : 1;
    for (int32_t r = (int32_t)threadIdx.x / 32; r < rule.references && valid; r += WARPS) {
        hc_identify_judge(&rule, rule.reference + r, bands, stride, rule.rejected, &verdict);
        hc_identify_take(&rule, r, &verdict, 0, own);
    }
    join(rule, own, lists[lane]);
    if (threadIdx.x >= PIXELS || pixel >= job.pixels) {
        return;
    }
    float *to = job.out.data + pixel * job.out.bands;
    job.out.mask[pixel] = valid;
    if (valid) {
        hc_identify_settle(&rule, bands, stride, 0, lists[lane]);
        hc_identify_write(&rule, lists[lane], to);
    }
    for (int32_t b = 0; b < job.out.bands && !valid; b++) {
        to[b] = 0;
    }
}

} // namespace

HcStatus hc_gpu_identify(HcQueue *queue, const HcBlock *in, const HcIdentifyRule *rule, const HcBlock *out,
                         HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    /* Rows of both blocks lie without gaps, so pixels are counted through. */
    int64_t skip = (hc_block_first_line(out) - hc_block_first_line(in)) * in->samples;
    int64_t pixels = hc_block_rows(out) * (int64_t)out->samples;
    size_t bytes = (size_t)rule->bands * STRIDE * sizeof(float);
    bool turned = bytes + sizeof(HcIdentifyBest) * PIXELS * LIST <= queue->gpu->shared_memory;
    bytes = turned ? bytes : 0;
    Job job = {in->data + skip * in->bands, in->mask + skip, hc_view(out), pixels, *rule, turned};
    HC_OR_RETURN(
        hc_gpu_check(cudaFuncSetAttribute(identify, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
                     "computing identify", err));
    identify<<<(unsigned)hc_div_up(pixels, PIXELS), THREADS, bytes, queue->stream>>>(job);
    return hc_gpu_launched("computing identify", err);
}
