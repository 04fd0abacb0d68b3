/* The lines of a reader pass through here once: the window cuts them, masks and several nodata values mark
 * pixels, scale and offset convert values. A view that does none of that hands raw lines on untouched, and
 * they can be mapped. */
#include "core/allocate.h"
#include "core/grow.h"
#include "core/text.h"
#include "core/system/team.h"
#include "io/file.h"
#include "io/libraries.h"
#include "io/view/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct HcView {
    HcReader *reader;
    HcViewOptions options; /* its texts are gone once open has returned */
    HcScene scene;
    HcPixels window; /* of the file */
    HcText note;
    HcViewMask **mask; /* [masks] */
    int32_t masks;
    bool converts;    /* values become float32 */
    float none;       /* what means no data among them */
    int32_t used;     /* bands that are read */
    int32_t *index;   /* [used] those of the file, ascending */
    HcViewBand *band; /* [used] how their values are converted */
    HcTeam *team;
};

/* ---- nodata and scale ---- */

/* Keeps the nodata values of the user that the type can hold. If one is left, decode handles it. */
static void keep_possible(HcView *view) {
    HcViewOptions *options = &view->options;
    HcType type = hc_reader_scene(view->reader)->type;
    int32_t count = 0;
    for (int32_t n = 0; n < options->nodata_count; n++) {
        double value = options->nodata[n];
        if (hc_view_type_has(type, value)) {
            options->nodata[count++] = type == HC_FLOAT32 ? (double)(float)value : value;
        }
    }
    options->nodata_count = count > 0 || options->nodata_count == 0 ? count : 1;
}

/* The first finite value: an infinite one always masks a pixel. */
static double first_finite(const double *value, int32_t count) {
    int32_t n = 0;
    while (n < count - 1 && !isfinite(value[n])) {
        n++;
    }
    return value[n];
}

/* What nodata becomes. A pixel that has it in some bands may stay (--nodata-rule all), so it should be a
 * value that the output takes for nodata. Where each band has its own, integers stay integers. */
static float none_of(const HcView *view, bool scaled) {
    HcType type = hc_reader_scene(view->reader)->type;
    bool floating = type == HC_FLOAT32 || type == HC_FLOAT64;
    bool own = view->options.nodata_count == 0 && hc_reader_band_nodata(view->reader) != NULL;
    return own && !floating && !scaled ? hc_view_outside(type) : (float)view->scene.nodata;
}

static void settle_values(HcView *view) {
    const HcViewOptions *options = &view->options;
    HcScene *scene = &view->scene;
    bool own = options->nodata_count == 0 && !options->ignore_nodata;
    bool scaled = options->apply_scale && scene->gain != NULL;
    keep_possible(view);
    view->converts =
        scaled || options->nodata_count > 1 || (own && hc_reader_band_nodata(view->reader) != NULL);
    if (options->ignore_nodata) {
        scene->has_nodata = false;
    } else if (options->nodata_count > 0) {
        scene->has_nodata = true;
        scene->nodata = first_finite(options->nodata, options->nodata_count);
    }
    view->none = scene->has_nodata ? none_of(view, scaled) : NAN;
    if (scaled) {
        free(scene->gain);
        free(scene->offset);
        scene->gain = scene->offset = NULL;
        scene->type = HC_FLOAT32;
        scene->integer_limit = 0;
    }
}

/* How the bands that are read are converted. */
static HcStatus fill_bands(HcView *view, const int32_t *index, int32_t count, HcError *err) {
    HcStatus status = HC_OK;
    const HcScene *file = hc_reader_scene(view->reader);
    const HcViewOptions *options = &view->options;
    const double *of_bands = hc_reader_band_nodata(view->reader);
    bool scaled = options->apply_scale && file->gain != NULL;
    HcViewBand *band = NULL;
    int32_t *used = NULL;
    HC_TRY(hc_new(band, count, "a list of bands", err));
    HC_TRY(hc_new(used, count, "a list of bands", err));
    for (int32_t k = 0; k < count; k++) {
        int32_t b = index != NULL ? index[k] : k;
        used[k] = b;
        if (options->nodata_count > 0) {
            band[k] = (HcViewBand){.nodata = options->nodata, .count = options->nodata_count};
        } else if (of_bands != NULL && !options->ignore_nodata) {
            band[k] = (HcViewBand){.nodata = of_bands + b, .count = !isnan(of_bands[b])};
        } else if (view->scene.has_nodata) {
            band[k] = (HcViewBand){.nodata = &view->scene.nodata, .count = 1};
        }
        band[k].none = view->none;
        band[k].scaled = scaled;
        band[k].gain = scaled ? file->gain[b] : 1;
        band[k].offset = scaled ? file->offset[b] : 0;
    }
    free(view->band);
    free(view->index);
    view->band = band;
    view->index = used;
    view->used = count;
    band = NULL;
    used = NULL;
done:
    free(band);
    free(used);
    return status;
}

