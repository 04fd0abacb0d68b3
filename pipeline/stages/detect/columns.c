/* detect --columns: mf, cem, amf and ace with the mean and covariance of each group of detector columns
 * (pipeline/detections/column_sums.h). Plumes of gas are found this way: detectors of a pushbroom
 * sensor differ by more than a weak plume does (Thompson et al. 2015). Filters and scores are computed on the
 * host, since they are little work beside the sums. */
#include "core/allocate.h"
#include "pipeline/memory.h"
#include "pipeline/stages/detect/detect.h"
#include "pipeline/statistics/dense.h"
#include "pipeline/statistics/shrinkage.h"

#include <math.h>
#include <string.h>

/* Lines that are copied to the host at once. */
enum { PIECE = 16, THREADS_MAX = 64 };

static const char what[] = "filters of columns";

/* ---- plan ---- */

static size_t targets_of(const HcStage *stage) {
    return (size_t)((const HcDetectState *)stage->state)->targets;
}

static size_t filter_values(const HcStage *stage) {
    return (1 + targets_of(stage)) * (size_t)stage->in.bands;
}

static bool is_whitened(const HcStage *stage) {
    return hc_detect_method(stage) == &hc_detect_ace;
}

static size_t panel_values(const HcStage *stage) {
    return is_whitened(stage) ? HC_DETECT_PANEL * (size_t)stage->in.bands : 0;
}

static int64_t groups_of(const HcStage *stage) {
    int64_t width = hc_detect_params(stage)->columns;
    return (stage->in.samples + width - 1) / width;
}

/* What a thread makes filters with. */
static size_t work_values(size_t bands) {
    return bands * bands + hc_dense_padded(bands) * hc_dense_stride(bands) +
           HC_TILE * hc_dense_stride(bands) + 5 * hc_dense_padded(bands);
}

