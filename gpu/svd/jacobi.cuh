/* Singular value decompositions of small matrices by one-sided Jacobi rotations (Li, Yan, Hou: batched small
 * SVD), up to SIDE x SIDE, with everything in registers: a lane holds rows of the matrix (up to four) and of
 * V, which collects the rotations. Rounds of
 * disjoint pairs of columns follow the odd-even order of Luk and Park (1989), in which neighbours meet and
 * change places: it meets all pairs as Brent and Luk's (1985) round-robin does, and registers stay where they
 * are. In a round
 *   1. a tree over the lanes sums the products of all pairs, so that each lane has those of one pair,
 *   2. each lane finds the rotation of its pair, from the squared norms that it keeps,
 *   3. all lanes read all rotations and turn their rows.
 * A turn by the angle a is three shears, by tan(a/2), sin(a) and tan(a/2) again: three multiply-adds whose
 * errors vanish with the angle. */
#ifndef HC_GPU_SVD_JACOBI_CUH
#define HC_GPU_SVD_JACOBI_CUH

#include "gpu/svd/row.cuh"

/* ---- in and out ---- */

/* Row `i` of a matrix of the job, unscaled; the largest magnitude in it, NaN and infinity as infinity. */
template <typename T, bool COMPLEX, int SIDE>
__device__ static inline T hc_load_row(const HcSvdJob<T> &job, int64_t matrix, int32_t i,
                                       HcRow<T, COMPLEX, SIDE> &row) {
    constexpr int PARTS = COMPLEX ? 2 : 1;
    row.clear();
    T most = 0;
    if (matrix >= job.count || i >= job.rows) {
        return most;
    }
    const T *from = job.source + PARTS * (matrix * job.source_matrix + i * job.source_row);
#pragma unroll
    for (int k = 0; k < SIDE; k++) {
        if (k < job.columns) {
            const T *at = from + PARTS * (k * job.source_column);
            row.re[k] = at[0];
            T size = fabs(at[0]);
            if (COMPLEX) {
                row.im[k] = job.conjugate ? -at[1] : at[1];
                size = fmax(size, fabs(at[1]));
                size = at[1] != at[1] ? at[1] : size;
            }
            most = size > most || size != size ? size : most;
            most = at[0] != at[0] || most != most ? T(INFINITY) : most;
        }
    }
    return most;
}

/* Brings the largest magnitude of a matrix to about 2^top: by a power of two, in two steps that do not
 * overflow.
 */
template <typename T, bool COMPLEX, int SIDE>
__device__ static inline void hc_scale_row(HcRow<T, COMPLEX, SIDE> &row, int exponent) {
    T half = scalbn(T(1), exponent / 2);
    T rest = scalbn(T(1), exponent - exponent / 2);
#pragma unroll
    for (int k = 0; k < SIDE; k++) {
        row.re[k] = row.re[k] * half * rest;
        if (COMPLEX) {
            row.im[k] = row.im[k] * half * rest;
        }
    }
}

/* What the end of a matrix needs to know of its columns; in shared memory. */
template <typename T, int SIDE> struct HcColumns {
    T square[SIDE];  /* squared norms, then 1 / norm */
    int place[SIDE]; /* in descending order, lower numbers first among equal ones */
};

/* The place of a column; among equal ones numbers count, which run from the right where they are `turned`. */
template <typename T, int SIDE>
__device__ static inline int hc_place_of(const HcColumns<T, SIDE> &columns, int column, bool turned) {
    T mine = columns.square[column];
    int place = 0;
    for (int k = 0; k < SIDE; k++) {
        T other = columns.square[k];
        place += other > mine || (other == mine && (turned ? k > column : k < column));
    }
    return place;
}

/* Writes a row of the left or right vectors: entry `i` of each vector. */
template <typename T, bool COMPLEX, int SIDE>
__device__ static inline void hc_store_row(const HcSvdVectors<T> &to, int64_t matrix, int32_t i,
                                           int32_t count, const HcRow<T, COMPLEX, SIDE> &row,
                                           const HcColumns<T, SIDE> &columns, bool normalise, bool finite) {
    constexpr int PARTS = COMPLEX ? 2 : 1;
    T *out = to.data + PARTS * (matrix * to.matrix + i);
#pragma unroll
    for (int k = 0; k < SIDE; k++) {
        int place = columns.place[k];
        if (place < count) {
            T factor = finite ? (normalise ? columns.square[k] : T(1)) : hc_not_a_number(T());
            T *at = out + PARTS * (place * to.vector);
            at[0] = fma(row.re[k], factor, T(0)); /* no -0: it may come and go with what is not turned */
            if (COMPLEX) {
                at[1] = fma(row.im[k], factor, T(0));
            }
        }
    }
}

