#include "pipeline/run/pool.h"
#include "pipeline/run/run.h"

HcStatus hc_pool_fit(HcStage *stage, HcCompute *compute, HcMoments *values, HcMoments *noise, HcError *err) {
    stage->compute = compute;
    HC_OR_RETURN(hc_run_side(stage, compute, NULL, err));
    HC_OR_RETURN(hc_stage_named(stage, stage->kind->rare.fit(stage, values, noise, err), err));
    stage->settled = true;
    return stage->kind->finish(stage, err);
}
