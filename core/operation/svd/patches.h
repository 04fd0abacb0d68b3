/* patches: singular values of the patches of a scene, to denoise or describe it. */
#ifndef HC_CORE_OPERATION_PATCHES_H
#define HC_CORE_OPERATION_PATCHES_H

#include "core/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HC_PATCH_SIZE_MAX 64 /* lines and samples of a patch */

/* Which singular values of a patch count as signal. n is the larger and m the smaller of (its valid
 * pixels, bands), and b = m / n. d is the standard deviation of the noise in every band. */
typedef enum HcPatchKeep {
    HC_PATCH_OPTIMAL, /* above d sqrt(n) sqrt(2 (b + 1) + 8 b / (b + 1 + sqrt(b^2 + 14 b + 1))): least mean
                       * square error of cutting (Gavish and Donoho 2014, equation 11) */
    HC_PATCH_EDGE,    /* above d (sqrt(n) + sqrt(m)): beyond all noise (Marchenko and Pastur 1967) */
    HC_PATCH_SHRINK,  /* those above the edge, made smaller: y = s / (d sqrt(n)) becomes
                       * sqrt((y^2 - b - 1)^2 - 4 b) / y: least mean square error of all rules (Gavish and
                       * Donoho 2017, equation 1.9) */
    HC_PATCH_COUNT    /* the `count` largest */
} HcPatchKeep;

typedef struct HcPatchRule {
    int64_t lines;   /* of the scene */
    int32_t samples; /* of the scene */
    int32_t bands;
    int32_t size; /* lines and samples of a patch; where the scene has fewer, those of the scene */
    int32_t step; /* patches begin at multiples of it, and so that the last one ends with the scene */
    HcPatchKeep keep;
    int32_t count; /* HC_PATCH_COUNT */
    double noise;  /* d; 0 = of each patch, from the median of its singular values (Gavish and Donoho 2014) */
    bool describe; /* out: dimension (how many count as signal) and the `values` largest singular values */
    int32_t values; /* instead of the denoised bands */
    bool tight;     /* memory is scarce: few patches at once */
} HcPatchRule;

/* Patches of a scene as matrices [pixels][bands]; opaque. */
typedef struct HcPatches HcPatches;

/* Begins the handle of every backend; filled by the door that opens it. */
typedef struct HcPatchesHead {
    HcHead head;
    HcPatchRule rule;
} HcPatchesHead;

/* Bands of the output of patches. */
static inline int32_t hc_patch_bands(const HcPatchRule *rule) {
    return rule->describe ? 1 + rule->values : rule->bands;
}

/* Takes the memory for the patches of such a scene. */
typedef HcStatus HcPatchesOpenFn(HcCompute *compute, const HcPatchRule *rule, HcPatches **out, HcError *err);
HcPatchesOpenFn hc_patches_open HC_MUST_CHECK;
typedef void HcPatchesCloseFn(HcPatches *patches);
HcPatchesCloseFn hc_patches_close;

/* Writes for every interior pixel of `out` the mean over the patches that hold it. Averaged is the spectrum
 * of the pixel in the patch, rebuilt from the singular values that count as signal. With rule.describe it is
 * the dimension and the singular values of the patch. Patches are decomposed in float32, as by svd_batched.
 *
 * Masked pixels are zero rows of a patch, and stay masked. Patches lie on the grid of the scene, so `in` has
 * size - 1 rows of halo more than `out`, or ends with the scene; `out` has no halo. A pixel has the same bits
 * however the scene is cut into blocks. */
typedef HcStatus HcPatchesFn(HcQueue *queue, const HcBlock *in, HcPatches *patches, const HcBlock *out,
                             HcError *err);
HcPatchesFn hc_patches HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
