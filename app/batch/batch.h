/* Batch: one chain over many scenes. What the files of `hcube batch` share. */
#ifndef HC_APP_BATCH_BATCH_H
#define HC_APP_BATCH_BATCH_H

#include "app/app.h"
#include "core/system/clock.h"
#include "io/scene_files.h"
#include "io/stac/stac.h"
#include "pipeline/run/layout.h"

/* ---- what was asked (chain.c, list.c) ---- */

typedef struct HcBatchParams {
    HcCommon common; /* its options come first in the table */
    const char *scenes, *output, *worker, *pool, *summary, *report, *collection, *asset;
    int64_t jobs;
    int64_t max_failures; /* 0 = any number */
    bool retry_failed, hash, status, one_model, recursive;
    HcOptionList set, exclude, filter;
} HcBatchParams;

typedef struct HcBatchScene {
    char *path;
    char *output;  /* what --output makes of it */
    char *refused; /* why that cannot be written; NULL: it can */
    int32_t group; /* of --pool, where there are groups; -1 = in none: its header could not be read */
    char *blocked; /* why it can have no model of --pool; NULL: nothing is known against it */
} HcBatchScene;

/* Scenes that one model of --pool serves, where the scenes need more than one (groups.c). */
typedef struct HcBatchGroup {
    char name[64], about[64]; /* "59b_400-900nm"; "59 bands, 400 to 904 nm" */
    char *model;              /* path */
    int32_t scenes;
    HcPaths words; /* as in HcBatch, with the model in its place; none until there is one */
    char *chain;
} HcBatchGroup;

typedef struct HcBatch {
    HcBatchParams params;
    HcPaths options; /* the words that are options; params borrow from them */
    HcPaths more;    /* further words after --scenes: a pattern without quotes is several words */
    HcPaths inputs;  /* files that the command reads: the chain file, the list of scenes */
    HcPaths words;   /* of the chain, read and write included, with their placeholders */
    char *file;      /* the chain file that they come from, or NULL */
    int32_t *lines;  /* [words.count] where they stand in it, from 1; 0 = added; NULL = no file */
    char *chain;     /* the words as one line, for the records */
    HcBatchScene *scenes;
    int32_t scene_count;
    HcStacList stac; /* the items that scenes come from, where --scenes is of STAC */
    size_t base;     /* bytes of their paths that {dir} leaves out: the folder of --scenes with its slash */
    HcBatchGroup *groups; /* NULL = all scenes have one chain */
    int32_t group_count;
    int32_t worker, workers;    /* every workers-th scene is done, from this one (from 0) on */
    int32_t left_out;           /* scenes that were found, but are outputs of others */
    int32_t excluded;           /* by --exclude */
    const char *unused_pattern; /* the first --exclude that leaves out nothing; NULL: each leaves out some */
    bool owns_outputs;          /* sums of a pool: files in their places are nobody else's */
    HcPassedOver passed;
} HcBatch;

/* The options that only this command has, those that it shares with every run, and all. */
extern const HcOption hc_batch_own_options[];
const HcOption *hc_batch_common_options(void);
const HcOption *hc_batch_options(void);

/* Fills a zeroed batch from the words of the command line: options, chain, scenes, outputs. Refuses scenes
 * that would have one output; a scene whose output is a scene is marked as refused. Touches no pixel. */
HcStatus hc_batch_read(HcBatch *batch, int32_t word_count, const char *const *words,
                       HcError *err) HC_MUST_CHECK;
void hc_batch_clear(HcBatch *batch);

/* Takes the options of the batch out of the command line, into batch->params. The words that are left fill
 * batch->words and batch->chain. */
HcStatus hc_batch_read_chain(HcBatch *batch, int32_t word_count, const char *const *words,
                             HcError *err) HC_MUST_CHECK;

/* Fills batch->chain from batch->words. */
HcStatus hc_batch_print_chain(HcBatch *batch, HcError *err) HC_MUST_CHECK;

