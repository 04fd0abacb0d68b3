/* Names of products and of files beside them, coordinate systems, remarks. */
#include "io/file.h"
#include "io/read/product/parts.h"

#include <cpl_conv.h>
#include <cpl_vsi.h>
#include <ogr_srs_api.h>
#include <stdlib.h>
#include <string.h>

bool hc_product_is_file(const char *path) {
    VSIStatBufL info;
    memset(&info, 0, sizeof info);
    return VSIStatL(path, &info) == 0 && !VSI_ISDIR(info.st_mode) && !hc_file_is_special(path);
}

HcStatus hc_product_sibling(const char *path, const char *from, const char *to, char **out, HcError *err) {
    const char *slash = strrchr(path, '/');
    const char *at = strstr(slash != NULL ? slash : path, from);
    *out = NULL;
    if (at == NULL) {
        return HC_OK;
    }
    *out = hc_text_format("%.*s%s%s", (int)(at - path), path, to, at + strlen(from));
    return *out != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(path), "a path");
}

HcStatus hc_product_swap_end(const char *path, const char *from, const char *to, char **out, HcError *err) {
    *out = NULL;
    if (!hc_text_ends_with(path, from)) {
        return HC_OK;
    }
    *out = hc_text_format("%.*s%s", (int)(strlen(path) - strlen(from)), path, to);
    return *out != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(path), "a path");
}

void hc_product_note(HcProduct *product, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = hc_text_vformat(format, arguments);
    va_end(arguments);
    if (text != NULL) {
        hc_text_add(&product->note, "%s%s", product->note.length > 0 ? "; " : "", text);
    } else {
        product->note.failed = true;
    }
    free(text);
}

HcStatus hc_product_name(HcProduct *product, const HcProductFile *file, const char *name, const char *dataset,
                         HcError *err) {
    char *units = NULL;
    HC_OR_RETURN(hc_product_units(file, dataset, &units, err));
    bool said = units != NULL && units[0] != '\0' && strcmp(units, "unitless") != 0;
    product->name = said ? hc_text_format("%s (%s)", name, units) : strdup(name);
    free(units);
    return product->name != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(name), "a text");
}

static HcStatus name_arrays(const HcProductFile *file, HcLookup *lookup, char **first, const char *first_name,
                            char **second, const char *second_name, HcError *err) {
    lookup->file = strdup(file->path);
    *first = strdup(first_name);
    *second = strdup(second_name);
    return lookup->file != NULL && *first != NULL && *second != NULL
               ? HC_OK
               : hc_fail_memory(err, (double)strlen(file->path), "a text");
}

HcStatus hc_product_lookup(HcProduct *product, const HcProductFile *file, const char *sample,
                           const char *line, HcError *err) {
    HcLookup *lookup = &product->scene.lookup;
    HC_OR_RETURN(name_arrays(file, lookup, &lookup->sample, sample, &lookup->line, line, err));
    hc_product_note(product, "pixels are in sensor geometry: write --ortho places them by the lookup table");
    return HC_OK;
}

HcStatus hc_product_coordinates(HcProduct *product, const HcProductFile *file, const char *longitude,
                                const char *latitude, HcError *err) {
    HcLookup *lookup = &product->scene.lookup;
    if (!hc_product_has(file, longitude) || !hc_product_has(file, latitude)) {
        hc_product_note(product, "pixels are in sensor geometry, without coordinates");
        return HC_OK;
    }
    HC_OR_RETURN(name_arrays(file, lookup, &lookup->x, longitude, &lookup->y, latitude, err));
    lookup->place.crs = strdup(SRS_WKT_WGS84_LAT_LONG);
    if (lookup->place.crs == NULL) {
        return hc_fail_memory(err, 0, "the coordinate system");
    }
    hc_product_note(product, "pixels are in sensor geometry: write --ortho places them by their coordinates");
    return HC_OK;
}

HcStatus hc_product_crs(HcProduct *product, double epsg, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    char *wkt = NULL;
    hc_gdal_catch(&messages);
    OGRSpatialReferenceH crs = OSRNewSpatialReference(NULL);
    bool known = epsg > 0 && epsg < 1e6 && OSRImportFromEPSG(crs, (int)epsg) == OGRERR_NONE &&
                 OSRExportToWkt(crs, &wkt) == OGRERR_NONE;
    if (!known) {
        hc_product_note(product, "the coordinate system is left out: EPSG code %g is not known", epsg);
    } else if ((product->scene.place.crs = strdup(wkt)) == NULL) {
        status = hc_fail_memory(err, (double)strlen(wkt), "the coordinate system");
    }
    CPLFree(wkt);
    OSRDestroySpatialReference(crs);
    hc_gdal_release();
    return status;
}
