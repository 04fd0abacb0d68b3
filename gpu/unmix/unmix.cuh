/* Sparse unmixing on the GPU: what the driver and its solvers share. A thread block unmixes a panel of up to
 * HC_UNMIX_PANEL pixels, each of which goes its own way, whatever the others are. With D the library, W the
 * weights, y a pixel, x its abundances and r = y - D'x its residual, "slopes" are D W r. */
#ifndef HC_GPU_UNMIX_UNMIX_CUH
#define HC_GPU_UNMIX_UNMIX_CUH

#include "core/operation/unmix/unmix.h"
#include "core/solver/metric.h"
#include "gpu/double_product.cuh"
#include "gpu/internal.cuh"
#include "gpu/shared.cuh"

HcUnmixOpenFn hc_gpu_unmix_open;
HcUnmixCloseFn hc_gpu_unmix_close;
HcUnmixFn hc_gpu_unmix;

enum { HC_UNMIX_PANEL = 64, HC_UNMIX_WARPS = 4, HC_UNMIX_THREADS = 32 * HC_UNMIX_WARPS };

/* Doubles from row to row of U: lanes that read an entry each of rows that follow meet no bank twice. */
enum { HC_METRIC_STRIDE = HC_METRIC_WIDTH + 1 };

/* The tiniest F that counts, of y'W y: as on the CPU. */
#define HC_UNMIX_TINIEST 0x1p-34

/* Doubles that may be read beyond the end of a row. */
enum { HC_UNMIX_BEYOND = 256 };

/* A library as kernels take it; all pointers [device]. */
struct HcUnmixLibrary {
    HcUnmixRule rule;
    const double *spectrum; /* [spectra][bands] */
    const double *weight;   /* [bands] */
    const double *gram;     /* [spectra][spectra] D W D' + shift */
    /* 0, or with sum_to_one the mean of the diagonal of D W D': it changes F by a constant where abundances
     * sum to one, and makes every set of spectra regular whose differences are independent. */
    double shift;
    const double *price; /* [spectra] 1 / root of the diagonal of gram; 0 where that is 0 */
    /* D W v > 0 of a direction v (cpu/unmix/unmix.c); NULL = there is none. */
    const double *rise;
    double rise_square;        /* v'W v */
    int32_t rank;              /* eigenvalues of D W D' that differ from 0 (FISTA, ALM) */
    const double *eigenvalue;  /* [spectra] descending */
    const double *eigenvector; /* [rank][spectra] (ALM) */
    const double *turned_back; /* [spectra][rank] the same, transposed (ALM) */
    const double *total;       /* [rank] sum of each eigenvector (ALM) */
    int32_t size, width;       /* directions of the metric (core/solver/metric.h); one more with sum_to_one */
    double level;              /* no eigenvalue is beyond it in the metric */
    const double *direction;   /* U [spectra][HC_METRIC_STRIDE], 0 beyond the width */
    double working_level;      /* the same of the metric on working sets (core/solver/working.h) */
    const double *working_metric; /* [spectra][spectra] */
};

/* A panel in shared memory: HC_UNMIX_PANEL slots for a pixel each. Those not yet certified are "open". */
struct HcUnmixPanel {
    int32_t open;
    int32_t number[HC_UNMIX_PANEL];     /* of the open slots: [open]; after them, of the others */
    const float *pixel[HC_UNMIX_PANEL]; /* its spectrum [bands] */
    int64_t place[HC_UNMIX_PANEL];      /* its number in the block that is written */
    float level[HC_UNMIX_PANEL];        /* of lambda, 1 where the rule has none; all below is of y / level */
    int32_t iterations[HC_UNMIX_PANEL];
    double energy[HC_UNMIX_PANEL]; /* y'W y */
    double square[HC_UNMIX_PANEL]; /* r'W r */
    double rmse[HC_UNMIX_PANEL];   /* [units of the spectra] */
    double gap[HC_UNMIX_PANEL];    /* relative */
    double state[HC_UNMIX_PANEL];  /* the solver's: momentum or penalty */
    bool left[HC_UNMIX_PANEL];     /* to the next kernel: a working set is too small */
};

/* The level of the pixel at `place` of the block that is written. */
__device__ static inline float hc_unmix_level(const HcUnmixRule &rule, const HcView &out, int64_t place) {
    return rule.level != NULL ? rule.level[out.first_line * out.samples + place] : 1;
}

/* Memory of a thread block; rows of pixels at the number of their slot. */
struct HcUnmixScratch {
    double *weighted;  /* [HC_UNMIX_PANEL][bands] W y, then W r */
    double *product;   /* [HC_UNMIX_PANEL][spectra] D W y */
    double *abundance; /* [HC_UNMIX_PANEL][spectra] */
    double *slope;     /* [HC_UNMIX_PANEL][spectra] */
    double *solver;    /* what the solver works in */
};

/* That of a thread block, which begins at `doubles`. */
__device__ static inline HcUnmixScratch hc_unmix_scratch_of(const HcUnmixLibrary &library, double *doubles) {
    int64_t row = library.rule.spectra;
    HcUnmixScratch scratch;
    scratch.weighted = doubles;
    scratch.product = scratch.weighted + HC_UNMIX_PANEL * (int64_t)library.rule.bands;
    scratch.abundance = scratch.product + HC_UNMIX_PANEL * row;
    scratch.slope = scratch.abundance + HC_UNMIX_PANEL * row;
    scratch.solver = scratch.slope + HC_UNMIX_PANEL * row;
    return scratch;
}

__device__ static inline int hc_lane() {
    return (int)threadIdx.x % 32;
}

