/* A tap stands after each step, so that no stage knows of reports. The page is written when the record is
 * complete. A policy in its head forbids scripts and foreign content, whatever the name of a file holds. */
#include "pipeline/report/report.h"
#include "core/text.h"
#include "core/allocate.h"
#include "core/version.h"
#include "io/file.h"
#include "pipeline/report/panel.h"
#include "pipeline/report/tables.h"
#include "pipeline/report/tap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char hc_report_head[] = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                              "<meta name=\"generator\" content=\"hcube report ";

/* ---- the chain ---- */

static HcStatus add_tap(HcStage *tap, HcChain *chain, HcError *err) {
    *tap = (HcStage){.kind = &hc_report_tap, .chain = chain};
    tap->params = calloc(1, hc_report_tap.params_size);
    tap->state = calloc(1, hc_report_tap.state_size);
    return tap->params != NULL && tap->state != NULL
               ? HC_OK
               : hc_fail_memory(err, (double)hc_report_tap.state_size, "the report");
}

HcStatus hc_report_add(HcChain *chain, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    HcStage *stages = NULL;
    int32_t count = 0;
    HC_OR_RETURN(hc_new(stages, 2 * (size_t)chain->count, "the report", err));
    for (int32_t s = 0; s < chain->count; s++) {
        const HcStageClass *kind = chain->stages[s].kind;
        stages[count++] = chain->stages[s];
        if (status == HC_OK && (kind->role == HC_ROLE_SOURCE || kind->role == HC_ROLE_STAGE)) {
            status = add_tap(&stages[count++], chain, err);
        }
    }
    free(chain->stages);
    chain->stages = stages;
    chain->count = count;
    for (int32_t s = 0; s < count; s++) {
        stages[s].place = s;
    }
    HC_OR_RETURN(status);
    chain->report = strdup(path);
    return chain->report != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(path), "the report");
}

/* ---- the page ---- */

static const char style[] =
    "<style>\n"
    ":root { --paper: #fff; --ink: #1b1b1b; --soft: #5c5c5c; --line: #d0d0d0; "
    "--back: #f3f3f1; }\n"
    "@media (prefers-color-scheme: dark) { :root { --paper: #16181a; --ink: #e8e8e6; --soft: #a9adb0; "
    "--line: #3c4043; --back: #222528; } }\n"
    "* { box-sizing: border-box; }\n"
    "body { margin: 0 auto; padding: 1rem; max-width: 100rem; font: 16px/1.5 sans-serif; color: var(--ink); "
    "background: var(--paper); }\n"
    "h1, h2, h3 { line-height: 1.2; overflow-wrap: anywhere; }\n"
    "h2 { margin-top: 2.5rem; padding-top: 0.75rem; border-top: 1px solid var(--line); }\n"
    "h3 { font-size: 1rem; margin: 0 0 0.4rem; }\n"
    "p, li { overflow-wrap: anywhere; }\n"
    "pre { padding: 0.6rem; background: var(--back); overflow-wrap: anywhere; white-space: pre-wrap; }\n"
    ".panels { display: grid; gap: 1.5rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), "
    "1fr)); }\n"
    ".panels > .note { grid-column: 1 / -1; margin: 0; }\n"
    "figure { margin: 0; min-width: 0; }\n"
    "@media (min-width: 40rem) { figure.wide { grid-column: span 2; } }\n"
    "figure img { display: block; width: 100%; height: auto; max-height: 85vh; object-fit: contain; "
    "object-position: left; image-rendering: pixelated; }\n"
    "figcaption, .note, .summary { color: var(--soft); }\n"
    ".plot { padding: 0.4rem; background: #fff; color: #1b1b1b; overflow-x: auto; }\n"
    ".plot svg { display: block; width: 100%; height: auto; font-family: DejaVu Sans, Verdana, sans-serif; "
    "}\n"
    "svg.bar { display: block; width: 100%; height: 3rem; margin-top: 0.4rem; }\n"
    ".ends { display: flex; justify-content: space-between; margin: 0.1rem 0; font-size: 0.85rem; }\n"
    ".legend { list-style: none; margin: 0.4rem 0; padding: 0; columns: 13rem; font-size: 0.9rem; }\n"
    ".swatch { display: inline-block; width: 0.9em; height: 0.9em; border: 1px solid var(--line); "
    "-webkit-print-color-adjust: exact; }\n"
    ".scroll { overflow-x: auto; margin: 1rem 0; }\n"
    ".tables { display: flex; flex-wrap: wrap; gap: 0 3rem; align-items: flex-start; }\n"
    ".tables > .scroll { max-width: 100%; }\n"
    "table { border-collapse: collapse; font-size: 0.9rem; }\n"
    "caption { text-align: left; font-weight: bold; padding-bottom: 0.3rem; }\n"
    "th, td { padding: 0.2rem 0.8rem 0.2rem 0; text-align: left; vertical-align: top; border-bottom: 1px "
    "solid "
    "var(--line); }\n"
    "td { overflow-wrap: anywhere; min-width: 5.2rem; }\n"
    "th[scope=row] { font-weight: normal; color: var(--soft); }\n"
    ".n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; min-width: 0; "
    "-webkit-print-color-adjust: exact; }\n"
    "li .n { color: var(--soft); }\n"
    ".many th[scope=col] { writing-mode: vertical-rl; padding-right: 0; } "
    ".many th[scope=row] { min-width: 9rem; } .many .n { padding-right: 0.15rem; }\n"
    "@media print { :root { --paper: #fff; --ink: #000; --soft: #444; --line: #bbb; --back: #f6f6f6; } "
    "body { font-size: 9pt; max-width: none; padding: 0; } h2 { margin-top: 1.2rem; break-inside: avoid; } "
    /* A head is not the last on its sheet: it takes some space below it. */
    "h2::after { content: ''; display: block; height: 9rem; margin-bottom: -9rem; } "
    "h1, h2, h3, .summary, caption, thead { break-after: avoid; } "
    "figure, tr, .tables > .scroll { break-inside: avoid; } .scroll { overflow: visible; } "
    ".panels { gap: 0.8rem; grid-template-columns: repeat(4, minmax(0, 1fr)); } "
    "figure.wide { grid-column: span 2; } figure.rows { grid-column: 1 / -1; } "
    "figure img { max-height: 16cm; } table { font-size: 8.5pt; } .ends, .many { font-size: 6.5pt; } "
    "details { display: none; } }\n"
    "</style>\n";

