#include "core/operation/image/column_scores.h"
#include "core/operation/check.h"

static HcStatus check_how(const HcColumnScoring *how, const HcBlock *in, HcError *err) {
    if (how == NULL || how->filter == NULL || how->scored == NULL) {
        return hc_fail(err, HC_E_USAGE, "column_scores: the filters are missing");
    }
    if ((int)how->kind < HC_COLUMN_SHARE || how->kind > HC_COLUMN_COHERENCE) {
        return hc_fail(err, HC_E_USAGE, "column_scores: no score has the number %d", (int)how->kind);
    }
    if (how->width < 1) {
        return hc_fail(err, HC_E_USAGE, "column_scores: a group has %d columns", how->width);
    }
    if (how->kind != HC_COLUMN_SHARE && how->deviation == NULL) {
        return hc_fail(err, HC_E_USAGE, "column_scores: the deviations are missing");
    }
    if (how->kind != HC_COLUMN_COHERENCE) {
        return HC_OK;
    }
    bool whole = how->stride >= hc_whitening_values(in->bands) && how->stride % HC_WHITENING_ROWS == 0;
    return how->whitening != NULL && whole
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "column_scores: %zu numbers whiten pixels of %d bands, not %zu",
                         hc_whitening_values(in->bands), in->bands, how->whitening != NULL ? how->stride : 0);
}

static HcStatus check(const HcQueue *queue, const HcBlock *in, const HcColumnScoring *how, const HcBlock *out,
                      HcError *err) {
    HC_OR_RETURN(hc_check_pair(queue, in, out, 0, "column_scores", err));
    return check_how(how, in, err);
}

HcStatus hc_column_scores(HcQueue *queue, const HcBlock *in, const HcColumnScoring *how, const HcBlock *out,
                          HcError *err) {
    HC_OR_RETURN(check(queue, in, how, out, err));
    return hc_ops_of(queue)->column_scores(queue, in, how, out, err);
}
