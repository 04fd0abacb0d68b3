/* hcube complete: what may stand in the place of the last word of a command line, for the scripts of
 * `hcube completion`. The shell knows nothing of hcube: tables decide, so that a new option completes by
 * itself.
 *
 *     hcube complete run read scene.hdr ! mn      mnf <tab> maximum noise fraction: ...
 *                                                 :words
 *
 * A candidate a line, with a tab and its meaning; then what the shell shall add: `:words` nothing, `:files
 * *.json ...` files whose name fits one of these patterns, and folders. */
#include "app/usage/usage.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Where the cursor stands: the words of one command or step, the last one unfinished. */
typedef struct Place {
    const char *const *words; /* after the name of the command or stage; NULL: that name is asked for */
    int32_t count;
    bool in_chain;           /* a step, which ! may follow */
    bool first;              /* the first word of a chain, which may be a file */
    bool begins_chain;       /* the first step of run, which is read */
    bool stages, others;     /* names: of stages, of commands */
    bool helps;              /* and the word help */
    const HcCommand *holder; /* whole command lines may stand here, after this command; NULL: none */
    const char *choices;     /* "bash|zsh|fish"; NULL = none */
    HcUsage usage;
} Place;

/* A meaning that is too long for a line of the terminal ends after a whole word. */
static void offer(const char *word, const char *meaning) {
    enum { LENGTH_MAX = 79 };
    size_t length = strlen(meaning);
    if (length > LENGTH_MAX) {
        for (length = LENGTH_MAX; length > 0 && meaning[length] != ' '; length--) {
        }
        while (length > 0 && strchr(" ,;:", meaning[length - 1]) != NULL) {
            length--;
        }
    }
    printf("%s\t%.*s%s\n", word, (int)length, meaning, meaning[length] != '\0' ? " ..." : "");
}

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static void offer_if(const char *word, const char *meaning, const char *current) {
    if (begins(word, current)) {
        offer(word, meaning);
    }
}

/* ---- which words are meant ---- */

/* The option of --name, --name=value or -k; NULL where there is none. */
static const HcOption *find_option(const HcUsage *usage, const char *word) {
    for (int32_t s = 0; s < usage->section_count; s++) {
        HC_EACH_OPTION(option, usage->sections[s].table) {
            size_t length = strlen(option->name);
            bool by_name = begins(word, "--") && strncmp(word + 2, option->name, length) == 0 &&
                           (word[2 + length] == '\0' || word[2 + length] == '=');
            bool by_letter =
                word[0] == '-' && option->letter != 0 && word[1] == option->letter && word[2] == '\0';
            if (by_name || by_letter) {
                return option;
            }
        }
    }
    return NULL;
}

/* How many of the first words are options of the command with their values. */
static int32_t leading_options(const HcUsage *usage, const char *const *words, int32_t count) {
    int32_t w = 0;
    while (w + 1 < count && words[w][0] == '-') {
        const HcOption *option = find_option(usage, words[w]);
        bool takes = option != NULL && hc_option_takes_value(option) && strchr(words[w], '=') == NULL;
        if (takes && w + 2 >= count) {
            break; /* its value is what is being typed */
        }
        w += takes ? 2 : 1;
    }
    return w;
}

/* A step takes its own options and those of the command. */
static void describe_step(const HcStageClass *kind, HcUsage *command) {
    HcUsage step;
    hc_usage_of_step(kind, &step);
    for (int32_t s = 0; s < command->section_count; s++) {
        hc_usage_add(&step, command->sections[s].heading, command->sections[s].table);
    }
    hc_usage_clear(command);
    *command = step;
}

static void find_in_chain(const HcCommand *command, const char *const *words, int32_t count, Place *place) {
    int32_t first = 0;
    for (int32_t w = 0; w + 1 < count; w++) {
        first = strcmp(words[w], "!") == 0 ? w + 1 : first;
    }
    hc_usage_of_command(command, "", &place->usage);
    const int32_t leading = leading_options(&place->usage, words, count);
    first += first == 0 ? leading : 0;
    const HcStageClass *kind = count - first > 1 ? hc_stage_find(words[first]) : NULL;
    place->in_chain = true;
    place->stages = count - first == 1;
    place->first = place->stages && (first == 0 || strcmp(words[first - 1], "!") != 0);
    place->begins_chain = first == leading && command->body == hc_command_run;
    place->holder = place->stages && first == 0 ? command : NULL;
    place->words = words + first;
    place->count = count - first;
    if (kind != NULL && first == leading && kind->role != HC_ROLE_SOURCE &&
        command->body != hc_command_batch) {
        hc_usage_clear(&place->usage); /* plan STAGE SCENE OUTPUT */
        hc_usage_of_stage(kind, &place->usage);
        place->in_chain = false;
        place->words++;
        place->count--;
    } else if (kind != NULL) {
        describe_step(kind, &place->usage);
        place->words++;
        place->count--;
    }
}

