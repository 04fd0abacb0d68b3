/* Parser, checks, defaults and help read the same rows, so that they cannot contradict each other. A word
 * that fits nothing is answered with what was probably meant: the nearest name, a former name of an option,
 * a list with blanks, a pattern that the shell has expanded. */
#include "pipeline/option/parts.h"
#include "io/gdal/remote.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static void *field(const HcOption *option, void *params) {
    return (char *)params + option->offset;
}

static void reset_one(const HcOption *option, void *params) {
    void *at = field(option, params);
    switch (option->kind) {
    case HC_OPTION_FLAG:
        *(bool *)at = false;
        break;
    case HC_OPTION_INT:
        *(int64_t *)at = (int64_t)option->initial;
        break;
    case HC_OPTION_REAL:
        *(double *)at = option->initial;
        break;
    case HC_OPTION_SIZE:
        *(uint64_t *)at = (uint64_t)option->initial;
        break;
    case HC_OPTION_TEXT:
        *(const char **)at = NULL;
        break;
    case HC_OPTION_CHOICE:
        *(int32_t *)at = -1;
        break;
    case HC_OPTION_LIST:
        memset(at, 0, sizeof(HcOptionList));
        break;
    }
}

/* ---- ranges ---- */

static bool is_outside(const HcOption *option, double value) {
    const HcRange *range = &option->range;
    bool low = (option->open & HC_OPEN_LOW) ? value > range->low : value >= range->low;
    bool high = (option->open & HC_OPEN_HIGH) ? value < range->high : value <= range->high;
    return hc_option_has_range(option) && !(low && high);
}

static HcStatus bad_range(const char *who, const HcOption *option, const char *word, HcError *err) {
    HcText range = {0};
    bool closed = option->open == HC_CLOSED && isfinite(option->range.low) && isfinite(option->range.high);
    hc_option_print_range(option, "between ", " and ", &range);
    HcStatus status =
        hc_fail_text(err, HC_E_USAGE, &range, "%s: --%s %s: must %s %s", who, option->name, word,
                     closed ? "lie" : "be", range.length > 0 ? range.data : "in its range");
    hc_text_clear(&range);
    return status;
}

static HcStatus set_choice(const char *who, const HcOption *option, int32_t *at, const char *word,
                           HcError *err) {
    HcText known = {0};
    int32_t place = hc_text_find(word, option->choices);
    if (place >= 0) {
        *at = place;
        return HC_OK;
    }
    hc_option_list_choices(option, ", ", &known);
    HcStatus status = hc_fail_text(err, HC_E_USAGE, &known, "%s: --%s %s: must be one of %s", who,
                                   option->name, word, hc_text_shown(&known));
    hc_text_clear(&known);
    return status;
}

/* A number, which may end with the unit of the option: "84" and "84mm". */
static bool parse_real(const HcOption *option, const char *word, double *real) {
    char number[64];
    size_t length = strlen(word), unit = option->unit != NULL ? strlen(option->unit) : 0;
    if (unit == 0 || length <= unit || length - unit >= sizeof number ||
        !hc_text_ends_with(word, option->unit)) {
        return hc_text_parse_double(word, real);
    }
    memcpy(number, word, length - unit);
    number[length - unit] = 0;
    return hc_text_parse_double(number, real);
}

