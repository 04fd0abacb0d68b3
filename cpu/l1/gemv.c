/* y = A x, row by row: A is read once, x stays in the cache. */
#include "cpu/l1/gemv.h"
#include "core/allocate.h"

#include <stdlib.h>

enum {
    CHUNK = 16384, /* columns of a part: x of them stays in the cache nearest but one */
    PART = 65536,  /* values of a part, about */
    BATCH = 64,    /* rows whose sums are handed over at once */
    LANES = 16,    /* sums of a row that are formed side by side */
    NARROW = 16    /* columns of a matrix whose rows are shorter than a loop is worth, at most */
};

/* How the matrix is cut. */
typedef struct Cut {
    int64_t parts;  /* of the columns */
    int64_t rows;   /* of a part */
    int64_t groups; /* of that many rows */
} Cut;

static Cut cut_of(const HcMatrix *matrix) {
    int64_t width = hc_min64(matrix->columns, CHUNK);
    int64_t rows = hc_min64(PART / width, matrix->rows);
    return (Cut){.parts = (matrix->columns + CHUNK - 1) / CHUNK,
                 .rows = rows,
                 .groups = (matrix->rows + rows - 1) / rows};
}

int64_t hc_cpu_gemv_parts(const HcMatrix *matrix) {
    return cut_of(matrix).parts;
}

#define REAL       float
#define NAME(word) word##_float32
#include "cpu/l1/gemv_rows_typed.h"

#define REAL       double
#define NAME(word) word##_float64
#include "cpu/l1/gemv_rows_typed.h"

/* For float rows of COUNT values, so that the compiler can unroll. */
#define ROWS_OF(COUNT)                                                                                       \
    case COUNT:                                                                                              \
        for (int64_t r = 0; r < rows; r++) {                                                                 \
            double sum = 0;                                                                                  \
            for (int j = 0; j < COUNT; j++) {                                                                \
                sum += (double)a[r * COUNT + j] * (double)x[j];                                              \
            }                                                                                                \
            out[r] = sum;                                                                                    \
        }                                                                                                    \
        break

HC_CLONES static void multiply_narrow(const float *restrict a, const float *restrict x, int columns,
                                      int64_t rows, double *restrict out) {
    switch (columns) {
        ROWS_OF(1);
        ROWS_OF(2);
        ROWS_OF(3);
        ROWS_OF(4);
        ROWS_OF(5);
        ROWS_OF(6);
        ROWS_OF(7);
        ROWS_OF(8);
        ROWS_OF(9);
        ROWS_OF(10);
        ROWS_OF(11);
        ROWS_OF(12);
        ROWS_OF(13);
        ROWS_OF(14);
        ROWS_OF(15);
        ROWS_OF(NARROW);
    default:
        break;
    }
}

HC_CLONES void hc_cpu_gemv_round(const double *restrict values, int64_t count, float *restrict out) {
    for (int64_t i = 0; i < count; i++) {
        out[i] = (float)values[i];
    }
}

HC_CLONES void hc_cpu_gemv_add(const double *restrict values, int64_t count, double *restrict to) {
    for (int64_t i = 0; i < count; i++) {
        to[i] += values[i];
    }
}

/* out[rows] of the rows from `first` on, in one part of the columns. */
static void multiply(const HcMatrix *matrix, HcGemvVector x, int64_t part, int64_t first, int64_t rows,
                     double *out) {
    int64_t stride = matrix->columns;
    int64_t columns = hc_min64(CHUNK, stride - part * CHUNK);
    const float *a = matrix->data + first * stride + part * CHUNK;
    if (x.wide != NULL) {
        multiply_float64(a, stride, x.wide + part * CHUNK, columns, rows, out);
    } else if (stride <= NARROW) {
        multiply_narrow(a, x.narrow, (int)columns, rows, out);
    } else {
        multiply_float32(a, stride, x.narrow + part * CHUNK, columns, rows, out);
    }
}

/* A product and how its matrix is cut. */
typedef struct Job {
    HcGemvProduct product;
    Cut cut;
} Job;

static void multiply_unit(const Job *job, int64_t unit) {
    double batch[BATCH];
    const HcGemvProduct *product = &job->product;
    const HcMatrix *matrix = product->matrix;
    int64_t part = unit % job->cut.parts;
    int64_t first = unit / job->cut.parts * job->cut.rows;
    int64_t end = hc_min64(first + job->cut.rows, matrix->rows);
    for (int64_t r = first; r < end; r += BATCH) {
        int64_t rows = hc_min64(BATCH, end - r);
        if (product->y != NULL) {
            multiply(matrix, product->x, part, r, rows, batch);
            hc_cpu_gemv_round(batch, rows, product->y + r);
        } else {
            multiply(matrix, product->x, part, r, rows, product->sums + part * matrix->rows + r);
        }
    }
}

static void multiply_units(void *user, int64_t first, int64_t end, int32_t thread) {
    (void)thread;
    for (int64_t unit = first; unit < end; unit++) {
        multiply_unit(user, unit);
    }
}

static void multiply_all(const HcCpu *cpu, const HcGemvProduct *product) {
    const HcMatrix *matrix = product->matrix;
    Job job = {*product, cut_of(matrix)};
    int64_t units = job.cut.parts * job.cut.groups;
    hc_cpu_work(cpu, units, hc_cpu_gemv_grain(cpu, units, matrix->rows * matrix->columns), multiply_units,
                &job);
}

void hc_cpu_gemv_add_parts(int64_t parts, int64_t count, double *sums) {
    for (int64_t part = 1; part < parts; part++) {
        hc_cpu_gemv_add(sums + part * count, count, sums);
    }
}

void hc_cpu_gemv_sums(const HcCpu *cpu, const HcMatrix *matrix, const double *x, double *sums) {
    multiply_all(cpu, &(HcGemvProduct){.matrix = matrix, .x.wide = x, .sums = sums});
    hc_cpu_gemv_add_parts(cut_of(matrix).parts, matrix->rows, sums);
}

HcStatus hc_cpu_gemv_in_parts(const HcCpu *cpu, HcGemvProduct product, int64_t parts, int64_t count,
                              void (*form)(const HcCpu *cpu, const HcGemvProduct *product), HcError *err) {
    float *y = product.y;
    if (parts == 1) {
        form(cpu, &product);
        return HC_OK;
    }
    product.y = NULL;
    HC_OR_RETURN(hc_new(product.sums, parts * count, "the sums of a product", err));
    form(cpu, &product);
    hc_cpu_gemv_add_parts(parts, count, product.sums);
    hc_cpu_gemv_round(product.sums, count, y);
    free(product.sums);
    return HC_OK;
}

HcStatus hc_cpu_gemv(HcQueue *queue, const HcMatrix *matrix, const float *x, float *y, HcError *err) {
    if (matrix->columns == 1 && matrix->rows > 1) {
        HcMatrix row = hc_cpu_turned(matrix);
        return hc_cpu_gemv_t(queue, &row, x, y, err);
    }
    HcGemvProduct product = {.matrix = matrix, .x.narrow = x, .y = y};
    return hc_cpu_gemv_in_parts(queue->cpu, product, cut_of(matrix).parts, matrix->rows, multiply_all, err);
}
