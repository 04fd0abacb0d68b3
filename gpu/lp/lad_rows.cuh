/* What the descent of one pixel works on: tables of the problem, the workspace of a warp in shared memory,
 * the rows of a lane, and sums over lanes. */
#ifndef HC_GPU_LP_LAD_ROWS_CUH
#define HC_GPU_LP_LAD_ROWS_CUH

#include "core/operation/lp/lad.h"
#include "core/solver/lp/lad.h"
#include "gpu/internal.cuh"

/* An HcLadProblem in device memory, its rows padded to those of all slots of the lanes. */
struct HcLadTables {
    int32_t endmembers, bands;
    HcLadSum sum;
    int32_t rows;         /* 32 times the slots */
    int32_t pitch;        /* of `column`: an odd number, so that a warp reads across it without conflicts */
    int32_t across;       /* of inverses, odd as well */
    const double *column; /* [endmembers][pitch] A'; in shared memory if it fits there */
    const double *low, *high, *right, *nudge; /* [rows] */
    const double *scale;                      /* [endmembers] */
    const double *inverse;                    /* [endmembers][across] */
    const int32_t *basis;                     /* [endmembers] */
    double most, mixture, weight_unit;
    int64_t usual, limit;
};

/* What a warp has in shared memory for one pixel. */
struct HcLadWorkspace {
    double *inverse; /* [endmembers][across] of the matrix whose rows are those of the basis */
    double *point;   /* [endmembers] x */
    double *pull;    /* [endmembers] sum of a_i u_i outside of the basis */
    double *price;   /* [endmembers] u of the basis */
    double *edge;    /* [endmembers] */
    double *change;  /* [endmembers] */
    double *best;    /* [endmembers] the best abundances so far */
    int32_t *basis;  /* [endmembers] rows */
};

/* Doubles of a workspace. */
static inline size_t hc_lad_workspace(size_t endmembers, size_t across) {
    return endmembers * across + 6 * endmembers + (endmembers + 1) / 2;
}

/* The report on a pixel; its abundances stay in workspace.best. */
struct HcLadReport {
    int64_t pivots;
    double deviation, primal, dual, error;
};

#ifdef __CUDACC__

#define HC_EVERY_LANE 0xFFFFFFFFU

/* Sums, largest and least values over a warp, the same in all lanes. */
__device__ static inline double hc_sum_lanes(double value) {
    for (int d = 16; d > 0; d /= 2) {
        value += __shfl_xor_sync(HC_EVERY_LANE, value, d);
    }
    return value;
}

__device__ static inline int32_t hc_most_lanes(int32_t value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(HC_EVERY_LANE, value);
#else
    for (int d = 16; d > 0; d /= 2) {
        value = max(value, __shfl_xor_sync(HC_EVERY_LANE, value, d));
    }
    return value;
#endif
}

/* Of doubles that are at least 0 or -1: those order as the integers that their bits are. */
__device__ static inline double hc_most_lanes(double value) {
    int32_t high = hc_most_lanes(__double2hiint(value));
    int32_t low = (int32_t)((uint32_t)__double2loint(value) ^ 0x80000000U);
    low = hc_most_lanes(__double2hiint(value) == high ? low : INT32_MIN);
    return __hiloint2double(high, (int)((uint32_t)low ^ 0x80000000U));
}

/* Of doubles that are at least 0. */
__device__ static inline double hc_least_lanes(double value) {
    int32_t high = -hc_most_lanes(-__double2hiint(value));
    int32_t low = (int32_t)(~(uint32_t)__double2loint(value) ^ 0x80000000U);
    low = hc_most_lanes(__double2hiint(value) == high ? low : INT32_MIN);
    return __hiloint2double(high, (int)~((uint32_t)low ^ 0x80000000U));
}

/* The rows of a lane. */
template <int SLOTS> struct HcLadRows {
    int lane;
    uint32_t used;  /* slots whose row counts: those of missing bands do not */
    uint32_t basic; /* in the basis */
    uint32_t up;    /* u = high, else low */
    double residual[SLOTS];
    double speed[SLOTS]; /* of the residuals along an edge */
    double place[SLOTS]; /* where they would be 0 on it: in [0, 1], 2 = nowhere */
    double gain[SLOTS];  /* by which the slope of f grows there */

    __device__ inline int32_t row(int s) const {
        return 32 * s + lane;
    }
    __device__ static inline bool has(uint32_t set, int s) {
        return (set >> s & 1) != 0;
    }
    __device__ inline bool owns(int s, int32_t row_) const {
        return row_ == row(s);
    }
    __device__ inline double low(const HcLadTables &tables, int s) const {
        return has(used, s) ? tables.low[row(s)] : 0;
    }
    __device__ inline double high(const HcLadTables &tables, int s) const {
        return has(used, s) ? tables.high[row(s)] : 0;
    }
    /* u outside of the basis, 0 in it. */
    __device__ inline double slope(const HcLadTables &tables, int s) const {
        return has(basic, s) ? 0 : has(up, s) ? high(tables, s) : low(tables, s);
    }
    /* Puts `row_` into a set or takes it out. */
    __device__ inline void mark(uint32_t &set, int32_t row_, bool in) const {
        if (row_ % 32 == lane) {
            uint32_t bit = 1U << row_ / 32;
            set = in ? set | bit : set & ~bit;
        }
    }
};

#endif
#endif
