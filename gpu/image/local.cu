/* Scores against the pixels of a window around each pixel, less those of a guard.
 *
 * A piece of a block (some lines, some columns) passes through four kernels: pixels become integers, with
 * zeros for those that take no part and around the scene; their sums in windows; the sums of their products,
 * as exact elements of C; scores. Sums are integers, so every thread block forms its own ones anew from its
 * first line on, in whatever order is quickest. A lane has a number of the sums for all columns of a tile,
 * and goes down line by line: sums of columns slide in shared memory, those of windows slide along the line
 * in a register. */
#include "core/operation/image/local.h"
#include "core/solver/local.h"
#include "core/sums/long.h"
#include "gpu/internal.cuh"

#include <float.h>
#include <math.h>
#include <new>

HcLocalOpenFn hc_gpu_local_open;
HcLocalCloseFn hc_gpu_local_close;
HcLocalFn hc_gpu_local;

struct HcLocal {
    HcLocalHead head;
    HcGpu *gpu;
    HcLocalPiece piece;
    HcBuffer memory;
    int64_t *integers; /* [lines + 2 half][columns + 2 half][1 + directions]: takes part (0, 1), components */
    int64_t *sums;     /* [lines][columns][1 + directions] */
    double *products;  /* [lines][columns][products]: m sum(y_i y_j) - sum(y_i) sum(y_j), rounded */
    double *matrices;  /* [slots][matrix] */
};

