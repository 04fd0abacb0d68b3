/* detect --columns: mf, cem, amf and ace with the mean and covariance of each group of detector columns
 * (pipeline/detections/column_sums.h). Plumes of gas are found this way: detectors of a pushbroom
 * sensor differ by more than a weak plume does (Thompson et al. 2015). Sums, filters and scores are
 * operations, so that blocks and sums stay on the device. */
#include "core/allocate.h"
#include "core/operation/gram/column_filters.h"
#include "pipeline/memory.h"
#include "pipeline/stages/detect/detect.h"
#include "pipeline/statistics/shrinkage.h"

#include <math.h>
#include <string.h>

/* Lines of a mask that are copied to the host at once. */
enum { PIECE = 16 };

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

static int64_t groups_of(const HcStage *stage) {
    return hc_column_groups((int32_t)stage->in.samples, (int32_t)hc_detect_params(stage)->columns);
}

/* What filters are made of and become, without sums and triangles. */
static size_t device_bytes(const HcStage *stage) {
    size_t groups = (size_t)groups_of(stage);
    size_t bands = (size_t)stage->in.bands;
    size_t each = (filter_values(stage) + targets_of(stage) + 2) * sizeof(double) + sizeof(int32_t) + 1;
    return groups * each + ((targets_of(stage) + 1) * bands + 1) * sizeof(double);
}

static HcStatus check(const HcStage *stage, HcError *err) {
    const HcDetectParams *params = hc_detect_params(stage);
    const HcBackgroundParams *background = &params->background;
    if (!hc_detect_method(stage)->background) {
        return hc_fail(err, HC_E_USAGE, "detect: --columns %lld: --method %s has no background",
                       (long long)params->columns, hc_detect_method(stage)->name);
    }
    if (hc_shrinkage_needs_powers(background->shrink)) {
        return hc_fail(err, HC_E_USAGE,
                       "detect: --columns %lld: --shrink %s needs fourth powers of each group: give "
                       "rao-blackwell or oas",
                       (long long)params->columns, background->shrink);
    }
    return HC_OK;
}

/* Whether the largest group can have an inverse. */
static HcStatus check_pixels(const HcStage *stage, HcError *err) {
    const HcDetectParams *params = hc_detect_params(stage);
    int64_t most = stage->in.lines * hc_min64(params->columns, stage->in.samples);
    if (hc_text_equal(params->background.shrink, "none") && most <= stage->in.bands) {
        return hc_fail(
            err, HC_E_INPUT,
            "detect: --columns %lld: a group has at most %lld pixels, fewer than %d bands need: give "
            "more columns, fewer bands, or --shrink",
            (long long)params->columns, (long long)most, stage->in.bands);
    }
    return HC_OK;
}

HcStatus hc_detect_columns_plan(HcStage *stage, HcError *err) {
    const HcDetectParams *params = hc_detect_params(stage);
    HcDetectColumns *columns = &((HcDetectState *)stage->state)->columns;
    size_t samples = (size_t)stage->in.samples;
    size_t groups = (size_t)groups_of(stage);
    HC_OR_RETURN(check(stage, err));
    HC_OR_RETURN(check_pixels(stage, err));
    hc_stage_takes(stage, HC_SPACE_HOST, groups * (targets_of(stage) + 3) * sizeof(double) + PIECE * samples);
    hc_stage_takes(stage, HC_SPACE_DEVICE, device_bytes(stage));
    if (stage->settled || columns->scored != NULL) {
        hc_stage_takes(stage, HC_SPACE_DEVICE,
                       is_whitened(stage) ? groups * hc_column_values(stage->in.bands) * sizeof(double) : 0);
        return HC_OK;
    }
    hc_stage_takes(stage, HC_SPACE_WORKER, hc_column_filters_bytes(stage->in.bands));
    hc_stage_takes(stage, HC_SPACE_APART, hc_column_filters_squares(stage->in.bands, groups_of(stage)));
    hc_column_sums_plan(stage, (int32_t)params->columns);
    return params->background.mask != NULL
               ? hc_selected_plan(&columns->selected, stage, params->background.mask, err)
               : HC_OK;
}

