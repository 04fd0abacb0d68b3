/* DESIS L1B, L1C and L2A: a GeoTIFF, METADATA.xml and an ENVI header beside it, which describes the bands. */
#include "io/read/envi_header.h"
#include "io/read/product/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The fields of the header, all of the same count. */
static HcStatus add_bands(HcProduct *product, const HcEnviHeader *header, HcError *err) {
    static const char *const keys[] = {"wavelength", "fwhm", "data gain values", "data offset values"};
    HcStatus status = HC_OK;
    double *list[4] = {NULL};
    int32_t count[4] = {0};
    for (int k = 0; k < 4; k++) {
        HC_TRY(hc_envi_numbers(header, keys[k], &list[k], &count[k], err));
        if (count[k] == 0 || count[k] != count[0]) {
            HC_TRY(hc_fail(err, HC_E_INPUT, "%s: %s has %" PRId32 " values, wavelength has %" PRId32,
                           header->path, keys[k], count[k], count[0]));
        }
    }
    for (int32_t b = 0; b < count[0]; b++) {
        for (int k = 0; k < 4; k++) {
            bool good = isfinite(list[k][b]) && (k == 3 || (k == 2 && list[k][b] != 0) || list[k][b] > 0);
            if (!good) {
                HC_TRY(hc_fail(err, HC_E_INPUT, "%s: %s of band %" PRId32 " is %g", header->path, keys[k],
                               b + 1, list[k][b]));
            }
        }
    }
    HC_TRY(hc_product_add_bands(
        product, &(HcProductBands){.count = count[0], .wavelength = list[0], .fwhm = list[1], .unit = 1},
        err));
    for (int32_t b = 0; b < count[0]; b++) {
        product->band[b].gain = list[2][b];
        product->band[b].offset = list[3][b];
    }
done:
    for (int k = 0; k < 4; k++) {
        free(list[k]);
    }
    return status;
}

/* Each level has its name in that of the product; the mission and the level are elements as well. */
static HcStatus set_name(HcProduct *product, const HcProductText *text, HcError *err) {
    static const char *const levels[] = {"L1B", "L1C", "L2A"};
    const char *level = "";
    for (int l = 0; l < 3; l++) {
        level = strstr(text->data, levels[l]) != NULL ? levels[l] : level;
    }
    product->name = hc_text_format("DESIS%s%s", level[0] != '\0' ? " " : "", level);
    return product->name != NULL ? HC_OK : hc_fail_memory(err, 0, "a text");
}

/* One raster beside the metadata, as `count` layers. */
static HcStatus add_raster(HcProduct *product, const HcProductText *text, const char *name,
                           const HcProductLayer *layers, size_t count, HcError *err) {
    HcStatus status = HC_OK;
    char *path = NULL;
    HC_OR_RETURN(hc_product_swap_end(text->path, "-METADATA.xml", name, &path, err));
    bool there = path != NULL && hc_product_is_file(path);
    for (size_t l = 0; there && l < count; l++) {
        HC_TRY(hc_product_add_layer(product, &layers[l], path, NULL, NULL, err));
    }
done:
    free(path);
    return status;
}

/* The bands of the quality layers of L2A in their order, and the raster that has the bands of the scene. */
static HcStatus add_layers(HcProduct *product, const HcProductText *text, HcError *err) {
    static const HcProductLayer bands[] = {{.name = "shadow", .band = 1},
                                           {.name = "land", .band = 2},
                                           {.name = "snow", .band = 3},
                                           {.name = "haze-land", .band = 4, .usual = true},
                                           {.name = "haze-water", .band = 5, .usual = true},
                                           {.name = "cloud-land", .band = 6, .usual = true},
                                           {.name = "cloud-water", .band = 7, .usual = true},
                                           {.name = "water", .band = 8}};
    static const HcProductLayer errors = {.name = "error"};
    HC_OR_RETURN(add_raster(product, text, "-QL_QUALITY-2.tif", bands, sizeof bands / sizeof *bands, err));
    return add_raster(product, text, "-QL_QUALITY.tif", &errors, 1, err);
}

HcStatus hc_product_desis(HcProduct *product, const HcProductText *text, bool *is, HcError *err) {
    HcStatus status = HC_OK;
    HcEnviHeader header = {0};
    char *path = NULL;
    *is = false;
    if (text->xml == NULL || strstr(text->data, "DESIS") == NULL) {
        return HC_OK;
    }
    HC_TRY(hc_product_swap_end(text->path, "-METADATA.xml", "-SPECTRAL_IMAGE.hdr", &path, err));
    *is = path != NULL;
    if (!*is) {
        goto done;
    }
    if (!hc_product_is_file(path)) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: there is no header %s", text->path, path));
    }
    HC_TRY(set_name(product, text, err));
    if (product->raster == NULL) {
        HC_TRY(
            hc_product_swap_end(text->path, "-METADATA.xml", "-SPECTRAL_IMAGE.tif", &product->raster, err));
        if (!hc_product_is_file(product->raster)) {
            HC_TRY(hc_fail(err, HC_E_INPUT, "%s: there is no raster %s", text->path, product->raster));
        }
    }
    HC_TRY(hc_envi_load(&header, path, err));
    HC_TRY(add_bands(product, &header, err));
    HC_TRY(hc_product_check_turns(product, path, err));
    HC_TRY(hc_paths_add(&product->files, path, err));
    HC_TRY(add_layers(product, text, err));
done:
    hc_envi_clear(&header);
    free(path);
    return status;
}
