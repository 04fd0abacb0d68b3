/* What the files of the strict backend share: its memory, its queues, and handles whose real ones the CPU
 * backend has. */
#ifndef HC_TESTS_SUPPORT_STRICT_PARTS_H
#define HC_TESTS_SUPPORT_STRICT_PARTS_H

#include "core/operation/table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct Piece Piece;

/* A handle (sums, training spectra, ...). Each struct has one of these behind its head. */
typedef struct Kept {
    struct Kept *next;
    void *handle; /* the whole struct */
    void *real;   /* of the CPU backend; NULL when closed */
    void (*close)(void *real);
} Kept;

typedef struct Strict {
    HcCompute base;
    HcCompute *cpu;
    HcQueue *cpu_queue;
    pthread_mutex_t lock; /* around everything: a device has one order of events too */
    Piece *pieces;
    HcQueue *queues; /* closed ones stay until the end: others may follow them */
    Kept *kept;      /* so do closed handles: late work may need them */
    uintptr_t next_address;
    uint64_t memory;     /* as it was opened with, 0 = no limit [bytes] */
    atomic_ullong taken; /* device memory that is given out [bytes] */
} Strict;

/* Device addresses start here, where no host address is; they are never given out twice. */
static const uintptr_t strict_device_base = (uintptr_t)1 << 60;

/* The host address behind device memory [pointer + low, pointer + low + bytes), which must lie in one buffer.
 */
HcStatus strict_translate_from(const Strict *strict, const void *pointer, int64_t low, size_t bytes,
                               const char *what, void **real, HcError *err) HC_MUST_CHECK;
/* pointer: the address of a pointer to device memory, which becomes the host address. NULL stays NULL. */
HcStatus strict_translate(const Strict *strict, void *pointer, size_t bytes, const char *what,
                          HcError *err) HC_MUST_CHECK;
/* The same for memory that the operation only works in: what lay there is gone. */
HcStatus strict_translate_scratch(const Strict *strict, void *pointer, size_t bytes, const char *what,
                                  HcError *err) HC_MUST_CHECK;
HcStatus strict_translate_block(const Strict *strict, HcBlock *block, const char *what,
                                HcError *err) HC_MUST_CHECK;

/* Work that is done late: translates the pointers in its arguments and calls the door for the CPU backend. */
typedef HcStatus StrictWork(const Strict *strict, void *arguments, HcError *err);

/* Puts work into the queue, with a copy of its arguments. */
HcStatus strict_accept(HcQueue *queue, StrictWork *work, const void *arguments, size_t bytes,
                       HcError *err) HC_MUST_CHECK;

/* Ends the opening of a handle. status: of opening the real one; where it failed, the handle is freed. */
HcStatus strict_keep(HcStatus status, HcCompute *compute, void *handle, Kept *kept, void *real,
                     void (*close)(void *real)) HC_MUST_CHECK;
void strict_close_kept(HcCompute *compute, Kept *kept);
/* Late work needs handles that are still open. */
HcStatus strict_still_open(const Kept *kept, const char *what, HcError *err) HC_MUST_CHECK;

HcStatus strict_wait(HcQueue *queue, HcError *err) HC_MUST_CHECK;

/* For what an opening call is given: nothing of it is queued, so it takes the lock itself. */
HcStatus strict_translate_at_once(Strict *strict, void *pointer, size_t bytes, const char *what,
                                  HcError *err) HC_MUST_CHECK;

typedef struct StrictDecode {
    HcRaw raw;
    HcDecode how;
    HcBlock out;
} StrictDecode;

HcStatus strict_translate_decode(const Strict *strict, StrictDecode *work, HcError *err) HC_MUST_CHECK;

/* Two blocks, the number of a variant (HcFilter, HcDifference, HcReduction) and arrays. */
typedef struct StrictPair {
    HcBlock in, out;
    int variant;
    const int32_t *index;
    const double *matrix, *in_offset, *out_offset;
} StrictPair;

