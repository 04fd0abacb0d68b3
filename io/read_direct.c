/* Direct reading: the bytes of an uncompressed file by pread, several threads at once. */
#include "io/read_parts.h"

#include <cpl_string.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_THREADS 16
/* Below this a second thread costs more than it gives. */
#define BYTES_PER_THREAD ((int64_t)2 << 20)
#define CHECK_BYTES      ((int64_t)16 << 20)

static int64_t value_bytes(const HcReader *reader) {
    return (int64_t)hc_type_bytes(reader->scene.type);
}

/* From the first byte of a line to its last: of one band, or of all when they lie together. */
static int64_t line_bytes(const HcReader *reader) {
    const HcRawLayout *layout = &reader->layout;
    int64_t bytes = layout->pixel * (reader->scene.samples - 1) + value_bytes(reader);
    return reader->whole_lines ? bytes + layout->band * (reader->scene.bands - 1) : bytes;
}

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
        snprintf(offset, sizeof offset, " behind an offset of %" PRId64, layout->offset);
    }
    return hc_fail(err, HC_E_INPUT,
                   "%s: %" PRId32 " bands x %" PRId64 " lines x %" PRId64 " samples of %s need %" PRId64
                   " bytes%s, the file holds %" PRId64 " (%s missing)",
                   path, scene->bands, scene->lines, scene->samples, hc_type_name(scene->type), end, offset,
                   size, hc_text_bytes(missing, sizeof missing, (double)(end + layout->offset - size)));
}

/* Reads exactly `bytes`; returns how many came before the file ended or failed (*error = errno, 0 at its
 * end). */
