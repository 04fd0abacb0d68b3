/* Gain: which components of a transform to unit noise hold signal, and what keeping them gains. */
#ifndef HC_PIPELINE_STAGES_DENOISE_GAIN_H
#define HC_PIPELINE_STAGES_DENOISE_GAIN_H

#include "pipeline/statistics/transform.h"

/* The largest eigenvalue that noise alone has. */
double hc_gain_edge(const HcTransform *transform);

/* Variance of the noise in units of the transform, from the components behind the first `count`; at most 1.
 */
double hc_gain_level(const HcTransform *transform, int32_t count);

/* Power of the signal that is lost with the components after the first `count`, over all bands: what their
 * eigenvalues have beyond noise and chance, and what noise turns of the first ones. */
double hc_gain_lost(const HcTransform *transform, int32_t count);

/* Error of the scene over the error with `count` components [dB]. */
double hc_gain_of(const HcTransform *transform, int32_t count);

/* The same where the error in the kept components is `risk` times all noise, and not their noise. */
double hc_gain_by_risk(const HcTransform *transform, int32_t count, double risk);

/* Mean square error of each band, variance[bands], with `count` components: the noise that stays, and the
 * signal that goes. risk: the error in the kept components over all noise, NaN = they keep theirs. */
void hc_gain_residual(const HcTransform *transform, int32_t count, double risk, double *variance);

#endif
