/* PRISMA L1, L2B, L2C and L2D: HDF-EOS5, one cube a detector with bands by descending wavelength. Up to L2C
 * the cubes are in sensor geometry, across track first and from right to left; L2D is a map. */
#include "io/read/product/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIXEL 30.0 /* of L2D [m] */

#define SWATHS "/HDFEOS/SWATHS/"
#define LAYOUT(of_product, swath, of_axes, flags)                                                            \
    {                                                                                                        \
        .product = of_product, .group = SWATHS swath, .dataset = SWATHS swath "/Data Fields/VNIR_Cube",      \
        .axes = of_axes, .bands = {"List_Cw_Vnir", "List_Fwhm_Vnir", "List_Cw_Vnir_Flags"},                  \
        .layers = flags "error"                                                                              \
    }
static const HcProductLayout layouts[] = {
    LAYOUT("PRISMA L1 radiance", "PRS_L1_HCO", "sample band line", "cloud+;sun-glint;land-cover;"),
    LAYOUT("PRISMA L2B radiance", "PRS_L2B_HCO", "sample band line", ""),
    LAYOUT("PRISMA L2C reflectance", "PRS_L2C_HCO", "sample band line", ""),
    LAYOUT("PRISMA L2D reflectance", "PRS_L2D_HCO", "line band sample", ""),
    {0}};

const HcProductRow hc_product_rows_prisma[] = {{.sensor = "PRISMA",
                                                .read = "L1, L2B, L2C, L2D",
                                                .versions = "granules to April 2024",
                                                .checked = "lists of L1 to L2D, layout",
                                                .layouts = layouts},
                                               {0}};

/* value = gain x stored + offset of a detector ("Vnir", "Swir"). */
static HcStatus read_scale(const HcProductFile *file, const char *detector, bool is_l1, double *gain,
                           double *offset, HcError *err) {
    char low[32], high[32];
    double one = 0, other = 0;
    snprintf(low, sizeof low, is_l1 ? "Offset_%s" : "L2Scale%sMin", detector);
    snprintf(high, sizeof high, is_l1 ? "ScaleFactor_%s" : "L2Scale%sMax", detector);
    HC_OR_RETURN(hc_product_number(file, NULL, low, &one, err));
    HC_OR_RETURN(hc_product_number(file, NULL, high, &other, err));
    *gain = is_l1 ? 1 / other : (other - one) / 65535;
    *offset = is_l1 ? -one : one;
    return *gain != 0 && isfinite(*gain) && isfinite(*offset)
               ? HC_OK
               : hc_fail(err, HC_E_INPUT, "%s: %s = %g and %s = %g give no scale", file->path, low, one, high,
                         other);
}

/* Centres and widths [count] become means over the columns of the detector, where the file has them all. */
static HcStatus take_columns(HcProduct *product, const HcProductFile *file, const char *detector,
                             int32_t count, double *centres, double *widths, HcError *err) {
    char dataset[40], list[32];
    double widest = 0;
    for (int32_t b = 0; b < count; b++) {
        widest = fmax(widest, widths[b]);
    }
    for (int of_widths = 0; of_widths < 2; of_widths++) {
        const char *what = of_widths ? "Fwhm" : "Cw";
        snprintf(dataset, sizeof dataset, "/KDP_AUX/%s_%s_Matrix", what, detector);
        snprintf(list, sizeof list, "List_%s_%s", what, detector);
        const HcProductSmile smile = {.dataset = dataset,
                                      .name = list,
                                      .list = of_widths ? widths : centres,
                                      .count = count,
                                      .tolerance = widest,
                                      .says = !of_widths};
        HC_OR_RETURN(hc_product_smile(product, file, &smile, err));
    }
    return HC_OK;
}

static HcStatus add_detector(HcProduct *product, const HcProductFile *file, const char *detector, bool is_l1,
                             HcError *err) {
    HcStatus status = HC_OK;
    char key[32];
    int32_t array = product->array_count - 1, count = product->array[array].bands, flags = 0;
    double *centres = NULL, *widths = NULL, *used = NULL;
    HcProductBands bands = {.array = array,
                            .count = count,
                            .unit = 1,
                            .detector = detector[0] == 'V' ? HC_DETECTOR_VNIR : HC_DETECTOR_SWIR};
    snprintf(key, sizeof key, "List_Cw_%s", detector);
    HC_TRY(hc_product_attribute(file, NULL, key, count, &centres, err));
    snprintf(key, sizeof key, "List_Fwhm_%s", detector);
    HC_TRY(hc_product_attribute(file, NULL, key, count, &widths, err));
    HC_TRY(take_columns(product, file, detector, count, centres, widths, err));
    snprintf(key, sizeof key, "List_Cw_%s_Flags", detector);
    HC_TRY(hc_product_numbers(file, NULL, key, &used, &flags, err));
    HC_TRY(read_scale(file, detector, is_l1, &bands.gain, &bands.offset, err));
    bands.wavelength = centres;
    bands.fwhm = widths;
    bands.good = flags == count ? used : NULL;
    HC_TRY(hc_product_add_bands(product, &bands, err));
done:
    free(centres);
    free(widths);
    free(used);
    return status;
}

static HcStatus take_swir(HcProduct *product, const HcProductFile *file, const char *swath, bool is_map,
                          HcError *err) {
    char dataset[120];
    snprintf(dataset, sizeof dataset, SWATHS "%s/Data Fields/SWIR_Cube", swath);
    HC_OR_RETURN(hc_product_take(product, file, dataset, product->array[0].axis, err));
    product->array[1].mirrored = !is_map;
    return HC_OK;
}

