/* Steps of fast proximal gradients (Beck and Teboulle 2009; Gao and Li), with momentum that starts anew where
 * it leads uphill (O'Donoghue and Candes 2015). A is read once a step: from a copy that is stored by columns,
 * of which a team of warps takes one into shared memory, finds its slope, moves its entry of x and, where
 * that is not 0, adds it to A x. Then the parts of A x are added and the next step is decided. Where there is
 * no memory for the copy, or columns are too long, A is read twice. */
#include "gpu/l1/l1.cuh"

#include "gpu/shared.cuh"

#include <math.h>

namespace {

enum {
    THREADS = HC_L1_THREADS,
    WARPS = HC_L1_WARPS,
    PIECES_MAX = 8,                      /* of 4 entries of a column, of a thread */
    ROWS_MAX = THREADS * PIECES_MAX * 4, /* of a column that goes through shared memory */
    SLOTS_MAX = 8,
    COLUMNS_MIN = 4, /* of a team, before there are more blocks */
    TOGETHER = 8,    /* rows of which a block adds the parts at once */
    TILE = 32
};

const char doing[] = "solving an l1 problem";

/* What a step may differ from the promise of `square` by rounding, and by how much it is raised beyond. */
const double slack = 1e-9;
const double raise_by = 1.0625;

/* What a step needs of a problem, as kernels take it. */
struct Step {
    int64_t rows, columns;
    const float *turned; /* [columns][pitch] */
    int32_t pitch, slots, parts_count, blocks;
    double *here, *before, *slopes, *weight, *product, *product_before, *parts, *terms;
    const double *target;
    uint32_t *counter;
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

__device__ inline void put_sums(const Step &step, const Sums &sums) {
    step.terms[HC_L1_NORM * HC_L1_BLOCKS + blockIdx.x] = sums.norm;
    step.terms[HC_L1_UPHILL * HC_L1_BLOCKS + blockIdx.x] = sums.uphill;
    step.terms[HC_L1_APART * HC_L1_BLOCKS + blockIdx.x] = sums.apart;
    step.terms[HC_L1_TOP * HC_L1_BLOCKS + blockIdx.x] = sums.top;
}

/* target - A y in one row; ahead: A y. */
__device__ inline double weigh(const Step &step, const HcL1State &state, int64_t row, double &ahead) {
    double before = step.product_before[row];
    double product = state.back != 0 ? before : step.product[row];
    ahead = product + state.momentum * (product - before);
    return step.target[row] - ahead;
}

/* ---- all columns, from the copy ---- */

__device__ inline void wait_for_copies(int32_t pending) {
    switch (pending) {
    case 0:
        hc_copies_wait<0>();
        break;
    case 1:
        hc_copies_wait<1>();
        break;
    case 2:
        hc_copies_wait<2>();
        break;
    case 3:
        hc_copies_wait<3>();
        break;
    case 4:
        hc_copies_wait<4>();
        break;
    case 5:
        hc_copies_wait<5>();
        break;
    case 6:
        hc_copies_wait<6>();
        break;
    default:
        hc_copies_wait<SLOTS_MAX - 1>();
        break;
    }
}

/* A team of TEAM warps takes columns, and its threads PIECES pieces of 4 entries of each, TEAM * 32 pieces
 * apart. Every thread copies what it reads itself, so that nothing but sums passes between them. */
template <int TEAM, int PIECES> struct Team {
    static constexpr int SIZE = TEAM * 32; /* threads */
    static constexpr int TEAMS = WARPS / TEAM;

    float4 *columns_kept; /* [slots][PIECES][THREADS], this thread's place */
    double *scratch;      /* [2][WARPS] */
    int32_t pieces;
    int32_t own;    /* number of the thread in its team */
    int32_t number; /* of the team in its block */
    uint32_t turn;  /* counts sums */
    double weight[PIECES * 4];
    double product[PIECES * 4];

    __device__ inline bool has(int p) const {
        return own + p * SIZE < pieces;
    }

    __device__ inline void copy(const Step &step, int64_t column, int64_t end, int32_t slot) {
        if (column < end) {
            const float4 *from = (const float4 *)(step.turned + column * step.pitch) + own;
            float4 *to = columns_kept + (int64_t)slot * PIECES * THREADS;
#pragma unroll
            for (int p = 0; p < PIECES; p++) {
                if (has(p)) {
                    hc_copy_16(to + p * THREADS, from + p * SIZE);
                }
            }
        }
        hc_copies_end();
    }

    /* The sum over the team, in every thread. */
    __device__ inline double add(double value) {
#pragma unroll
        for (int apart = 16; apart > 0; apart /= 2) {
            value += __shfl_xor_sync(~0U, value, apart);
        }
        if constexpr (TEAM > 1) {
            double *sums = scratch + turn++ % 2 * WARPS + number * TEAM;
            if (own % 32 == 0) {
                sums[own / 32] = value;
            }
            asm volatile("bar.sync %0, %1;" ::"r"(number + 1), "n"(SIZE) : "memory");
            value = 0;
#pragma unroll
            for (int w = 0; w < TEAM; w++) {
                value += sums[w];
            }
        }
        return value;
    }

    __device__ inline double slope(int32_t slot) {
        const float4 *from = columns_kept + (int64_t)slot * PIECES * THREADS;
        double sums[4] = {};
#pragma unroll
        for (int p = 0; p < PIECES; p++) {
            if (has(p)) {
                float4 a = from[p * THREADS];
                sums[0] = fma((double)a.x, weight[4 * p], sums[0]);
                sums[1] = fma((double)a.y, weight[4 * p + 1], sums[1]);
                sums[2] = fma((double)a.z, weight[4 * p + 2], sums[2]);
                sums[3] = fma((double)a.w, weight[4 * p + 3], sums[3]);
            }
        }
        return add(sums[0] + sums[1] + (sums[2] + sums[3]));
    }

    __device__ inline void add_column(int32_t slot, double x) {
        const float4 *from = columns_kept + (int64_t)slot * PIECES * THREADS;
#pragma unroll
        for (int p = 0; p < PIECES; p++) {
            if (has(p)) {
                float4 a = from[p * THREADS];
                product[4 * p] = fma((double)a.x, x, product[4 * p]);
                product[4 * p + 1] = fma((double)a.y, x, product[4 * p + 1]);
                product[4 * p + 2] = fma((double)a.z, x, product[4 * p + 2]);
                product[4 * p + 3] = fma((double)a.w, x, product[4 * p + 3]);
            }
        }
    }

    /* Columns base to end, 32 at most, whose copies are under way; `all` is where copies end. */
    __device__ inline void move_some(const Step &step, const Motion &motion, int64_t base, int64_t end,
                                     int64_t all, int32_t &slot, Sums &sums) {
        int32_t lane = own % 32;
        int64_t column = base + lane;
        bool there = column < end;
        double before = there ? step.before[column] : 0;
        double x = there && !motion.back ? step.here[column] : before;
        double moved = 0;
        for (int32_t k = 0; k < end - base; k++) {
            wait_for_copies(step.slots - 1);
            double next =
                move(motion, slope(slot), __shfl_sync(~0U, x, k), __shfl_sync(~0U, before, k), sums);
            if (next != 0) {
                add_column(slot, next);
            }
            moved = lane == k ? next : moved;
            asm volatile("" ::: "memory"); /* the slot is read before it is filled again */
            copy(step, base + k + step.slots, all, slot);
            slot = slot + 1 < step.slots ? slot + 1 : 0;
        }
        if (there && own < 32) {
            step.before[column] = x;
            step.here[column] = moved;
        }
    }

    /* What the teams of a block have added, in their order: into values, which are shared memory, then to the
     * block's part. */
    __device__ inline void put_product(const Step &step, double *values) {
        for (int32_t team = 0; team < TEAMS; team++) {
            __syncthreads();
            if (team == number) {
#pragma unroll
                for (int i = 0; i < PIECES * 4; i++) {
                    if (has(i / 4)) {
                        int32_t at = (i / 4 * SIZE + own) * 4 + i % 4;
                        values[at] = team > 0 ? values[at] + product[i] : product[i];
                    }
                }
            }
        }
        __syncthreads();
        for (int32_t r = (int32_t)threadIdx.x; r < step.rows; r += THREADS) {
            step.parts[blockIdx.x * step.rows + r] = values[r];
        }
    }
};

/* Shared memory: weights[pitch], which the sums of the block replace, then the kept columns. */
template <int TEAM, int PIECES> __global__ void __launch_bounds__(THREADS, 1) move_columns(Step step) {
    extern __shared__ float4 shared[];
    __shared__ double scratch[2 * WARPS];
    __shared__ Sums team_sums[WARPS / TEAM];
    if (step.state->stopped != 0) {
        return;
    }
    constexpr int TEAMS = WARPS / TEAM;
    double *values = (double *)shared;
    Team<TEAM, PIECES> team;
    team.columns_kept = (float4 *)(values + step.pitch) + threadIdx.x;
    team.scratch = scratch;
    team.pieces = step.pitch / 4;
    team.own = (int32_t)threadIdx.x % team.SIZE;
    team.number = (int32_t)threadIdx.x / team.SIZE;
    team.turn = 0;
    int64_t teams = (int64_t)gridDim.x * TEAMS;
    int64_t index = (int64_t)blockIdx.x * TEAMS + team.number;
    int64_t first = step.columns * index / teams;
    int64_t end = step.columns * (index + 1) / teams;
    for (int32_t slot = 0; slot < step.slots; slot++) {
        team.copy(step, first + slot, end, slot);
    }
    Motion motion = motion_of(*step.state);
    for (int32_t r = (int32_t)threadIdx.x; r < step.pitch; r += THREADS) {
        double ahead;
        values[r] = r < step.rows ? weigh(step, *step.state, r, ahead) : 0;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < PIECES * 4; i++) {
        team.weight[i] = team.has(i / 4) ? values[(i / 4 * team.SIZE + team.own) * 4 + i % 4] : 0;
        team.product[i] = 0;
    }
    Sums sums = {};
    int32_t slot = 0;
    for (int64_t base = first; base < end; base += 32) {
        team.move_some(step, motion, base, end - base < 32 ? end : base + 32, end, slot, sums);
    }
    if (team.own == 0) {
        team_sums[team.number] = sums;
    }
    team.put_product(step, values);
    if (threadIdx.x == 0) {
        for (int32_t k = 1; k < TEAMS; k++) {
            sums.norm += team_sums[k].norm;
            sums.uphill += team_sums[k].uphill;
            sums.apart += team_sums[k].apart;
            sums.top = fmax(sums.top, team_sums[k].top);
        }
        put_sums(step, sums);
    }
}

/* ---- all columns, from slopes that are there ---- */

__global__ void __launch_bounds__(THREADS) weigh_rows(Step step) {
    if (step.state->stopped != 0) {
        return;
    }
    for (int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x; row < step.rows;
         row += (int64_t)gridDim.x * THREADS) {
        double ahead;
        step.weight[row] = weigh(step, *step.state, row, ahead);
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
        put_sums(step, sums);
    }
}

/* ---- what a step has come to ---- */

/* A step with the constant L at least the largest eigenvalue of A'A has |A (x - y)|^2 <= L |x - y|^2. One
 * that has not is taken back, and L raised. */
__device__ inline void decide(const Step &step, const double *terms) {
    HcL1State state = *step.state;
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
    *step.state = state;
}

/* A warp a term: over the blocks that have left theirs. */
__device__ inline void decide_by_terms(const Step &step) {
    __shared__ double terms[HC_L1_TERMS];
    static_assert((int)HC_L1_TERMS == (int)WARPS, "a warp each");
    int32_t term = (int32_t)threadIdx.x / 32;
    int32_t count = term < HC_L1_COLUMN_TERMS ? step.blocks : (int32_t)gridDim.x;
    double sum = 0;
    for (int32_t k = (int32_t)threadIdx.x % 32; k < count; k += 32) {
        double value = __ldcg(step.terms + term * HC_L1_BLOCKS + k);
        sum = term == HC_L1_TOP ? fmax(sum, value) : sum + value;
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
        decide(step, terms);
    }
}

/* The parts of A x of one row, in the thread below TOGETHER that has it. */
__device__ inline double add_parts(const Step &step, int64_t row, double *scratch) {
    double sum = 0;
    if (row < step.rows) {
#pragma unroll 4
        for (int32_t part = (int32_t)threadIdx.x / TOGETHER; part < step.parts_count;
             part += THREADS / TOGETHER) {
            sum += step.parts[part * step.rows + row];
        }
    }
    scratch[threadIdx.x] = sum;
    hc_add_halves(scratch, THREADS / TOGETHER, TOGETHER);
    sum = scratch[threadIdx.x];
    __syncthreads();
    return sum;
}

/* A x of all rows; the block that ends last decides the next step. */
__global__ void __launch_bounds__(THREADS, 2) end_step(Step step) {
    __shared__ double scratch[THREADS];
    __shared__ bool last;
    if (step.state->stopped != 0) {
        return;
    }
    double terms[4] = {};
    for (int64_t base = (int64_t)blockIdx.x * TOGETHER; base < step.rows;
         base += (int64_t)gridDim.x * TOGETHER) {
        int64_t row = base + threadIdx.x % TOGETHER;
        double product = add_parts(step, row, scratch);
        if (threadIdx.x < TOGETHER && row < step.rows) {
            double ahead;
            double target = step.target[row];
            double weight = weigh(step, *step.state, row, ahead);
            terms[0] += (product - ahead) * (product - ahead);
            terms[1] += (product - target) * (product - target);
            terms[2] += target * weight;
            terms[3] += weight * weight;
            step.product_before[row] = step.state->back != 0 ? step.product_before[row] : step.product[row];
            step.product[row] = product;
        }
    }
    if (threadIdx.x < 32) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
#pragma unroll
            for (int apart = TOGETHER / 2; apart > 0; apart /= 2) {
                terms[k] += __shfl_xor_sync(~0U, terms[k], apart);
            }
            if (threadIdx.x == 0) {
                step.terms[(HC_L1_COLUMN_TERMS + k) * HC_L1_BLOCKS + blockIdx.x] = terms[k];
            }
        }
    }
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(step.counter, 1U) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        __threadfence();
        decide_by_terms(step);
        if (threadIdx.x == 0) {
            *step.counter = 0;
        }
    }
}

