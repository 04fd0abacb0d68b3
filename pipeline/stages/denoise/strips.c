/* Strips: a block is worked on in strips, so that the memory for components does not depend on its size.
 *
 * A strip is transformed, its patches are freed of noise, groups of alike patches do so once more, and what
 * is left is transformed back. The map of errors filters the same strip twice (sigma_map.h). */
#include "core/allocate.h"
#include "core/operation/svd/groups.h"
#include "core/operation/image/project.h"
#include "core/patch.h"
#include "pipeline/memory.h"
#include "pipeline/stages/denoise/denoise.h"
#include "pipeline/stages/denoise/gain.h"

#include <math.h>
#include <stdlib.h>

/* Small patches have few materials; with many components they have too few pixels to tell signal from noise
 * (docs/stages/denoise.md has the figures). */
enum { LARGE_WINDOW = 16, FEW_COMPONENTS = 32 };

/* Lines of a strip, halo excluded; groups have more halo, and work on it again in each strip. */
enum { STRIP = 64, GROUP_STRIP = 128 };

/* Groups: larger ones, or others farther away, gain next to nothing (docs/stages/denoise.md). */
enum { GROUP_SIZE = 4, GROUP_REACH = 8, GROUP_COUNT = 32 };

/* Lines that are measured at once, and of a large scene this many lines are measured: for the next stage, and
 * for the gain. The gain of more components takes too much memory. */
enum { MEASURED = 16, MEASURED_LINES = 256, GAUGED = 32, GAUGED_LINES = 64, GAUGED_COMPONENTS = 64 };

/* ---- sizes ---- */

static int64_t window_of(const HcStage *stage) {
    const HcDenoise *state = stage->state;
    int64_t asked = hc_denoise_params(stage)->window;
    return asked > 0 ? asked : state->linear.used > FEW_COMPONENTS ? LARGE_WINDOW : HC_DENOISE_WINDOW;
}

static HcGroupRule group_rule(const HcStage *stage) {
    return (HcGroupRule){
        .lines = stage->in.lines, .size = GROUP_SIZE, .reach = GROUP_REACH, .count = GROUP_COUNT};
}

/* Of the pilot. */
static int32_t group_halo(const HcStage *stage) {
    HcGroupRule rule = group_rule(stage);
    return hc_denoise_by_groups(stage) ? hc_group_halo(&rule) : 0;
}

/* Lines around a strip of which the map of errors takes a mean. */
static int32_t margin_of(const HcStage *stage) {
    return hc_denoise_maps(stage) ? HC_SIGMA_MARGIN : 0;
}

/* Of the components. */
int32_t hc_denoise_strip_halo(const HcStage *stage) {
    return hc_denoise_by_patches(stage) ? (int32_t)window_of(stage) - 1 + group_halo(stage) : 0;
}

static int32_t strip_lines(const HcStage *stage) {
    return hc_denoise_by_groups(stage) && !stage->tight && !hc_denoise_maps(stage) ? GROUP_STRIP : STRIP;
}

static HcPatchRule rule_of(const HcStage *stage) {
    const HcDenoiseParams *params = hc_denoise_params(stage);
    const HcDenoise *state = stage->state;
    int64_t window = window_of(stage);
    int64_t part = hc_denoise_by_groups(stage) ? 2 : 4;
    return (HcPatchRule){.lines = stage->in.lines,
                         .samples = (int32_t)stage->in.samples,
                         .bands = state->linear.used,
                         .size = (int32_t)window,
                         .step = (int32_t)(params->step > 0 ? params->step : hc_max64(1, window / part)),
                         .keep = HC_PATCH_SHRINK,
                         .noise = 1,
                         .tight = stage->tight};
}

static size_t strip_bytes(const HcStage *stage, int32_t halo) {
    const HcDenoise *state = stage->state;
    size_t pixels = (size_t)(strip_lines(stage) + 2 * (halo + margin_of(stage))) * (size_t)stage->in.samples;
    return pixels * ((size_t)state->linear.used * sizeof(float) + 1);
}

