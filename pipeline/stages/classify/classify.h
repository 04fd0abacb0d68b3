/* What the files of the stage classify share; nobody else includes this. Its methods are rows of HcKnnMethod
 * (pipeline/stages/knn/knn.h) in the files that make their models. */
#ifndef HC_PIPELINE_STAGES_CLASSIFY_H
#define HC_PIPELINE_STAGES_CLASSIFY_H

#include "pipeline/stages/knn/knn.h"

typedef struct HcClassParams {
    HcKnnParams labels;
    int32_t method;
    const char *shrink;
    const char *priors;       /* "equal", "training", or a file of weights */
    int32_t kernel;           /* 0 = radial basis functions, 1 = planes */
    const char *cost, *gamma; /* numbers, or auto */
    double reject;
    bool confidence, distance, rules;
} HcClassParams;

extern const HcKnnMethod hc_class_lda, hc_class_ml, hc_class_distance, hc_class_sam, hc_class_sid,
    hc_class_svm;

static inline const HcClassParams *hc_class_params(const HcStage *stage) {
    return (const HcClassParams *)stage->params;
}

/* class_means.c: means[labels][bands], 0 for classes without spectra; returns how many have some.
 * trained[labels] counts. */
int32_t hc_class_average(const HcSamples *training, const int64_t *trained, int32_t labels, double *mean);

/* priors.c: makes the priors of the scores once state->trained is there. */
extern const char *const hc_class_prior_words[];
HcStatus hc_class_priors(HcStage *stage, HcError *err) HC_MUST_CHECK;

/* class_svm.c: host memory of `count` training spectra: of the machine, and of each thread that
 * cross-validates. */
size_t hc_class_svm_bytes(size_t count, int32_t bands, int32_t classes);
size_t hc_class_svm_thread_bytes(size_t count, int32_t bands, int32_t classes);

/* As HcOption.check. */
HcStatus hc_class_check_cost(const char *who, const char *text, HcError *err) HC_MUST_CHECK;
HcStatus hc_class_check_gamma(const char *who, const char *text, HcError *err) HC_MUST_CHECK;
HcStatus hc_class_check_shrink(const char *who, const char *text, HcError *err) HC_MUST_CHECK;

#endif
