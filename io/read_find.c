/* Which file holds the data of a header, and which header describes a data file. */
#include "io/read_parts.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const extensions[] = {"img", "dat", "raw", "bsq",  "bil", "bip",
                                         "bin", "rdn", "rfl", "cube", "fla", NULL};

bool hc_read_is_file(const char *path, int64_t *size, int64_t *modified) {
    VSIStatBufL stat;
    memset(&stat, 0, sizeof stat);
    if (VSIStatL(path, &stat) != 0 || S_ISDIR(stat.st_mode)) {
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

bool hc_read_is_envi(const char *path) {
    char begin[64];
    VSILFILE *file = hc_read_is_file(path, NULL, NULL) ? VSIFOpenL(path, "rb") : NULL;
    if (file == NULL) {
        return false;
    }
    size_t bytes = VSIFReadL(begin, 1, sizeof begin, file);
    VSIFCloseL(file);
    return hc_envi_recognise(begin, bytes);
}

/* Adds `path` if there is such a file and it is not in the list yet. */
static char **add_if_there(char **list, const char *path) {
    if (hc_read_is_file(path, NULL, NULL) && CSLFindString(list, path) < 0) {
        list = CSLAddString(list, path);
    }
    return list;
}

char **hc_read_find_sure(const char *header_path) {
    char **list = NULL;
    char *stem = CPLStrdup(header_path);
    stem[strlen(stem) - 4] = '\0'; /* .hdr */
    list = add_if_there(list, stem);
    for (int i = 0; extensions[i] != NULL; i++) {
        char upper[16];
        size_t length = strlen(extensions[i]);
        for (size_t c = 0; c <= length; c++) {
            upper[c] = (char)(extensions[i][c] >= 'a' && extensions[i][c] <= 'z' ? extensions[i][c] - 32
                                                                                 : extensions[i][c]);
        }
        const char *both[] = {extensions[i], upper};
        for (int k = 0; k < 2; k++) {
            char *path = CPLStrdup(CPLSPrintf("%s.%s", stem, both[k]));
            list = add_if_there(list, path);
            CPLFree(path);
        }
    }
    CPLFree(stem);
    return list;
}

bool hc_read_is_companion(const char *name) {
    static const char *const endings[] = {".hdr", ".sta", ".enp", ".xml", ".json", ".txt",
                                          ".prj", ".ovr", ".csv", ".log", ".sli",  NULL};
    for (int i = 0; endings[i] != NULL; i++) {
        if (hc_text_ends_with(name, endings[i])) {
            return true;
        }
    }
    return false;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **hc_read_find_other(const char *header_path) {
    char **list = NULL;
    char *folder = CPLStrdup(CPLGetPath(header_path));
    char *stem = CPLStrdup(CPLGetBasename(header_path));
    size_t length = strlen(stem);
    char **names = VSIReadDir(folder[0] != '\0' ? folder : ".");
    if (names != NULL) {
        qsort(names, (size_t)CSLCount(names), sizeof *names, compare_names);
    }
    for (int i = 0; names != NULL && names[i] != NULL; i++) {
        if (strncmp(names[i], stem, length) != 0 || names[i][length] != '.' ||
            hc_read_is_companion(names[i])) {
            continue;
        }
        char *path = CPLStrdup(CPLFormFilename(folder, names[i], NULL));
        list = add_if_there(list, path);
        CPLFree(path);
    }
    CSLDestroy(names);
    CPLFree(stem);
    CPLFree(folder);
    return list;
}

char *hc_read_find_header(const char *data_path) {
    static const char *const cases[] = {"hdr", "HDR"};
    for (int c = 0; c < 2; c++) {
        char *path = CPLStrdup(CPLSPrintf("%s.%s", data_path, cases[c]));
        if (hc_read_is_envi(path)) {
            return path;
        }
        CPLFree(path);
        path = CPLStrdup(CPLResetExtension(data_path, cases[c]));
        if (strcmp(path, data_path) != 0 && hc_read_is_envi(path)) {
            return path;
        }
        CPLFree(path);
    }
    return NULL;
}
