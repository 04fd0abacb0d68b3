/* The nearest point without negative entries in the metric of core/solver/metric.h (cpu/unmix/metric.c), a
 * warp a pixel: lane i holds multiplier i and row i of the matrix. */
#ifndef HC_GPU_UNMIX_METRIC_CUH
#define HC_GPU_UNMIX_METRIC_CUH

#include "core/solver/metric.h"
#include "gpu/unmix/unmix.cuh"

enum { HC_METRIC_PASSES = 60, HC_METRIC_HALVINGS = 10 };

/* What rounding may add to the function that Newton's method lowers, of the magnitude of its terms. */
#define HC_METRIC_ROUNDING 0x1p-44

/* A pivot is at least so much. */
#define HC_METRIC_LEAST_PIVOT 0x1p-40

static_assert(HC_METRIC_WIDTH == 32, "a lane a multiplier");

/* Of a warp. */
struct HcMetricShared {
    double row[HC_METRIC_WIDTH]; /* that all lanes read: of a spectrum or of a pivot */
    double w[HC_METRIC_WIDTH];
};

/* Doubles of global memory that a warp needs for hc_unmix_nearest. */
__host__ __device__ static inline size_t hc_metric_scratch(size_t spectra) {
    return 2 * spectra;
}

/* The warp's row of directions of spectrum k; 0 beyond them. */
__device__ static inline double metric_direction(const HcUnmixLibrary &library, int64_t k) {
    return hc_lane() < library.width ? library.direction[k * library.width + hc_lane()] : 0;
}

__device__ static inline void metric_share(double *row, double value) {
    __syncwarp();
    row[hc_lane()] = value;
    __syncwarp();
}

/* Adds a member to the lane's row of I + U_S'U_S. */
__device__ static inline void metric_add(const HcUnmixLibrary &library, int64_t k, double target, double *row,
                                         double (&matrix)[HC_METRIC_WIDTH], double *right) {
    double here = metric_direction(library, k);
    metric_share(row, here);
#pragma unroll
    for (int j = 0; j < HC_METRIC_WIDTH; j++) {
        matrix[j] = fma(here, row[j], matrix[j]);
    }
    *right = fma(target, here, *right);
}

/* The lane's entry of inv(matrix) right, by Gauss and Jordan. */
__device__ static inline double metric_solve(int32_t width, double *row, double (&matrix)[HC_METRIC_WIDTH],
                                             double right) {
    double pivot = 1;
#pragma unroll
    for (int c = 0; c < HC_METRIC_WIDTH; c++) {
        if (c < width) {
            __syncwarp();
            if (hc_lane() == c) {
                pivot = fmax(matrix[c], HC_METRIC_LEAST_PIVOT);
                row[c] = 1 / pivot;
#pragma unroll
                for (int j = c + 1; j < HC_METRIC_WIDTH; j++) {
                    row[j] = matrix[j];
                }
            }
            __syncwarp();
            double factor = hc_lane() != c ? matrix[c] * row[c] : 0;
#pragma unroll
            for (int j = c + 1; j < HC_METRIC_WIDTH; j++) {
                matrix[j] = fma(-factor, row[j], matrix[j]);
            }
            right = fma(-factor, __shfl_sync(0xFFFFFFFFU, right, c), right);
        }
    }
    return right / pivot;
}

/* The multipliers that are right if the members, the positive entries of `held` or spectrum `only`, are. */
__device__ static __noinline__ double metric_solve_members(const HcUnmixLibrary &library,
                                                           HcMetricShared *shared, const double *held,
                                                           int32_t only, const double *target,
                                                           double turned) {
    double matrix[HC_METRIC_WIDTH];
    double right = -turned;
#pragma unroll
    for (int j = 0; j < HC_METRIC_WIDTH; j++) {
        matrix[j] = j == hc_lane() && j < library.size ? 1 : 0;
    }
    if (only >= 0) {
        metric_add(library, only, target[only], shared->row, matrix, &right);
    }
    for (int32_t first = 0; only < 0 && first < library.rule.spectra; first += 32) {
        int32_t k = first + hc_lane();
        uint32_t in = __ballot_sync(0xFFFFFFFFU, k < library.rule.spectra && held[k] > 0);
        for (; in != 0; in &= in - 1) {
            int32_t next = first + __ffs((int)in) - 1;
            metric_add(library, next, target[next], shared->row, matrix, &right);
        }
    }
    return metric_solve(library.width, shared->row, matrix, right);
}

/* next = target - U w, w in shared memory. */
__device__ static inline void metric_turn_back(const HcUnmixLibrary &library, const double *target,
                                               const double *w, double *next) {
    enum { AHEAD = 4 };
    int32_t n = library.rule.spectra;
    for (int32_t first = hc_lane(); first < n; first += 32 * AHEAD) {
        double sum[AHEAD];
        int32_t k[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            k[u] = first + 32 * u < n ? first + 32 * u : first;
            sum[u] = target[k[u]];
        }
        for (int32_t i = 0; i < library.width; i++) {
            const double *across = library.across + (int64_t)i * n;
#pragma unroll
            for (int u = 0; u < AHEAD; u++) {
                sum[u] = fma(-w[i], across[k[u]], sum[u]);
            }
        }
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            if (first + 32 * u < n) {
                next[k[u]] = sum[u];
            }
        }
    }
    __syncwarp();
}

