/* Lines that are printed. Names of files, and what libraries say of them, may hold bytes that a terminal
 * obeys: hc_utf8_show says what is shown instead. */
#include "app/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Characters that are printed for one byte at most: \x1b. */
#define SHOWN_BYTES (HC_UTF8_SHOWN / 2 - 1)

/* What is printed of `text`, into SHOWN_BYTES * strlen(text) + 1 bytes, and HC_UTF8_SHOWN at least. */
static void clean_line(const char *text, char *line) {
    char shown[HC_UTF8_SHOWN] = "";
    *line = '\0';
    for (size_t bytes; (bytes = hc_utf8_show(text, shown)) > 0; text += bytes) {
        line = stpcpy(line, shown);
    }
}

/* JSON stays JSON: control characters by number, and what is no UTF-8 as the character that stands for it.
 * Ends of lines and tabs lie between its values. */
static char *clean_json(const char *text) {
    HcText clean = {0};
    char shown[HC_UTF8_SHOWN] = "";
    for (size_t bytes; (bytes = hc_utf8_show(text, shown)) > 0; text += bytes) {
        bool same = strncmp(shown, text, bytes) == 0 || strncmp(shown, "\\u", 2) == 0;
        if (strchr("\n\t", *text) != NULL) {
            hc_text_add(&clean, "%c", *text);
        } else if (same) {
            hc_text_add(&clean, "%s", shown);
        } else if (hc_utf8_length(text) == 0) {
            hc_text_add(&clean, "\\ufffd");
        } else {
            hc_text_add(&clean, "\\u%04x", (unsigned char)text[bytes - 1]);
        }
    }
    return hc_text_take(&clean);
}

/* A line needs no memory as long as it is no longer than most are; a longer one is cut where there is none:
 * it may be what says that memory has run out. In one piece, so that lines of several processes do not mix.
 */
HC_PRINTF(2, 0)
static void print_line(FILE *to, const char *format, va_list arguments) {
    char buffer[2048];
    char shown[SHOWN_BYTES * sizeof buffer];
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(buffer, sizeof buffer, format, arguments);
    char *text = length >= (int)sizeof buffer ? hc_text_vformat(format, again) : NULL;
    va_end(again);
    hc_text_hide_secrets(text != NULL ? text : buffer);
    char *line = text != NULL ? malloc(SHOWN_BYTES * strlen(text) + 1) : NULL;
    clean_line(line != NULL ? text : buffer, line != NULL ? line : shown);
    fprintf(to, "%s\n", line != NULL ? line : shown);
    free(line);
    free(text);
}

void hc_say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_line(stderr, format, arguments);
    va_end(arguments);
}

void hc_say_note(bool quiet, const char *note) {
    if (!quiet && note != NULL && *note != '\0') {
        hc_say("note: %s", note);
    }
}

void hc_show(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_line(stdout, format, arguments);
    va_end(arguments);
}

void hc_say_json(HcJson *json) {
    char *text = hc_json_format(json, true);
    char *line = text != NULL ? clean_json(text) : NULL;
    if (line != NULL) {
        fprintf(stderr, "%s\n", line);
    }
    free(line);
    cJSON_free(text);
    hc_json_clear(json);
}

HcStatus hc_print_json(HcJson *json, HcError *err) {
    char *text = hc_json_format(json, false);
    char *shown = text != NULL ? clean_json(text) : NULL;
    HcStatus status = shown != NULL ? HC_OK : hc_fail_memory(err, 0, "the JSON");
    if (shown != NULL) {
        printf("%s\n", shown);
    }
    free(shown);
    cJSON_free(text);
    hc_json_clear(json);
    return status;
}

const char *hc_duration_text(char *out, size_t size, double seconds) {
    if (seconds < 1) {
        snprintf(out, size, "%.0f ms", 1e3 * seconds);
    } else if (seconds < 120) {
        snprintf(out, size, "%.1f s", seconds);
    } else if (seconds < 7200) {
        snprintf(out, size, "%.0f min", seconds / 60);
    } else {
        snprintf(out, size, "%.1f h", seconds / 3600);
    }
    return out;
}
