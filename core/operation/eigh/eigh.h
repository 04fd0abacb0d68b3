/* eigh: eigenvalues and eigenvectors of one symmetric matrix. */
#ifndef HC_CORE_OPERATION_EIGH_H
#define HC_CORE_OPERATION_EIGH_H

#include "core/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Eigenvalues (descending) and the first `count` eigenvectors of the symmetric matrix[n][n]. Row k of
 * vectors[n][n] belongs to values[k], has unit length and follows hc_sign_rule(); rows from `count` on hold
 * anything. Host memory, float64, done on return. No bit depends on `count`.
 *
 * The same bits for every number of threads and every backend. Small eigenvalues of a positive definite
 * matrix are right relative to themselves as far as its entries determine them (docs/numerics.md). */
typedef HcStatus HcEighFn(HcCompute *compute, int32_t n, int32_t count, const double *matrix, double *values,
                          double *vectors, HcError *err);
HcEighFn hc_eigh HC_MUST_CHECK;

/* What it takes beside the arguments, in matrices of their size, at most: four of a decomposition, and three
 * where nearly all eigenvalues are small beside the first, and found again. */
enum { HC_EIGH_MATRICES = 7 };

/* The sign rule: flips vector[n] so that its entry of largest magnitude is positive (the first wins a tie).
 */
void hc_sign_rule(double *vector, int32_t n);

#ifdef __cplusplus
}
#endif
#endif
