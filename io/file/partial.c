/* Temporary names. A file is made in a hidden folder of its own beside the place that it will have. The
 * folder's name says who makes it, so that what a dead process has left can be told from what another process
 * is making.
 *
 * Why not a lock on the folder: locks of shared folders are not seen by other hosts everywhere (NFS without
 * its lock service, Lustre with local locks), and each would take a descriptor as long as the file is
 * written. Names of processes are right on every file system: what another host or another name space of
 * processes makes is left alone. */
#include "io/file/parts.h"
#include "io/process.h"
#include "core/hash.h"
#include "core/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Longer names are cut, because the name of a file may be as long as a name can be. */
#define NAME_BYTES 140

/* The partials of this process, so that an interrupted one can remove them. */
static pthread_mutex_t partials_lock = PTHREAD_MUTEX_INITIALIZER;
static char **partials;
static size_t partial_count;
static unsigned long partial_serial;

/* ---- the registry ---- */

static bool remember(const char *partial) {
    pthread_mutex_lock(&partials_lock);
    bool kept = hc_file_list_add(&partials, &partial_count, partial);
    pthread_mutex_unlock(&partials_lock);
    return kept;
}

void hc_file_forget(const char *partial) {
    pthread_mutex_lock(&partials_lock);
    for (size_t i = 0; i < partial_count; i++) {
        if (strcmp(partials[i], partial) == 0) {
            free(partials[i]);
            partials[i] = partials[--partial_count];
            break;
        }
    }
    if (partial_count == 0) {
        free(partials);
        partials = NULL;
    }
    pthread_mutex_unlock(&partials_lock);
}

/* Removes all that lies in a folder, and closes it. The C library's ways to list a folder take memory, and
 * memory may be what lacks. */
static void empty_folder(int folder, int depth) {
    _Alignas(struct dirent64) char list[2048];
    bool removed = true;
    while (removed) { /* a pass may miss what moved up */
        removed = false;
        lseek(folder, 0, SEEK_SET);
        for (ssize_t bytes = 0; (bytes = getdents64(folder, list, sizeof list)) > 0;) {
            for (ssize_t at = 0; at < bytes;) {
                const struct dirent64 *entry = (const struct dirent64 *)(list + at);
                const char *name = entry->d_name;
                at += entry->d_reclen;
                if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
                    continue;
                }
                int inner = unlinkat(folder, name, 0) != 0 && depth > 0
                                ? openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                                : -1;
                if (inner >= 0) {
                    empty_folder(inner, depth - 1);
                    (void)!unlinkat(folder, name, AT_REMOVEDIR);
                }
                removed = removed || faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
            }
        }
    }
    close(folder);
}

/* Removes the folder of a partial and all that lies in it. The file itself first: a process without
 * descriptors can do that, and cannot list a folder. */
static bool remove_folder(const char *folder, const char *partial) {
    if (partial != NULL) {
        unlink(partial);
    }
    if (rmdir(folder) != 0 && errno != ENOENT) {
        int handle = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (handle >= 0) {
            empty_folder(handle, 8);
            rmdir(folder);
        }
    }
    return !hc_file_exists(folder);
}

/* Only folders that hc_file_partial made are ever removed whole. */
static bool remove_partial(const char *partial) {
    char folder[HC_FILE_PATH];
    return hc_file_folder_into(folder, partial) && hc_text_ends_with(folder, ".partial") &&
           remove_folder(folder, partial);
}

void hc_file_drop(const char *partial) {
    /* What could not be removed is tried again at the end of the process. */
    char folder[HC_FILE_PATH];
    if (partial != NULL && remove_partial(partial)) {
        hc_file_forget(partial);
        if (hc_file_folder_into(folder, partial)) {
            hc_file_leave_near(folder);
        }
    }
}

void hc_file_remove_partials(void) {
    pthread_mutex_lock(&partials_lock);
    for (size_t i = 0; i < partial_count; i++) {
        (void)remove_partial(partials[i]);
        free(partials[i]);
    }
    free(partials);
    partials = NULL;
    partial_count = 0;
    pthread_mutex_unlock(&partials_lock);
}

