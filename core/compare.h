/* The order of numbers, none of which is NaN, and of texts, for qsort(). */
#ifndef HC_CORE_COMPARE_H
#define HC_CORE_COMPARE_H

#include <string.h>

static inline int hc_compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline int hc_compare_floats(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static inline int hc_compare_texts(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

#endif
