/* Gain: which components of a transform to unit noise hold signal, and what keeping them gains. */
#ifndef HC_PIPELINE_STAGES_DENOISE_GAIN_H
#define HC_PIPELINE_STAGES_DENOISE_GAIN_H

#include "pipeline/statistics/transform.h"

/* The largest eigenvalue that noise alone has. */
double hc_gain_edge(const HcTransform *transform);

/* Variance of the noise in units of the transform, from the components behind the first `count`; at most 1.
 */
double hc_gain_level(const HcTransform *transform, int32_t count);

/* Error of the scene over the error with `count` components [dB]. */
double hc_gain_of(const HcTransform *transform, int32_t count);

#endif
