/* Fails the Nth call of a group of functions, as a full disk, a lack of memory or a broken device might:
 * loaded before the C library (LD_PRELOAD).
 *
 * - HCUBE_FAIL: the group and the error: alloc, read:EIO, write:ENOSPC, write:SHORT (half is written), device
 *
 * - HCUBE_FAIL_AT: which call fails, from 1; 0 = none, the calls of all groups are only counted
 *
 * - HCUBE_FAIL_TIMES: 1 = this call alone (the default), 0 = this one and all that follow
 *
 * - HCUBE_FAIL_SCOPE: own = calls of the program's own code (the default), libraries = all others, or a part
 *   of the name of a library: calls of that one
 *
 * - HCUBE_FAIL_STATE: a file of sizeof(FailState) zeros for the counts and the place of the failure
 *
 * - HCUBE_FAIL_LIMIT: ends the program with exit code 125 this number of calls after the failure: it hangs
 *
 * Calls count from the beginning of main to its end: constructors of libraries are not the program's
 * business. A call that the C library makes (malloc in strdup) counts for whom it is made, which takes a look
 * at the stack. */
#include "tests/support/fail_at.h"
#include "tests/support/preload.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const group_names[FAIL_GROUPS] = {"alloc",  "read", "write", "fsync", "close",
                                                     "rename", "link", "open",  "mmap",  "thread",
                                                     "mkdir",  "fork", "stat",  "device"};

static const struct {
    const char *name;
    int number;
} errors[] = {{"ENOMEM", ENOMEM}, {"EIO", EIO},     {"ENOSPC", ENOSPC}, {"EMFILE", EMFILE}, {"EINTR", EINTR},
              {"EAGAIN", EAGAIN}, {"EPERM", EPERM}, {"EINVAL", EINVAL}, {"EACCES", EACCES}, {"SHORT", -1}};

/* Whose code it is that calls. */
typedef enum Kind { OWN, TRANSPARENT, LIBRARY } Kind;

typedef struct Object {
    uintptr_t low, high; /* its code */
    Kind kind;
    bool named; /* its name holds HCUBE_FAIL_SCOPE */
} Object;

enum { MAX_OBJECTS = 1024 };

static FailState *state;
static FailState local; /* without a file */
static FailGroup group;
static int error_number;
static int64_t fail_at, limit;
static bool once, record_sites;
static char scope[64];
static Object objects[MAX_OBJECTS];
static _Atomic int object_count;
static pthread_mutex_t scan_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool counting;
static __thread bool inside; /* what is called here does not count */

/* --- whose code it is --- */

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static Kind kind_of(const char *path, bool program) {
    static const char *const transparent[] = {"libc.so",  "libc-", "libstdc++", "libm.so",
                                              "libgcc_s", "ld-",   "fail_at"};
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    if (program || begins(name, "stand_in") || begins(name, "libhcube_gpu")) {
        return OWN;
    }
    for (size_t i = 0; i < sizeof transparent / sizeof *transparent; i++) {
        if (begins(name, transparent[i])) {
            return TRANSPARENT;
        }
    }
    return LIBRARY;
}

static int add_object(struct dl_phdr_info *info, size_t size, void *data) {
    int *count = data;
    (void)size;
    bool program = *count == 0; /* it comes first */
    for (int h = 0; h < info->dlpi_phnum && *count < MAX_OBJECTS; h++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[h];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0) {
            uintptr_t low = info->dlpi_addr + part->p_vaddr;
            objects[(*count)++] = (Object){low, low + part->p_memsz, kind_of(info->dlpi_name, program),
                                           strstr(info->dlpi_name, scope) != NULL};
        }
    }
    return 0;
}

static const Object *find_object(uintptr_t place) {
    for (int attempt = 0; attempt < 2; attempt++) {
        int count = atomic_load(&object_count);
        for (int i = 0; i < count; i++) {
            if (place >= objects[i].low && place < objects[i].high) {
                return &objects[i];
            }
        }
        if (attempt == 0) { /* a library that was loaded since */
            int fresh = 0;
            pthread_mutex_lock(&scan_lock);
            dl_iterate_phdr(add_object, &fresh);
            atomic_store(&object_count, fresh);
            pthread_mutex_unlock(&scan_lock);
        }
    }
    return NULL;
}

/* The C++ library may be part of the program: some compilers have no shared one. */
static bool is_of_cpp_library(void *place) {
    static const char *const names[] = {"_Znw", "_Zna", "_ZNS", "_ZNKS", "_ZS"};
    Dl_info info;
    if (dladdr(place, &info) == 0 || info.dli_sname == NULL) {
        return false;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (begins(info.dli_sname, names[i])) {
            return true;
        }
    }
    return false;
}

