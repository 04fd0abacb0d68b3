/* netCDF and Zarr: the scene as one variable over bands, lines and samples, after the CF conventions, as
 * xarray and GDAL open it. GDAL's raster interface makes a variable of each band and drops wavelengths (Zarr
 * before GDAL 3.8 takes no band at all); its interface for arrays does not. Zarr is written in version 2,
 * which all versions of GDAL and of zarr-python read. */
#include "core/allocate.h"
#include "core/version.h"
#include "io/file.h"
#include "io/gdal/remote.h"
#include "io/write/parts.h"

#include <cpl_string.h>
#include <cpl_vsi.h>
#include <math.h>
#include <ogr_srs_api.h>
#include <string.h>

/* Chunks of compressed files. Reading a band inflates the chunks of its lines, so that few bands share one.
 */
#define CHUNK_BYTES 262144.0
#define CHUNK_LINES 16
/* Each chunk of Zarr is a file. */
#define ZARR_CHUNK_BYTES 4194304.0

struct HcWriteArray {
    const HcGdalErrors *errors; /* while the file is created: after a failed write, the next one can crash */
    GDALDatasetH dataset;
    GDALGroupH root;
    GDALMDArrayH values; /* [bands][lines][samples] */
    GDALDimensionH dimension[3];
    bool zarr;
};

/* ---- small variables and attributes ---- */

/* An attribute of an array, or of the whole file (array NULL). */
static void put_attribute(GDALGroupH root, GDALMDArrayH array, const char *name, const char *value) {
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreateString(0);
    GDALAttributeH attribute = array != NULL ? GDALMDArrayCreateAttribute(array, name, 0, NULL, type, NULL)
                                             : GDALGroupCreateAttribute(root, name, 0, NULL, type, NULL);
    if (attribute != NULL) {
        GDALAttributeWriteString(attribute, value);
        GDALAttributeRelease(attribute);
    }
    GDALExtendedDataTypeRelease(type);
}

static void put_number(GDALMDArrayH array, const char *name, double value) {
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreate(GDT_Float64);
    GDALAttributeH attribute = GDALMDArrayCreateAttribute(array, name, 0, NULL, type, NULL);
    if (attribute != NULL) {
        GDALAttributeWriteDouble(attribute, value);
        GDALAttributeRelease(attribute);
    }
    GDALExtendedDataTypeRelease(type);
}

/* The names of its axes as JSON, as xarray wants them in Zarr of version 2, also where there are none. */
static void put_axis_names(GDALMDArrayH array) {
    size_t count = 0;
    char names[400] = "[";
    GDALDimensionH *axes = GDALMDArrayGetDimensions(array, &count);
    for (size_t i = 0; i < count; i++) { /* names of ours, without quotes in them */
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s\"%s\"", i > 0 ? "," : "",
                 GDALDimensionGetName(axes[i]));
    }
    snprintf(names + strlen(names), sizeof names - strlen(names), "]");
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreateStringEx(0, GEDTST_JSON);
    GDALAttributeH attribute = GDALMDArrayCreateAttribute(array, "_ARRAY_DIMENSIONS", 0, NULL, type, NULL);
    if (attribute != NULL) {
        GDALAttributeWriteString(attribute, names);
        GDALAttributeRelease(attribute);
    }
    GDALExtendedDataTypeRelease(type);
    GDALReleaseDimensions(axes, count);
}

static void put_text(GDALMDArrayH array, const char *name, const char *value) {
    put_attribute(NULL, array, name, value);
}

static void put_global(GDALGroupH root, const char *name, const char *value) {
    put_attribute(root, NULL, name, value);
}

/* A variable over one dimension, with its values [size]; the caller releases it. NULL where GDAL failed. */
static GDALMDArrayH put_list(HcWriteArray *file, const char *name, GDALDimensionH dimension,
                             GDALExtendedDataTypeH type, const void *values) {
    GUInt64 start = 0;
    size_t count = (size_t)GDALDimensionGetSize(dimension);
    if (file->errors->failed) {
        return NULL;
    }
    GDALMDArrayH array = GDALGroupCreateMDArray(file->root, name, 1, &dimension, type, NULL);
    if (array != NULL) {
        (void)GDALMDArrayWrite(array, &start, &count, NULL, NULL, type, values, NULL, 0);
    }
    if (array != NULL && file->zarr) {
        put_axis_names(array);
    }
    return array;
}