/* What the page may load: nothing but what lies in it. */
static const char policy[] =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src "
    "data:; style-src 'unsafe-inline'\">\n";

/* The name of the scene's file. */
static const char *scene_name(const HcChain *chain) {
    return hc_reader_name(hc_view_reader(chain->source->view));
}

static const cJSON *get(const cJSON *object, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static void add_head(HcText *to, const HcChain *chain, const HcPanels *panels) {
    hc_text_add(to, "%s%s\">\n%s", hc_report_head, hc_version(), policy);
    if (panels->icon != NULL) {
        hc_text_add(to, "<link rel=\"icon\" href=\"data:image/png;base64,%s\">\n", panels->icon);
    }
    hc_text_add(to, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                    "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    hc_utf8_add_escaped(to, scene_name(chain));
    hc_text_add(to, ": report of a run of hcube</title>\n");
    hc_text_add(to, "%s</head>\n<body>\n", style);
}

static void add_opening(HcText *to, const HcChain *chain, const cJSON *record) {
    const HcScene *scene = &chain->stages[0].out;
    const cJSON *device = get(record, "device");
    const char *command = hc_json_text(record, "command"), *finished = hc_json_text(record, "finished");
    const char *backend = hc_json_text(device, "backend"), *name = hc_json_text(device, "name");
    const cJSON *seconds = get(get(record, "seconds"), "all");
    hc_text_add(to, "<header>\n<h1><bdi>");
    hc_utf8_add_escaped(to, scene_name(chain));
    hc_text_add(
        to, "</bdi></h1>\n<p class=\"summary\">%" PRId64 " lines, %" PRId64 " samples, %d band%s (%s). ",
        scene->lines, scene->samples, scene->bands, scene->bands == 1 ? "" : "s", hc_type_name(scene->type));
    hc_text_add(to, scene->place.has_transform ? "" : "No georeference. ");
    hc_text_add(to, "hcube %s, ", hc_version());
    hc_utf8_add_escaped(to, backend != NULL ? backend : "");
    hc_text_add(to, " (");
    hc_utf8_add_escaped(to, name != NULL ? name : "");
    hc_text_add(to, "), %.3g s", cJSON_IsNumber(seconds) ? seconds->valuedouble : 0);
    hc_text_add(to, ", finished %s.</p>\n<pre><code>", finished != NULL ? finished : "");
    hc_utf8_add_escaped(to, command != NULL ? command : "");
    hc_text_add(to, "</code></pre>\n</header>\n<main>\n");
}

static void add_notes(HcText *to, const cJSON *notes) {
    const cJSON *note = NULL;
    if (cJSON_GetArraySize(notes) == 0) {
        return;
    }
    hc_text_add(to, "<section>\n<h2>Notes</h2>\n<ul>\n");
    cJSON_ArrayForEach(note, notes) {
        hc_text_add(to, "<li>");
        hc_utf8_add_escaped(to, cJSON_IsString(note) ? note->valuestring : "");
        hc_text_add(to, "</li>\n");
    }
    hc_text_add(to, "</ul>\n</section>\n");
}

/* What the stage and the tap behind it hand over. */
static HcStatus add_panels(HcPanels *to, const HcStage *stage, HcError *err) {
    const HcStage *tap = stage->place + 1 < stage->chain->count ? stage + 1 : NULL;
    hc_text_add(&to->html, "<div class=\"panels\">\n");
    if (stage->kind->rare.panels != NULL) {
        HC_OR_RETURN(stage->kind->rare.panels(stage, to, err));
    }
    if (tap != NULL && tap->kind->role == HC_ROLE_TAP) {
        HC_OR_RETURN(tap->kind->rare.panels(tap, to, err));
    }
    hc_text_add(&to->html, "</div>\n");
    return HC_OK;
}

static HcStatus add_step(HcPanels *to, const HcStage *stage, int32_t number, const cJSON *record,
                         HcError *err) {
    const cJSON *said = cJSON_GetArrayItem(get(record, "steps"), number - 1);
    hc_text_add(&to->html, "<section>\n<h2>%d. %s</h2>\n<p class=\"summary\">", number, stage->kind->name);
    hc_utf8_add_escaped(&to->html, stage->kind->summary);
    hc_text_add(&to->html, "</p>\n");
    HC_OR_RETURN(add_panels(to, stage, err));
    hc_text_add(&to->html, "<div class=\"tables\">\n");
    if (number == 1) {
        hc_report_add_pixels(&to->html, record);
    }
    hc_report_add_object(&to->html, "options", get(said, "options"));
    hc_report_add_object(&to->html, "results", get(said, "result"));
    hc_text_add(&to->html, "</div>\n</section>\n");
    return HC_OK;
}

static HcStatus add_steps(HcPanels *to, const HcChain *chain, const cJSON *record, HcError *err) {
    int32_t number = 0;
    for (int32_t s = 0; s < chain->count; s++) {
        if (chain->stages[s].kind->role != HC_ROLE_TAP) {
            HC_OR_RETURN(add_step(to, &chain->stages[s], ++number, record, err));
        }
    }
    return HC_OK;
}

/* Whatever the record holds beyond what has a place of its own. */
static void add_rest(HcText *to, const cJSON *record) {
    static const char *const told[] = {"hcube_record", "command", "finished", "steps",    "seconds",
                                       "pixels",       "notes",   "device",   "arguments"};
    const cJSON *item = NULL;
    hc_text_add(to, "<section>\n<h2>Time</h2>\n<div class=\"tables\">\n");
    hc_report_add_times(to, record);
    hc_text_add(to, "</div>\n</section>\n<section>\n<h2>Provenance</h2>\n<div class=\"tables\">\n");
    hc_report_add_object(to, "device", get(record, "device"));
    cJSON_ArrayForEach(item, record) {
        bool known = item->string == NULL;
        for (size_t t = 0; t < sizeof told / sizeof *told && !known; t++) {
            known = strcmp(told[t], item->string) == 0;
        }
        if (!known && cJSON_IsObject(item)) {
            hc_report_add_object(to, item->string, item);
        } else if (!known && cJSON_IsArray(item)) {
            hc_report_add_list(to, item->string, item);
        }
    }
}

/* Line by line, since line ends are cleaned as control characters. */
static void add_lines(HcText *to, char *text) {
    for (char *line = text; line != NULL;) {
        char *end = strchr(line, '\n');
        if (end != NULL) {
            *end++ = 0;
        }
        hc_utf8_add_escaped(to, line);
        hc_text_add(to, "\n");
        line = end;
    }
}

static HcStatus add_record(HcText *to, const HcJson *record, HcError *err) {
    char *text = hc_json_format(record, false);
    HC_OR_RETURN(hc_text_made(text, 0, "the report", err));
    hc_text_add(to, "</div>\n<details>\n<summary>The whole record, as JSON</summary>\n<pre><code>");
    add_lines(to, text);
    hc_text_add(to, "</code></pre>\n</details>\n</section>\n</main>\n</body>\n</html>\n");
    cJSON_free(text);
    return HC_OK;
}

HcStatus hc_report_write(const HcChain *chain, const HcJson *record, HcError *err) {
    HcStatus status = HC_OK;
    HcPanels panels = {0};
    HcText page = {0};
    HC_TRY(add_steps(&panels, chain, record->root, err));
    add_head(&page, chain, &panels);
    add_opening(&page, chain, record->root);
    add_notes(&page, get(record->root, "notes"));
    hc_text_add(&page, "%s", hc_text_shown(&panels.html));
    add_rest(&page, record->root);
    HC_TRY(add_record(&page, record, err));
    if (panels.html.failed || page.failed) {
        HC_TRY(hc_fail_memory(err, (double)page.length, "the report"));
    }
    HC_TRY(hc_file_write_unflushed(chain->report, page.data, page.length, chain->overwrite, err));
done:
    hc_panels_clear(&panels);
    hc_text_clear(&page);
    return status;
}
