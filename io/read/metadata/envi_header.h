/* ENVI headers: scenes, classifications and spectral libraries. Tolerant where the meaning is plain (line
 * ends, case, blanks, comments, defaults), strict where going on would be a guess. */
#ifndef HC_IO_READ_ENVI_HEADER_H
#define HC_IO_READ_ENVI_HEADER_H

#include "core/scene.h"
#include "core/texts.h"

/* One `key = value`. Keys are in lower case with single blanks; braces are not part of the value. */
typedef struct HcEnviField {
    char *key;
    char *value;
    bool braced;
    int32_t line; /* of the file, from 1 */
} HcEnviField;

/* Zero-initialise, then hc_envi_clear() is always safe. */
typedef struct HcEnviHeader {
    char *path; /* for messages */
    HcEnviField *field;
    int32_t count;
} HcEnviHeader;

/* Whether these first bytes of a file are those of an ENVI header: "ENVI" alone on the first line. */
bool hc_envi_recognise(const char *data, size_t bytes);

/* Parses a header in memory; `path` names it in messages. HC_E_INPUT when it is not one, or a brace stays
 * open. */
HcStatus hc_envi_parse(HcEnviHeader *out, const char *path, const char *data, size_t bytes,
                       HcError *err) HC_MUST_CHECK;

/* Reads and parses the file at `path` (/vsi... too). */
HcStatus hc_envi_load(HcEnviHeader *out, const char *path, HcError *err) HC_MUST_CHECK;
void hc_envi_clear(HcEnviHeader *header);

/* The field of that name (lower case, single blanks), the last one if it comes twice; NULL if there is none.
 */
const HcEnviField *hc_envi_field(const HcEnviHeader *header, const char *key);
/* Its value as written, or NULL; borrowed. */
const char *hc_envi_text(const HcEnviHeader *header, const char *key);

/* A scalar; *found is false (and *value untouched) when the key is missing or empty. HC_E_INPUT when the
 * value is not a number. */
HcStatus hc_envi_number(const HcEnviHeader *header, const char *key, double *value, bool *found,
                        HcError *err) HC_MUST_CHECK;
HcStatus hc_envi_integer(const HcEnviHeader *header, const char *key, int64_t *value, bool *found,
                         HcError *err) HC_MUST_CHECK;

/* A list of numbers, apart by commas or blanks; *values is fresh memory, NULL and 0 when the key is missing
 * or its value holds no number. */
HcStatus hc_envi_numbers(const HcEnviHeader *header, const char *key, double **values, int32_t *count,
                         HcError *err) HC_MUST_CHECK;

/* A list of texts, apart by commas, blanks round them removed; fresh memory for hc_free_texts, NULL and
 * 0 when the key is missing. */
HcStatus hc_envi_texts(const HcEnviHeader *header, const char *key, char ***texts, int32_t *count,
                       HcError *err) HC_MUST_CHECK;

typedef enum HcEnviInterleave {
    HC_ENVI_BSQ,
    HC_ENVI_BIL,
    HC_ENVI_BIP,
    HC_ENVI_NO_INTERLEAVE
} HcEnviInterleave;

/* Their names, in lower case, and NULL. */
extern const char *const hc_envi_interleaves[];

/* The fields that say how the data file is laid out. */
typedef struct HcEnviShape {
    int64_t samples, lines; /* > 0 and below 2^31 */
    int32_t bands;
    int32_t data_type;   /* as in the header */
    bool complex_values; /* data types 6 and 9: `type` does not hold */
    HcType type;
    HcEnviInterleave interleave;
    bool big_endian;
    bool compressed; /* `file compression = 1`: gzip */
    int64_t offset;  /* bytes before the first value */
} HcEnviShape;

/* Checks and returns them: HC_E_INPUT for missing, contradictory or impossible values. */
HcStatus hc_envi_shape(const HcEnviHeader *header, HcEnviShape *out, HcError *err) HC_MUST_CHECK;

/* Whether the file type is that of a spectral library. */
bool hc_envi_is_library(const HcEnviHeader *header);

/* A copy of a text that is valid UTF-8 on one line: control characters and line ends become single blanks,
 * bytes that are not UTF-8 are taken as Latin-1. NULL when memory ran out. */
char *hc_envi_clean(const char *text);

#endif
