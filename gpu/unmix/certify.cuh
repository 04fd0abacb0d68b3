/* How far abundances are from the optimum: residuals, slopes and duality gaps of a panel (cpu/unmix/unmix.c).
 */
#ifndef HC_GPU_UNMIX_CERTIFY_CUH
#define HC_GPU_UNMIX_CERTIFY_CUH

#include "gpu/unmix/unmix.cuh"

__device__ static __noinline__ void form_residual(const HcUnmixLibrary &library, const float *pixel,
                                                  double scale, const double *abundance, double *weighted,
                                                  double *square, double *sum) {
    enum { HELD = 8, TOGETHER = 2 };
    int32_t spectra = library.rule.spectra;
    int32_t bands = library.rule.bands;
    double square_here = 0;
    double sum_here = 0;
    for (int32_t band0 = hc_lane(); band0 < bands + hc_lane(); band0 += 32 * HELD) {
        double residual[HELD];
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            residual[i] = band0 + 32 * i < bands ? scale * (double)pixel[band0 + 32 * i] : 0;
        }
        for (int32_t first = 0; first < spectra; first += 32) {
            int32_t k = first + hc_lane();
            double x = k < spectra ? abundance[k] : 0;
            for (uint32_t in = __ballot_sync(0xFFFFFFFFU, x != 0); in != 0;) {
                int from = 0;
                double taken[TOGETHER];
                double entry[TOGETHER][HELD];
#pragma unroll
                for (int u = 0; u < TOGETHER; u++) {
                    from = in != 0 ? __ffs((int)in) - 1 : from;
                    const double *spectrum = library.spectrum + (int64_t)(first + from) * bands + band0;
                    taken[u] = in != 0 ? -__shfl_sync(0xFFFFFFFFU, x, from) : 0;
                    in &= in - 1;
#pragma unroll
                    for (int i = 0; i < HELD; i++) {
                        entry[u][i] = spectrum[32 * i];
                    }
                }
#pragma unroll
                for (int u = 0; u < TOGETHER; u++) {
#pragma unroll
                    for (int i = 0; i < HELD; i++) {
                        residual[i] = fma(taken[u], entry[u][i], residual[i]);
                    }
                }
            }
        }
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            int32_t band = band0 + 32 * i;
            if (band < bands) {
                double value = library.weight[band] * residual[i];
                sum_here = fma(residual[i], residual[i], sum_here);
                square_here = fma(residual[i], value, square_here);
                weighted[band] = value;
            }
        }
    }
    *square = hc_warp_sum(square_here);
    *sum = hc_warp_sum(sum_here);
}

/* Upper bound of F(x) - F where abundances sum to one: x'g - min g (Frank and Wolfe 1956). No term is
 * negative. */
__device__ static double gap_of_shares(int32_t spectra, const double *abundance, const double *slope) {
    double top = -INFINITY;
    double gap = 0;
    for (int32_t k = hc_lane(); k < spectra; k += 32) {
        top = slope[k] > top ? slope[k] : top;
    }
    top = hc_warp_most(top);
    for (int32_t k = hc_lane(); k < spectra; k += 32) {
        gap += abundance[k] * (top - slope[k]);
    }
    return hc_warp_sum(gap);
}

/* The lesser gap of two dual points, s r and r - t v, from each lane's parts of the sums. */
__device__ static inline double lesser_gap(const HcUnmixLibrary &library, double s, double scaled, double t,
                                           double moved, double square) {
    scaled = hc_warp_sum(scaled) + (1 - s) * (1 - s) * square / 2;
    moved = hc_warp_sum(moved) + t * t * library.rise_square / 2;
    return library.rise != NULL && moved < scaled ? moved : scaled;
}

/* A gap in relation to F(x). Rounding may take it below 0. */
__device__ static inline double gap_of_value(double gap, double value, double energy) {
    return gap <= 0 ? 0 : gap / fmax(value, HC_UNMIX_TINIEST * energy);
}

/* F(x) minus the dual function at s r, s the largest scale up to 1 that is allowed, or at r - t v, whichever
 * is less. No term is negative. */
