/* Lookup tables and coordinates in the arrays of a netCDF or HDF5 file: read chunk by chunk, so that each is
 * decompressed once and none has to fit into memory with its neighbours. */
#include "core/allocate.h"
#include "io/guard/guard.h"
#include "io/gdal/errors.h"
#include "io/ortho/parts.h"
#include "io/read/product/product.h"

#include <cpl_conv.h>
#include <gdal.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pixels that are read at once where chunks are small, and where one is huge; what each of them takes: both
 * values, and the pixel that they lead to. */
#define PIECE_PIXELS ((int64_t)1 << 20)
#define PIXELS_MAX   (16 * PIECE_PIXELS)
#define PIXEL_BYTES  (2 * sizeof(double) + sizeof(HcOrthoPixel))

/* Two arrays of one shape. */
typedef struct Pair {
    const char *path;
    GDALDatasetH dataset;
    GDALGroupH root;
    GDALMDArrayH array[2];
    bool has_nodata[2];
    double nodata[2];
    int64_t lines, samples;
    int64_t rows, columns; /* of a piece */
} Pair;

static void close_pair(Pair *pair) {
    for (int a = 0; a < 2; a++) {
        GDALMDArrayRelease(pair->array[a]);
    }
    GDALGroupRelease(pair->root);
    GDALClose(pair->dataset);
}

/* The lengths of two axes; false: it has another number of them. */
static bool shape_of(GDALMDArrayH array, int64_t size[2]) {
    size_t count = 0;
    GDALDimensionH *axes = GDALMDArrayGetDimensions(array, &count);
    for (size_t i = 0; i < 2 && count == 2; i++) {
        size[i] = (int64_t)GDALDimensionGetSize(axes[i]);
    }
    GDALReleaseDimensions(axes, count);
    return count == 2;
}

/* Whole chunks, as many as a piece holds; parts of them where one is larger, or memory is short: then a chunk
 * is decoded once for each part. */
static void choose_pieces(Pair *pair, uint64_t memory) {
    int64_t fit = memory > 0 ? (int64_t)(memory / PIXEL_BYTES) : PIXELS_MAX;
    int64_t most = hc_max64(PIECE_PIXELS, hc_min64(PIXELS_MAX, fit));
    size_t count = 0;
    GUInt64 *chunk = GDALMDArrayGetBlockSize(pair->array[0], &count);
    bool chunked = chunk != NULL && count == 2 && chunk[0] > 0 && chunk[1] > 0;
    int64_t rows = chunked ? hc_min64((int64_t)chunk[0], pair->lines) : 1;
    pair->columns = chunked ? hc_min64((int64_t)chunk[1], pair->samples) : pair->samples;
    CPLFree(chunk);
    if (rows * pair->columns > most) {
        rows = hc_max64(1, most / pair->columns);
    }
    int64_t more = PIECE_PIXELS / (rows * pair->columns);
    pair->rows = hc_min64(pair->lines, rows * hc_max64(1, more));
}

static HcStatus open_one(Pair *pair, int a, const char *name, HcError *err) {
    int64_t size[2] = {0};
    int has = 0;
    pair->array[a] = GDALGroupOpenMDArrayFromFullname(pair->root, name, NULL);
    if (pair->array[a] == NULL) {
        return hc_fail(err, HC_E_INPUT, "%s: there is no array %s", pair->path, name);
    }
    HC_OR_RETURN(hc_guard_array(pair->path, name, err));
    if (!shape_of(pair->array[a], size) || size[0] < 1 || size[1] < 1 || size[0] > INT32_MAX ||
        size[1] > INT32_MAX) {
        return hc_fail(err, HC_E_INPUT, "%s: %s does not have two axes, lines and samples", pair->path, name);
    }
    if (a == 1 && (size[0] != pair->lines || size[1] != pair->samples)) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: %s has %" PRId64 " x %" PRId64 " values, the array beside it %" PRId64
                       " x %" PRId64,
                       pair->path, name, size[0], size[1], pair->lines, pair->samples);
    }
    pair->lines = size[0];
    pair->samples = size[1];
    pair->nodata[a] = GDALMDArrayGetNoDataValueAsDouble(pair->array[a], &has);
    pair->has_nodata[a] = has != 0;
    return HC_OK;
}

static HcStatus open_pair(Pair *pair, const HcLookup *lookup, const char *first, const char *second,
                          uint64_t memory, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    *pair = (Pair){.path = lookup->file};
    hc_gdal_catch(&messages);
    pair->dataset = hc_product_open_arrays(lookup->file);
    pair->root = pair->dataset != NULL ? GDALDatasetGetRootGroup(pair->dataset) : NULL;
    if (pair->root == NULL) {
        status = hc_gdal_fail(err, HC_E_INPUT, lookup->file, &messages);
        goto done;
    }
    HC_TRY(open_one(pair, 0, first, err));
    HC_TRY(open_one(pair, 1, second, err));
    choose_pieces(pair, memory);
done:
    hc_gdal_release();
    return status;
}

