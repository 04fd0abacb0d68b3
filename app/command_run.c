/* run, and every stage as a command. */
#include "core/operation/image/decode.h"
#include "app/usage/usage.h"
#include "io/file.h"
#include "io/gdal/remote.h"
#include "pipeline/report/tables.h"
#include "pipeline/stages/denoise/residual.h"
#include "pipeline/run/verify.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The notes from number `from` on. Returns how many there are. */
static int32_t print_notes(const HcChain *chain, int32_t from) {
    for (int32_t n = from; n < chain->note_count; n++) {
        hc_say("note: %s", chain->notes[n]);
    }
    return chain->note_count;
}

/* What each mask has left out, where there are several. */
static void print_masks(const HcChain *chain) {
    const HcSource *source = chain->source;
    int32_t count = source->left_out != NULL ? hc_view_mask_count(source->view) : 0;
    for (int32_t m = 0; m < count && count > 1; m++) {
        const char *value = NULL;
        const char *option = hc_view_mask_name(source->view, m, &value);
        hc_say("masked by %s %s: %lld pixels", option, value, (long long)source->left_out[m]);
    }
}

static void print_masked(const HcRunReport *report) {
    const int64_t *masked = report->masked;
    int64_t all = masked[HC_MASK_USER] + masked[HC_MASK_NODATA] + masked[HC_MASK_NAN];
    if (all > 0) {
        hc_say("masked: %lld of %lld pixels (%lld by the mask, %lld nodata, %lld not finite)", (long long)all,
               (long long)report->pixels, (long long)masked[HC_MASK_USER], (long long)masked[HC_MASK_NODATA],
               (long long)masked[HC_MASK_NAN]);
    }
}

static void print_summary(const HcChain *chain, const HcRunReport *report) {
    char peak[32];
    const char *outcome = hc_denoise_outcome(chain);
    print_masked(report);
    print_masks(chain);
    for (int32_t s = 0; s < chain->count; s++) {
        const HcStage *stage = &chain->stages[s];
        const char *output = stage->output;
        if (output != NULL && stage->kind->rare.written != NULL) {
            const HcScene *scene = stage->kind->rare.written(stage);
            bool sent = strcmp(output, HC_FILE_STANDARD_OUTPUT) == 0;
            hc_say("%s %s (%lld lines x %lld samples x %d bands)", sent ? "sent to" : "wrote",
                   sent ? "standard output" : output, (long long)scene->lines, (long long)scene->samples,
                   scene->bands);
        } else if (output != NULL) {
            hc_say("wrote %s", output);
        }
    }
    if (chain->report != NULL) {
        hc_say("wrote %s", chain->report);
    }
    hc_say("done in %.2f s (%.0f MB/s of scene, %d pass%s, limit: %s), peak memory %s%s%s", report->seconds,
           (double)report->raw_bytes / 1e6 / report->seconds, report->passes, report->passes == 1 ? "" : "es",
           hc_report_limit(report->seconds, report->seconds_wait_read, report->seconds_wait_write),
           hc_text_bytes(peak, sizeof peak, (double)report->peak_memory), outcome != NULL ? "; " : "",
           outcome != NULL ? outcome : "");
}

static HcStatus first_of(HcStatus first, HcStatus second) {
    return first != HC_OK ? first : second;
}

static void print_verified(const HcVerify *verify) {
    if (verify->done) {
        hc_say("verified %d tile%s of %d lines (--verify-seed %llu): %lld values are what the CPU finds "
               "(%.2f s)",
               verify->tiles, verify->tiles == 1 ? "" : "s", verify->lines, (unsigned long long)verify->seed,
               (long long)verify->check.values, verify->seconds);
    }
}

/* The results and what was written; a trial has left nothing. */
static void print_end(const HcProgressShow *show, const HcChain *chain, const HcRunReport *report,
                      const HcRunSettings *settings, const HcVerify *verify, bool quiet) {
    if (settings->trial) {
        return;
    }
    fputs(hc_text_shown(settings->results), chain->sends != NULL ? stderr : stdout);
    if (!quiet) {
        print_verified(verify);
        print_summary(chain, report);
        hc_progress_outputs(show, chain, report, settings->record);
    } else if (hc_ranks_number(settings->ranks) == 0 && hc_denoise_outcome(chain) != NULL) {
        hc_say("%s", hc_denoise_outcome(chain));
    }
}

/* Before anything is computed for it. `open`: when the program began, since a file that was opened later may
 * have its number. */