/* Fills batch->scenes by what --scenes and --output say. */
HcStatus hc_batch_read_scenes(HcBatch *batch, HcError *err) HC_MUST_CHECK;

/* Whether --scenes is of STAC: asked for by an option, or a name that ends as those of items and searches do,
 * of a server, or of JSON that does not open as a scene (items.c). */
bool hc_batch_is_stac(const HcBatch *batch);
/* Adds the scenes of its items, and keeps these. */
HcStatus hc_batch_find_stac(HcBatch *batch, HcPaths *out, HcError *err) HC_MUST_CHECK;
/* Adds what {item}, {asset:NAME} and {role:ROLE} stand for; *known is false of other names, and of scenes
 * that come from no item. */
HcStatus hc_batch_add_of_item(const HcBatch *batch, HcText *text, const char *name, size_t length,
                              int32_t number, bool *known, HcError *err) HC_MUST_CHECK;

/* Adds the files and folders that a pattern of --scenes matches, in the order of their names: *, ?, [...],
 * and ** for folders at any depth, none included, but not for hidden ones and not behind links (pattern.c).
 * Nothing matched is no failure; a folder below ** that cannot be read is one. */
HcStatus hc_batch_match(const char *pattern, HcPaths *out, HcError *err) HC_MUST_CHECK;

/* The first pattern that a path matches, -1 = none. A pattern with a slash is compared with the whole path,
 * where * stands for slashes too; one without with the name of the file. */
int32_t hc_batch_excluding(const HcOptionList *patterns, const char *path);

/* Whether a text describes a product, as METADATA.XML does, and is no list; one with a flaw fails as a scene.
 */
bool hc_batch_describes_product(const char *path);

/* The scenes of a folder, as hc_scenes_in_folder finds them. But a product of one raster a band counts once,
 * and references of line scanners do not count (folder.c). The second looks into the folder `capture` of
 * Specim where the folder itself has no scene. */
HcStatus hc_batch_in_folder(const char *folder, HcPaths *out, HcPassedOver *passed,
                            HcError *err) HC_MUST_CHECK;
HcStatus hc_batch_of_folder(const char *folder, HcPaths *out, HcPassedOver *passed,
                            HcError *err) HC_MUST_CHECK;

/* The scenes of a folder and of all folders in it, as hc_batch_in_folder finds them; no hidden folders, and
 * none that a link leads to (pattern.c). */
HcStatus hc_batch_walk(const char *folder, HcPaths *out, HcPassedOver *passed, HcError *err) HC_MUST_CHECK;
/* How many such folders lie in a folder itself, 0 where it cannot be read. */
int32_t hc_batch_count_folders(const char *folder);

/* A text with its placeholders filled for a scene of the batch (from 0); fresh memory. output may be NULL:
 * then {output} is unknown. */
HcStatus hc_batch_fill(const HcBatch *batch, const char *text, int32_t scene, const char *output, char **out,
                       HcError *err) HC_MUST_CHECK;

/* The chain of one scene, parsed but not planned. */
HcStatus hc_batch_chain(const HcBatch *batch, int32_t scene, HcChain **out, HcError *err) HC_MUST_CHECK;

/* Refuses a file that is there and that the batch reads for any of its scenes (HC_E_USAGE). `option` and
 * `value` say in the message what it belongs to (written.c). */
HcStatus hc_batch_check_written(const HcBatch *batch, const char *option, const char *value, const char *path,
                                HcError *err) HC_MUST_CHECK;

/* Makes the folders that lead to an output (written.c). */
HcStatus hc_batch_make_folders(const char *output, HcError *err) HC_MUST_CHECK;

/* ---- who does a scene (claim.c) ---- */

typedef struct HcBatchClaim HcBatchClaim;

/* Claims an output: at most one process on all hosts that share the folder holds the claim of an output.
 * *claim is NULL where another one that is alive holds it. A claim survives the crash of its owner as a file
 * and is then taken over: at once on the same host, after some minutes without a sign of life on another. */
