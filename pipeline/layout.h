/* Layout: how a run is cut into passes and blocks, and what memory it takes. */
#ifndef HC_PIPELINE_LAYOUT_H
#define HC_PIPELINE_LAYOUT_H

#include "pipeline/run.h"

#define HC_STAGES_MAX 64

/* One pass over the scene: the stages 1 .. end-1 process, and those that still observe do so; with `stops`
 * the last of them only observes. */
typedef struct HcPass {
    int32_t end;
    bool stops;
    int32_t halo[HC_STAGES_MAX]; /* lines of context that each stage's output has */
} HcPass;

typedef struct HcLayout {
    int32_t block_lines;
    int32_t raw_halo; /* lines of context of the raw blocks: enough for every pass */
    int64_t blocks;
    int32_t slots;     /* blocks in flight */
    int32_t raw_slots; /* raw blocks kept: all of them when resident */
    bool resident;
} HcLayout;

/* The next pass of a planned chain: to the first stage that observes and changes what follows, or to the end.
 */
void hc_pass_next(const HcChain *chain, HcPass *pass);

/* Whether a stage observes in this pass. */
bool hc_pass_observes(const HcPass *pass, const HcStage *stage);

/* How the device memory of one slot is cut: the output of every stage, the largest scratch, raw bytes where
 * they travel [bytes from its beginning]. */
typedef struct HcSlotLayout {
    size_t output[HC_STAGES_MAX];
    size_t scratch, raw, raw_bytes, all;
} HcSlotLayout;

/* The slots of a pass, for blocks of that many lines. */
void hc_pass_slot(const HcChain *chain, const HcPass *pass, const HcComputeInfo *info, int32_t lines,
                  int32_t raw_halo, HcSlotLayout *out);

/* Bytes of a block with its mask. */
size_t hc_rows_bytes(const HcScene *scene, int64_t rows);

/* Plans the chain for a backend, chooses the layout, and fills the planned half of the report. */
HcStatus hc_run_layout(HcChain *chain, HcCompute *compute, const HcRunSettings *settings, HcLayout *layout,
                       HcComputeInfo *info, HcRunReport *report, HcError *err) HC_MUST_CHECK;

#endif
