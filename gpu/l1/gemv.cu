/* y = A x. Long rows: warps take some rows each, all of a block the same columns, so that x comes from the
 * nearest cache; how many warps share a row is decided as Gao and Li do, by how many rows there are. Short
 * rows: threads read what lies side by side, whole rows together, and the sums of their pieces meet in shared
 * memory. More than a few long rows: gemv_groups.cu; many rows of some hundred columns: gemv_rows.cu. */
#include "gpu/l1/gemv.cuh"
#include "gpu/shared.cuh"

namespace {

enum {
    THREADS = HC_GEMV_THREADS,
    WARPS = HC_GEMV_WARPS,
    PIECE = HC_GEMV_PIECE,
    STRIDE = 32 * PIECE,
    LONG_BLOCKS = 2,      /* of a processor, that share all rows */
    FEW_ROWS = 2 * WARPS, /* at most: one or two of a warp of a block */
    LONG_EARLY = 8,       /* steps that are fetched early */
    SHORT = 255,          /* columns of a short row, at most */
    PASSES = 4,           /* pieces that a thread has under way */
    SHORT_BLOCKS = 4,     /* of a processor */
    SHORT_EARLY = 2       /* tiles that are fetched early */
};

template <typename X> struct Job : HcGemvJob<X> { /* shares.tiles: groups of rows, where they are long */
    using HcGemvJob<X>::HcGemvJob;
    /* Long rows. */
    int32_t across = 0; /* warps of a block that take different rows; a power of two */
    /* Short rows. */
    int32_t pass_rows = 0; /* that the threads of a block read at once: a multiple of PIECE values */
    int32_t lanes = 0;     /* of a row, that add its pieces; a power of two */
};

/* ---- long rows ---- */

/* Pieces of a row that a lane reads at once, by the number of rows of a warp. */
template <int ROWS> constexpr int packs_of = 8 / ROWS;

/* A piece of a row, whose places begin at `first` and end before `last`; unless it is WHOLE, only some of
 * them may be there. */
template <bool WHOLE>
__device__ inline void load_piece(float out[PIECE], const float *a, int64_t place, int64_t first,
                                  int64_t last) {
    if (WHOLE || (place >= first && place + PIECE <= last)) {
        hc_load_once<PIECE>(out, a + place);
    } else {
#pragma unroll
        for (int v = 0; v < PIECE; v++) {
            out[v] = place + v >= first && place + v < last ? a[place + v] : 0;
        }
    }
}

/* The same of x, which is aligned as rows are if it is EVEN. */
template <bool WHOLE, bool EVEN, typename X>
__device__ inline void load_factors(X out[PIECE], const X *x, int64_t place, int64_t first, int64_t last) {
    if constexpr (WHOLE && EVEN) {
        hc_load<PIECE>(out, x + place);
    } else {
#pragma unroll
        for (int v = 0; v < PIECE; v++) {
            out[v] = WHOLE || (place + v >= first && place + v < last) ? __ldg(x + place + v) : 0;
        }
    }
}

/* The part of a row that a warp adds: places count from an aligned address, `shift` values before the row. */
struct Part {
    int64_t first, last; /* places of the row */
    int64_t stride;      /* values from a row to the next of the warp */
    int32_t rows;        /* of the warp */
};

/* PACKS pieces, this lane's first at `place`. */
template <int ROWS, int PACKS, bool EVEN, bool WHOLE, typename X>
__device__ inline void add_packs(const float *a, const X *x, const Part &part, int64_t place,
                                 double sums[ROWS]) {
    float values[ROWS][PACKS][PIECE] = {};
    X factors[PACKS][PIECE];
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
#pragma unroll
        for (int p = 0; p < PACKS; p++) {
            if (i < part.rows) {
                load_piece<WHOLE>(values[i][p], a + i * part.stride, place + p * STRIDE, part.first,
                                  part.last);
            }
        }
    }
#pragma unroll
    for (int p = 0; p < PACKS; p++) {
        load_factors<WHOLE, EVEN>(factors[p], x, place + p * STRIDE, part.first, part.last);
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        if (i < part.rows) {
#pragma unroll
            for (int p = 0; p < PACKS; p++) {
#pragma unroll
                for (int v = 0; v < PIECE; v++) {
                    sums[i] = fma((double)values[i][p][v], (double)factors[p][v], sums[i]);
                }
            }
        }
    }
}

