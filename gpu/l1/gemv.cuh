/* Products with one dense matrix on the GPU: what gemv*.cu and l1.cu share. All sums are formed in
 * float64, in an order that the shape, the alignment of the matrix and the number of processors decide. */
#ifndef HC_GPU_L1_GEMV_CUH
#define HC_GPU_L1_GEMV_CUH

#include "core/operation/l1/gemv.h"
#include "gpu/internal.cuh"

HcGemvFn hc_gpu_gemv;
HcGemvFn hc_gpu_gemv_t;

/* Where a product goes: rounded to y, or as it is to sums; the other is NULL. */
struct HcProduct {
    float *y;
    double *sums;
};

/* A x and A'x. stopped [device]: nothing is done where it is not 0; NULL = 0. X is float or double. */
template <typename X>
HcStatus hc_gpu_multiply(HcQueue *queue, const HcMatrix *matrix, const X *x /* [columns] */,
                         HcProduct out /* [rows] */, const int32_t *stopped, HcError *err);
template <typename X>
HcStatus hc_gpu_multiply_back(HcQueue *queue, const HcMatrix *matrix, const X *x /* [rows] */,
                              HcProduct out /* [columns] */, const int32_t *stopped, HcError *err);

/* A matrix of one column, or of one row, as the one of its values in the other direction. */
static inline HcMatrix hc_gpu_turned(const HcMatrix *matrix) {
    return {matrix->data, matrix->columns, matrix->rows};
}

enum {
    HC_GEMV_THREADS = 256,
    HC_GEMV_WARPS = HC_GEMV_THREADS / 32,
    HC_GEMV_PIECE = 4, /* values that are read at once */
    HC_GEMV_FAN = 32,  /* parts that are added at once */
    HC_GEMV_BLOCKS = HC_GEMV_FAN * HC_GEMV_FAN,
    HC_GEMV_LEVELS = 2 /* levels at which parts are added */
};

/* What is summed: tiles of the result, each in the same number of steps. Blocks, all of which run at once,
 * take equal shares of all steps, one tile after the other, so that they end together. The sums of a tile
 * that several blocks share meet in device memory: FAN of them are added by the last of their blocks, and FAN
 * of those sums by the last of these. */
struct HcShares {
    int64_t tiles, steps; /* steps of a tile */
    int32_t blocks;
    int32_t width; /* values of a tile; threads of a block at most */
    /* Where a part lies: the first of a tile by its block in row 0, others in row 1, sums of FAN in row 2. A
     * block ends one tile and begins another at most, so that no two share a place. */
    double *values;     /* [LEVELS + 1][blocks][width] */
    uint32_t *counters; /* [LEVELS][blocks] 0, and 0 again when all is done */
};

/* A product, as both directions hand it to kernels; each adds what it plans. */
template <typename X> struct HcGemvJob {
    const float *a;
    int64_t rows, columns;
    const X *x;
    HcProduct out;
    const int32_t *stopped;
    HcShares shares;

    HcGemvJob(const HcMatrix *matrix, const X *vector, HcProduct product, const int32_t *stop)
        : a(matrix->data), rows(matrix->rows), columns(matrix->columns), x(vector), out(product),
          stopped(stop), shares() {
    }
};

/* Of A x: whether rows are many, and short enough for registers; and then their product (gemv_rows.cu). */
template <typename X> bool hc_gpu_takes_rows(HcQueue *queue, const HcGemvJob<X> &job);
template <typename X> HcStatus hc_gpu_multiply_rows(HcQueue *queue, const HcGemvJob<X> &job, HcError *err);

/* Of A'x: whether rows are many and not as wide as warps read them; and their product (gemv_t_quads.cu). */
template <typename X> bool hc_gpu_takes_quads(const HcGemvJob<X> &job);
template <typename X> HcStatus hc_gpu_multiply_quads(HcQueue *queue, const HcGemvJob<X> &job, HcError *err);

/* A x of more than a few rows that are not short (gemv_groups.cu). */
template <typename X> HcStatus hc_gpu_multiply_groups(HcQueue *queue, HcGemvJob<X> job, HcError *err);

