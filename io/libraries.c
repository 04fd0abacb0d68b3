#include "io/libraries.h"
#include "core/text.h"
#include "core/system/team.h"
#include "io/chunk/codec/decode.h"
#include "io/gdal/errors.h"

#include <cpl_conv.h>
#include <cpl_multiproc.h>
#include <gdal.h>
#include <ogr_srs_api.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 1024 /* of GDAL */

/* The version that GDAL's driver was built with: "4.9.0 of Aug 7 2022 ...", without its date. */
static void add_netcdf(HcText *text) {
    HcGdalErrors messages;
    hc_gdal_catch(&messages);
    GDALDriverH driver = GDALGetDriverByName("netCDF");
    const char *version = driver != NULL ? GDALGetMetadataItem(driver, "NETCDF_VERSION", NULL) : NULL;
    int length = version != NULL ? (int)strcspn(version, " ") : 0;
    hc_text_add(text, "netCDF %.*s\n", length > 0 ? length : 4, length > 0 ? version : "none");
    hc_gdal_release();
}

void hc_io_libraries(HcText *text) {
    int proj[3] = {0};
    OSRGetPROJVersion(&proj[0], &proj[1], &proj[2]);
    hc_text_add(text, "GDAL %s\n", GDALVersionInfo("RELEASE_NAME"));
    hc_text_add(text, "PROJ %d.%d.%d\n", proj[0], proj[1], proj[2]);
    hc_text_add(text, "libpng %s\n", png_get_libpng_ver(NULL));
    add_netcdf(text);
    hc_chunk_libraries(text);
}

static int32_t most_threads = HC_IO_THREADS;

int32_t hc_io_threads(int32_t wanted) {
    return hc_team_count(wanted, __atomic_load_n(&most_threads, __ATOMIC_RELAXED));
}

void hc_io_limit_threads(int32_t threads) {
    __atomic_store_n(&most_threads, threads, __ATOMIC_RELAXED);
}

static uint64_t held; /* of the cache, by an output */

void hc_io_limit_cache(uint64_t bytes) {
    uint64_t least = __atomic_load_n(&held, __ATOMIC_RELAXED);
    if (CPLGetConfigOption("GDAL_CACHEMAX", NULL) == NULL) {
        GDALSetCacheMax64((GIntBig)(bytes > least ? bytes : least));
    }
}

void hc_io_hold_cache(uint64_t bytes) {
    __atomic_store_n(&held, bytes, __ATOMIC_RELAXED);
    if (bytes > (uint64_t)GDALGetCacheMax64()) {
        GDALSetCacheMax64((GIntBig)bytes);
    }
}

int hc_io_thread_count(const char *text) {
    int count = hc_text_equal(text, "ALL_CPUS") ? CPLGetNumCPUs() : atoi(text);
    return count < 1 ? 1 : count > THREADS_MAX ? THREADS_MAX : count;
}

/* "WGS 84 (EPSG:4326)"; NULL when memory ran out. */
static char *name_of(OGRSpatialReferenceH crs) {
    OSRAutoIdentifyEPSG(crs);
    const char *name = OSRGetName(crs);
    const char *authority = OSRGetAuthorityName(crs, NULL);
    const char *code = OSRGetAuthorityCode(crs, NULL);
    name = name != NULL ? name : "unnamed";
    return authority != NULL && code != NULL ? hc_text_format("%s (%s:%s)", name, authority, code)
                                             : hc_text_format("%s", name);
}

HcStatus hc_io_crs_name(const char *wkt, char **name, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    OGRSpatialReferenceH crs = OSRNewSpatialReference(NULL);
    char *rest = (char *)(uintptr_t)wkt; /* OSR reads through a char **, and does not write */
    *name = NULL;
    HC_OR_RETURN(hc_text_made(crs, strlen(wkt), "a CRS", err));
    hc_gdal_catch(&messages);
    OGRErr result = OSRImportFromWkt(crs, &rest);
    bool understood = result == OGRERR_NONE;
    bool memory = result == OGRERR_NOT_ENOUGH_MEMORY || messages.memory;
    if (memory || (understood && (*name = name_of(crs)) == NULL)) {
        status = hc_fail_memory(err, (double)strlen(wkt), "the name of a CRS");
    } else if (!understood && messages.failed && hc_errno_status(messages.number, HC_OK) != HC_OK) {
        status = hc_gdal_fail(err, HC_E_INPUT, "the CRS", &messages);
    }
    hc_gdal_release();
    OSRDestroySpatialReference(crs);
    return status;
}
