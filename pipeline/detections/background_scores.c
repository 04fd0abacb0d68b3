/* Scores by the backgrounds of classes: each class scores the lines that have it, and its pixels are taken.
 */
#include "pipeline/detections/background.h"

#include <string.h>

/* What is on the host of some rows. */
typedef struct Rows {
    int64_t first, end;
    const uint8_t *valid;
    float *result;
    uint8_t *result_mask;
} Rows;

static HcStatus score_class(HcBackground *background, HcStage *stage, HcGroupScorer *scorer, int32_t number,
                            HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                            const Rows *rows, HcError *err) {
    size_t targets = (size_t)out->bands;
    HcBlock from = hc_block_part(in, rows->first, rows->end, 0);
    HcBlock score = hc_block_part(out, rows->first, rows->end, 0);
    size_t pixels = hc_block_pixels(&score);
    score.data = background->part.data;
    score.mask = (uint8_t *)(score.data + pixels * targets);
    HC_OR_RETURN(scorer(stage, number, queue, &from, &score, scratch, err));
    if (background->score.data != NULL) {
        HC_OR_RETURN(
            hc_download(queue, score.data, background->score.data, pixels * targets * sizeof(float), err));
        HC_OR_RETURN(hc_download(queue, score.mask, background->score_mask.data, pixels, err));
        score.data = background->score.data;
        score.mask = background->score_mask.data;
    }
    HC_OR_RETURN(hc_wait(queue, err));
    const uint8_t *label = background->label + rows->first * stage->in.samples;
    for (size_t p = 0; p < pixels; p++) {
        if (label[p] == number + 1 && score.mask[p] != 0) {
            memcpy(rows->result + p * targets, score.data + p * targets, targets * sizeof(float));
            rows->result_mask[p] = 1;
        }
    }
    return HC_OK;
}

/* Valid pixels of interior lines that have no class. */
static void count_bare(HcBackground *background, const HcBlock *out, const Rows *rows) {
    int64_t samples = out->samples;
    int64_t first = hc_max64(rows->first, out->line0);
    int64_t end = hc_min64(rows->end, out->line0 + out->lines);
    for (int64_t p = first * samples; p < end * samples; p++) {
        background->bare += background->label[p] == 0 && rows->valid[p - rows->first * samples] != 0;
    }
}

static HcStatus score_rows(HcBackground *background, HcStage *stage, HcGroupScorer *scorer, HcQueue *queue,
                           const HcBlock *in, const HcBlock *out, void *scratch, const Rows *rows,
                           HcError *err) {
    HcBlock to = hc_block_part(out, rows->first, rows->end, 0);
    size_t pixels = hc_block_pixels(&to);
    memset(rows->result, 0, hc_block_values(&to) * sizeof(float));
    memset(rows->result_mask, 0, pixels);
    for (int32_t c = 0; c < background->count; c++) {
        if (hc_background_has(background, stage, c, rows->first, rows->end)) {
            HC_OR_RETURN(score_class(background, stage, scorer, c, queue, in, out, scratch, rows, err));
        }
    }
    if (background->result.data != NULL) {
        HC_OR_RETURN(hc_upload(queue, rows->result, to.data, hc_block_values(&to) * sizeof(float), err));
        HC_OR_RETURN(hc_upload(queue, rows->result_mask, to.mask, pixels, err));
        HC_OR_RETURN(hc_wait(queue, err));
    }
    return HC_OK;
}

HcStatus hc_background_score(HcBackground *background, HcStage *stage, HcGroupScorer *scorer, HcQueue *queue,
                             const HcBlock *in, const HcBlock *out, void *scratch, HcError *err) {
    if (background->label == NULL) {
        return scorer(stage, 0, queue, in, out, scratch, err);
    }
    int64_t end = hc_block_first_line(out) + hc_block_rows(out);
    int64_t step = hc_selected_lines(stage);
    for (int64_t line = hc_block_first_line(out); line < end; line += step) {
        Rows rows = {.first = line, .end = hc_min64(line + step, end)};
        HcBlock from = hc_block_part(in, rows.first, rows.end, 0);
        HcBlock to = hc_block_part(out, rows.first, rows.end, 0);
        rows.valid = from.mask;
        rows.result = to.data;
        rows.result_mask = to.mask;
        if (background->valid.data != NULL) {
            HC_OR_RETURN(hc_download(queue, from.mask, background->valid.data, hc_block_pixels(&from), err));
            rows.valid = background->valid.data;
            rows.result = background->result.data;
            rows.result_mask = background->result_mask.data;
        }
        HC_OR_RETURN(hc_wait(queue, err));
        count_bare(background, out, &rows);
        HC_OR_RETURN(score_rows(background, stage, scorer, queue, in, out, scratch, &rows, err));
    }
    return HC_OK;
}

HcStatus hc_background_gather(HcBackground *background, HcStage *stage, HcError *err) {
    if (background->label == NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_ranks_sum(hc_stage_ranks(stage), &background->bare, 1, err));
    if (background->bare > 0) {
        hc_stage_note(stage,
                      "%lld pixels have no class in --background-classes: they have no score and are masked",
                      (long long)background->bare);
    }
    return HC_OK;
}
