/* Zarr of any producer: the array of pixels by the names of its axes, wavelengths from lists along its bands,
 * the place from coordinates and attributes of CF (grid_mapping) or GeoZarr (proj:, spatial:). A path may
 * lead to the array itself; its group is opened then, since lists and coordinates lie there. */
#include "io/chunk/zarr.h"
#include "core/allocate.h"
#include "core/text.h"
#include "io/read/metadata/envi_header.h"
#include "io/read/metadata/wavelength.h"
#include "io/read/parts.h"
#include "io/read/product/parts.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <gdal_version.h>
#include <inttypes.h>
#include <math.h>
#include <ogr_srs_api.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 4, NAMES_SHOWN = 4, VERSION_3 = 3110000 };

const HcProductRow hc_product_rows_zarr[] = {{.sensor = "any, as Zarr",
                                              .read = "array with named axes; CF, GeoZarr",
                                              .versions = "2; 3 by GDAL 3.13",
                                              .checked = "zarr-python 2, 3"},
                                             {0}};

/* ---- which array ---- */

/* GDAL 3.6 takes version 3 for an empty group, and 3.10 knows a draft of it alone. */
static HcStatus check_version(const char *path, HcError *err) {
    HcZarrNode node = HC_ZARR_NONE;
    char *text = NULL;
    HC_OR_RETURN(hc_zarr_node(path, &node, &text, err));
    bool three = text != NULL && hc_text_ends_with(text, ".json");
    free(text);
    return three && atoi(GDALVersionInfo("VERSION_NUM")) < VERSION_3
               ? hc_fail(
                     err, HC_E_UNSUPPORTED,
                     "%s: version 3 of Zarr is not read by GDAL %s (3.13 reads it; version 2 is read by all)",
                     path, GDALVersionInfo("RELEASE_NAME"))
               : HC_OK;
}

typedef struct Search {
    const char *only; /* the name of the array, NULL = any */
    const char *group;
    size_t axes;   /* of those found: three count before two */
    HcPaths found; /* full names */
    HcError why;   /* of the first array that does not open */
    HcText others;
} Search;

/* An array that GDAL does not open: what its text says, or else GDAL. */
static void keep_reason(Search *search, const char *group, const char *name, const HcGdalErrors *messages) {
    static const HcAxis usual[] = {HC_AXIS_BAND, HC_AXIS_LINE, HC_AXIS_SAMPLE};
    HcChunkIndex *index = NULL;
    char *folder = hc_text_format("%s%s/%s", search->group, strcmp(group, "/") == 0 ? "" : group, name);
    if (search->why.status == HC_OK && folder != NULL &&
        hc_chunk_zarr(&index, folder, usual, &search->why) == HC_OK) {
        (void)!hc_fail(&search->why, HC_E_UNSUPPORTED, "%s: GDAL does not open it%s%s", folder,
                       messages->failed ? ": " : "", messages->failed ? messages->text : "");
    }
    hc_chunk_index_free(index);
    free(folder);
}

static void note_axes(HcText *to, GDALMDArrayH array) {
    size_t count = 0;
    if (to->data != NULL && strstr(to->data, GDALMDArrayGetFullName(array)) != NULL) {
        return;
    }
    GDALDimensionH *axes = GDALMDArrayGetDimensions(array, &count);
    hc_text_add(to, "%s%.120s (", to->length > 0 ? "; " : "", GDALMDArrayGetFullName(array));
    for (size_t i = 0; i < count; i++) {
        hc_text_add(to, "%s%.60s %" PRIu64, i > 0 ? ", " : "", GDALDimensionGetName(axes[i]),
                    (uint64_t)GDALDimensionGetSize(axes[i]));
    }
    hc_text_add(to, ")");
    GDALReleaseDimensions(axes, count);
}

static HcStatus look_at_array(Search *search, GDALMDArrayH array, HcError *err) {
    HcAxis order[HC_AXES];
    char bands[64];
    const char *name = GDALMDArrayGetFullName(array);
    size_t axes = GDALMDArrayGetDimensionCount(array);
    if (axes < 2 || (search->only != NULL && strcmp(GDALMDArrayGetName(array), search->only) != 0)) {
        return HC_OK;
    }
    if (!hc_read_order(array, order, bands, sizeof bands)) {
        note_axes(&search->others, array);
        return HC_OK;
    }
    if (axes > search->axes) {
        hc_paths_clear(&search->found);
        search->axes = axes;
    }
    bool again = hc_paths_has(&search->found, name); /* GDAL 3.6 lists some twice */
    return axes == search->axes && !again ? hc_paths_add(&search->found, name, err) : HC_OK;
}

