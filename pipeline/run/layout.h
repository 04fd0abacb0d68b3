/* Layout: how a run is cut into passes and blocks, and what memory it takes. */
#ifndef HC_PIPELINE_RUN_LAYOUT_H
#define HC_PIPELINE_RUN_LAYOUT_H

#include "pipeline/run/run.h"

#define HC_STAGES_MAX 64

/* One pass over the scene: the stages 1 .. end-1 process, and those that still observe do so; with `stops`
 * the last of them only observes. */
typedef struct HcPass {
    int32_t end;
    bool stops;
    int32_t halo[HC_STAGES_MAX]; /* lines of context that each stage's output has */
} HcPass;

/* What the choice of a layout goes by. */
typedef struct HcLimits {
    double host, device;          /* bytes for buffers; device: INFINITY where there is no limit of its own */
    int64_t first_line, end_line; /* of this rank */
    int32_t step, halo;           /* blocks are multiples of step lines; halo of the raw blocks */
    uint64_t cache;               /* GDAL's, 0 where nothing comes through it */
} HcLimits;

typedef struct HcLayout {
    int32_t block_lines;
    int32_t raw_halo;     /* lines of context of the raw blocks: enough for every pass */
    int64_t blocks;       /* 0 where more ranks than parts of the scene have come */
    int32_t slots;        /* blocks in flight */
    int32_t raw_slots;    /* raw blocks in host memory: all of them when resident */
    bool resident;        /* raw blocks stay in host memory */
    bool device_resident; /* raw blocks stay in device memory: later passes neither read nor copy */
    HcLimits limits;
} HcLayout;

/* The next pass of a planned chain: to the first stage that observes and changes what follows, or to the end.
 */
void hc_pass_next(const HcChain *chain, HcPass *pass);

/* Whether a stage observes in this pass. */
bool hc_pass_observes(const HcPass *pass, const HcStage *stage);

/* How a pass cuts the device memory of one slot: the output of every stage, the largest scratch [bytes from
 * its beginning]. */
typedef struct HcSlotLayout {
    size_t output[HC_STAGES_MAX];
    size_t scratch, all;
} HcSlotLayout;

/* The slots of a pass, for blocks of that many lines. */
void hc_pass_slot(const HcChain *chain, const HcPass *pass, int32_t lines, HcSlotLayout *out);

/* Device buffers of a whole run [bytes]. */
typedef struct HcDeviceRoom {
    size_t raw_block; /* one raw block, 0 where memory is shared */
    size_t slot;      /* what the largest pass needs in a slot, and a raw block unless all of them stay */
    size_t kept;      /* all raw blocks, 0 unless they stay on the device */
} HcDeviceRoom;

void hc_layout_room(const HcChain *chain, const HcComputeInfo *info, const HcLayout *layout,
                    HcDeviceRoom *out);

/* Bytes of a block with its mask. */
size_t hc_rows_bytes(const HcScene *scene, int64_t rows);

/* Plans the chain for a backend, chooses the layout, and fills the planned half of the report. */
HcStatus hc_run_layout(HcChain *chain, HcCompute *compute, const HcRunSettings *settings, HcLayout *layout,
                       HcComputeInfo *info, HcRunReport *report, HcError *err) HC_MUST_CHECK;

/* The next smaller layout, for a device that has less room than it said: first the scene no longer stays
 * there, then blocks are halved. False where there is none. */
bool hc_layout_shrink(HcLayout *layout, const HcChain *chain, const HcComputeInfo *info,
                      HcRunReport *report) HC_MUST_CHECK;

#endif
