#include "core/operation/image/local.h"
#include "core/operation/check.h"
#include "core/solver/local.h"
#include "core/sums/long.h"

#include <math.h>

size_t hc_local_host_bytes(const HcLocalRule *rule) {
    return 2 * (size_t)rule->samples * hc_local_numbers(rule) * sizeof(HcWide);
}

size_t hc_local_thread_bytes(const HcLocalRule *rule) {
    size_t n = (size_t)rule->directions;
    return hc_local_numbers(rule) * sizeof(HcWide) + n * (hc_local_stride(rule) + 1) * sizeof(double) +
           2 * n * sizeof(int64_t);
}

size_t hc_local_device_bytes(const HcLocalRule *rule) {
    const size_t aligned = 4 * (size_t)256;
    HcLocalPiece piece = hc_local_piece(rule);
    return (piece.integers + piece.sums + piece.products + piece.matrices) * sizeof(double) + aligned;
}

static HcStatus check_rule(const HcLocalRule *rule, HcError *err) {
    if (rule == NULL || rule->lines < 1 || rule->samples < 1 || rule->directions < 1) {
        return hc_fail(err, HC_E_USAGE, "local: of a scene of %lld lines, %d samples, %d directions",
                       rule != NULL ? (long long)rule->lines : 0, rule != NULL ? rule->samples : 0,
                       rule != NULL ? rule->directions : 0);
    }
    if (rule->window < 3 || rule->window > HC_LOCAL_WINDOW_MAX || rule->window % 2 == 0 || rule->guard < 1 ||
        rule->guard >= rule->window || rule->guard % 2 == 0) {
        return hc_fail(err, HC_E_USAGE, "local: a window of %d (odd, 3 to %d), a guard of %d (odd, smaller)",
                       rule->window, HC_LOCAL_WINDOW_MAX, rule->guard);
    }
    if (!(rule->share >= 0 && rule->share <= 1) ||
        !(rule->per_unit > 0 && rule->per_unit < (double)INFINITY)) {
        return hc_fail(err, HC_E_USAGE, "local: a share of %g (0 to 1), %g integers a unit", rule->share,
                       rule->per_unit);
    }
    return HC_OK;
}

HcStatus hc_local_open(HcCompute *compute, const HcLocalRule *rule, HcLocal **out, HcError *err) {
    HC_OR_RETURN(hc_check_open(compute, out, "local", err));
    *out = NULL;
    HC_OR_RETURN(check_rule(rule, err));
    HC_OR_RETURN(compute->ops->local_open(compute, rule, out, err));
    *(HcLocalHead *)*out = (HcLocalHead){{compute}, *rule};
    return HC_OK;
}

void hc_local_close(HcLocal *local) {
    if (local != NULL) {
        hc_ops_of(local)->local_close(local);
    }
}

static HcStatus check(const HcQueue *queue, const HcBlock *in, const HcLocal *local, const HcBlock *out,
                      HcError *err) {
    if (local == NULL) {
        return hc_fail(err, HC_E_USAGE, "local: the sums are missing");
    }
    const HcLocalRule *rule = &((const HcLocalHead *)local)->rule;
    HC_OR_RETURN(hc_check_pair(queue, in, out, hc_local_halo(rule), "local", err));
    int64_t first = hc_block_first_line(in);
    int64_t out_end = hc_block_first_line(out) + hc_block_rows(out);
    HC_OR_RETURN(hc_check_lines(first, hc_min64(out_end + hc_local_halo(rule), rule->lines), first,
                                first + hc_block_rows(in), "local", err));
    if (in->samples != rule->samples || in->bands != rule->directions || out->bands != 1 ||
        first + hc_block_rows(in) > rule->lines || out_end > rule->lines) {
        return hc_fail(err, HC_E_USAGE,
                       "local: %d samples and %d bands in, %d bands out, lines %lld to %lld of %lld",
                       in->samples, in->bands, out->bands, (long long)hc_block_first_line(out),
                       (long long)(out_end - 1), (long long)rule->lines);
    }
    return HC_OK;
}

HcStatus hc_local(HcQueue *queue, const HcBlock *in, HcLocal *local, const HcBlock *out, HcError *err) {
    HC_OR_RETURN(check(queue, in, local, out, err));
    return hc_ops_of(queue)->local(queue, in, local, out, err);
}
