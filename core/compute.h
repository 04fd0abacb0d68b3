/* An open backend, its memory and its queues: what every user of operations needs.
 *
 * A backend (cpu/, gpu/, and the strict one of the tests) fills a table of functions, HcComputeOps. Callers
 * do not see the table. They call a door, `hc_NAME()`: it checks the arguments, once for all backends, and
 * calls the function of the backend that owns the queue. This header has the doors for memory and queues;
 * each operation has a header in core/operation/.
 *
 * What holds for all operations:
 *  - Work is queued. A door returns once the work is accepted. A failure of the device may show only at the
 * next hc_wait() of that queue.
 *  - A door copies the structs that it is given. The memory that they point to stays the caller's and must
 * stay until hc_wait().
 *  - Pointers marked [device] lie in HC_MEMORY_DEVICE of this backend, all others on the host.
 *  - Outputs never overlap inputs. Rows are matched by their line of the scene, so that an output may have a
 * smaller halo than its input. Every row of the output is written, data and mask; a masked pixel is 0 in
 * every band.
 *  - A door checks shapes and NULL in every build and returns HC_E_USAGE. Every close and release takes NULL.
 */
#ifndef HC_CORE_COMPUTE_H
#define HC_CORE_COMPUTE_H

#include "core/block.h"
#include "core/system/team.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The functions of a backend (core/operation/table.h). */
typedef struct HcComputeOps HcComputeOps;

/* An open backend. Backends put this first in their own struct; hc_compute_open() fills it. */
typedef struct HcCompute {
    const HcComputeOps *ops;
} HcCompute;

/* What every handle of a backend begins with: queue, sums, training spectra, ... The door that opens the
 * handle fills it, the backend leaves it alone. Some operations have a longer one (HcSumsHead), with what
 * their door must know. */
typedef struct HcHead {
    HcCompute *compute;
} HcHead;

/* Work in order; opaque. Begins with an HcHead. */
typedef struct HcQueue HcQueue;

typedef struct HcComputeConfig {
    int32_t threads; /* 0 = as many as there are processors */
    int32_t device;  /* number of the device, from 0 */
    uint64_t memory; /* most device memory to use [bytes], 0 = what is free */
    /* The backend of the host. A device backend hands operations on host memory (eigh) to it, so that their
     * bits are the same on both. Devices need it, the host does not. */
    const HcComputeOps *host;
    /* For tests: memory that operations only work in is filled with NaN before each of them. */
    bool poison;
} HcComputeConfig;

/* What a device can do at most, from its data sheet or its attributes; 0 = not known. A multiplication and an
 * addition are two operations. */
typedef struct HcRates {
    double memory;  /* device memory [bytes/s], reads and writes together */
    double float32; /* [operations/s] */
    double float64;
    double int8; /* matrix products of 8-bit integers */
} HcRates;

typedef struct HcComputeInfo {
    char name[128];  /* "Intel Xeon ..., 2 threads" */
    char driver[64]; /* "CUDA 13.0, driver 13.0"; empty where there is none */
    int32_t threads;
    bool shared_memory;    /* device memory is host memory: nothing needs to be copied */
    int32_t slots;         /* blocks worth having in flight at once, each with its own queue */
    size_t block_bytes;    /* of a float32 block worth its overhead */
    uint64_t memory_total; /* of the device [bytes], 0 = not known */
    uint64_t memory_free;
    uint64_t reserve;  /* device memory that the backend may still take for itself, beside buffers [bytes] */
    int32_t clock_mhz; /* highest clock of the device, 0 = not known */
    HcRates rates;
    /* Host memory that sums of products take beside their moments, with that many threads and for any values
     * [bytes]; on_grid: those of floats. NULL = none. */
    size_t (*sums_bytes)(int32_t bands, bool on_grid, int32_t threads);
    /* Sets the maximum number of threads of the host from now on. NULL = none. */
    void (*limit_threads)(HcCompute *compute, int32_t threads);
} HcComputeInfo;

typedef HcStatus HcComputeOpenFn(HcCompute **out, const HcComputeConfig *config, HcError *err);
typedef void HcComputeCloseFn(HcCompute *compute);
typedef void HcComputeInfoFn(const HcCompute *compute, HcComputeInfo *out);

/* Opens the backend of that table. Refuses a table of another version or with an empty entry, and names the
 * entry. */
HcStatus hc_compute_open(const HcComputeOps *ops, const HcComputeConfig *config, HcCompute **out,
                         HcError *err) HC_MUST_CHECK;
HcComputeCloseFn hc_compute_close;
HcComputeInfoFn hc_compute_info;
/* The version of the tables that this program understands; a module with another one is refused. */
uint32_t hc_compute_abi(void);
/* "cpu", "strict" or "gpu". */
const char *hc_compute_name(const HcComputeOps *ops);

typedef HcStatus HcAllocFn(HcCompute *compute, HcMemory where, size_t bytes, HcBuffer *out, HcError *err);
typedef void HcReleaseFn(HcCompute *compute, HcBuffer *buffer); /* zeroes *buffer */
HcAllocFn hc_alloc HC_MUST_CHECK;
HcReleaseFn hc_release;

typedef HcStatus HcQueueOpenFn(HcCompute *compute, HcQueue **out, HcError *err);
typedef void HcQueueCloseFn(HcQueue *queue);
HcQueueOpenFn hc_queue_open HC_MUST_CHECK;
HcQueueCloseFn hc_queue_close;

/* Later work of `queue` starts after all that `after` has accepted so far. */
typedef HcStatus HcFollowFn(HcQueue *queue, HcQueue *after, HcError *err);
HcFollowFn hc_follow HC_MUST_CHECK;

/* Returns when the queue is empty; reports the first failure of its work. */
typedef HcStatus HcWaitFn(HcQueue *queue, HcError *err);
HcWaitFn hc_wait HC_MUST_CHECK;

/* upload: from the host to [device]. download: from [device] to the host. Nothing happens for 0 bytes. */
typedef HcStatus HcCopyFn(HcQueue *queue, const void *from, void *to, size_t bytes, HcError *err);
HcCopyFn hc_upload HC_MUST_CHECK;
HcCopyFn hc_download HC_MUST_CHECK;

/* Does items 0 to count - 1 on the threads of the host, begun in that order, and returns when all are done.
 * It is for work on host memory that is no operation, and waits for no queue. With NULL this thread does all
 * items. */
typedef void HcShareFn(HcCompute *compute, int64_t count, HcWork *work, void *user);
HcShareFn hc_share;

typedef HcStatus HcZeroFn(HcQueue *queue, void *at /* [device] */, size_t bytes, HcError *err);
HcZeroFn hc_zero HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
