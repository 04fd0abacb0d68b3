/* Background: the mean and covariance that detectors compare pixels with. They come from a file, from the
 * scene, or from those of its pixels that a mask selects: one group of pixels, or one for each class of a
 * map. What stages that score pixels share.
 *
 * A group has exact sums of its own (pipeline/statistics/sums.h), so that the order of blocks and ranks
 * changes no bit, and a class has the statistics that a mask of its pixels gives. A block is summed and
 * scored once for each class that it holds.
 *
 * A stage has HcBackgroundParams in its parameters and HcBackground in its state, and calls these functions
 * from the hooks of the same names. */
#ifndef HC_PIPELINE_DETECTIONS_BACKGROUND_H
#define HC_PIPELINE_DETECTIONS_BACKGROUND_H

#include "pipeline/detections/false_alarm.h"
#include "pipeline/detections/powers.h"
#include "pipeline/detections/selected.h"
#include "pipeline/detections/trim.h"
#include "pipeline/statistics/sums.h"

#include <math.h>

typedef struct HcBackgroundParams {
    const char *file, *mask;
    const char *classes;       /* NULL = one group */
    const char *field, *layer; /* of vector data */
    double robust;             /* NAN = all pixels count */
    const char *shrink;        /* statistics/shrinkage.h */
} HcBackgroundParams;

#define HC_BACKGROUND_OPTIONS(Params, member)                                                                \
    {HC_TEXT(Params, member.file, "background"),                                                             \
     .file = HC_FILE_READ,                                                                                   \
     .value = "STATISTICS.json",                                                                             \
     .otherwise = "the scene itself",                                                                        \
     .one_of = "background background-mask",                                                                 \
     .help = "mean and covariance of the background from this file, which cov has saved"},                   \
        {HC_TEXT(Params, member.mask, "background-mask"),                                                    \
         .file = HC_FILE_READ,                                                                               \
         .file_of = hc_view_file_of,                                                                         \
         .value = "FILE[:BAND[=VALUES]]",                                                                    \
         .otherwise = "all pixels",                                                                          \
         .help = "take mean and covariance of the background from the pixels that this mask leaves; as "     \
                 "--mask of read"},                                                                          \
        {HC_REAL(Params, member.robust, "robust"),                                                           \
         .range = {1e-12, 0.1},                                                                              \
         .initial = NAN,                                                                                     \
         .value = "RATE",                                                                                    \
         .otherwise = "all pixels count",                                                                    \
         .excludes = "background",                                                                           \
         .help = "exclude pixels whose score a Gaussian background exceeds with probability below RATE, "    \
                 "refit, repeat up to 10 times"},                                                            \
        {HC_TEXT(Params, member.classes, "background-classes"),                                              \
         .file = HC_FILE_READ,                                                                               \
         .value = "FILE",                                                                                    \
         .otherwise = "one background",                                                                      \
         .excludes = "background",                                                                           \
         .help = "a background for each class of this map or vector file: every pixel is compared with the " \
                 "pixels of its class"},                                                                     \
        {HC_TEXT(Params, member.field, "field"), .value = "NAME", .needs = "background-classes",             \
         .otherwise = "the only attribute, or the number of the feature",                                    \
         .help = "attribute of --background-classes that names the class"},                                  \
    {                                                                                                        \
        HC_TEXT(Params, member.layer, "layer"), .value = "NAME", .otherwise = "the only layer",              \
                                                .needs = "background-classes",                               \
                                                .help = "layer of --background-classes"                      \
    }

enum { HC_BACKGROUND_CLASSES_MAX = 255 };

/* The pixels of one class, or all. */
typedef struct HcBackgroundGroup {
    HcSceneSums sums;        /* wanted while pixels are added */
    HcBuffer mask;           /* [device] [lines][samples] 1 = of the group; none without classes */
    HcTrim trim;             /* with --robust, after the first round */
    HcPowers powers;         /* in the round after those of the sums, with --shrink ledoit-wolf */
    HcStatistics statistics; /* of the file once planned, of the scene once settled */
    double fourth;           /* mean of the fourth power of distances from the mean, of powers */
    double shrinkage;        /* the share that was mixed into the covariance, 0 to 1 */
    int64_t candidates;      /* pixels before any was left out */
    int32_t trims;           /* rounds after the first that left pixels out */
    bool stable;             /* the last of them left out as many as the one before */
} HcBackgroundGroup;

/* Zero-initialise; hc_background_close() is always safe. */
typedef struct HcBackground {
    int32_t count;            /* of groups, 0 = not planned */
    HcBackgroundGroup *group; /* [count] */
    char **name;              /* [count] of classes, NULL = one group */
    uint8_t *label;           /* [lines][samples] of the scene, from 1; 0 = no class. NULL = one group */
    HcSelected selected;      /* the mask, and what takes the pixels of a group */
    HcTrimWork work;
    HcBuffer powers_part; /* what powers work in */
    int32_t directions;   /* that pixels may be compared in, as planned */
    int64_t bare;         /* valid pixels without a class, in interior lines */
    HcBuffer part;        /* [device] scores of some lines in one class, and their mask */
    HcBuffer valid, score, score_mask, result, result_mask; /* [host] where blocks lie elsewhere */
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

/* In plan: reads the file and the classes, opens the mask, and adds to stage->needs. fitted: whether the
 * stage can score. directions: that hc_background_trim() may name, at most. `scores` bands are scores.
 * HC_E_USAGE where options do not go with each other. */
HcStatus hc_background_plan(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                            int32_t directions, int32_t scores, bool fitted, HcError *err) HC_MUST_CHECK;
/* In open, where the stage observes for the background: no file is given. */
HcStatus hc_background_open(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                            int32_t scores, HcError *err) HC_MUST_CHECK;
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
/* Once that is done, or the file was read: shrinks the covariance where that is asked. */
void hc_background_shrink(HcBackgroundGroup *group, const HcBackgroundParams *params);
/* Puts the class before a failure, in the place of the name of the stage, which the runner puts there. */
HcStatus hc_background_named(const HcBackground *background, const HcStage *stage, int32_t number,
                             HcStatus status, HcError *err) HC_MUST_CHECK;
/* Once it is done: the distribution of scores by its `directions`. HC_NULL_UNKNOWN where its covariance is
 * shrunk, or where too few pixels are left by --robust. */
HcNullLaw hc_background_law(const HcBackground *background, const HcBackgroundParams *params, int32_t number,
                            HcNull null, int32_t directions);
/* In process: each pixel has the score of its group; those without one are masked. With classes it waits for
 * the queue. */
HcStatus hc_background_score(HcBackground *background, HcStage *stage, HcGroupScorer *scorer, HcQueue *queue,
                             const HcBlock *in, const HcBlock *out, void *scratch,
                             HcError *err) HC_MUST_CHECK;
/* In gather: notes pixels without a class. */
HcStatus hc_background_gather(HcBackground *background, HcStage *stage, HcError *err) HC_MUST_CHECK;
/* Adds to the record. */
void hc_background_report(const HcBackground *background, const HcBackgroundParams *params, HcJson *to);
void hc_background_close(HcBackground *background, HcStage *stage);

/* background.c, for background_scores.c: whether the lines [first, end) have a pixel of the group. */
bool hc_background_has(const HcBackground *background, const HcStage *stage, int32_t number, int64_t first,
                       int64_t end);
size_t hc_background_part_pixels(const HcStage *stage);

#endif