static size_t work_bytes(const HcStage *stage) {
    const HcDenoise *state = stage->state;
    HcGroupRule rule = group_rule(stage);
    size_t pixels = (size_t)(strip_lines(stage) + 2 * margin_of(stage)) * (size_t)stage->in.samples;
    return hc_groups_bytes(&rule, pixels, state->linear.used);
}

/* All strips, with what groups work in. */
static size_t strips_bytes(HcStage *stage, bool tight) {
    bool was = stage->tight;
    stage->tight = tight;
    size_t bytes = strip_bytes(stage, hc_denoise_strip_halo(stage)) + strip_bytes(stage, 0);
    bytes += hc_denoise_by_groups(stage) ? strip_bytes(stage, group_halo(stage)) + work_bytes(stage) : 0;
    stage->tight = was;
    return bytes;
}

/* What the gain is measured with: where memory is left, and then in all passes. */
static void plan_gauge(HcStage *stage) {
    const HcDenoise *state = stage->state;
    int32_t used = state->linear.used < GAUGED_COMPONENTS ? state->linear.used : GAUGED_COMPONENTS;
    size_t bytes = hc_sigma_map_bytes(stage->in.samples, stage->in.bands, used, hc_denoise_strip_halo(stage));
    if (state->gauges) {
        hc_stage_takes(stage, HC_SPACE_HOST, bytes);
    } else if (!hc_denoise_maps(stage) && !state->measures && state->patches == NULL) {
        hc_stage_takes(stage, HC_SPACE_WISH, bytes);
    }
}

/* The patches that are worked on, and as much again to work in. */
static size_t patches_bytes(const HcStage *stage, bool tight) {
    HcPatchRule rule = rule_of(stage);
    rule.tight = tight;
    return 2 * (size_t)hc_patch_max(&rule) * hc_patch_bytes(&rule);
}

void hc_denoise_plan_strips(HcStage *stage) {
    stage->needs.halo = hc_denoise_strip_halo(stage) + margin_of(stage);
    stage->needs.memory[HC_SPACE_PIXEL].bytes = 0;
    hc_stage_takes_or(stage, HC_SPACE_DEVICE, strips_bytes(stage, false), strips_bytes(stage, true));
    hc_stage_takes_or(stage, HC_SPACE_DEVICE, patches_bytes(stage, false), patches_bytes(stage, true));
    plan_gauge(stage);
}

/* One band in place of those of the scene. */
HcStatus hc_denoise_plan_map(HcStage *stage, HcError *err) {
    const HcDenoise *state = stage->state;
    int32_t context = hc_denoise_strip_halo(stage);
    HC_OR_RETURN(hc_scene_reband(&stage->out, 1, HC_OTHER, err));
    HC_OR_RETURN(hc_scene_name_band(&stage->out, 0, err, "expected error"));
    stage->out.has_nodata = false; /* that of the scene may be an error, too */
    if (!hc_denoise_by_patches(stage)) {
        size_t strips = 2 * strip_bytes(stage, 0);
        stage->needs.halo = margin_of(stage);
        stage->needs.memory[HC_SPACE_PIXEL].bytes = 0;
        hc_stage_takes(stage, HC_SPACE_DEVICE, strips);
    }
    hc_stage_takes(stage, HC_SPACE_HOST,
                   hc_sigma_map_bytes(stage->in.samples, stage->in.bands, state->linear.used, context));
    return HC_OK;
}

/* ---- the run ---- */

/* Room for lines of the host. */
static HcStatus open_room(HcStage *stage, HcError *err) {
    HcDenoise *state = stage->state;
    size_t line = (size_t)stage->in.samples * ((size_t)stage->in.bands * sizeof(float) + 1);
    state->room_bytes = HC_DENOISE_ROOM * line;
    return hc_alloc(stage->compute, HC_MEMORY_HOST, state->room_bytes, &state->room, err);
}