bool hc_view_nodata(const HcView *view, double *value) {
    *value = view->converts ? (double)view->none : view->scene.nodata;
    return view->scene.has_nodata;
}

/* ---- the window ---- */

/* One more mask, taken over. */
static HcStatus add_mask(HcView *view, HcViewMask *mask, HcError *err) {
    HcStatus status = hc_grow(view->mask, view->masks, "a list of masks", err);
    if (status != HC_OK) {
        hc_view_mask_close(mask);
        return status;
    }
    view->mask[view->masks++] = mask;
    return HC_OK;
}

static HcStatus add_cutline(HcView *view, const char *text, HcError *err) {
    HcStatus status = HC_OK;
    OGREnvelope extent;
    HcViewPolygons *polygons = NULL;
    HcViewMask *mask = NULL;
    size_t length = hc_view_file_length(text);
    const char *layer = text[length] == ':' ? text + length + 1 : NULL;
    char *path = hc_view_file_of(text);
    HC_OR_RETURN(hc_text_made(path, length, "a path", err));
    HC_TRY(hc_view_polygons_open(&polygons, path, layer, hc_reader_scene(view->reader), err));
    HC_TRY(hc_view_mask_cutline(&mask, text, polygons, err));
    HC_TRY(add_mask(view, mask, err));
    HC_TRY(hc_view_polygons_extent(polygons, &extent, err));
    view->window = hc_view_touched(extent, view->window);
    if (view->window.x1 <= view->window.x0 || view->window.y1 <= view->window.y0) {
        HC_TRY(
            hc_fail(err, HC_E_INPUT,
                    "%s: its polygons touch no pixel of the scene: samples %.6g to %.6g, lines %.6g to %.6g",
                    path, extent.MinX, extent.MaxX, extent.MinY, extent.MaxY));
    }
done:
    free(path);
    return status;
}

static HcStatus settle_window(HcView *view, const HcViewOptions *options, HcError *err) {
    const HcScene *file = hc_reader_scene(view->reader);
    const char *path = hc_reader_path(view->reader);
    HcPixels *window = &view->window;
    bool clipped = false;
    *window = hc_view_whole(file);
    if (options->window != NULL) {
        HC_OR_RETURN(hc_view_check_window(options->window, file, path, window, err));
    }
    if (options->box != NULL) {
        HC_OR_RETURN(hc_view_box_window(options->box, file, path, window, &clipped, err));
    }
    if (options->cutline != NULL) {
        HC_OR_RETURN(add_cutline(view, options->cutline, err));
    }
    if (options->box != NULL || options->cutline != NULL) {
        hc_text_add(&view->note,
                    "the window has samples %" PRId64 " to %" PRId64 " and lines %" PRId64 " to %" PRId64
                    " (from 0) of the file%s",
                    window->x0, window->x1 - 1, window->y0, window->y1 - 1,
                    clipped ? "; the box reaches beyond the scene" : "");
    }
    if (view->note.failed) {
        return hc_fail_memory(err, 0, "a text");
    }
    if (options->first_lines > 0 && options->first_lines < window->y1 - window->y0) {
        window->y1 = window->y0 + options->first_lines;
    }
    hc_view_cut(&view->scene, *window);
    hc_reader_expect_lines(view->reader, window->y1);
    return hc_reader_use_samples(view->reader, window->x0, window->x1 - window->x0, err);
}

const char *hc_view_note(const HcView *view) {
    return view->note.data;
}

bool hc_view_scales(const HcView *view) {
    return view->options.apply_scale;
}

