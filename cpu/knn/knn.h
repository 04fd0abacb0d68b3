/* What the files of the nearest neighbours share: training spectra as they are compared, exact distances, and
 * the bound of the fast ones. */
#ifndef HC_CPU_KNN_KNN_H
#define HC_CPU_KNN_KNN_H

#include "core/operation/knn/knn.h"
#include "cpu/internal.h"

HcTrainingOpenFn hc_cpu_training_open;
HcTrainingCloseFn hc_cpu_training_close;
HcKnnFn hc_cpu_knn;

/* Similarity s = x'.t' - h is what the fast product gives (larger is nearer); x' and t' are rounded to
 * float32 about the centre of the training spectra. */
struct HcTraining {
    HcTrainingHead head;
    int64_t count;
    int32_t bands;
    HcMetric metric;
    float *spectra; /* [count][bands] */
    double *norm;   /* [count], ANGLE only */
    double *centre; /* [bands] of the spectra, or of those of unit length */
    double scale;   /* a power of two: brings the longest t' to 1 .. 2 */
    float *moved;   /* t' [count][bands] */
    float *half;    /* h [count] */
    double longest; /* of t' */
    double most;    /* largest magnitude of h */
    /* Principal axes; NULL = there are none that serve. */
    double *axis;  /* [bands][HC_KNN_TERMS] */
    float *turned; /* t' along the axes, and its length beyond them [count][HC_KNN_TERMS] */
    float rest;    /* the largest length beyond the axes */
};

/* Terms of a product along the principal axes. */
enum { HC_KNN_TERMS = 32 };

/* A pixel that looks for its neighbours. */
typedef struct HcQuery {
    const float *x;
    double norm; /* ANGLE only */
} HcQuery;

/* The norm of a spectrum as the distances use it. */
double hc_knn_norm(const float *x, int32_t bands);

/* A pixel and a training spectrum that are compared. */
typedef struct HcPair {
    const HcQuery *query;
    int32_t number; /* of the training spectrum */
} HcPair;

/* distance[i] of pair[i], as the contract has it. */
void hc_knn_distances(const HcTraining *training, const HcPair *pair, int32_t count, double *distance);

/* The pixel as x', moved[bands]. Returns twice the bound of the error of a similarity. Each of the k
 * nearest is at most that much below the k-th largest similarity. INFINITY = float32 is not enough. */
float hc_knn_move(const HcTraining *training, const HcQuery *query, float *moved);

/* Finds the axes, where they are worth it. */
HcStatus hc_knn_find_axes(HcCompute *compute, HcTraining *training, HcError *err);

/* x' or t' along the axes, turned[HC_KNN_TERMS]. Returns its length beyond them. */
float hc_knn_turn(const HcTraining *training, const float *moved, float *turned);

#endif
