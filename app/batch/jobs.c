/* The processes of a batch on one host. Each does scenes as they come; what it has to say comes through a
 * pipe. A process that dies takes no other with it: what it had not done is done in a later round. The scenes
 * that it held come last, each in a process of its own; one that ends two of these has failed. */
#include "core/allocate.h"
#include "app/batch/batch.h"
#include "core/system/team.h"
#include "io/file.h"
#include "io/scene_files.h"
#include "io/scratch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

_Static_assert(sizeof(HcBatchEvent) <= 4096, "an event goes through a pipe in one piece");

/* The scenes of a round, in memory that the processes share. */
typedef struct Turns {
    _Atomic int32_t given;
    _Atomic int32_t failed;  /* in all rounds */
    _Atomic int32_t to_come; /* processes that have not asked for a scene yet: one is kept for each */
    _Atomic bool full;       /* a scene has failed for want of space: the others would, too */
    int32_t allowed;         /* failures; at that many no further scene is given out. 0 = any number */
    int32_t count;
    int32_t scene[];
} Turns;

enum {
    JOBS_MAX = 64,        /* where --jobs does not say */
    PROCESSORS_A_JOB = 4, /* of the CPU; there much of a small scene's work is done by one thread */
    CPU_JOBS_MAX = 8,     /* since each reads another file */
    GPU_JOBS_MAX = 4,     /* of one GPU */
    SCENES_AT_ONCE = 2,   /* for each that a process has in work: at the end none waits for another process */
    SCENES_A_JOB = 10,    /* pay for the start of one more: CUDA starts one process after the other */
    DEATHS_MAX = 3        /* of processes that held a scene: one of any kind, two that held it alone */
};

/* Measured with scenes of 67 and 299 MB: four jobs a GPU are twice as fast as one, where each has one scene
 * at a time. One job with several scenes at once is as fast as those, and starts sooner. */
#define SMALL_SCENE (512.0 * 1048576)
#define LARGE_SCENE (2048.0 * 1048576)

typedef struct Job {
    pid_t process; /* 0 = none */
    int pipe;      /* its events, -1 = closed */
    bool ready;    /* it has said which device it has */
} Job;

typedef enum Progress { WAITING, HELD, FINISHED } Progress;

typedef struct Jobs {
    const HcBatch *batch;
    HcBatchTotals *totals;
    const HcFlag *cancel;
    Turns *turns;
    Job *job;            /* [capacity] */
    struct pollfd *list; /* [capacity] their pipes */
    int32_t count;       /* 0 = the first one is to say how many fit */
    bool no_gpu;         /* those that were counted cannot be opened */
    int32_t begun;       /* in this round */
    bool in_turn;        /* a job is started when the one before has its device */
    int32_t capacity;
    Progress *progress; /* [scenes] */
    int32_t *holder;    /* [scenes] the job that holds it */
    uint8_t *deaths;    /* [scenes] processes that died while they held it */
    bool ahead;         /* workers have further scenes in work; not once a process has died, or one of them
                           may have failed for another */
    int32_t left;       /* scenes without a last word */
    int32_t steps;      /* last words and deaths: a round that brings none would not end */
    HcError broken;     /* a failure that is not of a scene */
} Jobs;

/* ---- in the process of a job ---- */

typedef struct Mouth {
    const Jobs *jobs;
    int pipe;
    bool asked; /* for a scene */
} Mouth;

static bool is_over(Turns *turns) {
    return atomic_load(&turns->full) || (turns->allowed > 0 && atomic_load(&turns->failed) >= turns->allowed);
}

static int32_t next_turn(void *user) {
    Mouth *mouth = user;
    Turns *turns = mouth->jobs->turns;
    if (!mouth->asked) {
        mouth->asked = true;
        atomic_fetch_sub(&turns->to_come, 1);
    }
    int32_t turn = atomic_load(&turns->given);
    while (!is_over(turns) && turn < turns->count - atomic_load(&turns->to_come)) {
        if (atomic_compare_exchange_weak(&turns->given, &turn, turn + 1)) {
            return turns->scene[turn];
        }
    }
    return -1;
}

static void report_parent(const HcBatchEvent *event, void *user) {
    Turns *turns = ((Mouth *)user)->jobs->turns;
    if (event->what == HC_BATCH_FAILED) {
        atomic_fetch_add(&turns->failed, 1);
        if (hc_batch_is_full(event->status, event->text)) {
            atomic_store(&turns->full, true);
        }
    }
    (void)!hc_batch_send(((Mouth *)user)->pipe, event, sizeof *event);
}

