/* Bands by wavelength: ranges in options, and runs of bands between gaps of the spectrum. */
#ifndef HC_PIPELINE_SPECTRA_RUNS_H
#define HC_PIPELINE_SPECTRA_RUNS_H

#include "pipeline/stage.h"

/* Takes one item "a" or "a-b" from a list with commas: *text moves to the next one. Of "a" both ends are a.
 * False: it is no such item. */
bool hc_range_next(const char **text, double *low, double *high) HC_MUST_CHECK;

/* The same of a range of wavelengths, "400-700", "0.4-0.7um" or "550nm", in nanometres. No sensor sees below
 * 100 nm: smaller numbers without a unit are um, and *guessed becomes true. */
bool hc_wavelengths_next(const char **text, double *low, double *high, bool *guessed) HC_MUST_CHECK;

/* In plan. HC_E_USAGE: the scene that comes in has no wavelengths. `asks` is what needs them, as in
 * "--wavelength 400-700", or NULL. */
HcStatus hc_need_wavelengths(const HcStage *stage, const char *asks, HcError *err) HC_MUST_CHECK;

/* A step between neighbours is a gap where it is wider than this, times the usual spacing of bands there. */
#define HC_GAP_SPACINGS 3.0

/* Owns its arrays. Zero-initialise, then hc_band_runs_clear() is always safe. */
typedef struct HcBandRuns {
    int32_t count;  /* bands that are not bad, > 0 */
    int32_t *band;  /* [count] of the scene, from 0; their wavelengths ascend */
    double *centre; /* [count] wavelengths [nm] */
    int32_t runs;   /* > 0 */
    int32_t *first; /* [runs + 1] places in `band`; the last is `count` */
} HcBandRuns;

/* In plan: the good bands that come in, by wavelength. A run ends where the next band is more than `gap` [nm]
 * away. With gap 0 it ends where the step is wider than HC_GAP_SPACINGS times the usual spacing on either
 * side (hc_band_spacing). `runs` must be zero or cleared; on failure it stays so.
 *
 * HC_E_USAGE: the scene has no wavelengths, two good bands at one wavelength, or no good band. */
HcStatus hc_band_runs_make(HcBandRuns *runs, const HcStage *stage, double gap, HcError *err) HC_MUST_CHECK;

void hc_band_runs_clear(HcBandRuns *runs);

#endif