/* Plans the shares of HC_GEMV_BLOCKS at most, in the memory of the queue. Fewer blocks than asked for where
 * tiles then end with blocks, and no block is much longer at work. */
HcStatus hc_gpu_plan_shares(HcQueue *queue, int64_t tiles, int64_t steps, int64_t blocks, int32_t width,
                            HcShares *out, HcError *err);

#ifdef __CUDACC__

/* Has `count` values brought into the second-level cache by the threads of one group: this is number `member`
 * of `members`. Before hc_begin() it fills the time in which the kernel before ends. Nothing is read: what
 * that kernel still writes to the matrix goes to the same cache. */
__device__ static inline void hc_fetch_early(const float *from, int64_t count, int32_t member,
                                             int32_t members) {
#if __CUDA_ARCH__ >= 900
    const int32_t line = 128 / (int32_t)sizeof(float);
    for (int64_t at = (int64_t)member * line; at < count; at += (int64_t)members * line) {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(from + at));
    }
#endif
}

/* The same of `rows` rows from `row` on, `width` columns from `strip` on, as far as the matrix has them: all
 * threads of the block, eight for a row. */
template <typename X>
__device__ static inline void hc_fetch_strip(const HcGemvJob<X> &job, int64_t strip, int64_t width,
                                             int64_t row, int64_t rows) {
    const int32_t members = 8;
    int64_t end = row + rows < job.rows ? row + rows : job.rows;
    width = job.columns - strip < width ? job.columns - strip : width;
    for (row += (int32_t)threadIdx.x / members; row < end; row += (int32_t)blockDim.x / members) {
        hc_fetch_early(job.a + row * job.columns + strip, width, (int32_t)threadIdx.x % members, members);
    }
}

/* Begins a kernel that may be waiting beside the one before: nothing is read before that has ended, and the
 * next one may come and wait. False where there is nothing to do. */
__device__ static inline bool hc_begin(const int32_t *stopped) {
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
#endif
    return stopped == NULL || *stopped == 0;
}

/* Launches a kernel that begins so. */
template <typename J>
static HcStatus hc_launch(HcQueue *queue, void (*kernel)(J), int64_t blocks, const J &job, HcError *err,
                          int32_t threads = HC_GEMV_THREADS) {
    cudaLaunchAttribute beside = {};
    cudaLaunchConfig_t config = {};
    beside.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    beside.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3((unsigned)blocks);
    config.blockDim = dim3((unsigned)threads);
    config.stream = queue->stream;
    config.attrs = &beside;
    config.numAttrs = queue->gpu->major >= 9 ? 1 : 0;
    return hc_gpu_check(cudaLaunchKernelEx(&config, kernel, job), "multiplying", err);
}

/* The first step of a block, counted over all tiles; and the block that has a step. */
__device__ static inline int64_t hc_first_step(const HcShares &shares, int64_t block) {
    return shares.tiles * shares.steps * block / shares.blocks;
}

__device__ static inline int32_t hc_block_of(const HcShares &shares, int64_t step) {
    return (int32_t)(((step + 1) * shares.blocks - 1) / (shares.tiles * shares.steps));
}

/* Calls take(tile, first, end) for the steps of each tile that this block has. */
template <typename Take> __device__ static inline void hc_each_tile(const HcShares &shares, Take take) {
    int64_t step = hc_first_step(shares, blockIdx.x);
    int64_t end = hc_first_step(shares, blockIdx.x + 1);
    while (step < end) {
        int64_t tile = step / shares.steps;
        int64_t first = step - tile * shares.steps;
        int64_t some = end - step < shares.steps - first ? end - step : shares.steps - first;
        take(tile, first, first + some);
        step += some;
    }
}

/* All threads bring `value` of their block's part of a tile, those below shares.width. True in the block that
 * has the sum of all parts in its place. AT_ONCE: parts that are read at once; few where registers are. */
