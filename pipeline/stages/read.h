/* What the runner asks of the source of a chain. */
#ifndef HC_PIPELINE_STAGES_READ_H
#define HC_PIPELINE_STAGES_READ_H

#include "io/reader.h"
#include "pipeline/stage.h"

/* The open reader of a planned read stage; borrowed. */
HcReader *hc_source_reader(const HcStage *stage);

/* How its raw bytes become blocks; valid after open; borrowed. */
const HcDecode *hc_source_decode(const HcStage *stage);

/* Starts the count of masked pixels anew (before a pass), and reads it (after one). */
HcStatus hc_source_reset_counts(HcStage *stage, HcQueue *queue, HcError *err) HC_MUST_CHECK;
HcStatus hc_source_counts(const HcStage *stage, int64_t counts[HC_MASK_REASONS], HcError *err) HC_MUST_CHECK;

/* Looks at raw bytes [host] that hold these lines, each line of the scene once: whether its border is 0. On
 * the thread that reads. */
void hc_source_look(const HcStage *stage, const HcRaw *raw, int64_t line0, int32_t lines);

/* Reads exactly these bands of the file, whatever the options say (before plan). */
HcStatus hc_source_use_bands(HcStage *stage, const int32_t *bands, int32_t count, HcError *err) HC_MUST_CHECK;

#endif
