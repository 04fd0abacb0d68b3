#include "pipeline/library_fit.h"
#include "pipeline/chain.h"
#include "pipeline/stages/read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static HcStatus check_wavelengths(const HcLibrary *library, const char *path, const HcScene *scene,
                                  const int32_t *pick, HcError *err) {
    for (int32_t b = 0; b < scene->bands && library->wavelength != NULL && scene->wavelength != NULL; b++) {
        double here = scene->wavelength[b];
        double there = library->wavelength[pick[b]];
        if (!(fabs(here - there) <= half_spacing(library, pick[b]))) {
            return hc_fail(
                err, HC_E_INPUT,
                "%s: its band %d is at %.6g nm, band %d that comes in at %.6g nm: more than half a "
                "band apart, and libraries are not resampled here",
                path, pick[b] + 1, there, b + 1, here);
        }
    }
    return HC_OK;
}

/* Whether the library has the bands of the file, of which the scene still knows which ones it has. */
static bool is_of_file(const HcLibrary *library, const HcScene *scene, int32_t file_bands) {
    if (scene->source_band == NULL || library->bands != file_bands) {
        return false;
    }
    for (int32_t b = 0; b < scene->bands; b++) {
        if (scene->source_band[b] >= file_bands) {
            return false;
        }
    }
    return true;
}

HcStatus hc_library_fit(const HcLibrary *library, const char *path, const HcStage *stage, int32_t **pick,
                        HcError *err) {
    HcStatus status = HC_OK;
    const HcScene *scene = &stage->in;
    const char *name = stage->kind->name;
    int32_t file_bands = hc_reader_scene(hc_source_reader(&stage->chain->stages[0]))->bands;
    bool of_file = is_of_file(library, scene, file_bands);
    int32_t *list = NULL;
    if (scene->meaning != HC_SPECTRAL) {
        HC_TRY(hc_fail(err, HC_E_USAGE, "%s: %s: %s come in, a spectral library needs the bands of the scene",
                       name, path, scene->meaning == HC_COMPONENT ? "components" : "no spectra"));
    }
    if (!of_file && library->bands != scene->bands) {
        HC_TRY(hc_fail(err, HC_E_INPUT,
                       "%s: has %d bands, %d come in (the file has %d); libraries are not resampled here",
                       path, library->bands, scene->bands, file_bands));
    }
    list = malloc((size_t)scene->bands * sizeof *list);
    if (list == NULL) {
        HC_TRY(hc_fail_memory(err, (double)scene->bands * sizeof *list, "the bands of a library"));
    }
    for (int32_t b = 0; b < scene->bands; b++) {
        list[b] = of_file ? scene->source_band[b] : b;
    }
    HC_TRY(check_wavelengths(library, path, scene, list, err));
    *pick = list;
    list = NULL;
done:
    free(list);
    return status;
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
static HcStatus label_by_name(const HcLibrary *library, HcSamples *samples, HcClasses *classes,
                              HcError *err) {
    HcStatus status = HC_OK;
    int32_t count = 0;
    size_t room = (size_t)(samples->count > 0 ? samples->count : 1);
    Named *named = malloc(room * sizeof *named);
    int64_t *first = malloc(room * sizeof *first); /* the first sample of the same name */
    if (named == NULL || first == NULL) {
        HC_TRY(hc_fail_memory(err, (double)room * (sizeof *named + sizeof *first), "names of spectra"));
    }
    for (int64_t i = 0; i < samples->count; i++) {
        named[i] = (Named){library->name[samples->from[i]], i};
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
            HC_TRY(hc_classes_name(classes, samples->label[i], library->name[samples->from[i]], err));
        }
    }
done:
    free(named);
    free(first);
    return status;
}

HcStatus hc_library_samples(const HcLibrary *library, const int32_t *pick, int32_t bands, HcSamples *samples,
                            HcClasses *classes, HcError *err) {
    size_t room = (size_t)library->count;
    *samples = (HcSamples){.bands = bands};
    samples->value = malloc(room * (size_t)bands * sizeof *samples->value);
    samples->label = malloc(room * sizeof *samples->label);
    samples->from = malloc(room * sizeof *samples->from);
    if (samples->value == NULL || samples->label == NULL || samples->from == NULL) {
        return hc_fail_memory(err, (double)room * bands * sizeof *samples->value, "training spectra");
    }
    for (int32_t i = 0; i < library->count; i++) {
        const float *from = library->value + (size_t)i * (size_t)library->bands;
        float *to = samples->value + (size_t)samples->count * (size_t)bands;
        bool whole = true;
        for (int32_t b = 0; b < bands; b++) {
            to[b] = from[pick[b]];
            whole = whole && isfinite(to[b]);
        }
        if (whole) {
            samples->from[samples->count++] = i;
        }
    }
    return label_by_name(library, samples, classes, err);
}

static int by_value(const void *a, const void *b) {
    float left = *(const float *)a;
    float right = *(const float *)b;
    return (left > right) - (left < right);
}

double hc_samples_median(const HcSamples *samples) {
    const size_t enough = 100000; /* values, evenly taken, tell as much */
    size_t values = (size_t)samples->count * (size_t)samples->bands;
    size_t step = values / enough + 1;
    size_t count = 0;
    float *sorted = malloc((values / step + 1) * sizeof *sorted);
    for (size_t i = 0; sorted != NULL && i < values; i += step) {
        sorted[count++] = fabsf(samples->value[i]);
    }
    double median = NAN;
    if (count > 0) {
        qsort(sorted, count, sizeof *sorted, by_value);
        median = sorted[count / 2];
    }
    free(sorted);
    return median;
}
