/* The stage contract: what one step of a chain is. A stage's file, its word on the command line, its test
 * and its page in docs/stages/ have the same name; docs/adding-a-stage.md says how to add one.
 *
 * Life of a stage:
 *
 *     reset params -> parse -> plan (often, no pixels) -> open
 *     -> [observe each block, settle] -> process each block
 *     -> gather -> finish -> close
 *
 * Three structs: params (what the user asked), state (what was derived), block (what is processed). */
#ifndef HC_PIPELINE_STAGE_H
#define HC_PIPELINE_STAGE_H

#include "pipeline/json/json.h"
#include "core/compute.h"
#include "core/operation/image/store.h"
#include "io/write/again.h"
#include "core/system/flag.h"
#include "pipeline/option/option.h"
#include "ranks/ranks.h"

#define HC_SIDE_WORDS 8

enum { HC_STAGE_SUMS_MAX = 2 };

typedef struct HcGramPart HcGramPart;   /* core/operation/gram/gram_raw.h */
typedef struct HcSceneSums HcSceneSums; /* pipeline/statistics/sums.h */
typedef struct HcStage HcStage;
typedef struct HcChain HcChain;
typedef struct HcPanels HcPanels;       /* pipeline/report/panel.h */
typedef struct HcScreePlot HcScreePlot; /* pipeline/picture/plots.h */

typedef enum HcRole {
    HC_ROLE_SOURCE, /* the first step, and only it; its state is an HcSource (pipeline/source.h) */
    HC_ROLE_STAGE,  /* block in, block out */
    HC_ROLE_SINK,   /* hands its blocks on unchanged and takes a copy of each to a file */
    HC_ROLE_TAP     /* the same for the report of the run: no word, and no step of the user */
} HcRole;

/* What other stages ask an earlier one for (hc_stage_before). */
typedef enum HcGives {
    HC_GIVES_VALUES,          /* nothing that they ask for */
    HC_GIVES_DENOISED,        /* bands with less noise; the state is an HcDenoise */
    HC_GIVES_COMPONENTS,      /* components of bands; the state begins with an HcLinear */
    HC_GIVES_WHITE_COMPONENTS /* the same, and their noise has variance 1 */
} HcGives;

/* How a stage treats a pixel that lacks a value in some bands only (nodata, NaN, infinity). The source masks
 * such pixels, unless a stage asks for them and all stages between pass them on. They then hold NaN in
 * these bands. */
typedef enum HcMissing {
    HC_MISSING_MASKED, /* the stage needs whole pixels */
    HC_MISSING_PASSED, /* it hands on what is missing */
    HC_MISSING_TAKEN,  /* it asks for such pixels, and hands on whole ones */
    HC_MISSING_KEPT    /* it asks for such pixels and hands them on, unless hc_chain_wants_whole() */
} HcMissing;

/* Of the lines that two stages ask for. */
static inline int64_t hc_common_divisor(int64_t a, int64_t b) {
    return b == 0 ? a : hc_common_divisor(b, a % b);
}

/* a is positive; b of 0 asks for nothing. */
static inline int64_t hc_common_multiple(int64_t a, int64_t b) {
    return b == 0 ? a : a / hc_common_divisor(a, b) * b;
}

/* Where memory of a stage lies, and by what it grows. */
typedef enum HcSpace {
    HC_SPACE_DEVICE,     /* device memory, whatever the block size */
    HC_SPACE_APART,      /* the same, where the backend has memory of its own */
    HC_SPACE_APART_WISH, /* likewise, where it would make the stage faster: all of it or none
                            (HcStage.has_more_apart) */
    HC_SPACE_PIXEL,   /* device memory for each pixel of the output, on top of it: the scratch of process */
    HC_SPACE_HOST,    /* host memory beyond blocks (a writer's own) */
    HC_SPACE_WISH,    /* host memory that would make the stage faster: all of it or none (HcStage.has_more) */
    HC_SPACE_MIRROR,  /* host memory for copies of device memory, where the backend has memory of its own */
    HC_SPACE_SHARED,  /* host memory for a backend on the host, for all of its threads */
    HC_SPACE_WORKER,  /* host memory for each thread of such a backend */
    HC_SPACE_LIBRARY, /* host memory for each thread of a library (HcNeeds.threads_max), from two on */
    HC_SPACE_FIT,     /* host memory of what is fitted to the sums, once these are closed */
    HC_SPACES
} HcSpace;

