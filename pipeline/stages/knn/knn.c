/* knn: classes by the nearest training spectra, of the scene itself or from a spectral library. */
#include "pipeline/stages/knn/knn.h"
#include "core/allocate.h"
#include "pipeline/memory.h"
#include "pipeline/stages/stages.h"

#include <stdlib.h>

typedef struct Params {
    HcKnnParams labels;
    int64_t k;
    int32_t vote, metric, scale;
    double reject;
    bool confidence, distance, neighbours;
} Params;

static const char *const vote_words[] = {"majority", "distance", NULL};
static const char *const metric_words[] = {"euclidean", "angle", NULL};
static const char *const scale_words[] = {"none", "unit-variance", NULL};

static const HcOption options[] = {
    {HC_INT(Params, k), .letter = 'k', .range = {1, HC_KNN_MAX}, .initial = 5, .value = "COUNT",
     .help = "number of nearest training spectra that vote"},
    {HC_CHOICE(Params, vote), .choices = vote_words, .standard = "majority",
     .help = "weight of a neighbour: 1 (majority), or 1 / its distance"},
    {HC_CHOICE(Params, metric), .choices = metric_words, .standard = "euclidean",
     .help = "distance of two spectra: euclidean in units of the input, or their angle in radians"},
    {HC_CHOICE(Params, scale), .choices = scale_words, .standard = "none",
     .help = "none: compare bands as they are. unit-variance: scale them to mean 0 and variance 1 over the "
             "training spectra"},
    {HC_REAL(Params, reject), .range = {0, INFINITY}, .initial = INFINITY, .otherwise = "no limit",
     .unit = "as --metric", .value = "DISTANCE",
     .help = "leave a pixel unclassified if its nearest training spectrum is farther away"},
    {HC_FLAG(Params, confidence),
     .help = "add a band with the winner's share of the votes or weights, 0 to 1; 0 where unclassified"},
    {HC_FLAG(Params, distance), .unit = "as --metric",
     .help = "add a band with the distance to the nearest training spectrum"},
    {HC_FLAG(Params, neighbours),
     .help = "add a band for each of the k neighbours with its number (from 1), nearest first"},
    HC_KNN_TRAINING_OPTIONS,
    HC_KNN_ACCURACY_OPTIONS,
    {0}};

/* Mean and factors from the training spectra, which are scaled by them. */
static HcStatus scale(HcStage *stage, HcSamples *training, HcError *err) {
    HcStatus status = HC_OK;
    HcKnnState *state = stage->state;
    size_t bands = (size_t)training->bands;
    double *matrix = NULL;
    if (!hc_knn_plan_of(stage)->projects) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_new(matrix, (bands + 2) * bands, "the scale of the bands", err));
    double *mean = matrix + bands * bands;
    double *factor = mean + bands;
    int32_t constant = hc_samples_variance(training, mean, factor);
    if (constant == training->bands) {
        HC_TRY(hc_fail(err, HC_E_NUMERIC, "%s: --scale unit-variance: all training spectra are the same",
                       stage->kind->name));
    }
    if (constant > 0) {
        hc_stage_note(stage, "%d of %d bands are constant over the training spectra and take no part",
                      constant, training->bands);
    }
    state->directions = training->bands;
    for (size_t b = 0; b < bands; b++) {
        matrix[b * bands + b] = factor[b];
    }
    hc_samples_scale(training, mean, factor);
    HC_TRY(hc_memory_upload(stage->compute, matrix, bands * bands * sizeof *matrix, &state->matrix, err));
    HC_TRY(hc_memory_upload(stage->compute, mean, bands * sizeof *mean, &state->mean, err));
done:
    free(matrix);
    return status;
}

static const HcKnnMethod nearest = {.make = scale};

static void settings(const HcStage *stage, HcJson *to) {
    const Params *params = stage->params;
    hc_json_put_number(to, "k", (double)params->k);
    hc_json_put_text(to, "metric", metric_words[params->metric]);
    hc_json_put_text(to, "vote", vote_words[params->vote]);
    hc_json_put_text(to, "scale", scale_words[params->scale]);
}

static void describe(const HcStage *stage, HcText *to) {
    const Params *params = stage->params;
    hc_text_add(to, "knn, %lld nearest of %lld training spectra of %s, %s, %s vote, scale %s",
                (long long)params->k, (long long)((const HcKnnState *)stage->state)->used,
                params->labels.training, metric_words[params->metric], vote_words[params->vote],
                scale_words[params->scale]);
}

static HcStatus plan(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    const HcKnnPlan knn = {.method = &nearest,
                           .rule = {.vote = (HcVote)params->vote,
                                    .metric = (HcMetric)params->metric,
                                    .k = (int32_t)params->k,
                                    .reject = params->reject,
                                    .add = {[HC_VOTE_ADD_CONFIDENCE] = params->confidence,
                                            [HC_VOTE_ADD_DISTANCE] = params->distance,
                                            [HC_VOTE_ADD_NEIGHBOURS] = params->neighbours}},
                           .projects = params->scale != 0,
                           .settings = settings,
                           .describe = describe};
    return hc_knn_plan(stage, &knn, err);
}

const HcStageClass hc_stage_knn = {
    .name = "knn",
    .summary = "classes by the k nearest training spectra, with confidence, distance and accuracy",
    .cite = "Cover, Hart 1967; Dudani 1976 (distance weights)",
    .example =
        "hcube knn scene.hdr classes.tif --training training.gpkg --layer training --field class_name -k 3",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(HcKnnState),
    .plan = plan,
    HC_KNN_HOOKS,
};
