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

/* Memory of the stored lines: for ENVI 8 to 32 MiB, for other formats 16 MiB or one row of tiles if that is
 * more (at most 256 MiB). GDAL's cache holds as much again for a moment. */
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
    bool flush_rows;     /* stored lines are whole tiles: GDAL need not keep them */
    bool holds_cache;    /* see hold_blocks() */
    HcStored layout;
    void *stored;
    int32_t filled;             /* rows in `stored` */
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

/* Segments of a band of 64 KiB keep the system calls few; few stored lines stay in the cache. */
static int32_t envi_rows(const HcScene *scene, const HcWritePlan *plan) {
    double segment = (double)scene->samples * (double)hc_type_bytes(plan->type);
    double line = segment * scene->bands;
    double rows = 8 * MIB / line;
    if (plan->interleave == HC_BSQ && rows * segment < 65536) {
        rows = 65536 / segment;
        rows = rows * line > 32 * MIB ? 32 * MIB / line : rows;
    }
    return at_most_lines(rows, scene);
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

/* What GDAL's cache takes to hold two blocks of each band, with some hundred bytes beside each. */
static double blocks_of_all_bands(const HcScene *scene, HcType type, int pixels) {
    return 2.0 * scene->bands * (pixels * (double)hc_type_bytes(type) + 512);
}

/* A block that leaves the cache takes along those of all other bands, where pixels lie together; to find them
 * GDAL looks at every band. With less memory than for one block of each band it does so once a band, which is
 * minutes for tens of thousands of bands. */
static void hold_blocks(HcWriter *writer) {
    int width = 1, height = 1;
    GDALGetBlockSize(GDALGetRasterBand(writer->dataset, 1), &width, &height);
    double wanted = blocks_of_all_bands(&writer->scene, writer->plan.type, width * height);
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
    HC_TRY(make_stored(writer, writer->plan.interleave, envi_rows(&writer->scene, &writer->plan), err));
done:
    free(header);
    free(header_path);
    return status;
}

static HcStatus create_dataset(HcWriter *writer, const HcGdalErrors *errors, HcError *err) {
    HcStatus status = HC_OK;
    const HcScene *scene = &writer->scene;
    const HcWritePlan *plan = &writer->plan;
    bool copied = plan->way == HC_WRITE_COPY;
    char **options = NULL;
    if (copied) {
        HC_TRY(hc_write_source(&options, plan, scene, err));
    }
    writer->dataset =
        GDALCreate(copied ? GDALGetDriverByName("GTiff") : plan->driver,
                   copied ? writer->source : writer->partial, (int)scene->samples, (int)scene->lines,
                   scene->bands, plan->gdal_type, copied ? options : plan->options);
    if (writer->dataset == NULL) {
        status = hc_gdal_fail(err, HC_E_IO, plan->path, errors);
    }
done:
    CSLDestroy(options);
    return status;
}

static HcStatus open_gdal(HcWriter *writer, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors errors;
    if (writer->plan.way == HC_WRITE_COPY &&
        (writer->source = beside_partial(writer, "hcube-source.tif")) == NULL) {
        return hc_fail_memory(err, (double)strlen(writer->partial), "a file name");
    }
    hc_gdal_catch(&errors);
    HC_TRY(create_dataset(writer, &errors, err));
    HC_TRY(hc_write_describe(writer->dataset, writer->plan.path, &writer->scene, &writer->plan, err));
    const char *interleave = GDALGetMetadataItem(writer->dataset, "INTERLEAVE", "IMAGE_STRUCTURE");
    bool pixels = interleave != NULL && hc_text_equal(interleave, "PIXEL");
    HC_TRY(make_stored(writer, pixels ? HC_BIP : HC_BSQ, gdal_rows(writer), err));
    if (pixels) {
        hold_blocks(writer);
    }
done:
    hc_gdal_release();
    return status;
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

static double memory_of(const HcScene *scene, const HcWritePlan *plan) {
    double line = (double)scene->samples * scene->bands * (double)hc_type_bytes(plan->type);
    if (plan->way == HC_WRITE_ENVI) {
        return line * envi_rows(scene, plan);
    }
    /* The stored lines (see gdal_rows, of tiles of about 256 lines), and as much in GDAL's cache. */
    bool cog = hc_write_is_cog(plan);
    double rows = line * (cog ? hc_write_cog_rows(plan, scene) : 256);
    double bytes = rows > 16 * MIB ? rows : 16 * MIB;
    bytes = fmin(2 * (bytes > 256 * MIB ? 64 * MIB : bytes), 2 * line * (double)scene->lines);
    double held = scene->bands > HC_MANY_BANDS ? blocks_of_all_bands(scene, plan->type, 16 * 16) : 0;
    bytes = held <= 256 * MIB ? bytes + held : bytes;
    return cog ? fmax(bytes, hc_write_cog_memory(plan, scene)) : bytes; /* one after the other */
}

HcStatus hc_writer_needs(const char *path, const HcScene *scene, const HcWriterOptions *options,
                         HcWriterNeeds *out, HcError *err) {
    HcStatus status = HC_OK;
    HcWritePlan plan;
    *out = (HcWriterNeeds){0};
    HC_TRY(hc_write_plan(&plan, path, scene, options, err));
    double own = memory_of(scene, &plan);
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

/* What the file says: physical = gain (scale stored + offset) + offset of the scene. */
static HcStatus scale_scene(HcScene *scene, const HcWritePlan *plan, HcError *err) {
    size_t bytes = (size_t)scene->bands * sizeof(double);
    bool fresh = scene->gain == NULL || scene->offset == NULL;
    scene->gain = fresh ? realloc(scene->gain, bytes) : scene->gain;
    scene->offset = fresh ? realloc(scene->offset, bytes) : scene->offset;
    if (scene->gain == NULL || scene->offset == NULL) {
        return hc_fail_memory(err, (double)bytes, "scale and offset");
    }
    for (int32_t b = 0; b < scene->bands; b++) {
        double gain = fresh ? 1 : scene->gain[b];
        scene->offset[b] = gain * plan->offset + (fresh ? 0 : scene->offset[b]);
        scene->gain[b] = gain * (plan->in_parts && scene->parts[b] > 0 ? 1.0 / scene->parts[b] : plan->scale);
    }
    return HC_OK;
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
        HC_OR_RETURN(scale_scene(&writer->scene, &writer->plan, err));
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
    if (writer->plan.way == HC_WRITE_ENVI || writer->joined) {
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
        int32_t left = writer->layout.rows - writer->filled;
        int32_t count = block->lines - line < left ? block->lines - line : left;
        Storing storing = {.writer = writer, .block = block, .first = line};
        hc_team_run(writer->team, count, store_line, &storing);
        writer->filled += count;
        line += count;
        if (writer->filled == writer->layout.rows) {
            HC_OR_RETURN(flush(writer, err));
        }
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
                       envi_rows(&writer->scene, &writer->plan), err);
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
        hc_stored_copy(&writer->layout, writer->stored, writer->filled, &line, values);
        if (++writer->filled == writer->layout.rows) {
            HC_TRY(flush(writer, err));
        }
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
