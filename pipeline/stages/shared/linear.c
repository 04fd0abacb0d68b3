/* One life cycle for pca and mnf: they differ in the statistics that they ask for and in how a transform
 * is made of them; options, choice of components, models and application are the same. */
#include "pipeline/stages/shared/linear.h"
#include "core/allocate.h"
#include "core/operation/image/project.h"
#include "io/file.h"
#include "pipeline/chain.h"
#include "pipeline/json/json.h"
#include "pipeline/memory.h"
#include "pipeline/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const HcLinearParams *params_of(const HcStage *stage) {
    return stage->params;
}

/* MODEL_MATRICES: while a model is saved, its two matrices as numbers, as texts of 25 bytes a number, and as
 * the text of the file; and the noise. */
enum { COMPONENTS_MAX = 100000, MODEL_MATRICES = 18 };

/* 0 where the text is no number of components. */
static int64_t count_of(const char *text) {
    double value = 0;
    bool digits = text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
    bool fits = digits && hc_option_numbers(text, &value, 1) == 1 && value <= COMPONENTS_MAX;
    return fits ? (int64_t)value : 0;
}

HcStatus hc_linear_check_components(const char *who, const char *text, HcError *err) {
    if (hc_text_find(text, hc_dimension_words) >= 0 || count_of(text) > 0) {
        return HC_OK;
    }
    const char *nearest = hc_text_nearest(text, hc_dimension_words);
    return nearest != NULL
               ? hc_fail(err, HC_E_USAGE, "%s: --components %s: unknown, did you mean %s?", who, text,
                         nearest)
               : hc_fail(err, HC_E_USAGE,
                         "%s: --components %s: neither a whole number from 1 to %d nor a rule of dimension "
                         "(auto, hysime, hfc, nwhfc, elm, gavish-donoho, marchenko-pastur)",
                         who, text, COMPONENTS_MAX);
}

static void read_components(const HcStage *stage) {
    const char *text = params_of(stage)->components;
    HcLinear *linear = stage->state;
    linear->rule = text != NULL ? hc_text_find(text, hc_dimension_words) : -1;
    linear->asked = text != NULL ? count_of(text) : 0;
}

static HcStatus check_params(const HcStage *stage, HcError *err) {
    const HcLinearParams *params = params_of(stage);
    const HcLinear *linear = stage->state;
    read_components(stage);
    return linear->rule < 0 || params->model == NULL
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "%s: --components %s: nothing is fitted here, give a number",
                         stage->kind->name, params->components);
}

static bool has_transform(const HcLinear *linear) {
    return linear->transform.method[0] != '\0';
}

static int32_t chosen_components(const HcStage *stage) {
    const HcLinearParams *params = params_of(stage);
    const HcLinear *linear = stage->state;
    int32_t most = has_transform(linear) ? linear->transform.components : stage->in.bands;
    if (linear->asked > 0) {
        return linear->asked < most ? (int32_t)linear->asked : most;
    }
    if (linear->rule >= 0 && has_transform(linear)) {
        int32_t count = linear->dimension.count[linear->rule];
        return count < 1 ? 1 : count < most ? count : most;
    }
    if (!isnan(params->min_eigenvalue) && has_transform(linear)) {
        return hc_transform_count(&linear->transform, params->min_eigenvalue);
    }
    return most;
}

/* The bands that a spectral output has: as in `from`, in the place and size of the scene that comes in. */
static HcStatus plan_spectral(HcStage *stage, const HcScene *from, HcError *err) {
    HC_OR_RETURN(hc_scene_copy(&stage->out, from, err));
    stage->out.lines = stage->in.lines;
    stage->out.samples = stage->in.samples;
    stage->out.meaning = from->meaning == HC_SHAPE ? HC_SHAPE : HC_SPECTRAL;
    stage->out.integer_limit = 0;
    if (from != &stage->in) {
        HcPlace *place = &stage->out.place;
        free(place->crs);
        *place = stage->in.place;
        stage->out.rpc = stage->in.rpc;
        place->crs = NULL;
        if (stage->in.place.crs != NULL && (place->crs = strdup(stage->in.place.crs)) == NULL) {
            return hc_fail_memory(err, (double)strlen(stage->in.place.crs), "a text of the scene");
        }
    }
    return HC_OK;
}

