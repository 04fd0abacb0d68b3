/* denoise: chooses a noise model, a dimension and a method, and states them.
 *
 * The noise comes from a regression of each band on all others, or from a file. Components whose eigenvalue
 * lies beyond those of noise alone hold the signal; patches of these components are then freed of the noise
 * that is left in them. Groups of alike patches do so once more, with that result as the pilot. A block is
 * worked on in strips, so that the memory for components does not depend on the size of a block. */
#include "core/allocate.h"
#include "core/operation/groups.h"
#include "core/operation/project.h"
#include "core/operation/svd.h"
#include "core/patch.h"
#include "pipeline/memory.h"
#include "pipeline/stages/denoise/gain.h"
#include "pipeline/stages/denoise/residual.h"
#include "pipeline/stages/denoise/sigma_map.h"
#include "pipeline/stages/linear.h"
#include "pipeline/stages/stages.h"
#include "pipeline/statistics/noise_choice.h"
#include "pipeline/statistics/noise_file.h"
#include "pipeline/statistics/sums.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Params {
    HcLinearParams linear; /* first; `denoise` and `min_eigenvalue` are set by plan */
    int32_t method;
    const char *noise; /* a word of noise_words, or a file */
    int64_t window, step;
    bool sigma_map;
} Params;

typedef struct State {
    HcLinear linear; /* first */
    HcSceneSums sums, differences;
    HcStatistics noise;   /* that of a file, once there */
    HcNoiseChoice choice; /* with --noise auto, once fitted */
    double gain;          /* expected of the subspace alone [dB], once the transform is there */
    bool handed_on;       /* no gain is expected */
    bool measures;        /* the error that stays, for the stage behind (residual.h) */
    HcPatches *patches;
    /* [device] a strip with halo, with the halo of groups, and without: values, then their mask. */
    HcBuffer components, pilot, clean;
    HcBuffer work; /* [device] of groups */
    HcSigmaMap map;
} State;

enum { METHOD_GROUPS, METHOD_PATCHES, METHOD_SUBSPACE };
enum { NOISE_AUTO, NOISE_WHITE, NOISE_REGRESSION, NOISE_NEIGHBOURS, NOISE_FILE };

static const char *const method_words[] = {"groups", "patches", "subspace", NULL};
/* The first three in the order of the kinds above; all others are models of neighbours. */
static const char *const noise_words[] = {"auto",       "white",          "regression",  "spatial-spectral",
                                          "trimmed",    "mean3x3",        "median3x3",   "shift",
                                          "shift-mean", "shift-diagonal", "shift-lower", "shift-lowerleft",
                                          "hv-average", "quad",           NULL};

/* Small patches have few materials; with many components they have too few pixels to tell signal from noise
 * (docs/stages/denoise.md has the figures). */
enum { WINDOW = 8, LARGE_WINDOW = 16, FEW_COMPONENTS = 32 };

/* Lines of a strip, halo excluded; groups have more halo, and work on it again in each strip. */
enum { STRIP = 64, GROUP_STRIP = 128 };

/* Groups: larger ones, or others farther away, gain next to nothing (docs/stages/denoise.md). */
enum { GROUP_SIZE = 4, GROUP_REACH = 8, GROUP_COUNT = 32 };

/* Lines that are measured at once; of a large scene so many lines are measured. */
enum { MEASURED = 16, MEASURED_LINES = 256 };

/* Less is no gain [dB]: the estimate of the lost signal is not better than that. */
static const double least_gain = 0.1;

/* From so many pixels a component on, its error is small beside the noise that patches remove. */
enum { MANY_PIXELS = 10 };

