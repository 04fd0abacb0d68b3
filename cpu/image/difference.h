/* Differences of neighbouring pixels: for the noise image, and for sums of them. */
#ifndef HC_CPU_IMAGE_DIFFERENCE_H
#define HC_CPU_IMAGE_DIFFERENCE_H

#include "core/operation/image/difference.h"
#include "core/operation/gram/gram.h"
#include "cpu/internal.h"

HcDifferenceFn hc_cpu_difference;

/* Where each neighbour that `kind` looks at is valid and within the scene and the window (NULL = the scene):
 * ok[samples] for one line. Returns how many are. */
int32_t hc_cpu_difference_valid(const HcBlock *in, HcDifference kind, int64_t line, const HcWindow *window,
                                uint8_t *ok);

/* The difference (as HcDifference has it) of `count` pixels from `sample` on, all of whose neighbours exist:
 * out[count][bands]. In float32 it is exact for integers as long as it stays within 2^24.
 * scratch[count][bands]. */
void hc_cpu_difference_float(const HcBlock *in, HcDifference kind, int64_t line, int32_t sample,
                             int32_t count, float *out);
void hc_cpu_difference_double(const HcBlock *in, HcDifference kind, int64_t line, int32_t sample,
                              int32_t count, float *scratch, double *out);

/* Median and sum of the nine values around each of `values` values (whole pixels). They come from three
 * rows, which start at the pixel left of the first. */
void hc_cpu_median9(const float *above, const float *here, const float *below, int64_t bands, int64_t values,
                    float *out);
void hc_cpu_sum9(const float *above, const float *here, const float *below, int64_t bands, int64_t values,
                 double *out);

#endif