static HcStatus set_value(const char *who, const HcOption *option, void *params, const char *word,
                          HcError *err) {
    void *at = field(option, params);
    int64_t whole = 0;
    double real = 0;
    word = option->file != HC_FILE_NONE ? hc_remote_name(word) : word;
    switch (option->kind) {
    case HC_OPTION_FLAG:
        *(bool *)at = true;
        return HC_OK;
    case HC_OPTION_INT:
        if (!hc_text_parse_int(word, &whole)) {
            return hc_fail(err, HC_E_USAGE, "%s: --%s %s: not a whole number", who, option->name, word);
        }
        *(int64_t *)at = whole;
        return is_outside(option, (double)whole) ? bad_range(who, option, word, err) : HC_OK;
    case HC_OPTION_REAL:
        /* NaN would mean "not given". */
        if (!parse_real(option, word, &real) || isnan(real)) {
            return hc_fail(err, HC_E_USAGE, "%s: --%s %s: not a number", who, option->name, word);
        }
        *(double *)at = real;
        return is_outside(option, real) ? bad_range(who, option, word, err) : HC_OK;
    case HC_OPTION_SIZE:
        if (!hc_text_parse_bytes(word, at) || *(uint64_t *)at == 0) {
            return hc_fail(err, HC_E_USAGE, "%s: --%s %s: not a size (like 512M or 4G)", who, option->name,
                           word);
        }
        return HC_OK;
    case HC_OPTION_TEXT:
        *(const char **)at = word;
        return option->check != NULL ? option->check(who, word, err) : HC_OK;
    case HC_OPTION_CHOICE:
        return set_choice(who, option, at, word, err);
    case HC_OPTION_LIST: {
        HcOptionList *list = at;
        if (list->count == HC_LIST_MAX) {
            return hc_fail(err, HC_E_USAGE, "%s: --%s: more than %d times", who, option->name, HC_LIST_MAX);
        }
        list->item[list->count++] = word;
        return HC_OK;
    }
    }
    return HC_OK;
}

void hc_options_reset(const HcOption *table, void *params) {
    HC_EACH_OPTION(option, table) {
        reset_one(option, params);
        if (option->standard != NULL) {
            /* A default that its own table refuses is a mistake in the table; the tests walk all tables. */
            (void)!set_value("", option, params, option->standard, NULL);
        }
    }
}

static const HcOption *find(const HcOptionSet *set, const char *name, size_t length, char letter) {
    HC_EACH_OPTION(option, set->table) {
        if (letter != 0 ? option->letter == letter
                        : strlen(option->name) == length && strncmp(option->name, name, length) == 0) {
            return option;
        }
    }
    return NULL;
}

const char *hc_foreign_advice(const char *word) {
    static const char *const foreign[][2] = {
#define FOREIGN(word, here) {word, here},
#include "pipeline/foreign.def"
#undef FOREIGN
    };
    for (size_t f = 0; f < sizeof foreign / sizeof *foreign; f++) {
        if (word[0] == '-' ? strcmp(foreign[f][0], word) == 0 : strcasecmp(foreign[f][0], word) == 0) {
            return foreign[f][1];
        }
    }
    return NULL;
}

/* Whether the advice names no option, or one of `names`. */
static bool advice_counts(const char *advice, const char *const *names) {
    const char *named = strstr(advice, "--");
    size_t length = named != NULL ? strspn(named + 2, "abcdefghijklmnopqrstuvwxyz-") : 0;
    for (size_t n = 0; named != NULL && names[n] != NULL; n++) {
        if (strlen(names[n]) == length && strncmp(names[n], named + 2, length) == 0) {
            return true;
        }
    }
    return named == NULL;
}

static HcStatus unknown(const char *who, const HcOptionSet *sets, int32_t set_count, const char *word,
                        HcError *err) {
    const char *names[256];
    size_t count = 0;
    for (int32_t s = 0; s < set_count; s++) {
        HC_EACH_OPTION(option, sets[s].table) {
            if (count < 255) {
                names[count++] = option->name;
            }
        }
    }
    names[count] = NULL;
    char bare[64] = "--";
    strncat(bare, word + strspn(word, "-"), sizeof bare - 3);
    bare[strcspn(bare, "=")] = '\0';
    const char *advice = hc_foreign_advice(bare);
    const char *nearest = hc_text_nearest(bare + 2, names);
    if (advice != NULL && advice_counts(advice, names)) {
        return hc_fail(err, HC_E_USAGE, "%s: %s: unknown option; %s", who, word, advice);
    }
    if (nearest != NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: %s: unknown option, did you mean --%s?", who, word, nearest);
    }
    return hc_fail(err, HC_E_USAGE, "%s: %s: unknown option (see: hcube %s --help)", who, word, who);
}

