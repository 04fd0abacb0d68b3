/* No operation compares with a limit, but float32 has one. The projection is scaled so that what is beyond
 * the limit is beyond float32, too: it becomes infinity, which decode masks. */
#include "pipeline/detections/trim.h"
#include "core/allocate.h"
#include "core/operation/decode.h"
#include "core/operation/project.h"
#include "core/operation/reduce.h"
#include "pipeline/detections/false_alarm.h"
#include "pipeline/memory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Scores, what decode makes of them, sums of squares, the pixels, and the masks of these. */
static size_t part_bytes(const HcStage *stage, int32_t lines, int32_t directions) {
    size_t floats = 2 * (size_t)directions + 1 + (size_t)stage->in.bands;
    return (size_t)lines * (size_t)stage->in.samples * (floats * sizeof(float) + 4);
}

static int32_t index_count(const HcStage *stage, int32_t directions) {
    return directions > stage->in.bands ? directions : stage->in.bands;
}

void hc_trim_plan(HcStage *stage, int32_t lines, int32_t directions) {
    size_t bands = (size_t)stage->in.bands;
    stage->needs.bytes_fixed += part_bytes(stage, lines, directions) +
                                ((size_t)directions + 1) * bands * sizeof(double) +
                                (size_t)index_count(stage, directions) * sizeof(int32_t);
    stage->needs.host_bytes += (size_t)directions * bands * sizeof(double);
}

static HcStatus open_part(HcTrim *trim, HcStage *stage, int32_t lines, int32_t directions, HcError *err) {
    int32_t count = index_count(stage, directions);
    int32_t *index = NULL;
    HC_OR_RETURN(hc_new(index, count, "a list of bands", err));
    for (int32_t b = 0; b < count; b++) {
        index[b] = b;
    }
    HcStatus status =
        hc_memory_upload(stage->compute, index, (size_t)count * sizeof *index, &trim->index, err);
    free(index);
    HC_OR_RETURN(status);
    return hc_alloc(stage->compute, HC_MEMORY_DEVICE, part_bytes(stage, lines, directions), &trim->part, err);
}

HcStatus hc_trim_set(HcTrim *trim, HcStage *stage, const HcFar *far, int32_t lines, int32_t directions,
                     HcError *err) {
    size_t bands = (size_t)stage->in.bands;
    size_t count = bands * (size_t)far->directions;
    double most = far->squares ? sqrt(FLT_MAX) : FLT_MAX;
    double *scaled = NULL;
    if (trim->part.data == NULL) {
        HC_OR_RETURN(open_part(trim, stage, lines, directions, err));
    }
    hc_memory_release(stage->compute, &trim->projection);
    hc_memory_release(stage->compute, &trim->offset);
    trim->directions = far->directions;
    trim->squares = far->squares;
    HC_OR_RETURN(hc_memory_upload(stage->compute, far->offset, bands * sizeof(double), &trim->offset, err));
    HC_OR_RETURN(hc_new(scaled, count, "a projection", err));
    for (size_t i = 0; i < count; i++) {
        scaled[i] = far->projection[i] * (most / far->limit);
    }
    HcStatus status =
        hc_memory_upload(stage->compute, scaled, count * sizeof *scaled, &trim->projection, err);
    free(scaled);
    return status;
}

/* Decodes float32 values, of which infinity is masked, and what `mask` masks. */
static HcStatus decode(const HcTrim *trim, HcQueue *queue, const HcBlock *from, const uint8_t *mask,
                       const HcBlock *to, HcError *err) {
    int64_t bytes = from->bands * (int64_t)sizeof(float);
    HcRaw raw = {.data = from->data,
                 .type = HC_FLOAT32,
                 .line0 = from->line0,
                 .lines = from->lines,
                 .samples = from->samples,
                 .bands = from->bands,
                 .stride_line = from->samples * bytes,
                 .stride_sample = bytes,
                 .stride_band = sizeof(float),
                 .user_mask = mask};
    HcDecode how = {.band_index = trim->index.data};
    return hc_decode(queue, &raw, &how, to, err);
}

HcStatus hc_trim_take(HcTrim *trim, HcQueue *queue, const HcBlock *in, HcBlock *out, HcError *err) {
    size_t pixels = hc_block_pixels(in);
    HcBlock score = *in;
    score.bands = trim->directions;
    score.data = trim->part.data;
    HcBlock square = *in;
    square.bands = 1;
    square.data = score.data + hc_block_values(&score);
    HcBlock near = trim->squares ? square : score;
    near.data = square.data + pixels;
    *out = *in;
    out->data = near.data + hc_block_values(&near);
    out->mask = (uint8_t *)(out->data + hc_block_values(out));
    near.mask = out->mask + pixels;
    square.mask = near.mask + pixels;
    score.mask = square.mask + pixels;
    HC_OR_RETURN(hc_project(queue, in, trim->projection.data, trim->offset.data, NULL, &score, err));
    if (trim->squares) {
        HC_OR_RETURN(hc_reduce(queue, &score, HC_REDUCE_SQUARES, NULL, &square, err));
    }
    HC_OR_RETURN(decode(trim, queue, trim->squares ? &square : &score, in->mask, &near, err));
    return decode(trim, queue, in, near.mask, out, err);
}

void hc_trim_close(HcTrim *trim, HcCompute *compute) {
    hc_memory_release(compute, &trim->projection);
    hc_memory_release(compute, &trim->offset);
    hc_memory_release(compute, &trim->index);
    hc_memory_release(compute, &trim->part);
    *trim = (HcTrim){0};
}

double hc_trim_limit(double rate, int32_t directions) {
    double low = 0;
    double high = 1;
    while (hc_false_alarm(HC_NULL_CHI_SQUARE, high, directions, 1) > rate) {
        high *= 2;
    }
    for (int i = 0; i < 100; i++) { /* until neighbours */
        double middle = low + (high - low) / 2;
        if (hc_false_alarm(HC_NULL_CHI_SQUARE, middle, directions, 1) > rate) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}
