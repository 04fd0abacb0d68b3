/* Opens a file once and chooses its method: direct, by chunks, or through GDAL. GDAL reads every format,
 * but by one thread; so raw and chunked files are read here, after a comparison with GDAL on some pixels. */
#include "core/allocate.h"
#include "io/chunk/zarr.h"
#include "io/guard/guard.h"
#include "io/chunk/source.h"
#include "io/read/parts.h"

#include <cpl_string.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static HcStatus check_options(const HcReaderOptions *options, HcError *err) {
    const char *unit = options->wavelength_unit;
    if (unit != NULL && strcmp(unit, "nm") != 0 && strcmp(unit, "um") != 0) {
        return hc_fail(err, HC_E_USAGE, "wavelength unit '%s' is neither nm nor um", unit);
    }
    return HC_OK;
}

/* Whether the index is that of the scene. An integer of netCDF may be signed or not. */
static bool is_of_scene(const HcChunkIndex *index, const HcScene *scene) {
    bool is_float = scene->type == HC_FLOAT32 || scene->type == HC_FLOAT64;
    bool bytes = hc_type_bytes(index->type) == hc_type_bytes(scene->type) && !is_float &&
                 index->type != HC_FLOAT32 && index->type != HC_FLOAT64;
    return index->size[HC_AXIS_LINE] == scene->lines && index->size[HC_AXIS_SAMPLE] == scene->samples &&
           index->size[HC_AXIS_BAND] == scene->bands && (bytes || index->type == scene->type);
}

/* Whether a file is read by offsets: a local one, or one of a server. */
static bool can_be_read(const char *path) {
    return (strncmp(path, "/vsi", 4) != 0 || hc_remote_is(path)) && hc_read_is_file(path, NULL, NULL);
}

/* Where the chunks of such a file lie; *out is NULL where they are not known. */
static HcStatus find_index(const HcReader *reader, HcChunkIndex **out, HcError *err) {
    HcStatus status = HC_OK;
    HcReadArray array = {0};
    const char *driver = GDALGetDriverShortName(GDALGetDatasetDriver(reader->dataset));
    *out = NULL;
    if (hc_text_equal(driver, "GTiff")) {
        return can_be_read(reader->path) ? hc_chunk_tiff(out, reader->path, &reader->scene, err) : HC_OK;
    }
    HC_TRY(hc_read_array(&array, reader->dataset, reader->path, err));
    if (array.known && can_be_read(array.file)) {
        HC_TRY(hc_chunk_hdf5(out, array.file, array.name, array.order, err));
    }
    if (*out != NULL && !is_of_scene(*out, &reader->scene)) {
        hc_chunk_index_free(*out);
        *out = NULL;
    }
    if (*out != NULL) {
        (*out)->type = reader->scene.type;
        (*out)->upwards = array.rise > 0 && hc_text_equal(driver, "netCDF");
    }
done:
    free(array.file);
    free(array.name);
    return status;
}

/* Whether the chunks of a file can and may be read. */
static HcStatus try_chunks(HcReader *reader, HcError *err) {
    bool differs = false;
    HcChunkIndex *index = NULL;
    if (reader->direct || reader->chunks != NULL || reader->dataset == NULL || reader->options.never_direct) {
        return HC_OK;
    }
    HC_OR_RETURN(find_index(reader, &index, err));
    if (index == NULL) {
        return HC_OK;
    }
    GDALDataType code = hc_read_gdal_buffer_code(reader->dataset, reader->scene.type);
    HC_OR_RETURN(hc_chunks_of_dataset(&reader->chunks, index, reader->dataset, code, &differs, err));
    if (differs) {
        hc_read_note(reader, "the chunks of %s differ from what GDAL reads; GDAL reads the file",
                     reader->path);
    }
    return HC_OK;
}

/* "chunks (deflate, predictor 2)" */
static char *chunk_method(const HcChunkIndex *index) {
    HcText text = {0};
    for (int32_t s = 0; s < index->steps; s++) {
        hc_text_add(&text, "%s%s", s > 0 ? ", " : "", hc_chunk_code_name(index->step[s]));
    }
    char *method =
        text.failed ? NULL : hc_text_format("chunks (%s)", text.data != NULL ? text.data : "plain");
    hc_text_clear(&text);
    return method;
}

