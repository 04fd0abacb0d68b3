/* Kills a program in front of its Nth change to a folder, as a power failure or kill -9 might: loaded before
 * the C library (LD_PRELOAD), with N in HCUBE_KILL_AT. A process that the program has forked takes its parent
 * along. */
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static _Atomic long changes;
static pid_t first; /* the process that loaded this */

__attribute__((constructor)) static void begin(void) {
    first = getpid();
}

static void count(void) {
    const char *text = getenv("HCUBE_KILL_AT");
    if (text == NULL || atomic_fetch_add(&changes, 1) + 1 != strtol(text, NULL, 10)) {
        return;
    }
    if (getpid() != first) {
        kill(first, SIGKILL);
    }
    kill(getpid(), SIGKILL);
}

/* NAME(types and names; names): counts, and goes on to the function of the C library. */
#define INSTEAD(name, parameters, arguments)                                                                 \
    int name parameters;                                                                                     \
    int name parameters {                                                                                    \
        static int(*next) parameters;                                                                        \
        if (next == NULL) {                                                                                  \
            *(void **)&next = dlsym(RTLD_NEXT, #name);                                                       \
        }                                                                                                    \
        count();                                                                                             \
        return next arguments;                                                                               \
    }

INSTEAD(rename, (const char *from, const char *to), (from, to))
INSTEAD(renameat2, (int a, const char *from, int b, const char *to, unsigned int flags),
        (a, from, b, to, flags))
INSTEAD(link, (const char *from, const char *to), (from, to))
INSTEAD(unlink, (const char *path), (path))
INSTEAD(mkdir, (const char *path, mode_t mode), (path, mode))
INSTEAD(rmdir, (const char *path), (path))
