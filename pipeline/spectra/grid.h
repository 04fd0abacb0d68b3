/* Bands that a user names: a range with a step, or a file. */
#ifndef HC_PIPELINE_SPECTRA_GRID_H
#define HC_PIPELINE_SPECTRA_GRID_H

#include "pipeline/spectra/resample.h"

/* The bands of --wavelengths `text`: "A-B:STEP" [nm, or um as in hc_wavelengths_next], each as wide as STEP;
 * or a file with a line a band, its wavelength and perhaps its width. Wavelengths of a file ascend; all below
 * 100 are micrometres; # begins a comment, and the first line may be a header. A width that is not given is
 * the usual spacing (hc_band_spacing). `who` begins the line of an error.
 *
 * HC_E_USAGE, HC_E_INPUT: no such range, a line that is no band, no band, a lone band without a width. Both
 * arrays of *grid are one fresh block that begins at grid->centre: free it. */
HcStatus hc_band_grid(const char *who, const char *text, HcBandSet *grid, HcError *err) HC_MUST_CHECK;

#endif
