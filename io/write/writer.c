/* Takes blocks in the order of the lines and writes them by one of three methods: ENVI directly, tiles of
 * a TIFF by threads, and all else through GDAL. The file has a temporary name until it is complete and
 * was read back. */
#include "io/write/writer.h"
#include "core/allocate.h"
#include "core/text.h"
#include "io/file.h"
#include "io/libraries.h"
#include "io/scratch.h"
#include "io/write/parts.h"
#include "io/write/state.h"
#include "io/write/picture/style.h"
#include "io/gdal/errors.h"
#include "io/gdal/files.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB 1048576.0

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

static void lay_out(HcWriter *writer, HcInterleave interleave, int32_t rows) {
    writer->rows = rows;
    writer->layout = hc_write_layout(&writer->plan, &writer->scene, interleave, rows);
}

static HcStatus make_stored(HcWriter *writer, HcInterleave interleave, int32_t rows, HcError *err) {
    char *stored = NULL;
    lay_out(writer, interleave, rows);
    HC_OR_RETURN(hc_new(stored, hc_stored_bytes(&writer->layout), "lines to write", err));
    writer->stored = stored;
    return HC_OK;
}

/* The path of `name` beside the partial; fresh memory. */
static char *beside_partial(const HcWriter *writer, const char *name) {
    const char *partial = writer->partial;
    return hc_text_format("%.*s%s", (int)(hc_file_base(partial) - partial), partial, name);
}

/* Lines of a mapped file need no memory on their way. */
static HcStatus make_envi_stored(HcWriter *writer, HcError *err) {
    if (writer->map == NULL) {
        int32_t rows = hc_write_envi_rows(&writer->scene, &writer->plan);
        return make_stored(writer, writer->plan.interleave, rows, err);
    }
    lay_out(writer, writer->plan.interleave, (int32_t)writer->scene.lines);
    writer->rows = hc_write_map_rows(&writer->scene, &writer->plan);
    return HC_OK;
}

static HcStatus open_envi(HcWriter *writer, HcError *err) {
    HcStatus status = HC_OK;
    char *header = hc_write_envi_header(&writer->scene, &writer->plan);
    char *header_path = beside_partial(writer, CPLGetFilename(writer->plan.header));
    if (header == NULL || header_path == NULL) {
        status = hc_fail_memory(err, 0, "the ENVI header");
        goto done;
    }
    if (writer->file < 0) {
        HC_TRY(hc_write_envi_create(writer->partial, &writer->plan, &writer->scene, &writer->file,
                                    &writer->map, err));
    }
    HC_TRY(hc_write_text_file(writer->plan.path, header_path, header, err));
    HC_TRY(make_envi_stored(writer, err));
done:
    free(header);
    free(header_path);
    return status;
}

/* Fails with what GDAL may have hidden so far. */
static HcStatus hide_nothing(const HcWriter *writer, HcError *err) {
    HcError lost = {0};
    return hc_gdal_files_check(writer->mark, &lost) == HC_OK
               ? HC_OK
               : hc_fail(err, lost.status, "%s: %s", writer->plan.path, lost.text);
}

