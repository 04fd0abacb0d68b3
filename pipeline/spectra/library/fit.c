/* Bands are taken as they are where library and scene have the same ones, by number or wavelength; else
 * spectra are resampled to the width of each band. A spectrum that lacks a band of the scene is left out
 * with a note: a value made up for it would decide pixels. */
#include "pipeline/spectra/library/fit.h"
#include "core/allocate.h"
#include "pipeline/chain.h"
#include "pipeline/json/json.h"
#include "pipeline/spectra/library/choice.h"
#include "pipeline/spectra/resample.h"
#include "core/texts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the same bands ---- */

/* Half the distance of a band of the library to the nearer one beside it. */
static double half_spacing(const HcLibrary *library, int32_t band) {
    double least = INFINITY;
    for (int32_t other = band - 1; other <= band + 1; other += 2) {
        if (other >= 0 && other < library->bands) {
            double apart = fabs(library->wavelength[other] - library->wavelength[band]);
            least = apart > 0 && apart < least ? apart : least;
        }
    }
    return least / 2;
}

/* Which band of the library is one of the stage, where they are the same ones. */
static int32_t same_band(const HcScene *scene, bool of_file, int32_t band) {
    return of_file ? scene->source_band[band] : band;
}

/* Whether wavelengths agree, as far as both are known. */
static bool agree(const HcLibrary *library, const HcScene *scene, bool of_file) {
    for (int32_t b = 0; b < scene->bands && library->wavelength != NULL && scene->wavelength != NULL; b++) {
        int32_t same = same_band(scene, of_file, b);
        if (!(fabs(scene->wavelength[b] - library->wavelength[same]) <= half_spacing(library, same))) {
            return false;
        }
    }
    return true;
}

/* Whether these are bands of the file, of which the scene still knows which ones. */
static bool is_of_file(const HcScene *scene, const HcScene *file) {
    for (int32_t b = 0; b < scene->bands && scene->source_band != NULL; b++) {
        if (scene->source_band[b] >= file->bands) {
            return false;
        }
    }
    return scene->source_band != NULL;
}

static void pick_bands(const HcLibrary *library, const HcScene *scene, bool of_file, float *out) {
    for (int32_t i = 0; i < library->count; i++) {
        const float *from = library->value + (size_t)i * (size_t)library->bands;
        for (int32_t b = 0; b < scene->bands; b++) {
            *out++ = from[same_band(scene, of_file, b)];
        }
    }
}

/* ---- other bands ---- */

/* The widths of the bands of the stage, or the spacing of the bands of the file where they are not known.
 * spacing[file->bands or scene->bands]. */
static void find_widths(const HcScene *scene, const HcScene *file, double *width, double *spacing) {
    bool of_file = is_of_file(scene, file) && file->wavelength != NULL;
    const double *centre = of_file ? file->wavelength : scene->wavelength;
    hc_band_spacing(centre, of_file ? file->bands : scene->bands, spacing);
    for (int32_t b = 0; b < scene->bands; b++) {
        width[b] = scene->fwhm != NULL ? scene->fwhm[b] : spacing[of_file ? scene->source_band[b] : b];
    }
}

static HcStatus resample(const HcLibrary *library, const HcScene *scene, const HcScene *file,
                         HcLibraryFit *fit, HcError *err) {
    HcStatus status = HC_OK;
    int32_t most = file->bands > scene->bands ? file->bands : scene->bands;
    size_t doubles = (size_t)library->bands + (size_t)scene->bands + (size_t)most;
    double *spacing = NULL;
    HC_OR_RETURN(hc_new(spacing, doubles, "the widths of bands", err));
    double *width = spacing + library->bands;
    hc_band_spacing(library->wavelength, library->bands, spacing);
    find_widths(scene, file, width, width + scene->bands);
    const HcBandSet from = {.count = library->bands,
                            .centre = library->wavelength,
                            .width = library->fwhm != NULL ? library->fwhm : spacing};
    const HcBandSet to = {.count = scene->bands, .centre = scene->wavelength, .width = width};
    HC_TRY(
        hc_resample(&from, library->value, library->count, &to, fit->value, &fit->figures.interpolated, err));
    fit->figures.resampled = true;
done:
    free(spacing);
    return status;
}

/* ---- what is missing ---- */

