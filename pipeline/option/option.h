/* Options: one table for a stage or command makes its parser, its checks, its defaults, its --help and the
 * tables of its page. A row says each thing once:
 *
 *     {HC_INT(Params, k), .letter = 'k', .range = {1, 128}, .initial = 5, .value = "COUNT",
 *      .help = "number of nearest training spectra that vote"}
 *
 * The parser fills the defaults, so that a stage reads its parameters as they are. */
#ifndef HC_PIPELINE_OPTION_H
#define HC_PIPELINE_OPTION_H

#include "core/status.h"
#include "core/text.h"

#include <stddef.h>
#include <stdint.h>

/* Type of the field that an option fills, and its value while the option is not given. */
typedef enum HcOptionKind {
    HC_OPTION_FLAG,   /* bool, false */
    HC_OPTION_INT,    /* int64_t, `initial` */
    HC_OPTION_REAL,   /* double, `initial` */
    HC_OPTION_SIZE,   /* uint64_t bytes, `initial` */
    HC_OPTION_TEXT,   /* const char *, `standard` or NULL; borrowed from the words */
    HC_OPTION_CHOICE, /* int32_t, place of `standard` in `choices`, or -1 */
    HC_OPTION_LIST    /* HcOptionList of texts, may be repeated */
} HcOptionKind;

/* What becomes of the file that an option names. These marks are the only list of files that a command reads
 * and writes: the chain, its checks, the help and the tests go by them. */
typedef enum HcOptionFile {
    HC_FILE_NONE,   /* the option names no file */
    HC_FILE_READ,   /* a word that is no file is passed over (--noise shift) */
    HC_FILE_WRITTEN /* "none" names no file where the option's `value` shows that word */
} HcOptionFile;

/* Ends of a range that are no values themselves. */
typedef enum HcOpenEnds { HC_CLOSED, HC_OPEN_LOW, HC_OPEN_HIGH, HC_OPEN_BOTH } HcOpenEnds;

/* {1, 128}; {0, INFINITY} is "at least 0", {0, 1} with both ends open "above 0 and below 1", {0, 0} any
 * number. */
typedef struct HcRange {
    double low, high;
} HcRange;

#define HC_LIST_MAX 32

typedef struct HcOptionList {
    const char *item[HC_LIST_MAX + 1]; /* NULL-terminated */
    int32_t count;
} HcOptionList;

typedef struct HcOption {
    const char *name; /* "components": given as --components */
    const char *was;  /* names before it, apart by blanks, that hc_options_renew takes or refuses; or NULL */
    HcOptionKind kind;
    size_t offset; /* of the field in the parameters */
    char letter;   /* 'k': also as -k; 0 = none */
    HcRange range; /* for INT and REAL */
    HcOpenEnds open;
    /* The default: a number, for TEXT and CHOICE a word. `otherwise` describes a default with a meaning of
     * its own: "one for each processor" for 0 threads. A REAL without a default has NAN, which no user can
     * give. */
    double initial;
    const char *standard, *otherwise;
    const char *unit;  /* "pixels", or NULL */
    const char *value; /* how help shows the value: "COUNT"; NULL for flags */
    /* For CHOICE, NULL-terminated; for TEXT some of the values, which the Tab key offers. */
    const char *const *choices;
    /* For TEXT: the value when it is given alone; a value then follows `=` (--ortho[=FILE]). It names no
     * file. */
    const char *alone;
    HcOptionFile file; /* for TEXT and LIST */
    /* The file of a value that says more than its name (FILE:LAYER), in fresh memory; NULL where the value is
     * the name. */
    char *(*file_of)(const char *value);
    /* With file_of, where a value may name several files: what follows the first of them, NULL = nothing. A
     * file_of that returns "" has found none. */
    const char *(*next_of)(const char *value);
    /* For TEXT: refuses values that are wrong for every scene, as ranges do for numbers; or NULL. */
    HcStatus (*check)(const char *who, const char *value, HcError *err);
    bool positional; /* may be given without its name, in the order of the table */
    bool required;
    /* Relations to options of the same command: names apart by blanks, or NAME=WORD for one with that value.
     * An option is given that has another value than the default. needs: one of these, too. excludes: none of
     * these. one_of: at most one of these, of which this option is one; stands in one row of the group. */
    const char *needs, *excludes, *one_of;
    bool yields;         /* as HcOptionSet.yields, of this option alone */
    bool of_fit;         /* controls how a model is fitted; has no effect on a loaded one */
    const char *heading; /* begins a block of options that stages share, behind those of the stage; or NULL */
    const char *help;    /* what it does, in one sentence: help adds unit, range and default */
} HcOption;

/* Name, kind and field of an option: HC_INT(Params, k) is --k. A name that differs from the field is a third
 * argument, so that a search finds it: HC_FLAG(Params, all_bands, "all-bands"). A field of another type does
 * not compile. */
#define HC_FLAG(...)   HC_OPTION_ROW_(HC_OPTION_FLAG, bool, __VA_ARGS__)
#define HC_INT(...)    HC_OPTION_ROW_(HC_OPTION_INT, int64_t, __VA_ARGS__)
#define HC_REAL(...)   HC_OPTION_ROW_(HC_OPTION_REAL, double, __VA_ARGS__)
#define HC_SIZE(...)   HC_OPTION_ROW_(HC_OPTION_SIZE, uint64_t, __VA_ARGS__)
#define HC_TEXT(...)   HC_OPTION_ROW_(HC_OPTION_TEXT, const char *, __VA_ARGS__)
#define HC_CHOICE(...) HC_OPTION_ROW_(HC_OPTION_CHOICE, int32_t, __VA_ARGS__)
#define HC_LIST(...)   HC_OPTION_ROW_(HC_OPTION_LIST, HcOptionList, __VA_ARGS__)

