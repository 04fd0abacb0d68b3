#include "ranks/transport.h"

static HcModuleKind mpi_kind(void) {
    return (HcModuleKind){.name = "MPI",
                          .file = "libhcube_mpi.so",
                          .variable = "HCUBE_MPI_MODULE",
                          .symbol = HC_TRANSPORT_SYMBOL,
                          .abi = HC_TRANSPORT_ABI,
                          .failure = HC_E_UNSUPPORTED,
                          .global = true};
}

HcStatus hc_transport_look(bool *there, HcError *err) {
    char path[4096];
    HcModuleKind kind = mpi_kind();
    HC_OR_RETURN(hc_module_find(&kind, path, sizeof path, err));
    *there = path[0] != '\0';
    return HC_OK;
}

HcStatus hc_transport_load(const HcTransportModule **out, HcError *err) {
    const HcModuleHead *head = NULL;
    HcModuleKind kind = mpi_kind();
    *out = NULL;
    HC_OR_RETURN(hc_module_open(&kind, &head, err));
    *out = (const HcTransportModule *)head;
    return HC_OK;
}
