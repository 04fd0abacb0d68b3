/* Fuzz harness: a folder of AVIRIS. An input is the header of the image, the text of its factors, and the
 * header of the lookup table beside it, with 0 bytes between them. The data of the image are zeros. */
#include "io/read/reader.h"
#include "tests/fuzz/harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FLIGHT "f130612t01p00r09rdn_e"

/* The next part of the input, and how long it is. */
static const uint8_t *next_part(const uint8_t **at, const uint8_t *end, size_t *bytes) {
    const uint8_t *part = *at, *zero = memchr(part, 0, (size_t)(end - part));
    *bytes = zero != NULL ? (size_t)(zero - part) : (size_t)(end - part);
    *at = zero != NULL ? zero + 1 : end;
    return part;
}

static void open_scene(const char *path) {
    HcError err = {0};
    HcReader *reader = NULL;
    HcReaderOptions options = {.threads = 1};
    HcStatus status = hc_reader_open(&reader, path, &options, &err);
    hc_fuzz_check(status, &err);
    if (status == HC_OK) {
        const HcScene *scene = hc_reader_scene(reader);
        const char *note = hc_reader_note(reader), *product = hc_reader_product(reader);
        hc_fuzz_expect(note == NULL || strpbrk(note, "\r\n") == NULL, "a note is one line");
        hc_fuzz_expect(product == NULL || strncmp(product, "AVIRIS", 6) == 0, "the product is AVIRIS");
        for (int32_t b = 0; b < scene->bands && scene->gain != NULL; b++) {
            hc_fuzz_expect(isfinite(scene->gain[b]) && isfinite(scene->offset[b]), "a scale is finite");
        }
    }
    hc_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {FLIGHT "_sc01_ort_img.hdr", FLIGHT ".gain", FLIGHT "_ort_glt.hdr"};
    static const uint8_t zeros[4096];
    char path[HC_FUZZ_PATH], header[HC_FUZZ_PATH];
    const uint8_t *at = data;
    for (int n = 0; n < 3; n++) {
        size_t bytes = 0;
        const uint8_t *part = next_part(&at, data + size, &bytes);
        hc_fuzz_file(n == 0 ? header : path, names[n], part, bytes);
    }
    hc_fuzz_file(path, FLIGHT "_ort_glt", zeros, sizeof zeros);
    hc_fuzz_file(path, FLIGHT "_sc01_ort_img", zeros, sizeof zeros);
    open_scene(path);
    open_scene(header);
    open_scene(hc_fuzz_folder());
    hc_fuzz_empty_folder();
    return 0;
}
