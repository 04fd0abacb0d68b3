/* What a netCDF or HDF5 file holds, through GDAL's interface for arrays. */
#include "core/allocate.h"
#include "io/chunk/zarr.h"
#include "io/guard/guard.h"
#include "io/read/metadata/envi_header.h"
#include "io/read/parts.h"
#include "io/read/product/parts.h"
#include "core/texts.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define AXIS_MAX 8192 /* of a table of numbers: far more than a detector has */

char *hc_product_zarr_group(const char *path) {
    HcZarrNode node = HC_ZARR_NONE;
    HcError why = {0};
    char *text = NULL;
    HcStatus status = hc_zarr_node(path, &node, &text, &why);
    free(text);
    const char *slash = strrchr(path, '/');
    char *group = status == HC_OK && node == HC_ZARR_ARRAY && slash != NULL
                      ? hc_text_format("%.*s", (int)(slash - path), path)
                      : NULL;
    if (group != NULL && hc_zarr_is(group)) {
        return group;
    }
    free(group);
    return strdup(path);
}

static GDALDatasetH open_zarr(const char *path) {
    static const char *const only[] = {"Zarr", NULL};
    char *group = hc_product_zarr_group(path);
    char *name = group != NULL ? hc_text_format("ZARR:\"%s\"", group) : NULL;
    GDALDatasetH opened =
        name != NULL ? hc_guard_open(name, GDAL_OF_MULTIDIM_RASTER | GDAL_OF_READONLY | GDAL_OF_VERBOSE_ERROR,
                                     only, NULL)
                     : NULL;
    free(group);
    free(name);
    return opened;
}

void *hc_product_open_arrays(const char *path) {
    /* HDF5 leaves files with the ending .nc to netCDF. */
    static const char *const only[] = {"netCDF", "HDF5", NULL};
    if (hc_zarr_is(path)) {
        return open_zarr(path);
    }
    GDALDatasetH opened =
        hc_guard_open(path, GDAL_OF_MULTIDIM_RASTER | GDAL_OF_READONLY | GDAL_OF_VERBOSE_ERROR, only, NULL);
    hc_hdf5_listen();
    return opened;
}

static void add_remark(HcText *to, const char *text) {
    hc_text_add(to, "%s%s", to->length > 0 ? "; " : "", text != NULL ? text : "");
    to->failed = to->failed || text == NULL;
}

void hc_product_note(HcProduct *product, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = hc_text_vformat(format, arguments);
    va_end(arguments);
    add_remark(&product->note, text);
    free(text);
}

void hc_product_add_news(HcProduct *product, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *said = hc_text_vformat(format, arguments), *text = said != NULL ? hc_envi_clean(said) : NULL;
    va_end(arguments);
    add_remark(&product->note, text);
    add_remark(&product->news, text);
    free(said);
    free(text);
}

static GDALMDArrayH open_array(const HcProductFile *file, const char *dataset) {
    HcGdalErrors messages;
    hc_gdal_catch(&messages);
    GDALMDArrayH array = GDALGroupOpenMDArrayFromFullname(file->root, dataset, NULL);
    hc_gdal_release();
    return array;
}

bool hc_product_has(const HcProductFile *file, const char *dataset) {
    GDALMDArrayH array = open_array(file, dataset);
    GDALMDArrayRelease(array);
    return array != NULL;
}

bool hc_product_has_group(const HcProductFile *file, const char *group) {
    HcGdalErrors messages;
    hc_gdal_catch(&messages);
    GDALGroupH found = GDALGroupOpenGroupFromFullname(file->root, group, NULL);
    GDALGroupRelease(found);
    hc_gdal_release();
    return found != NULL;
}

bool hc_product_has_axes(const HcProductFile *file, const char *dataset, size_t axes) {
    GDALMDArrayH array = open_array(file, dataset);
    bool has = array != NULL && GDALMDArrayGetDimensionCount(array) == axes;
    GDALMDArrayRelease(array);
    return has;
}

