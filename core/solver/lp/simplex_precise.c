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

typedef struct Workspace {
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
} Workspace;

/* ---- the inverse ---- */

/* column = inverse times the column of a variable. */
static void find_column(Workspace *work, int64_t variable) {
    const HcSimplex *s = work->s;
    HcSimplexColumn entries = hc_simplex_column(s, variable);
    int64_t row = 0;
    double entry = 0;
    memset(work->column, 0, (size_t)s->rows * sizeof *work->column);
    while (hc_simplex_next(&entries, &row, &entry)) {
        for (int64_t p = 0; p < s->rows && entry != 0; p++) {
            HcDouble2 a = work->inverse[p * s->rows + row];
            if (a.high != 0) {
                work->column[p] = hc_double2_add(work->column[p], hc_double2_times(a, entry));
            }
        }
    }
}

/* The variable of the column becomes basic in a place. */
static void exchange(Workspace *work, int64_t place, int64_t variable) {
    HcSimplex *s = work->s;
    HcDouble2 *pivot_row = work->inverse + place * s->rows;
    HcDouble2 pivot = work->column[place];
    for (int64_t i = 0; i < s->rows; i++) {
        pivot_row[i] = pivot_row[i].high != 0 ? hc_double2_divide(pivot_row[i], pivot) : pivot_row[i];
    }
    for (int64_t p = 0; p < s->rows; p++) {
        HcDouble2 factor = hc_double2_negative(work->column[p]);
        for (int64_t i = 0; i < s->rows && p != place && factor.high != 0; i++) {
            if (pivot_row[i].high != 0) {
                HcDouble2 *to = &work->inverse[p * s->rows + i];
                *to = hc_double2_add(*to, hc_double2_multiply(factor, pivot_row[i]));
            }
        }
    }
    s->place[s->basic[place]] = -1;
    s->basic[place] = (int32_t)variable;
    s->place[variable] = (int32_t)place;
    s->move[variable] = 0;
    work->since_fresh++;
}

static double largest_of(const Workspace *work) {
    double largest = 0;
    for (int64_t p = 0; p < work->s->rows; p++) {
        largest = fmax(largest, fabs(work->column[p].high));
    }
    return largest;
}

/* The place of a logical that is to leave, with the largest entry; -1: the column depends on others. */
static int64_t free_place(const Workspace *work) {
    const HcSimplex *s = work->s;
    int64_t best = -1;
    double most = least_pivot * largest_of(work);
    for (int64_t p = 0; p < s->rows; p++) {
        bool open = s->basic[p] >= s->columns && !work->before[s->basic[p]];
        if (open && fabs(work->column[p].high) > most) {
            most = fabs(work->column[p].high);
            best = p;
        }
    }
    return best;
}

/* The inverse of the basis afresh. Variables whose columns depend on others leave it. */
static void invert(Workspace *work) {
    HcSimplex *s = work->s;
    memset(work->inverse, 0, (size_t)(s->rows * s->rows) * sizeof *work->inverse);
    for (int64_t j = 0; j < s->all; j++) {
        work->before[j] = s->place[j] >= 0;
        s->place[j] = -1;
    }
    for (int64_t i = 0; i < s->rows; i++) {
        work->inverse[i * s->rows + i].high = 1;
        s->basic[i] = (int32_t)(s->columns + i);
        s->place[s->columns + i] = (int32_t)i;
    }
    for (int64_t j = 0; j < s->columns; j++) {
        if (work->before[j]) {
            find_column(work, j);
            int64_t place = free_place(work);
            if (place >= 0) {
                exchange(work, place, j);
            } else {
                hc_simplex_settle(s, j);
            }
        }
    }
    for (int64_t i = 0; i < s->rows; i++) {
        s->move[s->basic[i]] = 0;
    }
    work->since_fresh = 0;
}

/* ---- values and prices ---- */

/* z of the basis -= inverse residual. */
static void correct_values(Workspace *work) {
    const HcSimplex *s = work->s;
    hc_simplex_exact_residual(s, work->z, work->residual);
    for (int64_t p = 0; p < s->rows; p++) {
        HcDouble2 sum = {0};
        for (int64_t i = 0; i < s->rows; i++) {
            sum = hc_double2_add(sum, hc_double2_multiply(work->inverse[p * s->rows + i], work->residual[i]));
        }
        HcDouble2 *z = &work->z[s->basic[p]];
        *z = hc_double2_add(*z, hc_double2_negative(sum));
    }
}

