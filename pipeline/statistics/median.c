#include "pipeline/statistics/median.h"

#include <math.h>
#include <stdlib.h>

int hc_compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double hc_lower_median(double *values, size_t count) {
    qsort(values, count, sizeof *values, hc_compare_doubles);
    return count > 0 ? values[(count - 1) / 2] : (double)NAN;
}
