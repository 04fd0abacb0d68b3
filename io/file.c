/* Whole files are read with a limit and never from a pipe that someone has left in a folder, which would
 * wait for ever. Paths are compared by device and inode, and by folder and name where a file is not there
 * yet: the protection of inputs rests on it. */
#include "core/grow.h"
#include "io/file/parts.h"
#include "core/allocate.h"
#include "core/text.h"
#include "core/texts.h"
#include "io/gdal/errors.h"
#include "io/gdal/remote.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const hc_file_sidecars[] = {".aux.xml", ".ovr", ".msk", ".msk.ovr", NULL};

bool hc_file_exists(const char *path) {
    struct stat info;
    return lstat(path, &info) == 0;
}

/* What a call said of a path. */
static HcStatus said_of(const char *path, int result, bool *there, HcError *err) {
    *there = result == 0;
    bool missing = *there || errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG || errno == ELOOP ||
                   errno == EACCES;
    return missing ? HC_OK : hc_file_fail(err, HC_E_IO, path, errno);
}

HcStatus hc_file_look(const char *path, struct stat *info, bool *there, HcError *err) {
    return hc_remote_is(path) ? hc_file_look_remote(path, info, there, err)
                              : said_of(path, stat(path, info), there, err);
}

HcStatus hc_file_look_at_link(const char *path, struct stat *info, bool *there, HcError *err) {
    return hc_remote_is(path) ? hc_file_look_remote(path, info, there, err)
                              : said_of(path, lstat(path, info), there, err);
}

HcStatus hc_file_is_there(const char *path, bool *there, HcError *err) {
    struct stat info;
    return hc_file_look(path, &info, there, err);
}

bool hc_file_may_be_there(const char *path) {
    HcError unimportant = {0};
    struct stat info;
    bool there = false;
    return hc_file_look_at_link(path, &info, &there, &unimportant) != HC_OK || there;
}

bool hc_file_list_add(char ***names, size_t *count, const char *name) {
    if (hc_grow(*names, *count, "a list of files", NULL) != HC_OK) {
        return false;
    }
    char *copy = strdup(name);
    if (copy != NULL) {
        (*names)[(*count)++] = copy;
    }
    return copy != NULL;
}

HcStatus hc_file_list(const char *folder, const char *but, char ***names, size_t *count, HcError *err) {
    HcStatus status = HC_OK;
    *names = NULL;
    *count = 0;
    DIR *handle = opendir(folder);
    if (handle == NULL) {
        return hc_file_fail(err, HC_E_IO, folder, errno);
    }
    for (struct dirent *entry = NULL; status == HC_OK && (entry = readdir(handle)) != NULL;) {
        const char *name = entry->d_name;
        bool counts = strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, but) != 0;
        if (counts && !hc_file_list_add(names, count, name)) {
            status = hc_fail_memory(err, (double)strlen(name), "a file name");
        }
    }
    closedir(handle);
    return status;
}

void hc_file_list_free(char **names, size_t count) {
    hc_free_texts(names, (int64_t)count);
}

int hc_file_read_at(int file, void *to, size_t bytes, int64_t at) {
    for (char *next = to; bytes > 0;) {
        ssize_t got = pread(file, next, bytes, (off_t)at);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return got == 0 ? -1 : errno;
        }
        got = got > 0 ? got : 0;
        next += got;
        at += got;
        bytes -= (size_t)got;
    }
    return 0;
}

/* ---- whole files ---- */

bool hc_file_is_store(const char *path) {
    static const char *const texts[] = {".zgroup", ".zarray", "zarr.json"};
    char text[HC_FILE_PATH];
    struct stat info;
    bool is = false;
    if (hc_file_is_unlisted(path) || stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
        return false;
    }
    for (size_t t = 0; t < sizeof texts / sizeof *texts && !is; t++) {
        is = hc_file_join_into(text, path, texts[t]) && stat(text, &info) == 0 && S_ISREG(info.st_mode);
    }
    return is;
}

/* Refuses what has the name of an output already. */
static HcStatus check_existing(const char *path, const struct stat *info, bool overwrite, HcError *err) {
    struct stat behind;
    /* A link that leads nowhere is replaced; one to a device or folder is there for a reason. */
    if (S_ISLNK(info->st_mode) && stat(path, &behind) == 0) {
        info = &behind;
    }
    bool store = S_ISDIR(info->st_mode) && info != &behind && hc_file_is_store(path);
    if (S_ISDIR(info->st_mode) && !store) {
        return hc_fail(err, HC_E_IO, "%s: is a directory", path);
    }
    if (!S_ISREG(info->st_mode) && !S_ISLNK(info->st_mode) && !store) {
        return hc_fail(err, HC_E_IO, "%s: is a device or pipe, which a file cannot replace", path);
    }
    return overwrite ? HC_OK : hc_file_fail_exists(err, path);
}

