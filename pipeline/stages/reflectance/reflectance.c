/* reflectance: raw counts of a line scanner become reflectance, by a dark and a white reference. Each column
 * of the detector has an offset and a gain in each band (core/operation/spectrum/calibrate.h). Those of an
 * empirical line (empirical.h) are the same in all columns. */
#include "core/allocate.h"
#include "core/operation/spectrum/calibrate.h"
#include "io/read/scanner.h"
#include "pipeline/chain.h"
#include "pipeline/memory.h"
#include "pipeline/spectra/library/fit.h"
#include "pipeline/stages/reflectance/empirical.h"
#include "pipeline/stages/reflectance/reference.h"
#include "pipeline/stages/stages.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Params {
    HcOptionList dark;
    const char *white, *white_dark, *panel;
    int32_t exposure;
    double saturation;
    HcEmpiricalParams empirical;
} Params;

/* The second dark is taken after the scene. */
enum { DARK, LATER_DARK, WHITE, WHITE_DARK, REFERENCES };

enum { DEAD_TOLD = 100 };

typedef struct State {
    HcEmpirical empirical;
    HcScanner scanner; /* what lies beside the scene */
    bool looked;
    HcReferenceOf of[REFERENCES];  /* path NULL = there is none */
    double factor;                 /* exposure of the white over that of the scene */
    float *panel;                  /* [bands] reflectance of the white */
    double *offset, *slope, *gain; /* [samples][bands] until they are uploaded */
    float *limit;
    uint8_t *live;
    int32_t dead_at[2 * DEAD_TOLD]; /* the first of them: column and band of the file, from 1 */
    double ceiling;                 /* in the header of the scene, 0 = none */
    int64_t dead, dead_columns;     /* elements of the detector, and columns that have any */
    HcBuffer memory[5];
    HcCalibration how;
} State;

static const char *const exposure_words[] = {"auto", "none", NULL};

enum { EXPOSURE_AUTO, EXPOSURE_NONE };

/* The file of "SCENE|lines=A-B|columns=A-B" and of "NUMBER|FILE"; "" = the word names none. */
static char *reference_file(const char *value) {
    bool is_range = strncmp(value, "lines=", 6) == 0 || strncmp(value, "columns=", 8) == 0;
    return strdup(is_range ? "" : value);
}

static char *panel_file(const char *value) {
    double number;
    return strdup(hc_text_parse_double(value, &number) ? "" : value);
}

static const HcOption options[] = {
    {HC_LIST(Params, dark), .file = HC_FILE_READ, .file_of = reference_file,
     .value = "SCENE|lines=A-B|columns=A-B", .otherwise = "the dark beside the scene",
     .help =
         "dark reference: a scene, or lines or shielded columns of the scene (from 1). Given twice: before "
         "and after the scene, the dark in between is interpolated"},
    {HC_TEXT(Params, white), .file = HC_FILE_READ, .file_of = reference_file, .value = "SCENE|lines=A-B",
     .otherwise = "the white beside the scene",
     .help = "white reference: a scene of the panel, or lines of the scene (from 1)"},
    {HC_TEXT(Params, white_dark, "white-dark"), .file = HC_FILE_READ, .value = "SCENE",
     .otherwise = "that beside the scene, else the first dark", .help = "dark of the white reference"},
    {HC_TEXT(Params, panel), .file = HC_FILE_READ, .file_of = panel_file, .value = "NUMBER|FILE",
     .standard = "1", .help = "reflectance of the panel: a number, or a spectral library with one spectrum"},
    {HC_CHOICE(Params, exposure), .value = "RULE", .choices = exposure_words, .standard = "auto",
     .help =
         "auto: multiply by the exposure of the white over that of the scene, where both headers have one"},
    {HC_REAL(Params, saturation), .range = {0, INFINITY}, .open = HC_OPEN_LOW, .initial = NAN,
     .value = "COUNT", .otherwise = "ceiling of the header, or the largest value of integers of 8 or 16 bits",
     .help = "values from here on are saturated"},
    {HC_TEXT(Params, empirical.points, "empirical"), .file = HC_FILE_READ, .value = "FILE",
     .needs = "spectra", .excludes = "dark white white-dark panel exposure saturation",
     .help = "targets of known reflectance in the scene, in place of references: polygons, points (also a "
             "table of points as CSV) or a class raster"},
    {HC_TEXT(Params, empirical.spectra, "spectra"), .file = HC_FILE_READ, .value = "FILE",
     .needs = "empirical", .help = "spectral library with a spectrum under the name of each target"},
    {HC_TEXT(Params, empirical.field, "field"), .value = "NAME", .needs = "empirical",
     .otherwise = "the only attribute", .help = "attribute of polygons and points that names the target"},
    {HC_TEXT(Params, empirical.layer, "layer"), .value = "NAME", .needs = "empirical",
     .otherwise = "the only layer", .help = "layer of the polygons and points"},
    {HC_CHOICE(Params, empirical.fit, "fit"), .choices = hc_empirical_words, .standard = "least-squares",
     .help = "empirical line: by least squares, or robust: by least absolute deviations"},
    {HC_TEXT(Params, empirical.picture, "picture"), .file = HC_FILE_WRITTEN, .value = "FILE",
     .needs = "empirical", .help = "draw the targets and their spectra in the library (.png, .svg, .pdf)"},
    {0}};

