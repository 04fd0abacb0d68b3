#include "core/operation/image/filter.h"
#include "core/operation/check.h"

static HcStatus check(const HcQueue *queue, const HcBlock *in, HcFilter kind, const HcBlock *out,
                      HcError *err) {
    HC_OR_RETURN(hc_check_pair(queue, in, out, 1, "filter", err));
    HC_OR_RETURN(hc_check_bands(in, out, "filter", err));
    if (kind != HC_FILTER_MEAN3X3 && kind != HC_FILTER_MEDIAN3X3) {
        return hc_fail(err, HC_E_USAGE, "filter: no filter has the number %d", (int)kind);
    }
    return HC_OK;
}

HcStatus hc_filter(HcQueue *queue, const HcBlock *in, HcFilter kind, const HcBlock *out, HcError *err) {
    HC_OR_RETURN(check(queue, in, kind, out, err));
    return hc_ops_of(queue)->filter(queue, in, kind, out, err);
}
