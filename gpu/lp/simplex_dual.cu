/* Dual simplex steps on the GPU, as cpu/lp/simplex_dual.c has them: steepest edges, a ratio test with
 * tolerances that flips boxed variables as long as that pays, small changes of the costs against steps of no
 * length.
 *
 * A pivot is, for all blocks between two meetings: a row of the inverse times the matrix, and which of the
 * variables may enter; the ratio test, by the first block alone; the column, the inverse, the values and the
 * reduced costs after the pivot, and of each block the farthest of its basic variables. */
#include "gpu/lp/simplex_device.cuh"

using namespace hc_lp;

namespace {

/* What all blocks know of the pivot that they are at. */
struct Pivot {
    int32_t place, leaving;
    double beyond, direction;
    double value; /* of the leaving variable */
};

/* What follows from steps of no length. */
struct Outcome {
    bool bland;
    double disturbance; /* that costs are changed by, relative; 0 = none are */
};

/* ---- who leaves ---- */

__device__ Best offer_of(const HcSimplexView &v, int32_t place, int32_t variable, bool bland) {
    double excess = beyond(v, variable);
    if (excess == 0) {
        return nothing();
    }
    return {bland ? -(double)variable : excess * excess / v.weight[place], place};
}

/* Each warp offers its best place. */
__device__ void offer_leaving(const HcSimplexView &v, Best best, Scratch *scratch) {
    best = block_best(best, scratch);
    if (threadIdx.x == 0) {
        v.leaving_part[blockIdx.x] = {best.merit, 0, 0, best.index};
    }
}

__device__ void offer_first(const HcSimplexView &v, bool bland, Scratch *scratch) {
    Span own = own_rows(v);
    Best best = nothing();
    for (int32_t p = own.first + (int32_t)threadIdx.x; p < own.end; p += THREADS) {
        Best offer = offer_of(v, p, v.basic[p], bland);
        best = precedes(offer, best) ? offer : best;
    }
    offer_leaving(v, best, scratch);
}

/* ---- who may enter ---- */

/* What a variable has to do with the ratio test; returns its ratio with the tolerance, if it may enter. */
__device__ double test(const HcSimplexView &v, int32_t j, double value, double direction) {
    int32_t move = v.move[j];
    double entry = fabs(value);
    double slack = move == 2 ? 0 : fmax(v.reduced[j] * move, 0.0);
    double allowed = (slack + v.tolerance * (1 + fabs(v.cost[j]))) / entry;
    bool open = v.place[j] < 0 && (move == 2 ? entry : direction * value * move) > HC_SIMPLEX_NO_ENTRY;
    v.row[j] = value;
    v.ratio[j] = open ? slack / entry : (double)INFINITY;
    v.allowed[j] = allowed;
    return open ? allowed : (double)INFINITY;
}

/* The row of the leaving variable, and who may enter. */
__device__ void find_candidates(const HcSimplexView &v, const Pivot &pivot, int32_t kept,
                                cg::grid_group &grid, Scratch *scratch) {
    double least = (double)INFINITY;
    price(v, pivot.place, pivot.leaving, kept, grid, scratch,
          [&](int32_t j, double value) { least = fmin(least, test(v, j, value, pivot.direction)); });
    if (warp() == 0) {
        least = warp_least(least);
        if (lane() == 0) {
            v.least[blockIdx.x] = least;
        }
    }
    if (blockIdx.x == 0) {
        for (int32_t k = (int32_t)threadIdx.x; k < kept; k += THREADS) {
            v.raw_row[k] = v.inverse[pivot.place * v.stride + k];
        }
    }
}

/* ---- who enters: by the first block ---- */

/* A group of candidates: those with ratios in (above, most]. */
struct Group {
    double slope; /* what flipping them takes of the slope of the dual objective */
    Best best;    /* the one with the largest entry, or with Bland's rule the smallest ratio */
};

__device__ Group look_at(const HcSimplexView &v, double above, double most, bool bland, Scratch *scratch) {
    Group group = {0, nothing()};
#pragma unroll 8
    for (int32_t j = (int32_t)threadIdx.x; j < v.all; j += THREADS) {
        double ratio = v.ratio[j];
        if (ratio > above && ratio <= most) {
            double entry = fabs(v.row[j]);
            Best offer = {bland ? -ratio : entry, j};
            group.slope = fma(v.upper[j] - v.lower[j], entry, group.slope);
            group.best = precedes(offer, group.best) ? offer : group.best;
        }
    }
    group.slope = block_sum(group.slope, scratch);
    group.best = block_best(group.best, scratch);
    return group;
}

/* The smallest ratio with the tolerance of those above `most`; infinite = there are none. */
__device__ double next_of(const HcSimplexView &v, double most, Scratch *scratch) {
    double next = (double)INFINITY;
#pragma unroll 8
    for (int32_t j = (int32_t)threadIdx.x; j < v.all; j += THREADS) {
        double ratio = v.ratio[j];
        if (ratio > most && ratio < (double)INFINITY) {
            next = fmin(next, v.allowed[j]);
        }
    }
    return block_least(next, scratch);
}

/* Groups one after the other, as long as flipping all of a group leaves the basic variable beyond its bound;
 * of the groups, the last one with an entry that is not much smaller than the largest. Candidates with ratios
 * up to *flipped are to be flipped. -1 = the step never ends, since the variable stays beyond its bound by
 * more than `least` whatever is flipped. */
__device__ int32_t choose_entering(const HcSimplexView &v, double excess, double least, bool bland,
                                   double *flipped, Scratch *scratch) {
    int32_t chosen = -1;
    double above = -1;
    double most = least_part(v.least, scratch);
    double slope = fabs(excess);
    double largest = 0;
    while (most < (double)INFINITY) {
        Group group = look_at(v, above, most, bland, scratch);
        slope -= group.slope;
        largest = fmax(largest, group.best.merit);
        if (chosen < 0 || group.best.merit >= fmin(0.1 * largest, 1.0)) {
            chosen = group.best.index;
            *flipped = above;
        }
        if (slope < 0 || bland) {
            return chosen;
        }
        above = most;
        most = next_of(v, most, scratch);
    }
    return slope > least ? -1 : chosen;
}

/* Candidates go to their other bounds; returns whether any does. */
__device__ bool flip(const HcSimplexView &v, double flipped) {
    bool any = false;
    for (int32_t j = (int32_t)threadIdx.x; flipped >= 0 && j < v.all; j += THREADS) {
        if (v.ratio[j] <= flipped) {
            double to = v.move[j] > 0 ? v.upper[j] : v.lower[j];
            v.delta[j] = to - v.value[j];
            v.value[j] = to;
            v.move[j] = (int8_t)-v.move[j];
            any = true;
        }
    }
    return __syncthreads_or(any) != 0;
}

/* A cost is changed where the step would go backwards otherwise. Returns its length, with a sign. */
__device__ double dual_step(const HcSimplexView &v, int32_t entering, double direction) {
    double reduced = v.reduced[entering];
    double step = reduced / v.row[entering];
    __syncthreads();
    if (step * direction >= 0) {
        return step;
    }
    if (threadIdx.x == 0) {
        v.cost[entering] -= reduced;
        v.reduced[entering] = 0;
    }
    return 0;
}

/* What the entering column has in the rows of kept columns; returns the pivot. */
__device__ double pack(const HcSimplexView &v, const Pivot &pivot, int32_t entering, int32_t kept,
                       Scratch *scratch) {
    double sum = 0;
    for (int32_t k = (int32_t)threadIdx.x; k < kept; k += THREADS) {
        double entry = entry_of(v, entering, v.kept_row[k]);
        v.packed[k] = entry;
        sum = fma(v.raw_row[k], entry, sum);
    }
    sum = block_sum(sum, scratch);
    return pivot.leaving >= v.columns ? sum + entry_of(v, entering, pivot.leaving - v.columns) : sum;
}

__device__ void choose(const HcSimplexView &v, const Pivot &pivot, bool boxed, bool fresh, bool bland,
                       int32_t kept, Scratch *scratch) {
    HcSimplexChoice choice = {HC_SIMPLEX_ENDED, HC_SIMPLEX_BLOCKED, -1, -1, 0, 0, 0};
    double flipped = -1;
    double least = boxed ? (double)INFINITY : 2 * v.tolerance * (1 + fabs(pivot.value));
    int32_t entering = choose_entering(v, pivot.beyond, least, bland, &flipped, scratch);
    bool poor = entering < 0 || fabs(v.row[entering]) < HC_SIMPLEX_POOR_ENTRY;
    if (poor && !fresh) {
        choice.pause = HC_SIMPLEX_REFRESH;
    } else if (entering >= 0) {
        choice.entering = entering;
        choice.gone = slot_of(v, entering);
        choice.step = dual_step(v, entering, pivot.direction);
        choice.flips = flip(v, flipped);
        choice.alpha = pack(v, pivot, entering, kept, scratch);
        divide_row(v, exchange_of(v, pivot.place, entering, pivot.leaving, kept, choice.gone), v.raw_row,
                   choice.alpha);
    }
    if (threadIdx.x == 0) {
        *v.choice = choice;
    }
}

/* ---- the step ---- */

/* right = what bound flips change A x by; in the rows of kept columns packed_shift as well. */
__device__ void add_flips(const HcSimplexView &v) {
    Span own = own_rows(v);
    for (int32_t i = own.first + warp(); i < own.end; i += WARPS) {
        double sum = line_product(v.by_row, i, v.delta) + v.delta[v.columns + i];
        if (lane() == 0) {
            v.right[i] = sum;
            if (v.kept_slot[i] >= 0) {
                v.packed_shift[v.kept_slot[i]] = sum;
            }
        }
    }
}

/* How far bound flips move the leaving variable. */
__device__ double shift_of_leaving(const HcSimplexView &v, const Pivot &pivot, int32_t kept,
                                   Scratch *scratch) {
    double sum = 0;
    for (int32_t k = (int32_t)threadIdx.x; k < kept; k += THREADS) {
        sum = fma(v.raw_row[k], v.packed_shift[k], sum);
    }
    sum = block_sum(sum, scratch);
    return pivot.leaving >= v.columns ? sum + v.right[pivot.leaving - v.columns] : sum;
}

/* The values, rows of the inverse and weights of a block's places; and the farthest of them. */
__device__ Best move_places(const HcSimplexView &v, const Exchange &x, double bound, double length,
                            bool flips, bool bland) {
    Span own = own_rows(v);
    Best best = nothing();
    for (int32_t p = own.first + warp(); p < own.end; p += WARPS) {
        const double *row = v.inverse + p * v.stride;
        int32_t before = v.basic[p];
        int32_t basic = p == x.place ? x.entering : before;
        int32_t logical = before - v.columns;
        double column = 0;
        double shift = 0;
        for (int32_t k = lane(); k < x.kept; k += 32) {
            column = fma(row[k], v.packed[k], column);
        }
        for (int32_t k = lane(); flips && k < x.kept; k += 32) {
            shift = fma(row[k], v.packed_shift[k], shift);
        }
        column = warp_sum(column) + (logical >= 0 ? entry_of(v, x.entering, logical) : 0);
        shift = flips ? warp_sum(shift) + (logical >= 0 ? v.right[logical] : 0) : 0;
        double weight = eliminate(v, x, p, column, basic);
        if (lane() == 0) {
            v.weight[p] = weight;
            v.basic[p] = basic;
            v.value[before] = p == x.place ? bound : v.value[before] - (shift + length * column);
            v.value[basic] += p == x.place ? length : 0;
            Best offer = offer_of(v, p, basic, bland);
            best = precedes(offer, best) ? offer : best;
        }
    }
    return best;
}

/* A number in [1, 2) of a variable, another one for each seed. */
__device__ double random_of(uint64_t seed, int64_t disturbance, int32_t variable) {
    uint64_t bits = seed + ((uint64_t)disturbance << 32) + (uint64_t)variable;
    bits = (bits ^ bits >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94D049BB133111EB);
    bits ^= bits >> 31;
    return 1 + (double)(bits >> 12) * 0x1p-52;
}

/* The reduced costs and states of a thread's variables. Where costs are disturbed, reduced costs go away from
 * 0, each by another amount, and their costs with them. */
__device__ void move_variables(const HcSimplexView &v, const Exchange &x, const HcSimplexChoice &choice,
                               double direction, double disturbance, int64_t disturbances) {
    for (int32_t j = first_variable(); j < v.all; j += stride_variables()) {
        if (choice.flips != 0) {
            v.delta[j] = 0;
        }
        if (j == x.entering) {
            v.reduced[j] = 0;
            v.place[j] = x.place;
            v.move[j] = 0;
        } else if (j == x.leaving) {
            v.reduced[j] = -choice.step;
            v.place[j] = -1;
            v.move[j] = (int8_t)(v.lower[j] == v.upper[j] ? 0 : direction > 0 ? -1 : 1);
        } else if (v.place[j] < 0) {
            v.reduced[j] -= choice.step * v.row[j];
        }
        if (disturbance > 0 && v.place[j] < 0 && (v.move[j] == 1 || v.move[j] == -1)) {
            double more = disturbance * random_of(v.seed, disturbances, j) * (1 + fabs(v.cost[j]));
            v.cost[j] += more * v.move[j];
            v.reduced[j] += more * v.move[j];
        }
    }
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

__device__ void take_step(const HcSimplexView &v, const Pivot &pivot, const HcSimplexChoice &choice,
                          HcSimplexState *state, cg::grid_group &grid, Scratch *scratch) {
    Exchange x =
        exchange_of(v, pivot.place, choice.entering, pivot.leaving, (int32_t)state->kept, choice.gone);
    double value = pivot.value;
    double disturbance = watch(state, choice.step);
    if (choice.flips != 0) {
        add_flips(v);
        grid.sync();
        value -= shift_of_leaving(v, pivot, x.kept, scratch);
    }
    double bound = pivot.direction > 0 ? v.upper[pivot.leaving] : v.lower[pivot.leaving];
    double length = (value - bound) / choice.alpha;
    Best best = move_places(v, x, bound, length, choice.flips != 0, state->bland != 0);
    move_variables(v, x, choice, pivot.direction, disturbance, state->disturbances);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        exchange_kept(v, x);
    }
    offer_leaving(v, best, scratch);
    state->kept = x.kept_after;
    state->kept_most = state->kept > state->kept_most ? state->kept : state->kept_most;
    state->since_fresh++;
    state->pivots++;
    state->tries = 0;
}

/* ---- the steps ---- */

__device__ bool step_once(const HcSimplexView &v, HcSimplexState *state, cg::grid_group &grid,
                          Scratch *scratch) {
    if (!may_go_on(v, state, grid, scratch)) {
        return false;
    }
    int32_t place = best_part(v.leaving_part, scratch).index;
    if (place == INT32_MAX) {
        state->end = HC_SIMPLEX_DONE;
        return false;
    }
    Pivot pivot = {place, v.basic[place], 0, 0, 0};
    pivot.value = v.value[pivot.leaving];
    pivot.beyond = beyond(v, pivot.leaving);
    pivot.direction = pivot.beyond > 0 ? 1 : -1;
    find_candidates(v, pivot, (int32_t)state->kept, grid, scratch);
    grid.sync();
    if (blockIdx.x == 0) {
        choose(v, pivot, state->boxed != 0, state->since_fresh == 0, state->bland != 0, (int32_t)state->kept,
               scratch);
    }
    grid.sync();
    HcSimplexChoice choice = *v.choice;
    if (choice.entering < 0) {
        state->pause = choice.pause;
        state->end = choice.end;
        state->tries += choice.pause == HC_SIMPLEX_REFRESH;
        state->leaving = place;
        state->direction = pivot.direction;
        return false;
    }
    take_step(v, pivot, choice, state, grid, scratch);
    grid.sync();
    return true;
}

__global__ void __launch_bounds__(THREADS, 1) dual_steps(HcSimplexView v) {
    __shared__ Scratch scratch;
    cg::grid_group grid = cg::this_grid();
    HcSimplexState state = *v.state;
    offer_first(v, state.bland != 0, &scratch);
    grid.sync();
    while (step_once(v, &state, grid, &scratch)) {
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *v.state = state;
    }
}

} // namespace

HcStatus hc_gpu_simplex_dual(HcSimplex *s, bool boxed, HcSimplexStop *stop, HcError *err) {
    return hc_gpu_simplex_steps(s, (const void *)dual_steps, boxed, stop, err);
}
