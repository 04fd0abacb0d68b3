#include "core/operation/knn/vote.h"
#include "core/operation/check.h"

const char *const hc_vote_add_words[] = {"confidence", "distance", "neighbour", NULL};

static HcStatus check(const HcQueue *queue, const HcBlock *in, const int32_t *index, const double *distance,
                      const int32_t *label, const HcVoteRule *rule, const HcBlock *out, HcError *err) {
    HC_OR_RETURN(hc_check_queue(queue, "vote", err));
    HC_OR_RETURN(hc_check_block(in, "vote", "input", err));
    HC_OR_RETURN(hc_check_block(out, "vote", "output", err));
    if (index == NULL || distance == NULL || label == NULL || rule == NULL) {
        return hc_fail(err, HC_E_USAGE, "vote: the neighbours, their labels or the rule is missing");
    }
    if (rule->k < 1 || rule->k > HC_KNN_MAX || rule->classes < 1 || !(rule->reject >= 0)) {
        return hc_fail(err, HC_E_USAGE, "vote: %d neighbours, %d classes, rejection beyond %g", rule->k,
                       rule->classes, rule->reject);
    }
    if (in->samples != out->samples || in->line0 != out->line0 || in->lines != out->lines ||
        out->above != 0 || out->below != 0 || out->bands != hc_vote_bands(rule)) {
        return hc_fail(err, HC_E_USAGE, "vote: %d lines, %d samples in; %d lines, %d samples, %d bands out",
                       in->lines, in->samples, out->lines, out->samples, out->bands);
    }
    return HC_OK;
}

HcStatus hc_vote(HcQueue *queue, const HcBlock *in, const int32_t *index, const double *distance,
                 const int32_t *label, const HcVoteRule *rule, const HcBlock *out, HcError *err) {
    HC_OR_RETURN(check(queue, in, index, distance, label, rule, out, err));
    return hc_ops_of(queue)->vote(queue, in, index, distance, label, rule, out, err);
}
