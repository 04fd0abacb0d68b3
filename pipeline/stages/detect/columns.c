/* detect --by columns: mf, cem, amf and ace with the mean and covariance of each group of detector columns
 * (pipeline/statistics/column_sums.h). Plumes of gas are found this way: detectors of a pushbroom
 * sensor differ by more than a weak plume does (Thompson et al. 2015). Sums, filters and scores are
 * operations, so that blocks and sums stay on the device. */
#include "core/allocate.h"
#include "core/operation/gram/column_filters.h"
#include "pipeline/memory.h"
#include "pipeline/stages/detect/detect.h"
#include "pipeline/statistics/shrinkage.h"

#include <stdlib.h>

static const char what[] = "filters of columns";

/* ---- plan ---- */

static size_t targets_of(const HcStage *stage) {
    return (size_t)((const HcDetectState *)stage->state)->targets;
}

static size_t filter_values(const HcStage *stage) {
    return (1 + targets_of(stage)) * (size_t)stage->in.bands;
}

static bool is_whitened(const HcStage *stage) {
    return hc_detect_method(stage)->column == HC_COLUMN_COHERENCE;
}

static const HcGrouping *grouping_of(const HcStage *stage) {
    return &((const HcDetectState *)stage->state)->scored.background.grouping;
}

static const char *shrink_of(const HcStage *stage) {
    return hc_detect_params(stage)->scored.background.shrink;
}

/* What filters are made of and become, without sums and triangles. */
static size_t device_bytes(const HcStage *stage) {
    size_t groups = (size_t)grouping_of(stage)->count;
    size_t bands = (size_t)stage->in.bands;
    size_t each = (filter_values(stage) + targets_of(stage) + 2) * sizeof(double) + sizeof(int32_t) + 1;
    return groups * each + ((targets_of(stage) + 1) * bands + 1) * sizeof(double);
}

static HcStatus plan(HcStage *stage, HcError *err) {
    size_t groups = (size_t)grouping_of(stage)->count;
    size_t values = hc_column_values(stage->in.bands);
    (void)err;
    hc_stage_takes(stage, HC_SPACE_HOST, groups * (targets_of(stage) + 3) * sizeof(double));
    hc_stage_takes(stage, HC_SPACE_DEVICE, device_bytes(stage));
    if (stage->settled || ((const HcDetectState *)stage->state)->scored.made) {
        hc_stage_takes(stage, HC_SPACE_DEVICE, is_whitened(stage) ? groups * values * sizeof(double) : 0);
        return HC_OK;
    }
    hc_stage_takes(stage, HC_SPACE_WORKER, hc_column_filters_bytes(stage->in.bands));
    hc_stage_takes(stage, HC_SPACE_APART, hc_column_filters_squares(stage->in.bands, (int64_t)groups));
    hc_column_sums_plan(stage, grouping_of(stage)->width);
    return HC_OK;
}

/* ---- sums ---- */

static HcStatus open_columns(HcStage *stage, HcError *err) {
    HcDetectState *state = stage->state;
    HcGrouping *grouping = &state->scored.background.grouping;
    if (grouping->mask != NULL) {
        HC_OR_RETURN(hc_grouping_open(grouping, stage, err));
    }
    HC_OR_RETURN(hc_column_sums_open(&state->columns.sums, stage, grouping->width, err));
    return hc_detect_open_targets(stage, err);
}

static HcStatus observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    HcDetectState *state = stage->state;
    HC_OR_RETURN(
        hc_column_sums_add(&state->columns.sums, &state->scored.background.grouping, stage, queue, in, err));
    return hc_detect_observe_targets(stage, queue, in, err);
}

/* ---- filters ---- */

/* Takes the next `bytes` of device memory; places of doubles come first. */
static void *next_of(const HcBuffer *memory, size_t *at, size_t bytes) {
    *at += bytes;
    return (char *)memory->data + *at - bytes;
}