namespace {

enum {
    THREADS = 256,
    BLOCKS_A_PROCESSOR = 4, /* that add up windows */
    SCORE_THREADS = 128,
    STATE_BYTES = 84 * 1024, /* of shared memory that a thread block takes for sums, at most */
};

const char doing[] = "scoring windows";

struct Job {
    HcView in, out;
    int32_t n; /* directions */
    int32_t half, guard_half;
    double share, per_unit;
    int64_t line, column; /* of the scene, where the piece begins */
    int32_t lines, columns;
    int32_t tile;
    int32_t lanes; /* numbers that a thread block has, a power of two */
    int32_t parts; /* groups of lanes in a thread block */
    int32_t each;  /* columns of a tile that a group has */
    int32_t chunk; /* lines of a thread block */
    int64_t *integers, *sums;
    double *products, *matrices;
    size_t matrix; /* elements of a matrix */
};

__device__ inline int64_t width_of(const Job &job) {
    return job.columns + 2 * job.half;
}

__device__ inline int64_t products_of(int64_t n) {
    return n * (n + 1) / 2;
}

/* ---- integers ---- */

/* A warp a pixel. */
__global__ void __launch_bounds__(THREADS) take_integers(const Job job, int64_t pixels) {
    int64_t pixel = (int64_t)blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
    int32_t lane = (int32_t)threadIdx.x % 32;
    if (pixel >= pixels) {
        return;
    }
    int64_t row = job.line - job.half + pixel / width_of(job) - job.in.first_line;
    int64_t sample = job.column - job.half + pixel % width_of(job);
    bool takes = hc_valid(job.in, row, sample);
    const float *x = job.in.data + (row * job.in.samples + sample) * job.n;
    for (int32_t i = lane; i < job.n && takes; i += 32) {
        takes = fabs((double)x[i] * job.per_unit) <= HC_LOCAL_LARGEST;
    }
    takes = __all_sync(0xFFFFFFFFU, takes) != 0;
    int64_t *out = job.integers + pixel * (job.n + 1);
    if (lane == 0) {
        out[0] = takes;
    }
    for (int32_t i = lane; i < job.n; i += 32) {
        out[1 + i] = takes ? __double2ll_rn((double)x[i] * job.per_unit) : 0;
    }
}

/* ---- sums ---- */

/* The nearest double, ties to even; |value| < 2^127. */
__device__ inline double rounded(HcWide value) {
    bool negative = value < 0;
    HcWide magnitude = negative ? -value : value;
    uint64_t high = (uint64_t)(magnitude >> 64);
    uint64_t low = (uint64_t)magnitude;
    double result = __ull2double_rn(low);
    if (high != 0) {
        int shift = 64 - __clzll((long long)high); /* 1 to 63 */
        uint64_t top = high << (64 - shift) | low >> shift;
        uint64_t rest = low << (64 - shift);
        double power = __longlong_as_double((long long)(1023 + shift) << 52);
        result = __ull2double_rn(top | (rest != 0)) * power;
    }
    return negative ? -result : result;
}

/* The count and the sum of components: number 0 is the count. */
struct Linear {
    using Sum = int64_t;
    int32_t number;
    bool is_one;
    __device__ Linear(const Job &job, int64_t k) : number(k <= job.n ? (int32_t)k : 0), is_one(k <= job.n) {
    }
    __device__ Sum at(const int64_t *pixel) const {
        return pixel[number];
    }
    __device__ void put(const Job &job, int64_t pixel, Sum sum) const {
        if (is_one) {
            job.sums[pixel * (job.n + 1) + number] = sum;
        }
    }
};

/* The sum of products of two components, and what becomes of it. */
struct Product {
    using Sum = HcWide;
    int64_t number;
    int32_t i, j;
    bool is_one;
    __device__ Product(const Job &job, int64_t k) : number(k), i(0), j(0), is_one(k < products_of(job.n)) {
        while (is_one && k >= job.n - i) {
            k -= job.n - i;
            i++;
        }
        j = is_one ? i + (int32_t)k : 0;
    }
    __device__ Sum at(const int64_t *pixel) const {
        return (HcWide)pixel[1 + i] * pixel[1 + j];
    }
    __device__ void put(const Job &job, int64_t pixel, Sum sum) const {
        if (is_one) {
            const int64_t *of = job.sums + pixel * (job.n + 1);
            job.products[pixel * products_of(job.n) + number] =
                rounded(sum * of[0] - (HcWide)of[1 + i] * of[1 + j]);
        }
    }
};

/* Sums of columns [columns][lanes] in shared memory, and of runs of `each` of them [runs][lanes]. */
template <class Sum> struct Columns {
    Sum *column, *run;
    int32_t half, runs; /* of the side of the square; whole ones at the beginning of a window */
};

/* Of a square of that half side, for a tile. */
__host__ __device__ inline int32_t columns_of(const Job &job, int32_t half) {
    return job.tile + 2 * half;
}

/* Runs that the beginning of a window is made of; few are not worth their memory. */
__host__ __device__ inline int32_t whole_runs(const Job &job, int32_t half) {
    return 2 * half >= 4 * job.each ? 2 * half / job.each : 0;
}

__host__ __device__ inline int32_t runs_of(const Job &job, int32_t half) {
    return whole_runs(job, half) > 0 ? (columns_of(job, half) + job.each - 1) / job.each : 0;
}

/* Brings the sums of the columns of a square of that half side from the line before to `row`, or forms them
 * anew. The rows of the integers that belong to a line are row + off to row + off + 2 half, its columns begin
 * with `off`. */
template <class Number>
__device__ inline void move_columns(const Job &job, const Number &number, int64_t column, int32_t columns,
                                    int64_t row, bool anew, int32_t lane, int32_t part,
                                    const Columns<typename Number::Sum> &sums) {
    int32_t each = job.each;
    int32_t half = sums.half;
    int64_t pixel = job.n + 1;
    int64_t line = width_of(job) * pixel;
    int32_t off = job.half - half;
    int32_t end = columns + 2 * half;
    const int64_t *at = job.integers + (row + off) * line + (column + off) * pixel;
    for (int32_t run = part; run * each < end; run += job.parts) {
        typename Number::Sum all = 0;
        for (int32_t c = run * each; c < end && c < (run + 1) * each; c++) {
            const int64_t *top = at + c * pixel;
            typename Number::Sum sum = 0;
            if (anew) {
                for (int32_t r = 0; r <= 2 * half; r++) {
                    sum += number.at(top + r * line);
                }
            } else {
                sum = sums.column[c * job.lanes + lane] + number.at(top + 2 * half * line) -
                      number.at(top - line);
            }
            sums.column[c * job.lanes + lane] = sum;
            all += sum;
        }
        if (sums.runs > 0) {
            sums.run[run * job.lanes + lane] = all;
        }
    }
}

/* The first 2 half columns of the window of the first pixel of a part: whole runs, and columns. */
template <class Sum>
__device__ inline Sum begin_window(const Job &job, const Columns<Sum> &sums, int32_t lane, int32_t part) {
    Sum sum = 0;
    for (int32_t run = part; run < part + sums.runs; run++) {
        sum += sums.run[run * job.lanes + lane];
    }
    for (int32_t c = (part + sums.runs) * job.each; c < part * job.each + 2 * sums.half; c++) {
        sum += sums.column[c * job.lanes + lane];
    }
    return sum;
}

/* Windows along a line: each group of lanes has some pixels, which lie side by side. */
template <class Number>
__device__ inline void
slide(const Job &job, const Number &number, int64_t column, int32_t columns, int64_t row, int32_t lane,
      int32_t part, const Columns<typename Number::Sum> &outer, const Columns<typename Number::Sum> &inner) {
    using Sum = typename Number::Sum;
    int32_t begin = part * job.each;
    int32_t end = begin + job.each < columns ? begin + job.each : columns;
    if (begin >= end) {
        return;
    }
    int32_t ahead = 2 * job.half * job.lanes;
    int32_t guard_ahead = 2 * job.guard_half * job.lanes;
    const Sum *from = outer.column + begin * job.lanes + lane;
    const Sum *less = inner.column + begin * job.lanes + lane;
    Sum sum = begin_window(job, outer, lane, part) - begin_window(job, inner, lane, part);
    for (int32_t p = begin; p < end; p++, from += job.lanes, less += job.lanes) {
        sum += from[ahead] - less[guard_ahead];
        number.put(job, row * job.columns + column + p, sum);
        sum += less[0] - from[0];
    }
}

/* Elements of shared memory. */
__host__ __device__ inline size_t state_of(const Job &job, int32_t half) {
    return (size_t)(columns_of(job, half) + runs_of(job, half)) * (size_t)job.lanes;
}

template <class Sum> __device__ inline Columns<Sum> columns_at(const Job &job, Sum *at, int32_t half) {
    return {at, at + (size_t)columns_of(job, half) * job.lanes, half, whole_runs(job, half)};
}

/* Grid: numbers, tiles, chunks of lines. */
template <class Number>
__global__ void __launch_bounds__(THREADS, BLOCKS_A_PROCESSOR) add_windows(const Job job) {
    using Sum = typename Number::Sum;
    extern __shared__ __align__(16) char shared[];
    int32_t lane = (int32_t)threadIdx.x & (job.lanes - 1);
    int32_t part = (int32_t)threadIdx.x / job.lanes;
    const Number number(job, (int64_t)blockIdx.x * job.lanes + lane);
    int32_t column = (int32_t)blockIdx.y * job.tile;
    int32_t columns = job.columns - column < job.tile ? job.columns - column : job.tile;
    int32_t first = (int32_t)blockIdx.z * job.chunk;
    int32_t end = first + job.chunk < job.lines ? first + job.chunk : job.lines;
    const Columns<Sum> outer = columns_at(job, (Sum *)shared, job.half);
    const Columns<Sum> inner = columns_at(job, outer.column + state_of(job, job.half), job.guard_half);
    for (int32_t row = first; row < end; row++) {
        move_columns(job, number, column, columns, row, row == first, lane, part, outer);
        move_columns(job, number, column, columns, row, row == first, lane, job.parts - 1 - part, inner);
        __syncthreads();
        slide(job, number, column, columns, row, lane, part, outer, inner);
        __syncthreads();
    }
}

/* ---- scores ---- */

/* What is known of a pixel of the piece. */
struct Pixel {
    const int64_t *own;  /* its integers */
    const int64_t *sums; /* of its window */
    const double *products;
    bool scored; /* the window has enough pixels */
    double scale, per_pixel;
    __device__ Pixel(const Job &job, int64_t pixel)
        : own(job.integers +
              ((pixel / job.columns + job.half) * width_of(job) + pixel % job.columns + job.half) *
                  (job.n + 1)),
          sums(job.sums + pixel * (job.n + 1)), products(job.products + pixel * products_of(job.n)) {
        double count = (double)sums[0];
        scored = own[0] != 0 && sums[0] >= 2 && (job.share > 0 || sums[0] >= job.n + 1);
        scale = (1 - job.share) / (job.per_unit * job.per_unit * count * (count - 1));
        per_pixel = job.per_unit * count;
    }
    /* Element (i, k) of C, k >= i. */
    __device__ double element(const Job &job, int64_t i, int64_t k) const {
        double value = products[i * job.n - i * (i - 1) / 2 + k - i] * scale;
        return k == i ? value + job.share : value;
    }
    __device__ double z(int64_t i) const {
        return (double)(sums[0] * own[1 + i] - sums[1 + i]) / per_pixel;
    }
};

/* What a pivot must be above, from its element of the diagonal. */
__device__ inline double least_pivot(const Job &job, double diagonal) {
    return 16 * (double)job.n * DBL_EPSILON * diagonal;
}

__device__ inline void put_score(const Job &job, int64_t pixel, double value) {
    int64_t line = job.line + pixel / job.columns;
    int64_t at = (line - job.out.first_line) * job.out.samples + job.column + pixel % job.columns;
    bool scored = !isnan(value);
    job.out.data[at] = scored ? (float)value : 0.0F;
    job.out.mask[at] = scored;
}

/* A team of TEAM lanes eliminates in its registers up to N directions: lane k has the columns k, k + TEAM,
 * ... of the rows down to their diagonals, each from the row on that is the pivot's now. What lies below the
 * diagonal is computed and never used. z lies in the lanes of its columns. Factors go through shared memory,
 * in turn through the two halves: who writes one has seen all lanes leave it. */
template <int N, int TEAM> struct Matrix {
    static constexpr int COLUMNS = N / TEAM;   /* of a lane */
    static constexpr int RUN = TEAM / 2;       /* steps for which columns keep their length */
    static constexpr int PITCH = N + TEAM / 2; /* of the factors of a team, so that teams differ in banks */
    double at[COLUMNS][N];                     /* the first TEAM (m + 1) rows of the m-th column */
    double z[COLUMNS], least[COLUMNS];
    double sum;
    bool fine;
};

const unsigned ALL = 0xFFFFFFFFU;

/* Row i, of which N - DONE rows are left. factor: that of row i + 1 first. */
template <int DONE, int N, int TEAM>
__device__ __forceinline__ void step(Matrix<N, TEAM> &m, int32_t i, int32_t lane, double *factor) {
    constexpr int FIRST = DONE / TEAM; /* column that has the pivot */
    constexpr int COLUMNS = Matrix<N, TEAM>::COLUMNS;
    int32_t owner = i % TEAM;
    double pivot = __shfl_sync(ALL, m.at[FIRST][0], owner, TEAM);
    double least = __shfl_sync(ALL, m.least[FIRST], owner, TEAM);
    double z = __shfl_sync(ALL, m.z[FIRST], owner, TEAM);
    m.fine = m.fine && pivot > least;
    double part = 0;
#pragma unroll
    for (int c = FIRST; c < COLUMNS; c++) {
        /* The owner has no row below to take from: it has the part of the score. */
        double by = (c == FIRST && lane == owner ? z * z : m.at[c][0]) / pivot;
        part = c == FIRST ? by : part;
        int32_t row = lane + c * TEAM - i - 1;
        if (row >= 0) {
            factor[row] = by;
        }
        m.z[c] -= by * z;
    }
    m.sum += __shfl_sync(ALL, part, owner, TEAM);
    __syncwarp();
#pragma unroll
    for (int c = FIRST; c < COLUMNS; c++) {
        double top = m.at[c][0];
#pragma unroll
        for (int j = 0; j < TEAM * (c + 1) - DONE - 1; j++) {
            m.at[c][j] = m.at[c][j + 1] - factor[j] * top;
        }
    }
}

/* Rows from DONE on. */
template <int DONE, int N, int TEAM>
__device__ __forceinline__ void steps(Matrix<N, TEAM> &m, int32_t n, int32_t lane, double *factors) {
    constexpr int RUN = Matrix<N, TEAM>::RUN;
    if constexpr (DONE < N) {
#pragma unroll 1
        for (int32_t i = DONE; i < DONE + RUN && i < n; i++) {
            step<DONE>(m, i, lane, factors + i % 2 * Matrix<N, TEAM>::PITCH);
        }
        steps<DONE + RUN>(m, n, lane, factors);
    }
}

template <int N, int TEAM>
__device__ inline double eliminate(const Job &job, const Pixel &pixel, int32_t lane, double *factors) {
    Matrix<N, TEAM> m;
    m.sum = 0;
    m.fine = pixel.scored;
#pragma unroll
    for (int c = 0; c < Matrix<N, TEAM>::COLUMNS; c++) {
        int32_t column = lane + c * TEAM;
        bool there = column < job.n && pixel.scored;
        const double *from = pixel.products + column;
        m.z[c] = there ? pixel.z(column) : 0;
        m.least[c] = 0;
#pragma unroll
        for (int i = 0; i < TEAM * (c + 1); i++) {
            double value = there && i <= column ? *from * pixel.scale : 0;
            m.at[c][i] = i == column ? value + job.share : value;
            m.least[c] = i == column ? least_pivot(job, m.at[c][i]) : m.least[c];
            from += job.n - i - 1;
        }
    }
    steps<0>(m, job.n, lane, factors);
    return m.fine ? m.sum : NAN;
}

/* A team of lanes a pixel. */
template <int N, int TEAM>
__global__ void __launch_bounds__(SCORE_THREADS) score(const Job job, int64_t pixels) {
    __shared__ double factors[SCORE_THREADS / TEAM][2 * Matrix<N, TEAM>::PITCH];
    int64_t at = (int64_t)blockIdx.x * (SCORE_THREADS / TEAM) + threadIdx.x / TEAM;
    int32_t lane = (int32_t)threadIdx.x % TEAM;
    Pixel pixel(job, at < pixels ? at : pixels - 1); /* whole warps stay */
    double value = eliminate<N, TEAM>(job, pixel, lane, factors[threadIdx.x / TEAM]);
    if (lane == 0 && at < pixels) {
        put_score(job, at, value);
    }
}

/* Row i of a matrix: C from its diagonal on, and z. */
__device__ inline double *row_of(const Job &job, double *matrix, int64_t i) {
    return matrix + i * (job.n + 1) - i * (i - 1) / 2;
}

/* All threads of a block: a warp takes a row. Behind the rows of the matrix: their diagonal, and factors. */
__device__ inline double eliminate_together(const Job &job, const Pixel &pixel, double *matrix) {
    int32_t lane = (int32_t)threadIdx.x % 32;
    int32_t warp = (int32_t)threadIdx.x / 32;
    int32_t warps = (int32_t)blockDim.x / 32;
    double *diagonal = row_of(job, matrix, job.n);
    double *factor = diagonal + job.n;
    double sum = 0;
    for (int32_t i = warp; i < job.n; i += warps) {
        double *own = row_of(job, matrix, i);
        for (int32_t k = i + lane; k < job.n; k += 32) {
            own[k - i] = pixel.element(job, i, k);
        }
    }
    __syncthreads();
    for (int32_t i = (int32_t)threadIdx.x; i < job.n; i += (int32_t)blockDim.x) {
        double *own = row_of(job, matrix, i);
        own[job.n - i] = pixel.z(i);
        diagonal[i] = own[0];
    }
    __syncthreads();
    for (int32_t i = 0; i < job.n; i++) {
        const double *own = row_of(job, matrix, i);
        double pivot = own[0];
        double z = own[job.n - i];
        if (!(pivot > least_pivot(job, diagonal[i]))) {
            return NAN; /* all threads see the same */
        }
        for (int32_t j = i + (int32_t)threadIdx.x; j < job.n; j += (int32_t)blockDim.x) {
            factor[j] = (j == i ? z * z : own[j - i]) / pivot;
        }
        __syncthreads();
        sum += factor[i];
        for (int32_t j = i + 1 + warp; j < job.n; j += warps) {
            double by = factor[j];
            double *other = row_of(job, matrix, j);
            for (int32_t k = j + lane; k <= job.n; k += 32) {
                other[k - j] -= by * own[k - i];
            }
        }
        __syncthreads();
    }
    return sum;
}

/* A block a pixel, and the next ones in turn. */
__global__ void score_large(const Job job, int64_t pixels, bool is_shared) {
    extern __shared__ __align__(16) char shared[];
    double *matrix = is_shared ? (double *)shared : job.matrices + blockIdx.x * job.matrix;
    for (int64_t at = blockIdx.x; at < pixels; at += gridDim.x) {
        const Pixel pixel(job, at);
        double value = pixel.scored ? eliminate_together(job, pixel, matrix) : NAN;
        if (threadIdx.x == 0) {
            put_score(job, at, value);
        }
        __syncthreads();
    }
}

/* ---- launches ---- */

/* For more shared memory than 48 KiB. */
template <class Kernel> HcStatus allow(Kernel *kernel, size_t bytes, HcError *err) {
    return hc_gpu_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
                        doing, err);
}

