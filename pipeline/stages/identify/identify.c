/* identify: which entry of a library each pixel is, by its angle, its absorption features or expert rules.
 * One operation does it for all methods; the stage brings references to the bands of the scene. */
#include "pipeline/stages/identify/identify.h"
#include "pipeline/chain.h"
#include "pipeline/memory.h"
#include "pipeline/stages/stages.h"
#include "pipeline/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>

typedef HcIdentifyParams Params;
typedef HcIdentifyState State;

static const char *const method_words[] = {"angle", "features", "rules", NULL}; /* as HcIdentifyMethod */
static const char *const rank_words[] = {"fit", "product", NULL};

static const HcOption options[] = {
    {HC_TEXT(Params, library), .file = HC_FILE_READ, .value = "FILE", .required = true,
     .help = "spectral library with the references: ENVI (.sli, .hdr) or CSV"},
    HC_LIBRARY_CHOICE_OPTIONS(Params, choice),
    {HC_CHOICE(Params, method), .choices = method_words, .otherwise = "rules with --rules, else features",
     .help = "compare the spectral angle, the absorption features of each reference, or its expert rules"},
    {HC_TEXT(Params, rules), .file = HC_FILE_READ, .value = "FILE",
     .help = "expert rules (JSON) in the form of CRAMM and USGS MICA: a file, or a folder that holds it. "
             "They name spectra of the library"},
    {HC_INT(Params, top), .range = {1, HC_IDENTIFY_TOP_MAX}, .otherwise = "1; 3 in a table", .value = "COUNT",
     .help = "number of best references that go out, each with its bands"},
    {HC_CHOICE(Params, rank), .choices = rank_words, .standard = "fit",
     .help = "the best reference has the largest fit, or the largest product of fit and depth"},
    {HC_REAL(Params, min_fit, "min-fit"), .range = {0, 1}, .initial = NAN, .otherwise = "0.5",
     .value = "VALUE", .help = "with --method features: least fit (r^2) of a match"},
    {HC_REAL(Params, min_depth, "min-depth"), .range = {0, 1}, .initial = NAN, .otherwise = "0.01",
     .value = "VALUE", .help = "with --method features: least depth of a match"},
    {HC_REAL(Params, max_angle, "max-angle"), .range = {0, 3.2}, .initial = NAN, .otherwise = "no limit",
     .unit = "radians", .value = "ANGLE",
     .help = "with --method angle: a pixel farther from all references is class 0"},
    {HC_FLAG(Params, rejected),
     .help = "add two bands: the best reference before constraints, and the constraint that rejected it (0: "
             "none)"},
    {HC_TEXT(Params, scale), .value = "FACTOR|auto|none", .standard = "auto",
     .help =
         "factor from the unit of the library to that of the scene, for limits of reflectance in rules. auto "
         "takes it from headers and values, none is 1"},
    {HC_TEXT(Params, picture), .file = HC_FILE_WRITTEN, .value = "FILE",
     .help = "draw the mean spectrum of the most frequent classes over their references (.png, .svg, .pdf)"},
    {0}};

/* ---- plan ---- */

/* Options that the method makes no use of. */
static HcStatus check_params(const HcStage *stage, HcError *err) {
    const Params *params = hc_identify_params(stage);
    HcIdentifyMethod method = hc_identify_method(stage);
    bool features = method == HC_IDENTIFY_BY_FEATURES, angle = method == HC_IDENTIFY_BY_ANGLE;
    const struct {
        const char *option;
        bool given, used;
    } uses[] = {{"rules", params->rules != NULL, method == HC_IDENTIFY_BY_RULES},
                {"min-fit", !isnan(params->min_fit), features},
                {"min-depth", !isnan(params->min_depth), features},
                {"max-angle", !isnan(params->max_angle), angle},
                {"rank", params->rank != 0, !angle},
                {"scale", !hc_text_equal(params->scale, "auto"), method == HC_IDENTIFY_BY_RULES}};
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        if (uses[i].given && !uses[i].used) {
            return hc_fail(err, HC_E_USAGE, "identify: --%s: --method %s makes no use of it", uses[i].option,
                           method_words[method]);
        }
    }
    if (method == HC_IDENTIFY_BY_RULES && params->rules == NULL) {
        return hc_fail(err, HC_E_USAGE, "identify: --method rules: give --rules");
    }
    return stage->in.bands <= HC_IDENTIFY_BANDS_MAX
               ? HC_OK
               : hc_fail(err, HC_E_UNSUPPORTED, "identify: %d bands come in: at most %d", stage->in.bands,
                         HC_IDENTIFY_BANDS_MAX);
}

