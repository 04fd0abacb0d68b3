/* Builds and reads JSON over cJSON. A document that runs out of memory remembers it until the end, so
 * that callers check once. Numbers have 17 significant digits: a file gives back the same bits. */
#include "pipeline/json/json.h"
#include "core/allocate.h"
#include "core/text.h"
#include "core/version.h"
#include "io/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than any model: 2,000 bands square in text. */
static const size_t file_limit = (size_t)1 << 29;

/* ---- building ---- */

void hc_json_begin(HcJson *json) {
    *json = (HcJson){.root = cJSON_CreateObject(), .depth = 1};
    json->open[0] = json->root;
    json->failed = json->root == NULL;
}

void hc_json_clear(HcJson *json) {
    cJSON_Delete(json->root);
    *json = (HcJson){.failed = true};
}

void hc_json_put(HcJson *to, const char *name, cJSON *item) {
    cJSON *in = to->failed ? NULL : to->open[to->depth - 1];
    bool added = in != NULL && item != NULL &&
                 (name != NULL ? cJSON_AddItemToObject(in, name, item) : cJSON_AddItemToArray(in, item)) != 0;
    if (!added) {
        cJSON_Delete(item);
        to->failed = true;
    }
}

/* The depth counts on after a failure, so that each closing still meets its opening. */
static void open_item(HcJson *to, const char *name, cJSON *item) {
    hc_json_put(to, name, item);
    to->failed = to->failed || to->depth == HC_JSON_DEPTH;
    if (!to->failed) {
        to->open[to->depth] = item;
    }
    to->depth++;
}

void hc_json_open_object(HcJson *to, const char *name) {
    open_item(to, name, cJSON_CreateObject());
}

void hc_json_open_array(HcJson *to, const char *name) {
    open_item(to, name, cJSON_CreateArray());
}

void hc_json_close(HcJson *to) {
    to->depth--;
}

void hc_json_put_number(HcJson *to, const char *name, double value) {
    hc_json_put(to, name, cJSON_CreateNumber(value));
}

void hc_json_put_double(HcJson *to, const char *name, double value) {
    char text[HC_TEXT_DOUBLE];
    hc_json_put(to, name, cJSON_CreateRaw(isfinite(value) ? hc_text_double(text, value) : "null"));
}

void hc_json_put_text(HcJson *to, const char *name, const char *text) {
    cJSON *item = cJSON_CreateString(text);
    if (item != NULL && item->valuestring != NULL) {
        hc_text_hide_secrets(item->valuestring);
    }
    hc_json_put(to, name, item);
}

void hc_json_put_bool(HcJson *to, const char *name, bool value) {
    hc_json_put(to, name, cJSON_CreateBool(value));
}

void hc_json_put_part(HcJson *to, const char *name, HcJson *part) {
    to->failed = to->failed || part->failed;
    hc_json_put(to, name, part->root);
    part->root = NULL;
    hc_json_clear(part);
}

/* One text for the whole array: an item for each number would take as long as the numbers. cJSON's own
 * numbers are content with one unit in the last place. */
void hc_json_put_doubles(HcJson *to, const char *name, const double *values, size_t count) {
    if (values == NULL) {
        return;
    }
    char *text = malloc(count * (HC_TEXT_DOUBLE + 2) + 3);
    if (text == NULL) {
        to->failed = true;
        return;
    }
    char *end = stpcpy(text, "[");
    for (size_t i = 0; i < count; i++) {
        char number[HC_TEXT_DOUBLE];
        end = stpcpy(end, i > 0 ? ", " : "");
        end = stpcpy(end, isfinite(values[i]) ? hc_text_double(number, values[i]) : "null");
    }
    stpcpy(end, "]");
    hc_json_put(to, name, cJSON_CreateRaw(text));
    free(text);
}

void hc_json_put_ints(HcJson *to, const char *name, const int32_t *values, size_t count) {
    if (values != NULL) {
        hc_json_put(to, name, cJSON_CreateIntArray(values, (int)count));
    }
}

void hc_json_put_texts(HcJson *to, const char *name, const char *const *texts, int64_t count) {
    hc_json_open_array(to, name);
    for (int64_t i = 0; i < count; i++) {
        hc_json_put_text(to, NULL, texts[i] != NULL ? texts[i] : "");
    }
    hc_json_close(to);
}

