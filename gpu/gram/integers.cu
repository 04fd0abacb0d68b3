/* Integers to limbs (gram.cuh says how). */
#include "gpu/gram/gram.cuh"

enum {
    TILE_WORDS = HC_TILE_PIXELS / 4, /* a word holds a limb of four pixels */
    SPLIT_THREADS = 256,
    SPLIT_RUN = HC_TILE_PIXELS / (SPLIT_THREADS / 32) /* pixels of a lane */
};

/* 1.5 * 2^23: adding it leaves the integer in the low bits. */
static const float integer = 12582912.0F;

/* 9 x - the sum of the neighbourhood, for a run of pixels. The columns of three are summed once for three
 * pixels: sums of integers, and exact. */
__device__ static inline void mean_differences(const HcView &view, int64_t pixel, int32_t band,
                                               float x[SPLIT_RUN]) {
    const int64_t pixels = view.rows * view.samples;
    const int64_t line = (int64_t)view.samples * view.bands;
    const float *from = view.data + (pixel - 1) * view.bands + band;
    float column[SPLIT_RUN + 2];
    float center[SPLIT_RUN + 2];
    if (pixel - 1 >= view.samples && pixel + SPLIT_RUN + view.samples < pixels) {
#pragma unroll
        for (int32_t p = 0; p < SPLIT_RUN + 2; p++) {
            center[p] = from[p * view.bands];
            column[p] = from[p * view.bands - line] + center[p] + from[p * view.bands + line];
        }
    } else {
#pragma unroll
        for (int32_t p = 0; p < SPLIT_RUN + 2; p++) {
            const int64_t at = pixel - 1 + p;
            const bool inside = at >= view.samples && at + view.samples < pixels;
            center[p] = inside ? from[p * view.bands] : 0.0F;
            column[p] = inside ? from[p * view.bands - line] + center[p] + from[p * view.bands + line] : 0.0F;
        }
    }
#pragma unroll
    for (int32_t p = 0; p < SPLIT_RUN; p++) {
        x[p] = 9.0F * center[p + 1] - (column[p] + column[p + 1] + column[p + 2]);
    }
}

/* The values of a run of pixels of one band, 0 where they are not valid. valid: a byte a pixel. */
template <HcDifference KIND>
__device__ static inline void values_of(const HcView &view, int64_t pixel, int32_t band,
                                        const uint32_t valid[SPLIT_RUN / 4], float x[SPLIT_RUN]) {
    const float *from = view.data + pixel * view.bands + band;
    if constexpr (KIND == HC_DIFFERENCE_MEAN3X3) {
        mean_differences(view, pixel, band, x);
    }
#pragma unroll
    for (int32_t p = 0; p < SPLIT_RUN; p++) {
        if ((valid[p / 4] >> p % 4 * 8 & 1) == 0) {
            x[p] = 0.0F;
        } else if constexpr (KIND == HC_DIFFERENCE_NONE) {
            x[p] = from[p * view.bands];
        } else if constexpr (KIND != HC_DIFFERENCE_MEAN3X3) {
            x[p] = hc_difference_of(view, KIND, pixel + p, band);
        }
    }
}

/* Values must be integers within the limit. */
__device__ static inline void check_values(const float x[SPLIT_RUN], float limit, HcFault *fault) {
    bool fine = true;
#pragma unroll
    for (int32_t p = 0; p < SPLIT_RUN; p++) {
        fine &= fabsf(x[p]) <= limit & x[p] + integer - integer == x[p];
    }
    if (fine) {
        return;
    }
    float wrong = 0;
#pragma unroll
    for (int32_t p = 0; p < SPLIT_RUN; p++) {
        wrong = fabsf(x[p]) <= limit && x[p] + integer - integer == x[p] ? wrong : x[p];
    }
    hc_raise(fault, HC_E_NUMERIC, HC_FAULT_PROMISE, (double)wrong, (int64_t)limit);
}

