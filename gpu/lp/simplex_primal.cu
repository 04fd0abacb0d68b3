/* Primal simplex steps on the GPU, as cpu/lp/simplex_primal.c has them: Devex reference weights, a ratio test
 * with tolerances, Bland's rule against steps of no length.
 *
 * A pivot is, for all blocks between two meetings: the column of the entering variable, and how far it may
 * go; of the places within reach the one with the largest entry; the row of that place times the matrix; the
 * inverse, the values and the reduced costs after the pivot, and of each block the variable that pays most.
 */
#include "gpu/lp/simplex_device.cuh"

using namespace hc_lp;

namespace {

/* What all blocks know of the step that they are at. */
struct Step {
    int32_t entering;
    double reduced, weight; /* of the entering variable */
    double direction;       /* in which it goes */
    double range;           /* between its bounds */
};

/* ---- who enters ---- */

__device__ Best offer_of(const HcSimplexView &v, int32_t j, bool bland) {
    double reduced = v.reduced[j];
    if (v.place[j] >= 0 || !hc_simplex_pays(v.move[j], reduced, v.cost[j], v.tolerance)) {
        return nothing();
    }
    return {bland ? -(double)j : reduced * reduced / v.devex[j], j};
}

__device__ void offer_entering(const HcSimplexView &v, Best best, Scratch *scratch) {
    best = block_best(best, scratch);
    if (threadIdx.x == 0) {
        bool any = best.index != INT32_MAX;
        v.entering_part[blockIdx.x] = {best.merit, any ? v.reduced[best.index] : 0,
                                       any ? v.devex[best.index] : 0, best.index};
    }
}

/* At the beginning the weights of all are 1. */
__device__ void offer_first(const HcSimplexView &v, const HcSimplexState &state, Scratch *scratch) {
    Best best = nothing();
    for (int32_t j = first_variable(); j < v.all; j += stride_variables()) {
        v.devex[j] = state.begun ? v.devex[j] : 1;
        Best offer = offer_of(v, j, state.bland != 0);
        best = precedes(offer, best) ? offer : best;
    }
    offer_entering(v, best, scratch);
}

/* ---- who leaves ---- */

/* How far a basic variable is from the bound that it moves to, at `rate` for each unit that enters; not less
 * than 0. */
__device__ double distance_of(const HcSimplexView &v, int32_t j, double rate) {
    double distance = rate > 0 ? v.upper[j] - v.value[j] : v.value[j] - v.lower[j];
    return fmax(distance, 0.0);
}

/* column = inverse times that of the entering variable, and the length at which some basic variable of the
 * block would be beyond its bound, by its tolerance but with Bland's rule. */
__device__ void find_reach(const HcSimplexView &v, const Step &step, int32_t kept, bool bland,
                           Scratch *scratch) {
    Span own = own_rows(v);
    double reach = (double)INFINITY;
    for (int32_t p = own.first + warp(); p < own.end; p += WARPS) {
        const double *row = v.inverse + p * v.stride;
        int32_t basic = v.basic[p];
        double column = 0;
        for (int32_t k = lane(); k < kept; k += 32) {
            column = fma(row[k], entry_of(v, step.entering, v.kept_row[k]), column);
        }
        column = warp_sum(column);
        column += basic >= v.columns ? entry_of(v, step.entering, basic - v.columns) : 0;
        double rate = -step.direction * column;
        double most = distance_of(v, basic, rate);
        double bound = rate > 0 ? v.upper[basic] : v.lower[basic];
        if (lane() == 0) {
            v.column[p] = column;
        }
        if (fabs(rate) > HC_SIMPLEX_NO_ENTRY && most < (double)INFINITY) {
            reach = fmin(reach, (most + (bland ? 0 : v.tolerance * (1 + fabs(bound)))) / fabs(rate));
        }
    }
    reach = block_least(reach, scratch);
    if (threadIdx.x == 0) {
        v.least[blockIdx.x] = reach;
    }
}

/* Of the block's places within reach the one with the largest entry, or with Bland's rule the lowest
 * variable. */
__device__ void offer_leaving(const HcSimplexView &v, const Step &step, double reach, bool bland,
                              Scratch *scratch) {
    Span own = own_rows(v);
    Best best = nothing();
    for (int32_t p = own.first + (int32_t)threadIdx.x; p < own.end; p += THREADS) {
        double rate = -step.direction * v.column[p];
        bool within = fabs(rate) > HC_SIMPLEX_NO_ENTRY && reach < (double)INFINITY &&
                      distance_of(v, v.basic[p], rate) / fabs(rate) <= reach;
        Best offer = {bland ? -(double)v.basic[p] : fabs(rate), p};
        best = within && precedes(offer, best) ? offer : best;
    }
    best = block_best(best, scratch);
    if (threadIdx.x == 0) {
        double rate = best.index != INT32_MAX ? -step.direction * v.column[best.index] : 1;
        double most = best.index != INT32_MAX ? distance_of(v, v.basic[best.index], rate) : 0;
        v.leaving_part[blockIdx.x] = {best.merit, rate, most, best.index};
    }
}

/* ---- the step ---- */

/* The entering variable goes to its other bound. */
__device__ void flip(const HcSimplexView &v, const Step &step, bool bland, Scratch *scratch) {
    Span own = own_rows(v);
    Best best = nothing();
    for (int32_t p = own.first + (int32_t)threadIdx.x; p < own.end; p += THREADS) {
        v.value[v.basic[p]] -= step.direction * step.range * v.column[p];
    }
    for (int32_t j = first_variable(); j < v.all; j += stride_variables()) {
        if (j == step.entering) {
            v.value[j] = step.direction > 0 ? v.upper[j] : v.lower[j];
            v.move[j] = (int8_t)-v.move[j];
        }
        Best offer = offer_of(v, j, bland);
        best = precedes(offer, best) ? offer : best;
    }
    offer_entering(v, best, scratch);
}

/* The row of the place that leaves, and what becomes of that of the inverse. */
__device__ void find_row(const HcSimplexView &v, const Exchange &x, double alpha, Meeting *meeting,
                         Scratch *scratch) {
    price(v, x.place, x.leaving, x.kept, meeting, scratch,
          [&](int32_t j, double value) { v.row[j] = value; });
    if (blockIdx.x == 0) {
        divide_row(x, v.inverse + x.place * v.stride, alpha, v.pivot_row);
    }
}

/* Values, rows of the inverse and their lengths. */
__device__ void move_places(const HcSimplexView &v, const Exchange &x, double length) {
    Span own = own_rows(v);
    for (int32_t p = own.first + warp(); p < own.end; p += WARPS) {
        int32_t before = v.basic[p];
        int32_t basic = p == x.place ? x.entering : before;
        double column = v.column[p];
        double weight = eliminate(v, x, v.pivot_row, p, v.inverse + p * v.stride, column, basic);
        if (lane() == 0) {
            v.weight[p] = weight;
            v.basic[p] = basic;
            v.value[before] -= length * column;
            v.value[basic] += p == x.place ? length : 0;
        }
    }
}

/* Reduced costs, reference weights and states, and which variable of the block pays most. What leaves stays
 * where it is, at its bound except for the tolerance, so that A x + t = 0 stays true. */
__device__ void move_variables(const HcSimplexView &v, const Exchange &x, const Step &step, double alpha,
                               double rate, bool bland, Scratch *scratch) {
    Best best = nothing();
    double change = step.reduced / alpha;
    bool reset = step.weight > HC_SIMPLEX_WEIGHT_MAX;
    double weight = reset ? 1 : step.weight;
    for (int32_t j = first_variable(); j < v.all; j += stride_variables()) {
        double entry = v.row[j] / alpha;
        double before = reset ? 1 : v.devex[j];
        v.devex[j] = fmax(before, entry * entry * weight);
        if (j == x.entering) {
            v.reduced[j] = 0;
            v.place[j] = x.place;
            v.move[j] = 0;
        } else if (j == x.leaving) {
            v.reduced[j] = -change;
            v.devex[j] = fmax(weight / (alpha * alpha), 1.0);
            v.place[j] = -1;
            v.move[j] = (int8_t)(v.lower[j] == v.upper[j] ? 0 : rate > 0 ? -1 : 1);
        } else if (v.place[j] < 0) {
            v.reduced[j] -= change * v.row[j];
        }
        Best offer = offer_of(v, j, bland);
        best = precedes(offer, best) ? offer : best;
    }
    offer_entering(v, best, scratch);
}

/* ---- the steps ---- */

/* Whether the step is one; if not, state says why. */
__device__ bool is_step(const Step &step, const HcSimplexPart &leaving, double length,
                        HcSimplexState *state) {
    bool blocked = length == (double)INFINITY && step.range == (double)INFINITY;
    bool poor = fabs(leaving.first) < HC_SIMPLEX_POOR_ENTRY && step.range > length;
    if (state->since_fresh > 0 && (blocked || poor)) {
        state->pause = HC_SIMPLEX_REFRESH;
        state->tries++;
        return false;
    }
    if (blocked) {
        state->end = HC_SIMPLEX_BLOCKED;
        state->entering = step.entering;
        state->direction = step.direction;
        return false;
    }
    double gain = fmin(length, step.range) * fabs(step.reduced);
    state->stalled = gain > HC_SIMPLEX_NO_PRIMAL_STEP ? 0 : state->stalled + 1;
    state->bland = state->stalled >= HC_SIMPLEX_PRIMAL_PATIENCE;
    state->pivots++;
    state->tries = 0;
    return true;
}

__device__ void exchange(const HcSimplexView &v, const Step &step, const HcSimplexPart &leaving,
                         double length, HcSimplexState *state, Meeting *meeting, Scratch *scratch) {
    double alpha = -step.direction * leaving.first;
    Exchange x = exchange_of(v, leaving.index, step.entering, v.basic[leaving.index], (int32_t)state->kept,
                             slot_of(v, step.entering));
    find_row(v, x, alpha, meeting, scratch);
    meet(meeting, scratch);
    move_places(v, x, step.direction * length);
    move_variables(v, x, step, alpha, leaving.first, state->bland != 0, scratch);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        exchange_kept(v, x);
    }
    state->kept = x.kept_after;
    state->kept_most = state->kept > state->kept_most ? state->kept : state->kept_most;
    state->since_fresh++;
}

