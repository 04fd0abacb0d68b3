/* EnMAP L1B, L1C and L2A: a raster, and METADATA.XML beside it. L1B has a raster for each detector. */
#include "io/read/parts.h"
#include "io/read/product/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BANDS "specific/bandCharacterisation/bandID/"
#define LAYOUT(of_product, of_version, raster)                                                               \
    {                                                                                                        \
        .product = of_product, .version = of_version, .dataset = "NAME-SPECTRAL_IMAGE" raster,               \
        .bands = {BANDS "wavelengthCenterOfBand", BANDS "FWHMOfBand", "product/bandStatistics"},             \
        .layers = "cloud+;cloud-shadow+;cirrus+;haze+;snow;water;land;error"                                 \
    }
static const HcProductLayout layouts[] = {LAYOUT("EnMAP L1B", "00.02.04", "_VNIR.TIF, ..._SWIR.TIF"),
                                          LAYOUT("EnMAP L1B", "V01", "_VNIR.TIF, ..._SWIR.TIF"),
                                          LAYOUT("EnMAP L1C", "00.02.04", ".TIF"),
                                          LAYOUT("EnMAP L1C", "V01", ".TIF"),
                                          LAYOUT("EnMAP L2A", "00.02.04", ".TIF, ..._COG.TIF"),
                                          LAYOUT("EnMAP L2A", "V01", ".TIF, ..._COG.TIF"),
                                          {0}};

const HcProductRow hc_product_rows_enmap[] = {{.sensor = "EnMAP",
                                               .read = "L1B, L1C, L2A",
                                               .versions = "00.02.04, V01",
                                               .checked = "real metadata, lists",
                                               .layouts = layouts},
                                              {0}};

/* One number of an element. */
static HcStatus read_number(const HcProductText *text, CPLXMLNode *node, int32_t band, const char *name,
                            double *value, HcError *err) {
    const char *found = CPLGetXMLValue(node, name, NULL);
    if (found == NULL || !hc_text_parse_double(found, value)) {
        return hc_fail(err, HC_E_INPUT, "%s: %s of band %" PRId32 " is %.40s", text->path, name, band,
                       found != NULL ? found : "missing");
    }
    return HC_OK;
}

static HcStatus add_bands(HcProduct *product, const HcProductText *text, CPLXMLNode *list, HcError *err) {
    for (CPLXMLNode *node = list->psChild; node != NULL; node = node->psNext) {
        double centre = 0, width = 0, gain = 0, offset = 0;
        int32_t band = product->scene.bands + 1;
        if (node->eType != CXT_Element || strcmp(node->pszValue, "bandID") != 0) {
            continue;
        }
        HC_OR_RETURN(read_number(text, node, band, "wavelengthCenterOfBand", &centre, err));
        HC_OR_RETURN(read_number(text, node, band, "FWHMOfBand", &width, err));
        HC_OR_RETURN(read_number(text, node, band, "GainOfBand", &gain, err));
        HC_OR_RETURN(read_number(text, node, band, "OffsetOfBand", &offset, err));
        if (!(centre >= 0) || !isfinite(centre) || !(width >= 0) || !isfinite(width)) {
            return hc_fail(err, HC_E_INPUT, "%s: band %" PRId32 " has the wavelength %g nm, width %g nm",
                           text->path, band, centre, width);
        }
        HC_OR_RETURN(hc_product_add_bands(
            product,
            &(HcProductBands){
                .count = 1, .wavelength = &centre, .fwhm = &width, .unit = 1, .gain = gain, .offset = offset},
            err));
        product->band[band - 1].band = band - 1;
        product->band[band - 1].bad = true; /* until a detector claims it */
    }
    return HC_OK;
}

/* The index of the band that has a number, which counts by wavelength: so do L1C and L2A list their bands.
 * L1B lists those of one detector after those of the other. */
