/* extract: the spectra of labelled or typed pixels, as a spectral library: the mean of each class or polygon,
 * or every pixel. What is written is input of the stages that take a library or training data.
 *
 * The pixels are gathered while the blocks pass, so that one pass does, and joined in the order of the scene.
 * Sums are then formed in that order, the same for any blocks, threads and ranks. */
#include "core/allocate.h"
#include "io/file.h"
#include "pipeline/spectra/spectra.h"
#include "pipeline/picture/plots.h"
#include "pipeline/stages/shared/spectra_files.h"
#include "pipeline/stages/stages.h"

#include <math.h>
#include <string.h>

typedef enum Each { CLASS, POLYGON, PIXEL } Each;

typedef struct Params {
    HcSpectraParams files; /* first */
    const char *labels, *area, *field, *layer, *attributes, *statistics;
    HcOptionList pixels, places; /* typed */
    int32_t each;                /* Each */
} Params;

/* Sums over the pixels of one class or polygon. */
typedef struct Group {
    int64_t pixels; /* valid ones */
    int32_t label;
    double *mean, *square; /* [bands]; square: sum of squares about the mean */
    float *lowest, *highest;
} Group;

typedef struct State {
    char *header;
    HcSpectra spectra;
    Group *group; /* [groups] in the order of the classes, or of the polygons in their file */
    int32_t groups;
    double *sums;  /* of all groups */
    float *limits; /* of all groups */
    int64_t pixels, masked;
    int32_t count; /* of spectra that are written */
    float *value;  /* [count][bands] */
    char **name;   /* [count], borrowed from the classes */
} State;

static const char *const each_words[] = {"class", "polygon", "pixel", NULL};

static const HcOption options[] = {
    HC_SPECTRA_FILE_OPTIONS,
    {HC_TEXT(Params, labels), .file = HC_FILE_READ, .value = "FILE",
     .help = "labelled pixels of this scene: polygons, points (also a table of points as CSV) or a class "
             "raster"},
    {HC_LIST(Params, pixels, "pixel"), .value = "SAMPLE,LINE[:SAMPLE,LINE...]",
     .help = "pixels of the scene (from 0) instead of --labels; each becomes a spectrum"},
    {HC_LIST(Params, places, "at"), .value = "X,Y[:X,Y...]", .unit = "coordinates of the scene",
     .help = "the pixels at these places instead of --labels; each becomes a spectrum"},
    {HC_TEXT(Params, area), .value = "SAMPLE,LINE,SAMPLES,LINES", .unit = "pixels",
     .help = "a rectangle of the scene instead of --labels, by its first sample and line (from 0); its mean "
             "becomes a spectrum"},
    {HC_TEXT(Params, field), .value = "NAME", .otherwise = "the only attribute, or the number of the feature",
     .help = "attribute of polygons and points that names the class"},
    {HC_TEXT(Params, layer), .value = "NAME", .otherwise = "the only layer",
     .help = "layer of the polygons and points"},
    {HC_TEXT(Params, attributes), .value = "LIST|all", .otherwise = "the class alone",
     .help = "attributes of polygons and points, separated by commas, to copy to --places and (of polygons) "
             "to --statistics"},
    {HC_CHOICE(Params, each), .choices = each_words, .standard = "class",
     .help = "make a spectrum of the mean of each class, of each polygon (in a raster: each region of one "
             "class), or of each pixel"},
    {HC_TEXT(Params, statistics), .file = HC_FILE_WRITTEN, .value = "TABLE.csv",
     .help = "write mean, standard deviation, minimum and maximum of each class (or polygon) and band"},
    {0}};

static const Params *params_of(const HcStage *stage) {
    return stage->params;
}

static Each each_of(const HcStage *stage) {
    return (Each)params_of(stage)->each;
}

/* Typed pixels have no mean to speak of. */
static bool is_typed(const HcStage *stage) {
    return params_of(stage)->labels == NULL;
}

/* ---- plan ---- */

static HcStatus check_source(const Params *params, HcError *err) {
    int given = (params->labels != NULL) + (params->pixels.count > 0) + (params->places.count > 0) +
                (params->area != NULL);
    const char *of_labels = params->field != NULL        ? "field"
                            : params->layer != NULL      ? "layer"
                            : params->attributes != NULL ? "attributes"
                                                         : NULL;
    if (given != 1) {
        return hc_fail(err, HC_E_USAGE, "extract: give %s --labels, --pixel, --at and --area",
                       given == 0 ? "one of" : "only one of");
    }
    return params->labels != NULL || of_labels == NULL
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "extract: --%s goes with --labels", of_labels);
}

