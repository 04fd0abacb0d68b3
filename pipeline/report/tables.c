/* The record is shown as it is, whatever its keys: plain values as one table, lists of objects as tables of
 * their own. A new key of a stage appears in the report without a line of code here. */
#include "pipeline/report/tables.h"
#include "pipeline/report/panel.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { VALUES_MAX = 24, ROWS_MAX = 200, COLUMNS_MAX = 16, DEPTH_MAX = 4 };

/* ---- cells ---- */

/* "masked_by_user" as "masked by user". */
static void add_key(HcText *to, const char *key) {
    char part[160];
    size_t length = strlen(key) < sizeof part - 1 ? strlen(key) : sizeof part - 1;
    for (size_t c = 0; c < length; c++) {
        part[c] = key[c];
        if (key[c] == '_') {
            part[c] = ' ';
        }
    }
    part[length] = 0;
    hc_utf8_add_escaped(to, part);
}

static bool is_plain(const cJSON *item) {
    return item != NULL && !cJSON_IsObject(item) && !cJSON_IsArray(item);
}

static bool is_list_of_objects(const cJSON *item) {
    return cJSON_IsArray(item) && item->child != NULL && cJSON_IsObject(item->child);
}

/* NAN where it is none. Numbers with all their digits are raw text of JSON. */
static double number_of(const cJSON *item) {
    double value = NAN;
    if (cJSON_IsNumber(item)) {
        return item->valuedouble;
    }
    return cJSON_IsRaw(item) && hc_text_parse_double(item->valuestring, &value) ? value : NAN;
}

static bool is_number(const cJSON *item) {
    return cJSON_IsNumber(item) || cJSON_IsRaw(item);
}

static void add_value(HcText *to, const cJSON *item) {
    char number[HC_TEXT_DOUBLE];
    if (is_number(item)) {
        hc_text_add(to, "%s", hc_panel_number(number, number_of(item)));
    } else if (cJSON_IsString(item)) {
        hc_text_add(to, "<bdi>");
        hc_utf8_add_escaped(to, item->valuestring);
        hc_text_add(to, "</bdi>");
    } else if (cJSON_IsBool(item)) {
        hc_text_add(to, cJSON_IsTrue(item) ? "yes" : "no");
    } else if (cJSON_IsNull(item)) {
        hc_text_add(to, "-");
    }
}

/* The values of a list, as far as they fit into a cell. */
static void add_values(HcText *to, const cJSON *list) {
    int count = cJSON_GetArraySize(list), shown = 0;
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, list) {
        if (shown == VALUES_MAX || !is_plain(item)) {
            break;
        }
        hc_text_add(to, shown > 0 ? ", " : "");
        add_value(to, item);
        shown++;
    }
    if (shown < count) {
        hc_text_add(to, "%s (%d in all)", shown > 0 ? ", ..." : "", count);
    }
}

/* Seconds since 1970 as people write them. */
static void add_time(HcText *to, double seconds) {
    char text[32] = "";
    time_t when = (time_t)seconds;
    struct tm parts;
    if (gmtime_r(&when, &parts) != NULL) {
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
    }
    hc_text_add(to, "%s", text);
}

/* Seconds since 1970: a number in results, a text with all its digits in inputs. NAN where it is no time. */
static double time_of(const cJSON *item) {
    double value = NAN;
    if (item == NULL || item->string == NULL || strcmp(item->string, "modified") != 0) {
        return NAN;
    }
    return cJSON_IsString(item) && hc_text_parse_double(item->valuestring, &value) ? value : number_of(item);
}

/* A list of numbers with all their digits is one raw text. */
static void add_raw_list(HcText *to, const char *text) {
    cJSON *list = cJSON_Parse(text);
    to->failed = to->failed || list == NULL;
    add_values(to, list);
    cJSON_Delete(list);
}

/* Numbers stand below each other where a column is `aligned`. */
static void add_cell(HcText *to, const cJSON *item, bool aligned) {
    double when = time_of(item);
    hc_text_add(to, aligned && is_number(item) ? "<td class=\"n\">" : "<td>");
    if (cJSON_IsArray(item)) {
        add_values(to, item);
    } else if (cJSON_IsRaw(item) && item->valuestring[0] == '[') {
        add_raw_list(to, item->valuestring);
    } else if (!isnan(when)) {
        add_time(to, when);
    } else if (is_plain(item)) {
        add_value(to, item);
    }
    hc_text_add(to, "</td>");
}

/* ---- tables ---- */

