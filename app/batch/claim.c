/* Claims: files beside the outputs that say who is making them.
 *
 * A claim is written under a temporary name and linked to its own, which only one process can. One whose
 * owner is dead is replaced by renaming another over it; the right to do that is a claim too (the name with a
 * +), taken in the same way, so that two who find the same dead owner do not both replace it, nor one of them
 * the claim of the other. While a claim is held, a thread touches it.
 *
 * A line "checked HASH" at its end says that the owner found no file of others at the outputs of that hash.
 * Outputs are made after it, so without it what is there is none of a dead owner. */
#include "app/batch/batch.h"
#include "io/file.h"
#include "io/gdal/errors.h"
#include "io/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    TOUCH_SECONDS = 30,  /* from one sign of life to the next */
    STALE_SECONDS = 300, /* without one, after which an owner on another host counts as dead */
    DYING_SECONDS = 5,   /* in which a worker ends whose batch was killed */
    DEPTH = 4,           /* of claims for the right to replace a claim */
    TEXT_BYTES = 768
};

#define CLAIM   ".hcube-claim" /* at the end of the name of each */
#define CHECKED "\nchecked "   /* before the hash */

typedef struct Owner {
    char host[256], boot[64],
        processes[64];             /* the name of the host, the number of its start, its process numbers */
    long process, parent;          /* parent: the batch that started the worker, 0 = none */
    long long start, parent_start; /* when they started [ticks since the start of the host] */
    unsigned long number;          /* of the claim, among those of its process */
    long long since; /* when it was made, by the clock of its host [s since 1970]; 0 = not said */
} Owner;

struct HcBatchClaim {
    char *path;
    char text[TEXT_BYTES];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool touching, released;
    uint64_t inherited; /* outputs that a dead owner had checked */
};

/* ---- processes ---- */

static void describe_self(Owner *self) {
    static unsigned long claims;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    HcProcess process;
    int death_signal = 0;
    hc_process_self(&process);
    *self = (Owner){.process = process.number, .start = process.start, .since = (long long)time(NULL)};
    snprintf(self->host, sizeof self->host, "%s", process.host);
    snprintf(self->boot, sizeof self->boot, "%s", process.boot);
    snprintf(self->processes, sizeof self->processes, "%s", process.space);
    /* Workers of a batch end with it. */
    if (prctl(PR_GET_PDEATHSIG, &death_signal) == 0 && death_signal == SIGKILL) {
        self->parent = (long)getppid();
        self->parent_start = hc_process_start(self->parent);
    }
    pthread_mutex_lock(&lock);
    self->number = ++claims;
    pthread_mutex_unlock(&lock);
}

static void print_owner(const Owner *owner, char *text, size_t size) {
    snprintf(text, size,
             "hcube claim\nhost %s\nboot %s\nprocesses %s\nowner %ld %lld\nparent %ld %lld\nnumber %lu\n"
             "since %lld\n",
             owner->host, owner->boot, owner->processes, owner->process, owner->start, owner->parent,
             owner->parent_start, owner->number, owner->since);
}

static bool parse_owner(const char *text, Owner *owner) {
    *owner = (Owner){0};
    int fields = sscanf(text,
                        "hcube claim\nhost %255s\nboot %63s\nprocesses %63s\nowner %ld %lld\nparent %ld "
                        "%lld\nnumber %lu\nsince %lld",
                        owner->host, owner->boot, owner->processes, &owner->process, &owner->start,
                        &owner->parent, &owner->parent_start, &owner->number, &owner->since);
    return fields >= 8; /* earlier versions do not say since when */
}

static bool lives(long process, long long start) {
    return hc_process_start(process) == start;
}

/* Whether a worker on this host is dead. One whose batch was killed is about to be: its end is waited for. */
static bool is_dead(const Owner *owner) {
    const struct timespec pause = {.tv_nsec = 5000000};
    for (int p = 0; p < DYING_SECONDS * 200; p++) {
        if (!lives(owner->process, owner->start)) {
            return true;
        }
        if (owner->parent == 0 || lives(owner->parent, owner->parent_start)) {
            return false;
        }
        nanosleep(&pause, NULL);
    }
    return false;
}

