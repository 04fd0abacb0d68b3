#include "core/operation/lp/lad.h"
#include "core/operation/check.h"

#include <math.h>

const char *const hc_lad_add_words[] = {"residual",       "status", "pivots", "objective",
                                        "dual objective", "error",  NULL};

static HcStatus check_rule(const HcLadRule *rule, HcError *err) {
    if (rule == NULL || rule->spectrum == NULL || rule->endmembers < 1 ||
        rule->endmembers > HC_LAD_ENDMEMBERS_MAX || rule->bands < 1 || rule->bands > HC_LAD_BANDS_MAX) {
        return hc_fail(err, HC_E_USAGE, "lad: %d endmembers of %d bands: 1 to %d endmembers of 1 to %d bands",
                       rule != NULL ? rule->endmembers : 0, rule != NULL ? rule->bands : 0,
                       HC_LAD_ENDMEMBERS_MAX, HC_LAD_BANDS_MAX);
    }
    if ((int)rule->sum < 0 || rule->sum > HC_SUM_AT_MOST_ONE || rule->pivots < 0) {
        return hc_fail(err, HC_E_USAGE, "lad: sum %d, %d pivots", (int)rule->sum, rule->pivots);
    }
    for (int64_t i = 0; i < (int64_t)rule->endmembers * rule->bands; i++) {
        if (!isfinite(rule->spectrum[i])) {
            return hc_fail(err, HC_E_USAGE, "lad: endmember %d holds %g in band %d", (int)(i / rule->bands),
                           (double)rule->spectrum[i], (int)(i % rule->bands));
        }
    }
    for (int32_t b = 0; rule->weight != NULL && b < rule->bands; b++) {
        if (!(rule->weight[b] >= 0 && isfinite(rule->weight[b]))) {
            return hc_fail(err, HC_E_USAGE, "lad: the weight of band %d is %g", b, rule->weight[b]);
        }
    }
    return HC_OK;
}

HcStatus hc_lad_open(HcCompute *compute, const HcLadRule *rule, HcLad **out, HcError *err) {
    HC_OR_RETURN(hc_check_open(compute, out, "lad", err));
    *out = NULL;
    HC_OR_RETURN(check_rule(rule, err));
    HC_OR_RETURN(compute->ops->lad_open(compute, rule, out, err));
    *(HcLadHead *)*out = (HcLadHead){{compute}, rule->endmembers, rule->bands, hc_lad_bands(rule)};
    return HC_OK;
}

void hc_lad_close(HcLad *lad) {
    if (lad != NULL) {
        hc_ops_of(lad)->lad_close(lad);
    }
}

static HcStatus check(const HcQueue *queue, const HcBlock *in, const HcLad *lad, const HcBlock *out,
                      HcError *err) {
    if (lad == NULL) {
        return hc_fail(err, HC_E_USAGE, "lad: the endmembers are missing");
    }
    const HcLadHead *head = (const HcLadHead *)lad;
    HC_OR_RETURN(hc_check_pair(queue, in, out, 0, "lad", err));
    if (in->bands != head->bands || out->bands != head->out_bands) {
        return hc_fail(err, HC_E_USAGE, "lad: %d bands in, %d out, for %d endmembers of %d bands", in->bands,
                       out->bands, head->endmembers, head->bands);
    }
    return HC_OK;
}

HcStatus hc_lad(HcQueue *queue, const HcBlock *in, HcLad *lad, const HcBlock *out, HcError *err) {
    HC_OR_RETURN(check(queue, in, lad, out, err));
    return hc_ops_of(queue)->lad(queue, in, lad, out, err);
}
