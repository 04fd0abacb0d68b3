/* Mapped reading: a direct file as memory, without a copy. The pages are brought in before they are looked
 * at, so that a failure is an error of the read and not a signal. Where the file is cut off between both, the
 * signal puts a page of zeros in the place of the one that is gone, and hc_reader_unchanged fails. */
#include "io/read/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14; older kernels answer EINVAL */
#endif

/* With a page that is looked at the system may map those around it, as far as this: such pages, after the
 * lines that are read, are given back too. */
#define WINDOW ((int64_t)64 << 10)
/* Stretches for which a window more or less is little. */
#define STRETCH_MIN (16 * WINDOW)

/* The whole pages that hold these bytes of the file. */
static int advise(const HcReader *reader, int64_t offset, int64_t bytes, int advice) {
    int64_t page = sysconf(_SC_PAGESIZE);
    int64_t begin = offset / page * page;
    return madvise(reader->map + begin, (size_t)(offset + bytes - begin), advice);
}

/* ---- pages that are gone ---- */

enum { MAPS_MAX = 64 };

/* The mappings of the process, for the handler of the signal; begin 0 = free. */
static struct {
    _Atomic uintptr_t begin;
    _Atomic size_t bytes;
    _Atomic bool lost;
} maps[MAPS_MAX];
static pthread_mutex_t maps_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before; /* what is done with the signal elsewhere */

/* Only what may be called in a signal handler: mmap is a plain system call. */
static void on_bus_error(int number, siginfo_t *info, void *context) {
    uintptr_t at = (uintptr_t)info->si_addr;
    for (int m = 0; m < MAPS_MAX; m++) {
        uintptr_t begin = maps[m].begin;
        if (begin != 0 && at >= begin && at - begin < maps[m].bytes) {
            size_t page = (size_t)sysconf(_SC_PAGESIZE);
            maps[m].lost = true;
            if (mmap((void *)(at / page * page), page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                     0) != MAP_FAILED) {
                return;
            }
        }
    }
    if ((before.sa_flags & SA_SIGINFO) != 0) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    } else {
        signal(number, SIG_DFL); /* it comes again at once */
    }
}

/* Takes the signal, unless it is taken already. */
static bool handle_signal(void) {
    const struct sigaction ours = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    struct sigaction now;
    if (sigaction(SIGBUS, NULL, &now) != 0) {
        return false;
    }
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_bus_error) {
        return true;
    }
    before = now;
    return sigaction(SIGBUS, &ours, NULL) == 0;
}

/* Tells the handler of the mapping; false when there are too many. */
static bool watch_map(HcReader *reader) {
    bool found = false;
    pthread_mutex_lock(&maps_lock);
    bool handled = handle_signal();
    for (int m = 0; m < MAPS_MAX && handled && !found; m++) {
        if (maps[m].begin == 0) {
            maps[m].bytes = reader->map_bytes;
            maps[m].lost = false;
            maps[m].begin = (uintptr_t)reader->map;
            reader->map_number = m;
            found = true;
        }
    }
    pthread_mutex_unlock(&maps_lock);
    return found;
}

bool hc_read_map_lost(const HcReader *reader) {
    return reader->map != NULL && maps[reader->map_number].lost;
}

/* ---- the mapping ---- */

bool hc_reader_map(HcReader *reader) {
    if (reader->map != NULL) {
        return true;
    }
    struct stat info;
    if (!reader->direct || reader->started || hc_read_direct_narrow(reader) ||
        fstat(reader->file, &info) != 0 || info.st_size < hc_read_direct_end(reader)) {
        return false;
    }
    void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, reader->file, 0);
    if (map == MAP_FAILED) {
        return false;
    }
    reader->map = map;
    reader->map_bytes = (size_t)info.st_size;
    if (!watch_map(reader)) {
        munmap(map, reader->map_bytes);
        reader->map = NULL;
        return false;
    }
    if (advise(reader, reader->layout.offset, 1, MADV_POPULATE_READ) != 0) {
        hc_reader_unmap(reader);
        return false;
    }
    return true;
}

bool hc_reader_map_suits(const HcReader *reader, int64_t lines) {
    return reader->whole_lines || hc_read_used_count(reader) == 1 ||
           hc_read_direct_piece(reader, lines) >= STRETCH_MIN;
}

void hc_reader_unmap(HcReader *reader) {
    if (reader->map != NULL) {
        maps[reader->map_number].begin = 0;
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
        if (advice == MADV_DONTNEED) {
            int64_t before_it = offset < WINDOW ? offset : WINDOW;
            (void)advise(reader, offset - before_it, before_it, advice);
        }
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
