/* HYPSO-1 and HYPSO-2 L1: netCDF, /products/Lt in sensor geometry, wavelengths as its attributes. */
#include "io/read/product/parts.h"

#include <stdlib.h>

#define CUBE "/products/Lt"

HcStatus hc_product_hypso(HcProduct *product, const HcProductFile *file, bool *is, HcError *err) {
    static const HcAxis order[] = {HC_AXIS_LINE, HC_AXIS_SAMPLE, HC_AXIS_BAND};
    HcStatus status = HC_OK;
    double *centres = NULL, *widths = NULL;
    int32_t count = 0;
    *is = hc_product_has(file, CUBE) && hc_product_has_group(file, "/navigation");
    if (!*is) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_product_name(product, file, "HYPSO L1 Lt", CUBE, err));
    HC_OR_RETURN(hc_product_take(product, file, CUBE, order, err));
    HC_TRY(hc_product_attribute(file, CUBE, "wavelengths", product->array[0].bands, &centres, err));
    HC_TRY(hc_product_numbers(file, CUBE, "fwhm", &widths, &count, err));
    if (count != 0 && count != product->array[0].bands) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: fwhm of " CUBE " has %d values for %d bands", file->path, count,
                       product->array[0].bands));
    }
    HC_TRY(hc_product_add_bands(
        product,
        &(HcProductBands){.count = product->array[0].bands, .wavelength = centres, .fwhm = widths, .unit = 1},
        err));
    HC_TRY(hc_product_coordinates(product, file, "/navigation/longitude", "/navigation/latitude", err));
done:
    free(centres);
    free(widths);
    return status;
}
