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
#include "pipeline/detections/background.h"
#include "pipeline/detections/detections.h"
#include "pipeline/detections/rates.h"
#include "pipeline/statistics/shrinkage.h"
#include "pipeline/stages/rx/local.h"
#include "pipeline/stages/stages.h"
#include "pipeline/statistics/whitening.h"

#include <math.h>
#include <stdio.h>

typedef struct Params {
    HcBackgroundParams background;
    int64_t window, guard;
    int32_t rates; /* detections/rates.h */
    HcDetectionParams detections;
} Params;

/* What pixels are compared with. */
typedef struct Fit {
    int32_t components; /* directions that vary */
    HcBuffer whitening; /* [device] [bands][components] */
    HcBuffer mean;      /* [device] [bands] */
} Fit;

typedef struct State {
    HcBackground background;
    bool fitted;
    Fit *fit;          /* [background.count] */
    HcWindows windows; /* with --side */
    int64_t bare;      /* valid pixels without a score */
    HcScoreRates rates;
    HcDetections detections;
} State;

static const HcOption options[] = {
    HC_BACKGROUND_OPTIONS(Params, background),
    {HC_INT(Params, window, "side"), .was = "window", .range = {3, HC_LOCAL_WINDOW_MAX}, .unit = "pixels",
     .value = "SIDE", .otherwise = "the whole scene",
     .excludes = "robust background background-mask background-classes",
     .help = "compare with the pixels of a square of this side around each pixel; odd"},
    {HC_INT(Params, guard), .range = {1, HC_LOCAL_WINDOW_MAX - 2}, .unit = "pixels", .value = "SIDE",
     .otherwise = "1, the pixel itself", .needs = "side",
     .help = "leave an inner square of this side out; odd"},
    {HC_TEXT(Params, background.shrink, "shrink"), .check = hc_shrinkage_check, .value = HC_SHRINKAGE_WORDS,
     .standard = "none",
     .help = "mix the covariance with a multiple of the unit matrix of the same trace: by an estimate, or by "
             "this share (0 to 1). With --side: the share of the covariance of the scene in that of each "
             "square"},
    HC_RATES_OPTION(Params, rates),
    HC_DETECTION_OPTIONS(Params, detections),
    {0}};

static const HcBackgroundParams *background_params(const HcStage *stage) {
    return &((const Params *)stage->params)->background;
}

static bool is_local(const HcStage *stage) {
    return ((const Params *)stage->params)->window > 0;
}

