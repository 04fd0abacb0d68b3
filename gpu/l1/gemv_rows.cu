/* y = A x for many rows of some hundred columns: warps have whole rows in their registers, and read the next
 * ones while they add. Rows of a warp begin equally far after an aligned address, so that pieces of them
 * meet the same values of x: a team of warps has neighbouring rows, one of each such distance. Rows of up to
 * 112 columns would leave many lanes idle: there a warp has a batch of rows as one run of pieces, whose sums
 * meet in shared memory. */
#include "gpu/l1/gemv.cuh"
#include "gpu/shared.cuh"

namespace {

enum {
    THREADS = HC_GEMV_THREADS,
    WARPS = HC_GEMV_WARPS,
    PIECE = HC_GEMV_PIECE,
    STRIDE = 32 * PIECE, /* values that a warp reads at once */
    TEAM = PIECE,        /* warps, whose rows begin at different distances */
    PACKS_MAX = 10,      /* that a row has */
    RUN = 7,             /* pieces that a lane has of a batch */
    RUN_PIECES = 28,     /* that a row of a batch has, at most */
    RUN_BLOCKS = 2,      /* of a processor */
    RUN_EARLY = 2,       /* batches that a warp fetches early */
    COLUMNS_MIN = 65,
    ROWS_MIN = 32 /* for each processor */
};

/* ---- whole rows ---- */

/* What a lane has of each of its rows: places 4 lane to 4 lane + 3, those 128 after them, and so on. Places
 * count from an aligned address, `shift` values before the row. */
template <int PACKS, typename X> struct Places {
    int32_t shift;
    const X *x;                  /* [PACKS][32][PIECE] from the lane's first on, 0 beside the row; shared */
    uint32_t keep[PACKS][PIECE]; /* all bits of a value of the row, else none */
};

/* shared[TEAM][PACKS * 128]: x as rows of each shift need it. */
template <int PACKS, bool EVEN, typename X>
__device__ inline void share_factors(const HcGemvJob<X> &job, X *shared) {
    for (int32_t i = (int32_t)threadIdx.x; i < (EVEN ? 1 : TEAM) * PACKS * STRIDE; i += THREADS) {
        int32_t column = i % (PACKS * STRIDE) - i / (PACKS * STRIDE);
        shared[i] = column >= 0 && column < (int32_t)job.columns ? __ldg(job.x + column) : 0;
    }
    __syncthreads();
}

template <int PACKS, typename X>
__device__ inline Places<PACKS, X> find_places(const HcGemvJob<X> &job, int32_t shift, const X *shared) {
    Places<PACKS, X> places;
    int32_t lane = (int32_t)threadIdx.x % 32 * PIECE;
    places.shift = shift;
    places.x = shared + shift * PACKS * STRIDE + lane;
#pragma unroll
    for (int p = 0; p < PACKS; p++) {
#pragma unroll
        for (int v = 0; v < PIECE; v++) {
            int32_t column = p * STRIDE + lane + v - shift;
            places.keep[p][v] = column >= 0 && column < (int32_t)job.columns ? ~0U : 0U;
        }
    }
    return places;
}

__device__ inline void load_shared(float out[PIECE], const float *at) {
    float4 four = *(const float4 *)at;
    out[0] = four.x, out[1] = four.y, out[2] = four.z, out[3] = four.w;
}

__device__ inline void load_shared(double out[PIECE], const double *at) {
    double2 first = *(const double2 *)at;
    double2 second = *(const double2 *)(at + 2);
    out[0] = first.x, out[1] = first.y, out[2] = second.x, out[3] = second.y;
}

/* ROWS rows from `row` on, each TEAM after the one before; those from `count` on are 0. Pieces hold values
 * of the rows beside it, too, except for those outside of the matrix. */
template <int PACKS, int ROWS, typename X>
__device__ inline void load_rows(const HcGemvJob<X> &job, const Places<PACKS, X> &places, int64_t row,
                                 int64_t count, float values[ROWS][PACKS][PIECE]) {
    int32_t end = (int32_t)job.columns + places.shift;
    int32_t lane = (int32_t)threadIdx.x % 32 * PIECE;
    int64_t last = row + ((count < ROWS ? count : ROWS) - 1) * TEAM;
    bool is_inner = row > 0 && last < job.rows - 1; /* no piece leaves the matrix */
    const float *a = job.a + row * job.columns - places.shift;
#pragma unroll
    for (int i = 0; i < ROWS; i++, a += TEAM * job.columns) {
        bool is_there = i < count && row + i * TEAM < job.rows;
#pragma unroll
        for (int p = 0; p < PACKS; p++) {
            int32_t place = p * STRIDE + lane;
            if (is_inner && is_there && place < end) {
                hc_load_once<PIECE>(values[i][p], a + place);
                continue;
            }
#pragma unroll
            for (int v = 0; v < PIECE; v++) {
                values[i][p][v] = !is_inner && is_there && places.keep[p][v] != 0 ? a[place + v] : 0;
            }
        }
    }
}

/* sums[ROWS] of the lane's values; those of other rows, which may be NaN, do not count. */
template <int PACKS, int ROWS, bool EVEN, typename X>
__device__ inline void add_rows(const Places<PACKS, X> &places, const float values[ROWS][PACKS][PIECE],
                                double sums[ROWS]) {
#pragma unroll
    for (int p = 0; p < PACKS; p++) {
        bool is_partial = !EVEN && (p == 0 || p + 2 >= PACKS);
        X x[PIECE];
        load_shared(x, places.x + p * STRIDE);
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
#pragma unroll
            for (int v = 0; v < PIECE; v++) {
                uint32_t bits = __float_as_uint(values[i][p][v]);
                float value = __uint_as_float(is_partial ? bits & places.keep[p][v] : bits);
                sums[i] = fma((double)value, (double)x[v], sums[i]);
            }
        }
    }
}

