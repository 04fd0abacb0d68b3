/* A call lies on the stack of the thread that makes it, in a list that the team looks through. A thread that
 * takes items of a call counts itself in and out under the lock. The caller takes the call off the list when
 * it finds no item left, and returns when no thread is inside. Nothing is allocated for a call, so that it
 * cannot fail. */
#include "core/system/team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* Looks for new work before a thread goes to sleep, some 20 us: calls often follow each other, and to wake a
 * sleeping processor takes longer than many of them. Only where there are processors to spare. */
#define LOOKS            400
#define SPARE_PROCESSORS 4

typedef struct Call Call;
struct Call {
    HcWork *work;
    void *user;
    int64_t count;
    atomic_llong next; /* item */
    atomic_int inside; /* threads that take items; grows under the lock only */
    pthread_cond_t left;
    Call *after; /* in the list */
};

struct HcTeam {
    pthread_t *thread; /* [threads] that run, besides the callers */
    int32_t threads;
    int32_t taking;   /* of these, the first that take items */
    int32_t numbered; /* threads that know their number */
    int looks;
    pthread_mutex_t lock;
    pthread_cond_t begun;
    Call *calls;        /* oldest first */
    atomic_ulong begin; /* calls so far */
    bool stop;
};

/* Whether this thread does an item just now. Its place is reserved when a module with this code is loaded:
 * else the loader takes memory at the first use, and ends the program where there is none. */
static _Thread_local bool within_item __attribute__((tls_model("initial-exec")));

static int32_t processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        return CPU_COUNT(&set);
    }
    return (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
}

int32_t hc_team_count(int32_t wanted, int32_t most) {
    int32_t count = wanted > 0 ? wanted : processors();
    count = wanted <= 0 && count > most ? most : count;
    return count < 1 ? 1 : count;
}

static inline void pause_shortly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void take_items(Call *call, int32_t thread) {
    within_item = true;
    for (;;) {
        int64_t item = atomic_fetch_add_explicit(&call->next, 1, memory_order_relaxed);
        if (item >= call->count) {
            break;
        }
        call->work(call->user, item, thread);
    }
    within_item = false;
}

/* The oldest call with an item left, or NULL; under the lock. */
static Call *find_call(const HcTeam *team) {
    Call *call = team->calls;
    while (call != NULL && atomic_load_explicit(&call->next, memory_order_relaxed) >= call->count) {
        call = call->after;
    }
    return call;
}

/* Helps one call; the lock is held before and after. After the unlock that ends it the call may be gone. */
static void help(HcTeam *team, Call *call, int32_t thread) {
    atomic_fetch_add(&call->inside, 1);
    pthread_mutex_unlock(&team->lock);
    take_items(call, thread);
    pthread_mutex_lock(&team->lock);
    if (atomic_fetch_sub(&call->inside, 1) == 1) {
        pthread_cond_signal(&call->left);
    }
}

static void *work_along(void *argument) {
    HcTeam *team = argument;
    pthread_mutex_lock(&team->lock);
    int32_t number = ++team->numbered;
    while (!team->stop) {
        Call *call = number <= team->taking ? find_call(team) : NULL;
        if (call != NULL) {
            help(team, call, number);
            continue;
        }
        unsigned long seen = atomic_load(&team->begin);
        if (team->looks > 0 && number <= team->taking) {
            pthread_mutex_unlock(&team->lock);
            for (int look = 0; look < team->looks && atomic_load(&team->begin) == seen; look++) {
                pause_shortly();
            }
            pthread_mutex_lock(&team->lock);
        }
        if (!team->stop && atomic_load(&team->begin) == seen) {
            pthread_cond_wait(&team->begun, &team->lock);
        }
    }
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

HcTeam *hc_team_open(int32_t threads) {
    HcTeam *team = threads > 1 ? calloc(1, sizeof *team) : NULL;
    if (team == NULL || (team->thread = calloc((size_t)threads, sizeof *team->thread)) == NULL) {
        free(team);
        return NULL;
    }
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->begun, NULL);
    team->looks = processors() >= SPARE_PROCESSORS ? LOOKS : 0;
    pthread_mutex_lock(&team->lock); /* the first threads read what is settled after the last one */
    for (int32_t t = 1; t < threads; t++) {
        if (pthread_create(&team->thread[team->threads], NULL, work_along, team) != 0) {
            break; /* fewer do as well */
        }
        team->threads++;
    }
    team->taking = team->threads;
    pthread_mutex_unlock(&team->lock);
    return team;
}

int32_t hc_team_threads(const HcTeam *team) {
    return team == NULL ? 1 : team->taking + 1;
}

void hc_team_limit(HcTeam *team, int32_t threads) {
    if (team != NULL && threads <= team->taking) {
        pthread_mutex_lock(&team->lock);
        team->taking = threads > 1 ? threads - 1 : 0;
        pthread_mutex_unlock(&team->lock);
    }
}

void hc_team_close(HcTeam *team) {
    if (team == NULL) {
        return;
    }
    pthread_mutex_lock(&team->lock);
    team->stop = true;
    atomic_fetch_add(&team->begin, 1); /* ends the looks */
    pthread_cond_broadcast(&team->begun);
    pthread_mutex_unlock(&team->lock);
    for (int32_t t = 0; t < team->threads; t++) {
        pthread_join(team->thread[t], NULL);
    }
    pthread_cond_destroy(&team->begun);
    pthread_mutex_destroy(&team->lock);
    free(team->thread);
    free(team);
}

static void begin_call(HcTeam *team, Call *call) {
    pthread_mutex_lock(&team->lock);
    Call **last = &team->calls;
    while (*last != NULL) {
        last = &(*last)->after;
    }
    *last = call;
    atomic_fetch_add(&team->begin, 1);
    pthread_mutex_unlock(&team->lock);
    int64_t wanted = call->count - 1;
    /* A signal may wake a thread that takes no items. */
    bool all = wanted >= team->threads || team->taking < team->threads;
    if (all) {
        pthread_cond_broadcast(&team->begun);
    }
    for (int64_t t = 0; t < wanted && !all; t++) {
        pthread_cond_signal(&team->begun);
    }
}

/* Lets no more threads in, and waits for those that are inside; most often they leave at once. */
static void end_call(HcTeam *team, Call *call) {
    pthread_mutex_lock(&team->lock);
    Call **link = &team->calls;
    while (*link != call) {
        link = &(*link)->after;
    }
    *link = call->after;
    pthread_mutex_unlock(&team->lock);
    for (int look = 0; look < team->looks && atomic_load(&call->inside) > 0; look++) {
        pause_shortly();
    }
    pthread_mutex_lock(&team->lock);
    while (atomic_load(&call->inside) > 0) {
        pthread_cond_wait(&call->left, &team->lock);
    }
    pthread_mutex_unlock(&team->lock);
}

void hc_team_run(HcTeam *team, int64_t count, HcWork *work, void *user) {
    if (team == NULL || team->taking == 0 || count < 2 || within_item) {
        for (int64_t item = 0; item < count; item++) {
            work(user, item, 0);
        }
        return;
    }
    Call call = {.work = work, .user = user, .count = count, .left = PTHREAD_COND_INITIALIZER};
    begin_call(team, &call);
    take_items(&call, 0);
    end_call(team, &call);
    pthread_cond_destroy(&call.left);
}
