#include "io/workers.h"

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

struct HcWorkers {
    pthread_t thread[HC_WORKERS_MAX];
    int32_t threads; /* that run, besides the caller */
    int looks;
    pthread_mutex_t lock;
    pthread_cond_t begun, left;
    atomic_ulong calls; /* so far */
    atomic_int inside;  /* workers that take items of the call; grows under the lock only */
    bool open;          /* the call still lets workers in */
    bool stop;
    HcWork *work;
    void *user;
    int64_t count;
    atomic_llong next; /* item */
};

static int32_t processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        return CPU_COUNT(&set);
    }
    return (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
}

int32_t hc_workers_count(int32_t wanted) {
    int32_t count = wanted > 0 ? wanted : processors();
    return count < 1 ? 1 : count > HC_WORKERS_MAX ? HC_WORKERS_MAX : count;
}

static inline void pause_shortly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void take_items(HcWorkers *workers) {
    for (;;) {
        int64_t item = atomic_fetch_add_explicit(&workers->next, 1, memory_order_relaxed);
        if (item >= workers->count) {
            return;
        }
        workers->work(workers->user, item);
    }
}

static void *work_along(void *argument) {
    HcWorkers *workers = argument;
    unsigned long seen = 0;
    for (;;) {
        for (int look = 0; look < workers->looks && atomic_load(&workers->calls) == seen; look++) {
            pause_shortly();
        }
        pthread_mutex_lock(&workers->lock);
        while (!workers->stop && (atomic_load(&workers->calls) == seen || !workers->open)) {
            seen = atomic_load(&workers->calls); /* what is over already is not looked at */
            pthread_cond_wait(&workers->begun, &workers->lock);
        }
        seen = atomic_load(&workers->calls);
        bool stop = workers->stop;
        atomic_fetch_add(&workers->inside, stop ? 0 : 1);
        pthread_mutex_unlock(&workers->lock);
        if (stop) {
            return NULL;
        }
        take_items(workers);
        if (atomic_fetch_sub(&workers->inside, 1) == 1) {
            pthread_mutex_lock(&workers->lock);
            pthread_cond_signal(&workers->left);
            pthread_mutex_unlock(&workers->lock);
        }
    }
}

HcWorkers *hc_workers_open(int32_t threads) {
    HcWorkers *workers = threads > 1 ? calloc(1, sizeof *workers) : NULL;
    if (workers == NULL) {
        return NULL;
    }
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->begun, NULL);
    pthread_cond_init(&workers->left, NULL);
    workers->looks = processors() >= SPARE_PROCESSORS ? LOOKS : 0;
    for (int32_t t = 1; t < threads && t < HC_WORKERS_MAX; t++) {
        if (pthread_create(&workers->thread[workers->threads], NULL, work_along, workers) != 0) {
            break; /* fewer do as well */
        }
        workers->threads++;
    }
    return workers;
}

void hc_workers_close(HcWorkers *workers) {
    if (workers == NULL) {
        return;
    }
    pthread_mutex_lock(&workers->lock);
    workers->stop = true;
    pthread_cond_broadcast(&workers->begun);
    pthread_mutex_unlock(&workers->lock);
    for (int32_t t = 0; t < workers->threads; t++) {
        pthread_join(workers->thread[t], NULL);
    }
    pthread_cond_destroy(&workers->left);
    pthread_cond_destroy(&workers->begun);
    pthread_mutex_destroy(&workers->lock);
    free(workers);
}

/* Lets no more workers in, and waits for those that are; most often they leave at once. */
static void end_call(HcWorkers *workers) {
    pthread_mutex_lock(&workers->lock);
    workers->open = false;
    pthread_mutex_unlock(&workers->lock);
    for (int look = 0; look < workers->looks && atomic_load(&workers->inside) > 0; look++) {
        pause_shortly();
    }
    pthread_mutex_lock(&workers->lock);
    while (atomic_load(&workers->inside) > 0) {
        pthread_cond_wait(&workers->left, &workers->lock);
    }
    pthread_mutex_unlock(&workers->lock);
}

static void wake(HcWorkers *workers, int64_t wanted) {
    if (wanted >= workers->threads) {
        pthread_cond_broadcast(&workers->begun);
    }
    for (int64_t t = 0; t < wanted && wanted < workers->threads; t++) {
        pthread_cond_signal(&workers->begun);
    }
}

void hc_workers_run(HcWorkers *workers, int64_t count, HcWork *work, void *user) {
    if (workers == NULL || workers->threads == 0 || count < 2) {
        for (int64_t item = 0; item < count; item++) {
            work(user, item);
        }
        return;
    }
    pthread_mutex_lock(&workers->lock);
    workers->work = work;
    workers->user = user;
    workers->count = count;
    atomic_store(&workers->next, 0);
    workers->open = true;
    atomic_fetch_add(&workers->calls, 1);
    pthread_mutex_unlock(&workers->lock);
    wake(workers, count - 1);
    take_items(workers);
    end_call(workers);
}
