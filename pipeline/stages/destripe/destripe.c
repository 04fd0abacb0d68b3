/* destripe: an offset and a gain of each detector column, or an offset of each line, are taken from a scene.
 *
 * The first round sums the scene and its differences along the stripes, which make the basis (stripes.h). The
 * second one looks for terms and gains, and the third one for terms without these gains. Where neither is
 * found, the scene passes through. */
#include "core/allocate.h"
#include "core/operation/spectrum/calibrate.h"
#include "pipeline/memory.h"
#include "pipeline/report/plot_panel.h"
#include "pipeline/stages/destripe/column_change.h"
#include "pipeline/stages/destripe/gains.h"
#include "pipeline/stages/stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Params {
    int32_t direction, gains;
} Params;

/* What stripes are before and after. */
typedef struct Profile {
    int32_t band;           /* with the largest stripes beside its noise, from 0 */
    double *before, *after; /* [items] means of this band */
    float *steps;           /* [2][bands] root mean square steps of the means, before and after */
} Profile;

typedef struct State {
    HcSceneSums values, along;
    HcStripes stripes; /* of the last round, and its gains */
    HcGains gains;
    bool found, gains_found; /* in any round */
    double *noise;           /* [bands] deviation of the noise, once fitted */
    double *strength;        /* [bands] root mean square of the terms of the first search */
    double *mean;            /* [items][bands] of the scene with stripes */
    double *offset, *gain;   /* [samples][bands] see make_changes; NULL = of lines */
    Profile profile;
    HcBuffer memory[3]; /* [device] offsets, gains, live columns */
    HcBuffer strip;     /* [device] lines without the stripes that the round before found */
    HcBuffer room;      /* [host] lines that are changed */
    size_t room_bytes;
} State;

static const char *const direction_words[] = {"columns", "lines", NULL};
static const char *const gain_words[] = {"auto", "none", NULL};

enum { COLUMNS, LINES };
enum { GAINS_AUTO, GAINS_NONE };
enum {
    ROOM = 16,     /* lines that are changed at once */
    BANDS_MIN = 3, /* fewest that tell noise */
    SEARCH = 1,    /* round that looks for stripes, */
    AGAIN = 2      /* and that looks for them in the scene without the gains */
};

/* Stripes of a band are counted from this part of its noise on. */
static const double seen = 0.1;

static const HcOption options[] = {
    {HC_CHOICE(Params, direction), .choices = direction_words, .standard = "columns",
     .help = "columns: the detectors of a pushbroom sensor. lines: offsets of single lines"},
    {HC_CHOICE(Params, gains), .choices = gain_words, .standard = "auto",
     .help = "auto: columns may differ in gain, too, from 48 lines on. none: in their offset alone"},
    {0}};

static bool of_lines(const HcStage *stage) {
    return ((const Params *)stage->params)->direction == LINES;
}

static bool has_gains(const HcStage *stage) {
    return !of_lines(stage) && ((const Params *)stage->params)->gains == GAINS_AUTO;
}

static size_t elements_of(const HcStage *stage) {
    return (size_t)stage->in.samples * (size_t)stage->in.bands;
}

static size_t room_of(const HcStage *stage) {
    return ROOM * (elements_of(stage) * sizeof(float) + (size_t)stage->in.samples);
}

/* ---- plan ---- */

static HcStatus check_scene(const HcStage *stage, HcError *err) {
    HC_OR_RETURN(hc_statistics_of_values(&stage->in, "destripe", err));
    if (stage->in.bands < BANDS_MIN) {
        return hc_fail(err, HC_E_INPUT, "destripe: the scene has %d band%s, at least %d are needed",
                       stage->in.bands, stage->in.bands > 1 ? "s" : "", BANDS_MIN);
    }
    return hc_stripes_check(&stage->in, "destripe", err);
}

