/* Steps of fista as they are queued. Where there is no memory for a copy by columns, or columns are too long,
 * A is read twice. */
#include "gpu/l1/step.cuh"

namespace {

using namespace hc_l1;

enum { RUN = 64 /* steps of a kernel, at most */ };

__global__ void __launch_bounds__(THREADS) weigh_rows(Step step) {
    if (step.state->stopped != 0) {
        return;
    }
    for (int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x; row < step.rows;
         row += (int64_t)gridDim.x * THREADS) {
        Ahead ahead;
        ahead.load(step, row);
        step.weight[row] = ahead.weight(*step.state);
    }
}

__global__ void __launch_bounds__(THREADS) move_by_slopes(Step step) {
    __shared__ double scratch[THREADS];
    if (step.state->stopped != 0) {
        return;
    }
    Motion motion = motion_of(*step.state);
    Sums sums = {};
    for (int64_t j = (int64_t)blockIdx.x * THREADS + threadIdx.x; j < step.columns;
         j += (int64_t)gridDim.x * THREADS) {
        double before = step.before[j];
        double x = motion.back ? before : step.here[j];
        step.here[j] = move(motion, step.slopes[j], x, before, sums);
        step.before[j] = x;
    }
    sums.norm = hc_l1_sum(sums.norm, scratch);
    sums.uphill = hc_l1_sum(sums.uphill, scratch);
    sums.apart = hc_l1_sum(sums.apart, scratch);
    sums.top = hc_l1_largest(sums.top, scratch);
    if (threadIdx.x == 0) {
        put_sums(sums, step.terms + blockIdx.x, HC_L1_BLOCKS);
    }
}

/* A x; the block that ends last decides the next step. */
__global__ void __launch_bounds__(THREADS, 2) end_step(Step step) {
    __shared__ double scratch[THREADS];
    __shared__ bool last;
    if (step.state->stopped != 0) {
        return;
    }
    finish_rows(step, *step.state, scratch);
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(step.counters, 1U) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        __threadfence();
        decide_by_terms(step, *step.state);
        if (threadIdx.x == 0) {
            *step.counters = 0;
        }
    }
}

/* A step that reads the matrix twice. */
HcStatus queue_step(HcL1 *l1, HcQueue *queue, const Step &step, HcError *err) {
    unsigned row_blocks = (unsigned)hc_min64(hc_div_up(step.rows, TOGETHER), HC_L1_BLOCKS);
    const int32_t *stopped = &step.state->stopped;
    weigh_rows<<<hc_l1_blocks(step.rows), THREADS, 0, queue->stream>>>(step);
    HC_OR_RETURN(hc_gpu_multiply_back(queue, &l1->matrix, (const double *)step.weight,
                                      {.y = NULL, .sums = step.slopes}, stopped, err));
    move_by_slopes<<<(unsigned)step.blocks, THREADS, 0, queue->stream>>>(step);
    HC_OR_RETURN(hc_gpu_multiply(queue, &l1->matrix, (const double *)step.here,
                                 {.y = NULL, .sums = step.parts}, stopped, err));
    end_step<<<row_blocks, THREADS, 0, queue->stream>>>(step);
    return hc_gpu_launched(doing, err);
}

} // namespace

HcStatus hc_gpu_l1_descend(HcL1 *l1, HcQueue *queue, int32_t number, int32_t most, HcError *err) {
    const volatile HcL1Progress *progress = l1->progress;
    Step step = step_of(l1);
    int32_t run = l1->turned != NULL ? RUN : 1;
    for (int32_t k = 0; k < most && progress->problems < number && progress->finished == 0; k += run) {
        HC_OR_RETURN(l1->turned != NULL ? hc_gpu_l1_queue(l1, queue, (int32_t)hc_min64(run, most - k), err)
                                        : queue_step(l1, queue, step, err));
    }
    return HC_OK;
}
