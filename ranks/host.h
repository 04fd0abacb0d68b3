/* Ranks without MPI: processes of this host, which the first one forks. Only ranks/ looks inside. */
#ifndef HC_RANKS_HOST_H
#define HC_RANKS_HOST_H

#include "ranks/transport.h"

/* Starts ranks 1 to count - 1, which return from here, too, and fills all of *ranks but `failed`. After a
 * failure ranks->transport is NULL where there is nothing to close. */
HcStatus hc_host_start(HcRanks *ranks, int32_t count, HcError *err) HC_MUST_CHECK;

/* Whether this process is one that hc_host_start has forked. */
bool hc_host_is_forked(void);

#endif
