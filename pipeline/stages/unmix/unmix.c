/* unmix: how much of each spectrum of a library is in a pixel: sparse, not negative. */
#include "core/operation/unmix/unmix.h"
#include "pipeline/spectra/mixture.h"
#include "pipeline/stages/stages.h"
#include "pipeline/stages/unmix/noise_map.h"
#include "pipeline/stages/unmix/unmix_lambda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Params {
    const char *library;
    HcLibraryChoice choice;
    const char *lambda, *noise_map;
    bool sum_to_one;
    const char *scale, *weights;
    int32_t solver;
    double gap;
    int64_t iterations, top;
    double threshold;
    const char *add;
} Params;

typedef struct State {
    HcMixture mixture; /* first */
    bool add[HC_UNMIX_ADDS];
    double lambda; /* in the unit of the library, squared; that of --lambda auto once it is started */
    HcUnmixLambda by_noise;
    HcNoiseMap noise_map;
    HcUnmixing *open; /* once the unit of the scene is known */
} State;

static const double standard_lambda = 1e-3;

static const char *const solver_words[] = {"active", "fista", "alm", NULL}; /* as HcUnmixSolver */

static const HcOption options[] = {
    {HC_TEXT(Params, library), .file = HC_FILE_READ, .value = "FILE", .required = true,
     .help = "spectral library: ENVI (.sli, .hdr) or CSV"},
    HC_LIBRARY_CHOICE_OPTIONS(Params, choice),
    {HC_TEXT(Params, lambda), .otherwise = "0.001; 0 with --sum-to-one",
     .unit = "squared units of the library", .value = "VALUE|auto",
     .help = "penalty of the sum of abundances (0 to 1e30); larger values leave fewer spectra. auto derives "
             "it from the noise of the scene"},
    {HC_TEXT(Params, noise_map, "noise-map"), .file = HC_FILE_READ, .value = "FILE",
     .otherwise = "the same lambda for all pixels",
     .help = "scale lambda by the noise of each pixel: a raster with one band of standard deviations, or a "
             "file from noise --columns (.json). Lambda applies to their root mean square"},
    {HC_FLAG(Params, sum_to_one, "sum-to-one"), .excludes = "lambda noise-map",
     .help = "constrain the abundances of a pixel to sum to 1, without a penalty"},
    {HC_TEXT(Params, scale), .value = "FACTOR|auto|none", .standard = "auto",
     .help = "factor from the unit of the library to that of the scene; auto takes it from headers and "
             "values, none is 1"},
    {HC_TEXT(Params, weights), .file = HC_FILE_READ, .value = "FILE", .otherwise = "all bands count the same",
     .help = "weight bands by 1 / variance of their noise: a file from cov --noise (.json), or a list of "
             "standard deviations, one for each band"},
    {HC_CHOICE(Params, solver), .choices = solver_words, .standard = "active",
     .help = "method: active sets, fast proximal gradients (fista) or augmented Lagrangian (alm)"},
    {HC_REAL(Params, gap), .range = {1e-12, 1}, .initial = 1e-4, .value = "VALUE",
     .help = "largest relative duality gap (F(x) - lower bound) / F(x) of a converged pixel"},
    {HC_INT(Params, iterations), .range = {1, 1000000000}, .initial = 1000, .value = "COUNT",
     .help = "maximum number of solver steps for a pixel"},
    {HC_INT(Params, top), .range = {1, HC_UNMIX_SPECTRA_MAX}, .otherwise = "all abundances", .value = "COUNT",
     .help = "write only this many of the largest abundances: first the numbers of their library entries "
             "(from 1; 0 pads), then their values"},
    {HC_REAL(Params, threshold), .range = {0, 1e30}, .initial = 0, .value = "VALUE",
     .help = "abundances below this become 0"},
    {HC_TEXT(Params, add), .value = "BAND[,BAND]",
     .help = "add bands: rmse [units of the input], iterations, gap, end (0: converged, 1: not)"},
    {0}};

static const Params *params_of(const HcStage *stage) {
    return stage->params;
}

/* ---- plan ---- */