HcStatus hc_batch_claim(const char *output, HcBatchClaim **claim, HcError *err) HC_MUST_CHECK;
/* Of a claim that was taken over from a dead owner: the hash of the outputs that it had checked. It may have
 * made them without their records. 0 = none. NULL is fine. */
uint64_t hc_batch_claim_inherited(const HcBatchClaim *claim);
/* Notes that the outputs of this hash (hc_batch_hash_outputs) are checked, before any is made: the next owner
 * replaces them if this one dies. HC_E_IO where the claim cannot be written. */
HcStatus hc_batch_claim_checked(HcBatchClaim *claim, uint64_t outputs, HcError *err) HC_MUST_CHECK;
/* Removes what processes that died while they claimed a scene have left: another one may have done the scene
 * since, and nobody looks at it again. */
void hc_batch_remove_dead_claims(const HcBatch *batch);
/* leave: the file stays, as that of a dead owner after this process. NULL is fine. */
void hc_batch_release(HcBatchClaim *claim, bool leave);
/* The claim file of an output; fresh memory, NULL when there is none left. */
char *hc_batch_claim_path(const char *output);

/* Who holds a claim. */
typedef struct HcBatchHolder {
    char host[256]; /* "" = the claim cannot be read */
    long process;
    long long since; /* by the clock of that host [s since 1970]; 0 = not said */
    bool alive;      /* as far as can be seen: by its process on this host, else by its last sign of life */
} HcBatchHolder;

/* Looks at the claim of an output, and leaves it; false where there is none. */
bool hc_batch_holder(const char *output, HcBatchHolder *holder);

/* ---- what became of a scene before (state.c) ---- */

typedef enum HcBatchState {
    HC_BATCH_OPEN,         /* to be done */
    HC_BATCH_COMPLETE,     /* its outputs are whole, by the same chain and version from the same input */
    HC_BATCH_FAILED_BEFORE /* in the same way */
} HcBatchState;

/* What a scene is made from, as it was before its run. */
typedef struct HcBatchOrigin {
    const HcBatch *batch;
    int32_t scene;
    const HcChain *chain; /* for its outputs; NULL: it could not be planned */
    cJSON *inputs;        /* file, bytes, modified, hash of each */
} HcBatchOrigin;

/* Whether a failure says that a disk or a quota is full: it waits for somebody to make space. */
bool hc_batch_is_full(HcStatus failure, const char *message);

/* Where the record of a scene lies; fresh memory, NULL when there is none left. */
char *hc_batch_record_path(const HcBatch *batch, int32_t scene);
/* Reads that record, for cJSON_Delete; NULL if there is none that can be read. */
cJSON *hc_batch_read_record(const HcBatch *batch, int32_t scene);

/* Looks at the record, or at the marker of a failure whose message is then in `message`. Unreadable ones
 * count as missing. */
HcStatus hc_batch_look(const HcBatch *batch, int32_t scene, HcBatchState *state, char *message, size_t size,
                       HcError *err) HC_MUST_CHECK;

/* Notes the inputs of a scene; its chain is planned, or as far as planning came, or NULL. Where it fails,
 * origin->inputs is NULL. */
HcStatus hc_batch_origin(HcBatchOrigin *origin, const HcBatch *batch, int32_t scene, const HcChain *chain,
                         HcError *err) HC_MUST_CHECK;
void hc_batch_origin_clear(HcBatchOrigin *origin);

/* The hash of the paths of all outputs and of the report, from anywhere; never 0. chain: planned. */
HcStatus hc_batch_hash_outputs(const HcChain *chain, uint64_t *hash, HcError *err) HC_MUST_CHECK;

/* Refuses existing outputs that this chain has not made (HC_E_USAGE). Those of another chain
 * need --overwrite. *replaced: some are replaced by permission. left: a
 * dead process that had checked them may have made outputs without their records. */
HcStatus hc_batch_check_outputs(const HcBatch *batch, int32_t scene, HcChain *chain, bool left,
                                bool *replaced, HcError *err) HC_MUST_CHECK;

