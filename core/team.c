/* A call lies on the stack of the thread that makes it, in a list that workers look through. A worker that
 * takes items of a call counts itself in and out under the lock; the caller takes the call off the list when
 * it finds no item left, and returns when nobody is inside. Nothing is allocated for a call, so that it
 * cannot fail. */
#include "core/team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* Looks for new work before a worker goes to sleep, some 20 us: calls often follow each other, and to wake a
 * sleeping processor takes longer than many of them. Only where there are processors to spare. */
#define LOOKS            400
#define SPARE_PROCESSORS 4

typedef struct Call Call;
struct Call {
    HcWork *work;
    void *user;
    int64_t count;
    atomic_llong next; /* item */
    atomic_int inside; /* workers that take items; grows under the lock only */
    pthread_cond_t left;
    Call *after; /* in the list */
};

struct HcWorkers {
    pthread_t *thread; /* [threads] that run, besides the callers */
    int32_t threads;
    int32_t numbered; /* threads that know their number */
    int looks;
    pthread_mutex_t lock;
    pthread_cond_t begun;
    Call *calls;        /* oldest first */
    atomic_ulong begin; /* calls so far */
    bool stop;
};

/* Whether this thread does an item just now. */
static _Thread_local bool within_item;

static int32_t processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        return CPU_COUNT(&set);
    }
    return (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
}

int32_t hc_workers_count(int32_t wanted, int32_t most) {
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
static Call *find_call(const HcWorkers *workers) {
    Call *call = workers->calls;
    while (call != NULL && atomic_load_explicit(&call->next, memory_order_relaxed) >= call->count) {
        call = call->after;
    }
    return call;
}

/* Helps one call; the lock is held before and after. Behind the unlock that ends it the call may be gone. */
static void help(HcWorkers *workers, Call *call, int32_t thread) {
    atomic_fetch_add(&call->inside, 1);
    pthread_mutex_unlock(&workers->lock);
    take_items(call, thread);
    pthread_mutex_lock(&workers->lock);
    if (atomic_fetch_sub(&call->inside, 1) == 1) {
        pthread_cond_signal(&call->left);
    }
}

static void *work_along(void *argument) {
    HcWorkers *workers = argument;
    pthread_mutex_lock(&workers->lock);
    int32_t number = ++workers->numbered;
    while (!workers->stop) {
        Call *call = find_call(workers);
        if (call != NULL) {
            help(workers, call, number);
            continue;
        }
        unsigned long seen = atomic_load(&workers->begin);
        if (workers->looks > 0) {
            pthread_mutex_unlock(&workers->lock);
            for (int look = 0; look < workers->looks && atomic_load(&workers->begin) == seen; look++) {
                pause_shortly();
            }
            pthread_mutex_lock(&workers->lock);
        }
        if (!workers->stop && atomic_load(&workers->begin) == seen) {
            pthread_cond_wait(&workers->begun, &workers->lock);
        }
    }
    pthread_mutex_unlock(&workers->lock);
    return NULL;
}

HcWorkers *hc_workers_open(int32_t threads) {
    HcWorkers *workers = threads > 1 ? calloc(1, sizeof *workers) : NULL;
    if (workers == NULL || (workers->thread = calloc((size_t)threads, sizeof *workers->thread)) == NULL) {
        free(workers);
        return NULL;
    }
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->begun, NULL);
    workers->looks = processors() >= SPARE_PROCESSORS ? LOOKS : 0;
    for (int32_t t = 1; t < threads; t++) {
        if (pthread_create(&workers->thread[workers->threads], NULL, work_along, workers) != 0) {
            break; /* fewer do as well */
        }
        workers->threads++;
    }
    return workers;
}

int32_t hc_workers_threads(const HcWorkers *workers) {
    return workers == NULL ? 1 : workers->threads + 1;
}

void hc_workers_close(HcWorkers *workers) {
    if (workers == NULL) {
        return;
    }
    pthread_mutex_lock(&workers->lock);
    workers->stop = true;
    atomic_fetch_add(&workers->begin, 1); /* ends the looks */
    pthread_cond_broadcast(&workers->begun);
    pthread_mutex_unlock(&workers->lock);
    for (int32_t t = 0; t < workers->threads; t++) {
        pthread_join(workers->thread[t], NULL);
    }
    pthread_cond_destroy(&workers->begun);
    pthread_mutex_destroy(&workers->lock);
    free(workers->thread);
    free(workers);
}

static void begin_call(HcWorkers *workers, Call *call) {
    pthread_mutex_lock(&workers->lock);
    Call **last = &workers->calls;
    while (*last != NULL) {
        last = &(*last)->after;
    }
    *last = call;
    atomic_fetch_add(&workers->begin, 1);
    pthread_mutex_unlock(&workers->lock);
    int64_t wanted = call->count - 1;
    if (wanted >= workers->threads) {
        pthread_cond_broadcast(&workers->begun);
    }
    for (int64_t t = 0; t < wanted && wanted < workers->threads; t++) {
        pthread_cond_signal(&workers->begun);
    }
}

/* Lets no more workers in, and waits for those that are; most often they leave at once. */
static void end_call(HcWorkers *workers, Call *call) {
    pthread_mutex_lock(&workers->lock);
    Call **link = &workers->calls;
    while (*link != call) {
        link = &(*link)->after;
    }
    *link = call->after;
    pthread_mutex_unlock(&workers->lock);
    for (int look = 0; look < workers->looks && atomic_load(&call->inside) > 0; look++) {
        pause_shortly();
    }
    pthread_mutex_lock(&workers->lock);
    while (atomic_load(&call->inside) > 0) {
        pthread_cond_wait(&call->left, &workers->lock);
    }
    pthread_mutex_unlock(&workers->lock);
}

void hc_workers_run(HcWorkers *workers, int64_t count, HcWork *work, void *user) {
    if (workers == NULL || workers->threads == 0 || count < 2 || within_item) {
        for (int64_t item = 0; item < count; item++) {
            work(user, item, 0);
        }
        return;
    }
    Call call = {.work = work, .user = user, .count = count, .left = PTHREAD_COND_INITIALIZER};
    begin_call(workers, &call);
    take_items(&call, 0);
    end_call(workers, &call);
    pthread_cond_destroy(&call.left);
}
