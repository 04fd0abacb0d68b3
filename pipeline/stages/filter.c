/* filter: 3x3 mean or median, noise images, and the majority of a class map. The last is counted on the host:
 * a map is small beside the scene that it is of. */
#include "core/allocate.h"
#include "core/operation/image/difference.h"
#include "core/operation/image/filter.h"
#include "core/system/team.h"
#include "pipeline/memory.h"
#include "pipeline/stages/stages.h"
#include "pipeline/statistics/statistics.h"

#include <string.h>

typedef struct Params {
    int32_t kind;
    bool noise;
    int64_t window;
} Params;

/* Of the majority: some rows of the map with their neighbours, and what becomes of them. */
typedef struct State {
    HcBuffer from, to; /* [host] values, then masks */
    HcTeam *team;
} State;

/* Of hc_noise_words, and one more. */
static const char *const kind_words[] = {"mean3x3", "median3x3", "shift", "shift-diagonal", "majority", NULL};

enum { MAJORITY = 4, WINDOW = 3, WINDOW_MAX = 31, ROWS_VALUES = 1 << 20 };

static const HcOption options[] = {
    {HC_CHOICE(Params, kind), .value = "KIND", .choices = kind_words, .positional = true,
     .standard = "mean3x3",
     .help = "filter of the neighbourhood; shift and shift-diagonal only with --noise; majority: the most "
             "frequent class of a class map"},
    {HC_INT(Params, window, "side"), .was = "window", .range = {3, WINDOW_MAX}, .otherwise = "3",
     .unit = "pixels", .value = "SIDE", .help = "majority: side of the square neighbourhood, an odd number"},
    {HC_FLAG(Params, noise),
     .help = "output the noise image: each pixel minus the filtered one; shift: minus its right neighbour, "
             "shift-diagonal: minus its lower right neighbour"},
    {0}};

static HcDifference kind_of(const HcStage *stage) {
    return (HcDifference)(((const Params *)stage->params)->kind + 1);
}

/* ---- the majority of a class map ---- */

static bool is_majority(const HcStage *stage) {
    return ((const Params *)stage->params)->kind == MAJORITY;
}

static int32_t reach_of(const HcStage *stage) {
    int64_t window = ((const Params *)stage->params)->window;
    return (int32_t)((window > 0 ? window : WINDOW) / 2);
}

/* Rows that are filtered at once. */
static int64_t rows_at_once(const HcStage *stage) {
    int64_t rows = ROWS_VALUES / stage->in.samples;
    return rows < 1 ? 1 : rows < stage->in.lines ? rows : stage->in.lines;
}

static size_t bytes_of(const HcStage *stage, int64_t rows) {
    return (size_t)rows * (size_t)stage->in.samples * (sizeof(float) + 1);
}

static HcStatus plan_majority(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    const HcScene *in = &stage->in;
    if (params->noise) {
        return hc_fail(err, HC_E_USAGE, "filter: --noise: a class map has none, majority takes no --noise");
    }
    if (params->window > 0 && params->window % 2 == 0) {
        return hc_fail(err, HC_E_USAGE, "filter: --side %lld: not an odd number", (long long)params->window);
    }
    if (in->meaning != HC_CLASS_MAP || in->bands != 1) {
        return hc_fail(err, HC_E_USAGE,
                       in->meaning == HC_CLASS_MAP
                           ? "filter: majority: %d bands come in, of which one holds classes: put "
                             "bands 1 in front"
                           : "filter: majority: %d bands come in that are no class map",
                       in->bands);
    }
    HC_OR_RETURN(hc_scene_copy(&stage->out, in, err));
    stage->needs.halo = reach_of(stage);
    int64_t rows = rows_at_once(stage);
    hc_stage_takes(stage, HC_SPACE_HOST,
                   bytes_of(stage, rows + 2 * stage->needs.halo) + bytes_of(stage, rows));
    return HC_OK;
}