static HcStatus read_area(const HcStage *stage, HcLabelled *pixels, HcError *err) {
    const char *text = params_of(stage)->area;
    double value[4];
    int64_t area[4];
    bool whole = hc_option_numbers(text, value, 4) == 4;
    for (int i = 0; i < 4 && whole; i++) {
        whole = value[i] == floor(value[i]) && value[i] >= (i < 2 ? 0 : 1) && value[i] < 1e9;
        area[i] = whole ? (int64_t)value[i] : 0;
    }
    if (!whole || area[0] + area[2] > stage->in.samples || area[1] + area[3] > stage->in.lines) {
        return hc_fail(err, HC_E_USAGE,
                       "extract: --area %s: not SAMPLE,LINE,SAMPLES,LINES within %lld samples x %lld lines",
                       text, (long long)stage->in.samples, (long long)stage->in.lines);
    }
    return hc_labelled_area(area, &stage->in, pixels, err);
}

static HcStatus read_typed(HcStage *stage, HcError *err) {
    const Params *params = params_of(stage);
    if (params->area != NULL) {
        return read_area(stage, &((State *)stage->state)->spectra.pixels, err);
    }
    bool on_map = params->places.count > 0;
    const HcOptionList *list = on_map ? &params->places : &params->pixels;
    return hc_labelled_typed(on_map ? "extract: --at" : "extract: --pixel", on_map, list->item, list->count,
                             &stage->in, &((State *)stage->state)->spectra.pixels, err);
}

static HcStatus read_labels(HcStage *stage, HcError *err) {
    const Params *params = params_of(stage);
    HcLabelled *pixels = &((State *)stage->state)->spectra.pixels;
    if (pixels->count > 0) {
        return HC_OK;
    }
    if (is_typed(stage)) {
        return read_typed(stage, err);
    }
    HC_OR_RETURN(hc_labelled_read_any(params->labels, params->field, params->layer, params->attributes,
                                      &stage->in, pixels, err));
    HcText note = {0};
    hc_labelled_note(pixels, &note);
    hc_stage_note_file(stage, params->labels, &note);
    if (each_of(stage) == PIXEL && pixels->count > INT32_MAX) {
        return hc_fail(err, HC_E_UNSUPPORTED, "extract: %s: %lld pixels, a library has at most %d spectra",
                       params->labels, (long long)pixels->count, INT32_MAX);
    }
    return HC_OK;
}

static int32_t planned_groups(const HcStage *stage) {
    const HcLabelled *pixels = &((const State *)stage->state)->spectra.pixels;
    return each_of(stage) == POLYGON ? pixels->features : pixels->classes.count - 1;
}

static HcStatus plan(HcStage *stage, HcError *err) {
    const Params *params = params_of(stage);
    State *state = stage->state;
    if (stage->in.meaning == HC_CLASS_MAP) {
        return hc_fail(err, HC_E_USAGE, "extract: classes come in, spectra are needed");
    }
    HC_OR_RETURN(check_source(params, err));
    bool of_polygons = params->statistics != NULL && each_of(stage) == POLYGON;
    if (params->attributes != NULL && params->files.places == NULL && !of_polygons) {
        return hc_fail(
            err, HC_E_USAGE,
            "extract: --attributes %s: goes with --places, or with --statistics and --each polygon",
            params->attributes);
    }
    HC_OR_RETURN(hc_spectra_files_plan(stage, &params->files, &state->header, err));
    if (params->statistics != NULL && !hc_text_ends_with(params->statistics, ".csv")) {
        return hc_fail(err, HC_E_USAGE, "extract: --statistics %s: does not end with .csv",
                       params->statistics);
    }
    HC_OR_RETURN(read_labels(stage, err));
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    size_t gathered = hc_spectra_bytes(&state->spectra, stage->in.bands);
    size_t band_bytes = 2 * sizeof(double) + 4 * sizeof(float);
    size_t place_bytes =
        params->files.places != NULL ? (size_t)state->spectra.pixels.count * HC_POINT_FILE_BYTES : 0;
    stage->output = params->files.path;
    stage->needs = (HcNeeds){.passes_through = true, .observes = !stage->settled};
    hc_stage_takes(stage, HC_SPACE_HOST,
                   gathered + (each_of(stage) == PIXEL ? gathered : 0) + place_bytes +
                       hc_spectra_picture_bytes(stage, &params->files, HC_PLOT_SPECTRA_MAX) +
                       (size_t)planned_groups(stage) *
                           ((size_t)stage->in.bands * band_bytes + sizeof(Group)));
    return HC_OK;
}

