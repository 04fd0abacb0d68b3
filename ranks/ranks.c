/* Failures and reductions over a transport, which is MPI or shared memory (host.c). Every call first gathers
 * one status of each rank: a rank that failed meets the others in their next call, so that none waits for
 * one that is gone. */
#include "ranks/ranks.h"
#include "core/allocate.h"
#include "ranks/host.h"
#include "ranks/launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- joining ---- */

/* FNV-1a: equal command lines have equal numbers. */
static int32_t number_of(const char *text) {
    uint32_t hash = 2166136261U;
    for (; *text != '\0'; text++) {
        hash = (hash ^ (uint8_t)*text) * 16777619U;
    }
    return (int32_t)(hash >> 1);
}

static HcStatus compare_commands(HcRanks *ranks, const char *command, HcError *err) {
    int32_t own = number_of(command);
    int32_t different = 0;
    HC_OR_RETURN(ranks->transport->gather(own, ranks->failed, err));
    for (int32_t r = 1; r < ranks->count && different == 0; r++) {
        different = ranks->failed[r] != ranks->failed[0] ? r : 0;
    }
    memset(ranks->failed, 0, (size_t)ranks->count * sizeof *ranks->failed);
    if (different > 0) {
        return hc_fail(
            err, HC_E_USAGE,
            "rank %d was started with another command line than rank 0: ranks of one job share one "
            "run",
            different);
    }
    return HC_OK;
}

static HcStatus load_transport(const HcTransportModule **module, HcError *err) {
    HcError reason = {0};
    HcStatus status = hc_transport_load(module, &reason);
    if (status != HC_OK) {
        return hc_fail(err, status,
                       "started by an MPI launcher, where each rank would do the whole work without MPI: %s",
                       reason.text);
    }
    return HC_OK;
}

HcStatus hc_ranks_open(HcRanks **out, const char *command, HcError *err) {
    *out = NULL;
    if (!hc_launcher_present() || hc_launcher_count() == 1) {
        return HC_OK;
    }
    const HcTransportModule *module = NULL;
    HcRanks *ranks = NULL;
    HC_OR_RETURN(hc_new(ranks, 1, "the ranks", err));
    *out = ranks;
    HC_OR_RETURN(load_transport(&module, err));
    HC_OR_RETURN(module->open(ranks, err));
    HC_OR_RETURN(hc_new(ranks->failed, ranks->count, "the ranks", err));
    HC_OR_RETURN(compare_commands(ranks, command, err));
    if (ranks->count == 1 && (hc_launcher_count() > 1 || hc_launcher_number() > 0)) {
        return hc_fail(
            err, HC_E_UNSUPPORTED,
            "the launcher has started several ranks, but %s does not find the others: each would do "
            "the whole work (srun --mpi=list shows the kinds of MPI)",
            module->library());
    }
    if (ranks->count == 1) {
        *out = NULL;
        return hc_ranks_close(ranks, err);
    }
    return HC_OK;
}

HcStatus hc_ranks_start(HcRanks **out, int32_t count, HcError *err) {
    HcRanks *ranks = NULL;
    *out = NULL;
    HC_OR_RETURN(hc_new(ranks, 1, "the ranks", err));
    HcStatus status = hc_new(ranks->failed, count, "the ranks", err);
    status = status == HC_OK ? hc_host_start(ranks, count, err) : status;
    if (ranks->transport == NULL) {
        free(ranks->failed);
        free(ranks);
        return status;
    }
    *out = ranks;
    return status;
}

HcStatus hc_ranks_close(HcRanks *ranks, HcError *err) {
    HcStatus status = HC_OK;
    if (ranks == NULL) {
        return HC_OK;
    }
    if (ranks->transport != NULL) {
        status = ranks->transport->close(!ranks->broken, err);
    }
    free(ranks->failed);
    free(ranks);
    return status;
}

bool hc_ranks_speaks(void) {
    return hc_launcher_number() == 0 && !hc_host_is_forked();
}

HcStatus hc_ranks_library(char *text, size_t size, HcError *err) {
    const HcTransportModule *module = NULL;
    HcError reason = {0};
    bool there = false;
    HC_OR_RETURN(hc_transport_look(&there, err));
    HcStatus status = there ? hc_transport_load(&module, &reason) : HC_OK;
    if (status == HC_E_MEMORY || status == HC_E_IO) { /* neither is a property of the module */
        return hc_fail(err, status, "%s", reason.text);
    }
    if (status == HC_OK) {
        snprintf(text, size, "%s", module != NULL ? module->library() : "none");
    } else {
        snprintf(text, size, "none: %s", reason.text);
    }
    return HC_OK;
}

int32_t hc_ranks_number(const HcRanks *ranks) {
    return ranks != NULL ? ranks->number : 0;
}

int32_t hc_ranks_count(const HcRanks *ranks) {
    return ranks != NULL ? ranks->count : 1;
}

