/* Singular value decompositions of matrices that do not fit into the registers of a block: long ones by a QR
 * decomposition first (Drmac and Veselic 2008), those of more than 64 columns by blocks of columns, of which
 * two meet at a time: QR, the rotations of the small triangle, and their product with both blocks. */
#ifndef HC_GPU_SVD_LARGE_CUH
#define HC_GPU_SVD_LARGE_CUH

#include "gpu/svd/jacobi.cuh"

/* ---- elements ---- */

template <typename T> __device__ static inline T hc_sum_of_warp(T sum) {
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) {
        sum += __shfl_xor_sync(~0U, sum, mask);
    }
    return sum;
}

template <typename T, bool COMPLEX> struct HcElementOf;
template <typename T> struct HcElementOf<T, false> {
    T re;
    __device__ static HcElementOf of(T re, T) {
        return {re};
    }
    __device__ T imaginary() const {
        return 0;
    }
    __device__ HcElementOf conj() const {
        return *this;
    }
    __device__ T square() const {
        return re * re;
    }
    __device__ HcElementOf times(T f) const {
        return {re * f};
    }
    /* this + a b */
    __device__ HcElementOf plus(HcElementOf a, HcElementOf b) const {
        return {fma(a.re, b.re, re)};
    }
    /* The sum over a warp. */
    __device__ HcElementOf over_warp() const {
        return {hc_sum_of_warp(re)};
    }
};
template <typename T> struct alignas(2 * sizeof(T)) HcElementOf<T, true> {
    T re, im;
    __device__ static HcElementOf of(T re, T im) {
        return {re, im};
    }
    __device__ T imaginary() const {
        return im;
    }
    __device__ HcElementOf conj() const {
        return {re, -im};
    }
    __device__ T square() const {
        return fma(re, re, im * im);
    }
    __device__ HcElementOf times(T f) const {
        return {re * f, im * f};
    }
    __device__ HcElementOf plus(HcElementOf a, HcElementOf b) const {
        return {fma(a.re, b.re, fma(-a.im, b.im, re)), fma(a.re, b.im, fma(a.im, b.re, im))};
    }
    __device__ HcElementOf over_warp() const {
        return {hc_sum_of_warp(re), hc_sum_of_warp(im)};
    }
};

/* ---- preparing ---- */

/* Matrices of a batch, and where they are worked on. */
template <typename T, bool COMPLEX> struct HcSvdWork {
    typedef HcElementOf<T, COMPLEX> Element;
    const Element *matrices; /* of this chunk: B or its conjugate transpose, row-major */
    bool wide;               /* the conjugate transpose */
    int32_t rows, columns;   /* of B, columns <= rows */
    int32_t stored;          /* columns of w and v: `columns`, or as many as make whole pairs of blocks */
    Element *w;              /* [matrices][stored][rows], column after column */
    Element *v;              /* [matrices][stored][columns], of matrices in blocks */
    int32_t *exponent;       /* [matrices] B is w times two to its power */
    int32_t *done;           /* [matrices] of matrices in blocks: no rotation is left */
    int32_t *turned;         /* [matrices] this sweep turned something */
    int32_t *sweeps;         /* [matrices] */
    int32_t *finite;         /* [matrices] */
};

enum { HC_SVD_THREADS = 256 };

