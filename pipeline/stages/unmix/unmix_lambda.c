/* A spectrum enters a pixel where the product of both, with weights, exceeds lambda. Noise alone gives that
 * product a deviation of sqrt(sum of w^2 sigma^2 a^2). At that lambda most of what noise would add stays out,
 * and at 0 nothing does, but each abundance is too low by what lambda costs. Half of it is the compromise
 * that was measured (docs/stages/unmix.md).
 *
 * Behind `denoise` the error of a pixel lies in the few dimensions of its components. Most of it is a change
 * of the abundances that are there, and little of it lets other spectra enter: in proportion to the root of
 * the share of dimensions. */
#include "pipeline/stages/unmix/unmix_lambda.h"
#include "core/allocate.h"
#include "pipeline/stages/denoise/residual.h"
#include "pipeline/option/option.h"
#include "pipeline/statistics/median.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

HcStatus hc_unmix_lambda_parse(const char *text, double standard, double *value, HcError *err) {
    *value = standard;
    if (text == NULL) {
        return HC_OK;
    }
    if (hc_text_equal(text, "auto")) {
        *value = NAN;
        return HC_OK;
    }
    if (hc_option_numbers(text, value, 1) != 1 || isnan(*value)) {
        return hc_fail(err, HC_E_USAGE, "unmix: --lambda %s: not a number, and not auto", text);
    }
    return *value >= 0 && *value <= 1e30
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "unmix: --lambda %s: must lie between 0 and 1e30", text);
}

void hc_unmix_lambda_plan(HcUnmixLambda *lambda, HcStage *stage) {
    hc_scene_sums_want(&lambda->sums, stage, HC_DIFFERENCE_NONE, NULL);
    hc_scene_sums_want(&lambda->differences, stage, HC_NOISE_AUTO_DIFFERENCE, NULL);
    stage->needs.selects = true; /* the factor of the library is found in blocks */
    hc_denoise_residual_want(stage);
}

/* Variances of the bands, every `step`-th of the list, and the median of their deviations. */
static HcStatus keep_variances(HcUnmixLambda *lambda, const double *variance, size_t step, size_t n,
                               HcError *err) {
    double *sorted = NULL;
    HC_OR_RETURN(hc_new(lambda->variance, n, "the noise of bands", err));
    HC_OR_RETURN(hc_new(sorted, n, "the noise of bands", err));
    for (size_t b = 0; b < n; b++) {
        sorted[b] = lambda->variance[b] = variance[b * step];
    }
    lambda->sigma = sqrt(hc_lower_median(sorted, n));
    free(sorted);
    return HC_OK;
}

HcStatus hc_unmix_lambda_settle(HcUnmixLambda *lambda, HcStage *stage, HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    HcMoments values = {0};
    HcMoments differences = {0};
    HcStatistics scene = {0};
    HcStatistics noise = {0};
    HcDenoiseResidual residual = {0};
    size_t bands = (size_t)stage->in.bands;
    lambda->share = 1;
    HC_TRY(hc_denoise_residual_take(stage, &residual, err));
    if (residual.known) {
        lambda->share = residual.share;
        lambda->denoised = true;
        HC_TRY(keep_variances(lambda, residual.variance, 1, bands, err));
        goto done;
    }
    HC_TRY(hc_scene_sums_take(&lambda->sums, stage, queue, &values, err));
    HC_TRY(hc_scene_sums_take(&lambda->differences, stage, queue, &differences, err));
    if (values.count < 2) { /* says how many are needed */
        HC_TRY(hc_noise_regression_of(&noise, &stage->in, &values, HC_NOISE_DIAGONAL, err));
    }
    HC_TRY(hc_statistics_make(&scene, stage->compute, &stage->in, &values, HC_DIFFERENCE_NONE, "", err));
    HC_TRY(hc_noise_choose(&lambda->choice, &noise, stage->compute, &scene, &differences, HC_NOISE_DIAGONAL,
                           err));
    hc_noise_choice_note(stage, &lambda->choice);
    HC_TRY(keep_variances(lambda, noise.covariance, bands + 1, bands, err));
done:
    free(residual.variance);
    hc_moments_clear(&values);
    hc_moments_clear(&differences);
    hc_statistics_clear(&scene);
    hc_statistics_clear(&noise);
    return status;
}

HcStatus hc_unmix_lambda_of(HcUnmixLambda *lambda, const float *spectrum, int32_t count, int32_t bands,
                            const double *weight, HcError *err) {
    double *deviation = NULL;
    HC_OR_RETURN(hc_new(deviation, (size_t)count, "the noise of spectra", err));
    for (int32_t k = 0; k < count; k++) {
        double sum = 0;
        for (int32_t b = 0; b < bands; b++) {
            double w = weight != NULL ? weight[b] : 1;
            double a = spectrum[(size_t)k * (size_t)bands + (size_t)b];
            sum += w * w * lambda->variance[b] * a * a;
        }
        deviation[k] = sqrt(sum);
    }
    lambda->value = 0.5 * sqrt(lambda->share) * hc_lower_median(deviation, (size_t)count);
    free(deviation);
    return HC_OK;
}

void hc_unmix_lambda_close(HcUnmixLambda *lambda) {
    free(lambda->variance);
    *lambda = (HcUnmixLambda){0};
}
