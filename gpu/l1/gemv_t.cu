/* y = A'x. Lanes own columns and warps some of the rows, so that warps read what lies side by side (Gao and
 * Li). Short rows: a thread owns a place in some rows that lie one after the other. Many rows that warps do
 * not fit: gemv_t_quads.cu. */
#include "gpu/l1/gemv.cuh"

namespace {

enum {
    THREADS = HC_GEMV_THREADS,
    WARPS = HC_GEMV_WARPS,
    PIECE = HC_GEMV_PIECE,
    OWN = 8,            /* columns of a lane */
    STRIP = OWN * 32,   /* columns of a warp */
    LONG_BLOCKS = 2,    /* of a processor */
    LONG_EARLY = 64,    /* rows that a block fetches early */
    FEW_BLOCKS = 4,     /* of a processor, where rows are few */
    FEW_ROWS = 16,      /* at most: one warp takes them all */
    NARROW = 128,       /* columns of a short row are fewer */
    SHORT_BLOCKS = 3,   /* of a processor */
    SHORT_EARLY = 16384 /* values that a block fetches early */
};

template <typename X> struct Job : HcGemvJob<X> {
    using HcGemvJob<X>::HcGemvJob;
    int32_t strip = 0;     /* long rows: columns of a tile, of those that its warps read */
    int32_t step_rows = 0; /* that a block adds in a step: a multiple of PIECE */
};

/* ---- long rows ---- */

/* V neighbouring values of one row; those before its first column and after its last are 0. at is where the
 * column is. */
template <int V, bool WHOLE>
__device__ inline void load_some(float out[V], const float *at, int64_t column, int64_t columns) {
    if (WHOLE || (column >= 0 && column + V <= columns)) {
        hc_load_once<V>(out, at);
    } else {
#pragma unroll
        for (int v = 0; v < V; v++) {
            out[v] = column + v >= 0 && column + v < columns ? at[v] : 0;
        }
    }
}

/* sums += `count` rows of one strip, COUNT at most, `step` apart; a is at the first column of this lane. */
template <int V, int COUNT, bool WHOLE, typename X>
__device__ inline void add_rows(const float *a, int64_t columns, const X *x, int32_t step, int32_t count,
                                int64_t column, double sums[OWN]) {
    float values[COUNT][OWN / V][V] = {};
    X factors[COUNT] = {};
#pragma unroll
    for (int r = 0; r < COUNT; r++) {
        if (r < count) {
#pragma unroll
            for (int p = 0; p < OWN / V; p++) {
                int32_t ahead = p * 32 * V;
                load_some<V, WHOLE>(values[r][p], a + (int64_t)r * step * columns + ahead, column + ahead,
                                    columns);
            }
            factors[r] = __ldg(x + r * step);
        }
    }
#pragma unroll
    for (int r = 0; r < COUNT; r++) {
#pragma unroll
        for (int p = 0; p < OWN / V; p++) {
#pragma unroll
            for (int v = 0; v < V; v++) {
                sums[p * V + v] = fma((double)values[r][p][v], (double)factors[r], sums[p * V + v]);
            }
        }
    }
}

/* Rows row, row + SHARE, ... before `end` of the strip whose lane begins with `column`. */
template <int V, int SHARE, bool WHOLE, typename X>
__device__ inline void add_strip(const Job<X> &job, int64_t column, int64_t row, int64_t end,
                                 double sums[OWN]) {
    constexpr int COUNT = SHARE == 1 ? 2 : 4;
    const float *a = job.a + row * job.columns + column;
    const X *x = job.x + row;
    for (; row + (COUNT - 1) * SHARE < end; row += COUNT * SHARE) {
        add_rows<V, COUNT, WHOLE>(a, job.columns, x, SHARE, COUNT, column, sums);
        a += COUNT * SHARE * job.columns;
        x += COUNT * SHARE;
    }
    if (row < end) {
        int32_t count = ((int32_t)(end - row) - 1) / SHARE + 1;
        add_rows<V, COUNT, WHOLE>(a, job.columns, x, SHARE, count, column, sums);
    }
}

/* Rounds V sums of columns that are there; where there are more than one, they are aligned. */
template <int V> __device__ inline void put(const HcProduct &out, int64_t at, const double sums[V]) {
    if constexpr (V == PIECE) {
        if (out.y != NULL) {
            *(float4 *)(out.y + at) =
                make_float4((float)sums[0], (float)sums[1], (float)sums[2], (float)sums[3]);
            return;
        }
    }
#pragma unroll
    for (int v = 0; v < V; v++) {
        hc_put(out, at + v, sums[v]);
    }
}

/* Rows first to end - 1 of one tile: SHARE warps share the rows of a strip; where it is one, a block has
 * WARPS strips and all rows. A warp reads pieces of rows that are all equally far (shift) after an aligned
 * address: from N columns before its strip on, and as many more than the strip has. */
template <int V, int SHARE, typename X>
__device__ inline void add_tile(const Job<X> &job, int64_t tile, int64_t first, int64_t end, double *shared) {
    int32_t thread = (int32_t)threadIdx.x;
    int32_t lane = thread % 32;
    int32_t warp = thread / 32;
    int64_t strip = (tile * (WARPS / SHARE) + warp / SHARE) * job.strip;
    int64_t row = first + warp % SHARE;
    int32_t shift = V == PIECE ? hc_shift_of(job.a + row * job.columns + strip) : 0;
    int64_t column = strip - shift + lane * V;
    double sums[OWN] = {};
    end = end < job.rows ? end : job.rows;
    if (strip >= shift && strip - shift + STRIP <= job.columns) {
        add_strip<V, SHARE, true>(job, column, row, end, sums);
    } else {
        add_strip<V, SHARE, false>(job, column, row, end, sums);
    }
    if constexpr (SHARE > 1) {
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < OWN; k++) {
        int32_t at = k / V * 32 * V;
        if constexpr (SHARE > 1) {
            int32_t place = lane * V + at + k % V - shift;
            if (place >= 0 && place < job.strip) {
                shared[warp * STRIP + place] = sums[k];
            }
        } else if (k % V == 0 && column + at < job.columns) {
            put<V>(job.out, column + at, sums + k);
        }
    }
    if constexpr (SHARE > 1) {
        __syncthreads();
        double sum = 0;
#pragma unroll
        for (int w = 0; w < SHARE; w++) {
            sum += thread < job.strip ? shared[w * STRIP + thread] : 0;
        }
        bool mine = thread < job.strip && strip + thread < job.columns;
        if (hc_gather(job.shares, tile, sum) && mine) {
            hc_put(job.out, strip + thread, sum);
        }
    }
}

template <typename X> __global__ void __launch_bounds__(THREADS, LONG_BLOCKS) multiply_back_long(Job<X> job) {
    static_assert((int)STRIP <= (int)THREADS && (int)WARPS % (int)PIECE == 0, "a thread each");
    __shared__ double shared[WARPS * STRIP];
    int64_t steps = job.shares.steps;
    int64_t step = hc_first_step(job.shares, blockIdx.x);
    hc_fetch_strip(job, step / steps * job.strip, job.strip, step % steps * job.step_rows, LONG_EARLY);
    if (!hc_begin(job.stopped)) {
        return;
    }
    hc_each_tile(job.shares, [&](int64_t tile, int64_t first, int64_t end) {
        add_tile<PIECE, WARPS>(job, tile, first * job.step_rows, end * job.step_rows, shared);
    });
}

template <int V, typename X>
__global__ void __launch_bounds__(THREADS, FEW_BLOCKS) multiply_back_few(Job<X> job) {
    if (hc_begin(job.stopped)) {
        add_tile<V, 1>(job, blockIdx.x, 0, job.rows, NULL);
    }
}

/* ---- short rows ---- */

/* Pieces of short rows that a thread reads at once, by the rows that one may be of. */
template <int ROWS> constexpr int pieces_of = ROWS == 1 ? 8 : 4;

/* What a thread has of all its pieces, which are `step` values, or step_rows rows, apart: entries of x for
 * each row, and which of them a value takes. */
template <int ROWS, typename X> struct Place {
    const X *x[ROWS];
    int32_t row[PIECE];
    int32_t step, step_rows;
};

/* What a thread adds: COUNT pieces from `a` on. */
template <int ROWS, int COUNT, typename X>
__device__ inline void add_pieces(const float *a, Place<ROWS, X> &place, double sums[PIECE]) {
    float values[COUNT][PIECE];
    X factors[COUNT][ROWS];
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        hc_load_once<PIECE>(values[k], a + (int64_t)k * place.step);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            factors[k][r] = __ldg(place.x[r] + k * place.step_rows);
        }
    }
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
#pragma unroll
        for (int v = 0; v < PIECE; v++) {
            double factor = (double)factors[k][ROWS == 2 ? 0 : v % ROWS];
            if (ROWS == 2 && place.row[v] != 0) {
                factor = (double)factors[k][ROWS - 1];
            }
            sums[v] = fma((double)values[k][v], factor, sums[v]);
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        place.x[r] += COUNT * place.step_rows;
    }
}

