/* Opening through GDAL, after a look at what is opened. */
#include "core/text.h"
#include "io/gdal/errors.h"
#include "io/gdal/files.h"
#include "io/guard/parts.h"
#include "io/guard/probe.h"
#include "io/load.h"

#include <cpl_conv.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HDF5 "\211HDF\r\n\032\n"

enum { HEAD = 1024 /* as GDAL looks for a virtual raster */, DEPTH_MAX = 8, VRT_MAX = 10000 };

void hc_guard_allow_external(bool allow) {
    CPLSetThreadLocalConfigOption(HC_GUARD_PERMISSION, allow ? "ALL" : NULL);
}

static bool read_head(const char *path, char head[HEAD + 1], size_t *bytes) {
    VSIStatBufL info;
    bool there = hc_gdal_stat(path, &info, VSI_STAT_EXISTS_FLAG | VSI_STAT_NATURE_FLAG);
    VSILFILE *file = there && S_ISREG(info.st_mode) ? VSIFOpenL(path, "rb") : NULL;
    *bytes = file != NULL ? VSIFReadL(head, 1, HEAD, file) : 0;
    head[*bytes] = '\0';
    if (file != NULL) {
        VSIFCloseL(file);
    }
    return file != NULL;
}

/* The file in a name that only GDAL understands, with its first bytes: a.h5 of HDF5:"a.h5"://cube, a.vrt of
 * vrt://a.vrt?bands=1. NULL where it names none. */
static char *find_file(const char *path, char head[HEAD + 1], size_t *bytes) {
    for (const char *begin = path; *begin != '\0'; begin++) {
        bool begins = begin == path || strchr(":\"", begin[-1]) != NULL ||
                      (begin > path + 1 && begin[-1] == '/' && begin[-2] == '/');
        for (size_t end = begins ? strlen(begin) : 0; end > 0; end--) {
            bool ends = begin[end] == '\0' || strchr(":\"?", begin[end]) != NULL;
            char *name = ends ? hc_text_format("%.*s", (int)end, begin) : NULL;
            if (name != NULL && read_head(name, head, bytes)) {
                return name;
            }
            free(name);
        }
    }
    return NULL;
}

static bool begins_with(const char *head, size_t bytes, const char *begin) {
    return bytes >= strlen(begin) && memcmp(head, begin, strlen(begin)) == 0;
}

/* Whether a file begins as those whose libraries crash: HDF5, netCDF, HDF4, FITS. */
static bool is_fragile(const char *head, size_t bytes) {
    static const char *const begin[] = {HDF5,      "CDF\001",          "CDF\002",
                                        "CDF\005", "\016\003\023\001", "SIMPLE  ="};
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++) {
        if (begins_with(head, bytes, begin[i])) {
            return true;
        }
    }
    return false;
}

static pthread_once_t netcdf_once = PTHREAD_ONCE_INIT;

static void start_netcdf(void) {
    static const char *const drivers[] = {"netCDF", NULL};
    CPLPushErrorHandler(CPLQuietErrorHandler);
    GDALClose(GDALOpenEx("NETCDF:\"/dev/null\":none", GDAL_OF_RASTER, drivers, NULL, NULL));
    CPLPopErrorHandler();
}

/* Virtual rasters that the current call has read. */
static _Thread_local int read_count;

static HcStatus check(const char *path, int depth, HcError *err) {
    char head[HEAD + 1];
    size_t bytes = 0;
    HcStatus status = HC_OK;
    if (strstr(path, "<VRTDataset") != NULL) {
        return hc_guard_vrt("", path, depth, check, err);
    }
    if (depth > DEPTH_MAX || read_count > VRT_MAX) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: virtual rasters lie within each other more than %d deep, or are more than %d",
                       path, DEPTH_MAX, VRT_MAX);
    }
    char *file = find_file(path, head, &bytes);
    if (file != NULL && strstr(head, "<VRTDataset") != NULL) {
        char *text = NULL;
        read_count++;
        status = hc_load_file(file, &text, &bytes, err);
        status = status == HC_OK ? hc_guard_vrt(file, text, depth, check, err) : status;
        VSIFree(text);
    } else if (file != NULL && begins_with(head, bytes, "SQLite format 3")) {
        hc_gdal_files_sqlite(file);
    } else if (file != NULL && is_fragile(head, bytes)) {
        status = hc_guard_probe(path, err);
        if (status == HC_OK && begins_with(head, bytes, HDF5)) {
            /* When it starts, netCDF turns off the messages of HDF5, which note failed reads. */
            pthread_once(&netcdf_once, start_netcdf);
            hc_hdf5_listen();
            status = hc_guard_hdf5(file, err);
        } else if (status == HC_OK && begins_with(head, bytes, "CDF")) {
            status = hc_guard_netcdf3(file, err);
        }
    }
    free(file);
    return status;
}

GDALDatasetH hc_guard_open(const char *path, unsigned flags, const char *const *drivers,
                           const char *const *options) {
    HcError why = {0};
    read_count = 0;
    HcStatus status = check(path, 0, &why);
    if (status == HC_OK) {
        return GDALOpenEx(path, flags, drivers, options, NULL);
    }
    errno = status == HC_E_IO ? EIO : 0;
    CPLError(CE_Failure, status == HC_E_MEMORY ? CPLE_OutOfMemory : CPLE_OpenFailed, "%s", why.text);
    return NULL;
}
