/* Sums of spectra by cluster as the operation reassign keeps them: without rounding.
 */
#ifndef HC_PIPELINE_STAGES_KMEANS_SUMS_H
#define HC_PIPELINE_STAGES_KMEANS_SUMS_H

#include "core/operation/knn/reassign.h"
#include "pipeline/stages/shared/reduced.h"

/* Pixels that digits have room for. */
#define HC_CLUSTER_PIXELS ((int64_t)1 << 32)

/* The sums of all ranks on the host. */
typedef struct HcClusterSums {
    int32_t clusters, bands;
    int64_t *number; /* [hc_class_sums()] */
    int64_t *count;  /* [clusters] pixels, in `number` */
} HcClusterSums;

HcStatus hc_cluster_sums_open(HcClusterSums *sums, int32_t clusters, int32_t bands,
                              HcError *err) HC_MUST_CHECK;
void hc_cluster_sums_close(HcClusterSums *sums);

/* All ranks: fetches own [device] and adds up the ranks. */
HcStatus hc_cluster_sums_join(HcClusterSums *sums, HcQueue *queue, const HcBuffer *own, HcRanks *ranks,
                              HcError *err) HC_MUST_CHECK;

/* The mean of a cluster with pixels, rounded to float32: mean[bands]. Returns how far it lies from what was
 * there. */
double hc_cluster_sums_mean(const HcClusterSums *sums, int32_t cluster, float *mean);

/* All ranks: the sum of distance[pixels of the rank] of those that take part. It is added along lines, and
 * lines in their order, whatever rank has them. */
HcStatus hc_cluster_inertia(const HcReduced *reduced, const double *distance, double *inertia,
                            HcError *err) HC_MUST_CHECK;

#endif
