/* mnf: maximum noise fraction. */
#include "pipeline/chain.h"
#include "pipeline/stages/shared/linear.h"
#include "pipeline/stages/stages.h"
#include "pipeline/statistics/noise/choice.h"
#include "pipeline/statistics/noise/file.h"

#include <stdio.h>
#include <string.h>

typedef struct Params {
    HcLinearParams linear; /* first */
    const char *noise;
    const char *noise_window;
    const char *dark;
    int32_t singular, matrix;
    HcGroupingParams groups;
} Params;

typedef struct State {
    HcLinear linear;         /* first */
    HcDifference difference; /* NONE: the noise comes from a file, a dark image or a regression */
    HcWindow window;
    HcStatistics noise; /* that of a file or dark image, once there */
    HcNoiseChoice choice;
    HcSceneSums sums, noise_sums;
    HcGrouping grouping;
} State;

static const char *const singular_words[] = {"drop", "stop", NULL};

/* In a window, which the user knows to be calm, differences are right. */
static const char *noise_word(const Params *params) {
    const char *word = params->noise != NULL ? params->noise : hc_noise_auto;
    return params->noise_window != NULL && hc_noise_is_auto(word)
               ? hc_noise_words[HC_NOISE_AUTO_DIFFERENCE - 1]
               : word;
}

static bool is_auto(const Params *params) {
    return params->dark == NULL && hc_noise_is_auto(noise_word(params));
}

static bool is_regression(const Params *params) {
    return params->dark == NULL && hc_noise_is_regression(noise_word(params));
}

/* NONE: the noise comes from a file, a dark image or a regression. */
static HcDifference difference_of(const Params *params) {
    return params->dark != NULL ? HC_DIFFERENCE_NONE
           : is_auto(params)    ? HC_NOISE_AUTO_DIFFERENCE
                                : hc_noise_difference_of(noise_word(params));
}

static const HcOption options[] = {
    HC_LINEAR_OPTIONS,
    {HC_TEXT(Params, noise), .of_fit = true, .excludes = HC_LINEAR_FITTED, .file = HC_FILE_READ,
     .value = "NOISE", .choices = hc_noise_models, .otherwise = "auto; mean3x3 with --noise-window",
     .help = "how the noise is estimated: by a difference of neighbours (mean3x3, median3x3, shift, "
             "shift-diagonal, shift-lower, shift-lowerleft, shift-mean, hv-average, quad, or trimmed: of the "
             "calm blocks). Or regression (of each band on all others), spatial-spectral (regression of the "
             "shift differences) or spatial-spectral-lower (of the shift-lower differences). Or auto "
             "(regression or mean3x3, whichever the scene confirms), or a file from cov --noise"},
    {HC_NOISE_MATRIX_OPTION(Params, matrix), .of_fit = true, .excludes = HC_LINEAR_FITTED},
    {HC_TEXT(Params, noise_window, "noise-window"), .of_fit = true, .excludes = HC_LINEAR_FITTED,
     .unit = "pixels", .value = "X,Y,W,H", .otherwise = "the whole scene",
     .help = "estimate the noise in this homogeneous rectangle only: first sample and first line (from 0), "
             "samples, lines"},
    {HC_TEXT(Params, dark), .of_fit = true, .excludes = HC_LINEAR_FITTED, .one_of = "dark noise",
     .file = HC_FILE_READ, .value = "SCENE",
     .help = "take the noise covariance from this dark image with the same bands"},
    HC_FIT_BY_OPTION(Params, groups, HC_LINEAR_FITTED),
    {HC_CHOICE(Params, singular), .of_fit = true, .choices = singular_words, .standard = "drop",
     .help = "leave out bands that are constant, without noise or repeated, or stop at the first one"},
    {0}};

/* Whether the dark image is there and has the bands; no pixel is read. */
static HcStatus check_dark(const HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    const Params *params = stage->params;
    HcReader *reader = NULL;
    HcReaderOptions how = {0};
    HC_TRY(hc_reader_open(&reader, params->dark, &how, err));
    for (int32_t b = 0; b < stage->in.bands; b++) {
        if (stage->in.source_band[b] >= hc_reader_scene(reader)->bands) {
            HC_TRY(hc_fail(err, HC_E_INPUT, "%s: band %d is needed, the dark image has %d", params->dark,
                           stage->in.source_band[b] + 1, hc_reader_scene(reader)->bands));
        }
    }
done:
    hc_reader_close(reader);
    return status;
}

