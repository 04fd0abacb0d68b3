/* The rounds of a stage that scores: sums of groups, again without far pixels (--robust), fourth powers
 * (--shrink ledoit-wolf), then all scores once where their order is asked for (--rates rank). */
#include "pipeline/detections/scored.h"
#include "core/allocate.h"

#include <stdlib.h>
#include <string.h>

static const HcScoredParams *params_of(const HcStage *stage) {
    return (const HcScoredParams *)stage->params;
}

/* ---- plan ---- */

HcStatus hc_scored_check_rates(const HcStage *stage, HcNull null, const char *why, HcError *err) {
    bool shrunk = !hc_text_equal(params_of(stage)->background.shrink, "none");
    return hc_rates_check(stage, params_of(stage)->rates, shrunk ? HC_NULL_UNKNOWN : null,
                          shrunk ? "with --shrink" : why, err);
}

HcStatus hc_scored_plan_bands(HcStage *stage, int32_t scores, HcError *err) {
    int32_t rates = hc_rates_count(params_of(stage)->rates);
    ((HcScored *)stage->state)->scores = scores;
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    HC_OR_RETURN(hc_scene_reband(&stage->out, scores * (1 + rates), HC_OTHER, err));
    stage->out.has_nodata = false; /* any value may be a score: the mask alone says where there is none */
    return HC_OK;
}

HcStatus hc_scored_plan(HcStage *stage, const HcScorerClass *kind, int32_t directions, HcError *err) {
    HcScored *scored = stage->state;
    const HcScoredParams *params = params_of(stage);
    scored->kind = kind;
    scored->observes =
        scored->observes || kind->observes || (kind->groups && params->background.file == NULL);
    HC_OR_RETURN(hc_rates_name(stage, params->rates, scored->scores, err));
    HC_OR_RETURN(kind->plan != NULL ? kind->plan(stage, err) : HC_OK);
    if (kind->groups) {
        HC_OR_RETURN(hc_background_plan(&scored->background, stage, &params->background, directions,
                                        scored->scores, scored->made, err));
    }
    hc_rates_plan(&scored->rates, stage, params->rates, scored->scores, scored->made);
    return hc_detections_plan(stage, &params->detections, scored->scores, err);
}

/* ---- fit ---- */

/* Some columns may have too few pixels, or no variation: these have no score. */
static HcStatus fit_group(HcStage *stage, int32_t number, HcNullLaw *law, HcError *err) {
    HcScored *scored = stage->state;
    HcBackgroundGroup *group = &scored->background.group[number];
    HcStatus status = group->bare ? HC_OK : scored->kind->fit(stage, number, law, err);
    if (status == HC_E_NUMERIC && scored->background.grouping.width > 0) {
        group->bare = true;
        memset(law, 0, (size_t)scored->scores * sizeof *law);
        return HC_OK;
    }
    return hc_grouping_named(&scored->background.grouping, stage, number, status, err);
}

static HcStatus refuse_bare(const HcStage *stage, HcError *err) {
    const HcBackground *background = &((const HcScored *)stage->state)->background;
    int64_t most = 0;
    for (int32_t g = 0; g < background->grouping.count; g++) {
        if (!background->group[g].bare) {
            return HC_OK;
        }
        most = hc_max64(most, background->group[g].statistics.pixels);
    }
    return hc_fail(err, HC_E_NUMERIC,
                   "%s: --by columns=%d: no group of columns has scores: the largest background has %lld "
                   "pixels, for %d bands",
                   stage->kind->name, background->grouping.width, (long long)most, stage->in.bands);
}

static HcStatus fit(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    HcScored *scored = stage->state;
    const HcScorerClass *kind = scored->kind;
    const HcGrouping *grouping = &scored->background.grouping;
    size_t scores = (size_t)scored->scores;
    HcNullLaw *law = NULL;
    HC_TRY(hc_new(law, (size_t)grouping->count * scores, "distributions of scores", err));
    HC_TRY(kind->begin_fit(stage, law, err));
    for (int32_t g = 0; g < grouping->count && kind->fit != NULL; g++) {
        HC_TRY(fit_group(stage, g, law + (size_t)g * scores, err));
    }
    HC_TRY(refuse_bare(stage, err));
    scored->made = true;
    if (scored->detections.law != NULL && hc_grouping_is_one(grouping)) {
        memcpy(scored->detections.law, law, scores * sizeof *law);
    }
    HC_TRY(hc_rates_fit(&scored->rates, stage, grouping, law, err));
    HC_TRY(kind->end_fit != NULL ? kind->end_fit(stage, err) : HC_OK);
done:
    free(law);
    return status;
}

/* ---- passes ---- */

static bool sums_groups(const HcStage *stage) {
    return ((const HcScored *)stage->state)->kind->groups && params_of(stage)->background.file == NULL;
}

