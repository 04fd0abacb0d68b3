/* A process that opens a file first. HDF5, HDF4 and cfitsio end the program for some files whose structure is
 * broken, before a check through them could see it: so the program is started once more to describe the file,
 * and what ends that by a signal is refused here. */
#include "io/guard/probe.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A file of 4 MB whose axes have no names takes netCDF 38 s. */
enum { SECONDS_MAX = 20, KNOWN = 8, PATH_BYTES = 4096 };

static const char *program; /* NULL = files are opened without a trial */
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static char known[KNOWN][PATH_BYTES]; /* files that were tried */
static int ended[KNOWN];              /* by which signal */
static int next_known;

void hc_guard_probe_with(const char *path) {
    program = path;
}

bool hc_guard_probes(const char *name) {
    if (strcmp(hc_file_base(name), HC_GUARD_PROBE) != 0) {
        return false;
    }
    setrlimit(RLIMIT_CPU, &(struct rlimit){SECONDS_MAX, SECONDS_MAX}); /* then it is killed */
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    return true;
}

/* What is known of a file; where it is new, `by` is kept. -1 = nothing. */
static int remember(const char *path, int by) {
    pthread_mutex_lock(&guard);
    int place = 0;
    while (place < KNOWN && strcmp(known[place], path) != 0) {
        place++;
    }
    if (place == KNOWN && by >= 0) {
        place = next_known++ % KNOWN;
        snprintf(known[place], PATH_BYTES, "%s", path);
        ended[place] = by;
    }
    by = place < KNOWN ? ended[place] : -1;
    pthread_mutex_unlock(&guard);
    return by;
}

/* The signal that ended the trial, SIGXCPU where it took too long; 0 where none did, or where it cannot be
 * made. */
static int try_file(const char *path) {
    char *const words[] = {(char *)HC_GUARD_PROBE, (char *)"info", (char *)"--json", (char *)path, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none;
    struct rusage took = {0};
    pid_t child = 0;
    int state = 0;
    sigemptyset(&none);
    if (posix_spawn_file_actions_init(&files) != 0) {
        return 0;
    }
    bool ready = posix_spawnattr_init(&how) == 0;
    for (int fd = 0; fd < 3 && ready; fd++) {
        ready =
            posix_spawn_file_actions_addopen(&files, fd, "/dev/null", fd == 0 ? O_RDONLY : O_WRONLY, 0) == 0;
    }
    ready = ready && posix_spawnattr_setsigmask(&how, &none) == 0 &&
            posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK) == 0 &&
            posix_spawn(&child, program, &files, &how, words, environ) == 0;
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    while (ready && wait4(child, &state, 0, &took) < 0) {
        if (errno != EINTR) {
            return 0;
        }
    }
    int by = ready && WIFSIGNALED(state) ? WTERMSIG(state) : 0;
    long seconds = took.ru_utime.tv_sec + took.ru_stime.tv_sec;
    return by == SIGKILL && seconds >= SECONDS_MAX - 1 ? SIGXCPU : by;
}

HcStatus hc_guard_probe(const char *path, HcError *err) {
    static const int broken[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP};
    if (program == NULL || strlen(path) >= PATH_BYTES) {
        return HC_OK;
    }
    int by = remember(path, -1);
    by = by >= 0 ? by : remember(path, try_file(path)); /* without the lock: scenes of a batch open at once */
    bool crashes = by == SIGXCPU;
    for (size_t s = 0; s < sizeof broken / sizeof *broken; s++) {
        crashes = crashes || by == broken[s];
    }
    return !crashes ? HC_OK
           : by == SIGXCPU
               ? hc_fail(err, HC_E_INPUT, "%s: opening it takes more than %d s", path, SECONDS_MAX)
               : hc_fail(err, HC_E_INPUT,
                         "%s: its structure is broken: a library that opens it ends by signal %d (%s)", path,
                         by, strsignal(by));
}
