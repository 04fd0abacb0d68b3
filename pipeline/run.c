#include "pipeline/run.h"
#include "io/file.h"
#include "pipeline/layout.h"
#include "pipeline/memory.h"
#include "pipeline/record.h"
#include "pipeline/stages/read.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* Raw bytes of one block, as the reader left them. */
typedef struct RawSlot {
    HcBuffer buffer;
    HcRaw raw;
} RawSlot;

/* A block in host memory on its way to a sink. */
typedef struct Parcel {
    HcStage *sink;
    HcBuffer buffer;
    HcBlock block;
    struct Parcel *next;
} Parcel;

/* What one block in flight needs: a queue, and the output of every stage of the pass. */
typedef struct Slot {
    HcQueue *queue;
    HcBuffer memory;
    int64_t block;    /* which one is in flight, -1 = none */
    Parcel *parcels;  /* filled once the queue is empty */
    void *raw_device; /* where memory is not shared */
    void *scratch;
    void *output[HC_STAGES_MAX];
} Slot;

/* One run, and what its three threads share. */
typedef struct Run {
    HcChain *chain;
    HcCompute *compute;
    const HcRunSettings *settings;
    HcRunReport *report;
    HcComputeInfo info;
    HcLayout layout;
    HcPass pass;
    int32_t pass_number;
    double started;
    RawSlot *raw;    /* [layout.raw_slots] */
    Slot *slots;     /* [layout.slots] */
    Parcel *parcels; /* all of them, [parcel_count] */
    int32_t parcel_count;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stop;                          /* some thread failed, or all is done */
    HcError error;                      /* the first failure of any thread */
    int64_t blocks_read;                /* raw blocks that are there */
    int64_t blocks_freed;               /* raw blocks that are no longer needed */
    Parcel *free_parcels;               /* those of a sink are told apart by parcel->sink */
    Parcel *first_parcel, *last_parcel; /* to be written, in order */
    bool all_computed;
} Run;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Keeps the first failure and wakes everybody. */
static void fail_run(Run *run, const HcError *error) {
    pthread_mutex_lock(&run->lock);
    if (run->error.status == HC_OK) {
        run->error = *error;
    }
    run->stop = true;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
}

static int32_t lines_of_block(const Run *run, int64_t block) {
    int64_t lines = run->chain->stages[0].out.lines - block * run->layout.block_lines;
    return (int32_t)(lines < run->layout.block_lines ? lines : run->layout.block_lines);
}

/* How many lines of context there are above and below a block, at most `halo`. */
static void halo_of_block(const Run *run, int64_t block, int32_t halo, int32_t *above, int32_t *below) {
    int64_t line0 = block * run->layout.block_lines;
    int64_t rest = run->chain->stages[0].out.lines - line0 - lines_of_block(run, block);
    *above = (int32_t)(line0 < halo ? line0 : halo);
    *below = (int32_t)(rest < halo ? rest : halo);
}

/* ---- reading ---- */

static HcStatus read_block(Run *run, int64_t block, HcError *err) {
    HcStatus status = HC_OK;
    RawSlot *slot = &run->raw[block % run->layout.raw_slots];
    HcReader *reader = hc_source_reader(&run->chain->stages[0]);
    int32_t above = 0;
    int32_t below = 0;
    halo_of_block(run, block, run->layout.raw_halo, &above, &below);
    int32_t rows = above + lines_of_block(run, block) + below;
    size_t bytes = hc_reader_bytes(reader, rows);
    if (bytes > slot->buffer.bytes) {
        hc_memory_release(run->compute, &slot->buffer);
        HC_TRY(run->compute->ops->alloc(run->compute, HC_MEMORY_HOST, bytes, &slot->buffer, err));
    }
    HC_TRY(hc_reader_read(reader, block * run->layout.block_lines - above, rows, slot->buffer.data,
                          &slot->raw, err));
done:
    return status;
}