/* What a stage needs, filled by plan and added up by the planner. */
typedef struct HcNeeds {
    int32_t halo;   /* lines of context on each side, in observe and process */
    bool observes;  /* wants to see the whole scene first (and is not settled yet) */
    int32_t rounds; /* passes that it observes before it is settled, 0 and 1 = one. Until the last of them a
                       pass ends at the stage, also where it passes through */
    int32_t rank_lines; /* ranks share the scene in multiples of this number of lines; 0 and 1 = any */
    bool selects;       /* observe does more than add the block to sums, so the pass must make blocks */
    bool compares;      /* wants neighbours of the scene before it is settled (HcStage.neighbours) */
    struct {
        int32_t integers; /* sums (pipeline/statistics/sums.h) of values that are known to be integers */
        int32_t floats;   /* and of others: they need a sample of the scene first (HcStage.sample) */
        int32_t count;    /* of `of`: the runner opens, feeds and closes these (hc_scene_sums_want) */
        HcSceneSums *of[HC_STAGE_SUMS_MAX];
    } sums;
    bool consumes; /* wants host copies of the blocks that go out */
    struct {
        int32_t every;        /* of them only the lines whose number is a multiple of this; 0 and 1 = all */
        int32_t shown_every;  /* a picture is made of such lines. Where the run makes nothing else, the others
                                 are not read (HcSource.every) */
        const int32_t *bands; /* [band_count] only these, from 0, in this order, borrowed from the stage,
                                 which passes through; NULL = all */
        int32_t band_count;
        const HcStoring
            *stored; /* a device of its own memory puts the values so, with a mask of NULL; or NULL */
    } pick;
    bool passes_through; /* process is not called, the output is the input */
    HcMissing missing;   /* values in the pixels that come in */
    bool has_output;     /* a chain may end with it, as with sinks and taps */
    int32_t threads_max; /* threads of a library that help the stage, if memory is left; 0 and 1 = none */
    struct {
        size_t bytes;
        size_t spared;   /* bytes of them that are given up while memory is scarce (HcStage.tight) */
    } memory[HC_SPACES]; /* hc_stage_takes() adds to a row */
} HcNeeds;

/* A chain that a stage wants settled before it opens: `mnf --dark IMAGE` wants `read IMAGE ! cov`. */
typedef struct HcSideChain {
    const char *words[HC_SIDE_WORDS]; /* [word_count], borrowed from the stage */
    int32_t word_count;               /* 0 = no chain is wanted */
    const int32_t *bands; /* [band_count] of the file to read, from 0, borrowed; NULL = all that are good */
    int32_t band_count;
} HcSideChain;

/* How a stage fits a model to sums of the scene (batch --pool fits it to those of many scenes). */
typedef struct HcFit {
    HcDifference noise; /* the difference that noise is taken from, HC_DIFFERENCE_NONE = no sums of noise */
    const char *window; /* the rectangle of that difference, borrowed, NULL = the scene */
    const char *save_model; /* the file that the user names for the model, borrowed, or NULL */
    const char *rule;       /* how many components are kept, where the fit of the scene decides it, or NULL */
    const char *own;        /* an option that looks for something in the fitted scene alone, or NULL */
    bool fit_only;          /* the stage hands the scene on unchanged */
} HcFit;

/* Some valid pixels of what comes into a stage, from lines spread over the scene: the same for every size of
 * blocks and every number of ranks. */
typedef struct HcSample {
    float *values; /* [count][bands] */
    int64_t *at;   /* [count] line of the scene times samples, plus sample */
    int64_t count; /* 0 where the scene has no valid pixel */
} HcSample;

enum { HC_NEIGHBOUR_PAIRS = 32 }; /* of lines, in HcStage.neighbours */

