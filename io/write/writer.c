#include "io/write/writer.h"
#include "core/allocate.h"
#include "core/text.h"
#include "io/file.h"
#include "io/libraries.h"
#include "io/write/parts.h"
#include "io/write/style.h"
#include "io/gdal_errors.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB 1048576.0

/* Memory of the stored lines: for ENVI 8 to 32 MiB; where tiles are encoded here as many as
 * hc_chunk_sink_rows says; for other formats 16 MiB or one row of tiles if that is more (at most 256 MiB).
 * GDAL's cache holds as much again for a moment. */
struct HcWriter {
    HcScene scene;
    HcWritePlan plan;
    bool overwrite, styled, finished, sends;
    const HcFlag *cancel;
    int32_t threads;
    char *partial; /* of the data */
    char *source;  /* the temporary GeoTIFF that is copied, or NULL */
    int file;      /* ENVI, -1 when closed */
    HcTeam *team;  /* from the first lines on */
    GDALDatasetH dataset;
    HcWriteArray *array; /* netCDF */
    HcWriteTiles *tiles; /* `encodes` */
    bool flush_rows;     /* stored lines are whole tiles: GDAL need not keep them */
    bool holds_cache;    /* see hold_blocks() */
    HcStored layout;
    void *stored;
    int32_t filled;             /* rows in `stored`; of tiles, those since the rows began anew */
    int64_t written;            /* the first line that is not in the file */
    pthread_mutex_t tally_lock; /* lines are counted by all threads */
    HcStoredTally tally;
    bool tallied; /* an integer type, and no class map */
    bool joined;  /* another process has opened the file, this one writes the lines from `first` on */
    int64_t first;
    int64_t bytes; /* of the finished file */
};

/* ---- opening ---- */

static int32_t at_most_lines(double rows, const HcScene *scene) {
    rows = rows < 1 ? 1 : rows;
    return (int32_t)(rows < (double)scene->lines ? rows : (double)scene->lines);
}

/* Whole rows of tiles, so that none is written twice or read back. */
static int32_t gdal_rows(HcWriter *writer) {
    int width = 1, height = 1;
    GDALGetBlockSize(GDALGetRasterBand(writer->dataset, 1), &width, &height);
    double line =
        (double)writer->scene.samples * writer->scene.bands * (double)hc_type_bytes(writer->plan.type);
    double tiles = line * height;
    writer->flush_rows = tiles <= 256 * MIB;
    if (!writer->flush_rows) {
        return at_most_lines(64 * MIB / line, &writer->scene);
    }
    double rows = tiles > 16 * MIB ? height : (double)((int)(16 * MIB / tiles)) * height;
    return at_most_lines(rows, &writer->scene);
}

/* A block that leaves the cache takes along those of all other bands, where pixels lie together; to find them
 * GDAL looks at every band. With less memory than for one block of each band it does so once a band, which is
 * minutes for tens of thousands of bands. */
static void hold_blocks(HcWriter *writer) {
    int width = 1, height = 1;
    GDALGetBlockSize(GDALGetRasterBand(writer->dataset, 1), &width, &height);
    double wanted = hc_write_blocks_bytes(&writer->scene, writer->plan.type, width * height);
    if (writer->scene.bands > HC_MANY_BANDS && wanted <= 256 * MIB) {
        hc_io_hold_cache((uint64_t)wanted);
        writer->holds_cache = true;
    }
}

static HcStatus make_stored(HcWriter *writer, HcInterleave interleave, int32_t rows, HcError *err) {
    writer->layout = (HcStored){.type = writer->plan.type,
                                .interleave = interleave,
                                .samples = writer->scene.samples,
                                .bands = writer->scene.bands,
                                .rows = rows,
                                .nodata = writer->plan.nodata,
                                .no_nodata = writer->plan.no_nodata || writer->plan.shares_nodata,
                                .scaled = writer->plan.scaled,
                                .scale = writer->plan.scale,
                                .offset = writer->plan.offset,
                                .parts = writer->plan.in_parts ? writer->scene.parts : NULL};
    char *stored = NULL;
    HC_OR_RETURN(hc_new(stored, hc_stored_bytes(&writer->layout), "lines to write", err));
    writer->stored = stored;
    return HC_OK;
}

