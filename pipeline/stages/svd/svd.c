/* svd: singular values of the patches of a scene: denoising, and local dimension. */
#include "core/operation/svd/svd.h"
#include "core/patch.h"
#include "pipeline/stages/shared/linear.h"
#include "pipeline/stages/stages.h"
#include "pipeline/stages/svd/svd_reduced.h"
#include "pipeline/statistics/noise/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Params {
    int64_t window, step;
    bool tiled;
    const char *keep, *noise;
    int32_t output;
    int64_t values;
} Params;

typedef struct State {
    HcSceneSums sums, differences; /* of a scene that is to be reduced */
    HcSvdReduced reduced;
    HcPatches *patches;
} State;

enum { OUTPUT_DENOISED, OUTPUT_DIMENSION };

/* A patch needs about as many pixels as bands to tell signal from noise. Of reduced scenes small patches are
 * enough, and take the least time. The less noise a scene has, the more components it keeps: so the window
 * goes by the noise, too (docs/stages/svd.md has the figures). */
enum { WINDOW = 16, SMALL_WINDOW = 8, REDUCED_BANDS = 32 };

/* The median of fewer singular values is easily one of signal. */
enum { NOISE_VALUES = 10 };

static const char noise_of_scene[] = "scene";
static const char *const output_words[] = {"denoised", "dimension", NULL};

/* As HcPatchKeep has them, but for COUNT. */
static const char *const keep_words[] = {"optimal", "edge", "shrink", NULL};

static const HcOption options[] = {
    {HC_INT(Params, window, "side"), .was = "window", .range = {1, HC_PATCH_SIZE_MAX},
     .otherwise = "16; 8 if patches have at most 32 bands or components, and with --output dimension",
     .unit = "pixels", .value = "SIDE", .help = "side of a square patch"},
    {HC_INT(Params, step), .range = {1, HC_PATCH_SIZE_MAX}, .otherwise = "half the side", .unit = "pixels",
     .value = "STEP", .help = "lines and samples from one patch to the next, at most the side"},
    {HC_FLAG(Params, tiled), .one_of = "step tiled", .help = "do not overlap patches: the step is the side"},
    {HC_TEXT(Params, keep), .value = "optimal|edge|shrink|COUNT",
     .otherwise = "shrink; with --output dimension optimal",
     .help = "singular values that count as signal: those above the optimal limit, those above the edge of "
             "the noise, or this many. shrink: those above the edge, less the part of the noise"},
    {HC_TEXT(Params, noise), .unit = "units of the input", .value = "SIGMA|estimate|scene",
     .otherwise = "scene if the input has bands with their noise; else 1, as after mnf",
     .help = "standard deviation of the noise in every band, an estimate in each patch, or that of the "
             "scene. scene: a regression of each band on all others first reduces the scene to the "
             "components with signal"},
    {HC_CHOICE(Params, output), .choices = output_words, .standard = "denoised",
     .help = "what to write: the bands without the noise, or the number of singular values that are signal"},
    {HC_INT(Params, values), .range = {0, HC_SVD_MAX}, .initial = 0, .value = "COUNT",
     .needs = "output=dimension", .help = "add bands with this many of the largest singular values"},
    {0}};

static const Params *params_of(const HcStage *stage) {
    return stage->params;
}

/* ---- plan ---- */

static bool is_named(const HcScene *scene, const char *begin) {
    const char *name = scene->band_name != NULL ? scene->band_name[0] : NULL;
    return name != NULL && strncmp(name, begin, strlen(begin)) == 0;
}

/* Whether the noise of the bands is what mnf makes it; their names say so, in a file too. */
static bool has_unit_noise(const HcScene *scene) {
    return is_named(scene, "MNF ");
}

/* Components of pca keep the noise of their bands, of any size. */
static bool has_unknown_noise(const HcScene *scene) {
    return is_named(scene, "PCA ");
}

/* Bands that explain each other, each with its noise. Components do not. */
static bool has_spectra(const HcScene *scene) {
    return scene->meaning == HC_SPECTRAL && !has_unit_noise(scene) && !has_unknown_noise(scene);
}