static void plan_search(HcStage *stage) {
    State *state = stage->state;
    stage->needs.observes = true;
    stage->needs.rounds = has_gains(stage) ? AGAIN + 1 : SEARCH + 1; /* settle may need fewer */
    if (has_gains(stage)) {
        stage->needs.rank_lines = hc_gains_segment(&stage->in);
        hc_stage_takes(stage, HC_SPACE_DEVICE, hc_gains_bytes_device(&stage->in) + room_of(stage));
    } else if (of_lines(stage)) {
        stage->needs.halo = 1;
    } else {
        stage->needs.rank_lines = hc_stripes_segment(&stage->in);
    }
    hc_stage_takes(stage, HC_SPACE_DEVICE, hc_stripes_bytes_device(&stage->in));
    if (stage->round == 0) {
        hc_scene_sums_want(&state->values, stage, HC_DIFFERENCE_NONE, NULL);
        hc_scene_sums_want(&state->along, stage, hc_stripes_difference(of_lines(stage)), NULL);
    }
}

static HcStatus plan(HcStage *stage, HcError *err) {
    size_t elements = elements_of(stage);
    size_t items = (size_t)(of_lines(stage) ? stage->in.lines : stage->in.samples);
    HC_OR_RETURN(check_scene(stage, err));
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    stage->out.integer_limit = 0;
    if (!stage->settled) {
        plan_search(stage);
    }
    stage->needs.passes_through = stage->settled && !((const State *)stage->state)->found;
    hc_stage_takes(stage, HC_SPACE_HOST, hc_stripes_bytes(&stage->in, of_lines(stage)));
    hc_stage_takes(stage, HC_SPACE_HOST, 2 * (items + (size_t)stage->in.bands) * sizeof(double));
    if (of_lines(stage)) {
        hc_stage_takes(stage, HC_SPACE_HOST, room_of(stage));
        return HC_OK;
    }
    hc_stage_takes(stage, HC_SPACE_HOST, 3 * elements * sizeof(double));
    hc_stage_takes(stage, HC_SPACE_HOST, has_gains(stage) ? hc_gains_bytes(&stage->in) : 0);
    hc_stage_takes(stage, HC_SPACE_DEVICE, 2 * elements * sizeof(double) + (size_t)stage->in.samples);
    return HC_OK;
}

/* ---- the search ---- */

static HcStatus observe_block(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    State *state = stage->state;
    if (has_gains(stage)) {
        HC_OR_RETURN(hc_gains_observe(&state->gains, queue, in, err));
    }
    return hc_stripes_observe(&state->stripes, queue, in, err);
}

static HcStatus calibrate(const State *state, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                          HcError *err) {
    HcCalibration how = {
        .offset = state->memory[0].data, .gain = state->memory[1].data, .live = state->memory[2].data};
    return hc_calibrate(queue, in, &how, out, err);
}

/* The gains that the round before found are taken away first. */
static HcStatus observe_again(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    const State *state = stage->state;
    int64_t end = in->line0 + in->lines;
    for (int64_t first = in->line0; first < end; first += ROOM) {
        HcBlock part = hc_block_part(in, first, hc_min64(end, first + ROOM), 0);
        HcBlock clean = part;
        clean.data = state->strip.data;
        clean.mask = (uint8_t *)state->strip.data + hc_block_values(&clean) * sizeof(float);
        HC_OR_RETURN(calibrate(state, queue, &part, &clean, err));
        HC_OR_RETURN(observe_block(stage, queue, &clean, err));
    }
    return HC_OK;
}

static HcStatus observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    return stage->round == AGAIN    ? observe_again(stage, queue, in, err)
           : stage->round == SEARCH ? observe_block(stage, queue, in, err)
                                    : HC_OK;
}

/* Components have noise of variance 1. */
static HcStatus find_noise(HcStage *stage, HcError *err) {
    State *state = stage->state;
    const HcTransform *basis = &state->stripes.basis;
    HC_OR_RETURN(hc_new(state->noise, stage->in.bands, "noise of bands", err));
    for (int32_t b = 0; b < stage->in.bands; b++) {
        double sum = 0;
        for (int32_t k = 0; k < basis->components; k++) {
            double part = basis->inverse[(size_t)k * (size_t)basis->bands + (size_t)b];
            sum += part * part;
        }
        state->noise[b] = sqrt(sum);
    }
    return HC_OK;
}