void hc_file_remove_partials_at_crash(void) {
    if (pthread_mutex_trylock(&partials_lock) == 0) { /* for ever: no thread makes another one */
        for (size_t i = 0; i < partial_count; i++) {
            (void)remove_partial(partials[i]);
        }
    }
}

/* ---- names ---- */

/* Who makes a partial, as its name says it. */
typedef struct Maker {
    long process;
    unsigned long serial;
    long long start;
    unsigned int host, boot, space;
} Maker;

static unsigned int short_hash(const char *text, const char *more) {
    XXH64_state_t hash;
    XXH64_reset(&hash, 0);
    XXH64_update(&hash, text, strlen(text) + 1);
    XXH64_update(&hash, more, strlen(more));
    return (unsigned int)XXH64_digest(&hash);
}

/* This process; it may have been forked since it was asked last. */
static Maker next_maker(void) {
    static Maker self;
    pthread_mutex_lock(&partials_lock);
    if (self.process != (long)getpid()) {
        HcProcess process;
        hc_process_self(&process);
        self = (Maker){.process = process.number,
                       .start = process.start,
                       .host = short_hash(process.host, process.machine),
                       .boot = short_hash(process.boot, ""),
                       .space = short_hash(process.space, "")};
    }
    self.serial = ++partial_serial;
    Maker maker = self;
    pthread_mutex_unlock(&partials_lock);
    return maker;
}

/* ".NAME.", with which the names of all partials of a path begin. */
static char *beginning_of(const char *path) {
    const char *name = hc_file_base(path);
    return strlen(name) <= NAME_BYTES ? hc_text_format(".%s.", name)
                                      : hc_text_format(".%.*s~%08x.", NAME_BYTES, name, short_hash(name, ""));
}

/* What stands between that and ".partial" has no dot: the name of another file may begin like this one. */
static bool parse_maker(const char *ending, Maker *maker) {
    int length = 0;
    *maker = (Maker){0};
    return sscanf(ending, "%ld-%lu-%lld-%8x-%8x-%8x%n", &maker->process, &maker->serial, &maker->start,
                  &maker->host, &maker->boot, &maker->space, &length) == 6 &&
           strcmp(ending + length, ".partial") == 0;
}

/* Makes the folder of a partial; *folder is fresh memory. */
static HcStatus make_folder(const char *path, char **folder, HcError *err) {
    HcStatus status = HC_OK;
    char *beside = NULL;
    char *beginning = beginning_of(path);
    int number = EEXIST, tries = 0;
    while (number == EEXIST) {
        Maker maker = next_maker();
        free(*folder);
        free(beside);
        beside = hc_file_near(path, true);
        *folder =
            beside == NULL || beginning == NULL
                ? NULL
                : hc_text_format("%s/%s%ld-%lu-%lld-%08x-%08x-%08x.partial", beside, beginning, maker.process,
                                 maker.serial, maker.start, maker.host, maker.boot, maker.space);
        HC_TRY(hc_text_made(*folder, strlen(path), "a temporary name", err));
        number = mkdir(*folder, 0777) == 0 ? 0 : errno;
        /* Another one may have removed the empty folder of an object. */
        number = number == ENOENT && hc_file_comes_and_goes(path) && tries++ < 10 ? EEXIST : number;
    }
    if (number != 0) {
        HC_TRY(hc_file_fail(err, HC_E_IO, path, number));
    }
done:
    free(beside);
    free(beginning);
    return status;
}

HcStatus hc_file_partial(const char *path, char **partial, HcError *err) {
    HcStatus status = HC_OK;
    char *folder = NULL;
    char *file = NULL;
    *partial = NULL;
    hc_file_remove_dead(path);
    HC_TRY(make_folder(path, &folder, err));
    file = hc_text_format("%s/%s", folder, hc_file_base(path));
    if (file == NULL || !remember(file)) {
        rmdir(folder);
        HC_TRY(hc_fail_memory(err, (double)strlen(path), "a temporary name"));
    }
    *partial = file;
    file = NULL;
done:
    free(file);
    free(folder);
    return status;
}

/* ---- what others have left ---- */

