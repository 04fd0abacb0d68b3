/* index: named indices and formulas of bands. Both are compiled to one program (compile.c), which an
 * operation runs for each pixel. */
#include "core/allocate.h"
#include "pipeline/chain.h"
#include "pipeline/memory.h"
#include "pipeline/picture/unit.h"
#include "pipeline/stages/index/indices.h"
#include "pipeline/stages/stages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Params {
    const char *formulas, *constants;
    double one;
    bool list;
} Params;

enum { STEPS, INPUTS, MISSING, BUFFERS };

typedef struct State {
    HcIndices indices;
    HcBuffer buffer[BUFFERS]; /* [device] the program, and counts of missing values */
    bool whole;               /* a later stage needs whole pixels */
    int64_t *missing;         /* [outputs], once the scene has passed */
} State;

static const HcOption options[] = {
    {HC_TEXT(Params, formulas), .value = "LIST", .positional = true, .required = true,
     .help = "names and formulas, apart by commas: NDVI,'(R860 - R660) / (R860 + R660)','wet = b12 / b30'"},
    {HC_TEXT(Params, constants), .value = "NAME=NUMBER,...", .otherwise = "as hcube index --list has them",
     .help = "other constants and wavelengths of named indices: L=0.5,N=865"},
    {HC_REAL(Params, one, "reflectance-one"), .range = {0, INFINITY}, .open = HC_OPEN_BOTH, .initial = NAN,
     .value = "VALUE", .otherwise = "as the header says, else 1",
     .help = "value of reflectance 1 in the scene, such as 10000"},
    {HC_FLAG(Params, list),
     .help =
         "list the named indices and stop: hcube index --list [PATTERN], where the pattern is a part of a "
         "name, domain, formula or title"},
    {0}};

/* ---- plan ---- */

/* Whether a stage follows that needs whole pixels: one that neither chooses bands nor writes a file. */
static bool needs_whole(const HcStage *stage) {
    bool whole = false;
    for (int32_t s = stage->place + 1; s < stage->chain->count; s++) {
        const HcStageClass *kind = stage->chain->stages[s].kind;
        whole = whole || (kind->role == HC_ROLE_STAGE && !kind->rare.keeps_values);
    }
    return whole;
}

/* Whether the values are said to have no unit, as those of a reflectance product of EMIT. */
static bool has_no_unit(const HcStage *stage) {
    static const char *const words[] = {"unitless", "dimensionless", "reflectance", "1"};
    const char *unit = hc_unit_of(stage, 0);
    bool none = false;
    for (size_t w = 0; w < sizeof words / sizeof *words && unit != NULL; w++) {
        none = none || hc_text_equal_trimmed(unit, words[w]);
    }
    return none;
}

/* Constants of named indices are meant for reflectances. Integers cannot be reflectances from 0 to 1, so that
 * nothing is assumed of them. */
static HcStatus tell_unit(HcStage *stage, HcError *err) {
    const HcIndices *indices = &((State *)stage->state)->indices;
    const HcScene *in = &stage->in;
    bool integers = in->integer_limit > 1 || (in->stored && in->type < HC_FLOAT32);
    const char *first = NULL;
    int32_t others = -1;
    for (int32_t k = indices->outputs - 1; k >= 0; k--) {
        bool counts = indices->output[k].named && indices->output[k].by_unit;
        first = counts ? indices->output[k].text : first;
        others += counts;
    }
    char told[160];
    (void)snprintf(told, sizeof told,
                   "values of %s (and %d others) depend on their unit, which the header does not say",
                   first != NULL ? first : "", others);
    if (first != NULL && integers) {
        return hc_fail(err, HC_E_USAGE,
                       "index: %s: give --reflectance-one 10000 (the value of reflectance 1)", told);
    }
    if (first != NULL && !has_no_unit(stage)) {
        hc_stage_note(stage, "%s: bands are taken as reflectances from 0 to 1 (--reflectance-one)", told);
    }
    return HC_OK;
}

