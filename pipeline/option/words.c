/* Words of chains: split as a shell would, filled with values, and printed so that they can be typed again.
 */
#include "pipeline/option/words.h"
#include "core/allocate.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

HcStatus hc_fail_before(HcError *err, HcStatus status, const char *format, ...) {
    if (err == NULL || err->status == HC_OK) {
        return status;
    }
    HcError said = *err;
    char before[sizeof said.text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(before, sizeof before, format, arguments);
    va_end(arguments);
    *err = (HcError){0};
    return hc_fail_at(err, said.status, said.file, said.line, "%s: %s", before, said.text);
}

/* The line of a place in a text, from 1. */
static int32_t line_of(const char *text, const char *at) {
    int32_t line = 1;
    for (const char *c = text; c < at; c++) {
        line += *c == '\n';
    }
    return line;
}

/* Puts the place before a failure: "a.hcube:3", or "the chain" where the text has no line ends. */
static HcStatus fail_at(const char *where, const char *text, const char *at, HcStatus status, HcError *err) {
    if (strchr(text, '\n') == NULL) {
        return hc_fail_before(err, status, "%s", where);
    }
    return hc_fail_before(err, status, "%s:%d", where, line_of(text, at));
}

HcStatus hc_words_split(const char *text, const char *where, char ***words, int32_t **lines, int32_t *count,
                        HcError *err) {
    HcStatus status = HC_OK;
    HcText word = {0};
    size_t capacity = strlen(text) / 2 + 2;
    char **list = NULL;
    int32_t *line = NULL;
    int32_t found = 0;
    HC_TRY(hc_new(list, capacity, "the words of the chain", err));
    HC_TRY(hc_new(line, capacity, "the words of the chain", err));
    const char *c = text, *counted = text;
    int32_t now = 1;
    for (;;) {
        c += strspn(c, " \t\r\n\v\f");
        if (*c == '#') {
            c += strcspn(c, "\n");
            continue;
        }
        if (*c == '\0') {
            break;
        }
        now += line_of(counted, c) - 1;
        counted = c;
        line[found] = now;
        while (*c != '\0' && !isspace((unsigned char)*c)) {
            if (*c == '\'' || *c == '"') {
                const char *open = c;
                char quote = *c++;
                while (*c != '\0' && *c != quote) {
                    c += quote == '"' && *c == '\\' && c[1] != '\0';
                    hc_text_add(&word, "%c", *c++);
                }
                if (*c++ == '\0') {
                    status = hc_fail(err, HC_E_USAGE, "a quote (%c) is not closed", quote);
                    HC_TRY(fail_at(where, text, open, status, err));
                }
            } else {
                c += *c == '\\' && c[1] != '\0';
                hc_text_add(&word, "%c", *c++);
            }
        }
        list[found] = hc_text_take(&word);
        HC_TRY(hc_text_made(list[found], 0, "the words of the chain", err));
        found++;
    }
done:
    hc_text_clear(&word);
    if (status != HC_OK) {
        hc_free_texts(list, found);
        list = NULL;
        found = 0;
    }
    if (status != HC_OK || lines == NULL) {
        free(line);
        line = NULL;
    }
    if (lines != NULL) {
        *lines = line;
    }
    *words = list;
    *count = found;
    return status;
}

/* The value of `name` in "name=value" entries, or NULL; marks it as used. */
static const char *value_of(const HcOptionList *values, const char *name, size_t length, bool *used) {
    for (int32_t v = 0; values != NULL && v < values->count; v++) {
        const char *entry = values->item[v];
        if (strncmp(entry, name, length) == 0 && entry[length] == '=') {
            used[v] = true;
            return entry + length + 1;
        }
    }
    return NULL;
}

/* A value as one word or a part of one, whatever it holds: within the open quote, or quoted where none is. */
static void add_value(const char *value, char quote, HcText *text) {
    if (quote == '\0') {
        hc_word_print(value, text);
        return;
    }
    for (; *value != '\0'; value++) {
        if (quote == '\'' && *value == '\'') {
            hc_text_add(text, "'\\''");
        } else {
            bool escaped = quote == '"' && (*value == '"' || *value == '\\');
            hc_text_add(text, escaped ? "\\%c" : "%c", *value);
        }
    }
}

HcStatus hc_words_fill(const char *text, const char *where, const HcOptionList *values, char **out,
                       HcError *err) {
    HcStatus status = HC_OK;
    HcText filled = {0};
    bool used[HC_LIST_MAX] = {false};
    char quote = '\0'; /* the open one; a value between quotes is not quoted again */
    for (const char *c = text; *c != '\0'; c++) {
        if (quote == '\0' && *c == '#' && (c == text || isspace((unsigned char)c[-1]))) {
            c += strcspn(c, "\n");
            c -= *c == '\0';
            hc_text_add(&filled, "\n");
            continue;
        }
        if (*c == '\\' && quote != '\'' && c[1] != '\0') {
            hc_text_add(&filled, "%c%c", c[0], c[1]);
            c++;
            continue;
        }
        if (*c == '\'' || *c == '"') {
            quote = quote == '\0' ? *c : quote == *c ? '\0' : quote;
        }
        if ((*c == '{' || *c == '}') && c[1] == *c) {
            hc_text_add(&filled, "%c", *c++);
        } else if (*c == '{') {
            size_t length = strcspn(c + 1, "}\n");
            if (c[1 + length] != '}') {
                status = hc_fail(err, HC_E_USAGE, "a placeholder { is not closed");
                HC_TRY(fail_at(where, text, c, status, err));
            }
            const char *value = value_of(values, c + 1, length, used);
            if (value == NULL) {
                status = hc_fail(err, HC_E_USAGE, "{%.*s} has no value (give --set %.*s=VALUE)", (int)length,
                                 c + 1, (int)length, c + 1);
                HC_TRY(fail_at(where, text, c, status, err));
            }
            add_value(value, quote, &filled);
            c += length + 1;
        } else {
            hc_text_add(&filled, "%c", *c);
        }
    }
    for (int32_t v = 0; values != NULL && v < values->count; v++) {
        if (!used[v]) {
            HC_TRY(hc_fail(err, HC_E_USAGE, "--set %s: %s has no such placeholder", values->item[v], where));
        }
    }
    *out = hc_text_take(&filled);
    HC_TRY(hc_text_made(*out, 0, "the chain", err));
done:
    hc_text_clear(&filled);
    return status;
}

void hc_word_print(const char *word, HcText *text) {
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,/:@%";
    if (*word != '\0' && word[strspn(word, safe)] == '\0') {
        hc_text_add(text, "%s", word);
        return;
    }
    hc_text_add(text, "'");
    for (; *word != '\0'; word++) {
        hc_text_add(text, *word == '\'' ? "'\\''" : "%c", *word);
    }
    hc_text_add(text, "'");
}
