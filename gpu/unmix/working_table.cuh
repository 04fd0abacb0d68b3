/* The least-squares problems of working sets (core/solver/working.h, cpu/unmix/working.c): a warp takes the
 * steps of a pixel on at most 8 SIDE spectra, a lane one of each 32. Matrices of a set lie in tiles of 8 x 8:
 * lane 4 g + t holds row g, columns 2t and 2t + 1 of each tile of the lower triangle. */
#ifndef HC_GPU_UNMIX_WORKING_TABLE_CUH
#define HC_GPU_UNMIX_WORKING_TABLE_CUH

#include "core/solver/working.h"
#include "gpu/unmix/metric.cuh"

/* What a warp keeps in shared memory. */
template <int SIDE> struct HcWorkingShared {
    double vector[2][8 * SIDE];
    int32_t number[8 * SIDE];                   /* of the spectra of the set */
    uint32_t inside[HC_UNMIX_SPECTRA_MAX / 32]; /* a bit a spectrum: those of the set */
};

/* A warp's own; M is the metric among the spectra of the set, and units are the level of the metric. */
template <int SIDE> struct HcWorking {
    enum { PARTS = SIDE / 4, TILES = SIDE * (SIDE + 1) / 2 };
    HcWorkingShared<SIDE> *shared;
    double table[TILES][2]; /* M, swept on the members */
    int32_t count;
    uint32_t member[PARTS];
    uint32_t pending[PARTS]; /* those that are to become members, or no longer to be some */
    double x[PARTS];         /* abundances */
    double turned[PARTS];    /* M x */
    double product[PARTS];   /* D W y - lambda [units] */
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
                                               const double (&right)[SIDE / 4], double (&product)[SIDE / 4]) {
    int g = hc_lane() / 4;
    int t = hc_lane() % 4;
    double *from = shared->vector[0];
    double *to = shared->vector[1];
    double row[SIDE] = {};
    double column[SIDE][2] = {}; /* of the tiles above the diagonal */
    __syncwarp();
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
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
    double columns[SIDE / 4];
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
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
    for (int v = 0; v < SIDE / 4; v++) {
        to[32 * v + 8 * (g / 2) + 2 * t + g % 2] += columns[v];
    }
    __syncwarp();
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        product[v] = to[32 * v + hc_lane()];
    }
}

template <int SIDE>
__device__ static inline void working_multiply_table(const HcWorking<SIDE> &working,
                                                     const double (&right)[SIDE / 4],
                                                     double (&product)[SIDE / 4]) {
    working_multiply<SIDE>(
        working.shared, [&](int i) { return make_double2(working.table[i][0], working.table[i][1]); }, right,
        product);
}

/* Copies column c, in block BLOCK or a later one, to a vector. In the table, the column and its row become 0.
 * (A loop over blocks would let the compiler compute which tiles these are, which would leave registers.) */
template <int SIDE, int BLOCK>
__device__ static inline void working_take_column(HcWorking<SIDE> &working, int c, double *vector) {
    if (BLOCK + 1 < SIDE && c / 8 != BLOCK) {
        working_take_column<SIDE, BLOCK + 1 < SIDE ? BLOCK + 1 : BLOCK>(working, c, vector);
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
            vector[8 * i + g] = is_odd ? odd : even;
        }
        tile[0] = is_even || (i == BLOCK && is_row) ? 0 : even;
        tile[1] = is_odd || (i == BLOCK && is_row) ? 0 : odd;
    }
}

/* Sweeps pivot c into (sign 1) or out of (-1) the table: M_rs - M_rc M_cs / M_cc; in row and column c,
 * sign M_rc / M_cc; -1 / M_cc (Beaton 1964). */
template <int SIDE>
__device__ static inline void working_sweep(HcWorking<SIDE> &working, int c, double sign) {
    int g = hc_lane() / 4;
    int t = hc_lane() % 4;
    double *vector = working.shared->vector[0];
    double *factor = working.shared->vector[1];
    __syncwarp();
    working_take_column<SIDE, 0>(working, c, vector);
    __syncwarp();
    double inverse = 1 / vector[c];
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        int place = 32 * v + hc_lane();
        factor[place] = place == c ? -sign * inverse : vector[place] * inverse;
    }
    __syncwarp();
    if (hc_lane() == 0) {
        vector[c] = -sign;
    }
    __syncwarp();
    double column[SIDE][2];
#pragma unroll
    for (int j = 0; j < SIDE; j++) {
        double2 two = *(const double2 *)&vector[8 * j + 2 * t];
        column[j][0] = two.x;
        column[j][1] = two.y;
    }
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        double here = factor[8 * i + g];
#pragma unroll
        for (int j = 0; j <= i; j++) {
            double *tile = working.table[metric_tile(i, j)];
            tile[0] = fma(-here, column[j][0], tile[0]);
            tile[1] = fma(-here, column[j][1], tile[1]);
        }
    }
}

template <int SIDE> __device__ static inline void working_exchange(HcWorking<SIDE> &working) {
#pragma unroll 1
    for (int v = 0; v < SIDE / 4; v++) {
        /* Members by a number that is known when the kernel is compiled stay in registers. */
        uint32_t bits = working.pending[0];
        uint32_t members = working.member[0];
#pragma unroll
        for (int u = 1; u < SIDE / 4; u++) {
            bits = v == u ? working.pending[u] : bits;
            members = v == u ? working.member[u] : members;
        }
#pragma unroll 1
        for (; bits != 0; bits &= bits - 1) {
            int place = __ffs((int)bits) - 1;
            working_sweep(working, 32 * v + place, (members >> place & 1) != 0 ? -1.0 : 1.0);
        }
    }
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        working.member[v] ^= working.pending[v];
        working.pending[v] = 0;
    }
}