/* For HcRunSettings.describe; user is an HcBatchOrigin. */
HcStatus hc_batch_describe(HcJson *record, void *user, HcError *err) HC_MUST_CHECK;

/* Fails (HC_E_IO) where something else than a regular file has the name of the record or of the marker: a
 * folder, a pipe, a link. It is neither read nor replaced. */
HcStatus hc_batch_check_names(const HcBatch *batch, int32_t scene, HcError *err) HC_MUST_CHECK;

/* Leaves a marker of a failure that would come again, and no marker of another. A failure by which memory,
 * descriptors or the disk may be to blame leaves none, nor one whose inputs are not known. What cannot be
 * written is left out: the scene is then tried again. */
void hc_batch_mark(const HcBatchOrigin *origin, HcStatus failure, const char *message);

/* Removes the marker of a complete scene: it failed while its files were away, and they came back as they
 * were. Removes the marker of the upload of its output, too, where a server refused that before. */
void hc_batch_unmark(const HcBatch *batch, int32_t scene);

/* Removes what an earlier attempt has left of a scene that is about to be done: marker and temporary files.
 * An old record goes with the outputs that it describes, when new ones get their names. chain: planned. */
void hc_batch_clean(const HcBatch *batch, int32_t scene, const HcChain *chain);
/* Temporary files alone. chain: planned. */
void hc_batch_clean_leftovers(const HcBatch *batch, int32_t scene, const HcChain *chain);
/* Removes them without a plan: those of the files that the options name. Returns whether such a file has no
 * record. A dead owner may have made it, and its claim alone says so. */
bool hc_batch_clean_unplanned(const HcBatch *batch, int32_t scene);
/* Does the same for a complete scene, by its record. */
void hc_batch_clean_complete(const HcBatch *batch, int32_t scene);

/* ---- what happens (log.c) ---- */

typedef enum HcBatchWhat {
    HC_BATCH_JOBS,      /* how many workers fit on this host, by the first of them */
    HC_BATCH_DEVICE,    /* a worker has opened its device; text: why not a GPU */
    HC_BATCH_NO_GPU,    /* a worker ends: it wants a GPU, and got none */
    HC_BATCH_TAKEN,     /* a worker looks at the scene, and may claim and open it */
    HC_BATCH_STARTED,   /* its run has begun */
    HC_BATCH_DONE,      /* the last word on a scene from here on */
    HC_BATCH_FAILED,    /* now; text: the message */
    HC_BATCH_SKIPPED,   /* it was complete */
    HC_BATCH_EARLIER,   /* it failed before; text: the message then */
    HC_BATCH_ELSEWHERE, /* another worker has it */
    HC_BATCH_LEFT,      /* a worker ends before it came to it */
    HC_BATCH_BROKEN     /* a worker ends by a failure that is not of a scene */
} HcBatchWhat;

#define HC_BATCH_PARTS 40

/* One event, small enough to go through a pipe in one piece. */
typedef struct HcBatchEvent {
    int32_t what, scene;
    bool replaced; /* HC_BATCH_DONE: outputs of another chain */
    int32_t jobs;  /* HC_BATCH_JOBS; of HC_BATCH_LEFT 1 = another scene beside it may be to blame */
    HcStatus status;
    int32_t part_count;
    double seconds, bytes;      /* of the run, of the scene */
    bool unmasked, undescribed; /* without quality layers, without metadata of its sensor */
    bool handed_on;             /* denoise has removed nothing */
    char device[24];
    char text[768];
    struct {
        char name[24];
        float seconds;
    } parts[HC_BATCH_PARTS]; /* where the time went */
} HcBatchEvent;

/* A step of the work, or a device. */
typedef struct HcBatchPart {
    char name[24];
    double seconds, bytes;
    int32_t scenes;
} HcBatchPart;