static bool keeps_count(const HcStage *stage) {
    const char *keep = params_of(stage)->keep;
    double count = 0;
    return keep != NULL && hc_option_numbers(keep, &count, 1) == 1;
}

/* Whether the scene is reduced to its components with signal first. */
static bool reduces(const HcStage *stage) {
    const Params *params = params_of(stage);
    if (params->noise != NULL) {
        return hc_text_equal(params->noise, noise_of_scene);
    }
    return params->output == OUTPUT_DENOISED && has_spectra(&stage->in) && !keeps_count(stage);
}

/* Bands of a patch: those that come in, or the components, all of them until the scene is seen. */
static int32_t bands_of(const HcStage *stage) {
    const State *state = stage->state;
    return reduces(stage) && hc_svd_reduced_is_there(&state->reduced) ? state->reduced.used : stage->in.bands;
}

static int64_t window_of(const HcStage *stage) {
    const Params *params = params_of(stage);
    if (params->window > 0) {
        return params->window;
    }
    return bands_of(stage) <= REDUCED_BANDS || params->output == OUTPUT_DIMENSION ? SMALL_WINDOW : WINDOW;
}

/* The smallest that the default may become. */
static int64_t least_window(const HcStage *stage) {
    return params_of(stage)->window > 0 || !reduces(stage) ? window_of(stage) : SMALL_WINDOW;
}

static HcStatus parse_keep(const char *text, HcPatchRule *rule, HcError *err) {
    double count = 0;
    int32_t place = hc_text_find(text, keep_words);
    if (place >= 0) {
        rule->keep = (HcPatchKeep)place;
        return HC_OK;
    }
    rule->keep = HC_PATCH_COUNT;
    if (hc_option_numbers(text, &count, 1) != 1) {
        const char *nearest = hc_text_nearest(text, keep_words);
        return nearest != NULL
                   ? hc_fail(err, HC_E_USAGE, "svd: --keep %s: unknown, did you mean %s?", text, nearest)
                   : hc_fail(err, HC_E_USAGE, "svd: --keep %s: optimal, edge, shrink or a number", text);
    }
    if (count < 1 || count > HC_SVD_MAX || count != floor(count)) {
        return hc_fail(err, HC_E_USAGE, "svd: --keep %s: a whole number from 1 to %d", text, HC_SVD_MAX);
    }
    rule->count = (int32_t)count;
    return HC_OK;
}

static HcStatus parse_noise(const char *text, HcPatchRule *rule, HcError *err) {
    if (strcmp(text, "estimate") == 0) {
        rule->noise = 0;
        return HC_OK;
    }
    if (hc_option_numbers(text, &rule->noise, 1) != 1 || !(rule->noise > 0 && isfinite(rule->noise))) {
        return hc_fail(err, HC_E_USAGE, "svd: --noise %s: scene, estimate, or a number above 0", text);
    }
    return HC_OK;
}

static HcStatus check_params(const HcStage *stage, HcError *err) {
    const Params *params = params_of(stage);
    int64_t window = least_window(stage);
    if (params->step > window) {
        return hc_fail(err, HC_E_USAGE, "svd: --step %lld: more than the side of %lld leaves pixels out",
                       (long long)params->step, (long long)window);
    }
    if (reduces(stage) && params->output != OUTPUT_DENOISED) {
        return hc_fail(err, HC_E_USAGE, "svd: --noise %s: goes with --output denoised", params->noise);
    }
    if (stage->in.bands > HC_SVD_MAX) {
        return hc_fail(err, HC_E_UNSUPPORTED, "svd: the scene has %d bands, at most %d", stage->in.bands,
                       HC_SVD_MAX);
    }
    return HC_OK;
}

/* Singular values of a patch. */
static int32_t most_values(const HcPatchRule *rule) {
    int32_t pixels = hc_patch_pixels(rule);
    return pixels < rule->bands ? pixels : rule->bands;
}

