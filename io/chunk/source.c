/* Chunks are decoded past GDAL only where both read the same: a few pixels of a few chunks are compared when
 * a scene is opened. GDAL also gives the values of chunks that are not stored, and the direction of the
 * lines of netCDF. Where pixels decide nothing, GDAL reads. */
#include "io/chunk/source.h"
#include "core/text.h"
#include "io/gdal/errors.h"
#include "io/gdal/files.h"
#include "io/libraries.h"

#include <stdlib.h>
#include <string.h>

/* What both ways may decode for their comparison; a chunk that is larger is the only one. */
#define WITNESS_BYTES ((int64_t)4 << 20)
/* GDAL's cache meanwhile. */
#define CACHE_BYTES ((uint64_t)16 << 20)

enum {
    WITNESSES = 3,
    WITNESSES_MAX = 24,
    PLACES = 3,
    BANDS_MAX = 4,
    PIXELS_MAX = PLACES * PLACES * BANDS_MAX
};

/* One pixel as GDAL reads it, in `count` bands from 0 on; false where it fails. */
static bool read_pixel(GDALDatasetH dataset, GDALDataType code, int64_t line, int64_t sample, int *band,
                       int32_t count, uint64_t *values) {
    HcGdalErrors messages;
    hc_gdal_catch(&messages);
    memset(values, 0, (size_t)count * sizeof *values);
    hc_gdal_files_pixels(true);
    CPLErr result = GDALDatasetRasterIOEx(dataset, GF_Read, (int)sample, (int)line, 1, 1, values, 1, 1, code,
                                          count, band, sizeof *values, sizeof *values, sizeof *values, NULL);
    hc_gdal_files_pixels(false);
    hc_gdal_release();
    return result == CE_None && !messages.failed;
}

/* ---- chunks that are not stored ---- */

static int64_t scene_line(const HcChunkIndex *index, int64_t line) {
    return index->upwards ? index->size[HC_AXIS_LINE] - 1 - line : line;
}

/* What GDAL makes of the first chunk that is not stored, among those with the same bands. */
static HcStatus find_fill_of(HcChunkIndex *index, GDALDatasetH dataset, GDALDataType code, int64_t column,
                             int *band, bool *known, HcError *err) {
    int64_t first[HC_AXES], size[HC_AXES], all = hc_chunk_count(index), number = column;
    while (number < all && index->place[number].bytes > 0) {
        number += index->count[HC_AXIS_BAND];
    }
    if (number >= all) {
        return HC_OK;
    }
    if (index->fill == NULL) {
        index->fill = calloc((size_t)index->size[HC_AXIS_BAND], sizeof *index->fill);
    }
    if (index->fill == NULL) {
        return hc_fail_memory(err, (double)index->size[HC_AXIS_BAND] * sizeof *index->fill, "fill values");
    }
    hc_chunk_box(index, number, first, size);
    for (int64_t b = 0; b < size[HC_AXIS_BAND]; b++) {
        band[b] = (int)(first[HC_AXIS_BAND] + b + 1);
    }
    *known = read_pixel(dataset, code, scene_line(index, first[HC_AXIS_LINE]), first[HC_AXIS_SAMPLE], band,
                        (int32_t)size[HC_AXIS_BAND], index->fill + first[HC_AXIS_BAND]);
    return HC_OK;
}

static HcStatus find_fill(HcChunkIndex *index, GDALDatasetH dataset, GDALDataType code, bool *known,
                          HcError *err) {
    HcStatus status = HC_OK;
    int *band = malloc((size_t)index->shape[HC_AXIS_BAND] * sizeof *band);
    *known = true;
    if (band == NULL) {
        return hc_fail_memory(err, (double)index->shape[HC_AXIS_BAND] * sizeof *band, "a list of bands");
    }
    for (int64_t column = 0; column < index->count[HC_AXIS_BAND] && *known; column++) {
        HC_TRY(find_fill_of(index, dataset, code, column, band, known, err));
    }
done:
    free(band);
    return status;
}

/* ---- chunks that are ---- */

/* The first stored chunk from `number` on, or before it; -1 where there is none. */
static int64_t stored_near(const HcChunkIndex *index, int64_t number) {
    int64_t all = hc_chunk_count(index), found = number;
    while (found < all && index->place[found].bytes == 0) {
        found++;
    }
    for (found = found < all ? found : number; found >= 0 && index->place[found].bytes == 0;) {
        found--;
    }
    return found;
}

/* Place k of `count` places that are spread over `size`. */
static int64_t spread(int64_t k, int64_t count, int64_t size) {
    return count > 1 ? k * (size - 1) / (count - 1) : 0;
}

/* Pixels in the corners and the middle of a chunk. */
static int32_t choose_pixels(const HcChunkIndex *index, int64_t number, HcChunkPixel *pixel, int32_t *bands) {
    int64_t first[HC_AXES], size[HC_AXES];
    int32_t count = 0;
    hc_chunk_box(index, number, first, size);
    *bands = (int32_t)hc_min64(BANDS_MAX, size[HC_AXIS_BAND]);
    for (int64_t l = 0; l < PLACES; l++) {
        for (int64_t s = 0; s < PLACES; s++) {
            for (int64_t b = 0; b < *bands; b++) {
                int64_t line = first[HC_AXIS_LINE] + spread(l, PLACES, size[HC_AXIS_LINE]);
                pixel[count++] = (HcChunkPixel){
                    .line = scene_line(index, line),
                    .sample = first[HC_AXIS_SAMPLE] + spread(s, PLACES, size[HC_AXIS_SAMPLE]),
                    .band = (int32_t)(first[HC_AXIS_BAND] + spread(b, *bands, size[HC_AXIS_BAND]))};
            }
        }
    }
    return count;
}

