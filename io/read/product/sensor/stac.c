/* A STAC item beside a GeoTIFF: wavelengths and widths of its bands, in micrometres. */
#include "io/read/parts.h"
#include "io/read/product/parts.h"
#include "io/file.h"

#include <cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const HcProductRow hc_product_rows_stac[] = {{.sensor = "Wyvern and others",
                                              .read = "STAC item beside a GeoTIFF",
                                              .versions = "STAC 1.1",
                                              .checked = "layout"},
                                             {0}};

static const char *text_of(const cJSON *object, const char *key) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text != NULL ? text : "";
}

/* The bands of an asset: of STAC 1.0, or of 1.1. */
static const cJSON *bands_of(const cJSON *asset) {
    const cJSON *bands = cJSON_GetObjectItemCaseSensitive(asset, "eo:bands");
    return bands != NULL ? bands : cJSON_GetObjectItemCaseSensitive(asset, "bands");
}

static double number_of(const cJSON *band, const char *key, const char *newer) {
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(band, key);
    found = found != NULL ? found : cJSON_GetObjectItemCaseSensitive(band, newer);
    return cJSON_IsNumber(found) ? found->valuedouble : 0;
}

static bool has_wavelengths(const cJSON *asset) {
    const cJSON *first = cJSON_GetArrayItem(bands_of(asset), 0);
    return first != NULL && number_of(first, "center_wavelength", "eo:center_wavelength") > 0;
}

/* The asset that is the raster, or the only one with wavelengths whose file is there; NULL where there is
 * none. */
static HcStatus find_asset(const HcProduct *product, const HcProductText *text, const cJSON *item,
                           const cJSON **found, HcError *err) {
    const cJSON *assets = cJSON_GetObjectItemCaseSensitive(item, "assets"), *asset = NULL;
    int folder = (int)(hc_file_base(text->path) - text->path);
    int32_t count = 0;
    *found = NULL;
    cJSON_ArrayForEach(asset, assets) {
        const char *file = hc_file_base(text_of(asset, "href"));
        if (!has_wavelengths(asset)) {
            continue;
        }
        if (product->raster != NULL && strcmp(file, hc_file_base(product->raster)) == 0) {
            *found = asset;
            return HC_OK;
        }
        char *path = hc_text_format("%.*s%s", folder, text->path, file);
        HC_OR_RETURN(hc_text_made(path, strlen(file), "a path", err));
        bool there = product->raster != NULL || hc_read_is_file(path, NULL, NULL);
        *found = there ? asset : *found;
        count += there;
        free(path);
    }
    *found = count == 1 ? *found : NULL;
    return HC_OK;
}

static HcStatus add_bands(HcProduct *product, const HcProductText *text, const cJSON *bands, HcError *err) {
    const cJSON *band = NULL;
    cJSON_ArrayForEach(band, bands) {
        double centre = number_of(band, "center_wavelength", "eo:center_wavelength");
        double width = number_of(band, "full_width_half_max", "eo:full_width_half_max");
        int32_t number = product->scene.bands + 1;
        if (!(centre > 0)) {
            return hc_fail(err, HC_E_INPUT, "%s: band %" PRId32 " has no center_wavelength", text->path,
                           number);
        }
        if (!isfinite(centre) || !(width >= 0) || !isfinite(width)) {
            return hc_fail(err, HC_E_INPUT,
                           "%s: band %" PRId32 " has the center_wavelength %g um, width %g um", text->path,
                           number, centre, width);
        }
        HC_OR_RETURN(hc_product_add_bands(
            product, &(HcProductBands){.count = 1, .wavelength = &centre, .fwhm = &width, .unit = 1e3}, err));
        product->band[number - 1].band = number - 1;
    }
    return HC_OK;
}

static HcStatus describe(HcProduct *product, const HcProductText *text, const cJSON *item, HcError *err) {
    const cJSON *properties = cJSON_GetObjectItemCaseSensitive(item, "properties");
    const char *platform = text_of(properties, "platform");
    const cJSON *asset = NULL;
    HC_OR_RETURN(find_asset(product, text, item, &asset, err));
    if (asset == NULL) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: a STAC item without an asset, or with several, that has wavelengths and lies "
                       "beside it",
                       text->path);
    }
    if (product->raster == NULL) {
        product->raster = hc_text_format("%.*s%s", (int)(hc_file_base(text->path) - text->path), text->path,
                                         hc_file_base(text_of(asset, "href")));
    }
    product->name = hc_text_format("STAC item %.80s%s%.40s%s", text_of(item, "id"), platform[0] ? " (" : "",
                                   platform, platform[0] ? ")" : "");
    if (product->raster == NULL || product->name == NULL) {
        return hc_fail_memory(err, 0, "a text");
    }
    return add_bands(product, text, bands_of(asset), err);
}

HcStatus hc_product_stac(HcProduct *product, const HcProductText *text, bool *is, HcError *err) {
    HcStatus status = HC_OK;
    const char *begin = text->data + strspn(text->data, " \t\r\n"), *end = begin;
    cJSON *item = *begin == '{' ? cJSON_ParseWithOpts(begin, &end, false) : NULL;
    if (item == NULL && *begin == '{' && strstr(begin, "\"stac_version\"") != NULL) {
        return hc_fail(err, HC_E_INPUT, "%s: a STAC item that is no JSON from byte %zu on", text->path,
                       (size_t)(end - text->data));
    }
    *is = item != NULL && strcmp(text_of(item, "type"), "Feature") == 0 &&
          text_of(item, "stac_version")[0] != '\0';
    if (*is) {
        status = describe(product, text, item, err);
    }
    cJSON_Delete(item);
    return status;
}
