/* The covariance of the background of detect, shrunk where asked. */
#include "pipeline/stages/detect/detect.h"
#include "pipeline/statistics/shrinkage.h"

HcStatus hc_detect_shrink(HcStage *stage, HcError *err) {
    HcDetectState *state = stage->state;
    HcStatistics *background = &state->background.statistics;
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