static void put_numbers(HcWriteArray *file, const char *name, GDALDimensionH dimension, const double *values,
                        const char *unit, const char *meaning, const char *standard) {
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreate(GDT_Float64);
    GDALMDArrayH array = put_list(file, name, dimension, type, values);
    GDALExtendedDataTypeRelease(type);
    if (array == NULL) {
        return;
    }
    if (unit != NULL) {
        GDALMDArraySetUnit(array, unit);
    }
    put_text(array, "long_name", meaning);
    if (standard != NULL) {
        put_text(array, "standard_name", standard);
    }
    GDALMDArrayRelease(array);
}

/* ---- bands ---- */

/* CF wants coordinates that rise or fall. */
static bool is_coordinate(const HcScene *scene) {
    const double *value = scene->wavelength;
    bool rises = true, falls = true;
    for (int32_t b = 0; value != NULL && b < scene->bands; b++) {
        rises = rises && !isnan(value[b]) && (b == 0 || value[b] > value[b - 1]);
        falls = falls && !isnan(value[b]) && (b == 0 || value[b] < value[b - 1]);
    }
    return hc_scene_is_spectral(scene) && value != NULL && (rises || falls);
}

static HcStatus put_names(HcWriteArray *file, const HcScene *scene, HcError *err) {
    const char **name = NULL;
    if (scene->band_name == NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_new(name, scene->bands, "band names", err));
    size_t longest = 1;
    for (int32_t b = 0; b < scene->bands; b++) {
        name[b] = scene->band_name[b] != NULL ? scene->band_name[b] : "";
        longest = strlen(name[b]) > longest ? strlen(name[b]) : longest;
    }
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreateString(file->zarr ? longest : 0);
    GDALMDArrayH array = put_list(file, "band_name", file->dimension[0], type, name);
    GDALExtendedDataTypeRelease(type);
    GDALMDArrayRelease(array);
    free(name);
    return HC_OK;
}

static HcStatus put_good(HcWriteArray *file, const HcScene *scene, HcError *err) {
    uint8_t *good = NULL;
    HC_OR_RETURN(hc_new(good, scene->bands, "the list of bad bands", err));
    for (int32_t b = 0; b < scene->bands; b++) {
        good[b] = !scene->bad[b];
    }
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreate(GDT_Byte);
    GDALMDArrayH array = put_list(file, "good_wavelengths", file->dimension[0], type, good);
    GDALExtendedDataTypeRelease(type);
    if (array != NULL) {
        put_text(array, "long_name", "1 = the band is good, 0 = bad");
        GDALMDArrayRelease(array);
    }
    free(good);
    return HC_OK;
}

static HcStatus put_bands(HcWriteArray *file, const HcScene *scene, HcError *err) {
    GDALDimensionH bands = file->dimension[0];
    HC_OR_RETURN(put_names(file, scene, err));
    if (!hc_scene_is_spectral(scene)) {
        return HC_OK;
    }
    if (scene->wavelength != NULL) {
        put_numbers(file, "wavelength", bands, scene->wavelength, "nm", "centers of the bands",
                    "radiation_wavelength");
    }
    if (scene->wavelength != NULL && scene->fwhm != NULL) {
        put_numbers(file, "fwhm", bands, scene->fwhm, "nm", "full widths at half maximum", NULL);
    }
    return scene->bad != NULL ? put_good(file, scene, err) : HC_OK;
}

/* netCDF knows one scale and offset a variable; those that differ are variables of their own. */
static void put_scale(HcWriteArray *file, const HcScene *scene) {
    if (scene->gain == NULL || scene->offset == NULL) {
        return;
    }
    if (hc_scene_has_one_scale(scene)) {
        GDALMDArraySetScale(file->values, scene->gain[0]);
        GDALMDArraySetOffset(file->values, scene->offset[0]);
    } else {
        put_numbers(file, "gain", file->dimension[0], scene->gain, NULL, "value = gain * stored + offset",
                    NULL);
        put_numbers(file, "offset", file->dimension[0], scene->offset, NULL, "value = gain * stored + offset",
                    NULL);
    }
}

