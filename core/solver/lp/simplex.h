/* The simplex: which steps come when, for all backends, and the numbers by which they decide. simplex.c
 * scales the program, has the backend take dual and primal steps in turn until all holds, and brings the
 * solution back to its units; a backend holds the matrix and the inverse of the basis, and takes the steps.
 *
 * The program is worked on in this form, all in float64:
 *     min over z = (x, t) of cost'z  where  A x + t = 0,  lower <= z <= upper,
 * A scaled, t = - A x the "logicals", one a row. Variable j < columns is x[j], columns + i is t[i]. One
 * variable in each of the `rows` places is basic; the others lie at a bound, or free ones at 0. The inverse
 * of the basis begins as the unit matrix, and column i of it stays a unit vector while t[i] is basic; only
 * the others are kept (Bai, Ouyang, He and Jiang). */
#ifndef HC_CORE_SOLVER_SIMPLEX_H
#define HC_CORE_SOLVER_SIMPLEX_H

#include "core/solver/lp/linear_program.h"

#include <math.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the numbers ---- */

/* Rounds of scaling rows, then columns. */
#define HC_SIMPLEX_SCALINGS 2
/* Dense rows are kept for a dense matrix, and where more than one entry in this many is not 0. */
#define HC_SIMPLEX_DENSE_FROM 5
/* Pivots between two looks at the drift. */
#define HC_SIMPLEX_CHECK 64
/* Refreshes without a pivot in between. */
#define HC_SIMPLEX_TRIES 8
/* Entries of a row or column that are not divided by; nor by poor ones unless the inverse is fresh. */
#define HC_SIMPLEX_NO_ENTRY   1e-9
#define HC_SIMPLEX_POOR_ENTRY 1e-7
/* A basis is taken for singular below this pivot. */
#define HC_SIMPLEX_PIVOT_MIN 1e-11
/* Dual steps: how small a step counts as none; how many of these are taken before costs are changed; the
 * part of a cost by which it is first changed; how many changes are made before Bland's rule. */
#define HC_SIMPLEX_NO_DUAL_STEP  1e-13
#define HC_SIMPLEX_DUAL_PATIENCE 64
#define HC_SIMPLEX_DISTURBANCE   1e-6
#define HC_SIMPLEX_DISTURBANCES  4
/* Primal steps: how small a step counts as none; how many of these are taken before Bland's rule; the
 * Devex weight at which all weights are set to 1 again. */
#define HC_SIMPLEX_NO_PRIMAL_STEP  1e-12
#define HC_SIMPLEX_PRIMAL_PATIENCE 256
#define HC_SIMPLEX_WEIGHT_MAX      1e8
/* Bits of a logarithm after the point. */
#define HC_SIMPLEX_FRACTION 20
/* An implied bound is not used beyond this. */
#define HC_SIMPLEX_IMPLIED_MAX 1e7

/* ---- the program at work ---- */

typedef struct HcSimplex HcSimplex;
/* What a backend has of its own: the matrix, the inverse, and memory to work in. */
typedef struct HcSimplexOwn HcSimplexOwn;

/* How steps ended. */
typedef enum HcSimplexEnd {
    HC_SIMPLEX_DONE,    /* no basic variable is beyond its bounds (dual), no reduced cost improves (primal) */
    HC_SIMPLEX_BLOCKED, /* dual: the row of `leaving` proves that there is no solution. primal: the column of
                         * `entering` improves for ever */
    HC_SIMPLEX_STOPPED  /* after as many pivots as are allowed, or because nothing is precise enough */
} HcSimplexEnd;

typedef struct HcSimplexStop {
    HcSimplexEnd end;
    int64_t leaving;  /* a place */
    int64_t entering; /* a variable */
    double
        direction; /* 1 or -1: the basic variable is above its bound (dual); where `entering` goes (primal) */
} HcSimplexStop;

/* What a backend does, in the order in which it is first asked for. All but the first two read and write the
 * arrays of HcSimplex, which lie on the host. */