/* What stripes are in the components that are kept. */
static HcStatus open_stripes(HcStage *stage, HcError *err) {
    HcDenoise *state = stage->state;
    const HcTransform *transform = &state->linear.transform;
    size_t used = (size_t)state->linear.used;
    size_t bands = (size_t)transform->bands;
    size_t columns = (size_t)stage->in.samples;
    HC_OR_RETURN(hc_new(state->offset, columns * used, "stripes", err));
    for (size_t s = 0; s < columns; s++) {
        for (size_t b = 0; b < bands; b++) {
            for (size_t k = 0; k < used; k++) {
                state->offset[s * used + k] += state->stripes.term[s * bands + b] *
                                               transform->forward[b * (size_t)transform->components + k];
            }
        }
    }
    return HC_OK;
}

/* With the transform and its matrices: what patches need. */
HcStatus hc_denoise_open_strips(HcStage *stage, HcError *err) {
    HcDenoise *state = stage->state;
    if (hc_denoise_params(stage)->linear.fit_only) {
        return HC_OK;
    }
    if (state->stripes.found || state->levels.uneven) {
        HC_OR_RETURN(open_room(stage, err));
    }
    if (state->stripes.found) {
        HC_OR_RETURN(open_stripes(stage, err));
    }
    if (hc_denoise_hands_on(stage) || (!hc_denoise_maps(stage) && !hc_denoise_by_patches(stage))) {
        return HC_OK;
    }
    state->gauges = hc_denoise_has_gain(stage) && stage->has_more && state->linear.used <= GAUGED_COMPONENTS;
    if (hc_denoise_maps(stage) || state->measures || state->gauges) {
        const HcTransform *transform = &state->linear.transform;
        HC_OR_RETURN(hc_sigma_map_open(&state->map, stage->compute, transform, stage->in.samples,
                                       state->handed_on ? 0 : state->linear.used,
                                       hc_gain_level(transform, state->linear.used),
                                       hc_denoise_strip_halo(stage), err));
        state->map.stripes = state->stripes.term;
        state->map.level_of = state->levels.level;
        state->map.lost = hc_gain_lost(transform, state->map.used) / transform->bands;
    }
    HcPatchRule rule = rule_of(stage);
    HC_OR_RETURN(hc_memory_zeros(stage->compute, strip_bytes(stage, hc_denoise_strip_halo(stage)),
                                 &state->components, err));
    HC_OR_RETURN(hc_memory_zeros(stage->compute, strip_bytes(stage, 0), &state->clean, err));
    if (hc_denoise_by_groups(stage)) {
        HC_OR_RETURN(
            hc_memory_zeros(stage->compute, strip_bytes(stage, group_halo(stage)), &state->pilot, err));
        HC_OR_RETURN(hc_memory_zeros(stage->compute, work_bytes(stage), &state->work, err));
    }
    return hc_denoise_by_patches(stage) ? hc_patches_open(stage->compute, &rule, &state->patches, err)
                                        : HC_OK;
}

/* A view of lines first .. end - 1, with the context that `in` has of `halo` lines, in a buffer. */
static HcBlock strip_of(const HcDenoise *state, const HcBuffer *buffer, const HcBlock *in, int64_t first,
                        int64_t end, int32_t halo) {
    HcBlock strip = hc_block_part(in, first, end, halo);
    strip.bands = state->linear.used;
    strip.data = buffer->data;
    strip.mask = (uint8_t *)buffer->data + hc_block_values(&strip) * sizeof(float);
    return strip;
}

/* Whether columns are scaled: what comes between two matrices that are applied at once cancels. */
static bool scales(const HcStage *stage) {
    const HcDenoise *state = stage->state;
    return state->levels.uneven && (hc_denoise_by_patches(stage) || hc_denoise_maps(stage));
}

/* Components of the scene without its stripes, in columns of one level of noise. */
static HcStatus transform(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *components,
                          HcError *err) {
    const HcDenoise *state = stage->state;
    const HcLinearMatrices *device = &state->linear.device;
    HcColumnChange change = {.offset = state->offset, .factor = scales(stage) ? state->levels.inverse : NULL};
    HC_OR_RETURN(hc_project(queue, in, device->forward.data, device->mean.data, NULL, components, err));
    return change.offset == NULL && change.factor == NULL
               ? HC_OK
               : hc_column_change(&change, queue, components, components, &state->room, state->room_bytes,
                                  err);
}

