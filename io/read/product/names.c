/* Names of products and of files beside them, coordinate systems, remarks. */
#include "io/read/product/parts.h"
#include "io/file.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <math.h>
#include <ogr_srs_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool hc_product_is_near(const char *path) {
    static const char *const near[] = {"/vsizip/", "/vsimem/", "/vsitar/"};
    bool is = strncmp(path, "/vsi", 4) != 0;
    for (size_t n = 0; n < sizeof near / sizeof *near && !is; n++) {
        is = strncmp(path, near[n], strlen(near[n])) == 0;
    }
    return is;
}

/* Whether digits stand there, `count` of them and no more. */
static bool has_digits(const char *at, size_t count) {
    return strspn(at, "0123456789") == count;
}

void hc_product_time_stamp(const char *path, char stamp[HC_PRODUCT_STAMP]) {
    stamp[0] = '\0';
    for (const char *at = hc_file_base(path); *at != '\0';
         at += has_digits(at, 0) ? 1 : strspn(at, "0123456789")) {
        if (has_digits(at, 8) && (at[8] == 'T' || at[8] == 't') && has_digits(at + 9, 6)) {
            memcpy(stamp, at, HC_PRODUCT_STAMP - 1);
            stamp[HC_PRODUCT_STAMP - 1] = '\0';
            return;
        }
    }
}

/* The version after `word` in a name, 0 where there is none. */
static int version_of(const char *name, const char *word) {
    const char *at = strcasestr(name, word);
    at = at != NULL ? at + strlen(word) : "";
    return strspn(at, "0123456789") <= 4 ? atoi(at) : 0;
}

/* If two names have the same version, the shorter one counts: the other has a suffix. */
static bool is_newer(const char *name, const char *than, const char *word) {
    int difference = than != NULL ? version_of(name, word) - version_of(than, word) : 1;
    return difference != 0 ? difference > 0 : strlen(name) < strlen(than);
}

HcStatus hc_product_newest(const char *path, const char *word, const char *key, char **out, HcError *err) {
    HcStatus status = HC_OK;
    const char *base = hc_file_base(path), *ending = strrchr(base, '.'), *found = NULL;
    char *folder = hc_text_format("%.*s", (int)(base - path), path);
    *out = NULL;
    HC_OR_RETURN(hc_text_made(folder, strlen(path), "a path", err));
    char **names = VSIReadDir(folder[0] != '\0' ? folder : ".");
    for (int n = 0; names != NULL && names[n] != NULL; n++) {
        bool fits = names[n][0] != '.' && strcasestr(names[n], word) != NULL &&
                    strcasestr(names[n], key) != NULL &&
                    (ending == NULL || hc_text_ends_with(names[n], ending));
        found = fits && is_newer(names[n], found, word) ? names[n] : found;
    }
    if (found != NULL && (*out = hc_text_format("%s%s", folder, found)) == NULL) {
        status = hc_fail_memory(err, (double)strlen(path), "a path");
    }
    CSLDestroy(names);
    free(folder);
    return status;
}

HcStatus hc_product_swap_end(const char *path, const char *from, const char *to, char **out, HcError *err) {
    *out = NULL;
    if (!hc_text_ends_with(path, from)) {
        return HC_OK;
    }
    *out = hc_text_format("%.*s%s", (int)(strlen(path) - strlen(from)), path, to);
    return *out != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(path), "a path");
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
    HC_OR_RETURN(hc_text_made(lookup->place.crs, 0, "the coordinate system", err));
    hc_product_note(product, "pixels are in sensor geometry: write --ortho places them by their coordinates");
    return HC_OK;
}

HcStatus hc_product_crs_text(HcProduct *product, const char *text, const char *from, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    char *wkt = NULL;
    hc_gdal_catch(&messages);
    OGRSpatialReferenceH crs = OSRNewSpatialReference(NULL);
    bool foreign = text[0] == '/' || strncasecmp(text, "http", 4) == 0; /* GDAL would open it */
    bool known =
        !foreign && OSRSetFromUserInput(crs, text) == OGRERR_NONE && OSRExportToWkt(crs, &wkt) == OGRERR_NONE;
    if (!known) {
        hc_product_note(product, "the coordinate system is left out: %s is not known", from);
    } else if ((product->scene.place.crs = strdup(wkt)) == NULL) {
        status = hc_fail_memory(err, (double)strlen(wkt), "the coordinate system");
    }
    CPLFree(wkt);
    OSRDestroySpatialReference(crs);
    hc_gdal_release();
    return status;
}

HcStatus hc_product_crs(HcProduct *product, double epsg, HcError *err) {
    char text[40], from[60];
    snprintf(text, sizeof text, "EPSG:%.0f", epsg);
    snprintf(from, sizeof from, "EPSG code %g", epsg);
    return hc_product_crs_text(product, text, from, err);
}

/* The first number of an axis and its step; false where the steps differ. */
static bool is_regular(const double *at, int64_t count, double *step) {
    *step = count > 1 ? (at[count - 1] - at[0]) / (double)(count - 1) : 0;
    for (int64_t i = 1; i < count; i++) {
        if (!(fabs(at[i] - at[i - 1] - *step) <= fabs(*step) * 1e-2)) {
            return false;
        }
    }
    return *step != 0 && isfinite(*step);
}

bool hc_product_centres(HcProduct *product, const double *x, const double *y) {
    HcPlace *place = &product->scene.place;
    double step[2];
    if (!is_regular(x, product->scene.samples, &step[0]) || !is_regular(y, product->scene.lines, &step[1])) {
        return false;
    }
    const double transform[6] = {x[0] - step[0] / 2, step[0], 0, y[0] - step[1] / 2, 0, step[1]};
    memcpy(place->transform, transform, sizeof transform);
    place->has_transform = true;
    return true;
}
