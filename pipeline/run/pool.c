#include "pipeline/run/pool.h"
#include "pipeline/run/run.h"

HcStatus hc_pool_fit(HcStage *stage, HcCompute *compute, const HcMoments *values, const HcMoments *noise,
                     HcError *err) {
    HcStatus status = HC_OK;
    stage->compute = compute;
    HC_TRY(hc_run_side(stage, compute, NULL, err));
    HC_TRY(stage->kind->fit(stage, values, noise, err));
    stage->settled = true;
    HC_TRY(stage->kind->finish(stage, err));
done:
    return status;
}
