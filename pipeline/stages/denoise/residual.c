#include "pipeline/stages/denoise/residual.h"
#include "core/allocate.h"
#include "pipeline/chain.h"
#include "pipeline/stages/denoise/denoise.h"
#include "pipeline/stages/denoise/gain.h"

#include <math.h>
#include <string.h>

/* The denoise whose bands come into a stage, or NULL. */
static HcStage *denoise_before(const HcStage *stage) {
    HcStage *before = hc_stage_before(stage, HC_GIVES_DENOISED);
    bool is_it = before != NULL && before == hc_stage_previous(stage) && !hc_denoise_maps(before);
    return is_it && !hc_denoise_params(before)->linear.fit_only ? before : NULL;
}

const char *hc_denoise_outcome(const HcChain *chain) {
    for (int32_t s = 0; s < chain->count; s++) {
        const HcStage *stage = &chain->stages[s];
        if (stage->kind->gives == HC_GIVES_DENOISED && hc_denoise_hands_on(stage)) {
            return ((const HcDenoise *)stage->state)->stripes.found
                       ? "denoise: no noise is removed but stripes"
                       : "denoise: no noise is removed, the scene is handed on unchanged";
        }
    }
    return NULL;
}

void hc_denoise_residual_want(HcStage *observer) {
    HcStage *before = denoise_before(observer);
    if (before != NULL && hc_denoise_by_patches(before)) {
        HcDenoise *state = before->state;
        state->measures = true;
        hc_stage_takes(before, HC_SPACE_HOST,
                       hc_sigma_map_bytes(before->in.samples, before->in.bands, state->linear.used,
                                          hc_denoise_strip_halo(before)));
    }
}

HcStatus hc_denoise_residual_take(HcStage *observer, HcDenoiseResidual *out, HcError *err) {
    HcStage *before = denoise_before(observer);
    *out = (HcDenoiseResidual){0};
    if (before == NULL || ((const HcDenoise *)before->state)->handed_on) {
        return HC_OK;
    }
    HcDenoise *state = before->state;
    const HcTransform *transform = &state->linear.transform;
    double risk = NAN;
    HC_OR_RETURN(hc_denoise_risk(before, &risk, err));
    HC_OR_RETURN(hc_new(out->variance, (size_t)transform->bands, "the error of bands", err));
    hc_gain_residual(transform, state->linear.used, risk, out->variance);
    out->share = (double)state->linear.used / transform->bands;
    out->known = true;
    state->measures = false;
    return HC_OK;
}