/* Values of row `first` and after that no piece has, in column `thread`: those from place `from` to `to`. */
template <typename X>
__device__ inline double add_edge(const Job<X> &job, int64_t first, int64_t from, int64_t to) {
    double sum = 0;
    for (int64_t at = from; at < to; at++) {
        if (at % job.columns == (int32_t)threadIdx.x) {
            sum = fma((double)job.a[first * job.columns + at], (double)job.x[first + at / job.columns], sum);
        }
    }
    return sum;
}

/* A block takes some rows; places are counted from its first value. A thread takes pieces so far apart that
 * the columns are the same: `active` threads have whole rows together. ROWS: of a piece, at most. */
template <int ROWS, typename X>
__global__ void __launch_bounds__(THREADS, SHORT_BLOCKS) multiply_back_short(Job<X> job) {
    __shared__ double shared[THREADS * PIECE];
    constexpr int COUNT = pieces_of<ROWS>;
    int32_t thread = (int32_t)threadIdx.x;
    int32_t columns = (int32_t)job.columns;
    int32_t period = columns % PIECE == 0 ? columns / PIECE : columns % 2 == 0 ? columns / 2 : columns;
    int32_t active = THREADS / period * period;
    int64_t first = hc_first_step(job.shares, blockIdx.x) * job.step_rows;
    int64_t end = hc_first_step(job.shares, blockIdx.x + 1) * job.step_rows;
    end = end < job.rows ? end : job.rows;
    const float *a = job.a + first * columns;
    int64_t count = (end - first) * columns;
    hc_fetch_early(a, count < SHORT_EARLY ? count : SHORT_EARLY, thread, THREADS);
    if (!hc_begin(job.stopped)) {
        return;
    }
    int32_t head = (PIECE - hc_shift_of(a)) % PIECE;
    int64_t whole = count < head ? head : head + (count - head) / PIECE * PIECE;
    int64_t at = head + thread * PIECE;
    Place<ROWS, X> place;
    place.step = active * PIECE;
    place.step_rows = place.step / columns;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        place.x[r] = job.x + first + (at + (ROWS == 2 ? r * (PIECE - 1) : r)) / columns;
    }
