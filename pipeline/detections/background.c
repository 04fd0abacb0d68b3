/* Groups share the memory that their pixels are taken in: a pass goes through a block by some lines, and
 * through the groups that these have. */
#include "pipeline/detections/background.h"
#include "core/allocate.h"
#include "pipeline/memory.h"
#include "pipeline/statistics/shrinkage.h"

#include <stdlib.h>

/* Rounds that pixels are left out in, at most. */
enum { TRIMS_MAX = 10 };

static const char what[] = "backgrounds";

static bool is_robust(const HcBackgroundParams *params) {
    return !isnan(params->robust);
}

static bool needs_powers(const HcBackgroundParams *params) {
    return params->shrink != NULL && hc_shrinkage_needs_powers(params->shrink);
}

/* ---- plan ---- */

static HcStatus check(const HcStage *stage, const HcBackgroundParams *params, HcError *err) {
    return params->file == NULL || !needs_powers(params)
               ? HC_OK
               : hc_fail(err, HC_E_USAGE,
                         "%s: --shrink %s needs the pixels of the background, and --background %s has none: "
                         "give rao-blackwell or oas",
                         stage->kind->name, params->shrink, params->file);
}

static HcStatus load(HcStatistics *statistics, HcStage *stage, const char *path, HcError *err) {
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

static size_t part_pixels(const HcStage *stage) {
    return (size_t)hc_grouping_lines(stage) * (size_t)stage->in.samples;
}

/* Whether the largest group of columns can have an inverse. */
static HcStatus check_columns(const HcBackground *background, const HcStage *stage,
                              const HcBackgroundParams *params, HcError *err) {
    int32_t width = background->grouping.width;
    int64_t most = stage->in.lines * width;
    return width == 0 || !hc_text_equal(params->shrink, "none") || most > stage->in.bands
               ? HC_OK
               : hc_fail(err, HC_E_INPUT,
                         "%s: --by columns=%d: a group has at most %lld pixels, fewer than %d bands need: "
                         "give more columns, fewer bands, or --shrink",
                         stage->kind->name, width, (long long)most, stage->in.bands);
}

HcStatus hc_background_plan_groups(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                                   bool fitted, HcError *err) {
    HcGrouping *grouping = &background->grouping;
    bool sums = !stage->settled && !fitted && params->file == NULL;
    HC_OR_RETURN(check(stage, params, err));
    HC_OR_RETURN(hc_grouping_plan(grouping, stage, &params->groups, HC_BY_ALL, sums, 0, err));
    HC_OR_RETURN(check_columns(background, stage, params, err));
    stage->masks = hc_grouping_is_one(grouping) ? NULL
                   : grouping->width == 0
                       ? "they have no class in --by classes"
                       : "their group has too few valid pixels, or pixels without variation";
    hc_stage_takes(stage, HC_SPACE_HOST, (size_t)grouping->count * sizeof *background->group);
    return background->group != NULL ? HC_OK : hc_new(background->group, grouping->count, what, err);
}

/* Passes over the scene, as far as they are known. */
static int32_t rounds(const HcBackground *background, const HcBackgroundParams *params) {
    int32_t trims = 0;
    for (int32_t g = 0; g < background->grouping.count && is_robust(params); g++) {
        const HcBackgroundGroup *group = &background->group[g];
        trims = (int32_t)hc_max64(trims, group->stable ? group->trims : TRIMS_MAX);
    }
    return 1 + trims + (needs_powers(params) ? 1 : 0);
}

HcStatus hc_background_plan(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                            int32_t directions, int32_t scores, bool fitted, HcError *err) {
    int32_t count = background->grouping.count;
    size_t bands = (size_t)stage->in.bands, pixel = (size_t)scores * sizeof(float) + 1;
    if (!hc_grouping_is_one(&background->grouping)) {
        bool columns = background->grouping.width > 0;
        hc_stage_takes(stage, HC_SPACE_DEVICE,
                       part_pixels(stage) * pixel +
                           (columns ? hc_grouping_part_bytes(&background->grouping, stage) : 0));
        hc_stage_takes(stage, HC_SPACE_HOST,
                       part_pixels(stage) * 2 * pixel + (size_t)count * (bands + 1) * bands * sizeof(double));
    }
    if (stage->settled || fitted) {
        return HC_OK;
    }
    if (params->file != NULL) {
        return load(&background->group[0].statistics, stage, params->file, err);
    }
    for (int32_t g = 0; g < count; g++) {
        hc_scene_sums_plan(stage, HC_DIFFERENCE_NONE);
    }
    background->directions = directions;
    stage->needs.rounds = rounds(background, params);
    if (is_robust(params)) {
        hc_trim_plan(stage, count, hc_grouping_lines(stage), directions);
    }
    if (needs_powers(params)) {
        hc_powers_plan(stage, count, hc_grouping_lines(stage));
    }
    return HC_OK;
}

/* ---- sums ---- */

static HcStatus open_sums(HcBackground *background, int32_t number, HcStage *stage, HcError *err) {
    return hc_scene_sums_open(&background->group[number].sums, stage, HC_DIFFERENCE_NONE, NULL, err);
}

static HcStatus open_scores(HcBackground *background, HcStage *stage, int32_t scores, HcError *err) {
    HcComputeInfo info;
    HcCompute *compute = stage->compute;
    size_t pixels = part_pixels(stage);
    size_t bytes = pixels * (size_t)scores * sizeof(float);
    hc_compute_info(compute, &info);
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_DEVICE, bytes + pixels, &background->part, err));
    if (info.shared_memory) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_HOST, bytes, &background->score, err));
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_HOST, pixels, &background->score_mask, err));
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_HOST, bytes, &background->result, err));
    return hc_alloc(compute, HC_MEMORY_HOST, pixels, &background->result_mask, err);
}

