/* Fast proximal gradients (cpu/unmix/fista.c), a warp a pixel. */
#ifndef HC_GPU_UNMIX_FISTA_CUH
#define HC_GPU_UNMIX_FISTA_CUH

#include "gpu/unmix/certify.cuh"
#include "gpu/unmix/metric.cuh"

/* Gaps are looked at once in so many steps. */
#define HC_FISTA_STEPS 10

/* Memory of a pixel, and of its warp. */
struct HcFista {
    const double *product; /* [spectra] D W y */
    double *here;          /* [spectra] */
    double *ahead;         /* [spectra] where the momentum leads */
    double *kept_here;     /* [width] U' here */
    double *kept_ahead;    /* [width] U' ahead */
    double *momentum;
    double *target, *step; /* [spectra] of the warp */
    double *scratch;       /* of the warp, for hc_unmix_nearest */
};

/* Doubles of the solver: of a pixel, and of a warp. */
__host__ __device__ static inline size_t hc_fista_kept(size_t spectra, size_t width) {
    return spectra + 2 * width;
}

__host__ __device__ static inline size_t hc_fista_scratch(size_t spectra) {
    return 2 * spectra + hc_metric_scratch(spectra);
}

__device__ static inline HcFista fista_at(const HcUnmixLibrary &library, HcUnmixPanel *panel,
                                          const HcUnmixScratch &scratch, int64_t p) {
    int64_t n = library.rule.spectra;
    HcFista fista;
    fista.product = scratch.product + p * n;
    fista.here = scratch.abundance + p * n;
    fista.ahead = scratch.solver + p * hc_fista_kept(n, library.width);
    fista.kept_here = fista.ahead + n;
    fista.kept_ahead = fista.kept_here + library.width;
    fista.momentum = &panel->state[p];
    fista.target =
        scratch.solver + HC_UNMIX_PANEL * hc_fista_kept(n, library.width) + hc_warp() * hc_fista_scratch(n);
    fista.step = fista.target + n;
    fista.scratch = fista.step + n;
    return fista;
}

/* target = ahead + the step against the gradient: few entries of `ahead` are not 0. */
__device__ static inline void fista_step_down(const HcUnmixLibrary &library, const HcFista &fista) {
    enum { HELD = 8 };
    int32_t n = library.rule.spectra;
    double scale = library.level > 0 ? 1 / library.level : 0;
    double added = library.rule.sum_to_one ? library.shift : -library.rule.lambda;
    for (int32_t k0 = hc_lane(); k0 < n + hc_lane(); k0 += 32 * HELD) {
        double slope[HELD];
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            slope[i] = k0 + 32 * i < n ? fista.product[k0 + 32 * i] + added : 0;
        }
        for (int32_t first = 0; first < n; first += 32) {
            double x = first + hc_lane() < n ? fista.ahead[first + hc_lane()] : 0;
            for (uint32_t in = __ballot_sync(0xFFFFFFFFU, x != 0); in != 0; in &= in - 1) {
                int from = __ffs((int)in) - 1;
                double taken = __shfl_sync(0xFFFFFFFFU, x, from);
                const double *row = library.gram + (int64_t)(first + from) * n;
#pragma unroll
                for (int i = 0; i < HELD; i++) {
                    slope[i] = fma(-taken, k0 + 32 * i < n ? row[k0 + 32 * i] : 0, slope[i]);
                }
            }
        }
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            int32_t k = k0 + 32 * i;
            if (k < n) {
                fista.target[k] = fma(scale, slope[i], fista.ahead[k]);
            }
        }
    }
    __syncwarp();
}

/* One step of a pixel. A warp. */
__device__ static void fista_advance(const HcUnmixLibrary &library, HcMetricShared *shared,
                                     const HcFista &fista) {
    int32_t n = library.rule.spectra;
    int lane = hc_lane();
    bool is_kept = lane < library.width;
    double kept_here = is_kept ? fista.kept_here[lane] : 0;
    double kept_ahead = is_kept ? fista.kept_ahead[lane] : 0;
    kept_ahead = is_kept && lane == library.size ? 1 : kept_ahead; /* the sum */
    fista_step_down(library, fista);
    double turned =
        hc_unmix_nearest(library, shared, fista.target, kept_ahead, fista.here, fista.step, fista.scratch);
    double uphill = lane < library.size ? (kept_ahead - turned) * (turned - kept_here) : 0;
    for (int32_t k = lane; k < n; k += 32) {
        uphill += (fista.ahead[k] - fista.step[k]) * (fista.step[k] - fista.here[k]);
    }
    double before = hc_warp_sum(uphill) > 0 ? 1 : *fista.momentum;
    double after = (1 + sqrt(1 + 4 * before * before)) / 2;
    double factor = (before - 1) / after;
    for (int32_t k = lane; k < n; k += 32) {
        fista.ahead[k] = fista.step[k] + factor * (fista.step[k] - fista.here[k]);
        fista.here[k] = fista.step[k];
    }
    if (is_kept) {
        fista.kept_ahead[lane] = turned + factor * (turned - kept_here);
        fista.kept_here[lane] = turned;
    }
    __syncwarp();
    if (lane == 0) {
        *fista.momentum = after;
    }
    __syncwarp();
}

/* Abundances 0, or equal shares. A warp. */
__device__ static inline void fista_begin(const HcUnmixLibrary &library, const HcFista &fista) {
    int32_t n = library.rule.spectra;
    double share = library.rule.sum_to_one ? 1 / (double)n : 0;
    double turned = 0;
    for (int32_t k = hc_lane(); k < n; k += 32) {
        fista.here[k] = fista.ahead[k] = share;
    }
    for (int32_t k = 0; k < n; k++) {
        turned = fma(share, metric_direction(library, k), turned);
    }
    if (hc_lane() < library.width) {
        fista.kept_here[hc_lane()] = fista.kept_ahead[hc_lane()] = turned;
    }
    if (hc_lane() == 0) {
        *fista.momentum = 1;
    }
    __syncwarp();
}

__device__ static inline void hc_unmix_fista(const HcUnmixLibrary &library, const float *line,
                                             HcUnmixPanel *panel, const HcUnmixScratch &scratch,
                                             HcMetricShared *shared) {
    for (int32_t p = hc_warp(); p < panel->count; p += HC_UNMIX_WARPS) {
        fista_begin(library, fista_at(library, panel, scratch, p));
    }
    __syncthreads();
    for (int32_t done = 0; panel->open > 0 && done < library.rule.iterations;) {
        int32_t steps = min(HC_FISTA_STEPS, library.rule.iterations - done);
        done += steps;
        for (int32_t j = hc_warp(); j < panel->open; j += HC_UNMIX_WARPS) {
            int32_t p = panel->number[j];
            HcFista fista = fista_at(library, panel, scratch, p);
            for (int32_t i = 0; i < steps; i++) {
                fista_advance(library, &shared[hc_warp()], fista);
            }
            if (hc_lane() == 0) {
                panel->iterations[p] = done;
            }
        }
        __syncthreads();
        hc_unmix_certify(library, line, panel, scratch);
    }
}

#endif
