/* The covariance of what training spectra are apart from the means of their classes, of all classes together
 * or of one, and its shrinkage. Training spectra are on the host, so that Ledoit and Wolf's estimate is that
 * of their paper, fourth powers included. */
#ifndef HC_PIPELINE_STAGES_CLASSIFY_COVARIANCE_H
#define HC_PIPELINE_STAGES_CLASSIFY_COVARIANCE_H

#include "pipeline/spectra/spectra.h"

typedef struct HcWithin {
    int64_t count; /* of spectra */
    int32_t classes;
    int32_t only; /* the class whose spectra are taken, 0 = those of all */
    size_t bands;
    const double *mean; /* [labels][bands] */
    double *covariance; /* [bands][bands], divided by count - classes */
    double fourth;      /* the sum of the fourth powers of the lengths */
} HcWithin;

/* Fills covariance (zeros at first) and fourth. */
HcStatus hc_within_fit(HcWithin *within, const HcSamples *training, HcError *err) HC_MUST_CHECK;

/* The share of --shrink: none, ledoit-wolf or a number. */
double hc_within_share(const HcWithin *within, const char *how);

#endif
