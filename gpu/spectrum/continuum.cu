/* Continua of spectra: a warp a pixel. Lanes share all that is done for each band, and one lane makes the
 * chains of corners, which are short. What a warp works in is written and read again at once, so that it
 * stays in the caches. */
#include "core/solver/continuum.h"
#include "gpu/internal.cuh"

HcContinuumFn hc_gpu_continuum;

namespace {

enum { THREADS = 256, WARP = 32, WARPS = HC_CONTINUUM_WARPS };

struct Job {
    const float *from; /* of the output's first pixel */
    const uint8_t *mask;
    HcView out;
    HcContinuumRule rule;
    int64_t pixels;
    int32_t stored;
    double *work; /* [WARPS][2][places], and then int32_t [WARPS][places + 1] */
};

__device__ inline int32_t sum_of(int32_t value) {
#pragma unroll
    for (int step = WARP / 2; step > 0; step /= 2) {
        value += __shfl_xor_sync(0xFFFFFFFFU, value, step);
    }
    return value;
}

__global__ void __launch_bounds__(THREADS) continuum(const Job job) {
    int64_t warp = (int64_t)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP;
    int64_t places = job.rule.places;
    int64_t bands = job.out.bands;
    HcContinuumWork work = {};
    work.lane = (int32_t)threadIdx.x % WARP;
    work.lanes = WARP;
    work.y = job.work + 2 * warp * places;
    work.hull = work.y + places;
    work.corner = (int32_t *)(job.work + 2 * WARPS * places) + warp * (places + 1);
    for (int64_t pixel = warp; pixel < job.pixels; pixel += WARPS) {
        float *to = job.out.data + pixel * bands;
        bool valid = job.mask[pixel] != 0;
        if (valid) {
            int32_t lacks = hc_continuum_pixel(&job.rule, &work, job.from + pixel * job.stored, to);
            valid = hc_continuum_stays(&job.rule, sum_of(lacks), job.out.bands);
        }
        for (int64_t b = work.lane; b < bands && !valid; b += WARP) {
            to[b] = 0;
        }
        if (work.lane == 0) {
            job.out.mask[pixel] = valid;
        }
    }
}

} // namespace

HcStatus hc_gpu_continuum(HcQueue *queue, const HcBlock *in, const HcContinuumRule *rule, const HcBlock *out,
                          HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    /* Rows of both blocks lie without gaps, so pixels are counted through. */
    int64_t skip = (hc_block_first_line(out) - hc_block_first_line(in)) * in->samples;
    Job job = {};
    job.from = in->data + skip * in->bands;
    job.mask = in->mask + skip;
    job.out = hc_view(out);
    job.rule = *rule;
    job.pixels = (int64_t)hc_block_pixels(out);
    job.stored = in->bands;
    HC_OR_RETURN(hc_gpu_scratch(queue, WARPS * hc_continuum_work(rule->places), (void **)&job.work, err));
    continuum<<<WARPS / (THREADS / WARP), THREADS, 0, queue->stream>>>(job);
    return hc_gpu_launched("removing continua", err);
}
