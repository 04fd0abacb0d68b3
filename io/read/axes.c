/* The axes of an array in a netCDF or HDF file. GDAL makes lines and samples of the last two axes and bands
 * of the others, whatever they are: a product with bands last opens sideways. Only the names of the axes
 * tell, and only GDAL's interface for arrays has them. */
#include "io/read/parts.h"
#include "io/read/wavelength.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define AXES_MAX 8

typedef enum Kind { KIND_OTHER, KIND_BAND, KIND_LINE, KIND_SAMPLE } Kind;

typedef struct Axis {
    char name[64];
    int64_t size;
    Kind kind;
} Axis;

typedef struct Axes {
    Axis axis[AXES_MAX];
    size_t count;
} Axes;

/* ---- the array ---- */

/* Whether the driver shows an array of any axes as bands. */
static bool shows_arrays(GDALDatasetH dataset) {
    static const char *const drivers[] = {"netCDF", "HDF5Image", "HDF4Image", NULL};
    const char *driver = GDALGetDriverShortName(GDALGetDatasetDriver(dataset));
    for (int i = 0; drivers[i] != NULL; i++) {
        if (hc_text_equal(driver, drivers[i])) {
            return true;
        }
    }
    return false;
}

/* Parts NETCDF:"FILE":ARRAY or the like into file and array; of a plain path the array is what the first band
 * says. Both fresh; NULL when memory ran out. */
static void split_name(GDALDatasetH dataset, const char *path, char **file, char **array) {
    const char *colon = strchr(path, ':');
    bool prefixed = strncmp(path, "NETCDF:", 7) == 0 || strncmp(path, "HDF5:", 5) == 0 ||
                    strncmp(path, "HDF4_SDS:", 9) == 0;
    const char *name = GDALGetMetadataItem(GDALGetRasterBand(dataset, 1), "NETCDF_VARNAME", NULL);
    if (!prefixed) {
        *file = strdup(path);
        *array = hc_text_format("/%s", name != NULL ? name : "");
        return;
    }
    const char *begin = colon + 1, *end = NULL;
    if (begin[0] == '"' && (end = strchr(begin + 1, '"')) != NULL) {
        begin++;
    } else {
        end = strrchr(begin, ':');
    }
    end = end != NULL ? end : begin + strlen(begin);
    *file = hc_text_format("%.*s", (int)(end - begin), begin);
    const char *rest = end + strspn(end, "\":/");
    *array = hc_text_format("/%s", rest);
}

/* ---- the names ---- */

static bool is_among(const char *word, const char *const *words) {
    for (; *words != NULL; words++) {
        if (strcmp(word, *words) == 0) {
            return true;
        }
    }
    return false;
}

/* What an axis of that name is; separators and case do not count. */
static Kind kind_of_name(const char *name) {
    static const char *const lines[] = {"y",
                                        "ydim",
                                        "lat",
                                        "latitude",
                                        "line",
                                        "lines",
                                        "row",
                                        "rows",
                                        "downtrack",
                                        "alongtrack",
                                        "northing",
                                        "scan",
                                        "scans",
                                        "scanline",
                                        "scanlines",
                                        "nlines",
                                        "nrows",
                                        "ny",
                                        "numberoflines",
                                        "numlines",
                                        "numrows",
                                        "nscans",
                                        "projectionycoordinate",
                                        NULL};
    static const char *const samples[] = {"x",
                                          "xdim",
                                          "lon",
                                          "longitude",
                                          "sample",
                                          "samples",
                                          "col",
                                          "cols",
                                          "column",
                                          "columns",
                                          "crosstrack",
                                          "acrosstrack",
                                          "easting",
                                          "pixel",
                                          "pixels",
                                          "nsamples",
                                          "ncols",
                                          "nx",
                                          "xtrack",
                                          "numberofsamples",
                                          "numsamples",
                                          "numcolumns",
                                          "numberofpixels",
                                          "projectionxcoordinate",
                                          NULL};
    static const char *const bands[] = {"wl", "wls", "lambda", "wave", "waves", "wvl", "wvls", NULL};
    char word[64];
    size_t length = 0;
    for (; *name != '\0' && length + 1 < sizeof word; name++) {
        if (isalnum((unsigned char)*name)) {
            word[length++] = (char)tolower((unsigned char)*name);
        }
    }
    word[length] = '\0';
    bool spectral = strstr(word, "band") != NULL || strstr(word, "wavelength") != NULL ||
                    strstr(word, "channel") != NULL || strstr(word, "spectral") != NULL;
    return spectral || is_among(word, bands) ? KIND_BAND
           : is_among(word, lines)           ? KIND_LINE
           : is_among(word, samples)         ? KIND_SAMPLE
                                             : KIND_OTHER;
}

