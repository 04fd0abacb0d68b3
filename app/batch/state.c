/* What became of a scene before: its record and the marker of a failure, and what both say of inputs and
 * outputs. */
#include "app/batch/batch.h"
#include "core/hash.h"
#include "core/text.h"
#include "core/version.h"
#include "io/file.h"
#include "io/identity.h"
#include "pipeline/json/json.h"
#include "pipeline/run/record_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Where a path leads, from anywhere; fresh memory. What is not local, or not there, stays as it is. */
static char *absolute(const char *path) {
    errno = 0;
    char *found = strncmp(path, "/vsi", 4) == 0 ? NULL : realpath(path, NULL);
    return found != NULL || errno == ENOMEM ? found : strdup(path);
}

static char *beside(const HcBatch *batch, int32_t scene, const char *ending) {
    return hc_text_format("%s%s", batch->scenes[scene].output, ending);
}

char *hc_batch_record_path(const HcBatch *batch, int32_t scene) {
    return beside(batch, scene, ".hcube.json");
}

static char *marker_path(const HcBatch *batch, int32_t scene) {
    return beside(batch, scene, ".hcube-failed.json");
}

const char *hc_batch_chain_text(const HcBatch *batch, int32_t scene) {
    int32_t group = batch->scenes[scene].group;
    bool own = group >= 0 && group < batch->group_count && batch->groups[group].chain != NULL;
    return own ? batch->groups[group].chain : batch->chain;
}

/* ---- inputs ---- */

/* All files that a scene and its chain read, once each, by absolute paths. */
static HcStatus list_inputs(const char *scene, const HcChain *chain, HcPaths *out, HcError *err) {
    HcStatus status = HC_OK;
    HcPaths files = {0};
    HC_TRY(hc_scene_files(scene, &files, err));
    const HcView *view = chain != NULL ? chain->source->view : NULL;
    if (view != NULL) {
        HC_TRY(hc_view_files(view, &files, err));
    }
    for (int32_t r = 0; chain != NULL && r < chain->reads.count; r++) {
        HC_TRY(hc_scene_files(chain->reads.path[r], &files, err));
    }
    for (int32_t f = 0; f < files.count; f++) {
        char *path = absolute(files.path[f]);
        status = path == NULL              ? hc_fail_memory(err, 0, "a path")
                 : hc_paths_has(out, path) ? HC_OK
                                           : hc_paths_add(out, path, err);
        free(path);
        HC_TRY(status);
    }
done:
    hc_paths_clear(&files);
    return status;
}

HcStatus hc_batch_origin(HcBatchOrigin *origin, const HcBatch *batch, int32_t scene, const HcChain *chain,
                         HcError *err) {
    HcStatus status = HC_OK;
    HcPaths files = {0};
    HcJson json;
    *origin = (HcBatchOrigin){.batch = batch, .scene = scene, .chain = chain};
    hc_json_begin(&json);
    hc_json_open_array(&json, "inputs");
    HC_TRY(list_inputs(batch->scenes[scene].path, chain, &files, err));
    for (int32_t f = 0; f < files.count; f++) {
        HC_TRY(hc_record_put_input(&json, files.path[f], files.path[f], batch->params.hash, err));
    }
    /* An incomplete list would not see a change of what it lacks. */
    HC_TRY(hc_json_check(&json, "the record", err));
    origin->inputs = cJSON_DetachItemFromObjectCaseSensitive(json.root, "inputs");
done:
    hc_json_clear(&json);
    hc_paths_clear(&files);
    return status;
}

void hc_batch_origin_clear(HcBatchOrigin *origin) {
    cJSON_Delete(origin->inputs);
    *origin = (HcBatchOrigin){0};
}

/* Whether a text of a record is this one, which may have had a secret that records leave out. */
static bool is_text(const cJSON *from, const char *name, const char *expected) {
    const char *text = hc_json_text(from, name);
    char *shown = text != NULL ? strdup(expected) : NULL;
    if (shown != NULL) {
        hc_text_hide_secrets(shown);
    }
    bool is = shown != NULL && strcmp(text, shown) == 0;
    free(shown);
    return is;
}

