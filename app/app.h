/* App: what the commands share. Only this room prints. */
#ifndef HC_APP_APP_H
#define HC_APP_APP_H

#include "core/system/flag.h"
#include "core/module/module.h"
#include "pipeline/json/json.h"
#include "pipeline/run/run.h"

#include <pthread.h>

/* Options of every command that runs a chain. */
typedef struct HcCommon {
    const char *device;
    int64_t threads, ranks; /* 0 = not given */
    uint64_t memory, device_memory;
    bool quiet;
    bool overwrite;
    int32_t progress;
    const char *record, *report;
    int64_t verify, verify_seed; /* tiles; 0 = none, and by the chain */
    const char *scratch;         /* NULL, 0: not given */
    uint64_t scratch_space;
} HcCommon;

extern const HcOption hc_common_options[];
extern const HcOption hc_plan_options[];    /* those of plan alone */
extern const HcOption hc_leading_options[]; /* those of run and plan before the first step */

/* Copies those that are not left out (a list of names that ends with NULL); returns how many. */
size_t hc_common_options_but(const char *const *left_out, HcOption *options);

/* Makes scratch files of this process and of its children lie where --scratch says, within --scratch-space;
 * ranks of one host share that. Before the chain is planned. */
HcStatus hc_use_scratch(const HcCommon *common, HcError *err) HC_MUST_CHECK;

/* --overwrite and --quiet alone, for commands that compute nothing. */
const HcOption *hc_plain_options(void);

/* The processes that share the command, NULL where this one has it alone. */
HcRanks *hc_app_ranks(void);
void hc_set_app_ranks(HcRanks *ranks);

/* A command: words are those after its name. Returns the exit status; a failure is in err. */
typedef HcStatus (*HcCommandBody)(int32_t word_count, const char *const *words, HcError *err);

typedef struct HcUsage HcUsage; /* app/usage/usage.h */

typedef struct HcCommand HcCommand;
struct HcCommand {
    const char *name;
    HcCommandBody body; /* NULL: a heading of the help */
    const char *usage, *summary;
    void (*describe)(HcUsage *usage); /* adds what the help says beyond that; NULL: nothing */
    const HcCommand *const *parts;    /* commands after its name (solve lp), NULL-terminated; NULL: none */
    bool takes_chain;                 /* its words are steps */
};

extern const HcCommand hc_commands[]; /* ended by a NULL name */
/* NULL: there is none. */
const HcCommand *hc_command_find(const char *name);
/* Whether the words of a whole command line, which begin with `inner` (may be NULL), may stand after
 * `command`: `plan run`, `plan batch`, `batch run`. */
bool hc_command_holds(const HcCommand *command, const HcCommand *inner);

HcStatus hc_command_run(int32_t word_count, const char *const *words, HcError *err);
HcStatus hc_command_batch(int32_t word_count, const char *const *words, HcError *err);
HcStatus hc_command_plan(int32_t word_count, const char *const *words, HcError *err);
HcStatus hc_command_solve(int32_t word_count, const char *const *words, HcError *err);
HcStatus hc_command_library(int32_t word_count, const char *const *words, HcError *err);
HcStatus hc_command_compare(int32_t word_count, const char *const *words, HcError *err);
/* HC_E_DIFFERS, without a message, where there is a difference. */
HcStatus hc_command_diff(int32_t word_count, const char *const *words, HcError *err);
/* HC_E_DIFFERS likewise, where --check finds one. */
HcStatus hc_command_rerun(int32_t word_count, const char *const *words, HcError *err);
HcStatus hc_command_info(int32_t word_count, const char *const *words, HcError *err);
/* Prints the same for a spectral library; `all` lists every name and band. */
HcStatus hc_info_library(const char *path, const char *spectra, bool json, bool all,
                         HcError *err) HC_MUST_CHECK;
/* The smallest and the largest of values [count], count > 0; returns whether they rise. */
bool hc_info_range(const double *value, int32_t count, double *low, double *high);
/* The list of the bad bands, where there is one. */
void hc_info_put_bad_bands(const uint8_t *bad, int32_t bands, HcJson *to);
/* A band's value for a table, "-" where there are none (NULL). */
void hc_info_number(const double *value, int32_t band, char *out, size_t size);
HcStatus hc_command_view(int32_t word_count, const char *const *words, HcError *err);
HcStatus hc_command_products(int32_t word_count, const char *const *words, HcError *err);
HcStatus hc_command_stages(int32_t word_count, const char *const *words, HcError *err);
HcStatus hc_command_devices(int32_t word_count, const char *const *words, HcError *err);
HcStatus hc_command_bench(int32_t word_count, const char *const *words, HcError *err);
HcStatus hc_command_version(int32_t word_count, const char *const *words, HcError *err);
HcStatus hc_command_man(int32_t word_count, const char *const *words, HcError *err);
HcStatus hc_command_completion(int32_t word_count, const char *const *words, HcError *err);
HcStatus hc_command_complete(int32_t word_count, const char *const *words, HcError *err);

