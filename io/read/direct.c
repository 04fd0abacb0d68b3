/* Direct reading: the bytes of an uncompressed file by pread, several threads at once; of a file of a server
 * by as many requests for ranges. (GDAL's raw drivers take what a server did not give for zeros.) */
#include "io/read/parts.h"
#include "io/gdal/errors.h"

#include <cpl_string.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes that GDAL may pass over for each of the lines that both ways of reading are compared on, and bands.
 */
#define CHECK_BYTES   ((int64_t)2 << 20)
#define WITNESS_BANDS 16
/* What a thread brings at a time: much more than a system call costs, and little enough that all threads end
 * at nearly the same time. */
#define SHARE_MIN   ((int64_t)128 << 10)
#define SHARE_MAX   ((int64_t)1 << 20)
#define SHARES_EACH 4
/* Of a server a request costs as much time as half a MiB takes on a usual line. */
#define REMOTE_MIN ((int64_t)512 << 10)
#define REMOTE_MAX ((int64_t)8 << 20)
/* Bytes between the samples of a window in two lines (or bands) from which they are read one by one: to pass
 * over less takes longer than to read it. */
#define GAP_MIN ((int64_t)16 << 10)
/* As far as the system reads ahead. */
#define GAP_ALONE ((int64_t)128 << 10)

static int64_t value_bytes(const HcReader *reader) {
    return (int64_t)hc_type_bytes(reader->scene.type);
}

/* From the first byte of a line to its last: of one band, or of all when they lie together. */
static int64_t line_bytes(const HcReader *reader) {
    const HcRawLayout *layout = &reader->layout;
    int64_t bytes = layout->pixel * (reader->scene.samples - 1) + value_bytes(reader);
    return reader->whole_lines ? bytes + layout->band * (reader->scene.bands - 1) : bytes;
}

/* ---- a narrow window ---- */

/* Whether all bands of a pixel lie together (BIP). */
static bool by_pixels(const HcReader *reader) {
    const HcRawLayout *layout = &reader->layout;
    return layout->band * (reader->scene.bands - 1) + value_bytes(reader) <= layout->pixel;
}

/* From the first to the last byte of the samples that are asked for, in all bands or in one. */
static int64_t narrow_bytes(const HcReader *reader) {
    int64_t bytes = (hc_read_samples(reader) - 1) * reader->layout.pixel + value_bytes(reader);
    return by_pixels(reader) ? bytes + reader->layout.band * (reader->scene.bands - 1) : bytes;
}

/* Bytes between two such stretches. */
static int64_t narrow_gap(const HcReader *reader) {
    const HcRawLayout *layout = &reader->layout;
    bool apart = !by_pixels(reader) && layout->band < layout->line && reader->scene.bands > 1;
    return (apart ? layout->band : layout->line) - narrow_bytes(reader);
}

bool hc_read_direct_narrow(const HcReader *reader) {
    return reader->direct && reader->samples > 0 &&
           (by_pixels(reader) || reader->layout.pixel == value_bytes(reader)) &&
           narrow_gap(reader) >= GAP_MIN;
}

bool hc_read_direct_all_bands(const HcReader *reader) {
    return hc_read_direct_narrow(reader) ? by_pixels(reader) : reader->whole_lines;
}

void hc_read_direct_advise(const HcReader *reader) {
    if (reader->remote == NULL && hc_read_direct_narrow(reader)) {
        (void)posix_fadvise(reader->file, 0, 0,
                            narrow_gap(reader) >= GAP_ALONE ? POSIX_FADV_RANDOM : POSIX_FADV_NORMAL);
    }
}

/* ---- reading ---- */

HcStatus hc_read_check_size(const char *path, int64_t size, const HcScene *scene, const HcRawLayout *layout,
                            HcError *err) {
    if (layout->line < 0 || layout->pixel < 0 || layout->band < 0) {
        return HC_OK;
    }
    int64_t bytes = (int64_t)hc_type_bytes(scene->type);
    int64_t end = 0, band_end = 0;
    if (__builtin_mul_overflow(layout->line, scene->lines - 1, &end) ||
        __builtin_mul_overflow(layout->band, (int64_t)scene->bands - 1, &band_end) ||
        __builtin_add_overflow(end, band_end, &end) ||
        __builtin_add_overflow(end, layout->pixel * (scene->samples - 1) + bytes, &end) ||
        end > INT64_MAX - layout->offset) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: %" PRId32 " bands x %" PRId64 " lines x %" PRId64 " samples is absurd", path,
                       scene->bands, scene->lines, scene->samples);
    }
    if (size >= end + layout->offset) {
        return HC_OK;
    }
    char missing[32], offset[64] = "";
    if (layout->offset > 0) {
        snprintf(offset, sizeof offset, " after an offset of %" PRId64, layout->offset);
    }
    return hc_fail(err, HC_E_INPUT,
                   "%s: %" PRId32 " bands x %" PRId64 " lines x %" PRId64 " samples of %s need %" PRId64
                   " bytes%s, the file holds %" PRId64 " (%s missing)",
                   path, scene->bands, scene->lines, scene->samples, hc_type_name(scene->type), end, offset,
                   size, hc_text_bytes(missing, sizeof missing, (double)(end + layout->offset - size)));
}

