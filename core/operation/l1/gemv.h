/* gemv, gemv_t: a dense matrix, or its transpose, times a vector. */
#ifndef HC_CORE_OPERATION_GEMV_H
#define HC_CORE_OPERATION_GEMV_H

#include "core/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HC_MATRIX_SIDE_MAX INT32_MAX

/* A dense matrix of 1 to HC_MATRIX_SIDE_MAX rows and columns. data has the alignment of a float, no more. */
typedef struct HcMatrix {
    const float *data; /* [device] [rows][columns] */
    int64_t rows, columns;
} HcMatrix;

/* gemv: y[rows] = A x[columns]. gemv_t: y[columns] = A'x[rows]. x and y [device]. Products are summed in
 * float32 or wider, in an order that the shape decides. On a GPU the device and the alignment of the
 * matrix decide it, too (Gao and Li: adaptive kernels for any shape). */
typedef HcStatus HcGemvFn(HcQueue *queue, const HcMatrix *matrix, const float *x, float *y, HcError *err);
HcGemvFn hc_gemv HC_MUST_CHECK;
HcGemvFn hc_gemv_t HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
