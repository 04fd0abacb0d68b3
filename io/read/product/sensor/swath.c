/* Swaths in sensor geometry with a latitude and a longitude for each pixel: PACE OCI L1B, the L2 files of the
 * Ocean Biology Processing Group (PACE and others), and arrays that name their coordinates after the CF
 * conventions. Which axes of an array are lines and samples follows from the axes of the latitudes. */
#include "core/allocate.h"
#include "io/read/product/parts.h"

#include <cpl_string.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define L2 "/geophysical_data"
#define LAYOUT(of_product, of_version, array, of_axes, centres, of_layers)                                   \
    {                                                                                                        \
        .product = of_product, .version = of_version, .dataset = array, .axes = of_axes,                     \
        .bands = {"/sensor_band_parameters/" centres, NULL, NULL}, .layers = of_layers                       \
    }
#define L1B(of_product, version, quantity)                                                                   \
    LAYOUT(of_product, version,                                                                              \
           "/observation_data/" quantity "_blue;..." quantity "_red;..." quantity "_SWIR",                   \
           "band line sample", "blue_wavelength;...red_wavelength;...SWIR_wavelength", "water;geolocation")
static const HcProductLayout l1b_layouts[] = {L1B("PACE OCI L1B rhot", "V2", "rhot"),
                                              L1B("PACE OCI L1B rhot", "V3", "rhot"),
                                              L1B("PACE OCI L1B Lt", "V3", "Lt"),
                                              {0}};
static const HcProductLayout l2_layouts[] = {
    LAYOUT("PACE OCI L2 rhos", "V3.1", L2 "/rhos", "line sample band", "*wave*", "l2_flags"),
    LAYOUT("PACE OCI L2 Rrs", NULL, L2 "/Rrs", "line sample band", "*wave*", "l2_flags"),
    {0}};

const HcProductRow hc_product_rows_swath[] = {{.sensor = "PACE OCI",
                                               .read = "L1B",
                                               .versions = "V2, V3 of April 2026",
                                               .checked = "lists, layout",
                                               .layouts = l1b_layouts,
                                               .instrument = "OCI"},
                                              {.sensor = "Ocean Biology",
                                               .read = "L2 (PACE OCI and others)",
                                               .versions = "V3.1 (SFREFL)",
                                               .checked = "lists of L2 IOP, layout",
                                               .layouts = l2_layouts},
                                              {.sensor = "CF swaths",
                                               .read = "cubes with coordinates and wavelengths",
                                               .versions = "-",
                                               .checked = "layout"},
                                              {0}};

/* Where the parts of a swath lie. */
typedef struct Swath {
    char latitude[160], longitude[160];
    const char *parameters; /* the group that lists wavelengths */
    HcDetector detector;    /* of the cube that comes next */
} Swath;

/* The order of the axes of a cube: bands first or last. */
static HcStatus order_of(const HcProductFile *file, const Swath *swath, const char *dataset, HcAxis order[3],
                         int64_t *bands, HcError *err) {
    static const HcAxis last[] = {HC_AXIS_LINE, HC_AXIS_SAMPLE, HC_AXIS_BAND};
    static const HcAxis first[] = {HC_AXIS_BAND, HC_AXIS_LINE, HC_AXIS_SAMPLE};
    int64_t place[2] = {0}, size[3] = {0};
    HC_OR_RETURN(hc_product_shape(file, swath->latitude, 2, place, err));
    HC_OR_RETURN(hc_product_shape(file, dataset, 3, size, err));
    bool is_last = size[0] == place[0] && size[1] == place[1];
    if (!is_last && (size[1] != place[0] || size[2] != place[1])) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: %s has %lld x %lld x %lld values, but %s has %lld lines x %lld samples",
                       file->path, dataset, (long long)size[0], (long long)size[1], (long long)size[2],
                       swath->latitude, (long long)place[0], (long long)place[1]);
    }
    memcpy(order, is_last ? last : first, sizeof last);
    *bands = size[is_last ? 2 : 0];
    return HC_OK;
}

