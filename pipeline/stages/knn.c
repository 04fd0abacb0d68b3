/* knn: classes by the nearest training spectra, of the scene itself or from a spectral library. */
#include "io/file.h"
#include "pipeline/spectra/accuracy.h"
#include "pipeline/chain.h"
#include "pipeline/json.h"
#include "pipeline/spectra/library_choice.h"
#include "pipeline/spectra/library_fit.h"
#include "pipeline/spectra/library_unit.h"
#include "pipeline/memory.h"
#include "pipeline/spectra/spectra.h"
#include "pipeline/stages/stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Params {
    const char *training, *field, *layer;
    HcLibraryChoice choice;
    int64_t k;
    int32_t vote, metric, scale;
    double reject;
    bool confidence, distance, neighbours;
    const char *validation, *validation_field, *validation_layer;
    double split;
    int64_t seed;
    HcOptionList report;
    int32_t overwrite; /* HcOverwrite */
} Params;

typedef struct State {
    HcSpectra training, validation;
    bool from_library; /* then `training` has classes but no pixels */
    HcSamples library; /* its spectra, as compared */
    HcLibraryFigures figures;
    HcValueUnit unit;  /* of the library */
    bool unit_noted;   /* that the scene has another one */
    HcTraining *model; /* once settled */
    HcBuffer label;    /* [device] of the model's spectra */
    HcBuffer matrix;   /* [device] [bands][bands] diagonal, with --scale */
    HcBuffer mean;     /* [device] [bands] */
    int64_t used;      /* training spectra in the model */
    int64_t *from;     /* [used] which pixel of `training` each is; NULL with a library */
    int64_t *trained;  /* [classes + 1] of them, by number */
    HcAccuracy accuracy;
} State;

/* Training spectra have numbers that float32 holds. */
static const int64_t training_limit = (int64_t)1 << 24;

/* Pixels that are validated at once. */
enum { VALIDATED_AT_ONCE = 8192 };

/* A confusion matrix of more classes is none to be read. */
enum { VALIDATED_CLASSES = 4096 };

static const char *const vote_words[] = {"majority", "distance", NULL};
static const char *const metric_words[] = {"euclidean", "angle", NULL};
static const char *const scale_words[] = {"none", "unit-variance", NULL};

static const HcOption options[] = {
    {.name = "training",
     .kind = HC_OPTION_TEXT,
     .offset = offsetof(Params, training),
     .file = HC_FILE_READ,
     .value = "FILE",
     .required = true,
     .help = "labelled pixels of this scene (polygons, points or a class raster), or a spectral library"},
    {.name = "field",
     .kind = HC_OPTION_TEXT,
     .offset = offsetof(Params, field),
     .value = "NAME",
     .help = "the attribute of polygons and points that names the class; else the only one there is"},
    {.name = "layer",
     .kind = HC_OPTION_TEXT,
     .offset = offsetof(Params, layer),
     .value = "NAME",
     .help = "the layer of the polygons and points; else the only one there is"},
    HC_LIBRARY_CHOICE_OPTIONS,
    {.name = "k",
     .letter = 'k',
     .kind = HC_OPTION_INT,
     .offset = offsetof(Params, k),
     .value = "COUNT",
     .minimum = 1,
     .maximum = HC_KNN_MOST,
     .standard = "5",
     .help = "nearest training spectra that vote"},
    {.name = "vote",
     .kind = HC_OPTION_CHOICE,
     .offset = offsetof(Params, vote),
     .choices = vote_words,
     .standard = "majority",
     .help = "each neighbour counts the same, or by 1 / its distance"},
    {.name = "metric",
     .kind = HC_OPTION_CHOICE,
     .offset = offsetof(Params, metric),
     .choices = metric_words,
     .standard = "euclidean",
     .help = "distance of spectra: Euclidean [units of what comes in], or the angle between them [radians]"},
    {.name = "scale",
     .kind = HC_OPTION_CHOICE,
     .offset = offsetof(Params, scale),
     .choices = scale_words,
     .standard = "none",
     .help = "compare bands as they come in, or with mean 0 and variance 1 over the training spectra"},
    {.name = "reject",
     .kind = HC_OPTION_REAL,
     .offset = offsetof(Params, reject),
     .value = "DISTANCE",
     .help = "leave pixels unclassified whose nearest training spectrum is farther [as --metric]"},
    {.name = "confidence",
     .kind = HC_OPTION_FLAG,
     .offset = offsetof(Params, confidence),
     .help = "add a band with the winner's share of the votes, or of the weights [0 to 1]"},
    {.name = "distance",
     .kind = HC_OPTION_FLAG,
     .offset = offsetof(Params, distance),
     .help = "add a band with the distance to the nearest training spectrum [as --metric]"},
    {.name = "neighbours",
     .kind = HC_OPTION_FLAG,
     .offset = offsetof(Params, neighbours),
     .help = "add a band for each of the k neighbours with its number, from 0, nearest first"},
    {.name = "validation",
     .kind = HC_OPTION_TEXT,
     .offset = offsetof(Params, validation),
     .file = HC_FILE_READ,
     .value = "FILE",
     .help = "measure the accuracy on these labelled pixels (files as for --training)"},
    {.name = "validation-field",
     .kind = HC_OPTION_TEXT,
     .offset = offsetof(Params, validation_field),
     .value = "NAME",
     .help = "their attribute; else that of --field where they have it, or the only one there is"},
    {.name = "validation-layer",
     .kind = HC_OPTION_TEXT,
     .offset = offsetof(Params, validation_layer),
     .value = "NAME",
     .help = "their layer; else the only one there is"},
    {.name = "split",
     .kind = HC_OPTION_REAL,
     .offset = offsetof(Params, split),
     .value = "FRACTION",
     .help = "train with this fraction of each class's pixels and measure the accuracy on the others"},
    {.name = "seed",
     .kind = HC_OPTION_INT,
     .offset = offsetof(Params, seed),
     .value = "NUMBER",
     .minimum = 0,
     .maximum = 9007199254740992,
     .standard = "1",
     .help = "which pixels --split takes: the same ones for the same number"},
    {.name = "report",
     .kind = HC_OPTION_LIST,
     .offset = offsetof(Params, report),
     .file = HC_FILE_WRITTEN,
     .value = "FILE.json|FILE.txt",
     .help = "write the accuracy and the confusion matrix to this file; may be repeated"},
    {.name = "overwrite",
     .kind = HC_OPTION_LEVEL,
     .offset = offsetof(Params, overwrite),
     .value = "any",
     .help = "replace existing reports; any: also a scene with more bands than the result"},
    {0}};