/* The path of `name` beside the partial; fresh memory. */
static char *beside_partial(const HcWriter *writer, const char *name) {
    const char *slash = strrchr(writer->partial, '/');
    return hc_text_format("%.*s/%s", (int)(slash - writer->partial), writer->partial, name);
}

static HcStatus open_envi(HcWriter *writer, HcError *err) {
    HcStatus status = HC_OK;
    char *header = hc_write_envi_header(&writer->scene, &writer->plan);
    char *header_path = beside_partial(writer, CPLGetFilename(writer->plan.header));
    if (header == NULL || header_path == NULL) {
        status = hc_fail_memory(err, 0, "the ENVI header");
        goto done;
    }
    HC_TRY(hc_write_envi_create(writer->partial, &writer->plan, &writer->scene, &writer->file, err));
    HC_TRY(hc_write_text_file(writer->plan.path, header_path, header, err));
    HC_TRY(
        make_stored(writer, writer->plan.interleave, hc_write_envi_rows(&writer->scene, &writer->plan), err));
done:
    free(header);
    free(header_path);
    return status;
}

/* Closing writes what is still buffered, and only the messages tell whether that went well. */
static HcStatus close_dataset(HcWriter *writer, GDALDatasetH *dataset, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors errors;
    hc_gdal_catch(&errors);
    GDALFlushCache(*dataset);
#if GDAL_VERSION_NUM >= GDAL_COMPUTE_VERSION(3, 7, 0)
    bool closed = GDALClose(*dataset) == CE_None;
#else
    bool closed = true;
    GDALClose(*dataset);
#endif
    *dataset = NULL;
    if (!closed || errors.failed || CPLGetLastErrorType() >= CE_Failure) {
        status = hc_gdal_fail(err, HC_E_IO, writer->plan.path, &errors);
    }
    hc_gdal_release();
    return status;
}

static HcStatus create_dataset(HcWriter *writer, const HcGdalErrors *errors, HcError *err) {
    HcStatus status = HC_OK;
    const HcScene *scene = &writer->scene;
    const HcWritePlan *plan = &writer->plan;
    bool copied = plan->way == HC_WRITE_COPY;
    char **options = NULL;
    HC_TRY(copied ? hc_write_source(&options, plan, scene, err)
                  : hc_write_options_add(&options, (const char *const *)plan->options, err));
    if (plan->encodes) {
        HC_TRY(hc_write_option(&options, "SPARSE_OK", "YES", err));
        HC_TRY(hc_write_option(&options, "NUM_THREADS", "1", err));
    }
    writer->dataset = GDALCreate(copied ? GDALGetDriverByName("GTiff") : plan->driver,
                                 copied ? writer->source : writer->partial, (int)scene->samples,
                                 (int)scene->lines, scene->bands, plan->gdal_type, options);
    if (writer->dataset == NULL) {
        status = hc_gdal_fail(err, HC_E_IO, plan->path, errors);
    }
done:
    CSLDestroy(options);
    return status;
}

/* A file with all that the scene says. */
static HcStatus make_dataset(HcWriter *writer, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors errors;
    hc_gdal_catch(&errors);
    HC_TRY(create_dataset(writer, &errors, err));
    HC_TRY(hc_write_describe(writer->dataset, writer->plan.path, &writer->scene, &writer->plan, err));
done:
    hc_gdal_release();
    return status;
}

