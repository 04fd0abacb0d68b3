/* Shrinkage: a covariance is mixed with a multiple of the unit matrix of the same trace, so that few pixels
 * do for many bands. The option --shrink of detect and rx. */
#ifndef HC_PIPELINE_STATISTICS_SHRINKAGE_H
#define HC_PIPELINE_STATISTICS_SHRINKAGE_H

#include "pipeline/statistics/statistics.h"

#define HC_SHRINKAGE_WORDS "none|ledoit-wolf|rao-blackwell|oas|SHARE"

/* As HcOption.check: refuses what is no word and no number from 0 to 1. */
HcStatus hc_shrinkage_check(const char *who, const char *text, HcError *err) HC_MUST_CHECK;

/* The same for these words, ended by NULL. */
HcStatus hc_shrinkage_check_words(const char *who, const char *text, const char *const *words,
                                  HcError *err) HC_MUST_CHECK;

/* Whether such a text needs the fourth powers of the pixels. */
bool hc_shrinkage_needs_powers(const char *how);

/* The share of the unit matrix, 0 to 1, that such a text means for this covariance. powers: the mean of
 * |x - mean|^4 over the pixels, where hc_shrinkage_needs_powers(). Ledoit and Wolf (2004), as scikit-learn;
 * Chen, Wiesel, Eldar, Hero (2010) for the two others, which need no more than the covariance. */
double hc_shrinkage_share(const HcStatistics *background, const char *how, double powers);

/* The covariance becomes (1 - share) covariance + share trace / bands. */
void hc_shrinkage_apply(HcStatistics *background, double share);
void hc_shrinkage_mix(double *covariance, size_t bands, double share);

#endif
