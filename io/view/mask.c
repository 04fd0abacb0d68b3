/* One mask of a view: a raster, of which values leave pixels out, or polygons. */
#include "core/allocate.h"
#include "core/text.h"
#include "io/file.h"
#include "io/read/value.h"
#include "io/view/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES ((size_t)1 << 20)
#define CHUNK_BYTES  4194304.0 /* asked of readers of chunks, which may need more */

struct HcViewMask {
    const char *option;       /* that named it */
    char *text;               /* its value */
    bool inside;              /* what would stay is left out, and the reverse */
    HcViewPolygons *polygons; /* NULL: a raster */

    HcReader *reader;
    HcViewChoice choice;
    int32_t *bands; /* [count] from 0: a pixel is left out by any of them */
    int32_t count;
    bool follows;    /* they are those of the scene that are read */
    bool has_nodata; /* of the first band */
    double nodata;
    int64_t line0;   /* the line of the raster that is line 0 of the view */
    int64_t sample0; /* the sample of the raster that is sample 0 of the view */
    void *buffer;    /* lines of the raster in its own type */
    int32_t buffer_lines;
    size_t chunk_bytes; /* that the reader holds beside the buffer */
};

/* ---- opening ---- */

static HcStatus check_shape(const HcScene *mask, const char *text, const HcScene *scene, const char *path,
                            HcError *err) {
    const HcCut *cut = &scene->cut;
    bool of_file = mask->lines == cut->lines && mask->samples == cut->samples;
    if (!hc_scene_same_grid(mask, scene) && !of_file) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: the mask has %" PRId64 " lines x %" PRId64 " samples, the scene %s has %" PRId64
                       " x %" PRId64,
                       text, mask->lines, mask->samples, path, cut->lines > 0 ? cut->lines : scene->lines,
                       cut->lines > 0 ? cut->samples : scene->samples);
    }
    return HC_OK;
}

/* What the values mean, by the text behind the name: BAND[=VALUES]. */
static HcStatus check_choice(HcViewMask *mask, HcError *err) {
    const HcScene *scene = hc_reader_scene(mask->reader);
    const HcViewChoice *choice = &mask->choice;
    if (choice->given && mask->inside) {
        return hc_fail(err, HC_E_USAGE, "%s: --mask-inside takes no values (give --mask FILE:BAND=VALUES)",
                       mask->text);
    }
    if (choice->bits != 0 && (scene->type == HC_FLOAT32 || scene->type == HC_FLOAT64)) {
        return hc_fail(err, HC_E_INPUT, "%s: the mask holds %s, which has no bits to ask for", mask->text,
                       hc_type_name(scene->type));
    }
    return HC_OK;
}

static HcStatus set_bands(HcViewMask *mask, const int32_t *index, int32_t count, HcError *err) {
    int32_t *bands = malloc((size_t)count * sizeof *bands);
    if (bands == NULL) {
        return hc_fail_memory(err, (double)count * sizeof *bands, "a list of bands");
    }
    memcpy(bands, index, (size_t)count * sizeof *bands);
    free(mask->bands);
    mask->bands = bands;
    mask->count = count;
    return HC_OK;
}

static HcStatus choose_band(HcViewMask *mask, const char *suffix, HcError *err) {
    const HcScene *scene = hc_reader_scene(mask->reader);
    const double *of_bands = hc_reader_band_nodata(mask->reader);
    if (suffix != NULL) {
        HC_OR_RETURN(hc_view_choice_parse(mask->text, suffix, &mask->choice, err));
    } else if (scene->bands > 1) {
        return hc_fail(err, HC_E_INPUT, "%s: the mask has %" PRId32 " bands: name one (%s:BAND)", mask->text,
                       scene->bands, mask->text);
    }
    int32_t band = suffix != NULL ? mask->choice.band - 1 : 0;
    if (band >= scene->bands) {
        return hc_fail(err, HC_E_INPUT, "%s: the mask has %" PRId32 " bands", mask->text, scene->bands);
    }
    HC_OR_RETURN(check_choice(mask, err));
    mask->nodata = of_bands != NULL ? of_bands[band] : scene->nodata;
    mask->has_nodata = scene->has_nodata && !isnan(mask->nodata);
    return set_bands(mask, &band, 1, err);
}