static HcStatus plan_components(HcStage *stage, const char *label, int32_t count, HcError *err) {
    const HcLinear *linear = stage->state;
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    HC_OR_RETURN(hc_scene_reband(&stage->out, count, HC_COMPONENT, err));
    stage->out.has_nodata = false; /* any value may be a component: the mask alone says where there is none */
    /* A direction without variance holds the rounding of all others. */
    double first = has_transform(linear) ? sqrt(fmax(linear->transform.eigenvalues[0], 0)) : 0;
    for (int32_t k = 0; k < count; k++) {
        HC_OR_RETURN(hc_scene_agree(&stage->out, k, (HcAgreement){.within = 0x1p-40 * first}, err));
        if (has_transform(linear)) {
            HC_OR_RETURN(hc_scene_name_band(&stage->out, k, err, "%s %d (eigenvalue %.5g)", label, k + 1,
                                            linear->transform.eigenvalues[k]));
        } else {
            HC_OR_RETURN(hc_scene_name_band(&stage->out, k, err, "%s %d", label, k + 1));
        }
    }
    return HC_OK;
}

static HcStatus plan_inverse(HcStage *stage, HcError *err) {
    const HcLinearParams *params = params_of(stage);
    const HcLinear *linear = stage->state;
    const HcScene *bands = &linear->transform.scene;
    if (params->model == NULL) {
        HcStage *forward = hc_stage_before(stage, stage->kind->gives);
        const HcLinearParams *other = forward != NULL ? params_of(forward) : NULL;
        if (other == NULL || other->inverse || other->denoise || other->fit_only) {
            return hc_fail(err, HC_E_USAGE,
                           "%s: --inverse needs --model, or a forward %s earlier in the chain",
                           stage->kind->name, stage->kind->name);
        }
        for (int32_t s = forward->place + 1; s < stage->place; s++) {
            const HcStageClass *between = stage->chain->stages[s].kind;
            if (between->gives >= HC_GIVES_COMPONENTS || between->rare.keeps_values ||
                stage->chain->stages[s].out.meaning == HC_OTHER ||
                stage->chain->stages[s].out.meaning == HC_FRACTION) {
                return hc_fail(err, HC_E_USAGE,
                               "%s: --inverse: %s in between makes other bands of the components",
                               stage->kind->name, between->name);
            }
        }
        bands = &forward->in;
    }
    if (stage->in.wavelength != NULL) {
        return hc_fail(err, HC_E_INPUT, "%s: --inverse: bands with wavelengths come in, no components",
                       stage->kind->name);
    }
    int32_t most = has_transform(linear) ? linear->transform.components : bands->bands;
    if (stage->in.bands > most) {
        return hc_fail(err, HC_E_INPUT, "%s: --inverse: %d bands come in, the model has %d components",
                       stage->kind->name, stage->in.bands, most);
    }
    return plan_spectral(stage, bands, err);
}

static HcStatus load_model(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    const HcLinearParams *params = params_of(stage);
    HcLinear *linear = stage->state;
    if (!has_transform(linear)) {
        HcTransform loaded = {0};
        status = hc_transform_load(&loaded, params->model, stage->kind->name, err);
        if (status != HC_OK) {
            hc_transform_clear(&loaded);
            return status;
        }
        linear->transform = loaded;
    }
    hc_stage_remark(stage, params->model, linear->transform.remark);
    if (!params->inverse) {
        HC_OR_RETURN(hc_statistics_check_bands(&linear->transform.scene, &stage->in, params->model, err));
    }
    return status;
}

