/* What knn and classify do alike: from labelled pixels of the scene, or a spectral library, to a class map
 * and its accuracy. Training spectra are gathered in one pass and become a model by the method of the stage
 * (knn.h); pixels get their class in the next, by their nearest spectra or by scores of all classes. */
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

/* Pixels that are validated at once. */
enum { VALIDATED_AT_ONCE = 8192 };

/* A confusion matrix of more classes is none to be read. */
enum { VALIDATED_CLASSES = 4096 };

static HcScoreRule score_rule_of(const HcStage *stage) {
    const HcKnnPlan *plan = hc_knn_plan_of(stage);
    return (HcScoreRule){.metric = plan->rule.metric,
                         .probability = plan->method->probability,
                         .reject = plan->rule.reject,
                         .confidence = plan->rule.add[HC_VOTE_ADD_CONFIDENCE],
                         .distance = plan->rule.add[HC_VOTE_ADD_DISTANCE],
                         .rules = plan->rules};
}

/* Scratch memory of a pixel: distances and numbers of its neighbours, and its scaled spectrum. */
static size_t scratch_bytes(const HcStage *stage) {
    const HcKnnPlan *plan = hc_knn_plan_of(stage);
    size_t scaled = plan->projects ? (size_t)stage->in.bands * sizeof(float) + 1 : 0;
    /* Scores have memory of their own. */
    return plan->scored ? 0 : (size_t)plan->rule.k * (sizeof(double) + sizeof(int32_t)) + scaled;
}

/* ---- plan ---- */

static HcStatus check_params(HcStage *stage, HcError *err) {
    const HcKnnParams *params = hc_knn_params(stage);
    const char *name = stage->kind->name;
    for (int32_t r = 0; r < params->accuracy.report.count; r++) {
        const char *path = params->accuracy.report.item[r];
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
    const HcKnnMethod *method = hc_knn_plan_of(stage)->method;
    return method->check != NULL ? method->check(stage, err) : HC_OK;
}

/* A matrix of many classes could not be read. */
static HcStatus check_drawn(const HcStage *stage, HcError *err) {
    const HcOptionList *report = &hc_knn_params(stage)->accuracy.report;
    int32_t classes = hc_knn_class_count(stage);
    for (int32_t r = 0; r < report->count && classes > HC_ACCURACY_DRAWN; r++) {
        HcFigureFormat format;
        if (hc_figure_format_of(report->item[r], &format)) {
            return hc_fail(
                err, HC_E_USAGE,
                "%s: --report %s: %d classes: a matrix of at most %d is drawn (FILE.json and FILE.txt "
                "hold all)",
                stage->kind->name, report->item[r], classes, (int)HC_ACCURACY_DRAWN);
        }
    }
    return HC_OK;
}

static size_t drawing_bytes(const HcStage *stage) {
    const HcKnnParams *params = hc_knn_params(stage);
    size_t most = 0;
    for (int32_t r = 0; r < params->accuracy.report.count; r++) {
        size_t bytes = hc_accuracy_figure_bytes(params->accuracy.report.item[r], hc_knn_class_count(stage));
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* What can be said before a pixel is seen: masks and a split leave fewer. */
static HcStatus check_labels(const HcStage *stage, HcError *err) {
    const HcKnnPlan *plan = hc_knn_plan_of(stage);
    const char *training = hc_knn_params(stage)->training;
    long long count = (long long)hc_knn_training_count(stage);
    int32_t classes = hc_knn_class_count(stage);
    if (plan->rule.k > count) {
        return hc_fail(err, HC_E_USAGE, "%s: -k %d: %s has %lld training %s", stage->kind->name, plan->rule.k,
                       training, count, hc_knn_training_word(stage));
    }
    if (!hc_knn_splits(stage) && count >= HC_KNN_TRAINING_LIMIT) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: %lld training %s: at most %lld", training, count,
                       hc_knn_training_word(stage), (long long)HC_KNN_TRAINING_LIMIT - 1);
    }
    if (hc_knn_validates(stage) && classes > VALIDATED_CLASSES) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: %d classes: accuracy is measured for at most %d", training,
                       classes, (int)VALIDATED_CLASSES);
    }
    if (plan->scored && plan->method->most > 0 && classes > plan->method->most) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: %d classes: %s--method %s is for at most %d", training,
                       classes,
                       plan->method->models ? ""
                       : plan->rules        ? "--rules of "
                                            : "--confidence of ",
                       plan->method->name, plan->method->most);
    }
    return HC_OK;
}

