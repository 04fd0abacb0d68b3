/* What the files of the stages knn and classify share; nobody else includes this. classify compares with one
 * spectrum a class, made of its training spectra, and is otherwise knn with one neighbour. */
#ifndef HC_PIPELINE_STAGES_KNN_H
#define HC_PIPELINE_STAGES_KNN_H

#include "core/operation/knn/knn.h"
#include "pipeline/spectra/accuracy.h"
#include "pipeline/spectra/library/scaled.h"
#include "pipeline/stages/classify/scores.h"
#include "pipeline/stage.h"

#include <math.h>

/* What training spectra become. */
typedef enum HcKnnMethod {
    HC_KNN_NEIGHBOURS, /* each is one to compare with: the stage knn */
    HC_KNN_LDA,        /* class means, whitened by the covariance within classes */
    HC_KNN_ML,         /* class means, and a covariance for each class */
    HC_KNN_DISTANCE,   /* class means */
    HC_KNN_SAM,        /* class means, compared by angles */
    HC_KNN_SID,        /* class means, compared by divergence */
    HC_KNN_SVM         /* support vector machines */
} HcKnnMethod;

/* What --split divides. */
typedef enum HcSplitBy { HC_SPLIT_PIXELS, HC_SPLIT_FEATURES } HcSplitBy;

typedef struct HcKnnParams {
    int32_t method;     /* of classify, as its words: HcKnnMethod less 1 */
    const char *shrink; /* of classify, as the next */
    const char *priors; /* "equal", "training", or a file of weights */
    const char *training, *field, *field_number, *layer;
    bool skip_empty; /* classes without a training pixel are left out, not refused */
    HcLibraryChoice choice;
    int64_t k;
    int32_t vote, metric, scale;
    double reject;
    bool confidence, distance, neighbours;
    bool rules;               /* of classify, as the next */
    int32_t kernel;           /* hc_class_kernel_words */
    const char *cost, *gamma; /* numbers, or auto */
    const char *validation, *validation_field, *validation_layer;
    double split;
    int32_t split_by; /* HcSplitBy */
    int64_t seed;
    HcOptionList report;
    bool overwrite;
} HcKnnParams;

/* Rows of the tables of options of both stages. */
#define HC_KNN_TRAINING_OPTIONS                                                                              \
    {HC_TEXT(Params, training), .file = HC_FILE_READ, .value = "FILE", .required = true,                     \
     .help = "labelled pixels of this scene (polygons, points or a class raster), or a spectral library"},   \
        {HC_TEXT(Params, field), .value = "NAME", .otherwise = "the only attribute",                         \
         .help = "attribute of polygons and points that names the class"},                                   \
        {HC_TEXT(Params, field_number, "field-number"), .value = "NAME",                                     \
         .otherwise = "classes get the numbers 1, 2, ... in the order of their names",                       \
         .help = "attribute of polygons and points that holds the number of the class, 1 to 65535"},         \
        {HC_TEXT(Params, layer), .value = "NAME", .otherwise = "the only layer",                             \
         .help = "layer of the polygons and points"},                                                        \
        {HC_FLAG(Params, skip_empty, "skip-empty"),                                                          \
         .help = "leave out classes without a valid training pixel in the scene. Without it they are an "    \
                 "error"},                                                                                   \
        HC_LIBRARY_CHOICE_OPTIONS

#define HC_KNN_VALIDATION_OPTIONS                                                                            \
    {HC_TEXT(Params, validation), .file = HC_FILE_READ, .value = "FILE", .one_of = "validation split",       \
     .help = "measure the accuracy on these labelled pixels (files as for --training)"},                     \
        {HC_TEXT(Params, validation_field, "validation-field"), .value = "NAME", .needs = "validation",      \
         .otherwise = "that of --field if there is one, or the only attribute",                              \
         .help = "attribute of --validation that names the class"},                                          \
        {HC_TEXT(Params, validation_layer, "validation-layer"), .value = "NAME", .needs = "validation",      \
         .otherwise = "the only layer", .help = "layer of --validation"},                                    \
        {HC_REAL(Params, split),                                                                             \
         .range = {0, 1},                                                                                    \
         .open = HC_OPEN_BOTH,                                                                               \
         .initial = NAN,                                                                                     \
         .otherwise = "train with all pixels",                                                               \
         .value = "FRACTION",                                                                                \
         .help = "train with this fraction of the pixels of each class, and measure the accuracy on the "    \
                 "others"},                                                                                  \
    {                                                                                                        \
        HC_CHOICE(Params, split_by, "split-by"),                                                             \
            .choices = hc_knn_split_words, .standard = "pixel", .needs = "split",                            \
            .help = "what --split divides: pixels, or whole polygons (in a raster: "                         \
                    "regions of one class). Then no pixel that validates has a "                             \
                    "neighbour in its polygon that trains"                                                   \
    }

