/* Kills a program in front of its Nth change to a folder, as a power failure or kill -9 might: loaded before
 * the C library (LD_PRELOAD), with N in HCUBE_KILL_AT. With HCUBE_KILL_WRITES=1 what is written to files,
 * their sizes, and flushes count as well. With HCUBE_KILL_NAME only files count whose path holds that text. A
 * process that the program has forked takes its parent along.
 *
 * Constructors of libraries that the program uses may change folders before the constructor here runs, so the
 * first process is whichever comes here first. */
#include "tests/support/preload.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static _Atomic long changes;
static _Atomic pid_t first; /* the process that loaded this */

__attribute__((constructor)) static void begin(void) {
    pid_t none = 0;
    atomic_compare_exchange_strong(&first, &none, getpid());
}

static void count(bool content, const char *path) {
    const char *name = getenv("HCUBE_KILL_NAME");
    begin();
    if ((content && preload_number("HCUBE_KILL_WRITES") == 0) ||
        (name != NULL && strstr(path, name) == NULL)) {
        return;
    }
    long at = preload_number("HCUBE_KILL_AT");
    if (at == 0 || atomic_fetch_add(&changes, 1) + 1 != at) {
        return;
    }
    pid_t parent = atomic_load(&first);
    if (getpid() != parent) {
        kill(parent, SIGKILL);
    }
    kill(getpid(), SIGKILL);
}

/* The same by the number of an open file. */
static void count_handle(int file) {
    char link[64];
    char path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    count(true, path);
}

#define CHANGE(name, parameters, arguments, path)                                                            \
    PRELOAD(int, name, parameters, arguments, count(false, path))

CHANGE(rename, (const char *from, const char *to), (from, to), to)
CHANGE(renameat2, (int a, const char *from, int b, const char *to, unsigned int flags),
       (a, from, b, to, flags), to)
CHANGE(link, (const char *from, const char *to), (from, to), to)
CHANGE(unlink, (const char *path), (path), path)
CHANGE(unlinkat, (int folder, const char *path, int flags), (folder, path, flags), path)
CHANGE(remove, (const char *path), (path), path)
CHANGE(mkdir, (const char *path, mode_t mode), (path, mode), path)
CHANGE(rmdir, (const char *path), (path), path)

/* Pipes and terminals are no files. */
static void count_written(int file) {
    if (lseek(file, 0, SEEK_CUR) >= 0) {
        count_handle(file);
    }
}

#define WRITE(result, name, parameters, arguments)                                                           \
    PRELOAD(result, name, parameters, arguments, count_handle(file))

PRELOAD(ssize_t, write, (int file, const void *data, size_t bytes), (file, data, bytes), count_written(file))
WRITE(ssize_t, pwrite, (int file, const void *data, size_t bytes, off_t at), (file, data, bytes, at))
WRITE(ssize_t, pwrite64, (int file, const void *data, size_t bytes, off_t at), (file, data, bytes, at))
WRITE(int, ftruncate, (int file, off_t size), (file, size))
WRITE(int, ftruncate64, (int file, off_t size), (file, size))
WRITE(int, fallocate, (int file, int mode, off_t at, off_t bytes), (file, mode, at, bytes))
WRITE(int, fsync, (int file), (file))

/* Files that are made. */
static void count_made(const char *path, int flags) {
    if ((flags & O_CREAT) != 0) {
        count(true, path);
    }
}

#define OPEN(name) PRELOAD_OPEN(name, count_made(path, flags))
OPEN(open)
OPEN(open64)