/* Arrays whose axes are known in a group and those in it. */
static HcStatus search_group(Search *search, GDALGroupH group, int depth, HcError *err) {
    HcStatus status = HC_OK;
    char **names = GDALGroupGetMDArrayNames(group, NULL);
    for (int n = 0; names != NULL && names[n] != NULL && status == HC_OK; n++) {
        HcGdalErrors messages;
        hc_gdal_catch(&messages);
        GDALMDArrayH array = GDALGroupOpenMDArray(group, names[n], NULL);
        hc_gdal_release();
        if (array != NULL) {
            status = look_at_array(search, array, err);
            GDALMDArrayRelease(array);
        } else {
            keep_reason(search, GDALGroupGetFullName(group), names[n], &messages);
        }
    }
    CSLDestroy(names);
    names = depth > 0 ? GDALGroupGetGroupNames(group, NULL) : NULL;
    for (int n = 0; names != NULL && names[n] != NULL && status == HC_OK; n++) {
        GDALGroupH inner = GDALGroupOpenGroup(group, names[n], NULL);
        if (inner != NULL) {
            status = search_group(search, inner, depth - 1, err);
            GDALGroupRelease(inner);
        }
    }
    CSLDestroy(names);
    return status;
}

static HcStatus fail_search(const Search *search, const char *path, HcError *err) {
    HcText names = {0};
    int32_t count = search->found.count;
    if (count == 0 && search->why.status != HC_OK) {
        return hc_fail(err, search->why.status, "%s", search->why.text);
    }
    for (int32_t n = 0; n < count && n < NAMES_SHOWN; n++) {
        hc_text_add(&names, "%s%.100s%.140s", n > 0 ? ", " : "", search->group, search->found.path[n]);
    }
    HcStatus status =
        count > 1
            ? hc_fail_text(err, HC_E_INPUT, &names, "%s: holds %d arrays of pixels, open one of them: %s%s",
                           path, (int)count, hc_text_shown(&names), count > NAMES_SHOWN ? ", ..." : "")
            : hc_fail(err, HC_E_UNSUPPORTED,
                      "%s: has no array whose axes are known as band, line, sample by their names%s%.300s",
                      path, search->others.length > 0 ? ": " : "", hc_text_shown(&search->others));
    hc_text_clear(&names);
    return status;
}

/* The only array of three known axes, else of two; its full name in fresh memory. */
static HcStatus find_pixels(const HcProductFile *file, const char *group, char **name, HcError *err) {
    HcStatus status = HC_OK;
    Search search = {.group = group,
                     .only = strcmp(group, file->path) != 0 ? strrchr(file->path, '/') + 1 : NULL};
    HC_TRY(search_group(&search, file->root, DEPTH, err));
    if (search.found.count != 1) {
        HC_TRY(fail_search(&search, file->path, err));
    }
    *name = strdup(search.found.path[0]);
    HC_TRY(hc_text_made(*name, strlen(file->path), "a name", err));
done:
    hc_paths_clear(&search.found);
    hc_text_clear(&search.others);
    return status;
}

/* The full name of an array in a group; replaces *out. */
static HcStatus join(const char *group, const char *name, char **out, HcError *err) {
    free(*out);
    *out = hc_text_format("%s%s%s", group, group[1] != '\0' ? "/" : "", name);
    return hc_text_made(*out, strlen(name), "a name", err);
}

/* ---- bands ---- */

typedef struct Bands {
    char axis[64];
    int32_t count;
    double *centre, *width, *good;
} Bands;

/* Wavelengths and widths in nanometres, or which bands are good; the first list of each counts. */
static HcStatus take_list(const HcProductFile *file, const char *name, GDALMDArrayH list, Bands *bands,
                          HcError *err) {
    HcReadRole role = hc_read_role(list, bands->axis, bands->count);
    double unit = 1, largest = 0;
    double **to = role == HC_ROLE_CENTRE                                      ? &bands->centre
                  : role == HC_ROLE_WIDTH                                     ? &bands->width
                  : strcmp(GDALMDArrayGetName(list), "good_wavelengths") == 0 ? &bands->good
                                                                              : NULL;
    if (to == NULL || *to != NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_product_list(file, name, bands->count, to, err));
    for (int32_t b = 0; b < bands->count; b++) {
        largest = fmax(largest, (*to)[b]);
    }
    if (role != HC_ROLE_NONE && hc_wavelength_unit(GDALMDArrayGetUnit(list), &unit) != HC_UNIT_LENGTH) {
        (void)hc_wavelength_guess(largest, &unit);
    }
    for (int32_t b = 0; b < bands->count; b++) {
        (*to)[b] *= unit;
    }
    return HC_OK;
}