static HcStatus check_standard_output(const HcChain *chain, const HcRunSettings *settings, bool open,
                                      HcError *err) {
    if (chain->sends == NULL || settings->trial) {
        return HC_OK;
    }
    const char *who = chain->sends->kind->name;
    if (!open) {
        return hc_fail(err, HC_E_USAGE, "%s: -: standard output is closed", who);
    }
    if (isatty(STDOUT_FILENO)) {
        return hc_fail(
            err, HC_E_USAGE,
            "%s: -: standard output is a terminal; send it to a file or a pipe (> FILE, | PROGRAM)", who);
    }
    return hc_ranks_count(settings->ranks) == 1
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "%s: -: several ranks need a file that all see; name one", who);
}

HcStatus hc_run_by_options(HcChain *chain, const HcCommon *common, const HcRunExtra *extra, HcError *err) {
    HcStatus status = HC_OK;
    HcCompute *compute = NULL;
    HcProgressShow show;
    HcRunReport report = {0};
    HcVerify verify = {.tiles = (int32_t)common->verify,
                       .seed = (uint64_t)common->verify_seed,
                       .chain = chain,
                       .open = hc_backend_open_plain,
                       .user = common};
    char reason[256];
    HcOpening opening;
    bool open = fcntl(STDOUT_FILENO, F_GETFD) >= 0;
    HcText results = {0};
    HcRunSettings settings = {.memory = common->memory,
                              .device_memory = common->device_memory,
                              .cancel = hc_catch_signals(),
                              .progress = hc_progress_report,
                              .user = &show,
                              .ranks = hc_app_ranks(),
                              .results = &results,
                              .command = hc_command_line(),
                              .record = common->record};
    if (extra != NULL) {
        settings.command = extra->command;
        settings.trial = extra->trial;
        settings.no_files = extra->no_files;
        settings.describe = extra->describe;
        settings.inspect = extra->inspect;
        settings.describe_user = settings.inspect_user = extra->user;
    }
    const HcCommandLine *command = settings.command;
    bool of_batch = command->word_count > 0 && strcmp(command->words[0], "batch") == 0; /* as rerun has it */
    chain->overwrite = common->overwrite;
    chain->asks = true;
    chain->single = !of_batch;
    hc_chain_remove_dead(chain);
    bool quiet = common->quiet || hc_ranks_number(settings.ranks) > 0;
    hc_progress_start(&show, common->progress, quiet);
    HC_TRY(hc_backend_begin(common, &opening, err));
    status = hc_chain_plan(chain, err);
    int32_t told = quiet || status != HC_OK ? 0 : print_notes(chain, 0);
    HC_TRY(first_of(status, hc_backend_end(&opening, &compute, reason, sizeof reason, err)));
    settings.device_shares = opening.shares;
    if (!quiet && *reason != '\0') {
        hc_say("note: computing on the CPU (%s)", reason);
    }
    HC_TRY(check_standard_output(chain, &settings, open, err));
    HC_TRY(extra != NULL ? extra->planned(chain, extra->user, err) : HC_OK);
    verify.compute = compute;
    HC_TRY(hc_verify_begin(&verify, &settings, err));
    status = hc_run(chain, compute, &settings, &report, err);
    hc_progress_end(&show);
    if (!quiet) {
        (void)print_notes(chain, told);
    }
    HC_TRY(status);
    print_end(&show, chain, &report, &settings, &verify, quiet);
done:
    if (status != HC_OK && hc_ranks_forked(settings.ranks) && hc_ranks_number(settings.ranks) == 0) {
        hc_chain_remove_dead(chain); /* of a rank that was killed */
    }
    /* Stages hold memory of the backend: they go first. */
    hc_chain_free(chain);
    hc_compute_close(compute);
    hc_verify_clear(&verify);
    hc_text_clear(&results);
    return status;
}

static void describe_chain(const char *name, HcUsage *usage) {
    hc_text_add(&usage->forms,
                "hcube %s [OPTION...] read SCENE ! STAGE [OPTION...] ! ... ! write OUTPUT\n"
                "hcube %s 'read SCENE ! ... ! write OUTPUT'\n"
                "hcube %s chain.hcube --set scene=SCENE\n",
                name, name, name);
    hc_text_add(
        &usage->about,
        "Steps are separated by ! (a leading one is allowed); hcube stages lists them. A chain file holds "
        "the same text over several lines, with # comments and {name} placeholders that --set name=value "
        "fills.\n");
}

void hc_describe_run(HcUsage *usage) {
    describe_chain("run", usage);
    hc_text_add(
        &usage->examples,
        "hcube run read scene.hdr ! mnf --components 20 ! write scene_mnf.tif\n"
        "hcube run read scene.hdr ! mnf ! preview mnf.png --bands 1,2,3 --scree scree.png ! write mnf.tif\n");
    hc_usage_add(usage, "Options of a chain file", hc_leading_options);
    hc_usage_add(usage, "Options", hc_common_options);
}