static int32_t band_of_number(const HcProduct *product, int32_t number) {
    int32_t found = 0;
    for (int32_t b = 0; b < product->scene.bands; b++) {
        int32_t before = 0;
        for (int32_t o = 0; o < product->scene.bands; o++) {
            double difference = product->band[o].wavelength - product->band[b].wavelength;
            before += difference < 0 || (difference == 0 && o < b);
        }
        found = before + 1 == number ? b : found;
    }
    return found;
}

/* The bands of a detector, numbers from 1 with commas between them. */
static HcStatus claim_bands(HcProduct *product, const HcProductText *text, CPLXMLNode *specific,
                            const char *path, HcDetector detector, HcError *err) {
    const char *list = CPLGetXMLValue(specific, path, "");
    int32_t claimed = 0;
    for (const char *at = list; *at != '\0'; claimed++) {
        char *end = NULL;
        long band = strtol(at, &end, 10);
        if (end == at || band < 1 || band > product->scene.bands) {
            return hc_fail(err, HC_E_INPUT, "%s: %s names band '%.12s' of %" PRId32, text->path, path, at,
                           product->scene.bands);
        }
        int32_t index =
            product->part != HC_DETECTOR_ONE ? band_of_number(product, (int32_t)band) : (int32_t)band - 1;
        product->band[index].detector = detector;
        product->band[index].bad = false;
        at = end + strspn(end, ", \t\r\n");
    }
    return claimed > 0 ? HC_OK : hc_fail(err, HC_E_INPUT, "%s: there is no %s", text->path, path);
}

/* Bands whose statistics say that they hold nothing. */
static void mark_empty(HcProduct *product, CPLXMLNode *statistics) {
    int32_t band = 0, empty = 0;
    for (CPLXMLNode *node = statistics != NULL ? statistics->psChild : NULL; node != NULL;
         node = node->psNext) {
        if (node->eType != CXT_Element || strcmp(node->pszValue, "bandID") != 0 ||
            band >= product->scene.bands) {
            continue;
        }
        double deviation = 1, mean = 0;
        bool said = hc_text_parse_double(CPLGetXMLValue(node, "stdDeviation", ""), &deviation) &&
                    hc_text_parse_double(CPLGetXMLValue(node, "mean", ""), &mean);
        if (said && deviation == 0 && mean == -1000000 && !product->band[band].bad) {
            product->band[band].bad = true;
            empty++;
        }
        band++;
    }
    if (empty > 0) {
        hc_product_note(product, "%" PRId32 " bands hold no value by their statistics and count as bad",
                        empty);
    }
}

/* A raster beside the metadata, by the endings that the formats of the product have; NULL: not there. */
static HcStatus find_beside(const HcProductText *text, const char *name, char **path, HcError *err) {
    static const char *const endings[] = {".TIF", ".tif", ".BSQ",     ".BIL",
                                          ".BIP", ".JP2", "_COG.TIF", "_COG.tiff"};
    *path = NULL;
    for (size_t e = 0; e < sizeof endings / sizeof *endings && *path == NULL; e++) {
        char to[64];
        snprintf(to, sizeof to, "-%s%s", name, endings[e]);
        HC_OR_RETURN(hc_product_swap_end(text->path, "-METADATA.XML", to, path, err));
        if (*path != NULL && !hc_read_is_file(*path, NULL, NULL)) {
            free(*path);
            *path = NULL;
        }
    }
    return HC_OK;
}

