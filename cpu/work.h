/* Sharing the items of an operation among the threads of the backend. */
#ifndef HC_CPU_WORK_H
#define HC_CPU_WORK_H

#include "core/system/team.h"
#include "cpu/internal.h"

/* Does items first to end-1. `thread`, 0 to cpu->threads-1, is another one for each thread of the call. */
typedef void HcCpuWork(void *user, int64_t first, int64_t end, int32_t thread);

/* Does items 0 to count-1, `grain` (1 or more) at once: pieces are begun in order, by the thread that is
 * free. A single piece stays on the calling thread. BLAS is alone on all other threads. */
void hc_cpu_work(const HcCpu *cpu, int64_t count, int64_t grain, HcCpuWork *work, void *user);

/* For items that cost the same: some pieces for each thread, so that one that is late delays no other. */
static inline int64_t hc_cpu_grain(const HcCpu *cpu, int64_t count) {
    const int64_t pieces = 4 * (int64_t)cpu->threads;
    return cpu->threads == 1 ? hc_max64(1, count) : (count + pieces - 1) / pieces + (count <= 0);
}

/* For items that pass over `values` values together, of which `least` are worth waking a thread: one piece
 * for each thread that is, and some where all are. */
static inline int64_t hc_cpu_grain_worth(const HcCpu *cpu, int64_t count, int64_t values, int64_t least) {
    int64_t worth = values / least + 1;
    return worth >= cpu->threads ? hc_cpu_grain(cpu, count) : (count + worth - 1) / worth + (count <= 0);
}

#endif
