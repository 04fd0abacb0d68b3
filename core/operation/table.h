/* The table of a backend: one entry for each of its functions.
 *
 * Only two kinds of files include it: those that fill a table (cpu/cpu.c, gpu/gpu.cu, backends of the tests)
 * and those that call through it (the doors). A new operation adds two lines, the include of its header and
 * its line in HC_OPERATIONS, and raises HC_COMPUTE_ABI. Each backend makes the entry `.NAME =
 * hc_BACKEND_NAME` of that line: without the function, it does not link. */
#ifndef HC_CORE_OPERATION_TABLE_H
#define HC_CORE_OPERATION_TABLE_H

#include "core/operation/eigh/eigh.h"
#include "core/operation/gram/column_filters.h"
#include "core/operation/gram/column_gram.h"
#include "core/operation/gram/gram.h"
#include "core/operation/gram/gram_raw.h"
#include "core/operation/spectrum/calibrate.h"
#include "core/operation/image/column_scores.h"
#include "core/operation/spectrum/continuum.h"
#include "core/operation/image/decode.h"
#include "core/operation/image/difference.h"
#include "core/operation/image/filter.h"
#include "core/operation/spectrum/formula.h"
#include "core/operation/image/gather.h"
#include "core/operation/image/local.h"
#include "core/operation/image/masked.h"
#include "core/operation/spectrum/normalise.h"
#include "core/operation/image/project.h"
#include "core/operation/image/reduce.h"
#include "core/operation/image/store.h"
#include "core/operation/spectrum/identify.h"
#include "core/operation/knn/knn.h"
#include "core/operation/knn/reassign.h"
#include "core/operation/knn/vote.h"
#include "core/operation/l1/gemv.h"
#include "core/operation/l1/l1.h"
#include "core/operation/lp/lad.h"
#include "core/operation/lp/simplex.h"
#include "core/operation/svd/groups.h"
#include "core/operation/svd/patches.h"
#include "core/operation/svd/svd.h"
#include "core/operation/unmix/unmix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the tables: raise it with each change of an entry or of a struct that an entry takes. */
#define HC_COMPUTE_ABI 27

/* ENTRY(name, type of the function): opening, memory and queues. */
#define HC_BASICS(ENTRY)                                                                                     \
    ENTRY(open, HcComputeOpenFn)                                                                             \
    ENTRY(close, HcComputeCloseFn)                                                                           \
    ENTRY(info, HcComputeInfoFn)                                                                             \
    ENTRY(alloc, HcAllocFn)                                                                                  \
    ENTRY(release, HcReleaseFn)                                                                              \
    ENTRY(queue_open, HcQueueOpenFn)                                                                         \
    ENTRY(queue_close, HcQueueCloseFn)                                                                       \
    ENTRY(follow, HcFollowFn)                                                                                \
    ENTRY(wait, HcWaitFn)                                                                                    \
    ENTRY(upload, HcCopyFn)                                                                                  \
    ENTRY(download, HcCopyFn)                                                                                \
    ENTRY(zero, HcZeroFn)                                                                                    \
    ENTRY(share, HcShareFn)

/* The operations, and the functions that open, close and fetch their handles. */
#define HC_OPERATIONS(ENTRY)                                                                                 \
    ENTRY(decode, HcDecodeFn)                                                                                \
    ENTRY(gather, HcGatherFn)                                                                                \
    ENTRY(filter, HcFilterFn)                                                                                \
    ENTRY(difference, HcDifferenceFn)                                                                        \
    ENTRY(project, HcProjectFn)                                                                              \
    ENTRY(reduce, HcReduceFn)                                                                                \
    ENTRY(store, HcStoreFn)                                                                                  \
    ENTRY(sums_open, HcSumsOpenFn)                                                                           \
    ENTRY(sums_close, HcSumsCloseFn)                                                                         \
    ENTRY(gram, HcGramFn)                                                                                    \
    ENTRY(gram_raw, HcGramRawFn)                                                                             \
    ENTRY(sums_fetch, HcSumsFetchFn)                                                                         \
    ENTRY(training_open, HcTrainingOpenFn)                                                                   \
    ENTRY(training_close, HcTrainingCloseFn)                                                                 \
    ENTRY(knn, HcKnnFn)                                                                                      \
    ENTRY(vote, HcVoteFn)                                                                                    \
    ENTRY(reassign, HcReassignFn)                                                                            \
    ENTRY(identify, HcIdentifyFn)                                                                            \
    ENTRY(svd_open, HcSvdOpenFn)                                                                             \
    ENTRY(svd_close, HcSvdCloseFn)                                                                           \
    ENTRY(svd_batched, HcSvdBatchedFn)                                                                       \
    ENTRY(patches_open, HcPatchesOpenFn)                                                                     \
    ENTRY(patches_close, HcPatchesCloseFn)                                                                   \
    ENTRY(patches, HcPatchesFn)                                                                              \
    ENTRY(groups, HcGroupsFn)                                                                                \
    ENTRY(local_open, HcLocalOpenFn)                                                                         \
    ENTRY(local_close, HcLocalCloseFn)                                                                       \
    ENTRY(local, HcLocalFn)                                                                                  \
    ENTRY(unmix_open, HcUnmixOpenFn)                                                                         \
    ENTRY(unmix_close, HcUnmixCloseFn)                                                                       \
    ENTRY(unmix, HcUnmixFn)                                                                                  \
    ENTRY(gemv, HcGemvFn)                                                                                    \
    ENTRY(gemv_t, HcGemvFn)                                                                                  \
    ENTRY(l1_open, HcL1OpenFn)                                                                               \
    ENTRY(l1_close, HcL1CloseFn)                                                                             \
    ENTRY(fista, HcL1Fn)                                                                                     \
    ENTRY(alm, HcL1Fn)                                                                                       \
    ENTRY(simplex, HcSimplexFn)                                                                              \
    ENTRY(lad_open, HcLadOpenFn)                                                                             \
    ENTRY(lad_close, HcLadCloseFn)                                                                           \
    ENTRY(lad, HcLadFn)                                                                                      \
    ENTRY(column_filters, HcColumnFiltersFn)                                                                 \
    ENTRY(column_scores, HcColumnScoresFn)                                                                   \
    ENTRY(column_gram, HcColumnGramFn)                                                                       \
    ENTRY(masked, HcMaskedFn)                                                                                \
    ENTRY(continuum, HcContinuumFn)                                                                          \
    ENTRY(normalise, HcNormaliseFn)                                                                          \
    ENTRY(formula, HcFormulaFn)                                                                              \
    ENTRY(calibrate, HcCalibrateFn)                                                                          \
    ENTRY(eigh, HcEighFn)

#define HC_TABLE_FIELD(name, Function) Function *name;

struct HcComputeOps {
    uint32_t abi;     /* HC_COMPUTE_ABI */
    const char *name; /* "cpu", "strict", "gpu" */
    HC_BASICS(HC_TABLE_FIELD)
    HC_OPERATIONS(HC_TABLE_FIELD)
};

#ifdef __cplusplus
}
#endif
#endif
