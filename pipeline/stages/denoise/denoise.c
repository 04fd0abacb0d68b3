/* denoise: chooses a noise model, a dimension and a method, and states them.
 *
 * The noise comes from a regression of each band on all others, or from a file (noise.c). Components whose
 * eigenvalue lies beyond those of noise alone hold the signal (gain.c). Patches of these components are then
 * freed of the noise that is left in them, and groups of alike patches do so once more, with that result as
 * the pilot (strips.c). */
#include "pipeline/stages/denoise/denoise.h"
#include "core/operation/svd/svd.h"
#include "pipeline/stages/denoise/gain.h"
#include "pipeline/stages/denoise/model.h"
#include "pipeline/stages/stages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const method_words[] = {"groups", "patches", "subspace", NULL};

/* Less is no gain [dB]: the estimate of the lost signal is not better than that. */
static const double least_gain = 0.1;

/* Pixels a component from which on its error is small beside the noise that patches remove. */
enum { MANY_PIXELS = 10 };

/* Stripes of a band are named beyond this part of its noise. */
static const double seen = 0.1;

static const HcOption options[] = {
    {HC_CHOICE(HcDenoiseParams, method), .choices = method_words, .standard = "groups",
     .help = "subspace: keep the components with signal. patches: also remove noise from patches of them. "
             "groups: then also from groups of similar patches"},
    {HC_TEXT(HcDenoiseParams, noise), .of_fit = true, .file = HC_FILE_READ, .value = "NOISE",
     .standard = "auto", .choices = hc_denoise_noise_words,
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
    {HC_INT(HcDenoiseParams, window, "side"), .was = "window", .range = {1, HC_PATCH_SIZE_MAX},
     .otherwise = "8; 16 if more than 32 components are kept", .unit = "pixels", .value = "SIDE",
     .help = "side of a square patch"},
    {HC_INT(HcDenoiseParams, step), .range = {1, HC_PATCH_SIZE_MAX},
     .otherwise = "half the side; patches: a quarter of it", .unit = "pixels", .value = "STEP",
     .help = "lines and samples from one patch to the next, at most the side"},
    {HC_FLAG(HcDenoiseParams, sigma_map, "sigma-map"),
     .help = "write the expected error of each denoised pixel (root mean square over the bands) instead of "
             "the bands"},
    {HC_FLAG(HcDenoiseParams, stripes), .of_fit = true,
     .help = "remove stripes first: subtract a value for each column and band if medians of both halves of "
             "the scene agree on them"},
    HC_FIT_BY_OPTION(HcDenoiseParams, groups, "model"),
    {HC_INT(HcDenoiseParams, columns), .of_fit = true, .range = {1, 1000000}, .value = "COUNT",
     .otherwise = "one level of noise for all columns",
     .help = "scale each COUNT neighbouring columns to the same level of noise if their noise differs (1: "
             "each detector of a pushbroom sensor)"},
    {HC_REAL(HcDenoiseParams, require_gain, "require-gain"), .range = {0, 100}, .initial = NAN, .unit = "dB",
     .value = "DB", .otherwise = "any gain",
     .help = "end with exit code 8 and without output if the expected gain is smaller or unknown"},
    {HC_FLAG(HcLinearParams, fit_only, "fit-only"), .needs = "save-model",
     .excludes = "model components sigma-map",
     .help = "fit and save the model, and pass the scene on unchanged"},
    {HC_TEXT(HcLinearParams, model), .file = HC_FILE_READ, .value = "MODEL.json",
     .excludes = "save-model noise stripes columns", .help = "use this saved model instead of a fit"},
    {HC_TEXT(HcLinearParams, save_model, "save-model"), .file = HC_FILE_WRITTEN, .value = "MODEL.json",
     .help = "save the fitted model"},
    {HC_FLAG(HcLinearParams, overwrite), .help = "replace an existing model file"},
    {0}};

static bool has_transform(const HcStage *stage) {
    const HcDenoise *state = stage->state;
    return state->linear.transform.method[0] != '\0';
}

/* ---- how many components, and what they gain ---- */

static int32_t count_above(const HcTransform *transform, double limit) {
    int32_t count = 0;
    while (count < transform->components && transform->eigenvalues[count] > limit) {
        count++;
    }
    return count;
}

/* Components above what noise alone has; may be 0. A component that is kept as it is must hold more signal
 * than noise; patches make good use of less. White noise by the calmest bands is somewhat too large. How much
 * of it there is, the components of noise show, once it is known which these are, about. With a variance for
 * each band they do not: it is too large by more in some bands than in others. */
static int32_t count_signal(const HcStage *stage) {
    const HcDenoise *state = stage->state;
    const HcTransform *transform = &state->linear.transform;
    double limit = hc_gain_edge(transform);
    limit = hc_denoise_by_patches(stage) ? limit : fmax(limit, 2);
    int32_t count = count_above(transform, limit);
    bool white = strstr(transform->noise, ", white") != NULL;
    return count > 0 && white ? count_above(transform, limit * hc_gain_level(transform, count)) : count;
}

/* With the transform: the components that are kept, and whether any gain is expected. */
static void choose(const HcStage *stage) {
    HcDenoise *state = stage->state;
    const HcTransform *transform = &state->linear.transform;
    bool asked = hc_denoise_params(stage)->linear.components != NULL;
    int32_t count = asked ? state->linear.used : count_signal(stage);
    state->gain = count > 0 ? hc_gain_of(transform, count) : 0;
    if (hc_denoise_params(stage)->linear.model != NULL) {
        state->doubt = "with --model, noise is not tested";
    }
    bool misfits = state->choice.taken[0] != '\0' && !state->choice.fits;
    state->handed_on = !asked && (state->gain < least_gain || misfits || state->choice.doubtful);
    state->linear.used = count > 0 ? count : 1;
}

/* Called once the transform is there. */
static void note_choices(HcStage *stage) {
    const HcDenoise *state = stage->state;
    const char *of_file = hc_denoise_noise_kind(stage) == HC_DENOISE_FILE ? " (of a file)" : "";
    const char *how = state->stripes.found ? "without its stripes" : "unchanged";
    const HcTransform *transform = &state->linear.transform;
    if (hc_denoise_params(stage)->linear.fit_only) {
        return;
    }
    bool misfits = state->choice.taken[0] != '\0' && !state->choice.fits;
    if (misfits) {
        hc_stage_note(stage, "no noise model fits this scene (--noise trimmed looks at its calm blocks): %s",
                      state->choice.why);
    }
    if (state->handed_on && state->choice.unseen) {
        hc_stage_note(
            stage,
            "differences of neighbours may be signal, and no regression confirms them: the scene is "
            "handed on %s (%s)",
            how, state->choice.why);
    } else if (state->handed_on && state->choice.doubtful && !misfits) {
        hc_stage_note(stage,
                      "noise by regression differs between bands, and what bands have of their own may be "
                      "signal: the scene is handed on %s (--noise regression takes it for noise)",
                      how);
    } else if (state->handed_on) {
        hc_stage_note(stage, "noise by %s%s: no gain is expected, the scene is handed on %s",
                      transform->noise, of_file, how);
    } else if (state->doubt != NULL) {
        hc_stage_note(stage, "noise by %s%s, %d of %d components, %s: the gain is not known (%s)",
                      transform->noise, of_file, state->linear.used, transform->components,
                      method_words[hc_denoise_params(stage)->method], state->doubt);
    } else if (state->gain < least_gain) {
        hc_stage_note(stage, "noise by %s%s: no gain is expected with %d of %d components (%.1f dB)",
                      transform->noise, of_file, state->linear.used, transform->components, state->gain);
    } else if (state->gauges) { /* its gain is told once it is measured */
        hc_stage_note(stage, "noise by %s%s, %d of %d components, %s", transform->noise, of_file,
                      state->linear.used, transform->components,
                      method_words[hc_denoise_params(stage)->method]);
    } else {
        bool is_limit = hc_denoise_by_patches(stage) && !state->choice.by_calm &&
                        transform->pixels >= (int64_t)MANY_PIXELS * transform->components;
        hc_stage_note(stage, "noise by %s%s, %d of %d components, %s: a gain of %s %.1f dB is expected",
                      transform->noise, of_file, state->linear.used, transform->components,
                      method_words[hc_denoise_params(stage)->method], is_limit ? "at least" : "about",
                      state->gain);
    }
}

/* Called once they are looked for, and the noise without them is known. */
static void note_stripes(HcStage *stage) {
    const HcDenoise *state = stage->state;
    int32_t count = 0;
    int32_t most = 0;
    double largest = -1;
    if (!state->stripes.found) {
        hc_stage_note(stage, "--stripes: none are found");
        return;
    }
    for (int32_t b = 0; b < stage->in.bands; b++) {
        double noise = sqrt(state->noise.covariance[(size_t)b * (size_t)(stage->in.bands + 1)]);
        double share = noise > 0 ? hc_stripes_of_band(&state->stripes, b) / noise : 0;
        count += share > seen;
        most = share > largest ? b : most;
        largest = fmax(share, largest);
    }
    hc_stage_note(stage,
                  "stripes are taken away: more than a tenth of the noise in %d of %d bands, at most %.2g "
                  "times the noise (band %d, root mean square over the columns)",
                  count, stage->in.bands, largest, most + 1);
}

/* Called once they are looked for. */
static void note_levels(HcStage *stage) {
    const HcLevels *levels = &((const HcDenoise *)stage->state)->levels;
    if (levels->uneven) {
        hc_stage_note(stage, "--columns: the noise of columns is %.2f to %.2f times that of the scene",
                      levels->least, levels->most);
    } else {
        hc_stage_note(
            stage, "--columns: noise that differs by %.0f %% between columns counts as even (limit: %.0f %%)",
            100 * levels->differ, 100 * levels->limit);
    }
}

/* ---- plan ---- */

static HcStatus check_params(const HcStage *stage, HcError *err) {
    const HcDenoiseParams *params = hc_denoise_params(stage);
    int64_t window =
        params->window > 0 ? params->window : HC_DENOISE_WINDOW; /* the default is that, or larger */
    if (params->step > window) {
        return hc_fail(err, HC_E_USAGE,
                       "denoise: --step %lld: more than the side of %lld leaves pixels out%s",
                       (long long)params->step, (long long)window,
                       params->window > 0 ? "" : " (--side makes it larger)");
    }
    if (params->stripes && hc_denoise_noise_kind(stage) == HC_DENOISE_NEIGHBOURS &&
        hc_denoise_difference(stage) != (HcDifference)HC_STENCIL_LOWER) {
        return hc_fail(err, HC_E_USAGE,
                       "denoise: --stripes: differences of neighbours (--noise %s) take stripes for noise "
                       "(spatial-spectral-lower and shift-lower do not)",
                       params->noise);
    }
    if (params->stripes) {
        HC_OR_RETURN(hc_stripes_check(&stage->in, "denoise: --stripes", err));
    }
    if (params->columns > 1 && params->stripes) {
        return hc_fail(err, HC_E_USAGE, "denoise: --columns %lld: with --stripes it is 1",
                       (long long)params->columns);
    }
    if (hc_denoise_by_patches(stage) && stage->in.bands > HC_SVD_MAX) {
        return hc_fail(err, HC_E_UNSUPPORTED,
                       "denoise: the scene has %d bands, at most %d (--method subspace)", stage->in.bands,
                       HC_SVD_MAX);
    }
    return HC_OK;
}

/* Two rounds look for them. */
static void plan_stripes(HcStage *stage, bool fits) {
    if (fits) {
        stage->needs.observes = true;
        stage->needs.rounds = 2;
        stage->needs.rank_lines = hc_stripes_segment(&stage->in);
        hc_stage_takes(stage, HC_SPACE_HOST, hc_stripes_bytes(&stage->in, false));
        hc_stage_takes(stage, HC_SPACE_DEVICE, hc_stripes_bytes_device(&stage->in));
        if (stage->round == 0) {
            hc_scene_sums_plan(stage, (HcDifference)HC_STENCIL_LOWER);
        }
    }
}

/* Behind the stripes. */
static void plan_levels(HcStage *stage, bool fits) {
    HcDenoise *state = stage->state;
    if (fits) {
        hc_levels_plan(&state->levels, stage, hc_denoise_params(stage)->columns, stage->round == 0);
        stage->needs.rank_lines = (int32_t)hc_common_multiple(HC_COLUMN_LINES, stage->needs.rank_lines);
    }
}

/* Lines are worked on by the host. */
static void plan_changes(HcStage *stage) {
    const HcDenoise *state = stage->state;
    size_t line = (size_t)stage->in.samples * ((size_t)stage->in.bands * sizeof(float) + 1);
    size_t numbers = (size_t)stage->in.samples * (size_t)(stage->in.bands + state->linear.used + 2);
    if (state->stripes.found || state->levels.uneven) {
        hc_stage_takes(stage, HC_SPACE_HOST, HC_DENOISE_ROOM * line + numbers * sizeof(double));
    }
}

static HcStatus plan(HcStage *stage, HcError *err) {
    HcDenoiseParams *params = stage->params;
    HcDenoise *state = stage->state;
    bool fits = false;
    HC_OR_RETURN(check_params(stage, err));
    params->linear.denoise = !params->linear.fit_only;
    /* All components, until `choose` knows better. */
    params->linear.min_eigenvalue =
        params->linear.components != NULL || params->linear.fit_only ? NAN : -INFINITY;
    HC_OR_RETURN(hc_linear_plan(stage, "denoise", &fits, err));
    if (has_transform(stage)) {
        choose(stage);
        stage->needs.passes_through =
            stage->needs.passes_through || (hc_denoise_hands_on(stage) && !state->stripes.found);
    }
    if (!stage->needs.passes_through && !hc_denoise_hands_on(stage) && hc_denoise_by_patches(stage)) {
        hc_denoise_plan_strips(stage);
    }
    if (hc_denoise_maps(stage)) {
        HC_OR_RETURN(hc_denoise_plan_map(stage, err));
    }
    if (params->stripes) {
        plan_stripes(stage, fits);
    }
    if (params->columns > 0) {
        plan_levels(stage, fits);
    }
    if (!fits) {
        plan_changes(stage);
    }
    return fits ? hc_denoise_plan_noise(stage, err) : HC_OK;
}

/* ---- the run ---- */

/* With the transform and its matrices. */
static HcStatus prepare(HcStage *stage, HcError *err) {
    HC_OR_RETURN(hc_denoise_open_strips(stage, err));
    note_choices(stage);
    return HC_OK;
}

static HcStatus open_denoise(HcStage *stage, HcError *err) {
    HcDenoise *state = stage->state;
    HC_OR_RETURN(hc_linear_open(stage, err));
    if (stage->needs.observes && hc_denoise_params(stage)->stripes) {
        HC_OR_RETURN(hc_scene_sums_open(&state->lower, stage, (HcDifference)HC_STENCIL_LOWER, NULL, err));
    }
    if (stage->needs.observes && state->levels.noise.width > 0) {
        HC_OR_RETURN(hc_column_sums_open(&state->levels.noise.sums, stage, state->levels.noise.width, err));
    }
    return stage->needs.observes ? HC_OK : prepare(stage, err);
}

static HcStatus observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    HcDenoise *state = stage->state;
    if (stage->round > 0) {
        return hc_stripes_observe(&state->stripes, queue, in, err);
    }
    if (state->levels.noise.width > 0) {
        HC_OR_RETURN(hc_column_sums_add(&state->levels.noise.sums, &state->grouping, stage, queue, in, err));
    }
    return hc_denoise_params(stage)->stripes ? hc_scene_sums_add(&state->lower, stage, queue, in, err)
                                             : HC_OK;
}