static const Params *params_of(const HcStage *stage) {
    return stage->params;
}

static bool splits(const HcStage *stage) {
    return !isnan(params_of(stage)->split);
}

static bool validates(const HcStage *stage) {
    return params_of(stage)->validation != NULL || splits(stage);
}

/* Training pixels, or spectra of a library. */
static int64_t training_count(const HcStage *stage) {
    const State *state = stage->state;
    return state->from_library ? state->library.count : state->training.pixels.count;
}

/* What training data are made of. */
static const char *training_word(const HcStage *stage) {
    return ((const State *)stage->state)->from_library ? "spectra" : "pixels";
}

static bool overwrites(const HcStage *stage) {
    return hc_stage_overwrite(stage) != HC_OVERWRITE_NONE;
}

/* Classes that spectra are trained for; class 0 is none. */
static int32_t class_count(const HcStage *stage) {
    return ((const State *)stage->state)->training.pixels.classes.count - 1;
}

static HcVoteRule rule_of(const HcStage *stage) {
    const Params *params = params_of(stage);
    return (HcVoteRule){.vote = (HcVote)params->vote,
                        .metric = (HcMetric)params->metric,
                        .k = (int32_t)params->k,
                        .classes = class_count(stage),
                        .reject = isnan(params->reject) ? INFINITY : params->reject,
                        .confidence = params->confidence,
                        .nearest = params->distance,
                        .neighbours = params->neighbours};
}

/* Scratch memory of a pixel: distances and numbers of its neighbours, and its scaled spectrum. */
static size_t scratch_bytes(const HcStage *stage) {
    const Params *params = params_of(stage);
    size_t scaled = params->scale != 0 ? (size_t)stage->in.bands * sizeof(float) + 1 : 0;
    return (size_t)params->k * (sizeof(double) + sizeof(int32_t)) + scaled;
}

/* ---- plan ---- */

static HcStatus check_params(const HcStage *stage, HcError *err) {
    const Params *params = params_of(stage);
    char number[HC_TEXT_DOUBLE];
    if (params->validation != NULL && splits(stage)) {
        return hc_fail(err, HC_E_USAGE, "knn: give one of --validation and --split");
    }
    if (splits(stage) && !(params->split > 0 && params->split < 1)) {
        return hc_fail(err, HC_E_USAGE, "knn: --split %s: must lie between 0 and 1",
                       hc_text_double(number, params->split));
    }
    if (params->reject < 0) {
        return hc_fail(err, HC_E_USAGE, "knn: --reject %s: a distance is not negative",
                       hc_text_double(number, params->reject));
    }
    if (params->validation == NULL &&
        (params->validation_field != NULL || params->validation_layer != NULL)) {
        return hc_fail(err, HC_E_USAGE, "knn: --validation-%s: there is no --validation",
                       params->validation_field != NULL ? "field" : "layer");
    }
    if (params->report.count > 0 && !validates(stage)) {
        return hc_fail(err, HC_E_USAGE, "knn: --report %s: give --validation or --split to report on",
                       params->report.item[0]);
    }
    for (int32_t r = 0; r < params->report.count; r++) {
        const char *path = params->report.item[r];
        if (!hc_text_ends_with(path, ".json") && !hc_text_ends_with(path, ".txt")) {
            return hc_fail(err, HC_E_USAGE, "knn: --report %s: a report is FILE.json or FILE.txt", path);
        }
    }
    if (stage->in.meaning == HC_CLASS_MAP) {
        return hc_fail(err, HC_E_USAGE, "knn: classes come in, spectra are needed");
    }
    return HC_OK;
}

static HcStatus claim_reports(HcStage *stage, HcError *err) {
    const Params *params = params_of(stage);
    for (int32_t r = 0; r < params->report.count; r++) {
        HC_OR_RETURN(hc_stage_writes(stage, params->report.item[r], err));
    }
    return HC_OK;
}

static void note_left_out(HcStage *stage, const char *path, const HcLabelled *pixels) {
    char *note = hc_labelled_note(pixels);
    if (note != NULL) {
        hc_stage_note(stage, "%s: %s", path, note);
    }
    free(note);
}