char **hc_product_names(const HcProductFile *file, const char *group, size_t axes) {
    char **names = NULL;
    bool is_root = group[1] == '\0';
    GDALGroupH opened = is_root ? file->root : GDALGroupOpenGroupFromFullname(file->root, group, NULL);
    char **all = opened != NULL ? GDALGroupGetMDArrayNames(opened, NULL) : NULL;
    for (int n = 0; all != NULL && all[n] != NULL; n++) {
        char *dataset = hc_text_format("%s%s%s", group, is_root ? "" : "/", all[n]);
        if (dataset != NULL && hc_product_has_axes(file, dataset, axes)) {
            names = CSLAddString(names, all[n]);
        }
        free(dataset);
    }
    CSLDestroy(all);
    if (opened != NULL && !is_root) {
        GDALGroupRelease(opened);
    }
    return names;
}

HcStatus hc_product_shape(const HcProductFile *file, const char *dataset, size_t axes, int64_t *size,
                          HcError *err) {
    size_t count = 0;
    GDALMDArrayH array = open_array(file, dataset);
    if (array == NULL) {
        return hc_fail(err, HC_E_INPUT, "%s: there is no array %s", file->path, dataset);
    }
    GDALDimensionH *dimensions = GDALMDArrayGetDimensions(array, &count);
    for (size_t i = 0; i < axes && i < count; i++) {
        size[i] = (int64_t)GDALDimensionGetSize(dimensions[i]);
    }
    GDALReleaseDimensions(dimensions, count);
    GDALMDArrayRelease(array);
    return count == axes ? HC_OK
                         : hc_fail(err, HC_E_INPUT, "%s: %s has %zu axes, and not %zu", file->path, dataset,
                                   count, axes);
}

HcStatus hc_product_units(const HcProductFile *file, const char *dataset, char **units, HcError *err) {
    HcStatus status = HC_OK;
    *units = NULL;
    GDALMDArrayH array = dataset != NULL ? open_array(file, dataset) : NULL;
    const char *said = array != NULL ? GDALMDArrayGetUnit(array) : NULL;
    if (said != NULL && said[0] != '\0' && (*units = strdup(said)) == NULL) {
        status = hc_fail_memory(err, (double)strlen(said), "a text");
    }
    GDALMDArrayRelease(array);
    return status;
}

/* ---- the pixels ---- */

static HcStatus fail_shape(const char *path, const char *dataset, GDALMDArrayH array, HcError *err) {
    HcText shape = {0};
    size_t count = 0;
    GDALDimensionH *axes = GDALMDArrayGetDimensions(array, &count);
    for (size_t i = 0; i < count; i++) {
        hc_text_add(&shape, "%s%s %" PRIu64, i > 0 ? ", " : "", GDALDimensionGetName(axes[i]),
                    (uint64_t)GDALDimensionGetSize(axes[i]));
    }
    GDALReleaseDimensions(axes, count);
    HcStatus status =
        hc_fail_text(err, HC_E_INPUT, &shape, "%s: %s has the axes (%s), and not three of some pixels", path,
                     dataset, hc_text_shown(&shape));
    hc_text_clear(&shape);
    return status;
}

static HcStatus take_type(HcProduct *product, const char *path, const char *dataset, GDALMDArrayH array,
                          HcError *err) {
    GDALExtendedDataTypeH type = GDALMDArrayGetDataType(array);
    GDALDataType code = GDALExtendedDataTypeGetClass(type) == GEDTC_NUMERIC
                            ? GDALExtendedDataTypeGetNumericDataType(type)
                            : GDT_Unknown;
    HcType found = HC_TYPE_COUNT;
    GDALExtendedDataTypeRelease(type);
    if (!hc_read_gdal_code_type(code, &found)) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: %s: values of type %s are not supported", path, dataset,
                       GDALGetDataTypeName(code));
    }
    if (product->array_count > 1 && found != product->scene.type) {
        code = GDALDataTypeUnion(code, hc_read_gdal_code(product->scene.type));
        if (hc_read_gdal_code_type(code, &found) && found != product->scene.type) {
            hc_product_note(product, "%s makes all values %s", dataset, hc_type_name(found));
        }
    }
    product->scene.type = found;
    return HC_OK;
}