HcStatus hc_file_check(const char *path, bool overwrite, HcError *err) {
    HcStatus status = HC_OK;
    struct stat info;
    char *directory = NULL;
    if (*hc_file_base(path) == '\0') {
        return hc_fail(err, HC_E_USAGE, "\"%s\" is not the name of a file", path);
    }
    if (hc_remote_takes(path)) {
        return hc_file_check_remote(path, overwrite, err);
    }
    if (strncmp(path, "/vsi", 4) == 0) {
        return hc_fail(err, HC_E_UNSUPPORTED,
                       "%s: outputs are written to local files and object storage (s3://, gs://, az://) only",
                       path);
    }
    directory = hc_file_folder(path);
    HC_OR_RETURN(hc_text_made(directory, strlen(path), "a file name", err));
    if (stat(directory, &info) != 0) {
        status = hc_fail(err, HC_E_IO, "%s: the directory %s: %s", path, directory, strerror(errno));
    } else if (!S_ISDIR(info.st_mode)) {
        status = hc_fail(err, HC_E_IO, "%s: %s is not a directory", path, directory);
    } else if (access(directory, W_OK | X_OK) != 0) {
        status = hc_fail(err, HC_E_IO, "%s: the directory %s cannot be written: %s", path, directory,
                         strerror(errno));
    } else if (lstat(path, &info) == 0) {
        status = check_existing(path, &info, overwrite, err);
    } else if (errno != ENOENT) {
        status = hc_file_fail(err, HC_E_IO, path, errno);
    }
    free(directory);
    return status;
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
            return hc_file_fail(err, errno == EISDIR ? HC_E_INPUT : HC_E_IO, path, errno);
        }
        *bytes += got > 0 ? (size_t)got : 0;
        if (*bytes > limit) {
            return hc_fail(err, HC_E_INPUT, "%s: more than the %zu bytes that such a file may have", path,
                           limit);
        }
    }
}

/* Names of the system, such as /dev/stdin or the /dev/fd/63 of a shell, may be pipes. Anyone could have made
 * any other one, and nobody may ever write to it. */
static bool may_wait(const char *path) {
    return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
}

static HcStatus fail_special(const char *path, HcError *err) {
    return hc_fail(err, HC_E_INPUT, "%s: is a pipe or a device, and not a file", path);
}

static bool is_special(const struct stat *info) {
    return !S_ISREG(info->st_mode) && !S_ISDIR(info->st_mode);
}

bool hc_file_is_special(const char *path) {
    struct stat info;
    return strncmp(path, "/vsi", 4) != 0 && stat(path, &info) == 0 && is_special(&info);
}

HcStatus hc_file_check_regular(const char *path, HcError *err) {
    return hc_file_is_special(path) ? fail_special(path, err) : HC_OK;
}

HcStatus hc_file_read(const char *path, size_t limit, char **data, size_t *bytes, HcError *err) {
    size_t count = 0;
    char *fresh = NULL;
    *data = NULL;
    if (hc_remote_is(path)) {
        return hc_file_read_remote(path, limit, data, bytes != NULL ? bytes : &count, err);
    }
    int file = open(path, O_RDONLY | O_CLOEXEC | (may_wait(path) ? 0 : O_NONBLOCK));
    if (file < 0) {
        return hc_file_fail(err, hc_errno_status(errno, HC_E_INPUT), path, errno);
    }
    struct stat info;
    bool special = !may_wait(path) && fstat(file, &info) == 0 && is_special(&info);
    HcStatus status = special ? fail_special(path, err) : read_all(file, path, limit, &fresh, &count, err);
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

/* It guards inputs, so that it takes no memory: a lack of it must not make two paths differ. */
bool hc_file_same_place(const char *a, const char *b) {
    char folder[HC_FILE_PATH], another[HC_FILE_PATH];
    return strcmp(a, b) == 0 || hc_file_same(a, b) ||
           (strcmp(hc_file_base(a), hc_file_base(b)) == 0 && hc_file_folder_into(folder, a) &&
            hc_file_folder_into(another, b) && hc_file_same(folder, another));
}

void hc_file_uncache(const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file >= 0) {
        (void)posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        close(file);
    }
}

bool hc_file_identity(const char *path, int64_t *size, int64_t *modified) {
    struct stat info;
    bool there = false;
    HcError unimportant = {0};
    if (hc_file_look(path, &info, &there, &unimportant) != HC_OK || !there) {
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

/* ---- standard output ---- */

/* Waits until standard output takes more, which may be a pipe that does not block. */
static int wait_for_reader(void) {
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, -1) >= 0 ? 0 : errno;
}

/* A reader that goes in the middle of a write sets `cancel` too, by a signal. */
static bool is_reader_gone(void) {
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) > 0 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

/* Returns 0 or an errno; ECANCELED once `cancel` is set. */
static int put_out(const char *data, size_t bytes, const HcFlag *cancel) {
    while (bytes > 0) {
        ssize_t wrote = write(STDOUT_FILENO, data, bytes);
        int number = wrote >= 0 ? 0 : errno;
        if (wrote >= 0) {
            data += wrote;
            bytes -= (size_t)wrote;
        }
        if (number == EAGAIN || number == EWOULDBLOCK) {
            number = wait_for_reader();
        }
        if (number != 0 && number != EINTR) {
            return number;
        }
        if (hc_flag(cancel) != 0) {
            return is_reader_gone() ? EPIPE : ECANCELED;
        }
    }
    return 0;
}

static HcStatus fail_out(int number, HcError *err) {
    return number == ECANCELED ? hc_fail(err, HC_E_CANCELLED, "standard output: interrupted")
           : number == EPIPE
               ? hc_fail(err, HC_E_IO, "standard output: its reader has closed it before the end")
               : hc_file_fail(err, HC_E_IO, "standard output", number);
}

HcStatus hc_file_copy_out(const char *path, const HcFlag *cancel, HcError *err) {
    enum { STEP = 1 << 18 };
    HcStatus status = HC_OK;
    char *data = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        HC_TRY(hc_file_fail(err, HC_E_IO, path, errno));
    }
    HC_TRY(hc_new(data, STEP, "bytes for standard output", err));
    for (ssize_t bytes = 1; bytes != 0;) {
        bytes = read(file, data, STEP);
        if (bytes < 0 && errno != EINTR) {
            HC_TRY(hc_file_fail(err, HC_E_IO, path, errno));
        }
        int number = bytes > 0 ? put_out(data, (size_t)bytes, cancel) : 0;
        if (number != 0) {
            HC_TRY(fail_out(number, err));
        }
    }
done:
    if (file >= 0) {
        close(file);
    }
    free(data);
    return status;
}
