/* Class backgrounds: mean and covariance of each class of a map, so that a pixel is compared with those of
 * its own class. What stages that score pixels share.
 *
 * A class has exact sums of its own, those that a mask of its pixels would give (background.h): its pixels
 * have the same scores as with that mask. A block is summed and scored once for each class that it holds. */
#ifndef HC_PIPELINE_DETECTIONS_CLASS_BACKGROUNDS_H
#define HC_PIPELINE_DETECTIONS_CLASS_BACKGROUNDS_H

#include "pipeline/detections/background.h"

typedef struct HcClassParams {
    const char *path;          /* NULL = one background */
    const char *field, *layer; /* of vector data */
} HcClassParams;

#define HC_CLASS_BACKGROUNDS_OPTIONS(Params, member)                                                         \
    {HC_TEXT(Params, member.path, "background-classes"), .file = HC_FILE_READ, .value = "FILE",              \
     .otherwise = "one background",                                                                          \
     .help = "a background for each class of this map or vector file: every pixel is compared with the "     \
             "pixels of its class"},                                                                         \
        {HC_TEXT(Params, member.field, "field"), .value = "NAME",                                            \
         .otherwise = "the only attribute, or the number of the feature",                                    \
         .help = "attribute of --background-classes that names the class"},                                  \
    {                                                                                                        \
        HC_TEXT(Params, member.layer, "layer"), .value = "NAME", .otherwise = "the only layer",              \
                                                .help = "layer of --background-classes"                      \
    }

enum { HC_CLASS_BACKGROUNDS_MAX = 255 };

/* Zero-initialise; hc_class_backgrounds_close() is always safe. */
typedef struct HcClassBackgrounds {
    int32_t count;            /* 0 = not planned */
    char **name;              /* [count] */
    uint8_t *label;           /* [lines][samples] of the scene, from 1; 0 = no class */
    HcSelected selected;      /* what takes the pixels of a class, without a mask of its own */
    HcBuffer *mask;           /* [count] [device] [lines][samples] */
    HcSceneSums *sums;        /* [count] */
    HcStatistics *statistics; /* [count] once settled */
    double *shrinkage;        /* [count] */
    int64_t bare;             /* valid pixels without a class, in interior lines */
    HcBuffer part;            /* [device] scores of some lines in one class, and their mask */
    HcBuffer valid, score, score_mask, result, result_mask; /* [host] where blocks lie elsewhere */
} HcClassBackgrounds;

/* Scores of the rows of `out` by the background of class `number` (from 0), as HcStageClass.process. */
typedef HcStatus HcClassScorer(HcStage *stage, int32_t number, HcQueue *queue, const HcBlock *in,
                               const HcBlock *out, void *scratch, HcError *err);

/* In plan: HC_E_USAGE where --field or --layer have no file. */
HcStatus hc_class_backgrounds_check(const HcStage *stage, const HcClassParams *asked,
                                    HcError *err) HC_MUST_CHECK;
/* In plan, with a file: reads the classes, and adds to stage->needs; `scores` bands are scores. HC_E_USAGE
 * where other options of the background do not go with classes. */
HcStatus hc_class_backgrounds_plan(HcClassBackgrounds *classes, HcStage *stage, const HcClassParams *asked,
                                   const HcBackgroundParams *params, int32_t scores,
                                   HcError *err) HC_MUST_CHECK;
HcStatus hc_class_backgrounds_open(HcClassBackgrounds *classes, HcStage *stage, int32_t scores,
                                   HcError *err) HC_MUST_CHECK;
HcStatus hc_class_backgrounds_observe(HcClassBackgrounds *classes, HcStage *stage, HcQueue *queue,
                                      const HcBlock *in, HcError *err) HC_MUST_CHECK;
/* After the pass, on all ranks: fills the statistics, shrunk as asked. HC_E_NUMERIC for a class that has no
 * pixel, or too few of them for an inverse. */
HcStatus hc_class_backgrounds_settle(HcClassBackgrounds *classes, HcStage *stage, const char *path,
                                     const HcBackgroundParams *params, HcQueue *queue,
                                     HcError *err) HC_MUST_CHECK;
/* Puts the class before a failure, in the place of the name of the stage, which the runner puts there. */
HcStatus hc_class_backgrounds_named(const HcClassBackgrounds *classes, const HcStage *stage, int32_t number,
                                    HcStatus status, HcError *err) HC_MUST_CHECK;
/* In process: each pixel has the score of its class; those without one are masked. Waits for the queue. */
HcStatus hc_class_backgrounds_score(HcClassBackgrounds *classes, HcStage *stage, HcClassScorer *scorer,
                                    HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                                    HcError *err) HC_MUST_CHECK;
/* In gather: notes pixels without a class. */
HcStatus hc_class_backgrounds_gather(HcClassBackgrounds *classes, HcStage *stage, HcError *err) HC_MUST_CHECK;
void hc_class_backgrounds_report(const HcClassBackgrounds *classes, HcJson *to);
void hc_class_backgrounds_close(HcClassBackgrounds *classes, HcStage *stage);

#endif