/* Columns of these lines, in the middle of the scene: of many bands 64, else as many as 32,768 values have.
 */
static inline int64_t hc_neighbour_columns(const HcScene *scene) {
    int64_t columns = (1 << 15) / scene->bands;
    columns = columns < 64 ? 64 : columns;
    return columns < scene->samples ? columns : scene->samples;
}

/* What few stages have; each entry may be left out. */
typedef struct HcStageRare {
    bool keeps_values; /* whatever its options and the scene: values that go out have come in. So do those of
                          all roles but HC_ROLE_STAGE, and of --fit-only */
    /* After the run: adds lines of a result that a user reads at once, for standard output. */
    void (*show)(const HcStage *stage, HcText *to);
    /* For `hcube STAGE --list [PATTERN]`, without a scene: adds the lines of a list that hold the pattern. */
    void (*list)(const char *pattern, HcText *to);
    /* As a command with a spectral library in the place of the scene. The stage has its parameters, a zeroed
     * state and a chain for notes, and is closed by the caller: adds lines for standard output. */
    HcStatus (*of_library)(HcStage *stage, const char *path, HcText *to, HcError *err);
    /* For the report of the run, after `finish`: adds pictures, plots and tables of what was found. */
    HcStatus (*panels)(const HcStage *stage, HcPanels *to, HcError *err);
    /* What the values of an output band are in, "rad"; NULL where that is not known. A stage that has no such
     * function and hands its input on has the units of its input. */
    const char *(*unit)(const HcStage *stage, int32_t band);
    /* Whether the parsed stage fits a model to sums of the scene, and how. Such a stage has the options
     * --model, --save-model and --fit-only, and marks those of the fit (HcOption.of_fit). */
    bool (*fits)(const HcStage *stage, HcFit *how);
    /* With fits. Fits the model to these sums, as settle does to those of the scene, and clears
     * sums that are no longer needed. noise: NULL = none. */
    HcStatus (*fit)(HcStage *stage, HcMoments *values, HcMoments *noise, HcError *err);
    /* Fills all of a scree plot but its page; false until the stage is settled. */
    bool (*scree)(const HcStage *stage, HcScreePlot *out);
    /* What the rules for the number of components find; NULL where none was asked. */
    const struct HcDimension *(*dimension)(const HcStage *stage);
    /* Sums beside those of needs.sums, at most HC_STAGE_SUMS_MAX, to which the bytes of the file can be added
     * in place of `observe`; in the first round only. */
    HcStatus (*sums)(HcStage *stage, HcGramPart *parts, int32_t *count, HcError *err);
    /* Fills side (zeroed) with a chain that the runner settles before open. It writes no file. */
    void (*side)(const HcStage *stage, HcSideChain *side);
    /* With side. Takes what the stages of that chain settled; the chain is freed afterwards. */
    HcStatus (*take_side)(HcStage *stage, HcChain *settled, HcError *err);
    /* Before the first pass, on the first rank alone: begins what takes long and needs no block, such as
     * space for an output. The plan may change until `open`. */
    HcStatus (*begin)(HcStage *stage, HcError *err);
    /* Pixels of the longest side that suffice for what the parsed stage draws; 0 = it needs all. In a chain
     * of such stages alone, an overview of the file stands for the scene. */
    int64_t (*suffices)(const HcStage *stage);
    /* For a raster: compares lines that were computed again with those in the file that `finish` has
     * completed, by a reader of that file (run/verify.h). On the writing thread. */
    HcStatus (*check)(const HcStage *stage, HcReader *file, const HcBlock *block, HcWrittenCheck *check,
                      HcError *err);
    /* With check. The scene in that file; borrowed, valid while planned. */
    const HcScene *(*written)(const HcStage *stage);
} HcStageRare;

