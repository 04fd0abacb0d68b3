/* What the page asks for, as JSON: the layers, spectra of pixels and windows, the nearest spectra of the
 * library, histograms. Values are those that the file stores, as `extract --all-bands` gives them. */
#include "app/view/view.h"
#include "core/allocate.h"
#include "pipeline/option/words.h"
#include "pipeline/picture/image.h"
#include "pipeline/chain.h"
#include "pipeline/spectra/library/choice.h"
#include "io/file.h"

#include <math.h>
#include <stdio.h>

enum {
    BINS = 128,
    HISTOGRAM_SIDE = 512,    /* pixels of the longest side that a histogram counts */
    WINDOW_PIXELS = 1 << 20, /* of a window at most */
    WINDOW_BYTES = 8 << 20   /* of values that are read at a time */
};

/* ---- opening ---- */

/* The library on the bands of the first layer. */
static HcStatus open_library(HcViewer *viewer, HcError *err) {
    static const HcStageClass kind = {.name = "view"};
    HcChain chain = {0};
    const HcStage stage = {.kind = &kind, .chain = &chain, .in = *viewer->layer[0].scene};
    HcLibrary library = {0};
    const HcLibraryChoice choice = {0};
    char *note = NULL;
    HcStatus status = hc_library_read(&library, viewer->library_path, err);
    viewer->library.partial = true;
    status = status != HC_OK ? status
                             : hc_library_choose(&library, viewer->library_path, &choice, "view", &note, err);
    status = status != HC_OK ? status
                             : hc_library_fit(&library, viewer->library_path, &stage, &viewer->library, err);
    free(note);
    hc_library_clear(&library);
    return status;
}

HcStatus hc_viewer_open(HcViewer *viewer, const char *scene, const char *const *results, const char *library,
                        HcError *err) {
    viewer->library_path = library;
    viewer->team = hc_team_open(HC_LAYER_THREADS);
    HC_OR_RETURN(hc_layer_open(&viewer->layer[viewer->layers++], scene, false, viewer->team, err));
    for (; *results != NULL && viewer->layers < HC_LAYERS_MAX; results++) {
        HC_OR_RETURN(hc_layer_open(&viewer->layer[viewer->layers++], *results, true, viewer->team, err));
    }
    for (int32_t l = 0; l < viewer->layers; l++) {
        viewer->layer[l].same_grid = viewer->layer[l].scene->lines == viewer->layer[0].scene->lines &&
                                     viewer->layer[l].scene->samples == viewer->layer[0].scene->samples;
    }
    return library != NULL ? open_library(viewer, err) : HC_OK;
}

void hc_viewer_close(HcViewer *viewer) {
    for (int32_t l = 0; l < viewer->layers; l++) {
        hc_layer_close(&viewer->layer[l]);
    }
    hc_library_fit_clear(&viewer->library);
    hc_team_close(viewer->team);
}

/* ---- the layers ---- */

