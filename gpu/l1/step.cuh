/* Steps of fast proximal gradients (Beck and Teboulle 2009; Gao and Li), with momentum that starts anew where
 * it leads uphill (O'Donoghue and Candes 2015): how entries move, and what decides the next step. */
#ifndef HC_GPU_L1_STEP_CUH
#define HC_GPU_L1_STEP_CUH

#include "gpu/l1/l1.cuh"

#include <math.h>

namespace hc_l1 {

enum {
    THREADS = HC_L1_THREADS,
    WARPS = HC_L1_WARPS,
    TOGETHER = 8, /* rows of which a block adds the parts at once */
    AT_ONCE = 5   /* values that a thread has under way */
};

static const char doing[] = "solving an l1 problem";

/* What a step may differ from the promise of `square` by rounding, and by how much it is raised beyond. */
static const double slack = 1e-9;
static const double raise_by = 1.0625;

/* What a step needs of a problem, as kernels take it. */
struct Step {
    int64_t rows, columns;
    const float *turned; /* [columns][pitch] */
    int32_t pitch, slots, parts_count, blocks, period;
    double *here, *before, *slopes, *weight, *product, *product_before, *parts, *terms;
    const double *target;
    uint32_t *counters;
    HcL1State *state;
    HcL1Progress *progress;
};

/* ---- one entry ---- */

/* How entries move. */
struct Motion {
    double scale, threshold, momentum;
    bool positive, back;
};

__device__ inline Motion motion_of(const HcL1State &state) {
    Motion motion;
    motion.scale = state.square > 0 ? 1 / state.square : 0;
    motion.threshold = state.lambda * motion.scale;
    motion.momentum = state.momentum;
    motion.positive = state.positive != 0;
    motion.back = state.back != 0;
    return motion;
}

struct Sums {
    double norm, uphill, apart, top;
};

/* y = x + momentum (x - before), then from there against the gradient and through the threshold. */
__device__ inline double move(const Motion &motion, double slope, double x, double before, Sums &sums) {
    double y = x + motion.momentum * (x - before);
    double ahead = y + slope * motion.scale;
    double height = hc_l1_height(slope, motion.positive);
    double next = ahead > motion.threshold                        ? ahead - motion.threshold
                  : !motion.positive && ahead < -motion.threshold ? ahead + motion.threshold
                                                                  : 0;
    sums.top = height > sums.top ? height : sums.top;
    sums.uphill += (y - next) * (next - x);
    sums.apart += (next - y) * (next - y);
    sums.norm += fabs(next);
    return next;
}

/* Terms of columns, `apart` values from each other. */
__device__ inline void put_sums(const Sums &sums, double *terms, int32_t apart) {
    terms[HC_L1_NORM * apart] = sums.norm;
    terms[HC_L1_UPHILL * apart] = sums.uphill;
    terms[HC_L1_APART * apart] = sums.apart;
    terms[HC_L1_TOP * apart] = sums.top;
}

/* What a step starts from in one row. */
struct Ahead {
    double product, before, target;

    __device__ inline void load(const Step &step, int64_t row) {
        product = __ldcg(step.product + row);
        before = __ldcg(step.product_before + row);
        target = __ldcg(step.target + row);
    }

    /* A y. */
    __device__ inline double product_ahead(const HcL1State &state) const {
        double newest = state.back != 0 ? before : product;
        return newest + state.momentum * (newest - before);
    }