#define HC_OPTION_ROW_(kind, type, ...)                                                                      \
    HC_FOURTH_(__VA_ARGS__, HC_OPTION_NAMED_, HC_OPTION_BY_FIELD_, ~)(kind, type, __VA_ARGS__)
#define HC_FOURTH_(first, second, third, fourth, ...)  fourth
#define HC_OPTION_BY_FIELD_(kind, type, Params, field) HC_OPTION_NAMED_(kind, type, Params, field, #field)
#define HC_OPTION_NAMED_(kind_, type, Params, field, name_)                                                  \
    .name = (name_), .kind = (kind_),                                                                        \
    .offset = offsetof(Params, field) + _Generic(((Params *)0)->field, type                                  \
                                                 : (size_t)0)

/* Walks a table, which ends with an option without a name; NULL is a table without options. */
#define HC_EACH_OPTION(option, table)                                                                        \
    for (const HcOption *(option) = (table); (option) != NULL && (option)->name != NULL; (option)++)

/* Walks the terms of a relation, each of which ends at a blank; NULL is none. */
#define HC_EACH_TERM(term, terms)                                                                            \
    for (const char *(term) = (terms); (term) != NULL && *(term) != '\0';                                    \
         (term) += strcspn((term), " "), (term) += *(term) == ' ')

/* A table (ended by a NULL name, NULL = no options) with the parameters it fills. */
typedef struct HcOptionSet {
    const HcOption *table;
    void *params;
    bool named_only; /* its positional options are given by name here */
    bool yields;     /* a name that another set knows, too, is an option of that one */
} HcOptionSet;

/* Fills the defaults. */
void hc_options_reset(const HcOption *table, void *params);

/* Reads words into the sets (reset before). The first set that knows a name takes it, one that yields
 * after the others. Positional words fill
 * the positional options that no name has filled, set by set. `who` starts the messages: "mnf: --componets:
 * unknown option, did you mean --components?". Checks ranges and required options. */
HcStatus hc_options_parse(const char *who, const HcOptionSet *sets, int32_t set_count,
                          const char *const *words, int32_t word_count, HcError *err) HC_MUST_CHECK;

/* The same. at: the word that a failure is about, -1 = none, as where one is missing. */
HcStatus hc_options_parse_at(const char *who, const HcOptionSet *sets, int32_t set_count,
                             const char *const *words, int32_t word_count, int32_t *at,
                             HcError *err) HC_MUST_CHECK;

/* What does here what a word or "--option" of other programs does there: "hcube dimension SCENE"; NULL for
 * any other word (pipeline/foreign.def). */
const char *hc_foreign_advice(const char *word);

/* Replaces names that options had before (HcOption.was). An INT keeps its old name until 0.2, where a whole
 * number follows: the word becomes the new name, in fresh memory, and `note` gets a remark. Other values are
 * those of an option that has this name now, or HC_E_USAGE names the successor. at: the word in hand. */
HcStatus hc_options_renew(const char *who, const HcOptionSet *sets, int32_t set_count, char **words,
                          int32_t word_count, int32_t *at, HcText *note, HcError *err) HC_MUST_CHECK;

/* Refuses an option of the set `own` whose relations do not hold (relations.c). */
HcStatus hc_option_check_relations(const char *who, const HcOptionSet *sets, int32_t set_count,
                                   const HcOptionSet *own, const HcOption *option,
                                   HcError *err) HC_MUST_CHECK;

/* "--window, --mask or --method svm"; with `last` (" or ") NULL the first term alone. */
void hc_option_print_terms(const char *terms, const char *last, HcText *to);

/* How many of the first words are options of these sets with their values, before the first other word. */
int32_t hc_options_leading(const HcOptionSet *sets, int32_t set_count, const char *const *words,
                           int32_t word_count);

/* How many positional options the words fill, by their place or by their name; those by name of a set that
 * takes them by name only do not count. */
int32_t hc_options_places(const HcOptionSet *sets, int32_t set_count, const char *const *words,
                          int32_t word_count);

/* Whether the option takes a value that may be the next word. */
bool hc_option_takes_value(const HcOption *option);

/* Whether the field holds the default, and that is no value (`otherwise`, or none at all). */
bool hc_option_is_unset(const HcOption *option, const void *params);

/* For help: how the option is given, "--k COUNT, -k", and what it means with unit, range and default,
 * "number of nearest training spectra that vote. Range: 1 to 128. Default: 5".
 */
void hc_option_forms(const HcOption *option, HcText *text);
void hc_option_meaning(const HcOption *option, HcText *text);

/* Calls `visit` for every file of that kind that the parameters name, until one fails; paths are borrowed. */
typedef HcStatus (*HcOptionVisit)(const char *path, void *user, HcError *err);
HcStatus hc_options_files(const HcOptionSet *set, HcOptionFile kind, HcOptionVisit visit, void *user,
                          HcError *err) HC_MUST_CHECK;

/* "1,2,3" into values; returns how many, or -1 when it is no such list or longer than `limit`. */
int32_t hc_option_numbers(const char *text, double *values, int32_t limit);

#endif
