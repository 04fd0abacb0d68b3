/* File use: what a command reads and what it writes, one list of each, so that nothing that is read is
 * replaced. */
#ifndef HC_IO_FILE_USE_H
#define HC_IO_FILE_USE_H

#include "io/scene_files.h"

/* Zero-initialise. */
typedef struct HcFileUse {
    HcPaths reads;  /* every file on its own, companions as well; local files only */
    HcPaths writes; /* as they were given */
} HcFileUse;

/* The command reads what `path` leads to: the file itself, and the data of a header or the header of data.
 * All files that GDAL lists for it come along (sidecars, parts of a shapefile, sources of a virtual
 * raster). Of a path into an archive or container (/vsizip/..., HDF5:FILE:...) it is the file. Files that
 * do not exist are passed over. */
HcStatus hc_file_use_read(HcFileUse *use, const char *path, HcError *err) HC_MUST_CHECK;

/* The same for files whose companions are known already (hc_reader_files). */
HcStatus hc_file_use_read_all(HcFileUse *use, const HcPaths *paths, HcError *err) HC_MUST_CHECK;

/* The command writes `path`, after all that it reads was added. Fails with HC_E_USAGE, in the name of
 * `who`, where it writes this file already. Fails likewise where it reads the file or a sidecar that would
 * be replaced with it (hc_file_sidecars), by whatever name, link or hard link. */
HcStatus hc_file_use_write(HcFileUse *use, const char *who, const char *path, HcError *err) HC_MUST_CHECK;

void hc_file_use_clear(HcFileUse *use);

/* The one of the paths that leads to the same place as this one, borrowed, or NULL. */
const char *hc_paths_find_place(const HcPaths *paths, const char *path);

#endif
