/* Linear programs and their solutions:
 *     min (or max) over x of cost'x  where  row_lower <= A x <= row_upper,  lower <= x <= upper.
 * Bounds may be infinite; an equation has equal bounds. Everything lies on the host, in float64. */
#ifndef HC_CORE_PROGRAM_H
#define HC_CORE_PROGRAM_H

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
    HcLpEnd end;
    double objective;      /* cost'x */
    double dual_objective; /* what y proves; equal to objective at an optimum but for rounding */
    int64_t pivots;        /* all phases, bound flips too */
    int64_t phase_one;     /* pivots of phase one */
    int64_t refactored;    /* times that the inverse of the basis was computed afresh */
    int64_t columns_kept;  /* most columns of the inverse that were no unit vectors, at one time */
} HcLpSolution;

/* How well a solution is proved: violations relative to 1 + the magnitudes that they are differences of. */
typedef struct HcLpProof {
    double primal; /* of the bounds of x and of the rows; of an infeasible program 0, since it has no x */
    double dual;   /* of the signs of the prices and reduced costs: not 0 where the bound is infinite that it
                    * needs. Of an infeasible program that of the certificate, of an unbounded one that of the
                    * bounds of the ray, each made so long that it proves (gains) 1 */
    double gap;    /* |objective - dual objective| / (1 + |objective|); of the others 0 where the certificate
                    * (ray) decides strictly, else infinity */
} HcLpProof;

/* Computed from the program, x, price and ray alone. Infinity for what is not a number, and throughout where
 * there is no memory for it. */
HcLpProof hc_program_prove(const HcLinearProgram *program, const HcLpSolution *solution);

#ifdef __cplusplus
}
#endif
#endif
