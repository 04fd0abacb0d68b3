/* Summary: what the stored values of each band are: counts, extremes, mean and standard deviation. */
#ifndef HC_PIPELINE_STATISTICS_SUMMARY_H
#define HC_PIPELINE_STATISTICS_SUMMARY_H

#include "io/read/reader.h"

/* ---- values of a raw line as doubles (values.c) ---- */

/* Some bands of a line: value (band, sample) at from + band*band_step + sample*sample_step. */
typedef struct HcPatch {
    const char *from;
    int64_t sample_step;
    const int64_t *offset; /* [bands] of each band */
    int32_t bands, samples;
    bool swap;
    double *to; /* [bands][samples] */
} HcPatch;

/* Fills patch->to. Integers beyond 2^53 are rounded. */
void hc_take_values(HcType type, const HcPatch *patch);

/* ---- figures of bands ---- */

/* Of the stored values of one band, in units of the file. Each pixel is in one count: nodata comes before
 * values that are not finite, and zero is not counted where it is nodata. The figures are of all others,
 * zeros included, and NaN where there are none. */
typedef struct HcBandSummary {
    int64_t pixels; /* that were looked at */
    int64_t nodata, not_finite, zero;
    double low, high, mean;
    double deviation; /* with count - 1 in the denominator; NaN below 2 values, infinite beyond a double */
} HcBandSummary;

/* Summarises some bands (from 0, ascending; NULL = all) in every `step`-th line of the scene, from the first
 * on: out[count]. No mask is applied. Must come before the first read of the reader. The bits do not depend
 * on `threads` (0 = one a processor).
 *
 * Sums of squares are those of deviations from the mean of each line, joined line by line (Chan, Golub and
 * LeVeque 1979). Values whose squares a double does not hold are summed in a power of two as their unit. */
HcStatus hc_summarise(HcReader *reader, const int32_t *bands, int32_t count, int64_t step, int32_t threads,
                      HcBandSummary *out, HcError *err) HC_MUST_CHECK;

#endif