/* As many numbers a thread block as fit, and as many lines as keep the device busy. */
template <class Number> HcStatus add_all(HcQueue *queue, Job job, int64_t numbers, HcError *err) {
    const HcGpu *gpu = queue->gpu;
    size_t limit = hc_min64(STATE_BYTES, (int64_t)gpu->shared_memory);
    size_t bytes = 0;
    for (job.lanes = 32;; job.lanes /= 2) {
        job.parts = THREADS / job.lanes;
        job.each = (int32_t)hc_div_up(job.tile, job.parts);
        bytes = (state_of(job, job.half) + state_of(job, job.guard_half)) * sizeof(typename Number::Sum);
        if (job.lanes == 1 || bytes <= limit) {
            break;
        }
    }
    int64_t groups = hc_div_up(numbers, job.lanes);
    int64_t tiles = hc_div_up(job.columns, job.tile);
    int64_t wanted = hc_max64(1, (int64_t)gpu->processors * BLOCKS_A_PROCESSOR / (groups * tiles));
    int64_t least = job.half > 8 ? job.half : 8; /* a window of lines begins anew in each chunk */
    job.chunk = (int32_t)hc_min64(job.lines, hc_max64(least, hc_div_up(job.lines, wanted)));
    dim3 grid((unsigned)groups, (unsigned)tiles, (unsigned)hc_div_up(job.lines, job.chunk));
    HC_OR_RETURN(allow(add_windows<Number>, bytes, err));
    add_windows<Number><<<grid, THREADS, bytes, queue->stream>>>(job);
    return hc_gpu_launched(doing, err);
}

