/* The least-squares problems of working sets (core/solver/working.h, cpu/unmix/working.c): a warp takes the
 * steps of a pixel on at most 8 SIDE spectra, a lane one of each 32. Matrices of a set lie in tiles of 8 x 8:
 * lane 4 g + t holds row g, columns 2t and 2t + 1 of each tile of the lower triangle. */
#ifndef HC_GPU_UNMIX_WORKING_TABLE_CUH
#define HC_GPU_UNMIX_WORKING_TABLE_CUH

#include "core/solver/working.h"
#include "gpu/unmix/metric.cuh"

/* Parts of 32 places of a set, in each of which a lane has one. */
__host__ __device__ static constexpr int working_parts(int side) {
    return (side + 3) / 4;
}

/* What a warp keeps in shared memory. */
template <int SIDE> struct HcWorkingShared {
    double vector[2][32 * working_parts(SIDE)];
    double pivot[2][4];
    int32_t number[8 * SIDE];                   /* of the spectra of the set */
    uint32_t inside[HC_UNMIX_SPECTRA_MAX / 32]; /* a bit a spectrum: those of the set */
};

/* A warp's own; M is the metric among the spectra of the set, and units are the level of the metric. */
template <int SIDE> struct HcWorking {
    enum { PARTS = working_parts(SIDE), TILES = SIDE * (SIDE + 1) / 2 };
    HcWorkingShared<SIDE> *shared;
    double table[TILES][2]; /* M, swept on the members */
    int32_t count;
    uint32_t member[PARTS];
    uint32_t pending[PARTS]; /* those that are to become members, or no longer to be some */
    double x[PARTS];         /* abundances */
    double turned[PARTS];    /* M x */
    double product[PARTS];   /* D W y - lambda [units] */
    double swept[PARTS];     /* b, as a column that is swept with the table */
    double swept_one[PARTS]; /* the same of ones */
};

/* The bits of places below the count. */
__device__ static inline uint32_t working_places(int32_t count, int part) {
    int32_t left = count - 32 * part;
    return left >= 32 ? 0xFFFFFFFFU : left <= 0 ? 0 : (1U << left) - 1;
}

__device__ static inline bool working_bit(uint32_t bits) {
    return (bits >> hc_lane() & 1) != 0;
}

/* A matrix of a set in shared memory, a tile of every lane's own. */
template <int SIDE> struct HcWorkingMatrix { double2 tile[SIDE * (SIDE + 1) / 2][32]; };

template <int SIDE>
__device__ static inline void working_store(const HcWorking<SIDE> &working, HcWorkingMatrix<SIDE> *matrix) {
#pragma unroll
    for (int i = 0; i < SIDE * (SIDE + 1) / 2; i++) {
        matrix->tile[i][hc_lane()] = make_double2(working.table[i][0], working.table[i][1]);
    }
}

