#include "pipeline/pool.h"
#include "pipeline/stages/linear.h"
#include "pipeline/stages/mnf.h"
#include "pipeline/stages/stages.h"

bool hc_pool_fits(const HcStage *stage) {
    const HcLinearParams *params = stage->params;
    return stage->kind->process == hc_linear_process && params->model == NULL && !params->inverse;
}

HcDifference hc_pool_noise(const HcStage *stage, const char **window) {
    *window = NULL;
    return stage->kind == &hc_stage_mnf ? hc_mnf_noise(stage, window) : HC_DIFFERENCE_NONE;
}

HcStatus hc_pool_fit(HcStage *stage, HcCompute *compute, const HcMoments *values, const HcMoments *noise,
                     HcError *err) {
    HcStatus status = HC_OK;
    HcQueue *queue = NULL;
    stage->compute = compute;
    stage->pooled = values;
    stage->pooled_noise = noise;
    HC_TRY(compute->ops->queue_open(compute, &queue, err));
    HC_TRY(stage->kind->open(stage, err));
    HC_TRY(stage->kind->settle(stage, queue, err));
    stage->settled = true;
    HC_TRY(stage->kind->finish(stage, err));
done:
    compute->ops->queue_close(queue);
    return status;
}
