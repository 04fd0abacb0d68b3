/* The check of every output before it gets its name: whatever the driver has said, the file opens again with
 * the shape, the type and the bands that were written, and nothing of it lies beyond its end. */
#include "core/text.h"
#include "io/file.h"
#include "io/write/parts.h"

#include <cpl_minixml.h>
#include <cpl_string.h>
#include <errno.h>
#include <fcntl.h>
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
    if (wanted == NULL) {
        HC_TRY(hc_fail_memory(err, 0, "the ENVI header"));
    }
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

/* What is wrong with an opened file, or NULL. `blocks`: the last blocks are read, too. */
static const char *fault_of(GDALDatasetH dataset, const HcScene *scene, const HcWritePlan *plan,
                            bool blocks) {
    if (GDALGetRasterXSize(dataset) != scene->samples || GDALGetRasterYSize(dataset) != scene->lines) {
        return "it has another size";
    }
    for (int b = 1; b <= GDALGetRasterCount(dataset); b++) {
        GDALRasterBandH band = GDALGetRasterBand(dataset, b);
        if (GDALGetRasterDataType(band) != plan->gdal_type) {
            return "it has another type";
        }
        if (blocks && !last_block_reads(band)) {
            return "its last block cannot be read";
        }
    }
    return NULL;
}

/* netCDF and the like open as a list of parts with one or more bands each. */
static const char *fault_of_parts(char **parts, const HcScene *scene, const HcWritePlan *plan) {
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
        GDALClose(part);
    }
    return fault == NULL && bands != scene->bands ? "bands are missing" : fault;
}

static HcStatus check_opens(const char *file, const HcScene *scene, const HcWritePlan *plan, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors errors;
    bool tiff = hc_write_is_tiff(plan);
    const char *drivers[] = {tiff ? "GTiff" : plan->format, NULL};
    hc_gdal_catch(&errors);
    GDALDatasetH dataset = GDALOpenEx(file, GDAL_OF_RASTER | GDAL_OF_READONLY, drivers, NULL, NULL);
    char **parts = dataset != NULL ? GDALGetMetadata(dataset, "SUBDATASETS") : NULL;
    const char *fault = dataset == NULL                               ? "it does not open"
                        : parts != NULL                               ? fault_of_parts(parts, scene, plan)
                        : GDALGetRasterCount(dataset) != scene->bands ? "it has another number of bands"
                                                                      : fault_of(dataset, scene, plan, !tiff);
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
    if (sidecar == NULL) {
        return hc_fail_memory(err, (double)strlen(file), "a file name");
    }
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

bool hc_write_is_tiff(const HcWritePlan *plan) {
    return strcmp(plan->format, "GTiff") == 0 || hc_write_is_cog(plan);
}

HcStatus hc_write_check(const char *file, const HcScene *scene, const HcWritePlan *plan, HcError *err) {
    if (hc_write_is_tiff(plan)) {
        bool sparse = CPLTestBool(CSLFetchNameValueDef(plan->options, "SPARSE_OK", "NO"));
        HC_OR_RETURN(hc_write_check_tiff(file, plan->path, sparse, err));
    }
    if (plan->way == HC_WRITE_CREATE || GDALGetMetadataItem(plan->driver, GDAL_DCAP_OPEN, NULL) != NULL) {
        HC_OR_RETURN(check_opens(file, scene, plan, err));
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
