/* The scenes of a batch and their outputs, and what must not be among them. */
#include "app/batch/batch.h"
#include "core/text.h"
#include "core/allocate.h"
#include "core/grow.h"
#include "io/chunk/zarr.h"
#include "io/file.h"
#include "io/gdal/remote.h"
#include "io/identity.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- scenes ---- */

/* A path a line; blanks around it do not count, nor do empty lines and those that begin with #. */
static HcStatus read_list(const char *path, HcPaths *out, HcError *err) {
    HcStatus status = HC_OK;
    char *text = NULL;
    char *rest = NULL;
    HC_TRY(hc_file_read(path, (size_t)1 << 30, &text, NULL, err));
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        size_t length = strlen(line);
        while (length > 0 && isspace((unsigned char)line[length - 1])) {
            line[--length] = '\0';
        }
        line += strspn(line, " \t");
        if (*line != '\0' && *line != '#') {
            HC_TRY(hc_paths_add(out, hc_remote_name(line), err));
        }
    }
done:
    free(text);
    return status;
}

static HcStatus match_pattern(const char *pattern, HcPaths *out, HcPassedOver *passed, HcError *err) {
    HcStatus status = HC_OK;
    HcPaths matched = {0};
    HC_TRY(hc_batch_match(pattern, &matched, err));
    HC_TRY(hc_scenes_among(&matched, pattern, out, passed, err));
done:
    hc_paths_clear(&matched);
    return status;
}

static HcStatus add_folder_scenes(HcBatch *batch, const char *folder, HcPaths *out, HcError *err) {
    return batch->params.recursive ? hc_batch_walk(folder, out, &batch->passed, err)
                                   : hc_batch_of_folder(folder, out, &batch->passed, err);
}

/* `searched`: hcube found the scenes, nobody named them one by one. */
static HcStatus find_scenes(HcBatch *batch, HcPaths *out, bool *searched, HcError *err) {
    const char *what = batch->params.scenes;
    HcIdentity identity;
    *searched = false;
    if (hc_batch_is_stac(batch)) {
        return hc_batch_find_stac(batch, out, err);
    }
    if (hc_zarr_is(what)) {
        return hc_paths_add(out, what, err);
    }
    *searched = true;
    if (hc_is_folder(what)) {
        batch->base = strlen(what);
        return add_folder_scenes(batch, what, out, err);
    }
    if (batch->params.recursive) {
        return hc_fail(err, HC_E_USAGE, "batch: --recursive: --scenes %s is no folder (a pattern has **)",
                       what);
    }
    HC_OR_RETURN(hc_identity_of(what, false, &identity, err));
    bool special = hc_file_is_special(what); /* a list may come through /dev/stdin */
    if (!identity.exists && !special && strpbrk(what, "*?[") != NULL) {
        for (const char *at = what; at < strpbrk(what, "*?["); at++) {
            batch->base = *at == '/' ? (size_t)(at - what) : batch->base;
        }
        return match_pattern(what, out, &batch->passed, err);
    }
    *searched = false;
    if (!identity.exists && !special) {
        return hc_fail(err, HC_E_INPUT, "batch: --scenes %s: there is no such list or folder", what);
    }
    bool is_scene = false;
    HC_OR_RETURN(hc_scene_recognise(what, &is_scene, err));
    if (is_scene || hc_batch_describes_product(what)) {
        return hc_paths_add(out, what, err);
    }
    HC_OR_RETURN(hc_paths_add(&batch->inputs, what, err));
    return read_list(what, out, err);
}

/* ---- outputs ---- */

static void clear_scenes(HcBatch *batch) {
    for (int32_t s = 0; s < batch->scene_count; s++) {
        free(batch->scenes[s].path);
        free(batch->scenes[s].output);
        free(batch->scenes[s].refused);
        free(batch->scenes[s].blocked);
    }
    free(batch->scenes);
    batch->scenes = NULL;
    batch->scene_count = 0;
}

/* Lets the scene fail; the others are processed. */
static HcStatus refuse(HcBatchScene *scene, char *why, HcError *err) {
    free(scene->refused);
    scene->refused = why;
    return why != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(scene->path), "a message");
}