static void find_values(Workspace *work) {
    const HcSimplex *s = work->s;
    for (int64_t j = 0; j < s->all; j++) {
        work->z[j] = (HcDouble2){s->place[j] < 0 ? s->value[j] : 0, 0};
    }
    correct_values(work);
    correct_values(work);
}

/* Twice, so that the second time corrects the first. */
static void find_prices(Workspace *work) {
    const HcSimplex *s = work->s;
    memset(work->y, 0, (size_t)s->rows * sizeof *work->y);
    for (int round = 0; round < 2; round++) {
        for (int64_t p = 0; p < s->rows; p++) {
            int64_t j = s->basic[p];
            work->residual[p] = hc_simplex_exact_reduce(s, j, work->cost[j], work->y);
        }
        for (int64_t p = 0; p < s->rows; p++) {
            for (int64_t i = 0; i < s->rows && work->residual[p].high != 0; i++) {
                HcDouble2 more = hc_double2_multiply(work->residual[p], work->inverse[p * s->rows + i]);
                work->y[i] = hc_double2_add(work->y[i], more);
            }
        }
    }
}

/* 1 or -1: above or below its bounds; 0: within. */
static int beyond(const Workspace *work, int64_t j) {
    const HcSimplex *s = work->s;
    HcDouble2 z = work->z[j];
    double below = (s->true_lower[j] - z.high) - z.low;
    double above = (z.high - s->true_upper[j]) + z.low;
    return below > violation * (1 + fabs(s->true_lower[j]))   ? -1
           : above > violation * (1 + fabs(s->true_upper[j])) ? 1
                                                              : 0;
}

/* Costs of the phase: 1 above and -1 below the bounds as long as there are violations. */
static void find_costs(Workspace *work) {
    const HcSimplex *s = work->s;
    work->first_phase = false;
    for (int64_t p = 0; p < s->rows; p++) {
        work->first_phase = work->first_phase || beyond(work, s->basic[p]) != 0;
    }
    for (int64_t j = 0; j < s->all; j++) {
        work->cost[j] = !work->first_phase ? s->true_cost[j] : s->place[j] >= 0 ? beyond(work, j) : 0;
    }
}

/* ---- a step ---- */

/* The reduced cost where it improves, else 0. */
static double improvement(const Workspace *work, int64_t j) {
    const HcSimplex *s = work->s;
    HcSimplexColumn entries = hc_simplex_column(s, j);
    double size = fabs(work->cost[j]);
    int64_t row = 0;
    double entry = 0;
    if (s->place[j] >= 0 || s->move[j] == 0) {
        return 0;
    }
    double reduced = hc_simplex_exact_reduce(s, j, work->cost[j], work->y).high;
    while (hc_simplex_next(&entries, &row, &entry)) {
        size += fabs(entry * work->y[row].high);
    }
    bool counts = fabs(reduced) > fmax(least_cost * (1 + fabs(work->cost[j])), least_share * size);
    bool right = s->move[j] == 2 || reduced * s->move[j] < 0;
    return counts && right ? reduced : 0;
}

static int64_t choose_entering(const Workspace *work, double *reduced) {
    int64_t best = -1;
    *reduced = 0;
    for (int64_t j = 0; j < work->s->all; j++) {
        double here = improvement(work, j);
        if (fabs(here) > fabs(*reduced)) {
            *reduced = here;
            best = j;
            if (work->stalled > PATIENCE) {
                break;
            }
        }
    }
    return best;
}

/* The bound that stops a basic variable which moves at this rate: the one ahead, or for one beyond its bounds
 * the one that it comes back to; infinite: none. */
static double stopping_bound(const Workspace *work, int64_t j, double rate) {
    const HcSimplex *s = work->s;
    int side = beyond(work, j);
    if (side != 0) {
        bool comes_back = side * rate < 0;
        return !comes_back ? (double)INFINITY : side > 0 ? s->true_upper[j] : s->true_lower[j];
    }
    return rate > 0 ? s->true_upper[j] : s->true_lower[j];
}

/* The place that stops the entering variable, and how far it goes: of the places that are reached within the
 * tolerance of the first one, that with the largest entry. -1: none. */
