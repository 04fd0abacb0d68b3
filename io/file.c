#include "io/file.h"
#include "core/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The partials of this process, so that an interrupted one can remove them. */
static pthread_mutex_t partials_lock = PTHREAD_MUTEX_INITIALIZER;
static char **partials;
static size_t partial_count, partial_capacity;
static unsigned long partial_serial;
static bool flush_all;

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The directory of a path, "." if it names none; fresh memory. */
static char *directory_of(const char *path) {
    size_t length = (size_t)(base_name(path) - path);
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    return length == 0 ? hc_text_format(".") : hc_text_format("%.*s", (int)length, path);
}

static HcStatus fail_errno(HcError *err, HcStatus status, const char *path, int number) {
    return hc_fail(err, status, "%s: %s", path, strerror(number));
}

static HcStatus fail_exists(HcError *err, const char *path) {
    return hc_fail(err, HC_E_USAGE, "%s: the file exists already (--overwrite replaces it)", path);
}

static bool exists(const char *path) {
    struct stat info;
    return lstat(path, &info) == 0;
}

/* ---- the registry ---- */

static bool remember(const char *partial) {
    bool kept = false;
    char *copy = strdup(partial);
    pthread_mutex_lock(&partials_lock);
    if (partial_count == partial_capacity) {
        size_t capacity = partial_capacity * 2 + 8;
        char **grown = realloc(partials, capacity * sizeof *grown);
        if (grown != NULL) {
            partials = grown;
            partial_capacity = capacity;
        }
    }
    if (copy != NULL && partial_count < partial_capacity) {
        partials[partial_count++] = copy;
        kept = true;
    }
    pthread_mutex_unlock(&partials_lock);
    if (!kept) {
        free(copy);
    }
    return kept;
}

static void forget(const char *partial) {
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
        partial_capacity = 0;
    }
    pthread_mutex_unlock(&partials_lock);
}

static unsigned long next_serial(void) {
    pthread_mutex_lock(&partials_lock);
    unsigned long serial = ++partial_serial;
    pthread_mutex_unlock(&partials_lock);
    return serial;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where) {
    (void)info;
    (void)kind;
    (void)where;
    remove(path);
    return 0;
}

static void remove_tree(const char *path) {
    nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* Only directories that hc_file_partial made are ever removed whole. */
static void remove_partial(const char *partial) {
    char *directory = directory_of(partial);
    if (directory != NULL && hc_text_ends_with(directory, ".partial")) {
        remove_tree(directory);
    }
    free(directory);
}

void hc_file_remove_partials(void) {
    pthread_mutex_lock(&partials_lock);
    for (size_t i = 0; i < partial_count; i++) {
        remove_partial(partials[i]);
        free(partials[i]);
    }
    free(partials);
    partials = NULL;
    partial_count = partial_capacity = 0;
    pthread_mutex_unlock(&partials_lock);
}

/* ---- partial names ---- */

HcStatus hc_file_partial(const char *path, char **partial, HcError *err) {
    HcStatus status = HC_OK;
    const char *name = base_name(path);
    char *beside = directory_of(path);
    char *directory = NULL;
    char *file = NULL;
    int number = 0;
    *partial = NULL;
    do {
        free(directory);
        /* Cut, because the name of a file may be as long as a name can be. */
        directory = beside == NULL ? NULL
                                   : hc_text_format("%s/.%.180s.%ld-%lu.partial", beside, name,
                                                    (long)getpid(), next_serial());
        if (directory == NULL) {
            status = hc_fail_memory(err, (double)strlen(path), "a temporary name");
            goto done;
        }
        number = mkdir(directory, 0777) == 0 ? 0 : errno;
    } while (number == EEXIST);
    if (number != 0) {
        status = fail_errno(err, HC_E_IO, path, number);
        goto done;
    }
    file = hc_text_format("%s/%s", directory, name);
    if (file == NULL || !remember(file)) {
        rmdir(directory);
        status = hc_fail_memory(err, (double)strlen(path), "a temporary name");
        goto done;
    }
    *partial = file;
    file = NULL;
done:
    free(file);
    free(directory);
    free(beside);
    return status;
}

void hc_file_drop(const char *partial) {
    if (partial != NULL) {
        remove_partial(partial);
        forget(partial);
    }
}

/* Renames without ever replacing: returns 0 or an errno. */
static int rename_fresh(const char *from, const char *to) {
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) {
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) {
        return errno;
    }
    /* A file system without that flag: a second link is refused too where the name is taken. */
    if (link(from, to) == 0) {
        unlink(from);
        return 0;
    }
    if (errno != EPERM && errno != ENOTSUP && errno != ENOSYS) {
        return errno;
    }
    /* Nor has it links (FAT): the best that is left. */
    if (exists(to)) {
        return EEXIST;
    }
    return rename(from, to) == 0 ? 0 : errno;
}

