/* The covariance of the noise: a regression, white, differences of neighbours, or that of a file. */
#include "pipeline/stages/denoise/denoise.h"
#include "pipeline/statistics/noise/file.h"

/* The first three in the order of the kinds above; all others are models of neighbours. */
const char *const hc_denoise_noise_words[] = {
    "auto",    "white",      "regression",  "spatial-spectral", "spatial-spectral-lower",
    "shift",   "shift-mean", "shift-lower", "shift-diagonal",   "shift-lowerleft",
    "trimmed", "mean3x3",    "median3x3",   "hv-average",       "quad",
    NULL};

int32_t hc_denoise_noise_kind(const HcStage *stage) {
    const char *noise = hc_denoise_params(stage)->noise;
    int32_t kind = hc_text_find(noise, hc_denoise_noise_words);
    if (kind >= 0 && kind < HC_DENOISE_NEIGHBOURS) {
        return kind;
    }
    return hc_noise_difference_of(noise) != HC_DIFFERENCE_NONE ? HC_DENOISE_NEIGHBOURS : HC_DENOISE_FILE;
}

/* The difference whose sums are wanted. */
HcDifference hc_denoise_difference(const HcStage *stage) {
    int32_t kind = hc_denoise_noise_kind(stage);
    return kind == HC_DENOISE_AUTO         ? HC_NOISE_AUTO_DIFFERENCE
           : kind == HC_DENOISE_NEIGHBOURS ? hc_noise_difference_of(hc_denoise_params(stage)->noise)
                                           : HC_DIFFERENCE_NONE;
}

HcStatus hc_denoise_plan_noise(HcStage *stage, HcError *err) {
    HcDenoise *state = stage->state;
    const char *noise = hc_denoise_params(stage)->noise;
    if (stage->round > 0) { /* the sums are there */
        return hc_scene_sums_plan_by(stage, &state->grouping, &hc_denoise_params(stage)->groups, err);
    }
    hc_evidence_plan(stage);
    hc_scene_sums_want(&state->sums, stage, HC_DIFFERENCE_NONE, NULL);
    if (hc_denoise_difference(stage) != HC_DIFFERENCE_NONE) {
        hc_scene_sums_want(&state->differences, stage, hc_denoise_difference(stage), NULL);
    }
    HC_OR_RETURN(hc_scene_sums_plan_by(stage, &state->grouping, &hc_denoise_params(stage)->groups, err));
    if (hc_denoise_noise_kind(stage) == HC_DENOISE_FILE) {
        HC_OR_RETURN(
            hc_noise_file_read(&state->noise, stage, noise, hc_denoise_noise_words, HC_NOISE_USUAL, err));
        HC_OR_RETURN(hc_noise_file_take(&state->noise, stage, noise, err));
    }
    return HC_OK;
}

/* Makes state->noise of differences. */
static HcStatus fit_neighbours(HcStage *stage, HcMoments *differences, HcError *err) {
    HcDenoise *state = stage->state;
    const char *word = hc_denoise_params(stage)->noise;
    if (hc_noise_is_spatial_spectral(word)) {
        return hc_noise_spatial_spectral_by(word, &state->noise, &stage->in, differences, HC_NOISE_USUAL,
                                            err);
    }
    HC_OR_RETURN(hc_statistics_make(&state->noise, stage->compute, &stage->in, differences,
                                    hc_denoise_difference(stage), word, err));
    return hc_noise_file_check(&state->noise, stage, err);
}

/* Makes state->noise, unless it is that of a file. */
HcStatus hc_denoise_fit_noise(HcStage *stage, const HcStatistics *scene, HcMoments *differences,
                              HcError *err) {
    HcDenoise *state = stage->state;
    HcStatistics *noise = &state->noise;
    if (hc_denoise_noise_kind(stage) == HC_DENOISE_FILE) {
        return hc_noise_file_check(noise, stage, err);
    }
    if (hc_denoise_noise_kind(stage) == HC_DENOISE_NEIGHBOURS) {
        return fit_neighbours(stage, differences, err);
    }
    if (differences != NULL) {
        return hc_noise_choose(&state->choice, noise, stage->compute, scene, differences, HC_NOISE_USUAL,
                               err);
    }
    HC_OR_RETURN(hc_noise_regression(noise, scene, HC_NOISE_DIAGONAL, err));
    if (hc_denoise_noise_kind(stage) == HC_DENOISE_WHITE) {
        HcNoiseBands bands = {0};
        HC_OR_RETURN(hc_noise_compare_bands(noise, &bands, err));
        hc_noise_whiten(noise, bands.calm);
    }
    return HC_OK;
}