__device__ static double gap_of_dual(const HcUnmixLibrary &library, const double *abundance,
                                     const double *slope, double square) {
    double lambda = library.rule.lambda;
    double top = lambda;
    double t = 0;
    for (int32_t k = hc_lane(); k < library.rule.spectra; k += 32) {
        top = slope[k] > top ? slope[k] : top;
        if (library.rise != NULL && slope[k] - lambda > t * library.rise[k]) {
            t = (slope[k] - lambda) / library.rise[k];
        }
    }
    top = hc_warp_most(top);
    t = hc_warp_most(t);
    double s = top > lambda ? lambda / top : 1;
    double scaled = 0;
    double moved = 0;
    for (int32_t k = hc_lane(); k < library.rule.spectra; k += 32) {
        if (abundance[k] != 0) {
            double rise = library.rise != NULL ? library.rise[k] : 0;
            scaled += abundance[k] * (lambda - s * slope[k]);
            moved += abundance[k] * (lambda - slope[k] + t * rise);
        }
    }
    return lesser_gap(library, s, scaled, t, moved, square);
}

__device__ static __noinline__ double relative_gap(const HcUnmixLibrary &library, const double *abundance,
                                                   const double *slope, double square, double energy) {
    double value = square / 2;
    double gap = 0;
    if (library.rule.sum_to_one) {
        gap = gap_of_shares(library.rule.spectra, abundance, slope);
    } else {
        double sum = 0;
        gap = gap_of_dual(library, abundance, slope, square);
        for (int32_t k = hc_lane(); k < library.rule.spectra; k += 32) {
            sum += abundance[k];
        }
        value += library.rule.lambda * hc_warp_sum(sum);
    }
    return gap_of_value(gap, value, energy);
}

/* Of the first `count` slots those that stay(slot) are open, and the others follow after them. A warp. */
template <typename Stay>
__device__ static inline void hc_unmix_part(HcUnmixPanel *panel, int32_t count, Stay stay) {
    int32_t open = 0;
    int32_t slot[HC_UNMIX_PANEL / 32];
    uint32_t in[HC_UNMIX_PANEL / 32];
#pragma unroll
    for (int i = 0; i < HC_UNMIX_PANEL / 32; i++) {
        int32_t j = 32 * i + hc_lane();
        slot[i] = j < count ? panel->number[j] : 0;
        in[i] = __ballot_sync(0xFFFFFFFFU, j < count && stay(slot[i]));
        open += __popc(in[i]);
    }
    __syncwarp();
    int32_t stays = 0;
#pragma unroll
    for (int i = 0; i < HC_UNMIX_PANEL / 32; i++) {
        int32_t j = 32 * i + hc_lane();
        int32_t lower = stays + __popc(in[i] & ((1U << hc_lane()) - 1)); /* open slots before this one */
        if (j < count) {
            panel->number[(in[i] >> hc_lane() & 1) != 0 ? lower : open + j - lower] = slot[i];
        }
        stays += __popc(in[i]);
    }
    if (hc_lane() == 0) {
        panel->open = open;
    }
}

/* Residuals, slopes and relative duality gaps of the open slots; those whose gap is as asked for, that had
 * their maximum of iterations or that are left, are no longer open. All threads of the block. */
__device__ static __noinline__ void hc_unmix_certify(const HcUnmixLibrary &library, HcUnmixPanel *panel,
                                                     const HcUnmixScratch &scratch, int32_t iterations) {
    int64_t spectra = library.rule.spectra;
    int32_t bands = library.rule.bands;
    for (int32_t j = hc_warp(); j < panel->open; j += hc_warps()) {
        int64_t p = panel->number[j];
        double square, sum;
        form_residual(library, panel->pixel[p], 1 / (double)panel->level[p], scratch.abundance + p * spectra,
                      scratch.weighted + p * bands, &square, &sum);
        if (hc_lane() == 0) {
            panel->square[p] = square;
            panel->rmse[p] = sqrt(sum / bands);
        }
    }
    __syncthreads();
    hc_unmix_multiply(panel->number, panel->open, scratch.weighted, library.spectrum, library.rule.spectra,
                      bands, false, scratch.slope);
    for (int32_t j = hc_warp(); j < panel->open; j += hc_warps()) {
        int64_t p = panel->number[j];
        double gap = relative_gap(library, scratch.abundance + p * spectra, scratch.slope + p * spectra,
                                  panel->square[p], panel->energy[p]);
        if (hc_lane() == 0) {
            panel->gap[p] = gap;
        }
    }
    __syncthreads();
    if (hc_warp() == 0) {
        double wanted = library.rule.gap;
        hc_unmix_part(panel, panel->open, [&](int32_t p) {
            return !(panel->gap[p] <= wanted) && panel->iterations[p] < iterations && !panel->left[p];
        });
    }
    __syncthreads();
}

#endif
