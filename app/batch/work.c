/* A worker of a batch: one device that stays open, and scenes one after the other, the next one opened
 * meanwhile. On a device with memory of its own some scenes are in work at once, each on a thread: while one
 * has the device, others are read, settled or written. They share one context, which several processes would
 * not. */
#include "app/batch/batch.h"
#include "io/file.h"
#include "io/gdal/errors.h"
#include "io/libraries.h"
#include "pipeline/source.h"
#include "pipeline/stages/denoise/residual.h"
#include "pipeline/run/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A scene that is claimed and planned. */
typedef struct Ready {
    int32_t scene; /* -1 = there is none left */
    HcBatchClaim *claim;
    HcChain *chain;
    HcBatchOrigin origin;
    bool refused;  /* what has the name of an output is to blame, and neither the scene nor the chain */
    bool replaces; /* outputs of another chain */
} Ready;

typedef struct Worker {
    const HcBatch *batch;
    const HcBatchWork *work;
    const HcFlag *cancel;
    HcCompute *compute;
    char device[24];
    pthread_mutex_t lock; /* of the events, and of what follows up to busy_seen */
    int32_t *busy;        /* scenes that others had, which are looked at once more in the end */
    int32_t busy_count, busy_seen;
    int32_t at_once;   /* scenes in work at the same time */
    atomic_bool stops; /* no further scene is begun */
    Ready next;        /* where at_once is 1 */
} Worker;

static void report_event(Worker *worker, HcBatchEvent *event) {
    pthread_mutex_lock(&worker->lock);
    snprintf(event->device, sizeof event->device, "%s", worker->device);
    worker->work->report(event, worker->work->user);
    pthread_mutex_unlock(&worker->lock);
}

static void report_scene(Worker *worker, HcBatchWhat what, int32_t scene, HcStatus status, const char *text) {
    HcBatchEvent event = {.what = (int32_t)what, .scene = scene, .status = status};
    snprintf(event.text, sizeof event.text, "%s", text);
    report_event(worker, &event);
}

/* done: the scene is complete. Otherwise outputs of a dead owner may be there still, which its claim alone
 * tells from those of others. */
static void drop(const Worker *worker, Ready *ready, int32_t scene, bool done) {
    bool leave = !done && hc_batch_claim_inherited(ready->claim) != 0 &&
                 hc_batch_clean_unplanned(worker->batch, scene);
    hc_chain_free(ready->chain);
    hc_batch_origin_clear(&ready->origin);
    hc_batch_release(ready->claim, leave);
    *ready = (Ready){.scene = -1};
}

static void fail_scene(Worker *worker, Ready *ready, int32_t scene, const HcError *error) {
    HcError unimportant = {0};
    if (ready->origin.inputs == NULL) {
        /* The files that planning came to, too: one of them may be to blame. */
        (void)!hc_batch_origin(&ready->origin, worker->batch, scene, ready->chain, &unimportant);
    }
    if (!ready->refused) {
        hc_batch_mark(&ready->origin, error->status, error->text);
    }
    if (hc_batch_is_full(error->status, error->text)) {
        atomic_store(&worker->stops, true);
    }
    drop(worker, ready, scene, false);
    report_scene(worker, HC_BATCH_FAILED, scene, error->status, error->text);
}

/* ---- the next scene ---- */

static bool is_claimed(const char *output) {
    char *path = hc_batch_claim_path(output);
    bool claimed = path == NULL || access(path, F_OK) == 0;
    free(path);
    return claimed;
}

/* Asks the system to bring the data of a scene into its page cache, as far as it has space. */
static void read_ahead(const Worker *worker, const HcReader *reader) {
    enum { STEP = 8 << 20 };
    const char *path = hc_reader_path(reader);
    uint64_t given = worker->work->common.memory;
    int64_t physical = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    int64_t limit =
        (given > 0 ? (int64_t)(given / 2) : physical / 8 / worker->work->shares) / worker->at_once;
    int64_t size = 0;
    int64_t modified = 0;
    hc_reader_identity(reader, &size, &modified);
    limit = size < limit ? size : limit;
    int file = strncmp(path, "/vsi", 4) != 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    for (int64_t at = 0; file >= 0 && at < limit && hc_flag(worker->cancel) == 0; at += STEP) {
        (void)posix_fadvise(file, at, STEP, POSIX_FADV_WILLNEED);
    }
    if (file >= 0) {
        close(file);
    }
}

