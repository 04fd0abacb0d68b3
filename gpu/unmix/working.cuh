/* The steps of FISTA and of augmented Lagrangians on working sets, and what a warp does for a pixel. */
#ifndef HC_GPU_UNMIX_WORKING_CUH
#define HC_GPU_UNMIX_WORKING_CUH

#include "gpu/unmix/working_set.cuh"

/* --- FISTA --- */

/* What the solver keeps beside the abundances, its own lanes'. */
template <int SIDE> struct HcWorkingFista {
    double ahead[SIDE / 4];  /* where the momentum leads */
    double turned[SIDE / 4]; /* M ahead */
    double momentum;
};

/* On a new set. */
template <int SIDE>
__device__ static inline void working_begin(const HcUnmixLibrary &library, const HcWorkingPixel &pixel,
                                            HcWorking<SIDE> &working, HcWorkingFista<SIDE> &fista) {
    (void)library;
    (void)pixel;
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        fista.ahead[v] = working.x[v];
        fista.turned[v] = working.turned[v] = 0; /* the first step has no momentum, whatever these are */
    }
    fista.momentum = 1;
}

template <int SIDE>
__device__ static inline void working_advance(const HcUnmixLibrary &library, HcWorking<SIDE> &working,
                                              HcWorkingFista<SIDE> &fista) {
    double b[SIDE / 4];
    double step[SIDE / 4];
    double turned[SIDE / 4];
    double uphill = 0;
    working_multiply<SIDE>(
        working.shared, [&](int i) { return working.shared->rest[i][hc_lane()]; }, fista.ahead, b);
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        b[v] += working.product[v];
    }
    working_nearest(library, working, b, step, turned);
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        uphill = fma(fista.turned[v] - turned[v], step[v] - working.x[v], uphill);
    }
    double before = hc_warp_sum(uphill) > 0 ? 1 : fista.momentum;
    fista.momentum = (1 + sqrt(1 + 4 * before * before)) / 2;
    double factor = (before - 1) / fista.momentum;
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        fista.ahead[v] = fma(factor, step[v] - working.x[v], step[v]);
        fista.turned[v] = fma(factor, turned[v] - working.turned[v], turned[v]);
        working.x[v] = step[v];
        working.turned[v] = turned[v];
    }
}

/* Before some steps, and behind them. */
template <int SIDE>
__device__ static inline void working_prepare(const HcUnmixLibrary &, HcWorking<SIDE> &,
                                              HcWorkingFista<SIDE> &) {
}

template <int SIDE> __device__ static inline void working_finish(HcWorkingFista<SIDE> &) {
}

/* --- augmented Lagrangians --- */

template <int SIDE> struct HcWorkingAlm {
    HcWorkingMatrix<SIDE> *inverse; /* -inv(D W D' + penalty M) [units]; unless it is due */
    bool is_due;
    double penalty;         /* [units] */
    double price[SIDE / 4]; /* M d (alm.cuh) */
    double apart, moved;    /* of the last step, the lane's part */
};

/* The multipliers are those that the slopes ask for. */
template <int SIDE>
__device__ static inline void working_begin(const HcUnmixLibrary &library, const HcWorkingPixel &pixel,
                                            HcWorking<SIDE> &working, HcWorkingAlm<SIDE> &alm) {
    double scale = working_scale(library);
    alm.is_due = true;
    alm.penalty = HC_ALM_FIRST_PENALTY;
    working_multiply_table(working, working.x, working.turned);
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        bool is_asked = 32 * v + hc_lane() < working.count && !(working.x[v] > 0);
        int32_t k = is_asked ? working.shared->number[32 * v + hc_lane()] : 0;
        alm.price[v] = is_asked ? fmin(scale * (pixel.slope[k] - pixel.level), 0.0) / alm.penalty : 0;
    }
}

/* The inverse, by way of the table, which is M again afterwards. */
template <int SIDE>
__device__ static inline void working_prepare(const HcUnmixLibrary &library, HcWorking<SIDE> &working,
                                              HcWorkingAlm<SIDE> &alm) {
    if (!alm.is_due) {
        return;
    }
    uint32_t members[SIDE / 4];
    working_load_metric(library, working);
#pragma unroll
    for (int i = 0; i < SIDE * (SIDE + 1) / 2; i++) {
        double2 rest = working.shared->rest[i][hc_lane()];
        working.table[i][0] = (1 + alm.penalty) * working.table[i][0] - rest.x;
        working.table[i][1] = (1 + alm.penalty) * working.table[i][1] - rest.y;
    }
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        members[v] = working.member[v] ^ working.pending[v];
        working.member[v] = 0;
        working.pending[v] = working_places(working.count, v);
    }
    working_exchange(working);
#pragma unroll
    for (int i = 0; i < SIDE * (SIDE + 1) / 2; i++) {
        alm.inverse->tile[i][hc_lane()] = make_double2(working.table[i][0], working.table[i][1]);
    }
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        working.member[v] = 0;
        working.pending[v] = members[v];
    }
    working_load_metric(library, working);
    alm.is_due = false;
}

/* product = the inverse, negative, times right. */
template <int SIDE>
__device__ static inline void
working_multiply_inverse(const HcWorking<SIDE> &working, const HcWorkingAlm<SIDE> &alm,
                         const double (&right)[SIDE / 4], double (&product)[SIDE / 4]) {
    working_multiply<SIDE>(
        working.shared, [&](int i) { return alm.inverse->tile[i][hc_lane()]; }, right, product);
}

