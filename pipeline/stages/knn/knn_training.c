/* From training data to the model of knn: labelled pixels or a spectral library are read, matched with the
 * classes of the validation data, sampled and scaled. */
#include "core/allocate.h"
#include "pipeline/memory.h"
#include "pipeline/stages/knn/knn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static void note_left_out(HcStage *stage, const char *path, const HcLabelled *pixels) {
    HcText note = {0};
    hc_labelled_note(pixels, &note);
    hc_stage_note_file(stage, path, &note);
}

/* The attribute of the training data may be that of the validation data too, unless they say otherwise. */
static HcStatus read_validation(HcStage *stage, HcError *err) {
    const HcKnnParams *params = hc_knn_params(stage);
    HcKnnState *state = stage->state;
    HcLabelled *pixels = &state->validation.pixels;
    const char *layer = params->accuracy.layer;
    const char *field = params->accuracy.field != NULL ? params->accuracy.field : params->field;
    HcError first = {0}, second = {0};
    const char *number = params->accuracy.field == NULL ? params->field_number : NULL;
    HcStatus status = hc_labelled_read_numbered(params->accuracy.validation, field, number, layer, &stage->in,
                                                pixels, &first);
    if (status == HC_E_USAGE && (field != NULL || number != NULL) && params->accuracy.field == NULL) {
        HcStatus again =
            hc_labelled_read(params->accuracy.validation, NULL, layer, &stage->in, pixels, &second);
        if (again != HC_OK && again != HC_E_USAGE) {
            return hc_fail(err, again, "%s", second.text);
        }
        status = again;
    }
    return status == HC_OK ? HC_OK : hc_fail(err, status, "%s", first.text);
}

static int32_t find_class(const HcClasses *classes, const char *name) {
    for (int32_t c = 1; c < classes->count; c++) {
        if (hc_text_equal_trimmed(classes->name[c], name)) {
            return c;
        }
    }
    return 0;
}

static int32_t find_number(const HcLabelled *known, int32_t number) {
    int32_t label = hc_labelled_label(known, number);
    return label < known->classes.count && known->number[label] == number ? label : 0;
}

/* Gives the validation pixels the labels of the training data: by names where both have some, else by
 * numbers. */
static HcStatus match_classes(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    HcKnnState *state = stage->state;
    const HcClasses *known = &state->training.pixels.classes;
    HcLabelled *pixels = &state->validation.pixels;
    int32_t *number = NULL;
    bool by_number = pixels->numbered && state->training.pixels.numbered &&
                     !(pixels->named && state->training.pixels.named);
    HC_OR_RETURN(hc_new(number, pixels->classes.count, "a list of classes", err));
    for (int32_t c = 1; c < pixels->classes.count; c++) {
        const char *name = pixels->classes.name[c];
        number[c] =
            by_number ? find_number(&state->training.pixels, pixels->number[c]) : find_class(known, name);
        if (pixels->pixels[c] > 0 && number[c] == 0) {
            HC_TRY(hc_fail(err, HC_E_INPUT, "%s: class \"%s\" is not in %s, whose first class is \"%s\"",
                           hc_knn_params(stage)->accuracy.validation, name, hc_knn_params(stage)->training,
                           known->name[1]));
        }
    }
    for (int64_t i = 0; i < pixels->count; i++) {
        pixels->label[i] = number[pixels->label[i]];
    }
done:
    free(number);
    return status;
}

static HcStatus refuse_options(const HcStage *stage, HcError *err) {
    const HcKnnParams *params = hc_knn_params(stage);
    const char *field = params->field != NULL ? params->field : params->field_number;
    if (field != NULL || params->layer != NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: is a spectral library, there is no %s '%s' to choose",
                       params->training, field != NULL ? "field" : "layer",
                       field != NULL ? field : params->layer);
    }
    if (hc_knn_splits(stage)) {
        return hc_fail(err, HC_E_USAGE,
                       "%s: --split: %s is a spectral library, whose spectra are no sample of the scene",
                       stage->kind->name, params->training);
    }
    return HC_OK;
}

