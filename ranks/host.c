/* Ranks without MPI: the first one forks the others and shares a piece of memory with them. Each rank has a
 * place in it, with counters that it alone raises. So a rank that dies leaves nothing locked, and its
 * counters tell what it has not done. All wait for counters. The first rank then asks the system whether
 * another one has ended, and the others look whether they still are its children. (PR_SET_PDEATHSIG would
 * tell them, but once for each thread of the first rank, and a second signal ends a process without a
 * clean-up.)
 *
 * All ranks count the steps at which they meet. A step is over once all have come to it. A buffer is written
 * again only after a step to which no rank comes before it has read it. */
#include "ranks/host.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 20 };

typedef struct Place {
    _Alignas(64) _Atomic uint64_t arrived; /* number of steps that it has reached */
    _Atomic uint64_t sent, taken;          /* pieces of messages of this rank; its receiver raises `taken` */
    _Atomic bool alarm;                    /* this rank has failed */
    int32_t number[2]; /* of gather, by turns: others may still read that of the last step */
} Place;

typedef struct Shared {
    /* A rank has ended, or was not started. What is said of it comes first. */
    _Atomic bool lost;
    HcStatus status;
    char text[256];
    Place place[HC_RANKS_MAX];
} Shared;

/* A process that the first rank has started. */
typedef struct Child {
    pid_t process; /* 0 = none */
    int how;       /* as from waitpid, once it has ended */
    bool ended;
} Child;

static struct {
    Shared *shared; /* the buffers follow: one for each rank, and one for results */
    size_t bytes;   /* of all */
    int32_t number, count;
    uint64_t step;
    pid_t first;
    Child child[HC_RANKS_MAX];
} host;

static bool forked;

static Place *place(int32_t rank) {
    return &host.shared->place[rank];
}