HcStatus strict_translate_pair(const Strict *strict, StrictPair *work, HcError *err) HC_MUST_CHECK;

/* Counts of a handle, which must still lie where they were when it was opened. */
typedef struct StrictCounts {
    const void *given;  /* [device] by the caller; NULL = none */
    const void *really; /* where they lie */
    size_t bytes;
} StrictCounts;

/* Two blocks and a handle. */
typedef struct StrictSolve {
    StrictPair pair;
    const Kept *kept;
    StrictCounts counts;
} StrictSolve;

HcStatus strict_translate_solve(const Strict *strict, StrictSolve *work, const char *what,
                                HcError *err) HC_MUST_CHECK;

/* A whole operation from block to block, without other arguments: STRICT_BLOCKS(name). */
#define STRICT_BLOCKS(name)                                                                                  \
    static HcStatus do_##name(const Strict *strict, void *arguments, HcError *err) {                         \
        StrictPair *work = arguments;                                                                        \
        HC_OR_RETURN(strict_translate_pair(strict, work, err));                                              \
        return hc_##name(strict->cpu_queue, &work->in, &work->out, err);                                     \
    }                                                                                                        \
    HcStatus hc_strict_##name(HcQueue *queue, const HcBlock *in, const HcBlock *out, HcError *err) {         \
        StrictPair work = {.in = *in, .out = *out};                                                          \
        return strict_accept(queue, do_##name, &work, sizeof work, err);                                     \
    }

/* One of several kinds between the blocks: STRICT_KINDS(filter, HcFilter). */
#define STRICT_KINDS(name, Kind)                                                                             \
    static HcStatus do_##name(const Strict *strict, void *arguments, HcError *err) {                         \
        StrictPair *work = arguments;                                                                        \
        HC_OR_RETURN(strict_translate_pair(strict, work, err));                                              \
        return hc_##name(strict->cpu_queue, &work->in, (Kind)work->variant, &work->out, err);                \
    }                                                                                                        \
    HcStatus hc_strict_##name(HcQueue *queue, const HcBlock *in, Kind kind, const HcBlock *out,              \
                              HcError *err) {                                                                \
        StrictPair work = {.in = *in, .variant = (int)kind, .out = *out};                                    \
        return strict_accept(queue, do_##name, &work, sizeof work, err);                                     \
    }

/* The struct of a handle, with fields of its own, and its closing entry: STRICT_HANDLE(HcSvd, HcSvdHead,
 * svd). */
#define STRICT_HANDLE(Type, Head, name, ...)                                                                 \
    struct Type {                                                                                            \
        Head head;                                                                                           \
        Kept kept;                                                                                           \
        __VA_ARGS__                                                                                          \
    };                                                                                                       \
    static void close_##name(void *real) {                                                                   \
        hc_##name##_close(real);                                                                             \
    }                                                                                                        \
    void hc_strict_##name##_close(Type *handle) {                                                            \
        strict_close_kept(handle->head.head.compute, &handle->kept);                                         \
    }

/* In the opening entry: `call` opens the real handle into `real`; *out is the strict one. */
#define STRICT_OPEN(Type, name, call)                                                                        \
    do {                                                                                                     \
        Type *real = NULL;                                                                                   \
        Type *handle = calloc(1, sizeof *handle);                                                            \
        if (handle == NULL) {                                                                                \
            return hc_fail_memory(err, sizeof *handle, "strict " #name);                                     \
        }                                                                                                    \
        HcStatus opened = call;                                                                              \
        HC_OR_RETURN(strict_keep(opened, compute, handle, &handle->kept, real, close_##name));               \
        *out = handle;                                                                                       \
    } while (0)

#define STRICT_DECLARE(name, Function) Function hc_strict_##name;
HC_OPERATIONS(STRICT_DECLARE)

static inline Strict *strict_of(HcCompute *compute) {
    return (Strict *)compute;
}

#endif