/* Coordinates that are lengths of light: nm, um. */
static bool has_wavelengths(GDALDimensionH dimension) {
    double factor = 0;
    GDALMDArrayH values = GDALDimensionGetIndexingVariable(dimension);
    const char *unit = values != NULL ? GDALMDArrayGetUnit(values) : NULL;
    bool has = hc_wavelength_unit(unit, &factor) == HC_UNIT_LENGTH && factor < 1e6;
    if (values != NULL) {
        GDALMDArrayRelease(values);
    }
    return has;
}

static Axis axis_of(GDALDimensionH dimension) {
    Axis axis = {.size = (int64_t)GDALDimensionGetSize(dimension)};
    const char *type = GDALDimensionGetType(dimension);
    snprintf(axis.name, sizeof axis.name, "%s", GDALDimensionGetName(dimension));
    axis.kind = strcmp(type, "HORIZONTAL_X") == 0   ? KIND_SAMPLE
                : strcmp(type, "HORIZONTAL_Y") == 0 ? KIND_LINE
                : has_wavelengths(dimension)        ? KIND_BAND
                                                    : kind_of_name(axis.name);
    return axis;
}

/* None where the array is not found. */
static Axes find_axes(const char *file, const char *array) {
    /* HDF5 leaves files with the ending .nc to netCDF. */
    static const char *const only[] = {"netCDF", "HDF5", "HDF4", NULL};
    Axes axes = {.count = 0};
    size_t count = 0;
    GDALDatasetH dataset = GDALOpenEx(file, GDAL_OF_MULTIDIM_RASTER | GDAL_OF_READONLY, only, NULL, NULL);
    GDALGroupH root = dataset != NULL ? GDALDatasetGetRootGroup(dataset) : NULL;
    GDALMDArrayH found = root != NULL ? GDALGroupOpenMDArrayFromFullname(root, array, NULL) : NULL;
    GDALDimensionH *dimensions = found != NULL ? GDALMDArrayGetDimensions(found, &count) : NULL;
    for (size_t i = 0; i < count && count <= AXES_MAX; i++) {
        axes.axis[axes.count++] = axis_of(dimensions[i]);
    }
    GDALReleaseDimensions(dimensions, count);
    if (found != NULL) {
        GDALMDArrayRelease(found);
    }
    if (root != NULL) {
        GDALGroupRelease(root);
    }
    GDALClose(dataset);
    return axes;
}

/* ---- what they say ---- */

/* Lines, samples and bands lie where GDAL's sizes say, by the names of three axes in any order. */
static bool sizes_agree(const Axes *axes, GDALDatasetH dataset) {
    int64_t wanted[] = {[KIND_BAND] = GDALGetRasterCount(dataset),
                        [KIND_LINE] = GDALGetRasterYSize(dataset),
                        [KIND_SAMPLE] = GDALGetRasterXSize(dataset)};
    int seen[4] = {0};
    for (size_t i = 0; i < axes->count; i++) {
        Kind kind = axes->axis[i].kind;
        seen[kind]++;
        if (kind == KIND_OTHER || axes->axis[i].size != wanted[kind]) {
            return false;
        }
    }
    return axes->count == 3 && seen[KIND_BAND] == 1 && seen[KIND_LINE] == 1 && seen[KIND_SAMPLE] == 1;
}

