/* What a batch prints: a line a scene or an event a line as JSON, and a summary. */
#include "app/batch/batch.h"
#include "core/system/clock.h"
#include "pipeline/json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool hc_batch_as_json(const HcBatch *batch) {
    int32_t style = batch->params.common.progress;
    return style >= 0 && strcmp(hc_progress_words[style], "json") == 0 && !batch->params.common.quiet;
}

static bool is_silent(const HcBatch *batch) {
    int32_t style = batch->params.common.progress;
    return batch->params.common.quiet || (style >= 0 && strcmp(hc_progress_words[style], "none") == 0);
}

/* ---- adding up ---- */

static void add_up(HcBatchTotals *totals, const HcBatchEvent *event) {
    for (int32_t p = 0; p < event->part_count; p++) {
        int32_t place = 0;
        while (place < totals->part_count && strcmp(totals->parts[place].name, event->parts[p].name) != 0) {
            place++;
        }
        if (place == totals->part_count && totals->part_count < HC_BATCH_PARTS) {
            snprintf(totals->parts[totals->part_count++].name, sizeof totals->parts[0].name, "%s",
                     event->parts[p].name);
        }
        if (place < totals->part_count) {
            totals->parts[place].seconds += (double)event->parts[p].seconds;
        }
    }
    int32_t device = 0;
    while (device < totals->device_count && strcmp(totals->devices[device].name, event->device) != 0) {
        device++;
    }
    if (device == totals->device_count && totals->device_count < HC_BATCH_PARTS) {
        snprintf(totals->devices[totals->device_count++].name, sizeof totals->devices[0].name, "%s",
                 event->device);
    }
    if (device < totals->device_count) {
        totals->devices[device].scenes++;
        totals->devices[device].bytes += event->bytes;
        totals->devices[device].seconds += event->seconds;
    }
    totals->bytes += event->bytes;
    totals->seconds += event->seconds;
    totals->unmasked += event->unmasked;
    totals->undescribed += event->undescribed;
    totals->handed_on += event->handed_on;
}

/* ---- lines ---- */

/* "2026-11-28 02:14:07" by the clock of this place. */
static const char *clock_text(char *text, size_t size) {
    time_t now = time(NULL);
    struct tm local;
    *text = '\0';
    if (localtime_r(&now, &local) != NULL) {
        strftime(text, size, "%Y-%m-%d %H:%M:%S", &local);
    }
    return text;
}

/* Bytes a second; "" where nothing was measured. */
static const char *rate_text(char *text, size_t size, double bytes, double seconds) {
    char number[24];
    *text = '\0';
    if (bytes > 0 && seconds > 0) {
        snprintf(text, size, ", %s/s", hc_text_bytes(number, sizeof number, bytes / seconds));
    }
    return text;
}

static void report_json(const HcBatch *batch, const HcBatchEvent *event, const HcBatchTotals *totals,
                        const char *name, const char *why) {
    const HcBatchScene *scene = &batch->scenes[event->scene];
    char now[32];
    HcJson json;
    hc_json_begin(&json);
    hc_json_put_text(&json, "event", name);
    hc_json_put_text(&json, "scene", scene->path);
    hc_json_put_text(&json, "output", scene->output);
    hc_json_put_number(&json, "index", event->scene + 1);
    hc_json_put_number(&json, "scenes", batch->scene_count);
    hc_json_put_number(&json, "at_seconds", hc_now() - totals->start);
    hc_json_put_text(&json, "time", clock_text(now, sizeof now));
    if (event->device[0] != '\0') {
        hc_json_put_text(&json, "device", event->device);
    }
    if (event->what == HC_BATCH_DONE) {
        hc_json_put_number(&json, "bytes", event->bytes);
        hc_json_put_number(&json, "seconds", event->seconds);
        if (event->replaced) {
            hc_json_put_bool(&json, "replaced", true);
        }
    }
    if (event->what == HC_BATCH_FAILED) {
        hc_json_put_number(&json, "exit_code", (double)event->status);
    }
    if (why != NULL) {
        hc_json_put_text(&json, "why", why);
    }
    if (event->text[0] != '\0') {
        hc_json_put_text(&json, "message", event->text);
    }
    hc_say_json(&json);
}

