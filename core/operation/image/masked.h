/* masked: how many pixels a step has masked that came in valid. */
#ifndef HC_CORE_OPERATION_MASKED_H
#define HC_CORE_OPERATION_MASKED_H

#include "core/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

/* *count [device] grows by the pixels in interior lines of `out` that are valid in `in` and masked in `out`.
 * Only the masks are read. Bands of the two blocks may differ; `in` holds the lines of `out`. A sum of
 * integers: the same on every backend. */
typedef HcStatus HcMaskedFn(HcQueue *queue, const HcBlock *in, const HcBlock *out, int64_t *count,
                            HcError *err);
HcMaskedFn hc_masked HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
