/* unmix: abundances of library spectra by least squares. */
#ifndef HC_CORE_OPERATION_UNMIX_H
#define HC_CORE_OPERATION_UNMIX_H

#include "core/compute.h"
#include "core/operation/added.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HC_UNMIX_SPECTRA_MAX 4096

/* The solver. All reach the same optimum. */
typedef enum HcUnmixSolver {
    HC_UNMIX_ACTIVE, /* active sets: exact except for rounding (Bro and de Jong 1997) */
    HC_UNMIX_FISTA,  /* fast proximal gradients (Beck and Teboulle 2009; Gao and Li) */
    HC_UNMIX_ALM     /* augmented Lagrangian (Bioucas-Dias and Figueiredo 2010; Gao and Li) */
} HcUnmixSolver;

/* How a pixel ended. */
typedef enum HcUnmixEnd {
    HC_UNMIX_OPTIMAL,   /* the relative duality gap is at most rule.gap */
    HC_UNMIX_UNFINISHED /* the limit of iterations came first */
} HcUnmixEnd;

/* Bands that a rule may add after the abundances, in this order. */
typedef enum HcUnmixAdd {
    HC_UNMIX_ADD_RMSE,       /* root of the mean squared residual over the bands [units of the spectra] */
    HC_UNMIX_ADD_ITERATIONS, /* of the solver */
    HC_UNMIX_ADD_GAP,        /* relative duality gap */
    HC_UNMIX_ADD_END,        /* HcUnmixEnd */
    HC_UNMIX_ADDS
} HcUnmixAdd;

/* Names of these bands: [HC_UNMIX_ADDS], then NULL. */
extern const char *const hc_unmix_add_words[];

/* What is counted over the unmixed pixels. After these counts follow, for each spectrum, the number of
 * pixels whose abundance is not 0. Then follow the sums of the abundances in units of HC_UNMIX_COUNT_UNIT;
 * values above 2^16 count as 2^16. All are integers, so that their order does not matter. */
typedef enum HcUnmixCount {
    HC_UNMIX_COUNT_PIXELS,
    HC_UNMIX_COUNT_UNFINISHED,
    HC_UNMIX_COUNT_GAP, /* the bits of the largest relative duality gap, a double: they order as it does */
    HC_UNMIX_COUNTS
} HcUnmixCount;

#define HC_UNMIX_COUNT_UNIT 0x1p-20

/* The problem of every pixel y of a block: min over x >= 0 of
 *     F(x) = 1/2 sum over b of weight[b] (y[b] - sum over k of x[k] spectra[k][b])^2 + lambda sum over k of
 * x[k] */
typedef struct HcUnmixRule {
    int32_t spectra, bands;
    const float *spectrum; /* [host] [spectra][bands], finite; copied */
    const double *weight;  /* [host] [bands], >= 0; copied; NULL = 1 */
    double lambda;         /* >= 0 */
    bool sum_to_one;       /* and sum over k of x[k] = 1, where lambda changes nothing */
    HcUnmixSolver solver;
    double gap; /* wanted: (F(x) - lower bound) / F(x), or / 2^-34 y'W y where that is larger; with sum_to_one
                 * F is without its constant lambda */
    int32_t iterations; /* of a pixel, at most */
    int32_t top; /* 0 = all abundances; n = the n largest: first their spectrum numbers (from 0; -1 pads),
                    then values */
    double threshold; /* >= 0; abundances below it, once they are rounded, become 0 */
    bool add[HC_UNMIX_ADDS];
    const float *level; /* [device] [lines of the scene][samples], > 0 and finite, stays while it is open: the
                         * lambda of a pixel is this times `lambda`; NULL = 1. Not with sum_to_one */
    int64_t level_pixels; /* how many `level` has */
    int64_t *counts; /* [device] [hc_unmix_counts], grows by the valid interior pixels; NULL = not counted */
} HcUnmixRule;

/* A library to unmix with, in device memory; opaque. */
typedef struct HcUnmixing HcUnmixing;

/* Begins the handle of every backend; filled by the door that opens it. */
typedef struct HcUnmixingHead {
    HcHead head;
    int32_t spectra, bands;
    int32_t out_bands;
    int64_t level_pixels; /* 0 = no level */
} HcUnmixingHead;

/* The band of the output that holds an added one, if the rule adds it. */
static inline int32_t hc_unmix_added_band(const HcUnmixRule *rule, HcUnmixAdd add) {
    int32_t abundances = rule->top > 0 ? 2 * rule->top : rule->spectra;
    return abundances + hc_added_before(rule->add, (int32_t)add);
}

/* Bands of the output of unmix. */
static inline int32_t hc_unmix_bands(const HcUnmixRule *rule) {
    return hc_unmix_added_band(rule, HC_UNMIX_ADDS);
}

/* Length of rule.counts. */
static inline size_t hc_unmix_counts(const HcUnmixRule *rule) {
    return HC_UNMIX_COUNTS + 2 * (size_t)rule->spectra;
}

/* Copies a library and derives what the solver needs. One queue at a time may use the result. */
typedef HcStatus HcUnmixOpenFn(HcCompute *compute, const HcUnmixRule *rule, HcUnmixing **out, HcError *err);
HcUnmixOpenFn hc_unmix_open HC_MUST_CHECK;
typedef void HcUnmixCloseFn(HcUnmixing *unmixing);
HcUnmixCloseFn hc_unmix_close;

/* Writes every row of `out`, hc_unmix_bands() bands: abundances in the order of the spectra (or `top`
 * numbers, then `top` values), then those that the rule adds (HcUnmixAdd).
 *
 * Solved in float64, from an empty set of spectra or that of the pixel to the left, and rounded once. With a
 * level l, y / l is solved with lambda, and gives x / l: F is l^2 times as large, its gap the same.
 * Residual and gap are those of the values before rounding and threshold. A masked pixel is 0 throughout. The
 * same bits however the scene is cut into blocks. */
typedef HcStatus HcUnmixFn(HcQueue *queue, const HcBlock *in, HcUnmixing *unmixing, const HcBlock *out,
                           HcError *err);
HcUnmixFn hc_unmix HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
