/* Nearest training spectra: candidates by products on the matrix units, survivors by exact distances.
 *
 * With x' and t' about the centre of the training spectra, s = x' t' - |t'|^2 / 2 is larger the nearer t is,
 * and (|x'|^2 - |x - t|^2) / 2 exactly. Each factor is written as two halves, v = high + low, and high high +
 * high low + low high are summed in float32. Whoever is among the k nearest has an s of at least the k-th
 * largest less twice the bound of the error, error_of() below; all those get their exact distance. Where the
 * bound does not do, or too many remain, a pixel is compared with every training spectrum. (Tiles of
 * distances that are never written, with a running list of the best: the paper, section 3.) For angles, x and
 * t are spectra of unit length: |x - t|^2 = 2 - 2 cosine. */
#include "core/operation/knn.h"
#include "gpu/internal.cuh"
#include "gpu/shared.cuh"

#include <cuda_fp16.h>
#include <float.h>
#include <math.h>
#include <new>
#include <stdlib.h>

HcTrainingOpenFn hc_gpu_training_open;
HcTrainingCloseFn hc_gpu_training_close;
HcKnnFn hc_gpu_knn;

namespace {

enum {
    QUERIES = 128, /* of a thread block */
    TILE = 128,    /* training spectra that are compared at once */
    STEP = 32,     /* bands between two barriers: both halves of them are 128 bytes */
    ROW_BYTES = 2 * STEP * 2,
    THREADS = 256,
    WARPS = THREADS / 32,
    MOST = 384, /* candidates of a pixel */
    KEPT = MOST - TILE,
    PER_LANE = MOST / 32,
    STAGE_BYTES = (QUERIES + TILE) * ROW_BYTES
};

struct Candidate {
    float similarity;
    int32_t number;
};

} // namespace

struct HcTraining {
    HcTrainingHead head;
    HcGpu *gpu;
    int64_t count, tiles;
    int32_t bands, steps; /* of STEP bands */
    HcMetric metric;
    double scale;   /* a power of two that brings the longest t' to 16 .. 32 */
    double longest; /* of t', scaled */
    double rounded; /* what the rounding of cosines adds to the bound, scaled */
    HcBuffer memory;
    float *spectra;     /* [device] [count][bands] */
    double *centre;     /* [device] [bands] */
    double *norm;       /* [device] [count], for angles */
    __half *halves;     /* [device] [tiles * TILE][steps][2][STEP]: high and low halves of t' */
    float *half_square; /* [device] [tiles * TILE] |t'|^2 / 2, infinite behind the last */
    /* what is known of a run of pixels: at most `room` at once */
    int64_t room;
    __half *moved;         /* [device] [room][steps][2][STEP] of x' */
    float *slack;          /* [device] [room] twice the bound, scaled; infinite: compare with all */
    int32_t *found;        /* [device] [room] candidates, -1 = compare with all */
    Candidate *candidates; /* [device] [room][MOST] */
    int32_t *left;         /* [device] [room] pixels that are compared with all */
    int32_t *left_count;   /* [device] */
};

