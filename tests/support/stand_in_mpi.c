/* An MPI module as a later hcube would have it. */
#include "ranks/transport.h"

__attribute__((visibility("default"))) const HcModuleHead *hc_mpi_module(void);

const HcModuleHead *hc_mpi_module(void) {
    static const HcTransportModule module = {
        .head = {.abi = HC_TRANSPORT_ABI + 1, .version = HC_STAND_IN_VERSION}};
    return &module.head;
}
