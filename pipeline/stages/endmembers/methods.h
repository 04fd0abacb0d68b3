/* Methods: which pixels of a reduced scene are the endmembers, a file each. All ranks call them. */
#ifndef HC_PIPELINE_STAGES_ENDMEMBERS_METHODS_H
#define HC_PIPELINE_STAGES_ENDMEMBERS_METHODS_H

#include "pipeline/stages/shared/reduced.h"

enum { HC_ENDMEMBERS_MAX = 256, HC_STARTS_MAX = 1000 };

/* What a method is given. Pixels x[width] are coordinates about the mean of the scene, width = count - 1, or
 * about 0, width = count. */
typedef struct HcMethod {
    HcReduced *reduced;
    int32_t count;           /* endmembers that are wanted */
    bool centred;            /* about the mean */
    const double *direction; /* [width] of the mean, where x are about 0 */
    const double *weight;    /* [width] 1 / variance of x */
    uint64_t seed;
    int32_t starts;
    int32_t skewers; /* ppi */
} HcMethod;

/* Each finds pixel[count], numbers in the scene.
 *
 * vca: of several starts the one with the largest simplex. log_volume: the logarithm of the volume of it, in
 * the unit of x. */
HcStatus hc_method_vca(const HcMethod *method, int64_t *pixel, HcError *err) HC_MUST_CHECK;
HcStatus hc_method_atgp(const HcMethod *method, int64_t *pixel, HcError *err) HC_MUST_CHECK;
/* HC_E_NUMERIC: all pixels lie in fewer directions. */
HcStatus hc_method_nfindr(const HcMethod *method, int64_t *pixel, double *log_volume,
                          HcError *err) HC_MUST_CHECK;
/* score[count]: how often each was extreme. */
HcStatus hc_method_ppi(const HcMethod *method, int64_t *pixel, double *score, HcError *err) HC_MUST_CHECK;

/* endmember[count][width], which are no pixels; `variance` [width] of the x. sampled: pixels that it looked
 * at. */
HcStatus hc_method_sisal(const HcMethod *method, const double *variance, double *endmember, int64_t *sampled,
                         HcError *err) HC_MUST_CHECK;
/* Host memory that sisal takes [bytes]. */
size_t hc_method_sisal_bytes(int32_t count);

/* ppi.c, for others: the pixels that are extreme along direction[directions][width], in found[*count]
 * ascending, and behind them, from found[2 * directions] on, how often each was. */
HcStatus hc_extreme_pixels(const HcMethod *method, const double *direction, int32_t directions,
                           int64_t *found, int64_t *count, HcError *err) HC_MUST_CHECK;

/* vca.c, for others: all starts, pixel[starts][count]. */
HcStatus hc_vca_starts(const HcMethod *method, int64_t *pixel, HcError *err) HC_MUST_CHECK;

/* ---- small algebra (algebra.c) ---- */

/* The next number of a seed: mean 0, variance 1, about normal; the same on every machine. */
double hc_seed_normal(uint64_t *seed);

/* Makes the columns column[count][n] orthonormal in their order, in place; returns how many are left: what
 * depends on those before is left out. */
int32_t hc_orthonormal(double *column, int32_t count, int32_t n);

/* x less its parts along basis[count][n]. */
void hc_remove_parts(double *x, const double *basis, int32_t count, int32_t n);

/* inverse[n][n] of matrix[n][n], which is destroyed. Returns the logarithm of the magnitude of its
 * determinant: that of many components is beyond the range of a double. -INFINITY: it has no inverse. */
double hc_invert(double *matrix, double *inverse, int32_t n);

/* Sums that scans compare pixels by: eight starts side by side, of pixels that share what is read for them.
 */
enum { HC_LANES = 8, HC_PIXELS = 4 };

/* Some of the pixels x[pixels][width]. Their squared lengths are sums of weight x^2. A sum of f x is at most
 * the length of x times that of f, of which the square is the sum of f^2 / weight. */
typedef struct HcLongPixels {
    const float *x;
    const double *weight; /* [width] */
    int32_t width, pixels;
    int32_t next;              /* pixel that is looked at */
    int32_t few;               /* that are found, */
    int32_t number[HC_PIXELS]; /* which, and */
    double longest;            /* the largest of their squared lengths */
} HcLongPixels;

/* Finds the next HC_PIXELS of a squared length of at least `needed`, or fewer at the end; false = none. */
bool hc_find_long(HcLongPixels *pixels, double needed);

/* The squared length of x without which |offset + f x| does not reach `goal`; 0 where any may do. */
double hc_needed_length(const double *f, const double *weight, int32_t width, double offset, double goal);

/* wide[width][HC_PIXELS] of those that are found. */
void hc_widen(const HcLongPixels *pixels, double wide[][HC_PIXELS]);

/* largest[pixel][lane]: the largest magnitude among the sums f[row][0] + f[row][1] x[0] + ... of a lane,
 * where f is [rows][1 + width][HC_LANES]. Each sum is added in that order. */
void hc_largest_sums(const double *f, int32_t rows, int32_t width, const double wide[][HC_PIXELS],
                     double largest[HC_PIXELS][HC_LANES]);

#endif
