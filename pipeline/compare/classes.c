/* Agreement of a class map with its truth: a confusion matrix, from two passes. The first one finds the
 * largest class, since files need not say how many there are. */
#include "core/allocate.h"
#include "pipeline/compare/parts.h"

#include <math.h>
#include <stdlib.h>

/* Whether 0 is a class like all others: names are known, and the first one is not "Unclassified". */
static bool zero_is_class(const HcScene *truth) {
    return truth->classes.count > 0 && !hc_classes_has_unclassified(&truth->classes);
}

static HcStatus look(HcPair *pair, int32_t *largest, HcError *err) {
    *largest = 0;
    for (int64_t line = 0; line < pair->lines; line += pair->lines_most) {
        HC_OR_RETURN(hc_pair_load(pair, line, (int32_t)hc_min64(pair->lines_most, pair->lines - line), err));
        for (int w = 0; w < 2; w++) {
            const HcBlock *block = &pair->block[w];
            for (size_t p = 0; p < hc_block_pixels(block); p++) {
                float value = block->data[p];
                if (!(value >= 0 && value < HC_CLASSES_MOST && value == floorf(value))) {
                    return hc_fail(
                        err, HC_E_INPUT, "%s: line %lld, sample %lld: %g is no class (whole, 0 to %d)",
                        hc_pair_path(pair, w), (long long)(line + (int64_t)(p / (size_t)block->samples) + 1),
                        (long long)(p % (size_t)block->samples + 1), (double)value, HC_CLASSES_MOST - 1);
                }
                *largest = (int32_t)value > *largest ? (int32_t)value : *largest;
            }
        }
    }
    return hc_pair_unchanged(pair, err);
}

static void show(HcDifferenceMap *to, int64_t line, int64_t sample, bool right) {
    if (to->step > 0 && line % to->step == 0 && sample % to->step == 0) {
        size_t at = (size_t)(line / to->step) * (size_t)to->width + (size_t)(sample / to->step);
        to->plane[at] = right ? 1 : 2;
        to->valid[at] = 1;
    }
}

/* The class, from 1, of a value; 0 = none. `unclassified`: the file names its 0 so. */
static int32_t class_of(const HcBlock *block, size_t pixel, int32_t shift, bool unclassified) {
    int32_t value = block->mask[pixel] ? (int32_t)block->data[pixel] : 0;
    bool none = !block->mask[pixel] || (value == 0 && unclassified);
    return none ? 0 : value + shift;
}

/* What the map leaves out where the truth has a class is unclassified, and so wrong. */
static HcStatus count(HcPair *pair, int32_t shift, HcComparison *out, HcError *err) {
    bool unclassified = hc_classes_has_unclassified(&hc_pair_scene(pair, 0)->classes);
    for (int64_t line = 0; line < pair->lines; line += pair->lines_most) {
        HC_OR_RETURN(hc_pair_load(pair, line, (int32_t)hc_min64(pair->lines_most, pair->lines - line), err));
        const HcBlock *of = &pair->block[0], *to = &pair->block[1];
        for (size_t p = 0; p < hc_block_pixels(to); p++) {
            int32_t truth = class_of(to, p, shift, false);
            int32_t found = class_of(of, p, shift, unclassified);
            if (truth == 0) {
                out->left_out++;
                continue;
            }
            hc_accuracy_add(&out->accuracy, truth, found);
            show(&out->difference, line + (int64_t)(p / (size_t)to->samples),
                 (int64_t)(p % (size_t)to->samples), found == truth);
        }
    }
    return hc_pair_unchanged(pair, err);
}

/* Names of the truth, else those of the map, and for how many numbers they differ; class n + shift is number
 * n of a file. */
static HcStatus take_names(const HcPair *pair, int32_t classes, int32_t shift, HcComparison *out,
                           HcError *err) {
    const HcClasses *map = &hc_pair_scene(pair, 0)->classes, *truth = &hc_pair_scene(pair, 1)->classes;
    HC_OR_RETURN(hc_classes_make(&out->classes, classes + 1, err));
    for (int32_t n = shift == 0; n < map->count && n < truth->count; n++) {
        out->renamed += !hc_text_equal(map->name[n], truth->name[n]);
    }
    for (int w = 0; w < 2; w++) {
        const HcClasses *from = &hc_pair_scene(pair, w)->classes;
        for (int32_t n = shift == 0; n < from->count && n + shift <= classes; n++) {
            HC_OR_RETURN(hc_classes_name(&out->classes, n + shift, from->name[n], err));
        }
    }
    return HC_OK;
}

HcStatus hc_compare_classes(HcPair *pair, HcComparison *out, HcError *err) {
    int32_t largest = 0;
    int32_t shift = zero_is_class(hc_pair_scene(pair, 1));
    HC_OR_RETURN(look(pair, &largest, err));
    for (int w = 0; w < 2; w++) {
        int32_t known = hc_pair_scene(pair, w)->classes.count - 1;
        largest = known > largest && known < HC_CLASSES_MOST ? known : largest;
    }
    int32_t classes = largest + shift > 0 ? largest + shift : 1;
    HC_OR_RETURN(hc_accuracy_init(&out->accuracy, classes, err));
    HC_OR_RETURN(take_names(pair, classes, shift, out, err));
    HC_OR_RETURN(count(pair, shift, out, err));
    hc_accuracy_finish(&out->accuracy);
    out->pixels = out->accuracy.pixels;
    return out->pixels > 0 ? HC_OK
                           : hc_fail(err, HC_E_NUMERIC, "%s: no pixel has a class", hc_pair_path(pair, 1));
}
