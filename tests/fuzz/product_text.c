/* Fuzz harness: texts that describe a raster. An input is a STAC item, the text of Hyperion, or XML as EnMAP
 * and DESIS have it, with an ENVI header behind a 0 byte. The raster beside it has three bands, and so have
 * its quality layers. What stands behind the last "=" of the text is a list of values of a layer. */
#include "io/view/view.h"
#include "tests/fuzz/harness.h"

#include <gdal.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BANDS = 3 };

static void make_raster(const char *name) {
    static uint8_t bytes[4096];
    static size_t size;
    char path[HC_FUZZ_PATH];
    if (size == 0) {
        hc_fuzz_file(path, "made.tif", "", 0);
        GDALClose(GDALCreate(GDALGetDriverByName("GTiff"), path, 4, 3, BANDS, GDT_Int16, NULL));
        FILE *file = fopen(path, "rb");
        hc_fuzz_expect(file != NULL, "the raster is there");
        size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
    }
    hc_fuzz_file(path, name, bytes, size);
}

static void check_scene(const HcScene *scene) {
    hc_fuzz_expect(scene->bands == BANDS, "the bands are those of the raster");
    hc_fuzz_expect((scene->gain == NULL) == (scene->offset == NULL), "gain and offset come together");
    for (int32_t b = 0; b < scene->bands; b++) {
        hc_fuzz_expect(scene->wavelength == NULL ||
                           (scene->wavelength[b] > 0 && isfinite(scene->wavelength[b])),
                       "a wavelength is positive");
        hc_fuzz_expect(scene->fwhm == NULL || (scene->fwhm[b] > 0 && isfinite(scene->fwhm[b])),
                       "a width is positive");
        hc_fuzz_expect(scene->gain == NULL || (isfinite(scene->gain[b]) && isfinite(scene->offset[b])),
                       "a scale is finite");
    }
}

static void open_scene(const char *path, HcOverlap overlap) {
    HcError err = {0};
    HcReader *reader = NULL;
    HcReaderOptions options = {.threads = 1, .overlap = overlap};
    HcStatus status = hc_reader_open(&reader, path, &options, &err);
    hc_fuzz_check(status, &err);
    if (status == HC_OK) {
        const char *note = hc_reader_note(reader), *product = hc_reader_product(reader);
        hc_fuzz_expect(note == NULL || strpbrk(note, "\r\n") == NULL, "a note is one line");
        hc_fuzz_expect(product == NULL || strpbrk(product, "\r\n") == NULL, "a name is one line");
        check_scene(hc_reader_scene(reader));
    }
    hc_reader_close(reader);
}

/* The scene with its quality layers, and with a mask that names one with values of the input. */
static void open_masked(const char *path, const uint8_t *data, size_t size) {
    char mask[200] = "cloud=";
    const uint8_t *value = memrchr(data, '=', size);
    size_t most = sizeof mask - strlen(mask) - 1,
           bytes = value != NULL ? (size_t)(data + size - value - 1) : 0;
    if (value != NULL) {
        memcpy(mask + strlen(mask), value + 1, bytes < most ? bytes : most);
    }
    for (int named = 0; named < 2; named++) {
        HcError err = {0};
        HcView *view = NULL;
        HcViewOptions options = {.reader.threads = 1, .no_quality = named == 1};
        options.masks = named == 1 ? (const char *const[]){mask, NULL} : NULL;
        HcStatus status = hc_view_open(&view, path, &options, &err);
        hc_fuzz_check(status, &err);
        hc_fuzz_expect(status != HC_OK || named == 0 || hc_view_mask_count(view) == 1, "the mask is there");
        hc_view_close(view);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const rasters[] = {"a-SPECTRAL_IMAGE.tif", "a-SPECTRAL_IMAGE_VNIR.tif", "b.tif"};
    char path[HC_FUZZ_PATH];
    const uint8_t *end = memchr(data, 0, size);
    size_t text = end != NULL ? (size_t)(end - data) : size;
    for (int r = 0; r < 3; r++) {
        make_raster(rasters[r]);
    }
    make_raster("a-QL_QUALITY_CLOUD.TIF");
    make_raster("a-QL_QUALITY_CLASSES.TIF");
    hc_fuzz_file(path, "a-SPECTRAL_IMAGE.hdr", end != NULL ? end + 1 : data,
                 end != NULL ? size - text - 1 : 0);
    hc_fuzz_file(path, "b.json", data, text);
    open_scene(path, HC_OVERLAP_USUAL);
    hc_fuzz_file(path, "c_MTL_L1T.TXT", data, text); /* whose rasters are not there */
    open_scene(path, HC_OVERLAP_USUAL);
    hc_fuzz_file(path, "a-METADATA.XML", data, text);
    open_scene(path, (HcOverlap)(size % 4));
    open_masked(path, data, text);
    for (int r = 0; r < 3; r++) {
        snprintf(path, sizeof path, "%.400s/%s", hc_fuzz_folder(), rasters[r]);
        open_scene(path, (HcOverlap)(size % 4));
    }
    return 0;
}
