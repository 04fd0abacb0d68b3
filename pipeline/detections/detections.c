/* A heap for each band keeps the best pixels of the blocks that pass; ranks add their heaps one after the
 * other. Equal scores are ordered by the place of the pixel, so that blocks, threads and ranks do not change
 * the file. */
#include "pipeline/detections/detections.h"
#include "core/allocate.h"
#include "io/shape/points.h"

enum { USUAL_TOP = 100 };

static size_t top_of(const HcDetectionParams *params) {
    return params->top > 0 ? (size_t)params->top : USUAL_TOP;
}

HcStatus hc_detections_plan(HcStage *stage, const HcDetectionParams *params, int32_t scores, HcError *err) {
    const char *who = stage->kind->name;
    if (params->path == NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_points_check(who, "--detections", params->path, &stage->in, err));
    stage->needs.consumes = true;
    stage->needs.has_output = true;
    stage->output = params->path;
    /* The heaps, what another rank hands over, the points and their file. */
    const size_t each = 2 * sizeof(HcDetection) + sizeof(HcPoint) + HC_POINT_FILE_BYTES;
    hc_stage_takes(stage, HC_SPACE_HOST,
                   (size_t)scores * top_of(params) * each +
                       (size_t)scores * (sizeof(int64_t) + sizeof(HcNullLaw)));
    return HC_OK;
}

HcStatus hc_detections_open(HcDetections *to, const HcDetectionParams *params, int32_t scores, bool low,
                            HcError *err) {
    size_t count = (size_t)scores * top_of(params);
    *to = (HcDetections){.bands = scores,
                         .top = (int32_t)top_of(params),
                         .low = low,
                         .threshold = params->threshold,
                         .false_alarm = params->false_alarm};
    HC_OR_RETURN(hc_new(to->scored, scores, "detections", err));
    HC_OR_RETURN(hc_new(to->law, scores, "detections", err));
    HC_OR_RETURN(hc_new(to->best, count, "detections", err));
    for (size_t k = 0; k < count; k++) {
        to->best[k].pixel = -1;
    }
    return HC_OK;
}

void hc_detections_close(HcDetections *to) {
    free(to->best);
    free(to->scored);
    free(to->law);
    *to = (HcDetections){0};
}

/* Scores are turned so that more is better. Of equal ones the first pixel of the scene is better, so that the
 * order of blocks and ranks does not matter. */
static bool is_better(HcDetection a, HcDetection b) {
    if (a.pixel < 0 || b.pixel < 0) {
        return a.pixel >= 0 && b.pixel < 0;
    }
    return a.score > b.score || (a.score >= b.score && a.pixel < b.pixel);
}

