/* classify: classes by their means and covariances: linear discriminants, maximum likelihood, distances,
 * angles, divergences. Reading, validation and reports
 * are those of knn (pipeline/stages/knn/knn.h), which then has one spectrum a class. */
#include "pipeline/stages/knn/knn.h"
#include "pipeline/stages/stages.h"

#include <math.h>

typedef HcKnnParams Params; /* as tables of options name them */

static const HcOption options[] = {
    {HC_CHOICE(Params, method), .choices = hc_class_method_words, .standard = "lda",
     .help =
         "linear discriminants (one covariance), Gaussian maximum likelihood (one a class), the class means "
         "by distance, angle (sam) or information divergence (sid), or support vector machines (svm)"},
    {HC_TEXT(Params, training), .file = HC_FILE_READ, .value = "FILE", .required = true,
     .help = "labelled pixels of this scene (polygons, points or a class raster), or a spectral library"},
    {HC_TEXT(Params, field), .value = "NAME", .otherwise = "the only attribute",
     .help = "attribute of polygons and points that names the class"},
    {HC_TEXT(Params, layer), .value = "NAME", .otherwise = "the only layer",
     .help = "layer of the polygons and points"},
    HC_LIBRARY_CHOICE_OPTIONS,
    {HC_TEXT(Params, shrink), .check = hc_class_check_shrink, .value = "none|ledoit-wolf|SHARE",
     .standard = "ledoit-wolf",
     .help = "for lda and ml, mix the covariance within classes (ml: of each class) with a multiple of the "
             "unit matrix of the same trace: by an estimate, or by this share (0 to 1)"},
    {HC_CHOICE(Params, kernel), .choices = hc_class_kernel_words, .standard = "rbf",
     .help = "svm: radial basis functions, or planes"},
    {HC_TEXT(Params, cost), .check = hc_class_check_cost, .value = "auto|COST", .standard = "auto",
     .help = "svm: cost of an error; auto: by cross-validation with --seed"},
    {HC_TEXT(Params, gamma), .check = hc_class_check_gamma, .value = "auto|GAMMA", .standard = "auto",
     .help = "svm: gamma of exp(-gamma |x - y|^2), for bands of mean variance 1; auto: by cross-validation"},
    {HC_REAL(Params, reject), .range = {0, INFINITY}, .initial = INFINITY, .otherwise = "no limit",
     .unit = "as --distance", .value = "DISTANCE",
     .help = "leave a pixel unclassified when the nearest class is farther away"},
    {HC_FLAG(Params, distance),
     .help =
         "add a band with the distance from the class: in standard deviations (lda, ml), units of the input "
         "(distance), radians (sam) or nats (sid)"},
    {HC_FLAG(Params, confidence),
     .help = "lda, ml: add a band with the probability of the class, 0 to 1, where all are equally frequent; "
             "0 where unclassified"},
    {HC_FLAG(Params, rules),
     .help = "add a band for each class with its distance (as --distance), for ml with the logarithm of its "
             "likelihood, for svm with its share of the votes"},
    {HC_TEXT(Params, validation), .file = HC_FILE_READ, .value = "FILE",
     .help = "measure the accuracy on these labelled pixels (files as for --training)"},
    {HC_TEXT(Params, validation_field, "validation-field"), .value = "NAME",
     .otherwise = "that of --field if there is one, or the only attribute",
     .help = "attribute of --validation that names the class"},
    {HC_TEXT(Params, validation_layer, "validation-layer"), .value = "NAME", .otherwise = "the only layer",
     .help = "layer of --validation"},
    {HC_REAL(Params, split), .range = {0, 1}, .open = HC_OPEN_BOTH, .initial = NAN,
     .otherwise = "train with all pixels", .value = "FRACTION",
     .help = "train with this fraction of the pixels of each class, and measure the accuracy on the others"},
    {HC_CHOICE(Params, split_by, "split-by"), .choices = hc_knn_split_words, .standard = "pixel",
     .help =
         "what --split divides: pixels, or whole polygons (in a raster: regions of one class), so that no "
         "pixel that validates has a neighbour in its polygon that trains"},
    {HC_INT(Params, seed), .range = {0, 9007199254740992}, .initial = 1, .value = "NUMBER",
     .help = "seed of --split and of cross-validation: the same number takes the same pixels"},
    {HC_LIST(Params, report), .file = HC_FILE_WRITTEN, .value = "FILE.json|FILE.txt",
     .help = "write the accuracy and the confusion matrix to this file"},
    {HC_LEVEL(Params, overwrite), .value = "any",
     .help = "replace existing reports; any: also a scene with more bands than the result"},
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
    .output = hc_knn_output,
    .report = hc_knn_report,
    .close = hc_knn_close,
};
