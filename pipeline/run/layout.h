/* Layout: how a run is cut into passes and blocks, and what memory it takes. */
#ifndef HC_PIPELINE_RUN_LAYOUT_H
#define HC_PIPELINE_RUN_LAYOUT_H

#include "pipeline/run/passes.h"
#include "pipeline/run/run.h"

/* The limits of a layout. */
typedef struct HcLimits {
    double host, device;          /* bytes for buffers; device: INFINITY where there is no limit of its own */
    int64_t first_line, end_line; /* of this rank */
    int32_t every;   /* lines whose number is a multiple of this are read, one a block; 1 = all lines */
    int32_t halo;    /* of the raw blocks */
    uint64_t cache;  /* what reading keeps: GDAL's cache, or rows of chunks */
    bool streams;    /* nothing is kept between passes */
    int32_t readers; /* threads that read pieces */
} HcLimits;

typedef struct HcLayout {
    int32_t block_lines;
    int32_t raw_halo;  /* lines of context of the raw blocks: enough for every pass */
    int64_t blocks;    /* 0 on a rank without lines */
    int32_t slots;     /* blocks in flight */
    int32_t raw_slots; /* raw blocks in host memory: all of them when resident */
    bool resident;     /* raw blocks stay in host memory */
    int64_t
        kept_blocks; /* the first of them that stay in device memory: later passes neither read nor copy */
    bool device_resident; /* all of them do */
    bool straight;        /* raw blocks go to the device in pieces, and are not in host memory as a whole */
    int64_t ring_blocks;  /* places there for those that do not stay, 0 unless straight */
    size_t piece_bytes;
    HcLimits limits;
} HcLayout;

/* Device buffers of a whole run [bytes]. */
typedef struct HcDeviceMemory {
    size_t raw_block; /* one raw block, 0 where memory is shared */
    size_t slot;      /* what the largest pass needs in a slot, and a raw block where these travel with it */
    size_t kept;      /* the raw blocks that stay on the device */
    size_t ring;      /* places of raw blocks that come in pieces */
} HcDeviceMemory;

void hc_layout_memory(const HcChain *chain, const HcComputeInfo *info, const HcLayout *layout,
                      HcDeviceMemory *out);

/* Plans the chain for a backend, chooses the layout, and fills the planned half of the report. */
HcStatus hc_run_layout(HcChain *chain, HcCompute *compute, const HcRunSettings *settings, HcLayout *layout,
                       HcComputeInfo *info, HcRunReport *report, HcError *err) HC_MUST_CHECK;

/* Memory that the system or the container lets us have [bytes]. */
double hc_available_memory(void);

/* The next smaller layout, for a device with less free memory than it reported: first the scene leaves the
 * device, then blocks are halved. False where there is none. */
bool hc_layout_shrink(HcLayout *layout, const HcChain *chain, const HcComputeInfo *info,
                      HcRunReport *report) HC_MUST_CHECK;

#endif
