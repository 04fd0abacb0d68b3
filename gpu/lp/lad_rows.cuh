/* What the descent of one pixel works on: tables of the problem, the workspace of a warp in shared memory,
 * the rows of a lane, and sums over lanes. */
#ifndef HC_GPU_LP_LAD_ROWS_CUH
#define HC_GPU_LP_LAD_ROWS_CUH

#include "core/operation/lp/lad.h"
#include "core/solver/lp/lad.h"
#include "gpu/internal.cuh"
#include "gpu/shared.cuh"

/* An HcLadProblem in device memory, its rows padded to those of all slots of the lanes. */
struct HcLadTables {
    int32_t endmembers, bands;
    HcLadSum sum;
    int32_t rows;   /* 32 times the slots */
    int32_t pitch;  /* of `column`: an odd number, so that a warp reads across it without conflicts */
    int32_t across; /* of inverses, odd as well */
    /* In shared memory if they fit there, one behind the other. */
    const float4 *quick;  /* [endmembers + 1][quads][32] A', then high - low: of four slots of a lane each */
    const double *column; /* [endmembers][pitch] A' */
    const double *low, *high, *range; /* [rows] slopes, and high - low */
    const double *right, *nudge;      /* [rows] */
    const double *scale;              /* [endmembers] */
    const double *inverse;            /* [endmembers][across] */
    const int32_t *basis;             /* [endmembers] */
    double most, mixture, weight_unit;
    int64_t usual, limit;
};

/* What a warp has in shared memory for one pixel. */
struct HcLadWorkspace {
    double *inverse;  /* [endmembers][across] of the matrix whose rows are those of the basis */
    double *point;    /* [endmembers] x */
    double *pull;     /* [endmembers] sum of a_i u_i outside of the basis */
    double *price;    /* [endmembers] u of the basis */
    double *edge;     /* [endmembers], or as many floats */
    double *change;   /* [endmembers] */
    double *best;     /* [endmembers] the best abundances so far */
    int32_t *basis;   /* [endmembers] rows */
    uint32_t *used;   /* [slots] of the lanes whose row counts */
    uint16_t *passed; /* [rows] twice those that an edge passes, and 1 of those that were up */
};

/* Doubles of a workspace. */
static inline size_t hc_lad_workspace(size_t endmembers, size_t across, size_t slots) {
    return endmembers * across + 6 * endmembers + (endmembers + slots + 1) / 2 + 8 * slots;
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
    return hc_warp_largest(value);
}

/* Of doubles that are at least 0 or -1: those order as the integers that their bits are. */
__device__ static inline double hc_most_lanes(double value) {
    int32_t high = hc_most_lanes(__double2hiint(value));
    int32_t low = (int32_t)((uint32_t)__double2loint(value) ^ 0x80000000U);
    low = hc_most_lanes(__double2hiint(value) == high ? low : INT32_MIN);
    return __hiloint2double(high, (int)((uint32_t)low ^ 0x80000000U));
}

__device__ static inline float hc_most_lanes(float value) {
    return __int_as_float(hc_most_lanes(__float_as_int(value)));
}

__device__ static inline float hc_least_lanes(float value) {
    return __int_as_float(-hc_most_lanes(-__float_as_int(value)));
}

__device__ static inline uint32_t hc_sum_lanes(uint32_t value) {
    return hc_warp_sum(value);
}

/* Of doubles that are at least 0. */
__device__ static inline double hc_least_lanes(double value) {
    int32_t high = -hc_most_lanes(-__double2hiint(value));
    int32_t low = (int32_t)(~(uint32_t)__double2loint(value) ^ 0x80000000U);
    low = hc_most_lanes(__double2hiint(value) == high ? low : INT32_MIN);
    return __hiloint2double(high, (int)~((uint32_t)low ^ 0x80000000U));
}

/* In float32 to about its precision, without an instruction that devices may differ in. */
__device__ static inline double hc_lad_inverse_of(double value) {
    return 1 / value;
}
__device__ static inline float hc_lad_inverse_of(float value) {
    float inverse = __int_as_float(0x7EF311C7 - __float_as_int(value));
#pragma unroll
    for (int i = 0; i < 3; i++) {
        inverse *= fmaf(-value, inverse, 2.0F);
    }
    return inverse;
}