static void put_colour(const char *name, const uint8_t *rgb, HcJson *to) {
    char colour[8];
    snprintf(colour, sizeof colour, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
    hc_json_put_text(to, name, colour);
}

/* Colours of one band whose values have one sign or both, from the low to the high end of the stretch. */
static void put_ramp(const char *name, bool both, HcJson *to) {
    enum { STEPS = 16 };
    const HcRamp ramp = hc_image_ramp((const float[]){both ? -1 : 0, 1});
    hc_json_open_array(to, name);
    for (int k = 0; k <= STEPS; k++) {
        uint8_t colour[3];
        hc_ramp_colour(ramp, (double)k / STEPS, colour);
        put_colour(NULL, colour, to);
    }
    hc_json_close(to);
}

static void put_classes(const HcScene *scene, const uint8_t (*rgb)[3], HcJson *to) {
    hc_json_open_array(to, "classes");
    for (int32_t c = 0; c < scene->classes.count && rgb != NULL; c++) {
        hc_json_open_object(to, NULL);
        hc_json_put_text(to, "name", scene->classes.name[c]);
        put_colour("color", rgb[c], to);
        hc_json_close(to);
    }
    hc_json_close(to);
}

/* Arrays with an element for each band: null where it is not known. */
static void put_bands(const HcScene *scene, HcJson *to) {
    static const char *const names[] = {"wavelengths", "fwhm", "bad", "band_names"};
    for (int n = 0; n < 4; n++) {
        const double *number = n == 0 ? scene->wavelength : scene->fwhm;
        hc_json_open_array(to, names[n]);
        for (int32_t b = 0; b < scene->bands; b++) {
            const char *name = scene->band_name != NULL ? scene->band_name[b] : NULL;
            if (n == 3) {
                hc_json_put(to, NULL, name != NULL ? cJSON_CreateString(name) : cJSON_CreateNull());
            } else if (n == 2) {
                hc_json_put_number(to, NULL, scene->bad != NULL && scene->bad[b] != 0);
            } else {
                hc_json_put_double(to, NULL, number != NULL ? number[b] : NAN);
            }
        }
        hc_json_close(to);
    }
}

static void put_shown(const HcLayer *layer, HcJson *to) {
    hc_json_put_ints(to, "bands_shown", layer->band, (size_t)layer->count);
    hc_json_open_array(to, "range");
    for (int32_t c = 0; c < layer->count; c++) {
        hc_json_put_doubles(to, NULL, (const double[]){layer->limit[c][0], layer->limit[c][1]}, 2);
    }
    hc_json_close(to);
    hc_json_put_number(to, "gamma", hc_image_usual_gamma(layer->scene, layer->count));
}

static HcStatus put_layer(const HcLayer *layer, HcJson *to, HcError *err) {
    static const char *const kinds[] = {"cube", "classes", "scores"};
    const HcScene *scene = layer->scene;
    const HcReader *reader = hc_view_reader(layer->view);
    uint8_t(*rgb)[3] = NULL;
    if (layer->kind == HC_LAYER_CLASSES) {
        HC_OR_RETURN(hc_image_class_colours(&scene->classes, &rgb, err));
    }
    hc_json_open_object(to, NULL);
    hc_json_put_text(to, "name", hc_reader_name(reader));
    hc_json_put_text(to, "kind", kinds[layer->kind]);
    hc_json_put_number(to, "lines", (double)scene->lines);
    hc_json_put_number(to, "samples", (double)scene->samples);
    hc_json_put_number(to, "bands", scene->bands);
    put_bands(scene, to);
    hc_json_put_text(to, "unit", hc_reader_unit(reader) != NULL ? hc_reader_unit(reader) : "");
    hc_json_put_text(to, "note", scene->wavelength_note != NULL ? scene->wavelength_note : "");
    put_classes(scene, (const uint8_t(*)[3])rgb, to);
    hc_json_put_number(to, "levels", hc_layer_levels(layer));
    hc_json_put_number(to, "tile", HC_TILE);
    put_shown(layer, to);
    hc_json_put_bool(to, "same_grid", layer->same_grid);
    hc_json_close(to);
    free(rgb);
    return HC_OK;
}

static void put_library(const HcViewer *viewer, HcJson *to) {
    hc_json_open_object(to, "library");
    hc_json_put_text(to, "name", hc_file_base(viewer->library_path));
    hc_json_put_texts(to, "entries", (const char *const *)viewer->library.name, viewer->library.count);
    hc_json_close(to);
}

HcStatus hc_viewer_describe(const HcViewer *viewer, HcJson *to, HcError *err) {
    hc_json_put_text(to, "command", viewer->command);
    put_ramp("ramp", false, to);
    put_ramp("ramp_of_both_signs", true, to);
    hc_json_open_array(to, "layers");
    for (int32_t l = 0; l < viewer->layers; l++) {
        HC_OR_RETURN(put_layer(&viewer->layer[l], to, err));
    }
    hc_json_close(to);
    if (viewer->library_path != NULL) {
        put_library(viewer, to);
    } else {
        hc_json_put(to, "library", cJSON_CreateNull());
    }
    return HC_OK;
}

/* ---- commands ---- */

/* The command line that repeats what the page shows; clears it. */
static HcStatus put_command(HcText *command, HcJson *to, HcError *err) {
    hc_json_put_text(to, "command", hc_text_shown(command));
    HcStatus status = command->failed ? hc_fail_memory(err, 256, "a command") : HC_OK;
    hc_text_clear(command);
    return status;
}

/* ---- spectra ---- */

static HcStatus check_area(const HcLayer *layer, HcArea area, HcError *err) {
    const HcScene *scene = layer->scene;
    bool inside = area.line0 >= 0 && area.sample0 >= 0 && area.lines >= 1 && area.samples >= 1 &&
                  area.lines <= scene->lines && area.samples <= scene->samples &&
                  area.line0 <= scene->lines - area.lines && area.sample0 <= scene->samples - area.samples;
    if (!inside) {
        return hc_fail(err, HC_E_USAGE, "line %lld, sample %lld: outside of %s (%lld lines x %lld samples)",
                       (long long)area.line0, (long long)area.sample0, layer->path, (long long)scene->lines,
                       (long long)scene->samples);
    }
    return area.lines * area.samples <= WINDOW_PIXELS
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "a window of %lld x %lld pixels: at most %d pixels",
                         (long long)area.lines, (long long)area.samples, WINDOW_PIXELS);
}

