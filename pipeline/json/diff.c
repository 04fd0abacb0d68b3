/* Both trees are walked side by side, and each difference gets the place of its value. Lists of numbers are
 * one difference with their largest deviation, because a table of a thousand eigenvalues would hide all
 * others. */
#include "pipeline/json/diff.h"
#include "core/grow.h"
#include "core/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A comparison in hand. */
typedef struct Walk {
    bool (*left_out)(const char *name);
    HcText place; /* where it is */
    HcJsonDiff *out;
} Walk;

static HcStatus walk(Walk *at, const cJSON *a, const cJSON *b, HcError *err);

/* The value on one line; what is long or has parts is only counted. */
static char *shown(const cJSON *value) {
    char number[HC_TEXT_DOUBLE];
    if (value == NULL) {
        return strdup("nothing");
    }
    if (cJSON_IsArray(value)) {
        return hc_text_format("a list of %d", cJSON_GetArraySize(value));
    }
    if (cJSON_IsObject(value)) {
        return hc_text_format("an object of %d", cJSON_GetArraySize(value));
    }
    if (cJSON_IsNumber(value)) {
        return strdup(hc_text_double(number, value->valuedouble));
    }
    char *text = cJSON_PrintUnformatted(value);
    char *copy = text != NULL ? strdup(text) : NULL;
    cJSON_free(text);
    return copy;
}

static HcStatus add(Walk *at, const cJSON *a, const cJSON *b, char *more, HcError *err) {
    HcJsonDiff *out = at->out;
    HcStatus status = hc_grow(out->item, out->count, "differences", err);
    if (status != HC_OK) {
        free(more);
        return status;
    }
    HcJsonDifference *item = &out->item[out->count++];
    *item = (HcJsonDifference){strdup(hc_text_shown(&at->place)), shown(a), shown(b), more};
    return !at->place.failed && item->place != NULL && item->a != NULL && item->b != NULL
               ? HC_OK
               : hc_fail_memory(err, (double)at->place.length, "differences");
}

static HcStatus step(Walk *at, const cJSON *a, const cJSON *b, const char *name, int index, HcError *err) {
    size_t length = at->place.length;
    if (name != NULL) {
        hc_text_add(&at->place, "%s%s", length > 0 ? "." : "", name);
    } else {
        hc_text_add(&at->place, "[%d]", index);
    }
    HcStatus status = walk(at, a, b, err);
    if (at->place.data != NULL) {
        at->place.data[length] = '\0';
        at->place.length = length;
    }
    return status;
}

/* The member of `other` that has the name of `item`, which is one of `own`. Names may repeat: the second of a
 * name goes with the second. */
static const cJSON *counterpart(const cJSON *item, const cJSON *own, const cJSON *other) {
    int64_t before = 0;
    const cJSON *at = NULL;
    for (at = own->child; at != item; at = at->next) {
        before += strcmp(at->string, item->string) == 0;
    }
    for (at = other->child; at != NULL; at = at->next) {
        if (strcmp(at->string, item->string) == 0 && before-- == 0) {
            break;
        }
    }
    return at;
}

static HcStatus walk_object(Walk *at, const cJSON *a, const cJSON *b, HcError *err) {
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, a) {
        if (at->left_out == NULL || !at->left_out(item->string)) {
            HC_OR_RETURN(step(at, item, counterpart(item, a, b), item->string, 0, err));
        }
    }
    cJSON_ArrayForEach(item, b) {
        bool new = counterpart(item, b, a) == NULL;
        if (new && (at->left_out == NULL || !at->left_out(item->string))) {
            HC_OR_RETURN(step(at, NULL, item, item->string, 0, err));
        }
    }
    return HC_OK;
}

static bool same_number(const cJSON *a, const cJSON *b) {
    return a->valuedouble == b->valuedouble;
}

/* Lists of as many numbers each: one difference for all. */
static bool are_numbers(const cJSON *a, const cJSON *b) {
    int32_t count = 0;
    for (a = a->child, b = b->child; a != NULL && b != NULL; a = a->next, b = b->next, count++) {
        if (!cJSON_IsNumber(a) || !cJSON_IsNumber(b)) {
            return false;
        }
    }
    return a == NULL && b == NULL && count > 1;
}

static HcStatus walk_numbers(Walk *at, const cJSON *a, const cJSON *b, HcError *err) {
    const cJSON *first[2] = {NULL, NULL};
    int32_t count = 0, differ = 0, first_at = 0;
    double largest = 0;
    char number[HC_TEXT_DOUBLE];
    for (a = a->child, b = b->child; a != NULL && b != NULL; a = a->next, b = b->next, count++) {
        if (same_number(a, b)) {
            continue;
        }
        if (differ++ == 0) {
            first_at = count;
            first[0] = a;
            first[1] = b;
        }
        largest = fmax(largest, fabs(a->valuedouble - b->valuedouble));
    }
    if (differ == 0) {
        return HC_OK;
    }
    char *more =
        hc_text_format("%d of %d differ, by up to %s", differ, count, hc_text_double(number, largest));
    HC_OR_RETURN(hc_text_made(more, 64, "differences", err));
    size_t length = at->place.length;
    hc_text_add(&at->place, "[%d]", first_at);
    HcStatus status = add(at, first[0], first[1], more, err);
    if (at->place.data != NULL) {
        at->place.data[length] = '\0';
        at->place.length = length;
    }
    return status;
}

static HcStatus walk_array(Walk *at, const cJSON *a, const cJSON *b, HcError *err) {
    if (are_numbers(a, b)) {
        return walk_numbers(at, a, b, err);
    }
    a = a->child;
    b = b->child;
    for (int i = 0; a != NULL || b != NULL; i++) {
        HC_OR_RETURN(step(at, a, b, NULL, i, err));
        a = a != NULL ? a->next : NULL;
        b = b != NULL ? b->next : NULL;
    }
    return HC_OK;
}

static HcStatus walk(Walk *at, const cJSON *a, const cJSON *b, HcError *err) {
    if (cJSON_IsObject(a) && cJSON_IsObject(b)) {
        return walk_object(at, a, b, err);
    }
    if (cJSON_IsArray(a) && cJSON_IsArray(b)) {
        return walk_array(at, a, b, err);
    }
    bool same = a != NULL && b != NULL &&
                (cJSON_IsNumber(a) && cJSON_IsNumber(b) ? same_number(a, b) : cJSON_Compare(a, b, true));
    return same ? HC_OK : add(at, a, b, NULL, err);
}

HcStatus hc_json_diff(const cJSON *a, const cJSON *b, bool (*left_out)(const char *name), HcJsonDiff *out,
                      HcError *err) {
    Walk at = {.left_out = left_out, .out = out};
    HcStatus status = walk(&at, a, b, err);
    hc_text_clear(&at.place);
    return status;
}

void hc_json_diff_clear(HcJsonDiff *diff) {
    for (int32_t i = 0; i < diff->count; i++) {
        free(diff->item[i].place);
        free(diff->item[i].a);
        free(diff->item[i].b);
        free(diff->item[i].more);
    }
    free(diff->item);
    *diff = (HcJsonDiff){0};
}
