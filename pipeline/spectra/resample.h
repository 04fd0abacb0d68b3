/* Spectra of one set of bands as another set of bands would see them. */
#ifndef HC_PIPELINE_SPECTRA_RESAMPLE_H
#define HC_PIPELINE_SPECTRA_RESAMPLE_H

#include "core/status.h"

#include <stdint.h>

/* Bands, in any order; borrowed. */
typedef struct HcBandSet {
    int32_t count;
    const double *centre; /* [count, nm] */
    const double *width;  /* [count, nm] full width at half maximum; 0 = a point */
} HcBandSet;

/* The usual distance of each of these bands [nm] to the next one, where their widths are not known. It is
 * the (lower) median of the two steps before and the two steps behind, in the order given. Neither a gap nor
 * a change of detector then counts. 0 where there is only one band. spacing[count]. */
void hc_band_spacing(const double *centre, int32_t count, double *spacing);

/* out[spectra][to->count] from value[spectra][from->count], where NaN is missing.
 *
 * A spectrum is taken as a straight line between its values, and as constant beyond its ends. It is
 * convolved, exactly, with the Gaussian that widens `from` to `to`. The width of this Gaussian is sqrt(to^2 -
 * from^2), with the nearest band of `from`. Where `from` is as wide as `to`, it vanishes, and the value of
 * the straight line is taken. Sums are in float64 and rounded once.
 *
 * A band is NaN unless at least half of its own response (a Gaussian of its width) lies where the spectrum
 * has values. A value covers half the way to the bands beside it, but at most its width, or the spacing where
 * that is larger.
 *
 * *interpolated: the bands of `to` for which the Gaussian vanishes. HC_E_MEMORY. */
HcStatus hc_resample(const HcBandSet *from, const float *value, int32_t spectra, const HcBandSet *to,
                     float *out, int32_t *interpolated, HcError *err) HC_MUST_CHECK;

#endif