/* product = a symmetric matrix times right; `at(i)` is its tile i. */
template <int SIDE, typename At>
__device__ static inline void working_multiply(HcWorkingShared<SIDE> *shared, At at,
                                               const double (&right)[working_parts(SIDE)],
                                               double (&product)[working_parts(SIDE)]) {
    int g = hc_lane() / 4;
    int t = hc_lane() % 4;
    double *from = shared->vector[0];
    double *to = shared->vector[1];
    double row[4 * working_parts(SIDE)] = {};
    double column[4 * working_parts(SIDE)][2] = {}; /* of the tiles above the diagonal */
    __syncwarp();
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        from[32 * v + hc_lane()] = right[v];
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        double here = from[8 * i + g];
#pragma unroll
        for (int j = 0; j <= i; j++) {
            double2 tile = at(metric_tile(i, j));
            double2 two = *(const double2 *)&from[8 * j + 2 * t];
            row[i] = fma(tile.x, two.x, row[i]);
            row[i] = fma(tile.y, two.y, row[i]);
            if (j < i) {
                column[j][0] = fma(tile.x, here, column[j][0]);
                column[j][1] = fma(tile.y, here, column[j][1]);
            }
        }
    }
    /* Of each 32, lane 4 g + t is left with row 8 t + g, and with column g % 2 of block g / 2. */
    double columns[working_parts(SIDE)];
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        int i = 4 * v;
        double low = metric_fold(metric_fold(column[i][0], column[i][1], 4),
                                 metric_fold(column[i + 1][0], column[i + 1][1], 4), 8);
        double high = metric_fold(metric_fold(column[i + 2][0], column[i + 2][1], 4),
                                  metric_fold(column[i + 3][0], column[i + 3][1], 4), 8);
        columns[v] = metric_fold(low, high, 16);
        to[32 * v + 8 * t + g] =
            metric_fold(metric_fold(row[i], row[i + 1], 1), metric_fold(row[i + 2], row[i + 3], 1), 2);
    }
    __syncwarp();
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        to[32 * v + 8 * (g / 2) + 2 * t + g % 2] += columns[v];
    }
    __syncwarp();
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        product[v] = to[32 * v + hc_lane()];
    }
}

template <int SIDE>
__device__ static inline void working_multiply_table(const HcWorking<SIDE> &working,
                                                     const double (&right)[working_parts(SIDE)],
                                                     double (&product)[working_parts(SIDE)]) {
    working_multiply<SIDE>(
        working.shared, [&](int i) { return make_double2(working.table[i][0], working.table[i][1]); }, right,
        product);
}

/* Takes row and column c out of the table, c in block BLOCK or a later one: the column goes to a vector, but
 * -sign in place of the pivot, which goes to *pivot. In the table they become 0. (A loop over blocks would
 * let the compiler compute which tiles these are, which would leave registers.) */
template <int SIDE, int BLOCK>
__device__ static inline void working_take_column(HcWorking<SIDE> &working, int c, double sign,
                                                  double *vector, double *pivot) {
    if (BLOCK + 1 < SIDE && c / 8 != BLOCK) {
        working_take_column<SIDE, BLOCK + 1 < SIDE ? BLOCK + 1 : BLOCK>(working, c, sign, vector, pivot);
        return;
    }
    int g = hc_lane() / 4;
    int t = hc_lane() % 4;
    bool is_row = g == c % 8;
    bool is_even = t == c % 8 / 2 && c % 2 == 0;
    bool is_odd = t == c % 8 / 2 && c % 2 == 1;
#pragma unroll
    for (int j = 0; j < BLOCK; j++) {
        double *tile = working.table[metric_tile(BLOCK, j)];
        if (is_row) {
            *(double2 *)&vector[8 * j + 2 * t] = make_double2(tile[0], tile[1]);
            tile[0] = tile[1] = 0;
        }
    }
#pragma unroll
    for (int i = BLOCK; i < SIDE; i++) {
        double *tile = working.table[metric_tile(i, BLOCK)];
        double even = tile[0];
        double odd = tile[1];
        if (is_even || is_odd) {
            double value = is_odd ? odd : even;
            if (i == BLOCK && is_row) {
                *pivot = value;
                value = -sign;
            }
            vector[8 * i + g] = value;
        }
        tile[0] = is_even || (i == BLOCK && is_row) ? 0 : even;
        tile[1] = is_odd || (i == BLOCK && is_row) ? 0 : odd;
    }
}

/* Sweeps pivot c into (sign 1) or out of (-1) the table: M_rs - M_rc M_cs / M_cc; in row and column c,
 * sign M_rc / M_cc; -1 / M_cc (Beaton 1964). `turn` alternates between two
 * vectors, so that no lane waits for those that still read. */
