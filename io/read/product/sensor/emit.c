/* EMIT L1B radiance and observation, L2A reflectance, its uncertainty and its masks: netCDF, pixels in sensor
 * geometry with a lookup table that places them. */
#include "io/read/metadata/envi_header.h"
#include "io/read/parts.h"
#include "io/read/product/parts.h"
#include "io/file.h"
#include "core/texts.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MASK       "/mask"
#define BANDS      "/sensor_band_parameters/"
#define MASK_BANDS BANDS "mask_bands"
#define CENTRES    BANDS "wavelengths"
#define WIDTHS     BANDS "fwhm"
#define GOOD       BANDS "good_wavelengths"
#define PLACES     "/location/lon;/location/lat;/location/elev;/location/glt_x;/location/glt_y"
#define STATE      ";/state_variables/aerosol_optical_thickness;/state_variables/water_vapor"
#define MASKS_1    "cloud+;cirrus+;water;spacecraft+;dilated-cloud+;aod550;h2o;aggregate"
#define SPECTF     "spectf-cloud-probability;spectf-cloud+;spectf-buffer-distance"
#define MASKS_3    "cloud+;cirrus+;water;dilated-cloud+;" SPECTF

#define SPECTRUM(of_product, of_version, array, of_units, more, companion)                                   \
    {                                                                                                        \
        .product = of_product, .version = of_version, .dataset = array, .axes = "line sample band",          \
        .units = of_units, .bands = {CENTRES, WIDTHS, GOOD},                                                 \
        .others = CENTRES ";" WIDTHS ";" BANDS "good_*;" PLACES more, .is_companion = companion              \
    }
#define RADIANCE(version) SPECTRUM("EMIT L1B radiance", version, "/radiance", "uW/cm^2/SR/nm", "", false)
#define REFLECTANCE(version, more)                                                                           \
    SPECTRUM("EMIT L2A reflectance", version, "/reflectance", "unitless", more, false)
#define UNCERTAINTY(version)                                                                                 \
    SPECTRUM("EMIT L2A reflectance uncertainty", version, "/reflectance_uncertainty", "unitless", "", true)
#define NAMED(of_product, of_version, array, list, all_layers, more)                                         \
    {                                                                                                        \
        .product = of_product, .version = of_version, .dataset = array, .axes = "line sample band",          \
        .names = list, .layers = all_layers, .others = list ";" PLACES more, .is_companion = true            \
    }
#define MASKS(version, layers) NAMED("EMIT L2A mask", version, MASK, MASK_BANDS, layers, ";/band_mask")
#define ANGLES(version)        NAMED("EMIT L1B observation", version, "/obs", BANDS "observation_bands", NULL, "")

static const HcProductLayout layouts[] = {
    RADIANCE("V001"),       RADIANCE("V002"),    REFLECTANCE("V001", ""), REFLECTANCE("V002", STATE),
    UNCERTAINTY("V001"),    UNCERTAINTY("V002"), MASKS("V001", MASKS_1),  MASKS("V002", MASKS_1 ";" SPECTF),
    MASKS("V003", MASKS_3), ANGLES("V001"),      ANGLES("V002"),          {0}};

const HcProductRow hc_product_rows_emit[] = {{.sensor = "EMIT",
                                              .read = "L1B RAD, OBS; L2A RFL, RFLUNCERT, MASK",
                                              .versions = "V001, V002; MASK to V003",
                                              .checked = "layout, synthetic parts",
                                              .layouts = layouts,
                                              .version_in = "product_version",
                                              .instrument = "EMIT"},
                                             {0}};

/* The lookup table goes with the scene to those who write maps; the scene itself has no place. */
HcStatus hc_product_emit_lookup(HcProduct *product, const HcProductFile *file, HcError *err) {
    HcStatus status = HC_OK;
    HcLookup *lookup = &product->scene.lookup;
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
    HC_TRY(hc_product_lookup(product, file, "/location/glt_x", "/location/glt_y", err));
done:
    free(transform);
    return status;
}

/* ---- masks ---- */

static bool holds(const char *text, const char *word) {
    return strcasestr(text, word) != NULL;
}

/* "Dilated Cloud Flag" is dilated-cloud; what stands in brackets is a unit. */
static void set_layer_name(HcProductLayer *layer, const char *band) {
    size_t used = 0;
    for (const char *c = band; *c != '\0' && *c != '(' && used < sizeof layer->name - 1; c++) {
        if (strncasecmp(c, " flag", 5) == 0) {
            break;
        }
        layer->name[used++] = (char)(isalnum((unsigned char)*c) ? tolower((unsigned char)*c) : '-');
    }
    while (used > 0 && layer->name[used - 1] == '-') {
        used--;
    }
    layer->name[used] = '\0';
}

