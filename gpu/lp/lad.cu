/* Abundances of least absolute deviation: a warp a run of pixels. */
#include "gpu/lp/lad.cuh"

#include <new>
#include <string.h>

static const char doing[] = "abundances of least absolute deviation";

/* Pixels that begin with the basis of their left neighbour, counted from the start of each line. Longer runs
 * take fewer pivots (3 % with 16), but those of a block of lines do not suffice for all warps. */
enum { RUN = 8 };

/* What the kernel gets. */
struct Job {
    HcLadTables tables;
    int32_t shared_doubles; /* of the tables, in shared memory */
    size_t workspace_doubles;
    bool add[HC_LAD_ADDS];
    int64_t *counts; /* NULL = not counted */
    HcView in, out;
    int64_t counted_first, counted_end; /* rows of `out` */
};

typedef void (*Kernel)(const Job);

struct HcLad {
    HcLadHead head;
    HcGpu *gpu;
    HcLadRule rule; /* without its pointers, but counts */
    Job job;
    HcBuffer memory; /* what the tables point to */
    Kernel kernel;
    int32_t warps; /* of a thread block */
    int32_t blocks;
    size_t shared; /* [bytes] */
};

/* Of the table in float32. */
__host__ __device__ static inline int32_t quick_doubles(const HcLadTables &tables) {
    return (tables.endmembers + 1) * ((tables.rows + 127) / 128 * 64);
}

/* Sums of the pixels of a warp. */
struct Tally {
    int64_t pixels, unfinished, pivots;
    double error;
    int64_t found[2], sums[2]; /* of the endmembers lane and lane + 32 */
};

__device__ static inline void add(int64_t *to, int64_t value) {
    if (value != 0) {
        atomicAdd((unsigned long long *)to, (unsigned long long)value);
    }
}

__device__ static void count_pixel(const Job &job, const HcLadWorkspace &work, const HcLadReport &report,
                                   int lane, Tally *tally) {
    tally->pixels++;
    tally->unfinished += !(report.error <= HC_LAD_PROOF);
    tally->pivots += report.pivots;
    tally->error = fmax(tally->error, report.error);
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int32_t k = lane + 32 * i;
        double value = k < job.tables.endmembers ? (double)(float)work.best[k] : 0;
        if (value != 0) {
            tally->found[i]++;
            tally->sums[i] += llrint(fmin(value, 0x1p16) / HC_UNMIX_COUNT_UNIT);
        }
    }
}

__device__ static void add_tally(const Job &job, const Tally &tally, int lane) {
    int64_t *found = job.counts + HC_LAD_COUNTS;
    if (lane == 0) {
        add(job.counts + HC_LAD_COUNT_PIXELS, tally.pixels);
        add(job.counts + HC_LAD_COUNT_UNFINISHED, tally.unfinished);
        add(job.counts + HC_LAD_COUNT_PIVOTS, tally.pivots);
        atomicMax((long long *)job.counts + HC_LAD_COUNT_ERROR, __double_as_longlong(tally.error));
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int32_t k = lane + 32 * i;
        if (k < job.tables.endmembers) {
            add(found + k, tally.found[i]);
            add(found + job.tables.endmembers + k, tally.sums[i]);
        }
    }
}

__device__ static void write_pixel(const Job &job, const HcLadWorkspace &work, const HcLadReport &report,
                                   int lane, float *to) {
    for (int32_t k = lane; k < job.tables.endmembers; k += 32) {
        to[k] = (float)work.best[k];
    }
    if (lane == 0) {
        float *at = to + job.tables.endmembers;
        double added[HC_LAD_ADDS];
        added[HC_LAD_ADD_RESIDUAL] = report.deviation;
        added[HC_LAD_ADD_END] = report.error <= HC_LAD_PROOF ? HC_LP_OPTIMAL : HC_LP_UNFINISHED;
        added[HC_LAD_ADD_PIVOTS] = (double)report.pivots;
        added[HC_LAD_ADD_OBJECTIVE] = report.primal;
        added[HC_LAD_ADD_DUAL] = report.dual;
        added[HC_LAD_ADD_ERROR] = report.error;
#pragma unroll
        for (int a = 0; a < HC_LAD_ADDS; a++) {
            if (job.add[a]) {
                *at++ = (float)added[a];
            }
        }
    }
}

