/* `write -`: a raster that goes to standard output. */
#ifndef HC_PIPELINE_STAGES_WRITE_SENT_H
#define HC_PIPELINE_STAGES_WRITE_SENT_H

#include "pipeline/stage.h"

/* Whether the output is named as standard output. */
bool hc_write_is_sent(const char *path);

/* The format that is sent where `format` (a GDAL driver, NULL = none was named) is asked for, borrowed; and
 * the path that the file is made for, in the folder of scratch files, in fresh memory. HC_E_USAGE for a
 * format whose rasters are no single file. */
HcStatus hc_write_sent_names(const char *format, const char **chosen, char **path,
                             HcError *err) HC_MUST_CHECK;

#endif
