/* One l1 problem: what is found out about its matrix once, and what comes before and after the steps. alm is
 * min |x|_1 where A x = b by augmented Lagrangians: with multipliers u and a penalty p,
 *     |x|_1 + u'(b - A x) + p/2 |b - A x|^2
 * is p times a problem of fista, to meet b + u / p with lambda = 1 / p; then u grows by p (b - A x). */
#include "core/operation/eigh/eigh.h"
#include "core/solver/l1_largest.h"
#include "gpu/l1/l1.cuh"

#include <math.h>
#include <new>
#include <stdlib.h>
#include <string.h>

namespace {

enum { THREADS = HC_L1_THREADS };

const char doing[] = "solving an l1 problem";

/* alm: lambda of the first inner problem, relative to the one that has the solution 0. */
const double first_lambda = 0.1;
/* The penalty doubles where a step does not make the residual four times smaller. */
const double grow_by = 2;
const double good_step = 0.25;

/* ---- the largest singular value ---- */

/* values -= times vector; squares: of each block's values. */
__global__ void __launch_bounds__(THREADS)
    subtract(double *values, double times, const double *vector, int64_t count, double *squares) {
    __shared__ double scratch[THREADS];
    double sum = 0;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * THREADS) {
        double value = values[i] - times * vector[i];
        values[i] = value;
        sum += value * value;
    }
    sum = hc_l1_sum(sum, scratch);
    if (threadIdx.x == 0) {
        squares[blockIdx.x] = sum;
    }
}

__global__ void __launch_bounds__(THREADS)
    divide(const double *values, double length, int64_t count, double *out) {
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * THREADS) {
        out[i] = length > 0 ? values[i] / length : 0;
    }
}

/* vector = values - times vector, brought to length 1 unless it is 0; *length is what it was. Done on return.
 */
HcStatus advance_vector(HcL1 *l1, HcQueue *queue, double *values, double times, double *vector, int64_t count,
                        double *length, HcError *err) {
    unsigned blocks = hc_l1_blocks(count);
    double sum = 0;
    subtract<<<blocks, THREADS, 0, queue->stream>>>(values, times, vector, count,
                                                    l1->progress_device->squares);
    HC_OR_RETURN(hc_gpu_launched(doing, err));
    HC_OR_RETURN(hc_gpu_check(cudaStreamSynchronize(queue->stream), doing, err));
    for (unsigned block = 0; block < blocks; block++) {
        sum += l1->progress->squares[block];
    }
    *length = sqrt(sum);
    divide<<<blocks, THREADS, 0, queue->stream>>>(values, *length, count, vector);
    return hc_gpu_launched(doing, err);
}

HcStatus put_start_vector(HcL1 *l1, HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    int64_t rows = l1->matrix.rows;
    double length = 0;
    double *start = (double *)malloc((size_t)rows * sizeof *start);
    if (start == NULL) {
        return hc_fail_memory(err, (double)rows * sizeof *start, "an l1 problem");
    }
    hc_l1_start_vector(start, rows);
    HC_TRY(hc_gpu_check(cudaMemcpyAsync(l1->ahead, start, (size_t)rows * sizeof *start,
                                        cudaMemcpyHostToDevice, queue->stream),
                        doing, err));
    HC_TRY(advance_vector(l1, queue, l1->ahead, 0, l1->weight, rows, &length, err));
done:
    (void)cudaStreamSynchronize(queue->stream);
    free(start);
    return status;
}

/* An l1 problem and the queue of its steps: u is l1->weight, v is l1->before. */
struct Lanczos {
    HcL1 *l1;
    HcQueue *queue;
};

HcStatus step_back(void *user, double beta, double *alpha, HcError *err) {
    HcL1 *l1 = ((Lanczos *)user)->l1;
    HcQueue *queue = ((Lanczos *)user)->queue;
    HC_OR_RETURN(
        hc_gpu_multiply_back(queue, &l1->matrix, (const double *)l1->weight, {NULL, l1->slopes}, NULL, err));
    return advance_vector(l1, queue, l1->slopes, beta, l1->before, l1->matrix.columns, alpha, err);
}

