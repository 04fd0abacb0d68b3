/* The targets of detect: spectra of a library, brought to the bands and the unit of what comes in, and pixels
 * of the scene. Behind pca and mnf, spectra go through the same transform as the pixels. */
#include "core/allocate.h"
#include "pipeline/chain.h"
#include "pipeline/stages/detect/detect.h"
#include "pipeline/stages/shared/linear.h"
#include "pipeline/stages/stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const HcStage *hc_detect_transform(const HcStage *stage) {
    const HcStage *before = hc_stage_previous(stage);
    bool made = before != NULL && before->kind->gives >= HC_GIVES_COMPONENTS;
    return made && stage->in.meaning == HC_COMPONENT ? before : NULL;
}

/* The stage as the library meets it: in front of the transform. */
static HcStage in_front(const HcStage *stage) {
    const HcStage *transform = hc_detect_transform(stage);
    HcStage seen = *stage;
    if (transform != NULL) {
        seen.in = transform->in;
    }
    return seen;
}

/* ---- plan ---- */

static bool has_pixels(const HcStage *stage) {
    return hc_detect_params(stage)->pixels.count > 0;
}

static int32_t pixel_count(const HcStage *stage) {
    return (int32_t)((const HcDetectState *)stage->state)->pixels.pixels.count;
}

/* Names of the spectra, then of the pixels. */
static HcStatus name_targets(HcStage *stage, HcError *err) {
    HcDetectState *state = stage->state;
    const HcLibraryFit *fit = &state->library.fit;
    int32_t pixels = pixel_count(stage);
    HC_OR_RETURN(hc_new(state->name, fit->count + pixels, "names of targets", err));
    for (int32_t k = 0; k < fit->count; k++) {
        state->name[k] = fit->name[k];
    }
    for (int32_t k = 0; k < pixels; k++) {
        state->name[fit->count + k] = state->pixels.pixels.classes.name[k + 1];
    }
    state->targets = fit->count + pixels;
    return HC_OK;
}

HcStatus hc_detect_plan_targets(HcStage *stage, HcError *err) {
    const HcDetectParams *params = hc_detect_params(stage);
    HcDetectState *state = stage->state;
    HcStage seen = in_front(stage);
    if (params->targets == NULL && !has_pixels(stage)) {
        return hc_fail(err, HC_E_USAGE, "detect: give --targets or --target-at");
    }
    if (params->targets == NULL && (params->choice.spectra != NULL || params->choice.all)) {
        return hc_fail(err, HC_E_USAGE, "detect: --%s: there are no --targets to choose from",
                       params->choice.spectra != NULL ? "spectra" : "all-spectra");
    }
    if (params->targets != NULL) {
        const char *scale = hc_detect_method(stage)->unit && !params->absorption ? params->scale : "none";
        HC_OR_RETURN(
            hc_scaled_library_read(&state->library, &seen, params->targets, &params->choice, scale, err));
    }
    if (has_pixels(stage) && pixel_count(stage) == 0) {
        HC_OR_RETURN(hc_labelled_typed("detect: --target-at", false, params->pixels.item,
                                       params->pixels.count, &stage->in, &state->pixels.pixels, err));
    }
    return state->name == NULL ? name_targets(stage, err) : HC_OK;
}

/* ---- what the scene says ---- */

/* Components do not tell the unit of the scene; their mean does. */
static bool looks_at_unit(const HcStage *stage) {
    const HcDetectState *state = stage->state;
    return state->library.fit.count > 0 && hc_scaled_library_looks(&state->library) &&
           hc_detect_transform(stage) == NULL;
}

bool hc_detect_looks(const HcStage *stage) {
    return pixel_count(stage) > 0 || looks_at_unit(stage);
}

HcStatus hc_detect_open_targets(HcStage *stage, HcError *err) {
    HcDetectState *state = stage->state;
    if (looks_at_unit(stage)) {
        HC_OR_RETURN(hc_scaled_library_open(&state->library, stage, err));
    }
    return pixel_count(stage) > 0 ? hc_spectra_open(&state->pixels, stage->compute, stage->in.bands, err)
                                  : HC_OK;
}