/* The bands that lack a value in a spectrum (or in all of them): as ranges, the first few. */
static void add_ranges(HcText *to, const HcScene *scene, const bool *missing) {
    enum { SHOWN = 4 };
    bool in_nanometres = scene->wavelength != NULL;
    int ranges = 0;
    for (int32_t b = 0; b < scene->bands; b++) {
        double low = in_nanometres ? scene->wavelength[b] : b + 1;
        double high = low;
        if (!missing[b]) {
            continue;
        }
        for (; b + 1 < scene->bands && missing[b + 1]; b++) {
            double next = in_nanometres ? scene->wavelength[b + 1] : b + 2;
            low = fmin(low, next);
            high = fmax(high, next);
        }
        if (ranges++ < SHOWN) {
            hc_text_add(to, "%s%.5g", ranges > 1 ? ", " : in_nanometres ? "" : "band ", low);
            if (high > low) {
                hc_text_add(to, "-%.5g", high);
            }
        }
    }
    if (ranges > SHOWN) {
        hc_text_add(to, " and %d more ranges", ranges - SHOWN);
    }
    hc_text_add(to, "%s", in_nanometres ? " nm" : "");
}

/* The wavelengths at which a library has values. */
static void find_extent(const HcLibrary *library, HcLibraryFigures *figures) {
    figures->shortest = figures->longest = NAN;
    for (int32_t b = 0; b < library->bands && library->wavelength != NULL; b++) {
        bool any = false;
        for (int32_t i = 0; i < library->count && !any; i++) {
            any = isfinite(library->value[(size_t)i * (size_t)library->bands + (size_t)b]);
        }
        if (any) {
            figures->shortest = fmin(figures->shortest, library->wavelength[b]);
            figures->longest = fmax(figures->longest, library->wavelength[b]);
        }
    }
}

/* Marks the bands in which a spectrum has no value; returns whether there is one. */
static bool mark_missing(const float *value, int32_t bands, bool *missing) {
    bool any = false;
    for (int32_t b = 0; b < bands; b++) {
        bool here = !isfinite(value[b]);
        missing[b] = missing[b] || here;
        any = any || here;
    }
    return any;
}

static HcStatus check_bands(const HcLibraryFit *fit, const char *path, const HcScene *scene, bool *missing,
                            HcError *err) {
    HcText ranges = {0};
    bool any = false;
    for (int32_t b = 0; b < scene->bands; b++) {
        missing[b] = true;
        for (int32_t i = 0; i < fit->figures.chosen && missing[b]; i++) {
            missing[b] = !isfinite(fit->value[(size_t)i * (size_t)scene->bands + (size_t)b]);
        }
        any = any || missing[b];
    }
    if (!any) {
        return HC_OK;
    }
    add_ranges(&ranges, scene, missing);
    if (scene->wavelength != NULL && isfinite(fit->figures.shortest)) {
        hc_text_add(&ranges, ", where bands come in; its values lie from %.5g to %.5g nm",
                    fit->figures.shortest, fit->figures.longest);
    } else {
        hc_text_add(&ranges, " of those that come in");
    }
    HcStatus status = hc_fail_text(err, HC_E_INPUT, &ranges, "%s: none of its spectra has values at %s", path,
                                   hc_text_shown(&ranges));
    hc_text_clear(&ranges);
    return status;
}

/* Keeps the spectra that have all values; those that are left out are in `names` (the first of them) and
 * `missing` (their bands). */
static HcStatus keep_whole(const HcLibrary *library, HcLibraryFit *fit, bool *missing, HcText *names,
                           HcError *err) {
    enum { SHOWN = 3 };
    size_t bands = (size_t)fit->bands;
    int32_t left_out = 0;
    memset(missing, 0, bands * sizeof *missing);
    for (int32_t i = 0; i < library->count; i++) {
        const float *value = fit->value + (size_t)i * bands;
        if (fit->partial || !mark_missing(value, fit->bands, missing)) {
            memmove(fit->value + (size_t)fit->count * bands, value, bands * sizeof *value);
            fit->name[fit->count] = strdup(library->name[i]);
            HC_OR_RETURN(hc_text_made(fit->name[fit->count], 64, "the name of a spectrum", err));
            fit->from[fit->count++] = library->number != NULL ? library->number[i] : i;
        } else if (left_out++ < SHOWN) {
            hc_text_add(names, "%s%s", left_out > 1 ? ", " : "", library->name[i]);
        }
    }
    if (left_out > SHOWN) {
        hc_text_add(names, " and %d more", left_out - SHOWN);
    }
    fit->figures.used = fit->count;
    return HC_OK;
}

