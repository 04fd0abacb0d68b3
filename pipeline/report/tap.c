/* A tap lets blocks pass untouched and keeps a thinned picture and sums for each band. Sums are of distances
 * from a first value, in float64: those of the raw values would lose the spread of bands that are far from
 * 0. */
#include "pipeline/report/tap.h"
#include "core/allocate.h"
#include "pipeline/chain.h"
#include "pipeline/picture/image.h"
#include "pipeline/picture/scale.h"
#include "pipeline/picture/shown.h"
#include "pipeline/picture/unit.h"
#include "pipeline/report/plot_panel.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLOUR_SIDE = 512, /* pixels of the longest side of a picture */
    MAP_SIDE = 360,    /* of up to four maps */
    SMALL_SIDE = 240,  /* of each of more */
    MAPS_MAX = 12,     /* that are shown */
    LAST_MAPS = 3,     /* of many: what a stage adds comes last */
};

/* Statistics of one band: sums of the distances from the first value. */
typedef struct Band {
    double first, sum, squares;
    int64_t count;
} Band;

typedef struct State {
    HcShown shown;
    bool looks, spectral, classes;
    Band *band;               /* [ranks][bands] of spectra */
    double *mean, *deviation; /* [bands], once gathered */
    int64_t pixels;           /* behind them */
} State;

/* ---- planning ---- */

/* Whether the step before makes something new to look at. */
static bool is_new(const HcStage *stage) {
    const HcStage *from = hc_stage_previous(stage);
    bool chosen = hc_scene_is_spectral(&from->out) && from->out.bands != from->in.bands;
    return from->kind->role == HC_ROLE_SOURCE || (!from->needs.passes_through && !chosen);
}

static void choose_bands(const HcStage *stage, State *state) {
    HcShown *shown = &state->shown;
    int32_t bands = stage->in.bands;
    if (state->spectral) {
        shown->band_count = hc_scene_usual_bands(&stage->in, shown->band);
        return;
    }
    /* Components come by their weight. Of others those with the largest values are shown later. */
    int32_t most = stage->in.meaning == HC_COMPONENT ? MAPS_MAX : HC_SHOWN_BANDS_MAX;
    shown->band_count = bands < most ? bands : most;
    for (int32_t c = 0; c < shown->band_count; c++) {
        bool last = stage->in.meaning != HC_COMPONENT && c >= shown->band_count - LAST_MAPS;
        shown->band[c] = last ? bands - shown->band_count + c : c;
    }
}

static int32_t maps_of(const State *state) {
    return state->shown.band_count < MAPS_MAX ? state->shown.band_count : MAPS_MAX;
}

static int32_t ranks_of(const HcStage *stage) {
    return hc_ranks_count(hc_stage_ranks(stage));
}

/* The tap before this one that has seen such spectra, or NULL. */
static const HcStage *tap_before(const HcStage *stage) {
    const HcStage *stages = stage->chain->stages;
    for (int32_t s = stage->place - 1; s >= 0; s--) {
        const State *state = stages[s].state;
        if (stages[s].kind->role == HC_ROLE_TAP && state->looks && state->spectral &&
            stages[s].in.bands == stage->in.bands) {
            return &stages[s];
        }
    }
    return NULL;
}

/* A scree plot, and spectra before and after a step. */
static size_t plot_bytes(const HcStage *stage, const State *state) {
    bool first = stage->place == 1;
    bool scree = hc_stage_previous(stage)->kind->rare.scree != NULL;
    return (first ? hc_plot_panels_bytes() : 0) +
           (scree ? hc_plot_panel_bytes(1, hc_stage_previous(stage)->in.bands) : 0) +
           (state->looks && state->spectral ? hc_plot_panel_bytes(2, stage->in.bands) : 0);
}

static size_t bytes_of(const HcStage *stage, const State *state) {
    size_t pixels = hc_shown_pixels(&state->shown);
    size_t colours = pixels * (4 + sizeof(float)); /* of one picture, and the copy for its percentiles */
    size_t bands = state->spectral ? (size_t)stage->in.bands : 0;
    /* Panels, one of them for the mask. */
    return hc_shown_bytes(stage, &state->shown) + colours +
           (size_t)(maps_of(state) + 1) * hc_panel_bytes(pixels) +
           bands * ((size_t)ranks_of(stage) * sizeof(Band) + 2 * sizeof(double));
}