/* The attribute of the training data may be that of the validation data too, unless they say otherwise. */
static HcStatus read_validation(HcStage *stage, HcError *err) {
    const Params *params = params_of(stage);
    State *state = stage->state;
    HcLabelled *pixels = &state->validation.pixels;
    const char *layer = params->validation_layer;
    const char *field = params->validation_field != NULL ? params->validation_field : params->field;
    HcError first = {0}, second = {0};
    HcStatus status = hc_labelled_read(params->validation, field, layer, &stage->in, pixels, &first);
    if (status == HC_E_USAGE && field != NULL && params->validation_field == NULL) {
        HcStatus again = hc_labelled_read(params->validation, NULL, layer, &stage->in, pixels, &second);
        if (again == HC_E_MEMORY || again == HC_E_IO) {
            return hc_fail(err, again, "%s", second.text);
        }
        status = again == HC_OK ? HC_OK : status;
    }
    return status == HC_OK ? HC_OK : hc_fail(err, status, "%s", first.text);
}

static int32_t find_class(const HcClasses *classes, const char *name) {
    for (int32_t c = 1; c < classes->count; c++) {
        if (strcmp(classes->name[c], name) == 0) {
            return c;
        }
    }
    return 0;
}

/* Gives the validation pixels the numbers that the training data have for their classes. */
static HcStatus match_classes(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    const HcClasses *known = &state->training.pixels.classes;
    HcLabelled *pixels = &state->validation.pixels;
    int32_t *number = calloc((size_t)pixels->classes.count, sizeof *number);
    if (number == NULL) {
        return hc_fail_memory(err, (double)pixels->classes.count * sizeof *number, "a list of classes");
    }
    for (int32_t c = 1; c < pixels->classes.count; c++) {
        const char *name = pixels->classes.name[c];
        number[c] = find_class(known, name);
        if (pixels->pixels[c] > 0 && number[c] == 0) {
            HC_TRY(hc_fail(err, HC_E_INPUT, "%s: class \"%s\" is not in %s, whose first class is \"%s\"",
                           params_of(stage)->validation, name, params_of(stage)->training, known->name[1]));
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
    const Params *params = params_of(stage);
    if (params->field != NULL || params->layer != NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: is a spectral library, there is no %s '%s' to choose",
                       params->training, params->field != NULL ? "field" : "layer",
                       params->field != NULL ? params->field : params->layer);
    }
    if (splits(stage)) {
        return hc_fail(err, HC_E_USAGE,
                       "knn: --split: %s is a spectral library, whose spectra are no sample of the scene",
                       params->training);
    }
    return HC_OK;
}

static HcStatus refuse_choice(const HcStage *stage, HcError *err) {
    const Params *params = params_of(stage);
    return params->choice.spectra == NULL && !params->choice.all
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "knn: --%s: %s is no spectral library",
                         params->choice.spectra != NULL ? "spectra" : "all-spectra", params->training);
}

/* Says when the scene has another unit; value[count] are some of its values, or NULL. */
static void note_unit(HcStage *stage, const float *value, size_t count) {
    State *state = stage->state;
    HcValueUnit scene = hc_scene_unit(&stage->in, value, count);
    bool matters = params_of(stage)->metric == HC_METRIC_EUCLIDEAN && !state->unit_noted;
    char note[HC_UNIT_NOTE];
    if (matters && hc_unit_note(note, &state->unit, &scene) != NULL) {
        hc_stage_note(stage, "%s: %s; this decides Euclidean distances (--metric angle does not mind)",
                      params_of(stage)->training, note);
        state->unit_noted = true;
    }
}

/* Integers are at least 1 apart: reflectances from 0 to 1 are none of them. */
static void note_integers(HcStage *stage) {
    State *state = stage->state;
    bool integers = stage->in.type != HC_FLOAT32 && stage->in.type != HC_FLOAT64;
    double median = hc_values_quantile(state->library.value,
                                       (size_t)state->library.count * (size_t)state->library.bands, 0.5);
    if (params_of(stage)->metric == HC_METRIC_EUCLIDEAN && !state->unit_noted && integers && median <= 1) {
        hc_stage_note(stage,
                      "%s: its values (median %.3g) look like another unit than the integers of the scene, "
                      "which decides Euclidean distances (--metric angle does not mind)",
                      params_of(stage)->training, median);
        state->unit_noted = true;
    }
}

static HcStatus read_library(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    const char *path = params_of(stage)->training;
    State *state = stage->state;
    HcLibrary library = {0};
    HcLibraryFit fit = {0};
    char *left_out = NULL;
    HC_TRY(refuse_options(stage, err));
    HC_TRY(hc_library_read(&library, path, err));
    HC_TRY(hc_library_choose(&library, path, &params_of(stage)->choice, stage->kind->name, &left_out, err));
    if (left_out != NULL) {
        hc_stage_note(stage, "%s", left_out);
    }
    HC_TRY(hc_library_fit(&library, path, stage, &fit, err));
    HC_TRY(hc_library_samples(&fit, &state->library, &state->training.pixels.classes, err));
    if (fit.note != NULL) {
        hc_stage_note(stage, "%s", fit.note);
    }
    state->from_library = true;
    state->figures = fit.figures;
    state->unit = hc_library_unit(&fit, &library);
    note_unit(stage, NULL, 0);
    note_integers(stage);
done:
    free(left_out);
    hc_library_fit_clear(&fit);
    hc_library_clear(&library);
    if (status != HC_OK) {
        hc_samples_clear(&state->library);
        hc_classes_clear(&state->training.pixels.classes);
    }
    return status;
}

