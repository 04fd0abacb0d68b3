#include "pipeline/statistics/sums.h"
#include "pipeline/chain.h"
#include "pipeline/statistics/statistics.h"

#include <stdlib.h>
#include <string.h>

enum { STRETCHES_MAX = 64 };
static const int64_t stretch_pixels = (int64_t)1 << 17;

int64_t hc_stretch_lines(const HcScene *scene) {
    int64_t step = hc_sums_lines(scene->samples);
    int64_t enough = (stretch_pixels + scene->samples - 1) / scene->samples;
    int64_t few = (scene->lines + STRETCHES_MAX - 1) / STRETCHES_MAX;
    int64_t lines = enough > few ? enough : few;
    return (lines + step - 1) / step * step;
}

static HcStatus open_sums(HcSceneSums *sums, HcStage *stage, HcError *err) {
    return hc_sums_open(stage->compute, stage->in.bands, sums->limit, &sums->sums, err);
}

static void close_sums(HcSceneSums *sums) {
    hc_sums_close(sums->sums);
    sums->sums = NULL;
}

void hc_scene_sums_plan(HcStage *stage, HcDifference difference) {
    size_t bands = (size_t)stage->in.bands;
    int32_t halo = hc_difference_halo(difference);
    stage->needs.observes = true;
    stage->needs.halo = halo > stage->needs.halo ? halo : stage->needs.halo;
    stage->needs.sums_floats = stage->needs.sums_floats || hc_sums_limit(&stage->in, difference) == 0;
    stage->needs.bytes_fixed += bands * bands * sizeof(HcWide);
}

HcStatus hc_scene_sums_open(HcSceneSums *sums, HcStage *stage, HcDifference difference,
                            const HcWindow *window, HcError *err) {
    *sums = (HcSceneSums){.difference = difference,
                          .window = window,
                          .limit = hc_sums_limit(&stage->in, difference),
                          .stretch_lines = hc_stretch_lines(&stage->in),
                          .stretch = -1};
    int64_t most = (stage->in.lines + sums->stretch_lines - 1) / sums->stretch_lines;
    sums->done = calloc((size_t)most, sizeof *sums->done);
    if (sums->done == NULL) {
        return hc_fail_memory(err, (double)most * sizeof *sums->done, "sums of products");
    }
    return open_sums(sums, stage, err);
}

void hc_scene_sums_close(HcSceneSums *sums) {
    close_sums(sums);
    for (int32_t k = 0; k < sums->done_count; k++) {
        hc_moments_clear(&sums->done[k]);
    }
    free(sums->done);
    *sums = (HcSceneSums){0};
}

/* The sums of a stretch are complete. The first rank's need not wait for others to be merged. */
static HcStatus end_stretch(HcSceneSums *sums, HcStage *stage, HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    HcMoments moments = {0};
    HC_TRY(hc_sums_fetch(queue, sums->sums, &moments, err));
    close_sums(sums);
    if (sums->done_count > 0 && hc_ranks_number(hc_stage_ranks(stage)) == 0) {
        hc_moments_merge(&sums->done[0], &moments);
    } else {
        sums->done[sums->done_count++] = moments;
        moments = (HcMoments){0};
    }
done:
    hc_moments_clear(&moments);
    return status;
}

/* Some lines of a block; the others become its halo. */
static HcBlock lines_of(const HcBlock *block, int64_t line, int64_t end) {
    HcBlock out = *block;
    int64_t last = block->line0 + block->lines;
    out.line0 = line;
    out.lines = (int32_t)(end - line);
    out.above = (int32_t)(block->above + line - block->line0);
    out.below = (int32_t)(block->below + last - end);
    return out;
}

