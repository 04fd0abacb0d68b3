#include "core/operation/spectrum/calibrate.h"
#include "core/operation/check.h"

HcStatus hc_calibrate(HcQueue *queue, const HcBlock *in, const HcCalibration *how, const HcBlock *out,
                      HcError *err) {
    HC_OR_RETURN(hc_check_pair(queue, in, out, 0, "calibrate", err));
    HC_OR_RETURN(hc_check_bands(in, out, "calibrate", err));
    if (how == NULL || how->offset == NULL || how->gain == NULL || how->live == NULL) {
        return hc_fail(err, HC_E_USAGE, "calibrate: the offsets, gains or flags of the columns are missing");
    }
    return hc_ops_of(queue)->calibrate(queue, in, how, out, err);
}
