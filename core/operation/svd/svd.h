/* svd_batched: singular value decompositions of many matrices of one shape. */
#ifndef HC_CORE_OPERATION_SVD_H
#define HC_CORE_OPERATION_SVD_H

#include "core/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HC_SVD_MAX    4096 /* rows or columns of a matrix, at most */
#define HC_SVD_SWEEPS 40   /* at most */

/* The type of the elements of a matrix. */
typedef enum HcElement {
    HC_ELEMENT_FLOAT32,
    HC_ELEMENT_FLOAT64,
    HC_ELEMENT_COMPLEX_FLOAT32, /* two float32: real part, imaginary part */
    HC_ELEMENT_COMPLEX_FLOAT64,
    HC_ELEMENT_COUNT
} HcElement;

static inline size_t hc_element_bytes(HcElement element) {
    return element == HC_ELEMENT_FLOAT32 ? 4 : element == HC_ELEMENT_COMPLEX_FLOAT64 ? 16 : 8;
}

/* How a decomposition ended. */
typedef enum HcSvdEnd {
    HC_SVD_CONVERGED,
    HC_SVD_UNFINISHED, /* stopped after HC_SVD_SWEEPS: results are approximate */
    HC_SVD_NOT_FINITE  /* the matrix holds NaN or infinity: all results are NaN */
} HcSvdEnd;

/* Decompositions of matrices of one shape, with the memory that they work in; opaque. */
typedef struct HcSvd HcSvd;

/* Begins the handle of every backend; filled by the door that opens it. */
typedef struct HcSvdHead {
    HcHead head;
    HcElement element;
    int32_t rows, columns;
    bool vectors;
} HcSvdHead;

/* Matrices of one shape and their results, with k = min(rows, columns). All [device]; NULL = not wanted. */
typedef struct HcSvdBatch {
    int64_t count;
    const void *matrices; /* [count][rows][columns]; REQUIRED */
    void *values;         /* [count][k] singular values, descending: float32 or float64; REQUIRED */
    void *left;           /* [count][k][rows] */
    void *right;          /* [count][k][columns] */
    int32_t *sweeps;      /* [count] passes over all pairs of columns; 0 where another way was taken */
    uint8_t *end;         /* [count] HcSvdEnd */
} HcSvdBatch;

/* Allocates the memory to decompose rows x columns matrices (1 to HC_SVD_MAX each), at most `at_once` of them
 * at a time. It does not depend on the size of a batch. vectors: whether batches ask for left or right. One
 * queue at a time may use the result. */
typedef HcStatus HcSvdOpenFn(HcCompute *compute, HcElement element, int32_t rows, int32_t columns,
                             int64_t at_once, bool vectors, HcSvd **out, HcError *err);
HcSvdOpenFn hc_svd_open HC_MUST_CHECK;
typedef void HcSvdCloseFn(HcSvd *svd);
HcSvdCloseFn hc_svd_close;

/* Decomposes each matrix: matrix = sum over k of values[k] left[k] right[k]^H, by one-sided Jacobi rotations
 * (Li, Yan, Hou: batched small SVD; Brent and Luk 1985).
 *
 * left and right have orthonormal rows, also where singular values are 0. The error of every
 * result is a small multiple of the rounding unit of `element` times the root of the longer side. Signs
 * (phases) are free: left[k] and right[k] may change theirs together. Entries may have any finite magnitude.
 * Values below 2^-90 (float32) or 2^-300 (float64) of a matrix's largest entry may come out as 0. A matrix
 * has the same bits wherever it lies in the batch. */
typedef HcStatus HcSvdBatchedFn(HcQueue *queue, HcSvd *svd, const HcSvdBatch *batch, HcError *err);
HcSvdBatchedFn hc_svd_batched HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