HcStatus hc_linear_plan(HcStage *stage, const char *label, bool *fits, HcError *err) {
    const HcLinearParams *params = params_of(stage);
    HcLinear *linear = stage->state;
    HC_OR_RETURN(check_params(stage, err));
    HC_OR_RETURN(hc_statistics_of_values(&stage->in, stage->kind->name, err));
    if (params->model != NULL) {
        HC_OR_RETURN(load_model(stage, err));
    }
    *fits = !params->inverse && params->model == NULL && !stage->settled;
    if (params->inverse) {
        HC_OR_RETURN(plan_inverse(stage, err));
        linear->used = stage->in.bands;
    } else {
        if (!*fits && linear->asked > linear->transform.components) {
            hc_stage_note(stage, "--components %lld: only %d can be had", (long long)linear->asked,
                          linear->transform.components);
        } else if (*fits && linear->asked > stage->in.bands) {
            return hc_fail(err, HC_E_USAGE, "%s: --components %lld: the scene has %d bands",
                           stage->kind->name, (long long)linear->asked, stage->in.bands);
        }
        linear->used = chosen_components(stage);
        if (params->fit_only) {
            HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
        } else if (params->denoise) {
            HC_OR_RETURN(plan_spectral(stage, &stage->in, err));
        } else {
            HC_OR_RETURN(plan_components(stage, label, linear->used, err));
        }
    }
    stage->needs.passes_through = params->fit_only;
    stage->needs.has_output = params->fit_only;
    stage->output = params->save_model;
    size_t components = (size_t)linear->used;
    /* Denoising goes through a block of components and its mask. */
    hc_stage_takes(stage, HC_SPACE_PIXEL, params->denoise ? components * sizeof(float) + 1 : 0);
    hc_stage_takes(stage, HC_SPACE_DEVICE, 2 * components * (size_t)stage->in.bands * sizeof(double));
    size_t all = *fits && params->save_model != NULL ? (size_t)stage->in.bands : 0;
    hc_stage_takes(stage, HC_SPACE_FIT, MODEL_MATRICES * all * all * sizeof(double));
    return HC_OK;
}

static void note_left_out(HcStage *stage, const HcTransform *transform, HcLeftOut why, const char *text) {
    HcText list = {0};
    int32_t count = 0;
    for (int32_t b = 0; b < transform->bands; b++) {
        if (transform->left_out[b] != why) {
            continue;
        }
        if (++count <= 12) {
            hc_text_add(&list, "%s%d", count == 1 ? "" : ", ", b + 1);
        }
    }
    if (list.failed) {
        hc_stage_note_lost(stage);
    } else if (count > 0) {
        hc_stage_note(stage, "%s: %d band%s (%s%s)", text, count, count == 1 ? "" : "s", hc_text_shown(&list),
                      count > 12 ? ", ..." : "");
    }
    hc_text_clear(&list);
}

HcStatus hc_linear_begin_fit(HcStage *stage, HcMoments *values, HcStatistics *scene, HcError *err) {
    HcTransform *transform = &((HcLinear *)stage->state)->transform;
    HC_OR_RETURN(hc_statistics_make(scene, stage->compute, &stage->in, values, HC_DIFFERENCE_NONE, "", err));
    HC_OR_RETURN(hc_scene_copy(&transform->scene, &stage->in, err));
    transform->pixels = scene->pixels;
    transform->wanted = params_of(stage)->save_model == NULL ? (int32_t)((HcLinear *)stage->state)->asked : 0;
    hc_moments_clear(values);
    return HC_OK;
}

