/* filter: 3x3 mean or median of each band. */
#ifndef HC_CORE_OPERATION_FILTER_H
#define HC_CORE_OPERATION_FILTER_H

#include "core/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum HcFilter { HC_FILTER_MEAN3X3, HC_FILTER_MEDIAN3X3 } HcFilter;

/* Mean or median over the valid pixels of the 3x3 neighbourhood within the scene. Masked pixels stay masked.
 * The median of an even count is the mean of the middle two. `in` needs one row of halo more than `out` has.
 */
typedef HcStatus HcFilterFn(HcQueue *queue, const HcBlock *in, HcFilter kind, const HcBlock *out,
                            HcError *err);
HcFilterFn hc_filter HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
