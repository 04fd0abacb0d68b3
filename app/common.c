/* What commands share: the options of every run, the command line as the record keeps it, chains from
 * words or files, and the ranks of the program. One table serves all commands, so that an option has the
 * same words everywhere. */
#include "app/app.h"
#include "io/file.h"
#include "io/scratch.h"
#include "pipeline/report/report.h"
#include "pipeline/run/verify.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const HcOption hc_common_options[] = {
    {HC_TEXT(HcCommon, device), .value = "auto|cpu|gpu|gpu:N", .standard = "auto",
     .help = "device for computing (see: hcube devices)"},
    {HC_INT(HcCommon, threads), .range = {1, 4096}, .otherwise = "one for each processor", .value = "COUNT",
     .help = "number of threads for computing"},
    {HC_INT(HcCommon, ranks), .range = {1, HC_RANKS_MAX}, .otherwise = "1", .value = "COUNT",
     .help = "number of processes on this host that share the lines of the scene, each with its own GPU"},
    {HC_SIZE(HcCommon, memory), .otherwise = "3/4 of what is free", .value = "SIZE",
     .help = "maximum memory, like 400M or 4G, including the 80 MiB of the program itself"},
    {HC_SIZE(HcCommon, device_memory, "device-memory"), .otherwise = "9/10 of what is free", .value = "SIZE",
     .help = "maximum memory of a GPU"},
    {HC_FLAG(HcCommon, overwrite), .help = "replace existing outputs"},
    {HC_FLAG(HcCommon, quiet), .letter = 'q', .help = "print only errors"},
    {HC_CHOICE(HcCommon, progress), .choices = hc_progress_words, .standard = "auto",
     .help = "progress on standard error; auto shows a bar on terminals only"},
    {HC_TEXT(HcCommon, record), .file = HC_FILE_WRITTEN, .value = "FILE|none",
     .otherwise = "OUTPUT.hcube.json beside each output",
     .help = "write one record of all outputs to this file, or no record (none)"},
    {HC_TEXT(HcCommon, report), .file = HC_FILE_WRITTEN, .value = "FILE.html", .yields = true,
     .help = "write a page with pictures and tables of the run and its results"},
    {HC_INT(HcCommon, verify), .range = {1, HC_VERIFY_TILES_MAX}, .value = "COUNT", .yields = true,
     .otherwise = "no verification",
     .help = "recompute COUNT random tiles of 16 lines on the CPU by the simplest method, and compare them "
             "with the file before it gets its name"},
    {HC_INT(HcCommon, verify_seed, "verify-seed"), .range = {1, 9007199254740992}, .value = "SEED",
     .yields = true, .otherwise = "derived from the steps of the chain",
     .help = "seed that places the tiles of --verify COUNT"},
    {HC_TEXT(HcCommon, scratch), .value = "FOLDER", .otherwise = "that of TMPDIR, else /var/tmp",
     .help = "folder of scratch files, and of outputs for a server until they are sent"},
    {HC_SIZE(HcCommon, scratch_space, "scratch-space"), .value = "SIZE", .otherwise = "all that is free",
     .help = "maximum space of scratch files and of rasters for a server"},
    {0}};

size_t hc_common_options_but(const char *const *left_out, HcOption *options) {
    size_t count = 0;
    HC_EACH_OPTION(option, hc_common_options) {
        const char *const *out = left_out;
        while (*out != NULL && strcmp(*out, option->name) != 0) {
            out++;
        }
        if (*out == NULL) {
            options[count++] = *option;
        }
    }
    return count;
}

const HcOption *hc_plain_options(void) {
    static const char *const left_out[] = {"device",   "threads",       "ranks",  "memory", "device-memory",
                                           "progress", "record",        "report", "verify", "verify-seed",
                                           "scratch",  "scratch-space", NULL};
    static HcOption table[20];
    hc_common_options_but(left_out, table);
    return table;
}

HcStatus hc_command_part(const char *who, const char *what, const HcCommand *const *parts, int32_t word_count,
                         const char *const *words, HcError *err) {
    const char *names[16] = {NULL};
    if (word_count == 0) {
        return hc_fail(err, HC_E_USAGE, "%s: no %s given (hcube %s --help lists them)", who, what, who);
    }
    for (int p = 0; parts[p] != NULL; p++) {
        if (strcmp(words[0], parts[p]->name) == 0) {
            return parts[p]->body(word_count - 1, words + 1, err);
        }
        names[p] = parts[p]->name;
    }
    const char *nearest = hc_text_nearest(words[0], names);
    return nearest != NULL ? hc_fail(err, HC_E_USAGE, "%s: %s: unknown %s, did you mean %s?", who, words[0],
                                     what, nearest)
                           : hc_fail(err, HC_E_USAGE, "%s: %s: unknown %s (hcube %s --help lists them)", who,
                                     words[0], what, who);
}

