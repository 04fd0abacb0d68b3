/* rx: how unlike the background each pixel is (Reed and Xiaoli's anomaly detector), the squared Mahalanobis
 * distance from the mean of the scene.
 *
 * The covariance is not inverted. Pixels are whitened by the eigenvectors of the correlation matrix, and the
 * score is the sum of the squares: never negative, and the same for bands in any unit. Directions in which
 * nothing varies (constant bands, bands that repeat others) have no eigenvalue to divide by and are left out.
 * With a window, whitened pixels are compared with those around them (local.h).
 */
#include "core/allocate.h"
#include "core/operation/image/project.h"
#include "core/operation/image/reduce.h"
#include "pipeline/memory.h"
#include "pipeline/detections/scored.h"
#include "pipeline/statistics/shrinkage.h"
#include "pipeline/stages/rx/local.h"
#include "pipeline/stages/stages.h"
#include "pipeline/statistics/whitening.h"

#include <math.h>
#include <stdio.h>

typedef struct Params {
    HcScoredParams scored; /* first */
    int64_t window, guard;
} Params;

/* What pixels are compared with. */
typedef struct Fit {
    int32_t components; /* directions that vary */
    HcBuffer whitening; /* [device] [bands][components] */
    HcBuffer mean;      /* [device] [bands] */
} Fit;

typedef struct State {
    HcScored scored;   /* first */
    Fit *fit;          /* [groups] */
    HcWindows windows; /* with --side */
} State;

static const HcOption options[] = {
    {HC_INT(Params, window, "side"), .was = "window", .range = {3, HC_LOCAL_WINDOW_MAX}, .unit = "pixels",
     .value = "SIDE", .otherwise = "the whole scene", .excludes = "robust background by",
     .help = "compare each pixel with a square of this side around it; odd"},
    {HC_INT(Params, guard), .range = {1, HC_LOCAL_WINDOW_MAX - 2}, .unit = "pixels", .value = "SIDE",
     .otherwise = "1, the pixel itself", .needs = "side",
     .help = "exclude an inner square of this side; odd"},
    HC_BACKGROUND_OPTIONS(Params, scored.background),
    {HC_TEXT(Params, scored.background.shrink, "shrink"), .check = hc_shrinkage_check,
     .value = HC_SHRINKAGE_WORDS, .standard = "none",
     .help = "mix the covariance with a multiple of the unit matrix of the same trace: by an estimate, or by "
             "this share (0 to 1). With --side: the share of the covariance of the scene in that of each "
             "square"},
    HC_RATES_OPTION(Params, scored.rates),
    HC_DETECTION_OPTIONS(Params, scored.detections),
    {0}};

static const HcBackgroundParams *background_params(const HcStage *stage) {
    return &((const Params *)stage->params)->scored.background;
}

/* The share of the scene in the covariance of a window; -1 where --shrink is a rule. */
static double share_of_window(const HcStage *stage) {
    double share = 0;
    const char *text = background_params(stage)->shrink;
    return hc_text_equal(text, "none") || hc_text_parse_double(text, &share) ? share : -1;
}

/* What local scores need, for that many directions. */
static HcWindowAsk window_ask(const HcStage *stage, int32_t directions) {
    const Params *params = stage->params;
    return (HcWindowAsk){.window = (int32_t)params->window,
                         .guard = params->guard > 0 ? (int32_t)params->guard : 1,
                         .share = share_of_window(stage),
                         .lines = stage->in.lines,
                         .samples = stage->in.samples,
                         .directions = directions,
                         .tight = stage->tight};
}

static HcStatus check_window(const HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    if (share_of_window(stage) < 0) {
        return hc_fail(err, HC_E_USAGE, "rx: --shrink %s: with --side a share from 0 to 1",
                       params->scored.background.shrink);
    }
    if (params->window % 2 == 0 || (params->guard > 0 && params->guard % 2 == 0)) {
        bool window = params->window % 2 == 0;
        return hc_fail(err, HC_E_USAGE, "rx: --%s %lld: an odd number of pixels", window ? "side" : "guard",
                       (long long)(window ? params->window : params->guard));
    }
    return params->guard < params->window
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "rx: --guard %lld: a square inside that of --side %lld",
                         (long long)params->guard, (long long)params->window);
}

/* The least window that has that many pixels in this scene, 0 where none has. */
static int32_t window_for(HcWindowAsk ask, int64_t pixels) {
    for (ask.window = ask.guard + 2; ask.window <= HC_LOCAL_WINDOW_MAX; ask.window += 2) {
        if (hc_windows_pixels(&ask) >= pixels) {
            return ask.window;
        }
    }
    return 0;
}

