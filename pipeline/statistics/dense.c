#include "pipeline/statistics/dense.h"

#include <string.h>

/* Compiled for the vector units of newer processors too, chosen when the program starts. No width changes a
 * bit: lanes are columns, sums run over rows, and nothing is contracted. (Sanitizers run before the choice
 * could.) */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(HC_SANITIZED)
#define CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define CLONES
#endif

/* A row of a tile; rows of matrices need no alignment. */
typedef double Row __attribute__((vector_size(HC_TILE * sizeof(double)), aligned(sizeof(double)), may_alias));

size_t hc_dense_padded(size_t n) {
    return (n + HC_TILE - 1) / HC_TILE * HC_TILE;
}

size_t hc_dense_stride(size_t n) {
    return hc_dense_padded(n) | HC_TILE;
}

CLONES void hc_dense_subtract(double *tile, const double *a, size_t row_step, size_t step, const double *b,
                              size_t b_stride, size_t count) {
    Row *rows = (Row *)tile;
    Row t0 = rows[0], t1 = rows[1], t2 = rows[2], t3 = rows[3];
    Row t4 = rows[4], t5 = rows[5], t6 = rows[6], t7 = rows[7];
    for (size_t k = 0; k < count; k++) {
        Row x = *(const Row *)b;
        t0 -= a[0] * x;
        t1 -= a[row_step] * x;
        t2 -= a[2 * row_step] * x;
        t3 -= a[3 * row_step] * x;
        t4 -= a[4 * row_step] * x;
        t5 -= a[5 * row_step] * x;
        t6 -= a[6 * row_step] * x;
        t7 -= a[7 * row_step] * x;
        a += step;
        b += b_stride;
    }
    rows[0] = t0, rows[1] = t1, rows[2] = t2, rows[3] = t3;
    rows[4] = t4, rows[5] = t5, rows[6] = t6, rows[7] = t7;
}

CLONES void hc_dense_forward(double *tile, const double *u, size_t u_stride, const double *reciprocal) {
    Row *rows = (Row *)tile;
    for (size_t r = 0; r < HC_TILE; r++) {
        Row x = rows[r] * reciprocal[r];
        rows[r] = x;
        for (size_t s = r + 1; s < HC_TILE; s++) {
            rows[s] -= u[r * u_stride + s] * x;
        }
    }
}

CLONES void hc_dense_backward(double *tile, const double *u, size_t u_stride, const double *reciprocal) {
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
