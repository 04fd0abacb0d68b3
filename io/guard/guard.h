/* Guard: what is checked of a file before GDAL, netCDF or HDF5 believe it. Those libraries crash, hang, or
 * hand out memory of the process for some files that are broken, and read any file that a scene names. */
#ifndef HC_IO_GUARD_GUARD_H
#define HC_IO_GUARD_GUARD_H

#include "core/status.h"

#include <gdal.h>

/* GDALOpenEx after the check. What the guard refuses is a failure of GDAL with the path in its text, which
 * hc_gdal_catch keeps. */
GDALDatasetH hc_guard_open(const char *path, unsigned flags, const char *const *drivers,
                           const char *const *options);

/* Scenes that this thread opens may read files that they name themselves (read --allow-external). */
void hc_guard_allow_external(bool allow);

/* HC_E_INPUT unless all chunks of an array of an HDF5 file decode to their size. Call it before GDAL reads
 * an array: HDF5 reads memory after a chunk that is too short. Arrays of other files, and of filters that
 * only HDF5 knows, pass. */
HcStatus hc_guard_array(const char *path, const char *array, HcError *err) HC_MUST_CHECK;

#endif
