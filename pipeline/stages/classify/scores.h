/* Scores of all classes for each pixel: what classify decides by where the nearest class mean does not, or
 * where the scores themselves are wanted (--rules, --confidence).
 *
 * The scores are made by operations on the device, some pixels at a time. The host decides: one walk over as
 * many numbers as there are classes. */
#ifndef HC_PIPELINE_STAGES_CLASSIFY_SCORES_H
#define HC_PIPELINE_STAGES_CLASSIFY_SCORES_H

#include "core/operation/knn/knn.h"
#include "core/system/team.h"
#include "pipeline/spectra/spectra.h"
#include "pipeline/stages/classify/svm.h"

/* What the device makes of a pixel. */
typedef enum HcScoreKind {
    HC_SCORE_NEAREST,    /* distances from the class means, as knn finds them */
    HC_SCORE_SQUARES,    /* squares of distances, whitened by the covariance of each class */
    HC_SCORE_DIVERGENCE, /* spectral information divergence from the class means */
    HC_SCORE_MARGINS,    /* of the planes between each pair of classes: linear support vector machines */
    HC_SCORE_KERNELS     /* nothing: the host has the vectors of a support vector machine */
} HcScoreKind;

/* Zero-initialise; hc_scores_close() is always safe. */
typedef struct HcScores {
    HcScoreKind kind;
    int32_t labels;        /* classes by number, from 1 */
    int32_t count;         /* classes that have a model, at most as many */
    int32_t *label;        /* [count] ascending */
    const int32_t *number; /* [labels + 1] of each class in the result, borrowed; NULL = as it is */
    double *offset;        /* [count] logarithm of the determinant of the covariance; or NULL */
    double *prior;         /* [count] frequency of each class, of sum 1; NULL = equal */
    double *share;         /* [count] shrinkage of the covariance; or NULL */
    HcBuffer matrix;       /* [device] [count][bands][bands], or class means [count][bands] */
    HcBuffer mean;         /* [device] [count][bands] */
    HcBuffer shift;        /* [device] [pairs] of HC_SCORE_MARGINS */
    HcSvm svm;             /* of HC_SCORE_MARGINS and HC_SCORE_KERNELS */
    double *scale;         /* [2][bands] mean, and 1 / deviation, of what it was trained with */
    double *scratch;       /* [threads] of the host: a pixel, its kernels and votes */
    HcBuffer work;         /* [device] of some pixels */
    HcBuffer found;        /* [host] their scores, and whether they are valid */
    HcBuffer result;       /* [host] what becomes of them */
    double *ordered;       /* [pixels of a piece][labels] scores by class */
    HcTeam *team;
    bool is_open;
} HcScores;

/* How scores become bands. */
typedef struct HcScoreRule {
    HcMetric metric;  /* with HC_SCORE_NEAREST */
    bool probability; /* the square of a score is -2 times a log-likelihood, but for a constant */
    double reject;    /* a pixel farther than that from its class gets class 0 */
    bool confidence, distance, rules;
} HcScoreRule;

/* Device and host memory that scores take beside their model [bytes]. */
size_t hc_scores_bytes_device(HcScoreKind kind, int32_t bands, int32_t labels);
size_t hc_scores_bytes_host(HcScoreKind kind, int32_t bands, int32_t labels);
/* Memory of the model. */
size_t hc_scores_bytes_model(HcScoreKind kind, int32_t bands, int32_t labels);

/* With kind, labels, count and label, and what HC_SCORE_KERNELS needs. `bands` are those that come in. */
HcStatus hc_scores_open(HcScores *scores, HcCompute *compute, int32_t bands, HcError *err) HC_MUST_CHECK;
void hc_scores_close(HcScores *scores, HcCompute *compute);

/* What finds distances from class means: pixels are projected (unless matrix is NULL) and compared. */
typedef struct HcScoreMeans {
    const HcTraining *model;
    const double *matrix, *mean; /* [device] */
    int32_t directions;
} HcScoreMeans;

/* Spectra to classes and what the rule adds; neither block has a halo. Returns when all is done. */
HcStatus hc_scores_apply(HcScores *scores, HcQueue *queue, const HcBlock *in, const HcScoreMeans *means,
                         const HcScoreRule *rule, const HcBlock *out, HcError *err) HC_MUST_CHECK;

#endif
