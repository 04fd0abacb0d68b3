#include "pipeline/detections/background.h"
#include "pipeline/statistics/shrinkage.h"

static HcStatus load(HcBackground *background, HcStage *stage, const char *path, HcError *err) {
    HcStatistics *statistics = &background->statistics;
    HC_OR_RETURN(hc_stage_reads(stage, path, err));
    if (statistics->mean == NULL) {
        HC_OR_RETURN(hc_statistics_load(statistics, path, err));
    }
    hc_stage_remark(stage, path, statistics->remark);
    if (statistics->noise[0] != '\0') {
        return hc_fail(err, HC_E_INPUT, "%s: statistics of noise, not of a scene (cov without --noise)",
                       path);
    }
    return hc_statistics_take(statistics, &stage->in, path, err);
}

/* Rounds that pixels are left out in, at most. */
enum { TRIMS_MAX = 10 };

static bool is_robust(const HcBackgroundParams *params) {
    return !isnan(params->robust);
}

static bool needs_powers(const HcBackgroundParams *params) {
    return params->shrink != NULL && hc_shrinkage_needs_powers(params->shrink);
}

/* Passes over the scene, as far as they are known. */
static int32_t rounds(const HcBackground *background, const HcBackgroundParams *params) {
    int32_t trims = background->stable ? background->trims : TRIMS_MAX;
    return 1 + (is_robust(params) ? trims : 0) + (needs_powers(params) ? 1 : 0);
}

static HcStatus check(const HcStage *stage, const HcBackgroundParams *params, HcError *err) {
    const char *who = stage->kind->name;
    if (params->file != NULL && params->mask != NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: give one of --background and --background-mask", who);
    }
    if (params->file != NULL && needs_powers(params)) {
        return hc_fail(err, HC_E_USAGE,
                       "%s: --shrink %s needs the pixels of the background, and --background %s has none: "
                       "give rao-blackwell or oas",
                       who, params->shrink, params->file);
    }
    if (params->file != NULL && is_robust(params)) {
        return hc_fail(err, HC_E_USAGE,
                       "%s: --robust needs the pixels of the background, and --background %s has none", who,
                       params->file);
    }
    return HC_OK;
}

HcStatus hc_background_plan(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                            int32_t directions, HcError *err) {
    HC_OR_RETURN(check(stage, params, err));
    if (params->file != NULL) {
        return load(background, stage, params->file, err);
    }
    hc_scene_sums_plan(stage, HC_DIFFERENCE_NONE);
    background->directions = directions;
    stage->needs.rounds = rounds(background, params);
    if (is_robust(params)) {
        hc_trim_plan(stage, hc_selected_lines(stage), directions);
    }
    if (needs_powers(params)) {
        hc_powers_plan(stage, hc_selected_lines(stage));
    }
    if (params->mask != NULL) {
        stage->needs.selects = true;
        return hc_selected_plan(&background->selected, stage, params->mask, err);
    }
    return HC_OK;
}

HcStatus hc_background_open(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                            HcError *err) {
    if (params->mask != NULL) {
        HC_OR_RETURN(hc_selected_open(&background->selected, stage, "--background-mask", params->mask, err));
    }
    return hc_scene_sums_open(&background->sums, stage, HC_DIFFERENCE_NONE, NULL, err);
}

/* Adds pixels to what the round is for. */
static HcStatus add(HcBackground *background, HcStage *stage, HcQueue *queue, const HcBlock *in,
                    HcError *err) {
    return background->powers.sums != NULL ? hc_powers_add(&background->powers, queue, in, err)
                                           : hc_scene_sums_add(&background->sums, stage, queue, in, err);
}

HcStatus hc_background_observe(HcBackground *background, HcStage *stage, HcQueue *queue, const HcBlock *in,
                               HcError *err) {
    bool selects = background->selected.mask.data != NULL;
    bool trims = background->trim.directions > 0;
    if (!selects && !trims && background->powers.sums == NULL) {
        return add(background, stage, queue, in, err);
    }
    int64_t end = in->line0 + in->lines;
    int64_t step = hc_selected_lines(stage);
    for (int64_t line = in->line0; line < end; line += step) {
        int64_t next = hc_min64(line + step, end);
        HcBlock part = hc_block_part(in, line, next, 0);
        if (selects) {
            HC_OR_RETURN(hc_selected_take(&background->selected, queue, in, line, next, &part, err));
        }
        if (trims) {
            HcBlock all = part;
            HC_OR_RETURN(hc_trim_take(&background->trim, queue, &all, &part, err));
        }
        HC_OR_RETURN(add(background, stage, queue, &part, err));
    }
    return HC_OK;
}

