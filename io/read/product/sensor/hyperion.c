/* EO-1 Hyperion L1T and L1Gst: a GeoTIFF for each band, and a text with the scales of both detectors. The
 * files say no wavelengths: those of each band are the same in all products, and lie here. */
#include "io/guard/guard.h"
#include "io/read/parts.h"
#include "io/read/product/parts.h"
#include "io/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const HcProductRow hc_product_rows_hyperion[] = {
    {.sensor = "EO-1 Hyperion", .read = "L1T, L1Gst radiance", .versions = "-", .checked = "layout"}, {0}};

/* Bands that are calibrated, from 1: 8 to 57 of VNIR and 77 to 224 of SWIR. The others are zeros, or noise.
 */
enum { VNIR_FIRST = 8, VNIR_COUNT = 50, SWIR_FIRST = 77, USED = 198 };

/* [nm] */
static const double centres[USED] = {
    426.82,  436.99,  447.17,  457.34,  467.52,  477.69,  487.87,  498.04,  508.22,  518.39,  528.57,
    538.74,  548.92,  559.09,  569.27,  579.45,  589.62,  599.80,  609.97,  620.15,  630.32,  640.50,
    650.67,  660.85,  671.02,  681.20,  691.37,  701.55,  711.72,  721.90,  732.07,  742.25,  752.43,
    762.60,  772.78,  782.95,  793.13,  803.30,  813.48,  823.65,  833.83,  844.00,  854.18,  864.35,
    874.53,  884.70,  894.88,  905.05,  915.23,  925.41,  912.45,  922.54,  932.64,  942.73,  952.82,
    962.91,  972.99,  983.08,  993.17,  1003.30, 1013.30, 1023.40, 1033.49, 1043.59, 1053.69, 1063.79,
    1073.89, 1083.99, 1094.09, 1104.19, 1114.19, 1124.28, 1134.38, 1144.48, 1154.58, 1164.68, 1174.77,
    1184.87, 1194.97, 1205.07, 1215.17, 1225.17, 1235.27, 1245.36, 1255.46, 1265.56, 1275.66, 1285.76,
    1295.86, 1305.96, 1316.05, 1326.05, 1336.15, 1346.25, 1356.35, 1366.45, 1376.55, 1386.65, 1396.74,
    1406.84, 1416.94, 1426.94, 1437.04, 1447.14, 1457.23, 1467.33, 1477.43, 1487.53, 1497.63, 1507.73,
    1517.83, 1527.92, 1537.92, 1548.02, 1558.12, 1568.22, 1578.32, 1588.42, 1598.51, 1608.61, 1618.71,
    1628.81, 1638.81, 1648.90, 1659.00, 1669.10, 1679.20, 1689.30, 1699.40, 1709.50, 1719.60, 1729.70,
    1739.70, 1749.79, 1759.89, 1769.99, 1780.09, 1790.19, 1800.29, 1810.38, 1820.48, 1830.58, 1840.58,
    1850.68, 1860.78, 1870.87, 1880.98, 1891.07, 1901.17, 1911.27, 1921.37, 1931.47, 1941.57, 1951.57,
    1961.66, 1971.76, 1981.86, 1991.96, 2002.06, 2012.15, 2022.25, 2032.35, 2042.45, 2052.45, 2062.55,
    2072.65, 2082.75, 2092.84, 2102.94, 2113.04, 2123.14, 2133.24, 2143.34, 2153.34, 2163.43, 2173.53,
    2183.63, 2193.73, 2203.83, 2213.93, 2224.03, 2234.12, 2244.22, 2254.22, 2264.32, 2274.42, 2284.52,
    2294.61, 2304.71, 2314.81, 2324.91, 2335.01, 2345.11, 2355.21, 2365.20, 2375.30, 2385.40, 2395.50};
