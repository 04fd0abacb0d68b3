/* Outputs in object storage. Each is written and checked in a folder of the local disk, under the scratch
 * folder, and sent when it is to get its name. An object cannot be renamed, nor can several get their names
 * at once. So a marker, ".NAME.hcube-upload", is there from before the first byte until after the record:
 * what a killed process has left is told from other objects by it, and replaced by the next run. */
#include "io/file/parts.h"
#include "core/hash.h"
#include "core/text.h"
#include "io/gdal/remote.h"
#include "io/scratch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIRROR "/hcube-outputs"
#define RECORD ".hcube.json"

/* ---- the local place of an output ---- */

static void make_folders(char *folder, size_t from) {
    for (char *slash = strchr(folder + from, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(folder, 0777);
        *slash = '/';
    }
    (void)mkdir(folder, 0777); /* who makes a file there says what is wrong */
}

static bool in_mirror(const char *folder) {
    return strstr(folder, MIRROR "/vsi") != NULL;
}

char *hc_file_near(const char *path, bool make) {
    char *folder = hc_file_folder(path);
    char *near = folder != NULL && hc_remote_is(path)
                     ? hc_text_format("%s" MIRROR "%s", hc_scratch_folder(), folder)
                     : folder;
    if (near != folder) {
        free(folder);
    }
    if (near != NULL && make && in_mirror(near)) {
        make_folders(near, (size_t)(strstr(near, MIRROR "/vsi") - near) + 1);
    }
    return near;
}

bool hc_file_comes_and_goes(const char *path) {
    return hc_remote_is(path) || in_mirror(path);
}

void hc_file_leave_near(const char *path) {
    char *folder = hc_file_near(path, false);
    size_t least = folder != NULL && in_mirror(folder) ? (size_t)(strstr(folder, MIRROR "/vsi") - folder) : 0;
    while (least > 0 && strlen(folder) > least && rmdir(folder) == 0) {
        *strrchr(folder, '/') = '\0';
    }
    free(folder);
}

/* ---- what is there ---- */

HcStatus hc_file_look_remote(const char *path, struct stat *info, bool *there, HcError *err) {
    int64_t size = 0, modified = 0;
    *info = (struct stat){0};
    HC_OR_RETURN(hc_remote_look_up(path, there, &size, &modified, err));
    info->st_mode = S_IFREG | 0644;
    info->st_nlink = 1;
    info->st_dev = (dev_t)-1; /* device and inode identify a file */
    info->st_ino = (ino_t)XXH64(path, strlen(path), 0);
    info->st_size = (off_t)size;
    info->st_mtim.tv_sec = (time_t)modified;
    return HC_OK;
}

static HcStatus read_once(const char *path, size_t limit, char **data, size_t *bytes, HcError *err) {
    HcStatus status = HC_OK;
    HcRemote *file = NULL;
    HcError why = {0};
    struct stat info;
    bool there = false;
    *data = NULL;
    HC_TRY(hc_file_look_remote(path, &info, &there, err));
    if (!there || (size_t)info.st_size > limit) {
        HC_TRY(hc_fail(err, HC_E_INPUT,
                       there ? "%s: more than the %zu bytes that such a file may have"
                             : "%s: there is no such file",
                       path, limit));
    }
    *data = calloc((size_t)info.st_size + 1, 1);
    HC_TRY(*data != NULL ? HC_OK : hc_fail_memory(err, (double)info.st_size, path));
    HC_TRY(hc_remote_open(&file, path, err));
    if (info.st_size > 0 && hc_remote_read(file, *data, info.st_size, 0, &why) != HC_OK) {
        HC_TRY(hc_fail(err, why.status, "%s: %s", path, why.text));
    }
    *bytes = (size_t)info.st_size;
done:
    hc_remote_close(file);
    if (status != HC_OK) {
        free(*data);
        *data = NULL;
    }
    return status;
}

/* Another process may replace the file meanwhile: bytes of the new one would be cut at the size of the old.
 */
HcStatus hc_file_read_remote(const char *path, size_t limit, char **data, size_t *bytes, HcError *err) {
    enum { TRIES = 5 };
    for (int tries = 0; tries < TRIES; tries++) {
        HcError unknown = {0}; /* the next call says why */
        char *before = NULL, *after = NULL;
        bool known = hc_remote_state(path, &before, &unknown) == HC_OK;
        HcStatus status = read_once(path, limit, data, bytes, err);
        status = status == HC_OK ? hc_remote_state(path, &after, err) : status;
        bool same = status == HC_OK && known && strcmp(before, after) == 0;
        free(before);
        free(after);
        if (same) {
            return HC_OK;
        }
        free(*data);
        *data = NULL;
        HC_OR_RETURN(status);
    }
    return hc_fail(err, HC_E_INPUT, "%s: it changed each of %d times that it was read", path, TRIES);
}

/* ---- markers ---- */

static char *marker_of(const char *path) {
    const char *base = hc_file_base(path);
    return hc_text_format("%.*s.%s.hcube-upload", (int)(base - path), path, base);
}

/* A record is replaced by whoever replaces what it describes, and needs none. */
static bool needs_marker(const char *path) {
    return !hc_text_ends_with(path, RECORD);
}

HcStatus hc_file_is_left(const char *path, bool *there, HcError *err) {
    struct stat info;
    char *marker = marker_of(path);
    *there = false;
    HcStatus status = !hc_remote_is(path) || !needs_marker(path) ? HC_OK
                      : marker != NULL ? hc_file_look_remote(marker, &info, there, err)
                                       : hc_fail_memory(err, (double)strlen(path), "a file name");
    free(marker);
    return status;
}

HcStatus hc_file_check_remote(const char *path, bool overwrite, HcError *err) {
    struct stat info;
    bool there = false, left = false;
    HC_OR_RETURN(hc_file_look_remote(path, &info, &there, err));
    if (there && !overwrite) {
        HC_OR_RETURN(hc_file_is_left(path, &left, err));
    }
    return there && !overwrite && !left ? hc_file_fail_exists(err, path) : HC_OK;
}

static HcStatus put_marker(const char *path, const char *near, HcError *err) {
    HcStatus status = HC_OK;
    HcError why = {0};
    static const char text[] =
        "hcube is sending this file, or was killed meanwhile: the next run replaces it\n";
    char *marker = marker_of(path), *local = hc_text_format("%s.hcube-upload", near);
    FILE *file = local != NULL ? fopen(local, "we") : NULL;
    if (marker == NULL || local == NULL) {
        HC_TRY(hc_fail_memory(err, (double)strlen(path), "a file name"));
    }
    if (file == NULL || fputs(text, file) < 0 || fflush(file) != 0) {
        HC_TRY(hc_file_fail(err, HC_E_IO, local, errno));
    }
    if (hc_remote_put(marker, local, &why) != HC_OK) {
        HC_TRY(hc_fail(err, why.status, "%s: %s", path, why.text));
    }
done:
    if (file != NULL) {
        fclose(file);
        unlink(local);
    }
    free(marker);
    free(local);
    return status;
}

HcStatus hc_file_begin_upload(const char *path, const char *near, bool overwrite, bool *fresh, bool *left,
                              HcError *err) {
    struct stat info;
    bool there = false;
    HC_OR_RETURN(hc_file_look_remote(path, &info, &there, err));
    HC_OR_RETURN(hc_file_is_left(path, left, err));
    *fresh = !there || *left;
    if (there && !overwrite && !*left) {
        return hc_file_fail_exists(err, path);
    }
    if (*left) {
        hc_remote_abort(path);
    }
    return needs_marker(path) && !*left ? put_marker(path, near, err) : HC_OK;
}

void hc_file_end_upload(const char *path) {
    HcError unimportant = {0};
    char *marker = hc_remote_is(path) && needs_marker(path) ? marker_of(path) : NULL;
    if (marker != NULL) {
        (void)!hc_remote_remove(marker, &unimportant);
    }
    free(marker);
}

HcStatus hc_file_upload(const char *from, const char *to, const char *name, HcError *err) {
    HcStatus status = HC_OK;
    HcError why = {0};
    char *source = NULL, *target = NULL;
    HC_TRY(hc_file_join(from, name, &source, err));
    HC_TRY(hc_file_join(to, name, &target, err));
    if (hc_remote_put(target, source, &why) != HC_OK) {
        HC_TRY(hc_fail(err, why.status, "%s: %s", target, why.text));
    }
done:
    free(source);
    free(target);
    return status;
}

void hc_file_remove(const char *path) {
    HcError unimportant = {0};
    if (hc_remote_is(path)) {
        (void)!hc_remote_remove(path, &unimportant);
    } else {
        unlink(path);
    }
}
