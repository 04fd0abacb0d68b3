/* Pool: one model for many scenes, fitted to their sums. */
#ifndef HC_PIPELINE_RUN_POOL_H
#define HC_PIPELINE_RUN_POOL_H

#include "pipeline/stage.h"

/* Fits a stage (HcStageRare.fits), planned for one of the scenes, to the sums of all of them, and lets it
 * save its model. The result is that of observing them all. noise: NULL = not needed. Reads no pixel.
 * Clears sums that are no longer needed. */
HcStatus hc_pool_fit(HcStage *stage, HcCompute *compute, HcMoments *values, HcMoments *noise,
                     HcError *err) HC_MUST_CHECK;

#endif