static int64_t read_fully(int file, char *to, int64_t bytes, int64_t at, int *error) {
    int64_t done = 0;
    *error = 0;
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

/* A request is `pieces` stretches of the file of equal length that go one behind the other into `to`: one of
 * whole lines, or one for each band. A share is the part of those bytes that one thread brings. */
typedef struct Share {
    const HcReader *reader;
    char *to;
    int64_t line0, piece_bytes;
    int64_t begin, end; /* bytes of the request */
    int64_t failed_at;  /* byte of the request, -1 = none */
    int error;
} Share;

int64_t hc_read_direct_offset(const HcReader *reader, int64_t line0, int64_t piece) {
    const HcRawLayout *layout = &reader->layout;
    int64_t band = reader->whole_lines ? 0 : reader->used != NULL ? reader->used[piece] : piece;
    return layout->offset + line0 * layout->line + band * layout->band;
}

static void *read_share(void *argument) {
    Share *share = argument;
    share->failed_at = -1;
    for (int64_t at = share->begin; at < share->end;) {
        int64_t piece = at / share->piece_bytes, within = at % share->piece_bytes;
        int64_t bytes = share->piece_bytes - within;
        bytes = bytes < share->end - at ? bytes : share->end - at;
        int64_t got =
            read_fully(share->reader->file, share->to + at, bytes,
                       hc_read_direct_offset(share->reader, share->line0, piece) + within, &share->error);
        if (got < bytes) {
            share->failed_at = at + got;
            break;
        }
        at += bytes;
    }
    return NULL;
}

static HcStatus fail_share(const Share *share, HcError *err) {
    const HcReader *reader = share->reader;
    int64_t line = share->line0 + share->failed_at % share->piece_bytes / reader->layout.line;
    return share->error != 0
               ? hc_fail(err, HC_E_IO, "%s: reading line %" PRId64 " (from 0) failed: %s", reader->path, line,
                         strerror(share->error))
               : hc_fail(err, HC_E_IO, "%s: the file ends in line %" PRId64 " (from 0) of %" PRId64,
                         reader->path, line, reader->scene.lines);
}

static HcStatus read_request(const HcReader *reader, char *to, int64_t line0, int64_t piece_bytes,
                             int64_t total, HcError *err) {
    Share share[MAX_THREADS];
    pthread_t thread[MAX_THREADS];
    bool running[MAX_THREADS] = {false};
    HcStatus status = HC_OK;
    int64_t count = total / BYTES_PER_THREAD;
    count = count < reader->threads ? count : reader->threads;
    count = count > 1 ? count : 1;
    for (int64_t t = 0; t < count; t++) {
        share[t] = (Share){.reader = reader, .to = to, .line0 = line0, .piece_bytes = piece_bytes};
        share[t].begin = total / count * t;
        share[t].end = t + 1 < count ? total / count * (t + 1) : total;
        running[t] = t > 0 && pthread_create(&thread[t], NULL, read_share, &share[t]) == 0;
    }
    for (int64_t t = 0; t < count; t++) {
        if (!running[t]) {
            read_share(&share[t]); /* the first, and any that got no thread */
        }
    }
    for (int64_t t = 0; t < count; t++) {
        if (running[t]) {
            pthread_join(thread[t], NULL);
        }
    }
    for (int64_t t = 0; t < count && status == HC_OK; t++) {
        if (share[t].failed_at >= 0) {
            status = fail_share(&share[t], err);
        }
    }
    return status;
}

int64_t hc_read_direct_piece(const HcReader *reader, int64_t lines) {
    return (lines - 1) * reader->layout.line + line_bytes(reader);
}

int64_t hc_read_direct_end(const HcReader *reader) {
    const HcRawLayout *layout = &reader->layout;
    return layout->offset + (reader->scene.lines - 1) * layout->line +
           (reader->scene.bands - 1) * layout->band + (reader->scene.samples - 1) * layout->pixel +
           value_bytes(reader);
}

size_t hc_read_direct_bytes(const HcReader *reader, int64_t lines) {
    if (lines <= 0) {
        return 0;
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

HcStatus hc_read_direct_lines(HcReader *reader, int64_t line0, int32_t lines, void *to, HcRaw *raw,
                              HcError *err) {
    *raw = hc_read_direct_view(reader, line0, lines);
    raw->data = to;
    return read_request(reader, to, line0, hc_read_direct_piece(reader, lines),
                        (int64_t)hc_read_direct_bytes(reader, lines), err);
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

/* Whether a stretch of one line is the same for GDAL, in all bands; room holds it twice and as it lies in the
 * file. */
static bool same_stretch(const HcReader *reader, int64_t line, int64_t sample0, int64_t samples, char *room) {
    const HcRawLayout *layout = &reader->layout;
    int64_t bytes = value_bytes(reader), row = samples * bytes;
    int64_t stored = (samples - 1) * layout->pixel + bytes;
    char *ours = room + reader->scene.bands * row, *lying = ours + row;
    int error = 0;
    if (GDALDatasetRasterIOEx(reader->dataset, GF_Read, (int)sample0, (int)line, (int)samples, 1, room,
                              (int)samples, 1, hc_read_gdal_code(reader->scene.type), reader->scene.bands,
                              NULL, bytes, row, row, NULL) != CE_None) {
        return false;
    }
    for (int32_t b = 0; b < reader->scene.bands; b++) {
        int64_t at = layout->offset + line * layout->line + b * layout->band + sample0 * layout->pixel;
        if (read_fully(reader->file, lying, stored, at, &error) != stored) {
            return false;
        }
        for (int64_t s = 0; s < samples; s++) {
            memcpy(ours + s * bytes, lying + s * layout->pixel, (size_t)bytes);
        }
        if (layout->big_endian != host_is_big()) {
            swap_values(ours, samples, bytes);
        }
        if (memcmp(ours, room + b * row, (size_t)row) != 0) {
            return false;
        }
    }
    return true;
}

/* The first, middle and last line: whole, or where GDAL's reading of them would take long, their ends and
 * middle. */
static HcStatus check_lines(const HcReader *reader, bool *same, HcError *err) {
    const HcScene *scene = &reader->scene;
    int64_t bytes = value_bytes(reader);
    int64_t samples = scene->samples;
    /* GDAL may pass over the whole line once for each band. */
    if (samples > 96 && samples * bytes * scene->bands > CHECK_BYTES / scene->bands) {
        samples = 32;
    }
    int64_t stored = samples * (reader->layout.pixel > bytes ? reader->layout.pixel : bytes);
    char *room = malloc((size_t)((scene->bands + 1) * samples * bytes + stored));
    if (room == NULL) {
        return hc_fail_memory(err, (double)(scene->bands + 1) * (double)(samples * bytes), "a line");
    }
    int64_t lines[3] = {0, scene->lines / 2, scene->lines - 1};
    int64_t starts[3] = {0, (scene->samples - samples) / 2, scene->samples - samples};
    *same = true;
    for (int l = 0; l < 3 && *same; l++) {
        for (int s = 0; s < 3 && *same; s++) {
            if ((l == 0 || lines[l] > lines[l - 1]) && (s == 0 || starts[s] > starts[s - 1])) {
                *same = same_stretch(reader, lines[l], starts[s], samples, room);
            }
        }
    }
    free(room);
    return HC_OK;
}

/* Whether the layout is one that a block can describe, and all of it lies forward in the file. */
static bool suits(HcReader *reader) {
    const HcRawLayout *layout = &reader->layout;
    const HcScene *scene = &reader->scene;
    int64_t bytes = value_bytes(reader);
    if (layout->path == NULL || strncmp(layout->path, "/vsi", 4) == 0 ||
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
        HC_TRY(hc_read_check_size(reader->layout.path, size, &reader->scene, &reader->layout, err));
    }
    if ((reader->options.never_direct && reader->dataset != NULL) || !suits(reader)) {
        goto done;
    }
    reader->file = open(reader->layout.path, O_RDONLY | O_CLOEXEC);
    if (reader->file < 0) {
        goto done; /* then GDAL has its say */
    }
    if (reader->dataset != NULL) {
        hc_gdal_catch(&messages);
        status = check_lines(reader, &same, err);
        hc_gdal_release();
        HC_TRY(status);
    }
    if (!same) {
        hc_read_note(reader, "direct reading of %s differs from GDAL's, which is used", reader->layout.path);
        close(reader->file);
        reader->file = -1;
        goto done;
    }
    reader->direct = true;
    (void)posix_fadvise(reader->file, 0, 0, POSIX_FADV_SEQUENTIAL);
done:
    return status;
}
