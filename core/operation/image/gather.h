/* gather: bands of a block in another order. */
#ifndef HC_CORE_OPERATION_GATHER_H
#define HC_CORE_OPERATION_GATHER_H

#include "core/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Band k of `out` is band index[k] of `in`; index [device] [out->bands]. */
typedef HcStatus HcGatherFn(HcQueue *queue, const HcBlock *in, const int32_t *index, const HcBlock *out,
                            HcError *err);
HcGatherFn hc_gather HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