typedef struct HcStageClass {
    const char *name;    /* "mnf" */
    const char *summary; /* one line */
    const char *cite;    /* reference, or NULL */
    const char *example; /* a command that runs where scene.hdr is a scene, or NULL */
    HcRole role;
    HcGives gives;
    const HcOption *options;
    size_t params_size;
    size_t state_size;

    /* REQUIRED. From stage->params, the scene that comes in (stage->in) and, once settled, the state: fills
     * stage->out (a zeroed scene) and stage->needs (zeroed). Touches no pixel; fails here on anything that
     * cannot work. Called again after an earlier stage settled, since that may change shapes. */
    HcStatus (*plan)(HcStage *stage, HcError *err);
    /* OPTIONAL. Allocates all that the pass needs; called once, after the last plan before the first pass
     * that this stage takes part in. */
    HcStatus (*open)(HcStage *stage, HcError *err);
    /* OPTIONAL, with needs.observes. A block of the scene, in order, halo included. The runner adds it to
     * needs.sums; where a pass does nothing else, it makes no block and sums the bytes of the file. */
    HcStatus (*observe)(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err);
    /* With needs.observes. After the last block: sums become a model. With needs.rounds, after each round. */
    HcStatus (*settle)(HcStage *stage, HcQueue *queue, HcError *err);
    /* REQUIRED unless needs.passes_through. Block to block; no allocation, no files, no globals. scratch is
     * HC_SPACE_PIXEL times the pixels of `out` [device]. */
    HcStatus (*process)(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err);
    /* With needs.consumes. A block that goes out, in host memory, interior lines only, in order; on the
     * writing thread. With needs.pick.every, line0 is the first of these lines and `lines` counts them. */
    HcStatus (*consume)(HcStage *stage, const HcBlock *block, HcError *err);
    /* OPTIONAL. After the last block, before any finish: joins the counts, pictures and files that ranks have
     * made of their lines. Called on all ranks, also on a single one. */
    HcStatus (*gather)(HcStage *stage, HcError *err);
    /* OPTIONAL. After the last block, on the first rank alone: completes the files of the stage. The runner
     * has opened a set (io/file.h), so that they get their names together with those of all other stages. */
    HcStatus (*finish)(HcStage *stage, HcError *err);
    /* OPTIONAL. What the record says of this stage beyond its options: adds to `to`. */
    void (*report)(const HcStage *stage, HcJson *to);
    /* OPTIONAL. Frees what open and settle made; safe after any failure. */
    void (*close)(HcStage *stage);
    HcStageRare rare;
} HcStageClass;

struct HcStage {
    const HcStageClass *kind;
    HcChain *chain;  /* the chain it is in */
    int32_t place;   /* its place there, from 0 */
    int32_t line;    /* of the chain file that it begins in, from 1; 0 = typed */
    void *params;    /* kind->params_size bytes, filled by the option table */
    void *state;     /* kind->state_size bytes, zero at first */
    HcScene in, out; /* as planned last */
    HcNeeds needs;
    const char *masks;   /* set by plan: why pixels that come in valid may go out masked, as in "the formula
                            divides by zero". The runner counts and notes them. NULL = there are none */
    int64_t masked;      /* these pixels of the scene, from gather on */
    const char *output;  /* set by plan or open: the file that finish leaves, for the record beside it;
                            borrowed, NULL = none. Standard output (HC_FILE_STANDARD_OUTPUT) has no record */
    HcCompute *compute;  /* set before open */
    bool tight;          /* set before open: memory is scarce, the stage takes less (hc_stage_takes_or) */
    bool has_more;       /* set before open: the stage may take HC_SPACE_WISH */
    bool has_more_apart; /* set before open: the stage may take HC_SPACE_APART_WISH */
    int32_t threads;     /* set before open: as many of needs.threads_max as memory allows, at least 1 */
    HcSample sample;     /* set before the first block is observed, where needs.sums.floats */
    HcSample neighbours; /* the same where needs.compares: pairs of lines, in each the same middle columns */
    bool is_open;
    int32_t round; /* passes that it has observed (needs.rounds) */
    bool settled;  /* settle has succeeded */
    double seconds_observe, seconds_settle, seconds_process, seconds_consume; /* measured by the runner */
};

