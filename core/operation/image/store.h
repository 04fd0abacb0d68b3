/* store: a block on its way to the host, as a file of float32 stores it. */
#ifndef HC_CORE_OPERATION_STORE_H
#define HC_CORE_OPERATION_STORE_H

#include "core/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum HcInterleave { HC_BSQ, HC_BIL, HC_BIP } HcInterleave;

typedef struct HcStoring {
    HcInterleave interleave;
    float nodata;
    float beside; /* what a valid value becomes that equals nodata */
} HcStoring;

/* Puts the interior lines of `in` into to[lines x samples x bands], in the order of a file of these lines
 * alone. Masked pixels and NaN become nodata. `to` is host memory of the backend (HC_MEMORY_HOST), which
 * holds the values after hc_wait. */
typedef HcStatus HcStoreFn(HcQueue *queue, const HcBlock *in, const HcStoring *how, float *to, HcError *err);
HcStoreFn hc_store HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
