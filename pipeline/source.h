/* Source: the open scene of a chain: which of its bands are read, how raw bytes become blocks, and what was
 * counted on the way. The stage `read` fills it from its options; the runner, the layout and stages that
 * compare with the file use it through `chain->source`. */
#ifndef HC_PIPELINE_SOURCE_H
#define HC_PIPELINE_SOURCE_H

#include "core/operation/image/decode.h"
#include "core/compute.h"
#include "io/view/view.h"

/* Zero-initialise; hc_source_close() is always safe. */
typedef struct HcSource {
    HcView *view;   /* owned */
    int32_t *bands; /* [band_count] those of the file that are read, from 0 */
    int32_t band_count;
    int32_t *stored;        /* [band_count] where they lie among the bands of raw bytes, once open */
    HcDecode decode;        /* raw bytes to blocks; band_index and counts once open */
    HcBuffer index, counts; /* [device] of decode */
    int64_t first_lines;    /* read at most this many lines of the scene, 0 = all; set before planning */
    int64_t enough;         /* pixels of the longest side that suffice, 0 = all; set before planning */
    int32_t every;          /* lines whose number is a multiple of this are read; 0 and 1 = all */
    bool any_counts;        /* a pixel is left out when any band lacks a value */
    bool told_none_left;    /* that the rule left no pixel */
    bool zeros_may_be_none; /* pixels of zeros are values, but may be missing ones */
    int64_t zero_border;    /* such pixels at the border of the scene, that this rank has read */
    int64_t *left_out; /* [masks of the view] pixels that each mask leaves out, likewise; NULL = no masks */
} HcSource;

/* Reads exactly these bands of the file (copied), before or after others were chosen. */
HcStatus hc_source_use_bands(HcSource *source, const int32_t *bands, int32_t count,
                             HcError *err) HC_MUST_CHECK;

/* Fixes the bands and takes device memory. decode holds the rules for nodata already. */
HcStatus hc_source_open(HcSource *source, HcCompute *compute, HcError *err) HC_MUST_CHECK;

/* Starts the count of masked pixels anew (before a pass), and reads it (after one). */
HcStatus hc_source_reset_counts(HcSource *source, HcQueue *queue, HcError *err) HC_MUST_CHECK;
HcStatus hc_source_counts(const HcSource *source, HcCompute *compute, int64_t counts[HC_MASK_REASONS],
                          HcError *err) HC_MUST_CHECK;

/* Counts the border pixels of zeros, and what each mask leaves out, in these lines of raw bytes [host]. Call
 * it once for each line, on the reading thread. */
void hc_source_look(HcSource *source, const HcRaw *raw, int64_t line0, int32_t lines);

/* Whether bytes of the file may go to a device in pieces, since nobody looks at them before: no masks, and no
 * zeros at the ends of some lines spread over the scene. */
bool hc_source_passes_bytes(const HcSource *source);

/* Whether a line may have border pixels of zeros, where bytes are passed. Any thread. */
bool hc_source_may_have_border(const HcSource *source, int64_t line);

void hc_source_close(HcSource *source, HcCompute *compute);

#endif