/* The covariance of a window has an inverse only with more pixels than directions, or a share of another. */
static HcStatus check_pixels(const HcWindowAsk *ask, HcError *err) {
    int64_t least = ask->share > 0 ? 2 : ask->directions + 1;
    int64_t pixels = hc_windows_pixels(ask);
    int32_t larger = window_for(*ask, least);
    char cure[32] = "a smaller --guard";
    if (pixels >= least) {
        return HC_OK;
    }
    if (larger > 0) {
        (void)snprintf(cure, sizeof cure, "--side %d", larger);
    }
    return hc_fail(err, HC_E_NUMERIC,
                   "rx: --side %d less the guard has at most %lld pixels in %lld x %lld, %d directions need "
                   "at least %lld: give %s%s",
                   ask->window, (long long)pixels, (long long)ask->lines, (long long)ask->samples,
                   ask->directions, (long long)least, cure,
                   ask->share > 0 ? "" : ", --shrink, or fewer bands (pca --components)");
}

/* The whitening of these statistics, on the device. */
static HcStatus whiten(HcStage *stage, const HcStatistics *background, Fit *fit, HcError *err) {
    HcStatus status = HC_OK;
    HcWhitening whitening = {0};
    size_t n = (size_t)background->scene.bands;
    HC_TRY(
        hc_whitening_make(&whitening, stage->compute, background->scene.bands, background->covariance, err));
    fit->components = whitening.directions;
    HC_TRY(hc_memory_upload(stage->compute, whitening.matrix, n * (size_t)fit->components * sizeof(double),
                            &fit->whitening, err));
    HC_TRY(hc_memory_upload(stage->compute, background->mean, n * sizeof(double), &fit->mean, err));
done:
    hc_whitening_clear(&whitening);
    return status;
}

static HcStatus check_rank(HcStage *stage, int64_t pixels, int32_t components, bool shrunk, HcError *err) {
    int32_t bands = stage->in.bands;
    if (pixels <= components + 1 && !shrunk) {
        return hc_fail(err, HC_E_NUMERIC,
                       "rx: %lld valid pixels with %d bands would all have the same score: give more pixels, "
                       "fewer bands "
                       "(pca --components), or --shrink",
                       (long long)pixels, bands);
    }
    if (components < bands) {
        hc_stage_note(stage,
                      "%d of %d bands are constant or combinations of others: %d directions are compared",
                      bands - components, bands, components);
    }
    return HC_OK;
}

/* ---- by the background of a group ---- */

static HcStatus begin_fit(HcStage *stage, HcNullLaw *law, HcError *err) {
    State *state = stage->state;
    (void)law;
    return hc_new(state->fit, state->scored.background.grouping.count, "whitenings", err);
}

static HcStatus fit_group(HcStage *stage, int32_t number, HcNullLaw *law, HcError *err) {
    State *state = stage->state;
    HcBackground *background = &state->scored.background;
    HcBackgroundGroup *group = &background->group[number];
    Fit *fit = &state->fit[number];
    hc_background_shrink(group, background_params(stage));
    HC_OR_RETURN(whiten(stage, &group->statistics, fit, err));
    HC_OR_RETURN(check_rank(stage, group->statistics.pixels, fit->components, group->shrinkage > 0, err));
    *law =
        hc_background_law(background, background_params(stage), number, HC_NULL_CHI_SQUARE, fit->components);
    return HC_OK;
}

static HcStatus trim_group(HcStage *stage, int32_t number, HcError *err) {
    HcBackground *background = &((State *)stage->state)->scored.background;
    const HcStatistics *statistics = &background->group[number].statistics;
    HcWhitening whitening = {0};
    HcStatus status =
        hc_whitening_make(&whitening, stage->compute, stage->in.bands, statistics->covariance, err);
    if (status == HC_OK) {
        HcFar far = {.directions = whitening.directions,
                     .projection = whitening.matrix,
                     .offset = statistics->mean,
                     .squares = true};
        status = hc_background_trim(background, stage, background_params(stage), number, &far, err);
    }
    hc_whitening_clear(&whitening);
    return status;
}

static HcStatus score_group(HcStage *stage, int32_t number, HcQueue *queue, const HcBlock *in,
                            const HcBlock *out, void *scratch, HcError *err) {
    const Fit *fit = &((const State *)stage->state)->fit[number];
    HcBlock white = *out;
    white.bands = fit->components;
    white.data = scratch;
    white.mask = (uint8_t *)scratch + hc_block_values(&white) * sizeof(float);
    HC_OR_RETURN(hc_project(queue, in, fit->whitening.data, fit->mean.data, NULL, &white, err));
    return hc_reduce(queue, &white, HC_REDUCE_SQUARES, NULL, out, err);
}

static HcStatus score(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                      HcError *err) {
    return hc_scored_by_groups(stage, score_group, queue, in, out, scratch, err);
}

