/* What has become of the scenes of a batch so far, by their records, markers and claims; nothing is touched.
 */
#include "app/batch/batch.h"
#include "core/allocate.h"
#include "core/compare.h"
#include "io/file.h"
#include "pipeline/json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { RATE_SCENES = 50 }; /* scenes, the last ones, that the rate is computed from */

const char *const hc_batch_words[HC_WORDS] = {"done", "failed", "running", "interrupted", "left"};

typedef struct Status {
    const HcBatch *batch;
    int32_t count[HC_WORDS];
    int32_t all;
    int32_t *group_done; /* [groups] scenes that are done */
    double *ended;       /* [done] when each got its record [s since 1970] */
    double rate;         /* scenes a second, 0 = not known */
} Status;

static HcStatus time_of_record(const HcBatch *batch, int32_t scene, double *ended, HcError *err) {
    struct stat info;
    char *path = hc_batch_record_path(batch, scene);
    HC_OR_RETURN(hc_text_made(path, 0, "a path", err));
    bool there = false;
    HcStatus status = hc_file_look(path, &info, &there, err);
    *ended = there ? (double)info.st_mtim.tv_sec + 1e-9 * (double)info.st_mtim.tv_nsec : 0;
    free(path);
    return status;
}

/* How fast the last scenes were done, if there are two. */
static void find_rate(Status *status) {
    int32_t done = status->count[HC_WORD_DONE];
    int32_t last = done < RATE_SCENES ? done : RATE_SCENES;
    if (last < 2) {
        return;
    }
    qsort(status->ended, (size_t)done, sizeof *status->ended, hc_compare_doubles);
    double seconds = status->ended[done - 1] - status->ended[done - last];
    status->rate = seconds > 0 ? (last - 1) / seconds : 0;
}

/* ---- as text ---- */

static void print_scene(const HcBatchScene *scene, const HcBatchGroup *group, const HcBatchStanding *told) {
    char of[80] = "";
    char since[32] = "";
    char took[32];
    const HcBatchHolder *holder = &told->holder;
    if (group != NULL) {
        snprintf(of, sizeof of, " (group %s)", group->name);
    }
    if (told->word == HC_WORD_FAILED) {
        bool named = strncmp(told->message, scene->path, strlen(scene->path)) == 0;
        hc_show("failed%s: %s%s%s", of, named ? "" : scene->path, named ? "" : ": ", told->message);
    } else if (told->word == HC_WORD_RUNNING || told->word == HC_WORD_INTERRUPTED) {
        time_t begun = (time_t)holder->since;
        struct tm local;
        if (holder->since > 0 && localtime_r(&begun, &local) != NULL) {
            strftime(since, sizeof since, " since %Y-%m-%d %H:%M:%S", &local);
        }
        double seconds = difftime(time(NULL), begun);
        bool shows = since[0] != '\0' && seconds >= 0 && told->word == HC_WORD_RUNNING;
        hc_show("%s%s: %s by %s, process %ld%s%s%s%s", hc_batch_words[told->word], of, scene->path,
                holder->host[0] != '\0' ? holder->host : "an unknown host", holder->process, since,
                shows ? " (" : "", shows ? hc_duration_text(took, sizeof took, seconds) : "",
                shows ? ")" : "");
    }
}

static void print_summary(const Status *status) {
    char left[32];
    HcText line = {0};
    for (int32_t g = 0; g < status->batch->group_count; g++) {
        const HcBatchGroup *group = &status->batch->groups[g];
        hc_show("group %s: %d scene%s of %s, %d done, model %s", group->name, group->scenes,
                group->scenes == 1 ? "" : "s", group->about, status->group_done[g], group->model);
    }
    hc_text_add(&line, "%d scene%s: ", status->all, status->all == 1 ? "" : "s");
    for (int w = 0; w < HC_WORDS; w++) {
        if (w != HC_WORD_INTERRUPTED || status->count[w] > 0) {
            hc_text_add(&line, "%s%d %s", w > 0 ? ", " : "", status->count[w], hc_batch_words[w]);
        }
    }
    hc_show("%s", hc_text_shown(&line));
    hc_text_clear(&line);
    int32_t open =
        status->count[HC_WORD_RUNNING] + status->count[HC_WORD_INTERRUPTED] + status->count[HC_WORD_LEFT];
    if (open == 0) {
        return;
    }
    if (status->count[HC_WORD_RUNNING] == 0) {
        hc_show("nobody works on them now");
    } else if (status->rate > 0) {
        hc_show("%.3g scenes an hour; about %s left", 3600 * status->rate,
                hc_duration_text(left, sizeof left, open / status->rate));
    }
}