/* b, without the entries of those that are no members. */
template <int SIDE>
__device__ static inline void working_solve_members(const HcWorking<SIDE> &working,
                                                    const double (&b)[SIDE / 4],
                                                    double (&product)[SIDE / 4]) {
    double right[SIDE / 4];
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        right[v] = working_bit(working.member[v]) ? b[v] : 0;
    }
    working_multiply_table(working, right, product);
}

/* What abundances that sum to one lose: drawn from value. */
template <int SIDE>
__device__ static inline double working_draw_to_one(const HcWorking<SIDE> &working,
                                                    double (&value)[SIDE / 4]) {
    double one[SIDE / 4];
    double drawn[SIDE / 4];
    double sum = 0;
    double ones = 0;
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        one[v] = 1;
    }
    working_solve_members(working, one, drawn);
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        bool is_member = working_bit(working.member[v]);
        sum += is_member ? value[v] : 0;
        ones += is_member ? drawn[v] : 0;
    }
    double level = (1 + hc_warp_sum(sum)) / hc_warp_sum(ones);
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        value[v] -= level * drawn[v];
    }
    return level;
}

template <int SIDE> __device__ static inline bool working_any_member(const HcWorking<SIDE> &working) {
    uint32_t any = 0;
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        any |= working.member[v] ^ working.pending[v];
    }
    return any != 0;
}

/* The place of the largest b becomes a member. */
template <int SIDE>
__device__ static inline void working_take_largest(HcWorking<SIDE> &working, const double (&b)[SIDE / 4]) {
    double most = -INFINITY;
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        most = 32 * v + hc_lane() < working.count && b[v] > most ? b[v] : most;
    }
    most = hc_warp_most(most);
    bool is_found = false;
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        uint32_t in = __ballot_sync(0xFFFFFFFFU, 32 * v + hc_lane() < working.count && b[v] >= most) &
                      ~working.member[v];
        working.pending[v] = is_found ? 0 : in & (0U - in);
        is_found = is_found || in != 0;
    }
}

/* Of those that are to become members, those that would lower the function most, at most HC_WORKING_ENTER. */
template <int SIDE>
__device__ static inline void working_keep_worst(HcWorking<SIDE> &working, const double (&value)[SIDE / 4]) {
    uint32_t left[SIDE / 4]; /* by float32, ascending as an integer; of equal ones the first */
    uint32_t kept[SIDE / 4] = {};
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        bool is_entering = working_bit(working.pending[v] & ~working.member[v]);
        left[v] = is_entering ? max(__float_as_uint((float)-value[v]), 1U) : 0;
    }
#pragma unroll
    for (int i = 0; i < HC_WORKING_ENTER; i++) {
        uint32_t most = left[0];
#pragma unroll
        for (int v = 1; v < SIDE / 4; v++) {
            most = max(most, left[v]);
        }
        most = hc_warp_largest(most);
        bool is_found = most == 0;
#pragma unroll
        for (int v = 0; v < SIDE / 4; v++) {
            uint32_t in = __ballot_sync(0xFFFFFFFFU, left[v] == most);
            uint32_t first = is_found ? 0 : in & (0U - in);
            kept[v] |= first;
            left[v] = working_bit(first) ? 0 : left[v];
            is_found = is_found || in != 0;
        }
    }
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        working.pending[v] &= working.member[v] | kept[v];
    }
}

/* x >= 0, with the sum to one where that is asked for, that makes 1/2 x'M x - b'x least; turned = M x. Block
 * pivoting (Kim and Park 2011), the largest place alone (Murty 1974) where that does not help. */
template <int SIDE>
__device__ static inline void working_nearest(const HcUnmixLibrary &library, HcWorking<SIDE> &working,
                                              const double (&b)[SIDE / 4], double (&x)[SIDE / 4],
                                              double (&turned)[SIDE / 4]) {
    double value[SIDE / 4];
    double level = 0;
    int32_t best = working.count + 1;
    int32_t tries = HC_WORKING_TRIES;
#pragma unroll 1
    for (int pass = 0; pass < HC_WORKING_PASSES; pass++) {
        if (library.rule.sum_to_one && !working_any_member(working)) {
            working_take_largest(working, b);
        }
        working_exchange(working);
        working_solve_members(working, b, value);
        level = library.rule.sum_to_one ? working_draw_to_one(working, value) : 0;
        int32_t count = 0;
#pragma unroll
        for (int v = 0; v < SIDE / 4; v++) {
            bool is_member = working_bit(working.member[v]);
            value[v] = is_member ? -value[v] : value[v] - b[v] + level;
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
        for (int v = SIDE / 4 - 1; v >= 0; v--) {
            uint32_t last = working.pending[v] != 0 ? 0x80000000U >> __clz((int)working.pending[v]) : 0;
            working.pending[v] = !is_alone ? working.pending[v] : count > 0 ? last : 0;
            count = is_alone && last != 0 ? 0 : count;
        }
    }
    double sum = 0;
#pragma unroll
    for (int v = 0; v < SIDE / 4; v++) {
        bool is_member = working_bit(working.member[v]);
        x[v] = is_member && value[v] > 0 ? value[v] : 0;
        turned[v] = b[v] - level + (is_member ? 0 : value[v]);
        sum += x[v];
    }
    if (library.rule.sum_to_one) {
        sum = hc_warp_sum(sum);
#pragma unroll
        for (int v = 0; v < SIDE / 4; v++) {
            x[v] = sum > 0 ? x[v] / sum : x[v];
        }
    }
}

#endif