/* Quality layers are rasters of their own. Those of L1B have the grid of the first detector. */
static HcStatus add_layers(HcProduct *product, const HcProductText *text, HcError *err) {
    static const struct {
        HcProductLayer layer;
        const char *file;
    } all[] = {{{.name = "cloud", .usual = true}, "QL_QUALITY_CLOUD"},
               {{.name = "cloud-shadow", .usual = true}, "QL_QUALITY_CLOUDSHADOW"},
               {{.name = "cirrus", .usual = true}, "QL_QUALITY_CIRRUS"},
               {{.name = "haze", .usual = true}, "QL_QUALITY_HAZE"},
               {{.name = "snow"}, "QL_QUALITY_SNOW"},
               {{.name = "water", .values = "2"}, "QL_QUALITY_CLASSES"},
               {{.name = "land", .values = "1"}, "QL_QUALITY_CLASSES"},
               {{.name = "error"}, "QL_PIXELMASK"}};
    static const char *const parts[] = {
        [HC_DETECTOR_ONE] = "", [HC_DETECTOR_VNIR] = "_VNIR", [HC_DETECTOR_SWIR] = "_SWIR"};
    for (size_t l = 0; l < sizeof all / sizeof *all; l++) {
        char *path = NULL;
        HcProductLayer layer = all[l].layer;
        char file[48];
        bool of_bands = strcmp(layer.name, "error") == 0;
        layer.band = of_bands ? 0 : 1;
        layer.usual = layer.usual && product->part != HC_DETECTOR_SWIR;
        snprintf(file, sizeof file, "%s%s", all[l].file, of_bands ? parts[product->part] : "");
        HC_OR_RETURN(find_beside(text, file, &path, err));
        HcStatus status = path != NULL ? hc_product_add_layer(product, &layer, path, NULL, NULL, err) : HC_OK;
        free(path);
        HC_OR_RETURN(status);
    }
    return HC_OK;
}

static HcStatus find_raster(HcProduct *product, const HcProductText *text, HcError *err) {
    HC_OR_RETURN(find_beside(text, "SPECTRAL_IMAGE", &product->raster, err));
    return product->raster != NULL
               ? HC_OK
               : hc_fail(err, HC_E_INPUT,
                         "%s: there is no raster NAME-SPECTRAL_IMAGE.TIF beside it (of L1B open "
                         "NAME-SPECTRAL_IMAGE_VNIR.TIF or NAME-SPECTRAL_IMAGE_SWIR.TIF: its detectors see a "
                         "place some 20 lines apart, so that they make no common scene)",
                         text->path);
}

static void find_part(HcProduct *product) {
    product->part = strstr(product->raster, "-SPECTRAL_IMAGE_VNIR") != NULL   ? HC_DETECTOR_VNIR
                    : strstr(product->raster, "-SPECTRAL_IMAGE_SWIR") != NULL ? HC_DETECTOR_SWIR
                                                                              : HC_DETECTOR_ONE;
}

/* Number of VNIR bands, which come before those of SWIR in the list of L1B. */
static int32_t count_vnir(const HcProduct *product, const HcProductText *text) {
    int32_t said = atoi(CPLGetXMLValue(text->xml, "product.image.vnir.channels", "0")), claimed = 0;
    for (int32_t b = 0; b < product->scene.bands; b++) {
        claimed += product->band[b].detector == HC_DETECTOR_VNIR;
    }
    return said > 0 && said < product->scene.bands ? said : claimed;
}

/* A raster of one detector has the first or the last bands of the list. */
static void take_part(HcProduct *product, int32_t vnir) {
    bool last = product->part == HC_DETECTOR_SWIR;
    int32_t from = last ? vnir : 0, count = last ? product->scene.bands - vnir : vnir;
    memmove(product->band, product->band + from, (size_t)count * sizeof *product->band);
    product->scene.bands = count;
    for (int32_t b = 0; b < count; b++) {
        product->band[b].detector = HC_DETECTOR_ONE;
    }
}

/* ---- RPC of L1B ---- */

/* The 20 coefficients whose names begin so, in their order. */
static bool take_coefficients(CPLXMLNode *band, const char *begin, double *to) {
    int count = 0;
    for (CPLXMLNode *node = band->psChild; node != NULL; node = node->psNext) {
        if (node->eType == CXT_Element && strncasecmp(node->pszValue, begin, strlen(begin)) == 0) {
            if (count == 20 || !hc_text_parse_double(CPLGetXMLValue(node, NULL, ""), &to[count++])) {
                return false;
            }
        }
    }
    return count == 20;
}

