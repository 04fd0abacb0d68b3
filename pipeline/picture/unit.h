/* Unit: what the values of a band are in, for colour bars. */
#ifndef HC_PIPELINE_PICTURE_UNIT_H
#define HC_PIPELINE_PICTURE_UNIT_H

#include "pipeline/stage.h"

/* Of a band that comes into the stage: "rad", "fraction", or the words of the file; NULL = not known.
 * Borrowed for as long as the chain. */
const char *hc_unit_of(const HcStage *stage, int32_t band);

#endif
