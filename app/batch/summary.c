/* --summary and --report: a row for each scene, as CSV or as a page with pictures and links, made of the
 * records of the outputs. */
#include "app/batch/batch.h"
#include "core/text.h"
#include "core/version.h"
#include "io/file.h"
#include "io/stac/stac.h"
#include "io/write/picture/thumbnail.h"
#include "pipeline/json/json.h"
#include "pipeline/report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    COLUMNS_MAX = 64,      /* of results */
    THUMBNAIL_WIDTH = 120, /* samples */
};

/* By these beginnings a summary that may be replaced is known. */
static const char csv_head[] = "index,scene,output,state,message,finished,seconds,bytes,pixels,masked_pixels";
static const char html_head[] = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                                "<meta name=\"generator\" content=\"hcube batch ";

typedef struct Summary {
    const HcBatch *batch;
    char *const *failures;
    char *column[COLUMNS_MAX]; /* STAGE.RESULT, for numbers that some scene has */
    int32_t column_count;
    int32_t count[HC_WORDS];
    bool html;
    const char *page;
    HcText rows;
} Summary;

/* ---- what records say ---- */

/* What stages find about a scene; what read and write say of files is not that. */
static bool reports_results(const cJSON *step) {
    const char *word = hc_json_text(step, "stage");
    const HcStageClass *kind = word != NULL ? hc_stage_find(word) : NULL;
    return kind != NULL && kind->role == HC_ROLE_STAGE;
}

static HcStatus add_column(Summary *summary, const char *stage, const char *result, HcError *err) {
    char *name = hc_text_format("%s.%s", stage, result);
    HC_OR_RETURN(hc_text_made(name, 0, "a name", err));
    for (int32_t c = 0; c < summary->column_count; c++) {
        if (strcmp(summary->column[c], name) == 0) {
            free(name);
            return HC_OK;
        }
    }
    if (summary->column_count == COLUMNS_MAX) {
        free(name);
        return HC_OK;
    }
    summary->column[summary->column_count++] = name;
    return HC_OK;
}

static HcStatus add_columns(Summary *summary, const cJSON *record, HcError *err) {
    const cJSON *step = NULL;
    cJSON_ArrayForEach(step, cJSON_GetObjectItemCaseSensitive(record, "steps")) {
        const cJSON *result = NULL;
        if (!reports_results(step)) {
            continue;
        }
        cJSON_ArrayForEach(result, cJSON_GetObjectItemCaseSensitive(step, "result")) {
            if ((cJSON_IsNumber(result) || cJSON_IsBool(result)) && result->string != NULL) {
                HC_OR_RETURN(add_column(summary, hc_json_text(step, "stage"), result->string, err));
            }
        }
    }
    return HC_OK;
}

/* The number of a column, of the first step that has it; NAN where none has. */
static double number_of(const cJSON *record, const char *column) {
    const cJSON *step = NULL;
    cJSON_ArrayForEach(step, cJSON_GetObjectItemCaseSensitive(record, "steps")) {
        const char *stage = hc_json_text(step, "stage");
        size_t length = stage != NULL ? strlen(stage) : 0;
        if (length == 0 || strncmp(column, stage, length) != 0 || column[length] != '.') {
            continue;
        }
        const cJSON *result = cJSON_GetObjectItemCaseSensitive(
            cJSON_GetObjectItemCaseSensitive(step, "result"), column + length + 1);
        if (cJSON_IsNumber(result) || cJSON_IsBool(result)) {
            return cJSON_IsBool(result) ? cJSON_IsTrue(result) : result->valuedouble;
        }
    }
    return NAN;
}

static double number_in(const cJSON *record, const char *object, const char *name) {
    const cJSON *found =
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(record, object), name);
    return cJSON_IsNumber(found) ? found->valuedouble : NAN;
}

static double bytes_read(const cJSON *record) {
    const cJSON *steps = cJSON_GetObjectItemCaseSensitive(record, "steps");
    return number_in(cJSON_GetArrayItem(steps, 0), "result", "bytes");
}