/* The share of the scene in the covariance of a window; -1 where --shrink is a rule. */
static double share_of_window(const HcStage *stage) {
    double share = 0;
    const char *text = ((const Params *)stage->params)->background.shrink;
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
    if (!is_local(stage)) {
        return HC_OK;
    }
    if (share_of_window(stage) < 0) {
        return hc_fail(err, HC_E_USAGE, "rx: --shrink %s: with --side a share from 0 to 1",
                       params->background.shrink);
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

static HcStatus check_rates(const HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    bool shrunk = !hc_text_equal(params->background.shrink, "none");
    return hc_rates_check(stage, params->rates,
                          is_local(stage) || shrunk ? HC_NULL_UNKNOWN : HC_NULL_CHI_SQUARE,
                          is_local(stage) ? "with --side" : "with --shrink", err);
}

static HcStatus plan_scores(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    size_t bands = (size_t)stage->in.bands;
    HC_OR_RETURN(hc_statistics_of_values(&stage->in, "rx", err));
    HC_OR_RETURN(check_window(stage, err));
    HC_OR_RETURN(check_rates(stage, err));
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    HC_OR_RETURN(hc_scene_reband(&stage->out, 1 + hc_rates_count(params->rates), HC_OTHER, err));
    HC_OR_RETURN(hc_scene_name_band(&stage->out, 0, err, "RX score"));
    HC_OR_RETURN(hc_rates_name(stage, params->rates, 1, err));
    stage->out.has_nodata = false; /* any value may be a score: the mask alone says where there is none */
    /* The whitened pixels and their mask; windows have strips of them. */
    hc_stage_takes(stage, HC_SPACE_PIXEL, is_local(stage) ? 0 : bands * sizeof(float) + 1);
    HC_OR_RETURN(hc_background_plan(&state->background, stage, &params->background, stage->in.bands, 1,
                                    state->fitted, err));
    hc_stage_takes(stage, HC_SPACE_DEVICE,
                   (size_t)state->background.count * (bands + 1) * bands * sizeof(double));
    return HC_OK;
}

static HcStatus plan(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    HC_OR_RETURN(plan_scores(stage, err));
    hc_rates_plan(&state->rates, stage, params->rates, 1, state->fitted);
    HC_OR_RETURN(hc_detections_plan(stage, &params->detections, 1, err));
    if (is_local(stage)) {
        HcWindowAsk ask = window_ask(stage, stage->in.bands);
        ask.tight = false;
        hc_windows_plan(&ask, stage);
    }
    return HC_OK;
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

static HcStatus open_window(HcStage *stage, HcError *err) {
    State *state = stage->state;
    const Fit *fit = &state->fit[0];
    HcWindowAsk ask = window_ask(stage, fit->components);
    HC_OR_RETURN(check_pixels(&ask, err));
    ask.pixels = state->background.group[0].statistics.pixels;
    ask.whitening = fit->whitening.data;
    ask.mean = fit->mean.data;
    return hc_windows_open(&state->windows, stage->compute, &ask, err);
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

static HcStatus fit_group(HcStage *stage, int32_t number, HcError *err) {
    State *state = stage->state;
    HcBackgroundGroup *group = &state->background.group[number];
    Fit *fit = &state->fit[number];
    if (!is_local(stage)) {
        hc_background_shrink(group, background_params(stage));
    }
    HC_OR_RETURN(whiten(stage, &group->statistics, fit, err));
    return check_rank(stage, group->statistics.pixels, fit->components, group->shrinkage > 0, err);
}

static HcStatus fit(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    const HcBackground *background = &state->background;
    HcNullLaw *law = NULL;
    HC_TRY(hc_new(state->fit, background->count, "whitenings", err));
    HC_TRY(hc_new(law, background->count, "distributions of scores", err));
    for (int32_t g = 0; g < background->count; g++) {
        HC_TRY(hc_background_named(background, stage, g, fit_group(stage, g, err), err));
        law[g] = hc_background_law(background, background_params(stage), g, HC_NULL_CHI_SQUARE,
                                   state->fit[g].components);
    }
    state->fitted = true;
    if (is_local(stage)) {
        HC_TRY(open_window(stage, err));
        goto done;
    }
    if (state->detections.law != NULL && background->label == NULL) {
        state->detections.law[0] = law[0];
    }
    state->rates.label = background->label;
    HC_TRY(hc_rates_fit(&state->rates, stage, background->count, law, err));
done:
    free(law);
    return status;
}

static HcStatus open_rx(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    if (params->detections.path != NULL) {
        HC_OR_RETURN(hc_detections_open(&state->detections, &params->detections, 1, false, err));
    }
    HC_OR_RETURN(hc_rates_open(&state->rates, stage, false, err));
    return params->background.file == NULL
               ? hc_background_open(&state->background, stage, &params->background, 1, err)
               : fit(stage, err);
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
    State *state = stage->state;
    return is_local(stage)
               ? hc_windows_process(&state->windows, queue, in, out, err)
               : hc_background_score(&state->background, stage, score_group, queue, in, out, scratch, err);
}

static HcStatus observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    State *state = stage->state;
    if (state->fitted) {
        return hc_rates_observe(&state->rates, stage, score, queue, in, err);
    }
    return hc_background_observe(&state->background, stage, queue, in, err);
}

static HcStatus sums(HcStage *stage, HcGramPart *parts, int32_t *count, HcError *err) {
    State *state = stage->state;
    return hc_scene_sums_part(&state->background.group[0].sums, stage, parts, count, err);
}

/* The next pass leaves out the pixels that are far from what is the background now. */
static HcStatus trim_group(HcStage *stage, int32_t number, HcError *err) {
    State *state = stage->state;
    const HcStatistics *statistics = &state->background.group[number].statistics;
    HcWhitening whitening = {0};
    HcStatus status =
        hc_whitening_make(&whitening, stage->compute, stage->in.bands, statistics->covariance, err);
    if (status == HC_OK) {
        HcFar far = {.directions = whitening.directions,
                     .projection = whitening.matrix,
                     .offset = statistics->mean,
                     .squares = true};
        status = hc_background_trim(&state->background, stage, background_params(stage), number, &far, err);
    }
    hc_whitening_clear(&whitening);
    return status;
}

static HcStatus trim(HcStage *stage, HcError *err) {
    const HcBackground *background = &((const State *)stage->state)->background;
    for (int32_t g = 0; g < background->count; g++) {
        if (hc_background_trims(background, g)) {
            HC_OR_RETURN(hc_background_named(background, stage, g, trim_group(stage, g, err), err));
        }
    }
    return HC_OK;
}

static HcStatus settle(HcStage *stage, HcQueue *queue, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    HcBackgroundNext next = HC_BACKGROUND_DONE;
    if (state->fitted) {
        state->background.bare = 0; /* counted again in process */
        HC_OR_RETURN(hc_windows_recount(&state->windows, queue, err));
        return hc_rates_settle(&state->rates, stage, err);
    }
    HC_OR_RETURN(hc_background_settle(&state->background, stage, &params->background, queue, &next, err));
    stage->needs.rounds += hc_rates_observes(params->rates);
    return next == HC_BACKGROUND_TRIM   ? trim(stage, err)
           : next == HC_BACKGROUND_DONE ? fit(stage, err)
                                        : HC_OK;
}

static HcStatus process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err) {
    State *state = stage->state;
    return ((const Params *)stage->params)->rates < 0
               ? score(stage, queue, in, out, scratch, err)
               : hc_rates_process(&state->rates, stage, score, queue, in, out, err);
}

static HcStatus consume(HcStage *stage, const HcBlock *block, HcError *err) {
    State *state = stage->state;
    (void)err;
    hc_detections_consume(&state->detections, block);
    return HC_OK;
}

static HcStatus gather(HcStage *stage, HcError *err) {
    State *state = stage->state;
    HC_OR_RETURN(hc_windows_bare(&state->windows, &state->bare, err));
    HC_OR_RETURN(hc_ranks_sum(hc_stage_ranks(stage), &state->bare, 1, err));
    if (state->bare > 0) {
        hc_stage_note(stage,
                      "%lld pixels have no score and are masked: their windows have too few valid pixels, or "
                      "pixels without variation",
                      (long long)state->bare);
    }
    HC_OR_RETURN(hc_background_gather(&state->background, stage, err));
    return hc_detections_gather(&state->detections, stage, err);
}

static HcStatus finish(HcStage *stage, HcError *err) {
    static const char *const name[] = {"anomaly"};
    State *state = stage->state;
    return hc_detections_finish(&state->detections, stage, &((const Params *)stage->params)->detections, name,
                                err);
}

static void report(const HcStage *stage, HcJson *to) {
    const State *state = stage->state;
    if (state->fitted && state->background.label == NULL) {
        hc_json_put_number(to, "pixels", (double)state->background.group[0].statistics.pixels);
        hc_json_put_number(to, "degrees_of_freedom", state->fit[0].components);
    }
    if (state->fitted && !is_local(stage)) {
        hc_background_report(&state->background, background_params(stage), to);
    }
    hc_detections_report(&state->detections, to);
    if (is_local(stage)) {
        hc_json_put_number(to, "without_score", (double)state->bare);
    }
}

static void release(const HcStage *stage, Fit *fit) {
    hc_memory_release(stage->compute, &fit->whitening);
    hc_memory_release(stage->compute, &fit->mean);
}

static void close_rx(HcStage *stage) {
    State *state = stage->state;
    hc_windows_close(&state->windows);
    hc_rates_close(&state->rates, stage);
    hc_detections_close(&state->detections);
    for (int32_t g = 0; g < state->background.count && state->fit != NULL; g++) {
        release(stage, &state->fit[g]);
    }
    free(state->fit);
    hc_background_close(&state->background, stage);
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
    .open = open_rx,
    .observe = observe,
    .settle = settle,
    .process = process,
    .consume = consume,
    .gather = gather,
    .finish = finish,
    .report = report,
    .rare = {.sums = sums},
    .close = close_rx,
};
