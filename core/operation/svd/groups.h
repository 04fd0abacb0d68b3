/* groups: patches that are alike are filtered together, with the help of an image that is clean already. */
#ifndef HC_CORE_OPERATION_GROUPS_H
#define HC_CORE_OPERATION_GROUPS_H

#include "core/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HC_GROUP_SIZE_MAX = 4, /* lines and samples of a patch */
    HC_GROUP_REACH_MAX = 16,
    HC_GROUP_COUNT_MAX = 32 /* patches of a group */
};

typedef struct HcGroupRule {
    int64_t lines; /* of the scene */
    int32_t size;  /* lines and samples of a patch; where the scene has fewer, those of the scene */
    int32_t reach; /* alike patches begin at most that many lines and samples away */
    int32_t count; /* patches of a group, at most: a power of two */
} HcGroupRule;

/* Rows of halo that the input needs. */
static inline int32_t hc_group_halo(const HcGroupRule *rule) {
    return 2 * rule->reach + rule->size - 1;
}

/* A contribution and its weight as integers, so that sums do not depend on their order: of
 * 1 / HC_GROUP_VALUE and 1 / HC_GROUP_WEIGHT, contributions within +-HC_GROUP_LIMIT. */
#define HC_GROUP_VALUE  16777216.0F
#define HC_GROUP_WEIGHT 1048576.0F
#define HC_GROUP_LIMIT  100.0F

/* Values of the groups that the CPU works on at once, at most; one group may have more. */
#define HC_GROUP_VALUES ((size_t)1 << 20)

/* For where the patches of a group lie [bytes]. */
#define HC_GROUP_PLACES ((size_t)HC_GROUP_COUNT_MAX * 12 + 8)

/* Groups that the CPU works on at once. */
static inline size_t hc_groups_at_once(const HcGroupRule *rule, int32_t bands) {
    size_t values = (size_t)rule->size * (size_t)rule->size * (size_t)rule->count * (size_t)bands;
    return values < HC_GROUP_VALUES ? HC_GROUP_VALUES / values : 1;
}

/* Memory that the operation works in, for outputs of at most `pixels` pixels [bytes]. */
static inline size_t hc_groups_bytes(const HcGroupRule *rule, size_t pixels, int32_t bands) {
    size_t values = (size_t)rule->size * (size_t)rule->size * (size_t)rule->count * (size_t)bands;
    size_t group = (values + (size_t)bands) * sizeof(int32_t) + HC_GROUP_PLACES;
    size_t sums = pixels * (size_t)bands * (sizeof(int64_t) + sizeof(int32_t));
    return sums + hc_groups_at_once(rule, bands) * group + 64;
}

/* Filters `in`, whose noise has variance 1 in every band and is independent between bands and pixels. `pilot`
 * is `in` with less noise: it says which patches are alike, and what is signal.
 *
 * Reference patches lie side by side; the last ones end with the scene. With each go the rule.count patches
 * within reach that are nearest to it in the pilot, ties in the order of the scene, the reference first. If
 * fewer are there, their number is cut to a power of two. Of a reference with v valid pixels, another patch
 * goes along where c >= v / 2 of them are valid in it too. The distance is that of these pixels times v / c.
 *
 * In both images the masked pixels of a patch take the mean of its valid ones, band by band. Each band
 * of such a group is transformed: by a discrete cosine transform along the lines and samples of a
 * patch, and by a Haar transform along the group, all orthonormal. With a coefficient g of the pilot, that of
 * the input is multiplied by the Wiener weight g^2 / (g^2 + 1). The result is a contribution to all pixels of
 * the group, of the weight 1 / (1 + sum of the squares of the Wiener weights). The output is their weighted
 * mean (Dabov, Foi, Katkovnik, Egiazarian 2007, second step).
 *
 * Distances are sums of float32 in eight parts: with x = (sample in the patch) * bands + band, the square of
 * a difference is added to part x % 8, line after line. The parts are added as ((0 + 4) + (2 + 6)) + ((1 + 5)
 * + (3 + 7)), and the sum is multiplied by the rounded v / c. The bits are the same on every backend, and a
 * pixel has the same however the scene is cut into blocks. A contribution that differs from the pilot by more
 * than HC_GROUP_LIMIT counts as one that differs by as much. Groups with a value that is not finite say
 * nothing in its band: they contribute the pilot, or have no weight where it is a value of the pilot. Where
 * the pilot is not finite, the output is the pilot.
 *
 * Masked pixels stay masked. `in` and `pilot` have the same rows and masks, and hc_group_halo() rows more
 * than `out`, or end with the scene; `out` has no halo. work: [device] hc_groups_bytes() of `out`, aligned as
 * by hc_alloc. */
typedef HcStatus HcGroupsFn(HcQueue *queue, const HcBlock *in, const HcBlock *pilot, const HcGroupRule *rule,
                            void *work, const HcBlock *out, HcError *err);
HcGroupsFn hc_groups HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