static bool is_known(const char *name) {
    size_t length = strlen(name);
    for (const HcProductLayout *layout = layouts; layout->product != NULL; layout++) {
        for (const char *at = layout->layers; at != NULL; at = strchr(at, ';')) {
            at += *at == ';';
            if (strncmp(at, name, length) == 0 && strcspn(at, "+;") == length) {
                return true;
            }
        }
    }
    return false;
}

/* A flag with a new name may be one that should leave pixels out. */
static void compare_masks(HcProduct *product, char *const *words, int32_t count) {
    HcText names = {0};
    for (int32_t b = 0; b < count; b++) {
        HcProductLayer layer = {.band = b + 1};
        set_layer_name(&layer, words[b]);
        if (!is_known(layer.name)) {
            hc_text_add(&names, "%s%.60s", names.length > 0 ? ", " : "", words[b]);
        }
    }
    if (names.length > 0) {
        hc_product_add_news(product, "masks that are not in the table of products: %s",
                            hc_text_shown(&names));
    }
    hc_text_clear(&names);
}

/* The bands of /mask by their names. Flags of clouds, and of the station in the picture, are applied. */
static HcStatus name_layers(HcProduct *product, const HcProductFile *file, HcError *err) {
    HcStatus status = HC_OK;
    int64_t size[3] = {0};
    char **words = NULL;
    HC_TRY(hc_product_shape(file, MASK, 3, size, err));
    if (size[2] > 64) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: " MASK " has %" PRId64 " bands", file->path, size[2]));
    }
    HC_TRY(hc_product_words(file, MASK_BANDS, (int32_t)size[2], &words, err));
    compare_masks(product, words, (int32_t)size[2]);
    for (int32_t b = 0; b < (int32_t)size[2]; b++) {
        HcProductLayer layer = {.band = b + 1, .axis = {HC_AXIS_LINE, HC_AXIS_SAMPLE, HC_AXIS_BAND}};
        layer.usual = holds(words[b], "flag") && (holds(words[b], "cloud") || holds(words[b], "cirrus") ||
                                                  holds(words[b], "spacecraft"));
        set_layer_name(&layer, words[b]);
        if (layer.name[0] != '\0') {
            HC_TRY(hc_product_add_layer(product, &layer, file->path, MASK, NULL, err));
        }
    }
done:
    hc_free_texts(words, (int32_t)size[2]);
    return status;
}

/* A file of masks with a flaw is one layer, which fails for whoever applies it. */
static HcStatus read_masks(HcProduct *product, const char *path, HcError *err) {
    HcProductLayer flawed = {
        .name = "mask", .band = 1, .usual = true, .axis = {HC_AXIS_LINE, HC_AXIS_SAMPLE, HC_AXIS_BAND}};
    HcError why = {0};
    HcGdalErrors messages;
    HcProductFile file = {.path = path};
    HcStatus status = HC_OK;
    hc_gdal_catch(&messages);
    file.dataset = hc_product_open_arrays(path);
    file.root = file.dataset != NULL ? GDALDatasetGetRootGroup(file.dataset) : NULL;
    if (file.root != NULL) {
        status = name_layers(product, &file, &why);
        GDALGroupRelease(file.root);
    } else {
        status = hc_gdal_fail(&why, HC_E_INPUT, path, &messages);
    }
    hc_gdal_release();
    GDALClose(file.dataset);
    if (status == HC_E_INPUT) {
        hc_product_clear_layers(product);
        flawed.flaw = why.text;
        return hc_product_add_layer(product, &flawed, path, MASK, NULL, err);
    }
    return status == HC_OK ? HC_OK : hc_fail(err, status, "%s", why.text);
}

/* On a server names are tried: of the next version, as version 2 of the reflectance has it, and of the own.
 */
