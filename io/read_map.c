/* Mapped reading: a direct file as memory, without a copy. The pages are brought in before they are looked
 * at, so that a failure is an error of the read and not a signal. */
#include "io/read_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14; older kernels answer EINVAL */
#endif

/* The whole pages that hold these bytes of the file. */
static int advise(const HcReader *reader, int64_t offset, int64_t bytes, int advice) {
    int64_t page = sysconf(_SC_PAGESIZE);
    int64_t begin = offset / page * page;
    return madvise(reader->map + begin, (size_t)(offset + bytes - begin), advice);
}

bool hc_reader_map(HcReader *reader) {
    if (reader->map != NULL) {
        return true;
    }
    struct stat info;
    if (!reader->direct || reader->started || reader->mask != NULL || fstat(reader->file, &info) != 0 ||
        info.st_size < hc_read_direct_end(reader)) {
        return false;
    }
    void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, reader->file, 0);
    if (map == MAP_FAILED) {
        return false;
    }
    reader->map = map;
    reader->map_bytes = (size_t)info.st_size;
    if (advise(reader, reader->layout.offset, 1, MADV_POPULATE_READ) != 0) {
        hc_read_map_close(reader);
        return false;
    }
    return true;
}

void hc_read_map_close(HcReader *reader) {
    if (reader->map != NULL) {
        munmap(reader->map, reader->map_bytes);
        reader->map = NULL;
    }
}

/* Calls advise for the stretches of the file that hold these lines: one, or one for each band that is used.
 */
static int advise_lines(const HcReader *reader, int64_t line0, int64_t lines, int advice) {
    int64_t pieces = reader->whole_lines ? 1 : hc_read_used_count(reader);
    int64_t length = hc_read_direct_piece(reader, lines);
    int result = 0;
    for (int64_t p = 0; p < pieces && result == 0; p++) {
        int64_t offset = hc_read_direct_offset(reader, line0, p);
        if (advice == MADV_POPULATE_READ) {
            /* The disk gets the whole stretch at once, not page by page. */
            (void)posix_fadvise(reader->file, offset, length, POSIX_FADV_WILLNEED);
        }
        result = advise(reader, offset, length, advice);
    }
    return result;
}

HcStatus hc_read_map_lines(HcReader *reader, int64_t line0, int32_t lines, HcRaw *raw, HcError *err) {
    const HcRawLayout *layout = &reader->layout;
    *raw = hc_read_direct_view(reader, line0, lines);
    raw->data = reader->map + layout->offset + line0 * layout->line;
    raw->bands = reader->scene.bands;
    raw->stride_band = layout->band;
    int result;
    do {
        result = advise_lines(reader, line0, lines, MADV_POPULATE_READ);
    } while (result != 0 && errno == EINTR);
    if (result != 0) {
        return hc_fail(err, HC_E_IO, "%s: reading lines %" PRId64 " to %" PRId64 " (from 0) failed: %s",
                       reader->path, line0, line0 + lines - 1,
                       errno == EFAULT ? "the file ends before, or the disk fails" : strerror(errno));
    }
    return HC_OK;
}

void hc_reader_release(HcReader *reader, int64_t line0, int32_t lines) {
    if (reader->map != NULL && lines > 0) {
        (void)advise_lines(reader, line0, lines, MADV_DONTNEED);
    }
}
