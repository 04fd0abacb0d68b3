/* Growing texts, numbers in the C locale, UTF-8 for terminals and pages. A text that runs out of memory
 * remembers it until hc_text_take, so that callers check once. Numbers are read and written in the C
 * locale whatever that of a library is. */
#include "core/text.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static HC_PRINTF(2, 0) void add_arguments(HcText *text, const char *format, va_list arguments) {
    if (text->failed) {
        return;
    }
    va_list again;
    va_copy(again, arguments);
    int needed = vsnprintf(NULL, 0, format, again);
    va_end(again);
    size_t size = text->length + (size_t)(needed < 0 ? 0 : needed) + 1;
    if (needed >= 0 && size > text->capacity) {
        size_t capacity = text->capacity < 64 ? 64 : text->capacity;
        while (capacity < size) {
            capacity *= 2;
        }
        char *data = realloc(text->data, capacity);
        if (data == NULL) {
            text->failed = true;
            return;
        }
        text->data = data;
        text->capacity = capacity;
    }
    if (needed < 0) {
        text->failed = true;
        return;
    }
    vsnprintf(text->data + text->length, text->capacity - text->length, format, arguments);
    text->length += (size_t)needed;
}

void hc_text_add(HcText *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add_arguments(text, format, arguments);
    va_end(arguments);
}

/* A line of base 64 at a time: one character at a time would call the formatter a million times. */
void hc_text_add_base64(HcText *text, const void *data, size_t bytes) {
    const uint8_t *byte = data;
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char line[4097];
    for (size_t at = 0; at < bytes;) {
        size_t length = 0;
        for (; at < bytes && length < sizeof line - 1; at += 3) {
            size_t left = bytes - at;
            uint32_t three = (uint32_t)byte[at] << 16 | (left > 1 ? (uint32_t)byte[at + 1] << 8 : 0) |
                             (left > 2 ? byte[at + 2] : 0);
            line[length++] = digits[three >> 18];
            line[length++] = digits[three >> 12 & 63];
            line[length++] = left > 1 ? digits[three >> 6 & 63] : '=';
            line[length++] = left > 2 ? digits[three & 63] : '=';
        }
        line[length] = 0;
        hc_text_add(text, "%s", line);
    }
}

void hc_text_clear(HcText *text) {
    free(text->data);
    *text = (HcText){0};
}

char *hc_text_take(HcText *text) {
    char *data = text->failed ? NULL : text->data;
    if (text->failed) {
        free(text->data);
    } else if (data == NULL) {
        data = calloc(1, 1);
    }
    *text = (HcText){0};
    return data;
}

char *hc_text_vformat(const char *format, va_list arguments) {
    HcText text = {0};
    add_arguments(&text, format, arguments);
    return hc_text_take(&text);
}

char *hc_text_format(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = hc_text_vformat(format, arguments);
    va_end(arguments);
    return text;
}