static HcStatus open_filter(HcStage *stage, HcError *err) {
    State *state = stage->state;
    HcComputeInfo info;
    if (!is_majority(stage)) {
        return HC_OK;
    }
    hc_compute_info(stage->compute, &info);
    state->team = hc_team_open(hc_team_count(info.threads, 16));
    int64_t rows = rows_at_once(stage);
    HC_OR_RETURN(hc_alloc(stage->compute, HC_MEMORY_HOST, bytes_of(stage, rows + 2 * reach_of(stage)),
                          &state->from, err));
    return hc_alloc(stage->compute, HC_MEMORY_HOST, bytes_of(stage, rows), &state->to, err);
}

static void close_filter(HcStage *stage) {
    State *state = stage->state;
    hc_memory_release(stage->compute, &state->from);
    hc_memory_release(stage->compute, &state->to);
    hc_team_close(state->team);
    *state = (State){0};
}

/* Rows on the host: `above` of them lie before those that are filtered. */
typedef struct Rows {
    const float *from;
    const uint8_t *valid;
    float *to;
    int64_t samples, count, above, reach;
} Rows;

/* The classes of a neighbourhood, and how often each is there. */
typedef struct Tally {
    float class[WINDOW_MAX * WINDOW_MAX];
    int32_t votes[WINDOW_MAX * WINDOW_MAX];
    int32_t count;
} Tally;

static void add_vote(Tally *tally, float class) {
    int32_t k = 0;
    while (k < tally->count && tally->class[k] != class) {
        k++;
    }
    if (k == tally->count) {
        tally->class[k] = class;
        tally->votes[k] = 0;
        tally->count++;
    }
    tally->votes[k]++;
}

/* The class with most votes; of several the first, which is that of the pixel itself, else the lowest. */
static float winner_of(const Tally *tally) {
    int32_t best = 0;
    for (int32_t k = 1; k < tally->count; k++) {
        bool lower = best > 0 && tally->class[k] < tally->class[best];
        bool more = tally->votes[k] > tally->votes[best];
        best = more || (tally->votes[k] == tally->votes[best] && lower) ? k : best;
    }
    return tally->class[best];
}

static void filter_row(void *user, int64_t row, int32_t thread) {
    const Rows *rows = user;
    (void)thread;
    int64_t at = rows->above + row;
    int64_t first = at - rows->reach > 0 ? at - rows->reach : 0;
    int64_t last = at + rows->reach < rows->count - 1 ? at + rows->reach : rows->count - 1;
    for (int64_t s = 0; s < rows->samples; s++) {
        int64_t here = at * rows->samples + s;
        int64_t left = s - rows->reach > 0 ? s - rows->reach : 0;
        int64_t right = s + rows->reach < rows->samples - 1 ? s + rows->reach : rows->samples - 1;
        rows->to[row * rows->samples + s] = rows->valid[here] != 0 ? rows->from[here] : 0;
        if (rows->valid[here] == 0 || rows->from[here] == 0) {
            continue;
        }
        Tally tally;
        tally.class[0] = rows->from[here];
        tally.votes[0] = 0;
        tally.count = 1;
        for (int64_t l = first; l <= last; l++) {
            for (int64_t k = l * rows->samples + left; k <= l * rows->samples + right; k++) {
                if (rows->valid[k] != 0 && rows->from[k] != 0) {
                    add_vote(&tally, rows->from[k]);
                }
            }
        }
        rows->to[row * rows->samples + s] = winner_of(&tally);
    }
}

