/* What the files of the stage identify share. Whatever the method, references become rules: features with
 * their limits. Rules come from a file, or are made of the spectra of the library; then they are brought to
 * the bands of a scene, for the operation. */
#ifndef HC_PIPELINE_STAGES_IDENTIFY_H
#define HC_PIPELINE_STAGES_IDENTIFY_H

#include "core/operation/spectrum/identify.h"
#include "pipeline/spectra/library/scaled.h"
#include "pipeline/spectra/runs.h"

typedef enum HcIdentifyMethod {
    HC_IDENTIFY_BY_ANGLE,
    HC_IDENTIFY_BY_FEATURES,
    HC_IDENTIFY_BY_RULES,
    HC_IDENTIFY_METHODS
} HcIdentifyMethod;

typedef struct HcIdentifyParams {
    const char *library;
    HcLibraryChoice choice;
    const char *rules, *scale, *picture;
    int32_t method, rank; /* method: -1 = not given */
    int64_t top;
    double max_angle, min_fit, min_depth; /* NaN = not given */
    bool rejected;
} HcIdentifyParams;

typedef struct HcExpertFeature {
    HcIdentifyFeature test; /* kind, weight and limits */
    double end[4];          /* [nm] the left end point from, to; the right one from, to */
    int32_t spectrum;       /* of the library */
} HcExpertFeature;

typedef struct HcExpertRule {
    char *name;
    HcIdentifyReference limits; /* its features are those of HcExpertRules.feature */
    uint8_t colour[3];
    bool coloured;
} HcExpertRule;

/* Owns its arrays. Zero-initialise, then hc_expert_clear() is always safe. */
typedef struct HcExpertRules {
    int32_t count, features;
    HcExpertRule *rule;
    HcExpertFeature *feature; /* [features] */
    bool levels;              /* some limit is one of reflectance */
} HcExpertRules;

void hc_expert_clear(HcExpertRules *rules);

/* rules.c: reads a file of rules, or the one in a folder, whose references are spectra of the library.
 * HC_E_INPUT: it has another form, or names a spectrum that the library lacks. */
HcStatus hc_expert_read(HcExpertRules *rules, const char *path, const char *library, const HcLibraryFit *fit,
                        HcError *err) HC_MUST_CHECK;

/* made.c: rules of spectra. By features: those between neighbours on the convex hull of each run of bands,
 * weighted by their areas. By angle: one feature of all bands. */
HcStatus hc_expert_of_features(HcExpertRules *rules, const HcIdentifyParams *params, const HcLibraryFit *fit,
                               const HcBandRuns *runs, HcError *err) HC_MUST_CHECK;
HcStatus hc_expert_of_angles(HcExpertRules *rules, const HcIdentifyParams *params, const HcLibraryFit *fit,
                             const HcBandRuns *runs, HcError *err) HC_MUST_CHECK;

/* Rules on the bands of a scene: the arrays of HcIdentifyRule. */
typedef struct HcReferences {
    int32_t references, features, entries;
    HcIdentifyReference *reference;
    HcIdentifyFeature *feature;
    HcIdentifyEntry *entry;
    int32_t *spectrum; /* [references] of the library */
    HcText left_out;   /* names of the first rules that these bands do not cover */
    int32_t lost;      /* how many these are */
} HcReferences;

/* references.c. Rules with a feature of fewer than three bands, or an end point without any, are left out. */
HcStatus hc_references_make(HcReferences *out, const HcExpertRules *rules, const HcLibraryFit *fit,
                            const HcBandRuns *runs, HcError *err) HC_MUST_CHECK;
void hc_references_clear(HcReferences *references);

typedef struct HcIdentifyState {
    HcScaledLibrary library;
    HcBandRuns runs;
    HcExpertRules rules;
    HcReferences references;
    HcBuffer reference, feature, entry; /* [device] */
    HcSpectra in, out; /* where a picture or a report is wanted: some pixels, and what was found in them */
} HcIdentifyState;

static inline const HcIdentifyParams *hc_identify_params(const HcStage *stage) {
    return (const HcIdentifyParams *)stage->params;
}

HcIdentifyMethod hc_identify_method(const HcStage *stage);

/* library.c: adds a table of the best matches of each spectrum (HcStageRare.of_library). */
HcStatus hc_identify_library(HcStage *stage, const char *path, HcText *to, HcError *err) HC_MUST_CHECK;

/* found.c: frequent classes over their references, for pictures and reports; each for the hook of that name.
 */
HcStatus hc_found_plan(HcStage *stage, HcError *err) HC_MUST_CHECK;
HcStatus hc_found_open(HcStage *stage, HcError *err) HC_MUST_CHECK;
HcStatus hc_found_add(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                      HcError *err) HC_MUST_CHECK;
HcStatus hc_found_gather(HcStage *stage, HcError *err) HC_MUST_CHECK;
HcStatus hc_found_finish(HcStage *stage, HcError *err) HC_MUST_CHECK;
HcStatus hc_found_panels(const HcStage *stage, HcPanels *to, HcError *err) HC_MUST_CHECK;

/* references.c: what the operation is called with; its arrays are there once the stage has settled. */
HcIdentifyRule hc_identify_rule(const HcStage *stage);

#endif
