/* What the files of the CPU backend share. */
#ifndef HC_CPU_INTERNAL_H
#define HC_CPU_INTERNAL_H

#include "core/compute.h"
#include "core/solver/clones.h"
#include "core/system/team.h"
#include "cpu/cpu.h"

typedef struct HcCpu {
    HcCompute base; /* first: an HcCompute is one of these */
    HcTeam *team;   /* NULL = the caller alone */
    int threads;    /* of the team, the caller's included */
    HcCpuGram gram;
} HcCpu;

struct HcQueue {
    HcHead head;
    HcCpu *cpu; /* work is done at once: a queue holds nothing */
};

/* Threads that BLAS and LAPACK may use in calls from the calling thread, and, where OpenBLAS has threads of
 * its own, from any. */
void hc_cpu_blas_threads(int threads);

/* Keeps BLAS and LAPACK on the calling thread, so that their bits cannot depend on the number of threads. For
 * every operation that uses them; hc_cpu_work does it for the threads of its team. */
void hc_cpu_blas_alone(void);

/* The same, first of all. False: memory is too short to choose the kernels of this processor. */
bool hc_cpu_blas_begin(void);

/* How many of the threads may call BLAS at the same time. Each of them needs a buffer of 128 MiB of
 * address space, which OpenBLAS keeps; where a limit (ulimit -v) leaves less, it tries for ever. So it takes
 * them here, as far as there is room: 0 = there is none. Without a limit nothing is taken. */
int32_t hc_cpu_blas_reserve(int32_t threads);

/* The values and the mask of one line of the scene; NULL where the block does not have it. */
static inline const float *hc_cpu_line(const HcBlock *block, int64_t line) {
    int64_t row = line - hc_block_first_line(block);
    return row < 0 || row >= hc_block_rows(block)
               ? NULL
               : block->data + row * block->samples * (int64_t)block->bands;
}

static inline const uint8_t *hc_cpu_mask_line(const HcBlock *block, int64_t line) {
    int64_t row = line - hc_block_first_line(block);
    return row < 0 || row >= hc_block_rows(block) ? NULL : block->mask + row * block->samples;
}

/* Pixels that are worked on at once, at most. */
enum { HC_CPU_RUN = 64 };

/* How many pixels from `sample` on are marked, HC_CPU_RUN at most. */
static inline int32_t hc_cpu_run(const uint8_t *marked, int32_t sample, int32_t samples) {
    int32_t end = samples - sample < HC_CPU_RUN ? samples : sample + HC_CPU_RUN;
    int32_t s = sample;
    while (s < end && marked[s] != 0) {
        s++;
    }
    return s - sample;
}

#endif
