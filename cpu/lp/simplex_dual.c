/* Dual simplex steps: the basic variable that leaves is the farthest beyond its bounds for the length of its
 * row of the inverse (steepest edge: Forrest and Goldfarb 1992), the one that enters comes from a ratio test
 * with tolerances (Harris 1973) that flips boxed variables as long as that pays (Maros 2003). Steps of no
 * length, which could go in a circle, are ended by small changes of the costs and, should there be too many
 * of them, by taking the variables in their order (Bland 1977). */
#include "cpu/lp/simplex.h"

/* ---- who leaves ---- */

static int64_t choose_leaving(const HcSimplex *s, bool bland) {
    int64_t best = -1;
    double most = 0;
    for (int64_t p = 0; p < s->rows; p++) {
        double beyond = hc_simplex_beyond(s, s->basic[p]);
        double merit = beyond * beyond / s->own->weight[p];
        bool better = bland ? best < 0 || s->basic[p] < s->basic[best] : merit > most;
        if (beyond != 0 && better) {
            best = p;
            most = merit;
        }
    }
    return best;
}

/* ---- who enters ---- */

/* The variables whose reduced costs a step in this direction brings towards 0, with |entry| as `ratio`. */
static int64_t find_candidates(HcSimplex *s, double direction) {
    int64_t count = 0;
    for (int64_t j = 0; j < s->all; j++) {
        double entry = direction * s->row[j];
        bool open =
            s->move[j] == 2 ? fabs(entry) > HC_SIMPLEX_NO_ENTRY : entry * s->move[j] > HC_SIMPLEX_NO_ENTRY;
        s->own->candidate[count] = (int32_t)j;
        count += open && s->place[j] < 0;
    }
    return count;
}

/* How far a reduced cost is from changing its sign. */
static double slack_of(const HcSimplex *s, int64_t j) {
    return s->move[j] == 2 ? 0 : fmax(s->reduced[j] * s->move[j], 0);
}

/* The length of the step at which some reduced cost would be wrong by the tolerance. */
static double reach_of(const HcSimplex *s, const int32_t *candidate, int64_t count) {
    double reach = (double)INFINITY;
    for (int64_t c = 0; c < count; c++) {
        int64_t j = candidate[c];
        double allowed = slack_of(s, j) + s->tolerance * (1 + fabs(s->cost[j]));
        reach = fmin(reach, allowed / fabs(s->row[j]));
    }
    return reach;
}

/* The first group of candidates within reach goes to the front; returns how many there are. */
static int64_t split(const HcSimplex *s, double reach, int32_t *candidate, int64_t count) {
    int64_t front = 0;
    for (int64_t c = 0; c < count; c++) {
        int32_t j = candidate[c];
        if (slack_of(s, j) / fabs(s->row[j]) <= reach) { /* divided as in reach_of, so that one is within */
            candidate[c] = candidate[front];
            candidate[front++] = j;
        }
    }
    return front;
}

/* What flipping the candidates takes of the slope of the dual objective; and their largest entry. */
static double slope_of(const HcSimplex *s, const int32_t *candidate, int64_t count, double *largest) {
    double slope = 0;
    *largest = 0;
    for (int64_t c = 0; c < count; c++) {
        int64_t j = candidate[c];
        slope += (s->upper[j] - s->lower[j]) * fabs(s->row[j]);
        *largest = fmax(*largest, fabs(s->row[j]));
    }
    return slope;
}

/* The candidate with the largest entry, or the lowest number of those with the smallest ratio. */
static int64_t choose_of(const HcSimplex *s, const int32_t *candidate, int64_t count, bool bland) {
    int64_t best = candidate[0];
    for (int64_t c = 1; c < count; c++) {
        int64_t j = candidate[c];
        double entry = fabs(s->row[j]);
        double ratio = slack_of(s, j) * fabs(s->row[best]) - slack_of(s, best) * entry;
        bool better = bland ? ratio < 0 || (ratio == 0 && j < best)
                            : entry > fabs(s->row[best]) || (entry == fabs(s->row[best]) && j < best);
        best = better ? j : best;
    }
    return best;
}

/* Groups of candidates one after the other, as long as flipping all of a group leaves the basic variable
 * beyond its bound; of the groups, the last one with an entry that is not much smaller than the largest.
 * Candidates in front of it are to be flipped: `flips` of them. -1 = the step never ends, since the variable
 * stays beyond its bound by more than `least` whatever is flipped. */
static int64_t choose_entering(HcSimplex *s, int64_t count, double beyond, double least, bool bland,
                               int64_t *flips) {
    int64_t first = 0;  /* of the group that is looked at */
    int64_t chosen = 0; /* of the group to choose from */
    int64_t chosen_end = 0;
    double slope = fabs(beyond);
    double all_largest = 0;
    while (first < count) {
        double largest = 0;
        double reach = reach_of(s, s->own->candidate + first, count - first);
        int64_t end = first + split(s, reach, s->own->candidate + first, count - first);
        slope -= slope_of(s, s->own->candidate + first, end - first, &largest);
        all_largest = fmax(all_largest, largest);
        if (chosen_end == 0 || largest >= fmin(0.1 * all_largest, 1)) {
            chosen = first;
            chosen_end = end;
        }
        if (slope < 0 || bland) {
            break;
        }
        first = end;
    }
    *flips = chosen;
    if (chosen_end == 0 || (first >= count && slope > least)) {
        return -1;
    }
    return choose_of(s, s->own->candidate + chosen, chosen_end - chosen, bland);
}

/* ---- the step ---- */

