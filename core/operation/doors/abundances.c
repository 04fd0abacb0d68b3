#include "core/operation/abundances.h"
#include "core/operation/doors/check.h"

#include <math.h>

const char *const hc_abundance_add_words[] = {"residual",       "status", "pivots", "objective",
                                              "dual objective", "error",  NULL};

static HcStatus check_rule(const HcAbundanceRule *rule, HcError *err) {
    if (rule == NULL || rule->spectrum == NULL || rule->endmembers < 1 ||
        rule->endmembers > HC_ABUNDANCE_ENDMEMBERS_MAX || rule->bands < 1 ||
        rule->bands > HC_ABUNDANCE_BANDS_MAX) {
        return hc_fail(err, HC_E_USAGE,
                       "simplex_batched: %d endmembers of %d bands: 1 to %d endmembers of 1 to %d bands",
                       rule != NULL ? rule->endmembers : 0, rule != NULL ? rule->bands : 0,
                       HC_ABUNDANCE_ENDMEMBERS_MAX, HC_ABUNDANCE_BANDS_MAX);
    }
    if ((int)rule->sum < 0 || rule->sum > HC_SUM_AT_MOST_ONE || rule->pivots < 0) {
        return hc_fail(err, HC_E_USAGE, "simplex_batched: sum %d, %d pivots", (int)rule->sum, rule->pivots);
    }
    for (int64_t i = 0; i < (int64_t)rule->endmembers * rule->bands; i++) {
        if (!isfinite(rule->spectrum[i])) {
            return hc_fail(err, HC_E_USAGE, "simplex_batched: endmember %d holds %g in band %d",
                           (int)(i / rule->bands), (double)rule->spectrum[i], (int)(i % rule->bands));
        }
    }
    for (int32_t b = 0; rule->weight != NULL && b < rule->bands; b++) {
        if (!(rule->weight[b] >= 0 && isfinite(rule->weight[b]))) {
            return hc_fail(err, HC_E_USAGE, "simplex_batched: the weight of band %d is %g", b,
                           rule->weight[b]);
        }
    }
    return HC_OK;
}

HcStatus hc_abundances_open(HcCompute *compute, const HcAbundanceRule *rule, HcAbundances **out,
                            HcError *err) {
    HC_OR_RETURN(hc_check_open(compute, out, "simplex_batched", err));
    *out = NULL;
    HC_OR_RETURN(check_rule(rule, err));
    HC_OR_RETURN(compute->ops->abundances_open(compute, rule, out, err));
    *(HcAbundancesHead *)*out =
        (HcAbundancesHead){{compute}, rule->endmembers, rule->bands, hc_abundance_bands(rule)};
    return HC_OK;
}

void hc_abundances_close(HcAbundances *abundances) {
    if (abundances != NULL) {
        hc_ops_of(abundances)->abundances_close(abundances);
    }
}

static HcStatus check(const HcQueue *queue, const HcBlock *in, const HcAbundances *abundances,
                      const HcBlock *out, HcError *err) {
    if (abundances == NULL) {
        return hc_fail(err, HC_E_USAGE, "simplex_batched: the endmembers are missing");
    }
    const HcAbundancesHead *head = (const HcAbundancesHead *)abundances;
    HC_OR_RETURN(hc_check_pair(queue, in, out, 0, "simplex_batched", err));
    if (in->bands != head->bands || out->bands != head->out_bands) {
        return hc_fail(err, HC_E_USAGE, "simplex_batched: %d bands in, %d out, for %d endmembers of %d bands",
                       in->bands, out->bands, head->endmembers, head->bands);
    }
    return HC_OK;
}

HcStatus hc_simplex_batched(HcQueue *queue, const HcBlock *in, HcAbundances *abundances, const HcBlock *out,
                            HcError *err) {
    HC_OR_RETURN(check(queue, in, abundances, out, err));
    return hc_ops_of(queue)->simplex_batched(queue, in, abundances, out, err);
}