static bool is_option(const char *word) {
    /* "-5" and "-.5" are values. */
    return word[0] == '-' && word[1] != '\0' && strchr("0123456789.", word[1]) == NULL;
}

/* The positional options that have their value; more words than these are refused anyway. A list takes all
 * words that are left. */
typedef struct Taken {
    const HcOption *option[16];
    int32_t count;
} Taken;

static void take(Taken *taken, const HcOption *option) {
    if (option->positional && option->kind != HC_OPTION_LIST && taken->count < 16) {
        taken->option[taken->count++] = option;
    }
}

static bool is_taken(const Taken *taken, const HcOption *option) {
    for (int32_t t = 0; t < taken->count; t++) {
        if (taken->option[t] == option) {
            return true;
        }
    }
    return false;
}

/* The next positional option of any set that has no value yet, or NULL. */
static const HcOption *next_positional(const HcOptionSet *sets, int32_t set_count, const Taken *taken,
                                       void **params) {
    for (int32_t s = 0; s < set_count; s++) {
        HC_EACH_OPTION(option, sets[s].table) {
            if (option->positional && !sets[s].named_only && !is_taken(taken, option)) {
                *params = sets[s].params;
                return option;
            }
        }
    }
    return NULL;
}

/* The option that a word like --name, --name=value or -k means in this set; NULL when none. */
static const HcOption *option_in(const HcOptionSet *set, const char *word) {
    bool is_long = word[1] == '-';
    const char *name = word + (is_long ? 2 : 1);
    if (is_long) {
        return find(set, name, strcspn(name, "="), 0);
    }
    return name[1] == '\0' ? find(set, name, 1, *name) : NULL;
}

/* The same of the first set that knows it; those that yield come last. */
static const HcOption *option_of_word(const HcOptionSet *sets, int32_t set_count, const char *word,
                                      void **params) {
    for (int32_t k = 0; k < 2 * set_count; k++) {
        const HcOptionSet *set = &sets[k % set_count];
        const HcOption *option = option_in(set, word);
        if (option != NULL && (set->yields || option->yields) == (k >= set_count)) {
            *params = set->params;
            return option;
        }
    }
    return NULL;
}

bool hc_option_takes_value(const HcOption *option) {
    return option->alone == NULL && option->kind != HC_OPTION_FLAG;
}

/* Whether the word after this option is its value. */
static bool takes_next(const HcOptionSet *sets, int32_t set_count, const char *word) {
    void *params = NULL;
    const HcOption *option = option_of_word(sets, set_count, word, &params);
    return option != NULL && hc_option_takes_value(option) && strchr(word, '=') == NULL;
}

int32_t hc_options_leading(const HcOptionSet *sets, int32_t set_count, const char *const *words,
                           int32_t word_count) {
    int32_t w = 0;
    while (w < word_count && is_option(words[w])) {
        w += takes_next(sets, set_count, words[w]) ? 2 : 1;
    }
    return w < word_count ? w : word_count;
}

/* Whether the word names a positional option that may also be given by its place. */
static bool names_place(const HcOptionSet *sets, int32_t set_count, const char *word) {
    void *params = NULL;
    const HcOption *option = option_of_word(sets, set_count, word, &params);
    bool by_name_only = false;
    for (int32_t s = 0; s < set_count; s++) {
        by_name_only = by_name_only || (sets[s].params == params && sets[s].named_only);
    }
    return option != NULL && option->positional && !by_name_only;
}

int32_t hc_options_places(const HcOptionSet *sets, int32_t set_count, const char *const *words,
                          int32_t word_count) {
    int32_t count = 0;
    bool named = true; /* until a bare -- */
    for (int32_t w = 0; w < word_count; w++) {
        if (named && strcmp(words[w], "--") == 0) {
            named = false;
        } else if (named && is_option(words[w])) {
            count += names_place(sets, set_count, words[w]);
            w += takes_next(sets, set_count, words[w]);
        } else {
            count++;
        }
    }
    return count;
}