static bool names_input(const cJSON *inputs, const char *path) {
    const cJSON *input = NULL;
    cJSON_ArrayForEach(input, inputs) {
        if (is_text(input, "file", path)) {
            return true;
        }
    }
    return false;
}

/* The path of an input of a record: as it is among the files of the scene, whose address is whole, or as it
 * was noted. */
static const char *path_of_input(const cJSON *input, const HcPaths *files) {
    for (int32_t f = 0; f < files->count; f++) {
        if (is_text(input, "file", files->path[f])) {
            return files->path[f];
        }
    }
    return hc_json_text(input, "file");
}

/* Whether what was noted is there as it was, and no file of the scene has come since. */
static HcStatus same_inputs(const HcBatch *batch, int32_t scene, const cJSON *inputs, bool *same,
                            HcError *err) {
    HcStatus status = HC_OK;
    HcPaths files = {0};
    const cJSON *input = NULL;
    *same = cJSON_IsArray(inputs);
    HC_TRY(list_inputs(batch->scenes[scene].path, NULL, &files, err));
    for (int32_t f = 0; f < files.count; f++) {
        *same = *same && names_input(inputs, files.path[f]);
    }
    cJSON_ArrayForEach(input, inputs) {
        *same = *same && hc_record_input_unchanged(input, path_of_input(input, &files), batch->params.hash);
    }
done:
    hc_paths_clear(&files);
    return status;
}

/* ---- outputs ---- */

/* The path of a file that may be about to replace another one, from anywhere; fresh memory, NULL when there
 * is none left. */
static char *absolute_output(const char *path) {
    const char *base = hc_file_base(path);
    char *folder = hc_file_folder(path);
    char *found = folder != NULL ? absolute(folder) : NULL;
    char *all = found == NULL             ? NULL
                : strcmp(found, "/") == 0 ? hc_text_format("/%s", base)
                                          : hc_text_format("%s/%s", found, base);
    free(folder);
    free(found);
    return all;
}

/* Notes an output that is complete, whether or not it has its name. */
static HcStatus put_output(HcJson *outputs, const char *output, HcError *err) {
    HcStatus status = HC_OK;
    HcIdentity identity = {0};
    char *lies = NULL;
    char *path = absolute_output(output);
    HC_TRY(hc_text_made(path, 0, "a path", err));
    HC_TRY(hc_file_find(output, &lies, err));
    HC_TRY(hc_identity_of(lies, false, &identity, err));
    if (identity.exists) {
        hc_json_open_object(outputs, NULL);
        hc_json_put_text(outputs, "file", path);
        hc_json_put_number(outputs, "bytes", (double)identity.bytes);
        hc_json_close(outputs);
    }
done:
    free(lies);
    free(path);
    return status;
}

/* What a record or marker is compared by: chain and inputs. */
static void put_origin(HcJson *to, const HcBatchOrigin *origin) {
    hc_json_put_text(to, "chain", hc_batch_chain_text(origin->batch, origin->scene));
    hc_json_put(to, "inputs", cJSON_Duplicate(origin->inputs, true));
}

HcStatus hc_batch_describe(HcJson *record, void *user, HcError *err) {
    const HcBatchOrigin *origin = user;
    hc_json_open_object(record, "batch");
    put_origin(record, origin);
    hc_json_open_array(record, "outputs");
    for (int32_t c = 0; c < origin->chain->output_count; c++) {
        HC_OR_RETURN(put_output(record, origin->chain->outputs[c].path, err));
    }
    hc_json_close(record);
    hc_json_close(record);
    return hc_json_check(record, "the record", err);
}

static bool find_size(const char *path, int64_t *size) {
    HcIdentity whole = {0};
    HcError unimportant = {0};
    if (!hc_file_is_store(path)) {
        return hc_file_identity(path, size, NULL);
    }
    bool found = hc_identity_of(path, false, &whole, &unimportant) == HC_OK;
    *size = whole.bytes;
    return found;
}