static bool take_rpc(CPLXMLNode *band, HcRpc *rpc) {
    static const char *const numbers[HC_RPC_COEFFICIENTS] = {
        "ROW_OFF",   "COL_OFF",   "LAT_OFF",   "LONG_OFF",   "HEIGHT_OFF",
        "ROW_SCALE", "COL_SCALE", "LAT_SCALE", "LONG_SCALE", "HEIGHT_SCALE"};
    static const char *const lists[] = {"ROW_NUM", "ROW_DEN", "COL_NUM", "COL_DEN"};
    bool good = true;
    for (int n = 0; n < HC_RPC_COEFFICIENTS && good; n++) {
        good = hc_text_parse_double(CPLGetXMLValue(band, numbers[n], ""), &rpc->value[n]);
    }
    for (int l = 0; l < 4 && good; l++) {
        good = take_coefficients(band, lists[l], rpc->value + HC_RPC_COEFFICIENTS + 20 * l);
    }
    return good;
}

/* Each band has its own; those of the middle one stand for its detector. */
static void add_rpc(HcProduct *product, const HcProductText *text, int32_t vnir) {
    CPLXMLNode *list = CPLGetXMLNode(text->xml, "product.navigation.RPC");
    int32_t band = 0, all = product->scene.bands;
    int32_t middle = product->part == HC_DETECTOR_VNIR ? vnir / 2 : vnir + (all - vnir) / 2;
    for (CPLXMLNode *node = list != NULL ? list->psChild : NULL; node != NULL; node = node->psNext) {
        if (node->eType != CXT_Element || strcmp(node->pszValue, "bandID") != 0 || band++ != middle) {
            continue;
        }
        product->scene.rpc.known = take_rpc(node, &product->scene.rpc);
        hc_product_note(product,
                        product->scene.rpc.known
                            ? "rational polynomial coefficients (RPC) are those of band %" PRId32
                              ", carried on and not applied"
                            : "rational polynomial coefficients (RPC) of band %" PRId32
                              " are incomplete and not carried on",
                        middle + 1);
    }
}

HcStatus hc_product_enmap(HcProduct *product, const HcProductText *text, bool *is, HcError *err) {
    CPLXMLNode *specific = text->xml != NULL ? CPLGetXMLNode(text->xml, "specific") : NULL;
    CPLXMLNode *list = specific != NULL ? CPLGetXMLNode(specific, "bandCharacterisation") : NULL;
    *is = list != NULL && CPLGetXMLNode(list, "bandID.wavelengthCenterOfBand") != NULL;
    if (!*is) {
        return HC_OK;
    }
    const char *level = CPLGetXMLValue(text->xml, "base.level", "");
    product->name = hc_text_format("EnMAP%s%.8s", level[0] != '\0' ? " " : "", level);
    HC_OR_RETURN(hc_text_made(product->name, 0, "a text", err));
    if (product->raster == NULL) {
        HC_OR_RETURN(find_raster(product, text, err));
    }
    find_part(product);
    HC_OR_RETURN(add_bands(product, text, list, err));
    HC_OR_RETURN(claim_bands(product, text, specific, "vnirProductQuality.expectedChannelsList",
                             HC_DETECTOR_VNIR, err));
    HC_OR_RETURN(claim_bands(product, text, specific, "swirProductQuality.expectedChannelsList",
                             HC_DETECTOR_SWIR, err));
    mark_empty(product, CPLGetXMLNode(text->xml, "product.bandStatistics"));
    if (product->part != HC_DETECTOR_ONE) {
        int32_t vnir = count_vnir(product, text);
        hc_product_note(product, "one detector of EnMAP L1B: the other one sees a place some 20 lines apart, "
                                 "and is a scene of its own");
        add_rpc(product, text, vnir);
        take_part(product, vnir);
    }
    HC_OR_RETURN(hc_product_check_turns(product, text->path, err));
    product->scene.has_nodata =
        hc_text_parse_double(CPLGetXMLValue(specific, "backgroundValue", ""), &product->scene.nodata) &&
        isfinite(product->scene.nodata);
    return add_layers(product, text, err);
}