/* Chooses the way of reading and closes what it does not need. */
static HcStatus settle_method(HcReader *reader, HcError *err) {
    HcStatus status = HC_OK;
    if (hc_read_by_product(reader)) {
        HC_OR_RETURN(hc_read_product_chunks(reader, err));
    } else if (!reader->is_overview) {
        HC_OR_RETURN(hc_read_direct_try(reader, err));
        HC_OR_RETURN(try_chunks(reader, err));
    }
    if (hc_read_by_product(reader)) {
        const HcChunks *chunks = reader->product->array[0].chunks;
        reader->method = chunks != NULL ? chunk_method(hc_chunks_index(chunks)) : strdup("GDAL arrays");
    } else if (reader->direct || reader->chunks != NULL) {
        reader->method = reader->direct ? strdup("direct") : chunk_method(hc_chunks_index(reader->chunks));
        hc_read_let_go(reader);
    } else if (reader->dataset == NULL) {
        return hc_fail(err, HC_E_INPUT, "%s: cannot be opened for reading", reader->path);
    } else {
        const char *interleave = GDALGetMetadataItem(reader->dataset, "INTERLEAVE", "IMAGE_STRUCTURE");
        reader->pixel_interleaved = interleave != NULL && hc_text_equal(interleave, "PIXEL");
        reader->method =
            hc_text_format("GDAL %s%s", GDALGetDriverShortName(GDALGetDatasetDriver(reader->dataset)),
                           reader->is_overview ? ", an overview" : "");
    }
    if (reader->method == NULL) {
        status = hc_fail_memory(err, 0, "a text");
    }
    return status;
}

static bool asks_server(const HcReader *reader) {
    const HcChunks *chunks = hc_read_by_product(reader) ? reader->product->array[0].chunks : reader->chunks;
    return reader->remote != NULL || (chunks != NULL && hc_chunk_is_remote(hc_chunks_index(chunks)));
}

/* Of a server the file alone: it is asked for others when they are opened. A folder has no version, and Zarr
 * is one. */
static HcStatus watch_remote(HcReader *reader, const char *path, HcError *err) {
    HcError why = {0};
    HcStatus status = hc_watch_add(&reader->watch, path, &why);
    if (status == HC_OK || hc_is_folder(path) || hc_zarr_is(path)) {
        return HC_OK;
    }
    char *group = strstr(path, ".zarr") != NULL ? hc_text_format("%s/.zgroup", path) : NULL;
    if (group != NULL) { /* the text that cannot be read says why */
        why = (HcError){0};
        status = hc_watch_add(&reader->watch, group, &why);
    }
    free(group);
    return hc_fail(err, status, "%s", why.text);
}

/* Before the files are opened, by their names; afterwards all that turned out to belong to the scene. */
static HcStatus watch_files(HcReader *reader, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    HcPaths paths = {0};
    if (hc_remote_is(path)) {
        HC_TRY(watch_remote(reader, path, err));
    } else {
        HC_TRY(hc_scene_files(path, &paths, err));
    }
    for (int32_t p = 0; p < paths.count; p++) {
        HC_TRY(hc_watch_add(&reader->watch, paths.path[p], err));
    }
    for (int32_t p = 0; reader->product != NULL && p < reader->product->files.count; p++) {
        HC_TRY(hc_watch_add(&reader->watch, reader->product->files.path[p], err));
    }
    for (int f = 0; reader->files != NULL && reader->files[f] != NULL; f++) {
        HC_TRY(hc_watch_add(&reader->watch, reader->files[f], err));
    }
    if (reader->layout.path != NULL) {
        HC_TRY(hc_watch_add(&reader->watch, reader->layout.path, err));
    }
    if (reader->header.path != NULL) {
        HC_TRY(hc_watch_add(&reader->watch, reader->header.path, err));
    }
done:
    hc_paths_clear(&paths);
    return status;
}

/* A quality layer that is an array of a file. */
static HcStatus open_layer(HcReader *reader, const HcProduct *of, const HcProductLayer *layer, HcError *err) {
    HC_OR_RETURN(hc_product_open_layer(&reader->product, of, layer, err));
    reader->path = strdup(layer->file);
    return reader->path != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(layer->file), "a path");
}

