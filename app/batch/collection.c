/* --stac-collection: the STAC collection of all outputs of a batch that are complete, and the catalogue that
 * leads to it. It is written before the first scene, from time to time, and at the end: whenever the batch
 * dies, each of its links leads to an item whose output is whole. Items of other batches stay in it. Several
 * workers may write it: who writes last has looked again after writing. */
#include "app/batch/batch.h"
#include "core/version.h"
#include "io/file.h"
#include "io/gdal/remote.h"
#include "io/stac/stac.h"
#include "pipeline/json/json.h"
#include "core/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Collection {
    const HcBatch *batch;
    char *path;     /* of collection.json */
    HcPaths items;  /* from the root, by their names */
    HcJson links;   /* an array of the items */
    cJSON *values;  /* of the summaries: what items say, each value once */
    cJSON *uses;    /* the same of the extensions that it needs */
    cJSON *bands;   /* of the data of all items; NULL = there is no item, or they differ */
    bool any;       /* an item was read */
    bool placed;    /* one has a place */
    double bbox[4]; /* around all of them */
    char from[64], to[64];
    double low_clouds, high_clouds; /* [%]; NaN = no item says so */
} Collection;

static const char *const file_names[] = {"collection.json", "catalog.json"};

static char *file_in(const HcBatch *batch, int which) {
    return hc_text_format("%s/%s", batch->params.collection, file_names[which]);
}

/* ---- which items there are ---- */

static bool has(const HcPaths *sorted, const char *path) {
    return sorted->count > 0 && bsearch(&path, sorted->path, (size_t)sorted->count, sizeof *sorted->path,
                                        hc_compare_texts) != NULL;
}

/* The key of an object without "./" and "NAME/../", in place. */
static void simplify(char *path) {
    char *to = path;
    for (const char *c = path; *c != '\0'; c++) {
        bool begins = c > path && c[-1] == '/';
        if (begins && strncmp(c, "./", 2) == 0) {
            c++;
        } else if (begins && strncmp(c, "../", 3) == 0 && to > path + 1) {
            c += 2;
            for (to--; to > path && to[-1] != '/'; to--) {
            }
        } else {
            *to++ = *c;
        }
    }
    *to = '\0';
}

/* Adds where a path leads, if something is there. */
static HcStatus add_real(HcPaths *to, char *path, HcError *err) {
    if (path != NULL && hc_remote_is(path)) {
        simplify(path);
    }
    char *found = path == NULL                 ? NULL
                  : !hc_remote_is(path)        ? realpath(path, NULL)
                  : hc_file_may_be_there(path) ? strdup(path)
                                               : NULL;
    HcStatus status = path == NULL    ? hc_fail_memory(err, 0, "a path")
                      : found == NULL ? HC_OK
                                      : hc_paths_add(to, found, err);
    free(found);
    free(path);
    return status;
}

/* The items of all scenes of the batch, and of those that are done now. */
static HcStatus find_own(const HcBatch *batch, HcPaths *all, HcPaths *done, HcError *err) {
    for (int32_t s = 0; s < batch->scene_count; s++) {
        HcBatchStanding standing;
        HC_OR_RETURN(hc_batch_standing(batch, s, &standing, err));
        HC_OR_RETURN(add_real(all, hc_stac_item_path(batch->scenes[s].output), err));
        if (standing.word == HC_WORD_DONE) {
            HC_OR_RETURN(add_real(done, hc_stac_item_path(batch->scenes[s].output), err));
        }
    }
    hc_paths_sort(all);
    return HC_OK;
}

/* A link of the collection as a path; fresh memory, NULL when there is none left. */
static char *path_of(const HcBatch *batch, const char *link) {
    char *path = hc_text_format("%s/%s", batch->params.collection, link);
    if (path != NULL) {
        hc_stac_decode(path + strlen(batch->params.collection));
    }
    return path;
}

/* An item of another batch counts while its output has a record. */
static bool is_recorded(const char *item) {
    size_t length = strlen(item) - strlen(".stac.json");
    char *record =
        hc_text_ends_with(item, ".stac.json") ? hc_text_format("%.*s.hcube.json", (int)length, item) : NULL;
    bool is = record != NULL && hc_file_may_be_there(record);
    free(record);
    return is;
}

/* A file of ours; *json stays NULL where there is none, or it is no JSON. What a server does not give may be
 * ours nevertheless. */
