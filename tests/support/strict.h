/* A backend for tests that runs on the CPU and behaves like a device, so that code which mixes up host and
 * device fails on machines without one:
 *  - device pointers point nowhere for the host; operations refuse host pointers, released and too small
 * memory;
 *  - fresh memory holds NaN, released memory is poisoned, writes beyond the end are noticed;
 *  - memory that an operation only works in is poisoned before each of them;
 *  - work is done late, in wait() or when another queue that follows is waited for, and fails only there. */
#ifndef HC_TESTS_SUPPORT_STRICT_H
#define HC_TESTS_SUPPORT_STRICT_H

#include "core/compute.h"

const HcComputeOps *hc_strict_ops(void);

/* The n-th operation accepted from now on (1 = the next, over all strict backends) fails with HC_E_DEVICE at
 * the wait after it; 0 = none. The next call of hc_strict_fail_at() starts the count again. */
void hc_strict_fail_at(int64_t n);

/* From now on an accepted operation fails as above where `ask` returns true; NULL = none is asked. Set before
 * a backend is opened. */
void hc_strict_fail_when(bool (*ask)(void));

/* Operations accepted since the last hc_strict_fail_at(). */
int64_t hc_strict_operations(void);

/* Device memory that each strict backend has from now on, at most [bytes]: more fails with HC_E_MEMORY; 0 =
 * no limit. The memory that a backend is opened with limits it too. */
void hc_strict_memory(uint64_t bytes);

/* Bytes uploaded since the program started, by work that is done. */
int64_t hc_strict_uploaded(void);

/* Buffers, queues, sums and training spectra that were still open when their backend was closed, since the
 * program started. */
int64_t hc_strict_leaks(void);

/* Buffers that were written beyond their ends, since the program started. */
int64_t hc_strict_overruns(void);

#endif