/* ---- opening ---- */

/* Whether one of the masks is that layer. */
static bool is_named(const HcReader *reader, const HcProductLayer *layer, const char *const *masks) {
    for (; masks != NULL && *masks != NULL; masks++) {
        if (hc_view_layer_of(reader, *masks) == layer && !hc_view_is_there(*masks)) {
            return true;
        }
    }
    return false;
}

/* Whether no quality layer counts unless the user says otherwise. */
static bool lacks_layers(const HcReader *reader) {
    int32_t count = 0;
    const HcProductLayer *layer = hc_reader_layers(reader, &count);
    bool lacks = true;
    for (int32_t l = 0; l < count; l++) {
        lacks = lacks && !layer[l].usual;
    }
    return lacks;
}

bool hc_view_lacks_quality(const HcView *view) {
    bool known = hc_reader_product(view->reader) != NULL || hc_reader_flaw(view->reader) != NULL;
    return known && !hc_reader_is_companion(view->reader) && !view->options.no_quality &&
           lacks_layers(view->reader);
}

static HcStatus check_quality(const HcView *view, HcError *err) {
    const char *note = hc_reader_note(view->reader);
    return !lacks_layers(view->reader)
               ? HC_OK
               : hc_fail(err, HC_E_INPUT, "%s: --quality require: no quality layer leaves pixels out%s%s",
                         hc_reader_path(view->reader), note != NULL ? ": " : "", note != NULL ? note : "");
}

static HcStatus check_metadata(const HcView *view, HcError *err) {
    const char *flaw = hc_reader_flaw(view->reader);
    return flaw == NULL || !view->options.needs_metadata
               ? HC_OK
               : hc_fail(err, HC_E_INPUT,
                         "%s: its metadata cannot be used: %s (--metadata any goes on without them)",
                         hc_reader_path(view->reader), flaw);
}

/* The quality layers of the product that count unless the user says otherwise; one that a mask names counts
 * as that says. */
static HcStatus add_quality(HcView *view, HcViewSite *site, const char *const *masks, HcError *err) {
    int32_t count = 0, added = 0;
    const HcProductLayer *layer = hc_reader_layers(view->reader, &count);
    for (int32_t l = 0; l < count; l++) {
        HcViewMask *mask = NULL;
        if (!layer[l].usual || is_named(view->reader, &layer[l], masks)) {
            continue;
        }
        site->mask = view->mask;
        site->masks = view->masks;
        HC_OR_RETURN(hc_view_mask_layer(&mask, "--quality", layer[l].name, &layer[l], site, err));
        HC_OR_RETURN(add_mask(view, mask, err));
        if (added == 0) {
            hc_text_add(&view->note,
                        "%squality layers leave pixels out: ", view->note.length > 0 ? "; " : "");
        }
        hc_text_add(&view->note, "%s%s", added > 0 ? ", " : "", layer[l].name);
        added++;
    }
    if (added > 0) {
        hc_text_add(&view->note, " (--quality none keeps them)");
    }
    return view->note.failed ? hc_fail_memory(err, 0, "a text") : HC_OK;
}

HcViewSite hc_view_site(const HcView *view, HcText *note) {
    return (HcViewSite){.scene = &view->scene,
                        .file = hc_reader_scene(view->reader),
                        .path = hc_reader_path(view->reader),
                        .note = note,
                        .how = &view->options.reader,
                        .reader = view->reader};
}

HcPixels hc_view_pixels(const HcView *view) {
    return view->window;
}

/* The mask of the file itself. */
static HcStatus add_own(HcView *view, HcError *err) {
    HcViewMask *mask = NULL;
    if (hc_reader_mask(view->reader) == NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_view_mask_own(&mask, view->reader, err));
    hc_text_add(&view->note, "%sthe %s of the file leaves pixels out (--ignore-mask keeps them)",
                view->note.length > 0 ? "; " : "", hc_reader_mask(view->reader));
    HC_OR_RETURN(add_mask(view, mask, err));
    return view->note.failed ? hc_fail_memory(err, 0, "a text") : HC_OK;
}