static HcCommandLine command_line;
static HcRanks *app_ranks;

HcRanks *hc_app_ranks(void) {
    return app_ranks;
}

static pid_t running; /* 0 = it is about to end by itself */

void hc_process_begins(void) {
    running = getpid();
}

void hc_process_ends(void) {
    running = 0;
}

bool hc_process_runs(void) {
    return running == getpid();
}

void hc_set_app_ranks(HcRanks *ranks) {
    app_ranks = ranks;
}

/* The words as one line; fresh memory, NULL when there is none left. */
static char *print_words(const char *const *words, int32_t count) {
    HcText text = {0};
    hc_text_add(&text, "hcube");
    for (int32_t w = 0; w < count; w++) {
        hc_text_add(&text, " ");
        hc_word_print(words[w], &text);
    }
    return hc_text_take(&text);
}

void hc_set_command_line(int argc, char **argv) {
    int32_t count = argc > 0 ? argc - 1 : 0;
    /* The folder is asked for now: nothing may change it before the record is written. */
    command_line = (HcCommandLine){.text = print_words((const char *const *)argv + 1, count),
                                   .words = (const char *const *)argv + 1,
                                   .word_count = count,
                                   .folder = getcwd(NULL, 0)};
    if (command_line.folder == NULL && errno == ENOMEM) {
        free((char *)command_line.text); /* a record that lacks the folder must not pass for a whole one */
        command_line.text = NULL;
    }
}

HcStatus hc_command_line_hide(const char *word, const char *shown, HcError *err) {
    size_t count = (size_t)command_line.word_count;
    const char **words = malloc((count + 1) * sizeof *words);
    for (size_t w = 0; w < count && words != NULL; w++) {
        const char *old = command_line.words[w];
        bool ends = hc_text_ends_with(old, word);
        words[w] = ends ? hc_text_format("%.*s%s", (int)(strlen(old) - strlen(word)), old, shown) : old;
        count = words[w] != NULL ? count : 0;
    }
    char *text = words != NULL && count > 0 ? print_words(words, (int32_t)count) : NULL;
    if (text == NULL) {
        free(words);
        return hc_fail_memory(err, (double)strlen(word), "the command line");
    }
    free((char *)command_line.text);
    command_line.words = words; /* until the end of the program */
    command_line.text = text;
    return HC_OK;
}

const HcCommandLine *hc_command_line(void) {
    return &command_line;
}

/* Options of run and plan that stand before the first step. */
typedef struct Leading {
    HcOptionList set;
} Leading;

const HcOption hc_leading_options[] = {
    {HC_LIST(Leading, set), .value = "NAME=VALUE", .help = "fill {NAME} in a chain file or quoted chain"},
    {0}};

HcStatus hc_read_chain_text(const char *word, char **text, const char **where, HcError *err) {
    size_t bytes = 0;
    bool looks_like_file =
        hc_text_ends_with(word, ".hcube") || (strpbrk(word, " !") == NULL && hc_file_may_be_there(word));
    if (looks_like_file) {
        HC_OR_RETURN(hc_file_read(word, 1 << 20, text, &bytes, err));
        *where = word;
    } else {
        *where = "the chain";
        *text = strdup(word);
        HC_OR_RETURN(hc_text_made(*text, strlen(word), "the chain", err));
    }
    return HC_OK;
}

bool hc_is_chain_text(int32_t word_count, const char *const *words) {
    bool alone = hc_stage_find(words[0]) == NULL && strcmp(words[0], "!") != 0 &&
                 (word_count == 1 || words[1][0] == '-');
    return alone && (strpbrk(words[0], " !") != NULL || hc_text_ends_with(words[0], ".hcube") ||
                     hc_file_may_be_there(words[0]));
}

/* STAGE SCENE OUTPUT, as after hcube. */
static bool is_short_form(int32_t word_count, const char *const *words) {
    const HcStageClass *kind = hc_stage_find(words[0]);
    bool steps = false;
    for (int32_t w = 0; w < word_count; w++) {
        steps = steps || strcmp(words[w], "!") == 0;
    }
    return kind != NULL && kind->role != HC_ROLE_SOURCE && !steps;
}

/* 0, or the errno that says why no file can be made there. */
static int look_at_folder(const char *folder) {
    struct stat info;
    if (stat(folder, &info) != 0) {
        return errno;
    }
    return !S_ISDIR(info.st_mode) ? ENOTDIR : access(folder, W_OK | X_OK) != 0 ? errno : 0;
}

