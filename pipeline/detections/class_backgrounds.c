#include "pipeline/detections/class_backgrounds.h"
#include "core/allocate.h"
#include "io/training/training.h"
#include "pipeline/memory.h"
#include "pipeline/statistics/shrinkage.h"
#include "pipeline/words.h"

#include <stdlib.h>
#include <string.h>

static const char what[] = "backgrounds of classes";

static size_t scene_pixels(const HcStage *stage) {
    return (size_t)stage->in.lines * (size_t)stage->in.samples;
}

/* ---- plan ---- */

static HcStatus check(const HcStage *stage, const HcBackgroundParams *params, HcError *err) {
    const char *unused = params->file != NULL     ? "background"
                         : params->mask != NULL   ? "background-mask"
                         : !isnan(params->robust) ? "robust"
                                                  : NULL;
    if (unused != NULL) {
        return hc_fail(err, HC_E_USAGE,
                       "%s: --background-classes: each class has its own background: no --%s",
                       stage->kind->name, unused);
    }
    if (hc_shrinkage_needs_powers(params->shrink)) {
        return hc_fail(err, HC_E_USAGE,
                       "%s: --background-classes: --shrink %s needs fourth powers of each class: give "
                       "rao-blackwell or oas",
                       stage->kind->name, params->shrink);
    }
    return HC_OK;
}

static HcStatus take_labels(HcClassBackgrounds *classes, const HcStage *stage, const HcLabelled *pixels,
                            HcError *err) {
    int32_t count = pixels->classes.count - 1;
    HC_OR_RETURN(hc_new(classes->name, (size_t)count, what, err));
    HC_OR_RETURN(hc_new(classes->label, scene_pixels(stage), what, err));
    for (int32_t c = 0; c < count; c++) {
        classes->name[c] = strdup(pixels->classes.name[c + 1]);
        if (classes->name[c] == NULL) {
            return hc_fail_memory(err, 0, "the name of a class");
        }
        classes->count = c + 1;
    }
    for (int64_t k = 0; k < pixels->count; k++) {
        classes->label[(int64_t)pixels->line[k] * stage->in.samples + pixels->sample[k]] =
            (uint8_t)pixels->label[k];
    }
    return HC_OK;
}

static HcStatus read_labels(HcClassBackgrounds *classes, HcStage *stage, const HcClassParams *asked,
                            HcError *err) {
    HcStatus status = HC_OK;
    const char *path = asked->path;
    HcLabelled pixels = {0};
    HcText note = {0};
    HC_TRY(hc_labelled_read_any(path, asked->field, asked->layer, NULL, &stage->in, &pixels, err));
    if (pixels.classes.count - 1 > HC_CLASS_BACKGROUNDS_MAX) {
        HC_TRY(hc_fail(err, HC_E_UNSUPPORTED, "%s: --background-classes %s: %d classes, at most %d may be",
                       stage->kind->name, path, pixels.classes.count - 1, HC_CLASS_BACKGROUNDS_MAX));
    }
    HC_TRY(take_labels(classes, stage, &pixels, err));
    hc_labelled_note(&pixels, &note);
    hc_stage_note_file(stage, path, &note);
done:
    hc_labelled_clear(&pixels);
    return status;
}

static size_t part_pixels(const HcStage *stage) {
    return (size_t)hc_selected_lines(stage) * (size_t)stage->in.samples;
}

HcStatus hc_class_backgrounds_check(const HcStage *stage, const HcClassParams *asked, HcError *err) {
    const char *unused = asked->field != NULL ? "field" : asked->layer != NULL ? "layer" : NULL;
    return asked->path != NULL || unused == NULL
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "%s: --%s %s: goes with --background-classes", stage->kind->name,
                         unused, asked->field != NULL ? asked->field : asked->layer);
}

HcStatus hc_class_backgrounds_plan(HcClassBackgrounds *classes, HcStage *stage, const HcClassParams *asked,
                                   const HcBackgroundParams *params, int32_t scores, HcError *err) {
    HC_OR_RETURN(check(stage, params, err));
    HC_OR_RETURN(hc_stage_reads(stage, asked->path, err));
    if (classes->count == 0) {
        HC_OR_RETURN(read_labels(classes, stage, asked, err));
    }
    size_t bands = (size_t)stage->in.bands;
    size_t count = (size_t)classes->count;
    HcNeeds *needs = &stage->needs;
    needs->bytes_fixed += part_pixels(stage) * ((size_t)scores * sizeof(float) + 1);
    needs->host_bytes += scene_pixels(stage) + 2 * part_pixels(stage) * ((size_t)scores * sizeof(float) + 1) +
                         part_pixels(stage) + count * (bands + 1) * bands * sizeof(double);
    if (stage->settled || classes->statistics != NULL) {
        return HC_OK;
    }
    for (size_t c = 0; c < count; c++) {
        hc_scene_sums_plan(stage, HC_DIFFERENCE_NONE);
    }
    needs->selects = true;
    needs->bytes_fixed += count * scene_pixels(stage) + hc_selected_part_bytes(stage);
    needs->host_bytes +=
        (1 + 4 * sizeof(int32_t)) * scene_pixels(stage); /* a mask; the labels as they are read */
    return HC_OK;
}

