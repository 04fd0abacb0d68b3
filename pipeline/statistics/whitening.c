#include "pipeline/statistics/whitening.h"
#include "core/allocate.h"
#include "pipeline/statistics/transform.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void hc_whitening_clear(HcWhitening *whitening) {
    free(whitening->matrix);
    *whitening = (HcWhitening){0};
}

/* Eigenvalues that rounding may have made of 0 are none: about bands * epsilon of the largest. */
static int32_t count_directions(const HcTransform *transform) {
    double least = 16 * (double)transform->bands * DBL_EPSILON * transform->eigenvalues[0];
    return hc_transform_count(transform, least);
}

HcStatus hc_whitening_make(HcWhitening *whitening, HcCompute *compute, int32_t bands, const double *matrix,
                           HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)bands;
    HcTransform transform = {.scene = {.bands = bands}};
    double *mean = NULL;
    *whitening = (HcWhitening){.bands = bands};
    HC_TRY(hc_new(mean, n, "a whitening", err));
    HC_TRY(hc_transform_fit_pca(&transform, compute, mean, matrix, true, err));
    whitening->directions = count_directions(&transform);
    size_t m = (size_t)whitening->directions;
    HC_TRY(hc_new(whitening->matrix, n * m, "a whitening", err));
    for (size_t b = 0; b < n; b++) {
        for (size_t k = 0; k < m; k++) {
            whitening->matrix[b * m + k] = transform.forward[b * n + k] / sqrt(transform.eigenvalues[k]);
        }
    }
done:
    free(mean);
    transform.scene = (HcScene){0};
    hc_transform_clear(&transform);
    return status;
}

void hc_whitening_apply(const HcWhitening *whitening, const double *x, double *y) {
    size_t m = (size_t)whitening->directions;
    memset(y, 0, m * sizeof *y);
    for (int32_t b = 0; b < whitening->bands; b++) {
        for (size_t k = 0; k < m; k++) {
            y[k] += x[b] * whitening->matrix[(size_t)b * m + k];
        }
    }
}