HcStatus hc_detect_observe_targets(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    const HcDetectState *state = stage->state;
    if (looks_at_unit(stage)) {
        HC_OR_RETURN(hc_scaled_library_observe(&state->library, queue, in, err));
    }
    return pixel_count(stage) > 0 ? hc_spectra_gather(&state->pixels, queue, in, err) : HC_OK;
}

HcStatus hc_detect_settle_targets(HcStage *stage, HcQueue *queue, HcError *err) {
    const HcDetectParams *params = hc_detect_params(stage);
    HcDetectState *state = stage->state;
    if (looks_at_unit(stage)) {
        HC_OR_RETURN(hc_scaled_library_settle(&state->library, stage, params->targets, queue, err));
    }
    if (pixel_count(stage) == 0) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_wait(queue, err));
    HC_OR_RETURN(hc_spectra_join(&state->pixels, hc_stage_ranks(stage), err));
    if (hc_spectra_check(&state->pixels) > 0) {
        int32_t i = 0;
        while (state->pixels.valid[i]) {
            i++;
        }
        return hc_fail(err, HC_E_NUMERIC, "detect: --target-at %d,%d: the pixel is masked",
                       state->pixels.pixels.sample[i], state->pixels.pixels.line[i]);
    }
    return HC_OK;
}

/* ---- the spectra ---- */

/* The unit of the scene by the mean that the transform takes away. */
static HcStatus unit_of_mean(HcStage *stage, const HcTransform *transform, HcError *err) {
    HcDetectState *state = stage->state;
    HcScaledLibrary *library = &state->library;
    HcStage seen = in_front(stage);
    float *mean = NULL;
    char note[HC_UNIT_NOTE];
    HC_OR_RETURN(hc_new(mean, transform->bands, "a mean", err));
    for (int32_t b = 0; b < transform->bands; b++) {
        mean[b] = (float)transform->mean[b];
    }
    HcValueUnit scene = hc_scene_unit(&seen.in, mean, (size_t)transform->bands);
    free(mean);
    if (hc_unit_note(note, &library->unit, &scene) != NULL) {
        hc_stage_note(stage, "%s: %s; they are (--scale none leaves them)", hc_detect_params(stage)->targets,
                      note);
    }
    double factor = hc_unit_factor(&library->unit, &scene);
    library->factor = isnan(factor) ? 1 : factor;
    return HC_OK;
}

/* forward' (t factor - mean), as the pixels. */
static void transform_spectra(const HcTransform *transform, const HcScaledLibrary *library, int32_t used,
                              double *out) {
    for (int32_t j = 0; j < library->fit.count; j++) {
        const float *from = library->fit.value + (size_t)j * (size_t)transform->bands;
        for (int32_t b = 0; b < transform->bands; b++) {
            double value = (double)from[b] * library->factor - transform->mean[b];
            for (int32_t k = 0; k < used; k++) {
                out[(size_t)j * (size_t)used + (size_t)k] +=
                    value * transform->forward[(size_t)b * (size_t)transform->components + (size_t)k];
            }
        }
    }
}

HcStatus hc_detect_spectra(HcStage *stage, HcError *err) {
    HcDetectState *state = stage->state;
    if (state->spectrum != NULL) {
        return HC_OK;
    }
    const HcStage *made = hc_detect_transform(stage);
    size_t bands = (size_t)stage->in.bands;
    int32_t of_library = state->library.fit.count;
    if (made != NULL && of_library > 0 && hc_scaled_library_looks(&state->library)) {
        HC_OR_RETURN(unit_of_mean(stage, &((const HcLinear *)made->state)->transform, err));
    }
    HC_OR_RETURN(hc_new(state->spectrum, (size_t)state->targets * bands, "targets", err));
    double *out = state->spectrum;
    if (made != NULL && of_library > 0) {
        transform_spectra(&((const HcLinear *)made->state)->transform, &state->library, stage->in.bands, out);
    }
    for (size_t i = 0; made == NULL && i < (size_t)of_library * bands; i++) {
        out[i] = (double)state->library.fit.value[i] * state->library.factor;
    }
    for (int32_t i = 0; i < pixel_count(stage); i++) {
        size_t target = (size_t)of_library + (size_t)state->pixels.pixels.label[i] - 1;
        for (size_t b = 0; b < bands; b++) {
            out[target * bands + b] = (double)state->pixels.value[(size_t)i * bands + b];
        }
    }
    return HC_OK;
}