/* In plan: adds to the memory that the stage takes. */
void hc_stage_takes(HcStage *stage, HcSpace space, size_t bytes);
/* The same, only `scarce` of it while memory is scarce (HcStage.tight). */
void hc_stage_takes_or(HcStage *stage, HcSpace space, size_t bytes, size_t scarce);
/* What it takes as memory is now [bytes]. */
size_t hc_stage_bytes(const HcStage *stage, HcSpace space);

/* Closes the sums of a stage that the runner opened (pipeline/statistics/sums.h). */
void hc_scene_sums_end(HcStage *stage);

/* All stages, in the order of the help; ended by NULL. */
extern const HcStageClass *const hc_stage_list[];
const HcStageClass *hc_stage_find(const char *name);
/* Adds the versions of libraries that stages are built on: "cairo 1.16.0\n...". */
void hc_stages_libraries(HcText *text);

/* What such a library calls before it ends the process for lack of memory or threads: must not return. */
void hc_stages_on_fatal(void (*leave)(const char *text));

/* Says that there is no such stage, and which one may be meant; returns HC_E_USAGE. */
HcStatus hc_stage_unknown(const char *name, HcError *err);

/* Remembers a remark for the user (one line); kept by the chain, shown by the program, written into the
 * record. */
void hc_stage_note(HcStage *stage, const char *format, ...) HC_PRINTF(2, 3);

/* A note on the file at `path` (NULL = the text names it), where the text is not empty. Clears the text. */
void hc_stage_note_file(HcStage *stage, const char *path, HcText *text);

/* A note on a file, unless the remark on it is empty. */
void hc_stage_remark(HcStage *stage, const char *path, const char *remark);

/* Says that memory ran out for the text of a note. The run then fails. */
void hc_stage_note_lost(HcStage *stage);

/* For the runner: puts the name of the stage before a failure of shared arithmetic ("rx: all 7 bands are
 * constant"), and before that the place in the chain file. Returns `status`. Other failures stay as they are,
 * and so does a name that is there. */
HcStatus hc_stage_named(const HcStage *stage, HcStatus status, HcError *err) HC_MUST_CHECK;

/* Puts the place of a step in its chain file before a failure: "a.hcube:3: mnf: ...". Returns `status`.
 * Failures that no line can mend (memory, devices, an interrupt) and steps that were typed stay as they are.
 */
HcStatus hc_stage_at_line(const HcStage *stage, HcStatus status, HcError *err) HC_MUST_CHECK;

/* Whether outputs of the stage may replace existing files, by its own --overwrite or that of the chain. */
bool hc_stage_overwrite(const HcStage *stage);

/* Registers, at plan time, a file that the stage will write beside those that its options name (borrowed).
 * Refuses one that the chain writes already, or reads. */
HcStatus hc_stage_will_write(HcStage *stage, const char *path, HcError *err) HC_MUST_CHECK;

/* Registers, at plan time, that the output of the stage goes to standard output (hc_file_send). Refuses a
 * second one, and where the chain may not. */
HcStatus hc_stage_will_send(HcStage *stage, HcError *err) HC_MUST_CHECK;

/* As hc_stage_will_write, and checks that the file may be made there: its folder exists, and the file does
 * not or may be replaced.
 */
HcStatus hc_stage_writes(HcStage *stage, const char *path, HcError *err) HC_MUST_CHECK;

/* Registers, at plan time, a file that a stage reads and no option alone names (copied). Refuses one that an
 * earlier stage has yet to write. */
HcStatus hc_stage_reads(HcStage *stage, const char *path, HcError *err) HC_MUST_CHECK;

/* The ranks that share the run, NULL where this process has it alone. */
HcRanks *hc_stage_ranks(const HcStage *stage);

/* What is set when the run is to stop, for work that goes on behind the last block; may be NULL. */
const HcFlag *hc_stage_cancel(const HcStage *stage);

/* The step before, or NULL; a tap of the report is no step. */
const HcStage *hc_stage_previous(const HcStage *stage);

/* The number that a band which comes in has in its file, from 1. */
int32_t hc_stage_file_band(const HcStage *stage, int32_t band);

/* The nearest earlier stage in the chain that gives this, or NULL. */
HcStage *hc_stage_before(const HcStage *stage, HcGives gives);

#endif