/* ---- the copy ---- */

/* A tile a block, which goes down the rows; rows after the last are 0. */
__global__ void __launch_bounds__(THREADS) turn_matrix(HcMatrix matrix, int32_t pitch, float *turned) {
    __shared__ float tile[TILE][TILE + 1];
    int64_t column0 = (int64_t)blockIdx.x * TILE;
    int32_t lane = (int32_t)threadIdx.x % TILE;
    for (int32_t row0 = 0; row0 < pitch; row0 += TILE) {
        for (int32_t k = (int32_t)threadIdx.x / TILE; k < TILE; k += THREADS / TILE) {
            int64_t row = row0 + k;
            bool inside = row < matrix.rows && column0 + lane < matrix.columns;
            tile[k][lane] = inside ? matrix.data[row * matrix.columns + column0 + lane] : 0;
        }
        __syncthreads();
        for (int32_t k = (int32_t)threadIdx.x / TILE; k < TILE; k += THREADS / TILE) {
            if (row0 + lane < pitch && column0 + k < matrix.columns) {
                turned[(column0 + k) * pitch + row0 + lane] = tile[lane][k];
            }
        }
        __syncthreads();
    }
}

/* ---- the shape of a step ---- */

typedef void Kernel(Step step);

struct Shape {
    Kernel *kernel;
    int32_t team, pieces;
};

