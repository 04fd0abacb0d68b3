/* decode: raw bytes become a block. */
#ifndef HC_CORE_OPERATION_DECODE_H
#define HC_CORE_OPERATION_DECODE_H

#include "core/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why a pixel is masked; the first reason in this order counts. */
typedef enum HcMaskReason { HC_MASK_USER, HC_MASK_NODATA, HC_MASK_NAN, HC_MASK_REASONS } HcMaskReason;

/* How raw bytes become a block. */
typedef struct HcDecode {
    const int32_t *band_index; /* [device] [bands of the block], the stored band that each comes from */
    bool has_nodata;
    double nodata;
    /* true: a pixel is masked when all its bands hold nodata; false: when any of them does. NaN and infinity
     * in any band always mask the pixel. */
    bool nodata_needs_all_bands;
    /* For operations that take NaN as a missing value; replaces the rules above. Bands that hold nodata, NaN
     * or infinity become NaN. A pixel is masked when all its bands do, as HC_MASK_NODATA when one of them
     * holds nodata. */
    bool keep_missing;
    int64_t *counts; /* [device] [HC_MASK_REASONS], grows by the masked interior pixels; NULL = not counted */
} HcDecode;

/* Decodes `raw` (data and user_mask [device]) into every row of `out`. Integers beyond 2^24 are rounded to
 * float32. */
typedef HcStatus HcDecodeFn(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                            HcError *err);
HcDecodeFn hc_decode HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
