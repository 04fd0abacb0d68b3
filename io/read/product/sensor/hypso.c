/* HYPSO-1, HYPSO-2 and HICO L1: netCDF, /products/Lt in sensor geometry, wavelengths as its attributes. */
#include "io/read/product/parts.h"

#include <stdlib.h>
#include <string.h>

#define CUBE "/products/Lt"

/* HICO names itself, and its coordinates are plural. */
static HcStatus is_hico(const HcProductFile *file, bool *is, HcError *err) {
    char *instrument = NULL;
    HC_OR_RETURN(hc_product_text(file, NULL, "instrument", &instrument, err));
    *is = (instrument != NULL && strcasestr(instrument, "HICO") != NULL) ||
          hc_product_has(file, "/navigation/latitudes");
    free(instrument);
    return HC_OK;
}

static HcStatus add_bands(HcProduct *product, const HcProductFile *file, HcError *err) {
    HcStatus status = HC_OK;
    HcProductBands bands = {.count = product->array[0].bands, .unit = 1};
    double *centres = NULL, *widths = NULL;
    int32_t count = 0;
    HC_TRY(hc_product_attribute(file, CUBE, "wavelengths", bands.count, &centres, err));
    HC_TRY(hc_product_numbers(file, CUBE, "fwhm", &widths, &count, err));
    if (count != 0 && count != bands.count) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: fwhm of " CUBE " has %d values for %d bands", file->path, count,
                       bands.count));
    }
    bands.wavelength = centres;
    bands.fwhm = widths;
    HC_TRY(hc_product_scale(file, CUBE, &bands.gain, &bands.offset, err));
    HC_TRY(hc_product_add_bands(product, &bands, err));
done:
    free(centres);
    free(widths);
    return status;
}

HcStatus hc_product_hypso(HcProduct *product, const HcProductFile *file, bool *is, HcError *err) {
    static const HcAxis order[] = {HC_AXIS_LINE, HC_AXIS_SAMPLE, HC_AXIS_BAND};
    bool hico = false;
    *is = hc_product_has(file, CUBE) && hc_product_has_group(file, "/navigation");
    if (!*is) {
        return HC_OK;
    }
    HC_OR_RETURN(is_hico(file, &hico, err));
    HC_OR_RETURN(hc_product_name(product, file, hico ? "HICO L1B Lt" : "HYPSO L1 Lt", CUBE, err));
    HC_OR_RETURN(hc_product_take(product, file, CUBE, order, err));
    HC_OR_RETURN(add_bands(product, file, err));
    bool plural = hc_product_has(file, "/navigation/latitudes");
    return hc_product_coordinates(product, file, plural ? "/navigation/longitudes" : "/navigation/longitude",
                                  plural ? "/navigation/latitudes" : "/navigation/latitude", err);
}
