/* What the problems of `hcube solve` share: options, report and record. */
#include "app/solve/solve.h"
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
    static const char *const left_out[] = {"ranks",  "memory", "progress",    "record",
                                           "report", "verify", "verify-seed", NULL};
    static HcOption all[16];
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

void hc_solve_note(const HcCommon *common, const char *note) {
    if (!common->quiet && note != NULL && *note != '\0') {
        hc_say("note: %s", note);
    }
}

void hc_solve_note_backend(const HcCommon *common, const char *reason) {
    if (!common->quiet && *reason != '\0') {
        hc_say("note: computing on the CPU (%s)", reason);
    }
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

static HcStatus add_read(const HcOption *option, const char *path, void *user, HcError *err) {
    (void)option;
    return hc_file_use_read(user, path, err);
}

static HcStatus add_written(const HcOption *option, const char *path, void *user, HcError *err) {
    (void)option;
    hc_file_remove_dead(path);
    return hc_file_use_write(user, "solve", path, err);
}

HcStatus hc_solve_check_files(const HcCommon *common, const HcOptionSet *options, const char *output,
                              HcFileUse *use, HcError *err) {
    HcStatus status = HC_OK;
    HcError taken = {0};
    bool replaces = false;
    char *path = NULL;
    HC_TRY(hc_options_files(options, HC_FILE_READ, add_read, use, err));
    HC_TRY(hc_options_files(options, HC_FILE_WRITTEN, add_written, use, err));
    if (wants_record(common, output)) {
        if ((path = record_path(common, output)) == NULL) {
            HC_TRY(hc_fail_memory(err, 0, "the record"));
        }
        HC_TRY(may_replace_record(common, path, &replaces, err));
        HC_TRY(hc_file_check(path, replaces, err));
        if (hc_file_use_write(use, "solve", path, &taken) == HC_E_USAGE) {
            HC_TRY(hc_fail(err, HC_E_USAGE, "%s: is the place of the record, and used for something else",
                           path));
        }
        HC_TRY(taken.status != HC_OK ? hc_fail(err, taken.status, "%s", taken.text) : HC_OK);
    }
done:
    free(path);
    return status;
}

static void make_record(const HcCompute *compute, const HcCommand *problem, HcJson *result,
                        const HcSolveSeconds *seconds, const char *note, HcJson *record) {
    hc_json_begin(record);
    hc_record_put_head(record, compute, hc_command_line());
    hc_json_put_text(record, "problem", problem->name);
    hc_json_open_object(record, "seconds");
    hc_json_put_number(record, "all", seconds->all);
    hc_json_put_number(record, "reading", seconds->reading);
    hc_json_put_number(record, "solving", seconds->solving);
    hc_json_close(record);
    hc_json_open_array(record, "notes");
    if (note != NULL && *note != '\0') {
        hc_json_put_text(record, NULL, note);
    }
    hc_json_close(record);
    hc_json_put_part(record, "result", result);
}

HcStatus hc_solve_write_record(const HcCommon *common, const HcCompute *compute, const HcCommand *problem,
                               const char *output, HcJson *result, const HcSolveSeconds *seconds,
                               const char *note, HcError *err) {
    HcStatus status = HC_OK;
    bool replaces = false;
    char *path = NULL;
    HcJson record;
    make_record(compute, problem, result, seconds, note, &record);
    if (!wants_record(common, output)) {
        goto done;
    }
    path = record_path(common, output);
    if (path == NULL) {
        HC_TRY(hc_fail_memory(err, 0, "the record"));
    }
    HC_TRY(may_replace_record(common, path, &replaces, err));
    HC_TRY(hc_json_save_unflushed(&record, path, replaces, err));
done:
    hc_json_clear(&record);
    free(path);
    return status;
}