static int64_t read_local(int file, char *to, int64_t bytes, int64_t at, int *error) {
    int64_t done = 0;
    while (done < bytes) {
        /* Linux moves at most 2 GiB in one call. */
        int64_t step = bytes - done < INT32_MAX / 2 ? bytes - done : INT32_MAX / 2;
        ssize_t got = pread(file, to + done, (size_t)step, (off_t)(at + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            *error = got < 0 ? errno : 0;
            break;
        }
        done += got;
    }
    return done;
}

/* Reads exactly `bytes`; returns how many came before the file ended or failed (*error = errno, 0 at its
 * end). Of a server all or nothing comes, and `why` has the reason. */
static int64_t read_fully(const HcReader *reader, char *to, int64_t bytes, int64_t at, int *error,
                          HcError *why) {
    *error = 0;
    if (reader->remote == NULL) {
        return read_local(reader->file, to, bytes, at, error);
    }
    return hc_remote_read(reader->remote, to, bytes, at, why) == HC_OK ? bytes : 0;
}

/* A request is some stretches of the file of equal length that go one after the other into `to`: one of
 * whole lines, or one for each band; of a narrow window one for each line, or for each band of each line. It
 * is brought in shares, by any thread each. */
typedef struct Request {
    const HcReader *reader;
    char *to;
    bool narrow;
    int64_t line0, lines, piece_bytes, share_bytes, total;
    pthread_mutex_t lock; /* of the failure */
    int64_t failed_at;    /* the first byte of the request that did not come, -1 = none */
    int error;
    HcError why; /* of a server */
} Request;

/* Where a value lies in the file. */
static int64_t place_of(const HcRawLayout *layout, int64_t line, int64_t sample, int64_t band) {
    return layout->offset + line * layout->line + sample * layout->pixel + band * layout->band;
}

int64_t hc_read_direct_offset(const HcReader *reader, int64_t line0, int64_t piece) {
    int64_t band = reader->whole_lines ? 0 : reader->used != NULL ? reader->used[piece] : piece;
    return place_of(&reader->layout, line0, 0, band);
}

/* Line of the file and place among the bands of a stretch of a narrow window. */
static int64_t narrow_place(const Request *request, int64_t piece, int64_t *band) {
    const HcReader *reader = request->reader;
    int64_t bands = by_pixels(reader) ? 1 : hc_read_used_count(reader);
    *band = reader->whole_lines ? piece % bands : piece / request->lines;
    return request->line0 + (reader->whole_lines ? piece / bands : piece % request->lines);
}

static int64_t offset_of(const Request *request, int64_t piece) {
    const HcReader *reader = request->reader;
    int64_t band = 0;
    if (!request->narrow) {
        return hc_read_direct_offset(reader, request->line0, piece);
    }
    int64_t line = narrow_place(request, piece, &band);
    band = !by_pixels(reader) && reader->used != NULL ? reader->used[band] : band;
    return place_of(&reader->layout, line, reader->sample0, band);
}

static void keep_failure(Request *request, int64_t at, int error, const HcError *why) {
    pthread_mutex_lock(&request->lock);
    if (request->failed_at < 0 || at < request->failed_at) {
        request->failed_at = at;
        request->error = error;
        request->why = *why;
    }
    pthread_mutex_unlock(&request->lock);
}

/* Bytes of the request from `begin` to `end` - 1. */
static void read_bytes(Request *request, char *to, int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end;) {
        int64_t piece = at / request->piece_bytes, within = at % request->piece_bytes;
        int64_t bytes = request->piece_bytes - within;
        int error = 0;
        HcError why = {0};
        bytes = bytes < end - at ? bytes : end - at;
        int64_t offset = offset_of(request, piece) + within;
        int64_t got = read_fully(request->reader, to + (at - begin), bytes, offset, &error, &why);
        if (got < bytes) {
            keep_failure(request, at + got, error, &why);
            return;
        }
        at += bytes;
    }
}