/* Bands become reflectances, as far as their scale is known. */
static HcStatus scale_bands(HcStage *stage, HcError *err) {
    double one = ((const Params *)stage->params)->one;
    HcIndices *indices = &((State *)stage->state)->indices;
    for (int32_t k = 0; k < indices->inputs; k++) {
        HcFormulaInput *input = &indices->input[k];
        HcScale scale = isnan(one) ? hc_scene_scale(&stage->in, input->band) : (HcScale){1 / one, 0};
        input->gain = scale.gain;
        input->offset = scale.offset;
    }
    return isnan(one) && stage->in.gain == NULL ? tell_unit(stage, err) : HC_OK;
}

/* A formula that the user gives may be one of slopes; a named index is one of reflectances. */
static HcStatus check_names(const HcStage *stage, HcError *err) {
    const HcIndices *indices = &((const State *)stage->state)->indices;
    for (int32_t k = 0; k < indices->outputs && stage->in.meaning == HC_SHAPE; k++) {
        if (indices->output[k].named) {
            return hc_fail(err, HC_E_USAGE,
                           "index: %s: derivatives or shapes of spectra come in, a named index needs "
                           "reflectances (a formula in wavelengths takes any values)",
                           indices->output[k].text);
        }
    }
    return HC_OK;
}

static HcStatus plan_out(HcStage *stage, HcError *err) {
    const HcIndices *indices = &((State *)stage->state)->indices;
    HcScene *out = &stage->out;
    HC_OR_RETURN(hc_scene_copy(out, &stage->in, err));
    HC_OR_RETURN(hc_scene_reband(out, indices->outputs, HC_OTHER, err));
    out->has_nodata = out->shares_nodata = out->complete = false; /* any value may be an index */
    for (int32_t k = 0; k < indices->outputs; k++) {
        HC_OR_RETURN(hc_scene_name_band(out, k, err, "%s", indices->output[k].name));
    }
    return HC_OK;
}

static size_t bytes_of(const HcIndices *indices, int buffer) {
    size_t bytes[] = {(size_t)indices->steps * sizeof *indices->step,
                      (size_t)indices->inputs * sizeof *indices->input,
                      (size_t)indices->outputs * sizeof(int64_t)};
    return bytes[buffer];
}

static HcStatus plan(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    if (params->list) {
        return hc_fail(err, HC_E_USAGE, "index: --list: no part of a run, give hcube index --list");
    }
    if (!stage->is_open) { /* until then an earlier fit may change what comes in */
        hc_indices_clear(&state->indices);
        HC_OR_RETURN(
            hc_indices_compile(&state->indices, params->formulas, params->constants, &stage->in, err));
        HC_OR_RETURN(check_names(stage, err));
        HC_OR_RETURN(scale_bands(stage, err));
    }
    state->whole = needs_whole(stage);
    for (int k = 0; k < BUFFERS; k++) {
        hc_stage_takes(stage, HC_SPACE_DEVICE, bytes_of(&state->indices, k));
    }
    hc_stage_takes(stage, HC_SPACE_WORKER,
                   ((size_t)state->indices.inputs + HC_FORMULA_DEPTH) * HC_FORMULA_RUN * sizeof(double));
    stage->needs.missing = HC_MISSING_TAKEN;
    stage->masks =
        state->whole ? "an index has no value, and a later stage needs all" : "no index has a value";
    return plan_out(stage, err);
}

/* ---- the run ---- */

static HcStatus open_index(HcStage *stage, HcError *err) {
    State *state = stage->state;
    HcIndices *from = &state->indices;
    const void *parts[] = {from->step, from->input};
    for (int k = 0; k < MISSING; k++) {
        HC_OR_RETURN(hc_memory_upload(stage->compute, parts[k], bytes_of(from, k), &state->buffer[k], err));
    }
    return hc_memory_zeros(stage->compute, bytes_of(from, MISSING), &state->buffer[MISSING], err);
}