static HcStatus set_scenes(HcBatch *batch, const HcPaths *paths, HcError *err) {
    clear_scenes(batch);
    HC_OR_RETURN(hc_new(batch->scenes, (size_t)paths->count + 1, "the list of scenes", err));
    for (int32_t s = 0; s < paths->count; s++) {
        HcBatchScene *scene = &batch->scenes[batch->scene_count++];
        scene->path = strdup(paths->path[s]);
        HC_OR_RETURN(hc_text_made(scene->path, strlen(paths->path[s]), "a path", err));
        HC_OR_RETURN(hc_batch_fill(batch, batch->params.output, s, NULL, &scene->output, err));
        const char *name = hc_file_base(scene->output);
        if (strcmp(scene->output, HC_FILE_STANDARD_OUTPUT) == 0) {
            return hc_fail(err, HC_E_USAGE,
                           "batch: --output -: a batch writes a file for each scene, as out/{stem}.tif");
        }
        if (strncmp(scene->output, "/vsi", 4) == 0 && !hc_remote_takes(scene->output)) {
            return hc_fail(err, HC_E_UNSUPPORTED,
                           "batch: --output %s: outputs are written to local files and object storage only",
                           scene->output);
        }
        if (hc_text_ends_with(name, ".hdr")) {
            return hc_fail(err, HC_E_USAGE, "batch: --output %s: name the data file and not its header",
                           scene->output);
        }
        if (strlen(name) > 200) {
            HC_OR_RETURN(refuse(
                scene, hc_text_format("--output %s: the name is longer than 200 bytes", scene->output), err));
        }
    }
    return HC_OK;
}

/* Without what does not change where a path leads: "./" and doubled slashes; fresh memory. */
static char *simplified(const char *path) {
    char *out = strdup(path);
    size_t length = 0;
    for (const char *c = path; out != NULL && *c != '\0'; c++) {
        bool begins = c == path || c[-1] == '/';
        bool here = begins && c[0] == '.' && c[1] == '/';
        if (here || (c > path && begins && *c == '/')) {
            c += here;
            continue;
        }
        out[length++] = *c;
        out[length] = '\0';
    }
    return out;
}

typedef struct Named {
    char *output;
    int32_t scene;
} Named;

static int by_output(const void *a, const void *b) {
    const Named *one = a;
    const Named *other = b;
    int order = strcmp(one->output, other->output);
    return order != 0 ? order : (one->scene > other->scene) - (one->scene < other->scene);
}

static HcStatus check_unique(const HcBatch *batch, HcError *err) {
    HcStatus status = HC_OK;
    size_t count = 0;
    Named *list = NULL;
    HC_TRY(hc_new(list, batch->scene_count, "the list of outputs", err));
    for (; count < (size_t)batch->scene_count; count++) {
        list[count] = (Named){.output = simplified(batch->scenes[count].output), .scene = (int32_t)count};
        HC_TRY(hc_text_made(list[count].output, 0, "the list of outputs", err));
    }
    qsort(list, count, sizeof *list, by_output);
    for (size_t s = 1; s < count; s++) {
        if (strcmp(list[s].output, list[s - 1].output) == 0) {
            HC_TRY(hc_fail(err, HC_E_USAGE, "batch: %s and %s would both become %s",
                           batch->scenes[list[s - 1].scene].path, batch->scenes[list[s].scene].path,
                           batch->scenes[list[s].scene].output));
        }
    }
done:
    for (size_t s = 0; s < count; s++) {
        free(list[s].output);
    }
    free(list);
    return status;
}

/* A file or folder by what it is, whatever leads there. */
typedef struct Place {
    dev_t device;
    ino_t number;
    int32_t scene;
} Place;

typedef struct Places {
    Place *place;
    size_t count;
} Places;

static int by_place(const void *a, const void *b) {
    const Place *one = a;
    const Place *other = b;
    return one->device != other->device ? (one->device > other->device) - (one->device < other->device)
                                        : (one->number > other->number) - (one->number < other->number);
}