static const HcEmpiricalParams *empirical_of(const HcStage *stage) {
    return &((const Params *)stage->params)->empirical;
}

static bool is_empirical(const HcStage *stage) {
    return empirical_of(stage)->points != NULL;
}

static const char *scene_path(const HcStage *stage) {
    return hc_reader_path(hc_view_reader(stage->chain->source->view));
}

static size_t elements_of(const HcStage *stage) {
    return (size_t)stage->in.samples * (size_t)stage->in.bands;
}

/* The first value that is saturated, INFINITY = none: of the user, the header of the scene, or its type. */
static float limit_of(const HcStage *stage) {
    static const float largest[HC_TYPE_COUNT] = {
        [HC_UINT8] = 255, [HC_INT8] = 127, [HC_UINT16] = 65535, [HC_INT16] = 32767};
    const Params *params = stage->params;
    double ceiling = ((const State *)stage->state)->ceiling;
    float limit = ceiling > 0 ? (float)ceiling : largest[stage->in.type];
    return !isnan(params->saturation) ? (float)params->saturation : limit > 0 ? limit : INFINITY;
}

/* ---- plan: which references there are ---- */

/* What the user names, else what lies beside the scene. */
static HcStatus find_reference(HcStage *stage, int which, const char *option, const char *given,
                               const char *beside, HcError *err) {
    State *state = stage->state;
    const char *text = given != NULL ? given : beside;
    state->of[which] = (HcReferenceOf){0};
    if (text == NULL) {
        return HC_OK;
    }
    if (given == NULL) {
        hc_stage_note(stage, "%s %s", option, beside);
        HC_OR_RETURN(hc_stage_reads(stage, beside, err));
    }
    HC_OR_RETURN(hc_reference_parse(stage, option, text, &state->of[which], err));
    return hc_reference_check(stage, &state->of[which], err);
}

static HcStatus find_references(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    const HcOptionList *dark = &params->dark;
    if (!state->looked && (dark->count == 0 || params->white == NULL)) {
        HC_OR_RETURN(hc_scanner_find(&state->scanner, scene_path(stage), err));
        state->looked = true;
    }
    char **beside = state->scanner.file;
    bool own_white = params->white != NULL;
    const char *white_dark = own_white ? NULL : beside[HC_SCANNER_WHITE_DARK];
    if (dark->count > 2) {
        return hc_fail(err, HC_E_USAGE, "reflectance: --dark %s: the third, at most two are taken",
                       dark->item[2]);
    }
    HC_OR_RETURN(find_reference(stage, DARK, "--dark", dark->count > 0 ? dark->item[0] : NULL,
                                beside[HC_SCANNER_DARK], err));
    HC_OR_RETURN(
        find_reference(stage, LATER_DARK, "--dark", dark->count > 1 ? dark->item[1] : NULL, NULL, err));
    HC_OR_RETURN(find_reference(stage, WHITE, "--white", params->white, beside[HC_SCANNER_WHITE], err));
    HC_OR_RETURN(find_reference(stage, WHITE_DARK, "--white-dark", params->white_dark, white_dark, err));
    for (int r = DARK; r <= WHITE; r += WHITE - DARK) {
        if (state->of[r].path == NULL) {
            return hc_fail(err, HC_E_USAGE, "reflectance: --%s is missing, and no such scene lies beside %s",
                           r == DARK ? "dark" : "white", scene_path(stage));
        }
    }
    return HC_OK;
}

