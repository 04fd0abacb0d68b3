/* reduce: one number a pixel and target, for detectors. */
#ifndef HC_CORE_OPERATION_REDUCE_H
#define HC_CORE_OPERATION_REDUCE_H

#include "core/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a pixel y becomes, by itself or with each target t: y'y and so on are sums over the bands. */
typedef enum HcReduction {
    HC_REDUCE_SQUARES,   /* y'y; one band, no targets */
    HC_REDUCE_MATCH,     /* y't / t't: 1 where y = t, 0 where t is 0 throughout */
    HC_REDUCE_COHERENCE, /* y't |y't| / (y'y t't): the squared cosine of the angle with the sign of the
                          * cosine, -1 to 1; 0 where y or t is 0 throughout */
    HC_REDUCE_ANGLE      /* the angle between y and t, 0 to pi [radians]; pi / 2 where one is 0 throughout */
} HcReduction;

/* Band j of `out` is the reduction of the pixel and targets[j]. targets [device] [out bands][in bands],
 * finite; NULL where the kind has none. Sums of squares of a target that is not 0 lie within 1e-200 to
 * 1e200.
 *
 * Formed in float64 and rounded once; beyond the range of float32 it is infinity. Sums have eight parts: band
 * b is added to part b % 8 in ascending order. The parts are added as ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 +
 * 7)). The bits are then the same on every backend, except for the arc tangent of an angle. The angle is 2
 * atan2(| |t| y - |y| t |, | |t| y + |y| t |), which is as accurate for small angles as for others. A valid
 * pixel that holds NaN or infinity becomes NaN; with SQUARES and MATCH it may become infinity. */
typedef HcStatus HcReduceFn(HcQueue *queue, const HcBlock *in, HcReduction kind, const double *targets,
                            const HcBlock *out, HcError *err);
HcReduceFn hc_reduce HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