HcStatus step_ahead(void *user, double alpha, double *beta, HcError *err) {
    HcL1 *l1 = ((Lanczos *)user)->l1;
    HcQueue *queue = ((Lanczos *)user)->queue;
    HC_OR_RETURN(
        hc_gpu_multiply(queue, &l1->matrix, (const double *)l1->before, {NULL, l1->ahead}, NULL, err));
    return advance_vector(l1, queue, l1->ahead, alpha, l1->weight, l1->matrix.rows, beta, err);
}

HcStatus largest_of_tridiagonal(void *user, int32_t n, const double *diagonal, const double *beside,
                                double *largest, double *last, HcError *err) {
    double matrix[HC_L1_LANCZOS_MAX * HC_L1_LANCZOS_MAX] = {};
    double vectors[HC_L1_LANCZOS_MAX * HC_L1_LANCZOS_MAX];
    double values[HC_L1_LANCZOS_MAX];
    for (int32_t i = 0; i < n; i++) {
        matrix[i * n + i] = diagonal[i];
        if (i > 0) {
            matrix[i * n + i - 1] = matrix[(i - 1) * n + i] = beside[i - 1];
        }
    }
    HC_OR_RETURN(hc_eigh(((Lanczos *)user)->l1->gpu->host, n, 1, matrix, values, vectors, err));
    *largest = values[0];
    *last = fabs(vectors[n - 1]);
    return HC_OK;
}

HcStatus find_largest(HcL1 *l1, HcQueue *queue, HcError *err) {
    Lanczos steps = {l1, queue};
    const HcL1Lanczos lanczos = {&steps, step_back, step_ahead, largest_of_tridiagonal};
    HC_OR_RETURN(put_start_vector(l1, queue, err));
    return hc_l1_largest(&lanczos, &l1->largest, err);
}

/* ---- opening ---- */

/* The memory, cut; or only its size. */
size_t lay_out(HcL1 *l1, char *base) {
    size_t at = 0;
    size_t rows = (size_t)l1->matrix.rows * sizeof(double);
    size_t columns = (size_t)l1->matrix.columns * sizeof(double);
    l1->state = (HcL1State *)hc_take(base, &at, sizeof(HcL1State));
    l1->counters = (uint32_t *)hc_take(base, &at, HC_L1_BLOCKS * sizeof(uint32_t));
    l1->here = (double *)hc_take(base, &at, columns);
    l1->before = (double *)hc_take(base, &at, columns);
    l1->slopes = (double *)hc_take(base, &at, columns);
    l1->weight = (double *)hc_take(base, &at, rows);
    l1->ahead = (double *)hc_take(base, &at, rows);
    l1->product = (double *)hc_take(base, &at, rows);
    l1->product_before = (double *)hc_take(base, &at, rows);
    l1->target = (double *)hc_take(base, &at, rows);
    l1->multiplier = (double *)hc_take(base, &at, rows);
    l1->terms = (double *)hc_take(base, &at, HC_L1_TERMS * HC_L1_BLOCKS * sizeof(double));
    l1->parts = (double *)hc_take(base, &at, (size_t)l1->parts_count * rows);
    return at;
}

HcStatus get_memory(HcL1 *l1, HcQueue *queue, HcError *err) {
    HcCompute *compute = &l1->gpu->base;
    HC_OR_RETURN(hc_gpu_alloc(compute, HC_MEMORY_HOST, sizeof(HcL1Progress), &l1->progress_memory, err));
    l1->progress = (HcL1Progress *)l1->progress_memory.data;
    HC_OR_RETURN(
        hc_gpu_check(cudaHostGetDevicePointer((void **)&l1->progress_device, l1->progress, 0), doing, err));
    HC_OR_RETURN(hc_gpu_alloc(compute, HC_MEMORY_DEVICE, lay_out(l1, NULL), &l1->memory, err));
    (void)lay_out(l1, (char *)l1->memory.data);
    return hc_gpu_check(cudaMemsetAsync(l1->memory.data, 0, l1->memory.bytes, queue->stream), doing, err);
}

} // namespace