HcStatus hc_background_open(HcBackground *background, HcStage *stage, int32_t scores, HcError *err) {
    HC_OR_RETURN(hc_grouping_open(&background->grouping, stage, err));
    if (!hc_grouping_is_one(&background->grouping)) {
        HC_OR_RETURN(open_scores(background, stage, scores, err));
    }
    for (int32_t g = 0; g < background->grouping.count; g++) {
        HC_OR_RETURN(open_sums(background, g, stage, err));
    }
    return HC_OK;
}

/* Adds pixels to what the round is for. */
static HcStatus add(HcBackgroundGroup *group, HcStage *stage, HcQueue *queue, const HcBlock *in,
                    HcError *err) {
    return group->powers.sums != NULL ? hc_powers_add(&group->powers, queue, in, err)
                                      : hc_scene_sums_add(&group->sums, stage, queue, in, err);
}

/* The pixels of some lines that are in a group, and not left out. */
static HcStatus add_lines(HcBackground *background, int32_t number, HcStage *stage, HcQueue *queue,
                          const HcBlock *in, int64_t first, int64_t end, HcError *err) {
    HcBackgroundGroup *group = &background->group[number];
    HcBlock part;
    HC_OR_RETURN(hc_grouping_take(&background->grouping, number, false, queue, in, first, end, &part, err));
    if (group->trim.directions > 0) {
        HcBlock all = part;
        HC_OR_RETURN(hc_trim_take(&group->trim, queue, &all, &part, err));
    }
    return add(group, stage, queue, &part, err);
}

