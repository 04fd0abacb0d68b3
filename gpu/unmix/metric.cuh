/* The nearest point without negative entries in the metric of core/solver/metric.h (cpu/unmix/metric.c), a
 * warp a pixel. The matrix I + U_S'U_S of the members S lies in tiles of 8 x 8, as products of tiles leave
 * them: lane 4 g + t holds row g, columns 2t and 2t + 1 of each tile of the lower triangle. */
#ifndef HC_GPU_UNMIX_METRIC_CUH
#define HC_GPU_UNMIX_METRIC_CUH

#include "core/solver/metric.h"
#include "gpu/unmix/unmix.cuh"

enum { HC_METRIC_PASSES = 60, HC_METRIC_HALVINGS = 10 };

/* What rounding may add to the function that Newton's method lowers, of the magnitude of its terms. */
#define HC_METRIC_ROUNDING 0x1p-44

/* A pivot is at least so much. */
#define HC_METRIC_PIVOT_MIN 0x1p-40

static_assert(HC_METRIC_WIDTH == 32, "a lane a multiplier");

enum { METRIC_SIDE = HC_METRIC_WIDTH / 8, METRIC_TILES = METRIC_SIDE * (METRIC_SIDE + 1) / 2 };

/* Doubles of shared memory of a warp: two vectors of multipliers. */
enum { HC_METRIC_SHARED = 2 * HC_METRIC_WIDTH };

/* Doubles of a warp: target, t and next. */
__host__ __device__ static inline size_t hc_metric_scratch(size_t spectra) {
    return 3 * spectra;
}

/* A warp's own. */
struct HcMetricWarp {
    const double *direction; /* U [spectra][HC_METRIC_STRIDE], 0 beyond the width */
    double *shared;          /* [HC_METRIC_SHARED], from a multiple of 16 bytes */
    double *scratch;         /* hc_metric_scratch [doubles], then what the solver needs of its own */
};

/* What a warp works with. */
struct HcMetric {
    const double *direction;
    double *shared;
    double *target;                  /* [spectra] the point that another is to be near to */
    double *t, *next;                /* [spectra] */
    bool fits;                       /* the inverse is that of the members with which a search begins */
    double inverse[METRIC_TILES][2]; /* of the matrix, negative */
};

__device__ static inline HcMetric hc_metric_new(const HcMetricWarp &warp, int32_t spectra) {
    HcMetric metric;
    metric.direction = warp.direction;
    metric.shared = warp.shared;
    metric.target = warp.scratch;
    metric.t = metric.target + spectra;
    metric.next = metric.t + spectra;
    metric.fits = false;
    return metric;
}

/* The warp's row of directions of spectrum k; 0 beyond them. */
__device__ static inline double hc_metric_direction(const double *direction, int32_t k) {
    return direction[k * HC_METRIC_STRIDE + hc_lane()];
}

__device__ static inline void metric_share(double *row, double value) {
    __syncwarp();
    row[hc_lane()] = value;
    __syncwarp();
}

/* The number of tile (i, j) of the lower triangle. */
__device__ static constexpr int metric_tile(int i, int j) {
    return i * (i + 1) / 2 + j;
}

/* The numbers of the entries of x that are not 0 (or only of those above it), ascending; how many. */
template <bool POSITIVE>
__device__ static inline int32_t hc_metric_list(int32_t n, const double *x, int32_t *list) {
    int32_t count = 0;
    __syncwarp();
    for (int32_t first = 0; first < n; first += 32) {
        int32_t k = first + hc_lane();
        bool is_member = k < n && (POSITIVE ? x[k] > 0 : x[k] != 0);
        uint32_t in = __ballot_sync(0xFFFFFFFFU, is_member);
        if (is_member) {
            list[count + __popc(in & ((1U << hc_lane()) - 1))] = k;
        }
        count += __popc(in);
    }
    __syncwarp();
    return count;
}