__device__ static HcLadWorkspace workspace_at(const HcLadTables &tables, double *memory) {
    int32_t n = tables.endmembers;
    HcLadWorkspace work;
    work.inverse = memory;
    work.point = work.inverse + n * tables.across;
    work.pull = work.point + n;
    work.price = work.pull + n;
    work.edge = work.price + n;
    work.change = work.edge + n;
    work.best = work.change + n;
    work.basis = (int32_t *)(work.best + n);
    work.used = (uint32_t *)(work.basis + n);
    work.passed = (uint16_t *)(work.used + tables.rows / 32);
    return work;
}

template <int SLOTS>
__device__ static void solve_run(const Job &job, const HcLadTables &tables, const HcLadWorkspace &work,
                                 int64_t row, int32_t sample0) {
    const HcView &in = job.in;
    const HcView &out = job.out;
    int lane = (int)threadIdx.x % 32;
    int64_t line = (row + out.first_line - in.first_line) * in.samples;
    bool counted = job.counts != NULL && row >= job.counted_first && row < job.counted_end;
    Tally tally = {};
    bool warm = false;
    for (int32_t s = sample0; s < min(sample0 + (int)RUN, out.samples); s++) {
        float *to = out.data + (row * out.samples + s) * out.bands;
        HcLadPixel<SLOTS> pixel = {tables, work, in.data + (line + s) * in.bands};
        pixel.rows.lane = lane;
        pixel.rows.half = tables.endmembers > 16 ? 0 : 16;
        bool solved = in.mask[line + s] != 0;
        if (solved) {
            pixel.lay();
            solved = pixel.finite > 0;
        }
        if (lane == 0) {
            out.mask[row * out.samples + s] = solved;
        }
        if (!solved) {
            for (int32_t b = lane; b < out.bands; b += 32) {
                to[b] = 0;
            }
            continue;
        }
        HcLadReport report;
        if (!warm) {
            hc_lad_begin_cold(tables, work, lane);
            warm = true;
        }
        pixel.run(&report);
        write_pixel(job, work, report, lane, to);
        if (counted) {
            count_pixel(job, work, report, lane, &tally);
        }
        __syncwarp();
    }
    if (counted) {
        add_tally(job, tally, lane);
    }
}

/* Of the tables that may lie in shared memory. */
static inline int32_t table_doubles(const HcLadTables &tables) {
    return quick_doubles(tables) + tables.endmembers * tables.pitch + 5 * tables.rows;
}

/* Where tables lie that begin there. */
__host__ __device__ static inline void place_tables(HcLadTables *tables, const double *at) {
    tables->quick = (const float4 *)at;
    tables->column = at + quick_doubles(*tables);
    tables->low = tables->column + tables->endmembers * tables->pitch;
    tables->high = tables->low + tables->rows;
    tables->range = tables->high + tables->rows;
    tables->right = tables->range + tables->rows;
    tables->nudge = tables->right + tables->rows;
}

/* Warps of a thread block, at most, and thread blocks that share the registers of a multiprocessor. */
static constexpr int warps_of(int slots) {
    return slots <= 7 ? 16 : slots <= 12 ? 12 : 8;
}
static constexpr int blocks_of(int slots) {
    return slots <= 12 ? 2 : 1;
}