template <int N, int TEAM> void launch_score(cudaStream_t stream, const Job &job, int64_t pixels) {
    unsigned blocks = (unsigned)hc_div_up(pixels, SCORE_THREADS / TEAM);
    score<N, TEAM><<<blocks, SCORE_THREADS, 0, stream>>>(job, pixels);
}

HcStatus score_all(HcQueue *queue, const HcLocalPiece &piece, const Job &job, HcError *err) {
    const HcGpu *gpu = queue->gpu;
    int64_t pixels = (int64_t)job.lines * job.columns;
    if (job.n <= HC_LOCAL_ONE_WARP) {
        auto launch = job.n <= 8    ? launch_score<8, 8>
                      : job.n <= 16 ? launch_score<16, 8>
                      : job.n <= 24 ? launch_score<24, 8>
                      : job.n <= 32 ? launch_score<32, 8>
                                    : launch_score<64, 32>;
        launch(queue->stream, job, pixels);
        return hc_gpu_launched(doing, err);
    }
    size_t bytes = job.matrix * sizeof(double);
    bool is_shared = bytes <= gpu->shared_memory;
    int64_t blocks = is_shared ? (int64_t)gpu->processors * 16 : piece.slots;
    HC_OR_RETURN(allow(score_large, is_shared ? bytes : 0, err));
    score_large<<<(unsigned)hc_min64(blocks, pixels), THREADS, is_shared ? bytes : 0, queue->stream>>>(
        job, pixels, is_shared);
    return hc_gpu_launched(doing, err);
}