/* The value of a column, and 1 / norm of its scaled form. */
template <typename T> __device__ static inline T hc_finish_column(T square, int exponent, T &reciprocal) {
    bool zero = !(square >= HcSvdScale<T>::tiny());
    T norm = zero ? T(0) : sqrt(square);
    reciprocal = zero ? T(0) : T(1) / norm;
    return ldexp(norm, exponent);
}

/* Lanes of a team, or threads of a block. */
template <bool BLOCK> __device__ static inline void hc_meet() {
    if (BLOCK) {
        __syncthreads();
    } else {
        __syncwarp();
    }
}

/* Values in descending order, from the squared norms of each lane's pair, and where the columns go. */
template <bool BLOCK, typename T, bool COMPLEX, int SIDE>
__device__ static inline void hc_order_columns(const HcSvdJob<T> &job, int64_t matrix, int lane, int exponent,
                                               bool finite, bool turned, const HcPair<T, COMPLEX> &pair,
                                               HcColumns<T, SIDE> &columns) {
    bool takes_part = lane < SIDE / 2;
    if (takes_part) {
        columns.square[2 * lane] = pair.left;
        columns.square[2 * lane + 1] = pair.right;
    }
    hc_meet<BLOCK>();
    int place[2] = {0, 0};
    if (takes_part) {
        place[0] = hc_place_of(columns, 2 * lane, turned);
        place[1] = hc_place_of(columns, 2 * lane + 1, turned);
    }
    hc_meet<BLOCK>();
    if (takes_part) {
        exponent = (job.exponent != NULL && matrix < job.count ? job.exponent[matrix] : 0) - exponent;
#pragma unroll
        for (int k = 0; k < 2; k++) {
            int column = 2 * lane + k;
            T value = hc_finish_column(k == 0 ? pair.left : pair.right, exponent, columns.square[column]);
            columns.place[column] = place[k];
            if (job.record.places != NULL) {
                job.record.places[matrix * SIDE + column] = place[k];
            }
            if (matrix < job.count && job.values != NULL && place[k] < job.columns) {
                job.values[matrix * job.columns + place[k]] = finite ? value : hc_not_a_number(T());
            }
        }
    }
    hc_meet<BLOCK>();
}

/* ---- both matrices in one warp ---- */

/* Rows of the matrix (KNOWN of them a lane) and of V in the same lanes; or BESIDE each other, which takes
 * twice as many lanes and less time: for batches that do not fill the device. TEAM: lanes with rows of the
 * matrix. Where it is less than the side, each has two rows of V, and two matrices share the sums of a warp.
 */
template <typename T, bool COMPLEX, int SIDE, bool BESIDE, int KNOWN, int TEAM> struct HcTogether {
    static constexpr int pairs = SIDE <= 8 ? 4 : SIDE <= 16 ? 8 : 16; /* a power of two */
    static constexpr int team = TEAM;
    static constexpr int own = (SIDE + team - 1) / team; /* rows of V a lane */
    static constexpr int lanes = BESIDE ? 2 * team : team;
    static constexpr int threads = 128;
    static constexpr int matrices = threads / lanes;                            /* of a block */
    static constexpr int words = SIDE * (int)sizeof(T) * (COMPLEX ? 2 : 1) / 4; /* registers of a row */
    static constexpr int rows = words * (KNOWN + own);                          /* their registers */
    static constexpr int blocks = rows <= 32 ? 6 : rows <= 64 ? 4 : rows <= 96 ? 3 : 2; /* on a processor */
    static_assert(lanes <= 32, "a matrix lies in one warp");
    static_assert(pairs <= team && (!BESIDE || (KNOWN == 1 && own == 1)), "each lane has all its rows");
};