static void read_share(void *user, int64_t number, int32_t thread) {
    (void)thread;
    Request *request = user;
    int64_t begin = number * request->share_bytes;
    int64_t end = begin + request->share_bytes;
    read_bytes(request, request->to + begin, begin, end < request->total ? end : request->total);
}

static HcStatus fail_request(const Request *request, HcError *err) {
    const HcReader *reader = request->reader;
    int64_t piece = request->failed_at / request->piece_bytes, band = 0;
    int64_t line = request->narrow
                       ? narrow_place(request, piece, &band)
                       : request->line0 + request->failed_at % request->piece_bytes / reader->layout.line;
    if (request->why.status != HC_OK) {
        return hc_fail(err, request->why.status, "%s: reading line %" PRId64 " (from 0) failed: %s",
                       reader->path, line, request->why.text);
    }
    return request->error != 0
               ? hc_fail(err, HC_E_IO, "%s: reading line %" PRId64 " (from 0) failed: %s", reader->path, line,
                         strerror(request->error))
               : hc_fail(err, HC_E_IO, "%s: the file ends in line %" PRId64 " (from 0) of %" PRId64,
                         reader->path, line, reader->scene.lines);
}

static Request new_request(const HcReader *reader, int64_t line0, int64_t lines) {
    const bool narrow = hc_read_direct_narrow(reader);
    return (Request){.reader = reader,
                     .narrow = narrow,
                     .line0 = line0,
                     .lines = lines,
                     .piece_bytes = narrow ? narrow_bytes(reader) : hc_read_direct_piece(reader, lines),
                     .total = (int64_t)hc_read_direct_bytes(reader, lines),
                     .lock = PTHREAD_MUTEX_INITIALIZER,
                     .failed_at = -1};
}

HcStatus hc_read_direct_part(const HcReader *reader, int64_t line0, int32_t lines, int64_t at, int64_t bytes,
                             void *to, HcError *err) {
    Request request = new_request(reader, line0, lines);
    read_bytes(&request, to, at, at + bytes < request.total ? at + bytes : request.total);
    pthread_mutex_destroy(&request.lock);
    return request.failed_at < 0 ? HC_OK : fail_request(&request, err);
}

/* Of a server equal shares, one a thread. */
static int64_t share_of(const HcReader *reader, int64_t total) {
    bool remote = reader->remote != NULL;
    int64_t share = total / (reader->threads * (remote ? 1 : SHARES_EACH));
    int64_t least = remote ? REMOTE_MIN : SHARE_MIN, most = remote ? REMOTE_MAX : SHARE_MAX;
    share = share < least ? least : share > most ? most : share;
    int64_t shares = total > share ? total / share : 1;
    return remote ? (total + shares - 1) / shares : share;
}

static HcStatus read_request(HcReader *reader, char *to, int64_t line0, int64_t lines, HcError *err) {
    Request request = new_request(reader, line0, lines);
    const int64_t total = request.total;
    request.to = to;
    request.share_bytes = share_of(reader, total);
    int64_t shares = (total + request.share_bytes - 1) / request.share_bytes;
    if (shares > 1 && reader->team == NULL) {
        reader->team = hc_team_open(reader->threads);
    }
    hc_team_run(reader->team, shares, read_share, &request);
    pthread_mutex_destroy(&request.lock);
    return request.failed_at < 0 ? HC_OK : fail_request(&request, err);
}

int64_t hc_read_direct_piece(const HcReader *reader, int64_t lines) {
    return (lines - 1) * reader->layout.line + line_bytes(reader);
}

int64_t hc_read_direct_end(const HcReader *reader) {
    const HcScene *scene = &reader->scene;
    return place_of(&reader->layout, scene->lines - 1, scene->samples - 1, scene->bands - 1) +
           value_bytes(reader);
}

size_t hc_read_direct_bytes(const HcReader *reader, int64_t lines) {
    if (lines <= 0) {
        return 0;
    }
    if (hc_read_direct_narrow(reader)) {
        int64_t each = by_pixels(reader) ? 1 : hc_read_used_count(reader);
        return (size_t)(lines * each * narrow_bytes(reader));
    }
    int64_t pieces = reader->whole_lines ? 1 : hc_read_used_count(reader);
    return (size_t)(pieces * hc_read_direct_piece(reader, lines));
}

