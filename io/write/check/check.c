/* The check of every output before it gets its name: whatever the driver has said, the file opens again with
 * the shape, the type, the bands and the nodata value that were written, and nothing of it lies beyond its
 * end. What the format has not kept of the place is found, too. */
#include "core/text.h"
#include "io/file.h"
#include "io/shape/grid.h"
#include "io/shape/shapes.h"
#include "io/write/parts.h"

#include <cpl_minixml.h>
#include <cpl_string.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static HcStatus fail_not_whole(const char *path, const char *what, const HcGdalErrors *errors, HcError *err) {
    return hc_fail(err, HC_E_IO, "%s: the file is not whole when read back: %s%s%s", path, what,
                   errors->failed ? ": " : "", errors->text);
}

/* ---- ENVI ---- */

HcStatus hc_write_check_envi(const char *data, const char *header, const HcScene *scene,
                             const HcWritePlan *plan, HcError *err) {
    HcStatus status = HC_OK;
    char *wanted = hc_write_envi_header(scene, plan);
    char *found = NULL;
    size_t found_bytes = 0;
    int64_t bytes = -1;
    int64_t whole = scene->lines * scene->samples * scene->bands * (int64_t)hc_type_bytes(plan->type);
    HC_TRY(hc_text_made(wanted, 0, "the ENVI header", err));
    if (!hc_file_identity(data, &bytes, NULL) || bytes != whole) {
        HC_TRY(hc_fail(err, HC_E_IO, "%s: the file is not whole when read back: it has %lld of %lld bytes",
                       plan->path, (long long)bytes, (long long)whole));
    }
    size_t length = strlen(wanted);
    status = hc_file_read(header, length, &found, &found_bytes, NULL);
    if (status == HC_E_MEMORY) {
        HC_TRY(hc_fail_memory(err, (double)length, "the ENVI header"));
    }
    if (status != HC_OK || found_bytes != length || memcmp(found, wanted, length) != 0) {
        status = hc_fail(err, HC_E_IO, "%s: the header is not whole when read back", plan->header);
    }
done:
    free(wanted);
    free(found);
    return status;
}

/* ---- what the scene says ---- */

static const double noted_from = 0.01; /* [pixels] */

/* docs/files.md promises for these that all of it is kept. */
static bool keeps_all(const HcWritePlan *plan) {
    return hc_write_is_tiff(plan) || plan->way == HC_WRITE_ARRAY;
}

static double nodata_of(GDALRasterBandH band, const HcWritePlan *plan, int *has) {
    return plan->type == HC_INT64    ? (double)GDALGetRasterNoDataValueAsInt64(band, has)
           : plan->type == HC_UINT64 ? (double)GDALGetRasterNoDataValueAsUInt64(band, has)
                                     : GDALGetRasterNoDataValue(band, has);
}

/* NaN says itself that it is no data, as does the number of the class Unclassified. */
bool hc_write_keeps_nodata(GDALRasterBandH band, const HcWritePlan *plan) {
    int has = 0;
    double found = nodata_of(band, plan, &has);
    if (plan->no_nodata) {
        double low = 0, end = 0;
        hc_integer_range(plan->type, &low, &end); /* of floats none is without */
        return !has || keeps_all(plan) || !(found >= low && found < end);
    }
    if (isnan(plan->nodata)) {
        return !keeps_all(plan) || (has && isnan(found));
    }
    found = plan->type == HC_FLOAT32 ? (float)found : found;
    return has ? found == plan->nodata : plan->shares_nodata && !keeps_all(plan);
}

/* The place of a file; `crs` is to be freed. */
static void place_of(GDALDatasetH dataset, HcPlace *place) {
    static const char *const options[] = {"FORMAT=WKT2_2018", NULL};
    OGRSpatialReferenceH crs = GDALGetSpatialRef(dataset);
    place->has_transform = GDALGetGeoTransform(dataset, place->transform) == CE_None;
    if (hc_shape_is_crs(crs) && OSRExportToWktEx(crs, &place->crs, options) != OGRERR_NONE) {
        CPLFree(place->crs);
        place->crs = NULL;
    }
}

