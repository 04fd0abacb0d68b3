/* Names of rows and columns of a linear program, by a table of hashes. */
#include "io/table/linear_program_parts.h"
#include "core/allocate.h"
#include "core/texts.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a */
static uint64_t hash_of(HcWord word) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < word.length; i++) {
        hash = (hash ^ (unsigned char)word.text[i]) * 0x100000001b3u;
    }
    return hash;
}

static bool is_name(const char *name, HcWord word) {
    return strncmp(name, word.text, word.length) == 0 && name[word.length] == '\0';
}

/* Where a name is, or would be. */
static int64_t slot_of(const HcNames *names, HcWord word) {
    int64_t slot = (int64_t)(hash_of(word) & (uint64_t)(names->slots - 1));
    while (names->slot[slot] >= 0 && !is_name(names->name[names->slot[slot]], word)) {
        slot = (slot + 1) & (names->slots - 1);
    }
    return slot;
}

int32_t hc_names_find(const HcNames *names, HcWord word) {
    return names->slots > 0 ? names->slot[slot_of(names, word)] : -1;
}

static HcStatus rehash(HcNames *names, int64_t slots, HcError *err) {
    int32_t *slot = NULL;
    HC_OR_RETURN(hc_new(slot, slots, "a table of names", err));
    memset(slot, 0xff, (size_t)slots * sizeof *slot);
    free(names->slot);
    names->slot = slot;
    names->slots = slots;
    for (int64_t n = 0; n < names->count; n++) {
        slot[slot_of(names, (HcWord){names->name[n], strlen(names->name[n])})] = (int32_t)n;
    }
    return HC_OK;
}

HcStatus hc_names_add(HcNames *names, HcWord word, HcError *err) {
    HC_OR_RETURN(hc_lp_grow((void **)&names->name, sizeof *names->name, names->count, &names->capacity, err));
    if (2 * (names->count + 1) > names->slots) {
        HC_OR_RETURN(rehash(names, names->slots > 0 ? 2 * names->slots : 1024, err));
    }
    char *name = strndup(word.text, word.length);
    HC_OR_RETURN(hc_text_made(name, (double)word.length, "a name", err));
    names->slot[slot_of(names, word)] = (int32_t)names->count;
    names->name[names->count++] = name;
    return HC_OK;
}

void hc_names_clear(HcNames *names) {
    hc_free_texts(names->name, names->count);
    free(names->slot);
    *names = (HcNames){0};
}

HcStatus hc_lp_grow(void **array, size_t size, int64_t count, int64_t *capacity, HcError *err) {
    if (count < *capacity) {
        return HC_OK;
    }
    int64_t more = *capacity > 0 ? 2 * *capacity : 256;
    void *grown = realloc(*array, (size_t)more * size);
    if (grown == NULL) {
        return hc_fail_memory(err, (double)more * (double)size, "a linear program");
    }
    *array = grown;
    *capacity = more;
    return HC_OK;
}