static int32_t processors(void) {
    return hc_team_count(0, INT32_MAX);
}

/* The GPUs that --device leaves to choose from. */
typedef struct Gpus {
    int32_t count;
    bool listed; /* `address` holds them: CUDA has not been asked */
    HcAddress address[HC_ADDRESSES_MAX];
} Gpus;

static void find_gpus(const HcCommon *common, Gpus *out) {
    HcError unimportant = {0};
    const HcModule *module = NULL;
    out->count = 0;
    out->listed = false;
    if (!hc_text_equal(common->device, "auto") && !hc_text_equal(common->device, "gpu")) {
        return;
    }
    int32_t listed = hc_gpus_list(out->address, HC_ADDRESSES_MAX);
    out->listed = listed >= 0 && listed <= HC_ADDRESSES_MAX;
    if (out->listed) {
        out->count = listed;
    } else if (hc_load_module(&module, &unimportant) != HC_OK ||
               module->devices(NULL, 0, &out->count, &unimportant) != HC_OK) {
        out->count = 0;
    }
}

static int32_t least(int32_t a, int32_t b) {
    return a < b ? a : b;
}

/* Bytes of the files of the first scene, 0 = not known. */
static double scene_bytes(const Jobs *jobs) {
    HcPaths files = {0};
    HcError unimportant = {0};
    double bytes = 0;
    (void)!hc_scene_files(jobs->batch->scenes[jobs->turns->scene[0]].path, &files, &unimportant);
    for (int32_t f = 0; f < files.count; f++) {
        struct stat info;
        bytes += stat(files.path[f], &info) == 0 && S_ISREG(info.st_mode) ? (double)info.st_size : 0;
    }
    hc_paths_clear(&files);
    return bytes;
}

/* What a GPU should have in work of scenes of `bytes`; `small`: of small ones. */
static int32_t by_size(double bytes, int32_t small) {
    return bytes <= 0 || bytes > LARGE_SCENE ? 1 : bytes > SMALL_SCENE ? 2 : small;
}

/* Whether one process has several scenes in work at once, as far as the first one says. The folder of its
 * output may not be there yet, so that the plan ends before the last step. */
static bool may_overlap(const Jobs *jobs) {
    HcChain *chain = NULL;
    HcError unimportant = {0};
    bool may = jobs->ahead && jobs->in_turn &&
               hc_batch_chain(jobs->batch, jobs->turns->scene[0], &chain, &unimportant) == HC_OK;
    if (may) {
        (void)!hc_chain_plan(chain, &unimportant);
        may = chain->source->view != NULL && hc_batch_may_overlap(jobs->batch, chain);
    }
    hc_chain_free(chain);
    return may;
}

/* Jobs that one GPU should have. Small scenes leave it idle while they are opened, settled and written.
 * Several processes do that beside each other where one cannot. Large scenes need the memory of GPU and host
 * for themselves. */
static int32_t jobs_of_gpu(const Jobs *jobs, int32_t gpus) {
    double bytes = scene_bytes(jobs);
    int32_t count = by_size(bytes, GPU_JOBS_MAX);
    int32_t able = processors() / PROCESSORS_A_JOB / gpus;
    int32_t pays = jobs->turns->count / SCENES_A_JOB / gpus;
    count = least(count, least(able, pays));
    return count > 1 && !(bytes <= SMALL_SCENE && may_overlap(jobs)) ? count : 1;
}

/* Small scenes that the jobs of one GPU should have in work at once, with N threads each. */
static int32_t small_at_once(int32_t threads, int32_t shares) {
    int32_t able = threads * shares;
    return able < HC_BATCH_AT_ONCE_MIN ? HC_BATCH_AT_ONCE_MIN : least(able, HC_BATCH_AT_ONCE_MAX);
}

/* Scenes that a process should have in work at once, by the number of processes that share its GPU. */
static int32_t scenes_at_once(const Jobs *jobs, int32_t threads, int32_t shares) {
    int32_t pays = jobs->turns->count / SCENES_AT_ONCE / jobs->count;
    if (!jobs->ahead || !jobs->in_turn || pays < 2) {
        return 1;
    }
    int32_t count = by_size(scene_bytes(jobs), small_at_once(threads, shares));
    int32_t most = least(count / shares, pays);
    return most > 1 ? most : 1;
}

