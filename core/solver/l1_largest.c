/* Lanczos steps in the form of Golub and Kahan (1965): with u and v of length 1
 *     alpha v = A'u - beta v before,   beta u = A v - alpha u before,
 * A'A is tridiagonal in the vectors v. The largest eigenvalue of that matrix approximates the one of A'A. The
 * next v bounds the error. Where a step of fista shows that the value is too small, it is raised. */
#include "core/solver/l1_largest.h"

#include <math.h>
#include <stdbool.h>

/* The largest eigenvalue is known to this part of itself, and is taken that much larger besides. */
static const double close_enough = 0x1p-5;
static const double margin = 0x1p-10;

void hc_l1_start_vector(double *start, int64_t rows) {
    uint64_t state = 1;
    for (int64_t r = 0; r < rows; r++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        start[r] = (1 + (double)(state >> 40) * 0x1p-24) * (state >> 39 & 1 ? -1 : 1);
    }
}

HcStatus hc_l1_largest(const HcL1Lanczos *lanczos, double *largest, HcError *err) {
    double diagonal[HC_L1_LANCZOS_MAX];
    double beside[HC_L1_LANCZOS_MAX];
    double beta = 0;
    for (int32_t step = 0; step <= HC_L1_LANCZOS_MAX; step++) {
        double alpha = 0;
        HC_OR_RETURN(lanczos->back(lanczos->user, beta, &alpha, err));
        if (!isfinite(alpha)) {
            return hc_fail(err, HC_E_NUMERIC, "l1: the matrix holds NaN or infinity");
        }
        if (step > 0) {
            double found = 0;
            double last = 0;
            HC_OR_RETURN(lanczos->tridiagonal(lanczos->user, step, diagonal, beside, &found, &last, err));
            double beyond = alpha * beta * last;
            *largest = (found + beyond) * (1 + margin);
            beside[step - 1] = alpha * beta;
            if (beyond <= close_enough * found) {
                break;
            }
        }
        if (step < HC_L1_LANCZOS_MAX) {
            HC_OR_RETURN(lanczos->ahead(lanczos->user, alpha, &beta, err));
            diagonal[step] = alpha * alpha + beta * beta;
        }
    }
    return HC_OK;
}
