#include "tests/support/strict.h"

#include "cpu/cpu.h"
#include "tests/support/strict_parts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 256, GUARD_BYTE = 0xA5, FRESH_BYTE = 0xFF };

/* What the device says that it needs for itself [bytes]. */
enum { RESERVE = 1 << 20 };

static atomic_llong fail_at;
static bool (*asked_to_fail)(void);
static atomic_llong operations;
static atomic_llong leaks;
static atomic_llong overruns;
static atomic_llong uploaded;
static atomic_ullong device_memory; /* of each backend, 0 = no limit */

/* One allocation: guard, memory, guard. */
struct Piece {
    Piece *next;
    unsigned char *real; /* the first guard */
    uintptr_t address;   /* what the caller sees */
    size_t bytes;
    HcMemory where;
    bool overrun; /* counted */
};

typedef struct Work {
    struct Work *next;
    StrictWork *work; /* NULL = waits for another queue */
    HcQueue *after;   /* that one, */
    uint64_t ticket;  /* up to this piece of work */
    bool fails;       /* because a test wants it */
    _Alignas(max_align_t) unsigned char arguments[];
} Work;

struct HcQueue {
    HcHead head;
    HcQueue *next;
    Strict *strict;
    bool open;
    Work *first, *last;
    uint64_t accepted, done;
    HcError failure; /* the first since the last wait */
};

/* --- memory --- */

static bool guards_hold(const Piece *piece) {
    const unsigned char *after = piece->real + GUARD + piece->bytes;
    for (int i = 0; i < GUARD; i++) {
        if (piece->real[i] != GUARD_BYTE || after[i] != GUARD_BYTE) {
            return false;
        }
    }
    return true;
}

static void note_overrun(Piece *piece) {
    if (!piece->overrun && !guards_hold(piece)) {
        piece->overrun = true;
        atomic_fetch_add(&overruns, 1);
    }
}

static void free_piece(Piece *piece) {
    note_overrun(piece);
    memset(piece->real, FRESH_BYTE, piece->bytes + 2 * (size_t)GUARD);
    free(piece->real);
    free(piece);
}

/* What it was opened with, or what the test set, whichever is less; 0 = no limit. */
static uint64_t memory_limit(const Strict *strict) {
    uint64_t set = atomic_load(&device_memory);
    return set == 0 || (strict->memory > 0 && strict->memory < set) ? strict->memory : set;
}

/* Counts device memory that is wanted; false where there is not that much. Under the lock. */
static bool take_device(Strict *strict, size_t bytes) {
    uint64_t limit = memory_limit(strict);
    if (limit > 0 && strict->taken + bytes > limit) {
        return false;
    }
    strict->taken += bytes;
    return true;
}

static HcStatus strict_alloc(HcCompute *compute, HcMemory where, size_t bytes, HcBuffer *out, HcError *err) {
    Strict *strict = strict_of(compute);
    *out = (HcBuffer){0};
    if (bytes > SIZE_MAX / 4) {
        return hc_fail_memory(err, (double)bytes, "a strict buffer");
    }
    Piece *piece = calloc(1, sizeof *piece);
    unsigned char *real = aligned_alloc(64, (bytes + 2 * (size_t)GUARD + 63) / 64 * 64);
    if (piece == NULL || real == NULL) {
        free(piece);
        free(real);
        return hc_fail_memory(err, (double)bytes, "a strict buffer");
    }
    memset(real, GUARD_BYTE, GUARD);
    memset(real + GUARD, FRESH_BYTE, bytes);
    memset(real + GUARD + bytes, GUARD_BYTE, GUARD);
    *piece = (Piece){.real = real, .address = (uintptr_t)(real + GUARD), .bytes = bytes, .where = where};
    pthread_mutex_lock(&strict->lock);
    if (where == HC_MEMORY_DEVICE && !take_device(strict, bytes)) {
        pthread_mutex_unlock(&strict->lock);
        free_piece(piece);
        return hc_fail_memory(err, (double)bytes, "a strict device buffer");
    }
    if (where == HC_MEMORY_DEVICE) {
        piece->address = strict->next_address;
        strict->next_address += (bytes + 65536) / 4096 * 4096;
    }
    piece->next = strict->pieces;
    strict->pieces = piece;
    pthread_mutex_unlock(&strict->lock);
    *out = (HcBuffer){.data = (void *)piece->address, .bytes = bytes, .where = where, .handle = piece};
    return HC_OK;
}

