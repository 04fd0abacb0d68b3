/* Background: the mean and covariance that detectors compare pixels with. They come from a file, from the
 * scene, or from those of its pixels that a mask selects. What stages that score pixels share.
 *
 * A stage has HcBackgroundParams in its parameters and HcBackground in its state, and calls these functions
 * from the hooks of the same names. Sums are exact (pipeline/statistics/sums.h), so that the order of blocks
 * and ranks changes no bit. */
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
    double robust;      /* NAN = all pixels count */
    const char *shrink; /* statistics/shrinkage.h */
} HcBackgroundParams;

#define HC_BACKGROUND_OPTIONS(Params, member)                                                                \
    {HC_TEXT(Params, member.file, "background"), .file = HC_FILE_READ, .value = "STATISTICS.json",           \
     .otherwise = "the scene itself",                                                                        \
     .help = "mean and covariance of the background from this file, which cov has saved"},                   \
        {HC_TEXT(Params, member.mask, "background-mask"),                                                    \
         .file = HC_FILE_READ,                                                                               \
         .file_of = hc_view_file_of,                                                                         \
         .value = "FILE[:BAND[=VALUES]]",                                                                    \
         .otherwise = "all pixels",                                                                          \
         .help = "take mean and covariance of the background from the pixels that this mask leaves; as "     \
                 "--mask of read"},                                                                          \
    {                                                                                                        \
        HC_REAL(Params, member.robust, "robust"),                                                            \
            .range = {1e-12, 0.1}, .initial = NAN, .value = "RATE", .otherwise = "all pixels count",         \
            .help = "leave pixels out of the background whose scores only this share of Gaussian pixels "    \
                    "has, and repeat with what is left, at most 10 times"                                    \
    }

/* Zero-initialise; hc_background_close() is always safe. */
typedef struct HcBackground {
    HcSceneSums sums;
    HcSelected selected;     /* with a mask */
    HcTrim trim;             /* with --robust, behind the first round */
    HcPowers powers;         /* in the round behind that of the sums, with --shrink ledoit-wolf */
    HcStatistics statistics; /* of the file once planned, of the scene once settled */
    double fourth;           /* mean of the fourth power of distances from the mean, of powers */
    double shrinkage;        /* the share that was mixed into the covariance, 0 to 1 */
    int64_t candidates;      /* pixels before any was left out */
    int32_t trims;           /* rounds behind the first that pixels were left out in */
    bool stable;             /* the last of them left out as many as the one before */
    int32_t directions;      /* that pixels may be compared in, as planned */
} HcBackground;

/* What comes behind a pass. */
typedef enum HcBackgroundNext {
    HC_BACKGROUND_DONE,
    HC_BACKGROUND_AGAIN, /* one more pass */
    HC_BACKGROUND_TRIM   /* the same, once the stage has called hc_background_trim() */
} HcBackgroundNext;

/* In plan, until the stage is settled: reads the file or opens the mask, and adds to stage->needs.
 * directions: that hc_background_trim() may name, at most. */
HcStatus hc_background_plan(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                            int32_t directions, HcError *err) HC_MUST_CHECK;
/* In open, where the stage observes for the background: no file is given. */
HcStatus hc_background_open(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                            HcError *err) HC_MUST_CHECK;
HcStatus hc_background_observe(HcBackground *background, HcStage *stage, HcQueue *queue, const HcBlock *in,
                               HcError *err) HC_MUST_CHECK;
/* After each pass, on all ranks: fills background->statistics, and says in *next and stage->needs.rounds what
 * comes. HC_E_NUMERIC where the mask leaves fewer than two valid pixels. */
HcStatus hc_background_settle(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                              HcQueue *queue, HcBackgroundNext *next, HcError *err) HC_MUST_CHECK;
/* Where that asks for it: the next pass leaves these pixels out. far->limit is filled here, for scores
 * whose variance is 1 in each direction. */
HcStatus hc_background_trim(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                            HcFar *far, HcError *err) HC_MUST_CHECK;
/* Once that is done, or the file was read: shrinks the covariance where that is asked. */
void hc_background_shrink(HcBackground *background, const HcBackgroundParams *params);
/* Once it is done: the distribution of scores by its `directions`. HC_NULL_UNKNOWN where its covariance is
 * shrunk, or where too few pixels are left by --robust. */
HcNullLaw hc_background_law(const HcBackground *background, const HcBackgroundParams *params, HcNull null,
                            int32_t directions);
/* Adds to the record. */
void hc_background_report(const HcBackground *background, const HcBackgroundParams *params, HcJson *to);
void hc_background_close(HcBackground *background, HcStage *stage);

#endif