/* True where the format has lost what docs/files.md promises of it. */
static bool find_lacks(GDALDatasetH dataset, const HcScene *scene, const HcWritePlan *plan, HcText *lacks) {
    HcPlace place = {0};
    OGRSpatialReferenceH wanted = NULL;
    place_of(dataset, &place);
    double shift = hc_grid_shift(scene, &place);
    if (!place.has_transform && shift > 0) {
        hc_text_add(lacks, "the place");
    } else if (shift >= noted_from && isfinite(shift)) {
        hc_text_add(lacks, "the place (its corners lie %.3g pixels off)", shift);
    } else if (shift >= noted_from) {
        hc_text_add(lacks, "the place (another reference system is in the file)");
    }
    if (place.crs == NULL && hc_shape_scene_crs(scene, "", &wanted, NULL) == HC_OK &&
        hc_shape_is_crs(wanted)) {
        hc_text_add(lacks, "%sthe reference system", lacks->length > 0 ? ", " : "");
    }
    bool promised = lacks->length > 0 && keeps_all(plan);
    if (scene->rpc.known && GDALGetMetadataItem(dataset, "LINE_NUM_COEFF", "RPC") == NULL) {
        hc_text_add(lacks, "%sthe rational polynomial coefficients", lacks->length > 0 ? ", " : "");
        promised = promised || hc_write_is_tiff(plan);
    }
    OSRDestroySpatialReference(wanted);
    CPLFree(place.crs);
    return promised;
}

/* ---- other formats ---- */

/* The last block of a band, which a file that ends early lacks. */
static bool last_block_reads(GDALRasterBandH band) {
    int width = 1, height = 1;
    GDALGetBlockSize(band, &width, &height);
    int across = (GDALGetRasterBandXSize(band) - 1) / width;
    int down = (GDALGetRasterBandYSize(band) - 1) / height;
    int size = GDALGetDataTypeSizeBytes(GDALGetRasterDataType(band));
    void *values = VSIMalloc3((size_t)width, (size_t)height, (size_t)size);
    bool good = values != NULL && GDALReadBlock(band, across, down, values) == CE_None;
    VSIFree(values);
    return good;
}

/* What is wrong with an opened file, or NULL. `blocks`: the last blocks are read, too. Whoever opens XYZ
 * takes the type from the values. */
static const char *fault_of(GDALDatasetH dataset, const HcScene *scene, const HcWritePlan *plan,
                            bool blocks) {
    const bool typed = strcmp(plan->format, "XYZ") != 0;
    if (GDALGetRasterXSize(dataset) != scene->samples || GDALGetRasterYSize(dataset) != scene->lines) {
        return "it has another size";
    }
    for (int b = 1; b <= GDALGetRasterCount(dataset); b++) {
        GDALRasterBandH band = GDALGetRasterBand(dataset, b);
        if (typed && GDALGetRasterDataType(band) != plan->gdal_type) {
            return "it has another type";
        }
        if (!hc_write_keeps_nodata(band, plan)) {
            return "it does not keep the nodata value";
        }
        if (blocks && !last_block_reads(band)) {
            return "its last block cannot be read";
        }
    }
    return NULL;
}

/* netCDF and the like open as a list of parts with one or more bands each. */
static const char *fault_of_parts(char **parts, const HcScene *scene, const HcWritePlan *plan,
                                  HcText *lacks) {
    const char *fault = NULL;
    int bands = 0;
    for (int n = 1; fault == NULL; n++) {
        char key[40];
        snprintf(key, sizeof key, "SUBDATASET_%d_NAME", n);
        const char *name = CSLFetchNameValue(parts, key);
        if (name == NULL) {
            break;
        }
        GDALDatasetH part = GDALOpen(name, GA_ReadOnly);
        fault = part != NULL ? fault_of(part, scene, plan, true) : "a part of it does not open";
        bands += part != NULL ? GDALGetRasterCount(part) : 0;
        if (part != NULL && n == 1) {
            fault =
                fault == NULL && find_lacks(part, scene, plan, lacks) ? "it does not keep the place" : fault;
        }
        GDALClose(part);
    }
    return fault == NULL && bands != scene->bands ? "bands are missing" : fault;
}

