/* continuum: spectra with their upper convex hull removed, the hull itself, or figures of features below it.
 */
#ifndef HC_CORE_OPERATION_CONTINUUM_H
#define HC_CORE_OPERATION_CONTINUUM_H

#include "core/compute.h"
#include "core/solver/hull.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum HcContinuumKind {
    HC_CONTINUUM_REMOVED, /* the value / the hull */
    HC_CONTINUUM_DEPTH,   /* 1 - the value / the hull */
    HC_CONTINUUM_HULL,    /* the hull [as the values] */
    HC_CONTINUUM_FEATURES /* HC_FEATURE_VALUES bands for each piece (core/solver/hull.h) */
} HcContinuumKind;

/* Hulls are of pieces of the spectrum: place k has the band band[k] of the input, and piece p the places from
 * first[p] up to first[p + 1]. All arrays lie on the device, and numbers are from 0. */
typedef struct HcContinuumRule {
    HcContinuumKind kind;
    bool whole;            /* a pixel that lacks a value in some band of the output is masked */
    int32_t pieces;        /* > 0 */
    int32_t places;        /* of all pieces */
    const int32_t *first;  /* [pieces + 1], from 0 to `places`; no piece is empty */
    const double *centre;  /* [places] wavelengths, ascending in a piece [nm] */
    const int32_t *band;   /* [places], below the bands of the input */
    const int32_t *target; /* [places] the band of the output, each of them once; FEATURES: not read */
} HcContinuumRule;

/* Bands of the output. */
static inline int64_t hc_continuum_bands(const HcContinuumRule *rule) {
    return rule->kind == HC_CONTINUUM_FEATURES ? (int64_t)rule->pieces * HC_FEATURE_VALUES : rule->places;
}

/* Warps of a GPU that share a block, and what each of them, or a thread of the host, works in [bytes]. */
enum { HC_CONTINUUM_WARPS = 4096 };

static inline size_t hc_continuum_work(int32_t places) {
    return (size_t)places * (2 * sizeof(double) + sizeof(int32_t)) + sizeof(int32_t);
}

/* Computed in float64 and rounded once, with the same bits on every backend (core/solver/hull.h). A band that
 * is missing in a pixel (NaN, infinity) is left out of its hull and is missing in the output (NaN), and so is
 * a quotient with a hull that is not positive. A pixel of which nothing is left is masked. */
typedef HcStatus HcContinuumFn(HcQueue *queue, const HcBlock *in, const HcContinuumRule *rule,
                               const HcBlock *out, HcError *err);
HcContinuumFn hc_continuum HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