HcStatus score_piece(HcQueue *queue, const HcLocalPiece &piece, const Job &job, HcError *err) {
    int64_t pixels = (int64_t)(job.lines + 2 * job.half) * (job.columns + 2 * job.half);
    unsigned blocks = (unsigned)hc_div_up(pixels, THREADS / 32);
    take_integers<<<blocks, THREADS, 0, queue->stream>>>(job, pixels);
    HC_OR_RETURN(hc_gpu_launched(doing, err));
    HC_OR_RETURN(add_all<Linear>(queue, job, job.n + 1, err));
    HC_OR_RETURN(add_all<Product>(queue, job, (int64_t)job.n * (job.n + 1) / 2, err));
    return score_all(queue, piece, job, err);
}

/* The memory, cut; or only its size. */
size_t lay_out(HcLocal *local, char *base) {
    const HcLocalPiece &piece = local->piece;
    size_t at = 0;
    local->integers = (int64_t *)hc_take(base, &at, piece.integers * sizeof(int64_t));
    local->sums = (int64_t *)hc_take(base, &at, piece.sums * sizeof(int64_t));
    local->products = (double *)hc_take(base, &at, piece.products * sizeof(double));
    local->matrices = (double *)hc_take(base, &at, piece.matrices * sizeof(double));
    return at;
}

} // namespace

