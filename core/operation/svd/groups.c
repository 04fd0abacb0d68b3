#include "core/operation/svd/groups.h"
#include "core/operation/check.h"

static HcStatus check_rule(const HcGroupRule *rule, const void *work, HcError *err) {
    if (rule == NULL || work == NULL) {
        return hc_fail(err, HC_E_USAGE, "groups: the rule or the memory to work in is missing");
    }
    bool is_power = rule->count > 0 && (rule->count & (rule->count - 1)) == 0;
    if (rule->lines < 1 || rule->size < 1 || rule->size > HC_GROUP_SIZE_MAX || rule->reach < 0 ||
        rule->reach > HC_GROUP_REACH_MAX || rule->count > HC_GROUP_COUNT_MAX || !is_power) {
        return hc_fail(err, HC_E_USAGE,
                       "groups: of %lld lines, size %d (1 to %d), reach %d (0 to %d), %d patches "
                       "(a power of two up to %d)",
                       (long long)rule->lines, rule->size, HC_GROUP_SIZE_MAX, rule->reach, HC_GROUP_REACH_MAX,
                       rule->count, HC_GROUP_COUNT_MAX);
    }
    return HC_OK;
}

static HcStatus check(const HcQueue *queue, const HcBlock *in, const HcBlock *pilot, const HcGroupRule *rule,
                      const HcBlock *out, HcError *err) {
    int32_t halo = hc_group_halo(rule);
    HC_OR_RETURN(hc_check_pair(queue, in, out, halo, "groups", err));
    HC_OR_RETURN(hc_check_block(pilot, "groups", "pilot", err));
    HC_OR_RETURN(hc_check_bands(in, out, "groups", err));
    int64_t first = hc_block_first_line(in);
    int64_t end = hc_min64(out->line0 + out->lines + halo, rule->lines);
    HC_OR_RETURN(hc_check_lines(out->line0, end, first, first + hc_block_rows(in), "groups", err));
    if (pilot->samples != in->samples || pilot->bands != in->bands || hc_block_first_line(pilot) != first ||
        hc_block_rows(pilot) != hc_block_rows(in)) {
        return hc_fail(err, HC_E_USAGE,
                       "groups: a pilot of %lld lines from %lld, %d samples, %d bands for %lld lines from "
                       "%lld, %d samples, %d bands",
                       (long long)hc_block_rows(pilot), (long long)hc_block_first_line(pilot), pilot->samples,
                       pilot->bands, (long long)hc_block_rows(in), (long long)first, in->samples, in->bands);
    }
    if (out->above != 0 || out->below != 0 || out->line0 + out->lines > rule->lines ||
        first + hc_block_rows(in) > rule->lines) {
        return hc_fail(
            err, HC_E_USAGE, "groups: lines %lld to %lld in, %lld to %lld out, of %lld lines",
            (long long)first, (long long)(first + hc_block_rows(in) - 1), (long long)hc_block_first_line(out),
            (long long)(hc_block_first_line(out) + hc_block_rows(out) - 1), (long long)rule->lines);
    }
    return HC_OK;
}

HcStatus hc_groups(HcQueue *queue, const HcBlock *in, const HcBlock *pilot, const HcGroupRule *rule,
                   void *work, const HcBlock *out, HcError *err) {
    HC_OR_RETURN(check_rule(rule, work, err));
    HC_OR_RETURN(check(queue, in, pilot, rule, out, err));
    return hc_ops_of(queue)->groups(queue, in, pilot, rule, work, out, err);
}