/* With --components RULE: how many components the rule finds. */
static HcStatus apply_rule(HcStage *stage, const HcStatistics *scene, HcError *err) {
    HcLinear *linear = stage->state;
    if (linear->rule < 0) {
        return HC_OK;
    }
    hc_dimension_usual(&linear->dimension);
    HC_OR_RETURN(hc_dimension_estimate(&linear->dimension, stage, scene, err));
    int32_t count = linear->dimension.count[linear->rule];
    hc_stage_note(stage, "--components %s: %d%s", hc_dimension_words[linear->rule], count,
                  count < 1 ? ", one component is kept" : "");
    if (hc_dimension_differs(&linear->dimension)) {
        hc_stage_note(stage, "the rules for the dimension find %d to %d components (the record has them all)",
                      hc_dimension_extreme(&linear->dimension, false),
                      hc_dimension_extreme(&linear->dimension, true));
    }
    return HC_OK;
}

HcStatus hc_linear_end_fit(HcStage *stage, const HcStatistics *scene, HcError *err) {
    HcLinear *linear = stage->state;
    HC_OR_RETURN(apply_rule(stage, scene, err));
    linear->used = chosen_components(stage);
    double least = params_of(stage)->min_eigenvalue;
    if (!isnan(least) && linear->transform.eigenvalues[0] < least) {
        hc_stage_note(stage, "no eigenvalue reaches %g: one component is kept", least);
    }
    note_left_out(stage, &linear->transform, HC_BAND_CONSTANT, "constant, takes no part");
    note_left_out(stage, &linear->transform, HC_BAND_NOISELESS, "without any noise, takes no part");
    note_left_out(stage, &linear->transform, HC_BAND_REPEATED,
                  "noise repeats that of earlier bands, takes no part");
    return HC_OK;
}

/* The transform that process uses: its own, or that of the forward stage before it. */
static const HcTransform *transform_of(const HcStage *stage) {
    const HcLinear *linear = stage->state;
    if (!has_transform(linear) && params_of(stage)->inverse) {
        const HcStage *forward = hc_stage_before(stage, stage->kind->gives);
        return &((const HcLinear *)forward->state)->transform;
    }
    return &linear->transform;
}

bool hc_linear_fits(const HcStage *stage, HcFit *how) {
    const HcLinearParams *params = params_of(stage);
    *how = (HcFit){.save_model = params->save_model, .fit_only = params->fit_only};
    how->rule = hc_text_find(params->components, hc_dimension_words) >= 0 ? params->components : NULL;
    return params->model == NULL && !params->inverse;
}

bool hc_linear_scree(const HcStage *stage, const char *title, HcScreePlot *out) {
    const HcTransform *transform = transform_of(stage);
    *out = (HcScreePlot){.values = transform->eigenvalues, .count = transform->components, .title = title};
    int32_t kept = chosen_components(stage);
    out->kept = kept < out->count ? kept : 0;
    return transform->method[0] != '\0';
}

const HcDimension *hc_linear_dimension(const HcStage *stage) {
    const HcLinear *linear = stage->state;
    return linear->dimension.bands > 0 ? &linear->dimension : NULL;
}

HcStatus hc_linear_upload(HcCompute *compute, const HcTransform *transform, int32_t count,
                          HcLinearMatrices *out, HcError *err) {
    HcStatus status = HC_OK;
    size_t bands = (size_t)transform->bands;
    size_t used = (size_t)count;
    double *narrow = NULL;
    HC_OR_RETURN(hc_new(narrow, bands * used, "a transform", err));
    for (size_t b = 0; b < bands; b++) {
        memcpy(narrow + b * used, transform->forward + b * (size_t)transform->components,
               used * sizeof *narrow);
    }
    HC_TRY(hc_memory_upload(compute, narrow, bands * used * sizeof *narrow, &out->forward, err));
    HC_TRY(hc_memory_upload(compute, transform->inverse, used * bands * sizeof(double), &out->inverse, err));
    HC_TRY(hc_memory_upload(compute, transform->mean, bands * sizeof(double), &out->mean, err));
done:
    free(narrow);
    return status;
}

void hc_linear_release(HcCompute *compute, HcLinearMatrices *matrices) {
    hc_memory_release(compute, &matrices->forward);
    hc_memory_release(compute, &matrices->inverse);
    hc_memory_release(compute, &matrices->mean);
}