static HcStatus refuse_choice(const HcStage *stage, HcError *err) {
    const HcKnnParams *params = hc_knn_params(stage);
    return params->choice.spectra == NULL && !params->choice.all
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "%s: --%s: %s is no spectral library", stage->kind->name,
                         params->choice.spectra != NULL ? "spectra" : "all-spectra", params->training);
}

/* Says when the scene has another unit; value[count] are some of its values, or NULL. */
static void note_unit(HcStage *stage, const float *value, size_t count) {
    HcKnnState *state = stage->state;
    HcValueUnit scene = hc_scene_unit(&stage->in, value, count);
    bool matters = hc_knn_plan_of(stage)->rule.metric == HC_METRIC_EUCLIDEAN && !state->unit_noted;
    char note[HC_UNIT_NOTE];
    if (matters && hc_unit_note(note, &state->unit, &scene) != NULL) {
        hc_stage_note(stage, "%s: %s; this decides Euclidean distances (--metric angle does not mind)",
                      hc_knn_params(stage)->training, note);
        state->unit_noted = true;
    }
}

/* Integers are at least 1 apart: reflectances from 0 to 1 are none of them. */
static void note_integers(HcStage *stage) {
    HcKnnState *state = stage->state;
    bool integers = stage->in.type != HC_FLOAT32 && stage->in.type != HC_FLOAT64;
    double median = hc_values_quantile(state->library.value,
                                       (size_t)state->library.count * (size_t)state->library.bands, 0.5);
    if (hc_knn_plan_of(stage)->rule.metric == HC_METRIC_EUCLIDEAN && !state->unit_noted && integers &&
        median <= 1) {
        hc_stage_note(stage,
                      "%s: its values (median %.3g) look like another unit than the integers of the scene, "
                      "which decides Euclidean distances (--metric angle does not mind)",
                      hc_knn_params(stage)->training, median);
        state->unit_noted = true;
    }
}

static HcStatus read_library(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    const char *path = hc_knn_params(stage)->training;
    HcKnnState *state = stage->state;
    HcLibraryFit fit = {0};
    HC_TRY(refuse_options(stage, err));
    HC_TRY(hc_stage_library_read(stage, path, &hc_knn_params(stage)->choice, &fit, &state->unit, err));
    HC_TRY(hc_library_samples(&fit, &state->library, &state->training.pixels.classes, err));
    state->from_library = true;
    state->figures = fit.figures;
    note_unit(stage, NULL, 0);
    note_integers(stage);
done:
    hc_library_fit_clear(&fit);
    if (status != HC_OK) {
        hc_samples_clear(&state->library);
        hc_classes_clear(&state->training.pixels.classes);
    }
    return status;
}

/* A map without one of its classes looks as if the scene had none of it. */
static HcStatus refuse_lost(const HcStage *stage, const HcLabelled *pixels, HcError *err) {
    const HcKnnParams *params = hc_knn_params(stage);
    char others[48] = "";
    if (pixels->lost_classes == 0 || params->skip_empty) {
        return HC_OK;
    }
    if (pixels->lost_classes > 1) {
        (void)snprintf(others, sizeof others, " (and %d more)", pixels->lost_classes - 1);
    }
    return hc_fail(err, HC_E_INPUT,
                   "%s: %s: class \"%s\"%s has no pixel in the scene: --skip-empty leaves such classes out",
                   stage->kind->name, params->training, pixels->lost_class, others);
}

