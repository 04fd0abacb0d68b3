/* Reduced: svd of a scene with all its bands. Directions that hold noise throughout the scene are dropped
 * first; patches of the components that are left are freed of the noise there. They are those of
 * `denoise --method patches`, which also says how noise and components are chosen (docs/stages/denoise.md).
 */
#ifndef HC_PIPELINE_STAGES_SVD_REDUCED_H
#define HC_PIPELINE_STAGES_SVD_REDUCED_H

#include "core/operation/svd/patches.h"
#include "pipeline/json/json.h"
#include "pipeline/stages/denoise/evidence.h"
#include "pipeline/stages/shared/linear.h"
#include "pipeline/statistics/noise/choice.h"

/* Zero-initialise; hc_svd_reduced_close() is always safe. */
typedef struct HcSvdReduced {
    HcTransform transform; /* to noise of variance 1; method set once it is there */
    HcNoiseChoice choice;
    HcEvidence evidence;
    int32_t used;   /* components that are kept, once the transform is there */
    double gain;    /* expected of the reduction alone [dB] */
    bool handed_on; /* no gain is expected: the scene goes on unchanged */
    HcLinearMatrices device;
    HcBuffer components, clean; /* [device] a strip with halo and without: values, then their mask */
} HcSvdReduced;

static inline bool hc_svd_reduced_is_there(const HcSvdReduced *reduced) {
    return reduced->transform.method[0] != '\0';
}

/* Device memory for `count` components with `halo` lines around a strip [bytes]. */
size_t hc_svd_reduced_bytes(const HcScene *scene, int32_t count, int32_t halo);

/* In settle: noise, transform and components of the scene that comes into the stage, and a note that states
 * them. `differences`: sums of HC_NOISE_AUTO_DIFFERENCE.
 *
 * HC_E_NUMERIC: too few pixels, or no band has noise. */
HcStatus hc_svd_reduced_fit(HcSvdReduced *reduced, HcStage *stage, const HcMoments *values,
                            HcMoments *differences, HcError *err) HC_MUST_CHECK;

/* Memory for strips with `halo` lines. */
HcStatus hc_svd_reduced_open(HcSvdReduced *reduced, HcStage *stage, int32_t halo, HcError *err) HC_MUST_CHECK;

/* All lines of `out`; patches are those of the components. */
HcStatus hc_svd_reduced_process(HcSvdReduced *reduced, HcQueue *queue, const HcBlock *in, HcPatches *patches,
                                int32_t halo, const HcBlock *out, HcError *err) HC_MUST_CHECK;

void hc_svd_reduced_put(const HcSvdReduced *reduced, HcJson *to);
void hc_svd_reduced_close(HcSvdReduced *reduced, HcCompute *compute);

#endif
