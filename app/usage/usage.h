/* Usage: what help, man pages, completion and --json-usage say of a command, as one description.
 *
 * A command adds to it what the tables do not know: its forms, a text, examples, and which tables of options
 * it takes. */
#ifndef HC_APP_USAGE_USAGE_H
#define HC_APP_USAGE_USAGE_H

#include "app/app.h"

enum { HC_USAGE_SECTIONS = 5 };

/* A table of options under its heading ("Options of reading"). */
typedef struct HcUsageSection {
    const char *heading;
    const HcOption *table;
} HcUsageSection;

struct HcUsage {
    HcText path;         /* "mnf", "solve lp"; empty: hcube itself */
    const char *summary; /* what it is for, in one sentence without a full stop */
    HcText forms;        /* how it is called, a form a line: "hcube mnf SCENE OUTPUT [OPTION...]" */
    HcText about;        /* paragraphs, each a line; may be empty */
    HcText examples;     /* commands, each a line; may be empty */
    HcUsageSection sections[HC_USAGE_SECTIONS];
    int32_t section_count;
    int32_t shared;                   /* sections at the end that the help leaves out without `all` */
    const char *reference;            /* papers; NULL = none */
    const HcCommand *commands;        /* all of them, of hcube itself; NULL of others */
    const HcCommand *const *parts;    /* commands after its name, NULL-terminated; NULL = none */
    const HcStageClass *const *steps; /* stages that may follow one another in it; NULL = none */
    bool is_step;                     /* a step of a chain, with the options that it has there */
};

/* Descriptions; cleared by hc_usage_clear. Memory that ran out shows as `failed` in one of the texts. */
void hc_usage_of_program(const HcCommand *commands, HcUsage *usage);
void hc_usage_of_command(const HcCommand *command, const char *before, HcUsage *usage);
void hc_usage_of_stage(const HcStageClass *kind, HcUsage *usage);
/* As a step of a chain: with its own options alone. */
void hc_usage_of_step(const HcStageClass *kind, HcUsage *usage);
void hc_usage_clear(HcUsage *usage);

/* Whether an earlier section than `section` has an option of that name, which the words of the command then
 * mean. Positional ones count as places and are not hidden. */
bool hc_usage_is_hidden(const HcUsage *usage, int32_t section, const HcOption *option);

/* For HcCommand.describe. */
void hc_usage_add(HcUsage *usage, const char *heading, const HcOption *table);

/* The help as text, at most `width` characters a line where words are shorter. */
void hc_usage_help(const HcUsage *usage, int32_t width, HcText *to);
/* The source of a manual page in section 1, for man(1). */
void hc_usage_man(const HcUsage *usage, HcText *to);
/* In the form of GDAL's --json-usage (gdal_algorithm.schema.json of GDAL 3.11). */
void hc_usage_json(const HcUsage *usage, HcJson *to);

/* Whether --help, -h or --json-usage is among the words (before a bare --). */
bool hc_usage_is_asked(int32_t word_count, const char *const *words);
/* Prints what they ask for. command or kind: whose words they are; both NULL: those of hcube. */
HcStatus hc_usage_answer(const HcCommand *command, const HcStageClass *kind, int32_t word_count,
                         const char *const *words, HcError *err) HC_MUST_CHECK;

/* Columns of the terminal, COLUMNS where that is set, else 80. */
int32_t hc_usage_width(void);
typedef enum HcUsageForm { HC_USAGE_HELP, HC_USAGE_MAN, HC_USAGE_JSON } HcUsageForm;

/* Prints a description to standard output, and clears it. */
HcStatus hc_usage_print(HcUsage *usage, HcUsageForm form, HcError *err) HC_MUST_CHECK;

#endif