static HcStatus plan(HcStage *stage, HcError *err) {
    State *state = stage->state;
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    state->looks = is_new(stage);
    state->spectral = hc_scene_is_spectral(&stage->in);
    state->classes = hc_scene_is_class_map(&stage->in);
    stage->needs = (HcNeeds){.passes_through = true, .missing = HC_MISSING_PASSED};
    hc_stage_takes(stage, HC_SPACE_HOST, plot_bytes(stage, state));
    if (!state->looks) {
        return HC_OK;
    }
    choose_bands(stage, state);
    int32_t maps = state->spectral ? 1 : maps_of(state);
    int32_t side = state->spectral || maps == 1 ? COLOUR_SIDE : maps <= 4 ? MAP_SIDE : SMALL_SIDE;
    HC_OR_RETURN(hc_shown_plan(stage, NULL, side, &state->shown, err));
    stage->needs.consumes = true;
    stage->needs.pick.every = state->shown.step;
    hc_stage_takes(stage, HC_SPACE_HOST, bytes_of(stage, state));
    return HC_OK;
}

/* ---- the pass ---- */

static HcStatus open_tap(HcStage *stage, HcError *err) {
    State *state = stage->state;
    if (!state->looks) {
        return HC_OK;
    }
    if (state->spectral) {
        HC_OR_RETURN(hc_new(state->band, (size_t)ranks_of(stage) * (size_t)stage->in.bands, "a report", err));
        HC_OR_RETURN(hc_new(state->mean, stage->in.bands, "a report", err));
        HC_OR_RETURN(hc_new(state->deviation, stage->in.bands, "a report", err));
    }
    return hc_shown_open(stage, &state->shown, err);
}

static void add_spectrum(Band *band, const float *value, int32_t bands) {
    for (int32_t b = 0; b < bands; b++) {
        if (!isfinite(value[b])) {
            continue;
        }
        if (band[b].count == 0) {
            band[b].first = (double)value[b];
        }
        double distance = (double)value[b] - band[b].first;
        band[b].sum += distance;
        band[b].squares += distance * distance;
        band[b].count++;
    }
}

static HcStatus consume(HcStage *stage, const HcBlock *block, HcError *err) {
    (void)err;
    State *state = stage->state;
    HcShown *shown = &state->shown;
    size_t pixels = hc_shown_pixels(shown);
    Band *own =
        state->band +
        (state->spectral ? (size_t)hc_ranks_number(hc_stage_ranks(stage)) * (size_t)stage->in.bands : 0);
    for (int32_t row = 0; row < block->lines; row++) {
        size_t to = (size_t)(block->line0 / shown->step + row) * (size_t)shown->width;
        size_t from = (size_t)row * (size_t)block->samples;
        for (int32_t x = 0; x < shown->width; x++, to++, from += (size_t)shown->step) {
            const float *value = block->data + from * (size_t)block->bands;
            shown->valid[to] = block->mask[from];
            for (int32_t c = 0; c < shown->band_count; c++) {
                shown->plane[(size_t)c * pixels + to] = value[shown->band[c]];
            }
            if (state->spectral && block->mask[from] != 0) {
                add_spectrum(own, value, block->bands);
            }
        }
    }
    return HC_OK;
}

/* Adds the pixels of another rank, whose first value differs. */
static void add_band(Band *to, const Band *from) {
    if (to->count == 0) {
        *to = *from;
        return;
    }
    double shift = from->first - to->first, count = (double)from->count;
    to->squares += from->squares + 2 * shift * from->sum + count * shift * shift;
    to->sum += from->sum + count * shift;
    to->count += from->count;
}

static HcStatus gather(HcStage *stage, HcError *err) {
    State *state = stage->state;
    HcRanks *ranks = hc_stage_ranks(stage);
    if (!state->looks) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_shown_gather(stage, &state->shown, err));
    size_t bands = state->spectral ? (size_t)stage->in.bands : 0;
    if (bands > 0) {
        HC_OR_RETURN(
            hc_ranks_join(ranks, state->band, (size_t)ranks_of(stage) * bands * sizeof *state->band, err));
    }
    for (size_t b = 0; b < bands; b++) {
        Band *all = &state->band[b];
        for (int32_t r = 1; r < ranks_of(stage); r++) {
            add_band(all, &state->band[(size_t)r * bands + b]);
        }
        double count = (double)all->count, mean = all->sum / count;
        state->mean[b] = all->count > 0 ? all->first + mean : NAN;
        state->deviation[b] = all->count > 0 ? sqrt(fmax(0, all->squares / count - mean * mean)) : NAN;
        state->pixels = all->count > state->pixels ? all->count : state->pixels;
    }
    return HC_OK;
}