/* solved = the x that solves the equations, turned = M x. */
template <int SIDE>
__device__ static inline void working_solve(const HcUnmixLibrary &library, const HcWorking<SIDE> &working,
                                            const HcWorkingAlm<SIDE> &alm, double (&solved)[SIDE / 4],
                                            double (&turned)[SIDE / 4]) {
    double right[SIDE / 4];
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        right[v] = -fma(alm.penalty, working.turned[v] - alm.price[v], working.product[v]);
    }
    working_multiply_inverse(working, alm, right, solved);
    if (library.rule.sum_to_one) {
        double one[SIDE / 4];
        double drawn[SIDE / 4];
        double sum = 0;
        double ones = 0;
#pragma unroll
        for (int v = 0; v < SIDE / 4; v++) {
            one[v] = 32 * v + hc_lane() < working.count ? 1 : 0;
        }
        working_multiply_inverse(working, alm, one, drawn);
#pragma unroll
        for (int v = 0; v < SIDE / 4; v++) {
            sum += one[v] * solved[v];
            ones += one[v] * drawn[v];
        }
        double level = (hc_warp_sum(sum) - 1) / hc_warp_sum(ones);
#pragma unroll
        for (int v = 0; v < SIDE / 4; v++) {
            solved[v] -= one[v] * level * drawn[v];
            right[v] -= one[v] * level;
        }
    }
    working_multiply<SIDE>(
        working.shared, [&](int i) { return working.shared->rest[i][hc_lane()]; }, solved, turned);
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        turned[v] = (turned[v] - right[v]) / (1 + alm.penalty);
    }
}

template <int SIDE>
__device__ static inline void working_advance(const HcUnmixLibrary &library, HcWorking<SIDE> &working,
                                              HcWorkingAlm<SIDE> &alm) {
    double solved[SIDE / 4];
    double turned[SIDE / 4];
    double next[SIDE / 4];
    double turned_next[SIDE / 4];
    working_solve(library, working, alm, solved, turned);
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        solved[v] = HC_ALM_RELAXATION * solved[v] + (1 - HC_ALM_RELAXATION) * working.x[v];
        turned[v] = HC_ALM_RELAXATION * turned[v] + (1 - HC_ALM_RELAXATION) * working.turned[v];
        alm.price[v] += turned[v];
    }
    working_nearest(library, working, alm.price, next, turned_next);
    alm.apart = alm.moved = 0;
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        alm.apart = fma(solved[v] - next[v], turned[v] - turned_next[v], alm.apart);
        alm.moved = fma(next[v] - working.x[v], turned_next[v] - working.turned[v], alm.moved);
        alm.price[v] -= turned_next[v];
        working.x[v] = next[v];
        working.turned[v] = turned_next[v];
    }
}

/* The penalty follows what moved; the multipliers, penalty times price, stay what they are. */
template <int SIDE> __device__ static inline void working_finish(HcWorkingAlm<SIDE> &alm) {
    double apart = sqrt(fmax(hc_warp_sum(alm.apart), 0.0));
    double moved = sqrt(fmax(hc_warp_sum(alm.moved), 0.0));
    double factor = alm_change(alm.penalty, apart, moved);
    alm.is_due = factor < 1 || factor > 1;
    alm.penalty *= factor;
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        alm.price[v] /= factor;
    }
}

/* --- a pixel --- */

/* Steps of slot p, until they seem to have come to their end or their turn is over. A set that is too small
 * leaves the pixel to another kernel. A warp. */
template <int SIDE, typename Solver>
__device__ static inline void hc_working_steps(const HcUnmixLibrary &library, HcUnmixPanel *panel, int32_t p,
                                               const HcUnmixScratch &scratch, HcWorkingShared<SIDE> *shared,
                                               Solver &solver) {
    int64_t n = library.rule.spectra;
    int32_t taken = panel->iterations[p];
    int32_t end =
        library.rule.iterations - taken < HC_WORKING_TURN ? library.rule.iterations : taken + HC_WORKING_TURN;
    HcWorkingPixel pixel = {scratch.product + p * n, scratch.abundance + p * n, scratch.slope + p * n,
                            panel->energy[p]};
    __builtin_assume(__isGlobal(pixel.product));
    __builtin_assume(__isGlobal(pixel.abundance));
    __builtin_assume(__isGlobal(pixel.slope));
    __builtin_assume(__isShared(shared));
    HcWorking<SIDE> working;
    working.shared = shared;
    working.count = 0;
    bool is_new = true;
    __syncwarp();
    for (int32_t word = hc_lane(); word < (n + 31) / 32; word += 32) {
        shared->inside[word] = 0;
    }
    HcWorkingList list = working_list_all(library, pixel, shared);
    bool is_first = list.count == 0;
    working_look(library, pixel, list);
#pragma unroll 1
    for (;;) {
        HcWorkingFound found = working_find(library, pixel, shared);
        if (is_new || !working_suffices(library, pixel, working, found.most)) {
            if (!working_choose(library, list, found, working)) {
                panel->left[p] = true;
                break;
            }
            if (library.rule.sum_to_one && is_first) {
                for (int32_t i = hc_lane(); i < working.count; i += 32) {
                    pixel.abundance[shared->number[i]] = 1 / (double)working.count;
                }
                __syncwarp();
            }
            working_gather(library, pixel, working);
            working_begin(library, pixel, working, solver);
        }
        is_new = is_first = false;
        int32_t steps = min((int)HC_WORKING_STEPS, end - taken);
        working_prepare(library, working, solver);
#pragma unroll 1
        for (int32_t i = 0; i < steps; i++) {
            working_advance(library, working, solver);
        }
        working_finish(solver);
        taken += steps;
        working_write(library, pixel, working);
        list = working_list(working);
        working_look(library, pixel, list);
        if (pixel.gap <= library.rule.gap || taken >= end) {
            break;
        }
    }
    __syncwarp();
    if (hc_lane() == 0) {
        panel->iterations[p] = taken;
    }
    __syncwarp();
}

#endif