namespace {

/* ---- training ---- */

/* The bound of the error of a similarity, scaled, for spectra of `bands` bands (padded), |x'| and |t'|:
 *  - two halves leave 2^-22 of a value, and low low is left out: 4 * 2^-22 |x'| |t'|;
 *  - 3 `bands` products, exact in float32, are summed; each addition may lose 2^-23 of the sum of magnitudes
 *    so far, which is at most |x'| |t'| (matrix units align and truncate, and keep more: Fasi, Higham,
 *    Mikaitis, Pranesh 2021);
 *  - halves below 2^-14 are spaced by 2^-24: 2^-25 a value;
 *  - |t'|^2 / 2 and the difference are rounded: 2^-23 of them;
 *  - the exact distance is itself rounded in float64; `rounded` for cosines. */
__device__ inline double error_of(double bands, double x, double t, double rounded) {
    const double unit = 1.0 / (1 << 23);
    double product = (3 * bands + 16) * unit * x * t;
    double small = sqrt(bands) * (x + t) * unit;
    double rest = 4 * unit * (t * t + x * t) + 1e-15 * bands * (x + t) * (x + t);
    return 1.01 * (product + small + rest + rounded);
}

__device__ inline void split_half(double value, __half *high, __half *low) {
    *high = __double2half(value);
    *low = __double2half(value - (double)__half2float(*high));
}

/* One warp a spectrum: x -> (x / |x|) - centre, scaled, as halves. Returns |x'|, or infinity where halves do
 * not do; *plain is |x| for angles. */
__device__ double move_spectrum(const float *x, int32_t bands, int32_t steps, HcMetric metric,
                                const double *centre, double scale, __half *to, double *plain) {
    const int32_t lane = threadIdx.x % 32;
    double length = 1;
    if (metric == HC_METRIC_ANGLE) {
        double sum = 0;
        for (int32_t b = lane; b < bands; b += 32) {
            sum += (double)x[b] * (double)x[b];
        }
        for (int32_t d = 16; d > 0; d /= 2) {
            sum += __shfl_xor_sync(0xFFFFFFFFU, sum, d);
        }
        length = sqrt(sum);
    }
    *plain = length;
    double sum = 0;
    double largest = 0;
    for (int32_t b = lane; b < steps * STEP; b += 32) {
        double value = 0;
        if (b < bands) {
            double unit = metric == HC_METRIC_ANGLE ? (length > 0 ? (double)x[b] / length : 0) : (double)x[b];
            value = (unit - centre[b]) * scale;
        }
        sum += value * value;
        largest = fmax(largest, fabs(value));
        __half *at = to + b / STEP * 2 * STEP + b % STEP;
        split_half(value, at, at + STEP);
    }
    for (int32_t d = 16; d > 0; d /= 2) {
        sum += __shfl_xor_sync(0xFFFFFFFFU, sum, d);
        largest = fmax(largest, __shfl_xor_sync(0xFFFFFFFFU, largest, d));
    }
    return largest < 60000 ? sqrt(sum) * (1 + 1e-12) : (double)INFINITY;
}

/* The norm as the distance has it: summed in the order of the bands. */
__device__ inline double exact_norm(const float *x, int32_t bands) {
    double sum = 0;
    for (int32_t b = 0; b < bands; b++) {
        sum += (double)x[b] * (double)x[b];
    }
    return sqrt(sum);
}

__global__ void move_training(HcTraining training) {
    const int64_t j = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32;
    if (j >= training.tiles * TILE) {
        return;
    }
    __half *to = training.halves + j * training.steps * 2 * STEP;
    if (j >= training.count) {
        for (int32_t b = threadIdx.x % 32; b < training.steps * 2 * STEP; b += 32) {
            to[b] = __float2half(0);
        }
        if (threadIdx.x % 32 == 0) {
            training.half_square[j] = INFINITY;
        }
        return;
    }
    const float *x = training.spectra + j * training.bands;
    double plain = 1;
    double length = move_spectrum(x, training.bands, training.steps, training.metric, training.centre,
                                  training.scale, to, &plain);
    if (threadIdx.x % 32 == 0) {
        /* A spectrum of zeros has the cosine 0, as if it were 2 away and not 1. */
        double beyond = plain > 0 ? 0 : training.scale * training.scale;
        training.half_square[j] = (float)((length * length + beyond) / 2);
        if (training.metric == HC_METRIC_ANGLE) {
            training.norm[j] = exact_norm(x, training.bands);
        }
    }
}

/* ---- pixels ---- */

/* Interior pixels of a block, from `first` on. */
struct Run {
    const float *data;
    const uint8_t *mask;
    int64_t count;
    int32_t k;
    int32_t *index;
    double *distance;
};

__global__ void move_pixels(HcTraining training, Run run) {
    const int64_t q = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32;
    if (q >= (run.count + QUERIES - 1) / QUERIES * QUERIES) {
        return;
    }
    __half *to = training.moved + q * training.steps * 2 * STEP;
    const bool there = q < run.count && run.mask[q] != 0;
    float slack = -1; /* nothing is looked for */
    if (there) {
        double plain = 1;
        double length = move_spectrum(run.data + q * training.bands, training.bands, training.steps,
                                      training.metric, training.centre, training.scale, to, &plain);
        double error = error_of(training.steps * STEP, length, training.longest, training.rounded);
        slack = plain > 0 && error < 1e30 ? (float)(2 * error * (1 + 1e-6)) : INFINITY;
    }
    if (!there || isinf(slack)) {
        for (int32_t b = threadIdx.x % 32; b < training.steps * 2 * STEP; b += 32) {
            to[b] = __float2half(0);
        }
    }
    if (threadIdx.x % 32 == 0) {
        training.slack[q] = slack;
    }
}

/* ---- candidates ---- */

/* sum[16][8] += a[16][16] b[8][16]'. */
__device__ inline void multiply(float sum[4], const uint32_t a[4], const uint32_t *b) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    for (int half = 0; half < 2; half++) {
        asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
            : "r"(a[2 * half]), "r"(a[2 * half + 1]), "r"(b[half]));
    }
#endif
}

/* Where 16 bytes of a row of 128 lie: moved about so that eight rows are in all banks. */
__device__ inline int32_t place(int32_t row, int32_t chunk) {
    return row * ROW_BYTES + ((chunk ^ (row & 7)) * 16);
}

/* What a thread copies: 16 bytes of every 32nd row of both factors. */
struct Copies {
    const char *queries, *training;
    int64_t row_bytes; /* of a spectrum */
    int32_t to;        /* the first row's place */

    __device__ Copies(const HcTraining &known, int64_t query0) {
        const int32_t row = threadIdx.x / 8;
        const int32_t chunk = threadIdx.x % 8;
        row_bytes = (int64_t)known.steps * ROW_BYTES;
        queries = (const char *)known.moved + (query0 + row) * row_bytes + chunk * 16;
        training = (const char *)known.halves + row * row_bytes + chunk * 16;
        to = place(row, chunk);
    }

