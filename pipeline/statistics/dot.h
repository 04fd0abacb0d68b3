/* The product of two vectors, summed in their order. */
#ifndef HC_PIPELINE_STATISTICS_DOT_H
#define HC_PIPELINE_STATISTICS_DOT_H

#include <stddef.h>

static inline double hc_dot(const double *a, const double *b, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

#endif