HcStatus hc_knn_read_labels(HcStage *stage, HcError *err) {
    const HcKnnParams *params = hc_knn_params(stage);
    HcKnnState *state = stage->state;
    HcLabelled *training = &state->training.pixels;
    bool is_library = false;
    if (!state->from_library && training->count == 0) {
        HC_OR_RETURN(hc_library_recognise(params->training, &is_library, err));
    }
    if (is_library) {
        HC_OR_RETURN(read_library(stage, err));
    }
    if (!state->from_library && training->count == 0) {
        HC_OR_RETURN(refuse_choice(stage, err));
        HC_OR_RETURN(hc_labelled_read_numbered(params->training, params->field, params->field_number,
                                               params->layer, &stage->in, training, err));
        note_left_out(stage, params->training, training);
        HC_OR_RETURN(refuse_lost(stage, training, err));
    }
    if (params->accuracy.validation != NULL && state->validation.pixels.count == 0) {
        HC_OR_RETURN(read_validation(stage, err));
        note_left_out(stage, params->accuracy.validation, &state->validation.pixels);
        HC_OR_RETURN(match_classes(stage, err));
    }
    return HC_OK;
}

/* ---- samples ---- */

static void note_masked(HcStage *stage, const char *what, int64_t masked, int64_t all) {
    if (masked > 0) {
        hc_stage_note(stage, "%lld of %lld %s pixels are masked and left out", (long long)masked,
                      (long long)all, what);
    }
}

HcStatus hc_knn_take_validation(HcStage *stage, HcSamples *validation, HcError *err) {
    HcKnnState *state = stage->state;
    note_masked(stage, "validation", hc_spectra_check(&state->validation), state->validation.pixels.count);
    if (!state->from_library) {
        int64_t both = hc_spectra_without(&state->validation, &state->training);
        if (both > 0) {
            hc_stage_note(stage, "%lld validation pixels are training pixels too and left out",
                          (long long)both);
        }
    }
    HC_OR_RETURN(hc_samples_take(validation, &state->validation, NULL, 1, err));
    if (state->from_library && validation->count > 0) {
        note_unit(stage, validation->value, (size_t)validation->count * (size_t)validation->bands);
    }
    return HC_OK;
}

static HcStatus split(HcStage *stage, uint8_t *trains, HcError *err) {
    const HcKnnParams *params = hc_knn_params(stage);
    HcKnnState *state = stage->state;
    uint64_t seed = (uint64_t)params->accuracy.seed;
    HcWholeClasses whole = {0};
    if (params->accuracy.split_by == HC_SPLIT_PIXELS) {
        return hc_spectra_split(&state->training, params->accuracy.split, seed, trains, err);
    }
    HC_OR_RETURN(
        hc_spectra_split_features(&state->training, params->accuracy.split, seed, trains, &whole, err));
    if (whole.count > 0) {
        hc_stage_note(stage,
                      "--split-by polygon: %d of %d classes have one polygon, which trains: none of them "
                      "is validated ('%s'%s)",
                      whole.count, hc_knn_class_count(stage),
                      state->training.pixels.classes.name[whole.first], whole.count > 1 ? ", ..." : "");
    }
    return HC_OK;
}

/* Which pixels train, and which ones validate. */
HcStatus hc_knn_take_samples(HcStage *stage, HcSamples *training, HcSamples *validation, HcError *err) {
    HcStatus status = HC_OK;
    const HcKnnParams *params = hc_knn_params(stage);
    HcKnnState *state = stage->state;
    uint8_t *trains = NULL;
    note_masked(stage, "training", hc_spectra_check(&state->training), state->training.pixels.count);
    if (hc_knn_splits(stage)) {
        HC_TRY(hc_new(trains, (size_t)state->training.pixels.count, "a split", err));
        HC_TRY(split(stage, trains, err));
        HC_TRY(hc_samples_take(validation, &state->training, trains, 0, err));
    }
    HC_TRY(hc_samples_take(training, &state->training, trains, 1, err));
    if (params->accuracy.validation != NULL) {
        HC_TRY(hc_knn_take_validation(stage, validation, err));
    }
done:
    free(trains);
    return status;
}

/* ---- the model ---- */

