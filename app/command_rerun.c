/* rerun: runs again what a record is of. */
#include "app/rerun.h"
#include "app/usage/usage.h"
#include "core/version.h"
#include "io/file.h"
#include "io/gdal/errors.h"
#include "pipeline/json/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct RerunParams {
    const char *record;
    bool check, changed_inputs;
} RerunParams;

static const HcOption rerun_options[] = {
    {HC_TEXT(RerunParams, record), .file = HC_FILE_READ, .value = "RECORD", .positional = true,
     .required = true, .help = "the record of a run (OUTPUT.hcube.json)"},
    {HC_FLAG(RerunParams, check), .excludes = "overwrite",
     .help = "compare the results with the existing files, and write nothing"},
    {HC_FLAG(RerunParams, changed_inputs, "changed-inputs"),
     .help = "accept inputs that changed after the record was written"},
    {0}};

/* Options of every run that have no meaning here. One process makes again what ranks have made. */
static const char *const left_out[] = {"ranks", "record", "report", NULL};

/* Options whose default is the value in the record. */
static const char *const of_record[] = {"device", "threads",     "memory", "device-memory",
                                        "verify", "verify-seed", NULL};

static const HcOption *run_options(void) {
    static HcOption table[20];
    hc_common_options_but(left_out, table);
    for (HcOption *option = table; option->name != NULL; option++) {
        for (int n = 0; of_record[n] != NULL; n++) {
            if (strcmp(option->name, of_record[n]) == 0) {
                option->standard = NULL;
                option->otherwise = "as in the record";
            }
        }
    }
    return table;
}

void hc_describe_rerun(HcUsage *usage) {
    hc_text_add(&usage->forms, "hcube rerun RECORD [OPTION...]\n");
    hc_text_add(&usage->about, "Repeats the command of a record in its folder. Inputs must not have changed. "
                               "Existing files are replaced only with --overwrite, even if the record has "
                               "it. Exit code with --check: 0 if all bytes are the same, 1 if any differ.\n");
    hc_text_add(&usage->examples, "hcube rerun scene_mnf.tif.hcube.json --check\n"
                                  "hcube rerun scene_mnf.tif.hcube.json --check --device cpu\n");
    hc_usage_add(usage, "Options", rerun_options);
    hc_usage_add(usage, "Options of every run", run_options());
}

static HcStatus parse(RerunParams *params, HcCommon *common, int32_t word_count, const char *const *words,
                      HcError *err) {
    HcOptionSet sets[] = {{.table = rerun_options, .params = params},
                          {.table = run_options(), .params = common}};
    hc_options_reset(rerun_options, params);
    hc_options_reset(run_options(), common);
    return hc_options_parse("rerun", sets, 2, words, word_count, err);
}

/* ---- the record ---- */

/* A word of a record as it is given today. */
static const char *word_today(const char *word) {
    return strcmp(word, "--overwrite=any") == 0   ? "--overwrite"
           : strcmp(word, "--ignore-nodata") == 0 ? "--source-nodata=none"
                                                  : word;
}

/* Fills the command line of the record, whose texts it borrows; words is fresh memory. */
static HcStatus read_command(const char *path, const cJSON *record, HcCommandLine *out, char *remark,
                             HcError *err) {
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(record, "arguments");
    const cJSON *word = NULL;
    int32_t count = 0;
    HC_OR_RETURN(hc_json_check_kind(record, HC_JSON_RECORD, path, remark, err));
    *out = (HcCommandLine){.text = hc_json_text(record, "command"), .folder = hc_json_text(record, "folder")};
    if (!cJSON_IsArray(list) || out->text == NULL || out->folder == NULL) {
        return hc_fail(err, HC_E_INPUT, "%s: the record has no \"%s\": it was written by an older hcube",
                       path,
                       !cJSON_IsArray(list)  ? "arguments"
                       : out->folder == NULL ? "folder"
                                             : "command");
    }
    const char **words = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *words);
    if (words == NULL) {
        return hc_fail_memory(err, (double)cJSON_GetArraySize(list) * sizeof *words, "the command line");
    }
    out->words = words;
    cJSON_ArrayForEach(word, list) {
        if (!cJSON_IsString(word)) {
            return hc_fail(err, HC_E_INPUT, "%s: arguments[%d]: is no word", path, count);
        }
        words[count++] = word_today(word->valuestring);
    }
    out->word_count = count;
    return HC_OK;
}