/* Whether a partial is of a process of this host that is dead. What cannot be known is not dead. */
static bool is_dead(const char *folder, const Maker *maker) {
    Maker self = next_maker();
    struct stat info;
    if (maker->host != self.host) {
        return false;
    }
    if (maker->boot == self.boot) {
        return maker->space == self.space && self.start >= 0 &&
               hc_process_start(maker->process) != maker->start;
    }
    /* This host, before it was started anew. */
    return stat(folder, &info) == 0 && (long long)info.st_mtime < hc_process_boot_time();
}

/* Files beside `path` whose owner has no name yet: placed before it, or (with `any`) those of an old one that
 * was about to be replaced. */
static void remove_ownerless(const char *path, const char *leftover, bool any) {
    char **names = NULL;
    size_t count = 0;
    char *folder = hc_file_folder(path);
    char *partial = hc_text_format("%s/%s", leftover, hc_file_base(path));
    if (folder != NULL && partial != NULL && hc_file_exists(partial) && !hc_file_exists(path)) {
        (void)!hc_file_list(leftover, hc_file_base(path), &names, &count, NULL);
    }
    for (size_t n = 0; n < count; n++) {
        char *sidecar = hc_text_format("%s/%s", folder, names[n]);
        char *made = hc_text_format("%s/%s", leftover, names[n]);
        if (sidecar != NULL && made != NULL && (any || hc_file_same(sidecar, made))) {
            unlink(sidecar);
        }
        free(sidecar);
        free(made);
    }
    hc_file_list_free(names, count);
    free(folder);
    free(partial);
}

/* Removes the partials of `path` that are dead: all, or those that are known to be. */
static void remove_left(const char *path, bool all) {
    char **names = NULL;
    size_t count = 0;
    char *folder = hc_file_near(path, false);
    char *beginning = beginning_of(path);
    const size_t begins = beginning != NULL ? strlen(beginning) : 0;
    if (folder != NULL && beginning != NULL) {
        (void)hc_file_odd_names(folder, beginning, begins, false, &names, &count);
    }
    for (size_t n = 0; n < count; n++) {
        const char *ending = names[n] + begins;
        Maker maker;
        if (strncmp(names[n], beginning, begins) != 0 ||
            strcmp(ending + strspn(ending, "0123456789abcdef-"), ".partial") != 0) {
            continue;
        }
        char *leftover = hc_text_format("%s/%s", folder, names[n]);
        if (leftover != NULL && (all || (parse_maker(ending, &maker) && is_dead(leftover, &maker)))) {
            remove_ownerless(path, leftover, all);
            (void)remove_folder(leftover, NULL);
        }
        free(leftover);
    }
    hc_file_list_free(names, count);
    free(beginning);
    free(folder);
}

/* Whether the name of a folder is that of a partial of a file that ends so. */
static bool is_partial_of(const char *name, const char *ending, Maker *maker) {
    size_t length = strlen(name);
    size_t most = strlen(".partial");
    const char *dot = length > most ? memrchr(name, '.', length - most) : NULL;
    size_t ends = strlen(ending);
    return dot != NULL && name[0] == '.' && (size_t)(dot - name) > ends &&
           strncmp(dot - ends, ending, ends) == 0 && parse_maker(dot + 1, maker);
}

void hc_file_remove_dead_beside(const char *path, const char *ending) {
    char **names = NULL;
    size_t count = 0;
    char *folder = hc_file_near(path, false);
    if (folder != NULL) {
        (void)hc_file_odd_names(folder, ".", 1, true, &names, &count);
    }
    for (size_t n = 0; n < count; n++) {
        Maker maker;
        char *leftover =
            is_partial_of(names[n], ending, &maker) ? hc_text_format("%s/%s", folder, names[n]) : NULL;
        if (leftover != NULL && is_dead(leftover, &maker)) {
            (void)remove_folder(leftover, NULL);
        }
        free(leftover);
    }
    hc_file_list_free(names, count);
    free(folder);
}

void hc_file_remove_leftovers(const char *path) {
    remove_left(path, true);
}

void hc_file_remove_dead(const char *path) {
    remove_left(path, false);
}