HcStatus hc_gpu_l1_open(HcCompute *compute, const HcMatrix *matrix, HcL1 **out, HcError *err) {
    HcStatus status = HC_OK;
    HcGpu *gpu = (HcGpu *)compute;
    HcQueue *queue = NULL;
    HcL1 *l1 = NULL;
    *out = NULL;
    if (gpu->host == NULL) {
        return hc_fail(err, HC_E_USAGE, "l1: the GPU backend was opened without the host's operations");
    }
    l1 = new (std::nothrow) HcL1();
    if (l1 == NULL) {
        return hc_fail_memory(err, sizeof *l1, "an l1 problem");
    }
    l1->gpu = gpu;
    l1->matrix = *matrix;
    HC_TRY(hc_gpu_use(gpu, err));
    HC_TRY(hc_queue_open(compute, &queue, err));
    hc_gpu_l1_plan(l1);
    HC_TRY(get_memory(l1, queue, err));
    HC_TRY(hc_gpu_l1_turn(l1, queue, err));
    HC_TRY(find_largest(l1, queue, err));
    HC_TRY(hc_wait(queue, err));
    *out = l1;
    l1 = NULL;
done:
    hc_queue_close(queue);
    hc_gpu_l1_close(l1);
    return status;
}

void hc_gpu_l1_close(HcL1 *l1) {
    if (l1 != NULL) {
        hc_gpu_release(&l1->gpu->base, &l1->memory);
        hc_gpu_release(&l1->gpu->base, &l1->turned_memory);
        hc_gpu_release(&l1->gpu->base, &l1->progress_memory);
        delete l1;
    }
}

