/* The option --by: parts of a grouping, each with its value, separated by commas or given one by one. */
#include "pipeline/groups/grouping.h"

#include <stdlib.h>
#include <string.h>

enum { MASK, CLASSES, COLUMNS, PARTS };

static const char *const part_words[PARTS] = {"mask", "classes", "columns"};

/* The part that a text begins with; PARTS = none. */
static int part_of(const char *text) {
    int part = 0;
    size_t length = strcspn(text, "=,");
    while (part < PARTS &&
           (strlen(part_words[part]) != length || strncmp(text, part_words[part], length) != 0)) {
        part++;
    }
    return part;
}

/* A comma within a value (mask=FILE:1!=2,5) comes before no such word. */
const char *hc_grouping_next(const char *text) {
    do {
        text = strchr(text, ',');
    } while (text != NULL && part_of(++text) == PARTS);
    return text;
}

/* What follows `=`, in fresh memory; NULL = memory is out. */
static char *value_of(const char *text) {
    const char *next = hc_grouping_next(text);
    size_t name = strcspn(text, "=,"), length = next != NULL ? (size_t)(next - text) - 1 : strlen(text);
    name += text[name] == '=';
    return strndup(text + name, length - name);
}

char *hc_grouping_file_of(const char *text) {
    int part = part_of(text);
    char *value = part == COLUMNS || part == PARTS ? strdup("") : value_of(text);
    if (part != MASK || value == NULL) {
        return value;
    }
    char *file = hc_view_file_of(value);
    free(value);
    return file;
}

static HcStatus take_width(HcGrouping *grouping, const HcStage *stage, const char *value, HcError *err) {
    int64_t width = 1;
    if (*value != '\0' && (!hc_text_parse_int(value, &width) || width < 1 || width > 1000000)) {
        return hc_fail(err, HC_E_USAGE, "%s: --by columns=%s: a number from 1 to 1000000", stage->kind->name,
                       value);
    }
    grouping->width = (int32_t)hc_min64(width, stage->in.samples);
    return HC_OK;
}

/* Parts that a stage may have: "mask=FILE, classes=FILE or columns=COUNT". */
static void print_parts(uint32_t takes, HcText *to) {
    static const char *const value[] = {"=FILE", "=FILE", "[=COUNT]"};
    uint32_t left = takes;
    for (int p = 0; p < PARTS; p++) {
        if ((takes >> p & 1) != 0) {
            left &= ~(1U << p);
            hc_text_add(to, "%s%s%s", part_words[p], value[p], left != 0 ? ", " : "");
        }
    }
}

static HcStatus parse_part(HcGrouping *grouping, const HcStage *stage, const char *text, uint32_t takes,
                           HcError *err) {
    HcStatus status = HC_OK;
    int part = part_of(text);
    char *value = NULL;
    HcText parts = {0};
    const bool given[] = {grouping->mask != NULL, grouping->classes != NULL, grouping->width > 0, false};
    value = value_of(text);
    HC_TRY(hc_text_made(value, strlen(text), "a value of --by", err));
    if ((takes >> part & 1) == 0 || (part != COLUMNS && *value == '\0')) {
        print_parts(takes, &parts);
        HC_TRY(
            hc_fail(err, HC_E_USAGE, "%s: --by %s: give %s", stage->kind->name, text, hc_text_shown(&parts)));
    }
    if (given[part]) {
        HC_TRY(hc_fail(err, HC_E_USAGE, "%s: --by %s: %s is given twice", stage->kind->name, text,
                       part_words[part]));
    }
    if (part == COLUMNS) {
        HC_TRY(take_width(grouping, stage, value, err));
    } else {
        *(part == MASK ? &grouping->mask : &grouping->classes) = value;
        value = NULL;
    }
done:
    hc_text_clear(&parts);
    free(value);
    return status;
}

HcStatus hc_grouping_parse(HcGrouping *grouping, const HcStage *stage, const HcGroupingParams *params,
                           uint32_t takes, HcError *err) {
    grouping->samples = (int32_t)stage->in.samples;
    grouping->class_count = 1;
    for (int32_t i = 0; i < params->by.count; i++) {
        for (const char *text = params->by.item[i]; text != NULL; text = hc_grouping_next(text)) {
            HC_OR_RETURN(parse_part(grouping, stage, text, takes, err));
        }
    }
    return (params->field == NULL && params->layer == NULL) || grouping->classes != NULL
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "%s: --%s needs --by classes", stage->kind->name,
                         params->layer != NULL ? "layer" : "field");
}