/* I + U_S'U_S of the members in the list; without the 1 for the sum. */
__device__ static inline void metric_form(const HcUnmixLibrary &library, HcMetric &metric,
                                          const int32_t *list, int32_t count) {
    int g = hc_lane() / 4;
    int t = hc_lane() % 4;
#pragma unroll
    for (int i = 0; i < METRIC_SIDE; i++) {
        bool is_one = 8 * i + g < library.size || 8 * i + g >= library.width;
#pragma unroll
        for (int j = 0; j <= i; j++) {
            metric.inverse[metric_tile(i, j)][0] = i == j && g == 2 * t && is_one ? 1 : 0;
            metric.inverse[metric_tile(i, j)][1] = i == j && g == 2 * t + 1 && is_one ? 1 : 0;
        }
    }
#pragma unroll 2
    for (int32_t m = t; m < count + t; m += 4) {
        double part[METRIC_SIDE];
        const double *row = metric.direction + (m < count ? list[m] : 0) * HC_METRIC_STRIDE + g;
#pragma unroll
        for (int i = 0; i < METRIC_SIDE; i++) {
            part[i] = m < count ? row[8 * i] : 0;
        }
#pragma unroll
        for (int i = 0; i < METRIC_SIDE; i++) {
#pragma unroll
            for (int j = 0; j <= i; j++) {
                double *tile = metric.inverse[metric_tile(i, j)];
                hc_multiply_8x8x4(tile[0], tile[1], part[i], part[j]);
            }
        }
    }
}

/* Column c = 8 block + 2 pair + odd of the symmetric matrix, to vector [HC_METRIC_WIDTH]. */
template <int BLOCK, int ODD>
__device__ static inline void metric_put_column(const HcMetric &metric, int pair, double *vector) {
    int g = hc_lane() / 4;
    int t = hc_lane() % 4;
    if (g == 2 * pair + ODD) {
#pragma unroll
        for (int j = 0; j < BLOCK; j++) {
            const double *tile = metric.inverse[metric_tile(BLOCK, j)];
            *(double2 *)&vector[8 * j + 2 * t] = make_double2(tile[0], tile[1]);
        }
    }
    if (t == pair) {
#pragma unroll
        for (int i = BLOCK; i < METRIC_SIDE; i++) {
            vector[8 * i + g] = metric.inverse[metric_tile(i, BLOCK)][ODD];
        }
    }
    __syncwarp();
}

/* Sweeps pivot c: M_rs - M_rc M_cs / M_cc; in row and column c, M_rc / M_cc; -1 / M_cc. */
template <int BLOCK, int ODD> __device__ static inline void metric_sweep_pivot(HcMetric &metric, int pair) {
    int g = hc_lane() / 4;
    int t = hc_lane() % 4;
    int c = 8 * BLOCK + 2 * pair + ODD;
    bool is_row = g == 2 * pair + ODD;
    bool is_column = t == pair;
    double *vector = metric.shared + ODD * HC_METRIC_WIDTH;
    metric_put_column<BLOCK, ODD>(metric, pair, vector);
    double inverse = 1 / fmax(vector[c], HC_METRIC_PIVOT_MIN);
    double column[METRIC_SIDE][2];
#pragma unroll
    for (int j = 0; j < METRIC_SIDE; j++) {
        double2 two = *(const double2 *)&vector[8 * j + 2 * t];
        column[j][0] = two.x;
        column[j][1] = two.y;
    }
    column[BLOCK][ODD] = is_column ? -1 : column[BLOCK][ODD];
#pragma unroll
    for (int i = 0; i < METRIC_SIDE; i++) {
        double factor = vector[8 * i + g] * inverse;
        factor = i == BLOCK && is_row ? -inverse : factor;
#pragma unroll
        for (int j = 0; j <= i; j++) {
#pragma unroll
            for (int h = 0; h < 2; h++) {
                double *entry = &metric.inverse[metric_tile(i, j)][h];
                bool is_pivots = (i == BLOCK && is_row) || (j == BLOCK && h == ODD && is_column);
                *entry = fma(-factor, column[j][h], is_pivots ? 0 : *entry);
            }
        }
    }
}

template <int BLOCK> __device__ static inline void metric_sweep_block(HcMetric &metric) {
#pragma unroll 1
    for (int pair = 0; pair < 4; pair++) {
        metric_sweep_pivot<BLOCK, 0>(metric, pair);
        metric_sweep_pivot<BLOCK, 1>(metric, pair);
    }
}