static void strict_release(HcCompute *compute, HcBuffer *buffer) {
    Strict *strict = strict_of(compute);
    if (buffer == NULL || buffer->handle == NULL) {
        return;
    }
    pthread_mutex_lock(&strict->lock);
    for (Piece **at = &strict->pieces; *at != NULL; at = &(*at)->next) {
        if (*at == buffer->handle) {
            Piece *piece = *at;
            *at = piece->next;
            strict->taken -= piece->where == HC_MEMORY_DEVICE ? piece->bytes : 0;
            free_piece(piece);
            break;
        }
    }
    pthread_mutex_unlock(&strict->lock);
    *buffer = (HcBuffer){0};
}

/* The host address behind device memory [address + low, address + low + bytes), which must lie in one buffer.
 */
HcStatus strict_translate_from(const Strict *strict, const void *pointer, int64_t low, size_t bytes,
                               const char *what, void **real, HcError *err) {
    uintptr_t address = (uintptr_t)pointer;
    if (address < strict_device_base) {
        return hc_fail(err, HC_E_DEVICE, "%s: a host pointer where device memory is needed", what);
    }
    uintptr_t first = address + (uintptr_t)low;
    for (const Piece *piece = strict->pieces; piece != NULL; piece = piece->next) {
        if (piece->where == HC_MEMORY_DEVICE && first >= piece->address &&
            first - piece->address <= piece->bytes && bytes <= piece->bytes - (first - piece->address)) {
            *real = (void *)((uintptr_t)(piece->real + GUARD) + (address - piece->address));
            return HC_OK;
        }
    }
    return hc_fail(err, HC_E_DEVICE, "%s: %zu bytes of device memory that is too small or released", what,
                   bytes);
}

HcStatus strict_translate(const Strict *strict, void *pointer, size_t bytes, const char *what, HcError *err) {
    void *address = NULL;
    memcpy(&address, pointer, sizeof address);
    if (address != NULL) {
        HC_OR_RETURN(strict_translate_from(strict, address, 0, bytes, what, &address, err));
    }
    memcpy(pointer, &address, sizeof address);
    return HC_OK;
}

HcStatus strict_translate_scratch(const Strict *strict, void *pointer, size_t bytes, const char *what,
                                  HcError *err) {
    void *scratch = NULL;
    HC_OR_RETURN(strict_translate(strict, pointer, bytes, what, err));
    memcpy(&scratch, pointer, sizeof scratch);
    if (scratch != NULL) {
        memset(scratch, FRESH_BYTE, bytes);
    }
    return HC_OK;
}

HcStatus strict_translate_block(const Strict *strict, HcBlock *block, const char *what, HcError *err) {
    HC_OR_RETURN(strict_translate(strict, &block->data, hc_block_values(block) * sizeof(float), what, err));
    return strict_translate(strict, &block->mask, hc_block_pixels(block), what, err);
}

/* --- handles --- */

HcStatus strict_keep(HcStatus status, HcCompute *compute, void *handle, Kept *kept, void *real,
                     void (*close)(void *real)) {
    Strict *strict = strict_of(compute);
    if (status != HC_OK) {
        free(handle);
        return status;
    }
    pthread_mutex_lock(&strict->lock);
    *kept = (Kept){.next = strict->kept, .handle = handle, .real = real, .close = close};
    strict->kept = kept;
    pthread_mutex_unlock(&strict->lock);
    return HC_OK;
}

void strict_close_kept(HcCompute *compute, Kept *kept) {
    pthread_mutex_lock(&strict_of(compute)->lock);
    kept->close(kept->real);
    kept->real = NULL;
    pthread_mutex_unlock(&strict_of(compute)->lock);
}

HcStatus strict_still_open(const Kept *kept, const char *what, HcError *err) {
    return kept->real != NULL ? HC_OK : hc_fail(err, HC_E_DEVICE, "%s closed before the work was done", what);
}

/* --- work --- */

/* Does the work of a queue up to the given number of pieces. */
static void run_until(HcQueue *queue, uint64_t ticket) {
    while (queue->done < ticket && queue->first != NULL) {
        Work *work = queue->first;
        queue->first = work->next;
        queue->last = queue->first != NULL ? queue->last : NULL;
        if (work->work == NULL) {
            run_until(work->after, work->ticket);
            if (work->after->failure.status != HC_OK && queue->failure.status == HC_OK) {
                queue->failure = work->after->failure;
            }
        } else if (queue->failure.status == HC_OK) {
            HcError err = {0};
            HcStatus status = work->fails ? hc_fail(&err, HC_E_DEVICE, "the device failed, as the test asked")
                                          : work->work(queue->strict, work->arguments, &err);
            if (status != HC_OK) {
                queue->failure = err;
            }
        }
        queue->done++;
        free(work);
    }
}

