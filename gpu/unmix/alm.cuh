/* Augmented Lagrangians of all open pixels of a panel at once (cpu/unmix/alm.c). */
#ifndef HC_GPU_UNMIX_ALM_CUH
#define HC_GPU_UNMIX_ALM_CUH

#include "gpu/unmix/certify.cuh"

/* Gaps and penalties are looked at once in so many steps. */
#define HC_ALM_STEPS 20

/* Penalties change where one of the two moves so much more than the other. */
#define HC_ALM_IMBALANCE 4

/* Of the largest eigenvalue: where penalties begin. */
#define HC_ALM_FIRST_PENALTY 0x1p-13

/* Memory of the solver: rows by the pixels' numbers. */
struct HcAlm {
    double *here;   /* [spectra] u: not negative */
    double *price;  /* [spectra] d: sum of the differences so far, the multipliers by the penalty */
    double *solved; /* [spectra] x: solves the equations */
    double *turned; /* [rank] in the basis of the eigenvectors */
};

/* With sum_to_one: what the right-hand sides b lose in every entry so that their solution sums to one. b is
 * `solved`, V b is `turned`. A warp. */
__device__ static void alm_draw_to_one(const HcUnmixLibrary &library, double penalty, double *solved,
                                       double *turned) {
    int32_t n = library.rule.spectra;
    double sum = 0;
    double ones = 0;
    for (int32_t k = hc_lane(); k < n; k += 32) {
        sum += solved[k];
    }
    for (int32_t i = hc_lane(); i < library.rank; i += 32) {
        double kept = library.eigenvalue[i] / (library.eigenvalue[i] + penalty);
        sum -= library.total[i] * kept * turned[i];
        ones += library.total[i] * kept * library.total[i];
    }
    double level = (hc_warp_sum(sum) - penalty) / ((double)n - hc_warp_sum(ones));
    for (int32_t k = hc_lane(); k < n; k += 32) {
        solved[k] -= level;
    }
    for (int32_t i = hc_lane(); i < library.rank; i += 32) {
        turned[i] -= level * library.total[i];
    }
}

/* solved = inv(D W D' + penalty) (D W y - lambda + penalty (u - d)) times the penalty, by the eigenvectors.
 */
__device__ static void alm_solve(const HcUnmixLibrary &library, HcUnmixPanel *panel, const HcUnmixRoom &room,
                                 const HcAlm &alm) {
    int64_t n = library.rule.spectra;
    int64_t rank = library.rank;
    double lambda = library.rule.sum_to_one ? 0 : library.rule.lambda;
    for (int32_t j = hc_warp(); j < panel->open; j += HC_UNMIX_WARPS) {
        int64_t p = panel->number[j];
        for (int64_t k = p * n + hc_lane(); k < (p + 1) * n; k += 32) {
            alm.solved[k] = room.product[k] - lambda + panel->state[p] * (alm.here[k] - alm.price[k]);
        }
    }
    __syncthreads();
    hc_unmix_multiply(panel, alm.solved, library.eigenvector, (int32_t)rank, (int32_t)n, false, alm.turned);
    for (int32_t j = hc_warp(); j < panel->open; j += HC_UNMIX_WARPS) {
        int64_t p = panel->number[j];
        double *turned = alm.turned + p * rank;
        if (library.rule.sum_to_one) {
            alm_draw_to_one(library, panel->state[p], alm.solved + p * n, turned);
        }
        for (int64_t i = hc_lane(); i < rank; i += 32) {
            turned[i] *= library.eigenvalue[i] / (library.eigenvalue[i] + panel->state[p]);
        }
    }
    __syncthreads();
    hc_unmix_multiply(panel, alm.turned, library.turned_back, (int32_t)n, (int32_t)rank, true, alm.solved);
}

/* u and d of a pixel; how far x and u are apart, and how far u moved, squared. A warp. */
__device__ static void alm_move(int32_t n, double penalty, const double *__restrict__ solved,
                                double *__restrict__ here, double *__restrict__ price, double *apart,
                                double *moved) {
    double apart_here = 0;
    double moved_here = 0;
#pragma unroll 4
    for (int32_t k = hc_lane(); k < n; k += 32) {
        double x = solved[k] / penalty;
        double before = here[k];
        double after = x + price[k] > 0 ? x + price[k] : 0;
        here[k] = after;
        price[k] += x - after;
        apart_here += (x - after) * (x - after);
        moved_here += (after - before) * (after - before);
    }
    *apart = hc_warp_sum(apart_here);
    *moved = hc_warp_sum(moved_here);
}

/* The multipliers, penalty times price, stay what they are. A warp. */
__device__ static void alm_balance(int32_t n, double apart, double moved, double *price, double *penalty) {
    apart = sqrt(apart);
    moved = sqrt(moved);
    double factor = apart > HC_ALM_IMBALANCE * moved ? 2 : moved > HC_ALM_IMBALANCE * apart ? 0.5 : 1;
    for (int32_t k = hc_lane(); k < n; k += 32) {
        price[k] /= factor;
    }
    __syncwarp();
    if (hc_lane() == 0) {
        *penalty *= factor;
    }
}

/* Abundances of a pixel as they would be returned. A warp. */
__device__ static void alm_hand_over(const HcUnmixLibrary &library, const double *here, double *abundance) {
    int32_t n = library.rule.spectra;
    double sum = 0;
    for (int32_t k = hc_lane(); library.rule.sum_to_one && k < n; k += 32) {
        sum += here[k];
    }
    sum = hc_warp_sum(sum);
    for (int32_t k = hc_lane(); k < n; k += 32) {
        abundance[k] = !library.rule.sum_to_one ? here[k] : sum > 0 ? here[k] / sum : 1 / (double)n;
    }
}

__device__ static inline void hc_unmix_alm(const HcUnmixLibrary &library, const float *line,
                                           HcUnmixPanel *panel, const HcUnmixRoom &room) {
    int64_t n = library.rule.spectra;
    HcAlm alm;
    alm.here = room.scratch;
    alm.price = alm.here + HC_UNMIX_PANEL * n;
    alm.solved = alm.price + HC_UNMIX_PANEL * n;
    alm.turned = alm.solved + HC_UNMIX_PANEL * n;
    for (int64_t i = threadIdx.x; i < panel->count * n; i += HC_UNMIX_THREADS) {
        alm.here[i] = alm.price[i] = 0;
    }
    for (int32_t p = (int32_t)threadIdx.x; p < panel->count; p += HC_UNMIX_THREADS) {
        panel->state[p] = library.rank > 0 ? library.eigenvalue[0] * HC_ALM_FIRST_PENALTY : 1;
    }
    __syncthreads();
    for (int32_t done = 0; panel->open > 0 && done < library.rule.iterations;) {
        int32_t steps = min(HC_ALM_STEPS, library.rule.iterations - done);
        done += steps;
        for (int32_t i = 0; i < steps; i++) {
            alm_solve(library, panel, room, alm);
            for (int32_t j = hc_warp(); j < panel->open; j += HC_UNMIX_WARPS) {
                int64_t p = panel->number[j];
                double apart, moved;
                alm_move((int32_t)n, panel->state[p], alm.solved + p * n, alm.here + p * n, alm.price + p * n,
                         &apart, &moved);
                if (i + 1 == steps) {
                    alm_hand_over(library, alm.here + p * n, room.abundance + p * n);
                    alm_balance((int32_t)n, apart, moved, alm.price + p * n, &panel->state[p]);
                    panel->iterations[p] = done;
                }
            }
            __syncthreads();
        }
        hc_unmix_certify(library, line, panel, room);
    }
}

#endif