/* Whether all outputs are there with the size that they had. */
static bool same_outputs(const cJSON *outputs) {
    const cJSON *output = NULL;
    cJSON_ArrayForEach(output, outputs) {
        int64_t size = 0;
        const char *path = hc_json_text(output, "file");
        const cJSON *bytes = cJSON_GetObjectItemCaseSensitive(output, "bytes");
        if (path == NULL || !cJSON_IsNumber(bytes) || !find_size(path, &size) ||
            (double)size != bytes->valuedouble) {
            return false;
        }
    }
    return cJSON_GetArraySize(outputs) > 0;
}

/* ---- records and markers ---- */

/* NULL where there is none, or none that can be read. */
static cJSON *read_file(char *path) {
    HcError error = {0};
    cJSON *json = NULL;
    if (path == NULL || !hc_file_may_be_there(path) || hc_json_read(path, &json, &error) != HC_OK) {
        json = NULL;
    }
    free(path);
    return json;
}

cJSON *hc_batch_read_record(const HcBatch *batch, int32_t scene) {
    return read_file(hc_batch_record_path(batch, scene));
}

/* Whether a record or marker is of the same chain and version, from the same inputs. */
static HcStatus applies(const HcBatch *batch, int32_t scene, const cJSON *json, bool *same, HcError *err) {
    const cJSON *said = cJSON_GetObjectItemCaseSensitive(json, "batch");
    *same =
        is_text(json, "version", hc_version()) && is_text(said, "chain", hc_batch_chain_text(batch, scene));
    return *same ? same_inputs(batch, scene, cJSON_GetObjectItemCaseSensitive(said, "inputs"), same, err)
                 : HC_OK;
}

/* Whether a newer hcube wrote the record or marker: such an output is not replaced. */
static bool is_foreign(const cJSON *json, HcJsonKind kind, const char *output, char *message, size_t size) {
    HcError why = {0};
    bool foreign = json != NULL && hc_json_kind(json) == kind &&
                   hc_json_check_kind(json, kind, output, NULL, &why) != HC_OK;
    if (foreign) {
        snprintf(message, size, "%s", why.text);
    }
    return foreign;
}

HcStatus hc_batch_look(const HcBatch *batch, int32_t scene, HcBatchState *state, char *message, size_t size,
                       HcError *err) {
    HcStatus status = HC_OK;
    cJSON *record = hc_batch_read_record(batch, scene);
    cJSON *marker = NULL;
    bool same = false;
    *state = HC_BATCH_OPEN;
    if (batch->scenes[scene].blocked != NULL) {
        *state = HC_BATCH_FAILED_BEFORE;
        snprintf(message, size, "%s", batch->scenes[scene].blocked);
        goto done;
    }
    if (is_foreign(record, HC_JSON_RECORD, batch->scenes[scene].output, message, size)) {
        *state = HC_BATCH_FAILED_BEFORE;
        goto done;
    }
    if (record != NULL) {
        const cJSON *said = cJSON_GetObjectItemCaseSensitive(record, "batch");
        HC_TRY(applies(batch, scene, record, &same, err));
        if (same && same_outputs(cJSON_GetObjectItemCaseSensitive(said, "outputs"))) {
            *state = HC_BATCH_COMPLETE;
            goto done;
        }
    }
    marker = batch->params.retry_failed ? NULL : read_file(marker_path(batch, scene));
    if (marker != NULL) {
        HC_TRY(applies(batch, scene, marker, &same, err));
        if (same) {
            const char *text = hc_json_text(marker, "message");
            *state = HC_BATCH_FAILED_BEFORE;
            snprintf(message, size, "%s", text != NULL ? text : "");
        }
    }
done:
    cJSON_Delete(record);
    cJSON_Delete(marker);
    return status;
}

/* Whether a record of a batch names a file of that name among its outputs, wherever these were moved. Other
 * records name none. */
static bool names_output(const cJSON *said, const char *path) {
    const cJSON *outputs = cJSON_GetObjectItemCaseSensitive(said, "outputs");
    const cJSON *output = NULL;
    cJSON_ArrayForEach(output, outputs) {
        const char *file = hc_json_text(output, "file");
        if (file != NULL && strcmp(hc_file_base(file), hc_file_base(path)) == 0) {
            return true;
        }
    }
    return outputs == NULL || hc_text_ends_with(path, ".hcube.html");
}