/* An array of two axes as one of three, whose first has one band. */
static GDALMDArrayH flat_as_band(GDALMDArrayH array) {
    GDALMDArrayH view = GDALMDArrayGetView(array, "[newaxis,...]");
    GDALMDArrayRelease(array);
    return view;
}

/* Sizes and chunks of the axes. */
static HcStatus take_axes(HcProduct *product, HcProductArray *to, GDALMDArrayH array, bool *good,
                          HcError *err) {
    HcStatus status = HC_OK;
    HcScene *scene = &product->scene;
    int64_t size[3] = {0};
    size_t count = 0, chunks = 0;
    GDALDimensionH *axes = GDALMDArrayGetDimensions(array, &count);
    GUInt64 *chunk = GDALMDArrayGetBlockSize(array, &chunks);
    *good = count == 3;
    for (size_t i = 0; i < 3 && *good; i++) {
        int64_t length = (int64_t)GDALDimensionGetSize(axes[i]);
        bool cut = chunk != NULL && i < chunks && chunk[i] > 0 && (int64_t)chunk[i] < length;
        size[to->axis[i]] = length;
        to->chunk[i] = cut ? (int64_t)chunk[i] : length;
        *good = length > 0 && length <= INT32_MAX;
    }
    GDALReleaseDimensions(axes, count);
    CPLFree(chunk);
    if (!*good) {
        return HC_OK;
    }
    if (product->array_count > 1 &&
        (size[HC_AXIS_LINE] != scene->lines || size[HC_AXIS_SAMPLE] != scene->samples)) {
        status = hc_fail(err, HC_E_INPUT,
                         "%s: %s has %" PRId64 " lines x %" PRId64 " samples, %s has %" PRId64 " x %" PRId64,
                         to->file, to->dataset, size[HC_AXIS_LINE], size[HC_AXIS_SAMPLE],
                         product->array[0].dataset, scene->lines, scene->samples);
    }
    scene->lines = size[HC_AXIS_LINE];
    scene->samples = size[HC_AXIS_SAMPLE];
    to->bands = (int32_t)size[HC_AXIS_BAND];
    return status;
}

HcStatus hc_product_take_array(HcProduct *product, const char *path, const char *name, void *opened,
                               const HcAxis order[3], HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    bool good = true;
    int has = 0;
    GDALMDArrayH array = opened;
    hc_gdal_catch(&messages);
    HcProductArray *to = &product->array[product->array_count++];
    if (array != NULL && order[0] == HC_AXIS_BAND && GDALMDArrayGetDimensionCount(array) == 2) {
        array = flat_as_band(array);
    }
    to->file = strdup(path);
    to->dataset = strdup(name);
    memcpy(to->axis, order, sizeof to->axis);
    if (array == NULL) {
        HC_TRY(hc_gdal_fail(err, HC_E_INPUT, path, &messages));
    }
    if (to->file == NULL || to->dataset == NULL) {
        HC_TRY(hc_fail_memory(err, (double)strlen(path), "a path"));
    }
    HC_TRY(take_type(product, path, name, array, err));
    HC_TRY(take_axes(product, to, array, &good, err));
    if (!good) {
        HC_TRY(fail_shape(path, name, array, err));
    }
    double nodata = GDALMDArrayGetNoDataValueAsDouble(array, &has);
    HcScene *scene = &product->scene;
    nodata = scene->type == HC_FLOAT32 ? (double)(float)nodata : nodata;
    if (has && scene->has_nodata && nodata != scene->nodata && !(isnan(nodata) && isnan(scene->nodata))) {
        hc_product_note(product, "nodata is %g, and not the %g of %s", scene->nodata, nodata, name);
    } else if (has) {
        scene->has_nodata = true;
        scene->nodata = nodata;
    }
    to->handle = array;
    array = NULL;
done:
    hc_gdal_release();
    GDALMDArrayRelease(array);
    return status;
}