/* ---- claims of others ---- */

/* Reads a claim with the time of its last sign of life; returns 0 or an errno. */
static int read_claim(const char *path, char *text, time_t *touched) {
    struct stat info;
    /* Anyone may have made what has this name: a pipe would let us wait for ever. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (file < 0) {
        return errno == ELOOP || errno == ENXIO ? EEXIST : errno;
    }
    int number = fstat(file, &info) != 0 ? errno : S_ISREG(info.st_mode) ? 0 : EEXIST;
    ssize_t bytes = number == 0 ? read(file, text, TEXT_BYTES - 1) : 0;
    number = bytes < 0 ? errno : number;
    close(file);
    text[bytes > 0 ? bytes : 0] = '\0';
    if (number == 0) { /* a time in the future is none of the clock, which sets both: then the other one */
        *touched = info.st_mtime < info.st_ctime ? info.st_mtime : info.st_ctime;
    }
    return number;
}

/* The outputs that the owner has checked, by its last word; 0 = none. */
static uint64_t find_checked(const char *text) {
    uint64_t outputs = 0;
    for (const char *line = strstr(text, CHECKED); line != NULL; line = strstr(line + 1, CHECKED)) {
        outputs = strtoull(line + sizeof CHECKED - 1, NULL, 16);
    }
    return outputs;
}

/* now: by the clock of the file system, which the hosts share. */
static bool is_stale(const char *text, time_t touched, time_t now) {
    Owner owner;
    Owner self;
    bool silent = now - touched > STALE_SECONDS || touched - now > STALE_SECONDS; /* the clock was set back */
    if (!parse_owner(text, &owner)) {
        return silent;
    }
    describe_self(&self);
    bool same_boot = strcmp(owner.boot, self.boot) == 0 && strcmp(self.boot, "-") != 0;
    if (same_boot && strcmp(owner.processes, self.processes) == 0) {
        return is_dead(&owner);
    }
    /* This host, before it was started anew. */
    if (!same_boot && strcmp(owner.host, self.host) == 0 && (long long)touched < hc_process_boot_time()) {
        return true;
    }
    return silent;
}

/* ---- taking ---- */

/* Writes a claim where nothing is; returns 0 or an errno. */
static int write_fresh(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) {
        return errno;
    }
    size_t bytes = strlen(text);
    int number = write(file, text, bytes) == (ssize_t)bytes ? 0 : ENOSPC;
    if (close(file) != 0 && number == 0) {
        number = errno;
    }
    if (number != 0) {
        unlink(path);
    }
    return number;
}

/* Gives the temporary claim its name; returns 0 or an errno. */
static int put(const char *temporary, const char *path, const char *text) {
    if (link(temporary, path) == 0) {
        return 0;
    }
    int number = errno;
    if (number == EPERM || number == EOPNOTSUPP || number == ENOSYS || number == EMLINK) {
        return write_fresh(path, text); /* no links here: whoever comes first creates it */
    }
    /* An answer that was lost on the network: it is done, and is refused when asked again. */
    return number == EEXIST && hc_file_same(temporary, path) ? 0 : number;
}

/* Adds checked outputs to the claim that begins with `text`; another one is left alone. Returns 0 or an
 * errno. */
static int add_checked(const char *path, const char *text, uint64_t outputs) {
    char found[TEXT_BYTES];
    char line[32];
    const size_t own = strlen(text);
    int file = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (file < 0) {
        return errno == ENOENT ? 0 : errno;
    }
    int number = 0;
    if (read(file, found, own) == (ssize_t)own && memcmp(found, text, own) == 0) {
        int length = snprintf(line, sizeof line, CHECKED "%016llx\n", (unsigned long long)outputs);
        number = write(file, line, (size_t)length) == length ? 0 : ENOSPC;
        /* After a power failure it tells whose the outputs are that were flushed before their records. */
        number = number == 0 && fdatasync(file) != 0 && errno != EINVAL ? errno : number;
    }
    return close(file) != 0 && number == 0 ? errno : number;
}