/* A round: finds the rotations, and turns the rows of the lane, the matrix first. */
template <int ODD, int KNOWN, typename T, bool COMPLEX, int SIDE, int PAIRS, int TEAM, int ROWS>
__device__ static inline void hc_together_round(const HcSvdJob<T> &job, HcRow<T, COMPLEX, SIDE> (&row)[ROWS],
                                                int lane, bool knows, bool frozen, HcPair<T, COMPLEX> &pair,
                                                bool &turned, HcTurn<T, COMPLEX> (&turns)[2][PAIRS]) {
    T real, imaginary;
    hc_pair_product<ODD, T, COMPLEX, SIDE, PAIRS, TEAM, KNOWN>(row, lane, real, imaginary);
    HcTurn<T, COMPLEX> turn =
        pair.find(real, imaginary, job.tolerance, lane % PAIRS < SIDE / 2 - ODD, frozen);
    bool turns_here = knows && pair.turns;
    turned = turned || turns_here;
    if (knows && lane % TEAM < PAIRS) {
        turns[ODD][lane % TEAM] = turn;
    }
    bool any = __any_sync(~0U, turns_here);
    __syncwarp();
    if (any) { /* outside of the loop: all rows take the turns that are read once */
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            row[r].template turn<ODD>(turns[ODD]);
        }
    } else {
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            row[r].template swap<ODD>();
        }
    }
}

template <typename T, bool COMPLEX, int SIDE, bool BESIDE, int KNOWN, int TEAM>
__global__ void __launch_bounds__(HcTogether<T, COMPLEX, SIDE, BESIDE, KNOWN, TEAM>::threads,
                                  HcTogether<T, COMPLEX, SIDE, BESIDE, KNOWN, TEAM>::blocks)
    hc_svd_together(HcSvdJob<T> job) {
    typedef HcTogether<T, COMPLEX, SIDE, BESIDE, KNOWN, TEAM> Together;
    constexpr int PAIRS = Together::pairs;
    constexpr int OWN = Together::own;
    constexpr int ROWS = BESIDE ? 1 : KNOWN + OWN;
    __shared__ HcTurn<T, COMPLEX> turns[Together::matrices][2][PAIRS];
    __shared__ HcColumns<T, SIDE> columns[Together::matrices];
    int lane = (int)threadIdx.x % 32;
    int in_team = lane % TEAM; /* its row */
    int own = (int)threadIdx.x / Together::lanes;
    bool knows = !BESIDE || lane % Together::lanes < TEAM; /* it has a row of the matrix */
    int64_t matrix = (int64_t)blockIdx.x * Together::matrices + own;
    bool is_there = matrix < job.count;

    HcRow<T, COMPLEX, SIDE> row[ROWS];
    HcRow<T, COMPLEX, SIDE> *v = &row[ROWS - OWN];
    T most = 0;
#pragma unroll
    for (int r = 0; r < KNOWN; r++) { /* lanes of V look too, to know how large it is */
        most = fmax(most, hc_load_row(job, matrix, in_team + TEAM * r, row[r]));
    }
    most = hc_most_of_team<TEAM>(most);
    bool finite = most <= HcSvdLimits<T>::largest();
    int exponent = most > 0 && finite && !job.scaled ? HcSvdScale<T>::top - ilogb(most) : 0;
#pragma unroll
    for (int r = 0; r < KNOWN; r++) {
        if (!finite) {
            row[r].clear();
        }
        hc_scale_row(row[r], exponent);
    }
#pragma unroll
    for (int r = 0; r < OWN; r++) {
        if (!BESIDE || !knows) {
            v[r].clear();
#pragma unroll
            for (int k = 0; k < SIDE; k++) {
                v[r].re[k] = k == in_team + TEAM * r ? T(1) : T(0);
            }
        }
    }

    HcPair<T, COMPLEX> pair;
    bool frozen = !is_there;
    int sweeps = 0;
    int all_sweeps = 0;
    while (all_sweeps < job.sweeps_most) {
        bool turned = false;
        T first = 0;
        pair.cosine2 = pair.sine2 = 0;
        hc_square_norms<T, COMPLEX, SIDE, PAIRS, TEAM, KNOWN>(row, lane, pair.left, pair.right);
        for (int round = 0; round < SIDE / 2; round++) {
            hc_together_round<0, KNOWN, T, COMPLEX, SIDE, PAIRS, TEAM>(job, row, lane, knows, frozen, pair,
                                                                       turned, turns[own]);
            hc_to_odd<PAIRS>(pair, lane, first);
            hc_together_round<1, KNOWN, T, COMPLEX, SIDE, PAIRS, TEAM>(job, row, lane, knows, frozen, pair,
                                                                       turned, turns[own]);
            hc_to_even<PAIRS>(pair, lane, first);
        }
        all_sweeps++;
        sweeps += !frozen;
        /* Each of the turns that follow in a sweep changes a cosine by less than the product of the largest
         * ones. Where even all together leave it small, no further sweep would turn. */
        pair.cosine2 = hc_most_of_team<PAIRS>(pair.cosine2);
        pair.sine2 = hc_most_of_team<PAIRS>(fmax(pair.sine2, pair.cosine2));
        turned = turned && !(4 * SIDE * SIDE * pair.cosine2 * pair.sine2 < job.tolerance * job.tolerance);
        bool any_turned = hc_any_of_team<Together::lanes>(turned, lane); /* all lanes must ask */
        frozen = frozen || !any_turned;
        if (__all_sync(~0U, frozen)) {
            break;
        }
    }

    hc_square_norms<T, COMPLEX, SIDE, PAIRS, TEAM, KNOWN>(row, lane, pair.left, pair.right);
    hc_order_columns<false>(job, matrix, lane % Together::lanes, exponent, finite, all_sweeps % 2 != 0, pair,
                            columns[own]);
#pragma unroll
    for (int r = 0; r < KNOWN; r++) {
        int32_t i = in_team + TEAM * r;
        if (is_there && knows && job.u.data != NULL && i < job.rows) {
            hc_store_row(job.u, matrix, i, job.columns, row[r], columns[own], true, finite);
        }
    }
#pragma unroll
    for (int r = 0; r < OWN; r++) {
        int32_t i = in_team + TEAM * r;
        if (is_there && (!BESIDE || !knows) && job.v.data != NULL && i < job.columns) {
            hc_store_row(job.v, matrix, i, job.columns, v[r], columns[own], false, finite);
        }
    }
    if (is_there && lane % Together::lanes == 0) {
        hc_report_end(job, matrix, sweeps, frozen, finite);
    }
}