template <int SLOTS>
__global__ static void __launch_bounds__(32 * warps_of(SLOTS), blocks_of(SLOTS))
    solve_runs(const __grid_constant__ Job job) {
    extern __shared__ __align__(16) double shared[];
    HcLadTables tables = job.tables;
    int32_t warps = (int32_t)blockDim.x / 32;
    int32_t warp = (int32_t)threadIdx.x / 32;
    HcLadWorkspace work = workspace_at(tables, shared + job.shared_doubles + warp * job.workspace_doubles);
    if (job.shared_doubles > 0) {
        for (int32_t i = (int32_t)threadIdx.x; i < job.shared_doubles; i += (int32_t)blockDim.x) {
            shared[i] = ((const double *)job.tables.quick)[i];
        }
        place_tables(&tables, shared);
        __syncthreads();
    }
    int64_t runs = (job.out.samples + RUN - 1) / RUN;
    int64_t step = (int64_t)gridDim.x * warps;
    for (int64_t unit = blockIdx.x * (int64_t)warps + warp; unit < job.out.rows * runs; unit += step) {
        solve_run<SLOTS>(job, tables, work, unit / runs, (int32_t)(unit % runs) * RUN);
    }
}

/* Rows of a lane that there are kernels for; ten hold those of 285 bands. */
static const struct {
    int32_t slots;
    Kernel kernel;
} kernels[] = {
    {4, solve_runs<4>}, {7, solve_runs<7>}, {10, solve_runs<10>}, {12, solve_runs<12>}, {19, solve_runs<19>}};

/* The tables as kernels take them, in memory of the host. */
static void fill_tables(const HcLadProblem *problem, const HcLadTables *tables, double *at, double *scale,
                        double *inverse, int32_t *basis) {
    float *quick = (float *)at;
    double *column = at + quick_doubles(*tables);
    double *vectors = column + (int64_t)tables->endmembers * tables->pitch;
    const int64_t padded = (tables->rows + 127) / 128 * 128;
    const double *from[] = {problem->low, problem->high, NULL, problem->right, problem->nudge};
    for (int32_t k = 0; k < problem->endmembers; k++) {
        for (int32_t i = 0; i < problem->rows; i++) {
            column[(int64_t)k * tables->pitch + i] = problem->row[(int64_t)i * problem->width + k];
        }
        for (int32_t j = 0; j < problem->endmembers; j++) {
            inverse[k * tables->across + j] = problem->inverse[(int64_t)k * problem->width + j];
        }
        scale[k] = problem->scale[k];
        basis[k] = problem->basis[k];
    }
    for (int32_t k = 0; k <= problem->endmembers; k++) {
        for (int32_t i = 0; i < problem->rows; i++) {
            int32_t to = i / 128 * 128 + i % 32 * 4 + i / 32 % 4;
            quick[k * padded + to] = k < problem->endmembers
                                         ? (float)problem->row[(int64_t)i * problem->width + k]
                                         : (float)(problem->high[i] - problem->low[i]);
        }
    }
    for (int v = 0; v < 5; v++) {
        for (int32_t i = 0; i < problem->rows; i++) {
            vectors[v * tables->rows + i] = from[v] != NULL ? from[v][i] : problem->high[i] - problem->low[i];
        }
    }
}

/* Makes the tables and brings them to the device. */
static HcStatus take_tables(HcLad *lad, const HcLadProblem *problem, HcError *err) {
    HcStatus status = HC_OK;
    HcLadTables *tables = &lad->job.tables;
    size_t n = (size_t)problem->endmembers;
    size_t inverses = n * (size_t)tables->across;
    size_t first = (size_t)table_doubles(*tables);
    size_t count = first + n + inverses + (n + 1) / 2;
    double *host = (double *)calloc(count, sizeof *host);
    double *at = NULL;
    if (host == NULL) {
        HC_TRY(hc_fail_memory(err, (double)(count * sizeof *host), doing));
    }
    HC_TRY(hc_gpu_alloc(&lad->gpu->base, HC_MEMORY_DEVICE, count * sizeof *host, &lad->memory, err));
    fill_tables(problem, tables, host, host + first, host + first + n,
                (int32_t *)(host + first + n + inverses));
    HC_TRY(hc_gpu_bring(lad->memory.data, host, count * sizeof *host, doing, err));
    at = (double *)lad->memory.data;
    place_tables(tables, at);
    tables->scale = at + first;
    tables->inverse = tables->scale + n;
    tables->basis = (const int32_t *)(tables->inverse + inverses);
done:
    free(host);
    return status;
}

/* As many warps of a block as fit in shared memory, beside the tables where those take no more than
 * two fifths of it; and as many blocks as run at once. */