/* A reference that was exposed otherwise than what it is subtracted from. */
static HcStatus compare_exposures(HcStage *stage, const HcReferenceOf *dark, double exposure, const char *of,
                                  HcError *err) {
    double is = 0;
    HC_OR_RETURN(hc_scanner_exposure(dark->path, &is, err));
    if (is > 0 && exposure > 0 && is != exposure) {
        hc_stage_note(stage, "%s %s has the exposure %g, %s has %g: the dark is not corrected for that",
                      dark->option, dark->path, is, of, exposure);
    }
    return HC_OK;
}

static HcStatus plan_exposure(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    double scene = 0, white = 0;
    HC_OR_RETURN(hc_scanner_exposure(scene_path(stage), &scene, err));
    HC_OR_RETURN(hc_scanner_ceiling(scene_path(stage), &state->ceiling, err));
    if (state->ceiling > 0 && isnan(params->saturation)) {
        hc_stage_note(stage, "values from %g on are saturated (ceiling of the header)", state->ceiling);
    }
    HC_OR_RETURN(hc_scanner_exposure(state->of[WHITE].path, &white, err));
    bool known = scene > 0 && white > 0;
    state->factor = known && params->exposure == EXPOSURE_AUTO ? white / scene : 1;
    if (known && scene != white) {
        hc_stage_note(stage, "the white has the exposure %g, the scene %g: %s", white, scene,
                      params->exposure == EXPOSURE_AUTO ? "corrected" : "not corrected (--exposure none)");
    } else if (!known && (scene > 0 || white > 0)) {
        hc_stage_note(stage, "the header of the %s has no exposure: a difference is not corrected",
                      scene > 0 ? "white" : "scene");
    }
    for (int r = DARK; r <= LATER_DARK; r++) {
        if (state->of[r].path != NULL) {
            HC_OR_RETURN(compare_exposures(stage, &state->of[r], scene, "the scene", err));
        }
    }
    const HcReferenceOf *dark = &state->of[state->of[WHITE_DARK].path != NULL ? WHITE_DARK : DARK];
    return compare_exposures(stage, dark, white, "the white", err);
}

/* The reflectance of the panel in each band. */
static HcStatus plan_panel(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    const char *text = ((const Params *)stage->params)->panel;
    State *state = stage->state;
    HcLibrary library = {0};
    HcLibraryFit fit = {0};
    double number = NAN;
    bool constant = hc_text_parse_double(text, &number);
    free(state->panel);
    HC_OR_RETURN(hc_new(state->panel, stage->in.bands, "the panel", err));
    if (!constant) {
        HC_TRY(hc_library_read(&library, text, err));
        HC_TRY(hc_library_fit(&library, text, stage, &fit, err));
        if (fit.count != 1) {
            HC_TRY(hc_fail(err, HC_E_INPUT, "reflectance: --panel %s: has %d spectra, one is needed", text,
                           fit.count));
        }
    }
    double one = library.scale > 0 ? library.scale : 1;
    for (int32_t b = 0; b < stage->in.bands; b++) {
        state->panel[b] = (float)(constant ? number : (double)fit.value[b] / one);
        if (!(state->panel[b] > 0 && state->panel[b] <= 2)) {
            HC_TRY(hc_fail(err, constant ? HC_E_USAGE : HC_E_INPUT,
                           "reflectance: --panel %s: %g in band %d: a reflectance is above 0 and at most 2",
                           text, (double)state->panel[b], b + 1));
        }
    }
done:
    hc_library_clear(&library);
    hc_library_fit_clear(&fit);
    return status;
}

/* What goes out: reflectance, which has no scale and no nodata value. */
static HcStatus plan_scene(HcStage *stage, HcError *err) {
    HcScene *out = &stage->out;
    HC_OR_RETURN(hc_scene_copy(out, &stage->in, err));
    free(out->gain);
    free(out->offset);
    free(out->parts);
    out->gain = out->offset = NULL;
    out->parts = NULL;
    out->integer_limit = 0;
    out->has_nodata = out->complete = out->stored = false;
    return HC_OK;
}

