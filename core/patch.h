/* Patches of a scene: where they lie, and which of their singular values count as signal (HcPatchKeep). */
#ifndef HC_CORE_PATCH_H
#define HC_CORE_PATCH_H

#include "core/operation/svd/patches.h"

#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Patches along one side of the scene. */
typedef struct HcPatchSide {
    int64_t length; /* of the scene [pixels] */
    int32_t size;   /* of a patch, at most length */
    int32_t step;
    int64_t count; /* of patches */
} HcPatchSide;

HC_ANYWHERE HcPatchSide hc_patch_side(int64_t length, int32_t size, int32_t step) {
    HcPatchSide side = {length, length < size ? (int32_t)length : size, step, 0};
    side.count = (side.length - side.size + step - 1) / step + 1;
    return side;
}

/* First pixel of a patch. */
HC_ANYWHERE int64_t hc_patch_start(HcPatchSide side, int64_t patch) {
    int64_t start = patch * side.step;
    return start + side.size <= side.length ? start : side.length - side.size;
}

/* First of the patches that hold a pixel. */
HC_ANYWHERE int64_t hc_patch_first(HcPatchSide side, int64_t pixel) {
    int64_t first = pixel < side.size ? 0 : (pixel - side.size) / side.step + 1;
    return first < side.count ? first : side.count - 1;
}

/* Last of them. */
HC_ANYWHERE int64_t hc_patch_last(HcPatchSide side, int64_t pixel) {
    if (pixel >= side.length - side.size) {
        return side.count - 1;
    }
    return pixel / side.step;
}

/* Pixels of a patch. */
HC_ANYWHERE int32_t hc_patch_pixels(const HcPatchRule *rule) {
    return hc_patch_side(rule->lines, rule->size, rule->step).size *
           hc_patch_side(rule->samples, rule->size, rule->step).size;
}

/* Patches of the scene. */
HC_ANYWHERE int64_t hc_patch_count(const HcPatchRule *rule) {
    return hc_patch_side(rule->lines, rule->size, rule->step).count *
           hc_patch_side(rule->samples, rule->size, rule->step).count;
}

/* Memory that a patch takes while it is worked on: its matrix, singular values and vectors [bytes]. */
HC_ANYWHERE size_t hc_patch_bytes(const HcPatchRule *rule) {
    size_t pixels = (size_t)hc_patch_pixels(rule);
    size_t bands = (size_t)rule->bands;
    size_t values = pixels < bands ? pixels : bands;
    return (pixels * bands + values * (pixels + bands + 1)) * sizeof(float);
}

/* About what patches may take that are worked on at once [bytes]; one patch may be more. */
#define HC_PATCH_MEMORY ((size_t)64 << 20)
/* The same if memory is scarce (rule->tight). */
#define HC_PATCH_MEMORY_MIN ((size_t)2 << 20)

/* As many fit in there. */
HC_ANYWHERE int64_t hc_patch_max(const HcPatchRule *rule) {
    int64_t count = hc_patch_count(rule);
    int64_t fit = (int64_t)((rule->tight ? HC_PATCH_MEMORY_MIN : HC_PATCH_MEMORY) / hc_patch_bytes(rule));
    return fit < 1 ? 1 : fit < count ? fit : count;
}

/* Limits of a patch with a number of valid pixels, for noise of standard deviation 1. */
typedef struct HcPatchLevel {
    int32_t values;  /* singular values that can differ from 0: m, the smaller of pixels and bands */
    double least;    /* those above are signal; 0 for HC_PATCH_COUNT */
    double root;     /* sqrt(n), n the larger of the two */
    double ratio;    /* m / n */
    double expected; /* median of the singular values of noise alone: sqrt(n mu), mu the median of the
                      * Marchenko-Pastur distribution of that ratio */
} HcPatchLevel;

/* The value of the Marchenko-Pastur distribution of that ratio (above 0, at most 1), for noise of variance 1,
 * below which that share of it lies (0 to 1): of the squared singular values of noise alone, divided by n. */
double hc_patch_quantile(double ratio, double share);
/* Half of it. */
double hc_patch_median(double ratio);

/* Limits for 0 .. pixels valid pixels: level[pixels + 1]. */
void hc_patch_levels(const HcPatchRule *rule, int32_t pixels, HcPatchLevel *level);

/* Standard deviation of the noise of a patch with these singular values, descending. */
HC_ANYWHERE double hc_patch_noise(const HcPatchRule *rule, const HcPatchLevel *level, const float *values) {
    int32_t m = level->values;
    if (rule->noise > 0 || m == 0) {
        return rule->noise;
    }
    double median =
        m % 2 == 1 ? (double)values[m / 2] : ((double)values[m / 2 - 1] + (double)values[m / 2]) / 2;
    return median / level->expected;
}

/* What becomes of the singular value number k (from 0): 0 = noise. NaN stays NaN. */
HC_ANYWHERE double hc_patch_kept(const HcPatchRule *rule, const HcPatchLevel *level, double noise, int32_t k,
                                 double value) {
    if (k >= level->values || (rule->keep == HC_PATCH_COUNT && k >= rule->count)) {
        return 0;
    }
    if (rule->keep == HC_PATCH_COUNT) {
        return value;
    }
    if (value <= noise * level->least) {
        return 0;
    }
    if (rule->keep != HC_PATCH_SHRINK || noise == 0) {
        return value;
    }
    double y = value / (noise * level->root);
    double square = y * y - level->ratio - 1;
    double left = square * square - 4 * level->ratio;
    return left <= 0 ? 0 : noise * level->root * sqrt(left) / y;
}

#ifdef __cplusplus
}
#endif
#endif
