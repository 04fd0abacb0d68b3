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

#define ROOM_BYTES ((size_t)1 << 20)

struct HcViewMask {
    const char *option;       /* that named it */
    char *text;               /* its value */
    bool inside;              /* what would stay is left out, and the reverse */
    HcViewPolygons *polygons; /* NULL: a raster */

    HcReader *reader;
    HcViewChoice choice;
    int32_t band;    /* from 0 */
    bool has_nodata; /* of that band */
    double nodata;
    int64_t line0;   /* the line of the raster that is line 0 of the view */
    int64_t sample0; /* the sample of the raster that is sample 0 of the view */
    void *room;      /* lines of the raster in its own type */
    int32_t room_lines;
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

static HcStatus choose_band(HcViewMask *mask, const char *suffix, HcError *err) {
    const HcScene *scene = hc_reader_scene(mask->reader);
    const double *of_bands = hc_reader_band_nodata(mask->reader);
    HcViewChoice *choice = &mask->choice;
    if (suffix != NULL) {
        HC_OR_RETURN(hc_view_choice_parse(mask->text, suffix, choice, err));
    } else if (scene->bands > 1) {
        return hc_fail(err, HC_E_INPUT, "%s: the mask has %" PRId32 " bands: name one (%s:BAND)", mask->text,
                       scene->bands, mask->text);
    }
    mask->band = suffix != NULL ? choice->band - 1 : 0;
    if (mask->band >= scene->bands) {
        return hc_fail(err, HC_E_INPUT, "%s: the mask has %" PRId32 " bands", mask->text, scene->bands);
    }
    if (choice->given && mask->inside) {
        return hc_fail(err, HC_E_USAGE, "%s: --mask-inside takes no values (give --mask FILE:BAND=VALUES)",
                       mask->text);
    }
    if (choice->bits != 0 && (scene->type == HC_FLOAT32 || scene->type == HC_FLOAT64)) {
        return hc_fail(err, HC_E_INPUT, "%s: the mask holds %s, which has no bits to ask for", mask->text,
                       hc_type_name(scene->type));
    }
    mask->nodata = of_bands != NULL ? of_bands[mask->band] : scene->nodata;
    mask->has_nodata = scene->has_nodata && !isnan(mask->nodata);
    return HC_OK;
}

static HcStatus take_room(HcViewMask *mask, const HcScene *view, HcError *err) {
    const HcScene *scene = hc_reader_scene(mask->reader);
    bool whole = hc_scene_same_grid(scene, view);
    mask->line0 = whole ? 0 : view->cut.line0;
    mask->sample0 = whole ? 0 : view->cut.sample0;
    HC_OR_RETURN(hc_reader_use_bands(mask->reader, &mask->band, 1, err));
    HC_OR_RETURN(hc_reader_use_samples(mask->reader, mask->sample0, view->samples, err));
    size_t one = hc_reader_bytes(mask->reader, 1);
    mask->room_lines = (int32_t)(one < ROOM_BYTES ? ROOM_BYTES / one : 1);
    mask->room_lines = mask->room_lines > scene->lines ? (int32_t)scene->lines : mask->room_lines;
    char *room = NULL;
    HC_OR_RETURN(hc_new(room, hc_reader_bytes(mask->reader, mask->room_lines), "lines of the mask", err));
    mask->room = room;
    return HC_OK;
}

static HcStatus open_raster(HcViewMask *mask, const char *path, const char *suffix, const HcViewSite *site,
                            HcError *err) {
    HC_OR_RETURN(hc_reader_open(&mask->reader, path, site->how, err));
    HC_OR_RETURN(check_shape(hc_reader_scene(mask->reader), path, site->scene, site->path, err));
    HC_OR_RETURN(choose_band(mask, suffix, err));
    return take_room(mask, site->scene, err);
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

HcStatus hc_view_mask_open(HcViewMask **out, const char *text, bool inside, const HcViewSite *site,
                           HcError *err) {
    HcStatus status = HC_OK;
    HcViewMask *mask = NULL;
    size_t length = hc_view_file_length(text);
    const char *suffix = text[length] == ':' ? text + length + 1 : NULL;
    char *path = hc_view_file_of(text);
    *out = NULL;
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
        free(mask->room);
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
    int64_t stored = hc_reader_stored_band(mask->reader, mask->band);
    for (int32_t line = 0; line < raw->lines; line++) {
        const char *at = (const char *)raw->data + line * raw->stride_line + first * raw->stride_sample +
                         stored * raw->stride_band;
        for (int64_t s = 0; s < samples; s++, at += raw->stride_sample) {
            *to++ &= !leaves_out(mask, at, raw);
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
        int64_t step = lines - done < mask->room_lines ? lines - done : mask->room_lines;
        HC_OR_RETURN(
            hc_reader_read(mask->reader, mask->line0 + line0 + done, (int32_t)step, mask->room, &raw, err));
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
                                  : hc_reader_bytes(mask->reader, mask->room_lines);
}

HcStatus hc_view_mask_unchanged(const HcViewMask *mask, HcError *err) {
    return mask->polygons != NULL ? hc_view_polygons_unchanged(mask->polygons, err)
                                  : hc_reader_unchanged(mask->reader, err);
}

HcStatus hc_view_mask_files(const HcViewMask *mask, HcPaths *out, HcError *err) {
    return mask->polygons != NULL ? hc_view_polygons_files(mask->polygons, out, err)
                                  : hc_reader_files(mask->reader, out, err);
}
