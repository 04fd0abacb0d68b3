/* A file system that cannot do all that Linux offers, as some network file systems and FAT: loaded before the
 * C library (LD_PRELOAD).
 *
 * - HCUBE_NO_REPLACE: EINVAL or ENOSYS, with which renameat2 refuses its flags (RENAME_NOREPLACE)
 *
 * - HCUBE_NO_LINKS: EPERM, EOPNOTSUPP or ENOSYS, with which link fails; without it, links are made
 *
 * - HCUBE_STATUS_AGE: seconds by which the last change of the status of each open file is earlier
 *
 * - HCUBE_NO_REPLACE_LOG: a file that gets a line for each call that was refused so */
#include "tests/support/preload.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int number_of(const char *variable) {
    static const struct {
        const char *name;
        int number;
    } errors[] = {{"EINVAL", EINVAL}, {"ENOSYS", ENOSYS}, {"EPERM", EPERM}, {"EOPNOTSUPP", EOPNOTSUPP}};
    const char *name = getenv(variable);
    for (size_t e = 0; name != NULL && e < sizeof errors / sizeof *errors; e++) {
        if (strcmp(errors[e].name, name) == 0) {
            return errors[e].number;
        }
    }
    return 0;
}

/* Says that a call was refused; returns -1 with errno. */
static int refuse(const char *call, int number) {
    const char *path = getenv("HCUBE_NO_REPLACE_LOG");
    int file = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (file >= 0) {
        (void)!write(file, call, strlen(call));
        close(file);
    }
    errno = number;
    return -1;
}

#define REFUSE(name, parameters, arguments, when, variable)                                                  \
    int name parameters;                                                                                     \
    int name parameters {                                                                                    \
        static int(*next) parameters;                                                                        \
        int number = number_of(variable);                                                                    \
        preload_next((void *)&next, #name);                                                                  \
        return (when) && number != 0 ? refuse(#name "\n", number) : next arguments;                          \
    }

REFUSE(renameat2, (int a, const char *from, int b, const char *to, unsigned int flags),
       (a, from, b, to, flags), flags != 0, "HCUBE_NO_REPLACE")
REFUSE(link, (const char *from, const char *to), (from, to), true, "HCUBE_NO_LINKS")

int fstat(int file, struct stat *info) {
    static int (*next)(int, struct stat *);
    preload_next((void *)&next, "fstat");
    int result = next(file, info);
    info->st_ctim.tv_sec -= result == 0 ? preload_number("HCUBE_STATUS_AGE") : 0;
    return result;
}
