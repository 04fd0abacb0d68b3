/* Sparse unmixing: panels of pixels that thread blocks take one after the other. */
#include "gpu/unmix/unmix.cuh"

#include "gpu/unmix/active.cuh"
#include "gpu/unmix/alm.cuh"
#include "gpu/unmix/fista.cuh"

#include <new>

static const char doing[] = "unmixing";

/* Thread blocks of a processor, and the memory that all of them may take together [bytes]. */
enum { BLOCKS_EACH = 4 };
static const size_t most_memory = (size_t)1 << 30;

struct HcUnmixing {
    HcUnmixingHead head;
    HcGpu *gpu;
    HcUnmixLibrary library;
    int32_t blocks;         /* that have scratch memory */
    size_t scratch_doubles; /* of a thread block */
    HcBuffer memory;        /* what the library points to */
    HcBuffer scratch;       /* the number of the next panel, then what the blocks work in */
};

/* The valid ones of these pixels, their W y and D W y. */
__device__ static void gather_pixels(const HcUnmixLibrary &library, const float *line, const uint8_t *mask,
                                     int32_t sample0, int32_t samples, HcUnmixPanel *panel,
                                     const HcUnmixScratch &scratch) {
    int32_t bands = library.rule.bands;
    if (hc_warp() == 0) {
        int32_t count = 0;
        for (int32_t first = sample0; first < sample0 + samples; first += 32) {
            int32_t sample = first + hc_lane();
            bool valid = sample < sample0 + samples && mask[sample] != 0;
            uint32_t in = __ballot_sync(0xFFFFFFFFU, valid);
            int32_t p = count + __popc(in & ((1U << hc_lane()) - 1));
            if (valid) {
                panel->sample[p] = sample;
                panel->number[p] = p;
                panel->iterations[p] = 0;
            }
            count += __popc(in);
        }
        if (hc_lane() == 0) {
            panel->count = panel->open = count;
        }
    }
    __syncthreads();
    for (int32_t p = hc_warp(); p < panel->count; p += HC_UNMIX_WARPS) {
        const float *pixel = line + (int64_t)panel->sample[p] * bands;
        double energy = 0;
        for (int32_t b = hc_lane(); b < bands; b += 32) {
            double value = library.weight[b] * (double)pixel[b];
            energy = fma((double)pixel[b], value, energy);
            scratch.weighted[(int64_t)p * bands + b] = value;
        }
        energy = hc_warp_sum(energy);
        if (hc_lane() == 0) {
            panel->energy[p] = energy;
        }
    }
    __syncthreads();
    hc_unmix_multiply(panel, scratch.weighted, library.spectrum, library.rule.spectra, bands, false,
                      scratch.product);
}

/* Rounded once; 0 below the threshold. */
__device__ static inline float written(const HcUnmixRule &rule, double abundance) {
    float value = (float)abundance;
    return (double)value < rule.threshold ? 0 : value;
}

/* The largest abundances, of equal ones the first: their numbers, then their values. A warp. */
__device__ static void write_largest(const HcUnmixRule &rule, const double *abundance, float *to) {
    float last = INFINITY;
    int32_t last_at = -1;
    for (int32_t i = 0; i < rule.top; i++) {
        float most = 0;
        int32_t at = -1;
        for (int32_t k = hc_lane(); k < rule.spectra; k += 32) {
            float value = written(rule, abundance[k]);
            bool is_next = value < last || (value == last && k > last_at);
            if (is_next && value > most) {
                most = value;
                at = k;
            }
        }
        for (int d = 16; d > 0; d /= 2) {
            float other = __shfl_xor_sync(0xFFFFFFFFU, most, d);
            int32_t other_at = __shfl_xor_sync(0xFFFFFFFFU, at, d);
            bool is_other = other > most || (other == most && other_at >= 0 && other_at < at);
            most = is_other ? other : most;
            at = is_other ? other_at : at;
        }
        if (hc_lane() == 0) {
            to[i] = (float)at;
            to[rule.top + i] = most;
        }
        last = most;
        last_at = at;
        if (at < 0) {
            last = 0; /* there are no more */
        }
    }
}