/* ---- place ---- */

/* Centers of the pixels along an axis: first + step (i + 0.5). `on` is what the grid lies on. */
typedef enum Grid { GRID_PIXELS, GRID_PROJECTED, GRID_GEOGRAPHIC } Grid;

static HcStatus put_axis(HcWriteArray *file, int which, double first, double step, Grid on, HcError *err) {
    static const char *const standard[2][3] = {{NULL, "projection_y_coordinate", "latitude"},
                                               {NULL, "projection_x_coordinate", "longitude"}};
    static const char *const unit[2][3] = {{NULL, "m", "degrees_north"}, {NULL, "m", "degrees_east"}};
    static const char *const meaning[2] = {"centers of the lines", "centers of the samples"};
    static const char *const axis[2] = {"Y", "X"};
    GDALDimensionH dimension = file->dimension[1 + which];
    const char *name = GDALDimensionGetName(dimension);
    size_t count = (size_t)GDALDimensionGetSize(dimension);
    double *center = NULL;
    HC_OR_RETURN(hc_new(center, count, "coordinates", err));
    for (size_t i = 0; i < count; i++) {
        center[i] = first + step * ((double)i + 0.5);
    }
    put_numbers(file, name, dimension, center, unit[which][on], meaning[which], standard[which][on]);
    free(center);
    GDALMDArrayH array = GDALGroupOpenMDArray(file->root, name, NULL);
    if (array != NULL) {
        put_text(array, "axis", axis[which]);
        GDALMDArrayRelease(array);
    }
    return HC_OK;
}

/* A grid without a place is that of its pixels, upwards: without a falling axis of lines GDAL takes the first
 * line for the lowest. */
static HcStatus put_axes(HcWriteArray *file, const HcPlace *place, bool geographic, HcError *err) {
    static const double pixels[6] = {0, 1, 0, 0, 0, -1};
    const double *t = place->has_transform ? place->transform : pixels;
    Grid on = !place->has_transform ? GRID_PIXELS : geographic ? GRID_GEOGRAPHIC : GRID_PROJECTED;
    HC_OR_RETURN(put_axis(file, 0, t[3], t[5], on, err));
    return put_axis(file, 1, t[0], t[1], on, err);
}

/* GDAL's own attribute beside those of CF. */
static void put_transform(const HcWriteArray *file, const HcScene *scene) {
    char text[6 * 32] = "";
    const char *name = NULL;
    GDALAttributeH mapping = GDALMDArrayGetAttribute(file->values, "grid_mapping");
    GDALMDArrayH crs = NULL;
    if (mapping != NULL && (name = GDALAttributeReadAsString(mapping)) != NULL) {
        crs = GDALGroupOpenMDArray(file->root, name, NULL);
    }
    if (crs != NULL) {
        for (int i = 0; i < 6; i++) {
            char number[40];
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%.31s", i > 0 ? " " : "",
                     hc_write_number(number, scene->place.transform[i] + 0)); /* no -0 */
        }
        put_text(crs, "GeoTransform", text);
        GDALMDArrayRelease(crs);
    }
    GDALAttributeRelease(mapping);
}

/* GDAL's driver loses systems that CF has no projection for, such as that of Switzerland: the mapping then is
 * a variable with the WKT alone. */
static void put_wkt(const HcWriteArray *file, OGRSpatialReferenceH crs) {
    const char *const options[] = {"FORMAT=WKT2_2018", NULL};
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreate(GDT_Int32);
    GDALMDArrayH mapping = GDALGroupCreateMDArray(file->root, "crs", 0, NULL, type, NULL);
    char *one = NULL, *two = NULL;
    GDALExtendedDataTypeRelease(type);
    if (mapping != NULL && OSRExportToWkt(crs, &one) == OGRERR_NONE &&
        OSRExportToWktEx(crs, &two, options) == OGRERR_NONE) {
        put_text(mapping, "spatial_ref", one);
        put_text(mapping, "crs_wkt", two);
        put_text(file->values, "grid_mapping", "crs");
    }
    VSIFree(one);
    VSIFree(two);
    if (mapping != NULL && file->zarr) { /* none, without which xarray opens nothing */
        put_axis_names(mapping);
    }
    GDALMDArrayRelease(mapping);
}