static HcStatus parse_added(const char *text, bool add[HC_UNMIX_ADDS], HcError *err) {
    memset(add, 0, HC_UNMIX_ADDS * sizeof *add);
    while (text != NULL && *text != '\0') {
        char word[16] = {0};
        size_t length = strcspn(text, ",");
        memcpy(word, text, length < sizeof word ? length : sizeof word - 1);
        int32_t w = hc_text_find(word, hc_unmix_add_words);
        if (w < 0) {
            const char *nearest = hc_text_nearest(word, hc_unmix_add_words);
            return nearest != NULL
                       ? hc_fail(err, HC_E_USAGE, "unmix: --add %s: unknown, did you mean %s?", word, nearest)
                       : hc_fail(err, HC_E_USAGE, "unmix: --add %s: rmse, iterations, gap or end", word);
        }
        add[w] = true;
        text += length + (text[length] == ',');
    }
    return HC_OK;
}

static HcStatus check_params(const HcStage *stage, HcError *err) {
    const Params *params = params_of(stage);
    State *state = stage->state;
    double lambda = 0;
    HC_OR_RETURN(
        hc_unmix_lambda_parse(params->lambda, params->sum_to_one ? 0 : standard_lambda, &lambda, err));
    state->by_noise.automatic = isnan(lambda);
    if (lambda == 0 && params->noise_map != NULL) {
        return hc_fail(err, HC_E_USAGE, "unmix: --noise-map %s: changes nothing with --lambda 0",
                       params->noise_map);
    }
    if (!state->by_noise.automatic) {
        state->lambda = lambda;
    }
    return HC_OK;
}

static HcStatus check_library(const HcStage *stage, HcError *err) {
    const Params *params = params_of(stage);
    int32_t count = ((const HcMixture *)stage->state)->library.fit.count;
    if (count > HC_UNMIX_SPECTRA_MAX) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: %d spectra: at most %d", params->library, count,
                       HC_UNMIX_SPECTRA_MAX);
    }
    if (params->top > count) {
        return hc_fail(err, HC_E_USAGE, "unmix: --top %lld: %s has %d spectra to use", (long long)params->top,
                       params->library, count);
    }
    return HC_OK;
}

/* Points into the state: valid while that is. Spectra and lambda are still in the unit of the library. */
static HcUnmixRule rule_of(const HcStage *stage) {
    const Params *params = params_of(stage);
    const State *state = stage->state;
    HcUnmixRule rule = {.spectra = state->mixture.library.fit.count,
                        .bands = state->mixture.library.fit.bands,
                        .spectrum = state->mixture.library.fit.value,
                        .weight = state->mixture.weight,
                        .lambda = state->lambda,
                        .sum_to_one = params->sum_to_one,
                        .solver = (HcUnmixSolver)params->solver,
                        .gap = params->gap,
                        .iterations = (int32_t)params->iterations,
                        .top = (int32_t)params->top,
                        .threshold = params->threshold,
                        .level = state->noise_map.level.data,
                        .level_pixels = stage->in.lines * stage->in.samples,
                        .counts = state->mixture.counts.data};
    memcpy(rule.add, state->add, sizeof rule.add);
    return rule;
}

static HcStatus name_bands(HcScene *out, const HcUnmixRule *rule, const HcLibraryFit *library, HcError *err) {
    int32_t band = 0;
    for (int32_t k = 0; rule->top == 0 && k < rule->spectra; k++) {
        HC_OR_RETURN(hc_scene_name_band(out, band++, err, "%s", library->name[k]));
    }
    for (int32_t k = 1; k <= rule->top; k++) {
        HC_OR_RETURN(hc_scene_agree(out, band, (HcAgreement){.choice = true}, err));
        HC_OR_RETURN(hc_scene_name_band(out, band++, err, "spectrum %d", k));
    }
    for (int32_t k = 1; k <= rule->top; k++) {
        HC_OR_RETURN(hc_scene_name_band(out, band++, err, "abundance %d", k));
    }
    const HcAgreement agreement[HC_UNMIX_ADDS] = {
        [HC_UNMIX_ADD_RMSE] = {.within = hc_library_fit_rounding(library)},
        [HC_UNMIX_ADD_ITERATIONS] = {.within = rule->iterations},
        [HC_UNMIX_ADD_GAP] = {.choice = true, .within = rule->gap},
        [HC_UNMIX_ADD_END] = {.choice = true}};
    for (int a = 0; a < HC_UNMIX_ADDS; a++) {
        if (rule->add[a]) {
            band = hc_unmix_added_band(rule, (HcUnmixAdd)a);
            HC_OR_RETURN(hc_scene_agree(out, band, agreement[a], err));
            HC_OR_RETURN(hc_scene_name_band(out, band, err, "%s", hc_unmix_add_words[a]));
        }
    }
    return HC_OK;
}

