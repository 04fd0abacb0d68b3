/* Levels: the noise of each group of detector columns, over that of the scene.
 *
 * Noisy columns make components of their own, which no limit for noise of one level tells from signal. A
 * column divided by its level has the noise of all others. A level is the same for all bands, so that spectra
 * stay mixtures of the same materials. The components are those of the scene so scaled:
 *
 *     covariance = sum over the groups of (sum of (x - mean)(x - mean)') / level^2,
 *
 * about the mean that has scaled pixels at 0. Pixels that those sums lack have the level 1. They come from
 * the exact sums of the groups: no further pass. Components of a pixel are divided by its level before
 * patches and groups, and multiplied by it then. */
#ifndef HC_PIPELINE_STAGES_DENOISE_LEVELS_H
#define HC_PIPELINE_STAGES_DENOISE_LEVELS_H

#include "pipeline/stages/noise/noise_columns.h"

/* Zero-initialise; hc_levels_close() is always safe. */
typedef struct HcLevels {
    HcNoiseColumns noise; /* width 0 = not asked for */
    double limit;         /* of `differ`, beyond which columns are uneven */
    bool uneven;          /* the noise of the columns differs by more than chance and texture make of it */
    double differ;        /* half of the deviation of the squared levels, over their mean */
    double least, most;   /* of the levels */
    double *level;        /* [samples] NULL = even. The mean square over the valid pixels is 1 */
    double *inverse;      /* [samples] 1 / level */
} HcLevels;

/* In plan, for groups of `width` columns. sums: this round adds to their sums; else it holds them. */
void hc_levels_plan(HcLevels *levels, HcStage *stage, int64_t width, bool sums);

/* In settle, once levels->noise.sums are taken: finds the levels. Where they differ, mean and covariance of
 * the scene become those of the scaled one. stripes: [samples][bands] that `scene` is without, for groups of
 * one column; NULL = none. Closes the sums.
 *
 * HC_E_NUMERIC: too few pixels for the bands, or bands that are combinations of others. */
HcStatus hc_levels_fit(HcLevels *levels, HcStage *stage, const double *stripes, HcStatistics *scene,
                       HcError *err) HC_MUST_CHECK;

/* An object of a record. */
void hc_levels_put(const HcLevels *levels, HcJson *to);

void hc_levels_close(HcLevels *levels);

#endif