static HcStatus compare_chunk(HcChunks *chunks, GDALDatasetH dataset, GDALDataType code, int64_t number,
                              bool *same, HcError *err) {
    HcChunkPixel pixel[PIXELS_MAX];
    int32_t bands = 0, count = choose_pixels(hc_chunks_index(chunks), number, pixel, &bands);
    bool reads = true;
    HC_OR_RETURN(hc_chunks_look(chunks, number, pixel, count, err)); /* what is broken is not left to GDAL */
    for (int32_t p = 0; p < count && reads; p += bands) {
        int band[BANDS_MAX];
        uint64_t values[BANDS_MAX];
        for (int32_t b = 0; b < bands; b++) {
            band[b] = pixel[p + b].band + 1;
        }
        reads = read_pixel(dataset, code, pixel[p].line, pixel[p].sample, band, bands, values);
        for (int32_t b = 0; b < bands && reads; b++) {
            *same = *same && values[b] == pixel[p + b].value;
        }
    }
    if (!reads) { /* a failed read must not decide which way the lines run */
        const char *said = hc_hdf5_said();
        return hc_fail(err, said[0] != '\0' ? hc_hdf5_status(said) : HC_E_IO,
                       "%s: GDAL cannot read a chunk%s%s", hc_chunks_index(chunks)->path,
                       said[0] != '\0' ? ": " : "", said);
    }
    return HC_OK;
}

/* Chunks from the first to the last; of large ones only the last, which often holds the least. */
static HcStatus compare(HcChunks *chunks, GDALDatasetH dataset, GDALDataType code, int32_t witnesses,
                        bool *same, HcError *err) {
    const HcChunkIndex *index = hc_chunks_index(chunks);
    int64_t all = hc_chunk_count(index), before = -1;
    int32_t first = WITNESSES * hc_chunk_bytes(index) > WITNESS_BYTES ? witnesses - 1 : 0;
    *same = true;
    for (int32_t w = first; w < witnesses && *same; w++) {
        int64_t number = stored_near(index, spread(w, witnesses, all));
        if (number >= 0 && number != before) {
            HC_OR_RETURN(compare_chunk(chunks, dataset, code, number, same, err));
        }
        before = number;
    }
    return HC_OK;
}

/* ---- the dataset ---- */

/* Whether the first line of the scene is the last one of the array: GDAL's netCDF driver turns arrays that
 * have the south first, and those of which it does not know. Only lines that differ can tell: *known = false
 * where the pixels that were looked at do not, or agree with neither. */
static HcStatus find_direction(HcChunks *chunks, HcChunkIndex *index, GDALDatasetH dataset, GDALDataType code,
                               bool *known, HcError *err) {
    bool same[2] = {false, false};
    for (int32_t witnesses = WITNESSES; witnesses <= WITNESSES_MAX; witnesses *= 8) {
        for (int up = 0; up < 2; up++) {
            index->upwards = up == 1;
            HC_OR_RETURN(compare(chunks, dataset, code, witnesses, &same[up], err));
        }
        if (same[0] != same[1] || !same[0]) {
            break;
        }
    }
    index->upwards = same[1] && !same[0];
    *known = same[0] != same[1] || (same[0] && index->size[HC_AXIS_LINE] == 1);
    return HC_OK;
}

/* What netCDF does to values beside reading them. */
static bool is_plain(const HcChunkIndex *index) {
    static const char *const attributes[] = {"valid_range", "valid_min", "valid_max", "_Unsigned", NULL};
    for (int i = 0; attributes[i] != NULL; i++) {
        if (hc_hdf5_has_attribute(index->hdf5, attributes[i])) {
            return false;
        }
    }
    return true;
}

static HcStatus agree(HcChunks *chunks, HcChunkIndex *index, GDALDatasetH dataset, GDALDataType code,
                      bool *known, bool *differs, HcError *err) {
    const char *driver = GDALGetDriverShortName(GDALGetDatasetDriver(dataset));
    *differs = false;
    if (hc_chunks_index(chunks)->remote != NULL) {
        return HC_OK; /* GDAL would fetch chunks once more, and does not repeat a request that fails */
    }
    /* GDAL reads no bytes of that kind: the coordinates of the lines told the direction. */
    bool alone = hc_type_bytes(index->type) == 1 && index->hdf5 != NULL &&
                 hc_hdf5_has_attribute(index->hdf5, "_Unsigned");
    if (hc_text_equal(driver, "netCDF") && alone) {
        return HC_OK;
    }
    if (hc_text_equal(driver, "netCDF")) {
        *known = is_plain(index);
        return *known ? find_direction(chunks, index, dataset, code, known, err) : HC_OK;
    }
    HC_OR_RETURN(compare(chunks, dataset, code, WITNESSES, known, err));
    *differs = !*known;
    return HC_OK;
}

HcStatus hc_chunks_of_dataset(HcChunks **out, HcChunkIndex *index, GDALDatasetH dataset, GDALDataType code,
                              bool *differs, HcError *err) {
    HcStatus status = HC_OK;
    HcChunks *chunks = NULL;
    bool known = true;
    *out = NULL;
    *differs = false;
    hc_io_limit_cache(CACHE_BYTES);
    if (index->hdf5 == NULL) {
        status = find_fill(index, dataset, code, &known, err);
    }
    if (status != HC_OK || !known) {
        hc_chunk_index_free(index);
        return status;
    }
    HC_TRY(hc_chunks_open(&chunks, index, err));
    HC_TRY(agree(chunks, index, dataset, code, &known, differs, err));
    if (known) {
        *out = chunks;
        chunks = NULL;
    }
done:
    hc_chunks_close(chunks);
    return status;
}
