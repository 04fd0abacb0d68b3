/* knn: classes by the nearest training spectra, of the scene itself or from a spectral library. */
#include "pipeline/stages/knn/knn.h"
#include "core/allocate.h"
#include "core/operation/image/project.h"
#include "core/operation/knn/vote.h"
#include "figure/figure.h"
#include "pipeline/chain.h"
#include "pipeline/memory.h"
#include "pipeline/stages/stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef HcKnnParams Params; /* as tables of options name them */

/* Pixels that are validated at once. */
enum { VALIDATED_AT_ONCE = 8192 };

/* A confusion matrix of more classes is none to be read. */
enum { VALIDATED_CLASSES = 4096 };

/* Threads that cross-validate at most. */
enum { SVM_THREADS = 16 };

static const HcOption options[] = {
    HC_KNN_TRAINING_OPTIONS,
    {HC_INT(Params, k), .letter = 'k', .range = {1, HC_KNN_MAX}, .initial = 5, .value = "COUNT",
     .help = "nearest training spectra that vote"},
    {HC_CHOICE(Params, vote), .choices = hc_knn_vote_words, .standard = "majority",
     .help = "weight of a neighbour: 1 (majority), or 1 / its distance"},
    {HC_CHOICE(Params, metric), .choices = hc_knn_metric_words, .standard = "euclidean",
     .help = "distance of two spectra: euclidean in units of the input, or their angle in radians"},
    {HC_CHOICE(Params, scale), .choices = hc_knn_scale_words, .standard = "none",
     .help = "compare bands as they come in, or with mean 0 and variance 1 over the training spectra"},
    {HC_REAL(Params, reject), .range = {0, INFINITY}, .initial = INFINITY, .otherwise = "no limit",
     .unit = "as --metric", .value = "DISTANCE",
     .help = "leave a pixel unclassified when its nearest training spectrum is farther away"},
    {HC_FLAG(Params, confidence),
     .help = "add a band with the winner's share of the votes or weights, 0 to 1; 0 where unclassified"},
    {HC_FLAG(Params, distance), .unit = "as --metric",
     .help = "add a band with the distance to the nearest training spectrum"},
    {HC_FLAG(Params, neighbours),
     .help = "add a band for each of the k neighbours with its number (from 0), nearest first"},
    HC_KNN_VALIDATION_OPTIONS,
    {HC_INT(Params, seed), .range = {0, 9007199254740992}, .initial = 1, .value = "NUMBER",
     .help = "seed of --split: the same number takes the same pixels"},
    HC_KNN_REPORT_OPTIONS,
    {0}};

static HcVoteRule rule_of(const HcStage *stage) {
    const HcKnnParams *params = hc_knn_params(stage);
    return (HcVoteRule){.vote = (HcVote)params->vote,
                        .metric = hc_knn_metric(stage),
                        .k = (int32_t)hc_knn_k(stage),
                        .classes = hc_knn_last_number(stage),
                        .reject = params->reject,
                        .add = {[HC_VOTE_ADD_CONFIDENCE] = params->confidence,
                                [HC_VOTE_ADD_DISTANCE] = params->distance,
                                [HC_VOTE_ADD_NEIGHBOURS] = params->neighbours}};
}

static HcScoreRule score_rule_of(const HcStage *stage) {
    const HcKnnParams *params = hc_knn_params(stage);
    HcKnnMethod method = hc_knn_method(stage);
    return (HcScoreRule){.metric = hc_knn_metric(stage),
                         .probability = method == HC_KNN_LDA || method == HC_KNN_ML,
                         .reject = params->reject,
                         .confidence = params->confidence,
                         .distance = params->distance,
                         .rules = params->rules};
}

/* Scratch memory of a pixel: distances and numbers of its neighbours, and its scaled spectrum. */
static size_t scratch_bytes(const HcStage *stage) {
    if (hc_knn_scores(stage)) {
        return 0; /* scores have memory of their own */
    }
    size_t scaled = hc_knn_projects(stage) ? (size_t)stage->in.bands * sizeof(float) + 1 : 0;
    return (size_t)hc_knn_k(stage) * (sizeof(double) + sizeof(int32_t)) + scaled;
}

