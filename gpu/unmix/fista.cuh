/* Fast proximal gradients (cpu/unmix/fista.c), a warp a pixel. */
#ifndef HC_GPU_UNMIX_FISTA_CUH
#define HC_GPU_UNMIX_FISTA_CUH

#include "gpu/unmix/metric.cuh"

/* Checks gaps every N steps. */
#define HC_FISTA_STEPS 10

/* A pixel, as its warp holds it while it takes steps. */
struct HcFista {
    const double *product; /* [spectra] D W y */
    double *here;          /* [spectra] */
    double *ahead;         /* [spectra] where the momentum leads */
    double turned_here;    /* the lane's entry of U' here */
    double turned_ahead;   /* of U' ahead */
    double momentum;
};

/* Doubles that are kept of a slot: ahead, U' here, U' ahead; and what a warp works in. */
__host__ __device__ static inline size_t hc_fista_kept(size_t spectra) {
    return spectra + 2 * HC_METRIC_WIDTH;
}

__host__ __device__ static inline size_t hc_fista_scratch(size_t spectra) {
    return 2 * spectra + hc_metric_scratch(spectra);
}

/* Spectra that a lane holds at a time. Entries beyond the last are read, but not used. */
enum { HC_FISTA_HELD = 8 };

/* Adds the slopes of some abundances, taken(m) of spectrum number[m], to the slopes of all. Loads are
 * unconditional, so that all of them are on their way together. */
template <typename Taken>
__device__ static inline void fista_add(const HcUnmixLibrary &library, Taken taken, const int32_t *number,
                                        int32_t count, int32_t k0, double (&slope)[HC_FISTA_HELD]) {
    enum { TOGETHER = 2, HELD = HC_FISTA_HELD };
    int32_t n = library.rule.spectra;
#pragma unroll 1
    for (int32_t m = 0; m < count; m += TOGETHER) {
        double factor[TOGETHER];
        double entry[TOGETHER][HELD];
#pragma unroll
        for (int u = 0; u < TOGETHER; u++) {
            int32_t from = m + u < count ? m + u : m;
            const double *row = library.gram + (int64_t)number[from] * n + k0;
            factor[u] = m + u < count ? -taken(from) : 0;
#pragma unroll
            for (int i = 0; i < HELD; i++) {
                entry[u][i] = row[32 * i];
            }
        }
#pragma unroll
        for (int u = 0; u < TOGETHER; u++) {
#pragma unroll
            for (int i = 0; i < HELD; i++) {
                slope[i] = fma(factor[u], entry[u][i], slope[i]);
            }
        }
    }
}

/* target = ahead + the step against the gradient: few entries of `ahead` are not 0. */
__device__ static inline void fista_step_down(const HcUnmixLibrary &library, const HcFista &fista,
                                              const HcMetric &metric) {
    enum { HELD = HC_FISTA_HELD };
    int32_t n = library.rule.spectra;
    double scale = library.level > 0 ? 1 / library.level : 0;
    double added = library.rule.sum_to_one ? library.shift : -library.rule.lambda;
    int32_t *list = (int32_t *)metric.next;
    int32_t count = hc_metric_list<false>(n, fista.ahead, list);
    for (int32_t k0 = hc_lane(); k0 < n; k0 += 32 * HELD) {
        double slope[HELD];
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            slope[i] = fista.product[k0 + 32 * i] + added;
        }
        fista_add(
            library, [&](int32_t m) { return fista.ahead[list[m]]; }, list, count, k0, slope);
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            int32_t k = k0 + 32 * i;
            if (k < n) {
                metric.target[k] = fma(scale, slope[i], fista.ahead[k]);
            }
        }
    }
    __syncwarp();
}