/* Memory for lines of the bands that are used. */
static HcStatus make_buffer(HcViewMask *mask, HcError *err) {
    int64_t lines = hc_reader_scene(mask->reader)->lines;
    HC_OR_RETURN(hc_reader_use_bands(mask->reader, mask->bands, mask->count, err));
    mask->chunk_bytes = hc_reader_settle(mask->reader, 0, CHUNK_BYTES, false);
    size_t one = hc_reader_bytes(mask->reader, 1);
    mask->buffer_lines = (int32_t)(one < BUFFER_BYTES ? BUFFER_BYTES / one : 1);
    mask->buffer_lines = mask->buffer_lines > lines ? (int32_t)lines : mask->buffer_lines;
    free(mask->buffer);
    mask->buffer = NULL;
    char *buffer = NULL;
    HC_OR_RETURN(hc_new(buffer, hc_reader_bytes(mask->reader, mask->buffer_lines), "lines of the mask", err));
    mask->buffer = buffer;
    return HC_OK;
}

static HcStatus take_buffer(HcViewMask *mask, const HcScene *view, HcError *err) {
    bool whole = hc_scene_same_grid(hc_reader_scene(mask->reader), view);
    mask->line0 = whole ? 0 : view->cut.line0;
    mask->sample0 = whole ? 0 : view->cut.sample0;
    HC_OR_RETURN(hc_reader_use_samples(mask->reader, mask->sample0, view->samples, err));
    return make_buffer(mask, err);
}

HcStatus hc_view_mask_use_bands(HcViewMask *mask, const int32_t *index, int32_t count, HcError *err) {
    if (!mask->follows) {
        return HC_OK;
    }
    HC_OR_RETURN(set_bands(mask, index, count, err));
    return make_buffer(mask, err);
}

static HcStatus open_raster(HcViewMask *mask, const char *path, const char *suffix, const HcViewSite *site,
                            HcError *err) {
    HC_OR_RETURN(hc_reader_open(&mask->reader, path, site->how, err));
    HC_OR_RETURN(check_shape(hc_reader_scene(mask->reader), path, site->scene, site->path, err));
    HC_OR_RETURN(choose_band(mask, suffix, err));
    return take_buffer(mask, site->scene, err);
}

/* Polygons that do not touch the scene would leave out all of it: a mistake. */
static HcStatus open_polygons(HcViewMask *mask, const char *path, const char *layer, const HcViewSite *site,
                              HcError *err) {
    OGREnvelope extent;
    HC_OR_RETURN(hc_view_polygons_open(&mask->polygons, path, layer, site->file, err));
    return mask->inside ? HC_OK : hc_view_polygons_extent(mask->polygons, &extent, err);
}

static HcStatus make(HcViewMask **out, const char *option, const char *text, HcError *err) {
    *out = NULL;
    HC_OR_RETURN(hc_new(*out, 1, "a mask", err));
    (*out)->option = option;
    (*out)->text = strdup(text);
    return (*out)->text != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(text), "the name of a mask");
}

/* ---- quality layers ---- */

const HcProductLayer *hc_view_layer_of(const HcReader *reader, const char *text) {
    int32_t count = 0;
    const HcProductLayer *layer = hc_reader_layers(reader, &count);
    size_t length = strcspn(text, "=!");
    for (int32_t l = 0; l < count; l++) {
        if (strlen(layer[l].name) == length && strncasecmp(layer[l].name, text, length) == 0) {
            return &layer[l];
        }
    }
    return NULL;
}

/* All bands of the scene, for as long as nobody says which are read. */
static HcStatus follow_bands(HcViewMask *mask, const HcProductLayer *layer, const HcViewSite *site,
                             HcError *err) {
    int32_t count = hc_reader_scene(mask->reader)->bands;
    if (count != site->file->bands) {
        return hc_fail(err, HC_E_INPUT, "%s: has %" PRId32 " bands, the scene %s has %" PRId32, layer->file,
                       count, site->path, site->file->bands);
    }
    int32_t *all = malloc((size_t)count * sizeof *all);
    if (all == NULL) {
        return hc_fail_memory(err, (double)count * sizeof *all, "a list of bands");
    }
    for (int32_t b = 0; b < count; b++) {
        all[b] = b;
    }
    HcStatus status = set_bands(mask, all, count, err);
    free(all);
    mask->follows = true;
    mask->has_nodata = false;
    return status;
}