HcStatus hc_product_take(HcProduct *product, const HcProductFile *file, const char *dataset,
                         const HcAxis order[3], HcError *err) {
    if (product->array_count == HC_PRODUCT_ARRAYS) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: has more than %d arrays of pixels", file->path,
                       HC_PRODUCT_ARRAYS);
    }
    GDALMDArrayH array = open_array(file, dataset);
    return array != NULL ? hc_product_take_array(product, file->path, dataset, array, order, err)
                         : hc_fail(err, HC_E_INPUT, "%s: there is no array %s", file->path, dataset);
}

/* ---- lists ---- */

static int64_t length_of(GDALMDArrayH array) {
    return GDALMDArrayGetDimensionCount(array) == 1 ? (int64_t)GDALMDArrayGetTotalElementsCount(array) : -1;
}

/* All numbers of an array whose axes have these sizes. */
static HcStatus read_numbers(const HcProductFile *file, const char *dataset, GDALMDArrayH array, size_t axes,
                             const size_t *size, double **values, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    const GUInt64 start[2] = {0, 0};
    size_t all = size[0] * (axes > 1 ? size[1] : 1);
    double *list = NULL;
    HC_OR_RETURN(hc_guard_array(file->path, dataset, err));
    HC_OR_RETURN(hc_new(list, all, "a list of numbers", err));
    hc_gdal_catch(&messages);
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreate(GDT_Float64);
    if (!GDALMDArrayRead(array, start, size, NULL, NULL, type, list, list, all * sizeof *list)) {
        const char *why = NULL;
        status = hc_gdal_why(&messages, HC_E_INPUT, &why);
        status = hc_fail(err, status, "%s: %s cannot be read: %s", file->path, dataset, why);
        free(list);
        list = NULL;
    }
    *values = list;
    GDALExtendedDataTypeRelease(type);
    hc_gdal_release();
    return status;
}

HcStatus hc_product_list(const HcProductFile *file, const char *dataset, int32_t count, double **values,
                         HcError *err) {
    const size_t all = (size_t)count;
    *values = NULL;
    GDALMDArrayH array = open_array(file, dataset);
    if (array == NULL) {
        return hc_fail(err, HC_E_INPUT, "%s: there is no array %s", file->path, dataset);
    }
    HcStatus status =
        length_of(array) == count
            ? read_numbers(file, dataset, array, 1, &all, values, err)
            : hc_fail(err, HC_E_INPUT, "%s: %s has %" PRId64 " values for %" PRId32 " bands", file->path,
                      dataset, (int64_t)GDALMDArrayGetTotalElementsCount(array), count);
    GDALMDArrayRelease(array);
    return status;
}

HcStatus hc_product_table(const HcProductFile *file, const char *dataset, double **values, int64_t *rows,
                          int64_t *columns, HcError *err) {
    int64_t shape[2] = {0};
    *values = NULL;
    HC_OR_RETURN(hc_product_shape(file, dataset, 2, shape, err));
    if (shape[0] < 1 || shape[0] > AXIS_MAX || shape[1] < 1 || shape[1] > AXIS_MAX) {
        return hc_fail(err, HC_E_INPUT, "%s: %s has %" PRId64 " x %" PRId64 " values", file->path, dataset,
                       shape[0], shape[1]);
    }
    GDALMDArrayH array = open_array(file, dataset);
    if (array == NULL) {
        return hc_fail(err, HC_E_INPUT, "%s: there is no array %s", file->path, dataset);
    }
    const size_t size[2] = {(size_t)shape[0], (size_t)shape[1]};
    HcStatus status = read_numbers(file, dataset, array, 2, size, values, err);
    GDALMDArrayRelease(array);
    *rows = shape[0];
    *columns = shape[1];
    return status;
}