HcStatus hc_use_scratch(const HcCommon *common, HcError *err) {
    char *folder = common->scratch != NULL ? realpath(common->scratch, NULL) : NULL;
    int number = common->scratch == NULL ? 0 : folder == NULL ? errno : look_at_folder(folder);
    if (number != 0) {
        free(folder);
        return hc_fail(err, HC_E_USAGE, "--scratch %s: %s", common->scratch, strerror(number));
    }
    bool used = hc_scratch_use(folder, (double)common->scratch_space / hc_ranks_local_count(app_ranks));
    free(folder);
    return used ? HC_OK : hc_fail_memory(err, 0, "the folder of scratch files");
}

HcStatus hc_add_report(HcChain *chain, const HcCommon *common, HcError *err) {
    if (common->report == NULL) {
        return HC_OK;
    }
    if (!hc_text_ends_with(common->report, ".html")) {
        return hc_fail(err, HC_E_USAGE, "--report %s: the name of a report must end in .html",
                       common->report);
    }
    return hc_report_add(chain, common->report, err);
}

HcStatus hc_read_chain(const char *who, int32_t word_count, const char *const *words, HcCommon *common,
                       const HcOptionSet *own, HcChain **chain, HcError *err) {
    HcStatus status = HC_OK;
    Leading leading;
    char *text = NULL;
    char *filled = NULL;
    char **split = NULL;
    int32_t *lines = NULL;
    int32_t split_count = 0;
    hc_options_reset(hc_common_options, common);
    hc_options_reset(hc_leading_options, &leading);
    HcOptionSet sets[3] = {{.table = hc_common_options, .params = common},
                           {.table = hc_leading_options, .params = &leading}};
    int32_t set_count = 2;
    if (own != NULL) {
        sets[set_count++] = *own;
    }
    int32_t first = hc_options_leading(sets, set_count, words, word_count);
    HC_TRY(hc_options_parse(who, sets, set_count, words, first, err));
    words += first;
    word_count -= first;
    bool in_one_word = word_count > 0 && hc_is_chain_text(word_count, words);
    if (word_count > 0 && !in_one_word && leading.set.count > 0) {
        HC_TRY(hc_fail(err, HC_E_USAGE, "%s: --set %s: fills a chain file or a quoted chain only", who,
                       leading.set.item[0]));
    }
    if (word_count > 0 && is_short_form(word_count, words)) {
        HC_TRY(hc_chain_for_stage(chain, hc_stage_find(words[0]), words + 1, word_count - 1, &sets[0], err));
        goto done;
    }
    if (word_count == 0) {
        HC_TRY(hc_fail(err, HC_E_USAGE, "%s: no chain given (hcube %s read SCENE ! ... ! write OUTPUT)", who,
                       who));
    }
    /* A file or a quoted chain may be followed by options, as steps may. */
    if (in_one_word) {
        const char *where = NULL;
        HC_TRY(hc_options_parse(who, sets, set_count, words + 1, word_count - 1, err));
        HC_TRY(hc_read_chain_text(words[0], &text, &where, err));
        HC_TRY(hc_words_fill(text, where, &leading.set, &filled, err));
        HC_TRY(hc_words_split(filled, where, &split, &lines, &split_count, err));
        bool is_file = where == words[0];
        HC_TRY(hc_chain_parse_file(chain, is_file ? where : NULL, lines, (const char *const *)split,
                                   split_count, &sets[0], err));
        if (is_file) {
            HC_TRY(hc_paths_add(&(*chain)->inputs, where, err));
        }
    } else {
        HC_TRY(hc_chain_parse(chain, words, word_count, &sets[0], err));
    }
done:
    if (status == HC_OK) {
        (*chain)->overwrite = common->overwrite;
        (*chain)->asks = (*chain)->single = true;
        status = hc_add_report(*chain, common, err);
    }
    if (status != HC_OK) {
        hc_chain_free(*chain);
        *chain = NULL;
    }
    hc_free_texts(split, split_count);
    free(lines);
    free(text);
    free(filled);
    return status;
}

HcStatus hc_read_record(const char *path, cJSON **json, HcError *err) {
    HcError problem = {0};
    if (hc_json_read(path, json, &problem) == HC_OK) {
        return HC_OK;
    }
    char *record = hc_text_format("%s.hcube.json", path);
    HcStatus status = HC_OK;
    if (record == NULL) {
        status = hc_fail_memory(err, (double)strlen(path), "a path");
    } else if (problem.status == HC_E_INPUT && access(path, F_OK) == 0 && access(record, F_OK) == 0) {
        status = hc_fail(err, HC_E_INPUT, "%s: not a record; that of this output is %s", path, record);
    } else {
        status = hc_fail(err, problem.status, "%s", problem.text);
    }
    free(record);
    return status;
}
