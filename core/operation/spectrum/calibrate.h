/* calibrate: an offset and a gain of each detector column and band. Turns raw counts of a line scanner into
 * reflectance, and takes stripes away. */
#ifndef HC_CORE_OPERATION_CALIBRATE_H
#define HC_CORE_OPERATION_CALIBRATE_H

#include "core/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Arrays [device] [samples][bands]. */
typedef struct HcCalibration {
    const double *offset; /* in line 0 of the scene */
    const double *slope;  /* growth of the offset from one line to the next; NULL = 0 */
    const double *gain;
    const float *limit;  /* [device] [bands] values from here on are saturated; NULL = none are */
    const uint8_t *live; /* [device] [samples] 0 = the pixels of the column are masked */
} HcCalibration;

/* Band b of a pixel in line l and column s becomes (x - (offset[s][b] + l slope[s][b])) gain[s][b]. Without
 * slope it is (x - offset[s][b]) gain[s][b]. `out` has the bands of `in`. A pixel with a saturated value in
 * any band is masked.
 *
 * Formed in float64, without fused multiply-add, and rounded once: the same bits on every backend. */
typedef HcStatus HcCalibrateFn(HcQueue *queue, const HcBlock *in, const HcCalibration *how,
                               const HcBlock *out, HcError *err);
HcCalibrateFn hc_calibrate HC_MUST_CHECK;

/* One value. */
HC_ANYWHERE float hc_calibrated(const HcCalibration *how, int64_t at, int64_t line, float value) {
    double offset = how->slope != NULL ? how->offset[at] + (double)line * how->slope[at] : how->offset[at];
    return (float)(((double)value - offset) * how->gain[at]);
}

#ifdef __cplusplus
}
#endif
#endif
