/* Model: the transform of `denoise` and `svd` for the noise that `auto` chose. */
#ifndef HC_PIPELINE_STAGES_DENOISE_MODEL_H
#define HC_PIPELINE_STAGES_DENOISE_MODEL_H

#include "pipeline/stages/denoise/evidence.h"
#include "pipeline/statistics/noise/choice.h"

/* The largest number of components above the edge of noise (hc_gain_edge). */
int32_t hc_model_count(const HcTransform *transform);

/* Makes a regression white, or leaves each band its variance, or finds it doubtful, and fits the transform to
 * it (scene, pixels and noise_pixels are set). Where tests show noise that follows the signal, or impulses,
 * bands keep their variances. */
HcStatus hc_model_fit(HcTransform *transform, HcNoiseChoice *choice, HcStatistics *noise,
                      const HcStage *stage, const HcEvidenceChange *change, const HcStatistics *scene,
                      HcError *err) HC_MUST_CHECK;

#endif
