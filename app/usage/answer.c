/* What a command line asks for of a description: --help, --json-usage, hcube man, hcube help. */
#include "app/usage/usage.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_word(const char *name, int32_t word_count, const char *const *words) {
    for (int32_t w = 0; w < word_count && strcmp(words[w], "--") != 0; w++) {
        if (strcmp(words[w], name) == 0) {
            return true;
        }
    }
    return false;
}

/* The step of a chain that --help stands in, or the part of a command, or the command itself. */
static void describe_command(const HcCommand *command, int32_t word_count, const char *const *words,
                             HcUsage *usage) {
    const HcStageClass *kind = NULL;
    for (int32_t w = 0; command->takes_chain && w < word_count && words[w][0] != '\0'; w++) {
        if (strcmp(words[w], "--help") == 0 || strcmp(words[w], "-h") == 0) {
            break;
        }
        if (w == 0 || strcmp(words[w - 1], "!") == 0) {
            kind = hc_stage_find(words[w]);
        }
    }
    if (kind != NULL) {
        hc_usage_of_step(kind, usage);
        return;
    }
    for (const HcCommand *const *part = command->parts; part != NULL && *part != NULL; part++) {
        if (word_count > 0 && strcmp((*part)->name, words[0]) == 0) {
            char before[64];
            snprintf(before, sizeof before, "%s ", command->name);
            hc_usage_of_command(*part, before, usage);
            return;
        }
    }
    hc_usage_of_command(command, "", usage);
}

bool hc_usage_is_asked(int32_t word_count, const char *const *words) {
    return has_word("--help", word_count, words) || has_word("-h", word_count, words) ||
           has_word("--json-usage", word_count, words);
}

HcStatus hc_usage_answer(const HcCommand *command, const HcStageClass *kind, int32_t word_count,
                         const char *const *words, HcError *err) {
    HcUsage usage;
    if (command != NULL) {
        describe_command(command, word_count, words, &usage);
    } else if (kind != NULL) {
        hc_usage_of_stage(kind, &usage);
    } else {
        hc_usage_of_program(hc_commands, &usage);
    }
    bool json = has_word("--json-usage", word_count, words);
    usage.shared = has_word("all", word_count, words) ? 0 : usage.shared;
    return hc_usage_print(&usage, json ? HC_USAGE_JSON : HC_USAGE_HELP, err);
}

void hc_describe_man(HcUsage *usage) {
    hc_text_add(&usage->forms, "hcube man [COMMAND|STAGE]\n");
    hc_text_add(
        &usage->about,
        "An installed hcube has these pages: man hcube, man hcube-mnf. On a terminal this command shows "
        "a page by man(1), else it prints the source of the page.\n");
    hc_text_add(&usage->examples, "hcube man mnf | man -l -\n");
}

/* Shows the page on a terminal by man(1); where that fails, all of the help. Clears the description. */
static HcStatus show_page(HcUsage *usage, HcError *err) {
    HcText text = {0};
    hc_usage_man(usage, &text);
    void (*before)(int) = signal(SIGPIPE, SIG_IGN); /* without man(1) nobody reads */
    bool trusted = secure_getenv("PATH") != NULL;   /* not with the rights of another user */
    FILE *man = text.failed || !trusted ? NULL : popen("man -l - 2>/dev/null", "w");
    if (man != NULL) {
        fputs(hc_text_shown(&text), man);
    }
    hc_text_clear(&text);
    bool shown = man != NULL && pclose(man) == 0;
    signal(SIGPIPE, before);
    usage->shared = 0;
    if (shown) {
        hc_usage_clear(usage);
        return HC_OK;
    }
    return hc_usage_print(usage, HC_USAGE_HELP, err);
}

/* `hcube man`: of hcube, a command, a part of one (solve lp) or a stage. */
HcStatus hc_command_man(int32_t word_count, const char *const *words, HcError *err) {
    HcUsage usage;
    const HcCommand *command = word_count > 0 ? hc_command_find(words[0]) : NULL;
    const HcStageClass *kind = word_count > 0 ? hc_stage_find(words[0]) : NULL;
    if (word_count > (command != NULL && command->parts != NULL ? 2 : 1)) {
        return hc_fail(err, HC_E_USAGE, "man: %s: one word too many", words[word_count - 1]);
    }
    if (word_count == 0) {
        hc_usage_of_program(hc_commands, &usage);
    } else if (command != NULL) {
        describe_command(command, word_count - 1, words + 1, &usage);
    } else if (kind != NULL) {
        hc_usage_of_stage(kind, &usage);
    } else {
        return hc_fail(err, HC_E_USAGE, "man: %s: neither a command nor a stage", words[0]);
    }
    return isatty(STDOUT_FILENO) ? show_page(&usage, err) : hc_usage_print(&usage, HC_USAGE_MAN, err);
}