    /* A step of both: [queries, then training][ROW_BYTES]. */
    __device__ void load(int64_t tile, int32_t step, char *stage) const {
        const char *q = queries + step * ROW_BYTES;
        const char *t = training + tile * TILE * row_bytes + step * ROW_BYTES;
#pragma unroll
        for (int32_t i = 0; i < QUERIES / 32; i++) {
            hc_copy_16(stage + to + i * 32 * ROW_BYTES, q + i * 32 * row_bytes);
        }
#pragma unroll
        for (int32_t i = 0; i < TILE / 32; i++) {
            hc_copy_16(stage + to + (QUERIES + i * 32) * ROW_BYTES, t + i * 32 * row_bytes);
        }
    }
};

/* A warp's 64 queries x 32 training spectra. */
__device__ inline void multiply_step(const char *stage, int32_t row0, int32_t column0, float acc[4][4][4]) {
    const int32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int32_t k = 0; k < STEP / 16; k++) {
        uint32_t a[2][4][4]; /* high, low */
        uint32_t b[2][2][4];
#pragma unroll
        for (int32_t part = 0; part < 2; part++) {
            const int32_t chunk = part * 4 + k * 2;
#pragma unroll
            for (int32_t m = 0; m < 4; m++) {
                hc_load_matrices(a[part][m], stage + place(row0 + m * 16 + lane % 16, chunk + lane / 16));
            }
#pragma unroll
            for (int32_t n = 0; n < 2; n++) {
                hc_load_matrices(b[part][n],
                                 stage + place(QUERIES + column0 + n * 16 + lane / 16 * 8 + lane % 8,
                                               chunk + lane / 8 % 2));
            }
        }
        /* high high, high low, low high: each sum waits for the last, so the others come in between */
#pragma unroll
        for (int32_t product = 0; product < 3; product++) {
#pragma unroll
            for (int32_t m = 0; m < 4; m++) {
#pragma unroll
                for (int32_t n = 0; n < 4; n++) {
                    multiply(acc[m][n], a[product == 2][m], b[product == 1][n / 2] + n % 2 * 2);
                }
            }
        }
    }
}

/* Floats as integers in the same order. */
__device__ inline int32_t ordered(float value) {
    int32_t bits = __float_as_int(value);
    return bits >= 0 ? bits : bits ^ 0x7FFFFFFF;
}

__device__ inline int32_t sum_of_warp(int32_t value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xFFFFFFFFU, value);
#else
    for (int32_t d = 16; d > 0; d /= 2) {
        value += __shfl_xor_sync(0xFFFFFFFFU, value, d);
    }
    return value;
#endif
}

__device__ inline int32_t largest_of_warp(int32_t value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(0xFFFFFFFFU, value);
#else
    for (int32_t d = 16; d > 0; d /= 2) {
        value = max(value, __shfl_xor_sync(0xFFFFFFFFU, value, d));
    }
    return value;
#endif
}

/* The k-th largest of a warp's keys, PER_LANE a lane, bit by bit: the largest threshold that k reach. */
__device__ int32_t kth_by_bits(const int32_t key[PER_LANE], int32_t k) {
    int32_t low = INT32_MIN;
    for (int32_t bit = 31; bit >= 0; bit--) {
        const int32_t higher = (int32_t)((uint32_t)low + (1U << bit));
        int32_t count = 0;
#pragma unroll
        for (int32_t i = 0; i < PER_LANE; i++) {
            count += key[i] >= higher;
        }
        low = sum_of_warp(count) >= k ? higher : low;
    }
    return low;
}

/* The same one after another, for small k. */
__device__ int32_t kth_by_turns(const int32_t from[PER_LANE], int32_t k) {
    int32_t key[PER_LANE];
#pragma unroll
    for (int32_t i = 0; i < PER_LANE; i++) {
        key[i] = from[i];
    }
    for (int32_t n = 1;; n++) {
        int32_t best = INT32_MIN;
#pragma unroll
        for (int32_t i = 0; i < PER_LANE; i++) {
            best = max(best, key[i]);
        }
        const int32_t top = largest_of_warp(best);
        if (n == k) {
            return top;
        }
        const uint32_t holders = __ballot_sync(0xFFFFFFFFU, best == top);
        bool takes = (int32_t)threadIdx.x % 32 == __ffs((int)holders) - 1;
#pragma unroll
        for (int32_t i = 0; i < PER_LANE; i++) {
            const bool this_one = takes && key[i] == top;
            key[i] = this_one ? INT32_MIN : key[i];
            takes = takes && !this_one;
        }
    }
}

/* The k-th largest of a warp's values; those that are not there are -infinity. */
__device__ inline float kth_largest(const float value[PER_LANE], int32_t k) {
    int32_t key[PER_LANE];
#pragma unroll
    for (int32_t i = 0; i < PER_LANE; i++) {
        key[i] = ordered(value[i]);
    }
    const int32_t kth = k <= 24 ? kth_by_turns(key, k) : kth_by_bits(key, k);
    return __int_as_float(kth >= 0 ? kth : kth ^ 0x7FFFFFFF);
}

