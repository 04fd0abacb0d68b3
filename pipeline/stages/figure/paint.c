/* From values to colours. */
#include "core/allocate.h"
#include "pipeline/picture/scale.h"
#include "pipeline/picture/image.h"
#include "pipeline/stages/figure/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int32_t maps_of(const HcFigureState *state) {
    return state->each ? state->shown.band_count : 1;
}

size_t hc_figure_paint_bytes(const HcFigureState *state) {
    /* Colours, and the copy that percentiles are found in. */
    return hc_shown_pixels(&state->shown) * (4 * (size_t)maps_of(state) + sizeof(float));
}

HcRamp hc_figure_ramp(const HcFigureParams *params, const HcFigureState *state, int32_t c) {
    if (params->colours >= 0) {
        return (HcRamp)params->colours;
    }
    return hc_image_ramp(state->limit[c]);
}

static HcStatus find_limits(const HcStage *stage, HcFigureState *state, HcError *err) {
    const HcFigureParams *params = stage->params;
    const HcShown *shown = &state->shown;
    bool single = state->each || shown->band_count == 1;
    const HcScaled scaled = {.scene = &stage->in,
                             .band = shown->band,
                             .count = shown->band_count,
                             .plane = shown->plane,
                             .valid = shown->valid,
                             .pixels = hc_shown_pixels(shown),
                             .percentile = {state->percentile[0], state->percentile[1]},
                             .signs = hc_scale_signs(single, params->colours),
                             .one = params->one_scale};
    return state->fixed || state->classes ? HC_OK : hc_scale_find(&scaled, state->limit, err);
}

/* 0 to 1. */
static double level_of(const HcFigureState *state, int32_t c, float value) {
    double level = hc_image_level(state->limit[c], value);
    return state->gamma == 1 ? level : pow(level, 1 / state->gamma);
}

static void paint_band(const HcFigureParams *params, const HcFigureState *state, int32_t c, uint8_t *pixel) {
    size_t pixels = hc_shown_pixels(&state->shown);
    const float *plane = state->shown.plane + (size_t)c * pixels;
    HcRamp ramp = hc_figure_ramp(params, state, c);
    for (size_t p = 0; p < pixels; p++, pixel += 4) {
        bool shown = state->shown.valid[p] != 0 && isfinite(plane[p]);
        hc_ramp_colour(ramp, shown ? level_of(state, c, plane[p]) : 0, pixel);
        pixel[3] = shown ? 255 : 0;
    }
}

static void paint_colours(const HcFigureState *state, uint8_t *pixel) {
    size_t pixels = hc_shown_pixels(&state->shown);
    for (size_t p = 0; p < pixels; p++, pixel += 4) {
        bool shown = state->shown.valid[p] != 0;
        for (int32_t c = 0; c < 3; c++) {
            float value = state->shown.plane[(size_t)c * pixels + p];
            shown = shown && isfinite(value);
            pixel[c] = (uint8_t)lround(255 * level_of(state, c, value));
        }
        pixel[3] = shown ? 255 : 0;
    }
}

/* Pixels of class "Unclassified" are paper, values of no class grey. */
static HcStatus paint_classes(const HcStage *stage, uint8_t *pixel, HcError *err) {
    const HcFigureState *state = stage->state;
    const HcClasses *classes = &stage->in.classes;
    uint8_t(*rgb)[3] = NULL;
    HC_OR_RETURN(hc_image_class_colours(classes, &rgb, err));
    for (size_t p = 0; p < hc_shown_pixels(&state->shown); p++, pixel += 4) {
        hc_image_class_colour(classes, (const uint8_t(*)[3])rgb, state->shown.plane[p],
                              state->shown.valid[p] != 0, pixel);
    }
    free(rgb);
    return HC_OK;
}

HcStatus hc_figure_paint(const HcStage *stage, uint8_t **pixels, HcError *err) {
    const HcFigureParams *params = stage->params;
    HcFigureState *state = stage->state;
    size_t map = 4 * hc_shown_pixels(&state->shown);
    HC_OR_RETURN(find_limits(stage, state, err));
    HC_OR_RETURN(hc_new(*pixels, map * (size_t)maps_of(state), "the maps of a figure", err));
    if (state->classes) {
        return paint_classes(stage, *pixels, err);
    }
    if (!state->each && state->shown.band_count == 3) {
        paint_colours(state, *pixels);
        return HC_OK;
    }
    for (int32_t m = 0; m < maps_of(state); m++) {
        paint_band(params, state, m, *pixels + map * (size_t)m);
    }
    return HC_OK;
}

/* ---- classes ---- */

static void add_entry(const HcFigureState *state, HcFigureClasses *to, const uint8_t rgb[3], const char *name,
                      int64_t pixels) {
    HcFigureEntry *entry = &to->entry[to->legend.count++];
    memcpy(entry->rgb, rgb, 3);
    entry->name = name;
    entry->percent = state->counted[0] > 0 ? 100.0 * (double)pixels / (double)state->counted[0] : NAN;
}

size_t hc_figure_legend_bytes(const HcClasses *classes) {
    return ((size_t)classes->count + 1) * sizeof(HcFigureEntry);
}

HcStatus hc_figure_legend_of(const HcStage *stage, HcFigureClasses *to, HcError *err) {
    static const uint8_t paper[3] = {255, 255, 255};
    HcStatus status = HC_OK;
    const HcFigureState *state = stage->state;
    const HcClasses *classes = &stage->in.classes;
    uint8_t(*rgb)[3] = NULL;
    HC_TRY(hc_image_class_colours(classes, &rgb, err));
    HC_TRY(hc_new(to->entry, (size_t)classes->count + 1, "a legend", err));
    to->legend = (HcFigureLegend){.entry = to->entry};
    int32_t first = hc_classes_has_unclassified(classes) ? 1 : 0;
    int64_t known = 0;
    for (int32_t c = 0; c < classes->count; c++) {
        known += state->of_class[c];
        if (c >= first && state->of_class[c] > 0) {
            add_entry(state, to, rgb[c], classes->name[c], state->of_class[c]);
        }
    }
    int32_t ranked = to->legend.count;
    if (first == 1 && state->of_class[0] > 0) {
        add_entry(state, to, paper, classes->name[0], state->of_class[0]);
    }
    if (state->counted[0] > known) {
        add_entry(state, to, hc_image_unknown, "values of no class", state->counted[0] - known);
    }
    to->legend.kept = to->legend.count - ranked;
done:
    free(rgb);
    return status;
}
