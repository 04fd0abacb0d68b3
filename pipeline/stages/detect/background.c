/* The background of detect: mean and covariance of the scene or of a file, shrunk where asked. */
#include "pipeline/stages/detect/detect.h"

#include <math.h>
#include <string.h>

static const char *const shrink_words[] = {"none", "ledoit-wolf", "oas", NULL};

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

HcStatus hc_detect_check_shrink(const char *who, const char *text, HcError *err) {
    double value = 0;
    for (int i = 0; shrink_words[i] != NULL; i++) {
        if (hc_text_equal(text, shrink_words[i])) {
            return HC_OK;
        }
    }
    if (hc_text_parse_double(text, &value) && value >= 0 && value <= 1) {
        return HC_OK;
    }
    const char *nearest = hc_text_nearest(text, shrink_words);
    return nearest != NULL
               ? hc_fail(err, HC_E_USAGE, "%s: --shrink %s: unknown, did you mean %s?", who, text, nearest)
               : hc_fail(err, HC_E_USAGE, "%s: --shrink %s: none, ledoit-wolf, oas, or a number from 0 to 1",
                         who, text);
}

/* The share of the target matrix, by estimates that need no more than the covariance (Chen, Wiesel, Eldar,
 * Hero 2010): the Rao-Blackwell form of Ledoit and Wolf's estimate, and their oracle. */
static double share_of(const HcStatistics *background, const char *how) {
    double n = (double)background->pixels;
    double p = background->scene.bands;
    double trace = 0, squares = 0, share = 0;
    size_t bands = (size_t)background->scene.bands;
    if (hc_text_equal(how, "none") || hc_text_parse_double(how, &share)) {
        return share;
    }
    for (size_t b = 0; b < bands; b++) {
        trace += background->covariance[b * bands + b];
        for (size_t c = 0; c < bands; c++) {
            squares += background->covariance[b * bands + c] * background->covariance[b * bands + c];
        }
    }
    double apart = squares - trace * trace / p;
    if (hc_text_equal(how, "oas")) {
        share = ((1 - 2 / p) * squares + trace * trace) / ((n + 1 - 2 / p) * apart);
    } else {
        share = ((n - 2) / n * squares + trace * trace) / ((n + 2) * apart);
    }
    return share >= 0 && share < 1 ? share : 1;
}

HcStatus hc_detect_shrink(HcStage *stage, HcError *err) {
    HcDetectState *state = stage->state;
    HcStatistics *background = &state->background;
    size_t bands = (size_t)background->scene.bands;
    double trace = 0;
    state->shrinkage = share_of(background, hc_detect_params(stage)->shrink);
    if (state->shrinkage == 0 && background->pixels <= (int64_t)bands) {
        return hc_fail(err, HC_E_NUMERIC,
                       "detect: the background has %lld pixels, fewer than %zu bands need: give more pixels, "
                       "fewer bands, or --shrink",
                       (long long)background->pixels, bands);
    }
    for (size_t b = 0; b < bands; b++) {
        trace += background->covariance[b * bands + b];
    }
    for (size_t i = 0; i < bands * bands; i++) {
        background->covariance[i] *= 1 - state->shrinkage;
    }
    for (size_t b = 0; b < bands; b++) {
        background->covariance[b * bands + b] += state->shrinkage * trace / (double)bands;
    }
    return HC_OK;
}
