/* y = A x for rows of any length, where there are more than a few: a block has groups of rows, some for each
 * warp, and the same columns of all at a time, so that x comes from the nearest cache. Blocks share all
 * groups evenly. A warp reads the next values as soon as it has added others, also those of the next group,
 * so that memory is busy while sums meet. */
#include "gpu/l1/gemv.cuh"
#include "gpu/shared.cuh"

namespace {

enum {
    THREADS = HC_GEMV_THREADS,
    WARPS = HC_GEMV_WARPS,
    PIECE = HC_GEMV_PIECE,
    STRIDE = 32 * PIECE, /* values of a step: of a row, that a warp reads at once */
    ROWS = 4, /* of a warp in a group, WARPS apart: these begin equally far after an aligned address */
    GROUP = ROWS * WARPS,
    PACKS = 2,  /* steps that are read at once, and added at once; twice as many are on their way */
    BLOCKS = 2, /* of a processor */
    EARLY = 8,  /* steps that are fetched early */
    FEW = 8     /* parts of a sum that are read at once while values are on their way */
};

/* Where a block is, and its part of the group. Places of a row count from an aligned address, `shift` values
 * before it. */
struct Place {
    int32_t group, step;
    int32_t first, end; /* steps of the group that the block takes */
    int32_t left;       /* steps that it takes of later groups */
    int32_t rows;       /* of the warp */
    const float *a;     /* place 0 of its first row */
};

/* The rows of the warp in place.group. */
template <typename X> __device__ inline void find_rows(const HcGemvJob<X> &job, int32_t shift, Place &place) {
    int64_t row = (int64_t)place.group * GROUP + threadIdx.x / 32;
    int64_t left = (job.rows - row + WARPS - 1) / WARPS;
    place.rows = left < 0 ? 0 : left < ROWS ? (int32_t)left : ROWS;
    place.a = job.a + row * job.columns - shift;
}

/* What each warp reads first. */
template <typename X> __device__ inline void fetch_early(const HcGemvJob<X> &job, const Place &place) {
    int32_t steps = place.end - place.first < EARLY ? place.end - place.first : EARLY;
    int64_t at = (int64_t)place.first * STRIDE;
    int64_t count = steps * STRIDE < job.columns - at ? steps * STRIDE : job.columns - at;
    for (int32_t i = 0; i < ROWS; i++) {
        int64_t row = (int64_t)place.group * GROUP + i * WARPS + threadIdx.x / 32;
        hc_fetch_early(job.a + row * job.columns + at, row < job.rows ? count : 0, (int32_t)threadIdx.x % 32,
                       32);
    }
}

/* PACKS steps from `step` on; what is not of the row, or of the part of the block, is 0. */
template <bool EVEN, typename X>
__device__ inline void load_steps(const HcGemvJob<X> &job, int32_t shift, const Place &place, int32_t step,
                                  float values[ROWS][PACKS][PIECE]) {
    uint32_t begin = (uint32_t)step * STRIDE;
    uint32_t last = (uint32_t)(job.columns + shift);
    int32_t lane = (int32_t)threadIdx.x % 32 * PIECE;
    const float *a = place.a + begin + lane;
    if (begin >= (uint32_t)shift && step + PACKS <= place.end && begin + PACKS * STRIDE <= last &&
        place.rows == ROWS) {
#pragma unroll
        for (int i = 0; i < ROWS; i++, a += WARPS * job.columns) {
#pragma unroll
            for (int p = 0; p < PACKS; p++) {
                hc_load_once<PIECE>(values[i][p], a + p * STRIDE);
            }
        }
        return;
    }
    last = min(last, (uint32_t)place.end * STRIDE);
#pragma unroll
    for (int i = 0; i < ROWS; i++, a += WARPS * job.columns) {
#pragma unroll
        for (int p = 0; p < PACKS; p++) {
            uint32_t at = begin + lane + p * STRIDE;
            if (i < place.rows && at >= (uint32_t)shift && at + PIECE <= last) {
                hc_load_once<PIECE>(values[i][p], a + p * STRIDE);
                continue;
            }
#pragma unroll
            for (int v = 0; v < PIECE; v++) {
                bool there = !EVEN && i < place.rows && at + v >= (uint32_t)shift && at + v < last;
                values[i][p][v] = there ? a[p * STRIDE + v] : 0;
            }
        }
    }
}

/* Their products with x are added. The part of the block ends with step `end` - 1. */
template <bool EVEN, typename X>
__device__ inline void add_steps(const HcGemvJob<X> &job, int32_t shift, int32_t step, int32_t end,
                                 const float values[ROWS][PACKS][PIECE], double sums[ROWS]) {
    int32_t lane = (int32_t)threadIdx.x % 32 * PIECE;
    uint32_t column =
        (uint32_t)step * STRIDE + lane - shift; /* beyond all columns where it would be below 0 */
    uint32_t last = min((uint32_t)job.columns, (uint32_t)end * STRIDE - shift);
    const X *x = job.x + (int64_t)step * STRIDE + lane - shift;
#pragma unroll
    for (int p = 0; p < PACKS; p++) {
        X factors[PIECE];
        if (EVEN && column + p * STRIDE < last) {
            hc_load<PIECE>(factors, x + p * STRIDE);
        } else {
#pragma unroll
            for (int v = 0; v < PIECE; v++) {
                bool there = !EVEN && column + p * STRIDE + v < last;
                factors[v] = there ? __ldg(x + p * STRIDE + v) : 0;
            }
        }
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
#pragma unroll
            for (int v = 0; v < PIECE; v++) {
                sums[i] = fma((double)values[i][p][v], (double)factors[v], sums[i]);
            }
        }
    }
}