/* What a warp adds: rows row, row + across, ..., `rows` of them, all of which begin equally far (shift)
 * after an aligned address; of the places of steps first to end - 1 its share. */
template <int ROWS, bool EVEN, typename X>
__device__ inline void add_long(const Job<X> &job, int64_t row, int32_t rows, int64_t first, int64_t end,
                                double sums[ROWS]) {
    constexpr int PACKS = packs_of<ROWS>;
    constexpr int WIDTH = PACKS * STRIDE;
    int32_t share = WARPS / job.across; /* warps of a row */
    int32_t number = (int32_t)threadIdx.x / 32 / job.across;
    int32_t shift = EVEN ? 0 : hc_shift_of(job.a + row * job.columns);
    const float *a = job.a + row * job.columns - shift;
    const X *x = job.x - shift;
    Part part;
    part.first = shift;
    part.last = job.columns + shift;
    part.stride = job.across * job.columns;
    part.rows = rows;
    int64_t place = (first * share + (end - first) * number) * STRIDE;
    int64_t behind = place + (end - first) * STRIDE;
    int32_t lane = (int32_t)threadIdx.x % 32 * PIECE;
    for (; place < behind; place += WIDTH) {
        if (place >= shift && place + WIDTH <= behind && place + WIDTH <= part.last) {
            add_packs<ROWS, PACKS, EVEN, true>(a, x, part, place + lane, sums);
        } else {
            Part rest = part;
            rest.last = behind < part.last ? behind : part.last;
            add_packs<ROWS, PACKS, EVEN, false>(a, x, rest, place + lane, sums);
        }
    }
}

/* Steps first to end - 1 of one group of rows. */
template <int ROWS, bool EVEN, typename X>
__device__ inline void add_group(const Job<X> &job, int64_t group, int64_t first, int64_t end,
                                 double shared[ROWS * WARPS]) {
    int32_t thread = (int32_t)threadIdx.x;
    int32_t warp = thread / 32;
    int32_t group_rows = ROWS * job.across;
    int64_t row = group * group_rows + warp % job.across;
    int64_t left = (job.rows - row + job.across - 1) / job.across;
    double sums[ROWS] = {};
    if (left > 0) {
        add_long<ROWS, EVEN>(job, row, left < ROWS ? (int32_t)left : ROWS, first, end, sums);
    }
    int32_t lane = thread % 32; /* has the sum of the row of this number */
    double own = hc_sum_for_lanes<ROWS, 32>(sums, lane);
    if (job.across == WARPS && end - first == job.shares.steps) { /* no other has anything of these rows */
        if (lane < ROWS && lane < left) {
            hc_put(job.out, row + lane * job.across, own);
        }
        return;
    }
    __syncthreads();
    if (lane < ROWS) {
        shared[warp / job.across * group_rows + lane * job.across + warp % job.across] = own;
    }
    hc_add_halves(shared, WARPS / job.across, group_rows);
    double sum = thread < group_rows ? shared[thread] : 0;
    int64_t at = group * group_rows + thread;
    if (hc_gather(job.shares, group, sum) && thread < group_rows && at < job.rows) {
        hc_put(job.out, at, sum);
    }
}