/* What the array, the header or the first band says, in its own words. */
static HcStatus read_unit(HcReader *reader, HcError *err) {
    HcGdalErrors messages;
    const char *said = hc_envi_text(&reader->header, "data units");
    hc_gdal_catch(&messages);
    if (hc_read_by_product(reader) && reader->product->array_count > 0) {
        said = reader->product->array[0].handle != NULL ? GDALMDArrayGetUnit(reader->product->array[0].handle)
                                                        : NULL;
    } else if (said == NULL && reader->dataset != NULL && reader->scene.bands > 0) {
        said = GDALGetRasterUnitType(GDALGetRasterBand(reader->dataset, 1));
    }
    hc_gdal_release();
    if (said == NULL || said[0] == '\0') {
        return HC_OK;
    }
    reader->unit = strdup(said);
    return reader->unit != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(said), "a text");
}

/* Warnings of GDAL, one a line, as notes: the first ones in full. */
static void note_warnings(HcReader *reader, HcText *warnings) {
    enum { SHOWN = 4 };
    int count = 0;
    char *rest = NULL;
    reader->note.failed = reader->note.failed || warnings->failed;
    char *line = warnings->data != NULL ? strtok_r(warnings->data, "\n", &rest) : NULL;
    for (; line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        if (count++ < SHOWN) {
            hc_read_note(reader, "GDAL warns: %s", line);
        }
    }
    if (count > SHOWN) {
        hc_read_note(reader, "GDAL gives %d more warnings", count - SHOWN);
    }
}

/* Pictures may be meant, but are rarely: a preview has the name of its scene. */
static void note_picture(HcReader *reader) {
    static const char *const formats[] = {"PNG", "JPEG", "GIF", "BMP", "WEBP", NULL};
    const char *driver =
        reader->dataset != NULL ? GDALGetDriverShortName(GDALGetDatasetDriver(reader->dataset)) : "";
    if (hc_text_find(driver, formats) >= 0 && reader->scene.wavelength == NULL) {
        hc_read_note(reader, "a picture (%s): its values are colours, and not measured", driver);
    }
}

/* A file of a known instrument that opens as no raster either: why it is no product. */
static HcStatus tell_news(const HcReader *reader, HcStatus status, HcError *err) {
    HcError why = *err;
    const char *news = reader != NULL ? hc_reader_news(reader) : NULL;
    if (news == NULL || hc_reader_product(reader) != NULL || status == HC_OK) {
        return status;
    }
    *err = (HcError){0};
    return hc_fail(err, status, "%s; %s", why.text, news);
}

static HcStatus open_unchecked(HcReader **out, const char *path, const HcProduct *of,
                               const HcProductLayer *layer, const HcReaderOptions *options, HcError *err) {
    static const HcReaderOptions defaults = {0};
    HcStatus status = HC_OK;
    *out = NULL;
    HcReader *reader = NULL;
    HcText warnings = {0};
    HC_OR_RETURN(hc_new(reader, 1, "the reader", err));
    HcText *before = hc_gdal_listen(&warnings);
    reader->file = -1;
    reader->proj_failures = hc_proj_failures();
    reader->mark = hc_gdal_files_mark();
    reader->options = options != NULL ? *options : defaults;
    reader->options.enough =
        of != NULL ? 0 : reader->options.enough; /* layers have the pixels of their scene */
    reader->threads = hc_io_threads(reader->options.threads);
    HC_TRY(check_options(&reader->options, err));
    HC_TRY(watch_files(reader, path, err));
    hc_guard_allow_external(reader->options.allow_external);
    HC_TRY(layer != NULL ? open_layer(reader, of, layer, err) : hc_read_open(reader, path, err));
    HC_TRY(hc_read_scene(reader, err));
    reader->files = reader->dataset != NULL ? GDALGetFileList(reader->dataset) : NULL;
    HC_TRY(read_unit(reader, err));
    HC_TRY(hc_read_mask(reader, err));
    note_picture(reader);
    hc_read_overview(reader);
    HC_TRY(hc_proj_check(reader->proj_failures, reader->scene.place.crs != NULL, err));
    HC_TRY(settle_method(reader, err));
    reader->name = strdup(reader->path);
    HC_TRY(hc_text_made(reader->name, strlen(reader->path), "a path", err));
    hc_text_hide_secrets(reader->name);
    if (reader->options.threads == 0 && asks_server(reader)) {
        reader->threads = HC_REMOTE_THREADS;
    }
    HC_TRY(hc_read_sort_bands(reader, err));
    HC_TRY(watch_files(reader, reader->path, err));
    /* The identity of the data, not of a label that names it. */
    const char *data = reader->direct           ? reader->layout.path
                       : reader->chunks != NULL ? hc_chunks_index(reader->chunks)->path
                                                : reader->path;
    hc_read_is_file(data, &reader->size, &reader->modified);
    note_warnings(reader, &warnings);
    if (reader->note.failed) {
        status = hc_fail_memory(err, 0, "a text");
        goto done;
    }
    reader->scene.place.by_pixels = reader->options.by_pixels;
    reader->options.wavelength_unit = NULL;
    hc_envi_clear(&reader->header);
    *out = reader;
    reader = NULL;
done:
    hc_guard_allow_external(false);
    (void)hc_gdal_listen(before);
    hc_text_clear(&warnings);
    status = tell_news(reader, status, err);
    hc_reader_close(reader);
    return status;
}

