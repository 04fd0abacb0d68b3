/* pca: principal components of a scene. */
#include "pipeline/stages/linear.h"
#include "pipeline/stages/stages.h"
#include "pipeline/statistics/sums.h"

typedef struct Params {
    HcLinearParams linear; /* first */
    bool correlation;
} Params;

typedef struct State {
    HcLinear linear; /* first */
    HcSceneSums sums;
} State;

static const HcOption options[] = {
    HC_LINEAR_OPTIONS,
    {HC_FLAG(Params, correlation), .of_fit = true,
     .help = "use the correlation matrix: every band is first divided by its standard deviation"},
    {0}};

static HcStatus plan(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    bool fits = false;
    if (params->correlation && (params->linear.model != NULL || params->linear.inverse)) {
        return hc_fail(err, HC_E_USAGE, "pca: --correlation: nothing is fitted here");
    }
    HC_OR_RETURN(hc_linear_plan(stage, "PCA", &fits, err));
    if (fits) {
        hc_scene_sums_plan(stage, HC_DIFFERENCE_NONE);
    }
    return HC_OK;
}

static HcStatus open_pca(HcStage *stage, HcError *err) {
    State *state = stage->state;
    if (!stage->needs.observes) {
        return hc_linear_open(stage, err);
    }
    return hc_scene_sums_open(&state->sums, stage, HC_DIFFERENCE_NONE, NULL, err);
}

static HcStatus observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    State *state = stage->state;
    return hc_scene_sums_add(&state->sums, stage, queue, in, err);
}

static HcStatus sums(HcStage *stage, HcGramPart *parts, int32_t *count, HcError *err) {
    State *state = stage->state;
    return hc_scene_sums_part(&state->sums, stage, parts, count, err);
}

static HcStatus fit(HcStage *stage, const HcMoments *values, const HcMoments *noise, HcError *err) {
    HcStatus status = HC_OK;
    const Params *params = stage->params;
    State *state = stage->state;
    HcTransform *transform = &state->linear.transform;
    HcStatistics statistics = {0};
    (void)noise;
    HC_TRY(hc_statistics_make(&statistics, &stage->in, values, HC_DIFFERENCE_NONE, "", err));
    HC_TRY(hc_scene_copy(&transform->scene, &stage->in, err));
    transform->pixels = statistics.pixels;
    HC_TRY(hc_transform_fit_pca(transform, stage->compute, statistics.mean, statistics.covariance,
                                params->correlation, err));
    HC_TRY(hc_linear_estimate(stage, &statistics, err));
    hc_linear_settled(stage);
done:
    hc_statistics_clear(&statistics);
    return status;
}

static HcStatus settle(HcStage *stage, HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    HcMoments moments = {0};
    HC_TRY(hc_scene_sums_take(&state->sums, stage, queue, &moments, err));
    HC_TRY(fit(stage, &moments, NULL, err));
    HC_TRY(hc_linear_open(stage, err));
done:
    hc_moments_clear(&moments);
    return status;
}

static bool scree(const HcStage *stage, HcScree *out) {
    return hc_linear_scree(stage, "PCA eigenvalues", out);
}

static void close_pca(HcStage *stage) {
    State *state = stage->state;
    hc_scene_sums_close(&state->sums);
    hc_linear_close(stage);
    *state = (State){0};
}

const HcStageClass hc_stage_pca = {
    .name = "pca",
    .summary = "principal components: forward, inverse, denoise; fitted here or loaded",
    .cite = "Jolliffe: Principal Component Analysis, 2nd ed., 2002",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .open = open_pca,
    .observe = observe,
    .sums = sums,
    .settle = settle,
    .process = hc_linear_process,
    .fits = hc_linear_fits,
    .fit = fit,
    .scree = scree,
    .finish = hc_linear_finish,
    .output = hc_linear_output,
    .report = hc_linear_report,
    .close = close_pca,
};