/* Counts what is left, and refuses what decides nothing. */
static HcStatus check_training(HcStage *stage, const HcSamples *training, HcError *err) {
    const HcKnnParams *params = hc_knn_params(stage);
    HcKnnState *state = stage->state;
    const HcClasses *classes = &state->training.pixels.classes;
    int32_t there = 0;
    int32_t last = 0;
    int32_t empty = 0;
    HC_OR_RETURN(hc_new(state->trained, classes->count, "counts of classes", err));
    for (int64_t i = 0; i < training->count; i++) {
        state->trained[training->label[i]]++;
    }
    for (int32_t c = 1; c < classes->count; c++) {
        there += state->trained[c] > 0;
        last = state->trained[c] > 0 ? c : last;
        empty = state->trained[c] == 0 && empty == 0 ? c : empty;
        if (state->trained[c] == 0 && params->skip_empty) {
            hc_stage_note(stage, "class \"%s\": none of its training pixels is valid", classes->name[c]);
        }
    }
    if (there < 2) {
        return hc_fail(err, HC_E_NUMERIC, "%s: %s: %s%s%s valid training %s, two classes are needed",
                       stage->kind->name, params->training, there == 1 ? "only class \"" : "no class",
                       there == 1 ? classes->name[last] : "", there == 1 ? "\" has" : " has",
                       hc_knn_training_word(stage));
    }
    if (empty > 0 && !params->skip_empty) {
        return hc_fail(err, HC_E_NUMERIC,
                       "%s: %s: class \"%s\": none of its training pixels is valid: --skip-empty leaves such "
                       "classes out",
                       stage->kind->name, params->training, classes->name[empty]);
    }
    if (training->count < hc_knn_plan_of(stage)->rule.k) {
        return hc_fail(err, HC_E_NUMERIC, "%s: -k %d: only %lld training pixels are valid%s",
                       stage->kind->name, hc_knn_plan_of(stage)->rule.k, (long long)training->count,
                       hc_knn_splits(stage) ? " and chosen by --split" : "");
    }
    if (training->count >= HC_KNN_TRAINING_LIMIT) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: %lld training pixels: at most %lld", stage->kind->name,
                       (long long)training->count, (long long)HC_KNN_TRAINING_LIMIT - 1);
    }
    return HC_OK;
}

/* Scores are of the classes that have training spectra. */
static HcStatus begin_scores(HcStage *stage, HcError *err) {
    HcKnnState *state = stage->state;
    HcScores *scores = &state->scores;
    scores->labels = hc_knn_class_count(stage);
    scores->kind = state->plan.scores;
    scores->number = state->training.pixels.number;
    HC_OR_RETURN(hc_new(scores->label, scores->labels, "classes", err));
    for (int32_t c = 1; c <= scores->labels; c++) {
        if (state->trained[c] > 0) {
            scores->label[scores->count++] = c;
        }
    }
    return HC_OK;
}

/* Spectra vote for the numbers that stand in the result. */
static HcStatus upload_numbers(HcStage *stage, const HcSamples *training, HcError *err) {
    HcKnnState *state = stage->state;
    int32_t *number = NULL;
    HC_OR_RETURN(hc_new(number, training->count, "numbers of classes", err));
    for (int64_t i = 0; i < training->count; i++) {
        number[i] = hc_labelled_number(&state->training.pixels, training->label[i]);
    }
    HcStatus status = hc_memory_upload(stage->compute, number, (size_t)training->count * sizeof *number,
                                       &state->label, err);
    free(number);
    return status;
}

HcStatus hc_knn_make_model(HcStage *stage, HcSamples *training, HcError *err) {
    HcKnnState *state = stage->state;
    const HcKnnPlan *plan = &state->plan;
    HC_OR_RETURN(check_training(stage, training, err));
    state->used = training->count;
    if (!state->from_library) {
        state->from = training->from;
        training->from = NULL;
    }
    HC_OR_RETURN(plan->scored ? begin_scores(stage, err) : HC_OK);
    HC_OR_RETURN(plan->method->make(stage, training, err));
    if (plan->scored) {
        HC_OR_RETURN(hc_scores_open(&state->scores, stage->compute, stage->in.bands, err));
    }
    if (plan->method->models) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_training_open(stage->compute, training->value, training->count, training->bands,
                                  plan->rule.metric, &state->model, err));
    return upload_numbers(stage, training, err);
}