static const HcOption options[] = {
    {HC_CHOICE(Params, method), .choices = method_words, .standard = "groups",
     .help = "keep the components that hold signal (subspace), or remove the noise from patches of them as "
             "well (patches). groups: and then from groups of patches that are alike"},
    {HC_TEXT(Params, noise), .of_fit = true, .file = HC_FILE_READ, .value = "NOISE", .standard = "auto",
     .choices = noise_words,
     .help = "variance of the noise: regression (of each band on all others), white (that of the calmest "
             "bands for all bands), auto (the one that fits). Or a model of neighbours (trimmed and others, "
             "as for mnf), or the covariance in a file from cov --noise"},
    {HC_TEXT(HcLinearParams, components), .check = hc_linear_check_components,
     .otherwise =
         "those with an eigenvalue (1 + SNR) above the largest one of noise alone; subspace: also above 2",
     .value = "COUNT",
     .help =
         "keep this many components (1 to 100000), or as many as a rule of dimension finds: auto, hysime, "
         "hfc, nwhfc, elm, gavish-donoho or marchenko-pastur"},
    {HC_INT(Params, window), .range = {1, HC_PATCH_SIZE_MAX},
     .otherwise = "8; 16 where more than 32 components are kept", .unit = "pixels", .value = "SIZE",
     .help = "lines and samples of a patch"},
    {HC_INT(Params, step), .range = {1, HC_PATCH_SIZE_MAX},
     .otherwise = "half the window; patches: a quarter of it", .unit = "pixels", .value = "STEP",
     .help = "lines and samples from one patch to the next, at most the window"},
    {HC_FLAG(Params, sigma_map, "sigma-map"),
     .help = "write the error that is expected of each denoised pixel (root mean square over the bands), "
             "instead of the bands"},
    {HC_FLAG(HcLinearParams, fit_only, "fit-only"),
     .help = "fit and save the model (--save-model), and pass the scene on unchanged"},
    {HC_TEXT(HcLinearParams, model), .file = HC_FILE_READ, .value = "MODEL.json",
     .help = "use this saved model instead of a fit"},
    {HC_TEXT(HcLinearParams, save_model, "save-model"), .file = HC_FILE_WRITTEN, .value = "MODEL.json",
     .help = "save the fitted model"},
    {HC_LEVEL(HcLinearParams, overwrite), .value = "any",
     .help = "replace an existing model file; any: also a scene"},
    {0}};

static const Params *params_of(const HcStage *stage) {
    return stage->params;
}

static int32_t noise_kind(const HcStage *stage) {
    const char *noise = params_of(stage)->noise;
    for (int32_t kind = NOISE_AUTO; kind < NOISE_NEIGHBOURS; kind++) {
        if (hc_text_equal(noise, noise_words[kind])) {
            return kind;
        }
    }
    return hc_noise_difference_of(noise) != HC_DIFFERENCE_NONE ? NOISE_NEIGHBOURS : NOISE_FILE;
}

/* The difference whose sums are wanted. */
static HcDifference difference_of(const HcStage *stage) {
    int32_t kind = noise_kind(stage);
    return kind == NOISE_AUTO         ? HC_NOISE_AUTO_DIFFERENCE
           : kind == NOISE_NEIGHBOURS ? hc_noise_difference_of(params_of(stage)->noise)
                                      : HC_DIFFERENCE_NONE;
}

static bool has_transform(const HcStage *stage) {
    const State *state = stage->state;
    return state->linear.transform.method[0] != '\0';
}

/* Whether the map of errors is asked for. */
static bool maps(const HcStage *stage) {
    return params_of(stage)->sigma_map;
}

static bool by_groups(const HcStage *stage) {
    return params_of(stage)->method == METHOD_GROUPS;
}

/* Alone, or as the pilot of groups. */
static bool by_patches(const HcStage *stage) {
    return params_of(stage)->method != METHOD_SUBSPACE;
}

/* ---- how many components, and what they gain ---- */

/* Components above what noise alone has; may be 0. A component that is kept as it is must hold more signal
 * than noise; patches make good use of less. */
static int32_t count_signal(const HcStage *stage) {
    const State *state = stage->state;
    const HcTransform *transform = &state->linear.transform;
    double limit = hc_gain_edge(transform);
    int32_t count = 0;
    limit = by_patches(stage) ? limit : fmax(limit, 2);
    while (count < transform->components && transform->eigenvalues[count] > limit) {
        count++;
    }
    return count;
}