const Shape shapes[] = {{move_columns<1, 1>, 1, 1}, {move_columns<1, 2>, 1, 2}, {move_columns<1, 4>, 1, 4},
                        {move_columns<1, 8>, 1, 8}, {move_columns<2, 8>, 2, 8}, {move_columns<4, 8>, 4, 8},
                        {move_columns<8, 8>, 8, 8}};

/* That for N rows. */
const Shape &shape_for(int32_t pitch) {
    const Shape *shape = shapes;
    while (shape->team * 32 * shape->pieces * 4 < pitch) {
        shape++;
    }
    return *shape;
}

size_t slot_bytes(const Shape &shape) {
    return (size_t)shape.pieces * THREADS * sizeof(float4);
}

size_t shared_bytes(const HcL1 *l1, const Shape &shape) {
    return (size_t)l1->pitch * sizeof(double) + (size_t)l1->slots * slot_bytes(shape);
}

/* Shared memory that move_columns has beside what it asks for, and what the system keeps [bytes]. */
const size_t other_shared = 2048;

Step step_of(const HcL1 *l1) {
    Step step = {};
    step.rows = l1->matrix.rows;
    step.columns = l1->matrix.columns;
    step.turned = l1->turned;
    step.pitch = l1->pitch;
    step.slots = l1->slots;
    step.parts_count = l1->parts_count;
    step.blocks = l1->blocks;
    step.here = l1->here;
    step.before = l1->before;
    step.slopes = l1->slopes;
    step.weight = l1->weight;
    step.product = l1->product;
    step.product_before = l1->product_before;
    step.parts = l1->parts;
    step.terms = l1->terms;
    step.target = l1->target;
    step.counter = l1->counter;
    step.state = l1->state;
    step.progress = l1->progress_device;
    return step;
}

