/* Small files laid out as products are: groups, arrays and attributes, written by GDAL's netCDF driver (which
 * makes HDF5 files). Values of a cube are functions of line, sample and band. */
#ifndef HC_TESTS_PRODUCT_FILE_H
#define HC_TESTS_PRODUCT_FILE_H

#include "tests/support/check.h"

#include <cpl_string.h>
#include <gdal.h>
#include <stdio.h>

enum { PRODUCT_LINES = 5, PRODUCT_SAMPLES = 6 };

typedef struct ProductFile {
    GDALDatasetH dataset;
    GDALGroupH root;
    GDALDimensionH dimension[16];
    int dimensions;
} ProductFile;

typedef struct ProductArray {
    const char *group; /* "/a/b", made where it is missing; "/" = the root */
    const char *name;
    GDALDataType type;
    int axes;
    const char *axis[3]; /* unique in the file by name */
    size_t size[3];
    const double *values;
    const double *nodata; /* or NULL */
    const char *units;    /* or NULL */
    const char *chunks;   /* of compressed arrays, "2,3,4"; or NULL */
} ProductArray;

static inline ProductFile product_begin(const char *path) {
    ProductFile file = {0};
    unlink(path);
    file.dataset = GDALCreateMultiDimensional(GDALGetDriverByName("netCDF"), path, NULL, NULL);
    assert_non_null(file.dataset);
    file.root = GDALDatasetGetRootGroup(file.dataset);
    assert_non_null(file.root);
    return file;
}

static inline void product_end(ProductFile *file) {
    for (int d = 0; d < file->dimensions; d++) {
        GDALDimensionRelease(file->dimension[d]);
    }
    GDALGroupRelease(file->root);
    GDALClose(file->dataset);
}

/* The group of that path, made with those above it; to be released. */
static inline GDALGroupH product_group(ProductFile *file, const char *path) {
    char part[64];
    GDALGroupH group = GDALDatasetGetRootGroup(file->dataset);
    while (path[0] == '/' && path[1] != '\0') {
        size_t length = strcspn(++path, "/");
        snprintf(part, sizeof part, "%.*s", (int)length, path);
        CPLPushErrorHandler(CPLQuietErrorHandler);
        GDALGroupH next = GDALGroupOpenGroup(group, part, NULL);
        CPLPopErrorHandler();
        next = next != NULL ? next : GDALGroupCreateGroup(group, part, NULL);
        assert_non_null(next);
        GDALGroupRelease(group);
        group = next;
        path += length;
    }
    return group;
}

static inline GDALDimensionH product_dimension(ProductFile *file, const char *name, size_t size) {
    for (int d = 0; d < file->dimensions; d++) {
        if (strcmp(GDALDimensionGetName(file->dimension[d]), name) == 0) {
            return file->dimension[d];
        }
    }
    GDALDimensionH made = GDALGroupCreateDimension(file->root, name, NULL, NULL, (GUInt64)size, NULL);
    assert_non_null(made);
    assert_true(file->dimensions < 16);
    file->dimension[file->dimensions++] = made;
    return made;
}

/* An attribute of numbers, of an array or a group. */
static inline void product_numbers(GDALMDArrayH array, GDALGroupH group, const char *name,
                                   const double *values, size_t count) {
    GUInt64 size = count;
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreate(GDT_Float64);
    GDALAttributeH made = array != NULL ? GDALMDArrayCreateAttribute(array, name, 1, &size, type, NULL)
                                        : GDALGroupCreateAttribute(group, name, 1, &size, type, NULL);
    assert_non_null(made);
    assert_true(GDALAttributeWriteDoubleArray(made, values, count));
    GDALAttributeRelease(made);
    GDALExtendedDataTypeRelease(type);
}

static inline void product_text(GDALMDArrayH array, GDALGroupH group, const char *name, const char *text) {
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreateString(0);
    GDALAttributeH made = array != NULL ? GDALMDArrayCreateAttribute(array, name, 0, NULL, type, NULL)
                                        : GDALGroupCreateAttribute(group, name, 0, NULL, type, NULL);
    assert_non_null(made);
    assert_true(GDALAttributeWriteString(made, text));
    GDALAttributeRelease(made);
    GDALExtendedDataTypeRelease(type);
}

/* Writes an array; to be released by product_done. */
static inline GDALMDArrayH product_array(ProductFile *file, const ProductArray *of) {
    GDALDimensionH dimensions[3];
    GUInt64 start[3] = {0};
    GDALGroupH group = product_group(file, of->group);
    for (int i = 0; i < of->axes; i++) {
        dimensions[i] = product_dimension(file, of->axis[i], of->size[i]);
    }
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreate(of->type);
    GDALExtendedDataTypeH from = GDALExtendedDataTypeCreate(GDT_Float64);
    char **options = NULL;
    if (of->chunks != NULL) {
        options = CSLSetNameValue(options, "BLOCKSIZE", of->chunks);
        options = CSLSetNameValue(options, "COMPRESS", "DEFLATE");
    }
    GDALMDArrayH array = GDALGroupCreateMDArray(group, of->name, (size_t)of->axes, dimensions, type, options);
    CSLDestroy(options);
    assert_non_null(array);
    if (of->nodata != NULL) {
        assert_true(GDALMDArraySetNoDataValueAsDouble(array, *of->nodata));
    }
    if (of->units != NULL) {
        assert_true(GDALMDArraySetUnit(array, of->units));
    }
    assert_true(GDALMDArrayWrite(array, start, of->size, NULL, NULL, from, of->values, NULL, 0));
    GDALExtendedDataTypeRelease(from);
    GDALExtendedDataTypeRelease(type);
    GDALGroupRelease(group);
    return array;
}