const char *hc_text_bytes(char *buffer, size_t size, double bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t unit = 0;
    while (bytes >= 1024 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1024;
        unit++;
    }
    snprintf(buffer, size, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return buffer;
}

static locale_t plain_locale_made;
static pthread_once_t plain_locale_once = PTHREAD_ONCE_INIT;

static void make_plain_locale(void) {
    plain_locale_made = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t plain_locale(void) {
    pthread_once(&plain_locale_once, make_plain_locale);
    return plain_locale_made;
}

static bool only_blanks(const char *text) {
    while (isspace((unsigned char)*text)) {
        text++;
    }
    return *text == '\0';
}

bool hc_text_parse_double(const char *text, double *value) {
    char *end = NULL;
    *value = strtod_l(text, &end, plain_locale());
    return end != text && only_blanks(end);
}

bool hc_text_parse_int(const char *text, int64_t *value) {
    char *end = NULL;
    errno = 0;
    long long parsed = strtoll(text, &end, 10);
    *value = parsed;
    return end != text && only_blanks(end) && errno == 0;
}

bool hc_text_parse_bytes(const char *text, uint64_t *bytes) {
    char *end = NULL;
    double value = strtod_l(text, &end, plain_locale());
    if (end == text || !(value >= 0)) {
        return false;
    }
    while (*end == ' ') {
        end++;
    }
    static const char letters[] = "kmgt";
    double factor = 1;
    const char *letter = *end != '\0' ? strchr(letters, tolower((unsigned char)*end)) : NULL;
    if (letter != NULL) {
        factor = pow(1024, (double)(letter - letters) + 1);
        end++;
        if (tolower((unsigned char)*end) == 'i') {
            end++;
        }
    }
    if (tolower((unsigned char)*end) == 'b') {
        end++;
    }
    value *= factor;
    if (!only_blanks(end) || value >= 9e18) {
        return false;
    }
    *bytes = (uint64_t)value;
    return true;
}

/* Insertions, deletions, replacements and exchanges of neighbours (optimal string alignment), in three rows.
 */
static size_t edit_distance(const char *a, const char *b) {
    enum { LENGTH_MAX = 63 };
    size_t rows[3][LENGTH_MAX + 1];
    size_t length = strlen(b);
    if (length > LENGTH_MAX) {
        return length;
    }
    for (size_t j = 0; j <= length; j++) {
        rows[0][j] = j;
    }
    size_t i = 0;
    while (a[i] != '\0') {
        i++;
        size_t *row = rows[i % 3];
        const size_t *before = rows[(i + 2) % 3];
        const size_t *before_that = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= length; j++) {
            size_t best = before[j - 1] + (a[i - 1] != b[j - 1]);
            best = before[j] + 1 < best ? before[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before_that[j - 2] + 1 < best) {
                best = before_that[j - 2] + 1;
            }
            row[j] = best;
        }
    }
    return rows[i % 3][length];
}

int32_t hc_text_find(const char *word, const char *const *words) {
    int32_t place = 0;
    while (word != NULL && words[place] != NULL && !hc_text_equal(word, words[place])) {
        place++;
    }
    return word != NULL && words[place] != NULL ? place : -1;
}

const char *hc_text_nearest(const char *word, const char *const *names) {
    const char *nearest = NULL;
    size_t best = strlen(word) / 3 + 2; /* a distance that is no longer a slip of the finger */
    for (; *names != NULL; names++) {
        size_t distance = edit_distance(word, *names);
        if (distance < best) {
            best = distance;
            nearest = *names;
        }
    }
    return nearest;
}

/* Letters of a text without the blanks around it. */
static size_t trimmed(const char **text) {
    *text += strspn(*text, " \t");
    size_t length = strlen(*text);
    while (length > 0 && ((*text)[length - 1] == ' ' || (*text)[length - 1] == '\t')) {
        length--;
    }
    return length;
}

bool hc_text_equal_trimmed(const char *a, const char *b) {
    size_t a_length = trimmed(&a), b_length = trimmed(&b);
    return a_length > 0 && a_length == b_length && strncasecmp(a, b, a_length) == 0;
}

bool hc_text_equal(const char *a, const char *b) {
    for (; *a != '\0' && *b != '\0'; a++, b++) {
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) {
            return false;
        }
    }
    return *a == *b;
}

bool hc_text_ends_with(const char *text, const char *ending) {
    size_t length = strlen(text);
    size_t tail = strlen(ending);
    return length >= tail && hc_text_equal(text + length - tail, ending);
}

/* ---- UTF-8 ---- */