/* Removes what a dead owner has left of a scene that is done with: it died between the end of its work and
 * that of its claim. */
static void clean_finished(const Worker *worker, int32_t scene, HcBatchState state) {
    HcError unimportant = {0};
    HcChain *chain = NULL;
    if (state == HC_BATCH_COMPLETE) {
        hc_batch_clean_complete(worker->batch, scene);
        return;
    }
    /* A failed scene has no record of its outputs, and one that cannot be read has no plan. */
    (void)hc_batch_clean_unplanned(worker->batch, scene);
    if (hc_batch_chain(worker->batch, scene, &chain, &unimportant) == HC_OK &&
        hc_chain_plan(chain, &unimportant) == HC_OK) {
        hc_batch_clean_leftovers(worker->batch, scene, chain);
    }
    hc_chain_free(chain);
}

/* *open: there is something to do, which needs a claim (also where a dead owner has left one). Reports a
 * scene that is not to be done. */
static HcStatus look(Worker *worker, int32_t scene, Ready *ready, bool *open, HcError *err) {
    HcBatchState state = HC_BATCH_OPEN;
    const bool claimed = ready->claim != NULL;
    char message[768] = "";
    HC_OR_RETURN(hc_batch_look(worker->batch, scene, &state, message, sizeof message, err));
    *open = state == HC_BATCH_OPEN || (!claimed && is_claimed(worker->batch->scenes[scene].output));
    if (!*open) {
        if (state == HC_BATCH_COMPLETE) {
            hc_batch_unmark(worker->batch, scene);
        }
        if (claimed) {
            clean_finished(worker, scene, state);
            drop(worker, ready, scene, state == HC_BATCH_COMPLETE);
        }
        report_scene(worker, state == HC_BATCH_COMPLETE ? HC_BATCH_SKIPPED : HC_BATCH_EARLIER, scene, HC_OK,
                     message);
    }
    return HC_OK;
}

/* Plans a claimed scene. */
static HcStatus open_scene(Worker *worker, int32_t scene, Ready *ready, HcError *err) {
    HcError first = {0};
    uint64_t outputs = 0;
    HC_OR_RETURN(hc_batch_chain(worker->batch, scene, &ready->chain, err));
    if (hc_chain_plan(ready->chain, &first) != HC_OK) {
        /* It may be the header that a dead owner has left without its data. */
        (void)hc_batch_clean_unplanned(worker->batch, scene);
        HC_OR_RETURN(hc_chain_plan(ready->chain, err));
    }
    HC_OR_RETURN(hc_batch_origin(&ready->origin, worker->batch, scene, ready->chain, err));
    HC_OR_RETURN(hc_chain_check_files(ready->chain, NULL, err));
    HC_OR_RETURN(hc_batch_hash_outputs(ready->chain, &outputs, err));
    const bool left = hc_batch_claim_inherited(ready->claim) == outputs;
    ready->refused = true;
    HC_OR_RETURN(hc_batch_check_outputs(worker->batch, scene, ready->chain, left, &ready->replaces, err));
    ready->refused = false;
    HC_OR_RETURN(hc_batch_claim_checked(ready->claim, outputs, err));
    hc_batch_clean(worker->batch, scene, ready->chain);
    /* A window needs only a part of the file. */
    if (hc_view_scene(ready->chain->source->view)->cut.lines == 0) {
        read_ahead(worker, hc_view_reader(ready->chain->source->view));
    }
    ready->scene = scene;
    return HC_OK;
}

/* Takes a scene if it is to be done and nobody has it; ready->scene stays -1 otherwise. again: it is looked
 * at for the second time. */
