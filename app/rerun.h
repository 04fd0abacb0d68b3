/* Rerun: what the files of `hcube rerun` share. */
#ifndef HC_APP_RERUN_H
#define HC_APP_RERUN_H

#include "app/app.h"
#include "io/scene_files.h"

#include <cjson/cJSON.h>

typedef struct HcRerun {
    const char *path; /* of the record, absolute; borrowed */
    const cJSON *record;
    const char *written_to; /* --record of the run, or NULL */
    bool check, changed_inputs;
    const HcChain *chain; /* once it is planned */
    HcText device;        /* a note on another device than that of the record */
    /* What --check has found. */
    HcPaths lines;
    int32_t same, differing;
} HcRerun;

/* For HcRunExtra; user is an HcRerun. */

/* Refuses inputs that have changed since the record was written, and outputs in the place of the record. */
HcStatus hc_rerun_planned(HcChain *chain, void *user, HcError *err) HC_MUST_CHECK;
/* Hands on what the record has of a batch. Refuses (HC_E_INPUT) other options than those of the record. */
HcStatus hc_rerun_describe(HcJson *record, void *user, HcError *err) HC_MUST_CHECK;
/* Compares the files that were made with those that are there (command_rerun_check.c). */
HcStatus hc_rerun_inspect(void *user, HcError *err) HC_MUST_CHECK;

#endif
