/* Patterns of files: those of glob, and ** for folders at any depth, which glob lacks. */
#include "app/batch/batch.h"
#include "io/file.h"
#include "io/gdal/errors.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Adds what a pattern without ** matches, in the order of the names. */
static HcStatus match_plain(const char *pattern, HcPaths *out, HcError *err) {
    HcStatus status = HC_OK;
    glob_t found = {0};
    int result = glob(pattern, 0, NULL, &found);
    if (result != 0 && result != GLOB_NOMATCH) {
        HC_TRY(result == GLOB_NOSPACE
                   ? hc_fail_memory(err, (double)strlen(pattern), "the files of a pattern")
                   : hc_fail(err, HC_E_IO, "batch: --scenes %s: a folder cannot be read", pattern));
    }
    for (size_t m = 0; result == 0 && m < found.gl_pathc; m++) {
        HC_TRY(hc_paths_add(out, found.gl_pathv[m], err));
    }
done:
    globfree(&found);
    return status;
}

/* The name of a folder as a pattern that matches it alone. */
static void add_escaped(HcText *text, const char *name) {
    for (const char *c = name; *c != '\0'; c++) {
        hc_text_add(text, strchr("*?[\\", *c) != NULL ? "\\%c" : "%c", *c);
    }
}

/* FOLDER/REST as a pattern; fresh memory, NULL when there is none left. */
static char *pattern_below(const char *folder, const char *rest) {
    HcText text = {0};
    add_escaped(&text, folder);
    bool slash = text.length > 0 && text.data[text.length - 1] != '/';
    hc_text_add(&text, "%s%s", slash ? "/" : "", rest);
    return hc_text_take(&text);
}

/* The folders in a folder ("" is the current one), by name: no hidden ones, and none that a link leads to,
 * which could lead in a circle. */
static HcStatus list_folders(const char *folder, HcPaths *out, HcError *err) {
    HcStatus status = HC_OK;
    char *path = NULL;
    const char *shown = folder[0] != '\0' ? folder : ".";
    DIR *open = opendir(shown);
    int number = open == NULL ? errno : 0;
    const struct dirent *entry = NULL;
    while (open != NULL && (errno = 0, entry = readdir(open)) != NULL) {
        struct stat info;
        if (entry->d_name[0] == '.') {
            continue;
        }
        free(path);
        bool slash = folder[0] != '\0' && folder[strlen(folder) - 1] != '/';
        path = hc_text_format("%s%s%s", folder, slash ? "/" : "", entry->d_name);
        HC_TRY(hc_text_made(path, 0, "a path", err));
        bool there = false;
        HC_TRY(hc_file_look_at_link(path, &info, &there, err));
        if (there && S_ISDIR(info.st_mode)) {
            HC_TRY(hc_paths_add(out, path, err));
        }
    }
    number = number != 0 ? number : errno;
    if (number != 0) {
        HC_TRY(hc_fail(err, hc_errno_status(number, HC_E_IO), "batch: --scenes: the folder %s: %s", shown,
                       strerror(number)));
    }
    hc_paths_sort(out);
done:
    free(path);
    if (open != NULL) {
        closedir(open);
    }
    return status;
}

HcStatus hc_batch_walk(const char *folder, HcPaths *out, HcPassedOver *passed, HcError *err) {
    HcStatus status = HC_OK;
    HcPaths folders = {0};
    HC_TRY(hc_batch_in_folder(folder, out, passed, err));
    HC_TRY(list_folders(folder, &folders, err));
    for (int32_t f = 0; f < folders.count; f++) {
        HC_TRY(hc_batch_walk(folders.path[f], out, passed, err));
    }
done:
    hc_paths_clear(&folders);
    return status;
}

int32_t hc_batch_count_folders(const char *folder) {
    HcPaths folders = {0};
    HcError unimportant = {0};
    int32_t count = list_folders(folder, &folders, &unimportant) == HC_OK ? folders.count : 0;
    hc_paths_clear(&folders);
    return count;
}

static HcStatus match_into(const char *pattern, HcPaths *out, HcError *err);

/* Matches the rest of a pattern in a folder and in all below it. */
static HcStatus match_below(const char *folder, const char *rest, HcPaths *out, HcError *err) {
    HcStatus status = HC_OK;
    HcPaths folders = {0};
    char *pattern = pattern_below(folder, rest);
    HC_TRY(hc_text_made(pattern, strlen(rest), "a pattern", err));
    HC_TRY(match_into(pattern, out, err));
    HC_TRY(list_folders(folder, &folders, err));
    for (int32_t f = 0; f < folders.count; f++) {
        HC_TRY(match_below(folders.path[f], rest, out, err));
    }
done:
    free(pattern);
    hc_paths_clear(&folders);
    return status;
}

/* Where a folder ** begins in a pattern, NULL = nowhere. */
static const char *find_deep(const char *pattern) {
    for (const char *at = strstr(pattern, "**"); at != NULL; at = strstr(at + 1, "**")) {
        if ((at == pattern || at[-1] == '/') && (at[2] == '/' || at[2] == '\0')) {
            return at;
        }
    }
    return NULL;
}

static HcStatus match_into(const char *pattern, HcPaths *out, HcError *err) {
    HcStatus status = HC_OK;
    HcPaths bases = {0};
    char *front = NULL;
    const char *deep = find_deep(pattern);
    if (deep == NULL) {
        return match_plain(pattern, out, err);
    }
    const char *rest = deep[2] == '/' ? deep + 3 + strspn(deep + 3, "/") : "*";
    if (deep == pattern) {
        return match_below("", rest, out, err);
    }
    front = hc_text_format("%.*s", (int)(deep - pattern), pattern);
    HC_TRY(hc_text_made(front, strlen(pattern), "a pattern", err));
    HC_TRY(match_plain(front, &bases, err));
    for (int32_t b = 0; b < bases.count; b++) {
        HC_TRY(match_below(bases.path[b], rest, out, err));
    }
done:
    free(front);
    hc_paths_clear(&bases);
    return status;
}

HcStatus hc_batch_match(const char *pattern, HcPaths *out, HcError *err) {
    HcStatus status = HC_OK;
    HcPaths all = {0};
    HC_TRY(match_into(pattern, &all, err));
    bool deep = find_deep(pattern) != NULL;
    if (deep) {
        hc_paths_sort(&all);
    }
    for (int32_t p = 0; p < all.count; p++) {
        /* By two ** a file may be found in two ways. */
        if (!deep || p == 0 || strcmp(all.path[p], all.path[p - 1]) != 0) {
            HC_TRY(hc_paths_add(out, all.path[p], err));
        }
    }
done:
    hc_paths_clear(&all);
    return status;
}

/* Whether a pattern names one file of an ENVI scene, and the path the other one. */
static bool is_other_file(const char *pattern, const char *path) {
    const char *dot = strrchr(path, '.');
    const char *other = strrchr(pattern, '.');
    bool header = hc_text_ends_with(path, ".hdr") || hc_text_ends_with(pattern, ".hdr");
    return header && dot != NULL && other != NULL && dot - path == other - pattern &&
           strncmp(path, pattern, (size_t)(dot - path)) == 0 && access(pattern, F_OK) == 0;
}

int32_t hc_batch_excluding(const HcOptionList *patterns, const char *path) {
    const char *name = hc_file_base(path);
    for (int32_t p = 0; p < patterns->count; p++) {
        const char *pattern = patterns->item[p];
        if (fnmatch(pattern, strchr(pattern, '/') != NULL ? path : name, 0) == 0 ||
            is_other_file(pattern, path)) {
            return p;
        }
    }
    return -1;
}
