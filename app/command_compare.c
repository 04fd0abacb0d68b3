/* compare: how far a result is from its truth. Everything but options, files and printing is in
 * pipeline/compare. */
#include "app/usage/usage.h"
#include "core/allocate.h"
#include "io/file.h"
#include "io/file_use.h"
#include "pipeline/compare/compare.h"
#include "pipeline/stages/stages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct CompareParams {
    const char *scene, *truth, *json, *picture;
    int32_t kind, match;
    bool bands, no_ssim, low;
    double peak;
    int64_t size;
} CompareParams;

static const char *const kind_words[] = {"auto", "values", "classes", "scores", NULL}; /* as HcCompareKind */

static const HcOption compare_options[] = {
    {HC_TEXT(CompareParams, scene), .file = HC_FILE_READ, .value = "SCENE", .positional = true,
     .required = true, .help = "the raster to be judged"},
    {HC_TEXT(CompareParams, truth), .file = HC_FILE_READ, .value = "TRUTH", .positional = true,
     .required = true, .help = "the raster to compare with, of the same lines and samples"},
    {HC_CHOICE(CompareParams, kind, "as"), .choices = kind_words, .standard = "auto",
     .help = "compare values, classes, or scores with a map of targets. auto: classes if one is a class map "
             "and the other is a class map or a band of integers. Scores if only the truth is a class map"},
    {HC_CHOICE(CompareParams, match), .choices = hc_compare_match_words, .standard = "auto",
     .help = "how bands or classes are paired: by position or number (order), by name, or by best agreement "
             "(best, up to 256). auto: by name for classes if both maps have names, and for scores if a band "
             "has the name of a class; else by order"},
    {HC_REAL(CompareParams, peak), .range = {0, INFINITY}, .open = HC_OPEN_LOW, .initial = NAN,
     .unit = "stored units", .otherwise = "the range of the truth in each band", .value = "VALUE",
     .help = "range of values for PSNR and SSIM"},
    {HC_FLAG(CompareParams, low), .help = "low scores mean targets (sam, sid, infeasibility)"},
    {HC_FLAG(CompareParams, no_ssim, "no-ssim"), .help = "skip SSIM, which takes most of the time"},
    {HC_FLAG(CompareParams, bands), .help = "also print a row for each pair of bands"},
    {HC_TEXT(CompareParams, json), .file = HC_FILE_WRITTEN, .value = "FILE",
     .help = "write all figures as JSON to this file"},
    {HC_TEXT(CompareParams, picture), .file = HC_FILE_WRITTEN, .value = "PICTURE",
     .help =
         "draw the root mean square difference of each pixel, right and wrong classes, or the ROC curves of "
         "scores: .png, .svg or .pdf"},
    {HC_INT(CompareParams, size), .range = {16, 16384}, .initial = 1024, .unit = "pixels", .value = "PIXELS",
     .help = "longest side of the picture; larger scenes are subsampled"},
    {0}};

/* Options of every run that have no meaning here. */
static const char *const left_out[] = {"device", "ranks",  "device-memory", "progress", "record",
                                       "report", "verify", "verify-seed",   NULL};

enum { OPTIONS_MAX = 64 };

typedef struct Tables {
    HcOption common[OPTIONS_MAX], reading[OPTIONS_MAX];
} Tables;

/* Options of reading, without the scene itself: this command names two. */
static void make_tables(Tables *tables) {
    size_t count = 0;
    memset(tables, 0, sizeof *tables);
    hc_common_options_but(left_out, tables->common);
    HC_EACH_OPTION(option, hc_stage_read.options) {
        if (!option->positional && count + 1 < OPTIONS_MAX) {
            tables->reading[count++] = *option;
        }
    }
}

void hc_describe_compare(HcUsage *usage) {
    static Tables tables;
    make_tables(&tables);
    hc_text_add(&usage->forms, "hcube compare SCENE TRUTH [OPTION...]\n");
    hc_text_add(&usage->examples, "hcube compare denoised.tif clean.tif --picture difference.png\n"
                                  "hcube compare abundances.tif truth.hdr --match name --json figures.json\n"
                                  "hcube compare classes.tif reference.tif\n"
                                  "hcube compare scores.tif targets.hdr --picture roc.pdf\n");
    hc_usage_add(usage, "Options", compare_options);
    hc_usage_add(usage, "Options of reading, for both", tables.reading);
    hc_usage_add(usage, "Options of every run", tables.common);
}

/* A command, from its words to its figures. */
typedef struct Compare {
    CompareParams params;
    HcCommon common;
    Tables tables;
    unsigned char *reading; /* as the parameters of read */
    HcChain *chain[2];
    HcCompute *compute;
    HcFileUse use;
    HcComparison result;
} Compare;

static HcStatus read_words(Compare *compare, int32_t word_count, const char *const *words, HcError *err) {
    HC_OR_RETURN(hc_new(compare->reading, hc_stage_read.params_size, "options", err));
    HcOptionSet sets[] = {{.table = compare_options, .params = &compare->params},
                          {.table = compare->tables.common, .params = &compare->common},
                          {.table = compare->tables.reading, .params = compare->reading}};
    hc_options_reset(compare_options, &compare->params);
    hc_options_reset(hc_common_options, &compare->common);
    hc_options_reset(hc_stage_read.options, compare->reading);
    HC_OR_RETURN(hc_options_parse("compare", sets, 3, words, word_count, err));
    compare->common.device = "cpu";
    return hc_use_scratch(&compare->common, err);
}

