/* Lines that are printed. Names of files, and what libraries say of them, may hold bytes that a terminal
 * obeys: they are shown as \x1b instead. */
#include "app/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Control characters, also those of 8 bits in UTF-8 (C2 80 to C2 9F). Returns how many bytes there are. */
static size_t control_at(const unsigned char *at) {
    if (at[0] < 0x20 || at[0] == 0x7f) {
        return 1;
    }
    return at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0 ? 2 : 0;
}

/* Bytes of the UTF-8 character there, 0 = it is none. */
static size_t character_at(const unsigned char *at) {
    size_t bytes = at[0] < 0x80                     ? 1
                   : at[0] >= 0xc2 && at[0] <= 0xdf ? 2
                   : at[0] >= 0xe0 && at[0] <= 0xef ? 3
                   : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
                                                    : 0;
    for (size_t b = 1; b < bytes; b++) {
        if (at[b] < 0x80 || at[b] > 0xbf) {
            return 0;
        }
    }
    bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    bool beyond = (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf4 && at[1] > 0x8f);
    return overlong || beyond ? 0 : bytes;
}

/* Of each byte at most so many are printed: \x1b. */
#define SHOWN_BYTES 4

/* What is printed of `text`, into SHOWN_BYTES * strlen(text) + 1 bytes. */
static void clean_line(const char *text, char *line) {
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        size_t bytes = control_at(at);
        if (bytes == 0) {
            *line++ = (char)*at++;
        }
        for (; bytes > 0; bytes--) {
            line += sprintf(line, "\\x%02x", *at++);
        }
    }
    *line = '\0';
}

/* JSON stays JSON: control characters by number, and what is no UTF-8 as the character that stands for it. */
static char *clean_json(const char *text) {
    HcText clean = {0};
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        size_t control = control_at(at);
        size_t bytes = character_at(at);
        if (control > 0) {
            hc_text_add(&clean, "\\u%04x", at[control - 1]);
        } else if (bytes == 0) {
            hc_text_add(&clean, "\\ufffd");
        } else {
            hc_text_add(&clean, "%.*s", (int)bytes, (const char *)at);
        }
        at += control > 0 ? control : bytes > 0 ? bytes : 1;
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
    HcStatus status = text != NULL ? HC_OK : hc_fail_memory(err, 0, "the JSON");
    if (text != NULL) {
        printf("%s\n", text);
    }
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