static HcStatus all_bands(const HcLayer *layer, int32_t **band, HcError *err) {
    HC_OR_RETURN(hc_new(*band, layer->scene->bands, "a list of bands", err));
    for (int32_t b = 0; b < layer->scene->bands; b++) {
        (*band)[b] = b;
    }
    return HC_OK;
}

HcStatus hc_viewer_pixel(HcLayer *layer, HcArea pixel, float *value, bool *valid, HcError *err) {
    HcStatus status = HC_OK;
    int32_t *band = NULL;
    uint8_t whole = 0;
    HC_TRY(check_area(layer, pixel, err));
    HC_TRY(all_bands(layer, &band, err));
    HC_TRY(hc_layer_read(layer,
                         &(HcPick){.line0 = pixel.line0,
                                   .sample0 = pixel.sample0,
                                   .lines = 1,
                                   .samples = 1,
                                   .step = 1,
                                   .band = band,
                                   .bands = layer->scene->bands},
                         value, &whole, err));
    *valid = whole != 0;
done:
    free(band);
    return status;
}

/* Means and deviations of the values of each band. */
typedef struct Sums {
    int32_t bands, *band;
    int64_t *count;              /* [bands] */
    double *sum, *mean, *square; /* [bands]; square: sum of squares about the mean (Welford 1962) */
    float *value;
    uint8_t *valid;
} Sums;

static void add_values(Sums *sums, size_t pixels) {
    for (int32_t b = 0; b < sums->bands; b++) {
        const float *value = sums->value + (size_t)b * pixels;
        for (size_t p = 0; p < pixels; p++) {
            if (isfinite(value[p]) && sums->valid[p] != 0) {
                double apart = (double)value[p] - sums->mean[b];
                sums->sum[b] += (double)value[p];
                sums->mean[b] += apart / (double)++sums->count[b];
                sums->square[b] += apart * ((double)value[p] - sums->mean[b]);
            }
        }
    }
}

static HcStatus add_window(HcLayer *layer, HcArea area, Sums *sums, HcError *err) {
    const int64_t pixels = hc_max64(1, WINDOW_BYTES / (sums->bands * (int64_t)sizeof(float)));
    const int64_t samples = hc_min64(area.samples, pixels), lines = hc_min64(area.lines, pixels / samples);
    HC_OR_RETURN(all_bands(layer, &sums->band, err));
    HC_OR_RETURN(hc_new(sums->count, sums->bands, "a spectrum", err));
    HC_OR_RETURN(hc_new(sums->sum, sums->bands, "a spectrum", err));
    HC_OR_RETURN(hc_new(sums->mean, sums->bands, "a spectrum", err));
    HC_OR_RETURN(hc_new(sums->square, sums->bands, "a spectrum", err));
    HC_OR_RETURN(hc_new(sums->value, lines * samples * sums->bands, "a window", err));
    HC_OR_RETURN(hc_new(sums->valid, lines * samples, "a window", err));
    for (int64_t line = 0; line < area.lines; line += lines) {
        for (int64_t sample = 0; sample < area.samples; sample += samples) {
            const HcPick pick = {.line0 = area.line0 + line,
                                 .sample0 = area.sample0 + sample,
                                 .lines = (int32_t)hc_min64(lines, area.lines - line),
                                 .samples = (int32_t)hc_min64(samples, area.samples - sample),
                                 .step = 1,
                                 .band = sums->band,
                                 .bands = sums->bands};
            HC_OR_RETURN(hc_layer_read(layer, &pick, sums->value, sums->valid, err));
            add_values(sums, (size_t)pick.lines * (size_t)pick.samples);
        }
    }
    return HC_OK;
}