/* ---- plan ---- */

static HcStatus check_params(HcStage *stage, HcError *err) {
    const HcKnnParams *params = hc_knn_params(stage);
    const char *name = stage->kind->name;
    for (int32_t r = 0; r < params->report.count; r++) {
        const char *path = params->report.item[r];
        HcFigureFormat format;
        if (!hc_figure_format_of(path, &format) && !hc_text_ends_with(path, ".json") &&
            !hc_text_ends_with(path, ".txt")) {
            return hc_fail(
                err, HC_E_USAGE,
                "%s: --report %s: a report is FILE.json, FILE.txt, or a picture (.png, .svg, .pdf)", name,
                path);
        }
    }
    if (stage->in.meaning == HC_CLASS_MAP) {
        return hc_fail(err, HC_E_USAGE, "%s: classes come in, spectra are needed", name);
    }
    if (hc_knn_method(stage) == HC_KNN_SVM && !hc_svm_there()) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: --method svm: this hcube was built without libsvm", name);
    }
    return hc_class_check_priors(stage, err);
}

static HcStatus claim_reports(HcStage *stage, HcError *err) {
    const HcKnnParams *params = hc_knn_params(stage);
    for (int32_t r = 0; r < params->report.count; r++) {
        HC_OR_RETURN(hc_stage_writes(stage, params->report.item[r], err));
    }
    return HC_OK;
}

/* A matrix of many classes could not be read. */
static HcStatus check_drawn(const HcStage *stage, HcError *err) {
    const HcKnnParams *params = hc_knn_params(stage);
    for (int32_t r = 0; r < params->report.count; r++) {
        HcFigureFormat format;
        if (hc_figure_format_of(params->report.item[r], &format) &&
            hc_knn_class_count(stage) > HC_ACCURACY_DRAWN) {
            return hc_fail(
                err, HC_E_USAGE,
                "%s: --report %s: %d classes: a matrix of at most %d is drawn (FILE.json and FILE.txt "
                "hold all)",
                stage->kind->name, params->report.item[r], hc_knn_class_count(stage), (int)HC_ACCURACY_DRAWN);
        }
    }
    return HC_OK;
}

static size_t drawing_bytes(const HcStage *stage) {
    const HcKnnParams *params = hc_knn_params(stage);
    size_t most = 0;
    for (int32_t r = 0; r < params->report.count; r++) {
        size_t bytes = hc_accuracy_figure_bytes(params->report.item[r], hc_knn_class_count(stage));
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* What can be said before a pixel is seen: masks and a split leave fewer. */
static HcStatus check_labels(const HcStage *stage, HcError *err) {
    const HcKnnParams *params = hc_knn_params(stage);
    long long count = (long long)hc_knn_training_count(stage);
    if (hc_knn_k(stage) > count) {
        return hc_fail(err, HC_E_USAGE, "%s: -k %lld: %s has %lld training %s", stage->kind->name,
                       (long long)params->k, params->training, count, hc_knn_training_word(stage));
    }
    if (!hc_knn_splits(stage) && count >= HC_KNN_TRAINING_LIMIT) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: %lld training %s: at most %lld", params->training, count,
                       hc_knn_training_word(stage), (long long)HC_KNN_TRAINING_LIMIT - 1);
    }
    if (hc_knn_validates(stage) && hc_knn_class_count(stage) > VALIDATED_CLASSES) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: %d classes: accuracy is measured for at most %d",
                       params->training, hc_knn_class_count(stage), (int)VALIDATED_CLASSES);
    }
    if (hc_knn_scores(stage) && !hc_knn_has_models(stage) && hc_knn_class_count(stage) > HC_KNN_MAX) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: %d classes: --%s of --method %s is for at most %d",
                       params->training, hc_knn_class_count(stage), params->rules ? "rules" : "confidence",
                       hc_class_method_words[params->method], HC_KNN_MAX);
    }
    if (hc_knn_method(stage) == HC_KNN_SVM && hc_knn_class_count(stage) > HC_SVM_CLASSES) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: %d classes: --method svm is for at most %d",
                       params->training, hc_knn_class_count(stage), (int)HC_SVM_CLASSES);
    }
    return HC_OK;
}