/* ---- the pass ---- */

static HcStatus open_extract(HcStage *stage, HcError *err) {
    State *state = stage->state;
    return hc_spectra_open(&state->spectra, stage->compute, stage->in.bands, err);
}

static HcStatus observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    const State *state = stage->state;
    return hc_spectra_gather(&state->spectra, queue, in, err);
}

static HcStatus make_groups(HcStage *stage, HcError *err) {
    State *state = stage->state;
    size_t bands = (size_t)stage->in.bands;
    size_t groups = (size_t)planned_groups(stage);
    HC_OR_RETURN(hc_new(state->group, groups, "classes", err));
    HC_OR_RETURN(hc_new(state->sums, groups * bands * 2, "statistics of classes", err));
    HC_OR_RETURN(hc_new(state->limits, groups * bands * 2, "statistics of classes", err));
    state->groups = (int32_t)groups;
    for (size_t g = 0; g < groups; g++) {
        state->group[g] = (Group){.mean = state->sums + 2 * g * bands,
                                  .square = state->sums + (2 * g + 1) * bands,
                                  .lowest = state->limits + 2 * g * bands,
                                  .highest = state->limits + (2 * g + 1) * bands};
    }
    return HC_OK;
}

static Group *group_of(const HcStage *stage, int64_t pixel) {
    const State *state = stage->state;
    const HcLabelled *pixels = &state->spectra.pixels;
    return &state->group[each_of(stage) == POLYGON ? pixels->feature[pixel] : pixels->label[pixel] - 1];
}

static void add_pixel(Group *group, const float *value, size_t bands) {
    for (size_t b = 0; b < bands; b++) {
        group->mean[b] += (double)value[b];
        group->lowest[b] = group->pixels == 0 || value[b] < group->lowest[b] ? value[b] : group->lowest[b];
        group->highest[b] = group->pixels == 0 || value[b] > group->highest[b] ? value[b] : group->highest[b];
    }
    group->pixels++;
}

/* Sums, then squares about the means: two walks over the pixels lose no digits of the deviations. */
static void add_up(const HcStage *stage) {
    State *state = stage->state;
    const HcLabelled *pixels = &state->spectra.pixels;
    size_t bands = (size_t)stage->in.bands;
    for (int64_t i = 0; i < pixels->count; i++) {
        Group *group = group_of(stage, i);
        group->label = pixels->label[i];
        if (state->spectra.valid[i]) {
            add_pixel(group, state->spectra.value + (size_t)i * bands, bands);
        }
    }
    for (int32_t g = 0; g < state->groups; g++) {
        for (size_t b = 0; b < bands && state->group[g].pixels > 0; b++) {
            state->group[g].mean[b] /= (double)state->group[g].pixels;
        }
    }
    for (int64_t i = 0; i < pixels->count; i++) {
        Group *group = group_of(stage, i);
        for (size_t b = 0; b < bands && state->spectra.valid[i]; b++) {
            double apart = (double)state->spectra.value[(size_t)i * bands + b] - group->mean[b];
            group->square[b] += apart * apart;
        }
    }
}

static void note_empty(HcStage *stage) {
    State *state = stage->state;
    const HcClasses *classes = &state->spectra.pixels.classes;
    int64_t empty = 0;
    const char *first = NULL;
    for (int32_t g = 0; g < state->groups; g++) {
        if (state->group[g].pixels == 0) {
            first = empty++ == 0 ? classes->name[state->group[g].label] : first;
        }
    }
    if (empty > 0) {
        hc_stage_note(stage, "%lld of %d %s have no valid pixel and no spectrum ('%s'%s)", (long long)empty,
                      state->groups, each_of(stage) == POLYGON ? "polygons" : "classes", first,
                      empty > 1 ? ", ..." : "");
    }
}