/* ---- pictures ---- */

static bool has_valid(const State *state) {
    size_t pixels = hc_shown_pixels(&state->shown);
    return pixels > 0 && memchr(state->shown.valid, 1, pixels) != NULL;
}

/* "640 nm (band 31)", "MNF 1", "band 3". */
static void add_name(const HcStage *stage, int32_t band, HcText *to) {
    const HcScene *scene = &stage->in;
    const char *name = scene->band_name != NULL ? scene->band_name[band] : NULL;
    bool placed =
        hc_scene_is_spectral(scene) && scene->wavelength != NULL && isfinite(scene->wavelength[band]);
    if (placed) {
        hc_text_add(to, "%.0f nm (band %d)", scene->wavelength[band], band + 1);
    } else if (name != NULL && name[0] != 0) {
        hc_text_add(to, "%s", name);
    } else {
        hc_text_add(to, "band %d", band + 1);
    }
}

static uint8_t level_of(const float limit[2], float value) {
    return (uint8_t)lround(255 * hc_image_level(limit, value));
}

static HcStatus add_colours(const HcStage *stage, uint8_t *pixels, HcPanels *to, HcError *err) {
    static const char *const words[] = {"Red", "green", "blue"};
    HcStatus status = HC_OK;
    const State *state = stage->state;
    const HcShown *shown = &state->shown;
    size_t count = hc_shown_pixels(shown);
    uint8_t brighter[256];
    HcText caption = {0};
    const double gamma = hc_image_usual_gamma(&stage->in, 3);
    hc_image_gamma(gamma, brighter);
    for (size_t c = 0; c < 3; c++) {
        float limit[2];
        char low[HC_TEXT_DOUBLE], high[HC_TEXT_DOUBLE];
        const float *plane = shown->plane + c * count;
        HC_TRY(hc_image_limits(plane, shown->valid, count, 2, 98, limit, err));
        for (size_t p = 0; p < count; p++) {
            bool there = shown->valid[p] != 0 && isfinite(plane[p]);
            pixels[4 * p + c] = there ? brighter[level_of(limit, plane[p])] : 0;
            pixels[4 * p + 3] = shown->valid[p] != 0 ? 255 : 0;
        }
        hc_text_add(&caption, "%s%s ", c > 0 ? ", " : "", words[c]);
        add_name(stage, shown->band[c], &caption);
        hc_text_add(&caption, " from %s to %s", hc_panel_number(low, limit[0]),
                    hc_panel_number(high, limit[1]));
    }
    hc_text_add(&caption, ": 2 %% to 98 %% of the shown pixels, gamma %g.", gamma);
    char alt[160];
    snprintf(alt, sizeof alt,
             "Picture of the scene in three colours, %" PRId64 " lines and %" PRId64 " samples", shown->lines,
             shown->samples);
    const char *title =
        hc_stage_previous(stage)->kind->role == HC_ROLE_SOURCE ? "The scene" : "The scene after it";
    HC_TRY(caption.failed ? hc_fail_memory(err, 1024, "a caption") : HC_OK);
    HC_TRY(hc_panels_add(to,
                         &(HcPanel){.title = title,
                                    .caption = caption.data,
                                    .alt = alt,
                                    .pixels = pixels,
                                    .width = shown->width,
                                    .height = shown->height,
                                    .wide = true},
                         err));
done:
    hc_text_clear(&caption);
    return status;
}

/* ---- maps ---- */

/* The limits of all maps. */
static HcStatus find_limits(const HcStage *stage, float (*limit)[2], HcError *err) {
    const HcShown *shown = &((const State *)stage->state)->shown;
    return hc_scale_find(&(HcScaled){.scene = &stage->in,
                                     .band = shown->band,
                                     .count = shown->band_count,
                                     .plane = shown->plane,
                                     .valid = shown->valid,
                                     .pixels = hc_shown_pixels(shown),
                                     .percentile = {NAN, NAN},
                                     .signs = HC_SIGNS_FOUND},
                         limit, err);
}