/* Behind the last step nobody looks at classes: its report needs no pass over the scene of its own. */
static bool only_reports(const HcStage *stage) {
    return hc_knn_params(stage)->report.count > 0 && stage->place == stage->chain->count - 1;
}

static HcStatus name_added(HcScene *out, const HcVoteRule *rule, HcError *err) {
    for (int a = 0; a < HC_VOTE_ADD_NEIGHBOURS; a++) {
        if (rule->add[a]) {
            int32_t band = hc_vote_added_band(rule, (HcVoteAdd)a);
            HC_OR_RETURN(hc_scene_name_band(out, band, err, "%s", hc_vote_add_words[a]));
        }
    }
    int32_t first = hc_vote_added_band(rule, HC_VOTE_ADD_NEIGHBOURS);
    for (int32_t n = 0; rule->add[HC_VOTE_ADD_NEIGHBOURS] && n < rule->k; n++) {
        HC_OR_RETURN(hc_scene_agree(out, first + n, (HcAgreement){.choice = true}, err));
        HC_OR_RETURN(hc_scene_name_band(out, first + n, err, "%s %d",
                                        hc_vote_add_words[HC_VOTE_ADD_NEIGHBOURS], n + 1));
    }
    return HC_OK;
}

/* A band for each class behind the others. */
static HcStatus name_rules(HcScene *out, const HcClasses *classes, HcError *err) {
    for (int32_t c = 1; c < classes->count; c++) {
        HC_OR_RETURN(
            hc_scene_name_band(out, out->bands - classes->count + c, err, "rule %s", classes->name[c]));
    }
    return HC_OK;
}

static HcStatus plan_out(HcStage *stage, HcError *err) {
    const HcKnnState *state = stage->state;
    HcVoteRule rule = rule_of(stage);
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    if (only_reports(stage)) {
        return HC_OK;
    }
    HcScene *out = &stage->out;
    int32_t rules = hc_knn_params(stage)->rules ? hc_knn_class_count(stage) : 0;
    HC_OR_RETURN(hc_scene_reband(out, hc_vote_bands(&rule) + rules, HC_CLASS_MAP, err));
    HC_OR_RETURN(hc_labelled_classes(&state->training.pixels, &out->classes, err));
    out->has_nodata = false; /* the mask alone says where there is no class */
    HC_OR_RETURN(hc_scene_name_band(out, 0, err, "class"));
    HC_OR_RETURN(hc_new(out->parts, (size_t)out->bands, "band properties", err));
    if (rule.add[HC_VOTE_ADD_CONFIDENCE] && rule.vote == HC_VOTE_MAJORITY && !hc_knn_scores(stage)) {
        out->parts[hc_vote_added_band(&rule, HC_VOTE_ADD_CONFIDENCE)] = rule.k;
    }
    HC_OR_RETURN(name_added(out, &rule, err));
    HC_OR_RETURN(rules > 0 ? name_rules(out, &state->training.pixels.classes, err) : HC_OK);
    out->integer_limit = out->bands == 1 ? rule.classes : 0;
    return HC_OK;
}

static size_t validation_bytes(const HcStage *stage) {
    size_t pixel = (size_t)stage->in.bands * sizeof(float) + 1 + sizeof(float) + 1 + scratch_bytes(stage);
    return hc_knn_validates(stage) ? (size_t)VALIDATED_AT_ONCE * pixel : 0;
}