/* GDAL's texts, each of GDAL's memory, become ours. */
static HcStatus copy_words(char *const *given, int32_t count, char ***words, HcError *err) {
    char **list = NULL;
    HC_OR_RETURN(hc_new(list, count, "a list of names", err));
    for (int32_t i = 0; i < count; i++) {
        if ((list[i] = strdup(given[i] != NULL ? given[i] : "")) == NULL) {
            hc_free_texts(list, count);
            return hc_fail_memory(err, (double)count, "a list of names");
        }
    }
    *words = list;
    return HC_OK;
}

HcStatus hc_product_words(const HcProductFile *file, const char *dataset, int32_t count, char ***words,
                          HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    GUInt64 start = 0;
    size_t all = (size_t)count;
    char **given = NULL;
    *words = NULL;
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreateString(0);
    GDALMDArrayH array = open_array(file, dataset);
    hc_gdal_catch(&messages);
    if (array == NULL || length_of(array) != count) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: %s does not have a name for each of %" PRId32 " bands",
                       file->path, dataset, count));
    }
    HC_TRY(hc_new(given, all, "a list of names", err));
    if (!GDALMDArrayRead(array, &start, &all, NULL, NULL, type, given, given, all * sizeof *given)) {
        const char *why = NULL;
        status = hc_gdal_why(&messages, HC_E_INPUT, &why);
        HC_TRY(hc_fail(err, status, "%s: %s cannot be read: %s", file->path, dataset, why));
    }
    HC_TRY(copy_words(given, count, words, err));
done:
    for (int32_t i = 0; given != NULL && i < count; i++) {
        CPLFree(given[i]);
    }
    free(given);
    GDALExtendedDataTypeRelease(type);
    GDALMDArrayRelease(array);
    hc_gdal_release();
    return status;
}

/* ---- attributes ---- */

static GDALAttributeH open_attribute(const HcProductFile *file, const char *dataset, const char *name) {
    HcGdalErrors messages;
    hc_gdal_catch(&messages);
    GDALAttributeH attribute = NULL;
    GDALMDArrayH array = dataset != NULL ? open_array(file, dataset) : NULL;
    GDALGroupH group =
        dataset != NULL && array == NULL ? GDALGroupOpenGroupFromFullname(file->root, dataset, NULL) : NULL;
    if (array != NULL) {
        attribute = GDALMDArrayGetAttribute(array, name);
        GDALMDArrayRelease(array);
    } else if (group != NULL) {
        attribute = GDALGroupGetAttribute(group, name);
        GDALGroupRelease(group);
    } else if (dataset == NULL) {
        attribute = GDALGroupGetAttribute(file->root, name);
    }
    hc_gdal_release();
    return attribute;
}

static HcStatus fail_attribute(const HcProductFile *file, const char *name, HcError *err) {
    return hc_fail(err, HC_E_INPUT, "%s: the attribute %s cannot be read", file->path, name);
}

HcStatus hc_product_text(const HcProductFile *file, const char *dataset, const char *attribute, char **text,
                         HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    *text = NULL;
    GDALAttributeH found = open_attribute(file, dataset, attribute);
    if (found == NULL) {
        return HC_OK;
    }
    hc_gdal_catch(&messages);
    const char *value = GDALAttributeReadAsString(found);
    if (value == NULL) {
        status = fail_attribute(file, attribute, err);
    } else if ((*text = strdup(value)) == NULL) {
        status = hc_fail_memory(err, (double)strlen(value), "an attribute");
    }
    GDALAttributeRelease(found);
    hc_gdal_release();
    return status;
}