/* One step of a pixel. A warp. */
__device__ static inline void fista_advance(const HcUnmixLibrary &library, HcMetric &metric, HcFista &fista) {
    int32_t n = library.rule.spectra;
    int lane = hc_lane();
    bool is_sum = lane >= library.size && lane < library.width;
    double turned_ahead = is_sum ? 1 : fista.turned_ahead;
    fista_step_down(library, fista, metric);
    double turned = hc_unmix_nearest(library, metric, turned_ahead, fista.here);
    double *step = metric.next;
    double uphill = lane < library.size ? (turned_ahead - turned) * (turned - fista.turned_here) : 0;
    for (int32_t k = lane; k < n; k += 32) {
        uphill += (fista.ahead[k] - step[k]) * (step[k] - fista.here[k]);
    }
    double before = hc_warp_sum(uphill) > 0 ? 1 : fista.momentum;
    fista.momentum = (1 + sqrt(1 + 4 * before * before)) / 2;
    double factor = (before - 1) / fista.momentum;
    for (int32_t k = lane; k < n; k += 32) {
        fista.ahead[k] = step[k] + factor * (step[k] - fista.here[k]);
    }
    fista.turned_ahead = turned + factor * (turned - fista.turned_here);
    fista.turned_here = turned;
    metric.next = fista.here;
    fista.here = step;
    __syncwarp();
}

/* Slot p begins with abundances 0, or equal shares. A warp. */
__device__ static inline void hc_fista_begin(const HcUnmixLibrary &library, HcUnmixPanel *panel, int32_t p,
                                             const HcUnmixScratch &scratch, const double *direction) {
    int64_t n = library.rule.spectra;
    double *here = scratch.abundance + p * n;
    double *ahead = scratch.solver + p * hc_fista_kept(n);
    double share = library.rule.sum_to_one ? 1 / (double)n : 0;
    double turned = 0;
    for (int64_t k = hc_lane(); k < n; k += 32) {
        here[k] = ahead[k] = share;
    }
    for (int32_t k = 0; library.rule.sum_to_one && k < n; k++) {
        turned = fma(share, hc_metric_direction(direction, k), turned);
    }
    ahead[n + hc_lane()] = ahead[n + HC_METRIC_WIDTH + hc_lane()] = turned;
    if (hc_lane() == 0) {
        panel->state[p] = 1;
    }
    __syncwarp();
}

/* `steps` steps of slot p. A warp; its scratch is of hc_fista_scratch [doubles]. */
__device__ static inline void hc_fista_steps(const HcUnmixLibrary &library, HcUnmixPanel *panel, int32_t p,
                                             const HcUnmixScratch &scratch, const HcMetricWarp &warp,
                                             int32_t steps) {
    int64_t n = library.rule.spectra;
    double *here = scratch.abundance + p * n;
    double *ahead = scratch.solver + p * hc_fista_kept(n);
    HcMetric metric = hc_metric_new(warp, (int32_t)n);
    HcFista fista;
    fista.product = scratch.product + p * n;
    fista.here = warp.scratch + hc_metric_scratch(n);
    fista.ahead = fista.here + n;
    fista.turned_here = ahead[n + hc_lane()];
    fista.turned_ahead = ahead[n + HC_METRIC_WIDTH + hc_lane()];
    fista.momentum = panel->state[p];
    for (int64_t k = hc_lane(); k < n; k += 32) {
        fista.here[k] = here[k];
        fista.ahead[k] = ahead[k];
    }
    __syncwarp();
    for (int32_t i = 0; i < steps; i++) {
        fista_advance(library, metric, fista);
    }
    for (int64_t k = hc_lane(); k < n; k += 32) {
        here[k] = fista.here[k];
        ahead[k] = fista.ahead[k];
    }
    ahead[n + hc_lane()] = fista.turned_here;
    ahead[n + HC_METRIC_WIDTH + hc_lane()] = fista.turned_ahead;
    if (hc_lane() == 0) {
        panel->state[p] = fista.momentum;
        panel->iterations[p] += steps;
    }
    __syncwarp();
}

#endif
