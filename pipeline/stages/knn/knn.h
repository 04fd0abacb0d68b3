/* What the files of the stages knn and classify share; nobody else includes this.
 *
 * Both make a class map of labelled spectra. What differs is a row of HcKnnMethod: knn has one of its own,
 * classify one for each word of --method. Reading, sampling, accuracy and reports are the same. */
#ifndef HC_PIPELINE_STAGES_KNN_H
#define HC_PIPELINE_STAGES_KNN_H

#include "core/operation/knn/vote.h"
#include "pipeline/report/accuracy_panel.h"
#include "pipeline/spectra/accuracy.h"
#include "pipeline/spectra/library/scaled.h"
#include "pipeline/stages/classify/scores.h"
#include "pipeline/stage.h"

#include <math.h>

/* What --split divides. */
typedef enum HcSplitBy { HC_SPLIT_PIXELS, HC_SPLIT_FEATURES } HcSplitBy;

/* The accuracy of the map: with which pixels it is measured, and where it is reported. */
typedef struct HcAccuracyParams {
    const char *validation, *field, *layer;
    double split;
    int32_t split_by; /* HcSplitBy */
    int64_t seed;
    HcOptionList report;
    bool overwrite;
} HcAccuracyParams;

/* First in the parameters of both stages. */
typedef struct HcKnnParams {
    const char *training, *field, *field_number, *layer;
    bool skip_empty; /* classes without a training pixel are left out, not refused */
    HcLibraryChoice choice;
    HcAccuracyParams accuracy;
} HcKnnParams;

/* Rows of the tables of options of both stages. */
#define HC_KNN_TRAINING_OPTIONS                                                                              \
    {HC_TEXT(HcKnnParams, training),                                                                         \
     .heading = "Training spectra",                                                                          \
     .file = HC_FILE_READ,                                                                                   \
     .value = "FILE",                                                                                        \
     .required = true,                                                                                       \
     .help = "labelled pixels of this scene (polygons, points or a class raster), or a spectral library"},   \
        {HC_TEXT(HcKnnParams, field), .value = "NAME", .otherwise = "the only attribute",                    \
         .help = "attribute of polygons and points that names the class"},                                   \
        {HC_TEXT(HcKnnParams, field_number, "field-number"), .value = "NAME",                                \
         .otherwise = "classes get the numbers 1, 2, ... in the order of their names",                       \
         .help = "attribute of polygons and points with the number of the class, 1 to 65535"},               \
        {HC_TEXT(HcKnnParams, layer), .value = "NAME", .otherwise = "the only layer",                        \
         .help = "layer of the polygons and points"},                                                        \
        {HC_FLAG(HcKnnParams, skip_empty, "skip-empty"),                                                     \
         .help = "leave out classes without a valid training pixel in the scene instead of failing"},        \
        HC_LIBRARY_CHOICE_OPTIONS(HcKnnParams, choice)

#define HC_KNN_ACCURACY_OPTIONS                                                                              \
    {HC_TEXT(HcKnnParams, accuracy.validation, "validation"),                                                \
     .heading = "Accuracy of the map",                                                                       \
     .file = HC_FILE_READ,                                                                                   \
     .value = "FILE",                                                                                        \
     .one_of = "validation split",                                                                           \
     .help = "measure the accuracy on these labelled pixels (files as for --training)"},                     \
        {HC_TEXT(HcKnnParams, accuracy.field, "validation-field"), .value = "NAME", .needs = "validation",   \
         .otherwise = "that of --field if there is one, or the only attribute",                              \
         .help = "attribute of --validation that names the class"},                                          \
        {HC_TEXT(HcKnnParams, accuracy.layer, "validation-layer"), .value = "NAME", .needs = "validation",   \
         .otherwise = "the only layer", .help = "layer of --validation"},                                    \
        {HC_REAL(HcKnnParams, accuracy.split, "split"),                                                      \
         .range = {0, 1},                                                                                    \
         .open = HC_OPEN_BOTH,                                                                               \
         .initial = NAN,                                                                                     \
         .otherwise = "train with all pixels",                                                               \
         .value = "FRACTION",                                                                                \
         .help = "train with this fraction of the pixels of each class, and measure the accuracy on the "    \
                 "others"},                                                                                  \
        {HC_CHOICE(HcKnnParams, accuracy.split_by, "split-by"), .choices = hc_knn_split_words,               \
         .standard = "pixel", .needs = "split",                                                              \
         .help = "unit of --split: pixels, or whole polygons (in a raster: regions of one "                  \
                 "class), so that no polygon both trains and validates"},                                    \
        {HC_INT(HcKnnParams, accuracy.seed, "seed"), .range = {0, 9007199254740992}, .initial = 1,           \
         .value = "NUMBER",                                                                                  \
         .help = "seed of --split, and of cross-validation: the same number takes the same pixels"},         \
        {HC_LIST(HcKnnParams, accuracy.report, "report"), .file = HC_FILE_WRITTEN,                           \
         .value = "FILE.json|FILE.txt|FILE.png", .needs = "validation split",                                \
         .help = "write the accuracy and the confusion matrix to this file, or draw the matrix (.png, "      \
                 ".svg, .pdf)"},                                                                             \
    {                                                                                                        \
        HC_FLAG(HcKnnParams, accuracy.overwrite, "overwrite"), .help = "replace existing reports"            \
    }