HcStatus hc_gpu_local_open(HcCompute *compute, const HcLocalRule *rule, HcLocal **out, HcError *err) {
    HcStatus status = HC_OK;
    HcLocal *local = new (std::nothrow) HcLocal();
    if (local == NULL) {
        HC_TRY(hc_fail_memory(err, sizeof *local, "local scores"));
    }
    local->gpu = (HcGpu *)compute;
    local->piece = hc_local_piece(rule);
    HC_TRY(hc_gpu_use(local->gpu, err));
    HC_TRY(hc_gpu_alloc(compute, HC_MEMORY_DEVICE, lay_out(local, NULL), &local->memory, err));
    (void)lay_out(local, (char *)local->memory.data);
    *out = local;
    local = NULL;
done:
    hc_gpu_local_close(local);
    return status;
}

void hc_gpu_local_close(HcLocal *local) {
    if (local != NULL) {
        hc_gpu_release(&local->gpu->base, &local->memory);
        delete local;
    }
}

HcStatus hc_gpu_local(HcQueue *queue, const HcBlock *in, HcLocal *local, const HcBlock *out, HcError *err) {
    const HcLocalRule &rule = local->head.rule;
    const HcLocalPiece &piece = local->piece;
    Job job = {};
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    job.in = hc_view(in);
    job.out = hc_view(out);
    job.n = rule.directions;
    job.half = rule.window / 2;
    job.guard_half = rule.guard / 2;
    job.share = rule.share;
    job.per_unit = rule.per_unit;
    job.tile = piece.tile;
    job.integers = local->integers;
    job.sums = local->sums;
    job.products = local->products;
    job.matrices = local->matrices;
    job.matrix = hc_local_matrix(&rule);
    int64_t end = job.out.first_line + job.out.rows;
    for (job.line = job.out.first_line; job.line < end; job.line += piece.lines) {
        job.lines = (int32_t)hc_min64(piece.lines, end - job.line);
        for (job.column = 0; job.column < rule.samples; job.column += piece.columns) {
            job.columns = (int32_t)hc_min64(piece.columns, rule.samples - job.column);
            HC_OR_RETURN(score_piece(queue, piece, job, err));
        }
    }
    return HC_OK;
}
