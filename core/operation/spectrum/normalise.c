#include "core/operation/spectrum/normalise.h"
#include "core/operation/check.h"

static HcStatus check(const HcQueue *queue, const HcBlock *in, HcNormalisation kind, const double *weight,
                      const HcBlock *out, HcError *err) {
    HC_OR_RETURN(hc_check_pair(queue, in, out, 0, "normalise", err));
    HC_OR_RETURN(hc_check_bands(in, out, "normalise", err));
    if ((int)kind < HC_NORMALISE_SNV || kind > HC_NORMALISE_AREA) {
        return hc_fail(err, HC_E_USAGE, "normalise: no normalisation has the number %d", (int)kind);
    }
    if ((weight != NULL) != (kind == HC_NORMALISE_AREA)) {
        return hc_fail(err, HC_E_USAGE, "normalise: weights are %s",
                       weight != NULL ? "for areas alone" : "missing");
    }
    return kind != HC_NORMALISE_SNV || in->bands > 1
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "normalise: one band has no standard deviation");
}

HcStatus hc_normalise(HcQueue *queue, const HcBlock *in, HcNormalisation kind, const double *weight,
                      const HcBlock *out, HcError *err) {
    HC_OR_RETURN(check(queue, in, kind, weight, out, err));
    return hc_ops_of(queue)->normalise(queue, in, kind, weight, out, err);
}