static HcStatus plan_empirical(HcStage *stage, HcError *err) {
    State *state = stage->state;
    HC_OR_RETURN(hc_empirical_plan(stage, &state->empirical, empirical_of(stage), err));
    stage->needs.observes = !stage->settled;
    hc_stage_takes(stage, HC_SPACE_DEVICE,
                   2 * elements_of(stage) * sizeof(double) + (size_t)stage->in.samples);
    hc_stage_takes(stage, HC_SPACE_HOST, 2 * elements_of(stage) * sizeof(double));
    return plan_scene(stage, err);
}

static HcStatus plan(HcStage *stage, HcError *err) {
    size_t elements = elements_of(stage);
    if (!hc_scene_is_spectral(&stage->in)) {
        return hc_fail(err, HC_E_USAGE, "reflectance: what comes in are no counts of a line scanner");
    }
    if (is_empirical(stage)) {
        return plan_empirical(stage, err);
    }
    HC_OR_RETURN(find_references(stage, err));
    HC_OR_RETURN(plan_exposure(stage, err));
    if (!stage->is_open) {
        HC_OR_RETURN(plan_panel(stage, err));
    }
    HC_OR_RETURN(plan_scene(stage, err));
    stage->masks = "values are saturated, or the detector is dead in this column";
    hc_stage_takes(stage, HC_SPACE_DEVICE, 3 * elements * sizeof(double));
    hc_stage_takes(stage, HC_SPACE_DEVICE,
                   (size_t)stage->in.bands * sizeof(float) + (size_t)stage->in.samples);
    hc_stage_takes(stage, HC_SPACE_HOST, 3 * elements * sizeof(double) + hc_reference_work_bytes(stage));
    hc_stage_takes(stage, HC_SPACE_HOST, REFERENCES * hc_reference_bytes(stage));
    return HC_OK;
}

/* ---- open: offsets and gains ---- */

/* The dark at line 0 of the scene, and its growth. */
static HcStatus make_offsets(HcStage *stage, const HcReference *all, HcError *err) {
    State *state = stage->state;
    const HcReference *first = &all[DARK], *later = &all[LATER_DARK];
    int64_t cut = stage->in.cut.lines > 0 ? stage->in.cut.line0 : 0;
    int64_t last = hc_reader_scene(hc_view_reader(stage->chain->source->view))->lines - 1;
    double from = state->of[DARK].lines > 0 ? first->line : 0;
    double to = state->of[LATER_DARK].lines > 0 ? later->line : (double)last;
    if (later->mean == NULL) {
        memcpy(state->offset, first->mean, elements_of(stage) * sizeof(double));
        return HC_OK;
    }
    if (!(to > from)) {
        return hc_fail(err, HC_E_USAGE,
                       "reflectance: --dark %s: the second dark lies at line %g, not after %g",
                       state->of[LATER_DARK].path, to + 1, from + 1);
    }
    HC_OR_RETURN(hc_new(state->slope, elements_of(stage), "the drift", err));
    for (size_t i = 0; i < elements_of(stage); i++) {
        state->slope[i] = (later->mean[i] - first->mean[i]) / (to - from);
        state->offset[i] = first->mean[i] + ((double)cut - from) * state->slope[i];
    }
    return HC_OK;
}

static int64_t first_sample(const HcStage *stage) {
    return stage->in.cut.lines > 0 ? stage->in.cut.sample0 : 0;
}

/* Where the white is not above its dark, or saturated, the element is dead. */
static HcStatus make_gains(HcStage *stage, const HcReference *all, HcError *err) {
    State *state = stage->state;
    const HcReference *white = &all[WHITE];
    const HcReference *dark = &all[all[WHITE_DARK].mean != NULL ? WHITE_DARK : DARK];
    size_t bands = (size_t)stage->in.bands, darker = 0;
    state->dead = state->dead_columns = 0;
    for (size_t i = 0; i < elements_of(stage); i++) {
        double range = white->mean[i] - dark->mean[i];
        bool lives = range > 0 && white->saturated[i] == 0 && isfinite(state->offset[i]);
        darker += !(range > 0);
        if (!lives && state->dead < DEAD_TOLD) {
            state->dead_at[2 * state->dead] = (int32_t)(first_sample(stage) + (int64_t)(i / bands)) + 1;
            state->dead_at[2 * state->dead + 1] = hc_stage_file_band(stage, (int32_t)(i % bands));
        }
        state->dead += !lives;
        state->gain[i] = lives ? (double)state->panel[i % bands] * state->factor / range : 0;
    }
    if (2 * darker > elements_of(stage)) {
        return hc_fail(err, HC_E_INPUT,
                       "reflectance: --white %s: is darker than the dark in %zu of %zu columns and bands",
                       state->of[WHITE].path, darker, elements_of(stage));
    }
    for (int64_t s = 0; s < stage->in.samples; s++) {
        bool lives = true;
        for (size_t b = 0; b < bands; b++) {
            lives = lives && state->gain[(size_t)s * bands + b] > 0;
        }
        state->live[s] = lives;
        state->dead_columns += !lives;
    }
    return HC_OK;
}