/* The matrix becomes its inverse, negative (Beaton 1964: the sweep operator). */
__device__ static inline void metric_sweep(HcMetric &metric) {
    __syncwarp();
    metric_sweep_block<0>(metric);
    metric_sweep_block<1>(metric);
    metric_sweep_block<2>(metric);
    metric_sweep_block<3>(metric);
    static_assert(METRIC_SIDE == 4, "blocks that are swept");
}

/* value + that of the lane whose number differs in bit `apart`, of the value that this one keeps: `even`
 * where the bit is 0. */
__device__ static inline double metric_fold(double even, double odd, int apart) {
    bool is_odd = (hc_lane() & apart) != 0;
    double other = __shfl_xor_sync(0xFFFFFFFFU, is_odd ? even : odd, apart);
    return (is_odd ? odd : even) + other;
}

/* The lane's entry of the product of the inverse with right, a lane an entry. */
__device__ static inline double metric_multiply(const HcMetric &metric, double right) {
    int g = hc_lane() / 4;
    int t = hc_lane() % 4;
    double *from = metric.shared;
    double *to = metric.shared + HC_METRIC_WIDTH;
    double row[METRIC_SIDE] = {};
    double column[METRIC_SIDE][2] = {}; /* of the tiles above the diagonal */
    metric_share(from, right);
#pragma unroll
    for (int i = 0; i < METRIC_SIDE; i++) {
        double here = from[8 * i + g];
#pragma unroll
        for (int j = 0; j <= i; j++) {
            const double *tile = metric.inverse[metric_tile(i, j)];
            double2 two = *(const double2 *)&from[8 * j + 2 * t];
            row[i] = fma(-tile[0], two.x, row[i]);
            row[i] = fma(-tile[1], two.y, row[i]);
            if (j < i) {
                column[j][0] = fma(-tile[0], here, column[j][0]);
                column[j][1] = fma(-tile[1], here, column[j][1]);
            }
        }
    }
    /* Lane 4 g + t is left with row 8 t + g, and with column g % 2 of block g / 2. */
    double rows = metric_fold(metric_fold(row[0], row[1], 1), metric_fold(row[2], row[3], 1), 2);
    double low = metric_fold(metric_fold(column[0][0], column[0][1], 4),
                             metric_fold(column[1][0], column[1][1], 4), 8);
    double high = metric_fold(metric_fold(column[2][0], column[2][1], 4),
                              metric_fold(column[3][0], column[3][1], 4), 8);
    double columns = metric_fold(low, high, 16);
    to[8 * t + g] = rows;
    __syncwarp();
    to[8 * (g / 2) + 2 * t + g % 2] += columns;
    __syncwarp();
    return to[hc_lane()];
}

/* The multipliers that are right if the members, the positive entries of `held` or spectrum `only`, are. */
__device__ static inline double metric_solve_members(const HcUnmixLibrary &library, HcMetric &metric,
                                                     const double *held, int32_t only, double turned) {
    int32_t *list = (int32_t *)metric.next; /* which is still free */
    int32_t count = 1;
    if (only < 0) {
        count = hc_metric_list<true>(library.rule.spectra, held, list);
    } else if (hc_lane() == 0) {
        list[0] = only;
    }
    __syncwarp();
    if (!metric.fits) {
        metric_form(library, metric, list, count);
        metric_sweep(metric);
    }
    double right = -turned;
#pragma unroll 4
    for (int32_t m = 0; m < count; m++) {
        right = fma(metric.target[list[m]], hc_metric_direction(metric.direction, list[m]), right);
    }
    return metric_multiply(metric, right);
}