/* The rows of a lane. */
template <int SLOTS> struct HcLadRows {
    int lane;
    int half;       /* 16 where half of the lanes hold all endmembers, else 0 */
    uint32_t used;  /* slots whose row counts: those of missing bands do not */
    uint32_t basic; /* in the basis */
    uint32_t up;    /* u = high, else low */

    __device__ inline int32_t row(int s) const {
        return 32 * s + lane;
    }
    /* The first endmember of a lane. Of sums over endmembers or rows each half has every second term. */
    __device__ inline int32_t first() const {
        return lane & ~half;
    }
    __device__ inline int32_t start() const {
        return (lane & half) / 16;
    }
    __device__ inline int32_t step() const {
        return half > 0 ? 2 : 1;
    }
    __device__ inline double both(double sum) const {
        return half > 0 ? sum + __shfl_xor_sync(HC_EVERY_LANE, sum, 16) : sum;
    }
    __device__ static inline bool has(uint32_t set, int s) {
        return (set >> s & 1) != 0;
    }
    __device__ inline bool owns(int s, int32_t row_) const {
        return row_ == row(s);
    }
    /* u outside of the basis, 0 in it. */
    __device__ inline double slope(const HcLadTables &tables, int s) const {
        return !has(used & ~basic, s) ? 0 : has(up, s) ? tables.high[row(s)] : tables.low[row(s)];
    }
    /* Puts `row_` into a set or takes it out. */
    __device__ inline void mark(uint32_t &set, int32_t row_, bool in) const {
        if (row_ % 32 == lane) {
            uint32_t bit = 1U << row_ / 32;
            set = in ? set | bit : set & ~bit;
        }
    }
};

/* What changes along an edge, of the rows of a lane. */
template <int SLOTS, typename Real> struct HcLadEdge {
    Real residual[SLOTS]; /* in units of the size of the pixel */
    Real speed[SLOTS];    /* of the residuals along an edge */
    Real place[SLOTS];    /* where they would be 0 on it: in [0, 1], 2 = nowhere */
    /* By which the slope of f grows there, in units of which HC_LAD_NEED end the edge. */
    uint32_t gain[SLOTS];
};

/* All rows together stay below 2^31. */
#define HC_LAD_NEED (1U << 21)

/* The first basis and its inverse. */
__device__ static inline void hc_lad_begin_cold(const HcLadTables &tables, const HcLadWorkspace &work,
                                                int lane) {
    for (int32_t k = lane; k < tables.endmembers * tables.across; k += 32) {
        work.inverse[k] = tables.inverse[k];
    }
    for (int32_t k = lane; k < tables.endmembers; k += 32) {
        work.basis[k] = tables.basis[k];
    }
    __syncwarp();
}

/* workspace.inverse from the basis alone, in place (Gauss and Jordan, with pivots from all rows); the
 * first basis where its rows are dependent. */
__device__ static inline void hc_lad_make_inverse(const HcLadTables &tables, const HcLadWorkspace &work,
                                                  int lane) {
    int32_t n = tables.endmembers;
    double *entry = work.inverse;
    for (int32_t i = lane; i < n * n; i += 32) {
        entry[i / n * tables.across + i % n] = tables.column[i % n * tables.pitch + work.basis[i / n]];
    }
    __syncwarp();
    for (int32_t k = 0; k < n; k++) {
        double largest = 0;
        int32_t from = k;
        for (int32_t i = k; i < n; i++) {
            double here = fabs(entry[i * tables.across + k]);
            from = here > largest ? i : from;
            largest = here > largest ? here : largest;
        }
        if (!(largest > 0)) {
            hc_lad_begin_cold(tables, work, lane);
            return;
        }
        __syncwarp();
        for (int32_t j = lane; j < n; j += 32) {
            double value = entry[from * tables.across + j];
            entry[from * tables.across + j] = entry[k * tables.across + j];
            entry[k * tables.across + j] = value;
        }
        if (lane == 0) {
            work.change[k] = from;
        }
        __syncwarp();
        double inverted = 1 / entry[k * tables.across + k];
        for (int32_t i = 0; i < n; i++) {
            double factor = entry[i * tables.across + k] * inverted;
            __syncwarp();
            for (int32_t j = lane; i != k && j < n; j += 32) {
                double *at = entry + i * tables.across + j;
                *at = j == k ? -factor : fma(-factor, entry[k * tables.across + j], *at);
            }
        }
        __syncwarp();
        for (int32_t j = lane; j < n; j += 32) {
            entry[k * tables.across + j] = j == k ? inverted : entry[k * tables.across + j] * inverted;
        }
        __syncwarp();
    }
    for (int32_t k = n - 1; k >= 0; k--) {
        int32_t from = (int32_t)work.change[k];
        for (int32_t i = lane; i < n; i += 32) {
            double value = entry[i * tables.across + k];
            entry[i * tables.across + k] = entry[i * tables.across + from];
            entry[i * tables.across + from] = value;
        }
    }
    __syncwarp();
}

#endif
#endif