static HcStatus plan_noise(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    const char *window = params->noise_window;
    bool by_file =
        params->dark == NULL && !is_regression(params) && difference_of(params) == HC_DIFFERENCE_NONE;
    state->difference = difference_of(params);
    if (window != NULL) {
        if (state->difference == HC_DIFFERENCE_NONE) {
            return hc_fail(err, HC_E_USAGE,
                           "mnf: --noise-window %s: there is no neighbour difference to take there", window);
        }
        HC_OR_RETURN(hc_window_parse(window, &stage->in, &state->window, err));
    }
    if (params->dark != NULL && stage->in.source_band == NULL) {
        return hc_fail(err, HC_E_USAGE, "mnf: --dark %s: what comes in are no bands of a file", params->dark);
    }
    if (params->dark != NULL && state->noise.mean == NULL) {
        HC_OR_RETURN(check_dark(stage, err));
    }
    if (by_file) {
        HC_OR_RETURN(hc_noise_file_read(&state->noise, stage, params->noise, hc_noise_models,
                                        (HcNoiseMatrix)params->matrix, err));
    }
    if (state->noise.mean != NULL) {
        const char *from = params->dark != NULL ? params->dark : noise_word(params);
        HC_OR_RETURN(hc_noise_file_take(&state->noise, stage, from, err));
    }
    return HC_OK;
}

static HcStatus plan(HcStage *stage, HcError *err) {
    State *state = stage->state;
    const Params *params = stage->params;
    bool fits = false;
    HC_OR_RETURN(hc_linear_plan(stage, "MNF", &fits, err));
    if (fits) {
        HC_OR_RETURN(plan_noise(stage, err));
        hc_scene_sums_want(&state->sums, stage, HC_DIFFERENCE_NONE, NULL);
        if (state->difference != HC_DIFFERENCE_NONE) {
            hc_scene_sums_want(&state->noise_sums, stage, state->difference,
                               params->noise_window != NULL ? &state->window : NULL);
        }
        return hc_scene_sums_plan_by(stage, &state->grouping, &params->groups, err);
    }
    return HC_OK;
}

/* The covariance of the dark image over the bands of its file that come in here. */
static void ask_for_dark(const HcStage *stage, HcSideChain *side) {
    const Params *params = stage->params;
    if (params->dark == NULL || !stage->needs.observes) {
        return;
    }
    const char *scale = hc_view_scales(stage->chain->source->view) ? "apply" : "keep";
    *side = (HcSideChain){
        .words = {"read", params->dark, "--all-bands", "--source-scale", scale, "!", "cov", "dark"},
        .word_count = 8,
        .bands = stage->in.source_band,
        .band_count = stage->in.bands};
}

static HcStatus take_dark(HcStage *stage, HcChain *settled, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    HcStage *cov = &settled->stages[1];
    HC_OR_RETURN(hc_statistics_check_bands(&cov->in, &stage->in, params->dark, err));
    state->noise = hc_cov_take(cov);
    snprintf(state->noise.noise, sizeof state->noise.noise, "dark image");
    return HC_OK;
}

static HcStatus check_singular(const HcStage *stage, HcError *err) {
    static const char *const why[] = {"used", "constant", "without any noise",
                                      "with noise that repeats that of earlier bands"};
    const Params *params = stage->params;
    const State *state = stage->state;
    const HcTransform *transform = &state->linear.transform;
    for (int32_t b = 0; params->singular == 1 && b < transform->bands; b++) {
        if (transform->left_out[b] != HC_BAND_USED) {
            return hc_fail(err, HC_E_NUMERIC,
                           "mnf: the noise covariance is singular: band %d is %s (--singular drop "
                           "leaves it out)",
                           b + 1, why[transform->left_out[b]]);
        }
    }
    return HC_OK;
}

