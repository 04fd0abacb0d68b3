/* mtmf: matched filter with infeasibility, on the components of mnf. Their noise has variance 1, and their
 * eigenvalues are the variances of the background, so that no statistics are needed. Between background and
 * target the standard deviation falls from that of the background to 1 (Boardman 1998). */
#include "core/allocate.h"
#include "pipeline/stages/detect/detect.h"

#include <math.h>
#include <string.h>

static HcStatus make(const HcDetectInput *in, HcScoring *out, HcError *err) {
    size_t n = (size_t)in->bands;
    size_t count = (size_t)in->targets * n;
    HC_OR_RETURN(hc_new(out->rows, count + n, "a detector", err));
    memcpy(out->rows, in->spectrum, count * sizeof *out->rows);
    for (size_t b = 0; b < n; b++) {
        if (!(in->variance[b] > 0)) {
            return hc_fail(err, HC_E_NUMERIC, "detect: component %zu of mnf has the eigenvalue %g", b + 1,
                           in->variance[b]);
        }
        out->rows[count + b] = sqrt(in->variance[b]);
    }
    out->directions = in->bands;
    out->reduction = HC_REDUCE_MIXTURE;
    return HC_OK;
}

static const char *const suffixes[] = {" MF", " infeasibility", NULL};

const HcDetectMethod hc_detect_mtmf = {.name = "mtmf",
                                       .what = "matched filter, and infeasibility [standard deviations]",
                                       .suffix = suffixes,
                                       .unit = true,
                                       .white = true,
                                       .make = make};
