/* How the threads of a team share the steps of an eigenproblem. */
#include "cpu/eigh/eigh.h"

#include <sched.h>

/* How often a thread that waits looks before it lets others have its processor. */
enum { LOOKS = 2000 };

void hc_cpu_wait(const int32_t *done, int32_t count) {
    for (int looks = 0; __atomic_load_n(done, __ATOMIC_ACQUIRE) < count; looks++) {
        if (looks >= LOOKS) {
            sched_yield();
        }
    }
}

void hc_cpu_share(HcShare *share, int32_t pieces, void (*compute)(void *what, int32_t piece), void *what) {
    int32_t piece;
    while ((piece = __atomic_fetch_add(&share->next, 1, __ATOMIC_RELAXED)) < pieces) {
        compute(what, piece);
        __atomic_fetch_add(&share->done, 1, __ATOMIC_ACQ_REL);
    }
    hc_cpu_wait(&share->done, pieces);
}

typedef struct Team {
    void (*steps)(void *what);
    void *what;
} Team;

static void join(void *user, int64_t member, int64_t end, int32_t thread) {
    const Team *team = user;
    (void)thread;
    for (; member < end; member++) {
        team->steps(team->what);
    }
}

void hc_cpu_team(const HcCpu *cpu, int threads, void (*steps)(void *what), void *what) {
    Team team = {steps, what};
    hc_cpu_work(cpu, threads, 1, join, &team);
}
