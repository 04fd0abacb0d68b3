/* What stands out in a folder: names of partials, and of what is neither a file nor a folder. Each output
 * asks for it some ten times. In an archive that would be ten looks at all names of all scenes before it. So
 * what a look at a large folder has found is used for some calls more, in proportion to what it took. */
#include "io/file/parts.h"
#include "core/text.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum {
    FOLDERS = 8,         /* that are known at the same time */
    ENTRIES_A_CALL = 256 /* a look at so many is no matter: smaller folders are looked at in each call */
};

typedef struct Folder {
    char *path; /* with device and number, which are given to other folders again */
    dev_t device;
    ino_t number;
    char **name; /* [count] */
    size_t count, capacity;
    size_t calls;       /* for which it may still be used; 0 = it is not known */
    unsigned long used; /* when it was used last, in calls */
} Folder;

static pthread_mutex_t folders_lock = PTHREAD_MUTEX_INITIALIZER;
static Folder folders[FOLDERS];
static unsigned long call_count;

static void forget(Folder *folder) {
    hc_file_list_free(folder->name, folder->count);
    free(folder->path);
    *folder = (Folder){0};
}

static bool add_name(char ***name, size_t *count, size_t *capacity, const char *text) {
    if (*count == *capacity) {
        size_t more = *capacity * 2 + 16;
        char **grown = realloc(*name, more * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        *name = grown;
        *capacity = more;
    }
    return ((*name)[*count] = strdup(text)) != NULL && ++*count > 0;
}

static bool stands_out(const struct dirent *entry) {
    return (entry->d_type != DT_REG && entry->d_type != DT_DIR) ||
           (entry->d_name[0] == '.' && hc_text_ends_with(entry->d_name, ".partial"));
}

/* False when memory ran out. */
static bool look(Folder *folder, DIR *handle) {
    size_t entries = 0;
    bool good = true;
    for (struct dirent *entry = NULL; good && (entry = readdir(handle)) != NULL; entries++) {
        good =
            !stands_out(entry) || add_name(&folder->name, &folder->count, &folder->capacity, entry->d_name);
    }
    folder->calls = entries / ENTRIES_A_CALL;
    return good;
}

static bool is_known(const Folder *folder, const char *path, const struct stat *info) {
    return folder->calls > 0 && folder->device == info->st_dev && folder->number == info->st_ino &&
           strcmp(folder->path, path) == 0;
}

/* The one that is known, or that was used longest ago. */
static Folder *place_of(const char *path, const struct stat *info) {
    Folder *oldest = &folders[0];
    for (int f = 0; f < FOLDERS; f++) {
        if (is_known(&folders[f], path, info)) {
            return &folders[f];
        }
        oldest = folders[f].used < oldest->used ? &folders[f] : oldest;
    }
    return oldest;
}

/* The folder as it is, or was some calls ago; false when memory ran out. */
static bool bring(Folder **out, const char *path, const struct stat *info) {
    Folder *folder = place_of(path, info);
    bool good = true;
    if (is_known(folder, path, info)) {
        folder->calls--;
    } else {
        DIR *handle = opendir(path);
        forget(folder);
        folder->device = info->st_dev;
        folder->number = info->st_ino;
        if (handle != NULL) {
            good = (folder->path = strdup(path)) != NULL && look(folder, handle);
            closedir(handle);
        }
    }
    folder->used = ++call_count;
    *out = folder;
    return good;
}

bool hc_file_odd_names(const char *path, const char *beginning, size_t length, char ***names, size_t *count) {
    struct stat info;
    Folder *folder = NULL;
    size_t capacity = 0;
    *names = NULL;
    *count = 0;
    if (stat(path, &info) != 0) {
        return true;
    }
    pthread_mutex_lock(&folders_lock);
    bool good = bring(&folder, path, &info);
    for (size_t n = 0; n < folder->count && good; n++) {
        good = strncasecmp(folder->name[n], beginning, length) != 0 ||
               add_name(names, count, &capacity, folder->name[n]);
    }
    if (!good) {
        forget(folder);
    }
    pthread_mutex_unlock(&folders_lock);
    return good;
}

void hc_file_look_anew(const char *path) {
    struct stat info;
    char folder[HC_FILE_PATH];
    if (!hc_file_folder_into(folder, path) || stat(folder, &info) != 0) {
        return;
    }
    pthread_mutex_lock(&folders_lock);
    Folder *known = place_of(folder, &info);
    if (is_known(known, folder, &info)) {
        forget(known);
    }
    pthread_mutex_unlock(&folders_lock);
}

HcStatus hc_file_check_companions(const char *path, HcError *err) {
    HcStatus status = hc_file_check_regular(path, err);
    const char *name = hc_file_base(path);
    const char *dot = strrchr(name, '.');
    size_t stem = dot != NULL && dot > name ? (size_t)(dot - name) : strlen(name);
    char *folder = status == HC_OK && strncmp(path, "/vsi", 4) != 0 ? hc_file_folder(path) : NULL;
    char **names = NULL;
    size_t count = 0;
    if (folder != NULL && !hc_file_odd_names(folder, name, stem, &names, &count)) {
        status = hc_fail_memory(err, 0, "a file name");
    }
    for (size_t n = 0; n < count && status == HC_OK; n++) {
        char *other = hc_text_format("%s/%s", folder, names[n]);
        status = other != NULL ? hc_file_check_regular(other, err) : hc_fail_memory(err, 0, "a file name");
        free(other);
    }
    hc_file_list_free(names, count);
    free(folder);
    return status;
}