/* The convex function of w whose gradient is w + turned - U'x; *magnitude is that of its terms. */
__device__ static inline double metric_value(const HcUnmixLibrary &library, const double *t, double w,
                                             double turned, double *magnitude) {
    double squares = hc_lane() < library.size ? w * w / 2 : 0;
    for (int32_t k = hc_lane(); k < library.rule.spectra; k += 32) {
        double x = t[k] > 0 ? t[k] : 0;
        squares = fma(x, x / 2, squares);
    }
    squares = hc_warp_sum(squares);
    double rest = hc_warp_sum(w * turned);
    *magnitude = squares + fabs(rest);
    return squares + rest;
}

/* The step to *w, halved as long as it leads uphill; whether it was taken in full. `here` is where the warp
 * was, *value the function there. */
__device__ static inline bool metric_step(const HcUnmixLibrary &library, HcMetricShared *shared,
                                          const double *target, double turned, const double *t, double here,
                                          double *next, double *w, double *value) {
    double magnitude;
    bool full = true;
    metric_share(shared->w, *w);
    metric_turn_back(library, target, shared->w, next);
    double now = metric_value(library, next, *w, turned, &magnitude);
    for (int i = 0; i < HC_METRIC_HALVINGS && now > *value + HC_METRIC_ROUNDING * magnitude; i++) {
        full = false;
        for (int32_t k = hc_lane(); k < library.rule.spectra; k += 32) {
            next[k] = (next[k] + t[k]) / 2;
        }
        *w = (*w + here) / 2;
        __syncwarp();
        now = metric_value(library, next, *w, turned, &magnitude);
    }
    *value = now;
    return full;
}

/* The number of the largest entry, of equal ones the first. */
__device__ static inline int32_t metric_largest(int32_t n, const double *from) {
    double most = -INFINITY;
    int32_t at = 0;
    for (int32_t k = hc_lane(); k < n; k += 32) {
        if (from[k] > most) {
            most = from[k];
            at = k;
        }
    }
    for (int d = 16; d > 0; d /= 2) {
        double other = __shfl_xor_sync(0xFFFFFFFFU, most, d);
        int32_t other_at = __shfl_xor_sync(0xFFFFFFFFU, at, d);
        bool is_other = other > most || (other == most && other_at < at);
        most = is_other ? other : most;
        at = is_other ? other_at : at;
    }
    return at;
}

/* Of the positive entries of a list: whether there are any, and whether they are those of another list or the
 * entry `only`. */
__device__ static inline bool metric_same(int32_t n, const double *held, int32_t only, const double *next) {
    bool same = true;
    for (int32_t k = hc_lane(); k < n; k += 32) {
        same = same && (next[k] > 0) == (only >= 0 ? k == only : held[k] > 0);
    }
    return __all_sync(0xFFFFFFFFU, same) != 0;
}

__device__ static inline bool metric_any(int32_t n, const double *held) {
    bool any = false;
    for (int32_t k = hc_lane(); k < n; k += 32) {
        any = any || held[k] > 0;
    }
    return __any_sync(0xFFFFFFFFU, any) != 0;
}

/* x from t; returns the lane's entry of U'x. */
__device__ static inline double metric_write(const HcUnmixLibrary &library, const double *t, double *x) {
    int32_t n = library.rule.spectra;
    double sum = 0;
    double turned = 0;
    for (int32_t k = hc_lane(); k < n; k += 32) {
        sum += t[k] > 0 ? t[k] : 0;
    }
    sum = library.rule.sum_to_one ? hc_warp_sum(sum) : 1;
    for (int32_t k = hc_lane(); k < n; k += 32) {
        x[k] = t[k] > 0 && sum > 0 ? t[k] / sum : 0;
    }
    __syncwarp();
    for (int32_t first = 0; first < n; first += 32) {
        int32_t k = first + hc_lane();
        for (uint32_t in = __ballot_sync(0xFFFFFFFFU, k < n && x[k] > 0); in != 0; in &= in - 1) {
            int32_t next = first + __ffs((int)in) - 1;
            turned = fma(x[next], metric_direction(library, next), turned);
        }
    }
    return turned;
}

/* x without negative entries, with the sum to one where that is asked for, that makes
 *     1/2 |x - target|^2 + 1/2 |U'x - turned|^2
 * least; the search begins at the positive entries of start, which may be x. `turned` is the lane's entry, 0
 * beyond them and 1 for the sum; so is the result, of U'x. A warp; scratch of hc_metric_scratch [doubles]. */
__device__ static __noinline__ double hc_unmix_nearest(const HcUnmixLibrary &library, HcMetricShared *shared,
                                                       const double *target, double turned,
                                                       const double *start, double *x, double *scratch) {
    int32_t n = library.rule.spectra;
    double *t = scratch;
    double *next = t + n;
    const double *held = start;
    double here = 0;
    double value = INFINITY;
    __syncwarp();
    for (int pass = 0; pass < HC_METRIC_PASSES; pass++) {
        int32_t only = -1;
        if (library.rule.sum_to_one && !metric_any(n, held)) {
            only = metric_largest(n, pass == 0 ? target : t);
        }
        double w = metric_solve_members(library, shared, held, only, target, turned);
        bool full = metric_step(library, shared, target, turned, t, here, next, &w, &value);
        bool same = metric_same(n, held, only, next);
        double *before = t;
        t = next;
        next = before;
        here = w;
        held = t;
        if (full && same) {
            break;
        }
    }
    return metric_write(library, t, x);
}

#endif