static int64_t choose_leaving(const Workspace *work, double direction, double *length, double *bound) {
    const HcSimplex *s = work->s;
    double least = least_pivot * largest_of(work);
    double reach = (double)INFINITY;
    double largest = 0;
    int64_t best = -1;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t p = 0; p < s->rows; p++) {
            double rate = -direction * work->column[p].high;
            int64_t j = s->basic[p];
            double stop = fabs(rate) > least ? stopping_bound(work, j, rate) : (double)INFINITY;
            if (!isfinite(stop)) {
                continue;
            }
            double slack = (stop - work->z[j].high) - work->z[j].low;
            double most = fmax(slack / rate, 0);
            double tolerance = work->stalled > PATIENCE ? 0 : violation * (1 + fabs(stop)) / fabs(rate);
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
static HcLpEnd step(Workspace *work) {
    HcSimplex *s = work->s;
    double reduced = 0;
    double length = (double)INFINITY;
    double bound = 0;
    find_values(work);
    find_costs(work);
    find_prices(work);
    int64_t entering = choose_entering(work, &reduced);
    if (entering < 0) {
        return work->first_phase ? HC_LP_INFEASIBLE : HC_LP_OPTIMAL;
    }
    double direction = reduced < 0 ? 1 : -1;
    double range = s->true_upper[entering] - s->true_lower[entering];
    find_column(work, entering);
    int64_t place = choose_leaving(work, direction, &length, &bound);
    if (!isfinite(length) && !isfinite(range)) {
        memset(work->z, 0, (size_t)s->all * sizeof *work->z);
        work->z[entering].high = direction;
        correct_values(work);
        correct_values(work);
        return HC_LP_UNBOUNDED;
    }
    s->pivots++;
    work->stalled = fmin(length, range) * fabs(reduced) > no_step ? 0 : work->stalled + 1;
    if (range <= length) {
        s->move[entering] = (int8_t)-s->move[entering];
        s->value[entering] = direction > 0 ? s->true_upper[entering] : s->true_lower[entering];
        return HC_LP_UNFINISHED;
    }
    int64_t leaving = s->basic[place];
    exchange(work, place, entering);
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

static HcStatus open_workspace(Workspace *work, HcError *err) {
    HcSimplex *s = work->s;
    size_t rows = (size_t)s->rows;
    size_t all = (size_t)s->all;
    size_t count = rows * rows + all + 3 * rows + 1;
    HC_OR_RETURN(hc_new(work->inverse, count, "a simplex of 32 digits", err));
    HC_OR_RETURN(hc_new(work->cost, all, "a simplex of 32 digits", err));
    HC_OR_RETURN(hc_new(work->before, all, "a simplex of 32 digits", err));
    work->z = work->inverse + rows * rows;
    work->y = work->z + all;
    work->column = work->y + rows;
    work->residual = work->column + rows;
    return HC_OK;
}

static void close_workspace(Workspace *work) {
    free(work->inverse);
    free(work->cost);
    free(work->before);
}

/* If the program is unbounded, z is the ray; the point is that of the basis. */
static void report(Workspace *work, HcLpEnd end, HcLpSolution *out) {
    const HcSimplex *s = work->s;
    out->end = end;
    memset(out->rest, 0, (size_t)(2 * s->columns + s->rows) * sizeof *out->rest);
    if (out->ray != NULL) {
        memset(out->ray, 0, (size_t)s->columns * sizeof *out->ray);
    }
    if (end == HC_LP_UNBOUNDED) {
        hc_simplex_exact_report_ray(s, work->z, out);
        find_values(work);
    }
    hc_simplex_exact_report_x(s, work->z, out);
    if (end == HC_LP_INFEASIBLE) {
        hc_simplex_exact_report_certificate(s, work->y, out);
    } else {
        hc_simplex_exact_report_prices(s, work->y, out);
    }
}

HcStatus hc_simplex_precise(HcSimplex *s, HcLpSolution *out, HcError *err) {
    HcStatus status = HC_OK;
    Workspace work = {.s = s};
    double entries = (double)s->rows * (double)s->rows + entries_of(s);
    HcLpEnd end = HC_LP_UNFINISHED;
    if (entries > largest_program) {
        return HC_OK;
    }
    HC_TRY(open_workspace(&work, err));
    hc_simplex_restore(s);
    for (int64_t j = 0; j < s->all; j++) {
        if (s->place[j] < 0) {
            hc_simplex_settle(s, j);
        }
    }
    invert(&work);
    for (double spent = 0; spent < most_work && s->pivots < s->limit && end == HC_LP_UNFINISHED;
         spent += entries + (double)s->all) {
        if (work.since_fresh >= FRESH) {
            invert(&work);
        }
        end = step(&work);
    }
    if (end != HC_LP_UNFINISHED) {
        report(&work, end, out);
        out->pivots = s->pivots;
    }
done:
    close_workspace(&work);
    return status;
}