/* The list of as many wavelengths as there are bands; *unit are its nanometres. */
static HcStatus find_wavelengths(const HcProductFile *file, const char *group, int64_t bands, double **values,
                                 double *unit, HcError *err) {
    HcStatus status = HC_OK;
    char **names = hc_product_names(file, group, 1), *units = NULL, *dataset = NULL;
    *values = NULL;
    for (int n = 0; names != NULL && names[n] != NULL && *values == NULL; n++) {
        int64_t size = 0;
        free(dataset);
        dataset = hc_text_format("%s%s%s", group, group[1] != '\0' ? "/" : "", names[n]);
        HC_TRY(hc_text_made(dataset, 0, "a name", err));
        HC_TRY(hc_product_shape(file, dataset, 1, &size, err));
        if (size == bands && strcasestr(names[n], "wave") != NULL) {
            HC_TRY(hc_product_list(file, dataset, (int32_t)bands, values, err));
            HC_TRY(hc_product_units(file, dataset, &units, err));
        }
    }
    if (*values == NULL) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: %s has no list of %lld wavelengths", file->path, group,
                       (long long)bands));
    }
    bool is_micro = units != NULL && (strcmp(units, "um") == 0 || strncasecmp(units, "micro", 5) == 0);
    *unit = is_micro ? 1e3 : 1;
done:
    CSLDestroy(names);
    free(dataset);
    free(units);
    return status;
}

/* A cube with its wavelengths: those of a list, or of the only one with as many values. */
static HcStatus take_cube(HcProduct *product, const HcProductFile *file, const Swath *swath,
                          const char *dataset, const char *list, HcError *err) {
    HcStatus status = HC_OK;
    HcAxis order[3];
    int64_t count = 0;
    double *centres = NULL;
    HcProductBands bands = {.array = product->array_count, .unit = 1, .detector = swath->detector};
    HC_OR_RETURN(order_of(file, swath, dataset, order, &count, err));
    HC_OR_RETURN(hc_product_take(product, file, dataset, order, err));
    HC_TRY(list != NULL ? hc_product_list(file, list, (int32_t)count, &centres, err)
                        : find_wavelengths(file, swath->parameters, count, &centres, &bands.unit, err));
    HC_TRY(hc_product_scale(file, dataset, &bands.gain, &bands.offset, err));
    bands.count = (int32_t)count;
    bands.wavelength = centres;
    product->any_order = true; /* bands of two gains, or of two detectors, follow each other */
    HC_TRY(hc_product_add_bands(product, &bands, err));
done:
    free(centres);
    return status;
}

/* "PACE OCI L2 rhos": what the file says of itself, and the quantity. */
static HcStatus set_name(HcProduct *product, const HcProductFile *file, const char *quantity, HcError *err) {
    static const char *const attributes[] = {"platform", "instrument", "processing_level"};
    HcText name = {0};
    for (int a = 0; a < 3; a++) {
        char *text = NULL;
        HC_OR_RETURN(hc_product_text(file, NULL, attributes[a], &text, err));
        hc_text_add(&name, "%.40s%s", text != NULL ? text : "", text != NULL && text[0] != '\0' ? " " : "");
        free(text);
    }
    hc_text_add(&name, "%s", quantity);
    product->name = hc_text_take(&name);
    return product->name != NULL ? HC_OK : hc_fail_memory(err, 0, "a text");
}

/* ---- PACE OCI L1B ---- */

static HcStatus describe_l1b(HcProduct *product, const HcProductFile *file, const char *quantity,
                             HcError *err) {
    static const char *const arms[] = {"blue", "red", "SWIR"};
    static const HcProductLayer water = {
        .name = "water", .values = "1", .band = 1, .axis = {HC_AXIS_BAND, HC_AXIS_LINE, HC_AXIS_SAMPLE}};
    HcProductLayer place = water;
    Swath swath = {.latitude = "/geolocation_data/latitude", .longitude = "/geolocation_data/longitude"};
    HC_OR_RETURN(set_name(product, file, quantity, err));
    for (int a = 0; a < 3; a++) {
        char dataset[80], list[80];
        snprintf(dataset, sizeof dataset, "/observation_data/%s_%s", quantity, arms[a]);
        snprintf(list, sizeof list, "/sensor_band_parameters/%s_wavelength", arms[a]);
        swath.detector = a == 0 ? HC_DETECTOR_VNIR : HC_DETECTOR_SWIR; /* blue, and what has longer waves */
        HC_OR_RETURN(take_cube(product, file, &swath, dataset, list, err));
    }
    snprintf(place.name, sizeof place.name, "geolocation");
    place.values[0] = '\0';
    HC_OR_RETURN(hc_product_add_flat(product, file, &water, "/geolocation_data/watermask", err));
    HC_OR_RETURN(hc_product_add_flat(product, file, &place, "/geolocation_data/quality_flag", err));
    return hc_product_coordinates(product, file, swath.longitude, swath.latitude, err);
}