void hc_json_put_bands(HcJson *to, const HcScene *scene) {
    size_t bands = (size_t)scene->bands;
    hc_json_put_number(to, "bands", scene->bands);
    hc_json_put_doubles(to, "wavelength_nm", scene->wavelength, bands);
    hc_json_put_doubles(to, "fwhm_nm", scene->fwhm, bands);
    hc_json_put_ints(to, "file_bands_from_0", scene->source_band, bands);
    if (scene->band_name != NULL) {
        hc_json_put_texts(to, "band_names", (const char *const *)scene->band_name, scene->bands);
    }
    if (scene->gain != NULL) {
        hc_json_put_doubles(to, "gain", scene->gain, bands);
        hc_json_put_doubles(to, "offset", scene->offset, bands);
    }
    if (scene->has_nodata && isfinite(scene->nodata)) {
        hc_json_put_double(to, "nodata", scene->nodata);
    }
}

HcStatus hc_json_check(const HcJson *json, const char *what, HcError *err) {
    return json->failed ? hc_fail_memory(err, 0, what) : HC_OK;
}

char *hc_json_format(const HcJson *json, bool one_line) {
    return json->failed ? NULL : one_line ? cJSON_PrintUnformatted(json->root) : cJSON_Print(json->root);
}

static HcStatus save(const HcJson *json, const char *path, bool overwrite, bool flush, HcError *err) {
    char *text = hc_json_format(json, false);
    if (text == NULL) {
        return hc_fail_memory(err, 0, path);
    }
    size_t length = strlen(text);
    text[length] = '\n'; /* in the place of the final 0, which the file does not want */
    HcStatus status = flush ? hc_file_write(path, text, length + 1, overwrite, err)
                            : hc_file_write_unflushed(path, text, length + 1, overwrite, err);
    cJSON_free(text);
    return status;
}

HcStatus hc_json_save(const HcJson *json, const char *path, bool overwrite, HcError *err) {
    return save(json, path, overwrite, true, err);
}

HcStatus hc_json_save_unflushed(const HcJson *json, const char *path, bool overwrite, HcError *err) {
    return save(json, path, overwrite, false, err);
}

/* ---- reading ---- */

static HcStatus fail_count(HcError *err, const char *where, const char *name, size_t found, size_t count) {
    return hc_fail(err, HC_E_INPUT, "%s: \"%s\" has %zu numbers, %zu are needed", where, name, found, count);
}

HcStatus hc_json_check_count(const cJSON *from, const char *name, size_t count, const char *where,
                             HcError *err) {
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(from, name);
    if (!cJSON_IsArray(array)) {
        return hc_fail(err, HC_E_INPUT, "%s: \"%s\" is missing", where, name);
    }
    size_t found = (size_t)cJSON_GetArraySize(array);
    return found == count ? HC_OK : fail_count(err, where, name, found, count);
}

HcStatus hc_json_get_doubles(const cJSON *from, const char *name, double *values, size_t count,
                             const char *where, HcError *err) {
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(from, name);
    if (!cJSON_IsArray(array)) {
        return hc_fail(err, HC_E_INPUT, "%s: \"%s\" is missing", where, name);
    }
    size_t found = 0;
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, array) {
        if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble)) {
            return hc_fail(err, HC_E_INPUT, "%s: \"%s\": element %zu is not a number", where, name,
                           found + 1);
        }
        if (found < count) {
            values[found] = item->valuedouble;
        }
        found++;
    }
    if (found != count) {
        return fail_count(err, where, name, found, count);
    }
    return HC_OK;
}

HcStatus hc_json_get_int(const cJSON *from, const char *name, int64_t minimum, int64_t maximum,
                         int64_t *value, const char *where, HcError *err) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, name);
    if (!cJSON_IsNumber(item)) {
        return hc_fail(err, HC_E_INPUT, "%s: \"%s\" is missing", where, name);
    }
    if (!(item->valuedouble >= (double)minimum && item->valuedouble <= (double)maximum) ||
        item->valuedouble != floor(item->valuedouble)) {
        return hc_fail(err, HC_E_INPUT, "%s: \"%s\" is %g, not a whole number from %lld to %lld", where, name,
                       item->valuedouble, (long long)minimum, (long long)maximum);
    }
    *value = (int64_t)item->valuedouble;
    return HC_OK;
}

