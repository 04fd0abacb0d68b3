/* Powers: the mean of the fourth power of the distance of pixels from their mean, which the shrinkage of
 * Ledoit and Wolf needs. One pass over the scene, once the mean is known. */
#ifndef HC_PIPELINE_DETECTIONS_POWERS_H
#define HC_PIPELINE_DETECTIONS_POWERS_H

#include "pipeline/stage.h"
#include "pipeline/statistics/statistics.h"

/* Zero-initialise; hc_powers_close() is always safe. */
typedef struct HcPowers {
    HcSums *sums;            /* of one band, the squared distances; NULL = not open */
    double trace;            /* of the covariance: the unit of squared distances */
    HcBuffer mean, diagonal; /* [device] [bands] and [bands][bands] */
    const HcBuffer *part;    /* [device] differences of some pixels and their squares, the masks of both */
} HcPowers;

/* In plan: adds the memory of `count` HcPowers, for parts of at most `lines` lines, to stage->needs. */
void hc_powers_plan(HcStage *stage, int32_t count, int32_t lines);
/* Between two passes: distances from that mean. `part` is memory that several may share: it is allocated
 * where it is not, and borrowed. */
HcStatus hc_powers_open(HcPowers *powers, HcBuffer *part, HcStage *stage, const HcStatistics *statistics,
                        int32_t lines, HcError *err) HC_MUST_CHECK;
/* Adds the valid pixels of a block of at most that many lines without halo. */
HcStatus hc_powers_add(HcPowers *powers, HcQueue *queue, const HcBlock *in, HcError *err) HC_MUST_CHECK;
/* After the pass, on all ranks: the mean of |x - mean|^4 over all pixels. */
HcStatus hc_powers_settle(HcPowers *powers, HcStage *stage, HcQueue *queue, double *mean,
                          HcError *err) HC_MUST_CHECK;
void hc_powers_close(HcPowers *powers, HcCompute *compute);

#endif
