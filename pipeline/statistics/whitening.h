/* Whitening: a matrix W with W'C W = 1 for a covariance C, so that distances become sums of squares. */
#ifndef HC_PIPELINE_STATISTICS_WHITENING_H
#define HC_PIPELINE_STATISTICS_WHITENING_H

#include "core/compute.h"

/* Zero-initialise; hc_whitening_clear() is always safe. W W' is the inverse of C, or its pseudo-inverse in
 * units of the standard deviations where directions are left out. */
typedef struct HcWhitening {
    int32_t bands;
    int32_t directions; /* in which something varies, at most `bands` */
    double *matrix;     /* [bands][directions] */
} HcWhitening;

void hc_whitening_clear(HcWhitening *whitening);

/* From the eigenvectors of the correlation matrix, so that the units of the bands do not matter. Directions
 * whose eigenvalue rounding may have made of 0 are left out: constant bands, and bands that are combinations
 * of others. matrix[bands][bands] is symmetric.
 *
 * HC_E_NUMERIC: all bands are constant. */
HcStatus hc_whitening_make(HcWhitening *whitening, HcCompute *compute, int32_t bands, const double *matrix,
                           HcError *err) HC_MUST_CHECK;

/* y[directions] = W' x, for x[bands]. */
void hc_whitening_apply(const HcWhitening *whitening, const double *x, double *y);

#endif