HcStatus hc_scored_open(HcStage *stage, HcError *err) {
    HcScored *scored = stage->state;
    const HcDetectionParams *detections = &params_of(stage)->detections;
    if (detections->path != NULL) {
        HC_OR_RETURN(hc_detections_open(&scored->detections, detections, scored->scores, scored->low, err));
    }
    HC_OR_RETURN(hc_rates_open(&scored->rates, stage, scored->low, err));
    if (!scored->observes) {
        return fit(stage, err);
    }
    if (sums_groups(stage)) {
        HC_OR_RETURN(hc_background_open(&scored->background, stage, scored->scores, err));
    }
    return scored->kind->open != NULL ? scored->kind->open(stage, err) : HC_OK;
}

HcStatus hc_scored_observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    HcScored *scored = stage->state;
    const HcScorerClass *kind = scored->kind;
    if (scored->made) {
        return hc_rates_observe(&scored->rates, stage, kind->score, queue, in, err);
    }
    if (sums_groups(stage)) {
        HC_OR_RETURN(hc_background_observe(&scored->background, stage, queue, in, err));
    }
    return stage->round == 0 && kind->observe != NULL ? kind->observe(stage, queue, in, err) : HC_OK;
}

HcStatus hc_scored_sums(HcStage *stage, HcGramPart *parts, int32_t *count, HcError *err) {
    HcScored *scored = stage->state;
    return hc_scene_sums_part(&scored->background.group[0].sums, stage, parts, count, err);
}

/* The next pass leaves out the pixels that are far from what is the background now. */
static HcStatus trim(HcStage *stage, HcError *err) {
    HcScored *scored = stage->state;
    const HcGrouping *grouping = &scored->background.grouping;
    for (int32_t g = 0; g < grouping->count; g++) {
        if (hc_background_trims(&scored->background, g)) {
            HcStatus status = scored->kind->trim(stage, g, err);
            if (status == HC_E_NUMERIC && grouping->width > 0) {
                hc_background_give_up(&scored->background, g);
                continue;
            }
            HC_OR_RETURN(hc_grouping_named(grouping, stage, g, status, err));
        }
    }
    return HC_OK;
}

HcStatus hc_scored_settle(HcStage *stage, HcQueue *queue, HcError *err) {
    HcScored *scored = stage->state;
    const HcScorerClass *kind = scored->kind;
    HcBackgroundNext next = HC_BACKGROUND_DONE;
    if (scored->made) {
        return hc_rates_settle(&scored->rates, stage, err);
    }
    if (sums_groups(stage)) {
        HC_OR_RETURN(hc_background_settle(&scored->background, stage, &params_of(stage)->background, queue,
                                          &next, err));
        stage->needs.rounds += hc_rates_observes(params_of(stage)->rates);
    }
    if (stage->round == 0 && kind->settle != NULL) {
        HC_OR_RETURN(kind->settle(stage, queue, err));
    }
    return next == HC_BACKGROUND_TRIM   ? trim(stage, err)
           : next == HC_BACKGROUND_DONE ? fit(stage, err)
                                        : HC_OK;
}

HcStatus hc_scored_by_groups(HcStage *stage, HcGroupScorer *scorer, HcQueue *queue, const HcBlock *in,
                             const HcBlock *out, void *scratch, HcError *err) {
    HcScored *scored = stage->state;
    return hc_background_score(&scored->background, stage, scorer, queue, in, out, scratch, err);
}

HcStatus hc_scored_process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                           void *scratch, HcError *err) {
    HcScored *scored = stage->state;
    return params_of(stage)->rates < 0
               ? scored->kind->score(stage, queue, in, out, scratch, err)
               : hc_rates_process(&scored->rates, stage, scored->kind->score, queue, in, out, err);
}

HcStatus hc_scored_consume(HcStage *stage, const HcBlock *block, HcError *err) {
    (void)err;
    hc_detections_consume(&((HcScored *)stage->state)->detections, block);
    return HC_OK;
}

HcStatus hc_scored_gather(HcStage *stage, HcError *err) {
    HcScored *scored = stage->state;
    return hc_detections_gather(&scored->detections, stage, err);
}

HcStatus hc_scored_finish(HcStage *stage, HcError *err) {
    HcScored *scored = stage->state;
    return hc_detections_finish(&scored->detections, stage, &params_of(stage)->detections,
                                (const char *const *)scored->name, err);
}

void hc_scored_report(const HcStage *stage, HcJson *to) {
    const HcScored *scored = stage->state;
    if (scored->made) {
        hc_detections_report(&scored->detections, to);
        if (scored->kind->report != NULL) {
            scored->kind->report(stage, to);
        }
    }
}

void hc_scored_close(HcStage *stage) {
    HcScored *scored = stage->state;
    hc_rates_close(&scored->rates, stage);
    hc_detections_close(&scored->detections);
    hc_background_close(&scored->background, stage);
}