/* What the numbers of --top stand for, for the files that hold them: 0 for none, and entries of the library.
 * Those that are not used have no name. */
static HcStatus name_numbers(HcScene *out, const HcUnmixRule *rule, const HcLibraryFit *library,
                             HcError *err) {
    HcText names = {0};
    int32_t number = 1;
    if (rule->top == 0) {
        return HC_OK;
    }
    hc_text_add(&names, "none");
    for (int32_t k = 0; k < rule->spectra; k++, number++) {
        for (; number <= library->from[k]; number++) {
            hc_text_add(&names, "\n-");
        }
        hc_text_add(&names, "\n%s", library->name[k]);
    }
    out->number_names = hc_text_take(&names);
    return out->number_names != NULL ? HC_OK : hc_fail_memory(err, 0, "the names of spectra");
}

/* The operation counts the used spectra from 0; files count the entries of the library from 1. */
static void number_entries(const HcStage *stage, float *value, const uint8_t *valid, size_t pixels,
                           int32_t bands) {
    (void)valid;
    const int32_t *from = ((const State *)stage->state)->mixture.library.fit.from;
    int64_t top = params_of(stage)->top;
    for (size_t p = 0; p < pixels; p++, value += bands) {
        for (int64_t k = 0; k < top; k++) {
            value[k] = value[top + k] > 0 ? (float)(from[(int32_t)value[k]] + 1) : 0;
        }
    }
}

/* Opens the operation; lambda goes with the square of the factor. */
static HcStatus start(HcStage *stage, const float *spectra, HcError *err) {
    State *state = stage->state;
    double factor = state->mixture.library.factor;
    if (state->by_noise.automatic) {
        HC_OR_RETURN(hc_unmix_lambda_of(&state->by_noise, spectra, state->mixture.library.fit.count,
                                        state->mixture.library.fit.bands, state->mixture.weight, err));
        state->lambda = state->by_noise.value / (factor * factor);
    }
    HcUnmixRule rule = rule_of(stage);
    rule.spectrum = spectra;
    rule.lambda *= factor * factor;
    HC_OR_RETURN(hc_unmix_open(stage->compute, &rule, &state->open, err));
    if (rule.level != NULL) {
        hc_noise_map_note(&state->noise_map, stage, params_of(stage)->noise_map, state->lambda);
    }
    return HC_OK;
}

static HcStatus plan(HcStage *stage, HcError *err) {
    const Params *params = params_of(stage);
    State *state = stage->state;
    HcScene *out = &stage->out;
    HC_OR_RETURN(check_params(stage, err));
    HC_OR_RETURN(parse_added(params->add, state->add, err));
    HC_OR_RETURN(
        hc_mixture_read(stage, params->library, &params->choice, params->scale, params->weights, err));
    HC_OR_RETURN(check_library(stage, err));
    HcUnmixRule rule = rule_of(stage);
    HC_OR_RETURN(hc_scene_copy(out, &stage->in, err));
    HC_OR_RETURN(hc_scene_reband(out, hc_unmix_bands(&rule), HC_OTHER, err));
    out->has_nodata = false; /* any value may be an abundance: the mask alone says where there is none */
    HC_OR_RETURN(name_bands(out, &rule, &state->mixture.library.fit, err));
    HC_OR_RETURN(name_numbers(out, &rule, &state->mixture.library.fit, err));
    out->meaning = out->number_names == NULL ? HC_FRACTION : HC_OTHER; /* numbers of spectra come first */
    hc_mixture_plan(stage,
                    &(HcMixturePlan){params->library, 0, hc_unmix_counts(&rule), start,
                                     state->by_noise.automatic, params->top > 0 ? number_entries : NULL});
    if (state->by_noise.automatic && !stage->settled) {
        hc_unmix_lambda_plan(&state->by_noise, stage);
    }
    return params->noise_map != NULL ? hc_noise_map_plan(&state->noise_map, stage, params->noise_map, err)
                                     : HC_OK;
}

/* ---- the run ---- */