HcStatus hc_background_observe(HcBackground *background, HcStage *stage, HcQueue *queue, const HcBlock *in,
                               HcError *err) {
    const HcBackgroundGroup *one = &background->group[0];
    if (hc_grouping_is_whole(&background->grouping) && one->trim.directions == 0 &&
        one->powers.sums == NULL) {
        return add(&background->group[0], stage, queue, in, err);
    }
    int64_t end = in->line0 + in->lines;
    int64_t step = hc_grouping_lines(stage);
    for (int64_t line = in->line0; line < end; line += step) {
        int64_t next = hc_min64(line + step, end);
        for (int32_t g = 0; g < background->grouping.count; g++) {
            const HcBackgroundGroup *group = &background->group[g];
            if ((group->sums.wanted || group->powers.sums != NULL) &&
                hc_grouping_has(&background->grouping, g, line, next)) {
                HC_OR_RETURN(add_lines(background, g, stage, queue, in, line, next, err));
            }
        }
    }
    return HC_OK;
}

/* ---- statistics ---- */

/* Fewer than two pixels have no covariance, and those of a class without --shrink no inverse. Some columns
 * may have too few: *bare. */
static HcStatus check_pixels(const HcBackground *background, const HcStage *stage,
                             const HcBackgroundParams *params, int32_t number, int64_t pixels, bool *bare,
                             HcError *err) {
    const HcGrouping *grouping = &background->grouping;
    bool shrunk = !hc_text_equal(params->shrink, "none");
    *bare = !hc_grouping_is_one(grouping) && pixels < (shrunk ? 2 : stage->in.bands + 1);
    if (*bare && grouping->width == 0) {
        return hc_fail(err, HC_E_NUMERIC,
                       "%s: --by classes=%s: class \"%s\" has %lld valid pixels, fewer than %d bands need: "
                       "give fewer bands, %sor a map without this class",
                       stage->kind->name, grouping->classes, grouping->name[number], (long long)pixels,
                       stage->in.bands, shrunk ? "" : "--shrink, ");
    }
    return grouping->mask == NULL || pixels >= 2 || *bare
               ? HC_OK
               : hc_fail(err, HC_E_NUMERIC,
                         "%s: --by mask=%s: the mask leaves %lld valid pixels of the scene",
                         stage->kind->name, grouping->mask, (long long)pixels);
}

static HcStatus settle_sums(HcBackground *background, int32_t number, HcStage *stage,
                            const HcBackgroundParams *params, HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    HcMoments moments = {0};
    HcBackgroundGroup *group = &background->group[number];
    HcStatistics *statistics = &group->statistics;
    HC_TRY(hc_scene_sums_take(&group->sums, stage, queue, &moments, err));
    HC_TRY(check_pixels(background, stage, params, number, moments.count, &group->bare, err));
    hc_statistics_clear(statistics);
    if (group->bare) {
        statistics->pixels = moments.count;
        group->stable = true;
        goto done;
    }
    HC_TRY(hc_grouping_named(
        &background->grouping, stage, number,
        hc_statistics_make(statistics, stage->compute, &stage->in, &moments, HC_DIFFERENCE_NONE, "", err),
        err));
    if (group->trim.directions > 0) {
        HC_TRY(hc_trim_undo(&group->trim, statistics->covariance, stage->in.bands, err));
    }
done:
    hc_moments_clear(&moments);
    return status;
}

/* Counts the pixels that are left; whether others are to be left out. */
static bool trims_again(HcBackgroundGroup *group, int64_t before) {
    int64_t pixels = group->statistics.pixels;
    bool first = group->trim.directions == 0;
    group->candidates = first ? pixels : group->candidates;
    group->trims += !first;
    group->stable = !first && pixels == before;
    return !group->stable && group->trims < TRIMS_MAX;
}

static void note_trims(HcBackground *background, HcStage *stage, const HcBackgroundParams *params) {
    int64_t candidates = 0, pixels = 0;
    int32_t trims = 0;
    bool stable = true;
    for (int32_t g = 0; g < background->grouping.count; g++) {
        HcBackgroundGroup *group = &background->group[g];
        candidates += group->candidates;
        pixels += group->statistics.pixels;
        trims = (int32_t)hc_max64(trims, group->trims);
        stable = stable && group->stable;
        group->stable = true; /* as it is now */
    }
    hc_stage_note(stage, "--robust %g: %lld of %lld pixels are left out of the background%s, in %d round%s%s",
                  params->robust, (long long)(candidates - pixels), (long long)candidates,
                  hc_grouping_is_one(&background->grouping) ? "" : "s", trims, trims == 1 ? "" : "s",
                  stable ? "" : ", and the last one still changed them");
}

