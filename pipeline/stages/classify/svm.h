/* Support vector machines: C-SVC, one against one, trained by libsvm on the host. What is decided with a
 * trained machine needs no library. */
#ifndef HC_PIPELINE_STAGES_CLASSIFY_SVM_H
#define HC_PIPELINE_STAGES_CLASSIFY_SVM_H

#include "core/status.h"
#include "core/system/team.h"
#include "core/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Training spectra, scaled. */
typedef struct HcSvmProblem {
    const double *value;  /* [count][bands] */
    const int32_t *label; /* [count], ascending */
    int32_t count, bands;
} HcSvmProblem;

typedef struct HcSvmHow {
    bool linear;  /* else exp(-gamma |x - y|^2) */
    double cost;  /* of an error */
    double gamma; /* not with `linear` */
} HcSvmHow;

/* Vectors of a machine that lie together: one after the other for each band. */
enum { HC_SVM_LANES = 8 };

/* A trained machine. Zero-initialise; hc_svm_clear() is always safe. */
typedef struct HcSvm {
    HcSvmHow how;
    int32_t bands, classes;
    int32_t count;  /* support vectors, in the order of the classes */
    int32_t *label; /* [classes] ascending */
    int32_t *first; /* [classes + 1] the first vector of each class */
    double *coef;   /* [classes - 1][count] as libsvm has them */
    double *rho;    /* [pairs] */
    double *vector; /* [count / LANES, upwards][bands][LANES], 0 behind the last */
    size_t blocks;  /* of vectors */
} HcSvm;

/* Maximum number of classes: their pairs vote one by one. */
enum { HC_SVM_CLASSES = 1024 };

/* Pairs (a, b) of classes with a < b, ordered by a. */
static inline int32_t hc_svm_pairs(int32_t classes) {
    return classes * (classes - 1) / 2;
}

/* Whether the program was built with libsvm. */
bool hc_svm_there(void);
/* Adds "libsvm 3.24\n", or that there is none. */
void hc_svm_library(HcText *text);

/* Bytes of the rows of the kernel matrix of `count` spectra that libsvm keeps: all of them, or 40 MiB. */
size_t hc_svm_kernel_bytes(size_t count);

/* HC_E_UNSUPPORTED: not built with libsvm. HC_E_MEMORY: what libsvm may take is not there before it starts;
 * it does not look at its memory itself. `precision`: tolerance of the optimum, 0.001 is usual. */
HcStatus hc_svm_train(HcSvm *svm, const HcSvmProblem *problem, const HcSvmHow *how, double precision,
                      HcError *err) HC_MUST_CHECK;
void hc_svm_clear(HcSvm *svm);

/* kernel[blocks * LANES] of x[bands] with each vector. */
void hc_svm_kernel(const HcSvm *svm, const double *x, double *kernel);

/* The normal vector of the plane between each pair: normal[bands][pairs], of a linear machine. */
void hc_svm_normals(const HcSvm *svm, double *normal);

/* votes[classes] of a pixel by its kernel; returns the class (from 0) with most, of several the first. */
int32_t hc_svm_vote(const HcSvm *svm, const double *kernel, int32_t *votes);

/* Votes by the margins [pairs] of a linear machine. */
int32_t hc_svm_vote_margins(int32_t classes, const float *margin, int32_t *votes);

/* What cross-validation tries: each kernel with each cost and gamma, over the same folds. */
typedef struct HcSvmTrial {
    HcSvmHow how;
    double accuracy; /* filled */
} HcSvmTrial;

/* Fills the accuracy of the trials [count]. Each class is shuffled and dealt out to `folds` folds: the same
 * for a seed on every machine and for any team. */
HcStatus hc_svm_cross_validate(const HcSvmProblem *problem, int32_t folds, uint64_t seed, HcSvmTrial *trial,
                               int32_t count, HcTeam *team, HcError *err) HC_MUST_CHECK;

#endif