/* Without tiles where GDAL has made something else than was asked of it. */
static HcStatus open_tiles(HcWriter *writer, HcError *err) {
    int32_t rows = 0;
    bool pixels = false;
    HC_OR_RETURN(close_dataset(writer, &writer->dataset, err));
    HC_OR_RETURN(hc_write_tiles_open(&writer->tiles, writer->partial, &writer->plan, &writer->scene, &rows,
                                     &pixels, err));
    if (writer->tiles == NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(make_stored(writer, pixels ? HC_BIP : HC_BSQ, rows, err));
    return hc_write_tiles_begin(writer->tiles, &writer->plan, writer->stored, err);
}

static HcStatus open_gdal(HcWriter *writer, HcError *err) {
    if (writer->plan.way == HC_WRITE_COPY &&
        (writer->source = beside_partial(writer, "hcube-source.tif")) == NULL) {
        return hc_fail_memory(err, (double)strlen(writer->partial), "a file name");
    }
    HC_OR_RETURN(make_dataset(writer, err));
    if (writer->plan.encodes) {
        HC_OR_RETURN(open_tiles(writer, err));
        if (writer->tiles != NULL) {
            return HC_OK;
        }
        writer->plan.encodes = false;
        HC_OR_RETURN(make_dataset(writer, err));
    }
    const char *interleave = GDALGetMetadataItem(writer->dataset, "INTERLEAVE", "IMAGE_STRUCTURE");
    bool pixels = interleave != NULL && hc_text_equal(interleave, "PIXEL");
    HC_OR_RETURN(make_stored(writer, pixels ? HC_BIP : HC_BSQ, gdal_rows(writer), err));
    if (pixels) {
        hold_blocks(writer);
    }
    return HC_OK;
}

static HcStatus open_array(HcWriter *writer, HcError *err) {
    HC_OR_RETURN(hc_write_array_create(&writer->array, writer->partial, &writer->scene, &writer->plan, err));
    return make_stored(writer, HC_BSQ, hc_write_array_rows(&writer->scene), err);
}

static HcStatus open_file(HcWriter *writer, HcError *err) {
    switch (writer->plan.way) {
    case HC_WRITE_ENVI:
        return open_envi(writer, err);
    case HC_WRITE_ARRAY:
        return open_array(writer, err);
    case HC_WRITE_CREATE:
    case HC_WRITE_COPY:
        break;
    }
    return open_gdal(writer, err);
}

HcStatus hc_writer_needs(const char *path, const HcScene *scene, const HcWriterOptions *options,
                         HcWriterNeeds *out, HcError *err) {
    HcStatus status = HC_OK;
    HcWritePlan plan;
    *out = (HcWriterNeeds){0};
    HC_TRY(hc_write_plan(&plan, path, scene, options, err));
    double own = hc_write_memory(&plan, scene);
    double most = hc_write_threads_memory(&plan, scene, plan.threads_max);
    bool may_choose = plan.threads_max > plan.threads;
    out->memory = (size_t)(own + hc_write_threads_memory(&plan, scene, plan.threads));
    out->threads_max = may_choose ? plan.threads_max : 1;
    out->thread_memory = may_choose ? (size_t)(most / plan.threads_max) : 0;
done:
    hc_write_plan_clear(&plan);
    return status;
}

HcStatus hc_writer_check(const char *path, const HcScene *scene, const HcWriterOptions *options,
                         HcError *err) {
    HcWriterNeeds needs;
    return hc_writer_needs(path, scene, options, &needs, err);
}

/* A writer without files; *out is to be closed, also on failure. */
static HcStatus make_writer(HcWriter **out, const char *path, const HcScene *scene,
                            const HcWriterOptions *options, HcError *err) {
    HC_OR_RETURN(hc_new(*out, 1, "a writer", err));
    HcWriter *writer = *out;
    writer->file = -1;
    pthread_mutex_init(&writer->tally_lock, NULL);
    writer->overwrite = options != NULL && options->overwrite;
    writer->threads = options != NULL ? options->threads : 0;
    writer->sends = options != NULL && options->sends;
    writer->cancel = options != NULL ? options->cancel : NULL;
    HC_OR_RETURN(hc_write_plan(&writer->plan, path, scene, options, err));
    HC_OR_RETURN(hc_scene_copy(&writer->scene, scene, err));
    writer->tallied =
        writer->plan.type != HC_FLOAT32 && writer->plan.type != HC_FLOAT64 && !hc_scene_is_class_map(scene);
    if (writer->plan.scaled || writer->plan.in_parts) {
        HC_OR_RETURN(hc_write_scale(&writer->scene, &writer->plan, err));
    }
    return HC_OK;
}

HcStatus hc_writer_open(HcWriter **out, const char *path, const HcScene *scene,
                        const HcWriterOptions *options, HcError *err) {
    HcStatus status = HC_OK;
    HcWriter *writer = NULL;
    *out = NULL;
    HC_TRY(make_writer(&writer, path, scene, options, err));
    HC_TRY(hc_file_partial(writer->plan.path, &writer->partial, err));
    HC_TRY(open_file(writer, err));
    *out = writer;
    writer = NULL;
done:
    hc_writer_close(writer);
    return status;
}

/* ---- writing ---- */

static HcStatus flush_gdal(HcWriter *writer, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors errors;
    const HcStored *layout = &writer->layout;
    GSpacing size = (GSpacing)hc_type_bytes(layout->type);
    int samples = (int)layout->samples;
    hc_gdal_catch(&errors);
    CPLErr result = GDALDatasetRasterIOEx(
        writer->dataset, GF_Write, 0, (int)writer->written, samples, writer->filled, writer->stored, samples,
        writer->filled, writer->plan.gdal_type, layout->bands, NULL, hc_stored_stride_sample(layout) * size,
        hc_stored_stride_row(layout) * size, hc_stored_stride_band(layout) * size, NULL);
    for (int32_t b = 0; b < layout->bands && result == CE_None && writer->flush_rows; b++) {
        result = GDALFlushRasterCache(GDALGetRasterBand(writer->dataset, b + 1));
    }
    if (result != CE_None || errors.failed) {
        status = hc_gdal_fail(err, HC_E_IO, writer->plan.path, &errors);
    }
    hc_gdal_release();
    return status;
}

static HcStatus flush(HcWriter *writer, HcError *err) {
    if (writer->filled == 0) {
        return HC_OK;
    }
    if (writer->tiles != NULL) {
        /* Its threads have them. */
    } else if (writer->plan.way == HC_WRITE_ENVI || writer->joined) {
        int64_t line = writer->plan.way == HC_WRITE_ENVI ? writer->written : writer->written - writer->first;
        HC_OR_RETURN(hc_write_envi_lines(writer->file, &writer->plan, &writer->scene, &writer->layout,
                                         writer->stored, line, writer->filled, err));
    } else if (writer->plan.way == HC_WRITE_ARRAY) {
        HC_OR_RETURN(hc_write_array_lines(writer->array, &writer->plan, &writer->layout, writer->stored,
                                          writer->written, writer->filled, err));
    } else {
        HC_OR_RETURN(flush_gdal(writer, err));
    }
    writer->written += writer->filled;
    writer->filled = 0;
    return HC_OK;
}

/* How many of `lines` more have space in `stored`, at least 1. */
static HcStatus find_space(HcWriter *writer, int64_t lines, int32_t *count, HcError *err) {
    int32_t space = writer->layout.rows - writer->filled;
    if (writer->tiles != NULL) {
        HC_OR_RETURN(hc_write_tiles_room(writer->tiles, &space, err));
    }
    *count = (int32_t)(lines < space ? lines : space);
    return HC_OK;
}

/* So many more are in `stored`. */
static HcStatus add_lines(HcWriter *writer, int32_t count, HcError *err) {
    writer->filled += count;
    if (writer->tiles != NULL) {
        HC_OR_RETURN(hc_write_tiles_give(writer->tiles, count, err));
    }
    return writer->filled == writer->layout.rows ? flush(writer, err) : HC_OK;
}

/* Lines of a block on their way to be stored. */
typedef struct Storing {
    HcWriter *writer;
    const HcBlock *block;
    int32_t first;
} Storing;

static void store_line(void *user, int64_t item, int32_t thread) {
    (void)thread;
    const Storing *storing = user;
    HcWriter *writer = storing->writer;
    int32_t line = (int32_t)item;
    hc_stored_put(&writer->layout, writer->stored, writer->filled + line, storing->block,
                  storing->first + line, 1);
    if (writer->tallied) {
        HcStoredTally tally = {0};
        hc_stored_count(&writer->layout, storing->block, storing->first + line, 1, &tally);
        pthread_mutex_lock(&writer->tally_lock);
        hc_stored_tally_add(&writer->tally, &tally);
        pthread_mutex_unlock(&writer->tally_lock);
    }
}

HcStatus hc_writer_write(HcWriter *writer, const HcBlock *block, HcError *err) {
    const HcScene *scene = &writer->scene;
    int64_t next = writer->written + writer->filled;
    if (block->samples != scene->samples || block->bands != scene->bands || block->line0 != next ||
        block->lines > scene->lines - next || writer->finished) {
        return hc_fail(
            err, HC_E_USAGE,
            "%s: a block of %d lines from line %lld, %d samples, %d bands; line %lld of %lld was next, of "
            "%lld samples, %d bands",
            writer->plan.path, block->lines, (long long)block->line0, block->samples, block->bands,
            (long long)next, (long long)scene->lines, (long long)scene->samples, scene->bands);
    }
    if (writer->team == NULL) {
        writer->team = hc_team_open(hc_team_count(writer->threads, HC_IO_THREADS));
    }
    for (int32_t line = 0; line < block->lines;) {
        int32_t count = 0;
        HC_OR_RETURN(find_space(writer, block->lines - line, &count, err));
        Storing storing = {.writer = writer, .block = block, .first = line};
        hc_team_run(writer->team, count, store_line, &storing);
        HC_OR_RETURN(add_lines(writer, count, err));
        line += count;
    }
    return HC_OK;
}

/* ---- several processes ---- */

static HcStatus close_envi(HcWriter *writer, HcError *err) {
    /* No fsync: every run would wait for the disk, and after a power failure no cube is to be trusted. */
    int file = writer->file;
    writer->file = -1;
    if (close(file) != 0) {
        return hc_fail(err, hc_errno_status(errno, HC_E_IO), "%s: %s", writer->plan.path, strerror(errno));
    }
    return HC_OK;
}

HcStatus hc_writer_site(const HcWriter *writer, HcWriterSite *out, HcError *err) {
    *out = (HcWriterSite){.by_pixel = writer->layout.interleave == HC_BIP};
    if (strlen(writer->partial) >= sizeof out->partial) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: the name is too long to be shared by ranks",
                       writer->plan.path);
    }
    strcpy(out->partial, writer->partial);
    return HC_OK;
}

