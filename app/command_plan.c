/* plan: what a run would do, and with --measure how long it would take. */
#include "app/batch/batch.h"
#include "io/file.h"
#include "pipeline/report/tables.h"
#include "pipeline/run/forecast.h"
#include "pipeline/run/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "uint16, 100 lines x 100 samples x 60 bands" */
static void print_scene(const HcScene *scene, bool with_type) {
    if (with_type) {
        printf("%s, ", hc_type_name(scene->type));
    }
    printf("%lld lines x %lld samples x %d bands", (long long)scene->lines, (long long)scene->samples,
           scene->bands);
    if (scene->wavelength != NULL) {
        double low = scene->wavelength[0];
        double high = low;
        for (int32_t b = 1; b < scene->bands; b++) {
            low = scene->wavelength[b] < low ? scene->wavelength[b] : low;
            high = scene->wavelength[b] > high ? scene->wavelength[b] : high;
        }
        printf(", %.0f to %.0f nm", low, high);
    }
}

/* text: room for the answer where it has numbers. */
static const char *how_often_read(const HcRunReport *report, char *text, size_t size) {
    if (report->passes > 1 && !report->device_resident && report->device_blocks > 0) {
        snprintf(text, size,
                 "%lld of %lld blocks are read once and kept on the device, the others for each pass",
                 (long long)report->device_blocks, (long long)report->blocks);
        return text;
    }
    return report->passes == 1       ? "the scene is read once"
           : report->mapped          ? "the scene's file is mapped and looked at in each"
           : report->device_resident ? "the scene is read once and kept on the device"
           : report->resident        ? "the scene is read once and kept in memory"
                                     : "the scene is read again for each pass";
}

/* `way`: how the lines are read. */
static void print_lines(const HcChain *chain, const HcRunReport *report, HcCompute *compute,
                        const char *way) {
    HcComputeInfo info;
    char text[3][32];
    char often[128];
    hc_compute_info(compute, &info);
    int32_t number = 0;
    for (int32_t s = 0; s < chain->count; s++) {
        const HcStage *stage = &chain->stages[s];
        if (stage->kind->role == HC_ROLE_TAP) {
            continue;
        }
        printf("%2d. %-8s ", ++number, stage->kind->name);
        bool writes = stage->kind->rare.written != NULL;
        print_scene(writes ? stage->kind->rare.written(stage) : &stage->out, s == 0 || writes);
        if (stage->needs.observes) {
            printf("; sees the whole scene first");
        }
        if (stage->needs.halo > 0) {
            printf("; looks at %d line%s above and below", stage->needs.halo,
                   stage->needs.halo == 1 ? "" : "s");
        }
        printf("\n");
    }
    printf("reading  %s", way);
    if (chain->source->every > 1) {
        printf(", one line of %d", chain->source->every);
    }
    printf("\n");
    printf("passes   %d (%s)\n", report->passes, how_often_read(report, often, sizeof often));
    printf("blocks   %lld of at most %d lines\n", (long long)report->blocks, report->block_lines);
    printf(info.shared_memory ? "memory   %s, of which %s for computing\n"
                              : "memory   %s, and %s on the device\n",
           hc_text_bytes(text[0], sizeof text[0], (double)report->host_bytes),
           hc_text_bytes(text[1], sizeof text[1], (double)report->device_bytes));
    for (int32_t m = 0; m < hc_view_mask_count(chain->source->view); m++) {
        const char *value = NULL;
        const char *option = hc_view_mask_name(chain->source->view, m, &value);
        hc_show("mask     %s %s", option, value);
    }
    printf("scene    %s\n", hc_text_bytes(text[2], sizeof text[2], (double)report->raw_bytes));
    for (int32_t n = 0; n < chain->note_count; n++) {
        hc_show("note     %s", chain->notes[n]);
    }
}

/* Makes all that can fail first, and prints the whole plan or nothing. `heading` stands in front of it. */
static HcStatus print_plan(const char *heading, const HcChain *chain, const HcRunReport *report,
                           HcCompute *compute, HcError *err) {
    HcText way = {0};
    hc_reader_way(hc_view_reader(chain->source->view), &way);
    HcStatus status = way.failed ? hc_fail_memory(err, (double)way.length, "the plan") : HC_OK;
    if (status == HC_OK) {
        printf("%s", heading);
        print_lines(chain, report, compute, hc_text_shown(&way));
    }
    hc_text_clear(&way);
    return status;
}

/* Options of plan alone. */
typedef struct PlanParams {
    bool measure;
} PlanParams;

const HcOption hc_plan_options[] = {
    {HC_FLAG(PlanParams, measure), .help = "run the chain on the first lines of the scene, drop the outputs, "
                                           "and estimate the time of the whole run"},
    {0}};

static void print_forecast(const HcForecast *forecast, int64_t lines) {
    char text[2][32];
    printf("time     about %s, from %lld of %lld lines in %s%s\n",
           hc_duration_text(text[0], sizeof text[0], forecast->seconds), (long long)forecast->lines,
           (long long)lines, hc_duration_text(text[1], sizeof text[1], forecast->trial_seconds),
           forecast->cold ? ", read from the disk" : "");
    printf("  start  %s\n", hc_duration_text(text[0], sizeof text[0], forecast->start));
    for (int32_t p = 0; p < forecast->passes; p++) {
        const HcPassTimes *pass = &forecast->pass[p];
        printf("  pass %d %s, %s; limit: %s\n", p + 1,
               hc_duration_text(text[0], sizeof text[0], pass->seconds), pass->what,
               hc_report_limit(pass->seconds, pass->waiting_for_reading, pass->waiting_for_writing));
    }
}