/* The spectra that are written, and their names. */
static HcStatus take_spectra(HcStage *stage, HcError *err) {
    State *state = stage->state;
    const HcLabelled *pixels = &state->spectra.pixels;
    size_t bands = (size_t)stage->in.bands;
    bool all = each_of(stage) == PIXEL;
    int64_t from = all ? pixels->count : state->groups;
    size_t most = (size_t)(all ? state->pixels : state->groups);
    HC_OR_RETURN(hc_new(state->value, most * bands, "spectra", err));
    HC_OR_RETURN(hc_new(state->name, most, "names of spectra", err));
    for (int64_t i = 0; i < from; i++) {
        float *to = state->value + (size_t)state->count * bands;
        if (all ? !state->spectra.valid[i] : state->group[i].pixels == 0) {
            continue;
        }
        for (size_t b = 0; b < bands; b++) {
            to[b] = all ? state->spectra.value[(size_t)i * bands + b] : (float)state->group[i].mean[b];
        }
        state->name[state->count++] = pixels->classes.name[all ? pixels->label[i] : state->group[i].label];
    }
    return HC_OK;
}

static HcStatus settle(HcStage *stage, HcQueue *queue, HcError *err) {
    State *state = stage->state;
    long long all = (long long)state->spectra.pixels.count;
    HC_OR_RETURN(hc_wait(queue, err));
    HC_OR_RETURN(hc_spectra_join(&state->spectra, hc_stage_ranks(stage), err));
    state->masked = hc_spectra_check(&state->spectra);
    state->pixels = all - state->masked;
    if (state->pixels == 0) {
        return is_typed(stage) ? hc_fail(err, HC_E_NUMERIC, "extract: none of the %lld pixels is valid", all)
                               : hc_fail(err, HC_E_NUMERIC, "extract: %s: none of its %lld pixels is valid",
                                         params_of(stage)->labels, all);
    }
    if (state->masked > 0) {
        hc_stage_note(stage, "%lld of %lld pixels are masked and left out", (long long)state->masked, all);
    }
    HC_OR_RETURN(make_groups(stage, err));
    add_up(stage);
    note_empty(stage);
    return take_spectra(stage, err);
}

/* ---- what is left behind ---- */

/* Cells of the attributes of a polygon. */
static void add_attributes(HcText *to, const HcAttributes *attributes, int32_t polygon) {
    for (int32_t k = 0; k < attributes->count; k++) {
        const char *value = hc_attributes_value(attributes, polygon, k);
        hc_text_add(to, ",");
        if (value != NULL && attributes->type[k] == HC_ATTRIBUTE_TEXT) {
            hc_text_add_cell(to, value, true);
        } else if (value != NULL) {
            hc_text_add(to, "%s", value);
        }
    }
}

static HcStatus write_statistics(const HcStage *stage, const char *path, HcError *err) {
    const State *state = stage->state;
    const HcScene *scene = &stage->in;
    const HcAttributes *attributes = &state->spectra.pixels.attributes;
    HcText text = {0};
    hc_text_add(&text, "class,%spixels,band,wavelength_nm,mean,deviation,minimum,maximum",
                each_of(stage) == POLYGON ? "polygon," : "");
    for (int32_t k = 0; k < attributes->count && each_of(stage) == POLYGON; k++) {
        hc_text_add(&text, ",");
        hc_text_add_cell(&text, attributes->name[k], true);
    }
    hc_text_add(&text, "\n");
    for (int32_t g = 0; g < state->groups; g++) {
        const Group *group = &state->group[g];
        for (int32_t b = 0; b < scene->bands && group->pixels > 0; b++) {
            hc_text_add_cell(&text, state->spectra.pixels.classes.name[group->label], true);
            if (each_of(stage) == POLYGON) {
                hc_text_add(&text, ",%d", g + 1);
            }
            hc_text_add(&text, ",%lld,%d,", (long long)group->pixels, b + 1);
            if (scene->wavelength != NULL) {
                hc_text_add(&text, "%.10g", scene->wavelength[b]);
            }
            hc_text_add(&text, ",%.9g,", group->mean[b]);
            if (group->pixels > 1) {
                hc_text_add(&text, "%.9g", sqrt(group->square[b] / (double)(group->pixels - 1)));
            }
            hc_text_add(&text, ",%.9g,%.9g", (double)group->lowest[b], (double)group->highest[b]);
            if (each_of(stage) == POLYGON) {
                add_attributes(&text, attributes, g);
            }
            hc_text_add(&text, "\n");
        }
    }
    bool overwrite = hc_stage_overwrite(stage);
    HcStatus status = text.failed ? hc_fail_memory(err, 0, "statistics of classes")
                                  : hc_file_write(path, text.data, text.length, overwrite, err);
    hc_text_clear(&text);
    return status;
}

