/* Flow: what the three threads of a run share: raw blocks from the reader, blocks in flight, parcels to the
 * writer. Only run.c, flow*.c and sample.c look inside. */
#ifndef HC_PIPELINE_RUN_FLOW_H
#define HC_PIPELINE_RUN_FLOW_H

#include "core/system/team.h"
#include "pipeline/run/layout.h"

#include <pthread.h>

/* Raw bytes of one block, as the reader left them. */
typedef struct HcRawSlot {
    HcBuffer buffer;
    size_t bytes; /* of the buffer that are in use */
    HcRaw raw;
} HcRawSlot;

/* A block in host memory on its way to a sink. */
typedef struct HcParcel {
    HcStage *sink;
    HcBuffer buffer;
    HcBlock block;
    struct HcParcel *next;
} HcParcel;

/* What one block in flight needs: the output of every stage of the pass, and a queue that takes them to the
 * host. */
typedef struct HcSlot {
    HcQueue *queue;    /* downloads; done when the block is */
    HcBuffer memory;   /* for the largest pass, a raw block first where they travel */
    int64_t block;     /* which one is in flight, -1 = none */
    HcParcel *parcels; /* filled once the queue is empty */
    void *scratch;
    void *output[HC_STAGES_MAX];
} HcSlot;

/* Memory of a thread for pieces of the scene that go straight to the device: one is filled while the other is
 * copied. */
typedef struct HcHand {
    struct {
        char *memory; /* of the flow's pieces */
        HcQueue *queue;
        int64_t block; /* that its bytes are of, which are on their way; -1 = none */
    } piece[2];
    int32_t now;   /* the piece that is filled */
    double waited; /* for places [s] */
} HcHand;

/* One run, and what its three threads share. */
typedef struct HcFlow {
    HcChain *chain;
    HcCompute *compute;
    const HcRunSettings *settings;
    HcRunReport *report;
    HcComputeInfo info;
    HcLayout layout;
    HcPass pass;
    int32_t pass_number;
    double started;
    HcRawSlot *raw;   /* [layout.raw_slots] */
    HcSlot *slots;    /* [info.slots], of which the layout may take fewer */
    HcQueue *work;    /* decode and stages: one block after the other, since sums grow in order */
    HcQueue *uploads; /* raw blocks on their way to the device, NULL where memory is shared */
    HcDeviceMemory device;
    HcBuffer ring; /* places of raw blocks that come in pieces and do not stay, as in `kept` */
    HcBuffer kept; /* the raw blocks that stay on the device, one every device.raw_block bytes */
    HcBuffer picked[HC_STAGES_MAX]; /* the list of bands of each stage that picks some, on the device */
    HcBuffer masked[HC_STAGES_MAX]; /* the count of each stage that masks pixels, on the device; last pass */
    HcRaw *kept_raw;                /* [layout.kept_blocks] what lies there, data NULL until it does */
    HcParcel *parcels;              /* all of them, [parcel_count] */
    int32_t parcel_count;
    HcTeam *team;    /* reads pieces */
    HcHand *hands;   /* [hand_count] one a thread of it; NULL unless the layout is straight */
    HcBuffer pieces; /* [host] of all hands */
    int32_t hand_count;
    int64_t next_block; /* the piece that no thread has taken, and its block; by the lock */
    int32_t next_piece;
    int32_t *missing; /* [layout.blocks] pieces of each that are not there; by the lock */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stop;                            /* some thread failed, or all is done */
    HcError error;                        /* the first failure of any thread */
    int64_t blocks_read;                  /* raw blocks that are there */
    int64_t blocks_freed;                 /* raw blocks that are no longer needed */
    HcParcel *free_parcels;               /* those of a sink are distinguished by parcel->sink */
    HcParcel *first_parcel, *last_parcel; /* to be written, in order */
    bool all_computed;
} HcFlow;

/* What the pass is for: the stage that observes, or "writing". */
const char *hc_flow_what(const HcFlow *flow);

/* Keeps the first failure of any thread and wakes everybody. */
void hc_flow_fail(HcFlow *flow, const HcError *error);

/* The first line of a block, and how many it has. */
int64_t hc_flow_first_line(const HcFlow *flow, int64_t block);
int32_t hc_flow_lines(const HcFlow *flow, int64_t block);

/* Lines of the scene, as many as a block has or fewer. */
typedef struct HcSpan {
    int64_t line0;
    int32_t lines;
} HcSpan;

HcSpan hc_flow_span(const HcFlow *flow, int64_t block);

/* Lines of context above and below the span within the scene, up to `halo`. */
void hc_flow_halo(const HcFlow *flow, HcSpan span, int32_t halo, int32_t *above, int32_t *below);

/* Allocates queues and device memory for the whole run. Where the device has less memory than it reported,
 * takes a smaller layout and adds a note. Called when the first stages are open: they allocate theirs first.
 */
HcStatus hc_flow_take_memory(HcFlow *flow, HcError *err) HC_MUST_CHECK;

/* Ends what hc_flow_take_memory began; safe after any failure. */
void hc_flow_give_memory(HcFlow *flow);

/* Cuts the memory of the slots for the pass, and takes host memory for what its sinks want. */
HcStatus hc_flow_open_pass(HcFlow *flow, HcError *err) HC_MUST_CHECK;
void hc_flow_close_pass(HcFlow *flow);

/* After the last block: HcStage.masked of this rank. */
HcStatus hc_flow_count_masked(HcFlow *flow, HcError *err) HC_MUST_CHECK;

/* Allocates host memory; a failure names `what` it was for. */
HcStatus hc_flow_host_memory(HcFlow *flow, size_t bytes, const char *what, HcBuffer *out,
                             HcError *err) HC_MUST_CHECK;

/* Waits for all queues; reports the first failure. */
HcStatus hc_flow_wait_queues(HcFlow *flow, HcError *err) HC_MUST_CHECK;

/* Where a raw block lies on the device: for good, in the ring, or with its slot. The last block in a place of
 * the latter two is done when the next one may come, and so is its decode. */
char *hc_flow_place(const HcFlow *flow, int64_t block);

/* What lay at `host` lies at `to` now. */
void hc_flow_move(HcRaw *raw, const char *host, char *to);

/* Lines of the scene that a block is read with: the first, and how many. */
int64_t hc_flow_raw_lines(const HcFlow *flow, int64_t block, int32_t *lines);

/* Bodies of the reading and the writing thread; argument is the HcFlow. Where the layout is straight,
 * hc_flow_read_pieces reads, with threads of its own. */
void *hc_flow_read(void *argument);
void *hc_flow_read_pieces(void *argument);
void *hc_flow_write(void *argument);

/* Waits until a raw block is read; false when the run stops. */
bool hc_flow_wait_raw(HcFlow *flow, int64_t block);

/* A free parcel of that sink; waits for the writer. NULL when the run stops. */
HcParcel *hc_flow_take_parcel(HcFlow *flow, const HcStage *sink);

/* The output of a stage for some lines of the scene, in the memory of the slot. */
HcBlock hc_flow_output(const HcFlow *flow, const HcSlot *slot, int32_t place, HcSpan span);

/* Gives the stages of the pass that sum floats their samples, before its first block (sample.c). */
HcStatus hc_flow_sample(HcFlow *flow, HcError *err) HC_MUST_CHECK;

/* Takes all blocks through the stages of the pass, on the calling thread (compute.c). */
HcStatus hc_flow_compute(HcFlow *flow, HcError *err) HC_MUST_CHECK;

#endif
