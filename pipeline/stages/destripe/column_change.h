/* Column change: an offset and a factor for each detector column, or an offset for each line, of a block on a
 * device. */
#ifndef HC_PIPELINE_STAGES_DESTRIPE_COLUMN_CHANGE_H
#define HC_PIPELINE_STAGES_DESTRIPE_COLUMN_CHANGE_H

#include "core/compute.h"

typedef struct HcColumnChange {
    const double *offset; /* [samples][bands] taken away first; NULL = none */
    const double *factor; /* [samples] then multiplies; NULL = none */
    const double *line;   /* [lines of the scene][bands] taken away; NULL = none */
} HcColumnChange;

/* Changes the valid pixels, by way of the host. `to` may be the block itself. `room`: [host] of at least one
 * line and its mask. Waits. */
HcStatus hc_column_change(const HcColumnChange *change, HcQueue *queue, const HcBlock *from,
                          const HcBlock *to, const HcBuffer *room, size_t room_bytes,
                          HcError *err) HC_MUST_CHECK;

#endif