/* The file itself, or one for the lines of this process. */
static HcStatus open_joined(HcWriter *writer, const HcWriterSite *site, HcError *err) {
    bool envi = writer->plan.way == HC_WRITE_ENVI;
    if (!envi) {
        HC_OR_RETURN(hc_file_partial(writer->plan.path, &writer->partial, err));
    }
    writer->file = envi ? open(site->partial, O_WRONLY | O_CLOEXEC)
                        : open(writer->partial, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (writer->file < 0) {
        return hc_fail(err, hc_errno_status(errno, HC_E_IO), "%s: %s", writer->plan.path, strerror(errno));
    }
    return make_stored(writer,
                       envi             ? writer->plan.interleave
                       : site->by_pixel ? HC_BIP
                                        : HC_BIL,
                       hc_write_envi_rows(&writer->scene, &writer->plan), err);
}

HcStatus hc_writer_join(HcWriter **out, const char *path, const HcScene *scene,
                        const HcWriterOptions *options, const HcWriterSite *site, int64_t line0,
                        HcError *err) {
    HcStatus status = HC_OK;
    HcWriter *writer = NULL;
    *out = NULL;
    HC_TRY(make_writer(&writer, path, scene, options, err));
    writer->joined = true;
    writer->first = writer->written = line0;
    HC_TRY(open_joined(writer, site, err));
    *out = writer;
    writer = NULL;
done:
    hc_writer_close(writer);
    return status;
}

HcStatus hc_writer_leave(HcWriter *writer, HcWriterLeft *out, HcError *err) {
    *out = (HcWriterLeft){.lines = writer->written + writer->filled - writer->first, .tally = writer->tally};
    HC_OR_RETURN(flush(writer, err));
    HC_OR_RETURN(close_envi(writer, err));
    if (writer->plan.way != HC_WRITE_ENVI && strlen(writer->partial) >= sizeof out->path) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: the name is too long to be shared by ranks",
                       writer->plan.path);
    }
    strcpy(out->path, writer->plan.way == HC_WRITE_ENVI ? "" : writer->partial);
    return HC_OK;
}