/* Whether the axes are those of bands, lines and samples, in the order in which GDAL takes them. */
static bool in_order(const Axes *axes, GDALDatasetH dataset) {
    const Axis *line = &axes->axis[axes->count - 2], *sample = &axes->axis[axes->count - 1];
    if (line->size != GDALGetRasterYSize(dataset) || sample->size != GDALGetRasterXSize(dataset)) {
        return sizes_agree(axes, dataset); /* of some products GDAL knows the order */
    }
    Kind first = KIND_OTHER;
    int extra = 0;
    int64_t bands = 1;
    for (size_t i = 0; i + 2 < axes->count; i++) {
        if (axes->axis[i].kind == KIND_LINE || axes->axis[i].kind == KIND_SAMPLE) {
            return false;
        }
        bands *= axes->axis[i].size;
        if (axes->axis[i].size > 1 || axes->count == 3) {
            first = axes->axis[i].kind;
            extra++;
        }
    }
    if (bands != GDALGetRasterCount(dataset)) {
        return false; /* of more than three axes some drivers show a part */
    }
    if (line->kind == KIND_SAMPLE || line->kind == KIND_BAND || sample->kind == KIND_LINE ||
        sample->kind == KIND_BAND) {
        return false;
    }
    bool placed = line->kind == KIND_LINE && sample->kind == KIND_SAMPLE;
    if (extra > 1) {
        return false; /* GDAL makes a band of each pair of time and band */
    }
    return placed || (extra == 1 && first == KIND_BAND) || GDALGetRasterCount(dataset) == 1;
}

/* The axes of an array that is in order, as GDAL takes them. */
static bool find_order(const Axes *axes, GDALDatasetH dataset, HcAxis order[HC_AXES]) {
    static const HcAxis usual[] = {HC_AXIS_BAND, HC_AXIS_LINE, HC_AXIS_SAMPLE};
    static const HcAxis of_kind[] = {
        [KIND_BAND] = HC_AXIS_BAND, [KIND_LINE] = HC_AXIS_LINE, [KIND_SAMPLE] = HC_AXIS_SAMPLE};
    if (axes->count < 2 || axes->count > 3) {
        return false;
    }
    const Axis *line = &axes->axis[axes->count - 2], *sample = &axes->axis[axes->count - 1];
    bool as_usual = line->size == GDALGetRasterYSize(dataset) &&
                    sample->size == GDALGetRasterXSize(dataset) &&
                    (axes->count == 2 ? 1 : axes->axis[0].size) == GDALGetRasterCount(dataset);
    for (int i = 0; i < HC_AXES; i++) {
        if (!as_usual && (axes->count < 3 || axes->axis[i].kind == KIND_OTHER)) {
            return false;
        }
        order[i] = as_usual ? usual[i] : of_kind[axes->axis[i].kind];
    }
    return as_usual || sizes_agree(axes, dataset);
}

HcStatus hc_read_array(HcReadArray *array, GDALDatasetH dataset, const char *path, HcError *err) {
    HcGdalErrors messages;
    *array = (HcReadArray){0};
    if (!shows_arrays(dataset)) {
        return HC_OK;
    }
    hc_gdal_catch(&messages);
    split_name(dataset, path, &array->file, &array->name);
    if (array->file != NULL && array->name != NULL) {
        Axes axes = find_axes(array->file, array->name);
        array->known = find_order(&axes, dataset, array->order);
    }
    hc_gdal_release();
    return array->file != NULL && array->name != NULL ? HC_OK
                                                      : hc_fail_memory(err, (double)strlen(path), "a path");
}

static HcStatus fail_axes(const char *path, const Axes *axes, HcError *err) {
    HcText list = {0};
    for (size_t i = 0; i < axes->count; i++) {
        hc_text_add(&list, "%s%s (%" PRId64 ")", i > 0 ? ", " : "", axes->axis[i].name, axes->axis[i].size);
    }
    HcStatus status = hc_fail_text(
        err, HC_E_UNSUPPORTED, &list,
        "%s: the axes of this array are %s; they must be known as band, line, sample, in this order "
        "(gdalmdimtranslate can transpose and rename them)",
        path, axes->count > 0 ? hc_text_shown(&list) : "not named");
    hc_text_clear(&list);
    return status;
}

HcStatus hc_read_check_axes(GDALDatasetH dataset, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    char *file = NULL, *array = NULL;
    if (!shows_arrays(dataset)) {
        return HC_OK;
    }
    hc_gdal_catch(&messages);
    split_name(dataset, path, &file, &array);
    if (file == NULL || array == NULL) {
        status = hc_fail_memory(err, (double)strlen(path), "a path");
        goto done;
    }
    Axes axes = find_axes(file, array);
    bool single = GDALGetRasterCount(dataset) == 1;
    if (axes.count == 0 ? !single : axes.count > 2 && !in_order(&axes, dataset)) {
        status = fail_axes(path, &axes, err);
    }
done:
    hc_gdal_release();
    free(file);
    free(array);
    return status;
}
