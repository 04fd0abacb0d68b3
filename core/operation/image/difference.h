/* difference: the noise image of a scene. */
#ifndef HC_CORE_OPERATION_DIFFERENCE_H
#define HC_CORE_OPERATION_DIFFERENCE_H

#include "core/compute.h"
#include "core/sums/moments.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Each pixel becomes its difference (HcDifference) in units of the scene: HC_DIFFERENCE_MEAN3X3 is divided
 * by 9. A pixel is masked where its neighbourhood leaves the scene or holds a masked pixel. `in` needs
 * hc_difference_halo(kind) rows of halo more than `out` has. */
typedef HcStatus HcDifferenceFn(HcQueue *queue, const HcBlock *in, HcDifference kind, const HcBlock *out,
                                HcError *err);
HcDifferenceFn hc_difference HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
