/* Sums: moments of the scene, or of its differences, that a stage collects while blocks pass; those of all
 * ranks together in the end.
 *
 * Exact sums do not depend on any order. Float sums are formed stretch by stretch, and the stretches merged
 * in their order: neither blocks nor ranks change a bit, since ranks share a scene whose floats are summed
 * between stretches. */
#ifndef HC_PIPELINE_STATISTICS_SUMS_H
#define HC_PIPELINE_STATISTICS_SUMS_H

#include "core/operation/gram.h"
#include "pipeline/stage.h"

/* Lines of a stretch, by the shape of the scene alone: of at least 2^17 pixels, and so that there are at most
 * 64 stretches; a multiple of hc_sums_lines. */
int64_t hc_stretch_lines(const HcScene *scene);

/* Zero-initialise; hc_scene_sums_close() is always safe. */
typedef struct HcSceneSums {
    HcSums *sums; /* of the whole share, or of one stretch */
    HcDifference difference;
    const HcWindow *window; /* borrowed, NULL = the scene */
    int64_t limit;          /* of the integers, 0 = floats */
    int64_t stretch_lines;
    int64_t stretch;    /* the one that grows, -1 = none yet */
    HcMoments *done;    /* [done_count] stretches that are complete; the first rank's are merged at once */
    int32_t done_count; /* at most those of this rank */
} HcSceneSums;

/* In plan of a stage that collects such sums, once for each: that it observes, with which halo, what they
 * take on the device, and whether floats are summed. */
void hc_scene_sums_plan(HcStage *stage, HcDifference difference);

/* For the scene that comes into the stage. */
HcStatus hc_scene_sums_open(HcSceneSums *sums, HcStage *stage, HcDifference difference,
                            const HcWindow *window, HcError *err) HC_MUST_CHECK;

/* Adds a block; blocks of this rank come in order. */
HcStatus hc_scene_sums_add(HcSceneSums *sums, HcStage *stage, HcQueue *queue, const HcBlock *in,
                           HcError *err) HC_MUST_CHECK;

/* All ranks: the sums of the scene, made here and cleared by the caller. Closes, since a later pass may need
 * the memory. */
HcStatus hc_scene_sums_take(HcSceneSums *sums, HcStage *stage, HcQueue *queue, HcMoments *out,
                            HcError *err) HC_MUST_CHECK;

void hc_scene_sums_close(HcSceneSums *sums);

#endif
