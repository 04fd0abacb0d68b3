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

/* Bytes of the device memory that one slot of a pass needs for blocks of that many lines: raw bytes where
 * they travel, the output of every stage, the largest scratch. */
size_t hc_pass_slot_bytes(const HcChain *chain, const HcPass *pass, const HcComputeInfo *info, int32_t lines,
                          int32_t raw_halo);

/* Bytes of a block with its mask. */
size_t hc_rows_bytes(const HcScene *scene, int64_t rows);

/* Chooses the layout for a planned chain, and fills the planned half of the report. */
HcStatus hc_layout_make(HcLayout *layout, HcChain *chain, const HcComputeInfo *info,
                        const HcRunSettings *settings, HcRunReport *report, HcError *err) HC_MUST_CHECK;

#endif
