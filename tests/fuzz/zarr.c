/* Fuzz harness: the text of an array of Zarr, of both versions, with the bytes of its first chunk after a 0
 * byte. */
#include "io/chunk/chunks.h"
#include "io/chunk/zarr.h"
#include "tests/fuzz/harness.h"

#include <string.h>

static void check_index(const HcChunkIndex *index) {
    for (int a = 0; a < HC_AXES; a++) {
        hc_fuzz_expect(index->size[a] > 0 && index->shape[a] > 0, "sizes are positive");
        hc_fuzz_expect(index->count[a] * index->shape[a] >= index->size[a] &&
                           (index->count[a] - 1) * index->shape[a] < index->size[a],
                       "chunks cover the axis");
    }
    hc_fuzz_expect(hc_chunk_bytes(index) <= INT32_MAX && index->stored_most >= hc_chunk_bytes(index),
                   "a chunk has space");
    hc_fuzz_expect(index->steps <= 1, "one step at most");
}

/* Small ones alone, which the fuzzer has memory for. */
static void read_first(HcChunkIndex *index) {
    HcError err = {0};
    HcChunks *chunks = NULL;
    HcChunkPixel pixel = {.line = 0};
    if (hc_chunk_bytes(index) > 1 << 20) {
        hc_chunk_index_free(index);
        return;
    }
    HcStatus status = hc_chunks_open(&chunks, index, &err);
    hc_fuzz_check(status, &err);
    if (status == HC_OK) {
        status = hc_chunks_look(chunks, 0, &pixel, 1, &err);
        hc_fuzz_check(status, &err);
    }
    hc_chunks_close(chunks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const HcAxis orders[2][HC_AXES] = {{HC_AXIS_BAND, HC_AXIS_LINE, HC_AXIS_SAMPLE},
                                              {HC_AXIS_LINE, HC_AXIS_SAMPLE, HC_AXIS_BAND}};
    static const char *const texts[] = {"zarr.json", ".zarray"};
    static const char *const chunks[] = {"0.0.0", "0.0", "c"};
    char path[HC_FUZZ_PATH];
    const uint8_t *end = memchr(data, 0, size);
    size_t text = end != NULL ? (size_t)(end - data) : size;
    for (int c = 0; c < 3 && end != NULL; c++) {
        hc_fuzz_file(path, chunks[c], end + 1, size - text - 1);
    }
    for (int t = 0; t < 2; t++) {
        hc_fuzz_file(path, texts[t], data, text); /* .zarray counts where both are there */
        for (int o = 0; o < 2; o++) {
            HcError err = {0};
            HcChunkIndex *index = NULL;
            HcStatus status = hc_chunk_zarr(&index, hc_fuzz_folder(), orders[o], &err);
            hc_fuzz_check(status, &err);
            if (index != NULL) {
                check_index(index);
                read_first(index);
            }
        }
    }
    hc_fuzz_empty_folder();
    return 0;
}