/* Masks are of level 1; matrices of errors have the bands of the cubes. */
static HcStatus add_layers(HcProduct *product, const HcProductFile *file, const char *swath, bool is_map,
                           bool is_l1, HcError *err) {
    static const struct {
        HcProductLayer layer;
        const char *dataset;
    } masks[] = {{{.name = "cloud", .values = "1", .usual = true}, "Cloud_Mask"},
                 {{.name = "sun-glint", .values = "1"}, "SunGlint_Mask"},
                 {{.name = "land-cover"}, "LandCover_Mask"}};
    char dataset[120], other[120];
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
        HcProductLayer layer = masks[m].layer;
        layer.band = 1;
        layer.mirrored = !is_map;
        layer.axis[0] = HC_AXIS_BAND;
        layer.axis[1] = is_map ? HC_AXIS_LINE : HC_AXIS_SAMPLE;
        layer.axis[2] = is_map ? HC_AXIS_SAMPLE : HC_AXIS_LINE;
        snprintf(dataset, sizeof dataset, SWATHS "%s/Data Fields/%s", swath, masks[m].dataset);
        HC_OR_RETURN(hc_product_add_flat(product, file, &layer, dataset, err));
    }
    const char *kind = is_l1 ? "SAT" : "L2";
    HcProductLayer errors = {.name = "error", .mirrored = !is_map};
    memcpy(errors.axis, product->array[0].axis, sizeof errors.axis);
    snprintf(dataset, sizeof dataset, SWATHS "%s/Data Fields/VNIR_PIXEL_%s_ERR_MATRIX", swath, kind);
    snprintf(other, sizeof other, SWATHS "%s/Data Fields/SWIR_PIXEL_%s_ERR_MATRIX", swath, kind);
    bool has = hc_product_has(file, dataset) && hc_product_has(file, other);
    return has ? hc_product_add_layer(product, &errors, file->path, dataset, other, err) : HC_OK;
}

/* Coordinates of the pixels, in the order of the cubes. Those of level 1 stand for each detector; both cubes
 * have the pixels of the first one. */
static HcStatus take_coordinates(HcProduct *product, const HcProductFile *file, const char *swath, bool is_l1,
                                 HcError *err) {
    char longitude[120], latitude[120];
    const char *of = is_l1 ? "_VNIR" : "";
    snprintf(longitude, sizeof longitude, SWATHS "%s/Geolocation Fields/Longitude%s", swath, of);
    snprintf(latitude, sizeof latitude, SWATHS "%s/Geolocation Fields/Latitude%s", swath, of);
    product->scene.lookup.turned = true;
    return hc_product_coordinates(product, file, longitude, latitude, err);
}

/* The corners are centres of pixels. */
static HcStatus take_place(HcProduct *product, const HcProductFile *file, HcError *err) {
    static const char *const keys[] = {"Product_ULcorner_easting", "Product_ULcorner_northing",
                                       "Product_LRcorner_easting", "Product_LRcorner_northing", "Epsg_Code"};
    HcScene *scene = &product->scene;
    double value[5] = {0};
    for (int k = 0; k < 5; k++) {
        HC_OR_RETURN(hc_product_number(file, NULL, keys[k], &value[k], err));
    }
    double right = value[0] + PIXEL * (double)(scene->samples - 1);
    double bottom = value[1] - PIXEL * (double)(scene->lines - 1);
    if (!(fabs(right - value[2]) < PIXEL) || !(fabs(bottom - value[3]) < PIXEL)) {
        hc_product_note(product,
                        "the place is left out: pixels of 30 m from %.10g, %.10g end at %.10g, %.10g, the "
                        "product says %.10g, %.10g",
                        value[0], value[1], right, bottom, value[2], value[3]);
        return HC_OK;
    }
    scene->place.has_transform = true;
    double transform[6] = {value[0] - PIXEL / 2, PIXEL, 0, value[1] + PIXEL / 2, 0, -PIXEL};
    memcpy(scene->place.transform, transform, sizeof transform);
    return hc_product_crs(product, value[4], err);
}

/* A file without any of the swaths may name PRISMA all the same. */
static HcStatus refuse_without_swath(const HcProductFile *file, HcError *err) {
    char *name = NULL;
    HC_OR_RETURN(hc_product_text(file, NULL, "Product_ID", &name, err));
    HcStatus status =
        name == NULL || strncmp(name, "PRS_", 4) != 0
            ? HC_OK
            : hc_fail(err, HC_E_INPUT,
                      "%s: Product_ID is %.40s, but there is no " SWATHS "PRS_*_HCO/Data Fields/VNIR_Cube",
                      file->path, name);
    free(name);
    return status;
}

HcStatus hc_product_prisma(HcProduct *product, const HcProductFile *file, bool *is, HcError *err) {
    const HcProductLayout *layout = hc_product_layout(file, hc_product_rows_prisma);
    *is = layout != NULL;
    if (!*is) {
        return refuse_without_swath(file, err);
    }
    const char *swath = layout->group + strlen(SWATHS);
    bool is_map = layout->axes[0] == 'l', is_l1 = layout == layouts;
    HC_OR_RETURN(hc_product_lay_out(product, file, hc_product_rows_prisma, layout, err));
    product->array[0].mirrored = !is_map;
    HC_OR_RETURN(add_detector(product, file, "Vnir", is_l1, err));
    HC_OR_RETURN(take_swir(product, file, swath, is_map, err));
    HC_OR_RETURN(add_detector(product, file, "Swir", is_l1, err));
    HC_OR_RETURN(add_layers(product, file, swath, is_map, is_l1, err));
    return is_map ? take_place(product, file, err) : take_coordinates(product, file, swath, is_l1, err);
}