static HcStatus find_lists(const HcProductFile *file, const char *in, Bands *bands, HcError *err) {
    HcStatus status = HC_OK;
    char *full = NULL, **names = hc_product_names(file, in, 1);
    for (int n = 0; names != NULL && names[n] != NULL && status == HC_OK; n++) {
        status = join(in, names[n], &full, err);
        GDALMDArrayH list = status == HC_OK ? GDALGroupOpenMDArrayFromFullname(file->root, full, NULL) : NULL;
        if (list != NULL) {
            status = take_list(file, full, list, bands, err);
            GDALMDArrayRelease(list);
        }
    }
    free(full);
    CSLDestroy(names);
    return status;
}

/* Names along the bands, as write makes them. */
static HcStatus name_bands(HcProduct *product, const HcProductFile *file, int32_t count, HcError *err) {
    int64_t size = 0;
    return hc_product_has_axes(file, "/band_name", 1) &&
                   hc_product_shape(file, "/band_name", 1, &size, err) == HC_OK && size == count
               ? hc_product_words(file, "/band_name", count, &product->scene.band_name, err)
               : HC_OK;
}

static HcStatus take_bands(HcProduct *product, const HcProductFile *file, const char *in, const char *dataset,
                           Bands *bands, HcError *err) {
    double gain = 1, offset = 0;
    HC_OR_RETURN(find_lists(file, in, bands, err));
    if (in[1] != '\0') {
        HC_OR_RETURN(find_lists(file, "/", bands, err));
    }
    int32_t found = 0;
    if (bands->centre == NULL) {
        HC_OR_RETURN(hc_product_numbers(file, dataset, "wavelengths", &bands->centre, &found, err));
    }
    if (found > 0 && found != bands->count) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: the attribute wavelengths of %s has %" PRId32 " values for %" PRId32 " bands",
                       file->path, dataset, found, bands->count);
    }
    product->no_wavelengths = bands->centre == NULL;
    product->any_order = true;
    gain = GDALMDArrayGetScale(product->array[0].handle, NULL);
    offset = GDALMDArrayGetOffset(product->array[0].handle, NULL);
    if (gain == 1 && offset == 0) {
        HC_OR_RETURN(hc_product_scale(file, dataset, &gain, &offset, err));
    }
    return hc_product_add_bands(product,
                                &(HcProductBands){.count = bands->count,
                                                  .wavelength = bands->centre,
                                                  .fwhm = bands->width,
                                                  .unit = 1,
                                                  .good = bands->good,
                                                  .gain = gain,
                                                  .offset = offset},
                                err);
}

/* ---- place ---- */

/* The coordinate system by the attributes of a variable, array or group, the first that has one. */
static HcStatus try_attributes(HcProduct *product, const HcProductFile *file, const char *of, HcError *err) {
    static const char *const names[] = {"crs_wkt", "spatial_ref", "proj:wkt2", "proj:code", NULL};
    for (int n = 0; names[n] != NULL && product->scene.place.crs == NULL; n++) {
        char *text = NULL;
        HC_OR_RETURN(hc_product_text(file, of, names[n], &text, err));
        HcStatus status =
            text != NULL && text[0] != '\0' ? hc_product_crs_text(product, text, names[n], err) : HC_OK;
        free(text);
        HC_OR_RETURN(status);
    }
    return HC_OK;
}

/* Six numbers as a text, or as a list; GeoZarr has the steps first. */
static HcStatus try_transform(HcProduct *product, const HcProductFile *file, const char *of, HcError *err) {
    HcPlace *place = &product->scene.place;
    char *text = NULL;
    double *list = NULL;
    int32_t count = 0;
    HC_OR_RETURN(hc_product_numbers(file, of, "spatial:transform", &list, &count, err));
    if (count >= 6 && !place->has_transform) {
        const double turned[6] = {list[2], list[0], list[1], list[5], list[3], list[4]};
        memcpy(place->transform, turned, sizeof turned);
        place->has_transform = true;
    }
    free(list);
    HC_OR_RETURN(hc_product_text(file, of, "GeoTransform", &text, err));
    double *to = place->transform;
    if (text != NULL && !place->has_transform) {
        place->has_transform =
            sscanf(text, "%lf %lf %lf %lf %lf %lf", &to[0], &to[1], &to[2], &to[3], &to[4], &to[5]) == 6;
    }
    free(text);
    return HC_OK;
}

