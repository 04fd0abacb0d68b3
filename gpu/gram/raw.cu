/* Raw bytes to sums: so far by way of a block in device memory. */
#include "core/operation/gram_raw.h"
#include "gpu/gram/gram.cuh"

HcDecodeFn hc_gpu_decode;
HcGramRawFn hc_gpu_gram_raw;

HcStatus hc_gpu_gram_raw(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *block,
                         const HcGramPart *parts, int32_t count, HcError *err) {
    HC_OR_RETURN(hc_gpu_decode(queue, raw, how, block, err));
    for (int32_t p = 0; p < count; p++) {
        HC_OR_RETURN(hc_gpu_gram(queue, block, parts[p].kind, parts[p].window, parts[p].sums, err));
    }
    return HC_OK;
}
