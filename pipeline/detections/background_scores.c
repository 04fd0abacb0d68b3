/* Scores by the backgrounds of groups: each group scores its columns of the lines that have it, and its
 * pixels are taken. */
#include "core/allocate.h"
#include "pipeline/detections/background.h"
#include "pipeline/memory.h"

#include <string.h>

/* What is on the host of some rows. */
typedef struct Rows {
    int64_t first, end;
    float *result;
    uint8_t *result_mask;
} Rows;

/* Takes the pixels of a group from the scores of its columns, which are on the host. */
static void take_scores(const HcGrouping *grouping, int32_t number, const HcBlock *score, const Rows *rows) {
    size_t targets = (size_t)score->bands;
    int32_t column = 0;
    int32_t columns = hc_grouping_columns(grouping, number, &column);
    for (int64_t p = 0; p < (int64_t)hc_block_pixels(score); p++) {
        int64_t row = p / columns, sample = column + p % columns;
        if (score->mask[p] != 0 && hc_grouping_at(grouping, rows->first + row, sample) == number) {
            size_t to = (size_t)(row * grouping->samples + sample);
            memcpy(rows->result + to * targets, score->data + (size_t)p * targets, targets * sizeof(float));
            rows->result_mask[to] = 1;
        }
    }
}

static HcStatus score_one(HcBackground *background, HcStage *stage, HcGroupScorer *scorer, int32_t number,
                          HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                          const Rows *rows, HcError *err) {
    HcBlock from;
    HC_OR_RETURN(
        hc_grouping_take(&background->grouping, number, true, queue, in, rows->first, rows->end, &from, err));
    HcBlock score = hc_block_part(out, rows->first, rows->end, 0);
    score.samples = from.samples;
    size_t pixels = hc_block_pixels(&score), values = hc_block_values(&score);
    score.data = background->part.data;
    score.mask = (uint8_t *)(score.data + values);
    HC_OR_RETURN(scorer(stage, number, queue, &from, &score, scratch, err));
    if (background->score.data != NULL) {
        HC_OR_RETURN(hc_download(queue, score.data, background->score.data, values * sizeof(float), err));
        HC_OR_RETURN(hc_download(queue, score.mask, background->score_mask.data, pixels, err));
        score.data = background->score.data;
        score.mask = background->score_mask.data;
    }
    HC_OR_RETURN(hc_wait(queue, err));
    take_scores(&background->grouping, number, &score, rows);
    return HC_OK;
}

static HcStatus score_rows(HcBackground *background, HcStage *stage, HcGroupScorer *scorer, HcQueue *queue,
                           const HcBlock *in, const HcBlock *out, void *scratch, const Rows *rows,
                           HcError *err) {
    const HcGrouping *grouping = &background->grouping;
    HcBlock to = hc_block_part(out, rows->first, rows->end, 0);
    size_t pixels = hc_block_pixels(&to);
    memset(rows->result, 0, hc_block_values(&to) * sizeof(float));
    memset(rows->result_mask, 0, pixels);
    for (int32_t g = 0; g < grouping->count; g++) {
        if (!background->group[g].bare && hc_grouping_has(grouping, g, rows->first, rows->end)) {
            HC_OR_RETURN(score_one(background, stage, scorer, g, queue, in, out, scratch, rows, err));
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
    if (hc_grouping_is_one(&background->grouping)) {
        return scorer(stage, 0, queue, in, out, scratch, err);
    }
    int64_t end = hc_block_first_line(out) + hc_block_rows(out);
    int64_t step = hc_grouping_lines(stage);
    for (int64_t line = hc_block_first_line(out); line < end; line += step) {
        Rows rows = {.first = line, .end = hc_min64(line + step, end)};
        HcBlock to = hc_block_part(out, rows.first, rows.end, 0);
        bool shared = background->result.data == NULL;
        rows.result = shared ? to.data : background->result.data;
        rows.result_mask = shared ? to.mask : background->result_mask.data;
        HC_OR_RETURN(hc_wait(queue, err));
        HC_OR_RETURN(score_rows(background, stage, scorer, queue, in, out, scratch, &rows, err));
    }
    return HC_OK;
}
