/* What the doors share: checks of arguments (shapes and missing pointers, without a look at device memory),
 * and the way to the backend. */
#ifndef HC_CORE_OPERATION_DOORS_CHECK_H
#define HC_CORE_OPERATION_DOORS_CHECK_H

#include "core/operation/table.h"

/* The functions of the backend that owns a queue or another handle. */
static inline const HcComputeOps *hc_ops_of(const void *handle) {
    return ((const HcHead *)handle)->compute->ops;
}

/* In all of them, `what` is the name of the operation. */
HcStatus hc_check_queue(const HcQueue *queue, const char *what, HcError *err) HC_MUST_CHECK;

/* For what is opened: the backend, and the place for the handle. */
HcStatus hc_check_open(const HcCompute *compute, const void *out, const char *what,
                       HcError *err) HC_MUST_CHECK;

/* which: "input" or "output". */
HcStatus hc_check_block(const HcBlock *block, const char *what, const char *which,
                        HcError *err) HC_MUST_CHECK;

/* Whether the lines [first, end) are among those that the input holds. */
HcStatus hc_check_lines(int64_t first, int64_t end, int64_t in_first, int64_t in_end, const char *what,
                        HcError *err) HC_MUST_CHECK;

/* A queue, and two blocks over the same samples; the input has the rows of the output and `halo` more. The
 * last line of a scene is not known to a block: below, only the rows of the output are asked for. */
HcStatus hc_check_pair(const HcQueue *queue, const HcBlock *in, const HcBlock *out, int32_t halo,
                       const char *what, HcError *err) HC_MUST_CHECK;

/* Whether both blocks have as many bands. */
HcStatus hc_check_bands(const HcBlock *in, const HcBlock *out, const char *what, HcError *err) HC_MUST_CHECK;

HcStatus hc_check_difference_kind(HcDifference kind, const char *what, HcError *err) HC_MUST_CHECK;

/* For operations that decode. */
HcStatus hc_check_decode(const HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                         const char *what, HcError *err) HC_MUST_CHECK;

/* For operations that add to sums. */
HcStatus hc_check_gram(const HcQueue *queue, const HcBlock *in, HcDifference kind, const HcSums *sums,
                       const char *what, HcError *err) HC_MUST_CHECK;

/* what: "gemv", "gemv_t" or "l1". */
HcStatus hc_check_matrix(const HcMatrix *matrix, const char *what, HcError *err) HC_MUST_CHECK;

#endif