/* With the transform: the components that are kept, and whether any gain is expected. */
static void choose(const HcStage *stage) {
    State *state = stage->state;
    const HcTransform *transform = &state->linear.transform;
    bool asked = params_of(stage)->linear.components != NULL;
    int32_t count = asked ? state->linear.used : count_signal(stage);
    state->gain = count > 0 ? hc_gain_of(transform, count) : 0;
    bool misfits = state->choice.taken[0] != '\0' && !state->choice.fits;
    state->handed_on = !asked && (state->gain < least_gain || misfits || state->choice.doubtful);
    state->linear.used = count > 0 ? count : 1;
}

/* Called once the transform is there. */
static void note_choices(HcStage *stage) {
    const State *state = stage->state;
    const char *of_file = noise_kind(stage) == NOISE_FILE ? " (of a file)" : "";
    const HcTransform *transform = &state->linear.transform;
    if (params_of(stage)->linear.fit_only) {
        return;
    }
    bool misfits = state->choice.taken[0] != '\0' && !state->choice.fits;
    if (misfits) {
        hc_stage_note(stage, "no noise model fits this scene (--noise trimmed looks at its calm blocks): %s",
                      state->choice.why);
    }
    if (state->handed_on && state->choice.doubtful && !misfits) {
        hc_stage_note(stage,
                      "noise by regression differs between bands, and what bands have of their own may be "
                      "signal: the scene is handed on unchanged (--noise regression takes it for noise, and "
                      "expects a gain of %.1f dB)",
                      state->gain);
    } else if (state->handed_on) {
        hc_stage_note(stage, "noise by %s%s: no gain is expected, the scene is handed on unchanged",
                      transform->noise, of_file);
    } else if (state->gain < least_gain) {
        hc_stage_note(stage, "noise by %s%s: no gain is expected with %d of %d components (%.1f dB)",
                      transform->noise, of_file, state->linear.used, transform->components, state->gain);
    } else {
        bool is_limit = by_patches(stage) && !state->choice.by_calm &&
                        transform->pixels >= (int64_t)MANY_PIXELS * transform->components;
        hc_stage_note(stage, "noise by %s%s, %d of %d components, %s: a gain of %s %.1f dB is expected",
                      transform->noise, of_file, state->linear.used, transform->components,
                      method_words[params_of(stage)->method], is_limit ? "at least" : "about", state->gain);
    }
}

/* ---- plan ---- */

static int64_t window_of(const HcStage *stage) {
    const State *state = stage->state;
    int64_t asked = params_of(stage)->window;
    return asked > 0 ? asked : state->linear.used > FEW_COMPONENTS ? LARGE_WINDOW : WINDOW;
}

static HcGroupRule group_rule(const HcStage *stage) {
    return (HcGroupRule){
        .lines = stage->in.lines, .size = GROUP_SIZE, .reach = GROUP_REACH, .count = GROUP_COUNT};
}

/* Of the pilot. */
static int32_t group_halo(const HcStage *stage) {
    HcGroupRule rule = group_rule(stage);
    return by_groups(stage) ? hc_group_halo(&rule) : 0;
}

/* Lines around a strip of which the map of errors takes a mean. */
static int32_t margin_of(const HcStage *stage) {
    return maps(stage) ? HC_SIGMA_MARGIN : 0;
}

/* Of the components. */
static int32_t strip_halo(const HcStage *stage) {
    return by_patches(stage) ? (int32_t)window_of(stage) - 1 + group_halo(stage) : 0;
}

static int32_t strip_lines(const HcStage *stage) {
    return by_groups(stage) && !stage->tight && !maps(stage) ? GROUP_STRIP : STRIP;
}

static HcPatchRule rule_of(const HcStage *stage) {
    const Params *params = params_of(stage);
    const State *state = stage->state;
    int64_t window = window_of(stage);
    int64_t part = by_groups(stage) ? 2 : 4;
    return (HcPatchRule){.lines = stage->in.lines,
                         .samples = (int32_t)stage->in.samples,
                         .bands = state->linear.used,
                         .size = (int32_t)window,
                         .step = (int32_t)(params->step > 0 ? params->step : hc_max64(1, window / part)),
                         .keep = HC_PATCH_SHRINK,
                         .noise = 1,
                         .tight = stage->tight};
}