/* Rows that a warp has under way, and blocks of a processor: enough to hide the memory, without spilling. */
template <int PACKS> constexpr int rows_of = PACKS == 1 ? 8 : PACKS == 2 ? 4 : 2;
template <int PACKS> constexpr int blocks_of = PACKS == 2 || PACKS == 3 ? 3 : 2;

/* Quads of TEAM rows are dealt out in rounds of ROWS for each team, and what is left of them evenly. */
template <int PACKS, bool EVEN, typename X>
__global__ void __launch_bounds__(THREADS, blocks_of<PACKS>) multiply_rows(HcGemvJob<X> job) {
    constexpr int ROWS = rows_of<PACKS>;
    __shared__ __align__(16) X shared[(EVEN ? 1 : TEAM) * PACKS * STRIDE];
    float values[ROWS][PACKS][PIECE];
    int32_t warp = (int32_t)(blockIdx.x * WARPS + threadIdx.x / 32);
    int32_t lane = (int32_t)threadIdx.x % 32;
    int32_t own = warp % TEAM;
    int64_t team = warp / TEAM;
    int64_t teams = (int64_t)gridDim.x * WARPS / TEAM;
    int64_t quads = (job.rows - 1) / TEAM + 1;
    int64_t round = teams * ROWS;
    int64_t dealt = quads / round * round;
    int64_t rest = dealt + (quads - dealt) * team / teams;
    int64_t end = dealt + (quads - dealt) * (team + 1) / teams;
    int64_t quad = dealt > 0 ? team * ROWS : rest;
    for (int32_t i = 0; i < ROWS; i++) {
        int64_t row = (quad + i) * TEAM + own;
        hc_fetch_early(job.a + row * job.columns, row < job.rows ? job.columns : 0, lane, 32);
    }
    if (!hc_begin(job.stopped)) {
        return;
    }
    share_factors<PACKS, EVEN>(job, shared);
    int32_t shift = EVEN ? 0 : hc_shift_of(job.a + own * job.columns);
    Places<PACKS, X> places = find_places<PACKS>(job, shift, shared);
    load_rows<PACKS, ROWS>(job, places, quad * TEAM + own, end - quad, values);
    while (quad < end) {
        int64_t next = quad + round < dealt ? quad + round : quad < rest ? rest : end;
        double sums[ROWS] = {};
        add_rows<PACKS, ROWS, EVEN>(places, values, sums);
        load_rows<PACKS, ROWS>(job, places, next * TEAM + own, end - next, values);
        double sum = hc_sum_for_lanes<ROWS, 32>(sums, lane);
        int64_t taken = quad + lane;
        int64_t row = taken * TEAM + own;
        if (lane < ROWS && taken < end && row < job.rows) {
            hc_put(job.out, row, sum);
        }
        quad = next;
    }
}

