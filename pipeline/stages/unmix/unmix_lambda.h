/* Lambda by the noise of the scene: unmix --lambda auto. */
#ifndef HC_PIPELINE_STAGES_UNMIX_LAMBDA_H
#define HC_PIPELINE_STAGES_UNMIX_LAMBDA_H

#include "pipeline/statistics/noise/choice.h"
#include "pipeline/statistics/sums.h"

/* Zero-initialise; hc_unmix_lambda_close() is always safe. */
typedef struct HcUnmixLambda {
    bool automatic;
    bool denoised;    /* the noise is what `denoise` leaves */
    double value;     /* in the unit of the scene, squared; 0 until it is settled */
    double share;     /* dimensions that noise has, over the bands; 1 unless the scene was denoised */
    double sigma;     /* median deviation of the noise over the bands */
    double *variance; /* [bands] of the noise */
    HcSceneSums sums, differences;
    HcNoiseChoice choice;
} HcUnmixLambda;

/* "auto" or a number from 0 to 1e30; *value is NaN for auto, and `standard` for NULL. */
HcStatus hc_unmix_lambda_parse(const char *text, double standard, double *value, HcError *err) HC_MUST_CHECK;

/* In plan, behind all else that fills stage->needs: sums of the scene and of its differences. */
void hc_unmix_lambda_plan(HcUnmixLambda *lambda, HcStage *stage);

/* All ranks: the noise of the scene, with a note. */
HcStatus hc_unmix_lambda_settle(HcUnmixLambda *lambda, HcStage *stage, HcQueue *queue,
                                HcError *err) HC_MUST_CHECK;

/* Half the deviation that the noise gives to the product of a pixel with a spectrum, the median over
 * spectrum[count][bands]; times the root of `share`. `weight` [bands], NULL = 1. */
HcStatus hc_unmix_lambda_of(HcUnmixLambda *lambda, const float *spectrum, int32_t count, int32_t bands,
                            const double *weight, HcError *err) HC_MUST_CHECK;

void hc_unmix_lambda_close(HcUnmixLambda *lambda);

#endif
