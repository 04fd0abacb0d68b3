/* The models of ml and sid: for each class a mean, and for ml the inverse of the Cholesky factor of its
 * covariance: what is apart from the mean then has the square of Mahalanobis' distance for the sum of its
 * squares. */
#include "core/allocate.h"
#include "pipeline/memory.h"
#include "pipeline/stages/classify/covariance.h"
#include "pipeline/statistics/shrinkage.h"
#include "pipeline/stages/classify/classify.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The lower factor of the correlation in place of the lower triangle, with `deviation` the square roots of
 * the diagonal; false where it is singular, to rounding. */
static bool factor(double *c, double *deviation, size_t n) {
    for (size_t b = 0; b < n; b++) {
        deviation[b] = sqrt(c[b * n + b]);
        if (!(deviation[b] > 0)) {
            return false;
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = c[i * n + j] / (deviation[i] * deviation[j]);
            for (size_t k = 0; k < j; k++) {
                sum -= c[i * n + k] * c[j * n + k];
            }
            if (i == j && !(sum > 16 * (double)n * DBL_EPSILON)) {
                return false;
            }
            c[i * n + j] = i == j ? sqrt(sum) : sum / c[j * n + j];
        }
    }
    return true;
}

/* matrix[b][k]: column k holds row k of the inverse of D L, for the factor L and the deviations D. */
static void invert(const double *l, const double *deviation, size_t n, double *matrix) {
    for (size_t b = 0; b < n; b++) {
        for (size_t k = 0; k < n; k++) {
            double sum = k == b ? 1 : 0;
            for (size_t j = b; j < k; j++) {
                sum -= l[k * n + j] * matrix[b * n + j];
            }
            matrix[b * n + k] = k < b ? 0 : sum / l[k * n + k];
        }
    }
    for (size_t b = 0; b < n; b++) {
        for (size_t k = 0; k < n; k++) {
            matrix[b * n + k] /= deviation[b];
        }
    }
}

/* One class: whitening matrix, share and logarithm of the determinant. */
static HcStatus fit_class(HcStage *stage, const HcSamples *training, const double *mean, int32_t c,
                          double *covariance, double *matrix, HcError *err) {
    HcKnnState *state = stage->state;
    const HcClassParams *params = hc_class_params(stage);
    size_t n = (size_t)training->bands;
    int32_t label = state->scores.label[c];
    const char *name = state->training.pixels.classes.name[label];
    double *deviation = covariance + n * n;
    HcWithin within = {.count = state->trained[label],
                       .classes = 1,
                       .only = label,
                       .bands = n,
                       .mean = mean,
                       .covariance = covariance};
    if (within.count < 2) {
        return hc_fail(err, HC_E_NUMERIC,
                       "%s: --method ml: class \"%s\" has one training spectrum, its covariance needs two",
                       stage->kind->name, name);
    }
    memset(covariance, 0, n * n * sizeof *covariance);
    HC_OR_RETURN(hc_within_fit(&within, training, err));
    double share = hc_within_share(&within, params->shrink);
    if (hc_text_equal(params->shrink, "ledoit-wolf") && within.count <= (int64_t)n) {
        share = fmax(share, 1 / (double)within.count); /* the estimate is 0 for two spectra */
    }
    hc_shrinkage_mix(covariance, n, share);
    if (!factor(covariance, deviation, n)) {
        return hc_fail(
            err, HC_E_NUMERIC,
            "%s: --method ml: the covariance of class \"%s\" (%lld training spectra of %zu bands) has "
            "no inverse%s",
            stage->kind->name, name, (long long)within.count, n,
            share == 0 ? ": give more, or --shrink" : "");
    }
    invert(covariance, deviation, n, matrix);
    state->scores.share[c] = share;
    state->shrinkage = fmax(state->shrinkage, share);
    for (size_t b = 0; b < n; b++) {
        state->scores.offset[c] += 2 * log(deviation[b] * covariance[b * n + b]);
    }
    return HC_OK;
}

/* Classes whose own covariance has no inverse. */
static void note_few(HcStage *stage, int32_t bands) {
    const HcKnnState *state = stage->state;
    const HcScores *scores = &state->scores;
    int32_t few = 0;
    double least = 1, most = 0;
    for (int32_t c = 0; c < scores->count; c++) {
        if (state->trained[scores->label[c]] <= bands) {
            few++;
            least = fmin(least, scores->share[c]);
            most = fmax(most, scores->share[c]);
        }
    }
    if (few > 0) {
        hc_stage_note(stage,
                      "--method ml: %d of %d classes have too few training pixels for %d bands; shrinkage "
                      "regularises them, with shares from %.3f to %.3f",
                      few, scores->count, bands, least, most);
    }
}

