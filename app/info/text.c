/* Numbers as `hcube info` prints them. */
#include "app/app.h"

#include <math.h>
#include <stdio.h>

bool hc_info_range(const double *value, int32_t count, double *low, double *high) {
    bool rising = true;
    *low = *high = value[0];
    for (int32_t b = 1; b < count; b++) {
        rising = rising && value[b] > value[b - 1];
        *low = fmin(*low, value[b]);
        *high = fmax(*high, value[b]);
    }
    return rising;
}

void hc_info_number(const double *value, int32_t band, char *out, size_t size) {
    if (value != NULL) {
        snprintf(out, size, "%.2f", value[band]);
    } else {
        snprintf(out, size, "-");
    }
}