/* Settles state->noise; that of a file or dark image is there. */
static HcStatus fit_noise(HcStage *stage, const HcStatistics *scene, HcMoments *noise, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    HcNoiseMatrix matrix = (HcNoiseMatrix)params->matrix;
    if (is_auto(params)) {
        HC_OR_RETURN(
            hc_noise_choose(&state->choice, &state->noise, stage->compute, scene, noise, matrix, err));
        hc_noise_choice_note(stage, &state->choice);
        return HC_OK;
    }
    if (is_regression(params)) {
        HC_OR_RETURN(hc_noise_in_range(&state->noise, scene, matrix, err));
        hc_noise_range_note(stage, &state->noise);
        return HC_OK;
    }
    if (noise != NULL && hc_noise_is_spatial_spectral(noise_word(params))) {
        HC_OR_RETURN(hc_noise_in_range_by(noise_word(params), &state->noise, &stage->in, noise, matrix, err));
        hc_noise_range_note(stage, &state->noise);
        return HC_OK;
    }
    if (noise != NULL) {
        HC_OR_RETURN(hc_statistics_make(&state->noise, stage->compute, &stage->in, noise, state->difference,
                                        noise_word(params), err));
        hc_moments_clear(noise);
    }
    hc_noise_reduce(&state->noise, matrix);
    return HC_OK;
}

static HcStatus fit(HcStage *stage, HcMoments *values, HcMoments *noise, HcError *err) {
    HcStatus status = HC_OK;
    const Params *params = stage->params;
    State *state = stage->state;
    HcTransform *transform = &state->linear.transform;
    HcStatistics statistics = {0};
    if (is_regression(params) && values->count < 2) {
        HC_TRY(hc_noise_regression_of(&state->noise, &stage->in, values, HC_NOISE_USUAL, err));
    }
    HC_TRY(hc_linear_begin_fit(stage, values, &statistics, err));
    HC_TRY(fit_noise(stage, &statistics, noise, err));
    transform->noise_pixels = state->noise.pixels;
    memcpy(transform->noise, state->noise.noise, sizeof transform->noise);
    HC_TRY(hc_noise_file_check(&state->noise, stage, err));
    HC_TRY(hc_transform_fit_mnf(transform, stage->compute, statistics.mean, statistics.covariance,
                                state->noise.covariance, err));
    HC_TRY(check_singular(stage, err));
    HC_TRY(hc_linear_end_fit(stage, &statistics, err));
done:
    hc_statistics_clear(&statistics);
    return status;
}

static bool fits(const HcStage *stage, HcFit *how) {
    const Params *params = stage->params;
    bool does = hc_linear_fits(stage, how);
    how->noise = difference_of(params);
    how->window = params->noise_window;
    how->own = params->groups.by.count > 0 ? "--by" : NULL;
    return does;
}

static bool scree(const HcStage *stage, HcScreePlot *out) {
    bool known = hc_linear_scree(stage, "MNF eigenvalues (1 + SNR)", out);
    out->noise = 1;
    return known;
}

static void report(const HcStage *stage, HcJson *to) {
    const State *state = stage->state;
    hc_linear_report(stage, to);
    hc_noise_choice_put(&state->choice, to);
}

static void close_mnf(HcStage *stage) {
    State *state = stage->state;
    hc_statistics_clear(&state->noise);
    hc_grouping_close(&state->grouping, stage);
    hc_linear_close(stage);
    *state = (State){0};
}

const HcStageClass hc_stage_mnf = {
    .name = "mnf",
    .summary = "maximum noise fraction: forward, inverse, denoise; fitted here or loaded",
    .cite = "Green, Berman, Switzer, Craig 1988; Zhou, Gao, Fang: Parallel implementation of MNF on GPU",
    .example = "hcube mnf scene.hdr mnf.tif --components 20",
    .role = HC_ROLE_STAGE,
    .gives = HC_GIVES_WHITE_COMPONENTS,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    HC_LINEAR_HOOKS,
    .report = report,
    .rare = {.side = ask_for_dark,
             .take_side = take_dark,
             .fits = fits,
             .fit = fit,
             .scree = scree,
             .dimension = hc_linear_dimension},
    .close = close_mnf,
};
