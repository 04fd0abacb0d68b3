/* What the files of the stage denoise share; nobody else includes this. */
#ifndef HC_PIPELINE_STAGES_DENOISE_H
#define HC_PIPELINE_STAGES_DENOISE_H

#include "core/operation/svd/patches.h"
#include "pipeline/stages/destripe/column_change.h"
#include "pipeline/stages/denoise/evidence.h"
#include "pipeline/stages/denoise/levels.h"
#include "pipeline/stages/denoise/sigma_map.h"
#include "pipeline/stages/destripe/stripes.h"
#include "pipeline/stages/shared/linear.h"
#include "pipeline/statistics/noise/choice.h"
#include "pipeline/statistics/sums.h"

typedef struct HcDenoiseParams {
    HcLinearParams linear; /* first; `denoise` and `min_eigenvalue` are set by plan */
    int32_t method;
    const char *noise; /* a word of hc_denoise_noise_words, or a file */
    int64_t window, step;
    bool sigma_map;
    bool stripes;
    double require_gain; /* [dB], NAN = any */
    int64_t columns;     /* of a group that has a level of noise of its own, 0 = none has */
    HcGroupingParams groups;
} HcDenoiseParams;

typedef struct HcDenoise {
    HcLinear linear; /* first */
    HcSceneSums sums, differences;
    HcStatistics noise;   /* that of a file, once there */
    HcNoiseChoice choice; /* with --noise auto, once fitted */
    HcEvidence evidence;  /* once fitted */
    const char *doubt;    /* why gains and errors are not known; NULL = they are */
    double gain;          /* expected of the subspace alone [dB], once the transform is there */
    double method_gain;   /* expected of patches or groups [dB], once gauged */
    bool gauges, gauged;  /* this run measures it, in some of its lines, and has done so */
    bool handed_on;       /* no gain is expected */
    bool measures;        /* the error that stays, for the stage behind (residual.h) */
    HcPatches *patches;
    /* [device] a strip with halo, with the halo of groups, and without: values, then their mask. */
    HcBuffer components, pilot, clean;
    HcBuffer work; /* [device] of groups */
    HcSigmaMap map;
    /* With --stripes. The first round has the sums, the second one the stripes; then all is fitted. */
    HcSceneSums lower;
    HcMoments values, noise_sums; /* of the first round */
    bool has_noise_sums;
    HcStripes stripes;
    double *offset; /* [samples][used] what stripes are in the components that are kept; NULL = none */
    HcLevels levels;
    HcGrouping grouping;
    HcBuffer room; /* [host] lines whose columns are changed */
    size_t room_bytes;
} HcDenoise;

enum { HC_DENOISE_BY_GROUPS, HC_DENOISE_BY_PATCHES, HC_DENOISE_BY_SUBSPACE };
enum { HC_DENOISE_AUTO, HC_DENOISE_WHITE, HC_DENOISE_REGRESSION, HC_DENOISE_NEIGHBOURS, HC_DENOISE_FILE };

static inline const HcDenoiseParams *hc_denoise_params(const HcStage *stage) {
    return (const HcDenoiseParams *)stage->params;
}

/* Whether the map of errors is asked for. */
static inline bool hc_denoise_maps(const HcStage *stage) {
    return hc_denoise_params(stage)->sigma_map;
}

static inline bool hc_denoise_by_groups(const HcStage *stage) {
    return hc_denoise_params(stage)->method == HC_DENOISE_BY_GROUPS;
}

/* Alone, or as the pilot of groups. */
static inline bool hc_denoise_by_patches(const HcStage *stage) {
    return hc_denoise_params(stage)->method != HC_DENOISE_BY_SUBSPACE;
}

/* Whether the stage hands on the scene as it is, but for stripes. */
static inline bool hc_denoise_hands_on(const HcStage *stage) {
    return ((const HcDenoise *)stage->state)->handed_on && !hc_denoise_maps(stage);
}

/* Whether patches or groups have a gain of their own, which some lines can tell. */
static inline bool hc_denoise_has_gain(const HcStage *stage) {
    return hc_denoise_by_patches(stage) && !hc_denoise_maps(stage) &&
           !((const HcDenoise *)stage->state)->handed_on && !hc_denoise_params(stage)->linear.fit_only;
}

/* ---- noise.c: the covariance of the noise ---- */

extern const char *const hc_denoise_noise_words[];

int32_t hc_denoise_noise_kind(const HcStage *stage);
/* The difference whose sums are wanted. */
HcDifference hc_denoise_difference(const HcStage *stage);
HcStatus hc_denoise_plan_noise(HcStage *stage, HcError *err) HC_MUST_CHECK;
/* Makes the noise of the state, unless it is that of a file. */
HcStatus hc_denoise_fit_noise(HcStage *stage, const HcStatistics *scene, HcMoments *differences,
                              HcError *err) HC_MUST_CHECK;

/* ---- strips.c: components, patches and groups of a block, in strips ---- */

/* Lines of a patch that nobody has asked for, and fewest that are taken. */
enum { HC_DENOISE_WINDOW = 8 };

enum { HC_DENOISE_ROOM = 16 }; /* lines whose columns are changed at once */

/* Lines of context that a strip of components needs. */
int32_t hc_denoise_strip_halo(const HcStage *stage);
/* In plan, once `used` is known: the needs of strips, and those of the map of errors with its scene. */
void hc_denoise_plan_strips(HcStage *stage);
HcStatus hc_denoise_plan_map(HcStage *stage, HcError *err) HC_MUST_CHECK;
/* With the transform and its matrices: what strips need, unless the scene passes through. */
HcStatus hc_denoise_open_strips(HcStage *stage, HcError *err) HC_MUST_CHECK;
/* All ranks: the error in kept components over all noise, as far as lines were measured; NaN = none were. */
HcStatus hc_denoise_risk(const HcStage *stage, double *risk, HcError *err) HC_MUST_CHECK;
HcStatus hc_denoise_process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                            void *scratch, HcError *err) HC_MUST_CHECK;
void hc_denoise_close_strips(HcStage *stage);

#endif
