#include "core/operation/knn/reassign.h"
#include "core/operation/check.h"

HcStatus hc_reassign(HcQueue *queue, const HcBlock *in, const int32_t *index, int32_t k, int32_t *label,
                     int32_t classes, int64_t *sums, HcError *err) {
    HC_OR_RETURN(hc_check_queue(queue, "reassign", err));
    HC_OR_RETURN(hc_check_block(in, "reassign", "input", err));
    if (index == NULL || label == NULL || sums == NULL) {
        return hc_fail(err, HC_E_USAGE, "reassign: the classes of pixels, or their sums, are missing");
    }
    if (k < 1 || classes < 1) {
        return hc_fail(err, HC_E_USAGE, "reassign: %d numbers a pixel, %d classes", k, classes);
    }
    return hc_ops_of(queue)->reassign(queue, in, index, k, label, classes, sums, err);
}
