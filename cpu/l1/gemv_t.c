/* y = A'x: rows of A times their entry of x are added to sums that stay in the nearest cache. */
#include "cpu/l1/gemv.h"

#include <string.h>

enum {
    CHUNK = 4096, /* columns of a part: their sums stay in the nearest cache */
    PART = 65536, /* values of a part, at least, where rows are cut too */
    PARTS = 64,   /* of all columns and rows together, about */
    ROWS = 8,     /* that are added at once */
    NARROW = 8    /* columns of a matrix whose rows are shorter than a loop is worth, at most */
};

/* How the matrix is cut. */
typedef struct Cut {
    int64_t chunks; /* of the columns */
    int64_t parts;  /* of the rows */
    int64_t rows;   /* of a part */
} Cut;

static Cut cut_of(const HcMatrix *matrix) {
    int64_t chunks = (matrix->columns + CHUNK - 1) / CHUNK;
    int64_t wanted = chunks < PARTS ? PARTS / chunks : 1;
    int64_t least = (PART - 1) / hc_min64(matrix->columns, CHUNK) + 1; /* rows */
    int64_t rows = (matrix->rows - 1) / wanted + 1;
    rows = (rows > least ? rows : least) + ROWS - 1;
    rows -= rows % ROWS;
    return (Cut){.chunks = chunks, .parts = (matrix->rows - 1) / rows + 1, .rows = rows};
}

int64_t hc_cpu_gemv_t_parts(const HcMatrix *matrix) {
    return cut_of(matrix).parts;
}

/* sums[columns] += a[ROWS][stride]' weight[ROWS] */
HC_CLONES static void add_rows(const float *restrict a, int64_t stride, const double *restrict weight,
                               int64_t columns, double *restrict sums) {
    for (int64_t j = 0; j < columns; j++) {
        double sum = sums[j];
        for (int r = 0; r < ROWS; r++) {
            sum += weight[r] * (double)a[r * stride + j];
        }
        sums[j] = sum;
    }
}

HC_CLONES static void add_row(const float *restrict a, double weight, int64_t columns,
                              double *restrict sums) {
    for (int64_t j = 0; j < columns; j++) {
        sums[j] += weight * (double)a[j];
    }
}

/* The same for float, of all rows where one has COUNT values, for the compiler to unroll; ROWS sums of every
 * column are formed side by side. */
#define ROWS_OF(COUNT)                                                                                       \
    case COUNT: {                                                                                            \
        double side[ROWS][COUNT] = {{0}};                                                                    \
        for (int64_t r = 0; r < rows; r += ROWS) {                                                           \
            for (int k = 0; k < ROWS; k++) {                                                                 \
                for (int j = 0; j < COUNT; j++) {                                                            \
                    side[k][j] += (double)x[r + k] * (double)a[(r + k) * COUNT + j];                         \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
        for (int k = 0; k < ROWS; k++) {                                                                     \
            for (int j = 0; j < COUNT; j++) {                                                                \
                sums[j] += side[k][j];                                                                       \
            }                                                                                                \
        }                                                                                                    \
    } break

/* rows is a multiple of ROWS. */
HC_CLONES static void add_narrow(const float *restrict a, const float *restrict x, int columns, int64_t rows,
                                 double *restrict sums) {
    switch (columns) {
        ROWS_OF(1);
        ROWS_OF(2);
        ROWS_OF(3);
        ROWS_OF(4);
        ROWS_OF(5);
        ROWS_OF(6);
        ROWS_OF(7);
        ROWS_OF(NARROW);
    default:
        break;
    }
}

static double entry(HcGemvVector x, int64_t row) {
    return x.wide != NULL ? x.wide[row] : (double)x.narrow[row];
}

/* sums[columns of the chunk] of the rows first .. first + rows - 1. */
static void add_part(const HcMatrix *matrix, HcGemvVector x, int64_t chunk, int64_t first, int64_t rows,
                     double *sums) {
    int64_t stride = matrix->columns;
    int64_t columns = hc_min64(CHUNK, stride - chunk * CHUNK);
    const float *a = matrix->data + first * stride + chunk * CHUNK;
    int64_t whole = rows - rows % ROWS;
    memset(sums, 0, (size_t)columns * sizeof *sums);
    if (stride <= NARROW && x.narrow != NULL) {
        add_narrow(a, x.narrow + first, (int)columns, whole, sums);
    } else {
        for (int64_t r = 0; r < whole; r += ROWS) {
            double weight[ROWS];
            for (int k = 0; k < ROWS; k++) {
                weight[k] = entry(x, first + r + k);
            }
            add_rows(a + r * stride, stride, weight, columns, sums);
        }
    }
    for (int64_t r = whole; r < rows; r++) {
        add_row(a + r * stride, entry(x, first + r), columns, sums);
    }
}

/* A product and how its matrix is cut. */
typedef struct Job {
    HcGemvProduct product;
    Cut cut;
} Job;

static void add_unit(const Job *job, int64_t unit) {
    double sums[CHUNK];
    const HcGemvProduct *product = &job->product;
    const HcMatrix *matrix = product->matrix;
    int64_t part = unit / job->cut.chunks;
    int64_t chunk = unit % job->cut.chunks;
    int64_t columns = hc_min64(CHUNK, matrix->columns - chunk * CHUNK);
    int64_t rows = hc_min64(job->cut.rows, matrix->rows - part * job->cut.rows);
    add_part(matrix, product->x, chunk, part * job->cut.rows, rows, sums);
    if (product->y != NULL) {
        hc_cpu_gemv_round(sums, columns, product->y + chunk * CHUNK);
    } else {
        memcpy(product->sums + part * matrix->columns + chunk * CHUNK, sums, (size_t)columns * sizeof *sums);
    }
}

static void add_units(void *user, int64_t first, int64_t end, int32_t thread) {
    (void)thread;
    for (int64_t unit = first; unit < end; unit++) {
        add_unit(user, unit);
    }
}

static void add_all(const HcCpu *cpu, const HcGemvProduct *product) {
    const HcMatrix *matrix = product->matrix;
    Job job = {*product, cut_of(matrix)};
    int64_t units = job.cut.chunks * job.cut.parts;
    hc_cpu_work(cpu, units, hc_cpu_gemv_grain(cpu, units, matrix->rows * matrix->columns), add_units, &job);
}

void hc_cpu_gemv_t_sums(const HcCpu *cpu, const HcMatrix *matrix, const double *x, double *sums) {
    add_all(cpu, &(HcGemvProduct){.matrix = matrix, .x.wide = x, .sums = sums});
}

HcStatus hc_cpu_gemv_t(HcQueue *queue, const HcMatrix *matrix, const float *x, float *y, HcError *err) {
    if (matrix->columns == 1 && matrix->rows > 1) {
        HcMatrix row = hc_cpu_turned(matrix);
        return hc_cpu_gemv(queue, &row, x, y, err);
    }
    HcGemvProduct product = {.matrix = matrix, .x.narrow = x, .y = y};
    return hc_cpu_gemv_in_parts(queue->cpu, product, cut_of(matrix).parts, matrix->columns, add_all, err);
}
