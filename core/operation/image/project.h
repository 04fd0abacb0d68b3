/* project: spectra times a matrix. */
#ifndef HC_CORE_OPERATION_PROJECT_H
#define HC_CORE_OPERATION_PROJECT_H

#include "core/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y[k] = out_offset[k] + sum over b of (x[b] - in_offset[b]) * matrix[b][k], summed in float64 and rounded
 * once. matrix [device] [in bands][out bands]; offsets [device] [bands], NULL = 0. */
typedef HcStatus HcProjectFn(HcQueue *queue, const HcBlock *in, const double *matrix, const double *in_offset,
                             const double *out_offset, const HcBlock *out, HcError *err);
HcProjectFn hc_project HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
