/* Rates: bands with the false-alarm rate of each score, beside the scores. What stages that score pixels
 * share.
 *
 * By a Gaussian background a rate is a function of the score (false_alarm.h). By rank it is the share of the
 * pixels of the scene that have such a score or a better one: a pass more, in which all scores are kept as
 * numbers of four bytes. Sorted, they give the place of any score. They are the scores that go out, so the
 * share is exact, and the same for any blocks, threads and ranks.
 *
 * A stage has the choice in its parameters and HcScoreRates in its state, and calls these functions from the
 * hooks of the same names. Its scores come from one function, which both passes call. */
#ifndef HC_PIPELINE_DETECTIONS_RATES_H
#define HC_PIPELINE_DETECTIONS_RATES_H

#include "core/system/team.h"
#include "pipeline/detections/false_alarm.h"
#include "pipeline/groups/grouping.h"

#define HC_RATES_OPTION(Params, member)                                                                      \
    {                                                                                                        \
        HC_CHOICE(Params, member, "rates"),                                                                  \
            .heading = "Rates and places of scores", .choices = hc_rate_words, .otherwise = "only scores",   \
            .help = "add bands with the false-alarm rate of each score after all scores: of a "              \
                    "Gaussian background, by rank in the scene, or both. rank: fraction of the "             \
                    "scene with such a score or a better one (one more pass)"                                \
    }

/* "gaussian", "rank", "both"; a choice is a place in it, -1 = no rates. */
extern const char *const hc_rate_words[];

/* Scores of the rows of `out` (as HcStageClass.process), with the scratch memory that the stage has planned.
 */
typedef HcStatus HcScorer(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                          void *scratch, HcError *err);

/* Zero-initialise; hc_rates_close() is always safe. */
typedef struct HcScoreRates {
    int32_t choice;
    int32_t bands; /* of scores */
    bool low;      /* low scores are the best */
    bool open;
    size_t scratch;             /* bytes of a pixel that the scorer works in */
    const HcGrouping *grouping; /* each group has a background */
    HcNullLaw *law;             /* [groups][bands]; NULL = unknown */
    uint32_t *key;              /* [bands][pixels of the scene] scores in order, 0 = none; sorted in settle */
    int64_t *start; /* [bands][65537] first place of the keys whose upper 16 bits are that or more */
    HcTeam *team;
    HcBuffer part;                /* [device] scores of some lines, their mask, scratch of the scorer */
    HcBuffer score, mask, result; /* [host] the same, where blocks lie elsewhere, and what goes out */
} HcScoreRates;

/* Bands of rates for each score: 0 to 2. */
int32_t hc_rates_count(int32_t choice);

/* In plan, once stage->out has scores * (1 + hc_rates_count()) bands and the first of them have names: names
 * the others. */
HcStatus hc_rates_name(HcStage *stage, int32_t choice, int32_t scores, HcError *err) HC_MUST_CHECK;

/* In plan, behind all that fills stage->needs: adds to them, and takes over HC_SPACE_PIXEL. made: whether
 * the stage can score. */
void hc_rates_plan(HcScoreRates *rates, HcStage *stage, int32_t choice, int32_t scores, bool made);

/* In plan: refuses `gaussian` and `both` where scores have no known distribution, because of `why`. */
HcStatus hc_rates_check(const HcStage *stage, int32_t choice, HcNull null, const char *why,
                        HcError *err) HC_MUST_CHECK;

/* Whether the scores of the whole scene are to be seen. */
bool hc_rates_observes(int32_t choice);

/* In open. */
HcStatus hc_rates_open(HcScoreRates *rates, HcStage *stage, bool low, HcError *err) HC_MUST_CHECK;

/* Once the stage can score: law[groups][bands] is copied; `grouping` is borrowed. HC_E_NUMERIC where Gaussian
 * rates are asked for and not known, since --robust has left too few pixels. */
HcStatus hc_rates_fit(HcScoreRates *rates, const HcStage *stage, const HcGrouping *grouping,
                      const HcNullLaw *law, HcError *err) HC_MUST_CHECK;

/* In observe and settle, in the round behind that in which the stage could score. */
HcStatus hc_rates_observe(HcScoreRates *rates, HcStage *stage, HcScorer *scorer, HcQueue *queue,
                          const HcBlock *in, HcError *err) HC_MUST_CHECK;
HcStatus hc_rates_settle(HcScoreRates *rates, HcStage *stage, HcError *err) HC_MUST_CHECK;

/* In process. */
HcStatus hc_rates_process(HcScoreRates *rates, HcStage *stage, HcScorer *scorer, HcQueue *queue,
                          const HcBlock *in, const HcBlock *out, HcError *err) HC_MUST_CHECK;

void hc_rates_close(HcScoreRates *rates, HcStage *stage);

#endif