__device__ bool step_once(const HcSimplexView &v, HcSimplexState *state, Meeting *meeting, Scratch *scratch) {
    if (!may_go_on(v, state, meeting, scratch)) {
        return false;
    }
    HcSimplexPart entering = best_part(v.entering_part, scratch);
    if (entering.index == INT32_MAX) {
        state->end = HC_SIMPLEX_DONE;
        return false;
    }
    bool bland = state->bland != 0;
    Step step = {entering.index, entering.first, entering.second, entering.first < 0 ? 1.0 : -1.0,
                 v.upper[entering.index] - v.lower[entering.index]};
    find_reach(v, step, (int32_t)state->kept, bland, scratch);
    meet(meeting, scratch);
    offer_leaving(v, step, least_part(v.least, scratch), bland, scratch);
    meet(meeting, scratch);
    HcSimplexPart leaving = best_part(v.leaving_part, scratch);
    bool any = leaving.index != INT32_MAX;
    double length = any ? leaving.second / fabs(leaving.first) : (double)INFINITY;
    leaving.first = any ? leaving.first : 1;
    if (!is_step(step, leaving, length, state)) {
        return false;
    }
    if (step.range <= length) {
        flip(v, step, state->bland != 0, scratch);
    } else {
        exchange(v, step, leaving, length, state, meeting, scratch);
    }
    meet(meeting, scratch);
    return true;
}

__global__ void __launch_bounds__(THREADS, 1) primal_steps(const __grid_constant__ HcSimplexView v) {
    __shared__ Scratch scratch;
    Meeting meeting = {v.words, 0};
    HcSimplexState state = *v.state;
    offer_first(v, state, &scratch);
    state.begun = 1;
    meet(&meeting, &scratch);
    while (step_once(v, &state, &meeting, &scratch)) {
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *v.state = state;
    }
}

} // namespace

HcStatus hc_gpu_simplex_primal(HcSimplex *s, HcSimplexStop *stop, HcError *err) {
    return hc_gpu_simplex_steps(s, (const void *)primal_steps, NULL, false, stop, err);
}
