/* Fuzz harness: lists of scenes, and what --output makes of them. The first line is the pattern. */
#include "app/batch/batch.h"
#include "tests/fuzz/harness.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[HC_FUZZ_PATH];
    HcError err = {0};
    HcBatch batch = {0};
    const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t first = end != NULL ? (size_t)(end - data) : 0;
    char *pattern = calloc(first + 1, 1);
    hc_fuzz_expect(pattern != NULL, "there is memory for the harness itself");
    if (first > 0) {
        memcpy(pattern, data, first);
    }
    hc_fuzz_file(path, "scenes.txt", data + first, size - first);
    batch.params.scenes = path;
    batch.params.output = pattern;
    HcStatus status = hc_batch_read_scenes(&batch, &err);
    hc_fuzz_check(status, &err);
    hc_fuzz_expect(status != HC_OK || batch.scene_count > 0, "a batch has scenes");
    for (int32_t s = 0; status == HC_OK && s < batch.scene_count; s++) {
        hc_fuzz_expect(batch.scenes[s].path[0] != '\0' && batch.scenes[s].output != NULL,
                       "a scene has a path and an output");
    }
    hc_batch_clear(&batch);
    free(pattern);
    return 0;
}