/* Centres of the pixels along both axes, which count where nothing else says the place. GDAL passes over
 * coordinates of another length than their axis. */
static HcStatus take_coordinates(HcProduct *product, const HcProductFile *file, const char *in,
                                 const HcAxis order[HC_AXES], bool *geographic, HcError *err) {
    HcStatus status = HC_OK;
    double *centre[HC_AXES] = {NULL};
    char *list = NULL;
    size_t count = 0;
    GDALDimensionH *axes = GDALMDArrayGetDimensions(product->array[0].handle, &count);
    for (size_t i = 0; i < count; i++) {
        HcAxis axis = order[i + HC_AXES - count];
        int64_t size = 0, wanted = (int64_t)GDALDimensionGetSize(axes[i]);
        const char *name = GDALDimensionGetName(axes[i]);
        *geographic = *geographic || (axis == HC_AXIS_LINE && strncasecmp(name, "lat", 3) == 0);
        HC_TRY(join(in, name, &list, err));
        HC_TRY(hc_product_has_axes(file, list, 1) ? HC_OK : join("/", name, &list, err));
        if (!hc_product_has_axes(file, list, 1)) {
            continue;
        }
        HC_TRY(hc_product_shape(file, list, 1, &size, err));
        if (size != wanted) {
            HC_TRY(hc_fail(err, HC_E_INPUT,
                           "%s: %s has %" PRId64 " values, the axis of that name has %" PRId64, file->path,
                           list, size, wanted));
        }
        HC_TRY(axis != HC_AXIS_BAND ? hc_product_list(file, list, (int32_t)size, &centre[axis], err) : HC_OK);
    }
    if (!product->scene.place.has_transform && centre[HC_AXIS_SAMPLE] != NULL &&
        centre[HC_AXIS_LINE] != NULL) {
        (void)hc_product_centres(product, centre[HC_AXIS_SAMPLE], centre[HC_AXIS_LINE]);
    }
done:
    GDALReleaseDimensions(axes, count);
    free(list);
    free(centre[HC_AXIS_SAMPLE]);
    free(centre[HC_AXIS_LINE]);
    return status;
}

/* What a variable, array or group says of the place; what is known already stays. */
static HcStatus try_place(HcProduct *product, const HcProductFile *file, const char *of, HcError *err) {
    HC_OR_RETURN(try_attributes(product, file, of, err));
    return try_transform(product, file, of, err);
}

/* The variable that the array names, in its group or the root. */
static HcStatus take_mapping(HcProduct *product, const HcProductFile *file, const char *in,
                             const char *dataset, HcError *err) {
    const char *const groups[] = {in, "/"};
    char *mapping = NULL, *at = NULL;
    HcStatus status = hc_product_text(file, dataset, "grid_mapping", &mapping, err);
    for (int g = 0; g < 2 && status == HC_OK && product->scene.place.crs == NULL; g++) {
        HC_TRY(join(groups[g], mapping != NULL ? mapping : "spatial_ref", &at, err));
        status = hc_product_has(file, at) ? try_place(product, file, at, err) : HC_OK;
    }
    if (status == HC_OK && mapping != NULL && product->scene.place.crs == NULL) {
        hc_product_note(product, "the coordinate system is left out: %s has no crs_wkt", mapping);
    }
done:
    free(at);
    free(mapping);
    return status;
}

static HcStatus take_place(HcProduct *product, const HcProductFile *file, const char *in, const char *dataset,
                           const HcAxis order[HC_AXES], HcError *err) {
    HcPlace *place = &product->scene.place;
    bool geographic = false;
    OGRSpatialReferenceH crs = GDALMDArrayGetSpatialRef(product->array[0].handle); /* GDAL's own _CRS */
    char *wkt = NULL;
    if (crs != NULL && OSRExportToWkt(crs, &wkt) == OGRERR_NONE) {
        place->crs = strdup(wkt);
    }
    CPLFree(wkt);
    OSRDestroySpatialReference(crs);
    HC_OR_RETURN(take_mapping(product, file, in, dataset, err));
    HC_OR_RETURN(try_place(product, file, dataset, err));
    HC_OR_RETURN(try_place(product, file, NULL, err));
    HC_OR_RETURN(take_coordinates(product, file, in, order, &geographic, err));
    if (place->crs == NULL && geographic && place->has_transform) {
        hc_product_note(product, "its coordinates are taken as longitudes and latitudes of WGS 84");
        return hc_product_crs(product, 4326, err);
    }
    return HC_OK;
}