/* Whether GDAL's driver takes the system. From 3.9 on it ends the process for a projection that CF lacks. */
static bool driver_takes(OGRSpatialReferenceH crs) {
    bool taken = true;
#if GDAL_VERSION_NUM >= GDAL_COMPUTE_VERSION(3, 9, 0)
    char *name = NULL, *units = NULL, **values = NULL;
    CPLPushErrorHandler(CPLQuietErrorHandler);
    taken = OSRExportToCF1(crs, &name, &values, &units, NULL) == OGRERR_NONE;
    CPLPopErrorHandler();
    VSIFree(name);
    VSIFree(units);
    CSLDestroy(values);
#else
    (void)crs;
#endif
    return taken;
}

static bool is_mapped(const HcWriteArray *file) {
    GDALAttributeH mapping = GDALMDArrayGetAttribute(file->values, "grid_mapping");
    GDALAttributeRelease(mapping);
    return mapping != NULL;
}

static HcStatus put_place(HcWriteArray *file, const HcScene *scene, HcError *err) {
    const HcPlace *place = &scene->place;
    OGRSpatialReferenceH crs = place->crs != NULL ? OSRNewSpatialReference(place->crs) : NULL;
    bool geographic = crs != NULL && OSRIsGeographic(crs);
    HcStatus status = HC_OK;
    HC_TRY(put_axes(file, place, geographic, err));
    if (crs != NULL) {
        const int axes[] = {3, 2}; /* x is the third dimension, y the second */
        OSRSetDataAxisToSRSAxisMapping(crs, 2, axes);
        if (driver_takes(crs)) {
            GDALMDArraySetSpatialRef(file->values, crs);
        }
        if (!is_mapped(file)) {
            put_wkt(file, crs);
        }
        if (place->has_transform) {
            put_transform(file, scene);
        }
    }
done:
    OSRDestroySpatialReference(crs);
    return status;
}

/* ---- the file ---- */

static bool is_zarr(const HcWritePlan *plan) {
    return strcmp(plan->format, "Zarr") == 0;
}

bool hc_write_is_array(const HcWritePlan *plan, const HcScene *scene) {
    return is_zarr(plan) || (strcmp(plan->format, "netCDF") == 0 && !hc_scene_is_class_map(scene));
}

HcStatus hc_write_check_zarr(const HcWritePlan *plan, const HcScene *scene, HcError *err) {
    if (!is_zarr(plan)) {
        return hc_file_is_store(plan->path)
                   ? hc_fail(err, HC_E_IO, "%s: is a directory with Zarr, and %s is a file", plan->path,
                             plan->format)
                   : HC_OK;
    }
    if (hc_scene_is_class_map(scene)) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: Zarr cannot hold a class map (GTiff can)", plan->path);
    }
    return hc_remote_is(plan->path)
               ? hc_fail(err, HC_E_UNSUPPORTED,
                         "%s: Zarr is a folder, and an output in an object store is one file (COG, netCDF)",
                         plan->path)
               : HC_OK;
}

HcStatus hc_write_array_check(const HcWritePlan *plan, const HcScene *scene, HcError *err) {
    static const char *const all[2][5] = {{"FORMAT=", "COMPRESS=", "ZLEVEL="},
                                          {"COMPRESS=", "ZLIB_LEVEL=", "GZIP_LEVEL=", "ZSTD_LEVEL="}};
    const char *const *known = all[is_zarr(plan)];
    const HcPlace *place = &scene->place;
    for (char **option = plan->options; option != NULL && *option != NULL; option++) {
        const char *const *name = known;
        while (*name != NULL && !EQUALN(*option, *name, strlen(*name))) {
            name++;
        }
        if (*name == NULL) {
            return hc_fail(err, HC_E_UNSUPPORTED, "%s: %s has no effect here (%s)", plan->path, *option,
                           is_zarr(plan) ? "Zarr is written in version 2 and takes COMPRESS, ZLIB_LEVEL, "
                                           "GZIP_LEVEL, ZSTD_LEVEL"
                                         : "netCDF takes FORMAT, COMPRESS, ZLEVEL");
        }
    }
    if (place->has_transform && (place->transform[2] != 0 || place->transform[4] != 0)) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: %s has no words for a turned grid (GTiff has)", plan->path,
                       plan->format);
    }
    return HC_OK;
}