/* A warp a pixel. */
__device__ static void write_pixel(const HcUnmixRule &rule, const HcUnmixPanel *panel, int32_t p,
                                   const double *abundance, float *to) {
    int32_t at = rule.top > 0 ? 2 * rule.top : rule.spectra;
    if (rule.top > 0) {
        write_largest(rule, abundance, to);
    } else {
        for (int32_t k = hc_lane(); k < rule.spectra; k += 32) {
            to[k] = written(rule, abundance[k]);
        }
    }
    if (hc_lane() == 0) {
        double added[HC_UNMIX_ADDS];
        added[HC_UNMIX_ADD_RMSE] = panel->rmse[p];
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
        double value = (double)written(rule, abundance[k]);
        if (value != 0) {
            add(pixels + k, 1);
            add(sums + k, llrint(fmin(value, 0x1p16) / HC_UNMIX_COUNT_UNIT));
        }
    }
}

/* Masked pixels are 0, the others what was found. */
__device__ static void write_panel(const HcUnmixLibrary &library, const HcUnmixPanel *panel,
                                   const HcUnmixScratch &scratch, const uint8_t *mask, int32_t sample0,
                                   int32_t samples, const HcView &out, int64_t row, bool counted) {
    int64_t bands = out.bands;
    float *line = out.data + row * out.samples * bands;
    for (int32_t s = sample0 + hc_warp(); s < sample0 + samples; s += HC_UNMIX_WARPS) {
        if (hc_lane() == 0) {
            out.mask[row * out.samples + s] = mask[s];
        }
        for (int64_t k = s * bands + hc_lane(); mask[s] == 0 && k < (s + 1) * bands; k += 32) {
            line[k] = 0;
        }
    }
    for (int32_t p = hc_warp(); p < panel->count; p += HC_UNMIX_WARPS) {
        const double *abundance = scratch.abundance + (int64_t)p * library.rule.spectra;
        write_pixel(library.rule, panel, p, abundance, line + panel->sample[p] * bands);
        if (counted) {
            count_pixel(library.rule, panel, p, abundance);
        }
    }
}

__device__ static inline HcUnmixScratch scratch_of(const HcUnmixLibrary &library, double *blocks_scratch,
                                                   size_t scratch_doubles) {
    int64_t row = library.rule.spectra;
    HcUnmixScratch scratch;
    scratch.weighted = blocks_scratch + blockIdx.x * scratch_doubles;
    scratch.product = scratch.weighted + HC_UNMIX_PANEL * (int64_t)library.rule.bands;
    scratch.abundance = scratch.product + HC_UNMIX_PANEL * row;
    scratch.slope = scratch.abundance + HC_UNMIX_PANEL * row;
    scratch.solver = scratch.slope + HC_UNMIX_PANEL * row;
    return scratch;
}

/* Rows of `out` whose abundances are counted. */
struct Counted {
    int64_t first, end;
};

template <HcUnmixSolver SOLVER>
__global__ static void __launch_bounds__(HC_UNMIX_THREADS, BLOCKS_EACH)
    unmix_panels(const __grid_constant__ HcUnmixLibrary library, HcView in, HcView out, Counted counted,
                 double *blocks_scratch, size_t scratch_doubles, int32_t *next) {
    __shared__ HcUnmixPanel panel;
    __shared__ HcActiveShared shared[SOLVER == HC_UNMIX_ACTIVE ? HC_UNMIX_WARPS : 1];
    __shared__ HcMetricShared metric[HC_UNMIX_WARPS];
    __shared__ int32_t taken;
    HcUnmixScratch scratch = scratch_of(library, blocks_scratch, scratch_doubles);
    int32_t panels = (out.samples + HC_UNMIX_PANEL - 1) / HC_UNMIX_PANEL;
    for (;;) {
        if (threadIdx.x == 0) {
            taken = atomicAdd(next, 1);
        }
        __syncthreads();
        int64_t unit = taken;
        if (unit >= out.rows * panels) {
            return;
        }
        int64_t row = unit / panels;
        int64_t row_in = row + out.first_line - in.first_line;
        int32_t sample0 = (int32_t)(unit % panels) * HC_UNMIX_PANEL;
        int32_t samples = min((int)HC_UNMIX_PANEL, out.samples - sample0);
        const float *line = in.data + row_in * in.samples * in.bands;
        const uint8_t *mask = in.mask + row_in * in.samples;
        gather_pixels(library, line, mask, sample0, samples, &panel, scratch);
        if (SOLVER == HC_UNMIX_ACTIVE) {
            hc_unmix_active(library, line, &panel, scratch, shared);
        } else if (SOLVER == HC_UNMIX_FISTA) {
            hc_unmix_fista(library, line, &panel, scratch, metric);
        } else {
            hc_unmix_alm(library, line, &panel, scratch, metric);
        }
        write_panel(library, &panel, scratch, mask, sample0, samples, out, row,
                    library.rule.counts != NULL && row >= counted.first && row < counted.end);
        __syncthreads();
    }
}

