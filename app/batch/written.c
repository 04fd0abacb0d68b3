/* Where a batch writes: folders that are made, and files of all scenes together (model, summary), which
 * replace nothing that is read. */
#include "app/batch/batch.h"
#include "io/file.h"
#include "io/gdal/errors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A file that is there and is to be replaced. */
typedef struct Taken {
    const char *option; /* that names it, or what it belongs to */
    const char *named;  /* its value, for messages */
    const char *path;
    bool linked; /* it has other names: files in any folder may be it */
} Taken;

/* Whether two paths name files of one folder; so they might where there is no memory left to see. */
static bool in_one_folder(const char *a, const char *b) {
    char *beside = hc_text_format("%.*s%s", (int)(hc_file_base(a) - a), a, hc_file_base(b));
    bool same = beside == NULL || hc_file_same_place(beside, b);
    free(beside);
    return same;
}

/* Refuses a file that a scene is made of, or that its chain reads. Companions are looked for only where one
 * of them may be it: it takes dozens of questions a scene. */
static HcStatus check_other(const char *path, void *user, HcError *err) {
    HcStatus status = HC_OK;
    const Taken *taken = user;
    HcPaths files = {0};
    bool same = hc_file_same(path, taken->path);
    if (!same && strncmp(path, "/vsi", 4) != 0 && (taken->linked || in_one_folder(path, taken->path))) {
        HC_TRY(hc_scene_files(path, &files, err));
    }
    for (int32_t f = 0; f < files.count; f++) {
        same = same || hc_file_same(files.path[f], taken->path);
    }
    if (same) {
        HC_TRY(hc_fail(err, HC_E_USAGE, "batch: --%s %s: would replace %s, which is read", taken->option,
                       taken->named, path));
    }
done:
    hc_paths_clear(&files);
    return status;
}

HcStatus hc_batch_check_written(const HcBatch *batch, const char *option, const char *value, const char *path,
                                HcError *err) {
    HcStatus status = HC_OK;
    HcChain *chain = NULL;
    struct stat info;
    Taken taken = {.option = option, .named = value, .path = path};
    bool there = false;
    HC_OR_RETURN(hc_file_look_at_link(path, &info, &there, err));
    if (!there) {
        return HC_OK;
    }
    taken.linked = S_ISLNK(info.st_mode) || info.st_nlink > 1;
    for (int32_t i = 0; i < batch->inputs.count; i++) {
        HC_TRY(check_other(batch->inputs.path[i], &taken, err));
    }
    for (int32_t s = 0; s < batch->scene_count; s++) {
        hc_chain_free(chain);
        chain = NULL;
        HC_TRY(hc_batch_chain(batch, s, &chain, err));
        for (int32_t t = 0; t < chain->count; t++) {
            const HcOptionSet set = {.table = chain->stages[t].kind->options,
                                     .params = chain->stages[t].params};
            HC_TRY(hc_options_files(&set, HC_FILE_READ, check_other, &taken, err));
        }
    }
done:
    hc_chain_free(chain);
    return status;
}

HcStatus hc_batch_make_folders(const char *output, HcError *err) {
    HcStatus status = HC_OK;
    char *path = strdup(output);
    HC_OR_RETURN(hc_text_made(path, strlen(output), "a path", err));
    bool local = strncmp(output, "/vsi", 4) != 0; /* objects need no folders */
    for (char *slash = strchr(path + strspn(path, "/"), '/'); local && slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST) {
            int number = errno;
            HC_TRY(hc_fail(err, hc_errno_status(number, HC_E_IO), "%s: the folder %s: %s", output, path,
                           strerror(number)));
        }
        *slash = '/';
    }
done:
    free(path);
    return status;
}
