/* A spectral library in a chain that is brought to the unit of the scene, too: by what headers and values
 * say. */
#ifndef HC_PIPELINE_SPECTRA_SCALED_LIBRARY_H
#define HC_PIPELINE_SPECTRA_SCALED_LIBRARY_H

#include "pipeline/spectra/library/choice.h"
#include "pipeline/spectra/library/unit.h"

/* In plan: reads a library, takes what was chosen of it and fits that to the bands that come in; says in
 * notes what was done. `fit` is empty after a failure. Errors are those of hc_library_read, hc_library_choose
 * and hc_library_fit. */
HcStatus hc_stage_library_read(HcStage *stage, const char *path, const HcLibraryChoice *choice,
                               HcLibraryFit *fit, HcValueUnit *unit, HcError *err) HC_MUST_CHECK;

/* Zero-initialise, then hc_scaled_library_clear() is always safe. */
typedef struct HcScaledLibrary {
    HcLibraryFit fit; /* once read, in its own unit */
    HcValueUnit unit; /* of the library */
    double factor;    /* brings it to the unit of the scene; NaN = not known yet */
    HcSpectra some;   /* pixels whose values tell the unit of the scene */
} HcScaledLibrary;

/* In plan: reads the library unless that is done already. `scale` is
 * the factor, "none", or "auto". With "auto" the factor stays unknown where headers do not give it.
 *
 * HC_E_USAGE: another `scale`. Otherwise as hc_stage_library_read. */
HcStatus hc_scaled_library_read(HcScaledLibrary *library, HcStage *stage, const char *path,
                                const HcLibraryChoice *choice, const char *scale, HcError *err) HC_MUST_CHECK;
void hc_scaled_library_clear(HcScaledLibrary *library, HcCompute *compute);

/* Whether the scene has to be seen first, by the functions below. */
bool hc_scaled_library_looks(const HcScaledLibrary *library);

/* Host memory that looking takes [bytes]; 0 where it is not needed. */
size_t hc_scaled_library_bytes(const HcScaledLibrary *library);

/* Device memory that abundances of the spectra and of `zeros` spectra of zeros take, whatever the block
 * [bytes]. */
size_t hc_scaled_library_device_bytes(const HcScaledLibrary *library, int32_t zeros);

/* Some thousand pixels, evenly taken from the whole scene: opened, gathered from each block, and what they
 * tell. Missing values (NaN) count for nothing. */
HcStatus hc_scaled_library_open(HcScaledLibrary *library, const HcStage *stage, HcError *err) HC_MUST_CHECK;
HcStatus hc_scaled_library_observe(const HcScaledLibrary *library, HcQueue *queue, const HcBlock *in,
                                   HcError *err) HC_MUST_CHECK;
HcStatus hc_scaled_library_settle(HcScaledLibrary *library, HcStage *stage, const char *path, HcQueue *queue,
                                  HcError *err) HC_MUST_CHECK;

/* The spectra times the factor, which is known, and then `zeros` spectra of zeros:
 * [fit.count + zeros][fit.bands], fresh memory, rounded once. */
HcStatus hc_scaled_library_spectra(const HcScaledLibrary *library, int32_t zeros, float **spectra,
                                   HcError *err) HC_MUST_CHECK;

#endif
