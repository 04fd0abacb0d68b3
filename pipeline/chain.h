/* Chain: the steps that a user asked for, parsed and planned. */
#ifndef HC_PIPELINE_CHAIN_H
#define HC_PIPELINE_CHAIN_H

#include "io/file_use.h"
#include "pipeline/source.h"
#include "pipeline/stage.h"
#include "pipeline/words.h"

#define HC_NOTES_MAX       64
#define HC_CHAIN_FILES_MAX 128

/* A file that a planned stage will write. */
typedef struct HcOutput {
    const char *path; /* borrowed from its parameters or state */
    const HcStage *stage;
} HcOutput;

struct HcChain {
    HcStage *stages; /* [count], stable addresses */
    int32_t count;
    char **words; /* what the options borrow */
    int32_t word_count;
    char *notes[HC_NOTES_MAX]; /* remarks for the user, in order, without repeats */
    int32_t note_count;
    bool note_lost; /* memory ran out for one */
    HcOutput outputs[HC_CHAIN_FILES_MAX];
    int32_t output_count;
    const char
        *reads[HC_CHAIN_FILES_MAX]; /* files beside the scene that planned stages read, borrowed likewise */
    int32_t read_count;
    HcSource *source;      /* of the first step, borrowed from its state; no reader until it is planned */
    bool settles_only;     /* a side chain: stages observe and settle, no file is written */
    HcPaths inputs;        /* files that the command reads beside: the chain file, a list of scenes */
    HcFileUse use;         /* all files of the run, by hc_chain_check_files */
    HcOverwrite overwrite; /* of all outputs */
    bool asks; /* whether HC_OVERWRITE_USUAL stops at a scene that looks as if it was meant as the input */
    int64_t first_line;                   /* of the lines that this rank takes through the chain */
    const struct HcRunSettings *settings; /* of the run that it is in, or NULL */
};

/* The steps of `words`: NAME OPTION... ! NAME OPTION... (a leading ! is allowed). The options in `common`
 * (may be NULL) are accepted in every step. */
HcStatus hc_chain_parse(HcChain **out, const char *const *words, int32_t word_count,
                        const HcOptionSet *common, HcError *err) HC_MUST_CHECK;

/* read ! NAME ! write as one command, the options of all three together; a sink gets no write. */
HcStatus hc_chain_for_stage(HcChain **out, const HcStageClass *kind, const char *const *words,
                            int32_t word_count, const HcOptionSet *common, HcError *err) HC_MUST_CHECK;

void hc_chain_free(HcChain *chain);

/* Whether a planned stage will write this file. */
bool hc_chain_writes(const HcChain *chain, const char *path);

/* Whether a file is a record that hcube wrote; fails where memory or the disk does. */
HcStatus hc_chain_is_record(const char *path, bool *is, HcError *err) HC_MUST_CHECK;

/* After planning, before anything is computed: refuses (HC_E_USAGE) an output, record or derived file that
 * would replace one that the command reads, another output, a record that is not ours without overwrite, or a
 * scene that looks as if it was meant as the input (HC_OVERWRITE_USUAL). Fills chain->use. record: as in
 * HcRunSettings. */
HcStatus hc_chain_check_files(HcChain *chain, const char *record, HcError *err) HC_MUST_CHECK;

/* Removes what dead processes have left of the files that the chain's options name; before planning. */
void hc_chain_remove_dead(const HcChain *chain);

/* Plans every stage in order (again: keeps what is settled). */
HcStatus hc_chain_plan(HcChain *chain, HcError *err) HC_MUST_CHECK;

/* HC_E_MEMORY where memory ran out for a note: what the user is not told of must not end well. */
HcStatus hc_chain_check_notes(const HcChain *chain, HcError *err) HC_MUST_CHECK;

/* The first stage that keeps values which are missing in some bands of a pixel from `stage`, which takes
 * them: one in front of it that needs whole pixels. NULL = none does. */
const HcStage *hc_chain_needs_whole(const HcStage *stage);

/* Whether the source of a planned chain keeps such pixels, since a stage takes them and none in front of it
 * needs whole ones. */
bool hc_chain_keeps_missing(const HcChain *chain);

/* As hc_stage_note, for remarks on the run. */
void hc_chain_note(HcChain *chain, const char *format, ...) HC_PRINTF(2, 3);

/* The chain as one line that could be typed again. */
void hc_chain_print(const HcChain *chain, HcText *text);

#endif
