/* reduce: one number a pixel and target, for detectors. */
#ifndef HC_CORE_OPERATION_REDUCE_H
#define HC_CORE_OPERATION_REDUCE_H

#include "core/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a pixel y becomes, by itself or with each target t: y'y and so on are sums over the bands. */
typedef enum HcReduction {
    HC_REDUCE_SQUARES,    /* y'y; one band, no targets */
    HC_REDUCE_MATCH,      /* y't / t't: 1 where y = t, 0 where t is 0 throughout */
    HC_REDUCE_COHERENCE,  /* y't |y't| / (y'y t't): the squared cosine of the angle with the sign of the
                           * cosine, -1 to 1; 0 where y or t is 0 throughout */
    HC_REDUCE_ANGLE,      /* the angle between y and t, 0 to pi [radians]; pi / 2 where one is 0 throughout */
    HC_REDUCE_POWER,      /* y't |y't| / t't: the square of the part of y along t, with the sign of that part;
                           * 0 where t is 0 throughout */
    HC_REDUCE_DIVERGENCE, /* the symmetric divergence of p = y / sum y and q = t / sum t, the sum of
                           * (p - q) log(p / q); infinity where a value of y or t is not positive */
    HC_REDUCE_MIXTURE     /* two bands for each target, see hc_reduce_targets */
} HcReduction;

/* Rows of `targets`. For MIXTURE, the last row holds standard deviations d > 0 of the background, and y has
 * noise of variance 1. Band 2 j is the share a = sum(y t / d^2) / sum(t^2 / d^2) of targets[j], 0 where t is
 * 0 throughout. Band 2 j + 1 is the root of the mean of ((y - a t) / s)^2 over the bands, with s = d + c (1 -
 * d) and c = a within 0 and 1: how far the pixel is from a mixture of background and target. */
static inline int32_t hc_reduce_targets(HcReduction kind, int32_t out_bands) {
    return kind == HC_REDUCE_MIXTURE ? out_bands / 2 + 1 : out_bands;
}

/* Band j of `out` is the reduction of the pixel and targets[j]. targets [device] [hc_reduce_targets()][in
 * bands], finite; NULL where the kind has none. Sums of squares of a target that is not 0 lie within 1e-200
 * to 1e200.
 *
 * Formed in float64 and rounded once; beyond the range of float32 it is infinity. Sums have eight parts: band
 * b is added to part b % 8 in ascending order. The parts are added as ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 +
 * 7)). The bits are then the same on every backend, except for the arc tangent of an angle and the logarithms
 * of a divergence. The angle is 2 atan2(| |t| y - |y| t |, | |t| y + |y| t |), which is as accurate for small
 * angles as for others. A valid pixel that holds NaN or infinity becomes NaN; with SQUARES, MATCH, POWER and
 * MIXTURE it may become infinity. */
typedef HcStatus HcReduceFn(HcQueue *queue, const HcBlock *in, HcReduction kind, const double *targets,
                            const HcBlock *out, HcError *err);
HcReduceFn hc_reduce HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
