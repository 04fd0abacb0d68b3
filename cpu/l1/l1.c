/* The matrix of l1 problems: what is found out about it once, and its products with vectors that are mostly
 * zero. */
#include "cpu/l1/l1.h"
#include "core/allocate.h"
#include "core/solver/l1_largest.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEPT_SHARE = 16, /* of the columns one is kept: a copy reads a line of the cache for each value */
    STRIP = 64       /* rows whose sums one thread forms */
};

/* ---- memory ---- */

void hc_cpu_l1_close(HcL1 *l1) {
    if (l1 != NULL) {
        free(l1->row_sums);
        free(l1->column_sums);
        free(l1->here);
        free(l1->weight);
        free(l1->active);
        free(l1->place);
        free(l1->kept_number);
        free(l1->copy);
        free(l1->block);
        free(l1);
    }
}

static HcStatus allocate(HcL1 *l1, HcError *err) {
    size_t rows = (size_t)l1->matrix.rows;
    size_t columns = (size_t)l1->matrix.columns;
    size_t kept = (size_t)l1->kept_most;
    HC_OR_RETURN(hc_new(l1->row_sums, (size_t)hc_cpu_gemv_parts(&l1->matrix) * rows, "an l1 problem", err));
    HC_OR_RETURN(
        hc_new(l1->column_sums, (size_t)hc_cpu_gemv_t_parts(&l1->matrix) * columns, "an l1 problem", err));
    HC_OR_RETURN(hc_new(l1->here, 2 * columns, "an l1 problem", err));
    HC_OR_RETURN(hc_new(l1->weight, 6 * rows, "an l1 problem", err));
    HC_OR_RETURN(hc_new(l1->active, columns, "an l1 problem", err));
    HC_OR_RETURN(hc_new(l1->place, columns, "an l1 problem", err));
    HC_OR_RETURN(hc_new(l1->kept_number, kept, "an l1 problem", err));
    HC_OR_RETURN(hc_new(l1->copy, kept * rows, "an l1 problem", err));
    HC_OR_RETURN(hc_new(l1->block, (size_t)hc_l1_blocks(l1), "an l1 problem", err));
    l1->before = l1->here + columns;
    l1->product = l1->weight + rows;
    l1->product_before = l1->product + rows;
    l1->ahead = l1->product_before + rows;
    l1->target = l1->ahead + rows;
    l1->multiplier = l1->target + rows;
    for (size_t j = 0; j < columns; j++) {
        l1->place[j] = -1;
    }
    return HC_OK;
}

/* ---- products ---- */

/* Adds the parts of blocks [block, end) of columns, in their order. */
static void add_parts(void *user, int64_t block, int64_t end, int32_t thread) {
    (void)thread;
    HcL1 *l1 = user;
    int64_t columns = l1->matrix.columns;
    int64_t parts = hc_cpu_gemv_t_parts(&l1->matrix);
    for (; block < end; block++) {
        int64_t first = block * HC_L1_BLOCK;
        for (int64_t part = 1; part < parts; part++) {
            hc_cpu_gemv_add(l1->column_sums + part * columns + first, hc_min64(HC_L1_BLOCK, columns - first),
                            l1->column_sums + first);
        }
    }
}

/* A' of l1->weight into the first row of l1->column_sums. */
static void multiply_back(HcL1 *l1) {
    int64_t blocks = hc_l1_blocks(l1);
    int64_t values = l1->matrix.columns * hc_cpu_gemv_t_parts(&l1->matrix);
    hc_cpu_gemv_t_sums(l1->cpu, &l1->matrix, l1->weight, l1->column_sums);
    hc_cpu_work(l1->cpu, blocks, hc_cpu_gemv_grain(l1->cpu, blocks, values), add_parts, l1);
}

void hc_l1_slopes(HcL1 *l1, const double *values, const double *target) {
    for (int64_t r = 0; r < l1->matrix.rows; r++) {
        l1->weight[r] = target[r] - values[r];
    }
    multiply_back(l1);
}

double hc_l1_top(const HcL1 *l1, bool positive) {
    double top = 0;
    for (int64_t j = 0; j < l1->matrix.columns; j++) {
        double slope = positive ? l1->column_sums[j] : fabs(l1->column_sums[j]);
        top = slope > top ? slope : top;
    }
    return top;
}

typedef struct Copying {
    HcL1 *l1;
    int64_t first; /* of the kept columns */
} Copying;

static void copy_rows(void *user, int64_t strip, int64_t end, int32_t thread) {
    (void)thread;
    const Copying *job = user;
    HcL1 *l1 = job->l1;
    int64_t rows = l1->matrix.rows;
    for (int64_t r = strip * STRIP; r < hc_min64(end * STRIP, rows); r++) {
        const float *row = l1->matrix.data + r * l1->matrix.columns;
        for (int64_t k = job->first; k < l1->kept; k++) {
            l1->copy[k * rows + r] = row[l1->kept_number[k]];
        }
    }
}

/* Passes over the strips of all rows, each with `values` values of a row. */
static void for_strips(const HcL1 *l1, int64_t values, HcCpuWork *work, void *user) {
    int64_t strips = (l1->matrix.rows + STRIP - 1) / STRIP;
    hc_cpu_work(l1->cpu, strips, hc_cpu_gemv_grain(l1->cpu, strips, l1->matrix.rows * values), work, user);
}

/* Copies columns kept_number[first] to kept_number[kept - 1]. */
static void copy_columns(HcL1 *l1, int64_t first) {
    for_strips(l1, l1->kept - first, copy_rows, &(Copying){l1, first});
}