/* The first round with --stripes: sums are kept, and the basis is made that shows stripes. */
static HcStatus settle_sums(HcStage *stage, HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    HcDenoise *state = stage->state;
    HcStatistics scene = {0};
    HcMoments lower = {0};
    state->has_noise_sums = hc_scene_sums_of(stage, 1) != NULL;
    HC_TRY(hc_linear_take(stage, queue, &state->values, &state->noise_sums, err));
    HC_TRY(hc_scene_sums_take(&state->lower, stage, queue, &lower, err));
    HC_TRY(
        hc_statistics_make(&scene, stage->compute, &stage->in, &state->values, HC_DIFFERENCE_NONE, "", err));
    HC_TRY(hc_stripes_open(&state->stripes, stage->compute, &stage->in, scene.mean, &lower, err));
done:
    hc_statistics_clear(&scene);
    hc_moments_clear(&lower);
    return status;
}

/* The second round. */
static HcStatus settle_stripes(HcStage *stage, HcError *err) {
    HcDenoise *state = stage->state;
    HC_OR_RETURN(hc_stripes_settle(&state->stripes, hc_stage_ranks(stage), err));
    HC_OR_RETURN(
        hc_linear_fit(stage, &state->values, state->has_noise_sums ? &state->noise_sums : NULL, err));
    hc_moments_clear(&state->values);
    hc_moments_clear(&state->noise_sums);
    note_stripes(stage);
    return prepare(stage, err);
}

