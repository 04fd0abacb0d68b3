#include "core/operation/gram/column_gram.h"
#include "core/operation/check.h"

static HcStatus check_rule(const HcBlock *in, const HcColumnRule *rule, const int64_t *sums,
                           const int64_t *far, const void *work, HcError *err) {
    if (rule == NULL || rule->largest == NULL || rule->scale == NULL || sums == NULL || far == NULL ||
        work == NULL) {
        return hc_fail(err, HC_E_USAGE,
                       "column_gram: the rule, the sums or the memory to work in is missing");
    }
    if (rule->width < 1) {
        return hc_fail(err, HC_E_USAGE, "column_gram: groups of %d columns of %d", rule->width, in->samples);
    }
    return HC_OK;
}

/* Whether the lines of `before` and `in` are one window. */
static HcStatus check_window(const HcBlock *before, const HcBlock *in, HcError *err) {
    int64_t first = before != NULL ? before->line0 : in->line0;
    int64_t last = in->line0 + in->lines - 1;
    if (before != NULL && (before->samples != in->samples || before->bands != in->bands ||
                           before->line0 + before->lines != in->line0)) {
        return hc_fail(err, HC_E_USAGE,
                       "column_gram: %d samples and %d bands of the lines %lld to %lld, before %d and %d of "
                       "the lines %lld to %lld",
                       before->samples, before->bands, (long long)before->line0,
                       (long long)(before->line0 + before->lines - 1), in->samples, in->bands,
                       (long long)in->line0, (long long)last);
    }
    if (first / HC_COLUMN_LINES != last / HC_COLUMN_LINES) {
        return hc_fail(err, HC_E_USAGE, "column_gram: the lines %lld to %lld are not between multiples of %d",
                       (long long)first, (long long)last, HC_COLUMN_LINES);
    }
    return HC_OK;
}

HcStatus hc_column_gram(HcQueue *queue, const HcBlock *before, const HcBlock *in, const HcColumnRule *rule,
                        int64_t *sums, int64_t *far, void *work, HcError *err) {
    HC_OR_RETURN(hc_check_queue(queue, "column_gram", err));
    HC_OR_RETURN(hc_check_block(in, "column_gram", "input", err));
    if (before != NULL) {
        HC_OR_RETURN(hc_check_block(before, "column_gram", "input", err));
    }
    HC_OR_RETURN(check_rule(in, rule, sums, far, work, err));
    HC_OR_RETURN(check_window(before, in, err));
    return hc_ops_of(queue)->column_gram(queue, before, in, rule, sums, far, work, err);
}
