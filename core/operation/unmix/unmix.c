#include "core/operation/unmix/unmix.h"
#include "core/operation/check.h"

#include <math.h>

const char *const hc_unmix_add_words[] = {"rmse", "iterations", "gap", "end", NULL};

static HcStatus check_rule(const HcUnmixRule *rule, HcError *err) {
    if (rule == NULL || rule->spectrum == NULL || rule->spectra < 1 || rule->spectra > HC_UNMIX_SPECTRA_MAX ||
        rule->bands < 1) {
        return hc_fail(err, HC_E_USAGE, "unmix: %d spectra of %d bands: 1 to %d spectra",
                       rule != NULL ? rule->spectra : 0, rule != NULL ? rule->bands : 0,
                       HC_UNMIX_SPECTRA_MAX);
    }
    if (!(rule->lambda >= 0 && rule->lambda < (double)INFINITY) || !(rule->gap > 0) || rule->iterations < 1 ||
        rule->top < 0 || rule->top > rule->spectra || (int)rule->solver < 0 || rule->solver > HC_UNMIX_ALM ||
        !(rule->threshold >= 0)) {
        return hc_fail(err, HC_E_USAGE, "unmix: lambda %g, gap %g, %d iterations, the %d largest, solver %d",
                       rule->lambda, rule->gap, rule->iterations, rule->top, (int)rule->solver);
    }
    if (rule->level != NULL && (rule->sum_to_one || rule->level_pixels < 1)) {
        return hc_fail(err, HC_E_USAGE, "unmix: a level of %lld pixels%s", (long long)rule->level_pixels,
                       rule->sum_to_one ? ", and abundances that sum to one" : "");
    }
    for (int64_t i = 0; i < (int64_t)rule->spectra * rule->bands; i++) {
        if (!isfinite(rule->spectrum[i])) {
            return hc_fail(err, HC_E_USAGE, "unmix: spectrum %d holds %g in band %d", (int)(i / rule->bands),
                           (double)rule->spectrum[i], (int)(i % rule->bands));
        }
    }
    for (int32_t b = 0; rule->weight != NULL && b < rule->bands; b++) {
        if (!(rule->weight[b] >= 0 && isfinite(rule->weight[b]))) {
            return hc_fail(err, HC_E_USAGE, "unmix: the weight of band %d is %g", b, rule->weight[b]);
        }
    }
    return HC_OK;
}

HcStatus hc_unmix_open(HcCompute *compute, const HcUnmixRule *rule, HcUnmixing **out, HcError *err) {
    HC_OR_RETURN(hc_check_open(compute, out, "unmix", err));
    *out = NULL;
    HC_OR_RETURN(check_rule(rule, err));
    HC_OR_RETURN(compute->ops->unmix_open(compute, rule, out, err));
    *(HcUnmixingHead *)*out = (HcUnmixingHead){{compute},
                                               rule->spectra,
                                               rule->bands,
                                               hc_unmix_bands(rule),
                                               rule->level != NULL ? rule->level_pixels : 0};
    return HC_OK;
}

void hc_unmix_close(HcUnmixing *unmixing) {
    if (unmixing != NULL) {
        hc_ops_of(unmixing)->unmix_close(unmixing);
    }
}

static HcStatus check(const HcQueue *queue, const HcBlock *in, const HcUnmixing *unmixing, const HcBlock *out,
                      HcError *err) {
    if (unmixing == NULL) {
        return hc_fail(err, HC_E_USAGE, "unmix: the library is missing");
    }
    const HcUnmixingHead *head = (const HcUnmixingHead *)unmixing;
    HC_OR_RETURN(hc_check_pair(queue, in, out, 0, "unmix", err));
    if (in->bands != head->bands || out->bands != head->out_bands) {
        return hc_fail(err, HC_E_USAGE, "unmix: %d bands in, %d out, for %d spectra of %d bands", in->bands,
                       out->bands, head->spectra, head->bands);
    }
    int64_t end = hc_block_first_line(out) + hc_block_rows(out);
    if (head->level_pixels > 0 && end * out->samples > head->level_pixels) {
        return hc_fail(err, HC_E_USAGE, "unmix: %lld lines of %lld samples, the level has %lld pixels",
                       (long long)end, (long long)out->samples, (long long)head->level_pixels);
    }
    return HC_OK;
}

HcStatus hc_unmix(HcQueue *queue, const HcBlock *in, HcUnmixing *unmixing, const HcBlock *out, HcError *err) {
    HC_OR_RETURN(check(queue, in, unmixing, out, err));
    return hc_ops_of(queue)->unmix(queue, in, unmixing, out, err);
}