struct Shared {
    float threshold[QUERIES], slack[QUERIES];
    int32_t found[QUERIES];
    float half_square[TILE];
};

/* One warp: drops the candidates of a query that cannot be among the k nearest. */
__device__ void prune(const HcTraining &training, int64_t query0, int32_t row, int32_t k, Shared *shared) {
    Candidate *list = training.candidates + (query0 + row) * MOST;
    const int32_t lane = threadIdx.x % 32;
    const int32_t found = shared->found[row];
    if (found < k || found > MOST) {
        return;
    }
    Candidate mine[PER_LANE];
    float value[PER_LANE];
#pragma unroll
    for (int32_t i = 0; i < PER_LANE; i++) {
        mine[i] = i * 32 + lane < found ? list[i * 32 + lane] : Candidate{-INFINITY, -1};
        value[i] = mine[i].similarity;
    }
    const float least = kth_largest(value, k) - shared->slack[row];
    int32_t kept = 0;
    __syncwarp();
#pragma unroll
    for (int32_t i = 0; i < PER_LANE; i++) {
        const bool stays = mine[i].number >= 0 && value[i] >= least;
        const uint32_t all = __ballot_sync(0xFFFFFFFFU, stays);
        if (stays) {
            list[kept + __popc(all & ((1U << lane) - 1))] = mine[i];
        }
        kept += __popc(all);
    }
    __syncwarp();
    if (lane == 0) {
        const bool too_many = kept > KEPT;
        shared->found[row] = too_many ? MOST + 1 : kept;
        shared->threshold[row] = too_many ? INFINITY : least;
    }
}

/* Puts what reaches the thresholds into the lists. */
__device__ inline void collect(const HcTraining &training, int64_t query0, int64_t tile, int32_t row0,
                               int32_t column0, const float acc[4][4][4], Shared *shared) {
    const int32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int32_t m = 0; m < 4; m++) {
#pragma unroll
        for (int32_t half = 0; half < 2; half++) {
            const int32_t row = row0 + m * 16 + half * 8 + lane / 4;
            const float least = shared->threshold[row];
#pragma unroll
            for (int32_t n = 0; n < 4; n++) {
#pragma unroll
                for (int32_t c = 0; c < 2; c++) {
                    const int32_t column = column0 + n * 8 + lane % 4 * 2 + c;
                    const float similarity = acc[m][n][half * 2 + c] - shared->half_square[column];
                    if (similarity >= least && similarity > -INFINITY) {
                        const int32_t at = atomicAdd(&shared->found[row], 1);
                        if (at < MOST) {
                            training.candidates[(query0 + row) * MOST + at] = {
                                similarity, (int32_t)(tile * TILE + column)};
                        }
                    }
                }
            }
        }
    }
}

template <int STAGES>
__global__ void __launch_bounds__(THREADS, 2) find_candidates(HcTraining training, int32_t k) {
    extern __shared__ __align__(128) char stages[];
    __shared__ Shared shared;
    const int64_t query0 = blockIdx.x * (int64_t)QUERIES;
    const int32_t warp = threadIdx.x / 32;
    const int32_t row0 = warp / 4 * 64;
    const int32_t column0 = warp % 4 * 32;
    const Copies copies(training, query0);
    if (threadIdx.x < QUERIES) {
        const float slack = training.slack[query0 + threadIdx.x];
        shared.slack[threadIdx.x] = slack;
        shared.threshold[threadIdx.x] = slack < 0 || isinf(slack) ? INFINITY : -INFINITY;
        shared.found[threadIdx.x] = isinf(slack) ? MOST + 1 : 0;
    }
    int64_t next_tile = 0; /* what is loaded next, and to where */
    int32_t next_step = 0;
    int32_t next_stage = 0;
    auto load = [&]() {
        if (next_tile < training.tiles) {
            copies.load(next_tile, next_step, stages + next_stage * STAGE_BYTES);
            next_stage = next_stage + 1 < STAGES ? next_stage + 1 : 0;
            if (++next_step == training.steps) {
                next_step = 0;
                next_tile++;
            }
        }
        hc_copies_end();
    };
    int32_t stage = 0;
#pragma unroll
    for (int32_t s = 0; s < STAGES - 1; s++) {
        load();
    }
    for (int64_t tile = 0; tile < training.tiles; tile++) {
        float acc[4][4][4] = {};
        for (int32_t s = 0; s < training.steps; s++) {
            if (STAGES == 1) {
                __syncthreads();
                load();
            }
            hc_copies_wait<STAGES == 1 ? 0 : STAGES - 2>();
            __syncthreads();
            if (STAGES > 1) {
                load();
            }
            multiply_step(stages + stage * STAGE_BYTES, row0, column0, acc);
            stage = stage + 1 < STAGES ? stage + 1 : 0;
        }
        if (threadIdx.x < TILE) {
            shared.half_square[threadIdx.x] = training.half_square[tile * TILE + threadIdx.x];
        }
        __syncthreads();
        collect(training, query0, tile, row0, column0, acc, &shared);
        __syncthreads();
        /* After 1, 2, 4, 8 ... tiles, for thresholds that bite soon, and where a list may overflow. */
        const bool all = (tile & (tile + 1)) == 0 || tile + 1 == training.tiles;
        const int32_t lane = threadIdx.x % 32;
        const int32_t first_row = warp * (QUERIES / WARPS);
        uint32_t due = __ballot_sync(0xFFFFFFFFU,
                                     lane < QUERIES / WARPS &&
                                         (all || shared.found[first_row + lane % (QUERIES / WARPS)] > KEPT));
        for (; due != 0; due &= due - 1) {
            prune(training, query0, first_row + __ffs((int)due) - 1, k, &shared);
        }
        __syncthreads();
    }
    if (threadIdx.x < QUERIES) {
        const int32_t found = shared.found[threadIdx.x];
        training.found[query0 + threadIdx.x] = found > MOST ? -1 : found;
    }
}

