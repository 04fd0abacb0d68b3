/* What the two files of --pool share. */
#ifndef HC_APP_BATCH_POOL_H
#define HC_APP_BATCH_POOL_H

#include "app/batch/batch.h"

/* Batches share their scenes and options, except that the outputs of the scenes of `sums` are files of
 * sums. */
typedef struct HcBatchPool {
    const char *model; /* borrowed from the options of the batch */
    int32_t step;      /* of the chain that is fitted, from 0 */
    bool sums_noise;   /* the fit needs sums of noise too */
    HcBatch sums;      /* sums every scene */
    HcBatch fit;       /* its chain fits the model; not run as a batch */
    HcBatch applied;   /* the batch that was asked for, with the model in its chain */
    int32_t group;     /* whose scenes make the model; -1 = all */
    bool *summed;      /* [scenes] */
    int32_t summed_count;
} HcBatchPool;

/* All ranks: finds the groups of the scenes into `batch`, none where one model serves all. The chain of `fit`
 * ends with the fit. With --one-model more than one group is refused (HC_E_INPUT) (groups.c). */
HcStatus hc_batch_find_groups(HcBatch *batch, const HcBatch *fit, HcError *err) HC_MUST_CHECK;

/* Words and chains of the three from those of the batch; refuses what has no meaning for many scenes. */
HcStatus hc_batch_pool_chains(HcBatchPool *pool, const HcBatch *batch, HcError *err) HC_MUST_CHECK;

#endif