/* ---- as JSON ---- */

static void put_scene(const HcBatchScene *scene, const HcBatchGroup *group, const HcBatchStanding *told,
                      HcJson *to) {
    hc_json_open_object(to, NULL);
    hc_json_put_text(to, "scene", scene->path);
    hc_json_put_text(to, "output", scene->output);
    if (group != NULL) {
        hc_json_put_text(to, "group", group->name);
        hc_json_put_text(to, "model", group->model);
    }
    hc_json_put_text(to, "is", hc_batch_words[told->word]);
    if (told->word == HC_WORD_FAILED) {
        hc_json_put_text(to, "message", told->message);
    }
    if (told->word == HC_WORD_RUNNING || told->word == HC_WORD_INTERRUPTED) {
        hc_json_put_text(to, "host", told->holder.host);
        hc_json_put_number(to, "process", (double)told->holder.process);
    }
    if (told->holder.since > 0) {
        hc_json_put_number(to, "since", (double)told->holder.since);
    }
    hc_json_close(to);
}

static void put_summary(const Status *status, HcJson *to) {
    hc_json_put_number(to, "scene_count", status->all);
    for (int w = 0; w < HC_WORDS; w++) {
        hc_json_put_number(to, hc_batch_words[w], status->count[w]);
    }
    if (status->rate > 0) {
        hc_json_put_number(to, "scenes_a_second", status->rate);
    }
}

/* ---- both ---- */

static HcStatus report_all(Status *status, HcJson *json, HcError *err) {
    const HcBatch *batch = status->batch;
    for (int32_t s = batch->worker; s < batch->scene_count; s += batch->workers) {
        HcBatchStanding told;
        HC_OR_RETURN(hc_batch_standing(batch, s, &told, err));
        if (told.word == HC_WORD_DONE) {
            HC_OR_RETURN(time_of_record(batch, s, &status->ended[status->count[HC_WORD_DONE]], err));
        }
        status->count[told.word]++;
        if (hc_batch_group_of(batch, s) != NULL) {
            status->group_done[batch->scenes[s].group] += told.word == HC_WORD_DONE;
        }
        status->all++;
        if (json != NULL) {
            put_scene(&batch->scenes[s], hc_batch_group_of(batch, s), &told, json);
        } else if (!batch->params.common.quiet || told.word == HC_WORD_FAILED) {
            print_scene(&batch->scenes[s], hc_batch_group_of(batch, s), &told);
        }
    }
    find_rate(status);
    return HC_OK;
}

static HcStatus report_json(Status *status, HcError *err) {
    HcJson json;
    hc_json_begin(&json);
    hc_json_open_array(&json, "scenes");
    HcStatus told = report_all(status, &json, err);
    hc_json_close(&json);
    put_summary(status, &json);
    if (told != HC_OK) {
        hc_json_clear(&json);
        return told;
    }
    return hc_print_json(&json, err);
}

static HcStatus report_lines(Status *status, HcError *err) {
    HC_OR_RETURN(report_all(status, NULL, err));
    if (!status->batch->params.common.quiet) {
        print_summary(status);
    }
    return HC_OK;
}

HcStatus hc_batch_status(const HcBatch *batch, HcError *err) {
    HcStatus status = HC_OK;
    Status found = {.batch = batch};
    HC_TRY(hc_new(found.ended, batch->scene_count, "the list of scenes", err));
    HC_TRY(hc_new(found.group_done, (size_t)batch->group_count + 1, "the groups of the scenes", err));
    HC_TRY(hc_batch_as_json(batch) ? report_json(&found, err) : report_lines(&found, err));
    if (found.count[HC_WORD_FAILED] > 0) {
        HC_TRY(hc_fail(err, HC_E_BEFORE, "batch: %d of %d scenes failed before, none now",
                       found.count[HC_WORD_FAILED], found.all));
    }
done:
    free(found.ended);
    free(found.group_done);
    return status;
}