static bool host_is_big(void) {
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
}

HcRaw hc_read_direct_view(const HcReader *reader, int64_t line0, int32_t lines) {
    const HcRawLayout *layout = &reader->layout;
    return (HcRaw){.type = reader->scene.type,
                   .swap = layout->big_endian != host_is_big() && value_bytes(reader) > 1,
                   .line0 = line0,
                   .lines = lines,
                   .samples = (int32_t)reader->scene.samples,
                   .bands = reader->whole_lines ? reader->scene.bands : hc_read_used_count(reader),
                   .stride_line = layout->line,
                   .stride_sample = layout->pixel,
                   .stride_band = reader->whole_lines ? layout->band : hc_read_direct_piece(reader, lines)};
}

/* The samples of the window alone, as they lie in memory. */
static void narrow_view(const HcReader *reader, HcRaw *raw) {
    const int64_t bytes = narrow_bytes(reader);
    raw->samples = (int32_t)hc_read_samples(reader);
    if (by_pixels(reader)) {
        raw->stride_line = bytes;
        return;
    }
    raw->bands = hc_read_used_count(reader);
    raw->stride_line = reader->whole_lines ? raw->bands * bytes : bytes;
    raw->stride_band = reader->whole_lines ? bytes : raw->lines * bytes;
}

void hc_read_direct_describe(const HcReader *reader, int64_t line0, int32_t lines, const void *at,
                             HcRaw *raw) {
    *raw = hc_read_direct_view(reader, line0, lines);
    raw->data = at;
    if (hc_read_direct_narrow(reader)) {
        narrow_view(reader, raw);
    }
}

HcStatus hc_read_direct_lines(HcReader *reader, int64_t line0, int32_t lines, void *to, HcRaw *raw,
                              HcError *err) {
    hc_read_direct_describe(reader, line0, lines, to, raw);
    return read_request(reader, to, line0, lines, err);
}

bool hc_read_direct_is_zero(const HcReader *reader, int64_t line, int64_t sample, int32_t band) {
    const int64_t bytes = value_bytes(reader);
    uint64_t value = 0;
    int error = 0;
    int64_t at = place_of(&reader->layout, line, sample, band);
    HcError why = {0};
    return read_fully(reader, (char *)&value, bytes, at, &error, &why) < bytes || value == 0;
}

static void swap_values(char *data, int64_t count, int64_t bytes) {
    for (int64_t i = 0; i < count; i++, data += bytes) {
        for (int64_t a = 0, b = bytes - 1; a < b; a++, b--) {
            char kept = data[a];
            data[a] = data[b];
            data[b] = kept;
        }
    }
}

/* What is read both ways: some bands of a stretch of a line, from the first to the last band. The distance of
 * the bands is the same for all, so that more of them would tell little, and GDAL takes its time for each. */
typedef struct Sample {
    int32_t bands;
    int number[WITNESS_BANDS]; /* from 1 */
    int64_t samples;
    char *buffer; /* what GDAL reads of them, and one band: as it is read here, and as it lies in the file */
} Sample;

static HcStatus open_sample(const HcReader *reader, Sample *sample, HcError *err) {
    const HcScene *scene = &reader->scene;
    int64_t bytes = value_bytes(reader);
    int32_t all = scene->bands;
    *sample = (Sample){.bands = all < WITNESS_BANDS ? all : WITNESS_BANDS, .samples = scene->samples};
    for (int32_t k = 0; k < sample->bands; k++) {
        sample->number[k] = sample->bands == 1 ? 1 : (int)((int64_t)k * (all - 1) / (sample->bands - 1)) + 1;
    }
    /* GDAL may pass over the whole line once for each band. */
    if (sample->samples > 96 && sample->samples * bytes * all > CHECK_BYTES / sample->bands) {
        sample->samples = 32;
    }
    int64_t stored = sample->samples * (reader->layout.pixel > bytes ? reader->layout.pixel : bytes);
    int64_t needed = (sample->bands + 1) * sample->samples * bytes + stored;
    sample->buffer = malloc((size_t)needed);
    return sample->buffer != NULL ? HC_OK : hc_fail_memory(err, (double)needed, "a line");
}

/* Whether GDAL's values and those read here agree. Where GDAL alone fails, the file is refused: a library may
 * give zeros after the first failure. */