#define HC_KNN_REPORT_OPTIONS                                                                                \
    {HC_LIST(Params, report), .file = HC_FILE_WRITTEN, .value = "FILE.json|FILE.txt|FILE.png",               \
     .needs = "validation split",                                                                            \
     .help =                                                                                                 \
         "write the accuracy and the confusion matrix to this file, or draw the matrix (.png, .svg, .pdf)"}, \
    {                                                                                                        \
        HC_FLAG(Params, overwrite), .help = "replace existing reports"                                       \
    }

typedef struct HcKnnState {
    HcSpectra training, validation;
    bool from_library; /* then `training` has classes but no pixels */
    HcSamples library; /* its spectra, as compared */
    HcLibraryFigures figures;
    HcValueUnit unit;      /* of the library */
    bool unit_noted;       /* that the scene has another one */
    HcTraining *model;     /* once settled */
    HcBuffer label;        /* [device] of the model's spectra */
    HcBuffer matrix;       /* [device] [bands][directions], diagonal with --scale */
    int32_t directions;    /* columns of it */
    double shrinkage;      /* of the covariance within classes, 0 to 1 */
    HcBuffer mean;         /* [device] [bands] */
    HcScores scores;       /* open where hc_knn_scores() */
    int32_t tried;         /* settings that cross-validation has compared */
    double cross_accuracy; /* of the best of them */
    int64_t used;          /* training spectra in the model */
    int64_t *from;         /* [used] which pixel of `training` each is; NULL with a library */
    int64_t *trained;      /* [classes + 1] of them, by number */
    HcAccuracy accuracy;
} HcKnnState;

/* Training spectra have numbers that float32 holds. */
#define HC_KNN_TRAINING_LIMIT ((int64_t)1 << 24)

/* knn_report.c: the words of --split-by, --vote, --metric and --scale, ended by NULL. */
extern const char *const hc_knn_split_words[], *const hc_knn_vote_words[], *const hc_knn_metric_words[],
                                                                               *const hc_knn_scale_words[];

/* classify/class_means.c: the words of --method. */
extern const char *const hc_class_method_words[];

static inline const HcKnnParams *hc_knn_params(const HcStage *stage) {
    return (const HcKnnParams *)stage->params;
}

static inline HcKnnMethod hc_knn_method(const HcStage *stage) {
    bool is_knn = hc_text_equal(stage->kind->name, "knn");
    return is_knn ? HC_KNN_NEIGHBOURS : (HcKnnMethod)(hc_knn_params(stage)->method + 1);
}

/* Neighbours that vote. */
static inline int64_t hc_knn_k(const HcStage *stage) {
    return hc_knn_method(stage) == HC_KNN_NEIGHBOURS ? hc_knn_params(stage)->k : 1;
}

static inline HcMetric hc_knn_metric(const HcStage *stage) {
    return hc_knn_method(stage) == HC_KNN_NEIGHBOURS ? (HcMetric)hc_knn_params(stage)->metric
           : hc_knn_method(stage) == HC_KNN_SAM      ? HC_METRIC_ANGLE
                                                     : HC_METRIC_EUCLIDEAN;
}

/* Whether spectra are projected before they are compared. */
static inline bool hc_knn_projects(const HcStage *stage) {
    return hc_knn_params(stage)->scale != 0 || hc_knn_method(stage) == HC_KNN_LDA;
}

/* Whether each class is scored by a model of its own, which decides. */
static inline bool hc_knn_has_models(const HcStage *stage) {
    HcKnnMethod method = hc_knn_method(stage);
    return method == HC_KNN_ML || method == HC_KNN_SID || method == HC_KNN_SVM;
}

/* What the scores are of, where hc_knn_scores(). */
static inline HcScoreKind hc_knn_score_kind(const HcStage *stage) {
    switch (hc_knn_method(stage)) {
    case HC_KNN_ML:
        return HC_SCORE_SQUARES;
    case HC_KNN_SID:
        return HC_SCORE_DIVERGENCE;
    case HC_KNN_SVM:
        return hc_knn_params(stage)->kernel != 0 ? HC_SCORE_MARGINS : HC_SCORE_KERNELS;
    default:
        return HC_SCORE_NEAREST;
    }
}

/* Whether scores of all classes decide, or are wanted. */
static inline bool hc_knn_scores(const HcStage *stage) {
    const HcKnnParams *params = hc_knn_params(stage);
    bool weighs = params->priors != NULL && !hc_text_equal(params->priors, "equal");
    bool wanted = params->rules || params->confidence || weighs;
    return hc_knn_has_models(stage) || (hc_knn_method(stage) != HC_KNN_NEIGHBOURS && wanted);
}

static inline bool hc_knn_splits(const HcStage *stage) {
    return !isnan(hc_knn_params(stage)->split);
}