static void report_one(const HcStage *stage, HcJson *to) {
    const State *state = stage->state;
    if (hc_grouping_is_one(&state->scored.background.grouping)) {
        hc_json_put_number(to, "pixels", (double)state->scored.background.group[0].statistics.pixels);
        hc_json_put_number(to, "degrees_of_freedom", state->fit[0].components);
    }
}

static void report_groups(const HcStage *stage, HcJson *to) {
    report_one(stage, to);
    hc_background_report(&((const State *)stage->state)->scored.background, background_params(stage), to);
}

static const HcScorerClass by_groups = {.groups = true,
                                        .trim = trim_group,
                                        .begin_fit = begin_fit,
                                        .fit = fit_group,
                                        .score = score,
                                        .report = report_groups};

/* ---- by a window, whitened by the covariance of the scene ---- */

static HcStatus open_window(HcStage *stage, HcError *err) {
    State *state = stage->state;
    const Fit *fit = &state->fit[0];
    HcWindowAsk ask = window_ask(stage, fit->components);
    HC_OR_RETURN(check_pixels(&ask, err));
    ask.pixels = state->scored.background.group[0].statistics.pixels;
    ask.whitening = fit->whitening.data;
    ask.mean = fit->mean.data;
    return hc_windows_open(&state->windows, stage->compute, &ask, err);
}

static HcStatus fit_scene(HcStage *stage, int32_t number, HcNullLaw *law, HcError *err) {
    State *state = stage->state;
    const HcStatistics *statistics = &state->scored.background.group[number].statistics;
    (void)law;
    HC_OR_RETURN(whiten(stage, statistics, state->fit, err));
    return check_rank(stage, statistics->pixels, state->fit->components, false, err);
}

static HcStatus score_windows(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                              void *scratch, HcError *err) {
    (void)scratch;
    return hc_windows_process(&((State *)stage->state)->windows, queue, in, out, err);
}

static const HcScorerClass by_windows = {.groups = true,
                                         .begin_fit = begin_fit,
                                         .fit = fit_scene,
                                         .end_fit = open_window,
                                         .score = score_windows,
                                         .report = report_one};

/* ---- the stage ---- */

static HcStatus plan(HcStage *stage, HcError *err) {
    static char anomaly[] = "anomaly";
    static char *const name[] = {anomaly};
    State *state = stage->state;
    HcScored *scored = &state->scored;
    size_t bands = (size_t)stage->in.bands;
    bool windows = ((const Params *)stage->params)->window > 0;
    scored->name = name;
    HC_OR_RETURN(hc_statistics_of_values(&stage->in, "rx", err));
    HC_OR_RETURN(windows ? check_window(stage, err) : HC_OK);
    HC_OR_RETURN(
        hc_scored_check_rates(stage, windows ? HC_NULL_UNKNOWN : HC_NULL_CHI_SQUARE, "with --side", err));
    HC_OR_RETURN(hc_scored_plan_bands(stage, 1, err));
    HC_OR_RETURN(hc_scene_name_band(&stage->out, 0, err, "RX score"));
    HC_OR_RETURN(
        hc_background_plan_groups(&scored->background, stage, background_params(stage), scored->made, err));
    hc_stage_takes(stage, HC_SPACE_PIXEL,
                   windows ? 0 : bands * sizeof(float) + 1); /* whitened pixels, their mask */
    hc_stage_takes(stage, HC_SPACE_DEVICE,
                   (size_t)scored->background.grouping.count * (bands + 1) * bands * sizeof(double));
    HC_OR_RETURN(hc_scored_plan(stage, windows ? &by_windows : &by_groups, stage->in.bands, err));
    if (windows) {
        HcWindowAsk ask = window_ask(stage, stage->in.bands);
        ask.tight = false;
        hc_windows_plan(&ask, stage);
    }
    return HC_OK;
}

static void close_rx(HcStage *stage) {
    State *state = stage->state;
    hc_windows_close(&state->windows);
    for (int32_t g = 0; g < state->scored.background.grouping.count && state->fit != NULL; g++) {
        hc_memory_release(stage->compute, &state->fit[g].whitening);
        hc_memory_release(stage->compute, &state->fit[g].mean);
    }
    free(state->fit);
    hc_scored_close(stage);
    *state = (State){0};
}

const HcStageClass hc_stage_rx = {
    .name = "rx",
    .summary = "anomalies: the squared Mahalanobis distance of each pixel from the background",
    .cite = "Reed, Yu 1990: Adaptive multiple-band CFAR detection of an optical pattern with unknown "
            "distribution",
    .example = "hcube rx scene.hdr anomalies.tif",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    HC_SCORED_HOOKS,
    .report = hc_scored_report,
    .rare = {.sums = hc_scored_sums},
    .close = close_rx,
};
