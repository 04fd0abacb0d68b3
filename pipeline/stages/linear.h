/* Linear: what pca and mnf share: options, choice of components, forward, inverse, denoise, models. */
#ifndef HC_PIPELINE_STAGES_LINEAR_H
#define HC_PIPELINE_STAGES_LINEAR_H

#include "pipeline/stage.h"
#include "pipeline/statistics/transform.h"

/* First in the parameters of both stages. */
typedef struct HcLinearParams {
    int64_t components;
    double min_eigenvalue;
    bool keep_all, inverse, denoise, fit_only;
    int32_t overwrite; /* HcOverwrite */
    const char *model, *save_model;
} HcLinearParams;

#define HC_LINEAR_OPTIONS                                                                                    \
    {.name = "components",                                                                                   \
     .kind = HC_OPTION_INT,                                                                                  \
     .offset = offsetof(HcLinearParams, components),                                                         \
     .value = "COUNT",                                                                                       \
     .minimum = 1,                                                                                           \
     .maximum = 100000,                                                                                      \
     .help = "keep this many components"},                                                                   \
        {.name = "min-eigenvalue",                                                                           \
         .kind = HC_OPTION_REAL,                                                                             \
         .offset = offsetof(HcLinearParams, min_eigenvalue),                                                 \
         .value = "VALUE",                                                                                   \
         .help = "keep the components whose eigenvalue is at least this"},                                   \
        {.name = "keep-all",                                                                                 \
         .kind = HC_OPTION_FLAG,                                                                             \
         .offset = offsetof(HcLinearParams, keep_all),                                                       \
         .help = "keep all components (as without any of these three, but for --denoise, which needs one)"}, \
        {.name = "denoise",                                                                                  \
         .kind = HC_OPTION_FLAG,                                                                             \
         .offset = offsetof(HcLinearParams, denoise),                                                        \
         .help = "forward, drop the components that are not kept, inverse: bands come out, not components"}, \
        {.name = "inverse",                                                                                  \
         .kind = HC_OPTION_FLAG,                                                                             \
         .offset = offsetof(HcLinearParams, inverse),                                                        \
         .help = "components come in, bands go out, by --model or the same stage earlier in the chain"},     \
        {.name = "fit-only",                                                                                 \
         .kind = HC_OPTION_FLAG,                                                                             \
         .offset = offsetof(HcLinearParams, fit_only),                                                       \
         .help = "fit and save the model, hand the scene on unchanged"},                                     \
        {.name = "model",                                                                                    \
         .kind = HC_OPTION_TEXT,                                                                             \
         .offset = offsetof(HcLinearParams, model),                                                          \
         .file = HC_FILE_READ,                                                                               \
         .value = "MODEL.json",                                                                              \
         .help = "use this saved model instead of fitting one"},                                             \
        {.name = "save-model",                                                                               \
         .kind = HC_OPTION_TEXT,                                                                             \
         .offset = offsetof(HcLinearParams, save_model),                                                     \
         .file = HC_FILE_WRITTEN,                                                                            \
         .value = "MODEL.json",                                                                              \
         .help = "save the fitted model"},                                                                   \
    {                                                                                                        \
        .name = "overwrite", .kind = HC_OPTION_LEVEL, .offset = offsetof(HcLinearParams, overwrite),         \
        .value = "any", .help = "replace an existing model file; any: also a scene"                          \
    }

/* First in the state of both stages. */
typedef struct HcLinear {
    HcTransform transform;           /* fitted or loaded; method set once it is there */
    int32_t used;                    /* components that are kept */
    HcBuffer forward, inverse, mean; /* [device], made when first needed */
} HcLinear;

/* Plans out and needs, but for what a fit needs. `label` begins the band names ("MNF"). Sets *fits when the
 * stage still has to observe the scene. */
HcStatus hc_linear_plan(HcStage *stage, const char *label, bool *fits, HcError *err) HC_MUST_CHECK;

/* After a fit: chooses the components, remarks on bands that were left out. */
void hc_linear_settled(HcStage *stage);

/* Whether the stage fits a model, and whether it saves it; the noise is the caller's business. */
bool hc_linear_fits(const HcStage *stage, HcFit *how);

/* The eigenvalues of the transform in use, once it is there. */
bool hc_linear_scree(const HcStage *stage, const char *title, HcScree *out);

HcStatus hc_linear_open(HcStage *stage, HcError *err) HC_MUST_CHECK;
HcStatus hc_linear_process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                           void *scratch, HcError *err) HC_MUST_CHECK;
HcStatus hc_linear_finish(HcStage *stage, HcError *err) HC_MUST_CHECK;
const char *hc_linear_output(const HcStage *stage);
void hc_linear_report(const HcStage *stage, HcJson *to);
void hc_linear_close(HcStage *stage);

#endif
