/* The background of detect: mean and covariance of the scene or of a file, shrunk where asked. */
#include "pipeline/stages/detect/detect.h"
#include "pipeline/statistics/shrinkage.h"

HcStatus hc_detect_plan_background(HcStage *stage, HcError *err) {
    const char *path = hc_detect_params(stage)->background;
    HcDetectState *state = stage->state;
    HC_OR_RETURN(hc_stage_reads(stage, path, err));
    if (state->background.mean == NULL) {
        HC_OR_RETURN(hc_statistics_load(&state->background, path, err));
    }
    if (state->background.noise[0] != '\0') {
        return hc_fail(err, HC_E_INPUT, "%s: statistics of noise, not of a scene (cov without --noise)",
                       path);
    }
    return hc_statistics_take(&state->background, &stage->in, path, err);
}

HcStatus hc_detect_shrink(HcStage *stage, HcError *err) {
    HcDetectState *state = stage->state;
    HcStatistics *background = &state->background;
    size_t bands = (size_t)background->scene.bands;
    state->shrinkage = hc_shrinkage_share(background, hc_detect_params(stage)->shrink);
    if (state->shrinkage == 0 && background->pixels <= (int64_t)bands) {
        return hc_fail(err, HC_E_NUMERIC,
                       "detect: the background has %lld pixels, fewer than %zu bands need: give more pixels, "
                       "fewer bands, or --shrink",
                       (long long)background->pixels, bands);
    }
    hc_shrinkage_apply(background, state->shrinkage);
    return HC_OK;
}