/* ---- exact distances ---- */

__device__ inline double exact_distance(const HcTraining &training, const float *x, double norm, int64_t j) {
    const float *t = training.spectra + j * training.bands;
    double sum = 0;
    if (training.metric == HC_METRIC_EUCLIDEAN) {
        for (int32_t b = 0; b < training.bands; b++) {
            double difference = (double)x[b] - (double)t[b];
            sum += difference * difference;
        }
        return sum;
    }
    for (int32_t b = 0; b < training.bands; b++) {
        sum += (double)x[b] * (double)t[b];
    }
    double lengths = norm * training.norm[j];
    return lengths > 0 ? -sum / lengths : 0;
}

__device__ inline bool nearer(double a, int32_t i, double b, int32_t j) {
    return a < b || (a == b && i < j);
}

/* The nearest of a warp's; number -1 = none. */
__device__ inline void nearest_of_warp(double *distance, int32_t *number) {
    for (int32_t d = 16; d > 0; d /= 2) {
        double other = __shfl_xor_sync(0xFFFFFFFFU, *distance, d);
        int32_t its = __shfl_xor_sync(0xFFFFFFFFU, *number, d);
        if (its >= 0 && (*number < 0 || nearer(other, its, *distance, *number))) {
            *distance = other;
            *number = its;
        }
    }
}

/* One warp a pixel. */
__global__ void __launch_bounds__(THREADS) choose(HcTraining training, Run run) {
    const int64_t q = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32;
    const int32_t lane = threadIdx.x % 32;
    if (q >= run.count) {
        return;
    }
    int32_t *index = run.index + q * run.k;
    double *distance = run.distance + q * run.k;
    if (run.mask[q] == 0) {
        for (int32_t n = lane; n < run.k; n += 32) {
            index[n] = -1;
            distance[n] = INFINITY;
        }
        return;
    }
    const float *x = run.data + q * training.bands;
    const int32_t found = training.found[q];
    if (found < 0) {
        return; /* choose_from_all() */
    }
    double norm = training.metric == HC_METRIC_ANGLE ? exact_norm(x, training.bands) : 0;
    double mine[PER_LANE];
    int32_t number[PER_LANE];
#pragma unroll
    for (int32_t i = 0; i < PER_LANE; i++) {
        number[i] = -1;
        mine[i] = 0;
        if (i * 32 + lane < found) {
            number[i] = training.candidates[q * MOST + i * 32 + lane].number;
            mine[i] = exact_distance(training, x, norm, number[i]);
        }
    }
    for (int32_t n = 0; n < run.k; n++) {
        double best = 0;
        int32_t which = -1;
#pragma unroll
        for (int32_t i = 0; i < PER_LANE; i++) {
            if (number[i] >= 0 && (which < 0 || nearer(mine[i], number[i], best, which))) {
                best = mine[i];
                which = number[i];
            }
        }
        nearest_of_warp(&best, &which);
#pragma unroll
        for (int32_t i = 0; i < PER_LANE; i++) {
            number[i] = number[i] == which ? -1 : number[i];
        }
        if (lane == 0) {
            index[n] = which;
            distance[n] = best;
        }
    }
}

/* Pixels that are compared with every training spectrum: some at a time, so that each spectrum is fetched
 * once for all of them. Distances are summed in the order of the bands by one thread each. */
enum { EXACT = 64, BANDS = 16, LISTED = 192 };

struct Listed {
    double distance;
    int32_t number;
};

struct ExactShared {
    float x[EXACT][BANDS + 1], t[EXACT][BANDS + 1];
    double norm[EXACT], least[EXACT];
    int64_t pixel[EXACT];
    int32_t found[EXACT];
    bool full[EXACT]; /* k are listed: only nearer ones count, since later ones lose ties */
};

