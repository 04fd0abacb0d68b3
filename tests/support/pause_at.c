/* Pauses a program at chosen calls until a test says to go on: loaded before the C library (LD_PRELOAD).
 * Nothing depends on the clock then.
 *
 * - HCUBE_PAUSE_AT: patterns of calls, separated by semicolons: "link *.s1.img.hcube-claim;kill 15". The call
 *   is rename, link, unlink or mkdir with the path that it makes or removes, or kill with the signal.
 *
 * - HCUBE_PAUSE: a named pipe that gets a line "NUMBER PROCESS" for each such call, by the number of its
 *   pattern (from 1); the call goes on when something is written to the named pipe HCUBE_PAUSE.NUMBER.
 *
 * Of kill the program pauses behind the call: the signal has been sent. */
#include "tests/support/preload.h"

#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Opens a named pipe; waits until the other end is open. */
static int open_pipe(const char *path, int flags) {
    int handle = open(path, flags | O_CLOEXEC);
    while (handle < 0 && errno == EINTR) {
        handle = open(path, flags | O_CLOEXEC);
    }
    return handle;
}

static void tell(const char *path, int number) {
    char line[64];
    int length = snprintf(line, sizeof line, "%d %ld\n", number, (long)getpid());
    int handle = open_pipe(path, O_WRONLY);
    while (write(handle, line, (size_t)length) < 0 && errno == EINTR) {
    }
    close(handle);
}

static void wait_for_answer(const char *path, int number) {
    char name[4096];
    char byte = 0;
    snprintf(name, sizeof name, "%s.%d", path, number);
    int handle = open_pipe(name, O_RDONLY);
    while (read(handle, &byte, 1) < 0 && errno == EINTR) {
    }
    close(handle);
}

static void pause_at(const char *call, const char *on) {
    const char *path = getenv("HCUBE_PAUSE");
    const char *patterns = getenv("HCUBE_PAUSE_AT");
    char what[4200];
    char list[1024];
    char *rest = NULL;
    int number = 1;
    int before = errno;
    snprintf(what, sizeof what, "%s %s", call, on);
    snprintf(list, sizeof list, "%s", path != NULL && patterns != NULL ? patterns : "");
    for (char *pattern = strtok_r(list, ";", &rest); pattern != NULL; pattern = strtok_r(NULL, ";", &rest)) {
        if (fnmatch(pattern, what, 0) == 0) {
            tell(path, number);
            wait_for_answer(path, number);
        }
        number++;
    }
    errno = before;
}

#define CHANGE(name, parameters, arguments, path)                                                            \
    PRELOAD(int, name, parameters, arguments, pause_at(#name, path))

CHANGE(rename, (const char *from, const char *to), (from, to), to)
CHANGE(link, (const char *from, const char *to), (from, to), to)
CHANGE(unlink, (const char *path), (path), path)
CHANGE(mkdir, (const char *path, mode_t mode), (path, mode), path)

int kill(pid_t process, int number) {
    static int (*next)(pid_t, int);
    char text[16];
    preload_next((void *)&next, "kill");
    int result = next(process, number);
    snprintf(text, sizeof text, "%d", number);
    pause_at("kill", text);
    return result;
}
