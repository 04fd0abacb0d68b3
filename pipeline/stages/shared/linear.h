/* Linear: what pca and mnf share: options, choice of components, forward, inverse, denoise, models. */
#ifndef HC_PIPELINE_STAGES_LINEAR_H
#define HC_PIPELINE_STAGES_LINEAR_H

#include "pipeline/stage.h"
#include "pipeline/picture/plots.h"
#include "pipeline/statistics/sums.h"
#include "pipeline/statistics/transform.h"

#include <math.h>

/* First in the parameters of both stages. */
typedef struct HcLinearParams {
    const char *components; /* a number, or a rule of hc_dimension_words */
    double min_eigenvalue;
    bool keep_all, inverse, denoise, fit_only;
    bool overwrite;
    const char *model, *save_model;
} HcLinearParams;

/* Whether the value of --components is a number or a rule. */
HcStatus hc_linear_check_components(const char *who, const char *text, HcError *err) HC_MUST_CHECK;

/* Terms of relations: which components, and that nothing is fitted. */
#define HC_LINEAR_CHOICES "components min-eigenvalue keep-all"
#define HC_LINEAR_FITTED  "model inverse"

#define HC_LINEAR_OPTIONS                                                                                    \
    {HC_TEXT(HcLinearParams, components),                                                                    \
     .check = hc_linear_check_components,                                                                    \
     .one_of = HC_LINEAR_CHOICES,                                                                            \
     .otherwise = "all components",                                                                          \
     .value = "COUNT",                                                                                       \
     .help = "keep this many components (1 to 100000), or as many as a rule of dimension finds: auto, "      \
             "hysime, hfc, nwhfc, elm, gavish-donoho or marchenko-pastur"},                                  \
        {HC_REAL(HcLinearParams, min_eigenvalue, "min-eigenvalue"), .initial = NAN,                          \
         .otherwise = "all components", .value = "VALUE",                                                    \
         .help = "keep the components whose eigenvalue (mnf: 1 + SNR) is at least this, and at least one"},  \
        {HC_FLAG(HcLinearParams, keep_all, "keep-all"), .help = "keep all components"},                      \
        {HC_FLAG(HcLinearParams, denoise), .needs = HC_LINEAR_CHOICES,                                       \
         .help = "transform, drop the components that are not kept, and transform back to bands"},           \
        {HC_FLAG(HcLinearParams, inverse), .excludes = HC_LINEAR_CHOICES,                                    \
         .one_of = "inverse denoise fit-only",                                                               \
         .help = "transform components back to bands, by --model or the same stage earlier in the chain"},   \
        {HC_FLAG(HcLinearParams, fit_only, "fit-only"), .needs = "save-model",                               \
         .excludes = "model " HC_LINEAR_CHOICES,                                                             \
         .help = "fit and save the model, and pass the scene on unchanged"},                                 \
        {HC_TEXT(HcLinearParams, model), .file = HC_FILE_READ, .value = "MODEL.json",                        \
         .help = "use this saved model instead of a fit"},                                                   \
        {HC_TEXT(HcLinearParams, save_model, "save-model"), .file = HC_FILE_WRITTEN, .value = "MODEL.json",  \
         .excludes = HC_LINEAR_FITTED, .help = "save the fitted model"},                                     \
    {                                                                                                        \
        HC_FLAG(HcLinearParams, overwrite), .help = "replace an existing model file"                         \
    }

/* The matrices of a transform on the device [float64]. */
typedef struct HcLinearMatrices {
    HcBuffer forward; /* [bands][count] */
    HcBuffer inverse; /* [count][bands] */
    HcBuffer mean;    /* [bands] */
} HcLinearMatrices;

/* Uploads the matrices of the first `count` components; the caller releases them. */
HcStatus hc_linear_upload(HcCompute *compute, const HcTransform *transform, int32_t count,
                          HcLinearMatrices *out, HcError *err) HC_MUST_CHECK;
void hc_linear_release(HcCompute *compute, HcLinearMatrices *matrices);

/* First in the state of both stages. */
typedef struct HcLinear {
    HcTransform transform;   /* fitted or loaded; method set once it is there */
    int32_t used;            /* components that are kept */
    int64_t asked;           /* by --components, 0 = not by number */
    int32_t rule;            /* HcDimensionRule, -1 = none */
    HcDimension dimension;   /* with a rule, once fitted */
    HcLinearMatrices device; /* made when first needed */
} HcLinear;

/* Plans out and needs, except the needs of a fit. `label` begins the band names ("MNF"). Sets *fits when
 * the stage still has to observe the scene. */
HcStatus hc_linear_plan(HcStage *stage, const char *label, bool *fits, HcError *err) HC_MUST_CHECK;

/* A fit begins: makes the statistics of the scene, which the caller clears, from its sums, and clears these.
 */
HcStatus hc_linear_begin_fit(HcStage *stage, HcMoments *values, HcStatistics *scene,
                             HcError *err) HC_MUST_CHECK;

/* The transform is made: applies the rule of --components to the statistics of the scene, chooses the
 * components, remarks on bands that were left out. */
HcStatus hc_linear_end_fit(HcStage *stage, const HcStatistics *scene, HcError *err) HC_MUST_CHECK;

/* Whether the stage fits a model, and whether it saves it; the noise is the caller's business. */
bool hc_linear_fits(const HcStage *stage, HcFit *how);

/* The eigenvalues of the transform in use, once it is there. */
bool hc_linear_scree(const HcStage *stage, const char *title, HcScreePlot *out);
/* What the rule of --components found, with all other rules; NULL without one. */
const HcDimension *hc_linear_dimension(const HcStage *stage);

/* Hooks of a class. The first sums that it declares are those of the scene, the second, where they are
 * wanted, those of the noise: settle hands both to its hook `fit`. */
#define HC_LINEAR_HOOKS                                                                                      \
    .open = hc_linear_open, .settle = hc_linear_settle, .process = hc_linear_process,                        \
    .finish = hc_linear_finish

HcStatus hc_linear_open(HcStage *stage, HcError *err) HC_MUST_CHECK;
HcStatus hc_linear_settle(HcStage *stage, HcQueue *queue, HcError *err) HC_MUST_CHECK;
/* What settle is made of, for a stage with more rounds: takes the sums (those of the noise stay empty where
 * they are not wanted; the caller clears both), and fits with them. noise: NULL = none. */
HcStatus hc_linear_take(HcStage *stage, HcQueue *queue, HcMoments *values, HcMoments *noise,
                        HcError *err) HC_MUST_CHECK;
HcStatus hc_linear_fit(HcStage *stage, HcMoments *values, HcMoments *noise, HcError *err) HC_MUST_CHECK;
HcStatus hc_linear_process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                           void *scratch, HcError *err) HC_MUST_CHECK;
HcStatus hc_linear_finish(HcStage *stage, HcError *err) HC_MUST_CHECK;
void hc_linear_report(const HcStage *stage, HcJson *to);
void hc_linear_close(HcStage *stage);

#endif
