#include "app/app.h"
#include "io/file.h"
#include "pipeline/json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROGRESS_AUTO, PROGRESS_BAR, PROGRESS_PLAIN, PROGRESS_JSON, PROGRESS_NONE };

const char *const hc_progress_words[] = {"auto", "bar", "plain", "json", "none", NULL};

void hc_progress_start(HcProgressShow *show, int32_t style, bool quiet) {
    *show = (HcProgressShow){.style = style, .last = -1, .last_tenth = -1};
    if (style == PROGRESS_AUTO || style == PROGRESS_BAR) {
        show->style = isatty(STDERR_FILENO) ? PROGRESS_BAR : PROGRESS_NONE;
    }
    if (quiet) {
        show->style = PROGRESS_NONE;
    }
}

/* "0:07" */
static const char *clock_text(char *buffer, size_t size, double seconds) {
    long whole = (long)(seconds + 0.5);
    if (whole >= 3600) {
        snprintf(buffer, size, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
    } else {
        snprintf(buffer, size, "%ld:%02ld", whole / 60, whole % 60);
    }
    return buffer;
}

static void show_bar(const HcProgress *progress, double share, double rate, double left) {
    enum { WIDTH = 30 };
    char bar[WIDTH + 1];
    char clock[32];
    int full = (int)(share * WIDTH);
    for (int i = 0; i < WIDTH; i++) {
        bar[i] = i < full ? '#' : '.';
    }
    bar[WIDTH] = '\0';
    fprintf(stderr, "\r%-8s %d/%d [%s] %3.0f%%  %.0f MB/s  %s left ", progress->what, progress->pass,
            progress->passes, bar, 100 * share, rate / 1e6, clock_text(clock, sizeof clock, left));
    fflush(stderr);
}

void hc_progress_report(const HcProgress *progress, void *user) {
    HcProgressShow *show = user;
    double share = progress->bytes > 0 ? progress->bytes_done / progress->bytes : 0;
    share = share > 1 ? 1 : share;
    double rate = progress->seconds > 0 ? progress->bytes_done / progress->seconds : 0;
    double left = share > 0 ? progress->seconds * (1 - share) / share : 0;
    bool pass_done = progress->lines_done == progress->lines;
    switch (show->style) {
    case PROGRESS_BAR:
        if (progress->seconds - show->last >= 0.1 || pass_done) {
            show_bar(progress, share, rate, left);
            show->line_open = true;
            show->last = progress->seconds;
        }
        break;
    case PROGRESS_PLAIN: {
        int tenth = (int)(share * 10);
        if (tenth != show->last_tenth) {
            fprintf(stderr, "%s: pass %d of %d, %d%%, %.0f MB/s, %.0f s left\n", progress->what,
                    progress->pass, progress->passes, tenth * 10, rate / 1e6, left);
            show->last_tenth = tenth;
        }
        break;
    }
    case PROGRESS_JSON:
        if (progress->seconds - show->last >= 0.5 || pass_done) {
            fprintf(stderr,
                    "{\"event\":\"progress\",\"what\":\"%s\",\"pass\":%d,\"passes\":%d,\"lines_done\":%lld,"
                    "\"lines\":%lld,\"bytes_done\":%.0f,\"bytes\":%.0f,\"seconds\":%.3f}\n",
                    progress->what, progress->pass, progress->passes, (long long)progress->lines_done,
                    (long long)progress->lines, progress->bytes_done, progress->bytes, progress->seconds);
            show->last = progress->seconds;
        }
        break;
    default:
        break;
    }
}

void hc_progress_end(HcProgressShow *show) {
    if (show->line_open) {
        /* The bar goes; what is worth keeping is printed by the summary. */
        fprintf(stderr, "\r%79s\r", "");
        show->line_open = false;
    }
}

static void put_output(HcJson *json, const HcStage *stage, const char *output, const char *record) {
    hc_json_open_object(json, NULL);
    hc_json_put_text(json, "stage", stage->kind->name);
    hc_json_put_text(json, "file", output);
    if (record == NULL && strcmp(output, HC_FILE_STANDARD_OUTPUT) != 0) {
        char *beside = hc_text_format("%s.hcube.json", output);
        hc_json_put(json, "record", beside != NULL ? cJSON_CreateString(beside) : NULL);
        free(beside);
    } else if (record != NULL && strcmp(record, "none") != 0) {
        hc_json_put_text(json, "record", record);
    }
    hc_json_close(json);
}

void hc_progress_outputs(const HcProgressShow *show, const HcChain *chain, const HcRunReport *report,
                         const char *record) {
    HcJson json;
    if (show->style != PROGRESS_JSON) {
        return;
    }
    hc_json_begin(&json);
    hc_json_put_text(&json, "event", "outputs");
    hc_json_put_number(&json, "seconds", report->seconds);
    hc_json_open_array(&json, "outputs");
    for (int32_t s = 0; s < chain->count; s++) {
        const HcStage *stage = &chain->stages[s];
        const char *output = stage->output;
        if (output != NULL) {
            put_output(&json, stage, output, record);
        }
    }
    hc_json_close(&json);
    hc_say_json(&json);
}
