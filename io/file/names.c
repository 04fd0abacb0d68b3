/* Names of folders, for one look at many files: each scene of a batch asks for some 40 names that are not
 * there, and GDAL and the system would look for each. A folder is listed once, after it was asked often. */
#include "io/file.h"

#include <dirent.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    FOLDERS_MAX = 256, /* further ones are asked file by file */
    ASKED_MIN = 100    /* questions from which on a list pays */
};

typedef struct Folder {
    char *path; /* with its slash, "" = the current one */
    struct dirent **name;
    int count; /* 0 = not listed */
    int32_t asked;
} Folder;

static _Thread_local Folder folders[FOLDERS_MAX];
static _Thread_local int32_t folder_count, depth;

void hc_file_names_begin(void) {
    depth++;
}

void hc_file_names_end(void) {
    if (--depth > 0) {
        return;
    }
    while (folder_count > 0) {
        Folder *folder = &folders[--folder_count];
        for (int n = 0; n < folder->count; n++) {
            free(folder->name[n]);
        }
        free(folder->name);
        free(folder->path);
        *folder = (Folder){0};
    }
}

/* Some file systems ignore the case of names: a name in another case may be the file. */
static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcasecmp((*a)->d_name, (*b)->d_name);
}

static int compare_with(const void *name, const void *entry) {
    return strcasecmp(name, (*(struct dirent *const *)entry)->d_name);
}

/* A folder that cannot be listed as a whole is asked file by file. */
static void list_names(Folder *folder) {
    int count = scandir(folder->path[0] != '\0' ? folder->path : ".", &folder->name, NULL, by_name);
    folder->count = count > 0 ? count : 0;
}

/* NULL where the folders are too many, or there is no memory for one more. */
static Folder *folder_of(const char *path, size_t length) {
    for (int32_t f = folder_count; f-- > 0;) {
        if (strncmp(folders[f].path, path, length) == 0 && folders[f].path[length] == '\0') {
            return &folders[f];
        }
    }
    if (folder_count == FOLDERS_MAX || (folders[folder_count].path = strndup(path, length)) == NULL) {
        return NULL;
    }
    return &folders[folder_count++];
}

bool hc_file_is_unlisted(const char *path) {
    if (depth == 0 || strncmp(path, "/vsi", 4) == 0) {
        return false;
    }
    const char *name = hc_file_base(path);
    Folder *folder = folder_of(path, (size_t)(name - path));
    if (folder == NULL || name[0] == '\0') {
        return false;
    }
    if (folder->asked < ASKED_MIN && ++folder->asked == ASKED_MIN) {
        list_names(folder);
    }
    return folder->count > 0 &&
           bsearch(name, folder->name, (size_t)folder->count, sizeof *folder->name, compare_with) == NULL;
}