/* Tile (x, y) of 128 pixels and 32 bands: a lane a band, a warp 16 pixels. */
template <HcDifference KIND>
__global__ void __launch_bounds__(SPLIT_THREADS, 4)
    split(HcGramJob job, int64_t first, int64_t limit, HcExact exact, HcFault *fault) {
    __shared__ uint32_t words[HC_LIMBS_INTEGERS][HC_TILE_BANDS][TILE_WORDS + 1];
    __shared__ int32_t sums[SPLIT_THREADS / 32][32];
    __shared__ uint32_t valid[TILE_WORDS]; /* a byte a pixel */
    const int64_t tile = blockIdx.x;
    const int64_t samples = job.in.samples;
    const int64_t pixel0 = first + tile * HC_TILE_PIXELS;
    const int32_t warp = threadIdx.x / 32;
    const int32_t lane = threadIdx.x % 32;
    const int32_t band = blockIdx.y * HC_TILE_BANDS + lane;
    bool ok = false;
    if (threadIdx.x < HC_TILE_PIXELS) {
        int64_t pixel = pixel0 + threadIdx.x;
        ok = pixel < job.rows * samples &&
             hc_difference_valid(job.in, KIND, job.first_row + pixel / samples, pixel % samples, job.top,
                                 job.bottom, job.left, job.right);
        ((uint8_t *)valid)[threadIdx.x] = ok;
    }
    int32_t count = __syncthreads_count(ok);
    if (blockIdx.y == 0 && threadIdx.x == 0 && count > 0) {
        atomicAdd((unsigned long long *)exact.count, (unsigned long long)count);
    }

    const bool there = band < job.in.bands;
    const uint32_t mover = hc_limb_mover - (uint32_t)exact.offset - (uint32_t)__float_as_int(integer);
    float x[SPLIT_RUN];
    uint32_t used[SPLIT_RUN / 4];
    int32_t sum = 0;
    uint32_t seen = 0;
#pragma unroll
    for (int32_t w = 0; w < SPLIT_RUN / 4; w++) {
        used[w] = there ? valid[warp * (SPLIT_RUN / 4) + w] : 0;
    }
    values_of<KIND>(job.in, job.first_row * samples + pixel0 + warp * SPLIT_RUN,
                    there ? band : job.in.bands - 1, used, x);
    check_values(x, (float)limit, fault);
#pragma unroll
    for (int32_t w = 0; w < SPLIT_RUN / 4; w++) {
        uint32_t moved[4];
        uint32_t word[HC_LIMBS_INTEGERS];
#pragma unroll
        for (int32_t p = 0; p < 4; p++) {
            moved[p] = (uint32_t)__float_as_int(x[4 * w + p] + integer) + mover;
        }
        sum += hc_take_limbs(moved, used[w] * 0xFFU, word);
        seen |= word[2];
#pragma unroll
        for (int32_t limb = 0; limb < HC_LIMBS_INTEGERS; limb++) {
            words[limb][lane][warp * (SPLIT_RUN / 4) + w] = word[limb];
        }
    }
    sums[warp][lane] = sum;
    const bool third = __syncthreads_or(seen != 0) != 0;
    const int32_t needs = third ? HC_LIMBS_INTEGERS : HC_LIMBS_MIN;
    if (threadIdx.x == 0) {
        exact.needs[tile * gridDim.y + blockIdx.y] = (uint8_t)needs;
    }
    if (warp == 0) {
        int64_t total = 0;
        for (int32_t w = 0; w < SPLIT_THREADS / 32; w++) {
            total += sums[w][lane];
        }
        if (total != 0) {
            atomicAdd((unsigned long long *)&exact.sum[band], (unsigned long long)total);
        }
    }
    /* The third limb is not written where it is 0 throughout: nobody reads it there. */
    const int32_t row = threadIdx.x / 8;
    const int32_t chunk = threadIdx.x % 8; /* of 16 bytes, over both steps */
    for (int32_t limb = 0; limb < needs; limb++) {
        const uint32_t *from = &words[limb][row][chunk * 4];
        int8_t *to =
            exact.panel +
            hc_panel_at<HC_LIMBS_INTEGERS>(exact, tile * HC_TILE_STEPS + chunk / 4, (int32_t)blockIdx.y) +
            limb * HC_SIDE_LIMB_BYTES + hc_swizzled(row, chunk % 4);
        *(uint4 *)to = make_uint4(from[0], from[1], from[2], from[3]);
    }
}

HcStatus hc_integers_split(HcQueue *queue, const HcGramJob *job, int64_t first, int64_t tiles,
                           const HcExact *to, int64_t limit, HcError *err) {
    dim3 grid((unsigned)tiles, (unsigned)(to->padded / HC_TILE_BANDS));
    HcFault *fault = queue->fault_device;
    switch (job->kind) {
    case HC_DIFFERENCE_NONE:
        split<HC_DIFFERENCE_NONE><<<grid, SPLIT_THREADS, 0, queue->stream>>>(*job, first, limit, *to, fault);
        break;
    case HC_DIFFERENCE_MEAN3X3:
        split<HC_DIFFERENCE_MEAN3X3>
            <<<grid, SPLIT_THREADS, 0, queue->stream>>>(*job, first, limit, *to, fault);
        break;
    case HC_DIFFERENCE_MEDIAN3X3:
        split<HC_DIFFERENCE_MEDIAN3X3>
            <<<grid, SPLIT_THREADS, 0, queue->stream>>>(*job, first, limit, *to, fault);
        break;
    case HC_DIFFERENCE_SHIFT:
        split<HC_DIFFERENCE_SHIFT><<<grid, SPLIT_THREADS, 0, queue->stream>>>(*job, first, limit, *to, fault);
        break;
    case HC_DIFFERENCE_SHIFT_DIAGONAL:
        split<HC_DIFFERENCE_SHIFT_DIAGONAL>
            <<<grid, SPLIT_THREADS, 0, queue->stream>>>(*job, first, limit, *to, fault);
        break;
    }
    return hc_gpu_launched("taking values apart", err);
}
