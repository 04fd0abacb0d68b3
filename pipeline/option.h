/* Options: one table for a stage or command makes its parser, its checks, its --help and its documentation.
 */
#ifndef HC_PIPELINE_OPTION_H
#define HC_PIPELINE_OPTION_H

#include "core/status.h"
#include "core/text.h"

#include <stddef.h>
#include <stdint.h>

/* Type of the field that an option fills, and its value while the option is not given. */
typedef enum HcOptionKind {
    HC_OPTION_FLAG,   /* bool, false */
    HC_OPTION_LEVEL,  /* int32_t, 0; 1 when given alone, 2 when given as --name=VALUE with the one `value` */
    HC_OPTION_INT,    /* int64_t, HC_INT_NOT_GIVEN */
    HC_OPTION_REAL,   /* double, NaN */
    HC_OPTION_SIZE,   /* uint64_t bytes, 0 */
    HC_OPTION_TEXT,   /* const char *, NULL; borrowed from the words */
    HC_OPTION_CHOICE, /* int32_t, place in `choices`, -1 */
    HC_OPTION_LIST    /* HcOptionList of texts, may be repeated */
} HcOptionKind;

/* What becomes of the file that an option names. These marks are the only list of files that a command reads
 * and writes: the chain, its checks, the help and the tests go by them. */
typedef enum HcOptionFile {
    HC_FILE_NONE,   /* the option names no file */
    HC_FILE_READ,   /* a word that is no file is passed over (--noise shift) */
    HC_FILE_WRITTEN /* "none" names no file where the option's `value` shows that word */
} HcOptionFile;

/* How far outputs may replace existing files: the field of an option --overwrite[=any]. */
typedef enum HcOverwrite {
    HC_OVERWRITE_NONE,  /* not at all */
    HC_OVERWRITE_USUAL, /* but for a scene that looks as if it was meant as the input */
    HC_OVERWRITE_ANY    /* this one as well */
} HcOverwrite;

#define HC_INT_NOT_GIVEN INT64_MIN
#define HC_LIST_MAX      32

typedef struct HcOptionList {
    const char *item[HC_LIST_MAX + 1]; /* NULL-terminated */
    int32_t count;
} HcOptionList;

typedef struct HcOption {
    const char *name; /* "components": given as --components */
    char letter;      /* 'k': also as -k; 0 = none */
    HcOptionKind kind;
    size_t offset;              /* of the field in the parameters */
    HcOptionFile file;          /* for TEXT and LIST */
    const char *value;          /* how help shows the value: "COUNT"; NULL for flags */
    const char *standard;       /* the default as text, or NULL */
    double minimum, maximum;    /* for INT and REAL; both 0 = any */
    const char *const *choices; /* for CHOICE, NULL-terminated */
    bool positional;            /* may be given without its name, in the order of the table */
    bool required;
    bool of_fit;      /* says how a model is fitted: of no use where one is loaded */
    const char *help; /* one sentence, with the unit */
} HcOption;

/* A table (ended by a NULL name) with the parameters it fills. */
typedef struct HcOptionSet {
    const HcOption *table;
    void *params;
    bool named_only; /* its positional options are given by name here */
} HcOptionSet;

/* Fills the defaults. */
void hc_options_reset(const HcOption *table, void *params);

/* Reads words into the sets (reset before); the first set that knows a name takes it, positional words go to
 * the positional options that were not given by name, of the first set, then the next. `who` starts the
 * messages: "mnf: --componets: unknown option, did you mean --components?". Checks ranges and what is
 * required. */
HcStatus hc_options_parse(const char *who, const HcOptionSet *sets, int32_t set_count,
                          const char *const *words, int32_t word_count, HcError *err) HC_MUST_CHECK;

/* How many of the first words are options of these sets with their values, before the first other word. */
int32_t hc_options_leading(const HcOptionSet *sets, int32_t set_count, const char *const *words,
                           int32_t word_count);

/* Whether the option takes a value that may be the next word. */
bool hc_option_takes_value(const HcOption *option);

/* The help of a table, one option a paragraph line. */
void hc_options_help(const HcOption *table, HcText *text);

/* Calls `visit` for every file of that kind that the parameters name, until one fails; paths are borrowed. */
typedef HcStatus (*HcOptionVisit)(const HcOption *option, const char *path, void *user, HcError *err);
HcStatus hc_options_files(const HcOptionSet *set, HcOptionFile kind, HcOptionVisit visit, void *user,
                          HcError *err) HC_MUST_CHECK;

/* "1,2,3" into values; returns how many, or -1 when it is no such list or longer than `limit`. */
int32_t hc_option_numbers(const char *text, double *values, int32_t limit);

#endif