/* Describe those with options or forms of their own (HcCommand.describe). */
void hc_describe_run(HcUsage *usage);
void hc_describe_products(HcUsage *usage);
void hc_describe_batch(HcUsage *usage);
void hc_describe_plan(HcUsage *usage);
void hc_describe_compare(HcUsage *usage);
void hc_describe_diff(HcUsage *usage);
void hc_describe_rerun(HcUsage *usage);
void hc_describe_info(HcUsage *usage);
void hc_describe_view(HcUsage *usage);
void hc_describe_bench(HcUsage *usage);
void hc_describe_completion(HcUsage *usage);
void hc_describe_man(HcUsage *usage);

/* Problems of `hcube solve`, and commands of `hcube library`. */
extern const HcCommand *const hc_solve_problems[], *const hc_library_commands[];
/* Runs the part of `who` that the first word names; `what` says what parts are ("problem"). */
HcStatus hc_command_part(const char *who, const char *what, const HcCommand *const *parts, int32_t word_count,
                         const char *const *words, HcError *err) HC_MUST_CHECK;
/* A stage as a command: read ! STAGE ! write. */
HcStatus hc_command_stage(const HcStageClass *kind, int32_t word_count, const char *const *words,
                          HcError *err);

/* A stage as a command with a spectral library in the place of the scene (command_library.c). The first says
 * whether the words begin with one; the second runs it and prints the result. */
HcStatus hc_library_leads(const HcStageClass *kind, int32_t word_count, const char *const *words, bool *leads,
                          HcError *err) HC_MUST_CHECK;
HcStatus hc_command_of_library(const HcStageClass *kind, int32_t word_count, const char *const *words,
                               HcError *err) HC_MUST_CHECK;

/* The chain of the words of run or plan: steps, one quoted text, or a file. own: options of that command
 * alone, or NULL. */
HcStatus hc_read_chain(const char *who, int32_t word_count, const char *const *words, HcCommon *common,
                       const HcOptionSet *own, HcChain **chain, HcError *err) HC_MUST_CHECK;

/* What rerun adds to a run. All is called with `user`. */
typedef struct HcRunExtra {
    const HcCommandLine *command; /* for the records */
    bool trial;                   /* as in HcRunSettings, like `describe`, `inspect` and `no_files` */
    bool no_files;
    HcStatus (*planned)(HcChain *chain, void *user, HcError *err); /* before anything is computed */
    HcStatus (*describe)(HcJson *record, void *user, HcError *err);
    HcStatus (*inspect)(void *user, HcError *err);
    void *user;
} HcRunExtra;

/* Runs a parsed chain by the common options: device, progress, notes, summary. Frees the chain. extra: NULL =
 * nothing. */
HcStatus hc_run_by_options(HcChain *chain, const HcCommon *common, const HcRunExtra *extra,
                           HcError *err) HC_MUST_CHECK;

/* Whether a member of a record differs from run to run though the results are the same (command_diff.c). */
bool hc_diff_is_of_the_run(const char *name);

/* Makes the run of a parsed chain write --report, if that was given. */
HcStatus hc_add_report(HcChain *chain, const HcCommon *common, HcError *err) HC_MUST_CHECK;

/* Whether the words begin with a chain in one word, quoted or as the name of a file, and its text (fresh
 * memory); `where` names it in messages. */
bool hc_is_chain_text(int32_t word_count, const char *const *words);
HcStatus hc_read_chain_text(const char *word, char **text, const char **where, HcError *err) HC_MUST_CHECK;

/* Between these a call of exit() is not the program's but that of a library, and becomes exit code 5 with a
 * line (main.c). A process that is forked begins anew. */
void hc_process_begins(void);
void hc_process_ends(void);
bool hc_process_runs(void);

/* Prints a message as one line on standard error, with control characters (of file names) as \\x1b. Every
 * message that can hold a name goes through here. */
void hc_say(const char *format, ...) HC_PRINTF(1, 2);
/* A remark by hc_say, unless it is quiet, or there is none. */
void hc_say_note(bool quiet, const char *note);
/* Prints a line of a result to standard output. */
void hc_show(const char *format, ...) HC_PRINTF(1, 2);
/* Prints an object on one line of standard error, valid whatever bytes names hold, and clears it. One for
 * which there is no memory is left out. */
