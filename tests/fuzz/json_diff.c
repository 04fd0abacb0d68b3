/* Fuzz harness: two JSON files as `diff` takes them, a 0 byte between them; with one text both are the same.
 */
#include "pipeline/json/diff.h"
#include "pipeline/json/json.h"
#include "tests/fuzz/harness.h"

#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
    const uint8_t *end = memchr(data, 0, size);
    size_t first = end != NULL ? (size_t)(end - data) : size;
    if (end == NULL || first + 1 == size || seed % 2 == 0) {
        /* The first text, before the second. */
        size_t rest = size - first;
        uint8_t *kept = malloc(rest + 1);
        hc_fuzz_expect(kept != NULL, "there is memory for the harness itself");
        memcpy(kept, data + first, rest);
        first = hc_fuzz_mutate_json(data, first, capacity - rest, seed / 2);
        memcpy(data + first, kept, rest);
        free(kept);
        return first + rest;
    }
    return first + 1 +
           hc_fuzz_mutate_json(data + first + 1, size - first - 1, capacity - first - 1, seed / 2);
}

static cJSON *read_object(const char *name, const uint8_t *data, size_t size) {
    char path[HC_FUZZ_PATH];
    HcError err = {0};
    cJSON *json = NULL;
    hc_fuzz_file(path, name, data, size);
    HcStatus status = hc_json_read(path, &json, &err);
    hc_fuzz_check(status, &err);
    hc_fuzz_expect((status == HC_OK) == (json != NULL), "what is read is there");
    return json;
}

static int32_t differences(const cJSON *a, const cJSON *b) {
    HcError err = {0};
    HcJsonDiff diff = {0};
    HcStatus status = hc_json_diff(a, b, NULL, &diff, &err);
    hc_fuzz_check(status, &err);
    for (int32_t i = 0; i < diff.count && status == HC_OK; i++) {
        const HcJsonDifference *item = &diff.item[i];
        hc_fuzz_expect(item->place != NULL && item->a != NULL && item->b != NULL,
                       "a difference has its texts");
    }
    int32_t count = status == HC_OK ? diff.count : -1;
    hc_json_diff_clear(&diff);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *end = memchr(data, 0, size);
    size_t first = end != NULL ? (size_t)(end - data) : size;
    cJSON *a = read_object("a.json", data, first);
    cJSON *b =
        end != NULL ? read_object("b.json", end + 1, size - first - 1) : read_object("b.json", data, size);
    if (cJSON_IsObject(a) && cJSON_IsObject(b)) {
        hc_fuzz_expect(differences(a, a) == 0 && differences(b, b) == 0,
                       "a file does not differ from itself");
        hc_fuzz_expect(end != NULL || differences(a, b) == 0, "nor from its copy");
        hc_fuzz_expect((differences(a, b) > 0) == (differences(b, a) > 0), "both differ, or none");
    }
    cJSON_Delete(a);
    cJSON_Delete(b);
    hc_fuzz_empty_folder();
    return 0;
}
