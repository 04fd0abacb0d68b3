/* Pixels at the border of a scene that are 0 in all bands: what georeferencing and cutting leave where no
 * nodata value is declared. */
#ifndef HC_PIPELINE_ZERO_BORDER_H
#define HC_PIPELINE_ZERO_BORDER_H

#include "core/block.h"

/* How many pixels of these lines are 0 in all bands, in one run with the left or the right end of their line;
 * those that the user mask leaves out do not count. raw [host] holds the lines (of the scene, from 0);
 * stored[bands] are the bands of it that are looked at. Takes a few values a line where there is no such
 * border. */
int64_t hc_zero_border_count(const HcRaw *raw, const int32_t *stored, int32_t bands, int64_t line0,
                             int32_t lines);

#endif