static HcStatus try_scene(Worker *worker, int32_t scene, bool again, Ready *ready, HcError *err) {
    const char *output = worker->batch->scenes[scene].output;
    bool open = false;
    if (worker->batch->scenes[scene].refused != NULL) {
        ready->refused = true;
        return hc_fail(err, HC_E_USAGE, "%s", worker->batch->scenes[scene].refused);
    }
    report_scene(worker, HC_BATCH_TAKEN, scene, HC_OK, "");
    HC_OR_RETURN(hc_batch_make_folders(output, err));
    HC_OR_RETURN(hc_batch_check_names(worker->batch, scene, err));
    HC_OR_RETURN(look(worker, scene, ready, &open, err));
    if (!open) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_batch_claim(output, &ready->claim, err));
    if (ready->claim == NULL && again) {
        report_scene(worker, HC_BATCH_ELSEWHERE, scene, HC_OK, "");
    } else if (ready->claim == NULL) {
        pthread_mutex_lock(&worker->lock);
        worker->busy[worker->busy_count++] = scene;
        pthread_mutex_unlock(&worker->lock);
        report_scene(worker, HC_BATCH_LEFT, scene, HC_OK, "");
    } else {
        /* Somebody may have done it since. */
        HC_OR_RETURN(look(worker, scene, ready, &open, err));
        if (open) {
            HC_OR_RETURN(open_scene(worker, scene, ready, err));
        }
    }
    return HC_OK;
}

/* A scene that nobody has looked at yet, else one that others had; -1 = none is left. */
static int32_t choose(Worker *worker, bool *again) {
    pthread_mutex_lock(&worker->lock);
    int32_t scene = worker->work->next(worker->work->user);
    *again = scene < 0;
    if (*again && worker->busy_seen < worker->busy_count) {
        scene = worker->busy[worker->busy_seen++];
    }
    pthread_mutex_unlock(&worker->lock);
    return scene;
}

static bool may_begin(const Worker *worker) {
    return hc_flag(worker->cancel) == 0 && !atomic_load(&worker->stops);
}

/* Finds the next scene to be done, and takes and plans it. */
static void prepare(Worker *worker, Ready *ready) {
    *ready = (Ready){.scene = -1};
    while (ready->scene < 0 && may_begin(worker)) {
        HcError error = {0};
        bool again = false;
        int32_t scene = choose(worker, &again);
        if (scene < 0) {
            break;
        }
        if (try_scene(worker, scene, again, ready, &error) != HC_OK) {
            fail_scene(worker, ready, scene, &error);
        }
    }
}

static void *prepare_next(void *argument) {
    Worker *worker = argument;
    prepare(worker, &worker->next);
    return NULL;
}

/* ---- the present scene ---- */

static void add_part(HcBatchEvent *event, const char *name, double seconds) {
    if (event->part_count < HC_BATCH_PARTS) {
        snprintf(event->parts[event->part_count].name, sizeof event->parts[0].name, "%s", name);
        event->parts[event->part_count++].seconds = (float)seconds;
    }
}

/* Where the time of the run went: what it waited for, and what it computed. */
static void fill_parts(const HcChain *chain, const HcRunReport *report, HcBatchEvent *event) {
    add_part(event, "reading", report->seconds_wait_read);
    add_part(event, "decoding", report->seconds_decode);
    for (int32_t s = 1; s < chain->count; s++) {
        const HcStage *stage = &chain->stages[s];
        if (stage->kind->role == HC_ROLE_STAGE) {
            add_part(event, stage->kind->name,
                     stage->seconds_observe + stage->seconds_settle + stage->seconds_process);
        }
    }
    add_part(event, "device", report->seconds_wait_device);
    add_part(event, "writing", report->seconds_wait_write);
    double rest = report->seconds;
    for (int32_t p = 0; p < event->part_count; p++) {
        rest -= (double)event->parts[p].seconds;
    }
    add_part(event, "opening, finishing", rest > 0 ? rest : 0);
}

