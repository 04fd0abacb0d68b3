/* Augmented Lagrangians of all open pixels of a panel at once (cpu/unmix/alm.c). */
#ifndef HC_GPU_UNMIX_ALM_CUH
#define HC_GPU_UNMIX_ALM_CUH

#include "gpu/unmix/metric.cuh"

/* Checks gaps and penalties every N steps. */
#define HC_ALM_STEPS 10

/* Penalties change where one of the two moves so much more than the other. */
#define HC_ALM_IMBALANCE 4

/* Of the largest eigenvalue in the metric: where penalties begin, and how far they go. */
#define HC_ALM_FIRST_PENALTY 0x1p-3
#define HC_ALM_PENALTY_MIN   0x1p-20
#define HC_ALM_PENALTY_MAX   0x1p10

/* How far beyond the solution of the equations the next step begins. */
#define HC_ALM_RELAXATION 1.7

/* Memory of the solver: rows by the number of the slot. */
struct HcAlm {
    double *here;         /* [spectra] u: not negative */
    double *price;        /* [spectra] d: sum of the differences so far, the multipliers by the penalty */
    double *solved;       /* [spectra] x: solves the equations */
    double *turned_here;  /* [HC_METRIC_WIDTH] U'u */
    double *turned_price; /* [HC_METRIC_WIDTH] U'd */
    double *turned;       /* [rank] in the basis of the eigenvectors */
};

/* Doubles of a slot. */
__host__ __device__ static inline size_t hc_alm_kept(size_t spectra, size_t rank) {
    return 3 * spectra + 2 * HC_METRIC_WIDTH + rank;
}

__device__ static inline HcAlm hc_alm_at(const HcUnmixLibrary &library, const HcUnmixScratch &scratch) {
    int64_t n = library.rule.spectra;
    HcAlm alm;
    alm.here = scratch.solver;
    alm.price = alm.here + HC_UNMIX_PANEL * n;
    alm.solved = alm.price + HC_UNMIX_PANEL * n;
    alm.turned_here = alm.solved + HC_UNMIX_PANEL * n;
    alm.turned_price = alm.turned_here + HC_UNMIX_PANEL * HC_METRIC_WIDTH;
    alm.turned = alm.turned_price + HC_UNMIX_PANEL * HC_METRIC_WIDTH;
    __builtin_assume(__isGlobal(alm.here));
    __builtin_assume(__isGlobal(alm.price));
    __builtin_assume(__isGlobal(alm.solved));
    __builtin_assume(__isGlobal(alm.turned));
    return alm;
}

/* How much more a direction of the basis costs in the metric. */
__device__ static inline double alm_steep(const HcUnmixLibrary &library, int32_t i) {
    return i < library.size ? library.eigenvalue[i] / library.level : 1;
}

/* The part of direction i that the penalty leaves. */
__device__ static inline double alm_kept(const HcUnmixLibrary &library, int32_t i, double penalty) {
    return 1 - penalty / (library.eigenvalue[i] + penalty * alm_steep(library, i));
}

/* From V b to what the solution loses of it. In the directions of the metric the penalty is larger, and so is
 * what u - d adds to b. A warp. */
__device__ static void alm_lose(const HcUnmixLibrary &library, double penalty, const double *turned_here,
                                const double *turned_price, double *turned) {
    for (int32_t i = hc_lane(); i < library.rank; i += 32) {
        if (i < library.size) {
            double steep = alm_steep(library, i);
            double added = penalty * sqrt(fmax(steep - 1, 0.0)) * (turned_here[i] - turned_price[i]);
            turned[i] -= penalty * (turned[i] + added) / (library.eigenvalue[i] + penalty * steep);
        } else {
            turned[i] *= alm_kept(library, i, penalty);
        }
    }
    __syncwarp();
}

/* With sum_to_one: what the right-hand sides b lose in every entry so that their solution sums to one. b is
 * `solved`; `turned` holds what its solution loses of b. A warp. */
