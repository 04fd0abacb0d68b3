/* pca: principal components of a scene. */
#include "pipeline/stages/shared/linear.h"
#include "pipeline/stages/stages.h"

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
    {HC_FLAG(Params, correlation), .of_fit = true, .excludes = HC_LINEAR_FITTED,
     .help = "use the correlation matrix: every band is first divided by its standard deviation"},
    {0}};

static HcStatus plan(HcStage *stage, HcError *err) {
    State *state = stage->state;
    bool fits = false;
    HC_OR_RETURN(hc_linear_plan(stage, "PCA", &fits, err));
    if (fits) {
        hc_scene_sums_want(&state->sums, stage, HC_DIFFERENCE_NONE, NULL);
    }
    return HC_OK;
}

static HcStatus fit(HcStage *stage, HcMoments *values, HcMoments *noise, HcError *err) {
    HcStatus status = HC_OK;
    const Params *params = stage->params;
    State *state = stage->state;
    HcTransform *transform = &state->linear.transform;
    HcStatistics statistics = {0};
    (void)noise;
    HC_TRY(hc_linear_begin_fit(stage, values, &statistics, err));
    HC_TRY(hc_transform_fit_pca(transform, stage->compute, statistics.mean, statistics.covariance,
                                params->correlation, err));
    HC_TRY(hc_linear_end_fit(stage, &statistics, err));
done:
    hc_statistics_clear(&statistics);
    return status;
}

static bool scree(const HcStage *stage, HcScreePlot *out) {
    return hc_linear_scree(stage, "PCA eigenvalues", out);
}

const HcStageClass hc_stage_pca = {
    .name = "pca",
    .summary = "principal components: forward, inverse, denoise; fitted here or loaded",
    .cite = "Jolliffe: Principal Component Analysis, 2nd ed., 2002",
    .example = "hcube pca scene.hdr pca.tif --components 10",
    .role = HC_ROLE_STAGE,
    .gives = HC_GIVES_COMPONENTS,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    HC_LINEAR_HOOKS,
    .report = hc_linear_report,
    .rare = {.fits = hc_linear_fits, .fit = fit, .scree = scree, .dimension = hc_linear_dimension},
    .close = hc_linear_close,
};
