/* Residual: the noise that stays in what `denoise` hands on, for the stage behind it. */
#ifndef HC_PIPELINE_STAGES_DENOISE_RESIDUAL_H
#define HC_PIPELINE_STAGES_DENOISE_RESIDUAL_H

#include "pipeline/stage.h"

/* What is left, once it is known. */
typedef struct HcDenoiseResidual {
    bool known;       /* false: no denoise comes before, or it hands on the noise of its input */
    double share;     /* dimensions that the error of a pixel lies in, over the bands */
    double *variance; /* [bands] mean square error; the caller frees it */
} HcDenoiseResidual;

/* Whether a denoise of the chain has removed nothing: a sentence without a full stop, else NULL. Ask once it
 * has settled. */
const char *hc_denoise_outcome(const HcChain *chain);

/* In plan of a stage that observes the scene: asks a `denoise` right before it to measure its error in that
 * pass (SURE, on at least 256 lines). Does nothing where another stage comes before. */
void hc_denoise_residual_want(HcStage *observer);

/* In settle of that stage, on all ranks. */
HcStatus hc_denoise_residual_take(HcStage *observer, HcDenoiseResidual *out, HcError *err) HC_MUST_CHECK;

#endif