/* Rounds the sums of a group, or of the part that the block has; they begin anew. */
template <int AT_ONCE, typename X>
__device__ inline void end_group(const HcGemvJob<X> &job, int32_t group, bool is_whole, double (&sums)[ROWS],
                                 double shared[GROUP]) {
    int32_t thread = (int32_t)threadIdx.x;
    int32_t lane = thread % 32;
    int32_t own = lane * WARPS + thread / 32; /* row of the group */
    int64_t first = (int64_t)group * GROUP;
    double sum = hc_sum_for_lanes<ROWS, 32>(sums, lane);
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        sums[i] = 0;
    }
    if (is_whole) {
        if (lane < ROWS && first + own < job.rows) {
            hc_put(job.out, first + own, sum);
        }
        return;
    }
    __syncthreads();
    if (lane < ROWS) {
        shared[own] = sum;
    }
    __syncthreads();
    sum = thread < GROUP ? shared[thread] : 0;
    if (hc_gather<AT_ONCE>(job.shares, group, sum) && thread < GROUP && first + thread < job.rows) {
        hc_put(job.out, first + thread, sum);
    }
}

template <bool EVEN, typename X>
__global__ void __launch_bounds__(THREADS, BLOCKS) multiply_groups(HcGemvJob<X> job) {
    __shared__ double shared[GROUP];
    int32_t steps = (int32_t)job.shares.steps;
    int64_t begin = hc_first_step(job.shares, blockIdx.x);
    Place place;
    place.left = (int32_t)(hc_first_step(job.shares, blockIdx.x + 1) - begin);
    place.group = (int32_t)(begin / steps);
    place.first = (int32_t)(begin - (int64_t)place.group * steps);
    place.step = place.first;
    place.end = min(steps, place.first + place.left);
    place.left -= place.end - place.first;
    fetch_early(job, place);
    if (!hc_begin(job.stopped)) {
        return;
    }
    int32_t shift = EVEN ? 0 : hc_shift_of(job.a + threadIdx.x / 32 * job.columns);
    double sums[ROWS] = {};
    float one[ROWS][PACKS][PIECE];
    float other[ROWS][PACKS][PIECE];
    find_rows(job, shift, place);
    load_steps<EVEN>(job, shift, place, place.step, one);
    load_steps<EVEN>(job, shift, place, place.step + PACKS, other);
    while (true) {
        const Place was = place;
        bool is_whole = was.end - was.first == steps;
        place.step += 2 * PACKS;
        if (place.step >= place.end) {
            place.group++;
            place.first = 0;
            place.step = 0;
            place.end = min(steps, place.left);
            place.left -= place.end;
            find_rows(job, shift, place);
        }
        bool is_last = place.end == 0;
        add_steps<EVEN>(job, shift, was.step, was.end, one, sums);
        if (!is_last) {
            load_steps<EVEN>(job, shift, place, place.step, one);
        }
        add_steps<EVEN>(job, shift, was.step + PACKS, was.end, other, sums);
        if (is_last) {
            end_group<HC_GEMV_FAN>(job, was.group, is_whole, sums, shared);
            break;
        }
        load_steps<EVEN>(job, shift, place, place.step + PACKS, other);
        if (place.group != was.group) {
            end_group<FEW>(job, was.group, is_whole, sums, shared);
        }
    }
}

} // namespace

template <typename X> HcStatus hc_gpu_multiply_groups(HcQueue *queue, HcGemvJob<X> job, HcError *err) {
    bool even = (uintptr_t)job.a % 16 == 0 && (uintptr_t)job.x % 16 == 0 && job.columns % PIECE == 0;
    int64_t places = job.columns + (even ? 0 : PIECE - 1);
    HC_OR_RETURN(hc_gpu_plan_shares(queue, hc_div_up(job.rows, GROUP), hc_div_up(places, STRIDE),
                                    BLOCKS * (int64_t)queue->gpu->processors, GROUP, &job.shares, err));
    return hc_launch(queue, even ? multiply_groups<true, X> : multiply_groups<false, X>, job.shares.blocks,
                     job, err);
}

template HcStatus hc_gpu_multiply_groups(HcQueue *queue, HcGemvJob<float> job, HcError *err);
template HcStatus hc_gpu_multiply_groups(HcQueue *queue, HcGemvJob<double> job, HcError *err);