__device__ static void alm_draw_to_one(const HcUnmixLibrary &library, double penalty, double *solved,
                                       double *turned) {
    int32_t n = library.rule.spectra;
    double sum = 0;
    double ones = 0;
    for (int32_t k = hc_lane(); k < n; k += 32) {
        sum += solved[k];
    }
    for (int32_t i = hc_lane(); i < library.rank; i += 32) {
        sum -= library.total[i] * turned[i];
        ones += library.total[i] * alm_kept(library, i, penalty) * library.total[i];
    }
    double level = (hc_warp_sum(sum) - penalty) / ((double)n - hc_warp_sum(ones));
    for (int32_t k = hc_lane(); k < n; k += 32) {
        solved[k] -= level;
    }
    for (int32_t i = hc_lane(); i < library.rank; i += 32) {
        turned[i] -= level * library.total[i] * alm_kept(library, i, penalty);
    }
}

/* solved = penalty inv(D W D' + penalty M) (D W y - lambda + penalty M (u - d)), M the metric, by the
 * eigenvectors. */
__device__ static __noinline__ void alm_solve(const HcUnmixLibrary &library, HcUnmixPanel *panel,
                                              const HcUnmixScratch &scratch, const HcAlm &alm) {
    int64_t n = library.rule.spectra;
    int64_t rank = library.rank;
    double lambda = library.rule.sum_to_one ? 0 : library.rule.lambda;
    for (int32_t j = hc_warp(); j < panel->open; j += hc_warps()) {
        int64_t p = panel->number[j];
        for (int64_t k = p * n + hc_lane(); k < (p + 1) * n; k += 32) {
            alm.solved[k] = scratch.product[k] - lambda + panel->state[p] * (alm.here[k] - alm.price[k]);
        }
    }
    __syncthreads();
    hc_unmix_multiply(panel->number, panel->open, alm.solved, library.eigenvector, (int32_t)rank, (int32_t)n,
                      false, alm.turned);
    for (int32_t j = hc_warp(); j < panel->open; j += hc_warps()) {
        int64_t p = panel->number[j];
        double *turned = alm.turned + p * rank;
        alm_lose(library, panel->state[p], alm.turned_here + p * HC_METRIC_WIDTH,
                 alm.turned_price + p * HC_METRIC_WIDTH, turned);
        if (library.rule.sum_to_one) {
            alm_draw_to_one(library, panel->state[p], alm.solved + p * n, turned);
        }
    }
    __syncthreads();
    hc_unmix_multiply(panel->number, panel->open, alm.turned, library.turned_back, (int32_t)n, (int32_t)rank,
                      true, alm.solved);
}

/* The lane's entry of U' from. A warp. */
__device__ static inline double alm_turn(const HcUnmixLibrary &library, const HcMetric &metric,
                                         const double *from) {
    double even = 0;
    double odd = 0;
    int32_t k = 0;
#pragma unroll 4
    for (; k + 1 < library.rule.spectra; k += 2) {
        even = fma(from[k], hc_metric_direction(metric.direction, k), even);
        odd = fma(from[k + 1], hc_metric_direction(metric.direction, k + 1), odd);
    }
    return k < library.rule.spectra ? fma(from[k], hc_metric_direction(metric.direction, k), even) + odd
                                    : even + odd;
}

__device__ static inline double alm_square(double value) {
    return value * value;
}

/* u of slot p becomes the nearest point to x + d, and d what is left of it; how far x and u are apart, and
 * how far u moved, squared. A warp. */
__device__ static inline void alm_come_together(const HcUnmixLibrary &library, const HcMetricWarp &warp,
                                                int64_t p, double penalty, const HcAlm &alm, double *apart,
                                                double *moved) {
    int32_t n = library.rule.spectra;
    HcMetric metric = hc_metric_new(warp, n);
    int lane = hc_lane();
    double *here = alm.here + p * n;
    double *price = alm.price + p * n;
    const double *solved = alm.solved + p * n;
    double *turned_here = alm.turned_here + p * HC_METRIC_WIDTH;
    double *turned_price = alm.turned_price + p * HC_METRIC_WIDTH;
    for (int32_t k = lane; k < n; k += 32) {
        metric.target[k] =
            HC_ALM_RELAXATION * solved[k] / penalty + (1 - HC_ALM_RELAXATION) * here[k] + price[k];
    }
    __syncwarp();
    double turned = alm_turn(library, metric, metric.target);
    turned = library.rule.sum_to_one && lane == library.size ? 1 : turned;
    double next = hc_unmix_nearest(library, metric, turned, here);
    turned -= next;
    bool is_direction = lane < library.size;
    double apart_here = is_direction ? alm_square(turned - turned_price[lane]) : 0;
    double moved_here = is_direction ? alm_square(next - turned_here[lane]) : 0;
    for (int32_t k = lane; k < n; k += 32) {
        double left = metric.target[k] - metric.next[k];
        apart_here += alm_square(left - price[k]);
        moved_here += alm_square(metric.next[k] - here[k]);
        here[k] = metric.next[k];
        price[k] = left;
    }
    turned_price[lane] = lane < library.width ? turned : 0;
    turned_here[lane] = next;
    *apart = hc_warp_sum(apart_here);
    *moved = hc_warp_sum(moved_here);
    __syncwarp();
}

