/* Help as text, for the width of the terminal. */
#include "app/usage/usage.h"
#include "core/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LEFT = 28, LEFT_OF_STAGE = 11, NARROWEST = 40, WIDTH = 80 };

int32_t hc_usage_width(void) {
    const char *columns = getenv("COLUMNS");
    int64_t count = 0;
    struct winsize size;
    if (columns != NULL && hc_text_parse_int(columns, &count) && count > 0) {
        count = count < 100000 ? count : 100000;
    } else if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        count = size.ws_col;
    } else {
        count = WIDTH;
    }
    return count > NARROWEST ? (int32_t)count : NARROWEST;
}

/* Length of the next piece that stays in one line: up to and with a blank, or a | between choices. */
static size_t piece_of(const char *text, const char *ends) {
    size_t length = strcspn(text, ends);
    return text[length] != '\0' ? length + 1 : length;
}

/* How a text is broken into lines. */
typedef struct Lines {
    const char *ends; /* characters after which a line may end */
    const char *mark; /* at the end of a line that goes on: of commands " \\", so that they can be copied */
    int32_t indent;   /* of the lines that follow */
    int32_t width;
} Lines;

/* Adds words from `column` on. Ends the line. */
static void add_wrapped(const char *words, int32_t column, const Lines *lines, HcText *to) {
    int32_t at = column;
    int32_t most = lines->width - (int32_t)strlen(lines->mark);
    for (size_t length = 0; *words != '\0'; words += length) {
        length = piece_of(words, lines->ends);
        int32_t shown = (int32_t)length - (words[length - 1] == ' ' ? 1 : 0);
        bool is_last = words[length] == '\0';
        if (at > lines->indent && at + shown > (is_last ? lines->width : most)) {
            while (to->length > 0 && to->data[to->length - 1] == ' ') {
                to->data[--to->length] = '\0';
            }
            hc_text_add(to, "%s\n%*s", lines->mark, (int)lines->indent, "");
            at = lines->indent;
        }
        hc_text_add(to, "%.*s", (int)length, words);
        at += (int32_t)length;
    }
    hc_text_add(to, "\n");
}

/* Each line of a text by itself, after `indent` blanks. */
static void add_lines(const char *text, int32_t indent, const char *mark, int32_t width, HcText *to) {
    const Lines lines = {.ends = " ", .mark = mark, .indent = indent > 0 ? indent + 4 : 0, .width = width};
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, "\n");
        char *line = hc_text_format("%.*s", (int)length, text);
        hc_text_add(to, "%*s", (int)indent, "");
        if (line != NULL) {
            add_wrapped(line, indent, &lines, to);
        }
        to->failed = to->failed || line == NULL;
        free(line);
        text += text[length] == '\n' ? length + 1 : length;
    }
}

/* "  NAME                        meaning", or two lines where the left side is long. */
static void add_row(const char *left, const char *right, int32_t left_width, int32_t width, HcText *to) {
    const Lines choices = {.ends = " |", .mark = "", .indent = 6, .width = width};
    const Lines meaning = {.ends = " ", .mark = "", .indent = left_width + 4, .width = width};
    hc_text_add(to, "  ");
    if (strlen(left) > (size_t)left_width) {
        add_wrapped(left, 2, &choices, to);
        hc_text_add(to, "%*s", (int)left_width + 4, "");
    } else {
        hc_text_add(to, "%-*s  ", (int)left_width, left);
    }
    add_wrapped(right, left_width + 4, &meaning, to);
}

static void add_table(const HcUsage *usage, int32_t place, int32_t width, HcText *to) {
    const HcUsageSection *section = &usage->sections[place];
    hc_text_add(to, "\n%s\n", section->heading);
    HC_EACH_OPTION(option, section->table) {
        HcText left = {0};
        HcText right = {0};
        if (hc_usage_is_hidden(usage, place, option)) {
            continue;
        }
        if (option->heading != NULL) {
            hc_text_add(to, "\n%s\n", option->heading);
        }
        hc_option_forms(option, &left);
        hc_option_meaning(option, &right);
        if (left.failed || right.failed) {
            to->failed = true;
        } else {
            add_row(left.data, right.data, LEFT, width, to);
        }
        hc_text_clear(&left);
        hc_text_clear(&right);
    }
}

static void add_parts(const HcCommand *const *parts, int32_t width, HcText *to) {
    for (; parts != NULL && *parts != NULL; parts++) {
        char left[64];
        if ((*parts)->body == NULL) {
            hc_text_add(to, "\n%s\n", (*parts)->name);
            continue;
        }
        snprintf(left, sizeof left, "%s %s", (*parts)->name, (*parts)->usage);
        add_row(left, (*parts)->summary, LEFT, width, to);
    }
}

void hc_usage_help(const HcUsage *usage, int32_t width, HcText *to) {
    bool top = usage->path.length == 0;
    const Lines lines = {.ends = " ", .mark = "", .indent = 4, .width = width};
    hc_text_add(to, top ? "hcube %s: " : "%s: ", top ? hc_version() : usage->path.data);
    add_wrapped(usage->summary, (int32_t)to->length, &lines, to);
    hc_text_add(to, "\n");
    add_lines(usage->forms.data, 2, "", width, to);
    if (usage->about.length > 0) {
        hc_text_add(to, "\n");
        add_lines(usage->about.data, 0, "", width, to);
    }
    if (usage->examples.length > 0) {
        hc_text_add(to, "\nExample%s\n", strchr(usage->examples.data, '\n')[1] != '\0' ? "s" : "");
        add_lines(usage->examples.data, 2, " \\", width, to);
    }
    if (top) {
        for (const HcCommand *command = usage->commands; command->name != NULL; command++) {
            const HcCommand *const one[] = {command, NULL};
            add_parts(one, width, to);
        }
        hc_text_add(to, "\nStages\n");
        for (int i = 0; hc_stage_list[i] != NULL; i++) {
            add_row(hc_stage_list[i]->name, hc_stage_list[i]->summary, LEFT_OF_STAGE, width, to);
        }
        hc_text_add(to, "\n");
        add_lines(
            "Exit codes: 0 done, 1 differs (diff), 2 usage, 3 input, 4 reading or writing, 5 memory, 6 not "
            "supported, 7 "
            "device, 8 the "
            "data do not determine a result, 9 scenes of a batch failed, 10 they failed before and none "
            "now, 130 interrupted.",
            0, "", width, to);
    }
    if (usage->parts != NULL) {
        hc_text_add(to, "\n");
        add_parts(usage->parts, width, to);
        hc_text_add(to, "\nhcube %s NAME --help says more.\n", usage->path.data);
    }
    for (int32_t s = 0; s < usage->section_count - usage->shared; s++) {
        add_table(usage, s, width, to);
    }
    if (usage->shared > 0) {
        HcText line = {0};
        for (int32_t s = usage->section_count - usage->shared; s < usage->section_count; s++) {
            hc_text_add(&line, "%s, ", usage->sections[s].heading);
        }
        hc_text_add(&line, "which all stages have: hcube %s --help all\n", usage->path.data);
        hc_text_add(to, "\n");
        add_lines(hc_text_shown(&line), 0, "", width, to);
        hc_text_clear(&line);
    }
    if (usage->reference != NULL) {
        hc_text_add(to, "\nReference: ");
        add_wrapped(usage->reference, 11, &lines, to);
    }
}