/* Lists the pixels that choose() left. */
__global__ void list_left(HcTraining training, Run run) {
    const int64_t q = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (q < run.count && run.mask[q] != 0 && training.found[q] < 0) {
        training.left[atomicAdd(training.left_count, 1)] = (int32_t)q;
    }
}

/* One warp: the k nearest of a list, nearest first, in its place. */
__device__ void sort_list(Listed *list, int32_t found, int32_t k) {
    enum { EACH = LISTED / 32 };
    const int32_t lane = threadIdx.x % 32;
    Listed mine[EACH];
#pragma unroll
    for (int32_t i = 0; i < EACH; i++) {
        mine[i] = i * 32 + lane < found ? list[i * 32 + lane] : Listed{0, -1};
    }
    __syncwarp();
    for (int32_t n = 0; n < k && n < found; n++) {
        double best = 0;
        int32_t which = -1;
#pragma unroll
        for (int32_t i = 0; i < EACH; i++) {
            if (mine[i].number >= 0 && (which < 0 || nearer(mine[i].distance, mine[i].number, best, which))) {
                best = mine[i].distance;
                which = mine[i].number;
            }
        }
        nearest_of_warp(&best, &which);
#pragma unroll
        for (int32_t i = 0; i < EACH; i++) {
            mine[i].number = mine[i].number == which ? -1 : mine[i].number;
        }
        if (lane == 0) {
            list[n] = {best, which};
        }
    }
    __syncwarp();
}

/* The distances of 64 pixels from 64 training spectra: thread (y, x) has pixels y + 16 i, spectra x + 16 j.
 */
__device__ inline void sum_exact(const HcTraining &training, const Run &run, int64_t tile0,
                                 ExactShared *shared, double sum[4][4]) {
    const bool angle = training.metric == HC_METRIC_ANGLE;
    const int32_t x = threadIdx.x % 16;
    const int32_t y = threadIdx.x / 16;
    for (int32_t band0 = 0; band0 < training.bands; band0 += BANDS) {
        __syncthreads();
        for (int32_t i = threadIdx.x; i < EXACT * BANDS; i += THREADS) {
            const int32_t row = i / BANDS;
            const int32_t band = band0 + i % BANDS;
            const int64_t j = tile0 + row;
            const int64_t q = shared->pixel[row];
            const bool inside = band < training.bands;
            shared->x[row][i % BANDS] = inside && q >= 0 ? run.data[q * training.bands + band] : 0.0F;
            shared->t[row][i % BANDS] =
                inside && j < training.count ? training.spectra[j * training.bands + band] : 0.0F;
        }
        __syncthreads();
        const int32_t bands = training.bands - band0 < BANDS ? training.bands - band0 : BANDS;
        for (int32_t b = 0; b < bands; b++) {
            double pixel[4];
            double spectrum[4];
#pragma unroll
            for (int32_t i = 0; i < 4; i++) {
                pixel[i] = (double)shared->x[y + 16 * i][b];
                spectrum[i] = (double)shared->t[x + 16 * i][b];
            }
#pragma unroll
            for (int32_t i = 0; i < 4; i++) {
#pragma unroll
                for (int32_t j = 0; j < 4; j++) {
                    const double factor = angle ? pixel[i] : pixel[i] - spectrum[j];
                    sum[i][j] += factor * (angle ? spectrum[j] : factor);
                }
            }
        }
    }
}

__global__ void __launch_bounds__(THREADS) choose_from_all(HcTraining training, Run run) {
    __shared__ ExactShared shared;
    const int32_t left = *training.left_count;
    const int32_t warp = threadIdx.x / 32;
    for (int32_t first = blockIdx.x * EXACT; first < left; first += gridDim.x * EXACT) {
        __syncthreads();
        if (threadIdx.x < EXACT) {
            const int32_t at = first + (int32_t)threadIdx.x;
            const int64_t q = at < left ? training.left[at] : -1;
            shared.pixel[threadIdx.x] = q;
            shared.found[threadIdx.x] = 0;
            shared.least[threadIdx.x] = -INFINITY;
            shared.full[threadIdx.x] = q < 0;
            shared.norm[threadIdx.x] = q >= 0 && training.metric == HC_METRIC_ANGLE
                                           ? exact_norm(run.data + q * training.bands, training.bands)
                                           : 0;
        }
        __syncthreads();
        for (int64_t tile0 = 0; tile0 < training.count; tile0 += EXACT) {
            double sum[4][4] = {};
            sum_exact(training, run, tile0, &shared, sum);
            for (int32_t i = 0; i < 4; i++) {
                const int32_t row = threadIdx.x / 16 + 16 * i;
                Listed *list = (Listed *)(training.candidates + shared.pixel[row] * MOST);
                for (int32_t j = 0; j < 4; j++) {
                    const int64_t number = tile0 + threadIdx.x % 16 + 16 * j;
                    double distance = sum[i][j];
                    if (training.metric == HC_METRIC_ANGLE && number < training.count) {
                        const double lengths = shared.norm[row] * training.norm[number];
                        distance = lengths > 0 ? -distance / lengths : 0;
                    }
                    if (number < training.count && (!shared.full[row] || distance < shared.least[row])) {
                        list[atomicAdd(&shared.found[row], 1)] = {distance, (int32_t)number};
                    }
                }
            }
            __syncthreads();
            for (int32_t row = warp * (EXACT / WARPS); row < (warp + 1) * (EXACT / WARPS); row++) {
                Listed *list = (Listed *)(training.candidates + shared.pixel[row] * MOST);
                if (shared.found[row] >= run.k) {
                    sort_list(list, shared.found[row], run.k);
                    if (threadIdx.x % 32 == 0) {
                        shared.found[row] = run.k;
                        shared.full[row] = true;
                        shared.least[row] = list[run.k - 1].distance;
                    }
                }
            }
        }
        __syncthreads();
        for (int32_t row = warp * (EXACT / WARPS); row < (warp + 1) * (EXACT / WARPS); row++) {
            const int64_t q = shared.pixel[row];
            const Listed *list = (const Listed *)(training.candidates + q * MOST);
            for (int32_t n = threadIdx.x % 32; n < run.k && q >= 0; n += 32) {
                run.index[q * run.k + n] = list[n].number;
                run.distance[q * run.k + n] = list[n].distance;
            }
        }
    }
}

