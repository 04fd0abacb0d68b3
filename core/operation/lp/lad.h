/* lad: abundances of least absolute deviation, a linear program a pixel. */
#ifndef HC_CORE_OPERATION_LAD_H
#define HC_CORE_OPERATION_LAD_H

#include "core/operation/unmix/unmix.h"
#include "core/solver/lp/linear_program.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HC_LAD_ENDMEMBERS_MAX 64
#define HC_LAD_BANDS_MAX      512

/* What the abundances of a pixel may sum to. */
typedef enum HcLadSum { HC_SUM_FREE, HC_SUM_ONE, HC_SUM_AT_MOST_ONE } HcLadSum;

/* Bands that a rule may add after the abundances, in this order. */
typedef enum HcLadAdd {
    HC_LAD_ADD_RESIDUAL, /* mean over the bands used of |y - x'spectrum|, no weights [units of the
                                  spectra] */
    HC_LAD_ADD_END,      /* HcLpEnd */
    HC_LAD_ADD_PIVOTS,
    HC_LAD_ADD_OBJECTIVE, /* of the primal */
    HC_LAD_ADD_DUAL,      /* the objective of the dual */
    HC_LAD_ADD_ERROR,     /* the largest of the relative violations of the primal's and the dual's
                           * constraints and of the relative gap, computed from scratch */
    HC_LAD_ADDS
} HcLadAdd;

/* Names of these bands: [HC_LAD_ADDS], then NULL. */
extern const char *const hc_lad_add_words[];

/* What is counted over the pixels. After these counts follow, for each endmember, the number of pixels
 * whose abundance is not 0. Then follow the sums of the abundances in units of HC_UNMIX_COUNT_UNIT, as
 * with unmix. */
typedef enum HcLadCount {
    HC_LAD_COUNT_PIXELS,
    HC_LAD_COUNT_UNFINISHED, /* not HC_LP_OPTIMAL */
    HC_LAD_COUNT_PIVOTS,
    HC_LAD_COUNT_ERROR, /* the bits of the largest error (HC_LAD_ADD_ERROR), a double */
    HC_LAD_COUNTS
} HcLadCount;

/* The problem of every pixel y of a block: min over x >= 0 of
 *     sum over b of weight[b] |y[b] - sum over k of x[k] spectrum[k][b]|
 * over the bands in which y is finite. */
typedef struct HcLadRule {
    int32_t endmembers, bands;
    const float *spectrum; /* [host] [endmembers][bands], finite; copied */
    const double *weight;  /* [host] [bands], >= 0; copied; NULL = 1 */
    HcLadSum sum;
    int32_t pivots; /* limit for a pixel; 0 = chosen from the size of the problem */
    bool add[HC_LAD_ADDS];
    int64_t *counts; /* [device] [hc_lad_counts], grows by the valid interior pixels; NULL = not counted */
} HcLadRule;

/* Endmembers in device memory, with what is derived from them; opaque. */
typedef struct HcLad HcLad;

/* Begins the handle of every backend; filled by the door that opens it. */
typedef struct HcLadHead {
    HcHead head;
    int32_t endmembers, bands;
    int32_t out_bands;
} HcLadHead;

/* The band of the output that holds an added one, if the rule adds it. */
static inline int32_t hc_lad_added_band(const HcLadRule *rule, HcLadAdd add) {
    return rule->endmembers + hc_added_before(rule->add, (int32_t)add);
}

/* Bands of the output of lad. */
static inline int32_t hc_lad_bands(const HcLadRule *rule) {
    return hc_lad_added_band(rule, HC_LAD_ADDS);
}

/* Length of rule.counts. */
static inline size_t hc_lad_counts(const HcLadRule *rule) {
    return HC_LAD_COUNTS + 2 * (size_t)rule->endmembers;
}

/* Copies endmembers and derives what the solver needs. One queue at a time may use the result. */
typedef HcStatus HcLadOpenFn(HcCompute *compute, const HcLadRule *rule, HcLad **out, HcError *err);
HcLadOpenFn hc_lad_open HC_MUST_CHECK;
typedef void HcLadCloseFn(HcLad *lad);
HcLadCloseFn hc_lad_close;

/* Writes every row of `out`, hc_lad_bands() bands: abundances, then those that the rule adds. Solves a
 * linear program a pixel by its bounded dual, in float64, and rounds once. A masked pixel is 0 throughout. So
 * is a pixel without a finite band, which comes out masked and is not counted. The same bits however the
 * scene is cut into blocks. */
typedef HcStatus HcLadFn(HcQueue *queue, const HcBlock *in, HcLad *lad, const HcBlock *out, HcError *err);
HcLadFn hc_lad HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
