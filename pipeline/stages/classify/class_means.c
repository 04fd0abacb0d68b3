/* One spectrum a class: the mean of its training spectra, and for lda the projection that makes distances
 * those of Mahalanobis by the covariance within classes. */
#include "core/allocate.h"
#include "pipeline/memory.h"
#include "pipeline/stages/classify/covariance.h"
#include "pipeline/stages/classify/classify.h"
#include "pipeline/statistics/shrinkage.h"
#include "pipeline/statistics/whitening.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const shrink_words[] = {"none", "ledoit-wolf", NULL};

HcStatus hc_class_check_shrink(const char *who, const char *text, HcError *err) {
    return hc_shrinkage_check_words(who, text, shrink_words, err);
}

int32_t hc_class_average(const HcSamples *training, const int64_t *trained, int32_t labels, double *mean) {
    size_t n = (size_t)training->bands;
    int32_t there = 0;
    for (int64_t i = 0; i < training->count; i++) {
        for (size_t b = 0; b < n; b++) {
            mean[(size_t)training->label[i] * n + b] += (double)training->value[(size_t)i * n + b];
        }
    }
    for (int32_t c = 0; c < labels; c++) {
        there += trained[c] > 0;
        for (size_t b = 0; b < n && trained[c] > 0; b++) {
            mean[(size_t)c * n + b] /= (double)trained[c];
        }
    }
    return there;
}

/* Means replace spectra; those in a projection, from the mean of all means. */
static HcStatus replace(HcSamples *training, const int64_t *trained, int32_t labels, const double *mean,
                        const double *center, const HcWhitening *whitening, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)training->bands;
    size_t m = whitening != NULL ? (size_t)whitening->directions : n;
    double *apart = NULL;
    HC_OR_RETURN(hc_new(apart, n + m, "class means", err));
    double *projected = apart + n;
    int32_t *label = NULL;
    float *value = NULL;
    HC_TRY(hc_new(label, labels, "class means", err));
    HC_TRY(hc_new(value, (size_t)labels * m, "class means", err));
    int64_t count = 0;
    for (int32_t c = 0; c < labels; c++) {
        if (trained[c] == 0) {
            continue;
        }
        for (size_t b = 0; b < n; b++) {
            apart[b] = mean[(size_t)c * n + b] - (whitening != NULL ? center[b] : 0);
        }
        if (whitening != NULL) {
            hc_whitening_apply(whitening, apart, projected);
        } else {
            memcpy(projected, apart, n * sizeof *apart);
        }
        for (size_t k = 0; k < m; k++) {
            value[(size_t)count * m + k] = (float)projected[k];
        }
        label[count++] = c;
    }
    free(training->value);
    free(training->label);
    training->value = value;
    training->label = label;
    training->count = count;
    training->bands = (int32_t)m;
    value = NULL;
    label = NULL;
done:
    free(apart);
    free(label);
    free(value);
    return status;
}

/* Whitens by the covariance within classes. */
static HcStatus whiten(HcStage *stage, const HcSamples *training, HcWithin *within, HcWhitening *whitening,
                       HcError *err) {
    HcKnnState *state = stage->state;
    const HcClassParams *params = hc_class_params(stage);
    if (within->count <= within->classes) {
        return hc_fail(
            err, HC_E_NUMERIC,
            "%s: --method lda: %s has one spectrum a class, which says nothing of the scatter within "
            "classes",
            stage->kind->name, params->labels.training);
    }
    HC_OR_RETURN(hc_within_fit(within, training, err));
    state->shrinkage = hc_within_share(within, params->shrink);
    if (state->shrinkage == 0 && within->count - within->classes < (int64_t)within->bands) {
        return hc_fail(
            err, HC_E_NUMERIC,
            "%s: --method lda: %lld training spectra of %d classes are too few for %zu bands: give "
            "more, or --shrink",
            stage->kind->name, (long long)within->count, within->classes, within->bands);
    }
    hc_shrinkage_mix(within->covariance, within->bands, state->shrinkage);
    return hc_whitening_make(whitening, stage->compute, training->bands, within->covariance, err);
}

/* The projection that makes distances those of Mahalanobis, at the center of the means. */
static HcStatus project(HcStage *stage, const HcWhitening *whitening, const double *center, HcError *err) {
    HcKnnState *state = stage->state;
    size_t n = (size_t)stage->in.bands;
    state->directions = whitening->directions;
    HC_OR_RETURN(hc_memory_upload(stage->compute, whitening->matrix,
                                  n * (size_t)whitening->directions * sizeof(double), &state->matrix, err));
    return hc_memory_upload(stage->compute, center, n * sizeof(double), &state->mean, err);
}

static HcStatus make_lda(HcStage *stage, HcSamples *training, HcError *err) {
    HcStatus status = HC_OK;
    HcKnnState *state = stage->state;
    int32_t labels = state->training.pixels.classes.count;
    size_t n = (size_t)training->bands;
    double *mean = NULL, *center = NULL, *covariance = NULL;
    HcWhitening whitening = {0};
    HC_OR_RETURN(hc_class_priors(stage, err));
    HC_TRY(hc_new(mean, (size_t)labels * n, "class means", err));
    HC_TRY(hc_new(center, n, "class means", err));
    HC_TRY(hc_new(covariance, n * n, "the covariance within classes", err));
    int32_t there = hc_class_average(training, state->trained, labels, mean);
    for (size_t i = 0; i < (size_t)labels * n; i++) {
        center[i % n] += mean[i] / there;
    }
    HcWithin within = {
        .count = training->count, .classes = there, .bands = n, .mean = mean, .covariance = covariance};
    HC_TRY(whiten(stage, training, &within, &whitening, err));
    HC_TRY(project(stage, &whitening, center, err));
    HC_TRY(replace(training, state->trained, labels, mean, center, &whitening, err));
done:
    hc_whitening_clear(&whitening);
    free(mean);
    free(center);
    free(covariance);
    return status;
}

static HcStatus make_means(HcStage *stage, HcSamples *training, HcError *err) {
    const HcKnnState *state = stage->state;
    int32_t labels = state->training.pixels.classes.count;
    double *mean = NULL;
    HC_OR_RETURN(hc_new(mean, (size_t)labels * (size_t)training->bands, "class means", err));
    (void)hc_class_average(training, state->trained, labels, mean);
    HcStatus status = replace(training, state->trained, labels, mean, NULL, NULL, err);
    free(mean);
    return status;
}

const HcKnnMethod hc_class_lda = {
    .name = "lda", .most = HC_KNN_MAX, .projects = true, .probability = true, .make = make_lda};
const HcKnnMethod hc_class_distance = {.name = "distance", .most = HC_KNN_MAX, .make = make_means};
const HcKnnMethod hc_class_sam = {
    .name = "sam", .most = HC_KNN_MAX, .metric = HC_METRIC_ANGLE, .make = make_means};
