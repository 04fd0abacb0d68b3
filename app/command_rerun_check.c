/* rerun: what must be as it was, and what came out. */
#include "app/rerun.h"
#include "core/text.h"
#include "core/version.h"
#include "io/file.h"
#include "io/identity.h"
#include "io/gdal/errors.h"
#include "pipeline/json/json.h"
#include "pipeline/json/diff.h"
#include "pipeline/run/record_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const cJSON *member(const cJSON *from, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(from, name);
}

/* ---- inputs ---- */

static HcStatus fail_changed(const char *path, HcError *err) {
    return hc_fail(err, HC_E_INPUT,
                   "%s: has changed since the record was written (--changed-inputs takes it as it is)", path);
}

static bool is_number(const cJSON *item, int64_t expected) {
    return cJSON_IsNumber(item) && item->valuedouble == (double)expected;
}

/* The scene, by its size and time. */
static HcStatus check_scene(const HcChain *chain, const cJSON *record, HcError *err) {
    const HcReader *reader = hc_view_reader(chain->source->view);
    const cJSON *result = member(cJSON_GetArrayItem(member(record, "steps"), 0), "result");
    int64_t size = 0;
    int64_t modified = 0;
    hc_reader_identity(reader, &size, &modified);
    bool same = is_number(member(result, "bytes"), size) && is_number(member(result, "modified"), modified);
    return same ? HC_OK : fail_changed(hc_reader_path(reader), err);
}

/* All files that a record has noted, by their content where it is known. */
static HcStatus check_inputs(const cJSON *inputs, HcError *err) {
    const cJSON *input = NULL;
    cJSON_ArrayForEach(input, inputs) {
        const char *path = hc_json_text(input, "file");
        if (path != NULL && !hc_record_input_unchanged(input, path, hc_json_text(input, "xxh64") != NULL)) {
            return fail_changed(path, err);
        }
    }
    return HC_OK;
}

static HcStatus check_unchanged(const HcChain *chain, const cJSON *record, HcError *err) {
    const cJSON *of_batch = member(member(record, "batch"), "inputs");
    const cJSON *inputs = cJSON_IsArray(of_batch) ? of_batch : member(record, "inputs");
    /* The list of a single run has local files alone. Records of older versions have none. */
    bool remote = strncmp(hc_reader_path(hc_view_reader(chain->source->view)), "/vsi", 4) == 0;
    if (!cJSON_IsArray(inputs) || (remote && inputs != of_batch)) {
        HC_OR_RETURN(check_scene(chain, record, err));
    }
    return check_inputs(inputs, err);
}

/* ---- the record as a file that is read ---- */

/* Whether the run writes its record there: then the new one may replace it. */
static HcStatus is_place_of_record(const HcRerun *rerun, const HcChain *chain, bool *is, HcError *err) {
    *is = rerun->written_to != NULL && hc_file_same_place(rerun->written_to, rerun->path);
    for (int32_t c = 0; c < chain->output_count && !*is; c++) {
        char *path = hc_text_format("%s.hcube.json", chain->outputs[c].path);
        HC_OR_RETURN(hc_text_made(path, strlen(chain->outputs[c].path), "the record", err));
        *is = hc_file_same_place(path, rerun->path);
        free(path);
    }
    return HC_OK;
}

HcStatus hc_rerun_planned(HcChain *chain, void *user, HcError *err) {
    HcRerun *rerun = user;
    bool replaced = false;
    rerun->chain = chain;
    if (!rerun->changed_inputs) {
        HC_OR_RETURN(check_unchanged(chain, rerun->record, err));
    }
    HC_OR_RETURN(is_place_of_record(rerun, chain, &replaced, err));
    return replaced ? HC_OK : hc_paths_add(&chain->inputs, rerun->path, err);
}

/* ---- the new record ---- */

