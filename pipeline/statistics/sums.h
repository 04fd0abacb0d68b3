/* Sums: moments of the scene, or of its differences, that a stage collects while blocks pass; those of all
 * ranks together in the end.
 *
 * They are sums of integers: of the values of integer scenes, and of those that float scenes have on a grid
 * (core/sums/grid.h), which a sample of the scene decides. So neither blocks nor ranks nor their order change
 * a bit. */
#ifndef HC_PIPELINE_STATISTICS_SUMS_H
#define HC_PIPELINE_STATISTICS_SUMS_H

#include "core/operation/gram.h"
#include "pipeline/stage.h"

/* Zero-initialise; hc_scene_sums_close() is always safe. */
typedef struct HcSceneSums {
    HcSums *sums; /* NULL before the first block of a float scene */
    HcDifference difference;
    const HcWindow *window; /* borrowed, NULL = the scene */
    int64_t limit;          /* of the integers, 0 = floats */
} HcSceneSums;

/* In plan of a stage that collects such sums, once for each: that it observes, with which halo, what they
 * take on the device, and whether floats are summed. */
void hc_scene_sums_plan(HcStage *stage, HcDifference difference);

/* For the scene that comes into the stage. */
HcStatus hc_scene_sums_open(HcSceneSums *sums, HcStage *stage, HcDifference difference,
                            const HcWindow *window, HcError *err) HC_MUST_CHECK;

/* Adds a block. */
HcStatus hc_scene_sums_add(HcSceneSums *sums, HcStage *stage, HcQueue *queue, const HcBlock *in,
                           HcError *err) HC_MUST_CHECK;

/* All ranks: the sums of the scene, made here and cleared by the caller. Closes, since a later pass may need
 * the memory. */
HcStatus hc_scene_sums_take(HcSceneSums *sums, HcStage *stage, HcQueue *queue, HcMoments *out,
                            HcError *err) HC_MUST_CHECK;

void hc_scene_sums_close(HcSceneSums *sums);

#endif