/* Once there is a transform: all that process needs, at the first process pass. */
static HcStatus ready(HcStage *stage, HcError *err) {
    HcLinear *linear = stage->state;
    return params_of(stage)->fit_only
               ? HC_OK
               : hc_linear_upload(stage->compute, transform_of(stage), linear->used, &linear->device, err);
}

HcStatus hc_linear_open(HcStage *stage, HcError *err) {
    return stage->needs.observes ? HC_OK : ready(stage, err);
}

HcStatus hc_linear_take(HcStage *stage, HcQueue *queue, HcMoments *values, HcMoments *noise, HcError *err) {
    HcSceneSums *noise_sums = hc_scene_sums_of(stage, 1);
    HC_OR_RETURN(hc_scene_sums_take(hc_scene_sums_of(stage, 0), stage, queue, values, err));
    return noise_sums != NULL ? hc_scene_sums_take(noise_sums, stage, queue, noise, err) : HC_OK;
}

HcStatus hc_linear_fit(HcStage *stage, HcMoments *values, HcMoments *noise, HcError *err) {
    HC_OR_RETURN(stage->kind->rare.fit(stage, values, noise, err));
    return ready(stage, err);
}

HcStatus hc_linear_settle(HcStage *stage, HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    bool of_noise = hc_scene_sums_of(stage, 1) != NULL;
    HcMoments values = {0};
    HcMoments noise = {0};
    HC_TRY(hc_linear_take(stage, queue, &values, &noise, err));
    HC_TRY(hc_linear_fit(stage, &values, of_noise ? &noise : NULL, err));
done:
    hc_moments_clear(&values);
    hc_moments_clear(&noise);
    return status;
}

HcStatus hc_linear_process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                           void *scratch, HcError *err) {
    const HcLinearParams *params = params_of(stage);
    const HcLinear *linear = stage->state;
    if (params->inverse) {
        return hc_project(queue, in, linear->device.inverse.data, NULL, linear->device.mean.data, out, err);
    }
    if (!params->denoise) {
        return hc_project(queue, in, linear->device.forward.data, linear->device.mean.data, NULL, out, err);
    }
    HcBlock components = *out;
    components.bands = linear->used;
    components.data = scratch;
    components.mask = (uint8_t *)scratch + hc_block_values(&components) * sizeof(float);
    HC_OR_RETURN(
        hc_project(queue, in, linear->device.forward.data, linear->device.mean.data, NULL, &components, err));
    return hc_project(queue, &components, linear->device.inverse.data, NULL, linear->device.mean.data, out,
                      err);
}

HcStatus hc_linear_finish(HcStage *stage, HcError *err) {
    const HcLinearParams *params = params_of(stage);
    const HcLinear *linear = stage->state;
    if (params->save_model == NULL) {
        return HC_OK;
    }
    return hc_transform_save(&linear->transform, params->save_model, hc_stage_overwrite(stage), err);
}

void hc_linear_report(const HcStage *stage, HcJson *to) {
    const HcLinear *linear = stage->state;
    const HcTransform *transform = &linear->transform;
    hc_json_put_number(to, "components", linear->used);
    if (!has_transform(linear)) {
        return;
    }
    hc_json_put_number(to, "pixels", (double)transform->pixels);
    if (*transform->noise != '\0') {
        hc_json_put_text(to, "noise", transform->noise);
        hc_json_put_number(to, "noise_pixels", (double)transform->noise_pixels);
    }
    if (linear->dimension.bands > 0) {
        hc_json_open_object(to, "dimension");
        hc_dimension_put(&linear->dimension, to);
        hc_json_close(to);
    }
    hc_json_put_doubles(to, "eigenvalues", transform->eigenvalues, (size_t)transform->components);
}

void hc_linear_close(HcStage *stage) {
    HcLinear *linear = stage->state;
    hc_linear_release(stage->compute, &linear->device);
    hc_transform_clear(&linear->transform);
    *linear = (HcLinear){0};
}
