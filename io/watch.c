#include "io/watch.h"
#include "io/gdal/errors.h"
#include "io/gdal/remote.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct HcWatched {
    char *path;
    struct stat state;
    char *version; /* of a file of a server; NULL = a local one */
};

static bool has(const HcWatch *watch, const char *path) {
    for (int32_t f = 0; f < watch->count; f++) {
        if (strcmp(watch->file[f].path, path) == 0) {
            return true;
        }
    }
    return false;
}

/* Takes over the version, also on failure. */
static HcStatus add(HcWatch *watch, const char *path, const struct stat *state, char *version, HcError *err) {
    HcStatus status = HC_OK;
    char *copy = strdup(path);
    HC_TRY(hc_text_made(copy, strlen(path), "a path", err));
    if ((watch->count & (watch->count - 1)) == 0) { /* the capacity doubles at each power of two */
        size_t capacity = watch->count == 0 ? 1 : 2 * (size_t)watch->count;
        HcWatched *grown = realloc(watch->file, capacity * sizeof *grown);
        if (grown == NULL) {
            HC_TRY(hc_fail_memory(err, (double)(capacity * sizeof *grown), "a list of files"));
        }
        watch->file = grown;
    }
    watch->file[watch->count++] = (HcWatched){.path = copy, .state = *state, .version = version};
    return HC_OK;
done:
    free(copy);
    free(version);
    return status;
}

HcStatus hc_watch_add(HcWatch *watch, const char *path, HcError *err) {
    struct stat state = {0};
    char *version = NULL;
    if (has(watch, path)) {
        return HC_OK;
    }
    if (hc_remote_is(path)) {
        HC_OR_RETURN(hc_remote_state(path, &version, err));
    } else if (strncmp(path, "/vsi", 4) == 0 || stat(path, &state) != 0 || !S_ISREG(state.st_mode)) {
        return HC_OK;
    }
    return add(watch, path, &state, version, err);
}

static bool same_time(struct timespec a, struct timespec b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Whether the time of the status alone was set anew, as by a write whose time was put back. New rights,
 * owners and links set it, too. */
static bool is_hidden_write(const struct stat *before, const struct stat *now) {
    return !same_time(now->st_ctim, before->st_ctim) && now->st_mode == before->st_mode &&
           now->st_uid == before->st_uid && now->st_gid == before->st_gid &&
           now->st_nlink == before->st_nlink;
}

static HcStatus check_version(const HcWatched *file, HcError *err) {
    char *now = NULL;
    HC_OR_RETURN(hc_remote_state(file->path, &now, err));
    bool same = strcmp(now, file->version) == 0;
    HcStatus status =
        same ? HC_OK
             : hc_fail(err, HC_E_INPUT,
                       "%s: changed while it was read: the server said %s at first, %s in the end",
                       file->path, file->version, now);
    free(now);
    return status;
}

static HcStatus check_file(const HcWatched *file, HcError *err) {
    const struct stat *before = &file->state;
    struct stat now;
    if (stat(file->path, &now) != 0) {
        return hc_fail(err, hc_errno_status(errno, HC_E_INPUT), "%s: changed while it was read: %s",
                       file->path, strerror(errno));
    }
    if (now.st_size != before->st_size) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: changed while it was read: %" PRId64 " bytes at first, %" PRId64 " in the end",
                       file->path, (int64_t)before->st_size, (int64_t)now.st_size);
    }
    if (now.st_dev != before->st_dev || now.st_ino != before->st_ino) {
        return hc_fail(err, HC_E_INPUT, "%s: changed while it was read: another file has its name",
                       file->path);
    }
    if (!same_time(now.st_mtim, before->st_mtim)) {
        return hc_fail(err, HC_E_INPUT, "%s: changed while it was read: it was written to", file->path);
    }
    if (is_hidden_write(before, &now)) {
        return hc_fail(err, HC_E_INPUT, "%s: changed while it was read: ctime is new, mtime was put back",
                       file->path);
    }
    return HC_OK;
}

HcStatus hc_watch_check(const HcWatch *watch, HcError *err) {
    HcStatus status = HC_OK;
    for (int32_t f = 0; f < watch->count && status == HC_OK; f++) {
        status = watch->file[f].version != NULL ? check_version(&watch->file[f], err)
                                                : check_file(&watch->file[f], err);
    }
    return status;
}

void hc_watch_clear(HcWatch *watch) {
    for (int32_t f = 0; f < watch->count; f++) {
        free(watch->file[f].path);
        free(watch->file[f].version);
    }
    free(watch->file);
    *watch = (HcWatch){0};
}