/* ---- sums ---- */

static HcStatus open_mask(HcClassBackgrounds *classes, HcStage *stage, int32_t number, uint8_t *mask,
                          HcError *err) {
    for (size_t p = 0; p < scene_pixels(stage); p++) {
        mask[p] = classes->label[p] == number + 1;
    }
    HC_OR_RETURN(hc_memory_upload(stage->compute, mask, scene_pixels(stage), &classes->mask[number], err));
    return hc_scene_sums_open(&classes->sums[number], stage, HC_DIFFERENCE_NONE, NULL, err);
}

static HcStatus open_scores(HcClassBackgrounds *classes, HcStage *stage, int32_t scores, HcError *err) {
    HcComputeInfo info;
    HcCompute *compute = stage->compute;
    size_t pixels = part_pixels(stage);
    size_t bytes = pixels * (size_t)scores * sizeof(float);
    hc_compute_info(compute, &info);
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_DEVICE, bytes + pixels, &classes->part, err));
    if (info.shared_memory) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_HOST, pixels, &classes->valid, err));
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_HOST, bytes, &classes->score, err));
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_HOST, pixels, &classes->score_mask, err));
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_HOST, bytes, &classes->result, err));
    return hc_alloc(compute, HC_MEMORY_HOST, pixels, &classes->result_mask, err);
}

HcStatus hc_class_backgrounds_open(HcClassBackgrounds *classes, HcStage *stage, int32_t scores,
                                   HcError *err) {
    HcStatus status = HC_OK;
    uint8_t *mask = NULL;
    HC_TRY(hc_new(classes->mask, classes->count, what, err));
    HC_TRY(hc_new(classes->sums, classes->count, what, err));
    HC_TRY(hc_new(mask, scene_pixels(stage), "a mask", err));
    for (int32_t c = 0; c < classes->count; c++) {
        HC_TRY(open_mask(classes, stage, c, mask, err));
    }
    HC_TRY(hc_selected_open_part(&classes->selected, stage, err));
    HC_TRY(open_scores(classes, stage, scores, err));
done:
    free(mask);
    return status;
}

/* Whether the lines [first, end) have a pixel of the class. */
static bool has_class(const HcClassBackgrounds *classes, const HcStage *stage, int32_t number, int64_t first,
                      int64_t end) {
    const uint8_t *label = classes->label + first * stage->in.samples;
    return memchr(label, number + 1, (size_t)((end - first) * stage->in.samples)) != NULL;
}

HcStatus hc_class_backgrounds_observe(HcClassBackgrounds *classes, HcStage *stage, HcQueue *queue,
                                      const HcBlock *in, HcError *err) {
    int64_t end = in->line0 + in->lines;
    int64_t step = hc_selected_lines(stage);
    for (int64_t line = in->line0; line < end; line += step) {
        int64_t next = hc_min64(line + step, end);
        for (int32_t c = 0; c < classes->count; c++) {
            HcBlock part;
            if (!has_class(classes, stage, c, line, next)) {
                continue;
            }
            HC_OR_RETURN(hc_selected_take_by(&classes->selected, classes->mask[c].data, queue, in, line, next,
                                             &part, err));
            HC_OR_RETURN(hc_scene_sums_add(&classes->sums[c], stage, queue, &part, err));
        }
    }
    return HC_OK;
}

HcStatus hc_class_backgrounds_named(const HcClassBackgrounds *classes, const HcStage *stage, int32_t number,
                                    HcStatus status, HcError *err) {
    if (status != HC_E_NUMERIC || err == NULL) {
        return status;
    }
    size_t length = strlen(stage->kind->name);
    if (strncmp(err->text, stage->kind->name, length) == 0 && strncmp(err->text + length, ": ", 2) == 0) {
        memmove(err->text, err->text + length + 2, strlen(err->text + length + 2) + 1);
    }
    return hc_fail_before(err, status, "class \"%s\"", classes->name[number]);
}

