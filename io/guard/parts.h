/* What the files of the guard share; nobody else includes this. */
#ifndef HC_IO_GUARD_PARTS_H
#define HC_IO_GUARD_PARTS_H

#include "io/guard/guard.h"

#include <cpl_conv.h>
#include <string.h>

/* Since 3.12 GDAL asks the same of virtual rasters. */
#define HC_GUARD_PERMISSION "GDAL_VRT_RAWRASTERBAND_ALLOWED_SOURCE"

/* Whether GDAL or the user permits files that a scene names. */
static inline bool hc_guard_external(void) {
    return strcmp(CPLGetConfigOption(HC_GUARD_PERMISSION, ""), "ALL") == 0;
}

/* vrt.c: HC_E_INPUT where a virtual raster (its text) has raw bands, or one of its sources fails `check`. */
typedef HcStatus HcGuardSource(const char *path, int depth, HcError *err);
HcStatus hc_guard_vrt(const char *path, const char *text, int depth, HcGuardSource *check,
                      HcError *err) HC_MUST_CHECK;

/* netcdf3.c: HC_E_INPUT where a netCDF 3 file is shorter than its header says. */
HcStatus hc_guard_netcdf3(const char *path, HcError *err) HC_MUST_CHECK;

/* hdf5.c: an HDF5 or netCDF 4 file, all objects. */
HcStatus hc_guard_hdf5(const char *path, HcError *err) HC_MUST_CHECK;

#endif
