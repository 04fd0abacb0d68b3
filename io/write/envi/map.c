/* A large file in memory (tmpfs), which all threads fill: lines are stored where they lie in the mapped file.
 * The system lets one thread at a time write into a file, but any number of them store to its pages.
 *
 * The file is reserved ahead of the lines by one thread, window by window, since the system gives pages to a
 * file one after the other, however many threads ask. With several processes, the one that opens the file
 * reserves all of it: to reserve an unused page again clears it, which takes time. The others do not wait for
 * their space. Pages come to a process by MADV_POPULATE_WRITE before they are stored to, so that a full disk
 * is an error and no signal. They go after the lines, since they count as memory of the process. Smaller
 * files are written, since pages that come and go cost more there, and so are files on disks. */
#include "io/write/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older kernels answer EINVAL */
#endif

enum {
    PIECE = 2 << 20,       /* bytes that a thread asks for at once; smaller ones were slower */
    STRETCH_MIN = 64 << 10 /* bytes of a band in a window; of shorter ones the edges cost too much */
};

struct HcWriteMap {
    int file; /* borrowed */
    char *data;
    int64_t bytes;
    int64_t row, step; /* bytes of a line, and from one stretch of lines to the next: a band of BSQ */
    int32_t stretches; /* of a window: 1, or one a band */
    int32_t rows;      /* of a window */
    bool reserving;
    pthread_t reserver;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t reserved, end; /* lines: the first that is not reserved yet, and after the last one to be */
    bool stop;
    int number; /* why space cannot be reserved, an errno; or 0 */
};

/* ---- whether a file is mapped ---- */

/* A limit on the size of files (ulimit -f) holds for writes alone. */
static bool is_within_limit(int64_t bytes) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           (limit.rlim_cur == RLIM_INFINITY || (rlim_t)bytes <= limit.rlim_cur);
}

static bool suits(const HcWriteMap *map, const HcWritePlan *plan, const HcScene *scene,
                  const struct statfs *disk) {
    return plan->storing >= HC_MAPPING_THREADS && map->bytes >= plan->large && disk->f_type == TMPFS_MAGIC &&
           is_within_limit(map->bytes) && scene->lines <= INT32_MAX &&
           (map->stretches == 1 || map->rows * map->row >= STRETCH_MIN);
}

/* ---- space ---- */

/* Returns 0 or an errno. */
static int reserve_lines(const HcWriteMap *map, int64_t line0, int64_t lines) {
    int number = 0;
    for (int32_t s = 0; s < map->stretches && number == 0; s++) {
        do {
            int64_t at = s * map->step + line0 * map->row;
            number = fallocate(map->file, FALLOC_FL_KEEP_SIZE, at, lines * map->row) == 0 ? 0 : errno;
        } while (number == EINTR);
    }
    return number;
}

static void *reserve(void *argument) {
    HcWriteMap *map = argument;
    pthread_mutex_lock(&map->lock);
    while (map->reserved < map->end && map->number == 0 && !map->stop) {
        int64_t lines = hc_min64(map->rows, map->end - map->reserved);
        pthread_mutex_unlock(&map->lock);
        int number = reserve_lines(map, map->reserved, lines);
        pthread_mutex_lock(&map->lock);
        bool cannot = number == EOPNOTSUPP || number == ENOSYS;
        map->number = cannot ? 0 : number;
        map->reserved = cannot ? map->end : map->reserved + (number == 0 ? lines : 0);
        pthread_cond_signal(&map->changed);
    }
    pthread_mutex_unlock(&map->lock);
    return NULL;
}

/* Waits until lines are reserved. Returns 0 or an errno. */
static int wait_for_space(HcWriteMap *map, int64_t end) {
    pthread_mutex_lock(&map->lock);
    while (map->reserved < hc_min64(end, map->end) && map->number == 0) {
        pthread_cond_wait(&map->changed, &map->lock);
    }
    int number = map->number;
    pthread_mutex_unlock(&map->lock);
    return number;
}

/* Returns 0 or an errno. */
static int begin_reserving(HcWriteMap *map) {
    map->reserving = pthread_create(&map->reserver, NULL, reserve, map) == 0;
    if (!map->reserving) {
        (void)reserve(map);
    }
    return map->reserving ? 0 : map->number;
}

/* ---- opening ---- */

/* False where the system gives no addresses, or does not know the advice. */
static bool make_map(HcWriteMap *map) {
    void *data = mmap(NULL, (size_t)map->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map->file, 0);
    if (data == MAP_FAILED) {
        return false;
    }
    map->data = data;
    if (madvise(data, 1, MADV_POPULATE_WRITE) != 0) {
        munmap(data, (size_t)map->bytes);
        return false;
    }
    return true;
}