static bool same_text(const char *a, const char *b) {
    return (a == NULL && b == NULL) || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Whether two names of devices are alike up to the number of threads after a comma. */
static bool same_model(const char *a, const char *b) {
    size_t length = strcspn(a, ",");
    return length == strcspn(b, ",") && strncmp(a, b, length) == 0;
}

/* Whether an option has its default, which a hcube that did not know the option used, too. */
static bool is_standard(const HcStageClass *kind, const cJSON *value) {
    HC_EACH_OPTION(option, kind->options) {
        if (strcmp(option->name, value->string) == 0) {
            return cJSON_IsString(value) && same_text(option->standard, value->valuestring);
        }
    }
    return false;
}

static bool same_options(const HcStageClass *kind, const cJSON *made, const cJSON *old) {
    const cJSON *value = NULL;
    cJSON_ArrayForEach(value, old) {
        if (!cJSON_Compare(value, cJSON_GetObjectItemCaseSensitive(made, value->string), true)) {
            return false;
        }
    }
    cJSON_ArrayForEach(value, made) {
        if (cJSON_GetObjectItemCaseSensitive(old, value->string) == NULL && !is_standard(kind, value)) {
            return false;
        }
    }
    return true;
}

/* A chain file may say something else by now. Another version may have other defaults. */
static HcStatus check_options(const HcRerun *rerun, const cJSON *made, HcError *err) {
    const cJSON *before = member(rerun->record, "steps");
    if (!same_text(hc_json_text(rerun->record, "version"), hc_version())) {
        return HC_OK;
    }
    for (int s = 0; s < cJSON_GetArraySize(made); s++) {
        const cJSON *step = cJSON_GetArrayItem(made, s);
        const cJSON *old = cJSON_GetArrayItem(before, s);
        const char *name = hc_json_text(step, "stage");
        if (!same_text(name, hc_json_text(old, "stage")) ||
            !same_options(rerun->chain->stages[s].kind, member(step, "options"), member(old, "options"))) {
            return hc_fail(err, HC_E_INPUT,
                           "%s: step %d, %s, is not that of the record: a chain file has changed",
                           rerun->path, s + 1, name != NULL ? name : "?");
        }
    }
    return cJSON_GetArraySize(made) == cJSON_GetArraySize(before)
               ? HC_OK
               : hc_fail(err, HC_E_INPUT, "%s: the record has other steps: a chain file has changed",
                         rerun->path);
}

HcStatus hc_rerun_describe(HcJson *record, void *user, HcError *err) {
    HcRerun *rerun = user;
    const cJSON *batch = member(rerun->record, "batch");
    const char *before = hc_json_text(member(rerun->record, "device"), "name");
    const char *now = hc_json_text(member(record->root, "device"), "name");
    if (before != NULL && now != NULL && !same_model(before, now)) {
        hc_text_add(&rerun->device, "the record is of another device: %s, now %s", before, now);
    }
    if (cJSON_IsObject(batch)) {
        hc_json_put(record, "batch", cJSON_Duplicate(batch, true));
    }
    HC_OR_RETURN(hc_json_check(record, "the record", err));
    return rerun->check ? HC_OK : check_options(rerun, member(record->root, "steps"), err);
}

/* ---- what came out ---- */

/* How two files differ. */
typedef struct Bytes {
    int64_t made, there;      /* sizes [bytes] */
    int64_t first, differing; /* the first byte that differs, from 0; how many of those that both have */
} Bytes;

static void compare_parts(const unsigned char *a, const unsigned char *b, size_t count, int64_t at,
                          Bytes *out) {
    if (memcmp(a, b, count) == 0) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (a[i] != b[i]) {
            out->first = out->differing == 0 ? at + (int64_t)i : out->first;
            out->differing++;
        }
    }
}

static HcStatus open_file(const char *path, FILE **file, HcError *err) {
    *file = fopen(path, "rbe");
    return *file != NULL ? HC_OK
                         : hc_fail(err, hc_errno_status(errno, HC_E_IO), "%s: %s", path, strerror(errno));
}