/* Keeps all active columns, for which there is memory once others are forgotten. */
static void keep(HcL1 *l1, int64_t nonzeros) {
    int64_t missing = 0;
    for (int64_t i = 0; i < nonzeros; i++) {
        missing += l1->place[l1->active[i]] < 0;
    }
    if (l1->kept + missing > l1->kept_most) {
        for (int64_t k = 0; k < l1->kept; k++) {
            l1->place[l1->kept_number[k]] = -1;
        }
        l1->kept = 0;
    }
    int64_t first = l1->kept;
    for (int64_t i = 0; i < nonzeros; i++) {
        int32_t column = l1->active[i];
        if (l1->place[column] < 0) {
            l1->place[column] = (int32_t)l1->kept;
            l1->kept_number[l1->kept++] = column;
        }
    }
    if (l1->kept > first) {
        copy_columns(l1, first);
    }
}

HC_CLONES static void add_column(const float *restrict column, double weight, int64_t rows,
                                 double *restrict sums) {
    for (int64_t r = 0; r < rows; r++) {
        sums[r] += weight * (double)column[r];
    }
}

typedef struct SparseProduct {
    const HcL1 *l1;
    int64_t nonzeros;
    double *product;
} SparseProduct;

static void add_columns(void *user, int64_t strip, int64_t end, int32_t thread) {
    (void)thread;
    const SparseProduct *job = user;
    const HcL1 *l1 = job->l1;
    int64_t rows = l1->matrix.rows;
    for (; strip < end; strip++) {
        int64_t some = hc_min64(STRIP, rows - strip * STRIP);
        double *product = job->product + strip * STRIP;
        memset(product, 0, (size_t)some * sizeof *product);
        for (int64_t i = 0; i < job->nonzeros; i++) {
            int64_t column = l1->active[i];
            add_column(l1->copy + l1->place[column] * rows + strip * STRIP, l1->here[column], some, product);
        }
    }
}

void hc_l1_multiply(HcL1 *l1, int64_t nonzeros, double *product) {
    if (nonzeros > l1->kept_most) {
        hc_cpu_gemv_sums(l1->cpu, &l1->matrix, l1->here, l1->row_sums);
        memcpy(product, l1->row_sums, (size_t)l1->matrix.rows * sizeof *product);
        return;
    }
    keep(l1, nonzeros);
    for_strips(l1, nonzeros, add_columns, &(SparseProduct){l1, nonzeros, product});
}

/* ---- the largest singular value ---- */

/* Brings values[count] to length 1, unless they are 0; returns their length. */
static double normalise(const double *values, int64_t count, double *out) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += values[i] * values[i];
    }
    double length = sqrt(sum);
    for (int64_t i = 0; i < count; i++) {
        out[i] = length > 0 ? values[i] / length : 0;
    }
    return length;
}

static void subtract(double *values, double times, const double *vector, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        values[i] -= times * vector[i];
    }
}

static HcStatus step_back(void *user, double beta, double *alpha, HcError *err) {
    HcL1 *l1 = user;
    (void)err;
    multiply_back(l1);
    subtract(l1->column_sums, beta, l1->before, l1->matrix.columns);
    *alpha = normalise(l1->column_sums, l1->matrix.columns, l1->before);
    return HC_OK;
}

static HcStatus step_ahead(void *user, double alpha, double *beta, HcError *err) {
    HcL1 *l1 = user;
    (void)err;
    hc_cpu_gemv_sums(l1->cpu, &l1->matrix, l1->before, l1->row_sums);
    subtract(l1->row_sums, alpha, l1->weight, l1->matrix.rows);
    *beta = normalise(l1->row_sums, l1->matrix.rows, l1->weight);
    return HC_OK;
}

static HcStatus largest_of_tridiagonal(void *user, int32_t n, const double *diagonal, const double *beside,
                                       double *largest, double *last, HcError *err) {
    double values[HC_L1_LANCZOS_MAX];
    double off[HC_L1_LANCZOS_MAX];
    double vectors[HC_L1_LANCZOS_MAX * HC_L1_LANCZOS_MAX];
    (void)user;
    (void)err;
    memcpy(values, diagonal, (size_t)n * sizeof *values);
    memcpy(off, beside, (size_t)(n - 1) * sizeof *off);
    /* Where it fails, the whole of the bound is added. */
    bool found = LAPACKE_dstev(LAPACK_COL_MAJOR, 'V', n, values, off, vectors, n) == 0;
    *last = found ? fabs(vectors[(n - 1) * n + n - 1]) : 1;
    *largest = values[n - 1];
    return HC_OK;
}

/* u is l1->weight, v is l1->before. */
static HcStatus find_largest(HcL1 *l1, HcError *err) {
    const HcL1Lanczos lanczos = {l1, step_back, step_ahead, largest_of_tridiagonal};
    hc_l1_start_vector(l1->ahead, l1->matrix.rows);
    normalise(l1->ahead, l1->matrix.rows, l1->weight);
    memset(l1->before, 0, (size_t)l1->matrix.columns * sizeof *l1->before);
    return hc_l1_largest(&lanczos, &l1->largest, err);
}

/* ---- opening ---- */

HcStatus hc_cpu_l1_open(HcCompute *compute, const HcMatrix *matrix, HcL1 **out, HcError *err) {
    HcStatus status = HC_OK;
    HcL1 *l1 = NULL;
    *out = NULL;
    hc_cpu_blas_alone();
    HC_TRY(hc_new(l1, 1, "an l1 problem", err));
    l1->matrix = *matrix;
    l1->cpu = (const HcCpu *)compute;
    l1->kept_most = (matrix->columns - 1) / KEPT_SHARE + 1;
    HC_TRY(allocate(l1, err));
    HC_TRY(find_largest(l1, err));
    *out = l1;
done:
    if (status != HC_OK) {
        hc_cpu_l1_close(l1);
    }
    return status;
}