namespace {

/* ---- before and after the steps ---- */

/* One problem, as kernels take it. */
struct Problem {
    HcL1Rule rule;
    bool alm;
    int64_t rows, columns;
    double largest;
    const float *b; /* [rows] */
    float *x;       /* [columns] */
    double *here, *before, *slopes, *weight, *product, *product_before, *target, *multiplier, *terms;
    HcL1State *state;
    HcL1Progress *progress;
    int32_t blocks; /* of kernels over columns */
};

Problem problem_of(const HcL1 *l1, const HcL1Rule *rule, bool alm, const float *b, float *x) {
    Problem problem = {};
    problem.rule = *rule;
    problem.alm = alm;
    problem.rows = l1->matrix.rows;
    problem.columns = l1->matrix.columns;
    problem.largest = l1->largest;
    problem.b = b;
    problem.x = x;
    problem.here = l1->here;
    problem.before = l1->before;
    problem.slopes = l1->slopes;
    problem.weight = l1->weight;
    problem.product = l1->product;
    problem.product_before = l1->product_before;
    problem.target = l1->target;
    problem.multiplier = l1->multiplier;
    problem.terms = l1->terms;
    problem.state = l1->state;
    problem.progress = l1->progress_device;
    problem.blocks = (int32_t)hc_l1_blocks(l1->matrix.columns);
    return problem;
}

/* No step does anything from here on. */
__device__ void finish(const Problem &problem) {
    problem.state->finished = problem.state->stopped = 1;
    *(volatile int32_t *)&problem.progress->finished = 1;
}

/* Kernels of one block go over the rows: it is not often that they are called. */

/* Starts with x = 0 and target = b; where that is not finite, all is done. */
__global__ void __launch_bounds__(THREADS) begin(Problem problem) {
    __shared__ double scratch[THREADS];
    double energy = 0;
    for (int64_t r = threadIdx.x; r < problem.rows; r += THREADS) {
        double target = (double)problem.b[r];
        problem.target[r] = problem.weight[r] = target;
        problem.product[r] = problem.product_before[r] = problem.multiplier[r] = 0;
        energy += target * target;
    }
    energy = hc_l1_sum(energy, scratch);
    if (threadIdx.x == 0) {
        HcL1State state = {};
        state.lambda = problem.rule.lambda;
        state.square = problem.largest;
        state.time = 1;
        state.tolerance = problem.rule.tolerance;
        state.residual = energy > 0 ? 1 : 0;
        state.energy = energy;
        state.positive = problem.rule.positive;
        *problem.state = state;
        if (!isfinite(energy)) {
            finish(problem);
        }
    }
}

/* The largest slope of each block's columns. */
__global__ void __launch_bounds__(THREADS) find_top(Problem problem) {
    __shared__ double scratch[THREADS];
    double top = 0;
    for (int64_t j = (int64_t)blockIdx.x * THREADS + threadIdx.x; j < problem.columns;
         j += (int64_t)gridDim.x * THREADS) {
        top = fmax(top, hc_l1_height(problem.slopes[j], problem.rule.positive));
    }
    top = hc_l1_largest(top, scratch);
    if (threadIdx.x == 0) {
        problem.terms[HC_L1_TOP * HC_L1_BLOCKS + blockIdx.x] = top;
    }
}

/* The largest of all, in every thread of a block. */
__device__ double top_of_blocks(const Problem &problem, double *scratch) {
    double top = 0;
    for (int32_t k = (int32_t)threadIdx.x; k < problem.blocks; k += THREADS) {
        top = fmax(top, problem.terms[HC_L1_TOP * HC_L1_BLOCKS + k]);
    }
    return hc_l1_largest(top, scratch);
}

/* The first penalty, from the slopes of b. */
__global__ void __launch_bounds__(THREADS) begin_alm(Problem problem) {
    __shared__ double scratch[THREADS];
    double top = top_of_blocks(problem, scratch);
    if (threadIdx.x == 0) {
        HcL1State *state = problem.state;
        state->penalty = 1 / (first_lambda * top);
        if (!(top > 0) || state->residual <= problem.rule.tolerance) {
            finish(problem);
        }
    }
}

__global__ void __launch_bounds__(THREADS) open_inner(Problem problem) {
    HcL1State *state = problem.state;
    if (state->finished != 0) {
        return;
    }
    for (int64_t r = threadIdx.x; r < problem.rows; r += THREADS) {
        problem.target[r] = (double)problem.b[r] + problem.multiplier[r] / state->penalty;
    }
    if (threadIdx.x == 0) {
        state->lambda = 1 / state->penalty;
        state->bound = 0;
        state->time = 1;
        state->momentum = 0;
        state->stopped = 0;
    }
}

/* Moves the multipliers and the penalty. */
__global__ void __launch_bounds__(THREADS) close_inner(Problem problem) {
    __shared__ double scratch[THREADS];
    HcL1State *state = problem.state;
    if (state->finished != 0) {
        return;
    }
    double sum = 0;
    for (int64_t r = threadIdx.x; r < problem.rows; r += THREADS) {
        double product = state->back != 0 ? problem.product_before[r] : problem.product[r];
        double missing = (double)problem.b[r] - product;
        problem.multiplier[r] += state->penalty * missing;
        sum += missing * missing;
    }
    sum = hc_l1_sum(sum, scratch);
    if (threadIdx.x == 0) {
        double residual = sqrt(sum / state->energy);
        state->penalty *= residual > good_step * state->residual ? grow_by : 1;
        state->residual = residual;
        state->outer++;
        if (residual <= problem.rule.tolerance) {
            finish(problem);
        }
    }
}

/* Rounds x, from which the report starts; how many entries are not 0 goes where APART was. */
__global__ void __launch_bounds__(THREADS) round_x(Problem problem) {
    __shared__ double scratch[THREADS];
    const double *x = problem.state->back != 0 ? problem.before : problem.here;
    double norm = 0;
    double nonzeros = 0;
    for (int64_t j = (int64_t)blockIdx.x * THREADS + threadIdx.x; j < problem.columns;
         j += (int64_t)gridDim.x * THREADS) {
        float value = (float)x[j];
        problem.x[j] = value;
        norm += fabs((double)value);
        nonzeros += value != 0 ? 1 : 0;
    }
    norm = hc_l1_sum(norm, scratch);
    nonzeros = hc_l1_sum(nonzeros, scratch);
    if (threadIdx.x == 0) {
        problem.terms[HC_L1_NORM * HC_L1_BLOCKS + blockIdx.x] = norm;
        problem.terms[HC_L1_APART * HC_L1_BLOCKS + blockIdx.x] = nonzeros;
    }
}

/* What the dual is looked at with: the residual, or the multipliers. */
__global__ void __launch_bounds__(THREADS) weigh_end(Problem problem) {
    for (int64_t r = (int64_t)blockIdx.x * THREADS + threadIdx.x; r < problem.rows;
         r += (int64_t)gridDim.x * THREADS) {
        problem.weight[r] = problem.alm ? problem.multiplier[r] : (double)problem.b[r] - problem.product[r];
    }
}

__device__ double sum_of_blocks(const Problem &problem, HcL1Term term, double *scratch) {
    double sum = 0;
    for (int32_t k = (int32_t)threadIdx.x; k < problem.blocks; k += THREADS) {
        sum += problem.terms[term * HC_L1_BLOCKS + k];
    }
    return hc_l1_sum(sum, scratch);
}

struct Ending {
    double top, norm, nonzeros, misfit, along, square;
};

__device__ HcL1Report report_of(const Problem &problem, const Ending &ending) {
    const HcL1State &state = *problem.state;
    HcL1Report report = {};
    double gap_or_residual = 0;
    report.iterations = state.steps;
    report.outer = state.outer;
    report.nonzeros = (int64_t)ending.nonzeros;
    report.residual = state.energy > 0 ? sqrt(ending.misfit / state.energy) : 0;
    if (problem.alm) {
        report.objective = ending.norm;
        report.gap = ending.norm > 0 ? (ending.norm - ending.along / fmax(ending.top, 1.0)) / ending.norm : 0;
        gap_or_residual = report.residual;
    } else {
        double bound = hc_l1_raise_bound(state.bound, state.lambda, state.positive != 0, ending.top,
                                         ending.along, ending.square);
        report.objective = ending.misfit / 2 + state.lambda * ending.norm;
        report.gap = hc_l1_gap(report.objective, bound);
        gap_or_residual = report.gap;
    }
    report.end = gap_or_residual <= problem.rule.tolerance ? HC_L1_REACHED : HC_L1_UNFINISHED;
    if (!isfinite(state.energy)) {
        report.end = HC_L1_UNFINISHED;
        report.objective = report.gap = report.residual = (double)NAN;
    }
    return report;
}

__global__ void __launch_bounds__(THREADS) report_figures(Problem problem) {
    __shared__ double scratch[THREADS];
    Ending ending = {};
    for (int64_t r = threadIdx.x; r < problem.rows; r += THREADS) {
        double b = (double)problem.b[r];
        double missing = b - problem.product[r];
        ending.misfit += missing * missing;
        ending.along += b * problem.weight[r];
        ending.square += problem.weight[r] * problem.weight[r];
    }
    ending.misfit = hc_l1_sum(ending.misfit, scratch);
    ending.along = hc_l1_sum(ending.along, scratch);
    ending.square = hc_l1_sum(ending.square, scratch);
    ending.top = top_of_blocks(problem, scratch);
    ending.norm = sum_of_blocks(problem, HC_L1_NORM, scratch);
    ending.nonzeros = sum_of_blocks(problem, HC_L1_APART, scratch);
    if (threadIdx.x == 0) {
        problem.progress->report = report_of(problem, ending);
    }
}

HcStatus begin_problem(HcL1 *l1, HcQueue *queue, const Problem &problem, HcError *err) {
    size_t columns = (size_t)problem.columns * sizeof(double);
    l1->progress->problems = l1->progress->finished = 0;
    HC_OR_RETURN(hc_gpu_check(cudaMemsetAsync(l1->here, 0, columns, queue->stream), doing, err));
    HC_OR_RETURN(hc_gpu_check(cudaMemsetAsync(l1->before, 0, columns, queue->stream), doing, err));
    begin<<<1, THREADS, 0, queue->stream>>>(problem);
    return hc_gpu_launched(doing, err);
}

/* A' of l1->weight, and the largest of it a block. */
HcStatus queue_slopes(HcL1 *l1, HcQueue *queue, const Problem &problem, HcError *err) {
    HC_OR_RETURN(
        hc_gpu_multiply_back(queue, &l1->matrix, (const double *)l1->weight, {NULL, l1->slopes}, NULL, err));
    find_top<<<(unsigned)problem.blocks, THREADS, 0, queue->stream>>>(problem);
    return hc_gpu_launched(doing, err);
}

/* Rounds x and tells; done on return, since the caller's memory is written by the host. */
HcStatus end_problem(HcL1 *l1, HcQueue *queue, const Problem &problem, HcL1Report *report, HcError *err) {
    round_x<<<(unsigned)problem.blocks, THREADS, 0, queue->stream>>>(problem);
    HC_OR_RETURN(
        hc_gpu_multiply(queue, &l1->matrix, (const float *)problem.x, {NULL, l1->product}, NULL, err));
    weigh_end<<<hc_l1_blocks(problem.rows), THREADS, 0, queue->stream>>>(problem);
    HC_OR_RETURN(queue_slopes(l1, queue, problem, err));
    report_figures<<<1, THREADS, 0, queue->stream>>>(problem);
    HC_OR_RETURN(hc_gpu_launched(doing, err));
    HC_OR_RETURN(hc_gpu_check(cudaStreamSynchronize(queue->stream), doing, err));
    *report = l1->progress->report;
    return HC_OK;
}

} // namespace