static HcStatus compare_bytes(const char *made, const char *there, Bytes *out, HcError *err) {
    enum { STEP = 1 << 20 };
    HcStatus status = HC_OK;
    FILE *a = NULL;
    FILE *b = NULL;
    unsigned char *buffer = malloc((size_t)2 * STEP);
    *out = (Bytes){0};
    if (buffer == NULL) {
        HC_TRY(hc_fail_memory(err, 2.0 * STEP, "the comparison"));
    }
    HC_TRY(open_file(made, &a, err));
    HC_TRY(open_file(there, &b, err));
    for (size_t of_a = STEP, of_b = STEP; of_a > 0 || of_b > 0;) {
        of_a = fread(buffer, 1, STEP, a);
        of_b = fread(buffer + STEP, 1, STEP, b);
        compare_parts(buffer, buffer + STEP, of_a < of_b ? of_a : of_b, out->made, out);
        out->made += (int64_t)of_a;
        out->there += (int64_t)of_b;
    }
    if (ferror(a) || ferror(b)) {
        HC_TRY(hc_fail(err, HC_E_IO, "%s: reading failed", ferror(a) ? made : there));
    }
done:
    if (a != NULL) {
        fclose(a);
    }
    if (b != NULL) {
        fclose(b);
    }
    free(buffer);
    return status;
}

/* Takes the line over; NULL: memory lacked for it. */
static HcStatus add_line(HcRerun *rerun, char *line, HcError *err) {
    HcStatus status =
        line != NULL ? hc_paths_add(&rerun->lines, line, err) : hc_fail_memory(err, 0, "what was compared");
    free(line);
    return status;
}

static bool is_version(const char *name) {
    return strcmp(name, "version") == 0;
}

/* Whether two files, whose bytes differ, are JSON files of hcube that differ in the version of hcube alone.
 */
static HcStatus differ_in_version(const char *made, const char *there, bool *is, HcError *err) {
    HcStatus status = HC_OK;
    HcJsonDiff diff = {0};
    cJSON *a = NULL, *b = NULL;
    *is = false;
    if (!hc_text_ends_with(there, ".json")) {
        return HC_OK;
    }
    HC_TRY(hc_json_read(made, &a, err));
    if (hc_json_kind(a) != HC_JSON_KINDS && hc_json_read(there, &b, &(HcError){0}) == HC_OK) {
        HC_TRY(hc_json_diff(b, a, is_version, &diff, err));
        *is = diff.count == 0 && !same_text(hc_json_text(a, "version"), hc_json_text(b, "version"));
    }
done:
    hc_json_diff_clear(&diff);
    cJSON_Delete(a);
    cJSON_Delete(b);
    return status;
}

static HcStatus compare_file(HcRerun *rerun, const char *lies, const char *path, HcError *err) {
    Bytes bytes;
    HC_OR_RETURN(compare_bytes(lies, path, &bytes, err));
    bool same = bytes.differing == 0 && bytes.made == bytes.there;
    bool version = false;
    if (!same) {
        HC_OR_RETURN(differ_in_version(lies, path, &version, err));
        same = version;
    }
    rerun->same += same;
    rerun->differing += !same;
    long long made = (long long)bytes.made;
    return add_line(
        rerun,
        version ? hc_text_format("%s: the same, except for the version of hcube", path)
        : same  ? hc_text_format("%s: the same, %lld bytes", path, made)
        : bytes.made != bytes.there
            ? hc_text_format("%s: differs, %lld bytes and now %lld", path, (long long)bytes.there, made)
            : hc_text_format("%s: differs in %lld of %lld bytes, the first is byte %lld from 0", path,
                             (long long)bytes.differing, made, (long long)bytes.first),
        err);
}

