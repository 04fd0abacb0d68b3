/* Sums: moments of the scene, or of its differences. A stage collects them while blocks pass; at the end
 * those of all ranks are added.
 *
 * They are sums of integers: the values of an integer scene, or those of a float scene on a grid
 * (core/sums/grid.h). A sample of the scene chooses the grid. So the order of blocks and ranks changes no
 * bit.
 *
 * A stage that wants sums of the scene has one HcSceneSums, or two, in its state and says
 *
 *     hc_scene_sums_want(&state->sums, stage, HC_DIFFERENCE_NONE, NULL);      in plan
 *     hc_scene_sums_statistics(&state->sums, stage, queue, "", &out, err);    in settle
 *
 * The runner opens them, adds the blocks of the first round, and closes what settle has not taken. */
#ifndef HC_PIPELINE_STATISTICS_SUMS_H
#define HC_PIPELINE_STATISTICS_SUMS_H

#include "core/operation/gram/gram_raw.h"
#include "pipeline/groups/grouping.h"
#include "pipeline/neighbours/host.h"
#include "pipeline/stage.h"
#include "pipeline/statistics/statistics.h"

/* Zero-initialise; hc_scene_sums_close() is always safe. */
typedef struct HcSceneSums {
    HcSums *sums;            /* NULL before the first block of a float scene */
    HcHostSums *host;        /* of differences that the host forms (neighbours/stencil.h) */
    HcDifference difference; /* one of the host, too */
    const HcWindow *window;  /* borrowed, NULL = the scene */
    int64_t limit;           /* of the integers, 0 = floats */
    bool wanted;             /* from open to close */
    HcGrouping *grouping;    /* borrowed, NULL = all pixels */
    int32_t number;          /* the group that is summed */
} HcSceneSums;

/* In plan: sums of the scene that comes into the stage, or of its differences, in `window` (borrowed, NULL =
 * all of it). Adds to the needs of the stage: observing, halo, device memory, float sums. */
void hc_scene_sums_want(HcSceneSums *sums, HcStage *stage, HcDifference difference, const HcWindow *window);

/* In plan, once all sums are wanted: they are those of the pixels that a mask leaves, and of differences
 * whose pixels it all leaves. The stage closes the grouping. */
HcStatus hc_scene_sums_plan_by(HcStage *stage, HcGrouping *grouping, const HcGroupingParams *params,
                               HcError *err) HC_MUST_CHECK;

/* Sums number k that the last plan wants, or NULL. */
HcSceneSums *hc_scene_sums_of(const HcStage *stage, int32_t k);

/* For the runner: opens them, adds a block or bytes of the file. hc_scene_sums_end (stage.h) closes them. */
HcStatus hc_scene_sums_start(HcStage *stage, HcError *err) HC_MUST_CHECK;
HcStatus hc_scene_sums_observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) HC_MUST_CHECK;
HcStatus hc_scene_sums_parts(HcStage *stage, HcGramPart *parts, int32_t *count, HcError *err) HC_MUST_CHECK;

/* ---- what these are made of, for a stage that does more with the blocks ---- */

/* Adds to the needs of a stage that collects such sums: observing, halo, device memory, float sums. Call it
 * in plan, once for each HcSceneSums. */
void hc_scene_sums_plan(HcStage *stage, HcDifference difference);

/* Before open: they are those of a group, which open opens. */
void hc_scene_sums_by(HcSceneSums *sums, HcGrouping *grouping, int32_t number);

/* Lines of context that they need. */
int32_t hc_scene_sums_halo(const HcScene *scene, HcDifference difference);

/* For the scene that comes into the stage. */
HcStatus hc_scene_sums_open(HcSceneSums *sums, HcStage *stage, HcDifference difference,
                            const HcWindow *window, HcError *err) HC_MUST_CHECK;

/* Adds a block. */
HcStatus hc_scene_sums_add(HcSceneSums *sums, HcStage *stage, HcQueue *queue, const HcBlock *in,
                           HcError *err) HC_MUST_CHECK;

/* The same sums, for bytes of the file in place of blocks: fills parts[*count] and counts it. */
HcStatus hc_scene_sums_part(HcSceneSums *sums, HcStage *stage, HcGramPart *parts, int32_t *count,
                            HcError *err) HC_MUST_CHECK;

/* All ranks: sums of each become those of all. floats: they are on a grid. */
HcStatus hc_moments_sum_ranks(HcMoments *moments, HcRanks *ranks, bool floats, HcError *err) HC_MUST_CHECK;

/* All ranks: makes the sums of the scene, which the caller clears. Closes `sums`, since a later pass may need
 * the memory. */
HcStatus hc_scene_sums_take(HcSceneSums *sums, HcStage *stage, HcQueue *queue, HcMoments *out,
                            HcError *err) HC_MUST_CHECK;

/* The same, divided: mean and covariance for the scene that comes into the stage, which the caller clears.
 * `noise` is how noise was taken, "" for the scene itself (HcStatistics). */
HcStatus hc_scene_sums_statistics(HcSceneSums *sums, HcStage *stage, HcQueue *queue, const char *noise,
                                  HcStatistics *out, HcError *err) HC_MUST_CHECK;

void hc_scene_sums_close(HcSceneSums *sums);

#endif
