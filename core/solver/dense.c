/* Products, triangular solves and Cholesky factors on tiles of 8 x 8 in a fixed order of additions, without
 * fused operations. Bits of BLAS depend on the processor; models of the same scene have the same bits on all.
 */
#include "core/solver/dense.h"
#include "core/solver/clones.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* No width of vectors changes a bit: lanes are columns, sums run over rows, and nothing is contracted. */

/* A row of a tile; rows of matrices need no alignment. */
typedef double Row __attribute__((vector_size(HC_TILE * sizeof(double)), aligned(sizeof(double)), may_alias));

size_t hc_dense_padded(size_t n) {
    return (n + HC_TILE - 1) / HC_TILE * HC_TILE;
}

size_t hc_dense_stride(size_t n) {
    return hc_dense_padded(n) | HC_TILE;
}

/* Half a row: where registers hold no whole one, compilers shuffle it about. */
typedef double Half
    __attribute__((vector_size(HC_TILE / 2 * sizeof(double)), aligned(sizeof(double)), may_alias));

#define SUBTRACT(Part, first)                                                                                \
    do {                                                                                                     \
        double *at = tile + (first);                                                                         \
        const double *x_at = b + (first);                                                                    \
        Part t0 = *(Part *)at, t1 = *(Part *)(at + HC_TILE), t2 = *(Part *)(at + 2 * HC_TILE);               \
        Part t3 = *(Part *)(at + 3 * HC_TILE), t4 = *(Part *)(at + 4 * HC_TILE);                             \
        Part t5 = *(Part *)(at + 5 * HC_TILE), t6 = *(Part *)(at + 6 * HC_TILE);                             \
        Part t7 = *(Part *)(at + 7 * HC_TILE);                                                               \
        const double *factor = a;                                                                            \
        for (size_t k = 0; k < count; k++) {                                                                 \
            Part x = *(const Part *)x_at;                                                                    \
            t0 -= factor[0] * x;                                                                             \
            t1 -= factor[row_step] * x;                                                                      \
            t2 -= factor[2 * row_step] * x;                                                                  \
            t3 -= factor[3 * row_step] * x;                                                                  \
            t4 -= factor[4 * row_step] * x;                                                                  \
            t5 -= factor[5 * row_step] * x;                                                                  \
            t6 -= factor[6 * row_step] * x;                                                                  \
            t7 -= factor[7 * row_step] * x;                                                                  \
            factor += step;                                                                                  \
            x_at += b_stride;                                                                                \
        }                                                                                                    \
        *(Part *)at = t0, *(Part *)(at + HC_TILE) = t1, *(Part *)(at + 2 * HC_TILE) = t2;                    \
        *(Part *)(at + 3 * HC_TILE) = t3, *(Part *)(at + 4 * HC_TILE) = t4;                                  \
        *(Part *)(at + 5 * HC_TILE) = t5, *(Part *)(at + 6 * HC_TILE) = t6;                                  \
        *(Part *)(at + 7 * HC_TILE) = t7;                                                                    \
    } while (0)

HC_NARROW_CLONES static void subtract_halves(double *tile, const double *a, size_t row_step, size_t step,
                                             const double *b, size_t b_stride, size_t count) {
    SUBTRACT(Half, 0);
    SUBTRACT(Half, HC_TILE / 2);
}

#ifdef HC_WIDE
HC_WIDE static void subtract_rows(double *tile, const double *a, size_t row_step, size_t step,
                                  const double *b, size_t b_stride, size_t count) {
    SUBTRACT(Row, 0);
}
#endif

void hc_dense_subtract(double *tile, const double *a, size_t row_step, size_t step, const double *b,
                       size_t b_stride, size_t count) {
#ifdef HC_WIDE
    if (__builtin_cpu_supports("avx512f")) {
        subtract_rows(tile, a, row_step, step, b, b_stride, count);
        return;
    }
#endif
    subtract_halves(tile, a, row_step, step, b, b_stride, count);
}

HC_CLONES void hc_dense_forward(double *tile, const double *u, size_t u_stride, const double *reciprocal) {
    Row *rows = (Row *)tile;
    for (size_t r = 0; r < HC_TILE; r++) {
        Row x = rows[r] * reciprocal[r];
        rows[r] = x;
        for (size_t s = r + 1; s < HC_TILE; s++) {
            rows[s] -= u[r * u_stride + s] * x;
        }
    }
}