template <int SIDE>
__device__ static inline void working_sweep(HcWorking<SIDE> &working, int c, double sign, int turn) {
    int g = hc_lane() / 4;
    int t = hc_lane() % 4;
    double *vector = working.shared->vector[turn];
    double *pivot = working.shared->pivot[turn];
    working_take_column<SIDE, 0>(working, c, sign, vector, pivot);
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        if (32 * v + hc_lane() == c) {
            pivot[1] = working.swept[v];
            pivot[2] = working.swept_one[v];
            working.swept[v] = working.swept_one[v] = 0;
        }
    }
    __syncwarp();
    double inverse = 1 / pivot[0];
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        double factor = -vector[32 * v + hc_lane()] * inverse;
        working.swept[v] = fma(factor, pivot[1], working.swept[v]);
        working.swept_one[v] = fma(factor, pivot[2], working.swept_one[v]);
    }
    double column[SIDE][2];
#pragma unroll
    for (int j = 0; j < SIDE; j++) {
        double2 two = *(const double2 *)&vector[8 * j + 2 * t];
        column[j][0] = two.x;
        column[j][1] = two.y;
    }
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        double factor = -vector[8 * i + g] * inverse;
#pragma unroll
        for (int j = 0; j <= i; j++) {
            double *tile = working.table[metric_tile(i, j)];
            tile[0] = fma(factor, column[j][0], tile[0]);
            tile[1] = fma(factor, column[j][1], tile[1]);
        }
    }
}

template <int SIDE> __device__ static inline void working_exchange(HcWorking<SIDE> &working) {
    int turn = 0;
    __syncwarp();
#pragma unroll 1
    for (int v = 0; v < working_parts(SIDE); v++) {
        /* Members by a number that is known when the kernel is compiled stay in registers. */
        uint32_t bits = working.pending[0];
        uint32_t members = working.member[0];
#pragma unroll
        for (int u = 1; u < working_parts(SIDE); u++) {
            bits = v == u ? working.pending[u] : bits;
            members = v == u ? working.member[u] : members;
        }
#pragma unroll 1
        for (; bits != 0; bits &= bits - 1) {
            int place = __ffs((int)bits) - 1;
            working_sweep(working, 32 * v + place, (members >> place & 1) != 0 ? -1.0 : 1.0, turn);
            turn ^= 1;
        }
    }
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        working.member[v] ^= working.pending[v];
        working.pending[v] = 0;
    }
}

/* With sum_to_one: what every entry of b loses. */
template <int SIDE> __device__ static inline double working_find_level(const HcWorking<SIDE> &working) {
    double sum = 0;
    double ones = 0;
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        bool is_member = working_bit(working.member[v]);
        sum += is_member ? working.swept[v] : 0;
        ones += is_member ? working.swept_one[v] : 0;
    }
    return (hc_warp_sum(sum) - 1) / hc_warp_sum(ones);
}

template <int SIDE> __device__ static inline bool working_any_member(const HcWorking<SIDE> &working) {
    uint32_t any = 0;
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        any |= working.member[v] ^ working.pending[v];
    }
    return any != 0;
}

/* The place of the largest b becomes a member. */
template <int SIDE>
__device__ static inline void working_take_largest(HcWorking<SIDE> &working,
                                                   const double (&b)[working_parts(SIDE)]) {
    double most = -INFINITY;
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        most = 32 * v + hc_lane() < working.count && b[v] > most ? b[v] : most;
    }
    most = hc_warp_most(most);
    bool is_found = false;
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        uint32_t in = __ballot_sync(0xFFFFFFFFU, 32 * v + hc_lane() < working.count && b[v] >= most) &
                      ~working.member[v];
        working.pending[v] = is_found ? 0 : in & (0U - in);
        is_found = is_found || in != 0;
    }
}

/* Of those that are to become members, those that would lower the function most, at most HC_WORKING_ENTER. */
template <int SIDE>
__device__ static inline void working_keep_worst(HcWorking<SIDE> &working,
                                                 const double (&value)[working_parts(SIDE)]) {
    uint32_t left[working_parts(SIDE)]; /* by float32, ascending as an integer; of equal ones the first */
    uint32_t kept[working_parts(SIDE)] = {};
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        bool is_entering = working_bit(working.pending[v] & ~working.member[v]);
        left[v] = is_entering ? max(__float_as_uint((float)-value[v]), 1U) : 0;
    }