/* next = target - U w, w in shared memory. */
__device__ static inline void metric_turn_back(int32_t n, const HcMetric &metric, const double *w) {
    enum { AHEAD = 4 };
    for (int32_t first = hc_lane(); first < n; first += 32 * AHEAD) {
        double sum[AHEAD];
        const double *row[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            int32_t k = first + 32 * u < n ? first + 32 * u : first;
            sum[u] = metric.target[k];
            row[u] = metric.direction + k * HC_METRIC_STRIDE;
        }
#pragma unroll 4
        for (int i = 0; i < HC_METRIC_WIDTH; i += 2) {
            double2 two = *(const double2 *)&w[i];
#pragma unroll
            for (int u = 0; u < AHEAD; u++) {
                sum[u] = fma(-two.x, row[u][i], sum[u]);
            }
#pragma unroll
            for (int u = 0; u < AHEAD; u++) {
                sum[u] = fma(-two.y, row[u][i + 1], sum[u]);
            }
        }
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            if (first + 32 * u < n) {
                metric.next[first + 32 * u] = sum[u];
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
 * was, with metric.t; *value the function there. The point is metric.next. */
__device__ static inline bool metric_step(const HcUnmixLibrary &library, const HcMetric &metric,
                                          double turned, double here, double *w, double *value) {
    double magnitude;
    bool full = true;
    double *shared = metric.shared;
    metric_share(shared, *w);
    metric_turn_back(library.rule.spectra, metric, shared);
    double now = metric_value(library, metric.next, *w, turned, &magnitude);
    for (int i = 0; i < HC_METRIC_HALVINGS && now > *value + HC_METRIC_ROUNDING * magnitude; i++) {
        full = false;
        for (int32_t k = hc_lane(); k < library.rule.spectra; k += 32) {
            metric.next[k] = (metric.next[k] + metric.t[k]) / 2;
        }
        *w = (*w + here) / 2;
        __syncwarp();
        now = metric_value(library, metric.next, *w, turned, &magnitude);
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

/* x, which is metric.next, from metric.t; returns the lane's entry of U'x. */
__device__ static inline double metric_write(const HcUnmixLibrary &library, const HcMetric &metric) {
    int32_t n = library.rule.spectra;
    double *x = metric.next;
    double sum = 0;
    double turned = 0;
    for (int32_t k = hc_lane(); k < n; k += 32) {
        sum += metric.t[k] > 0 ? metric.t[k] : 0;
    }
    sum = library.rule.sum_to_one ? hc_warp_sum(sum) : 1;
    for (int32_t k = hc_lane(); k < n; k += 32) {
        x[k] = metric.t[k] > 0 && sum > 0 ? metric.t[k] / sum : 0;
    }
    __syncwarp();
    for (int32_t first = 0; first < n; first += 32) {
        int32_t k = first + hc_lane();
        for (uint32_t in = __ballot_sync(0xFFFFFFFFU, k < n && x[k] > 0); in != 0; in &= in - 1) {
            int32_t next = first + __ffs((int)in) - 1;
            turned = fma(x[next], hc_metric_direction(metric.direction, next), turned);
        }
    }
    return turned;
}

/* metric.next becomes x without negative entries, with the sum to one where that is asked for, that makes
 *     1/2 |x - target|^2 + 1/2 |U'x - turned|^2
 * least; the search begins at the positive entries of start, which may be the last such x. `turned` is the
 * lane's entry, 0 beyond them and 1 for the sum; so is the result, of U'x. If metric.fits afterwards, the
 * inverse is that of the members of x. A warp. */
__device__ static inline double hc_unmix_nearest(const HcUnmixLibrary &library, HcMetric &metric,
                                                 double turned, const double *start) {
    int32_t n = library.rule.spectra;
    const double *held = start;
    double here = 0;
    double value = INFINITY;
    __syncwarp();
    for (int pass = 0; pass < HC_METRIC_PASSES; pass++) {
        int32_t only = -1;
        if (library.rule.sum_to_one && !metric_any(n, held)) {
            only = metric_largest(n, pass == 0 ? metric.target : metric.t);
        }
        double w = metric_solve_members(library, metric, held, only, turned);
        bool full = metric_step(library, metric, turned, here, &w, &value);
        bool same = metric_same(n, held, only, metric.next);
        double *before = metric.t;
        metric.t = metric.next;
        metric.next = before;
        here = w;
        held = metric.t;
        metric.fits = same;
        if (full && same) {
            break;
        }
    }
    return metric_write(library, metric);
}

#endif