static HcStatus settle_sums(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                            HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    HcMoments moments = {0};
    HC_TRY(hc_scene_sums_take(&background->sums, stage, queue, &moments, err));
    if (params->mask != NULL && moments.count < 2) {
        HC_TRY(hc_fail(err, HC_E_NUMERIC,
                       "%s: --background-mask %s: the mask leaves %lld valid pixels of the scene",
                       stage->kind->name, params->mask, (long long)moments.count));
    }
    hc_statistics_clear(&background->statistics);
    HC_TRY(hc_statistics_make(&background->statistics, &stage->in, &moments, HC_DIFFERENCE_NONE, "", err));
    if (background->trim.directions > 0) {
        HC_TRY(hc_trim_undo(&background->trim, background->statistics.covariance, stage->in.bands, err));
    }
done:
    hc_moments_clear(&moments);
    return status;
}

/* Counts the pixels that are left; whether others are to be left out. */
static bool trims_again(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                        int64_t before) {
    int64_t pixels = background->statistics.pixels;
    bool first = background->trim.directions == 0;
    background->candidates = first ? pixels : background->candidates;
    background->trims += !first;
    background->stable = !first && pixels == before;
    if (!background->stable && background->trims < TRIMS_MAX) {
        return true;
    }
    hc_stage_note(stage, "--robust %g: %lld of %lld pixels are left out of the background, in %d round%s%s",
                  params->robust, (long long)(background->candidates - pixels),
                  (long long)background->candidates, background->trims, background->trims == 1 ? "" : "s",
                  background->stable ? "" : ", and the last one still changed them");
    background->stable = true; /* as it is now */
    return false;
}

HcStatus hc_background_settle(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                              HcQueue *queue, HcBackgroundNext *next, HcError *err) {
    *next = HC_BACKGROUND_DONE;
    if (background->powers.sums != NULL) {
        return hc_powers_settle(&background->powers, stage, queue, &background->fourth, err);
    }
    int64_t before = background->statistics.pixels;
    HC_OR_RETURN(settle_sums(background, stage, params, queue, err));
    if (is_robust(params) && trims_again(background, stage, params, before)) {
        *next = HC_BACKGROUND_TRIM;
        return hc_scene_sums_open(&background->sums, stage, HC_DIFFERENCE_NONE, NULL, err);
    }
    stage->needs.rounds = rounds(background, params);
    if (needs_powers(params)) {
        *next = HC_BACKGROUND_AGAIN;
        return hc_powers_open(&background->powers, stage, &background->statistics, hc_selected_lines(stage),
                              err);
    }
    return HC_OK;
}

HcStatus hc_background_trim(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                            HcFar *far, HcError *err) {
    far->limit = hc_trim_limit(params->robust, background->candidates, far->directions, far->squares);
    return hc_trim_set(&background->trim, stage, far, hc_selected_lines(stage), background->directions, err);
}

void hc_background_report(const HcBackground *background, const HcBackgroundParams *params, HcJson *to) {
    hc_json_put_double(to, "shrinkage", background->shrinkage);
    if (is_robust(params)) {
        hc_json_put_number(to, "left_out", (double)(background->candidates - background->statistics.pixels));
        hc_json_put_number(to, "robust_rounds", background->trims);
    }
}

/* Pixels that --robust leaves depend on what they were chosen by. Rates are right within a fifth from so many
 * pixels on (docs/stages/rx.md). */
static bool knows_rates(const HcBackground *background, const HcBackgroundParams *params,
                        int32_t directions) {
    double least = is_robust(params) ? fmax(10, 2000 * params->robust) * directions : 0;
    return background->shrinkage == 0 && (double)background->candidates >= least;
}

HcNullLaw hc_background_law(const HcBackground *background, const HcBackgroundParams *params, HcNull null,
                            int32_t directions) {
    return (HcNullLaw){.null = knows_rates(background, params, directions) ? null : HC_NULL_UNKNOWN,
                       .directions = directions,
                       .pixels = background->statistics.pixels,
                       .apart = params->file != NULL || is_robust(params),
                       .inside = background->selected.inside,
                       .deviation = 1};
}

void hc_background_shrink(HcBackground *background, const HcBackgroundParams *params) {
    HcStatistics *statistics = &background->statistics;
    background->shrinkage = hc_shrinkage_share(statistics, params->shrink, background->fourth);
    hc_shrinkage_apply(statistics, background->shrinkage);
}

void hc_background_close(HcBackground *background, HcStage *stage) {
    hc_scene_sums_close(&background->sums);
    hc_selected_close(&background->selected, stage->compute);
    hc_trim_close(&background->trim, stage->compute);
    hc_powers_close(&background->powers, stage->compute);
    hc_statistics_clear(&background->statistics);
}