static double masked_pixels(const cJSON *record) {
    static const char *const causes[] = {"masked_by_user", "masked_nodata", "masked_nan"};
    double sum = 0;
    for (size_t c = 0; c < sizeof causes / sizeof *causes; c++) {
        sum += number_in(record, "pixels", causes[c]);
    }
    return sum;
}

/* The first picture among the outputs, else the output of the scene; NULL where it is not done. */
static const char *picture_of(const HcBatchScene *scene, const cJSON *record) {
    const cJSON *said = cJSON_GetObjectItemCaseSensitive(record, "batch");
    const cJSON *output = NULL;
    cJSON_ArrayForEach(output, cJSON_GetObjectItemCaseSensitive(said, "outputs")) {
        const char *path = hc_json_text(output, "file");
        if (path != NULL && hc_text_ends_with(path, ".png")) {
            return path;
        }
    }
    return record != NULL ? scene->output : NULL;
}

/* ---- cells ---- */

static void add_text(Summary *summary, const char *text) {
    if (summary->html) {
        hc_text_add(&summary->rows, "<td>");
        hc_utf8_add_escaped(&summary->rows, text);
        hc_text_add(&summary->rows, "</td>");
    } else {
        hc_text_add(&summary->rows, ",");
        hc_text_add_cell(&summary->rows, text, false);
    }
}

/* NAN: the cell stays empty. */
static void add_number(Summary *summary, double value) {
    char text[HC_TEXT_DOUBLE] = "";
    if (!isnan(value)) {
        hc_text_double(text, value);
    }
    if (summary->html && !isnan(value)) {
        snprintf(text, sizeof text, fabs(value) < 1e15 && value == floor(value) ? "%.0f" : "%.5g", value);
    }
    hc_text_add(&summary->rows, summary->html ? "<td class=\"n\">%s</td>" : ",%s", text);
}

/* A picture that cannot be read leaves its cell empty: the row counts. icon: of the report, or NULL. */
static HcStatus add_picture(Summary *summary, const HcBatchScene *scene, const char *icon,
                            const cJSON *record, HcError *err) {
    HcError problem = {0};
    uint8_t *data = NULL;
    size_t bytes = 0;
    const char *path = picture_of(scene, record);
    hc_text_add(&summary->rows, "<td>");
    if (icon != NULL) {
        hc_text_add(&summary->rows, "<img alt=\"picture of ");
        hc_utf8_add_escaped(&summary->rows, scene->path);
        hc_text_add(&summary->rows, "\" src=\"data:image/png;base64,%s\">", icon);
    } else if (path != NULL && hc_thumbnail(path, THUMBNAIL_WIDTH, &data, &bytes, &problem) == HC_OK) {
        hc_text_add(&summary->rows, "<img alt=\"picture of ");
        hc_utf8_add_escaped(&summary->rows, scene->path);
        hc_text_add(&summary->rows, "\" src=\"data:image/png;base64,");
        hc_text_add_base64(&summary->rows, data, bytes);
        hc_text_add(&summary->rows, "\">");
    }
    hc_text_add(&summary->rows, "</td>");
    free(data);
    return problem.status == HC_E_MEMORY ? hc_fail(err, problem.status, "%s", problem.text) : HC_OK;
}

/* ---- reports ---- */