/* Puts work at the end of the queue, or what waits for another queue: `work` is NULL then. */
static HcStatus queue_work(HcQueue *queue, StrictWork *work, const void *arguments, size_t bytes,
                           HcQueue *after, HcError *err) {
    Work *added = calloc(1, sizeof *added + bytes);
    if (added == NULL) {
        return hc_fail_memory(err, (double)bytes, "queued work");
    }
    added->work = work;
    if (bytes > 0) {
        memcpy(added->arguments, arguments, bytes);
    }
    pthread_mutex_lock(&queue->strict->lock);
    if (work != NULL) {
        added->fails = atomic_fetch_add(&operations, 1) + 1 == atomic_load(&fail_at) ||
                       (asked_to_fail != NULL && asked_to_fail());
    } else {
        added->after = after;
        added->ticket = after->accepted;
    }
    if (queue->last != NULL) {
        queue->last->next = added;
    } else {
        queue->first = added;
    }
    queue->last = added;
    queue->accepted++;
    pthread_mutex_unlock(&queue->strict->lock);
    return HC_OK;
}

HcStatus strict_accept(HcQueue *queue, StrictWork *work, const void *arguments, size_t bytes, HcError *err) {
    return queue_work(queue, work, arguments, bytes, NULL, err);
}

/* --- queues and copies --- */

HcStatus strict_wait(HcQueue *queue, HcError *err) {
    Strict *strict = queue->strict;
    pthread_mutex_lock(&strict->lock);
    run_until(queue, queue->accepted);
    HcError failure = queue->failure;
    queue->failure = (HcError){0};
    for (Piece *piece = strict->pieces; piece != NULL; piece = piece->next) {
        note_overrun(piece);
        if (piece->overrun && failure.status == HC_OK) {
            (void)hc_fail(&failure, HC_E_DEVICE, "a buffer of %zu bytes was written beyond its ends",
                          piece->bytes);
        }
    }
    pthread_mutex_unlock(&strict->lock);
    return failure.status == HC_OK ? HC_OK : hc_fail(err, failure.status, "%s", failure.text);
}

static HcStatus strict_follow(HcQueue *queue, HcQueue *after, HcError *err) {
    return queue == after ? HC_OK : queue_work(queue, NULL, NULL, 0, after, err);
}

typedef struct Copy {
    const void *from;
    void *to;
    size_t bytes;
} Copy;

static HcStatus check_host(const void *host, const char *what, HcError *err) {
    return (uintptr_t)host < strict_device_base
               ? HC_OK
               : hc_fail(err, HC_E_DEVICE, "%s: a device pointer where host memory is needed", what);
}

static HcStatus do_upload(const Strict *strict, void *arguments, HcError *err) {
    Copy *work = arguments;
    HC_OR_RETURN(strict_translate(strict, &work->to, work->bytes, "upload", err));
    HC_OR_RETURN(check_host(work->from, "upload", err));
    memcpy(work->to, work->from, work->bytes);
    atomic_fetch_add(&uploaded, (long long)work->bytes);
    return HC_OK;
}

static HcStatus strict_upload(HcQueue *queue, const void *from, void *to, size_t bytes, HcError *err) {
    Copy work = {from, to, bytes};
    return strict_accept(queue, do_upload, &work, sizeof work, err);
}

static HcStatus do_download(const Strict *strict, void *arguments, HcError *err) {
    Copy *work = arguments;
    HC_OR_RETURN(strict_translate(strict, &work->from, work->bytes, "download", err));
    HC_OR_RETURN(check_host(work->to, "download", err));
    memcpy(work->to, work->from, work->bytes);
    return HC_OK;
}

static HcStatus strict_download(HcQueue *queue, const void *from, void *to, size_t bytes, HcError *err) {
    Copy work = {from, to, bytes};
    return strict_accept(queue, do_download, &work, sizeof work, err);
}

static HcStatus do_zero(const Strict *strict, void *arguments, HcError *err) {
    Copy *work = arguments;
    HC_OR_RETURN(strict_translate(strict, &work->to, work->bytes, "zero", err));
    memset(work->to, 0, work->bytes);
    return HC_OK;
}

static HcStatus strict_zero(HcQueue *queue, void *at, size_t bytes, HcError *err) {
    Copy work = {NULL, at, bytes};
    return strict_accept(queue, do_zero, &work, sizeof work, err);
}

static void strict_share(HcCompute *compute, int64_t count, HcWork *work, void *user) {
    hc_share(strict_of(compute)->cpu, count, work, user);
}

/* --- opening and closing --- */

static HcStatus strict_queue_open(HcCompute *compute, HcQueue **out, HcError *err) {
    Strict *strict = strict_of(compute);
    HcQueue *queue = calloc(1, sizeof *queue);
    *out = queue;
    if (queue == NULL) {
        return hc_fail_memory(err, sizeof *queue, "a strict queue");
    }
    queue->strict = strict;
    queue->open = true;
    pthread_mutex_lock(&strict->lock);
    queue->next = strict->queues;
    strict->queues = queue;
    pthread_mutex_unlock(&strict->lock);
    return HC_OK;
}