/* Behind the last step nobody looks at classes: its report needs no pass over the scene of its own. */
static bool only_reports(const HcStage *stage) {
    return hc_knn_params(stage)->accuracy.report.count > 0 && stage->place == stage->chain->count - 1;
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
    HcKnnState *state = stage->state;
    HcVoteRule *rule = &state->plan.rule;
    rule->classes = hc_knn_last_number(stage);
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    if (only_reports(stage)) {
        return HC_OK;
    }
    HcScene *out = &stage->out;
    int32_t rules = state->plan.rules ? hc_knn_class_count(stage) : 0;
    HC_OR_RETURN(hc_scene_reband(out, hc_vote_bands(rule) + rules, HC_CLASS_MAP, err));
    HC_OR_RETURN(hc_labelled_classes(&state->training.pixels, &out->classes, err));
    out->has_nodata = false; /* the mask alone says where there is no class */
    HC_OR_RETURN(hc_scene_name_band(out, 0, err, "class"));
    HC_OR_RETURN(hc_new(out->parts, (size_t)out->bands, "band properties", err));
    if (rule->add[HC_VOTE_ADD_CONFIDENCE] && rule->vote == HC_VOTE_MAJORITY && !state->plan.scored) {
        out->parts[hc_vote_added_band(rule, HC_VOTE_ADD_CONFIDENCE)] = rule->k;
    }
    HC_OR_RETURN(name_added(out, rule, err));
    HC_OR_RETURN(rules > 0 ? name_rules(out, &state->training.pixels.classes, err) : HC_OK);
    out->integer_limit = out->bands == 1 ? rule->classes : 0;
    return HC_OK;
}

static size_t validation_bytes(const HcStage *stage) {
    size_t pixel = (size_t)stage->in.bands * sizeof(float) + 1 + sizeof(float) + 1 + scratch_bytes(stage);
    return hc_knn_validates(stage) ? (size_t)VALIDATED_AT_ONCE * pixel : 0;
}

static void plan_needs(HcStage *stage) {
    const HcKnnState *state = stage->state;
    const HcKnnPlan *plan = &state->plan;
    const HcAccuracyParams *accuracy = &hc_knn_params(stage)->accuracy;
    int32_t bands = stage->in.bands, labels = hc_knn_class_count(stage);
    /* Whole polygons that train may have any share of the pixels. */
    bool by_pixel = hc_knn_splits(stage) && accuracy->split_by == HC_SPLIT_PIXELS;
    double share = by_pixel ? accuracy->split : 1;
    size_t count = (size_t)(share * (double)hc_knn_training_count(stage)) + (size_t)labels;
    size_t matrix = plan->projects ? ((size_t)bands + 1) * (size_t)bands * sizeof(double) : 0;
    HcScoreKind kind = plan->scores;
    size_t scores = plan->scored ? hc_scores_bytes_device(kind, bands, labels) +
                                       hc_scores_bytes_model(kind, bands, labels)
                                 : 0;
    /* The model may keep its spectra in two forms, and in bytes, and their norms. */
    size_t model = count * ((size_t)bands * (2 * sizeof(float) + 1) + sizeof(double) + sizeof(int32_t));
    size_t gathered = hc_spectra_bytes(&state->training, bands) + hc_spectra_bytes(&state->validation, bands);
    stage->needs =
        (HcNeeds){.observes = !stage->settled && !(state->from_library && !hc_knn_validates(stage)),
                  .passes_through = only_reports(stage),
                  .has_output = stage->output != NULL};
    hc_stage_takes(stage, HC_SPACE_DEVICE,
                   model + matrix + scores + (stage->settled ? 0 : validation_bytes(stage)));
    hc_stage_takes(stage, HC_SPACE_HOST,
                   (stage->settled ? 0 : 2 * gathered) + drawing_bytes(stage) +
                       (plan->scored ? hc_scores_bytes_host(kind, bands, labels) : 0) +
                       (plan->rule.add[HC_VOTE_ADD_NEIGHBOURS] ? hc_change_bytes(stage) : 0));
    hc_stage_takes(stage, HC_SPACE_WORKER,
                   hc_knn_thread_bytes(bands, plan->scored ? HC_KNN_MAX : plan->rule.k));
    hc_stage_takes(stage, HC_SPACE_PIXEL, scratch_bytes(stage));
    if (plan->method->needs != NULL) {
        plan->method->needs(stage, count);
    }
}