static void report_line(const HcBatch *batch, const HcBatchEvent *event) {
    if (event->scene < 0) {
        return;
    }
    const HcBatchScene *scene = &batch->scenes[event->scene];
    char now[32], number[80], rate[40];
    snprintf(number, sizeof number, "%s [%d/%d]", clock_text(now, sizeof now), event->scene + 1,
             batch->scene_count);
    /* Most messages begin with the name of the file. */
    bool named = strncmp(event->text, scene->path, strlen(scene->path)) == 0;
    if (event->what == HC_BATCH_DONE && !is_silent(batch)) {
        hc_say("%s wrote %s in %.2f s%s", number, scene->output, event->seconds,
               rate_text(rate, sizeof rate, event->bytes, event->seconds));
    } else if (event->what == HC_BATCH_FAILED) {
        hc_say("%s failed: %s%s%s", number, named ? "" : scene->path, named ? "" : ": ", event->text);
    } else if (event->what == HC_BATCH_EARLIER && !is_silent(batch)) {
        hc_say("%s failed before: %s%s%s", number, named ? "" : scene->path, named ? "" : ": ", event->text);
    }
}

static void note_time(HcBatchTotals *totals, const HcBatchEvent *event) {
    double now = hc_now() - totals->start;
    if (event->what == HC_BATCH_DEVICE) {
        totals->workers++;
        totals->last_ready = now;
    } else if (event->what == HC_BATCH_STARTED && totals->first_began == 0) {
        totals->first_began = now;
    } else if (event->what == HC_BATCH_DONE) {
        totals->last_ended = now;
    }
}

static void count(HcBatchTotals *totals, const HcBatchEvent *event) {
    note_time(totals, event);
    totals->done += event->what == HC_BATCH_DONE;
    totals->replaced += event->what == HC_BATCH_DONE && event->replaced;
    totals->skipped += event->what == HC_BATCH_SKIPPED;
    totals->failed += event->what == HC_BATCH_FAILED;
    totals->failed_before += event->what == HC_BATCH_EARLIER;
    totals->elsewhere += event->what == HC_BATCH_ELSEWHERE;
    if (event->what == HC_BATCH_DONE) {
        add_up(totals, event);
    }
}

void hc_batch_report(const HcBatch *batch, const HcBatchEvent *event, HcBatchTotals *totals) {
    static const struct {
        HcBatchWhat what;
        const char *name, *why;
    } names[] = {{HC_BATCH_STARTED, "started", NULL},
                 {HC_BATCH_DONE, "done", NULL},
                 {HC_BATCH_FAILED, "failed", NULL},
                 {HC_BATCH_SKIPPED, "skipped", "complete"},
                 {HC_BATCH_EARLIER, "skipped", "failed before"},
                 {HC_BATCH_ELSEWHERE, "skipped", "another worker has it"}};
    count(totals, event);
    hc_batch_word(totals, event);
    bool looked = event->what == HC_BATCH_SKIPPED || event->what == HC_BATCH_EARLIER ||
                  event->what == HC_BATCH_ELSEWHERE;
    if (looked && hc_ranks_number(hc_app_ranks()) > 0) {
        return; /* every rank looks at every scene: the first one says so */
    }
    if (event->what == HC_BATCH_DEVICE) {
        /* Once, and not for every worker. */
        if (event->text[0] != '\0' && !totals->device_noted && !batch->params.common.quiet &&
            !hc_batch_as_json(batch)) {
            hc_say("note: computing on the CPU (%s)", event->text);
        }
        totals->device_noted = true;
        return;
    }
    if (!hc_batch_as_json(batch)) {
        report_line(batch, event);
        return;
    }
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        if ((int32_t)names[n].what == event->what) {
            report_json(batch, event, totals, names[n].name, names[n].why);
        }
    }
}