static HcStatus same_stretch(const HcReader *reader, const Sample *sample, int64_t line, int64_t sample0,
                             bool *same, HcError *err) {
    const HcRawLayout *layout = &reader->layout;
    int64_t samples = sample->samples;
    int64_t bytes = value_bytes(reader), row = samples * bytes;
    int64_t stored = (samples - 1) * layout->pixel + bytes;
    char *ours = sample->buffer + sample->bands * row, *lying = ours + row;
    int error = 0;
    int numbers[WITNESS_BANDS];
    memcpy(numbers, sample->number, sizeof numbers); /* GDAL wants them writable */
    hc_gdal_files_pixels(true);
    CPLErr result = GDALDatasetRasterIOEx(reader->dataset, GF_Read, (int)sample0, (int)line, (int)samples, 1,
                                          sample->buffer, (int)samples, 1,
                                          hc_read_gdal_buffer_code(reader->dataset, reader->scene.type),
                                          sample->bands, numbers, bytes, row, row, NULL);
    hc_gdal_files_pixels(false);
    for (int32_t k = 0; k < sample->bands; k++) {
        int64_t band = sample->number[k] - 1;
        int64_t at = place_of(layout, line, sample0, band);
        if (read_local(reader->file, lying, stored, at, &error) != stored) {
            return hc_fail(err, hc_errno_status(error, HC_E_IO),
                           "%s: reading line %" PRId64 " (from 0) failed: %s", reader->path, line,
                           error != 0 ? strerror(error) : "the file ends before");
        }
        for (int64_t s = 0; s < samples; s++) {
            memcpy(ours + s * bytes, lying + s * layout->pixel, (size_t)bytes);
        }
        if (layout->big_endian != host_is_big()) {
            swap_values(ours, samples, bytes);
        }
        *same = *same && memcmp(ours, sample->buffer + k * row, (size_t)row) == 0;
    }
    return result == CE_None ? HC_OK
                             : hc_fail(err, HC_E_IO, "%s: GDAL cannot read line %" PRId64 " (from 0): %s",
                                       reader->path, line, CPLGetLastErrorMsg());
}

/* The first, middle and last line: whole, or where GDAL's reading of them would take long, their ends and
 * middle. */
static HcStatus check_lines(const HcReader *reader, bool *same, HcError *err) {
    HcStatus status = HC_OK;
    const HcScene *scene = &reader->scene;
    Sample sample;
    HC_TRY(open_sample(reader, &sample, err));
    int64_t lines[3] = {0, scene->lines / 2, scene->lines - 1};
    int64_t starts[3] = {0, (scene->samples - sample.samples) / 2, scene->samples - sample.samples};
    *same = true;
    for (int l = 0; l < 3 && *same; l++) {
        for (int s = 0; s < 3 && *same; s++) {
            if ((l == 0 || lines[l] > lines[l - 1]) && (s == 0 || starts[s] > starts[s - 1])) {
                HC_TRY(same_stretch(reader, &sample, lines[l], starts[s], same, err));
            }
        }
    }
done:
    free(sample.buffer);
    return status;
}

static bool is_remote(const char *path) {
    return strncmp(path, "/vsi", 4) == 0;
}

/* Opens the file; false when it does not open. */
static bool open_file(HcReader *reader) {
    HcError why = {0};
    const char *path = reader->layout.path;
    if (!is_remote(path)) {
        reader->file = open(path, O_RDONLY | O_CLOEXEC);
        return reader->file >= 0;
    }
    return hc_remote_open(&reader->remote, path, &why) == HC_OK;
}

/* Whether the layout is one that a block can describe, and all of it lies forward in the file. */
static bool suits(HcReader *reader) {
    const HcRawLayout *layout = &reader->layout;
    const HcScene *scene = &reader->scene;
    int64_t bytes = value_bytes(reader);
    if (layout->path == NULL || (is_remote(layout->path) && reader->guessed) ||
        (int64_t)GDALGetDataTypeSizeBytes((GDALDataType)layout->gdal_type) != bytes) {
        return false;
    }
    if (layout->offset < 0 || layout->line <= 0 || layout->pixel < bytes || layout->band < 0 ||
        layout->line % bytes != 0 || layout->pixel % bytes != 0 || layout->band % bytes != 0 ||
        (scene->bands > 1 && layout->band == 0)) {
        return false;
    }
    reader->whole_lines = true;
    if (line_bytes(reader) <= layout->line) {
        return true;
    }
    reader->whole_lines = false;
    return layout->pixel == bytes && line_bytes(reader) <= layout->line;
}

/* Whether the values lie in another file of the dataset than the one that was opened: that one is too short,
 * another is not. */