static HcStatus read_mine(const char *path, bool *there, cJSON **json, HcError *err) {
    HcError why = {0};
    *there = hc_file_may_be_there(path);
    HcStatus status = *there ? hc_json_read(path, json, &why) : HC_OK;
    return status != HC_OK && hc_remote_is(path) ? hc_fail(err, status, "%s", why.text) : HC_OK;
}

/* What the collection has had so far, of other batches. */
static HcStatus find_others(const Collection *collection, const HcPaths *own, HcPaths *to, HcError *err) {
    HcStatus status = HC_OK;
    HcPaths found = {0};
    cJSON *json = NULL;
    const cJSON *link = NULL;
    bool there = false;
    HC_OR_RETURN(read_mine(collection->path, &there, &json, err));
    cJSON_ArrayForEach(link, cJSON_GetObjectItemCaseSensitive(json, "links")) {
        const char *relation = hc_json_text(link, "rel"), *href = hc_json_text(link, "href");
        if (relation != NULL && href != NULL && strcmp(relation, "item") == 0) {
            HC_TRY(add_real(&found, path_of(collection->batch, href), err));
        }
    }
    for (int32_t f = 0; f < found.count; f++) {
        if (!has(own, found.path[f]) && is_recorded(found.path[f])) {
            HC_TRY(hc_paths_add(to, found.path[f], err));
        }
    }
done:
    cJSON_Delete(json);
    hc_paths_clear(&found);
    return status;
}

static HcStatus find_items(const Collection *collection, HcPaths *items, HcError *err) {
    HcStatus status = HC_OK;
    HcPaths all = {0};
    HC_TRY(find_own(collection->batch, &all, items, err));
    HC_TRY(find_others(collection, &all, items, err));
    hc_paths_sort(items);
done:
    hc_paths_clear(&all);
    return status;
}

/* ---- what they say ---- */

static void add_value(cJSON *values, const char *key, const cJSON *value) {
    cJSON *list = cJSON_GetObjectItemCaseSensitive(values, key);
    const cJSON *known = NULL;
    list = list != NULL ? list : cJSON_AddArrayToObject(values, key);
    cJSON_ArrayForEach(known, list) {
        if (cJSON_Compare(known, value, true)) {
            return;
        }
    }
    cJSON_AddItemToArray(list, cJSON_Duplicate(value, true));
}

/* A value, or all of a list. */
static void add_values_of(cJSON *to, const char *key, const cJSON *from) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(from, key), *part = NULL;
    const cJSON *list = cJSON_IsArray(value) ? value : NULL;
    cJSON_ArrayForEach(part, list) {
        add_value(to, key, part);
    }
    if (list == NULL && value != NULL && !cJSON_IsNull(value)) {
        add_value(to, key, value);
    }
}

static void add_values(Collection *to, const cJSON *properties) {
    static const char *const keys[] = {"platform", "instruments", "constellation",      "mission",
                                       "gsd",      "proj:code",   "processing:software"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        add_values_of(to->values, keys[k], properties);
    }
    const cJSON *clouds = cJSON_GetObjectItemCaseSensitive(properties, "eo:cloud_cover");
    if (cJSON_IsNumber(clouds)) {
        to->low_clouds = fmin(to->low_clouds, clouds->valuedouble); /* of NaN the other one */
        to->high_clouds = fmax(to->high_clouds, clouds->valuedouble);
    }
}

/* Times of UTC: their first 19 characters sort as texts, a fraction of the second as a number. */
static int compare_times(const char *a, const char *b) {
    int order = strncmp(a, b, 19);
    double one = strlen(a) > 19 ? strtod(a + 19, NULL) : 0, other = strlen(b) > 19 ? strtod(b + 19, NULL) : 0;
    return order != 0 ? order : (one > other) - (one < other);
}

static void add_times(Collection *to, const cJSON *properties) {
    static const char *const keys[] = {"datetime", "start_datetime", "end_datetime"};
    for (int k = 0; k < 3; k++) {
        const char *text = hc_json_text(properties, keys[k]);
        if (text == NULL || strlen(text) >= sizeof to->from) {
            continue;
        }
        if (to->from[0] == '\0' || compare_times(text, to->from) < 0) {
            strcpy(to->from, text);
        }
        if (to->to[0] == '\0' || compare_times(text, to->to) > 0) {
            strcpy(to->to, text);
        }
    }
}

