/* JSON files: statistics, models and records share these few helpers over cJSON. */
#ifndef HC_PIPELINE_JSON_H
#define HC_PIPELINE_JSON_H

#include "core/scene.h"

#include <cjson/cJSON.h>

/* ---- building ---- */

enum { HC_JSON_DEPTH = 12 };

/* An object that is being built. It remembers when memory has run out: what is put into it from then on is
 * ignored, and hc_json_check says so once, at the end.
 *
 *     HcJson json;
 *     hc_json_begin(&json);
 *     hc_json_put_text(&json, "name", name);
 *     hc_json_open_array(&json, "values");
 *     hc_json_put_number(&json, NULL, 3);
 *     hc_json_close(&json);
 *     status = hc_json_save(&json, path, overwrite, err);
 *     hc_json_clear(&json);
 */
typedef struct HcJson {
    cJSON *root;                /* NULL where memory was missing for it */
    cJSON *open[HC_JSON_DEPTH]; /* [depth] what is open, from the root to what is being filled */
    int32_t depth;
    bool failed; /* memory has run out: the object is not whole */
} HcJson;

void hc_json_begin(HcJson *json);
void hc_json_clear(HcJson *json);

/* What is put goes into the innermost object or array that is open. name: NULL in arrays. */
void hc_json_open_object(HcJson *to, const char *name);
void hc_json_open_array(HcJson *to, const char *name);
void hc_json_close(HcJson *to);
void hc_json_put_number(HcJson *to, const char *name, double value);
/* The number that reads back the same bits; NaN and infinity become null. */
void hc_json_put_double(HcJson *to, const char *name, double value);
void hc_json_put_text(HcJson *to, const char *name, const char *text);
void hc_json_put_bool(HcJson *to, const char *name, bool value);
/* Takes the item over; NULL counts as memory that has run out. */
void hc_json_put(HcJson *to, const char *name, cJSON *item);
/* Takes over a whole object that was built apart, and clears it. */
void hc_json_put_part(HcJson *to, const char *name, HcJson *part);
/* Arrays of `count` numbers; doubles as by hc_json_put_double. NULL values add nothing. */
void hc_json_put_doubles(HcJson *to, const char *name, const double *values, size_t count);
void hc_json_put_ints(HcJson *to, const char *name, const int32_t *values, size_t count);
/* An array of texts; of NULL an empty one. */
void hc_json_put_texts(HcJson *to, const char *name, const char *const *texts, int64_t count);
/* The properties of the bands of a scene: count, wavelengths, fwhm, names, places in their file, nodata. */
void hc_json_put_bands(HcJson *to, const HcScene *scene);

/* What a file of hcube is. Its member "hcube_model", ... has the version of the format, and "version" the
 * hcube that wrote the file. */
typedef enum HcJsonKind {
    HC_JSON_MODEL,
    HC_JSON_STATISTICS,
    HC_JSON_GROUPS, /* statistics of several groups */
    HC_JSON_SUMS,   /* version 1 of integers, 2 of floats */
    HC_JSON_NOISE,
    HC_JSON_DIMENSION,
    HC_JSON_ACCURACY,
    HC_JSON_RECORD,
    HC_JSON_POOL,
    HC_JSON_FAILURE,
    HC_JSON_KINDS
} HcJsonKind;

/* Puts kind, version of the format, and version of hcube: the first members of a file. */
void hc_json_put_kind(HcJson *to, HcJsonKind kind, int32_t version);

/* HC_E_MEMORY, in the name of `what`, where the object is not whole. */
HcStatus hc_json_check(const HcJson *json, const char *what, HcError *err) HC_MUST_CHECK;

/* The text, to be freed by cJSON_free, on one line or on several; NULL where the object is not whole. */
char *hc_json_format(const HcJson *json, bool one_line);
/* Checks and writes a whole file. A file that is flushed survives a power failure, and takes its time. */
HcStatus hc_json_save(const HcJson *json, const char *path, bool overwrite, HcError *err) HC_MUST_CHECK;
HcStatus hc_json_save_unflushed(const HcJson *json, const char *path, bool overwrite,
                                HcError *err) HC_MUST_CHECK;

/* ---- reading ---- */

/* Checks that an array has exactly `count` items, before memory is allocated for a count that a file claims.
 */
HcStatus hc_json_check_count(const cJSON *from, const char *name, size_t count, const char *where,
                             HcError *err) HC_MUST_CHECK;
/* Reads an array of exactly `count` finite doubles; `where` names the file in messages. */
HcStatus hc_json_get_doubles(const cJSON *from, const char *name, double *values, size_t count,
                             const char *where, HcError *err) HC_MUST_CHECK;
/* A whole number between minimum and maximum. */
HcStatus hc_json_get_int(const cJSON *from, const char *name, int64_t minimum, int64_t maximum,
                         int64_t *value, const char *where, HcError *err) HC_MUST_CHECK;
/* A text, borrowed from the JSON; NULL where absent. */
const char *hc_json_text(const cJSON *from, const char *name);

HcStatus hc_json_read(const char *path, cJSON **json, HcError *err) HC_MUST_CHECK;

/* HC_JSON_KINDS: no file of hcube. */
HcJsonKind hc_json_kind(const cJSON *json);
/* "hcube_model" */
const char *hc_json_member(HcJsonKind kind);

enum { HC_JSON_REMARK = 200 };
/* Checks that the JSON of `path` is a file of this kind, in a version that this hcube reads.
 * remark: NULL, or [HC_JSON_REMARK] for the text of a note on members that this hcube does not know; "":
 * none. HC_E_INPUT: another file, or a newer version; the message names the hcube that wrote it. */
HcStatus hc_json_check_kind(const cJSON *json, HcJsonKind kind, const char *path, char *remark,
                            HcError *err) HC_MUST_CHECK;

/* Reads what hc_json_put_bands has written into a zeroed scene. */
HcStatus hc_json_get_bands(const cJSON *from, HcScene *scene, const char *where, HcError *err) HC_MUST_CHECK;

#endif