/* Doubles of a thread block. */
static size_t scratch_doubles(const HcUnmixing *unmixing) {
    const HcUnmixRule *rule = &unmixing->library.rule;
    size_t spectra = (size_t)rule->spectra;
    size_t solver = 0;
    size_t width = (size_t)unmixing->library.width;
    if (rule->solver == HC_UNMIX_ACTIVE) {
        solver = HC_UNMIX_WARPS * hc_active_scratch((size_t)hc_active_capacity(rule->spectra, rule->bands));
    } else if (rule->solver == HC_UNMIX_FISTA) {
        solver = HC_UNMIX_PANEL * hc_fista_kept(spectra, width) + HC_UNMIX_WARPS * hc_fista_scratch(spectra);
    } else {
        solver = HC_UNMIX_PANEL * hc_alm_kept(spectra, width, (size_t)unmixing->library.rank) +
                 HC_UNMIX_WARPS * hc_alm_scratch(spectra);
    }
    return HC_UNMIX_PANEL * ((size_t)rule->bands + 3 * spectra) + solver;
}

/* As many thread blocks as the device runs at once, where their memory allows. */
static HcStatus take_scratch(HcUnmixing *unmixing, HcError *err) {
    size_t most = unmixing->gpu->memory > 0 && unmixing->gpu->memory / 8 < most_memory
                      ? (size_t)unmixing->gpu->memory / 8
                      : most_memory;
    unmixing->scratch_doubles = scratch_doubles(unmixing);
    size_t fitting = most / (unmixing->scratch_doubles * sizeof(double));
    size_t wanted = BLOCKS_EACH * (size_t)unmixing->gpu->processors;
    unmixing->blocks = (int32_t)(fitting < 1 ? 1 : fitting < wanted ? fitting : wanted);
    return hc_gpu_alloc(&unmixing->gpu->base, HC_MEMORY_DEVICE,
                        256 + (size_t)unmixing->blocks * unmixing->scratch_doubles * sizeof(double),
                        &unmixing->scratch, err);
}

HcStatus hc_gpu_unmix_open(HcCompute *compute, const HcUnmixRule *rule, HcUnmixing **out, HcError *err) {
    HcStatus status = HC_OK;
    HcUnmixing *unmixing = NULL;
    *out = NULL;
    unmixing = new (std::nothrow) HcUnmixing();
    if (unmixing == NULL) {
        HC_TRY(hc_fail_memory(err, sizeof *unmixing, doing));
    }
    unmixing->gpu = (HcGpu *)compute;
    unmixing->library.rule = *rule;
    HC_TRY(hc_gpu_use(unmixing->gpu, err));
    HC_TRY(hc_unmix_derive(unmixing->gpu, &unmixing->library, &unmixing->memory, err));
    HC_TRY(take_scratch(unmixing, err));
    *out = unmixing;
    unmixing = NULL;
done:
    hc_gpu_unmix_close(unmixing);
    return status;
}

void hc_gpu_unmix_close(HcUnmixing *unmixing) {
    if (unmixing != NULL) {
        hc_gpu_release(&unmixing->gpu->base, &unmixing->memory);
        hc_gpu_release(&unmixing->gpu->base, &unmixing->scratch);
        delete unmixing;
    }
}

typedef void (*Kernel)(const HcUnmixLibrary, HcView, HcView, Counted, double *, size_t, int32_t *);

HcStatus hc_gpu_unmix(HcQueue *queue, const HcBlock *in, HcUnmixing *unmixing, const HcBlock *out,
                      HcError *err) {
    static const Kernel kernels[] = {unmix_panels<HC_UNMIX_ACTIVE>, unmix_panels<HC_UNMIX_FISTA>,
                                     unmix_panels<HC_UNMIX_ALM>};
    int32_t *next = NULL;
    double *blocks_scratch = NULL;
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    next = (int32_t *)unmixing->scratch.data; /* of the panel to take */
    blocks_scratch = (double *)((char *)unmixing->scratch.data + 256);
    HC_OR_RETURN(hc_gpu_check(cudaMemsetAsync(next, 0, sizeof *next, queue->stream), doing, err));
    kernels[unmixing->library.rule
                .solver]<<<(unsigned)unmixing->blocks, HC_UNMIX_THREADS, 0, queue->stream>>>(
        unmixing->library, hc_view(in), hc_view(out), Counted{out->above, (int64_t)out->above + out->lines},
        blocks_scratch, unmixing->scratch_doubles, next);
    return hc_gpu_launched(doing, err);
}