/* Whether the caller's caller is the one who asks. */
static bool is_transparent(const Object *object, void *place) {
    return object != NULL &&
           (object->kind == TRANSPARENT || (object->kind == OWN && is_of_cpp_library(place)));
}

/* The object that calls, beyond the C and C++ libraries. */
static const Object *caller_of(void *place) {
    const Object *object = find_object((uintptr_t)place);
    if (!is_transparent(object, place)) {
        return object;
    }
    void *frames[16];
    int count = backtrace(frames, 16);
    for (int f = 2; f < count; f++) {
        object = find_object((uintptr_t)frames[f]);
        if (!is_transparent(object, frames[f])) {
            return object;
        }
    }
    return object;
}

static bool in_scope(void *place) {
    const Object *object = caller_of(place);
    if (strcmp(scope, "own") == 0) {
        return object != NULL && object->kind == OWN;
    }
    if (strcmp(scope, "libraries") == 0) {
        return object == NULL || object->kind != OWN;
    }
    return object != NULL && object->named;
}

/* --- what is counted --- */

static void describe_place(void) {
    void *frames[FAIL_MAX_FRAMES + 2];
    int count = backtrace(frames, FAIL_MAX_FRAMES + 2);
    for (int f = 2; f < count; f++) {
        Dl_info info;
        FailFrame *out = &state->frame[f - 2];
        if (dladdr(frames[f], &info) != 0) {
            out->offset = (uint64_t)((uintptr_t)frames[f] - (uintptr_t)info.dli_fbase);
            snprintf(out->object, sizeof out->object, "%s", info.dli_fname);
        }
        state->frames = f - 1;
    }
}

static void note_site(FailGroup of, int64_t call) {
    void *frames[FAIL_MAX_FRAMES];
    int count = backtrace(frames, FAIL_MAX_FRAMES);
    uint64_t hash = 1469598103934665603u;
    for (int f = 2; f < count; f++) {
        hash = (hash ^ (uintptr_t)frames[f]) * 1099511628211u;
    }
    if (call <= FAIL_MAX_SITES) {
        state->site[of][call - 1] = hash;
    }
}

/* Counts a call, and says whether it must fail; errno is set then. */
static bool fails_at(FailGroup of, void *place) {
    if (!atomic_load(&counting) || inside) {
        return false;
    }
    int before = errno;
    bool fails = false;
    inside = true;
    bool behind = fail_at == 0 || atomic_load(&state->failed) > 0; /* all calls of a run that only counts */
    if (behind && atomic_fetch_add(&state->after, 1) == limit && limit > 0) {
        _exit(125);
    }
    if ((fail_at == 0 || of == group) && in_scope(place)) {
        int64_t call = atomic_fetch_add(&state->calls[of], 1) + 1;
        if (fail_at == 0 && record_sites) {
            note_site(of, call);
        }
        fails = fail_at > 0 && (call == fail_at || (!once && call > fail_at));
        if (fails && atomic_fetch_add(&state->failed, 1) == 0) {
            describe_place();
        }
    }
    inside = false;
    errno = fails && error_number > 0 ? error_number : before;
    return fails;
}

#define FAILS(of) fails_at((of), __builtin_return_address(0))

/* For the stand-in of a GPU, which looks this up: whether its next operation must fail. */
bool hcube_fail_device(void);
bool hcube_fail_device(void) {
    return FAILS(FAIL_DEVICE);
}

/* --- from the beginning of main to its end --- */

static void read_settings(void) {
    const char *what = getenv("HCUBE_FAIL");
    const char *file = getenv("HCUBE_FAIL_STATE");
    const char *whose = getenv("HCUBE_FAIL_SCOPE");
    const char *times = getenv("HCUBE_FAIL_TIMES");
    snprintf(scope, sizeof scope, "%s", whose != NULL ? whose : "own");
    fail_at = preload_number("HCUBE_FAIL_AT");
    limit = preload_number("HCUBE_FAIL_LIMIT");
    once = times == NULL || strcmp(times, "0") != 0;
    size_t length = what != NULL ? strcspn(what, ":") : 0;
    group = FAIL_GROUPS;
    for (int g = 0; g < FAIL_GROUPS; g++) {
        if (length > 0 && length == strlen(group_names[g]) && memcmp(what, group_names[g], length) == 0) {
            group = (FailGroup)g;
        }
    }
    error_number = group == FAIL_ALLOC || group == FAIL_MMAP ? ENOMEM : EIO;
    for (size_t e = 0; length > 0 && what[length] == ':' && e < sizeof errors / sizeof *errors; e++) {
        error_number = strcmp(what + length + 1, errors[e].name) == 0 ? errors[e].number : error_number;
    }
    state = &local;
    int handle = file != NULL ? open(file, O_RDWR | O_CLOEXEC) : -1;
    if (handle >= 0) {
        void *map = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
        state = map != MAP_FAILED ? map : state;
        record_sites = map != MAP_FAILED;
        close(handle);
    }
}

