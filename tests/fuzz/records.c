/* Fuzz harness: the record and the marker that a batch finds beside an output. */
#include "app/batch/batch.h"
#include "core/version.h"
#include "tests/fuzz/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
    return hc_fuzz_mutate_json(data, size, capacity, seed);
}

/* Replaces VERSION by this version, and FOLDER by the private folder, so that seeds can match; fresh memory.
 */
static char *fill(const uint8_t *data, size_t size, size_t *filled) {
    const char *const name[] = {"VERSION", "FOLDER"};
    const char *const value[] = {hc_version(), hc_fuzz_folder()};
    char *out = malloc(size * 40 + 1);
    hc_fuzz_expect(out != NULL, "there is memory for the harness itself");
    *filled = 0;
    for (size_t i = 0; i < size;) {
        int found = -1;
        for (int n = 0; n < 2; n++) {
            bool here = size - i >= strlen(name[n]) && memcmp(data + i, name[n], strlen(name[n])) == 0;
            found = here ? n : found;
        }
        if (found >= 0 && strlen(value[found]) < 200) {
            memcpy(out + *filled, value[found], strlen(value[found]));
            *filled += strlen(value[found]);
            i += strlen(name[found]);
        } else {
            out[(*filled)++] = (char)data[i++];
        }
    }
    return out;
}

/* Looks at the file by that name beside the output. */
static void look(const char *name, const char *data, size_t size) {
    char path[HC_FUZZ_PATH];
    char scene[HC_FUZZ_PATH];
    char output[HC_FUZZ_PATH];
    char chain[] = "read {scene} ! mnf ! write {output}";
    char message[768] = "";
    HcError err = {0};
    HcBatchState state = HC_BATCH_OPEN;
    hc_fuzz_file(scene, "s.img", "scene", 5);
    hc_fuzz_file(path, "o.img", "output", 6);
    hc_fuzz_file(path, name, data, size);
    snprintf(output, sizeof output, "%s/o.img", hc_fuzz_folder());
    HcBatchScene scenes[1] = {{.path = scene, .output = output}};
    HcBatch batch = {.scenes = scenes, .scene_count = 1, .workers = 1, .chain = chain};
    for (int hash = 0; hash < 2; hash++) {
        batch.params.hash = hash;
        HcStatus status = hc_batch_look(&batch, 0, &state, message, sizeof message, &err);
        hc_fuzz_check(status, &err);
        hc_fuzz_expect(memchr(message, '\0', sizeof message) != NULL, "a message ends");
        if (status == HC_OK && state == HC_BATCH_COMPLETE) {
            hc_batch_clean_complete(&batch, 0);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t filled = 0;
    if (size > 1 << 20) {
        return 0;
    }
    char *text = fill(data, size, &filled);
    look("o.img.hcube.json", text, filled);
    hc_fuzz_empty_folder();
    look("o.img.hcube-failed.json", text, filled);
    hc_fuzz_empty_folder();
    free(text);
    return 0;
}
