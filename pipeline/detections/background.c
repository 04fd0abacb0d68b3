#include "pipeline/detections/background.h"

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

HcStatus hc_background_plan(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                            HcError *err) {
    if (params->file != NULL && params->mask != NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: give one of --background and --background-mask",
                       stage->kind->name);
    }
    if (params->file != NULL) {
        return load(background, stage, params->file, err);
    }
    hc_scene_sums_plan(stage, HC_DIFFERENCE_NONE);
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

HcStatus hc_background_observe(HcBackground *background, HcStage *stage, HcQueue *queue, const HcBlock *in,
                               HcError *err) {
    if (background->selected.mask.data == NULL) {
        return hc_scene_sums_add(&background->sums, stage, queue, in, err);
    }
    int64_t end = in->line0 + in->lines;
    int64_t step = hc_selected_lines(stage);
    for (int64_t line = in->line0; line < end; line += step) {
        HcBlock part;
        HC_OR_RETURN(
            hc_selected_take(&background->selected, queue, in, line, hc_min64(line + step, end), &part, err));
        HC_OR_RETURN(hc_scene_sums_add(&background->sums, stage, queue, &part, err));
    }
    return HC_OK;
}

HcStatus hc_background_settle(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
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

void hc_background_close(HcBackground *background, HcStage *stage) {
    hc_scene_sums_close(&background->sums);
    hc_selected_close(&background->selected, stage->compute);
    hc_statistics_clear(&background->statistics);
}