static void find_place(int32_t word_count, const char *const *words, Place *place) {
    const HcCommand *command = word_count > 1 ? hc_command_find(words[0]) : NULL;
    const HcStageClass *kind = word_count > 1 ? hc_stage_find(words[0]) : NULL;
    if (word_count <= 1) {
        place->stages = place->others = place->helps = true;
    } else if (strcmp(words[0], "help") == 0) {
        place->stages = place->others = word_count == 2;
        const HcCommand *asked = word_count == 3 ? hc_command_find(words[1]) : NULL;
        place->usage.parts = asked != NULL ? asked->parts : NULL;
    } else if (command != NULL && command->takes_chain) {
        int32_t behind = 1;
        const HcCommand *inner = NULL;
        while (behind + 1 < word_count && hc_command_holds(command, inner = hc_command_find(words[behind]))) {
            command = command->body == hc_command_batch ? command : inner;
            behind++;
        }
        find_in_chain(command, words + behind, word_count - behind, place);
    } else if (command != NULL) {
        char before[64];
        hc_usage_of_command(command, "", &place->usage);
        place->words = words + 1;
        place->count = word_count - 1;
        if (word_count == 2 && command->parts == NULL) {
            place->choices = strchr(command->usage, '|') != NULL ? command->usage : NULL;
            place->stages = strcmp(command->usage, "[NAME]") == 0;
            place->others = place->stages && command->body == hc_command_man;
        }
        for (const HcCommand *const *part = command->parts; part != NULL && *part != NULL; part++) {
            if (word_count > 2 && strcmp((*part)->name, words[1]) == 0) {
                snprintf(before, sizeof before, "%s ", command->name);
                hc_usage_clear(&place->usage);
                hc_usage_of_command(*part, before, &place->usage);
                place->words++;
                place->count--;
            }
        }
    } else if (kind != NULL) {
        hc_usage_of_stage(kind, &place->usage);
        place->words = words + 1;
        place->count = word_count - 1;
    }
}

/* ---- what fits there ---- */

/* Files that a value of this kind names, as patterns of the shell. */
static const char *patterns_of(const HcOption *option) {
    const char *value = option->value != NULL ? option->value : "";
    const char *point = strrchr(value, '.');
    static char pattern[32];
    if (strcmp(value, "RECORD") == 0) {
        return "*.json";
    }
    if (strcmp(value, "SCENE") == 0) {
        return "*.hdr *.img *.dat *.bsq *.bil *.bip *.tif *.tiff *.nc *.h5 *.hdf5 *.he5 *.zip *.xml *.vrt";
    }
    if (point != NULL && isalpha((unsigned char)point[1]) && strpbrk(point, "|[=:") == NULL) {
        snprintf(pattern, sizeof pattern, "*%s", point);
        return pattern;
    }
    return "*";
}

/* Words among "auto|cpu|gpu|gpu:N" or "FILE|none": those in small letters. */
static void offer_words_of(const char *value, const char *current) {
    while (*value != '\0') {
        char word[40];
        size_t length = strcspn(value, "|");
        bool is_word = length > 0 && length < sizeof word;
        for (size_t c = 0; is_word && c < length; c++) {
            is_word = islower((unsigned char)value[c]) || isdigit((unsigned char)value[c]) || value[c] == '-';
        }
        if (is_word) {
            memcpy(word, value, length);
            word[length] = '\0';
            offer_if(word, "", current);
        }
        value += value[length] == '|' ? length + 1 : length;
    }
}

/* The value of an option, of which `current` is there. Ends with what the shell shall add. */
static void offer_value(const HcOption *option, const char *current) {
    for (const char *const *choice = option->choices; choice != NULL && *choice != NULL; choice++) {
        offer_if(*choice, "", current);
    }
    if (option->kind != HC_OPTION_CHOICE && option->value != NULL) {
        offer_words_of(option->value, current);
    }
    bool is_scene = option->value != NULL && strcmp(option->value, "SCENE") == 0;
    if (option->file != HC_FILE_NONE || is_scene) {
        printf(":files %s\n", patterns_of(option));
    } else {
        printf(":words\n");
    }
}

static bool is_given(const Place *place, const HcOption *option) {
    for (int32_t w = 0; w + 1 < place->count; w++) {
        if (find_option(&place->usage, place->words[w]) == option) {
            return true;
        }
    }
    return false;
}

/* Whether one of these terms, beside the option itself, is given. */
static bool some_given(const Place *place, const char *terms, const HcOption *option) {
    HC_EACH_TERM(term, terms) {
        char word[80];
        snprintf(word, sizeof word, "--%.*s", (int)strcspn(term, " "), term);
        const HcOption *other = strchr(word, '=') == NULL ? find_option(&place->usage, word) : NULL;
        if (other != NULL && other != option && is_given(place, other)) {
            return true;
        }
    }
    return false;
}

