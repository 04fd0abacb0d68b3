/* Descriptions of the program, its commands and its stages. */
#include "app/usage/usage.h"
#include "pipeline/stages/stages.h"

#include <string.h>

void hc_usage_add(HcUsage *usage, const char *heading, const HcOption *table) {
    if (table != NULL && table->name != NULL && usage->section_count < HC_USAGE_SECTIONS) {
        usage->sections[usage->section_count++] = (HcUsageSection){.heading = heading, .table = table};
    }
}

bool hc_usage_is_hidden(const HcUsage *usage, int32_t section, const HcOption *option) {
    for (int32_t s = 0; s < section && !option->positional; s++) {
        HC_EACH_OPTION(other, usage->sections[s].table) {
            if (strcmp(other->name, option->name) == 0) {
                return true;
            }
        }
    }
    return false;
}

void hc_usage_clear(HcUsage *usage) {
    hc_text_clear(&usage->path);
    hc_text_clear(&usage->forms);
    hc_text_clear(&usage->about);
    hc_text_clear(&usage->examples);
    *usage = (HcUsage){0};
}

void hc_usage_of_program(const HcCommand *commands, HcUsage *usage) {
    *usage = (HcUsage){.summary = "hyperspectral scenes from the command line", .commands = commands};
    hc_text_add(&usage->forms, "hcube COMMAND ...\nhcube STAGE SCENE OUTPUT [OPTION...]\n");
    hc_text_add(&usage->about, "hcube reads a scene, sends it through a chain of stages, and writes rasters, "
                               "previews and a record of the run. Each stage is also a command.\nFor "
                               "details: hcube COMMAND --help and hcube STAGE --help.\n");
    hc_text_add(&usage->examples, "hcube run read scene.hdr ! mnf --components 20 ! write scene_mnf.tif\n"
                                  "hcube mnf scene.hdr scene_mnf.tif --components 20\n");
}

void hc_usage_of_command(const HcCommand *command, const char *before, HcUsage *usage) {
    *usage = (HcUsage){.summary = command->summary, .parts = command->parts};
    hc_text_add(&usage->path, "%s%s", before, command->name);
    if (command->takes_chain) {
        usage->steps = hc_stage_list;
    }
    if (command->describe != NULL) {
        command->describe(usage);
    }
    if (usage->forms.length == 0) {
        hc_text_add(&usage->forms, "hcube %s%s%s%s\n", before, command->name,
                    *command->usage != '\0' ? " " : "", command->usage);
    }
}

/* Words of a form for the positional options of a table. */
static void add_positional(const HcOption *table, HcText *to) {
    HC_EACH_OPTION(option, table) {
        if (option->positional) {
            hc_text_add(to, option->required ? " %s" : " [%s]", option->value);
        }
    }
}

static void describe_stage(const HcStageClass *kind, HcUsage *usage) {
    *usage = (HcUsage){.summary = kind->summary, .reference = kind->cite};
    hc_text_add(&usage->path, "%s", kind->name);
    if (kind->example != NULL) {
        hc_text_add(&usage->examples, "%s\n", kind->example);
    }
}

void hc_usage_of_step(const HcStageClass *kind, HcUsage *usage) {
    describe_stage(kind, usage);
    usage->is_step = true;
    hc_text_add(&usage->forms, "%s", kind->name);
    add_positional(kind->options, &usage->forms);
    hc_text_add(&usage->forms, " [OPTION...]\n");
    hc_usage_add(usage, "Options", kind->options);
}

void hc_usage_of_stage(const HcStageClass *kind, HcUsage *usage) {
    describe_stage(kind, usage);
    hc_text_add(&usage->forms, "hcube %s SCENE", kind->name);
    if (kind->role == HC_ROLE_SINK) {
        add_positional(kind->options, &usage->forms);
    }
    hc_text_add(&usage->forms, "%s [OPTION...]\n", kind->role == HC_ROLE_SINK ? "" : " OUTPUT");
    if (kind->rare.of_library != NULL) {
        hc_text_add(&usage->forms, "hcube %s SPECTRA [OPTION...]\n", kind->name);
    }
    hc_text_add(&usage->forms, "hcube run read SCENE ! %s", kind->name);
    add_positional(kind->options, &usage->forms);
    hc_text_add(&usage->forms, " [OPTION...] ! ...\n");
    hc_usage_add(usage, "Options", kind->options);
    int32_t own = usage->section_count;
    if (kind->role != HC_ROLE_SOURCE) {
        hc_usage_add(usage, "Options of reading", hc_stage_read.options);
    }
    if (kind->role != HC_ROLE_SINK) {
        hc_usage_add(usage, "Options of writing", hc_stage_write.options);
    }
    hc_usage_add(usage, "Options of every run", hc_common_options);
    usage->shared = usage->section_count - own;
}