/* Fewer than two pixels have no covariance, and those without --shrink no inverse. */
static HcStatus check_pixels(const HcClassBackgrounds *classes, const HcStage *stage, const char *path,
                             const HcBackgroundParams *params, int32_t number, int64_t pixels, HcError *err) {
    bool shrunk = !hc_text_equal(params->shrink, "none");
    if (pixels >= (shrunk ? 2 : stage->in.bands + 1)) {
        return HC_OK;
    }
    return hc_fail(
        err, HC_E_NUMERIC,
        "%s: --background-classes %s: class \"%s\" has %lld valid pixels, fewer than %d bands need: "
        "give fewer bands, %sor a map without this class",
        stage->kind->name, path, classes->name[number], (long long)pixels, stage->in.bands,
        shrunk ? "" : "--shrink, ");
}

static HcStatus settle_class(HcClassBackgrounds *classes, HcStage *stage, const char *path,
                             const HcBackgroundParams *params, int32_t number, HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    HcMoments moments = {0};
    HcStatistics *statistics = &classes->statistics[number];
    HC_TRY(hc_scene_sums_take(&classes->sums[number], stage, queue, &moments, err));
    HC_TRY(check_pixels(classes, stage, path, params, number, moments.count, err));
    HC_TRY(hc_class_backgrounds_named(
        classes, stage, number,
        hc_statistics_make(statistics, &stage->in, &moments, HC_DIFFERENCE_NONE, "", err), err));
    classes->shrinkage[number] = hc_shrinkage_share(statistics, params->shrink, 0);
    hc_shrinkage_apply(statistics, classes->shrinkage[number]);
    /* As without classes: an estimate may be 0. */
    if (classes->shrinkage[number] == 0 && statistics->pixels <= stage->in.bands) {
        HC_TRY(hc_fail(
            err, HC_E_NUMERIC,
            "%s: --background-classes %s: class \"%s\" has %lld valid pixels, fewer than %d bands need",
            stage->kind->name, path, classes->name[number], (long long)statistics->pixels, stage->in.bands));
    }
done:
    hc_moments_clear(&moments);
    return status;
}

HcStatus hc_class_backgrounds_settle(HcClassBackgrounds *classes, HcStage *stage, const char *path,
                                     const HcBackgroundParams *params, HcQueue *queue, HcError *err) {
    HC_OR_RETURN(hc_new(classes->statistics, classes->count, what, err));
    HC_OR_RETURN(hc_new(classes->shrinkage, classes->count, what, err));
    for (int32_t c = 0; c < classes->count; c++) {
        HC_OR_RETURN(settle_class(classes, stage, path, params, c, queue, err));
        hc_memory_release(stage->compute, &classes->mask[c]);
    }
    hc_selected_close(&classes->selected, stage->compute);
    return HC_OK;
}

/* ---- scores ---- */

/* What is on the host of some rows. */
typedef struct Rows {
    int64_t first, end;
    const uint8_t *valid;
    float *result;
    uint8_t *result_mask;
} Rows;

static HcStatus score_class(HcClassBackgrounds *classes, HcStage *stage, HcClassScorer *scorer,
                            int32_t number, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                            void *scratch, const Rows *rows, HcError *err) {
    size_t targets = (size_t)out->bands;
    HcBlock from = hc_block_part(in, rows->first, rows->end, 0);
    HcBlock score = hc_block_part(out, rows->first, rows->end, 0);
    size_t pixels = hc_block_pixels(&score);
    score.data = classes->part.data;
    score.mask = (uint8_t *)(score.data + pixels * targets);
    HC_OR_RETURN(scorer(stage, number, queue, &from, &score, scratch, err));
    if (classes->score.data != NULL) {
        HC_OR_RETURN(
            hc_download(queue, score.data, classes->score.data, pixels * targets * sizeof(float), err));
        HC_OR_RETURN(hc_download(queue, score.mask, classes->score_mask.data, pixels, err));
        score.data = classes->score.data;
        score.mask = classes->score_mask.data;
    }
    HC_OR_RETURN(hc_wait(queue, err));
    const uint8_t *label = classes->label + rows->first * stage->in.samples;
    for (size_t p = 0; p < pixels; p++) {
        if (label[p] == number + 1 && score.mask[p] != 0) {
            memcpy(rows->result + p * targets, score.data + p * targets, targets * sizeof(float));
            rows->result_mask[p] = 1;
        }
    }
    return HC_OK;
}

/* Valid pixels of interior lines that have no class. */
static void count_bare(HcClassBackgrounds *classes, const HcBlock *out, const Rows *rows) {
    int64_t samples = out->samples;
    int64_t first = hc_max64(rows->first, out->line0);
    int64_t end = hc_min64(rows->end, out->line0 + out->lines);
    for (int64_t p = first * samples; p < end * samples; p++) {
        classes->bare += classes->label[p] == 0 && rows->valid[p - rows->first * samples] != 0;
    }
}