/* Zarr, by the names and contents of all files in it. */
static HcStatus compare_store(HcRerun *rerun, const char *lies, const char *path, HcError *err) {
    HcIdentity made, there;
    HC_OR_RETURN(hc_identity_of(lies, true, &made, err));
    HC_OR_RETURN(hc_identity_of(path, true, &there, err));
    bool same = made.bytes == there.bytes && made.hash == there.hash;
    rerun->same += same;
    rerun->differing += !same;
    return add_line(rerun,
                    same ? hc_text_format("%s: the same, %lld bytes", path, (long long)made.bytes)
                         : hc_text_format("%s: differs, %lld bytes and now %lld", path,
                                          (long long)there.bytes, (long long)made.bytes),
                    err);
}

/* Members of a record that are not compared: those that diff leaves out, the version and the device. */
static bool left_out(const char *name) {
    return hc_diff_is_of_the_run(name) || strcmp(name, "version") == 0 || strcmp(name, "device") == 0;
}

static HcStatus add_differences(HcRerun *rerun, const char *path, const HcJsonDiff *diff, HcError *err) {
    rerun->same += diff->count == 0;
    rerun->differing += diff->count > 0;
    for (int32_t i = 0; i < diff->count; i++) {
        const HcJsonDifference *item = &diff->item[i];
        const char *more = item->more;
        HC_OR_RETURN(add_line(rerun,
                              hc_text_format("%s: differs: %s: %s and %s%s%s%s", path, item->place, item->a,
                                             item->b, more != NULL ? " (" : "", more != NULL ? more : "",
                                             more != NULL ? ")" : ""),
                              err));
    }
    return diff->count > 0 ? HC_OK
                           : add_line(rerun, hc_text_format("%s: the same, except for times", path), err);
}

static HcStatus compare_record(HcRerun *rerun, const char *lies, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    HcJsonDiff diff = {0};
    cJSON *made = NULL;
    cJSON *there = NULL;
    HC_TRY(hc_json_read(lies, &made, err));
    HC_TRY(hc_json_read(path, &there, err));
    HC_TRY(hc_json_diff(there, made, left_out, &diff, err));
    HC_TRY(add_differences(rerun, path, &diff, err));
done:
    hc_json_diff_clear(&diff);
    cJSON_Delete(made);
    cJSON_Delete(there);
    return status;
}

static HcStatus compare(const char *lies, const char *path, void *user, HcError *err) {
    HcRerun *rerun = user;
    struct stat info;
    bool made = false;
    bool there = false;
    if (strcmp(path, HC_FILE_STANDARD_OUTPUT) == 0) {
        return add_line(rerun, strdup("standard output: not compared"), err);
    }
    path += strncmp(path, "./", 2) == 0 ? 2 : 0; /* what lies beside "a.img" */
    if (rerun->chain->report != NULL && hc_file_same_place(path, rerun->chain->report)) {
        return add_line(rerun, hc_text_format("%s: not compared, it holds times", path), err);
    }
    bool found = stat(path, &info) == 0;
    if (!found && errno != ENOENT && errno != ENOTDIR) {
        return hc_fail(err, hc_errno_status(errno, HC_E_IO), "%s: %s", path, strerror(errno));
    }
    if (!found && hc_text_ends_with(path, ".qml")) {
        return add_line(rerun, hc_text_format("%s: not compared, there is no style", path), err);
    }
    if (found && hc_file_is_store(path) && hc_file_is_store(lies)) {
        return compare_store(rerun, lies, path, err);
    }
    if (!found || !S_ISREG(info.st_mode)) {
        rerun->differing++;
        return add_line(rerun, hc_text_format("%s: is not there any more", path), err);
    }
    HC_OR_RETURN(hc_chain_is_record(lies, &made, err));
    HC_OR_RETURN(hc_chain_is_record(path, &there, err));
    return made && there ? compare_record(rerun, lies, path, err) : compare_file(rerun, lies, path, err);
}

HcStatus hc_rerun_inspect(void *user, HcError *err) {
    return hc_file_visit(compare, user, err);
}