void hc_say_json(HcJson *json);
/* "850 ms", "12.3 s", "41 min", "5.2 h" into `out`, which is returned. */
const char *hc_duration_text(char *out, size_t size, double seconds);
/* Prints an object on standard output, and clears it. Prints nothing where it is not whole. */
HcStatus hc_print_json(HcJson *json, HcError *err) HC_MUST_CHECK;

/* From now on Ctrl-C and its like set this flag, and only the second one ends the program at once. */
const HcFlag *hc_catch_signals(void);
/* From now on a crash (SIGSEGV, SIGABRT and their like) leaves no temporary file. */
void hc_catch_crashes(void);
/* From the next hc_catch_signals on the flag is one of this process and of all that it forks. */
HcStatus hc_share_signals(HcError *err) HC_MUST_CHECK;

/* The command line as it was typed, for records; its text is NULL where memory lacked. argv stays with the
 * caller, up to the end of the program. */
void hc_set_command_line(int argc, char **argv);
const HcCommandLine *hc_command_line(void);
/* From now on another text stands in the place of a word, or of an option's value: what no record may keep.
 */
HcStatus hc_command_line_hide(const char *word, const char *shown, HcError *err) HC_MUST_CHECK;

/* Opens the backend that --device names (auto, cpu, gpu, gpu:N); closed by its own close. `reason` is filled
 * with why auto did not take a GPU, or is empty. */
HcStatus hc_backend_open(const HcCommon *common, HcCompute **out, char *reason, size_t reason_size,
                         HcError *err) HC_MUST_CHECK;

/* For HcVerify.open: the CPU in its plain way, with exact sums in float64. user is an HcCommon. */
HcStatus hc_backend_open_plain(const void *user, HcCompute **out, HcError *err) HC_MUST_CHECK;

/* Opens a device in two steps. Starting a GPU takes a third of a second; meanwhile the chain can be planned.
 */
typedef struct HcOpening {
    const char *device; /* borrowed: as it was asked for */
    HcComputeConfig config;
    bool automatic, numbered, tried, running; /* numbered: gpu:N */
    int32_t local_number;                     /* of this rank on its host: GPUs are taken in turn */
    int32_t gpus;                             /* of this host; at most 0 = only CUDA can tell */
    int32_t shares;                           /* ranks that compute on the device */
    int32_t alone; /* the GPU that CUDA_VISIBLE_DEVICES leaves, as it is numbered without that; -1 = all */
    pthread_t thread;
    HcCompute *gpu;
    HcError error; /* why there is no gpu */
} HcOpening;

HcStatus hc_backend_begin(const HcCommon *common, HcOpening *opening, HcError *err) HC_MUST_CHECK;
/* Must follow every begin that succeeded. */
HcStatus hc_backend_end(HcOpening *opening, HcCompute **out, char *reason, size_t reason_size,
                        HcError *err) HC_MUST_CHECK;

/* --threads, or the processors that this process may use. Ranks of one host share them. */
int32_t hc_backend_threads(const HcCommon *common);

/* The GPUs that `--device gpu:N` can name, without starting CUDA; fills at most `capacity`. -1 = only CUDA
 * can tell, or there is no module (gpus.c). */
int32_t hc_gpus_list(HcAddress *out, int32_t capacity);
/* Makes one of several GPUs the only one that this process sees: CUDA starts more slowly with each visible
 * one. Called before CUDA starts, and while no other thread of the process reads the environment. False where
 * all stay visible. */
bool hc_gpus_see_only(int32_t number);
/* Keeps this process and the threads that it will start to the processors beside a GPU, where those beside
 * all `count` GPUs are all that the process may use. */
void hc_gpus_sit_near(const HcAddress *list, int32_t count, int32_t number);

/* hc_json_read of a record that a command is given; where it is given an output, the failure names the record
 * beside it. */
HcStatus hc_read_record(const char *path, cJSON **json, HcError *err) HC_MUST_CHECK;

/* The GPU module, where there is a device as well; fails with HC_E_DEVICE and the reason. */
HcStatus hc_load_module(const HcModule **module, HcError *err) HC_MUST_CHECK;

/* Progress on standard error; user is an HcProgressShow. */
typedef struct HcProgressShow {
    int32_t style; /* as in hc_progress_words */
    double last;   /* time of the last output [s] */
    int32_t last_tenth, last_pass;
    bool line_open;
} HcProgressShow;

extern const char *const hc_progress_words[]; /* auto, bar, plain, json, none */
void hc_progress_start(HcProgressShow *show, int32_t style, bool quiet);
void hc_progress_report(const HcProgress *progress, void *user);
void hc_progress_end(HcProgressShow *show);
/* With --progress json: the last event of a run, with its outputs and their records. record: as in
 * HcRunSettings. */
void hc_progress_outputs(const HcProgressShow *show, const HcChain *chain, const HcRunReport *report,
                         const char *record);

#endif
