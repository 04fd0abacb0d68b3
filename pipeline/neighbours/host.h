/* Host: sums of the differences that the host forms (neighbours/stencil.h).
 *
 * Lines are copied from the device in strips, their differences go back, and the sums of these are those of
 * an operation: exact, on any backend. It costs the way to the host and back, so that only differences
 * without an operation of their own take it. */
#ifndef HC_PIPELINE_NEIGHBOURS_HOST_H
#define HC_PIPELINE_NEIGHBOURS_HOST_H

#include "pipeline/neighbours/stencil.h"
#include "ranks/ranks.h"

/* Opaque. */
typedef struct HcHostSums HcHostSums;

/* Memory that it takes for such a scene [bytes], and the lines of context. */
typedef struct HcHostNeeds {
    size_t device, host;
    int32_t halo;
} HcHostNeeds;
HcHostNeeds hc_host_sums_needs(const HcScene *scene, HcDifference difference);

/* window: borrowed, NULL = the scene. */
HcStatus hc_host_sums_open(HcHostSums **out, HcCompute *compute, const HcScene *scene,
                           HcDifference difference, const HcWindow *window, HcError *err) HC_MUST_CHECK;
void hc_host_sums_close(HcHostSums *host);

/* Adds the differences of the interior lines of a block to `sums`. Waits for the queue. */
HcStatus hc_host_sums_add(HcHostSums *host, HcQueue *queue, const HcBlock *in, HcSums *sums,
                          HcError *err) HC_MUST_CHECK;

/* All ranks, after the last block: adds what only the whole scene decides. */
HcStatus hc_host_sums_end(HcHostSums *host, HcRanks *ranks, HcQueue *queue, HcSums *sums,
                          HcError *err) HC_MUST_CHECK;

#endif
