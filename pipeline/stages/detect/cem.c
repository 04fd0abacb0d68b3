/* cem: constrained energy minimisation, x' R^-1 t / (t' R^-1 t) with R the mean of x x': the filter of least
 * output that gives 1 for the target. */
#include "core/allocate.h"
#include "pipeline/stages/detect/detect.h"

#include <stdlib.h>

static HcStatus make(const HcDetectInput *in, HcScoring *out, HcError *err) {
    size_t n = (size_t)in->bands;
    double count = (double)in->pixels;
    double *matrix = NULL;
    HC_OR_RETURN(hc_new(matrix, n * n, "products of the background", err));
    for (size_t b = 0; b < n; b++) {
        for (size_t c = 0; c < n; c++) {
            matrix[b * n + c] = in->covariance[b * n + c] * ((count - 1) / count) + in->mean[b] * in->mean[c];
        }
    }
    HcStatus status = hc_detect_filter(in, matrix, NULL, out, err);
    free(matrix);
    return status;
}

const HcDetectMethod hc_detect_cem = {.name = "cem",
                                      .what = "constrained energy minimisation",
                                      .suffix = hc_detect_plain,
                                      .background = true,
                                      .unit = true,
                                      .products = true,
                                      .make = make};
