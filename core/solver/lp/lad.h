/* Abundances of least absolute deviation: the problem that all backends solve, and the numbers by which
 * they decide.
 *
 * A pixel's problem is to minimise a convex function without constraints,
 *
 *     f(x) = sum over i of the larger of low_i r_i and high_i r_i,   r_i = right_i - a_i'x.
 *
 * There is a row a_i for each band, for each endmember (x_k >= 0) and, where it is constrained, for the sum
 * of x. low and high are -w and w of a band. A constraint has a steep slope on its forbidden side: steeper
 * than any price that it can have at an optimum. The least f then violates no constraint (exact penalties).
 * An equality of the sum has infinite slopes. At a corner, r = 0 in as many rows as there are endmembers;
 * these rows are its basis.
 *
 * Endmembers and weights are scaled by powers of two to at most 1, which loses no bits. x here is the
 * abundance times the endmember's scale. */
#ifndef HC_CORE_SOLVER_LAD_H
#define HC_CORE_SOLVER_LAD_H

#include "core/operation/lp/lad.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Largest error (HC_LAD_ADD_ERROR) that counts as a proof. */
#define HC_LAD_PROOF 1e-9

/* Fraction of its bounds by which a price may exceed them and still count as within. */
#define HC_LAD_SLACK 0x1p-36

/* Fraction of the largest rate that a row must have to enter the basis. */
#define HC_LAD_PIVOT 0x1p-30

/* Fraction of the size of a pixel by which right sides are moved. Then hardly any two residuals become 0 at
 * the same place, and every step lowers f. The answer is computed with the original right sides. */
#define HC_LAD_NUDGE 0x1p-42

/* Fraction of the size of a pixel: larger residuals of the basis mean that the inverse has drifted. */
#define HC_LAD_DRIFT 0x1p-36

/* Gaps are relative to f, but at least to this fraction of f at x = 0, or of `mixture` where the sum counts.
 * A smaller f is within reach of rounding. */
#define HC_LAD_TINIEST 0x1p-16

/* Maximum number of descents of one pixel. The second begins with x = 0 and the original right sides. Each
 * later one begins with a new inverse, and moves right sides eight times as far as before. */
#define HC_LAD_ROUNDS 6

typedef struct HcLadProblem {
    int32_t endmembers, bands;
    HcLadSum sum;
    int32_t rows;       /* bands, endmembers, the sum where it counts; padding with zeros */
    int32_t width;      /* endmembers; padding with zeros */
    double *row;        /* [rows][width] A */
    double *low, *high; /* [rows] slopes of f */
    double *right;      /* [rows] right sides, 0 for bands */
    double *nudge;      /* [rows] of either sign, between 1/2 and 1; 0 of an equal sum */
    double *scale;      /* [width] */
    double *inverse;    /* [endmembers][width] that of the first basis */
    int32_t *basis;     /* [endmembers] the first one: x = 0, but what the sum asks for */
    double most;        /* sum of the weights, and 1 */
    double mixture;     /* where the sum counts, what f of endmembers can be for y = 0; else 0 */
    double weight_unit; /* weights here times this are those of the rule */
    int64_t usual;      /* pivots that a descent should ever take */
    int64_t limit;      /* of pivots of a pixel */
} HcLadProblem;

/* Rows and width are multiples of `padding`. The rule has been checked. */
HcStatus hc_lad_problem_make(const HcLadRule *rule, int32_t padding, HcLadProblem *out,
                             HcError *err) HC_MUST_CHECK;
void hc_lad_problem_clear(HcLadProblem *problem);

/* The row of the sum, where it counts. */
static inline int32_t hc_lad_sum_row(const HcLadProblem *problem) {
    return problem->bands + problem->endmembers;
}

#ifdef __cplusplus
}
#endif
#endif