static HcStatus settle_sums(HcStage *stage, HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    HcStatistics scene = {0};
    HcMoments along = {0};
    HC_TRY(hc_scene_sums_statistics(&state->values, stage, queue, "", &scene, err));
    HC_TRY(hc_scene_sums_take(&state->along, stage, queue, &along, err));
    state->stripes.of_lines = of_lines(stage);
    state->stripes.keeps_means = true;
    HC_TRY(hc_stripes_open(&state->stripes, stage->compute, &stage->in, scene.mean, &along, err));
    HC_TRY(find_noise(stage, err));
    if (has_gains(stage)) {
        HC_TRY(hc_gains_open(&state->gains, &state->stripes, &stage->in, err));
    }
done:
    hc_statistics_clear(&scene);
    hc_moments_clear(&along);
    return status;
}

/* ---- what is changed ---- */

/* A value is y = x + term + slope (x - q), where q is the mean of x. So x is (y - offset) gain. Where a
 * second search finds nothing, the changes of the first one stay. */
static HcStatus make_changes(HcStage *stage, HcError *err) {
    State *state = stage->state;
    size_t elements = elements_of(stage);
    if (state->offset == NULL) {
        HC_OR_RETURN(hc_new(state->offset, elements, "offsets", err));
        HC_OR_RETURN(hc_new(state->gain, elements, "gains", err));
        for (size_t at = 0; at < elements; at++) {
            state->gain[at] = 1;
        }
    }
    for (size_t at = 0; at < elements && state->stripes.found; at++) {
        double term = state->stripes.term[at], mean = state->stripes.mean[at];
        double slope = state->gains.found && isfinite(mean) ? state->gains.gain[at] : 0;
        state->offset[at] = slope == 0 ? term : term - slope * (mean - term);
        state->gain[at] = 1 / (1 + slope);
    }
    return HC_OK;
}

static HcStatus upload(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    uint8_t *live = NULL;
    size_t bytes = elements_of(stage) * sizeof(double);
    for (int i = 0; i < 3; i++) {
        hc_memory_release(stage->compute, &state->memory[i]);
    }
    HC_TRY(hc_new(live, stage->in.samples, "columns", err));
    memset(live, 1, (size_t)stage->in.samples);
    HC_TRY(hc_memory_upload(stage->compute, state->offset, bytes, &state->memory[0], err));
    HC_TRY(hc_memory_upload(stage->compute, state->gain, bytes, &state->memory[1], err));
    HC_TRY(hc_memory_upload(stage->compute, live, (size_t)stage->in.samples, &state->memory[2], err));
done:
    free(live);
    return status;
}

static void add_terms(HcStage *stage, double sign) {
    State *state = stage->state;
    for (size_t at = 0; at < elements_of(stage); at++) {
        state->offset[at] += sign * state->stripes.term[at] / state->gain[at];
    }
}

/* Gains alone are taken from the scene of the next search, which looks for all of the terms. */
static HcStatus upload_gains(HcStage *stage, HcError *err) {
    add_terms(stage, -1);
    HC_OR_RETURN(upload(stage, err));
    add_terms(stage, 1);
    return HC_OK;
}

/* ---- the profile ---- */

static void profile_of(const State *state, int32_t band, double *before, double *after) {
    for (int64_t i = 0; i < state->stripes.items; i++) {
        size_t at = (size_t)i * (size_t)state->stripes.basis.bands + (size_t)band;
        const double *offset = state->offset != NULL ? state->offset : state->stripes.term;
        before[i] = state->mean[at];
        after[i] = state->found ? before[i] - offset[at] : before[i];
        after[i] *= state->gain != NULL ? state->gain[at] : 1;
    }
}

