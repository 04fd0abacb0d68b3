/* Moments: counts, sums and sums of products over the pixels of a scene, and the covariance made of them. */
#ifndef HC_CORE_MOMENTS_H
#define HC_CORE_MOMENTS_H

#include "core/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A 128-bit integer: exact sums of products of scene values. */
__extension__ typedef __int128 HcWide;

/* How noise is taken from a scene: a linear or median difference of neighbouring pixels whose whole
 * neighbourhood is valid. Values of a difference are kept as integers on integer scenes;
 * `hc_difference_variance` says what white noise of variance 1 gives. (Green et al. 1988; 3x3 mean: Zhou,
 * Gao, Fang, section 3.) */
typedef enum HcDifference {
    HC_DIFFERENCE_NONE,           /* x itself */
    HC_DIFFERENCE_MEAN3X3,        /* 9 x - the sum of the 3x3 neighbourhood (x included) */
    HC_DIFFERENCE_MEDIAN3X3,      /* x - the median of the 3x3 neighbourhood (x included) */
    HC_DIFFERENCE_SHIFT,          /* x - its right neighbour */
    HC_DIFFERENCE_SHIFT_DIAGONAL, /* x - its lower right neighbour */
} HcDifference;

/* Variance of the difference of independent Gaussian noise of variance 1: 1, 72, 0.943879059136..., 2, 2. */
double hc_difference_variance(HcDifference difference);

/* Lines of context that a difference needs on each side: 0 or 1. */
int32_t hc_difference_halo(HcDifference difference);

/* Largest magnitude of a difference of integers of magnitude at most `limit`; 0 (not known) stays 0, and is
 * the answer beyond what float32 holds. */
int64_t hc_difference_limit(HcDifference difference, int64_t limit);

/* Sums of one scene, on the host. Two forms:
 * exact:  sum and product are wide integers, independent of every order of summation;
 * float:  mean and scatter (sum of (x-mean)(y-mean)) merged pairwise in a fixed order (Chan, Golub, LeVeque
 * 1983). Both triangles are filled. Zero-initialise; hc_moments_clear() is always safe. */
typedef struct HcMoments {
    int32_t bands;
    bool exact;
    int64_t count;   /* pixels */
    HcWide *sum;     /* [bands] */
    HcWide *product; /* [bands][bands] */
    double *mean;    /* [bands] */
    double *scatter; /* [bands][bands] */
} HcMoments;

HcStatus hc_moments_init(HcMoments *moments, int32_t bands, bool exact, HcError *err) HC_MUST_CHECK;
void hc_moments_clear(HcMoments *moments);

/* Adds `from` to `to` (same bands and form). In the exact form the order does not matter. */
void hc_moments_merge(HcMoments *to, const HcMoments *from);

/* mean[bands] (may be NULL) and covariance[bands][bands] divided by `variance` (see hc_difference_variance),
 * with count - 1 in the denominator. In the exact form n*Sxy - Sx*Sy is formed in wide integers; an integer
 * `variance` is part of the one rounded division. Fails with HC_E_NUMERIC when count < 2. `what` names the
 * pixels in it. */
HcStatus hc_moments_covariance(const HcMoments *moments, double variance, const char *what, double *mean,
                               double *covariance, HcError *err) HC_MUST_CHECK;

/* numerator / denominator (> 0), rounded once to the nearest double, ties to even. Magnitudes below 2^127. */
double hc_wide_ratio(HcWide numerator, HcWide denominator);

#ifdef __cplusplus
}
#endif
#endif