void hc_describe_plan(HcUsage *usage) {
    describe_chain("plan", usage);
    hc_text_add(&usage->forms, "hcube plan STAGE SCENE OUTPUT [OPTION...]\n"
                               "hcube plan batch STEP ! STEP ... --scenes LIST|GLOB|DIR --output PATTERN\n");
    hc_text_add(&usage->examples, "hcube plan read scene.hdr ! mnf --components 20 ! write scene_mnf.tif\n"
                                  "hcube plan --measure mnf scene.hdr scene_mnf.tif\n");
    hc_usage_add(usage, "Options of this command", hc_plan_options);
    hc_usage_add(usage, "Options of a chain file", hc_leading_options);
    hc_usage_add(usage, "Options", hc_common_options);
}

/* Starts the further processes of --ranks, which go on after this call as this one does. No library that
 * starts threads has been called so far. */
static HcStatus start_ranks(const HcCommon *common, HcError *err) {
    HcRanks *ranks = hc_app_ranks();
    if (common->ranks <= 1) {
        return HC_OK;
    }
    if (ranks != NULL) {
        return hc_fail(err, HC_E_USAGE, "--ranks %lld: the launcher has started %d ranks already",
                       (long long)common->ranks, hc_ranks_count(ranks));
    }
    HC_OR_RETURN(hc_share_signals(err));
    (void)hc_catch_signals();
    fflush(NULL);
    hc_remote_before_fork();
    HcStatus status = hc_ranks_start(&ranks, (int32_t)common->ranks, err);
    hc_set_app_ranks(ranks);
    hc_process_begins();
    return status;
}

/* Takes the chain. */
static HcStatus run_shared(HcChain *chain, const HcCommon *common, HcError *err) {
    HcStatus status = start_ranks(common, err);
    status = status == HC_OK ? hc_use_scratch(common, err) : status;
    if (status != HC_OK) {
        hc_chain_free(chain);
        return status;
    }
    return hc_run_by_options(chain, common, NULL, err);
}

HcStatus hc_command_run(int32_t word_count, const char *const *words, HcError *err) {
    HcCommon common;
    HcChain *chain = NULL;
    HC_OR_RETURN(hc_read_chain("run", word_count, words, &common, NULL, &chain, err));
    return run_shared(chain, &common, err);
}

/* hcube STAGE --list [PATTERN] */
static HcStatus show_list(const HcStageClass *kind, int32_t word_count, const char *const *words,
                          HcError *err) {
    HcText text = {0};
    if (word_count > 2) {
        return hc_fail(err, HC_E_USAGE, "%s: %s: --list takes one pattern", kind->name, words[2]);
    }
    kind->rare.list(word_count > 1 ? words[1] : "", &text);
    fputs(hc_text_shown(&text), stdout);
    HcStatus status = text.length > 0
                          ? HC_OK
                          : hc_fail_text(err, HC_E_USAGE, &text, "%s: --list: nothing has %s in it",
                                         kind->name, word_count > 1 ? words[1] : "");
    hc_text_clear(&text);
    return status;
}

HcStatus hc_command_stage(const HcStageClass *kind, int32_t word_count, const char *const *words,
                          HcError *err) {
    HcCommon common;
    HcChain *chain = NULL;
    if (kind->rare.list != NULL && word_count > 0 && strcmp(words[0], "--list") == 0) {
        return show_list(kind, word_count, words, err);
    }
    bool library = false;
    HC_OR_RETURN(hc_library_leads(kind, word_count, words, &library, err));
    if (library) {
        return hc_command_of_library(kind, word_count, words, err);
    }
    hc_options_reset(hc_common_options, &common);
    HcOptionSet set = {.table = hc_common_options, .params = &common};
    HC_OR_RETURN(hc_chain_for_stage(&chain, kind, words, word_count, &set, err));
    HcStatus status = hc_add_report(chain, &common, err);
    if (status != HC_OK) {
        hc_chain_free(chain);
        return status;
    }
    return run_shared(chain, &common, err);
}

HcStatus hc_command_stages(int32_t word_count, const char *const *words, HcError *err) {
    if (word_count > 1) {
        return hc_fail(err, HC_E_USAGE, "stages: %s: one word too many", words[1]);
    }
    if (word_count == 1) {
        const HcStageClass *kind = hc_stage_find(words[0]);
        if (kind == NULL) {
            return hc_stage_unknown(words[0], err);
        }
        HcUsage usage;
        hc_usage_of_step(kind, &usage);
        return hc_usage_print(&usage, HC_USAGE_HELP, err);
    }
    for (int i = 0; hc_stage_list[i] != NULL; i++) {
        printf("%-10s %s\n", hc_stage_list[i]->name, hc_stage_list[i]->summary);
    }
    return HC_OK;
}
