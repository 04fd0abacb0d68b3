/* Pixels at the border of a scene that are 0 in all bands. Georeferencing and cutting leave them where no
 * nodata value is declared. */
#ifndef HC_PIPELINE_ZERO_BORDER_H
#define HC_PIPELINE_ZERO_BORDER_H

#include "core/block.h"

/* Counts the pixels of these lines that are 0 in all bands, from the left and the right end of each line
 * inwards. Pixels that the user mask leaves out do not count. raw [host] holds the lines (of the scene, from
 * 0); stored[bands] are the bands to look at. Without such a border it reads a few values a line. */
int64_t hc_zero_border_count(const HcRaw *raw, const int32_t *stored, int32_t bands, int64_t line0,
                             int32_t lines);

#endif
