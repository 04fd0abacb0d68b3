/* Each spectrum divided by its own size. Eight lanes share a pixel: the eight parts of a sum
 * (core/operation/spectrum/normalise.h). A warp reads four pixels side by side; what is read again is in the
 * first cache. */
#include "core/operation/spectrum/normalise.h"
#include "gpu/internal.cuh"

HcNormaliseFn hc_gpu_normalise;

namespace {

enum { THREADS = 256, PARTS = 8, PIXELS = THREADS / PARTS };

struct Job {
    const float *from; /* of the output's first pixel */
    const uint8_t *mask;
    const double *weight;
    HcView out;
    int64_t pixels;
};

/* What a value less the mean adds to a sum. */
enum Term { VALUE, SQUARE, AREA };

/* In all lanes of the group. */
template <Term TERM>
__device__ inline double sum_up(const float *x, double mean, const double *weight, int lane, int32_t bands) {
    double part = 0;
    for (int32_t b = lane; b < bands; b += PARTS) {
        double value = (double)__ldg(x + b) - mean;
        part += TERM == VALUE ? value : TERM == SQUARE ? value * value : __ldg(weight + b) * fabs(value);
    }
#pragma unroll
    for (int step = PARTS / 2; step > 0; step /= 2) {
        part += __shfl_xor_sync(0xffffffff, part, step);
    }
    return part;
}

/* All lanes of a warp come here: those after the last pixel read it again, and write nothing. */
template <HcNormalisation KIND> __global__ void __launch_bounds__(THREADS) normalise(const Job job) {
    int lane = (int)threadIdx.x % PARTS;
    int64_t pixel = (int64_t)blockIdx.x * PIXELS + threadIdx.x / PARTS;
    bool there = pixel < job.pixels;
    int32_t bands = job.out.bands;
    int64_t at = there ? pixel : job.pixels - 1;
    const float *x = job.from + at * bands;
    double mean = 0;
    double size = 0;
    if constexpr (KIND == HC_NORMALISE_AREA) {
        size = sum_up<AREA>(x, 0, job.weight, lane, bands);
    } else if constexpr (KIND == HC_NORMALISE_SNV) {
        mean = sum_up<VALUE>(x, 0, NULL, lane, bands) / (double)bands;
        size = sqrt(sum_up<SQUARE>(x, mean, NULL, lane, bands) / (double)(bands - 1));
    } else {
        size = sqrt(sum_up<SQUARE>(x, 0, NULL, lane, bands));
    }
    bool valid = __ldg(job.mask + at) != 0 && size > 0 && isfinite(size);
    double factor = valid ? 1 / size : 0;
    for (int32_t b = lane; b < bands && there; b += PARTS) {
        job.out.data[at * bands + b] = valid ? (float)(((double)__ldg(x + b) - mean) * factor) : 0;
    }
    if (there && lane == 0) {
        job.out.mask[at] = valid;
    }
}

typedef void Kernel(Job job);

} // namespace

HcStatus hc_gpu_normalise(HcQueue *queue, const HcBlock *in, HcNormalisation kind, const double *weight,
                          const HcBlock *out, HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    static Kernel *const kernels[] = {normalise<HC_NORMALISE_SNV>, normalise<HC_NORMALISE_BRIGHTNESS>,
                                      normalise<HC_NORMALISE_AREA>};
    /* Rows of both blocks lie without gaps, so pixels are counted through. */
    int64_t skip = (hc_block_first_line(out) - hc_block_first_line(in)) * in->samples;
    Job job = {in->data + skip * in->bands, in->mask + skip, weight, hc_view(out),
               (int64_t)hc_block_pixels(out)};
    kernels[kind]<<<(unsigned)hc_div_up(job.pixels, PIXELS), THREADS, 0, queue->stream>>>(job);
    return hc_gpu_launched("normalising", err);
}