static HcStatus settle(HcStage *stage, HcQueue *queue, HcError *err) {
    HcLevels *levels = &((HcDenoise *)stage->state)->levels;
    if (stage->round == 0 && levels->noise.width > 0) {
        HC_OR_RETURN(hc_column_sums_take(&levels->noise.sums, stage, err));
    }
    if (hc_denoise_params(stage)->stripes) {
        return stage->round == 0 ? settle_sums(stage, queue, err) : settle_stripes(stage, err);
    }
    HC_OR_RETURN(hc_linear_settle(stage, queue, err));
    return prepare(stage, err);
}

static HcEvidenceChange change_of(const HcDenoise *state) {
    return (HcEvidenceChange){.offset = state->stripes.found ? state->stripes.term : NULL,
                              .inverse = state->levels.uneven ? state->levels.inverse : NULL};
}

/* Whether gains and errors can be told. The map of a scene that is too small for tests is that of the model.
 */
static HcStatus test(HcStage *stage, const HcEvidenceChange *change, HcError *err) {
    HcDenoise *state = stage->state;
    const HcTransform *transform = &state->linear.transform;
    HC_OR_RETURN(hc_evidence_find(&state->evidence, stage, transform, state->linear.used, change, NULL, err));
    bool of_file = hc_denoise_noise_kind(stage) == HC_DENOISE_FILE;
    state->doubt = hc_noise_is_difference(transform->noise) && !of_file
                       ? "differences of neighbours count texture as noise"
                       : hc_evidence_doubt(&state->evidence);
    return state->doubt != NULL && !state->evidence.small && hc_denoise_maps(stage)
               ? hc_fail(err, HC_E_NUMERIC, "denoise: --sigma-map: the error is not known: %s", state->doubt)
               : HC_OK;
}