static double steps_of(const double *profile, int64_t items) {
    double sum = 0, count = 0;
    for (int64_t i = 0; i + 1 < items; i++) {
        double step = profile[i + 1] - profile[i];
        sum += isnan(step) ? 0 : step * step;
        count += !isnan(step);
    }
    return count > 0 ? sqrt(sum / count) : 0;
}

static HcStatus make_profile(HcStage *stage, HcError *err) {
    State *state = stage->state;
    Profile *profile = &state->profile;
    int64_t items = state->stripes.items;
    double largest = -1;
    HC_OR_RETURN(hc_new(profile->before, items, "a profile", err));
    HC_OR_RETURN(hc_new(profile->after, items, "a profile", err));
    HC_OR_RETURN(hc_new(profile->steps, 2 * (size_t)stage->in.bands, "a profile", err));
    for (int32_t b = 0; b < stage->in.bands; b++) {
        profile_of(state, b, profile->before, profile->after);
        double before = steps_of(profile->before, items), after = steps_of(profile->after, items);
        double share = state->noise[b] > 0 ? (before - after) / state->noise[b] : 0;
        profile->steps[b] = (float)before;
        profile->steps[stage->in.bands + b] = (float)after;
        profile->band = share > largest ? b : profile->band;
        largest = fmax(share, largest);
    }
    profile_of(state, profile->band, profile->before, profile->after);
    return HC_OK;
}

static void note(HcStage *stage) {
    const State *state = stage->state;
    int32_t count = 0, most = 0;
    double largest = -1;
    if (!state->found) {
        hc_stage_note(stage, "no stripes are found, the scene is handed on unchanged");
        return;
    }
    for (int32_t b = 0; b < stage->in.bands; b++) {
        double share = state->noise[b] > 0 ? state->strength[b] / state->noise[b] : 0;
        count += share > seen;
        most = share > largest ? b : most;
        largest = fmax(share, largest);
    }
    hc_stage_note(stage,
                  "stripes of %s are removed: more than a tenth of the noise in %d of %d bands, at most %.2g "
                  "times the noise (band %d, root mean square)%s",
                  direction_words[((const Params *)stage->params)->direction], count, stage->in.bands,
                  largest, hc_stage_file_band(stage, most),
                  state->gains_found ? ", and gains of columns" : "");
}

/* What the search found, of its first round. */
static HcStatus keep_found(HcStage *stage, HcError *err) {
    State *state = stage->state;
    HC_OR_RETURN(hc_new(state->strength, stage->in.bands, "stripes of bands", err));
    for (int32_t b = 0; b < stage->in.bands; b++) {
        state->strength[b] = hc_stripes_of_band(&state->stripes, b);
    }
    state->found = state->stripes.found;
    state->gains_found = state->gains.found;
    state->mean = state->stripes.mean;
    state->stripes.mean = NULL;
    return HC_OK;
}

/* Medians of stripes with gains are those of the scene times the gains. Without these gains, and in units of
 * the stripes, they tell more. */
static HcStatus search_again(HcStage *stage, HcError *err) {
    State *state = stage->state;
    HC_OR_RETURN(hc_memory_zeros(stage->compute, room_of(stage), &state->strip, err));
    HC_OR_RETURN(hc_stripes_again(&state->stripes, &stage->in, err));
    return hc_gains_again(&state->gains, &state->stripes, &stage->in, err);
}

static HcStatus settle_search(HcStage *stage, HcError *err) {
    State *state = stage->state;
    HC_OR_RETURN(hc_stripes_settle(&state->stripes, hc_stage_ranks(stage), err));
    if (has_gains(stage) && state->stripes.found) { /* gains of a scene above 0 leave terms, too */
        HC_OR_RETURN(hc_gains_settle(&state->gains, &state->stripes, hc_stage_ranks(stage), err));
    }
    if (!of_lines(stage)) {
        bool goes_on = stage->round == SEARCH && state->gains.found;
        HC_OR_RETURN(make_changes(stage, err));
        HC_OR_RETURN(goes_on ? upload_gains(stage, err) : upload(stage, err));
    }
    return stage->round == SEARCH ? keep_found(stage, err) : HC_OK;
}

