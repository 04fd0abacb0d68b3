/* Primal simplex steps: the variable that enters improves most for its Devex reference weight (Forrest and
 * Goldfarb 1992), the one that leaves comes from a ratio test with tolerances (Harris 1973). Where many steps
 * in a row have no length, variables are taken in their order (Bland 1977) until one has, so that steps
 * cannot go in a circle. */
#include "cpu/lp/simplex.h"

static int64_t choose_entering(const HcSimplex *s, bool bland) {
    int64_t best = -1;
    double most = 0;
    for (int64_t j = 0; j < s->all; j++) {
        if (s->place[j] >= 0 || !hc_simplex_improves(s, j)) {
            continue;
        }
        double merit = s->reduced[j] * s->reduced[j] / s->own->devex[j];
        if (bland) {
            return j;
        }
        if (merit > most) {
            best = j;
            most = merit;
        }
    }
    return best;
}

/* How far a basic variable is from the bound that it moves to, at `rate` for each unit that enters. */
static double distance(const HcSimplex *s, int64_t j, double rate) {
    return rate > 0 ? s->upper[j] - s->value[j] : s->value[j] - s->lower[j];
}

static double tolerance_of(const HcSimplex *s, int64_t j, double rate) {
    return s->tolerance * (1 + fabs(rate > 0 ? s->upper[j] : s->lower[j]));
}

/* The length at which some basic variable would be beyond its bound, by its tolerance if there is one. */
static double reach_of(const HcSimplex *s, double direction, bool tolerant) {
    double reach = (double)INFINITY;
    for (int64_t p = 0; p < s->rows; p++) {
        double rate = -direction * s->column[p];
        double slack = distance(s, s->basic[p], rate);
        if (fabs(rate) > HC_SIMPLEX_NO_ENTRY && slack < (double)INFINITY) {
            double more = tolerant ? tolerance_of(s, s->basic[p], rate) : 0;
            reach = fmin(reach, (fmax(slack, 0) + more) / fabs(rate));
        }
    }
    return reach;
}

/* The place that blocks first, of those within reach the one with the largest entry, or with Bland's rule the
 * lowest variable; -1 = none. */
static int64_t choose_leaving(const HcSimplex *s, double direction, bool bland) {
    double reach = reach_of(s, direction, !bland);
    int64_t best = -1;
    double largest = 0;
    for (int64_t p = 0; p < s->rows && reach < (double)INFINITY; p++) {
        double rate = -direction * s->column[p];
        bool within =
            fabs(rate) > HC_SIMPLEX_NO_ENTRY && fmax(distance(s, s->basic[p], rate), 0) / fabs(rate) <= reach;
        bool better = bland ? best < 0 || s->basic[p] < s->basic[best] : fabs(rate) > largest;
        if (within && better) {
            best = p;
            largest = fabs(rate);
        }
    }
    return best;
}

static void move_values(HcSimplex *s, int64_t entering, double length) {
    for (int64_t p = 0; p < s->rows; p++) {
        s->value[s->basic[p]] -= length * s->column[p];
    }
    s->value[entering] += length;
}

static void flip(HcSimplex *s, int64_t entering, double direction) {
    move_values(s, entering, direction * (s->upper[entering] - s->lower[entering]));
    s->value[entering] = direction > 0 ? s->upper[entering] : s->lower[entering];
    s->move[entering] = (int8_t)-s->move[entering];
    s->pivots++;
}

/* Reduced costs and reference weights; row is that of the place. */
static void update(HcSimplex *s, int64_t place, int64_t entering) {
    double pivot = s->column[place];
    double step = s->reduced[entering] / pivot;
    double weight = s->own->devex[entering];
    for (int64_t j = 0; j < s->all; j++) {
        double entry = s->row[j] / pivot;
        s->reduced[j] -= s->place[j] < 0 ? step * s->row[j] : 0;
        s->own->devex[j] = fmax(s->own->devex[j], entry * entry * weight);
    }
    s->reduced[s->basic[place]] = -step;
    s->reduced[entering] = 0;
    s->own->devex[s->basic[place]] = fmax(weight / (pivot * pivot), 1);
}

static void reset_weights(HcSimplex *s) {
    for (int64_t j = 0; j < s->all; j++) {
        s->own->devex[j] = 1;
    }
}

static HcStatus pivot(HcSimplex *s, int64_t place, int64_t entering, double direction, double length,
                      HcError *err) {
    int64_t leaving = s->basic[place];
    double rate = -direction * s->column[place];
    hc_simplex_take_row(s, place);
    if (s->own->devex[entering] > HC_SIMPLEX_WEIGHT_MAX) {
        reset_weights(s);
    }
    update(s, place, entering);
    move_values(s, entering, direction * length);
    HC_OR_RETURN(hc_simplex_exchange(s, place, entering, err));
    /* It stays where it is, at its bound except for the tolerance, so that A x + t = 0 stays true. */
    s->move[leaving] = (int8_t)(s->lower[leaving] == s->upper[leaving] ? 0 : rate > 0 ? -1 : 1);
    s->pivots++;
    return HC_OK;
}

static void find_column(HcSimplex *s, int64_t entering) {
    memset(s->own->right, 0, (size_t)s->rows * sizeof *s->own->right);
    hc_simplex_add_column(s, entering, 1, s->own->right);
    hc_simplex_multiply(s, s->own->right, s->column);
}

HcStatus hc_simplex_primal(HcSimplex *s, HcSimplexStop *stop, HcError *err) {
    int64_t stalled = 0; /* steps of no length in a row */
    int tries = 0;       /* refreshes since the last pivot */
    reset_weights(s);
    for (;;) {
        if (s->pivots >= s->limit || tries > HC_SIMPLEX_TRIES) {
            stop->end = HC_SIMPLEX_STOPPED;
            break;
        }
        if (s->own->since_fresh > 0 && s->own->since_fresh % HC_SIMPLEX_CHECK == 0 && hc_simplex_drifted(s)) {
            HC_OR_RETURN(hc_simplex_refresh(s, err));
        }
        bool bland = stalled >= HC_SIMPLEX_PRIMAL_PATIENCE;
        int64_t entering = choose_entering(s, bland);
        if (entering < 0) {
            stop->end = HC_SIMPLEX_DONE;
            break;
        }
        double direction = s->reduced[entering] < 0 ? 1 : -1;
        double range = s->upper[entering] - s->lower[entering];
        find_column(s, entering);
        int64_t place = choose_leaving(s, direction, bland);
        double rate = place < 0 ? 1 : -direction * s->column[place];
        double length =
            place < 0 ? (double)INFINITY : fmax(distance(s, s->basic[place], rate), 0) / fabs(rate);
        bool blocked = length == (double)INFINITY && range == (double)INFINITY;
        if (s->own->since_fresh > 0 && (blocked || (fabs(rate) < HC_SIMPLEX_POOR_ENTRY && range > length))) {
            HC_OR_RETURN(hc_simplex_refresh(s, err));
            tries++;
            continue;
        }
        if (blocked) {
            *stop = (HcSimplexStop){.end = HC_SIMPLEX_BLOCKED, .entering = entering, .direction = direction};
            break;
        }
        stalled =
            fmin(length, range) * fabs(s->reduced[entering]) > HC_SIMPLEX_NO_PRIMAL_STEP ? 0 : stalled + 1;
        if (range <= length) {
            flip(s, entering, direction);
        } else {
            HC_OR_RETURN(pivot(s, place, entering, direction, length, err));
        }
        tries = 0;
    }
    return HC_OK;
}
