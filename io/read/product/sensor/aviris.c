/* AVIRIS-3 and AVIRIS-5 L1B radiance and L2A reflectance: netCDF, band by band. */
#include "io/read/product/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYOUT(of_product, of_group, quantity)                                                               \
    {                                                                                                        \
        .product = of_product, .group = of_group, .dataset = of_group "/" quantity,                          \
        .axes = "band line sample", .bands = {                                                               \
            of_group "/wavelength",                                                                          \
            of_group "/fwhm",                                                                                \
            NULL                                                                                             \
        }                                                                                                    \
    }
static const HcProductLayout layouts[] = {LAYOUT("AVIRIS L1B radiance", "/radiance", "radiance"),
                                          LAYOUT("AVIRIS L2A reflectance", "/reflectance", "reflectance"),
                                          {0}};

const HcProductRow hc_product_rows_aviris[] = {{.sensor = "AVIRIS-3, AVIRIS-5",
                                                .read = "L1B radiance, L2A reflectance (netCDF)",
                                                .versions = "-",
                                                .checked = "layout",
                                                .layouts = layouts},
                                               {0}};

/* GeoTransform is six numbers in one text; the coordinate system has GDAL's name, or that of CF. */
static HcStatus read_place(const HcProductFile *file, HcPlace *place, HcError *err) {
    char *text = NULL;
    HC_OR_RETURN(hc_product_text(file, "/transverse_mercator", "GeoTransform", &text, err));
    double *t = place->transform;
    place->has_transform = text != NULL && sscanf(text, "%lf %lf %lf %lf %lf %lf", &t[0], &t[1], &t[2], &t[3],
                                                  &t[4], &t[5]) == 6;
    bool wrong = text != NULL && !place->has_transform;
    HcStatus status = wrong ? hc_fail(err, HC_E_INPUT, "%s: GeoTransform of /transverse_mercator is '%.80s'",
                                      file->path, text)
                            : hc_product_text(file, "/transverse_mercator", "spatial_ref", &place->crs, err);
    if (status == HC_OK && place->crs == NULL) {
        status = hc_product_text(file, "/transverse_mercator", "crs_wkt", &place->crs, err);
    }
    free(text);
    return status;
}

/* A cube on the grid of its lookup table, or without one, is a map; another one is in sensor geometry. */
static HcStatus take_place(HcProduct *product, const HcProductFile *file, HcError *err) {
    HcScene *scene = &product->scene;
    int64_t size[2] = {scene->lines, scene->samples};
    bool has_table = hc_product_has(file, "/geolocation_lookup_table/sample") &&
                     hc_product_has(file, "/geolocation_lookup_table/line");
    if (has_table) {
        HC_OR_RETURN(hc_product_shape(file, "/geolocation_lookup_table/sample", 2, size, err));
    }
    bool is_map = size[0] == scene->lines && size[1] == scene->samples;
    HC_OR_RETURN(read_place(file, is_map ? &scene->place : &product->scene.lookup.place, err));
    if (is_map) {
        return HC_OK;
    }
    return hc_product_lookup(product, file, "/geolocation_lookup_table/sample",
                             "/geolocation_lookup_table/line", err);
}

HcStatus hc_product_aviris(HcProduct *product, const HcProductFile *file, bool *is, HcError *err) {
    const HcProductLayout *layout = hc_product_layout(file, hc_product_rows_aviris);
    *is = layout != NULL && hc_product_has(file, "/transverse_mercator");
    if (!*is) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_product_lay_out(product, file, hc_product_rows_aviris, layout, err));
    HC_OR_RETURN(hc_product_add_listed(product, file, NULL, &layout->bands, err));
    return take_place(product, file, err);
}