/* Candidates go to their other bounds, and the basic variables with them. */
static void flip(HcSimplex *s, int64_t flips) {
    if (flips == 0) {
        return;
    }
    memset(s->own->right, 0, (size_t)s->rows * sizeof *s->own->right);
    for (int64_t c = 0; c < flips; c++) {
        int64_t j = s->own->candidate[c];
        double before = s->value[j];
        s->value[j] = s->move[j] > 0 ? s->upper[j] : s->lower[j];
        s->move[j] = (int8_t)-s->move[j];
        hc_simplex_add_column(s, j, s->value[j] - before, s->own->right);
    }
    hc_simplex_multiply(s, s->own->right, s->own->shift);
    for (int64_t p = 0; p < s->rows; p++) {
        s->value[s->basic[p]] -= s->own->shift[p];
    }
}

/* A cost is changed where the step would go backwards otherwise. Returns its length, with a sign. */
static double dual_step(HcSimplex *s, int64_t entering, double direction) {
    double step = s->reduced[entering] / s->row[entering];
    if (step * direction >= 0) {
        return step;
    }
    s->cost[entering] -= s->reduced[entering];
    s->reduced[entering] = 0;
    return 0;
}

static void move_reduced(HcSimplex *s, double step) {
    if (step == 0) {
        return;
    }
    for (int64_t j = 0; j < s->all; j++) {
        s->reduced[j] -= s->place[j] < 0 ? step * s->row[j] : 0;
    }
}

static HcStatus pivot(HcSimplex *s, int64_t place, int64_t entering, double direction, double step,
                      HcError *err) {
    int64_t leaving = s->basic[place];
    double bound = direction > 0 ? s->upper[leaving] : s->lower[leaving];
    double length = (s->value[leaving] - bound) / s->column[place];
    move_reduced(s, step);
    for (int64_t p = 0; p < s->rows; p++) {
        s->value[s->basic[p]] -= length * s->column[p];
    }
    s->value[entering] += length;
    HC_OR_RETURN(hc_simplex_exchange(s, place, entering, err));
    s->value[leaving] = bound;
    s->reduced[leaving] = -step;
    s->reduced[entering] = 0;
    s->move[leaving] = (int8_t)(s->lower[leaving] == s->upper[leaving] ? 0 : direction > 0 ? -1 : 1);
    s->pivots++;
    return HC_OK;
}

/* Reduced costs go away from 0, each by another amount, and their costs with them. */
static void disturb(HcSimplex *s, double scale) {
    for (int64_t j = 0; j < s->all; j++) {
        double more = scale * hc_simplex_random(s) * (1 + fabs(s->cost[j]));
        if (s->place[j] < 0 && (s->move[j] == 1 || s->move[j] == -1)) {
            s->cost[j] += more * s->move[j];
            s->reduced[j] += more * s->move[j];
        }
    }
}

/* Steps of no length in a row. */
typedef struct Stall {
    int64_t steps;
    int32_t disturbances;
    bool bland;
} Stall;

static void watch(HcSimplex *s, Stall *stall, double step) {
    if (fabs(step) > HC_SIMPLEX_NO_DUAL_STEP) {
        stall->steps = 0;
        stall->bland = false;
        return;
    }
    if (++stall->steps < HC_SIMPLEX_DUAL_PATIENCE) {
        return;
    }
    stall->steps = 0;
    if (stall->disturbances < HC_SIMPLEX_DISTURBANCES) {
        disturb(s, ldexp(HC_SIMPLEX_DISTURBANCE, 2 * stall->disturbances++));
    } else {
        stall->bland = true;
    }
}

HcStatus hc_simplex_dual(HcSimplex *s, bool boxed, HcSimplexStop *stop, HcError *err) {
    Stall stall = {0};
    int tries = 0; /* refreshes since the last pivot */
    for (;;) {
        if (s->pivots >= s->limit || tries > HC_SIMPLEX_TRIES) {
            stop->end = HC_SIMPLEX_STOPPED;
            break;
        }
        if (s->own->since_fresh > 0 && s->own->since_fresh % HC_SIMPLEX_CHECK == 0 && hc_simplex_drifted(s)) {
            HC_OR_RETURN(hc_simplex_refresh(s, err));
        }
        int64_t place = choose_leaving(s, stall.bland);
        if (place < 0) {
            stop->end = HC_SIMPLEX_DONE;
            break;
        }
        double beyond = hc_simplex_beyond(s, s->basic[place]);
        double direction = beyond > 0 ? 1 : -1;
        int64_t flips = 0;
        hc_simplex_take_row(s, place);
        int64_t count = find_candidates(s, direction);
        double least = boxed ? (double)INFINITY : 2 * s->tolerance * (1 + fabs(s->value[s->basic[place]]));
        int64_t entering = choose_entering(s, count, beyond, least, stall.bland, &flips);
        bool fresh = s->own->since_fresh == 0;
        if (!fresh && (entering < 0 || fabs(s->row[entering]) < HC_SIMPLEX_POOR_ENTRY)) {
            HC_OR_RETURN(hc_simplex_refresh(s, err));
            tries++;
            continue;
        }
        if (entering < 0) {
            *stop = (HcSimplexStop){.end = HC_SIMPLEX_BLOCKED, .leaving = place, .direction = direction};
            break;
        }
        double step = dual_step(s, entering, direction);
        flip(s, flips);
        memset(s->own->right, 0, (size_t)s->rows * sizeof *s->own->right);
        hc_simplex_add_column(s, entering, 1, s->own->right);
        hc_simplex_multiply(s, s->own->right, s->column);
        HC_OR_RETURN(pivot(s, place, entering, direction, step, err));
        watch(s, &stall, step);
        tries = 0;
    }
    return HC_OK;
}