static void put_sums(Sums *sums, HcJson *to) {
    int64_t pixels = 0;
    for (int32_t b = 0; b < sums->bands; b++) {
        const double count = (double)sums->count[b];
        pixels = hc_max64(pixels, sums->count[b]);
        sums->mean[b] = count > 0 ? (double)(float)(sums->sum[b] / count) : NAN;
        sums->square[b] = count > 1 ? sqrt(sums->square[b] / (count - 1)) : NAN;
    }
    hc_json_put_doubles(to, "values", sums->mean, (size_t)sums->bands);
    hc_json_put_doubles(to, "sd", sums->square, (size_t)sums->bands);
    hc_json_put_number(to, "count", (double)pixels);
}

static HcStatus put_window(HcLayer *layer, HcArea area, HcJson *to, HcError *err) {
    Sums sums = {.bands = layer->scene->bands};
    HcStatus status = add_window(layer, area, &sums, err);
    if (status == HC_OK) {
        put_sums(&sums, to);
    }
    free(sums.band);
    free(sums.count);
    free(sums.sum);
    free(sums.mean);
    free(sums.square);
    free(sums.value);
    free(sums.valid);
    return status;
}

static void put_values(const float *value, int32_t count, const char *name, HcJson *to) {
    hc_json_open_array(to, name);
    for (int32_t i = 0; i < count; i++) {
        hc_json_put_double(to, NULL, (double)value[i]);
    }
    hc_json_close(to);
}

static HcStatus put_pixel(HcLayer *layer, HcArea pixel, HcJson *to, HcError *err) {
    float *value = NULL;
    bool valid = false;
    HC_OR_RETURN(hc_new(value, layer->scene->bands, "a spectrum", err));
    HcStatus status = hc_viewer_pixel(layer, pixel, value, &valid, err);
    if (status == HC_OK) {
        put_values(value, layer->scene->bands, "values", to);
    }
    free(value);
    return status;
}

HcStatus hc_viewer_spectrum(HcViewer *viewer, int32_t number, HcArea area, HcJson *to, HcError *err) {
    HcLayer *layer = &viewer->layer[number];
    const bool window = area.lines > 1 || area.samples > 1;
    HcText command = {0};
    HC_OR_RETURN(check_area(layer, area, err));
    HC_OR_RETURN(window ? put_window(layer, area, to, err) : put_pixel(layer, area, to, err));
    hc_text_add(&command, "hcube extract ");
    hc_word_print(layer->path, &command);
    hc_text_add(&command, " spectra.sli --all-bands ");
    if (window) {
        hc_text_add(&command, "--area %lld,%lld,%lld,%lld", (long long)area.sample0, (long long)area.line0,
                    (long long)area.samples, (long long)area.lines);
    } else {
        hc_text_add(&command, "--pixel %lld,%lld", (long long)area.sample0, (long long)area.line0);
    }
    return put_command(&command, to, err);
}

/* ---- the library ---- */

/* A spectrum of the library, and how it lies to that of a pixel. */
typedef struct Match {
    int32_t entry;
    double angle, scale; /* scale: factor that brings the entry nearest to the pixel */
} Match;

/* Over the bands that both have and no header marks as bad. The angle is NaN where one of them is 0 there. */
static Match match_entry(const HcViewer *viewer, int32_t entry, const float *value) {
    const HcScene *scene = viewer->layer[0].scene;
    const float *from = viewer->library.value + (size_t)entry * (size_t)scene->bands;
    double both = 0, pixel = 0, own = 0;
    for (int32_t b = 0; b < scene->bands; b++) {
        bool good = scene->bad == NULL || scene->bad[b] == 0;
        if (good && isfinite(value[b]) && isfinite(from[b])) {
            both += (double)value[b] * (double)from[b];
            pixel += (double)value[b] * (double)value[b];
            own += (double)from[b] * (double)from[b];
        }
    }
    double cosine = both / sqrt(pixel * own);
    double angle = isnan(cosine) ? NAN : acos(fmin(1, fmax(-1, cosine)));
    return (Match){.entry = entry, .angle = angle, .scale = both / own};
}

