#include "core/operation/image/masked.h"
#include "core/operation/check.h"

HcStatus hc_masked(HcQueue *queue, const HcBlock *in, const HcBlock *out, int64_t *count, HcError *err) {
    HC_OR_RETURN(hc_check_pair(queue, in, out, 0, "masked", err));
    if (count == NULL) {
        return hc_fail(err, HC_E_USAGE, "masked: the place of the count is missing");
    }
    return hc_ops_of(queue)->masked(queue, in, out, count, err);
}