/* How many jobs this host should have: some a GPU, or some on the CPU. Ranks that share it are jobs already.
 */
static int32_t fitting_jobs(const Jobs *jobs, int32_t gpus) {
    int32_t count = 1;
    if (hc_ranks_local_count(hc_app_ranks()) > 1) {
        return 1;
    }
    if (gpus > 0) {
        count = least(gpus * jobs_of_gpu(jobs, gpus), JOBS_MAX);
    } else if (strncmp(jobs->batch->params.common.device, "gpu", 3) != 0) {
        count = least(processors() / PROCESSORS_A_JOB, CPU_JOBS_MAX);
    }
    return least(count > 0 ? count : 1, jobs->turns->count);
}

/* What a job may take: its share of the threads, of the memory, and one of the GPUs where there are several.
 */
static void share_out(const Jobs *jobs, const Gpus *gpus, int32_t number, HcBatchWork *work, char *device,
                      size_t size) {
    HcCommon *common = &work->common;
    *common = jobs->batch->params.common;
    /* Ranks of this host have as many jobs each. */
    const HcRanks *ranks = hc_app_ranks();
    int32_t all = jobs->count * hc_ranks_local_count(ranks);
    number += jobs->count * hc_ranks_local_number(ranks);
    work->shares = work->device_shares = all;
    if (jobs->count == 1) {
        return;
    }
    int64_t threads = processors() / all;
    common->threads = common->threads > 0 ? common->threads : threads > 0 ? threads : 1;
    common->memory /= (uint64_t)jobs->count;
    (void)hc_scratch_use(NULL, (double)common->scratch_space / all);
    if (gpus->count > 1) {
        snprintf(device, size, "gpu:%d", number % gpus->count);
        common->device = device;
        work->device_shares = (all + gpus->count - 1) / gpus->count;
        if (gpus->listed && all >= gpus->count) {
            hc_gpus_sit_near(gpus->address, gpus->count, number % gpus->count);
        }
    }
    common->device_memory /= (uint64_t)work->device_shares;
}

static HcStatus do_job(Jobs *jobs, int32_t number, int pipe) {
    HcError error = {0};
    char device[16];
    Mouth mouth = {.jobs = jobs, .pipe = pipe};
    HcBatchWork work = {.next = next_turn, .report = report_parent, .user = &mouth, .ahead = jobs->ahead};
    Gpus gpus = {.count = 0};
    if (jobs->count != 1 && !jobs->no_gpu) {
        find_gpus(&jobs->batch->params.common, &gpus);
    }
    if (jobs->count == 0) {
        HcBatchEvent first = {.what = HC_BATCH_TAKEN, .scene = jobs->turns->scene[0]};
        report_parent(&first, &mouth); /* it is opened here, and may end the process */
        HcBatchEvent event = {.what = HC_BATCH_JOBS, .scene = -1, .jobs = fitting_jobs(jobs, gpus.count)};
        first.what = HC_BATCH_LEFT;
        report_parent(&first, &mouth);
        jobs->count = event.jobs;
        work.wants_gpu = gpus.count > 0 && event.jobs < fitting_jobs(jobs, 0);
        atomic_fetch_add(&jobs->turns->to_come, event.jobs - 1);
        report_parent(&event, &mouth);
    }
    share_out(jobs, &gpus, number, &work, device, sizeof device);
    work.at_once = scenes_at_once(jobs, hc_backend_threads(&work.common), work.device_shares);
    HcStatus status = hc_batch_work(jobs->batch, &work, &error);
    if (status != HC_OK) {
        HcBatchEvent event = {.what = HC_BATCH_BROKEN, .scene = -1, .status = status};
        snprintf(event.text, sizeof event.text, "%s", error.text);
        report_parent(&event, &mouth);
    }
    hc_file_remove_partials();
    return status;
}

/* ---- in the process of the batch ---- */

static HcStatus start_job(Jobs *jobs, int32_t number, HcError *err) {
    HcStatus status = HC_OK;
    pid_t process = 0;
    int end = -1;
    HC_OR_RETURN(hc_batch_fork(&process, &end, err));
    if (process == 0) {
        status = do_job(jobs, number, end);
        hc_process_ends();
        exit((int)status);
    }
    jobs->job[number] = (Job){.process = process, .pipe = end};
    return status;
}

static void finish(Jobs *jobs, int32_t scene) {
    jobs->progress[scene] = FINISHED;
    jobs->steps++;
}