static const double widths[USED] = {
    11.3871, 11.3871, 11.3871, 11.3871, 11.3871, 11.3871, 11.3784, 11.3538, 11.3133, 11.2580, 11.1907,
    11.1119, 11.0245, 10.9321, 10.8368, 10.7407, 10.6482, 10.5607, 10.4823, 10.4147, 10.3595, 10.3188,
    10.2942, 10.2856, 10.2980, 10.3349, 10.3909, 10.4592, 10.5322, 10.6004, 10.6562, 10.6933, 10.7058,
    10.7276, 10.7907, 10.8833, 10.9938, 11.1044, 11.1980, 11.2600, 11.2824, 11.2822, 11.2816, 11.2809,
    11.2797, 11.2782, 11.2771, 11.2765, 11.2756, 11.2754, 11.0457, 11.0457, 11.0457, 11.0457, 11.0457,
    11.0457, 11.0457, 11.0457, 11.0457, 11.0457, 11.0457, 11.0451, 11.0423, 11.0372, 11.0302, 11.0218,
    11.0122, 11.0013, 10.9871, 10.9732, 10.9572, 10.9418, 10.9248, 10.9065, 10.8884, 10.8696, 10.8513,
    10.8335, 10.8154, 10.7979, 10.7822, 10.7663, 10.7520, 10.7385, 10.7270, 10.7174, 10.7091, 10.7022,
    10.6970, 10.6946, 10.6937, 10.6949, 10.6996, 10.7058, 10.7163, 10.7283, 10.7437, 10.7612, 10.7807,
    10.8034, 10.8267, 10.8534, 10.8818, 10.9110, 10.9422, 10.9743, 11.0074, 11.0414, 11.0759, 11.1108,
    11.1461, 11.1811, 11.2156, 11.2496, 11.2826, 11.3146, 11.3460, 11.3753, 11.4037, 11.4302, 11.4538,
    11.4760, 11.4958, 11.5133, 11.5286, 11.5404, 11.5505, 11.5580, 11.5621, 11.5634, 11.5617, 11.5563,
    11.5477, 11.5346, 11.5193, 11.5002, 11.4789, 11.4548, 11.4279, 11.3994, 11.3688, 11.3366, 11.3036,
    11.2696, 11.2363, 11.2007, 11.1666, 11.1333, 11.1018, 11.0714, 11.0424, 11.0155, 10.9912, 10.9698,
    10.9508, 10.9355, 10.9230, 10.9139, 10.9083, 10.9069, 10.9057, 10.9013, 10.8951, 10.8854, 10.8740,
    10.8591, 10.8429, 10.8242, 10.8039, 10.7820, 10.7592, 10.7342, 10.7092, 10.6834, 10.6572, 10.6312,
    10.6052, 10.5803, 10.5560, 10.5328, 10.5101, 10.4904, 10.4722, 10.4552, 10.4408, 10.4285, 10.4197,
    10.4129, 10.4088, 10.4077, 10.4077, 10.4077, 10.4077, 10.4077, 10.4077, 10.4077, 10.4077, 10.4077};

#define VNIR_KEY "SCALING_FACTOR_VNIR"
#define SWIR_KEY "SCALING_FACTOR_SWIR"

/* The number after a key of the text ("KEY = 40.000000"); 0 where it is missing, no number, or where the text
 * ends in it: a file that is cut off there would have another scale. */
static double number_of(const char *text, const char *key) {
    const char *at = strstr(text, key);
    char word[32] = "", end = '\0';
    double value = 0;
    bool found = at != NULL && sscanf(at + strlen(key), " = %31s%c", word, &end) == 2;
    return found && hc_text_parse_double(word, &value) ? value : 0;
}

static HcStatus add_band(HcProduct *product, const char *text, int32_t b, HcError *err) {
    bool is_vnir = b < VNIR_COUNT;
    HcProductBands band = {.array = b,
                           .count = 1,
                           .wavelength = &centres[b],
                           .fwhm = &widths[b],
                           .unit = 1,
                           .gain = 1 / number_of(text, is_vnir ? VNIR_KEY : SWIR_KEY),
                           .detector = is_vnir ? HC_DETECTOR_VNIR : HC_DETECTOR_SWIR};
    return hc_product_add_bands(product, &band, err);
}

/* The place of the first raster. */
static HcStatus take_place(HcProduct *product, GDALDatasetH dataset, HcError *err) {
    HcPlace *place = &product->scene.place;
    const char *crs = GDALGetProjectionRef(dataset);
    place->has_transform = GDALGetGeoTransform(dataset, place->transform) == CE_None;
    if (crs != NULL && crs[0] != '\0' && (place->crs = strdup(crs)) == NULL) {
        return hc_fail_memory(err, (double)strlen(crs), "the coordinate system");
    }
    return HC_OK;
}

