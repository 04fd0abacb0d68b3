/* Ranks: the processes that share one run. A launcher (mpirun, srun) has started them together, or the first
 * one has forked the others (hc_ranks_start). Without either a program is one process and has no HcRanks
 * (NULL); the functions below then do nothing. All ranks run the same program on the same command line. They
 * call the functions that say "all ranks" in the same order, each from the thread that opened them.
 *
 * Failures: a rank that fails returns through its callers and says so in the last hc_ranks_agree of the
 * program. Every function of all ranks first asks whether some rank has failed. It then fails on all of them,
 * with the message of the first that did, and no later call waits for another rank. A rank that is killed
 * ends the job by way of the launcher; without one its end is a failure of all. */
#ifndef HC_RANKS_RANKS_H
#define HC_RANKS_RANKS_H

#include "core/sums/moments.h"
#include "core/status.h"

#include <stdint.h>

typedef struct HcRanks HcRanks;

/* Joins the other ranks; *out is NULL where no launcher started this process, or started it alone. Fails
 * where one did and the MPI module cannot be used or does not find the others, or where the ranks have
 * different command lines: they would write one output in many ways. Only the first rank should say so
 * (hc_ranks_speaks), and all close what they got, also after a failure. */
HcStatus hc_ranks_open(HcRanks **out, const char *command, HcError *err) HC_MUST_CHECK;

/* Most ranks that hc_ranks_start makes. */
#define HC_RANKS_MAX 64

/* Forks this process count - 1 times, count from 2 to HC_RANKS_MAX, without a launcher: the calling process
 * is the first rank. The others return from here as well, and return and end as they would under a launcher.
 * To be called while the process has one thread. Fails with HC_E_MEMORY; where *out is not NULL then, there
 * are ranks to close. */
HcStatus hc_ranks_start(HcRanks **out, int32_t count, HcError *err) HC_MUST_CHECK;

/* Leaves the others, once all have come here. The launcher may then end a rank at any moment. The first rank
 * waits for the end of those that it has forked. It fails where all had agreed, and one of them ended with an
 * exit code or by a signal nevertheless. NULL is fine. */
HcStatus hc_ranks_close(HcRanks *ranks, HcError *err) HC_MUST_CHECK;

/* Whether this process is the one that speaks for all; known before hc_ranks_open by what the launcher says.
 */
bool hc_ranks_speaks(void);

/* The MPI library with its version, "none", or "none: " and why its module cannot be used. Fails with
 * HC_E_MEMORY alone. */
HcStatus hc_ranks_library(char *text, size_t size, HcError *err) HC_MUST_CHECK;

int32_t hc_ranks_number(const HcRanks *ranks); /* of this rank, from 0 */
int32_t hc_ranks_count(const HcRanks *ranks);  /* 1 without ranks */

/* Number and count among the ranks of this host. */
int32_t hc_ranks_local_number(const HcRanks *ranks);
int32_t hc_ranks_local_count(const HcRanks *ranks);

/* Whether hc_ranks_start has made them: no launcher has given each processors of its own. */
bool hc_ranks_forked(const HcRanks *ranks);

/* Whether some rank has failed, as far as is known here; does not wait. */
bool hc_ranks_broken(HcRanks *ranks);

/* All ranks: HC_OK once all have come here with HC_OK; the failure of one is the failure of all. A rank that
 * comes with its own failure has its message in err, the others get that of the first rank that failed. */
HcStatus hc_ranks_agree(HcRanks *ranks, HcStatus status, HcError *err) HC_MUST_CHECK;

/* All ranks: value[count] becomes the sum over the ranks, or the largest. */
HcStatus hc_ranks_sum(HcRanks *ranks, int64_t *value, size_t count, HcError *err) HC_MUST_CHECK;
HcStatus hc_ranks_sum_wide(HcRanks *ranks, HcWide *value, size_t count, HcError *err) HC_MUST_CHECK;
HcStatus hc_ranks_largest(HcRanks *ranks, int64_t *value, size_t count, HcError *err) HC_MUST_CHECK;

/* All ranks: brings together what each has filled of one piece of memory, all other bytes being 0 there. */
HcStatus hc_ranks_join(HcRanks *ranks, void *data, size_t bytes, HcError *err) HC_MUST_CHECK;

/* All ranks: data of the first rank becomes that of all. */
HcStatus hc_ranks_share(HcRanks *ranks, void *data, size_t bytes, HcError *err) HC_MUST_CHECK;

/* All ranks: a state goes from rank to rank, in their order. The first rank's `state` is where it starts;
 * `add` is called on the others and adds their own part. All ranks get the state that the last one made. */
HcStatus hc_ranks_fold(HcRanks *ranks, void *state, size_t bytes, void (*add)(void *state, void *user),
                       void *user, HcError *err) HC_MUST_CHECK;

#endif