/* A scene that is given back. alone: the next worker has no other one in work beside it. */
static void leave(Worker *worker, Ready *ready, HcStatus status, const char *text, bool alone) {
    HcBatchEvent event = {
        .what = HC_BATCH_LEFT, .scene = ready->scene, .status = status, .jobs = alone ? 1 : 0};
    snprintf(event.text, sizeof event.text, "%s", text);
    drop(worker, ready, ready->scene, false);
    report_event(worker, &event);
}

/* Whether a failure may be due to another scene that is in work beside this one. */
static bool may_be_shared(const Worker *worker, HcStatus status) {
    bool space = worker->work->common.scratch_space > 0;
    return worker->at_once > 1 &&
           (status == HC_E_DEVICE || status == HC_E_MEMORY || (status == HC_E_IO && space));
}

/* The share of one of `at_once` scenes that are in work at once. */
static HcRunSettings share_of(const HcBatchWork *work, int32_t at_once) {
    return (HcRunSettings){.memory = work->common.memory / (uint64_t)at_once,
                           .device_memory = work->common.device_memory / (uint64_t)at_once,
                           .shares = work->shares * at_once,
                           .device_shares = work->device_shares * at_once};
}

static HcStatus run_scene(Worker *worker, Ready *ready, HcError *err) {
    HcStatus status = HC_OK;
    HcError error = {0};
    HcRunReport report = {0};
    const HcBatchWork *work = worker->work;
    int32_t scene = ready->scene;
    HcRunSettings settings = share_of(work, worker->at_once);
    settings.cancel = worker->cancel;
    settings.decides = ready->origin.batch->scenes[ready->origin.scene].output;
    settings.describe = hc_batch_describe;
    settings.describe_user = &ready->origin;
    settings.no_files = true;
    settings.command = hc_command_line();
    HcVerify verify = {.tiles = (int32_t)work->common.verify,
                       .seed = (uint64_t)work->common.verify_seed,
                       .chain = ready->chain,
                       .compute = worker->compute,
                       .open = hc_backend_open_plain,
                       .user = &work->common};
    report_scene(worker, HC_BATCH_STARTED, scene, HC_OK, "");
    status = hc_verify_begin(&verify, &settings, &error);
    if (status == HC_OK) {
        status = hc_run(ready->chain, worker->compute, &settings, &report, &error);
    }
    hc_verify_clear(&verify);
    if (status == HC_OK) {
        const HcView *view = ready->chain->source->view;
        HcBatchEvent event = {.what = HC_BATCH_DONE,
                              .scene = scene,
                              .seconds = report.seconds,
                              .unmasked = hc_view_lacks_quality(view),
                              .handed_on = hc_denoise_outcome(ready->chain) != NULL,
                              .undescribed = hc_reader_flaw(hc_view_reader(view)) != NULL,
                              .bytes = (double)report.raw_bytes,
                              .replaced = ready->replaces};
        fill_parts(ready->chain, &report, &event);
        drop(worker, ready, scene, true);
        report_event(worker, &event);
    } else if (status == HC_E_CANCELLED || may_be_shared(worker, status)) {
        leave(worker, ready, status, error.text, status != HC_E_CANCELLED);
        return hc_fail(err, status, "%s", error.text);
    } else {
        fail_scene(worker, ready, scene, &error);
    }
    /* After its failure a device may refuse everything: that is for a fresh process. */
    return status == HC_E_DEVICE ? hc_fail(err, status, "%s", error.text) : HC_OK;
}

/* ---- the worker ---- */

/* worker->device stays empty where the worker has to end (wants_gpu). */
static HcStatus open_device(Worker *worker, HcOpening *opening, HcError *err) {
    char reason[256];
    HC_OR_RETURN(hc_backend_end(opening, &worker->compute, reason, sizeof reason, err));
    const char *asked = worker->work->common.device;
    bool numbered = strncmp(asked, "gpu:", 4) == 0;
    const char *name = hc_compute_name(worker->compute->ops);
    if (worker->work->wants_gpu && strcmp(name, "gpu") != 0) {
        report_scene(worker, HC_BATCH_NO_GPU, -1, HC_OK, "");
        return HC_OK;
    }
    pthread_mutex_lock(&worker->lock);
    snprintf(worker->device, sizeof worker->device, "%s",
             strcmp(name, "gpu") != 0 ? name
             : numbered               ? asked
                                      : "gpu:0");
    pthread_mutex_unlock(&worker->lock);
    report_scene(worker, HC_BATCH_DEVICE, -1, HC_OK, reason);
    return HC_OK;
}