/* All valid pixels, named by their classes. */
static HcStatus make_points(const HcStage *stage, HcPoint **out, HcError *err) {
    const State *state = stage->state;
    const HcLabelled *pixels = &state->spectra.pixels;
    int64_t count = 0;
    HC_OR_RETURN(hc_new(*out, state->pixels, "places of pixels", err));
    for (int64_t i = 0; i < pixels->count; i++) {
        if (state->spectra.valid[i]) {
            (*out)[count++] = (HcPoint){.name = pixels->classes.name[pixels->label[i]],
                                        .line = pixels->line[i],
                                        .sample = pixels->sample[i],
                                        .feature = pixels->feature[i]};
        }
    }
    return HC_OK;
}

/* The standard deviations of the classes or polygons that have pixels, in their order; NaN of a single pixel.
 */
static HcStatus make_spread(const HcStage *stage, float **out, HcError *err) {
    const State *state = stage->state;
    size_t bands = (size_t)stage->in.bands;
    HC_OR_RETURN(hc_new(*out, (size_t)state->count * bands, "deviations of spectra", err));
    float *to = *out;
    for (int32_t g = 0; g < state->groups; g++) {
        const Group *group = &state->group[g];
        for (size_t b = 0; b < bands && group->pixels > 0; b++) {
            *to++ = group->pixels > 1 ? (float)sqrt(group->square[b] / (double)(group->pixels - 1)) : NAN;
        }
    }
    return HC_OK;
}

static HcFoundSpectra find_spectra(const HcStage *stage) {
    const State *state = stage->state;
    return (HcFoundSpectra){.count = state->count,
                            .bands = stage->in.bands,
                            .value = state->value,
                            .name = state->name,
                            .title = each_of(stage) == PIXEL || is_typed(stage) ? "spectra of pixels"
                                                                                : "mean spectra"};
}

static HcStatus finish(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    const Params *params = params_of(stage);
    const State *state = stage->state;
    HcPoint *point = NULL;
    float *spread = NULL;
    HcFoundSpectra found = find_spectra(stage);
    if (params->files.places != NULL) {
        HC_TRY(make_points(stage, &point, err));
        found.point = point;
        found.points = state->pixels;
        found.point_attributes = &state->spectra.pixels.attributes;
    }
    if (params->files.picture != NULL && each_of(stage) != PIXEL && !is_typed(stage)) {
        HC_TRY(make_spread(stage, &spread, err));
        found.spread = spread;
    }
    HC_TRY(hc_spectra_files_write(stage, &params->files, &found, err));
    if (params->statistics != NULL) {
        HC_TRY(write_statistics(stage, params->statistics, err));
    }
done:
    free(point);
    free(spread);
    return status;
}

static HcStatus panels(const HcStage *stage, HcPanels *to, HcError *err) {
    HcStatus status = HC_OK;
    float *spread = NULL;
    HcFoundSpectra found = find_spectra(stage);
    if (each_of(stage) != PIXEL && !is_typed(stage)) {
        HC_TRY(make_spread(stage, &spread, err));
        found.spread = spread;
    }
    HC_TRY(hc_spectra_panel(stage, &found, to, err));
done:
    free(spread);
    return status;
}

static void report(const HcStage *stage, HcJson *to) {
    const State *state = stage->state;
    if (state->group == NULL) {
        return;
    }
    hc_json_put_number(to, "spectra", state->count);
    hc_json_put_number(to, "pixels", (double)state->pixels);
    hc_json_put_number(to, "masked_pixels", (double)state->masked);
    hc_json_open_array(to, each_of(stage) == POLYGON ? "polygons" : "classes");
    for (int32_t g = 0; g < state->groups; g++) {
        hc_json_open_object(to, NULL);
        hc_json_put_text(to, "name", state->spectra.pixels.classes.name[state->group[g].label]);
        hc_json_put_number(to, "pixels", (double)state->group[g].pixels);
        hc_json_close(to);
    }
    hc_json_close(to);
}

static void close_extract(HcStage *stage) {
    State *state = stage->state;
    hc_spectra_clear(&state->spectra, stage->compute);
    free(state->header);
    free(state->group);
    free(state->sums);
    free(state->limits);
    free(state->value);
    free(state->name);
    *state = (State){0};
}

const HcStageClass hc_stage_extract = {
    .name = "extract",
    .summary = "spectra and statistics of classes, polygons and pixels, as a spectral library",
    .example =
        "hcube extract scene.hdr spectra.sli --labels training.gpkg --layer training --field class_name",
    .role = HC_ROLE_SINK,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .open = open_extract,
    .observe = observe,
    .settle = settle,
    .finish = finish,
    .report = report,
    .rare = {.panels = panels},
    .close = close_extract,
};
