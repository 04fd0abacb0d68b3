/* Whole files from wherever GDAL reads (/vsigzip/, /vsizip/ and the like). */
#ifndef HC_IO_LOAD_H
#define HC_IO_LOAD_H

#include "core/status.h"

#include <stddef.h>

/* A file of at most 4 GiB in fresh memory, terminated by a 0 that `bytes` does not count; HC_E_INPUT when it
 * is not there. */
HcStatus hc_load_file(const char *path, char **data, size_t *bytes, HcError *err) HC_MUST_CHECK;

/* HC_E_INPUT where the path is no file that is there, HC_E_IO where that cannot be seen. */
HcStatus hc_load_check(const char *path, HcError *err) HC_MUST_CHECK;

#endif
