/* What the stage unmix shares with its reports. */
#ifndef HC_PIPELINE_STAGES_UNMIX_H
#define HC_PIPELINE_STAGES_UNMIX_H

#include "pipeline/library_fit.h"

/* What is known of all abundances once the scene has passed. Zero-initialise, then hc_unmix_tally_clear() is
 * always safe. */
typedef struct HcUnmixTally {
    int64_t pixels;     /* that were unmixed */
    int64_t unfinished; /* of them, with a larger gap than asked for */
    double gap;         /* the largest one */
    int64_t *present;   /* [spectra] pixels where the abundance is above 0 */
    double *mean;       /* [spectra] abundance, over all pixels that were unmixed */
} HcUnmixTally;

/* From the counts of the operation, `spectra` of each kind. */
HcStatus hc_unmix_tally_make(HcUnmixTally *tally, const int64_t *counts, int32_t spectra,
                             HcError *err) HC_MUST_CHECK;
void hc_unmix_tally_clear(HcUnmixTally *tally);

/* Notes of what is most abundant, and of pixels that did not reach the `gap` asked for. Spectra have the
 * number of their band, from 1; with `top` that which the bands hold, from 0. */
void hc_unmix_tally_note(HcStage *stage, const HcUnmixTally *tally, const HcLibraryFit *library, double gap,
                         bool top);

/* Adds the tally to a record: pixels, gaps, and a list of the spectra. */
HcStatus hc_unmix_tally_json(const HcUnmixTally *tally, const HcLibraryFit *library, cJSON *to,
                             HcError *err) HC_MUST_CHECK;

#endif