/* What all events together amount to. */
typedef struct HcBatchTotals {
    double start; /* by hc_batch_now */
    bool device_noted;
    int32_t done, skipped, failed, failed_before, elsewhere;
    int32_t unmasked, undescribed, handed_on; /* of those done */
    int32_t replaced;                         /* of those done: an option permitted to replace outputs */
    double bytes, seconds;                    /* of runs, added up; runs may overlap */
    /* Since the start [s]: the first run began, the last worker had its device, the last run ended. */
    double first_began, last_ready, last_ended;
    double next_collection; /* when it is written again, by hc_now */
    int32_t workers;        /* that had a device */
    int32_t part_count, device_count;
    HcBatchPart parts[HC_BATCH_PARTS], devices[HC_BATCH_PARTS];
    char **failures; /* [scenes] why each failed now, NULL where it did not; NULL = not kept */
    int64_t *words;  /* [scenes] what became of each, of all ranks; NULL = this process is alone */
} HcBatchTotals;

/* Remembers the last word on a scene (ranks.c). */
void hc_batch_word(HcBatchTotals *totals, const HcBatchEvent *event);

/* Whether what happens is printed as JSON. */
bool hc_batch_as_json(const HcBatch *batch);

/* Prints one event as the options say, and adds it up. */
void hc_batch_report(const HcBatch *batch, const HcBatchEvent *event, HcBatchTotals *totals);
/* Reports that the model of --pool exists. The totals are those of the sums; left_out scenes are not in it.
 */
void hc_batch_report_pool(const HcBatch *batch, const HcBatchTotals *sums, int32_t left_out);
/* The groups of --pool, where there are some. */
void hc_batch_report_groups(const HcBatch *batch);
/* The table at the end. */
void hc_batch_summary(const HcBatch *batch, const HcBatchTotals *totals);

/* What has become of a scene so far. */
typedef enum HcBatchWord {
    HC_WORD_DONE,
    HC_WORD_FAILED,
    HC_WORD_RUNNING,
    HC_WORD_INTERRUPTED, /* its claim has no living owner */
    HC_WORD_LEFT,
    HC_WORDS
} HcBatchWord;

/* "done", "failed" and so on: keys of the JSON, too. */
extern const char *const hc_batch_words[HC_WORDS];

typedef struct HcBatchStanding {
    HcBatchWord word;
    HcBatchHolder holder; /* of its claim, if there is one */
    char message[768];    /* of a failure */
} HcBatchStanding;

/* Looks at the record, the marker and the claim of a scene, and touches none (state.c). */
HcStatus hc_batch_standing(const HcBatch *batch, int32_t scene, HcBatchStanding *out,
                           HcError *err) HC_MUST_CHECK;

/* Where the report of a scene lies (--report): beside its output; fresh memory, NULL when there is none left.
 */
char *hc_batch_report_path(const char *output);

/* Whether the batch writes a table or a page of all scenes. */
bool hc_batch_sums_up(const HcBatch *batch);

/* Refuses a --summary or --report that has another ending, that is read, or that replaces something else
 * (summary.c). */
HcStatus hc_batch_check_summary(const HcBatch *batch, HcError *err) HC_MUST_CHECK;
/* Writes --summary and --report: all scenes of this worker, by their records and markers; `failures` [scenes]
 * or NULL has the messages of this run, NULL where there is none. */
HcStatus hc_batch_write_summary(const HcBatch *batch, char *const *failures, HcError *err) HC_MUST_CHECK;

/* Makes the folder of --stac-collection; refuses one with files of these names that hcube has not written.
 * Does nothing without the option, as the next two (collection.c). */
HcStatus hc_batch_check_collection(const HcBatch *batch, HcError *err) HC_MUST_CHECK;
/* Writes the collection of all items whose outputs are complete, of this batch and of those before. */
HcStatus hc_batch_write_collection(const HcBatch *batch, HcError *err) HC_MUST_CHECK;
/* The same while the batch runs, if some time has passed since. */
void hc_batch_grow_collection(const HcBatch *batch, HcBatchTotals *totals);

/* Prints on standard output what is done, failed, running and left, as text or (--progress json) an object.
 * Writes nothing else. HC_E_BEFORE where scenes have failed (status.c). */