/* ---- the product ---- */

/* GDAL takes the fill value for nodata. 0 is what most programs put there without a thought, and may be a
 * value that was measured: it is nodata where _FillValue says so. */
static HcStatus take_nodata(HcProduct *product, const HcProductFile *file, const char *dataset,
                            HcError *err) {
    static const char *const names[] = {"_FillValue", "missing_value", NULL};
    HcScene *scene = &product->scene;
    bool said = false;
    for (int n = 0; names[n] != NULL && !said; n++) {
        double *value = NULL;
        int32_t count = 0;
        HC_OR_RETURN(hc_product_numbers(file, dataset, names[n], &value, &count, err));
        said = count == 1;
        scene->nodata = said ? value[0] : scene->nodata;
        free(value);
    }
    if (said) {
        scene->has_nodata = true;
    } else if (scene->has_nodata && scene->nodata == 0) {
        scene->has_nodata = false;
        hc_product_note(product, "its fill value 0 counts as a value (--nodata 0 masks it)");
    }
    return HC_OK;
}

/* The chunks and the text of the array are in its folder. */
static HcStatus set_folder(HcProduct *product, const char *group, const char *dataset, HcError *err) {
    HcZarrNode node = HC_ZARR_NONE;
    HcProductArray *array = &product->array[0];
    char *text = NULL;
    free(array->file);
    array->file = hc_text_format("%s%s", group, strcmp(dataset, "/") == 0 ? "" : dataset);
    HC_OR_RETURN(hc_text_made(array->file, strlen(group), "a path", err));
    if (!hc_zarr_is(array->file)) { /* the group is the array */
        free(array->file);
        array->file = strdup(group);
        HC_OR_RETURN(hc_text_made(array->file, strlen(group), "a path", err));
    }
    HC_OR_RETURN(hc_zarr_node(array->file, &node, &text, err));
    HcStatus status = text != NULL ? hc_paths_add(&product->files, text, err) : HC_OK;
    free(text);
    return status;
}

static HcStatus describe(HcProduct *product, const HcProductFile *file, const char *group,
                         const char *dataset, HcError *err) {
    HcStatus status = HC_OK;
    HcAxis order[HC_AXES];
    Bands bands = {.count = 0};
    GDALMDArrayH array = GDALGroupOpenMDArrayFromFullname(file->root, dataset, NULL);
    char *in = hc_text_format("%.*s", (int)(strrchr(dataset, '/') - dataset), dataset);
    bool known = array != NULL && hc_read_order(array, order, bands.axis, sizeof bands.axis);
    GDALMDArrayRelease(array);
    if (!known || in == NULL) {
        HC_TRY(hc_fail_memory(err, (double)strlen(dataset), "an array"));
    }
    const char *folder = in[0] != '\0' ? in : "/";
    HC_TRY(hc_product_name(product, file, "Zarr", dataset, err));
    HC_TRY(hc_product_take(product, file, dataset, order, err));
    bands.count = product->array[0].bands;
    HC_TRY(set_folder(product, group, dataset, err));
    HC_TRY(take_nodata(product, file, dataset, err));
    HC_TRY(take_bands(product, file, folder, dataset, &bands, err));
    HC_TRY(name_bands(product, file, bands.count, err));
    HC_TRY(hc_product_text(file, NULL, "title", &product->scene.description, err));
    HC_TRY(take_place(product, file, folder, dataset, order, err));
done:
    free(in);
    free(bands.centre);
    free(bands.width);
    free(bands.good);
    return status;
}

HcStatus hc_product_zarr(HcProduct *product, const HcProductFile *file, bool *is, HcError *err) {
    HcStatus status = HC_OK;
    char *group = NULL, *dataset = NULL;
    *is = strcmp(GDALGetDriverShortName(GDALGetDatasetDriver(file->dataset)), "Zarr") == 0;
    if (!*is) {
        return HC_OK;
    }
    HC_TRY(check_version(file->path, err));
    group = hc_product_zarr_group(file->path);
    HC_TRY(hc_text_made(group, strlen(file->path), "a path", err));
    HC_TRY(find_pixels(file, group, &dataset, err));
    HC_TRY(describe(product, file, group, dataset, err));
done:
    free(group);
    free(dataset);
    return status;
}
