#include "core/operation/gram/column_filters.h"
#include "core/operation/check.h"

static HcStatus check(const HcQueue *queue, const HcColumnFilters *how, HcError *err) {
    HC_OR_RETURN(hc_check_queue(queue, "column_filters", err));
    if (how == NULL || how->sums == NULL || how->unit == NULL || how->spectrum == NULL) {
        return hc_fail(err, HC_E_USAGE, "column_filters: sums, units or targets are missing");
    }
    if (how->filter == NULL || how->deviation == NULL || how->pixels == NULL || how->shrinkage == NULL ||
        how->directions == NULL || how->scored == NULL) {
        return hc_fail(err, HC_E_USAGE, "column_filters: an output is missing");
    }
    if (how->groups < 1 || how->bands < 1 || how->targets < 1) {
        return hc_fail(err, HC_E_USAGE, "column_filters: %lld groups, %d bands, %d targets",
                       (long long)how->groups, how->bands, how->targets);
    }
    if ((int)how->shrink < HC_COLUMN_SHRINK_SHARE || how->shrink > HC_COLUMN_SHRINK_OAS ||
        !(how->share >= 0 && how->share <= 1)) {
        return hc_fail(err, HC_E_USAGE, "column_filters: shrinkage %d, share %g", (int)how->shrink,
                       how->share);
    }
    if (how->whitening == NULL) {
        return HC_OK;
    }
    bool whole = how->stride >= hc_whitening_values(how->bands) && how->stride % HC_WHITENING_ROWS == 0;
    bool apart = (const void *)how->whitening != (const void *)how->sums ||
                 how->stride == hc_column_values(how->bands);
    return whole && apart && !how->products
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "column_filters: triangles of %zu numbers for %d bands%s",
                         how->stride, how->bands, how->products ? ", with products" : "");
}

HcStatus hc_column_filters(HcQueue *queue, const HcColumnFilters *how, HcError *err) {
    HC_OR_RETURN(check(queue, how, err));
    return hc_ops_of(queue)->column_filters(queue, how, err);
}