/* What each warp reads first of `some` steps of a group from `first` on. */
template <int ROWS, typename X>
__device__ inline void fetch_early(const Job<X> &job, int64_t group, int64_t first, int64_t some) {
    int32_t warp = (int32_t)threadIdx.x / 32;
    some = some < job.shares.steps - first ? some : job.shares.steps - first;
    int64_t place = (first * (WARPS / job.across) + some * (warp / job.across)) * STRIDE;
    int64_t count = (some < LONG_EARLY ? some : LONG_EARLY) * STRIDE;
    count = count < job.columns - place ? count : job.columns - place;
    for (int32_t i = 0; i < ROWS; i++) {
        int64_t row = group * ROWS * job.across + warp % job.across + i * job.across;
        hc_fetch_early(job.a + row * job.columns + place, row < job.rows ? count : 0,
                       (int32_t)threadIdx.x % 32, 32);
    }
}

template <int ROWS, bool EVEN, typename X>
__global__ void __launch_bounds__(THREADS, LONG_BLOCKS) multiply_long(Job<X> job) {
    __shared__ double shared[ROWS * WARPS];
    int64_t steps = job.shares.steps;
    int64_t step = hc_first_step(job.shares, blockIdx.x);
    fetch_early<ROWS>(job, step / steps, step % steps, hc_first_step(job.shares, blockIdx.x + 1) - step);
    if (!hc_begin(job.stopped)) {
        return;
    }
    hc_each_tile(job.shares, [&](int64_t group, int64_t first, int64_t end) {
        add_group<ROWS, EVEN>(job, group, first, end, shared);
    });
}

/* ---- short rows ---- */

/* What one thread has of every pass: a piece, which is of two rows at most where these are no shorter than a
 * piece. Its first values belong to one row and the others to the next; some at the ends of the pass to none.
 */
template <typename X> struct Place {
    int32_t begin; /* of the piece, counted from the first value of the pass; may be negative */
    bool there;
    bool upper[PIECE], lower[PIECE]; /* values of the one row and of the other */
    double x[PIECE];
};

template <typename X> __device__ inline Place<X> place_of(const Job<X> &job) {
    Place<X> place;
    int32_t columns = (int32_t)job.columns;
    int32_t all = job.pass_rows * columns;
    place.begin = (int32_t)threadIdx.x * PIECE - hc_shift_of(job.a);
    place.there = place.begin < all;
    int32_t row = place.begin > 0 ? place.begin / columns : 0;
#pragma unroll
    for (int v = 0; v < PIECE; v++) {
        int32_t at = place.begin + v;
        bool mine = at >= 0 && at < all;
        place.upper[v] = mine && at / columns == row;
        place.lower[v] = mine && at / columns != row;
        place.x[v] = mine ? (double)__ldg(job.x + at % columns) : 0;
    }
    return place;
}

/* The pieces of a tile of PASSES passes, as far as they are in the matrix. */
template <typename X>
__device__ inline void load_pieces(const Job<X> &job, const Place<X> &place, int64_t tile,
                                   float values[PASSES][PIECE]) {
    int64_t all = job.rows * job.columns;
#pragma unroll
    for (int p = 0; p < PASSES; p++) {
        int64_t begin = (tile * PASSES + p) * job.pass_rows * job.columns + place.begin;
        if (place.there && begin >= 0 && begin + PIECE <= all) {
            hc_load_once<PIECE>(values[p], job.a + begin);
        } else {
#pragma unroll
            for (int v = 0; v < PIECE; v++) {
                bool inside = place.there && begin + v >= 0 && begin + v < all;
                values[p][v] = inside ? job.a[begin + v] : 0;
            }
        }
    }
}

/* The sums of pieces: those of the one row and, unless ONE, of the other. */
template <bool ONE, typename X>
__device__ inline void add_pieces(const Place<X> &place, const float values[PASSES][PIECE],
                                  double upper[PASSES][THREADS], double lower[PASSES][THREADS]) {
#pragma unroll
    for (int p = 0; p < PASSES; p++) {
        double sums[2] = {};
#pragma unroll
        for (int v = 0; v < PIECE; v++) {
            if (ONE || place.upper[v]) {
                sums[0] = fma((double)values[p][v], place.x[v], sums[0]);
            }
            if (!ONE && place.lower[v]) {
                sums[1] = fma((double)values[p][v], place.x[v], sums[1]);
            }
        }
        upper[p][threadIdx.x] = sums[0];
        if (!ONE) {
            lower[p][threadIdx.x] = sums[1];
        }
    }
}

