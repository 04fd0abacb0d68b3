/* Steps that read the matrix once, from a copy that is stored by columns. A team of warps takes a column into
 * shared memory, finds its slope, moves its entry of x and, where that is not 0, adds it to A x. Then blocks
 * meet, the parts of A x are added, and the next step is decided. One kernel takes many steps: the matrix is
 * the same in all, so that columns of the next step are on their way while blocks meet. */
#include "gpu/l1/step.cuh"
#include "gpu/shared.cuh"

namespace {

using namespace hc_l1;

enum {
    PIECES_MAX = 8,                      /* of 4 entries of a column, of a thread */
    ROWS_MAX = THREADS * PIECES_MAX * 4, /* of a column that goes through shared memory */
    SLOTS_MAX = 8,
    COLUMNS_MIN = 4, /* of a team, before there are more blocks */
    KEPT = 2,        /* one part in KEPT of the second-level cache holds columns from step to step */
    TILE = 32
};

/* ---- steps ---- */

/* Until all copies but those of the newest `pending` columns are there. */
template <int MOST = SLOTS_MAX - 1> __device__ inline void wait_for_copies(int32_t pending) {
    if constexpr (MOST > 0) {
        if (pending < MOST) {
            return wait_for_copies<MOST - 1>(pending);
        }
    }
    hc_copies_wait<MOST>();
}

/* Values of rows that a block works with in shared memory: one for each thread at least. */
__host__ __device__ constexpr int values_of(int team, int pieces) {
    int rows = team * 32 * pieces * 4;
    return rows > THREADS ? rows : THREADS;
}

/* A team of TEAM warps takes columns, and its threads PIECES pieces of 4 entries of each, TEAM * 32 pieces
 * apart. Every thread copies what it reads itself, so that nothing but sums passes between them. */
template <int TEAM, int PIECES> struct Team {
    static constexpr int SIZE = TEAM * 32; /* threads */
    static constexpr int TEAMS = WARPS / TEAM;
    static constexpr int ROWS = values_of(TEAM, PIECES) / THREADS; /* of a thread */

    float4 *columns_kept; /* [slots][PIECES][THREADS], this thread's place */
    double *scratch;      /* [2][WARPS] */
    int32_t pieces;
    int32_t own;         /* number of the thread in its team */
    int32_t number;      /* of the team in its block */
    uint32_t turn;       /* counts sums */
    int32_t slot;        /* that is read next, and filled again */
    int32_t first, end;  /* columns of the team */
    int32_t ahead, left; /* the column that is copied next, and in how many steps */
    double weight[PIECES * 4];
    double product[PIECES * 4];

    /* For N steps, whose first columns are then on their way. */
    __device__ inline Team(const Step &step, int32_t steps, float4 *kept, double *sums)
        : columns_kept(kept + threadIdx.x), scratch(sums), pieces(step.pitch / 4),
          own((int32_t)threadIdx.x % SIZE), number((int32_t)threadIdx.x / SIZE), turn(0), slot(0) {
        int64_t index = (int64_t)blockIdx.x * TEAMS + number;
        int64_t teams = (int64_t)gridDim.x * TEAMS;
        first = ahead = (int32_t)(step.columns * index / teams);
        end = (int32_t)(step.columns * (index + 1) / teams);
        left = first < end ? steps : 0;
        for (int32_t k = 0; k < step.slots * PIECES; k++) {
            if (!has(k % PIECES)) {
                columns_kept[k * THREADS] = float4{0, 0, 0, 0};
            }
        }
        for (int32_t k = 0; k < step.slots; k++) {
            copy(step);
        }
    }

    __device__ inline bool has(int p) const {
        return own + p * SIZE < pieces;
    }

    /* Starts to copy the next column, after the last one again the first. */
    __device__ inline void copy(const Step &step) {
        if (left > 0) {
            const float4 *from = (const float4 *)(step.turned + (int64_t)ahead * step.pitch) + own;
            float4 *to = columns_kept + (int64_t)slot * PIECES * THREADS;
            bool keep = (ahead & (step.period - 1)) == 0;
#pragma unroll
            for (int p = 0; p < PIECES; p++) {
                if (has(p) && keep) {
                    hc_copy_16(to + p * THREADS, from + p * SIZE);
                } else if (has(p)) {
                    hc_copy_16_once(to + p * THREADS, from + p * SIZE);
                }
            }
            if (++ahead == end) {
                ahead = first;
                left--;
            }
        }
        hc_copies_end();
        slot = slot + 1 < step.slots ? slot + 1 : 0;
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

    __device__ inline double slope() {
        const float4 *from = columns_kept + (int64_t)slot * PIECES * THREADS;
        double sums[4] = {};
#pragma unroll
        for (int p = 0; p < PIECES; p++) {
            float4 a = from[p * THREADS];
            sums[0] = fma((double)a.x, weight[4 * p], sums[0]);
            sums[1] = fma((double)a.y, weight[4 * p + 1], sums[1]);
            sums[2] = fma((double)a.z, weight[4 * p + 2], sums[2]);
            sums[3] = fma((double)a.w, weight[4 * p + 3], sums[3]);
        }
        return add(sums[0] + sums[1] + (sums[2] + sums[3]));
    }

    __device__ inline void add_column(double x) {
        const float4 *from = columns_kept + (int64_t)slot * PIECES * THREADS;
#pragma unroll
        for (int p = 0; p < PIECES; p++) {
            float4 a = from[p * THREADS];
            product[4 * p] = fma((double)a.x, x, product[4 * p]);
            product[4 * p + 1] = fma((double)a.y, x, product[4 * p + 1]);
            product[4 * p + 2] = fma((double)a.z, x, product[4 * p + 2]);
            product[4 * p + 3] = fma((double)a.w, x, product[4 * p + 3]);
        }
    }

    /* 32 columns from base on, or those that there are. */
    __device__ inline void move_some(const Step &step, const Motion &motion, int64_t base, Sums &sums) {
        int32_t lane = own % 32;
        int32_t count = end - base < 32 ? (int32_t)(end - base) : 32;
        int64_t column = base + lane;
        bool there = lane < count;
        double before = there ? step.before[column] : 0;
        double x = there && !motion.back ? step.here[column] : before;
        double moved = 0;
        for (int32_t k = 0; k < count; k++) {
            wait_for_copies(step.slots - 1);
            double next = move(motion, slope(), __shfl_sync(~0U, x, k), __shfl_sync(~0U, before, k), sums);
            if (next != 0) {
                add_column(next);
            }
            moved = lane == k ? next : moved;
            asm volatile("" ::: "memory"); /* the slot is read before it is filled again */
            copy(step);
        }
        if (there && own < 32) {
            step.before[column] = x;
            step.here[column] = moved;
        }
    }

    /* target - A y, by way of values, which are shared memory. */
    __device__ inline void take_weights(const Ahead (&rows)[ROWS], const HcL1State &state, double *values) {
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            values[i * THREADS + (int32_t)threadIdx.x] = rows[i].weight(state);
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < PIECES * 4; i++) {
            weight[i] = values[(i / 4 * SIZE + own) * 4 + i % 4];
            product[i] = 0;
        }
    }

    /* What the teams of a block have added, in their order: into values, by pairs that lie side by side for
     * the threads, then to the block's part. */
    __device__ inline void put_product(const Step &step, double *values) {
        double2 *pairs = (double2 *)values + own;
        for (int32_t team = 0; team < TEAMS; team++) {
            __syncthreads();
            if (team == number) {
#pragma unroll
                for (int i = 0; i < PIECES * 2; i++) {
                    double2 sum = team > 0 ? pairs[i * SIZE] : double2{0, 0};
                    pairs[i * SIZE] = {sum.x + product[2 * i], sum.y + product[2 * i + 1]};
                }
            }
        }
        __syncthreads();
        for (int32_t r = (int32_t)threadIdx.x; r < step.rows; r += THREADS) {
            int32_t pair = (r / 4 / SIZE * 2 + r % 4 / 2) * SIZE + r / 4 % SIZE;
            step.parts[blockIdx.x * step.rows + r] = values[pair * 2 + r % 2];
        }
    }
};

/* Steps from the copy. Shared memory: a value of each row, then the kept columns. */
template <int TEAM, int PIECES>
__global__ void __launch_bounds__(THREADS, 1) take_steps(Step step, int32_t steps) {
    extern __shared__ __align__(128) float4 shared[]; /* as sectors are: else copies read each twice */
    __shared__ double scratch[THREADS];
    __shared__ double team_sums[WARPS / TEAM][HC_L1_COLUMN_TERMS];
    __shared__ HcL1State state;
    double *values = (double *)shared;
    uint32_t meetings = 0;
    if (step.state->stopped != 0) {
        return;
    }
    if (threadIdx.x == 0) {
        state = *step.state;
    }
    typedef Team<TEAM, PIECES> Own;
    Own team(step, steps, (float4 *)(values + values_of(TEAM, PIECES)), scratch);
    __syncthreads();
    for (int32_t k = 0;; k++) {
        Ahead rows[Own::ROWS] = {};
#pragma unroll
        for (int i = 0; i < Own::ROWS; i++) {
            int64_t row = i * THREADS + (int32_t)threadIdx.x;
            if (row < step.rows) {
                rows[i].load(step, row);
            }
        }
        if (k > 0) {
            decide_by_terms(step, state); /* the same in all blocks */
        }
        if (k == steps || state.stopped != 0) {
            break;
        }
        Sums sums = {};
        Motion motion = motion_of(state);
        team.take_weights(rows, state, values);
        for (int64_t base = team.first; base < team.end; base += 32) {
            team.move_some(step, motion, base, sums);
        }
        if (team.own == 0) {
            put_sums(sums, team_sums[team.number], 1);
        }
        team.put_product(step, values);
        hc_meet(step.counters, ++meetings);
        if (threadIdx.x < HC_L1_COLUMN_TERMS) { /* here, since all have read those of the step before */
            double term = 0;
            for (int32_t number = 0; number < team.TEAMS; number++) {
                double value = team_sums[number][threadIdx.x];
                term = threadIdx.x == HC_L1_TOP ? fmax(term, value) : term + value;
            }
            step.terms[threadIdx.x * HC_L1_BLOCKS + blockIdx.x] = term;
        }
        finish_rows(step, state, scratch);
        hc_meet(step.counters, ++meetings);
    }
    hc_copies_wait<0>();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *step.state = state;
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

typedef void Kernel(Step step, int32_t steps);

struct Shape {
    Kernel *kernel;
    int32_t team, pieces;
};

const Shape shapes[] = {{take_steps<1, 1>, 1, 1}, {take_steps<1, 2>, 1, 2}, {take_steps<1, 4>, 1, 4},
                        {take_steps<1, 8>, 1, 8}, {take_steps<2, 8>, 2, 8}, {take_steps<4, 8>, 4, 8},
                        {take_steps<8, 8>, 8, 8}};

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

size_t values_bytes(const Shape &shape) {
    return (size_t)values_of(shape.team, shape.pieces) * sizeof(double);
}

size_t shared_bytes(const HcL1 *l1, const Shape &shape) {
    return values_bytes(shape) + (size_t)l1->slots * slot_bytes(shape);
}

/* Shared memory that take_steps has beside what it asks for, and what the system keeps [bytes]. */
const size_t other_shared = 4096;

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
    size_t taken = values_bytes(shape) + other_shared;
    if (taken + slot_bytes(shape) > l1->gpu->shared_memory) {
        return;
    }
    size_t fit = (l1->gpu->shared_memory - taken) / slot_bytes(shape);
    int64_t least = WARPS / shape.team * COLUMNS_MIN; /* of a block */
    l1->slots = fit < SLOTS_MAX ? (int32_t)fit : SLOTS_MAX;
    l1->blocks = (int32_t)hc_min64(hc_div_up(columns, least), l1->gpu->processors);
    l1->parts_count = l1->blocks;
    double cache = hc_gpu_attribute(cudaDevAttrL2CacheSize, l1->gpu->device) / (double)KEPT;
    double bytes = (double)columns * l1->pitch * sizeof(float);
    l1->period = 1;
    while (l1->period <= INT32_MAX / 2 && bytes > cache * l1->period) {
        l1->period *= 2;
    }
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

HcStatus hc_gpu_l1_queue(HcL1 *l1, HcQueue *queue, int32_t steps, HcError *err) {
    Step step = step_of(l1);
    const Shape &shape = shape_for(l1->pitch);
    void *arguments[] = {&step, &steps};
    HC_OR_RETURN(hc_gpu_check(
        cudaMemsetAsync(step.counters, 0, HC_L1_BLOCKS * sizeof *step.counters, queue->stream), doing, err));
    return hc_gpu_check(cudaLaunchCooperativeKernel((const void *)shape.kernel, dim3((unsigned)step.blocks),
                                                    dim3(THREADS), arguments, shared_bytes(l1, shape),
                                                    queue->stream),
                        doing, err);
}