/* ---- host ---- */

size_t layout(HcTraining *training, char *memory) {
    size_t at = 0;
    size_t count = (size_t)training->count;
    size_t padded = (size_t)training->tiles * TILE;
    size_t row = (size_t)training->steps * ROW_BYTES;
    size_t each = row + sizeof(float) + 2 * sizeof(int32_t) + MOST * sizeof(Candidate);
    /* Whole waves of thread blocks, two on a multiprocessor. */
    int64_t wave = 2 * (int64_t)training->gpu->processors * QUERIES;
    int64_t room = (int64_t)(3 * training->gpu->panel_bytes / 2 / each) / QUERIES * QUERIES;
    room = room > wave ? wave : room;
    training->room = room < QUERIES ? (int64_t)QUERIES : room;
    size_t pixels = (size_t)training->room;
    training->spectra = (float *)hc_take(memory, &at, count * (size_t)training->bands * sizeof(float));
    training->centre = (double *)hc_take(memory, &at, (size_t)training->bands * sizeof(double));
    training->norm = (double *)hc_take(memory, &at, count * sizeof(double));
    training->halves = (__half *)hc_take(memory, &at, padded * row);
    training->half_square = (float *)hc_take(memory, &at, padded * sizeof(float));
    training->moved = (__half *)hc_take(memory, &at, pixels * row);
    training->slack = (float *)hc_take(memory, &at, pixels * sizeof(float));
    training->found = (int32_t *)hc_take(memory, &at, pixels * sizeof(int32_t));
    training->left = (int32_t *)hc_take(memory, &at, pixels * sizeof(int32_t));
    training->left_count = (int32_t *)hc_take(memory, &at, sizeof(int32_t));
    training->candidates = (Candidate *)hc_take(memory, &at, pixels * MOST * sizeof(Candidate));
    return at;
}

double length_of(const float *x, int32_t bands) {
    double sum = 0;
    for (int32_t b = 0; b < bands; b++) {
        sum += (double)x[b] * (double)x[b];
    }
    return sqrt(sum);
}

/* The centre, and how long the spectra are about it; unit spectra for angles. */
void look_at(HcTraining *training, const float *spectra, double *centre) {
    int32_t bands = training->bands;
    bool angle = training->metric == HC_METRIC_ANGLE;
    for (int64_t j = 0; j < training->count; j++) {
        const float *x = spectra + j * bands;
        double length = angle ? length_of(x, bands) : 1;
        for (int32_t b = 0; b < bands && length > 0; b++) {
            centre[b] += (double)x[b] / length / (double)training->count;
        }
    }
    double longest = 0;
    bool zeros = false;
    for (int64_t j = 0; j < training->count; j++) {
        const float *x = spectra + j * bands;
        double length = angle ? length_of(x, bands) : 1;
        double sum = 0;
        zeros = zeros || length == 0;
        for (int32_t b = 0; b < bands; b++) {
            double value = (length > 0 ? (double)x[b] / length : 0) - centre[b];
            sum += value * value;
        }
        longest = fmax(longest, sqrt(sum));
    }
    training->scale = longest > 0 && longest < 1e300 ? ldexp(1.0, 4 - ilogb(longest)) : 1;
    training->longest = longest * training->scale * (1 + 1e-12);
    /* A spectrum of zeros is set apart by half the square of the scale, in float32. */
    double square = training->scale * training->scale;
    training->rounded = angle ? square * (1e-15 * bands + (zeros ? ldexp(1.0, -23) : 0)) : 0;
}

} // namespace