/* ---- a warp or two for each of both matrices ---- */

/* ROWS rows a lane; the warps after those of the matrix hold V, and are left out where V is not wanted. */
template <typename T, bool COMPLEX, int SIDE, int ROWS> struct HcApart {
    static constexpr int pairs = SIDE <= 32 ? 16 : 32;
    static constexpr int warps = (SIDE + 32 * ROWS - 1) / (32 * ROWS); /* of the matrix */
    static constexpr int threads = 64 * warps;
};

template <typename T, bool COMPLEX, int PAIRS> struct HcApartShared {
    HcTurn<T, COMPLEX> turns[2][PAIRS]; /* of even and of odd rounds */
    T parts[2][2][2][32];               /* of even and of odd rounds, real and imaginary, by warp: sums */
    T squares[2][2][32];                /* left and right, by warp */
    T most[4];
    int changes[2];
    int more;
};

/* Sums over both warps of the matrix, in their order, for all threads of the block. */
template <int WARPS, typename T>
__device__ static inline void hc_sum_of_warps(T (&parts)[2][2][32], int warp, int lane, T &a, T &b) {
    if constexpr (WARPS == 2) {
        if (warp < WARPS) {
            parts[0][warp][lane] = a;
            parts[1][warp][lane] = b;
        }
        __syncthreads();
        a = parts[0][0][lane] + parts[0][1][lane];
        b = parts[1][0][lane] + parts[1][1][lane];
    }
}

template <int ODD, typename T, bool COMPLEX, int SIDE, int ROWS, int PAIRS>
__device__ static inline void hc_apart_round(const HcSvdJob<T> &job, HcRow<T, COMPLEX, SIDE> (&row)[ROWS],
                                             int warp, int lane, int round, HcPair<T, COMPLEX> &pair,
                                             bool &turned, HcApartShared<T, COMPLEX, PAIRS> &shared) {
    constexpr int WARPS = HcApart<T, COMPLEX, SIDE, ROWS>::warps;
    T real = 0;
    T imaginary = 0;
    if (warp < WARPS) {
        hc_pair_product<ODD, T, COMPLEX, SIDE, PAIRS, 32, ROWS>(row, lane, real, imaginary);
    }
    hc_sum_of_warps<WARPS>(shared.parts[ODD], warp, lane, real, imaginary);
    if (warp < WARPS) {
        int number = lane % PAIRS;
        HcTurn<T, COMPLEX> turn = pair.find(real, imaginary, job.tolerance, number < SIDE / 2 - ODD, false);
        turned = turned || pair.turns;
        int any = __any_sync(~0U, pair.turns);
        if (warp == 0 && lane < PAIRS) {
            int64_t at = (int64_t)blockIdx.x * job.sweeps_most * SIDE + 2 * round + ODD;
            shared.turns[ODD][lane] = turn;
            if (job.record.turns != NULL) {
                ((HcTurn<T, COMPLEX> *)job.record.turns)[at * PAIRS + lane] = turn;
            }
            if (lane == 0) {
                shared.changes[ODD] = any;
            }
            if (lane == 0 && job.record.turns != NULL) {
                job.record.changes[at] = (uint8_t)any;
            }
        }
    }
    __syncthreads();
    bool changes = shared.changes[ODD] != 0;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (changes) {
            row[r].template turn<ODD>(shared.turns[ODD]);
        } else {
            row[r].template swap<ODD>();
        }
    }
}