/* What is to be left out: values that the user names, those that the layer has, or all but 0. */
static HcStatus open_layer(HcViewMask *mask, const char *values, const HcProductLayer *layer,
                           const HcViewSite *site, HcError *err) {
    char suffix[400];
    const char *usual = layer->values[0] != '\0' ? layer->values : NULL;
    bool given = values[0] != '\0';
    int used =
        snprintf(suffix, sizeof suffix, "%d%s%s%s", layer->band > 0 ? layer->band : 1, given ? values : "",
                 !given && usual != NULL ? "=" : "", !given && usual != NULL ? usual : "");
    if (used < 0 || (size_t)used >= sizeof suffix) {
        return hc_fail(err, HC_E_USAGE, "%.80s...: more than %d values and ranges", mask->text,
                       HC_VIEW_RANGES_MAX);
    }
    HC_OR_RETURN(hc_reader_open_layer(&mask->reader, site->reader, layer, site->how, err));
    HC_OR_RETURN(check_shape(hc_reader_scene(mask->reader), layer->file, site->scene, site->path, err));
    HC_OR_RETURN(choose_band(mask, suffix, err));
    if (layer->band == 0) {
        HC_OR_RETURN(follow_bands(mask, layer, site, err));
    }
    mask->inside = !mask->choice.given; /* all but 0, and what is missing stays */
    return take_buffer(mask, site->scene, err);
}

HcStatus hc_view_mask_layer(HcViewMask **out, const char *option, const char *text,
                            const HcProductLayer *layer, const HcViewSite *site, HcError *err) {
    HcStatus status = HC_OK;
    HcViewMask *mask = NULL;
    *out = NULL;
    HC_TRY(make(&mask, option, text, err));
    HC_TRY(open_layer(mask, text + strlen(layer->name), layer, site, err));
    *out = mask;
    mask = NULL;
done:
    hc_view_mask_close(mask);
    return status;
}

/* The layer that --mask names, NULL where a file has that name or it names none. */
static HcStatus find_layer(const HcProductLayer **layer, const char *text, bool inside,
                           const HcViewSite *site, HcError *err) {
    *layer = hc_view_layer_of(site->reader, text);
    if (*layer != NULL && hc_view_is_there(text)) {
        *layer = NULL;
    }
    return *layer == NULL || !inside ? HC_OK
                                     : hc_fail(err, HC_E_USAGE,
                                               "--mask-inside %s: is a quality layer (give --mask %s=VALUES "
                                               "or --mask %s!=VALUES)",
                                               text, (*layer)->name, (*layer)->name);
}

HcStatus hc_view_mask_open(HcViewMask **out, const char *text, bool inside, const HcViewSite *site,
                           HcError *err) {
    HcStatus status = HC_OK;
    HcViewMask *mask = NULL;
    const HcProductLayer *layer = NULL;
    *out = NULL;
    HC_OR_RETURN(find_layer(&layer, text, inside, site, err));
    if (layer != NULL) {
        return hc_view_mask_layer(out, "--mask", text, layer, site, err);
    }
    size_t length = hc_view_file_length(text);
    const char *suffix = text[length] == ':' ? text + length + 1 : NULL;
    char *path = hc_view_file_of(text);
    HC_TRY(make(&mask, inside ? "--mask-inside" : "--mask", text, err));
    if (path == NULL) {
        HC_TRY(hc_fail_memory(err, (double)length, "a path"));
    }
    mask->inside = inside;
    HC_TRY(hc_file_check_companions(path, err)); /* whoever opens a pipe waits for its other end */
    HC_TRY(hc_view_is_vector(path) ? open_polygons(mask, path, suffix, site, err)
                                   : open_raster(mask, path, suffix, site, err));
    *out = mask;
    mask = NULL;
done:
    hc_view_mask_close(mask);
    free(path);
    return status;
}