HcStatus hc_write_netcdf_check_map(const HcWritePlan *plan, const HcScene *scene, HcError *err) {
    OGRSpatialReferenceH crs = scene->place.crs != NULL ? OSRNewSpatialReference(scene->place.crs) : NULL;
    HcStatus status = HC_OK;
    if (crs != NULL && !driver_takes(crs)) {
        const char *projection = OSRGetAttrValue(crs, "PROJECTION", 0);
        status = hc_fail(err, HC_E_UNSUPPORTED,
                         "%s: this GDAL writes no class map in the projection %s to netCDF (GTiff takes it)",
                         plan->path, projection != NULL ? projection : "of the scene");
    }
    OSRDestroySpatialReference(crs);
    return status;
}

/* Chunks are whole lines of some bands, so that none is written twice. */
static HcStatus array_options(const HcWritePlan *plan, const HcScene *scene, char ***options, HcError *err) {
    char text[96];
    const char *compress = CSLFetchNameValue(plan->options, "COMPRESS");
    const char *level = CSLFetchNameValue(plan->options, "ZLEVEL");
    bool zarr = is_zarr(plan);
    if (!zarr && (compress == NULL || !hc_text_equal(compress, "deflate"))) {
        return HC_OK;
    }
    int64_t lines = scene->lines < CHUNK_LINES ? scene->lines : CHUNK_LINES;
    double bands = (zarr ? ZARR_CHUNK_BYTES : CHUNK_BYTES) /
                   ((double)lines * (double)scene->samples * (double)hc_type_bytes(plan->type));
    bands = fmax(1, fmin(bands, scene->bands));
    snprintf(text, sizeof text, "%d,%lld,%lld", (int)bands, (long long)lines, (long long)scene->samples);
    HC_OR_RETURN(hc_write_option(options, "BLOCKSIZE", text, err));
    if (zarr) {
        return hc_write_options_add(options, (const char *const *)plan->options, err);
    }
    HC_OR_RETURN(hc_write_option(options, "COMPRESS", "DEFLATE", err));
    return level != NULL ? hc_write_option(options, "ZLEVEL", level, err) : HC_OK;
}

int32_t hc_write_array_rows(const HcScene *scene) {
    return scene->lines < CHUNK_LINES ? (int32_t)scene->lines : CHUNK_LINES;
}

/* Leaves `values` NULL where GDAL fails. */
static HcStatus create_values(HcWriteArray *file, const HcScene *scene, const HcWritePlan *plan,
                              HcError *err) {
    char **options = NULL;
    HcStatus status = HC_OK;
    bool spectral = is_coordinate(scene);
    OGRSpatialReferenceH crs = scene->place.crs != NULL ? OSRNewSpatialReference(scene->place.crs) : NULL;
    bool geographic = crs != NULL && OSRIsGeographic(crs);
    OSRDestroySpatialReference(crs);
    file->dimension[0] = GDALGroupCreateDimension(file->root, spectral ? "wavelength" : "band", NULL, NULL,
                                                  (GUInt64)scene->bands, NULL);
    file->dimension[1] = GDALGroupCreateDimension(
        file->root, geographic ? "lat" : "y", GDAL_DIM_TYPE_HORIZONTAL_Y, NULL, (GUInt64)scene->lines, NULL);
    file->dimension[2] =
        GDALGroupCreateDimension(file->root, geographic ? "lon" : "x", GDAL_DIM_TYPE_HORIZONTAL_X, NULL,
                                 (GUInt64)scene->samples, NULL);
    for (int d = 0; d < 3; d++) {
        if (file->dimension[d] == NULL) {
            return HC_OK;
        }
    }
    HC_TRY(array_options(plan, scene, &options, err));
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreate(plan->gdal_type);
    file->values = GDALGroupCreateMDArray(file->root, "scene", 3, file->dimension, type, options);
    GDALExtendedDataTypeRelease(type);
done:
    CSLDestroy(options);
    return status;
}

