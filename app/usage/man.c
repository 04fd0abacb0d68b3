/* Manual pages in the language of man(7). */
#include "app/usage/usage.h"
#include "core/version.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Text as it stands: \ and - mean themselves, and a line that begins with . or ' is no request. Lines may end
 * after the | between choices. */
static void add_text(const char *text, HcText *to) {
    bool begins = to->length == 0 || to->data[to->length - 1] == '\n';
    for (const char *c = text; c != NULL && *c != '\0'; c++) {
        if (begins && (*c == '.' || *c == '\'')) {
            hc_text_add(to, "\\&");
        }
        hc_text_add(to, *c == '\\' ? "\\e" : *c == '-' ? "\\-" : *c == '|' ? "|\\:" : "%c", *c);
        begins = *c == '\n';
    }
}

static void add_section(const char *heading, HcText *to) {
    hc_text_add(to, ".SH \"");
    for (const char *c = heading; *c != '\0'; c++) {
        hc_text_add(to, "%c", toupper((unsigned char)*c));
    }
    hc_text_add(to, "\"\n");
}

/* Lines that are not joined: forms, examples. */
static void add_verbatim(const char *lines, HcText *to) {
    hc_text_add(to, ".nf\n");
    add_text(lines, to);
    hc_text_add(to, ".fi\n");
}

/* Paragraphs, each a line. */
static void add_paragraphs(const char *lines, HcText *to) {
    for (const char *line = lines; line != NULL && *line != '\0';) {
        size_t length = strcspn(line, "\n");
        char *one = hc_text_format("%.*s\n", (int)length, line);
        hc_text_add(to, ".PP\n");
        add_text(one, to);
        to->failed = to->failed || one == NULL;
        free(one);
        line += line[length] == '\n' ? length + 1 : length;
    }
}

static void add_options(const HcUsage *usage, int32_t place, HcText *to) {
    const HcUsageSection *section = &usage->sections[place];
    add_section(section->heading, to);
    HC_EACH_OPTION(option, section->table) {
        HcText forms = {0};
        HcText meaning = {0};
        if (hc_usage_is_hidden(usage, place, option)) {
            continue;
        }
        if (option->heading != NULL) {
            hc_text_add(to, ".SS \"%s\"\n", option->heading);
        }
        hc_option_forms(option, &forms);
        hc_option_meaning(option, &meaning);
        to->failed = to->failed || forms.failed || meaning.failed;
        hc_text_add(to, ".TP\n.B ");
        add_text(forms.data, to);
        hc_text_add(to, "\n");
        add_text(meaning.data, to);
        hc_text_add(to, ".\n");
        hc_text_clear(&forms);
        hc_text_clear(&meaning);
    }
}

static void add_entry(const char *name, const char *summary, HcText *to) {
    hc_text_add(to, ".TP\n.B ");
    add_text(name, to);
    hc_text_add(to, "\n");
    add_text(summary, to);
    hc_text_add(to, ".\n");
}

static void add_commands(const HcCommand *commands, HcText *to) {
    add_section("Commands", to);
    for (const HcCommand *command = commands; command->name != NULL; command++) {
        if (command->body != NULL) {
            add_entry(command->name, command->summary, to);
        }
    }
    add_section("Stages", to);
    for (int i = 0; hc_stage_list[i] != NULL; i++) {
        add_entry(hc_stage_list[i]->name, hc_stage_list[i]->summary, to);
    }
}

static void add_exit_codes(HcText *to) {
    static const char *const codes[][2] = {{"0", "done"},
                                           {"2", "wrong words on the command line"},
                                           {"3", "an input cannot be used"},
                                           {"4", "reading or writing failed"},
                                           {"5", "out of memory or threads"},
                                           {"6", "not supported"},
                                           {"7", "the device failed"},
                                           {"8", "the data do not determine a result"},
                                           {"9", "scenes of a batch failed"},
                                           {"10", "scenes of a batch failed before, none now"},
                                           {"130", "interrupted"}};
    add_section("Exit status", to);
    for (size_t c = 0; c < sizeof codes / sizeof *codes; c++) {
        add_entry(codes[c][0], codes[c][1], to);
    }
}

void hc_usage_man(const HcUsage *usage, HcText *to) {
    bool top = usage->path.length == 0;
    HcText name = {0};
    hc_text_add(&name, top ? "hcube" : "hcube %s", usage->path.data);
    for (char *c = name.data; c != NULL && *c != '\0'; c++) {
        *c = *c == ' ' ? '-' : *c;
    }
    hc_text_add(to, ".TH \"");
    add_text(name.data, to);
    hc_text_add(to, "\" 1 \"\" \"hcube %s\" \"Hyperspectral scenes\"\n.ad l\n.nh\n.SH NAME\n", hc_version());
    add_text(name.data, to);
    hc_text_add(to, " \\- ");
    add_text(usage->summary, to);
    hc_text_add(to, "\n.SH SYNOPSIS\n");
    add_verbatim(usage->forms.data, to);
    if (usage->examples.length > 0) {
        add_section("Examples", to);
        add_verbatim(usage->examples.data, to);
    }
    if (usage->about.length > 0) {
        add_section("Description", to);
        add_paragraphs(usage->about.data, to);
    }
    for (const HcCommand *const *part = usage->parts; part != NULL && *part != NULL; part++) {
        add_entry((*part)->name, (*part)->summary, to);
    }
    if (top) {
        add_commands(usage->commands, to);
    }
    for (int32_t s = 0; s < usage->section_count; s++) {
        add_options(usage, s, to);
    }
    add_exit_codes(to);
    if (usage->reference != NULL) {
        add_section("References", to);
        add_text(usage->reference, to);
        hc_text_add(to, "\n");
    }
    if (!top) {
        hc_text_add(to, ".SH \"SEE ALSO\"\n.BR hcube (1)\n");
    }
    to->failed = to->failed || name.failed;
    hc_text_clear(&name);
}