/* As on a device, work that was accepted is still done. */
static void strict_queue_close(HcQueue *queue) {
    if (queue == NULL) {
        return;
    }
    pthread_mutex_lock(&queue->strict->lock);
    run_until(queue, queue->accepted);
    queue->open = false;
    pthread_mutex_unlock(&queue->strict->lock);
}

static void close_all(Strict *strict) {
    for (HcQueue *queue = strict->queues, *next; queue != NULL; queue = next) {
        next = queue->next;
        atomic_fetch_add(&leaks, queue->open ? 1 : 0);
        for (Work *work = queue->first, *after; work != NULL; work = after) {
            after = work->next;
            free(work);
        }
        free(queue);
    }
    for (Kept *kept = strict->kept, *next; kept != NULL; kept = next) {
        next = kept->next;
        if (kept->real != NULL) {
            atomic_fetch_add(&leaks, 1);
            kept->close(kept->real);
        }
        free(kept->handle);
    }
    for (Piece *piece = strict->pieces, *next; piece != NULL; piece = next) {
        next = piece->next;
        atomic_fetch_add(&leaks, 1);
        free_piece(piece);
    }
}

static void strict_close(HcCompute *compute) {
    Strict *strict = strict_of(compute);
    if (strict == NULL) {
        return;
    }
    close_all(strict);
    if (strict->cpu != NULL) {
        hc_queue_close(strict->cpu_queue);
        hc_compute_close(strict->cpu);
    }
    pthread_mutex_destroy(&strict->lock);
    free(strict);
}

static HcStatus strict_open(HcCompute **out, const HcComputeConfig *config, HcError *err) {
    HcStatus status = HC_OK;
    *out = NULL;
    Strict *strict = calloc(1, sizeof *strict);
    if (strict == NULL) {
        return hc_fail_memory(err, sizeof *strict, "the strict backend");
    }
    pthread_mutex_init(&strict->lock, NULL);
    strict->next_address = strict_device_base;
    strict->memory = config->memory;
    HC_TRY(hc_compute_open(hc_cpu_ops(), config, &strict->cpu, err));
    HC_TRY(hc_queue_open(strict->cpu, &strict->cpu_queue, err));
    *out = &strict->base;
done:
    if (status != HC_OK) {
        strict_close(&strict->base);
    }
    return status;
}

static void strict_info(const HcCompute *compute, HcComputeInfo *out) {
    const Strict *strict = (const Strict *)compute;
    hc_compute_info(strict->cpu, out);
    snprintf(out->name, sizeof out->name, "strict test device, %d threads", out->threads);
    out->shared_memory = false;
    out->sums_bytes = NULL;
    out->limit_threads = NULL;
    out->slots = 3;
    out->reserve = RESERVE;
    uint64_t limit = memory_limit(strict);
    if (limit > 0) {
        out->memory_total = limit;
        const uint64_t taken = strict->taken;
        out->memory_free = taken < limit ? limit - taken : 0;
    }
}

#define ENTRY(name, Function) .name = hc_strict_##name,
static const HcComputeOps strict_ops = {.abi = HC_COMPUTE_ABI,
                                        .name = "strict",
                                        .open = strict_open,
                                        .close = strict_close,
                                        .info = strict_info,
                                        .alloc = strict_alloc,
                                        .release = strict_release,
                                        .queue_open = strict_queue_open,
                                        .queue_close = strict_queue_close,
                                        .follow = strict_follow,
                                        .wait = strict_wait,
                                        .upload = strict_upload,
                                        .download = strict_download,
                                        .zero = strict_zero,
                                        .share = strict_share,
                                        HC_OPERATIONS(ENTRY)};

const HcComputeOps *hc_strict_ops(void) {
    return &strict_ops;
}

void hc_strict_fail_at(int64_t n) {
    atomic_store(&operations, 0);
    atomic_store(&fail_at, n);
}

void hc_strict_fail_when(bool (*ask)(void)) {
    asked_to_fail = ask;
}

int64_t hc_strict_operations(void) {
    return atomic_load(&operations);
}

void hc_strict_memory(uint64_t bytes) {
    atomic_store(&device_memory, bytes);
}

int64_t hc_strict_uploaded(void) {
    return atomic_load(&uploaded);
}

int64_t hc_strict_leaks(void) {
    return atomic_load(&leaks);
}

int64_t hc_strict_overruns(void) {
    return atomic_load(&overruns);
}
