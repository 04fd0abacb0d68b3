/* A raster that masks look at: several masks of one file read each of its lines once. */
#include "core/allocate.h"
#include "io/shape/grid.h"
#include "io/view/parts.h"

#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES ((size_t)1 << 20)
#define CHUNK_BYTES  4194304.0 /* asked of readers of chunks, which may need more */

struct HcViewRaster {
    int32_t masks;               /* that hold it */
    char *path;                  /* that it is opened from */
    const HcProductLayer *layer; /* that it is, borrowed; NULL = a file */
    HcReader *reader;
    int32_t *bands; /* [count] from 0, ascending: those that masks ask for */
    int32_t count;
    int64_t line0;   /* the line of the raster that is line 0 of the view */
    int64_t sample0; /* the sample of the raster that is sample 0 of the view */
    int64_t samples; /* of the view */
    char *buffer;    /* lines of the raster in its own type, then what its own mask leaves of them */
    int32_t buffer_lines;
    size_t chunk_bytes; /* that the reader holds beside the buffer */
    HcRaw raw;          /* the lines in the buffer, of the raster from `first` on; none before a read */
    int64_t first;
};

/* ---- opening ---- */

/* The grid of the view, or that of the file that it is a window of. */
static HcStatus check_grid(const HcViewRaster *raster, const HcViewSite *site, HcError *err) {
    HcStatus status = HC_OK;
    HcText note = {0};
    const HcScene *scene = hc_reader_scene(raster->reader);
    const char *path = hc_reader_path(raster->reader);
    const HcScene *on = hc_scene_same_grid(scene, site->scene) ? site->scene : site->file;
    if (raster->layer != NULL) {
        return hc_grid_check_size(on, site->path, scene, path, err);
    }
    HC_TRY(hc_grid_check(on, site->path, scene, path, &note, err));
    if (note.length > 0) {
        hc_text_add(site->note, "%s%s %s", site->note->length > 0 ? "; " : "", path, note.data);
    }
    if (note.failed || site->note->failed) {
        HC_TRY(hc_fail_memory(err, 64, "a note"));
    }
done:
    hc_text_clear(&note);
    return status;
}

static HcStatus take_place(HcViewRaster *raster, const HcScene *view, HcError *err) {
    bool whole = hc_scene_same_grid(hc_reader_scene(raster->reader), view);
    raster->line0 = whole ? 0 : view->cut.line0;
    raster->sample0 = whole ? 0 : view->cut.sample0;
    raster->samples = view->samples;
    return hc_reader_use_samples(raster->reader, raster->sample0, view->samples, err);
}

static size_t buffer_bytes(const HcViewRaster *raster) {
    bool masked = hc_reader_mask(raster->reader) != NULL;
    return hc_reader_bytes(raster->reader, raster->buffer_lines) +
           (masked ? (size_t)raster->buffer_lines * (size_t)raster->samples : 0);
}

/* Memory for lines of the bands that are used. */
static HcStatus make_buffer(HcViewRaster *raster, HcError *err) {
    int64_t lines = hc_reader_scene(raster->reader)->lines;
    HC_OR_RETURN(hc_reader_use_bands(raster->reader, raster->bands, raster->count, err));
    raster->chunk_bytes = hc_reader_settle(raster->reader, 0, CHUNK_BYTES, false);
    size_t one = hc_reader_bytes(raster->reader, 1);
    raster->buffer_lines = (int32_t)(one < BUFFER_BYTES ? BUFFER_BYTES / one : 1);
    raster->buffer_lines = raster->buffer_lines > lines ? (int32_t)lines : raster->buffer_lines;
    free(raster->buffer);
    raster->buffer = NULL;
    return hc_new(raster->buffer, buffer_bytes(raster), "lines of the mask", err);
}

/* Takes the list over. */
static HcStatus take_bands(HcViewRaster *raster, int32_t *bands, int32_t count, HcError *err) {
    free(raster->bands);
    raster->bands = bands;
    raster->count = count;
    return make_buffer(raster, err);
}

HcStatus hc_view_raster_use_bands(HcViewRaster *raster, const int32_t *index, int32_t count, HcError *err) {
    int32_t *bands = malloc((size_t)count * sizeof *bands);
    if (bands == NULL) {
        return hc_fail_memory(err, (double)count * sizeof *bands, "a list of bands");
    }
    memcpy(bands, index, (size_t)count * sizeof *bands);
    return take_bands(raster, bands, count, err);
}

