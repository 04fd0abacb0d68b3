/* Mixture: what unmix and abundance share, which say how much of each spectrum of a library is in a pixel.
 * It holds the library on the bands and in the unit of the scene, and weights of bands. It also holds what
 * is counted on the device, and how well the abundances explain the scene.
 *
 * It is first in the state of such a stage, so that functions which take a stage alone can be hooks of its
 * class. */
#ifndef HC_PIPELINE_SPECTRA_MIXTURE_H
#define HC_PIPELINE_SPECTRA_MIXTURE_H

#include "pipeline/spectra/abundance_fit.h"
#include "pipeline/spectra/abundance_tally.h"
#include "pipeline/memory.h"
#include "pipeline/spectra/library/scaled.h"

/* Opens the operation of the stage with spectra[count + zeros][bands] in the unit of the scene; they are
 * freed afterwards. mixture->library.factor and mixture->counts are there. */
typedef HcStatus HcMixtureStart(HcStage *stage, const float *spectra, HcError *err);

/* What the stage says in plan, once the library is read. */
typedef struct HcMixturePlan {
    const char *path; /* of the library, borrowed */
    int32_t zeros;    /* spectra of zeros behind those of the library */
    size_t counts;    /* numbers (int64_t) that the operation counts */
    HcMixtureStart *start;
    bool later;       /* the operation starts in settle, even where the unit of the scene is known before */
    HcChange *change; /* what no operation does, as the last step; NULL = nothing */
} HcMixturePlan;

typedef struct HcMixture {
    HcScaledLibrary library;
    double *weight; /* [bands] of squared deviations; NULL = all the same */
    HcMixturePlan plan;
    HcBuffer counts; /* [device] [plan.counts], once started */
    HcBuffer rows;   /* [host] some rows, for plan.change */
    HcAbundanceTally tally;
    HcAbundanceFit fit;
} HcMixture;

/* In plan: refuses class maps, and reads library and weights unless that is done. */
HcStatus hc_mixture_read(HcStage *stage, const char *path, const HcLibraryChoice *choice, const char *scale,
                         const char *weights, HcError *err) HC_MUST_CHECK;

/* In plan, once stage->out is planned: fills stage->needs. */
void hc_mixture_plan(HcStage *stage, const HcMixturePlan *plan);

/* Hooks. The operation starts in open, or in settle where pixels tell the unit of the scene. */
HcStatus hc_mixture_open(HcStage *stage, HcError *err) HC_MUST_CHECK;
HcStatus hc_mixture_observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) HC_MUST_CHECK;
HcStatus hc_mixture_settle(HcStage *stage, HcQueue *queue, HcError *err) HC_MUST_CHECK;

/* In process, around the operation: counts begin at 0, some pixels with their abundances are kept, and
 * plan.change is done. */
HcStatus hc_mixture_before(const HcStage *stage, HcQueue *queue, const HcBlock *out,
                           HcError *err) HC_MUST_CHECK;
HcStatus hc_mixture_after(const HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                          HcError *err) HC_MUST_CHECK;

/* In report, once gathered: factor, residuals, library and abundances; `worst` is the name of the largest
 * error. */
void hc_mixture_report(const HcStage *stage, const char *worst, HcJson *to);

/* In close. */
void hc_mixture_close(HcStage *stage);

#endif
