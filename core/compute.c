#include "core/compute.h"

#include <math.h>

void hc_sign_rule(double *vector, int32_t n) {
    int32_t largest = 0;
    for (int32_t b = 1; b < n; b++) {
        if (fabs(vector[b]) > fabs(vector[largest])) {
            largest = b;
        }
    }
    if (vector[largest] < 0) {
        for (int32_t b = 0; b < n; b++) {
            vector[b] = -vector[b];
        }
    }
}