/* Starts further jobs: one, or all that are left. Where no scene is left, none is needed. */
static HcStatus start_more(Jobs *jobs, bool all, HcError *err) {
    int32_t count = least(jobs->count, jobs->turns->count);
    while (jobs->begun < count && hc_flag(jobs->cancel) == 0 && !is_over(jobs->turns) &&
           atomic_load(&jobs->turns->given) < jobs->turns->count) {
        HcStatus status = start_job(jobs, jobs->begun, err);
        if (status != HC_OK) { /* the others get the scenes that were kept for these */
            atomic_fetch_sub(&jobs->turns->to_come, count - jobs->begun);
            jobs->begun = count;
            return status;
        }
        jobs->begun++;
        if (!all) {
            break;
        }
    }
    return HC_OK;
}

/* Starts further processes. Failures are ignored: one process is enough. */
static void start_beside(Jobs *jobs, bool all) {
    HcError unimportant = {0};
    (void)!start_more(jobs, all, &unimportant);
}

/* CUDA starts one process after the other. So each begins with its scenes as soon as it can, and the next one
 * starts after them. */
static void hear_device(Jobs *jobs, int32_t number, const HcBatchEvent *event) {
    jobs->job[number].ready = true;
    if (jobs->in_turn) {
        jobs->in_turn = strncmp(event->device, "gpu", 3) == 0;
        start_beside(jobs, !jobs->in_turn);
    }
}

/* Adds an event up, and keeps the reason of a failure for the summary. */
static void report_event(Jobs *jobs, const HcBatchEvent *event) {
    char **failures = jobs->totals->failures;
    hc_batch_report(jobs->batch, event, jobs->totals);
    hc_batch_grow_collection(jobs->batch, jobs->totals);
    if (failures != NULL && event->what == HC_BATCH_FAILED && failures[event->scene] == NULL) {
        failures[event->scene] = strdup(event->text); /* without memory the summary lacks the reason */
    }
}

static void hear(Jobs *jobs, int32_t number, const HcBatchEvent *event) {
    switch ((HcBatchWhat)event->what) {
    case HC_BATCH_JOBS:
        jobs->count = event->jobs;
        if (!jobs->in_turn) {
            start_beside(jobs, true);
        }
        break;
    case HC_BATCH_TAKEN:
        jobs->progress[event->scene] = HELD;
        jobs->holder[event->scene] = number;
        break;
    case HC_BATCH_LEFT:
        jobs->progress[event->scene] = WAITING;
        jobs->ahead = jobs->ahead && event->jobs != 1;
        break;
    case HC_BATCH_DONE:
    case HC_BATCH_FAILED:
    case HC_BATCH_SKIPPED:
    case HC_BATCH_EARLIER:
    case HC_BATCH_ELSEWHERE:
        finish(jobs, event->scene);
        break;
    case HC_BATCH_BROKEN:
        (void)!hc_fail(&jobs->broken, event->status, "%s", event->text);
        break;
    case HC_BATCH_DEVICE:
        hear_device(jobs, number, event);
        break;
    case HC_BATCH_NO_GPU:
        jobs->no_gpu = true;
        jobs->in_turn = false;
        break;
    case HC_BATCH_STARTED:
        break;
    }
    report_event(jobs, event);
}

/* The scene that killed its process. */
static void blame(Jobs *jobs, int32_t scene, HcStatus status, const char *text) {
    HcBatchOrigin origin = {0};
    HcBatchClaim *claim = NULL;
    HcError unimportant = {0};
    HcBatchEvent event = {.what = HC_BATCH_FAILED, .scene = scene, .status = status};
    snprintf(event.text, sizeof event.text, "%s", text);
    /* What it has left behind; its claim is that of a dead owner. */
    if (hc_batch_claim(jobs->batch->scenes[scene].output, &claim, &unimportant) == HC_OK && claim != NULL) {
        bool leave = hc_batch_clean_unplanned(jobs->batch, scene) && hc_batch_claim_inherited(claim) != 0;
        if (hc_batch_origin(&origin, jobs->batch, scene, NULL, &unimportant) == HC_OK) {
            hc_batch_mark(&origin, status, text);
        }
        hc_batch_origin_clear(&origin);
        hc_batch_release(claim, leave);
    }
    finish(jobs, scene);
    atomic_fetch_add(&jobs->turns->failed, 1);
    report_event(jobs, &event);
}