static HcStatus settle_powers(HcBackground *background, HcStage *stage, HcQueue *queue, HcError *err) {
    for (int32_t g = 0; g < background->grouping.count; g++) {
        HcBackgroundGroup *group = &background->group[g];
        if (group->powers.sums != NULL) {
            HC_OR_RETURN(hc_powers_settle(&group->powers, stage, queue, &group->fourth, err));
        }
    }
    return HC_OK;
}

static HcStatus open_powers(HcBackground *background, HcStage *stage, HcError *err) {
    for (int32_t g = 0; g < background->grouping.count; g++) {
        HcBackgroundGroup *group = &background->group[g];
        if (!group->bare) {
            HC_OR_RETURN(hc_powers_open(&group->powers, &background->powers_part, stage, &group->statistics,
                                        hc_grouping_lines(stage), err));
        }
    }
    return HC_OK;
}

bool hc_background_trims(const HcBackground *background, int32_t number) {
    return background->group[number].sums.wanted;
}

HcStatus hc_background_settle(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                              HcQueue *queue, HcBackgroundNext *next, HcError *err) {
    *next = HC_BACKGROUND_DONE;
    if (background->powers_part.data != NULL) {
        HC_OR_RETURN(settle_powers(background, stage, queue, err));
        hc_grouping_end_sums(&background->grouping, stage);
        return HC_OK;
    }
    for (int32_t g = 0; g < background->grouping.count; g++) {
        HcBackgroundGroup *group = &background->group[g];
        int64_t before = group->statistics.pixels;
        if (!group->sums.wanted) {
            continue; /* no more pixels of it are left out */
        }
        HC_OR_RETURN(settle_sums(background, g, stage, params, queue, err));
        if (is_robust(params) && !group->bare && trims_again(group, before)) {
            *next = HC_BACKGROUND_TRIM;
            HC_OR_RETURN(open_sums(background, g, stage, err));
        }
    }
    if (*next == HC_BACKGROUND_TRIM) {
        return HC_OK;
    }
    if (is_robust(params)) {
        note_trims(background, stage, params);
    }
    stage->needs.rounds = rounds(background, params);
    if (needs_powers(params)) {
        *next = HC_BACKGROUND_AGAIN;
        return open_powers(background, stage, err);
    }
    hc_grouping_end_sums(&background->grouping, stage);
    return HC_OK;
}

HcStatus hc_background_trim(HcBackground *background, HcStage *stage, const HcBackgroundParams *params,
                            int32_t number, HcFar *far, HcError *err) {
    HcBackgroundGroup *group = &background->group[number];
    far->limit = hc_trim_limit(params->robust, group->candidates, far->directions, far->squares);
    return hc_trim_set(&group->trim, &background->work, stage, far, hc_grouping_lines(stage),
                       background->directions, err);
}

void hc_background_give_up(HcBackground *background, int32_t number) {
    HcBackgroundGroup *group = &background->group[number];
    hc_scene_sums_close(&group->sums);
    group->stable = group->bare = true;
}

void hc_background_shrink(HcBackgroundGroup *group, const HcBackgroundParams *params) {
    group->shrinkage = hc_shrinkage_share(&group->statistics, params->shrink, group->fourth);
    hc_shrinkage_apply(&group->statistics, group->shrinkage);
}

/* Pixels that --robust leaves depend on what they were chosen by. Rates are right within a fifth from this
 * number of pixels on (docs/stages/rx.md). */
