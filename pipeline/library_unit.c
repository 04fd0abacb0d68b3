#include "pipeline/library_unit.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b) {
    float left = *(const float *)a;
    float right = *(const float *)b;
    return (left > right) - (left < right);
}

double hc_values_quantile(const float *value, size_t count, double share) {
    const size_t enough = 100000; /* values, evenly taken, tell as much */
    size_t step = count / enough + 1;
    size_t taken = 0;
    float *sorted = malloc((count / step + 1) * sizeof *sorted);
    for (size_t i = 0; sorted != NULL && i < count; i += step) {
        sorted[taken++] = fabsf(value[i]);
    }
    double quantile = NAN;
    if (taken > 0) {
        size_t place = (size_t)(share * (double)taken);
        qsort(sorted, taken, sizeof *sorted, by_value);
        quantile = sorted[place < taken ? place : taken - 1];
    }
    free(sorted);
    return quantile;
}

HcValueUnit hc_library_unit(const HcLibraryFit *fit, const HcLibrary *library) {
    size_t values = (size_t)fit->count * (size_t)fit->bands;
    return (HcValueUnit){.high = hc_values_quantile(fit->value, values, 0.99), .one = library->scale};
}

HcValueUnit hc_scene_unit(const HcScene *scene, const float *value, size_t count) {
    double gain = scene->gain != NULL ? scene->gain[0] : 0;
    for (int32_t b = 0; b < scene->bands && scene->gain != NULL; b++) {
        gain = scene->gain[b] == gain && scene->offset[b] == 0 ? gain : 0;
    }
    return (HcValueUnit){.high = value != NULL ? hc_values_quantile(value, count, 0.99) : NAN,
                         .one = gain > 0 ? 1 / gain : 0};
}

/* Whether the header is to be believed. */
static bool header_holds(const HcValueUnit *unit) {
    return unit->one > 0 &&
           (isnan(unit->high) || (unit->high >= unit->one / 100 && unit->high <= unit->one * 10));
}

/* The value of reflectance 1; NaN = not known. */
static double value_of_one(const HcValueUnit *unit) {
    if (header_holds(unit)) {
        return unit->one;
    }
    return unit->high > 0 ? pow(10, ceil(log10(unit->high / 1.5))) : NAN;
}

double hc_unit_factor(const HcValueUnit *library, const HcValueUnit *scene) {
    double factor = value_of_one(scene) / value_of_one(library);
    bool guessed = !header_holds(library) || !header_holds(scene);
    return guessed && factor > 0.05 && factor < 20 ? 1 : factor;
}

char *hc_unit_note(const char *path, const HcValueUnit *library, const HcValueUnit *scene) {
    double factor = hc_unit_factor(library, scene);
    HcText note = {0};
    if (isnan(factor) || fabs(factor - 1) < 1e-6) {
        return NULL;
    }
    hc_text_add(
        &note,
        "%s: its values (99 %% up to %.3g) are to be multiplied by %.6g to be in the unit of the scene", path,
        library->high, factor);
    if (header_holds(scene)) {
        hc_text_add(&note, ", whose header has %.6g for reflectance 1", scene->one);
    } else {
        hc_text_add(&note, " (99 %% up to %.3g)", scene->high);
    }
    return hc_text_take(&note);
}
