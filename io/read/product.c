/* A scene that is a product: what it says goes into the scene, and its arrays give the lines. */
#include "io/read/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Moves one array of the product into the scene, where the product has it. */
#define MOVE(field)                                                                                          \
    do {                                                                                                     \
        if (said->field != NULL) {                                                                           \
            free(scene->field);                                                                              \
            scene->field = said->field;                                                                      \
            said->field = NULL;                                                                              \
        }                                                                                                    \
    } while (0)

static void take_note(HcReader *reader) {
    if (reader->product->note.data != NULL) {
        hc_read_note(reader, "%s", reader->product->note.data);
    }
}

/* A raster of one detector has the first or the last bands of the product. */
static void take_part(HcProduct *product, int32_t bands) {
    HcScene *said = &product->scene;
    double *lists[] = {said->wavelength, said->fwhm, said->gain, said->offset};
    int32_t from = product->part == HC_DETECTOR_SWIR ? said->bands - bands : 0;
    if (product->part == HC_DETECTOR_ONE || said->bands < bands) {
        return;
    }
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        if (lists[l] != NULL) {
            memmove(lists[l], lists[l] + from, (size_t)bands * sizeof(double));
        }
    }
    if (said->bad != NULL) {
        memmove(said->bad, said->bad + from, (size_t)bands);
    }
    said->bands = bands;
}

HcStatus hc_read_product_scene(HcReader *reader, HcError *err) {
    HcScene *scene = &reader->scene, *said = &reader->product->scene;
    if (reader->product->raster == NULL) {
        *scene = *said;
        *said = (HcScene){
            .lines = scene->lines, .samples = scene->samples, .bands = scene->bands, .type = scene->type};
        take_note(reader);
        return HC_OK;
    }
    scene->lookup = said->lookup;
    said->lookup = (HcLookup){0};
    if (said->bands == 0) {
        take_note(reader);
        return HC_OK;
    }
    take_part(reader->product, scene->bands);
    if (said->bands != scene->bands && reader->product->beside) {
        hc_read_note(reader, "%s is left out: it describes %" PRId32 " bands of %" PRId32,
                     reader->product->files.path[0], said->bands, scene->bands);
        hc_product_close(reader->product);
        reader->product = NULL;
        return HC_OK;
    }
    if (said->bands != scene->bands) {
        return hc_fail(err, HC_E_INPUT, "%s: has %" PRId32 " bands, its metadata describe %" PRId32,
                       reader->path, scene->bands, said->bands);
    }
    MOVE(wavelength);
    MOVE(fwhm);
    MOVE(bad);
    MOVE(gain);
    MOVE(offset);
    MOVE(description);
    for (int32_t b = 0; said->band_name != NULL && b < said->bands; b++) {
        HC_OR_RETURN(hc_scene_name_band(scene, b, err, "%s", said->band_name[b]));
    }
    if (said->has_nodata) {
        scene->has_nodata = true;
        scene->nodata = said->nodata;
    }
    take_note(reader);
    return HC_OK;
}

/* ---- chunks ---- */

static bool is_one_array(const HcProduct *product) {
    bool one = product->array_count == 1 && !product->array[0].mirrored &&
               product->array[0].bands == product->scene.bands;
    for (int32_t b = 0; b < product->scene.bands && one; b++) {
        one = product->band[b].band == b;
    }
    return one;
}

/* Compares the first value of the last chunk with GDAL's. Where only GDAL reads it, it may know better. */
static HcStatus agree(HcChunks *chunks, const HcProduct *product, bool *same, HcError *err) {
    const HcChunkIndex *index = hc_chunks_index(chunks);
    int64_t first[HC_AXES], size[HC_AXES], number = hc_chunk_count(index) - 1;
    uint64_t value = 0;
    HcError why = {0}, other = {0};
    hc_chunk_box(index, number, first, size);
    HcChunkPixel pixel = {
        .line = first[HC_AXIS_LINE], .sample = first[HC_AXIS_SAMPLE], .band = (int32_t)first[HC_AXIS_BAND]};
    HcStatus status = hc_chunks_look(chunks, number, &pixel, 1, &why);
    HcStatus read = hc_product_value(product, pixel.line, pixel.sample, pixel.band, &value, &other);
    *same = status == HC_OK && read == HC_OK && value == pixel.value;
    bool fails = status != HC_OK && (status != HC_E_INPUT || read != HC_OK);
    return fails ? hc_fail(err, status, "%s", why.text) : HC_OK;
}

HcStatus hc_read_product_chunks(HcReader *reader, HcError *err) {
    HcStatus status = HC_OK;
    const HcProduct *product = reader->product;
    const HcProductArray *array = &product->array[0];
    const HcScene *scene = &reader->scene;
    HcChunkIndex *index = NULL;
    HcChunks *chunks = NULL;
    bool same = false;
    if (reader->options.never_direct || !is_one_array(product) || !hc_read_is_file(array->file, NULL, NULL)) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_chunk_hdf5(&index, array->file, array->dataset, array->axis, err));
    bool fits = index != NULL && index->size[HC_AXIS_LINE] == scene->lines &&
                index->size[HC_AXIS_SAMPLE] == scene->samples && index->size[HC_AXIS_BAND] == scene->bands &&
                index->type == scene->type;
    if (!fits) {
        hc_chunk_index_free(index);
        return HC_OK;
    }
    HC_TRY(hc_chunks_open(&chunks, index, err));
    HC_TRY(agree(chunks, product, &same, err));
    if (same) {
        reader->chunks = chunks;
        chunks = NULL;
    }
done:
    hc_chunks_close(chunks);
    return status;
}

/* ---- lines ---- */

size_t hc_read_product_bytes(const HcReader *reader, int64_t lines) {
    return hc_product_bytes(reader->product, reader->used, hc_read_used_count(reader), lines);
}

HcStatus hc_read_product_lines(HcReader *reader, int64_t line0, int32_t lines, void *to, HcRaw *raw,
                               HcError *err) {
    return hc_product_read(reader->product, reader->used, hc_read_used_count(reader), line0, lines, to, raw,
                           err);
}

int32_t hc_read_product_band(const HcReader *reader, int32_t file_band) {
    return hc_product_stored_band(reader->product, reader->used, hc_read_used_count(reader), file_band);
}