static HcStatus open_unmix(HcStage *stage, HcError *err) {
    State *state = stage->state;
    const char *map = params_of(stage)->noise_map;
    if (map != NULL) {
        HC_OR_RETURN(hc_noise_map_open(&state->noise_map, stage, map, err));
    }
    return hc_mixture_open(stage, err);
}

static HcStatus settle(HcStage *stage, HcQueue *queue, HcError *err) {
    State *state = stage->state;
    if (state->by_noise.automatic) {
        HC_OR_RETURN(hc_unmix_lambda_settle(&state->by_noise, stage, queue, err));
    }
    HC_OR_RETURN(hc_mixture_settle(stage, queue, err));
    if (state->by_noise.automatic) {
        hc_stage_note(
            stage, "--lambda auto: %.4g, for noise%s with a deviation of %.4g in the unit of the scene",
            state->lambda, state->by_noise.denoised ? " that denoise leaves," : "", state->by_noise.sigma);
    }
    return HC_OK;
}

static HcStatus process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err) {
    (void)scratch;
    const State *state = stage->state;
    HC_OR_RETURN(hc_mixture_before(stage, queue, out, err));
    HC_OR_RETURN(hc_unmix(queue, in, state->open, out, err));
    return hc_mixture_after(stage, queue, in, out, err);
}

static HcStatus gather(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    const Params *params = params_of(stage);
    HcMixture *mixture = stage->state;
    HcUnmixRule rule = rule_of(stage);
    int64_t *counts = NULL;
    HC_TRY(hc_abundance_counts_gather(stage, &mixture->counts, HC_UNMIX_COUNT_GAP, &counts, err));
    HC_TRY(hc_abundance_tally_unmix(&mixture->tally, counts, rule.spectra, rule.spectra, err));
    HC_TRY(hc_abundance_fit_gather(&mixture->fit, stage, &mixture->library, rule.top, err));
    hc_abundance_tally_note(stage, &mixture->tally, &mixture->library.fit,
                            params->sum_to_one ? "sums are one" : "sums are free", rule.top > 0);
    hc_abundance_fit_note(stage, &mixture->fit, params->sum_to_one,
                          hc_abundance_tally_total(&mixture->tally, rule.spectra), "leave out --sum-to-one");
    if (mixture->tally.unfinished > 0) {
        hc_stage_note(stage,
                      "%lld of %lld pixels ended before the gap of %.3g was reached, the worst at %.3g "
                      "(more --iterations, or another --solver)",
                      (long long)mixture->tally.unfinished, (long long)mixture->tally.pixels, params->gap,
                      mixture->tally.worst);
    }
done:
    free(counts);
    return status;
}

static void report(const HcStage *stage, HcJson *to) {
    const HcMixture *mixture = stage->state;
    HcUnmixRule rule = rule_of(stage);
    if (mixture->tally.mean == NULL) {
        return;
    }
    hc_json_put_number(to, "lambda", rule.lambda);
    hc_noise_choice_put(&((const State *)stage->state)->by_noise.choice, to);
    hc_noise_map_put(&((const State *)stage->state)->noise_map, to);
    hc_mixture_report(stage, "largest_gap", to);
}

static void close_unmix(HcStage *stage) {
    State *state = stage->state;
    if (stage->compute != NULL && state->open != NULL) {
        hc_unmix_close(state->open);
    }
    hc_unmix_lambda_close(&state->by_noise);
    hc_noise_map_close(&state->noise_map, stage->compute);
    hc_mixture_close(stage);
    *state = (State){0};
}

/* With --top, numbers of spectra come first. */
static const char *unit(const HcStage *stage, int32_t band) {
    int32_t top = (int32_t)params_of(stage)->top;
    int32_t count = top > 0 ? top : ((const State *)stage->state)->mixture.library.fit.count;
    return band >= top && band < top + count ? "fraction" : NULL;
}

const HcStageClass hc_stage_unmix = {
    .name = "unmix",
    .summary = "abundances of library spectra: sparse, not negative, free sums, certified gap",
    .cite = "Iordache, Bioucas-Dias, Plaza: Sparse unmixing of hyperspectral data, IEEE TGRS 49(6), 2011",
    .example = "hcube unmix scene.hdr abundances.tif --library library.sli --lambda 1e-3",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .open = open_unmix,
    .observe = hc_mixture_observe,
    .settle = settle,
    .process = process,
    .gather = gather,
    .report = report,
    .rare = {.unit = unit},
    .close = close_unmix,
};
