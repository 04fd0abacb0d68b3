/* rx: how unlike the background each pixel is (Reed and Xiaoli's anomaly detector), the squared Mahalanobis
 * distance from the mean of the scene.
 *
 * The covariance is not inverted. Pixels are whitened by the eigenvectors of the correlation matrix, and the
 * score is the sum of the squares: never negative, and the same for bands in any unit. Directions in which
 * nothing varies (constant bands, bands that repeat others) have no eigenvalue to divide by and are left out.
 */
#include "core/operation/project.h"
#include "core/operation/reduce.h"
#include "pipeline/memory.h"
#include "pipeline/stages/stages.h"
#include "pipeline/statistics/sums.h"
#include "pipeline/statistics/whitening.h"

typedef struct Params {
    const char *background;
} Params;

typedef struct State {
    HcSceneSums sums;
    HcStatistics background; /* of the scene, or of --background */
    int32_t components;      /* directions that vary, 0 = nothing is fitted yet */
    HcBuffer whitening;      /* [device] [bands][components] */
    HcBuffer mean;           /* [device] [bands] */
} State;

static const HcOption options[] = {
    {HC_TEXT(Params, background), .file = HC_FILE_READ, .value = "STATISTICS.json",
     .otherwise = "the scene itself",
     .help = "compare with the mean and covariance of this file, which cov has saved"},
    {0}};

static HcStatus load_background(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    HC_OR_RETURN(hc_stage_reads(stage, params->background, err));
    if (state->background.mean == NULL) {
        HC_OR_RETURN(hc_statistics_load(&state->background, params->background, err));
    }
    if (state->background.noise[0] != '\0') {
        return hc_fail(err, HC_E_INPUT, "%s: statistics of noise, not of a scene (cov without --noise)",
                       params->background);
    }
    return hc_statistics_take(&state->background, &stage->in, params->background, err);
}

static HcStatus plan(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    size_t bands = (size_t)stage->in.bands;
    HC_OR_RETURN(hc_statistics_of_values(&stage->in, "rx", err));
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    HC_OR_RETURN(hc_scene_reband(&stage->out, 1, HC_OTHER, err));
    HC_OR_RETURN(hc_scene_name_band(&stage->out, 0, err, "RX score"));
    stage->out.has_nodata = false; /* any value may be a score: the mask alone says where there is none */
    stage->needs.bytes_fixed = (bands + 1) * bands * sizeof(double);
    stage->needs.bytes_per_pixel = bands * sizeof(float) + 1; /* the whitened pixels and their mask */
    if (params->background != NULL) {
        return load_background(stage, err);
    }
    if (!stage->settled) {
        hc_scene_sums_want(&state->sums, stage, HC_DIFFERENCE_NONE, NULL);
    }
    return HC_OK;
}

/* The whitening of the background's statistics, on the device. */
static HcStatus fit(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    const HcStatistics *background = &state->background;
    int32_t bands = background->scene.bands;
    HcWhitening whitening = {0};
    HC_TRY(hc_whitening_make(&whitening, stage->compute, bands, background->covariance, err));
    state->components = whitening.directions;
    if (background->pixels <= state->components + 1) {
        HC_TRY(hc_fail(
            err, HC_E_NUMERIC,
            "rx: %lld valid pixels with %d bands would all have the same score: give more pixels, or fewer "
            "bands (pca --components)",
            (long long)background->pixels, bands));
    }
    if (state->components < bands) {
        hc_stage_note(stage,
                      "%d of %d bands are constant or combinations of others: %d directions are compared",
                      bands - state->components, bands, state->components);
    }
    size_t n = (size_t)bands;
    HC_TRY(hc_memory_upload(stage->compute, whitening.matrix, n * (size_t)state->components * sizeof(double),
                            &state->whitening, err));
    HC_TRY(hc_memory_upload(stage->compute, background->mean, n * sizeof(double), &state->mean, err));
done:
    hc_whitening_clear(&whitening);
    return status;
}

static HcStatus open_rx(HcStage *stage, HcError *err) {
    return stage->needs.observes ? hc_scene_sums_start(stage, err) : fit(stage, err);
}

static HcStatus settle(HcStage *stage, HcQueue *queue, HcError *err) {
    State *state = stage->state;
    HC_OR_RETURN(hc_scene_sums_statistics(&state->sums, stage, queue, "", &state->background, err));
    return fit(stage, err);
}

static HcStatus process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err) {
    const State *state = stage->state;
    HcBlock white = *out;
    white.bands = state->components;
    white.data = scratch;
    white.mask = (uint8_t *)scratch + hc_block_values(&white) * sizeof(float);
    HC_OR_RETURN(hc_project(queue, in, state->whitening.data, state->mean.data, NULL, &white, err));
    return hc_reduce(queue, &white, HC_REDUCE_SQUARES, NULL, out, err);
}

static void report(const HcStage *stage, HcJson *to) {
    const State *state = stage->state;
    hc_json_put_number(to, "pixels", (double)state->background.pixels);
    hc_json_put_number(to, "degrees_of_freedom", state->components);
}

static void close_rx(HcStage *stage) {
    State *state = stage->state;
    hc_scene_sums_end(stage);
    hc_statistics_clear(&state->background);
    hc_memory_release(stage->compute, &state->whitening);
    hc_memory_release(stage->compute, &state->mean);
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
    HC_SCENE_SUMS(State, sums),
    .settle = settle,
    .process = process,
    .report = report,
    .close = close_rx,
};