/* A plan stands although its chain cannot be tried on some lines, for another reason than memory. */
static HcStatus print_time(HcChain *trial, HcCompute *compute, const HcRunSettings *settings,
                           const HcRunReport *plan, HcError *err) {
    HcForecast forecast;
    HcError why = {0};
    HcStatus status = hc_run_forecast(trial, compute, settings, plan, &forecast, &why);
    if (status == HC_E_CANCELLED || status == HC_E_MEMORY) {
        return hc_fail(err, status, "%s", why.text);
    }
    if (status == HC_OK) {
        print_forecast(&forecast, plan->lines);
    } else {
        printf("time     not measured: %s\n", why.text);
    }
    return HC_OK;
}

/* Plans the chain. The backend stays open for the caller, who closes it also after a failure. */
static HcStatus make_plan(HcChain *chain, const HcCommon *common, HcRunSettings *settings,
                          HcCompute **compute, HcRunReport *report, HcError *err) {
    char reason[256];
    *settings = (HcRunSettings){
        .memory = common->memory, .device_memory = common->device_memory, .record = common->record};
    HC_OR_RETURN(hc_backend_open(common, compute, reason, sizeof reason, err));
    HC_OR_RETURN(hc_run_plan(chain, *compute, settings, report, err));
    return common->verify > 0 ? hc_verify_check(chain, (int32_t)common->ranks, err) : HC_OK;
}

/* The batch makes folders when it runs. Until then the output is planned in the nearest one that is there,
 * under a name that no file has: "out/a.tif" as "out_a.tif". */
static void leave_missing_folders(char *output) {
    for (char *slash = strrchr(output, '/'); slash != NULL && slash != output; slash = strrchr(output, '/')) {
        *slash = '\0';
        bool there = hc_file_may_be_there(output);
        *slash = there ? '/' : '_';
        if (there) {
            return;
        }
    }
}

/* The plan of the first scene; those of the others differ where the scenes do. */
static HcStatus plan_batch(int32_t word_count, const char *const *words, HcError *err) {
    HcStatus status = HC_OK;
    HcBatch batch = {0};
    HcChain *chain = NULL;
    HcCompute *compute = NULL;
    HcRunSettings settings;
    HcRunReport report;
    char *heading = NULL;
    HcText text = {0};
    HC_TRY(hc_batch_read(&batch, word_count, words, err));
    if (batch.params.pool != NULL) {
        HC_TRY(hc_batch_pool_groups(&batch, err));
    }
    leave_missing_folders(batch.scenes[0].output);
    HC_TRY(hc_batch_chain(&batch, 0, &chain, err));
    HC_TRY(make_plan(chain, &batch.params.common, &settings, &compute, &report, err));
    hc_text_add(&text, "scenes   %d; the first: %s\n", batch.scene_count, batch.scenes[0].path);
    for (int32_t g = 0; g < batch.group_count; g++) {
        const HcBatchGroup *group = &batch.groups[g];
        hc_text_add(&text, "group    %s: %d scene%s of %s, model %s\n", group->name, group->scenes,
                    group->scenes == 1 ? "" : "s", group->about, group->model);
    }
    heading = hc_text_take(&text);
    HC_TRY(hc_text_made(heading, 64, "the plan", err));
    HC_TRY(print_plan(heading, chain, &report, compute, err));
done:
    free(heading);
    hc_text_clear(&text);
    hc_chain_free(chain);
    hc_compute_close(compute);
    hc_batch_clear(&batch);
    return status;
}

HcStatus hc_command_plan(int32_t word_count, const char *const *words, HcError *err) {
    HcStatus status = HC_OK;
    HcCommon common;
    PlanParams params;
    HcOptionSet own = {.table = hc_plan_options, .params = &params};
    HcChain *chain = NULL;
    HcChain *trial = NULL;
    HcCompute *compute = NULL;
    HcRunSettings settings;
    HcRunReport report;
    char heading[96] = "";
    if (word_count > 0 && strcmp(words[0], "batch") == 0) {
        return plan_batch(word_count - 1, words + 1, err);
    }
    if (word_count > 0 && strcmp(words[0], "run") == 0) { /* a whole command line after `plan` */
        word_count--;
        words++;
    }
    hc_options_reset(hc_plan_options, &params);
    HC_TRY(hc_read_chain("plan", word_count, words, &common, &own, &chain, err));
    if (params.measure) {
        HC_TRY(hc_read_chain("plan", word_count, words, &common, &own, &trial, err));
    }
    HC_TRY(hc_use_scratch(&common, err));
    HC_TRY(make_plan(chain, &common, &settings, &compute, &report, err));
    if (common.ranks > 1) {
        snprintf(heading, sizeof heading,
                 "ranks    %d share the lines; what follows is for one process that has the scene alone\n",
                 (int)common.ranks);
    }
    HC_TRY(print_plan(heading, chain, &report, compute, err));
    if (params.measure) {
        settings.cancel = hc_catch_signals();
        HC_TRY(print_time(trial, compute, &settings, &report, err));
    }
done:
    hc_chain_free(trial);
    hc_chain_free(chain);
    hc_compute_close(compute);
    return status;
}
