/* Opening through GDAL where a description lies beside the data. GDAL passes over a .aux.xml, a world file or
 * a header that it cannot open or read, without a word. So a local file is opened twice: what fails once
 * shows as a difference, what fails always shows when the file itself is opened here. */
#include "io/read/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Adds the items of a metadata domain. */
static void add_metadata(HcText *text, GDALMajorObjectH object, const char *domain) {
    char **items = GDALGetMetadata(object, domain);
    for (int i = 0; items != NULL && items[i] != NULL; i++) {
        hc_text_add(text, "%s\n", items[i]);
    }
}

static void add_band(HcText *text, GDALRasterBandH band) {
    int has[3] = {0};
    double nodata = GDALGetRasterNoDataValue(band, &has[0]);
    double scale = GDALGetRasterScale(band, &has[1]), offset = GDALGetRasterOffset(band, &has[2]);
    GDALColorTableH colours = GDALGetRasterColorTable(band);
    char **names = GDALGetRasterCategoryNames(band);
    GDALRasterAttributeTableH table = GDALGetDefaultRAT(band);
    add_metadata(text, band, NULL);
    hc_text_add(text, "%d %s %d %a %d %a %d %a %d %d %d\n", (int)GDALGetRasterDataType(band),
                GDALGetDescription(band), has[0], nodata, has[1], scale, has[2], offset,
                (int)GDALGetRasterColorInterpretation(band),
                colours != NULL ? GDALGetColorEntryCount(colours) : -1,
                table != NULL ? GDALRATGetRowCount(table) : -1);
    for (int i = 0; names != NULL && names[i] != NULL; i++) {
        hc_text_add(text, "%s\n", names[i]);
    }
}

/* What GDAL knows of the dataset. A file beside it is taken as a whole or not at all, so that the first,
 * middle and last band speak for all. */
static void describe(HcText *text, GDALDatasetH dataset) {
    static const char *const domains[] = {NULL, "ENVI", "IMAGE_STRUCTURE", "IMAGERY", "RPC", "GEOLOCATION"};
    double transform[6] = {0};
    int bands = GDALGetRasterCount(dataset);
    bool placed = GDALGetGeoTransform(dataset, transform) == CE_None;
    const char *crs = GDALGetProjectionRef(dataset);
    hc_text_add(text, "%s %d %d %d %d %d %s\n", GDALGetDriverShortName(GDALGetDatasetDriver(dataset)), bands,
                GDALGetRasterXSize(dataset), GDALGetRasterYSize(dataset), GDALGetGCPCount(dataset), placed,
                crs != NULL ? crs : "");
    for (int i = 0; i < 6; i++) {
        hc_text_add(text, "%a ", transform[i]);
    }
    for (size_t d = 0; d < sizeof domains / sizeof *domains; d++) {
        add_metadata(text, dataset, domains[d]);
    }
    if (bands > 0) {
        add_band(text, GDALGetRasterBand(dataset, 1));
        add_band(text, GDALGetRasterBand(dataset, (bands + 1) / 2));
        add_band(text, GDALGetRasterBand(dataset, bands));
    }
}

/* The text has no memory where there is no dataset. */
static HcText described(GDALDatasetH dataset) {
    HcText text = {0};
    HcGdalErrors messages;
    hc_gdal_catch(&messages);
    if (dataset != NULL) {
        describe(&text, dataset);
    }
    hc_gdal_release();
    return text;
}

static HcStatus compare(const HcText *first, const HcText *second, const char *path, HcError *err) {
    if (first->failed || second->failed) {
        return hc_fail_memory(err, 0, "a description");
    }
    bool opened = first->data != NULL && second->data != NULL;
    bool same = opened ? strcmp(first->data, second->data) == 0 : first->data == second->data;
    return same ? HC_OK
                : hc_fail(err, HC_E_IO,
                          "%s: opened twice, it is not described the same: the file or one beside it could "
                          "not be read, or changes",
                          path);
}

HcStatus hc_read_check_readable(const char *path, const HcGdalErrors *messages, HcError *err) {
    char byte = 0;
    bool blames = messages->memory || hc_errno_status(messages->number, HC_OK) != HC_OK;
    if (messages->failed && blames) {
        return hc_gdal_fail(err, HC_E_IO, path, messages);
    }
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int number = file < 0 || read(file, &byte, 1) < 0 ? errno : 0;
    if (file >= 0) {
        close(file);
    }
    HcStatus status = hc_errno_status(number, HC_OK);
    return status == HC_OK ? HC_OK : hc_fail(err, status, "%s: %s", path, strerror(number));
}

/* Whether facts lie after the pixels, so that a file without them has not all its parts; the driver opens it
 * without a word. */
static const char *ends_with_facts(GDALDatasetH dataset) {
    const char *driver = dataset != NULL ? GDALGetDriverShortName(GDALGetDatasetDriver(dataset)) : "";
    return strcmp(driver, "HFA") == 0 || strcmp(driver, "PCIDSK") == 0 ? driver : NULL;
}

HcStatus hc_read_gdal_open_sure(GDALDatasetH *out, const char *path, const char *driver,
                                HcGdalErrors *messages, HcError *err) {
    HcGdalErrors again;
    *out = hc_read_gdal_open(path, driver, messages);
    if (!hc_read_is_file(path, NULL, NULL) || strncmp(path, "/vsi", 4) == 0) {
        return HC_OK; /* not a local file: a server is not asked twice */
    }
    const char *whole = ends_with_facts(*out);
    HcText first = described(*out);
    GDALClose(*out); /* HDF5 would hand on what it has read, and zeros where that failed */
    hc_gdal_files_pixels(whole != NULL);
    *out = hc_read_gdal_open(path, whole != NULL ? whole : driver, &again);
    HcText second = described(*out);
    hc_gdal_files_pixels(false);
    HcStatus status = compare(&first, &second, path, err);
    if (status == HC_OK && *out == NULL) {
        status = hc_read_check_readable(path, messages, err);
    }
    if (status != HC_OK) {
        GDALClose(*out);
        *out = NULL;
    }
    hc_text_clear(&first);
    hc_text_clear(&second);
    return status;
}
