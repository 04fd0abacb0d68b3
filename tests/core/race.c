/* A data race put in by hand, in the items of a team: a build with ThreadSanitizer must report it. */
#include "core/system/team.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

typedef struct Race {
    int64_t sum; /* as it must not be: every thread adds to it */
    atomic_int threads;
} Race;

/* Waits for a second thread, so that there are two. */
static void add(void *user, int64_t item, int32_t thread) {
    Race *race = user;
    atomic_fetch_or(&race->threads, thread > 0 ? 2 : 1);
    while (atomic_load(&race->threads) != 3) {
        sched_yield();
    }
    race->sum += item;
}

int main(void) {
    Race race = {0};
    HcTeam *team = hc_team_open(2);
    hc_team_run(team, 1000, add, &race);
    hc_team_close(team);
    printf("sum %lld of 499500\n", (long long)race.sum);
    return 0;
}