HcStatus hc_knn_plan(HcStage *stage, const HcKnnPlan *plan, HcError *err) {
    const HcKnnParams *params = hc_knn_params(stage);
    ((HcKnnState *)stage->state)->plan = *plan;
    HC_OR_RETURN(check_params(stage, err));
    HC_OR_RETURN(hc_knn_read_labels(stage, err));
    HC_OR_RETURN(check_labels(stage, err));
    HC_OR_RETURN(check_drawn(stage, err));
    HC_OR_RETURN(plan_out(stage, err));
    stage->output = params->accuracy.report.item[0];
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

/* Numbers of neighbours; operations count from 0, as arrays do. */
static void count_from_1(const HcStage *stage, float *value, const uint8_t *valid, size_t pixels,
                         int32_t bands) {
    const HcVoteRule *rule = &hc_knn_plan_of(stage)->rule;
    int32_t first = hc_vote_added_band(rule, HC_VOTE_ADD_NEIGHBOURS);
    for (size_t p = 0; p < pixels; p++) {
        for (int32_t n = first; n < first + rule->k; n++) {
            value[p * (size_t)bands + (size_t)n] += valid[p] != 0 ? 1.0F : 0.0F;
        }
    }
}

HcStatus hc_knn_process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err) {
    const HcKnnState *state = stage->state;
    const HcKnnPlan *plan = &state->plan;
    HcBlock from = hc_block_rows_of(in, out);
    HcBlock to = hc_block_rows_of(out, out);
    if (plan->scored) {
        return score(stage, queue, &from, false, &to, err);
    }
    HC_OR_RETURN(classify(stage, queue, &from, &plan->rule, &to, scratch, err));
    return plan->rule.add[HC_VOTE_ADD_NEIGHBOURS]
               ? hc_change(stage, queue, &to, &state->rows, count_from_1, err)
               : HC_OK;
}

/* ---- settle ---- */

/* Spectra of a library are a model at once; those of the scene are collected first. */
HcStatus hc_knn_open(HcStage *stage, HcError *err) {
    HcKnnState *state = stage->state;
    if (state->plan.rule.add[HC_VOTE_ADD_NEIGHBOURS]) {
        HC_OR_RETURN(hc_alloc(stage->compute, HC_MEMORY_HOST, hc_change_bytes(stage), &state->rows, err));
    }
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
    HcVoteRule rule = hc_knn_plan_of(stage)->rule;
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
    HC_OR_RETURN(hc_knn_plan_of(stage)->scored
                     ? score(stage, queue, &in, true, &out, err)
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
    for (int32_t r = 0; r < params->accuracy.report.count; r++) {
        HC_OR_RETURN(hc_knn_write_report(stage, params->accuracy.report.item[r], err));
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
    hc_memory_release(stage->compute, &state->rows);
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