/* The array of Zarr as a raster; GDAL's own way makes a part of each band. NULL where it does not open. */
static GDALDatasetH open_zarr(const char *file) {
    static const char *const drivers[] = {"Zarr", NULL};
    GDALDatasetH arrays = GDALOpenEx(file, GDAL_OF_MULTIDIM_RASTER | GDAL_OF_READONLY, drivers, NULL, NULL);
    GDALGroupH root = arrays != NULL ? GDALDatasetGetRootGroup(arrays) : NULL;
    GDALMDArrayH array = root != NULL ? GDALGroupOpenMDArray(root, "scene", NULL) : NULL;
    GDALDatasetH raster = array != NULL ? GDALMDArrayAsClassicDataset(array, 2, 1) : NULL;
    GDALMDArrayRelease(array);
    GDALGroupRelease(root);
    GDALClose(arrays);
    return raster;
}

static HcStatus check_opens(const char *file, const HcScene *scene, const HcWritePlan *plan, HcText *lacks,
                            HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors errors;
    bool tiff = hc_write_is_tiff(plan);
    const char *drivers[] = {tiff ? "GTiff" : plan->format, NULL};
    hc_gdal_catch(&errors);
    GDALDatasetH dataset = strcmp(plan->format, "Zarr") == 0
                               ? open_zarr(file)
                               : GDALOpenEx(file, GDAL_OF_RASTER | GDAL_OF_READONLY, drivers, NULL, NULL);
    char **parts = dataset != NULL ? GDALGetMetadata(dataset, "SUBDATASETS") : NULL;
    const char *fault = dataset == NULL ? "it does not open"
                        : parts != NULL ? fault_of_parts(parts, scene, plan, lacks)
                        : GDALGetRasterCount(dataset) != scene->bands ? "it has another number of bands"
                                                                      : fault_of(dataset, scene, plan, !tiff);
    if (fault == NULL && parts == NULL && find_lacks(dataset, scene, plan, lacks)) {
        status = hc_fail(err, HC_E_IO, "%s: when read back, the file does not keep %s", plan->path,
                         hc_text_shown(lacks));
    }
    if (fault != NULL) {
        status = fail_not_whole(plan->path, fault, &errors, err);
    }
    GDALClose(dataset);
    hc_gdal_release();
    return status;
}

/* What GDAL keeps beside the file: names of classes and the like. */
static HcStatus check_sidecar(const char *file, const HcWritePlan *plan, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors errors;
    char *sidecar = hc_text_format("%s.aux.xml", file);
    HC_OR_RETURN(hc_text_made(sidecar, strlen(file), "a file name", err));
    if (hc_file_identity(sidecar, NULL, NULL)) {
        hc_gdal_catch(&errors);
        CPLXMLNode *root = CPLParseXMLFile(sidecar);
        if (root == NULL) {
            status = fail_not_whole(plan->path, "its .aux.xml ends early", &errors, err);
        }
        CPLDestroyXMLNode(root);
        hc_gdal_release();
    }
    free(sidecar);
    return status;
}

HcStatus hc_write_check(const char *file, const HcScene *scene, const HcWritePlan *plan, HcText *lacks,
                        HcError *err) {
    if (hc_write_is_tiff(plan)) {
        bool sparse = CPLTestBool(CSLFetchNameValueDef(plan->options, "SPARSE_OK", "NO"));
        HC_OR_RETURN(hc_write_check_tiff(file, plan->path, sparse, err));
    }
    if (plan->way == HC_WRITE_CREATE || GDALGetMetadataItem(plan->driver, GDAL_DCAP_OPEN, NULL) != NULL) {
        HC_OR_RETURN(check_opens(file, scene, plan, lacks, err));
    }
    return check_sidecar(file, plan, err);
}

int hc_write_lack_of_space(const char *path) {
    const off_t more = 1 << 20;
    struct stat info;
    int number = 0;
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file >= 0 && fstat(file, &info) == 0 && fallocate(file, 0, info.st_size, more) != 0) {
        number = errno;
    }
    if (file >= 0) {
        close(file);
    }
    return number == ENOSPC || number == EDQUOT || number == EFBIG ? number : 0;
}
