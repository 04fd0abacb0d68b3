/* classify: classes by their means and covariances (linear discriminants, maximum likelihood, distances,
 * angles, divergences), or by support vector machines. Reading, validation and reports are those of knn
 * (pipeline/stages/knn/knn.h); a method is a row in the file that makes its model. */
#include "pipeline/stages/classify/classify.h"
#include "pipeline/stages/stages.h"

#include <math.h>

typedef HcClassParams Params; /* as tables of options name them */

static const char *const method_words[] = {"lda", "ml", "distance", "sam", "sid", "svm", NULL};
static const char *const kernel_words[] = {"rbf", "linear", NULL};

static const HcKnnMethod *const methods[] = {&hc_class_lda, &hc_class_ml, &hc_class_distance, &hc_class_sam,
                                             &hc_class_sid, &hc_class_svm}; /* as method_words */

static const HcOption options[] = {
    {HC_CHOICE(Params, method), .choices = method_words, .standard = "lda",
     .help = "linear discriminants (one covariance), Gaussian maximum likelihood (one a class), class means "
             "by distance, angle (sam) or information divergence (sid), support vector machines (svm)"},
    {HC_TEXT(Params, shrink), .check = hc_class_check_shrink, .value = "none|ledoit-wolf|SHARE",
     .standard = "ledoit-wolf",
     .help = "for lda and ml, mix the covariance within classes (ml: of each class) with a multiple of the "
             "unit matrix of the same trace. The share is an estimate, or this one (0 to 1)"},
    {HC_TEXT(Params, priors), .file = HC_FILE_READ, .choices = hc_class_prior_words,
     .value = "equal|training|FILE.csv", .standard = "equal", .needs = "method=lda method=ml",
     .help = "prior probability of the classes: equal, as in the training data, or by weights in a CSV of "
             "classes and weights"},
    {HC_CHOICE(Params, kernel), .choices = kernel_words, .standard = "rbf",
     .help = "svm: radial basis functions, or planes"},
    {HC_TEXT(Params, cost), .check = hc_class_check_cost, .value = "auto|COST", .standard = "auto",
     .help = "svm: cost of an error; auto: by cross-validation with --seed"},
    {HC_TEXT(Params, gamma), .check = hc_class_check_gamma, .value = "auto|GAMMA", .standard = "auto",
     .help = "svm: gamma of exp(-gamma |x - y|^2), for bands of mean variance 1; auto: by cross-validation"},
    {HC_REAL(Params, reject), .range = {0, INFINITY}, .initial = INFINITY, .otherwise = "no limit",
     .unit = "as --distance", .value = "DISTANCE", .excludes = "method=svm",
     .help = "leave a pixel unclassified if the nearest class is farther away"},
    {HC_FLAG(Params, distance), .excludes = "method=svm",
     .help =
         "add a band with the distance from the class: in standard deviations (lda, ml), units of the input "
         "(distance), radians (sam) or nats (sid)"},
    {HC_FLAG(Params, confidence), .needs = "method=lda method=ml",
     .help = "add a band with the probability of the class, 0 to 1, by --priors; "
             "0 where unclassified"},
    {HC_FLAG(Params, rules), .help = "add a band for each class with its distance (as --distance). For ml it "
                                     "holds the logarithm of its likelihood, for svm its share of the votes"},
    HC_KNN_TRAINING_OPTIONS,
    HC_KNN_ACCURACY_OPTIONS,
    {0}};

static void settings(const HcStage *stage, HcJson *to) {
    hc_json_put_text(to, "method", hc_knn_plan_of(stage)->method->name);
    hc_json_put_double(to, "shrinkage", ((const HcKnnState *)stage->state)->shrinkage);
    hc_json_put_text(to, "priors", hc_class_params(stage)->priors);
}

static void describe(const HcStage *stage, HcText *to) {
    hc_text_add(to, "classify --method %s, %lld training spectra of %s", hc_knn_plan_of(stage)->method->name,
                (long long)((const HcKnnState *)stage->state)->used, hc_knn_params(stage)->training);
}

static HcStatus plan(HcStage *stage, HcError *err) {
    const HcClassParams *params = hc_class_params(stage);
    const HcKnnMethod *method = methods[params->method];
    bool weighs = !hc_text_equal(params->priors, hc_class_prior_words[0]);
    const HcKnnPlan classes = {
        .method = method,
        .scores = method->scores[params->kernel],
        .rule =
            {.metric = method->metric,
             .k = 1,
             .reject = params->reject,
             .add =
                 {[HC_VOTE_ADD_CONFIDENCE] = params->confidence, [HC_VOTE_ADD_DISTANCE] = params->distance}},
        .projects = method->projects,
        .scored = method->models || params->rules || params->confidence || weighs,
        .rules = params->rules,
        .settings = settings,
        .describe = describe};
    return hc_knn_plan(stage, &classes, err);
}

const HcStageClass hc_stage_classify = {
    .name = "classify",
    .summary = "classes by their means: LDA, likelihood, distance, spectral angle, divergence",
    .cite = "Fisher 1936; Ledoit, Wolf 2004 (shrinkage)",
    .example = "hcube classify scene.hdr classes.tif --training training.gpkg --layer training --field "
               "class_name --split 0.5",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(HcClassParams),
    .state_size = sizeof(HcKnnState),
    .plan = plan,
    HC_KNN_HOOKS,
};
