/* Singular value decompositions: what the files svd*.c share. A wide matrix is decomposed through its
 * transpose, so that from here on every matrix is [longer][shorter]. */
#ifndef HC_CPU_SVD_SVD_H
#define HC_CPU_SVD_SVD_H

#include "core/operation/svd/svd.h"
#include "cpu/internal.h"

HcSvdOpenFn hc_cpu_svd_open;
HcSvdCloseFn hc_cpu_svd_close;
HcSvdBatchedFn hc_cpu_svd_batched;

/* How matrices of one element and shape are decomposed. */
typedef struct HcSvdWay {
    int32_t at_once; /* matrices that one call takes, at most */
    /* Memory that a call works in [bytes]. */
    size_t (*work_bytes)(const HcSvd *svd);
    /* Matrices first .. first + count - 1 of a batch. work: 64-byte aligned. */
    void (*decompose)(const HcSvd *svd, const HcSvdBatch *batch, int64_t first, int32_t count, void *work);
} HcSvdWay;

struct HcSvd {
    HcSvdHead head;
    HcElement element;
    int32_t longer, shorter; /* sides of the matrices */
    bool turned;             /* they have more columns than rows */
    bool vectors;
    const HcSvdWay *way;
    int at_once; /* decompositions at the same time */
    size_t work_bytes;
    unsigned char *work; /* [at_once][work_bytes] */
};

/* Where one matrix lies in a batch, and its results. */
typedef struct HcSvdPlace {
    const void *matrix; /* [rows][columns] */
    void *values;       /* [shorter] */
    /* Vectors of the longer and of the shorter side, [shorter][longer] and [shorter][shorter]; NULL = not
     * wanted. */
    void *along, *across;
    int32_t *sweeps;
    uint8_t *end;
} HcSvdPlace;

static inline HcSvdPlace hc_cpu_svd_place(const HcSvd *svd, const HcSvdBatch *batch, int64_t number) {
    int64_t bytes = (int64_t)hc_element_bytes(svd->element);
    int64_t shorter = svd->shorter;
    int64_t real_bytes = svd->element == HC_ELEMENT_FLOAT32 || svd->element == HC_ELEMENT_COMPLEX_FLOAT32
                             ? (int64_t)sizeof(float)
                             : (int64_t)sizeof(double);
    char *along = (char *)(svd->turned ? batch->right : batch->left);
    char *across = (char *)(svd->turned ? batch->left : batch->right);
    return (HcSvdPlace){
        .matrix = (const char *)batch->matrices + number * svd->longer * shorter * bytes,
        .values = (char *)batch->values + number * shorter * real_bytes,
        .along = along == NULL ? NULL : along + number * svd->longer * shorter * bytes,
        .across = across == NULL ? NULL : across + number * shorter * shorter * bytes,
        .sweeps = batch->sweeps == NULL ? NULL : batch->sweeps + number,
        .end = batch->end == NULL ? NULL : batch->end + number,
    };
}

/* Side by side in the lanes of vector registers: matrices whose shorter side is at most that. NULL where the
 * processor has no vectors that can be compared (x86 without SSE 4.2, before 2009). */
enum { HC_SVD_LANES_MAX = 64 };
const HcSvdWay *hc_cpu_svd_lanes(HcElement element);
/* By LAPACK, a matrix a call. */
const HcSvdWay *hc_cpu_svd_single(HcElement element);

/* Fills rows from .. rows - 1 of vectors[rows][length] so that all rows are orthonormal, as those before
 * `from` are. */
void hc_cpu_svd_complete_float32(float *vectors, int32_t from, int32_t rows, int32_t length);
void hc_cpu_svd_complete_float64(double *vectors, int32_t from, int32_t rows, int32_t length);
void hc_cpu_svd_complete_complex_float32(float *vectors, int32_t from, int32_t rows, int32_t length);
void hc_cpu_svd_complete_complex_float64(double *vectors, int32_t from, int32_t rows, int32_t length);

/* What a matrix that is not finite gets. */
void hc_cpu_svd_not_finite_float32(const HcSvd *svd, const HcSvdPlace *place);
void hc_cpu_svd_not_finite_float64(const HcSvd *svd, const HcSvdPlace *place);

#endif