/* ---- sums ---- */

HcStatus hc_detect_columns_open(HcStage *stage, HcError *err) {
    const HcDetectParams *params = hc_detect_params(stage);
    HcDetectColumns *columns = &((HcDetectState *)stage->state)->columns;
    if (params->background.mask != NULL) {
        HC_OR_RETURN(
            hc_selected_open(&columns->selected, stage, "--background-mask", params->background.mask, err));
    }
    return hc_column_sums_open(&columns->sums, stage, (int32_t)params->columns, err);
}

HcStatus hc_detect_columns_observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    HcDetectColumns *columns = &((HcDetectState *)stage->state)->columns;
    if (columns->selected.mask.data == NULL) {
        return hc_column_sums_add(&columns->sums, stage, queue, in, err);
    }
    int64_t end = in->line0 + in->lines;
    int64_t step = hc_selected_lines(stage);
    for (int64_t line = in->line0; line < end; line += step) {
        HcBlock part;
        int64_t next = hc_min64(line + step, end);
        HC_OR_RETURN(hc_selected_take(&columns->selected, queue, in, line, next, &part, err));
        HC_OR_RETURN(hc_column_sums_add(&columns->sums, stage, queue, &part, err));
    }
    return HC_OK;
}

/* ---- filters ---- */

/* Takes the next `bytes` of device memory; places of doubles come first. */
static void *next_of(const HcBuffer *memory, size_t *at, size_t bytes) {
    *at += bytes;
    return (char *)memory->data + *at - bytes;
}