static HcStatus read_labels(HcStage *stage, HcError *err) {
    const Params *params = params_of(stage);
    State *state = stage->state;
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
        HC_OR_RETURN(
            hc_labelled_read(params->training, params->field, params->layer, &stage->in, training, err));
        note_left_out(stage, params->training, training);
    }
    if (params->validation != NULL && state->validation.pixels.count == 0) {
        HC_OR_RETURN(read_validation(stage, err));
        note_left_out(stage, params->validation, &state->validation.pixels);
        HC_OR_RETURN(match_classes(stage, err));
    }
    return HC_OK;
}

/* What can be said before a pixel is seen: masks and a split leave fewer. */
static HcStatus check_labels(const HcStage *stage, HcError *err) {
    const Params *params = params_of(stage);
    long long count = (long long)training_count(stage);
    if (params->k > count) {
        return hc_fail(err, HC_E_USAGE, "knn: -k %lld: %s has %lld training %s", (long long)params->k,
                       params->training, count, training_word(stage));
    }
    if (!splits(stage) && count >= training_limit) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: %lld training %s: at most %lld", params->training, count,
                       training_word(stage), (long long)training_limit - 1);
    }
    if (validates(stage) && class_count(stage) > VALIDATED_CLASSES) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: %d classes: accuracy is measured for at most %d",
                       params->training, class_count(stage), (int)VALIDATED_CLASSES);
    }
    return HC_OK;
}

/* Behind the last step nobody looks at classes: its report needs no pass over the scene of its own. */
static bool only_reports(const HcStage *stage) {
    return params_of(stage)->report.count > 0 && stage->place == stage->chain->count - 1;
}

static HcStatus plan_out(HcStage *stage, HcError *err) {
    const State *state = stage->state;
    HcVoteRule rule = rule_of(stage);
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    if (only_reports(stage)) {
        return HC_OK;
    }
    HcScene *out = &stage->out;
    int32_t band = 1;
    HC_OR_RETURN(hc_scene_reband(out, hc_vote_bands(&rule), HC_CLASS_MAP, err));
    HC_OR_RETURN(hc_classes_copy(&out->classes, &state->training.pixels.classes, err));
    out->has_nodata = false; /* the mask alone says where there is no class */
    HC_OR_RETURN(hc_scene_name_band(out, 0, err, "class"));
    if ((out->parts = calloc((size_t)out->bands, sizeof *out->parts)) == NULL) {
        return hc_fail_memory(err, (double)out->bands * sizeof *out->parts, "band properties");
    }
    if (rule.confidence) {
        out->parts[band] = rule.vote == HC_VOTE_MAJORITY ? rule.k : 0;
        HC_OR_RETURN(hc_scene_name_band(out, band++, err, "confidence"));
    }
    if (rule.nearest) {
        HC_OR_RETURN(hc_scene_name_band(out, band++, err, "distance"));
    }
    for (int32_t n = 1; rule.neighbours && n <= rule.k; n++) {
        HC_OR_RETURN(hc_scene_name_band(out, band++, err, "neighbour %d", n));
    }
    out->integer_limit = out->bands == 1 ? rule.classes : 0;
    return HC_OK;
}

static size_t validation_bytes(const HcStage *stage) {
    size_t pixel = (size_t)stage->in.bands * sizeof(float) + 1 + sizeof(float) + 1 + scratch_bytes(stage);
    return validates(stage) ? (size_t)VALIDATED_AT_ONCE * pixel : 0;
}

static void plan_needs(HcStage *stage) {
    const State *state = stage->state;
    size_t bands = (size_t)stage->in.bands;
    double share = splits(stage) ? params_of(stage)->split : 1;
    size_t count = (size_t)(share * (double)training_count(stage)) + (size_t)class_count(stage);
    size_t matrix = params_of(stage)->scale != 0 ? (bands + 1) * bands * sizeof(double) : 0;
    /* The model may keep its spectra in two forms, and their norms. */
    size_t model = count * (2 * bands * sizeof(float) + sizeof(double) + sizeof(int32_t));
    size_t gathered = hc_spectra_bytes(&state->training, stage->in.bands) +
                      hc_spectra_bytes(&state->validation, stage->in.bands);
    stage->needs = (HcNeeds){.observes = !stage->settled && !(state->from_library && !validates(stage)),
                             .passes_through = only_reports(stage),
                             .has_output = params_of(stage)->report.count > 0,
                             .bytes_fixed = model + matrix + (stage->settled ? 0 : validation_bytes(stage)),
                             .host_bytes = stage->settled ? 0 : 2 * gathered,
                             .bytes_per_pixel = scratch_bytes(stage)};
}

static HcStatus plan(HcStage *stage, HcError *err) {
    const Params *params = params_of(stage);
    HC_OR_RETURN(check_params(stage, err));
    HC_OR_RETURN(hc_stage_reads(stage, params->training, err));
    if (params->validation != NULL) {
        HC_OR_RETURN(hc_stage_reads(stage, params->validation, err));
    }
    HC_OR_RETURN(claim_reports(stage, err));
    HC_OR_RETURN(read_labels(stage, err));
    HC_OR_RETURN(check_labels(stage, err));
    HC_OR_RETURN(plan_out(stage, err));
    plan_needs(stage);
    return HC_OK;
}