/* A list of numbers; count of `axis`. */
static inline void product_list(ProductFile *file, const char *group, const char *name, const char *axis,
                                const double *values, size_t count) {
    GDALMDArrayRelease(product_array(
        file, &(ProductArray){
                  group, name, GDT_Float32, 1, {axis, NULL, NULL}, {count, 0, 0}, values, NULL, NULL, NULL}));
}

/* A text as an array of no axes. */
/* The cube of a file of EMIT, [line][sample][band]; `of` says what differs between files. */
static inline void product_emit_cube(ProductFile *file, ProductArray of) {
    static const char *const axis[3] = {"downtrack", "crosstrack", "bands"};
    of.group = "/";
    of.type = GDT_Float32;
    of.axes = of.axes > 0 ? of.axes : 3;
    memcpy(of.axis, axis, sizeof axis);
    GDALMDArrayRelease(product_array(file, &of));
}

static inline void product_emit_bands(ProductFile *file, int bands, const double *centres,
                                      const double *widths) {
    product_list(file, "/sensor_band_parameters", "wavelengths", "bands", centres, (size_t)bands);
    product_list(file, "/sensor_band_parameters", "fwhm", "bands", widths, (size_t)bands);
}

/* Half of the lookup table of a file of EMIT, [y][x]: "glt_x" are samples, "glt_y" lines. */
static inline void product_emit_lookup(ProductFile *file, const char *name, const char *axis_y, size_t lines,
                                       size_t samples, const double *values, const char *chunks) {
    const ProductArray of = {.group = "/location",
                             .name = name,
                             .type = GDT_Int32,
                             .axes = 2,
                             .axis = {axis_y, "ortho_x", NULL},
                             .size = {lines, samples, 0},
                             .values = values,
                             .chunks = chunks};
    GDALMDArrayRelease(product_array(file, &of));
}

static inline void product_string(ProductFile *file, const char *path, const char *name, const char *text) {
    GDALGroupH group = product_group(file, path);
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreateString(0);
    GDALMDArrayH array = GDALGroupCreateMDArray(group, name, 0, NULL, type, NULL);
    assert_non_null(array);
    assert_true(GDALMDArrayWrite(array, NULL, NULL, NULL, NULL, type, &text, NULL, 0));
    GDALMDArrayRelease(array);
    GDALExtendedDataTypeRelease(type);
    GDALGroupRelease(group);
}

/* A list of texts. */
static inline void product_words(ProductFile *file, const char *path, const char *name, const char *axis,
                                 const char *const *words, size_t count) {
    GUInt64 start = 0;
    GDALDimensionH dimension = product_dimension(file, axis, count);
    GDALGroupH group = product_group(file, path);
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreateString(0);
    GDALMDArrayH array = GDALGroupCreateMDArray(group, name, 1, &dimension, type, NULL);
    assert_non_null(array);
    assert_true(GDALMDArrayWrite(array, &start, &count, NULL, NULL, type, words, NULL, 0));
    GDALMDArrayRelease(array);
    GDALExtendedDataTypeRelease(type);
    GDALGroupRelease(group);
}

/* An attribute of a group, of one number. */
static inline void product_number(ProductFile *file, const char *path, const char *name, double value) {
    GDALGroupH group = product_group(file, path);
    product_numbers(NULL, group, name, &value, 1);
    GDALGroupRelease(group);
}

/* ---- cubes ---- */

/* What a stored value should be: no two of a small cube are alike, and all fit 16 bits. */
static inline double product_value(int line, int sample, int band) {
    return 1 + band * 101 + line * 11 + sample;
}

/* Values of a cube whose axes have these letters, the slowest first: l, s, b; `first` is added to the number
 * of the band. */
static inline const double *product_cube(const char *order, int bands, int first) {
    static double values[PRODUCT_LINES * PRODUCT_SAMPLES * 64];
    size_t at = 0;
    int size[3], i[3];
    for (int a = 0; a < 3; a++) {
        size[a] = order[a] == 'l' ? PRODUCT_LINES : order[a] == 's' ? PRODUCT_SAMPLES : bands;
    }
    assert_true(bands <= 64);
    for (i[0] = 0; i[0] < size[0]; i[0]++) {
        for (i[1] = 0; i[1] < size[1]; i[1]++) {
            for (i[2] = 0; i[2] < size[2]; i[2]++) {
                int line = 0, sample = 0, band = 0;
                for (int a = 0; a < 3; a++) {
                    *(order[a] == 'l' ? &line : order[a] == 's' ? &sample : &band) = i[a];
                }
                values[at++] = product_value(line, sample, first + band);
            }
        }
    }
    return values;
}

#endif
