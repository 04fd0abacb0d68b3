/* What the files of the stage detect share; nobody else includes this. A method is a file of its own that
 * turns targets and background into a detector: a projection, a reduction, or both. */
#ifndef HC_PIPELINE_STAGES_DETECT_H
#define HC_PIPELINE_STAGES_DETECT_H

#include "core/operation/image/column_scores.h"
#include "core/operation/image/reduce.h"
#include "pipeline/detections/scored.h"
#include "pipeline/statistics/column_sums.h"
#include "pipeline/spectra/library/scaled.h"

typedef struct HcDetectParams {
    HcScoredParams scored; /* first */
    int32_t method;
    const char *targets;
    HcLibraryChoice choice;
    const char *scale;
    HcOptionList pixels;
    bool absorption;
} HcDetectParams;

/* What a method is given: spectra of the targets as they come in, and the background where it needs one. */
typedef struct HcDetectInput {
    HcCompute *compute;
    int32_t bands, targets;
    const double *spectrum;   /* [targets][bands] */
    char *const *name;        /* [targets] */
    bool absorption;          /* spectra are relative changes of the mean */
    int64_t pixels;           /* of the background */
    const double *mean;       /* [bands] of the background */
    const double *covariance; /* [bands][bands] */
    const double *variance;   /* [bands] of components whose noise has variance 1, for mtmf */
} HcDetectInput;

/* A pixel x becomes y = projection' (x - offset), or stays x; then y is reduced with rows, or stays y. Owns
 * its arrays. */
typedef struct HcScoring {
    int32_t directions; /* of y; those of a projection */
    double *projection; /* [bands][directions], NULL = x stays */
    double *offset;     /* [bands], NULL = 0 */
    double *rows;       /* [hc_reduce_targets()][directions], NULL = y is the score */
    HcReduction reduction;
    int32_t components; /* directions in which the background varies; 0 = none is known */
    double *deviation;  /* [targets] 1 / the distance of each from the background, NULL = there is none */
} HcScoring;

typedef struct HcDetectMethod {
    const char *name;
    const char *what;          /* of a score, for the page and the record */
    const char *const *suffix; /* of the bands of a target, NULL-terminated */
    bool background;           /* needs mean and covariance */
    bool unit;                 /* the unit of the targets matters */
    bool low;                  /* low scores are like the target */
    bool spectra;              /* is not for components */
    bool white;                /* for components of noise 1 alone; its scores have no single order */
    bool products;             /* --columns: of the mean of products, not the covariance */
    HcColumnScore column;      /* of --columns */
    const char *score_unit;    /* "rad", NULL = none */
    HcNull null;               /* of the scores of a Gaussian background whose covariance is not shrunk */
    HcStatus (*make)(const HcDetectInput *in, HcScoring *out, HcError *err);
} HcDetectMethod;

extern const HcDetectMethod hc_detect_mf, hc_detect_cem, hc_detect_ace, hc_detect_amf, hc_detect_osp,
    hc_detect_sam, hc_detect_sid, hc_detect_mtmf;

/* In the order of --method. */
extern const HcDetectMethod *const hc_detect_methods[];

/* " " and " infeasibility" and so on: the names of bands that are the target alone. */
extern const char *const hc_detect_plain[];

/* By columns alone: filters of groups of columns, which the device makes. */
typedef struct HcDetectColumns {
    HcColumnSums sums;
    HcBuffer memory;         /* [device] the filters, and what is told of them */
    HcColumnScoring scoring; /* what the scores are made of; triangles lie where the sums were */
} HcDetectColumns;

/* A scoring in the memory of the device. */
typedef struct HcDeviceScoring {
    int32_t directions;
    HcReduction reduction;
    HcBuffer projection, offset, rows; /* [device]; data NULL = none */
} HcDeviceScoring;

typedef struct HcDetectState {
    HcScored scored;         /* first */
    HcScaledLibrary library; /* of --targets */
    HcSpectra pixels;        /* of --target-at */
    char **name;             /* [targets], borrowed from the library or the pixels */
    int32_t targets;
    double *spectrum;          /* [targets][bands] in the unit of the scene, once wanted */
    HcDeviceScoring *detector; /* of each group of the background, or one */
    HcDetectColumns columns;
} HcDetectState;

static inline const HcDetectParams *hc_detect_params(const HcStage *stage) {
    return (const HcDetectParams *)stage->params;
}

static inline const HcDetectMethod *hc_detect_method(const HcStage *stage) {
    return hc_detect_methods[hc_detect_params(stage)->method];
}

/* methods.c: (x - m)' W W' (t - m) / |W' (t - m)|^2 as one projection, for a matrix whose inverse is W W';
 * mean NULL = 0. */
HcStatus hc_detect_filter(const HcDetectInput *in, const double *matrix, const double *mean, HcScoring *out,
                          HcError *err) HC_MUST_CHECK;
/* Whitened pixels and targets, reduced as told. */
HcStatus hc_detect_whiten(const HcDetectInput *in, HcReduction reduction, HcScoring *out,
                          HcError *err) HC_MUST_CHECK;
/* The spectra as they are. */
HcStatus hc_detect_as_is(const HcDetectInput *in, HcReduction reduction, HcScoring *out,
                         HcError *err) HC_MUST_CHECK;
void hc_scoring_clear(HcScoring *detector);

/* What a target adds to the mean of the background; mean NULL = 0. */
void hc_detect_signal(const HcDetectInput *in, int32_t target, const double *mean, double *signal);

/* columns.c: the way to score by columns alone. */
extern const HcScorerClass hc_detect_by_columns;
void hc_detect_columns_close(HcStage *stage);

/* targets.c: in plan, reads the library and names the targets. */
HcStatus hc_detect_plan_targets(HcStage *stage, HcError *err) HC_MUST_CHECK;
/* Whether the scene has to be seen for the targets: pixels, or the unit of the scene. */
bool hc_detect_looks(const HcStage *stage);
HcStatus hc_detect_open_targets(HcStage *stage, HcError *err) HC_MUST_CHECK;
HcStatus hc_detect_observe_targets(HcStage *stage, HcQueue *queue, const HcBlock *in,
                                   HcError *err) HC_MUST_CHECK;
/* After the pass, on all ranks. */
HcStatus hc_detect_settle_targets(HcStage *stage, HcQueue *queue, HcError *err) HC_MUST_CHECK;
/* Fills state->spectrum where it is not there. */
HcStatus hc_detect_spectra(HcStage *stage, HcError *err) HC_MUST_CHECK;
/* The pca or mnf that made the components that come in; NULL where spectra come in. */
const HcStage *hc_detect_transform(const HcStage *stage);

#endif
