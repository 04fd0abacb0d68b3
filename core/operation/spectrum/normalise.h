/* normalise: each spectrum divided by its own size. */
#ifndef HC_CORE_OPERATION_NORMALISE_H
#define HC_CORE_OPERATION_NORMALISE_H

#include "core/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a pixel x of n bands becomes. */
typedef enum HcNormalisation {
    HC_NORMALISE_SNV, /* (x[b] - m) / s: m the mean over the bands, s the standard deviation, by n - 1 */
    HC_NORMALISE_BRIGHTNESS, /* x[b] / s: s the root of the sum of squares */
    HC_NORMALISE_AREA        /* x[b] / s: s the sum of weight[b] |x[b]| */
} HcNormalisation;

/* weight [device] [bands], finite, for AREA; NULL for the others. Both blocks have the same bands, two or
 * more for SNV.
 *
 * Formed in float64 and rounded once, as (x[b] - m) times 1 / s. Sums have eight parts: band b is added to
 * part b % 8 in ascending order. The parts are added as ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)). The bits
 * are the same on every backend. A pixel whose s is 0 or no finite number is masked. */
typedef HcStatus HcNormaliseFn(HcQueue *queue, const HcBlock *in, HcNormalisation kind, const double *weight,
                               const HcBlock *out, HcError *err);
HcNormaliseFn hc_normalise HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