/* B, scaled, into w; V = 1 where there is a v. NaN and infinity make all of w NaN. A block a matrix. */
template <typename T, bool COMPLEX>
__global__ void __launch_bounds__(HC_SVD_THREADS) hc_svd_prepare(HcSvdWork<T, COMPLEX> work) {
    typedef HcElementOf<T, COMPLEX> Element;
    __shared__ T most_of_warp[HC_SVD_THREADS / 32];
    int64_t matrix = blockIdx.x;
    int32_t m = work.rows;
    int64_t values = (int64_t)m * work.columns;
    const Element *from = work.matrices + matrix * values;
    T most = 0;
    for (int64_t i = threadIdx.x; i < values; i += HC_SVD_THREADS) {
        Element x = from[i];
        T re = fabs(x.re);
        T im = fabs(x.imaginary());
        most = fmax(most, re <= HcSvdLimits<T>::largest() && im <= HcSvdLimits<T>::largest() ? fmax(re, im)
                                                                                             : T(INFINITY));
    }
    most = hc_most_of_team<32>(most);
    if (threadIdx.x % 32 == 0) {
        most_of_warp[threadIdx.x / 32] = most;
    }
    __syncthreads();
    most = hc_most_of_team<32>(most_of_warp[threadIdx.x % (HC_SVD_THREADS / 32)]);
    bool finite = most <= HcSvdLimits<T>::largest();
    int exponent = finite && most > 0 ? HcSvdScale<T>::top - ilogb(most) : 0;
    T half = scalbn(T(1), exponent / 2);
    T rest = scalbn(T(1), exponent - exponent / 2);
    T sign = work.wide ? T(-1) : T(1);
    Element *w = work.w + matrix * m * work.stored;
    for (int64_t i = threadIdx.x; i < (int64_t)m * work.stored; i += HC_SVD_THREADS) {
        int32_t column = (int32_t)(i / m);
        int32_t row = (int32_t)(i % m);
        Element x = Element::of(0, 0);
        if (column < work.columns) {
            x = work.wide ? from[(int64_t)column * m + row] : from[(int64_t)row * work.columns + column];
            x = Element::of(x.re * half * rest, sign * x.imaginary() * half * rest);
        }
        w[i] = finite ? x : Element::of(hc_not_a_number(T()), hc_not_a_number(T()));
    }
    if (work.v != NULL) {
        Element *v = work.v + matrix * work.stored * work.columns;
        for (int64_t i = threadIdx.x; i < (int64_t)work.stored * work.columns; i += HC_SVD_THREADS) {
            v[i] = Element::of(i / work.columns == i % work.columns ? T(1) : T(0), 0);
        }
    }
    if (threadIdx.x == 0) {
        work.exponent[matrix] = -exponent;
        work.finite[matrix] = finite;
        work.sweeps[matrix] = 0;
        work.turned[matrix] = 0;
        work.done[matrix] = !finite;
    }
}

/* ---- QR ---- */

/* The pair of blocks number `pair` of a round in which every one of `blocks` (an even number) meets another
 * (Brent and Luk 1985): over blocks - 1 rounds, all meet all. */
__device__ static inline void hc_svd_meeting(int32_t blocks, int32_t round, int32_t pair, int32_t &lower,
                                             int32_t &upper) {
    int32_t a = pair == 0 ? 0 : (pair - 1 + round) % (blocks - 1) + 1;
    int32_t b = (blocks - 2 - pair + round) % (blocks - 1) + 1;
    lower = a < b ? a : b;
    upper = a < b ? b : a;
}

/* Column `k` of two blocks that meet. */
__device__ static inline int32_t hc_svd_column(int32_t lower, int32_t upper, int32_t k) {
    return k < HC_SVD_BLOCK ? lower * HC_SVD_BLOCK + k : (upper - 1) * HC_SVD_BLOCK + k;
}

template <typename T, bool COMPLEX> struct HcSvdQr {
    typedef HcElementOf<T, COMPLEX> Element;
    HcSvdWork<T, COMPLEX> work;
    int32_t columns;      /* that are decomposed: those of w, or HC_SVD_PANEL */
    int32_t pairs, round; /* of blocks that meet, at once; 0 = all of w, which keeps the reflectors */
    Element *panel;       /* [jobs][columns][rows] where shared memory is too small for blocks that meet */
    bool in_shared;
    Element *r;   /* [jobs][columns][columns], column after column: upper triangle, 0 below */
    Element *tau; /* [jobs][columns] factors of the reflectors, NULL = not wanted */
};

/* A reflector that clears a column below row k, by one warp (LAPACK's larfg): the column keeps it below beta.
 */
template <typename T, bool COMPLEX>
__device__ static inline HcElementOf<T, COMPLEX> hc_svd_reflector(HcElementOf<T, COMPLEX> *column,
                                                                  int32_t rows, int32_t k, int lane) {
    typedef HcElementOf<T, COMPLEX> Element;
    T below = 0;
    for (int32_t i = k + 1 + lane; i < rows; i += 32) {
        below += column[i].square();
    }
    below = hc_sum_of_warp(below);
    Element alpha = column[k];
    __syncwarp();
    if (below < HcSvdScale<T>::dust() && (alpha.imaginary() == 0 || alpha.square() < HcSvdScale<T>::dust())) {
        return Element::of(0, 0);
    }
    T beta = sqrt(alpha.square() + below);
    beta = alpha.re > 0 ? -beta : beta;
    Element tau = Element::of((beta - alpha.re) / beta, -alpha.imaginary() / beta);
    /* 1 / (alpha - beta) */
    T re = alpha.re - beta;
    T im = alpha.imaginary();
    T most = fmax(fabs(re), fabs(im));
    T a = re / most;
    T b = im / most;
    T square = fma(a, a, b * b) * most;
    Element factor = Element::of(a / square, -b / square);
    for (int32_t i = k + 1 + lane; i < rows; i += 32) {
        column[i] = Element::of(0, 0).plus(factor, column[i]);
    }
    if (lane == 0) {
        column[k] = Element::of(beta, 0);
    }
    __syncwarp();
    return tau;
}

