/* The settings of a run, which stages ask for through stage.h. */
#ifndef HC_PIPELINE_SETTINGS_H
#define HC_PIPELINE_SETTINGS_H

#include "core/system/flag.h"
#include "pipeline/json/json.h"
#include "ranks/ranks.h"

/* How far a run is; handed to the callback after every block, on the computing thread. */
typedef struct HcProgress {
    int32_t pass, passes;      /* from 1; passes is exact once known, never too low */
    const char *what;          /* the stage that observes, or "writing" */
    int64_t lines_done, lines; /* of this pass, of this rank */
    double bytes_done;         /* of the scene, over all passes, of this rank */
    double bytes;              /* expected over all passes */
    double seconds;            /* since the start */
} HcProgress;

/* How the program was called. The words are needed as well as the text: a text for a shell is not split
 * again. */
typedef struct HcCommandLine {
    const char *text;         /* all words, quoted for a shell */
    const char *const *words; /* [word_count], without the name of the program */
    int32_t word_count;
    const char *folder; /* absolute; NULL = not known */
} HcCommandLine;

typedef struct HcRunSettings {
    uint64_t memory;        /* limit for the host memory of the process [bytes], 0 = 3/4 of the available */
    uint64_t device_memory; /* limit for device memory [bytes], 0 = all that is free */
    int32_t block_lines;    /* lines of a block, 0 = chosen by the planner (for tests) */
    const HcFlag *cancel;   /* not 0 = stop; may be NULL */
    void (*progress)(const HcProgress *progress, void *user);
    void *user;
    HcRanks *ranks; /* that share the lines of the scene; NULL = this process takes all of them */
    /* Runs that share the free memory of the host and of the device; 0 = this one alone. */
    int32_t shares, device_shares;
    /* Adds to the record when all outputs are complete; hc_file_find (io/file.h) says where they lie. NULL =
     * adds nothing. */
    HcStatus (*describe)(HcJson *record, void *describe_user, HcError *err);
    void *describe_user;
    /* Takes what stages show of their results, before the outputs get their names: out of memory, no output
     * has one. NULL = nothing is shown. */
    HcText *results;
    const HcCommandLine *command; /* for the records, or NULL: the chain's own text */
    const char *record; /* where the records go: NULL = beside each output, "none" = nowhere, else one file */
    /* The record of this output is removed first and written last: where it exists, all records do. NULL =
     * records are written in the order of the chain. */
    const char *decides;
    /* Called when all outputs and records are complete, and none has its name (io/file.h: hc_file_visit).
     * NULL = is not. With `trial` they go afterwards. */
    HcStatus (*inspect)(void *inspect_user, HcError *err);
    void *inspect_user;
    bool trial;    /* no output gets a name, and no record is written unless it is inspected */
    bool no_files; /* the record has no lists of inputs and outputs: `describe` has its own */
    bool streams;  /* each pass reads the scene again, also one that would fit into memory */
    bool cold;     /* each pass reads from the disk, not from the system's page cache */
} HcRunSettings;

#endif