static HcStatus ask_server(const char *path, char **out, HcError *err) {
    const char *base = hc_file_base(path);
    int version = 0, rest = 0;
    *out = NULL;
    if (sscanf(base, "EMIT_L%*2c_%*[A-Z]_%3d_%n", &version, &rest) != 1 || rest == 0) {
        return HC_OK;
    }
    for (int v = version + 1; v >= version && *out == NULL; v--) {
        *out = hc_text_format("%.*sEMIT_L2A_MASK_%03d_%s", (int)(base - path), path, v, base + rest);
        HC_OR_RETURN(hc_text_made(*out, strlen(path), "a path", err));
        if (!hc_read_is_file(*out, NULL, NULL)) {
            free(*out);
            *out = NULL;
        }
    }
    return HC_OK;
}

/* What stands in the names of its masks: the time stamp, or all that follows the product. Empty: a name that
 * says neither. */
static void mask_key(const char *path, char *key, size_t size) {
    const char *base = hc_file_base(path), *at = strcasestr(base, "_RFL_");
    char stamp[HC_PRODUCT_STAMP];
    at = at != NULL ? at : strcasestr(base, "_RAD_");
    hc_product_time_stamp(path, stamp);
    snprintf(key, size, "%s%s", stamp[0] != '\0' || at == NULL ? stamp : "_MASK_",
             stamp[0] != '\0' || at == NULL ? "" : at + 5);
}

/* The masks of a granule are a file of their own, with versions of their own. */
HcStatus hc_product_emit_masks(HcProduct *product, const HcProductFile *file, HcError *err) {
    char key[256], *path = NULL;
    mask_key(file->path, key, sizeof key);
    if (key[0] == '\0') {
        hc_product_note(product, "no quality masks are applied: its name has no time stamp to find them by");
        return HC_OK;
    }
    HC_OR_RETURN(hc_product_is_near(file->path) ? hc_product_newest(file->path, "_MASK_", key, &path, err)
                                                : ask_server(file->path, &path, err));
    HcStatus status = path != NULL ? read_masks(product, path, err) : HC_OK;
    if (path == NULL) {
        hc_product_note(product, "its quality masks (%s%s) are not beside it",
                        key[0] != '_' ? "EMIT_L2A_MASK_*_" : "EMIT_L2A", key);
    }
    free(path);
    return status;
}

/* Bands with names and no wavelengths. */
static HcStatus take_names(HcProduct *product, const HcProductFile *file, const char *dataset, HcError *err) {
    int32_t count = product->array[0].bands;
    char **names = NULL;
    product->no_wavelengths = true;
    HC_OR_RETURN(hc_product_add_bands(product, &(HcProductBands){.count = count, .unit = 1}, err));
    HC_OR_RETURN(hc_product_words(file, dataset, count, &names, err));
    product->scene.band_name = names;
    if (strcmp(dataset, MASK_BANDS) == 0) {
        compare_masks(product, names, count);
    }
    for (int32_t b = 0; b < count; b++) {
        char *clean = hc_envi_clean(names[b]);
        HC_OR_RETURN(hc_text_made(clean, strlen(names[b]), "a band name", err));
        free(names[b]);
        names[b] = clean;
    }
    return HC_OK;
}

/* A part of a granule may come without its wavelengths. */
static HcStatus take_bands(HcProduct *product, const HcProductFile *file, const HcProductLists *lists,
                           HcError *err) {
    if (hc_product_has(file, lists->centres)) {
        return hc_product_add_listed(product, file, NULL, lists, err);
    }
    product->no_wavelengths = true;
    product->flaw = hc_text_format("it has no wavelengths: there is no array %s (where a server cuts the "
                                   "granule, ask for its group, too)",
                                   lists->centres);
    HC_OR_RETURN(hc_text_made(product->flaw, 0, "a text", err));
    hc_product_note(product, "%s", product->flaw);
    int32_t count = product->array[0].bands;
    return hc_product_add_bands(product, &(HcProductBands){.count = count, .unit = 1}, err);
}

HcStatus hc_product_emit(HcProduct *product, const HcProductFile *file, bool *is, HcError *err) {
    const HcProductLayout *layout = hc_product_layout(file, hc_product_rows_emit);
    /* Either is enough; if the other is missing, the file has an error. */
    *is = layout != NULL &&
          (hc_product_has_group(file, "/sensor_band_parameters") || hc_product_has(file, "/location/glt_x"));
    if (!*is) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_product_lay_out(product, file, hc_product_rows_emit, layout, err));
    HC_OR_RETURN(layout->names != NULL ? take_names(product, file, layout->names, err)
                                       : take_bands(product, file, &layout->bands, err));
    HC_OR_RETURN(hc_product_emit_lookup(product, file, err));
    return product->is_companion ? HC_OK : hc_product_emit_masks(product, file, err);
}
