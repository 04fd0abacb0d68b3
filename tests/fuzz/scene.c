/* Fuzz harness: scenes through the reader. An input is an ENVI header with its data, or a GeoTIFF. */
#include "io/read/reader.h"
#include "tests/fuzz/harness.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 1 << 22 };

static void check_scene(const HcScene *scene) {
    hc_fuzz_expect(scene->lines > 0 && scene->samples > 0 && scene->bands > 0, "a scene has pixels");
    for (int32_t b = 0; b < scene->bands; b++) {
        hc_fuzz_expect(scene->wavelength == NULL || scene->wavelength[b] > 0, "a wavelength is positive");
        hc_fuzz_expect(scene->fwhm == NULL || scene->fwhm[b] > 0, "a width is positive");
        hc_fuzz_expect(scene->band_name == NULL || scene->band_name[b] == NULL ||
                           strpbrk(scene->band_name[b], "\r\n") == NULL,
                       "a name is one line");
    }
    for (int i = 0; i < 3 && scene->has_default_bands; i++) {
        hc_fuzz_expect(scene->default_bands[i] >= 0 && scene->default_bands[i] < scene->bands,
                       "a default band is one of the scene");
    }
    for (int32_t c = 0; c < scene->classes.count; c++) {
        hc_fuzz_expect(scene->classes.name[c] != NULL, "a class has a name");
    }
    hc_fuzz_expect((scene->gain == NULL) == (scene->offset == NULL), "gain and offset come together");
}

/* Looks at every byte of a block, where it says that they are. */
static unsigned sum_raw(const HcRaw *raw) {
    unsigned sum = 0;
    size_t each = hc_type_bytes(raw->type);
    for (int32_t line = 0; line < raw->lines; line++) {
        for (int32_t s = 0; s < raw->samples; s++) {
            const uint8_t *at = (const uint8_t *)raw->data + line * raw->stride_line + s * raw->stride_sample;
            for (int32_t b = 0; b < raw->bands; b++) {
                for (size_t i = 0; i < each; i++) {
                    sum += at[b * raw->stride_band + (int64_t)i];
                }
            }
        }
    }
    return sum;
}

static void read_lines(HcReader *reader, bool mapped) {
    const HcScene *scene = hc_reader_scene(reader);
    int64_t lines = scene->lines < 3 ? scene->lines : 3;
    size_t bytes = hc_reader_bytes(reader, lines);
    if (bytes > BYTES_MAX) {
        return;
    }
    void *buffer = mapped ? NULL : malloc(bytes);
    for (int64_t line = 0; line < scene->lines && line < 9; line += lines) {
        HcError err = {0};
        HcRaw raw = {0};
        int64_t count = scene->lines - line < lines ? scene->lines - line : lines;
        HcStatus status = hc_reader_read(reader, line, (int32_t)count, buffer, &raw, &err);
        hc_fuzz_check(status, &err);
        if (status != HC_OK) {
            break;
        }
        volatile unsigned sum = sum_raw(&raw);
        (void)sum;
    }
    free(buffer);
}

static void open_scene(const char *path, size_t size) {
    HcError err = {0};
    HcReader *reader = NULL;
    HcReaderOptions options = {.threads = 1, .never_direct = size % 4 == 3};
    HcStatus status = hc_reader_open(&reader, path, &options, &err);
    hc_fuzz_check(status, &err);
    if (status == HC_OK) {
        const char *note = hc_reader_note(reader);
        HcPaths files = {0};
        hc_fuzz_expect(note == NULL || strpbrk(note, "\r\n") == NULL, "a note is one line");
        check_scene(hc_reader_scene(reader));
        (void)!hc_reader_files(reader, &files, &err);
        hc_paths_clear(&files);
        read_lines(reader, size % 4 == 1 && hc_reader_map(reader));
    }
    hc_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[HC_FUZZ_PATH];
    if (size > 4 && (memcmp(data, "II*", 4) == 0 || memcmp(data, "MM\0*", 4) == 0)) {
        hc_fuzz_file(path, "scene.tif", data, size);
        open_scene(path, size);
        return 0;
    }
    HcFuzzPair pair = hc_fuzz_split(data, size);
    hc_fuzz_file(path, "scene.img", pair.data, pair.data_size);
    hc_fuzz_file(path, "scene.hdr", pair.header, pair.header_size);
    open_scene(path, size);
    free(pair.made);
    return 0;
}
