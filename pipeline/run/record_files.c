/* Files in a record: their size always, and a hash while it costs no time that a user notices. */
#include "pipeline/run/record_files.h"
#include "io/file.h"
#include "io/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Hashed in one list, in its order: 64 MiB take about 15 ms. A scene that is larger counts by size and time.
 */
#define HASH_BYTES ((int64_t)64 << 20)

typedef struct Stamp {
    char modified[48], hash[24];
} Stamp;

static void print_stamp(const HcIdentity *identity, Stamp *stamp) {
    snprintf(stamp->modified, sizeof stamp->modified, "%lld.%09lld", (long long)identity->seconds,
             (long long)identity->nanoseconds);
    snprintf(stamp->hash, sizeof stamp->hash, "%016llx", (unsigned long long)identity->hash);
}

/* An output has no time: it gets its name later. */
static void put_file(HcJson *list, const char *name, const HcIdentity *identity, bool with_time) {
    Stamp stamp;
    print_stamp(identity, &stamp);
    hc_json_open_object(list, NULL);
    hc_json_put_text(list, "file", name);
    hc_json_put_number(list, "bytes", (double)identity->bytes);
    if (with_time) {
        hc_json_put_text(list, "modified", stamp.modified);
    }
    if (identity->hashed) {
        hc_json_put_text(list, "xxh64", stamp.hash);
    }
    hc_json_close(list);
}

HcStatus hc_record_put_input(HcJson *inputs, const char *lies, const char *name, bool hash, HcError *err) {
    HcIdentity identity;
    HC_OR_RETURN(hc_identity_of(lies, hash, &identity, err));
    put_file(inputs, name, &identity, true);
    return HC_OK;
}

bool hc_record_input_unchanged(const cJSON *input, const char *path, bool hash) {
    HcIdentity identity;
    HcError error = {0};
    Stamp stamp;
    const char *modified = hc_json_text(input, "modified");
    const char *known = hc_json_text(input, "xxh64");
    const cJSON *bytes = cJSON_GetObjectItemCaseSensitive(input, "bytes");
    if (path == NULL || modified == NULL || !cJSON_IsNumber(bytes) || (hash && known == NULL) ||
        hc_identity_of(path, hash, &identity, &error) != HC_OK || !identity.exists ||
        (double)identity.bytes != bytes->valuedouble) {
        return false;
    }
    print_stamp(&identity, &stamp);
    return hash ? strcmp(stamp.hash, known) == 0 : strcmp(stamp.modified, modified) == 0;
}

/* ---- the lists of a run ---- */

/* Of a regular file; `left` bytes may still be hashed. */
static HcStatus identify(const char *path, int64_t *left, HcIdentity *out, HcError *err) {
    HC_OR_RETURN(hc_identity_of(path, false, out, err));
    if (!out->exists || out->bytes > *left) {
        return HC_OK;
    }
    *left -= out->bytes;
    return hc_identity_of(path, true, out, err);
}

HcStatus hc_record_inputs(const HcChain *chain, cJSON **inputs, HcError *err) {
    HcStatus status = HC_OK;
    HcIdentity identity;
    HcJson json;
    int64_t left = HASH_BYTES;
    *inputs = NULL;
    hc_json_begin(&json);
    hc_json_open_array(&json, "inputs");
    for (int32_t f = 0; f < chain->step_reads; f++) {
        HC_TRY(identify(chain->use.reads.path[f], &left, &identity, err));
        if (identity.exists) {
            put_file(&json, chain->use.reads.path[f], &identity, true);
        }
    }
    HC_TRY(hc_json_check(&json, "the record", err));
    *inputs = cJSON_DetachItemFromObjectCaseSensitive(json.root, "inputs");
done:
    hc_json_clear(&json);
    return status;
}

typedef struct Outputs {
    HcJson *to;
    int64_t left;
} Outputs;

static HcStatus put_output(const char *lies, const char *path, void *user, HcError *err) {
    Outputs *outputs = user;
    HcIdentity identity;
    path += strncmp(path, "./", 2) == 0 ? 2 : 0; /* what lies beside "a.img" */
    HC_OR_RETURN(identify(lies, &outputs->left, &identity, err));
    if (identity.exists) {
        put_file(outputs->to, path, &identity, false);
    }
    return HC_OK;
}

HcStatus hc_record_put_outputs(HcJson *record, HcError *err) {
    Outputs outputs = {.to = record, .left = HASH_BYTES};
    hc_json_open_array(record, "outputs");
    HcStatus status = hc_file_visit(put_output, &outputs, err);
    hc_json_close(record);
    return status;
}