static void plan_needs(HcStage *stage) {
    const HcKnnState *state = stage->state;
    size_t bands = (size_t)stage->in.bands;
    /* Whole polygons that train may have any share of the pixels. */
    bool by_pixel = hc_knn_splits(stage) && hc_knn_params(stage)->split_by == HC_SPLIT_PIXELS;
    double share = by_pixel ? hc_knn_params(stage)->split : 1;
    size_t count = (size_t)(share * (double)hc_knn_training_count(stage)) + (size_t)hc_knn_class_count(stage);
    size_t matrix = hc_knn_projects(stage) ? (bands + 1) * bands * sizeof(double) : 0;
    bool scored = hc_knn_scores(stage);
    int32_t neighbours = scored ? HC_KNN_MAX : (int32_t)hc_knn_k(stage);
    HcScoreKind kind = hc_knn_score_kind(stage);
    int32_t labels = hc_knn_class_count(stage);
    size_t scores = scored ? hc_scores_bytes_device(kind, stage->in.bands, labels) +
                                 hc_scores_bytes_model(kind, stage->in.bands, labels)
                           : 0;
    bool machine = hc_knn_method(stage) == HC_KNN_SVM;
    size_t thread = machine ? hc_class_svm_thread_bytes(count, stage->in.bands, labels) : 0;
    size_t svm = machine ? hc_class_svm_bytes(count, stage->in.bands, labels) + thread : 0;
    /* The model may keep its spectra in two forms, and their norms. */
    size_t model = count * (2 * bands * sizeof(float) + sizeof(double) + sizeof(int32_t));
    size_t gathered = hc_spectra_bytes(&state->training, stage->in.bands) +
                      hc_spectra_bytes(&state->validation, stage->in.bands);
    stage->needs =
        (HcNeeds){.observes = !stage->settled && !(state->from_library && !hc_knn_validates(stage)),
                  .passes_through = only_reports(stage),
                  .has_output = stage->output != NULL,
                  .threads_max = machine ? SVM_THREADS : 0};
    hc_stage_takes(stage, HC_SPACE_DEVICE,
                   model + matrix + scores + (stage->settled ? 0 : validation_bytes(stage)));
    hc_stage_takes(stage, HC_SPACE_HOST,
                   (stage->settled ? 0 : 2 * gathered) + svm + drawing_bytes(stage) +
                       (scored ? hc_scores_bytes_host(kind, stage->in.bands, labels) : 0));
    hc_stage_takes(stage, HC_SPACE_WORKER, hc_knn_thread_bytes(stage->in.bands, neighbours));
    hc_stage_takes(stage, HC_SPACE_LIBRARY, thread);
    hc_stage_takes(stage, HC_SPACE_PIXEL, scratch_bytes(stage));
}

HcStatus hc_knn_plan(HcStage *stage, HcError *err) {
    const HcKnnParams *params = hc_knn_params(stage);
    HC_OR_RETURN(check_params(stage, err));
    HC_OR_RETURN(hc_stage_reads(stage, params->training, err));
    if (params->validation != NULL) {
        HC_OR_RETURN(hc_stage_reads(stage, params->validation, err));
    }
    HC_OR_RETURN(claim_reports(stage, err));
    HC_OR_RETURN(hc_knn_read_labels(stage, err));
    HC_OR_RETURN(check_labels(stage, err));
    HC_OR_RETURN(check_drawn(stage, err));
    HC_OR_RETURN(plan_out(stage, err));
    stage->output = params->report.count > 0 ? params->report.item[0] : NULL;
    plan_needs(stage);
    return HC_OK;
}

/* ---- observe ---- */

HcStatus hc_knn_observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    const HcKnnState *state = stage->state;
    if (!state->from_library) {
        HC_OR_RETURN(hc_spectra_gather(&state->training, queue, in, err));
    }
    if (state->validation.pixels.count > 0) {
        HC_OR_RETURN(hc_spectra_gather(&state->validation, queue, in, err));
    }
    return HC_OK;
}

/* ---- process ---- */