typedef enum Maker { THIS_CHAIN, ANOTHER_CHAIN, NOT_HCUBE } Maker;

/* Who made an output that is there; THIS_CHAIN where none is. `of`: the output with the record. */
static HcStatus find_maker(const HcBatch *batch, int32_t scene, const char *path, const char *of,
                           Maker *maker, HcError *err) {
    HcStatus status = HC_OK;
    struct stat info;
    cJSON *json = NULL;
    bool ours = false, there = false, left = false;
    char *record = hc_text_format("%s.hcube.json", of);
    *maker = THIS_CHAIN;
    HC_OR_RETURN(hc_text_made(record, strlen(of), "a path", err));
    HC_TRY(hc_file_look_at_link(path, &info, &there, err));
    if (!there && strcmp(path, of) == 0) {
        HC_TRY(hc_file_look_at_link(record, &info, &there, err));
    }
    if (!there) {
        goto done;
    }
    HC_TRY(hc_file_is_left(path, &left, err));
    if (left) {
        goto done;
    }
    HC_TRY(hc_chain_is_record(record, &ours, err));
    json = ours ? read_file(strdup(record)) : NULL;
    const cJSON *said = cJSON_GetObjectItemCaseSensitive(json, "batch");
    *maker = json == NULL || !names_output(said, path)                   ? NOT_HCUBE
             : is_text(said, "chain", hc_batch_chain_text(batch, scene)) ? THIS_CHAIN
                                                                         : ANOTHER_CHAIN;
done:
    cJSON_Delete(json);
    free(record);
    return status;
}

/* may: files of another chain are replaced; any: all are. */
static HcStatus check_output(const HcBatch *batch, int32_t scene, const char *path, const char *of, bool may,
                             bool any, bool *replaced, HcError *err) {
    Maker maker = THIS_CHAIN;
    HC_OR_RETURN(find_maker(batch, scene, path, of, &maker, err));
    *replaced = *replaced || maker != THIS_CHAIN;
    return any || maker == THIS_CHAIN || (may && maker == ANOTHER_CHAIN)
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "%s: the file exists already, %s", path,
                         maker == NOT_HCUBE ? "without a record of hcube (remove it first)"
                                            : "made by another chain (--overwrite replaces it)");
}

static HcStatus add_to_hash(const char *path, uint64_t *hash, HcError *err) {
    char *all = absolute_output(path);
    HcStatus status = hc_text_made(all, strlen(path), "a path", err);
    *hash = status == HC_OK ? XXH64(all, strlen(all) + 1, *hash) : *hash;
    free(all);
    return status;
}

HcStatus hc_batch_hash_outputs(const HcChain *chain, uint64_t *hash, HcError *err) {
    *hash = 0;
    for (int32_t c = 0; c < chain->output_count; c++) {
        HC_OR_RETURN(add_to_hash(chain->outputs[c].path, hash, err));
    }
    HC_OR_RETURN(chain->report != NULL ? add_to_hash(chain->report, hash, err) : HC_OK);
    *hash = *hash != 0 ? *hash : 1;
    return HC_OK;
}

HcStatus hc_batch_check_outputs(const HcBatch *batch, int32_t scene, HcChain *chain, bool left,
                                bool *replaced, HcError *err) {
    const bool kept = chain->overwrite, given = batch->params.common.overwrite;
    const bool any = left || batch->owns_outputs;
    HcStatus status = HC_OK;
    *replaced = false;
    chain->overwrite = given; /* a step may permit more */
    for (int32_t c = 0; c < chain->output_count && status == HC_OK; c++) {
        const HcOutput *output = &chain->outputs[c];
        const HcStage *stage = output->stage;
        const char *own = stage->output;
        const char *of = own != NULL ? own : batch->scenes[scene].output;
        status = check_output(batch, scene, output->path, of, hc_stage_overwrite(stage), any, replaced, err);
    }
    if (chain->report != NULL && status == HC_OK) {
        status =
            check_output(batch, scene, chain->report, batch->scenes[scene].output, given, any, replaced, err);
    }
    chain->overwrite = kept;
    *replaced = *replaced && !left;
    return status;
}