template <typename T, bool COMPLEX, int SIDE, int ROWS>
__global__ void __launch_bounds__(HcApart<T, COMPLEX, SIDE, ROWS>::threads) hc_svd_apart(HcSvdJob<T> job) {
    typedef HcApart<T, COMPLEX, SIDE, ROWS> Apart;
    constexpr int PAIRS = Apart::pairs;
    constexpr int WARPS = Apart::warps;
    __shared__ HcApartShared<T, COMPLEX, PAIRS> shared;
    __shared__ HcColumns<T, SIDE> columns;
    int lane = (int)threadIdx.x % 32;
    int warp = (int)threadIdx.x / 32;
    bool is_matrix = warp < WARPS;
    int64_t matrix = blockIdx.x;
    if (job.done != NULL && job.done[matrix / job.shared_by] != 0) {
        return;
    }

    HcRow<T, COMPLEX, SIDE> row[ROWS];
    T most = 0;
    int32_t in_matrix = (warp % WARPS) * 32 * ROWS + lane; /* of the first row; the next are 32 further on */
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (is_matrix) {
            most = fmax(most, hc_load_row(job, matrix, in_matrix + 32 * r, row[r]));
        } else {
            row[r].clear();
#pragma unroll
            for (int k = 0; k < SIDE; k++) {
                row[r].re[k] = k == in_matrix + 32 * r ? T(1) : T(0);
            }
        }
    }
    most = hc_most_of_team<32>(most);
    if (is_matrix && lane == 0) {
        shared.most[warp] = most;
    }
    __syncthreads();
    most = WARPS == 2 ? fmax(shared.most[0], shared.most[1]) : shared.most[0];
    bool finite = most <= HcSvdLimits<T>::largest();
    int exponent = most > 0 && finite && !job.scaled ? HcSvdScale<T>::top - ilogb(most) : 0;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (is_matrix && !finite) {
            row[r].clear();
        } else if (is_matrix) {
            hc_scale_row(row[r], exponent);
        }
    }

    HcPair<T, COMPLEX> pair = {};
    bool more = true;
    int sweeps = 0;
    T first = 0;
    while (more && sweeps < job.sweeps_most) {
        bool turned = false;
        if (is_matrix) {
            hc_square_norms<T, COMPLEX, SIDE, PAIRS, 32, ROWS>(row, lane, pair.left, pair.right);
        }
        hc_sum_of_warps<WARPS>(shared.squares, warp, lane, pair.left, pair.right);
        for (int round = sweeps * SIDE / 2; round < (sweeps + 1) * SIDE / 2; round++) {
            hc_apart_round<0>(job, row, warp, lane, round, pair, turned, shared);
            if (is_matrix) {
                hc_to_odd<PAIRS>(pair, lane, first);
            }
            hc_apart_round<1>(job, row, warp, lane, round, pair, turned, shared);
            if (is_matrix) {
                hc_to_even<PAIRS>(pair, lane, first);
            }
        }
        sweeps++;
        if (is_matrix) {
            int any = __any_sync(~0U, turned);
            if (threadIdx.x == 0) {
                shared.more = any;
            }
        }
        __syncthreads();
        more = shared.more != 0;
    }

    if (is_matrix) {
        hc_square_norms<T, COMPLEX, SIDE, PAIRS, 32, ROWS>(row, lane, pair.left, pair.right);
    }
    hc_sum_of_warps<WARPS>(shared.squares, warp, lane, pair.left, pair.right);
    hc_order_columns<true>(job, matrix, (int)threadIdx.x, exponent, finite, sweeps % 2 != 0, pair, columns);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        int32_t i = in_matrix + 32 * r;
        if (is_matrix && job.u.data != NULL && i < job.rows) {
            hc_store_row(job.u, matrix, i, job.columns, row[r], columns, true, finite);
        } else if (!is_matrix && job.v.data != NULL && i < job.columns) {
            hc_store_row(job.v, matrix, i, job.columns, row[r], columns, false, finite);
        }
    }
    if (threadIdx.x == 0) {
        hc_report_end(job, matrix, sweeps, !more, finite);
    }
}

#endif