/* By the scores of all classes; alone: without the bands that options add. */
static HcStatus score(HcStage *stage, HcQueue *queue, const HcBlock *in, bool alone, const HcBlock *out,
                      HcError *err) {
    HcKnnState *state = stage->state;
    HcScoreRule rule = score_rule_of(stage);
    const HcScoreMeans means = {.model = state->model,
                                .matrix = state->matrix.data,
                                .mean = state->mean.data,
                                .directions = state->directions};
    if (alone) {
        rule.confidence = rule.distance = rule.rules = false;
    }
    return hc_scores_apply(&state->scores, queue, in, &means, &rule, out, err);
}

/* Spectra to classes; neither block has a halo. */
static HcStatus classify(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcVoteRule *rule,
                         const HcBlock *out, void *scratch, HcError *err) {
    const HcKnnState *state = stage->state;
    size_t count = hc_block_pixels(out) * (size_t)rule->k;
    double *distance = scratch;
    int32_t *index = (int32_t *)(distance + count);
    HcBlock spectra = *in;
    if (state->matrix.data != NULL) {
        spectra.bands = state->directions;
        spectra.data = (float *)(index + count);
        spectra.mask = (uint8_t *)(spectra.data + hc_block_values(&spectra));
        HC_OR_RETURN(hc_project(queue, in, state->matrix.data, state->mean.data, NULL, &spectra, err));
    }
    HC_OR_RETURN(hc_knn(queue, &spectra, state->model, rule->k, index, distance, err));
    return hc_vote(queue, &spectra, index, distance, state->label.data, rule, out, err);
}

HcStatus hc_knn_process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err) {
    HcVoteRule rule = rule_of(stage);
    HcBlock from = hc_block_rows_of(in, out);
    HcBlock to = hc_block_rows_of(out, out);
    if (hc_knn_scores(stage)) {
        return score(stage, queue, &from, false, &to, err);
    }
    return classify(stage, queue, &from, &rule, &to, scratch, err);
}

/* ---- settle ---- */

/* Spectra of a library are a model at once; those of the scene are collected first. */
HcStatus hc_knn_open(HcStage *stage, HcError *err) {
    HcKnnState *state = stage->state;
    if (state->from_library) {
        HC_OR_RETURN(hc_knn_make_model(stage, &state->library, err));
    } else {
        HC_OR_RETURN(hc_spectra_open(&state->training, stage->compute, stage->in.bands, err));
    }
    if (state->validation.pixels.count > 0) {
        HC_OR_RETURN(hc_spectra_open(&state->validation, stage->compute, stage->in.bands, err));
    }
    return HC_OK;
}

/* Device memory for some validation pixels. */
typedef struct Holdout {
    HcBuffer in, in_mask, out, out_mask, scratch;
    float *predicted; /* host */
    uint8_t *all;     /* host: every pixel is valid */
} Holdout;

static HcStatus open_holdout(const HcStage *stage, size_t pixels, Holdout *holdout, HcError *err) {
    HcCompute *compute = stage->compute;
    size_t bands = (size_t)stage->in.bands;
    HC_OR_RETURN(hc_new(holdout->predicted, pixels, "validation pixels", err));
    HC_OR_RETURN(hc_new(holdout->all, pixels, "validation pixels", err));
    memset(holdout->all, 1, pixels);
    HC_OR_RETURN(hc_memory_upload(compute, holdout->all, pixels, &holdout->in_mask, err));
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_DEVICE, pixels * bands * sizeof(float), &holdout->in, err));
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_DEVICE, pixels * sizeof(float), &holdout->out, err));
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_DEVICE, pixels, &holdout->out_mask, err));
    return hc_alloc(compute, HC_MEMORY_DEVICE, pixels * (scratch_bytes(stage) + 1), &holdout->scratch, err);
}

static void close_holdout(const HcStage *stage, Holdout *holdout) {
    hc_memory_release(stage->compute, &holdout->in);
    hc_memory_release(stage->compute, &holdout->in_mask);
    hc_memory_release(stage->compute, &holdout->out);
    hc_memory_release(stage->compute, &holdout->out_mask);
    hc_memory_release(stage->compute, &holdout->scratch);
    free(holdout->predicted);
    free(holdout->all);
}