static HcStatus make_rules(HcStage *stage, HcError *err) {
    const Params *params = hc_identify_params(stage);
    State *state = stage->state;
    const HcLibraryFit *fit = &state->library.fit;
    switch (hc_identify_method(stage)) {
    case HC_IDENTIFY_BY_RULES:
        return hc_expert_read(&state->rules, params->rules, params->library, fit, err);
    case HC_IDENTIFY_BY_FEATURES:
        return hc_expert_of_features(&state->rules, params, fit, &state->runs, err);
    default:
        return hc_expert_of_angles(&state->rules, params, fit, &state->runs, err);
    }
}

static HcStatus read_references(HcStage *stage, HcError *err) {
    const Params *params = hc_identify_params(stage);
    State *state = stage->state;
    HcIdentifyMethod method = hc_identify_method(stage);
    bool rules = method == HC_IDENTIFY_BY_RULES;
    if (state->references.references > 0) {
        return HC_OK;
    }
    state->library.fit.partial = method != HC_IDENTIFY_BY_ANGLE;
    HC_OR_RETURN(hc_scaled_library_read(&state->library, stage, params->library, &params->choice,
                                        rules ? params->scale : "none", err));
    HC_OR_RETURN(hc_band_runs_make(&state->runs, stage, 0, err));
    HC_OR_RETURN(make_rules(stage, err));
    HC_OR_RETURN(
        hc_references_make(&state->references, &state->rules, &state->library.fit, &state->runs, err));
    if (!state->rules.levels) {
        state->library.factor = 1;
    }
    const HcReferences *references = &state->references;
    const char *path = rules ? params->rules : params->library;
    if (references->references == 0) {
        return hc_fail(err, HC_E_INPUT,
                       "identify: %s: none of its %d %s has features that the bands of the scene cover", path,
                       references->lost, rules ? "rules" : "spectra");
    }
    if (references->lost > 0) {
        hc_stage_note(stage,
                      "%s: left out: %d of %d %s, without features that the bands of the scene cover: %s",
                      path, references->lost, state->rules.count, rules ? "rules" : "spectra",
                      hc_text_shown(&references->left_out));
    }
    return HC_OK;
}

static HcStatus name_bands(HcScene *out, const HcIdentifyRule *rule, HcError *err) {
    static const char *const words[] = {"class", "fit", "depth", "fit x depth"};
    int32_t band = 0;
    for (int32_t i = 1; i <= rule->top; i++) {
        for (int32_t w = 0; w < hc_identify_each(rule); w++, band++) {
            const char *word = rule->angle && w == 1 ? "angle" : words[w];
            HcAgreement agreement = {.choice = w == 0, .within = w == 0 ? 0 : 0x1p-20};
            HC_OR_RETURN(hc_scene_agree(out, band, agreement, err));
            HC_OR_RETURN(i == 1 ? hc_scene_name_band(out, band, err, "%s", word)
                                : hc_scene_name_band(out, band, err, "%s %d", word, i));
        }
    }
    if (rule->rejected) {
        HC_OR_RETURN(hc_scene_agree(out, band, (HcAgreement){.choice = true}, err));
        HC_OR_RETURN(hc_scene_agree(out, band + 1, (HcAgreement){.choice = true}, err));
        HC_OR_RETURN(hc_scene_name_band(out, band, err, "candidate"));
        HC_OR_RETURN(hc_scene_name_band(out, band + 1, err, "rejected by"));
    }
    return HC_OK;
}

static HcStatus name_classes(HcScene *out, const HcExpertRules *rules, HcError *err) {
    HC_OR_RETURN(hc_classes_make(&out->classes, rules->count + 1, err));
    for (int32_t r = 0; r < rules->count; r++) {
        HC_OR_RETURN(hc_classes_name(&out->classes, r + 1, rules->rule[r].name, err));
        for (int i = 0; i < 3 && rules->rule[r].coloured; i++) {
            out->classes.colour[r + 1][i] = rules->rule[r].colour[i];
        }
    }
    hc_classes_colour_by_name(&out->classes);
    return HC_OK;
}

