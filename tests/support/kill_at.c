/* Kills a program in front of its Nth change to a folder, as a power failure or kill -9 might: loaded before
 * the C library (LD_PRELOAD), with N in HCUBE_KILL_AT. With HCUBE_KILL_WRITES=1 what is written to files,
 * their sizes, and flushes count as well. A process that the program has forked takes its parent along.
 *
 * Constructors of libraries that the program uses may change folders before the constructor here runs, so the
 * first process is whichever comes here first. */
#include "tests/support/preload.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

static _Atomic long changes;
static _Atomic pid_t first; /* the process that loaded this */

__attribute__((constructor)) static void begin(void) {
    pid_t none = 0;
    atomic_compare_exchange_strong(&first, &none, getpid());
}

static void count(bool content) {
    begin();
    if (content && preload_number("HCUBE_KILL_WRITES") == 0) {
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

#define CHANGE(name, parameters, arguments) PRELOAD(int, name, parameters, arguments, count(false))

CHANGE(rename, (const char *from, const char *to), (from, to))
CHANGE(renameat2, (int a, const char *from, int b, const char *to, unsigned int flags),
       (a, from, b, to, flags))
CHANGE(link, (const char *from, const char *to), (from, to))
CHANGE(unlink, (const char *path), (path))
CHANGE(unlinkat, (int folder, const char *path, int flags), (folder, path, flags))
CHANGE(remove, (const char *path), (path))
CHANGE(mkdir, (const char *path, mode_t mode), (path, mode))
CHANGE(rmdir, (const char *path), (path))

/* Pipes and terminals are no files. */
static void count_written(int file) {
    if (lseek(file, 0, SEEK_CUR) >= 0) {
        count(true);
    }
}

PRELOAD(ssize_t, write, (int file, const void *data, size_t bytes), (file, data, bytes), count_written(file))
PRELOAD(ssize_t, pwrite, (int file, const void *data, size_t bytes, off_t at), (file, data, bytes, at),
        count(true))
PRELOAD(ssize_t, pwrite64, (int file, const void *data, size_t bytes, off_t at), (file, data, bytes, at),
        count(true))
PRELOAD(int, ftruncate, (int file, off_t size), (file, size), count(true))
PRELOAD(int, ftruncate64, (int file, off_t size), (file, size), count(true))
PRELOAD(int, fallocate, (int file, int mode, off_t at, off_t bytes), (file, mode, at, bytes), count(true))
PRELOAD(int, fsync, (int file), (file), count(true))

/* Files that are made. */
static void count_made(int flags) {
    if ((flags & O_CREAT) != 0) {
        count(true);
    }
}

#define OPEN(name) PRELOAD_OPEN(name, count_made(flags))
OPEN(open)
OPEN(open64)
