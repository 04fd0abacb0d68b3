/* What the problems of `hcube solve` share: options, report and record. */
#include "app/solve/solve.h"
#include "core/system/clock.h"
#include "io/file.h"
#include "pipeline/json/json.h"
#include "pipeline/run/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const HcOption record_option = {
    HC_TEXT(HcCommon, record), .file = HC_FILE_WRITTEN, .value = "FILE|none",
    .otherwise = "OUTPUT.hcube.json beside the output", .help = "write the record to this file, or none"};

const HcOption *hc_solve_options(void) {
    static const char *const left_out[] = {"ranks",  "memory",      "progress", "record",        "report",
                                           "verify", "verify-seed", "scratch",  "scratch-space", NULL};
    static HcOption all[20];
    size_t count = hc_common_options_but(left_out, all);
    all[count] = record_option;
    all[count + 1] = (HcOption){0};
    return all;
}

void hc_solve_describe(HcUsage *usage, const HcOption *table) {
    hc_usage_add(usage, "Options", table);
    hc_usage_add(usage, "Options of every problem", hc_solve_options());
}

void hc_solve_report(const HcCommon *common, const char *what, const char *format, ...) {
    va_list arguments;
    if (common->quiet) {
        return;
    }
    printf("%-12s ", what);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}

static HcStatus open_backend(HcSolve *run, HcError *err) {
    char reason[256] = ""; /* why there is no GPU */
    HC_OR_RETURN(hc_backend_open(&run->common, &run->compute, reason, sizeof reason, err));
    HC_OR_RETURN(hc_queue_open(run->compute, &run->queue, err));
    if (!run->common.quiet && *reason != '\0') {
        hc_say("note: computing on the CPU (%s)", reason);
    }
    return HC_OK;
}

HcStatus hc_solve_run(HcProblem *problem, HcSolve *run, const HcSolveSteps *steps, int32_t word_count,
                      const char *const *words, HcError *err) {
    HcStatus status = HC_OK;
    char title[16];
    const HcOptionSet sets[] = {run->options, {.table = hc_solve_options(), .params = &run->common}};
    run->started = hc_now();
    snprintf(title, sizeof title, "solve %s", run->command->name);
    for (int s = 0; s < 2; s++) {
        hc_options_reset(sets[s].table, sets[s].params);
    }
    HC_TRY(hc_options_parse(title, sets, 2, words, word_count, err));
    HC_TRY(steps->open(problem, err));
    HC_TRY(open_backend(run, err));
    HC_TRY(steps->solve(problem, err));
    HC_TRY(hc_file_begin((const char *const *)run->use.reads.path, run->use.reads.count, err));
    HC_TRY(steps->give(problem, err));
done:
    hc_file_rollback();
    steps->close(problem);
    hc_file_use_clear(&run->use);
    if (run->compute != NULL) {
        hc_queue_close(run->queue);
        hc_compute_close(run->compute);
    }
    return status;
}

static bool wants_record(const HcCommon *common, const char *output) {
    return common->record != NULL ? strcmp(common->record, "none") != 0 : output != NULL;
}

/* Where the record goes; fresh memory. */
static char *record_path(const HcCommon *common, const char *output) {
    return common->record != NULL ? strdup(common->record) : hc_text_format("%s.hcube.json", output);
}

/* A record of hcube may be replaced together with its output. */
static HcStatus may_replace_record(const HcCommon *common, const char *path, bool *may, HcError *err) {
    *may = common->overwrite;
    return *may || common->record != NULL ? HC_OK : hc_chain_is_record(path, may, err);
}

static HcStatus add_read(const char *path, void *user, HcError *err) {
    return hc_file_use_read(user, path, err);
}

static HcStatus add_written(const char *path, void *user, HcError *err) {
    hc_file_remove_dead(path);
    return hc_file_use_write(user, "solve", path, err);
}

HcStatus hc_solve_check_files(HcSolve *run, const char *output, HcError *err) {
    HcStatus status = HC_OK;
    const HcCommon *common = &run->common;
    HcError taken = {0};
    bool replaces = false;
    char *path = NULL;
    HC_TRY(hc_options_files(&run->options, HC_FILE_READ, add_read, &run->use, err));
    HC_TRY(hc_options_files(&run->options, HC_FILE_WRITTEN, add_written, &run->use, err));
    if (wants_record(common, output)) {
        path = record_path(common, output);
        HC_TRY(hc_text_made(path, 0, "the record", err));
        HC_TRY(may_replace_record(common, path, &replaces, err));
        HC_TRY(hc_file_check(path, replaces, err));
        if (hc_file_use_write(&run->use, "solve", path, &taken) == HC_E_USAGE) {
            HC_TRY(hc_fail(err, HC_E_USAGE, "%s: is the place of the record, and used for something else",
                           path));
        }
        HC_TRY(taken.status != HC_OK ? hc_fail(err, taken.status, "%s", taken.text) : HC_OK);
    }
done:
    free(path);
    return status;
}

static void make_record(const HcSolve *run, HcJson *result, const char *note, HcJson *record) {
    hc_json_begin(record);
    hc_record_put_head(record, run->compute, hc_command_line());
    hc_json_put_text(record, "problem", run->command->name);
    hc_json_open_object(record, "seconds");
    hc_json_put_number(record, "all", hc_now() - run->started);
    hc_json_put_number(record, "reading", run->reading);
    hc_json_put_number(record, "solving", run->solving);
    hc_json_close(record);
    hc_json_put_texts(record, "notes", &note, note != NULL && *note != '\0');
    hc_json_put_part(record, "result", result);
}

HcStatus hc_solve_write_record(HcSolve *run, const char *output, HcJson *result, const char *note,
                               HcError *err) {
    HcStatus status = HC_OK;
    const HcCommon *common = &run->common;
    bool replaces = false;
    char *path = NULL;
    HcJson record;
    make_record(run, result, note, &record);
    if (!wants_record(common, output)) {
        goto done;
    }
    path = record_path(common, output);
    HC_TRY(hc_text_made(path, 0, "the record", err));
    HC_TRY(may_replace_record(common, path, &replaces, err));
    HC_TRY(hc_json_save_unflushed(&record, path, replaces, err));
done:
    hc_json_clear(&record);
    free(path);
    return status;
}