template <int PACKS, typename X>
HcStatus run(HcQueue *queue, const HcGemvJob<X> &job, bool even, int64_t packs, HcError *err) {
    if constexpr (PACKS > 1) {
        if (packs < PACKS) {
            return run<PACKS - 1>(queue, job, even, packs, err);
        }
    }
    int64_t blocks = blocks_of<PACKS> * (int64_t)queue->gpu->processors;
    return hc_launch(queue, even ? multiply_rows<PACKS, true, X> : multiply_rows<PACKS, false, X>, blocks,
                     job, err);
}

/* ---- batches ---- */

/* A batch is neighbouring rows, a multiple of TEAM, so that all batches lie alike. Piece number lane + 32 k
 * of a batch is k-th of the lane. */
template <typename X> struct Batch : HcGemvJob<X> {
    Batch(const HcGemvJob<X> &job) : HcGemvJob<X>(job) {
    }
    int32_t pieces = 0; /* of a row, at most */
    int32_t rows_of = 0;
    int32_t lanes = 0; /* that add the pieces of a row; a power of two */
};

/* What a lane has of all its batches. */
struct Run {
    uint32_t place[RUN]; /* of a piece: PIECE and more values after the batch; upper half: in shared x */
    uint32_t keep;       /* bit PIECE k + v: value v of piece k is of the row */
};

template <bool EVEN, typename X> __device__ inline Run find_run(const Batch<X> &job) {
    Run run = {};
    int32_t columns = (int32_t)job.columns;
#pragma unroll
    for (int k = 0; k < RUN; k++) {
        int32_t row = ((int32_t)threadIdx.x % 32 + 32 * k) / job.pieces;
        int32_t piece = ((int32_t)threadIdx.x % 32 + 32 * k) % job.pieces;
        int32_t shift = EVEN ? 0 : hc_shift_of(job.a + row * columns);
        run.place[k] = (uint32_t)(row * columns - shift + piece * PIECE + PIECE) |
                       (uint32_t)((shift * job.pieces + piece) * PIECE) << 16;
#pragma unroll
        for (int v = 0; v < PIECE; v++) {
            int32_t column = piece * PIECE + v - shift;
            bool there = row < job.rows_of && column >= 0 && column < columns;
            run.keep |= (there ? 1U : 0U) << (k * PIECE + v);
        }
    }
    return run;
}

/* A piece that is not of the batch is left as it was; one of a batch at the ends of the matrix is 0 beside
 * it. */
template <typename X>
__device__ inline void load_batch(const Batch<X> &job, const Run &run, int64_t batch,
                                  float values[RUN][PIECE]) {
    int32_t lane = (int32_t)threadIdx.x % 32;
    int64_t row = batch * job.rows_of;
    const float *a = job.a + row * job.columns - PIECE;
    if (row > 0 && row + job.rows_of < job.rows) {
#pragma unroll
        for (int k = 0; k < RUN; k++) {
            if (lane + 32 * k < job.rows_of * job.pieces) {
                hc_load_once<PIECE>(values[k], a + (run.place[k] & 0xFFFF));
            }
        }
        return;
    }
#pragma unroll
    for (int k = 0; k < RUN; k++) {
        bool there = row + (lane + 32 * k) / job.pieces < job.rows;
#pragma unroll
        for (int v = 0; v < PIECE; v++) {
            bool mine = there && (run.keep >> (k * PIECE + v) & 1) != 0;
            values[k][v] = mine ? a[(run.place[k] & 0xFFFF) + v] : 0;
        }
    }
}

/* The sum of each piece, to its place in sums. */
template <bool EVEN>
__device__ inline void add_pieces(const Run &run, const float values[RUN][PIECE], const double *x,
                                  double sums[RUN * 32]) {
#pragma unroll
    for (int k = 0; k < RUN; k++) {
        double factors[PIECE];
        double sum = 0;
        load_shared(factors, x + (run.place[k] >> 16));
#pragma unroll
        for (int v = 0; v < PIECE; v++) {
            bool there = EVEN || (run.keep & 1U << (k * PIECE + v)) != 0; /* others may be NaN */
            sum = fma((double)(there ? values[k][v] : 0), factors[v], sum);
        }
        sums[threadIdx.x % 32 + 32 * k] = sum;
    }
}

