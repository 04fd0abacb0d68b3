/* False-alarm rates: the share of background pixels that have a score or a higher one, where the background
 * is Gaussian and the detector has its mean and covariance from n of its pixels.
 *
 * n pixels know a covariance in K directions with an error, so rates depend on n, and on whether the pixel is
 * one of the n. Of those, scores are cosines and squares in a sphere of n - 1 dimensions. Of others, they are
 * what follows from a Wishart matrix: F for distances, Student's t for filters, whose scale is mixed by a
 * beta (Kelly 1986; Robey, Fuhrmann, Kelly, Nitzberg 1992, in their real form). */
#ifndef HC_PIPELINE_STATISTICS_FALSE_ALARM_H
#define HC_PIPELINE_STATISTICS_FALSE_ALARM_H

#include <stdbool.h>
#include <stdint.h>

typedef enum HcNull {
    HC_NULL_UNKNOWN = 0, /* scores have no known distribution */
    HC_NULL_NORMAL,      /* of mean 0 and the standard deviation that is given: matched filter */
    HC_NULL_ROOT_NORMAL, /* z|z| of a standard normal z: adaptive matched filter */
    HC_NULL_COHERENCE,   /* c|c| of a cosine c; c^2 is Beta(1/2, (K - 1)/2) in K directions: ACE */
    HC_NULL_CHI_SQUARE,  /* of K degrees of freedom: squared Mahalanobis distance */
} HcNull;

/* The distribution of the scores of one background: what HcNull says for n without limit. */
typedef struct HcNullLaw {
    HcNull null;
    int32_t directions;    /* K < n */
    int64_t pixels;        /* n; 0 = mean and covariance have no error */
    bool apart;            /* the n are no pixels of the scene */
    const uint8_t *inside; /* [pixels of the scene] 1 = one of the n; NULL = all, or none. Borrowed */
    double deviation;      /* of HC_NULL_NORMAL, as the detector has it */
    double nearness;       /* 1 / the distance of a target from the mean; 0 = far, or not from the mean */
} HcNullLaw;

/* "normal" and so on, for records; NULL for HC_NULL_UNKNOWN. */
const char *hc_null_name(HcNull null);

/* The rate of the score of a pixel of the scene, 0 to 1; relative error below 1e-11 where it is 1e-300 or
 * more. NaN for a score that is NaN, and for HC_NULL_UNKNOWN. */
double hc_false_alarm(const HcNullLaw *law, int64_t pixel, double score);

#endif