/* Places of what the operation is given and makes, in one piece of device memory. */
static HcStatus open_filters(HcStage *stage, HcDetectColumns *columns, HcColumnFilters *how, HcError *err) {
    const char *shrink = shrink_of(stage);
    HcBuffer *memory = &columns->memory;
    size_t groups = (size_t)grouping_of(stage)->count;
    size_t at = 0;
    HC_OR_RETURN(hc_alloc(stage->compute, HC_MEMORY_DEVICE, device_bytes(stage), memory, err));
    *how =
        (HcColumnFilters){.groups = grouping_of(stage)->count,
                          .bands = stage->in.bands,
                          .targets = (int32_t)targets_of(stage),
                          .absorption = hc_detect_params(stage)->absorption,
                          .products = hc_detect_method(stage)->products,
                          .shrink = hc_text_equal(shrink, "oas")             ? HC_COLUMN_SHRINK_OAS
                                    : hc_text_equal(shrink, "rao-blackwell") ? HC_COLUMN_SHRINK_RAO_BLACKWELL
                                                                             : HC_COLUMN_SHRINK_SHARE};
    if (how->shrink == HC_COLUMN_SHRINK_SHARE && !hc_text_parse_double(shrink, &how->share)) {
        how->share = 0; /* none */
    }
    how->filter = next_of(memory, &at, groups * filter_values(stage) * sizeof(double));
    how->deviation = next_of(memory, &at, groups * targets_of(stage) * sizeof(double));
    how->shrinkage = next_of(memory, &at, groups * sizeof(double));
    how->pixels = next_of(memory, &at, groups * sizeof(int64_t));
    how->unit = next_of(memory, &at, ((size_t)stage->in.bands + 1) * sizeof(double));
    how->spectrum = next_of(memory, &at, targets_of(stage) * (size_t)stage->in.bands * sizeof(double));
    how->directions = next_of(memory, &at, groups * sizeof(int32_t));
    how->scored = next_of(memory, &at, groups);
    return HC_OK;
}

/* What is told of the filters, on the host. */
typedef struct Told {
    double *deviation, *shrinkage;
    int64_t *pixels;
    int32_t *directions;
    uint8_t *scored;
} Told;

static HcStatus open_told(Told *told, size_t groups, size_t targets, HcError *err) {
    HC_OR_RETURN(hc_new(told->scored, groups, what, err));
    HC_OR_RETURN(hc_new(told->pixels, groups, what, err));
    HC_OR_RETURN(hc_new(told->shrinkage, groups, what, err));
    HC_OR_RETURN(hc_new(told->deviation, groups * targets, what, err));
    return hc_new(told->directions, groups, what, err);
}

static void close_told(Told *told) {
    free(told->deviation);
    free(told->directions);
    free(told->scored);
    free(told->pixels);
    free(told->shrinkage);
}

static HcStatus download_told(const Told *told, HcQueue *queue, const HcColumnFilters *how, HcError *err) {
    size_t groups = (size_t)how->groups;
    HC_OR_RETURN(hc_download(queue, how->deviation, told->deviation,
                             groups * (size_t)how->targets * sizeof(double), err));
    HC_OR_RETURN(hc_download(queue, how->shrinkage, told->shrinkage, groups * sizeof(double), err));
    HC_OR_RETURN(hc_download(queue, how->pixels, told->pixels, groups * sizeof(int64_t), err));
    HC_OR_RETURN(hc_download(queue, how->directions, told->directions, groups * sizeof(int32_t), err));
    HC_OR_RETURN(hc_download(queue, how->scored, told->scored, groups, err));
    return hc_wait(queue, err);
}