/* Opens what `path` names, or the layer where there is one. What GDAL could not read is the reason, whatever
 * came of it. */
static HcStatus open_reader(HcReader **out, const char *path, const HcProduct *of,
                            const HcProductLayer *layer, const HcReaderOptions *options, HcError *err) {
    HcStatus status = HC_OK;
    HcError failure;
    int64_t mark = 0;
    bool again = false;
    path = hc_remote_name(path);
    for (int tries = 0; tries == 0 || again; tries++) {
        hc_reader_close(again ? *out : NULL);
        failure = (HcError){0};
        mark = hc_gdal_files_mark();
        hc_remote_begin(path);
        status = open_unchecked(out, path, of, layer, options, &failure);
        again = hc_remote_again(path, tries);
        hc_remote_end();
    }
    status = hc_gdal_files_settle(mark, status, &failure, err);
    if (status != HC_OK) {
        hc_reader_close(*out);
        *out = NULL;
    }
    return status;
}

HcStatus hc_reader_open(HcReader **out, const char *path, const HcReaderOptions *options, HcError *err) {
    return open_reader(out, path, NULL, NULL, options, err);
}

const HcProductLayer *hc_reader_layers(const HcReader *reader, int32_t *count) {
    *count = reader->product != NULL ? reader->product->layers : 0;
    return *count > 0 ? reader->product->layer : NULL;
}

bool hc_reader_is_companion(const HcReader *reader) {
    return reader->product != NULL && reader->product->is_companion;
}

HcStatus hc_reader_open_layer(HcReader **out, const HcReader *of, const HcProductLayer *layer,
                              const HcReaderOptions *options, HcError *err) {
    bool is_raster = layer->dataset[0] == NULL;
    HC_OR_RETURN(open_reader(out, layer->file, of->product, is_raster ? NULL : layer, options, err));
    /* A band for each of the scene: where the bands of the scene are in another order than in their file, so
     * are these. */
    bool follows = is_raster && layer->band == 0 && of->order != NULL && (*out)->order == NULL;
    HcStatus status =
        follows && (*out)->scene.bands == of->scene.bands ? hc_read_order_bands(*out, of->order, err) : HC_OK;
    if (status != HC_OK) {
        hc_reader_close(*out);
        *out = NULL;
    }
    return status;
}

void hc_reader_close(HcReader *reader) {
    if (reader == NULL) {
        return;
    }
    if (reader->dataset != NULL || reader->mask != NULL) {
        HcGdalErrors messages;
        hc_gdal_catch(&messages);
        GDALClose(reader->mask != reader->dataset ? reader->mask : NULL);
        GDALClose(reader->dataset);
        hc_gdal_release();
    }
    hc_product_close(reader->product);
    hc_team_close(reader->team);
    hc_chunks_close(reader->chunks);
    hc_reader_unmap(reader);
    if (reader->file >= 0) {
        close(reader->file);
    }
    hc_remote_close(reader->remote);
    hc_scene_clear(&reader->scene);
    hc_envi_clear(&reader->header);
    hc_text_clear(&reader->note);
    hc_watch_clear(&reader->watch);
    CSLDestroy(reader->files);
    free(reader->band_nodata);
    free(reader->order);
    free(reader->used);
    free(reader->stored);
    free(reader->layout.path);
    free(reader->mask_name);
    free(reader->name);
    free(reader->method);
    free(reader->unit);
    free(reader->flaw);
    free(reader->path);
    free(reader);
}