const char *hc_json_text(const cJSON *from, const char *name) {
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(from, name));
}

HcStatus hc_json_read(const char *path, cJSON **json, HcError *err) {
    HcStatus status = HC_OK;
    char *text = NULL;
    size_t bytes = 0;
    *json = NULL;
    HC_TRY(hc_file_read(path, file_limit, &text, &bytes, err));
    *json = cJSON_ParseWithLength(text, bytes);
    if (*json == NULL) {
        const char *stop = cJSON_GetErrorPtr();
        size_t at = stop != NULL && stop >= text && stop <= text + bytes ? (size_t)(stop - text) : 0;
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: not a JSON file (stops making sense at byte %zu of %zu)", path,
                       at, bytes));
    }
done:
    free(text);
    return status;
}

/* ---- kinds of files ---- */

#define BAND_KEYS "bands wavelength_nm fwhm_nm file_bands_from_0 band_names gain offset nodata "

/* The members are those of all versions; NULL where no command reads more than the kind. */
static const struct {
    const char *member, *word;
    int32_t newest;
    const char *keys;
} kinds[HC_JSON_KINDS] = {
    [HC_JSON_MODEL] = {"hcube_model", "model file", 1,
                       BAND_KEYS "left_out_bands_from_1 method noise pixels noise_pixels components "
                                 "eigenvalues mean forward inverse"},
    [HC_JSON_STATISTICS] = {"hcube_statistics", "statistics file", 1,
                            BAND_KEYS "noise pixels mean covariance"},
    [HC_JSON_GROUPS] = {"hcube_group_statistics", "file of statistics of groups", 1, NULL},
    [HC_JSON_SUMS] = {"hcube_sums", "sums file", 2, NULL},
    [HC_JSON_NOISE] = {"hcube_noise", "noise file", 1,
                       "pixels difference_pixels differences median_snr differences_over_regression "
                       "noise_choice columns least_noise most_noise noise_by_band noise_by_columns"},
    [HC_JSON_DIMENSION] = {"hcube_dimension", "file of dimension", 1, NULL},
    [HC_JSON_ACCURACY] = {"hcube_accuracy", "accuracy report", 1, NULL},
    [HC_JSON_RECORD] = {"hcube_record", "record", 1,
                        "command arguments folder finished device steps inputs outputs pixels blocks "
                        "memory_bytes seconds ranks verify notes batch rerun problem result"},
    [HC_JSON_POOL] = {"hcube_pool", "record of a pool", 1, NULL},
    [HC_JSON_FAILURE] = {"hcube_failure", "mark of a failed scene", 1, NULL},
};

void hc_json_put_kind(HcJson *to, HcJsonKind kind, int32_t version) {
    hc_json_put_number(to, kinds[kind].member, version);
    hc_json_put_text(to, "version", hc_version());
}

HcJsonKind hc_json_kind(const cJSON *json) {
    int32_t kind = 0;
    while (kind < HC_JSON_KINDS && cJSON_GetObjectItemCaseSensitive(json, kinds[kind].member) == NULL) {
        kind++;
    }
    return (HcJsonKind)kind;
}

const char *hc_json_member(HcJsonKind kind) {
    return kinds[kind].member;
}

