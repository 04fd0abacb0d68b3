/* What the libraries share that are loaded before the C library (LD_PRELOAD), like kill_at.c. */
#ifndef HC_TESTS_SUPPORT_PRELOAD_H
#define HC_TESTS_SUPPORT_PRELOAD_H

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>

/* The function of the next library, into the pointer *next. Each caller keeps its pointer: threads may both
 * look it up, and find the same. */
static inline void preload_next(void *next, const char *name) {
    void **pointer = next;
    if (*pointer == NULL) {
        *pointer = dlsym(RTLD_NEXT, name);
    }
}

/* The number in an environment variable, 0 without it. */
static inline long preload_number(const char *name) {
    const char *text = getenv(name);
    return text != NULL ? strtol(text, NULL, 10) : 0;
}

/* PRELOAD(result type, name, (types and names), (names), what comes first): defines the function `name`,
 * which goes on to the function of the C library. `first` is a statement that may return. */
#define PRELOAD(result, name, parameters, arguments, first)                                                  \
    result name parameters;                                                                                  \
    result name parameters {                                                                                 \
        static result(*next) parameters;                                                                     \
        preload_next((void *)&next, #name);                                                                  \
        first;                                                                                               \
        return next arguments;                                                                               \
    }

/* The same for open and open64, whose third argument is there where a file may be made. `first` may use the
 * flags. */
#define PRELOAD_OPEN(name, first)                                                                            \
    int name(const char *path, int flags, ...);                                                              \
    int name(const char *path, int flags, ...) {                                                             \
        static int (*next)(const char *, int, mode_t);                                                       \
        va_list rest;                                                                                        \
        va_start(rest, flags);                                                                               \
        mode_t mode = (flags & O_CREAT) != 0 ? (mode_t)va_arg(rest, int) : 0;                                \
        va_end(rest);                                                                                        \
        preload_next((void *)&next, #name);                                                                  \
        first;                                                                                               \
        return next(path, flags, mode);                                                                      \
    }

#endif
