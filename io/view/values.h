/* Values of a view: stored values of any type to float32, where one nodata value and no gain do not say it
 * all. */
#ifndef HC_IO_VIEW_VALUES_H
#define HC_IO_VIEW_VALUES_H

#include "core/block.h"

/* How the values of one band are converted. */
typedef struct HcViewBand {
    const double *nodata; /* [count] that mean no data, NaN may be one */
    int32_t count;
    float none; /* what they become; no other value does */
    bool scaled;
    double gain, offset; /* value = gain * stored + offset, where it is scaled */
} HcViewBand;

/* Whether a type has that value. The first powers of two outside of 64-bit integers count as their ends. */
bool hc_view_type_has(HcType type, double value);

/* An integer that no value of an integer type has, within integer_limit of that type where there is one. */
float hc_view_outside(HcType type);

/* The samples of one line of the band `stored` of raw, to[raw->samples]. */
void hc_view_convert(const HcRaw *raw, int32_t line, int32_t stored, const HcViewBand *band, float *to);

#endif
