/* One linear program on the GPU: what kernels share. */
#ifndef HC_GPU_LP_SIMPLEX_DEVICE_CUH
#define HC_GPU_LP_SIMPLEX_DEVICE_CUH

#include "gpu/lp/simplex.cuh"
#include "gpu/shared.cuh"

namespace hc_lp {

enum { THREADS = HC_SIMPLEX_THREADS, WARPS = HC_SIMPLEX_WARPS, TILE = HC_SIMPLEX_TILE, CHUNK = 512 };

/* The candidate of the largest merit. Of equal ones the lowest index wins; INT32_MAX = there is none. */
struct Best {
    double merit;
    int32_t index;
};

/* What the block of the largest merit brought to a meeting. Of equal blocks the first wins. */
struct Winner {
    double merit;
    int32_t index, block; /* index: INT32_MAX = none brought anything */
};

/* A group of candidates of the dual ratio test. */
struct Group {
    double slope;          /* what flipping them takes of the slope of the dual objective */
    Best best;             /* the one with the largest entry, or with Bland's rule the smallest ratio */
    double entry, reduced; /* of the best, */
    int32_t slot;          /* and its kept_slot */
};

/* Shared memory that a block works in. */
struct Scratch {
    Best winner[WARPS];                 /* of a meeting */
    int32_t brought[HC_SIMPLEX_BLOCKS]; /* to it */
    Group group[WARPS];
    double value[WARPS];
    int32_t index[WARPS];
    double weight[CHUNK]; /* of rows of the matrix that are summed */
    int32_t row[CHUNK];
    double part[WARPS][TILE + 1];
    double tile[TILE];
};

__device__ inline int32_t lane() {
    return (int32_t)threadIdx.x % 32;
}

__device__ inline int32_t warp() {
    return (int32_t)threadIdx.x / 32;
}

/* ---- sums and choices ---- */

__device__ inline double warp_sum(double value) {
    for (int far = 16; far > 0; far /= 2) {
        value += __shfl_xor_sync(0xFFFFFFFF, value, far);
    }
    return value;
}

/* Bits that order as numbers do, for reductions of integers; 0 for what is not a number. And back. */
__device__ inline uint64_t order_of(double value) {
    int64_t bits = __double_as_longlong(value + 0.0); /* -0 is 0 */
    return isnan(value) ? 0 : (uint64_t)(bits < 0 ? ~bits : bits ^ INT64_MIN);
}

__device__ inline double number_of(uint64_t order) {
    return __longlong_as_double((int64_t)order < 0 ? (int64_t)order ^ INT64_MIN : ~(int64_t)order);
}

__device__ inline uint64_t warp_last(uint64_t order) {
    uint32_t high = hc_warp_largest((uint32_t)(order >> 32));
    uint32_t low = hc_warp_largest((uint32_t)(order >> 32) == high ? (uint32_t)order : 0U);
    return (uint64_t)high << 32 | low;
}

__device__ inline double warp_least(double value) {
    return -number_of(warp_last(order_of(-value)));
}

/* The larger one; what is not a number stays. */
__device__ inline double larger(double a, double b) {
    return a >= b || isnan(a) ? a : b;
}

__device__ inline double warp_largest(double value) {
    for (int far = 16; far > 0; far /= 2) {
        value = larger(value, __shfl_xor_sync(0xFFFFFFFF, value, far));
    }
    return value;
}

/* All threads of a block get the result. */
__device__ inline double block_sum(double value, Scratch *scratch) {
    value = warp_sum(value);
    if (lane() == 0) {
        scratch->value[warp()] = value;
    }
    __syncthreads();
    value = warp_sum(lane() < WARPS ? scratch->value[lane()] : 0);
    __syncthreads();
    return value;
}

__device__ inline double block_least(double value, Scratch *scratch) {
    value = warp_least(value);
    if (lane() == 0) {
        scratch->value[warp()] = value;
    }
    __syncthreads();
    value = warp_least(lane() < WARPS ? scratch->value[lane()] : (double)INFINITY);
    __syncthreads();
    return value;
}

__device__ inline double block_largest(double value, Scratch *scratch) {
    value = warp_largest(value);
    if (lane() == 0) {
        scratch->value[warp()] = value;
    }
    __syncthreads();
    value = warp_largest(lane() < WARPS ? scratch->value[lane()] : 0);
    __syncthreads();
    return value;
}

__device__ inline Best nothing() {
    return {-(double)INFINITY, INT32_MAX};
}

__device__ inline bool precedes(const Best &a, const Best &b) {
    return a.merit > b.merit || (a.merit == b.merit && a.index < b.index);
}

__device__ inline Best warp_best(Best best) {
    uint64_t order = order_of(best.merit);
    uint64_t last = warp_last(order);
    int32_t index = INT32_MAX - hc_warp_largest(order == last ? INT32_MAX - best.index : 0);
    return {number_of(last), index};
}

__device__ inline Best block_best(Best best, Scratch *scratch) {
    best = warp_best(best);
    if (lane() == 0) {
        scratch->value[warp()] = best.merit;
        scratch->index[warp()] = best.index;
    }
    __syncthreads();
    best = nothing();
    if (lane() < WARPS) {
        best = {scratch->value[lane()], scratch->index[lane()]};
    }
    best = warp_best(best);
    __syncthreads();
    return best;
}

/* The best of all blocks, with what its block tells of it. */
__device__ inline HcSimplexPart best_part(const HcSimplexPart *parts, Scratch *scratch) {
    Best best = nothing();
    for (int32_t b = (int32_t)threadIdx.x; b < (int32_t)gridDim.x; b += THREADS) {
        /* Numbers of blocks stand for those of what they offer, which ascend with them or are compared by
         * merit alone. */
        Best offer = {parts[b].merit, parts[b].index == INT32_MAX ? INT32_MAX : b};
        best = precedes(offer, best) ? offer : best;
    }
    best = block_best(best, scratch);
    return best.index == INT32_MAX ? HcSimplexPart{0, 0, 0, INT32_MAX} : parts[best.index];
}

__device__ inline double least_part(const double *parts, Scratch *scratch) {
    double least = (double)INFINITY;
    for (int32_t b = (int32_t)threadIdx.x; b < (int32_t)gridDim.x; b += THREADS) {
        least = fmin(least, parts[b]);
    }
    return block_least(least, scratch);
}

/* ---- meetings of all blocks ---- */

/* Meetings since the kernel began. Two sets of words take turns: a block that is late still finds those of
 * the meeting before. */
struct Meeting {
    HcSimplexWord *words; /* [2][blocks] */
    uint32_t number;
};

/* All that the block has written is seen by those that wait for this meeting. */
__device__ inline void arrive(Meeting *meeting, double merit, int32_t index) {
    meeting->number++;
    __syncthreads();
    if (threadIdx.x == 0) {
        HcSimplexWord *at = meeting->words + meeting->number % 2 * gridDim.x + blockIdx.x;
        uint64_t rest = (uint64_t)meeting->number << 32 | (uint32_t)index;
        asm volatile(
            "{ .reg .b128 word; mov.b128 word, {%1, %2}; st.release.gpu.global.b128 [%0], word; }" ::"l"(at),
            "l"(__double_as_longlong(merit)), "l"(rest)
            : "memory");
    }
}

__device__ inline HcSimplexWord look(const HcSimplexWord *at) {
    HcSimplexWord word;
    asm volatile("{ .reg .b128 word; ld.acquire.gpu.global.b128 word, [%2]; mov.b128 {%0, %1}, word; }"
                 : "=l"(word.merit), "=l"(word.rest)
                 : "l"(at)
                 : "memory");
    return word;
}

/* Until all blocks have arrived. A thread looks for each, and all threads get what they find. */
__device__ inline Winner await(const Meeting *meeting, Scratch *scratch) {
    int32_t block = (int32_t)threadIdx.x;
    int32_t warps = ((int32_t)gridDim.x + 31) / 32;
    if (warp() < warps) {
        Best best = nothing();
        if (block < (int32_t)gridDim.x) {
            const HcSimplexWord *at = meeting->words + meeting->number % 2 * gridDim.x + block;
            HcSimplexWord word;
            do {
                word = look(at);
            } while ((uint32_t)(word.rest >> 32) != meeting->number);
            int32_t index = (int32_t)(uint32_t)word.rest;
            scratch->brought[block] = index;
            if (index != INT32_MAX) {
                best = {__longlong_as_double((long long)word.merit), block};
            }
        }
        __syncwarp();
        best = warp_best(best);
        if (lane() == 0) {
            scratch->winner[warp()] = best;
        }
    }
    __syncthreads();
    Best best = warp_best(lane() < warps ? scratch->winner[lane()] : nothing());
    return {best.merit, best.index == INT32_MAX ? INT32_MAX : scratch->brought[best.index], best.index};
}

__device__ inline void meet(Meeting *meeting, Scratch *scratch) {
    arrive(meeting, 0, INT32_MAX);
    (void)await(meeting, scratch);
}

/* Where a block puts the row of the inverse that it brings to the next meeting, and where the one lies that
 * another block has brought to the last. Both outlast the meeting after. */
__device__ inline double *next_offer(const HcSimplexView &v, const Meeting *meeting) {
    return v.offered_row + ((meeting->number + 1) % 2 * gridDim.x + blockIdx.x) * v.stride;
}

__device__ inline const double *last_offer(const HcSimplexView &v, const Meeting *meeting, int32_t block) {
    return v.offered_row + (meeting->number % 2 * gridDim.x + block) * v.stride;
}

/* ---- who works on what ---- */

/* Rows and places of a block: [first, end). */
struct Span {
    int32_t first, end;
};

__device__ inline Span rows_of(const HcSimplexView &v, int32_t block) {
    int32_t each = (v.rows + (int32_t)gridDim.x - 1) / (int32_t)gridDim.x;
    int64_t first = (int64_t)block * each;
    return {(int32_t)(first < v.rows ? first : v.rows),
            (int32_t)(first + each < v.rows ? first + each : v.rows)};
}

__device__ inline Span own_rows(const HcSimplexView &v) {
    return rows_of(v, (int32_t)blockIdx.x);
}

/* Tiles of columns that a block prices: `block`, and every gridDim.x th. */
__device__ inline int32_t tiles_of(const HcSimplexView &v, int32_t block) {
    int32_t tiles = (v.columns + TILE - 1) / TILE;
    return block < tiles ? (tiles - 1 - block) / (int32_t)gridDim.x + 1 : 0;
}

/* Calls visit for each variable that a block prices: by threads of which this is number `thread` of
 * `threads`, -1 = none. */
template <typename Visit>
__device__ inline void for_variables(const HcSimplexView &v, int32_t block, int32_t thread, int32_t threads,
                                     Visit visit) {
    Span rows = rows_of(v, block);
    int32_t structural = tiles_of(v, block) * TILE;
    int32_t count = structural + rows.end - rows.first;
    for (int32_t t = thread; t >= 0 && t < count; t += threads) {
        int32_t j = t < structural ? (block + t / TILE * (int32_t)gridDim.x) * TILE + t % TILE
                                   : v.columns + rows.first + t - structural;
        if (t >= structural || j < v.columns) {
            visit(j);
        }
    }
}

/* Variables of a thread: first_variable(), and every stride_variables() th. */
__device__ inline int32_t first_variable() {
    return (int32_t)(blockIdx.x * THREADS + threadIdx.x);
}

__device__ inline int32_t stride_variables() {
    return (int32_t)(gridDim.x * THREADS);
}

/* ---- the matrix ---- */

__device__ inline int64_t first_entry(const HcSimplexLines &lines, int32_t line) {
    return lines.start != NULL ? lines.start[line] : line * lines.stride;
}

__device__ inline int64_t end_entry(const HcSimplexLines &lines, int32_t line) {
    return lines.start != NULL ? lines.start[line + 1] : line * lines.stride + lines.length;
}

__device__ inline int32_t index_of(const HcSimplexLines &lines, int32_t line, int64_t entry) {
    return lines.start != NULL ? lines.index[entry] : (int32_t)(entry - line * lines.stride);
}

/* The product of a line with a vector, by a warp. */
__device__ inline double line_product(const HcSimplexLines &lines, int32_t line, const double *vector) {
    double sum = 0;
    int64_t end = end_entry(lines, line);
#pragma unroll 4
    for (int64_t e = first_entry(lines, line) + lane(); e < end; e += 32) {
        sum = fma(lines.value[e], vector[index_of(lines, line, e)], sum);
    }
    return warp_sum(sum);
}

/* The entry of row i in the column of a variable. */
__device__ inline double entry_of(const HcSimplexView &v, int32_t variable, int32_t i) {
    const HcSimplexLines &columns = v.by_column;
    if (variable >= v.columns) {
        return i == variable - v.columns ? 1 : 0;
    }
    if (columns.start == NULL) {
        return columns.value[variable * columns.stride + i];
    }
    int64_t first = columns.start[variable];
    int64_t end = columns.start[variable + 1];
    while (first < end) {
        int64_t middle = first + (end - first) / 2;
        if (columns.index[middle] < i) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first < columns.start[variable + 1] && columns.index[first] == i ? columns.value[first] : 0;
}

/* ---- a basis ---- */

/* How far the basic variable of a place is beyond its bounds. */
__device__ inline double beyond(const HcSimplexView &v, int32_t variable) {
    return hc_simplex_excess(v.value[variable], v.lower[variable], v.upper[variable], v.tolerance);
}

/* Entry i of a row of the inverse; logical: of its basic variable, negative if that is none. */
__device__ inline double inverse_entry(const HcSimplexView &v, int32_t place, int32_t logical, int32_t i) {
    int32_t slot = v.kept_slot[i];
    return slot >= 0 ? v.inverse[place * v.stride + slot] : i == logical ? 1 : 0;
}

/* A variable enters the basis in a place. */
struct Exchange {
    int32_t place, entering, leaving;
    int32_t kept, kept_after; /* columns of the inverse */
    int32_t gone, last; /* slot of the column that becomes a unit vector, which the last one takes; -1 */
};

/* The slot of the column that becomes a unit vector when a variable enters; -1 = none does. */
__device__ inline int32_t slot_of(const HcSimplexView &v, int32_t entering) {
    return entering >= v.columns ? v.kept_slot[entering - v.columns] : -1;
}

__device__ inline Exchange exchange_of(const HcSimplexView &v, int32_t place, int32_t entering,
                                       int32_t leaving, int32_t kept, int32_t gone) {
    Exchange x = {place, entering, leaving, kept, kept, gone, -1};
    x.kept_after += leaving >= v.columns;
    x.last = x.kept_after - 1;
    x.kept_after -= x.gone >= 0;
    return x;
}

/* pivot_row from the row of the inverse as it was; by one block. */
__device__ inline void divide_row(const Exchange &x, const double *row, double alpha, double *pivot_row) {
    for (int32_t k = (int32_t)threadIdx.x; k < x.kept_after; k += THREADS) {
        int32_t from = k == x.gone ? x.last : k;
        pivot_row[k] = (from < x.kept ? row[from] : 1) / alpha;
    }
}

/* A row of the inverse after an exchange, by a warp; returns its squared length. factor: of the entering
 * column. basic: the variable in the row's place afterwards. */
__device__ inline double eliminate(const HcSimplexView &v, const Exchange &x, const double *pivot_row,
                                   int32_t place, double *row, double factor, int32_t basic) {
    double squares = 0;
    __syncwarp(); /* all lanes have read the row */
    if (lane() == 0 && x.leaving >= v.columns) {
        row[x.kept] = 0;
    }
    if (lane() == 0 && x.gone >= 0) {
        row[x.gone] = row[x.last];
    }
    __syncwarp();
    for (int32_t k = lane(); k < x.kept_after; k += 32) {
        double pivot = pivot_row[k];
        double after = place == x.place ? pivot : row[k] - factor * pivot; /* equal products leave 0 */
        row[k] = after;
        squares = fma(after, after, squares);
    }
    return warp_sum(squares) + (basic >= v.columns ? 1 : 0);
}

/* Which columns are kept, after an exchange; by one thread. */
__device__ inline void exchange_kept(const HcSimplexView &v, const Exchange &x) {
    if (x.leaving >= v.columns) {
        v.kept_row[x.kept] = x.leaving - v.columns;
        v.kept_slot[x.leaving - v.columns] = x.kept;
    }
    if (x.gone >= 0) {
        int32_t moved = v.kept_row[x.last];
        v.kept_row[x.gone] = moved;
        v.kept_slot[moved] = x.gone;
        v.kept_slot[x.entering - v.columns] = -1;
    }
}

typedef HcSimplexPlace Place;

/* What a block of dual steps has of its own, or one that inverts. */
struct Own {
    Span span;         /* places and rows */
    int32_t tiles;     /* of columns */
    Place *place;      /* [places] */
    double *row;       /* [stride] row of the inverse that a pivot begins with */
    double *pivot_row; /* [stride] and ends with */
    double *packed;    /* [stride] of the entering column the entries that meet kept columns */
    double *inverse;   /* [places][stride] */
    double *tile;      /* [stride][TILE] rows of the matrix, of kept columns; NULL: v.by_row has them */
    int32_t *kept_row; /* [stride] */
};

__device__ inline Own own_of(const HcSimplexView &v) {
    extern __shared__ double shared[];
    Own own = {own_rows(v)};
    int32_t each = (v.rows + (int32_t)gridDim.x - 1) / (int32_t)gridDim.x;
    double *lists = v.shared >= HC_SIMPLEX_SHARED_LISTS
                        ? shared
                        : v.private_lists + blockIdx.x * hc_simplex_lists(v.stride, each);
    own.tiles = tiles_of(v, (int32_t)blockIdx.x);
    own.row = lists;
    own.pivot_row = own.row + v.stride;
    own.packed = own.pivot_row + v.stride;
    own.place = (Place *)(own.packed + v.stride);
    own.kept_row = (int32_t *)(own.place + each);
    double *rows = shared + hc_simplex_lists(v.stride, each);
    own.inverse = v.shared >= HC_SIMPLEX_SHARED_ROWS ? rows : v.inverse + own.span.first * v.stride;
    own.tile = v.shared >= HC_SIMPLEX_SHARED_TILE && own.tiles > 0 ? rows + each * v.stride : NULL;
    return own;
}

/* The rows of the inverse, and which columns are kept, to where kernels that follow look for them. */
__device__ inline void give_back(const HcSimplexView &v, const Own &own, int32_t kept) {
    for (int32_t p = own.span.first + warp(); p < own.span.end; p += WARPS) {
        for (int32_t k = lane(); k < kept; k += 32) {
            v.inverse[p * v.stride + k] = own.inverse[(p - own.span.first) * v.stride + k];
        }
    }
    for (int32_t k = (int32_t)threadIdx.x; blockIdx.x == 0 && k < kept; k += THREADS) {
        v.kept_row[k] = own.kept_row[k];
    }
}

/* What the entering column has for a place where a logical is basic. */
__device__ inline double unit_of(const HcSimplexView &v, int32_t entering, int32_t basic) {
    return basic >= v.columns ? entry_of(v, entering, basic - v.columns) : 0;
}

/* ---- pricing ---- */

/* scratch->tile from what each warp has summed. */
__device__ inline void add_parts(double sum, Scratch *scratch) {
    scratch->part[warp()][lane()] = sum;
    __syncthreads();
    double part = scratch->part[lane() % 16][2 * warp() + lane() / 16];
    for (int far = 8; far > 0; far /= 2) {
        part += __shfl_xor_sync(0xFFFFFFFF, part, far);
    }
    if (lane() % 16 == 0) {
        scratch->tile[2 * warp() + lane() / 16] = part;
    }
}

/* The sum of a tile of columns over rows of a dense matrix, each row by a warp; into scratch->tile. */
__device__ inline void price_dense(const HcSimplexView &v, int32_t place, int32_t logical, int32_t kept,
                                   int32_t tile, bool first, Scratch *scratch) {
    const double *row = v.inverse + place * v.stride;
    const double *matrix = v.by_row.value + tile + lane();
    int32_t entries = kept + (logical >= 0);
    double sum = 0;
    for (int32_t begin = 0; begin < entries; begin += CHUNK) {
        int32_t count = entries - begin < CHUNK ? entries - begin : (int32_t)CHUNK;
        if (first || entries > CHUNK) {
            __syncthreads();
            for (int32_t e = (int32_t)threadIdx.x; e < count; e += THREADS) {
                bool unit = begin + e == kept;
                scratch->weight[e] = unit ? 1 : row[begin + e];
                scratch->row[e] = unit ? logical : v.kept_row[begin + e];
            }
            __syncthreads();
        }
#pragma unroll 8
        for (int32_t e = warp(); e < count; e += WARPS) {
            sum = fma(scratch->weight[e], matrix[scratch->row[e] * v.by_row.stride], sum);
        }
    }
    add_parts(sum, scratch);
}

/* The same of columns with few entries, by the part of the row that belongs to the logicals. */
__device__ inline void price_sparse(const HcSimplexView &v, int32_t tile, Scratch *scratch) {
    for (int32_t c = warp(); c < TILE && tile + c < v.columns; c += WARPS) {
        double product = line_product(v.by_column, tile + c, v.row + v.columns);
        if (lane() == 0) {
            scratch->tile[c] = product;
        }
    }
}

/* row = row `place` of inverse (A, I), whose basic variable is `leaving`. Warp 0 of each block hands what it
 * gets to finish(variable, value), which writes it down. */
template <typename Finish>
__device__ inline void price(const HcSimplexView &v, int32_t place, int32_t leaving, int32_t kept,
                             Meeting *meeting, Scratch *scratch, Finish finish) {
    Span own = own_rows(v);
    int32_t logical = leaving - v.columns;
    bool sparse = v.by_column.start != NULL;
    if (warp() == 0) {
        for (int32_t i = own.first + lane(); i < own.end; i += 32) {
            finish(v.columns + i, inverse_entry(v, place, logical, i));
        }
    }
    if (sparse) {
        meet(meeting, scratch);
    }
    for (int32_t tile = (int32_t)blockIdx.x * TILE; tile < v.columns; tile += (int32_t)gridDim.x * TILE) {
        __syncthreads();
        if (sparse) {
            price_sparse(v, tile, scratch);
        } else {
            price_dense(v, place, logical, kept, tile, tile == (int32_t)blockIdx.x * TILE, scratch);
        }
        __syncthreads();
        if (warp() == 0 && tile + lane() < v.columns) {
            finish(tile + lane(), scratch->tile[lane()]);
        }
    }
}

/* Whether A x + t = 0 has been lost to rounding; all blocks get the answer, and have met once more. */
static __device__ __noinline__ bool drifted(const HcSimplexView &v, Meeting meeting, Scratch *scratch) {
    Span own = own_rows(v);
    double residual = 0;
    double largest = 0;
    for (int32_t i = own.first + warp(); i < own.end; i += WARPS) {
        residual = larger(residual, fabs(line_product(v.by_row, i, v.value) + v.value[v.columns + i]));
    }
    for (int32_t j = first_variable(); j < v.all; j += stride_variables()) {
        largest = larger(largest, fabs(v.value[j]));
    }
    residual = block_largest(residual, scratch);
    largest = block_largest(largest, scratch);
    if (threadIdx.x == 0) {
        v.residual[blockIdx.x] = residual;
        v.largest[blockIdx.x] = largest;
    }
    meet(&meeting, scratch);
    for (int32_t b = (int32_t)threadIdx.x; b < (int32_t)gridDim.x; b += THREADS) {
        residual = larger(residual, v.residual[b]);
        largest = larger(largest, v.largest[b]);
    }
    residual = block_largest(residual, scratch);
    largest = block_largest(largest, scratch);
    return !(residual <= v.tolerance * (1 + largest));
}

/* Whether steps go on; if not, state says why. */
__device__ inline bool may_go_on(const HcSimplexView &v, HcSimplexState *state, Meeting *meeting,
                                 Scratch *scratch) {
    state->end = HC_SIMPLEX_STOPPED;
    state->pause = HC_SIMPLEX_ENDED;
    if (state->pivots >= v.limit || state->tries > HC_SIMPLEX_TRIES) {
        return false;
    }
    if (state->kept >= v.stride && state->kept < v.rows) {
        state->pause = HC_SIMPLEX_FULL;
        return false;
    }
    if (state->since_fresh > 0 && state->since_fresh % HC_SIMPLEX_CHECK == 0) {
        bool lost = drifted(v, *meeting, scratch);
        meeting->number++;
        state->pause = lost ? HC_SIMPLEX_REFRESH : HC_SIMPLEX_ENDED;
        return !lost;
    }
    return true;
}

} // namespace hc_lp

#endif
