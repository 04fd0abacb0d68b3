/* A simplex that computes everything with 32 digits, for small programs that float64 does not decide: bases
 * that are singular to 16 digits, entries that count as 0 there. It begins with the last basis and keeps a
 * dense inverse; basic variables and prices are computed afresh from it before every step, and corrected
 * once. Primal steps first make the sum of all violations 0, and then the cost the least. */
#include "core/allocate.h"
#include "core/solver/lp/simplex_exact.h"

#include <stdlib.h>

enum {
    FRESH = 40,    /* steps between two inversions */
    PATIENCE = 100 /* steps of no length before Bland's rule */
};

/* Entries of the matrix and the inverse, at most; and how many of them all steps may look at. */
static const double largest_program = 1.5e6;
static const double most_work = 1e8;

/* Values beyond a bound by this part of 1 + the bound are violations; reduced costs count from this part of
 * 1 + the cost and of the terms that they are sums of; entries of a column from this part of the largest. */
static const double violation = 0x1p-56;
static const double least_cost = 0x1p-62;
static const double least_share = 0x1p-90;
static const double least_pivot = 0x1p-72;
static const double no_step = 1e-20;

typedef struct Desk {
    HcSimplex *s;
    HcDouble2 *inverse;  /* [rows][rows] by places */
    HcDouble2 *z;        /* [all] */
    HcDouble2 *y;        /* [rows] prices */
    HcDouble2 *column;   /* [rows] inverse times a column */
    HcDouble2 *residual; /* [rows] */
    double *cost;        /* [all] of the phase */
    uint8_t *before;     /* [all] what was basic */
    bool first_phase;
    int64_t stalled, since_fresh;
} Desk;

/* ---- the inverse ---- */

/* column = inverse times the column of a variable. */
static void find_column(Desk *desk, int64_t variable) {
    const HcSimplex *s = desk->s;
    HcSimplexColumn entries = hc_simplex_column(s, variable);
    int64_t row = 0;
    double entry = 0;
    memset(desk->column, 0, (size_t)s->rows * sizeof *desk->column);
    while (hc_simplex_next(&entries, &row, &entry)) {
        for (int64_t p = 0; p < s->rows && entry != 0; p++) {
            HcDouble2 a = desk->inverse[p * s->rows + row];
            if (a.high != 0) {
                desk->column[p] = hc_double2_add(desk->column[p], hc_double2_times(a, entry));
            }
        }
    }
}

/* The variable of the column becomes basic in a place. */
static void exchange(Desk *desk, int64_t place, int64_t variable) {
    HcSimplex *s = desk->s;
    HcDouble2 *pivot_row = desk->inverse + place * s->rows;
    HcDouble2 pivot = desk->column[place];
    for (int64_t i = 0; i < s->rows; i++) {
        pivot_row[i] = pivot_row[i].high != 0 ? hc_double2_divide(pivot_row[i], pivot) : pivot_row[i];
    }
    for (int64_t p = 0; p < s->rows; p++) {
        HcDouble2 factor = hc_double2_negative(desk->column[p]);
        for (int64_t i = 0; i < s->rows && p != place && factor.high != 0; i++) {
            if (pivot_row[i].high != 0) {
                HcDouble2 *to = &desk->inverse[p * s->rows + i];
                *to = hc_double2_add(*to, hc_double2_multiply(factor, pivot_row[i]));
            }
        }
    }
    s->place[s->basic[place]] = -1;
    s->basic[place] = (int32_t)variable;
    s->place[variable] = (int32_t)place;
    s->move[variable] = 0;
    desk->since_fresh++;
}

static double largest_of(const Desk *desk) {
    double largest = 0;
    for (int64_t p = 0; p < desk->s->rows; p++) {
        largest = fmax(largest, fabs(desk->column[p].high));
    }
    return largest;
}

