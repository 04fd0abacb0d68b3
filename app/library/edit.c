/* library select, convert, plot: one library becomes another one, or a picture. */
#include "app/library/library.h"
#include "core/allocate.h"
#include "io/file.h"
#include "pipeline/picture/look.h"
#include "pipeline/spectra/library/choice.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

typedef struct Params {
    const char *input, *output;
    HcLibraryChoice choice;
    const char *class, *quality;
} Params;

#define LIBRARY                                                                                              \
    {                                                                                                        \
        HC_TEXT(Params, input), .file = HC_FILE_READ, .value = "LIBRARY", .positional = true,                \
                                .required = true,                                                            \
                                .help = "the library, or any file of spectra that import reads"              \
    }
#define OUTPUT(value_, help_)                                                                                \
    {                                                                                                        \
        HC_TEXT(Params, output), .file = HC_FILE_WRITTEN, .value = (value_), .positional = true,             \
                                 .required = true, .help = (help_)                                           \
    }
#define CHOICE                                                                                               \
    HC_LIBRARY_CHOICE_OPTIONS(Params, choice),                                                               \
        {HC_TEXT(Params, class), .value = "LIST", .otherwise = "all classes",                                \
         .help = "take only spectra of these classes: patterns with * ? and [...], separated by commas"},    \
    {                                                                                                        \
        HC_TEXT(Params, quality), .value = "LIST", .otherwise = "any quality",                               \
                                  .help = "take only spectra of this quality: patterns, separated by commas" \
    }

static const HcOption select_options[] = {
    LIBRARY, OUTPUT("OUTPUT", "the spectra that were chosen, as .sli or .csv"), CHOICE, {0}};
static const HcOption convert_options[] = {
    LIBRARY, OUTPUT("OUTPUT", "the same library as .sli or .csv"), {0}};
static const HcOption plot_options[] = {
    LIBRARY, OUTPUT("PICTURE", "the plot, by its ending as .png, .svg or .pdf"), CHOICE, {0}};

/* Whether a text fits a pattern of a list. */
static bool fits(const char *text, const char *list) {
    char pattern[256];
    bool does = false;
    for (; !does; list++) {
        size_t length = strcspn(list, ",");
        if (length < sizeof pattern) {
            memcpy(pattern, list, length);
            pattern[length] = '\0';
            does = fnmatch(pattern, text, FNM_CASEFOLD | FNM_NOESCAPE) == 0;
        }
        list += length;
        if (*list == '\0') {
            break;
        }
    }
    return does;
}

/* Leaves out entries whose fact fits no pattern of the list; NULL leaves all. */
static HcStatus filter(HcLibrary *library, const char *who, HcLibraryFact fact, const char *list,
                       HcError *err) {
    uint8_t *keep = NULL;
    int32_t kept = 0;
    if (list == NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_new(keep, library->count, "a choice of spectra", err));
    const char *example = hc_library_fact(library, 0, fact);
    for (int32_t i = 0; i < library->count; i++) {
        keep[i] = fits(hc_library_fact(library, i, fact), list);
        kept += keep[i];
    }
    const char *word = hc_library_fact_word(fact);
    HcStatus status =
        kept > 0 ? hc_library_keep(library, keep, err)
                 : hc_fail(err, HC_E_USAGE, "%s: --%s %s: no spectrum has such a %s (%s%s)", who, word, list,
                           word, *example != '\0' ? "the first has " : "the first has none", example);
    free(keep);
    return status;
}

static HcStatus check_files(const char *who, const Params *params, const HcCommon *common, bool picture,
                            HcFileUse *use, HcError *err) {
    HC_OR_RETURN(hc_file_use_read(use, params->input, err));
    if (!picture) {
        return hc_library_check_output(who, params->output, common->overwrite, use, err);
    }
    HC_OR_RETURN(hc_look_check(who, "PICTURE", params->output, err));
    HC_OR_RETURN(hc_file_check(params->output, common->overwrite, err));
    return hc_file_use_write(use, who, params->output, err);
}

static HcStatus edit(const char *who, const HcOption *table, int32_t word_count, const char *const *words,
                     HcError *err) {
    HcStatus status = HC_OK;
    Params params = {0};
    HcCommon common = {0};
    HcLibrary library = {0};
    HcFileUse use = {0};
    HcSpectrumAxes *axes = NULL;
    char *note = NULL;
    bool picture = table == plot_options;
    HcOptionSet sets[] = {{.table = table, .params = &params},
                          {.table = hc_plain_options(), .params = &common}};
    hc_options_reset(table, &params);
    hc_options_reset(hc_common_options, &common);
    HC_TRY(hc_options_parse(who, sets, 2, words, word_count, err));
    params.choice.all = params.choice.all || table == convert_options;
    HC_TRY(check_files(who, &params, &common, picture, &use, err));
    HC_TRY(hc_spectrum_read(&library, params.input, false, &axes, err));
    HC_TRY(hc_library_choose(&library, params.input, &params.choice, who, &note, err));
    HC_TRY(filter(&library, who, HC_FACT_CLASS, params.class, err));
    HC_TRY(filter(&library, who, HC_FACT_QUALITY, params.quality, err));
    hc_say_note(common.quiet, note);
    HC_TRY(picture ? hc_look_spectra(&library, params.input, NULL, params.output, common.overwrite, err)
                   : hc_library_save(&library, params.output, &common, &use, err));
done:
    free(note);
    hc_spectrum_axes_free(axes);
    hc_library_clear(&library);
    hc_file_use_clear(&use);
    return status;
}

/* A command of that name. */
#define COMMAND(name_, usage_, summary_, example_)                                                           \
    static HcStatus run_##name_(int32_t word_count, const char *const *words, HcError *err) {                \
        return edit("library " #name_, name_##_options, word_count, words, err);                             \
    }                                                                                                        \
    static void describe_##name_(HcUsage *usage) {                                                           \
        hc_library_describe(usage, name_##_options, example_);                                               \
    }                                                                                                        \
    const HcCommand hc_library_##name_ = {.name = #name_,                                                    \
                                          .body = run_##name_,                                               \
                                          .usage = (usage_),                                                 \
                                          .summary = (summary_),                                             \
                                          .describe = describe_##name_}

COMMAND(select, "LIBRARY OUTPUT [OPTION...]", "take spectra of a library by name, number, class or quality",
        "hcube library select usgs.sli clays.sli --spectra '*kaolinite*,*smectite*' --quality 'a*,b*'");
COMMAND(convert, "LIBRARY OUTPUT [OPTION...]", "write a library in the other form",
        "hcube library convert field.csv field.sli");
COMMAND(plot, "LIBRARY PICTURE [OPTION...]", "plot the spectra of a library",
        "hcube library plot usgs.sli clays.svg --spectra '*kaolinite*'");
