/* The sums of integer scenes open with the stage. Those of float scenes open with the first block, when the
 * sample that chooses their grid is there. Differences have no center on the grid: it would cancel. */
#include "pipeline/statistics/sums.h"
#include "core/allocate.h"
#include "core/operation/eigh/eigh.h"

#include <stdlib.h>

/* Of a fit with the noise of --noise auto: those of the scene and of two kinds of noise, the eigenproblem and
 * its vectors. No stage has more at once. */
enum { FIT_MATRICES = 5 + HC_EIGH_MATRICES };

int32_t hc_scene_sums_halo(const HcScene *scene, HcDifference difference) {
    return hc_stencil_is(difference) ? hc_host_sums_needs(scene, difference).halo
                                     : hc_stencil_halo(difference);
}

void hc_scene_sums_plan(HcStage *stage, HcDifference difference) {
    size_t bands = (size_t)stage->in.bands;
    int32_t halo = hc_scene_sums_halo(&stage->in, difference);
    stage->needs.observes = true;
    if (hc_stencil_is(difference)) {
        HcHostNeeds host = hc_host_sums_needs(&stage->in, difference);
        stage->needs.selects = true;
        hc_stage_takes(stage, HC_SPACE_DEVICE, host.device);
        hc_stage_takes(stage, HC_SPACE_HOST, host.host);
    }
    stage->needs.halo = halo > stage->needs.halo ? halo : stage->needs.halo;
    bool floats = hc_sums_limit(&stage->in, difference) == 0;
    stage->needs.sums.floats += floats;
    stage->needs.sums.integers += !floats;
    hc_stage_takes(stage, HC_SPACE_DEVICE, bands * bands * sizeof(HcWide));
    size_t fit = FIT_MATRICES * bands * bands * sizeof(double);
    size_t other = hc_stage_bytes(stage, HC_SPACE_FIT);
    hc_stage_takes(stage, HC_SPACE_FIT, fit > other ? fit - other : 0);
}

/* On the grid of the sample. Differences need no center: it would cancel. */
static HcStatus open_on_grid(HcSceneSums *sums, HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    const HcSample *sample = &stage->sample;
    size_t n = (size_t)stage->in.bands;
    double *center = NULL;
    int32_t *exponent = NULL;
    HC_TRY(hc_new(center, n, "the grid of sums", err));
    HC_TRY(hc_new(exponent, n, "the grid of sums", err));
    hc_grid_choose(sample->values, sample->count, stage->in.bands, center, exponent);
    for (size_t b = 0; b < n && sums->difference != HC_DIFFERENCE_NONE; b++) {
        center[b] = 0;
    }
    HC_TRY(hc_sums_open(stage->compute, stage->in.bands, 0, &(HcGrid){center, exponent}, &sums->sums, err));
done:
    free(center);
    free(exponent);
    return status;
}

HcStatus hc_scene_sums_open(HcSceneSums *sums, HcStage *stage, HcDifference difference,
                            const HcWindow *window, HcError *err) {
    *sums = (HcSceneSums){.difference = difference,
                          .window = window,
                          .limit = hc_sums_limit(&stage->in, difference),
                          .wanted = true,
                          .grouping = sums->grouping,
                          .number = sums->number};
    if (sums->grouping != NULL) {
        HC_OR_RETURN(hc_grouping_open(sums->grouping, stage, err));
    }
    if (hc_stencil_is(difference)) {
        HC_OR_RETURN(hc_host_sums_open(&sums->host, stage->compute, &stage->in, difference, window, err));
    }
    if (sums->limit == 0) {
        return HC_OK; /* once the sample is there */
    }
    return hc_sums_open(stage->compute, stage->in.bands, sums->limit, NULL, &sums->sums, err);
}

void hc_scene_sums_close(HcSceneSums *sums) {
    hc_sums_close(sums->sums);
    hc_host_sums_close(sums->host);
    *sums = (HcSceneSums){0};
}

static HcStatus add_block(HcSceneSums *sums, HcQueue *queue, const HcBlock *in, HcError *err) {
    return sums->host != NULL ? hc_host_sums_add(sums->host, queue, in, sums->sums, err)
                              : hc_gram(queue, in, sums->difference, sums->window, sums->sums, err);
}

HcStatus hc_scene_sums_add(HcSceneSums *sums, HcStage *stage, HcQueue *queue, const HcBlock *in,
                           HcError *err) {
    HcGrouping *grouping = sums->grouping;
    int64_t end = in->line0 + in->lines, step = hc_grouping_lines(stage);
    if (sums->sums == NULL) {
        HC_OR_RETURN(open_on_grid(sums, stage, err));
    }
    if (grouping == NULL || hc_grouping_is_whole(grouping)) {
        return add_block(sums, queue, in, err);
    }
    for (int64_t line = in->line0, next; line < end; line = next) {
        HcBlock part;
        next = hc_min64(line + step, end);
        HC_OR_RETURN(hc_grouping_take(grouping, sums->number, false, queue, in, line, next, &part, err));
        HC_OR_RETURN(add_block(sums, queue, &part, err));
    }
    return HC_OK;
}

