/* Sparse unmixing: the panels of active sets, and what opens and closes both ways of unmixing. */
#include "gpu/unmix/unmix.cuh"

#include "gpu/unmix/active.cuh"
#include "gpu/unmix/panel.cuh"
#include "gpu/unmix/slots.cuh"

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
    HcSlotsNear near;       /* of FISTA and augmented Lagrangians */
    HcBuffer memory;        /* what the library points to */
    HcBuffer scratch;       /* the number of the next panel or pixel, then what the blocks work in */
};

/* The valid ones of these pixels to slots. */
__device__ static void take_panel(const HcUnmixRule &rule, const HcView &in, const HcView &out, int64_t row,
                                  int32_t sample0, int32_t samples, HcUnmixPanel *panel) {
    int64_t first_in = (row + out.first_line - in.first_line) * in.samples;
    if (hc_warp() == 0) {
        int32_t count = 0;
        for (int32_t first = sample0; first < sample0 + samples; first += 32) {
            int32_t sample = first + hc_lane();
            bool valid = sample < sample0 + samples && in.mask[first_in + sample] != 0;
            uint32_t within = __ballot_sync(0xFFFFFFFFU, valid);
            int32_t p = count + __popc(within & ((1U << hc_lane()) - 1));
            if (valid) {
                panel->number[p] = p;
                panel->pixel[p] = in.data + (first_in + sample) * in.bands;
                panel->place[p] = row * out.samples + sample;
                panel->level[p] = hc_unmix_level(rule, out, panel->place[p]);
                panel->iterations[p] = 0;
                panel->left[p] = false;
            }
            count += __popc(within);
        }
        if (hc_lane() == 0) {
            panel->open = count;
        }
    }
    for (int32_t s = sample0 + hc_warp(); s < sample0 + samples; s += HC_UNMIX_WARPS) {
        hc_unmix_write_mask(out, row * out.samples + s, in.mask[first_in + s]);
    }
    __syncthreads();
}

/* Active sets: up to HC_UNMIX_PANEL neighbouring pixels of one line, from multiples of it. */
__global__ static void __launch_bounds__(HC_UNMIX_THREADS, BLOCKS_EACH)
    unmix_panels(const __grid_constant__ HcUnmixLibrary library, HcView in, HcView out,
                 HcUnmixCounted counted, double *blocks_scratch, size_t scratch_doubles,
                 unsigned long long *next) {
    __shared__ HcUnmixPanel panel;
    __shared__ HcActiveShared shared[HC_UNMIX_WARPS];
    __shared__ int64_t taken;
    HcUnmixScratch scratch = hc_unmix_scratch_of(library, blocks_scratch + blockIdx.x * scratch_doubles);
    int32_t panels = (out.samples + HC_UNMIX_PANEL - 1) / HC_UNMIX_PANEL;
    for (;;) {
        if (threadIdx.x == 0) {
            taken = (int64_t)atomicAdd(next, 1);
        }
        __syncthreads();
        int64_t unit = taken;
        if (unit >= out.rows * panels) {
            return;
        }
        int32_t sample0 = (int32_t)(unit % panels) * HC_UNMIX_PANEL;
        take_panel(library.rule, in, out, unit / panels, sample0,
                   min((int)HC_UNMIX_PANEL, out.samples - sample0), &panel);
        int32_t count = panel.open;
        hc_unmix_gather(library, &panel, panel.number, count, scratch);
        hc_unmix_active(library, &panel, scratch, shared);
        for (int32_t p = hc_warp(); p < count; p += HC_UNMIX_WARPS) {
            hc_unmix_write(library.rule, &panel, p, scratch, out, counted);
        }
        __syncthreads();
    }
}

/* Doubles of a thread block. */
static size_t scratch_doubles(const HcUnmixing *unmixing) {
    const HcUnmixRule *rule = &unmixing->library.rule;
    size_t solver =
        rule->solver == HC_UNMIX_ACTIVE
            ? HC_UNMIX_WARPS * hc_active_scratch((size_t)hc_active_capacity(rule->spectra, rule->bands))
            : hc_slots_scratch(&unmixing->library);
    return HC_UNMIX_PANEL * ((size_t)rule->bands + 3 * (size_t)rule->spectra) + solver;
}

