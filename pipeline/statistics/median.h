/* The median of numbers. */
#ifndef HC_PIPELINE_STATISTICS_MEDIAN_H
#define HC_PIPELINE_STATISTICS_MEDIAN_H

#include <stddef.h>

/* The lower median of values[count], which this sorts; NaN without any. */
double hc_lower_median(double *values, size_t count);

#endif
