/* Spectral libraries in a chain: whether one fits the bands that a stage sees, and its spectra as samples. */
#ifndef HC_PIPELINE_LIBRARY_FIT_H
#define HC_PIPELINE_LIBRARY_FIT_H

#include "io/library.h"
#include "pipeline/spectra.h"
#include "pipeline/stage.h"

/* Which band of the library belongs to each band that comes in: *pick is fresh memory, [stage->in.bands]. The
 * library has the bands of the stage, or those of the file that the chain reads. Nothing is resampled:
 * HC_E_INPUT where counts differ, or wavelengths by more than half the distance to the next band. HC_E_USAGE
 * where no spectra come in. `path` is for messages. */
HcStatus hc_library_fit(const HcLibrary *library, const char *path, const HcStage *stage, int32_t **pick,
                        HcError *err) HC_MUST_CHECK;

/* The picked bands of the spectra that have a value in each of them; `from` are their numbers in the library.
 * Spectra of one name are one class; classes are numbered from 1 as they come. Both must be cleared by the
 * caller, also after a failure. */
HcStatus hc_library_samples(const HcLibrary *library, const int32_t *pick, int32_t bands, HcSamples *samples,
                            HcClasses *classes, HcError *err) HC_MUST_CHECK;

/* The median of |value| over all samples; NaN when there is none, or memory ran out. */
double hc_samples_median(const HcSamples *samples);

#endif
