/* Classes of a scene: names and colours. */
#include "core/scene.h"
#include "core/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void hc_classes_clear(HcClasses *classes) {
    if (classes == NULL) {
        return;
    }
    for (int32_t c = 0; c < classes->count && classes->name != NULL; c++) {
        free(classes->name[c]);
    }
    free(classes->name);
    free(classes->colour);
    *classes = (HcClasses){0};
}

/* Twelve that are easily told apart (after Paul Tol's and Okabe and Ito's sets), then hues by the golden
 * angle in three shades. */
void hc_classes_standard_colour(int32_t number, uint8_t rgb[3]) {
    static const uint8_t first[12][3] = {{230, 159, 0},   {86, 180, 233}, {0, 158, 115},   {240, 228, 66},
                                         {0, 114, 178},   {213, 94, 0},   {204, 121, 167}, {51, 34, 136},
                                         {136, 204, 238}, {153, 153, 51}, {136, 34, 85},   {17, 119, 51}};
    static const double shades[3] = {0.95, 0.75, 0.55};
    if (number < 1) {
        memset(rgb, 0, 3);
        return;
    }
    if (number <= 12) {
        memcpy(rgb, first[number - 1], 3);
        return;
    }
    double hue = fmod(number * 0.6180339887498949, 1);
    double value = shades[number % 3];
    for (int c = 0; c < 3; c++) {
        double away = fabs(fmod(hue * 6 + (c == 0 ? 0 : c == 1 ? 4 : 2), 6) - 3) - 1;
        double part = fmin(fmax(away, 0), 1);
        rgb[c] = (uint8_t)lround(255 * value * (1 - 0.7 * (1 - part)));
    }
}

HcStatus hc_classes_make(HcClasses *classes, int32_t count, HcError *err) {
    HcClasses fresh = {.count = count};
    if (count < 1) {
        return hc_fail(err, HC_E_USAGE, "%d classes: there is at least class 0", count);
    }
    fresh.name = calloc((size_t)count, sizeof *fresh.name);
    fresh.colour = calloc((size_t)count, sizeof *fresh.colour);
    bool failed = fresh.name == NULL || fresh.colour == NULL;
    for (int32_t c = 0; c < count && !failed; c++) {
        fresh.name[c] = c == 0 ? strdup("Unclassified") : hc_text_format("Class %d", c);
        failed = fresh.name[c] == NULL;
        hc_classes_standard_colour(c, fresh.colour[c]);
    }
    if (failed) {
        hc_classes_clear(&fresh);
        return hc_fail_memory(err, (double)count * sizeof *fresh.name, "names of classes");
    }
    *classes = fresh;
    return HC_OK;
}

HcStatus hc_classes_name(HcClasses *classes, int32_t number, const char *name, HcError *err) {
    if (number < 0 || number >= classes->count) {
        return hc_fail(err, HC_E_USAGE, "class %d named, there are classes 0 to %d", number,
                       classes->count - 1);
    }
    char *fresh = strdup(name);
    if (fresh == NULL) {
        return hc_fail_memory(err, (double)strlen(name), "the name of a class");
    }
    free(classes->name[number]);
    classes->name[number] = fresh;
    return HC_OK;
}

bool hc_classes_has_unclassified(const HcClasses *classes) {
    return classes->count > 0 && hc_text_equal(classes->name[0], "Unclassified");
}

HcStatus hc_classes_copy(HcClasses *to, const HcClasses *from, HcError *err) {
    HcStatus status = HC_OK;
    *to = (HcClasses){0};
    if (from->count == 0) {
        return HC_OK;
    }
    HC_TRY(hc_classes_make(to, from->count, err));
    for (int32_t c = 0; c < from->count; c++) {
        HC_TRY(hc_classes_name(to, c, from->name[c], err));
        memcpy(to->colour[c], from->colour[c], sizeof to->colour[c]);
    }
done:
    if (status != HC_OK) {
        hc_classes_clear(to);
    }
    return status;
}