static size_t strip_bytes(const HcStage *stage, int32_t halo) {
    const State *state = stage->state;
    size_t pixels = (size_t)(strip_lines(stage) + 2 * (halo + margin_of(stage))) * (size_t)stage->in.samples;
    return pixels * ((size_t)state->linear.used * sizeof(float) + 1);
}

static size_t work_bytes(const HcStage *stage) {
    const State *state = stage->state;
    HcGroupRule rule = group_rule(stage);
    size_t pixels = (size_t)(strip_lines(stage) + 2 * margin_of(stage)) * (size_t)stage->in.samples;
    return hc_groups_bytes(&rule, pixels, state->linear.used);
}

/* All strips, with what groups work in. */
static size_t strips_bytes(HcStage *stage, bool tight) {
    bool was = stage->tight;
    stage->tight = tight;
    size_t bytes = strip_bytes(stage, strip_halo(stage)) + strip_bytes(stage, 0);
    bytes += by_groups(stage) ? strip_bytes(stage, group_halo(stage)) + work_bytes(stage) : 0;
    stage->tight = was;
    return bytes;
}

static HcStatus check_params(const HcStage *stage, HcError *err) {
    const Params *params = params_of(stage);
    int64_t window = params->window > 0 ? params->window : WINDOW; /* the default is that, or larger */
    if (params->step > window) {
        return hc_fail(err, HC_E_USAGE,
                       "denoise: --step %lld: more than the window of %lld leaves pixels out%s",
                       (long long)params->step, (long long)window,
                       params->window > 0 ? "" : " (--window makes it larger)");
    }
    if (params->linear.model != NULL && noise_kind(stage) != NOISE_AUTO) {
        return hc_fail(err, HC_E_USAGE, "denoise: --noise %s: nothing is fitted here", params->noise);
    }
    if (maps(stage) && params->linear.fit_only) {
        return hc_fail(err, HC_E_USAGE, "denoise: --sigma-map: --fit-only denoises nothing");
    }
    if (by_patches(stage) && stage->in.bands > HC_SVD_MAX) {
        return hc_fail(err, HC_E_UNSUPPORTED,
                       "denoise: the scene has %d bands, at most %d (--method subspace)", stage->in.bands,
                       HC_SVD_MAX);
    }
    return HC_OK;
}

/* Strips of components, and the patches that are worked on. */
static void plan_patches(HcStage *stage) {
    HcPatchRule rule = rule_of(stage);
    size_t before = stage->needs.bytes_fixed;
    stage->needs.halo = strip_halo(stage) + margin_of(stage);
    stage->needs.bytes_per_pixel = 0;
    rule.tight = false;
    stage->needs.bytes_fixed =
        before + strips_bytes(stage, false) + 2 * (size_t)hc_patch_max(&rule) * hc_patch_bytes(&rule);
    rule.tight = true;
    stage->needs.bytes_tight =
        before + strips_bytes(stage, true) + 2 * (size_t)hc_patch_max(&rule) * hc_patch_bytes(&rule);
}

/* One band in place of those of the scene. */
static HcStatus plan_map(HcStage *stage, HcError *err) {
    const State *state = stage->state;
    int32_t context = strip_halo(stage);
    HC_OR_RETURN(hc_scene_reband(&stage->out, 1, HC_OTHER, err));
    HC_OR_RETURN(hc_scene_name_band(&stage->out, 0, err, "expected error"));
    stage->out.has_nodata = false; /* that of the scene may be an error, too */
    if (!by_patches(stage)) {
        size_t strips = 2 * strip_bytes(stage, 0);
        stage->needs.halo = margin_of(stage);
        stage->needs.bytes_per_pixel = 0;
        stage->needs.bytes_fixed += strips;
    }
    stage->needs.host_bytes +=
        hc_sigma_map_bytes(stage->in.samples, stage->in.bands, state->linear.used, context);
    return HC_OK;
}

