/* A walk over the bytes that counts lines, so that messages name the line. Fields are kept as text in their
 * order; a value is parsed when a caller asks for it. So a flaw in a field that nobody needs refuses no
 * scene. */
#include "io/read/metadata/envi_header.h"
#include "core/allocate.h"
#include "core/grow.h"
#include "core/text.h"
#include "io/gdal/errors.h"
#include "io/gdal/files.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Headers with a name for each of some hundred thousand spectra are a few megabytes. */
#define HEADER_LIMIT ((size_t)64 << 20)

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\0';
}

static bool is_line_end(char c) {
    return c == '\n' || c == '\r';
}

static bool is_space(char c) {
    return is_blank(c) || is_line_end(c);
}

/* The byte order mark that some editors put first. */
static size_t mark_bytes(const char *data, size_t bytes) {
    return bytes >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

/* Whether "ENVI" begins the text in UTF-16 of either order, after its mark or without one. */
static bool is_utf16(const char *data, size_t bytes) {
    bool mark = bytes >= 2 && (memcmp(data, "\xFF\xFE", 2) == 0 || memcmp(data, "\xFE\xFF", 2) == 0);
    const char *begin = data + (mark ? 2 : 0);
    return bytes >= (mark ? 9U : 7U) &&
           (memcmp(begin, "E\0N\0V\0I", 7) == 0 || memcmp(begin, "\0E\0N\0V\0", 7) == 0);
}

bool hc_envi_recognise(const char *data, size_t bytes) {
    size_t i = mark_bytes(data, bytes);
    if (is_utf16(data, bytes)) {
        return true; /* hc_envi_parse says so */
    }
    while (i < bytes && is_blank(data[i])) {
        i++;
    }
    if (bytes - i < 4 || memcmp(data + i, "ENVI", 4) != 0) {
        return false;
    }
    for (i += 4; i < bytes && !is_line_end(data[i]); i++) {
        if (!is_blank(data[i])) {
            return false;
        }
    }
    return true;
}

/* A walk over the bytes of a header that counts lines; CR, LF and CR LF each end one. */
typedef struct Cursor {
    const char *data;
    size_t at, bytes;
    int32_t line;
} Cursor;

static void step(Cursor *cursor) {
    char c = cursor->data[cursor->at++];
    if (c == '\r' && cursor->at < cursor->bytes && cursor->data[cursor->at] == '\n') {
        return;
    }
    cursor->line += is_line_end(c);
}

static void skip_line(Cursor *cursor) {
    while (cursor->at < cursor->bytes && !is_line_end(cursor->data[cursor->at])) {
        cursor->at++;
    }
}

/* Control characters count as blanks, also at the ends: messages hold no escape sequences, and a value of
 * nothing else is empty. */
static bool is_void(char c) {
    unsigned char byte = (unsigned char)c;
    return byte <= 0x20 || byte == 0x7F;
}

/* Whether a comment begins at `at`: a semicolon, the first of its line. */
static bool is_comment(const char *text, size_t at) {
    size_t begin = at;
    while (begin > 0 && is_blank(text[begin - 1])) {
        begin--;
    }
    return text[at] == ';' && begin > 0 && is_line_end(text[begin - 1]);
}

/* Makes blanks of the comments of a list and of control characters. */
static void clean(char *text, size_t length, bool list) {
    bool comment = false;
    for (size_t i = 0; i < length; i++) {
        bool end = is_line_end(text[i]);
        comment = list && !end && (comment || is_comment(text, i));
        text[i] = !end && (comment || is_void(text[i])) ? ' ' : text[i];
    }
}

static char *copy_trimmed(const char *from, size_t length, bool list) {
    size_t begin = 0;
    char *copy = malloc(length + 1);
    if (copy == NULL) {
        return NULL;
    }
    memcpy(copy, from, length);
    clean(copy, length, list);
    while (begin < length && is_void(copy[begin])) {
        begin++;
    }
    while (length > begin && is_void(copy[length - 1])) {
        length--;
    }
    memmove(copy, copy + begin, length - begin);
    copy[length - begin] = '\0';
    return copy;
}

/* Lower case, runs of blanks and underscores as one blank. */
static void normalise_key(char *key) {
    char *to = key;
    for (const char *from = key; *from != '\0'; from++) {
        char c = is_blank(*from) || *from == '_' ? ' ' : (char)tolower((unsigned char)*from);
        if (c != ' ' || (to > key && to[-1] != ' ')) {
            *to++ = c;
        }
    }
    *to = '\0';
}

static HcStatus add_field(HcEnviHeader *header, const char *key, size_t key_length, const char *value,
                          size_t value_length, bool braced, int32_t line, HcError *err) {
    HC_OR_RETURN(hc_grow(header->field, header->count, "the fields of a header", err));
    HcEnviField *field = &header->field[header->count++];
    *field = (HcEnviField){copy_trimmed(key, key_length, false), copy_trimmed(value, value_length, braced),
                           braced, line};
    if (field->key == NULL || field->value == NULL) {
        return hc_fail_memory(err, (double)(key_length + value_length), "a field of a header");
    }
    normalise_key(field->key);
    return HC_OK;
}

/* Whether the text between the last line end and `at` looks like `key =`: then the brace at `at` opens a
 * field of its own, and an earlier one was never closed. */
static bool opens_field(const char *data, size_t from, size_t at) {
    size_t end = at;
    while (end > from && is_blank(data[end - 1])) {
        end--;
    }
    if (end == from || data[end - 1] != '=') {
        return false;
    }
    size_t begin = --end;
    while (begin > from && !is_line_end(data[begin - 1])) {
        begin--;
        char c = data[begin];
        if (!isalnum((unsigned char)c) && !is_blank(c) && c != '_') {
            return false;
        }
    }
    return begin > from && end > begin;
}

/* The cursor stands after `key =`. */
static HcStatus parse_value(HcEnviHeader *header, Cursor *cursor, const char *key, size_t key_length,
                            HcError *err) {
    const char *data = cursor->data;
    int32_t line = cursor->line;
    while (cursor->at < cursor->bytes && is_blank(data[cursor->at])) {
        cursor->at++;
    }
    size_t begin = cursor->at;
    if (begin >= cursor->bytes || data[begin] != '{') {
        skip_line(cursor);
        return add_field(header, key, key_length, data + begin, cursor->at - begin, false, line, err);
    }
    begin++;
    bool open = true;
    while (open && cursor->at < cursor->bytes) {
        char c = data[cursor->at];
        if (is_comment(data, cursor->at)) {
            skip_line(cursor);
            continue;
        }
        if (c == '}') {
            open = false;
        } else if (c == '{' && cursor->at >= begin && opens_field(data, begin, cursor->at)) {
            break;
        }
        step(cursor);
    }
    if (open) {
        return hc_fail(err, HC_E_INPUT, "%s: the brace of '%.*s' in line %" PRId32 " is never closed",
                       header->path, (int)(key_length < 60 ? key_length : 60), key, line);
    }
    HcStatus status =
        add_field(header, key, key_length, data + begin, cursor->at - 1 - begin, true, line, err);
    skip_line(cursor);
    return status;
}

HcStatus hc_envi_parse(HcEnviHeader *out, const char *path, const char *data, size_t bytes, HcError *err) {
    HcStatus status = HC_OK;
    HcEnviHeader header = {0};
    Cursor cursor = {data, mark_bytes(data, bytes), bytes, 1};
    if (!hc_envi_recognise(data, bytes)) {
        return hc_fail(err, HC_E_INPUT, "%s: not an ENVI header (its first line is not ENVI)", path);
    }
    if (is_utf16(data, bytes)) {
        return hc_fail(err, HC_E_INPUT, "%s: an ENVI header in UTF-16, save it as UTF-8", path);
    }
    header.path = strdup(path);
    HC_OR_RETURN(hc_text_made(header.path, strlen(path), "a path", err));
    skip_line(&cursor);
    while (cursor.at < bytes) {
        while (cursor.at < bytes && is_space(data[cursor.at])) {
            step(&cursor);
        }
        size_t begin = cursor.at;
        while (cursor.at < bytes && !is_line_end(data[cursor.at]) && data[cursor.at] != '=') {
            cursor.at++;
        }
        if (cursor.at >= bytes) {
            break;
        }
        if (data[begin] == ';' || data[cursor.at] != '=') {
            skip_line(&cursor); /* a comment, or a line that says nothing */
            continue;
        }
        size_t key_length = cursor.at - begin;
        while (key_length > 0 && is_blank(data[begin + key_length - 1])) {
            key_length--;
        }
        cursor.at++;
        HC_TRY(parse_value(&header, &cursor, data + begin, key_length, err));
    }
    *out = header;
    header = (HcEnviHeader){0};
done:
    hc_envi_clear(&header);
    return status;
}

/* Whether reading ended because the file does. GDAL reports that also of a connection that ended. */
static bool is_all(const char *path, size_t bytes) {
    VSIStatBufL info;
    return !hc_gdal_stat(path, &info, 0) || (uint64_t)info.st_size <= bytes;
}

HcStatus hc_envi_load(HcEnviHeader *out, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    char *data = NULL;
    size_t bytes = 0, capacity = 0;
    errno = 0;
    VSILFILE *file = VSIFOpenL(path, "rb");
    if (file == NULL) {
        return hc_fail(err, hc_errno_status(errno, HC_E_INPUT), "%s: cannot be opened: %s", path,
                       strerror(errno));
    }
    for (size_t got = 1; got > 0 && bytes <= HEADER_LIMIT; bytes += got) {
        if (bytes == capacity) {
            capacity = capacity == 0 ? 16384 : 2 * capacity;
            char *grown = realloc(data, capacity);
            if (grown == NULL) {
                status = hc_fail_memory(err, (double)capacity, "a header");
                goto done;
            }
            data = grown;
        }
        got = VSIFReadL(data + bytes, 1, capacity - bytes, file);
    }
    if (bytes <= HEADER_LIMIT && !is_all(path, bytes)) {
        status = hc_fail(err, HC_E_IO, "%s: reading failed after %zu bytes", path, bytes);
        goto done;
    }
    if (bytes > HEADER_LIMIT) {
        status = hc_fail(err, HC_E_INPUT, "%s: too large for a header (more than %zu MiB)", path,
                         HEADER_LIMIT >> 20);
        goto done;
    }
    HC_TRY(hc_envi_parse(out, path, data, bytes, err));
done:
    VSIFCloseL(file);
    free(data);
    return status;
}

void hc_envi_clear(HcEnviHeader *header) {
    if (header == NULL) {
        return;
    }
    for (int32_t i = 0; i < header->count; i++) {
        free(header->field[i].key);
        free(header->field[i].value);
    }
    free(header->field);
    free(header->path);
    *header = (HcEnviHeader){0};
}

const HcEnviField *hc_envi_field(const HcEnviHeader *header, const char *key) {
    for (int32_t i = header->count - 1; i >= 0; i--) {
        if (strcmp(header->field[i].key, key) == 0) {
            return &header->field[i];
        }
    }
    return NULL;
}

const char *hc_envi_text(const HcEnviHeader *header, const char *key) {
    const HcEnviField *field = hc_envi_field(header, key);
    return field != NULL ? field->value : NULL;
}

static HcStatus fail_value(const HcEnviHeader *header, const HcEnviField *field, const char *value,
                           const char *why, HcError *err) {
    return hc_fail(err, HC_E_INPUT, "%s: %.60s = %.80s in line %" PRId32 " %s", header->path, field->key,
                   value, field->line, why);
}

HcStatus hc_envi_number(const HcEnviHeader *header, const char *key, double *value, bool *found,
                        HcError *err) {
    const HcEnviField *field = hc_envi_field(header, key);
    double parsed = 0;
    *found = field != NULL && field->value[0] != '\0';
    if (!*found) {
        return HC_OK;
    }
    if (!hc_text_parse_double(field->value, &parsed)) {
        return fail_value(header, field, field->value, "is not a number", err);
    }
    *value = parsed;
    return HC_OK;
}

HcStatus hc_envi_integer(const HcEnviHeader *header, const char *key, int64_t *value, bool *found,
                         HcError *err) {
    const HcEnviField *field = hc_envi_field(header, key);
    *found = field != NULL && field->value[0] != '\0';
    if (!*found) {
        return HC_OK;
    }
    int64_t parsed = 0;
    double number = 0;
    if (!hc_text_parse_int(field->value, &parsed)) {
        /* 14.0 is an integer too */
        if (!hc_text_parse_double(field->value, &number) || !(fabs(number) < 9e15) ||
            number != floor(number)) {
            return fail_value(header, field, field->value, "is not an integer", err);
        }
        parsed = (int64_t)number;
    }
    *value = parsed;
    return HC_OK;
}

HcStatus hc_envi_numbers(const HcEnviHeader *header, const char *key, double **values, int32_t *count,
                         HcError *err) {
    HcStatus status = HC_OK;
    const HcEnviField *field = hc_envi_field(header, key);
    double *list = NULL;
    int32_t n = 0;
    *values = NULL;
    *count = 0;
    if (field == NULL || field->value[0] == '\0') {
        return HC_OK;
    }
    size_t capacity =
        strlen(field->value) / 2 + 1; /* a number and what parts it from the next take two bytes */
    if (capacity > INT32_MAX) {
        return hc_fail_memory(err, (double)(capacity * sizeof *list), "a list of numbers");
    }
    HC_OR_RETURN(hc_new(list, capacity, "a list of numbers", err));
    for (const char *at = field->value; *at != '\0';) {
        char token[64];
        size_t length = 0;
        while (is_space(*at) && *at != '\0') {
            at++;
        }
        while (*at != '\0' && *at != ',' && !is_space(*at) && length + 1 < sizeof token) {
            token[length++] = *at++;
        }
        token[length] = '\0';
        if (length > 0 && (length + 1 == sizeof token || !hc_text_parse_double(token, &list[n++]))) {
            status = fail_value(header, field, token, "is not a number", err);
            goto done;
        }
        while (is_space(*at) && *at != '\0') {
            at++;
        }
        if (*at == ',') {
            at++;
            if (length == 0) {
                status = fail_value(header, field, ",", "misses a number", err);
                goto done;
            }
        }
    }
    if (n > 0) { /* a list of nothing is none: nobody may read from it */
        *values = list;
        *count = n;
        list = NULL;
    }
done:
    free(list);
    return status;
}

HcStatus hc_envi_texts(const HcEnviHeader *header, const char *key, char ***texts, int32_t *count,
                       HcError *err) {
    HcStatus status = HC_OK;
    const HcEnviField *field = hc_envi_field(header, key);
    *texts = NULL;
    *count = 0;
    if (field == NULL || field->value[0] == '\0') {
        return HC_OK;
    }
    size_t parts = 1;
    for (const char *at = field->value; *at != '\0'; at++) {
        parts += *at == ',';
    }
    int32_t n = 0;
    char **list = NULL;
    if (parts > INT32_MAX) {
        return hc_fail_memory(err, (double)(parts * sizeof *list), "a list of texts");
    }
    HC_OR_RETURN(hc_new(list, parts, "a list of texts", err));
    for (const char *at = field->value; n < (int32_t)parts;) {
        size_t length = strcspn(at, ",");
        if ((list[n++] = copy_trimmed(at, length, false)) == NULL) {
            status = hc_fail_memory(err, (double)length, "a text");
            goto done;
        }
        at += length + (at[length] == ',');
    }
    if (n > 1 && list[n - 1][0] == '\0') { /* the comma after the last one */
        free(list[--n]);
    }
    *texts = list;
    *count = n;
    list = NULL;
done:
    hc_free_texts(list, n);
    return status;
}

bool hc_envi_is_library(const HcEnviHeader *header) {
    const char *type = hc_envi_text(header, "file type");
    return type != NULL && strcasestr(type, "spectral library") != NULL;
}

/* Bytes of the UTF-8 character at `at`, 0 if it is none. */
static size_t utf8_bytes(const unsigned char *at) {
    size_t n = at[0] < 0x80                    ? 1
               : at[0] >= 0xC2 && at[0] < 0xE0 ? 2
               : at[0] >= 0xE0 && at[0] < 0xF0 ? 3
               : at[0] >= 0xF0 && at[0] < 0xF5 ? 4
                                               : 0;
    for (size_t i = 1; i < n; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (n == 3 && at[0] == 0xE0 && at[1] < 0xA0) || (n == 4 && at[0] == 0xF0 && at[1] < 0x90);
    bool beyond = (n == 3 && at[0] == 0xED && at[1] >= 0xA0) || (n == 4 && at[0] == 0xF4 && at[1] >= 0x90);
    return overlong || beyond ? 0 : n;
}

char *hc_envi_clean(const char *text) {
    char *clean = malloc(2 * strlen(text) + 1);
    char *to = clean;
    if (clean == NULL) {
        return NULL;
    }
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        size_t n = utf8_bytes(at);
        bool control = n == 1 ? *at <= 0x20 || *at == 0x7F : n == 2 && at[0] == 0xC2 && at[1] < 0xA0;
        if (control || (n == 0 && *at < 0xA0)) {
            if (to > clean && to[-1] != ' ') {
                *to++ = ' ';
            }
        } else if (n == 0) {
            *to++ = (char)(0xC0 | (*at >> 6));
            *to++ = (char)(0x80 | (*at & 0x3F));
        } else {
            memcpy(to, at, n);
            to += n;
        }
        at += n == 0 ? 1 : n;
    }
    while (to > clean && to[-1] == ' ') {
        to--;
    }
    *to = '\0';
    return clean;
}
