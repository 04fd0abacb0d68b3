/* Run: takes a chain through its passes: read next, compute now, write last, at the same time. Threads,
 * queues, buffers, progress, cancellation and timing live here and nowhere else. */
#ifndef HC_PIPELINE_RUN_RUN_H
#define HC_PIPELINE_RUN_RUN_H

#include "core/operation/image/decode.h"
#include "pipeline/chain.h"
#include "pipeline/settings.h"

#define HC_PASSES_MAX 64 /* each but the last settles a stage */

/* How long a pass over the scene took [s]. Reading, computing and writing go on at the same time. */
typedef struct HcPassTimes {
    const char *what; /* the stage that observes, or "writing" */
    double seconds;   /* all of it, with the ends of outputs */
    double fixed;     /* of them before and behind the blocks: opening, sample, models */
    double waiting_for_reading, waiting_for_writing;
    double reading, writing; /* how long the threads worked that read and write; 0 = there was none */
    double bytes_read;       /* of the scene, by the thread that reads */
} HcPassTimes;

/* What the planner decided for this rank; times are filled by the run. */
typedef struct HcRunReport {
    int32_t passes;
    int32_t block_lines, slots;
    int64_t blocks;
    bool resident;         /* the raw scene is kept in host memory and read once */
    int64_t device_blocks; /* raw blocks that are kept in device memory and read once */
    bool device_resident;  /* all of them are */
    bool mapped;           /* the file itself is the raw scene: nothing is copied */
    uint64_t host_bytes;   /* planned host memory: raw, output buffers, and what the program itself takes */
    uint64_t device_bytes; /* planned device memory, the backend's own included (part of the host's where
                              memory is shared) */
    uint64_t raw_bytes;    /* of the scene, lines and bands that are read, all ranks */
    uint64_t share_bytes;  /* of them, those of this rank */
    int64_t lines;         /* of this rank */
    int64_t pixels, masked[HC_MASK_REASONS]; /* of the lines that are read */
    double seconds, seconds_read, seconds_decode, seconds_wait_read, seconds_wait_write, seconds_write;
    double seconds_wait_device; /* for blocks that a device has taken; work is given to it at once */
    HcPassTimes pass[HC_PASSES_MAX];
    int32_t passes_done; /* entries of `pass` */
    double bytes_read;
    uint64_t peak_memory; /* peak resident memory of the process [bytes] */
} HcRunReport;

/* Plans a chain for a backend without touching a pixel: shapes, passes, memory, blocks. Fails where the run
 * would. */
HcStatus hc_run_plan(HcChain *chain, HcCompute *compute, const HcRunSettings *settings, HcRunReport *report,
                     HcError *err) HC_MUST_CHECK;

/* Runs the chain; outputs and records have their names when it returns HC_OK, and none of them does
 * otherwise. */
HcStatus hc_run(HcChain *chain, HcCompute *compute, const HcRunSettings *settings, HcRunReport *report,
                HcError *err) HC_MUST_CHECK;

/* Settles a chain that writes no file (hc_chain_twin): as many passes over the scene as that takes, none
 * where nothing is to be settled. Then takes some tiles of `lines` lines (fewer at the end of the scene),
 * [count] by their first ones, through the last pass. Between the two `settled` is called with `user`. */
HcStatus hc_run_tiles(HcChain *chain, HcCompute *compute, const HcRunSettings *settings, const int64_t *line0,
                      int32_t count, int32_t lines, void (*settled)(HcChain *chain, void *user), void *user,
                      HcError *err) HC_MUST_CHECK;

/* Runs the side chain of a planned stage (HcStageClass.side), if it has one, and hands it over. settings: of
 * the stage's run, NULL = none. */
HcStatus hc_run_side(HcStage *stage, HcCompute *compute, const HcRunSettings *settings,
                     HcError *err) HC_MUST_CHECK;

/* Upper limit of the memory that a run takes besides the scene: hcube itself, libraries, GDAL's caches
 * [bytes]. */
#define HC_OWN_BYTES ((uint64_t)80 << 20)

#endif