static HcStatus make_likelihood(HcStage *stage, const HcSamples *training, const double *mean, HcError *err) {
    HcStatus status = HC_OK;
    HcKnnState *state = stage->state;
    HcScores *scores = &state->scores;
    size_t n = (size_t)training->bands;
    double *covariance = NULL, *matrix = NULL, *center = NULL;
    HC_TRY(hc_new(scores->offset, scores->count, "class models", err));
    HC_TRY(hc_new(scores->share, scores->count, "class models", err));
    HC_TRY(hc_new(covariance, n * n + n, "the covariance of a class", err));
    HC_TRY(hc_new(matrix, (size_t)scores->count * n * n, "class models", err));
    HC_TRY(hc_new(center, (size_t)scores->count * n, "class models", err));
    for (int32_t c = 0; c < scores->count; c++) {
        HC_TRY(fit_class(stage, training, mean, c, covariance, matrix + (size_t)c * n * n, err));
        memcpy(center + (size_t)c * n, mean + (size_t)scores->label[c] * n, n * sizeof *center);
    }
    HC_TRY(hc_memory_upload(stage->compute, matrix, (size_t)scores->count * n * n * sizeof *matrix,
                            &scores->matrix, err));
    HC_TRY(hc_memory_upload(stage->compute, center, (size_t)scores->count * n * sizeof *center, &scores->mean,
                            err));
    note_few(stage, training->bands);
done:
    free(covariance);
    free(matrix);
    free(center);
    return status;
}

/* Divergence is defined for positive values. */
static HcStatus make_divergence(HcStage *stage, const HcSamples *training, const double *mean, HcError *err) {
    HcStatus status = HC_OK;
    HcKnnState *state = stage->state;
    HcScores *scores = &state->scores;
    size_t n = (size_t)training->bands;
    double *target = NULL;
    HC_TRY(hc_new(target, (size_t)scores->count * n, "class models", err));
    for (int32_t c = 0; c < scores->count; c++) {
        const double *from = mean + (size_t)scores->label[c] * n;
        for (size_t b = 0; b < n; b++) {
            if (!(from[b] > 0)) {
                HC_TRY(hc_fail(
                    err, HC_E_NUMERIC,
                    "%s: --method sid: the mean of class \"%s\" is %.6g in band %zu of %zu, sid needs "
                    "positive values",
                    stage->kind->name, state->training.pixels.classes.name[scores->label[c]], from[b], b + 1,
                    n));
            }
            target[(size_t)c * n + b] = from[b];
        }
    }
    HC_TRY(hc_memory_upload(stage->compute, target, (size_t)scores->count * n * sizeof *target,
                            &scores->matrix, err));
done:
    free(target);
    return status;
}

typedef HcStatus Make(HcStage *stage, const HcSamples *training, const double *mean, HcError *err);

static HcStatus with_means(HcStage *stage, const HcSamples *training, Make *make, HcError *err) {
    HcKnnState *state = stage->state;
    int32_t labels = state->training.pixels.classes.count;
    double *mean = NULL;
    HC_OR_RETURN(hc_class_priors(stage, err));
    HC_OR_RETURN(hc_new(mean, (size_t)labels * (size_t)training->bands, "class means", err));
    (void)hc_class_average(training, state->trained, labels, mean);
    HcStatus status = make(stage, training, mean, err);
    free(mean);
    return status;
}

static HcStatus make_ml(HcStage *stage, HcSamples *training, HcError *err) {
    return with_means(stage, training, make_likelihood, err);
}

static HcStatus make_sid(HcStage *stage, HcSamples *training, HcError *err) {
    return with_means(stage, training, make_divergence, err);
}

const HcKnnMethod hc_class_ml = {.name = "ml",
                                 .models = true,
                                 .scores = {HC_SCORE_SQUARES, HC_SCORE_SQUARES},
                                 .probability = true,
                                 .make = make_ml};
const HcKnnMethod hc_class_sid = {
    .name = "sid", .models = true, .scores = {HC_SCORE_DIVERGENCE, HC_SCORE_DIVERGENCE}, .make = make_sid};