HcStatus hc_product_numbers(const HcProductFile *file, const char *dataset, const char *attribute,
                            double **values, int32_t *count, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    size_t found_count = 0;
    *values = NULL;
    *count = 0;
    GDALAttributeH found = open_attribute(file, dataset, attribute);
    if (found == NULL) {
        return HC_OK;
    }
    hc_gdal_catch(&messages);
    double *list = GDALAttributeReadAsDoubleArray(found, &found_count);
    if (list == NULL || found_count == 0 || found_count > INT32_MAX) {
        status = fail_attribute(file, attribute, err);
    } else if ((status = hc_new(*values, found_count, "an attribute", err)) == HC_OK) {
        memcpy(*values, list, found_count * sizeof *list);
        *count = (int32_t)found_count;
    }
    CPLFree(list);
    GDALAttributeRelease(found);
    hc_gdal_release();
    return status;
}

HcStatus hc_product_attribute(const HcProductFile *file, const char *dataset, const char *attribute,
                              int32_t count, double **values, HcError *err) {
    int32_t found = 0;
    HC_OR_RETURN(hc_product_numbers(file, dataset, attribute, values, &found, err));
    if (found == count) {
        return HC_OK;
    }
    free(*values);
    *values = NULL;
    if (found == 0) {
        return hc_fail(err, HC_E_INPUT, "%s: there is no attribute %s%s%s", file->path, attribute,
                       dataset != NULL ? " of " : "", dataset != NULL ? dataset : "");
    }
    return hc_fail(err, HC_E_INPUT, "%s: the attribute %s has %" PRId32 " values for %" PRId32, file->path,
                   attribute, found, count);
}

HcStatus hc_product_number(const HcProductFile *file, const char *dataset, const char *attribute,
                           double *value, HcError *err) {
    double *values = NULL;
    HC_OR_RETURN(hc_product_attribute(file, dataset, attribute, 1, &values, err));
    *value = values[0];
    free(values);
    return HC_OK;
}

/* GDAL's netCDF driver (3.6) frees a text without axes before it copies it; its HDF5 driver does not, and
 * takes every file that does not end in .nc. */
static bool frees_early(const HcProductFile *file, GDALMDArrayH array) {
    const char *driver = GDALGetDriverShortName(GDALGetDatasetDriver(file->dataset));
    return strcmp(driver, "netCDF") == 0 && GDALMDArrayGetDimensionCount(array) == 0;
}

HcStatus hc_product_string(const HcProductFile *file, const char *dataset, char **text, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    GUInt64 start = 0;
    size_t count = 1;
    char *found = NULL;
    *text = NULL;
    GDALMDArrayH array = open_array(file, dataset);
    if (array == NULL) {
        return hc_fail(err, HC_E_INPUT, "%s: there is no array %s", file->path, dataset);
    }
    if (frees_early(file, array)) {
        GDALMDArrayRelease(array);
        return hc_fail(err, HC_E_INPUT,
                       "%s: the text %s cannot be read from a file with the ending .nc: rename it to .h5",
                       file->path, dataset);
    }
    hc_gdal_catch(&messages);
    GDALExtendedDataTypeH type = GDALMDArrayGetDataType(array);
    bool is = GDALExtendedDataTypeGetClass(type) == GEDTC_STRING &&
              GDALMDArrayGetTotalElementsCount(array) == 1 &&
              GDALMDArrayRead(array, &start, &count, NULL, NULL, type, &found, &found, sizeof found);
    if (!is || found == NULL) {
        status = hc_fail(err, HC_E_INPUT, "%s: %s is not readable text", file->path, dataset);
    } else if ((*text = strdup(found)) == NULL) {
        status = hc_fail_memory(err, (double)strlen(found), "a text");
    }
    CPLFree(found);
    GDALExtendedDataTypeRelease(type);
    GDALMDArrayRelease(array);
    hc_gdal_release();
    return status;
}
