/* Continua: what becomes of one pixel, on the lane of the host or the lanes of a warp. */
#ifndef HC_CORE_SOLVER_CONTINUUM_H
#define HC_CORE_SOLVER_CONTINUUM_H

#include "core/operation/spectrum/continuum.h"

#include <float.h>

/* What the lanes of a pixel work in, for one piece after the other. */
typedef struct HcContinuumWork {
    double *y, *hull; /* [places] */
    int32_t *corner;  /* [places + 1] */
    int32_t lane, lanes;
} HcContinuumWork;

/* A result as float32; missing beyond its range. */
HC_ANYWHERE float hc_continuum_store(double value) {
    return value >= -FLT_MAX && value <= FLT_MAX ? (float)value : NAN;
}

/* What becomes of a value y below its hull, except for features. */
HC_ANYWHERE float hc_continuum_value(HcContinuumKind kind, double y, double hull) {
    double removed = hull > 0 ? y / hull : NAN;
    double whole = y == y ? hull : NAN;
    return hc_continuum_store(kind == HC_CONTINUUM_HULL    ? whole
                              : kind == HC_CONTINUUM_DEPTH ? 1 - removed
                                                           : removed);
}

/* hull[count] becomes the values with their continuum removed, and lane 0 writes the figures. */
HC_ANYWHERE int32_t hc_continuum_feature(const HcContinuumWork *work, const double *centre, int32_t count,
                                         float *to) {
    double value[HC_FEATURE_VALUES];
    int32_t lacks = 0;
    for (int32_t k = work->lane; k < count; k += work->lanes) {
        work->hull[k] = work->hull[k] > 0 ? work->y[k] / work->hull[k] : NAN;
    }
    HC_HULL_MEET();
    if (work->lane == 0) {
        hc_feature(centre, work->hull, count, value);
        for (int32_t v = 0; v < HC_FEATURE_VALUES; v++) {
            to[v] = hc_continuum_store(value[v]);
            lacks += to[v] != to[v];
        }
    }
    return lacks;
}

/* A valid pixel. Returns how many values of the output this lane found missing. */
HC_ANYWHERE int32_t hc_continuum_pixel(const HcContinuumRule *rule, const HcContinuumWork *work,
                                       const float *from, float *to) {
    int32_t lacks = 0;
    for (int32_t p = 0; p < rule->pieces; p++) {
        int32_t first = rule->first[p];
        int32_t count = rule->first[p + 1] - first;
        const double *centre = rule->centre + first;
        for (int32_t k = work->lane; k < count; k += work->lanes) {
            float value = from[rule->band[first + k]];
            work->y[k] = value >= -FLT_MAX && value <= FLT_MAX ? (double)value : NAN;
        }
        HC_HULL_MEET();
        hc_hull_lanes(centre, work->y, count, work->corner, work->hull, work->lane, work->lanes);
        if (rule->kind == HC_CONTINUUM_FEATURES) {
            lacks += hc_continuum_feature(work, centre, count, to + (int64_t)p * HC_FEATURE_VALUES);
        } else {
            for (int32_t k = work->lane; k < count; k += work->lanes) {
                float value = hc_continuum_value(rule->kind, work->y[k], work->hull[k]);
                to[rule->target[first + k]] = value;
                lacks += value != value;
            }
        }
        HC_HULL_MEET();
    }
    return lacks;
}

/* Whether the pixel stays valid. */
HC_ANYWHERE bool hc_continuum_stays(const HcContinuumRule *rule, int32_t lacks, int32_t bands) {
    return rule->whole ? lacks == 0 : lacks < bands;
}

#endif