HcStatus queue_step(HcL1 *l1, HcQueue *queue, const Step &step, HcError *err) {
    unsigned row_blocks = (unsigned)hc_min64(hc_div_up(step.rows, TOGETHER), HC_L1_BLOCKS);
    if (l1->turned != NULL) {
        const Shape &shape = shape_for(l1->pitch);
        shape.kernel<<<(unsigned)step.blocks, THREADS, shared_bytes(l1, shape), queue->stream>>>(step);
    } else {
        const int32_t *stopped = &step.state->stopped;
        weigh_rows<<<hc_l1_blocks(step.rows), THREADS, 0, queue->stream>>>(step);
        HC_OR_RETURN(hc_gpu_multiply_back(queue, &l1->matrix, (const double *)step.weight,
                                          {.y = NULL, .sums = step.slopes}, stopped, err));
        move_by_slopes<<<(unsigned)step.blocks, THREADS, 0, queue->stream>>>(step);
        HC_OR_RETURN(hc_gpu_multiply(queue, &l1->matrix, (const double *)step.here,
                                     {.y = NULL, .sums = step.parts}, stopped, err));
    }
    end_step<<<row_blocks, THREADS, 0, queue->stream>>>(step);
    return hc_gpu_launched(doing, err);
}

} // namespace

void hc_gpu_l1_plan(HcL1 *l1) {
    int64_t columns = l1->matrix.columns;
    l1->slots = 0;
    l1->blocks = (int32_t)hc_l1_blocks(columns);
    l1->parts_count = 1;
    if (l1->matrix.rows > ROWS_MAX) {
        return;
    }
    l1->pitch = (int32_t)(hc_div_up(l1->matrix.rows, 4) * 4);
    const Shape &shape = shape_for(l1->pitch);
    size_t taken = (size_t)l1->pitch * sizeof(double) + other_shared;
    if (taken + slot_bytes(shape) > l1->gpu->shared_memory) {
        return;
    }
    size_t fit = (l1->gpu->shared_memory - taken) / slot_bytes(shape);
    int64_t least = WARPS / shape.team * COLUMNS_MIN; /* of a block */
    l1->slots = fit < SLOTS_MAX ? (int32_t)fit : SLOTS_MAX;
    l1->blocks = (int32_t)hc_min64(hc_div_up(columns, least), l1->gpu->processors);
    l1->parts_count = l1->blocks;
}