/* ---- observe ---- */

static HcStatus observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    const State *state = stage->state;
    if (!state->from_library) {
        HC_OR_RETURN(hc_spectra_gather(&state->training, stage->compute->ops, queue, in, err));
    }
    if (state->validation.pixels.count > 0) {
        HC_OR_RETURN(hc_spectra_gather(&state->validation, stage->compute->ops, queue, in, err));
    }
    return HC_OK;
}

/* ---- process ---- */

/* The lines of a block, halo and all, that another one has. */
static HcBlock rows_of(const HcBlock *block, const HcBlock *like) {
    int64_t first = hc_block_first_line(like);
    size_t skipped = (size_t)(first - hc_block_first_line(block)) * (size_t)block->samples;
    HcBlock rows = *block;
    rows.data += skipped * (size_t)block->bands;
    rows.mask += skipped;
    rows.line0 = first;
    rows.lines = (int32_t)hc_block_rows(like);
    rows.above = rows.below = 0;
    return rows;
}

/* Spectra to classes; neither block has a halo. */
static HcStatus classify(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcVoteRule *rule,
                         const HcBlock *out, void *scratch, HcError *err) {
    const State *state = stage->state;
    const HcComputeOps *ops = stage->compute->ops;
    size_t count = hc_block_pixels(out) * (size_t)rule->k;
    double *distance = scratch;
    int32_t *index = (int32_t *)(distance + count);
    HcBlock spectra = *in;
    if (state->matrix.data != NULL) {
        spectra.data = (float *)(index + count);
        spectra.mask = (uint8_t *)(spectra.data + hc_block_values(&spectra));
        HC_OR_RETURN(ops->project(queue, in, state->matrix.data, state->mean.data, NULL, &spectra, err));
    }
    HC_OR_RETURN(ops->knn(queue, &spectra, state->model, rule->k, index, distance, err));
    return ops->vote(queue, &spectra, index, distance, state->label.data, rule, out, err);
}

static HcStatus process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err) {
    HcVoteRule rule = rule_of(stage);
    HcBlock from = rows_of(in, out);
    HcBlock to = rows_of(out, out);
    return classify(stage, queue, &from, &rule, &to, scratch, err);
}

/* ---- settle ---- */