static HcStatus fit(HcStage *stage, HcMoments *values, HcMoments *differences, HcError *err) {
    HcStatus status = HC_OK;
    HcDenoise *state = stage->state;
    HcTransform *transform = &state->linear.transform;
    HcStatistics statistics = {0};
    if (values->count < 2 && hc_denoise_noise_kind(stage) != HC_DENOISE_FILE) {
        HC_TRY(hc_noise_regression_of(&state->noise, &stage->in, values, HC_NOISE_DIAGONAL, err));
    }
    HC_TRY(hc_linear_begin_fit(stage, values, &statistics, err));
    HC_TRY(hc_stripes_correct(&state->stripes, &statistics, err));
    if (state->levels.noise.width > 0) {
        const double *stripes = state->stripes.found ? state->stripes.term : NULL;
        HC_TRY(hc_levels_fit(&state->levels, stage, stripes, &statistics, err));
        note_levels(stage);
    }
    HC_TRY(hc_denoise_fit_noise(stage, &statistics, differences, err));
    HcEvidenceChange change = change_of(state);
    HC_TRY(hc_model_fit(transform, &state->choice, &state->noise, stage, &change, &statistics, err));
    snprintf(transform->method, sizeof transform->method, "denoise");
    HC_TRY(hc_linear_end_fit(stage, &statistics, err));
    choose(stage);
    HC_TRY(test(stage, &change, err));
done:
    hc_statistics_clear(&statistics);
    return status;
}