static bool lies_elsewhere(const HcReader *reader) {
    bool other = false;
    int64_t size = 0;
    const HcRawLayout *layout = &reader->layout;
    if (hc_read_is_file(layout->path, &size, NULL) &&
        hc_read_check_size(layout->path, size, &reader->scene, layout, NULL) == HC_OK) {
        return false;
    }
    char **files = reader->dataset != NULL ? GDALGetFileList(reader->dataset) : NULL;
    for (int f = 0; files != NULL && files[f] != NULL && !other; f++) {
        other = hc_read_is_file(files[f], &size, NULL) &&
                hc_read_check_size(files[f], size, &reader->scene, layout, NULL) == HC_OK;
    }
    CSLDestroy(files);
    return other;
}

/* ---- a file of a server ---- */

/* Whether all values lie without gaps, in the order of these axes. */
static bool lies_in_order(const HcReader *reader, const HcAxis order[HC_AXES]) {
    const HcScene *scene = &reader->scene;
    const HcRawLayout *layout = &reader->layout;
    const int64_t size[HC_AXES] = {scene->lines, scene->samples, scene->bands};
    const int64_t stride[HC_AXES] = {layout->line, layout->pixel, layout->band};
    int64_t each = value_bytes(reader);
    for (int i = HC_AXES - 1; i >= 0; i--) {
        if (size[order[i]] > 1 && stride[order[i]] != each) {
            return false;
        }
        each *= size[order[i]];
    }
    return true;
}

/* Reads the file in pieces, as chunks, which are brought ahead of their use by many requests at once. Files
 * with gaps are read block after block. */
static HcStatus try_pieces(HcReader *reader, HcError *err) {
    static const HcAxis orders[][HC_AXES] = {{HC_AXIS_LINE, HC_AXIS_BAND, HC_AXIS_SAMPLE},
                                             {HC_AXIS_LINE, HC_AXIS_SAMPLE, HC_AXIS_BAND},
                                             {HC_AXIS_BAND, HC_AXIS_LINE, HC_AXIS_SAMPLE}};
    HcChunkIndex *index = NULL;
    const HcRawLayout *layout = &reader->layout;
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        if (lies_in_order(reader, orders[o])) {
            HC_OR_RETURN(hc_chunk_raw(&index, layout->path, &reader->scene, orders[o], layout->big_endian,
                                      layout->offset, err));
            return index != NULL ? hc_chunks_open(&reader->chunks, index, err) : HC_OK;
        }
    }
    return HC_OK;
}

HcStatus hc_read_direct_try(HcReader *reader, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    bool same = true;
    int64_t size = 0;
    if (reader->layout.path == NULL) {
        return HC_OK;
    }
    if (reader->guessed && lies_elsewhere(reader)) {
        return HC_OK; /* GDAL knows where */
    }
    if (hc_read_is_file(reader->layout.path, &size, NULL)) {
        HC_OR_RETURN(hc_read_check_size(reader->layout.path, size, &reader->scene, &reader->layout, err));
    }
    if ((reader->options.never_direct && reader->dataset != NULL) || !suits(reader)) {
        return status;
    }
    if (hc_remote_is(reader->layout.path)) {
        HC_OR_RETURN(try_pieces(reader, err));
    }
    if (reader->chunks != NULL) {
        return HC_OK;
    }
    errno = 0;
    if (!open_file(reader)) {
        /* Then GDAL has its say, unless there is a lack of something. */
        HcStatus lack = hc_errno_status(errno, reader->dataset == NULL ? HC_E_INPUT : HC_OK);
        if (lack != HC_OK) {
            status = hc_fail(err, lack, "%s: cannot be opened: %s", reader->layout.path, strerror(errno));
        }
        return status;
    }
    /* Local files only: of a remote one GDAL would read three lines more, band by band, and give zeros on
     * failure. */
    if (reader->dataset != NULL && reader->remote == NULL) {
        hc_gdal_catch(&messages);
        status = check_lines(reader, &same, err);
        hc_gdal_release();
        HC_OR_RETURN(status);
    }
    if (!same) {
        hc_read_note(reader, "direct reading of %s differs from that of GDAL, which reads the file",
                     reader->layout.path);
        close(reader->file);
        reader->file = -1;
        return status;
    }
    reader->direct = true;
    if (reader->remote == NULL) {
        (void)posix_fadvise(reader->file, 0, 0, POSIX_FADV_SEQUENTIAL);
    }
    return status;
}
