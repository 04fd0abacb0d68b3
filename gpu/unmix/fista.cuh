/* Fast proximal gradients of all open pixels of a panel at once (cpu/unmix/fista.c). */
#ifndef HC_GPU_UNMIX_FISTA_CUH
#define HC_GPU_UNMIX_FISTA_CUH

#include "gpu/unmix/certify.cuh"

/* Gaps are looked at once in so many steps. */
#define HC_FISTA_STEPS 20

/* The nearest point whose entries are not negative and sum to one (Michelot 1986). A warp. */
__device__ static void fista_to_shares(double *x, int32_t n) {
    int32_t count = n + 1;
    int32_t above = -1;
    double level = -INFINITY;
    while (above != count) {
        double sum = 0;
        double found = 0;
        above = count;
        for (int32_t k = hc_lane(); k < n; k += 32) {
            if (x[k] > level) {
                sum += x[k];
                found++;
            }
        }
        sum = hc_warp_sum(sum);
        count = (int32_t)hc_warp_sum(found);
        if (count == 0) { /* not finite */
            break;
        }
        level = (sum - 1) / (double)count;
    }
    for (int32_t k = hc_lane(); k < n; k += 32) {
        x[k] = x[k] > level ? x[k] - level : 0;
    }
}

/* A warp a pixel, behind the product of `ahead` and gram in `step`. */
__device__ static void fista_move(const HcUnmixLibrary &library, const double *__restrict__ product,
                                  double *__restrict__ here, double *__restrict__ ahead,
                                  double *__restrict__ step, double *momentum) {
    int32_t n = library.rule.spectra;
    bool sums = library.rule.sum_to_one;
    double scale = library.largest > 0 ? 1 / library.largest : 0;
    double added = sums ? library.shift : -library.rule.lambda;
    double uphill = 0;
#pragma unroll 4
    for (int32_t k = hc_lane(); k < n; k += 32) {
        double value = ahead[k] + (product[k] - step[k] + added) * scale;
        step[k] = sums || value > 0 ? value : 0;
    }
    if (sums) {
        fista_to_shares(step, n);
    }
#pragma unroll 4
    for (int32_t k = hc_lane(); k < n; k += 32) {
        uphill += (ahead[k] - step[k]) * (step[k] - here[k]);
    }
    double before = hc_warp_sum(uphill) > 0 ? 1 : *momentum;
    double after = (1 + sqrt(1 + 4 * before * before)) / 2;
    double factor = (before - 1) / after;
#pragma unroll 4
    for (int32_t k = hc_lane(); k < n; k += 32) {
        ahead[k] = step[k] + factor * (step[k] - here[k]);
        here[k] = step[k];
    }
    __syncwarp();
    if (hc_lane() == 0) {
        *momentum = after;
    }
}

__device__ static inline void hc_unmix_fista(const HcUnmixLibrary &library, const float *line,
                                             HcUnmixPanel *panel, const HcUnmixRoom &room) {
    int64_t n = library.rule.spectra;
    double *ahead = room.scratch;
    double *step = ahead + HC_UNMIX_PANEL * n;
    double *here = room.abundance;
    for (int64_t i = threadIdx.x; i < panel->count * n; i += HC_UNMIX_THREADS) {
        here[i] = ahead[i] = library.rule.sum_to_one ? 1 / (double)n : 0;
    }
    for (int32_t p = (int32_t)threadIdx.x; p < panel->count; p += HC_UNMIX_THREADS) {
        panel->state[p] = 1;
    }
    __syncthreads();
    for (int32_t done = 0; panel->open > 0 && done < library.rule.iterations;) {
        int32_t steps = min(HC_FISTA_STEPS, library.rule.iterations - done);
        for (int32_t i = 0; i < steps; i++) {
            hc_unmix_multiply(panel, ahead, library.gram, (int32_t)n, (int32_t)n, false, step);
            for (int32_t j = hc_warp(); j < panel->open; j += HC_UNMIX_WARPS) {
                int64_t p = panel->number[j];
                fista_move(library, room.product + p * n, here + p * n, ahead + p * n, step + p * n,
                           &panel->state[p]);
            }
            __syncthreads();
        }
        done += steps;
        for (int32_t j = (int32_t)threadIdx.x; j < panel->open; j += HC_UNMIX_THREADS) {
            panel->iterations[panel->number[j]] = done;
        }
        __syncthreads();
        hc_unmix_certify(library, line, panel, room);
    }
}

#endif