void hc_batch_report_pool(const HcBatch *batch, const HcBatchTotals *sums, int32_t left_out) {
    int32_t scenes = batch->scene_count - left_out;
    double seconds = hc_now() - sums->start;
    if (!hc_batch_as_json(batch)) {
        if (!is_silent(batch)) {
            bool several = batch->group_count > 0;
            char now[32];
            hc_say("%s %s: the model%s of %d scene%s, %d left out, %d summed before, in %.2f s",
                   clock_text(now, sizeof now), batch->params.pool, several ? "s" : "", scenes,
                   scenes == 1 ? "" : "s", left_out, sums->skipped, seconds);
        }
        return;
    }
    HcJson json;
    hc_json_begin(&json);
    hc_json_put_text(&json, "event", "pooled");
    hc_json_put_text(&json, "model", batch->params.pool);
    hc_json_put_number(&json, "scenes", scenes);
    hc_json_put_number(&json, "left_out", left_out);
    hc_json_put_number(&json, "summed_before", sums->skipped);
    hc_json_put_number(&json, "seconds", seconds);
    hc_say_json(&json);
}

void hc_batch_report_groups(const HcBatch *batch) {
    for (int32_t g = 0; g < batch->group_count; g++) {
        const HcBatchGroup *group = &batch->groups[g];
        if (!hc_batch_as_json(batch)) {
            if (!is_silent(batch)) {
                hc_say("group %s: %d scene%s of %s, model %s", group->name, group->scenes,
                       group->scenes == 1 ? "" : "s", group->about, group->model);
            }
            continue;
        }
        HcJson json;
        hc_json_begin(&json);
        hc_json_put_text(&json, "event", "group");
        hc_json_put_text(&json, "group", group->name);
        hc_json_put_text(&json, "bands", group->about);
        hc_json_put_text(&json, "model", group->model);
        hc_json_put_number(&json, "scenes", group->scenes);
        hc_say_json(&json);
    }
}

/* ---- the summary ---- */

/* The part that took most of the time of all runs, or -1. */
static int32_t slowest_part(const HcBatchTotals *totals) {
    int32_t slowest = -1;
    for (int32_t p = 0; p < totals->part_count; p++) {
        if (slowest < 0 || totals->parts[p].seconds > totals->parts[slowest].seconds) {
            slowest = p;
        }
    }
    return slowest;
}

/* What most of the time of the runs went into: reading, computing, writing or opening and finishing. */
static const char *limit_of(const HcBatchTotals *totals) {
    static const char *const kinds[] = {"reading", "writing", "opening, finishing", "computing"};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    double seconds[KINDS] = {0};
    int32_t most = 0;
    for (int32_t p = 0; p < totals->part_count; p++) {
        int32_t k = 0;
        while (k < KINDS - 1 && strcmp(kinds[k], totals->parts[p].name) != 0) {
            k++;
        }
        seconds[k] += totals->parts[p].seconds;
    }
    for (int32_t k = 1; k < KINDS; k++) {
        most = seconds[k] > seconds[most] ? k : most;
    }
    return kinds[most];
}

/* From the beginning of the first run to the end of the last [s]. */
static double seconds_of_work(const HcBatchTotals *totals) {
    return totals->last_ended - totals->first_began;
}

