/* The largest eigenvalue of A'A, which bounds the steps of fista: alike on all backends. */
#ifndef HC_CORE_SOLVER_L1_LARGEST_H
#define HC_CORE_SOLVER_L1_LARGEST_H

#include "core/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HC_L1_LANCZOS_MAX = 16 /* steps */ };

/* Steps of a backend on its vectors u[rows], which begins as hc_l1_start_vector brought to length 1, and
 * v[columns], which begins as 0. A vector of length 0 stays 0. */
typedef struct HcL1Lanczos {
    void *user;
    /* v = A'u - beta v, brought to length 1; alpha: its length before. */
    HcStatus (*back)(void *user, double beta, double *alpha, HcError *err);
    /* u = A v - alpha u, brought to length 1; beta: its length before. */
    HcStatus (*ahead)(void *user, double alpha, double *beta, HcError *err);
    /* The largest eigenvalue of the symmetric matrix with diagonal[n] and beside[n - 1]; last: magnitude of
     * the last entry of its vector. */
    HcStatus (*tridiagonal)(void *user, int32_t n, const double *diagonal, const double *beside,
                            double *largest, double *last, HcError *err);
} HcL1Lanczos;

/* A start vector that is far from 0 everywhere, and from any that a matrix is likely to hide. */
void hc_l1_start_vector(double *start, int64_t rows);

/* An upper bound of the largest eigenvalue of A'A, at most 4 % too large; 0 where A is 0. It can be too small
 * where the start vector hardly has the eigenvector. HC_E_NUMERIC where A holds NaN or infinity. */
HcStatus hc_l1_largest(const HcL1Lanczos *lanczos, double *largest, HcError *err);

#ifdef __cplusplus
}
#endif
#endif