/* Without tiles where GDAL has made something else than was asked of it. */
static HcStatus open_tiles(HcWriter *writer, const char *file, HcError *err) {
    int32_t rows = 0;
    bool pixels = false;
    HC_OR_RETURN(hc_write_dataset_close(writer->plan.path, &writer->dataset, err));
    HC_OR_RETURN(hide_nothing(writer, err));
    HC_OR_RETURN(
        hc_write_tiles_open(&writer->tiles, file, &writer->plan, &writer->scene, &rows, &pixels, err));
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
    const char *file = writer->source != NULL ? writer->source : writer->partial;
    HC_OR_RETURN(hc_write_dataset_create(&writer->dataset, file, &writer->plan, &writer->scene, err));
    if (writer->plan.encodes) {
        HC_OR_RETURN(open_tiles(writer, file, err));
        if (writer->tiles != NULL) {
            return HC_OK;
        }
        writer->plan.encodes = false;
        HC_OR_RETURN(hc_write_dataset_create(&writer->dataset, file, &writer->plan, &writer->scene, err));
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

/* Libraries do not report each write that fails, or not why (GDAL 3.13: compressed TIFF; netCDF). The file
 * will be dropped: whether it can grow tells the cause. */
static HcStatus say_why(const HcWriter *writer, HcStatus status, const HcError *found, HcError *err) {
    /* Before that the writes are of ENVI's way, and say why. */
    bool late = writer->plan.way != HC_WRITE_ENVI || writer->written == writer->scene.lines;
    int number = status == HC_E_IO && late ? hc_write_lack_of_space(writer->partial) : 0;
    const char *why = number != 0 ? strerror(number) : "";
    bool said = strstr(found->text, why) != NULL;
    HcError lost = {0};
    if (status != HC_OK && hc_gdal_files_check(writer->mark, &lost) == HC_E_MEMORY) {
        /* GDAL takes a file that it cannot open for a broken one. */
        return hc_fail(err, HC_E_MEMORY, "%s: %s", writer->plan.path, lost.text);
    }
    return status == HC_OK ? HC_OK
                           : hc_fail(err, status, "%s%s%s", found->text, said ? "" : ": ", said ? "" : why);
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
    out->type = plan.type;
    out->memory = (size_t)(own + hc_write_threads_memory(&plan, scene, plan.threads));
    out->threads_max = may_choose ? plan.threads_max : 1;
    out->thread_memory = may_choose ? (size_t)(most / plan.threads_max) : 0;
    const HcStored layout = hc_write_layout(&plan, scene, plan.interleave, (int32_t)scene->lines);
    out->floats = plan.way == HC_WRITE_ENVI && plan.type == HC_FLOAT32 && !plan.scaled && !plan.in_parts &&
                  (int64_t)hc_stored_bytes(&layout) < plan.large;
    out->storing = hc_stored_floats(&layout);
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

HcStatus hc_writer_begin(HcWriter **out, const char *path, const HcScene *scene,
                         const HcWriterOptions *options, HcError *err) {
    HcStatus status = HC_OK;
    HcWriter *writer = NULL;
    *out = NULL;
    HC_TRY(make_writer(&writer, path, scene, options, err));
    double bytes = (double)scene->lines * (double)scene->samples * scene->bands *
                   (double)hc_type_bytes(writer->plan.type);
    if (writer->plan.way == HC_WRITE_ENVI && bytes >= (double)writer->plan.large) {
        HC_TRY(hc_file_partial(writer->plan.path, &writer->partial, err));
        HC_TRY(hc_write_envi_create(writer->partial, &writer->plan, &writer->scene, &writer->file,
                                    &writer->map, err));
        *out = writer;
        writer = NULL;
    }
done:
    hc_writer_close(writer);
    return status;
}

/* A pass may have found another scene than was planned. */
static void take_begun(HcWriter *writer, HcWriter *begun) {
    if (begun == NULL || begun->file < 0 || writer->plan.way != HC_WRITE_ENVI ||
        strcmp(begun->plan.path, writer->plan.path) != 0 || begun->plan.type != writer->plan.type ||
        begun->plan.interleave != writer->plan.interleave || begun->scene.lines != writer->scene.lines ||
        begun->scene.samples != writer->scene.samples || begun->scene.bands != writer->scene.bands) {
        return;
    }
    writer->partial = begun->partial;
    writer->file = begun->file;
    writer->map = begun->map;
    begun->partial = NULL;
    begun->file = -1;
    begun->map = NULL;
}

HcStatus hc_writer_open(HcWriter **out, const char *path, const HcScene *scene,
                        const HcWriterOptions *options, HcError *err) {
    HcStatus status = HC_OK;
    HcError found = {0};
    HcWriter *writer = NULL;
    HcWriter *begun = options != NULL ? options->begun : NULL;
    *out = NULL;
    HC_TRY(make_writer(&writer, path, scene, options, err));
    take_begun(writer, begun);
    hc_writer_close(begun); /* what it keeps is in the way of another file */
    begun = NULL;
    if (!hc_scratch_hold(writer->plan.scratch)) {
        HC_TRY(hc_write_fail_scratch(&writer->plan, hc_scratch_left(), err));
    }
    writer->held = writer->plan.scratch;
    if (writer->partial == NULL) {
        HC_TRY(hc_file_partial(writer->plan.path, &writer->partial, err));
    }
    writer->mark = hc_gdal_files_mark();
    HC_TRY(say_why(writer, open_file(writer, &found), &found, err));
    *out = writer;
    writer = NULL;
done:
    hc_writer_close(writer);
    hc_writer_close(begun);
    return status;
}

/* ---- writing ---- */

static HcStatus put_lines(HcWriter *writer, HcError *err) {
    if (writer->tiles != NULL) {
        /* Its threads have them. */
    } else if (writer->map != NULL) {
        hc_write_map_give_up(writer->map, writer->written, writer->filled, writer->team);
    } else if (writer->plan.way == HC_WRITE_ENVI || writer->joined) {
        int64_t line = writer->plan.way == HC_WRITE_ENVI ? writer->written : writer->written - writer->first;
        HC_OR_RETURN(hc_write_envi_lines(writer->file, &writer->plan, &writer->scene, &writer->layout,
                                         writer->stored, line, writer->filled, err));
    } else if (writer->plan.way == HC_WRITE_ARRAY) {
        HC_OR_RETURN(hc_write_array_lines(writer->array, &writer->plan, &writer->layout, writer->stored,
                                          writer->written, writer->filled, err));
    } else {
        HC_OR_RETURN(hc_write_dataset_lines(writer->dataset, &writer->plan, &writer->layout, writer->stored,
                                            writer->written, writer->filled, writer->flush_rows, err));
    }
    writer->written += writer->filled;
    writer->filled = 0;
    return HC_OK;
}

static HcStatus flush(HcWriter *writer, HcError *err) {
    HcError found = {0};
    return writer->filled == 0 ? HC_OK : say_why(writer, put_lines(writer, &found), &found, err);
}

/* How many of `lines` more have space in `stored`, at least 1. */
static HcStatus find_space(HcWriter *writer, int64_t lines, int32_t *count, HcError *err) {
    int32_t space = writer->rows - writer->filled;
    if (writer->tiles != NULL) {
        HC_OR_RETURN(hc_write_tiles_room(writer->tiles, &space, err));
    } else if (writer->map != NULL && writer->filled == 0) {
        int64_t rest = writer->scene.lines - writer->written;
        HC_OR_RETURN(hc_write_map_bring(writer->map, &writer->plan, writer->written,
                                        (int32_t)hc_min64(space, rest), writer->team, &writer->stored, err));
    }
    *count = (int32_t)(lines < space ? lines : space);
    return HC_OK;
}

/* Counts `count` more lines in `stored`. */
static HcStatus add_lines(HcWriter *writer, int32_t count, HcError *err) {
    writer->filled += count;
    if (writer->tiles != NULL) {
        HC_OR_RETURN(hc_write_tiles_give(writer->tiles, count, err));
    }
    return writer->filled == writer->rows ? flush(writer, err) : HC_OK;
}

/* Lines of a block on their way to be stored. */
typedef struct Storing {
    HcWriter *writer;
    const HcBlock *block;
    int32_t first, count;
    int32_t each; /* that a thread takes at a time */
} Storing;

static void store_lines(void *user, int64_t item, int32_t thread) {
    (void)thread;
    const Storing *storing = user;
    HcWriter *writer = storing->writer;
    const int32_t line = (int32_t)item * storing->each;
    const int32_t lines = (int32_t)hc_min64(storing->each, storing->count - line);
    hc_stored_put(&writer->layout, writer->stored, writer->filled + line, storing->block,
                  storing->first + line, lines);
    if (writer->tallied) {
        HcStoredTally tally = {0};
        hc_stored_count(&writer->layout, storing->block, storing->first + line, lines, &tally);
        pthread_mutex_lock(&writer->tally_lock);
        hc_stored_tally_add(&writer->tally, &tally);
        pthread_mutex_unlock(&writer->tally_lock);
    }
}

static void store(HcWriter *writer, const HcBlock *block, int32_t first, int32_t count) {
    const int64_t line = block->samples * (int64_t)block->bands * (int64_t)hc_type_bytes(writer->layout.type);
    const int32_t each = line < HC_STORED_EACH ? (int32_t)(HC_STORED_EACH / line) : 1;
    Storing storing = {.writer = writer, .block = block, .first = first, .count = count, .each = each};
    hc_team_run(writer->team, (count + each - 1) / each, store_lines, &storing);
}

/* Lines that the device has stored. */
static HcStatus write_stored(HcWriter *writer, const HcBlock *block, HcError *err) {
    HcError found = {0};
    HcStored layout = writer->layout;
    layout.rows = block->lines;
    HcStatus status = hc_write_envi_lines(writer->file, &writer->plan, &writer->scene, &layout, block->data,
                                          writer->written, block->lines, &found);
    writer->written += block->lines;
    return say_why(writer, status, &found, err);
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
    if (block->mask == NULL) {
        return write_stored(writer, block, err);
    }
    if (writer->team == NULL) {
        writer->team = hc_team_open(writer->plan.storing);
    }
    for (int32_t line = 0; line < block->lines;) {
        int32_t count = 0;
        HC_OR_RETURN(find_space(writer, block->lines - line, &count, err));
        store(writer, block, line, count);
        HC_OR_RETURN(add_lines(writer, count, err));
        line += count;
    }
    return HC_OK;
}

/* ---- several processes ---- */

static void close_map(HcWriter *writer) {
    if (writer->map != NULL) {
        writer->stored = NULL;
        hc_write_map_close(writer->map);
        writer->map = NULL;
    }
}

static HcStatus close_envi(HcWriter *writer, HcError *err) {
    /* No fsync: every run would wait for the disk, and after a power failure no cube is to be trusted. */
    int file = writer->file;
    writer->file = -1;
    close_map(writer);
    if (close(file) != 0) {
        return hc_fail(err, hc_errno_status(errno, HC_E_IO), "%s: %s", writer->plan.path, strerror(errno));
    }
    return HC_OK;
}

/* The file itself, or one for the lines of this process. */
static HcStatus open_joined(HcWriter *writer, const HcWriterSite *site, HcError *err) {
    bool envi = writer->plan.way == HC_WRITE_ENVI;
    if (!envi) {
        HC_OR_RETURN(hc_file_partial(writer->plan.path, &writer->partial, err));
    }
    writer->file = envi ? open(site->partial, O_RDWR | O_CLOEXEC)
                        : open(writer->partial, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (writer->file < 0) {
        return hc_fail(err, hc_errno_status(errno, HC_E_IO), "%s: %s", writer->plan.path, strerror(errno));
    }
    if (envi) {
        /* The process that opened the file reserves it, the lines of this one too. */
        (void)hc_write_map_open(&writer->map, writer->file, &writer->plan, &writer->scene, false);
        return make_envi_stored(writer, err);
    }
    return make_stored(writer, site->by_pixel ? HC_BIP : HC_BIL,
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

static HcStatus complete_envi(HcWriter *writer, HcError *err) {
    HC_OR_RETURN(close_envi(writer, err));
    char *header = beside_partial(writer, CPLGetFilename(writer->plan.header));
    HcStatus status = header != NULL
                          ? hc_write_check_envi(writer->partial, header, &writer->scene, &writer->plan, err)
                          : hc_fail_memory(err, (double)strlen(writer->partial), "a file name");
    free(header);
    return status;
}

static HcStatus complete_gdal(HcWriter *writer, HcError *err) {
    if (writer->plan.way == HC_WRITE_ARRAY) {
        writer->dataset = hc_write_array_dataset(writer->array);
        writer->array = NULL;
    }
    HC_OR_RETURN(hc_write_dataset_close(writer->plan.path, &writer->dataset, err));
    free(writer->stored);
    writer->stored = NULL;
    if (hc_write_is_cog(&writer->plan)) {
        HC_OR_RETURN(hc_write_cog_overviews(writer->source, &writer->plan, &writer->scene, err));
    }
    if (writer->plan.way != HC_WRITE_COPY) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_write_check_tiff(writer->source, writer->plan.path, false, err));
    return hc_write_dataset_copy(writer->source, writer->partial, &writer->scene, &writer->plan,
                                 &writer->loss, err);
}

/* What GDAL keeps beside its file belongs to the copy. */
static HcStatus complete_tiles(HcWriter *writer, HcError *err) {
    HC_OR_RETURN(hc_write_tiles_finish(writer->tiles, writer->partial, &writer->plan, err));
    if (writer->source == NULL) {
        return HC_OK;
    }
    unlink(writer->source);
    char *from = hc_text_format("%s.aux.xml", writer->source);
    char *to = hc_text_format("%s.aux.xml", writer->partial);
    HcStatus status = from == NULL || to == NULL
                          ? hc_fail_memory(err, (double)strlen(writer->partial), "a file name")
                      : rename(from, to) == 0 || errno == ENOENT
                          ? HC_OK
                          : hc_fail(err, HC_E_IO, "%s: %s", writer->plan.path, strerror(errno));
    free(from);
    free(to);
    return status;
}

static HcStatus complete(HcWriter *writer, HcError *err) {
    if (writer->plan.way == HC_WRITE_ENVI) {
        return complete_envi(writer, err);
    }
    HC_OR_RETURN(writer->tiles != NULL ? complete_tiles(writer, err) : complete_gdal(writer, err));
    HC_OR_RETURN(hc_write_class_table(writer->partial, &writer->scene, &writer->plan, err));
    HC_OR_RETURN(hc_write_check(writer->partial, &writer->scene, &writer->plan, &writer->lacks, err));
    return hide_nothing(writer, err);
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
    HC_OR_RETURN(writer->overwrite != writer->styled ? hc_style_retire(writer->plan.path, err) : HC_OK);
    return hc_file_keep(writer->partial, writer->plan.path, writer->overwrite, err);
}

HcStatus hc_writer_finish(HcWriter *writer, HcError *err) {
    struct stat info;
    int64_t given = writer->written + writer->filled;
    if (given != writer->scene.lines || writer->finished) {
        return hc_fail(err, HC_E_IO, "%s: %lld of %lld lines were written", writer->plan.path,
                       (long long)given, (long long)writer->scene.lines);
    }
    HcError found = {0};
    HC_OR_RETURN(flush(writer, err));
    HC_OR_RETURN(say_why(writer, complete(writer, &found), &found, err));
    writer->bytes = stat(writer->partial, &info) == 0 ? (int64_t)info.st_size : 0;
    HC_OR_RETURN(keep(writer, err));
    writer->finished = true;
    return HC_OK;
}

/* Closing an unfinished dataset may write, and fail: nobody needs to know. */
static void discard(HcWriter *writer) {
    HcGdalErrors errors;
    hc_write_tiles_close(writer->tiles);
    close_map(writer);
    if (writer->file >= 0) {
        close(writer->file);
    }
    hc_gdal_catch(&errors);
    hc_write_array_close(writer->array);
    GDALClose(writer->dataset);
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
    hc_scratch_let_go(writer->held);
    hc_team_close(writer->team);
    hc_write_plan_clear(&writer->plan);
    hc_scene_clear(&writer->scene);
    hc_text_clear(&writer->lacks);
    free(writer->partial);
    free(writer->source);
    free(writer->stored);
    pthread_mutex_destroy(&writer->tally_lock);
    free(writer);
}