static HcStatus rule_of(const HcStage *stage, HcPatchRule *rule, HcError *err) {
    const Params *params = params_of(stage);
    int64_t window = window_of(stage);
    int64_t half = window > 1 ? window / 2 : 1;
    *rule = (HcPatchRule){.lines = stage->in.lines,
                          .samples = (int32_t)stage->in.samples,
                          .bands = bands_of(stage),
                          .size = (int32_t)window,
                          .step = (int32_t)(params->tiled      ? window
                                            : params->step > 0 ? params->step
                                                               : half),
                          .describe = params->output == OUTPUT_DIMENSION,
                          .tight = stage->tight};
    /* The edge of noise counts a value of noise now and then, which shrinking makes next to nothing. */
    const char *standard = rule->describe ? "optimal" : "shrink";
    HC_OR_RETURN(parse_keep(params->keep != NULL ? params->keep : standard, rule, err));
    if (rule->keep == HC_PATCH_COUNT && params->noise != NULL) {
        return hc_fail(err, HC_E_USAGE, "svd: --noise %s: --keep %s does not look at the noise",
                       params->noise, params->keep);
    }
    if (rule->keep != HC_PATCH_COUNT && params->noise == NULL && has_unknown_noise(&stage->in)) {
        return hc_fail(err, HC_E_USAGE,
                       "svd: components of pca come in (%s), whose noise is not known: give --noise SIGMA "
                       "or --noise estimate, or take mnf instead",
                       stage->in.band_name[0]);
    }
    HC_OR_RETURN(parse_noise(params->noise != NULL && !reduces(stage) ? params->noise : "1", rule, err));
    rule->values = params->values < most_values(rule) ? (int32_t)params->values : most_values(rule);
    return HC_OK;
}

/* Edges that mnf took for noise make signal small against it. Known once mnf is fitted. */
static void note_edges(HcStage *stage) {
    const HcStage *before = hc_stage_before(stage, HC_GIVES_WHITE_COMPONENTS);
    const HcLinear *mnf = before != NULL ? before->state : NULL;
    if (mnf != NULL && has_unit_noise(&stage->in) && hc_noise_is_difference(mnf->transform.noise)) {
        hc_stage_note(
            stage,
            "mnf took its noise from differences of neighbours (%s): if they hold edges of the scene, "
            "weak signal is lost here (mnf --dark, or svd --noise estimate without mnf, keep it)",
            mnf->transform.noise);
    }
}

static void note_choices(HcStage *stage, const HcPatchRule *rule) {
    const Params *params = params_of(stage);
    if (reduces(stage)) {
        return; /* a note says what the scene showed */
    }
    if (rule->keep != HC_PATCH_COUNT && params->noise == NULL && !has_unit_noise(&stage->in)) {
        hc_stage_note(stage, "noise of standard deviation 1 is assumed in every band, as mnf leaves it, but "
                             "no components of mnf come in (--noise says otherwise)");
    }
    if (rule->noise == 0 && most_values(rule) < NOISE_VALUES) {
        hc_stage_note(stage,
                      "the noise is estimated from a median of %d singular values: more than half of "
                      "them must be noise",
                      most_values(rule));
    }
    if (params->output == OUTPUT_DENOISED) {
        note_edges(stage);
    }
    if (params->values > rule->values) {
        hc_stage_note(stage, "--values %lld: a patch has only %d singular values", (long long)params->values,
                      rule->values);
    }
}

static HcStatus plan_out(HcStage *stage, const HcPatchRule *rule, HcError *err) {
    HcScene *out = &stage->out;
    HC_OR_RETURN(hc_scene_copy(out, &stage->in, err));
    out->integer_limit = 0;
    if (rule->describe) {
        HC_OR_RETURN(hc_scene_reband(out, hc_patch_bands(rule), HC_OTHER, err));
        out->has_nodata = false; /* any value may be a dimension: the mask alone says where there is none */
        HC_OR_RETURN(hc_scene_name_band(out, 0, err, "dimension"));
        HC_OR_RETURN(hc_scene_agree(out, 0, (HcAgreement){.choice = true, .within = 1e-3}, err));
    }
    for (int32_t k = 1; rule->describe && k <= rule->values; k++) {
        HC_OR_RETURN(hc_scene_name_band(out, k, err, "singular value %d", k));
    }
    return HC_OK;
}

