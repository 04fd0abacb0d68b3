/* False-alarm rates: the share of background pixels that have a score or a higher one, where the background
 * is Gaussian with the mean and the covariance of the detector. */
#ifndef HC_PIPELINE_STATISTICS_FALSE_ALARM_H
#define HC_PIPELINE_STATISTICS_FALSE_ALARM_H

#include <stdint.h>

typedef enum HcNull {
    HC_NULL_UNKNOWN = 0, /* scores have no known distribution */
    HC_NULL_NORMAL,      /* of mean 0 and the standard deviation that is given: matched filter */
    HC_NULL_ROOT_NORMAL, /* z|z| of a standard normal z: adaptive matched filter */
    HC_NULL_COHERENCE,   /* c|c| of a cosine c; c^2 is Beta(1/2, (K - 1)/2) in K directions: ACE */
    HC_NULL_CHI_SQUARE,  /* of K degrees of freedom: squared Mahalanobis distance */
} HcNull;

/* "normal" and so on, for records; NULL for HC_NULL_UNKNOWN. */
const char *hc_null_name(HcNull null);

/* The rate of a score, 0 to 1, in K = `directions`; relative error below 1e-11 where it is 1e-300 or more.
 * NaN for a score that is NaN, and for HC_NULL_UNKNOWN. */
double hc_false_alarm(HcNull null, double score, int32_t directions, double deviation);

#endif
