/* What stands out in a folder: names of partials, and of what is neither a file nor a folder. Each output
 * asks for it some ten times. In an archive that would be ten looks at all names of all scenes before it. So
 * what a look has found is used again while the folder does not change. Who only cleans up after dead
 * processes takes a look at a large folder for some calls more, in proportion to what it took. */
#include "io/file/parts.h"
#include "core/text.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

enum {
    FOLDERS = 8,         /* that are known at the same time */
    ENTRIES_A_CALL = 256 /* entries that cost nothing to look at */
};

typedef struct Folder {
    char *path; /* with device and number, which are given to other folders again; NULL = none */
    dev_t device;
    ino_t number;
    struct timespec changed;
    bool settled; /* it had not changed for a while: a later change has another time */
    char **name;  /* [count] */
    size_t count;
    size_t calls;       /* for which it may still be used once it has changed */
    unsigned long used; /* when it was used last, in calls */
} Folder;

static pthread_mutex_t folders_lock = PTHREAD_MUTEX_INITIALIZER;
static Folder folders[FOLDERS];
static unsigned long call_count;
static unsigned long deaths; /* after which all was forgotten */

static void forget(Folder *folder) {
    hc_file_list_free(folder->name, folder->count);
    free(folder->path);
    *folder = (Folder){0};
}

/* ---- a look ---- */

static bool stands_out(const struct dirent *entry) {
    return (entry->d_type != DT_REG && entry->d_type != DT_DIR) ||
           (entry->d_name[0] == '.' && hc_text_ends_with(entry->d_name, ".partial"));
}

/* Times of files go on in steps, of 2 s on some file systems. */
static bool is_settled(const struct timespec *changed) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    double seconds = (double)(now.tv_sec - changed->tv_sec) + 1e-9 * (double)(now.tv_nsec - changed->tv_nsec);
    return seconds > 3;
}

/* False when memory ran out. A folder that cannot be read has no names. */
static bool look(Folder *folder, const char *path, const struct stat *info) {
    size_t entries = 0;
    bool good = (folder->path = strdup(path)) != NULL;
    folder->device = info->st_dev;
    folder->number = info->st_ino;
    folder->changed = info->st_mtim;
    folder->settled = is_settled(&info->st_mtim);
    DIR *handle = opendir(path);
    for (struct dirent *entry = NULL; good && handle != NULL && (entry = readdir(handle)) != NULL;
         entries++) {
        good = !stands_out(entry) || hc_file_list_add(&folder->name, &folder->count, entry->d_name);
    }
    if (handle != NULL) {
        closedir(handle);
    }
    folder->calls = entries / ENTRIES_A_CALL;
    return good;
}

/* False when memory ran out. */
static bool copy_names(const Folder *folder, const char *beginning, size_t length, char ***names,
                       size_t *count) {
    bool good = true;
    for (size_t n = 0; n < folder->count && good; n++) {
        good = strncasecmp(folder->name[n], beginning, length) != 0 ||
               hc_file_list_add(names, count, folder->name[n]);
    }
    return good;
}

/* ---- what is known; under the lock ---- */

static bool is_same(const Folder *folder, const char *path, const struct stat *info) {
    return folder->path != NULL && folder->device == info->st_dev && folder->number == info->st_ino &&
           strcmp(folder->path, path) == 0;
}

/* The place of that folder, or that which was used longest ago. */
static Folder *place_of(const char *path, const struct stat *info) {
    Folder *oldest = &folders[0];
    for (int f = 0; f < FOLDERS; f++) {
        if (is_same(&folders[f], path, info)) {
            return &folders[f];
        }
        oldest = folders[f].used < oldest->used ? &folders[f] : oldest;
    }
    return oldest;
}

/* Whether what is known still holds, or is good enough. */
static bool serves(Folder *folder, const char *path, const struct stat *info, bool as_it_is) {
    if (!is_same(folder, path, info)) {
        return false;
    }
    if (folder->settled && folder->changed.tv_sec == info->st_mtim.tv_sec &&
        folder->changed.tv_nsec == info->st_mtim.tv_nsec) {
        return true;
    }
    return !as_it_is && folder->calls > 0 && folder->calls-- > 0;
}

bool hc_file_odd_names(const char *path, const char *beginning, size_t length, bool as_it_is, char ***names,
                       size_t *count) {
    struct stat info;
    bool good = true;
    *names = NULL;
    *count = 0;
    if (stat(path, &info) != 0) {
        return true;
    }
    pthread_mutex_lock(&folders_lock);
    Folder *folder = place_of(path, &info);
    bool known = serves(folder, path, &info, as_it_is);
    const unsigned long before = deaths;
    if (known) {
        folder->used = ++call_count;
        good = copy_names(folder, beginning, length, names, count);
    }
    pthread_mutex_unlock(&folders_lock);
    if (known) {
        return good;
    }
    Folder fresh = {0};
    good = look(&fresh, path, &info) && copy_names(&fresh, beginning, length, names, count);
    if (!good) {
        forget(&fresh);
        return false;
    }
    pthread_mutex_lock(&folders_lock);
    if (deaths == before) {
        folder = place_of(path, &info);
        forget(folder);
        *folder = fresh;
        folder->used = ++call_count;
    } else { /* somebody died while this was looked at */
        forget(&fresh);
    }
    pthread_mutex_unlock(&folders_lock);
    return true;
}

void hc_file_look_anew(void) {
    pthread_mutex_lock(&folders_lock);
    deaths++;
    for (int f = 0; f < FOLDERS; f++) {
        forget(&folders[f]);
    }
    pthread_mutex_unlock(&folders_lock);
}

/* ---- pipes beside a file ---- */

HcStatus hc_file_check_companions(const char *path, HcError *err) {
    HcStatus status = hc_file_check_regular(path, err);
    const char *name = hc_file_base(path);
    const char *dot = strrchr(name, '.');
    size_t stem = dot != NULL && dot > name ? (size_t)(dot - name) : strlen(name);
    char *folder = status == HC_OK && strncmp(path, "/vsi", 4) != 0 ? hc_file_folder(path) : NULL;
    char **names = NULL;
    size_t count = 0;
    if (folder != NULL && !hc_file_odd_names(folder, name, stem, true, &names, &count)) {
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