/* ---- the chain ---- */

/* One option of a step as a word: --name=value, --name for a flag. */
static HcStatus add_word(HcPaths *words, const char *name, const cJSON *value, HcError *err) {
    char *word = cJSON_IsTrue(value)     ? hc_text_format("--%s", name)
                 : cJSON_IsNumber(value) ? hc_text_format("--%s=%.17g", name, value->valuedouble)
                 : cJSON_IsString(value) ? hc_text_format("--%s=%s", name, value->valuestring)
                                         : NULL;
    bool known = cJSON_IsTrue(value) || cJSON_IsNumber(value) || cJSON_IsString(value);
    HcStatus status = !known         ? hc_fail(err, HC_E_INPUT, "rerun: --%s: the record has no value", name)
                      : word == NULL ? hc_fail_memory(err, (double)strlen(name), "the chain")
                                     : hc_paths_add(words, word_today(word), err);
    free(word);
    return status;
}

static HcStatus add_option(HcPaths *words, const cJSON *option, HcError *err) {
    const cJSON *value = NULL;
    if (option->string == NULL) {
        return hc_fail(err, HC_E_INPUT, "rerun: the record has an option without a name");
    }
    if (!cJSON_IsArray(option)) {
        return add_word(words, option->string, option, err);
    }
    cJSON_ArrayForEach(value, option) {
        HC_OR_RETURN(add_word(words, option->string, value, err));
    }
    return HC_OK;
}

/* The chain of one scene of a batch, by the steps of its record: their placeholders are filled. */
static HcStatus chain_of_steps(const char *path, const cJSON *record, const HcOptionSet *set, HcChain **chain,
                               HcError *err) {
    HcStatus status = HC_OK;
    HcPaths words = {0};
    const cJSON *step = NULL;
    const cJSON *option = NULL;
    cJSON_ArrayForEach(step, cJSON_GetObjectItemCaseSensitive(record, "steps")) {
        const char *name = hc_json_text(step, "stage");
        if (name == NULL) {
            HC_TRY(hc_fail(err, HC_E_INPUT, "%s: a step has no \"stage\"", path));
        }
        HC_TRY(words.count > 0 ? hc_paths_add(&words, "!", err) : HC_OK);
        HC_TRY(hc_paths_add(&words, name, err));
        cJSON_ArrayForEach(option, cJSON_GetObjectItemCaseSensitive(step, "options")) {
            HC_TRY(add_option(&words, option, err));
        }
    }
    if (words.count == 0) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: the record has no \"steps\"", path));
    }
    HC_TRY(hc_chain_parse(chain, (const char *const *)words.path, words.count, set, err));
done:
    hc_paths_clear(&words);
    return status;
}

/* A batch may use several devices. The record names the one of this scene. */
static void set_backend(const cJSON *record, HcCommon *common) {
    const char *name = hc_json_text(cJSON_GetObjectItemCaseSensitive(record, "device"), "backend");
    common->device = name != NULL ? name : common->device;
}

static HcStatus make_chain(const char *path, const cJSON *record, const HcCommandLine *command,
                           HcCommon *common, HcChain **chain, HcError *err) {
    const char *name = command->word_count > 0 ? command->words[0] : "";
    const HcStageClass *kind = hc_stage_find(name);
    HcOptionSet set = {.table = hc_common_options, .params = common};
    hc_options_reset(hc_common_options, common);
    if (strcmp(name, "run") == 0) {
        return hc_read_chain("rerun", command->word_count - 1, command->words + 1, common, NULL, chain, err);
    }
    if (kind != NULL) {
        HC_OR_RETURN(hc_chain_for_stage(chain, kind, command->words + 1, command->word_count - 1, &set, err));
        return hc_add_report(*chain, common, err);
    }
    if (strcmp(name, "batch") == 0) {
        set_backend(record, common);
        return chain_of_steps(path, record, &set, chain, err);
    }
    return hc_fail(err, HC_E_UNSUPPORTED,
                   "%s: is of hcube %s: records of run, of stages and of batch can be run again", path, name);
}

/* ---- the command ---- */