/* Until the scene is seen, all bands may be components. */
static void plan_reduced(HcStage *stage, int32_t halo) {
    State *state = stage->state;
    hc_stage_takes(stage, HC_SPACE_DEVICE, hc_svd_reduced_bytes(&stage->in, bands_of(stage), halo));
    if (stage->settled) {
        stage->needs.passes_through = state->reduced.handed_on;
        return;
    }
    hc_evidence_plan(stage);
    hc_scene_sums_want(&state->sums, stage, HC_DIFFERENCE_NONE, NULL);
    hc_scene_sums_want(&state->differences, stage, HC_NOISE_AUTO_DIFFERENCE, NULL);
}

static HcStatus plan(HcStage *stage, HcError *err) {
    HcPatchRule rule;
    HC_OR_RETURN(check_params(stage, err));
    HC_OR_RETURN(hc_statistics_of_values(&stage->in, "svd", err));
    HC_OR_RETURN(rule_of(stage, &rule, err));
    note_choices(stage, &rule);
    HC_OR_RETURN(plan_out(stage, &rule, err));
    if (reduces(stage)) {
        plan_reduced(stage, rule.size - 1);
    }
    stage->needs.halo = (int32_t)hc_max64(stage->needs.halo, rule.size - 1);
    /* The patches that are worked on, and as much again to work in. */
    rule.tight = true;
    size_t scarce = 2 * (size_t)hc_patch_max(&rule) * hc_patch_bytes(&rule);
    rule.tight = false;
    hc_stage_takes_or(stage, HC_SPACE_DEVICE, 2 * (size_t)hc_patch_max(&rule) * hc_patch_bytes(&rule),
                      scarce);
    return HC_OK;
}

/* ---- the run ---- */

static HcStatus open_patches(HcStage *stage, HcError *err) {
    State *state = stage->state;
    HcPatchRule rule;
    HC_OR_RETURN(rule_of(stage, &rule, err));
    if (reduces(stage)) {
        HC_OR_RETURN(hc_svd_reduced_open(&state->reduced, stage, rule.size - 1, err));
    }
    return hc_patches_open(stage->compute, &rule, &state->patches, err);
}

static HcStatus open_svd(HcStage *stage, HcError *err) {
    return stage->needs.observes ? HC_OK : open_patches(stage, err);
}

static HcStatus settle(HcStage *stage, HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    HcMoments values = {0};
    HcMoments differences = {0};
    HC_TRY(hc_scene_sums_take(&state->sums, stage, queue, &values, err));
    HC_TRY(hc_scene_sums_take(&state->differences, stage, queue, &differences, err));
    HC_TRY(hc_svd_reduced_fit(&state->reduced, stage, &values, &differences, err));
    if (!state->reduced.handed_on) {
        HC_TRY(open_patches(stage, err));
    }
done:
    hc_moments_clear(&values);
    hc_moments_clear(&differences);
    return status;
}

static HcStatus process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err) {
    (void)scratch;
    State *state = stage->state;
    /* All rows alike: what comes behind may want a halo. */
    HcBlock rows = *out;
    rows.line0 = hc_block_first_line(out);
    rows.lines = (int32_t)hc_block_rows(out);
    rows.above = rows.below = 0;
    return reduces(stage) ? hc_svd_reduced_process(&state->reduced, queue, in, state->patches,
                                                   (int32_t)window_of(stage) - 1, &rows, err)
                          : hc_patches(queue, in, state->patches, &rows, err);
}

static void report(const HcStage *stage, HcJson *to) {
    hc_svd_reduced_put(&((const State *)stage->state)->reduced, to);
}

static void close_svd(HcStage *stage) {
    State *state = stage->state;
    if (stage->compute != NULL) {
        hc_patches_close(state->patches);
    }
    hc_svd_reduced_close(&state->reduced, stage->compute);
    *state = (State){0};
}

const HcStageClass hc_stage_svd = {
    .name = "svd",
    .summary = "singular values of overlapping patches: denoising, local dimension",
    .cite = "Gavish, Donoho 2014, 2017; Li, Yan, Hou: batched singular value decompositions of small patches",
    .example = "hcube svd scene.hdr denoised.img",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .open = open_svd,
    .settle = settle,
    .process = process,
    .report = report,
    .close = close_svd,
};
