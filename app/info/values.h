/* What info reads of the values of a scene: a sample, or all for --stats. */
#ifndef HC_APP_INFO_VALUES_H
#define HC_APP_INFO_VALUES_H

#include "pipeline/json/json.h"
#include "pipeline/statistics/summary.h"

typedef struct HcInfoValues {
    HcBandSummary *band; /* [count], owned: free() */
    int32_t count;       /* 0 = nothing was read */
    bool all;            /* every line; else some lines */
    int32_t first;       /* the band that is printed then, from 0 */
    int64_t lines;       /* that were read */
} HcInfoValues;

/* Reads all with `stats`. Else reads some lines of a file that is read directly: at most 64 and 16 MiB. Of
 * other files and of class maps it then reads nothing. Must come before the first read. threads: 0 = one a
 * processor. */
HcStatus hc_info_values(HcReader *reader, bool stats, int32_t threads, HcInfoValues *out,
                        HcError *err) HC_MUST_CHECK;

/* Print nothing where there is nothing of the kind. */
void hc_info_print_sample(const HcInfoValues *values, const HcScene *scene);
void hc_info_print_stats(const HcInfoValues *values);
void hc_info_put_values(const HcInfoValues *values, HcJson *to);

#endif
