/* The steps of FISTA and of augmented Lagrangians on working sets, and what a warp does for a pixel. */
#ifndef HC_GPU_UNMIX_WORKING_CUH
#define HC_GPU_UNMIX_WORKING_CUH

#include "gpu/unmix/working_set.cuh"

/* Steps of a pixel before its warp looks for another one. */
enum { HC_WORKING_TURN = 64 };

/* --- FISTA --- */

/* Of the step before, its own lanes' M x and slopes. Where the momentum leads is a combination of two steps,
 * and so are its M x and its slopes. */
template <int SIDE> struct HcWorkingFista {
    double turned[working_parts(SIDE)];
    double slope[working_parts(SIDE)]; /* [units] */
    double momentum, factor;
};

/* On a new set. */
template <int SIDE>
__device__ static inline void working_begin(const HcUnmixLibrary &, HcWorking<SIDE> &,
                                            HcWorkingFista<SIDE> &fista) {
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        fista.turned[v] = fista.slope[v] = 0;
    }
    fista.momentum = 1;
    fista.factor = 0;
}

template <int SIDE>
__device__ static inline void working_advance(const HcUnmixLibrary &library, const HcWorkingPixel &pixel,
                                              HcWorking<SIDE> &working, HcWorkingFista<SIDE> &fista) {
    double scale = working_scale(library);
    double lambda = library.rule.sum_to_one ? 0 : library.rule.lambda;
    double ahead[working_parts(SIDE)]; /* M x of where the momentum leads */
    double b[working_parts(SIDE)];
    double step[working_parts(SIDE)];
    double turned[working_parts(SIDE)];
    double uphill = 0;
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        bool is_there = 32 * v + hc_lane() < working.count;
        int32_t k = is_there ? working.shared->number[32 * v + hc_lane()] : 0;
        double slope = is_there ? scale * (pixel.slope[k] - lambda) : 0;
        ahead[v] = fma(fista.factor, working.turned[v] - fista.turned[v], working.turned[v]);
        b[v] = ahead[v] + fma(fista.factor, slope - fista.slope[v], slope);
        fista.turned[v] = working.turned[v];
        fista.slope[v] = slope;
    }
    working_nearest(library, working, b, step, turned);
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        uphill = fma(ahead[v] - turned[v], step[v] - working.x[v], uphill);
        working.x[v] = step[v];
        working.turned[v] = turned[v];
    }
    double before = hc_warp_sum(uphill) > 0 ? 1 : fista.momentum;
    fista.momentum = (1 + sqrt(1 + 4 * before * before)) / 2;
    fista.factor = (before - 1) / fista.momentum;
}

/* --- augmented Lagrangians --- */

template <int SIDE> struct HcWorkingAlm {
    HcWorkingMatrix<SIDE> *rest;       /* M - D W D' [units] */
    HcWorkingMatrix<SIDE> *inverse;    /* -inv(D W D' + penalty M) [units]; M before there is one */
    bool is_due, is_first;             /* the inverse, since set or penalty changed; of the set */
    double penalty;                    /* [units] */
    double price[working_parts(SIDE)]; /* M d (alm.cuh) */
};

/* Without multipliers: with a small penalty the first step is all but the best of the set. */
template <int SIDE>
__device__ static inline void working_begin(const HcUnmixLibrary &library, HcWorking<SIDE> &working,
                                            HcWorkingAlm<SIDE> &alm) {
    double scale = working_scale(library);
    alm.is_due = alm.is_first = true;
    alm.penalty = HC_WORKING_PENALTY;
    working_store(working, alm.inverse);
    working_each(library, working, library.gram, library.shift, [&](int i, double even, double odd) {
        const double *metric = working.table[i];
        alm.rest->tile[i][hc_lane()] = make_double2(metric[0] - scale * even, metric[1] - scale * odd);
    });
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        alm.price[v] = 0;
    }
}

/* The inverse, by way of the table, which is M again afterwards. */
template <int SIDE>
__device__ static inline void working_invert(const HcUnmixLibrary &library, HcWorking<SIDE> &working,
                                             HcWorkingAlm<SIDE> &alm) {
    uint32_t members[working_parts(SIDE)];
    if (!alm.is_first) {
        working_each(library, working, library.working_metric, 0, [&](int i, double even, double odd) {
            alm.inverse->tile[i][hc_lane()] = make_double2(even, odd);
        });
    }
#pragma unroll
    for (int i = 0; i < SIDE * (SIDE + 1) / 2; i++) {
        double2 metric = alm.inverse->tile[i][hc_lane()];
        double2 rest = alm.rest->tile[i][hc_lane()];
        working.table[i][0] = (1 + alm.penalty) * metric.x - rest.x;
        working.table[i][1] = (1 + alm.penalty) * metric.y - rest.y;
    }
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        members[v] = working.member[v] ^ working.pending[v];
        working.member[v] = 0;
        working.pending[v] = working_places(working.count, v);
    }
    working_exchange(working);
#pragma unroll
    for (int i = 0; i < SIDE * (SIDE + 1) / 2; i++) {
        double2 metric = alm.inverse->tile[i][hc_lane()];
        alm.inverse->tile[i][hc_lane()] = make_double2(working.table[i][0], working.table[i][1]);
        working.table[i][0] = metric.x;
        working.table[i][1] = metric.y;
    }
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        working.member[v] = 0;
        working.pending[v] = members[v];
    }
    alm.is_due = alm.is_first = false;
}

