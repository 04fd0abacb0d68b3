/* The strict backend: eigh. */
#include "tests/support/strict_parts.h"

HcStatus hc_strict_eigh(HcCompute *compute, int32_t n, int32_t count, const double *matrix, double *values,
                        double *vectors, HcError *err) {
    return hc_eigh(strict_of(compute)->cpu, n, count, matrix, values, vectors, err);
}
