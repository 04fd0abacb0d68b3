/* Products with one dense matrix on the CPU: what gemv.c, gemv_t.c and l1.c share. All sums are formed in
 * float64, in parts that only the shape decides: a part is one thread's, and parts are added in their order.
 */
#ifndef HC_CPU_L1_GEMV_H
#define HC_CPU_L1_GEMV_H

#include "core/operation/l1/gemv.h"
#include "cpu/work.h"

HcGemvFn hc_cpu_gemv;
HcGemvFn hc_cpu_gemv_t;

/* Pieces that the columns are cut into, and rows that the sums of one have. */
int64_t hc_cpu_gemv_parts(const HcMatrix *matrix);
/* A x into the first row of sums[parts][rows]. */
void hc_cpu_gemv_sums(const HcCpu *cpu, const HcMatrix *matrix, const double *x /* [columns] */,
                      double *sums);

/* Pieces that the rows are cut into. */
int64_t hc_cpu_gemv_t_parts(const HcMatrix *matrix);
/* A'x as the sum over the rows of sums[parts][columns], in their order, which is left to the caller. */
void hc_cpu_gemv_t_sums(const HcCpu *cpu, const HcMatrix *matrix, const double *x /* [rows] */, double *sums);

/* A vector of one of two types; the other one is NULL. */
typedef struct HcGemvVector {
    const float *narrow;
    const double *wide;
} HcGemvVector;

/* A product: into sums[parts][count], or rounded into y, which needs a single part; the other one is NULL. */
typedef struct HcGemvProduct {
    const HcMatrix *matrix;
    HcGemvVector x;
    double *sums;
    float *y;
} HcGemvProduct;

/* Forms the product by `form` in `parts` parts, adds them in their order and rounds. */
HcStatus hc_cpu_gemv_in_parts(const HcCpu *cpu, HcGemvProduct product, int64_t parts, int64_t count,
                              void (*form)(const HcCpu *cpu, const HcGemvProduct *product),
                              HcError *err) HC_MUST_CHECK;

/* Grain of items that each read `values` values from memory. */
static inline int64_t hc_cpu_gemv_grain(const HcCpu *cpu, int64_t count, int64_t values) {
    return hc_cpu_grain_worth(cpu, count, values, (int64_t)1 << 19);
}

/* A matrix of one column, or of one row, as the one of its values in the other direction. */
static inline HcMatrix hc_cpu_turned(const HcMatrix *matrix) {
    return (HcMatrix){matrix->data, matrix->columns, matrix->rows};
}

/* to += values. */
void hc_cpu_gemv_add(const double *values, int64_t count, double *to);
/* Adds sums[parts][count] into its first row, in their order. */
void hc_cpu_gemv_add_parts(int64_t parts, int64_t count, double *sums);
/* Values rounded. */
void hc_cpu_gemv_round(const double *values, int64_t count, float *out);

#endif
