#include "io/libraries.h"
#include "io/chunk/decode.h"

#include <cpl_conv.h>
#include <cpl_multiproc.h>
#include <gdal.h>
#include <ogr_srs_api.h>
#include <png.h>
#include <stdlib.h>

#define THREADS_MAX 1024 /* of GDAL */

void hc_io_libraries(HcText *text) {
    hc_text_add(text, "GDAL %s\n", GDALVersionInfo("RELEASE_NAME"));
    hc_text_add(text, "libpng %s\n", png_get_libpng_ver(NULL));
    hc_chunk_libraries(text);
}

void hc_io_limit_cache(uint64_t bytes) {
    if (CPLGetConfigOption("GDAL_CACHEMAX", NULL) == NULL) {
        GDALSetCacheMax64((GIntBig)bytes);
    }
}

int hc_io_thread_count(const char *text) {
    int count = hc_text_equal(text, "ALL_CPUS") ? CPLGetNumCPUs() : atoi(text);
    return count < 1 ? 1 : count > THREADS_MAX ? THREADS_MAX : count;
}

char *hc_io_crs_name(const char *wkt) {
    char *text = NULL;
    OGRSpatialReferenceH crs = OSRNewSpatialReference(NULL);
    char *rest = (char *)(uintptr_t)wkt; /* OSR reads through a char **, and does not write */
    CPLPushErrorHandler(CPLQuietErrorHandler);
    if (crs != NULL && OSRImportFromWkt(crs, &rest) == OGRERR_NONE) {
        OSRAutoIdentifyEPSG(crs);
        const char *name = OSRGetName(crs);
        const char *authority = OSRGetAuthorityName(crs, NULL);
        const char *code = OSRGetAuthorityCode(crs, NULL);
        if (authority != NULL && code != NULL) {
            text = hc_text_format("%s (%s:%s)", name != NULL ? name : "unnamed", authority, code);
        } else {
            text = hc_text_format("%s", name != NULL ? name : "unnamed");
        }
    }
    CPLPopErrorHandler();
    if (crs != NULL) {
        OSRDestroySpatialReference(crs);
    }
    return text;
}