/* The place of a logical that is to leave, with the largest entry; -1: the column depends on others. */
static int64_t free_place(const Desk *desk) {
    const HcSimplex *s = desk->s;
    int64_t best = -1;
    double most = least_pivot * largest_of(desk);
    for (int64_t p = 0; p < s->rows; p++) {
        bool open = s->basic[p] >= s->columns && !desk->before[s->basic[p]];
        if (open && fabs(desk->column[p].high) > most) {
            most = fabs(desk->column[p].high);
            best = p;
        }
    }
    return best;
}

/* The inverse of the basis afresh. Variables whose columns depend on others leave it. */
static void invert(Desk *desk) {
    HcSimplex *s = desk->s;
    memset(desk->inverse, 0, (size_t)(s->rows * s->rows) * sizeof *desk->inverse);
    for (int64_t j = 0; j < s->all; j++) {
        desk->before[j] = s->place[j] >= 0;
        s->place[j] = -1;
    }
    for (int64_t i = 0; i < s->rows; i++) {
        desk->inverse[i * s->rows + i].high = 1;
        s->basic[i] = (int32_t)(s->columns + i);
        s->place[s->columns + i] = (int32_t)i;
    }
    for (int64_t j = 0; j < s->columns; j++) {
        if (desk->before[j]) {
            find_column(desk, j);
            int64_t place = free_place(desk);
            if (place >= 0) {
                exchange(desk, place, j);
            } else {
                hc_simplex_settle(s, j);
            }
        }
    }
    for (int64_t i = 0; i < s->rows; i++) {
        s->move[s->basic[i]] = 0;
    }
    desk->since_fresh = 0;
}

/* ---- values and prices ---- */

/* z of the basis -= inverse residual. */
static void correct_values(Desk *desk) {
    const HcSimplex *s = desk->s;
    hc_simplex_exact_residual(s, desk->z, desk->residual);
    for (int64_t p = 0; p < s->rows; p++) {
        HcDouble2 sum = {0};
        for (int64_t i = 0; i < s->rows; i++) {
            sum = hc_double2_add(sum, hc_double2_multiply(desk->inverse[p * s->rows + i], desk->residual[i]));
        }
        HcDouble2 *z = &desk->z[s->basic[p]];
        *z = hc_double2_add(*z, hc_double2_negative(sum));
    }
}

static void find_values(Desk *desk) {
    const HcSimplex *s = desk->s;
    for (int64_t j = 0; j < s->all; j++) {
        desk->z[j] = (HcDouble2){s->place[j] < 0 ? s->value[j] : 0, 0};
    }
    correct_values(desk);
    correct_values(desk);
}

/* Twice, so that the second time corrects the first. */
static void find_prices(Desk *desk) {
    const HcSimplex *s = desk->s;
    memset(desk->y, 0, (size_t)s->rows * sizeof *desk->y);
    for (int round = 0; round < 2; round++) {
        for (int64_t p = 0; p < s->rows; p++) {
            int64_t j = s->basic[p];
            desk->residual[p] = hc_simplex_exact_reduce(s, j, desk->cost[j], desk->y);
        }
        for (int64_t p = 0; p < s->rows; p++) {
            for (int64_t i = 0; i < s->rows && desk->residual[p].high != 0; i++) {
                HcDouble2 more = hc_double2_multiply(desk->residual[p], desk->inverse[p * s->rows + i]);
                desk->y[i] = hc_double2_add(desk->y[i], more);
            }
        }
    }
}

/* 1 or -1: above or below its bounds; 0: within. */
static int beyond(const Desk *desk, int64_t j) {
    const HcSimplex *s = desk->s;
    HcDouble2 z = desk->z[j];
    double below = (s->true_lower[j] - z.high) - z.low;
    double above = (z.high - s->true_upper[j]) + z.low;
    return below > violation * (1 + fabs(s->true_lower[j]))   ? -1
           : above > violation * (1 + fabs(s->true_upper[j])) ? 1
                                                              : 0;
}

/* Costs of the phase: 1 above and -1 below the bounds as long as there are violations. */
static void find_costs(Desk *desk) {
    const HcSimplex *s = desk->s;
    desk->first_phase = false;
    for (int64_t p = 0; p < s->rows; p++) {
        desk->first_phase = desk->first_phase || beyond(desk, s->basic[p]) != 0;
    }
    for (int64_t j = 0; j < s->all; j++) {
        desk->cost[j] = !desk->first_phase ? s->true_cost[j] : s->place[j] >= 0 ? beyond(desk, j) : 0;
    }
}

