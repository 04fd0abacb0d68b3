/* Tanager-1 basic (sensor geometry) and ortho (map) radiance and reflectance: HDF-EOS5, band by band. */
#include "io/read/product/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SWATH "/HDFEOS/SWATHS/HYP"
#define GRID  "/HDFEOS/GRIDS/HYP"
#define LAYOUT(of_product, in, quantity)                                                                     \
    {                                                                                                        \
        .product = of_product, .dataset = in "/Data Fields/" quantity, .axes = "band line sample",           \
        .bands = {"wavelengths", "fwhm", "good_wavelengths"}, .layers = "nodata+;cloud+;cirrus+"             \
    }
static const HcProductLayout layouts[] = {LAYOUT("Tanager basic radiance", SWATH, "toa_radiance"),
                                          LAYOUT("Tanager basic reflectance", SWATH, "surface_reflectance"),
                                          LAYOUT("Tanager ortho radiance", GRID, "toa_radiance"),
                                          LAYOUT("Tanager ortho reflectance", GRID, "surface_reflectance"),
                                          {0}};

const HcProductRow hc_product_rows_tanager[] = {{.sensor = "Tanager-1",
                                                 .read = "basic, ortho: radiance, reflectance",
                                                 .versions = "November 2025",
                                                 .checked = "layout",
                                                 .layouts = layouts},
                                                {0}};

/* A pair of numbers of the grid: NAME=(x,y). */
static bool read_pair(const char *text, const char *name, double pair[2]) {
    const char *at = strstr(text, name);
    at = at != NULL ? strchr(at, '(') : NULL;
    return at != NULL && sscanf(at, "(%lf ,%lf", &pair[0], &pair[1]) == 2;
}

/* Outer corners of the grid. */
static HcStatus take_place(HcProduct *product, const HcProductFile *file, HcError *err) {
    HcStatus status = HC_OK;
    HcScene *scene = &product->scene;
    char *text = NULL;
    double from[2], to[2], epsg = 0;
    HC_TRY(hc_product_string(file, "/HDFEOS INFORMATION/StructMetadata.0", &text, err));
    if (!read_pair(text, "UpperLeftPointMtrs", from) || !read_pair(text, "LowerRightMtrs", to)) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: StructMetadata.0 has no UpperLeftPointMtrs or LowerRightMtrs",
                       file->path));
    }
    HC_TRY(hc_product_number(file, GRID, "epsg_code", &epsg, err));
    const double transform[6] = {from[0], (to[0] - from[0]) / (double)scene->samples, 0, from[1],
                                 0,       (to[1] - from[1]) / (double)scene->lines};
    scene->place.has_transform = true;
    memcpy(scene->place.transform, transform, sizeof transform);
    HC_TRY(hc_product_crs(product, epsg, err));
done:
    free(text);
    return status;
}

static HcStatus add_layers(HcProduct *product, const HcProductFile *file, bool is_map, HcError *err) {
    static const char *const masks[][2] = {
        {"nodata", "nodata_pixels"}, {"cloud", "beta_cloud_mask"}, {"cirrus", "beta_cirrus_mask"}};
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
        char dataset[80];
        HcProductLayer layer = {
            .band = 1, .usual = true, .axis = {HC_AXIS_BAND, HC_AXIS_LINE, HC_AXIS_SAMPLE}};
        snprintf(layer.name, sizeof layer.name, "%s", masks[m][0]);
        snprintf(dataset, sizeof dataset, "%s/Data Fields/%s", is_map ? GRID : SWATH, masks[m][1]);
        HC_OR_RETURN(hc_product_add_flat(product, file, &layer, dataset, err));
    }
    return HC_OK;
}

HcStatus hc_product_tanager(HcProduct *product, const HcProductFile *file, bool *is, HcError *err) {
    const HcProductLayout *layout = hc_product_layout(file, hc_product_rows_tanager);
    *is = layout != NULL;
    if (!*is) {
        return HC_OK;
    }
    bool is_map = strncmp(layout->dataset, GRID, strlen(GRID)) == 0;
    HC_OR_RETURN(hc_product_lay_out(product, file, hc_product_rows_tanager, layout, err));
    HC_OR_RETURN(hc_product_add_listed(product, file, layout->dataset, &layout->bands, err));
    HC_OR_RETURN(add_layers(product, file, is_map, err));
    if (is_map) {
        return take_place(product, file, err);
    }
    return hc_product_coordinates(product, file, SWATH "/Geolocation Fields/Longitude",
                                  SWATH "/Geolocation Fields/Latitude", err);
}
