/* One spectrum a class: the mean of its training spectra, and for lda the projection that makes distances
 * those of Mahalanobis by the covariance within classes. Training spectra are on the host, so that Ledoit and
 * Wolf's estimate is that of their paper, fourth powers included. */
#include "core/allocate.h"
#include "pipeline/memory.h"
#include "pipeline/stages/knn/knn.h"
#include "pipeline/statistics/whitening.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const hc_class_method_words[] = {"lda", "distance", "sam", NULL};

static const char *const shrink_words[] = {"none", "ledoit-wolf", NULL};

HcStatus hc_class_check_shrink(const char *who, const char *text, HcError *err) {
    double value = 0;
    if (hc_text_equal(text, "none") || hc_text_equal(text, "ledoit-wolf") ||
        (hc_text_parse_double(text, &value) && value >= 0 && value <= 1)) {
        return HC_OK;
    }
    const char *nearest = hc_text_nearest(text, shrink_words);
    return nearest != NULL
               ? hc_fail(err, HC_E_USAGE, "%s: --shrink %s: unknown, did you mean %s?", who, text, nearest)
               : hc_fail(err, HC_E_USAGE, "%s: --shrink %s: none, ledoit-wolf, or a number from 0 to 1", who,
                         text);
}

/* The covariance of what spectra are apart from their class means. */
typedef struct Within {
    int64_t count; /* of spectra */
    int32_t classes;
    size_t bands;
    const double *mean; /* [labels][bands] */
    double *covariance; /* [bands][bands], divided by count - classes */
    double fourth;      /* the sum of the fourth powers of the lengths */
} Within;

static void add_spectrum(Within *within, const float *value, const double *mean, double *apart) {
    double square = 0;
    for (size_t b = 0; b < within->bands; b++) {
        apart[b] = (double)value[b] - mean[b];
        square += apart[b] * apart[b];
    }
    within->fourth += square * square;
    for (size_t b = 0; b < within->bands; b++) {
        for (size_t c = 0; c <= b; c++) {
            within->covariance[b * within->bands + c] += apart[b] * apart[c];
        }
    }
}

static HcStatus fit_within(Within *within, const HcSamples *training, HcError *err) {
    size_t n = within->bands;
    double *apart = NULL;
    HC_OR_RETURN(hc_new(apart, n, "the covariance within classes", err));
    for (int64_t i = 0; i < training->count; i++) {
        add_spectrum(within, training->value + (size_t)i * n, within->mean + (size_t)training->label[i] * n,
                     apart);
    }
    free(apart);
    for (size_t b = 0; b < n; b++) {
        for (size_t c = 0; c <= b; c++) {
            double value = within->covariance[b * n + c] / (double)(within->count - within->classes);
            within->covariance[b * n + c] = within->covariance[c * n + b] = value;
        }
    }
    return HC_OK;
}

/* Ledoit and Wolf 2004: the covariance S of what is apart, divided by n, towards its mean variance m. The
 * share is the smaller of |S - m|^2 and the mean of |z z' - S|^2 / n, over |S - m|^2. */
static double share_of(const Within *within, const char *how) {
    double share = 0, trace = 0, squares = 0;
    double n = (double)within->count;
    double p = (double)within->bands;
    double by_n = (n - within->classes) / n;
    if (hc_text_equal(how, "none") || hc_text_parse_double(how, &share)) {
        return share;
    }
    for (size_t i = 0; i < within->bands * within->bands; i++) {
        double value = within->covariance[i] * by_n;
        trace += i % (within->bands + 1) == 0 ? value : 0;
        squares += value * value;
    }
    double apart = squares - trace * trace / p;
    double spread = (within->fourth / n - squares) / n;
    return spread < apart ? spread / apart : 1;
}

static void shrink(Within *within, double share) {
    double trace = 0;
    for (size_t b = 0; b < within->bands; b++) {
        trace += within->covariance[b * within->bands + b];
    }
    for (size_t i = 0; i < within->bands * within->bands; i++) {
        within->covariance[i] *= 1 - share;
        within->covariance[i] += i % (within->bands + 1) == 0 ? share * trace / (double)within->bands : 0;
    }
}

/* means[labels][bands], 0 for classes without spectra; returns how many have some. */
static int32_t average(const HcSamples *training, const int64_t *trained, int32_t labels, double *mean) {
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
static HcStatus whiten(HcStage *stage, const HcSamples *training, Within *within, HcWhitening *whitening,
                       HcError *err) {
    HcKnnState *state = stage->state;
    const HcKnnParams *params = hc_knn_params(stage);
    if (within->count <= within->classes) {
        return hc_fail(
            err, HC_E_NUMERIC,
            "%s: --method lda: %s has one spectrum a class, which says nothing of the scatter within "
            "classes",
            stage->kind->name, params->training);
    }
    HC_OR_RETURN(fit_within(within, training, err));
    state->shrinkage = share_of(within, params->shrink);
    if (state->shrinkage == 0 && within->count - within->classes < (int64_t)within->bands) {
        return hc_fail(
            err, HC_E_NUMERIC,
            "%s: --method lda: %lld training spectra of %d classes are too few for %zu bands: give "
            "more, or --shrink",
            stage->kind->name, (long long)within->count, within->classes, within->bands);
    }
    shrink(within, state->shrinkage);
    return hc_whitening_make(whitening, stage->compute, training->bands, within->covariance, err);
}

HcStatus hc_class_means(HcStage *stage, HcSamples *training, HcError *err) {
    HcStatus status = HC_OK;
    HcKnnState *state = stage->state;
    int32_t labels = state->training.pixels.classes.count;
    size_t n = (size_t)training->bands;
    bool lda = hc_knn_method(stage) == HC_KNN_LDA;
    double *mean = NULL, *center = NULL, *covariance = NULL;
    HcWhitening whitening = {0};
    HC_TRY(hc_new(mean, (size_t)labels * n, "class means", err));
    HC_TRY(hc_new(center, n, "class means", err));
    int32_t there = average(training, state->trained, labels, mean);
    for (size_t i = 0; i < (size_t)labels * n; i++) {
        center[i % n] += mean[i] / there;
    }
    if (lda) {
        HC_TRY(hc_new(covariance, n * n, "the covariance within classes", err));
        Within within = {
            .count = training->count, .classes = there, .bands = n, .mean = mean, .covariance = covariance};
        HC_TRY(whiten(stage, training, &within, &whitening, err));
        state->directions = whitening.directions;
        HC_TRY(hc_memory_upload(stage->compute, whitening.matrix,
                                n * (size_t)whitening.directions * sizeof(double), &state->matrix, err));
        HC_TRY(hc_memory_upload(stage->compute, center, n * sizeof(double), &state->mean, err));
    }
    HC_TRY(replace(training, state->trained, labels, mean, center, lda ? &whitening : NULL, err));
done:
    hc_whitening_clear(&whitening);
    free(mean);
    free(center);
    free(covariance);
    return status;
}
