#include "core/operation/spectrum/continuum.h"
#include "core/operation/check.h"

static HcStatus check(const HcQueue *queue, const HcBlock *in, const HcContinuumRule *rule,
                      const HcBlock *out, HcError *err) {
    HC_OR_RETURN(hc_check_pair(queue, in, out, 0, "continuum", err));
    if (rule == NULL || rule->first == NULL || rule->centre == NULL || rule->band == NULL ||
        (rule->target == NULL && rule->kind != HC_CONTINUUM_FEATURES)) {
        return hc_fail(err, HC_E_USAGE, "continuum: the pieces of the spectrum are missing");
    }
    if ((int)rule->kind < HC_CONTINUUM_REMOVED || rule->kind > HC_CONTINUUM_FEATURES) {
        return hc_fail(err, HC_E_USAGE, "continuum: no kind has the number %d", (int)rule->kind);
    }
    return rule->pieces > 0 && rule->places >= rule->pieces && out->bands == hc_continuum_bands(rule)
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "continuum: %d pieces of %d bands, and %d bands in the output",
                         rule->pieces, rule->places, out->bands);
}

HcStatus hc_continuum(HcQueue *queue, const HcBlock *in, const HcContinuumRule *rule, const HcBlock *out,
                      HcError *err) {
    HC_OR_RETURN(check(queue, in, rule, out, err));
    return hc_ops_of(queue)->continuum(queue, in, rule, out, err);
}
