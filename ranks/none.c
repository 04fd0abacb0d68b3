/* A build without MPI. */
#include "ranks/transport.h"

HcStatus hc_transport_open(HcRanks *ranks, HcError *err) {
    (void)ranks;
    return hc_fail(err, HC_E_UNSUPPORTED,
                   "started by an MPI launcher, but built without MPI: each rank would do the whole work "
                   "(start it without the launcher, or build it with -DHCUBE_MPI=ON)");
}

const char *hc_ranks_library(void) {
    return "none";
}
