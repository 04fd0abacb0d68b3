/* gram: counts, sums and sums of products over the pixels of a scene. */
#ifndef HC_CORE_OPERATION_GRAM_H
#define HC_CORE_OPERATION_GRAM_H

#include "core/compute.h"
#include "core/sums/moments.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Largest magnitude of an integer whose sums of products can be exact. */
#define HC_SUMS_LIMIT ((int64_t)1 << 20)

/* Growing sums in device memory; opaque. */
typedef struct HcSums HcSums;

/* Begins the handle of every backend; filled by the door that opens it. */
typedef struct HcSumsHead {
    HcHead head;
    int32_t bands;
} HcSumsHead;

/* A rectangle of the scene [pixels]. */
typedef struct HcWindow {
    int64_t sample0, line0, samples, lines;
} HcWindow;

/* Opens empty sums over `bands` bands: exact sums of integers. There are two kinds:
 *  - integer_limit > 0, grid NULL: every value is an integer of at most that magnitude, as the caller
 * promises. The limit is at most HC_SUMS_LIMIT.
 *  - integer_limit 0, with a grid (copied): values are finite floats. The sums are of v, their integers on
 * the grid. Differences are formed of v in float64: 9 v - (left + here + right), each column summed from
 * above. */
typedef HcStatus HcSumsOpenFn(HcCompute *compute, int32_t bands, int64_t integer_limit, const HcGrid *grid,
                              HcSums **out, HcError *err);
HcSumsOpenFn hc_sums_open HC_MUST_CHECK;
typedef void HcSumsCloseFn(HcSums *sums);
HcSumsCloseFn hc_sums_close;

/* Adds the valid interior pixels of a block, or their differences, to the sums. Differences are those of
 * HcDifference: integers stay integers. window: only pixels inside it with their whole neighbourhood; NULL =
 * the scene. */
typedef HcStatus HcGramFn(HcQueue *queue, const HcBlock *in, HcDifference kind, const HcWindow *window,
                          HcSums *sums, HcError *err);
HcGramFn hc_gram HC_MUST_CHECK;

/* Waits for the queue and copies the sums. Makes `out`; the caller clears it. */
typedef HcStatus HcSumsFetchFn(HcQueue *queue, HcSums *sums, HcMoments *out, HcError *err);
HcSumsFetchFn hc_sums_fetch HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
