#include "core/operation/svd/svd.h"
#include "core/operation/check.h"

static HcStatus check_shape(HcElement element, int32_t rows, int32_t columns, int64_t at_once, HcError *err) {
    if ((int)element < 0 || element >= HC_ELEMENT_COUNT) {
        return hc_fail(err, HC_E_USAGE, "svd: no element has the number %d", (int)element);
    }
    if (rows < 1 || rows > HC_SVD_MAX || columns < 1 || columns > HC_SVD_MAX || at_once < 1) {
        return hc_fail(err, HC_E_USAGE, "svd: %d x %d matrices, %lld at once: 1 to %d rows and columns", rows,
                       columns, (long long)at_once, HC_SVD_MAX);
    }
    return HC_OK;
}

HcStatus hc_svd_open(HcCompute *compute, HcElement element, int32_t rows, int32_t columns, int64_t at_once,
                     bool vectors, HcSvd **out, HcError *err) {
    HC_OR_RETURN(hc_check_open(compute, out, "svd", err));
    *out = NULL;
    HC_OR_RETURN(check_shape(element, rows, columns, at_once, err));
    HC_OR_RETURN(compute->ops->svd_open(compute, element, rows, columns, at_once, vectors, out, err));
    *(HcSvdHead *)*out = (HcSvdHead){{compute}, element, rows, columns, vectors};
    return HC_OK;
}

void hc_svd_close(HcSvd *svd) {
    if (svd != NULL) {
        hc_ops_of(svd)->svd_close(svd);
    }
}

static HcStatus check_batch(const HcQueue *queue, const HcSvd *svd, const HcSvdBatch *batch, HcError *err) {
    HC_OR_RETURN(hc_check_queue(queue, "svd", err));
    if (svd == NULL || batch == NULL || batch->matrices == NULL || batch->values == NULL) {
        return hc_fail(err, HC_E_USAGE, "svd: the matrices or the place for their values is missing");
    }
    if (batch->count < 1) {
        return hc_fail(err, HC_E_USAGE, "svd: %lld matrices", (long long)batch->count);
    }
    if (!((const HcSvdHead *)svd)->vectors && (batch->left != NULL || batch->right != NULL)) {
        return hc_fail(err, HC_E_USAGE, "svd: vectors are wanted, but it was opened without them");
    }
    return HC_OK;
}

HcStatus hc_svd_batched(HcQueue *queue, HcSvd *svd, const HcSvdBatch *batch, HcError *err) {
    HC_OR_RETURN(check_batch(queue, svd, batch, err));
    return hc_ops_of(queue)->svd_batched(queue, svd, batch, err);
}