/* A chain of one step, read, with the options that are the same for both. */
static HcStatus make_chain(Compare *compare, const char *path, HcChain **out, HcError *err) {
    const char *words[] = {"read", path};
    HC_OR_RETURN(hc_chain_parse(out, words, 2, NULL, err));
    void *params = (*out)->stages[0].params;
    HC_EACH_OPTION(option, hc_stage_read.options) {
        if (option->positional) {
            const char *own = NULL;
            memcpy(&own, (const char *)params + option->offset, sizeof own);
            memcpy(params, compare->reading, hc_stage_read.params_size);
            memcpy((char *)params + option->offset, &own, sizeof own);
        }
    }
    return HC_OK;
}

static HcStatus add_read(const char *path, void *user, HcError *err) {
    return hc_file_use_read(user, path, err);
}

static HcStatus check_output(Compare *compare, const char *path, HcError *err) {
    if (path == NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_file_check(path, compare->common.overwrite, err));
    return hc_file_use_write(&compare->use, "compare", path, err);
}

static HcStatus check_files(Compare *compare, HcError *err) {
    const CompareParams *params = &compare->params;
    HcOptionSet sets[] = {{.table = compare_options, .params = &compare->params},
                          {.table = compare->tables.reading, .params = compare->reading}};
    for (size_t s = 0; s < 2; s++) {
        HC_OR_RETURN(hc_options_files(&sets[s], HC_FILE_READ, add_read, &compare->use, err));
    }
    if (params->picture != NULL) {
        HC_OR_RETURN(hc_comparison_picture_check(params->picture, err));
    }
    HC_OR_RETURN(check_output(compare, params->json, err));
    return check_output(compare, params->picture, err);
}

static void print_notes(const Compare *compare) {
    for (int w = 0; w < 2; w++) {
        const HcChain *chain = compare->chain[w];
        for (int32_t n = 0; n < chain->note_count; n++) {
            bool again = w == 1 && compare->chain[0]->note_count > n &&
                         strcmp(chain->notes[n], compare->chain[0]->notes[n]) == 0;
            if (!again) {
                hc_say("note: %s", chain->notes[n]);
            }
        }
    }
}

static HcStatus write_json(const Compare *compare, HcError *err) {
    HcStatus status = HC_OK;
    HcJson json;
    hc_json_begin(&json);
    hc_json_put_text(&json, "command", hc_command_line()->text);
    HC_TRY(hc_comparison_json(&compare->result, &json, err));
    HC_TRY(hc_json_save(&json, compare->params.json, compare->common.overwrite, err));
done:
    hc_json_clear(&json);
    return status;
}

/* Files get their names together, and before anything is printed. */
static HcStatus write_files(const Compare *compare, HcError *err) {
    HcStatus status = HC_OK;
    const CompareParams *params = &compare->params;
    HC_TRY(hc_file_begin(NULL, 0, err));
    if (params->picture != NULL) {
        HC_TRY(hc_comparison_draw(&compare->result, params->picture, compare->common.overwrite, err));
    }
    if (params->json != NULL) {
        HC_TRY(write_json(compare, err));
    }
    HC_TRY(hc_file_commit(err));
done:
    hc_file_rollback();
    return status;
}

HcStatus hc_command_compare(int32_t word_count, const char *const *words, HcError *err) {
    HcStatus status = HC_OK;
    char reason[256];
    HcText figures = {0};
    Compare compare = {0};
    CompareParams *params = &compare.params;
    make_tables(&compare.tables);
    HC_TRY(read_words(&compare, word_count, words, err));
    HC_TRY(check_files(&compare, err));
    HC_TRY(make_chain(&compare, params->scene, &compare.chain[0], err));
    HC_TRY(make_chain(&compare, params->truth, &compare.chain[1], err));
    HC_TRY(hc_backend_open(&compare.common, &compare.compute, reason, sizeof reason, err));
    HcCompareSettings settings = {.kind = (HcCompareKind)params->kind,
                                  .match = (HcCompareMatch)params->match,
                                  .peak = params->peak,
                                  .no_ssim = params->no_ssim,
                                  .low = params->low,
                                  .picture = params->picture != NULL ? (int32_t)params->size : 0,
                                  .threads = (int32_t)compare.common.threads,
                                  .memory = (double)compare.common.memory,
                                  .cancel = hc_catch_signals()};
    HC_TRY(hc_compare(compare.chain[0], compare.chain[1], compare.compute, &settings, &compare.result, err));
    hc_comparison_text(&compare.result, params->bands, &figures);
    if (figures.failed) {
        HC_TRY(hc_fail_memory(err, (double)figures.length, "the figures"));
    }
    HC_TRY(write_files(&compare, err));
    if (!compare.common.quiet) {
        print_notes(&compare);
    }
    printf("%s", hc_text_shown(&figures));
done:
    hc_text_clear(&figures);
    hc_comparison_clear(&compare.result);
    hc_file_use_clear(&compare.use);
    for (int w = 0; w < 2; w++) {
        hc_chain_free(compare.chain[w]);
    }
    hc_compute_close(compare.compute);
    free(compare.reading);
    return status;
}