static HcStatus check(const HcStage *stage, HcError *err) {
    const HcDetectParams *params = hc_detect_params(stage);
    const HcBackgroundParams *background = &params->background;
    const char *unused = background->file != NULL       ? "background"
                         : params->classes.path != NULL ? "background-classes"
                         : !isnan(background->robust)   ? "robust"
                                                        : NULL;
    if (!hc_detect_method(stage)->background) {
        return hc_fail(err, HC_E_USAGE, "detect: --columns %lld: --method %s has no background",
                       (long long)params->columns, hc_detect_method(stage)->name);
    }
    if (unused != NULL) {
        return hc_fail(err, HC_E_USAGE, "detect: --columns %lld: each group has its own background: no --%s",
                       (long long)params->columns, unused);
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
    size_t bands = (size_t)stage->in.bands;
    HC_OR_RETURN(check(stage, err));
    HC_OR_RETURN(check_pixels(stage, err));
    stage->needs.host_bytes +=
        (size_t)groups_of(stage) * (filter_values(stage) + targets_of(stage) + 3) * sizeof(double);
    stage->needs.host_bytes += PIECE * samples * ((bands + targets_of(stage)) * sizeof(float) + 1);
    stage->needs.worker_bytes += (work_values(bands) + panel_values(stage)) * sizeof(double);
    if (stage->settled || columns->filter != NULL) {
        stage->needs.host_bytes += (size_t)columns->groups * columns->whitening_values * sizeof(double);
        return HC_OK;
    }
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

/* Threads that make the filters of groups. */
typedef struct Making {
    const HcStage *stage;
    HcDetectColumns *columns;
    HcDetectInput in; /* without mean and covariance */
    double *work;     /* [threads][work_values()] */
    int32_t *band;    /* [threads][bands] */
    uint8_t *used;    /* [threads][bands] */
} Making;

/* weight = inv(C) signal / power on the bands that take part. Returns the power signal' inv(C) signal, which
 * is not above 0, or not finite, where there is no such filter. */
static double solve(const HcDenseFactor *factor, const double *signal, double *scratch, double *weight) {
    size_t n = factor->bands;
    double power = 0;
    double *rest = scratch;
    double *y = scratch + hc_dense_padded(n);
    for (size_t b = 0; b < n; b++) {
        rest[b] = signal[b] * factor->scale[b];
        weight[b] = 0;
    }
    for (size_t k = 0; k < factor->kept; k++) {
        const double *row = factor->upper + k * factor->stride;
        size_t own = (size_t)factor->band[k];
        y[k] = rest[own] * factor->reciprocal[k];
        power += y[k] * y[k];
        for (size_t b = own + 1; b < n; b++) {
            rest[b] -= row[b] * y[k];
        }
    }
    for (size_t k = factor->kept; k-- > 0;) {
        const double *row = factor->upper + k * factor->stride;
        size_t own = (size_t)factor->band[k];
        double sum = y[k];
        for (size_t b = own + 1; b < n; b++) {
            sum -= row[b] * weight[b];
        }
        weight[own] = sum * factor->reciprocal[k];
    }
    for (size_t b = 0; b < n; b++) {
        weight[b] *= factor->scale[b] / power;
    }
    return power;
}

/* The filters of a group, of its mean and of the matrix that is inverted. */
static bool make_filters(const Making *making, const double *covariance, HcDenseFactor *factor, uint8_t *used,
                         double *scratch, double *filter, double *deviation) {
    size_t n = factor->bands;
    memset(factor->upper, 0, hc_dense_padded(n) * factor->stride * sizeof *factor->upper);
    for (size_t b = 0; b < n; b++) {
        double variance = covariance[b * n + b];
        used[b] = variance > 0;
        factor->scale[b] = used[b] ? 1 / sqrt(variance) : 0;
    }
    hc_dense_factorise(factor, covariance, used);
    bool fine = factor->kept > 0;
    for (int32_t j = 0; j < making->in.targets && fine; j++) {
        double *weight = filter + (size_t)(j + 1) * n;
        double *signal = scratch + 2 * hc_dense_padded(n);
        hc_detect_signal(&making->in, j, filter, signal);
        double power = solve(factor, signal, scratch, weight);
        fine = power > 0 && isfinite(power);
        deviation[j] = 1 / sqrt(power);
    }
    return fine;
}

/* For cem, whose filter is that of the mean of x x' and has no offset. */
static void use_products(double *covariance, double *mean, size_t n, double count) {
    for (size_t b = 0; b < n; b++) {
        for (size_t c = 0; c < n; c++) {
            covariance[b * n + c] = covariance[b * n + c] * ((count - 1) / count) + mean[b] * mean[c];
        }
    }
    memset(mean, 0, n * sizeof *mean);
}

static void make_group(void *user, int64_t group, int32_t thread) {
    const Making *making = user;
    HcDetectColumns *columns = making->columns;
    const HcBackgroundParams *params = &hc_detect_params(making->stage)->background;
    size_t n = (size_t)making->in.bands;
    size_t padded = hc_dense_padded(n);
    double *covariance = making->work + (size_t)thread * work_values(n);
    double *filter = columns->filter + (size_t)group * filter_values(making->stage);
    HcDenseFactor factor = {.bands = n,
                            .stride = hc_dense_stride(n),
                            .band = making->band + (size_t)thread * n,
                            .upper = covariance + n * n};
    uint8_t *used = making->used + (size_t)thread * n;
    factor.rest = factor.upper + padded * factor.stride;
    factor.scale = factor.rest + HC_TILE * factor.stride;
    factor.reciprocal = factor.scale + padded;
    int64_t pixels = hc_column_sums_statistics(&columns->sums, group, filter, covariance);
    columns->pixels[group] = pixels;
    if (pixels < 2) {
        return;
    }
    HcStatistics background = {.pixels = pixels, .mean = filter, .covariance = covariance};
    background.scene.bands = making->in.bands;
    double share = hc_shrinkage_share(&background, params->shrink, 0);
    hc_shrinkage_apply(&background, share);
    columns->shrinkage[group] = share;
    if (share == 0 && pixels <= making->in.bands) {
        return;
    }
    if (hc_detect_method(making->stage) == &hc_detect_cem) {
        use_products(covariance, filter, n, (double)pixels);
    }
    columns->scored[group] =
        make_filters(making, covariance, &factor, used, factor.reciprocal + padded, filter,
                     columns->deviation + (size_t)group * targets_of(making->stage));
    columns->directions[group] = (int32_t)factor.kept;
    if (columns->whitening != NULL) {
        hc_detect_pack(&factor, covariance, columns->whitening + (size_t)group * columns->whitening_values);
    }
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

static HcStatus open_scores(HcStage *stage, HcDetectColumns *columns, HcError *err) {
    HcComputeInfo info;
    size_t pixels = PIECE * (size_t)stage->in.samples;
    hc_compute_info(stage->compute, &info);
    columns->team = hc_team_open(hc_team_count(info.threads, THREADS_MAX));
    size_t threads = (size_t)hc_team_threads(columns->team);
    HC_OR_RETURN(hc_new_aligned(columns->panel, threads * panel_values(stage) + 1, what, err));
    if (info.shared_memory) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_alloc(stage->compute, HC_MEMORY_HOST, pixels * (size_t)stage->in.bands * sizeof(float),
                          &columns->values, err));
    HC_OR_RETURN(hc_alloc(stage->compute, HC_MEMORY_HOST, pixels, &columns->mask, err));
    return hc_alloc(stage->compute, HC_MEMORY_HOST, pixels * targets_of(stage) * sizeof(float),
                    &columns->score, err);
}

static bool any_scored(const HcDetectColumns *columns) {
    int64_t g = 0;
    while (g < columns->groups && columns->scored[g] == 0) {
        g++;
    }
    return g < columns->groups;
}

static int64_t group_of(const HcStage *stage, int64_t line, int64_t sample) {
    (void)line;
    return sample / hc_detect_params(stage)->columns;
}

static HcStatus fit_rates(HcStage *stage, HcError *err) {
    HcDetectState *state = stage->state;
    const HcDetectColumns *columns = &state->columns;
    state->rates.group_of = group_of;
    return hc_rates_fit(&state->rates, hc_detect_method(stage)->null, columns->groups, columns->directions,
                        columns->deviation, err);
}

HcStatus hc_detect_columns_make(HcStage *stage, const double *spectrum, HcError *err) {
    HcStatus status = HC_OK;
    HcDetectState *state = stage->state;
    HcDetectColumns *columns = &state->columns;
    size_t n = (size_t)stage->in.bands;
    Making making = {.stage = stage, .columns = columns};
    making.in = (HcDetectInput){.bands = stage->in.bands,
                                .targets = state->targets,
                                .spectrum = spectrum,
                                .absorption = hc_detect_params(stage)->absorption};
    HC_TRY(hc_column_sums_take(&columns->sums, stage, err));
    columns->far = columns->sums.far[0];
    columns->groups = columns->sums.groups;
    size_t groups = (size_t)columns->groups;
    size_t threads = (size_t)hc_team_threads(columns->sums.team);
    HC_TRY(hc_new(columns->filter, groups * filter_values(stage), what, err));
    HC_TRY(hc_new(columns->scored, groups, what, err));
    HC_TRY(hc_new(columns->pixels, groups, what, err));
    HC_TRY(hc_new(columns->shrinkage, groups, what, err));
    HC_TRY(hc_new(columns->deviation, groups * targets_of(stage), what, err));
    HC_TRY(hc_new(columns->directions, groups, what, err));
    if (is_whitened(stage)) {
        columns->whitening = hc_column_sums_give(&columns->sums, &columns->whitening_values);
    }
    HC_TRY(hc_new(making.work, threads * work_values(n), what, err));
    HC_TRY(hc_new(making.band, threads * n, what, err));
    HC_TRY(hc_new(making.used, threads * n, what, err));
    hc_team_run(columns->sums.team, columns->groups, make_group, &making);
    hc_column_sums_close(&columns->sums);
    if (!any_scored(columns)) {
        HC_TRY(refuse_all(stage, err));
    }
    HC_TRY(open_scores(stage, columns, err));
    HC_TRY(fit_rates(stage, err));
done:
    free(making.work);
    free(making.band);
    free(making.used);
    return status;
}

/* ---- scores ---- */

typedef struct Scoring {
    HcDetectColumns *columns;
    const HcDetectMethod *method;
    HcBlock in, out; /* [host] of as many rows */
    size_t width, filter_values;
} Scoring;

/* The pixels of a group that are whitened together. */
typedef struct Panel {
    double *x; /* [bands][HC_DETECT_PANEL] x - mean */
    size_t pixel[HC_DETECT_PANEL];
    size_t count; /* of them */
} Panel;

/* The scores of a pixel; square: its whitened length, for ace. */
static void score_pixel(const Scoring *scoring, int64_t group, size_t pixel, double square) {
    const HcDetectColumns *columns = scoring->columns;
    size_t n = (size_t)scoring->in.bands;
    size_t targets = (size_t)scoring->out.bands;
    const double *filter = columns->filter + (size_t)group * scoring->filter_values;
    const double *deviation = columns->deviation + (size_t)group * targets;
    float *out = scoring->out.data + pixel * targets;
    for (size_t j = 0; j < targets; j++) {
        double share = hc_detect_score(scoring->in.data + pixel * n, filter, filter + (j + 1) * n, n);
        double along = share / deviation[j]; /* the part along the target, in standard deviations */
        out[j] = (float)(scoring->method == &hc_detect_amf   ? along * fabs(along)
                         : scoring->method != &hc_detect_ace ? share
                         : square > 0                        ? along * fabs(along) / square
                                                             : 0);
    }
}

static void finish_panel(const Scoring *scoring, int64_t group, Panel *panel) {
    const HcDetectColumns *columns = scoring->columns;
    size_t n = (size_t)scoring->in.bands;
    double square[HC_DETECT_PANEL];
    if (panel->count == 0) {
        return;
    }
    for (size_t i = 0; i < n * HC_DETECT_PANEL; i++) { /* places without a pixel */
        panel->x[i] = i % HC_DETECT_PANEL < panel->count ? panel->x[i] : 0;
    }
    hc_detect_squares(columns->whitening + (size_t)group * columns->whitening_values, n, panel->x, square);
    for (size_t p = 0; p < panel->count; p++) {
        score_pixel(scoring, group, panel->pixel[p], square[p]);
    }
    panel->count = 0;
}

static void put_pixel(const Scoring *scoring, int64_t group, Panel *panel, size_t pixel) {
    size_t n = (size_t)scoring->in.bands;
    const float *x = scoring->in.data + pixel * n;
    const double *mean = scoring->columns->filter + (size_t)group * scoring->filter_values;
    for (size_t b = 0; b < n; b++) {
        panel->x[b * HC_DETECT_PANEL + panel->count] = (double)x[b] - mean[b];
    }
    panel->pixel[panel->count++] = pixel;
    if (panel->count == HC_DETECT_PANEL) {
        finish_panel(scoring, group, panel);
    }
}

static void score_group(void *user, int64_t group, int32_t thread) {
    const Scoring *scoring = user;
    const HcDetectColumns *columns = scoring->columns;
    const HcBlock *in = &scoring->in;
    size_t samples = (size_t)in->samples;
    size_t targets = (size_t)scoring->out.bands;
    size_t begin = (size_t)group * scoring->width;
    size_t end = (size_t)hc_min64((int64_t)(begin + scoring->width), in->samples);
    Panel panel = {.x = columns->panel + (size_t)thread * HC_DETECT_PANEL * (size_t)in->bands};
    for (size_t row = 0; row < (size_t)hc_block_rows(in); row++) {
        for (size_t p = row * samples + begin; p < row * samples + end; p++) {
            bool scored = in->mask[p] != 0 && columns->scored[group] != 0;
            scoring->out.mask[p] = scored;
            if (!scored) {
                memset(scoring->out.data + p * targets, 0, targets * sizeof(float));
            } else if (columns->whitening != NULL) {
                put_pixel(scoring, group, &panel, p);
            } else {
                score_pixel(scoring, group, p, 0);
            }
        }
    }
    finish_panel(scoring, group, &panel);
}

/* Valid pixels of interior lines whose group has no filter. */
static void count_bare(HcDetectColumns *columns, const HcBlock *in, const HcBlock *interior, size_t width) {
    for (int64_t row = 0; row < hc_block_rows(in); row++) {
        int64_t line = hc_block_first_line(in) + row;
        if (line < interior->line0 || line >= interior->line0 + interior->lines) {
            continue;
        }
        for (size_t s = 0; s < (size_t)in->samples; s++) {
            columns->bare +=
                columns->scored[s / width] == 0 && in->mask[(size_t)row * (size_t)in->samples + s];
        }
    }
}

static void score_rows(HcDetectColumns *columns, Scoring *scoring, const HcBlock *interior) {
    count_bare(columns, &scoring->in, interior, scoring->width);
    hc_team_run(columns->team, columns->groups, score_group, scoring);
}

/* Rows [line, line + count) by way of the host. */
static HcStatus score_piece(HcDetectColumns *columns, Scoring *scoring, HcQueue *queue, const HcBlock *from,
                            const HcBlock *to, const HcBlock *interior, HcError *err) {
    size_t pixels = hc_block_pixels(from);
    scoring->in = *from;
    scoring->in.data = columns->values.data;
    scoring->in.mask = columns->mask.data;
    scoring->out = *to;
    scoring->out.data = columns->score.data;
    scoring->out.mask = columns->mask.data; /* read before it is written */
    HC_OR_RETURN(
        hc_download(queue, from->data, scoring->in.data, pixels * (size_t)from->bands * sizeof(float), err));
    HC_OR_RETURN(hc_download(queue, from->mask, scoring->in.mask, pixels, err));
    HC_OR_RETURN(hc_wait(queue, err));
    score_rows(columns, scoring, interior);
    HC_OR_RETURN(
        hc_upload(queue, scoring->out.data, to->data, pixels * (size_t)to->bands * sizeof(float), err));
    HC_OR_RETURN(hc_upload(queue, scoring->out.mask, to->mask, pixels, err));
    return hc_wait(queue, err);
}

HcStatus hc_detect_columns_process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                                   HcError *err) {
    HcDetectColumns *columns = &((HcDetectState *)stage->state)->columns;
    HcBlock from = hc_block_rows_of(in, out);
    int64_t first = hc_block_first_line(out);
    HcBlock to = hc_block_part(out, first, first + hc_block_rows(out), 0);
    Scoring scoring = {.columns = columns,
                       .method = hc_detect_method(stage),
                       .in = from,
                       .out = to,
                       .width = (size_t)hc_detect_params(stage)->columns,
                       .filter_values = filter_values(stage)};
    if (columns->values.data == NULL) {
        HC_OR_RETURN(hc_wait(queue, err));
        score_rows(columns, &scoring, out);
        return HC_OK;
    }
    for (int64_t line = first; line < first + to.lines; line += PIECE) {
        int64_t next = hc_min64(line + PIECE, first + to.lines);
        HcBlock piece = hc_block_part(&from, line, next, 0);
        HcBlock scores = hc_block_part(&to, line, next, 0);
        HC_OR_RETURN(score_piece(columns, &scoring, queue, &piece, &scores, out, err));
    }
    return HC_OK;
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
    hc_team_close(columns->team);
    hc_memory_release(stage->compute, &columns->values);
    hc_memory_release(stage->compute, &columns->mask);
    hc_memory_release(stage->compute, &columns->score);
    free(columns->filter);
    free(columns->deviation);
    free(columns->directions);
    free(columns->whitening);
    free(columns->panel);
    free(columns->scored);
    free(columns->pixels);
    free(columns->shrinkage);
    *columns = (HcDetectColumns){0};
}
