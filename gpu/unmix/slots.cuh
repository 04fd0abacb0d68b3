/* FISTA and augmented Lagrangians: a thread block has a slot for each of the pixels that it unmixes at a
 * time. A slot whose pixel is certified takes the next one, so that no warp waits for the slowest pixel. On
 * working sets that is the next one of its run, which begins with the abundances of the one before. */
#ifndef HC_GPU_UNMIX_SLOTS_CUH
#define HC_GPU_UNMIX_SLOTS_CUH

#include "gpu/unmix/alm.cuh"
#include "gpu/unmix/certify.cuh"
#include "gpu/unmix/fista.cuh"
#include "gpu/unmix/panel.cuh"
#include "gpu/unmix/working.cuh"

enum { HC_SLOTS_WARPS = 16, HC_SLOTS_THREADS = 32 * HC_SLOTS_WARPS };

/* What of a thread block's memory is shared memory, beside the vectors of its warps. */
struct HcSlotsNear {
    bool directions; /* U of the metric */
    bool scratch;    /* of the warps, and the directions */
    size_t bytes;
    int32_t few_warps, some_warps; /* of a block that works on small sets, and on sets of 64 spectra */
};

/* What a thread block keeps beside its panel. */
struct HcSlotsShared {
    int64_t first; /* of the pixels that are taken */
    int32_t turn;  /* the open slot whose turn it is */
};

/* Doubles that are kept of a slot, and that a warp works in. */
__host__ __device__ static inline size_t slots_kept(const HcUnmixLibrary *library) {
    size_t spectra = (size_t)library->rule.spectra;
    return library->rule.solver == HC_UNMIX_FISTA ? hc_fista_kept(spectra)
                                                  : hc_alm_kept(spectra, (size_t)library->rank);
}

__host__ __device__ static inline size_t slots_warps(const HcUnmixLibrary *library) {
    size_t spectra = (size_t)library->rule.spectra;
    return library->rule.solver == HC_UNMIX_FISTA ? hc_fista_scratch(spectra) : hc_metric_scratch(spectra);
}

/* Doubles of a thread block. */
static inline size_t hc_slots_scratch(const HcUnmixLibrary *library) {
    return HC_UNMIX_PANEL * slots_kept(library) + HC_SLOTS_WARPS * slots_warps(library);
}

/* Pixels of a line that a slot takes one after the other, counted from the start of each line. Longer runs
 * save few steps, and shorter ones fill more slots of small blocks. */
enum { HC_SLOTS_RUN = 4 };
static_assert(HC_SLOTS_RUN <= 32, "a lane a pixel");

/* The runs of the slots. */
struct HcSlotsRuns {
    int64_t next[HC_UNMIX_PANEL]; /* pixels that are left: from here */
    int64_t end[HC_UNMIX_PANEL];  /* to here */
    bool is_taken[HC_UNMIX_PANEL];
};

/* Which pixels a kernel takes. */
enum HcSlotsWhich { HC_SLOTS_ALL, HC_SLOTS_LEFT };

/* A pixel that is left to the next kernel has these bits in its first value of the output, a NaN, and in the
 * lower ones the iterations that it had. */
enum : uint32_t { HC_SLOTS_LEFT_BITS = 0xFFC00000U, HC_SLOTS_LEFT_TAKEN = ~HC_SLOTS_LEFT_BITS };

__device__ static inline uint32_t slots_mark(const HcView &out, int64_t place) {
    return __float_as_uint(out.data[place * out.bands]);
}

/* No slot is open. Returns how many the block fills, since the few pixels, or runs, of small blocks of a
 * scene are shared among all thread blocks. All threads of the block. */
__device__ static inline int32_t begin_panel(HcUnmixPanel *panel, int64_t units) {
    if (threadIdx.x < HC_UNMIX_PANEL) {
        panel->number[threadIdx.x] = (int32_t)threadIdx.x;
    }
    if (threadIdx.x == 0) {
        panel->open = 0;
    }
    __syncthreads();
    int64_t share = (units + gridDim.x - 1) / gridDim.x;
    return (int32_t)min((long long)HC_UNMIX_PANEL, (long long)share);
}

/* Slot p takes the pixel at `place`, which had `taken` iterations. */
__device__ static inline void take_pixel(const HcUnmixRule &rule, const HcView &in, const HcView &out,
                                         HcUnmixPanel *panel, int32_t p, int64_t place, uint32_t taken) {
    panel->pixel[p] = in.data + ((out.first_line - in.first_line) * in.samples + place) * in.bands;
    panel->place[p] = place;
    panel->level[p] = hc_unmix_level(rule, out, place);
    panel->iterations[p] = (int32_t)taken;
    panel->left[p] = false;
}