HcStatus hc_batch_status(const HcBatch *batch, HcError *err) HC_MUST_CHECK;

/* ---- the work (work.c) ---- */

/* Small scenes that a GPU has in work at once: however few processors there are, even if it cannot keep them
 * from pass to pass; and at most. */
#define HC_BATCH_AT_ONCE_MIN 4
#define HC_BATCH_AT_ONCE_MAX 16

/* Who hands out scenes, and hears what became of them. Both are called from several threads, but by one at a
 * time. */
typedef struct HcBatchWork {
    int32_t (*next)(void *user); /* the next scene that was not given out yet; -1 = none is left */
    void (*report)(const HcBatchEvent *event, void *user);
    void *user;
    HcCommon common;               /* device, threads and memory of this worker */
    int32_t shares, device_shares; /* as in HcRunSettings */
    bool wants_gpu;  /* without one it ends, and gives its scene back: on the CPU more workers fit */
    int32_t at_once; /* scenes in work at the same time, where the device has memory of its own */
    bool ahead;      /* else the next scene is opened while the present one computes */
} HcBatchWork;

/* Whether one process may have several scenes of such a chain in work at once. Its source is planned. */
bool hc_batch_may_overlap(const HcBatch *batch, const HcChain *chain);

/* Processes scenes until none is left, with one device that stays open. Fails when it was interrupted, and
 * when the device cannot be opened or failed (a fresh process may succeed). Scenes that it was given and
 * has not begun are then reported as left. */
HcStatus hc_batch_work(const HcBatch *batch, const HcBatchWork *work, HcError *err) HC_MUST_CHECK;

/* Does all scenes in --jobs processes of this host, else some for each GPU, which it starts (jobs.c). A
 * process that dies costs the scene that killed it three times, twice alone, and no other. HC_E_SCENES where
 * --max-failures ended it, HC_E_IO where a disk is full; what had begun is done then. */
HcStatus hc_batch_jobs(const HcBatch *batch, HcBatchTotals *totals, HcError *err) HC_MUST_CHECK;

/* Starts a process that dies with this one, and a pipe from it (pipe.c). In it *process is 0 and *end
 * that of the pipe to write to; here *end is the one to read from. */
HcStatus hc_batch_fork(pid_t *process, int *end, HcError *err) HC_MUST_CHECK;

/* Writes all bytes to that pipe; false where its reader is gone. */
bool hc_batch_send(int pipe, const void *data, size_t bytes);
/* Reads one event; false at the end of the pipe. */
bool hc_batch_hear(int pipe, HcBatchEvent *event);

/* All ranks: processes all scenes, and adds up the totals of all ranks (ranks.c). */
HcStatus hc_batch_run(const HcBatch *batch, HcBatchTotals *totals, HcError *err) HC_MUST_CHECK;

/* All ranks, with --pool: sums every scene, fits one model to the sums of all, and puts it into the chain of
 * the batch (pool.c). The totals are those of the sums; *left_out scenes are not in the model, since
 * they failed. */
HcStatus hc_batch_pool(HcBatch *batch, HcBatchTotals *totals, int32_t *left_out, HcError *err) HC_MUST_CHECK;

/* Finds the groups of the scenes by their headers, into batch->groups where there is more than one, and
 * prints them. Reads no pixel and writes nothing. */
HcStatus hc_batch_pool_groups(HcBatch *batch, HcError *err) HC_MUST_CHECK;
/* The group of a scene, NULL = there are no groups or it is in none (list.c). */
const HcBatchGroup *hc_batch_group_of(const HcBatch *batch, int32_t scene);
void hc_batch_clear_groups(HcBatch *batch);
/* What a scene is done with, as one line. */
const char *hc_batch_chain_text(const HcBatch *batch, int32_t scene);

/* Puts the model of --pool, or those of its groups, into the chain of the batch without making it. */
HcStatus hc_batch_pool_apply(HcBatch *batch, HcError *err) HC_MUST_CHECK;

#endif
