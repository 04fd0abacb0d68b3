/* One mask of a view: a raster, of which values leave pixels out, polygons, or the mask of the scene itself.
 */
#include "core/allocate.h"
#include "core/text.h"
#include "io/file.h"
#include "io/read/metadata/value.h"
#include "io/view/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct HcViewMask {
    const char *option;       /* that named it */
    char *text;               /* its value */
    bool inside;              /* what would stay is left out, and the reverse */
    const HcReader *own;      /* of the scene whose own mask it is; borrowed */
    HcViewPolygons *polygons; /* NULL: a raster */

    HcViewRaster *raster; /* NULL: polygons, or the mask of the scene itself */
    HcViewChoice choice;
    int32_t *bands; /* [count] from 0: a pixel is left out by any of them */
    int32_t count;
    bool follows;    /* they are those of the scene that are read */
    bool has_nodata; /* of its band */
    double nodata;
};

/* ---- opening ---- */

static const HcScene *scene_of(const HcViewMask *mask) {
    return hc_reader_scene(hc_view_raster_reader(mask->raster));
}

/* What the values mean, by the text after the name: BAND[=VALUES]. */
static HcStatus check_choice(HcViewMask *mask, HcError *err) {
    const HcScene *scene = scene_of(mask);
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
    const HcScene *scene = scene_of(mask);
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
    mask->has_nodata = hc_reader_nodata(hc_view_raster_reader(mask->raster), band, &mask->nodata);
    return set_bands(mask, &band, 1, err);
}

/* Takes the raster of an open mask, or opens one. */
static HcStatus take_raster(HcViewMask *mask, const char *path, const HcProductLayer *layer,
                            const HcViewSite *site, HcError *err) {
    for (int32_t m = 0; m < site->masks; m++) {
        HcViewRaster *other = site->mask[m]->raster;
        if (other != NULL && hc_view_raster_is(other, path, layer)) {
            hc_view_raster_hold(other);
            mask->raster = other;
            return HC_OK;
        }
    }
    return hc_view_raster_open(&mask->raster, path, layer, site, err);
}

/* The raster reads what the mask looks at. */
static HcStatus ask(HcViewMask *mask, HcError *err) {
    return mask->follows ? hc_view_raster_use_bands(mask->raster, mask->bands, mask->count, err)
                         : hc_view_raster_add_band(mask->raster, mask->bands[0], err);
}

HcStatus hc_view_mask_use_bands(HcViewMask *mask, const int32_t *index, int32_t count, HcError *err) {
    if (!mask->follows) {
        return HC_OK;
    }
    HC_OR_RETURN(set_bands(mask, index, count, err));
    return ask(mask, err);
}