static void report(const HcStage *stage, HcJson *to);

/* By what the record says: a gain that it does not name is not known. */
static HcStatus check_gain(const HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    double wanted = hc_denoise_params(stage)->require_gain;
    HcJson json;
    hc_json_begin(&json);
    report(stage, &json);
    const cJSON *gain = cJSON_GetObjectItemCaseSensitive(json.root, "expected_gain_db");
    if (((const HcDenoise *)stage->state)->handed_on) {
        HC_TRY(hc_fail(err, HC_E_NUMERIC, "--require-gain %g: no gain is expected", wanted));
    }
    if (!cJSON_IsNumber(gain)) {
        HC_TRY(hc_fail(err, HC_E_NUMERIC, "--require-gain %g: the gain is not known", wanted));
    }
    if (!(gain->valuedouble >= wanted)) {
        HC_TRY(hc_fail(err, HC_E_NUMERIC, "--require-gain %g: a gain of %.1f dB is expected", wanted,
                       gain->valuedouble));
    }
done:
    hc_json_clear(&json);
    return status;
}

/* What patches and groups gain, from the lines that were measured. */
static HcStatus measure_gain(HcStage *stage, HcError *err) {
    HcDenoise *state = stage->state;
    double risk = NAN;
    if (!has_transform(stage) || !hc_denoise_has_gain(stage)) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_denoise_risk(stage, &risk, err));
    if (state->gauges && !isnan(risk)) {
        state->method_gain = hc_gain_by_risk(&state->linear.transform, state->linear.used, risk);
        state->gauged = true;
    }
    if (state->gauged && state->doubt == NULL) {
        hc_stage_note(stage, "a gain of %.1f dB is expected", state->method_gain);
    }
    return HC_OK;
}