static HcStatus make_note(HcLibraryFit *fit, const char *path, const HcScene *scene, const bool *missing,
                          const HcText *names, HcError *err) {
    const HcLibraryFigures *figures = &fit->figures;
    int32_t left_out = figures->chosen - figures->used;
    HcText note = {0};
    if (!figures->resampled && left_out == 0) {
        return HC_OK;
    }
    hc_text_add(&note, "%s: ", path);
    if (figures->resampled) {
        hc_text_add(&note, "%d spectra on %d bands are resampled to %d bands", figures->chosen,
                    figures->bands, scene->bands);
        if (figures->interpolated > 0) {
            hc_text_add(&note, " (%d of them by interpolation, since the library is as coarse as the scene)",
                        figures->interpolated);
        }
        hc_text_add(&note, "%s", left_out > 0 ? "; " : "");
    }
    if (left_out > 0) {
        hc_text_add(&note, "left out: %d of %d spectra, which lack values at ", left_out, figures->chosen);
        add_ranges(&note, scene, missing);
        hc_text_add(&note, ": %s", hc_text_shown(names));
    }
    note.failed = note.failed || names->failed;
    fit->note = hc_text_take(&note);
    return fit->note != NULL ? HC_OK : hc_fail_memory(err, 256, "a note");
}

/* From the values of all spectra to those that are used. */
static HcStatus settle_fit(const HcLibrary *library, const char *path, const HcScene *scene,
                           HcLibraryFit *fit, HcError *err) {
    HcStatus status = HC_OK;
    HcText names = {0};
    HcText ranges = {0};
    size_t capacity = (size_t)(scene->bands > 0 ? scene->bands : 1);
    bool *missing = NULL;
    HC_TRY(hc_new(missing, capacity, "a list of bands", err));
    HC_TRY(fit->partial ? HC_OK : check_bands(fit, path, scene, missing, err));
    HC_TRY(keep_whole(library, fit, missing, &names, err));
    if (fit->count == 0) {
        add_ranges(&ranges, scene, missing);
        HC_TRY(hc_fail_text(err, HC_E_INPUT, &ranges, "%s: each of its %d spectra lacks values at some of %s",
                            path, library->count, ranges.length > 0 ? ranges.data : "the bands"));
    }
    HC_TRY(make_note(fit, path, scene, missing, &names, err));
done:
    free(missing);
    hc_text_clear(&names);
    hc_text_clear(&ranges);
    return status;
}

/* ---- the fit ---- */

static HcStatus make_fit(HcLibraryFit *fit, const HcLibrary *library, int32_t bands, HcError *err) {
    int32_t outlying = 0;
    *fit = (HcLibraryFit){.partial = fit->partial,
                          .bands = bands,
                          .figures = {.spectra = library->entries,
                                      .bands = library->bands,
                                      .chosen = library->count,
                                      .by_name = library->left_out_by_name,
                                      .outliers = hc_library_count_outliers(library, &outlying).values}};
    HC_OR_RETURN(hc_new(fit->value, (size_t)library->count * (size_t)bands, "the spectra of a library", err));
    HC_OR_RETURN(hc_new(fit->from, library->count, "the spectra of a library", err));
    HC_OR_RETURN(hc_new(fit->name, library->count, "the spectra of a library", err));
    find_extent(library, &fit->figures);
    return HC_OK;
}

HcStatus hc_library_fit(const HcLibrary *library, const char *path, const HcStage *stage, HcLibraryFit *fit,
                        HcError *err) {
    HcStatus status = HC_OK;
    const HcScene *scene = &stage->in;
    const HcScene *file = stage->chain->source != NULL ? hc_view_scene(stage->chain->source->view) : scene;
    bool of_file = is_of_file(scene, file) && library->bands == file->bands;
    bool as_many = of_file || library->bands == scene->bands;
    /* A library of components fits those of a file. */
    bool stored = scene->meaning == HC_COMPONENT && scene->stored;
    if (scene->meaning != HC_SPECTRAL && !stored) {
        return hc_fail(err, HC_E_USAGE, "%s: %s: %s come in, a spectral library needs the bands of the scene",
                       stage->kind->name, path,
                       scene->meaning == HC_COMPONENT ? "components"
                       : scene->meaning == HC_SHAPE   ? "derivatives or shapes of spectra"
                                                      : "no spectra");
    }
    if (!as_many && (library->wavelength == NULL || scene->wavelength == NULL)) {
        const char *why = library->wavelength == NULL      ? library->note
                          : scene->wavelength_note != NULL ? scene->wavelength_note
                                                           : "";
        return hc_fail(
            err, HC_E_INPUT,
            "%s: has %d bands, %d come in (the file has %d), and %s has no wavelengths to resample "
            "by%s%s",
            path, library->bands, scene->bands, file->bands, library->wavelength == NULL ? "it" : "the scene",
            why[0] != '\0' ? ": " : "", why);
    }
    HC_TRY(make_fit(fit, library, scene->bands, err));
    if (as_many && agree(library, scene, of_file)) {
        pick_bands(library, scene, of_file, fit->value);
    } else {
        HC_TRY(resample(library, scene, file, fit, err));
    }
    HC_TRY(settle_fit(library, path, scene, fit, err));
done:
    if (status != HC_OK) {
        hc_library_fit_clear(fit);
    }
    return status;
}

