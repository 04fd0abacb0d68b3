/* EMIT L1B radiance, L2A reflectance and its uncertainty: netCDF, pixels in sensor geometry with a lookup
 * table that places them. */
#include "io/read/product/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *dataset, *name;
} cubes[] = {{"/radiance", "EMIT L1B radiance"},
             {"/reflectance", "EMIT L2A reflectance"},
             {"/reflectance_uncertainty", "EMIT L2A reflectance uncertainty"}};

/* The lookup table is kept for those who write maps; the scene itself has no place. */
static HcStatus take_lookup(HcProduct *product, const HcProductFile *file, HcError *err) {
    HcStatus status = HC_OK;
    HcProductLookup *lookup = &product->lookup;
    double *transform = NULL;
    int32_t count = 0;
    if (!hc_product_has(file, "/location/glt_x") || !hc_product_has(file, "/location/glt_y")) {
        HC_TRY(
            hc_fail(err, HC_E_INPUT, "%s: there is no array /location/glt_x or /location/glt_y", file->path));
    }
    HC_TRY(hc_product_numbers(file, NULL, "geotransform", &transform, &count, err));
    HC_TRY(hc_product_text(file, NULL, "spatial_ref", &lookup->place.crs, err));
    lookup->place.has_transform = count == 6;
    for (int32_t i = 0; i < 6 && count == 6; i++) {
        lookup->place.transform[i] = transform[i];
    }
    lookup->sample = strdup("/location/glt_x");
    lookup->line = strdup("/location/glt_y");
    if (lookup->sample == NULL || lookup->line == NULL) {
        status = hc_fail_memory(err, 0, "a text");
        goto done;
    }
    hc_product_note(product, "pixels are in sensor geometry; the lookup table in /location is not applied");
done:
    free(transform);
    return status;
}

/* Of a reflectance the masks are a file of their own. */
static HcStatus find_mask(HcProduct *product, const HcProductFile *file, HcError *err) {
    char *path = NULL;
    HC_OR_RETURN(hc_product_sibling(file->path, "_RFL_", "_MASK_", &path, err));
    if (path == NULL) {
        return HC_OK;
    }
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    if (hc_product_is_file(path)) {
        hc_product_note(product, "the quality masks in %s beside it are not applied", name);
        product->mask_file = path;
        return HC_OK;
    }
    hc_product_note(product, "its quality masks (%s) are not beside it", name);
    free(path);
    return HC_OK;
}

HcStatus hc_product_emit(HcProduct *product, const HcProductFile *file, bool *is, HcError *err) {
    static const HcAxis order[] = {HC_AXIS_LINE, HC_AXIS_SAMPLE, HC_AXIS_BAND};
    size_t cube = 0, count = sizeof cubes / sizeof *cubes;
    while (cube < count && !hc_product_has(file, cubes[cube].dataset)) {
        cube++;
    }
    *is = cube < count && hc_product_has_group(file, "/sensor_band_parameters") &&
          hc_product_has_group(file, "/location");
    if (!*is) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_product_name(product, file, cubes[cube].name, cubes[cube].dataset, err));
    product->is_companion = strcmp(cubes[cube].dataset, "/reflectance_uncertainty") == 0;
    HC_OR_RETURN(hc_product_take(product, file, cubes[cube].dataset, order, err));
    HC_OR_RETURN(hc_product_add_listed(product, file, NULL,
                                       &(HcProductLists){"/sensor_band_parameters/wavelengths",
                                                         "/sensor_band_parameters/fwhm",
                                                         "/sensor_band_parameters/good_wavelengths"},
                                       err));
    HC_OR_RETURN(take_lookup(product, file, err));
    return find_mask(product, file, err);
}