/* The array of the only band of a raster keeps the raster open. */
static HcStatus take_raster(HcProduct *product, const char *path, HcError *err) {
    static const char *const only[] = {"GTiff", NULL};
    static const HcAxis order[] = {HC_AXIS_BAND, HC_AXIS_LINE, HC_AXIS_SAMPLE};
    HcGdalErrors messages;
    if (!hc_read_is_file(path, NULL, NULL)) {
        return hc_fail(err, HC_E_INPUT, "%s: there is no such raster of a band", path);
    }
    hc_gdal_catch(&messages);
    GDALDatasetH dataset =
        hc_guard_open(path, GDAL_OF_RASTER | GDAL_OF_READONLY | GDAL_OF_VERBOSE_ERROR, only, NULL);
    HcStatus status = dataset != NULL ? HC_OK : hc_gdal_fail(err, HC_E_INPUT, path, &messages);
    if (status == HC_OK && GDALGetRasterCount(dataset) != 1) {
        status = hc_fail(err, HC_E_INPUT, "%s: has %d bands, and not one", path, GDALGetRasterCount(dataset));
    }
    if (status == HC_OK && product->array_count == 0) {
        status = take_place(product, dataset, err);
    }
    if (status == HC_OK) {
        GDALMDArrayH array = GDALRasterBandAsMDArray(GDALGetRasterBand(dataset, 1));
        status = hc_product_take_array(product, path, "the band", array, order, err);
    }
    if (dataset != NULL) {
        GDALReleaseDataset(dataset);
    }
    hc_gdal_release();
    return status == HC_OK ? hc_paths_add(&product->files, path, err) : status;
}

/* The rasters have the name of the text: NAME_MTL_L1T.TXT has NAME_B008_L1T.TIF. */
static HcStatus take_bands(HcProduct *product, const HcProductText *text, HcError *err) {
    const char *mark = strstr(hc_file_base(text->path), "_MTL_");
    if (mark == NULL) {
        return hc_fail(err, HC_E_INPUT, "%s: its name has no _MTL_, by which its rasters are found",
                       text->path);
    }
    const char *level = mark + strlen("_MTL_"), *dot = strrchr(level, '.');
    const char *ending = strcmp(dot, ".txt") == 0 ? "tif" : "TIF";
    for (int32_t b = 0; b < USED; b++) {
        int number = (int)(b < VNIR_COUNT ? VNIR_FIRST + b : SWIR_FIRST + b - VNIR_COUNT);
        char *path = hc_text_format("%.*s_B%03d_%.*s.%s", (int)(mark - text->path), text->path, number,
                                    (int)(dot - level), level, ending);
        HcStatus status = path != NULL ? take_raster(product, path, err)
                                       : hc_fail_memory(err, (double)strlen(text->path), "a path");
        free(path);
        HC_OR_RETURN(status);
        HC_OR_RETURN(add_band(product, text->data, b, err));
    }
    hc_product_note(product, "bands 1-7, 58-76 and 225-242 are not calibrated: not read");
    return HC_OK;
}

HcStatus hc_product_hyperion(HcProduct *product, const HcProductText *text, bool *is, HcError *err) {
    const char *vnir = strstr(text->data, VNIR_KEY), *swir = strstr(text->data, SWIR_KEY);
    *is = product->raster == NULL && text->xml == NULL && text->data[0] != '{' &&
          (vnir != NULL || swir != NULL);
    if (!*is) {
        return HC_OK;
    }
    for (int d = 0; d < 2; d++) {
        const char *key = d == 0 ? VNIR_KEY : SWIR_KEY;
        double factor = number_of(text->data, key);
        if (!(factor > 0) || !isfinite(factor)) {
            return hc_fail(err, HC_E_INPUT, "%s: %s is missing, or no number above 0", text->path, key);
        }
    }
    product->name = strdup("EO-1 Hyperion radiance (W/m^2/sr/um)");
    return product->name != NULL ? take_bands(product, text, err) : hc_fail_memory(err, 0, "a text");
}