size_t hc_utf8_length(const char *at) {
    const unsigned char *c = (const unsigned char *)at;
    if (c[0] == 0) {
        return 0;
    }
    if (c[0] < 0x80) {
        return 1;
    }
    size_t length = c[0] >= 0xc2 && c[0] < 0xe0   ? 2
                    : c[0] >= 0xe0 && c[0] < 0xf0 ? 3
                    : c[0] >= 0xf0 && c[0] < 0xf5 ? 4
                                                  : 0;
    for (size_t i = 1; i < length; i++) {
        if ((c[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90);
    bool beyond = (c[0] == 0xed && c[1] >= 0xa0) || (c[0] == 0xf4 && c[1] >= 0x90);
    bool no_character = c[0] == 0xef && c[1] == 0xbf && c[2] >= 0xbe; /* U+FFFE and U+FFFF: not in XML */
    return overlong || beyond || no_character ? 0 : length;
}

/* The number of the character of up to 3 bytes there. */
static unsigned int code_at(const unsigned char *c, size_t bytes) {
    return bytes == 1   ? c[0]
           : bytes == 2 ? (c[0] & 0x1fu) << 6 | (c[1] & 0x3fu)
           : bytes == 3 ? (c[0] & 0x0fu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu)
                        : 0x10000;
}

/* Marks, embeddings, overrides and isolates of direction, and what ends lines and paragraphs. */
static bool turns(unsigned int code) {
    return code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

size_t hc_utf8_show(const char *at, char shown[HC_UTF8_SHOWN]) {
    const unsigned char *c = (const unsigned char *)at;
    size_t bytes = hc_utf8_length(at);
    unsigned int code = code_at(c, bytes);
    bool none = bytes == 0 && *c != 0;
    bool control = none || (bytes > 0 && (code < 0x20 || (code >= 0x7f && code < 0xa0)));
    bytes += none;
    if (turns(code)) {
        snprintf(shown, HC_UTF8_SHOWN, "\\u%04x", code);
    } else if (control) {
        snprintf(shown, HC_UTF8_SHOWN, bytes > 1 ? "\\x%02x\\x%02x" : "\\x%02x", c[0], c[1]);
    } else {
        snprintf(shown, HC_UTF8_SHOWN, "%.*s", (int)bytes, at);
    }
    return bytes;
}

char *hc_utf8_clean(const char *text) {
    HcText clean = {0};
    char shown[HC_UTF8_SHOWN] = "";
    hc_text_add(&clean, "%s", "");
    for (size_t bytes; (bytes = hc_utf8_show(text, shown)) > 0; text += bytes) {
        hc_text_add(&clean, "%s", strchr("\t\n\r", *text) != NULL ? " " : shown);
    }
    return hc_text_take(&clean);
}

/* Whether a spreadsheet computes what begins so, also after apostrophes, so that each is taken off again. */
static bool computes(const char *name) {
    double value = 0;
    name += strspn(name, "'");
    name += strspn(name, " ");
    return *name != '\0' && strchr("=+-@", *name) != NULL && !hc_text_parse_double(name, &value);
}

void hc_text_add_cell(HcText *to, const char *name, bool quoted) {
    char shown[HC_UTF8_SHOWN] = "";
    quoted = quoted || strpbrk(name, ",\"") != NULL;
    hc_text_add(to, "%s%s", quoted ? "\"" : "", computes(name) ? "'" : "");
    for (size_t bytes; (bytes = hc_utf8_show(name, shown)) > 0; name += bytes) {
        hc_text_add(to, "%s", *name == '"' ? "\"\"" : shown);
    }
    hc_text_add(to, "%s", quoted ? "\"" : "");
}

bool hc_text_is_guarded(const char *cell) {
    return *cell == '\'' && computes(cell + 1);
}

static const char *entity_of(char letter) {
    switch (letter) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void hc_utf8_add_xml(HcText *to, const char *text, size_t bytes) {
    for (size_t i = 0; i < bytes;) {
        const char *entity = entity_of(text[i]);
        size_t plain = i;
        while (plain < bytes && entity_of(text[plain]) == NULL) {
            plain++;
        }
        if (entity != NULL) {
            hc_text_add(to, "%s", entity);
            i++;
        } else {
            hc_text_add(to, "%.*s", (int)(plain - i), text + i);
            i = plain;
        }
    }
}

void hc_utf8_add_escaped(HcText *to, const char *text) {
    char *clean = hc_utf8_clean(text);
    to->failed = to->failed || clean == NULL;
    if (clean != NULL) {
        hc_utf8_add_xml(to, clean, strlen(clean));
    }
    free(clean);
}

/* ---- addresses of servers ---- */

/* What ends an address in a line or a list. */
static size_t address_length(const char *text) {
    size_t length = 0;
    while (text[length] != '\0' && strchr(" \t\r\n\"'<>()|", text[length]) == NULL &&
           !(text[length] == ':' && (text[length + 1] == ' ' || text[length + 1] == '\0'))) {
        length++;
    }
    return length;
}

/* Hides what is in the address of that length; returns the length that is left. */
static size_t hide_in_address(char *at, size_t length) {
    char *scheme = memmem(at, length, "://", 3);
    char *server = scheme != NULL ? scheme + 3 : NULL;
    bool remote = scheme != NULL || strncmp(at, "/vsi", 4) == 0;
    char *query = remote ? memchr(at, '?', length) : NULL;
    size_t kept = query != NULL ? (size_t)(query - at) : length;
    memmove(at + kept, at + length, strlen(at + length) + 1);
    size_t host = server != NULL && server < at + kept ? strcspn(server, "/ ") : 0;
    char *end = host > 0 ? memrchr(server, '@', host) : NULL;
    if (end != NULL && end < at + kept) {
        size_t hidden = (size_t)(end + 1 - server);
        memmove(server, end + 1, strlen(end + 1) + 1);
        kept -= hidden;
    }
    return kept;
}

void hc_text_hide_in_address(char *address) {
    (void)hide_in_address(address, strlen(address));
}

void hc_text_hide_secrets(char *text) {
    if (strpbrk(text, "?@") == NULL) {
        return;
    }
    while (*text != '\0') {
        size_t length = address_length(text);
        length = length > 0 ? hide_in_address(text, length) : 0;
        text += length > 0 ? length : 1;
    }
}