static int (*real_main)(int, char **, char **);

static int counted_main(int argc, char **argv, char **environment) {
    void *frame;
    inside = true;
    (void)backtrace(&frame, 1); /* loads what it needs */
    read_settings();
    inside = false;
    atomic_store(&counting, true);
    int result = real_main(argc, argv, environment);
    atomic_store(&counting, false);
    return result;
}

int __libc_start_main(int (*program)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
int __libc_start_main(int (*program)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end) {
    static int (*next)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
                       void (*)(void), void *);
    preload_next((void *)&next, "__libc_start_main");
    real_main = program;
    return next(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}

/* --- memory --- */

#define FAIL_OR(of, result)                                                                                  \
    if (FAILS(of)) {                                                                                         \
        return result;                                                                                       \
    }

PRELOAD(void *, malloc, (size_t bytes), (bytes), FAIL_OR(FAIL_ALLOC, NULL))
PRELOAD(void *, calloc, (size_t count, size_t bytes), (count, bytes), FAIL_OR(FAIL_ALLOC, NULL))
PRELOAD(void *, realloc, (void *old, size_t bytes), (old, bytes), FAIL_OR(FAIL_ALLOC, NULL))
PRELOAD(void *, reallocarray, (void *old, size_t count, size_t bytes), (old, count, bytes),
        FAIL_OR(FAIL_ALLOC, NULL))
PRELOAD(void *, aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes),
        FAIL_OR(FAIL_ALLOC, NULL))
PRELOAD(void *, memalign, (size_t alignment, size_t bytes), (alignment, bytes), FAIL_OR(FAIL_ALLOC, NULL))
PRELOAD(int, posix_memalign, (void **out, size_t alignment, size_t bytes), (out, alignment, bytes),
        FAIL_OR(FAIL_ALLOC, ENOMEM))

/* --- files --- */

/* Half of what was asked for. */
static size_t shorter(size_t bytes) {
    return error_number < 0 && bytes > 1 ? bytes / 2 : bytes;
}