/* Lines that another process left in a file of its own, into the stored lines. */
static HcStatus take_lines(HcWriter *writer, FILE *file, const HcWriterLeft *left, HcError *err) {
    HcStatus status = HC_OK;
    HcStored line = writer->layout;
    line.rows = 1;
    line.interleave = line.interleave == HC_BIP ? HC_BIP : HC_BIL;
    size_t bytes = hc_stored_bytes(&line);
    char *values = NULL;
    HC_OR_RETURN(hc_new(values, bytes, "lines to write", err));
    for (int64_t k = 0; k < left->lines; k++) {
        if (fread(values, 1, bytes, file) != bytes) {
            HC_TRY(hc_fail(err, HC_E_IO, "%s: lines that another rank wrote cannot be read from %s",
                           writer->plan.path, left->path));
        }
        int32_t one = 0;
        HC_TRY(find_space(writer, 1, &one, err));
        hc_stored_copy(&writer->layout, writer->stored, writer->filled, &line, values);
        HC_TRY(add_lines(writer, one, err));
    }
done:
    free(values);
    return status;
}

HcStatus hc_writer_take(HcWriter *writer, const HcWriterLeft *left, HcError *err) {
    HcStatus status = HC_OK;
    hc_stored_tally_add(&writer->tally, &left->tally);
    if (writer->plan.way == HC_WRITE_ENVI) {
        HC_OR_RETURN(flush(writer, err));
        writer->written += left->lines;
        return HC_OK;
    }
    FILE *file = fopen(left->path, "rbe");
    if (file == NULL) {
        return hc_fail(err, hc_errno_status(errno, HC_E_IO), "%s: lines that another rank wrote: %s: %s",
                       writer->plan.path, left->path, strerror(errno));
    }
    status = take_lines(writer, file, left, err);
    fclose(file);
    return status;
}

