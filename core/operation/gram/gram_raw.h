/* gram_raw: raw bytes become sums, without a block between. */
#ifndef HC_CORE_OPERATION_GRAM_RAW_H
#define HC_CORE_OPERATION_GRAM_RAW_H

#include "core/operation/image/decode.h"
#include "core/operation/gram/gram.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sums that one call may add to: those of the scene and of its noise, for some stages of a pass. */
enum { HC_GRAM_PARTS_MAX = 8 };

/* One of the sums that pixels, or their differences, are added to; as the arguments of hc_gram. */
typedef struct HcGramPart {
    HcDifference kind;
    const HcWindow *window; /* NULL = the scene */
    HcSums *sums;
} HcGramPart;

/* Adds the pixels that hc_decode(raw, how, block) would make to each of `count` sums: the same bits as
 * hc_decode, and then hc_gram of the block for each part. how->counts grows likewise.
 *
 * block [device] is the shape of that block, halo included, and memory that the operation may use: what
 * data and mask hold afterwards is not defined. Backends that need no block leave it alone. All parts have
 * its number of bands, and different sums. raw has any type, byte order and strides; backends may be fast for
 * some of them, above all where samples of a band lie side by side (BIL, BSQ). */
typedef HcStatus HcGramRawFn(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *block,
                             const HcGramPart *parts, int32_t count, HcError *err);
HcGramRawFn hc_gram_raw HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
