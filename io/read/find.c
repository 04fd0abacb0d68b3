/* Which file holds the data of a header, and which header describes a data file. */
#include "core/text.h"
#include "io/chunk/zarr.h"
#include "io/file.h"
#include "io/gdal/files.h"
#include "io/read/parts.h"
#include "core/compare.h"

#include <cpl_string.h>
#include <cpl_vsi.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const extensions[] = {"img", "dat", "raw", "bsq",  "bil", "bip",
                                         "bin", "rdn", "rfl", "cube", "fla", NULL};

bool hc_read_is_file(const char *path, int64_t *size, int64_t *modified) {
    VSIStatBufL stat;
    if (hc_file_is_unlisted(path) || !hc_gdal_stat(path, &stat, 0) || S_ISDIR(stat.st_mode) ||
        hc_file_is_special(path)) {
        return false;
    }
    if (size != NULL) {
        *size = (int64_t)stat.st_size;
    }
    if (modified != NULL) {
        *modified = (int64_t)stat.st_mtime;
    }
    return true;
}

/* The first `most` bytes of a file, or as many as it has; *bytes is 0 for what is no file, or may not be
 * read. Fails where memory, descriptors or the disk do. */
static HcStatus first_bytes(const char *path, char *begin, size_t most, size_t *bytes, HcError *err) {
    *bytes = 0;
    if (!hc_read_is_file(path, NULL, NULL)) {
        return HC_OK;
    }
    errno = 0;
    VSILFILE *file = VSIFOpenL(path, "rb");
    if (file == NULL) {
        HcStatus status = hc_errno_status(errno, HC_OK);
        return status == HC_OK ? HC_OK
                               : hc_fail(err, status, "%s: cannot be opened: %s", path, strerror(errno));
    }
    *bytes = VSIFReadL(begin, 1, most, file);
    char more = 0; /* in an archive the end shows at the next read only */
    bool ended = *bytes == most || VSIFEofL(file) || (VSIFReadL(&more, 1, 1, file) == 0 && VSIFEofL(file));
    VSIFCloseL(file);
    return ended ? HC_OK : hc_fail(err, HC_E_IO, "%s: cannot be read", path);
}

static bool begins_with(const char *begin, size_t bytes, const char *signature, size_t length) {
    return bytes >= length && memcmp(begin, signature, length) == 0;
}

/* Whether no byte is a control character, which numbers in binary have. */
static bool is_text(const char *begin, size_t bytes) {
    size_t i = 0;
    while (i < bytes && ((unsigned char)begin[i] >= ' ' || strchr("\t\r\n", begin[i]) != NULL) &&
           begin[i] != '\0') {
        i++;
    }
    return i == bytes && bytes > 0;
}

/* By signatures that raw values hardly have. */
static bool is_raster(const char *begin, size_t bytes) {
    return begins_with(begin, bytes, "II*\0", 4) || begins_with(begin, bytes, "MM\0*", 4) ||
           begins_with(begin, bytes, "II+\0\x08", 5) || begins_with(begin, bytes, "MM\0+\0\x08", 6) ||
           begins_with(begin, bytes, "\x89PNG\r\n\x1a\n", 8) ||
           begins_with(begin, bytes, "\xFF\xD8\xFF", 3) ||
           begins_with(begin, bytes, "\0\0\0\x0CjP  \r\n\x87\n", 12) ||
           begins_with(begin, bytes, "NITF0", 5) || begins_with(begin, bytes, "EHFA_HEADER_TAG", 15) ||
           begins_with(begin, bytes, "CDF\x01", 4) || begins_with(begin, bytes, "CDF\x02", 4);
}

HcStatus hc_read_kind(const char *path, HcFileKind *kind, HcError *err) {
    char begin[64];
    size_t bytes = 0;
    *kind = HC_KIND_OTHER;
    HC_OR_RETURN(first_bytes(path, begin, sizeof begin, &bytes, err));
    if (bytes == 0 && hc_zarr_is(path)) {
        *kind = HC_KIND_ZARR;
    } else if (begins_with(begin, bytes, "\x89HDF\r\n\x1a\n", 8)) {
        *kind = HC_KIND_HDF5;
    } else if (begins_with(begin, bytes, "PK\x03\x04", 4)) {
        *kind = HC_KIND_ARCHIVE;
    } else if (hc_envi_recognise(begin, bytes)) {
        *kind = HC_KIND_ENVI;
    } else if (begins_with(begin, bytes, "\x1F\x8B", 2)) {
        *kind = HC_KIND_GZIP;
    } else if (is_raster(begin, bytes)) {
        *kind = HC_KIND_RASTER;
    } else if (begins_with(begin, bytes, "ENVI META FILE", 14)) {
        *kind = HC_KIND_META;
    } else if (is_text(begin, bytes)) {
        *kind = HC_KIND_TEXT;
    }
    return HC_OK;
}