static HcStatus plan_noise(HcStage *stage, HcError *err) {
    State *state = stage->state;
    const char *noise = params_of(stage)->noise;
    hc_scene_sums_want(&state->sums, stage, HC_DIFFERENCE_NONE, NULL);
    if (difference_of(stage) != HC_DIFFERENCE_NONE) {
        hc_scene_sums_want(&state->differences, stage, difference_of(stage), NULL);
    }
    if (noise_kind(stage) == NOISE_FILE) {
        HC_OR_RETURN(hc_noise_file_read(&state->noise, stage, noise, noise_words, HC_NOISE_USUAL, err));
        HC_OR_RETURN(hc_noise_file_take(&state->noise, stage, noise, err));
    }
    return HC_OK;
}

static HcStatus plan(HcStage *stage, HcError *err) {
    Params *params = stage->params;
    State *state = stage->state;
    bool fits = false;
    HC_OR_RETURN(check_params(stage, err));
    params->linear.denoise = !params->linear.fit_only;
    /* All components, until `choose` knows better. */
    params->linear.min_eigenvalue =
        params->linear.components != NULL || params->linear.fit_only ? NAN : -INFINITY;
    HC_OR_RETURN(hc_linear_plan(stage, "denoise", &fits, err));
    if (has_transform(stage)) {
        choose(stage);
        stage->needs.passes_through = stage->needs.passes_through || (state->handed_on && !maps(stage));
    }
    if (!stage->needs.passes_through && by_patches(stage)) {
        plan_patches(stage);
    }
    if (maps(stage)) {
        HC_OR_RETURN(plan_map(stage, err));
    }
    return fits ? plan_noise(stage, err) : HC_OK;
}

/* ---- the run ---- */

/* With the transform and its matrices: what patches need. */
static HcStatus prepare(HcStage *stage, HcError *err) {
    State *state = stage->state;
    note_choices(stage);
    if (params_of(stage)->linear.fit_only || (!maps(stage) && (state->handed_on || !by_patches(stage)))) {
        return HC_OK;
    }
    if (maps(stage) || state->measures) {
        const HcTransform *transform = &state->linear.transform;
        HC_OR_RETURN(hc_sigma_map_open(&state->map, stage->compute, transform, stage->in.samples,
                                       state->handed_on ? 0 : state->linear.used,
                                       hc_gain_level(transform, state->linear.used), strip_halo(stage), err));
    }
    HcPatchRule rule = rule_of(stage);
    HC_OR_RETURN(
        hc_memory_zeros(stage->compute, strip_bytes(stage, strip_halo(stage)), &state->components, err));
    HC_OR_RETURN(hc_memory_zeros(stage->compute, strip_bytes(stage, 0), &state->clean, err));
    if (by_groups(stage)) {
        HC_OR_RETURN(
            hc_memory_zeros(stage->compute, strip_bytes(stage, group_halo(stage)), &state->pilot, err));
        HC_OR_RETURN(hc_memory_zeros(stage->compute, work_bytes(stage), &state->work, err));
    }
    return by_patches(stage) ? hc_patches_open(stage->compute, &rule, &state->patches, err) : HC_OK;
}

static HcStatus open_denoise(HcStage *stage, HcError *err) {
    HC_OR_RETURN(hc_linear_open(stage, err));
    return stage->needs.observes ? HC_OK : prepare(stage, err);
}

static HcStatus settle(HcStage *stage, HcQueue *queue, HcError *err) {
    HC_OR_RETURN(hc_linear_settle(stage, queue, err));
    return prepare(stage, err);
}

/* Makes state->noise of differences. */
static HcStatus fit_neighbours(HcStage *stage, const HcMoments *differences, HcError *err) {
    State *state = stage->state;
    const char *word = params_of(stage)->noise;
    if (hc_noise_is_spatial_spectral(word)) {
        return hc_noise_spatial_spectral_of(&state->noise, &stage->in, differences, HC_NOISE_USUAL, err);
    }
    HC_OR_RETURN(hc_statistics_make(&state->noise, &stage->in, differences, difference_of(stage), word, err));
    return hc_noise_file_check(&state->noise, stage, err);
}