static HcStatus add_masks(HcView *view, const HcViewOptions *options, HcError *err) {
    HC_OR_RETURN(add_own(view, err));
    HcViewSite site = hc_view_site(view, &view->note);
    const char *const *const lists[] = {options->masks, options->masks_inside};
    for (int l = 0; l < 2; l++) {
        for (int32_t m = 0; lists[l] != NULL && lists[l][m] != NULL; m++) {
            HcViewMask *mask = NULL;
            site.mask = view->mask;
            site.masks = view->masks;
            HC_OR_RETURN(hc_view_mask_open(&mask, lists[l][m], l == 1, &site, err));
            HC_OR_RETURN(add_mask(view, mask, err));
        }
    }
    return options->no_quality ? HC_OK : add_quality(view, &site, options->masks, err);
}

HcStatus hc_view_open(HcView **out, const char *path, const HcViewOptions *options, HcError *err) {
    HcStatus status = HC_OK;
    HcView *view = NULL;
    *out = NULL;
    HC_OR_RETURN(hc_new(view, 1, "the reader", err));
    view->options = *options;
    HC_TRY(hc_reader_open(&view->reader, path, &options->reader, err));
    HC_TRY(check_metadata(view, err));
    HC_TRY(options->needs_quality ? check_quality(view, err) : HC_OK);
    HC_TRY(hc_scene_copy(&view->scene, hc_reader_scene(view->reader), err));
    HC_TRY(settle_window(view, options, err));
    settle_values(view);
    HC_TRY(add_masks(view, options, err));
    HC_TRY(fill_bands(view, NULL, view->scene.bands, err));
    view->options.cutline = view->options.reader.wavelength_unit = NULL;
    view->options.masks = view->options.masks_inside = NULL;
    view->options.window = NULL;
    view->options.box = NULL;
    *out = view;
    view = NULL;
done:
    hc_view_close(view);
    return status;
}

void hc_view_close(HcView *view) {
    if (view != NULL) {
        for (int32_t m = 0; m < view->masks; m++) {
            hc_view_mask_close(view->mask[m]);
        }
        free(view->mask);
        hc_text_clear(&view->note);
        hc_reader_close(view->reader);
        hc_team_close(view->team);
        hc_scene_clear(&view->scene);
        free(view->band);
        free(view->index);
        free(view);
    }
}

const HcScene *hc_view_scene(const HcView *view) {
    return &view->scene;
}

const HcReader *hc_view_reader(const HcView *view) {
    return view->reader;
}

HcStatus hc_view_use_bands(HcView *view, const int32_t *index, int32_t count, HcError *err) {
    HC_OR_RETURN(hc_reader_use_bands(view->reader, index, count, err));
    for (int32_t m = 0; m < view->masks; m++) {
        HC_OR_RETURN(hc_view_mask_use_bands(view->mask[m], index, count, err));
    }
    return fill_bands(view, index, count, err);
}

int32_t hc_view_stored_band(const HcView *view, int32_t file_band) {
    int32_t k = 0;
    while (view->converts && view->index[k] < file_band) {
        k++;
    }
    return view->converts ? k : hc_reader_stored_band(view->reader, file_band);
}

HcStatus hc_view_unchanged(const HcView *view, HcError *err) {
    HC_OR_RETURN(hc_reader_unchanged(view->reader, err));
    for (int32_t m = 0; m < view->masks; m++) {
        HC_OR_RETURN(hc_view_mask_unchanged(view->mask[m], err));
    }
    return HC_OK;
}

HcStatus hc_view_files(const HcView *view, HcPaths *out, HcError *err) {
    HC_OR_RETURN(hc_reader_files(view->reader, out, err));
    for (int32_t m = 0; m < view->masks; m++) {
        HC_OR_RETURN(hc_view_mask_files(view->mask[m], out, err));
    }
    return HC_OK;
}

size_t hc_view_settle(HcView *view, int32_t halo, double bytes, bool repeats) {
    return hc_reader_settle(view->reader, halo, bytes, repeats);
}

HcStatus hc_view_forget(const HcView *view, HcError *err) {
    HcPaths files = {0};
    HcStatus status = hc_view_files(view, &files, err);
    for (int32_t f = 0; status == HC_OK && f < files.count; f++) {
        hc_file_uncache(files.path[f]);
    }
    hc_paths_clear(&files);
    return status;
}

