/* Chain: the steps that a user asked for, parsed and planned. */
#ifndef HC_PIPELINE_CHAIN_H
#define HC_PIPELINE_CHAIN_H

#include "io/file_use.h"
#include "pipeline/source.h"
#include "pipeline/stage.h"
#include "pipeline/option/words.h"

#define HC_NOTES_MAX       64
#define HC_CHAIN_FILES_MAX 128

/* A file that a stage will write. */
typedef struct HcOutput {
    const char *path; /* borrowed from its parameters or state */
    const HcStage *stage;
} HcOutput;

struct HcChain {
    HcStage *stages; /* [count], stable addresses */
    int32_t count;
    char **words; /* what the options borrow */
    int32_t word_count;
    char *file;                /* the chain file that they come from, or NULL */
    char *notes[HC_NOTES_MAX]; /* remarks for the user, in order, without repeats */
    int32_t note_count;
    bool note_lost; /* memory ran out for one */
    HcOutput outputs[HC_CHAIN_FILES_MAX];
    int32_t output_count;
    bool single;          /* the run of one scene, no batch: an output may go to standard output, rasters get
                           * styles */
    const HcStage *sends; /* the planned stage whose output does, or NULL */
    HcPaths reads;        /* files beside the scene that the options of its stages name */
    HcSource *source;     /* of the first step, borrowed from its state; no reader until it is planned */
    bool settles_only;    /* a side chain: stages observe and settle, no file is written */
    bool plain;           /* computed again to verify a run: read through GDAL, sums of blocks */
    HcPaths inputs;       /* files that the command reads beside: the chain file, a list of scenes */
    HcFileUse use;        /* all files of the run, by hc_chain_check_files */
    int32_t step_reads;   /* of those it reads, the first are read by steps */
    bool overwrite;       /* of all outputs */
    bool steps_keep;      /* a step's own --overwrite does not count */
    char *report;         /* the report that the run writes (pipeline/report/report.h), or NULL */
    bool asks; /* whether a scene that may have been meant as the input stays, even with `overwrite` */
    int64_t first_line, end_line;         /* of the lines that this rank takes through the chain */
    const struct HcRunSettings *settings; /* of the run that it is in, or NULL */
};

/* The steps of `words`: NAME OPTION... ! NAME OPTION... (a leading ! is allowed). The options in `common`
 * (may be NULL) are accepted in every step. */
HcStatus hc_chain_parse(HcChain **out, const char *const *words, int32_t word_count,
                        const HcOptionSet *common, HcError *err) HC_MUST_CHECK;

/* The same with words of a chain file, which failures then name ("a.hcube:3: mnf: ..."). lines: [word_count],
 * from 1, the line that each word begins in; 0 = it does not stand in the file. */
HcStatus hc_chain_parse_file(HcChain **out, const char *file, const int32_t *lines, const char *const *words,
                             int32_t word_count, const HcOptionSet *common, HcError *err) HC_MUST_CHECK;

/* read ! NAME ! write as one command, the options of all three together; a sink gets no write. */
HcStatus hc_chain_for_stage(HcChain **out, const HcStageClass *kind, const char *const *words,
                            int32_t word_count, const HcOptionSet *common, HcError *err) HC_MUST_CHECK;

/* A chain of the same steps that has settled nothing yet and writes no file. It borrows the options of the
 * first, which must stay. Sinks and the taps of a report are left out. In the place of a sink with `check`
 * stands a `tap`, whose parameters are the address of that sink. */
HcStatus hc_chain_twin(HcChain **out, const HcChain *chain, const HcStageClass *tap,
                       HcError *err) HC_MUST_CHECK;

void hc_chain_free(HcChain *chain);

/* Whether a planned stage will write this file. */
bool hc_chain_writes(const HcChain *chain, const char *path);

/* Whether a file is a record that hcube wrote; fails where memory or the disk does. */
HcStatus hc_chain_is_record(const char *path, bool *is, HcError *err) HC_MUST_CHECK;

/* Before a stage is planned: collects the files that its options name. Refuses (HC_E_USAGE) a file that is
 * written twice, one that an earlier step writes and this one reads, or the reverse; and outputs that cannot
 * be made or may not be replaced. */
HcStatus hc_chain_collect_files(HcStage *stage, HcError *err) HC_MUST_CHECK;

/* Checks all files after planning, before anything is computed. No output, record or derived file may replace
 * (HC_E_USAGE)
 *  - a file that the command reads, or another output,
 *  - a record that hcube did not write, without overwrite,
 *  - a scene that may have been meant as the input (chain->asks).
 * Fills chain->use. record: as in HcRunSettings. */
HcStatus hc_chain_check_files(HcChain *chain, const char *record, HcError *err) HC_MUST_CHECK;

/* Calls `each` for the files that the options of all steps name as outputs, and the report; before planning.
 */
HcStatus hc_chain_each_written(const HcChain *chain, HcOptionVisit each, void *user,
                               HcError *err) HC_MUST_CHECK;

/* Removes temporary files that dead processes left of the chain's outputs; before planning. */
void hc_chain_remove_dead(const HcChain *chain);

/* Plans every stage in order (again: keeps what is settled). */
HcStatus hc_chain_plan(HcChain *chain, HcError *err) HC_MUST_CHECK;

/* HC_E_MEMORY where memory ran out for a note: a run that lacks a note must not succeed. */
HcStatus hc_chain_check_notes(const HcChain *chain, HcError *err) HC_MUST_CHECK;

/* For a stage that takes pixels with missing values: the first stage before it that needs whole pixels, and
 * so keeps them from it. NULL = none does. */
const HcStage *hc_chain_needs_whole(const HcStage *stage);

/* In plan of such a stage: a note where one before it may keep pixels from it. */
void hc_chain_note_left_out(HcStage *stage);

/* For a stage that hands such pixels on, once the chain is planned: the first stage after it that needs whole
 * pixels, so that they must be masked. NULL = none does, or one before it takes them. Sinks take any. */
const HcStage *hc_chain_wants_whole(const HcStage *stage);

/* Whether the source of a planned chain keeps such pixels: a stage takes them, and none before it needs whole
 * ones. */
bool hc_chain_keeps_missing(const HcChain *chain);

/* As hc_stage_note, for remarks on the run. */
void hc_chain_note(HcChain *chain, const char *format, ...) HC_PRINTF(2, 3);

/* The chain as one line that could be typed again. */
void hc_chain_print(const HcChain *chain, HcText *text);

#endif
