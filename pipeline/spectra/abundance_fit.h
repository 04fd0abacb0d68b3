/* How well abundances explain a scene: what the mixtures miss of some pixels, taken evenly from all of it. */
#ifndef HC_PIPELINE_SPECTRA_ABUNDANCE_FIT_H
#define HC_PIPELINE_SPECTRA_ABUNDANCE_FIT_H

#include "pipeline/spectra/library/scaled.h"

/* Zero-initialise; hc_abundance_fit_clear() is always safe. */
typedef struct HcAbundanceFit {
    HcSpectra in, out; /* the same pixels as they come in, and their abundances */
    double missed;     /* the median over pixels of sum |y - mixture| / sum |y|; NaN = not known */
    double size;       /* the median over pixels of sum |y| / sum |mixture|; NaN = not known */
    double values, left,
        left_scaled; /* sums of |y|, |y - mixture|, and |y - f mixture| with the best f of a pixel */
} HcAbundanceFit;

/* Bytes of host memory that it takes, for HC_SPACE_HOST; once stage->in and stage->out are planned. */
size_t hc_abundance_fit_bytes(const HcStage *stage);

HcStatus hc_abundance_fit_open(HcAbundanceFit *fit, const HcStage *stage, HcError *err) HC_MUST_CHECK;

/* In process(), when the abundances of `in` are in `out`, which has no halo or the same one. */
HcStatus hc_abundance_fit_add(const HcAbundanceFit *fit, HcQueue *queue, const HcBlock *in,
                              const HcBlock *out, HcError *err) HC_MUST_CHECK;

/* In gather(): works out `missed` and `size`. The first bands of `out` are the abundances of the spectra;
 * with top > 0 they are the numbers of that many spectra, from 0, and then their abundances. The pixels
 * are released. */
HcStatus hc_abundance_fit_gather(HcAbundanceFit *fit, const HcStage *stage, const HcScaledLibrary *library,
                                 int32_t top, HcError *err) HC_MUST_CHECK;

/* Notes what sums of one cost: residuals that are more than 5 % larger than with one factor for each mixture,
 * which free sums would better. Or that they leave much of half of the pixels unexplained (`sums`: they are
 * one, or at most one), or that the sums of free abundances, `total` in the mean, tell of another unit.
 * `cure` are the options of the stage against a sum. */
void hc_abundance_fit_note(HcStage *stage, const HcAbundanceFit *fit, bool sums, double total,
                           const char *cure);

void hc_abundance_fit_clear(HcAbundanceFit *fit, HcCompute *compute);

#endif