/* Classifies spectra as if they were the only line of a scene. */
static HcStatus predict(HcStage *stage, HcQueue *queue, const float *spectra, size_t pixels, Holdout *holdout,
                        HcError *err) {
    HcVoteRule rule = rule_of(stage);
    memset(rule.add, 0, sizeof rule.add);
    HcBlock in = {.data = holdout->in.data,
                  .mask = holdout->in_mask.data,
                  .lines = 1,
                  .samples = (int32_t)pixels,
                  .bands = stage->in.bands};
    HcBlock out = in;
    out.data = holdout->out.data;
    out.mask = holdout->out_mask.data;
    out.bands = 1;
    HC_OR_RETURN(hc_upload(queue, spectra, in.data, hc_block_values(&in) * sizeof(float), err));
    HC_OR_RETURN(hc_knn_scores(stage) ? score(stage, queue, &in, true, &out, err)
                                      : classify(stage, queue, &in, &rule, &out, holdout->scratch.data, err));
    HC_OR_RETURN(hc_download(queue, out.data, holdout->predicted, pixels * sizeof(float), err));
    return hc_wait(queue, err);
}

static HcStatus measure(HcStage *stage, HcQueue *queue, const HcSamples *validation, HcError *err) {
    HcStatus status = HC_OK;
    HcKnnState *state = stage->state;
    Holdout holdout = {0};
    int64_t most = validation->count < VALIDATED_AT_ONCE ? validation->count : VALIDATED_AT_ONCE;
    if (validation->count == 0) {
        return hc_fail(err, HC_E_NUMERIC, "%s: no pixel is left to validate with%s", stage->kind->name,
                       hc_knn_splits(stage) ? " (a smaller --split leaves more)" : "");
    }
    const HcLabelled *known = &state->training.pixels;
    HC_TRY(hc_accuracy_init(&state->accuracy, hc_knn_class_count(stage), err));
    state->accuracy.number[0] = state->accuracy.number[1] = known->number;
    HC_TRY(open_holdout(stage, (size_t)most, &holdout, err));
    for (int64_t from = 0; from < validation->count; from += most) {
        int64_t pixels = validation->count - from < most ? validation->count - from : most;
        HC_TRY(predict(stage, queue, validation->value + (size_t)from * (size_t)validation->bands,
                       (size_t)pixels, &holdout, err));
        for (int64_t i = 0; i < pixels; i++) {
            hc_accuracy_add(&state->accuracy, validation->label[from + i],
                            hc_labelled_label(known, (int32_t)holdout.predicted[i]));
        }
    }
    hc_accuracy_finish(&state->accuracy);
    hc_stage_note(stage, "overall accuracy %.4f, kappa %.4f over %lld validation pixels",
                  state->accuracy.overall, state->accuracy.kappa, (long long)state->accuracy.pixels);
done:
    close_holdout(stage, &holdout);
    return status;
}

HcStatus hc_knn_settle(HcStage *stage, HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    HcKnnState *state = stage->state;
    HcSamples training = {0};
    HcSamples validation = {0};
    HC_TRY(hc_wait(queue, err));
    HC_TRY(hc_spectra_join(&state->training, hc_stage_ranks(stage), err));
    HC_TRY(hc_spectra_join(&state->validation, hc_stage_ranks(stage), err));
    if (state->from_library) {
        HC_TRY(hc_knn_take_validation(stage, &validation, err));
    } else {
        HC_TRY(hc_knn_take_samples(stage, &training, &validation, err));
    }
    hc_spectra_release(&state->training, stage->compute);
    hc_spectra_release(&state->validation, stage->compute);
    if (!state->from_library) {
        HC_TRY(hc_knn_make_model(stage, &training, err));
    }
    if (hc_knn_validates(stage)) {
        HC_TRY(measure(stage, queue, &validation, err));
    }
done:
    hc_samples_clear(&training);
    hc_samples_clear(&validation);
    return status;
}

