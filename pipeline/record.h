/* Record: what was done, as JSON beside each output. */
#ifndef HC_PIPELINE_RECORD_H
#define HC_PIPELINE_RECORD_H

#include "pipeline/run.h"

/* Writes the record of a finished run beside each of its outputs (OUTPUT.hcube.json), or where the settings
 * say. */
HcStatus hc_record_write_all(const HcChain *chain, const HcCompute *compute, const HcRunSettings *settings,
                             const HcRunReport *report, HcError *err) HC_MUST_CHECK;

/* The parameters of a stage by its option table, as JSON (only what was given or has a default). */
HcStatus hc_record_options(const HcStage *stage, cJSON *to, HcError *err) HC_MUST_CHECK;

#endif