static HcStatus move(const char *from, const char *to, bool overwrite, HcError *err) {
    int number = overwrite ? (rename(from, to) == 0 ? 0 : errno) : rename_fresh(from, to);
    if (number == EEXIST && !overwrite) {
        return fail_exists(err, to);
    }
    return number == 0 ? HC_OK : fail_errno(err, HC_E_IO, to, number);
}

/* What describes an old file would describe the new one wrongly. */
static void remove_old_sidecars(const char *path) {
    static const char *const endings[] = {".aux.xml", ".ovr", ".msk", ".msk.ovr"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char *sidecar = hc_text_format("%s%s", path, endings[i]);
        if (sidecar != NULL) {
            unlink(sidecar);
        }
        free(sidecar);
    }
}

/* The names in a directory, without . and .. and `but`. */
static HcStatus list_others(const char *directory, const char *but, char ***names, size_t *count,
                            HcError *err) {
    HcStatus status = HC_OK;
    *names = NULL;
    *count = 0;
    DIR *handle = opendir(directory);
    if (handle == NULL) {
        return fail_errno(err, HC_E_IO, directory, errno);
    }
    for (struct dirent *entry = readdir(handle); entry != NULL; entry = readdir(handle)) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, but) == 0) {
            continue;
        }
        char **grown = realloc(*names, (*count + 1) * sizeof *grown);
        *names = grown != NULL ? grown : *names;
        char *copy = grown != NULL ? strdup(name) : NULL;
        if (copy == NULL) {
            status = hc_fail_memory(err, (double)strlen(name), "a file name");
            break;
        }
        (*names)[(*count)++] = copy;
    }
    closedir(handle);
    return status;
}

/* So that the new name survives a power failure too; file systems that cannot are left alone. */
static void sync_directory(const char *path) {
    char *directory = directory_of(path);
    int handle = directory != NULL ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (handle >= 0) {
        (void)fsync(handle);
        close(handle);
    }
    free(directory);
}

/* The content of one file to the disk. */
static HcStatus sync_file(const char *path, HcError *err) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    int number = file < 0 || (fsync(file) != 0 && errno != EINVAL) ? errno : 0;
    if (file >= 0) {
        close(file);
    }
    return number == 0 ? HC_OK : fail_errno(err, HC_E_IO, path, number);
}

/* The files of a partial, and those beside it in `from`. */
static HcStatus sync_partial(const char *partial, const char *from, char **names, size_t count,
                             HcError *err) {
    HcStatus status = HC_OK;
    char *path = NULL;
    HC_TRY(sync_file(partial, err));
    for (size_t n = 0; n < count; n++) {
        free(path);
        if ((path = hc_text_format("%s/%s", from, names[n])) == NULL) {
            HC_TRY(hc_fail_memory(err, 0, "a file name"));
        }
        HC_TRY(sync_file(path, err));
    }
done:
    free(path);
    return status;
}

/* Gives a file beside a partial its name. By a second link where there are links: as long as the partial
 * itself has no name, what was placed can then be told from other files when this process is dead. */
static HcStatus place(const char *name, const char *from, const char *to, bool overwrite, HcError *err) {
    HcStatus status = HC_OK;
    char *source = hc_text_format("%s/%s", from, name);
    char *target = hc_text_format("%s/%s", to, name);
    if (source == NULL || target == NULL) {
        HC_TRY(hc_fail_memory(err, (double)strlen(name), "a file name"));
    }
    if (overwrite) {
        unlink(target);
    }
    if (link(source, target) != 0) {
        HC_TRY(move(source, target, overwrite, err));
    }
done:
    free(source);
    free(target);
    return status;
}

/* What was placed lies beside the partial alone again. */
static void take_back(const char *name, const char *from, const char *to) {
    char *source = hc_text_format("%s/%s", from, name);
    char *target = hc_text_format("%s/%s", to, name);
    if (source != NULL && target != NULL && hc_file_same(source, target)) {
        unlink(target);
    } else if (source != NULL && target != NULL && !exists(source)) {
        (void)!rename(target, source);
    }
    free(source);
    free(target);
}

