/* Pool: one model for many scenes, fitted to their sums. */
#ifndef HC_PIPELINE_RUN_POOL_H
#define HC_PIPELINE_RUN_POOL_H

#include "pipeline/stage.h"

/* Fits a stage that fits to sums (HcStageClass.fits), planned for one of the scenes, to the sums of all of
 * them, as if it had observed them, and lets it save its model. noise: NULL where it needs none. No pixel of
 * the scene is read. */
HcStatus hc_pool_fit(HcStage *stage, HcCompute *compute, const HcMoments *values, const HcMoments *noise,
                     HcError *err) HC_MUST_CHECK;

#endif
