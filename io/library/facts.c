/* What libraries know of their entries beside values: class, description, source, quality; and unique names.
 */
#include "core/allocate.h"
#include "core/text.h"
#include "io/library/parts.h"
#include "io/read/metadata/envi_header.h"

#include <stdlib.h>
#include <string.h>

const char *hc_library_fact_word(HcLibraryFact fact) {
    static const char *const words[HC_LIBRARY_FACTS] = {"class", "description", "source", "quality"};
    return words[fact];
}

const char *hc_library_fact(const HcLibrary *library, int32_t entry, HcLibraryFact fact) {
    char *const *text = library->facts.text[fact];
    return text != NULL && text[entry] != NULL ? text[entry] : "";
}

HcStatus hc_library_set_fact(HcLibrary *library, int32_t entry, HcLibraryFact fact, const char *text,
                             HcError *err) {
    char ***list = &library->facts.text[fact];
    if (text == NULL || *text == '\0' || strcmp(text, "-") == 0) {
        return HC_OK;
    }
    if (*list == NULL) {
        HC_OR_RETURN(hc_new(*list, library->count, "the facts of a library", err));
    }
    free((*list)[entry]);
    (*list)[entry] = hc_envi_clean(text);
    return (*list)[entry] != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(text), "a fact of a library");
}

void hc_library_move_facts(HcLibrary *library, int32_t from, int32_t to) {
    for (int f = 0; f < HC_LIBRARY_FACTS; f++) {
        char **text = library->facts.text[f];
        if (text != NULL && to != from) {
            free(to >= 0 ? text[to] : text[from]);
            if (to >= 0) {
                text[to] = text[from];
            }
            text[from] = NULL;
        }
    }
}

void hc_library_clear_facts(HcLibrary *library) {
    for (int f = 0; f < HC_LIBRARY_FACTS; f++) {
        hc_free_texts(library->facts.text[f], library->count);
        library->facts.text[f] = NULL;
    }
}

/* ---- unique names ---- */

typedef struct Named {
    const char *name;
    int32_t entry;
} Named;

static int by_name(const void *a, const void *b) {
    const Named *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    return order != 0 ? order : (left->entry > right->entry) - (left->entry < right->entry);
}

static bool has_name(const Named *sorted, int32_t count, const char *name) {
    int32_t low = 0;
    while (low < count) {
        int32_t middle = low + (count - low) / 2;
        int order = strcmp(sorted[middle].name, name);
        if (order == 0) {
            return true;
        }
        low = order < 0 ? middle + 1 : low;
        count = order < 0 ? count : middle;
    }
    return false;
}

HcStatus hc_library_number_names(HcLibrary *library, int32_t *renamed, HcError *err) {
    HcStatus status = HC_OK;
    Named *sorted = NULL;
    char **fresh = NULL;
    int32_t count = library->count, number = 1;
    *renamed = 0;
    HC_TRY(hc_new(sorted, count, "the names of a library", err));
    HC_TRY(hc_new(fresh, count, "the names of a library", err));
    for (int32_t i = 0; i < count; i++) {
        sorted[i] = (Named){library->name[i], i};
    }
    qsort(sorted, (size_t)count, sizeof *sorted, by_name);
    for (int32_t i = 1; i < count; i++) {
        char **name = &fresh[sorted[i].entry];
        number = strcmp(sorted[i].name, sorted[i - 1].name) == 0 ? number : 1;
        while (strcmp(sorted[i].name, sorted[i - 1].name) == 0 &&
               (*name == NULL || has_name(sorted, count, *name))) {
            free(*name);
            *name = hc_text_format("%s (%d)", sorted[i].name, ++number);
            HC_TRY(hc_text_made(*name, strlen(sorted[i].name), "the name of a spectrum", err));
        }
    }
    for (int32_t i = 0; i < count; i++) {
        *renamed += fresh[i] != NULL;
        char *unused = fresh[i] != NULL ? library->name[i] : NULL;
        library->name[i] = fresh[i] != NULL ? fresh[i] : library->name[i];
        fresh[i] = unused;
    }
done:
    hc_free_texts(fresh, count);
    free(sorted);
    return status;
}
