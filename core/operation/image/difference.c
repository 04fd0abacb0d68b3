#include "core/operation/image/difference.h"
#include "core/operation/check.h"

static HcStatus check(const HcQueue *queue, const HcBlock *in, HcDifference kind, const HcBlock *out,
                      HcError *err) {
    HC_OR_RETURN(hc_check_difference_kind(kind, "difference", err));
    HC_OR_RETURN(hc_check_pair(queue, in, out, hc_difference_halo(kind), "difference", err));
    return hc_check_bands(in, out, "difference", err);
}

HcStatus hc_difference(HcQueue *queue, const HcBlock *in, HcDifference kind, const HcBlock *out,
                       HcError *err) {
    HC_OR_RETURN(check(queue, in, kind, out, err));
    return hc_ops_of(queue)->difference(queue, in, kind, out, err);
}
