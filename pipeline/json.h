/* JSON files: statistics, models and records share these few helpers over cJSON. */
#ifndef HC_PIPELINE_JSON_H
#define HC_PIPELINE_JSON_H

#include "core/scene.h"

#include <cjson/cJSON.h>

/* Adds an array of `count` doubles, as raw text (they read back the same bits; NaN and infinity become null).
 * NULL values add nothing. */
HcStatus hc_json_add_doubles(cJSON *to, const char *name, const double *values, size_t count,
                             HcError *err) HC_MUST_CHECK;
HcStatus hc_json_add_ints(cJSON *to, const char *name, const int32_t *values, size_t count,
                          HcError *err) HC_MUST_CHECK;

/* Whether there is an array of exactly `count` items: before memory is taken for as many as a file says that
 * it holds. */
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

/* Writes and reads whole files. A file that is flushed survives a power failure, and takes its time. */
HcStatus hc_json_write(const char *path, const cJSON *json, bool overwrite, HcError *err) HC_MUST_CHECK;
HcStatus hc_json_write_unflushed(const char *path, const cJSON *json, bool overwrite,
                                 HcError *err) HC_MUST_CHECK;
HcStatus hc_json_read(const char *path, cJSON **json, HcError *err) HC_MUST_CHECK;

/* The properties of the bands of a scene: count, wavelengths, fwhm, names, places in their file, nodata. */
HcStatus hc_json_add_bands(cJSON *to, const HcScene *scene, HcError *err) HC_MUST_CHECK;
/* Reads them into a zeroed scene. */
HcStatus hc_json_get_bands(const cJSON *from, HcScene *scene, const char *where, HcError *err) HC_MUST_CHECK;

#endif
