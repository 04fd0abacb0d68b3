/* Kernels of --columns: filters, and whitened pixels. ace needs (x - m)' inv(C) (x - m) of each pixel, with
 * the covariance of its group. As the sum of the squares of y = inv(U') S (x - m) it is never negative, and
 * keeps its digits where C is nearly singular. The triangle inv(U') S is packed for a kernel of 4 rows by 12
 * pixels, which stay in registers.
 *
 * Every sum has one order, whatever the vectors of the processor and the other pixels of a panel. */
#include "pipeline/stages/detect/detect.h"

#include <string.h>

enum { ROWS = 4 };

typedef double Four __attribute__((vector_size(4 * sizeof(double)), aligned(sizeof(double)), may_alias));

/* Eight sums, added in a fixed order. */
HC_CLONES double hc_detect_score(const float *x, const double *offset, const double *weight, size_t n) {
    double part[8] = {0};
    size_t b = 0;
    for (; b + 8 <= n; b += 8) {
        for (size_t i = 0; i < 8; i++) {
            part[i] += ((double)x[b + i] - offset[b + i]) * weight[b + i];
        }
    }
    for (size_t i = 0; b + i < n; i++) {
        part[i] += ((double)x[b + i] - offset[b + i]) * weight[b + i];
    }
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

/* Bands that the rows 4 quad to 4 quad + 3 of the triangle have. */
static size_t width_of(size_t quad, size_t bands) {
    size_t width = ROWS * (quad + 1);
    return width < bands ? width : bands;
}

/* Of the quads before this one. */
static size_t offset_of(size_t quad) {
    return ROWS * ROWS * (quad * (quad + 1) / 2);
}

static size_t quads_of(size_t bands) {
    return (bands + ROWS - 1) / ROWS;
}

size_t hc_detect_packed_values(size_t bands) {
    size_t last = quads_of(bands) - 1;
    return offset_of(last) + ROWS * width_of(last, bands);
}

/* row[b] -= sum of u[k] * v[k][b] over the four rows v, in this order. */
HC_CLONES static void subtract_rows(double *row, const double *u, const double *v, size_t stride,
                                    size_t count) {
    for (size_t b = 0; b < count; b++) {
        double part = row[b] - u[0] * v[b];
        part -= u[1] * v[stride + b];
        part -= u[2] * v[2 * stride + b];
        row[b] = part - u[3] * v[3 * stride + b];
    }
}

/* Row k of inv(U') S, from those before it. */
static void make_row(const HcDenseFactor *factor, size_t k, double *work) {
    size_t n = factor->bands;
    size_t own = (size_t)factor->band[k];
    double *row = work + k * n;
    memset(row, 0, n * sizeof *row);
    row[own] = factor->scale[own];
    for (size_t j = 0; j < k; j += ROWS) {
        double u[ROWS] = {0};
        size_t count = k - j < ROWS ? k - j : ROWS;
        for (size_t i = 0; i < count; i++) {
            u[i] = factor->upper[(j + i) * factor->stride + own];
        }
        if (count == ROWS) {
            subtract_rows(row, u, work + j * n, n, (size_t)factor->band[j + ROWS - 1] + 1);
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            for (size_t b = 0; b < own; b++) {
                row[b] -= u[i] * work[(j + i) * n + b];
            }
        }
    }
    for (size_t b = 0; b <= own; b++) {
        row[b] *= factor->reciprocal[k];
    }
}

void hc_detect_pack(const HcDenseFactor *factor, double *work, double *packed) {
    size_t n = factor->bands;
    memset(packed, 0, hc_detect_packed_values(n) * sizeof *packed);
    for (size_t k = 0; k < factor->kept; k++) {
        make_row(factor, k, work);
        size_t own = (size_t)factor->band[k];
        double *to = packed + offset_of(own / ROWS) + own % ROWS;
        for (size_t b = 0; b <= own; b++) {
            to[b * ROWS] = work[k * n + b];
        }
    }
}

HC_CLONES static void add_squares(const double *rows, const double *pixels, size_t count, double *square) {
    Four t[ROWS][HC_DETECT_PANEL / 4] = {{{0}}};
    for (size_t k = 0; k < count; k++, rows += ROWS, pixels += HC_DETECT_PANEL) {
        const Four *x = (const Four *)pixels;
        Four x0 = x[0], x1 = x[1], x2 = x[2];
        t[0][0] += rows[0] * x0, t[0][1] += rows[0] * x1, t[0][2] += rows[0] * x2;
        t[1][0] += rows[1] * x0, t[1][1] += rows[1] * x1, t[1][2] += rows[1] * x2;
        t[2][0] += rows[2] * x0, t[2][1] += rows[2] * x1, t[2][2] += rows[2] * x2;
        t[3][0] += rows[3] * x0, t[3][1] += rows[3] * x1, t[3][2] += rows[3] * x2;
    }
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t p = 0; p < HC_DETECT_PANEL; p++) {
            square[p] += t[r][p / 4][p % 4] * t[r][p / 4][p % 4];
        }
    }
}

void hc_detect_squares(const double *packed, size_t bands, const double *panel, double *square) {
    memset(square, 0, HC_DETECT_PANEL * sizeof *square);
    for (size_t quad = 0; quad < quads_of(bands); quad++) {
        add_squares(packed + offset_of(quad), panel, width_of(quad, bands), square);
    }
}