__device__ static inline int hc_warp() {
    return (int)threadIdx.x / 32;
}

/* How many warps the thread block has. */
__device__ static inline int hc_warps() {
    return (int)blockDim.x / 32;
}

/* The result is the same in every lane. */
__device__ static inline double hc_warp_sum(double value) {
    for (int d = 16; d > 0; d /= 2) {
        value += __shfl_xor_sync(0xFFFFFFFFU, value, d);
    }
    return value;
}

__device__ static inline double hc_warp_most(double value) {
    for (int d = 16; d > 0; d /= 2) {
        double other = __shfl_xor_sync(0xFFFFFFFFU, value, d);
        value = other > value ? other : value;
    }
    return value;
}

/* Tiles of 8 x 8 that a warp sums at a time, and products of four terms whose entries are on their way. */
enum { HC_UNMIX_DOWN = 4, HC_UNMIX_ACROSS = 2, HC_UNMIX_AHEAD = 4 };

/* The part of hc_unmix_multiply from row0 of number and column0 on. A warp. */
__device__ static inline void hc_unmix_multiply_part(const int32_t *number, int32_t count, int32_t row0,
                                                     int32_t column0, const double *left, const double *right,
                                                     int32_t columns, int32_t depth, bool subtract,
                                                     double *out) {
    int g = hc_lane() / 4;
    int t = hc_lane() % 4;
    /* From a lane's entry of the first of four terms to those of the other tiles; the sums of rows and
     * columns beyond the last go nowhere. */
    int32_t row[HC_UNMIX_DOWN];
    int32_t column[HC_UNMIX_ACROSS];
    double sum[HC_UNMIX_DOWN][HC_UNMIX_ACROSS][2] = {};
    double a[HC_UNMIX_AHEAD][HC_UNMIX_DOWN];
    double b[HC_UNMIX_AHEAD][HC_UNMIX_ACROSS];
    right += (int64_t)column0 * depth;
#pragma unroll
    for (int m = 0; m < HC_UNMIX_DOWN; m++) {
        row[m] = number[row0 + 8 * m + g < count ? row0 + 8 * m + g : row0] * depth;
    }
#pragma unroll
    for (int h = 0; h < HC_UNMIX_ACROSS; h++) {
        column[h] = column0 + 8 * h + g < columns ? (8 * h + g) * depth : 0;
    }
    auto load = [&](int s, int32_t k) {
        int32_t term = max(min(k + 4 * s + t, depth - 1), 0);
        bool is_term = k + 4 * s + t < depth;
#pragma unroll
        for (int m = 0; m < HC_UNMIX_DOWN; m++) {
            double value = left[row[m] + term];
            a[s][m] = is_term ? value : 0;
        }
#pragma unroll
        for (int h = 0; h < HC_UNMIX_ACROSS; h++) {
            b[s][h] = right[column[h] + term];
        }
    };
#pragma unroll
    for (int s = 0; s < HC_UNMIX_AHEAD; s++) {
        load(s, 0);
    }
    for (int32_t k = 0; k < depth; k += 4 * HC_UNMIX_AHEAD) {
#pragma unroll
        for (int s = 0; s < HC_UNMIX_AHEAD; s++) {
#pragma unroll
            for (int m = 0; m < HC_UNMIX_DOWN; m++) {
#pragma unroll
                for (int h = 0; h < HC_UNMIX_ACROSS; h++) {
                    hc_multiply_8x8x4(sum[m][h][0], sum[m][h][1], a[s][m], b[s][h]);
                }
            }
            load(s, k + 4 * HC_UNMIX_AHEAD);
        }
    }
#pragma unroll
    for (int m = 0; m < HC_UNMIX_DOWN; m++) {
        int32_t j = row0 + 8 * m + g;
#pragma unroll
        for (int h = 0; h < 2 * HC_UNMIX_ACROSS; h++) {
            int32_t c = column0 + h / 2 * 8 + 2 * t + h % 2;
            if (j < count && c < columns) {
                double *to = out + (int64_t)number[j] * columns + c;
                *to = subtract ? *to - sum[m][h / 2][h % 2] : sum[m][h / 2][h % 2];
            }
        }
    }
}

/* Row number[j] of out [...][columns], j < count <= HC_UNMIX_PANEL, becomes the products of that row of
 * left [...][depth] with the rows of right[columns][depth], or loses them; no number is beyond
 * HC_UNMIX_PANEL. All threads of the block, which then wait for each other. */
__device__ static __noinline__ void hc_unmix_multiply(const int32_t *number, int32_t count,
                                                      const double *left, const double *right,
                                                      int32_t columns, int32_t depth, bool subtract,
                                                      double *out) {
    __builtin_assume(__isGlobal(left));
    __builtin_assume(__isGlobal(right));
    __builtin_assume(__isGlobal(out));
    enum { ROWS = 8 * HC_UNMIX_DOWN, COLUMNS = 8 * HC_UNMIX_ACROSS };
    int32_t across = (columns + COLUMNS - 1) / COLUMNS;
    int32_t parts = (count + ROWS - 1) / ROWS * across;
    for (int32_t part = hc_warp(); part < parts; part += hc_warps()) {
        hc_unmix_multiply_part(number, count, part / across * ROWS, part % across * COLUMNS, left, right,
                               columns, depth, subtract, out);
    }
    __syncthreads();
}

/* Fills library, whose rule is there, with what its solver needs; `memory`, which it then points to, is made
 * here and released by the caller, on failure too. */
HcStatus hc_unmix_derive(HcGpu *gpu, HcUnmixLibrary *library, HcBuffer *memory, HcError *err);

#endif