/* Returns 0 with *taken, or an errno. now: by the file system. *inherited: outputs that a dead owner had
 * checked, 0 = none; NULL for the right to replace a claim. */
static int take(const char *temporary, const char *path, const char *text, time_t now, int depth, bool *taken,
                uint64_t *inherited) {
    char found[TEXT_BYTES];
    char again[TEXT_BYTES];
    time_t touched = 0;
    *taken = false;
    int number = put(temporary, path, text);
    if (number == ENOENT) {
        return 0; /* the owner has removed ours with the leftovers of others */
    }
    if (number != EEXIST) {
        *taken = number == 0;
        return number;
    }
    number = read_claim(path, found, &touched);
    if (number != 0 || depth == 0 || !is_stale(found, touched, now)) {
        return number == ENOENT ? 0 : number;
    }
    char *right = hc_text_format("%s+", path);
    bool may = false;
    number = right != NULL ? take(temporary, right, text, now, depth - 1, &may, NULL) : ENOMEM;
    if (may) {
        if (read_claim(path, again, &touched) == 0 && strcmp(again, found) == 0) {
            const uint64_t checked = inherited != NULL ? find_checked(found) : 0;
            number = checked != 0 ? add_checked(right, text, checked) : 0;
            number = number == 0 && rename(right, path) != 0 ? errno : number;
            *taken = number == 0;
            if (*taken && inherited != NULL) {
                *inherited = checked;
            }
            hc_file_look_anew();
        }
        if (!*taken) {
            unlink(right);
        }
    }
    free(right);
    return number;
}

static void *touch(void *argument) {
    HcBatchClaim *claim = argument;
    struct timespec until;
    pthread_mutex_lock(&claim->lock);
    while (!claim->released) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += TOUCH_SECONDS;
        if (pthread_cond_timedwait(&claim->changed, &claim->lock, &until) == ETIMEDOUT) {
            (void)utimensat(AT_FDCWD, claim->path, NULL, 0);
        }
    }
    pthread_mutex_unlock(&claim->lock);
    return NULL;
}

char *hc_batch_claim_path(const char *output) {
    size_t length = (size_t)(hc_file_base(output) - output);
    char *folder = hc_file_near(output, false);
    bool beside = length == 0 || folder == NULL;
    char *path = folder == NULL
                     ? NULL
                     : hc_text_format("%s%s.%s" CLAIM, beside ? "" : folder,
                                      beside || strcmp(folder, "/") == 0 ? "" : "/", output + length);
    free(folder);
    return path;
}

static HcStatus make_claim(const char *path, HcBatchClaim **out, HcError *err) {
    Owner self;
    HcBatchClaim *claim = calloc(1, sizeof *claim);
    *out = claim;
    if (claim == NULL || (claim->path = strdup(path)) == NULL) {
        return hc_fail_memory(err, (double)strlen(path), "a claim");
    }
    pthread_mutex_init(&claim->lock, NULL);
    pthread_cond_init(&claim->changed, NULL);
    describe_self(&self);
    print_owner(&self, claim->text, sizeof claim->text);
    return HC_OK;
}

static void free_claim(HcBatchClaim *claim) {
    if (claim != NULL && claim->path != NULL) {
        pthread_cond_destroy(&claim->changed);
        pthread_mutex_destroy(&claim->lock);
        free(claim->path);
    }
    free(claim);
}