/* Filters of the sums, and what is told of them. */
static HcStatus make_filters(HcStage *stage, HcQueue *queue, const Told *told, HcError *err) {
    const HcDetectState *state = stage->state;
    HcDetectColumns *columns = &((HcDetectState *)stage->state)->columns;
    HcColumnFilters how;
    size_t n = (size_t)stage->in.bands;
    int64_t *sums;
    HC_OR_RETURN(open_filters(stage, columns, &how, err));
    HC_OR_RETURN(hc_column_sums_take_on_device(&columns->sums, stage, queue, &sums, err));
    HC_OR_RETURN(hc_upload(queue, columns->sums.unit, (void *)how.unit, (n + 1) * sizeof(double), err));
    HC_OR_RETURN(
        hc_upload(queue, state->spectrum, (void *)how.spectrum, targets_of(stage) * n * sizeof(double), err));
    how.sums = sums;
    if (is_whitened(stage)) { /* triangles take the place of the sums */
        how.whitening = (double *)(void *)sums;
        how.stride = hc_column_values(stage->in.bands);
    }
    HC_OR_RETURN(hc_column_filters(queue, &how, err));
    columns->scoring = (HcColumnScoring){.kind = hc_detect_method(stage)->column,
                                         .width = grouping_of(stage)->width,
                                         .filter = how.filter,
                                         .deviation = how.deviation,
                                         .whitening = how.whitening,
                                         .stride = how.stride,
                                         .scored = how.scored};
    return download_told(told, queue, &how, err);
}

/* As the groups of the background have it. law: [groups][targets]. */
static void take_told(HcStage *stage, const Told *told, HcNullLaw *law) {
    HcDetectState *state = stage->state;
    size_t targets = targets_of(stage);
    for (size_t g = 0; g < (size_t)grouping_of(stage)->count; g++) {
        HcBackgroundGroup *group = &state->scored.background.group[g];
        group->statistics.pixels = told->pixels[g];
        group->shrinkage = told->shrinkage[g];
        group->bare = told->scored[g] == 0;
        for (size_t t = 0; t < targets; t++) {
            law[g * targets + t] = (HcNullLaw){.null = hc_detect_method(stage)->null,
                                               .directions = told->directions[g],
                                               .pixels = told->pixels[g],
                                               .inside = grouping_of(stage)->inside,
                                               .deviation = told->deviation[g * targets + t]};
        }
    }
    int64_t far = state->columns.sums.far[0];
    state->scored.background.far = far;
    if (far > 0) {
        hc_stage_note(stage,
                      "%lld pixels are left out of the backgrounds of their columns: a value is more than 32 "
                      "times the largest of a sample of the scene",
                      (long long)far);
    }
}

static HcStatus begin_fit(HcStage *stage, HcNullLaw *law, HcError *err) {
    HcStatus status = HC_OK;
    HcQueue *queue = NULL;
    HcDetectState *state = stage->state;
    Told told = {0};
    HC_TRY(hc_detect_spectra(stage, err));
    HC_TRY(open_told(&told, (size_t)grouping_of(stage)->count, targets_of(stage), err));
    HC_TRY(hc_queue_open(stage->compute, &queue, err));
    HC_TRY(make_filters(stage, queue, &told, err));
    take_told(stage, &told, law);
    if (!is_whitened(stage)) {
        hc_column_sums_close(&state->columns.sums);
    }
done:
    hc_queue_close(queue);
    close_told(&told);
    return status;
}

/* ---- scores ---- */

static HcStatus score(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                      HcError *err) {
    (void)scratch;
    return hc_column_scores(queue, in, &((HcDetectState *)stage->state)->columns.scoring, out, err);
}

static void report(const HcStage *stage, HcJson *to) {
    const HcDetectState *state = stage->state;
    hc_background_report(&state->scored.background, &hc_detect_params(stage)->scored.background, to);
}

void hc_detect_columns_close(HcStage *stage) {
    HcDetectColumns *columns = &((HcDetectState *)stage->state)->columns;
    hc_column_sums_close(&columns->sums);
    hc_memory_release(stage->compute, &columns->memory);
}

const HcScorerClass hc_detect_by_columns = {.observes = true,
                                            .plan = plan,
                                            .open = open_columns,
                                            .observe = observe,
                                            .settle = hc_detect_settle_targets,
                                            .begin_fit = begin_fit,
                                            .score = score,
                                            .report = report};
