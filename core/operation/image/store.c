#include "core/operation/image/store.h"
#include "core/operation/check.h"

HcStatus hc_store(HcQueue *queue, const HcBlock *in, const HcStoring *how, float *to, HcError *err) {
    HC_OR_RETURN(hc_check_queue(queue, "store", err));
    HC_OR_RETURN(hc_check_block(in, "store", "input", err));
    if (how == NULL || to == NULL || (unsigned)how->interleave > HC_BIP) {
        return hc_fail(err, HC_E_USAGE, "store: the order of the values, or their place, is missing");
    }
    return hc_ops_of(queue)->store(queue, in, how, to, err);
}