int hc_write_map_open(HcWriteMap **out, int file, const HcWritePlan *plan, const HcScene *scene,
                      bool reserve) {
    int64_t size = (int64_t)hc_type_bytes(plan->type);
    bool apart = plan->interleave == HC_BSQ;
    HcWriteMap map = {.file = file,
                      .bytes = scene->lines * scene->samples * scene->bands * size,
                      .row = scene->samples * (apart ? 1 : scene->bands) * size,
                      .stretches = apart ? scene->bands : 1,
                      .rows = hc_write_map_rows(scene, plan),
                      .end = reserve ? scene->lines : 0};
    struct statfs disk;
    *out = NULL;
    if (fstatfs(file, &disk) != 0 || !suits(&map, plan, scene, &disk)) {
        return 0;
    }
    map.step = scene->lines * map.row;
    if (reserve && disk.f_blocks > 0 && (double)disk.f_bavail * (double)disk.f_bsize < (double)map.bytes) {
        return ENOSPC;
    }
    HcWriteMap *made = malloc(sizeof *made);
    if (made == NULL || !make_map(&map)) {
        free(made);
        return 0;
    }
    *made = map;
    *out = made;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    return reserve ? begin_reserving(made) : 0;
}

void hc_write_map_close(HcWriteMap *map) {
    if (map == NULL) {
        return;
    }
    pthread_mutex_lock(&map->lock);
    map->stop = true;
    pthread_mutex_unlock(&map->lock);
    if (map->reserving) {
        pthread_join(map->reserver, NULL);
    }
    munmap(map->data, (size_t)map->bytes);
    pthread_cond_destroy(&map->changed);
    pthread_mutex_destroy(&map->lock);
    free(map);
}

/* ---- windows of lines ---- */

/* Pages of a window that come or go, in pieces for the threads. */
typedef struct Advice {
    const HcWriteMap *map;
    int64_t offset, bytes; /* of the first stretch; bytes of each */
    int64_t pieces;        /* of a stretch */
    int how;
    atomic_int number; /* 0 or an errno */
} Advice;

static void advise_piece(void *user, int64_t item, int32_t thread) {
    (void)thread;
    Advice *advice = user;
    const int64_t page = sysconf(_SC_PAGESIZE);
    int64_t at = item % advice->pieces * PIECE;
    int64_t begin = advice->offset + item / advice->pieces * advice->map->step + at;
    int64_t end = begin + hc_min64(PIECE, advice->bytes - at);
    int result = 0;
    begin = begin / page * page;
    do {
        result = madvise(advice->map->data + begin, (size_t)(end - begin), advice->how);
    } while (result != 0 && (errno == EINTR || errno == EAGAIN));
    if (result != 0) {
        advice->number = errno;
    }
}

/* Returns 0 or an errno. */
static int advise(const HcWriteMap *map, int64_t line0, int32_t rows, int how, HcTeam *team) {
    Advice advice = {.map = map, .offset = line0 * map->row, .bytes = rows * map->row, .how = how};
    advice.pieces = (advice.bytes + PIECE - 1) / PIECE;
    hc_team_run(team, map->stretches * advice.pieces, advise_piece, &advice);
    return advice.number;
}

/* EFAULT says only that a page cannot be had. */
static const char *why_no_page(const HcWriteMap *map) {
    struct stat info;
    if (fstat(map->file, &info) == 0 && info.st_size < map->bytes) {
        return "another process has shortened the file";
    }
    int number = fallocate(map->file, FALLOC_FL_KEEP_SIZE, 0, map->bytes) != 0 ? errno : EFAULT;
    return strerror(number);
}

HcStatus hc_write_map_bring(HcWriteMap *map, const HcWritePlan *plan, int64_t line0, int32_t rows,
                            HcTeam *team, void **at, HcError *err) {
    int number = wait_for_space(map, line0 + rows);
    number = number == 0 ? advise(map, line0, rows, MADV_POPULATE_WRITE, team) : number;
    *at = map->data + line0 * map->row;
    return number == 0 ? HC_OK
                       : hc_fail(err, hc_errno_status(number, HC_E_IO), "%s: %s", plan->path,
                                 number == EFAULT ? why_no_page(map) : strerror(number));
}

void hc_write_map_give_up(HcWriteMap *map, int64_t line0, int32_t rows, HcTeam *team) {
    (void)advise(map, line0, rows, MADV_DONTNEED, team);
}
