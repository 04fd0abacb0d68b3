/* Spectral libraries in a chain: their spectra on the bands that a stage sees, and as samples. */
#ifndef HC_PIPELINE_SPECTRA_LIBRARY_FIT_H
#define HC_PIPELINE_SPECTRA_LIBRARY_FIT_H

#include "io/library/library.h"
#include "pipeline/spectra/spectra.h"
#include "pipeline/stage.h"

/* What was made of a library: for notes and records. Plain data. */
typedef struct HcLibraryFigures {
    int32_t spectra, bands;   /* of the library: its entries, whatever they are */
    int32_t chosen;           /* of the entries, those that were not left out by name or by choice */
    int32_t by_name;          /* entries left out by name */
    int32_t outliers;         /* values of the chosen entries that count as missing */
    int32_t used;             /* spectra that have a value in every band that comes in */
    bool resampled;           /* else its own values in the bands that are the same */
    int32_t interpolated;     /* bands where the library is as coarse as the scene, when resampled */
    double shortest, longest; /* [nm] wavelengths at which it has any value; NaN = not known */
} HcLibraryFigures;

/* Owns its arrays. Zero-initialise, then hc_library_fit_clear() is always safe. */
typedef struct HcLibraryFit {
    bool partial;  /* set before the fit: spectra that lack values stay, with NaN in these bands */
    int32_t count; /* spectra, > 0 */
    int32_t bands; /* those of the stage */
    float *value;  /* [count][bands] finite (unless partial), in the unit of the library */
    int32_t *from; /* [count] which spectrum of the library each is, from 0, ascending */
    char **name;   /* [count], none NULL */
    HcLibraryFigures figures;
    char *note; /* one line: what was resampled and left out; NULL = nothing was */
} HcLibraryFit;

/* Brings a library to the bands that come into a stage. Its values are taken as they are where it has the
 * bands of the stage, or those of the file that the chain reads. It has them where the number of bands is
 * the same and, where both know wavelengths, none is more than half the distance to the next band away.
 * Otherwise it is resampled (pipeline/spectra/resample.h). Both must then know wavelengths; missing widths
 * are replaced by the usual distance of the bands. Spectra that lack a value in some band are left out,
 * unless fit->partial is set; `fit` is zero else. A stage without a source (chain->source NULL) reads no
 * file. Only entries that are still there take part (hc_library_choose). `path` is for messages.
 *
 * HC_E_USAGE: no spectra come in. HC_E_INPUT: other bands without wavelengths; bands in which no spectrum has
 * a value; no spectrum that has one in every band. HC_E_MEMORY. */
HcStatus hc_library_fit(const HcLibrary *library, const char *path, const HcStage *stage, HcLibraryFit *fit,
                        HcError *err) HC_MUST_CHECK;
void hc_library_fit_clear(HcLibraryFit *fit);

/* Below this two backends need not agree on what is left of a mixture: a hundred-thousandth of the largest
 * value of the spectra, where rounding decides (docs/numerics.md) [the unit of the library]. */
double hc_library_fit_rounding(const HcLibraryFit *fit);

/* Adds the figures to a record, as an object `library`. */
void hc_library_figures_json(const HcLibraryFigures *figures, HcJson *to);

/* The spectra as samples; `from` are their numbers in the library. Spectra of one name are one class; classes
 * are numbered from 1 as they come. Both must be cleared by the caller, also after a failure. */
HcStatus hc_library_samples(const HcLibraryFit *fit, HcSamples *samples, HcClasses *classes,
                            HcError *err) HC_MUST_CHECK;

#endif
