/* The list of inputs counts every file that GDAL or a header brings along: an output that replaces one
 * destroys what is still read. A file that cannot be looked at is a failure: taken for missing it would lose
 * its protection. */
#include "io/guard/guard.h"
#include "io/file_use.h"
#include "core/text.h"
#include "io/file.h"
#include "io/file/parts.h"
#include "io/gdal/errors.h"
#include "io/read/parts.h"

#include <cpl_string.h>
#include <errno.h>
#include <gdal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Servers are not asked: an object is known by its name alone. */
static HcStatus look_here(const char *path, struct stat *info, bool *there, HcError *err) {
    *there = false;
    return hc_remote_is(path) ? HC_OK : hc_file_look(path, info, there, err);
}

static HcStatus add_local(HcFileUse *use, const char *path, HcError *err) {
    struct stat info;
    bool there;
    HC_OR_RETURN(look_here(path, &info, &there, err));
    return there && !hc_paths_has(&use->reads, path) ? hc_paths_add(&use->reads, path, err) : HC_OK;
}

/* Cuts a text at its end until it names a file; *found is false when it never does. */
static HcStatus cut_to_file(char *text, bool *found, HcError *err) {
    struct stat info;
    *found = false;
    for (size_t length = strlen(text); length > 0 && !*found; length--) {
        if (text[length] == '\0' || strchr("/:\"'}", text[length]) != NULL) {
            text[length] = '\0';
            HC_OR_RETURN(look_here(text, &info, found, err));
            *found = *found && S_ISREG(info.st_mode);
        }
    }
    return HC_OK;
}

/* The local file in a path that only GDAL understands: a.zip of /vsizip/a.zip/b.img, a.h5 of
 * HDF5:a.h5://cube. */
static HcStatus add_contained(HcFileUse *use, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    bool found = false;
    for (size_t b = 0; path[b] != '\0' && !found; b++) {
        if (b > 0 && path[b] != '/' && strchr(":\"'{/", path[b - 1]) == NULL) {
            continue;
        }
        char *text = strdup(path + b);
        HC_OR_RETURN(hc_text_made(text, strlen(path), "a path", err));
        status = cut_to_file(text, &found, err);
        status = status == HC_OK && found ? add_local(use, text, err) : status;
        free(text);
        HC_OR_RETURN(status);
    }
    return status;
}

static GDALDatasetH open_quietly(const char *path, HcGdalErrors *messages) {
    hc_gdal_catch(messages);
    hc_guard_allow_external(true); /* a list of files shows no bytes of them */
    GDALDatasetH dataset =
        hc_guard_open(path, GDAL_OF_RASTER | GDAL_OF_VECTOR | GDAL_OF_READONLY, NULL, NULL);
    hc_guard_allow_external(false);
    hc_gdal_release();
    return dataset;
}

/* What GDAL counts to a raster or to vector data. A file that it does not open is tried again: descriptors
 * that were missing once leave no message. */
static HcStatus add_gdal_files(HcFileUse *use, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    GDALDatasetH dataset = open_quietly(path, &messages);
    if (dataset == NULL) {
        HC_OR_RETURN(hc_read_check_readable(path, &messages, err));
        dataset = open_quietly(path, &messages);
    }
    hc_gdal_catch(&messages);
    char **files = dataset != NULL ? GDALGetFileList(dataset) : NULL;
    GDALClose(dataset);
    hc_gdal_release();
    for (int f = 0; files != NULL && files[f] != NULL; f++) {
        HC_TRY(add_local(use, files[f], err));
    }
done:
    CSLDestroy(files);
    return status;
}

HcStatus hc_file_use_read_all(HcFileUse *use, const HcPaths *paths, HcError *err) {
    struct stat info;
    bool there;
    for (int32_t p = 0; p < paths->count; p++) {
        HC_OR_RETURN(look_here(paths->path[p], &info, &there, err));
        HC_OR_RETURN(there ? add_local(use, paths->path[p], err) : add_contained(use, paths->path[p], err));
    }
    return HC_OK;
}

HcStatus hc_file_use_read(HcFileUse *use, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    HcPaths files = {0};
    struct stat info;
    bool there;
    HC_OR_RETURN(look_here(path, &info, &there, err));
    if (!there) {
        return add_contained(use, path, err);
    }
    HC_TRY(hc_scene_files(path, &files, err));
    HC_TRY(hc_file_use_read_all(use, &files, err));
    HC_TRY(add_local(use, path, err));
    /* A pipe would wait for its other end. */
    if (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) {
        HC_TRY(add_gdal_files(use, path, err));
    }
done:
    hc_paths_clear(&files);
    return status;
}

const char *hc_paths_find_place(const HcPaths *paths, const char *path) {
    for (int32_t p = 0; p < paths->count; p++) {
        if (hc_file_same_place(paths->path[p], path)) {
            return paths->path[p];
        }
    }
    return NULL;
}

/* Whether a path leads into a folder. */
static bool lies_in(const char *path, const char *folder) {
    char found[HC_FILE_PATH];
    bool in = false;
    if (realpath(path, found) != NULL) {
        for (char *slash = NULL; !in && (slash = strrchr(found, '/')) != NULL && slash > found;) {
            *slash = '\0';
            in = hc_file_same(found, folder);
        }
    }
    return in;
}

static HcStatus check_read(const HcFileUse *use, const char *who, const char *path, const char *replaced,
                           HcError *err) {
    const char *read = hc_paths_find_place(&use->reads, replaced);
    bool whole = hc_file_is_store(replaced);
    for (int32_t p = 0; p < use->reads.count && whole && read == NULL; p++) {
        read = lies_in(use->reads.path[p], replaced) ? use->reads.path[p] : NULL;
    }
    if (read == NULL) {
        return HC_OK;
    }
    return strcmp(path, read) == 0
               ? hc_fail(err, HC_E_USAGE, "%s: %s: would replace this file, which is read", who, path)
               : hc_fail(err, HC_E_USAGE, "%s: %s: would replace %s, which is read", who, path, read);
}

HcStatus hc_file_use_write(HcFileUse *use, const char *who, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    char *sidecar = NULL;
    HC_TRY(check_read(use, who, path, path, err));
    for (size_t e = 0; hc_file_sidecars[e] != NULL; e++) {
        free(sidecar);
        sidecar = hc_text_format("%s%s", path, hc_file_sidecars[e]);
        HC_TRY(hc_text_made(sidecar, strlen(path), "a path", err));
        HC_TRY(check_read(use, who, path, sidecar, err));
    }
    if (hc_paths_find_place(&use->writes, path) != NULL) {
        HC_TRY(hc_fail(err, HC_E_USAGE, "%s: %s: is written already", who, path));
    }
    HC_TRY(hc_paths_add(&use->writes, path, err));
done:
    free(sidecar);
    return status;
}

void hc_file_use_clear(HcFileUse *use) {
    hc_paths_clear(&use->reads);
    hc_paths_clear(&use->writes);
}