/* How training spectra become what pixels are compared with. */
typedef struct HcKnnMethod {
    const char *name;      /* of --method; NULL = the stage has no such option */
    HcScoreKind scores[2]; /* of all classes, where they are made, for each word of --kernel */
    bool models;           /* each class has a model of its own: scores decide */
    bool projects;         /* spectra are projected before they are compared */
    bool probability;      /* the square of a score is -2 times a log-likelihood, but for a constant */
    HcMetric metric;       /* of spectra without models */
    int32_t most;          /* classes that may have scores, 0 = any */
    HcStatus (*check)(const HcStage *stage, HcError *err); /* OPTIONAL. In plan */
    void (*needs)(HcStage *stage,
                  size_t count); /* OPTIONAL. In plan: what `make` takes for `count` spectra */
    /* Turns training spectra into a model: those of classes with scores into HcKnnState.scores, others into
     * the spectra that are compared. */
    HcStatus (*make)(HcStage *stage, HcSamples *training, HcError *err);
} HcKnnMethod;

/* What a stage says in plan. */
typedef struct HcKnnPlan {
    const HcKnnMethod *method;
    HcScoreKind scores; /* of the method */
    HcVoteRule rule;    /* but for the number of classes */
    bool projects;
    bool scored; /* scores of all classes decide, or are wanted */
    bool rules;  /* they go out, a band for each class */
    /* For reports: what a reader needs to do the same again. */
    void (*settings)(const HcStage *stage, HcJson *to);
    void (*describe)(const HcStage *stage, HcText *to);
} HcKnnPlan;

typedef struct HcKnnState {
    HcKnnPlan plan;
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
    HcBuffer rows;         /* [host] with numbers of neighbours: rows that go out */
    HcScores scores;       /* open where plan.scored */
    int32_t tried;         /* settings that cross-validation has compared */
    double cross_accuracy; /* of the best of them */
    int64_t used;          /* training spectra in the model */
    int64_t *from;         /* [used] which pixel of `training` each is; NULL with a library */
    int64_t *trained;      /* [classes + 1] of them, by number */
    HcAccuracy accuracy;
} HcKnnState;

/* Training spectra have numbers that float32 holds. */
#define HC_KNN_TRAINING_LIMIT ((int64_t)1 << 24)

/* knn_report.c: the words of --split-by, ended by NULL. */
extern const char *const hc_knn_split_words[];

static inline const HcKnnParams *hc_knn_params(const HcStage *stage) {
    return (const HcKnnParams *)stage->params;
}

static inline const HcKnnPlan *hc_knn_plan_of(const HcStage *stage) {
    return &((const HcKnnState *)stage->state)->plan;
}

static inline bool hc_knn_splits(const HcStage *stage) {
    return !isnan(hc_knn_params(stage)->accuracy.split);
}

static inline bool hc_knn_validates(const HcStage *stage) {
    return hc_knn_params(stage)->accuracy.validation != NULL || hc_knn_splits(stage);
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

/* In plan. */
HcStatus hc_knn_plan(HcStage *stage, const HcKnnPlan *plan, HcError *err) HC_MUST_CHECK;

/* Hooks of both stages. */
#define HC_KNN_HOOKS                                                                                         \
    .open = hc_knn_open, .observe = hc_knn_observe, .settle = hc_knn_settle, .process = hc_knn_process,      \
    .finish = hc_knn_finish, .report = hc_knn_report, .rare = {.panels = hc_knn_panels},                     \
    .close = hc_knn_close

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