template <bool EVEN, typename X>
__global__ void __launch_bounds__(THREADS, RUN_BLOCKS) multiply_batches(Batch<X> job) {
    __shared__ double sums[WARPS][RUN * 32];
    __shared__ __align__(
        16) double x[(EVEN ? 1 : TEAM) * RUN_PIECES * PIECE]; /* as rows of each shift need it */
    int32_t lane = (int32_t)threadIdx.x % 32;
    int32_t places = job.pieces * PIECE;
    int64_t warps = (int64_t)gridDim.x * WARPS;
    int64_t batch = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    int64_t batches = (job.rows - 1) / job.rows_of + 1;
    double *own = sums[threadIdx.x / 32];
    int32_t taken = lane / job.lanes;
    float values[RUN][PIECE] = {};
    for (int i = 0; i < RUN_EARLY; i++) {
        int64_t row = (batch + i * warps) * job.rows_of;
        int64_t left = job.rows - row < job.rows_of ? job.rows - row : job.rows_of;
        hc_fetch_early(job.a + row * job.columns, left * job.columns, lane, 32);
    }
    if (!hc_begin(job.stopped)) {
        return;
    }
    for (int32_t i = (int32_t)threadIdx.x; i < (EVEN ? 1 : TEAM) * places; i += THREADS) {
        int32_t column = i % places - i / places;
        x[i] = column >= 0 && column < (int32_t)job.columns ? (double)__ldg(job.x + column) : 0;
    }
    __syncthreads();
    Run run = find_run<EVEN>(job);
    if (batch < batches) {
        load_batch(job, run, batch, values);
    }
    for (; batch < batches; batch += warps) {
        add_pieces<EVEN>(run, values, x, own);
        if (batch + warps < batches) {
            load_batch(job, run, batch + warps, values);
        }
        __syncwarp();
        double sum = 0;
        if (taken < job.rows_of) {
#pragma unroll 4
            for (int32_t piece = lane % job.lanes; piece < job.pieces; piece += job.lanes) {
                sum += own[taken * job.pieces + piece];
            }
        }
        for (int32_t apart = 1; apart < job.lanes; apart *= 2) {
            sum += __shfl_xor_sync(~0U, sum, apart);
        }
        int64_t row = batch * job.rows_of + taken;
        if (lane % job.lanes == 0 && taken < job.rows_of && row < job.rows) {
            hc_put(job.out, row, sum);
        }
        __syncwarp(); /* others have read the sums */
    }
}

template <typename X>
HcStatus run_batches(HcQueue *queue, const HcGemvJob<X> &job, bool even, int32_t pieces, HcError *err) {
    Batch<X> batch(job);
    batch.pieces = pieces;
    batch.rows_of = RUN * 32 / pieces / TEAM * TEAM;
    batch.lanes = batch.rows_of > 8 ? 2 : 4;
    return hc_launch(queue, even ? multiply_batches<true, X> : multiply_batches<false, X>,
                     RUN_BLOCKS * (int64_t)queue->gpu->processors, batch, err);
}

/* ---- which ---- */

/* Aligned pieces that a row has, of all lanes. */
template <typename X> int64_t packs_of(const HcGemvJob<X> &job, bool even) {
    return hc_div_up(job.columns + (even ? 0 : PIECE - 1), STRIDE);
}

template <typename X> bool is_even(const HcGemvJob<X> &job) {
    return (uintptr_t)job.a % (PIECE * sizeof(float)) == 0 && job.columns % PIECE == 0;
}

} // namespace

template <typename X> bool hc_gpu_takes_rows(HcQueue *queue, const HcGemvJob<X> &job) {
    return job.columns >= COLUMNS_MIN && packs_of(job, is_even(job)) <= PACKS_MAX &&
           job.rows >= ROWS_MIN * (int64_t)queue->gpu->processors;
}

template <typename X> HcStatus hc_gpu_multiply_rows(HcQueue *queue, const HcGemvJob<X> &job, HcError *err) {
    bool even = is_even(job);
    int64_t pieces = hc_div_up(job.columns + (even ? 0 : PIECE - 1), PIECE);
    if (pieces <= RUN_PIECES) {
        return run_batches(queue, job, even, (int32_t)pieces, err);
    }
    return run<PACKS_MAX>(queue, job, even, packs_of(job, even), err);
}

template bool hc_gpu_takes_rows(HcQueue *queue, const HcGemvJob<float> &job);
template bool hc_gpu_takes_rows(HcQueue *queue, const HcGemvJob<double> &job);
template HcStatus hc_gpu_multiply_rows(HcQueue *queue, const HcGemvJob<float> &job, HcError *err);
template HcStatus hc_gpu_multiply_rows(HcQueue *queue, const HcGemvJob<double> &job, HcError *err);