HcStatus hc_scene_sums_add(HcSceneSums *sums, HcStage *stage, HcQueue *queue, const HcBlock *in,
                           HcError *err) {
    if (sums->limit > 0) {
        return hc_gram(queue, in, sums->difference, sums->window, sums->sums, err);
    }
    int64_t last = in->line0 + in->lines;
    for (int64_t line = in->line0; line < last;) {
        int64_t stretch = line / sums->stretch_lines;
        int64_t end = (stretch + 1) * sums->stretch_lines;
        end = end < last ? end : last;
        if (sums->stretch >= 0 && stretch != sums->stretch) {
            HC_OR_RETURN(end_stretch(sums, stage, queue, err));
            HC_OR_RETURN(open_sums(sums, stage, err));
        }
        sums->stretch = stretch;
        HcBlock part = lines_of(in, line, end);
        HC_OR_RETURN(hc_gram(queue, &part, sums->difference, sums->window, sums->sums, err));
        line = end;
    }
    return HC_OK;
}

/* ---- the sums of all ranks ---- */

/* Float moments as they travel: the count, then mean and scatter. */
static size_t state_bytes(int32_t bands) {
    return sizeof(int64_t) + ((size_t)bands + 1) * (size_t)bands * sizeof(double);
}

static void pack(const HcMoments *moments, char *state) {
    size_t n = (size_t)moments->bands;
    memcpy(state, &moments->count, sizeof moments->count);
    memcpy(state + sizeof moments->count, moments->mean, n * sizeof(double));
    memcpy(state + sizeof moments->count + n * sizeof(double), moments->scatter, n * n * sizeof(double));
}

static void unpack(const char *state, HcMoments *moments) {
    size_t n = (size_t)moments->bands;
    memcpy(&moments->count, state, sizeof moments->count);
    memcpy(moments->mean, state + sizeof moments->count, n * sizeof(double));
    memcpy(moments->scatter, state + sizeof moments->count + n * sizeof(double), n * n * sizeof(double));
}

typedef struct Fold {
    HcSceneSums *sums;
    HcMoments *all;
} Fold;

/* What earlier ranks have summed, and then the stretches of this one in their order. */
static void add_stretches(void *state, void *user) {
    const Fold *fold = user;
    unpack(state, fold->all);
    for (int32_t k = 0; k < fold->sums->done_count; k++) {
        hc_moments_merge(fold->all, &fold->sums->done[k]);
    }
    pack(fold->all, state);
}

static HcStatus fold_floats(HcSceneSums *sums, HcStage *stage, HcQueue *queue, HcMoments *out, HcError *err) {
    HcStatus status = HC_OK;
    HcRanks *ranks = hc_stage_ranks(stage);
    char *state = NULL;
    HC_TRY(end_stretch(sums, stage, queue, err));
    HC_TRY(hc_moments_init(out, stage->in.bands, false, err));
    if (hc_ranks_number(ranks) == 0) {
        hc_moments_merge(out, &sums->done[0]);
    }
    if (hc_ranks_count(ranks) > 1) {
        size_t bytes = state_bytes(stage->in.bands);
        if ((state = malloc(bytes)) == NULL) {
            HC_TRY(hc_fail_memory(err, (double)bytes, "sums of products"));
        }
        Fold fold = {.sums = sums, .all = out};
        pack(out, state);
        HC_TRY(hc_ranks_fold(ranks, state, bytes, add_stretches, &fold, err));
        unpack(state, out);
    }
done:
    free(state);
    return status;
}

static HcStatus sum_integers(HcSceneSums *sums, HcStage *stage, HcQueue *queue, HcMoments *out,
                             HcError *err) {
    HcRanks *ranks = hc_stage_ranks(stage);
    size_t n = (size_t)stage->in.bands;
    HC_OR_RETURN(hc_sums_fetch(queue, sums->sums, out, err));
    HC_OR_RETURN(hc_ranks_sum(ranks, &out->count, 1, err));
    HC_OR_RETURN(hc_ranks_sum_wide(ranks, out->sum, n, err));
    return hc_ranks_sum_wide(ranks, out->product, n * n, err);
}

HcStatus hc_scene_sums_take(HcSceneSums *sums, HcStage *stage, HcQueue *queue, HcMoments *out, HcError *err) {
    HcStatus status = sums->limit > 0 ? sum_integers(sums, stage, queue, out, err)
                                      : fold_floats(sums, stage, queue, out, err);
    hc_scene_sums_close(sums);
    return status;
}
