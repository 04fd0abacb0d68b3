#include "core/operation/gram/gram.h"
#include "core/operation/check.h"

static HcStatus check_grid(const HcGrid *grid, int32_t bands, HcError *err) {
    if (grid->center == NULL || grid->exponent == NULL) {
        return hc_fail(err, HC_E_USAGE, "sums: a grid without centers or units");
    }
    int32_t wrong = hc_grid_wrong_band(grid, bands);
    if (wrong >= 0) {
        return hc_fail(err, HC_E_USAGE, "sums: band %d of the grid has a center of %g and a unit of 2^%d",
                       wrong, grid->center[wrong], grid->exponent[wrong]);
    }
    return HC_OK;
}

static HcStatus check_sums(int32_t bands, int64_t integer_limit, const HcGrid *grid, HcError *err) {
    const int64_t most = HC_SUMS_LIMIT;
    const int32_t most_bands = 1 << 20;
    if (bands < 1 || bands > most_bands || integer_limit < 0 || integer_limit > most) {
        return hc_fail(err, HC_E_USAGE, "sums: %d bands of integers up to %lld (at most %lld)", bands,
                       (long long)integer_limit, (long long)most);
    }
    if ((integer_limit > 0) == (grid != NULL)) {
        return hc_fail(err, HC_E_USAGE, "sums: of integers up to %lld with%s a grid",
                       (long long)integer_limit, grid != NULL ? "" : "out");
    }
    return grid != NULL ? check_grid(grid, bands, err) : HC_OK;
}

HcStatus hc_sums_open(HcCompute *compute, int32_t bands, int64_t integer_limit, const HcGrid *grid,
                      HcSums **out, HcError *err) {
    HC_OR_RETURN(hc_check_open(compute, out, "sums", err));
    *out = NULL;
    HC_OR_RETURN(check_sums(bands, integer_limit, grid, err));
    HC_OR_RETURN(compute->ops->sums_open(compute, bands, integer_limit, grid, out, err));
    *(HcSumsHead *)*out = (HcSumsHead){{compute}, bands};
    return HC_OK;
}

void hc_sums_close(HcSums *sums) {
    if (sums != NULL) {
        hc_ops_of(sums)->sums_close(sums);
    }
}

HcStatus hc_gram(HcQueue *queue, const HcBlock *in, HcDifference kind, const HcWindow *window, HcSums *sums,
                 HcError *err) {
    HC_OR_RETURN(hc_check_gram(queue, in, kind, sums, "gram", err));
    return hc_ops_of(queue)->gram(queue, in, kind, window, sums, err);
}

HcStatus hc_sums_fetch(HcQueue *queue, HcSums *sums, HcMoments *out, HcError *err) {
    if (queue == NULL || sums == NULL || out == NULL) {
        return hc_fail(err, HC_E_USAGE, "sums: the queue, the sums or the place for them is missing");
    }
    return hc_ops_of(queue)->sums_fetch(queue, sums, out, err);
}