HcStatus hc_file_keep(const char *partial, const char *path, bool overwrite, HcError *err) {
    HcStatus status = HC_OK;
    char **names = NULL;
    size_t count = 0, placed = 0;
    char *from = directory_of(partial);
    char *to = directory_of(path);
    if (from == NULL || to == NULL) {
        status = hc_fail_memory(err, (double)strlen(path), "a file name");
        goto done;
    }
    HC_TRY(list_others(from, base_name(partial), &names, &count, err));
    if (flush_all) {
        HC_TRY(sync_partial(partial, from, names, count, err));
    }
    if (!overwrite && exists(path)) {
        status = fail_exists(err, path);
        goto done;
    }
    /* One file is replaced at once. Of several, the file of that name goes first and comes last, so that it
     * is never seen with the sidecars of another. */
    if (overwrite && count > 0 && unlink(path) != 0 && errno != ENOENT) {
        status = fail_errno(err, HC_E_IO, path, errno);
        goto done;
    }
    if (overwrite) {
        remove_old_sidecars(path);
    }
    for (; placed < count; placed++) {
        HC_TRY(place(names[placed], from, to, overwrite, err));
    }
    HC_TRY(move(partial, path, overwrite, err));
    if (flush_all) {
        sync_directory(path);
    }
    remove_tree(from);
    forget(partial);
done:
    for (size_t i = 0; i < count; i++) {
        if (status != HC_OK && i < placed) {
            take_back(names[i], from, to); /* to where a drop removes it */
        }
        free(names[i]);
    }
    free(names);
    free(from);
    free(to);
    return status;
}

void hc_file_flush_all(bool flush) {
    flush_all = flush;
}

/* Sidecars in the folder whose file is only in the leftover: placed before it, or those of an old one that
 * was about to be replaced. */
static void remove_ownerless(const char *folder, const char *leftover, const char *file) {
    char **names = NULL;
    size_t count = 0;
    char *named = hc_text_format("%s/%s", folder, file);
    char *partial = hc_text_format("%s/%s", leftover, file);
    if (named != NULL && partial != NULL && exists(partial) && !exists(named)) {
        (void)!list_others(leftover, file, &names, &count, NULL);
    }
    for (size_t n = 0; n < count; n++) {
        char *sidecar = hc_text_format("%s/%s", folder, names[n]);
        if (sidecar != NULL) {
            unlink(sidecar);
        }
        free(sidecar);
        free(names[n]);
    }
    free(names);
    free(named);
    free(partial);
}

void hc_file_remove_leftovers(const char *path) {
    char *folder = directory_of(path);
    char *begin = hc_text_format(".%.180s.", base_name(path));
    DIR *handle = folder != NULL && begin != NULL ? opendir(folder) : NULL;
    for (struct dirent *entry = NULL; handle != NULL && (entry = readdir(handle)) != NULL;) {
        const char *name = entry->d_name;
        size_t length = strlen(begin);
        /* Between them only PID-N: the name of another file may begin with this one. */
        if (strncmp(name, begin, length) == 0 &&
            strcmp(name + length + strspn(name + length, "0123456789-"), ".partial") == 0) {
            char *leftover = hc_text_format("%s/%s", folder, name);
            if (leftover != NULL) {
                remove_ownerless(folder, leftover, base_name(path));
                remove_tree(leftover);
            }
            free(leftover);
        }
    }
    if (handle != NULL) {
        closedir(handle);
    }
    free(begin);
    free(folder);
}

/* ---- whole files ---- */

HcStatus hc_file_check(const char *path, bool overwrite, HcError *err) {
    HcStatus status = HC_OK;
    struct stat info;
    char *directory = NULL;
    if (*base_name(path) == '\0') {
        return hc_fail(err, HC_E_USAGE, "\"%s\" is not the name of a file", path);
    }
    if (strncmp(path, "/vsi", 4) == 0) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: outputs are written to local files only", path);
    }
    directory = directory_of(path);
    if (directory == NULL) {
        return hc_fail_memory(err, (double)strlen(path), "a file name");
    }
    if (stat(directory, &info) != 0) {
        status = hc_fail(err, HC_E_IO, "%s: the directory %s: %s", path, directory, strerror(errno));
    } else if (!S_ISDIR(info.st_mode)) {
        status = hc_fail(err, HC_E_IO, "%s: %s is not a directory", path, directory);
    } else if (access(directory, W_OK | X_OK) != 0) {
        status = hc_fail(err, HC_E_IO, "%s: the directory %s cannot be written: %s", path, directory,
                         strerror(errno));
    } else if (lstat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) {
            status = hc_fail(err, HC_E_IO, "%s: is a directory", path);
        } else if (!S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode)) {
            status = hc_fail(err, HC_E_IO, "%s: is a device or pipe, which a file cannot replace", path);
        } else if (!overwrite) {
            status = fail_exists(err, path);
        }
    } else if (errno != ENOENT) {
        status = fail_errno(err, HC_E_IO, path, errno);
    }
    free(directory);
    return status;
}