/* column -= tau v (v' column), v = 1 at row k and `reflector` below; the sum is conj(v) times the column. */
template <typename T, bool COMPLEX>
__device__ static inline void hc_svd_reflect(const HcElementOf<T, COMPLEX> *reflector,
                                             HcElementOf<T, COMPLEX> tau, HcElementOf<T, COMPLEX> *column,
                                             int32_t rows, int32_t k, int lane) {
    typedef HcElementOf<T, COMPLEX> Element;
    Element sum = Element::of(0, 0);
    for (int32_t i = k + 1 + lane; i < rows; i += 32) {
        sum = sum.plus(reflector[i].conj(), column[i]);
    }
    sum = sum.over_warp();
    Element top = column[k];
    sum = Element::of(sum.re + top.re, sum.imaginary() + top.imaginary());
    sum = Element::of(0, 0).plus(sum, tau).times(T(-1));
    __syncwarp();
    for (int32_t i = k + 1 + lane; i < rows; i += 32) {
        column[i] = column[i].plus(sum, reflector[i]);
    }
    if (lane == 0) {
        column[k] = Element::of(top.re + sum.re, top.imaginary() + sum.imaginary());
    }
    __syncwarp();
}

/* Householder's QR; a block a matrix, or a pair of blocks that meet. */
template <typename T, bool COMPLEX>
__global__ void __launch_bounds__(HC_SVD_THREADS) hc_svd_qr(HcSvdQr<T, COMPLEX> qr) {
    typedef HcElementOf<T, COMPLEX> Element;
    extern __shared__ char hc_svd_memory[];
    __shared__ Element taus[2];
    int lane = (int)threadIdx.x % 32;
    int warp = (int)threadIdx.x / 32;
    const int warps = HC_SVD_THREADS / 32;
    int64_t job = blockIdx.x;
    int64_t matrix = qr.pairs > 0 ? job / qr.pairs : job;
    int32_t m = qr.work.rows;
    int32_t n = qr.columns;
    Element *w = qr.work.w + matrix * m * qr.work.stored;
    Element *panel = qr.in_shared ? (Element *)hc_svd_memory : qr.pairs > 0 ? qr.panel + job * n * m : w;
    if (qr.pairs > 0 && qr.work.done[matrix] != 0) {
        return;
    }
    int32_t lower = 0;
    int32_t upper = 1;
    if (qr.pairs > 0) {
        hc_svd_meeting(2 * qr.pairs, qr.round, (int32_t)(job % qr.pairs), lower, upper);
    }
    if (panel != w) {
        for (int32_t k = warp; k < n; k += warps) {
            const Element *from = w + (int64_t)hc_svd_column(lower, upper, k) * m;
            for (int32_t i = lane; i < m; i += 32) {
                panel[(int64_t)k * m + i] = from[i];
            }
        }
        __syncthreads();
    }
    if (warp == 0) {
        Element tau = hc_svd_reflector<T, COMPLEX>(panel, m, 0, lane);
        if (lane == 0) {
            taus[0] = tau;
        }
    }
    __syncthreads();
    for (int32_t k = 0; k < n; k++) {
        Element tau = taus[k % 2];
        const Element *reflector = panel + (int64_t)k * m;
        for (int32_t j = k + 1 + warp; j < n; j += warps) {
            Element *column = panel + (int64_t)j * m;
            hc_svd_reflect<T, COMPLEX>(reflector, tau.conj(), column, m, k, lane);
            if (j == k + 1) { /* the next step waits for this one alone */
                Element next = hc_svd_reflector<T, COMPLEX>(column, m, j, lane);
                if (lane == 0) {
                    taus[j % 2] = next;
                }
            }
        }
        if (qr.tau != NULL && threadIdx.x == 0) {
            qr.tau[job * n + k] = tau;
        }
        __syncthreads();
    }
    Element *r = qr.r + job * n * n;
    for (int32_t i = (int32_t)threadIdx.x; i < n * n; i += HC_SVD_THREADS) {
        int32_t column = i / n;
        int32_t row = i % n;
        r[i] = row <= column ? panel[(int64_t)column * m + row] : Element::of(0, 0);
    }
    if (qr.tau != NULL && panel != w) {
        for (int64_t i = threadIdx.x; i < (int64_t)n * m; i += HC_SVD_THREADS) {
            w[i] = panel[i];
        }
    }
}

