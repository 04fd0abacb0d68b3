/* Record: what was done, as JSON beside each output. */
#ifndef HC_PIPELINE_RUN_RECORD_H
#define HC_PIPELINE_RUN_RECORD_H

#include "pipeline/run/run.h"

/* The report of one rank on its share of a run. */
typedef struct HcRankReport {
    char host[64], device[128];
    int64_t first_line, lines;
    double seconds, seconds_read, seconds_wait_read, seconds_write, seconds_wait_write;
    uint64_t peak_memory; /* [bytes] */
} HcRankReport;

/* All ranks: collects their reports, [count of ranks], fresh memory; NULL where the process is alone. */
HcStatus hc_record_ranks(const HcChain *chain, const HcCompute *compute, const HcRunSettings *settings,
                         const HcRunReport *report, HcRankReport **out, HcError *err) HC_MUST_CHECK;

/* Removes the records of the files that the outputs replace. Writes the record of a finished run beside each
 * output (OUTPUT.hcube.json), or where the settings say; and the report, where there is one. ranks: as from
 * hc_record_ranks. inputs: the list by hc_record_inputs, or NULL. */
HcStatus hc_record_write_all(const HcChain *chain, const HcCompute *compute, const HcRunSettings *settings,
                             const HcRunReport *report, const HcRankReport *ranks, const cJSON *inputs,
                             HcError *err) HC_MUST_CHECK;

/* Puts the head of a record: version, command, when it was finished (now) and on what. A command line without
 * words (words is NULL) has its text alone. */
void hc_record_put_head(HcJson *record, const HcCompute *compute, const HcCommandLine *command);

#endif