static int by_angle(const void *a, const void *b) {
    const Match *one = a, *two = b;
    return one->angle != two->angle ? (one->angle > two->angle) - (one->angle < two->angle)
                                    : (one->entry > two->entry) - (one->entry < two->entry);
}

static HcStatus find_matches(const HcViewer *viewer, const float *value, Match **match, int32_t *count,
                             HcError *err) {
    *count = 0;
    HC_OR_RETURN(hc_new(*match, viewer->library.count, "matches", err));
    for (int32_t e = 0; e < viewer->library.count; e++) {
        Match found = match_entry(viewer, e, value);
        if (isfinite(found.scale) && !isnan(found.angle)) {
            (*match)[(*count)++] = found;
        }
    }
    qsort(*match, (size_t)*count, sizeof **match, by_angle);
    return HC_OK;
}

/* Two commands: the pixel without its bad bands, and its angles to the library. */
static HcStatus put_match_command(const HcViewer *viewer, const HcLayer *layer, HcArea pixel, int32_t top,
                                  HcJson *to, HcError *err) {
    HcText command = {0};
    hc_text_add(&command, "hcube extract ");
    hc_word_print(layer->path, &command);
    hc_text_add(&command, " spectra.sli --pixel %lld,%lld && hcube identify spectra.sli --library ",
                (long long)pixel.sample0, (long long)pixel.line0);
    hc_word_print(viewer->library_path, &command);
    hc_text_add(&command, " --method angle --top %d", top < 8 ? top : 8);
    return put_command(&command, to, err);
}

HcStatus hc_viewer_match(HcViewer *viewer, int32_t number, HcArea pixel, int32_t top, HcJson *to,
                         HcError *err) {
    HcStatus status = HC_OK;
    HcLayer *layer = &viewer->layer[number];
    const int32_t bands = layer->scene->bands;
    float *value = NULL;
    Match *match = NULL;
    bool valid = false;
    int32_t count = 0;
    if (viewer->library_path == NULL) {
        return hc_fail(err, HC_E_USAGE, "no library: start hcube view with --library FILE");
    }
    if (layer->kind != HC_LAYER_CUBE || bands != viewer->library.bands) {
        return hc_fail(err, HC_E_USAGE, "%s: its %d bands are not the %d of the library on the first layer",
                       layer->path, bands, viewer->library.bands);
    }
    HC_TRY(hc_new(value, bands, "a spectrum", err));
    HC_TRY(hc_viewer_pixel(layer, pixel, value, &valid, err));
    HC_TRY(find_matches(viewer, value, &match, &count, err));
    hc_json_open_array(to, "matches");
    for (int32_t m = 0; m < count && m < top; m++) {
        hc_json_open_object(to, NULL);
        hc_json_put_text(to, "name", viewer->library.name[match[m].entry]);
        hc_json_put_double(to, "angle", match[m].angle);
        hc_json_put_double(to, "scale", match[m].scale);
        put_values(viewer->library.value + (size_t)match[m].entry * (size_t)bands, bands, "values", to);
        hc_json_close(to);
    }
    hc_json_close(to);
    HC_TRY(put_match_command(viewer, layer, pixel, top, to, err));
done:
    free(value);
    free(match);
    return status;
}

/* ---- the histogram ---- */

static void put_histogram(const HcOverview *overview, HcJson *to) {
    const size_t pixels = (size_t)overview->width * (size_t)overview->height;
    double low = INFINITY, high = -INFINITY, edge[BINS + 1], count[BINS] = {0};
    for (size_t p = 0; p < pixels; p++) {
        low = overview->valid[p] != 0 ? fmin(low, (double)overview->value[p]) : low;
        high = overview->valid[p] != 0 ? fmax(high, (double)overview->value[p]) : high;
    }
    low = low <= high ? low : 0;
    high = high > low ? high : low + fmax(1, fabs(low) * 1e-6); /* 1e20 + 1 is 1e20 */
    for (int e = 0; e <= BINS; e++) {
        edge[e] = low + (high - low) * e / BINS;
    }
    for (size_t p = 0; p < pixels; p++) {
        if (overview->valid[p] != 0) {
            int bin = (int)(((double)overview->value[p] - low) / (high - low) * BINS);
            count[bin < BINS ? bin : BINS - 1]++;
        }
    }
    hc_json_put_doubles(to, "edges", edge, BINS + 1);
    hc_json_put_doubles(to, "counts", count, BINS);
}

