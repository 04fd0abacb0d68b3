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
    float *half;    /* h [count], then infinity up to a whole block */
    double longest; /* of t' */
    double most;    /* largest magnitude of h */
    /* Principal axes; NULL = there are none that serve. */
    double *axis;  /* [bands][HC_KNN_TERMS] */
    float *turned; /* t' along the axes, and its length beyond them [count][HC_KNN_TERMS] */
    float rest;    /* the largest length beyond the axes */
    /* t' in steps, four bands a word [blocks][words][HC_KNN_BLOCK]; NULL = they do not serve. */
    int32_t *word;
    int32_t *start; /* of the sums [blocks][HC_KNN_BLOCK] */
    float step;
    double off;  /* largest length that steps leave */
    double *few; /* t [blocks of 8][bands][8]; NULL = there are too many, or not by squares */
};

/* Training spectra that every pixel is compared with, at most. */
enum { HC_KNN_FEW = 16 };

/* Terms of a product along the principal axes. */
enum { HC_KNN_TERMS = 32 };

/* Sums that are added side by side where all bands of a candidate are multiplied. */
enum { HC_KNN_CHUNK = 32 };

/* Pixels and training spectra whose words lie side by side. */
enum { HC_KNN_BLOCK = 16 };

/* Words of a spectrum in bytes. */
static inline int64_t hc_knn_words(int32_t bands) {
    return (bands + 3) / 4;
}

static inline int64_t hc_knn_blocks(int64_t spectra) {
    return (spectra + HC_KNN_BLOCK - 1) / HC_KNN_BLOCK;
}

/* Pixels in bytes, and what makes sums of bytes to products. */
typedef struct HcKnnBytes {
    int32_t *word;        /* steps plus 128 [blocks][words][HC_KNN_BLOCK] */
    float *scale, *above; /* products get `above`, so that none is too small */
} HcKnnBytes;

/* Products of pixels with some training spectra. */
typedef struct HcKnnProducts {
    float *product; /* [spectra][width] */
    float *peak;    /* largest similarity of HC_KNN_BLOCK spectra [blocks][width] */
    int64_t width;  /* whole blocks of pixels */
} HcKnnProducts;

/* Asks memory for a spectrum, as those of candidates lie far apart. */
static inline void hc_knn_fetch(const float *spectrum, int64_t bands) {
    for (int64_t b = 0; b < bands; b += 16) {
        __builtin_prefetch(spectrum + b);
    }
}

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

/* Twice the bound of the error of a similarity. Each of the k nearest is at most that much below the k-th
 * largest similarity. INFINITY = float32 is not enough. */
typedef struct HcMargins {
    float whole; /* of products of all bands, added in any order */
    float rough; /* of rough products, and of those of all bands added in HC_KNN_CHUNK sums */
} HcMargins;

/* The pixel as x', moved[bands]. */
HcMargins hc_knn_move(const HcTraining *training, const HcQuery *query, float *moved);

/* The length of x, added by vectors. */
double hc_knn_length(const float *x, int32_t bands);

/* Makes words of bytes, where they are worth it and axes do not serve. */
HcStatus hc_knn_make_bytes(HcTraining *training, HcError *err);

/* x' as pixel i of `bytes`. Returns a bound: its products are x'.t' at least, and at most twice the bound
 * more. */
float hc_knn_take_bytes(const HcTraining *training, const float *moved, int32_t i, HcKnnBytes *bytes);

/* Upper bounds of x'.t', of `pixels` from pixel `from` on with `count` spectra from `first` on. Both begin
 * with a whole block, and are filled up to whole blocks. */
void hc_knn_multiply_bytes(const HcTraining *training, const HcKnnBytes *bytes, int32_t from, int32_t pixels,
                           int64_t first, int64_t count, const HcKnnProducts *products);

/* Lays few spectra side by side. */
HcStatus hc_knn_make_few(HcTraining *training, HcError *err);

/* hc_knn() by training->few. */
void hc_knn_search_few(const HcCpu *cpu, const HcBlock *in, const HcTraining *training, int32_t k,
                       int32_t *index, double *distance);

/* Finds the axes, where they are worth it. */
HcStatus hc_knn_find_axes(HcCompute *compute, HcTraining *training, HcError *err);

/* x' or t' along the axes, turned[HC_KNN_TERMS]. Returns its length beyond them. */
float hc_knn_turn(const HcTraining *training, const float *moved, float *turned);

#endif