/* One after the other, the next one opened meanwhile. */
static HcStatus run_in_turn(Worker *worker, Ready *ready, HcError *err) {
    HcStatus status = HC_OK;
    while (ready->scene >= 0 && status == HC_OK && may_begin(worker)) {
        pthread_t thread;
        bool beside = worker->work->ahead && pthread_create(&thread, NULL, prepare_next, worker) == 0;
        status = run_scene(worker, ready, err);
        if (beside) {
            pthread_join(thread, NULL);
        } else if (status == HC_OK) {
            prepare(worker, &worker->next);
        }
        *ready = worker->next;
        worker->next = (Ready){.scene = -1};
    }
    return status;
}

/* One of the threads that take scenes at the same time. */
typedef struct Lane {
    Worker *worker;
    Ready ready;
    HcError error;
    pthread_t thread;
} Lane;

static void *run_lane(void *argument) {
    Lane *lane = argument;
    Worker *worker = lane->worker;
    if (lane->ready.scene < 0) {
        prepare(worker, &lane->ready);
    }
    while (lane->ready.scene >= 0 && may_begin(worker)) {
        if (run_scene(worker, &lane->ready, &lane->error) != HC_OK) {
            atomic_store(&worker->stops, true);
        }
        prepare(worker, &lane->ready);
    }
    if (lane->ready.scene >= 0) {
        leave(worker, &lane->ready, HC_OK, "", false);
    }
    return NULL;
}

/* The first failure of a lane is that of the worker. */
static HcStatus run_lanes(Worker *worker, Ready *ready, HcError *err) {
    Lane lane[HC_BATCH_AT_ONCE_MAX];
    int32_t count = 1;
    HcStatus status = HC_OK;
    lane[0] = (Lane){.worker = worker, .ready = *ready};
    *ready = (Ready){.scene = -1};
    for (; count < worker->at_once; count++) {
        lane[count] = (Lane){.worker = worker, .ready = {.scene = -1}};
        if (pthread_create(&lane[count].thread, NULL, run_lane, &lane[count]) != 0) {
            break; /* fewer do as well */
        }
    }
    run_lane(&lane[0]);
    for (int32_t l = 0; l < count; l++) {
        if (l > 0) {
            pthread_join(lane[l].thread, NULL);
        }
        if (status == HC_OK && lane[l].error.status != HC_OK) {
            status = hc_fail(err, lane[l].error.status, "%s", lane[l].error.text);
        }
    }
    return status;
}

/* GDAL has one cache for all readers, and pictures are drawn by libraries that are not asked from several
 * threads. */
bool hc_batch_may_overlap(const HcBatch *batch, const HcChain *chain) {
    if (batch->params.report != NULL || batch->params.common.verify > 0 ||
        hc_reader_through_gdal(hc_view_reader(chain->source->view))) {
        return false;
    }
    for (int32_t s = 1; s < chain->count; s++) {
        const HcStage *stage = &chain->stages[s];
        if (stage->kind->role != HC_ROLE_STAGE && stage->kind->rare.check == NULL) {
            return false;
        }
    }
    return true;
}

/* Whether the device keeps the scene from pass to pass, in blocks of at least *block_lines lines, with
 * `at_once` scenes in work. The others will hold their memory when a run asks for what is free. */
static bool is_kept(const Worker *worker, HcChain *chain, int32_t at_once, int32_t *block_lines) {
    HcRunSettings settings = share_of(worker->work, at_once);
    HcRunReport report;
    HcError unimportant = {0};
    settings.device_shares *= 2;
    bool kept = hc_run_plan(chain, worker->compute, &settings, &report, &unimportant) == HC_OK &&
                (report.passes == 1 || report.device_resident) && report.block_lines >= *block_lines;
    *block_lines = report.block_lines;
    return kept;
}