HcStatus hc_view_mask_cutline(HcViewMask **out, const char *text, HcViewPolygons *polygons, HcError *err) {
    HcStatus status = make(out, "--cutline", text, err);
    if (status == HC_OK) {
        (*out)->polygons = polygons;
    } else {
        hc_view_polygons_close(polygons);
        hc_view_mask_close(*out);
        *out = NULL;
    }
    return status;
}

void hc_view_mask_close(HcViewMask *mask) {
    if (mask != NULL) {
        hc_view_polygons_close(mask->polygons);
        hc_reader_close(mask->reader);
        free(mask->buffer);
        free(mask->bands);
        free(mask->text);
        free(mask);
    }
}

/* ---- pixels ---- */

static uint64_t bits_of(const char *at, HcType type, bool swap) {
    uint64_t bits = 0;
    size_t bytes = hc_type_bytes(type);
    bool big = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != swap;
    for (size_t i = 0; i < bytes; i++) {
        bits |= (uint64_t)(unsigned char)at[big ? bytes - 1 - i : i] << (8 * i);
    }
    return bits;
}

/* Whether a value of the raster leaves its pixel out. A value that is missing is none of those that are
 * named. */
static bool leaves_out(const HcViewMask *mask, const char *at, const HcRaw *raw) {
    const HcViewChoice *choice = &mask->choice;
    double value = hc_read_value(at, raw->type, raw->swap);
    bool missing = isnan(value) || (mask->has_nodata && value == mask->nodata);
    if (choice->given) {
        uint64_t bits = choice->bits != 0 ? bits_of(at, raw->type, raw->swap) : 0;
        return (!missing && hc_view_choice_has(choice, value, bits)) != choice->others;
    }
    return (missing || value == 0) != mask->inside;
}

static void apply_lines(const HcViewMask *mask, const HcRaw *raw, int64_t samples, uint8_t *to) {
    int64_t first = raw->samples > samples ? mask->sample0 : 0;
    for (int32_t b = 0; b < mask->count; b++) {
        int64_t stored = hc_reader_stored_band(mask->reader, mask->bands[b]);
        for (int32_t line = 0; line < raw->lines; line++) {
            const char *at = (const char *)raw->data + line * raw->stride_line + first * raw->stride_sample +
                             stored * raw->stride_band;
            uint8_t *stays = to + line * samples;
            for (int64_t s = 0; s < samples; s++, at += raw->stride_sample) {
                stays[s] &= !leaves_out(mask, at, raw);
            }
        }
    }
}

HcStatus hc_view_mask_apply(HcViewMask *mask, HcPixels pixels, int64_t line0, uint8_t *to, HcError *err) {
    int64_t samples = pixels.x1 - pixels.x0, lines = pixels.y1 - pixels.y0;
    if (mask->polygons != NULL) {
        return hc_view_polygons_apply(mask->polygons, pixels, mask->inside, to, err);
    }
    for (int64_t done = 0; done < lines;) {
        HcRaw raw;
        int64_t step = lines - done < mask->buffer_lines ? lines - done : mask->buffer_lines;
        HC_OR_RETURN(
            hc_reader_read(mask->reader, mask->line0 + line0 + done, (int32_t)step, mask->buffer, &raw, err));
        apply_lines(mask, &raw, samples, to + done * samples);
        done += step;
    }
    return HC_OK;
}

/* ---- what it is ---- */

const char *hc_view_mask_option(const HcViewMask *mask) {
    return mask->option;
}

const char *hc_view_mask_text(const HcViewMask *mask) {
    return mask->text;
}

size_t hc_view_mask_bytes(const HcViewMask *mask) {
    return mask->polygons != NULL ? hc_view_polygons_bytes(mask->polygons)
                                  : hc_reader_bytes(mask->reader, mask->buffer_lines) + mask->chunk_bytes;
}

HcStatus hc_view_mask_unchanged(const HcViewMask *mask, HcError *err) {
    return mask->polygons != NULL ? hc_view_polygons_unchanged(mask->polygons, err)
                                  : hc_reader_unchanged(mask->reader, err);
}

HcStatus hc_view_mask_files(const HcViewMask *mask, HcPaths *out, HcError *err) {
    return mask->polygons != NULL ? hc_view_polygons_files(mask->polygons, out, err)
                                  : hc_reader_files(mask->reader, out, err);
}
