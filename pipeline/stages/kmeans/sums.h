/* Sums of spectra by cluster, without rounding: integers, so that pixels may come in any order and leave
 * again. Only pixels that change their cluster cost anything.
 */
#ifndef HC_PIPELINE_STAGES_KMEANS_SUMS_H
#define HC_PIPELINE_STAGES_KMEANS_SUMS_H

#include "core/block.h"
#include "core/system/team.h"
#include "pipeline/stages/shared/reduced.h"
#include "ranks/ranks.h"

/* A float32 is a multiple of 2^-149; digits of 8 bits hold any of them. A digit grows by less than 2^31 a
 * pixel: enough for 2^32 pixels. */
enum { HC_CLUSTER_DIGITS = 32 };
#define HC_CLUSTER_PIXELS ((int64_t)1 << 32)

typedef struct HcClusterSums {
    int32_t clusters, bands;
    int64_t *count; /* [clusters] pixels */
    int64_t *digit; /* [clusters][bands][HC_CLUSTER_DIGITS] */
} HcClusterSums;

/* A pixel that changes its cluster. */
typedef struct HcMove {
    int64_t pixel;    /* its place in the values */
    int32_t from, to; /* -1 = none */
} HcMove;

/* Host memory [bytes]. */
size_t hc_cluster_sums_bytes(int32_t clusters, int32_t bands);

HcStatus hc_cluster_sums_open(HcClusterSums *sums, int32_t clusters, int32_t bands,
                              HcError *err) HC_MUST_CHECK;
void hc_cluster_sums_close(HcClusterSums *sums);

/* Moves pixels [moves] of values[...][bands], which are finite. */
void hc_cluster_sums_move(HcClusterSums *sums, HcTeam *team, const float *values, const HcMove *move,
                          size_t moves);

/* All ranks: `all` becomes the sums over the ranks. */
HcStatus hc_cluster_sums_join(const HcClusterSums *own, HcRanks *ranks, HcClusterSums *all,
                              HcError *err) HC_MUST_CHECK;

/* The mean of a cluster with pixels, rounded to float32: mean[bands]. Returns how far it lies from what was
 * there. */
double hc_cluster_sums_mean(const HcClusterSums *sums, int32_t cluster, float *mean);

/* All ranks: the sum of distance[pixels of the rank] where label[] is not -1. It is added along lines, and
 * lines in their order, whatever rank has them. */
HcStatus hc_cluster_inertia(const HcReduced *reduced, const int32_t *label, const double *distance,
                            double *inertia, HcError *err) HC_MUST_CHECK;

#endif
