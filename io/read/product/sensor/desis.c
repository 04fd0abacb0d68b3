/* DESIS L1B, L1C and L2A: a GeoTIFF and METADATA.xml. The bands are described by an ENVI header beside them,
 * or else by the metadata. */
#include "core/allocate.h"
#include "io/read/metadata/envi_header.h"
#include "io/read/parts.h"
#include "io/read/product/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BANDS "bandCharacterisation/band/"
#define LAYOUT(of_product, more)                                                                             \
    {                                                                                                        \
        .product = of_product, .version = "V0220", .dataset = "NAME-SPECTRAL_IMAGE.tif",                     \
        .bands = {BANDS "wavelengthCenterOfBand", BANDS "wavelengthWidthOfBand", NULL},                      \
        .layers = more "error"                                                                               \
    }
static const HcProductLayout layouts[] = {
    LAYOUT("DESIS L1B", ""),
    LAYOUT("DESIS L1C", ""),
    LAYOUT("DESIS L2A", "shadow;land;snow;haze-land+;haze-water+;cloud-land+;cloud-water+;water;"),
    {0}};

const HcProductRow hc_product_rows_desis[] = {{.sensor = "DESIS",
                                               .read = "L1B, L1C, L2A",
                                               .versions = "V0220",
                                               .checked = "real STAC item, layout",
                                               .layouts = layouts},
                                              {0}};

/* What describes the bands, all of the same count: fields of a header, or elements of the metadata. */
enum { FIELDS = 4 };
typedef struct Fields {
    const char *path, *const *names;
    double *list[FIELDS]; /* [count[k]] */
    int32_t count[FIELDS];
} Fields;

static HcStatus load_header(Fields *fields, const char *path, HcError *err) {
    static const char *const names[] = {"wavelength", "fwhm", "data gain values", "data offset values"};
    HcStatus status = HC_OK;
    HcEnviHeader header = {0};
    fields->path = path;
    fields->names = names;
    HC_TRY(hc_envi_load(&header, path, err));
    for (int k = 0; k < FIELDS; k++) {
        HC_TRY(hc_envi_numbers(&header, names[k], &fields->list[k], &fields->count[k], err));
    }
done:
    hc_envi_clear(&header);
    return status;
}

static int32_t count_bands(const CPLXMLNode *list) {
    int32_t count = 0;
    for (const CPLXMLNode *node = list->psChild; node != NULL; node = node->psNext) {
        count += node->eType == CXT_Element && strcasecmp(node->pszValue, "band") == 0;
    }
    return count;
}

/* The elements of each band of the metadata; NAN where one is missing. */
static HcStatus load_elements(Fields *fields, const HcProductText *text, CPLXMLNode *list, HcError *err) {
    static const char *const names[] = {"wavelengthCenterOfBand", "wavelengthWidthOfBand", "gainOfBand",
                                        "offsetOfBand"};
    int32_t count = count_bands(list);
    fields->path = text->path;
    fields->names = names;
    for (int k = 0; k < FIELDS; k++) {
        HC_OR_RETURN(hc_new(fields->list[k], count, "the bands", err));
        for (CPLXMLNode *node = list->psChild; node != NULL; node = node->psNext) {
            if (node->eType == CXT_Element && strcasecmp(node->pszValue, "band") == 0) {
                double *value = &fields->list[k][fields->count[k]++];
                if (!hc_text_parse_double(CPLGetXMLValue(node, names[k], ""), value)) {
                    *value = NAN;
                }
            }
        }
    }
    return HC_OK;
}

static HcStatus add_bands(HcProduct *product, const Fields *fields, HcError *err) {
    double *const *list = fields->list;
    const int32_t *count = fields->count;
    for (int k = 0; k < FIELDS; k++) {
        if (count[k] == 0 || count[k] != count[0]) {
            return hc_fail(err, HC_E_INPUT, "%s: %s has %" PRId32 " values, wavelength has %" PRId32,
                           fields->path, fields->names[k], count[k], count[0]);
        }
        for (int32_t b = 0; b < count[0]; b++) {
            double value = list[k][b];
            bool good = isfinite(value) && (k == 3 || (k == 2 && value != 0) || value > 0);
            if (!good) {
                return hc_fail(err, HC_E_INPUT, "%s: %s of band %" PRId32 " is %g", fields->path,
                               fields->names[k], b + 1, value);
            }
        }
    }
    HC_OR_RETURN(hc_product_add_bands(
        product, &(HcProductBands){.count = count[0], .wavelength = list[0], .fwhm = list[1], .unit = 1},
        err));
    for (int32_t b = 0; b < count[0]; b++) {
        product->band[b].gain = list[2][b];
        product->band[b].offset = list[3][b];
    }
    return HC_OK;
}

/* The header, and the metadata where it does not lie beside them. */
static HcStatus describe_bands(HcProduct *product, const HcProductText *text, const char *header,
                               HcError *err) {
    HcStatus status = HC_OK;
    Fields fields = {0};
    bool there = hc_read_is_file(header, NULL, NULL);
    CPLXMLNode *list = CPLSearchXMLNode(text->xml, "bandCharacterisation");
    if (!there && (list == NULL || count_bands(list) == 0)) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: there is no header %s, and the text describes no band itself",
                       text->path, header));
    }
    HC_TRY(there ? load_header(&fields, header, err) : load_elements(&fields, text, list, err));
    HC_TRY(add_bands(product, &fields, err));
    HC_TRY(hc_product_check_turns(product, fields.path, err));
    HC_TRY(there ? hc_paths_add(&product->files, header, err) : HC_OK);
done:
    for (int k = 0; k < FIELDS; k++) {
        free(fields.list[k]);
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
    bool there = path != NULL && hc_read_is_file(path, NULL, NULL);
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
    char *header = NULL;
    *is = false;
    if (text->xml == NULL || strstr(text->data, "DESIS") == NULL) {
        return HC_OK;
    }
    HC_TRY(hc_product_swap_end(text->path, "-METADATA.xml", "-SPECTRAL_IMAGE.hdr", &header, err));
    *is = header != NULL;
    if (!*is) {
        goto done;
    }
    HC_TRY(set_name(product, text, err));
    if (product->raster == NULL) {
        HC_TRY(
            hc_product_swap_end(text->path, "-METADATA.xml", "-SPECTRAL_IMAGE.tif", &product->raster, err));
        if (!hc_read_is_file(product->raster, NULL, NULL)) {
            HC_TRY(hc_fail(err, HC_E_INPUT, "%s: there is no raster %s", text->path, product->raster));
        }
    }
    HC_TRY(describe_bands(product, text, header, err));
    HC_TRY(add_layers(product, text, err));
done:
    free(header);
    return status;
}
