/* What `write` says of values that an integer type could not keep. */
#ifndef HC_PIPELINE_STAGES_WRITE_TALLY_H
#define HC_PIPELINE_STAGES_WRITE_TALLY_H

#include "io/write/writer.h"
#include "pipeline/stage.h"

/* A scale and an offset with which values from `lowest` to `highest` become whole numbers from `low` to
 * `high`: the scale with two digits, the offset 0 where that wastes little. False where there is none. */
bool hc_write_suggest(double lowest, double highest, double low, double high, double *scale, double *offset);

/* Notes how many values were clamped or gave way to nodata; and, where no scale was given, that fractions of
 * values in a small range are lost. Says nothing of floats and class maps. */
void hc_write_tally_note(HcStage *stage, const HcWriter *writer, bool scaled);

/* Adds `values` and `clamped_values` of an integer output to a record. */
void hc_write_tally_json(const HcWriter *writer, HcJson *to);

#endif
