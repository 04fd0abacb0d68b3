/* Labelled pixels in the making: classes by the names of their source, pixels in the order of the scene, and
 * in the end dense labels with names and colours. */
#include "io/training/parts.h"

#include "core/allocate.h"
#include "core/grow.h"
#include "core/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int compare(const HcClassKey *key, int64_t number, const char *text) {
    if (text != NULL) {
        return strcmp(key->text, text);
    }
    return (key->number > number) - (key->number < number);
}

/* The place in `order` where the class is, or would be. */
static int32_t find(const HcLabelling *labelling, int64_t number, const char *text, bool *found) {
    int32_t low = 0, high = labelling->key_count;
    *found = false;
    while (low < high && !*found) {
        int32_t middle = low + (high - low) / 2;
        int sign = compare(&labelling->key[labelling->order[middle]], number, text);
        if (sign == 0) {
            *found = true;
            return middle;
        }
        low = sign < 0 ? middle + 1 : low;
        high = sign < 0 ? high : middle;
    }
    return low;
}

HcStatus hc_labelling_class(HcLabelling *labelling, int64_t number, const char *text, int32_t *id,
                            HcError *err) {
    bool found = false;
    int32_t at = find(labelling, number, text, &found);
    if (found) {
        *id = labelling->order[at] + 1;
        return HC_OK;
    }
    if (labelling->key_count == HC_CLASS_NUMBER_MAX) {
        return hc_fail(err, HC_E_INPUT, "%s: more than %d classes", labelling->path, HC_CLASS_NUMBER_MAX);
    }
    HC_OR_RETURN(hc_grow(labelling->key, labelling->key_count, "classes", err));
    HC_OR_RETURN(hc_grow(labelling->order, labelling->key_count, "classes", err));
    char *copy = text != NULL ? strdup(text) : NULL;
    if (text != NULL && copy == NULL) {
        return hc_fail_memory(err, (double)strlen(text), "the name of a class");
    }
    memmove(labelling->order + at + 1, labelling->order + at,
            (size_t)(labelling->key_count - at) * sizeof *labelling->order);
    labelling->order[at] = labelling->key_count;
    labelling->key[labelling->key_count] = (HcClassKey){.number = number, .text = copy};
    *id = ++labelling->key_count;
    return HC_OK;
}

static bool grow(int32_t **array, int64_t capacity) {
    int32_t *fresh = realloc(*array, (size_t)capacity * sizeof **array);
    *array = fresh != NULL ? fresh : *array;
    return fresh != NULL;
}

HcStatus hc_labelling_add(HcLabelling *labelling, int64_t line, int64_t sample, int32_t id, int32_t feature,
                          HcError *err) {
    HcLabelled *out = labelling->out;
    if (out->count == labelling->capacity) {
        int64_t capacity = labelling->capacity > 0 ? labelling->capacity + labelling->capacity / 2 : 4096;
        if (!grow(&out->sample, capacity) || !grow(&out->line, capacity) || !grow(&out->label, capacity) ||
            !grow(&out->feature, capacity)) {
            return hc_fail_memory(err, 4.0 * (double)capacity * sizeof *out->label, "labelled pixels");
        }
        labelling->capacity = capacity;
    }
    out->sample[out->count] = (int32_t)sample;
    out->line[out->count] = (int32_t)line;
    out->label[out->count] = id;
    out->feature[out->count] = feature;
    out->count++;
    return HC_OK;
}

HcStatus hc_labelling_name(const HcClassKey *key, const HcNamed *named, const char **name, HcError *err) {
    *name = key->text;
    if (named != NULL) {
        HC_OR_RETURN(hc_read_attributes_name(named->attributes, key->number, name, err));
        if (*name == NULL && key->number < named->classes->count) {
            *name = named->classes->name[key->number];
        }
    }
    return HC_OK;
}

/* Fresh; key NULL = the class of no class. */
static HcStatus class_name(const HcClassKey *key, const HcNamed *named, char **out, HcError *err) {
    const char *name = "Unclassified";
    if (key != NULL) {
        HC_OR_RETURN(hc_labelling_name(key, named, &name, err));
    }
    *out = name != NULL    ? strdup(name)
           : named == NULL ? hc_text_format("%" PRId64, key->number)
                           : hc_text_format("Class %" PRId64, key->number);
    return *out != NULL ? HC_OK : hc_fail_memory(err, 64, "the name of a class");
}

/* The colour of the source, unless it has none or black, the colour of class 0. */
static void colour_class(const HcClassKey *key, const HcNamed *named, int32_t label, uint8_t colour[3]) {
    if (named != NULL && key != NULL && !hc_read_attributes_colour(named->attributes, key->number, colour) &&
        key->number < named->classes->count) {
        memcpy(colour, named->classes->colour[key->number], 3);
    }
    if (colour[0] + colour[1] + colour[2] == 0) {
        hc_classes_standard_colour(label, colour);
    }
}

