/* Selected: those pixels of the scene that a mask lets stay, as blocks whose other pixels are masked. For
 * stages that sum some pixels of the scene and hand on all of them. */
#ifndef HC_PIPELINE_DETECTIONS_SELECTED_H
#define HC_PIPELINE_DETECTIONS_SELECTED_H

#include "pipeline/stage.h"
#include "io/view/view.h"

/* Zero-initialise; hc_selected_close() is always safe. */
typedef struct HcSelected {
    HcViewSelection *selection; /* from plan to open */
    HcBuffer mask;              /* [device] [lines][samples] of the scene, 1 = selected */
    uint8_t *inside;            /* the same on the host */
    HcBuffer index;             /* [device] [bands] 0, 1, 2... */
    HcBuffer part;              /* [device] pixels of some lines, their flags, and the masks of both */
} HcSelected;

/* In plan: opens the mask `text` (as HcViewOptions.masks), and adds memory to stage->needs. */
HcStatus hc_selected_plan(HcSelected *selected, HcStage *stage, const char *text, HcError *err) HC_MUST_CHECK;

/* In open: reads the mask. HC_E_NUMERIC where it selects no pixel; `option` names it in the message. */
HcStatus hc_selected_open(HcSelected *selected, HcStage *stage, const char *option, const char *text,
                          HcError *err) HC_MUST_CHECK;

/* Lines of a block that hc_selected_take() takes at once, at least 1. */
int32_t hc_selected_lines(const HcStage *stage);

/* The lines [first, end) of a block, hc_selected_lines() at most, without halo: pixels that are valid and
 * selected stay, others are masked. *out is a view of memory that the next call uses again, on the same
 * queue. */
HcStatus hc_selected_take(HcSelected *selected, HcQueue *queue, const HcBlock *in, int64_t first, int64_t end,
                          HcBlock *out, HcError *err) HC_MUST_CHECK;

/* The same with masks that the stage has [device] [lines][samples], 1 = selected: no plan and no open but
 * this. */
size_t hc_selected_part_bytes(const HcStage *stage); /* of the device */
HcStatus hc_selected_open_part(HcSelected *selected, HcStage *stage, HcError *err) HC_MUST_CHECK;
HcStatus hc_selected_take_by(HcSelected *selected, const uint8_t *mask, HcQueue *queue, const HcBlock *in,
                             int64_t first, int64_t end, HcBlock *out, HcError *err) HC_MUST_CHECK;

void hc_selected_close(HcSelected *selected, HcCompute *compute);

#endif
