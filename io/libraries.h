/* Libraries: the versions of what this room is built on. */
#ifndef HC_IO_LIBRARIES_H
#define HC_IO_LIBRARIES_H

#include "core/text.h"

/* Threads that read or write one file at most, unless the user asks for more: further ones wait for the disk.
 */
#define HC_IO_THREADS 16

/* Threads for one file: `wanted`, or (0 and below) one a processor, up to HC_IO_THREADS or what
 * hc_io_limit_threads() said last. */
int32_t hc_io_threads(int32_t wanted);

/* Sets the maximum number of threads of a file, 1 to HC_IO_THREADS, unless the user asks for more. For
 * processes that read and write several files at the same time. */
void hc_io_limit_threads(int32_t threads);

/* Adds "GDAL 3.6.2\nPROJ 9.1.1\n..."; "none" where this build lacks one. */
void hc_io_libraries(HcText *text);

/* Most memory for GDAL's cache of blocks, unless the user has set GDAL_CACHEMAX, or hc_io_hold_cache() asks
 * for more. */
void hc_io_limit_cache(uint64_t bytes);

/* From now on GDAL's cache holds at least these bytes, whoever limits it: an output needs them. 0 = no
 * matter. */
void hc_io_hold_cache(uint64_t bytes);

/* What GDAL makes of a number of threads, "ALL_CPUS" or a count: at least 1. */
int hc_io_thread_count(const char *text);

/* "WGS 84 / UTM zone 33N (EPSG:32633)" of a WKT, as a fresh string; *name is NULL when it cannot be read. */
HcStatus hc_io_crs_name(const char *wkt, char **name, HcError *err) HC_MUST_CHECK;

#endif
