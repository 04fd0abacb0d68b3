/* The order of numbers, and their median. */
#ifndef HC_PIPELINE_STATISTICS_MEDIAN_H
#define HC_PIPELINE_STATISTICS_MEDIAN_H

#include <stddef.h>

/* Compares two doubles that are not NaN, for qsort(). */
int hc_compare_doubles(const void *a, const void *b);

/* The lower median of values[count], which this sorts; NaN without any. */
double hc_lower_median(double *values, size_t count);

#endif