/* ---- reports ---- */

HcStatus hc_knn_finish(HcStage *stage, HcError *err) {
    const HcKnnParams *params = hc_knn_params(stage);
    for (int32_t r = 0; r < params->report.count; r++) {
        const char *path = params->report.item[r];
        HC_OR_RETURN(hc_knn_write_report(stage, path, err));
    }
    return HC_OK;
}

static void report_classes(const HcKnnState *state, HcJson *to) {
    const HcClasses *classes = &state->training.pixels.classes;
    hc_json_open_array(to, "classes");
    for (int32_t c = 1; c < classes->count; c++) {
        hc_json_open_object(to, NULL);
        hc_json_put_number(to, "number", hc_labelled_number(&state->training.pixels, c));
        hc_json_put_text(to, "name", classes->name[c]);
        hc_json_put_number(to, "training_pixels", (double)state->trained[c]);
        for (int32_t k = 0; k < state->scores.count; k++) {
            if (state->scores.share != NULL && state->scores.label[k] == c) {
                hc_json_put_double(to, "shrinkage", state->scores.share[k]);
            }
            if (state->scores.prior != NULL && state->scores.label[k] == c) {
                hc_json_put_double(to, "prior", state->scores.prior[k]);
            }
        }
        hc_json_close(to);
    }
    hc_json_close(to);
}

void hc_knn_report(const HcStage *stage, HcJson *to) {
    const HcKnnState *state = stage->state;
    const HcAccuracy *accuracy = &state->accuracy;
    if (state->trained == NULL) {
        return;
    }
    hc_json_put_number(to, "training_pixels", (double)state->used);
    if (state->from_library) {
        hc_library_figures_json(&state->figures, to);
    }
    report_classes(state, to);
    if (state->scores.svm.classes > 0) {
        const HcSvm *svm = &state->scores.svm;
        hc_json_put_text(to, "kernel", svm->how.linear ? "linear" : "rbf");
        hc_json_put_double(to, "cost", svm->how.cost);
        if (!svm->how.linear) {
            hc_json_put_double(to, "gamma", svm->how.gamma);
        }
        hc_json_put_number(to, "support_vectors", svm->count);
        if (state->tried > 0) {
            hc_json_put_number(to, "cross_validated_settings", state->tried);
            hc_json_put_double(to, "cross_validation_accuracy", state->cross_accuracy);
        }
    }
    if (accuracy->classes > 0) {
        hc_json_put_number(to, "validation_pixels", (double)accuracy->pixels);
        hc_json_put_number(to, "overall_accuracy", accuracy->overall);
        hc_json_put_number(to, "average_accuracy", accuracy->average);
        hc_json_put_number(to, "kappa", accuracy->kappa);
    }
}

void hc_knn_close(HcStage *stage) {
    HcKnnState *state = stage->state;
    if (stage->compute != NULL && state->model != NULL) {
        hc_training_close(state->model);
    }
    hc_scores_close(&state->scores, stage->compute);
    hc_memory_release(stage->compute, &state->label);
    hc_memory_release(stage->compute, &state->matrix);
    hc_memory_release(stage->compute, &state->mean);
    hc_spectra_clear(&state->training, stage->compute);
    hc_spectra_clear(&state->validation, stage->compute);
    hc_samples_clear(&state->library);
    hc_accuracy_clear(&state->accuracy);
    free(state->from);
    free(state->trained);
    *state = (HcKnnState){0};
}

const HcStageClass hc_stage_knn = {
    .name = "knn",
    .summary = "classes by the k nearest training spectra, with confidence, distance and an accuracy report",
    .cite = "Cover, Hart 1967; Dudani 1976 (distance weights)",
    .example =
        "hcube knn scene.hdr classes.tif --training training.gpkg --layer training --field class_name -k 3",
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