/* Makes state->noise, unless it is that of a file. */
static HcStatus fit_noise(HcStage *stage, const HcStatistics *scene, const HcMoments *differences,
                          HcError *err) {
    State *state = stage->state;
    HcStatistics *noise = &state->noise;
    if (noise_kind(stage) == NOISE_FILE) {
        return hc_noise_file_check(noise, stage, err);
    }
    if (noise_kind(stage) == NOISE_NEIGHBOURS) {
        return fit_neighbours(stage, differences, err);
    }
    if (differences != NULL) {
        HC_OR_RETURN(
            hc_noise_choose(&state->choice, noise, stage->compute, scene, differences, HC_NOISE_USUAL, err));
        return hc_noise_choice_whiten(&state->choice, noise, err);
    }
    HC_OR_RETURN(hc_noise_regression(noise, scene, HC_NOISE_DIAGONAL, err));
    if (noise_kind(stage) == NOISE_WHITE) {
        HcNoiseBands bands = {0};
        HC_OR_RETURN(hc_noise_compare_bands(noise, &bands, err));
        hc_noise_whiten(noise, bands.calm);
    }
    return HC_OK;
}

static HcStatus fit(HcStage *stage, const HcMoments *values, const HcMoments *differences, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    HcTransform *transform = &state->linear.transform;
    HcStatistics statistics = {0};
    if (values->count < 2 && noise_kind(stage) != NOISE_FILE) {
        HC_TRY(hc_noise_regression_of(&state->noise, &stage->in, values, HC_NOISE_DIAGONAL, err));
    }
    HC_TRY(hc_linear_begin_fit(stage, values, &statistics, err));
    HC_TRY(fit_noise(stage, &statistics, differences, err));
    transform->noise_pixels = state->noise.pixels;
    memcpy(transform->noise, state->noise.noise, sizeof transform->noise);
    HC_TRY(hc_transform_fit_mnf(transform, stage->compute, statistics.mean, statistics.covariance,
                                state->noise.covariance, err));
    snprintf(transform->method, sizeof transform->method, "denoise");
    HC_TRY(hc_linear_end_fit(stage, &statistics, err));
    choose(stage);
done:
    hc_statistics_clear(&statistics);
    return status;
}

/* A view of lines first .. end - 1, with the context that `in` has of `halo` lines, in a buffer. */
static HcBlock strip_of(const State *state, const HcBuffer *buffer, const HcBlock *in, int64_t first,
                        int64_t end, int32_t halo) {
    int64_t top = hc_block_first_line(in);
    HcBlock strip = {.data = buffer->data,
                     .line0 = first,
                     .lines = (int32_t)(end - first),
                     .above = (int32_t)hc_min64(halo, first - top),
                     .below = (int32_t)hc_min64(halo, top + hc_block_rows(in) - end),
                     .samples = in->samples,
                     .bands = state->linear.used};
    strip.mask = (uint8_t *)buffer->data + hc_block_values(&strip) * sizeof(float);
    return strip;
}

/* Patches make the pilot; groups then look at components and pilot. */
static HcStatus filter_groups(HcStage *stage, HcQueue *queue, const HcBlock *components, const HcBlock *clean,
                              HcError *err) {
    const State *state = stage->state;
    HcGroupRule rule = group_rule(stage);
    int64_t first = clean->line0;
    int64_t end = first + clean->lines;
    HcBlock noisy = hc_block_part(components, first, end, group_halo(stage));
    HcBlock pilot = strip_of(state, &state->pilot, &noisy, first, end, group_halo(stage));
    HcBlock rows = pilot;
    rows.line0 = hc_block_first_line(&pilot);
    rows.lines = (int32_t)hc_block_rows(&pilot);
    rows.above = rows.below = 0;
    HC_OR_RETURN(hc_patches(queue, components, state->patches, &rows, err));
    return hc_groups(queue, &noisy, &pilot, &rule, state->work.data, clean, err);
}

static HcStatus filter_strip(HcStage *stage, HcQueue *queue, const HcBlock *components, const HcBlock *clean,
                             HcError *err) {
    const State *state = stage->state;
    return by_groups(stage) ? filter_groups(stage, queue, components, clean, err)
                            : hc_patches(queue, components, state->patches, clean, err);
}

