/* Pool: one model for many scenes, fitted to their sums. */
#ifndef HC_PIPELINE_POOL_H
#define HC_PIPELINE_POOL_H

#include "pipeline/stage.h"

/* Whether a parsed stage fits a model to sums, which those of many scenes can take the place of: pca or mnf,
 * without a model, not backwards. */
bool hc_pool_fits(const HcStage *stage);

/* The difference that such a stage takes noise from, HC_DIFFERENCE_NONE = it needs no sums of noise; *window
 * is its rectangle (borrowed), NULL = the scene. */
HcDifference hc_pool_noise(const HcStage *stage, const char **window);

/* Fits such a stage, planned for one of the scenes, to sums of all of them, as if it had observed them, and
 * lets it save its model. noise: NULL where it needs none. No pixel of the scene is read. */
HcStatus hc_pool_fit(HcStage *stage, HcCompute *compute, const HcMoments *values, const HcMoments *noise,
                     HcError *err) HC_MUST_CHECK;

#endif
