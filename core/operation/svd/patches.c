#include "core/operation/svd/patches.h"
#include "core/operation/check.h"

#include <math.h>

static HcStatus check_rule(const HcPatchRule *rule, HcError *err) {
    if (rule == NULL || rule->lines < 1 || rule->samples < 1 || rule->bands < 1 || rule->bands > HC_SVD_MAX) {
        return hc_fail(err, HC_E_USAGE, "patches: of a scene of %lld lines, %d samples, %d bands",
                       rule != NULL ? (long long)rule->lines : 0, rule != NULL ? rule->samples : 0,
                       rule != NULL ? rule->bands : 0);
    }
    if (rule->size < 1 || rule->size > HC_PATCH_SIZE_MAX || rule->step < 1 || rule->step > rule->size) {
        return hc_fail(err, HC_E_USAGE, "patches: size %d (1 to %d), one every %d pixels", rule->size,
                       HC_PATCH_SIZE_MAX, rule->step);
    }
    if ((int)rule->keep < 0 || rule->keep > HC_PATCH_COUNT || rule->count < 0 || rule->values < 0 ||
        !(rule->noise >= 0 && rule->noise < (double)INFINITY)) {
        return hc_fail(err, HC_E_USAGE, "patches: rule %d, %d kept, %d values, noise %g", (int)rule->keep,
                       rule->count, rule->values, rule->noise);
    }
    return HC_OK;
}

HcStatus hc_patches_open(HcCompute *compute, const HcPatchRule *rule, HcPatches **out, HcError *err) {
    HC_OR_RETURN(hc_check_open(compute, out, "patches", err));
    *out = NULL;
    HC_OR_RETURN(check_rule(rule, err));
    HC_OR_RETURN(compute->ops->patches_open(compute, rule, out, err));
    *(HcPatchesHead *)*out = (HcPatchesHead){{compute}, *rule};
    return HC_OK;
}

void hc_patches_close(HcPatches *patches) {
    if (patches != NULL) {
        hc_ops_of(patches)->patches_close(patches);
    }
}

static HcStatus check(const HcQueue *queue, const HcBlock *in, const HcPatches *patches, const HcBlock *out,
                      HcError *err) {
    if (patches == NULL) {
        return hc_fail(err, HC_E_USAGE, "patches: the rule is missing");
    }
    const HcPatchRule *rule = &((const HcPatchesHead *)patches)->rule;
    HC_OR_RETURN(hc_check_pair(queue, in, out, rule->size - 1, "patches", err));
    int64_t end = hc_min64(out->line0 + out->lines + rule->size - 1, rule->lines);
    HC_OR_RETURN(hc_check_lines(out->line0, end, hc_block_first_line(in),
                                hc_block_first_line(in) + hc_block_rows(in), "patches", err));
    if (in->samples != rule->samples || in->bands != rule->bands || out->bands != hc_patch_bands(rule) ||
        out->above != 0 || out->below != 0 || out->line0 + out->lines > rule->lines) {
        return hc_fail(err, HC_E_USAGE,
                       "patches: %d samples and %d bands in, %d bands and %lld lines from %lld out",
                       in->samples, in->bands, out->bands, (long long)hc_block_rows(out),
                       (long long)hc_block_first_line(out));
    }
    return HC_OK;
}

HcStatus hc_patches(HcQueue *queue, const HcBlock *in, HcPatches *patches, const HcBlock *out, HcError *err) {
    HC_OR_RETURN(check(queue, in, patches, out, err));
    return hc_ops_of(queue)->patches(queue, in, patches, out, err);
}