/* Adds what is there; a path that leads nowhere is passed over. */
static HcStatus add_place(Places *places, const char *path, int32_t scene, HcError *err) {
    struct stat info;
    bool there = false;
    HC_OR_RETURN(hc_file_look(path, &info, &there, err));
    if (!there) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_grow(places->place, places->count, "the list of scenes", err));
    places->place[places->count++] = (Place){.device = info.st_dev, .number = info.st_ino, .scene = scene};
    return HC_OK;
}

/* *out is NULL where the path leads to none of the places. */
static HcStatus find_place(const Places *sorted, const char *path, const Place **out, HcError *err) {
    struct stat info;
    bool there = false;
    *out = NULL;
    HC_OR_RETURN(sorted->count > 0 ? hc_file_look(path, &info, &there, err) : HC_OK);
    if (there) {
        Place key = {.device = info.st_dev, .number = info.st_ino};
        *out = bsearch(&key, sorted->place, sorted->count, sizeof key, by_place);
    }
    return HC_OK;
}

static void sort_places(Places *places) {
    if (places->count > 0) {
        qsort(places->place, places->count, sizeof *places->place, by_place);
    }
}

static HcStatus add_folder(Places *places, const char *path, HcError *err) {
    char *folder = hc_file_folder(path);
    HcStatus status = folder != NULL ? add_place(places, folder, 0, err) : hc_fail_memory(err, 0, "a folder");
    free(folder);
    return status;
}

/* All files of the scenes. Headers and data beside each other are looked for in folders with outputs only: it
 * takes dozens of questions a scene. */
static HcStatus find_places(const HcBatch *batch, Places *places, HcError *err) {
    HcStatus status = HC_OK;
    Places folders = {0};
    for (int32_t s = 0; s < batch->scene_count; s++) {
        HC_TRY(add_folder(&folders, batch->scenes[s].output, err));
    }
    sort_places(&folders);
    for (int32_t s = 0; s < batch->scene_count; s++) {
        HcPaths files = {0};
        const char *path = batch->scenes[s].path;
        char *folder = hc_file_folder(path);
        const Place *place = NULL;
        status = folder == NULL ? hc_fail_memory(err, (double)strlen(path), "a folder")
                                : find_place(&folders, folder, &place, err);
        if (status == HC_OK) {
            status = place != NULL ? hc_scene_files(path, &files, err) : hc_paths_add(&files, path, err);
        }
        for (int32_t f = 0; status == HC_OK && f < files.count; f++) {
            status = add_place(places, files.path[f], s, err);
        }
        free(folder);
        hc_paths_clear(&files);
        HC_TRY(status);
    }
    sort_places(places);
done:
    free(folders.place);
    return status;
}

/* Whether a batch made this file, or was about to. */
static HcStatus find_made(const char *path, bool *made, HcError *err) {
    char *record = hc_text_format("%s.hcube.json", path);
    char *claim = hc_batch_claim_path(path);
    HcStatus status = record != NULL && claim != NULL ? hc_file_is_there(record, made, err)
                                                      : hc_fail_memory(err, (double)strlen(path), "a path");
    if (status == HC_OK && !*made) {
        status = hc_file_is_there(claim, made, err);
    }
    free(record);
    free(claim);
    return status;
}

/* Marks scenes that are outputs of other ones; a scene whose output would replace a scene otherwise is
 * refused. */
static HcStatus find_outputs(HcBatch *batch, bool searched, bool *is_output, int32_t *count, HcError *err) {
    HcStatus status = HC_OK;
    Places places = {0};
    HC_TRY(find_places(batch, &places, err));
    *count = 0;
    for (int32_t s = 0; s < batch->scene_count; s++) {
        const char *output = batch->scenes[s].output;
        const Place *place = NULL;
        HC_TRY(find_place(&places, output, &place, err));
        if (place == NULL) {
            continue;
        }
        bool made = false;
        HC_TRY(find_made(output, &made, err));
        if (!searched || place->scene == s || !made) {
            HC_TRY(refuse(&batch->scenes[s],
                          hc_text_format("the output %s would replace the scene %s", output,
                                         batch->scenes[place->scene].path),
                          err));
        } else {
            *count += !is_output[place->scene];
            is_output[place->scene] = true;
        }
    }
done:
    free(places.place);
    return status;
}