static HcStatus read_piece(const Pair *pair, int a, const int64_t from[2], const int64_t count[2],
                           double *values, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    GUInt64 start[2] = {(GUInt64)from[0], (GUInt64)from[1]};
    size_t size[2] = {(size_t)count[0], (size_t)count[1]};
    size_t all = size[0] * size[1];
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreate(GDT_Float64);
    hc_gdal_catch(&messages);
    if (!GDALMDArrayRead(pair->array[a], start, size, NULL, NULL, type, values, values,
                         all * sizeof *values) ||
        messages.failed) {
        status = hc_gdal_fail(err, HC_E_INPUT, pair->path, &messages);
    }
    hc_gdal_release();
    GDALExtendedDataTypeRelease(type);
    for (size_t i = 0; i < all && pair->has_nodata[a] && status == HC_OK; i++) {
        values[i] = values[i] == pair->nodata[a] ? NAN : values[i];
    }
    return status;
}

/* What becomes of a piece of both arrays. */
typedef HcStatus Take(void *to, const int64_t from[2], const int64_t count[2], const double *first,
                      const double *second, HcError *err);

static HcStatus each_piece(const Pair *pair, Take *take, void *to, HcError *err) {
    HcStatus status = HC_OK;
    int64_t most = pair->rows * pair->columns;
    double *values = NULL;
    HC_OR_RETURN(hc_new(values, 2 * most, "a lookup table", err));
    for (int64_t line = 0; line < pair->lines; line += pair->rows) {
        for (int64_t sample = 0; sample < pair->samples; sample += pair->columns) {
            int64_t from[2] = {line, sample};
            int64_t count[2] = {hc_min64(pair->rows, pair->lines - line),
                                hc_min64(pair->columns, pair->samples - sample)};
            HC_TRY(read_piece(pair, 0, from, count, values, err));
            HC_TRY(read_piece(pair, 1, from, count, values + most, err));
            HC_TRY(take(to, from, count, values, values + most, err));
        }
    }
done:
    free(values);
    return status;
}

static HcStatus take_table(void *to, const int64_t from[2], const int64_t count[2], const double *sample,
                           const double *line, HcError *err) {
    HcOrthoPixel *pixels = NULL;
    HC_OR_RETURN(hc_new(pixels, count[0] * count[1], "a lookup table", err));
    HcStatus status =
        hc_ortho_table_take(to, from[0], from[1], count[0], count[1], sample, line, pixels, err);
    free(pixels);
    return status;
}

HcStatus hc_ortho_table_arrays(HcOrthoTable *table, const HcLookup *lookup, uint64_t memory, HcError *err) {
    HcStatus status = HC_OK;
    Pair pair;
    HC_TRY(open_pair(&pair, lookup, lookup->sample, lookup->line, memory, err));
    HC_TRY(hc_ortho_table_open(table, pair.lines, pair.samples, err));
    HC_TRY(each_piece(&pair, take_table, table, err));
done:
    close_pair(&pair);
    return status;
}

static HcStatus take_places(void *to, const int64_t from[2], const int64_t count[2], const double *x,
                            const double *y, HcError *err) {
    HC_OR_RETURN(hc_ortho_places_put(to, 0, from[0], from[1], count[0], count[1], x, err));
    return hc_ortho_places_put(to, 1, from[0], from[1], count[0], count[1], y, err);
}

/* Takes arrays [samples][lines] whose first sample is the last one of the scene. */
static HcStatus take_turned(void *to, const int64_t from[2], const int64_t count[2], const double *x,
                            const double *y, HcError *err) {
    HcStatus status = HC_OK;
    HcOrthoPlaces *places = to;
    const double *all[] = {x, y};
    int64_t samples = count[0], lines = count[1], sample0 = places->samples - from[0] - samples;
    double *values = NULL;
    HC_OR_RETURN(hc_new(values, samples * lines, "coordinates", err));
    for (int which = 0; which < 2 && status == HC_OK; which++) {
        for (int64_t s = 0; s < samples; s++) {
            const double *column = all[which] + (samples - 1 - s) * lines;
            for (int64_t l = 0; l < lines; l++) {
                values[l * samples + s] = column[l];
            }
        }
        status = hc_ortho_places_put(places, which, from[1], sample0, lines, samples, values, err);
    }
    free(values);
    return status;
}

HcStatus hc_ortho_places_arrays(HcOrthoPlaces *places, const HcLookup *lookup, uint64_t memory,
                                HcError *err) {
    HcStatus status = HC_OK;
    Pair pair;
    HC_TRY(open_pair(&pair, lookup, lookup->x, lookup->y, memory, err));
    if (lookup->turned) {
        HC_TRY(hc_ortho_places_open(places, pair.samples, pair.lines, err));
    } else {
        HC_TRY(hc_ortho_places_open(places, pair.lines, pair.samples, err));
    }
    HC_TRY(each_piece(&pair, lookup->turned ? take_turned : take_places, places, err));
done:
    close_pair(&pair);
    return status;
}
