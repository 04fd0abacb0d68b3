/* The module libhcube_mpi.so: ranks over MPI. The library ends the job where one of its own calls fails;
 * failures of hcube never get here (ranks.c). All calls come from the thread that started it. */
#include "ranks/transport.h"

#include <mpi.h>
#include <string.h>
#include <time.h>

static MPI_Comm world = MPI_COMM_NULL;  /* what ranks agree on */
static MPI_Comm alarms = MPI_COMM_NULL; /* one empty message from each rank that failed */
static MPI_Datatype wide_type;
static MPI_Op wide_sum;

/* MPI counts elements by int. */
static const size_t piece = (size_t)1 << 28;

static int32_t rank_in(MPI_Comm comm) {
    int number = 0;
    MPI_Comm_rank(comm, &number);
    return number;
}

static int32_t size_of(MPI_Comm comm) {
    int count = 0;
    MPI_Comm_size(comm, &count);
    return count;
}

/* Every other call begins with this one. It may wait long, and sleeps then: MPI itself would keep a processor
 * busy that other ranks compute on. */
static HcStatus gather(int32_t number, int32_t *out, HcError *err) {
    enum { QUICK = 1000 };
    const struct timespec moment = {.tv_nsec = 200000};
    MPI_Request request;
    int done = 0;
    (void)err;
    MPI_Iallgather(&number, 1, MPI_INT32_T, out, 1, MPI_INT32_T, world, &request);
    for (int tries = 0; done == 0; tries++) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done == 0 && tries >= QUICK) {
            nanosleep(&moment, NULL);
        }
    }
    return HC_OK;
}

static void add_wide(void *from, void *to, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++) {
        HcWide a;
        HcWide b;
        memcpy(&a, (const char *)from + (size_t)i * sizeof a, sizeof a);
        memcpy(&b, (const char *)to + (size_t)i * sizeof b, sizeof b);
        b += a;
        memcpy((char *)to + (size_t)i * sizeof b, &b, sizeof b);
    }
}

static HcStatus reduce(HcReduction how, void *data, size_t count, HcError *err) {
    (void)err;
    MPI_Datatype type = how == HC_REDUCE_OR ? MPI_BYTE : how == HC_REDUCE_SUM_WIDE ? wide_type : MPI_INT64_T;
    MPI_Op op = how == HC_REDUCE_OR         ? MPI_BOR
                : how == HC_REDUCE_LARGEST  ? MPI_MAX
                : how == HC_REDUCE_SUM_WIDE ? wide_sum
                                            : MPI_SUM;
    size_t size = how == HC_REDUCE_OR ? 1 : how == HC_REDUCE_SUM_WIDE ? sizeof(HcWide) : sizeof(int64_t);
    for (size_t at = 0; at < count; at += piece) {
        int some = (int)(count - at < piece ? count - at : piece);
        MPI_Allreduce(MPI_IN_PLACE, (char *)data + at * size, some, type, op, world);
    }
    return HC_OK;
}

static HcStatus share(int32_t from, void *data, size_t bytes, HcError *err) {
    (void)err;
    for (size_t at = 0; at < bytes; at += piece) {
        MPI_Bcast((char *)data + at, (int)(bytes - at < piece ? bytes - at : piece), MPI_BYTE, from, world);
    }
    return HC_OK;
}

static HcStatus send(int32_t to, const void *data, size_t bytes, HcError *err) {
    (void)err;
    for (size_t at = 0; at < bytes; at += piece) {
        MPI_Send((const char *)data + at, (int)(bytes - at < piece ? bytes - at : piece), MPI_BYTE, to, 0,
                 world);
    }
    return HC_OK;
}

static HcStatus receive(int32_t from, void *data, size_t bytes, HcError *err) {
    (void)err;
    for (size_t at = 0; at < bytes; at += piece) {
        MPI_Recv((char *)data + at, (int)(bytes - at < piece ? bytes - at : piece), MPI_BYTE, from, 0, world,
                 MPI_STATUS_IGNORE);
    }
    return HC_OK;
}

/* Empty messages leave at once, so the requests need not be kept. */
static void report(void) {
    for (int32_t r = 0; r < size_of(alarms); r++) {
        MPI_Request request;
        if (r != rank_in(alarms)) {
            MPI_Isend(NULL, 0, MPI_BYTE, r, 0, alarms, &request);
            MPI_Request_free(&request);
        }
    }
}

static bool told(void) {
    int there = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, alarms, &there, MPI_STATUS_IGNORE);
    return there != 0;
}

static void hear(const int32_t *failed) {
    for (int32_t r = 0; r < size_of(alarms); r++) {
        if (failed[r] != HC_OK && r != rank_in(alarms)) {
            MPI_Recv(NULL, 0, MPI_BYTE, r, 0, alarms, MPI_STATUS_IGNORE);
        }
    }
}

static HcStatus close_mpi(bool agreed, HcError *err) {
    (void)agreed;
    (void)err;
    MPI_Type_free(&wide_type);
    MPI_Op_free(&wide_sum);
    MPI_Comm_free(&alarms);
    MPI_Comm_free(&world);
    MPI_Finalize();
    return HC_OK;
}

static const HcTransport transport = {.gather = gather,
                                      .reduce = reduce,
                                      .share = share,
                                      .send = send,
                                      .receive = receive,
                                      .report = report,
                                      .told = told,
                                      .hear = hear,
                                      .close = close_mpi};

static HcStatus open_mpi(HcRanks *ranks, HcError *err) {
    int provided = MPI_THREAD_SINGLE;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
        return hc_fail(err, HC_E_UNSUPPORTED, "MPI could not be started");
    }
    MPI_Comm local = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_dup(MPI_COMM_WORLD, &alarms);
    MPI_Type_contiguous((int)sizeof(HcWide), MPI_BYTE, &wide_type);
    MPI_Type_commit(&wide_type);
    MPI_Op_create(add_wide, 1, &wide_sum);
    MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
    ranks->transport = &transport;
    ranks->number = rank_in(world);
    ranks->count = size_of(world);
    ranks->local_number = rank_in(local);
    ranks->local_count = size_of(local);
    MPI_Comm_free(&local);
    if (provided < MPI_THREAD_FUNNELED) {
        return hc_fail(err, HC_E_UNSUPPORTED, "this MPI cannot be used by a program with threads");
    }
    return HC_OK;
}

static const char *library(void) {
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = '\0';
    return text;
}

__attribute__((visibility("default"))) const HcModuleHead *hc_mpi_module(void);

const HcModuleHead *hc_mpi_module(void) {
    static const HcTransportModule module = {
        .head = {.abi = HC_TRANSPORT_ABI, .version = HC_VERSION}, .open = open_mpi, .library = library};
    return &module.head;
}