/* Outputs in the folder of the scenes are found there as well. */
static HcStatus leave_outputs(HcBatch *batch, bool searched, HcError *err) {
    HcStatus status = HC_OK;
    HcPaths kept = {0};
    bool *is_output = NULL;
    HC_TRY(hc_new(is_output, (size_t)batch->scene_count + 1, "the list of scenes", err));
    HC_TRY(find_outputs(batch, searched, is_output, &batch->left_out, err));
    if (batch->left_out > 0) {
        for (int32_t s = 0; s < batch->scene_count; s++) {
            if (!is_output[s]) {
                HC_TRY(hc_paths_add(&kept, batch->scenes[s].path, err));
            }
        }
        int32_t none = 0;
        HC_TRY(set_scenes(batch, &kept, err));
        HC_TRY(find_outputs(batch, searched, is_output, &none, err));
    }
done:
    free(is_output);
    hc_paths_clear(&kept);
    return status;
}

/* Files and folders, as a shell fills them in for a pattern without quotes. */
static HcStatus find_several(HcBatch *batch, HcPaths *found, HcError *err) {
    HcStatus status = HC_OK;
    const char *first = batch->params.scenes;
    HcPaths files = {0};
    for (int32_t w = 0; w <= batch->more.count; w++) {
        const char *word = w == 0 ? first : batch->more.path[w - 1];
        bool there = false;
        HC_TRY(hc_file_is_there(word, &there, err));
        if (!there) {
            HC_TRY(hc_fail(err, HC_E_INPUT,
                           "batch: --scenes %s: there is no such file (a quoted pattern stands alone)",
                           word));
        }
        if (hc_is_folder(word)) {
            HC_TRY(add_folder_scenes(batch, word, found, err));
        } else if (hc_batch_describes_product(word)) { /* no file beside a scene, whatever its ending */
            HC_TRY(hc_paths_add(found, word, err));
        } else {
            HC_TRY(hc_paths_add(&files, word, err));
        }
    }
    /* What draws its pixels from elsewhere was meant where all files have its ending. */
    const char *ending = files.count > 0 ? strrchr(files.path[0], '.') : NULL;
    for (int32_t f = 1; f < files.count && ending != NULL; f++) {
        ending = hc_text_ends_with(files.path[f], ending) ? ending : NULL;
    }
    HC_TRY(hc_scenes_among(&files, ending != NULL ? ending : "", found, &batch->passed, err));
done:
    hc_paths_clear(&files);
    return status;
}

/* Leaves out what --exclude names. A pattern that leaves out nothing was not meant so. */
static HcStatus exclude(HcBatch *batch, const HcPaths *found, HcPaths *kept, HcError *err) {
    const HcOptionList *patterns = &batch->params.exclude;
    bool used[HC_LIST_MAX] = {false};
    for (int32_t f = 0; f < found->count; f++) {
        int32_t by = hc_batch_excluding(patterns, found->path[f]);
        if (by < 0) {
            HC_OR_RETURN(hc_paths_add(kept, found->path[f], err));
        } else {
            used[by] = true;
            batch->excluded++;
        }
    }
    for (int32_t p = 0; p < patterns->count && batch->unused_pattern == NULL; p++) {
        batch->unused_pattern = used[p] ? NULL : patterns->item[p];
    }
    return HC_OK;
}