#pragma unroll
    for (int v = 0; v < PIECE; v++) {
        place.row[v] = (at + v) / columns != at / columns ? 1 : 0;
    }
    double sums[PIECE] = {};
    if (thread < active) {
        for (; at + (COUNT - 1) * (int64_t)place.step < whole; at += COUNT * (int64_t)place.step) {
            add_pieces<ROWS, COUNT>(a + at, place, sums);
        }
        for (; at < whole; at += place.step) {
            add_pieces<ROWS, 1>(a + at, place, sums);
        }
#pragma unroll
        for (int v = 0; v < PIECE; v++) {
            shared[thread * PIECE + v] = sums[v];
        }
    }
    hc_add_halves(shared, place.step_rows, columns);
    double sum = 0;
    if (thread < columns) {
        sum = shared[(thread + columns - head % columns) % columns];
        sum += add_edge(job, first, 0, head < count ? head : count) + add_edge(job, first, whole, count);
    }
    if (hc_gather(job.shares, 0, sum) && thread < columns) {
        hc_put(job.out, thread, sum);
    }
}

template <typename X> HcStatus run_short(HcQueue *queue, Job<X> *job, HcError *err) {
    int32_t columns = (int32_t)job->columns;
    void (*kernel)(Job<X>) = multiply_back_short<2, X>;
    if (columns % PIECE == 0 && (uintptr_t)job->a % 16 == 0) {
        kernel = multiply_back_short<1, X>;
    } else if (columns < PIECE) {
        kernel = multiply_back_short<PIECE, X>;
    }
    job->step_rows = (THREADS * PIECE / columns + PIECE - 1) / PIECE * PIECE;
    HC_OR_RETURN(hc_gpu_plan_shares(queue, 1, hc_div_up(job->rows, job->step_rows),
                                    SHORT_BLOCKS * (int64_t)queue->gpu->processors, columns, &job->shares,
                                    err));
    return hc_launch(queue, kernel, job->shares.blocks, *job, err);
}

