/* Text: a growing string, and the few helpers that every room needs. */
#ifndef HC_CORE_TEXT_H
#define HC_CORE_TEXT_H

#include "core/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A string that grows. Zero-initialise; `failed` is set when memory ran out, then appends do nothing. */
typedef struct HcText {
    char *data; /* terminated, or NULL while empty */
    size_t length, capacity;
    bool failed;
} HcText;

void hc_text_add(HcText *text, const char *format, ...) HC_PRINTF(2, 3);
/* The bytes in base 64, padded (RFC 4648). */
void hc_text_add_base64(HcText *text, const void *data, size_t bytes);
void hc_text_clear(HcText *text);
/* Hands the string to the caller and empties the text; NULL only when memory ran out. */
char *hc_text_take(HcText *text);

/* The string for a message: "" while the text is empty. Check `failed` first. */
static inline const char *hc_text_shown(const HcText *text) {
    return text->data != NULL ? text->data : "";
}

/* hc_fail with a message that holds `text`: out of memory where that ran out of it. */
#define hc_fail_text(err, status, text, ...)                                                                 \
    ((text)->failed ? hc_fail_memory((err), (double)(text)->length, "a message")                             \
                    : hc_fail((err), (status), __VA_ARGS__))

/* hc_text_made(path, strlen(folder), "a path", err): HC_OK, or HC_E_MEMORY where a fresh text is NULL. */
#define hc_text_made(text, bytes, what, err)                                                                 \
    ((text) != NULL ? HC_OK : hc_fail_memory((err), (double)(bytes), (what)))

/* A fresh string, to be freed; NULL when memory ran out. */
char *hc_text_format(const char *format, ...) HC_PRINTF(1, 2);
char *hc_text_vformat(const char *format, va_list arguments) HC_PRINTF(1, 0);

/* "1.5 GiB", "12.0 MiB", "812 B" into buffer, which is returned. */
const char *hc_text_bytes(char *buffer, size_t size, double bytes);

/* Parses "4G", "512MiB", "1.5gb", "4096" (powers of 1024); false for any other text. */
bool hc_text_parse_bytes(const char *text, uint64_t *bytes);

/* Parses a double or an integer that is the whole text, except for trailing blanks. Independent of the
 * locale. */
bool hc_text_parse_double(const char *text, double *value);
bool hc_text_parse_int(const char *text, int64_t *value);

/* The shortest text that reads back as the same double, in any locale ("0.1", "1e-07", "nan", "-inf"); buffer
 * is returned. */
#define HC_TEXT_DOUBLE 32 /* bytes of the buffer */
const char *hc_text_double(char *buffer, double value);

/* The place of a word in a list that ends with NULL, whatever its case; -1 = it is not there, or NULL. */
int32_t hc_text_find(const char *word, const char *const *words);

/* The name nearest to `word` by edit distance, of a list that ends with NULL; NULL where no name is near. */
const char *hc_text_nearest(const char *word, const char *const *names);

/* ---- UTF-8, as drawing libraries, XML and HTML take it ---- */

/* What is shown of the character at `at`, into `shown`: escapes of a control character or a byte that is no
 * UTF-8 ("\x1b"), and of what turns the direction of a text or ends a line in it ("\u202e"); others as they
 * are. Returns its bytes, 0 at the end. A byte makes at most HC_UTF8_SHOWN / 2 - 1 others. */
enum { HC_UTF8_SHOWN = 10 };
size_t hc_utf8_show(const char *at, char shown[HC_UTF8_SHOWN]);

/* A copy in fresh memory of what is shown, with a blank for a tab and the end of a line; NULL when memory ran
 * out. */
char *hc_utf8_clean(const char *text);

/* The length in bytes of the character at `at`; 0 where it is none, or at the end. */
size_t hc_utf8_length(const char *at);

/* Adds the first `bytes` bytes of clean text with the five entities of XML. */
void hc_utf8_add_xml(HcText *to, const char *text, size_t bytes);

/* The same for any text, which is cleaned first. */
void hc_utf8_add_escaped(HcText *to, const char *text);

/* ---- names in CSV ---- */

/* Adds what is shown of a name as a cell, between quotes where it needs them or `quoted`. Spreadsheets
 * compute what begins with = + - or @: an apostrophe comes before such a name, unless it is a number. */
void hc_text_add_cell(HcText *to, const char *name, bool quoted);

/* Removes what may be a secret from the addresses of servers in a text, in place: the query after the "?",
 * and the name and password before the "@". For all that is shown or stored. */
void hc_text_hide_secrets(char *text);
/* The same where the text is one address, which may have spaces. */
void hc_text_hide_in_address(char *address);

/* Whether a cell begins with an apostrophe that hc_text_add_cell has added. */
bool hc_text_is_guarded(const char *cell);

/* ---- comparing ---- */

/* Case-insensitive, ASCII. */
bool hc_text_equal(const char *a, const char *b);
/* Ignores blanks around both texts; false where both are blank. */
bool hc_text_equal_trimmed(const char *a, const char *b);
bool hc_text_ends_with(const char *text, const char *ending);

#ifdef __cplusplus
}
#endif
#endif