static void add_place(Collection *to, const cJSON *item) {
    double b[4];
    HcError unimportant = {0};
    if (hc_json_get_doubles(item, "bbox", b, 4, "", &unimportant) != HC_OK) {
        return;
    }
    if (b[0] > b[2]) { /* across the meridian of 180 degrees */
        b[0] = -180;
        b[2] = 180;
    }
    for (int i = 0; i < 4; i++) {
        to->bbox[i] = !to->placed ? b[i] : i < 2 ? fmin(to->bbox[i], b[i]) : fmax(to->bbox[i], b[i]);
    }
    to->placed = true;
}

/* The data of an item as a kind of asset: without what only this one has. */
static cJSON *kind_of_data(const cJSON *item) {
    const cJSON *assets = cJSON_GetObjectItemCaseSensitive(item, "assets");
    cJSON *data = cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(assets, "data"), true), *band = NULL;
    static const char *const own[] = {"href", "file:size", "file:checksum", "raster:spatial_resolution"};
    for (size_t o = 0; o < sizeof own / sizeof *own; o++) {
        cJSON_DeleteItemFromObjectCaseSensitive(data, own[o]);
    }
    cJSON_ArrayForEach(band, cJSON_GetObjectItemCaseSensitive(data, "bands")) {
        cJSON_DeleteItemFromObjectCaseSensitive(band, "statistics");
    }
    return data;
}

static void add_bands(Collection *to, const cJSON *item) {
    cJSON *data = kind_of_data(item);
    if (!to->any) {
        to->bands = data;
        data = NULL;
    } else if (!cJSON_Compare(data, to->bands, true)) {
        cJSON_Delete(to->bands);
        to->bands = NULL;
    }
    cJSON_Delete(data);
    to->any = true;
}

static HcStatus add_item(Collection *to, const char *path, HcError *err) {
    HcError why = {0};
    cJSON *item = NULL;
    char *link = NULL;
    HcStatus status = hc_json_read(path, &item, &why);
    bool refused = status == HC_E_INPUT && hc_remote_is(path) && hc_file_may_be_there(path);
    if ((status == HC_E_INPUT && !refused) || (status == HC_OK && !hc_stac_is_item(item))) {
        status = HC_OK; /* it is gone, or none: it has no place here */
        goto done;
    }
    HC_TRY(status == HC_OK ? HC_OK : hc_fail(err, status, "%s", why.text));
    HC_TRY(hc_stac_link(to->path, path, &link, err));
    const char *id = hc_json_text(item, "id");
    hc_json_open_object(&to->links, NULL);
    hc_json_put_text(&to->links, "rel", "item");
    hc_json_put_text(&to->links, "href", link);
    hc_json_put_text(&to->links, "type", "application/geo+json");
    hc_json_put_text(&to->links, "title", id != NULL ? id : link);
    hc_json_close(&to->links);
    const cJSON *properties = cJSON_GetObjectItemCaseSensitive(item, "properties");
    add_values_of(to->uses, "stac_extensions", item);
    add_values(to, properties);
    add_times(to, properties);
    add_place(to, item);
    add_bands(to, item);
done:
    free(link);
    cJSON_Delete(item);
    return status;
}

/* ---- the files ---- */

static void put_relation(HcJson *to, const char *relation, const char *link) {
    hc_json_open_object(to, NULL);
    hc_json_put_text(to, "rel", relation);
    hc_json_put_text(to, "href", link);
    hc_json_put_text(to, "type", "application/json");
    hc_json_close(to);
}

/* The first members of both files; by the software a file of ours is known again. */
static void put_head(HcJson *to, const HcBatch *batch, const char *type, const char *id) {
    HcText text = {0};
    hc_text_add(&text, "Outputs of hcube: %s", batch->chain);
    hc_json_put_text(to, "type", type);
    hc_json_put_text(to, "stac_version", HC_STAC_VERSION);
    hc_json_put_text(to, "id", id);
    hc_json_put_text(to, "description", hc_text_shown(&text));
    hc_json_open_object(to, "processing:software");
    hc_json_put_text(to, "hcube", hc_version());
    hc_json_close(to);
    to->failed = to->failed || text.failed;
    hc_text_clear(&text);
}

static void put_times(HcJson *to, const Collection *collection) {
    const char *times[2] = {collection->from, collection->to};
    hc_json_open_object(to, "temporal");
    hc_json_open_array(to, "interval");
    hc_json_open_array(to, NULL);
    for (int t = 0; t < 2; t++) {
        hc_json_put(to, NULL, times[t][0] != '\0' ? cJSON_CreateString(times[t]) : cJSON_CreateNull());
    }
    hc_json_close(to);
    hc_json_close(to);
    hc_json_close(to);
}

