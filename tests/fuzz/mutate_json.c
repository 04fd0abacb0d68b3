/* Mutations of JSON texts that keep them JSON: bytes alone would mostly end in the parser of cJSON, which is
 * not what is tested here. */
#include "tests/fuzz/harness.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of libFuzzer; in other builds there is none, and bytes stay as they are. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity);

static size_t mutate_bytes(uint8_t *data, size_t size, size_t capacity) {
    return LLVMFuzzerMutate != NULL ? LLVMFuzzerMutate(data, size, capacity) : size;
}

static unsigned draw(unsigned *state, unsigned below) {
    *state = *state * 1664525u + 1013904223u;
    return (unsigned)(((uint64_t)*state * below) >> 32);
}

/* ---- places ---- */

static int count_items(const cJSON *item) {
    int count = 1;
    const cJSON *child = NULL;
    cJSON_ArrayForEach(child, item) {
        count += count_items(child);
    }
    return count;
}

/* The n-th item of the tree (from 0, in the order of the text) and the one that it is in. */
static cJSON *find_item(cJSON *item, cJSON *parent, int *n, cJSON **found_parent) {
    if ((*n)-- == 0) {
        *found_parent = parent;
        return item;
    }
    cJSON *child = NULL;
    cJSON_ArrayForEach(child, item) {
        cJSON *found = find_item(child, item, n, found_parent);
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

/* ---- values ---- */

static double draw_number(unsigned *state, double old) {
    static const double special[] = {0,           -1,    1,      2,          0.5,        -0.0,
                                     1e-310,      1e30,  1e308,  2147483647, 2147483648, -2e9,
                                     4294967296., 1e18,  9.3e18, 1048576,    65536,      1 << 30,
                                     1e15,        -1e38, 255,    1e-300,     1048577};
    switch (draw(state, 4)) {
    case 0:
        return old + (draw(state, 2) ? 1 : -1);
    case 1:
        return -old;
    case 2:
        return ldexp(old, (int)draw(state, 40) - 20);
    default:
        return special[draw(state, sizeof special / sizeof *special)];
    }
}

static cJSON *draw_value(unsigned *state) {
    switch (draw(state, 7)) {
    case 0:
        return cJSON_CreateNull();
    case 1:
        return cJSON_CreateBool((cJSON_bool)draw(state, 2));
    case 2:
        return cJSON_CreateString(draw(state, 2) ? "" : "a longer text, \n\x01\xff{}[]%s");
    case 3:
        return cJSON_CreateArray();
    case 4:
        return cJSON_CreateObject();
    default:
        return cJSON_CreateNumber(draw_number(state, 1));
    }
}

static void change_text(cJSON *item, unsigned *state) {
    char text[1024];
    snprintf(text, sizeof text - 64, "%s", item->valuestring);
    size_t size = mutate_bytes((uint8_t *)text, strlen(text), sizeof text - 1);
    text[size] = '\0';
    if (draw(state, 8) == 0) {
        memset(text, 'a' + (int)draw(state, 26), sizeof text - 1); /* longer than any buffer for it */
        text[sizeof text - 1] = '\0';
    }
    cJSON *changed = cJSON_CreateString(text);
    if (changed != NULL) {
        char *old = item->valuestring;
        item->valuestring = changed->valuestring;
        changed->valuestring = old;
        cJSON_Delete(changed);
    }
}

static void change_value(cJSON *item, unsigned *state) {
    if (cJSON_IsNumber(item)) {
        cJSON_SetNumberHelper(item, draw_number(state, item->valuedouble));
    } else if (cJSON_IsString(item)) {
        change_text(item, state);
    } else if (cJSON_IsBool(item)) {
        item->type ^= cJSON_True ^ cJSON_False;
    }
}

/* ---- structure ---- */

static void replace(cJSON *parent, cJSON *item, cJSON *by) {
    if (by == NULL) {
        return;
    }
    if (item->string != NULL) {
        cJSON *named = cJSON_CreateObject();
        if (named != NULL && cJSON_AddItemToObject(named, item->string, by)) {
            by = cJSON_DetachItemViaPointer(named, by);
        }
        cJSON_Delete(named);
    }
    cJSON_ReplaceItemViaPointer(parent, item, by);
}

static void add_copy(cJSON *parent, const cJSON *item) {
    cJSON *copy = cJSON_Duplicate(item, true);
    if (copy != NULL && cJSON_IsArray(parent)) {
        cJSON_AddItemToArray(parent, copy);
    } else if (copy != NULL && item->string != NULL) {
        cJSON_AddItemToObject(parent, item->string, copy); /* a key that comes twice */
    } else {
        cJSON_Delete(copy);
    }
}

static void change_tree(cJSON *root, unsigned *state) {
    cJSON *parent = NULL;
    cJSON *other_parent = NULL;
    int count = count_items(root);
    int n = (int)draw(state, (unsigned)count);
    cJSON *item = find_item(root, NULL, &n, &parent);
    if (parent == NULL || draw(state, 2) == 0) {
        change_value(item, state);
        return;
    }
    n = (int)draw(state, (unsigned)count);
    const cJSON *other = find_item(root, NULL, &n, &other_parent);
    switch (draw(state, 4)) {
    case 0:
        cJSON_Delete(cJSON_DetachItemViaPointer(parent, item));
        break;
    case 1:
        add_copy(parent, item);
        break;
    case 2:
        replace(parent, item, cJSON_Duplicate(other, true));
        break;
    default:
        replace(parent, item, draw_value(state));
    }
}

size_t hc_fuzz_mutate_json(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
    unsigned state = seed;
    cJSON *root = draw(&state, 4) > 0 ? cJSON_ParseWithLength((const char *)data, size) : NULL;
    if (root == NULL) {
        return mutate_bytes(data, size, capacity);
    }
    for (unsigned changes = 1 + draw(&state, 3); changes > 0; changes--) {
        change_tree(root, &state);
    }
    char *text = cJSON_PrintUnformatted(root);
    size_t length = text != NULL ? strlen(text) : 0;
    if (length > 0 && length <= capacity) {
        memcpy(data, text, length);
        size = length;
    }
    cJSON_free(text);
    cJSON_Delete(root);
    return size;
}