static HcStatus plan(HcStage *stage, HcError *err) {
    State *state = stage->state;
    HcScene *out = &stage->out;
    HC_OR_RETURN(hc_statistics_of_values(&stage->in, "identify", err));
    HC_OR_RETURN(check_params(stage, err));
    HC_OR_RETURN(read_references(stage, err));
    HcIdentifyRule rule = hc_identify_rule(stage);
    HC_OR_RETURN(hc_scene_copy(out, &stage->in, err));
    HC_OR_RETURN(hc_scene_reband(out, hc_identify_bands(&rule), HC_CLASS_MAP, err));
    out->has_nodata = false; /* the mask alone says where there is no class */
    out->integer_limit = 0;
    HC_OR_RETURN(name_classes(out, &state->rules, err));
    HC_OR_RETURN(name_bands(out, &rule, err));
    stage->needs.observes = hc_scaled_library_looks(&state->library) && !stage->settled;
    hc_stage_takes(stage, HC_SPACE_DEVICE,
                   (size_t)rule.references * sizeof *rule.reference +
                       (size_t)rule.features * sizeof *rule.feature +
                       (size_t)rule.entries * sizeof *rule.entry);
    hc_stage_takes(stage, HC_SPACE_HOST, hc_scaled_library_bytes(&state->library));
    return hc_found_plan(stage, err);
}

/* ---- the run ---- */

/* Limits of reflectance are in the unit of the library. */
static void scale_levels(HcReferences *references, double factor) {
    for (int32_t f = 0; f < references->features; f++) {
        for (int i = 0; i < 3; i++) {
            references->feature[f].level[i].low *= factor;
            references->feature[f].level[i].high *= factor;
        }
    }
}

static HcStatus start(HcStage *stage, HcError *err) {
    State *state = stage->state;
    HcReferences *from = &state->references;
    scale_levels(from, state->library.factor);
    HC_OR_RETURN(hc_memory_upload(stage->compute, from->reference,
                                  (size_t)from->references * sizeof *from->reference, &state->reference,
                                  err));
    HC_OR_RETURN(hc_memory_upload(stage->compute, from->feature,
                                  (size_t)from->features * sizeof *from->feature, &state->feature, err));
    return hc_memory_upload(stage->compute, from->entry, (size_t)from->entries * sizeof *from->entry,
                            &state->entry, err);
}

static HcStatus open_identify(HcStage *stage, HcError *err) {
    State *state = stage->state;
    HC_OR_RETURN(hc_found_open(stage, err));
    return hc_scaled_library_looks(&state->library) ? hc_scaled_library_open(&state->library, stage, err)
                                                    : start(stage, err);
}

static HcStatus observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    return hc_scaled_library_observe(&((State *)stage->state)->library, queue, in, err);
}

static HcStatus settle(HcStage *stage, HcQueue *queue, HcError *err) {
    State *state = stage->state;
    HC_OR_RETURN(
        hc_scaled_library_settle(&state->library, stage, hc_identify_params(stage)->library, queue, err));
    return start(stage, err);
}

static HcStatus process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err) {
    (void)scratch;
    HcIdentifyRule rule = hc_identify_rule(stage);
    HC_OR_RETURN(hc_identify(queue, in, &rule, out, err));
    return hc_found_add(stage, queue, in, out, err);
}

static void report(const HcStage *stage, HcJson *to) {
    const State *state = stage->state;
    hc_json_put_text(to, "method", method_words[hc_identify_method(stage)]);
    hc_json_put_number(to, "references", state->references.references);
    hc_json_put_number(to, "left_out_references", state->references.lost);
    hc_json_put_number(to, "features", state->references.features);
    hc_json_put_number(to, "library_factor", state->library.factor);
    hc_library_figures_json(&state->library.fit.figures, to);
}

static void close_identify(HcStage *stage) {
    State *state = stage->state;
    hc_memory_release(stage->compute, &state->reference);
    hc_memory_release(stage->compute, &state->feature);
    hc_memory_release(stage->compute, &state->entry);
    hc_scaled_library_clear(&state->library, stage->compute);
    hc_band_runs_clear(&state->runs);
    hc_expert_clear(&state->rules);
    hc_references_clear(&state->references);
    hc_spectra_clear(&state->in, stage->compute);
    hc_spectra_clear(&state->out, stage->compute);
    *state = (State){0};
}

static const char *unit(const HcStage *stage, int32_t band) {
    HcIdentifyRule rule = hc_identify_rule(stage);
    return rule.angle && band < 2 * rule.top && band % 2 == 1 ? "rad" : NULL;
}

const HcStageClass hc_stage_identify = {
    .name = "identify",
    .summary = "what each pixel is, by spectral angle, absorption features or expert rules",
    .cite =
        "Clark et al.: Imaging spectroscopy: Earth and planetary remote sensing with the USGS Tetracorder "
        "and expert systems, JGR 108(E12), 2003",
    .example = "hcube identify scene.hdr minerals.tif --library library.sli --method angle",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .open = open_identify,
    .observe = observe,
    .settle = settle,
    .process = process,
    .gather = hc_found_gather,
    .finish = hc_found_finish,
    .report = report,
    .rare = {.of_library = hc_identify_library, .panels = hc_found_panels, .unit = unit},
    .close = close_identify,
};
