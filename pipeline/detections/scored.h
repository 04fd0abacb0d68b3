/* Scored: a stage that compares pixels with a background and hands on scores, with rates, and with the best
 * pixels as a file. What rx and detect share.
 *
 * The state of such a stage begins with HcScored and its parameters with HcScoredParams. What differs between
 * its ways to score is a row of functions, an HcScorerClass. The stage chooses one in plan; nobody asks later
 * which one it is. */
#ifndef HC_PIPELINE_DETECTIONS_SCORED_H
#define HC_PIPELINE_DETECTIONS_SCORED_H

#include "pipeline/detections/background.h"
#include "pipeline/detections/detections.h"
#include "pipeline/detections/rates.h"

typedef struct HcScoredParams {
    HcBackgroundParams background;
    int32_t rates; /* rates.h */
    HcDetectionParams detections;
} HcScoredParams;

/* One way to score. Hooks without "REQUIRED" may be NULL. */
typedef struct HcScorerClass {
    bool groups;   /* mean and covariance of each group come from a file or from exact sums (background.h) */
    bool observes; /* sees pixels first in any case */
    /* In plan: adds to stage->needs. */
    HcStatus (*plan)(HcStage *stage, HcError *err);
    /* In open. */
    HcStatus (*open)(HcStage *stage, HcError *err);
    /* In the first round, where the stage observes. */
    HcStatus (*observe)(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err);
    HcStatus (*settle)(HcStage *stage, HcQueue *queue, HcError *err);
    /* With groups: calls hc_background_trim() for one of them. */
    HcStatus (*trim)(HcStage *stage, int32_t number, HcError *err);
    /* Once all is known: makes memory for `fit`, or all that scoring needs. law: [groups][scores], zero. */
    HcStatus (*begin_fit)(HcStage *stage, HcNullLaw *law, HcError *err);
    /* For each group: what its scores are made of. law: [scores]. HC_E_NUMERIC where it can have none. */
    HcStatus (*fit)(HcStage *stage, int32_t number, HcNullLaw *law, HcError *err);
    HcStatus (*end_fit)(HcStage *stage, HcError *err);
    /* REQUIRED. */
    HcScorer *score;
    void (*report)(const HcStage *stage, HcJson *to);
} HcScorerClass;

/* Zero-initialise; hc_scored_close() is always safe. */
typedef struct HcScored {
    const HcScorerClass *kind; /* NULL = not planned */
    int32_t scores;            /* bands that are scores */
    bool low;                  /* low scores are the best */
    bool observes;             /* pixels are seen before the stage can score */
    char *const *name;         /* [scores] of detections, borrowed */
    bool made;                 /* the stage can score */
    HcBackground background;
    HcScoreRates rates;
    HcDetections detections;
} HcScored;

/* In plan. Whether rates are known: `null` is the distribution of scores without --shrink, and `why` says
 * which scores have none ("of sam"). */
HcStatus hc_scored_check_rates(const HcStage *stage, HcNull null, const char *why,
                               HcError *err) HC_MUST_CHECK;
/* Names stage->out, which is a copy of the input, by those bands that are scores. */
HcStatus hc_scored_plan_bands(HcStage *stage, int32_t scores, HcError *err) HC_MUST_CHECK;
/* Once hc_background_plan_groups() was called and scored->observes holds what else looks at pixels: chooses
 * `kind`, and adds to stage->needs. directions: as hc_background_plan(). */
HcStatus hc_scored_plan(HcStage *stage, const HcScorerClass *kind, int32_t directions,
                        HcError *err) HC_MUST_CHECK;

/* A score of the background: an HcScorer by the one of a group. */
HcStatus hc_scored_by_groups(HcStage *stage, HcGroupScorer *scorer, HcQueue *queue, const HcBlock *in,
                             const HcBlock *out, void *scratch, HcError *err) HC_MUST_CHECK;

/* Hooks of the stage. */
HcStatus hc_scored_open(HcStage *stage, HcError *err) HC_MUST_CHECK;
HcStatus hc_scored_observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) HC_MUST_CHECK;
HcStatus hc_scored_sums(HcStage *stage, HcGramPart *parts, int32_t *count, HcError *err) HC_MUST_CHECK;
HcStatus hc_scored_settle(HcStage *stage, HcQueue *queue, HcError *err) HC_MUST_CHECK;
HcStatus hc_scored_process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                           void *scratch, HcError *err) HC_MUST_CHECK;
HcStatus hc_scored_consume(HcStage *stage, const HcBlock *block, HcError *err) HC_MUST_CHECK;
HcStatus hc_scored_gather(HcStage *stage, HcError *err) HC_MUST_CHECK;
HcStatus hc_scored_finish(HcStage *stage, HcError *err) HC_MUST_CHECK;
void hc_scored_report(const HcStage *stage, HcJson *to);
void hc_scored_close(HcStage *stage);

#define HC_SCORED_HOOKS                                                                                      \
    .open = hc_scored_open, .observe = hc_scored_observe, .settle = hc_scored_settle,                        \
    .process = hc_scored_process, .consume = hc_scored_consume, .gather = hc_scored_gather,                  \
    .finish = hc_scored_finish

#endif