/* ---- mapping ---- */

bool hc_view_masks(const HcView *view) {
    return view->masks > 0;
}

bool hc_view_map(HcView *view) {
    return !hc_view_masks(view) && !view->converts && hc_reader_map(view->reader);
}

bool hc_view_map_suits(const HcView *view, int64_t lines) {
    return hc_reader_map_suits(view->reader, lines);
}

void hc_view_unmap(HcView *view) {
    hc_reader_unmap(view->reader);
}

void hc_view_release(HcView *view, int64_t line0, int32_t lines) {
    hc_reader_release(view->reader, view->window.y0 + line0, lines);
}

size_t hc_view_mapped_bytes(const HcView *view, int64_t lines) {
    const HcScene *file = hc_reader_scene(view->reader);
    return (size_t)lines * (size_t)file->samples * (size_t)file->bands * hc_type_bytes(file->type);
}

/* ---- lines ---- */

static size_t whole_words(size_t bytes) {
    return (bytes + 7) & ~(size_t)7;
}

static size_t float_bytes(const HcView *view, int64_t lines) {
    return view->converts
               ? whole_words((size_t)lines * (size_t)view->scene.samples * (size_t)view->used * sizeof(float))
               : 0;
}

/* Memory of lines: converted values, stored values, what the masks leave, and which mask left each pixel out.
 * */
size_t hc_view_bytes(const HcView *view, int64_t lines) {
    size_t raw = hc_reader_bytes(view->reader, lines);
    size_t pixels = (size_t)lines * (size_t)view->scene.samples;
    if (!hc_view_masks(view) && !view->converts) {
        return raw;
    }
    return float_bytes(view, lines) + whole_words(raw) + (hc_view_masks(view) ? 2 * pixels : 0);
}

typedef struct Conversion {
    const HcView *view;
    const HcRaw *raw;
    float *to; /* [line][band][sample] */
} Conversion;

static void convert_line(void *user, int64_t line, int32_t thread) {
    const Conversion *job = user;
    const HcView *view = job->view;
    float *to = job->to + (size_t)line * (size_t)view->used * (size_t)job->raw->samples;
    (void)thread;
    for (int32_t k = 0; k < view->used; k++, to += job->raw->samples) {
        int32_t stored = hc_reader_stored_band(view->reader, view->index[k]);
        hc_view_convert(job->raw, (int32_t)line, stored, &view->band[k], to);
    }
}

static void convert(HcView *view, HcRaw *raw, float *to) {
    Conversion job = {.view = view, .raw = raw, .to = to};
    int64_t line = raw->samples * (int64_t)sizeof(float);
    if (view->team == NULL && raw->lines > 1) {
        view->team = hc_team_open(hc_io_threads(view->options.reader.threads));
    }
    hc_team_run(view->team, raw->lines, convert_line, &job);
    *raw = (HcRaw){.data = to,
                   .type = HC_FLOAT32,
                   .line0 = raw->line0,
                   .lines = raw->lines,
                   .samples = raw->samples,
                   .bands = view->used,
                   .stride_sample = sizeof(float),
                   .stride_band = line,
                   .stride_line = line * view->used};
}

/* Masks of the lines from line0 on: mask[lines][samples], which comes as 1, and which left each pixel out
 * (from 1) in cause[lines][samples]. */
static HcStatus apply_masks(HcView *view, int64_t line0, int64_t lines, uint8_t *mask, uint8_t *cause,
                            HcError *err) {
    const HcPixels *window = &view->window;
    HcPixels pixels = {window->x0, window->y0 + line0, window->x1, window->y0 + line0 + lines};
    size_t count = (size_t)lines * (size_t)view->scene.samples;
    for (int32_t m = 0; m < view->masks; m++) {
        HC_OR_RETURN(hc_view_mask_apply(view->mask[m], pixels, line0, mask, err));
        for (size_t p = 0; p < count; p++) {
            cause[p] = mask[p] == 0 && cause[p] == 0 ? (uint8_t)(m + 1) : cause[p];
        }
    }
    return HC_OK;
}

/* A mask of some lines. Behind it lies, for each pixel, the number of the mask that leaves it out (from 1).
 * All masks go over a few lines together, so that one raster is read once for those that look at it. */
