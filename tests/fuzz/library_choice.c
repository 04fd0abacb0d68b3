/* Fuzz harness: the list of --spectra. The first line is the list, the rest a library as CSV. */
#include "pipeline/spectra/library/choice.h"
#include "tests/fuzz/harness.h"

#include <stdlib.h>
#include <string.h>

static void check_chosen(const HcLibrary *library) {
    hc_fuzz_expect(library->count > 0 && library->count <= library->entries, "some entries stay");
    for (int32_t i = 0; i < library->count; i++) {
        int32_t number = library->number != NULL ? library->number[i] : i;
        int32_t before = i == 0 ? -1 : library->number != NULL ? library->number[i - 1] : i - 1;
        hc_fuzz_expect(number > before && number < library->entries, "numbers of entries ascend");
        hc_fuzz_expect(library->name[i] != NULL, "an entry has a name");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    HcError err = {0};
    HcLibrary library = {0};
    char *note = NULL;
    const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t first = end != NULL ? (size_t)(end - data) + 1 : size;
    size_t length = end != NULL ? first - 1 : size;
    char *list = calloc(length + 1, 1);
    hc_fuzz_expect(list != NULL, "there is memory for the harness itself");
    if (length > 0) {
        memcpy(list, data, length);
    }
    hc_fuzz_memory_open("/vsimem/library.csv", data + first, size - first);
    HcStatus status = hc_library_read(&library, "/vsimem/library.csv", &err);
    if (status == HC_OK) {
        HcLibraryChoice choice = {.spectra = size % 8 != 0 ? list : NULL, .all = size % 2 == 0};
        status = hc_library_choose(&library, "library.csv", &choice, "unmix", &note, &err);
        hc_fuzz_check(status, &err);
        if (status == HC_OK) {
            check_chosen(&library);
        }
        hc_fuzz_expect(note == NULL || strpbrk(note, "\r\n") == NULL, "a note is one line");
    }
    free(note);
    free(list);
    hc_library_clear(&library);
    hc_fuzz_memory_close("/vsimem/library.csv");
    return 0;
}