double hc_library_fit_rounding(const HcLibraryFit *fit) {
    double largest = 0;
    for (int64_t i = 0; i < (int64_t)fit->count * fit->bands; i++) {
        largest = fmax(largest, fabs((double)fit->value[i]));
    }
    return 0x1p-17 * largest;
}

void hc_library_fit_clear(HcLibraryFit *fit) {
    hc_free_texts(fit->name, fit->count);
    free(fit->value);
    free(fit->from);
    free(fit->note);
    *fit = (HcLibraryFit){0};
}

void hc_library_figures_json(const HcLibraryFigures *figures, HcJson *to) {
    const double extent[2] = {figures->shortest, figures->longest};
    hc_json_open_object(to, "library");
    hc_json_put_number(to, "spectra", figures->spectra);
    hc_json_put_number(to, "bands", figures->bands);
    hc_json_put_number(to, "left_out_by_name", figures->by_name);
    hc_json_put_number(to, "chosen_spectra", figures->chosen);
    hc_json_put_number(to, "used_spectra", figures->used);
    hc_json_put_number(to, "outlying_values", figures->outliers);
    hc_json_put_bool(to, "resampled", figures->resampled);
    hc_json_put_number(to, "interpolated_bands", figures->interpolated);
    hc_json_put_doubles(to, "extent_nm", isfinite(extent[0]) ? extent : NULL, 2);
    hc_json_close(to);
}

/* ---- samples ---- */

typedef struct Named {
    const char *name;
    int64_t place; /* among the samples */
} Named;

static int by_name(const void *a, const void *b) {
    const Named *left = a;
    const Named *right = b;
    int order = strcmp(left->name, right->name);
    return order != 0 ? order : (left->place > right->place) - (left->place < right->place);
}

/* Labels from 1 in the order in which names come first, and the classes of them. */
static HcStatus label_by_name(const HcLibraryFit *fit, HcSamples *samples, HcClasses *classes, HcError *err) {
    HcStatus status = HC_OK;
    int32_t count = 0;
    size_t capacity = (size_t)(samples->count > 0 ? samples->count : 1);
    Named *named = NULL;
    int64_t *first = NULL; /* the first sample of the same name */
    HC_TRY(hc_new(named, capacity, "names of spectra", err));
    HC_TRY(hc_new(first, capacity, "names of spectra", err));
    for (int64_t i = 0; i < samples->count; i++) {
        named[i] = (Named){fit->name[i], i};
    }
    qsort(named, (size_t)samples->count, sizeof *named, by_name);
    for (int64_t i = 0; i < samples->count; i++) {
        bool same = i > 0 && strcmp(named[i].name, named[i - 1].name) == 0;
        first[named[i].place] = same ? first[named[i - 1].place] : named[i].place;
    }
    for (int64_t i = 0; i < samples->count; i++) {
        samples->label[i] = first[i] == i ? ++count : samples->label[first[i]];
    }
    HC_TRY(hc_classes_make(classes, count + 1, err));
    for (int64_t i = 0; i < samples->count; i++) {
        if (first[i] == i) {
            HC_TRY(hc_classes_name(classes, samples->label[i], fit->name[i], err));
        }
    }
    hc_classes_colour_by_name(classes);
done:
    free(named);
    free(first);
    return status;
}

HcStatus hc_library_samples(const HcLibraryFit *fit, HcSamples *samples, HcClasses *classes, HcError *err) {
    size_t count = (size_t)fit->count;
    size_t values = count * (size_t)fit->bands;
    *samples = (HcSamples){.count = fit->count, .bands = fit->bands};
    HC_OR_RETURN(hc_new(samples->value, values, "training spectra", err));
    HC_OR_RETURN(hc_new(samples->label, count, "training spectra", err));
    HC_OR_RETURN(hc_new(samples->from, count, "training spectra", err));
    memcpy(samples->value, fit->value, values * sizeof *samples->value);
    for (size_t i = 0; i < count; i++) {
        samples->from[i] = fit->from[i];
    }
    return label_by_name(fit, samples, classes, err);
}