/* As many thread blocks as the device runs at once, where their memory allows. */
static HcStatus take_scratch(HcUnmixing *unmixing, HcError *err) {
    size_t most = unmixing->gpu->memory > 0 && unmixing->gpu->memory / 8 < most_memory
                      ? (size_t)unmixing->gpu->memory / 8
                      : most_memory;
    size_t each = unmixing->library.rule.solver == HC_UNMIX_ACTIVE ? BLOCKS_EACH : 1;
    unmixing->scratch_doubles = scratch_doubles(unmixing);
    size_t fitting = most / (unmixing->scratch_doubles * sizeof(double));
    size_t wanted = each * (size_t)unmixing->gpu->processors;
    unmixing->blocks = (int32_t)(fitting < 1 ? 1 : fitting < wanted ? fitting : wanted);
    return hc_gpu_alloc(&unmixing->gpu->base, HC_MEMORY_DEVICE,
                        256 + ((size_t)unmixing->blocks * unmixing->scratch_doubles + HC_UNMIX_BEYOND) *
                                  sizeof(double),
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
    if (rule->solver != HC_UNMIX_ACTIVE) {
        HC_TRY(hc_slots_find_near(unmixing->gpu, &unmixing->library, &unmixing->near, err));
    }
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

/* What the kernels of one call share. */
struct Call {
    const HcUnmixing *unmixing;
    HcView in, out;
    HcUnmixCounted counted;
    double *scratch;
    unsigned long long *next; /* [KERNELS] */
    cudaStream_t stream;
};

enum { KERNELS = 3 };

template <HcUnmixSolver SOLVER, int SIDE>
static HcStatus unmix_on_sets(const Call &call, int32_t warps, HcSlotsWhich which, unsigned long long *next,
                              HcError *err) {
    const HcUnmixing *unmixing = call.unmixing;
    unmix_working<SOLVER, SIDE>
        <<<(unsigned)unmixing->blocks, 32 * (unsigned)warps, (size_t)warps * working_bytes<SOLVER, SIDE>(),
           call.stream>>>(unmixing->library, call.in, call.out, call.counted, call.scratch,
                          unmixing->scratch_doubles, which, next);
    return hc_gpu_launched(doing, err);
}

/* Small working sets, then of 64, then all spectra, each for the pixels that the one before has left. */
template <HcUnmixSolver SOLVER> static HcStatus unmix_in_slots(const Call &call, HcError *err) {
    enum { SIDE = SOLVER == HC_UNMIX_ALM ? (int)HC_ALM_SIDE : (int)HC_FISTA_SIDE };
    const HcUnmixing *unmixing = call.unmixing;
    const HcSlotsNear *near = &unmixing->near;
    int32_t spectra = unmixing->library.rule.spectra;
    HC_OR_RETURN((unmix_on_sets<SOLVER, SIDE>(call, near->few_warps, HC_SLOTS_ALL, &call.next[0], err)));
    if (spectra <= 8 * SIDE) {
        return HC_OK;
    }
    HC_OR_RETURN((unmix_on_sets<SOLVER, 8>(call, near->some_warps, HC_SLOTS_LEFT, &call.next[1], err)));
    if (spectra <= 64) {
        return HC_OK;
    }
    hc_slots_kernel(&unmixing->library,
                    near)<<<(unsigned)unmixing->blocks, HC_SLOTS_THREADS, near->bytes, call.stream>>>(
        unmixing->library, call.in, call.out, call.counted, call.scratch, unmixing->scratch_doubles, *near,
        &call.next[2]);
    return hc_gpu_launched(doing, err);
}

HcStatus hc_gpu_unmix(HcQueue *queue, const HcBlock *in, HcUnmixing *unmixing, const HcBlock *out,
                      HcError *err) {
    char *memory = (char *)unmixing->scratch.data;
    Call call = {unmixing,
                 hc_view(in),
                 hc_view(out),
                 {out->above, (int64_t)out->above + out->lines},
                 (double *)(memory + 256),
                 (unsigned long long *)memory,
                 queue->stream};
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    HC_OR_RETURN(
        hc_gpu_check(cudaMemsetAsync(call.next, 0, KERNELS * sizeof *call.next, queue->stream), doing, err));
    if (unmixing->library.rule.solver == HC_UNMIX_FISTA) {
        return unmix_in_slots<HC_UNMIX_FISTA>(call, err);
    }
    if (unmixing->library.rule.solver == HC_UNMIX_ALM) {
        return unmix_in_slots<HC_UNMIX_ALM>(call, err);
    }
    unmix_panels<<<(unsigned)unmixing->blocks, HC_UNMIX_THREADS, 0, queue->stream>>>(
        unmixing->library, call.in, call.out, call.counted, call.scratch, unmixing->scratch_doubles,
        call.next);
    return hc_gpu_launched(doing, err);
}
