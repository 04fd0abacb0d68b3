/* Abundances of least absolute deviation: a warp a run of pixels. */
#include "gpu/lp/lad.cuh"

#include <new>
#include <string.h>

static const char doing[] = "abundances of least absolute deviation";

/* Pixels that begin with the basis of their left neighbour, counted from the start of each line. */
enum { RUN = 16 };

enum { WARPS_MAX = 8 };

/* What the kernel gets. */
struct Job {
    HcLadTables tables;
    bool column_shared;
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
            pixel.begin_cold();
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

/* Thread blocks that share the registers of a multiprocessor. */
static constexpr int blocks_of(int slots) {
    return slots <= 7 ? 3 : slots <= 10 ? 2 : 1;
}

template <int SLOTS>
__global__ static void __launch_bounds__(32 * WARPS_MAX, blocks_of(SLOTS))
    solve_runs(const __grid_constant__ Job job) {
    extern __shared__ double shared[];
    HcLadTables tables = job.tables;
    int32_t warps = (int32_t)blockDim.x / 32;
    int32_t warp = (int32_t)threadIdx.x / 32;
    HcLadWorkspace work = workspace_at(tables, shared + warp * job.workspace_doubles);
    if (job.column_shared) {
        double *column = shared + warps * job.workspace_doubles;
        for (int32_t i = (int32_t)threadIdx.x; i < tables.endmembers * tables.pitch;
             i += (int32_t)blockDim.x) {
            column[i] = job.tables.column[i];
        }
        tables.column = column;
        __syncthreads();
    }
    int64_t runs = (job.out.samples + RUN - 1) / RUN;
    int64_t step = (int64_t)gridDim.x * warps;
    for (int64_t unit = blockIdx.x * (int64_t)warps + warp; unit < job.out.rows * runs; unit += step) {
        solve_run<SLOTS>(job, tables, work, unit / runs, (int32_t)(unit % runs) * RUN);
    }
}

/* Rows of a lane that there are kernels for. Ten hold those of 285 bands, and leave registers for twice as
 * many warps as twelve do. */
static const struct {
    int32_t slots;
    Kernel kernel;
} kernels[] = {
    {4, solve_runs<4>}, {7, solve_runs<7>}, {10, solve_runs<10>}, {12, solve_runs<12>}, {19, solve_runs<19>}};

/* The tables as kernels take them, in memory of the host. */
static void fill_tables(const HcLadProblem *problem, const HcLadTables *tables, double *column,
                        double *vectors, double *scale, double *inverse, int32_t *basis) {
    const double *from[] = {problem->low, problem->high, problem->right, problem->nudge};
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
    for (int v = 0; v < 4; v++) {
        memcpy(vectors + (int64_t)v * tables->rows, from[v], (size_t)problem->rows * sizeof(double));
    }
}

/* Makes the tables and brings them to the device. */
static HcStatus take_tables(HcLad *lad, const HcLadProblem *problem, HcError *err) {
    HcStatus status = HC_OK;
    HcLadTables *tables = &lad->job.tables;
    size_t n = (size_t)problem->endmembers;
    size_t rows = (size_t)tables->rows;
    size_t columns = n * (size_t)tables->pitch;
    size_t inverses = n * (size_t)tables->across;
    size_t count = columns + 4 * rows + n + inverses + (n + 1) / 2;
    double *host = (double *)calloc(count, sizeof *host);
    double *at = NULL;
    if (host == NULL) {
        HC_TRY(hc_fail_memory(err, (double)(count * sizeof *host), doing));
    }
    HC_TRY(hc_gpu_alloc(&lad->gpu->base, HC_MEMORY_DEVICE, count * sizeof *host, &lad->memory, err));
    fill_tables(problem, tables, host, host + columns, host + columns + 4 * rows,
                host + columns + 4 * rows + n, (int32_t *)(host + columns + 4 * rows + n + inverses));
    HC_TRY(hc_gpu_bring(lad->memory.data, host, count * sizeof *host, doing, err));
    at = (double *)lad->memory.data;
    tables->column = at;
    tables->low = at + columns;
    tables->high = tables->low + rows;
    tables->right = tables->high + rows;
    tables->nudge = tables->right + rows;
    tables->scale = tables->nudge + rows;
    tables->inverse = tables->scale + n;
    tables->basis = (const int32_t *)(tables->inverse + inverses);
done:
    free(host);
    return status;
}

/* As many warps of a block as fit in shared memory, beside the columns where those take no more than
 * a quarter of it; and as many blocks as run at once. */
static HcStatus plan(HcLad *lad, HcError *err) {
    Job *job = &lad->job;
    size_t columns = (size_t)job->tables.endmembers * (size_t)job->tables.pitch * sizeof(double);
    size_t work = 0;
    int each = 0;
    job->workspace_doubles = hc_lad_workspace((size_t)job->tables.endmembers, (size_t)job->tables.across);
    work = job->workspace_doubles * sizeof(double);
    job->column_shared = columns <= lad->gpu->shared_memory / 4;
    size_t left = lad->gpu->shared_memory - (job->column_shared ? columns : 0);
    lad->warps = left / work < WARPS_MAX ? (int32_t)(left / work) : WARPS_MAX;
    lad->shared = (size_t)lad->warps * work + (job->column_shared ? columns : 0);
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
