/* Dual simplex steps on the GPU, as cpu/lp/simplex_dual.c has them: steepest edges, a ratio test with
 * tolerances that flips boxed variables as long as that pays, small changes of the costs against steps of no
 * length.
 *
 * All blocks meet twice in a pivot. Each brings its best place, and that place's row of the inverse. Each
 * multiplies the best row of all with its columns of the matrix, and brings the smallest ratio. Then each
 * decides for itself who enters, from the ratios of all, and changes its rows of the inverse, its values and
 * its reduced costs. What others may still read is not written before the next meeting. Rows of the inverse
 * and of the matrix stay in shared memory where there is room. */
#include "gpu/lp/simplex_ratio.cuh"

using namespace hc_lp;

namespace {

typedef HcSimplexPivot Pivot;

/* ---- what a block has of its own ---- */

__device__ void take_own(const HcSimplexView &v, const Own &own, int32_t kept) {
    for (int32_t p = own.span.first + warp(); p < own.span.end; p += WARPS) {
        int32_t basic = v.basic[p];
        double *row = own.inverse + (p - own.span.first) * v.stride;
        for (int32_t k = lane(); k < kept; k += 32) {
            row[k] = v.inverse[p * v.stride + k];
        }
        if (lane() == 0) {
            own.place[p - own.span.first] = {v.value[basic], v.lower[basic], v.upper[basic], basic};
        }
    }
    for (int32_t k = (int32_t)threadIdx.x; k < kept; k += THREADS) {
        own.kept_row[k] = v.kept_row[k];
    }
    for (int32_t k = warp(); own.tile != NULL && k < kept; k += WARPS) {
        own.tile[k * TILE + lane()] =
            v.by_row.value[v.kept_row[k] * v.by_row.stride + blockIdx.x * TILE + lane()];
    }
    __syncthreads();
}

/* ---- who leaves ---- */

__device__ Best offer_of(const HcSimplexView &v, const Place &at, int32_t place, double weight, bool bland) {
    double excess = hc_simplex_excess(at.value, at.lower, at.upper, v.tolerance);
    if (excess == 0) {
        return nothing();
    }
    return {bland ? -(double)at.basic : excess * excess / weight, place};
}

/* Of what the warps offer the best place, and its row of the inverse; with it the block arrives. */
__device__ void offer_leaving(const HcSimplexView &v, const Own &own, Best best, int32_t kept,
                              Meeting *meeting, Scratch *scratch) {
    best = block_best(best, scratch);
    int32_t variable = INT32_MAX;
    if (best.index != INT32_MAX) {
        const Place &at = own.place[best.index - own.span.first];
        const double *row = own.inverse + (best.index - own.span.first) * v.stride;
        double *to = next_offer(v, meeting);
        for (int32_t k = (int32_t)threadIdx.x; k < kept; k += THREADS) {
            to[k] = row[k];
        }
        variable = at.basic;
        if (threadIdx.x == 0) {
            double excess = hc_simplex_excess(at.value, at.lower, at.upper, v.tolerance);
            v.pivot[blockIdx.x] = {best.index, at.basic, at.value, excess > 0 ? at.upper : at.lower, excess};
        }
    }
    arrive(meeting, best.merit, variable);
}

__device__ void offer_first(const HcSimplexView &v, const Own &own, const HcSimplexState &state,
                            Meeting *meeting, Scratch *scratch) {
    Best best = nothing();
    for (int32_t p = own.span.first + (int32_t)threadIdx.x; p < own.span.end; p += THREADS) {
        Best offer = offer_of(v, own.place[p - own.span.first], p, v.weight[p], state.bland != 0);
        best = precedes(offer, best) ? offer : best;
    }
    offer_leaving(v, own, best, (int32_t)state.kept, meeting, scratch);
}

/* ---- who may enter ---- */

/* What the ratio test needs of a variable, on its way before the entry is known. */
struct Tested {
    double reduced, cost, range;
    int32_t move; /* as in HcSimplex; 0 if basic */
    int32_t slot; /* kept_slot of a logical, else -1 */
};

__device__ Tested tested_of(const HcSimplexView &v, int32_t j) {
    return {v.reduced[j], v.cost[j], v.upper[j] - v.lower[j], v.place[j] < 0 ? v.move[j] : 0,
            j < v.columns ? -1 : v.kept_slot[j - v.columns]};
}

/* Of a lane's first column or row: the first warp tests columns, the last one rows. */
__device__ Tested first_tested(const HcSimplexView &v, const Own &own) {
    int32_t column = (int32_t)blockIdx.x * TILE + lane();
    int32_t row = own.span.first + lane();
    bool tests = warp() == 0 ? column < v.columns : warp() == WARPS - 1 && row < own.span.end;
    return tests ? tested_of(v, warp() == 0 ? column : v.columns + row) : Tested{};
}

/* The smallest ratios of a thread's variables, with the tolerance and without. */
struct Least {
    double allowed, ratio;
};

/* Writes down what the ratio test needs to know of a variable. */
__device__ void test(const HcSimplexView &v, int32_t j, const Tested &at, double value, double direction,
                     Least *least) {
    double entry = fabs(value);
    double slack = at.move == 2 ? 0 : fmax(at.reduced * at.move, 0.0);
    double inverse = 1 / entry;
    double allowed = (slack + v.tolerance * (1 + fabs(at.cost))) * inverse;
    bool open = (at.move == 2 ? entry : direction * value * at.move) > HC_SIMPLEX_NO_ENTRY;
    double ratio = open ? slack * inverse : (double)INFINITY;
    v.row[j] = value;
    v.offered_reduced[j] = at.reduced;
    v.offered_slot[j] = at.slot;
    v.ratio[j] = ratio;
    v.allowed[j] = allowed;
    v.gain[j] = at.range * entry;
    least->allowed = open ? fmin(least->allowed, allowed) : least->allowed;
    least->ratio = fmin(least->ratio, ratio);
}

/* The row of a leaving logical, of a tile of columns, for the warp that adds it; 0 for others. */
__device__ double logical_row(const HcSimplexView &v, int32_t logical, int32_t kept, int32_t tile) {
    bool reads = logical >= 0 && warp() == kept % WARPS && tile < v.columns && v.by_row.start == NULL;
    return reads ? v.by_row.value[logical * v.by_row.stride + tile + lane()] : 0;
}

/* The sum of the block's tile of columns over the rows of kept columns, each by a warp, and `unit` of
 * logical_row; into scratch->tile. That row comes into the tile with it. */
__device__ void price_tile(const HcSimplexView &v, const Own &own, double unit, int32_t kept, int32_t tile,
                           Scratch *scratch) {
    double sum = 0;
    if (own.tile != NULL) {
#pragma unroll 4
        for (int32_t e = warp(); e < kept; e += WARPS) {
            sum = fma(own.row[e], own.tile[e * TILE + lane()], sum);
        }
        if (warp() == kept % WARPS && kept < v.stride) {
            own.tile[kept * TILE + lane()] = unit;
        }
    } else {
        const double *matrix = v.by_row.value + tile + lane();
#pragma unroll 8
        for (int32_t e = warp(); e < kept; e += WARPS) {
            sum = fma(own.row[e], matrix[own.kept_row[e] * v.by_row.stride], sum);
        }
    }
    add_parts(sum + unit, scratch);
}

/* With the smallest ratios the block arrives: the one with the tolerance, and a bound of the other. Two warps
 * have some. */
__device__ void offer_least(Least least, Meeting *meeting, Scratch *scratch) {
    if (warp() == 0 || warp() == WARPS - 1) {
        double *to = scratch->value + (warp() == 0 ? 0 : 2);
        least = {warp_least(least.allowed), warp_least(least.ratio)};
        if (lane() == 0) {
            to[0] = least.allowed;
            to[1] = least.ratio;
        }
    }
    __syncthreads();
    least = {fmin(scratch->value[0], scratch->value[2]), fmin(scratch->value[1], scratch->value[3])};
    arrive(meeting, -least.allowed,
           least.allowed < (double)INFINITY ? __float_as_int(__double2float_rd(least.ratio)) : INT32_MAX);
}

/* The row of the leaving variable, and who may enter. ahead: of first_tested; unit: of logical_row. */
__device__ void find_candidates(const HcSimplexView &v, const Own &own, const Pivot &pivot, int32_t kept,
                                Tested ahead, double unit, Meeting *meeting, Scratch *scratch) {
    Least least = {(double)INFINITY, (double)INFINITY};
    double direction = pivot.beyond > 0 ? 1 : -1;
    int32_t logical = pivot.leaving - v.columns;
    int32_t row = own.span.first + lane();
    bool sparse = v.by_column.start != NULL;
    __syncthreads();
    for (; warp() == WARPS - 1 && row < own.span.end; row += 32) {
        Tested at = row < own.span.first + 32 ? ahead : tested_of(v, v.columns + row);
        double value = at.slot >= 0 ? own.row[at.slot] : row == logical;
        test(v, v.columns + row, at, value, direction, &least);
    }
    if (sparse) {
        meet(meeting, scratch);
    }
    for (int32_t t = 0; t < own.tiles; t++) {
        int32_t tile = ((int32_t)blockIdx.x + t * (int32_t)gridDim.x) * TILE;
        __syncthreads();
        if (sparse) {
            price_sparse(v, tile, scratch);
        } else {
            price_tile(v, own, t == 0 ? unit : logical_row(v, logical, kept, tile), kept, tile, scratch);
        }
        __syncthreads();
        int32_t column = tile + lane();
        if (warp() == 0 && column < v.columns) {
            Tested at = t == 0 ? ahead : tested_of(v, column);
            test(v, column, at, scratch->tile[lane()], direction, &least);
        }
    }
    offer_least(least, meeting, scratch);
}

/* ---- who enters: by all blocks, from the same numbers ---- */

/* What becomes of the step. */
struct Choice {
    int32_t entering; /* -1 = there is none, or none that is good enough */
    double flipped;   /* candidates with ratios up to it go to their other bounds; negative = none do */
    double step;      /* of the reduced costs */
    double alpha;     /* the pivot */
    Exchange exchange;
};

/* What the entering column has in the rows of kept columns, and the row of the inverse after the pivot. */
__device__ void pack(const HcSimplexView &v, const Own &own, const Exchange &x, double alpha) {
    for (int32_t k = (int32_t)threadIdx.x; k < x.kept; k += THREADS) {
        own.packed[k] = entry_of(v, x.entering, own.kept_row[k]);
    }
    divide_row(x, own.row, alpha, own.pivot_row);
    __syncthreads();
}

__device__ Choice choose(const HcSimplexView &v, const Own &own, const Pivot &pivot, double most,
                         const HcSimplexState &state, Scratch *scratch) {
    Choice choice = {-1, -1, 0, 0, {}};
    double least = state.boxed != 0 ? (double)INFINITY : 2 * v.tolerance * (1 + fabs(pivot.value));
    Group group = choose_entering(v, most, pivot.beyond, least, state.bland != 0, &choice.flipped, scratch);
    int32_t entering = group.best.index;
    if (entering == INT32_MAX || (fabs(group.entry) < HC_SIMPLEX_POOR_ENTRY && state.since_fresh > 0)) {
        return choice;
    }
    choice.entering = entering;
    choice.step = group.reduced / group.entry;
    choice.exchange = exchange_of(v, pivot.place, entering, pivot.leaving, (int32_t)state.kept, group.slot);
    choice.alpha = group.entry;
    pack(v, own, choice.exchange, choice.alpha);
    return choice;
}

/* ---- the step ---- */

/* Blocks that have brought something, into scratch->row; returns how many. */
__device__ int32_t list_blocks(Scratch *scratch) {
    int32_t count = 0;
    for (int32_t block = lane(); warp() == 0 && block - lane() < (int32_t)gridDim.x; block += 32) {
        bool brings = block < (int32_t)gridDim.x && scratch->brought[block] != INT32_MAX;
        uint32_t all = __ballot_sync(0xFFFFFFFF, brings);
        if (brings) {
            scratch->row[count + __popc(all & ((1U << lane()) - 1))] = block;
        }
        count += __popc(all);
    }
    if (threadIdx.x == 0) {
        scratch->index[0] = count;
    }
    __syncthreads();
    return scratch->index[0];
}

/* Candidates go to their other bounds. v.right = what that changes A x + t by. The blocks meet twice. */
__device__ __noinline__ void flip(const HcSimplexView &v, const Own &own, double flipped, Meeting meeting,
                                  Scratch *scratch) {
    bool any = false;
    for_variables(v, (int32_t)blockIdx.x, (int32_t)threadIdx.x, THREADS, [&](int32_t j) {
        bool flips = v.ratio[j] <= flipped;
        double to = v.move[j] > 0 ? v.upper[j] : v.lower[j];
        v.delta[j] = flips ? to - v.value[j] : 0;
        v.value[j] = flips ? to : v.value[j];
        v.move[j] = (int8_t)(flips ? -v.move[j] : v.move[j]);
        any = any || flips;
    });
    any = __syncthreads_or(any) != 0;
    arrive(&meeting, 0, any ? 0 : INT32_MAX);
    (void)await(&meeting, scratch);
    int32_t blocks = list_blocks(scratch);
    for (int32_t i = own.span.first + warp(); i < own.span.end; i += WARPS) {
        double sum = 0;
        if (v.by_row.start != NULL) {
            sum = line_product(v.by_row, i, v.delta);
        } else {
#pragma unroll 4
            for (int32_t b = 0; b < blocks; b++) {
                for (int32_t j = scratch->row[b] * TILE + lane(); j < v.columns;
                     j += (int32_t)gridDim.x * TILE) {
                    sum = fma(v.by_row.value[i * v.by_row.stride + j], v.delta[j], sum);
                }
            }
            sum = warp_sum(sum);
        }
        if (lane() == 0) {
            v.right[i] = sum + v.delta[v.columns + i];
        }
    }
    meet(&meeting, scratch);
}

/* How far bound flips move the leaving variable. */
__device__ double shift_of_leaving(const HcSimplexView &v, const Own &own, const Exchange &x,
                                   Scratch *scratch) {
    double sum = 0;
    for (int32_t k = (int32_t)threadIdx.x; k < x.kept; k += THREADS) {
        sum = fma(own.row[k], v.right[own.kept_row[k]], sum);
    }
    sum = block_sum(sum, scratch);
    return x.leaving >= v.columns ? sum + v.right[x.leaving - v.columns] : sum;
}

/* The values, rows of the inverse and weights of a block's places; and the farthest of them. */
__device__ Best move_places(const HcSimplexView &v, const Own &own, const Exchange &x, double bound,
                            double length, bool flips, bool bland) {
    Best best = nothing();
    for (int32_t p = own.span.first + warp(); p < own.span.end; p += WARPS) {
        double *row = own.inverse + (p - own.span.first) * v.stride;
        Place at = own.place[p - own.span.first];
        __syncwarp();
        int32_t logical = at.basic - v.columns;
        double unit = unit_of(v, x.entering, at.basic);
        double column = 0;
        double shift = 0;
        for (int32_t k = lane(); k < x.kept; k += 32) {
            column = fma(row[k], own.packed[k], column);
        }
        for (int32_t k = lane(); flips && k < x.kept; k += 32) {
            shift = fma(row[k], v.right[own.kept_row[k]], shift);
        }
        column = warp_sum(column) + unit;
        shift = flips ? warp_sum(shift) + (logical >= 0 ? v.right[logical] : 0) : 0;
        double weight = eliminate(v, x, own.pivot_row, p, row, column, p == x.place ? x.entering : at.basic);
        at.value -= shift + length * column;
        if (p == x.place) {
            if (lane() == 0) {
                v.value[at.basic] = bound;
                v.basic[p] = x.entering;
            }
            at = {v.value[x.entering] + length, v.lower[x.entering], v.upper[x.entering], x.entering};
        }
        if (lane() == 0) {
            v.weight[p] = weight;
            v.value[at.basic] = at.value;
            own.place[p - own.span.first] = at;
            Best offer = offer_of(v, at, p, weight, bland);
            best = precedes(offer, best) ? offer : best;
        }
    }
    return best;
}

/* Which columns are kept after the pivot: in the block's own list and tile, and for its own rows. */
__device__ void move_kept(const HcSimplexView &v, const Own &own, const Exchange &x) {
    auto set_slot = [&](int32_t i, int32_t slot) {
        if (i >= own.span.first && i < own.span.end) {
            v.kept_slot[i] = slot;
        }
    };
    if (own.tile != NULL && x.gone >= 0 && warp() == 0) {
        own.tile[x.gone * TILE + lane()] = own.tile[x.last * TILE + lane()];
    }
    if (threadIdx.x != 0) {
        return;
    }
    if (x.leaving >= v.columns) {
        own.kept_row[x.kept] = x.leaving - v.columns;
        set_slot(x.leaving - v.columns, x.kept);
    }
    if (x.gone >= 0) {
        int32_t moved = own.kept_row[x.last];
        own.kept_row[x.gone] = moved;
        set_slot(moved, x.gone);
        set_slot(x.entering - v.columns, -1);
    }
}

/* A number in [1, 2) of a variable, another one for each seed. */
__device__ double random_of(uint64_t seed, int64_t disturbance, int32_t variable) {
    uint64_t bits = seed + ((uint64_t)disturbance << 32) + (uint64_t)variable;
    bits = (bits ^ bits >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94D049BB133111EB);
    bits ^= bits >> 31;
    return 1 + (double)(bits >> 12) * 0x1p-52;
}

/* The reduced costs and states of the block's variables. A cost is changed where the step would go backwards
 * otherwise. Where costs are disturbed, reduced costs go away from 0, each by another amount, and their costs
 * with them. */
__device__ void move_variables(const HcSimplexView &v, const Own &own, const Exchange &x, double step,
                               double direction, double disturbance, int64_t disturbances) {
    bool backwards = step * direction < 0;
    step = backwards ? 0 : step;
    int32_t thread = (int32_t)threadIdx.x - 32; /* the first warp waits for the others already */
    for_variables(v, (int32_t)blockIdx.x, thread, THREADS - 32, [&](int32_t j) {
        if (j == x.entering) {
            v.cost[j] -= backwards ? v.reduced[j] : 0;
            v.reduced[j] = 0;
            v.place[j] = x.place;
            v.move[j] = 0;
        } else if (j == x.leaving) {
            v.reduced[j] = -step;
            v.place[j] = -1;
            v.move[j] = (int8_t)(v.lower[j] == v.upper[j] ? 0 : direction > 0 ? -1 : 1);
        } else if (v.place[j] < 0) {
            v.reduced[j] -= step * v.row[j];
        }
        if (disturbance > 0 && v.place[j] < 0 && (v.move[j] == 1 || v.move[j] == -1)) {
            double more = disturbance * random_of(v.seed, disturbances, j) * (1 + fabs(v.cost[j]));
            v.cost[j] += more * v.move[j];
            v.reduced[j] += more * v.move[j];
        }
    });
}

/* Counts steps of no length. */
__device__ double watch(HcSimplexState *state, double step) {
    if (fabs(step) > HC_SIMPLEX_NO_DUAL_STEP) {
        state->stalled = 0;
        state->bland = 0;
        return 0;
    }
    if (++state->stalled < HC_SIMPLEX_DUAL_PATIENCE) {
        return 0;
    }
    state->stalled = 0;
    if (state->disturbances < HC_SIMPLEX_DISTURBANCES) {
        return ldexp(HC_SIMPLEX_DISTURBANCE, (int)(2 * state->disturbances++));
    }
    state->bland = 1;
    return 0;
}

__device__ void take_step(const HcSimplexView &v, const Own &own, const Pivot &pivot, const Choice &choice,
                          HcSimplexState *state, Meeting *meeting, Scratch *scratch) {
    const Exchange &x = choice.exchange;
    double direction = pivot.beyond > 0 ? 1 : -1;
    double value = pivot.value;
    double disturbance = watch(state, choice.step * direction < 0 ? 0 : choice.step);
    bool flips = choice.flipped >= 0;
    if (flips) {
        flip(v, own, choice.flipped, *meeting, scratch);
        meeting->number += 2;
        value -= shift_of_leaving(v, own, x, scratch);
    }
    double length = (value - pivot.bound) / choice.alpha;
    Best best = move_places(v, own, x, pivot.bound, length, flips, state->bland != 0);
    state->kept = x.kept_after;
    state->kept_most = state->kept > state->kept_most ? state->kept : state->kept_most;
    state->since_fresh++;
    state->pivots++;
    state->tries = 0;
    offer_leaving(v, own, best, x.kept_after, meeting, scratch);
    move_kept(v, own, x);
    move_variables(v, own, x, choice.step, direction, disturbance, state->disturbances);
    __syncthreads();
}

/* ---- the steps ---- */

__device__ bool step_once(const HcSimplexView &v, const Own &own, HcSimplexState *state, Meeting *meeting,
                          Scratch *scratch) {
    Tested ahead = first_tested(v, own);
    Winner leaving = await(meeting, scratch);
    const double *row = last_offer(v, meeting, leaving.block);
    if (!may_go_on(v, state, meeting, scratch)) {
        return false;
    }
    if (leaving.index == INT32_MAX) {
        state->end = HC_SIMPLEX_DONE;
        return false;
    }
    Pivot pivot = v.pivot[leaving.block];
    double unit = logical_row(v, leaving.index - v.columns, (int32_t)state->kept, (int32_t)blockIdx.x * TILE);
    for (int32_t k = (int32_t)threadIdx.x; k < state->kept; k += THREADS) {
        own.row[k] = row[k];
    }
    find_candidates(v, own, pivot, (int32_t)state->kept, ahead, unit, meeting, scratch);
    Winner least = await(meeting, scratch);
    double most = least.index == INT32_MAX ? (double)INFINITY : -least.merit;
    Choice choice = choose(v, own, pivot, most, *state, scratch);
    if (choice.entering < 0) {
        bool fresh = state->since_fresh == 0;
        state->pause = fresh ? HC_SIMPLEX_ENDED : HC_SIMPLEX_REFRESH;
        state->end = HC_SIMPLEX_BLOCKED;
        state->tries += !fresh;
        state->leaving = pivot.place;
        state->direction = pivot.beyond > 0 ? 1 : -1;
        return false;
    }
    take_step(v, own, pivot, choice, state, meeting, scratch);
    return true;
}

__global__ void __launch_bounds__(THREADS, 1) dual_steps(const __grid_constant__ HcSimplexView v) {
    __shared__ Scratch scratch;
    Meeting meeting = {v.words, 0};
    HcSimplexState state = *v.state;
    __shared__ Own own;
    if (threadIdx.x == 0) {
        own = own_of(v);
    }
    __syncthreads();
    take_own(v, own, (int32_t)state.kept);
    offer_first(v, own, state, &meeting, &scratch);
    while (step_once(v, own, &state, &meeting, &scratch)) {
    }
    give_back(v, own, (int32_t)state.kept);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *v.state = state;
    }
}

} // namespace

HcStatus hc_gpu_simplex_dual(HcSimplex *s, bool boxed, HcSimplexStop *stop, HcError *err) {
    return hc_gpu_simplex_steps(s, (const void *)dual_steps, &s->own->shared, boxed, stop, err);
}
