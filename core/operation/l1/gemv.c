#include "core/operation/l1/gemv.h"
#include "core/operation/check.h"

static HcStatus check(const HcQueue *queue, const HcMatrix *matrix, const float *x, const float *y,
                      const char *what, HcError *err) {
    HC_OR_RETURN(hc_check_queue(queue, what, err));
    HC_OR_RETURN(hc_check_matrix(matrix, what, err));
    if (x == NULL || y == NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: the vector or the place for the product is missing", what);
    }
    return HC_OK;
}

HcStatus hc_gemv(HcQueue *queue, const HcMatrix *matrix, const float *x, float *y, HcError *err) {
    HC_OR_RETURN(check(queue, matrix, x, y, "gemv", err));
    return hc_ops_of(queue)->gemv(queue, matrix, x, y, err);
}

HcStatus hc_gemv_t(HcQueue *queue, const HcMatrix *matrix, const float *x, float *y, HcError *err) {
    HC_OR_RETURN(check(queue, matrix, x, y, "gemv_t", err));
    return hc_ops_of(queue)->gemv_t(queue, matrix, x, y, err);
}