HcStatus hc_gpu_l1_turn(HcL1 *l1, HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    size_t bytes = (size_t)l1->matrix.columns * (size_t)l1->pitch * sizeof(float);
    if (l1->slots == 0) {
        return HC_OK;
    }
    status = hc_gpu_alloc(&l1->gpu->base, HC_MEMORY_DEVICE, bytes, &l1->turned_memory, NULL);
    if (status == HC_E_MEMORY) {
        l1->slots = 0;
        l1->blocks = (int32_t)hc_l1_blocks(l1->matrix.columns);
        l1->parts_count = 1;
        return HC_OK;
    }
    HC_OR_RETURN(status);
    l1->turned = (float *)l1->turned_memory.data;
    HC_OR_RETURN(hc_gpu_check(cudaFuncSetAttribute(shape_for(l1->pitch).kernel,
                                                   cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                   (int)shared_bytes(l1, shape_for(l1->pitch))),
                              doing, err));
    turn_matrix<<<(unsigned)hc_div_up(l1->matrix.columns, TILE), THREADS, 0, queue->stream>>>(
        l1->matrix, l1->pitch, l1->turned);
    HC_OR_RETURN(hc_gpu_launched(doing, err));
    return status;
}

HcStatus hc_gpu_l1_descend(HcL1 *l1, HcQueue *queue, int32_t number, int32_t most, HcError *err) {
    const volatile HcL1Progress *progress = l1->progress;
    Step step = step_of(l1);
    for (int32_t k = 0; k < most && progress->problems < number && progress->finished == 0; k++) {
        HC_OR_RETURN(queue_step(l1, queue, step, err));
    }
    return HC_OK;
}