/* ---- a step ---- */

/* The reduced cost where it improves, else 0. */
static double improvement(const Desk *desk, int64_t j) {
    const HcSimplex *s = desk->s;
    HcSimplexColumn entries = hc_simplex_column(s, j);
    double size = fabs(desk->cost[j]);
    int64_t row = 0;
    double entry = 0;
    if (s->place[j] >= 0 || s->move[j] == 0) {
        return 0;
    }
    double reduced = hc_simplex_exact_reduce(s, j, desk->cost[j], desk->y).high;
    while (hc_simplex_next(&entries, &row, &entry)) {
        size += fabs(entry * desk->y[row].high);
    }
    bool counts = fabs(reduced) > fmax(least_cost * (1 + fabs(desk->cost[j])), least_share * size);
    bool right = s->move[j] == 2 || reduced * s->move[j] < 0;
    return counts && right ? reduced : 0;
}

static int64_t choose_entering(const Desk *desk, double *reduced) {
    int64_t best = -1;
    *reduced = 0;
    for (int64_t j = 0; j < desk->s->all; j++) {
        double here = improvement(desk, j);
        if (fabs(here) > fabs(*reduced)) {
            *reduced = here;
            best = j;
            if (desk->stalled > PATIENCE) {
                break;
            }
        }
    }
    return best;
}

/* The bound that stops a basic variable which moves at this rate: the one ahead, or for one beyond its bounds
 * the one that it comes back to; infinite: none. */
static double stopping_bound(const Desk *desk, int64_t j, double rate) {
    const HcSimplex *s = desk->s;
    int side = beyond(desk, j);
    if (side != 0) {
        bool comes_back = side * rate < 0;
        return !comes_back ? (double)INFINITY : side > 0 ? s->true_upper[j] : s->true_lower[j];
    }
    return rate > 0 ? s->true_upper[j] : s->true_lower[j];
}

/* The place that stops the entering variable, and how far it goes: of the places that are reached within the
 * tolerance of the first one, that with the largest entry. -1: none. */
static int64_t choose_leaving(const Desk *desk, double direction, double *length, double *bound) {
    const HcSimplex *s = desk->s;
    double least = least_pivot * largest_of(desk);
    double reach = (double)INFINITY;
    double largest = 0;
    int64_t best = -1;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t p = 0; p < s->rows; p++) {
            double rate = -direction * desk->column[p].high;
            int64_t j = s->basic[p];
            double stop = fabs(rate) > least ? stopping_bound(desk, j, rate) : (double)INFINITY;
            if (!isfinite(stop)) {
                continue;
            }
            double slack = (stop - desk->z[j].high) - desk->z[j].low;
            double most = fmax(slack / rate, 0);
            double tolerance = desk->stalled > PATIENCE ? 0 : violation * (1 + fabs(stop)) / fabs(rate);
            if (pass == 0) {
                reach = fmin(reach, most + tolerance);
            } else if (most <= reach && fabs(rate) > largest) {
                largest = fabs(rate);
                best = p;
                *length = most;
                *bound = stop;
            }
        }
    }
    return best;
}

