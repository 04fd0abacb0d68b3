/* classify: classes by their means and covariances: linear discriminants, maximum likelihood, distances,
 * angles, divergences. Reading, validation and reports
 * are those of knn (pipeline/stages/knn/knn.h), which then has one spectrum a class. */
#include "pipeline/stages/knn/knn.h"
#include "pipeline/stages/stages.h"

#include <math.h>

typedef HcKnnParams Params; /* as tables of options name them */

static const HcOption options[] = {
    {HC_CHOICE(Params, method), .choices = hc_class_method_words, .standard = "lda",
     .help = "linear discriminants (one covariance), Gaussian maximum likelihood (one a class), class means "
             "by distance, angle (sam) or information divergence (sid), support vector machines (svm)"},
    HC_KNN_TRAINING_OPTIONS,
    {HC_TEXT(Params, shrink), .check = hc_class_check_shrink, .value = "none|ledoit-wolf|SHARE",
     .standard = "ledoit-wolf",
     .help = "for lda and ml, mix the covariance within classes (ml: of each class) with a multiple of the "
             "unit matrix of the same trace. The share is an estimate, or this one (0 to 1)"},
    {HC_TEXT(Params, priors), .file = HC_FILE_READ, .choices = hc_class_prior_words,
     .value = "equal|training|FILE.csv", .standard = "equal", .needs = "method=lda method=ml",
     .help = "how frequent classes are: equally, as in the training data, or by the weights in a CSV of "
             "classes and weights"},
    {HC_CHOICE(Params, kernel), .choices = hc_class_kernel_words, .standard = "rbf",
     .help = "svm: radial basis functions, or planes"},
    {HC_TEXT(Params, cost), .check = hc_class_check_cost, .value = "auto|COST", .standard = "auto",
     .help = "svm: cost of an error; auto: by cross-validation with --seed"},
    {HC_TEXT(Params, gamma), .check = hc_class_check_gamma, .value = "auto|GAMMA", .standard = "auto",
     .help = "svm: gamma of exp(-gamma |x - y|^2), for bands of mean variance 1; auto: by cross-validation"},
    {HC_REAL(Params, reject), .range = {0, INFINITY}, .initial = INFINITY, .otherwise = "no limit",
     .unit = "as --distance", .value = "DISTANCE", .excludes = "method=svm",
     .help = "leave a pixel unclassified when the nearest class is farther away"},
    {HC_FLAG(Params, distance), .excludes = "method=svm",
     .help =
         "add a band with the distance from the class: in standard deviations (lda, ml), units of the input "
         "(distance), radians (sam) or nats (sid)"},
    {HC_FLAG(Params, confidence), .needs = "method=lda method=ml",
     .help = "add a band with the probability of the class, 0 to 1, by --priors; "
             "0 where unclassified"},
    {HC_FLAG(Params, rules), .help = "add a band for each class with its distance (as --distance). For ml it "
                                     "holds the logarithm of its likelihood, for svm its share of the votes"},
    HC_KNN_VALIDATION_OPTIONS,
    {HC_INT(Params, seed), .range = {0, 9007199254740992}, .initial = 1, .value = "NUMBER",
     .help = "seed of --split and of cross-validation: the same number takes the same pixels"},
    HC_KNN_REPORT_OPTIONS,
    {0}};

const HcStageClass hc_stage_classify = {
    .name = "classify",
    .summary =
        "classes by their means: LDA, maximum likelihood, minimum distance, spectral angle, divergence",
    .cite = "Fisher 1936; Ledoit, Wolf 2004 (shrinkage)",
    .example = "hcube classify scene.hdr classes.tif --training training.gpkg --layer training --field "
               "class_name --split 0.5",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(HcKnnParams),
    .state_size = sizeof(HcKnnState),
    .plan = hc_knn_plan,
    .open = hc_knn_open,
    .observe = hc_knn_observe,
    .settle = hc_knn_settle,
    .process = hc_knn_process,
    .finish = hc_knn_finish,
    .report = hc_knn_report,
    .rare = {.panels = hc_knn_panels},
    .close = hc_knn_close,
};