static HcStatus transform_back(HcStage *stage, HcQueue *queue, const HcBlock *components, const HcBlock *out,
                               HcError *err) {
    const HcDenoise *state = stage->state;
    const HcLinearMatrices *device = &state->linear.device;
    HcColumnChange change = {.factor = state->levels.level};
    if (scales(stage)) {
        HC_OR_RETURN(
            hc_column_change(&change, queue, components, components, &state->room, state->room_bytes, err));
    }
    return hc_project(queue, components, device->inverse.data, NULL, device->mean.data, out, err);
}

/* Patches make the pilot; groups then look at components and pilot. */
static HcStatus filter_groups(HcStage *stage, HcQueue *queue, const HcBlock *components, const HcBlock *clean,
                              HcError *err) {
    const HcDenoise *state = stage->state;
    HcGroupRule rule = group_rule(stage);
    int64_t first = clean->line0;
    int64_t end = first + clean->lines;
    HcBlock noisy = hc_block_part(components, first, end, group_halo(stage));
    HcBlock pilot = strip_of(state, &state->pilot, &noisy, first, end, group_halo(stage));
    HcBlock rows = pilot;
    rows.line0 = hc_block_first_line(&pilot);
    rows.lines = (int32_t)hc_block_rows(&pilot);
    rows.above = rows.below = 0;
    HC_OR_RETURN(hc_patches(queue, components, state->patches, &rows, err));
    return hc_groups(queue, &noisy, &pilot, &rule, state->work.data, clean, err);
}

static HcStatus filter_strip(HcStage *stage, HcQueue *queue, const HcBlock *components, const HcBlock *clean,
                             HcError *err) {
    const HcDenoise *state = stage->state;
    return hc_denoise_by_groups(stage) ? filter_groups(stage, queue, components, clean, err)
                                       : hc_patches(queue, components, state->patches, clean, err);
}

/* For the map of errors: components are filtered as they are, and with a probe. */
static HcStatus filter_twice(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *components,
                             const HcBlock *clean, HcError *err) {
    HcSigmaMap *map = &((HcDenoise *)stage->state)->map;
    HC_OR_RETURN(transform(stage, queue, in, components, err));
    HcBlock noisy = hc_block_part(components, clean->line0, clean->line0 + clean->lines, 0);
    HC_OR_RETURN(hc_sigma_map_fetch(queue, &noisy, &map->noisy, err));
    if (!hc_denoise_by_patches(stage)) {
        return HC_OK;
    }
    HC_OR_RETURN(filter_strip(stage, queue, components, clean, err));
    HC_OR_RETURN(hc_sigma_map_fetch(queue, clean, &map->clean, err));
    HC_OR_RETURN(hc_sigma_map_disturb(map, queue, components, err));
    HC_OR_RETURN(filter_strip(stage, queue, components, clean, err));
    return hc_sigma_map_fetch(queue, clean, &map->probe, err);
}

/* The map of errors. A scene that is handed on keeps its noise. */
static HcStatus map_strip(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                          int64_t first, int64_t end, HcError *err) {
    HcDenoise *state = stage->state;
    HcSigmaMap *map = &state->map;
    int64_t top = hc_max64(0, first - HC_SIGMA_MARGIN);
    int64_t bottom = hc_min64(stage->in.lines, end + HC_SIGMA_MARGIN);
    HcBlock components = strip_of(state, &state->components, in, top, bottom, hc_denoise_strip_halo(stage));
    HcBlock clean = strip_of(state, &state->clean, in, top, bottom, 0);
    HcBlock part = hc_block_part(out, first, end, 0);
    bool filters = hc_denoise_by_patches(stage);
    if (state->handed_on) {
        return hc_sigma_map_write(map, queue, in, &clean, false, &part, err);
    }
    HC_OR_RETURN(filter_twice(stage, queue, in, &components, &clean, err));
    return hc_sigma_map_write(map, queue, in, &clean, filters, &part, err);
}

