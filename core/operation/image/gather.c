#include "core/operation/image/gather.h"
#include "core/operation/check.h"

static HcStatus check(const HcQueue *queue, const HcBlock *in, const int32_t *index, const HcBlock *out,
                      HcError *err) {
    HcStatus status = hc_check_pair(queue, in, out, 0, "gather", err);
    if (status == HC_OK && index == NULL) {
        status = hc_fail(err, HC_E_USAGE, "gather: the list of bands is missing");
    }
    return status;
}

HcStatus hc_gather(HcQueue *queue, const HcBlock *in, const int32_t *index, const HcBlock *out,
                   HcError *err) {
    HC_OR_RETURN(check(queue, in, index, out, err));
    return hc_ops_of(queue)->gather(queue, in, index, out, err);
}
