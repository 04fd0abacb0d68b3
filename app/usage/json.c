/* --json-usage: the form that GDAL gives its algorithms (gdal_algorithm.schema.json of GDAL 3.11), so that
 * what makes dialogues of those makes them of these. */
#include "app/usage/usage.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FORMAT = 1 /* docs/json-usage.schema.json */ };

static bool is_scene(const HcOption *option) {
    static const char *const words[] = {"SCENE", "OUTPUT", "TRUTH"};
    for (size_t w = 0; option->value != NULL && w < sizeof words / sizeof *words; w++) {
        if (strcmp(option->value, words[w]) == 0) {
            return true;
        }
    }
    return false;
}

static const char *type_of(const HcOption *option) {
    switch (option->kind) {
    case HC_OPTION_FLAG:
        return "boolean";
    case HC_OPTION_INT:
        return "integer";
    case HC_OPTION_REAL:
        return "real";
    case HC_OPTION_LIST:
        return "string_list";
    case HC_OPTION_TEXT:
        return is_scene(option) ? "dataset" : "string";
    case HC_OPTION_SIZE:
    case HC_OPTION_CHOICE:
        break;
    }
    return "string";
}

static void put_range(const HcOption *option, HcJson *to) {
    bool is_number = option->kind == HC_OPTION_INT || option->kind == HC_OPTION_REAL;
    if (!is_number || (option->range.low == 0 && option->range.high == 0)) {
        return;
    }
    if (isfinite(option->range.low)) {
        hc_json_put_number(to, "min_value", option->range.low);
        hc_json_put_bool(to, "min_value_is_included",
                         option->open != HC_OPEN_LOW && option->open != HC_OPEN_BOTH);
    }
    if (isfinite(option->range.high)) {
        hc_json_put_number(to, "max_value", option->range.high);
        hc_json_put_bool(to, "max_value_is_included",
                         option->open != HC_OPEN_HIGH && option->open != HC_OPEN_BOTH);
    }
}

static void put_default(const HcOption *option, HcJson *to) {
    bool is_number = option->kind == HC_OPTION_INT || option->kind == HC_OPTION_REAL;
    if (option->kind == HC_OPTION_FLAG) {
        hc_json_put_bool(to, "default", false);
    } else if (option->otherwise != NULL || option->required) {
        return; /* a default that is no value */
    } else if (option->standard != NULL) {
        hc_json_put_text(to, "default", option->standard);
    } else if (is_number && !isnan(option->initial)) {
        hc_json_put_double(to, "default", option->initial);
    }
}

static void put_choices(const HcOption *option, HcJson *to) {
    if (option->kind != HC_OPTION_CHOICE) {
        return;
    }
    hc_json_open_array(to, "choices");
    for (const char *const *choice = option->choices; *choice != NULL; choice++) {
        hc_json_put_text(to, NULL, *choice);
    }
    hc_json_close(to);
}

static void put_terms(const char *name, const char *terms, HcJson *to) {
    if (terms == NULL) {
        return;
    }
    hc_json_open_array(to, name);
    HC_EACH_TERM(term, terms) {
        char one[64];
        snprintf(one, sizeof one, "%.*s", (int)strcspn(term, " "), term);
        hc_json_put_text(to, NULL, one);
    }
    hc_json_close(to);
}

/* Beyond the schema's own keys: what only hcube knows, where the schema leaves place for it. */
static void put_metadata(const HcOption *option, HcJson *to) {
    char letter[2] = {option->letter, '\0'};
    hc_json_open_object(to, "metadata");
    if (option->positional) {
        hc_json_put_bool(to, "positional", true);
    }
    if (option->positional && option->kind == HC_OPTION_LIST) {
        hc_json_put_bool(to, "words", true); /* several in its place */
    }
    if (option->letter != 0) {
        hc_json_put_text(to, "short_name", letter);
    }
    if (option->unit != NULL) {
        hc_json_put_text(to, "unit", option->unit);
    }
    if (option->otherwise != NULL) {
        hc_json_put_text(to, "default_means", option->otherwise);
    }
    if (option->file != HC_FILE_NONE) {
        hc_json_put_text(to, "file", option->file == HC_FILE_READ ? "read" : "written");
    }
    put_terms("needs", option->needs, to);
    put_terms("excludes", option->excludes, to);
    put_terms("one_of", option->one_of, to);
    hc_json_close(to);
}

static void put_argument(const HcOption *option, const char *category, HcJson *to) {
    hc_json_open_object(to, NULL);
    hc_json_put_text(to, "name", option->name);
    hc_json_put_text(to, "type", type_of(option));
    hc_json_put_text(to, "description", option->help);
    if (option->value != NULL) {
        hc_json_put_text(to, "metavar", option->value);
    }
    put_choices(option, to);
    put_default(option, to);
    put_range(option, to);
    hc_json_put_bool(to, "required", option->required);
    if (option->kind == HC_OPTION_LIST) {
        hc_json_put_bool(to, "packed_values_allowed", false);
        hc_json_put_bool(to, "repeated_arg_allowed", true);
        hc_json_put_number(to, "min_count", option->required ? 1 : 0);
        hc_json_put_number(to, "max_count", HC_LIST_MAX);
    }
    hc_json_put_text(to, "category", strcmp(category, "Options") == 0 ? "Base" : category);
    if (is_scene(option)) {
        hc_json_open_array(to, "dataset_type");
        hc_json_put_text(to, NULL, "raster");
        hc_json_close(to);
        hc_json_open_array(to, "input_flags");
        hc_json_put_text(to, NULL, "name");
        hc_json_close(to);
    }
    put_metadata(option, to);
    hc_json_close(to);
}

