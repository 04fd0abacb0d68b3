/* Raw bytes to sums: what raw.cu, raw_grid.cu and far.cu share. */
#ifndef HC_GPU_GRAM_RAW_CUH
#define HC_GPU_GRAM_RAW_CUH

#include "gpu/gram/gram.cuh"

enum {
    HC_RAW_PAIR = 2,      /* sums that a kernel adds to */
    HC_RAW_UNIT_TILES = 8 /* below one another, at most, of a thread block */
};

/* One of the sums, as the kernels take it. */
struct HcRawPart {
    HcExact to;
    HcDifference kind;
    int64_t limit;
    const uint8_t *counts; /* [lines][strips][HC_STEP_PIXELS / 8], a bit a sample */
};

struct HcRawJob {
    const char *data;       /* of the first interior line, sample 0, stored band 0 */
    const char *low, *high; /* all bytes lie in [low, high) */
    int64_t stride_line, stride_band;
    int64_t above, below; /* lines of the file there are beside the interior ones */
    int64_t lines, strips;
    const int32_t *index; /* [bands] */
    int32_t bands, stored, samples;
    int32_t unit_tiles; /* of a thread block */
    bool swap;
    HcFault *fault;
    int32_t *holes; /* [device] an HcHoles; NULL = masks are complete */
    HcRawPart part[HC_RAW_PAIR];
};

/* `units` units of float32 from `unit0` on to limbs of the grids of `count` parts: raw_grid.cu. Values lie at
 * multiples of four bytes. */
HcStatus hc_raw_grid_split(HcQueue *queue, const HcRawJob *job, int32_t count, int64_t unit0, int64_t units,
                           HcError *err);
/* The same once more, if holes were found and have been masked since. */
HcStatus hc_raw_grid_split_again(HcQueue *queue, const HcRawJob *job, int32_t count, int64_t unit0,
                                 int64_t units, HcError *err);
/* Completes what was split; adds what is far. */
HcStatus hc_raw_grid_settle(HcQueue *queue, const HcRawJob *job, int32_t count, int64_t unit0, int64_t units,
                            HcError *err);
/* Adds what is far, as hc_far_add (far.cu). */
HcStatus hc_far_add_raw(HcQueue *queue, const HcRawJob *job, int32_t count, int64_t unit0, int64_t units,
                        HcError *err);

#ifdef __CUDACC__

/* Where a band begins at a sample; NULL where there is none. That the file has it was looked at before. */
__device__ static inline const char *hc_raw_band_at(const HcRawJob &job, int32_t band, int64_t sample,
                                                    int64_t bytes) {
    const int32_t index = band < job.bands ? __ldg(job.index + band) : -1;
    return index >= 0 && index < job.stored ? job.data + index * job.stride_band + sample * bytes : NULL;
}

/* Adds up the neighbouring threads that share a band. */
template <int SHARE, typename T>
__device__ static inline void hc_raw_end_unit(int64_t *sums, int32_t band, T sum) {
#pragma unroll
    for (int32_t d = SHARE / 2; d > 0; d /= 2) {
        sum += __shfl_xor_sync(0xFFFFFFFFU, sum, d);
    }
    if (threadIdx.x % SHARE == 0 && sum != 0) {
        atomicAdd((unsigned long long *)&sums[band], (unsigned long long)(int64_t)sum);
    }
}

#endif
#endif