/* Puts a detection in place of the worst one, if it is better. */
static void offer(HcDetection *heap, int32_t count, HcDetection next) {
    int32_t at = 0;
    if (!is_better(next, heap[0])) {
        return;
    }
    for (;;) {
        int32_t child = 2 * at + 1;
        if (child + 1 < count && is_better(heap[child], heap[child + 1])) {
            child++;
        }
        if (child >= count || !is_better(next, heap[child])) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = next;
}

void hc_detections_consume(HcDetections *to, const HcBlock *block) {
    int64_t first = block->line0 * block->samples;
    double least = to->low ? -to->threshold : to->threshold;
    const float *score = block->data;
    for (int64_t p = 0; p < (int64_t)block->lines * block->samples; p++, score += block->bands) {
        for (int32_t b = 0; b < to->bands && block->mask[p] != 0; b++) {
            HcDetection next = {to->low ? -(double)score[b] : (double)score[b], first + p};
            to->scored[b] += !isnan(next.score);
            if (!isnan(next.score) && !(next.score < least)) {
                offer(to->best + (size_t)b * (size_t)to->top, to->top, next);
            }
        }
    }
}

/* Of the detection at that place, 0 = the best, among the pixels with a score. */
static double rank_share(const HcDetections *of, int64_t band, int64_t place) {
    return (double)(place + 1) / (double)of->scored[band];
}

static bool is_known(const HcDetections *of) {
    return of->law[0].null != HC_NULL_UNKNOWN;
}

static double rate_of(const HcDetections *of, int64_t band, int64_t place) {
    HcDetection found = of->best[band * of->top + place];
    return is_known(of) ? hc_false_alarm(&of->law[band], found.pixel, found.score)
                        : rank_share(of, band, place);
}

/* Of sorted detections. Pixels of the background have lower rates than others with that score. */
static void drop_false_alarms(HcDetections *of) {
    for (int64_t k = 0; k < (int64_t)of->bands * of->top && !isnan(of->false_alarm); k++) {
        if (of->best[k].pixel >= 0 && !(rate_of(of, k / of->top, k % of->top) <= of->false_alarm)) {
            of->best[k].pixel = -1;
        }
    }
}

/* Called on a rank with what those before it have found. */
static void add_rank(void *state, void *user) {
    const HcDetections *own = user;
    HcDetection *all = state;
    for (int64_t k = 0; k < (int64_t)own->bands * own->top; k++) {
        if (own->best[k].pixel >= 0) {
            offer(all + k / own->top * own->top, own->top, own->best[k]);
        }
    }
}

static int by_rank(const void *a, const void *b) {
    HcDetection x = *(const HcDetection *)a;
    HcDetection y = *(const HcDetection *)b;
    return is_better(y, x) - is_better(x, y);
}

HcStatus hc_detections_gather(HcDetections *to, HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    size_t count = (size_t)to->bands * (size_t)to->top;
    HcDetection *all = NULL;
    if (to->best == NULL) {
        return HC_OK;
    }
    HC_TRY(hc_ranks_agree(hc_stage_ranks(stage), hc_new(all, count, "detections", err), err));
    for (size_t k = 0; k < count; k++) {
        all[k] = to->best[k];
    }
    HC_TRY(hc_ranks_sum(hc_stage_ranks(stage), to->scored, (size_t)to->bands, err));
    HC_TRY(hc_ranks_fold(hc_stage_ranks(stage), all, count * sizeof *all, add_rank, to, err));
    for (size_t k = 0; k < count; k++) {
        to->best[k] = all[k];
    }
    for (int32_t b = 0; b < to->bands; b++) {
        qsort(to->best + (size_t)b * (size_t)to->top, (size_t)to->top, sizeof *all, by_rank);
    }
    drop_false_alarms(to);
done:
    free(all);
    return status;
}

HcStatus hc_detections_finish(HcDetections *to, const HcStage *stage, const HcDetectionParams *params,
                              const char *const *name, HcError *err) {
    const char *rate = to->best != NULL && is_known(to) ? "false_alarm" : NULL;
    const char *const field[] = {"score", "rank_share", rate, NULL};
    HcStatus status = HC_OK;
    HcPoint *point = NULL;
    int64_t count = 0;
    if (to->best == NULL) {
        return HC_OK;
    }
    HC_TRY(hc_new(point, (size_t)to->bands * (size_t)to->top, "detections", err));
    for (int64_t k = 0; k < (int64_t)to->bands * to->top; k++) {
        HcDetection found = to->best[k];
        if (found.pixel >= 0) {
            point[count++] = (HcPoint){.name = name[k / to->top],
                                       .line = found.pixel / stage->in.samples,
                                       .sample = found.pixel % stage->in.samples,
                                       .value = {to->low ? -found.score : found.score,
                                                 rank_share(to, k / to->top, k % to->top),
                                                 rate_of(to, k / to->top, k % to->top)}};
        }
    }
    HC_TRY(
        hc_points_write(params->path, &stage->in, point, count, field, NULL, hc_stage_overwrite(stage), err));
done:
    free(point);
    return status;
}

void hc_detections_report(const HcDetections *of, HcJson *to) {
    int64_t count = 0;
    for (int64_t k = 0; k < (int64_t)of->bands * of->top && of->best != NULL; k++) {
        count += of->best[k].pixel >= 0;
    }
    if (of->best != NULL) {
        hc_json_put_number(to, "detections", (double)count);
        hc_json_put_text(to, "false_alarms_by", is_known(of) ? hc_null_name(of->law[0].null) : "rank");
    }
}