/* One step; HC_LP_UNFINISHED: there is more to do. */
static HcLpEnd step(Desk *desk) {
    HcSimplex *s = desk->s;
    double reduced = 0;
    double length = (double)INFINITY;
    double bound = 0;
    find_values(desk);
    find_costs(desk);
    find_prices(desk);
    int64_t entering = choose_entering(desk, &reduced);
    if (entering < 0) {
        return desk->first_phase ? HC_LP_INFEASIBLE : HC_LP_OPTIMAL;
    }
    double direction = reduced < 0 ? 1 : -1;
    double range = s->true_upper[entering] - s->true_lower[entering];
    find_column(desk, entering);
    int64_t place = choose_leaving(desk, direction, &length, &bound);
    if (!isfinite(length) && !isfinite(range)) {
        memset(desk->z, 0, (size_t)s->all * sizeof *desk->z);
        desk->z[entering].high = direction;
        correct_values(desk);
        correct_values(desk);
        return HC_LP_UNBOUNDED;
    }
    s->pivots++;
    desk->stalled = fmin(length, range) * fabs(reduced) > no_step ? 0 : desk->stalled + 1;
    if (range <= length) {
        s->move[entering] = (int8_t)-s->move[entering];
        s->value[entering] = direction > 0 ? s->true_upper[entering] : s->true_lower[entering];
        return HC_LP_UNFINISHED;
    }
    int64_t leaving = s->basic[place];
    exchange(desk, place, entering);
    s->value[leaving] = bound;
    s->move[leaving] = (int8_t)(s->true_lower[leaving] == s->true_upper[leaving] ? 0
                                : bound == s->true_upper[leaving]                ? -1
                                                                                 : 1);
    return HC_LP_UNFINISHED;
}

/* ---- all of it ---- */

static double entries_of(const HcSimplex *s) {
    const HcLinearProgram *program = s->program;
    return program->start != NULL ? (double)program->start[s->columns] : (double)s->rows * (double)s->columns;
}

static HcStatus open_desk(Desk *desk, HcError *err) {
    HcSimplex *s = desk->s;
    size_t rows = (size_t)s->rows;
    size_t all = (size_t)s->all;
    size_t count = rows * rows + all + 3 * rows + 1;
    HC_OR_RETURN(hc_new(desk->inverse, count, "a simplex of 32 digits", err));
    HC_OR_RETURN(hc_new(desk->cost, all, "a simplex of 32 digits", err));
    HC_OR_RETURN(hc_new(desk->before, all, "a simplex of 32 digits", err));
    desk->z = desk->inverse + rows * rows;
    desk->y = desk->z + all;
    desk->column = desk->y + rows;
    desk->residual = desk->column + rows;
    return HC_OK;
}

static void close_desk(Desk *desk) {
    free(desk->inverse);
    free(desk->cost);
    free(desk->before);
}

/* If the program is unbounded, z is the ray; the point is that of the basis. */
static void report(Desk *desk, HcLpEnd end, HcLpSolution *out) {
    const HcSimplex *s = desk->s;
    out->end = end;
    memset(out->rest, 0, (size_t)(2 * s->columns + s->rows) * sizeof *out->rest);
    if (out->ray != NULL) {
        memset(out->ray, 0, (size_t)s->columns * sizeof *out->ray);
    }
    if (end == HC_LP_UNBOUNDED) {
        hc_simplex_exact_report_ray(s, desk->z, out);
        find_values(desk);
    }
    hc_simplex_exact_report_x(s, desk->z, out);
    if (end == HC_LP_INFEASIBLE) {
        hc_simplex_exact_report_certificate(s, desk->y, out);
    } else {
        hc_simplex_exact_report_prices(s, desk->y, out);
    }
}

HcStatus hc_simplex_precise(HcSimplex *s, HcLpSolution *out, HcError *err) {
    HcStatus status = HC_OK;
    Desk desk = {.s = s};
    double entries = (double)s->rows * (double)s->rows + entries_of(s);
    HcLpEnd end = HC_LP_UNFINISHED;
    if (entries > largest_program) {
        return HC_OK;
    }
    HC_TRY(open_desk(&desk, err));
    hc_simplex_restore(s);
    for (int64_t j = 0; j < s->all; j++) {
        if (s->place[j] < 0) {
            hc_simplex_settle(s, j);
        }
    }
    invert(&desk);
    for (double work = 0; work < most_work && s->pivots < s->limit && end == HC_LP_UNFINISHED;
         work += entries + (double)s->all) {
        if (desk.since_fresh >= FRESH) {
            invert(&desk);
        }
        end = step(&desk);
    }
    if (end != HC_LP_UNFINISHED) {
        report(&desk, end, out);
        out->pivots = s->pivots;
    }
done:
    close_desk(&desk);
    return status;
}
