/* Decoding: what files outside of decode.cu take of it. */
#ifndef HC_GPU_IMAGE_DECODE_CUH
#define HC_GPU_IMAGE_DECODE_CUH

#include "core/operation/decode.h"
#include "gpu/internal.cuh"

/* The mask and counts that hc_decode makes, without the values: out->data is left alone. Bands that are not
 * there fail as with hc_decode. Made for samples that lie one after another. */
HcStatus hc_gpu_decode_masks(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                             HcError *err);

#endif