static void put_nodata(GDALMDArrayH values, const HcWritePlan *plan) {
    if (plan->type == HC_INT64) {
        GDALMDArraySetNoDataValueAsInt64(values, (int64_t)plan->nodata);
    } else if (plan->type == HC_UINT64) {
        GDALMDArraySetNoDataValueAsUInt64(values, (uint64_t)plan->nodata);
    } else {
        GDALMDArraySetNoDataValueAsDouble(values, plan->nodata);
    }
}

static HcStatus describe(HcWriteArray *file, const HcScene *scene, const HcWritePlan *plan, HcError *err) {
    char program[64];
    snprintf(program, sizeof program, "hcube %s", hc_version());
    put_global(file->root, "Conventions", "CF-1.8");
    put_global(file->root, "source", program);
    if (scene->description != NULL) {
        put_global(file->root, "title", scene->description);
    }
    if (scene->number_names != NULL) {
        put_text(file->values, "spectrum_names", scene->number_names);
    }
    if (!plan->no_nodata) {
        put_nodata(file->values, plan);
    }
    if (file->zarr) {
        put_axis_names(file->values);
    }
    if (!plan->no_nodata && file->zarr) { /* the fill value alone may be anything */
        put_number(file->values, "_FillValue", plan->nodata);
    }
    put_scale(file, scene);
    HC_OR_RETURN(put_bands(file, scene, err));
    return put_place(file, scene, err);
}

HcStatus hc_write_array_create(HcWriteArray **out, const char *partial, const HcScene *scene,
                               const HcWritePlan *plan, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors errors;
    HcWriteArray *file = NULL;
    char **options = NULL;
    *out = NULL;
    HC_OR_RETURN(hc_new(file, 1, "a writer", err));
    hc_gdal_catch(&errors);
    file->errors = &errors;
    file->zarr = is_zarr(plan);
    const char *format = CSLFetchNameValue(plan->options, "FORMAT");
    if (format != NULL) {
        HC_TRY(hc_write_option(&options, "FORMAT", format, err));
    }
    file->dataset = GDALCreateMultiDimensional(plan->driver, partial, NULL, options);
    file->root = file->dataset != NULL ? GDALDatasetGetRootGroup(file->dataset) : NULL;
    if (file->root != NULL) {
        HC_TRY(create_values(file, scene, plan, err));
    }
    if (file->values != NULL) {
        HC_TRY(describe(file, scene, plan, err));
    }
    if (file->values == NULL || errors.failed) {
        HC_TRY(hc_gdal_fail(err, HC_E_IO, plan->path, &errors));
    }
    *out = file;
    file = NULL;
done:
    CSLDestroy(options);
    hc_gdal_release();
    hc_write_array_close(file);
    return status;
}

HcStatus hc_write_array_lines(HcWriteArray *file, const HcWritePlan *plan, const HcStored *layout,
                              const void *stored, int64_t line0, int32_t rows, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors errors;
    GUInt64 start[] = {0, (GUInt64)line0, 0};
    size_t count[] = {(size_t)layout->bands, (size_t)rows, (size_t)layout->samples};
    GPtrDiff_t stride[] = {(GPtrDiff_t)hc_stored_stride_band(layout),
                           (GPtrDiff_t)hc_stored_stride_row(layout),
                           (GPtrDiff_t)hc_stored_stride_sample(layout)};
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreate(plan->gdal_type);
    hc_gdal_catch(&errors);
    if (!GDALMDArrayWrite(file->values, start, count, NULL, stride, type, stored, NULL, 0) || errors.failed) {
        status = hc_gdal_fail(err, HC_E_IO, plan->path, &errors);
    }
    hc_gdal_release();
    GDALExtendedDataTypeRelease(type);
    return status;
}

GDALDatasetH hc_write_array_dataset(HcWriteArray *file) {
    GDALDatasetH dataset = file->dataset;
    file->dataset = NULL;
    hc_write_array_close(file);
    return dataset;
}

void hc_write_array_close(HcWriteArray *file) {
    if (file == NULL) {
        return;
    }
    GDALMDArrayRelease(file->values);
    for (int d = 0; d < 3; d++) {
        GDALDimensionRelease(file->dimension[d]);
    }
    GDALGroupRelease(file->root);
    GDALClose(file->dataset);
    free(file);
}