/* Whether there is a report of hcube; *icon: its small picture as base 64, fresh memory, or NULL. */
static bool look_at_report(const char *path, char **icon) {
    static const char mark[] = "<link rel=\"icon\" href=\"data:image/png;base64,";
    enum { BEGINNING = 256 << 10 }; /* bytes that hold the icon */
    *icon = NULL;
    FILE *file = hc_file_is_special(path) ? NULL : fopen(path, "rbe");
    char *text = file != NULL ? calloc(1, BEGINNING + 1) : NULL;
    size_t bytes = text != NULL ? fread(text, 1, BEGINNING, file) : 0;
    bool is = bytes > 0 && strncmp(text, hc_report_head, strlen(hc_report_head)) == 0;
    char *at = is ? strstr(text, mark) : NULL;
    if (at != NULL) {
        at += strlen(mark);
        size_t length = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=");
        at[length] = *at != 0 && at[length] == '"' ? '\0' : at[length];
        *icon = at[length] == '\0' && length > 0 ? strdup(at) : NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    free(text);
    return is;
}

/* The name of the scene, with a link to its report. */
static HcStatus add_scene(Summary *summary, const HcBatchScene *scene, const char *report, HcError *err) {
    char *link = NULL;
    HC_OR_RETURN(report != NULL ? hc_stac_link(summary->page, report, &link, err) : HC_OK);
    hc_text_add(&summary->rows, "<th scope=\"row\">");
    if (link != NULL) {
        hc_text_add(&summary->rows, "<a href=\"%s\">", link);
    }
    hc_utf8_add_escaped(&summary->rows, scene->path);
    hc_text_add(&summary->rows, link != NULL ? "</a></th>" : "</th>");
    free(link);
    return HC_OK;
}

/* Picture and name of a row of the page. */
static HcStatus begin_row(Summary *summary, const HcBatchScene *scene, const cJSON *record, HcError *err) {
    HcStatus status = HC_OK;
    char *icon = NULL;
    char *report = hc_batch_report_path(scene->output);
    HC_OR_RETURN(hc_text_made(report, strlen(scene->output), "a path", err));
    bool there = record != NULL && look_at_report(report, &icon);
    HC_TRY(add_picture(summary, scene, icon, record, err));
    HC_TRY(add_scene(summary, scene, there ? report : NULL, err));
done:
    free(icon);
    free(report);
    return status;
}

/* ---- rows ---- */

static HcStatus add_row(Summary *summary, int32_t number, const cJSON *record,
                        const HcBatchStanding *standing, HcError *err) {
    const HcBatchScene *scene = &summary->batch->scenes[number];
    const char *finished = hc_json_text(record, "finished");
    const char *now = summary->failures != NULL ? summary->failures[number] : NULL;
    bool failed = now != NULL && standing->word != HC_WORD_DONE;
    const char *state = hc_batch_words[failed ? HC_WORD_FAILED : standing->word];
    summary->count[failed ? HC_WORD_FAILED : standing->word]++;
    if (summary->html) {
        hc_text_add(&summary->rows, "<tr class=\"%s\"><td class=\"n\">%d</td>", state, number + 1);
        HC_OR_RETURN(begin_row(summary, scene, record, err));
    } else {
        hc_text_add(&summary->rows, "%d", number + 1);
        add_text(summary, scene->path);
    }
    add_text(summary, scene->output);
    add_text(summary, state);
    add_text(summary, failed ? now : standing->message);
    add_text(summary, finished != NULL ? finished : "");
    add_number(summary, round(1000 * number_in(record, "seconds", "all")) / 1000);
    add_number(summary, bytes_read(record));
    add_number(summary, number_in(record, "pixels", "all"));
    add_number(summary, masked_pixels(record));
    if (summary->batch->group_count > 0) {
        const HcBatchGroup *group = hc_batch_group_of(summary->batch, number);
        add_text(summary, group != NULL ? group->name : "");
    }
    for (int32_t c = 0; c < summary->column_count; c++) {
        add_number(summary, number_of(record, summary->column[c]));
    }
    hc_text_add(&summary->rows, summary->html ? "</tr>\n" : "\n");
    return HC_OK;
}

/* The columns of all scenes must be known before the first row. */
static HcStatus find_columns(Summary *summary, HcError *err) {
    const HcBatch *batch = summary->batch;
    for (int32_t s = batch->worker; s < batch->scene_count; s += batch->workers) {
        cJSON *record = hc_batch_read_record(batch, s);
        HcStatus status = add_columns(summary, record, err);
        cJSON_Delete(record);
        HC_OR_RETURN(status);
    }
    return HC_OK;
}

static HcStatus add_rows(Summary *summary, HcError *err) {
    const HcBatch *batch = summary->batch;
    for (int32_t s = batch->worker; s < batch->scene_count; s += batch->workers) {
        HcBatchStanding standing;
        HC_OR_RETURN(hc_batch_standing(batch, s, &standing, err));
        /* A record that does not apply is of other times. */
        cJSON *record = standing.word == HC_WORD_DONE ? hc_batch_read_record(batch, s) : NULL;
        HcStatus status = add_row(summary, s, record, &standing, err);
        cJSON_Delete(record);
        HC_OR_RETURN(status);
    }
    return HC_OK;
}

/* ---- files ---- */

static void add_csv(Summary *summary, HcText *to) {
    hc_text_add(to, "%s%s", csv_head, summary->batch->group_count > 0 ? ",group" : "");
    for (int32_t c = 0; c < summary->column_count; c++) {
        hc_text_add(to, ",");
        hc_text_add_cell(to, summary->column[c], false);
    }
    hc_text_add(to, "\n%s", hc_text_shown(&summary->rows));
}

static void add_html(Summary *summary, HcText *to) {
    static const char *const heads[] = {"scene", "output", "state",  "message", "finished",
                                        "s",     "bytes",  "pixels", "masked"};
    static const char style[] =
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<style>\n"
        ":root { --paper: #fff; --ink: #1b1b1b; --soft: #5c5c5c; --link: #0645ad; }\n"
        "@media (prefers-color-scheme: dark) { :root { --paper: #16181a; --ink: #e8e8e6; --soft: #a9adb0; "
        "--link: #8ab4f8; } }\n"
        "body { font: 14px/1.4 sans-serif; margin: 1.5em; color: var(--ink); background: var(--paper); }\n"
        "a { color: var(--link); }\n"
        "code { overflow-wrap: anywhere; }\n"
        ".all { overflow-x: auto; }\n"
        "table { border-collapse: collapse; }\n"
        "th, td { font-weight: inherit; padding: 0.3em 0.7em; text-align: left; vertical-align: top; "
        "border-bottom: 1px solid "
        "#8886; }\n"
        "thead th { position: sticky; top: 0; background: var(--paper); }\n"
        ".n { text-align: right; font-variant-numeric: tabular-nums; }\n"
        "img { max-width: 120px; image-rendering: pixelated; }\n"
        "tr.failed, tr.interrupted { background: #d5544433; }\n"
        "tr.left, tr.running { color: var(--soft); }\n"
        "@page { size: landscape; }\n"
        "@media print { :root { --paper: #fff; --ink: #000; --soft: #444; --link: #000; } body { font-size: "
        "9px; margin: 0; } thead th { position: static; } .all { overflow: visible; } th, td { padding: "
        "0.3em; overflow-wrap: anywhere; } .n { white-space: nowrap; } tr { break-inside: avoid; } img { "
        "max-width: 60px; } }\n"
        "</style>\n";
    hc_text_add(
        to,
        "%s%s\">\n<title>Report of a batch</title>\n%s</head>\n<body>\n<main>\n<h1>Report of a batch</h1>\n",
        html_head, hc_version(), style);
    hc_text_add(to, "<p><code>");
    hc_utf8_add_escaped(to, summary->batch->chain);
    hc_text_add(to, "</code></p>\n<p>");
    for (int w = 0; w < HC_WORDS; w++) {
        hc_text_add(to, "%s%d %s", w > 0 ? ", " : "", summary->count[w], hc_batch_words[w]);
    }
    hc_text_add(to,
                ". hcube %s.</p>\n<div class=\"all\"><table>\n<thead><tr><th scope=\"col\" "
                "class=\"n\">index</th><th scope=\"col\">picture</th>",
                hc_version());
    for (size_t h = 0; h < sizeof heads / sizeof *heads; h++) {
        hc_text_add(to, h < 5 ? "<th scope=\"col\">%s</th>" : "<th scope=\"col\" class=\"n\">%s</th>",
                    heads[h]);
    }
    hc_text_add(to, summary->batch->group_count > 0 ? "<th scope=\"col\">group</th>" : "");
    for (int32_t c = 0; c < summary->column_count; c++) {
        hc_text_add(to, "<th scope=\"col\" class=\"n\">");
        hc_utf8_add_escaped(to, summary->column[c]);
        hc_text_add(to, "</th>");
    }
    hc_text_add(to, "</tr></thead>\n<tbody>\n%s</tbody>\n</table></div>\n</main>\n</body>\n</html>\n",
                hc_text_shown(&summary->rows));
}

static bool is_page(const char *path) {
    return hc_text_ends_with(path, ".html");
}

/* Refuses to replace what is none. */
static HcStatus check_mine(const char *option, const char *path, HcError *err) {
    const char *head = is_page(path) ? html_head : csv_head;
    char *data = NULL;
    size_t bytes = 0;
    bool there = false;
    HC_OR_RETURN(hc_file_is_there(path, &there, err));
    if (!there) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_file_read(path, (size_t)1 << 30, &data, &bytes, err));
    bool mine = bytes >= strlen(head) && memcmp(data, head, strlen(head)) == 0;
    free(data);
    return mine ? HC_OK
                : hc_fail(err, HC_E_USAGE, "batch: --%s %s: exists, and is no %s of a batch", option, path,
                          option);
}

