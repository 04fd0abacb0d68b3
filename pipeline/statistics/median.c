#include "pipeline/statistics/median.h"
#include "core/compare.h"

#include <math.h>
#include <stdlib.h>

double hc_lower_median(double *values, size_t count) {
    qsort(values, count, sizeof *values, hc_compare_doubles);
    return count > 0 ? values[(count - 1) / 2] : (double)NAN;
}