static HcStatus fail_without(const HcBatch *batch, HcError *err) {
    const char *what = batch->params.scenes;
    int32_t folders = hc_is_folder(what) ? hc_batch_count_folders(what) : 0;
    if (batch->excluded > 0) {
        return hc_fail(err, HC_E_INPUT, "batch: --scenes %s: --exclude leaves out all %d scenes", what,
                       batch->excluded);
    }
    if (folders > 0 && !batch->params.recursive) {
        return hc_fail(
            err, HC_E_INPUT,
            "batch: --scenes %s: no scene was found in the folder itself; --recursive takes those of "
            "the %d folder%s in it, and so does a pattern: --scenes '%s/**/*.hdr'",
            what, folders, folders == 1 ? "" : "s", what);
    }
    HcPaths matched = {0};
    HcError unimportant = {0};
    bool only_folders = strpbrk(what, "*?[") != NULL &&
                        hc_batch_match(what, &matched, &unimportant) == HC_OK && matched.count > 0;
    for (int32_t m = 0; m < matched.count; m++) {
        only_folders = only_folders && hc_is_folder(matched.path[m]);
    }
    hc_paths_clear(&matched);
    return hc_fail(err, HC_E_INPUT,
                   only_folders ? "batch: --scenes %s: finds folders alone (%s/* finds what is in them)"
                                : "batch: --scenes %s: no scene was found",
                   what, what);
}

HcStatus hc_batch_read_scenes(HcBatch *batch, HcError *err) {
    HcStatus status = HC_OK;
    HcPaths found = {0};
    HcPaths kept = {0};
    bool searched = false;
    hc_file_names_begin();
    if (batch->more.count > 0) {
        searched = true;
        HC_TRY(find_several(batch, &found, err));
    } else {
        HC_TRY(find_scenes(batch, &found, &searched, err));
    }
    HC_TRY(exclude(batch, &found, &kept, err));
    HC_TRY(set_scenes(batch, &kept, err));
    HC_TRY(leave_outputs(batch, searched, err));
    if (batch->scene_count == 0) {
        HC_TRY(fail_without(batch, err));
    }
    HC_TRY(check_unique(batch, err));
done:
    hc_file_names_end();
    hc_paths_clear(&found);
    hc_paths_clear(&kept);
    return status;
}

/* I/N as its parts; the whole list where it is not given. */
static HcStatus parse_worker(HcBatch *batch, HcError *err) {
    const char *text = batch->params.worker;
    int number = 0;
    int count = 0;
    int end = 0;
    batch->workers = 1;
    if (text == NULL) {
        return HC_OK;
    }
    if (sscanf(text, "%d/%d%n", &number, &count, &end) != 2 || text[end] != '\0' || count < 1 || number < 1 ||
        number > count) {
        return hc_fail(err, HC_E_USAGE, "batch: --worker %s: must be I/N, with I from 1 to N", text);
    }
    batch->worker = number - 1;
    batch->workers = count;
    return HC_OK;
}

HcStatus hc_batch_read(HcBatch *batch, int32_t word_count, const char *const *words, HcError *err) {
    HcStatus status = HC_OK;
    HcChain *first = NULL;
    bool runs = word_count > 0 && strcmp(words[0], "run") == 0; /* a whole command line after `batch` */
    HC_TRY(hc_batch_read_chain(batch, word_count - runs, words + runs, err));
    HC_TRY(parse_worker(batch, err));
    HC_TRY(hc_batch_read_scenes(batch, err));
    /* What is wrong with the words is wrong for every scene. */
    HC_TRY(hc_batch_chain(batch, 0, &first, err));
done:
    hc_chain_free(first);
    return status;
}

void hc_batch_clear_groups(HcBatch *batch) {
    for (int32_t g = 0; g < batch->group_count; g++) {
        free(batch->groups[g].model);
        free(batch->groups[g].chain);
        hc_paths_clear(&batch->groups[g].words);
    }
    free(batch->groups);
    batch->groups = NULL;
    batch->group_count = 0;
}

const HcBatchGroup *hc_batch_group_of(const HcBatch *batch, int32_t scene) {
    int32_t group = batch->scenes[scene].group;
    return group >= 0 && group < batch->group_count ? &batch->groups[group] : NULL;
}

void hc_batch_clear(HcBatch *batch) {
    hc_batch_clear_groups(batch);
    clear_scenes(batch);
    hc_stac_list_clear(&batch->stac);
    hc_paths_clear(&batch->options);
    hc_paths_clear(&batch->more);
    hc_paths_clear(&batch->inputs);
    hc_paths_clear(&batch->words);
    free(batch->file);
    free(batch->lines);
    free(batch->chain);
    *batch = (HcBatch){0};
}
