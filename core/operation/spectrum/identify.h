/* identify: the entries of a library that a pixel is most like, by its absorption features or its angle. */
#ifndef HC_CORE_OPERATION_IDENTIFY_H
#define HC_CORE_OPERATION_IDENTIFY_H

#include "core/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HC_IDENTIFY_TOP_MAX   8
#define HC_IDENTIFY_BANDS_MAX 4096

/* From low to high, both included; infinite ends are open. */
typedef struct HcIdentifyRange {
    double low, high;
} HcIdentifyRange;

typedef enum HcIdentifyKind {
    HC_IDENTIFY_DIAGNOSTIC,   /* its fit and depth count with its weight */
    HC_IDENTIFY_NOT_ABSOLUTE, /* rejects a pixel of at least fit.low and depth.low */
    HC_IDENTIFY_NOT_RELATIVE, /* the same; depth.low is in units of the depth of the first feature */
    HC_IDENTIFY_ANGLE         /* the fit is the cosine of the angle between pixel and shape; alone */
} HcIdentifyKind;

/* A band of a feature. Of end points only the band counts. */
typedef struct HcIdentifyEntry {
    double at;    /* its place: 0 at the left end point, 1 at the right one */
    double shape; /* the reference without its continuum, less its mean over the feature; ANGLE: the
                     reference, of length 1 */
    int32_t band;
} HcIdentifyEntry;

typedef struct HcIdentifyFeature {
    HcIdentifyKind kind;
    int32_t first, count;               /* entries: bands of the feature */
    int32_t left, lefts, right, rights; /* entries: bands whose means are the end points */
    double weight;
    double scale;                 /* 1 / sum of shape^2 */
    double depth;                 /* of the reference, >= 0 */
    double origin, step;          /* wavelength = origin + step * at */
    HcIdentifyRange level[3];     /* of the left end point, of the mean of both, of the right one */
    HcIdentifyRange slope;        /* right end point / left end point */
    HcIdentifyRange fits, depths; /* of a pixel */
} HcIdentifyFeature;

typedef struct HcIdentifyReference {
    int32_t first, count;   /* features; diagnostic ones, then absolute, then relative ones */
    int32_t number;         /* its class, from 1 */
    int32_t family;         /* `centre` distinguishes the references of a family; -1 = none */
    HcIdentifyRange centre; /* wavelengths of the minimum of the first feature, high excluded */
    double ratio;           /* the second feature's depth / the first one's must be smaller */
    double fit;             /* of the whole, at least */
    HcIdentifyRange depth;  /* of the whole */
    double product;         /* must be exceeded by fit x depth of the whole */
} HcIdentifyReference;

/* The first constraint that a pixel fails. */
typedef enum HcIdentifyReason {
    HC_IDENTIFY_ACCEPTED,
    HC_IDENTIFY_CONTINUUM,      /* level or slope of a continuum */
    HC_IDENTIFY_NO_FEATURE,     /* no feature of the sign of the reference */
    HC_IDENTIFY_FIT,            /* of a feature */
    HC_IDENTIFY_DEPTH,          /* of a feature */
    HC_IDENTIFY_OTHER_FEATURE,  /* a feature that must be absent */
    HC_IDENTIFY_OTHER_RELATIVE, /* the same, relative to the first feature */
    HC_IDENTIFY_RATIO,
    HC_IDENTIFY_WHOLE_FIT,
    HC_IDENTIFY_WHOLE_DEPTH,
    HC_IDENTIFY_PRODUCT,
    HC_IDENTIFY_REASONS
} HcIdentifyReason;

typedef struct HcIdentifyRule {
    int32_t references, features, entries;
    int32_t bands;                        /* of the input, 1 to HC_IDENTIFY_BANDS_MAX */
    const HcIdentifyReference *reference; /* [device] [references] */
    const HcIdentifyFeature *feature;     /* [device] [features] */
    const HcIdentifyEntry *entry;         /* [device] [entries], bands of the input */
    bool angle;                           /* all features are of the kind ANGLE */
    bool by_product;                      /* the best has the largest fit x depth, not the largest fit */
    bool rejected;                        /* add the two bands of the best reference before constraints */
    int32_t top;                          /* best references that go out, 1 to HC_IDENTIFY_TOP_MAX */
} HcIdentifyRule;

/* Bands of each of the best references: class, fit, depth, fit x depth; or class and angle. */
static inline int32_t hc_identify_each(const HcIdentifyRule *rule) {
    return rule->angle ? 2 : 4;
}

static inline int32_t hc_identify_bands(const HcIdentifyRule *rule) {
    return rule->top * hc_identify_each(rule) + (rule->rejected ? 2 : 0);
}

/* Writes every row of `out`, hc_identify_bands() bands. In a feature, the pixel y is divided by the straight
 * line between its end points. Least squares give y = k shape + constant, fit = the part of the variance of y
 * that this explains (r^2), and depth = k times that of the reference. k must be positive. Fit, depth and fit
 * x depth of a reference are sums over its diagnostic features, times their weights. The best reference
 * passes all constraints and has the largest fit above 0. The first one wins a tie. Without a best reference
 * the pixel has class 0 and zeros. An angle is in radians.
 *
 * A best reference with a family gives its place to another member on two conditions. The minimum of its
 * first feature (a parabola through three bands) lies in the range of that member, and of no other. That
 * member accepts the pixel.
 *
 * With `rejected` the last bands are the class of the reference with the largest fit before constraints
 * (features without a positive k count 0), and its HcIdentifyReason.
 *
 * In float64, rounded once; sums are formed in the order of the entries: the same bits on all backends, but
 * for the arc cosine. A masked pixel is 0 throughout. Entries must name bands of the input (no check). */
typedef HcStatus HcIdentifyFn(HcQueue *queue, const HcBlock *in, const HcIdentifyRule *rule,
                              const HcBlock *out, HcError *err);
HcIdentifyFn hc_identify HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
