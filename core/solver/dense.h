/* Dense: products, triangular solves and Cholesky factors of small matrices, 8 x 8 entries at a time. */
#ifndef HC_CORE_SOLVER_DENSE_H
#define HC_CORE_SOLVER_DENSE_H

#include <stddef.h>
#include <stdint.h>

/* Every entry is formed in one fixed order, one multiplication and one subtraction at a time. So its bits do
 * not depend on the processor and the width of its vectors. */

enum { HC_TILE = 8 };

/* Distance of the rows of a matrix with n columns: an odd number of tiles. Rows a power of two apart would
 * share a few lines of the cache. */
size_t hc_dense_stride(size_t n);

/* `n` rounded up to whole tiles. */
size_t hc_dense_padded(size_t n);

/* tile[r][c] -= a[r * row_step + k * step] * b[k * b_stride + c] for k = 0 ... count - 1, in this order. */
void hc_dense_subtract(double *tile, const double *a, size_t row_step, size_t step, const double *b,
                       size_t b_stride, size_t count);

/* tile = inv(U') tile, for the upper triangle U at `u`; reciprocal[r] = 1 / u[r * u_stride + r]. */
void hc_dense_forward(double *tile, const double *u, size_t u_stride, const double *reciprocal);

/* tile = inv(U) tile. */
void hc_dense_backward(double *tile, const double *u, size_t u_stride, const double *reciprocal);

/* A Cholesky factor. All memory is the caller's; zero `upper` and `reciprocal` first. */
typedef struct HcDenseFactor {
    size_t bands, stride; /* of the matrix; hc_dense_stride(bands) */
    size_t kept;          /* bands that take part */
    int32_t *band;        /* [bands] the first `kept` of them are these, ascending */
    double *scale;        /* [bands] 1 / root of the diagonal, set by the caller */
    double *reciprocal;   /* [bands] of the diagonal of `upper`; the first `kept` */
    double *upper;        /* [bands, padded][stride] U: rows are kept bands, columns all bands */
    double *rest;         /* [8][stride] scratch */
} HcDenseFactor;

/* U'U = S A S for a symmetric positive semidefinite matrix A [bands][bands] and S the diagonal of `scale`. A
 * band whose `used` is 0 takes no part; one that the bands before it explain gets 0 there. */
void hc_dense_factorise(HcDenseFactor *factor, const double *matrix, uint8_t *used);

/* Between a tile and its place in a matrix. */
void hc_dense_get(double *tile, const double *from, size_t stride);
void hc_dense_get_turned(double *tile, const double *from, size_t stride); /* tile = the transpose of from */
void hc_dense_put(const double *tile, double *to, size_t stride);
void hc_dense_put_turned(const double *tile, double *to, size_t stride); /* to = the transpose of tile */

#endif
