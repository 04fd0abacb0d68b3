/* Background: the mean and covariance that detectors compare pixels with. They come from a file, or from each
 * group of pixels of the scene (pipeline/groups/grouping.h). What stages that score pixels share.
 *
 * A group has exact sums of its own, and the statistics that a mask of its pixels gives. A block is summed
 * and scored once for each group that it holds.
 *
 * A stage has HcBackgroundParams in its parameters and HcBackground in its state. scored.h calls these
 * functions from the hooks of the same names. */
#ifndef HC_PIPELINE_DETECTIONS_BACKGROUND_H
#define HC_PIPELINE_DETECTIONS_BACKGROUND_H

#include "pipeline/detections/false_alarm.h"
#include "pipeline/detections/powers.h"
#include "pipeline/detections/trim.h"
#include "pipeline/groups/grouping.h"
#include "pipeline/statistics/sums.h"

#include <math.h>

typedef struct HcBackgroundParams {
    const char *file;
    HcGroupingParams groups;
    double robust;      /* NAN = all pixels count */
    const char *shrink; /* statistics/shrinkage.h */
} HcBackgroundParams;

#define HC_BACKGROUND_OPTIONS(Params, member)                                                                \
    {HC_TEXT(Params, member.file, "background"),                                                             \
     .heading = "Background",                                                                                \
     .file = HC_FILE_READ,                                                                                   \
     .value = "STATISTICS.json",                                                                             \
     .otherwise = "the scene itself",                                                                        \
     .help = "take mean and covariance of the background from this file, written by cov"},                   \
        {HC_BY_OPTION(Params, member.groups),                                                                \
         .was = "background-mask background-classes columns",                                                \
         .value = HC_BY_VALUE,                                                                               \
         .excludes = "background",                                                                           \
         .otherwise = "one background of all pixels",                                                        \
         .help = "take the background from groups of pixels. mask: from those that it leaves (as --mask of " \
                 "read). classes: compare each pixel with its class in this map or vector file. columns: "   \
                 "with each COUNT neighbouring columns (1: each detector of a pushbroom sensor). Parts "     \
                 "separated by commas give groups by all of them"},                                          \
        HC_CLASS_FIELD_OPTIONS(Params, member.groups), {                                                     \
        HC_REAL(Params, member.robust, "robust"),                                                            \
            .range = {1e-12, 0.1}, .initial = NAN, .value = "RATE", .otherwise = "all pixels count",         \
            .excludes = "background",                                                                        \
            .help = "exclude pixels whose score a Gaussian background "                                      \
                    "exceeds with probability below RATE, refit, "                                           \
                    "repeat up to 10 times"                                                                  \
    }

/* The pixels of one group. */
typedef struct HcBackgroundGroup {
    HcSceneSums sums;        /* wanted while pixels are added */
    HcTrim trim;             /* with --robust, after the first round */
    HcPowers powers;         /* in the round after those of the sums, with --shrink ledoit-wolf */
    HcStatistics statistics; /* of the file once planned, of the scene once settled */
    double fourth;           /* mean of the fourth power of distances from the mean, of powers */
    double shrinkage;        /* the share that was mixed into the covariance, 0 to 1 */
    int64_t candidates;      /* pixels before any was left out */
    int32_t trims;           /* rounds after the first that left pixels out */
    bool stable;             /* the last of them left out as many as the one before */
    bool bare;               /* some columns, with too few pixels or no variation: they get no score */
} HcBackgroundGroup;

/* Zero-initialise; hc_background_close() is always safe. */
typedef struct HcBackground {
    HcGrouping grouping;
    HcBackgroundGroup *group; /* [grouping.count] */
    HcTrimWork work;
    HcBuffer powers_part; /* what powers work in */
    int32_t directions;   /* that pixels may be compared in, as planned */
    int64_t far;          /* pixels that sums of columns leave out (statistics/column_sums.h) */
    HcBuffer part;        /* [device] scores of some lines in one group, and their mask */
    HcBuffer score, score_mask, result, result_mask; /* [host] where blocks lie elsewhere */
} HcBackground;

/* What comes after a pass. */
typedef enum HcBackgroundNext {
    HC_BACKGROUND_DONE,
    HC_BACKGROUND_AGAIN, /* one more pass */
    HC_BACKGROUND_TRIM   /* the same, once the stage has called hc_background_trim() for each group that
                            hc_background_trims() */
} HcBackgroundNext;

/* Scores of the rows of `out` by the background of group `number` (from 0), as HcStageClass.process. */
typedef HcStatus HcGroupScorer(HcStage *stage, int32_t number, HcQueue *queue, const HcBlock *in,
                               const HcBlock *out, void *scratch, HcError *err);

/* In plan: the groups of the background, which is of `fitted` stages known, and why pixels may have none.
 * HC_E_USAGE where options do not go with each other. */
HcStatus hc_background_plan_groups(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                                   bool fitted, HcError *err) HC_MUST_CHECK;
/* After that, where sums and scores are those of this file: reads the statistics, and adds to stage->needs.
 * directions: that hc_background_trim() may name, at most. `scores` bands are scores. */
HcStatus hc_background_plan(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                            int32_t directions, int32_t scores, bool fitted, HcError *err) HC_MUST_CHECK;
/* In open, where the stage observes for the background: no file is given. */
HcStatus hc_background_open(HcBackground *background, HcStage *stage, int32_t scores,
                            HcError *err) HC_MUST_CHECK;
HcStatus hc_background_observe(HcBackground *background, HcStage *stage, HcQueue *queue, const HcBlock *in,
                               HcError *err) HC_MUST_CHECK;
/* After each pass, on all ranks: fills the statistics, and says in *next and stage->needs.rounds what comes.
 * HC_E_NUMERIC for a group of too few valid pixels. */
HcStatus hc_background_settle(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                              HcQueue *queue, HcBackgroundNext *next, HcError *err) HC_MUST_CHECK;
/* Whether the next pass leaves out pixels of a group. */
bool hc_background_trims(const HcBackground *background, int32_t number);
/* The pixels that it leaves out. far->limit is filled here, for scores whose variance is 1 in each direction.
 */
HcStatus hc_background_trim(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                            int32_t number, HcFar *far, HcError *err) HC_MUST_CHECK;
/* A group of columns gets no score. */
void hc_background_give_up(HcBackground *background, int32_t number);
/* Once that is done, or the file was read: shrinks the covariance where that is asked. */
void hc_background_shrink(HcBackgroundGroup *group, const HcBackgroundParams *params);
/* Once it is done: the distribution of scores by its `directions`. HC_NULL_UNKNOWN where its covariance is
 * shrunk, or where too few pixels are left by --robust. */
HcNullLaw hc_background_law(const HcBackground *background, const HcBackgroundParams *params, int32_t number,
                            HcNull null, int32_t directions);
/* In process: each pixel has the score of its group; those without one are masked. With several groups it
 * waits for the queue. */
HcStatus hc_background_score(HcBackground *background, HcStage *stage, HcGroupScorer *scorer, HcQueue *queue,
                             const HcBlock *in, const HcBlock *out, void *scratch,
                             HcError *err) HC_MUST_CHECK;
/* Adds to the record. */
void hc_background_report(const HcBackground *background, const HcBackgroundParams *params, HcJson *to);
void hc_background_close(HcBackground *background, HcStage *stage);

#endif
