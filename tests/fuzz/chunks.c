/* Fuzz harness: chunks. An input is a TIFF, whose tiles are found and decoded without GDAL; or the stored
 * bytes of one chunk behind eight bytes that choose its shape and how it is decoded. */
#include "io/chunk/chunks.h"
#include "io/chunk/codec/decode.h"
#include "tests/fuzz/harness.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 1 << 20, HEAD = 8 };

static void look_at(const void *bytes, size_t count) {
    volatile unsigned sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum = sum + ((const uint8_t *)bytes)[i];
    }
}

/* ---- one chunk ---- */

static void decode_one(const HcChunkIndex *index, const uint8_t *stored, int64_t lines) {
    HcError err = {0}, why = {0};
    HcChunkWorkspace *workspace = NULL;
    uint8_t *values = NULL;
    hc_fuzz_expect(hc_chunk_workspace_open(&workspace, index, &err) == HC_OK,
                   "there is memory for the harness itself");
    memcpy(hc_chunk_decode_input(workspace), stored, (size_t)index->stored_most);
    HcStatus status = hc_chunk_decode(workspace, index, index->stored_most, lines, 0, &values, &why);
    hc_fuzz_check(status, &why);
    if (status == HC_OK) {
        look_at(values, (size_t)(hc_chunk_bytes(index) / index->shape[HC_AXIS_LINE] * lines));
    }
    hc_chunk_workspace_close(workspace);
}

static void decode_bytes(const uint8_t *data, size_t size) {
    HcChunkIndex index = {
        .type = (HcType)(data[0] % HC_TYPE_COUNT), .file = -1, .stored_most = (int64_t)size - HEAD};
    bool floating = index.type == HC_FLOAT32 || index.type == HC_FLOAT64;
    index.shape[HC_AXIS_LINE] = 1 + data[1] % 64;
    index.shape[HC_AXIS_SAMPLE] = 1 + data[2] % 64;
    index.shape[HC_AXIS_BAND] = 1 + data[3] % 8;
    for (int a = 0; a < HC_AXES; a++) {
        index.size[a] = index.shape[a];
        index.count[a] = 1;
        index.order[a] = a;
    }
    index.swap = data[4] & 1;
    index.short_last = data[4] & 2;
    for (int i = 5; i < HEAD && index.steps < HC_CHUNK_STEPS_MAX; i++) {
        HcChunkCode code =
            (HcChunkCode)data[i]; /* 255 and others: no step, so that inputs outlive new codes */
        if (code < HC_CODE_COUNT && (floating || code != HC_CODE_FLOAT_DIFFERENCE)) {
            index.step[index.steps++] = code;
        }
    }
    for (int i = 0; i < 4; i++) {
        index.szip[i] = data[HEAD + (size_t)i % (size - HEAD)];
    }
    int64_t lines = 1 + data[1] / 64 * (index.shape[HC_AXIS_LINE] - 1) / 3;
    decode_one(&index, data + HEAD, lines);
}

/* ---- a TIFF ---- */

static uint32_t little(const uint8_t *at, int bytes) {
    uint32_t value = 0;
    for (int i = bytes - 1; i >= 0; i--) {
        value = value << 8 | at[i];
    }
    return value;
}

/* What the first directory of a small-endian TIFF says of its image, as a scene; false where it says nothing.
 */
static bool find_scene(const uint8_t *data, size_t size, HcScene *scene) {
    size_t at = little(data + 4, 4);
    uint32_t bits = 1, format = 1;
    *scene = (HcScene){.bands = 1};
    if (at > size - 2) {
        return false;
    }
    size_t entries = little(data + at, 2);
    for (size_t e = 0; e < entries && at + 2 + 12 * e + 12 <= size; e++) {
        const uint8_t *entry = data + at + 2 + 12 * e;
        uint32_t count = little(entry + 4, 4), word = little(entry + 8, little(entry + 2, 2) == 3 ? 2 : 4);
        size_t far = little(entry + 8, 4);
        uint32_t first = count > 2 && far + 2 <= size ? little(data + far, 2) : word;
        switch (little(entry, 2)) {
        case 256:
            scene->samples = word;
            break;
        case 257:
            scene->lines = word;
            break;
        case 258:
            bits = first;
            break;
        case 277:
            scene->bands = (int32_t)(word & 0xFFFF);
            break;
        case 339:
            format = first;
            break;
        default:
            break;
        }
    }
    scene->type = format == 3   ? (bits == 64 ? HC_FLOAT64 : HC_FLOAT32)
                  : format == 2 ? (bits == 16 ? HC_INT16 : HC_INT32)
                                : (bits == 16  ? HC_UINT16
                                   : bits == 8 ? HC_UINT8
                                               : HC_UINT32);
    return scene->samples > 0 && scene->lines > 0 && scene->bands > 0 && scene->samples < 4096 &&
           scene->lines < 4096;
}

static void read_tiff(const uint8_t *data, size_t size) {
    char path[HC_FUZZ_PATH];
    HcError err = {0};
    HcScene scene;
    HcChunkIndex *index = NULL;
    HcChunks *chunks = NULL;
    HcRaw raw;
    if (!find_scene(data, size, &scene)) {
        scene = (HcScene){.samples = 20, .lines = 20, .bands = 3, .type = HC_UINT16};
    }
    hc_fuzz_file(path, "chunks.tif", data, size);
    HcStatus status = hc_chunk_tiff(&index, path, &scene, &err);
    hc_fuzz_check(status, &err);
    if (index == NULL) {
        return;
    }
    hc_fuzz_expect(index->stored_most <= (int64_t)size, "tiles lie within their file");
    if (hc_chunk_bytes(index) > BYTES_MAX || scene.samples * scene.lines * scene.bands > BYTES_MAX) {
        hc_chunk_index_free(index);
        return;
    }
    hc_fuzz_expect(hc_chunks_open(&chunks, index, &err) == HC_OK, "there is memory for the harness itself");
    HcChunkPlan plan = hc_chunks_plan(index, 1, (int64_t)(size % 3), size % 2 == 0 ? 0 : 1e9);
    hc_chunks_settle(chunks, &plan);
    int32_t step = (int32_t)hc_min64(scene.lines, 1 + (int64_t)(size % 16));
    void *buffer = malloc(hc_chunks_bytes(chunks, step));
    hc_fuzz_expect(buffer != NULL, "there is memory for the harness itself");
    for (int64_t line = 0; line < scene.lines && status == HC_OK; line += step) {
        int32_t lines = (int32_t)hc_min64(step, scene.lines - line);
        status = hc_chunks_read(chunks, line, lines, buffer, &raw, &err);
        hc_fuzz_check(status, &err);
        if (status == HC_OK) {
            look_at(buffer, hc_chunks_bytes(chunks, lines));
        }
    }
    free(buffer);
    hc_chunks_close(chunks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > HEAD && (memcmp(data, "II", 2) == 0 || memcmp(data, "MM", 2) == 0)) {
        read_tiff(data, size);
    } else if (size > HEAD) {
        decode_bytes(data, size);
    }
    return 0;
}
