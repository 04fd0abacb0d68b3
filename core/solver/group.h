/* Groups of patches: what both backends compute alike (core/operation/svd/groups.h). */
#ifndef HC_CORE_SOLVER_GROUP_H
#define HC_CORE_SOLVER_GROUP_H

#include "core/operation/svd/groups.h"
#include "core/patch.h"

#include <float.h>
#include <math.h>

/* Patches along the sides of the scene, and the transform of each side. */
typedef struct HcGroupFrame {
    HcPatchSide down, across; /* lines, samples: reference patches */
    int32_t reach, count;
    /* Cosine transforms: row u of an orthonormal matrix of size down.size, and across.size. */
    float along[HC_GROUP_SIZE_MAX][HC_GROUP_SIZE_MAX];
    float aside[HC_GROUP_SIZE_MAX][HC_GROUP_SIZE_MAX];
} HcGroupFrame;

static inline void hc_group_cosines(int32_t size, float matrix[HC_GROUP_SIZE_MAX][HC_GROUP_SIZE_MAX]) {
    double pi = acos(-1);
    for (int32_t u = 0; u < HC_GROUP_SIZE_MAX; u++) {
        for (int32_t x = 0; x < HC_GROUP_SIZE_MAX; x++) {
            double scale = sqrt((u == 0 ? 1.0 : 2.0) / size);
            matrix[u][x] = u < size && x < size ? (float)(scale * cos(pi * u * (2 * x + 1) / (2 * size))) : 0;
        }
    }
}

static inline HcGroupFrame hc_group_frame(const HcGroupRule *rule, int32_t samples) {
    HcGroupFrame frame = {hc_patch_side(rule->lines, rule->size, rule->size),
                          hc_patch_side(samples, rule->size, rule->size),
                          rule->reach,
                          rule->count,
                          {{0}},
                          {{0}}};
    hc_group_cosines(frame.down.size, frame.along);
    hc_group_cosines(frame.across.size, frame.aside);
    return frame;
}

/* First of the rows of reference patches that may contribute to a line. */
static inline int64_t hc_group_first(const HcGroupFrame *frame, int64_t line) {
    return hc_patch_first(frame->down, hc_max64(0, line - frame->reach));
}

/* Last of them. */
static inline int64_t hc_group_last(const HcGroupFrame *frame, int64_t line) {
    return hc_patch_last(frame->down, hc_min64(frame->down.length - 1, line + frame->reach));
}

/* A value as it goes into a transform: one that is not finite leaves no number of its group in the band, in
 * whatever order and with whatever zeros a backend sums. */
HC_ANYWHERE float hc_group_load(float value) {
    return fabsf(value) <= FLT_MAX ? value : NAN;
}

/* Weight of a band of a group, from the sum of its squared Wiener weights; 0 where that is not finite. */
HC_ANYWHERE int32_t hc_group_weight(float squares) {
    return squares >= 0 && squares <= 1e6F ? (int32_t)(HC_GROUP_WEIGHT / (1 + squares)) : 0;
}

/* A contribution, as an integer. */
HC_ANYWHERE int32_t hc_group_value(float difference, int32_t weight) {
    float value = difference < HC_GROUP_LIMIT ? difference : HC_GROUP_LIMIT;
    value = value > -HC_GROUP_LIMIT ? value : -HC_GROUP_LIMIT;
    value = difference == difference ? value : 0;
    return (int32_t)(value * ((float)weight * (HC_GROUP_VALUE / HC_GROUP_WEIGHT)));
}

/* What a value of the pilot becomes. */
HC_ANYWHERE float hc_group_mean(float pilot, int64_t sum, int64_t weight) {
    double share = (double)(HC_GROUP_VALUE / HC_GROUP_WEIGHT);
    return weight > 0 ? pilot + (float)((double)sum / (share * (double)weight)) : pilot;
}

#endif
