#include "core/operation/gram/gram_raw.h"
#include "core/operation/check.h"

static HcStatus check_parts(const HcQueue *queue, const HcBlock *block, const HcGramPart *parts,
                            int32_t count, HcError *err) {
    if (parts == NULL || count < 1 || count > HC_GRAM_PARTS_MAX) {
        return hc_fail(err, HC_E_USAGE, "gram_raw: %d sums (1 to %d)", parts == NULL ? 0 : count,
                       HC_GRAM_PARTS_MAX);
    }
    for (int32_t p = 0; p < count; p++) {
        HC_OR_RETURN(hc_check_gram(queue, block, parts[p].kind, parts[p].sums, "gram_raw", err));
        for (int32_t q = 0; q < p; q++) {
            if (parts[p].sums == parts[q].sums) {
                return hc_fail(err, HC_E_USAGE, "gram_raw: parts %d and %d have the same sums", q + 1, p + 1);
            }
        }
    }
    return HC_OK;
}

HcStatus hc_gram_raw(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *block,
                     const HcGramPart *parts, int32_t count, HcError *err) {
    HC_OR_RETURN(hc_check_decode(queue, raw, how, block, "gram_raw", err));
    HC_OR_RETURN(check_parts(queue, block, parts, count, err));
    return hc_ops_of(queue)->gram_raw(queue, raw, how, block, parts, count, err);
}