/* Places of what the operation is given and makes, in one piece of device memory. */
static HcStatus open_filters(HcStage *stage, HcDetectColumns *columns, HcColumnFilters *how, HcError *err) {
    const HcDetectMethod *method = hc_detect_method(stage);
    const HcDetectParams *params = hc_detect_params(stage);
    const char *shrink = params->background.shrink;
    HcBuffer *memory = &columns->memory;
    size_t groups = (size_t)groups_of(stage);
    size_t at = 0;
    HC_OR_RETURN(hc_alloc(stage->compute, HC_MEMORY_DEVICE, device_bytes(stage), memory, err));
    *how =
        (HcColumnFilters){.groups = groups_of(stage),
                          .bands = stage->in.bands,
                          .targets = (int32_t)targets_of(stage),
                          .absorption = params->absorption,
                          .products = method->products,
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

/* Filters of the sums, and what is told of them. spectrum: [targets][bands]. */
static HcStatus make_filters(HcStage *stage, HcQueue *queue, const double *spectrum, HcError *err) {
    HcDetectColumns *columns = &((HcDetectState *)stage->state)->columns;
    HcColumnFilters how;
    size_t groups = (size_t)groups_of(stage);
    size_t n = (size_t)stage->in.bands;
    int64_t *sums;
    HC_OR_RETURN(open_filters(stage, columns, &how, err));
    HC_OR_RETURN(hc_column_sums_take_on_device(&columns->sums, stage, queue, &sums, err));
    HC_OR_RETURN(hc_upload(queue, columns->sums.unit, (void *)how.unit, (n + 1) * sizeof(double), err));
    HC_OR_RETURN(
        hc_upload(queue, spectrum, (void *)how.spectrum, targets_of(stage) * n * sizeof(double), err));
    how.sums = sums;
    if (is_whitened(stage)) { /* triangles take the place of the sums */
        how.whitening = (double *)(void *)sums;
        how.stride = hc_column_values(stage->in.bands);
    }
    HC_OR_RETURN(hc_column_filters(queue, &how, err));
    HC_OR_RETURN(hc_download(queue, how.deviation, columns->deviation,
                             groups * targets_of(stage) * sizeof(double), err));
    HC_OR_RETURN(hc_download(queue, how.shrinkage, columns->shrinkage, groups * sizeof(double), err));
    HC_OR_RETURN(hc_download(queue, how.pixels, columns->pixels, groups * sizeof(int64_t), err));
    HC_OR_RETURN(hc_download(queue, how.directions, columns->directions, groups * sizeof(int32_t), err));
    HC_OR_RETURN(hc_download(queue, how.scored, columns->scored, groups, err));
    HC_OR_RETURN(hc_wait(queue, err));
    columns->scoring = (HcColumnScoring){.kind = hc_detect_method(stage)->column,
                                         .width = (int32_t)hc_detect_params(stage)->columns,
                                         .filter = how.filter,
                                         .deviation = how.deviation,
                                         .whitening = how.whitening,
                                         .stride = how.stride,
                                         .scored = how.scored};
    return HC_OK;
}

static HcStatus refuse_all(const HcStage *stage, HcError *err) {
    const HcDetectColumns *columns = &((const HcDetectState *)stage->state)->columns;
    int64_t most = 0;
    for (int64_t g = 0; g < columns->groups; g++) {
        most = hc_max64(most, columns->pixels[g]);
    }
    return hc_fail(
        err, HC_E_NUMERIC,
        "detect: --columns %lld: no group of columns has a filter: the largest background has %lld "
        "pixels, for %d bands",
        (long long)hc_detect_params(stage)->columns, (long long)most, stage->in.bands);
}

/* Groups without a filter. */
static int64_t count_bare_groups(const HcDetectColumns *columns) {
    int64_t count = 0;
    for (int64_t g = 0; g < columns->groups; g++) {
        count += columns->scored[g] == 0;
    }
    return count;
}

static HcStatus fit_rates(HcStage *stage, HcError *err) {
    HcDetectState *state = stage->state;
    const HcDetectColumns *columns = &state->columns;
    size_t targets = targets_of(stage);
    HcNullLaw *law = NULL;
    state->rates.columns = hc_detect_params(stage)->columns;
    HC_OR_RETURN(hc_new(law, (size_t)columns->groups * targets, "distributions of scores", err));
    for (size_t i = 0; i < (size_t)columns->groups * targets; i++) {
        law[i] = (HcNullLaw){.null = hc_detect_method(stage)->null,
                             .directions = columns->directions[i / targets],
                             .pixels = columns->pixels[i / targets],
                             .inside = columns->selected.inside,
                             .deviation = columns->deviation[i]};
    }
    HcStatus status = hc_rates_fit(&state->rates, stage, columns->groups, law, err);
    free(law);
    return status;
}

HcStatus hc_detect_columns_make(HcStage *stage, const double *spectrum, HcError *err) {
    static const char what[] = "filters of columns";
    HcStatus status = HC_OK;
    HcQueue *queue = NULL;
    HcDetectColumns *columns = &((HcDetectState *)stage->state)->columns;
    size_t groups = (size_t)groups_of(stage);
    HC_TRY(hc_new(columns->scored, groups, what, err));
    HC_TRY(hc_new(columns->pixels, groups, what, err));
    HC_TRY(hc_new(columns->shrinkage, groups, what, err));
    HC_TRY(hc_new(columns->deviation, groups * targets_of(stage), what, err));
    HC_TRY(hc_new(columns->directions, groups, what, err));
    HC_TRY(hc_queue_open(stage->compute, &queue, err));
    HC_TRY(make_filters(stage, queue, spectrum, err));
    columns->groups = (int64_t)groups;
    columns->far = columns->sums.far[0];
    if (!is_whitened(stage)) {
        hc_column_sums_close(&columns->sums);
    }
    int64_t bare = count_bare_groups(columns);
    if (bare == columns->groups) {
        HC_TRY(refuse_all(stage, err));
    }
    if (bare > 0) {
        HC_TRY(
            hc_alloc(stage->compute, HC_MEMORY_HOST, PIECE * (size_t)stage->in.samples, &columns->mask, err));
    }
    HC_TRY(fit_rates(stage, err));
done:
    hc_queue_close(queue);
    return status;
}

/* ---- scores ---- */

/* Valid pixels of interior lines whose group has no filter, by the mask of what comes in. */
static HcStatus count_bare(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                           HcError *err) {
    HcDetectColumns *columns = &((HcDetectState *)stage->state)->columns;
    HcBlock interior = hc_block_part(in, out->line0, out->line0 + out->lines, 0);
    int64_t width = hc_detect_params(stage)->columns;
    uint8_t *mask = columns->mask.data;
    for (int64_t line = 0; line < interior.lines; line += PIECE) {
        int64_t pixels = hc_min64(PIECE, interior.lines - line) * interior.samples;
        HC_OR_RETURN(hc_download(queue, interior.mask + line * interior.samples, mask, (size_t)pixels, err));
        HC_OR_RETURN(hc_wait(queue, err));
        for (int64_t p = 0; p < pixels; p++) {
            columns->bare += mask[p] != 0 && columns->scored[p % interior.samples / width] == 0;
        }
    }
    return HC_OK;
}

HcStatus hc_detect_columns_process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                                   HcError *err) {
    HcDetectColumns *columns = &((HcDetectState *)stage->state)->columns;
    if (columns->mask.data != NULL) {
        HC_OR_RETURN(count_bare(stage, queue, in, out, err));
    }
    return hc_column_scores(queue, in, &columns->scoring, out, err);
}

/* ---- what is told ---- */

HcStatus hc_detect_columns_gather(HcStage *stage, HcError *err) {
    HcDetectColumns *columns = &((HcDetectState *)stage->state)->columns;
    HC_OR_RETURN(hc_ranks_sum(hc_stage_ranks(stage), &columns->bare, 1, err));
    if (columns->bare > 0) {
        hc_stage_note(stage,
                      "%lld pixels have no score and are masked: their columns have too few valid pixels, or "
                      "pixels without variation",
                      (long long)columns->bare);
    }
    if (columns->far > 0) {
        hc_stage_note(stage,
                      "%lld pixels are left out of the backgrounds of their columns: a value is more than 32 "
                      "times the largest of a sample of the scene",
                      (long long)columns->far);
    }
    return HC_OK;
}

void hc_detect_columns_report(const HcStage *stage, HcJson *to) {
    const HcDetectColumns *columns = &((const HcDetectState *)stage->state)->columns;
    int64_t pixels = 0, without = 0;
    double shrinkage = 0;
    for (int64_t g = 0; g < columns->groups; g++) {
        pixels += columns->pixels[g];
        without += columns->scored[g] == 0;
        shrinkage += columns->shrinkage[g] / (double)columns->groups;
    }
    hc_json_put_number(to, "background_pixels", (double)pixels);
    hc_json_put_number(to, "column_groups", (double)columns->groups);
    hc_json_put_number(to, "groups_without_score", (double)without);
    hc_json_put_number(to, "without_score", (double)columns->bare);
    hc_json_put_number(to, "left_out", (double)columns->far);
    hc_json_put_double(to, "mean_shrinkage", shrinkage);
}

void hc_detect_columns_close(HcStage *stage) {
    HcDetectColumns *columns = &((HcDetectState *)stage->state)->columns;
    hc_column_sums_close(&columns->sums);
    hc_selected_close(&columns->selected, stage->compute);
    hc_memory_release(stage->compute, &columns->mask);
    hc_memory_release(stage->compute, &columns->memory);
    free(columns->deviation);
    free(columns->directions);
    free(columns->scored);
    free(columns->pixels);
    free(columns->shrinkage);
    *columns = (HcDetectColumns){0};
}