/* The sums of rows, from those of their pieces. */
template <bool ONE, typename X>
__device__ inline void add_short(const Job<X> &job, int64_t tile, const double upper[PASSES][THREADS],
                                 const double lower[PASSES][THREADS]) {
    int32_t columns = (int32_t)job.columns;
    int32_t shift = hc_shift_of(job.a);
    int32_t lane = (int32_t)threadIdx.x % job.lanes;
    int64_t first = tile * PASSES * job.pass_rows;
    int32_t rows = PASSES * job.pass_rows;
    rows = job.rows - first < rows ? (int32_t)(job.rows - first) : rows;
    for (int32_t base = 0; base < rows; base += THREADS / job.lanes) {
        int32_t row = base + (int32_t)threadIdx.x / job.lanes;
        int32_t pass = row / job.pass_rows;
        int32_t begin = (row - pass * job.pass_rows) * columns + shift;
        double sum = 0;
        if (row < rows) {
            for (int32_t q = begin / PIECE + lane; q * PIECE < begin + columns; q += job.lanes) {
                bool second = !ONE && q * PIECE < begin && begin > shift; /* row of the piece */
                sum += second ? lower[pass][q] : upper[pass][q];
            }
        }
        for (int32_t apart = job.lanes / 2; apart > 0; apart /= 2) {
            sum += __shfl_xor_sync(~0U, sum, apart);
        }
        if (row < rows && lane == 0) {
            hc_put(job.out, first + row, sum);
        }
    }
}

template <bool ONE, typename X>
__global__ void __launch_bounds__(THREADS, SHORT_BLOCKS) multiply_short(Job<X> job) {
    __shared__ double upper[PASSES][THREADS];
    __shared__ double lower[ONE ? 1 : PASSES][THREADS];
    int64_t tile_values = PASSES * job.pass_rows * job.columns;
    for (int i = 0; i < SHORT_EARLY; i++) {
        int64_t from = (blockIdx.x + i * (int64_t)gridDim.x) * tile_values;
        int64_t left = job.rows * job.columns - from;
        hc_fetch_early(job.a + from, left < tile_values ? left : tile_values, (int32_t)threadIdx.x, THREADS);
    }
    if (!hc_begin(job.stopped)) {
        return;
    }
    int64_t tiles = (job.rows - 1) / (PASSES * job.pass_rows) + 1;
    Place<X> place = place_of(job);
    float values[PASSES][PIECE];
    load_pieces(job, place, blockIdx.x, values);
    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        add_pieces<ONE>(place, values, upper, lower);
        load_pieces(job, place, tile + gridDim.x, values);
        __syncthreads();
        add_short<ONE>(job, tile, upper, lower);
        __syncthreads();
    }
}

/* Rows of less than a piece: a thread takes PASSES of them. */
template <typename X> __global__ void __launch_bounds__(THREADS) multiply_tiny(Job<X> job) {
    if (!hc_begin(job.stopped)) {
        return;
    }
    int32_t columns = (int32_t)job.columns;
    float values[PASSES][PIECE - 1];
#pragma unroll
    for (int p = 0; p < PASSES; p++) {
        int64_t row = ((int64_t)blockIdx.x * PASSES + p) * THREADS + threadIdx.x;
#pragma unroll
        for (int j = 0; j < PIECE - 1; j++) {
            values[p][j] = row < job.rows && j < columns ? __ldg(job.a + row * columns + j) : 0;
        }
    }
#pragma unroll
    for (int p = 0; p < PASSES; p++) {
        int64_t row = ((int64_t)blockIdx.x * PASSES + p) * THREADS + threadIdx.x;
        double sum = 0;
#pragma unroll
        for (int j = 0; j < PIECE - 1; j++) {
            if (j < columns) {
                sum = fma((double)values[p][j], (double)__ldg(job.x + j), sum);
            }
        }
        if (row < job.rows) {
            hc_put(job.out, row, sum);
        }
    }
}

