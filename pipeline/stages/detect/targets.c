/* The targets of detect: spectra of a library, brought to the bands and the unit of what comes in, and pixels
 * of the scene. Behind pca and mnf, spectra go through the same transform as the pixels. */
#include "core/allocate.h"
#include "pipeline/chain.h"
#include "pipeline/stages/detect/detect.h"
#include "pipeline/stages/linear.h"
#include "pipeline/stages/stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const HcStage *hc_detect_transform(const HcStage *stage) {
    const HcStage *before = hc_stage_previous(stage);
    bool made = before != NULL && (before->kind == &hc_stage_mnf || before->kind == &hc_stage_pca);
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

static int32_t pixel_count(const HcStage *stage) {
    return hc_detect_params(stage)->pixels.count;
}

static HcStatus parse_pixel(const HcStage *stage, const char *text, int32_t *line, int32_t *sample,
                            HcError *err) {
    double number[2] = {0};
    bool whole = hc_option_numbers(text, number, 2) == 2;
    for (int i = 0; i < 2 && whole; i++) {
        whole = number[i] >= 0 && number[i] == floor(number[i]);
    }
    if (!whole) {
        return hc_fail(err, HC_E_USAGE, "detect: --target-pixel %s: two whole numbers, LINE,SAMPLE from 0",
                       text);
    }
    if (number[0] >= (double)stage->in.lines || number[1] >= (double)stage->in.samples) {
        return hc_fail(err, HC_E_USAGE, "detect: --target-pixel %s: the scene has %lld lines of %lld samples",
                       text, (long long)stage->in.lines, (long long)stage->in.samples);
    }
    *line = (int32_t)number[0];
    *sample = (int32_t)number[1];
    return HC_OK;
}

static bool lies_before(int32_t line, int32_t sample, int32_t other_line, int32_t other_sample) {
    return line != other_line ? line < other_line : sample < other_sample;
}

/* In the order of the scene; the label of a pixel is its place among the options. */
static HcStatus read_pixels(HcStage *stage, HcError *err) {
    HcDetectState *state = stage->state;
    HcLabelled *pixels = &state->pixels.pixels;
    int32_t count = pixel_count(stage);
    HC_OR_RETURN(hc_new(pixels->line, count, "target pixels", err));
    HC_OR_RETURN(hc_new(pixels->sample, count, "target pixels", err));
    HC_OR_RETURN(hc_new(pixels->label, count, "target pixels", err));
    for (int32_t i = 0; i < count; i++) {
        int32_t line = 0, sample = 0;
        const char *text = hc_detect_params(stage)->pixels.item[i];
        HC_OR_RETURN(parse_pixel(stage, text, &line, &sample, err));
        int32_t at = i;
        while (at > 0 && lies_before(line, sample, pixels->line[at - 1], pixels->sample[at - 1])) {
            pixels->line[at] = pixels->line[at - 1];
            pixels->sample[at] = pixels->sample[at - 1];
            pixels->label[at] = pixels->label[at - 1];
            at--;
        }
        if (at > 0 && pixels->line[at - 1] == line && pixels->sample[at - 1] == sample) {
            return hc_fail(err, HC_E_USAGE, "detect: --target-pixel %s: given twice", text);
        }
        pixels->line[at] = line;
        pixels->sample[at] = sample;
        pixels->label[at] = i;
    }
    pixels->count = count;
    return HC_OK;
}

/* Names of the spectra, then of the pixels. */
static HcStatus name_targets(HcStage *stage, HcError *err) {
    HcDetectState *state = stage->state;
    const HcLibraryFit *fit = &state->library.fit;
    int32_t pixels = pixel_count(stage);
    HC_OR_RETURN(hc_new(state->name, fit->count + pixels, "names of targets", err));
    HC_OR_RETURN(hc_new(state->own_name, pixels, "names of targets", err));
    for (int32_t k = 0; k < fit->count; k++) {
        state->name[k] = fit->name[k];
    }
    for (int32_t k = 0; k < pixels; k++) {
        int32_t line = 0, sample = 0; /* commas would be lost in an ENVI header */
        HC_OR_RETURN(parse_pixel(stage, hc_detect_params(stage)->pixels.item[k], &line, &sample, err));
        state->own_name[k] = hc_text_format("line %d sample %d", line, sample);
        if (state->own_name[k] == NULL) {
            return hc_fail_memory(err, 0, "names of targets");
        }
        state->name[fit->count + k] = state->own_name[k];
    }
    state->targets = fit->count + pixels;
    return HC_OK;
}

HcStatus hc_detect_plan_targets(HcStage *stage, HcError *err) {
    const HcDetectParams *params = hc_detect_params(stage);
    HcDetectState *state = stage->state;
    HcStage seen = in_front(stage);
    if (params->targets == NULL && params->pixels.count == 0) {
        return hc_fail(err, HC_E_USAGE, "detect: give --targets or --target-pixel");
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
    if (pixel_count(stage) > 0 && state->pixels.pixels.count == 0) {
        HC_OR_RETURN(read_pixels(stage, err));
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
        return hc_fail(err, HC_E_NUMERIC, "detect: --target-pixel %s: the pixel is masked",
                       params->pixels.item[state->pixels.pixels.label[i]]);
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

HcStatus hc_detect_spectra(HcStage *stage, double **spectrum, HcError *err) {
    HcDetectState *state = stage->state;
    const HcStage *made = hc_detect_transform(stage);
    size_t bands = (size_t)stage->in.bands;
    int32_t of_library = state->library.fit.count;
    if (made != NULL && of_library > 0 && hc_scaled_library_looks(&state->library)) {
        HC_OR_RETURN(unit_of_mean(stage, &((const HcLinear *)made->state)->transform, err));
    }
    double *out = NULL;
    HC_OR_RETURN(hc_new(out, (size_t)state->targets * bands, "targets", err));
    *spectrum = out;
    if (made != NULL && of_library > 0) {
        transform_spectra(&((const HcLinear *)made->state)->transform, &state->library, stage->in.bands, out);
    }
    for (size_t i = 0; made == NULL && i < (size_t)of_library * bands; i++) {
        out[i] = (double)state->library.fit.value[i] * state->library.factor;
    }
    for (int32_t i = 0; i < pixel_count(stage); i++) {
        size_t target = (size_t)of_library + (size_t)state->pixels.pixels.label[i];
        for (size_t b = 0; b < bands; b++) {
            out[target * bands + b] = (double)state->pixels.value[(size_t)i * bands + b];
        }
    }
    return HC_OK;
}