    __device__ inline double weight(const HcL1State &state) const {
        return target - product_ahead(state);
    }
};

/* ---- what a step has come to ---- */

/* A step with the constant L at least the largest eigenvalue of A'A has |A (x - y)|^2 <= L |x - y|^2. One
 * that has not is taken back, and L raised. */
__device__ inline void decide(const Step &step, HcL1State &state, const double *terms) {
    state.steps++;
    state.bound = hc_l1_raise_bound(state.bound, state.lambda, state.positive != 0, terms[HC_L1_TOP],
                                    terms[HC_L1_ALONG], terms[HC_L1_SQUARE]);
    double risen = terms[HC_L1_RISEN];
    double apart = terms[HC_L1_APART];
    state.back = risen <= state.square * apart * (1 + slack) ? 0 : 1;
    if (state.back != 0) {
        state.square = fmax(state.square, apart > 0 ? risen / apart : 0) * raise_by;
        state.time = 1;
        state.momentum = 0;
    } else {
        state.norm = terms[HC_L1_NORM];
        double objective = terms[HC_L1_MISFIT] / 2 + state.lambda * state.norm;
        if (state.tolerance > 0 && hc_l1_gap(objective, state.bound) <= state.tolerance) {
            state.stopped = 1;
            *(volatile int32_t *)&step.progress->problems = state.outer + 1;
        }
        double before = terms[HC_L1_UPHILL] > 0 ? 1 : state.time;
        state.time = (1 + sqrt(1 + 4 * before * before)) / 2;
        state.momentum = (before - 1) / state.time;
    }
}

/* A warp a term: over the blocks that have left theirs. */
__device__ inline void decide_by_terms(const Step &step, HcL1State &state) {
    __shared__ double terms[HC_L1_TERMS];
    static_assert((int)HC_L1_TERMS == (int)WARPS, "a warp each");
    int32_t term = (int32_t)threadIdx.x / 32;
    int32_t count = term < HC_L1_COLUMN_TERMS ? step.blocks : (int32_t)gridDim.x;
    double sum = 0;
    for (int32_t some = (int32_t)threadIdx.x % 32; some < count; some += 32 * AT_ONCE) {
        double values[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            int32_t at = some + k * 32;
            values[k] = at < count ? __ldcg(step.terms + term * HC_L1_BLOCKS + at) : 0;
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            sum = term == HC_L1_TOP ? fmax(sum, values[k]) : sum + values[k];
        }
    }
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        double other = __shfl_xor_sync(~0U, sum, apart);
        sum = term == HC_L1_TOP ? fmax(sum, other) : sum + other;
    }
    if (threadIdx.x % 32 == 0) {
        terms[term] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        decide(step, state, terms);
    }
    __syncthreads();
}

/* A x of all rows, and the block's terms of them. */
__device__ inline void finish_rows(const Step &step, const HcL1State &state, double *scratch) {
    double terms[4] = {};
    int32_t thread = (int32_t)threadIdx.x;
    for (int64_t base = (int64_t)blockIdx.x * TOGETHER; base < step.rows;
         base += (int64_t)gridDim.x * TOGETHER) {
        int64_t row = base + thread % TOGETHER;
        Ahead ahead = {};
        double product = 0;
        if (row < step.rows) {
            ahead.load(step, row);
            for (int32_t some = thread / TOGETHER; some < step.parts_count;
                 some += THREADS / TOGETHER * AT_ONCE) {
                double values[AT_ONCE];
#pragma unroll
                for (int k = 0; k < AT_ONCE; k++) {
                    int32_t part = some + k * (THREADS / TOGETHER);
                    values[k] = part < step.parts_count ? __ldcg(step.parts + part * step.rows + row) : 0;
                }
#pragma unroll
                for (int k = 0; k < AT_ONCE; k++) {
                    product += values[k];
                }
            }
        }
        scratch[thread] = product;
        hc_add_halves(scratch, THREADS / TOGETHER, TOGETHER);
        product = scratch[thread];
        __syncthreads();
        if (thread < TOGETHER && row < step.rows) {
            double missed = product - ahead.product_ahead(state);
            double weight = ahead.weight(state);
            terms[0] += missed * missed;
            terms[1] += (product - ahead.target) * (product - ahead.target);
            terms[2] += ahead.target * weight;
            terms[3] += weight * weight;
            step.product_before[row] = state.back != 0 ? ahead.before : ahead.product;
            step.product[row] = product;
        }
    }
    if (thread < 32) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
#pragma unroll
            for (int apart = TOGETHER / 2; apart > 0; apart /= 2) {
                terms[k] += __shfl_xor_sync(~0U, terms[k], apart);
            }
            if (thread == 0) {
                step.terms[(HC_L1_COLUMN_TERMS + k) * HC_L1_BLOCKS + blockIdx.x] = terms[k];
            }
        }
    }
}

static inline Step step_of(const HcL1 *l1) {
    Step step = {};
    step.rows = l1->matrix.rows;
    step.columns = l1->matrix.columns;
    step.turned = l1->turned;
    step.pitch = l1->pitch;
    step.slots = l1->slots;
    step.parts_count = l1->parts_count;
    step.blocks = l1->blocks;
    step.period = l1->period;
    step.here = l1->here;
    step.before = l1->before;
    step.slopes = l1->slopes;
    step.weight = l1->weight;
    step.product = l1->product;
    step.product_before = l1->product_before;
    step.parts = l1->parts;
    step.terms = l1->terms;
    step.target = l1->target;
    step.counters = l1->counters;
    step.state = l1->state;
    step.progress = l1->progress_device;
    return step;
}

} // namespace hc_l1

#endif