/* A step is a row of each warp, or all rows where they are few: then a block has a tile. Tiles are about as
 * wide, so that blocks read about as much. */
template <typename X> HcStatus run_long(HcQueue *queue, Job<X> *job, HcError *err) {
    bool few = job->rows <= FEW_ROWS;
    bool aligned = (uintptr_t)job->a % 16 == 0 && job->columns % PIECE == 0;
    job->strip = aligned || few ? STRIP : STRIP - PIECE;
    job->step_rows = few ? FEW_ROWS : WARPS;
    int64_t tiles = hc_div_up(job->columns, few ? WARPS * STRIP : job->strip);
    if (few) {
        aligned = aligned && (uintptr_t)job->out.y % 16 == 0;
        return hc_launch(queue, aligned ? multiply_back_few<PIECE, X> : multiply_back_few<1, X>, tiles, *job,
                         err);
    }
    job->strip = (int32_t)hc_div_up(hc_div_up(job->columns, tiles), PIECE) * PIECE;
    tiles = hc_div_up(job->columns, job->strip);
    HC_OR_RETURN(hc_gpu_plan_shares(queue, tiles, hc_div_up(job->rows, job->step_rows),
                                    LONG_BLOCKS * (int64_t)queue->gpu->processors, STRIP, &job->shares, err));
    return hc_launch(queue, multiply_back_long<X>, job->shares.blocks, *job, err);
}

} // namespace

template <typename X>
HcStatus hc_gpu_multiply_back(HcQueue *queue, const HcMatrix *matrix, const X *x, HcProduct out,
                              const int32_t *stopped, HcError *err) {
    if (matrix->columns == 1 && matrix->rows > 1) {
        HcMatrix row = hc_gpu_turned(matrix);
        return hc_gpu_multiply(queue, &row, x, out, stopped, err);
    }
    Job<X> job(matrix, x, out, stopped);
    if (matrix->columns < NARROW) {
        return run_short(queue, &job, err);
    }
    return hc_gpu_takes_quads<X>(job) ? hc_gpu_multiply_quads<X>(queue, job, err)
                                      : run_long(queue, &job, err);
}

template HcStatus hc_gpu_multiply_back(HcQueue *queue, const HcMatrix *matrix, const float *x, HcProduct out,
                                       const int32_t *stopped, HcError *err);
template HcStatus hc_gpu_multiply_back(HcQueue *queue, const HcMatrix *matrix, const double *x, HcProduct out,
                                       const int32_t *stopped, HcError *err);

HcStatus hc_gpu_gemv_t(HcQueue *queue, const HcMatrix *matrix, const float *x, float *y, HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    return hc_gpu_multiply_back(queue, matrix, x, {.y = y, .sums = NULL}, NULL, err);
}