HcStatus hc_gpu_fista(HcQueue *queue, HcL1 *l1, const HcL1Rule *rule, const float *b, float *x,
                      HcL1Report *report, HcError *err) {
    Problem problem = {};
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    problem = problem_of(l1, rule, false, b, x);
    HC_OR_RETURN(begin_problem(l1, queue, problem, err));
    HC_OR_RETURN(hc_gpu_l1_descend(l1, queue, 1, rule->iterations, err));
    return end_problem(l1, queue, problem, report, err);
}

HcStatus hc_gpu_alm(HcQueue *queue, HcL1 *l1, const HcL1Rule *rule, const float *b, float *x,
                    HcL1Report *report, HcError *err) {
    Problem problem = {};
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    problem = problem_of(l1, rule, true, b, x);
    HC_OR_RETURN(begin_problem(l1, queue, problem, err));
    HC_OR_RETURN(queue_slopes(l1, queue, problem, err));
    begin_alm<<<1, THREADS, 0, queue->stream>>>(problem);
    for (int32_t outer = 1; outer <= rule->outer && l1->progress->finished == 0; outer++) {
        open_inner<<<1, THREADS, 0, queue->stream>>>(problem);
        HC_OR_RETURN(hc_gpu_l1_descend(l1, queue, outer, rule->iterations, err));
        close_inner<<<1, THREADS, 0, queue->stream>>>(problem);
        HC_OR_RETURN(hc_gpu_launched(doing, err));
    }
    return end_problem(l1, queue, problem, report, err);
}
