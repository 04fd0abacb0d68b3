/* HYPSO-1, HYPSO-2 and HICO L1: netCDF in sensor geometry, /products/Lt (radiance) or rhot (reflectance) as a
 * cube with wavelengths as its attributes, or an array for each band. */
#include "io/read/product/parts.h"

#include <cpl_string.h>
#include <stdlib.h>
#include <string.h>

#define GROUP "/products"
#define LAYOUT(of_product, array)                                                                            \
    .product = of_product, .dataset = GROUP array, .axes = "line sample band",                               \
    .bands = {"wavelengths", "fwhm", NULL}
static const HcProductLayout hypso_layouts[] = {
    {LAYOUT("HYPSO L1 Lt", "/Lt")}, {LAYOUT("HYPSO L1d rhot", "/rhot")}, {0}};
static const HcProductLayout hico_layouts[] = {{LAYOUT("HICO L1B Lt", "/Lt"), .units = "W/m^2/micrometer/sr"},
                                               {0}};

const HcProductRow hc_product_rows_hypso[] = {{.sensor = "HYPSO-1, HYPSO-2",
                                               .read = "L1 radiance, L1d reflectance",
                                               .versions = "-",
                                               .checked = "layout",
                                               .layouts = hypso_layouts},
                                              {.sensor = "HICO",
                                               .read = "L1B",
                                               .versions = "H2013302140823",
                                               .checked = "lists, layout",
                                               .layouts = hico_layouts,
                                               .instrument = "HICO"},
                                              {0}};

/* HICO names itself, and its coordinates are plural. */
static HcStatus is_hico(const HcProductFile *file, bool *is, HcError *err) {
    char *instrument = NULL;
    HC_OR_RETURN(hc_product_text(file, NULL, "instrument", &instrument, err));
    *is = (instrument != NULL && strcasestr(instrument, "HICO") != NULL) ||
          hc_product_has(file, "/navigation/latitudes");
    free(instrument);
    return HC_OK;
}

static HcStatus add_bands(HcProduct *product, const HcProductFile *file, const char *dataset, HcError *err) {
    HcStatus status = HC_OK;
    int32_t array = product->array_count - 1, count = 0;
    HcProductBands bands = {.array = array, .count = product->array[array].bands, .unit = 1};
    double *centres = NULL, *widths = NULL;
    bool is_flat = product->array[array].axis[0] == HC_AXIS_BAND;
    HC_TRY(hc_product_attribute(file, dataset, is_flat ? "wavelength" : "wavelengths", bands.count, &centres,
                                err));
    HC_TRY(hc_product_numbers(file, dataset, "fwhm", &widths, &count, err));
    if (count != 0 && count != bands.count) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: fwhm of %s has %d values for %d bands", file->path, dataset,
                       count, bands.count));
    }
    bands.wavelength = centres;
    bands.fwhm = widths;
    HC_TRY(hc_product_scale(file, dataset, &bands.gain, &bands.offset, err));
    HC_TRY(hc_product_add_bands(product, &bands, err));
done:
    free(centres);
    free(widths);
    return status;
}

/* The cube of a quantity. */
static HcStatus take_cube(HcProduct *product, const HcProductFile *file, const char *dataset, HcError *err) {
    static const HcAxis order[] = {HC_AXIS_LINE, HC_AXIS_SAMPLE, HC_AXIS_BAND};
    HC_OR_RETURN(hc_product_take(product, file, dataset, order, err));
    return add_bands(product, file, dataset, err);
}

/* Arrays NAME_660, NAME_663, ... with a wavelength each; *any tells whether there are some. */
static HcStatus take_flat(HcProduct *product, const HcProductFile *file, const char *quantity, bool *any,
                          HcError *err) {
    static const HcAxis order[] = {HC_AXIS_BAND, HC_AXIS_LINE, HC_AXIS_SAMPLE};
    HcStatus status = HC_OK;
    char **names = hc_product_names(file, GROUP, 2);
    size_t length = strlen(quantity);
    for (int n = 0; names != NULL && names[n] != NULL && status == HC_OK; n++) {
        if (strncmp(names[n], quantity, length) != 0 || names[n][length] != '_') {
            continue;
        }
        char *dataset = hc_text_format(GROUP "/%s", names[n]);
        status = dataset != NULL ? hc_product_take(product, file, dataset, order, err)
                                 : hc_fail_memory(err, 0, "a name");
        status = status == HC_OK ? add_bands(product, file, dataset, err) : status;
        free(dataset);
        *any = true;
    }
    product->any_order = true; /* of names */
    CSLDestroy(names);
    return status;
}

static HcStatus take_pixels(HcProduct *product, const HcProductFile *file, bool *is, HcError *err) {
    bool hico = false;
    HC_OR_RETURN(is_hico(file, &hico, err));
    const HcProductRow *row = &hc_product_rows_hypso[hico];
    for (const HcProductLayout *layout = row->layouts; layout->product != NULL && !*is; layout++) {
        bool cube = hc_product_has_axes(file, layout->dataset, 3);
        free(product->name);
        HC_OR_RETURN(hc_product_name(product, file, layout->product, cube ? layout->dataset : NULL, err));
        *is = cube;
        HC_OR_RETURN(cube ? take_cube(product, file, layout->dataset, err)
                          : take_flat(product, file, layout->dataset + strlen(GROUP "/"), is, err));
        HC_OR_RETURN(cube ? hc_product_compare(product, file, row, layout, err) : HC_OK);
    }
    return HC_OK;
}

HcStatus hc_product_hypso(HcProduct *product, const HcProductFile *file, bool *is, HcError *err) {
    *is = false;
    if (!hc_product_has_group(file, GROUP)) {
        return HC_OK;
    }
    if (!hc_product_has_group(file, "/navigation")) {
        return hc_product_has_axes(file, GROUP "/Lt", 3)
                   ? hc_fail(err, HC_E_INPUT,
                             "%s: it has " GROUP "/Lt of HYPSO and HICO, but no group /navigation",
                             file->path)
                   : HC_OK;
    }
    HC_OR_RETURN(take_pixels(product, file, is, err));
    if (!*is) {
        free(product->name);
        product->name = NULL;
        product->any_order = false;
        return HC_OK;
    }
    bool plural = hc_product_has(file, "/navigation/latitudes");
    return hc_product_coordinates(product, file, plural ? "/navigation/longitudes" : "/navigation/longitude",
                                  plural ? "/navigation/latitudes" : "/navigation/latitude", err);
}
