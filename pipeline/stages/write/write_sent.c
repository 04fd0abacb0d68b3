/* Rasters on standard output. Formats seek while they write (directories of TIFF, sizes in HDF5), so that the
 * file is made among the scratch files, and sent when it is complete. */
#include "pipeline/stages/write/write_sent.h"
#include "core/text.h"
#include "io/file.h"
#include "io/scratch.h"

#include <string.h>

/* Formats whose file alone holds the raster and what is said of it. */
static const struct {
    const char *format, *ending;
} sent[] = {{"GTiff", "tif"}, {"COG", "tif"}, {"netCDF", "nc"}};

bool hc_write_is_sent(const char *path) {
    return strcmp(path, HC_FILE_STANDARD_OUTPUT) == 0;
}

HcStatus hc_write_sent_names(const char *format, const char **chosen, char **path, HcError *err) {
    size_t s = 0;
    *path = NULL;
    while (s < sizeof sent / sizeof *sent && format != NULL && !hc_text_equal(sent[s].format, format)) {
        s++;
    }
    if (s == sizeof sent / sizeof *sent) {
        return hc_fail(err, HC_E_USAGE,
                       "write: -: %s is no format of a single file that can be sent to standard output; name "
                       "one with --format GTiff, COG or netCDF",
                       format);
    }
    *chosen = sent[s].format;
    *path = hc_text_format("%s/standard-output.%s", hc_scratch_folder(), sent[s].ending);
    return *path != NULL ? HC_OK : hc_fail_memory(err, 0, "a file name");
}