static HcStatus process_strip(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                              int64_t first, int64_t end, HcError *err) {
    const HcDenoise *state = stage->state;
    HcBlock components = strip_of(state, &state->components, in, first, end, hc_denoise_strip_halo(stage));
    HcBlock clean = strip_of(state, &state->clean, in, first, end, 0);
    HcBlock part = hc_block_part(out, first, end, 0);
    HC_OR_RETURN(transform(stage, queue, in, &components, err));
    HC_OR_RETURN(filter_strip(stage, queue, &components, &clean, err));
    return transform_back(stage, queue, &clean, &part, err);
}

/* One of N parts of lines is measured. */
static int64_t measured_every(const HcStage *stage) {
    const HcDenoise *state = stage->state;
    return state->measures ? hc_max64(1, stage->in.lines / MEASURED_LINES)
                           : (stage->in.lines + GAUGED_LINES - 1) / GAUGED_LINES;
}

/* Measures the error of some lines of the block: the same ones for every size of blocks, and once. */
static HcStatus measure(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, HcError *err) {
    HcDenoise *state = stage->state;
    int64_t every = measured_every(stage);
    int64_t lines = state->measures ? MEASURED : GAUGED;
    int64_t end = out->line0 + out->lines;
    int64_t part = out->line0 / lines / every * every;
    for (; part * lines < end; part += every) {
        int64_t first = hc_max64(hc_max64(out->line0, part * lines), state->map.measured_end);
        int64_t next = hc_min64(end, (part + 1) * lines);
        if (first >= next) {
            continue;
        }
        HcBlock components =
            strip_of(state, &state->components, in, first, next, hc_denoise_strip_halo(stage));
        HcBlock clean = strip_of(state, &state->clean, in, first, next, 0);
        HC_OR_RETURN(filter_twice(stage, queue, in, &components, &clean, err));
        HC_OR_RETURN(hc_sigma_map_measure(&state->map, queue, in, &clean, err));
        state->map.measured_end = next;
    }
    return HC_OK;
}

HcStatus hc_denoise_risk(const HcStage *stage, double *risk, HcError *err) {
    const HcDenoise *state = stage->state;
    int64_t sums[2] = {state->map.measured, state->map.measured_pixels};
    HC_OR_RETURN(hc_ranks_sum(hc_stage_ranks(stage), sums, 2, err));
    *risk = sums[1] > 0 ? (double)sums[0] / (double)sums[1] / HC_SIGMA_UNIT : NAN;
    return HC_OK;
}

HcStatus hc_denoise_process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                            void *scratch, HcError *err) {
    const HcDenoise *state = stage->state;
    if (hc_denoise_hands_on(stage)) { /* but for its stripes */
        HcColumnChange change = {.offset = state->stripes.term};
        return hc_column_change(&change, queue, in, out, &state->room, state->room_bytes, err);
    }
    if (!hc_denoise_by_patches(stage) && !hc_denoise_maps(stage)) {
        HcBlock components = *out;
        components.bands = state->linear.used;
        components.data = scratch;
        components.mask = (uint8_t *)scratch + hc_block_values(&components) * sizeof(float);
        HC_OR_RETURN(transform(stage, queue, in, &components, err));
        return transform_back(stage, queue, &components, out, err);
    }
    if (state->measures || state->gauges) {
        HC_OR_RETURN(measure(stage, queue, in, out, err));
    }
    int64_t first = hc_block_first_line(out);
    int64_t end = first + hc_block_rows(out);
    int64_t lines = strip_lines(stage);
    for (; first < end; first += lines) {
        int64_t next = hc_min64(end, first + lines);
        HC_OR_RETURN(hc_denoise_maps(stage) ? map_strip(stage, queue, in, out, first, next, err)
                                            : process_strip(stage, queue, in, out, first, next, err));
    }
    return HC_OK;
}

void hc_denoise_close_strips(HcStage *stage) {
    HcDenoise *state = stage->state;
    if (stage->compute != NULL) {
        hc_patches_close(state->patches);
    }
    hc_memory_release(stage->compute, &state->components);
    hc_memory_release(stage->compute, &state->pilot);
    hc_memory_release(stage->compute, &state->clean);
    hc_memory_release(stage->compute, &state->work);
    hc_memory_release(stage->compute, &state->room);
    free(state->offset);
    hc_sigma_map_close(&state->map);
}
