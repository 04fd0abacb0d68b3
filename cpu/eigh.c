/* Eigenvalues and eigenvectors of a symmetric matrix. */
#include "cpu/internal.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns that dsytrd reduces before it updates the rest, as its workspace allows: of the matrices met here
 * (50 to 500 bands) 8 at once is fastest, not the 32 that it would choose. */
enum { REDUCED_AT_ONCE = 8 };

static void swap_rows(double *a, double *b, int32_t n) {
    for (int32_t k = 0; k < n; k++) {
        double t = a[k];
        a[k] = b[k];
        b[k] = t;
    }
}

/* The power of two that brings a matrix out of the range where squares would overflow or vanish: mostly 0.
 * HC_E_NUMERIC where an entry is not finite. */
static HcStatus find_scale(int32_t n, const double *matrix, int *exponent, HcError *err) {
    size_t rows = (size_t)n;
    uint64_t largest = 0; /* magnitudes are ordered as their bits are, infinity and NaN last */
    for (size_t k = 0; k < rows * rows; k++) {
        uint64_t bits;
        memcpy(&bits, matrix + k, sizeof bits);
        bits &= UINT64_MAX >> 1;
        largest = bits > largest ? bits : largest;
    }
    double value;
    memcpy(&value, &largest, sizeof value);
    *exponent = 0;
    if (isfinite(value)) {
        if (value > 0 && (value > 0x1p400 || value < 0x1p-400)) {
            (void)frexp(value, exponent);
        }
        return HC_OK;
    }
    size_t k = 0;
    while (isfinite(matrix[k])) {
        k++;
    }
    return hc_fail(err, HC_E_NUMERIC, "the matrix holds %g in row %zu, column %zu: no eigenvalues", matrix[k],
                   k / rows, k % rows);
}

/* What LAPACK's dsyevd does (tridiagonal form, divide and conquer, back to the matrix), with workspaces of
 * our choice and without its copies. Ascending; column-major, so that a vector becomes a row. */
static lapack_int solve(int32_t n, double *matrix, double *values, double *vectors, double *work,
                        lapack_int work_size, lapack_int *whole_work, lapack_int whole_size) {
    double *beside = work;         /* [n] the diagonal beside the main one */
    double *reflectors = work + n; /* [n] */
    work += 2 * (size_t)n;
    lapack_int failed = LAPACKE_dsytrd_work(LAPACK_COL_MAJOR, 'L', n, matrix, n, values, beside, reflectors,
                                            work, n * REDUCED_AT_ONCE);
    if (failed == 0) {
        failed = LAPACKE_dstedc_work(LAPACK_COL_MAJOR, 'I', n, values, beside, vectors, n, work, work_size,
                                     whole_work, whole_size);
    }
    if (failed == 0) {
        failed = LAPACKE_dormtr_work(LAPACK_COL_MAJOR, 'L', 'L', 'N', n, n, matrix, n, reflectors, vectors, n,
                                     work, work_size);
    }
    return failed;
}

HcStatus hc_cpu_eigh(HcCompute *compute, int32_t n, const double *matrix, double *values, double *vectors,
                     HcError *err) {
    (void)compute;
    HcStatus status = HC_OK;
    double *copy = NULL;
    lapack_int *whole_work = NULL;
    int exponent = 0;
    HC_TRY(hc_check_eigh(n, matrix, values, vectors, err));
    HC_TRY(find_scale(n, matrix, &exponent, err));
    size_t rows = (size_t)n;
    size_t count = rows * rows;
    /* dstedc asks for 1 + 4 n + n^2 and 3 + 5 n; dormtr is content with 64 n and its blocks of 64 x 65. */
    size_t work_size = 1 + 64 * rows + (count > 64 * 65 ? count : 64 * 65);
    copy = malloc((count + 2 * rows + work_size) * sizeof *copy);
    whole_work = malloc((3 + 5 * rows) * sizeof *whole_work);
    if (copy == NULL || whole_work == NULL || work_size > INT32_MAX) {
        HC_TRY(hc_fail_memory(err, (double)(2 * count) * sizeof(double), "eigenvectors"));
    }
    memcpy(copy, matrix, count * sizeof *copy);
    for (size_t k = 0; k < count && exponent != 0; k++) {
        copy[k] = ldexp(copy[k], -exponent);
    }
    lapack_int failed = solve(n, copy, values, vectors, copy + count, (lapack_int)work_size, whole_work,
                              (lapack_int)(3 + 5 * rows));
    if (failed != 0) {
        HC_TRY(
            hc_fail(err, HC_E_NUMERIC, "no eigenvalues of a matrix of %d rows (LAPACK: %d)", n, (int)failed));
    }
    for (int32_t k = 0; k < n / 2; k++) {
        swap_rows(values + k, values + n - 1 - k, 1);
        swap_rows(vectors + (size_t)k * rows, vectors + (size_t)(n - 1 - k) * rows, n);
    }
    for (size_t k = 0; k < rows; k++) {
        values[k] = ldexp(values[k], exponent);
        hc_sign_rule(vectors + k * rows, n);
    }
done:
    free(copy);
    free(whole_work);
    return status;
}