template <typename X> HcStatus run_short(HcQueue *queue, Job<X> *job, HcError *err) {
    int32_t columns = (int32_t)job->columns;
    int32_t together = columns % PIECE == 0 ? 1 : columns % 2 == 0 ? 2 : PIECE; /* rows of whole pieces */
    job->pass_rows = (THREADS * PIECE - PIECE + 1) / columns / together * together;
    job->lanes = 1;
    while (job->lanes * PIECE * PIECE < columns) {
        job->lanes *= 2;
    }
    int64_t tiles = hc_div_up(job->rows, (int64_t)PASSES * job->pass_rows);
    int64_t blocks = hc_min64(tiles, SHORT_BLOCKS * (int64_t)queue->gpu->processors);
    if (columns < PIECE) {
        return hc_launch(queue, multiply_tiny<X>, hc_div_up(job->rows, PASSES * THREADS), *job, err);
    }
    bool one = together == 1 && (uintptr_t)job->a % 16 == 0;
    return hc_launch(queue, one ? multiply_short<true, X> : multiply_short<false, X>, blocks, *job, err);
}

template <typename X> HcStatus run_long(HcQueue *queue, Job<X> *job, HcError *err) {
    bool even = (uintptr_t)job->a % 16 == 0 && (uintptr_t)job->x % 16 == 0 && job->columns % PIECE == 0;
    job->across = 1;
    while (job->across < WARPS && job->across < job->rows) {
        job->across *= 2;
    }
    int32_t rows = job->across < job->rows ? 2 : 1;
    int32_t group_rows = rows * job->across;
    int64_t places = job->columns + (even ? 0 : PIECE - 1);
    HC_OR_RETURN(hc_gpu_plan_shares(
        queue, hc_div_up(job->rows, group_rows), hc_div_up(places, STRIDE * WARPS / job->across),
        LONG_BLOCKS * (int64_t)queue->gpu->processors, group_rows, &job->shares, err));
    if (rows == 1) {
        return hc_launch(queue, even ? multiply_long<1, true, X> : multiply_long<1, false, X>,
                         job->shares.blocks, *job, err);
    }
    return hc_launch(queue, even ? multiply_long<2, true, X> : multiply_long<2, false, X>, job->shares.blocks,
                     *job, err);
}

} // namespace

template <typename X>
HcStatus hc_gpu_multiply(HcQueue *queue, const HcMatrix *matrix, const X *x, HcProduct out,
                         const int32_t *stopped, HcError *err) {
    if (matrix->columns == 1 && matrix->rows > 1) {
        HcMatrix row = hc_gpu_turned(matrix);
        return hc_gpu_multiply_back(queue, &row, x, out, stopped, err);
    }
    Job<X> job(matrix, x, out, stopped);
    if (hc_gpu_takes_rows<X>(queue, job)) {
        return hc_gpu_multiply_rows<X>(queue, job, err);
    }
    if (matrix->columns <= SHORT) {
        return run_short(queue, &job, err);
    }
    return matrix->rows > FEW_ROWS ? hc_gpu_multiply_groups<X>(queue, job, err) : run_long(queue, &job, err);
}

template HcStatus hc_gpu_multiply(HcQueue *queue, const HcMatrix *matrix, const float *x, HcProduct out,
                                  const int32_t *stopped, HcError *err);
template HcStatus hc_gpu_multiply(HcQueue *queue, const HcMatrix *matrix, const double *x, HcProduct out,
                                  const int32_t *stopped, HcError *err);

HcStatus hc_gpu_gemv(HcQueue *queue, const HcMatrix *matrix, const float *x, float *y, HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    return hc_gpu_multiply(queue, matrix, x, {.y = y, .sums = NULL}, NULL, err);
}
