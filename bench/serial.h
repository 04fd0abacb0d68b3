/* Serial: the arithmetic of a maximum noise fraction in plain C on one core, as one would write it down
 * first. What the backends are measured against, and what their results are compared with. Scenes are uint16,
 * BIL; every pixel is valid. */
#ifndef HC_BENCH_SERIAL_H
#define HC_BENCH_SERIAL_H

#include "core/operation/knn/knn.h"
#include "core/compute.h"
#include "core/sums/moments.h"

#include <stdint.h>

/* raw[lines][bands][samples] -> x[lines][samples][bands] */
void hc_serial_decode(const uint16_t *raw, int64_t lines, int32_t samples, int32_t bands, float *x);

/* Adds x[pixels][bands], integers below 2^20 in magnitude, to exact moments. */
HcStatus hc_serial_gram(const float *x, int64_t pixels, int32_t bands, HcMoments *moments,
                        HcError *err) HC_MUST_CHECK;

/* Adds 9 x - the sum of the 3x3 neighbourhood, at every pixel that has one, of x[lines][samples][bands] below
 * 2^16 to exact moments. */
HcStatus hc_serial_gram_mean3x3(const float *x, int64_t lines, int32_t samples, int32_t bands,
                                HcMoments *moments, HcError *err) HC_MUST_CHECK;

/* Eigenvalues, descending, of the symmetric positive definite matrix[n][n], each right relative to itself as
 * far as the entries determine it: one-sided Jacobi rotations of the Cholesky factor (Demmel and Veselic
 * 1992), in float64. Fails with HC_E_NUMERIC where the matrix is not positive definite. */
HcStatus hc_serial_eigenvalues(const double *matrix, int32_t n, double *values, HcError *err) HC_MUST_CHECK;

/* y[pixels][components] = (x - mean) matrix, with mean[bands] and matrix[bands][components], in float64. */
void hc_serial_project(const float *x, int64_t pixels, int32_t bands, const double *mean,
                       const double *matrix, int32_t components, float *y);

/* The k (at most the count) nearest of spectra[count][bands] of every pixel of x[pixels][bands], as the
 * compute contract has them: index and distance[pixels][k]. */
HcStatus hc_serial_knn(const float *x, int64_t pixels, int32_t bands, const float *spectra, int64_t count,
                       HcMetric metric, int32_t k, int32_t *index, double *distance,
                       HcError *err) HC_MUST_CHECK;

/* `iterations` steps of fast proximal gradients (Beck and Teboulle 2009) for 1/2 |A x - b|^2 + lambda |x|_1,
 * from x[columns] on; square is at least the largest eigenvalue of A'A, A = a[rows][columns]. */
HcStatus hc_serial_fista(const float *a, int64_t rows, int64_t columns, const float *b, double lambda,
                         double square, int32_t iterations, float *x, HcError *err) HC_MUST_CHECK;

/* x|_1 least where A x = b: `outer` steps of an augmented Lagrangian from x = 0, with `inner` steps as above
 * in each. Its penalty starts at 10 over the largest entry of A'b, and doubles.
 */
HcStatus hc_serial_alm(const float *a, int64_t rows, int64_t columns, const float *b, double square,
                       int32_t outer, int32_t inner, float *x, HcError *err) HC_MUST_CHECK;

/* *least = min over x >= 0 of the sum over the bands of |pixel - sum over k of x[k] spectrum[k]|, where the
 * x[k] sum to one if asked for; no spectrum[endmembers][bands] has a negative sum. The simplex tableau of the
 * bounded dual (Dantzig 1955), in float64. Fails with HC_E_NUMERIC where it does not come to an end. */
HcStatus hc_serial_deviation(const float *spectrum, int32_t endmembers, int32_t bands, bool sum_to_one,
                             const float *pixel, double *least, HcError *err) HC_MUST_CHECK;

#endif