/* What the penalty, in units of the largest eigenvalue, is to be multiplied with. */
__device__ static inline double alm_change(double penalty, double apart, double moved) {
    if (apart > HC_ALM_IMBALANCE * moved && penalty < HC_ALM_PENALTY_MAX) {
        return 2;
    }
    return moved > HC_ALM_IMBALANCE * apart && penalty > HC_ALM_PENALTY_MIN ? 0.5 : 1;
}

/* The multipliers, penalty times price, stay what they are. A warp. */
__device__ static void alm_balance(const HcUnmixLibrary &library, double factor, double *price,
                                   double *turned_price, double *penalty) {
    for (int32_t k = hc_lane(); k < library.rule.spectra; k += 32) {
        price[k] /= factor;
    }
    turned_price[hc_lane()] /= factor;
    __syncwarp();
    if (hc_lane() == 0) {
        *penalty *= factor;
    }
    __syncwarp();
}

/* In units of which penalties are meant. */
__device__ static inline double alm_unit(const HcUnmixLibrary &library) {
    return library.rank > 0 ? library.level : 1;
}

/* Slot p begins with abundances 0. A warp. */
__device__ static inline void hc_alm_begin(const HcUnmixLibrary &library, HcUnmixPanel *panel, int32_t p,
                                           const HcUnmixScratch &scratch) {
    int64_t n = library.rule.spectra;
    HcAlm alm = hc_alm_at(library, scratch);
    for (int64_t k = hc_lane(); k < n; k += 32) {
        alm.here[p * n + k] = alm.price[p * n + k] = 0;
    }
    alm.turned_here[p * HC_METRIC_WIDTH + hc_lane()] = alm.turned_price[p * HC_METRIC_WIDTH + hc_lane()] = 0;
    if (hc_lane() == 0) {
        panel->state[p] = library.rank > 0 ? alm_unit(library) * HC_ALM_FIRST_PENALTY : 1;
    }
    __syncwarp();
}

/* The last of the steps of slot p between two looks at the gap: the penalty too. A warp. */
__device__ static inline void alm_look(const HcUnmixLibrary &library, HcUnmixPanel *panel, int64_t p,
                                       const HcUnmixScratch &scratch, const HcAlm &alm, double apart,
                                       double moved) {
    int64_t n = library.rule.spectra;
    double factor = alm_change(panel->state[p] / alm_unit(library), sqrt(apart), sqrt(moved));
    for (int64_t k = hc_lane(); k < n; k += 32) {
        scratch.abundance[p * n + k] = alm.here[p * n + k];
    }
    alm_balance(library, factor, alm.price + p * n, alm.turned_price + p * HC_METRIC_WIDTH, &panel->state[p]);
}

/* HC_ALM_STEPS steps of all open slots, fewer of those that have no more left. All threads of the block. */
__device__ static inline void hc_alm_steps(const HcUnmixLibrary &library, HcUnmixPanel *panel,
                                           const HcUnmixScratch &scratch, const HcMetricWarp &warp) {
    HcAlm alm = hc_alm_at(library, scratch);
    for (int32_t i = 0; i < HC_ALM_STEPS; i++) {
        alm_solve(library, panel, scratch, alm);
        for (int32_t j = hc_warp(); j < panel->open; j += hc_warps()) {
            int32_t p = panel->number[j];
            double apart, moved;
            if (panel->iterations[p] >= library.rule.iterations) {
                continue;
            }
            alm_come_together(library, warp, p, panel->state[p], alm, &apart, &moved);
            bool is_last = i + 1 == HC_ALM_STEPS || panel->iterations[p] + 1 == library.rule.iterations;
            if (is_last) {
                alm_look(library, panel, p, scratch, alm, apart, moved);
            }
            __syncwarp();
            if (hc_lane() == 0) {
                panel->iterations[p]++;
            }
            __syncwarp();
        }
        __syncthreads();
    }
}

#endif
