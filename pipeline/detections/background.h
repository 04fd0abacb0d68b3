/* Background: the mean and covariance that detectors compare pixels with. They come from a file, from the
 * scene, or from those of its pixels that a mask selects. What stages that score pixels share.
 *
 * A stage has HcBackgroundParams in its parameters and HcBackground in its state, and calls these functions
 * from the hooks of the same names. Sums are exact (pipeline/statistics/sums.h), so that the order of blocks
 * and ranks changes no bit. */
#ifndef HC_PIPELINE_DETECTIONS_BACKGROUND_H
#define HC_PIPELINE_DETECTIONS_BACKGROUND_H

#include "pipeline/detections/powers.h"
#include "pipeline/detections/selected.h"
#include "pipeline/statistics/sums.h"

typedef struct HcBackgroundParams {
    const char *file, *mask;
    const char *shrink; /* statistics/shrinkage.h */
} HcBackgroundParams;

#define HC_BACKGROUND_OPTIONS(Params, member)                                                                \
    {HC_TEXT(Params, member.file, "background"), .file = HC_FILE_READ, .value = "STATISTICS.json",           \
     .otherwise = "the scene itself",                                                                        \
     .help = "mean and covariance of the background from this file, which cov has saved"},                   \
    {                                                                                                        \
        HC_TEXT(Params, member.mask, "background-mask"), .file = HC_FILE_READ, .file_of = hc_view_file_of,   \
                                                         .value = "FILE[:BAND[=VALUES]]",                    \
                                                         .otherwise = "all pixels",                          \
                                                         .help = "take mean and covariance of the "          \
                                                                 "background from the pixels that this "     \
                                                                 "mask leaves; as --mask of read"            \
    }

/* Zero-initialise; hc_background_close() is always safe. */
typedef struct HcBackground {
    HcSceneSums sums;
    HcSelected selected;     /* with a mask */
    HcPowers powers;         /* in the round behind that of the sums, with --shrink ledoit-wolf */
    HcStatistics statistics; /* of the file once planned, of the scene once settled */
    double fourth;           /* mean of the fourth power of distances from the mean, of powers */
    double shrinkage;        /* the share that was mixed into the covariance, 0 to 1 */
} HcBackground;

/* In plan, until the stage is settled: reads the file or opens the mask, and adds to stage->needs. */
HcStatus hc_background_plan(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                            HcError *err) HC_MUST_CHECK;
/* In open, where the stage observes for the background: no file is given. */
HcStatus hc_background_open(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                            HcError *err) HC_MUST_CHECK;
HcStatus hc_background_observe(HcBackground *background, HcStage *stage, HcQueue *queue, const HcBlock *in,
                               HcError *err) HC_MUST_CHECK;
/* After each pass, on all ranks. The first fills background->statistics; `done` where no round is left, see
 * stage->needs.rounds. HC_E_NUMERIC where the mask leaves fewer than two valid pixels. */
HcStatus hc_background_settle(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                              HcQueue *queue, bool *done, HcError *err) HC_MUST_CHECK;
/* Once that is done, or the file was read: shrinks the covariance where that is asked. */
void hc_background_shrink(HcBackground *background, const HcBackgroundParams *params);
void hc_background_close(HcBackground *background, HcStage *stage);

#endif