/* For the map of errors: components are filtered as they are, and with a probe. */
static HcStatus filter_twice(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *components,
                             const HcBlock *clean, HcError *err) {
    HcSigmaMap *map = &((State *)stage->state)->map;
    const HcLinearMatrices *device = &((State *)stage->state)->linear.device;
    HC_OR_RETURN(hc_project(queue, in, device->forward.data, device->mean.data, NULL, components, err));
    HcBlock noisy = hc_block_part(components, clean->line0, clean->line0 + clean->lines, 0);
    HC_OR_RETURN(hc_sigma_map_fetch(queue, &noisy, &map->noisy, err));
    if (!by_patches(stage)) {
        return HC_OK;
    }
    HC_OR_RETURN(filter_strip(stage, queue, components, clean, err));
    HC_OR_RETURN(hc_sigma_map_fetch(queue, clean, &map->clean, err));
    HC_OR_RETURN(hc_sigma_map_disturb(map, queue, components, err));
    HC_OR_RETURN(filter_strip(stage, queue, components, clean, err));
    return hc_sigma_map_fetch(queue, clean, &map->probe, err);
}

/* The map of errors. A scene that is handed on keeps its noise. */
static HcStatus map_strip(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                          int64_t first, int64_t end, HcError *err) {
    State *state = stage->state;
    HcSigmaMap *map = &state->map;
    int64_t top = hc_max64(0, first - HC_SIGMA_MARGIN);
    int64_t bottom = hc_min64(stage->in.lines, end + HC_SIGMA_MARGIN);
    HcBlock components = strip_of(state, &state->components, in, top, bottom, strip_halo(stage));
    HcBlock clean = strip_of(state, &state->clean, in, top, bottom, 0);
    HcBlock part = hc_block_part(out, first, end, 0);
    bool filters = by_patches(stage);
    if (state->handed_on) {
        return hc_sigma_map_write(map, queue, in, &clean, false, &part, err);
    }
    HC_OR_RETURN(filter_twice(stage, queue, in, &components, &clean, err));
    return hc_sigma_map_write(map, queue, in, &clean, filters, &part, err);
}

static HcStatus process_strip(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                              int64_t first, int64_t end, HcError *err) {
    const State *state = stage->state;
    const HcLinear *linear = &state->linear;
    HcBlock components = strip_of(state, &state->components, in, first, end, strip_halo(stage));
    HcBlock clean = strip_of(state, &state->clean, in, first, end, 0);
    HcBlock part = hc_block_part(out, first, end, 0);
    HC_OR_RETURN(
        hc_project(queue, in, linear->device.forward.data, linear->device.mean.data, NULL, &components, err));
    HC_OR_RETURN(filter_strip(stage, queue, &components, &clean, err));
    return hc_project(queue, &clean, linear->device.inverse.data, NULL, linear->device.mean.data, &part, err);
}

/* Measures the error of some lines of the block: the same ones for every size of blocks. */
static HcStatus measure(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, HcError *err) {
    State *state = stage->state;
    int64_t every = hc_max64(1, stage->in.lines / MEASURED_LINES);
    int64_t end = out->line0 + out->lines;
    int64_t part = (out->line0 / MEASURED + every - 1) / every * every;
    for (; part * MEASURED < end; part += every) {
        int64_t first = hc_max64(out->line0, part * MEASURED);
        int64_t next = hc_min64(end, (part + 1) * MEASURED);
        HcBlock components = strip_of(state, &state->components, in, first, next, strip_halo(stage));
        HcBlock clean = strip_of(state, &state->clean, in, first, next, 0);
        HC_OR_RETURN(filter_twice(stage, queue, in, &components, &clean, err));
        HC_OR_RETURN(hc_sigma_map_measure(&state->map, queue, in, &clean, err));
    }
    return HC_OK;
}

