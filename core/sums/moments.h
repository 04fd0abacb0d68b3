/* Moments: counts, sums and sums of products over the pixels of a scene, and the covariance made of them. */
#ifndef HC_CORE_MOMENTS_H
#define HC_CORE_MOMENTS_H

#include "core/sums/grid.h"
#include "core/sums/long.h"
#include "core/compute.h"
#include "core/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How noise is estimated from a scene: by a linear or median difference of neighbouring pixels whose whole
 * neighbourhood is valid. Differences of integer scenes are integers. hc_difference_variance() is the
 * variance that white noise of variance 1 gets. (Green et al. 1988; 3x3 mean: Zhou,
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
/* What of a variance is part of the one rounded division: all of a whole number. */
int32_t hc_whole_variance(double variance);

/* Lines of context that a difference needs on each side: 0 or 1. */
int32_t hc_difference_halo(HcDifference difference);

/* Largest magnitude of a difference of integers of magnitude at most `limit`. 0 (not known) gives 0, and so
 * does a result that float32 cannot hold. */
int64_t hc_difference_limit(HcDifference difference, int64_t limit);

/* Sums of one scene, on the host: integers that do not depend on the order of summation. Integer scenes sum
 * their values x, float scenes v = (x - center) / 2^exponent (core/sums/grid.h). product has both triangles,
 * far_product the upper one. Zero-initialise; hc_moments_clear() is always
 * safe. */
typedef struct HcMoments {
    int32_t bands;
    int64_t count;        /* pixels */
    HcWide *sum;          /* [bands] */
    HcWide *product;      /* [bands][bands] */
    double *center;       /* [bands], NULL = 0 */
    int32_t *exponent;    /* [bands], NULL = 0 */
    int64_t *far_sum;     /* [bands][HC_LONG_DIGITS], belongs to sum; NULL where no value was far */
    int64_t *far_product; /* [bands][bands][HC_LONG_DIGITS], belongs to product; likewise */
    int32_t far_added;    /* since carries were last made */
    double *quotient; /* [bands][bands] covariance of the sums in units of the grid, upper triangle, by the
                         device that made them; NULL = none */
    int32_t divided;  /* whole variance in the denominator of quotient */
} HcMoments;

HcStatus hc_moments_init(HcMoments *moments, int32_t bands, HcError *err) HC_MUST_CHECK;
void hc_moments_clear(HcMoments *moments);

/* Copies `from`; of its products only the upper triangle is read. */
HcStatus hc_moments_copy(HcMoments *to, const HcMoments *from, HcError *err) HC_MUST_CHECK;

/* Puts empty sums onto a grid (copied). */
HcStatus hc_moments_on_grid(HcMoments *moments, const HcGrid *grid, HcError *err) HC_MUST_CHECK;
/* Allocates the sums of far values, unless they exist. */
HcStatus hc_moments_far(HcMoments *moments, HcError *err) HC_MUST_CHECK;
/* Adds the products of a pixel that limbs leave out. Limbs have summed near[bands]: near[b] is the value
 * where it is near, else its lowest 32 bits with a sign (hc_far_rest). far: the bands of far values,
 * ascending. Needs hc_moments_far(to). */
void hc_moments_add_far(HcMoments *to, const double *values, const double *near, const int32_t *far,
                        int32_t far_count);

/* Adds sums of far values that 128 bits hold: sum[bands], and the upper triangle of product[bands][bands].
 * Needs hc_moments_far(to). */
void hc_moments_add_wide(HcMoments *to, const HcWide *sum, const HcWide *product);

/* A far value less the nearest multiple of 2^32: -2^31 to 2^31 - 1. */
double hc_far_rest(double value);

/* Forgets the quotients of sums that have changed. */
void hc_moments_changed(HcMoments *moments);

/* Makes the digits of far sums small, so that more can be added. */
void hc_moments_carry(HcMoments *moments);

/* Adds `from` to `to` (same bands and grid), in any order. Where `from` has far sums, `to` must have them
 * too. */
void hc_moments_merge(HcMoments *to, const HcMoments *from);

/* Brings sums onto one grid, that of the finer unit in each band; nothing is rounded. */
HcStatus hc_moments_align(HcMoments *a, HcMoments *b, HcError *err) HC_MUST_CHECK;

/* The sum of a band, and of the products of two bands (b <= c), far values included. */
HcLong hc_moments_sum(const HcMoments *moments, size_t b);
HcLong hc_moments_product(const HcMoments *moments, size_t b, size_t c);
/* Sets them; fails where the far sums need memory and there is none. */
HcStatus hc_moments_set_sum(HcMoments *moments, size_t b, const HcLong *value, HcError *err) HC_MUST_CHECK;
HcStatus hc_moments_set_product(HcMoments *moments, size_t b, size_t c, const HcLong *value,
                                HcError *err) HC_MUST_CHECK;

/* mean[bands] (may be NULL) and covariance[bands][bands] divided by `variance` (see hc_difference_variance),
 * with count - 1 in the denominator. n*Sxy - Sx*Sy is formed in wide (or long) integers; an integer
 * `variance` is part of the one rounded division. Fails with HC_E_NUMERIC when count < 2. `what` names the
 * pixels in it. The threads of `compute` share the work; with NULL this one does it. */
HcStatus hc_moments_covariance(const HcMoments *moments, HcCompute *compute, double variance,
                               const char *what, double *mean, double *covariance,
                               HcError *err) HC_MUST_CHECK;

/* numerator / denominator (> 0), rounded once to the nearest double, ties to even. Magnitudes below 2^127. */
double hc_wide_ratio(HcWide numerator, HcWide denominator);

#ifdef __cplusplus
}
#endif
#endif