/* What stands after a command and is no option: a chain, a name. */
static const struct Words {
    const char *command;
    HcOption option;
} words_of[] = {
#define CHAIN                                                                                                \
    {                                                                                                        \
        .name = "chain", .kind = HC_OPTION_LIST, .value = "STEP ! STEP ...",                                 \
        .help = "the chain, as on the command line: read SCENE ! STAGE ... ! write OUTPUT",                  \
        .required = true, .positional = true                                                                 \
    }
    {"run", CHAIN},
    {"plan", CHAIN},
    {"batch", CHAIN},
#undef CHAIN
    {"stages",
     {.name = "stage",
      .kind = HC_OPTION_TEXT,
      .value = "NAME",
      .help = "the stage whose options are shown; none: all stages",
      .positional = true}},
    {"man",
     {.name = "name",
      .value = "COMMAND|STAGE",
      .help = "what the page is of; none: hcube",
      .positional = true}},
    {"completion",
     {.name = "shell",
      .kind = HC_OPTION_CHOICE,
      .choices = (const char *const[]){"bash", "zsh", "fish", NULL},
      .value = "bash|zsh|fish",
      .help = "the shell that reads the script",
      .required = true,
      .positional = true}},
};

static void put_words(const HcUsage *usage, HcJson *to) {
    for (size_t w = 0; !usage->is_step && w < sizeof words_of / sizeof *words_of; w++) {
        if (usage->path.data != NULL && strcmp(usage->path.data, words_of[w].command) == 0) {
            put_argument(&words_of[w].option, "Base", to);
        }
    }
}

/* hcube solve lp: ["hcube", "solve", "lp"]; a step has none, as in GDAL. */
static void put_path(const HcUsage *usage, HcJson *to) {
    hc_json_open_array(to, "full_path");
    if (!usage->is_step) {
        hc_json_put_text(to, NULL, "hcube");
        for (const char *word = usage->path.data; word != NULL && *word != '\0';) {
            char one[64];
            size_t length = strcspn(word, " ");
            size_t kept = length < sizeof one ? length : sizeof one - 1;
            memcpy(one, word, kept);
            one[kept] = '\0';
            hc_json_put_text(to, NULL, one);
            word += word[length] == ' ' ? length + 1 : length;
        }
    }
    hc_json_close(to);
}

/* The innermost word of the path. */
static const char *name_of(const HcUsage *usage) {
    const char *last = usage->path.data != NULL ? strrchr(usage->path.data, ' ') : NULL;
    return usage->path.data == NULL ? "hcube" : last != NULL ? last + 1 : usage->path.data;
}

static void put_usage(const HcUsage *usage, HcJson *to);

static void put_part(HcUsage *part, HcJson *to) {
    hc_json_open_object(to, NULL);
    put_usage(part, to);
    hc_json_close(to);
    hc_usage_clear(part);
}

static void put_parts(const HcUsage *usage, HcJson *to) {
    HcUsage part;
    char before[64] = "";
    hc_json_open_array(to, "sub_algorithms");
    if (usage->commands != NULL) {
        for (const HcCommand *command = usage->commands; command->name != NULL; command++) {
            if (command->body != NULL) {
                hc_usage_of_command(command, "", &part);
                put_part(&part, to);
            }
        }
        for (int i = 0; hc_stage_list[i] != NULL; i++) {
            hc_usage_of_stage(hc_stage_list[i], &part);
            put_part(&part, to);
        }
    }
    for (const HcCommand *const *command = usage->parts; command != NULL && *command != NULL; command++) {
        snprintf(before, sizeof before, "%s ", usage->path.data);
        hc_usage_of_command(*command, before, &part);
        put_part(&part, to);
    }
    hc_json_close(to);
}

static void put_usage(const HcUsage *usage, HcJson *to) {
    to->failed = to->failed || usage->path.failed;
    hc_json_put_text(to, "name", name_of(usage));
    put_path(usage, to);
    hc_json_put_text(to, "description", usage->summary);
    put_parts(usage, to);
    hc_json_open_array(to, "input_arguments");
    put_words(usage, to);
    for (int32_t s = 0; s < usage->section_count; s++) {
        const char *heading = usage->sections[s].heading;
        HC_EACH_OPTION(option, usage->sections[s].table) {
            heading = option->heading != NULL ? option->heading : heading;
            if (!hc_usage_is_hidden(usage, s, option)) {
                put_argument(option, heading, to);
            }
        }
    }
    hc_json_close(to);
    hc_json_open_array(to, "output_arguments");
    hc_json_close(to);
    hc_json_open_array(to, "input_output_arguments");
    hc_json_close(to);
    if (usage->steps != NULL) {
        hc_json_open_array(to, "pipeline_algorithms");
        for (int i = 0; usage->steps[i] != NULL; i++) {
            HcUsage step;
            hc_usage_of_step(usage->steps[i], &step);
            put_part(&step, to);
        }
        hc_json_close(to);
    }
}

void hc_usage_json(const HcUsage *usage, HcJson *to) {
    hc_json_begin(to);
    hc_json_put_number(to, "hcube_json_usage", FORMAT);
    put_usage(usage, to);
}