static HcStatus process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err) {
    if (!by_patches(stage) && !maps(stage)) {
        return hc_linear_process(stage, queue, in, out, scratch, err);
    }
    if (((const State *)stage->state)->measures) {
        HC_OR_RETURN(measure(stage, queue, in, out, err));
    }
    int64_t first = hc_block_first_line(out);
    int64_t end = first + hc_block_rows(out);
    int64_t lines = strip_lines(stage);
    for (; first < end; first += lines) {
        int64_t next = hc_min64(end, first + lines);
        HC_OR_RETURN(maps(stage) ? map_strip(stage, queue, in, out, first, next, err)
                                 : process_strip(stage, queue, in, out, first, next, err));
    }
    return HC_OK;
}

static bool fits_model(const HcStage *stage, HcFit *how) {
    bool does = hc_linear_fits(stage, how);
    how->noise = difference_of(stage);
    return does;
}

static bool scree(const HcStage *stage, HcScree *out) {
    bool known = hc_linear_scree(stage, "eigenvalues (1 + SNR)", out);
    out->noise = 1;
    return known;
}

static void report(const HcStage *stage, HcJson *to) {
    const State *state = stage->state;
    hc_linear_report(stage, to);
    hc_noise_choice_put(&state->choice, to);
    if (has_transform(stage)) {
        hc_json_put_number(to, "expected_gain_db", state->gain);
        hc_json_put_bool(to, "handed_on", state->handed_on);
    }
}

static void close_denoise(HcStage *stage) {
    State *state = stage->state;
    if (stage->compute != NULL) {
        hc_patches_close(state->patches);
    }
    hc_memory_release(stage->compute, &state->components);
    hc_memory_release(stage->compute, &state->pilot);
    hc_memory_release(stage->compute, &state->clean);
    hc_memory_release(stage->compute, &state->work);
    hc_sigma_map_close(&state->map);
    hc_statistics_clear(&state->noise);
    hc_linear_close(stage);
    *state = (State){0};
}

/* ---- what stays, for the stage behind ---- */

/* The denoise whose bands come into a stage, or NULL. */
static HcStage *denoise_before(const HcStage *stage) {
    HcStage *before = hc_stage_before(stage, "denoise");
    bool is_it = before != NULL && before == hc_stage_previous(stage) && !maps(before);
    return is_it && !params_of(before)->linear.fit_only ? before : NULL;
}

void hc_denoise_residual_want(HcStage *observer) {
    HcStage *before = denoise_before(observer);
    if (before != NULL && by_patches(before)) {
        State *state = before->state;
        state->measures = true;
        before->needs.host_bytes +=
            hc_sigma_map_bytes(before->in.samples, before->in.bands, state->linear.used, strip_halo(before));
    }
}

HcStatus hc_denoise_residual_take(HcStage *observer, HcDenoiseResidual *out, HcError *err) {
    HcStage *before = denoise_before(observer);
    *out = (HcDenoiseResidual){0};
    if (before == NULL || ((const State *)before->state)->handed_on) {
        return HC_OK;
    }
    State *state = before->state;
    const HcTransform *transform = &state->linear.transform;
    int64_t sums[2] = {state->map.measured, state->map.measured_pixels};
    HC_OR_RETURN(hc_ranks_sum(hc_stage_ranks(observer), sums, 2, err));
    HC_OR_RETURN(hc_new(out->variance, (size_t)transform->bands, "the error of bands", err));
    double risk = sums[1] > 0 ? (double)sums[0] / (double)sums[1] / HC_SIGMA_UNIT : NAN;
    hc_gain_residual(transform, state->linear.used, risk, out->variance);
    out->share = (double)state->linear.used / transform->bands;
    out->known = true;
    state->measures = false;
    return HC_OK;
}

const HcStageClass hc_stage_denoise = {
    .name = "denoise",
    .summary = "remove noise: noise model, dimension and method are chosen and stated",
    .cite =
        "Bioucas-Dias, Nascimento 2008; Zhuang, Bioucas-Dias 2018; Gavish, Donoho 2017; Dabov et al. 2007",
    .example = "hcube denoise scene.hdr clean.tif",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    HC_TWO_SCENE_SUMS(State, sums, differences),
    .open = open_denoise,
    .settle = settle,
    .process = process,
    .fits = fits_model,
    .fit = fit,
    .scree = scree,
    .finish = hc_linear_finish,
    .output = hc_linear_output,
    .report = report,
    .close = close_denoise,
};