/* Vectors of n entries become Q times them: [n][m], in place; each begins with its n entries. A warp a
 * vector, which lies in shared memory. */
template <typename T, bool COMPLEX>
__global__ void hc_svd_apply_q(HcSvdWork<T, COMPLEX> work, const HcElementOf<T, COMPLEX> *taus,
                               HcElementOf<T, COMPLEX> *vectors) {
    typedef HcElementOf<T, COMPLEX> Element;
    extern __shared__ char hc_svd_memory[];
    int lane = (int)threadIdx.x % 32;
    int warp = (int)threadIdx.x / 32;
    int64_t matrix = blockIdx.x;
    int32_t m = work.rows;
    int32_t n = work.columns;
    int32_t vector = (int32_t)(blockIdx.y * (blockDim.x / 32)) + warp;
    if (vector >= n) {
        return;
    }
    Element *y = (Element *)hc_svd_memory + (int64_t)warp * m;
    Element *out = vectors + (matrix * n + vector) * m;
    for (int32_t i = lane; i < m; i += 32) {
        y[i] = i < n ? out[i] : Element::of(0, 0);
    }
    __syncwarp();
    for (int32_t k = n - 1; k >= 0; k--) {
        hc_svd_reflect<T, COMPLEX>(work.w + (matrix * work.stored + k) * m, taus[matrix * n + k], y, m, k,
                                   lane);
    }
    for (int32_t i = lane; i < m; i += 32) {
        out[i] = y[i];
    }
}

/* ---- blocks that meet ---- */

enum { HC_SVD_TILE = 128 }; /* rows that are turned at once */

template <typename T, bool COMPLEX> struct HcSvdReplay {
    HcSvdWork<T, COMPLEX> work;
    int32_t pairs, round; /* of blocks that meet */
    HcSvdRecord record;   /* of the triangles of all pairs */
    const int32_t *sweeps;
};

/* The columns of two blocks are turned as those of their triangle were. Grid: tiles of the rows of w and
 * after them of v; jobs. A thread a row. */
template <typename T, bool COMPLEX>
__global__ void __launch_bounds__(HC_SVD_TILE) hc_svd_replay(HcSvdReplay<T, COMPLEX> replay) {
    typedef HcElementOf<T, COMPLEX> Element;
    typedef HcTurn<T, COMPLEX> Turn;
    const HcSvdWork<T, COMPLEX> &work = replay.work;
    int64_t job = blockIdx.y;
    int64_t matrix = job / replay.pairs;
    int32_t sweeps = replay.sweeps[job];
    if (work.done[matrix] != 0) {
        return;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0 && sweeps > 1) { /* the first one turned something */
        work.turned[matrix] = 1;
    }
    int32_t tiles = (work.rows + HC_SVD_TILE - 1) / HC_SVD_TILE;
    bool is_v = (int32_t)blockIdx.x >= tiles;
    int32_t length = is_v ? work.columns : work.rows;
    int32_t i = ((int32_t)blockIdx.x - (is_v ? tiles : 0)) * HC_SVD_TILE + (int32_t)threadIdx.x;
    if (i >= length) {
        return;
    }
    int32_t lower, upper;
    hc_svd_meeting(2 * replay.pairs, replay.round, (int32_t)(job % replay.pairs), lower, upper);
    Element *data = (is_v ? work.v : work.w) + matrix * work.stored * length + i;
    HcRow<T, COMPLEX, HC_SVD_PANEL> row;
#pragma unroll
    for (int32_t k = 0; k < HC_SVD_PANEL; k++) {
        Element x = data[(int64_t)hc_svd_column(lower, upper, k) * length];
        row.re[k] = x.re;
        if (COMPLEX) {
            row.im[k] = x.imaginary();
        }
    }
    const uint8_t *changes = replay.record.changes + job * HC_SVD_MEETING_SWEEPS * HC_SVD_PANEL;
    const Turn *turns =
        (const Turn *)replay.record.turns + job * HC_SVD_MEETING_SWEEPS * HC_SVD_PANEL * (HC_SVD_PANEL / 2);
    for (int32_t round = 0; round < sweeps * HC_SVD_PANEL; round += 2) {
        if (changes[round] != 0) {
            row.template turn<0>(turns + round * (HC_SVD_PANEL / 2));
        } else {
            row.template swap<0>();
        }
        if (changes[round + 1] != 0) {
            row.template turn<1>(turns + (round + 1) * (HC_SVD_PANEL / 2));
        } else {
            row.template swap<1>();
        }
    }
    const int32_t *places = replay.record.places + job * HC_SVD_PANEL;
#pragma unroll
    for (int32_t k = 0; k < HC_SVD_PANEL; k++) {
        data[(int64_t)hc_svd_column(lower, upper, places[k]) * length] =
            Element::of(row.re[k], COMPLEX ? row.im[COMPLEX ? k : 0] : T(0));
    }
}