HcStatus hc_scene_sums_part(HcSceneSums *sums, HcStage *stage, HcGramPart *parts, int32_t *count,
                            HcError *err) {
    if (sums->sums == NULL) {
        HC_OR_RETURN(open_on_grid(sums, stage, err));
    }
    parts[(*count)++] = (HcGramPart){sums->difference, sums->window, sums->sums};
    return HC_OK;
}

/* Far values of all ranks, where any rank has met one. */
static HcStatus sum_far(HcRanks *ranks, HcMoments *out, HcError *err) {
    size_t n = (size_t)out->bands;
    int64_t any = out->far_product != NULL;
    HC_OR_RETURN(hc_ranks_sum(ranks, &any, 1, err));
    if (any == 0) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_ranks_agree(ranks, hc_moments_far(out, err), err));
    hc_moments_carry(out);
    HC_OR_RETURN(hc_ranks_sum(ranks, out->far_sum, n * HC_LONG_DIGITS, err));
    return hc_ranks_sum(ranks, out->far_product, n * n * HC_LONG_DIGITS, err);
}

HcStatus hc_moments_sum_ranks(HcMoments *moments, HcRanks *ranks, bool floats, HcError *err) {
    size_t n = (size_t)moments->bands;
    if (hc_ranks_count(ranks) > 1) {
        hc_moments_changed(moments);
    }
    HC_OR_RETURN(hc_ranks_sum(ranks, &moments->count, 1, err));
    HC_OR_RETURN(hc_ranks_sum_wide(ranks, moments->sum, n, err));
    HC_OR_RETURN(hc_ranks_sum_wide(ranks, moments->product, n * n, err));
    return floats ? sum_far(ranks, moments, err) : HC_OK;
}

HcStatus hc_scene_sums_take(HcSceneSums *sums, HcStage *stage, HcQueue *queue, HcMoments *out, HcError *err) {
    HcStatus status = HC_OK;
    if (sums->sums == NULL) { /* a rank without lines */
        HC_TRY(open_on_grid(sums, stage, err));
    }
    if (sums->host != NULL) {
        HC_TRY(hc_host_sums_end(sums->host, hc_stage_ranks(stage), queue, sums->sums, err));
    }
    HC_TRY(hc_sums_fetch(queue, sums->sums, out, err));
    HC_TRY(hc_moments_sum_ranks(out, hc_stage_ranks(stage), sums->limit == 0, err));
done:
    hc_scene_sums_close(sums);
    return status;
}

HcStatus hc_scene_sums_statistics(HcSceneSums *sums, HcStage *stage, HcQueue *queue, const char *noise,
                                  HcStatistics *out, HcError *err) {
    HcStatus status = HC_OK;
    HcDifference difference = sums->difference; /* taking closes the sums */
    HcMoments moments = {0};
    HC_TRY(hc_scene_sums_take(sums, stage, queue, &moments, err));
    HC_TRY(hc_statistics_make(out, stage->compute, &stage->in, &moments, difference, noise, err));
done:
    hc_moments_clear(&moments);
    return status;
}

/* ---- all sums of a stage ---- */

void hc_scene_sums_want(HcSceneSums *sums, HcStage *stage, HcDifference difference, const HcWindow *window) {
    hc_scene_sums_plan(stage, difference);
    sums->difference = difference;
    sums->window = window;
    stage->needs.sums.of[stage->needs.sums.count++] = sums;
}

void hc_scene_sums_by(HcSceneSums *sums, HcGrouping *grouping, int32_t number) {
    sums->grouping = grouping;
    sums->number = number;
}

HcStatus hc_scene_sums_plan_by(HcStage *stage, HcGrouping *grouping, const HcGroupingParams *params,
                               HcError *err) {
    for (int32_t k = 0; k < stage->needs.sums.count; k++) {
        hc_scene_sums_by(stage->needs.sums.of[k], grouping, 0);
    }
    return hc_grouping_plan(grouping, stage, params, HC_BY_MASK, true, stage->needs.halo, err);
}

HcSceneSums *hc_scene_sums_of(const HcStage *stage, int32_t k) {
    return k < stage->needs.sums.count ? stage->needs.sums.of[k] : NULL;
}

HcStatus hc_scene_sums_start(HcStage *stage, HcError *err) {
    for (int32_t k = 0; k < stage->needs.sums.count; k++) {
        HcSceneSums *sums = stage->needs.sums.of[k];
        HC_OR_RETURN(hc_scene_sums_open(sums, stage, sums->difference, sums->window, err));
    }
    return HC_OK;
}

HcStatus hc_scene_sums_observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    for (int32_t k = 0; k < stage->needs.sums.count; k++) {
        HC_OR_RETURN(hc_scene_sums_add(stage->needs.sums.of[k], stage, queue, in, err));
    }
    return HC_OK;
}

HcStatus hc_scene_sums_parts(HcStage *stage, HcGramPart *parts, int32_t *count, HcError *err) {
    for (int32_t k = 0; k < stage->needs.sums.count; k++) {
        HC_OR_RETURN(hc_scene_sums_part(stage->needs.sums.of[k], stage, parts, count, err));
    }
    return stage->kind->rare.sums != NULL ? stage->kind->rare.sums(stage, parts, count, err) : HC_OK;
}

void hc_scene_sums_end(HcStage *stage) {
    for (int32_t k = 0; k < stage->needs.sums.count; k++) {
        hc_scene_sums_close(stage->needs.sums.of[k]);
    }
}