static HcStatus plan(HcLad *lad, HcError *err) {
    Job *job = &lad->job;
    size_t columns = (size_t)table_doubles(job->tables) * sizeof(double);
    size_t work = 0;
    int each = 0;
    job->workspace_doubles = hc_lad_workspace((size_t)job->tables.endmembers, (size_t)job->tables.across,
                                              (size_t)job->tables.rows / 32);
    work = job->workspace_doubles * sizeof(double);
    columns = columns <= lad->gpu->shared_memory * 2 / 5 ? columns : 0;
    job->shared_doubles = (int32_t)(columns / sizeof(double));
    size_t left = lad->gpu->shared_memory - columns;
    const int32_t most = warps_of(job->tables.rows / 32);
    lad->warps = left / work < (size_t)most ? (int32_t)(left / work) : most;
    lad->shared = (size_t)lad->warps * work + columns;
    HC_OR_RETURN(
        hc_gpu_check(cudaFuncSetAttribute((const void *)lad->kernel,
                                          cudaFuncAttributeMaxDynamicSharedMemorySize, (int)lad->shared),
                     doing, err));
    HC_OR_RETURN(hc_gpu_check(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, lad->kernel, 32 * lad->warps, lad->shared),
        doing, err));
    lad->blocks = each * lad->gpu->processors;
    return HC_OK;
}

static void take_rule(HcLad *lad, const HcLadRule *rule) {
    lad->rule = *rule;
    lad->rule.spectrum = NULL;
    lad->rule.weight = NULL;
    memcpy(lad->job.add, rule->add, sizeof lad->job.add);
    lad->job.counts = rule->counts;
}

static void take_shape(HcLad *lad, const HcLadProblem *problem) {
    HcLadTables *tables = &lad->job.tables;
    size_t number = 0;
    while (32 * kernels[number].slots < problem->rows) {
        number++;
    }
    lad->kernel = kernels[number].kernel;
    tables->endmembers = problem->endmembers;
    tables->bands = problem->bands;
    tables->sum = problem->sum;
    tables->rows = 32 * kernels[number].slots;
    tables->pitch = tables->rows + 1;
    tables->across = problem->endmembers | 1;
    tables->most = problem->most;
    tables->mixture = problem->mixture;
    tables->weight_unit = problem->weight_unit;
    tables->usual = problem->usual;
    tables->limit = problem->limit;
}

HcStatus hc_gpu_lad_open(HcCompute *compute, const HcLadRule *rule, HcLad **out, HcError *err) {
    HcStatus status = HC_OK;
    HcLad *lad = NULL;
    HcLadProblem problem = {};
    *out = NULL;
    lad = new (std::nothrow) HcLad();
    if (lad == NULL) {
        HC_TRY(hc_fail_memory(err, sizeof *lad, doing));
    }
    lad->gpu = (HcGpu *)compute;
    HC_TRY(hc_gpu_use(lad->gpu, err));
    HC_TRY(hc_lad_problem_make(rule, 1, &problem, err));
    take_rule(lad, rule);
    take_shape(lad, &problem);
    HC_TRY(take_tables(lad, &problem, err));
    HC_TRY(plan(lad, err));
    *out = lad;
    lad = NULL;
done:
    hc_lad_problem_clear(&problem);
    hc_gpu_lad_close(lad);
    return status;
}

void hc_gpu_lad_close(HcLad *lad) {
    if (lad != NULL) {
        hc_gpu_release(&lad->gpu->base, &lad->memory);
        delete lad;
    }
}

HcStatus hc_gpu_lad(HcQueue *queue, const HcBlock *in, HcLad *lad, const HcBlock *out, HcError *err) {
    Job job;
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    job = lad->job;
    job.in = hc_view(in);
    job.out = hc_view(out);
    job.counted_first = out->above;
    job.counted_end = (int64_t)out->above + out->lines;
    lad->kernel<<<(unsigned)lad->blocks, 32U * (unsigned)lad->warps, lad->shared, queue->stream>>>(job);
    return hc_gpu_launched(doing, err);
}