/* After a sweep: matrices that nothing was turned in are done. */
template <typename T, bool COMPLEX>
__global__ void hc_svd_end_sweep(HcSvdWork<T, COMPLEX> work, int64_t count) {
    int64_t matrix = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (matrix < count && work.done[matrix] == 0) {
        work.sweeps[matrix]++;
        work.done[matrix] = work.turned[matrix] == 0;
        work.turned[matrix] = 0;
    }
}

/* Values and vectors in descending order. norms[matrices][stored]. A block a matrix. */
template <typename T, bool COMPLEX>
__global__ void __launch_bounds__(HC_SVD_THREADS)
    hc_svd_finish(HcSvdWork<T, COMPLEX> work, T *norms, T *values, HcElementOf<T, COMPLEX> *u,
                  HcElementOf<T, COMPLEX> *v, int32_t *sweeps, uint8_t *end) {
    typedef HcElementOf<T, COMPLEX> Element;
    int64_t matrix = blockIdx.x;
    int lane = (int)threadIdx.x % 32;
    int warp = (int)threadIdx.x / 32;
    const int warps = HC_SVD_THREADS / 32;
    int32_t m = work.rows;
    int32_t n = work.columns;
    const Element *columns = work.w + matrix * work.stored * m;
    const Element *turns = work.v + matrix * work.stored * n;
    bool finite = work.finite[matrix] != 0;
    norms += matrix * work.stored;
    for (int32_t k = warp; k < work.stored; k += warps) {
        T square = 0;
        T weight = 0;
        for (int32_t i = lane; i < m; i += 32) {
            square += columns[(int64_t)k * m + i].square();
        }
        for (int32_t i = lane; i < n; i += 32) {
            weight += turns[(int64_t)k * n + i].square();
        }
        square = hc_sum_of_warp(square);
        weight = hc_sum_of_warp(weight);
        if (lane == 0) { /* columns that only fill a block come last */
            norms[k] = weight > 0 ? (square >= HcSvdScale<T>::tiny() ? sqrt(square) : T(0)) : T(-1);
        }
    }
    __syncthreads();
    int32_t exponent = work.exponent[matrix];
    for (int32_t k = warp; k < work.stored; k += warps) {
        T mine = norms[k];
        int32_t place = 0;
        for (int32_t other = lane; other < work.stored; other += 32) {
            place += norms[other] > mine || (norms[other] == mine && other < k);
        }
        place = finite ? hc_sum_of_warp(place) : k;
        if (place >= n) {
            continue;
        }
        if (lane == 0) {
            values[matrix * n + place] = finite ? ldexp(mine, exponent) : hc_not_a_number(T());
        }
        T factor = !finite ? hc_not_a_number(T()) : mine > 0 ? T(1) / mine : T(0);
        for (int32_t i = lane; u != NULL && i < m; i += 32) {
            u[(matrix * n + place) * m + i] = columns[(int64_t)k * m + i].times(factor);
        }
        for (int32_t i = lane; v != NULL && i < n; i += 32) {
            v[(matrix * n + place) * n + i] =
                finite ? turns[(int64_t)k * n + i] : Element::of(factor, factor);
        }
    }
    if (threadIdx.x == 0) {
        if (sweeps != NULL) {
            sweeps[matrix] = work.sweeps[matrix];
        }
        if (end != NULL) {
            end[matrix] = (uint8_t)(!finite             ? HC_SVD_NOT_FINITE
                                    : work.done[matrix] ? HC_SVD_CONVERGED
                                                        : HC_SVD_UNFINISHED);
        }
    }
}