/* A process ended without saying why. */
static void judge(Jobs *jobs, int32_t number, int how) {
    char text[128];
    HcStatus status = HC_E_INPUT;
    if (WIFSIGNALED(how)) {
        int signal = WTERMSIG(how);
        /* Other signals come from outside, or where memory ran out. */
        bool at_fault = signal == SIGSEGV || signal == SIGILL || signal == SIGFPE || signal == SIGABRT;
        status = at_fault ? HC_E_INPUT : HC_E_MEMORY;
        snprintf(text, sizeof text, "its process ended by signal %d (%s)", WTERMSIG(how),
                 strsignal(WTERMSIG(how)));
    } else if (WEXITSTATUS(how) == HC_E_IO) {
        status = HC_E_IO;
        snprintf(text, sizeof text, "a scene file changed, or a disk failed, while it was in use");
    } else {
        /* Ended by a library, which says so itself: for lack of memory or threads. */
        status = HC_E_MEMORY;
        snprintf(text, sizeof text, "its process ended with exit code %d", WEXITSTATUS(how));
    }
    jobs->ahead = false;
    for (int32_t s = 0; s < jobs->batch->scene_count; s++) {
        if (jobs->progress[s] == HELD && jobs->holder[s] == number) {
            jobs->progress[s] = WAITING;
            jobs->steps++;
            if (++jobs->deaths[s] == DEATHS_MAX) {
                blame(jobs, s, status, text);
            }
        }
    }
}

static void end_job(Jobs *jobs, int32_t number) {
    Job *job = &jobs->job[number];
    int how = 0;
    close(job->pipe);
    job->pipe = -1;
    while (waitpid(job->process, &how, 0) < 0 && errno == EINTR) {
    }
    bool clean = WIFEXITED(how) && (WEXITSTATUS(how) == HC_OK || jobs->broken.status != HC_OK);
    if (!clean) {
        judge(jobs, number, how);
    }
    job->process = 0;
    if (!job->ready && jobs->in_turn) { /* the next one does not wait for it */
        start_beside(jobs, false);
    }
}

/* Hears the jobs until all have ended; passes an interruption on to them once. */
static void listen_to_jobs(Jobs *jobs) {
    bool passed_on = false;
    int32_t open = jobs->capacity;
    struct pollfd *list = jobs->list;
    while (open > 0) {
        open = 0;
        for (int32_t j = 0; j < jobs->capacity; j++) {
            list[j] = (struct pollfd){.fd = jobs->job[j].pipe, .events = POLLIN};
            open += jobs->job[j].pipe >= 0;
            if (hc_flag(jobs->cancel) != 0 && !passed_on && jobs->job[j].process > 0) {
                kill(jobs->job[j].process, SIGTERM);
            }
        }
        passed_on = hc_flag(jobs->cancel) != 0;
        if (open == 0 || poll(list, (nfds_t)jobs->capacity, 200) <= 0) {
            continue;
        }
        for (int32_t j = 0; j < jobs->capacity; j++) {
            HcBatchEvent event;
            if (list[j].fd >= 0 && list[j].revents != 0) {
                if (hc_batch_hear(list[j].fd, &event)) {
                    hear(jobs, j, &event);
                } else {
                    end_job(jobs, j);
                }
            }
        }
    }
}

/* The scenes that nobody has done yet; where a process died at each of these, the first one alone. */
static void fill_turns(Jobs *jobs) {
    int32_t suspect = -1;
    atomic_store(&jobs->turns->given, 0);
    jobs->turns->count = jobs->left = 0;
    for (int32_t s = jobs->batch->worker; s < jobs->batch->scene_count; s += jobs->batch->workers) {
        if (jobs->progress[s] == FINISHED) {
            continue;
        }
        jobs->progress[s] = WAITING;
        jobs->left++;
        if (jobs->deaths[s] == 0) {
            jobs->turns->scene[jobs->turns->count++] = s;
        } else if (suspect < 0) {
            suspect = s;
        }
    }
    if (jobs->turns->count == 0 && suspect >= 0) {
        jobs->turns->scene[jobs->turns->count++] = suspect;
        jobs->count = 1;
    }
}