HcStatus hc_batch_claim(const char *output, HcBatchClaim **out, HcError *err) {
    HcStatus status = HC_OK;
    HcBatchClaim *claim = NULL;
    char *temporary = NULL;
    char *path = hc_batch_claim_path(output);
    struct stat info;
    bool taken = false;
    *out = NULL;
    HC_TRY(hc_text_made(path, strlen(output), "a claim", err));
    HC_TRY(make_claim(path, &claim, err));
    HC_TRY(hc_file_partial(path, &temporary, err));
    int number = write_fresh(temporary, claim->text);
    number = number == 0 && stat(temporary, &info) != 0 ? errno : number;
    /* The owner removes leftovers, ours among them: a claim that has vanished is not taken. */
    number = number == 0 ? take(temporary, path, claim->text, info.st_mtime, DEPTH, &taken, &claim->inherited)
                         : number;
    if (number != 0 && number != ENOENT) {
        HC_TRY(hc_fail(err, hc_errno_status(number, HC_E_IO), "%s: the scene cannot be claimed: %s", path,
                       number == EEXIST ? "something else has this name" : strerror(number)));
    }
    if (taken) {
        claim->touching = pthread_create(&claim->thread, NULL, touch, claim) == 0;
        *out = claim;
        claim = NULL;
    }
done:
    hc_file_drop(temporary);
    free(temporary);
    free(path);
    free_claim(claim);
    return status;
}

uint64_t hc_batch_claim_inherited(const HcBatchClaim *claim) {
    return claim != NULL ? claim->inherited : 0;
}

HcStatus hc_batch_claim_checked(HcBatchClaim *claim, uint64_t outputs, HcError *err) {
    int number = claim->inherited != outputs ? add_checked(claim->path, claim->text, outputs) : 0;
    return number == 0 ? HC_OK
                       : hc_fail(err, hc_errno_status(number, HC_E_IO), "%s: the scene cannot be claimed: %s",
                                 claim->path, strerror(number));
}

void hc_batch_remove_dead_claims(const HcBatch *batch) {
    const char *last = "";
    size_t length = 0;
    for (int32_t s = 0; s < batch->scene_count; s++) {
        const char *output = batch->scenes[s].output;
        size_t folder = (size_t)(hc_file_base(output) - output);
        if (s == 0 || folder != length || strncmp(output, last, length) != 0) {
            hc_file_remove_dead_beside(output, CLAIM);
        }
        last = output;
        length = folder;
    }
}

void hc_batch_release(HcBatchClaim *claim, bool leave) {
    char text[TEXT_BYTES];
    time_t touched = 0;
    if (claim == NULL) {
        return;
    }
    pthread_mutex_lock(&claim->lock);
    claim->released = true;
    pthread_cond_signal(&claim->changed);
    pthread_mutex_unlock(&claim->lock);
    if (claim->touching) {
        pthread_join(claim->thread, NULL);
    }
    /* Someone may have thought us dead and taken it over. */
    if (!leave && read_claim(claim->path, text, &touched) == 0 &&
        strncmp(text, claim->text, strlen(claim->text)) == 0) {
        unlink(claim->path);
        hc_file_leave_near(claim->path);
    }
    free_claim(claim);
}

/* The time by the clock of the file system; by that of this host where nothing can be written. */
static time_t time_there(const char *path) {
    struct stat info;
    char *probe = NULL;
    bool there = hc_file_partial(path, &probe, NULL) == HC_OK && write_fresh(probe, "") == 0 &&
                 stat(probe, &info) == 0;
    hc_file_drop(probe);
    free(probe);
    return there ? info.st_mtime : time(NULL);
}

bool hc_batch_holder(const char *output, HcBatchHolder *holder) {
    char text[TEXT_BYTES];
    time_t touched = 0;
    Owner owner;
    char *path = hc_batch_claim_path(output);
    bool there = path != NULL && read_claim(path, text, &touched) == 0;
    time_t now = there ? time_there(path) : 0;
    free(path);
    *holder = (HcBatchHolder){0};
    if (!there) {
        return false;
    }
    holder->alive = !is_stale(text, touched, now);
    if (parse_owner(text, &owner)) {
        snprintf(holder->host, sizeof holder->host, "%s", owner.host);
        holder->process = owner.process;
        holder->since = owner.since;
    }
    return true;
}
