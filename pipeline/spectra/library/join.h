/* Several spectral libraries as one, on their common bands or on others. */
#ifndef HC_PIPELINE_SPECTRA_LIBRARY_JOIN_H
#define HC_PIPELINE_SPECTRA_LIBRARY_JOIN_H

#include "io/library/library.h"
#include "pipeline/spectra/resample.h"

/* A library and its file. */
typedef struct HcLibraryPart {
    HcLibrary library;
    const char *path; /* borrowed */
} HcLibraryPart;

/* Joins parts[count], count > 0, entry after entry, with their facts. Without a grid (NULL) all must have the
 * same bands, to 0.001 nm. With one, each is resampled to it, and needs wavelengths. Values are divided by
 * the scales of reflectance of their libraries where these differ. *empty: spectra without a value in any
 * band. Names may repeat.
 *
 * HC_E_INPUT: other bands, no wavelengths. HC_E_MEMORY. `out` must be zero or cleared; on failure it stays
 * so. */
HcStatus hc_library_join(const HcLibraryPart *parts, int32_t count, const HcBandSet *grid, HcLibrary *out,
                         int32_t *empty, HcError *err) HC_MUST_CHECK;

#endif