template <int AT_ONCE = HC_GEMV_FAN>
__device__ static inline bool hc_gather(const HcShares &shares, int64_t tile, double &value) {
    __shared__ bool last;
    int thread = (int)threadIdx.x;
    int32_t first = hc_block_of(shares, tile * shares.steps);
    int32_t count = hc_block_of(shares, (tile + 1) * shares.steps - 1) - first + 1;
    int32_t index = (int32_t)blockIdx.x - first;
    for (int32_t level = 0; count > 1; level++) {
        int32_t groups = (count - 1) / HC_GEMV_FAN + 1;
        int32_t group = index / HC_GEMV_FAN;
        int32_t begin = group * HC_GEMV_FAN;
        int32_t members = count - begin < HC_GEMV_FAN ? count - begin : HC_GEMV_FAN;
        double *row = shares.values + ((int64_t)(level + 1) * shares.blocks + first) * shares.width + thread;
        double *head = level == 0 ? row - (int64_t)shares.blocks * shares.width : row; /* of index 0 */
        uint32_t *counter = shares.counters + level * shares.blocks + first + group;
        if (thread < shares.width) {
            (index == 0 ? head : row)[(int64_t)index * shares.width] = value;
        }
        __syncthreads();
        if (thread == 0) { /* for all: what others have stored before a barrier is covered by its fence */
            __threadfence();
            last = atomicAdd(counter, 1U) == (uint32_t)members - 1;
            if (last) {
                *counter = 0;
                __threadfence();
            }
        }
        __syncthreads();
        if (!last) {
            return false;
        }
        value = 0;
        for (int32_t some = 0; some < members; some += AT_ONCE) {
            double parts[AT_ONCE]; /* all are on their way at once */
#pragma unroll
            for (int32_t k = 0; k < AT_ONCE; k++) {
                const double *from = begin + some + k == 0 ? head : row;
                bool there = some + k < members && thread < shares.width;
                parts[k] = there ? __ldcg(from + (int64_t)(begin + some + k) * shares.width) : 0;
            }
#pragma unroll
            for (int32_t k = 0; k < AT_ONCE; k++) {
                value += parts[k];
            }
        }
        count = groups;
        index = group;
    }
    return true;
}

/* By how many values an address is after one that is aligned for a piece. */
__device__ static inline int32_t hc_shift_of(const float *at) {
    return (int32_t)((uintptr_t)at / sizeof(float) % HC_GEMV_PIECE);
}

__device__ static inline void hc_put(const HcProduct &out, int64_t at, double value) {
    if (out.y != NULL) {
        out.y[at] = (float)value;
    } else {
        out.sums[at] = value;
    }
}

/* V neighbouring values, which are aligned as one access of V where V is not 1. */
template <int V> __device__ static inline void hc_load(float out[V], const float *at) {
    if constexpr (V == 4) {
        float4 four = __ldg((const float4 *)at);
        out[0] = four.x, out[1] = four.y, out[2] = four.z, out[3] = four.w;
    } else {
        static_assert(V == 1, "one value or four");
        out[0] = __ldg(at);
    }
}

template <int V> __device__ static inline void hc_load(double out[V], const double *at) {
    if constexpr (V == 4) {
        double2 first = __ldg((const double2 *)at);
        double2 second = __ldg((const double2 *)at + 1);
        out[0] = first.x, out[1] = first.y, out[2] = second.x, out[3] = second.y;
    } else {
        static_assert(V == 1, "one value or four");
        out[0] = __ldg(at);
    }
}

/* Values that are read once, and leave the nearest cache to others. */
template <int V> __device__ static inline void hc_load_once(float out[V], const float *at) {
    if constexpr (V == 4) {
        asm("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
            : "=f"(out[0]), "=f"(out[1]), "=f"(out[2]), "=f"(out[3])
            : "l"(at));
    } else {
        hc_load<V>(out, at); /* whose lines neighbours need again */
    }
}

/* sums[count * width] = rows of `width` sums, added in halves to the first row; count * width values. */
__device__ static inline void hc_add_halves(double *sums, int32_t count, int32_t width) {
    while (count > 1) {
        int32_t half = (count + 1) / 2;
        __syncthreads();
        for (int32_t i = (int32_t)threadIdx.x; i < (count - half) * width; i += (int32_t)blockDim.x) {
            sums[i] += sums[half * width + i];
        }
        count = half;
    }
    __syncthreads();
}

#endif
#endif