static void paint_map(const State *state, size_t c, HcPanelBar *bar, uint8_t *pixels) {
    const HcShown *shown = &state->shown;
    size_t count = hc_shown_pixels(shown);
    const float limit[2] = {(float)bar->low, (float)bar->high};
    for (size_t p = 0; p < count; p++, pixels += 4) {
        float value = shown->plane[c * count + p];
        bool there = shown->valid[p] != 0 && isfinite(value);
        int level = there ? level_of(limit, value) : 0;
        memset(pixels, 0, 4);
        if (there) {
            /* 250 steps and the paper fit into a palette. */
            hc_ramp_colour(bar->ramp, floor(level * 249.0 / 255) / 249, pixels);
            pixels[3] = 255;
            bar->count[level * HC_PANEL_BINS / 256]++;
        }
    }
}

static HcStatus add_map(const HcStage *stage, int32_t c, const float limit[2], uint8_t *pixels, HcPanels *to,
                        HcError *err) {
    HcStatus status = HC_OK;
    const State *state = stage->state;
    const HcShown *shown = &state->shown;
    HcPanelBar bar = {.ramp = hc_image_ramp(limit), .low = (double)limit[0], .high = (double)limit[1]};
    HcText name = {0}, alt = {0};
    char low[HC_TEXT_DOUBLE], high[HC_TEXT_DOUBLE];
    bool values = hc_shown_has_values(shown, c);
    paint_map(state, (size_t)c, &bar, pixels);
    add_name(stage, shown->band[c], &name);
    const char *unit = hc_unit_of(stage, shown->band[c]);
    if (unit != NULL) {
        hc_text_add(&name, " [%s]", unit);
    }
    hc_text_add(&alt, "Map of %s, ", hc_text_shown(&name));
    if (values) {
        hc_text_add(&alt, "colours from %s to %s", hc_panel_number(low, bar.low),
                    hc_panel_number(high, bar.high));
    } else {
        hc_text_add(&alt, "without values");
    }
    HC_TRY(name.failed || alt.failed ? hc_fail_memory(err, 1024, "a caption") : HC_OK);
    HC_TRY(hc_panels_add(to,
                         &(HcPanel){.title = name.data,
                                    .alt = alt.data,
                                    .pixels = pixels,
                                    .width = shown->width,
                                    .height = shown->height,
                                    .caption = values ? NULL : "No pixel that is shown has a value.",
                                    .bar = values ? &bar : NULL},
                         err));
done:
    hc_text_clear(&name);
    hc_text_clear(&alt);
    return status;
}

static double mean_of(const State *state, int32_t c) {
    size_t pixels = hc_shown_pixels(&state->shown);
    const float *plane = state->shown.plane + (size_t)c * pixels;
    double sum = 0;
    for (size_t p = 0; p < pixels; p++) {
        sum += state->shown.valid[p] != 0 && isfinite(plane[p]) ? (double)plane[p] : 0;
    }
    return sum;
}

/* Which of the bands are shown: of too many those with the largest sums, and the last ones. */
static void choose_maps(const State *state, int32_t first, bool chosen[HC_SHOWN_BANDS_MAX]) {
    int32_t count = state->shown.band_count, left = MAPS_MAX - first;
    double sum[HC_SHOWN_BANDS_MAX];
    for (int32_t c = first; c < count; c++) {
        chosen[c] = count <= MAPS_MAX || c >= count - LAST_MAPS;
        sum[c] = mean_of(state, c);
        left -= chosen[c];
    }
    for (; count > MAPS_MAX && left > 0; left--) {
        int32_t best = -1;
        for (int32_t c = first; c < count; c++) {
            best = !chosen[c] && (best < 0 || sum[c] > sum[best]) ? c : best;
        }
        chosen[best] = true;
    }
}

/* ---- classes ---- */