/* ---- finishing ---- */

static HcStatus copy_source(HcWriter *writer, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors errors;
    GDALDatasetH copy = NULL;
    hc_gdal_catch(&errors);
    GDALDatasetH source = GDALOpen(writer->source, GA_ReadOnly);
    if (source != NULL) {
        copy = GDALCreateCopy(writer->plan.driver, writer->partial, source, FALSE, writer->plan.options, NULL,
                              NULL);
    }
    if (copy == NULL || errors.failed) {
        status = hc_gdal_fail(err, HC_E_IO, writer->plan.path, &errors);
    }
    if (copy != NULL) {
        HcStatus closed = close_dataset(writer, &copy, err);
        status = status != HC_OK ? status : closed;
    }
    GDALClose(source);
    hc_gdal_release();
    unlink(writer->source);
    char *aux = hc_text_format("%s.aux.xml", writer->source);
    if (aux != NULL) {
        unlink(aux);
    }
    free(aux);
    return status;
}

static HcStatus complete_envi(HcWriter *writer, HcError *err) {
    HcStatus status = HC_OK;
    char *header = beside_partial(writer, CPLGetFilename(writer->plan.header));
    HC_TRY(close_envi(writer, err));
    if (header == NULL) {
        HC_TRY(hc_fail_memory(err, (double)strlen(writer->partial), "a file name"));
    }
    HC_TRY(hc_write_check_envi(writer->partial, header, &writer->scene, &writer->plan, err));
done:
    free(header);
    return status;
}

static HcStatus complete(HcWriter *writer, HcError *err) {
    if (writer->plan.way == HC_WRITE_ENVI) {
        return complete_envi(writer, err);
    }
    if (writer->tiles != NULL) {
        HC_OR_RETURN(hc_write_tiles_finish(writer->tiles, &writer->plan, err));
        return hc_write_check(writer->partial, &writer->scene, &writer->plan, err);
    }
    if (writer->plan.way == HC_WRITE_ARRAY) {
        writer->dataset = hc_write_array_dataset(writer->array);
        writer->array = NULL;
    }
    HC_OR_RETURN(close_dataset(writer, &writer->dataset, err));
    free(writer->stored);
    writer->stored = NULL;
    if (hc_write_is_cog(&writer->plan)) {
        HC_OR_RETURN(hc_write_cog_overviews(writer->source, &writer->plan, &writer->scene, err));
    }
    if (writer->plan.way == HC_WRITE_COPY) {
        HC_OR_RETURN(hc_write_check_tiff(writer->source, writer->plan.path, false, err));
        HC_OR_RETURN(copy_source(writer, err));
    }
    return hc_write_check(writer->partial, &writer->scene, &writer->plan, err);
}

