/* bands: chooses, drops or reorders bands. */
#include "core/allocate.h"
#include "core/grow.h"
#include "core/operation/image/gather.h"
#include "pipeline/memory.h"
#include "pipeline/spectra/runs.h"
#include "pipeline/stages/stages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Params {
    const char *keep, *drop, *wavelength, *drop_wavelength;
    bool good;
} Params;

typedef struct State {
    int32_t *index; /* [count] bands of the input, from 0 */
    int32_t count;
    HcBuffer device_index;
} State;

static const HcOption options[] = {
    {HC_TEXT(Params, keep), .value = "LIST", .positional = true, .otherwise = "all bands",
     .help = "keep these bands, in this order: 1-20,35,40-30 (numbers from 1, as the bands come in; a "
             "falling range reverses them)"},
    {HC_TEXT(Params, drop), .value = "LIST", .help = "exclude these bands"},
    {HC_TEXT(Params, wavelength), .unit = "nm", .value = "RANGES", .otherwise = "all wavelengths",
     .help = "keep the bands whose centres lie in these ranges: 400-700,2000-2400 or 0.4-0.7um"},
    {HC_TEXT(Params, drop_wavelength, "drop-wavelength"), .unit = "nm", .value = "RANGES",
     .help = "leave out the bands whose centres lie in these ranges"},
    {HC_FLAG(Params, good),
     .help = "leave out the bands that the header marks as bad (after read --all-bands)"},
    {0}};

static HcStatus append(State *state, int32_t band, HcError *err) {
    HC_OR_RETURN(hc_grow(state->index, state->count, "a list of bands", err));
    state->index[state->count++] = band;
    return HC_OK;
}

/* Appends the bands of a list of numbers, in the order of the list. */
static HcStatus add_list(State *state, const char *list, const HcScene *scene, const char *option,
                         HcError *err) {
    const char *rest = list;
    while (*rest != '\0') {
        double low = 0;
        double high = 0;
        bool fine = hc_range_next(&rest, &low, &high);
        if (fine && !(low >= 1 && high >= 1 && low <= scene->bands && high <= scene->bands)) { /* NaN too */
            return hc_fail(err, HC_E_USAGE, "bands: --%s %s: the scene has bands 1 to %d", option, list,
                           scene->bands);
        }
        if (!fine || low != (double)(int32_t)low || high != (double)(int32_t)high) {
            return hc_fail(err, HC_E_USAGE, "bands: --%s %s: not a list of band numbers like 1-20,35", option,
                           list);
        }
        int32_t step = high >= low ? 1 : -1;
        for (int32_t b = (int32_t)low; b != (int32_t)high + step; b += step) {
            HC_OR_RETURN(append(state, b - 1, err));
        }
    }
    return HC_OK;
}

/* Marks the bands whose centre lies in one of the ranges. */
static HcStatus mark_ranges(HcStage *stage, const char *ranges, const char *option, uint8_t *marked,
                            HcError *err) {
    const HcScene *scene = &stage->in;
    bool guessed = false;
    char asks[80];
    (void)snprintf(asks, sizeof asks, "--%s %s", option, ranges);
    HC_OR_RETURN(hc_need_wavelengths(stage, asks, err));
    const char *rest = ranges;
    while (*rest != '\0') {
        double low = 0;
        double high = 0;
        if (!hc_wavelengths_next(&rest, &low, &high, &guessed) || high < low) {
            return hc_fail(err, HC_E_USAGE,
                           "bands: --%s %s: not a list of ranges [nm] like 400-700,2000-2400", option,
                           ranges);
        }
        for (int32_t b = 0; b < scene->bands; b++) {
            marked[b] |= scene->wavelength[b] >= low && scene->wavelength[b] <= high;
        }
    }
    if (guessed) {
        hc_stage_note(stage, "--%s %s: numbers below 100 are taken as um", option, ranges);
    }
    return HC_OK;
}