HcStatus hc_viewer_histogram(HcViewer *viewer, int32_t layer, int32_t band, HcJson *to, HcError *err) {
    HcOverview overview = {0};
    float limit[2];
    HC_OR_RETURN(hc_overview_read(&viewer->layer[layer], &band, 1, HISTOGRAM_SIDE, &overview, err));
    put_histogram(&overview, to);
    hc_overview_clear(&overview);
    HC_OR_RETURN(hc_layer_range(&viewer->layer[layer], &band, 1, &limit, err));
    hc_json_put_doubles(to, "range", (const double[]){limit[0], limit[1]}, 2);
    return HC_OK;
}

/* ---- the command of a picture ---- */

/* The bands and their stretch; those of classes are the colours of the file. */
static void add_look(const HcShowing *showing, HcText *command) {
    char text[HC_TEXT_DOUBLE];
    for (int32_t c = 0; c < showing->count; c++) {
        hc_text_add(command, "%s%d", c == 0 ? " --all-bands --bands " : ",", showing->band[c] + 1);
    }
    for (int32_t v = 0; v < 2 * showing->count; v++) {
        hc_text_add(command, "%s%s", v == 0 ? " --limits " : ",",
                    hc_text_double(text, (double)showing->limit[v / 2][v % 2]));
    }
    if (showing->gamma != 1) {
        hc_text_add(command, " --gamma %s", hc_text_double(text, showing->gamma));
    }
    if (!isnan(showing->threshold)) {
        hc_text_add(command, " --threshold %s", hc_text_double(text, showing->threshold));
    }
}

/* The part in sight, from a pixel on that the tiles have, and as many pixels as they have. A scene that is
 * much larger than the picture has a window, too, since preview would take an overview of the file. */
static void add_sight(const HcScene *scene, const HcStacked *stacked, HcText *command) {
    enum { SIZE = 1024, SMALLEST = 16, LARGEST = 16384, OVERVIEW = 8 }; /* of preview */
    const HcArea *area = &stacked->area;
    const int64_t step = hc_max64(stacked->step, 1);
    const int64_t line0 = area->line0 / step * step, sample0 = area->sample0 / step * step;
    const int64_t lines = area->lines > 0 ? area->line0 + area->lines - line0 : scene->lines;
    const int64_t samples = area->lines > 0 ? area->sample0 + area->samples - sample0 : scene->samples;
    const int64_t longest = hc_max64(lines, samples);
    const int64_t size =
        stacked->step == 0 ? SIZE : hc_max64(SMALLEST, hc_min64((longest + step - 1) / step, LARGEST));
    if (area->lines > 0 || longest > OVERVIEW * size) {
        hc_text_add(command, " --window %lld,%lld,%lld,%lld", (long long)sample0, (long long)line0,
                    (long long)samples, (long long)lines);
    }
    if ((longest + SIZE - 1) / SIZE != (longest + size - 1) / size) {
        hc_text_add(command, " --size %lld", (long long)size);
    }
}

static void add_picture(const char *before, const char *name, int32_t number, HcText *command) {
    hc_text_add(command, number > 0 ? "%s%s-%d.png" : "%s%s.png", before, name, number);
}

HcStatus hc_viewer_preview(const HcViewer *viewer, int32_t number, const HcShowing *showing,
                           const HcStacked *stacked, HcJson *to, HcError *err) {
    const HcLayer *layer = &viewer->layer[number];
    const char *name = stacked->second ? "second" : "picture";
    char text[HC_TEXT_DOUBLE];
    HcText command = {0};
    hc_text_add(&command, "hcube preview ");
    hc_word_print(layer->path, &command);
    add_picture(" ", name, stacked->above, &command);
    if (!hc_layer_shows_classes(layer, showing)) {
        add_look(showing, &command);
    } else {
        hc_text_add(&command, " --legend none");
    }
    add_sight(layer->scene, stacked, &command);
    if (stacked->below) {
        add_picture(" --over ", name, stacked->above + 1, &command);
    }
    if (stacked->opacity < 1) {
        hc_text_add(&command, " --opacity %s", hc_text_double(text, stacked->opacity));
    }
    return put_command(&command, to, err);
}
