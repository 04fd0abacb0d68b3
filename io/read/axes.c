/* The axes of an array in a netCDF or HDF file. GDAL makes lines and samples of the last two axes and bands
 * of the others, whatever they are: a product with bands last opens sideways. Only the names of the axes
 * tell, and only GDAL's interface for arrays has them. */
#include "core/allocate.h"
#include "io/read/parts.h"
#include "io/read/metadata/wavelength.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
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
    return hc_text_find(GDALGetDriverShortName(GDALGetDatasetDriver(dataset)), drivers) >= 0;
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
    GDALMDArrayRelease(values);
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

/* An array of an open file; all NULL where it is not found. */
typedef struct Opened {
    GDALDatasetH dataset;
    GDALGroupH root;
    GDALMDArrayH array;
} Opened;

/* The first array of more than one axis in a group, or in the groups of it. */
static GDALMDArrayH first_array(GDALGroupH group, int depth) {
    GDALMDArrayH found = NULL;
    char **names = GDALGroupGetMDArrayNames(group, NULL);
    for (int i = 0; names != NULL && names[i] != NULL && found == NULL; i++) {
        found = GDALGroupOpenMDArray(group, names[i], NULL);
        if (found != NULL && GDALMDArrayGetDimensionCount(found) < 2) {
            GDALMDArrayRelease(found);
            found = NULL;
        }
    }
    CSLDestroy(names);
    names = depth > 0 && found == NULL ? GDALGroupGetGroupNames(group, NULL) : NULL;
    for (int i = 0; names != NULL && names[i] != NULL && found == NULL; i++) {
        GDALGroupH inner = GDALGroupOpenGroup(group, names[i], NULL);
        if (inner != NULL) {
            found = first_array(inner, depth - 1);
            GDALGroupRelease(inner);
        }
    }
    CSLDestroy(names);
    return found;
}

/* By its full name, else by its own name in any group. Without a name: the file has but one. */
static Opened open_array(const char *file, const char *name) {
    /* HDF5 leaves files with the ending .nc to netCDF. */
    static const char *const only[] = {"netCDF", "HDF5", "HDF4", NULL};
    Opened to = {.dataset = GDALOpenEx(file, GDAL_OF_MULTIDIM_RASTER | GDAL_OF_READONLY, only, NULL, NULL)};
    to.root = to.dataset != NULL ? GDALDatasetGetRootGroup(to.dataset) : NULL;
    to.array = to.root != NULL ? GDALGroupOpenMDArrayFromFullname(to.root, name, NULL) : NULL;
    if (to.root != NULL && name[1] == '\0') {
        to.array = first_array(to.root, 8);
    } else if (to.root != NULL && to.array == NULL) {
        to.array = GDALGroupResolveMDArray(to.root, strrchr(name, '/') + 1, "/", NULL);
    }
    return to;
}

static void close_array(const Opened *opened) {
    GDALMDArrayRelease(opened->array);
    GDALGroupRelease(opened->root);
    GDALClose(opened->dataset);
}

/* Whether the coordinates of the lines rise (1) or fall (-1); 0 where there are none. */
static int rise_of_lines(GDALMDArrayH array, const HcAxis order[HC_AXES]) {
    size_t count = 0;
    int rise = 0;
    GDALDimensionH *axis = GDALMDArrayGetDimensions(array, &count);
    for (size_t i = 0; i < count; i++) {
        GUInt64 start = 0;
        size_t two = 2;
        double y[2] = {0, 0};
        bool is_line = order[i + HC_AXES - count] == HC_AXIS_LINE && GDALDimensionGetSize(axis[i]) > 1;
        GDALMDArrayH values = is_line ? GDALDimensionGetIndexingVariable(axis[i]) : NULL;
        GDALExtendedDataTypeH type = GDALExtendedDataTypeCreate(GDT_Float64);
        if (values != NULL && GDALMDArrayRead(values, &start, &two, NULL, NULL, type, y, y, sizeof y)) {
            rise = y[1] > y[0] ? 1 : y[1] < y[0] ? -1 : 0;
        }
        GDALExtendedDataTypeRelease(type);
        GDALMDArrayRelease(values);
    }
    GDALReleaseDimensions(axis, count);
    return rise;
}

