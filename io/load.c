#include "io/load.h"

#include "io/file.h"
#include "io/gdal/errors.h"
#include "io/gdal/files.h"
#include "io/read/parts.h"

#include <cpl_vsi.h>
#include <stdint.h>

/* The largest spectral libraries have some hundred thousand spectra, the largest linear programs some ten
 * million entries. */
#define LIMIT ((int64_t)4 << 30)

HcStatus hc_load_check(const char *path, HcError *err) {
    HcGdalErrors messages;
    HC_OR_RETURN(hc_file_check_regular(path, err));
    int64_t mark = hc_gdal_files_mark();
    hc_gdal_catch(&messages);
    bool is_file = hc_read_is_file(path, NULL, NULL);
    hc_gdal_release();
    if (!is_file) {
        HC_OR_RETURN(hc_gdal_files_check(mark, err));
        return hc_fail(err, HC_E_INPUT, "%s: there is no such file", path);
    }
    return HC_OK;
}

HcStatus hc_load_file(const char *path, char **data, size_t *bytes, HcError *err) {
    HcGdalErrors messages;
    GByte *found = NULL;
    vsi_l_offset size = 0;
    HC_OR_RETURN(hc_load_check(path, err));
    hc_gdal_catch(&messages);
    bool read = VSIIngestFile(NULL, path, &found, &size, LIMIT) != 0;
    hc_gdal_release();
    if (!read) {
        return hc_gdal_fail(err, HC_E_IO, path, &messages);
    }
    *data = (char *)found; /* by VSIMalloc, which is malloc */
    *bytes = (size_t)size;
    return HC_OK;
}
