#include "pipeline/detections/background.h"
#include "pipeline/statistics/shrinkage.h"

static HcStatus load(HcBackground *background, HcStage *stage, const char *path, HcError *err) {
    HcStatistics *statistics = &background->statistics;
    HC_OR_RETURN(hc_stage_reads(stage, path, err));
    if (statistics->mean == NULL) {
        HC_OR_RETURN(hc_statistics_load(statistics, path, err));
    }
    if (statistics->noise[0] != '\0') {
        return hc_fail(err, HC_E_INPUT, "%s: statistics of noise, not of a scene (cov without --noise)",
                       path);
    }
    return hc_statistics_take(statistics, &stage->in, path, err);
}

static bool needs_powers(const HcBackgroundParams *params) {
    return params->shrink != NULL && hc_shrinkage_needs_powers(params->shrink);
}

HcStatus hc_background_plan(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                            HcError *err) {
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
    if (params->file != NULL) {
        return load(background, stage, params->file, err);
    }
    hc_scene_sums_plan(stage, HC_DIFFERENCE_NONE);
    if (needs_powers(params)) {
        stage->needs.rounds = 2;
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
    if (!selects && background->powers.sums == NULL) {
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
    HC_TRY(hc_statistics_make(&background->statistics, &stage->in, &moments, HC_DIFFERENCE_NONE, "", err));
done:
    hc_moments_clear(&moments);
    return status;
}

HcStatus hc_background_settle(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                              HcQueue *queue, bool *done, HcError *err) {
    *done = true;
    if (background->powers.sums != NULL) {
        return hc_powers_settle(&background->powers, stage, queue, &background->fourth, err);
    }
    HC_OR_RETURN(settle_sums(background, stage, params, queue, err));
    if (needs_powers(params)) {
        *done = false;
        return hc_powers_open(&background->powers, stage, &background->statistics, hc_selected_lines(stage),
                              err);
    }
    return HC_OK;
}

void hc_background_shrink(HcBackground *background, const HcBackgroundParams *params) {
    HcStatistics *statistics = &background->statistics;
    background->shrinkage = hc_shrinkage_share(statistics, params->shrink, background->fourth);
    hc_shrinkage_apply(statistics, background->shrinkage);
}

void hc_background_close(HcBackground *background, HcStage *stage) {
    hc_scene_sums_close(&background->sums);
    hc_selected_close(&background->selected, stage->compute);
    hc_powers_close(&background->powers, stage->compute);
    hc_statistics_clear(&background->statistics);
}
