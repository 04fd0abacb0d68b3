/* netCDF as hcube writes it: GDAL's raster interface gives the pixels and their place, and the variables
 * beside them say the rest (io/write/netcdf.c). */
#include "io/read/product/parts.h"

#include <stdlib.h>
#include <string.h>

const HcProductRow hc_product_rows_cube[] = {{.sensor = "hcube",
                                              .read = "netCDF that write makes",
                                              .versions = "this version",
                                              .checked = "own files"},
                                             {0}};

static HcStatus is_ours(const HcProductFile *file, bool *is, HcError *err) {
    char *source = NULL;
    HC_OR_RETURN(hc_product_text(file, NULL, "source", &source, err));
    *is = source != NULL && strncmp(source, "hcube ", 6) == 0 && hc_product_has(file, "/scene");
    free(source);
    return HC_OK;
}

/* The size of the first dimension. */
static int32_t count_bands(const HcProductFile *file) {
    GDALMDArrayH array = GDALGroupOpenMDArrayFromFullname(file->root, "/scene", NULL);
    size_t count = 0;
    GDALDimensionH *dimensions = GDALMDArrayGetDimensions(array, &count);
    GUInt64 bands = count == 3 ? GDALDimensionGetSize(dimensions[0]) : 0;
    GDALReleaseDimensions(dimensions, count);
    GDALMDArrayRelease(array);
    return bands <= INT32_MAX ? (int32_t)bands : 0;
}

/* Numbers of a variable that may be missing. */
static HcStatus list_of(const HcProductFile *file, const char *name, int32_t count, double **values,
                        HcError *err) {
    return hc_product_has(file, name) ? hc_product_list(file, name, count, values, err) : HC_OK;
}

static HcStatus add_bands(HcProduct *product, const HcProductFile *file, int32_t count, HcError *err) {
    HcStatus status = HC_OK;
    double *centers = NULL, *widths = NULL, *good = NULL, *gain = NULL, *offset = NULL;
    HC_TRY(list_of(file, "/wavelength", count, &centers, err));
    HC_TRY(list_of(file, "/fwhm", count, &widths, err));
    HC_TRY(list_of(file, "/good_wavelengths", count, &good, err));
    HC_TRY(list_of(file, "/gain", count, &gain, err));
    HC_TRY(list_of(file, "/offset", count, &offset, err));
    HC_TRY(hc_product_add_bands(
        product,
        &(HcProductBands){.count = count, .wavelength = centers, .fwhm = widths, .unit = 1, .good = good},
        err));
    for (int32_t b = 0; b < count && gain != NULL && offset != NULL; b++) {
        product->band[b].gain = gain[b];
        product->band[b].offset = offset[b];
    }
done:
    free(centers);
    free(widths);
    free(good);
    free(gain);
    free(offset);
    return status;
}

static HcStatus name_bands(HcProduct *product, const HcProductFile *file, int32_t count, HcError *err) {
    char **names = NULL;
    if (!hc_product_has(file, "/band_name")) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_product_words(file, "/band_name", count, &names, err));
    product->scene.band_name = names;
    return HC_OK;
}

HcStatus hc_product_cube(HcProduct *product, const HcProductFile *file, bool *is, HcError *err) {
    char *place = NULL;
    HC_OR_RETURN(is_ours(file, is, err));
    int32_t count = *is ? count_bands(file) : 0;
    *is = *is && count > 0;
    if (!*is) {
        return HC_OK;
    }
    product->name = strdup("netCDF by hcube");
    product->raster = strdup(file->path);
    if (product->name == NULL || product->raster == NULL) {
        return hc_fail_memory(err, 0, "a text");
    }
    HC_OR_RETURN(add_bands(product, file, count, err));
    HC_OR_RETURN(name_bands(product, file, count, err));
    HC_OR_RETURN(hc_product_text(file, NULL, "title", &product->scene.description, err));
    bool named = hc_product_has(file, "/x");
    HC_OR_RETURN(hc_product_text(file, named ? "/x" : "/lon", "standard_name", &place, err));
    product->pixels_only = place == NULL;
    free(place);
    return HC_OK;
}
