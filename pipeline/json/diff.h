/* JSON diff: where two JSON files of one kind differ, such as the records of two runs. */
#ifndef HC_PIPELINE_JSON_DIFF_H
#define HC_PIPELINE_JSON_DIFF_H

#include "core/status.h"

#include <cjson/cJSON.h>
#include <stdint.h>

/* One difference. All texts are fresh memory. */
typedef struct HcJsonDifference {
    char *place; /* "steps[1].options.components"; places in arrays count from 0 */
    char *a, *b; /* the values as JSON; "nothing" where the file has none */
    char *more;  /* of lists of numbers: how many differ, and by how much; else NULL */
} HcJsonDifference;

/* Zero-initialise; hc_json_diff_clear() is then always safe. */
typedef struct HcJsonDiff {
    HcJsonDifference *item; /* [count] in the order of the first file */
    int32_t count;
} HcJsonDiff;

/* Compares two objects. Members for which `left_out` is true are not looked at, wherever they are; NULL = all
 * are. Lists of numbers of equal length make one difference, at the first pair that differs. Numbers are
 * equal where they are the same double. */
HcStatus hc_json_diff(const cJSON *a, const cJSON *b, bool (*left_out)(const char *name), HcJsonDiff *out,
                      HcError *err) HC_MUST_CHECK;
void hc_json_diff_clear(HcJsonDiff *diff);

#endif