static HcStatus process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err) {
    (void)scratch;
    const State *state = stage->state;
    HcFormula formula = {.step = state->buffer[STEPS].data,
                         .input = state->buffer[INPUTS].data,
                         .steps = state->indices.steps,
                         .inputs = state->indices.inputs,
                         .whole = state->whole,
                         .missing = state->buffer[MISSING].data};
    if (out->line0 == stage->chain->first_line) { /* a pass begins: only the last one counts */
        HC_OR_RETURN(hc_zero(queue, formula.missing, bytes_of(&state->indices, MISSING), err));
    }
    return hc_formula(queue, in, &formula, out, err);
}

static void note_missing(HcStage *stage) {
    const State *state = stage->state;
    int32_t lacking = 0, worst = 0;
    for (int32_t k = 0; k < state->indices.outputs; k++) {
        lacking += state->missing[k] > 0;
        worst = state->missing[k] > state->missing[worst] ? k : worst;
    }
    if (lacking > 0) {
        hc_stage_note(stage,
                      "%d of %d bands lack values (division by 0, or not finite), most of them %s: "
                      "%lld of %lld pixels",
                      lacking, state->indices.outputs, state->indices.output[worst].name,
                      (long long)state->missing[worst], (long long)(stage->in.lines * stage->in.samples));
    }
}

static HcStatus gather(HcStage *stage, HcError *err) {
    State *state = stage->state;
    size_t count = (size_t)state->indices.outputs;
    free(state->missing);
    HC_OR_RETURN(hc_new(state->missing, count, "counts of missing values", err));
    HC_OR_RETURN(hc_memory_download(stage->compute, &state->buffer[MISSING], state->missing,
                                    count * sizeof *state->missing, err));
    HC_OR_RETURN(hc_ranks_sum(hc_stage_ranks(stage), state->missing, count, err));
    note_missing(stage);
    return HC_OK;
}

static void report(const HcStage *stage, HcJson *to) {
    const State *state = stage->state;
    const HcIndices *indices = &state->indices;
    hc_json_open_array(to, "indices");
    for (int32_t k = 0; k < indices->outputs && state->missing != NULL; k++) {
        const HcNamedIndex *named = hc_named_index(indices->output[k].text);
        hc_json_open_object(to, NULL);
        hc_json_put_text(to, "name", indices->output[k].name);
        hc_json_put_text(to, "formula", named != NULL ? named->formula : indices->output[k].text);
        hc_json_put_number(to, "missing_pixels", (double)state->missing[k]);
        hc_json_close(to);
    }
    hc_json_close(to);
    hc_json_open_array(to, "bands_used_from_1");
    for (int32_t k = 0; k < indices->inputs; k++) {
        hc_json_put_number(to, NULL, indices->input[k].band + 1);
    }
    hc_json_close(to);
}

static void list_indices(const char *pattern, HcText *to) {
    for (const HcNamedIndex *index = hc_named_indices; index->name != NULL; index++) {
        if (strcasestr(index->name, pattern) != NULL || strcasestr(index->domain, pattern) != NULL ||
            strcasestr(index->formula, pattern) != NULL || strcasestr(index->title, pattern) != NULL) {
            hc_text_add(to, "%-15s %-10s %s; %s; %s\n", index->name, index->domain, index->formula,
                        index->title, index->reference);
        }
    }
}

static void close_index(HcStage *stage) {
    State *state = stage->state;
    for (int k = 0; k < BUFFERS; k++) {
        hc_memory_release(stage->compute, &state->buffer[k]);
    }
    hc_indices_clear(&state->indices);
    free(state->missing);
    *state = (State){0};
}

const HcStageClass hc_stage_index = {
    .name = "index",
    .summary = "named spectral indices, and formulas of bands by wavelength or number",
    .cite = "Montero et al.: A standardized catalogue of spectral indices, Scientific Data 10, 2023",
    .example = "hcube index scene.hdr indices.tif --formulas NDVI,NDWI",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .open = open_index,
    .process = process,
    .gather = gather,
    .report = report,
    .rare = {.list = list_indices},
    .close = close_index,
};
