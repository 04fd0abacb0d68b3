/* Noise choice: the model that --noise auto takes, by what a scene shows of its noise. */
#ifndef HC_PIPELINE_STATISTICS_NOISE_CHOICE_H
#define HC_PIPELINE_STATISTICS_NOISE_CHOICE_H

#include "pipeline/json/json.h"
#include "pipeline/stage.h"
#include "pipeline/statistics/noise/noise.h"

/* The difference of neighbours that the choice compares with, and takes where a regression is wrong. */
#define HC_NOISE_AUTO_DIFFERENCE HC_DIFFERENCE_MEAN3X3

/* All zero: no choice was made. */
typedef struct HcNoiseChoice {
    char taken[64]; /* word of the model */
    bool fits;      /* false: no model is within a factor of 2, as far as the scene tells */
    double ratio;   /* median over the bands: variance by differences over that by regression; NaN = none */
    double spread;  /* of the eigenvalues of the noise, over that of noise alone; NaN = not known */
    double chance;  /* what chance makes of the spread, about */
    bool uneven;    /* set by the caller: what differs between bands is noise (hc_noise_choice_whiten) */
    bool by_calm;   /* the calmest bands stand for all, though others differ */
    bool doubtful;  /* what bands have of their own may be signal, which a regression takes for noise */
    bool unseen;    /* no regression: nothing confirms the differences, which count texture as noise */
    double lacking; /* factor by which the regression is too low, from its smallest eigenvalue; NaN = none */
    char why[768];  /* one line */
} HcNoiseChoice;

/* Weighs both estimates of one scene (docs/noise.md). `regression` is diagonal.
 *
 * Differences are too high by texture, regressions by signal that no other band shows. Noise that is
 * correlated between bands makes a regression too low. It then leaves directions with eigenvalues far below
 * 1, which are impossible for 1 + SNR, and which tell by how much. */
HcStatus hc_noise_weigh(HcNoiseChoice *choice, HcCompute *compute, const HcStatistics *scene,
                        const HcStatistics *regression, const HcStatistics *differences,
                        HcError *err) HC_MUST_CHECK;

/* Makes the noise covariance of the better model. `differences`: sums of HC_NOISE_AUTO_DIFFERENCE, which
 * are cleared. Where one of both cannot be had, it takes the other.
 *
 * HC_E_NUMERIC: neither can be had. */
HcStatus hc_noise_choose(HcNoiseChoice *choice, HcStatistics *out, HcCompute *compute,
                         const HcStatistics *scene, HcMoments *differences, HcNoiseMatrix matrix,
                         HcError *err) HC_MUST_CHECK;

/* For a stage that removes noise. Where a regression was taken: makes its noise white, or leaves it, or finds
 * it doubtful (choice->doubtful), by how the variances of bands differ and how the eigenvalues of the noise
 * spread (docs/noise.md). Differences that no regression confirms are doubtful, too. */
HcStatus hc_noise_choice_whiten(HcNoiseChoice *choice, HcStatistics *noise, HcError *err) HC_MUST_CHECK;

/* Makes the noise of a regression white where bands differ by no more than chance. */
HcStatus hc_noise_whiten_alike(HcStatistics *noise, HcError *err) HC_MUST_CHECK;

/* A note with the choice and its reason; a second one where no model fits. */
void hc_noise_choice_note(HcStage *stage, const HcNoiseChoice *choice);

/* The object "noise_choice" of a record, where a choice was made. */
void hc_noise_choice_put(const HcNoiseChoice *choice, HcJson *to);

#endif
