/* knn: the nearest training spectra of each pixel. */
#ifndef HC_CORE_OPERATION_KNN_H
#define HC_CORE_OPERATION_KNN_H

#include "core/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HC_KNN_MAX 128 /* neighbours of a pixel */

/* How spectra are compared. */
typedef enum HcMetric {
    HC_METRIC_EUCLIDEAN, /* sum of (x - t)^2 */
    HC_METRIC_ANGLE      /* minus the cosine, - sum of x t / (|x| |t|); 0 where a spectrum is 0 throughout */
} HcMetric;

/* Training spectra in device memory; opaque. */
typedef struct HcTraining HcTraining;

/* Begins the handle of every backend; filled by the door that opens it. */
typedef struct HcTrainingHead {
    HcHead head;
    int64_t count;
    int32_t bands;
} HcTrainingHead;

/* Copies spectra[count][bands] [host]: finite, count < 2^24. */
typedef HcStatus HcTrainingOpenFn(HcCompute *compute, const float *spectra, int64_t count, int32_t bands,
                                  HcMetric metric, HcTraining **out, HcError *err);
HcTrainingOpenFn hc_training_open HC_MUST_CHECK;
typedef void HcTrainingCloseFn(HcTraining *training);
HcTrainingCloseFn hc_training_close;

/* Finds the k nearest training spectra of every interior pixel, nearest first, ties to the lower number. k is
 * 1 to HC_KNN_MAX and at most the count. index and distance [device] [lines][samples][k]; distances are those
 * of HcMetric. A masked pixel has index -1 and distance infinity.
 *
 * Neighbours and distances are exactly those of float64 arithmetic that adds in the order of the bands and
 * rounds every operation; norms are square roots of such sums. A fast product may choose candidates where a
 * bound proves that it loses no neighbour. */
typedef HcStatus HcKnnFn(HcQueue *queue, const HcBlock *in, const HcTraining *training, int32_t k,
                         int32_t *index, double *distance, HcError *err);
HcKnnFn hc_knn HC_MUST_CHECK;

/* Host memory that each thread takes where device memory is host memory, at most: a panel of pixels, their
 * products with some training spectra, their candidates and neighbours [bytes]. */
static inline size_t hc_knn_thread_bytes(int32_t bands, int32_t k) {
    return 384 * ((size_t)bands * 5 / 4 + (size_t)k + 1200) * sizeof(float);
}

#ifdef __cplusplus
}
#endif
#endif
