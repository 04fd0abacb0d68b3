/* Small copies of pictures, for pages that show many. */
#ifndef HC_IO_WRITE_THUMBNAIL_H
#define HC_IO_WRITE_THUMBNAIL_H

#include "core/status.h"

#include <stddef.h>
#include <stdint.h>

/* A picture (PNG, or what GDAL reads as one) as a PNG of at most `width` pixels a line, each the mean of
 * those that it stands for. Of another raster the first three bands, or the first one, each stretched from
 * its smallest to its largest value. *data: fresh memory. HC_E_INPUT where the picture cannot be read. */
HcStatus hc_thumbnail(const char *path, int32_t width, uint8_t **data, size_t *bytes,
                      HcError *err) HC_MUST_CHECK;

#endif
