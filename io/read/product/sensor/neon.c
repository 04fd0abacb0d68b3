/* NEON AOP reflectance: HDF5 with one group, which is named after the site. */
#include "io/read/product/parts.h"
#include "core/text.h"
#include "core/allocate.h"

#include <cpl_string.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const HcProductLayout layouts[] = {
    {.product = "NEON AOP reflectance",
     .dataset = "/SITE/Reflectance/Reflectance_Data",
     .axes = "line sample band",
     .bands = {"Metadata/Spectral_Data/Wavelength", "Metadata/Spectral_Data/FWHM",
               "Band_Window_1_Nanometers;Band_Window_2_Nanometers"},
     .layers = "cloud+;haze+;snow;water;shadow;weather"},
    {0}};

const HcProductRow hc_product_rows_neon[] = {{.sensor = "NEON AOP",
                                              .read = "DP1.30006, DP3.30006 reflectance",
                                              .versions = "-",
                                              .checked = "real crop",
                                              .layouts = layouts},
                                             {0}};

/* Dataset or group of the site. */
typedef struct Name {
    char text[160];
} Name;

static Name name_of(const char *site, const char *rest) {
    Name name;
    snprintf(name.text, sizeof name.text, "/%.60s/Reflectance%s", site, rest);
    return name;
}

/* A band within one of two windows of water vapour is bad. Products have both; crops mostly have neither. */
static HcStatus find_good(HcProduct *product, const HcProductFile *file, const char *site,
                          const double *centres, int32_t count, double *good, HcError *err) {
    static const char *const windows[] = {"Band_Window_1_Nanometers", "Band_Window_2_Nanometers"};
    Name group = name_of(site, "");
    for (int32_t b = 0; b < count; b++) {
        good[b] = 1;
    }
    for (int w = 0; w < 2; w++) {
        double *limits = NULL;
        int32_t found = 0;
        HC_OR_RETURN(hc_product_numbers(file, group.text, windows[w], &limits, &found, err));
        if (found == 0) {
            hc_product_note(product, "there is no %s: no band in it is marked as bad", windows[w]);
            continue;
        }
        for (int32_t b = 0; b < count && found == 2; b++) {
            good[b] = good[b] != 0 && !(centres[b] >= limits[0] && centres[b] <= limits[1]);
        }
        free(limits);
        if (found != 2) {
            return hc_fail(err, HC_E_INPUT, "%s: the attribute %s has %d values for 2", file->path,
                           windows[w], found);
        }
    }
    return HC_OK;
}

static HcStatus add_bands(HcProduct *product, const HcProductFile *file, const char *site, HcError *err) {
    HcStatus status = HC_OK;
    int32_t count = product->array[0].bands;
    double *centres = NULL, *widths = NULL, scale = 1;
    double *good = NULL;
    HC_OR_RETURN(hc_new(good, count, "the bands", err));
    HC_TRY(hc_product_list(file, name_of(site, "/Metadata/Spectral_Data/Wavelength").text, count, &centres,
                           err));
    Name fwhm = name_of(site, "/Metadata/Spectral_Data/FWHM");
    if (hc_product_has(file, fwhm.text)) {
        HC_TRY(hc_product_list(file, fwhm.text, count, &widths, err));
    } else {
        hc_product_note(product, "there is no FWHM: the widths of the bands are not known");
    }
    HC_TRY(find_good(product, file, site, centres, count, good, err));
    HC_TRY(hc_product_number(file, product->array[0].dataset, "Scale_Factor", &scale, err));
    if (!(scale > 0)) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: Scale_Factor is %g", file->path, scale));
    }
    HC_TRY(hc_product_add_bands(product,
                                &(HcProductBands){.count = count,
                                                  .wavelength = centres,
                                                  .fwhm = widths,
                                                  .unit = 1,
                                                  .gain = 1 / scale,
                                                  .good = good},
                                err));
done:
    free(good);
    free(centres);
    free(widths);
    return status;
}