typedef struct HcSimplexSteps {
    /* row_scale and column_scale, from the entries. */
    HcStatus (*find_scales)(HcSimplex *s, HcError *err);
    /* Scales the matrix, and allocates the inverse: all logicals are basic, each in the place of its
     * row. */
    HcStatus (*open)(HcSimplex *s, HcError *err);
    /* Basic variables that make A x + t = 0. */
    HcStatus (*find_values)(HcSimplex *s, HcError *err);
    /* Prices and reduced costs. */
    HcStatus (*find_reduced)(HcSimplex *s, HcError *err);
    /* Bounds that rows imply, into lower and upper, for the variables [columns] without a bound on the
     * side to which their cost pulls them. They are loose enough never to be reached. all: every such
     * variable has one. */
    HcStatus (*imply_bounds)(HcSimplex *s, bool *all, HcError *err);
    /* From reduced costs of the right signs, until all basic variables are within the bounds in force. May
     * change costs in force. `boxed`: all variables have bounds, so that there is a solution. */
    HcStatus (*dual)(HcSimplex *s, bool boxed, HcSimplexStop *stop, HcError *err);
    /* From basic variables within their bounds, until no reduced cost improves. Where it is blocked, `column`
     * is that of the entering variable. */
    HcStatus (*primal)(HcSimplex *s, HcSimplexStop *stop, HcError *err);
    /* The inverse, the basic variables and the reduced costs from scratch. A variable whose column depends on
     * others leaves the basis. */
    HcStatus (*refresh)(HcSimplex *s, HcError *err);
    /* row[columns + i] = row `place` of the inverse. */
    HcStatus (*take_row)(HcSimplex *s, int64_t place, HcError *err);
} HcSimplexSteps;

struct HcSimplex {
    const HcSimplexSteps *steps;
    HcSimplexOwn *own;
    const HcLinearProgram *program;
    int64_t rows, columns, all; /* all = columns + rows */
    double tolerance; /* of bounds and of the signs of reduced costs, relative to 1 + a bound or a cost */
    int64_t limit;    /* pivots, at most */

    char *memory; /* of the arrays below, one after the other */
    size_t bytes;
    /* Powers of two: A[i][j] row_scale[i] column_scale[j] is what is worked on; a variable is
     * unit[variable] z[variable] of the program's units, a price y[i] row_scale[i] / cost_unit. */
    double *row_scale, *column_scale; /* [rows], [columns] */
    double *unit;                     /* [all] */
    double cost_unit, value_unit;     /* an objective is value_unit / cost_unit times that of the program */

    /* Bounds and costs of all variables: those of the program, and those in force, which phase one
     and perturbations change. */
    double *true_lower, *true_upper, *true_cost;
    double *lower, *upper, *cost;
    double *value;   /* z */
    double *reduced; /* cost - (A, I)'price, 0 of the basic ones */
    double *price;   /* [rows] as it was when the reduced costs were last computed afresh */
    double *row;     /* [all, and 128 more] row of inverse (A, I) of a place */
    double *column;  /* [rows] inverse times a column */
    int8_t
        *move; /* 1 = at its lower bound, may rise; -1 = at its upper one, may fall; 2 = free; 0 = neither */
    int32_t *place; /* of a basic variable, -1 of others */
    int32_t *basic; /* [rows] the variable in each place */

    int64_t pivots, phase_one, refactored, kept_most; /* as HcLpSolution has them */
    uint64_t seed;                                    /* of perturbations */
};

/* Solves a program, checked before; s has steps and own, and is 0 otherwise. Everything but what `own` holds
 * is freed. */
HcStatus hc_simplex_solve(HcSimplex *s, const HcLinearProgram *program, const HcSimplexRule *rule,
                          HcLpSolution *out, HcError *err);

/* ---- beyond float64: simplex_refine.c, simplex_precise.c ---- */

/* Improves a result until hc_lp_prove proves it; does nothing where it is proved already. First it
 * corrects x, prices, certificate or ray of the last basis by residuals of 32 digits. If the program is
 * small, it then runs a simplex that computes everything with 32 digits. rest of `out` is not NULL, and
 * written. */
HcStatus hc_simplex_improve(HcSimplex *s, const HcSimplexStop *stop, HcLpSolution *out, HcError *err);

/* Bounds and costs in force are those of the program. */
void hc_simplex_restore(HcSimplex *s);

/* Places a variable that is not basic at one of its bounds in force: the upper one where it has no other or
 * was at the upper one before. */
void hc_simplex_settle(HcSimplex *s, int64_t variable);

/* A number in [1, 2) that depends on the seed and on how often it was asked for. */
static inline double hc_simplex_random(HcSimplex *s) {
    s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
    return 1 + (double)(s->seed >> 12) * 0x1p-52;
}

/* ---- formulas ---- */

/* How far a value is beyond its bounds, 0 if it is within the tolerance; above is positive. */
HC_ANYWHERE double hc_simplex_excess(double value, double lower, double upper, double tolerance) {
    double below = lower - value;
    double above = value - upper;
    if (below > tolerance * (1 + fabs(lower))) {
        return -below;
    }
    return above > tolerance * (1 + fabs(upper)) ? above : 0;
}

