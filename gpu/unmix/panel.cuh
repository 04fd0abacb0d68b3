/* Pixels to slots of a panel, and what was found to where it is written. */
#ifndef HC_GPU_UNMIX_PANEL_CUH
#define HC_GPU_UNMIX_PANEL_CUH

#include "gpu/unmix/unmix.cuh"

/* Rows of the block that is written whose abundances are counted. */
struct HcUnmixCounted {
    int64_t first, end;
};

/* Rounded once; 0 below the threshold. */
__device__ static inline float written(const HcUnmixRule &rule, double abundance) {
    float value = (float)abundance;
    return (double)value < rule.threshold ? 0 : value;
}

/* The largest abundances, of equal ones the first: their numbers, then their values. A warp. */
__device__ static void write_largest(const HcUnmixRule &rule, const double *abundance, double level,
                                     float *to) {
    enum { HELD = 8 };
    int32_t n = rule.spectra;
    int32_t count = 0;
    for (int32_t k0 = hc_lane(); k0 < n + hc_lane(); k0 += 32 * HELD) {
        float value[HELD];
        int32_t rank[HELD] = {}; /* how many are larger */
        count = 0;
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            value[i] = k0 + 32 * i < n ? written(rule, level * abundance[k0 + 32 * i]) : 0;
        }
        for (int32_t first = 0; first < n; first += 32) {
            int32_t k = first + hc_lane();
            float here = k < n ? written(rule, level * abundance[k]) : 0;
            for (uint32_t in = __ballot_sync(0xFFFFFFFFU, here > 0); in != 0; in &= in - 1) {
                int from = __ffs((int)in) - 1;
                float other = __shfl_sync(0xFFFFFFFFU, here, from);
                count++;
#pragma unroll
                for (int i = 0; i < HELD; i++) {
                    bool is_first = other == value[i] && first + from < k0 + 32 * i;
                    rank[i] += other > value[i] || is_first ? 1 : 0;
                }
            }
        }
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            if (value[i] > 0 && rank[i] < rule.top) {
                to[rank[i]] = (float)(k0 + 32 * i);
                to[rule.top + rank[i]] = value[i];
            }
        }
    }
    for (int32_t i = count + hc_lane(); i < rule.top; i += 32) {
        to[i] = -1;
        to[rule.top + i] = 0;
    }
}

/* A warp a pixel. */
__device__ static void write_pixel(const HcUnmixRule &rule, const HcUnmixPanel *panel, int32_t p,
                                   const double *abundance, float *to) {
    int32_t at = rule.top > 0 ? 2 * rule.top : rule.spectra;
    double level = (double)panel->level[p];
    if (rule.top > 0) {
        write_largest(rule, abundance, level, to);
    } else {
        for (int32_t k = hc_lane(); k < rule.spectra; k += 32) {
            to[k] = written(rule, level * abundance[k]);
        }
    }
    if (hc_lane() == 0) {
        double added[HC_UNMIX_ADDS];
        added[HC_UNMIX_ADD_RMSE] = level * panel->rmse[p];
        added[HC_UNMIX_ADD_ITERATIONS] = panel->iterations[p];
        added[HC_UNMIX_ADD_GAP] = panel->gap[p];
        added[HC_UNMIX_ADD_END] = panel->gap[p] <= rule.gap ? HC_UNMIX_OPTIMAL : HC_UNMIX_UNFINISHED;
#pragma unroll
        for (int a = 0; a < HC_UNMIX_ADDS; a++) {
            if (rule.add[a]) {
                to[at++] = (float)added[a];
            }
        }
    }
}

__device__ static inline void add(int64_t *to, int64_t value) {
    atomicAdd((unsigned long long *)to, (unsigned long long)value);
}

__device__ static void count_pixel(const HcUnmixRule &rule, const HcUnmixPanel *panel, int32_t p,
                                   const double *abundance) {
    int64_t *pixels = rule.counts + HC_UNMIX_COUNTS;
    int64_t *sums = pixels + rule.spectra;
    if (hc_lane() == 0) {
        add(rule.counts + HC_UNMIX_COUNT_PIXELS, 1);
        add(rule.counts + HC_UNMIX_COUNT_UNFINISHED, !(panel->gap[p] <= rule.gap));
        atomicMax((long long *)rule.counts + HC_UNMIX_COUNT_GAP, __double_as_longlong(fabs(panel->gap[p])));
    }
    for (int32_t k = hc_lane(); k < rule.spectra; k += 32) {
        double value = (double)written(rule, (double)panel->level[p] * abundance[k]);
        if (value != 0) {
            add(pixels + k, 1);
            add(sums + k, llrint(fmin(value, 0x1p16) / HC_UNMIX_COUNT_UNIT));
        }
    }
}

/* Slot p to its place in `out`. A warp. */
__device__ static __noinline__ void hc_unmix_write(const HcUnmixRule &rule, const HcUnmixPanel *panel,
                                                   int32_t p, const HcUnmixScratch &scratch,
                                                   const HcView &out, HcUnmixCounted counted) {
    const double *abundance = scratch.abundance + (int64_t)p * rule.spectra;
    int64_t row = panel->place[p] / out.samples;
    write_pixel(rule, panel, p, abundance, out.data + panel->place[p] * out.bands);
    if (rule.counts != NULL && row >= counted.first && row < counted.end) {
        count_pixel(rule, panel, p, abundance);
    }
}

/* Takes over whether a pixel counts; where it does not, it is 0. A warp. */
__device__ static inline void hc_unmix_write_mask(const HcView &out, int64_t place, uint8_t mask) {
    if (hc_lane() == 0) {
        out.mask[place] = mask;
    }
    for (int32_t k = hc_lane(); mask == 0 && k < out.bands; k += 32) {
        out.data[place * out.bands + k] = 0;
    }
}

/* W y, y'W y and D W y of the slots in number[count]. All threads of the block. */
__device__ static inline void hc_unmix_gather(const HcUnmixLibrary &library, HcUnmixPanel *panel,
                                              const int32_t *number, int32_t count,
                                              const HcUnmixScratch &scratch) {
    int32_t bands = library.rule.bands;
    for (int32_t j = hc_warp(); j < count; j += hc_warps()) {
        int32_t p = number[j];
        const float *pixel = panel->pixel[p];
        double scale = 1 / (double)panel->level[p];
        double energy = 0;
        for (int32_t b = hc_lane(); b < bands; b += 32) {
            double y = scale * (double)pixel[b];
            double value = library.weight[b] * y;
            energy = fma(y, value, energy);
            scratch.weighted[(int64_t)p * bands + b] = value;
        }
        energy = hc_warp_sum(energy);
        if (hc_lane() == 0) {
            panel->energy[p] = energy;
        }
    }
    __syncthreads();
    hc_unmix_multiply(number, count, scratch.weighted, library.spectrum, library.rule.spectra, bands, false,
                      scratch.product);
}

#endif
