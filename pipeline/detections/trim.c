/* No operation compares with a limit, but float32 has one. The projection is scaled so that what is beyond
 * the limit is beyond float32, too: it becomes infinity, which decode masks. */
#include "pipeline/detections/trim.h"
#include "core/allocate.h"
#include "core/operation/image/decode.h"
#include "core/operation/image/project.h"
#include "core/operation/image/reduce.h"
#include "pipeline/detections/false_alarm.h"
#include "pipeline/memory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Scores, what decode makes of them, sums of squares, the pixels, and the masks of these. */
static size_t part_bytes(const HcStage *stage, int32_t lines, int32_t directions) {
    size_t floats = 2 * (size_t)directions + 1 + (size_t)stage->in.bands;
    return (size_t)lines * (size_t)stage->in.samples * (floats * sizeof(float) + 4);
}

static int32_t index_count(const HcStage *stage, int32_t directions) {
    return directions > stage->in.bands ? directions : stage->in.bands;
}

void hc_trim_plan(HcStage *stage, int32_t count, int32_t lines, int32_t directions) {
    size_t bands = (size_t)stage->in.bands, along = (size_t)directions;
    hc_stage_takes(stage, HC_SPACE_DEVICE,
                   part_bytes(stage, lines, directions) +
                       (size_t)count * (along + 1) * bands * sizeof(double) +
                       (size_t)index_count(stage, directions) * sizeof(int32_t));
    hc_stage_takes(stage, HC_SPACE_HOST, (((size_t)count + 1) * along + bands + 1) * bands * sizeof(double));
}

static HcStatus open_work(HcTrimWork *work, HcStage *stage, int32_t lines, int32_t directions, HcError *err) {
    int32_t count = index_count(stage, directions);
    int32_t *index = NULL;
    HC_OR_RETURN(hc_new(index, count, "a list of bands", err));
    for (int32_t b = 0; b < count; b++) {
        index[b] = b;
    }
    HcStatus status =
        hc_memory_upload(stage->compute, index, (size_t)count * sizeof *index, &work->index, err);
    free(index);
    HC_OR_RETURN(status);
    return hc_alloc(stage->compute, HC_MEMORY_DEVICE, part_bytes(stage, lines, directions), &work->part, err);
}

HcStatus hc_trim_set(HcTrim *trim, HcTrimWork *work, HcStage *stage, const HcFar *far, int32_t lines,
                     int32_t directions, HcError *err) {
    size_t bands = (size_t)stage->in.bands;
    size_t count = bands * (size_t)far->directions;
    double most = far->squares ? sqrt(FLT_MAX) : FLT_MAX;
    double *scaled = NULL;
    if (work->part.data == NULL) {
        HC_OR_RETURN(open_work(work, stage, lines, directions, err));
    }
    trim->work = work;
    hc_memory_release(stage->compute, &trim->projection);
    hc_memory_release(stage->compute, &trim->offset);
    trim->directions = far->directions;
    trim->squares = far->squares;
    trim->limit = far->limit;
    free(trim->along);
    HC_OR_RETURN(hc_new(trim->along, count, "a projection", err));
    memcpy(trim->along, far->projection, count * sizeof *trim->along);
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
    HcDecode how = {.band_index = trim->work->index.data};
    return hc_decode(queue, &raw, &how, to, err);
}

HcStatus hc_trim_take(HcTrim *trim, HcQueue *queue, const HcBlock *in, HcBlock *out, HcError *err) {
    size_t pixels = hc_block_pixels(in);
    HcBlock score = *in;
    score.bands = trim->directions;
    score.data = trim->work->part.data;
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
    free(trim->along);
    *trim = (HcTrim){0};
}

void hc_trim_work_close(HcTrimWork *work, HcCompute *compute) {
    hc_memory_release(compute, &work->index);
    hc_memory_release(compute, &work->part);
}

/* The score that such a share is beyond. */
static double quantile(const HcNullLaw *law, double rate) {
    double low = 0;
    double high = 1;
    while (hc_false_alarm(law, 0, high) > rate) {
        high *= 2;
    }
    for (int i = 0; i < 100; i++) { /* until neighbours */
        double middle = low + (high - low) / 2;
        if (hc_false_alarm(law, 0, middle) > rate) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

double hc_trim_limit(double rate, int64_t pixels, int32_t directions, bool squares) {
    HcNullLaw law = {.null = squares ? HC_NULL_CHI_SQUARE : HC_NULL_NORMAL,
                     .directions = directions,
                     .pixels = pixels,
                     .deviation = 1};
    return squares ? sqrt(quantile(&law, rate)) : quantile(&law, rate / 2);
}

/* P(of K + 2 squares <= limit) / P(of K squares <= limit). */
static double variance_within(double limit, int32_t directions) {
    HcNullLaw law = {.null = HC_NULL_CHI_SQUARE, .directions = directions}, more = law;
    more.directions += 2;
    return (1 - hc_false_alarm(&more, 0, limit * limit)) / (1 - hc_false_alarm(&law, 0, limit * limit));
}

/* to = matrix vector; the value is vector' matrix vector. */
static double apply(const double *matrix, const double *vector, size_t stride, size_t bands, double *to) {
    double sum = 0;
    for (size_t i = 0; i < bands; i++) {
        to[i] = 0;
        for (size_t j = 0; j < bands; j++) {
            to[i] += matrix[i * bands + j] * vector[j * stride];
        }
        sum += to[i] * vector[i * stride];
    }
    return sum;
}

/* Directions that are much alike lose the same variance once. */
static void widen(const HcTrim *trim, double lost, double *covariance, size_t bands, double *work) {
    size_t directions = (size_t)trim->directions;
    double *cut = work + bands;
    memcpy(cut, covariance, bands * bands * sizeof *cut);
    for (size_t k = 0; k < directions; k++) {
        const double *along = trim->along + k;
        double before = apply(cut, along, directions, bands, work);
        double now = apply(covariance, along, directions, bands, work);
        double more = before / (lost * now) - 1;
        for (size_t i = 0; i < bands && now > 0 && more > 0; i++) {
            for (size_t j = 0; j < bands; j++) {
                covariance[i * bands + j] += more / now * work[i] * work[j];
            }
        }
    }
}

HcStatus hc_trim_undo(const HcTrim *trim, double *covariance, int32_t bands, HcError *err) {
    size_t n = (size_t)bands;
    double kept = variance_within(trim->limit, trim->squares ? trim->directions : 1);
    double *work = NULL;
    if (trim->squares) {
        for (size_t i = 0; i < n * n; i++) {
            covariance[i] /= kept;
        }
        return HC_OK;
    }
    HC_OR_RETURN(hc_new(work, n * (n + 1), "a covariance", err));
    widen(trim, kept, covariance, n, work);
    free(work);
    return HC_OK;
}