/* ---- L2 ---- */

#define FLAGS L2 "/l2_flags"

/* One flag as a layer; clouds and pixels without a place are left out by default. */
static HcStatus add_flag(HcProduct *product, const HcProductFile *file, const char *word, double mask,
                         HcError *err) {
    HcProductLayer layer = {.band = 1, .axis = {HC_AXIS_BAND, HC_AXIS_LINE, HC_AXIS_SAMPLE}};
    uint32_t bits = mask < 0 ? (uint32_t)(int32_t)mask : (uint32_t)mask;
    int bit = 0;
    if (strncmp(word, "SPARE", 5) == 0 || bits == 0 || (bits & (bits - 1)) != 0) {
        return HC_OK;
    }
    while (bits >> bit != 1) {
        bit++;
    }
    for (size_t c = 0; word[c] != '\0' && c < sizeof layer.name - 1; c++) {
        layer.name[c] = (char)tolower((unsigned char)word[c]);
    }
    snprintf(layer.values, sizeof layer.values, "bit%d", bit);
    layer.usual = strcmp(word, "CLDICE") == 0 || strcmp(word, "NAVFAIL") == 0;
    return hc_product_add_layer(product, &layer, file->path, FLAGS, NULL, err);
}

static HcStatus add_flags(HcProduct *product, const HcProductFile *file, HcError *err) {
    HcStatus status = HC_OK;
    double *masks = NULL;
    int32_t count = 0;
    char *meanings = NULL;
    if (!hc_product_has(file, FLAGS)) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_product_numbers(file, FLAGS, "flag_masks", &masks, &count, err));
    status = hc_product_text(file, FLAGS, "flag_meanings", &meanings, err);
    char **words = CSLTokenizeString2(meanings != NULL ? meanings : "", " ", 0);
    if (status == HC_OK && CSLCount(words) != count) {
        status = hc_fail(err, HC_E_INPUT, "%s: " FLAGS " has %d flag_meanings for %d flag_masks", file->path,
                         CSLCount(words), count);
    }
    for (int32_t f = 0; f < count && status == HC_OK; f++) {
        status = add_flag(product, file, words[f], masks[f], err);
    }
    CSLDestroy(words);
    free(meanings);
    free(masks);
    return status;
}

/* The cube of a file: reflectance if it has that, else its first one, of which the others are told. */
static const char *choose_cube(HcProduct *product, char **cubes) {
    int reflectance = CSLFindString(cubes, "rhos");
    int chosen = reflectance >= 0 ? reflectance : CSLFindString(cubes, "Rrs");
    chosen = chosen >= 0 ? chosen : 0;
    for (int c = 0; cubes[c] != NULL; c++) {
        if (c != chosen) {
            hc_product_note(product, "%s is not read", cubes[c]);
        }
    }
    return cubes[chosen];
}

