/* Record files: what a record says of the files that a run read and wrote. */
#ifndef HC_PIPELINE_RUN_RECORD_FILES_H
#define HC_PIPELINE_RUN_RECORD_FILES_H

#include "pipeline/chain.h"

/* The list `inputs` of a record: an object a file that the steps read (scene, masks, libraries, models), as
 * the files are now. Before the first pass. inputs: fresh memory. */
HcStatus hc_record_inputs(const HcChain *chain, cJSON **inputs, HcError *err) HC_MUST_CHECK;

/* Adds the list `outputs`: the files of the open set (io/file.h), by their names. */
HcStatus hc_record_put_outputs(HcJson *record, HcError *err) HC_MUST_CHECK;

/* Adds an object to the open array: file (named `name`), bytes, modified, and with `hash` xxh64. lies: where
 * the file is read. */
HcStatus hc_record_put_input(HcJson *inputs, const char *lies, const char *name, bool hash,
                             HcError *err) HC_MUST_CHECK;

/* Whether the file of such an object is as it was: its size, and with `hash` its content, else the time of
 * its last change. */
bool hc_record_input_unchanged(const cJSON *input, const char *path, bool hash);

#endif
