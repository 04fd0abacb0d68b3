#include "core/operation/l1/l1.h"
#include "core/operation/check.h"

#include <math.h>

HcStatus hc_l1_open(HcCompute *compute, const HcMatrix *matrix, HcL1 **out, HcError *err) {
    HC_OR_RETURN(hc_check_open(compute, out, "l1", err));
    *out = NULL;
    HC_OR_RETURN(hc_check_matrix(matrix, "l1", err));
    HC_OR_RETURN(compute->ops->l1_open(compute, matrix, out, err));
    *(HcL1Head *)*out = (HcL1Head){{compute}, *matrix};
    return HC_OK;
}

void hc_l1_close(HcL1 *l1) {
    if (l1 != NULL) {
        hc_ops_of(l1)->l1_close(l1);
    }
}

/* What fista and alm have in common. */
static HcStatus check(const HcQueue *queue, const HcL1 *l1, const HcL1Rule *rule, const float *b,
                      const float *x, const HcL1Report *report, const char *what, HcError *err) {
    HC_OR_RETURN(hc_check_queue(queue, what, err));
    if (l1 == NULL || rule == NULL || b == NULL || x == NULL || report == NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: the matrix, the rule, the right side or a result is missing",
                       what);
    }
    if (rule->iterations < 1 || !(rule->tolerance >= 0 && rule->tolerance < (double)INFINITY)) {
        return hc_fail(err, HC_E_USAGE, "%s: %d iterations, tolerance %g", what, rule->iterations,
                       rule->tolerance);
    }
    return HC_OK;
}

static HcStatus check_fista(const HcQueue *queue, const HcL1 *l1, const HcL1Rule *rule, const float *b,
                            const float *x, const HcL1Report *report, HcError *err) {
    HcStatus status = check(queue, l1, rule, b, x, report, "fista", err);
    if (status == HC_OK && !(rule->lambda > 0 && rule->lambda < (double)INFINITY)) {
        status = hc_fail(err, HC_E_USAGE, "fista: lambda is %g, it must be above 0", rule->lambda);
    }
    return status;
}

HcStatus hc_fista(HcQueue *queue, HcL1 *l1, const HcL1Rule *rule, const float *b, float *x,
                  HcL1Report *report, HcError *err) {
    HC_OR_RETURN(check_fista(queue, l1, rule, b, x, report, err));
    return hc_ops_of(queue)->fista(queue, l1, rule, b, x, report, err);
}

static HcStatus check_alm(const HcQueue *queue, const HcL1 *l1, const HcL1Rule *rule, const float *b,
                          const float *x, const HcL1Report *report, HcError *err) {
    HcStatus status = check(queue, l1, rule, b, x, report, "alm", err);
    if (status == HC_OK && rule->outer < 1) {
        status = hc_fail(err, HC_E_USAGE, "alm: %d outer steps", rule->outer);
    }
    return status;
}

HcStatus hc_alm(HcQueue *queue, HcL1 *l1, const HcL1Rule *rule, const float *b, float *x, HcL1Report *report,
                HcError *err) {
    HC_OR_RETURN(check_alm(queue, l1, rule, b, x, report, err));
    return hc_ops_of(queue)->alm(queue, l1, rule, b, x, report, err);
}