static HcStatus settle(HcStage *stage, HcQueue *queue, HcError *err) {
    State *state = stage->state;
    if (stage->round == 0) {
        return settle_sums(stage, queue, err);
    }
    HC_OR_RETURN(settle_search(stage, err));
    if (stage->round == SEARCH && state->gains_found) {
        return search_again(stage, err);
    }
    stage->needs.rounds = stage->round + 1;
    hc_memory_release(stage->compute, &state->strip);
    HC_OR_RETURN(make_profile(stage, err));
    note(stage);
    if (!of_lines(stage) || !state->found) {
        return HC_OK;
    }
    state->room_bytes = room_of(stage);
    return hc_alloc(stage->compute, HC_MEMORY_HOST, state->room_bytes, &state->room, err);
}

static HcStatus process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err) {
    const State *state = stage->state;
    (void)scratch;
    if (of_lines(stage)) {
        HcColumnChange change = {.line = state->stripes.term};
        return hc_column_change(&change, queue, in, out, &state->room, state->room_bytes, err);
    }
    return calibrate(state, queue, in, out, err);
}

/* ---- after the run ---- */

static void report(const HcStage *stage, HcJson *to) {
    const State *state = stage->state;
    const Profile *profile = &state->profile;
    if (profile->before == NULL) {
        return;
    }
    hc_json_put_bool(to, "found", state->found);
    hc_json_put_bool(to, "gains_found", state->gains_found);
    hc_json_open_array(to, "root_mean_square");
    for (int32_t b = 0; b < stage->in.bands; b++) {
        hc_json_put_double(to, NULL, state->strength[b]);
    }
    hc_json_close(to);
    hc_json_put_doubles(to, "noise", state->noise, (size_t)stage->in.bands);
    hc_json_open_object(to, "profile");
    hc_json_put_number(to, "band", hc_stage_file_band(stage, profile->band));
    hc_json_put_doubles(to, "before", profile->before, (size_t)state->stripes.items);
    hc_json_put_doubles(to, "after", profile->after, (size_t)state->stripes.items);
    hc_json_close(to);
}

static HcStatus panels(const HcStage *stage, HcPanels *to, HcError *err) {
    const State *state = stage->state;
    char before[] = "before", after[] = "after";
    char *const names[] = {before, after};
    HcSpectraPlot plot = {.scene = &stage->in,
                          .count = 2,
                          .value = state->profile.steps,
                          .name = names,
                          .title = of_lines(stage) ? "Stripes of lines" : "Stripes of columns",
                          .label = "step between neighbours",
                          .caption =
                              "Root mean square steps of the means of neighbouring columns, or lines."};
    return state->profile.steps != NULL ? hc_panels_add_spectra(to, &plot, err) : HC_OK;
}

static void close_destripe(HcStage *stage) {
    State *state = stage->state;
    for (int i = 0; i < 3; i++) {
        hc_memory_release(stage->compute, &state->memory[i]);
    }
    hc_memory_release(stage->compute, &state->strip);
    hc_memory_release(stage->compute, &state->room);
    hc_scene_sums_close(&state->values);
    hc_scene_sums_close(&state->along);
    hc_gains_close(&state->gains);
    hc_stripes_close(&state->stripes);
    free(state->noise);
    free(state->strength);
    free(state->mean);
    free(state->offset);
    free(state->gain);
    free(state->profile.before);
    free(state->profile.after);
    free(state->profile.steps);
    *state = (State){0};
}

const HcStageClass hc_stage_destripe = {
    .name = "destripe",
    .summary = "remove stripes: offsets and gains of detector columns, offsets of lines",
    .example = "hcube destripe scene.hdr clean.tif",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .observe = observe,
    .settle = settle,
    .process = process,
    .report = report,
    .close = close_destripe,
    .rare = {.panels = panels},
};