static HcStatus describe_l2(HcProduct *product, const HcProductFile *file, HcError *err) {
    HcStatus status = HC_OK;
    Swath swath = {.latitude = "/navigation_data/latitude",
                   .longitude = "/navigation_data/longitude",
                   .parameters = "/sensor_band_parameters"};
    char **cubes = hc_product_names(file, L2, 3), **flat = hc_product_names(file, L2, 2), *dataset = NULL;
    const char *name = cubes != NULL ? choose_cube(product, cubes) : "values";
    HC_TRY(set_name(product, file, name, err));
    if (cubes != NULL) {
        dataset = hc_text_format(L2 "/%s", name);
        HC_TRY(dataset != NULL ? take_cube(product, file, &swath, dataset, NULL, err)
                               : hc_fail_memory(err, 0, "a name"));
    } else {
        flat = CSLRemoveStrings(flat, CSLFindString(flat, "l2_flags"), 1, NULL);
        if (CSLCount(flat) == 0) {
            HC_TRY(hc_fail(err, HC_E_INPUT, "%s: " L2 " has no array of pixels", file->path));
        }
        HC_TRY(hc_product_take_flat(product, file, L2 "/", (const char *const *)flat, err));
    }
    HC_TRY(add_flags(product, file, err));
    HC_TRY(hc_product_coordinates(product, file, swath.longitude, swath.latitude, err));
done:
    CSLDestroy(cubes);
    CSLDestroy(flat);
    free(dataset);
    return status;
}

/* ---- CF ---- */

/* The arrays of the root that the attribute of a cube names as its coordinates. */
static HcStatus find_coordinates(const HcProductFile *file, const char *dataset, Swath *swath, HcError *err) {
    char *text = NULL;
    HC_OR_RETURN(hc_product_text(file, dataset, "coordinates", &text, err));
    char **words = CSLTokenizeString2(text != NULL ? text : "", " ", 0);
    for (int w = 0; words != NULL && words[w] != NULL; w++) {
        char *to = strncasecmp(words[w], "lat", 3) == 0   ? swath->latitude
                   : strncasecmp(words[w], "lon", 3) == 0 ? swath->longitude
                                                          : NULL;
        if (to != NULL) {
            snprintf(to, sizeof swath->latitude, "/%.100s", words[w]);
        }
    }
    CSLDestroy(words);
    free(text);
    return HC_OK;
}

/* A cube on a grid of latitudes and longitudes, with as many wavelengths as bands: others are rasters. */
static HcStatus is_spectral(const HcProductFile *file, const Swath *swath, const char *dataset, bool *is,
                            HcError *err) {
    HcError why = {0};
    HcAxis order[3];
    int64_t bands = 0;
    double *centres = NULL, unit = 1;
    *is = hc_product_has_axes(file, swath->latitude, 2) && hc_product_has_axes(file, swath->longitude, 2);
    if (!*is) {
        return HC_OK;
    }
    HcStatus status = order_of(file, swath, dataset, order, &bands, &why);
    status =
        status == HC_OK ? find_wavelengths(file, swath->parameters, bands, &centres, &unit, &why) : status;
    free(centres);
    *is = status == HC_OK;
    return status == HC_OK || status == HC_E_INPUT ? HC_OK : hc_fail(err, status, "%s", why.text);
}

static HcStatus look_for_cf(HcProduct *product, const HcProductFile *file, bool *is, HcError *err) {
    HcStatus status = HC_OK;
    char **cubes = hc_product_names(file, "/", 3);
    for (int c = 0; cubes != NULL && cubes[c] != NULL && !*is; c++) {
        char dataset[160];
        Swath swath = {.parameters = "/"};
        snprintf(dataset, sizeof dataset, "/%.150s", cubes[c]);
        HC_TRY(find_coordinates(file, dataset, &swath, err));
        HC_TRY(is_spectral(file, &swath, dataset, is, err));
        if (*is) {
            HC_TRY(set_name(product, file, cubes[c], err));
            HC_TRY(take_cube(product, file, &swath, dataset, NULL, err));
            HC_TRY(hc_product_coordinates(product, file, swath.longitude, swath.latitude, err));
        }
    }
done:
    CSLDestroy(cubes);
    return status;
}

HcStatus hc_product_swath(HcProduct *product, const HcProductFile *file, bool *is, HcError *err) {
    bool reflectance = hc_product_has(file, "/observation_data/rhot_blue");
    *is = reflectance || hc_product_has(file, "/observation_data/Lt_blue");
    if (*is) {
        return describe_l1b(product, file, reflectance ? "rhot" : "Lt", err);
    }
    *is = hc_product_has_group(file, L2) && hc_product_has(file, "/navigation_data/longitude");
    return *is ? describe_l2(product, file, err) : look_for_cf(product, file, is, err);
}
