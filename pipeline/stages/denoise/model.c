#include "pipeline/stages/denoise/model.h"
#include "core/allocate.h"
#include "pipeline/stages/denoise/gain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fraction of its variance by a regression that a band keeps at least. */
static const double least_share = 0.1;

/* Components of a larger eigenvalue hold signal that many bands share. */
static const double surely_shared = 4;

int32_t hc_model_count(const HcTransform *transform) {
    double limit = hc_gain_edge(transform);
    int32_t count = 0;
    while (count < transform->components && transform->eigenvalues[count] > limit) {
        count++;
    }
    return count;
}

/* A regression makes the variance of a band too large: by 1 / (1 - h), with the leverage h of the band on the
 * components of signal, and by the signal that the band has of its own. */
static void correct(HcStatistics *noise, const HcTransform *transform, int32_t count, const double *own) {
    size_t bands = (size_t)transform->bands;
    for (size_t b = 0; b < bands; b++) {
        double *variance = &noise->covariance[b * (bands + 1)];
        double leverage = 0;
        for (size_t k = 0; k < (size_t)count; k++) {
            double part = transform->inverse[k * bands + b];
            leverage += *variance > 0 ? part * part / *variance * (1 - 1 / transform->eigenvalues[k]) : 0;
        }
        *variance *= fmax(1 - leverage - (*variance > 0 ? own[b] / *variance : 0), least_share);
    }
}

static HcStatus fit(HcTransform *transform, const HcStage *stage, const HcStatistics *scene,
                    const HcStatistics *noise, HcError *err) {
    HcTransform next = {.pixels = transform->pixels, .noise_pixels = noise->pixels};
    HcStatus status = hc_scene_copy(&next.scene, &transform->scene, err);
    memcpy(next.noise, noise->noise, sizeof next.noise);
    if (status == HC_OK) {
        status = hc_transform_fit_mnf(&next, stage->compute, scene->mean, scene->covariance,
                                      noise->covariance, err);
    }
    hc_transform_clear(transform);
    *transform = next;
    return status;
}

/* What a regression took for noise in each band, though neighbours share it. */
static HcStatus find_own(double *own, const HcTransform *transform, const HcStage *stage,
                         const HcEvidenceChange *change, HcError *err) {
    HcEvidence evidence;
    int32_t shared = hc_transform_count(transform, surely_shared);
    return hc_evidence_find(&evidence, stage, transform, shared, change, own, err);
}

HcStatus hc_model_fit(HcTransform *transform, HcNoiseChoice *choice, HcStatistics *noise,
                      const HcStage *stage, const HcEvidenceChange *change, const HcStatistics *scene,
                      HcError *err) {
    HcStatus status = HC_OK;
    HcEvidence evidence = {0};
    double *own = NULL;
    HC_OR_RETURN(fit(transform, stage, scene, noise, err));
    if (!hc_noise_is_regression(choice->taken)) {
        return hc_noise_choice_whiten(choice, noise, err);
    }
    int32_t count = hc_model_count(transform);
    HC_TRY(hc_new(own, (size_t)transform->bands, "a model of noise", err));
    HC_TRY(hc_evidence_find(&evidence, stage, transform, count, change, NULL, err));
    choice->uneven = hc_evidence_is_uneven(&evidence);
    HC_TRY(hc_noise_choice_whiten(choice, noise, err));
    if (hc_noise_is_regression(noise->noise) && !choice->uneven) {
        if (hc_evidence_is_independent(&evidence)) {
            HC_TRY(find_own(own, transform, stage, change, err));
        }
        correct(noise, transform, count, own);
        HC_TRY(hc_noise_whiten_alike(noise, err));
    }
    HC_TRY(fit(transform, stage, scene, noise, err));
done:
    free(own);
    return status;
}
