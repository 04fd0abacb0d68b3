/* Fuzz harness: lookup tables and coordinates of pixels. An input is the ENVI header of a raster and its
 * values, a 0 byte between them; it places a small scene, whole and as a window. */
#include "io/ortho/ortho.h"
#include "tests/fuzz/harness.h"

#include <math.h>
#include <stdlib.h>

enum { LINES = 9, SAMPLES = 7, PIXELS_MAX = 1 << 16 };

static void check_pixels(const HcOrtho *ortho, const HcScene *scene) {
    HcError err = {0};
    const HcOrthoFacts facts = hc_ortho_facts(ortho);
    int64_t filled = 0;
    hc_fuzz_expect(facts.lines > 0 && facts.samples > 0 && facts.filled > 0, "a map has pixels");
    if (facts.samples > PIXELS_MAX) {
        return;
    }
    HcOrthoPixel *row = malloc((size_t)facts.samples * sizeof *row);
    hc_fuzz_expect(row != NULL, "a line of the map");
    for (int64_t line = 0; line < facts.lines && line * facts.samples < PIXELS_MAX; line++) {
        HcStatus status = hc_ortho_lines(ortho, line, 1, row, &err);
        hc_fuzz_check(status, &err);
        for (int64_t s = 0; s < facts.samples && status == HC_OK; s++) {
            bool none = row[s].line == -1;
            filled += !none;
            hc_fuzz_expect(none || (row[s].line >= 0 && row[s].line < scene->lines && row[s].sample >= 0 &&
                                    row[s].sample < scene->samples),
                           "a pixel of the map leads to one of the scene");
        }
    }
    hc_fuzz_expect(filled <= facts.filled, "the pixels that are filled are counted");
    free(row);
}

static void place(const HcScene *scene, const char *header) {
    HcError err = {0};
    HcOrtho *ortho = NULL;
    HcScene map = {0};
    HcStatus status = hc_ortho_open(&ortho, scene, "a scene", header, 0, &err);
    hc_fuzz_check(status, &err);
    if (status == HC_OK) {
        check_pixels(ortho, scene);
        status = hc_ortho_scene(ortho, scene, &map, &err);
        hc_fuzz_check(status, &err);
        for (int i = 0; i < 6 && map.place.has_transform; i++) {
            hc_fuzz_expect(isfinite(map.place.transform[i]), "a place is finite");
        }
    }
    hc_scene_clear(&map);
    hc_ortho_close(ortho);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const HcScene whole = {.lines = LINES, .samples = SAMPLES, .bands = 1, .type = HC_FLOAT32};
    const HcScene window = {.lines = 4,
                            .samples = 3,
                            .bands = 1,
                            .type = HC_FLOAT32,
                            .cut = {.line0 = 2, .sample0 = 1, .lines = LINES, .samples = SAMPLES}};
    char header[HC_FUZZ_PATH], path[HC_FUZZ_PATH];
    HcFuzzPair pair = hc_fuzz_split(data, size);
    (void)setenv("TMPDIR", hc_fuzz_folder(), 1); /* for scratch files: in memory */
    hc_fuzz_file(header, "table.hdr", pair.header, pair.header_size);
    hc_fuzz_file(path, "table.img", pair.data, pair.data_size);
    place(&whole, header);
    place(&window, header);
    free(pair.made);
    hc_fuzz_empty_folder();
    return 0;
}
