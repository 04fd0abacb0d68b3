#include "core/operation/spectrum/identify.h"
#include "core/operation/check.h"

static HcStatus check(const HcQueue *queue, const HcBlock *in, const HcIdentifyRule *rule, const HcBlock *out,
                      HcError *err) {
    HC_OR_RETURN(hc_check_pair(queue, in, out, 0, "identify", err));
    if (rule == NULL || rule->reference == NULL || rule->feature == NULL || rule->entry == NULL) {
        return hc_fail(err, HC_E_USAGE,
                       "identify: the rule, its references, features or entries are missing");
    }
    if (rule->references < 1 || rule->features < 1 || rule->entries < 1 || rule->top < 1 ||
        rule->top > HC_IDENTIFY_TOP_MAX || rule->bands > HC_IDENTIFY_BANDS_MAX) {
        return hc_fail(
            err, HC_E_USAGE,
            "identify: %d references, %d features, %d entries, %d bands (up to %d), the best %d (1 to %d)",
            rule->references, rule->features, rule->entries, rule->bands, HC_IDENTIFY_BANDS_MAX, rule->top,
            HC_IDENTIFY_TOP_MAX);
    }
    if (in->bands != rule->bands || out->bands != hc_identify_bands(rule)) {
        return hc_fail(err, HC_E_USAGE,
                       "identify: %d bands in, %d out, for references of %d bands and %d out", in->bands,
                       out->bands, rule->bands, hc_identify_bands(rule));
    }
    return HC_OK;
}

HcStatus hc_identify(HcQueue *queue, const HcBlock *in, const HcIdentifyRule *rule, const HcBlock *out,
                     HcError *err) {
    HC_OR_RETURN(check(queue, in, rule, out, err));
    return hc_ops_of(queue)->identify(queue, in, rule, out, err);
}