int32_t hc_ranks_local_number(const HcRanks *ranks) {
    return ranks != NULL ? ranks->local_number : 0;
}

int32_t hc_ranks_local_count(const HcRanks *ranks) {
    return ranks != NULL ? ranks->local_count : 1;
}

bool hc_ranks_forked(const HcRanks *ranks) {
    return ranks != NULL && ranks->forked;
}

/* ---- failures ---- */

bool hc_ranks_broken(HcRanks *ranks) {
    return ranks != NULL && (ranks->broken || ranks->transport->told());
}

/* What the first rank that failed says of it, to all. */
static HcStatus take_failure(HcRanks *ranks, int32_t first, HcStatus status, HcError *err) {
    HcError own = {0};
    HcError theirs = {0};
    if (status != HC_OK) {
        (void)hc_fail(&own, status, "%s", err != NULL ? err->text : "");
        theirs = own;
    }
    HcStatus heard = ranks->transport->share(first, &theirs, sizeof theirs, status == HC_OK ? err : NULL);
    ranks->transport->hear(ranks->failed);
    ranks->broken = true;
    if (status != HC_OK || heard != HC_OK) {
        return status != HC_OK ? status : heard;
    }
    return first > 0 ? hc_fail(err, theirs.status, "rank %d of %d: %s", first, ranks->count, theirs.text)
                     : hc_fail(err, theirs.status, "%s", theirs.text);
}

HcStatus hc_ranks_agree(HcRanks *ranks, HcStatus status, HcError *err) {
    if (ranks == NULL) {
        return status;
    }
    if (ranks->broken) {
        return status != HC_OK ? status : hc_fail(err, HC_E_CANCELLED, "another rank has failed");
    }
    if (status != HC_OK) {
        ranks->transport->report();
    }
    HcStatus heard = ranks->transport->gather((int32_t)status, ranks->failed, status == HC_OK ? err : NULL);
    if (heard != HC_OK) {
        ranks->broken = true;
        return status != HC_OK ? status : heard;
    }
    for (int32_t r = 0; r < ranks->count; r++) {
        if (ranks->failed[r] != HC_OK) {
            return take_failure(ranks, r, status, err);
        }
    }
    return HC_OK;
}

/* ---- numbers ---- */

/* A rank that has ended before its time is a failure of all. */
static HcStatus break_with(HcRanks *ranks, HcStatus status) {
    ranks->broken = ranks->broken || status != HC_OK;
    return status;
}

static HcStatus reduce(HcRanks *ranks, HcReduction how, void *data, size_t count, HcError *err) {
    HcStatus status = hc_ranks_agree(ranks, HC_OK, err);
    if (ranks == NULL || status != HC_OK) {
        return status;
    }
    return break_with(ranks, ranks->transport->reduce(how, data, count, err));
}

HcStatus hc_ranks_sum(HcRanks *ranks, int64_t *value, size_t count, HcError *err) {
    return reduce(ranks, HC_REDUCE_SUM, value, count, err);
}

HcStatus hc_ranks_sum_wide(HcRanks *ranks, HcWide *value, size_t count, HcError *err) {
    return reduce(ranks, HC_REDUCE_SUM_WIDE, value, count, err);
}

HcStatus hc_ranks_largest(HcRanks *ranks, int64_t *value, size_t count, HcError *err) {
    return reduce(ranks, HC_REDUCE_LARGEST, value, count, err);
}

HcStatus hc_ranks_join(HcRanks *ranks, void *data, size_t bytes, HcError *err) {
    return reduce(ranks, HC_REDUCE_OR, data, bytes, err);
}

HcStatus hc_ranks_share(HcRanks *ranks, void *data, size_t bytes, HcError *err) {
    HcStatus status = hc_ranks_agree(ranks, HC_OK, err);
    if (ranks == NULL || status != HC_OK) {
        return status;
    }
    return break_with(ranks, ranks->transport->share(0, data, bytes, err));
}

static HcStatus hand_on(HcRanks *ranks, void *state, size_t bytes, void (*add)(void *state, void *user),
                        void *user, HcError *err) {
    if (ranks->number > 0) {
        HC_OR_RETURN(ranks->transport->receive(ranks->number - 1, state, bytes, err));
        add(state, user);
    }
    if (ranks->number + 1 < ranks->count) {
        HC_OR_RETURN(ranks->transport->send(ranks->number + 1, state, bytes, err));
    }
    return ranks->transport->share(ranks->count - 1, state, bytes, err);
}

HcStatus hc_ranks_fold(HcRanks *ranks, void *state, size_t bytes, void (*add)(void *state, void *user),
                       void *user, HcError *err) {
    HcStatus status = hc_ranks_agree(ranks, HC_OK, err);
    if (ranks == NULL || status != HC_OK) {
        return status;
    }
    return break_with(ranks, hand_on(ranks, state, bytes, add, user, err));
}