static HcStatus needs_value(const char *who, const HcOption *option, HcError *err) {
    HcText values = {0};
    if (option->kind == HC_OPTION_CHOICE) {
        hc_option_list_choices(option, " | ", &values);
    } else {
        hc_text_add(&values, "%s", option->value);
    }
    HcStatus status = hc_fail_text(err, HC_E_USAGE, &values, "%s: --%s needs a value (%s)", who, option->name,
                                   hc_text_shown(&values));
    hc_text_clear(&values);
    return status;
}

static bool goes_on(const char *word) {
    size_t length = strlen(word);
    return length > 1 && word[length - 1] == ',';
}

/* Refuses a list with blanks between its values: --bands 30, 20, 10. */
static HcStatus check_list(const char *who, const char *const *words, int32_t word_count, HcError *err) {
    HcText list = {0};
    int32_t first = 0;
    while (first < word_count && !goes_on(words[first])) {
        first++;
    }
    if (first + 1 >= word_count) {
        return HC_OK;
    }
    for (int32_t w = first; w < word_count && (w == first || goes_on(words[w - 1])); w++) {
        hc_text_add(&list, "%s", words[w]);
    }
    HcStatus status =
        hc_fail_text(err, HC_E_USAGE, &list, "%s: a list has no blanks (%s), or stands in quotes", who,
                     hc_text_shown(&list));
    hc_text_clear(&list);
    return status;
}

/* A shell makes many words of a pattern that is not quoted. */
static HcStatus too_many(const char *who, const char *word, HcError *err) {
    bool is_file = access(word, F_OK) == 0;
    return hc_fail(err, HC_E_USAGE,
                   is_file ? "%s: %s: one file too many (a step begins with !; hcube batch takes many scenes)"
                           : "%s: %s: one word too many (a step begins with !)",
                   who, word);
}

static HcStatus parse_named(const char *who, const HcOptionSet *sets, int32_t set_count,
                            const char *const *words, int32_t word_count, int32_t *at, Taken *taken,
                            HcError *err) {
    const char *word = words[*at];
    void *params = NULL;
    const HcOption *option = option_of_word(sets, set_count, word, &params);
    if (option == NULL) {
        return unknown(who, sets, set_count, word, err);
    }
    const char *value = word[1] == '-' ? strchr(word, '=') : NULL;
    value = value != NULL ? value + 1 : NULL;
    if (option->kind == HC_OPTION_FLAG) {
        if (value != NULL) {
            return hc_fail(err, HC_E_USAGE, "%s: --%s takes no value", who, option->name);
        }
    } else if (value == NULL && hc_option_takes_value(option)) {
        if (*at + 1 >= word_count) {
            return needs_value(who, option, err);
        }
        value = words[++*at];
    }
    value = value == NULL ? option->alone : value;
    take(taken, option);
    return set_value(who, option, params, value, err);
}

/* ---- names that options had before ---- */

/* The option that had this name: --window, or --window=21. */
static const HcOption *renamed(const HcOptionSet *sets, int32_t set_count, const char *word) {
    bool is_long = strncmp(word, "--", 2) == 0;
    size_t length = is_long ? strcspn(word + 2, "=") : 0;
    for (int32_t s = 0; s < set_count && length > 0; s++) {
        HC_EACH_OPTION(option, sets[s].table) {
            HC_EACH_TERM(was, option->was) {
                if (strcspn(was, " ") == length && strncmp(was, word + 2, length) == 0) {
                    return option;
                }
            }
        }
    }
    return NULL;
}

static HcStatus renew(const HcOption *option, char **word, const char *value, HcText *note, HcError *err) {
    const char *tail = strchr(*word, '=');
    char *fresh = hc_text_format("--%s%s", option->name, tail != NULL ? tail : "");
    HC_OR_RETURN(hc_text_made(fresh, 64, "an option", err));
    hc_text_add(note, "%s--%s %s: the option is called --%s; its old name ends with version 0.2",
                note->length > 0 ? "; " : "", option->was, value, option->name);
    free(*word); /* `value` may be its end */
    *word = fresh;
    return HC_OK;
}