static void open_table(HcText *to, const char *title) {
    hc_text_add(to, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    add_key(to, title);
    hc_text_add(to, "\"><table>\n<caption>");
    add_key(to, title);
    hc_text_add(to, "</caption>\n");
}

static void close_table(HcText *to) {
    hc_text_add(to, "</tbody></table></div>\n");
}

/* Rows of the values; those of objects within follow with the name of theirs in front. */
static void add_rows(HcText *to, const char *front, const cJSON *object, int depth, int *rows) {
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, object) {
        const char *key = item->string != NULL ? item->string : "";
        if (is_list_of_objects(item) || (cJSON_IsArray(item) && item->child == NULL) || *rows == ROWS_MAX) {
            continue;
        }
        if (cJSON_IsObject(item)) {
            if (depth < DEPTH_MAX) {
                add_rows(to, key, item, depth + 1, rows);
            }
            continue;
        }
        hc_text_add(to, "<tr><th scope=\"row\">");
        if (front != NULL) {
            add_key(to, front);
            hc_text_add(to, ": ");
        }
        add_key(to, key);
        hc_text_add(to, "</th>");
        add_cell(to, item, false);
        hc_text_add(to, "</tr>\n");
        (*rows)++;
    }
}

/* Lists of objects have a table of their own each. */
static void add_lists(HcText *to, const cJSON *object, int depth) {
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, object) {
        if (is_list_of_objects(item)) {
            hc_report_add_list(to, item->string != NULL ? item->string : "", item);
        } else if (cJSON_IsObject(item) && depth < DEPTH_MAX) {
            add_lists(to, item, depth + 1);
        }
    }
}

static void add_plain_table(HcText *to, const char *title, const cJSON *object) {
    int rows = 0;
    HcText body = {0};
    add_rows(&body, NULL, object, 0, &rows);
    if (rows > 0) {
        open_table(to, title);
        hc_text_add(to, "<tbody>\n%s", hc_text_shown(&body));
        close_table(to);
    }
    to->failed = to->failed || body.failed;
    hc_text_clear(&body);
}

void hc_report_add_object(HcText *to, const char *title, const cJSON *object) {
    add_plain_table(to, title, object);
    add_lists(to, object, 0);
}

/* The names of the plain values in a list of objects. */
static int find_columns(const cJSON *list, const char *column[COLUMNS_MAX]) {
    int count = 0;
    const cJSON *row = NULL;
    cJSON_ArrayForEach(row, list) {
        const cJSON *item = NULL;
        cJSON_ArrayForEach(item, row) {
            int c = 0;
            while (c < count && item->string != NULL && strcmp(column[c], item->string) != 0) {
                c++;
            }
            if (item->string != NULL && c == count && count < COLUMNS_MAX && !cJSON_IsObject(item) &&
                !is_list_of_objects(item)) {
                column[count++] = item->string;
            }
        }
    }
    return count;
}

void hc_report_add_list(HcText *to, const char *title, const cJSON *list) {
    const char *column[COLUMNS_MAX];
    int columns = find_columns(list, column), rows = 0, all = cJSON_GetArraySize(list);
    const cJSON *row = NULL;
    if (columns == 0) {
        return;
    }
    open_table(to, title);
    hc_text_add(to, "<thead><tr>");
    for (int c = 0; c < columns; c++) {
        hc_text_add(to, "<th scope=\"col\">");
        add_key(to, column[c]);
        hc_text_add(to, "</th>");
    }
    hc_text_add(to, "</tr></thead>\n<tbody>\n");
    cJSON_ArrayForEach(row, list) {
        if (rows++ == ROWS_MAX) {
            break;
        }
        hc_text_add(to, "<tr>");
        for (int c = 0; c < columns; c++) {
            add_cell(to, cJSON_GetObjectItemCaseSensitive(row, column[c]), true);
        }
        hc_text_add(to, "</tr>\n");
    }
    close_table(to);
    if (all > ROWS_MAX) {
        hc_text_add(to, "<p class=\"note\">%d of %d rows are shown.</p>\n", ROWS_MAX, all);
    }
}

/* ---- pixels ---- */

static double number_in(const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return number_of(item);
}

void hc_report_add_pixels(HcText *to, const cJSON *record) {
    static const char *const names[][2] = {{"masked_by_user", "masked: by a mask of the user"},
                                           {"masked_nodata", "masked: nodata"},
                                           {"masked_nan", "masked: not a finite number"}};
    const cJSON *pixels = cJSON_GetObjectItemCaseSensitive(record, "pixels");
    double all = number_in(pixels, "all"), kept = all;
    char text[HC_TEXT_DOUBLE];
    open_table(to, "pixels");
    hc_text_add(to, "<thead><tr><th scope=\"col\">what</th><th scope=\"col\">pixels</th>"
                    "<th scope=\"col\">%%</th></tr></thead>\n<tbody>\n");
    for (size_t r = 0; r < 5; r++) {
        bool cause = r > 0 && r < 4;
        double count = r == 0 ? all : cause ? number_in(pixels, names[r - 1][0]) : kept;
        kept -= cause ? count : 0;
        hc_text_add(to,
                    "<tr><th scope=\"row\">%s</th><td class=\"n\">%s</td><td class=\"n\">%.3g</td></tr>\n",
                    r == 0  ? "all"
                    : cause ? names[r - 1][1]
                            : "kept",
                    hc_panel_number(text, count), 100 * count / all);
    }
    close_table(to);
}