/* Pipes have no disk that is full or broken. */
static bool breaks(int file) {
    struct stat info;
    inside = true;
    bool pipe_like = fstat(file, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
    inside = false;
    return !pipe_like || error_number == EINTR || error_number < 0;
}

/* A call that fails returns -1, or does half of its work. */
#define TRANSFER(of, name, parameters, arguments)                                                            \
    PRELOAD(                                                                                                 \
        ssize_t, name, parameters, arguments, if (breaks(file) && FAILS(of)) {                               \
            if (error_number > 0) {                                                                          \
                return -1;                                                                                   \
            }                                                                                                \
            bytes = shorter(bytes);                                                                          \
        })

TRANSFER(FAIL_READ, read, (int file, void *data, size_t bytes), (file, data, bytes))
TRANSFER(FAIL_READ, pread, (int file, void *data, size_t bytes, off_t at), (file, data, bytes, at))
TRANSFER(FAIL_READ, pread64, (int file, void *data, size_t bytes, off_t at), (file, data, bytes, at))
TRANSFER(FAIL_WRITE, write, (int file, const void *data, size_t bytes), (file, data, bytes))
TRANSFER(FAIL_WRITE, pwrite, (int file, const void *data, size_t bytes, off_t at), (file, data, bytes, at))
TRANSFER(FAIL_WRITE, pwrite64, (int file, const void *data, size_t bytes, off_t at), (file, data, bytes, at))

/* A stream knows that it failed; those for messages do not fail. */
static bool stream_fails(FILE *stream, bool fails) {
    if (fails) {
        stream->_flags |= _IO_ERR_SEEN;
    }
    return fails;
}
static bool for_messages(const FILE *stream) {
    return stream == stderr || stream == stdout;
}

PRELOAD(
    size_t, fread, (void *data, size_t size, size_t count, FILE *stream), (data, size, count, stream),
    if (stream_fails(stream, FAILS(FAIL_READ))) { return 0; })
PRELOAD(
    char *, fgets, (char *text, int size, FILE *stream), (text, size, stream),
    if (stream_fails(stream, FAILS(FAIL_READ))) { return NULL; })
PRELOAD(
    size_t, fwrite, (const void *data, size_t size, size_t count, FILE *stream), (data, size, count, stream),
    if (!for_messages(stream) && stream_fails(stream, FAILS(FAIL_WRITE))) { return 0; })
PRELOAD(
    int, fputs, (const char *text, FILE *stream), (text, stream),
    if (!for_messages(stream) && stream_fails(stream, FAILS(FAIL_WRITE))) { return EOF; })

/* What is done, or not, and returns an int. */
#define CALL(of, name, parameters, arguments) PRELOAD(int, name, parameters, arguments, FAIL_OR(of, -1))

CALL(FAIL_WRITE, ftruncate, (int file, off_t size), (file, size))
CALL(FAIL_WRITE, ftruncate64, (int file, off_t size), (file, size))
CALL(FAIL_WRITE, fallocate, (int file, int mode, off_t at, off_t bytes), (file, mode, at, bytes))
CALL(FAIL_FSYNC, fsync, (int file), (file))
CALL(FAIL_FSYNC, fdatasync, (int file), (file))
CALL(FAIL_RENAME, rename, (const char *from, const char *to), (from, to))
CALL(FAIL_RENAME, renameat2, (int a, const char *from, int b, const char *to, unsigned int flags),
     (a, from, b, to, flags))
CALL(FAIL_LINK, link, (const char *from, const char *to), (from, to))
CALL(FAIL_MKDIR, mkdir, (const char *path, mode_t mode), (path, mode))
CALL(FAIL_STAT, stat, (const char *path, struct stat *out), (path, out))
CALL(FAIL_STAT, lstat, (const char *path, struct stat *out), (path, out))
CALL(FAIL_STAT, fstat, (int file, struct stat *out), (file, out))
CALL(FAIL_STAT, stat64, (const char *path, struct stat64 *out), (path, out))
CALL(FAIL_STAT, lstat64, (const char *path, struct stat64 *out), (path, out))
CALL(FAIL_STAT, fstat64, (int file, struct stat64 *out), (file, out))
CALL(FAIL_STAT, access, (const char *path, int mode), (path, mode))
CALL(FAIL_OPEN, pipe, (int ends[2]), (ends))

/* A file is closed, whatever is said. */
int close(int file);
int close(int file) {
    static int (*next)(int);
    preload_next((void *)&next, "close");
    bool fails = FAILS(FAIL_CLOSE);
    int result = next(file);
    errno = fails ? error_number : errno;
    return fails ? -1 : result;
}

int fclose(FILE *stream);
int fclose(FILE *stream) {
    static int (*next)(FILE *);
    preload_next((void *)&next, "fclose");
    bool fails = FAILS(FAIL_CLOSE);
    int result = next(stream);
    errno = fails ? error_number : errno;
    return fails ? EOF : result;
}

#define OPEN(name) PRELOAD_OPEN(name, FAIL_OR(FAIL_OPEN, -1))
OPEN(open)
OPEN(open64)
PRELOAD(FILE *, fopen, (const char *path, const char *mode), (path, mode), FAIL_OR(FAIL_OPEN, NULL))
PRELOAD(FILE *, fopen64, (const char *path, const char *mode), (path, mode), FAIL_OR(FAIL_OPEN, NULL))
PRELOAD(DIR *, opendir, (const char *path), (path), FAIL_OR(FAIL_OPEN, NULL))

/* --- pages, threads, processes --- */

PRELOAD(void *, mmap, (void *at, size_t bytes, int protection, int flags, int file, off_t offset),
        (at, bytes, protection, flags, file, offset), FAIL_OR(FAIL_MMAP, MAP_FAILED))
PRELOAD(void *, mmap64, (void *at, size_t bytes, int protection, int flags, int file, off_t offset),
        (at, bytes, protection, flags, file, offset), FAIL_OR(FAIL_MMAP, MAP_FAILED))
PRELOAD(int, pthread_create,
        (pthread_t * thread, const pthread_attr_t *how, void *(*body)(void *), void *data),
        (thread, how, body, data), FAIL_OR(FAIL_THREAD, EAGAIN))
PRELOAD(pid_t, fork, (void), (), FAIL_OR(FAIL_FORK, -1))