/* Rows from `row` on of the interior of `in`. */
static HcStatus filter_rows(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                            int64_t row, int64_t count, HcError *err) {
    State *state = stage->state;
    int64_t samples = in->samples;
    int64_t reach = reach_of(stage);
    int64_t begin = in->above + row - reach > 0 ? in->above + row - reach : 0;
    int64_t end = in->above + row + count + reach;
    end = end < hc_block_rows(in) ? end : hc_block_rows(in);
    size_t skipped = (size_t)(begin * samples), values = (size_t)((end - begin) * samples);
    size_t filtered = (size_t)(count * samples), to = (size_t)((out->above + row) * samples);
    uint8_t *valid = (uint8_t *)((float *)state->from.data + values);
    Rows rows = {.from = state->from.data,
                 .valid = valid,
                 .to = state->to.data,
                 .samples = samples,
                 .count = end - begin,
                 .above = in->above + row - begin,
                 .reach = reach};
    HC_OR_RETURN(hc_download(queue, in->data + skipped, state->from.data, values * sizeof(float), err));
    HC_OR_RETURN(hc_download(queue, in->mask + skipped, valid, values, err));
    HC_OR_RETURN(hc_wait(queue, err));
    hc_team_run(state->team, count, filter_row, &rows);
    HC_OR_RETURN(hc_upload(queue, state->to.data, out->data + to, filtered * sizeof(float), err));
    HC_OR_RETURN(hc_upload(queue, valid + rows.above * samples, out->mask + to, filtered, err));
    return hc_wait(queue, err);
}

/* ---- all kinds ---- */

static HcStatus plan(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    if (is_majority(stage)) {
        return plan_majority(stage, err);
    }
    if (params->window > 0) {
        return hc_fail(err, HC_E_USAGE, "filter: --side %lld: %s is 3x3, only majority has a side",
                       (long long)params->window, kind_words[params->kind]);
    }
    HcDifference kind = kind_of(stage);
    if (!params->noise && kind != HC_DIFFERENCE_MEAN3X3 && kind != HC_DIFFERENCE_MEDIAN3X3) {
        return hc_fail(err, HC_E_USAGE, "filter: %s smooths nothing: give --noise for its noise image",
                       hc_noise_words[params->kind]);
    }
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    if (stage->in.meaning == HC_CLASS_MAP) {
        stage->out.meaning = HC_OTHER; /* numbers of classes do not survive arithmetic */
    }
    stage->needs.halo = params->noise ? hc_difference_halo(kind) : 1;
    if (params->noise) {
        stage->masks = "at the border and beside masked pixels there is no noise value";
        stage->out.meaning = HC_NOISE;
        stage->out.complete = false;
        stage->out.has_nodata = false; /* any value may be noise: the mask alone says where there is none */
    }
    bool is_mean = kind == HC_DIFFERENCE_MEAN3X3 || (kind == HC_DIFFERENCE_MEDIAN3X3 && !params->noise);
    stage->out.integer_limit = is_mean ? 0 : hc_difference_limit(kind, stage->in.integer_limit);
    return HC_OK;
}

/* The halo of `out` too, where a later stage looks at neighbours. */
static HcStatus filter_block(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                             HcError *err) {
    int64_t most = rows_at_once(stage);
    for (int64_t row = -out->above; row < out->lines + out->below; row += most) {
        int64_t left = out->lines + out->below - row;
        HC_OR_RETURN(filter_rows(stage, queue, in, out, row, left < most ? left : most, err));
    }
    return HC_OK;
}

static HcStatus process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err) {
    (void)scratch;
    const Params *params = stage->params;
    HcDifference kind = kind_of(stage);
    if (is_majority(stage)) {
        return filter_block(stage, queue, in, out, err);
    }
    if (params->noise) {
        return hc_difference(queue, in, kind, out, err);
    }
    HcFilter filter = kind == HC_DIFFERENCE_MEAN3X3 ? HC_FILTER_MEAN3X3 : HC_FILTER_MEDIAN3X3;
    return hc_filter(queue, in, filter, out, err);
}

const HcStageClass hc_stage_filter = {
    .name = "filter",
    .summary =
        "3x3 mean or median, the noise image that is each pixel minus it, or the majority of a class map",
    .cite = "Zhou, Gao, Fang: Parallel implementation of maximum noise fraction on GPU, section 2",
    .example = "hcube filter scene.hdr smooth.tif --kind mean3x3",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .open = open_filter,
    .process = process,
    .close = close_filter,
};
