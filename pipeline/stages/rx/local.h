/* Local: scores against the statistics of a window around each pixel, less a guard window inside it.
 *
 * Pixels are whitened by the covariance of the scene first. Their components are then about 1 whatever the
 * unit of the bands, and the operation `local` rounds them to whole multiples of at most sqrt(n) 2^-42, for n
 * pixels of the scene. Whitened lines come in strips, each with the lines around it that its windows reach.
 */
#ifndef HC_PIPELINE_STAGES_RX_LOCAL_H
#define HC_PIPELINE_STAGES_RX_LOCAL_H

#include "core/operation/image/local.h"
#include "pipeline/stage.h"

/* What was asked. Windows are squares of an odd number of pixels, smaller at the border of the scene. */
typedef struct HcWindowAsk {
    int32_t window, guard;   /* sides [pixels], guard < window */
    double share;            /* of the covariance of the scene in that of a window, 0 to 1 */
    int64_t lines, samples;  /* of the scene */
    int64_t pixels;          /* of the statistics that whiten */
    int32_t directions;      /* of whitened pixels */
    bool tight;              /* memory is scarce */
    const double *whitening; /* [device] [bands][directions] */
    const double *mean;      /* [device] [bands] */
} HcWindowAsk;

/* Zero-initialise; hc_windows_close() is always safe. */
typedef struct HcWindows {
    HcWindowAsk ask;
    HcCompute *compute;
    HcLocal *local;
    HcBuffer white; /* [device] a strip of whitened lines: values, then their mask */
} HcWindows;

/* In plan: fills the halo, adds the memory of all of it to stage->needs, and says which pixels are masked. */
void hc_windows_plan(const HcWindowAsk *ask, HcStage *stage);

/* Pixels of the window with the most of them, less its guard; fewer than a whole window has where the scene
 * is small. */
int64_t hc_windows_pixels(const HcWindowAsk *ask);

HcStatus hc_windows_open(HcWindows *windows, HcCompute *compute, const HcWindowAsk *ask,
                         HcError *err) HC_MUST_CHECK;

/* Scores of all rows of `out`, which has one band; `in` has half a window more. Blocks come in any order.
 * Pixels are masked where the window has too few valid pixels, or its covariance has no inverse. */
HcStatus hc_windows_process(HcWindows *windows, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                            HcError *err) HC_MUST_CHECK;

void hc_windows_close(HcWindows *windows);

#endif