static HcStatus open_raster(HcViewMask *mask, const char *path, const char *suffix, const HcViewSite *site,
                            HcError *err) {
    HC_OR_RETURN(take_raster(mask, path, NULL, site, err));
    HC_OR_RETURN(choose_band(mask, suffix, err));
    return ask(mask, err);
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
    int32_t count = scene_of(mask)->bands;
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
    HC_OR_RETURN(take_raster(mask, layer->file, layer, site, err));
    HC_OR_RETURN(choose_band(mask, suffix, err));
    if (layer->band == 0) {
        HC_OR_RETURN(follow_bands(mask, layer, site, err));
    }
    mask->inside = !mask->choice.given; /* all but 0, and what is missing stays */
    return ask(mask, err);
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

/* A name that no file has, and no layer of the product either. */
static HcStatus fail_name(const char *text, const HcViewSite *site, HcError *err) {
    int32_t count = 0;
    const HcProductLayer *layer = hc_reader_layers(site->reader, &count);
    HcText names = {0};
    for (int32_t l = 0; l < count; l++) {
        hc_text_add(&names, "%s%s", l > 0 ? ", " : "", layer[l].name);
    }
    HcStatus status = hc_fail_text(
        err, HC_E_INPUT, &names, "--mask %s: there is no such file, and %s has %s%s", text, site->path,
        count > 0 ? "the quality layers " : "no quality layers", hc_text_shown(&names));
    hc_text_clear(&names);
    return status;
}

/* Whether a text may be meant for a layer: a word of a product, and not the path of a file. */
static bool may_be_layer(const char *text, const HcViewSite *site) {
    size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
    bool whole = text[word] == '\0' || text[word] == '=' || text[word] == '!';
    return whole && hc_reader_product(site->reader) != NULL && !hc_view_is_there(text);
}

/* The layer that --mask names, NULL where a file has that name or it names none. */
static HcStatus find_layer(const HcProductLayer **layer, const char *text, bool inside,
                           const HcViewSite *site, HcError *err) {
    *layer = hc_view_layer_of(site->reader, text);
    if (*layer == NULL && !inside && may_be_layer(text, site)) {
        return fail_name(text, site, err);
    }
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
    HC_TRY(hc_text_made(path, length, "a path", err));
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

HcStatus hc_view_mask_own(HcViewMask **out, const HcReader *reader, HcError *err) {
    HcStatus status = make(out, "read", hc_reader_mask(reader), err);
    if (status == HC_OK) {
        (*out)->own = reader;
    } else {
        hc_view_mask_close(*out);
        *out = NULL;
    }
    return status;
}

void hc_view_mask_close(HcViewMask *mask) {
    if (mask != NULL) {
        hc_view_polygons_close(mask->polygons);
        hc_view_raster_close(mask->raster);
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

/* A value that the user writes is meant, also where it is the nodata value: a map of classes has 0. */
static bool is_missing(const HcViewMask *mask, double value) {
    return isnan(value) || (mask->has_nodata && value == mask->nodata &&
                            !(mask->choice.given && hc_view_choice_names(&mask->choice, value)));
}

/* Whether a value of the raster leaves its pixel out. A value that is missing is none of those in the list.
 */
static bool leaves_out(const HcViewMask *mask, const char *at, const HcRaw *raw) {
    const HcViewChoice *choice = &mask->choice;
    double value = hc_read_value(at, raw->type, raw->swap);
    bool missing = is_missing(mask, value);
    if (choice->given) {
        uint64_t bits = choice->bits != 0 ? bits_of(at, raw->type, raw->swap) : 0;
        return (!missing && hc_view_choice_has(choice, value, bits)) != choice->others;
    }
    return (missing || value == 0) != mask->inside;
}

/* Where the raster has a mask of its own, its value is missing. */
static bool leaves_out_at(const HcViewMask *mask, const char *at, const HcRaw *raw, int64_t pixel) {
    bool masked = raw->user_mask != NULL && raw->user_mask[pixel] == 0;
    return masked ? (mask->choice.given ? mask->choice.others : !mask->inside) : leaves_out(mask, at, raw);
}

static void apply_lines(const HcViewMask *mask, const HcRaw *raw, int64_t samples, uint8_t *to) {
    const HcReader *reader = hc_view_raster_reader(mask->raster);
    int64_t first = raw->samples > samples ? hc_view_raster_sample0(mask->raster) : 0;
    for (int32_t b = 0; b < mask->count; b++) {
        int64_t stored = hc_reader_stored_band(reader, mask->bands[b]);
        for (int32_t line = 0; line < raw->lines; line++) {
            const char *at = (const char *)raw->data + line * raw->stride_line + first * raw->stride_sample +
                             stored * raw->stride_band;
            uint8_t *stays = to + line * samples;
            for (int64_t s = 0; s < samples; s++, at += raw->stride_sample) {
                stays[s] &= !leaves_out_at(mask, at, raw, line * samples + s);
            }
        }
    }
}

HcStatus hc_view_mask_apply(HcViewMask *mask, HcPixels pixels, int64_t line0, uint8_t *to, HcError *err) {
    HcRaw raw;
    if (mask->own != NULL) {
        return hc_reader_read_mask(mask->own, pixels.y0, (int32_t)(pixels.y1 - pixels.y0), to, err);
    }
    if (mask->polygons != NULL) {
        return hc_view_polygons_apply(mask->polygons, pixels, mask->inside, to, err);
    }
    HC_OR_RETURN(hc_view_raster_read(mask->raster, line0, (int32_t)(pixels.y1 - pixels.y0), &raw, err));
    apply_lines(mask, &raw, pixels.x1 - pixels.x0, to);
    return HC_OK;
}

int64_t hc_view_mask_lines(const HcViewMask *mask) {
    return mask->raster != NULL ? hc_view_raster_lines(mask->raster) : INT64_MAX;
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
           : mask->raster != NULL ? hc_view_raster_bytes(mask->raster)
                                  : HC_READER_MASK_BYTES;
}

HcStatus hc_view_mask_unchanged(const HcViewMask *mask, HcError *err) {
    return mask->polygons != NULL
               ? hc_view_polygons_unchanged(mask->polygons, err)
               : hc_reader_unchanged(mask->own != NULL ? mask->own : hc_view_raster_reader(mask->raster),
                                     err);
}

HcStatus hc_view_mask_files(const HcViewMask *mask, HcPaths *out, HcError *err) {
    return mask->polygons != NULL
               ? hc_view_polygons_files(mask->polygons, out, err)
               : hc_reader_files(mask->own != NULL ? mask->own : hc_view_raster_reader(mask->raster), out,
                                 err);
}
