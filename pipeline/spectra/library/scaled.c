/* Headers tell the unit of both in most cases, without reading a pixel. Where they do not, values of about
 * 4,096 pixels decide in a pass of their own. A factor other than 1 is noted, since it changes all results.
 */
#include "pipeline/spectra/library/scaled.h"
#include "core/allocate.h"

#include <math.h>
#include <stdlib.h>

/* Pixels that tell the unit of the scene, about. */
enum { UNIT_PIXELS = 4096 };

static const char *const scale_words[] = {"auto", "none", NULL};

/* ---- reading ---- */

/* Leaves the factor as it is with "auto". */
static HcStatus parse_scale(const HcStage *stage, const char *text, double *factor, HcError *err) {
    const char *name = stage->kind->name;
    double value = 1;
    if (hc_text_equal(text, "auto")) {
        return HC_OK;
    }
    if (!hc_text_equal(text, "none") &&
        (!hc_text_parse_double(text, &value) || !(value > 0 && isfinite(value)))) {
        const char *nearest = hc_text_nearest(text, scale_words);
        return nearest != NULL
                   ? hc_fail(err, HC_E_USAGE, "%s: --scale %s: unknown, did you mean %s?", name, text,
                             nearest)
                   : hc_fail(err, HC_E_USAGE, "%s: --scale %s: auto, none, or a number above 0", name, text);
    }
    *factor = value;
    return HC_OK;
}

/* The factor from what is known: the headers, and values of the scene (NULL: none yet). */
static void find_factor(HcScaledLibrary *library, HcStage *stage, const char *path, const float *value,
                        size_t count) {
    HcValueUnit scene = hc_scene_unit(&stage->in, value, count);
    char note[HC_UNIT_NOTE];
    if (hc_unit_note(note, &library->unit, &scene) != NULL) {
        hc_stage_note(stage, "%s: %s; they are (--scale none leaves them)", path, note);
    }
    library->factor = hc_unit_factor(&library->unit, &scene);
}

HcStatus hc_stage_library_read(HcStage *stage, const char *path, const HcLibraryChoice *choice,
                               HcLibraryFit *fit, HcValueUnit *unit, HcError *err) {
    HcStatus status = HC_OK;
    HcLibrary file = {0};
    char *left_out = NULL;
    HC_TRY(hc_library_read(&file, path, err));
    if (file.note[0] != '\0') {
        hc_stage_note(stage, "%s: %s", path, file.note);
    }
    HC_TRY(hc_library_choose(&file, path, choice, stage->kind->name, &left_out, err));
    if (left_out != NULL) {
        hc_stage_note(stage, "%s", left_out);
    }
    HC_TRY(hc_library_fit(&file, path, stage, fit, err));
    if (fit->note != NULL) {
        hc_stage_note(stage, "%s", fit->note);
    }
    *unit = hc_library_unit(fit, &file);
done:
    free(left_out);
    hc_library_clear(&file);
    if (status != HC_OK) {
        hc_library_fit_clear(fit);
    }
    return status;
}

HcStatus hc_scaled_library_read(HcScaledLibrary *library, HcStage *stage, const char *path,
                                const HcLibraryChoice *choice, const char *scale, HcError *err) {
    if (library->fit.count > 0) {
        return HC_OK;
    }
    library->factor = NAN;
    HC_OR_RETURN(parse_scale(stage, scale, &library->factor, err));
    HC_OR_RETURN(hc_stage_library_read(stage, path, choice, &library->fit, &library->unit, err));
    if (isnan(library->factor)) {
        find_factor(library, stage, path, NULL, 0);
    }
    return HC_OK;
}

void hc_scaled_library_clear(HcScaledLibrary *library, HcCompute *compute) {
    hc_library_fit_clear(&library->fit);
    hc_spectra_clear(&library->some, compute);
    *library = (HcScaledLibrary){0};
}

bool hc_scaled_library_looks(const HcScaledLibrary *library) {
    return isnan(library->factor);
}

/* ---- the unit of the scene ---- */

size_t hc_scaled_library_bytes(const HcScaledLibrary *library) {
    size_t looked_at = 2 * UNIT_PIXELS * (size_t)library->fit.bands * sizeof(float);
    return hc_scaled_library_looks(library) ? looked_at : 0;
}

size_t hc_scaled_library_device_bytes(const HcScaledLibrary *library, int32_t zeros) {
    size_t spectra = (size_t)library->fit.count + (size_t)zeros;
    size_t bands = (size_t)library->fit.bands;
    /* The spectra, their products with one another, and as much again to make something of them. */
    return 2 * spectra * (spectra + bands) * sizeof(double);
}

HcStatus hc_scaled_library_open(HcScaledLibrary *library, const HcStage *stage, HcError *err) {
    HC_OR_RETURN(hc_spectra_choose(&library->some, &stage->in, UNIT_PIXELS, 1, err));
    return hc_spectra_open(&library->some, stage->compute, stage->in.bands, err);
}

HcStatus hc_scaled_library_observe(const HcScaledLibrary *library, HcQueue *queue, const HcBlock *in,
                                   HcError *err) {
    return hc_spectra_gather(&library->some, queue, in, err);
}

/* Moves what is finite to the front; returns how many values that are. */
static size_t pack_finite(float *value, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (isfinite(value[i])) {
            value[kept++] = value[i];
        }
    }
    return kept;
}

HcStatus hc_scaled_library_settle(HcScaledLibrary *library, HcStage *stage, const char *path, HcQueue *queue,
                                  HcError *err) {
    HcStatus status = HC_OK;
    HcSamples samples = {0};
    HC_TRY(hc_wait(queue, err));
    HC_TRY(hc_spectra_join(&library->some, hc_stage_ranks(stage), err));
    HC_TRY(hc_samples_take(&samples, &library->some, NULL, 1, err));
    hc_spectra_clear(&library->some, stage->compute);
    size_t values = pack_finite(samples.value, (size_t)samples.count * (size_t)samples.bands);
    find_factor(library, stage, path, samples.value, values);
    if (isnan(library->factor)) {
        library->factor = 1; /* nothing but masked pixels or zeros */
    }
done:
    hc_samples_clear(&samples);
    return status;
}

HcStatus hc_scaled_library_spectra(const HcScaledLibrary *library, int32_t zeros, float **spectra,
                                   HcError *err) {
    size_t bands = (size_t)library->fit.bands;
    size_t values = (size_t)library->fit.count * bands;
    size_t capacity = values + (size_t)zeros * bands;
    float *scaled = NULL;
    HC_OR_RETURN(hc_new(scaled, capacity, "a library", err));
    for (size_t i = 0; i < values; i++) {
        scaled[i] = (float)((double)library->fit.value[i] * library->factor);
    }
    *spectra = scaled;
    return HC_OK;
}