static char *buffer(int32_t rank) {
    return (char *)(host.shared + 1) + (size_t)rank * BUFFER_BYTES;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* ---- ranks that end before their time ---- */

static void lose(HcStatus status) {
    host.shared->status = status;
    atomic_store(&host.shared->lost, true);
}

/* Exit codes of hcube are statuses. */
static HcStatus describe_end(int32_t rank, int how, char *text, size_t size) {
    if (WIFSIGNALED(how)) {
        int number = WTERMSIG(how);
        snprintf(text, size, "rank %d of %d was ended by signal %d (%s)%s", rank, host.count, number,
                 strsignal(number),
                 number == SIGKILL ? ", which the system sends where memory runs out" : "");
        return HC_E_IO;
    }
    int code = WEXITSTATUS(how);
    snprintf(text, size, "rank %d of %d ended with exit code %d before the others", rank, host.count, code);
    return code == HC_E_MEMORY || code == HC_E_DEVICE ? (HcStatus)code : HC_E_IO;
}

/* The first rank reports the first process that it finds ended. */
static void look_for_ends(void) {
    for (int32_t r = 1; r < host.count; r++) {
        Child *child = &host.child[r];
        if (child->process == 0 || child->ended ||
            waitpid(child->process, &child->how, WNOHANG) != child->process) {
            continue;
        }
        child->ended = true;
        if (!atomic_load(&host.shared->lost)) {
            lose(describe_end(r, child->how, host.shared->text, sizeof host.shared->text));
        }
    }
}

static HcStatus check_all_run(HcError *err) {
    if (host.number == 0) {
        look_for_ends();
    }
    if (atomic_load(&host.shared->lost)) {
        return hc_fail(err, host.shared->status, "%s", host.shared->text);
    }
    if (host.number > 0 && getppid() != host.first) {
        return hc_fail(err, HC_E_IO, "rank 0 of %d has ended", host.count);
    }
    return HC_OK;
}

/* ---- waiting ---- */

/* Others may need the processor: a long wait sleeps. A rank that has done its part may end at once, so the
 * counter decides before the end of a rank does. */
static HcStatus wait_for(const _Atomic uint64_t *counter, uint64_t value, HcError *err) {
    enum { QUICK = 1000, TRIES_A_CHECK = 16 };
    const struct timespec moment = {.tv_nsec = 200000};
    for (uint64_t tries = 0; atomic_load(counter) < value; tries++) {
        HcError lost = {0};
        if (tries < QUICK) {
            sched_yield();
            continue;
        }
        nanosleep(&moment, NULL);
        if (tries % TRIES_A_CHECK == 0 && check_all_run(&lost) != HC_OK && atomic_load(counter) < value) {
            return hc_fail(err, lost.status, "%s", lost.text);
        }
    }
    return HC_OK;
}

/* Comes to the next step, and waits until all have. */
static HcStatus meet(HcError *err) {
    host.step++;
    atomic_store(&place(host.number)->arrived, host.step);
    for (int32_t r = 0; r < host.count; r++) {
        HC_OR_RETURN(wait_for(&place(r)->arrived, host.step, err));
    }
    return HC_OK;
}

/* ---- what a transport does ---- */

static HcStatus gather(int32_t number, int32_t *out, HcError *err) {
    uint64_t turn = (host.step + 1) % 2;
    if (atomic_load(&host.shared->lost)) {
        return check_all_run(err);
    }
    place(host.number)->number[turn] = number;
    HC_OR_RETURN(meet(err));
    for (int32_t r = 0; r < host.count; r++) {
        out[r] = place(r)->number[turn];
    }
    return HC_OK;
}

static size_t size_of(HcReduction how) {
    return how == HC_REDUCE_OR ? 1 : how == HC_REDUCE_SUM_WIDE ? sizeof(HcWide) : sizeof(int64_t);
}

/* Elements [first, end) of `from` go into those of `to`. */
static void add(HcReduction how, const void *from, void *to, size_t first, size_t end) {
    for (size_t i = first; i < end; i++) {
        if (how == HC_REDUCE_OR) {
            ((uint8_t *)to)[i] |= ((const uint8_t *)from)[i];
        } else if (how == HC_REDUCE_SUM_WIDE) {
            ((HcWide *)to)[i] += ((const HcWide *)from)[i];
        } else {
            int64_t value = ((const int64_t *)from)[i];
            int64_t *sum = (int64_t *)to + i;
            *sum = how == HC_REDUCE_SUM ? *sum + value : value > *sum ? value : *sum;
        }
    }
}

/* Each rank reduces a part of each piece. */
static HcStatus reduce(HcReduction how, void *data, size_t count, HcError *err) {
    size_t size = size_of(how);
    size_t piece = BUFFER_BYTES / size;
    size_t ranks = (size_t)host.count;
    char *result = buffer(host.count);
    for (size_t at = 0; at < count; at += piece) {
        char *own = (char *)data + at * size;
        size_t some = least(count - at, piece);
        size_t first = some * (size_t)host.number / ranks;
        size_t end = some * ((size_t)host.number + 1) / ranks;
        memcpy(buffer(host.number), own, some * size);
        HC_OR_RETURN(meet(err));
        memcpy(result + first * size, buffer(0) + first * size, (end - first) * size);
        for (int32_t r = 1; r < host.count; r++) {
            add(how, buffer(r), result, first, end);
        }
        HC_OR_RETURN(meet(err));
        memcpy(own, result, some * size);
    }
    return HC_OK;
}

static HcStatus share(int32_t from, void *data, size_t bytes, HcError *err) {
    for (size_t at = 0; at < bytes; at += BUFFER_BYTES) {
        char *own = (char *)data + at;
        size_t some = least(bytes - at, BUFFER_BYTES);
        if (host.number == from) {
            memcpy(buffer(from), own, some);
        }
        HC_OR_RETURN(meet(err));
        if (host.number != from) {
            memcpy(own, buffer(from), some);
        }
        HC_OR_RETURN(meet(err));
    }
    return HC_OK;
}

/* Returns once the other rank has taken all: the buffer is then free. */
static HcStatus send(int32_t to, const void *data, size_t bytes, HcError *err) {
    Place *own = place(host.number);
    (void)to;
    for (size_t at = 0; at < bytes; at += BUFFER_BYTES) {
        memcpy(buffer(host.number), (const char *)data + at, least(bytes - at, BUFFER_BYTES));
        uint64_t sent = atomic_fetch_add(&own->sent, 1) + 1;
        HC_OR_RETURN(wait_for(&own->taken, sent, err));
    }
    return HC_OK;
}

static HcStatus receive(int32_t from, void *data, size_t bytes, HcError *err) {
    Place *theirs = place(from);
    for (size_t at = 0; at < bytes; at += BUFFER_BYTES) {
        HC_OR_RETURN(wait_for(&theirs->sent, atomic_load(&theirs->taken) + 1, err));
        memcpy((char *)data + at, buffer(from), least(bytes - at, BUFFER_BYTES));
        atomic_fetch_add(&theirs->taken, 1);
    }
    return HC_OK;
}

static void report(void) {
    atomic_store(&place(host.number)->alarm, true);
}

static bool told(void) {
    HcError unimportant = {0};
    bool any = check_all_run(&unimportant) != HC_OK;
    for (int32_t r = 0; r < host.count; r++) {
        any = any || (r != host.number && atomic_load(&place(r)->alarm));
    }
    return any;
}

/* An alarm stays: once ranks have failed, nobody asks for it again. */
static void hear(const int32_t *failed) {
    (void)failed;
}

/* The first rank is the last to go. */
static HcStatus close_host(bool agreed, HcError *err) {
    HcStatus status = HC_OK;
    for (int32_t r = 1; r < host.count && host.number == 0; r++) {
        Child *child = &host.child[r];
        while (child->process != 0 && !child->ended) {
            child->ended = waitpid(child->process, &child->how, 0) == child->process || errno != EINTR;
        }
        if (agreed && status == HC_OK && child->how != 0) {
            char text[256];
            status = describe_end(r, child->how, text, sizeof text);
            (void)hc_fail(err, status, "%s", text);
        }
    }
    munmap(host.shared, host.bytes);
    host.shared = NULL;
    return status;
}

static const HcTransport transport = {.gather = gather,
                                      .reduce = reduce,
                                      .share = share,
                                      .send = send,
                                      .receive = receive,
                                      .report = report,
                                      .told = told,
                                      .hear = hear,
                                      .close = close_host};

/* ---- starting ---- */

static HcStatus map_shared(int32_t count, HcError *err) {
    host.bytes = sizeof(Shared) + ((size_t)count + 1) * BUFFER_BYTES;
    void *memory = mmap(NULL, host.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return hc_fail_memory(err, (double)host.bytes, "the ranks");
    }
    host.shared = memory;
    host.count = count;
    host.number = 0;
    host.step = 0;
    host.first = getpid();
    memset(host.child, 0, sizeof host.child);
    return HC_OK;
}

/* Sets up a rank that has just been forked. */
static void begin(HcRanks *ranks, int32_t number) {
    forked = true;
    host.number = ranks->number = ranks->local_number = number;
    memset(host.child, 0, sizeof host.child);
}

HcStatus hc_host_start(HcRanks *ranks, int32_t count, HcError *err) {
    HC_OR_RETURN(map_shared(count, err));
    ranks->transport = &transport;
    ranks->number = ranks->local_number = 0;
    ranks->count = ranks->local_count = count;
    ranks->forked = true;
    /* Where the caller of the program ignores this signal, nobody learns how a process ended. */
    (void)signal(SIGCHLD, SIG_DFL);
    for (int32_t r = 1; r < count; r++) {
        pid_t process = fork();
        if (process == 0) {
            begin(ranks, r);
            return HC_OK;
        }
        if (process < 0) {
            snprintf(host.shared->text, sizeof host.shared->text, "rank %d of %d could not be started: %s", r,
                     count, strerror(errno));
            lose(HC_E_MEMORY);
            ranks->broken = true;
            return hc_fail(err, HC_E_MEMORY, "%s", host.shared->text);
        }
        host.child[r].process = process;
    }
    return HC_OK;
}

bool hc_host_is_forked(void) {
    return forked;
}