static void put_extent(HcJson *to, const Collection *collection) {
    static const double earth[4] = {-180, -90, 180, 90};
    hc_json_open_object(to, "extent");
    hc_json_open_object(to, "spatial");
    hc_json_open_array(to, "bbox");
    hc_json_put_doubles(to, NULL, collection->placed ? collection->bbox : earth, 4);
    hc_json_close(to);
    hc_json_close(to);
    put_times(to, collection);
    hc_json_close(to);
}

static void put_summaries(HcJson *to, const Collection *collection) {
    hc_json_put(to, "summaries", cJSON_Duplicate(collection->values, true));
    cJSON *summaries = cJSON_GetObjectItemCaseSensitive(to->root, "summaries");
    if (!isnan(collection->low_clouds)) {
        cJSON *range = cJSON_AddObjectToObject(summaries, "eo:cloud_cover");
        cJSON_AddNumberToObject(range, "minimum", collection->low_clouds);
        cJSON_AddNumberToObject(range, "maximum", collection->high_clouds);
    }
    if (collection->bands != NULL) {
        hc_json_open_object(to, "item_assets");
        hc_json_put(to, "data", cJSON_Duplicate(collection->bands, true));
        hc_json_close(to);
    }
}

/* An extension without one of its fields is no valid one. */
static bool has_fields(const Collection *collection, const char *extension) {
    bool clouds = !isnan(collection->low_clouds), bands = collection->bands != NULL;
    return strstr(extension, "/projection/") != NULL ? cJSON_HasObjectItem(collection->values, "proj:code")
           : strstr(extension, "/raster/") != NULL   ? bands
                                                     : strstr(extension, "/eo/") != NULL && (bands || clouds);
}

static void put_extensions(HcJson *to, const Collection *collection) {
    const cJSON *extension = NULL;
    hc_json_open_array(to, "stac_extensions");
    cJSON_ArrayForEach(extension, collection->uses->child) {
        const char *text = cJSON_GetStringValue(extension);
        if (text != NULL && has_fields(collection, text)) {
            hc_json_put_text(to, NULL, text);
        }
    }
    hc_json_close(to);
}

static HcStatus save_collection(Collection *collection, const char *id, HcError *err) {
    HcJson json;
    hc_json_begin(&json);
    put_head(&json, collection->batch, "Collection", id);
    put_extensions(&json, collection);
    hc_json_put_text(&json, "license", "other");
    put_extent(&json, collection);
    put_summaries(&json, collection);
    put_relation(&collection->links, "root", "./catalog.json");
    put_relation(&collection->links, "parent", "./catalog.json");
    hc_json_put(&json, "links",
                cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(collection->links.root, "links"), true));
    json.failed = json.failed || collection->links.failed;
    HcStatus status = hc_json_save(&json, collection->path, true, err);
    hc_json_clear(&json);
    return status;
}

static HcStatus save_catalog(const HcBatch *batch, const char *id, HcError *err) {
    HcJson json;
    char *path = file_in(batch, 1);
    hc_json_begin(&json);
    put_head(&json, batch, "Catalog", id);
    hc_json_open_array(&json, "links");
    put_relation(&json, "root", "./catalog.json");
    put_relation(&json, "child", "./collection.json");
    hc_json_close(&json);
    HcStatus status = path != NULL ? hc_json_save(&json, path, true, err) : hc_fail_memory(err, 0, "a path");
    hc_json_clear(&json);
    free(path);
    return status;
}

static void clear(Collection *collection) {
    free(collection->path);
    hc_paths_clear(&collection->items);
    hc_json_clear(&collection->links);
    cJSON_Delete(collection->values);
    cJSON_Delete(collection->uses);
    cJSON_Delete(collection->bands);
}