/* Map_Info as in an ENVI header: projection, reference pixel (from 1), its upper left corner, pixel size. */
static HcStatus take_place(HcProduct *product, const HcProductFile *file, const char *site, HcError *err) {
    HcStatus status = HC_OK;
    char *info = NULL, *code = NULL;
    double value[6], epsg = 0;
    HC_TRY(hc_product_string(file, name_of(site, "/Metadata/Coordinate_System/Map_Info").text, &info, err));
    HC_TRY(hc_product_string(file, name_of(site, "/Metadata/Coordinate_System/EPSG Code").text, &code, err));
    const char *comma = strchr(info, ',');
    int found = comma != NULL ? sscanf(comma + 1, "%lf ,%lf ,%lf ,%lf ,%lf ,%lf", &value[0], &value[1],
                                       &value[2], &value[3], &value[4], &value[5])
                              : 0;
    if (found != 6 || !hc_text_parse_double(code, &epsg)) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: Map_Info is '%.80s' and EPSG Code '%.20s'", file->path, info,
                       code));
    }
    const double transform[6] = {value[2] - (value[0] - 1) * value[4], value[4], 0,
                                 value[3] + (value[1] - 1) * value[5], 0,        -value[5]};
    product->scene.place.has_transform = true;
    memcpy(product->scene.place.transform, transform, sizeof transform);
    HC_TRY(hc_product_crs(product, epsg, err));
done:
    free(info);
    free(code);
    return status;
}

/* Classes of the atmospheric correction. */
static HcStatus add_layers(HcProduct *product, const HcProductFile *file, const char *site, HcError *err) {
    static const struct {
        HcProductLayer layer;
        const char *dataset;
    } all[] = {{{.name = "cloud", .values = "2-4,8-10,15,16,18,19", .usual = true}, "Haze_Cloud_Water_Map"},
               {{.name = "haze", .values = "11-14", .usual = true}, "Haze_Cloud_Water_Map"},
               {{.name = "snow", .values = "7"}, "Haze_Cloud_Water_Map"},
               {{.name = "water", .values = "17"}, "Haze_Cloud_Water_Map"},
               {{.name = "shadow", .values = "1,21"}, "Haze_Cloud_Water_Map"},
               {{.name = "weather", .values = "2,3"}, "Weather_Quality_Indicator"}};
    for (size_t l = 0; l < sizeof all / sizeof *all; l++) {
        HcProductLayer layer = all[l].layer;
        char rest[80];
        int64_t size[2];
        HcError why = {0};
        snprintf(rest, sizeof rest, "/Metadata/Ancillary_Imagery/%s", all[l].dataset);
        Name name = name_of(site, rest);
        layer.band = 1;
        layer.axis[0] = HC_AXIS_BAND;
        layer.axis[1] = HC_AXIS_LINE;
        layer.axis[2] = HC_AXIS_SAMPLE;
        /* The weather is a picture of three colours in products before 2024. */
        if (!hc_product_has(file, name.text)) {
            continue;
        }
        HcStatus status = hc_product_shape(file, name.text, 2, size, &why);
        if (status != HC_OK && status != HC_E_INPUT) {
            return hc_fail(err, status, "%s", why.text);
        }
        if (status == HC_OK) {
            HC_OR_RETURN(hc_product_add_layer(product, &layer, file->path, name.text, NULL, err));
        }
    }
    return HC_OK;
}

static HcStatus describe(HcProduct *product, const HcProductFile *file, const char *site, HcError *err) {
    static const HcAxis order[] = {HC_AXIS_LINE, HC_AXIS_SAMPLE, HC_AXIS_BAND};
    HcScene *scene = &product->scene;
    double nodata = 0;
    product->name = hc_text_format("NEON AOP reflectance, site %s", site);
    HC_OR_RETURN(hc_text_made(product->name, 0, "a text", err));
    HC_OR_RETURN(hc_product_take(product, file, name_of(site, "/Reflectance_Data").text, order, err));
    HC_OR_RETURN(hc_product_number(file, product->array[0].dataset, "Data_Ignore_Value", &nodata, err));
    scene->has_nodata = true;
    scene->nodata = nodata;
    HC_OR_RETURN(add_bands(product, file, site, err));
    HC_OR_RETURN(add_layers(product, file, site, err));
    return take_place(product, file, site, err);
}

HcStatus hc_product_neon(HcProduct *product, const HcProductFile *file, bool *is, HcError *err) {
    HcStatus status = HC_OK;
    char **groups = GDALGroupGetGroupNames(file->root, NULL);
    *is = false;
    for (int g = 0; groups != NULL && groups[g] != NULL && !*is; g++) {
        /* Either is enough; if the other is missing, the file has an error. */
        *is = hc_product_has_group(file, name_of(groups[g], "/Metadata/Spectral_Data").text) ||
              hc_product_has(file, name_of(groups[g], "/Reflectance_Data").text);
        if (*is) {
            status = describe(product, file, groups[g], err);
        }
    }
    CSLDestroy(groups);
    return status;
}