/* At most `most`. A plan settles how a scene is read. So another chain is planned, from few scenes to many:
 * the last plan may settle it badly. */
static int32_t kept_at_once(const Worker *worker, int32_t scene, int32_t most) {
    HcChain *chain = NULL;
    HcError unimportant = {0};
    int32_t count = HC_BATCH_AT_ONCE_MIN;
    int32_t block_lines = 0;
    bool kept = hc_batch_chain(worker->batch, scene, &chain, &unimportant) == HC_OK &&
                is_kept(worker, chain, count, &block_lines);
    while (kept && count < most) {
        int32_t more = 2 * count < most ? 2 * count : most;
        kept = is_kept(worker, chain, more, &block_lines);
        count = kept ? more : count;
    }
    hc_chain_free(chain);
    return count;
}

/* How many scenes like this one may be in work at once. The threads of the CPU are one team already. */
static int32_t fitting_at_once(const Worker *worker, const Ready *ready) {
    HcComputeInfo info;
    hc_compute_info(worker->compute, &info);
    if (info.shared_memory || ready->scene < 0 || !hc_batch_may_overlap(worker->batch, ready->chain)) {
        return 1;
    }
    int32_t most = worker->work->at_once;
    return most > HC_BATCH_AT_ONCE_MIN ? kept_at_once(worker, ready->scene, most) : most > 1 ? most : 1;
}

/* Files that are read and written at once share the threads for it: more than twice those of one file, or
 * than there are processors, only take them from each other. Small problems of a device's scenes are solved
 * beside each other: threads that share one would wait for each other. */
static void share_threads(const Worker *worker) {
    HcComputeInfo info;
    int32_t threads = hc_backend_threads(&worker->work->common);
    int32_t all = threads > 2 * HC_IO_THREADS ? threads : 2 * HC_IO_THREADS;
    int32_t each = all / worker->at_once;
    hc_io_limit_threads(each < HC_IO_THREADS ? each : HC_IO_THREADS);
    hc_compute_info(worker->compute, &info);
    if (worker->at_once > 1 && info.limit_threads != NULL) {
        info.limit_threads(worker->compute, (int32_t)hc_max64(threads / worker->at_once, 1));
    }
}

static HcStatus run_all(Worker *worker, Ready *ready, HcError *err) {
    worker->at_once = fitting_at_once(worker, ready);
    share_threads(worker);
    return worker->at_once > 1 ? run_lanes(worker, ready, err) : run_in_turn(worker, ready, err);
}

HcStatus hc_batch_work(const HcBatch *batch, const HcBatchWork *work, HcError *err) {
    HcStatus status = HC_OK;
    HcOpening opening;
    Ready ready = {.scene = -1};
    Worker worker = {.batch = batch,
                     .work = work,
                     .cancel = hc_catch_signals(),
                     .device = "",
                     .lock = PTHREAD_MUTEX_INITIALIZER,
                     .next = {.scene = -1},
                     .at_once = 1,
                     .busy = calloc((size_t)batch->scene_count, sizeof *worker.busy)};
    if (worker.busy == NULL) {
        return hc_fail_memory(err, (double)batch->scene_count * sizeof *worker.busy, "the list of scenes");
    }
    HC_TRY(hc_backend_begin(&work->common, &opening, err));
    prepare(&worker, &ready);
    HC_TRY(open_device(&worker, &opening, err));
    HC_TRY(worker.device[0] != '\0' ? run_all(&worker, &ready, err) : HC_OK);
    if (hc_flag(worker.cancel) != 0) {
        HC_TRY(hc_fail(err, HC_E_CANCELLED, "interrupted"));
    }
done:
    if (ready.scene >= 0) {
        int32_t scene = ready.scene;
        drop(&worker, &ready, scene, false);
        report_scene(&worker, HC_BATCH_LEFT, scene, status, "");
    }
    hc_compute_close(worker.compute);
    free(worker.busy);
    pthread_mutex_destroy(&worker.lock);
    return status;
}