/* Whether a list of words with blanks between them has this one. */
static bool has_word(const char *words, const char *word) {
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)) != NULL && length > 0; at += length) {
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

static bool is_known(HcJsonKind kind, const char *key) {
    return kinds[kind].keys == NULL || strcmp(key, kinds[kind].member) == 0 || strcmp(key, "version") == 0 ||
           has_word(kinds[kind].keys, key);
}

static void find_unknown(const cJSON *json, HcJsonKind kind, char *remark) {
    const cJSON *item = NULL;
    const char *first = NULL;
    int32_t count = 0;
    cJSON_ArrayForEach(item, json) {
        bool unknown = !is_known(kind, item->string);
        first = unknown && first == NULL ? item->string : first;
        count += unknown;
    }
    if (count > 0) {
        snprintf(remark, HC_JSON_REMARK, "hcube %s ignores %" PRId32 " unknown key%s: \"%.60s\"%s",
                 hc_version(), count, count == 1 ? "" : "s", first, count == 1 ? "" : ", ...");
    }
}

static HcStatus check_version(const cJSON *json, HcJsonKind kind, const char *path, HcError *err) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, kinds[kind].member);
    double version = cJSON_IsNumber(item) ? item->valuedouble : 0;
    if (!(version >= 1) || version != floor(version)) {
        return hc_fail(err, HC_E_INPUT, "%s: \"%s\" is not the version of a format (1 to %" PRId32 ")", path,
                       kinds[kind].member, kinds[kind].newest);
    }
    if (version > kinds[kind].newest) {
        const char *writer = hc_json_text(json, "version");
        return hc_fail(err, HC_E_INPUT,
                       "%s: a %s of version %g, written by %s%.40s; hcube %s reads versions up to %" PRId32,
                       path, kinds[kind].word, version, writer != NULL ? "hcube " : "a newer hcube",
                       writer != NULL ? writer : "", hc_version(), kinds[kind].newest);
    }
    return HC_OK;
}

HcStatus hc_json_check_kind(const cJSON *json, HcJsonKind kind, const char *path, char *remark,
                            HcError *err) {
    if (cJSON_GetObjectItemCaseSensitive(json, kinds[kind].member) == NULL) {
        return hc_fail(err, HC_E_INPUT, "%s: not a %s of hcube (it has no \"%s\")", path, kinds[kind].word,
                       kinds[kind].member);
    }
    if (remark != NULL) {
        remark[0] = '\0';
        find_unknown(json, kind, remark);
    }
    return check_version(json, kind, path, err);
}

/* ---- bands ---- */

static HcStatus get_optional(const cJSON *from, const char *name, double **values, int32_t bands,
                             const char *where, HcError *err) {
    if (cJSON_GetObjectItemCaseSensitive(from, name) == NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_new(*values, (size_t)bands, name, err));
    return hc_json_get_doubles(from, name, *values, (size_t)bands, where, err);
}

static HcStatus get_names(const cJSON *from, HcScene *scene, HcError *err) {
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(from, "band_names");
    int32_t b = 0;
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, names) {
        const char *name = cJSON_GetStringValue(item);
        if (b < scene->bands && name != NULL && *name != '\0') {
            HC_OR_RETURN(hc_scene_name_band(scene, b, err, "%s", name));
        }
        b++;
    }
    return HC_OK;
}

/* Later stages use them as indices. */
static HcStatus get_source_bands(const cJSON *from, HcScene *scene, const char *where, HcError *err) {
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(from, "file_bands_from_0");
    if (!cJSON_IsArray(array) || cJSON_GetArraySize(array) != scene->bands) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_new(scene->source_band, scene->bands, "band places", err));
    int32_t b = 0;
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, array) {
        double band = cJSON_IsNumber(item) ? item->valuedouble : -1;
        if (!(band >= 0 && band < INT32_MAX) || band != floor(band)) {
            return hc_fail(err, HC_E_INPUT, "%s: \"file_bands_from_0\": element %d is not a band", where,
                           b + 1);
        }
        scene->source_band[b++] = (int32_t)band;
    }
    return HC_OK;
}

HcStatus hc_json_get_bands(const cJSON *from, HcScene *scene, const char *where, HcError *err) {
    int64_t bands = 0;
    HC_OR_RETURN(hc_json_get_int(from, "bands", 1, 1 << 20, &bands, where, err));
    scene->bands = (int32_t)bands;
    HC_OR_RETURN(get_optional(from, "wavelength_nm", &scene->wavelength, scene->bands, where, err));
    HC_OR_RETURN(get_optional(from, "fwhm_nm", &scene->fwhm, scene->bands, where, err));
    HC_OR_RETURN(get_optional(from, "gain", &scene->gain, scene->bands, where, err));
    HC_OR_RETURN(get_optional(from, "offset", &scene->offset, scene->bands, where, err));
    HC_OR_RETURN(get_names(from, scene, err));
    HC_OR_RETURN(get_source_bands(from, scene, where, err));
    const cJSON *nodata = cJSON_GetObjectItemCaseSensitive(from, "nodata");
    scene->has_nodata = cJSON_IsNumber(nodata);
    scene->nodata = scene->has_nodata ? nodata->valuedouble : 0;
    return HC_OK;
}