/* Some versions of GDAL do not report each write that fails (3.13: compressed TIFF), so that only the check
 * of the file shows it. The file will be dropped: whether it can grow tells the cause. */
static HcStatus complete_or_say_why(HcWriter *writer, HcError *err) {
    HcError found = {0};
    HcStatus status = complete(writer, &found);
    if (status == HC_OK) {
        return HC_OK;
    }
    int number = status == HC_E_IO ? hc_write_lack_of_space(writer->partial) : 0;
    const char *why = number != 0 ? strerror(number) : "";
    bool said = strstr(found.text, why) != NULL;
    return hc_fail(err, status, "%s%s%s", found.text, said ? "" : ": ", said ? "" : why);
}

HcStatus hc_writer_style(HcWriter *writer, const char *text, HcError *err) {
    char *name = hc_style_name(writer->partial);
    HcStatus status = name != NULL ? hc_write_text_file(writer->plan.path, name, text, err)
                                   : hc_fail_memory(err, (double)strlen(writer->partial), "a file name");
    writer->styled = status == HC_OK;
    free(name);
    return status;
}

static HcStatus keep(HcWriter *writer, HcError *err) {
    if (writer->sends) {
        return hc_file_send(writer->partial, writer->plan.path, writer->cancel, err);
    }
    HC_OR_RETURN(writer->overwrite && !writer->styled ? hc_style_retire(writer->plan.path, err) : HC_OK);
    return hc_file_keep(writer->partial, writer->plan.path, writer->overwrite, err);
}

HcStatus hc_writer_finish(HcWriter *writer, HcError *err) {
    struct stat info;
    int64_t given = writer->written + writer->filled;
    if (given != writer->scene.lines || writer->finished) {
        return hc_fail(err, HC_E_IO, "%s: %lld of %lld lines were written", writer->plan.path,
                       (long long)given, (long long)writer->scene.lines);
    }
    HC_OR_RETURN(flush(writer, err));
    HC_OR_RETURN(complete_or_say_why(writer, err));
    writer->bytes = stat(writer->partial, &info) == 0 ? (int64_t)info.st_size : 0;
    HC_OR_RETURN(keep(writer, err));
    writer->finished = true;
    return HC_OK;
}

/* Closing an unfinished dataset may write, and fail: nobody needs to know. */
static void discard(HcWriter *writer) {
    HcGdalErrors errors;
    hc_write_tiles_close(writer->tiles);
    if (writer->file >= 0) {
        close(writer->file);
    }
    hc_gdal_catch(&errors);
    hc_write_array_close(writer->array);
    if (writer->dataset != NULL) {
        GDALClose(writer->dataset);
    }
    hc_gdal_release();
    if (!writer->finished) {
        hc_file_drop(writer->partial);
    }
}

void hc_writer_close(HcWriter *writer) {
    if (writer == NULL) {
        return;
    }
    discard(writer);
    if (writer->holds_cache) {
        hc_io_hold_cache(0);
    }
    hc_team_close(writer->team);
    hc_write_plan_clear(&writer->plan);
    hc_scene_clear(&writer->scene);
    free(writer->partial);
    free(writer->source);
    free(writer->stored);
    pthread_mutex_destroy(&writer->tally_lock);
    free(writer);
}

const HcStored *hc_writer_layout(const HcWriter *writer) {
    return &writer->layout;
}

const char *hc_writer_path(const HcWriter *writer) {
    return writer->plan.path;
}

const char *hc_writer_format(const HcWriter *writer) {
    return writer->plan.format;
}

double hc_writer_nodata(const HcWriter *writer) {
    return writer->plan.no_nodata ? NAN : writer->plan.nodata;
}

bool hc_writer_tally(const HcWriter *writer, HcStoredTally *out, double *low, double *high) {
    *out = writer->tally;
    if (writer->tallied) {
        hc_stored_range(&writer->layout, low, high);
    }
    return writer->tallied;
}

int64_t hc_writer_bytes(const HcWriter *writer) {
    return writer->bytes;
}
