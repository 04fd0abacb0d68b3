/* diff: in what two records differ, or two other JSON files that hcube wrote. */
#include "app/usage/usage.h"
#include "io/file.h"
#include "io/file_use.h"
#include "pipeline/json/json.h"
#include "pipeline/json/diff.h"

#include <stdio.h>
#include <string.h>

typedef struct DiffParams {
    const char *a, *b, *json;
    bool all;
} DiffParams;

static const HcOption diff_options[] = {
    {HC_TEXT(DiffParams, a), .file = HC_FILE_READ, .value = "A.json", .positional = true, .required = true,
     .help = "a record (OUTPUT.hcube.json), or a file of statistics or of a model"},
    {HC_TEXT(DiffParams, b), .file = HC_FILE_READ, .value = "B.json", .positional = true, .required = true,
     .help = "a second file of the same kind"},
    {HC_FLAG(DiffParams, all),
     .help = "also compare times, speed and memory of the runs, and dates of files"},
    {HC_TEXT(DiffParams, json), .file = HC_FILE_WRITTEN, .value = "FILE",
     .help = "write the differences as JSON to this file"},
    {0}};

void hc_describe_diff(HcUsage *usage) {
    hc_text_add(&usage->forms, "hcube diff A.json B.json [OPTION...]\n");
    hc_text_add(&usage->examples, "hcube diff monday.tif.hcube.json tuesday.tif.hcube.json\n");
    hc_usage_add(usage, "Options", diff_options);
    hc_usage_add(usage, "Options of every run", hc_plain_options());
}

bool hc_diff_is_of_the_run(const char *name) {
    static const char *const names[] = {"finished", "started", "seconds", "memory_bytes", "modified",
                                        "identity", "blocks", "threads", "mapped", "hosts", "ranks", "folder",
                                        /* the words of "command", which is compared */
                                        "arguments", NULL};
    for (int n = 0; names[n] != NULL; n++) {
        if (strcmp(names[n], name) == 0) {
            return true;
        }
    }
    return false;
}

static HcStatus check_kinds(const DiffParams *params, const cJSON *a, const cJSON *b, HcError *err) {
    HcJsonKind kind[2] = {hc_json_kind(a), hc_json_kind(b)};
    for (int f = 0; f < 2; f++) {
        const char *path = f == 0 ? params->a : params->b;
        if (kind[f] == HC_JSON_KINDS) {
            return hc_fail(err, HC_E_INPUT, "%s: is no JSON file of hcube (a record has \"hcube_record\")",
                           path);
        }
        HC_OR_RETURN(hc_json_check_kind(f == 0 ? a : b, kind[f], path, NULL, err));
    }
    return kind[0] == kind[1] ? HC_OK
                              : hc_fail(err, HC_E_INPUT, "%s: has \"%s\", but %s has \"%s\"", params->b,
                                        hc_json_member(kind[1]), params->a, hc_json_member(kind[0]));
}

static void print_differences(const HcJsonDiff *diff, bool all) {
    for (int32_t i = 0; i < diff->count; i++) {
        const HcJsonDifference *item = &diff->item[i];
        hc_show("%s: %s and %s%s%s%s", item->place, item->a, item->b, item->more != NULL ? " (" : "",
                item->more != NULL ? item->more : "", item->more != NULL ? ")" : "");
    }
    hc_show("%d difference%s%s", diff->count, diff->count == 1 ? "" : "s",
            all ? "" : " (--all also compares times, memory and dates)");
}

static HcStatus save_differences(const DiffParams *params, const HcJsonDiff *diff, bool overwrite,
                                 HcError *err) {
    HcStatus status = HC_OK;
    HcJson json;
    if (params->json == NULL) {
        return HC_OK;
    }
    hc_json_begin(&json);
    hc_json_put_text(&json, "a", params->a);
    hc_json_put_text(&json, "b", params->b);
    hc_json_open_array(&json, "differences");
    for (int32_t i = 0; i < diff->count; i++) {
        const HcJsonDifference *item = &diff->item[i];
        hc_json_open_object(&json, NULL);
        hc_json_put_text(&json, "place", item->place);
        hc_json_put_text(&json, "a", item->a);
        hc_json_put_text(&json, "b", item->b);
        if (item->more != NULL) {
            hc_json_put_text(&json, "more", item->more);
        }
        hc_json_close(&json);
    }
    hc_json_close(&json);
    HC_TRY(hc_json_save(&json, params->json, overwrite, err));
done:
    hc_json_clear(&json);
    return status;
}

static HcStatus check_output(const DiffParams *params, bool overwrite, HcError *err) {
    HcStatus status = HC_OK;
    HcFileUse use = {0};
    HC_TRY(hc_file_use_read(&use, params->a, err));
    HC_TRY(hc_file_use_read(&use, params->b, err));
    if (params->json != NULL) {
        HC_TRY(hc_file_check(params->json, overwrite, err));
        HC_TRY(hc_file_use_write(&use, "diff", params->json, err));
    }
done:
    hc_file_use_clear(&use);
    return status;
}

static HcStatus parse(DiffParams *params, HcCommon *common, int32_t word_count, const char *const *words,
                      HcError *err) {
    HcOptionSet sets[] = {{.table = diff_options, .params = params},
                          {.table = hc_plain_options(), .params = common}};
    hc_options_reset(diff_options, params);
    hc_options_reset(hc_common_options, common);
    return hc_options_parse("diff", sets, 2, words, word_count, err);
}

HcStatus hc_command_diff(int32_t word_count, const char *const *words, HcError *err) {
    HcStatus status = HC_OK;
    DiffParams params = {0};
    HcCommon common = {0};
    HcJsonDiff diff = {0};
    cJSON *a = NULL, *b = NULL;
    HC_TRY(parse(&params, &common, word_count, words, err));
    bool overwrite = common.overwrite;
    HC_TRY(check_output(&params, overwrite, err));
    HC_TRY(hc_read_record(params.a, &a, err));
    HC_TRY(hc_read_record(params.b, &b, err));
    HC_TRY(check_kinds(&params, a, b, err));
    HC_TRY(hc_json_diff(a, b, params.all ? NULL : hc_diff_is_of_the_run, &diff, err));
    HC_TRY(save_differences(&params, &diff, overwrite, err));
    if (!common.quiet) {
        print_differences(&diff, params.all);
    }
    status = diff.count > 0 ? HC_E_DIFFERS : HC_OK;
done:
    hc_json_diff_clear(&diff);
    cJSON_Delete(a);
    cJSON_Delete(b);
    return status;
}