static HcStatus score_rows(HcClassBackgrounds *classes, HcStage *stage, HcClassScorer *scorer, HcQueue *queue,
                           const HcBlock *in, const HcBlock *out, void *scratch, const Rows *rows,
                           HcError *err) {
    HcBlock to = hc_block_part(out, rows->first, rows->end, 0);
    size_t pixels = hc_block_pixels(&to);
    memset(rows->result, 0, hc_block_values(&to) * sizeof(float));
    memset(rows->result_mask, 0, pixels);
    for (int32_t c = 0; c < classes->count; c++) {
        if (has_class(classes, stage, c, rows->first, rows->end)) {
            HC_OR_RETURN(score_class(classes, stage, scorer, c, queue, in, out, scratch, rows, err));
        }
    }
    if (classes->result.data != NULL) {
        HC_OR_RETURN(hc_upload(queue, rows->result, to.data, hc_block_values(&to) * sizeof(float), err));
        HC_OR_RETURN(hc_upload(queue, rows->result_mask, to.mask, pixels, err));
        HC_OR_RETURN(hc_wait(queue, err));
    }
    return HC_OK;
}

HcStatus hc_class_backgrounds_score(HcClassBackgrounds *classes, HcStage *stage, HcClassScorer *scorer,
                                    HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                                    HcError *err) {
    int64_t end = hc_block_first_line(out) + hc_block_rows(out);
    int64_t step = hc_selected_lines(stage);
    for (int64_t line = hc_block_first_line(out); line < end; line += step) {
        Rows rows = {.first = line, .end = hc_min64(line + step, end)};
        HcBlock from = hc_block_part(in, rows.first, rows.end, 0);
        HcBlock to = hc_block_part(out, rows.first, rows.end, 0);
        rows.valid = from.mask;
        rows.result = to.data;
        rows.result_mask = to.mask;
        if (classes->valid.data != NULL) {
            HC_OR_RETURN(hc_download(queue, from.mask, classes->valid.data, hc_block_pixels(&from), err));
            rows.valid = classes->valid.data;
            rows.result = classes->result.data;
            rows.result_mask = classes->result_mask.data;
        }
        HC_OR_RETURN(hc_wait(queue, err));
        count_bare(classes, out, &rows);
        HC_OR_RETURN(score_rows(classes, stage, scorer, queue, in, out, scratch, &rows, err));
    }
    return HC_OK;
}

/* ---- what is told ---- */

HcStatus hc_class_backgrounds_gather(HcClassBackgrounds *classes, HcStage *stage, HcError *err) {
    HC_OR_RETURN(hc_ranks_sum(hc_stage_ranks(stage), &classes->bare, 1, err));
    if (classes->bare > 0) {
        hc_stage_note(stage,
                      "%lld pixels have no class in --background-classes: they have no score and are masked",
                      (long long)classes->bare);
    }
    return HC_OK;
}

void hc_class_backgrounds_report(const HcClassBackgrounds *classes, HcJson *to) {
    hc_json_open_array(to, "background_classes");
    for (int32_t c = 0; c < classes->count && classes->statistics != NULL; c++) {
        hc_json_open_object(to, NULL);
        hc_json_put_text(to, "name", classes->name[c]);
        hc_json_put_number(to, "pixels", (double)classes->statistics[c].pixels);
        hc_json_put_double(to, "shrinkage", classes->shrinkage[c]);
        hc_json_close(to);
    }
    hc_json_close(to);
    hc_json_put_number(to, "without_score", (double)classes->bare);
}

void hc_class_backgrounds_close(HcClassBackgrounds *classes, HcStage *stage) {
    for (int32_t c = 0; c < classes->count; c++) {
        free(classes->name[c]);
        if (classes->mask != NULL) {
            hc_memory_release(stage->compute, &classes->mask[c]);
        }
        if (classes->sums != NULL) {
            hc_scene_sums_close(&classes->sums[c]);
        }
        if (classes->statistics != NULL) {
            hc_statistics_clear(&classes->statistics[c]);
        }
    }
    HcBuffer *const buffers[] = {&classes->part,       &classes->valid,  &classes->score,
                                 &classes->score_mask, &classes->result, &classes->result_mask};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        hc_memory_release(stage->compute, buffers[i]);
    }
    hc_selected_close(&classes->selected, stage->compute);
    free(classes->name);
    free(classes->label);
    free(classes->mask);
    free(classes->sums);
    free(classes->statistics);
    free(classes->shrinkage);
    *classes = (HcClassBackgrounds){0};
}