static HcStatus gather(HcStage *stage, HcError *err) {
    HC_OR_RETURN(measure_gain(stage, err));
    return isnan(hc_denoise_params(stage)->require_gain) ? HC_OK
                                                         : hc_stage_named(stage, check_gain(stage, err), err);
}

static bool fits_model(const HcStage *stage, HcFit *how) {
    bool does = hc_linear_fits(stage, how);
    how->noise = hc_denoise_difference(stage);
    how->own = hc_denoise_params(stage)->stripes               ? "--stripes"
               : hc_denoise_params(stage)->groups.by.count > 0 ? "--by"
               : hc_denoise_params(stage)->columns > 0         ? "--columns"
                                                               : NULL;
    return does;
}

static bool scree(const HcStage *stage, HcScreePlot *out) {
    bool known = hc_linear_scree(stage, "eigenvalues (1 + SNR)", out);
    out->noise = 1;
    return known;
}

static void report_stripes(const HcStage *stage, HcJson *to) {
    const HcDenoise *state = stage->state;
    hc_json_open_object(to, "stripes");
    hc_json_put_bool(to, "found", state->stripes.found);
    if (state->stripes.found) {
        hc_json_open_array(to, "root_mean_square");
        for (int32_t b = 0; b < stage->in.bands; b++) {
            hc_json_put_double(to, NULL, hc_stripes_of_band(&state->stripes, b));
        }
        hc_json_close(to);
    }
    hc_json_close(to);
}

static void report(const HcStage *stage, HcJson *to) {
    const HcDenoise *state = stage->state;
    hc_linear_report(stage, to);
    hc_noise_choice_put(&state->choice, to);
    if (has_transform(stage)) {
        hc_evidence_put(&state->evidence, to);
        if (state->doubt == NULL) {
            hc_json_put_number(to, "expected_gain_db", state->gauged ? state->method_gain : state->gain);
            hc_json_put_number(to, "subspace_gain_db", state->gain);
        } else {
            hc_json_put_text(to, "gain_unknown", state->doubt);
        }
        hc_json_put_bool(to, "handed_on", state->handed_on);
    }
    if (hc_denoise_params(stage)->stripes && has_transform(stage)) {
        report_stripes(stage, to);
    }
    if (state->levels.noise.width > 0 && has_transform(stage)) {
        hc_levels_put(&state->levels, to);
    }
}

static void close_denoise(HcStage *stage) {
    HcDenoise *state = stage->state;
    hc_denoise_close_strips(stage);
    hc_scene_sums_close(&state->lower);
    hc_moments_clear(&state->values);
    hc_moments_clear(&state->noise_sums);
    hc_stripes_close(&state->stripes);
    hc_levels_close(&state->levels);
    hc_grouping_close(&state->grouping, stage);
    hc_statistics_clear(&state->noise);
    hc_linear_close(stage);
    *state = (HcDenoise){0};
}

const HcStageClass hc_stage_denoise = {
    .name = "denoise",
    .summary = "remove noise; chooses and reports noise model, dimension and method",
    .cite =
        "Bioucas-Dias, Nascimento 2008; Zhuang, Bioucas-Dias 2018; Gavish, Donoho 2017; Dabov et al. 2007",
    .example = "hcube denoise scene.hdr clean.tif",
    .role = HC_ROLE_STAGE,
    .gives = HC_GIVES_DENOISED,
    .options = options,
    .params_size = sizeof(HcDenoiseParams),
    .state_size = sizeof(HcDenoise),
    .plan = plan,
    .observe = observe,
    .open = open_denoise,
    .settle = settle,
    .process = hc_denoise_process,
    .gather = gather,
    .finish = hc_linear_finish,
    .report = report,
    .rare = {.fits = fits_model, .fit = fit, .scree = scree},
    .close = close_denoise,
};