static int more_pixels(const void *a, const void *b) {
    double x = ((const HcPanelEntry *)a)->percent, y = ((const HcPanelEntry *)b)->percent;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* The colour of each shown pixel, and the entries of the classes that occur, the largest first. */
static HcStatus paint_classes(const HcStage *stage, uint8_t *pixels, HcPanelEntry *entry, int32_t *entries,
                              HcError *err) {
    const State *state = stage->state;
    const HcClasses *classes = &stage->in.classes;
    uint8_t(*rgb)[3] = NULL;
    size_t count = hc_shown_pixels(&state->shown), valid = 0;
    HC_OR_RETURN(hc_image_class_colours(classes, &rgb, err));
    for (int32_t c = 0; c <= classes->count; c++) {
        bool is = c < classes->count;
        entry[c] = (HcPanelEntry){.name = is ? classes->name[c] : "values of no class"};
        memcpy(entry[c].rgb, is ? rgb[c] : hc_image_unknown, 3);
    }
    for (size_t p = 0; p < count; p++, pixels += 4) {
        float value = state->shown.plane[p];
        bool there = state->shown.valid[p] != 0;
        int32_t number = hc_image_class(classes, value);
        hc_image_class_colour(classes, (const uint8_t(*)[3])rgb, value, there, pixels);
        entry[number].percent += there;
        valid += there;
    }
    free(rgb);
    *entries = 0;
    for (int32_t c = 0; c <= classes->count; c++) {
        if (entry[c].percent > 0) {
            entry[*entries] = entry[c];
            entry[(*entries)++].percent *= 100.0 / (double)valid;
        }
    }
    qsort(entry, (size_t)*entries, sizeof *entry, more_pixels);
    return HC_OK;
}

static HcStatus add_classes(const HcStage *stage, uint8_t *pixels, HcPanels *to, HcError *err) {
    HcStatus status = HC_OK;
    const State *state = stage->state;
    HcPanelEntry *entry = NULL;
    int32_t entries = 0;
    char alt[80];
    HcText caption = {0};
    HC_TRY(hc_new(entry, stage->in.classes.count + 1, "a legend", err));
    HC_TRY(paint_classes(stage, pixels, entry, &entries, err));
    snprintf(alt, sizeof alt, "Map of %d classes", entries);
    hc_text_add(&caption, "Percent of the shown pixels with a value.");
    HC_TRY(caption.failed ? hc_fail_memory(err, 1024, "a caption") : HC_OK);
    HC_TRY(hc_panels_add(to,
                         &(HcPanel){.title = "Classes",
                                    .caption = caption.data,
                                    .alt = alt,
                                    .pixels = pixels,
                                    .width = state->shown.width,
                                    .height = state->shown.height,
                                    .entry = entry,
                                    .entries = entries,
                                    .wide = true},
                         err));
done:
    hc_text_clear(&caption);
    free(entry);
    return status;
}

/* ---- the mask ---- */

static HcStatus add_mask(const HcStage *stage, uint8_t *pixels, HcPanels *to, HcError *err) {
    static const uint8_t masked_colour[4] = {213, 94, 0, 255}, kept_colour[4] = {128, 128, 128, 255};
    const State *state = stage->state;
    size_t count = hc_shown_pixels(&state->shown), masked = 0;
    for (size_t p = 0; p < count; p++) {
        bool kept = state->shown.valid[p] != 0;
        memcpy(pixels + 4 * p, kept ? kept_colour : masked_colour, 4);
        masked += !kept;
    }
    if (masked == 0) {
        return HC_OK;
    }
    double percent = 100.0 * (double)masked / (double)count;
    HcPanelEntry entry[2] = {{.rgb = {128, 128, 128}, .name = "kept", .percent = 100 - percent},
                             {.rgb = {213, 94, 0}, .name = "masked", .percent = percent}};
    char alt[80];
    snprintf(alt, sizeof alt, "Map of the masked pixels: %.3g %% of those that are shown", percent);
    return hc_panels_add(to,
                         &(HcPanel){.title = "Masked pixels",
                                    .alt = alt,
                                    .pixels = pixels,
                                    .width = state->shown.width,
                                    .height = state->shown.height,
                                    .entry = masked < count ? entry : entry + 1,
                                    .entries = masked < count ? 2 : 1},
                         err);
}

/* ---- plots ---- */

static HcStatus add_scree(const HcStage *stage, HcPanels *to, HcError *err) {
    const HcStage *from = hc_stage_previous(stage);
    HcScreePlot plot;
    if (from->kind->rare.scree == NULL || !from->kind->rare.scree(from, &plot)) {
        return HC_OK;
    }
    plot.dimension = from->kind->rare.dimension != NULL ? from->kind->rare.dimension(from) : NULL;
    return hc_panels_add_scree(to, &plot, err);
}

/* Fills a row of mean[][bands] and of spread[][bands]. */
static void copy_spectrum(const HcStage *tap, float *mean, float *spread) {
    const State *state = tap->state;
    for (int32_t b = 0; b < tap->in.bands; b++) {
        mean[b] = (float)state->mean[b];
        spread[b] = (float)state->deviation[b];
    }
}

/* The mean spectrum, with that of the step before where it has the same bands. */
static HcStatus add_spectra(const HcStage *stage, HcPanels *to, HcError *err) {
    static char before_step[] = "before", after_step[] = "after", alone[] = "mean";
    HcStatus status = HC_OK;
    const State *state = stage->state;
    const HcStage *before = tap_before(stage);
    size_t bands = (size_t)stage->in.bands;
    float *mean = NULL, *spread = NULL;
    char *both[] = {before_step, after_step}, *one[] = {alone};
    int32_t count = before != NULL ? 2 : 1;
    if (state->pixels == 0 || bands < 2) {
        return HC_OK;
    }
    HC_TRY(hc_new(mean, 2 * bands, "mean spectra", err));
    HC_TRY(hc_new(spread, 2 * bands, "mean spectra", err));
    if (before != NULL) {
        copy_spectrum(before, mean, spread);
    }
    copy_spectrum(stage, mean + (size_t)(count - 1) * bands, spread + (size_t)(count - 1) * bands);
    const HcSpectraPlot plot = {
        .scene = &stage->in,
        .count = count,
        .value = mean,
        .spread = spread,
        .name = before != NULL ? both : one,
        .title = before != NULL ? "Mean spectra before and after it" : "Mean spectrum",
        .label = "value",
        .caption = "Lines: means of the shown pixels. Bands: one standard deviation to each side."};
    HC_TRY(hc_panels_add_spectra(to, &plot, err));
done:
    free(mean);
    free(spread);
    return status;
}

/* ---- all panels ---- */

static HcStatus add_maps(const HcStage *stage, uint8_t *pixels, HcPanels *to, HcError *err) {
    const State *state = stage->state;
    bool chosen[HC_SHOWN_BANDS_MAX] = {false};
    float limit[HC_SHOWN_BANDS_MAX][2];
    int32_t first = state->classes ? 1 : 0;
    choose_maps(state, first, chosen);
    HC_OR_RETURN(find_limits(stage, limit, err));
    for (int32_t c = first; c < state->shown.band_count; c++) {
        if (chosen[c]) {
            HC_OR_RETURN(add_map(stage, c, limit[c], pixels, to, err));
        }
    }
    return HC_OK;
}

/* What the pictures leave out. */
static void add_limits(const HcStage *stage, HcText *to) {
    const State *state = stage->state;
    const HcShown *shown = &state->shown;
    hc_text_add(to, "<p class=\"note\">");
    if (shown->step > 1) {
        hc_text_add(to, "One pixel of %d x %d is shown. ", shown->step, shown->step);
    }
    if (!state->spectral && stage->in.bands > MAPS_MAX && has_valid(state)) {
        hc_text_add(to, "%d of %d bands are shown. ", MAPS_MAX, stage->in.bands);
    }
    hc_text_add(to, has_valid(state) ? "" : "No pixel that is shown has a value.");
    hc_text_add(to, "</p>\n");
}

static HcStatus panels(const HcStage *stage, HcPanels *to, HcError *err) {
    HcStatus status = HC_OK;
    const State *state = stage->state;
    uint8_t *pixels = NULL;
    HC_OR_RETURN(add_scree(stage, to, err));
    if (!state->looks) {
        return HC_OK;
    }
    HC_TRY(hc_new(pixels, 4 * hc_shown_pixels(&state->shown), "a picture", err));
    bool valid = has_valid(state); /* else there is nothing to show but the mask */
    if (valid && state->classes) {
        HC_TRY(add_classes(stage, pixels, to, err));
    }
    if (valid && state->spectral && state->shown.band_count == 3) {
        HC_TRY(add_colours(stage, pixels, to, err));
    } else if (valid) {
        HC_TRY(add_maps(stage, pixels, to, err));
    }
    if (state->spectral) {
        HC_TRY(add_spectra(stage, to, err));
    }
    if (hc_stage_previous(stage)->kind->role == HC_ROLE_SOURCE) {
        HC_TRY(add_mask(stage, pixels, to, err));
    }
    if (state->shown.step > 1 || (!state->spectral && stage->in.bands > MAPS_MAX) || !valid) {
        add_limits(stage, &to->html);
    }
done:
    free(pixels);
    return status;
}

static void close_tap(HcStage *stage) {
    State *state = stage->state;
    hc_shown_close(&state->shown);
    free(state->band);
    free(state->mean);
    free(state->deviation);
    *state = (State){0};
}

static const HcOption no_options[] = {{0}};

const HcStageClass hc_report_tap = {
    .name = "--report",
    .summary = "looks at what passes, for the report",
    .role = HC_ROLE_TAP,
    .options = no_options,
    .params_size = 1,
    .state_size = sizeof(State),
    .plan = plan,
    .open = open_tap,
    .consume = consume,
    .gather = gather,
    .rare = {.panels = panels},
    .close = close_tap,
};