/* tables: a page is not all that it may be. */
static HcStatus check(const HcBatch *batch, const char *option, const char *path, bool tables, HcError *err) {
    if (path == NULL) {
        return HC_OK;
    }
    if (!is_page(path) && !(tables && hc_text_ends_with(path, ".csv"))) {
        return hc_fail(err, HC_E_USAGE, "batch: --%s %s: must end in %s.html", option, path,
                       tables ? ".csv or " : "");
    }
    HC_OR_RETURN(hc_batch_check_written(batch, option, path, path, err));
    HC_OR_RETURN(hc_batch_make_folders(path, err));
    HC_OR_RETURN(hc_file_check(path, true, err));
    return check_mine(option, path, err);
}

bool hc_batch_sums_up(const HcBatch *batch) {
    return batch->params.summary != NULL || batch->params.report != NULL;
}

HcStatus hc_batch_check_summary(const HcBatch *batch, HcError *err) {
    const char *summary = batch->params.summary, *report = batch->params.report;
    if (summary != NULL && report != NULL && strcmp(summary, report) == 0) {
        return hc_fail(err, HC_E_USAGE, "batch: --summary %s: is the page of --report", summary);
    }
    HC_OR_RETURN(check(batch, "summary", summary, true, err));
    return check(batch, "report", report, false, err);
}

