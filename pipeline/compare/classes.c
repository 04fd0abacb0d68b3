/* Agreement of a class map with its truth: a confusion matrix, from two passes. The first one finds which
 * numbers occur, since files need not say which classes there are. --match best takes one more, which counts
 * what the pairs are chosen by. */
#include "core/allocate.h"
#include "pipeline/compare/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the numbers of the map [0] and of its truth [1] are. 0, and classes that are called so, are none. */
typedef struct Numbers {
    bool seen[2][HC_CLASS_NUMBERS];
    int32_t class_of[2][HC_CLASS_NUMBERS]; /* from 1; 0 = none */
} Numbers;

static const HcClasses *classes_of(const HcPair *pair, int w) {
    return &hc_pair_scene(pair, w)->classes;
}

static const char *name_of(const HcPair *pair, int w, int32_t number) {
    const HcClasses *classes = classes_of(pair, w);
    return number < classes->count ? classes->name[number] : NULL;
}

static bool is_none(const HcPair *pair, int w, int32_t number) {
    return number == 0 || hc_class_is_none(name_of(pair, w, number));
}

static HcStatus look(HcPair *pair, Numbers *numbers, HcError *err) {
    for (int64_t line = 0; line < pair->lines; line += pair->lines_most) {
        HC_OR_RETURN(hc_pair_load(pair, line, (int32_t)hc_min64(pair->lines_most, pair->lines - line), err));
        for (int w = 0; w < 2; w++) {
            const HcBlock *block = &pair->block[w];
            for (size_t p = 0; p < hc_block_pixels(block); p++) {
                float value = block->data[p];
                if (!(value >= 0 && value < HC_CLASS_NUMBERS && value == floorf(value))) {
                    return hc_fail(
                        err, HC_E_INPUT, "%s: line %lld, sample %lld: %g is no class (whole, 0 to %d)",
                        hc_pair_path(pair, w), (long long)(line + (int64_t)(p / (size_t)block->samples) + 1),
                        (long long)(p % (size_t)block->samples + 1), (double)value, HC_CLASS_NUMBERS - 1);
                }
                numbers->seen[w][(int32_t)value] |= block->mask[p] != 0;
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

static int32_t class_of(const HcBlock *block, size_t pixel, const int32_t *of_number) {
    return block->mask[pixel] ? of_number[(int32_t)block->data[pixel]] : 0;
}

/* What the map leaves out where the truth has a class is unclassified, and so wrong. */
static HcStatus count(HcPair *pair, const Numbers *numbers, HcComparison *out, HcError *err) {
    out->left_out = 0;
    for (int64_t line = 0; line < pair->lines; line += pair->lines_most) {
        HC_OR_RETURN(hc_pair_load(pair, line, (int32_t)hc_min64(pair->lines_most, pair->lines - line), err));
        const HcBlock *of = &pair->block[0], *to = &pair->block[1];
        for (size_t p = 0; p < hc_block_pixels(to); p++) {
            int32_t truth = class_of(to, p, numbers->class_of[1]);
            int32_t found = class_of(of, p, numbers->class_of[0]);
            if (truth == 0) {
                out->left_out++;
                continue;
            }
            hc_accuracy_add(&out->accuracy, truth, found);
            show(&out->difference, line + (int64_t)(p / (size_t)to->samples),
                 (int64_t)(p % (size_t)to->samples), found == truth);
        }
    }
    hc_accuracy_finish(&out->accuracy);
    return hc_pair_unchanged(pair, err);
}

/* ---- pairs ---- */

/* Whether a number is a class: it occurs, or has a name. */
static bool is_class(const HcPair *pair, const Numbers *numbers, int w, int32_t number) {
    return !is_none(pair, w, number) &&
           (numbers->seen[w][number] || hc_class_is_named(number, name_of(pair, w, number)));
}

static bool is_named(const HcPair *pair, int w, int32_t number) {
    return hc_class_is_named(number, name_of(pair, w, number));
}

/* The class of the truth, of those that are listed, with the name of a number; 0 = none. */
static int32_t namesake(const HcPair *pair, const Numbers *numbers, int w, int32_t number) {
    bool named = is_named(pair, w, number);
    for (int32_t n = 1; named && n < classes_of(pair, 1)->count; n++) {
        if (hc_text_equal_trimmed(name_of(pair, w, number), name_of(pair, 1, n))) {
            return numbers->class_of[1][n];
        }
    }
    return 0;
}

/* The class of the truth with the number of one of the map; 0 = none. Where names count it is a class without
 * a namesake, and one of both has no name. */
static int32_t same_number(const HcPair *pair, const Numbers *numbers, HcCompareMatch match,
                           const HcComparison *out, int32_t number) {
    int32_t class = numbers->class_of[1][number];
    bool free =
        class > 0 && out->number[1][class] == 0 && !(is_named(pair, 0, number) && is_named(pair, 1, number));
    return match == HC_MATCH_ORDER || (match == HC_MATCH_NAME && free) ? class : 0;
}

/* One more class, by its number in the map or the truth. */
static HcStatus add_class(HcPair *pair, Numbers *numbers, int w, int32_t number, HcComparison *out,
                          HcError *err) {
    int32_t class = out->class_count + 1;
    if (class > HC_CLASSES_MAX) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: more than %d classes", hc_pair_path(pair, w),
                       HC_CLASSES_MAX);
    }
    out->number[1 - w][class] = number;
    numbers->class_of[w][number] = out->class_count = class;
    return HC_OK;
}

/* Classes of the truth in their order. Those of one name are one. */
static HcStatus list_truth(HcPair *pair, Numbers *numbers, HcCompareMatch match, HcComparison *out,
                           HcError *err) {
    for (int32_t n = 1; n < HC_CLASS_NUMBERS; n++) {
        if (!is_class(pair, numbers, 1, n)) {
            continue;
        }
        int32_t class = match == HC_MATCH_NAME ? namesake(pair, numbers, 1, n) : 0;
        numbers->class_of[1][n] = class;
        HC_OR_RETURN(class == 0 ? add_class(pair, numbers, 1, n, out, err) : HC_OK);
    }
    out->unmatched[1] = out->class_count;
    return HC_OK;
}

/* A number of the map is that class of the truth. */
static void join(Numbers *numbers, int32_t number, int32_t class, HcComparison *out) {
    numbers->class_of[0][number] = class;
    out->unmatched[1] -= out->number[1][class] == 0;
    out->number[1][class] = number;
}

/* The classes of the map: those that are of the truth, and then its own. */
static HcStatus list_classes(HcPair *pair, Numbers *numbers, HcCompareMatch match, HcComparison *out,
                             HcError *err) {
    HC_OR_RETURN(list_truth(pair, numbers, match, out, err));
    for (int32_t n = 1; n < HC_CLASS_NUMBERS && match == HC_MATCH_NAME; n++) {
        int32_t class = is_class(pair, numbers, 0, n) ? namesake(pair, numbers, 0, n) : 0;
        if (class > 0) {
            join(numbers, n, class, out);
        }
    }
    for (int32_t n = 1; n < HC_CLASS_NUMBERS; n++) {
        if (!is_class(pair, numbers, 0, n) || numbers->class_of[0][n] > 0) {
            continue;
        }
        int32_t class = same_number(pair, numbers, match, out, n);
        if (class > 0) {
            join(numbers, n, class, out);
        } else {
            HC_OR_RETURN(add_class(pair, numbers, 0, n, out, err));
            out->unmatched[0]++;
        }
    }
    return HC_OK;
}

/* By what classes are paired where nobody says so: names where both have some. */
static HcStatus choose_match(HcPair *pair, HcCompareMatch *match, HcError *err) {
    bool named[2] = {hc_classes_are_named(classes_of(pair, 0)), hc_classes_are_named(classes_of(pair, 1))};
    if (*match == HC_MATCH_AUTO) {
        *match = named[0] && named[1] ? HC_MATCH_NAME : HC_MATCH_ORDER;
        if (named[0] != named[1]) {
            hc_stage_note(&pair->chain[1]->stages[0],
                          "%s: classes have no names: they are paired by their numbers (--match best pairs "
                          "those that agree most)",
                          hc_pair_path(pair, named[0]));
        }
    } else if (*match == HC_MATCH_NAME && !(named[0] && named[1])) {
        return hc_fail(err, HC_E_INPUT, "%s: classes have no names to pair by (--match name)",
                       hc_pair_path(pair, named[0]));
    }
    return HC_OK;
}

/* A number that is no class, and has a name as if it were one. */
static void note_zero(HcPair *pair, const Numbers *numbers) {
    for (int w = 0; w < 2; w++) {
        const char *name = name_of(pair, w, 0);
        if (numbers->seen[w][0] && hc_class_is_named(0, name)) {
            hc_stage_note(&pair->chain[w]->stages[0],
                          "%s: 0 is called \"%s\": it is no class, and its pixels are left out",
                          hc_pair_path(pair, w), name);
        }
    }
}

static HcStatus check_names(const HcPair *pair, HcCompareMatch match, const HcComparison *out, HcError *err) {
    return match != HC_MATCH_NAME || out->unmatched[0] + out->unmatched[1] < out->class_count
               ? HC_OK
               : hc_fail(err, HC_E_INPUT,
                         "%s: no class has the name of a class of %s (--match best pairs those that agree "
                         "most, --match order equal numbers)",
                         hc_pair_path(pair, 0), hc_pair_path(pair, 1));
}

/* Pairs the classes that the map alone has with those of the truth, so that most pixels agree. */
static HcStatus pair_best(HcPair *pair, Numbers *numbers, HcComparison *out, HcError *err) {
    HcStatus status = HC_OK;
    int32_t first = out->unmatched[1], own = out->unmatched[0], *column = NULL;
    double *cost = NULL;
    if (first > HC_MATCH_MAX || own > HC_MATCH_MAX) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: has %d classes, --match best takes at most %d",
                       hc_pair_path(pair, first > HC_MATCH_MAX), first > HC_MATCH_MAX ? first : own,
                       HC_MATCH_MAX);
    }
    HC_TRY(hc_new(cost, (size_t)own * (size_t)first + 1, "an assignment", err));
    HC_TRY(hc_new(column, (size_t)own + 1, "an assignment", err));
    size_t wide = (size_t)out->class_count + 1;
    for (int32_t k = 0; k < own; k++) {
        for (int32_t t = 0; t < first; t++) {
            cost[k * first + t] = -(double)out->accuracy.matrix[(size_t)t * wide + (size_t)(first + k + 1)];
        }
    }
    HC_TRY(hc_match_least(cost, own, first, column, err));
    int32_t kept = first;
    for (int32_t k = 0; k < own; k++) {
        int32_t number = out->number[1][first + k + 1];
        int32_t class = column[k] >= 0 ? column[k] + 1 : ++kept;
        numbers->class_of[0][number] = class;
        out->number[1][class] = number;
        out->unmatched[1] -= column[k] >= 0;
    }
    out->unmatched[0] = kept - first;
    out->class_count = kept;
done:
    free(cost);
    free(column);
    return status;
}