HcStatus hc_view_raster_add_band(HcViewRaster *raster, int32_t band, HcError *err) {
    int32_t at = 0;
    while (at < raster->count && raster->bands[at] < band) {
        at++;
    }
    if (at < raster->count && raster->bands[at] == band) {
        return HC_OK;
    }
    size_t bytes = ((size_t)raster->count + 1) * sizeof *raster->bands;
    int32_t *bands = malloc(bytes);
    if (bands == NULL) {
        return hc_fail_memory(err, (double)bytes, "a list of bands");
    }
    for (int32_t k = 0; k < raster->count; k++) {
        bands[k < at ? k : k + 1] = raster->bands[k];
    }
    bands[at] = band;
    return take_bands(raster, bands, raster->count + 1, err);
}

HcStatus hc_view_raster_open(HcViewRaster **out, const char *path, const HcProductLayer *layer,
                             const HcViewSite *site, HcError *err) {
    HcStatus status = HC_OK;
    HcViewRaster *raster = calloc(1, sizeof *raster);
    *out = NULL;
    if (raster == NULL || (raster->path = strdup(path)) == NULL) {
        free(raster);
        return hc_fail_memory(err, sizeof *raster, "a mask");
    }
    raster->layer = layer;
    raster->masks = 1;
    HC_TRY(layer == NULL ? hc_reader_open(&raster->reader, path, site->how, err)
                         : hc_reader_open_layer(&raster->reader, site->reader, layer, site->how, err));
    HC_TRY(check_grid(raster, site, err));
    HC_TRY(take_place(raster, site->scene, err));
    *out = raster;
    raster = NULL;
done:
    hc_view_raster_close(raster);
    return status;
}

/* ---- one for all masks of a file ---- */

static bool same_text(const char *one, const char *other) {
    return one == other || (one != NULL && other != NULL && strcmp(one, other) == 0);
}

/* Whether two layers are bands of one raster. */
static bool same_arrays(const HcProductLayer *one, const HcProductLayer *other) {
    return one->band > 0 && other->band > 0 && other->flaw == NULL && one->mirrored == other->mirrored &&
           memcmp(one->axis, other->axis, sizeof one->axis) == 0 &&
           same_text(one->dataset[0], other->dataset[0]) && same_text(one->dataset[1], other->dataset[1]);
}

bool hc_view_raster_is(const HcViewRaster *raster, const char *path, const HcProductLayer *layer) {
    bool kind = raster->layer == NULL ? layer == NULL : layer != NULL && same_arrays(raster->layer, layer);
    return kind && strcmp(raster->path, path) == 0;
}

void hc_view_raster_hold(HcViewRaster *raster) {
    raster->masks++;
}

void hc_view_raster_close(HcViewRaster *raster) {
    if (raster != NULL && --raster->masks == 0) {
        hc_reader_close(raster->reader);
        free(raster->path);
        free(raster->bands);
        free(raster->buffer);
        free(raster);
    }
}

/* ---- lines ---- */

const HcReader *hc_view_raster_reader(const HcViewRaster *raster) {
    return raster->reader;
}

int64_t hc_view_raster_sample0(const HcViewRaster *raster) {
    return raster->sample0;
}

int32_t hc_view_raster_lines(const HcViewRaster *raster) {
    return raster->buffer_lines;
}

size_t hc_view_raster_bytes(const HcViewRaster *raster) {
    return (buffer_bytes(raster) + raster->chunk_bytes) / (size_t)raster->masks;
}

/* The mask of the raster itself, if it has one. */
static HcStatus read_mask(HcViewRaster *raster, HcRaw *raw, HcError *err) {
    uint8_t *mask = (uint8_t *)raster->buffer + hc_reader_bytes(raster->reader, raster->buffer_lines);
    if (hc_reader_mask(raster->reader) == NULL) {
        return HC_OK;
    }
    memset(mask, 1, (size_t)raw->lines * (size_t)raster->samples);
    raw->user_mask = mask;
    return hc_reader_read_mask(raster->reader, raw->line0, raw->lines, mask, err);
}

HcStatus hc_view_raster_read(HcViewRaster *raster, int64_t line0, int32_t lines, HcRaw *raw, HcError *err) {
    int64_t first = raster->line0 + line0;
    if (raster->raw.lines != lines || raster->first != first) {
        raster->raw.lines = 0; /* nothing stays of a read that fails */
        HC_OR_RETURN(hc_reader_read(raster->reader, first, lines, raster->buffer, raw, err));
        HC_OR_RETURN(read_mask(raster, raw, err));
        raster->raw = *raw;
        raster->first = first;
    }
    *raw = raster->raw;
    return HC_OK;
}