/* ---- vectors of singular values that are 0 ---- */

/* Fills u[n][m] of each matrix, where values[n] are 0, with unit vectors orthogonal to all others: what is
 * left of that axis of which most is left (Gram and Schmidt, twice). Dynamic shared memory: m numbers. A
 * block a matrix. */
template <typename T, bool COMPLEX>
__global__ void __launch_bounds__(HC_SVD_THREADS)
    hc_svd_complete(int32_t m, int32_t n, const T *values, HcElementOf<T, COMPLEX> *u) {
    typedef HcElementOf<T, COMPLEX> Element;
    extern __shared__ char hc_svd_memory[];
    __shared__ Element part[HC_SVD_THREADS];
    __shared__ T best[HC_SVD_THREADS / 32];
    __shared__ int32_t best_at[HC_SVD_THREADS / 32];
    T *left = (T *)hc_svd_memory; /* of each axis: the square of what the vectors so far leave */
    int lane = (int)threadIdx.x % 32;
    int warp = (int)threadIdx.x / 32;
    const int warps = HC_SVD_THREADS / 32;
    int64_t matrix = blockIdx.x;
    values += matrix * n;
    u += matrix * n * m;
    if (values[n - 1] != 0) {
        return;
    }
    int32_t known = n - 1;
    while (known > 0 && values[known - 1] == 0) {
        known--;
    }
    for (int32_t i = (int32_t)threadIdx.x; i < m; i += HC_SVD_THREADS) {
        T rest = 1;
        for (int32_t k = 0; k < known; k++) {
            rest -= u[(int64_t)k * m + i].square();
        }
        left[i] = rest;
    }
    for (; known < n; known++) {
        Element *out = u + (int64_t)known * m;
        __syncthreads();
        T most = -1;
        int32_t axis = 0;
        for (int32_t i = (int32_t)threadIdx.x; i < m; i += HC_SVD_THREADS) {
            if (left[i] > most) {
                most = left[i];
                axis = i;
            }
        }
#pragma unroll
        for (int mask = 16; mask > 0; mask /= 2) {
            T other = __shfl_xor_sync(~0U, most, mask);
            int32_t at = __shfl_xor_sync(~0U, axis, mask);
            if (other > most || (other == most && at < axis)) {
                most = other;
                axis = at;
            }
        }
        if (lane == 0) {
            best[warp] = most;
            best_at[warp] = axis;
        }
        __syncthreads();
        axis = best_at[0];
        most = best[0];
        for (int k = 1; k < warps; k++) {
            if (best[k] > most || (best[k] == most && best_at[k] < axis)) {
                most = best[k];
                axis = best_at[k];
            }
        }
        for (int32_t i = (int32_t)threadIdx.x; i < m; i += HC_SVD_THREADS) {
            out[i] = Element::of(i == axis ? T(1) : T(0), 0);
        }
        __syncthreads();
        for (int pass = 0; pass < 3; pass++) {
            for (int32_t first = 0; first < known; first += HC_SVD_THREADS) {
                int32_t end = known - first < HC_SVD_THREADS ? known - first : HC_SVD_THREADS;
                for (int32_t k = warp; k < end; k += warps) {
                    const Element *other = u + (int64_t)(first + k) * m;
                    Element sum = Element::of(0, 0);
                    for (int32_t i = lane; i < m; i += 32) {
                        sum = sum.plus(other[i].conj(), out[i]);
                    }
                    sum = sum.over_warp();
                    if (lane == 0) {
                        part[k] = sum.times(T(-1));
                    }
                }
                __syncthreads();
                for (int32_t i = (int32_t)threadIdx.x; i < m; i += HC_SVD_THREADS) {
                    Element x = out[i];
                    for (int32_t k = 0; k < end; k++) {
                        x = x.plus(part[k], u[(int64_t)(first + k) * m + i]);
                    }
                    out[i] = x;
                }
                __syncthreads();
            }
        }
        T square = 0;
        for (int32_t i = lane; i < m; i += 32) {
            square += out[i].square();
        }
        T factor = T(1) / sqrt(hc_sum_of_warp(square));
        __syncthreads();
        for (int32_t i = (int32_t)threadIdx.x; i < m; i += HC_SVD_THREADS) {
            out[i] = out[i].times(factor);
            left[i] -= out[i].square();
        }
    }
}

#endif