/* Whether the first byte of a file can be read, or the file is not there at all. Permissions, a disk or a
 * server may be repaired without a change of the file. */
static bool can_read(const char *path) {
    char first = 0;
    if (path == NULL || strncmp(path, "/vsi", 4) == 0) {
        return true;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENAMETOOLONG ||
               errno == ENXIO;
    }
    bool can = read(file, &first, 1) >= 0 || errno == EISDIR || errno == EAGAIN;
    close(file);
    return can;
}

/* Whether this process can still get memory and descriptors, and read each input. A library may take their
 * lack for a fault of the file. */
static bool can_work(const char *scene, const cJSON *inputs) {
    enum { DESCRIPTORS = 8, BYTES = 16 << 20 };
    int file[DESCRIPTORS];
    int opened = 0;
    const cJSON *input = NULL;
    void *memory = malloc(BYTES);
    bool can = memory != NULL;
    free(memory);
    while (opened < DESCRIPTORS && (file[opened] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) {
        opened++;
    }
    can = can && opened == DESCRIPTORS;
    while (opened > 0) {
        close(file[--opened]);
    }
    can = can && can_read(scene);
    cJSON_ArrayForEach(input, inputs) {
        can = can && can_read(hc_json_text(input, "file"));
    }
    return can;
}

bool hc_batch_is_full(HcStatus failure, const char *message) {
    return failure == HC_E_IO &&
           (strstr(message, strerror(ENOSPC)) != NULL || strstr(message, strerror(EDQUOT)) != NULL);
}

/* Failures that lie in the scene and the chain, and not in the machine at that time. */
static bool comes_again(const HcBatchOrigin *origin, HcStatus failure) {
    return (failure == HC_E_USAGE || failure == HC_E_INPUT || failure == HC_E_UNSUPPORTED ||
            failure == HC_E_NUMERIC) &&
           can_work(origin->batch->scenes[origin->scene].path, origin->inputs);
}

/* Whether something else than a regular file has a name. */
static HcStatus find_taken(const char *path, bool *taken, HcError *err) {
    struct stat info;
    HcStatus status = hc_file_look_at_link(path, &info, taken, err);
    *taken = *taken && !S_ISREG(info.st_mode);
    return status;
}

HcStatus hc_batch_check_names(const HcBatch *batch, int32_t scene, HcError *err) {
    HcStatus status = HC_OK;
    bool taken = false;
    char *paths[] = {hc_batch_record_path(batch, scene), marker_path(batch, scene)};
    for (size_t p = 0; p < sizeof paths / sizeof *paths; p++) {
        HC_TRY(hc_text_made(paths[p], 0, "a path", err));
        HC_TRY(find_taken(paths[p], &taken, err));
        if (taken) {
            HC_TRY(
                hc_fail(err, HC_E_IO, "%s: is no regular file, and hcube writes its record there", paths[p]));
        }
    }
done:
    free(paths[0]);
    free(paths[1]);
    return status;
}

void hc_batch_mark(const HcBatchOrigin *origin, HcStatus failure, const char *message) {
    HcError error = {0};
    char *path = marker_path(origin->batch, origin->scene);
    HcJson marker;
    hc_json_begin(&marker);
    hc_json_put_kind(&marker, HC_JSON_FAILURE, 1);
    hc_json_put_text(&marker, "message", message);
    hc_json_put_number(&marker, "exit_code", (double)failure);
    hc_json_open_object(&marker, "batch");
    put_origin(&marker, origin);
    hc_json_close(&marker);
    bool taken = false;
    bool mine = path != NULL && find_taken(path, &taken, &error) == HC_OK && !taken;
    if (mine && !marker.failed && comes_again(origin, failure)) {
        (void)!hc_json_save_unflushed(&marker, path, true, &error);
    } else if (mine) {
        hc_file_remove(path);
    }
    hc_json_clear(&marker);
    free(path);
}

static void remove_file(char *path) {
    if (path != NULL) {
        hc_file_remove(path);
    }
    free(path);
}

static void remove_leftovers(char *path) {
    if (path != NULL) {
        hc_file_remove_leftovers(path);
    }
    free(path);
}

/* Removes what an interrupted run left of an output and of the files beside it. */
static void clean_output(const char *path) {
    remove_leftovers(strdup(path));
    remove_leftovers(hc_text_format("%s.hcube.json", path));
    remove_leftovers(hc_text_format("%s.hcube-failed.json", path));
    remove_leftovers(hc_batch_claim_path(path));
}

void hc_batch_clean_leftovers(const HcBatch *batch, int32_t scene, const HcChain *chain) {
    clean_output(batch->scenes[scene].output);
    for (int32_t c = 0; c < chain->output_count; c++) {
        clean_output(chain->outputs[c].path);
    }
    if (chain->report != NULL) {
        clean_output(chain->report);
    }
}

typedef struct Named {
    const HcBatch *batch;
    int32_t scene;
    bool unrecorded; /* one is */
} Named;

static HcStatus clean_named(const char *path, void *user, HcError *err) {
    Named *named = user;
    const char *output = named->batch->scenes[named->scene].output;
    Maker maker = NOT_HCUBE; /* what cannot be looked at may be there */
    clean_output(path);
    if (find_maker(named->batch, named->scene, path, output, &maker, err) != HC_OK || maker == NOT_HCUBE) {
        named->unrecorded = !named->batch->owns_outputs;
    }
    return HC_OK;
}

bool hc_batch_clean_unplanned(const HcBatch *batch, int32_t scene) {
    HcError unimportant = {0};
    HcChain *chain = NULL;
    Named named = {.batch = batch, .scene = scene};
    clean_output(batch->scenes[scene].output);
    if (hc_batch_chain(batch, scene, &chain, &unimportant) == HC_OK) {
        (void)!hc_chain_each_written(chain, clean_named, &named, &unimportant);
    }
    hc_chain_free(chain);
    return named.unrecorded;
}

void hc_batch_unmark(const HcBatch *batch, int32_t scene) {
    remove_file(marker_path(batch, scene));
    hc_file_end_upload(batch->scenes[scene].output);
}

void hc_batch_clean(const HcBatch *batch, int32_t scene, const HcChain *chain) {
    remove_file(marker_path(batch, scene));
    hc_batch_clean_leftovers(batch, scene, chain);
}

void hc_batch_clean_complete(const HcBatch *batch, int32_t scene) {
    cJSON *record = hc_batch_read_record(batch, scene);
    const cJSON *said = cJSON_GetObjectItemCaseSensitive(record, "batch");
    const cJSON *output = NULL;
    clean_output(batch->scenes[scene].output);
    cJSON_ArrayForEach(output, cJSON_GetObjectItemCaseSensitive(said, "outputs")) {
        const char *path = hc_json_text(output, "file");
        if (path != NULL) {
            clean_output(path);
            hc_file_end_upload(path);
        }
    }
    cJSON_Delete(record);
}

HcStatus hc_batch_standing(const HcBatch *batch, int32_t scene, HcBatchStanding *out, HcError *err) {
    HcBatchState state = HC_BATCH_OPEN;
    *out = (HcBatchStanding){.word = HC_WORD_LEFT};
    if (batch->scenes[scene].refused != NULL) {
        out->word = HC_WORD_FAILED;
        snprintf(out->message, sizeof out->message, "%s", batch->scenes[scene].refused);
        return HC_OK;
    }
    HC_OR_RETURN(hc_batch_look(batch, scene, &state, out->message, sizeof out->message, err));
    if (state == HC_BATCH_COMPLETE) {
        out->word = HC_WORD_DONE;
    } else if (state == HC_BATCH_FAILED_BEFORE) {
        out->word = HC_WORD_FAILED;
    } else if (hc_batch_holder(batch->scenes[scene].output, &out->holder)) {
        out->word = out->holder.alive ? HC_WORD_RUNNING : HC_WORD_INTERRUPTED;
    }
    return HC_OK;
}
