/* Eigenvalues and eigenvectors of a symmetric matrix. */
#include "cpu/internal.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void swap_rows(double *a, double *b, int32_t n) {
    for (int32_t k = 0; k < n; k++) {
        double t = a[k];
        a[k] = b[k];
        b[k] = t;
    }
}

HcStatus hc_cpu_eigh(HcCompute *compute, int32_t n, const double *matrix, double *values, double *vectors,
                     HcError *err) {
    (void)compute;
    HcStatus status = hc_check_eigh(n, matrix, values, vectors, err);
    if (status != HC_OK) {
        return status;
    }
    size_t count = (size_t)n * (size_t)n;
    for (size_t k = 0; k < count; k++) {
        if (!isfinite(matrix[k])) {
            return hc_fail(err, HC_E_NUMERIC, "the matrix holds %g in row %zu, column %zu: no eigenvalues",
                           matrix[k], k / (size_t)n, k % (size_t)n);
        }
    }
    memcpy(vectors, matrix, count * sizeof *vectors);
    /* Column-major, so that a vector becomes a row; ascending, so reversed below. */
    lapack_int failed = LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', n, vectors, n, values);
    if (failed == LAPACK_WORK_MEMORY_ERROR) {
        return hc_fail_memory(err, (double)count * 2 * sizeof(double), "eigenvectors");
    }
    if (failed != 0) {
        return hc_fail(err, HC_E_NUMERIC, "no eigenvalues of a matrix of %d rows (LAPACK dsyevd: %d)", n,
                       (int)failed);
    }
    for (int32_t k = 0; k < n / 2; k++) {
        swap_rows(values + k, values + n - 1 - k, 1);
        swap_rows(vectors + (size_t)k * (size_t)n, vectors + (size_t)(n - 1 - k) * (size_t)n, n);
    }
    for (int32_t k = 0; k < n; k++) {
        hc_sign_rule(vectors + (size_t)k * (size_t)n, n);
    }
    return HC_OK;
}
