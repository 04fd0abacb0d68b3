/* Tables of a report, made of the JSON of the record. */
#ifndef HC_PIPELINE_REPORT_TABLES_H
#define HC_PIPELINE_REPORT_TABLES_H

#include "core/text.h"

#include <cjson/cJSON.h>

/* Adds what an object holds: a table of its values with `title`, and a table for each list of objects in it.
 * Nothing where it is empty or NULL. Names without underscores; long lists are cut, and say so. */
void hc_report_add_object(HcText *to, const char *title, const cJSON *object);

/* Adds a table of a list of objects: a row for each, a column for each name that some of them has. */
void hc_report_add_list(HcText *to, const char *title, const cJSON *list);

/* Masked pixels by their causes. */
void hc_report_add_pixels(HcText *to, const cJSON *record);

/* Times of passes and steps, and what each waited for. */
void hc_report_add_times(HcText *to, const cJSON *record);

/* What a run or a pass waited for most: "reading", "writing" or "computing". */
const char *hc_report_limit(double seconds, double waiting_for_reading, double waiting_for_writing);

#endif