/* The band that is dead in most columns, from 1. */
static int32_t worst_band(const HcStage *stage) {
    const State *state = stage->state;
    int32_t worst = 0;
    int64_t most = 0;
    for (int32_t b = 0; b < stage->in.bands; b++) {
        int64_t dead = 0;
        for (int64_t s = 0; s < stage->in.samples; s++) {
            dead += !(state->gain[s * stage->in.bands + b] > 0);
        }
        worst = dead > most ? b : worst;
        most = dead > most ? dead : most;
    }
    return hc_stage_file_band(stage, worst);
}

static HcStatus tell_dead(HcStage *stage, HcError *err) {
    const State *state = stage->state;
    if (state->dead_columns == stage->in.samples) {
        return hc_fail(err, HC_E_INPUT,
                       "reflectance: --white %s: each column has dead elements, most in band %d: leave such "
                       "bands out with bands",
                       state->of[WHITE].path, worst_band(stage));
    }
    if (state->dead > 0) {
        hc_stage_note(stage,
                      "dead elements of the detector: %" PRId64 ", most in band %d; %" PRId64 " of %" PRId64
                      " columns are masked",
                      state->dead, worst_band(stage), state->dead_columns, stage->in.samples);
    }
    return HC_OK;
}

static HcStatus upload(HcStage *stage, HcError *err) {
    State *state = stage->state;
    size_t bytes = elements_of(stage) * sizeof(double), bands = (size_t)stage->in.bands;
    const void *from[] = {state->offset, state->slope, state->gain, state->limit, state->live};
    const size_t size[] = {bytes, bytes, bytes, bands * sizeof(float), (size_t)stage->in.samples};
    for (int i = 0; i < 5; i++) {
        if (from[i] != NULL) {
            HC_OR_RETURN(hc_memory_upload(stage->compute, from[i], size[i], &state->memory[i], err));
        }
    }
    state->how = (HcCalibration){.offset = state->memory[0].data,
                                 .slope = state->memory[1].data,
                                 .gain = state->memory[2].data,
                                 .limit = state->memory[3].data,
                                 .live = state->memory[4].data};
    return HC_OK;
}

static void free_arrays(State *state) {
    free(state->offset);
    free(state->slope);
    free(state->gain);
    free(state->limit);
    free(state->live);
    state->offset = state->slope = state->gain = NULL;
    state->limit = NULL;
    state->live = NULL;
}

static HcStatus make_arrays(HcStage *stage, const HcReference *all, float limit, HcError *err) {
    State *state = stage->state;
    HC_OR_RETURN(hc_new(state->offset, elements_of(stage), "the offsets", err));
    HC_OR_RETURN(hc_new(state->gain, elements_of(stage), "the gains", err));
    HC_OR_RETURN(hc_new(state->live, stage->in.samples, "the columns", err));
    if (isfinite(limit)) {
        HC_OR_RETURN(hc_new(state->limit, stage->in.bands, "the limits", err));
    }
    for (int32_t b = 0; state->limit != NULL && b < stage->in.bands; b++) {
        state->limit[b] = limit;
    }
    HC_OR_RETURN(make_offsets(stage, all, err));
    HC_OR_RETURN(make_gains(stage, all, err));
    return tell_dead(stage, err);
}