/* ---- times ---- */

/* How many times the floor a time is; nothing is said of a pass without files. */
static void add_times_floor(HcText *to, double seconds, double floor) {
    if (floor > 0) {
        hc_text_add(to, "<td class=\"n\">%.3g</td><td class=\"n\">%.3g</td>", floor, seconds / floor);
    } else {
        hc_text_add(to, "<td class=\"n\">-</td><td class=\"n\">-</td>");
    }
}

static void add_pass(HcText *to, const cJSON *pass, int number) {
    double all = number_in(pass, "all"), reading = number_in(pass, "reading"),
           writing = number_in(pass, "writing");
    hc_text_add(to, "<tr><th scope=\"row\">%d</th>", number);
    add_cell(to, cJSON_GetObjectItemCaseSensitive(pass, "for"), false);
    hc_text_add(to,
                "<td class=\"n\">%.3g</td><td class=\"n\">%.4g</td><td class=\"n\">%.3g</td>"
                "<td class=\"n\">%.3g</td>",
                all, number_in(pass, "bytes_read") / 1e6, reading, writing);
    add_times_floor(to, all, fmax(reading, writing));
    hc_text_add(
        to, "<td class=\"n\">%.3g</td><td class=\"n\">%.3g</td><td>%s</td></tr>\n",
        number_in(pass, "waiting_for_reading"), number_in(pass, "waiting_for_writing"),
        hc_report_limit(all, number_in(pass, "waiting_for_reading"), number_in(pass, "waiting_for_writing")));
}

static void add_passes(HcText *to, const cJSON *seconds) {
    static const char *const heads[] = {"pass",
                                        "for",
                                        "s",
                                        "read, MB",
                                        "reading, s",
                                        "writing, s",
                                        "floor, s",
                                        "times the floor",
                                        "waiting for reading, s",
                                        "waiting for writing, s",
                                        "limit"};
    const cJSON *pass = NULL;
    int number = 0;
    open_table(to, "passes over the scene, and their floors");
    hc_text_add(to, "<thead><tr>");
    for (size_t h = 0; h < sizeof heads / sizeof *heads; h++) {
        hc_text_add(to, "<th scope=\"col\">%s</th>", heads[h]);
    }
    hc_text_add(to, "</tr></thead>\n<tbody>\n");
    cJSON_ArrayForEach(pass, cJSON_GetObjectItemCaseSensitive(seconds, "passes")) {
        add_pass(to, pass, ++number);
    }
    close_table(to);
    hc_text_add(to, "<p class=\"note\">The floor is the longer of reading and writing, as this run measured "
                    "them: both go on beside the computing, so that faster computing alone goes no lower. A "
                    "pass over a scene that is kept in memory reads nothing.</p>\n");
}

static void add_step_times(HcText *to, const cJSON *record) {
    static const char *const words[] = {"observe", "settle", "process", "write"};
    const cJSON *step = NULL;
    open_table(to, "steps, in seconds");
    hc_text_add(to, "<thead><tr><th scope=\"col\">step</th><th scope=\"col\">observing</th><th "
                    "scope=\"col\">fitting</th><th scope=\"col\">processing</th><th "
                    "scope=\"col\">writing</th></tr></thead>\n<tbody>\n");
    cJSON_ArrayForEach(step, cJSON_GetObjectItemCaseSensitive(record, "steps")) {
        const cJSON *seconds = cJSON_GetObjectItemCaseSensitive(step, "seconds");
        hc_text_add(to, "<tr><th scope=\"row\">");
        add_value(to, cJSON_GetObjectItemCaseSensitive(step, "stage"));
        hc_text_add(to, "</th>");
        for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
            hc_text_add(to, "<td class=\"n\">%.3g</td>", number_in(seconds, words[w]));
        }
        hc_text_add(to, "</tr>\n");
    }
    close_table(to);
}

void hc_report_add_times(HcText *to, const cJSON *record) {
    const cJSON *seconds = cJSON_GetObjectItemCaseSensitive(record, "seconds");
    add_passes(to, seconds);
    add_step_times(to, record);
    add_plain_table(to, "times of the run, in seconds", seconds);
}

const char *hc_report_limit(double seconds, double waiting_for_reading, double waiting_for_writing) {
    if (waiting_for_reading > 0.5 * seconds) {
        return "reading";
    }
    return waiting_for_writing > 0.5 * seconds ? "writing" : "computing";
}
