/* Workers: threads that share out the work of one call, and are kept from call to call. */
#ifndef HC_IO_WORKERS_H
#define HC_IO_WORKERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HC_WORKERS_MAX 16

typedef struct HcWorkers HcWorkers;

/* One item of the work, 0 to count-1; items are begun in that order, on any thread. */
typedef void HcWork(void *user, int64_t item);

/* Threads that are worth having, the caller's own included: `wanted`, or (0) one for each processor that this
 * process may use; at most HC_WORKERS_MAX. */
int32_t hc_workers_count(int32_t wanted);

/* `threads` counts the caller's. NULL where one is enough or none can be had: then the caller does all. */
HcWorkers *hc_workers_open(int32_t threads);
void hc_workers_close(HcWorkers *workers);

/* Does all items and returns when all are done. One call at a time; workers may be NULL. */
void hc_workers_run(HcWorkers *workers, int64_t count, HcWork *work, void *user);

#ifdef __cplusplus
}
#endif
#endif