/* Keeps those entries of the index whose mark is `wanted`. */
static void keep_marked(State *state, const uint8_t *marked, uint8_t wanted) {
    int32_t count = 0;
    for (int32_t k = 0; k < state->count; k++) {
        if (marked[state->index[k]] == wanted) {
            state->index[count++] = state->index[k];
        }
    }
    state->count = count;
}

static HcStatus fail_empty(const Params *params, const HcScene *scene, HcError *err) {
    if (params->wavelength == NULL) {
        return hc_fail(err, HC_E_USAGE, "bands: no band of the %d is left", scene->bands);
    }
    double low = INFINITY, high = -INFINITY;
    for (int32_t b = 0; b < scene->bands; b++) {
        low = fmin(low, scene->wavelength[b]);
        high = fmax(high, scene->wavelength[b]);
    }
    return hc_fail(
        err, HC_E_USAGE,
        "bands: --wavelength %s: no band of the %d is left; those of the scene lie at %.6g to %.6g nm",
        params->wavelength, scene->bands, low, high);
}

static HcStatus choose(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    const Params *params = stage->params;
    State *state = stage->state;
    const HcScene *scene = &stage->in;
    State dropped = {0};
    uint8_t *marked = NULL;
    HC_OR_RETURN(hc_new(marked, scene->bands, "a list of bands", err));
    if (params->keep != NULL) {
        HC_TRY(add_list(state, params->keep, scene, "keep", err));
    } else {
        for (int32_t b = 0; b < scene->bands; b++) {
            HC_TRY(append(state, b, err));
        }
    }
    if (params->wavelength != NULL) {
        HC_TRY(mark_ranges(stage, params->wavelength, "wavelength", marked, err));
        keep_marked(state, marked, 1);
    }
    memset(marked, 0, (size_t)scene->bands);
    if (params->drop_wavelength != NULL) {
        HC_TRY(mark_ranges(stage, params->drop_wavelength, "drop-wavelength", marked, err));
    }
    if (params->drop != NULL) {
        HC_TRY(add_list(&dropped, params->drop, scene, "drop", err));
    }
    for (int32_t k = 0; k < dropped.count; k++) {
        marked[dropped.index[k]] = 1;
    }
    for (int32_t b = 0; params->good && scene->bad != NULL && b < scene->bands; b++) {
        marked[b] |= scene->bad[b];
    }
    keep_marked(state, marked, 0);
    if (state->count == 0) {
        HC_TRY(fail_empty(params, scene, err));
    }
done:
    free(dropped.index);
    free(marked);
    return status;
}

static HcStatus plan(HcStage *stage, HcError *err) {
    State *state = stage->state;
    if (!stage->is_open) { /* until then an earlier fit may change what comes in */
        free(state->index);
        state->index = NULL;
        state->count = 0;
        HC_OR_RETURN(choose(stage, err));
    }
    hc_stage_takes(stage, HC_SPACE_DEVICE, (size_t)state->count * sizeof *state->index);
    stage->needs.missing = HC_MISSING_PASSED;
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    return hc_scene_select(&stage->out, state->index, state->count, err);
}

static HcStatus open_bands(HcStage *stage, HcError *err) {
    State *state = stage->state;
    return hc_memory_upload(stage->compute, state->index, (size_t)state->count * sizeof *state->index,
                            &state->device_index, err);
}

static HcStatus process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err) {
    (void)scratch;
    const State *state = stage->state;
    return hc_gather(queue, in, state->device_index.data, out, err);
}

static void close_bands(HcStage *stage) {
    State *state = stage->state;
    hc_memory_release(stage->compute, &state->device_index);
    free(state->index);
    *state = (State){0};
}

const HcStageClass hc_stage_bands = {
    .name = "bands",
    .summary = "choose, drop or reorder bands by number, wavelength or the header's bad-band list",
    .example = "hcube bands scene.hdr 1-30 first_bands.tif",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .open = open_bands,
    .process = process,
    .rare = {.keeps_values = true},
    .close = close_bands,
};