/* product = the inverse, negative, times right. */
template <int SIDE>
__device__ static inline void
working_multiply_inverse(const HcWorking<SIDE> &working, const HcWorkingAlm<SIDE> &alm,
                         const double (&right)[working_parts(SIDE)], double (&product)[working_parts(SIDE)]) {
    working_multiply<SIDE>(
        working.shared, [&](int i) { return alm.inverse->tile[i][hc_lane()]; }, right, product);
}

/* solved = the x that solves the equations, turned = M x. */
template <int SIDE>
__device__ static inline void
working_solve(const HcUnmixLibrary &library, const HcWorking<SIDE> &working, const HcWorkingAlm<SIDE> &alm,
              double (&solved)[working_parts(SIDE)], double (&turned)[working_parts(SIDE)]) {
    double right[working_parts(SIDE)];
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        right[v] = -fma(alm.penalty, working.turned[v] - alm.price[v], working.product[v]);
    }
    working_multiply_inverse(working, alm, right, solved);
    if (library.rule.sum_to_one) {
        double one[working_parts(SIDE)];
        double drawn[working_parts(SIDE)];
        double sum = 0;
        double ones = 0;
#pragma unroll
        for (int v = 0; v < working_parts(SIDE); v++) {
            one[v] = 32 * v + hc_lane() < working.count ? 1 : 0;
        }
        working_multiply_inverse(working, alm, one, drawn);
#pragma unroll
        for (int v = 0; v < working_parts(SIDE); v++) {
            sum += one[v] * solved[v];
            ones += one[v] * drawn[v];
        }
        double level = (hc_warp_sum(sum) - 1) / hc_warp_sum(ones);
#pragma unroll
        for (int v = 0; v < working_parts(SIDE); v++) {
            solved[v] -= one[v] * level * drawn[v];
            right[v] -= one[v] * level;
        }
    }
    working_multiply<SIDE>(
        working.shared, [&](int i) { return alm.rest->tile[i][hc_lane()]; }, solved, turned);
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        turned[v] = (turned[v] - right[v]) / (1 + alm.penalty);
    }
}

template <int SIDE>
__device__ static inline void working_advance(const HcUnmixLibrary &library, const HcWorkingPixel &,
                                              HcWorking<SIDE> &working, HcWorkingAlm<SIDE> &alm) {
    if (alm.is_due) {
        working_invert(library, working, alm);
    }
    double solved[working_parts(SIDE)];
    double turned[working_parts(SIDE)];
    double next[working_parts(SIDE)];
    double turned_next[working_parts(SIDE)];
    working_solve(library, working, alm, solved, turned);
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        solved[v] = HC_WORKING_RELAXATION * solved[v] + (1 - HC_WORKING_RELAXATION) * working.x[v];
        turned[v] = HC_WORKING_RELAXATION * turned[v] + (1 - HC_WORKING_RELAXATION) * working.turned[v];
        alm.price[v] += turned[v];
    }
    working_nearest(library, working, alm.price, next, turned_next);
    double apart = 0;
    double moved = 0;
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        apart = fma(solved[v] - next[v], turned[v] - turned_next[v], apart);
        moved = fma(next[v] - working.x[v], turned_next[v] - working.turned[v], moved);
        alm.price[v] -= turned_next[v];
        working.x[v] = next[v];
        working.turned[v] = turned_next[v];
    }
    /* The penalty follows what moved; the multipliers, penalty times price, stay what they are. */
    double factor =
        alm_change(alm.penalty, sqrt(fmax(hc_warp_sum(apart), 0.0)), sqrt(fmax(hc_warp_sum(moved), 0.0)));
    alm.is_due = factor < 1 || factor > 1;
    alm.penalty *= factor;
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
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
    __syncwarp();
    for (int32_t word = hc_lane(); word < (n + 31) / 32; word += 32) {
        shared->inside[word] = 0;
    }
    HcWorkingList list = working_list_all(library, pixel, shared);
    bool is_first = list.count == 0;
#pragma unroll 1
    for (bool is_new = true;; is_new = false) {
        working_look(library, pixel, list);
        if (!is_new && (pixel.gap <= library.rule.gap || taken >= end)) {
            break;
        }
        HcWorkingFound found = working_find(library, pixel, shared);
        bool is_other = is_new || !working_suffices(library, pixel, working, found.most);
        if (is_other) {
            if (!working_choose(library, list, found, working)) {
                panel->left[p] = true;
                break;
            }
            if (library.rule.sum_to_one && is_first) {
                working_begin_equal(library, pixel, working);
            }
        }
        /* Also of a set that stays, which is rare: so no registers hold the table while looks wait for loads.
         */
        working_load(library, pixel, working);
        if (is_other) {
            working_begin(library, working, solver);
        }
        is_first = false;
        working_advance(library, pixel, working, solver);
        taken++;
        working_write(library, pixel, working);
        list = working_list(working);
    }
    __syncwarp();
    if (hc_lane() == 0) {
        panel->iterations[p] = taken;
    }
    __syncwarp();
}

#endif
