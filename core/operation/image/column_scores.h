/* column_scores: scores of targets, with a background for each group of neighbouring columns. */
#ifndef HC_CORE_OPERATION_COLUMN_SCORES_H
#define HC_CORE_OPERATION_COLUMN_SCORES_H

#include "core/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What becomes of s = sum of (x - mean) weight over the bands of a pixel x. */
typedef enum HcColumnScore {
    HC_COLUMN_SHARE,    /* s */
    HC_COLUMN_POWER,    /* z |z| for z = s / deviation */
    HC_COLUMN_COHERENCE /* z |z| / y'y for the whitened pixel y = R (x - mean); 0 where y'y is 0 */
} HcColumnScore;

/* Column c belongs to group c / width. The triangle R of a group is packed by quads, which are four rows one
 * after the other: see hc_whitening_offset(). */
typedef struct HcColumnScoring {
    HcColumnScore kind;
    int32_t width;           /* of a group; the last one may have fewer columns */
    const double *filter;    /* [device] [groups][1 + targets][bands]: the mean, then weights */
    const double *deviation; /* [device] [groups][targets]; NULL with SHARE */
    const double *whitening; /* [device] [groups][stride]; only with COHERENCE */
    size_t stride;           /* at least hc_whitening_values(bands); a multiple of 4 */
    const uint8_t *scored;   /* [device] [groups] 0 = its pixels are masked */
} HcColumnScoring;

enum { HC_WHITENING_ROWS = 4 };

/* Bands that quad q has: row r of a lower triangle ends at band r. */
HC_ANYWHERE int64_t hc_whitening_width(int64_t quad, int64_t bands) {
    int64_t width = HC_WHITENING_ROWS * (quad + 1);
    return width < bands ? width : bands;
}

HC_ANYWHERE int64_t hc_whitening_quads(int64_t bands) {
    return (bands + HC_WHITENING_ROWS - 1) / HC_WHITENING_ROWS;
}

/* Where quad q begins: [hc_whitening_width()][4 rows], zeros above the diagonal and after the last row. */
HC_ANYWHERE int64_t hc_whitening_offset(int64_t quad) {
    return HC_WHITENING_ROWS * HC_WHITENING_ROWS * (quad * (quad + 1) / 2);
}

/* Numbers of a packed triangle: at most (bands + 1) (bands + 13) / 2. */
HC_ANYWHERE size_t hc_whitening_values(int64_t bands) {
    int64_t last = hc_whitening_quads(bands) - 1;
    return (size_t)(hc_whitening_offset(last) + HC_WHITENING_ROWS * hc_whitening_width(last, bands));
}

/* Band j of `out` is the score of the pixel and target j. A pixel of a group that is not scored is masked.
 *
 * Formed in float64, without fused multiply-add, and rounded once. s has eight parts: band b is added to
 * part b % 8 in ascending order; the parts are added as ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)). A row of y
 * is one sum in ascending order of bands; squares are added in the order of the rows. The bits are then the
 * same on every backend. A valid pixel that holds NaN becomes NaN, one with infinity NaN or infinity. */
typedef HcStatus HcColumnScoresFn(HcQueue *queue, const HcBlock *in, const HcColumnScoring *how,
                                  const HcBlock *out, HcError *err);
HcColumnScoresFn hc_column_scores HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