static inline bool hc_knn_validates(const HcStage *stage) {
    return hc_knn_params(stage)->validation != NULL || hc_knn_splits(stage);
}

/* Training pixels, or spectra of a library. */
static inline int64_t hc_knn_training_count(const HcStage *stage) {
    const HcKnnState *state = (const HcKnnState *)stage->state;
    return state->from_library ? state->library.count : state->training.pixels.count;
}

/* What training data are made of. */
static inline const char *hc_knn_training_word(const HcStage *stage) {
    return ((const HcKnnState *)stage->state)->from_library ? "spectra" : "pixels";
}

/* Classes that spectra are trained for; class 0 is none. */
static inline int32_t hc_knn_class_count(const HcStage *stage) {
    return ((const HcKnnState *)stage->state)->training.pixels.classes.count - 1;
}

/* The largest number of a class in the result. */
static inline int32_t hc_knn_last_number(const HcStage *stage) {
    return hc_labelled_number(&((const HcKnnState *)stage->state)->training.pixels,
                              hc_knn_class_count(stage));
}

/* knn_training.c: fills state->training and state->validation from the files that the options name, once. */
HcStatus hc_knn_read_labels(HcStage *stage, HcError *err) HC_MUST_CHECK;

/* After all pixels were gathered: which of them train, and which validate; cleared by the caller. With a
 * library only the second. */
HcStatus hc_knn_take_samples(HcStage *stage, HcSamples *training, HcSamples *validation,
                             HcError *err) HC_MUST_CHECK;
HcStatus hc_knn_take_validation(HcStage *stage, HcSamples *validation, HcError *err) HC_MUST_CHECK;

/* Makes the model of these spectra, which are scaled as the options say. */
HcStatus hc_knn_make_model(HcStage *stage, HcSamples *training, HcError *err) HC_MUST_CHECK;

/* classify/class_means.c: replaces training spectra by one a class, and makes the projection that they are
 * compared in. */
HcStatus hc_class_means(HcStage *stage, HcSamples *training, HcError *err) HC_MUST_CHECK;

/* means[labels][bands], 0 for classes without spectra; returns how many have some. trained[labels] counts. */
int32_t hc_class_average(const HcSamples *training, const int64_t *trained, int32_t labels, double *mean);

/* classify/class_models.c: for ml and sid, what scores of each class are made with. */
HcStatus hc_class_models(HcStage *stage, const HcSamples *training, HcError *err) HC_MUST_CHECK;

/* classify/priors.c: refuses --priors where they cannot be, once the method is known; makes those of the
 * scores once state->trained is there. */
extern const char *const hc_class_prior_words[];
HcStatus hc_class_check_priors(HcStage *stage, HcError *err) HC_MUST_CHECK;
HcStatus hc_class_priors(HcStage *stage, HcError *err) HC_MUST_CHECK;

/* classify/class_svm.c: a support vector machine of these spectra, into the scores. */
extern const char *const hc_class_kernel_words[];
HcStatus hc_class_svm(HcStage *stage, const HcSamples *training, HcError *err) HC_MUST_CHECK;
/* Host memory of `count` training spectra: of the machine, and of each thread that cross-validates. */
size_t hc_class_svm_bytes(size_t count, int32_t bands, int32_t classes);
size_t hc_class_svm_thread_bytes(size_t count, int32_t bands, int32_t classes);
HcStatus hc_class_check_cost(const char *who, const char *text, HcError *err) HC_MUST_CHECK;
HcStatus hc_class_check_gamma(const char *who, const char *text, HcError *err) HC_MUST_CHECK;
HcStatus hc_class_check_shrink(const char *who, const char *text, HcError *err) HC_MUST_CHECK;

/* Hooks of both stages. */
HcStatus hc_knn_plan(HcStage *stage, HcError *err) HC_MUST_CHECK;
HcStatus hc_knn_open(HcStage *stage, HcError *err) HC_MUST_CHECK;
HcStatus hc_knn_observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) HC_MUST_CHECK;
HcStatus hc_knn_settle(HcStage *stage, HcQueue *queue, HcError *err) HC_MUST_CHECK;
HcStatus hc_knn_process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err) HC_MUST_CHECK;
HcStatus hc_knn_finish(HcStage *stage, HcError *err) HC_MUST_CHECK;
HcStatus hc_knn_panels(const HcStage *stage, HcPanels *to, HcError *err) HC_MUST_CHECK;
void hc_knn_report(const HcStage *stage, HcJson *to);
void hc_knn_close(HcStage *stage);

/* knn_report.c: what was measured, as FILE.json, FILE.txt, or a picture of the matrix. */
HcStatus hc_knn_write_report(const HcStage *stage, const char *path, HcError *err) HC_MUST_CHECK;

#endif