static void summary_json(const HcBatch *batch, const HcBatchTotals *totals) {
    int32_t slowest = slowest_part(totals);
    HcJson json;
    hc_json_begin(&json);
    hc_json_put_text(&json, "event", "summary");
    hc_json_put_number(&json, "scenes", batch->scene_count);
    hc_json_put_number(&json, "done", totals->done);
    hc_json_put_number(&json, "skipped", totals->skipped);
    hc_json_put_number(&json, "failed", totals->failed);
    hc_json_put_number(&json, "failed_before", totals->failed_before);
    hc_json_put_number(&json, "elsewhere", totals->elsewhere);
    hc_json_put_number(&json, "without_quality_layers", totals->unmasked);
    hc_json_put_number(&json, "without_metadata", totals->undescribed);
    hc_json_put_number(&json, "handed_on", totals->handed_on);
    hc_json_put_number(&json, "replaced", totals->replaced);
    hc_json_put_number(&json, "bytes", totals->bytes);
    hc_json_put_number(&json, "seconds", hc_now() - totals->start);
    if (totals->done > 0) {
        hc_json_put_number(&json, "workers", totals->workers);
        hc_json_put_number(&json, "seconds_to_first", totals->first_began);
        hc_json_put_number(&json, "seconds_to_all", totals->last_ready);
        hc_json_put_number(&json, "seconds_a_scene", seconds_of_work(totals) / totals->done);
        hc_json_put_text(&json, "limit", limit_of(totals));
    }
    if (slowest >= 0) {
        hc_json_put_text(&json, "slowest_stage", totals->parts[slowest].name);
    }
    hc_json_open_array(&json, "devices");
    for (int32_t d = 0; d < totals->device_count; d++) {
        hc_json_open_object(&json, NULL);
        hc_json_put_text(&json, "device", totals->devices[d].name);
        hc_json_put_number(&json, "scenes", totals->devices[d].scenes);
        hc_json_put_number(&json, "bytes", totals->devices[d].bytes);
        hc_json_put_number(&json, "seconds_of_runs", totals->devices[d].seconds);
        hc_json_close(&json);
    }
    hc_json_close(&json);
    hc_say_json(&json);
}

static void summary_lines(const HcBatch *batch, const HcBatchTotals *totals) {
    double seconds = hc_now() - totals->start;
    int32_t slowest = slowest_part(totals);
    char now[32], size[24], rate[40];
    fprintf(stderr, "%s %d scene%s in %.2f s: %d done, %d complete before, %d failed",
            clock_text(now, sizeof now), batch->scene_count, batch->scene_count == 1 ? "" : "s", seconds,
            totals->done, totals->skipped, totals->failed);
    if (totals->failed_before > 0) {
        fprintf(stderr, ", %d failed before (--retry-failed tries them again)", totals->failed_before);
    }
    if (totals->replaced > 0) {
        fprintf(stderr, ", %d with outputs of another chain replaced", totals->replaced);
    }
    if (totals->elsewhere > 0) {
        fprintf(stderr, ", %d with another worker", totals->elsewhere);
    }
    fprintf(stderr, "\n");
    if (totals->unmasked > 0) {
        hc_say("without quality layers: %d scene%s (--quality require refuses them)", totals->unmasked,
               totals->unmasked == 1 ? "" : "s");
    }
    if (totals->undescribed > 0) {
        hc_say("without metadata: %d scene%s (--metadata any)", totals->undescribed,
               totals->undescribed == 1 ? "" : "s");
    }
    if (totals->handed_on > 0) {
        hc_say("denoise removed no noise: %d scene%s (--require-gain refuses them)", totals->handed_on,
               totals->handed_on == 1 ? "" : "s");
    }
    double work = seconds_of_work(totals);
    if (totals->done > 0 && work > 0) {
        hc_say(
            "start: %.2f s to the first scene, %.2f s until all had a device (%d process%s); then %.3g s a "
            "scene%s, most of it %s",
            totals->first_began, totals->last_ready, totals->workers, totals->workers == 1 ? "" : "es",
            work / totals->done, rate_text(rate, sizeof rate, totals->bytes, work), limit_of(totals));
    }
    for (int32_t d = 0; d < totals->device_count; d++) {
        const HcBatchPart *device = &totals->devices[d];
        hc_say("%s: %d scene%s, %s%s", device->name, device->scenes, device->scenes == 1 ? "" : "s",
               hc_text_bytes(size, sizeof size, device->bytes),
               rate_text(rate, sizeof rate, device->bytes, seconds));
    }
    if (slowest >= 0 && totals->seconds > 0) {
        hc_say("slowest: %s (%.0f%% of the time of the runs)", totals->parts[slowest].name,
               100 * totals->parts[slowest].seconds / totals->seconds);
    }
}

void hc_batch_summary(const HcBatch *batch, const HcBatchTotals *totals) {
    if (hc_batch_as_json(batch)) {
        summary_json(batch, totals);
    } else if (!batch->params.common.quiet) {
        summary_lines(batch, totals);
    }
}