static HcStatus write_once(const HcBatch *batch, HcPaths *written, HcError *err) {
    HcStatus status = HC_OK;
    char *id = NULL;
    Collection collection = {.batch = batch,
                             .path = file_in(batch, 0),
                             .values = cJSON_CreateObject(),
                             .uses = cJSON_CreateObject(),
                             .low_clouds = NAN,
                             .high_clouds = NAN};
    hc_json_begin(&collection.links);
    hc_json_open_array(&collection.links, "links");
    if (collection.path == NULL || collection.values == NULL || collection.uses == NULL) {
        HC_TRY(hc_fail_memory(err, 0, "the collection"));
    }
    HC_TRY(hc_stac_folder_name(batch->params.collection, &id, err));
    HC_TRY(find_items(&collection, &collection.items, err));
    for (int32_t i = 0; i < collection.items.count; i++) {
        HC_TRY(add_item(&collection, collection.items.path[i], err));
    }
    HC_TRY(save_collection(&collection, id, err));
    HC_TRY(save_catalog(batch, id, err));
    *written = collection.items;
    collection.items = (HcPaths){0};
done:
    free(id);
    clear(&collection);
    return status;
}

/* Whether the items are those that were written. */
static HcStatus is_current(const HcBatch *batch, const HcPaths *written, bool *is, HcError *err) {
    HcStatus status = HC_OK;
    HcPaths now = {0};
    Collection collection = {.batch = batch, .path = file_in(batch, 0)};
    HC_TRY(collection.path != NULL ? HC_OK : hc_fail_memory(err, 0, "a path"));
    HC_TRY(find_items(&collection, &now, err));
    *is = now.count == written->count;
    for (int32_t i = 0; i < now.count && *is; i++) {
        *is = strcmp(now.path[i], written->path[i]) == 0;
    }
done:
    free(collection.path);
    hc_paths_clear(&now);
    return status;
}

HcStatus hc_batch_write_collection(const HcBatch *batch, HcError *err) {
    enum { ROUNDS = 3 }; /* while others work on, the last of them finds the rest */
    bool current = batch->params.collection == NULL || hc_ranks_number(hc_app_ranks()) > 0;
    for (int round = 0; round < ROUNDS && !current; round++) {
        HcPaths written = {0};
        HcStatus status = write_once(batch, &written, err);
        status = status == HC_OK ? is_current(batch, &written, &current, err) : status;
        hc_paths_clear(&written);
        HC_OR_RETURN(status);
    }
    return HC_OK;
}

void hc_batch_grow_collection(const HcBatch *batch, HcBatchTotals *totals) {
    enum { PAUSE = 10, SHARE = 20 }; /* [s]; of the time goes into writing at most 1 / SHARE */
    double now = hc_now();
    HcError unimportant = {0}; /* the end of the batch tries again, and says what fails */
    if (batch->params.collection != NULL && now >= totals->next_collection) {
        (void)!hc_batch_write_collection(batch, &unimportant);
        totals->next_collection = hc_now() + fmax(PAUSE, SHARE * (hc_now() - now));
    }
}

/* ---- before ---- */

static HcStatus check_mine(const HcBatch *batch, int which, HcError *err) {
    HcStatus status = HC_OK;
    cJSON *json = NULL;
    bool there = false;
    char *path = file_in(batch, which);
    HC_TRY(path != NULL ? HC_OK : hc_fail_memory(err, 0, "a path"));
    HC_TRY(hc_batch_check_written(batch, "stac-collection", batch->params.collection, path, err));
    HC_TRY(hc_file_check(path, true, err));
    HC_TRY(read_mine(path, &there, &json, err));
    if (there &&
        hc_json_text(cJSON_GetObjectItemCaseSensitive(json, "processing:software"), "hcube") == NULL) {
        HC_TRY(hc_fail(err, HC_E_USAGE, "batch: --stac-collection %s: %s exists, and is none of hcube",
                       batch->params.collection, path));
    }
done:
    cJSON_Delete(json);
    free(path);
    return status;
}

HcStatus hc_batch_check_collection(const HcBatch *batch, HcError *err) {
    if (batch->params.collection == NULL || hc_ranks_number(hc_app_ranks()) > 0) {
        return HC_OK;
    }
    if (strncmp(batch->params.collection, "/vsi", 4) == 0 && !hc_remote_takes(batch->params.collection)) {
        return hc_fail(
            err, HC_E_UNSUPPORTED,
            "batch: --stac-collection %s: outputs are written to local files and object storage only",
            batch->params.collection);
    }
    char *path = file_in(batch, 0);
    HcStatus status = path != NULL ? hc_batch_make_folders(path, err) : hc_fail_memory(err, 0, "a path");
    free(path);
    HC_OR_RETURN(status);
    HC_OR_RETURN(check_mine(batch, 0, err));
    return check_mine(batch, 1, err);
}