HcStatus hc_options_renew(const char *who, const HcOptionSet *sets, int32_t set_count, char **words,
                          int32_t word_count, int32_t *at, HcText *note, HcError *err) {
    void *params = NULL;
    int64_t number = 0;
    for (int32_t w = 0; w < word_count && strcmp(words[w], "--") != 0; w++) {
        const HcOption *option = renamed(sets, set_count, words[w]);
        if (option == NULL) {
            continue;
        }
        *at = w;
        const char *tail = strchr(words[w], '=');
        const char *value = tail != NULL ? tail + 1 : w + 1 < word_count ? words[w + 1] : "";
        if (option->kind == HC_OPTION_INT && hc_text_parse_int(value, &number)) {
            HC_OR_RETURN(renew(option, &words[w], value, note, err));
        } else if (option_of_word(sets, set_count, words[w], &params) == NULL) {
            return hc_fail(err, HC_E_USAGE, "%s: %.*s%s%s: the option is called --%s %s", who,
                           (int)strcspn(words[w], "="), words[w], *value != '\0' ? " " : "", value,
                           option->name, option->value);
        }
    }
    return HC_OK;
}

HcStatus hc_options_parse_at(const char *who, const HcOptionSet *sets, int32_t set_count,
                             const char *const *words, int32_t word_count, int32_t *at, HcError *err) {
    Taken taken = {0};
    /* First what is named: the other words then go to the options that are left, wherever they stand. */
    bool named = true; /* until a bare -- */
    for (int32_t w = 0; w < word_count; w++) {
        if (named && strcmp(words[w], "--") == 0) {
            named = false;
        } else if (named && is_option(words[w])) {
            *at = w;
            HC_OR_RETURN(parse_named(who, sets, set_count, words, word_count, &w, &taken, err));
        }
    }
    named = true;
    for (int32_t w = 0; w < word_count; w++) {
        if (named && strcmp(words[w], "--") == 0) {
            named = false;
        } else if (named && is_option(words[w])) {
            w += takes_next(sets, set_count, words[w]);
        } else {
            void *params = NULL;
            *at = w;
            const HcOption *option = next_positional(sets, set_count, &taken, &params);
            if (option == NULL) {
                HC_OR_RETURN(check_list(who, words, word_count, err));
                return too_many(who, words[w], err);
            }
            take(&taken, option);
            HC_OR_RETURN(set_value(who, option, params, words[w], err));
        }
    }
    *at = -1;
    for (int32_t s = 0; s < set_count; s++) {
        HC_EACH_OPTION(option, sets[s].table) {
            if (option->required && hc_option_is_unset(option, sets[s].params)) {
                return hc_fail(err, HC_E_USAGE, "%s: %s%s is missing", who, option->positional ? "" : "--",
                               option->positional ? option->value : option->name);
            }
            HC_OR_RETURN(hc_option_check_relations(who, sets, set_count, &sets[s], option, err));
        }
    }
    return HC_OK;
}

HcStatus hc_options_parse(const char *who, const HcOptionSet *sets, int32_t set_count,
                          const char *const *words, int32_t word_count, HcError *err) {
    int32_t at = -1;
    return hc_options_parse_at(who, sets, set_count, words, word_count, &at, err);
}

int32_t hc_option_numbers(const char *text, double *values, int32_t limit) {
    int32_t count = 0;
    while (*text != '\0') {
        char item[64];
        size_t length = strcspn(text, ",");
        if (length >= sizeof item || count == limit) {
            return -1;
        }
        memcpy(item, text, length);
        item[length] = '\0';
        if (!hc_text_parse_double(item, &values[count])) {
            return -1;
        }
        count++;
        text += length;
        if (*text == ',' && *++text == '\0') {
            return -1;
        }
    }
    return count;
}
