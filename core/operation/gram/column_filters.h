/* column_filters: matched filters of targets for each group of neighbouring columns, from its sums. */
#ifndef HC_CORE_OPERATION_COLUMN_FILTERS_H
#define HC_CORE_OPERATION_COLUMN_FILTERS_H

#include "core/operation/gram/column_gram.h"
#include "core/operation/image/column_scores.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The share s of the unit matrix: the covariance C becomes (1 - s) C + s trace(C) / bands. */
typedef enum HcColumnShrink {
    HC_COLUMN_SHRINK_SHARE, /* that share; 0 = none */
    /* Chen, Wiesel, Eldar, Hero: Shrinkage Algorithms for MMSE Covariance Estimation (2010) */
    HC_COLUMN_SHRINK_RAO_BLACKWELL,
    HC_COLUMN_SHRINK_OAS
} HcColumnShrink;

/* All arrays are [device]. */
typedef struct HcColumnFilters {
    int64_t groups;
    int32_t bands, targets;
    const int64_t *sums;    /* [groups][hc_column_values(bands)] of column_gram */
    const double *unit;     /* [bands + 1] powers of two that the sums are in: product of i and j in unit[i]
                             * unit[j]; [bands] is that of the constant 1 */
    const double *spectrum; /* [targets][bands] */
    bool absorption;        /* a target adds mean * spectrum to the mean, not spectrum - mean */
    bool products;          /* the matrix is the mean of x x', and filters have no mean (cem) */
    HcColumnShrink shrink;
    double share;
    double *filter;    /* [groups][1 + targets][bands] mean, weights: as HcColumnScoring has them */
    double *deviation; /* [groups][targets] of the scores of the background */
    double *whitening; /* [groups][stride] as HcColumnScoring has it; NULL = not wanted. May be `sums`, whose
                          stride it then has */
    size_t stride;     /* a multiple of 4, at least hc_whitening_values(bands) */
    int64_t *pixels;   /* [groups] that the sums are of */
    double *shrinkage; /* [groups] the share */
    int32_t *directions; /* [groups] bands that take part */
    uint8_t *scored;     /* [groups] 1 = there are filters; else weights and deviations are 0 */
} HcColumnFilters;

/* With the mean m, the matrix A and the signal t of a target, its weights are w = inv(A) t / (t' inv(A) t),
 * and its deviation is the root of 1 / (t' inv(A) t). A is the shrunk covariance. A group has no filters
 * where it has fewer than two pixels, where it has no more pixels than bands and nothing is shrunk, or where
 * t' inv(A) t is not positive and finite for some target.
 *
 * A = inv(S) U'U inv(S) by Cholesky, S the inverse roots of the diagonal of A. A band without variance takes
 * no part, nor one of whose square the bands before it leave less than 16 bands eps. The whitening triangle
 * is inv(U') S. With products, `whitening` is not wanted.
 *
 * All in float64, without fused multiply-add. Numerators of C are exact. The entries of U and of the triangle
 * lose one product after the other, in the order of the bands. Sums of squares of C and the products in the
 * backward solution have 32 parts: band b is added to part b % 32, and parts i and i + 16, 8, 4, 2, 1 are
 * added. The bits are then the same on every backend. */
typedef HcStatus HcColumnFiltersFn(HcQueue *queue, const HcColumnFilters *how, HcError *err);
HcColumnFiltersFn hc_column_filters HC_MUST_CHECK;

/* Host memory that each thread of the host's backend works in [bytes]. */
static inline size_t hc_column_filters_bytes(int32_t bands) {
    return 2 * ((size_t)bands + 16) * ((size_t)bands + 16) * sizeof(double);
}

/* Device memory that a backend with memory of its own works in, at most [bytes]: a square for each group that
 * is made at the same time, as many as fit half a GiB. */
static inline size_t hc_column_filters_squares(int32_t bands, int64_t groups) {
    const size_t most = (size_t)512 << 20;
    size_t square = (size_t)bands * ((size_t)bands + 3) * sizeof(double);
    size_t all = (size_t)groups * square;
    return all < most ? all : most > square ? most : square;
}

/* What host and device decide alike. */

/* The share, for the sum of the squares of all entries of C. Also for one covariance of a scene. */
HC_ANYWHERE double hc_column_share(HcColumnShrink shrink, double share, double pixels, double bands,
                                   double trace, double squares) {
    double apart = squares - trace * trace / bands;
    if (shrink == HC_COLUMN_SHRINK_OAS) {
        share = ((1 - 2 / bands) * squares + trace * trace) / ((pixels + 1 - 2 / bands) * apart);
    } else if (shrink == HC_COLUMN_SHRINK_RAO_BLACKWELL) {
        share = ((pixels - 2) / pixels * squares + trace * trace) / ((pixels + 2) * apart);
    }
    return share < 0 ? 0 : share < 1 ? share : 1;
}

#ifdef __cplusplus
}
#endif
#endif