static void *reading_thread(void *argument) {
    Run *run = argument;
    HcError error = {0};
    double busy = 0;
    for (int64_t block = 0; block < run->layout.blocks; block++) {
        pthread_mutex_lock(&run->lock);
        while (!run->stop && block - run->blocks_freed >= run->layout.raw_slots) {
            pthread_cond_wait(&run->changed, &run->lock);
        }
        bool stop = run->stop;
        pthread_mutex_unlock(&run->lock);
        if (stop) {
            break;
        }
        double start = now();
        if (read_block(run, block, &error) != HC_OK) {
            fail_run(run, &error);
            break;
        }
        busy += now() - start;
        pthread_mutex_lock(&run->lock);
        run->blocks_read = block + 1;
        pthread_cond_broadcast(&run->changed);
        pthread_mutex_unlock(&run->lock);
    }
    pthread_mutex_lock(&run->lock);
    run->report->seconds_read += busy;
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

/* ---- writing ---- */

static Parcel *next_parcel(Run *run) {
    pthread_mutex_lock(&run->lock);
    while (!run->stop && run->first_parcel == NULL && !run->all_computed) {
        pthread_cond_wait(&run->changed, &run->lock);
    }
    Parcel *parcel = run->stop ? NULL : run->first_parcel;
    if (parcel != NULL) {
        run->first_parcel = parcel->next;
    }
    pthread_mutex_unlock(&run->lock);
    return parcel;
}

static void free_parcel(Run *run, Parcel *parcel) {
    pthread_mutex_lock(&run->lock);
    parcel->next = run->free_parcels;
    run->free_parcels = parcel;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
}

static void *writing_thread(void *argument) {
    Run *run = argument;
    HcError error = {0};
    double busy = 0;
    Parcel *parcel = NULL;
    while ((parcel = next_parcel(run)) != NULL) {
        double start = now();
        if (parcel->sink->kind->consume(parcel->sink, &parcel->block, &error) != HC_OK) {
            fail_run(run, &error);
            break;
        }
        double taken = now() - start;
        parcel->sink->seconds_consume += taken;
        busy += taken;
        free_parcel(run, parcel);
    }
    pthread_mutex_lock(&run->lock);
    run->report->seconds_write += busy;
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

/* A free parcel of that sink; waits for the writer. NULL when the run stops. */
static Parcel *take_parcel(Run *run, const HcStage *sink) {
    double start = now();
    Parcel *taken = NULL;
    pthread_mutex_lock(&run->lock);
    while (!run->stop && taken == NULL) {
        for (Parcel **at = &run->free_parcels; *at != NULL; at = &(*at)->next) {
            if ((*at)->sink == sink) {
                taken = *at;
                *at = taken->next;
                break;
            }
        }
        if (taken == NULL) {
            pthread_cond_wait(&run->changed, &run->lock);
        }
    }
    pthread_mutex_unlock(&run->lock);
    run->report->seconds_wait_write += now() - start;
    return taken;
}

/* ---- computing ---- */

/* The raw block, once it is read. False when the run stops. */
static bool wait_raw(Run *run, int64_t block) {
    double start = now();
    pthread_mutex_lock(&run->lock);
    while (!run->stop && run->blocks_read <= block) {
        pthread_cond_wait(&run->changed, &run->lock);
    }
    bool there = !run->stop;
    pthread_mutex_unlock(&run->lock);
    run->report->seconds_wait_read += now() - start;
    return there;
}

/* The output block of a stage for one block of the scene, in the memory of the slot. */
static HcBlock output_block(const Run *run, const Slot *slot, int32_t place, int64_t block) {
    const HcScene *scene = &run->chain->stages[place].out;
    HcBlock out = {.line0 = block * run->layout.block_lines,
                   .lines = lines_of_block(run, block),
                   .samples = (int32_t)scene->samples,
                   .bands = scene->bands};
    halo_of_block(run, block, run->pass.halo[place], &out.above, &out.below);
    out.data = slot->output[place];
    out.mask = (uint8_t *)slot->output[place] + hc_block_values(&out) * sizeof(float);
    return out;
}

static HcStatus decode_block(Run *run, Slot *slot, int64_t block, const HcBlock *out, HcError *err) {
    HcStatus status = HC_OK;
    const HcComputeOps *ops = run->compute->ops;
    const RawSlot *source = &run->raw[block % run->layout.raw_slots];
    HcRaw raw = source->raw;
    if (slot->raw_device != NULL) {
        HC_TRY(ops->upload(slot->queue, source->buffer.data, slot->raw_device, source->buffer.bytes, err));
        const char *host = source->buffer.data;
        raw.data = (char *)slot->raw_device + ((const char *)raw.data - host);
        if (raw.user_mask != NULL) {
            raw.user_mask = (uint8_t *)slot->raw_device + ((const char *)raw.user_mask - host);
        }
    }
    double start = now();
    HC_TRY(ops->decode(slot->queue, &raw, hc_source_decode(&run->chain->stages[0]), out, err));
    run->report->seconds_decode += now() - start;
done:
    return status;
}

/* Copies the interior lines of a block for a sink. */
static HcStatus send_to_sink(Run *run, Slot *slot, HcStage *sink, const HcBlock *block, HcError *err) {
    HcStatus status = HC_OK;
    const HcComputeOps *ops = run->compute->ops;
    Parcel *parcel = take_parcel(run, sink);
    if (parcel == NULL) {
        return run->error.status; /* another thread failed; its message is the one that counts */
    }
    parcel->next = slot->parcels;
    slot->parcels = parcel;
    HcBlock *host = &parcel->block;
    *host = *block;
    host->above = host->below = 0;
    size_t skipped = (size_t)block->above * (size_t)block->samples;
    size_t values = hc_block_values(host);
    host->data = parcel->buffer.data;
    host->mask = (uint8_t *)parcel->buffer.data + values * sizeof(float);
    HC_TRY(ops->download(slot->queue, block->data + skipped * (size_t)block->bands, host->data,
                         values * sizeof(float), err));
    HC_TRY(ops->download(slot->queue, block->mask + skipped, host->mask, hc_block_pixels(host), err));
done:
    return status;
}

/* Takes one block through the stages of the pass. */
static HcStatus submit(Run *run, Slot *slot, int64_t block, HcError *err) {
    HcStatus status = HC_OK;
    HcBlock current = output_block(run, slot, 0, block);
    HC_TRY(decode_block(run, slot, block, &current, err));
    for (int32_t s = 1; s < run->pass.end; s++) {
        HcStage *stage = &run->chain->stages[s];
        double start = now();
        if (hc_pass_observes(&run->pass, stage)) {
            HC_TRY(stage->kind->observe(stage, slot->queue, &current, err));
            stage->seconds_observe += now() - start;
            start = now();
        }
        if (run->pass.stops && s == run->pass.end - 1) {
            break;
        }
        if (!stage->needs.passes_through) {
            HcBlock out = output_block(run, slot, s, block);
            HC_TRY(stage->kind->process(stage, slot->queue, &current, &out, slot->scratch, err));
            stage->seconds_process += now() - start;
            current = out;
        }
        if (stage->needs.consumes && !run->pass.stops) {
            HC_TRY(send_to_sink(run, slot, stage, &current, err));
        }
    }
done:
    return status;
}

static void tell_progress(const Run *run, int64_t lines_done) {
    if (run->settings->progress == NULL) {
        return;
    }
    const HcRunReport *report = run->report;
    const HcScene *scene = &run->chain->stages[0].out;
    double scene_bytes = (double)report->raw_bytes;
    double share = (double)lines_done / (double)scene->lines;
    HcProgress progress = {.pass = run->pass_number,
                           .passes = report->passes,
                           .what =
                               run->pass.stops ? run->chain->stages[run->pass.end - 1].kind->name : "writing",
                           .lines_done = lines_done,
                           .lines = scene->lines,
                           .bytes_done = scene_bytes * (run->pass_number - 1 + share),
                           .bytes = scene_bytes * report->passes,
                           .seconds = now() - run->started};
    run->settings->progress(&progress, run->settings->user);
}

/* Gives up the mapped pages of a block, but for the lines that the next one looks at; and those of the block before
 * once more, since looking at a line brings its neighbours in again. */
static void release_raw(const Run *run, int64_t block) {
    int64_t line0 = block * run->layout.block_lines;
    int64_t end = line0 + lines_of_block(run, block);
    end -= end < run->chain->stages[0].out.lines ? run->layout.raw_halo : 0;
    line0 = line0 > run->layout.block_lines ? line0 - run->layout.block_lines : 0;
    hc_reader_release(hc_source_reader(&run->chain->stages[0]), line0, (int32_t)(end - line0));
}

/* Waits for the block in flight, hands its parcels to the writer in the order of the steps, frees its raw
 * block. */
static HcStatus drain(Run *run, Slot *slot, HcError *err) {
    HcStatus status = HC_OK;
    if (slot->block < 0) {
        return HC_OK;
    }
    HC_TRY(run->compute->ops->wait(slot->queue, err));
    pthread_mutex_lock(&run->lock);
    Parcel *ordered = NULL; /* the slot's list is newest first */
    while (slot->parcels != NULL) {
        Parcel *parcel = slot->parcels;
        slot->parcels = parcel->next;
        parcel->next = ordered;
        ordered = parcel;
    }
    if (ordered != NULL) {
        if (run->first_parcel == NULL) {
            run->first_parcel = ordered;
        } else {
            run->last_parcel->next = ordered;
        }
        while (ordered->next != NULL) {
            ordered = ordered->next;
        }
        run->last_parcel = ordered;
    }
    run->blocks_freed = run->layout.resident ? 0 : slot->block + 1;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
    release_raw(run, slot->block);
    tell_progress(run, slot->block * run->layout.block_lines + lines_of_block(run, slot->block));
    slot->block = -1;
done:
    return status;
}

static HcStatus compute_blocks(Run *run, HcError *err) {
    HcStatus status = HC_OK;
    Slot *before = NULL;
    for (int64_t block = 0; block < run->layout.blocks; block++) {
        Slot *slot = &run->slots[block % run->layout.slots];
        HC_TRY(drain(run, slot, err));
        if (run->settings->cancel != NULL && *run->settings->cancel != 0) {
            HC_TRY(hc_fail(err, HC_E_CANCELLED, "interrupted after %lld of %lld lines of pass %d",
                           (long long)(block * run->layout.block_lines),
                           (long long)run->chain->stages[0].out.lines, run->pass_number));
        }
        if (!wait_raw(run, block)) {
            HC_TRY(run->error.status);
        }
        if (before != NULL && before != slot) {
            HC_TRY(run->compute->ops->follow(slot->queue, before->queue, err));
        }
        slot->block = block;
        HC_TRY(submit(run, slot, block, err));
        before = slot;
    }
    for (int64_t block = run->layout.blocks; block < run->layout.blocks + run->layout.slots; block++) {
        HC_TRY(drain(run, &run->slots[block % run->layout.slots], err));
    }
done:
    return status;
}

/* ---- a pass ---- */

static size_t aligned(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

/* One piece of device memory a slot, cut into the outputs of the stages. */
static HcStatus open_slot(Run *run, Slot *slot, HcError *err) {
    HcStatus status = HC_OK;
    size_t offset[HC_STAGES_MAX + 2];
    size_t bytes = 0;
    size_t scratch = 0;
    int32_t lines = run->layout.block_lines;
    int32_t processed = run->pass.end - (run->pass.stops ? 1 : 0);
    for (int32_t s = 0; s < processed; s++) {
        const HcStage *stage = &run->chain->stages[s];
        int64_t rows = lines + 2 * (int64_t)run->pass.halo[s];
        offset[s] = bytes;
        bytes += stage->needs.passes_through ? 0 : aligned(hc_rows_bytes(&stage->out, rows));
        size_t wanted = stage->needs.bytes_per_pixel * (size_t)rows * (size_t)stage->out.samples;
        scratch = wanted > scratch ? wanted : scratch;
    }
    size_t raw_offset = bytes + aligned(scratch);
    size_t raw_bytes = 0;
    if (!run->info.shared_memory) {
        raw_bytes =
            hc_reader_bytes(hc_source_reader(&run->chain->stages[0]), lines + 2 * run->layout.raw_halo);
    }
    slot->block = -1;
    HC_TRY(run->compute->ops->queue_open(run->compute, &slot->queue, err));
    HC_TRY(
        run->compute->ops->alloc(run->compute, HC_MEMORY_DEVICE, raw_offset + raw_bytes, &slot->memory, err));
    char *memory = slot->memory.data;
    for (int32_t s = 0; s < processed; s++) {
        slot->output[s] = memory + offset[s];
    }
    slot->scratch = memory + bytes;
    slot->raw_device = raw_bytes > 0 ? memory + raw_offset : NULL;
done:
    return status;
}

static void close_slots(Run *run) {
    for (int32_t s = 0; run->slots != NULL && s < run->layout.slots; s++) {
        run->compute->ops->queue_close(run->slots[s].queue);
        hc_memory_release(run->compute, &run->slots[s].memory);
        run->slots[s] = (Slot){.block = -1};
    }
}

static HcStatus open_parcels(Run *run, HcError *err) {
    HcStatus status = HC_OK;
    int32_t each = run->layout.slots + 2;
    int32_t sinks = 0;
    for (int32_t s = 0; s < run->pass.end && !run->pass.stops; s++) {
        sinks += run->chain->stages[s].needs.consumes;
    }
    if (sinks == 0) {
        return HC_OK;
    }
    run->parcels = calloc((size_t)(sinks * each), sizeof *run->parcels);
    if (run->parcels == NULL) {
        return hc_fail_memory(err, (double)(sinks * each) * sizeof *run->parcels, "output blocks");
    }
    for (int32_t s = 0; s < run->pass.end; s++) {
        HcStage *stage = &run->chain->stages[s];
        for (int32_t k = 0; k < each && stage->needs.consumes; k++) {
            Parcel *parcel = &run->parcels[run->parcel_count++];
            parcel->sink = stage;
            parcel->next = run->free_parcels;
            run->free_parcels = parcel;
            HC_TRY(run->compute->ops->alloc(run->compute, HC_MEMORY_HOST,
                                            hc_rows_bytes(&stage->in, run->layout.block_lines),
                                            &parcel->buffer, err));
        }
    }
done:
    return status;
}

static void close_parcels(Run *run) {
    for (int32_t p = 0; p < run->parcel_count; p++) {
        hc_memory_release(run->compute, &run->parcels[p].buffer);
    }
    free(run->parcels);
    run->parcels = run->free_parcels = run->first_parcel = run->last_parcel = NULL;
    run->parcel_count = 0;
}

/* Opens the stages of the pass that are not open yet. */
static HcStatus open_stages(Run *run, HcError *err) {
    HcStatus status = HC_OK;
    for (int32_t s = 0; s < run->pass.end; s++) {
        HcStage *stage = &run->chain->stages[s];
        stage->compute = run->compute;
        if (!stage->is_open && stage->kind->open != NULL) {
            HC_TRY(stage->kind->open(stage, err));
        }
        stage->is_open = true;
    }
done:
    return status;
}

/* Starts a thread, or says why not. */
static HcStatus start(pthread_t *thread, void *(*body)(void *), Run *run, HcError *err) {
    if (pthread_create(thread, NULL, body, run) != 0) {
        return hc_fail(err, HC_E_MEMORY, "a thread could not be started");
    }
    return HC_OK;
}

/* The three threads of a pass, until all blocks are through or one of them failed. */
static HcStatus run_threads(Run *run, HcError *err) {
    HcStatus status = HC_OK;
    pthread_t reader;
    pthread_t writer;
    bool reads = run->blocks_read < run->layout.blocks;
    bool reader_runs = false;
    bool writer_runs = false;
    if (reads) {
        HC_TRY(start(&reader, reading_thread, run, err));
        reader_runs = true;
        run->report->bytes_read += (double)run->report->raw_bytes;
    }
    if (run->parcel_count > 0) {
        HC_TRY(start(&writer, writing_thread, run, err));
        writer_runs = true;
    }
    HC_TRY(compute_blocks(run, err));
done:
    pthread_mutex_lock(&run->lock);
    run->all_computed = true;
    run->stop = run->stop || status != HC_OK;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
    if (reader_runs) {
        pthread_join(reader, NULL);
    }
    if (writer_runs) {
        pthread_join(writer, NULL);
    }
    if (run->error.status != HC_OK) {
        status = hc_fail(err, run->error.status, "%s", run->error.text);
    }
    return status;
}

static HcStatus run_pass(Run *run, HcError *err) {
    HcStatus status = HC_OK;
    run->pass_number++;
    run->all_computed = false;
    run->blocks_freed = 0;
    if (!run->layout.resident) {
        run->blocks_read = 0;
    }
    HC_TRY(open_stages(run, err));
    for (int32_t s = 0; s < run->layout.slots; s++) {
        HC_TRY(open_slot(run, &run->slots[s], err));
    }
    HC_TRY(open_parcels(run, err));
    HC_TRY(hc_source_reset_counts(&run->chain->stages[0], run->slots[0].queue, err));
    HC_TRY(run->compute->ops->wait(run->slots[0].queue, err));
    HC_TRY(run_threads(run, err));
    for (int32_t s = 0; s < run->pass.end; s++) {
        HcStage *stage = &run->chain->stages[s];
        if (hc_pass_observes(&run->pass, stage)) {
            double start_time = now();
            HC_TRY(stage->kind->settle(stage, run->slots[0].queue, err));
            stage->seconds_settle += now() - start_time;
        }
    }
    HC_TRY(hc_source_counts(&run->chain->stages[0], run->report->masked, err));
done:
    close_slots(run);
    close_parcels(run);
    return status;
}

/* Marks what the pass observed as settled; only now, since hc_pass_observes asks for it. */
static void mark_settled(Run *run) {
    for (int32_t s = 0; s < run->pass.end; s++) {
        HcStage *stage = &run->chain->stages[s];
        stage->settled = stage->settled || hc_pass_observes(&run->pass, stage);
    }
}

/* ---- the run ---- */

static HcStatus run_passes(Run *run, bool settle_only, HcError *err) {
    HcStatus status = HC_OK;
    bool more = true;
    while (more) {
        HC_TRY(hc_chain_plan(run->chain, err));
        hc_pass_next(run->chain, &run->pass);
        more = run->pass.stops;
        bool observes = false;
        for (int32_t s = 0; s < run->pass.end; s++) {
            observes = observes || hc_pass_observes(&run->pass, &run->chain->stages[s]);
        }
        if (settle_only && !observes) {
            break;
        }
        HC_TRY(run_pass(run, err));
        mark_settled(run);
    }
done:
    return status;
}

static HcStatus finish_outputs(Run *run, HcError *err) {
    HcStatus status = HC_OK;
    for (int32_t s = 0; s < run->chain->count; s++) {
        HcStage *stage = &run->chain->stages[s];
        if (stage->kind->finish != NULL) {
            double start_time = now();
            HC_TRY(stage->kind->finish(stage, err));
            stage->seconds_consume += now() - start_time;
        }
    }
done:
    return status;
}

static void fill_report(Run *run) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    run->report->peak_memory = (uint64_t)usage.ru_maxrss * 1024;
    run->report->seconds = now() - run->started;
}

static HcStatus run_chain(HcChain *chain, HcCompute *compute, const HcRunSettings *settings,
                          HcRunReport *report, bool settle_only, HcError *err) {
    HcStatus status = HC_OK;
    Run run = {.chain = chain, .compute = compute, .settings = settings, .report = report, .started = now()};
    pthread_mutex_init(&run.lock, NULL);
    pthread_cond_init(&run.changed, NULL);
    chain->settings = settings;
    if (settings->record != NULL && strcmp(settings->record, "none") != 0 && !settle_only) {
        HC_TRY(hc_file_check(settings->record, chain->overwrite, err));
    }
    HC_TRY(hc_run_plan(chain, compute, settings, report, err));
    compute->ops->info(compute, &run.info);
    HC_TRY(hc_layout_make(&run.layout, chain, &run.info, settings, report, err));
    run.raw = calloc((size_t)run.layout.raw_slots, sizeof *run.raw);
    run.slots = calloc((size_t)run.layout.slots, sizeof *run.slots);
    if (run.raw == NULL || run.slots == NULL) {
        HC_TRY(hc_fail_memory(err, (double)run.layout.raw_slots * sizeof *run.raw, "blocks"));
    }
    HC_TRY(run_passes(&run, settle_only, err));
    if (!settle_only) {
        HC_TRY(finish_outputs(&run, err));
        fill_report(&run);
        HC_TRY(hc_record_write_all(chain, compute, settings, report, err));
    }
done:
    fill_report(&run);
    for (int32_t r = 0; run.raw != NULL && r < run.layout.raw_slots; r++) {
        hc_memory_release(compute, &run.raw[r].buffer);
    }
    free(run.raw);
    free(run.slots);
    pthread_cond_destroy(&run.changed);
    pthread_mutex_destroy(&run.lock);
    return status;
}

HcStatus hc_run(HcChain *chain, HcCompute *compute, const HcRunSettings *settings, HcRunReport *report,
                HcError *err) {
    return run_chain(chain, compute, settings, report, false, err);
}

HcStatus hc_run_settle(HcChain *chain, HcCompute *compute, const HcRunSettings *settings, HcError *err) {
    /* Progress and records belong to the run that asked. */
    HcRunSettings quiet = settings != NULL ? *settings : (HcRunSettings){0};
    quiet.progress = NULL;
    HcRunReport report;
    return run_chain(chain, compute, &quiet, &report, true, err);
}