/* Whether a reduced cost has a sign that the variable's place does not ask for, beyond the tolerance. */
HC_ANYWHERE bool hc_simplex_pays(int move, double reduced, double cost, double tolerance) {
    double least = tolerance * (1 + fabs(cost));
    bool rises = move > 0 && reduced < -least;
    bool falls = (move == -1 || move == 2) && reduced > least;
    return rises || falls;
}

/* By how much a variable exceeds the bounds in force. */
static inline double hc_simplex_beyond(const HcSimplex *s, int64_t j) {
    return hc_simplex_excess(s->value[j], s->lower[j], s->upper[j], s->tolerance);
}

static inline bool hc_simplex_improves(const HcSimplex *s, int64_t j) {
    return hc_simplex_pays(s->move[j], s->reduced[j], s->cost[j], s->tolerance);
}

/* The binary logarithm of |a|, a != 0, to within 0.09, from its bits: times 2^FRACTION. Sums of these are
 * exact, whatever their order. */
HC_ANYWHERE int64_t hc_simplex_logarithm(double a) {
    int64_t bits = 0;
    memcpy(&bits, &a, sizeof bits);
    return ((bits & INT64_MAX) >> (52 - HC_SIMPLEX_FRACTION)) - ((int64_t)1023 << HC_SIMPLEX_FRACTION);
}

/* The whole number nearest to minus the mean of logarithms. */
HC_ANYWHERE int64_t hc_simplex_against(int64_t sum, int64_t count) {
    double mean = count > 0 ? (double)sum / (double)count / (double)(1 << HC_SIMPLEX_FRACTION) : 0;
    return -(int64_t)lround(mean);
}

/* 2 to this exponent, or to the nearest one of at most 1000. */
HC_ANYWHERE double hc_simplex_power(int64_t exponent) {
    return ldexp(1.0, (int)(exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent));
}

/* Which values A x may have in one row within the bounds of x: the finite parts, and how many others. */
typedef struct HcSimplexReach {
    double low, high;
    int64_t low_infinite, high_infinite;
} HcSimplexReach;

/* The product of an entry a != 0 with the bounds of its column. */
HC_ANYWHERE void hc_simplex_bound(double a, double lower, double upper, double *least, double *most) {
    *least = a > 0 ? a * lower : a * upper;
    *most = a > 0 ? a * upper : a * lower;
}

HC_ANYWHERE void hc_simplex_extend(double a, double lower, double upper, HcSimplexReach *reach) {
    double least = 0;
    double most = 0;
    hc_simplex_bound(a, lower, upper, &least, &most);
    bool low = least > -(double)INFINITY;
    bool high = most < (double)INFINITY;
    reach->low += low ? least : 0;
    reach->low_infinite += !low;
    reach->high += high ? most : 0;
    reach->high_infinite += !high;
}

/* The largest x[j] (side 1), or -1 times the least (side -1), that one row allows; infinite = any. In this
 * row x[j] has the entry a, and the logical is within row_lower and row_upper. */
HC_ANYWHERE double hc_simplex_implied_by(const HcSimplexReach *reach, double a, double side, double lower,
                                         double upper, double row_lower, double row_upper) {
    double least = 0;
    double most = 0;
    hc_simplex_bound(a, lower, upper, &least, &most);
    if (a * side > 0) { /* a x <= upper bound of the row - the least of the others */
        double others = least > -(double)INFINITY ? reach->low - least : reach->low;
        int64_t infinite = reach->low_infinite - (least > -(double)INFINITY ? 0 : 1);
        return infinite > 0 ? (double)INFINITY : (-row_lower - others) / fabs(a);
    }
    double others = most < (double)INFINITY ? reach->high - most : reach->high;
    int64_t infinite = reach->high_infinite - (most < (double)INFINITY ? 0 : 1);
    return infinite > 0 ? (double)INFINITY : (others + row_upper) / fabs(a);
}

/* side times the bound of all rows, loosened by its distance from the other one, and 1, so that it is never
 * reached. */
HC_ANYWHERE double hc_simplex_loosen(double bound, double side, double lower, double upper) {
    double other = side > 0 ? lower : -upper;
    bound += isfinite(other) ? 1 + fmax(bound - other, 0.0) : 1 + fabs(bound);
    return fabs(bound) < HC_SIMPLEX_IMPLIED_MAX ? bound : (double)INFINITY;
}

/* The side on which a bound is wanted: that to which the cost pulls, if there is none; else 0. */
HC_ANYWHERE double hc_simplex_open_side(double cost, double lower, double upper) {
    return cost < 0 && isinf(upper) ? 1 : cost > 0 && isinf(lower) ? -1 : 0;
}

#ifdef __cplusplus
}
#endif
#endif