/* What this command line says counts before what the record says. */
static void set_common(const RerunParams *params, const HcCommon *own, HcCommon *common) {
    common->device = own->device != NULL ? own->device : common->device;
    common->threads = own->threads > 0 ? own->threads : common->threads;
    common->memory = own->memory > 0 ? own->memory : common->memory;
    common->device_memory = own->device_memory > 0 ? own->device_memory : common->device_memory;
    common->verify = own->verify > 0 ? own->verify : common->verify;
    common->verify_seed = own->verify_seed > 0 ? own->verify_seed : common->verify_seed;
    common->scratch = own->scratch; /* a folder of this host */
    common->scratch_space = own->scratch_space;
    common->quiet = own->quiet;
    common->progress = own->progress;
    /* --check keeps nothing: what is there is in nobody's way. */
    common->overwrite = params->check || own->overwrite;
}

static void report_version(const char *path, const cJSON *record, const char *remark) {
    const char *version = hc_json_text(record, "version");
    if (*remark != '\0') {
        hc_say("note: %s: %s", path, remark);
    }
    if (version == NULL || strcmp(version, hc_version()) != 0) {
        hc_say("note: the record is of hcube %s, this is %s", version != NULL ? version : "?", hc_version());
    }
}

static HcStatus enter(const char *path, const char *folder, HcError *err) {
    if (chdir(folder) != 0) {
        return hc_fail(err, hc_errno_status(errno, HC_E_INPUT), "%s: the folder of the record, %s: %s", path,
                       folder, strerror(errno));
    }
    return HC_OK;
}

static HcStatus report(const HcRerun *rerun, bool quiet, HcError *err) {
    if (rerun->device.failed) {
        return hc_fail_memory(err, (double)rerun->device.length, "a note");
    }
    hc_say_note(quiet, rerun->device.data);
    for (int32_t n = 0; !quiet && n < rerun->lines.count; n++) {
        hc_show("%s", rerun->lines.path[n]);
    }
    if (!quiet && rerun->check) {
        hc_show("%d file%s the same, %d not", rerun->same, rerun->same == 1 ? "" : "s", rerun->differing);
    }
    return rerun->differing > 0 ? HC_E_DIFFERS : HC_OK;
}

/* `record` has been read from `path`, absolute. */
static HcStatus run_again(const RerunParams *params, const HcCommon *own, const char *path,
                          const cJSON *record, HcError *err) {
    HcStatus status = HC_OK;
    char remark[HC_JSON_REMARK];
    HcCommandLine command = {0};
    HcCommon common = {0};
    HcChain *chain = NULL;
    HcRerun rerun = {
        .path = path, .record = record, .check = params->check, .changed_inputs = params->changed_inputs};
    HcRunExtra extra = {.command = &command,
                        .trial = params->check,
                        .no_files = !cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(record, "inputs")),
                        .planned = hc_rerun_planned,
                        .describe = hc_rerun_describe,
                        .inspect = params->check ? hc_rerun_inspect : NULL,
                        .user = &rerun};
    HC_TRY(read_command(params->record, record, &command, remark, err));
    HC_TRY(enter(params->record, command.folder, err));
    HC_TRY(make_chain(params->record, record, &command, &common, &chain, err));
    set_common(params, own, &common);
    chain->steps_keep = true;
    rerun.written_to = common.record;
    if (!common.quiet) {
        report_version(params->record, record, remark);
    }
    HcChain *given = chain;
    chain = NULL;
    HC_TRY(hc_run_by_options(given, &common, &extra, err));
    HC_TRY(report(&rerun, common.quiet, err));
done:
    hc_chain_free(chain);
    hc_paths_clear(&rerun.lines);
    hc_text_clear(&rerun.device);
    free((void *)command.words);
    return status;
}

HcStatus hc_command_rerun(int32_t word_count, const char *const *words, HcError *err) {
    HcStatus status = HC_OK;
    RerunParams params = {0};
    HcCommon own = {0};
    cJSON *record = NULL;
    char *path = NULL;
    HC_TRY(parse(&params, &own, word_count, words, err));
    HC_TRY(hc_use_scratch(&own, err)); /* before the folder changes */
    HC_TRY(hc_read_record(params.record, &record, err));
    path = realpath(params.record, NULL); /* the folder changes */
    if (path == NULL) {
        HC_TRY(hc_fail(err, hc_errno_status(errno, HC_E_IO), "%s: %s", params.record, strerror(errno)));
    }
    HC_TRY(run_again(&params, &own, path, record, err));
done:
    free(path);
    cJSON_Delete(record);
    return status;
}
