#include "core/operation/image/reduce.h"
#include "core/operation/check.h"

static HcStatus check(const HcQueue *queue, const HcBlock *in, HcReduction kind, const double *targets,
                      const HcBlock *out, HcError *err) {
    HC_OR_RETURN(hc_check_pair(queue, in, out, 0, "reduce", err));
    if ((int)kind < HC_REDUCE_SQUARES || kind > HC_REDUCE_MIXTURE) {
        return hc_fail(err, HC_E_USAGE, "reduce: no reduction has the number %d", (int)kind);
    }
    if (kind == HC_REDUCE_MIXTURE && out->bands % 2 != 0) {
        return hc_fail(err, HC_E_USAGE, "reduce: mixtures are two bands for each target, not %d", out->bands);
    }
    if (kind != HC_REDUCE_SQUARES) {
        return targets != NULL ? HC_OK : hc_fail(err, HC_E_USAGE, "reduce: the targets are missing");
    }
    return targets == NULL && out->bands == 1
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "reduce: squares are one band without targets, not %d%s",
                         out->bands, targets != NULL ? " with targets" : "");
}

HcStatus hc_reduce(HcQueue *queue, const HcBlock *in, HcReduction kind, const double *targets,
                   const HcBlock *out, HcError *err) {
    HC_OR_RETURN(check(queue, in, kind, targets, out, err));
    return hc_ops_of(queue)->reduce(queue, in, kind, targets, out, err);
}
