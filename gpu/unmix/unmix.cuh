/* Sparse unmixing on the GPU: what the driver and its solvers share. A thread block unmixes a panel: up to
 * HC_UNMIX_PANEL neighbouring pixels of one line, from multiples of it, so that results do not depend on the
 * blocks of the scene. With D the library, W the weights, y a pixel, x its abundances and r = y - D'x its
 * residual, "slopes" are D W r. */
#ifndef HC_GPU_UNMIX_UNMIX_CUH
#define HC_GPU_UNMIX_UNMIX_CUH

#include "core/operation/unmix.h"
#include "gpu/double_product.cuh"
#include "gpu/internal.cuh"

HcUnmixOpenFn hc_gpu_unmix_open;
HcUnmixCloseFn hc_gpu_unmix_close;
HcUnmixFn hc_gpu_unmix;

enum { HC_UNMIX_PANEL = 64, HC_UNMIX_WARPS = 4, HC_UNMIX_THREADS = 32 * HC_UNMIX_WARPS };

/* The tiniest F that counts, of y'W y: as on the CPU. */
#define HC_UNMIX_TINIEST 0x1p-34

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
    const double *direction;   /* U [spectra][width] */
    const double *across;      /* U' [width][spectra] */
};

/* A panel in shared memory. Pixels count from 0 as they follow in the line; those not yet certified are
 * "open". */
struct HcUnmixPanel {
    int32_t count; /* valid pixels */
    int32_t open;
    int32_t number[HC_UNMIX_PANEL]; /* the open pixels, ascending: [open] */
    int32_t sample[HC_UNMIX_PANEL]; /* of the line */
    int32_t iterations[HC_UNMIX_PANEL];
    double energy[HC_UNMIX_PANEL]; /* y'W y */
    double square[HC_UNMIX_PANEL]; /* r'W r */
    double rmse[HC_UNMIX_PANEL];   /* [units of the spectra] */
    double gap[HC_UNMIX_PANEL];    /* relative */
    double state[HC_UNMIX_PANEL];  /* the solver's: momentum or penalty */
};

/* Memory of a thread block; rows of open pixels at the pixel's number. */
struct HcUnmixScratch {
    double *weighted;  /* [HC_UNMIX_PANEL][bands] W y, then W r */
    double *product;   /* [HC_UNMIX_PANEL][spectra] D W y */
    double *abundance; /* [HC_UNMIX_PANEL][spectra] */
    double *slope;     /* [HC_UNMIX_PANEL][spectra] */
    double *solver;    /* what the solver works in */
};

__device__ static inline int hc_lane() {
    return (int)threadIdx.x % 32;
}

__device__ static inline int hc_warp() {
    return (int)threadIdx.x / 32;
}

/* The same in every lane. */
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

/* Row number[j] of out [...][columns] becomes the products of that row of left [...][depth] with the rows of
 * right[columns][depth], or loses them. All threads of the block, which then wait for each other. */
__device__ static void hc_unmix_multiply(const HcUnmixPanel *panel, const double *left, const double *right,
                                         int32_t columns, int32_t depth, bool subtract, double *out) {
    enum { TILES = HC_UNMIX_PANEL / 8, WIDTH = 2 };
    int g = hc_lane() / 4;
    int t = hc_lane() % 4;
    int32_t open = panel->open;
    for (int32_t column0 = hc_warp() * 8 * WIDTH; column0 < columns; column0 += HC_UNMIX_WARPS * 8 * WIDTH) {
        double sum[TILES][WIDTH][2] = {};
        for (int32_t k = t; k < depth + t; k += 4) {
            double b[WIDTH];
#pragma unroll
            for (int h = 0; h < WIDTH; h++) {
                int32_t column = column0 + 8 * h + g;
                b[h] = k < depth && column < columns ? right[(int64_t)column * depth + k] : 0;
            }
#pragma unroll
            for (int m = 0; m < TILES; m++) {
                if (8 * m < open) {
                    int32_t j = 8 * m + g;
                    double a = k < depth && j < open ? left[(int64_t)panel->number[j] * depth + k] : 0;
#pragma unroll
                    for (int h = 0; h < WIDTH; h++) {
                        hc_multiply_8x8x4(sum[m][h][0], sum[m][h][1], a, b[h]);
                    }
                }
            }
        }
#pragma unroll
        for (int m = 0; m < TILES; m++) {
            int32_t j = 8 * m + g;
#pragma unroll
            for (int h = 0; h < 2 * WIDTH; h++) {
                int32_t column = column0 + h / 2 * 8 + 2 * t + h % 2;
                if (j < open && column < columns) {
                    double *to = out + (int64_t)panel->number[j] * columns + column;
                    *to = subtract ? *to - sum[m][h / 2][h % 2] : sum[m][h / 2][h % 2];
                }
            }
        }
    }
    __syncthreads();
}

/* Fills library, whose rule is there, with what its solver needs; `memory`, which it then points to, is made
 * here and released by the caller, on failure too. */
HcStatus hc_unmix_derive(HcGpu *gpu, HcUnmixLibrary *library, HcBuffer *memory, HcError *err);

#endif