/* The name in the truth, else that in the map. */
static HcStatus take_names(const HcPair *pair, HcComparison *out, HcError *err) {
    hc_classes_clear(&out->classes);
    HC_OR_RETURN(hc_classes_make(&out->classes, out->class_count + 1, err));
    for (int32_t c = 1; c <= out->class_count; c++) {
        for (int w = 0; w < 2; w++) {
            int32_t number = out->number[1 - w][c];
            const char *name = number > 0 ? name_of(pair, w, number) : NULL;
            if (name != NULL &&
                (w == 1 || out->number[0][c] == 0 ||
                 !hc_class_is_named(out->number[0][c], name_of(pair, 1, out->number[0][c])))) {
                HC_OR_RETURN(hc_classes_name(&out->classes, c, name, err));
            }
        }
    }
    return HC_OK;
}

static HcStatus measure(HcPair *pair, const Numbers *numbers, HcComparison *out, HcError *err) {
    hc_accuracy_clear(&out->accuracy);
    HC_OR_RETURN(hc_accuracy_init(&out->accuracy, out->class_count, err));
    out->accuracy.number[0] = out->number[0];
    out->accuracy.number[1] = out->number[1];
    out->passes++;
    return count(pair, numbers, out, err);
}

static HcStatus compare(HcPair *pair, HcCompareMatch match, Numbers *numbers, HcComparison *out,
                        HcError *err) {
    HC_OR_RETURN(choose_match(pair, &match, err));
    out->matched_by = hc_compare_match_words[match];
    out->passes = 1;
    HC_OR_RETURN(look(pair, numbers, err));
    note_zero(pair, numbers);
    HC_OR_RETURN(list_classes(pair, numbers, match, out, err));
    HC_OR_RETURN(check_names(pair, match, out, err));
    if (out->class_count == 0 || out->unmatched[0] == out->class_count) {
        return hc_fail(err, HC_E_NUMERIC, "%s: no pixel has a class", hc_pair_path(pair, 1));
    }
    if (match == HC_MATCH_BEST) {
        HC_OR_RETURN(measure(pair, numbers, out, err));
        HC_OR_RETURN(pair_best(pair, numbers, out, err));
    }
    HC_OR_RETURN(measure(pair, numbers, out, err));
    return take_names(pair, out, err);
}

HcStatus hc_compare_classes(HcPair *pair, HcCompareMatch match, HcComparison *out, HcError *err) {
    HcStatus status = HC_OK;
    Numbers *numbers = NULL;
    HC_TRY(hc_new(numbers, 1, "numbers of classes", err));
    HC_TRY(hc_new(out->number[0], HC_CLASSES_MAX + 1, "numbers of classes", err));
    HC_TRY(hc_new(out->number[1], HC_CLASSES_MAX + 1, "numbers of classes", err));
    HC_TRY(compare(pair, match, numbers, out, err));
    out->pixels = out->accuracy.pixels;
    if (out->pixels == 0) {
        HC_TRY(hc_fail(err, HC_E_NUMERIC, "%s: no pixel has a class", hc_pair_path(pair, 1)));
    }
    HC_TRY(hc_chain_check_notes(pair->chain[0], err));
    HC_TRY(hc_chain_check_notes(pair->chain[1], err));
done:
    free(numbers);
    return status;
}
