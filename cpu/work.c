#include "cpu/work.h"

typedef struct Shared {
    HcCpuWork *work;
    void *user;
    int64_t count, grain;
} Shared;

static void do_piece(void *user, int64_t piece, int32_t thread) {
    const Shared *shared = user;
    if (thread > 0) {
        hc_cpu_blas_alone(); /* the caller decides for its own thread */
    }
    int64_t first = piece * shared->grain;
    shared->work(shared->user, first, hc_min64(first + shared->grain, shared->count), thread);
}

void hc_cpu_work(const HcCpu *cpu, int64_t count, int64_t grain, HcCpuWork *work, void *user) {
    Shared shared = {work, user, count, grain};
    int64_t pieces = (count + grain - 1) / grain;
    if (cpu->team != NULL && pieces > 1) {
        hc_team_run(cpu->team, pieces, do_piece, &shared);
    } else if (count > 0) {
        work(user, 0, count, 0);
    }
}