/* Mean and factors from the training spectra, which are scaled by them. */
static HcStatus make_scale(HcStage *stage, HcSamples *training, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    size_t bands = (size_t)training->bands;
    double *matrix = calloc((bands + 2) * bands, sizeof *matrix);
    if (matrix == NULL) {
        return hc_fail_memory(err, (double)((bands + 2) * bands) * sizeof *matrix, "the scale of the bands");
    }
    double *mean = matrix + bands * bands;
    double *factor = mean + bands;
    int32_t constant = hc_samples_variance(training, mean, factor);
    if (constant == training->bands) {
        HC_TRY(hc_fail(err, HC_E_NUMERIC, "knn: --scale unit-variance: all training spectra are the same"));
    }
    if (constant > 0) {
        hc_stage_note(stage, "%d of %d bands are constant over the training spectra and take no part",
                      constant, training->bands);
    }
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

/* Counts what is left, and refuses what decides nothing. */
static HcStatus check_training(HcStage *stage, const HcSamples *training, HcError *err) {
    const Params *params = params_of(stage);
    State *state = stage->state;
    const HcClasses *classes = &state->training.pixels.classes;
    int32_t there = 0;
    int32_t last = 0;
    state->trained = calloc((size_t)classes->count, sizeof *state->trained);
    if (state->trained == NULL) {
        return hc_fail_memory(err, (double)classes->count * sizeof *state->trained, "counts of classes");
    }
    for (int64_t i = 0; i < training->count; i++) {
        state->trained[training->label[i]]++;
    }
    for (int32_t c = 1; c < classes->count; c++) {
        there += state->trained[c] > 0;
        last = state->trained[c] > 0 ? c : last;
        if (state->trained[c] == 0) {
            hc_stage_note(stage, "class \"%s\": none of its training pixels is valid", classes->name[c]);
        }
    }
    if (there < 2) {
        return hc_fail(err, HC_E_NUMERIC, "knn: %s: %s%s%s valid training %s, two classes are needed",
                       params->training, there == 1 ? "only class \"" : "no class",
                       there == 1 ? classes->name[last] : "", there == 1 ? "\" has" : " has",
                       training_word(stage));
    }
    if (training->count < params->k) {
        return hc_fail(err, HC_E_NUMERIC, "knn: -k %lld: only %lld training pixels are valid%s",
                       (long long)params->k, (long long)training->count,
                       splits(stage) ? " and chosen by --split" : "");
    }
    if (training->count >= training_limit) {
        return hc_fail(err, HC_E_UNSUPPORTED, "knn: %lld training pixels: at most %lld",
                       (long long)training->count, (long long)training_limit - 1);
    }
    return HC_OK;
}

static HcStatus make_model(HcStage *stage, HcSamples *training, HcError *err) {
    State *state = stage->state;
    HC_OR_RETURN(check_training(stage, training, err));
    if (params_of(stage)->scale != 0) {
        HC_OR_RETURN(make_scale(stage, training, err));
    }
    HC_OR_RETURN(stage->compute->ops->training_open(stage->compute, training->value, training->count,
                                                    training->bands, (HcMetric)params_of(stage)->metric,
                                                    &state->model, err));
    HC_OR_RETURN(hc_memory_upload(stage->compute, training->label, (size_t)training->count * sizeof(int32_t),
                                  &state->label, err));
    state->used = training->count;
    if (!state->from_library) {
        state->from = training->from;
        training->from = NULL;
    }
    return HC_OK;
}

/* Spectra of a library are a model at once; those of the scene are collected first. */
static HcStatus open_knn(HcStage *stage, HcError *err) {
    State *state = stage->state;
    const HcComputeOps *ops = stage->compute->ops;
    if (ops->knn == NULL || ops->vote == NULL || ops->training_open == NULL) {
        return hc_fail(err, HC_E_UNSUPPORTED, "knn: not on this backend (%s): give --device cpu", ops->name);
    }
    if (state->from_library) {
        HC_OR_RETURN(make_model(stage, &state->library, err));
    } else {
        HC_OR_RETURN(hc_spectra_open(&state->training, stage->compute, stage->in.bands, err));
    }
    if (state->validation.pixels.count > 0) {
        HC_OR_RETURN(hc_spectra_open(&state->validation, stage->compute, stage->in.bands, err));
    }
    return HC_OK;
}

/* Device memory for some validation pixels. */
typedef struct Bench {
    HcBuffer in, in_mask, out, out_mask, scratch;
    float *predicted; /* host */
    uint8_t *all;     /* host: every pixel is valid */
} Bench;

static HcStatus open_bench(const HcStage *stage, size_t pixels, Bench *bench, HcError *err) {
    HcCompute *compute = stage->compute;
    size_t bands = (size_t)stage->in.bands;
    bench->predicted = malloc(pixels * sizeof *bench->predicted);
    bench->all = malloc(pixels);
    if (bench->predicted == NULL || bench->all == NULL) {
        return hc_fail_memory(err, (double)pixels * sizeof *bench->predicted, "validation pixels");
    }
    memset(bench->all, 1, pixels);
    HC_OR_RETURN(hc_memory_upload(compute, bench->all, pixels, &bench->in_mask, err));
    HC_OR_RETURN(
        compute->ops->alloc(compute, HC_MEMORY_DEVICE, pixels * bands * sizeof(float), &bench->in, err));
    HC_OR_RETURN(compute->ops->alloc(compute, HC_MEMORY_DEVICE, pixels * sizeof(float), &bench->out, err));
    HC_OR_RETURN(compute->ops->alloc(compute, HC_MEMORY_DEVICE, pixels, &bench->out_mask, err));
    return compute->ops->alloc(compute, HC_MEMORY_DEVICE, pixels * scratch_bytes(stage), &bench->scratch,
                               err);
}

static void close_bench(const HcStage *stage, Bench *bench) {
    hc_memory_release(stage->compute, &bench->in);
    hc_memory_release(stage->compute, &bench->in_mask);
    hc_memory_release(stage->compute, &bench->out);
    hc_memory_release(stage->compute, &bench->out_mask);
    hc_memory_release(stage->compute, &bench->scratch);
    free(bench->predicted);
    free(bench->all);
}

/* Classifies spectra as if they were the only line of a scene. */
static HcStatus predict(HcStage *stage, HcQueue *queue, const float *spectra, size_t pixels, Bench *bench,
                        HcError *err) {
    const HcComputeOps *ops = stage->compute->ops;
    HcVoteRule rule = rule_of(stage);
    rule.confidence = rule.nearest = rule.neighbours = false;
    HcBlock in = {.data = bench->in.data,
                  .mask = bench->in_mask.data,
                  .lines = 1,
                  .samples = (int32_t)pixels,
                  .bands = stage->in.bands};
    HcBlock out = in;
    out.data = bench->out.data;
    out.mask = bench->out_mask.data;
    out.bands = 1;
    HC_OR_RETURN(ops->upload(queue, spectra, in.data, hc_block_values(&in) * sizeof(float), err));
    HC_OR_RETURN(classify(stage, queue, &in, &rule, &out, bench->scratch.data, err));
    HC_OR_RETURN(ops->download(queue, out.data, bench->predicted, pixels * sizeof(float), err));
    return ops->wait(queue, err);
}

static HcStatus measure(HcStage *stage, HcQueue *queue, const HcSamples *validation, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    Bench bench = {0};
    int64_t most = validation->count < VALIDATED_AT_ONCE ? validation->count : VALIDATED_AT_ONCE;
    if (validation->count == 0) {
        return hc_fail(err, HC_E_NUMERIC, "knn: no pixel is left to validate with%s",
                       splits(stage) ? " (a smaller --split leaves more)" : "");
    }
    HC_TRY(hc_accuracy_init(&state->accuracy, class_count(stage), err));
    HC_TRY(open_bench(stage, (size_t)most, &bench, err));
    for (int64_t from = 0; from < validation->count; from += most) {
        int64_t pixels = validation->count - from < most ? validation->count - from : most;
        HC_TRY(predict(stage, queue, validation->value + (size_t)from * (size_t)validation->bands,
                       (size_t)pixels, &bench, err));
        for (int64_t i = 0; i < pixels; i++) {
            hc_accuracy_add(&state->accuracy, validation->label[from + i], (int32_t)bench.predicted[i]);
        }
    }
    hc_accuracy_finish(&state->accuracy);
    hc_stage_note(stage, "overall accuracy %.4f, kappa %.4f over %lld validation pixels",
                  state->accuracy.overall, state->accuracy.kappa, (long long)state->accuracy.pixels);
done:
    close_bench(stage, &bench);
    return status;
}

static void note_masked(HcStage *stage, const char *what, int64_t masked, int64_t all) {
    if (masked > 0) {
        hc_stage_note(stage, "%lld of %lld %s pixels are masked and left out", (long long)masked,
                      (long long)all, what);
    }
}

static HcStatus take_validation(HcStage *stage, HcSamples *validation, HcError *err) {
    State *state = stage->state;
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

/* Which pixels train, and which ones validate. */
static HcStatus take_samples(HcStage *stage, HcSamples *training, HcSamples *validation, HcError *err) {
    HcStatus status = HC_OK;
    const Params *params = params_of(stage);
    State *state = stage->state;
    uint8_t *trains = NULL;
    note_masked(stage, "training", hc_spectra_check(&state->training), state->training.pixels.count);
    if (splits(stage)) {
        trains = malloc((size_t)state->training.pixels.count);
        if (trains == NULL) {
            HC_TRY(hc_fail_memory(err, (double)state->training.pixels.count, "a split"));
        }
        HC_TRY(hc_spectra_split(&state->training, params->split, (uint64_t)params->seed, trains, err));
        HC_TRY(hc_samples_take(validation, &state->training, trains, 0, err));
    }
    HC_TRY(hc_samples_take(training, &state->training, trains, 1, err));
    if (params->validation != NULL) {
        HC_TRY(take_validation(stage, validation, err));
    }
done:
    free(trains);
    return status;
}

static HcStatus settle(HcStage *stage, HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    HcSamples training = {0};
    HcSamples validation = {0};
    HC_TRY(stage->compute->ops->wait(queue, err));
    HC_TRY(hc_spectra_join(&state->training, hc_stage_ranks(stage), err));
    HC_TRY(hc_spectra_join(&state->validation, hc_stage_ranks(stage), err));
    if (state->from_library) {
        HC_TRY(take_validation(stage, &validation, err));
    } else {
        HC_TRY(take_samples(stage, &training, &validation, err));
    }
    hc_spectra_release(&state->training, stage->compute);
    hc_spectra_release(&state->validation, stage->compute);
    if (!state->from_library) {
        HC_TRY(make_model(stage, &training, err));
    }
    if (validates(stage)) {
        HC_TRY(measure(stage, queue, &validation, err));
    }
done:
    hc_samples_clear(&training);
    hc_samples_clear(&validation);
    return status;
}

/* ---- reports ---- */

/* Which spectra of the library the training spectra are. */
static HcStatus add_spectra(const State *state, cJSON *to, HcError *err) {
    HcStatus status = HC_OK;
    size_t count = (size_t)state->used;
    int32_t *used = malloc(count * sizeof *used);
    if (used == NULL) {
        return hc_fail_memory(err, (double)count * sizeof *used, "a report");
    }
    for (size_t i = 0; i < count; i++) {
        used[i] = (int32_t)state->library.from[i];
    }
    HC_TRY(hc_json_add_ints(to, "training_spectrum_from_0", used, count, err));
    HC_TRY(hc_json_add_ints(to, "training_class", state->library.label, count, err));
done:
    free(used);
    return status;
}

/* Where the training spectra lie, so that the numbers of neighbours can be looked up. */
static HcStatus add_places(const HcStage *stage, cJSON *to, HcError *err) {
    HcStatus status = HC_OK;
    const State *state = stage->state;
    const HcLabelled *pixels = &state->training.pixels;
    const struct {
        const char *name;
        const int32_t *values;
    } columns[] = {{"training_sample_from_0", pixels->sample},
                   {"training_line_from_0", pixels->line},
                   {"training_class", pixels->label}};
    int32_t *used = malloc((size_t)state->used * sizeof *used);
    if (used == NULL) {
        return hc_fail_memory(err, (double)state->used * sizeof *used, "a report");
    }
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        for (int64_t i = 0; i < state->used; i++) {
            used[i] = columns[c].values[state->from[i]];
        }
        HC_TRY(hc_json_add_ints(to, columns[c].name, used, (size_t)state->used, err));
    }
done:
    free(used);
    return status;
}

/* What a reader needs to do the same again. */
static bool add_settings(const HcStage *stage, cJSON *report) {
    const Params *params = params_of(stage);
    bool fine = cJSON_AddNumberToObject(report, "k", (double)params->k) != NULL &&
                cJSON_AddStringToObject(report, "metric", metric_words[params->metric]) != NULL &&
                cJSON_AddStringToObject(report, "vote", vote_words[params->vote]) != NULL &&
                cJSON_AddStringToObject(report, "scale", scale_words[params->scale]) != NULL &&
                cJSON_AddStringToObject(report, "training", params->training) != NULL;
    if (!isnan(params->reject)) {
        fine = fine && cJSON_AddNumberToObject(report, "reject", params->reject) != NULL;
    }
    if (params->validation != NULL) {
        return fine && cJSON_AddStringToObject(report, "validation", params->validation) != NULL;
    }
    return fine && cJSON_AddNumberToObject(report, "split", params->split) != NULL &&
           cJSON_AddNumberToObject(report, "seed", (double)params->seed) != NULL;
}

static HcStatus write_json(const HcStage *stage, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    const Params *params = params_of(stage);
    const State *state = stage->state;
    cJSON *report = cJSON_CreateObject();
    if (cJSON_AddNumberToObject(report, "hcube_accuracy", 1) == NULL ||
        cJSON_AddStringToObject(report, "stage", stage->kind->name) == NULL || !add_settings(stage, report) ||
        cJSON_AddNumberToObject(report, "training_pixels", (double)state->used) == NULL) {
        HC_TRY(hc_fail_memory(err, 0, "a report"));
    }
    HC_TRY(hc_accuracy_json(&state->accuracy, &state->training.pixels.classes, state->trained, report, err));
    if (params->neighbours) {
        HC_TRY(state->from_library ? add_spectra(state, report, err) : add_places(stage, report, err));
    }
    HC_TRY(hc_json_write(path, report, overwrites(stage), err));
done:
    cJSON_Delete(report);
    return status;
}

static HcStatus write_text(const HcStage *stage, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    const Params *params = params_of(stage);
    const State *state = stage->state;
    HcText text = {0};
    char number[HC_TEXT_DOUBLE];
    hc_text_add(&text, "knn, %lld nearest of %lld training spectra of %s, %s, %s vote, scale %s",
                (long long)params->k, (long long)state->used, params->training, metric_words[params->metric],
                vote_words[params->vote], scale_words[params->scale]);
    if (!isnan(params->reject)) {
        hc_text_add(&text, ", rejected beyond %s", hc_text_double(number, params->reject));
    }
    if (params->validation != NULL) {
        hc_text_add(&text, "\nvalidated with %s\n\n", params->validation);
    } else {
        hc_text_add(&text, "\nsplit %s, seed %lld\n\n", hc_text_double(number, params->split),
                    (long long)params->seed);
    }
    hc_accuracy_text(&state->accuracy, &state->training.pixels.classes, state->trained, &text);
    if (text.failed) {
        HC_TRY(hc_fail_memory(err, 0, "a report"));
    }
    HC_TRY(hc_file_write(path, text.data, text.length, overwrites(stage), err));
done:
    hc_text_clear(&text);
    return status;
}

static HcStatus finish(HcStage *stage, HcError *err) {
    const Params *params = params_of(stage);
    for (int32_t r = 0; r < params->report.count; r++) {
        const char *path = params->report.item[r];
        HC_OR_RETURN(hc_text_ends_with(path, ".json") ? write_json(stage, path, err)
                                                      : write_text(stage, path, err));
    }
    return HC_OK;
}

static const char *output(const HcStage *stage) {
    const Params *params = params_of(stage);
    return params->report.count > 0 ? params->report.item[0] : NULL;
}

static HcStatus report_classes(const State *state, cJSON *to, HcError *err) {
    const HcClasses *classes = &state->training.pixels.classes;
    cJSON *list = cJSON_AddArrayToObject(to, "classes");
    for (int32_t c = 1; c < classes->count; c++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddItemToArray(list, item);
        if (cJSON_AddStringToObject(item, "name", classes->name[c]) == NULL ||
            cJSON_AddNumberToObject(item, "training_pixels", (double)state->trained[c]) == NULL) {
            return hc_fail_memory(err, 0, "the record");
        }
    }
    return HC_OK;
}

static HcStatus report(const HcStage *stage, cJSON *to, HcError *err) {
    const State *state = stage->state;
    if (state->trained == NULL) {
        return HC_OK;
    }
    if (cJSON_AddNumberToObject(to, "training_pixels", (double)state->used) == NULL) {
        return hc_fail_memory(err, 0, "the record");
    }
    if (state->from_library) {
        HC_OR_RETURN(hc_library_figures_json(&state->figures, to, err));
    }
    HC_OR_RETURN(report_classes(state, to, err));
    const HcAccuracy *accuracy = &state->accuracy;
    if (accuracy->classes > 0 &&
        (cJSON_AddNumberToObject(to, "validation_pixels", (double)accuracy->pixels) == NULL ||
         cJSON_AddNumberToObject(to, "overall_accuracy", accuracy->overall) == NULL ||
         cJSON_AddNumberToObject(to, "average_accuracy", accuracy->average) == NULL ||
         cJSON_AddNumberToObject(to, "kappa", accuracy->kappa) == NULL)) {
        return hc_fail_memory(err, 0, "the record");
    }
    return HC_OK;
}

static void close_knn(HcStage *stage) {
    State *state = stage->state;
    if (stage->compute != NULL && state->model != NULL) {
        stage->compute->ops->training_close(state->model);
    }
    hc_memory_release(stage->compute, &state->label);
    hc_memory_release(stage->compute, &state->matrix);
    hc_memory_release(stage->compute, &state->mean);
    hc_spectra_clear(&state->training, stage->compute);
    hc_spectra_clear(&state->validation, stage->compute);
    hc_samples_clear(&state->library);
    hc_accuracy_clear(&state->accuracy);
    free(state->from);
    free(state->trained);
    *state = (State){0};
}

const HcStageClass hc_stage_knn = {
    .name = "knn",
    .summary = "classes by the k nearest training spectra, with confidence, distance and an accuracy report",
    .cite = "Cover, Hart 1967; Dudani 1976 (distance weights)",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .open = open_knn,
    .observe = observe,
    .settle = settle,
    .process = process,
    .finish = finish,
    .output = output,
    .report = report,
    .close = close_knn,
};