static HcStatus open_jobs(Jobs *jobs, size_t *turns_bytes, HcError *err) {
    static const char what[] = "the processes of the batch";
    size_t scenes = (size_t)jobs->batch->scene_count;
    *turns_bytes = sizeof(Turns) + scenes * sizeof(int32_t);
    jobs->turns = mmap(NULL, *turns_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    jobs->turns = jobs->turns != MAP_FAILED ? jobs->turns : NULL;
    if (jobs->turns == NULL) {
        return hc_fail_memory(err, (double)*turns_bytes, what);
    }
    int64_t allowed = jobs->batch->params.max_failures;
    jobs->turns->allowed = (int32_t)(allowed < INT32_MAX ? allowed : INT32_MAX);
    HC_OR_RETURN(hc_new(jobs->job, jobs->capacity, what, err));
    HC_OR_RETURN(hc_new(jobs->list, jobs->capacity, what, err));
    HC_OR_RETURN(hc_new(jobs->progress, scenes, what, err));
    HC_OR_RETURN(hc_new(jobs->holder, scenes, what, err));
    HC_OR_RETURN(hc_new(jobs->deaths, scenes, what, err));
    return HC_OK;
}

/* One process a job, until the scenes of the round are done or all processes have ended. */
static HcStatus run_round(Jobs *jobs, HcError *err) {
    HcStatus status = HC_OK;
    int32_t count = least(jobs->count > 0 ? jobs->count : 1, jobs->turns->count);
    for (int32_t j = 0; j < jobs->capacity; j++) {
        jobs->job[j] = (Job){.pipe = -1};
    }
    jobs->in_turn = strcmp(jobs->batch->params.common.device, "cpu") != 0 && hc_module_exists();
    atomic_store(&jobs->turns->to_come, count);
    jobs->begun = 0;
    HC_OR_RETURN(start_job(jobs, 0, err));
    jobs->begun = 1;
    if (!jobs->in_turn && jobs->count > 0) {
        status = start_more(jobs, true, err);
    }
    listen_to_jobs(jobs);
    return status;
}

/* Why scenes are left that nobody has begun. */
static HcStatus fail_over(const Jobs *jobs, HcError *err) {
    const char *are = jobs->left == 1 ? "is" : "are";
    int32_t failed = jobs->totals->failed;
    return atomic_load(&jobs->turns->full)
               ? hc_fail(err, HC_E_IO, "batch: no space is left for outputs; %d scene%s %s left", jobs->left,
                         jobs->left == 1 ? "" : "s", are)
               : hc_fail(err, HC_E_SCENES,
                         "batch: %d scene%s failed, as many as --max-failures allows; %d %s left", failed,
                         failed == 1 ? "" : "s", jobs->left, are);
}

HcStatus hc_batch_jobs(const HcBatch *batch, HcBatchTotals *totals, HcError *err) {
    HcStatus status = HC_OK;
    int32_t asked = (int32_t)batch->params.jobs;
    Jobs jobs = {.batch = batch,
                 .totals = totals,
                 .cancel = hc_catch_signals(),
                 .count = asked,
                 .capacity = asked > 0 ? asked : JOBS_MAX,
                 .ahead = true};
    size_t turns_bytes = 0;
    HC_TRY(open_jobs(&jobs, &turns_bytes, err));
    for (fill_turns(&jobs); jobs.turns->count > 0; fill_turns(&jobs)) {
        int32_t before = jobs.steps;
        bool ahead = jobs.ahead;
        bool no_gpu = jobs.no_gpu;
        jobs.broken = (HcError){0};
        HC_TRY(run_round(&jobs, err));
        if (hc_flag(jobs.cancel) != 0) {
            HC_TRY(hc_fail(err, HC_E_CANCELLED, "interrupted"));
        }
        if (is_over(jobs.turns)) {
            fill_turns(&jobs);
            HC_TRY(jobs.left == 0 ? HC_OK : fail_over(&jobs, err));
        }
        bool other = ahead != jobs.ahead || no_gpu != jobs.no_gpu;
        if (other) {
            jobs.count = asked; /* other jobs may fit now */
        }
        /* Where a round brings nothing, the same would not in the next one. */
        if (jobs.steps == before && !other) {
            HC_TRY(jobs.broken.status != HC_OK
                       ? hc_fail(err, jobs.broken.status, "%s", jobs.broken.text)
                       : hc_fail(err, HC_E_MEMORY, "batch: its processes end before they begin a scene"));
        }
    }
done:
    if (jobs.turns != NULL) {
        munmap(jobs.turns, turns_bytes);
    }
    free(jobs.job);
    free(jobs.list);
    free(jobs.progress);
    free(jobs.holder);
    free(jobs.deaths);
    return status;
}
