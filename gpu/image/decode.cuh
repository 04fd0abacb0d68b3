/* Decoding: what files outside of decode.cu take of it. */
#ifndef HC_GPU_IMAGE_DECODE_CUH
#define HC_GPU_IMAGE_DECODE_CUH

#include "core/operation/image/decode.h"
#include "gpu/internal.cuh"

/* What is known of NaN and infinity in a block, where masks are made before values are read. */
typedef enum HcHoles {
    HC_HOLES_NONE,  /* none was seen; masks are those of the user */
    HC_HOLES_FOUND, /* some were; masks are still those of the user */
    HC_HOLES_MASKED /* masks are complete */
} HcHoles;

/* The mask and counts that hc_decode makes, without the values: out->data is left alone. Bands that are not
 * there fail as with hc_decode. Made for samples that lie one after another. */
HcStatus hc_gpu_decode_masks(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                             HcError *err);
/* The same in two parts, for floats without nodata: the user's mask, as if there were no NaN and no infinity,
 * which sets holes [device] to HC_HOLES_NONE. Then the rest, where they are HC_HOLES_FOUND. */
HcStatus hc_gpu_decode_user_masks(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                                  int32_t *holes, HcError *err);
HcStatus hc_gpu_decode_other_masks(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                                   int32_t *holes, HcError *err);

#endif