static Axes axes_of(GDALMDArrayH array) {
    Axes axes = {.count = 0};
    size_t count = 0;
    GDALDimensionH *dimensions = array != NULL ? GDALMDArrayGetDimensions(array, &count) : NULL;
    for (size_t i = 0; i < count && count <= AXES_MAX; i++) {
        axes.axis[axes.count++] = axis_of(dimensions[i]);
    }
    GDALReleaseDimensions(dimensions, count);
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
        Opened opened = open_array(array->file, array->name);
        Axes axes = axes_of(opened.array);
        array->known = find_order(&axes, dataset, array->order);
        if (array->known) {
            free(array->name);
            array->name = strdup(GDALMDArrayGetFullName(opened.array));
            array->rise = rise_of_lines(opened.array, array->order);
        }
        close_array(&opened);
    }
    hc_gdal_release();
    return array->file != NULL && array->name != NULL ? HC_OK
                                                      : hc_fail_memory(err, (double)strlen(path), "a path");
}

/* By the names of its axes; of two, lines and samples, band comes first. */
bool hc_read_order(GDALMDArrayH array, HcAxis order[HC_AXES], char *bands, size_t bytes) {
    static const HcAxis of_kind[] = {
        [KIND_BAND] = HC_AXIS_BAND, [KIND_LINE] = HC_AXIS_LINE, [KIND_SAMPLE] = HC_AXIS_SAMPLE};
    Axes axes = axes_of(array);
    int seen[4] = {0};
    order[0] = HC_AXIS_BAND;
    bands[0] = '\0';
    for (size_t i = 0; i < axes.count && axes.count <= HC_AXES; i++) {
        Kind kind = axes.axis[i].kind;
        seen[kind]++;
        order[i + HC_AXES - axes.count] = of_kind[kind];
        if (kind == KIND_BAND) {
            snprintf(bands, bytes, "%s", axes.axis[i].name);
        }
    }
    return seen[KIND_LINE] == 1 && seen[KIND_SAMPLE] == 1 && seen[KIND_BAND] == (axes.count == HC_AXES) &&
           seen[KIND_OTHER] == 0;
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
    Opened opened = open_array(file, array);
    Axes axes = axes_of(opened.array);
    close_array(&opened);
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

/* ---- wavelengths ---- */

static bool has_word(const char *text, const char *const *words) {
    bool has = false;
    for (; *words != NULL; words++) {
        has = has || strcasestr(text, *words) != NULL;
    }
    return has;
}

/* By its name, the standard name of CF, or as the coordinates of the bands with a unit of light. */
static HcReadRole role_of(GDALMDArrayH list, const char *unit, bool is_coordinate) {
    static const char *const others[] = {"good",   "bad", "flag",  "mask", "qual",
                                         "uncert", "err", "shift", NULL};
    static const char *const widths[] = {"fwhm", "width", NULL};
    static const char *const centres[] = {"wavelength", NULL};
    const char *name = GDALMDArrayGetName(list);
    double factor = 0;
    GDALAttributeH attribute = GDALMDArrayGetAttribute(list, "standard_name");
    const char *said = attribute != NULL ? GDALAttributeReadAsString(attribute) : NULL;
    bool standard = said != NULL && has_word(said, centres);
    GDALAttributeRelease(attribute);
    HcUnitKind kind = hc_wavelength_unit(unit, &factor);
    if (kind == HC_UNIT_OTHER || has_word(name, others)) {
        return HC_ROLE_NONE;
    }
    bool light = is_coordinate && kind == HC_UNIT_LENGTH && factor < 1e6;
    return has_word(name, widths) ? HC_ROLE_WIDTH
           : standard || light || has_word(name, centres) ||
                   (kind == HC_UNIT_LENGTH && kind_of_name(name) == KIND_BAND)
               ? HC_ROLE_CENTRE
               : HC_ROLE_NONE;
}

/* The only axis of the list is that of the bands; HDF5 mostly does not name axes. */
static bool is_along(GDALMDArrayH list, const Axis *bands, bool *is_coordinate) {
    size_t count = 0;
    GDALDimensionH *axis = GDALMDArrayGetDimensions(list, &count);
    const char *name = count == 1 ? GDALDimensionGetName(axis[0]) : "";
    bool named = strcmp(name, bands->name) == 0, unnamed = strncmp(name, "dim", 3) == 0;
    bool is = count == 1 && (int64_t)GDALDimensionGetSize(axis[0]) == bands->size && (named || unnamed);
    *is_coordinate = is && strcmp(GDALMDArrayGetName(list), name) == 0;
    GDALReleaseDimensions(axis, count);
    return is;
}

HcReadRole hc_read_role(GDALMDArrayH list, const char *bands, int64_t count) {
    Axis axis = {.size = count};
    bool is_coordinate = false;
    snprintf(axis.name, sizeof axis.name, "%s", bands);
    return is_along(list, &axis, &is_coordinate) ? role_of(list, GDALMDArrayGetUnit(list), is_coordinate)
                                                 : HC_ROLE_NONE;
}

static HcStatus read_list(GDALMDArrayH list, size_t count, double **values, int32_t *found, HcError *err) {
    GUInt64 start = 0;
    GDALMDArrayH unpacked = GDALMDArrayGetUnscaled(list);
    HC_OR_RETURN(hc_new(*values, count, "wavelengths", err));
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreate(GDT_Float64);
    bool read = GDALMDArrayRead(unpacked != NULL ? unpacked : list, &start, &count, NULL, NULL, type, *values,
                                *values, count * sizeof **values);
    *found = read ? (int32_t)count : 0;
    GDALExtendedDataTypeRelease(type);
    GDALMDArrayRelease(unpacked);
    return HC_OK;
}

/* Takes the list as wavelengths or widths, unless those are there. */
static HcStatus take_list(HcReader *reader, GDALMDArrayH list, const Axis *bands, HcError *err) {
    HcStatus status = HC_OK;
    HcReadSpectral found = {.unit = GDALMDArrayGetUnit(list)};
    bool is_coordinate = false;
    HcReadRole role =
        is_along(list, bands, &is_coordinate) ? role_of(list, found.unit, is_coordinate) : HC_ROLE_NONE;
    if (role == HC_ROLE_CENTRE && reader->scene.wavelength == NULL) {
        HC_TRY(read_list(list, (size_t)bands->size, &found.wavelength, &found.wavelength_count, err));
        HC_TRY(hc_read_spectral(reader, &found, err));
    } else if (role == HC_ROLE_WIDTH && reader->scene.fwhm == NULL) {
        HC_TRY(read_list(list, (size_t)bands->size, &found.fwhm, &found.fwhm_count, err));
        HC_TRY(hc_read_spectral(reader, &found, err));
    }
done:
    free(found.wavelength);
    free(found.fwhm);
    return status;
}

static HcStatus take_lists(HcReader *reader, GDALGroupH group, const Axis *bands, HcError *err) {
    HcStatus status = HC_OK;
    char **names = group != NULL ? GDALGroupGetMDArrayNames(group, NULL) : NULL;
    for (int i = 0; names != NULL && names[i] != NULL && status == HC_OK; i++) {
        GDALMDArrayH list = GDALGroupOpenMDArray(group, names[i], NULL);
        if (list != NULL) {
            status = GDALMDArrayGetDimensionCount(list) == 1 ? take_list(reader, list, bands, err) : HC_OK;
            GDALMDArrayRelease(list);
        }
    }
    CSLDestroy(names);
    return status;
}

/* The axis of the bands; NULL where none is known. */
static const Axis *axis_of_bands(const Axes *axes, int32_t bands) {
    for (size_t i = 0; i < axes->count; i++) {
        if (axes->axis[i].kind == KIND_BAND && axes->axis[i].size == bands) {
            return &axes->axis[i];
        }
    }
    return axes->count == 3 && axes->axis[0].kind == KIND_OTHER && axes->axis[0].size == bands
               ? &axes->axis[0]
               : NULL;
}

HcStatus hc_read_array_spectral(HcReader *reader, HcError *err) {
    HcStatus status = HC_OK;
    char *file = NULL, *name = NULL;
    if (!shows_arrays(reader->dataset)) {
        return HC_OK;
    }
    split_name(reader->dataset, reader->path, &file, &name);
    Opened opened = {0};
    if (file == NULL || name == NULL) {
        status = hc_fail_memory(err, (double)strlen(reader->path), "a path");
    } else {
        opened = open_array(file, name);
    }
    Axes axes = axes_of(opened.array);
    const Axis *bands = axis_of_bands(&axes, reader->scene.bands);
    const char *full = opened.array != NULL ? GDALMDArrayGetFullName(opened.array) : "/";
    char *folder = hc_text_format("%.*s", (int)(strrchr(full, '/') - full), full);
    GDALGroupH group = bands != NULL && folder != NULL && folder[0] != '\0'
                           ? GDALGroupOpenGroupFromFullname(opened.root, folder, NULL)
                           : NULL;
    if (bands != NULL) {
        status = take_lists(reader, group, bands, err);
        status = status == HC_OK ? take_lists(reader, opened.root, bands, err) : status;
    }
    GDALGroupRelease(group);
    close_array(&opened);
    free(folder);
    free(file);
    free(name);
    return status;
}

/* ---- values ---- */

/* The numbers of an attribute, at most `most`; 0 where there are none. Negative ones of an array of unsigned
 * values are meant without sign. */
static int32_t numbers_of(GDALMDArrayH array, const char *name, double wrap, double *to, int32_t most) {
    size_t count = 0;
    GDALAttributeH attribute = GDALMDArrayGetAttribute(array, name);
    double *values = attribute != NULL ? GDALAttributeReadAsDoubleArray(attribute, &count) : NULL;
    int32_t taken = count < (size_t)most ? (int32_t)count : most;
    for (int32_t i = 0; values != NULL && i < taken; i++) {
        to[i] = values[i] < 0 ? values[i] + wrap : values[i];
    }
    CPLFree(values);
    GDALAttributeRelease(attribute);
    return values != NULL ? taken : 0;
}

static bool is_unsigned(GDALMDArrayH array) {
    GDALAttributeH attribute = GDALMDArrayGetAttribute(array, "_Unsigned");
    const char *said = attribute != NULL ? GDALAttributeReadAsString(attribute) : NULL;
    bool is = said != NULL && hc_text_equal(said, "true");
    GDALAttributeRelease(attribute);
    return is;
}

/* GDAL's netCDF driver takes _Unsigned of bytes and 16 bits alone. */
static void take_sign(HcScene *scene) {
    HcType type = scene->type == HC_INT32 ? HC_UINT32 : scene->type == HC_INT64 ? HC_UINT64 : scene->type;
    if (type != scene->type && scene->has_nodata && scene->nodata < 0) {
        scene->nodata += type == HC_UINT32 ? 0x1p32 : 0x1p64;
    }
    scene->type = type;
}

static void find_validity(HcReader *reader, GDALMDArrayH array) {
    HcReadValidity *found = &reader->validity;
    double range[2] = {0, 0};
    bool as_unsigned = is_unsigned(array);
    if (as_unsigned) {
        take_sign(&reader->scene);
    }
    double wrap = as_unsigned ? ldexp(1, 8 * (int)hc_type_bytes(reader->scene.type)) : 0;
    *found = (HcReadValidity){.low = -INFINITY, .high = INFINITY, .scale = 1};
    (void)numbers_of(array, "scale_factor", 0, &found->scale, 1);
    (void)numbers_of(array, "add_offset", 0, &found->offset, 1);
    if (numbers_of(array, "valid_range", wrap, range, 2) == 2) {
        found->low = range[0];
        found->high = range[1];
    }
    bool limited = found->low > -INFINITY;
    limited = numbers_of(array, "valid_min", wrap, &found->low, 1) > 0 || limited;
    limited = numbers_of(array, "valid_max", wrap, &found->high, 1) > 0 || limited;
    const int32_t most = (int32_t)(sizeof found->missing / sizeof *found->missing);
    found->count = numbers_of(array, "missing_value", wrap, found->missing, most);
    found->known =
        limited || found->count > 1 ||
        (found->count == 1 && (!reader->scene.has_nodata || reader->scene.nodata != found->missing[0]));
}

HcStatus hc_read_array_validity(HcReader *reader, HcError *err) {
    HcStatus status = HC_OK;
    char *file = NULL, *name = NULL;
    if (!shows_arrays(reader->dataset)) {
        return HC_OK;
    }
    split_name(reader->dataset, reader->path, &file, &name);
    if (file == NULL || name == NULL) {
        status = hc_fail_memory(err, (double)strlen(reader->path), "a path");
    } else {
        Opened opened = open_array(file, name);
        if (opened.array != NULL) {
            find_validity(reader, opened.array);
        }
        close_array(&opened);
    }
    free(file);
    free(name);
    return status;
}
