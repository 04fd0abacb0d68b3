/* What stages say of the abundances of the whole scene: in notes and in the record. */
#ifndef HC_PIPELINE_SPECTRA_ABUNDANCE_TALLY_H
#define HC_PIPELINE_SPECTRA_ABUNDANCE_TALLY_H

#include "pipeline/spectra/library/fit.h"

/* The counts of either operation on the device, for process(): zeroed where the block `out` begins a pass, so
 * that the scene is counted once. */
HcStatus hc_abundance_counts_begin(const HcStage *stage, HcQueue *queue, const HcBuffer *counts,
                                   const HcBlock *out, HcError *err) HC_MUST_CHECK;

/* All ranks: the counts of the whole scene, in fresh memory. They are summed over the ranks, except the
 * one at `worst`, of which the largest is taken. */
HcStatus hc_abundance_counts_gather(const HcStage *stage, const HcBuffer *counts, int32_t worst,
                                    int64_t **gathered, HcError *err) HC_MUST_CHECK;

/* Known once the scene has passed. Zero-initialise, then hc_abundance_tally_clear() is always safe. */
typedef struct HcAbundanceTally {
    int64_t pixels;     /* whose abundances were looked for */
    int64_t unfinished; /* of them, without the optimum that was asked for */
    double worst;       /* the largest gap of unmix, the largest error of lad */
    int64_t pivots;     /* of lad, in all pixels */
    int64_t *present;   /* [spectra] pixels where the abundance is above 0 */
    double *mean;       /* [spectra] abundance, over all these pixels */
} HcAbundanceTally;

/* From the counts of the operation unmix, of a rule with `spectra` spectra; of the first `named` of them. */
HcStatus hc_abundance_tally_unmix(HcAbundanceTally *tally, const int64_t *counts, int32_t spectra,
                                  int32_t named, HcError *err) HC_MUST_CHECK;

/* From the counts of the operation lad. */
HcStatus hc_abundance_tally_simplex(HcAbundanceTally *tally, const int64_t *counts, int32_t endmembers,
                                    HcError *err) HC_MUST_CHECK;
void hc_abundance_tally_clear(HcAbundanceTally *tally);

/* The mean over the pixels of the sum of the abundances. */
double hc_abundance_tally_total(const HcAbundanceTally *tally, int32_t spectra);

/* Notes what abundances sum to (`sums`: "sums are free"), and what is most abundant: spectra with the number
 * of their band, and with that of their entry where it is another one; with `top` with that alone. */
void hc_abundance_tally_note(HcStage *stage, const HcAbundanceTally *tally, const HcLibraryFit *library,
                             const char *sums, bool top);

/* Adds `pixels`, `unfinished_pixels`, `worst` by that name, and a list of the spectra to a record. */
void hc_abundance_tally_json(const HcAbundanceTally *tally, const char *worst, const HcLibraryFit *library,
                             HcJson *to);

#endif