static bool names_option(const char *terms, const HcOption *option) {
    size_t length = strlen(option->name);
    HC_EACH_TERM(term, terms) {
        if (strcspn(term, " ") == length && strncmp(option->name, term, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether an option that is given leaves no place for this one, by the relations of the table. */
static bool is_excluded(const Place *place, const HcOption *table, const HcOption *option) {
    HC_EACH_OPTION(other, table) {
        if ((names_option(other->excludes, option) && is_given(place, other)) ||
            (names_option(other->one_of, option) && some_given(place, other->one_of, option))) {
            return true;
        }
    }
    return some_given(place, option->excludes, option);
}

static void offer_options(const Place *place, const char *current) {
    char word[80];
    for (int32_t s = 0; s < place->usage.section_count; s++) {
        HC_EACH_OPTION(option, place->usage.sections[s].table) {
            bool is_other_place = s > 0 && option->positional;
            snprintf(word, sizeof word, "--%s", option->name);
            if (!is_other_place && find_option(&place->usage, word) == option &&
                (option->kind == HC_OPTION_LIST || !is_given(place, option)) &&
                !is_excluded(place, place->usage.sections[s].table, option)) {
                offer_if(word, option->help, current);
            }
        }
    }
    offer_if("--help", "what it does and its options", current);
    if (place->helps) {
        offer_if("--version", "which hcube this is", current);
    }
    printf(":words\n");
}

/* How many words before the cursor are no options and no values of options. */
static int32_t places_taken(const Place *place) {
    int32_t taken = 0;
    for (int32_t w = 0; w + 1 < place->count; w++) {
        const HcOption *option =
            place->words[w][0] == '-' ? find_option(&place->usage, place->words[w]) : NULL;
        if (option != NULL && hc_option_takes_value(option) && strchr(place->words[w], '=') == NULL) {
            w++;
        } else if (place->words[w][0] != '-') {
            taken++;
        }
    }
    return taken;
}

/* The positional options in their order: those of reading, of the stage itself, of writing. */
static const HcOption *option_at(const HcUsage *usage, int32_t place) {
    static const char *const order[] = {"Options of reading", "Options", "Options of writing"};
    for (size_t o = 0; o < sizeof order / sizeof *order; o++) {
        for (int32_t s = 0; s < usage->section_count; s++) {
            HC_EACH_OPTION(option, usage->sections[s].table) {
                if (strcmp(usage->sections[s].heading, order[o]) == 0 && option->positional && place-- == 0) {
                    return option;
                }
            }
        }
    }
    return NULL;
}

static void offer_parts(const HcUsage *usage, const char *current) {
    for (const HcCommand *const *part = usage->parts; part != NULL && *part != NULL; part++) {
        offer_if((*part)->name, (*part)->summary, current);
    }
}

static void offer_names(const Place *place, const char *current) {
    for (int i = 0; place->stages && hc_stage_list[i] != NULL; i++) {
        if (place->begins_chain && hc_stage_list[i]->role != HC_ROLE_SOURCE) {
            continue;
        }
        offer_if(hc_stage_list[i]->name, hc_stage_list[i]->summary, current);
    }
    for (const HcCommand *command = hc_commands; command->name != NULL; command++) {
        bool fits = place->others || (place->holder != NULL && hc_command_holds(place->holder, command));
        if (fits && command->body != NULL) {
            offer_if(command->name, command->summary, current);
        }
    }
    if (place->helps) {
        offer_if("help", "what a command or a stage does, and its options", current);
    }
}

static void offer_all(const Place *place, const char *current) {
    const char *before = place->count > 1 ? place->words[place->count - 2] : "";
    const HcOption *asked = before[0] == '-' ? find_option(&place->usage, before) : NULL;
    const HcOption *named = begins(current, "--") ? find_option(&place->usage, current) : NULL;
    const char *equals = strchr(current, '=');
    offer_names(place, current);
    if (asked != NULL && strchr(before, '=') == NULL && hc_option_takes_value(asked)) {
        offer_value(asked, current);
        return;
    }
    if (named != NULL && equals != NULL) {
        offer_value(named, equals + 1);
        return;
    }
    if (current[0] == '-') {
        offer_options(place, current);
        return;
    }
    offer_parts(&place->usage, current);
    if (place->choices != NULL) {
        offer_words_of(place->choices, current);
    }
    const HcOption *next = place->usage.parts == NULL ? option_at(&place->usage, places_taken(place)) : NULL;
    if (next != NULL) {
        offer_value(next, current);
        return;
    }
    if (place->in_chain && !place->stages) {
        offer_if("!", "the next step", current);
    }
    printf(place->first ? ":files *.hcube\n" : ":words\n");
}

HcStatus hc_command_complete(int32_t word_count, const char *const *words, HcError *err) {
    Place place = {0};
    const char *current = word_count > 0 ? words[word_count - 1] : "";
    find_place(word_count, words, &place);
    bool failed = place.usage.path.failed;
    if (!failed) {
        offer_all(&place, current);
    }
    hc_usage_clear(&place.usage);
    return failed ? hc_fail_memory(err, 0, "the words") : HC_OK;
}