/* Writes all and closes, also on failure; returns 0 or an errno. */
static int write_all(int file, const char *data, size_t bytes, bool flush) {
    int number = 0;
    while (bytes > 0 && number == 0) {
        ssize_t wrote = write(file, data, bytes);
        if (wrote >= 0) {
            data += wrote;
            bytes -= (size_t)wrote;
        } else if (errno != EINTR) {
            number = errno;
        }
    }
    if (number == 0 && flush && fsync(file) != 0 && errno != EINVAL) {
        number = errno;
    }
    if (close(file) != 0 && number == 0) {
        number = errno;
    }
    return number;
}

static HcStatus write_file(const char *path, const void *data, size_t bytes, bool overwrite, bool flush,
                           HcError *err) {
    HcStatus status = HC_OK;
    char *partial = NULL;
    HC_TRY(hc_file_check(path, overwrite, err));
    HC_TRY(hc_file_partial(path, &partial, err));
    int file = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int number = file < 0 ? errno : write_all(file, data, bytes, flush);
    if (number != 0) {
        status = fail_errno(err, HC_E_IO, path, number);
        goto done;
    }
    HC_TRY(hc_file_keep(partial, path, overwrite, err));
    if (flush) {
        sync_directory(path);
    }
done:
    if (status != HC_OK) {
        hc_file_drop(partial);
    }
    free(partial);
    return status;
}

HcStatus hc_file_write(const char *path, const void *data, size_t bytes, bool overwrite, HcError *err) {
    return write_file(path, data, bytes, overwrite, true, err);
}

HcStatus hc_file_write_unflushed(const char *path, const void *data, size_t bytes, bool overwrite,
                                 HcError *err) {
    return write_file(path, data, bytes, overwrite, false, err);
}

static HcStatus read_all(int file, const char *path, size_t limit, char **data, size_t *bytes, HcError *err) {
    size_t capacity = 0;
    for (;;) {
        if (*bytes + 1 >= capacity) {
            capacity = capacity == 0 ? 65536 : capacity * 2;
            char *grown = realloc(*data, capacity);
            if (grown == NULL) {
                return hc_fail_memory(err, (double)capacity, path);
            }
            *data = grown;
        }
        ssize_t got = read(file, *data + *bytes, capacity - *bytes - 1);
        if (got == 0) {
            (*data)[*bytes] = '\0';
            return HC_OK;
        }
        if (got < 0 && errno != EINTR) {
            return fail_errno(err, errno == EISDIR ? HC_E_INPUT : HC_E_IO, path, errno);
        }
        *bytes += got > 0 ? (size_t)got : 0;
        if (*bytes > limit) {
            return hc_fail(err, HC_E_INPUT, "%s: more than the %zu bytes that such a file may have", path,
                           limit);
        }
    }
}

HcStatus hc_file_read(const char *path, size_t limit, char **data, size_t *bytes, HcError *err) {
    size_t count = 0;
    char *fresh = NULL;
    *data = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return fail_errno(err, HC_E_INPUT, path, errno);
    }
    HcStatus status = read_all(file, path, limit, &fresh, &count, err);
    close(file);
    if (status != HC_OK) {
        free(fresh);
        return status;
    }
    *data = fresh;
    if (bytes != NULL) {
        *bytes = count;
    }
    return HC_OK;
}

bool hc_file_same(const char *a, const char *b) {
    struct stat one;
    struct stat other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

bool hc_file_identity(const char *path, int64_t *size, int64_t *modified) {
    struct stat info;
    if (stat(path, &info) != 0) {
        return false;
    }
    if (size != NULL) {
        *size = (int64_t)info.st_size;
    }
    if (modified != NULL) {
        *modified = (int64_t)info.st_mtime;
    }
    return true;
}