static HcStatus fill_mask(HcView *view, int64_t line0, int32_t lines, uint8_t *mask, HcError *err) {
    int64_t samples = view->scene.samples, step = lines;
    size_t count = (size_t)lines * (size_t)samples;
    uint8_t *cause = mask + count;
    memset(mask, 1, count);
    memset(cause, 0, count);
    for (int32_t m = 0; m < view->masks; m++) {
        step = hc_min64(step, hc_view_mask_lines(view->mask[m]));
    }
    for (int64_t done = 0; done < lines; done += step) {
        HC_OR_RETURN(apply_masks(view, line0 + done, hc_min64(step, lines - done), mask + done * samples,
                                 cause + done * samples, err));
    }
    return HC_OK;
}

int32_t hc_view_mask_count(const HcView *view) {
    return view->masks;
}

const char *hc_view_mask_name(const HcView *view, int32_t mask, const char **value) {
    *value = hc_view_mask_text(view->mask[mask]);
    return hc_view_mask_option(view->mask[mask]);
}

void hc_view_count(const HcView *view, const HcRaw *raw, int64_t line0, int32_t lines, int64_t *counts) {
    if (view->masks == 0) {
        return;
    }
    int64_t samples = raw->samples;
    const uint8_t *cause = raw->user_mask + (raw->lines + line0 - raw->line0) * samples;
    for (int64_t p = 0; p < lines * samples; p++) {
        if (cause[p] != 0) {
            counts[cause[p] - 1]++;
        }
    }
}

size_t hc_view_fixed_bytes(const HcView *view) {
    size_t bytes = 0;
    for (int32_t m = 0; m < view->masks; m++) {
        bytes += hc_view_mask_bytes(view->mask[m]);
    }
    return bytes;
}

/* Lines of the file become those of the window. */
static void shift(const HcView *view, int64_t line0, HcRaw *raw) {
    if (raw->samples > view->scene.samples) {
        raw->data = (const char *)raw->data + view->window.x0 * raw->stride_sample;
        raw->samples = (int32_t)view->scene.samples;
    }
    raw->line0 = line0;
}

bool hc_view_passes_bytes(const HcView *view) {
    return hc_reader_direct(view->reader) && !hc_view_masks(view) && !view->converts;
}

HcStatus hc_view_read_part(const HcView *view, int64_t line0, int32_t lines, int64_t at, int64_t bytes,
                           void *to, HcError *err) {
    return hc_reader_read_part(view->reader, view->window.y0 + line0, lines, at, bytes, to, err);
}

void hc_view_describe(const HcView *view, int64_t line0, int32_t lines, const void *at, HcRaw *raw) {
    hc_reader_describe(view->reader, view->window.y0 + line0, lines, at, raw);
    shift(view, line0, raw);
}

bool hc_view_ends_in_zero(const HcView *view, int64_t line, int32_t band) {
    const int64_t first = view->window.x0;
    const int64_t last = first + view->scene.samples - 1;
    return hc_reader_is_zero(view->reader, view->window.y0 + line, first, band) ||
           hc_reader_is_zero(view->reader, view->window.y0 + line, last, band);
}

HcStatus hc_view_read(HcView *view, int64_t line0, int32_t lines, void *to, HcRaw *raw, HcError *err) {
    char *at = (char *)to + float_bytes(view, lines);
    if (line0 < 0 || lines < 1 || line0 > view->scene.lines - lines) {
        return hc_fail(err, HC_E_USAGE, "%s: lines %" PRId64 " to %" PRId64 " are not among its %" PRId64,
                       hc_reader_path(view->reader), line0, line0 + lines - 1, view->scene.lines);
    }
    HC_OR_RETURN(
        hc_reader_read(view->reader, view->window.y0 + line0, lines, to != NULL ? at : NULL, raw, err));
    shift(view, line0, raw);
    if (view->converts) {
        convert(view, raw, to);
    }
    if (hc_view_masks(view)) {
        uint8_t *mask = (uint8_t *)at + whole_words(hc_reader_bytes(view->reader, lines));
        HC_OR_RETURN(fill_mask(view, line0, lines, mask, err));
        raw->user_mask = mask;
    }
    return HC_OK;
}