static HcStatus name_class(HcLabelled *out, const HcClassKey *key, const HcNamed *named, HcError *err) {
    HcClasses *classes = &out->classes;
    int32_t label = classes->count;
    HC_OR_RETURN(class_name(key, named, &classes->name[label], err));
    int64_t number = key != NULL ? key->number : 0;
    out->named = out->named ||
                 (key != NULL && (named == NULL ? key->text != NULL
                                                : hc_class_is_named((int32_t)number, classes->name[label])));
    out->number[label] = number <= HC_CLASS_NUMBER_MAX ? (int32_t)number : 0;
    if (key != NULL && number != 0 && (number < 1 || number > HC_CLASS_NUMBER_MAX)) {
        out->renumbered = number;
    }
    colour_class(key, named, label, classes->colour[label]);
    classes->count++;
    return HC_OK;
}

/* A class that keeps no pixel. */
static HcStatus lose_class(HcLabelled *out, const HcClassKey *key, const HcNamed *named, HcError *err) {
    return out->lost_classes++ == 0 ? class_name(key, named, &out->lost_class, err) : HC_OK;
}

static HcStatus allocate_classes(const HcLabelling *labelling, int64_t **of_id, HcError *err) {
    HcLabelled *out = labelling->out;
    size_t count = (size_t)labelling->key_count + 1;
    *of_id = calloc(count, sizeof **of_id);
    out->pixels = calloc(count, sizeof *out->pixels);
    out->number = calloc(count, sizeof *out->number);
    out->classes.name = calloc(count, sizeof *out->classes.name);
    out->classes.colour = calloc(count, sizeof *out->classes.colour);
    if (*of_id == NULL || out->pixels == NULL || out->number == NULL || out->classes.name == NULL ||
        out->classes.colour == NULL) {
        return hc_fail_memory(err, (double)count * 32, "classes");
    }
    return HC_OK;
}

static HcStatus check_classes(const HcLabelling *labelling, HcError *err) {
    const HcLabelled *out = labelling->out;
    if (out->classes.count > 2 || (labelling->any && out->classes.count == 2)) {
        return HC_OK;
    }
    char where[160] = "", lost[160] = "";
    if (out->field != NULL) {
        snprintf(where, sizeof where, " (field '%.100s')", out->field);
    }
    if (out->lost_class != NULL) {
        snprintf(lost, sizeof lost, "; no pixel of the scene is left for '%.80s'", out->lost_class);
    }
    if (out->contested > 0) {
        size_t length = strlen(lost);
        snprintf(lost + length, sizeof lost - length, "; two classes claim %" PRId64 " pixels",
                 out->contested);
    }
    if (out->classes.count < 2) {
        return hc_fail(err, HC_E_INPUT, "%s: labels no pixel of the scene%s%s", labelling->path, where, lost);
    }
    return hc_fail(err, HC_E_INPUT, "%s: only one class, '%.100s'%s, at least two are needed%s",
                   labelling->path, out->classes.name[1], where, lost);
}

/* Features that keep no pixel lose their number. */
static HcStatus number_features(HcLabelled *out, HcError *err) {
    int32_t most = 0;
    int32_t *number = NULL;
    for (int64_t i = 0; i < out->count; i++) {
        most = out->feature[i] > most ? out->feature[i] : most;
    }
    HC_OR_RETURN(hc_new(number, (size_t)most + 1, "numbers of features", err));
    for (int64_t i = 0; i < out->count; i++) {
        number[out->feature[i]] = 1;
    }
    for (int32_t k = 0; k <= most; k++) {
        if (number[k] != 0) {
            number[k] = out->features++;
            hc_attributes_move(&out->attributes, k, number[k]);
        }
    }
    for (int64_t i = 0; i < out->count; i++) {
        out->feature[i] = number[out->feature[i]];
    }
    free(number);
    return HC_OK;
}

/* Texts alone have the number 0. */
static void settle_numbers(HcLabelled *out) {
    out->numbered = out->renumbered == 0 && out->classes.count > 1 && out->number[1] > 0;
    for (int32_t label = 0; label < out->classes.count && !out->numbered; label++) {
        out->number[label] = label;
    }
}

HcStatus hc_labelling_finish(HcLabelling *labelling, const HcNamed *named, HcError *err) {
    HcStatus status = HC_OK;
    HcLabelled *out = labelling->out;
    int64_t *of_id = NULL; /* pixels of an id, then its label */
    HC_TRY(allocate_classes(labelling, &of_id, err));
    for (int64_t i = 0; i < out->count; i++) {
        of_id[out->label[i]]++;
    }
    HC_TRY(name_class(out, NULL, named, err));
    for (int32_t k = 0; k < labelling->key_count; k++) {
        int32_t id = labelling->order[k] + 1;
        const HcClassKey *key = &labelling->key[id - 1];
        if (of_id[id] == 0 && key->none) {
            continue;
        }
        if (of_id[id] == 0) {
            HC_TRY(lose_class(out, key, named, err));
            continue;
        }
        out->pixels[out->classes.count] = of_id[id];
        of_id[id] = out->classes.count;
        HC_TRY(name_class(out, key, named, err));
    }
    hc_classes_colour_by_name(&out->classes);
    settle_numbers(out);
    for (int64_t i = 0; i < out->count; i++) {
        out->label[i] = (int32_t)of_id[out->label[i]];
    }
    HC_TRY(check_classes(labelling, err));
    HC_TRY(named != NULL ? hc_labelling_regions(out, err) : number_features(out, err));
done:
    free(of_id);
    return status;
}