HC_CLONES void hc_dense_backward(double *tile, const double *u, size_t u_stride, const double *reciprocal) {
    Row *rows = (Row *)tile;
    for (size_t r = HC_TILE; r-- > 0;) {
        Row x = rows[r] * reciprocal[r];
        rows[r] = x;
        for (size_t s = 0; s < r; s++) {
            rows[s] -= u[s * u_stride + r] * x;
        }
    }
}

void hc_dense_get(double *tile, const double *from, size_t stride) {
    for (size_t r = 0; r < HC_TILE; r++) {
        memcpy(tile + r * HC_TILE, from + r * stride, HC_TILE * sizeof *tile);
    }
}

void hc_dense_put(const double *tile, double *to, size_t stride) {
    for (size_t r = 0; r < HC_TILE; r++) {
        memcpy(to + r * stride, tile + r * HC_TILE, HC_TILE * sizeof *tile);
    }
}

void hc_dense_get_turned(double *tile, const double *from, size_t stride) {
    for (size_t r = 0; r < HC_TILE; r++) {
        for (size_t c = 0; c < HC_TILE; c++) {
            tile[r * HC_TILE + c] = from[c * stride + r];
        }
    }
}

void hc_dense_put_turned(const double *tile, double *to, size_t stride) {
    for (size_t r = 0; r < HC_TILE; r++) {
        for (size_t c = 0; c < HC_TILE; c++) {
            to[c * stride + r] = tile[r * HC_TILE + c];
        }
    }
}

HC_CLONES static void scale_row(double *row, const double *from, const double *scale, double own,
                                size_t first, size_t end) {
    for (size_t c = first; c < end; c++) {
        row[c] = from[c] * (own * scale[c]);
    }
}

HC_CLONES static void divide_row(double *to, const double *row, double pivot, size_t first, size_t end) {
    for (size_t c = first; c < end; c++) {
        to[c] = row[c] / pivot;
    }
}

HC_CLONES static void subtract_row(double *row, const double *from, double part, size_t first, size_t end) {
    for (size_t c = first; c < end; c++) {
        row[c] -= part * from[c];
    }
}

/* Rows of U that are taken together: processors fetch whole lines ahead, not tiles below each other. */
enum { RUN = 32 };

/* Rows from `top` on of the scaled matrix, a tile high, less what the rows of U so far explain of them:
 * columns from `top` on. */
static void rest_of_rows(const HcDenseFactor *factor, const double *matrix, size_t top) {
    size_t n = factor->bands;
    for (size_t r = 0; r < HC_TILE && top + r < n; r++) {
        size_t b = top + r;
        double *row = factor->rest + r * factor->stride;
        scale_row(row, matrix + b * n, factor->scale, factor->scale[b], top, n);
        row[b] = 1;
    }
    for (size_t k = 0; k < factor->kept; k += RUN) {
        size_t run = factor->kept - k < RUN ? factor->kept - k : RUN;
        const double *from = factor->upper + k * factor->stride;
        for (size_t c = top; c < hc_dense_padded(n); c += HC_TILE) {
            double tile[HC_TILE * HC_TILE];
            hc_dense_get(tile, factor->rest + c, factor->stride);
            hc_dense_subtract(tile, from + top, 1, factor->stride, from + c, factor->stride, run);
            hc_dense_put(tile, factor->rest + c, factor->stride);
        }
    }
}

void hc_dense_factorise(HcDenseFactor *factor, const double *matrix, uint8_t *used) {
    size_t n = factor->bands;
    /* Rounding leaves about n eps of an exact repetition; real noise leaves far more. */
    double least = 16 * (double)n * DBL_EPSILON;
    factor->kept = 0;
    for (size_t b = 0; b < n; b++) {
        size_t top = b / HC_TILE * HC_TILE;
        if (b == top) {
            rest_of_rows(factor, matrix, top);
        }
        double *row = factor->rest + (b - top) * factor->stride;
        used[b] = used[b] != 0 && !(row[b] < least);
        if (!used[b]) {
            continue;
        }
        double pivot = sqrt(row[b]);
        double *to = factor->upper + factor->kept * factor->stride;
        divide_row(to, row, pivot, b, n);
        for (size_t below = b + 1; below < top + HC_TILE && below < n; below++) {
            subtract_row(factor->rest + (below - top) * factor->stride, to, to[below], below, n);
        }
        factor->reciprocal[factor->kept] = 1 / to[b];
        factor->band[factor->kept++] = (int32_t)b;
    }
}