HcStatus hc_gpu_training_open(HcCompute *compute, const float *spectra, int64_t count, int32_t bands,
                              HcMetric metric, HcTraining **out, HcError *err) {
    HcStatus status = HC_OK;
    HcTraining *training = NULL;
    HcQueue *queue = NULL;
    double *centre = NULL;
    *out = NULL;
    training = new (std::nothrow) HcTraining();
    centre = (double *)calloc((size_t)bands, sizeof *centre);
    if (training == NULL || centre == NULL) {
        HC_TRY(hc_fail_memory(err, (double)bands * sizeof *centre, "training spectra"));
    }
    training->gpu = (HcGpu *)compute;
    training->count = count;
    training->tiles = hc_div_up(count, TILE);
    training->bands = bands;
    training->steps = (int32_t)hc_div_up(bands, STEP);
    training->metric = metric;
    look_at(training, spectra, centre);
    HC_TRY(hc_gpu_alloc(compute, HC_MEMORY_DEVICE, layout(training, NULL), &training->memory, err));
    (void)layout(training, (char *)training->memory.data);
    training->gpu->sums_bytes += training->memory.bytes;
    HC_TRY(hc_queue_open(compute, &queue, err));
    HC_TRY(
        hc_upload(queue, spectra, training->spectra, (size_t)count * (size_t)bands * sizeof *spectra, err));
    HC_TRY(hc_upload(queue, centre, training->centre, (size_t)bands * sizeof *centre, err));
    move_training<<<(unsigned)hc_div_up(training->tiles * TILE * 32, THREADS), THREADS, 0, queue->stream>>>(
        *training);
    HC_TRY(hc_gpu_launched("preparing training spectra", err));
    HC_TRY(hc_wait(queue, err));
    *out = training;
done:
    free(centre);
    if (queue != NULL) {
        hc_queue_close(queue);
    }
    if (status != HC_OK) {
        hc_gpu_training_close(training);
    }
    return status;
}

void hc_gpu_training_close(HcTraining *training) {
    if (training != NULL) {
        if (training->gpu != NULL) {
            training->gpu->sums_bytes -= training->memory.bytes;
            hc_gpu_release(&training->gpu->base, &training->memory);
        }
        delete training;
    }
}

template <int STAGES>
static HcStatus launch_find(HcQueue *queue, const HcTraining *training, const Run *run, HcError *err) {
    HcStatus status =
        hc_gpu_check(cudaFuncSetAttribute(find_candidates<STAGES>,
                                          cudaFuncAttributeMaxDynamicSharedMemorySize, STAGES * STAGE_BYTES),
                     "asking for shared memory", err);
    if (status != HC_OK) {
        return status;
    }
    find_candidates<STAGES>
        <<<(unsigned)hc_div_up(run->count, QUERIES), THREADS, STAGES * STAGE_BYTES, queue->stream>>>(
            *training, run->k);
    return hc_gpu_launched("looking for candidates", err);
}

static HcStatus search(HcQueue *queue, const HcTraining *training, const Run *run, HcError *err) {
    unsigned warps = (unsigned)hc_div_up(hc_div_up(run->count, QUERIES) * QUERIES * 32, THREADS);
    move_pixels<<<warps, THREADS, 0, queue->stream>>>(*training, *run);
    HC_OR_RETURN(hc_gpu_launched("preparing pixels", err));
    if (queue->gpu->major < 8) {
        HC_OR_RETURN(launch_find<1>(queue, training, run, err));
    } else if (queue->gpu->shared_memory >= 2 * 3 * (size_t)STAGE_BYTES) {
        HC_OR_RETURN(launch_find<3>(queue, training, run, err));
    } else {
        HC_OR_RETURN(launch_find<2>(queue, training, run, err));
    }
    choose<<<(unsigned)hc_div_up(run->count * 32, THREADS), THREADS, 0, queue->stream>>>(*training, *run);
    HC_OR_RETURN(hc_gpu_launched("choosing neighbours", err));
    HC_OR_RETURN(hc_zero(queue, training->left_count, sizeof(int32_t), err));
    list_left<<<(unsigned)hc_div_up(run->count, THREADS), THREADS, 0, queue->stream>>>(*training, *run);
    HC_OR_RETURN(hc_gpu_launched("listing pixels", err));
    choose_from_all<<<(unsigned)(2 * queue->gpu->processors), THREADS, 0, queue->stream>>>(*training, *run);
    return hc_gpu_launched("choosing neighbours", err);
}

HcStatus hc_gpu_knn(HcQueue *queue, const HcBlock *in, const HcTraining *training, int32_t k, int32_t *index,
                    double *distance, HcError *err) {
    int64_t pixels = 0;
    int64_t above = 0;
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    pixels = (int64_t)in->lines * in->samples;
    above = (int64_t)in->above * in->samples;
    for (int64_t first = 0; first < pixels; first += training->room) {
        Run run = {in->data + (above + first) * in->bands,
                   in->mask + above + first,
                   pixels - first < training->room ? pixels - first : training->room,
                   k,
                   index + first * k,
                   distance + first * k};
        HC_OR_RETURN(search(queue, training, &run, err));
    }
    return HC_OK;
}