HcStatus hc_read_is_envi(const char *path, bool *is, HcError *err) {
    HcFileKind kind;
    HcStatus status = hc_read_kind(path, &kind, err);
    *is = kind == HC_KIND_ENVI;
    return status;
}

static HcStatus fail_path(const char *path, HcError *err) {
    return hc_fail_memory(err, (double)strlen(path), "a path");
}

/* Adds the path, which is taken, if there is such a file and it is not in the list yet. NULL: no memory. */
static HcStatus add_if_there(char ***list, char *path, const char *of, HcError *err) {
    bool failed = path == NULL;
    if (!failed && hc_read_is_file(path, NULL, NULL) && CSLFindString(*list, path) < 0) {
        char **longer = CSLAddStringMayFail(*list, path); /* NULL leaves the list */
        failed = longer == NULL;
        *list = failed ? *list : longer;
    }
    free(path);
    return failed ? fail_path(of, err) : HC_OK;
}

HcStatus hc_read_find_sure(const char *header_path, char ***list, HcError *err) {
    int stem = (int)strlen(header_path) - 4; /* .hdr */
    *list = NULL;
    HC_OR_RETURN(add_if_there(list, hc_text_format("%.*s", stem, header_path), header_path, err));
    for (int i = 0; extensions[i] != NULL; i++) {
        char upper[16];
        size_t length = strlen(extensions[i]);
        for (size_t c = 0; c <= length; c++) {
            upper[c] = (char)(extensions[i][c] >= 'a' && extensions[i][c] <= 'z' ? extensions[i][c] - 32
                                                                                 : extensions[i][c]);
        }
        const char *both[] = {extensions[i], upper};
        for (int k = 0; k < 2; k++) {
            char *path = hc_text_format("%.*s.%s", stem, header_path, both[k]);
            HC_OR_RETURN(add_if_there(list, path, header_path, err));
        }
    }
    return HC_OK;
}

bool hc_read_is_companion(const char *name) {
    static const char *const endings[] = {".hdr", ".sta", ".enp", ".xml", ".json", ".txt", ".prj",
                                          ".ovr", ".csv", ".log", ".sli", ".qml",  NULL};
    for (int i = 0; endings[i] != NULL; i++) {
        if (hc_text_ends_with(name, endings[i])) {
            return true;
        }
    }
    return false;
}

HcStatus hc_read_find_other(const char *header_path, char ***list, HcError *err) {
    HcStatus status = HC_OK;
    const char *stem = hc_file_base(header_path);
    size_t length = strlen(stem) - 4; /* .hdr */
    char **names = NULL;
    char *folder = hc_file_folder(header_path);
    *list = NULL;
    if (folder == NULL) {
        HC_TRY(fail_path(header_path, err));
    }
    names = VSIReadDir(folder);
    if (names != NULL) {
        qsort(names, (size_t)CSLCount(names), sizeof *names, hc_compare_texts);
    }
    for (int i = 0; names != NULL && names[i] != NULL; i++) {
        if (strncmp(names[i], stem, length) != 0 || names[i][length] != '.' ||
            hc_read_is_companion(names[i])) {
            continue;
        }
        HC_TRY(add_if_there(list, hc_text_format("%.*s%s", (int)(stem - header_path), header_path, names[i]),
                            header_path, err));
    }
done:
    CSLDestroy(names);
    free(folder);
    return status;
}

/* Where the ending of a path begins, or its end. */
static int stem_of(const char *path) {
    const char *dot = strrchr(hc_file_base(path), '.');
    return (int)(dot != NULL ? (size_t)(dot - path) : strlen(path));
}

HcStatus hc_read_find_header(const char *data_path, char **out, HcError *err) {
    static const char *const cases[] = {"hdr", "HDR"};
    HcStatus status = HC_OK;
    *out = NULL;
    for (int c = 0; c < 4 && status == HC_OK; c++) {
        const char *ending = cases[c / 2];
        bool is = false;
        int stem = c % 2 == 0 ? (int)strlen(data_path) : stem_of(data_path);
        char *path = hc_text_format("%.*s.%s", stem, data_path, ending);
        if (path == NULL) {
            return fail_path(data_path, err);
        }
        status = strcmp(path, data_path) != 0 ? hc_read_is_envi(path, &is, err) : HC_OK;
        if (is) {
            *out = path;
            break;
        }
        free(path);
    }
    return status;
}
