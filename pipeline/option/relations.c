/* Relations of options: which of them are given, and need or exclude each other by the terms of their rows.
 * Below option.c, which parses. */
#include "pipeline/option/option.h"

#include <math.h>
#include <string.h>

static const HcOption *find(const HcOptionSet *set, const char *name, size_t length) {
    HC_EACH_OPTION(option, set->table) {
        if (strlen(option->name) == length && strncmp(option->name, name, length) == 0) {
            return option;
        }
    }
    return NULL;
}

bool hc_option_is_unset(const HcOption *option, const void *params) {
    const void *at = (const char *)params + option->offset;
    switch (option->kind) {
    case HC_OPTION_FLAG:
        return !*(const bool *)at;
    case HC_OPTION_INT:
        return option->otherwise != NULL && *(const int64_t *)at == (int64_t)option->initial;
    case HC_OPTION_REAL:
        return isnan(*(const double *)at) ||
               (option->otherwise != NULL && *(const double *)at == option->initial);
    case HC_OPTION_SIZE:
        return option->otherwise != NULL && *(const uint64_t *)at == (uint64_t)option->initial;
    case HC_OPTION_TEXT:
        return *(const char *const *)at == NULL;
    case HC_OPTION_CHOICE:
        return *(const int32_t *)at < 0;
    case HC_OPTION_LIST:
        return ((const HcOptionList *)at)->count == 0;
    }
    return false;
}

/* The value of a TEXT or a CHOICE, else NULL. */
static const char *word_of(const HcOption *option, const void *params) {
    const void *at = (const char *)params + option->offset;
    return hc_option_is_unset(option, params) ? NULL
           : option->kind == HC_OPTION_TEXT   ? *(const char *const *)at
           : option->kind == HC_OPTION_CHOICE ? option->choices[*(const int32_t *)at]
                                              : NULL;
}

static bool is_given(const HcOption *option, const void *params) {
    const void *at = (const char *)params + option->offset;
    const char *word = word_of(option, params);
    return !hc_option_is_unset(option, params) &&
           !(option->kind == HC_OPTION_INT && *(const int64_t *)at == (int64_t)option->initial) &&
           !(option->kind == HC_OPTION_REAL && *(const double *)at == option->initial) &&
           !(word != NULL && option->standard != NULL && strcmp(word, option->standard) == 0);
}

/* Whether a term of a relation holds. Of equal names that in the set of the relation counts. */
static bool holds(const HcOptionSet *sets, int32_t set_count, const HcOptionSet *own, const char *term) {
    size_t length = strcspn(term, " "), name = strcspn(term, " =");
    for (int32_t s = -1; s < set_count; s++) {
        const HcOptionSet *set = s < 0 ? own : &sets[s];
        const HcOption *option = find(set, term, name);
        if (option != NULL && name == length) {
            return is_given(option, set->params);
        }
        if (option != NULL) {
            const char *word = word_of(option, set->params);
            return word != NULL && strlen(word) == length - name - 1 &&
                   strncmp(word, term + name + 1, strlen(word)) == 0;
        }
    }
    return false;
}

/* How many terms hold; *first is the first of them. */
static int32_t count_held(const HcOptionSet *sets, int32_t set_count, const HcOptionSet *own,
                          const char *terms, const char **first) {
    int32_t count = 0;
    HC_EACH_TERM(term, terms) {
        if (holds(sets, set_count, own, term)) {
            *first = count++ == 0 ? term : *first;
        }
    }
    return count;
}

void hc_option_print_terms(const char *terms, const char *last, HcText *to) {
    HC_EACH_TERM(term, terms) {
        int length = (int)strcspn(term, " "), name = (int)strcspn(term, " =");
        bool ends = term[length] == '\0' || last == NULL;
        hc_text_add(to, "%s--%.*s%s%.*s",
                    term == terms ? ""
                    : ends        ? last
                                  : ", ",
                    name, term, name < length ? " " : "", name < length ? length - name - 1 : 0,
                    term + name + 1);
        if (last == NULL) {
            return;
        }
    }
}

HcStatus hc_option_check_relations(const char *who, const HcOptionSet *sets, int32_t set_count,
                                   const HcOptionSet *own, const HcOption *option, HcError *err) {
    HcStatus status = HC_OK;
    HcText text = {0};
    const char *held = NULL;
    bool given = is_given(option, own->params);
    if (count_held(sets, set_count, own, option->one_of, &held) > 1) {
        hc_option_print_terms(option->one_of, " and ", &text);
        status = hc_fail_text(err, HC_E_USAGE, &text, "%s: give one of %s", who, hc_text_shown(&text));
    } else if (given && option->needs != NULL &&
               count_held(sets, set_count, own, option->needs, &held) == 0) {
        hc_option_print_terms(option->needs, " or ", &text);
        status = hc_fail_text(err, HC_E_USAGE, &text, "%s: --%s needs %s", who, option->name,
                              hc_text_shown(&text));
    } else if (given && count_held(sets, set_count, own, option->excludes, &held) > 0) {
        hc_option_print_terms(held, NULL, &text);
        status = hc_fail_text(err, HC_E_USAGE, &text, "%s: --%s excludes %s", who, option->name,
                              hc_text_shown(&text));
    }
    hc_text_clear(&text);
    return status;
}