/* Whether the pixel at `place` is to be taken; *taken: its iterations. */
__device__ static inline bool is_wanted(const HcView &in, const HcView &out, HcSlotsWhich which,
                                        int64_t place, uint32_t *taken) {
    bool valid = in.mask[(out.first_line - in.first_line) * in.samples + place] != 0;
    uint32_t mark = valid && which == HC_SLOTS_LEFT ? slots_mark(out, place) : HC_SLOTS_LEFT_BITS;
    *taken = mark & HC_SLOTS_LEFT_TAKEN;
    return valid && (mark & HC_SLOTS_LEFT_BITS) == HC_SLOTS_LEFT_BITS;
}

/* Fills free slots with the next pixels that were left, as long as there are any. All threads of the block.
 */
__device__ static __noinline__ void take_pixels(const HcUnmixRule &rule, const HcView &in, const HcView &out,
                                                HcUnmixPanel *panel, HcSlotsShared *shared, int32_t slots,
                                                unsigned long long *next) {
    int64_t pixels = out.rows * out.samples;
    while (panel->open < slots) {
        int32_t open = panel->open;
        int32_t free = slots - open;
        __syncthreads();
        if (threadIdx.x == 0) {
            shared->first = (int64_t)atomicAdd(next, (unsigned long long)free);
        }
        __syncthreads();
        int64_t first = shared->first;
        int32_t count = (int32_t)min((long long)free, (long long)(pixels - first));
        if (count <= 0) {
            break;
        }
        for (int32_t i0 = 0; hc_warp() == 0 && i0 < count; i0 += 32) {
            int32_t i = i0 + hc_lane();
            uint32_t taken = 0;
            bool wanted = i < count && is_wanted(in, out, HC_SLOTS_LEFT, first + i, &taken);
            uint32_t within = __ballot_sync(0xFFFFFFFFU, wanted);
            if (wanted) {
                int32_t p = panel->number[open + __popc(within & ((1U << hc_lane()) - 1))];
                take_pixel(rule, in, out, panel, p, first + i, taken);
            }
            open += __popc(within);
            __syncwarp();
            if (hc_lane() == 0) {
                panel->open = open;
            }
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        shared->turn = 0;
    }
    __syncthreads();
}

/* The next open slot, the same in every lane; whether there was one. */
__device__ static inline bool next_slot(HcUnmixPanel *panel, HcSlotsShared *shared, int32_t *p) {
    int32_t turn = 0;
    __syncwarp();
    if (hc_lane() == 0) {
        turn = atomicAdd(&shared->turn, 1);
    }
    turn = __shfl_sync(0xFFFFFFFFU, turn, 0);
    *p = turn < panel->open ? panel->number[turn] : 0;
    return turn < panel->open;
}

/* Steps of all open slots up to the next look at their gaps. */
template <HcUnmixSolver SOLVER>
__device__ static inline void take_steps(const HcUnmixLibrary &library, HcUnmixPanel *panel,
                                         HcSlotsShared *shared, const HcUnmixScratch &scratch,
                                         const HcMetricWarp &warp) {
    if (SOLVER == HC_UNMIX_ALM) {
        hc_alm_steps(library, panel, scratch, warp);
    } else {
        for (int32_t p; next_slot(panel, shared, &p);) {
            int32_t left = library.rule.iterations - panel->iterations[p];
            hc_fista_steps(library, panel, p, scratch, warp, min(HC_FISTA_STEPS, left));
        }
    }
    __syncthreads();
}

/* NEAR: near.scratch, known when the kernel is compiled, so that its loads are those of shared memory. */
template <HcUnmixSolver SOLVER, bool NEAR>
__global__ static void __launch_bounds__(HC_SLOTS_THREADS, 1)
    unmix_slots(const __grid_constant__ HcUnmixLibrary library, HcView in, HcView out, HcUnmixCounted counted,
                double *blocks_scratch, size_t scratch_doubles, HcSlotsNear near, unsigned long long *next) {
    extern __shared__ __align__(16) double near_memory[];
    __shared__ HcUnmixPanel panel;
    __shared__ HcSlotsShared shared;
    HcUnmixScratch scratch = hc_unmix_scratch_of(library, blocks_scratch + blockIdx.x * scratch_doubles);
    int32_t entries = library.rule.spectra * HC_METRIC_STRIDE;
    double *directions = near_memory + HC_SLOTS_WARPS * HC_METRIC_SHARED;
    double *far_scratch = scratch.solver + HC_UNMIX_PANEL * slots_kept(&library);
    HcMetricWarp warp = {
        NEAR || near.directions ? directions : library.direction,
        near_memory + hc_warp() * HC_METRIC_SHARED,
        (NEAR ? directions + entries : far_scratch) + hc_warp() * (int32_t)slots_warps(&library),
    };
    for (int32_t i = (int32_t)threadIdx.x; near.directions && i < entries; i += HC_SLOTS_THREADS) {
        directions[i] = library.direction[i];
    }
    int32_t slots = begin_panel(&panel, out.rows * out.samples);
    for (;;) {
        int32_t before = panel.open;
        take_pixels(library.rule, in, out, &panel, &shared, slots, next);
        if (panel.open == 0) {
            return;
        }
        hc_unmix_gather(library, &panel, panel.number + before, panel.open - before, scratch);
        for (int32_t j = before + hc_warp(); j < panel.open; j += HC_SLOTS_WARPS) {
            if (SOLVER == HC_UNMIX_ALM) {
                hc_alm_begin(library, &panel, panel.number[j], scratch);
            } else {
                hc_fista_begin(library, &panel, panel.number[j], scratch, warp.direction);
            }
        }
        __syncthreads();
        int32_t open = panel.open;
        take_steps<SOLVER>(library, &panel, &shared, scratch, warp);
        hc_unmix_certify(library, &panel, scratch, library.rule.iterations);
        for (int32_t j = panel.open + hc_warp(); j < open; j += HC_SLOTS_WARPS) {
            hc_unmix_write(library.rule, &panel, panel.number[j], scratch, out, counted);
        }
        __syncthreads();
    }
}

/* Maximum spectra of the first sets, in eights. Augmented Lagrangians keep two more matrices of a set: larger
 * ones cost more than the pixels that leave their set. */
enum { HC_FISTA_SIDE = 5, HC_ALM_SIDE = 4 };

/* Warps of a block that works on sets of 8 SIDE spectra, at most: as many as registers leave room for. */
template <int SIDE> struct HcWorkingBlock {
    enum { WARPS = SIDE < 8 ? 16 : 8 };
};

/* Slot p begins with abundances 0. A warp. */
__device__ static inline void working_clear(const HcUnmixLibrary &library, int32_t p,
                                            const HcUnmixScratch &scratch) {
    int64_t n = library.rule.spectra;
    for (int64_t k = hc_lane(); k < n; k += 32) {
        scratch.abundance[p * n + k] = 0;
    }
}

__device__ static inline int64_t runs_of_line(const HcView &out) {
    return (out.samples + HC_SLOTS_RUN - 1) / HC_SLOTS_RUN;
}

/* The next run of all for slot p, the same in every lane; whether there was one. Of all pixels, those that
 * are masked are 0 in `out`. A warp. */
__device__ static inline bool next_run(const HcView &in, const HcView &out, HcSlotsWhich which,
                                       HcSlotsRuns *runs, int32_t p, unsigned long long *next) {
    unsigned long long number = 0;
    if (hc_lane() == 0) {
        number = atomicAdd(next, 1ULL);
    }
    int64_t run = (int64_t)__shfl_sync(0xFFFFFFFFU, number, 0);
    int64_t row = run / runs_of_line(out);
    int64_t sample = run % runs_of_line(out) * HC_SLOTS_RUN;
    if (row >= out.rows) {
        return false;
    }
    int64_t first = row * out.samples + sample;
    int64_t end = min((long long)(first + HC_SLOTS_RUN), (long long)((row + 1) * out.samples));
    for (int64_t place = first; which == HC_SLOTS_ALL && place < end; place++) {
        hc_unmix_write_mask(out, place, in.mask[(out.first_line - in.first_line) * in.samples + place]);
    }
    __syncwarp();
    if (hc_lane() == 0) {
        runs->next[p] = first;
        runs->end[p] = end;
    }
    __syncwarp();
    return true;
}

/* Slot p takes the next pixel of its run, or of another one; whether there was one. Abundances stay where a
 * pixel begins with those of the one before it. A warp. */
__device__ static inline bool take_next(const HcUnmixLibrary &library, const HcView &in, const HcView &out,
                                        HcSlotsWhich which, HcUnmixPanel *panel, HcSlotsRuns *runs, int32_t p,
                                        const HcUnmixScratch &scratch, unsigned long long *next) {
    bool goes_on = which == HC_SLOTS_ALL && !panel->left[p];
    for (;;) {
        int64_t place = runs->next[p] + hc_lane();
        uint32_t taken = 0;
        bool wanted = place < runs->end[p] && is_wanted(in, out, which, place, &taken);
        uint32_t within = __ballot_sync(0xFFFFFFFFU, wanted);
        __syncwarp();
        if (within != 0 && hc_lane() == __ffs((int)within) - 1) {
            take_pixel(library.rule, in, out, panel, p, place, taken);
            runs->next[p] = place + 1;
        }
        if (within != 0) {
            break;
        }
        goes_on = false;
        if (!next_run(in, out, which, runs, p, next)) {
            return false;
        }
    }
    if (!goes_on) {
        working_clear(library, p, scratch);
    }
    __syncwarp();
    return true;
}

/* Fills free slots. All threads of the block. */
__device__ static __noinline__ void take_runs(const HcUnmixLibrary &library, const HcView &in,
                                              const HcView &out, HcSlotsWhich which, HcUnmixPanel *panel,
                                              HcSlotsShared *shared, HcSlotsRuns *runs, int32_t slots,
                                              const HcUnmixScratch &scratch, unsigned long long *next) {
    for (int32_t j = panel->open + hc_warp(); j < slots; j += hc_warps()) {
        int32_t p = panel->number[j];
        bool is_taken = take_next(library, in, out, which, panel, runs, p, scratch, next);
        if (hc_lane() == 0) {
            runs->is_taken[p] = is_taken;
        }
    }
    __syncthreads();
    if (hc_warp() == 0) {
        hc_unmix_part(panel, slots, [&](int32_t p) { return runs->is_taken[p]; });
    }
    if (threadIdx.x == 0) {
        shared->turn = 0;
    }
    __syncthreads();
}

/* What a warp has of shared memory [bytes]. */
template <HcUnmixSolver SOLVER, int SIDE> __host__ __device__ static constexpr size_t working_bytes() {
    return sizeof(HcWorkingShared<SIDE>) +
           (SOLVER == HC_UNMIX_ALM ? 2 * sizeof(HcWorkingMatrix<SIDE>) : (size_t)0);
}

/* Steps of an open slot. A warp with its own shared memory. */
template <HcUnmixSolver SOLVER, int SIDE>
__device__ static inline void take_working_steps(const HcUnmixLibrary &library, HcUnmixPanel *panel,
                                                 int32_t p, const HcUnmixScratch &scratch, char *own) {
    HcWorkingShared<SIDE> *shared = (HcWorkingShared<SIDE> *)own;
    if (SOLVER == HC_UNMIX_ALM) {
        HcWorkingAlm<SIDE> alm = {};
        alm.rest = (HcWorkingMatrix<SIDE> *)(shared + 1);
        alm.inverse = alm.rest + 1;
        __builtin_assume(__isShared(alm.rest));
        __builtin_assume(__isShared(alm.inverse));
        hc_working_steps(library, panel, p, scratch, shared, alm);
    } else {
        HcWorkingFista<SIDE> fista = {};
        hc_working_steps(library, panel, p, scratch, shared, fista);
    }
}

/* Steps on working sets; pixels whose sets would be larger are marked in `out`. */
template <HcUnmixSolver SOLVER, int SIDE>
__global__ static void __launch_bounds__(32 * HcWorkingBlock<SIDE>::WARPS, 1)
    unmix_working(const __grid_constant__ HcUnmixLibrary library, HcView in, HcView out,
                  HcUnmixCounted counted, double *blocks_scratch, size_t scratch_doubles, HcSlotsWhich which,
                  unsigned long long *next) {
    extern __shared__ __align__(16) double near_memory[];
    __shared__ HcUnmixPanel panel;
    __shared__ HcSlotsShared shared;
    __shared__ HcSlotsRuns runs;
    char *own = (char *)near_memory + hc_warp() * working_bytes<SOLVER, SIDE>();
    HcUnmixScratch scratch = hc_unmix_scratch_of(library, blocks_scratch + blockIdx.x * scratch_doubles);
    int32_t slots = begin_panel(&panel, out.rows * runs_of_line(out));
    if (threadIdx.x < HC_UNMIX_PANEL) {
        runs.next[threadIdx.x] = runs.end[threadIdx.x] = 0;
        panel.left[threadIdx.x] = false;
    }
    __syncthreads();
    for (;;) {
        int32_t before = panel.open;
        take_runs(library, in, out, which, &panel, &shared, &runs, slots, scratch, next);
        if (panel.open == 0) {
            return;
        }
        hc_unmix_gather(library, &panel, panel.number + before, panel.open - before, scratch);
        int32_t open = panel.open;
        for (int32_t p; next_slot(&panel, &shared, &p);) {
            take_working_steps<SOLVER, SIDE>(library, &panel, p, scratch, own);
        }
        __syncthreads();
        hc_unmix_certify(library, &panel, scratch, library.rule.iterations);
        for (int32_t j = panel.open + hc_warp(); j < open; j += hc_warps()) {
            int32_t p = panel.number[j];
            if (!panel.left[p] || panel.gap[p] <= library.rule.gap ||
                panel.iterations[p] >= library.rule.iterations) {
                hc_unmix_write(library.rule, &panel, p, scratch, out, counted);
            } else if (hc_lane() == 0) {
                uint32_t taken = min((uint32_t)panel.iterations[p], (uint32_t)HC_SLOTS_LEFT_TAKEN);
                out.data[panel.place[p] * out.bands] = __uint_as_float(HC_SLOTS_LEFT_BITS | taken);
            }
        }
        __syncthreads();
    }
}

typedef void (*HcSlotsKernel)(const HcUnmixLibrary, HcView, HcView, HcUnmixCounted, double *, size_t,
                              HcSlotsNear, unsigned long long *);

static inline HcSlotsKernel hc_slots_kernel(const HcUnmixLibrary *library, const HcSlotsNear *near) {
    if (library->rule.solver == HC_UNMIX_ALM) {
        return near->scratch ? unmix_slots<HC_UNMIX_ALM, true> : unmix_slots<HC_UNMIX_ALM, false>;
    }
    return near->scratch ? unmix_slots<HC_UNMIX_FISTA, true> : unmix_slots<HC_UNMIX_FISTA, false>;
}

/* How many warps of a block fit that works on sets. */
template <HcUnmixSolver SOLVER, int SIDE>
static HcStatus slots_find_working(const HcGpu *gpu, int32_t *warps, HcError *err) {
    size_t fixed = sizeof(HcUnmixPanel) + sizeof(HcSlotsShared) + sizeof(HcSlotsRuns) + 64;
    size_t most = gpu->shared_memory > fixed ? gpu->shared_memory - fixed : 0;
    size_t fitting = most / working_bytes<SOLVER, SIDE>();
    *warps = fitting < HcWorkingBlock<SIDE>::WARPS ? (int32_t)fitting : HcWorkingBlock<SIDE>::WARPS;
    return hc_gpu_check(cudaFuncSetAttribute((const void *)unmix_working<SOLVER, SIDE>,
                                             cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             (int)((size_t)*warps * working_bytes<SOLVER, SIDE>())),
                        "opening a library to unmix with", err);
}

/* What fits into shared memory: the directions before the scratch of the warps. */
static HcStatus hc_slots_find_near(const HcGpu *gpu, const HcUnmixLibrary *library, HcSlotsNear *near,
                                   HcError *err) {
    size_t vectors = HC_SLOTS_WARPS * HC_METRIC_SHARED * sizeof(double);
    size_t fixed = sizeof(HcUnmixPanel) + sizeof(HcSlotsShared) + 64 + vectors;
    size_t most = gpu->shared_memory > fixed ? gpu->shared_memory - fixed : 0;
    size_t directions = (size_t)library->rule.spectra * HC_METRIC_STRIDE * sizeof(double);
    size_t scratch = HC_SLOTS_WARPS * slots_warps(library) * sizeof(double);
    near->directions = directions <= most;
    near->scratch = directions + scratch <= most;
    near->bytes = vectors + (near->directions ? directions : 0) + (near->scratch ? scratch : 0);
    if (library->rule.solver == HC_UNMIX_ALM) {
        HC_OR_RETURN((slots_find_working<HC_UNMIX_ALM, HC_ALM_SIDE>(gpu, &near->few_warps, err)));
        HC_OR_RETURN((slots_find_working<HC_UNMIX_ALM, 8>(gpu, &near->some_warps, err)));
    } else {
        HC_OR_RETURN((slots_find_working<HC_UNMIX_FISTA, HC_FISTA_SIDE>(gpu, &near->few_warps, err)));
        HC_OR_RETURN((slots_find_working<HC_UNMIX_FISTA, 8>(gpu, &near->some_warps, err)));
    }
    return hc_gpu_check(cudaFuncSetAttribute((const void *)hc_slots_kernel(library, near),
                                             cudaFuncAttributeMaxDynamicSharedMemorySize, (int)near->bytes),
                        "opening a library to unmix with", err);
}

#endif
