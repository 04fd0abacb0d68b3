/* cov: mean and covariance of a scene or of its noise, saved as a statistics file; or the sums for them. */
#include "io/file.h"
#include "pipeline/chain.h"
#include "pipeline/stages/stages.h"
#include "pipeline/statistics/noise/choice.h"
#include "pipeline/statistics/sums.h"
#include "pipeline/statistics/sums_file.h"

typedef struct Params {
    const char *path;
    int32_t noise, matrix;
    const char *window;
    bool sums;
    bool overwrite;
} Params;

typedef struct State {
    HcWindow window;
    HcSceneSums sums;
    HcSceneSums differences; /* with --noise auto */
    HcMoments moments;       /* with --sums */
    HcStatistics statistics;
    HcNoiseChoice choice;
} State;

static const HcOption options[] = {
    {HC_TEXT(Params, path, "output"), .file = HC_FILE_WRITTEN, .value = "STATISTICS.json", .positional = true,
     .required = true, .help = "statistics file to write"},
    {HC_CHOICE(Params, noise), .choices = hc_noise_models, .otherwise = "statistics of the scene",
     .help = "take the statistics of the noise, estimated by this difference of neighbours, or by regression "
             "of each band on all others. spatial-spectral: regression of shift differences; "
             "spatial-spectral-lower: of shift-lower differences. auto: regression or mean3x3, whichever the "
             "scene confirms"},
    {HC_NOISE_MATRIX_OPTION(Params, matrix), .needs = "noise", .excludes = "sums"},
    {HC_TEXT(Params, window, "noise-window"), .was = "window", .unit = "pixels", .value = "X,Y,W,H",
     .otherwise = "the whole scene",
     .help = "use only this rectangle: first sample and first line (from 0), samples, lines"},
    {HC_FLAG(Params, sums), .help = "save the sums instead of mean and covariance: sums of several scenes "
                                    "can be added, as batch --pool does"},
    {HC_FLAG(Params, overwrite), .help = "replace an existing file"},
    {0}};

static const char *noise_of(const HcStage *stage) {
    const Params *params = stage->params;
    return params->noise >= 0 ? hc_noise_models[params->noise] : "";
}

/* NONE: the scene itself is summed. */
static HcDifference kind_of(const HcStage *stage) {
    return hc_noise_difference_of(noise_of(stage));
}

static HcStatus check_params(const Params *params, const char *noise, HcError *err) {
    if (params->sums && (hc_noise_is_regression(noise) || hc_noise_is_auto(noise))) {
        return hc_fail(err, HC_E_USAGE,
                       "cov: --sums --noise %s: a regression needs the sums of the scene (--sums alone)",
                       noise);
    }
    if (params->sums && hc_noise_is_spatial_spectral(noise)) {
        return hc_fail(err, HC_E_USAGE,
                       "cov: --sums --noise %s: it needs the sums of the differences (--sums --noise %s)",
                       noise, hc_noise_word_of(hc_noise_difference_of(noise)));
    }
    return HC_OK;
}

static HcStatus plan(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    HC_OR_RETURN(check_params(params, noise_of(stage), err));
    HC_OR_RETURN(hc_statistics_of_values(&stage->in, "cov", err));
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    if (params->window != NULL) {
        HC_OR_RETURN(hc_window_parse(params->window, &stage->in, &state->window, err));
    }
    stage->needs.passes_through = true;
    stage->output = params->path;
    if (!stage->settled) {
        const HcWindow *window = params->window != NULL ? &state->window : NULL;
        hc_scene_sums_want(&state->sums, stage, kind_of(stage), window);
        if (hc_noise_is_auto(noise_of(stage))) {
            hc_scene_sums_want(&state->differences, stage, HC_NOISE_AUTO_DIFFERENCE, window);
        }
    }
    return HC_OK;
}

static HcStatus settle_auto(HcStage *stage, HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    const Params *params = stage->params;
    State *state = stage->state;
    HcStatistics scene = {0};
    HcMoments differences = {0};
    HC_TRY(hc_scene_sums_statistics(&state->sums, stage, queue, "", &scene, err));
    HC_TRY(hc_scene_sums_take(&state->differences, stage, queue, &differences, err));
    HC_TRY(hc_noise_choose(&state->choice, &state->statistics, stage->compute, &scene, &differences,
                           (HcNoiseMatrix)params->matrix, err));
    hc_noise_choice_note(stage, &state->choice);
done:
    hc_statistics_clear(&scene);
    hc_moments_clear(&differences);
    return status;
}

/* Of the scene, or of its differences. */
static HcStatus settle_regression(HcStage *stage, HcQueue *queue, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    HcNoiseMatrix matrix = (HcNoiseMatrix)params->matrix;
    HcMoments moments = {0};
    HcStatus status = hc_scene_sums_take(&state->sums, stage, queue, &moments, err);
    if (status == HC_OK) {
        status = hc_noise_in_range_by(noise_of(stage), &state->statistics, &stage->in, &moments, matrix, err);
    }
    if (status == HC_OK) {
        hc_noise_range_note(stage, &state->statistics);
    }
    hc_moments_clear(&moments);
    return status;
}

static HcStatus settle(HcStage *stage, HcQueue *queue, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    if (params->sums) {
        return hc_scene_sums_take(&state->sums, stage, queue, &state->moments, err);
    }
    if (hc_noise_is_auto(noise_of(stage))) {
        return settle_auto(stage, queue, err);
    }
    if (hc_noise_is_regression(noise_of(stage)) || hc_noise_is_spatial_spectral(noise_of(stage))) {
        return settle_regression(stage, queue, err);
    }
    HC_OR_RETURN(
        hc_scene_sums_statistics(&state->sums, stage, queue, noise_of(stage), &state->statistics, err));
    if (params->noise >= 0) {
        hc_noise_reduce(&state->statistics, (HcNoiseMatrix)params->matrix);
    }
    return HC_OK;
}

static HcStatus finish(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    const State *state = stage->state;
    bool overwrite = hc_stage_overwrite(stage);
    return params->sums ? hc_saved_sums_write(params->path, &stage->in, kind_of(stage), &state->moments,
                                              overwrite, err)
                        : hc_statistics_save(&state->statistics, params->path, overwrite, err);
}

static void report(const HcStage *stage, HcJson *to) {
    const Params *params = stage->params;
    const State *state = stage->state;
    int64_t pixels = params->sums ? state->moments.count : state->statistics.pixels;
    hc_json_put_text(to, "output", params->path);
    hc_json_put_number(to, "pixels", (double)pixels);
    hc_json_put_bool(to, "exact", hc_sums_limit(&stage->in, kind_of(stage)) > 0);
    hc_noise_choice_put(&state->choice, to);
}

static void close_cov(HcStage *stage) {
    State *state = stage->state;
    hc_moments_clear(&state->moments);
    hc_statistics_clear(&state->statistics);
}

HcStatistics hc_cov_take(HcStage *stage) {
    State *state = stage->state;
    HcStatistics taken = state->statistics;
    state->statistics = (HcStatistics){0};
    return taken;
}

const HcStageClass hc_stage_cov = {
    .name = "cov",
    .summary = "mean and covariance of the scene or of its noise, saved as a statistics file",
    .cite = "Chan, Golub, LeVeque 1983 (float scenes); exact integer sums otherwise",
    .example = "hcube cov scene.hdr statistics.json",
    .role = HC_ROLE_SINK,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .settle = settle,
    .finish = finish,
    .report = report,
    .close = close_cov,
};
