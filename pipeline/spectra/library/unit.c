#include "pipeline/spectra/library/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The bits of |value|: they are in the order of the values. */
static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits & 0x7fffffff;
}

/* Found bit by bit: sorting a copy needs memory, and a lack of it must not change the unit. */
double hc_values_quantile(const float *value, size_t count, double share) {
    const size_t enough = 100000; /* values, evenly taken, tell as much */
    size_t step = count / enough + 1;
    size_t taken = 0;
    for (size_t i = 0; i < count; i += step) {
        taken += bits_of(value[i]) <= 0x7f800000; /* NaN is missing */
    }
    if (taken == 0) {
        return NAN;
    }
    size_t place = (size_t)(share * (double)taken);
    place = place < taken ? place : taken - 1;
    uint32_t found = 0;
    for (uint32_t bit = (uint32_t)1 << 30; bit != 0; bit >>= 1) {
        size_t below = 0;
        for (size_t i = 0; i < count; i += step) {
            below += bits_of(value[i]) < (found | bit);
        }
        if (below <= place) {
            found |= bit;
        }
    }
    float quantile;
    memcpy(&quantile, &found, sizeof quantile);
    return quantile;
}

HcValueUnit hc_library_unit(const HcLibraryFit *fit, const HcLibrary *library) {
    size_t values = (size_t)fit->count * (size_t)fit->bands;
    return (HcValueUnit){.high = hc_values_quantile(fit->value, values, 0.99), .one = library->scale};
}

HcValueUnit hc_scene_unit(const HcScene *scene, const float *value, size_t count) {
    HcScale scale = hc_scene_scale(scene, 0);
    bool known = scene->gain != NULL && hc_scene_has_one_scale(scene) && scale.offset == 0 && scale.gain > 0;
    return (HcValueUnit){.high = value != NULL ? hc_values_quantile(value, count, 0.99) : NAN,
                         .one = known ? 1 / scale.gain : 0};
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

const char *hc_unit_note(char *buffer, const HcValueUnit *library, const HcValueUnit *scene) {
    double factor = hc_unit_factor(library, scene);
    if (isnan(factor) || fabs(factor - 1) < 1e-6) {
        return NULL;
    }
    int length =
        snprintf(buffer, HC_UNIT_NOTE,
                 "its values (99 %% up to %.3g) are to be multiplied by %.6g to be in the unit of the scene",
                 library->high, factor);
    if (header_holds(scene)) {
        snprintf(buffer + length, HC_UNIT_NOTE - (size_t)length, ", whose header has %.6g for reflectance 1",
                 scene->one);
    } else {
        snprintf(buffer + length, HC_UNIT_NOTE - (size_t)length, " (99 %% up to %.3g)", scene->high);
    }
    return buffer;
}
