/* What carries words between ranks. It is MPI, in a module that is loaded where a launcher has started this
 * process (core/module/load.h), or the memory of one host (host.h). Only ranks/ looks inside. */
#ifndef HC_RANKS_TRANSPORT_H
#define HC_RANKS_TRANSPORT_H

#include "core/module/load.h"
#include "ranks/ranks.h"

typedef enum HcReduction { HC_REDUCE_SUM, HC_REDUCE_SUM_WIDE, HC_REDUCE_LARGEST, HC_REDUCE_OR } HcReduction;

/* All ranks call these, except tell, told and the two ends of a message. They fail where another rank has
 * ended before its time. Nothing but close may follow then. MPI ends the job instead. */
typedef struct HcTransport {
    /* out[count of ranks] from one number of each. */
    HcStatus (*gather)(int32_t number, int32_t *out, HcError *err);
    /* Elements of int64_t, HcWide (HC_REDUCE_SUM_WIDE) or bytes (HC_REDUCE_OR), in place. */
    HcStatus (*reduce)(HcReduction how, void *data, size_t count, HcError *err);
    HcStatus (*share)(int32_t from, void *data, size_t bytes, HcError *err);
    HcStatus (*send)(int32_t to, const void *data, size_t bytes, HcError *err);
    HcStatus (*receive)(int32_t from, void *data, size_t bytes, HcError *err);
    /* Tells every other rank, without waiting, that this one has failed; whether some rank has said so; and,
     * once all know who failed, takes what was said. */
    void (*report)(void);
    bool (*told)(void);
    void (*hear)(const int32_t *failed);
    /* agreed: no rank has failed. Fails where one then ended as if it had. */
    HcStatus (*close)(bool agreed, HcError *err);
} HcTransport;

struct HcRanks {
    const HcTransport *transport;
    int32_t number, count, local_number, local_count;
    int32_t *failed; /* [count] who has, of the last agreement */
    bool broken;     /* some rank has failed, and all know */
    bool forked;     /* by the first rank (host.h) */
};

/* Version of this header: raise it with each change of a struct or function in it. */
#define HC_TRANSPORT_ABI    2
#define HC_TRANSPORT_SYMBOL "hc_mpi_module"

/* The table of libhcube_mpi.so. */
typedef struct HcTransportModule {
    HcModuleHead head; /* abi: HC_TRANSPORT_ABI */
    /* Starts the library that carries and fills all of *ranks but `failed`. */
    HcStatus (*open)(HcRanks *ranks, HcError *err);
    const char *(*library)(void); /* "Open MPI v4.1.4"; needs no start */
} HcTransportModule;

/* Sets `there`: whether there is a file that is taken for the module. Fails where that cannot be seen. */
HcStatus hc_transport_look(bool *there, HcError *err) HC_MUST_CHECK;

/* Loads the module. HCUBE_MPI_MODULE names another file (hc_module_find). Fails with HC_E_UNSUPPORTED and the
 * reason; with HC_E_MEMORY or HC_E_IO where that says nothing of the module. */
HcStatus hc_transport_load(const HcTransportModule **out, HcError *err) HC_MUST_CHECK;

#endif