static HcStatus open_reflectance(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    HcReference all[REFERENCES] = {{0}};
    float limit = limit_of(stage);
    if (is_empirical(stage)) {
        return hc_spectra_open(&state->empirical.pixels, stage->compute, stage->in.bands, err);
    }
    for (int r = 0; r < REFERENCES; r++) {
        if (state->of[r].path != NULL) {
            HC_TRY(hc_reference_read(stage, &state->of[r], limit, &all[r], err));
        }
    }
    HC_TRY(make_arrays(stage, all, limit, err));
    HC_TRY(upload(stage, err));
done:
    for (int r = 0; r < REFERENCES; r++) {
        hc_reference_clear(&all[r]);
    }
    free_arrays(state);
    return status;
}

/* ---- the empirical line ---- */

static HcStatus observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    const State *state = stage->state;
    return hc_spectra_gather(&state->empirical.pixels, queue, in, err);
}

/* All columns have the offset and the gain of their band. */
static HcStatus make_columns(HcStage *stage, HcError *err) {
    State *state = stage->state;
    size_t bands = (size_t)stage->in.bands;
    HC_OR_RETURN(hc_new(state->offset, elements_of(stage), "the offsets", err));
    HC_OR_RETURN(hc_new(state->gain, elements_of(stage), "the gains", err));
    HC_OR_RETURN(hc_new(state->live, stage->in.samples, "the columns", err));
    memset(state->live, 1, (size_t)stage->in.samples);
    for (size_t i = 0; i < elements_of(stage); i++) {
        state->gain[i] = state->empirical.gain[i % bands];
        state->offset[i] = -state->empirical.offset[i % bands] / state->gain[i];
    }
    return upload(stage, err);
}

static HcStatus settle(HcStage *stage, HcQueue *queue, HcError *err) {
    State *state = stage->state;
    HcStatus status = HC_OK;
    HC_OR_RETURN(hc_wait(queue, err));
    HC_OR_RETURN(hc_empirical_settle(stage, &state->empirical, empirical_of(stage), err));
    status = make_columns(stage, err);
    free_arrays(state);
    return status;
}

static HcStatus process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err) {
    (void)scratch;
    return hc_calibrate(queue, in, &((State *)stage->state)->how, out, err);
}

/* ---- after the run ---- */

static HcStatus finish(HcStage *stage, HcError *err) {
    const State *state = stage->state;
    const char *path = empirical_of(stage)->picture;
    return path != NULL ? hc_empirical_draw(stage, &state->empirical, path, NULL, err) : HC_OK;
}

static HcStatus panels(const HcStage *stage, HcPanels *to, HcError *err) {
    const State *state = stage->state;
    return state->empirical.gain != NULL ? hc_empirical_draw(stage, &state->empirical, NULL, to, err) : HC_OK;
}

static void report(const HcStage *stage, HcJson *to) {
    static const char *const names[] = {"dark_file", "later_dark_file", "white_file", "white_dark_file"};
    const State *state = stage->state;
    if (is_empirical(stage)) {
        hc_empirical_report(stage, &state->empirical, to);
        return;
    }
    for (int r = 0; r < REFERENCES; r++) {
        if (state->of[r].path != NULL) {
            hc_json_put_text(to, names[r], state->of[r].path);
        }
    }
    hc_json_put_double(to, "exposure_factor", state->factor);
    hc_json_put_number(to, "dead_elements", (double)state->dead);
    hc_json_put_number(to, "dead_columns", (double)state->dead_columns);
    hc_json_put_ints(to, "dead_column_band", state->dead_at, 2 * (size_t)hc_min64(state->dead, DEAD_TOLD));
}

static void close_reflectance(HcStage *stage) {
    State *state = stage->state;
    for (int i = 0; i < 5; i++) {
        hc_memory_release(stage->compute, &state->memory[i]);
    }
    free_arrays(state);
    hc_empirical_close(stage, &state->empirical);
    free(state->panel);
    hc_scanner_clear(&state->scanner);
    *state = (State){0};
}

static const char *unit(const HcStage *stage, int32_t band) {
    (void)stage;
    (void)band;
    return "reflectance";
}

const HcStageClass hc_stage_reflectance = {
    .name = "reflectance",
    .summary = "raw counts to reflectance, by dark and white references or an empirical line",
    .example = "hcube reflectance scene.hdr out.tif --dark lines=1-10 --white lines=50-60 --panel 0.99",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .open = open_reflectance,
    .observe = observe,
    .settle = settle,
    .process = process,
    .finish = finish,
    .report = report,
    .close = close_reflectance,
    .rare = {.unit = unit, .panels = panels},
};