#pragma unroll
    for (int i = 0; i < HC_WORKING_ENTER; i++) {
        uint32_t most = left[0];
#pragma unroll
        for (int v = 1; v < working_parts(SIDE); v++) {
            most = max(most, left[v]);
        }
        most = hc_warp_largest(most);
        bool is_found = most == 0;
#pragma unroll
        for (int v = 0; v < working_parts(SIDE); v++) {
            uint32_t in = __ballot_sync(0xFFFFFFFFU, left[v] == most);
            uint32_t first = is_found ? 0 : in & (0U - in);
            kept[v] |= first;
            left[v] = working_bit(first) ? 0 : left[v];
            is_found = is_found || in != 0;
        }
    }
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        working.pending[v] &= working.member[v] | kept[v];
    }
}

/* x >= 0, with the sum to one where that is asked for, that makes 1/2 x'M x - b'x least; turned = M x. No
 * spectrum is a member yet. Block pivoting (Kim and Park 2011), the largest place alone (Murty 1974) where
 * that does not help. */
template <int SIDE>
__device__ static inline void working_nearest(const HcUnmixLibrary &library, HcWorking<SIDE> &working,
                                              const double (&b)[working_parts(SIDE)],
                                              double (&x)[working_parts(SIDE)],
                                              double (&turned)[working_parts(SIDE)]) {
    double value[working_parts(SIDE)];
    double level = 0;
    int32_t best = working.count + 1;
    int32_t tries = HC_WORKING_TRIES;
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        working.swept[v] = b[v];
        working.swept_one[v] = 1;
    }
#pragma unroll 1
    for (int pass = 0; pass < HC_WORKING_PASSES; pass++) {
        if (library.rule.sum_to_one && !working_any_member(working)) {
            working_take_largest(working, b);
        }
        working_exchange(working);
        level = library.rule.sum_to_one ? working_find_level(working) : 0;
        int32_t count = 0;
#pragma unroll
        for (int v = 0; v < working_parts(SIDE); v++) {
            bool is_member = working_bit(working.member[v]);
            double solved = fma(-level, working.swept_one[v], working.swept[v]);
            value[v] = is_member ? solved : -solved;
            double least = is_member ? 0 : -HC_WORKING_ROUNDING * fabs(b[v]);
            working.pending[v] =
                __ballot_sync(0xFFFFFFFFU, value[v] < least) & working_places(working.count, v);
            count += __popc(working.pending[v]);
        }
        if (count == 0) {
            break;
        }
        bool is_alone = count >= best && tries <= 0;
        if (!is_alone) {
            working_keep_worst(working, value);
        }
        tries = count < best ? HC_WORKING_TRIES : tries - 1;
        best = count < best ? count : best;
#pragma unroll
        for (int v = working_parts(SIDE) - 1; v >= 0; v--) {
            uint32_t last = working.pending[v] != 0 ? 0x80000000U >> __clz((int)working.pending[v]) : 0;
            working.pending[v] = !is_alone ? working.pending[v] : count > 0 ? last : 0;
            count = is_alone && last != 0 ? 0 : count;
        }
    }
    double sum = 0;
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        bool is_member = working_bit(working.member[v]);
        x[v] = is_member && value[v] > 0 ? value[v] : 0;
        turned[v] = b[v] - level + (is_member ? 0 : value[v]);
        sum += x[v];
    }
    if (library.rule.sum_to_one) {
        sum = hc_warp_sum(sum);
#pragma unroll
        for (int v = 0; v < working_parts(SIDE); v++) {
            x[v] = sum > 0 ? x[v] / sum : x[v];
        }
    }
}

#endif