/* The table, or the page. */
static HcStatus write_one(const HcBatch *batch, char *const *failures, const char *option, const char *path,
                          HcError *err) {
    HcStatus status = HC_OK;
    bool html = is_page(path);
    Summary summary = {.batch = batch, .failures = failures, .html = html, .page = path};
    HcText text = {0};
    HC_TRY(find_columns(&summary, err));
    HC_TRY(add_rows(&summary, err));
    if (html) {
        add_html(&summary, &text);
    } else {
        add_csv(&summary, &text);
    }
    if (summary.rows.failed || text.failed) {
        HC_TRY(hc_fail_memory(err, (double)summary.rows.length, "the summary"));
    }
    /* An output of the chain may have taken the name. */
    HC_TRY(check_mine(option, path, err));
    HC_TRY(hc_file_write_unflushed(path, text.data, text.length, true, err));
done:
    for (int32_t c = 0; c < summary.column_count; c++) {
        free(summary.column[c]);
    }
    hc_text_clear(&summary.rows);
    hc_text_clear(&text);
    return status;
}

HcStatus hc_batch_write_summary(const HcBatch *batch, char *const *failures, HcError *err) {
    const char *summary = batch->params.summary, *report = batch->params.report;
    if (summary != NULL) {
        HC_OR_RETURN(write_one(batch, failures, "summary", summary, err));
    }
    return report != NULL ? write_one(batch, failures, "report", report, err) : HC_OK;
}
