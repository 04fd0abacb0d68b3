#include "core/operation/eigh/eigh.h"
#include "core/operation/check.h"

#include <math.h>

static HcStatus check(const HcCompute *compute, int32_t n, int32_t count, const double *matrix,
                      const double *values, const double *vectors, HcError *err) {
    if (compute == NULL) {
        return hc_fail(err, HC_E_USAGE, "eigh: the backend is missing");
    }
    if (count < 0 || count > n) {
        return hc_fail(err, HC_E_USAGE, "eigh: %d eigenvectors of a matrix of %d rows", count, n);
    }
    return n >= 1 && matrix != NULL && values != NULL && vectors != NULL
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "eigh: a matrix of %d rows%s", n,
                         n < 1 ? "" : " or its results without memory");
}

HcStatus hc_eigh(HcCompute *compute, int32_t n, int32_t count, const double *matrix, double *values,
                 double *vectors, HcError *err) {
    HC_OR_RETURN(check(compute, n, count, matrix, values, vectors, err));
    return compute->ops->eigh(compute, n, count, matrix, values, vectors, err);
}

void hc_sign_rule(double *vector, int32_t n) {
    enum { LANES = 8 }; /* largest magnitudes side by side, which need not wait for one another */
    double largest[LANES] = {0};
    int32_t b = 0;
    for (; b + LANES <= n; b += LANES) {
        for (int32_t k = 0; k < LANES; k++) {
            double size = fabs(vector[b + k]);
            largest[k] = size > largest[k] ? size : largest[k];
        }
    }
    for (; b < n; b++) {
        largest[0] = fmax(largest[0], fabs(vector[b]));
    }
    for (int32_t k = 1; k < LANES; k++) {
        largest[0] = fmax(largest[0], largest[k]);
    }
    int32_t first = 0;
    while (first < n && fabs(vector[first]) != largest[0]) {
        first++;
    }
    if (first < n && vector[first] < 0) {
        for (b = 0; b < n; b++) {
            vector[b] = -vector[b];
        }
    }
}