static bool knows_rates(const HcBackgroundGroup *group, const HcBackgroundParams *params,
                        int32_t directions) {
    double least = is_robust(params) ? fmax(10, 2000 * params->robust) * directions : 0;
    return group->shrinkage == 0 && (double)group->candidates >= least;
}

HcNullLaw hc_background_law(const HcBackground *background, const HcBackgroundParams *params, int32_t number,
                            HcNull null, int32_t directions) {
    const HcBackgroundGroup *group = &background->group[number];
    return (HcNullLaw){.null = knows_rates(group, params, directions) ? null : HC_NULL_UNKNOWN,
                       .directions = directions,
                       .pixels = group->statistics.pixels,
                       .apart = params->file != NULL || is_robust(params),
                       .inside = background->grouping.inside,
                       .deviation = 1};
}

/* ---- what is told ---- */

static void report_group(const HcBackgroundGroup *group, const HcBackgroundParams *params, HcJson *to) {
    hc_json_put_double(to, "shrinkage", group->shrinkage);
    if (is_robust(params)) {
        hc_json_put_number(to, "left_out", (double)(group->candidates - group->statistics.pixels));
        hc_json_put_number(to, "robust_rounds", group->trims);
    }
}

static void report_classes(const HcBackground *background, const HcBackgroundParams *params, HcJson *to) {
    hc_json_open_array(to, "background_classes");
    for (int32_t g = 0; g < background->grouping.count && background->group[g].statistics.mean != NULL; g++) {
        hc_json_open_object(to, NULL);
        hc_json_put_text(to, "name", background->grouping.name[g]);
        hc_json_put_number(to, "pixels", (double)background->group[g].statistics.pixels);
        report_group(&background->group[g], params, to);
        hc_json_close(to);
    }
    hc_json_close(to);
}

/* Columns are too many to name each. */
static void report_columns(const HcBackground *background, HcJson *to) {
    int64_t pixels = 0, without = 0, left_out = background->far;
    double shrinkage = 0;
    for (int32_t g = 0; g < background->grouping.count; g++) {
        const HcBackgroundGroup *group = &background->group[g];
        pixels += group->statistics.pixels;
        without += group->bare;
        left_out += group->trims > 0 ? group->candidates - group->statistics.pixels : 0;
        shrinkage += group->shrinkage / background->grouping.count;
    }
    hc_json_put_number(to, "background_pixels", (double)pixels);
    hc_json_put_number(to, "column_groups", background->grouping.count);
    hc_json_put_number(to, "groups_without_score", (double)without);
    hc_json_put_number(to, "left_out", (double)left_out);
    hc_json_put_double(to, "mean_shrinkage", shrinkage);
}

void hc_background_report(const HcBackground *background, const HcBackgroundParams *params, HcJson *to) {
    if (hc_grouping_is_one(&background->grouping)) {
        report_group(&background->group[0], params, to);
        return;
    }
    if (background->grouping.width > 0) {
        report_columns(background, to);
    } else {
        report_classes(background, params, to);
    }
}

static void close_group(HcBackgroundGroup *group, HcCompute *compute) {
    hc_scene_sums_close(&group->sums);
    hc_trim_close(&group->trim, compute);
    hc_powers_close(&group->powers, compute);
    hc_statistics_clear(&group->statistics);
}

void hc_background_close(HcBackground *background, HcStage *stage) {
    HcBuffer *const buffers[] = {&background->powers_part, &background->part,   &background->score,
                                 &background->score_mask,  &background->result, &background->result_mask};
    for (int32_t g = 0; g < background->grouping.count && background->group != NULL; g++) {
        close_group(&background->group[g], stage->compute);
    }
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        hc_memory_release(stage->compute, buffers[i]);
    }
    hc_grouping_close(&background->grouping, stage);
    hc_trim_work_close(&background->work, stage->compute);
    free(background->group);
    *background = (HcBackground){0};
}
