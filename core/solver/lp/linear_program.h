/* Linear programs and their solutions:
 *     min (or max) over x of cost'x  where  row_lower <= A x <= row_upper,  lower <= x <= upper.
 * Bounds may be infinite; an equation has equal bounds. Everything lies on the host, in float64. */
#ifndef HC_CORE_SOLVER_LINEAR_PROGRAM_H
#define HC_CORE_SOLVER_LINEAR_PROGRAM_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct HcLinearProgram {
    int64_t rows, columns; /* rows may be 0 */
    /* A by columns: of column j the entries value[start[j]] to value[start[j + 1] - 1] in the rows row[...],
     * each at most once, in any order; start == NULL: dense, value[columns][rows]. */
    const int64_t *start; /* [columns + 1] */
    const int32_t *row;   /* [start[columns]] */
    const double *value;
    const double *cost;                  /* [columns] */
    const double *lower, *upper;         /* [columns]; NULL = 0, infinity */
    const double *row_lower, *row_upper; /* [rows]; NULL = - infinity, infinity */
    bool maximise;
} HcLinearProgram;

typedef struct HcSimplexRule {
    int64_t pivots;   /* at most; 0 = as many as it should ever take */
    double tolerance; /* that constraints may be violated by, once rows and columns are scaled; 0 = 1e-9 */
} HcSimplexRule;

/* How a program ended. */
typedef enum HcLpEnd {
    HC_LP_OPTIMAL,
    HC_LP_INFEASIBLE, /* proved by `price` */
    HC_LP_UNBOUNDED,  /* proved by `x` and `ray` */
    HC_LP_UNFINISHED  /* the limit of pivots came first */
} HcLpEnd;

/* Its arrays are the caller's; all are written. */
typedef struct HcLpSolution {
    double *x; /* [columns]; the last point where there is no optimal one */
    /* [rows] the dual solution y: cost - A'y has the signs that the bounds at which x lies ask for (min: not
     * negative at a lower bound, not positive at an upper one; max: the other way round). Of an infeasible
     * program a Farkas certificate: with z = A'y, the largest value of y'(A x) - z'x = 0 within all bounds
     * is below 0 */
    double *price;
    double *ray; /* [columns] of an unbounded program a direction that improves for ever; else 0. NULL = not
                  * wanted */
    /* [columns + rows + columns] What float64 leaves of x, price and ray: each entry plus its rest has about
     * 32 digits. Wanted, the result is refined until hc_lp_prove proves it, or nothing more can be done.
     * NULL = not wanted: the result is what float64 alone gives. */
    double *rest;
    HcLpEnd end;
    double objective;      /* cost'x */
    double dual_objective; /* what y proves; equal to objective at an optimum, except for rounding */
    int64_t pivots;        /* all phases, bound flips too */
    int64_t phase_one;     /* pivots of phase one */
    int64_t refactored;    /* times that the inverse of the basis was computed afresh */
    int64_t columns_kept;  /* most columns of the inverse that were no unit vectors, at one time */
} HcLpSolution;

/* Violations of an optimum are at most this part of the magnitudes of the terms that they are differences
 * of. Changes of the last bits of the data would remove them. The objective is right to this part of 1 +
 * itself. A tolerance of constraints proves nothing: multipliers of any size may be worth any part of the
 * objective. */
#define HC_LP_ROUNDING 0x1p-46
#define HC_LP_PROVED   1e-6
/* Certificates and rays: the radius is at least this many times the scale of the data. Points farther away
 * depend on the last bits of the entries. The second number holds where only such bits keep the radius
 * finite: where each part without a bound is within ROUNDING of the terms that it is the sum of. */
#define HC_LP_FAR             0x1p52
#define HC_LP_FAR_BY_ROUNDING 0x1p24

/* How well a solution is proved. Everything is computed from the program and the solution with its rests,
 * in sums of about 32 digits. Errors of these sums are bounded, and count against the proof. */
typedef struct HcLpProof {
    /* The largest violation of a bound by x or A x, relative to 1 + the magnitudes that it is the difference
     * of. Of an infeasible program 0. */
    double primal;
    /* The largest price or reduced cost that needs a bound which is infinite, as primal. Of others scale /
     * radius. */
    double dual;
    /* |objective - bound|, what all violations are worth at the prices, and what wrong reduced costs may gain
     * at points x' with |x'| <= 1 + |x|: relative to 1 + |objective|. Of others 0 where the certificate (ray)
     * decides at all, else infinity. */
    double gap;
    double bound; /* of an optimum, what the prices prove of the objective */
    /* Infeasible program: no point with |x_j| below this radius for all j fulfils the constraints. Unbounded
     * program: no prices and reduced costs below it prove a bound of the objective. Infinity: none at all. */
    double radius;
    /* The size of x (of prices) that the data imply: the largest |bound| of a column, or of a row relative
     * to its largest entry. For prices it is |cost| relative to the largest entry of its column. Only rows
     * and columns that take part count. */
    double scale;
    bool proved;
    bool no_memory; /* to prove anything: no statement on the result */
} HcLpProof;

/* Infinity for what is not a number, and throughout where there is no memory for it (no_memory). */
HcLpProof hc_lp_prove(const HcLinearProgram *program, const HcLpSolution *solution);

#ifdef __cplusplus
}
#endif
#endif
